/* Ranges: every op, comparison and wrap flag on four-bit numbers against all values of the
 * intervals. */
#include "ir_fixture.h"

#include "ir/eval.h"
#include "analysis/ranges.h"

enum { BITS = 4, ALL = 15, EDGES = 6 };

/* Intervals, unsigned and signed ones. */
static const int edges[EDGES] = {0, 1, 5, 7, 8, 15};

static struct range interval(int a, int b, bool is_signed) {
  if (!is_signed) return range_unsigned(BITS, (uint64_t)a, (uint64_t)b);
  return range_signed(BITS, a - 8, b - 8);
}

static bool contains(struct range r, unsigned v) {
  int64_t s = v & 8 ? (int64_t)v - 16 : (int64_t)v;
  return v >= r.low && v <= r.high && s >= r.least && s <= r.most;
}

struct operands {
  struct range r[2];
};

static struct range of_argument(void *state, struct nvm_value v) {
  const struct operands *o = state;
  return o->r[value_index(v)];
}

struct sample {
  struct nvm_module *m;
  struct nvm_function *f;
  struct nvm_type type;
};

static void check_op(const struct sample *s, const struct operands *o, enum op op, uint16_t flags) {
  struct nvm_value arguments[] = {value_of_arg(0), value_of_arg(1)};
  struct nvm_inst_id id = function_add_inst(s->f, op, flags, s->type, arguments, 2, 0);
  struct range r = range_of_inst(s->f, function_inst(s->f, id), of_argument, (void *)(uintptr_t)o);
  uint16_t proven = range_no_wrap(op, o->r[0], o->r[1]);
  assert_int_equal(r.width, BITS);
  for (unsigned x = 0; x <= ALL; x++)
    for (unsigned y = 0; y <= ALL; y++) {
      if (!contains(o->r[0], x) || !contains(o->r[1], y)) continue;
      struct eval_lane in[2] = {{x, false}, {y, false}}, out;
      if (!eval_lane(s->m, op, flags, 0, s->type, s->type, in, &out) || out.poison) continue;
      assert_true(contains(r, (unsigned)out.bits));
      if (proven && eval_lane(s->m, op, proven, 0, s->type, s->type, in, &out))
        assert_false(out.poison);
    }
}

static bool holds(enum icmp_predicate p, unsigned x, unsigned y) {
  int a = x & 8 ? (int)x - 16 : (int)x, b = y & 8 ? (int)y - 16 : (int)y;
  switch (p) {
    case ICMP_EQ: return x == y;
    case ICMP_NE: return x != y;
    case ICMP_UGT: return x > y;
    case ICMP_UGE: return x >= y;
    case ICMP_ULT: return x < y;
    case ICMP_ULE: return x <= y;
    case ICMP_SGT: return a > b;
    case ICMP_SGE: return a >= b;
    case ICMP_SLT: return a < b;
    case ICMP_SLE: return a <= b;
    case ICMP_COUNT: break;
  }
  return false;
}

static void check_compare(const struct operands *o, enum icmp_predicate p) {
  int answer = range_compare(p, o->r[0], o->r[1]);
  struct range where = range_where(p, o->r[1]);
  for (unsigned x = 0; x <= ALL; x++)
    for (unsigned y = 0; y <= ALL; y++) {
      if (!contains(o->r[1], y)) continue;
      if (holds(p, x, y)) assert_true(contains(where, x));
      if (contains(o->r[0], x) && answer >= 0) assert_int_equal(answer, holds(p, x, y));
    }
}

static void check_sets(const struct operands *o) {
  struct range both = range_both(o->r[0], o->r[1]), either = range_either(o->r[0], o->r[1]);
  for (unsigned x = 0; x <= ALL; x++) {
    if (contains(o->r[0], x) && contains(o->r[1], x)) assert_true(contains(both, x));
    if (contains(o->r[0], x) || contains(o->r[1], x)) assert_true(contains(either, x));
  }
}

static void for_all_intervals(void (*check)(const struct sample *s, const struct operands *o)) {
  struct sample s = {.m = new_module()};
  s.type = type_int(&s.m->types, BITS);
  struct nvm_type parameters[2] = {s.type, s.type};
  s.f = new_function(s.m, "f", TYPE_VOID, parameters, 2, true);
  for (int readings = 0; readings < 4; readings++)
    for (int k = 0; k < EDGES * EDGES * EDGES * EDGES; k++) {
      int a = edges[k % EDGES], b = edges[k / EDGES % EDGES], c = edges[k / EDGES / EDGES % EDGES];
      int d = edges[k / EDGES / EDGES / EDGES];
      if (a > b || c > d) continue;
      struct operands o = {{interval(a, b, readings & 1), interval(c, d, readings & 2)}};
      check(&s, &o);
    }
  module_destroy(s.m);
}

static void check_ops(const struct sample *s, const struct operands *o) {
  for (enum op op = OP_FIRST_INT; op <= OP_LAST_INT; op++) check_op(s, o, op, 0);
  for (int k = 0; k < 4; k++)
    for (uint16_t flags = INST_NUW; flags <= (INST_NUW | INST_NSW); flags++)
      check_op(s, o, (const enum op[]){OP_ADD, OP_SUB, OP_MUL, OP_SHL}[k], flags);
}

static void check_comparisons(const struct sample *s, const struct operands *o) {
  (void)s;
  for (enum icmp_predicate p = 0; p < ICMP_COUNT; p++) check_compare(o, p);
  check_sets(o);
}

static void ops_never_claim_too_much(void **state) {
  (void)state;
  for_all_intervals(check_ops);
}

static void comparisons_never_claim_too_much(void **state) {
  (void)state;
  for_all_intervals(check_comparisons);
}

static void is_exact_where_it_can_be(void **state) {
  (void)state;
  struct range small = range_unsigned(8, 3, 9),
               r = range_where(ICMP_SLT, range_unsigned(8, 10, 10));
  assert_int_equal(r.least, -128);
  assert_int_equal(r.most, 9);
  assert_int_equal(range_compare(ICMP_ULT, small, range_unsigned(8, 10, 20)), 1);
  assert_int_equal(range_compare(ICMP_SGT, range_signed(8, -4, -1), small), 0);
  assert_int_equal(range_compare(ICMP_EQ, small, range_unsigned(8, 9, 20)), -1);
  assert_int_equal(range_no_wrap(OP_ADD, small, small), INST_NUW | INST_NSW);
  assert_int_equal(range_no_wrap(OP_MUL, small, range_unsigned(8, 20, 20)), INST_NUW);
  assert_true(range_is_empty(range_both(small, range_unsigned(8, 10, 20))));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ops_never_claim_too_much),
      cmocka_unit_test(comparisons_never_claim_too_much),
      cmocka_unit_test(is_exact_where_it_can_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
