/* The IR verifier. Rules are rows of verify_rules.def; every violation is reported (up to the
 * sink's limit) with function, location, requirement and finding. */
#ifndef NVM_IR_VERIFY_H
#define NVM_IR_VERIFY_H

#include "ir/function.h"

enum verify_rule {
#define VERIFY_RULE(ENUM, id, requirement) VERIFY_##ENUM,
#include "ir/verify_rules.def"
#undef VERIFY_RULE
  VERIFY_RULE_COUNT
};

struct verify_rule_info {
  const char *id;          /* "phi-edges": in brackets at the start of a message */
  const char *requirement; /* the requirement */
};
extern const struct verify_rule_info verify_rules[VERIFY_RULE_COUNT];

/* NVM_OK, NVM_REFUSED if a rule is broken, NVM_OUT_OF_MEMORY. `source` is stored in the ranges. A
 * function with a broken structure (links, terminators, branch targets) is not checked for
 * dominance and phi edges. verify_function() skips types, constants, metadata and other symbols. */
enum nvm_status verify_module(const struct nvm_module *m, struct diag_sink *sink, uint32_t source);
enum nvm_status verify_function(const struct nvm_function *f, struct diag_sink *sink,
                                uint32_t source);

#endif
