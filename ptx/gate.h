/* Which instructions a target has, told from the requirements in ops.def: by op, the modifiers that
 * stand in at least one form of it that the target has. The difference between two targets is what
 * the one unlocks; no list of "features" is kept by hand. */
#ifndef NVM_PTX_GATE_H
#define NVM_PTX_GATE_H

#include "ptx/ops.h"
#include "target/target.h"

/* words[m]: modifier m stands in some form of the op that the target has, at its PTX version or, if
 * that is automatic, at any. */
struct gate {
  bool any; /* it has a form of the op at all */
  bool words[PTX_MOD_COUNT];
};

/* Fills *gate. Linear in the op's part of the automaton. */
void gate_read(struct gate *gate, enum ptx_op op, const struct nvm_target *target);

/* Does the target have some form of the op with exactly these modifiers, which end with
 * PTX_MOD_NONE? A PTX version that is automatic counts as the highest. */
bool gate_has(const struct nvm_target *target, enum ptx_op op, const uint16_t *mods);

#endif
