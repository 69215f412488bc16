/* support/arena.h, support/vec.h, support/textbuf.h: memory and what is built on it directly. */
#include "ir_fixture.h"

static void objects_are_zeroed_aligned_and_apart(void **state) {
  (void)state;
  struct arena a;
  arena_init(&a, nvm_default_allocator);
  unsigned char *objects[300];
  for (size_t i = 0; i < 300; i++) {
    objects[i] = arena_alloc(&a, i);
    assert_int_equal((uintptr_t)objects[i] % 16, 0);
    for (size_t k = 0; k < i; k++) assert_int_equal(objects[i][k], 0);
    memset(objects[i], (int)i, i);
  }
  for (size_t i = 0; i < 300; i++)
    for (size_t k = 0; k < i; k++) assert_int_equal(objects[i][k], (unsigned char)i);
  arena_free(&a);
}

/* From a small object into chunks of its own and on, keeping content, zeroing the rest; half of it
 * given back, and grown again. */
static void growing_keeps_content(void **state) {
  (void)state;
  struct arena a;
  arena_init(&a, nvm_default_allocator);
  size_t bytes = 1;
  unsigned char *p = arena_alloc(&a, bytes);
  p[0] = 1;
  while (bytes < 3000000) {
    size_t more = bytes * 2 + 7;
    if (bytes % 3 == 0) arena_alloc(&a, 40); /* at times something stands in the way */
    p = arena_grow(&a, p, bytes, more);
    assert_non_null(p);
    for (size_t k = 0; k < more; k += k < 64 ? 1 : 997) assert_int_equal(p[k], k < bytes ? 1 : 0);
    memset(p, 1, more);
    bytes = more;
  }
  size_t before = a.total_bytes, fewer = bytes / 2;
  p = arena_shrink(&a, p, bytes, fewer);
  assert_true(a.total_bytes <= before - bytes / 2);
  p = arena_grow(&a, p, fewer, bytes);
  for (size_t k = 0; k < bytes; k += 997) assert_int_equal(p[k], k < fewer);
  arena_free(&a);
}

/* First, last and between others; what is left stays whole and is counted. */
static void large_objects_are_given_back(void **state) {
  (void)state;
  struct failing_allocator f = {0};
  struct arena a;
  arena_init(&a, failing_allocator(&f));
  unsigned char *objects[4];
  for (int i = 0; i < 4; i++) memset(objects[i] = arena_alloc(&a, 5000), i, 5000);
  arena_release(&a, objects[1], 5000);
  arena_release(&a, objects[3], 5000);
  arena_release(&a, objects[0], 5000);
  assert_int_equal(f.live_blocks, 1);
  assert_int_equal(f.live_bytes, a.total_bytes);
  objects[2] = arena_grow(&a, objects[2], 5000, 9000);
  for (int k = 0; k < 9000; k++) assert_int_equal(objects[2][k], k < 5000 ? 2 : 0);
  unsigned char *small = arena_alloc(&a, 16);
  arena_release(&a, small, 16);
  assert_int_equal(small[15], 0);
  arena_free(&a);
  assert_int_equal(f.live_bytes, 0);
}

static void reset_forgets_and_zeroes_again(void **state) {
  (void)state;
  struct failing_allocator f = {0};
  struct arena a;
  arena_init(&a, failing_allocator(&f));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 100; i++) {
      unsigned char *p = arena_alloc(&a, 300);
      assert_int_equal(p[299], 0);
      memset(p, 0xff, 300);
    }
    arena_alloc(&a, 200000);
    arena_reset(&a);
    assert_int_equal(f.live_blocks, 1);
  }
  arena_free(&a);
  assert_int_equal(f.live_bytes, 0);
}

/* Once it has seen what a round needs, it asks for nothing more. */
static void reused_arena_keeps_its_memory(void **state) {
  (void)state;
  struct failing_allocator f = {0};
  struct arena a;
  arena_init_reused(&a, failing_allocator(&f));
  unsigned settled = 0;
  for (int round = 0; round < 40; round++) {
    if (round == 20) settled = f.calls;
    for (int i = 0; i < 50; i++) memset(arena_alloc(&a, 4000), round, 4000);
    arena_reset(&a);
    assert_int_equal(f.live_blocks, 1);
  }
  assert_int_equal(f.calls, settled);
  arena_free(&a);
  assert_int_equal(f.live_bytes, 0);
}

static void limit_is_a_status(void **state) {
  (void)state;
  struct arena a;
  arena_init(&a, nvm_default_allocator);
  a.limit_bytes = 100000;
  assert_non_null(arena_alloc(&a, 1000));
  assert_false(a.failed);
  assert_null(arena_alloc(&a, 100000));
  assert_true(a.failed);
  assert_null(arena_alloc(&a, SIZE_MAX));
  arena_free(&a);
}

static void vector_unchanged_after_failed_push(void **state) {
  (void)state;
  struct failing_allocator f = {0};
  struct arena a;
  arena_init(&a, failing_allocator(&f));
  VEC(int) v = {0};
  for (int i = 0; VEC_PUSH(&a, &v, i); i++) {
    if (i == 100) f.fail_at = 1;
    assert_true(v.count < 1000000);
  }
  assert_true(a.failed);
  assert_true(v.count >= 100 && v.count == v.capacity);
  for (uint32_t i = 0; i < v.count; i++) assert_int_equal(v.data[i], i);
  arena_free(&a);
}

static bool arena_scenario(struct nvm_allocator allocator) {
  struct arena a;
  arena_init(&a, allocator);
  struct textbuf b;
  textbuf_init(&b, &a);
  for (int i = 0; i < 20000; i++) textbuf_format(&b, "%d,%x;", -i, (unsigned)i);
  bool done = !a.failed;
  if (done) assert_memory_equal(b.bytes, "0,0;-1,1;-2,2;", 14);
  arena_free(&a);
  return done;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(arena_scenario);
}

static void numbers_are_written(void **state) {
  (void)state;
  struct arena a;
  arena_init(&a, nvm_default_allocator);
  struct textbuf b;
  textbuf_init(&b, &a);
  textbuf_unsigned(&b, UINT64_MAX);
  textbuf_char(&b, ' ');
  textbuf_signed(&b, INT64_MIN);
  textbuf_char(&b, ' ');
  textbuf_hex(&b, 0xab, 4, true);
  textbuf_format(&b, " %s %U %D %c %%", "s", UINT64_C(7), INT64_C(-7), 'c');
  textbuf_format(&b, " %M %M %M %M", INT64_C(32000), INT64_C(6562), INT64_C(-50), INT64_C(10));
  textbuf_char(&b, '\0');
  assert_string_equal(
      b.bytes, "18446744073709551615 -9223372036854775808 00AB s 7 -7 c % 32.0 6.562 -0.05 0.01");
  arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_are_zeroed_aligned_and_apart),
      cmocka_unit_test(growing_keeps_content),
      cmocka_unit_test(large_objects_are_given_back),
      cmocka_unit_test(reset_forgets_and_zeroes_again),
      cmocka_unit_test(reused_arena_keeps_its_memory),
      cmocka_unit_test(limit_is_a_status),
      cmocka_unit_test(vector_unchanged_after_failed_push),
      cmocka_unit_test(out_of_memory_at_every_call),
      cmocka_unit_test(numbers_are_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
