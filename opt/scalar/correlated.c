/* correlated: uses what branches and number ranges imply about values.
 *
 * Purpose:   after `if (i < n)` the range of i is known; a thread's number is below 1,024, a
 * block's not negative. Repeated comparisons (bounds checks of inlined helpers) are removed,
 *            divisions and extensions become the cheaper unsigned ones, 64-bit operations narrow
 *            ones; sums get no-wrap flags, which loop passes and addressing need.
 * Algorithm: a walk over the dominator tree, siblings in reverse postorder, with a scoped table of
 *            the range of each integer (analysis/ranges.h). A block with one predecessor adds what
 *            its branch or switch implies, llvm.assume its condition; leaving the subtree removes
 *            these facts. Phis of loops start at their first value; their step gives the
 *            direction, the latch's test the bound. analysis/nonnegative.h finds those that are
 *            never negative.
 *              operand with one possible value               → the constant
 *              icmp, min, max that are decided               → constant, operand
 *              sdiv, srem, ashr, sext, abs, not negative     → udiv, urem, lshr, zext nneg, itself
 *              x udiv y, x urem y with x < y                 → 0, x
 *              x and mask that keeps all of x                → x
 *              0 <= x and x < y, where y is not negative     → x below y, unsigned
 *              64-bit mul, div, shift of 32-bit values       → 32 bits and an extension
 *              add, sub, mul, shl in range                   → nuw, nsw
 *              comparison decided by one of the same values   → the constant
 *              impossible case of a switch                   → removed
 *              phi of true and false by a branch             → the branch condition
 *              branch condition, its extensions, selects     → constant, operand, where one
 *                by it                                         successor is taken, and for its edge
 *              64-bit counter of 32-bit values               → 32 bits, if all users extend it at
 *                no cost: comparisons, addresses, truncations
 * Requires:  nothing.
 * Preserves: the blocks; edges of impossible cases are removed.
 * Cost:      linear in instructions and in facts; conditions are followed MAX_DEPTH levels deep.
 * Omits:     other relations of two variables; vectors; ranges that hold on an edge into a join;
 *            phis of more than 32 edges.
 * Tests:     check/opt/correlated*.nvir, unit/test_ranges.c. */
#include "ir/build.h"
#include "ir/dominance.h"
#include "ir/intrinsic.h"
#include "analysis/nonnegative.h"
#include "analysis/ranges.h"
#include "analysis/relations.h"
#include "analysis/scev.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/scalar/branch_values.h"
#include "opt/rewrite.h"
#include "analysis/uses.h"

enum { MAX_DEPTH = 4 };
enum { NOTHING, SOME, ONE }; /* what is known of a value: nothing yet, a range, a single number */
enum { FITS_UNSIGNED = 1, FITS_SIGNED = 2 }; /* in 32 bits */

/* A 64-bit phi and its value in the next iteration, next = phi + step. */
struct counter {
  struct nvm_inst_id phi, next;
  unsigned fits;
};

struct fact {
  uint32_t slot;
  struct range before;
};

struct walker {
  struct nvm_function *f;
  struct pass_env *env;
  struct dominance dominance;
  struct rewrite rewrite;
  uint32_t insts;      /* slots of the next two are instructions, then arguments */
  uint8_t *knowledge;  /* NOTHING, SOME or ONE; slot 0: NOTHING */
  struct range *known; /* valid unless NOTHING */
  VEC(struct fact) undo;
  struct nvm_block *child, *sibling; /* of the dominator tree, in reverse postorder */
  uint8_t *fits;                     /* by instruction: FITS_ of phis with two entries */
  struct nonnegative nonnegative;
  struct relations relations;
  VEC(struct counter) counters;
  uint32_t *case_of; /* by block: the case operand of the switch that leads there, 0: none */
  struct branch_values by_branch;
  bool changed;
};

/* --- Ranges --- */

static uint32_t slot_of(const struct walker *w, struct nvm_value v) {
  if (value_kind(v) == VALUE_ARG) return w->insts + value_index(v);
  return value_kind(v) == VALUE_INST && value_index(v) < w->insts ? value_index(v) : 0;
}

static struct range current_range(void *state, struct nvm_value v) {
  const struct walker *w = state;
  uint32_t slot = slot_of(w, v);
  return w->knowledge[slot] ? w->known[slot] : range_of_value(w->f, v);
}

static void set_range(struct walker *w, uint32_t slot, struct range r) {
  w->known[slot] = r;
  w->knowledge[slot] = r.width == 0 ? NOTHING : r.low == r.high && !range_is_empty(r) ? ONE : SOME;
}

static bool narrow(struct walker *w, struct nvm_value v, struct range to, int depth);

/* Derives a range of the operand from the range of the result. */
static bool narrow_operand(struct walker *w, const struct nvm_inst *i, struct range r, int depth) {
  struct nvm_value x = i->operand_count ? inst_operand(w->f, i, 0) : VALUE_NULL;
  if (depth == MAX_DEPTH) return true;
  if (i->op == OP_ZEXT || i->op == OP_SEXT) {
    struct range all = range_of_value(w->f, x), to = range_all(all.width);
    if (all.width == 0) return true;
    if (i->op == OP_ZEXT && r.low <= to.high && r.high <= to.high)
      return narrow(w, x, range_unsigned(all.width, r.low, r.high), depth + 1);
    if (i->op == OP_SEXT && r.least >= to.least && r.most <= to.most)
      return narrow(w, x, range_signed(all.width, r.least, r.most), depth + 1);
  }
  if (i->op == OP_ADD && (i->flags & (INST_NSW | INST_NUW))) {
    struct range c = range_of_value(w->f, inst_operand(w->f, i, 1)), to = range_all(r.width);
    if (c.low != c.high) return true;
    if ((i->flags & INST_NUW) && r.low >= c.low)
      to = range_both(to, range_unsigned(r.width, r.low - c.low, r.high - c.low));
    int64_t least, most;
    if ((i->flags & INST_NSW) && !__builtin_sub_overflow(r.least, c.least, &least) &&
        !__builtin_sub_overflow(r.most, c.least, &most) && least >= to.least && most <= to.most)
      to = range_both(to, range_signed(r.width, least, most));
    return narrow(w, x, to, depth + 1);
  }
  return true;
}

/* Records that v is in `to`, until the scope ends. */
static bool narrow(struct walker *w, struct nvm_value v, struct range to, int depth) {
  uint32_t slot = slot_of(w, v);
  if (slot == 0 || to.width == 0) return true;
  struct range before = current_range(w, v), now = range_both(before, to);
  struct fact undo = {slot, w->knowledge[slot] ? before : range_all(0)};
  if (range_equal(before, now)) return true;
  set_range(w, slot, now);
  if (!VEC_PUSH(w->env->arena, &w->undo, undo)) return false;
  if (value_kind(v) != VALUE_INST || range_is_empty(now)) return true;
  return narrow_operand(w, function_inst(w->f, value_inst_id(v)), now, depth);
}

/* Records what `condition == truth` implies. */
static bool add_condition(struct walker *w, struct nvm_value condition, bool truth, int depth) {
  const struct nvm_function *f = w->f;
  if (!narrow(w, condition, range_unsigned(1, truth, truth), MAX_DEPTH)) return false;
  if (value_kind(condition) != VALUE_INST || depth == MAX_DEPTH) return true;
  const struct nvm_inst *i = function_inst(f, value_inst_id(condition));
  struct nvm_value a = i->operand_count > 1 ? inst_operand(f, i, 0) : VALUE_NULL;
  struct nvm_value b = i->operand_count > 1 ? inst_operand(f, i, 1) : VALUE_NULL;
  nvm_u128 bits;
  switch ((enum op)i->op) {
    case OP_ICMP: {
      enum icmp_predicate p = (enum icmp_predicate)i->aux;
      if (!truth) p = icmp_inverse(p);
      return narrow(w, a, range_where(p, current_range(w, b)), 0) &&
             narrow(w, b, range_where(icmp_swapped(p), current_range(w, a)), 0);
    }
    case OP_AND:
    case OP_OR:
      if (truth != (i->op == OP_AND)) return true;
      return add_condition(w, a, truth, depth + 1) && add_condition(w, b, truth, depth + 1);
    case OP_SELECT: { /* a and b, a or b */
      struct nvm_value other = inst_operand(f, i, truth ? 2 : 1),
                       both = inst_operand(f, i, truth ? 1 : 2);
      if (!const_is_int(f->module, other, &bits) || bits == truth) return true;
      return add_condition(w, a, truth, depth + 1) && add_condition(w, both, truth, depth + 1);
    }
    case OP_XOR:
      return !const_is_int(f->module, b, &bits) || bits == 0 ||
             add_condition(w, a, !truth, depth + 1);
    default: return true;
  }
}

/* Records what the only edge into b implies. */
static bool add_edge_condition(struct walker *w, struct nvm_block b) {
  const struct dominance *d = &w->dominance;
  if (dominance_predecessor_count(d, b) != 1) return true;
  struct nvm_block from = dominance_first_predecessor(d, b);
  const struct nvm_inst *t = function_inst(w->f, block_terminator(w->f, from));
  if (t->op == OP_CONDBR)
    return add_condition(w, inst_operand(w->f, t, 0),
                         value_index(inst_operand(w->f, t, 1)) == b.index, 0);
  if (t->op != OP_SWITCH || value_index(inst_operand(w->f, t, 1)) == b.index ||
      !w->case_of[b.index])
    return true;
  return narrow(w, inst_operand(w->f, t, 0),
                range_of_value(w->f, inst_operand(w->f, t, w->case_of[b.index])), 0);
}

/* The range of the phi's entry k, which is not visited yet: from the latch's condition. */
static struct range range_at_latch(struct walker *w, const struct nvm_inst *phi, uint32_t k) {
  const struct nvm_function *f = w->f;
  struct nvm_value v = inst_operand(f, phi, k), latch = inst_operand(f, phi, k + 1);
  const struct nvm_inst *t = function_inst(f, block_terminator(f, value_block(latch)));
  const struct nvm_inst *test =
      t->op == OP_CONDBR ? value_inst_of(f, inst_operand(f, t, 0), OP_ICMP) : NULL;
  if (!test || !value_equal(inst_operand(f, test, 0), v) ||
      value_equal(inst_operand(f, t, 1), inst_operand(f, t, 2)))
    return range_of_value(f, v);
  bool truth = value_index(inst_operand(f, t, 1)) == phi->block.index;
  enum icmp_predicate p = (enum icmp_predicate)test->aux;
  return range_where(truth ? p : icmp_inverse(p), current_range(w, inst_operand(f, test, 1)));
}

enum { KEEPS_LOW = 1, KEEPS_HIGH = 2, KEEPS_LEAST = 4, KEEPS_MOST = 8, KEEPS_BOUNDS = 15 };

/* The bounds of the phi that v, which is computed from it, stays within: those that the other
 * entries have. */
static unsigned kept_bounds(struct walker *w, struct nvm_value phi, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(w->f, v);
  if (value_equal(v, phi)) return KEEPS_BOUNDS;
  if (!i || i->operand_count < 2 || !value_equal(inst_operand(w->f, i, 0), phi)) return 0;
  if (i->op == OP_LSHR || i->op == OP_UDIV || i->op == OP_AND) return KEEPS_HIGH;
  if (i->op != OP_ADD) return 0;
  struct range step = current_range(w, inst_operand(w->f, i, 1));
  return (i->flags & INST_NUW ? KEEPS_LOW : 0) |
         (i->flags & INST_NSW && step.least >= 0 ? KEEPS_LEAST : 0) |
         (i->flags & INST_NSW && step.most <= 0 ? KEEPS_MOST : 0);
}

/* Each bound is that of the entries that do not keep it, by induction over the iterations. */
static struct range range_of_phi(struct walker *w, struct nvm_inst_id id) {
  const struct nvm_inst *phi = function_inst(w->f, id);
  struct range all = range_of_value(w->f, value_of_inst(id)), r = all;
  unsigned seen = 0; /* bounds */
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    struct nvm_value v = inst_operand(w->f, phi, k);
    uint32_t slot = slot_of(w, v);
    bool later = slot && slot < w->insts && !w->knowledge[slot];
    struct range x = later ? range_at_latch(w, phi, k) : current_range(w, v);
    unsigned kept = later ? kept_bounds(w, value_of_inst(id), v) : 0, old = seen;
    if (x.width == 0) return x;
    if (range_is_empty(x)) continue;
    seen |= KEEPS_BOUNDS & ~kept;
    if (!(kept & KEEPS_LOW) && (x.low < r.low || !(old & KEEPS_LOW))) r.low = x.low;
    if (!(kept & KEEPS_HIGH) && (x.high > r.high || !(old & KEEPS_HIGH))) r.high = x.high;
    if (!(kept & KEEPS_LEAST) && (x.least < r.least || !(old & KEEPS_LEAST))) r.least = x.least;
    if (!(kept & KEEPS_MOST) && (x.most > r.most || !(old & KEEPS_MOST))) r.most = x.most;
  }
  r = range_both(range_unsigned(all.width, r.low, r.high),
                 range_signed(all.width, r.least, r.most));
  if (w->nonnegative.marked[id.index] && r.width && !range_is_empty(r))
    r = range_both(r, range_signed(r.width, 0, r.most));
  return range_is_empty(r) ? all : r;
}

/* --- What becomes cheaper --- */

static void replace(struct walker *w, struct nvm_inst_id i, struct nvm_value v) {
  rewrite_set(&w->rewrite, i, v);
  w->changed = true;
}

static void change_op(struct walker *w, struct nvm_inst_id i, enum op op, uint16_t flags) {
  struct nvm_inst *inst = function_inst(w->f, i);
  inst->op = (uint16_t)op;
  inst->flags = flags;
  ++*w->env->statistic;
  w->changed = true;
}

/* How 64-bit values of the range fit in 32 bits. */
static unsigned fits(struct range r) {
  bool is_signed = r.least >= INT32_MIN && r.most <= INT32_MAX;
  if (r.width != 64 || range_is_empty(r)) return 0;
  return (r.high <= UINT32_MAX ? FITS_UNSIGNED : 0) | (is_signed ? FITS_SIGNED : 0);
}

/* The operation on the low 32 bits of the operands, extended. */
static bool narrow_binary(struct walker *w, struct nvm_inst_id id, uint16_t flags, unsigned as) {
  struct builder at = builder_replacing(w->f, id);
  struct nvm_value a = builder_unary(&at, OP_TRUNC, TYPE_I32, inst_operand_at(w->f, id, 0)),
                   b = builder_unary(&at, OP_TRUNC, TYPE_I32, inst_operand_at(w->f, id, 1)),
                   narrow = builder_binary(&at, (enum op)function_inst(w->f, id)->op, a, b);
  if (value_kind(narrow) == VALUE_INST) w->f->insts.data[value_index(narrow)].flags = flags;
  struct nvm_value wide =
      builder_unary(&at, as & FITS_UNSIGNED ? OP_ZEXT : OP_SEXT, TYPE_I64, narrow);
  if (value_is_none(wide)) return false;
  replace(w, id, wide);
  return true;
}

/* A product or shift of which operands and result fit 32 bits. */
static bool narrow_product(struct walker *w, struct nvm_inst_id id, struct range a,
                           struct range b) {
  const struct nvm_inst *i = function_inst(w->f, id);
  enum op op = (enum op)i->op;
  unsigned as = fits(a) & fits(range_binary(op, i->flags, a, b));
  as &= op == OP_LSHR ? FITS_UNSIGNED : op == OP_ASHR ? FITS_SIGNED : as;
  if (!as || (op == OP_MUL ? !(as &= fits(b)) : b.high >= 32)) return true;
  uint16_t flags = (as & FITS_UNSIGNED ? INST_NUW : 0) | (as & FITS_SIGNED ? INST_NSW : 0);
  if (op == OP_LSHR || op == OP_ASHR) flags = i->flags;
  return narrow_binary(w, id, flags, as);
}

static bool simplify_division(struct walker *w, struct nvm_inst_id id, struct range a,
                              struct range b) {
  struct nvm_inst *i = function_inst(w->f, id);
  bool quotient = i->op == OP_SDIV || i->op == OP_UDIV;
  if (i->op == OP_SDIV || i->op == OP_SREM) {
    if (a.least < 0 || b.least < 0)
      return a.width != 64 || !range_divides_in(32, a, b) || narrow_binary(w, id, 0, FITS_SIGNED);
    change_op(w, id, quotient ? OP_UDIV : OP_UREM, i->flags);
  }
  if (a.high < b.low)
    replace(w, id, quotient ? const_int(w->f->module, i->type, 0) : inst_operand(w->f, i, 0));
  else if (a.width == 64 && a.high <= UINT32_MAX && b.high <= UINT32_MAX)
    return narrow_binary(w, id, 0, FITS_UNSIGNED); /* saves tens of instructions */
  return true;
}

/* min, max, abs. */
static void simplify_call(struct walker *w, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(w->f, id);
  enum icmp_predicate first; /* if true, the first operand is the result */
  switch (call_intrinsic(w->f, i)) {
    case INTRINSIC_smin: first = ICMP_SLE; break;
    case INTRINSIC_smax: first = ICMP_SGE; break;
    case INTRINSIC_umin: first = ICMP_ULE; break;
    case INTRINSIC_umax: first = ICMP_UGE; break;
    case INTRINSIC_abs:
      if (current_range(w, inst_operand(w->f, i, 0)).width &&
          current_range(w, inst_operand(w->f, i, 0)).least >= 0)
        replace(w, id, inst_operand(w->f, i, 0));
      return;
    default: return;
  }
  struct range a = current_range(w, inst_operand(w->f, i, 0)),
               b = current_range(w, inst_operand(w->f, i, 1));
  int truth = range_compare(first, a, b);
  if (truth < 0 && range_compare(first, b, a) == 1) truth = 0;
  if (truth >= 0) replace(w, id, inst_operand(w->f, i, truth ? 0 : 1));
}

/* Moves the possible cases to the front, in order. Returns the operand after them. */
static uint32_t gather_cases(struct walker *w, struct nvm_inst_id t) {
  struct nvm_function *f = w->f;
  struct range r = current_range(w, inst_operand_at(f, t, 0));
  uint32_t to = 2;
  for (uint32_t k = 2; k < function_inst(f, t)->operand_count; k += 2) {
    if (range_compare(ICMP_EQ, r, range_of_value(f, inst_operand_at(f, t, k))) == 0) continue;
    for (uint32_t n = 0; n < 2 && to != k; n++) {
      struct nvm_value swap = inst_operand_at(f, t, to + n);
      inst_set_operand(f, t, to + n, inst_operand_at(f, t, k + n));
      inst_set_operand(f, t, k + n, swap);
    }
    to += 2;
  }
  return to;
}

/* Removes impossible cases. Phis of a target keep one entry for each remaining edge. */
static bool drop_cases(struct walker *w, struct nvm_inst_id t) {
  struct nvm_function *f = w->f;
  struct nvm_block b = function_inst(f, t)->block;
  uint32_t kept = gather_cases(w, t), count = function_inst(f, t)->operand_count,
           dropped = (count - kept) / 2;
  if (dropped) {
    uint32_t *edges = arena_alloc(w->env->arena, f->blocks.count * sizeof *edges);
    struct nvm_block *targets = arena_alloc(w->env->arena, dropped * sizeof *targets);
    if (!edges || !targets) return false;
    for (uint32_t k = 0; k < dropped; k++)
      targets[k].index = value_index(inst_operand_at(f, t, kept + 2 * k + 1));
    inst_remove_operands(f, t, kept, count - kept);
    for (uint32_t n = 0, left = block_successor_count(f, b); n < left; n++)
      edges[block_successor(f, b, n).index]++;
    for (uint32_t k = 0; k < dropped; k++) {
      uint32_t *left = &edges[targets[k].index];
      if (*left != UINT32_MAX) cfg_remove_phi_edges(f, targets[k], b, *left);
      *left = UINT32_MAX;
    }
    w->changed = true;
  }
  for (uint32_t k = 2; k < kept; k += 2) w->case_of[value_index(inst_operand_at(f, t, k + 1))] = k;
  return true;
}

static void simplify_extension(struct walker *w, struct nvm_inst_id id) {
  struct range from = current_range(w, inst_operand_at(w->f, id, 0));
  if (from.width && !range_is_empty(from) && from.least >= 0) change_op(w, id, OP_ZEXT, INST_NNEG);
}

/* The no-wrap flags of i for operands of these ranges. Bits that are zero bound the sum of a
 * multiple of the block size and a thread number, whose range is that of all numbers. */
static uint16_t no_wrap_flags(const struct walker *w, const struct nvm_inst *i, struct range a,
                              struct range b) {
  const uint16_t both = INST_NUW | INST_NSW;
  if ((i->flags & both) == both) return i->flags;
  uint16_t flags = i->flags | range_no_wrap((enum op)i->op, a, b);
  if (i->op != OP_ADD || flags & INST_NUW) return flags;
  a = range_both(a, range_of_bits(known_bits_of(w->f, inst_operand(w->f, i, 0))));
  b = range_both(b, range_of_bits(known_bits_of(w->f, inst_operand(w->f, i, 1))));
  return flags | range_no_wrap(OP_ADD, a, b);
}

/* Whether v is `x >= 0`, or `x < 0` if `negated`; *x is its operand. */
static bool is_sign_test(const struct walker *w, struct nvm_value v, bool negated,
                         struct nvm_value *x) {
  const struct nvm_inst *i = value_inst_of(w->f, v, OP_ICMP);
  if (!i || i->aux != (negated ? ICMP_SLT : ICMP_SGT)) return false;
  struct range r = range_of_value(w->f, inst_operand(w->f, i, 1));
  *x = inst_operand(w->f, i, 0);
  return r.width && r.least == r.most && r.least == (negated ? 0 : -1);
}

/* `0 <= x and x < y`, or `x < 0 or x >= y`: whether `test`, the second comparison, decides alone.
 * It is unsigned, or becomes so where nothing else reads it. y is not negative: a negative x, as
 * unsigned, is above. */
static bool decides_alone(struct walker *w, struct nvm_value first, struct nvm_value test,
                          bool negated) {
  struct nvm_value x;
  const struct nvm_inst *c = value_inst_of(w->f, test, OP_ICMP);
  if (!c || !is_sign_test(w, first, negated, &x)) return false;
  uint32_t p = c->aux;
  bool is_left = value_equal(inst_operand(w->f, c, 0), x);
  struct range r = current_range(w, inst_operand(w->f, c, is_left));
  if (!is_left) p = predicate_swapped(OP_ICMP, p);
  bool is_signed = p >= ICMP_SGT,
       below = p == ICMP_SLT || p == ICMP_SLE || p == ICMP_ULT || p == ICMP_ULE,
       above = p == ICMP_SGT || p == ICMP_SGE || p == ICMP_UGT || p == ICMP_UGE;
  if (!value_equal(inst_operand(w->f, c, !is_left), x) || !(negated ? above : below) ||
      r.width == 0 || range_is_empty(r) || r.least < 0 ||
      (is_signed && w->f->uses.data[value_index(test)] != 1))
    return false;
  if (is_signed) function_inst(w->f, value_inst_id(test))->aux = c->aux + ICMP_UGT - ICMP_SGT;
  return true;
}

static void simplify_bounds(struct walker *w, struct nvm_inst_id id) {
  struct nvm_value a = inst_operand_at(w->f, id, 0), b = inst_operand_at(w->f, id, 1);
  bool negated = function_inst(w->f, id)->op == OP_OR;
  if (decides_alone(w, a, b, negated)) replace(w, id, b);
  else if (decides_alone(w, b, a, negated)) replace(w, id, a);
}

/* Simplifies an operation on integers of these ranges. */
static bool simplify_binary(struct walker *w, struct nvm_inst_id id, struct range a,
                            struct range b) {
  const struct nvm_inst *i = function_inst(w->f, id);
  enum op op = (enum op)i->op;
  switch (op) {
    case OP_ASHR:
      if (a.least >= 0) change_op(w, id, OP_LSHR, i->flags);
      return narrow_product(w, id, a, b);
    case OP_LSHR: return narrow_product(w, id, a, b);
    case OP_SDIV:
    case OP_SREM:
    case OP_UDIV:
    case OP_UREM: return simplify_division(w, id, a, b);
    case OP_OR:
      if (a.width == 1) simplify_bounds(w, id);
      break;
    case OP_AND:
      if (a.width == 1) simplify_bounds(w, id);
      if (b.low == b.high && (b.low & (b.low + 1)) == 0 && a.high <= b.low)
        replace(w, id, inst_operand(w->f, i, 0));
      break;
    default: {
      uint16_t flags = no_wrap_flags(w, i, a, b);
      if (flags != i->flags) change_op(w, id, op, flags);
      if (op == OP_MUL || op == OP_SHL) return narrow_product(w, id, a, b);
    }
  }
  return true;
}

/* Simplifies an operation on integers and records the range of its result. */
static bool visit_binary(struct walker *w, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(w->f, id);
  struct range a = current_range(w, inst_operand(w->f, i, 0)),
               b = current_range(w, inst_operand(w->f, i, 1));
  bool told = a.width && !range_is_empty(a) && !range_is_empty(b);
  if (told && !simplify_binary(w, id, a, b)) return false;
  i = function_inst(w->f, id);
  set_range(w, id.index,
            told ? range_binary((enum op)i->op, i->flags, a, b)
                 : range_of_value(w->f, value_of_inst(id)));
  return true;
}

/* The same for other instructions. */
static bool visit_other(struct walker *w, struct nvm_inst_id id) {
  struct nvm_inst *i = function_inst(w->f, id);
  int truth = i->op == OP_ICMP ? relations_decide(&w->relations, id, current_range, w) : -1;
  if (truth >= 0) {
    set_range(w, id.index, range_unsigned(1, (uint64_t)truth, (uint64_t)truth));
    return true;
  }
  if (i->op == OP_CALL) simplify_call(w, id);
  if (i->op == OP_SWITCH && i->operand_count > 2) return drop_cases(w, id);
  if (i->op == OP_SEXT) simplify_extension(w, id);
  if (type_is_int(&w->f->module->types, i->type))
    set_range(w, id.index,
              i->op == OP_PHI ? range_of_phi(w, id) : range_of_inst(w->f, i, current_range, w));
  if (i->op != OP_CALL || call_intrinsic(w->f, i) != INTRINSIC_assume) return true;
  return add_condition(w, inst_operand(w->f, i, 0), true, 0);
}

/* --- Counters of 64 bits --- */

/* Records whether a phi fits in 32 bits, and counters whose two values do. */
static bool note_counter(struct walker *w, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(w->f, id);
  if (i->op == OP_PHI)
    w->fits[id.index] = i->operand_count == 4 ? (uint8_t)fits(w->known[id.index]) : 0;
  struct nvm_value v = i->op == OP_ADD ? inst_operand(w->f, i, 0) : VALUE_NULL;
  if (value_kind(v) != VALUE_INST) return true;
  struct counter c = {{value_index(v)}, id, w->fits[value_index(v)] & fits(w->known[id.index])};
  const struct nvm_inst *phi = function_inst(w->f, c.phi);
  if (c.fits == 0 || phi->op != OP_PHI) return true;
  bool round = value_equal(inst_operand(w->f, phi, 0), value_of_inst(id)) ||
               value_equal(inst_operand(w->f, phi, 2), value_of_inst(id));
  return !round || VEC_PUSH(w->env->arena, &w->counters, c);
}

/* The i32 that v extends, and how (*as: FITS_). VALUE_NULL if it would have to be computed. */
static struct nvm_value narrowed(const struct walker *w, struct nvm_value v, unsigned *as) {
  struct nvm_module *m = w->f->module;
  nvm_u128 bits;
  if (const_is_int(m, v, &bits)) {
    *as = fits(range_unsigned(64, (uint64_t)bits, (uint64_t)bits));
    return *as ? const_int(m, TYPE_I32, (uint64_t)bits & UINT32_MAX) : VALUE_NULL;
  }
  if (value_kind(v) != VALUE_INST) return VALUE_NULL;
  const struct nvm_inst *i = function_inst(w->f, value_inst_id(v));
  *as = i->op == OP_ZEXT ? FITS_UNSIGNED : FITS_SIGNED;
  if ((i->op != OP_ZEXT && i->op != OP_SEXT) ||
      !type_equal(value_type(w->f, inst_operand(w->f, i, 0)), TYPE_I32))
    return VALUE_NULL;
  return inst_operand(w->f, i, 0);
}

/* The extensions (FITS_) of counter c that are free for this user. */
static unsigned free_extensions(const struct walker *w, const struct counter *c,
                                struct nvm_inst_id user, struct nvm_value v) {
  const struct nvm_inst *i = function_inst(w->f, user);
  unsigned as = 0, all = FITS_UNSIGNED | FITS_SIGNED;
  if (user.index == c->phi.index || user.index == c->next.index || i->op == OP_TRUNC) return all;
  if (i->op == OP_GEP) {
    const struct nvm_module *m = w->f->module;
    return layout_alloc_size(&m->layout, &m->types, (struct nvm_type){i->aux}) > 1 ? all : 0;
  }
  if (i->op != OP_ICMP) return 0;
  uint32_t other = value_equal(inst_operand(w->f, i, 0), v);
  return value_is_none(narrowed(w, inst_operand(w->f, i, other), &as)) ? 0 : as;
}

static bool demote(struct walker *w, const struct uses *uses, struct counter c) {
  struct nvm_function *f = w->f;
  struct nvm_value pair[] = {value_of_inst(c.phi), value_of_inst(c.next)};
  if (rewrite_is_set(&w->rewrite, c.phi) || rewrite_is_set(&w->rewrite, c.next)) return true;
  for (int n = 0; n < 2; n++)
    for (uint32_t u = uses->first[value_index(pair[n])]; u < uses->first[value_index(pair[n]) + 1];
         u++)
      c.fits &= free_extensions(w, &c, uses->users[u], pair[n]);
  unsigned step_as, start_as;
  struct nvm_value step = narrowed(w, inst_operand_at(f, c.next, 1), &step_as);
  if (c.fits == 0 || value_is_none(step)) return true;
  uint32_t out = value_equal(inst_operand_at(f, c.phi, 0), pair[1]) ? 2 : 0;
  struct nvm_value wide = inst_operand_at(f, c.phi, out), start = narrowed(w, wide, &start_as);
  struct nvm_block from = {value_index(inst_operand_at(f, c.phi, out + 1))};
  struct builder at = builder_replacing(f, block_terminator(f, from));
  if (value_is_none(start)) start = builder_unary(&at, OP_TRUNC, TYPE_I32, wide);
  struct nvm_value entries[] = {start, value_of_block(from), start,
                                inst_operand_at(f, c.phi, 3 - out)};
  struct builder at_phi = builder_replacing(f, c.phi), at_next = builder_replacing(f, c.next);
  struct nvm_value phi = builder_phi(&at_phi, TYPE_I32, entries, 4), sum[] = {phi, step};
  uint16_t flags = (c.fits & step_as & FITS_SIGNED ? INST_NSW : 0) |
                   (c.fits & step_as & FITS_UNSIGNED ? INST_NUW : 0);
  struct nvm_value next = builder_add(&at_next, OP_ADD, flags, TYPE_I32, sum, 2, 0);
  enum op op = c.fits & FITS_UNSIGNED ? OP_ZEXT : OP_SEXT;
  flags = op == OP_ZEXT && (c.fits & FITS_SIGNED) ? INST_NNEG : 0;
  at = builder_replacing(f, block_first_after_phis(f, function_inst(f, c.phi)->block));
  struct nvm_value phi_wide = builder_add(&at, op, flags, TYPE_I64, &phi, 1, 0),
                   next_wide = builder_add(&at_next, op, flags, TYPE_I64, &next, 1, 0);
  if (value_is_none(phi_wide) || value_is_none(next_wide)) return false;
  inst_set_operand(f, value_inst_id(phi), 2, next);
  replace(w, c.phi, phi_wide);
  replace(w, c.next, next_wide);
  return true;
}

static bool demote_counters(struct walker *w) {
  struct uses uses;
  if (w->counters.count == 0) return true;
  bool ok = uses_build(&uses, w->f, w->env->arena);
  for (uint32_t k = 0; ok && k < w->counters.count; k++) ok = demote(w, &uses, w->counters.data[k]);
  return ok;
}

/* --- The walk --- */

static void insert_constants(struct walker *w, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(w->f, i);
  const struct nvm_value *operands = w->f->operands.data + inst->first_operand;
  for (uint32_t k = 0, count = inst->operand_count; k < count; k++) {
    struct nvm_value v = operands[k];
    if (w->knowledge[slot_of(w, v)] != ONE) continue;
    inst_set_operand(w->f, i, k,
                     const_int(w->f->module, value_type(w->f, v), w->known[slot_of(w, v)].low));
    ++*w->env->statistic;
    w->changed = true;
  }
}

/* Replaces phis of b that are equal to a branch condition, or its negation. */
static void use_condition(struct walker *w, struct nvm_block b) {
  struct nvm_block d = w->dominance.immediate[b.index];
  struct nvm_inst_id t = block_is_none(d) ? (struct nvm_inst_id){0} : block_terminator(w->f, d);
  if (inst_is_none(t) || function_inst(w->f, t)->op != OP_CONDBR) return;
  if (block_successor(w->f, d, 0).index == block_successor(w->f, d, 1).index) return;
  struct nvm_value condition = inst_operand_at(w->f, t, 0);
  FOR_EACH_PHI (w->f, b, i) {
    const struct nvm_inst *phi = function_inst(w->f, i);
    if (!type_equal(phi->type, TYPE_I1) || i.index >= w->insts) continue;
    if (branch_values_is_condition(&w->by_branch, phi, d, 0)) {
      replace(w, i, condition);
    } else if (branch_values_is_condition(&w->by_branch, phi, d, 1)) {
      struct builder at = builder_replacing(w->f, t);
      replace(w, i, builder_binary(&at, OP_XOR, condition, const_int(w->f->module, TYPE_I1, 1)));
    }
  }
}

static bool visit_block(struct walker *w, struct nvm_block b) {
  if (!add_edge_condition(w, b)) return false;
  use_condition(w, b);
  if (!branch_values_enter(&w->by_branch, b)) return false;
  nonnegative_mark(&w->nonnegative, b);
  FOR_EACH_INST (w->f, b, i) {
    if (branch_values_count(&w->by_branch))
      *w->env->statistic += branch_values_use(&w->by_branch, i);
    insert_constants(w, i);
    enum op op = (enum op)function_inst(w->f, i)->op;
    if (op >= OP_FIRST_INT && op <= OP_LAST_INT ? !visit_binary(w, i) : !visit_other(w, i))
      return false;
    if (w->knowledge[i.index] && w->known[i.index].width == 64 && !note_counter(w, i)) return false;
  }
  return branch_values_leave(&w->by_branch, b);
}

static void leave_scope(struct walker *w, uint32_t to) {
  while (w->undo.count > to) {
    struct fact *u = &w->undo.data[--w->undo.count];
    set_range(w, u->slot, u->before);
  }
}

static bool walk(struct walker *w) {
  const struct nvm_block *order = w->dominance.postorder;
  uint32_t blocks = w->f->blocks.count, depth = 0;
  struct nvm_block *open = arena_alloc(w->env->arena, blocks * sizeof *open);
  uint32_t *scope = arena_alloc(w->env->arena, blocks * sizeof *scope);
  uint32_t *values = arena_alloc(w->env->arena, blocks * sizeof *values);
  if (!open || !scope || !values) return false;
  for (uint32_t k = 0; k + 1 < w->dominance.size[w->f->entry.index]; k++) {
    struct nvm_block above = w->dominance.immediate[order[k].index];
    w->sibling[order[k].index] = w->child[above.index];
    w->child[above.index] = order[k];
  }
  for (struct nvm_block b = w->f->entry; !block_is_none(b);) {
    scope[b.index] = w->undo.count;
    values[b.index] = branch_values_count(&w->by_branch);
    open[depth++] = b;
    if (!visit_block(w, b)) return false;
    b = w->child[b.index];
    while (block_is_none(b) && depth) {
      b = open[--depth];
      leave_scope(w, scope[b.index]);
      branch_values_forget(&w->by_branch, values[b.index]);
      b = w->sibling[b.index];
    }
  }
  return true;
}

enum nvm_status correlated_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct walker w = {.f = f, .env = env, .insts = f->insts.count};
  uint32_t slots = f->insts.count + function_arg_count(f);
  w.knowledge = arena_alloc(env->arena, slots);
  w.known = arena_grow_raw(env->arena, NULL, 0, slots * sizeof *w.known);
  w.child = arena_alloc(env->arena, f->blocks.count * sizeof *w.child);
  w.sibling = arena_alloc(env->arena, f->blocks.count * sizeof *w.sibling);
  w.fits = arena_alloc(env->arena, f->insts.count);
  w.nonnegative = (struct nonnegative){
      .f = f, .dominance = &w.dominance, .range_of = current_range, .state = &w};
  w.nonnegative.marked = arena_alloc(env->arena, f->insts.count * sizeof *w.nonnegative.marked);
  w.case_of = arena_alloc(env->arena, f->blocks.count * sizeof *w.case_of);
  if (!w.knowledge || !w.known || !w.child || !w.sibling || !w.case_of || !w.fits ||
      !w.nonnegative.marked || !relations_init(&w.relations, f, &w.dominance, env->arena) ||
      !flow_dominance(env->flow, f, &w.dominance) ||
      !branch_values_init(&w.by_branch, f, &w.dominance, env->arena) ||
      !rewrite_init(&w.rewrite, f, env->arena) || !walk(&w) || !demote_counters(&w))
    return NVM_OUT_OF_MEMORY;
  *env->statistic += w.rewrite.count;
  rewrite_apply(&w.rewrite);
  *changed = w.changed || w.by_branch.changed;
  return NVM_OK;
}
