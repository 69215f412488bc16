/* The instructions of a target, by the requirements in ops.def: for each op the modifiers that
 * occur in at least one form that the target has. */
#ifndef NVM_PTX_GATE_H
#define NVM_PTX_GATE_H

#include "ptx/ops.h"
#include "target/target.h"

/* words[m]: modifier m occurs in a form of the op that the target has, at its PTX version or, if
 * automatic, at any. */
struct gate {
  bool any; /* it has a form of the op at all */
  bool words[PTX_MOD_COUNT];
};

/* Fills *gate. Linear in the op's part of the automaton. */
void gate_read(struct gate *gate, enum ptx_op op, const struct nvm_target *target);

/* Whether the target has a form of the op with exactly these modifiers, which end with
 * PTX_MOD_NONE. An automatic PTX version counts as the highest. */
bool gate_has(const struct nvm_target *target, enum ptx_op op, const uint16_t *mods);

#endif
