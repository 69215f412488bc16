/* share-addresses: writes an address at a constant distance from an earlier one as an offset.
 *
 * Purpose:   stencils and matrix rows access a[i-1], a[i], a[(i+1)*n+j]: each index is computed,
 *            extended and scaled again, although PTX adds a constant to an address for free.
 * Algorithm: straight-line strength reduction (LLVM: separate-const-offset-from-gep, n-ary
 *            reassociation, early-cse) on affine forms: a preorder walk of the dominator tree with
 *            a hash table of accessed addresses, by base and terms of their form
 *            (analysis/scev.h). If one is found, the access uses it plus the difference. Only
 *            accessed addresses are used, because they are not poison.
 * Requires:  nothing; lsr comes first.
 * Preserves: the control flow.
 * Cost:      linear in accesses (hashing); each looks at MAX_TRIED addresses.
 * Omits:     differences that are not constant; atomics as users.
 * Tests:     check/opt/share-addresses.nvir. */
#include "ir/build.h"
#include "ir/evalint.h"
#include "ir/gep.h"
#include "analysis/scev.h"
#include "opt/passes.h"

enum { MAX_TRIED = 8, MAX_STEPS = 64, MAX_OFFSET = 1 << 23 };

struct address {
  struct scev form;
  struct nvm_value root; /* an address in a register, and the distance from it */
  int64_t offset;
  struct nvm_block block;
  uint32_t older; /* the next older one in the same slot: index + 1 */
};

struct sharer {
  struct nvm_function *f;
  struct pass_env *env;
  struct dominance dominance;
  struct loops loops;
  struct scev_env *scev;
  VEC(struct address) seen;
  uint32_t slots[1024]; /* by hash: index + 1 into seen */
};

/* Strips up to MAX_STEPS constant offsets. */
static struct nvm_value root_of(const struct nvm_function *f, struct nvm_value v, int64_t *offset) {
  const struct nvm_inst *i;
  int64_t more;
  *offset = 0;
  for (uint32_t step = 0; step < MAX_STEPS && (i = value_inst(f, v)) != NULL; step++) {
    if (i->op != OP_GEP || i->operand_count != 2 || !gep_constant_offset(f, i, &more)) break;
    *offset = (int64_t)((uint64_t)*offset + (uint64_t)more);
    v = inst_operand(f, i, 0);
  }
  return v;
}

static uint32_t hash_form(struct scev a) {
  uint64_t h = hash_mix(a.base.bits, a.count);
  for (uint32_t k = 0; k < a.count; k++)
    h = hash_mix(h ^ a.terms[k].symbol.bits,
                 (uint64_t)a.terms[k].coefficient ^ (uint64_t)a.terms[k].loop << 48);
  return (uint32_t)(h ^ h >> 32);
}

/* Whether block b is in all loops whose iteration numbers the form contains. */
static bool is_within_loops(const struct sharer *s, struct scev a, struct nvm_block b) {
  for (uint32_t k = 0; k < a.count; k++)
    if (a.terms[k].loop && !loops_contains(&s->loops, a.terms[k].loop, b)) return false;
  return true;
}

/* A dominating address at a constant distance from `now`; NULL if there is none. */
static const struct address *find(const struct sharer *s, const struct address *now,
                                  uint32_t slot) {
  uint32_t tried = 0;
  for (uint32_t n = s->slots[slot]; n && tried++ < MAX_TRIED; n = s->seen.data[n - 1].older) {
    const struct address *a = &s->seen.data[n - 1];
    struct scev same = a->form;
    same.constant = now->form.constant;
    if (scev_equal(same, now->form) && dominance_dominates(&s->dominance, a->block, now->block) &&
        type_equal(value_type(s->f, a->root), value_type(s->f, now->root)))
      return a;
  }
  return NULL;
}

static bool share(struct sharer *s, struct nvm_inst_id access, uint32_t operand) {
  struct nvm_function *f = s->f;
  struct nvm_value v = inst_operand_at(f, access, operand);
  struct address now = {.block = function_inst(f, access)->block};
  now.root = root_of(f, v, &now.offset);
  now.form = scev_of(s->scev, now.root);
  now.form.constant = (int64_t)((uint64_t)now.form.constant + (uint64_t)now.offset);
  if (now.form.width == 0 || value_is_none(now.form.base) ||
      !is_within_loops(s, now.form, now.block))
    return true;
  uint32_t slot = hash_form(now.form) % (sizeof s->slots / sizeof *s->slots);
  const struct address *above = find(s, &now, slot);
  if (!above) {
    now.older = s->slots[slot];
    if (!VEC_PUSH(s->env->arena, &s->seen, now)) return false;
    s->slots[slot] = s->seen.count;
    return true;
  }
  uint64_t distance =
      (uint64_t)above->offset + (uint64_t)now.form.constant - (uint64_t)above->form.constant;
  int64_t offset = evalint_sext(now.form.width, distance);
  if (value_equal(above->root, now.root) || offset <= -MAX_OFFSET || offset >= MAX_OFFSET)
    return true;
  struct builder at = builder_replacing(f, access);
  struct nvm_value to = builder_offset(&at, above->root, offset);
  if (value_is_none(to)) return false;
  inst_set_operand(f, access, operand, to);
  ++*s->env->statistic;
  return true;
}

enum nvm_status share_addresses_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct sharer *s = arena_alloc(env->arena, sizeof *s);
  uint64_t before = *env->statistic;
  if (!s) return NVM_OUT_OF_MEMORY;
  s->f = f;
  s->env = env;
  if (!flow_loops(env->flow, f, &s->dominance, &s->loops)) return NVM_OUT_OF_MEMORY;
  s->scev = scev_init(f, &s->loops, &s->dominance, env->arena);
  struct nvm_block *order = dominance_preorder(&s->dominance, f, env->arena);
  if (!s->scev || !order) return NVM_OUT_OF_MEMORY;
  for (uint32_t k = 1; k <= s->dominance.size[f->entry.index]; k++)
    FOR_EACH_INST (f, order[k], i) {
      enum op op = (enum op)function_inst(f, i)->op;
      if ((op == OP_LOAD || op == OP_STORE) && !share(s, i, op == OP_STORE))
        return NVM_OUT_OF_MEMORY;
    }
  *changed = *env->statistic != before;
  return NVM_OK;
}
