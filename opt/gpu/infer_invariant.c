/* infer-invariant: marks loads from global memory that is not written while the kernel runs.
 *
 * Purpose:   such loads can use the read-only path (ld.global.nc) and move across barriers.
 * Algorithm: alias analysis finds them: constants, and noalias parameters of a kernel that it only
 *            reads.
 * Requires:  nothing; finds more after infer-address-space.
 * Preserves: everything.
 * Cost:      linear; each parameter's uses are visited once.
 * Omits:     other state spaces, which have no such path.
 * Tests:     check/opt/infer-invariant.nvir. */
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "opt/passes.h"

enum { GLOBAL = 1 };

static bool is_candidate(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_LOAD || !effects_is_plain_access(i)) return false;
  const struct type_table *t = &f->module->types;
  return type_info(t, value_type(f, inst_operand(f, i, 0)))->width == GLOBAL;
}

enum nvm_status infer_invariant_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct nvm_module *m = f->module;
  struct alias_env *e = NULL; /* made for the first candidate */
  struct nvm_str kind = module_str(m, "invariant.load");
  struct nvm_meta empty = {0};
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      struct memory_location l;
      if (!is_candidate(f, function_inst(f, i)) || !alias_location_of(f, i, &l)) continue;
      if (module_attachment(m, f->attachments.data[i.index], kind).index) continue;
      if (!e && !(e = alias_init(f, env->arena))) return NVM_OUT_OF_MEMORY;
      if (!alias_is_constant(e, l)) continue;
      if (!empty.index) {
        uint32_t node = meta_node_new(&m->metadata);
        if (!meta_node_define(&m->metadata, node, (struct nvm_str){0}, false, NULL, NULL, 0))
          return NVM_OUT_OF_MEMORY;
        empty = meta_node(&m->metadata, node, false);
      }
      if (!module_attach(m, &f->attachments.data[i.index], kind, empty)) return NVM_OUT_OF_MEMORY;
      ++*env->statistic;
      *changed = true;
    }
  return NVM_OK;
}
