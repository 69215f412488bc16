/* analysis/pressure.h: what values take, where they are alive, the most at once. */
#include "loop_fixture.h"

#include "analysis/pressure.h"

struct sample {
  struct loop_sample s;
  struct pressure p;
};

static struct sample sample(const char *text) {
  struct sample x = {.s = loop_sample(text)};
  struct dominance d;
  assert_true(dominance_compute(&d, x.s.f, &x.s.m->arena));
  assert_true(pressure_compute(&x.p, x.s.f, &d, &x.s.m->arena));
  return x;
}

/* Registers alive where the block begins and ends, and the most within. */
static void expect(const struct sample *x, const char *block, uint32_t in, uint32_t most,
                   uint32_t out) {
  uint32_t b = value_index(named(&x->s, block));
  if (x->p.in[b] != in || x->p.most[b] != most || x->p.out[b] != out)
    fail_msg("%s: %u %u %u, not %u %u %u", block, x->p.in[b], x->p.most[b], x->p.out[b], in, most,
             out);
}

static void widths(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function f = {.module = m};
  struct {
    struct nvm_type type;
    uint32_t registers;
  } rows[] = {{TYPE_VOID, 0},
              {TYPE_I1, 0},
              {TYPE_I8, 1},
              {TYPE_I32, 1},
              {TYPE_FLOAT, 1},
              {TYPE_I64, 2},
              {TYPE_DOUBLE, 2},
              {TYPE_PTR, 2},
              {type_vector(&m->types, TYPE_HALF, 4), 2},
              {type_vector(&m->types, TYPE_HALF, 3), 2},
              {type_vector(&m->types, TYPE_FLOAT, 4), 4},
              {type_vector(&m->types, TYPE_I64, 2), 4},
              {type_vector(&m->types, TYPE_I1, 4), 0},
              {type_array(&m->types, TYPE_I32, 3), 3}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    assert_int_equal(pressure_registers(&f, rows[k].type), rows[k].registers);
  module_destroy(m);
}

/* Operands end where results begin; the order counts, not the number of values. */
static void one_block(void **state) {
  (void)state;
  struct sample x = sample(
      "define i32 @f(ptr %p) {\nentry:\n"
      "  %a = load i32, ptr %p\n"
      "  %b = load i32, ptr %p\n"
      "  %c = load i64, ptr %p\n"
      "  %t = trunc i64 %c to i32\n"
      "  %unused = add i32 %a, 1\n"
      "  %s = add i32 %a, %b\n"
      "  %r = mul i32 %s, %t\n"
      "  ret i32 %r\n}\n");
  expect(&x, "entry", 2, 4, 0); /* p; a, b and c or p */
  assert_int_equal(x.p.highest, 4);
  module_destroy(x.s.m);
}

static void after_instructions(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define i32 @f(i32 %n, i64 %w) {\n"
      "entry:\n  %a = add i32 %n, 1\n  %t = trunc i64 %w to i32\n  %s = mul i32 %a, %t\n  ret i32 "
      "%s\n}\n");
  struct dominance d;
  uint32_t after[16] = {0};
  struct pressure p = {.after = after};
  assert_in_range(s.f->insts.count, 1, 16);
  assert_true(dominance_compute(&d, s.f, &s.m->arena));
  assert_true(pressure_compute(&p, s.f, &d, &s.m->arena));
  assert_int_equal(after[value_index(named(&s, "a"))], 3); /* a and w */
  assert_int_equal(after[value_index(named(&s, "t"))], 2); /* a and t */
  assert_int_equal(after[value_index(named(&s, "s"))], 1);
  module_destroy(s.m);
}

static void branches(void **state) {
  (void)state;
  struct sample x = sample(
      "define i32 @f(i32 %n, i1 %u) {\n"
      "entry:\n  %a = add i32 %n, 1\n  %b = add i64 7, 9\n  br i1 %u, label %left, label %right\n"
      "left:\n  %k = trunc i64 %b to i32\n  br label %end\n"
      "right:\n  br label %end\n"
      "none:\n  %dead = add i32 %a, %k\n  br label %none\n"
      "end:\n  %m = phi i32 [ %k, %left ], [ 3, %right ]\n  %r = add i32 %m, %a\n  ret i32 "
      "%r\n}\n");
  expect(&x, "entry", 1, 3, 3);
  expect(&x, "left", 3, 3, 2); /* k is read on the edge */
  expect(&x, "right", 1, 1, 1);
  expect(&x, "none", 0, 0, 0);
  expect(&x, "end", 2, 2, 0);
  module_destroy(x.s.m);
}

/* What is read behind a loop or in every iteration is alive in all of it. */
static void loops(void **state) {
  (void)state;
  struct sample x = sample(
      "define i32 @f(i32 %n) {\n"
      "entry:\n  %every = mul i32 %n, %n\n  %behind = zext i32 %n to i64\n  br label %head\n"
      "head:\n  %i = phi i32 [ 0, %entry ], [ %next, %latch ]\n  %c = icmp ult i32 %i, %every\n"
      "  br i1 %c, label %latch, label %end\n"
      "latch:\n  %next = add i32 %i, 1\n  br label %head\n"
      "end:\n  %t = trunc i64 %behind to i32\n  %r = add i32 %t, %i\n  ret i32 %r\n}\n");
  expect(&x, "entry", 1, 3, 3);
  expect(&x, "head", 4, 4, 4);
  expect(&x, "latch", 4, 4, 4);
  expect(&x, "end", 3, 3, 0);
  module_destroy(x.s.m);
}

/* Arguments of kernels are memory; an address at a constant distance keeps its base alive instead
 * of itself. */
static void what_takes_none(void **state) {
  (void)state;
  struct sample x = sample(
      "define ptx_kernel void @f(ptr %p, i64 %n) {\n"
      "entry:\n"
      "  %v = alloca i32\n"
      "  %g = addrspacecast ptr %p to ptr addrspace(1)\n"
      "  %b = getelementptr i8, ptr addrspace(1) %g, i64 %n\n"
      "  %far = getelementptr i8, ptr addrspace(1) %b, i64 64\n"
      "  %c = icmp ult i64 %n, 5\n"
      "  br label %end\n"
      "end:\n"
      "  %k = zext i1 %c to i32\n"
      "  store i32 %k, ptr addrspace(1) %far\n"
      "  store i32 1, ptr addrspace(1) %g\n"
      "  store i32 2, ptr %v\n"
      "  ret void\n}\n");
  expect(&x, "entry", 0, 2, 2);
  expect(&x, "end", 2, 3, 0);
  module_destroy(x.s.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(widths),          cmocka_unit_test(one_block),
      cmocka_unit_test(branches),        cmocka_unit_test(loops),
      cmocka_unit_test(what_takes_none), cmocka_unit_test(after_instructions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
