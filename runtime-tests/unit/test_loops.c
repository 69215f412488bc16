/* analysis/loops.h: the nest, entries, exits, hints, and shapes that are no loops. */
#include "loop_fixture.h"

static const char *block_name(const struct loop_sample *s, struct nvm_block b) {
  return b.index ? name_of(s, value_of_block(b)) : "-";
}

static void expect_loop(const struct loop_sample *s, uint32_t n, const char *text) {
  const struct loop *l = &s->loops.data[n];
  char out[200];
  int at =
      snprintf(out, sizeof out, "%s parent %u depth %u preheader %s latch %s exiting %s exit %s:",
               block_name(s, l->header), l->parent, l->depth, block_name(s, l->preheader),
               block_name(s, l->latch), block_name(s, l->exiting), block_name(s, l->exit));
  for (uint32_t k = 0; k < l->block_count; k++)
    at += snprintf(out + at, sizeof out - (size_t)at, " %s",
                   block_name(s, s->loops.blocks[l->first_block + k]));
  assert_string_equal(out, text);
}

static void nests(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i1 %c) {\n"
      "entry:\n  br label %outer\n"
      "outer:\n  br label %inner\n"
      "inner:\n  br i1 %c, label %inner, label %between\n"
      "between:\n  br label %second\n"
      "second:\n  br i1 %c, label %body, label %tail\n"
      "body:\n  br i1 %c, label %second, label %out\n"
      "tail:\n  br i1 %c, label %outer, label %out\n"
      "out:\n  ret void\n}\n");
  assert_int_equal(s.loops.count, 3);
  expect_loop(&s, 1,
              "outer parent 0 depth 1 preheader entry latch tail exiting - exit out:"
              " outer inner between second body tail");
  expect_loop(
      &s, 2,
      "inner parent 1 depth 2 preheader outer latch inner exiting inner exit between: inner");
  expect_loop(&s, 3,
              "second parent 1 depth 2 preheader between latch body exiting - exit -: second body");
  assert_int_equal(s.loops.data[1].end, 4);
  assert_int_equal(s.loops.data[2].end, 3);
  struct nvm_block body = {value_index(named(&s, "body"))};
  assert_true(loops_contains(&s.loops, 1, body));
  assert_false(loops_contains(&s.loops, 2, body));
  assert_true(loops_contains(&s.loops, 3, body));
  uint32_t count;
  const struct loop_exit *exits = loops_exits(&s.loops, 1, &count);
  assert_int_equal(count, 2); /* in the order of their blocks */
  assert_string_equal(block_name(&s, exits[0].from), "body");
  assert_string_equal(block_name(&s, exits[1].from), "tail");
  assert_string_equal(block_name(&s, exits[1].to), "out");
  exits = loops_exits(&s.loops, 3, &count);
  assert_int_equal(count, 2);
  assert_string_equal(block_name(&s, exits[0].to), "tail");
  assert_string_equal(block_name(&s, exits[1].to), "out");
  module_destroy(s.m);
}

static void shapes_that_are_not_simple(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i1 %c) {\n"
      "entry:\n  br i1 %c, label %header, label %cycle1\n"
      "header:\n  br i1 %c, label %latch1, label %latch2\n"
      "latch1:\n  br label %header\n"
      "latch2:\n  br i1 %c, label %header, label %out\n"
      "cycle1:\n  br i1 %c, label %cycle2, label %out\n"
      "cycle2:\n  br i1 %c, label %cycle1, label %out\n"
      "dead:\n  br label %header\n"
      "out:\n  ret void\n}\n");
  assert_int_equal(s.loops.count, 2);
  expect_loop(&s, 1,
              "cycle1 parent 0 depth 1 preheader - latch cycle2 exiting - exit out: cycle1 cycle2");
  expect_loop(
      &s, 2,
      "header parent 0 depth 1 preheader - latch - exiting latch2 exit out: header latch2 latch1");
  module_destroy(s.m);
  s = loop_sample(
      "define void @irreducible(i1 %c) {\n"
      "entry:\n  br i1 %c, label %a, label %b\n"
      "a:\n  br i1 %c, label %b, label %out\n"
      "b:\n  br label %a\n"
      "out:\n  ret void\n}\n");
  assert_int_equal(s.loops.count, 0);
  module_destroy(s.m);
}

static void hints(void **state) {
  (void)state;
  struct loop_sample s = loop_sample(
      "define void @f(i1 %c) {\n"
      "entry:\n  br label %a\n"
      "a:\n  br i1 %c, label %a, label %out, !llvm.loop !0\n"
      "out:\n  ret void\n}\n"
      "!0 = distinct !{!0, !1, !2}\n!1 = !{!\"llvm.loop.mustprogress\"}\n"
      "!2 = !{!\"llvm.loop.unroll.count\", i32 4}\n");
  const struct loop *l = &s.loops.data[1];
  assert_true(loops_hint(s.f, l->hints, "llvm.loop.mustprogress").given);
  assert_int_equal(loops_hint(s.f, l->hints, "llvm.loop.unroll.count").value, 4);
  assert_false(loops_hint(s.f, l->hints, "llvm.loop.unroll.disable").given);
  module_destroy(s.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nests),
                                     cmocka_unit_test(shapes_that_are_not_simple),
                                     cmocka_unit_test(hints)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
