/* Trip counts, and conditions implied by branches; see scev.h.
 *
 * A loop continues while T predicate B, where T changes by a constant step of magnitude m and B is
 * invariant. Let T0 be the first T, s the value one step before it, and D = |B - s|:
 *
 *   <, >     taken = (D - 1) / m    if s < B
 *   <=, >=   taken = D / m          if s <= B
 *   !=       taken = |B - T0| / m   if the division is exact, or T does not wrap
 *
 * T must not wrap before it passes B: by its flags, because the step fits, or because the loop is
 * finite and T with a power of two as step would cycle for ever. In a rotated loop T is the next
 * value of the induction variable, s its start, and `s < B` guards the loop: a branch that
 * dominates the header implies it. If only T0 is known to be before B, the formulas hold for powers
 * of two, which cannot overflow while T does not. If neither is known, the count is 0 if the first
 * test fails
 * (`guarded` is false). */
#include "analysis/scev_internal.h"

#include "ir/evalint.h"
#include "analysis/known_bits.h"
#include "analysis/ranges.h"
#include "analysis/effects.h"

#include <assert.h>

enum { MAX_BRANCHES = 64, MAX_NESTED_CONDITIONS = 4, MAX_BLOCKS_SEARCHED = 256 };

static bool is_signed_predicate(enum icmp_predicate p) { return p >= ICMP_SGT; }
static bool is_less(enum icmp_predicate p) {
  return p == ICMP_ULT || p == ICMP_ULE || p == ICMP_SLT || p == ICMP_SLE;
}
static bool is_strict(enum icmp_predicate p) {
  return p == ICMP_ULT || p == ICMP_UGT || p == ICMP_SLT || p == ICMP_SGT;
}

/* --- implied conditions ----------------------------------------------------------------------- */

/* One side of a comparison: a value or a form. */
struct side {
  struct nvm_value value;
  struct scev form;
};

struct question {
  struct scev_env *e; /* NULL: forms must not be computed */
  const struct nvm_function *f;
  enum icmp_predicate predicate;
  struct side a, b;
  uint32_t width;
};

/* Whether the side is v plus a constant *more. */
static bool side_is(const struct question *q, const struct side *s, struct nvm_value v,
                    int64_t *more) {
  *more = 0;
  if (!value_is_none(s->value) && value_equal(s->value, v)) return true;
  if (!q->e || !s->form.width) return false;
  struct scev form = scev_of(q->e, v);
  *more = evalint_sext(s->form.width, (uint64_t)s->form.constant - (uint64_t)form.constant);
  form.constant = s->form.constant;
  return scev_equal(s->form, form);
}

static bool side_number(const struct question *q, const struct side *s, int64_t *number) {
  nvm_u128 bits;
  if (!value_is_none(s->value) && const_is_int(q->f->module, s->value, &bits)) {
    *number = (int64_t)bits;
    return true;
  }
  *number = s->form.constant;
  return scev_is_constant(s->form);
}

/* By predicate, the outcomes of a comparison that satisfy it, one bit each: equal; signed less and
 * unsigned less, greater; signed greater and unsigned less, greater. */
static const uint8_t outcomes[ICMP_COUNT] = {
    [ICMP_EQ] = 1,   [ICMP_NE] = 30,  [ICMP_UGT] = 20, [ICMP_UGE] = 21, [ICMP_ULT] = 10,
    [ICMP_ULE] = 11, [ICMP_SGT] = 24, [ICMP_SGE] = 25, [ICMP_SLT] = 6,  [ICMP_SLE] = 7};

/* Whether `x known c` implies `x + more wanted d` for all x. */
static bool range_implies(uint32_t width, enum icmp_predicate known, int64_t c, int64_t more,
                          enum icmp_predicate wanted, int64_t d) {
  if (width == 0) return false;
  if (known == ICMP_NE && wanted == ICMP_NE && more == 0 &&
      evalint_sext(width, (uint64_t)c - (uint64_t)d) == 0)
    return true;
  return range_compare(wanted,
                       scev_range_plus(range_where(known, scev_number_range(width, c)), more),
                       scev_number_range(width, d)) == 1;
}

static bool compare_implies(const struct question *q, const struct nvm_inst *i, bool truth) {
  enum icmp_predicate p = (enum icmp_predicate)i->aux;
  struct nvm_value x = inst_operand(q->f, i, 0), y = inst_operand(q->f, i, 1);
  if (!truth) p = icmp_inverse(p);
  struct side ys = {.value = y};
  int64_t number, theirs, more, same;
  bool number_b = side_number(q, &q->b, &number);
  for (int turn = 0; turn < 2; turn++) {
    if (side_is(q, &q->a, x, &more)) {
      int64_t a;
      unsigned possible = side_number(q, &q->a, &a) && a == 0 ? 11
                          : number_b && number == 0           ? 21
                                                              : 31;
      if (more == 0 && side_is(q, &q->b, y, &same) && same == 0 &&
          !(outcomes[p] & possible & ~outcomes[q->predicate]))
        return true;
      if (number_b && side_number(q, &ys, &theirs) &&
          range_implies(q->width, p, theirs, more, q->predicate, number))
        return true;
    }
    struct nvm_value swap = x;
    x = y;
    ys.value = y = swap;
    p = icmp_swapped(p);
  }
  return false;
}

static bool is_one(const struct nvm_function *f, struct nvm_value v) {
  nvm_u128 bits;
  return const_is_int(f->module, v, &bits) && bits == 1;
}

/* Whether the condition implies the comparison of q if its value is `truth`. */
static bool condition_implies(const struct question *q, struct nvm_value condition, bool truth,
                              uint32_t depth) {
  if (value_kind(condition) != VALUE_INST || depth > MAX_NESTED_CONDITIONS) return false;
  const struct nvm_inst *i = function_inst(q->f, (struct nvm_inst_id){value_index(condition)});
  if (i->op == OP_ICMP) return compare_implies(q, i, truth);
  if (i->op == OP_XOR && is_one(q->f, inst_operand(q->f, i, 1)))
    return condition_implies(q, inst_operand(q->f, i, 0), !truth, depth + 1);
  /* The operands of a true conjunction, or of a false disjunction. */
  uint32_t first = 0, second = 1;
  if (i->op == OP_SELECT && truth && const_is_zero(q->f->module, inst_operand(q->f, i, 2)))
    second = 1;
  else if (i->op == OP_SELECT && !truth && is_one(q->f, inst_operand(q->f, i, 1))) second = 2;
  else if (i->op != (truth ? OP_AND : OP_OR)) return false;
  return condition_implies(q, inst_operand(q->f, i, first), truth, depth + 1) ||
         condition_implies(q, inst_operand(q->f, i, second), truth, depth + 1);
}

static bool swap_sides(struct question *q) {
  int64_t number;
  if (!side_number(q, &q->a, &number)) return false;
  struct side a = q->a;
  q->a = q->b;
  q->b = a;
  q->predicate = icmp_swapped(q->predicate);
  return true;
}

/* The only predecessor of b apart from back edges; none if there are several. */
static struct nvm_block only_entry(const struct dominance *d, struct nvm_block b) {
  struct nvm_block only = {0};
  FOR_EACH_PREDECESSOR (d, b, k) {
    struct nvm_block p = d->predecessors[k];
    if (dominance_dominates(d, b, p)) continue;
    if (only.index) return (struct nvm_block){0};
    only = p;
  }
  return only;
}

/* Whether the branch at the end of `from` implies the comparison if it goes to `to`. */
static bool edge_implies(const struct question *q, struct nvm_block from, struct nvm_block to) {
  const struct nvm_inst *t = function_inst(q->f, block_terminator(q->f, from));
  if (t->op != OP_CONDBR || value_equal(inst_operand(q->f, t, 1), inst_operand(q->f, t, 2)))
    return false;
  bool truth = value_index(inst_operand(q->f, t, 1)) == to.index;
  return condition_implies(q, inst_operand(q->f, t, 0), truth, 0);
}

static bool answer(const struct dominance *d, struct question *q, struct nvm_block at) {
  int64_t a, b;
  if (side_number(q, &q->a, &a) && side_number(q, &q->b, &b))
    return range_implies(q->width, ICMP_EQ, a, 0, q->predicate, b);
  swap_sides(q);
  for (uint32_t steps = 0; steps < MAX_BRANCHES && !block_is_none(at);
       steps++, at = d->immediate[at.index]) {
    struct nvm_block from = only_entry(d, at);
    if (!block_is_none(from) && edge_implies(q, from, at)) return true;
  }
  return false;
}

bool scev_holds(struct scev_env *e, struct nvm_block at, enum icmp_predicate predicate,
                struct scev a, struct scev b) {
  struct question q = {
      .e = e, .f = e->f, .predicate = predicate, .a.form = a, .b.form = b, .width = a.width};
  if (a.width == 0 || a.width != b.width) return false;
  return answer(e->dominance, &q, at);
}

bool scev_holds_always(struct scev_env *e, uint32_t n, enum icmp_predicate predicate, struct scev a,
                       bool starts_exactly, struct scev b) {
  const struct loop *l = &e->loops->data[n];
  int64_t step;
  if (block_is_none(l->latch) || a.width != b.width || !scev_is_invariant(e, b, n) ||
      !scev_step(e, a, n, &step) || step == 0 ||
      !scev_holds(e, l->header, predicate, scev_at_start(e, a, n), b))
    return false;
  bool ordered = predicate != ICMP_EQ && predicate != ICMP_NE;
  bool no_wrap = is_signed_predicate(predicate) ? a.no_signed_wrap : a.no_unsigned_wrap;
  if (starts_exactly && ordered && no_wrap && is_less(predicate) == (step < 0)) return true;
  struct question q = {.e = e,
                       .f = e->f,
                       .predicate = predicate,
                       .a.form = scev_plus(a, step),
                       .b.form = b,
                       .width = a.width};
  return edge_implies(&q, l->latch, l->header) || answer(e->dominance, &q, l->latch);
}

/* --- exits ------------------------------------------------------------------------------------ */

/* The comparison T predicate B that keeps block x in loop n; T is the side that changes. */
struct exit_test {
  enum icmp_predicate predicate;
  struct nvm_value t, bound;
};

/* Finds what keeps the loop going at the end of x: that *v is *yes. False if x does not test. */
static bool find_condition(const struct scev_env *e, uint32_t n, struct nvm_block x,
                           struct nvm_value *v, bool *yes) {
  const struct nvm_function *f = e->f;
  const struct nvm_inst *t = function_inst(f, block_terminator(f, x));
  if (t->op != OP_CONDBR) return false;
  *v = inst_operand(f, t, 0);
  *yes = loops_contains(e->loops, n, block_successor(f, x, 0));
  return *yes != loops_contains(e->loops, n, block_successor(f, x, 1));
}

/* The instruction that computes v, without `not`; NULL: there is none. */
static const struct nvm_inst *without_not(const struct nvm_function *f, struct nvm_value v,
                                          bool *yes) {
  const struct nvm_inst *c = value_inst(f, v);
  for (; c && c->op == OP_XOR && is_one(f, inst_operand(f, c, 1)); *yes = !*yes)
    c = value_inst(f, inst_operand(f, c, 0));
  return c;
}

/* Whether the loop is kept going by a comparison, which v is if `yes`, or its inverse. */
static bool as_test(const struct scev_env *e, uint32_t n, struct nvm_value v, bool yes,
                    struct exit_test *out) {
  const struct nvm_function *f = e->f;
  const struct nvm_inst *c = without_not(f, v, &yes);
  if (!c || c->op != OP_ICMP) return false;
  *out =
      (struct exit_test){(enum icmp_predicate)c->aux, inst_operand(f, c, 0), inst_operand(f, c, 1)};
  if (!yes) out->predicate = icmp_inverse(out->predicate);
  if (loops_is_invariant(e->loops, f, n, out->t)) {
    *out = (struct exit_test){icmp_swapped(out->predicate), out->bound, out->t};
  }
  return true;
}

static bool find_test(const struct scev_env *e, uint32_t n, struct nvm_block x,
                      struct exit_test *out) {
  struct nvm_value v;
  bool yes;
  return find_condition(e, n, x, &v, &yes) && as_test(e, n, v, yes, out);
}

/* Whether the loop is kept going by two conditions at the end of x, both of which must be *yes. */
static bool find_conjunction(const struct scev_env *e, uint32_t n, struct nvm_block x,
                             struct nvm_value both[2], bool *yes) {
  struct nvm_value v;
  if (!find_condition(e, n, x, &v, yes)) return false;
  const struct nvm_inst *c = without_not(e->f, v, yes);
  if (!c || !type_equal(c->type, TYPE_I1)) return false;
  if (c->op == (*yes ? OP_AND : OP_OR)) {
    both[0] = inst_operand(e->f, c, 0), both[1] = inst_operand(e->f, c, 1);
    return true;
  }
  if (c->op != OP_SELECT) return false;
  both[0] = inst_operand(e->f, c, 0), both[1] = inst_operand(e->f, c, *yes ? 1 : 2);
  nvm_u128 other;
  return const_is_int(e->f->module, inst_operand(e->f, c, *yes ? 2 : 1), &other) && other == !*yes;
}

/* Whether the step cannot wrap if `phi predicate bound` holds before it. */
static bool step_fits(enum icmp_predicate p, struct range bound, int64_t step, bool is_signed) {
  if (p == ICMP_EQ || p == ICMP_NE || is_signed_predicate(p) != is_signed || bound.width == 0)
    return false;
  bool subtract = step < 0 && !is_signed;
  struct range by = scev_number_range(bound.width, subtract ? (int64_t)(0 - (uint64_t)step) : step);
  uint16_t flags = range_no_wrap(subtract ? OP_SUB : OP_ADD, range_where(p, bound), by);
  return is_less(p) == (step > 0) && (flags & (is_signed ? INST_NSW : INST_NUW));
}

static bool no_wrap_by(const struct scev_env *e, struct nvm_value v, const struct recurrence *r,
                       int64_t step, bool is_signed, struct nvm_block x) {
  const struct loop *l = &e->loops->data[r->loop];
  struct exit_test test;
  if (!dominance_dominates(e->dominance, x, l->latch) || !find_test(e, r->loop, x, &test))
    return false;
  if (!loops_is_invariant(e->loops, e->f, r->loop, test.bound)) return false;
  bool before = value_equal(test.t, v), after = value_equal(test.t, r->next);
  for (uint32_t k = 0; before && k < r->count; k++) {
    struct nvm_block b = function_inst(e->f, r->steps[k])->block;
    before = b.index != x.index && dominance_dominates(e->dominance, x, b);
  }
  if (!before && !after) return false;
  struct question q = {.f = e->f,
                       .predicate = test.predicate,
                       .a.value = r->start,
                       .b.value = test.bound,
                       .width = known_bits_of(e->f, v).width};
  if (test.predicate == ICMP_NE &&
      (step == 1 || step == -1)) { /* if start < bound, ones reach the bound exactly */
    test.predicate = step > 0 ? (is_signed ? ICMP_SLT : ICMP_ULT) : is_signed ? ICMP_SGT : ICMP_UGT;
    q.predicate = test.predicate;
    before = false;
  }
  return step_fits(test.predicate, range_of(e->f, test.bound), step, is_signed) &&
         (before || answer(e->dominance, &q, l->header));
}

bool scev_no_wrap(const struct scev_env *e, struct nvm_value v, const struct recurrence *r,
                  int64_t step, bool is_signed) {
  const struct loop *l = &e->loops->data[r->loop];
  if (!type_is_int(&e->f->module->types, value_type(e->f, v)) || block_is_none(l->latch) ||
      step == 0)
    return false;
  if (no_wrap_by(e, v, r, step, is_signed, l->latch)) return true;
  if (l->header.index != l->latch.index && no_wrap_by(e, v, r, step, is_signed, l->header))
    return true;
  bool other =
      l->exiting.index && l->exiting.index != l->header.index && l->exiting.index != l->latch.index;
  return other && no_wrap_by(e, v, r, step, is_signed, l->exiting);
}

bool trip_count_must_end(const struct scev_env *e, uint32_t n) {
  const struct nvm_function *f = e->f;
  const struct loop *l = &e->loops->data[n];
  bool promised = loops_hint(f, l->hints, "llvm.loop.mustprogress").given ||
                  function_attribute(f, ATTR_MUSTPROGRESS);
  if (!promised || l->block_count > MAX_BLOCKS_SEARCHED) return false;
  for (uint32_t k = 0; k < l->block_count; k++)
    FOR_EACH_INST (f, e->loops->blocks[l->first_block + k], i) {
      const struct nvm_inst *inst = function_inst(f, i);
      bool store = inst->op == OP_STORE && effects_is_plain_access(inst);
      if (!store && !op_is_terminator((enum op)inst->op) && inst->op != OP_DBG_RECORD &&
          effects_must_stay(f, inst))
        return false;
    }
  return true;
}

/* --- counts ----------------------------------------------------------------------------------- */

struct counting {
  struct scev_env *e;
  struct nvm_block header;
  enum icmp_predicate predicate;
  struct nvm_value tested;
  struct scev first, bound; /* T0, B */
  struct range bound_range;
  bool bounded; /* the range is not full, or T0 is constant: upper bounds are worth computing */
  int64_t step;
  uint64_t magnitude; /* of the step */
  bool no_wrap, finite;
  bool only; /* the loop has no other exit */
};

#ifndef NDEBUG
static bool is_consistent(const struct trip_count *t) {
  if (!t->taken.width) return !t->known;
  if (t->divisor == 0 || t->multiple == 0 || (t->known && t->most > evalint_mask(t->taken.width)))
    return false;
  if (!scev_is_constant(t->taken)) return true;
  uint64_t taken = evalint_zext(t->taken.width, (uint64_t)t->taken.constant);
  if (t->divisor != 1 || (t->guarded && t->exact && t->most != taken)) return false;
  return !t->guarded || taken + 1 == 0 || (taken + 1) % t->multiple == 0;
}
#endif

bool trip_count_is_number(const struct trip_count *c, uint64_t *taken) {
  *taken = evalint_zext(c->taken.width ? c->taken.width : 1, (uint64_t)c->taken.constant);
  return (c->known || c->exact) && c->guarded && scev_is_constant(c->taken);
}

/* Completes every trip count. `most` is an upper bound, which the form may improve. */
static void settle(const struct counting *c, struct trip_count *t) {
  if (scev_is_constant(t->taken)) {
    uint64_t taken = evalint_zext(t->taken.width, (uint64_t)t->taken.constant) / t->divisor;
    t->taken.constant = evalint_sext(t->taken.width, taken);
    t->taken.no_signed_wrap = true;
    t->divisor = 1;
    t->multiple = t->guarded && taken + 1 ? taken + 1 : 1;
  }
  bool certain = t->exact || c->only, number = t->guarded && scev_is_constant(t->taken);
  uint64_t by_form =
      certain && (number || c->bounded) ? scev_range(c->e, t->taken).high / t->divisor : UINT64_MAX;
  if (by_form < t->most || (certain && number)) t->most = by_form;
  if (certain && t->most > evalint_mask(t->taken.width)) t->most = evalint_mask(t->taken.width);
  t->known = c->only;
  assert(is_consistent(t));
}

static void settle_number(const struct counting *c, struct trip_count *t, uint64_t taken,
                          bool guarded, bool exact) {
  struct scev form = {.constant = evalint_sext(c->first.width, taken), .width = c->first.width};
  *t = (struct trip_count){.taken = form,
                           .divisor = 1,
                           .guarded = guarded,
                           .exact = exact,
                           .most = t->most,
                           .multiple = 1};
  settle(c, t);
}

/* T0 and B are constants. */
static void count_numbers(const struct counting *c, struct trip_count *out) {
  bool is_signed = is_signed_predicate(c->predicate);
  struct range all = range_all(c->first.width);
  nvm_i128 t = scev_range_end(scev_number_range(all.width, c->first.constant), is_signed, false),
           b = scev_range_end(scev_number_range(all.width, c->bound.constant), is_signed, false);
  nvm_i128 left = (is_less(c->predicate) ? b - t : t - b) - is_strict(c->predicate);
  nvm_i128 taken = left < 0 ? 0 : left / (nvm_i128)c->magnitude + 1, end = t + taken * c->step;
  if (end < scev_range_end(all, is_signed, false) || end > scev_range_end(all, is_signed, true))
    return;
  settle_number(c, out, (uint64_t)taken, true, true);
}

static void find_multiple(const struct counting *c, struct trip_count *out, int64_t more) {
  if (!out->guarded || !evalint_is_power_of_two(out->divisor)) return;
  uint32_t zeros = scev_trailing_zeros(c->e, scev_plus(out->taken, more));
  uint32_t shift = (uint32_t)__builtin_ctzll(out->divisor);
  if (zeros > shift) out->multiple = UINT64_C(1) << (zeros - shift);
}

static void count_unequal(const struct counting *c, struct trip_count *out) {
  struct scev d = c->step > 0 ? scev_subtract(c->e, c->bound, c->first)
                              : scev_subtract(c->e, c->first, c->bound);
  if (d.width == 0) return;
  uint64_t m = c->magnitude, whole = evalint_zext(d.width, (uint64_t)d.constant);
  bool even = evalint_is_power_of_two(m)
                  ? scev_trailing_zeros(c->e, d) >= (uint32_t)__builtin_ctzll(m)
                  : scev_is_constant(d) && whole % m == 0;
  if (scev_is_constant(d) && even) {
    settle_number(c, out, whole / m, true, true);
    return;
  }
  if (scev_is_constant(d) || (!even && !c->no_wrap && !(c->finite && evalint_is_power_of_two(m))))
    return;
  if (c->no_wrap)
    out->most = evalint_mask(d.width) / m + 1 ? evalint_mask(d.width) / m + 1 : UINT64_MAX;
  *out = (struct trip_count){
      .taken = d, .divisor = m, .guarded = true, .exact = even, .most = out->most, .multiple = 1};
  find_multiple(c, out, (int64_t)m);
  settle(c, out);
}

/* An upper bound by the ends of T0 and B, if T does not wrap. */
static uint64_t most_by_ranges(const struct counting *c, struct range from) {
  bool is_signed = is_signed_predicate(c->predicate), up = c->step > 0;
  nvm_i128 near = scev_range_end(from, is_signed, !up),
           far = scev_range_end(c->bound_range, is_signed, up);
  nvm_i128 left = (up ? far - near : near - far) - is_strict(c->predicate);
  nvm_i128 most = left < 0 ? 0 : left / (nvm_i128)c->magnitude + 1;
  return most > (nvm_i128)UINT64_MAX ? UINT64_MAX : (uint64_t)most;
}

/* Whether T is a phi plus its step, the phi starts at `start`, and neither wraps. */
static bool phi_starts_at(const struct counting *c, struct scev start, bool is_signed) {
  FOR_EACH_PHI (c->e->f, c->header, i) {
    struct recurrence r;
    struct nvm_value phi = value_of_inst(i);
    if (!scev_recurrence(c->e, phi, &r) || !value_equal(r.next, c->tested)) continue;
    struct scev s = scev_of(c->e, r.start), p = scev_of(c->e, phi);
    return scev_equal(s, start) && (is_signed ? p.no_signed_wrap && s.no_signed_wrap
                                              : p.no_unsigned_wrap && s.no_unsigned_wrap);
  }
  return false;
}

/* Whether T0 - step does not wrap, in the signedness of the test. */
static bool start_exists(const struct counting *c, struct scev start) {
  bool is_signed = is_signed_predicate(c->predicate);
  struct range all = range_all(start.width), first = scev_range(c->e, c->first);
  nvm_i128 low = scev_range_end(all, is_signed, false) + c->step,
           high = scev_range_end(all, is_signed, true) + c->step;
  if (scev_range_end(first, is_signed, false) >= low &&
      scev_range_end(first, is_signed, true) <= high)
    return true;
  return c->no_wrap && phi_starts_at(c, start, is_signed);
}

/* Whether `a predicate B` holds when the loop is entered; a is T0 or, if it exists, T0 - step. */
static bool is_before(const struct counting *c, struct scev a, bool exists) {
  if (scev_holds(c->e, c->header, c->predicate, a, c->bound)) return true;
  if (c->bounded && range_compare(c->predicate, scev_range(c->e, a), c->bound_range) == 1)
    return true;
  bool is_signed = is_signed_predicate(c->predicate);
  struct scev d = scev_subtract(c->e, c->bound, a);
  if (!exists || !scev_is_constant(d)) return false;
  if (is_signed ? !c->first.no_signed_wrap || !c->bound.no_signed_wrap
                : !c->first.no_unsigned_wrap || !c->bound.no_unsigned_wrap)
    return false;
  nvm_i128 more =
      (nvm_i128)c->bound.constant -
      (scev_equal(a, c->first) ? c->first.constant : (nvm_i128)c->first.constant - c->step);
  return is_less(c->predicate) ? more >= is_strict(c->predicate) : -more >= is_strict(c->predicate);
}

/* v = base + by in unbounded signed numbers, unless it is poison. */
struct offset {
  struct nvm_value base;
  nvm_i128 by;
};

static struct offset offset_of(const struct nvm_function *f, struct nvm_value v) {
  const struct nvm_inst *i = value_inst_of(f, v, OP_ADD);
  nvm_u128 bits;
  if (!i || !(i->flags & INST_NSW) || !const_is_int(f->module, inst_operand(f, i, 1), &bits))
    return (struct offset){v, 0};
  uint32_t width = known_bits_of(f, v).width;
  if (width == 0) return (struct offset){v, 0};
  return (struct offset){inst_operand(f, i, 0), evalint_sext(width, (uint64_t)bits)};
}

/* Whether T0 is before B, because both are numbers added to one value without wrapping, and no
 * later T wraps. If T0 or B is poison, so is the first test. A difference is no sum: the step of
 * sub nsw i8 x, -128 is not -128. */
static bool starts_before(const struct counting *c, struct nvm_value bound) {
  const struct nvm_function *f = c->e->f;
  struct offset b = offset_of(f, bound);
  FOR_EACH_PHI (f, c->header, i) {
    struct recurrence r;
    bool is_phi = value_equal(value_of_inst(i), c->tested);
    if (!scev_recurrence(c->e, value_of_inst(i), &r) || !(r.flags & INST_NSW) || r.count != 1 ||
        function_inst(f, r.steps[0])->op != OP_ADD || (!is_phi && !value_equal(r.next, c->tested)))
      continue;
    struct offset t = offset_of(f, r.start);
    nvm_i128 more = b.by - t.by - (is_phi ? 0 : c->step);
    return value_equal(t.base, b.base) &&
           (is_less(c->predicate) ? more : -more) >= is_strict(c->predicate);
  }
  return false;
}

/* Whether d is a constant: of a T0 before B their distance plus a step, in unbounded numbers. */
static bool is_distance(const struct counting *c, struct scev d) {
  return scev_is_constant(d) && evalint_zext(d.width, (uint64_t)d.constant) >= c->magnitude;
}

static void count_ordered(struct counting *c, struct nvm_value bound, struct trip_count *out) {
  bool strict = is_strict(c->predicate), is_signed = is_signed_predicate(c->predicate);
  if (is_less(c->predicate) != (c->step > 0)) return;
  if (scev_is_constant(c->first) && scev_is_constant(c->bound)) {
    count_numbers(c, out);
    return;
  }
  bool lone = c->bound.count == 1 && value_equal(c->bound.terms[0].symbol, bound);
  c->bound_range = range_both(range_of(c->e->f, bound),
                              lone ? range_all(c->bound.width) : scev_range(c->e, c->bound));
  bool power = evalint_is_power_of_two(c->magnitude),
       fits = step_fits(c->predicate, c->bound_range, c->step, is_signed);
  bool follows = is_signed && starts_before(c, bound);
  if (!fits && !c->no_wrap && !follows && !(c->finite && power)) return;
  c->bounded =
      scev_is_constant(c->first) || !range_equal(c->bound_range, range_all(c->bound.width));
  if (c->bounded) out->most = most_by_ranges(c, scev_range(c->e, c->first));
  struct scev start = scev_plus(c->first, -c->step);
  struct scev d =
      c->step > 0 ? scev_subtract(c->e, c->bound, start) : scev_subtract(c->e, start, c->bound);
  if (d.width == 0) return;
  bool exists = (!fits || scev_is_constant(d)) && start_exists(c, start),
       by_start = (fits || exists || power) && is_before(c, start, exists);
  bool by_first = follows || (!by_start && is_before(c, c->first, true)),
       exact = fits || (by_start && exists && c->no_wrap) ||
               (by_first && (c->no_wrap || follows) && is_distance(c, d));
  if (!by_start && !power) return;
  if (c->bounded && by_start && (fits || exists)) {
    uint64_t most = most_by_ranges(c, scev_range(c->e, start));
    if (most && most - 1 < out->most) out->most = most - 1; /* without the step from start to T0 */
  }
  *out = (struct trip_count){.taken = scev_plus(d, -(int64_t)strict),
                             .divisor = c->magnitude,
                             .guarded = by_start || by_first,
                             .exact = exact,
                             .most = out->most,
                             .multiple = 1};
  find_multiple(c, out, strict ? 1 : (int64_t)c->magnitude);
  settle(c, out);
}

static const struct trip_count no_count = {.divisor = 1, .most = UINT64_MAX, .multiple = 1};

/* The count by a test at the end of x, which is all that x tests if `whole`. */
static struct trip_count count_test(struct scev_env *e, uint32_t n, struct nvm_block x,
                                    struct exit_test test, bool whole) {
  const struct loop *l = &e->loops->data[n];
  struct trip_count out = no_count;
  struct scev t = scev_of(e, test.t), bound = scev_of(e, test.bound);
  struct counting c = {
      .e = e, .header = l->header, .predicate = test.predicate, .tested = test.t, .bound = bound};
  if (t.width != bound.width || !scev_is_invariant(e, bound, n) || !scev_step(e, t, n, &c.step) ||
      c.step == 0)
    return out;
  if (is_signed_predicate(c.predicate) && !value_is_none(t.base))
    return out; /* an object may cross address 2^63 */
  c.magnitude = c.step > 0 ? (uint64_t)c.step : 0 - (uint64_t)c.step;
  c.first = scev_at_start(e, t, n);
  c.no_wrap = is_signed_predicate(c.predicate) ? t.no_signed_wrap : t.no_unsigned_wrap;
  if (c.predicate == ICMP_NE) c.no_wrap = t.no_signed_wrap || t.no_unsigned_wrap;
  c.only = whole && l->exiting.index == x.index;
  c.finite =
      whole && !c.no_wrap && l->exiting.index && c.magnitude > 1 && trip_count_must_end(e, n);
  c.bounded = true;
  if (c.predicate == ICMP_NE) count_unequal(&c, &out);
  else if (c.predicate == ICMP_EQ) out.most = 1;
  else count_ordered(&c, test.bound, &out);
  out.predicate = c.predicate;
  out.tested = test.t;
  out.first = c.first;
  out.bound = bound;
  out.step = c.step;
  return out;
}

struct trip_count scev_exit_count(struct scev_env *e, uint32_t n, struct nvm_block x) {
  struct trip_count out = no_count;
  struct exit_test test;
  struct nvm_value both[2];
  bool yes;
  struct nvm_block latch = e->loops->data[n].latch;
  if (block_is_none(latch) || !dominance_dominates(e->dominance, x, latch)) return out;
  if (find_test(e, n, x, &test)) return count_test(e, n, x, test, true);
  for (uint32_t k = 0; k < 2 && find_conjunction(e, n, x, both, &yes); k++) {
    if (!as_test(e, n, both[k], yes, &test)) continue;
    uint64_t most = count_test(e, n, x, test, false).most;
    if (most < out.most) out.most = most;
  }
  return out;
}

/* By the only test that leaves the loop, or that of the latch; then other tests in each iteration
 * bound it too. */
static struct trip_count count_loop(struct scev_env *e, uint32_t n) {
  enum { MAX_BLOCKS = 64 };
  const struct loop *l = &e->loops->data[n];
  if (l->exiting.index) return scev_exit_count(e, n, l->exiting);
  struct trip_count out = scev_exit_count(e, n, l->latch);
  if (l->block_count > MAX_BLOCKS || trip_count_is_number(&out, &(uint64_t){0})) return out;
  for (uint32_t k = 0; k < l->block_count; k++) {
    struct nvm_block x = e->loops->blocks[l->first_block + k];
    if (x.index == l->latch.index || e->loops->innermost[x.index] != n) continue;
    uint64_t most = scev_exit_count(e, n, x).most;
    if (most < out.most) out.most = most;
  }
  return out;
}

struct trip_count scev_trip_count(struct scev_env *e, uint32_t loop) {
  struct remembered_count *r = &e->counts[loop];
  if (!r->known) *r = (struct remembered_count){true, count_loop(e, loop)};
  return r->count;
}
