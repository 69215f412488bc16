/* Module flags: !llvm.module.flags = !{!{i32 behaviour, !"key", value}, …}. */
#ifndef NVM_IR_MODULE_FLAGS_H
#define NVM_IR_MODULE_FLAGS_H

#include "ir/module.h"

enum flag_behaviour {
  FLAG_ERROR = 1,
  FLAG_WARNING,
  FLAG_REQUIRE,
  FLAG_OVERRIDE,
  FLAG_APPEND,
  FLAG_APPEND_UNIQUE,
  FLAG_MAX,
  FLAG_MIN,
};

struct module_flag {
  uint64_t behaviour;  /* enum flag_behaviour, or a number that LLVM does not define */
  struct nvm_text key; /* borrowed from the module */
  bool is_number;      /* `value` is set */
  nvm_u128 value;
};

/* The named metadata list of that name; NULL: the module has none. */
const struct named_metadata *module_named_metadata(const struct nvm_module *m, const char *name);
/* Parses one operand of !llvm.module.flags; false if malformed. */
bool module_flag_read(const struct nvm_module *m, struct nvm_meta operand,
                      struct module_flag *flag);
/* Finds the flag with that key and its operand index; false: none. */
bool module_flag_find(const struct nvm_module *m, struct nvm_text key, struct module_flag *flag,
                      uint32_t *at);

#endif
