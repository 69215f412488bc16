/* Divergence; see divergence.h.
 *
 * After Karrenberg and Hack, "Improving Performance of OpenCL on CPUs", 2012, and LLVM's analysis
 * derived from it, simplified. A value differs if one of these holds:
 *
 * - source: it is a thread or lane number, a clock, the result of an atomic, an unknown call or an
 *   exchange between lanes, a load from memory that may be private to the thread, or an argument of
 * a device function
 * - data: an operand differs
 * - join: it is a phi in the influence region of a divergent branch, the blocks between the branch
 *   and its immediate post-dominator, that included
 * - leaving: it is computed in a loop that threads leave in different iterations, and used after it
 *
 * Unlike there, all phis of an influence region differ, not only those that two disjoint paths
 * reach. */
#include "analysis/divergence.h"

#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "analysis/effects.h"
#include "analysis/postdominators.h"
#include "analysis/uses.h"

struct finder {
  struct divergence *d;
  const struct nvm_function *f;
  const struct dominance *dominance;
  const struct loops *loops;
  struct arena *arena;
  struct uses uses;
  struct nvm_block *meet; /* by block: immediate post-dominator; {0}: none */
  uint64_t *seen;         /* by block: the last region visited: its end, and its branch's loop */
  bool *left;             /* by loop: leave_loop() has visited it */
  VEC(uint32_t) work;     /* instructions that differ */
};

static bool is_source(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_ATOMICRMW:
    case OP_CMPXCHG:
    case OP_VA_ARG: return true;
    case OP_LOAD: {
      uint32_t space = type_info(&f->module->types, value_type(f, inst_operand(f, i, 0)))->width;
      struct nvm_value object = alias_underlying_object(f, inst_operand(f, i, 0));
      bool shared_by_all = value_kind(object) == VALUE_GLOBAL ||
                           (value_kind(object) == VALUE_ARG && alias_parameters_are_global(f));
      return space == 5 || (space == 0 && !shared_by_all);
    }
    case OP_CALL: break;
    default: return false;
  }
  switch (call_intrinsic(f, i)) {
    case INTRINSIC_nvvm_read_ptx_sreg_ctaid_x:
    case INTRINSIC_nvvm_read_ptx_sreg_ctaid_y:
    case INTRINSIC_nvvm_read_ptx_sreg_ctaid_z:
    case INTRINSIC_nvvm_read_ptx_sreg_ntid_x:
    case INTRINSIC_nvvm_read_ptx_sreg_ntid_y:
    case INTRINSIC_nvvm_read_ptx_sreg_ntid_z:
    case INTRINSIC_nvvm_read_ptx_sreg_nctaid_x:
    case INTRINSIC_nvvm_read_ptx_sreg_nctaid_y:
    case INTRINSIC_nvvm_read_ptx_sreg_nctaid_z:
    case INTRINSIC_nvvm_read_ptx_sreg_warpsize: return false;
    default: break; /* pure with operands: as its operands */
  }
  const struct nvm_function *callee = call_function(f, i);
  bool may_read_thread = callee && !callee->intrinsic; /* a body may read the thread's number */
  return may_read_thread || i->operand_count < 2 || !effects_is_pure(f, i);
}

/* --- propagation ------------------------------------------------------------------------------ */

static bool differs(struct finder *s, uint32_t i) {
  if (s->d->values[i]) return true;
  s->d->values[i] = true;
  return VEC_PUSH(s->arena, &s->work, i);
}

static bool phis_differ(struct finder *s, struct nvm_block b) {
  FOR_EACH_PHI (s->f, b, i)
    if (!differs(s, i.index)) return false;
  return true;
}

/* Values computed in loop n differ where they are used outside it. */
static bool leave_loop(struct finder *s, uint32_t n) {
  const struct loop *l = &s->loops->data[n];
  if (s->left[n]) return true;
  s->left[n] = true;
  for (uint32_t k = 0; k < l->block_count; k++)
    FOR_EACH_INST (s->f, s->loops->blocks[l->first_block + k], i)
      for (uint32_t u = s->uses.first[i.index]; u < s->uses.first[i.index + 1]; u++) {
        struct nvm_inst_id user = s->uses.users[u];
        if (!loops_contains(s->loops, n, function_inst(s->f, user)->block) &&
            !differs(s, user.index))
          return false;
      }
  return true;
}

/* The branch at the end of b diverges: visits its influence region. A block that was visited for a
 * region with the same end, from the same loop, is not visited again. */
static bool diverge(struct finder *s, struct nvm_block b) {
  if (s->d->branches[b.index]) return true;
  s->d->branches[b.index] = true;
  VEC(struct nvm_block) open = {0};
  uint64_t here = (uint64_t)s->meet[b.index].index << 32 | (s->loops->innermost[b.index] + 1);
  for (uint32_t k = 0, n = block_successor_count(s->f, b); k < n; k++)
    if (!VEC_PUSH(s->arena, &open, block_successor(s->f, b, k))) return false;
  while (open.count) {
    struct nvm_block at = open.data[--open.count];
    if (s->seen[at.index] == here) continue;
    s->seen[at.index] = here;
    if (!phis_differ(s, at)) return false;
    for (uint32_t n = s->loops->innermost[b.index]; n && !loops_contains(s->loops, n, at);
         n = s->loops->data[n].parent)
      if (!leave_loop(s, n)) return false;
    for (uint32_t k = 0,
                  n = at.index == s->meet[b.index].index ? 0 : block_successor_count(s->f, at);
         k < n; k++)
      if (!VEC_PUSH(s->arena, &open, block_successor(s->f, at, k))) return false;
  }
  return true;
}

static bool visit_user(struct finder *s, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(s->f, id);
  if (i->op == OP_CONDBR || i->op == OP_SWITCH) return diverge(s, i->block);
  return type_equal(i->type, TYPE_VOID) || differs(s, id.index);
}

static bool begin(struct finder *s) {
  const struct nvm_function *f = s->f;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      bool differ = !type_equal(i->type, TYPE_VOID) && is_source(f, i);
      for (uint32_t k = 0; k < i->operand_count; k++)
        differ |= value_kind(inst_operand(f, i, k)) == VALUE_ARG && !function_is_kernel(f);
      if (differ && !visit_user(s, id)) return false;
    }
  return true;
}

bool divergence_compute(struct divergence *d, const struct nvm_function *f,
                        const struct dominance *dominance, const struct loops *loops,
                        struct arena *arena) {
  struct finder s = {.d = d, .f = f, .dominance = dominance, .loops = loops, .arena = arena};
  *d = (struct divergence){.f = f, .size = f->insts.count};
  d->values = arena_alloc(arena, f->insts.count * sizeof *d->values);
  d->branches = arena_alloc(arena, f->blocks.count * sizeof *d->branches);
  s.meet = postdominators_compute(f, dominance, arena);
  s.seen = arena_alloc(arena, f->blocks.count * sizeof *s.seen);
  s.left = arena_alloc(arena, (loops->count + 1) * sizeof *s.left);
  if (!d->values || !d->branches || !s.meet || !s.seen || !s.left ||
      !uses_build(&s.uses, f, arena) || !begin(&s))
    return false;
  while (s.work.count) {
    uint32_t i = s.work.data[--s.work.count];
    for (uint32_t u = s.uses.first[i]; u < s.uses.first[i + 1]; u++)
      if (!visit_user(&s, s.uses.users[u])) return false;
  }
  return !arena->failed;
}

bool divergence_of(const struct divergence *d, struct nvm_value v) {
  if (value_kind(v) == VALUE_ARG) return !function_is_kernel(d->f);
  return value_kind(v) == VALUE_INST && (value_index(v) >= d->size || d->values[value_index(v)]);
}

enum { MAX_OPERANDS = 3 }; /* of instructions that the pre-checks look through */

bool divergence_is_evident(const struct nvm_function *f, struct nvm_value v, uint32_t steps) {
  if (value_kind(v) == VALUE_ARG) return !function_is_kernel(f);
  if (value_kind(v) != VALUE_INST) return false;
  const struct nvm_inst *i = function_inst(f, (struct nvm_inst_id){value_index(v)});
  if (is_source(f, i)) return true;
  if (steps == 0 || i->op == OP_PHI || i->operand_count > MAX_OPERANDS) return false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (divergence_is_evident(f, inst_operand(f, i, k), steps - 1)) return true;
  return false;
}

bool divergence_is_absent(const struct nvm_function *f, const struct loops *l, struct nvm_block b,
                          struct nvm_value v, uint32_t steps) {
  if (value_kind(v) == VALUE_ARG) return function_is_kernel(f);
  if (value_kind(v) != VALUE_INST) return true;
  const struct nvm_inst *i = function_inst(f, (struct nvm_inst_id){value_index(v)});
  bool left_loop = i->block.index != b.index && i->block.index != f->entry.index &&
                   !(l && loops_contains(l, l->innermost[i->block.index], b));
  if (steps == 0 || left_loop || i->op == OP_PHI || i->operand_count > MAX_OPERANDS ||
      is_source(f, i))
    return false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!divergence_is_absent(f, l, i->block, inst_operand(f, i, k), steps - 1)) return false;
  return true;
}
