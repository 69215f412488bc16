/* analysis/divergence.h: sources, what follows from data, from joins, from leaving loops; what
 * stays uniform. */
#include "loop_fixture.h"

#include "analysis/divergence.h"

#define INTRINSICS                                                                                 \
  "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n" \
  "declare i32 @llvm.umin.i32(i32, i32)\ndeclare i32 @other(i32)\n"                                \
  "declare i32 @pure(i32) memory(none) willreturn\n"

struct sample {
  struct loop_sample s;
  struct divergence d;
};

static struct sample sample(const char *text) {
  struct sample x = {.s = loop_sample(text)};
  struct dominance d;
  assert_true(dominance_compute(&d, x.s.f, &x.s.m->arena));
  assert_true(divergence_compute(&x.d, x.s.f, &d, &x.s.loops, &x.s.m->arena));
  return x;
}

static void expect(struct sample *x, const char *divergent, const char *uniform) {
  char name[32];
  int length;
  for (; sscanf(divergent, " %31s%n", name, &length) == 1; divergent += length)
    if (!divergence_of(&x->d, named(&x->s, name))) fail_msg("%s is divergent", name);
  for (; sscanf(uniform, " %31s%n", name, &length) == 1; uniform += length)
    if (divergence_of(&x->d, named(&x->s, name))) fail_msg("%s is uniform", name);
}

static void sources_and_data(void **state) {
  (void)state;
  struct sample x =
      sample(INTRINSICS
             "define ptx_kernel void @f(ptr addrspace(1) %g, ptr addrspace(5) %l, i32 %n) {\n"
             "entry:\n"
             "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
             "  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
             "  %sum = add i32 %t, %n\n"
             "  %same = add i32 %b, %n\n"
             "  %m = call i32 @llvm.umin.i32(i32 %b, i32 %n)\n"
             "  %mt = call i32 @llvm.umin.i32(i32 %b, i32 %sum)\n"
             "  %v = load i32, ptr addrspace(1) %g\n"
             "  %own = load i32, ptr addrspace(5) %l\n"
             "  %p = getelementptr i32, ptr addrspace(1) %g, i32 %t\n"
             "  %vt = load i32, ptr addrspace(1) %p\n"
             "  %a = atomicrmw add ptr addrspace(1) %g, i32 1 monotonic\n"
             "  %c = call i32 @other(i32 %n)\n"
             "  %d = call i32 @pure(i32 %n)\n" /* may read its thread's number */
             "  ret void\n}\n");
  expect(&x, "t sum mt own p vt a c d", "b same m v n");
  module_destroy(x.s.m);
}

static void joins(void **state) {
  (void)state;
  struct sample x = sample(
      INTRINSICS
      "define ptx_kernel void @f(i32 %n, i1 %u) {\n"
      "entry:\n"
      "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "  %c = icmp ult i32 %t, 7\n"
      "  br i1 %c, label %yes, label %join\n"
      "yes:\n  br i1 %u, label %one, label %two\n"
      "one:\n  br label %inner\n"
      "two:\n  br label %inner\n"
      "inner:\n  %p = phi i32 [ 1, %one ], [ 2, %two ]\n  br label %join\n"
      "join:\n  %q = phi i32 [ 3, %entry ], [ 4, %inner ]\n  br i1 %u, label %three, label %end\n"
      "three:\n  br label %end\n"
      "end:\n  %r = phi i32 [ 5, %join ], [ 6, %three ]\n"
      "  ret void\n}\n");
  expect(&x, "t c q", "n u r");
  assert_true(x.d.branches[value_index(named(&x.s, "entry"))]);
  assert_false(x.d.branches[value_index(named(&x.s, "join"))]);
  module_destroy(x.s.m);
}

static void loops_left_at_different_times(void **state) {
  (void)state;
  struct sample x =
      sample(INTRINSICS
             "define ptx_kernel void @f(i32 %n) {\n"
             "entry:\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  br label %loop\n"
             "loop:\n"
             "  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
             "  %next = add i32 %i, 1\n"
             "  %c = icmp ult i32 %next, %t\n"
             "  br i1 %c, label %loop, label %between\n"
             "between:\n  %after = add i32 %next, 0\n  br label %second\n"
             "second:\n"
             "  %k = phi i32 [ 0, %between ], [ %more, %second ]\n"
             "  %more = add i32 %k, 1\n"
             "  %d = icmp ult i32 %more, %n\n"
             "  br i1 %d, label %second, label %end\n"
             "end:\n  %last = add i32 %more, 0\n  ret void\n}\n");
  expect(&x, "t c after", "k more d last");
  module_destroy(x.s.m);
}

static void arguments_of_device_functions(void **state) {
  (void)state;
  struct sample x = sample(
      "define i32 @f(i32 %n) {\nentry:\n  %a = add i32 %n, 1\n  %b = add i32 1, 2\n  ret i32 "
      "%a\n}\n");
  expect(&x, "n a", "b");
  module_destroy(x.s.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sources_and_data),
      cmocka_unit_test(joins),
      cmocka_unit_test(loops_left_at_different_times),
      cmocka_unit_test(arguments_of_device_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
