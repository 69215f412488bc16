/* demanded-bits: removes operations on bits that no instruction reads.
 *
 * Purpose:   `(b0 | b1 << 8 | b2 << 16) >> 16 & 1` needs one of the three bytes, a store of 8 bits
 *            no mask, and x >> 33 the same bits of x ^ (x >> 33) as of x.
 * Algorithm: which bits of an integer its users read follows from the bits of the results that
 *            are read (LLVM's DemandedBits): a worklist, backwards, until nothing changes. Then,
 *            for each use on its own,
 *              a value of which no bit is read                     → 0
 *              and, or, xor, add, sub that keep what is read       → the operand
 *              shl and lshr by the same amount, likewise           → the operand
 *            and for all uses together,
 *              sext, ashr of which no copied sign is read          → zext, lshr
 *              a shift of the opposite shift, by constants         → one shift
 *            All decisions are made for the function as it was, and a replacement must not need
 *            bits of its new operand that were not read: so they hold together. Flags are removed
 *            where a bit of an operand may have changed.
 * Requires:  nothing; combine and dce afterwards.
 * Preserves: the control flow.
 * Cost:      linear, times the growths of a mask in cycles of phis; known bits cost a bounded
 *            walk.
 * Omits:     vectors, integers of more than 64 bits, smaller constants, rotations.
 * Tests:     check/opt/demanded-bits. */
#include "analysis/known_bits.h"
#include "ir/build.h"
#include "opt/passes.h"

/* A new operand, or (none) a new op. */
struct change {
  struct nvm_inst_id inst;
  uint32_t operand;
  struct nvm_value to;
  enum op op;
};

struct sweep {
  struct nvm_function *f;
  struct arena *arena;
  uint64_t *demanded; /* by instruction, of integers of at most 64 bits */
  bool *waiting;
  bool *altered; /* bits that are not demanded may have changed */
  VEC(uint32_t) stack;
  VEC(struct change) changes;
};

/* The width of a scalar integer of at most 64 bits; else 0. */
static uint32_t width_of(const struct sweep *s, struct nvm_value v) {
  const struct type_info *t = type_info(&s->f->module->types, value_type(s->f, v));
  return t->kind == TY_INT && t->width <= 64 ? t->width : 0;
}

static uint64_t all_of(const struct sweep *s, struct nvm_value v) {
  return known_bits_mask(width_of(s, v));
}

/* The constant amount of a shift; 64 if it is none, or too large. */
static uint32_t amount_of(const struct sweep *s, const struct nvm_inst *i) {
  nvm_u128 by;
  bool shifts = i->op == OP_SHL || i->op == OP_LSHR || i->op == OP_ASHR;
  if (!shifts || !const_is_int(s->f->module, inst_operand(s->f, i, 1), &by)) return 64;
  return by < width_of(s, inst_operand(s->f, i, 0)) ? (uint32_t)by : 64;
}

/* The bits up to the highest of m. */
static uint64_t up_to(uint64_t m) {
  return m ? known_bits_mask(64 - (uint32_t)__builtin_clzll(m)) : 0;
}

/* Whether bits_read() knows what i does with integers, without effects. */
static bool is_tracked(const struct sweep *s, const struct nvm_inst *i) {
  if (!width_of(s, inst_operand(s->f, i, i->op == OP_SELECT))) return false;
  switch ((enum op)i->op) {
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_PHI:
    case OP_SELECT:
    case OP_TRUNC: return true;
    case OP_ZEXT:
    case OP_SEXT: return type_scalar_bits(&s->f->module->types, i->type) <= 64;
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR: return amount_of(s, i) < 64;
    default: return false;
  }
}

/* The bits of operand k, an integer, that instruction i reads to compute the bits m. */
static uint64_t bits_read(const struct sweep *s, const struct nvm_inst *i, uint32_t k, uint64_t m) {
  uint64_t all = all_of(s, inst_operand(s->f, i, k)), sign = all & ~(all >> 1);
  uint32_t by = amount_of(s, i);
  nvm_u128 c;
  if (!is_tracked(s, i)) return all;
  switch ((enum op)i->op) {
    case OP_AND:
    case OP_OR:
      if (!const_is_int(s->f->module, inst_operand(s->f, i, !k), &c)) return m;
      return m & (i->op == OP_AND ? (uint64_t)c : ~(uint64_t)c);
    case OP_XOR:
    case OP_PHI:
    case OP_TRUNC: return m;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return up_to(m);
    case OP_SELECT: return k > 0 ? m : m != 0;
    case OP_ZEXT: return m & all;
    case OP_SEXT: return (m & all) | (m & ~all ? sign : 0);
    case OP_SHL: return k == 0 ? m >> by : all;
    case OP_LSHR: return k == 0 ? m << by & all : all;
    case OP_ASHR: return k > 0 ? all : (m << by & all) | (m & ~(all >> by) ? sign : 0);
    default: return all;
  }
}

static void demand_operands(struct sweep *s, const struct nvm_inst *i, uint64_t m) {
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(s->f, i, k);
    if (value_kind(v) != VALUE_INST || !width_of(s, v)) continue;
    uint64_t *demanded = &s->demanded[value_index(v)], more = bits_read(s, i, k, m) & ~*demanded;
    if (!more) continue;
    *demanded |= more;
    if (s->waiting[value_index(v)]) continue;
    s->waiting[value_index(v)] = true;
    (void)VEC_PUSH(s->arena, &s->stack, value_index(v)); /* the arena records a failure */
  }
}

/* Backwards, so that most instructions are visited after their users. */
static void find_demanded(struct sweep *s) {
  struct nvm_function *f = s->f;
  for (struct nvm_block b = f->last_block; !block_is_none(b); b = function_block(f, b)->previous)
    for (struct nvm_inst_id i = function_block(f, b)->last; !inst_is_none(i);
         i = function_inst(f, i)->previous) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (inst->operand_count && !is_tracked(s, inst)) demand_operands(s, inst, 0);
      while (s->stack.count && !s->arena->failed) {
        uint32_t top = s->stack.data[--s->stack.count];
        s->waiting[top] = false;
        if (is_tracked(s, &f->insts.data[top]))
          demand_operands(s, &f->insts.data[top], s->demanded[top]);
      }
    }
}

/* --- one use ---------------------------------------------------------------------------------- */

/* An operand that has the bits m of v; VALUE_NULL: none. */
static struct nvm_value same_bits(const struct sweep *s, struct nvm_value v, uint64_t m) {
  const struct nvm_inst *i = value_inst(s->f, v);
  if (!i || i->operand_count < 2 || !is_tracked(s, i)) return VALUE_NULL;
  uint32_t by = amount_of(s, i);
  const struct nvm_inst *inner = value_inst(s->f, inst_operand(s->f, i, 0));
  if (by < 64 && inner && amount_of(s, inner) == by && (i->op == OP_SHL) != (inner->op == OP_SHL)) {
    uint64_t kept = i->op == OP_SHL ? ~known_bits_mask(by) : all_of(s, v) >> by;
    return m & ~kept ? VALUE_NULL : inst_operand(s->f, inner, 0);
  }
  if (i->op != OP_AND && i->op != OP_OR && i->op != OP_XOR && i->op != OP_ADD && i->op != OP_SUB)
    return VALUE_NULL;
  for (uint32_t k = 0; k < (i->op == OP_SUB ? 1u : 2u); k++) {
    struct nvm_value x = inst_operand(s->f, i, k);
    struct known_bits y = known_bits_of(s->f, inst_operand(s->f, i, !k));
    uint64_t keeps = i->op == OP_AND ? y.one : y.zero;
    if (i->op == OP_ADD || i->op == OP_SUB ? !(up_to(m) & ~keeps) : !(m & ~keeps)) return x;
  }
  return VALUE_NULL;
}

static void change_op(struct sweep *s, struct nvm_inst_id i, enum op op) {
  struct change c = {.inst = i, .to = VALUE_NULL, .op = op};
  (void)VEC_PUSH(s->arena, &s->changes, c);
}

static void change_operand(struct sweep *s, struct nvm_inst_id i, uint32_t k, struct nvm_value to) {
  struct change c = {.inst = i, .operand = k, .to = to};
  (void)VEC_PUSH(s->arena, &s->changes, c);
}

enum { MAX_STEPS = 16 }; /* unreachable code may have cycles without phis */

/* What is left of v where only the bits m are read. */
static struct nvm_value simplest(const struct sweep *s, struct nvm_value v, uint64_t m) {
  if (value_kind(v) != VALUE_INST || !width_of(s, v) || m == all_of(s, v)) return v;
  if (m == 0) return const_int(s->f->module, value_type(s->f, v), 0);
  for (uint32_t steps = 0; steps < MAX_STEPS; steps++) {
    struct nvm_value next = same_bits(s, v, m);
    if (value_is_none(next) ||
        (value_kind(next) == VALUE_INST && (m & ~s->demanded[value_index(next)])))
      break;
    v = next;
  }
  return v;
}

/* Replaces operand k by a value that has the bits that i reads. */
static void simplify_use(struct sweep *s, struct nvm_inst_id i, uint32_t k) {
  const struct nvm_inst *inst = function_inst(s->f, i);
  struct nvm_value v = inst_operand(s->f, inst, k);
  if (value_kind(v) != VALUE_INST) return;
  struct nvm_value to = simplest(s, v, bits_read(s, inst, k, s->demanded[i.index]));
  if (!value_equal(to, v)) change_operand(s, i, k, to);
}

/* --- one instruction -------------------------------------------------------------------------- */

/* Makes one shift of i and of the opposite shift that it shifts. */
static bool merge_shifts(struct sweep *s, struct nvm_inst_id i, uint64_t m) {
  const struct nvm_inst *outer = function_inst(s->f, i);
  struct nvm_value shifted = inst_operand(s->f, outer, 0);
  const struct nvm_inst *inner = value_inst(s->f, simplest(s, shifted, bits_read(s, outer, 0, m)));
  bool left = outer->op == OP_SHL;
  if (!inner || inner->op != (left ? OP_LSHR : OP_SHL)) return false;
  uint32_t by = amount_of(s, outer), before = amount_of(s, inner);
  uint64_t all = all_of(s, value_of_inst(i)), kept = left ? ~known_bits_mask(by) : all >> by;
  if (before == 64 || by == before || (m & ~kept)) return false;
  uint32_t rest = by > before ? by - before : before - by;
  bool goes_left = left == (by > before);
  uint64_t read = goes_left ? m >> rest : m << rest & all;
  struct nvm_value x = inst_operand(s->f, inner, 0);
  if (value_kind(x) == VALUE_INST && (read & ~s->demanded[value_index(x)])) return false;
  change_op(s, i, goes_left ? OP_SHL : OP_LSHR);
  change_operand(s, i, 0, simplest(s, x, read));
  change_operand(s, i, 1, const_int(s->f->module, outer->type, rest));
  return true;
}

/* Changes the op if that pays; true if the operands are done too. */
static bool simplify_inst(struct sweep *s, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(s->f, i);
  uint64_t m = s->demanded[i.index];
  switch ((enum op)inst->op) {
    case OP_SEXT:
      if (!(m & ~all_of(s, inst_operand(s->f, inst, 0)))) change_op(s, i, OP_ZEXT);
      return false;
    case OP_ASHR:
      if (!(m & ~(all_of(s, value_of_inst(i)) >> amount_of(s, inst)))) change_op(s, i, OP_LSHR);
      return false;
    case OP_SHL:
    case OP_LSHR: return merge_shifts(s, i, m);
    default: return false;
  }
}

static void decide(struct sweep *s) {
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i) {
      const struct nvm_inst *inst = function_inst(s->f, i);
      if (!inst->operand_count || !is_tracked(s, inst) || !s->demanded[i.index]) continue;
      if (simplify_inst(s, i)) continue;
      for (uint32_t k = 0; k < inst->operand_count; k++) simplify_use(s, i, k);
    }
}

/* --- changes ---------------------------------------------------------------------------------- */

enum { MAX_SWEEPS = 8 }; /* the last one takes all bits that are not demanded for changed */

/* Marks results whose bits may have changed, and removes flags, which were true of the old ones. */
static void drop_flags(struct sweep *s) {
  bool again = true;
  for (uint32_t sweeps = 0; again && sweeps <= MAX_SWEEPS; sweeps++) {
    again = false;
    FOR_EACH_BLOCK (s->f, b)
      FOR_EACH_INST (s->f, b, i) {
        struct nvm_inst *inst = function_inst(s->f, i);
        if (!inst->operand_count || !is_tracked(s, inst)) continue;
        bool altered = s->altered[i.index];
        for (uint32_t k = 0; k < inst->operand_count && !altered; k++) {
          struct nvm_value v = inst_operand(s->f, inst, k);
          altered = value_kind(v) == VALUE_INST &&
                    (s->altered[value_index(v)] || sweeps == MAX_SWEEPS) &&
                    s->demanded[value_index(v)] != all_of(s, v);
        }
        if (altered) inst->flags = 0;
        again |= altered && !s->altered[i.index];
        s->altered[i.index] = altered;
      }
  }
}

enum nvm_status demanded_bits_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  uint32_t count = f->insts.count;
  struct sweep s = {.f = f,
                    .arena = env->arena,
                    .demanded = arena_alloc(env->arena, count * sizeof(uint64_t)),
                    .waiting = arena_alloc(env->arena, count * sizeof(bool)),
                    .altered = arena_alloc(env->arena, count * sizeof(bool))};
  if (!s.demanded || !s.waiting || !s.altered) return NVM_OUT_OF_MEMORY;
  find_demanded(&s);
  decide(&s);
  if (env->arena->failed || module_out_of_memory(f->module)) return NVM_OUT_OF_MEMORY;
  for (uint32_t k = 0; k < s.changes.count; k++) {
    struct change c = s.changes.data[k];
    if (value_is_none(c.to)) function_inst(f, c.inst)->op = (uint16_t)c.op;
    else inst_set_operand(f, c.inst, c.operand, c.to);
    s.altered[c.inst.index] = true;
  }
  if (s.changes.count) drop_flags(&s);
  *env->statistic += s.changes.count;
  *changed = s.changes.count > 0;
  return NVM_OK;
}
