/* Made-up arguments for a kernel: what a pointer points to is taken from how the kernel and the
 * functions it calls use it; structures are filled member by member; members that are loaded
 * as bools get 0 or 1. */
#ifndef NVM_PEERS_KERNEL_ARGUMENTS_H
#define NVM_PEERS_KERNEL_ARGUMENTS_H

#include "ir/function.h"
#include "sim/sim.h"

enum { MAX_BUFFERS = 64, MAX_ARGUMENTS = 256, FILLINGS = 3 };
/* Random numbers, 0 1 2 ..., small constants. */
extern const char *const filling_names[FILLINGS];

struct buffer {
  uint8_t *bytes;
  uint64_t size;
};

/* A variable of the module that the host may write. */
struct variable {
  struct nvm_text name;
  uint8_t *bytes;
  uint64_t size;
};

/* A member that is read as a bool. */
struct bool_place {
  struct nvm_type type;
  uint32_t member;
};

/* A kernel with arguments. */
struct instance {
  struct nvm_module *m;
  const struct nvm_function *f;
  int filling;
  uint64_t random;
  struct arena arena;
  struct buffer buffers[MAX_BUFFERS];
  uint32_t buffer_count;
  const void *arguments[MAX_ARGUMENTS];
  uint64_t sizes[MAX_ARGUMENTS];
  uint32_t argument_count;
  VEC(struct variable) variables;
  VEC(struct bool_place) bools;
};

/* The address of each buffer in any machine that allocates them first. */
extern uint64_t addresses[MAX_BUFFERS];
void note_addresses(void);

/* False: more arguments than can be made. The arena is the caller's to free in any case. */
bool make_instance(struct instance *c, struct nvm_module *m, const struct nvm_function *f,
                   int filling);

/* Puts the buffers into a machine that has none yet, at `addresses`; sets the variables of the
 * module that was loaded. False: out of memory. */
bool instance_place(const struct instance *c, struct sim *s);
void instance_set_variables(const struct instance *c, struct sim *s);

#endif
