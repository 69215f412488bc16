/* analysis/scev.h: forms of sums, extensions and recurrences; trip counts; what branches imply. */
#include "loop_fixture.h"

/* "%p + 8 + 4*n + 4*i1": iN is the iteration number of loop N; s(x), z(x): extended symbols. */
static const char *form_text(const struct loop_sample *s, struct scev a) {
  static char out[400];
  int at = 0;
  if (a.width == 0) return "none";
  if (a.base.bits) at += snprintf(out + at, sizeof out - (size_t)at, "%%%s + ", name_of(s, a.base));
  at += snprintf(out + at, sizeof out - (size_t)at, "%lld", (long long)a.constant);
  for (uint32_t k = 0; k < a.count; k++) {
    const struct scev_term *t = &a.terms[k];
    at += snprintf(out + at, sizeof out - (size_t)at, " + %lld", (long long)t->coefficient);
    for (int n = 0; n < 2; n++) {
      struct nvm_value symbol = n ? t->factor : t->symbol;
      if (!symbol.bits) continue;
      bool narrow = type_scalar_bits(&s->m->types, value_type(s->f, symbol)) < a.width;
      bool is_signed = n ? t->factor_signed : t->is_signed;
      at +=
          snprintf(out + at, sizeof out - (size_t)at, "*%s%s%s",
                   narrow ? (is_signed ? "s(" : "z(") : "", name_of(s, symbol), narrow ? ")" : "");
    }
    if (t->loop) at += snprintf(out + at, sizeof out - (size_t)at, "*i%u", t->loop);
  }
  return out;
}

static void expect_form(const struct loop_sample *s, const char *name, const char *text) {
  assert_string_equal(form_text(s, scev_of(s->scev, named(s, name))), text);
}

static void sums(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i32 %x, i32 %y, i64 %w, ptr %p) {\n"
      "  %a = add i32 %x, 5\n  %b = sub i32 %a, %y\n  %c = shl i32 %b, 2\n  %d = mul i32 %c, -3\n"
      "  %e = add i32 %d, %d\n  %cancel = sub i32 %b, %x\n"
      "  %wraps = sext i32 %a to i64\n"
      "  %n = add nsw i32 %x, 5\n  %exact = sext i32 %n to i64\n  %other = zext i32 %n to i64\n"
      "  %back = trunc i64 %exact to i32\n"
      "  %g = getelementptr inbounds {i32, [4 x double]}, ptr %p, i64 %w, i32 1, i32 %n\n"
      "  %xy = mul i32 %x, %y\n  ret void\n}\n");
  expect_form(&s, "a", "5 + 1*x");
  expect_form(&s, "b", "5 + 1*x + -1*y");
  expect_form(&s, "d", "-60 + -12*x + 12*y");
  expect_form(&s, "e", "-120 + -24*x + 24*y");
  expect_form(&s, "cancel", "5 + -1*y");
  expect_form(&s, "wraps", "0 + 1*s(a)");
  expect_form(&s, "exact", "5 + 1*s(x)");
  expect_form(&s, "other", "0 + 1*z(n)");
  expect_form(&s, "back", "5 + 1*x");
  expect_form(&s, "g", "%p + 48 + 8*s(x) + 40*w");
  expect_form(&s, "xy", "0 + 1*xy");
  module_destroy(s.m);
}

/* Rows of a matrix: (x + 1) * y is x * y + y where nothing wraps. */
static void products_of_symbols(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i32 %x, i32 %y, i64 %w) {\n  %row = mul nsw i32 %y, %x\n"
      "  %at = sext i32 %row to i64\n  %x1 = add nsw i32 %x, 1\n  %below = mul nsw i32 %x1, %y\n"
      "  %next = sext i32 %below to i64\n  %other = mul i32 %x1, %y\n"
      "  %wraps = sext i32 %other to i64\n  %square = mul i64 %next, %w\n"
      "  %cube = mul i64 %square, %w\n  ret void\n}\n");
  expect_form(&s, "next", "0 + 1*s(below)");
  s.scev = scev_init(s.f, &s.loops, &s.dominance, &s.m->arena);
  scev_split_products(s.scev);
  expect_form(&s, "at", "0 + 1*s(x)*s(y)");
  expect_form(&s, "next", "0 + 1*s(x)*s(y) + 1*s(y)");
  expect_form(&s, "other", "0 + 1*x*y + 1*y");
  expect_form(&s, "wraps", "0 + 1*s(other)");
  expect_form(&s, "square", "0 + 1*next*w");
  expect_form(&s, "cube", "0 + 1*square*w");
  module_destroy(s.m);
}

/* 7 + 1 is no four-bit number: the sum holds modulo 16 only, although nothing wraps. */
static void constants_that_wrap(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i4 %x) {\n  %a = add nuw i4 %x, 7\n  %b = add nuw i4 %a, 1\n  ret void\n}\n");
  expect_form(&s, "b", "-8 + 1*x");
  assert_true(scev_of(s.scev, named(&s, "a")).no_unsigned_wrap);
  assert_false(scev_of(s.scev, named(&s, "b")).no_unsigned_wrap);
  module_destroy(s.m);
}

/* A loop over %i from 0 with these instructions in the body, rotated and guarded as clang has it
 * after its simplifications. */
static struct loop_sample counted(const char *guard, const char *body, const char *next,
                                  const char *test) {
  char text[2000];
  snprintf(
      text, sizeof text,
      "define void @f(i32 %%n, i32 %%m, i64 %%big, ptr %%p, ptr %%q) {\nentry:\n  %%guard = icmp "
      "%s\n"
      "  br i1 %%guard, label %%loop, label %%out\n"
      "loop:\n  %%i = phi i32 [0, %%entry], [%%next, %%loop]\n%s  %%next = %s\n  %%test = icmp %s\n"
      "  br i1 %%test, label %%loop, label %%out\nout:\n  ret void\n}\n",
      guard, body, next, test);
  return loop_sample(text);
}

static void recurrences(void **state) {
  (void)state;
  const char *body =
      "  %wide = sext i32 %i to i64\n  %unsigned = zext i32 %i to i64\n  %row = mul nsw i32 %i, "
      "%m\n"
      "  %g = getelementptr float, ptr %p, i64 %wide\n  %other = xor i32 %i, 1\n";
  struct loop_sample s = counted("sgt i32 %n, 0", body, "add nsw i32 %i, 1", "slt i32 %next, %n");
  expect_form(&s, "i", "0 + 1*i1");
  expect_form(&s, "next", "1 + 1*i1");
  expect_form(&s, "wide", "0 + 1*i1");
  expect_form(&s, "unsigned", "0 + 1*i1");
  expect_form(&s, "g", "%p + 0 + 4*i1");
  expect_form(&s, "row", "0 + 1*m*i1");
  expect_form(&s, "other", "0 + 1*other");
  int64_t step;
  assert_true(scev_step(s.scev, scev_of(s.scev, named(&s, "g")), 1, &step));
  assert_int_equal(step, 4);
  assert_false(scev_step(s.scev, scev_of(s.scev, named(&s, "row")), 1, &step));
  assert_true(scev_of(s.scev, named(&s, "i")).no_signed_wrap);
  module_destroy(s.m);
  s = counted("sgt i32 %n, 0", body, "add i32 %i, 1",
              "slt i32 %next, %n"); /* no flag, but the test bounds it */
  expect_form(&s, "wide", "0 + 1*i1");
  expect_form(&s, "unsigned", "0 + 1*i1");
  module_destroy(s.m);
  s = counted("ne i32 %n, 0", body, "add i32 %i, 1", "ult i32 %next, %n"); /* unsigned only */
  expect_form(&s, "unsigned", "0 + 1*i1");
  expect_form(&s, "wide", "0 + 1*s(i)");
  module_destroy(s.m);
  s = counted("ne i32 %n, 7", body, "add i32 %i, 1",
              "ult i32 %next, %n"); /* not guarded: n may be 0 */
  expect_form(&s, "unsigned", "0 + 1*z(i)");
  module_destroy(s.m);
  s = counted("ult i32 0, %n", body, "add i32 %i, 2",
              "ult i32 %next, %n"); /* may step over n and wrap */
  expect_form(&s, "unsigned", "0 + 1*z(i)");
  module_destroy(s.m);
  s = counted("ne i32 %n, 0", body, "add i32 %i, 1", "ne i32 %next, %n");
  expect_form(&s, "unsigned", "0 + 1*i1");
  module_destroy(s.m);
  s = counted("ne i32 %n, 7", body, "sub nuw i32 %i, -3",
              "ne i32 %next, %n"); /* less 2^32 - 3, not 3 more */
  expect_form(&s, "unsigned", "0 + -4294967293*i1");
  module_destroy(s.m);
}

static void expect_count(const struct loop_sample *s, const char *text) {
  struct trip_count c = scev_trip_count(s->scev, 1);
  char out[500];
  snprintf(out, sizeof out, "%s / %llu%s%s", c.known ? form_text(s, c.taken) : "unknown",
           (unsigned long long)c.divisor, c.guarded ? " guarded" : "",
           c.multiple == 1 ? "" : " even");
  assert_string_equal(out, text);
}

static void expect_counted(const char *guard, const char *next, const char *test,
                           const char *text) {
  struct loop_sample s = counted(guard, "", next, test);
  expect_count(&s, text);
  module_destroy(s.m);
}

static void trip_counts(void **state) {
  (void)state;
  expect_counted("sgt i32 %n, 0", "add nsw i32 %i, 1", "slt i32 %next, %n", "-1 + 1*n / 1 guarded");
  expect_counted("slt i32 %n, 1", "add nsw i32 %i, 1", "slt i32 %next, %n", "-1 + 1*n / 1");
  expect_counted("sge i32 %n, 1", "add i32 %i, 1", "sgt i32 %n, %next", "-1 + 1*n / 1 guarded");
  expect_counted("ne i32 %n, 0", "add i32 %i, 1", "ne i32 %next, %n", "-1 + 1*n / 1 guarded");
  expect_counted("ne i32 %n, 0", "add i32 %i, 1", "ult i32 %next, %n", "-1 + 1*n / 1 guarded");
  expect_counted("sgt i32 %n, 0", "add nsw i32 %i, 4", "slt i32 %next, %n", "-1 + 1*n / 4 guarded");
  expect_counted("sgt i32 %n, 0", "add nsw i32 %i, 3", "slt i32 %next, %n", "-1 + 1*n / 3 guarded");
  expect_counted("sgt i32 %n, 9", "add i32 %i, 4", "slt i32 %next, %n", "unknown / 1");
  expect_counted("sgt i32 %n, 9", "add nsw i32 %i, 3", "slt i32 %next, %m", "unknown / 1");
  expect_counted("sge i32 %n, 0", "add nsw i32 %i, 1", "sle i32 %next, %n", "0 + 1*n / 1 guarded");
  expect_counted("sge i32 %n, 0", "add i32 %i, 1", "sle i32 %next, %n", "unknown / 1");
  expect_counted("sgt i32 %n, 0", "add nsw i32 %i, -1", "sgt i32 %next, %n", "-1 + -1*n / 1");
  expect_counted("slt i32 %n, 0", "sub nsw i32 %i, 2", "sgt i32 %next, %n",
                 "-1 + -1*n / 2 guarded");
  expect_counted("sgt i32 %n, 0", "add i32 %i, 1", "slt i32 %next, 100", "99 / 1 guarded even");
  expect_counted("sgt i32 %n, 0", "add i32 %i, 7", "ult i32 %next, 100", "14 / 1 guarded even");
  expect_counted("sgt i32 %n, 0", "add i32 %i, 1", "slt i32 %next, -5", "0 / 1 guarded");
  expect_counted("sgt i32 %n, 0", "add i32 %i, 3", "ne i32 %next, 30", "9 / 1 guarded even");
  expect_counted("sgt i32 %n, 0", "add i32 %i, 4", "ne i32 %next, %n", "unknown / 1");
  expect_counted("sgt i32 %n, 0", "add nsw i32 %i, 1", "slt i32 %i, %n", "0 + 1*n / 1 guarded");
  expect_counted("sgt i32 %n, 0", "add nsw i32 %i, 1", "eq i32 %next, %n", "unknown / 1");
}

static void rows_of_a_matrix(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i32 %n, i32 %m, ptr %p) {\n"
      "entry:\n  %g = icmp sgt i32 %n, 0\n  %h = icmp sgt i32 %m, 0\n  %both = and i1 %g, %h\n"
      "  br i1 %both, label %rows, label %out\n"
      "rows:\n  %i = phi i32 [0, %entry], [%i1, %end]\n  %row = mul nsw i32 %i, %m\n  br label "
      "%columns\n"
      "columns:\n  %j = phi i32 [0, %rows], [%j1, %columns]\n  %at = add nsw i32 %row, %j\n"
      "  %w = sext i32 %at to i64\n  %a = getelementptr inbounds float, ptr %p, i64 %w\n"
      "  %j1 = add nsw i32 %j, 1\n  %tj = icmp slt i32 %j1, %m\n  br i1 %tj, label %columns, label "
      "%end\n"
      "end:\n  %i1 = add nsw i32 %i, 1\n  %ti = icmp slt i32 %i1, %n\n  br i1 %ti, label %rows, "
      "label %out\n"
      "out:\n  ret void\n}\n");
  expect_form(&s, "a", "%p + 0 + 4*s(m)*i1 + 4*i2");
  assert_true(scev_is_invariant(s.scev, scev_of(s.scev, named(&s, "row")), 2));
  assert_false(scev_is_invariant(s.scev, scev_of(s.scev, named(&s, "j")), 1));
  expect_count(&s, "-1 + 1*n / 1 guarded");
  assert_true(scev_trip_count(s.scev, 2).guarded);
  module_destroy(s.m);
}

static void while_loops(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i32 %n, ptr %p) {\n"
      "entry:\n  br label %header\n"
      "header:\n  %i = phi i32 [0, %entry], [%next, %body]\n  %c = icmp ult i32 %i, %n\n"
      "  br i1 %c, label %body, label %out\n"
      "body:\n  %w = zext i32 %i to i64\n  %a = getelementptr i32, ptr %p, i64 %w\n  %next = add "
      "i32 %i, 1\n  br label %header\n"
      "out:\n  ret void\n}\n");
  expect_form(&s, "a", "%p + 0 + 4*i1");
  expect_count(&s, "0 + 1*n / 1");
  module_destroy(s.m);
  s = loop_sample(
      "define void @f(ptr %p, i64 %n) {\n"
      "entry:\n  %end = getelementptr i32, ptr %p, i64 %n\n  br label %header\n"
      "header:\n  %i = phi ptr [%p, %entry], [%next, %body]\n  %c = icmp eq ptr %i, %end\n"
      "  br i1 %c, label %out, label %body\n"
      "body:\n  %next = getelementptr i8, ptr %i, i64 4\n  br label %header\n"
      "out:\n  ret void\n}\n");
  expect_form(&s, "i", "%p + 0 + 4*i1");
  expect_count(&s, "0 + 4*n / 4 guarded");
  module_destroy(s.m);
  s = loop_sample(
      "define void @f(ptr %p, i64 %n) {\n" /* inbounds says nothing of addresses read signed */
      "entry:\n  %end = getelementptr i32, ptr %p, i64 %n\n  br label %header\n"
      "header:\n  %i = phi ptr [%p, %entry], [%next, %body]\n  %c = icmp slt ptr %i, %end\n"
      "  br i1 %c, label %body, label %out\n"
      "body:\n  %next = getelementptr inbounds i8, ptr %i, i64 4\n  br label %header\n"
      "out:\n  ret void\n}\n");
  expect_count(&s, "unknown / 1");
  module_destroy(s.m);
}

static void finite_loops(void **state) {
  (void)state;
  static const char text[] =
      "define void @f(i32 %%n, ptr %%p) {\n"
      "entry:\n  br label %%header\n"
      "header:\n  %%i = phi i32 [0, %%entry], [%%next, %%body]\n  %%c = icmp ult i32 %%i, %%n\n"
      "  br i1 %%c, label %%body, label %%out\n"
      "body:\n  store %s i32 1, ptr %%p\n  %%next = add i32 %%i, 4\n  br label %%header, "
      "!llvm.loop !0\n"
      "out:\n  ret void\n}\n"
      "!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.mustprogress\"}\n";
  char buffer[1000];
  snprintf(buffer, sizeof buffer, text, "");
  struct loop_sample s = loop_sample(buffer);
  expect_count(&s, "3 + 1*n / 4");
  module_destroy(s.m);
  snprintf(buffer, sizeof buffer, text, "volatile");
  s = loop_sample(buffer);
  expect_count(&s, "unknown / 1");
  module_destroy(s.m);
}

/* Every pair of predicates on four-bit numbers, guard against numbers, decided as enumeration
 * decides. */
static bool compares(unsigned p, int a, int b) {
  unsigned x = (unsigned)a & 15, y = (unsigned)b & 15;
  switch (p) {
    case ICMP_EQ: return a == b;
    case ICMP_NE: return a != b;
    case ICMP_UGT: return x > y;
    case ICMP_UGE: return x >= y;
    case ICMP_ULT: return x < y;
    case ICMP_ULE: return x <= y;
    case ICMP_SGT: return a > b;
    case ICMP_SGE: return a >= b;
    case ICMP_SLT: return a < b;
    default: return a <= b;
  }
}

static void implications(void **state) {
  (void)state;
  uint32_t proven = 0;
  for (unsigned known = 0; known < ICMP_COUNT; known++)
    for (int c = -8; c < 8; c++) {
      char text[300];
      snprintf(text, sizeof text,
               "define void @f(i4 %%x) {\nentry:\n  %%t = icmp %s i4 %%x, %d\n"
               "  br i1 %%t, label %%yes, label %%no\nyes:\n  ret void\nno:\n  ret void\n}\n",
               icmp_names[known], c);
      struct loop_sample s = loop_sample(text);
      for (unsigned wanted = 0; wanted < ICMP_COUNT; wanted++)
        for (int d = -8; d < 8; d++) {
          bool truth = true;
          for (int x = -8; x < 8; x++) truth &= !compares(known, x, c) || compares(wanted, x, d);
          struct scev number = {.constant = d, .width = 4};
          struct nvm_block yes = {value_index(named(&s, "yes"))};
          bool told = scev_holds(s.scev, yes, (enum icmp_predicate)wanted,
                                 scev_of(s.scev, named(&s, "x")), number);
          assert_true(truth || !told);
          proven += told;
          for (int more = -8; more < 8; more++) { /* x + more, which may wrap */
            struct scev sum = scev_of(s.scev, named(&s, "x"));
            sum.constant = more;
            truth = true;
            for (int x = -8; x < 8; x++)
              truth &= !compares(known, x, c) || compares(wanted, ((x + more + 40) & 15) - 8, d);
            assert_true(truth ||
                        !scev_holds(s.scev, yes, (enum icmp_predicate)wanted, sum, number));
          }
        }
      module_destroy(s.m);
    }
  assert_true(proven > 2000);
}

static void many_terms_and_long_chains(void **state) {
  (void)state;
  enum { LENGTH = 20000 };
  struct nvm_module *m = new_module();
  struct nvm_type parameters[2] = {TYPE_I32, TYPE_I32};
  struct nvm_function *f = new_function(m, "f", TYPE_VOID, parameters, 2, true);
  struct nvm_value v = value_of_arg(0);
  for (uint32_t k = 0; k < LENGTH; k++) {
    struct nvm_value operands[2] = {v, k % 2 ? v : value_of_arg(1)};
    v = value_of_inst(emit(f, f->entry, k % 2 ? OP_MUL : OP_ADD, TYPE_I32, 2, operands, 0));
  }
  emit(f, f->entry, OP_RET, TYPE_VOID, 0, NULL, 0);
  struct dominance d;
  struct loops l;
  assert_true(dominance_compute(&d, f, &m->arena) && loops_compute(&l, f, &d, &m->arena));
  struct scev_env *e = scev_init(f, &l, &d, &m->arena);
  assert_int_equal(scev_of(e, v).width, 32);
  module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums),
                                     cmocka_unit_test(products_of_symbols),
                                     cmocka_unit_test(constants_that_wrap),
                                     cmocka_unit_test(recurrences),
                                     cmocka_unit_test(trip_counts),
                                     cmocka_unit_test(rows_of_a_matrix),
                                     cmocka_unit_test(while_loops),
                                     cmocka_unit_test(finite_loops),
                                     cmocka_unit_test(implications),
                                     cmocka_unit_test(many_terms_and_long_chains)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
