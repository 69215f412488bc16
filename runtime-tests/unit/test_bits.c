/* frontend/bitcode/bits.h: numbers, abbreviations, blocks, and every way in which a stream can be
 * cut off or wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frontend/bitcode/bits.h"

#include <string.h>

#include "bits_writer.h"

/* ---- Tests ---- */

struct reading {
  struct arena arena;
  struct bits bits;
  struct bits_record record;
};

static void start(struct reading *x, const struct writer *w) {
  arena_init(&x->arena, nvm_default_allocator);
  bits_init(&x->bits, &x->arena, w->bytes, (w->at + 7) / 8);
}

/* Each width in a block of its own, by an abbreviation: the code 1, and a number of fixed width. */
static void numbers_of_all_widths(void **state) {
  (void)state;
  for (uint32_t width = 1; width <= 64; width++) {
    struct writer w = {.at = 0};
    struct reading x;
    uint64_t begin = open_block(&w, 2, 8, 3), value = UINT64_MAX / 3;
    put(&w, 2, 3), put_vbr(&w, 2, 5);
    put(&w, 1, 1), put_vbr(&w, 1, 8);
    put(&w, 0, 1), put(&w, CODING_FIXED, 3), put_vbr(&w, width, 5);
    put(&w, 4, 3), put(&w, value, width);
    close_block(&w, begin, 3);
    start(&x, &w);
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_BLOCK);
    assert_true(bits_enter(&x.bits));
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_RECORD);
    assert_true(x.record.numbers[0] == value << (64 - width) >> (64 - width));
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_END);
    arena_free(&x.arena);
  }
}

static void numbers_in_groups_of_all_widths(void **state) {
  (void)state;
  struct writer w = {.at = 0};
  struct reading x;
  for (uint32_t width = 2; width <= 32; width++) {
    put_vbr(&w, UINT64_MAX - width, width);
    put_vbr(&w, 1, width);
    put_vbr(&w, UINT64_C(1) << width, width);
  }
  start(&x, &w);
  for (uint32_t width = 2; width <= 32; width++) {
    assert_true(bits_vbr(&x.bits, width) == UINT64_MAX - width);
    assert_true(bits_vbr(&x.bits, width) == 1);
    assert_true(bits_vbr(&x.bits, width) == UINT64_C(1) << width);
  }
  assert_null(x.bits.problem);
  while (!x.bits.problem) bits_vbr(&x.bits, 32);
  assert_true(x.bits.at <= x.bits.length * 8);
  arena_free(&x.arena);
}

static void signed_numbers(void **state) {
  (void)state;
  assert_true(bits_signed(0) == 0);
  assert_true(bits_signed(10) == 5);
  assert_true(bits_signed(11) == (uint64_t)-5);
  assert_true(bits_signed(1) == UINT64_C(1) << 63); /* the smallest one */
}

/* A block with one record in every coding. */
static void write_codings(struct writer *w) {
  uint64_t begin = open_block(w, 2, 8, 3);
  put(w, 2, 3); /* literal code 7, fixed(4), vbr(6), array of char6 */
  put_vbr(w, 5, 5);
  put(w, 1, 1), put_vbr(w, 7, 8);
  put(w, 0, 1), put(w, CODING_FIXED, 3), put_vbr(w, 4, 5);
  put(w, 0, 1), put(w, CODING_VBR, 3), put_vbr(w, 6, 5);
  put(w, 0, 1), put(w, CODING_ARRAY, 3);
  put(w, 0, 1), put(w, CODING_CHAR6, 3);
  put(w, 4, 3), put(w, 9, 4), put_vbr(w, 1000, 6), put_vbr(w, 3, 6);
  put(w, 1, 6), put(w, 26, 6), put(w, 63, 6); /* "bA_" */
  put(w, 2, 3);                               /* code, blob */
  put_vbr(w, 2, 5);
  put(w, 0, 1), put(w, CODING_FIXED, 3), put_vbr(w, 3, 5);
  put(w, 0, 1), put(w, CODING_BLOB, 3);
  put(w, 5, 3), put(w, 6, 3), put_vbr(w, 5, 6);
  align(w);
  for (uint32_t i = 0; i < 5; i++) put(w, (unsigned char)"bytes"[i], 8);
  align(w);
  close_block(w, begin, 3);
}

static void abbreviated_records(void **state) {
  (void)state;
  struct writer w = {.at = 0};
  struct reading x;
  write_codings(&w);
  start(&x, &w);
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_BLOCK);
  assert_int_equal(x.record.code, 8);
  assert_true(bits_enter(&x.bits));
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_RECORD);
  const uint64_t expected[] = {9, 1000, 'b', 'A', '_'};
  assert_int_equal(x.record.code, 7);
  assert_int_equal(x.record.count, 5);
  for (uint32_t i = 0; i < 5; i++) assert_true(x.record.numbers[i] == expected[i]);
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_RECORD);
  assert_int_equal(x.record.code, 6);
  assert_int_equal(x.record.blob_size, 5);
  assert_memory_equal(x.record.blob, "bytes", 5);
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_END);
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_END); /* of the stream */
  arena_free(&x.arena);
}

/* Block info defines an abbreviation for block 9, which an inner block uses; one is skipped. */
static void block_info_and_skipping(void **state) {
  (void)state;
  struct writer w = {.at = 0};
  struct reading x;
  const uint64_t nine = 9;
  uint64_t outer = open_block(&w, 2, 8, 3), info = open_block(&w, 3, 0, 2);
  put_record(&w, 2, 1, &nine, 1);
  put(&w, 2, 2), put_vbr(&w, 2, 5);
  put(&w, 1, 1), put_vbr(&w, 3, 8);
  put(&w, 0, 1), put(&w, CODING_FIXED, 3), put_vbr(&w, 7, 5);
  close_block(&w, info, 2);
  for (uint32_t i = 0; i < 2; i++) {
    uint64_t inner = open_block(&w, 3, 9, 3);
    put(&w, 4, 3), put(&w, 100 + i, 7);
    close_block(&w, inner, 3);
  }
  close_block(&w, outer, 3);
  start(&x, &w);
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_BLOCK);
  assert_true(bits_enter(&x.bits));
  uint64_t first = x.bits.at;
  for (int round = 0; round < 2; round++) { /* the info must not be read twice */
    bits_seek(&x.bits, first);
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_BLOCK);
    assert_true(bits_skip(&x.bits));
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_BLOCK);
    assert_true(bits_enter(&x.bits));
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_RECORD);
    assert_int_equal(x.record.code, 3);
    assert_true(x.record.numbers[0] == 101);
    assert_int_equal(bits_next(&x.bits, &x.record), BITS_END);
  }
  assert_int_equal(bits_next(&x.bits, &x.record), BITS_END);
  arena_free(&x.arena);
}

/* Reads everything; returns the problem. */
static const char *read_all(struct reading *x) {
  for (;;) {
    enum bits_event event = bits_next(&x->bits, &x->record);
    if (event == BITS_ERROR) return x->bits.problem;
    if (event == BITS_BLOCK && !bits_enter(&x->bits)) return x->bits.problem;
    if (event == BITS_END && x->bits.depth == 1 && x->bits.at + 32 > x->bits.scopes[0].end)
      return NULL;
  }
}

static void truncated_everywhere(void **state) {
  (void)state;
  struct writer w = {.at = 0};
  write_codings(&w);
  for (uint64_t length = 4; length < w.at / 8; length++) {
    struct reading x;
    arena_init(&x.arena, nvm_default_allocator);
    unsigned char *copy = arena_alloc(&x.arena, length); /* exact, for the sanitizer */
    memcpy(copy, w.bytes, length);
    bits_init(&x.bits, &x.arena, copy, length);
    assert_non_null(read_all(&x));
    assert_true(x.bits.at <= length * 8);
    arena_free(&x.arena);
  }
}

/* A block of width 3 whose contents `bits` of `width` bits begin. */
static const char *problem_of(uint64_t bits, uint32_t width) {
  struct writer w = {.at = 0};
  struct reading x;
  uint64_t begin = open_block(&w, 2, 8, 3);
  put(&w, bits, width);
  close_block(&w, begin, 3);
  start(&x, &w);
  const char *problem = read_all(&x);
  arena_free(&x.arena);
  return problem ? problem : "";
}

static void malformed_streams(void **state) {
  (void)state;
  assert_string_equal(problem_of(0, 3), ""); /* the end, and padding */
  assert_string_equal(problem_of(4, 3), "use of an undefined abbreviation");
  /* An abbreviation of no operand; of coding 6; an array of nothing; a blob as the code. */
  assert_string_equal(problem_of(2, 8), "an abbreviation is malformed");
  assert_string_equal(problem_of(2 | 1 << 3 | 6 << 9, 12), "an abbreviation has an unknown coding");
  assert_string_equal(problem_of(2 | 1 << 3 | 3 << 9, 12), "an abbreviation is malformed");
  assert_string_equal(problem_of(2 | 1 << 3 | 5 << 9, 12), "an abbreviation is malformed");
  /* A record that says to have more numbers than fit. */
  assert_string_equal(problem_of(3 | 1 << 3 | UINT64_C(0x7f) << 9, 16),
                      "the block ends inside a record");
}

/* Arrays: elements of one bit; of a literal and of width 0, which would cost nothing, also if there
 * are none. An abbreviation of such elements that is not used is one of LLVM's. */
static void elements_without_bits(void **state) {
  (void)state;
  static const char *const problems[] = {"", "the elements of an array have no bits",
                                         "the elements of an array have no bits", ""};
  for (int kind = 0; kind < 4; kind++) {
    struct writer w = {.at = 0};
    struct reading x;
    uint64_t begin = open_block(&w, 2, 8, 3);
    put_array_abbreviation(&w, 3, 1);
    if (kind == 1) put(&w, 1, 1), put_vbr(&w, 0, 8);
    else put(&w, 0, 1), put(&w, CODING_FIXED, 3), put_vbr(&w, kind == 0, 5);
    if (kind < 3) put(&w, 4, 3), put_vbr(&w, 30, 6);
    w.at += kind == 3 ? 0 : 30;
    close_block(&w, begin, 3);
    start(&x, &w);
    const char *problem = read_all(&x);
    assert_string_equal(problem ? problem : "", problems[kind]);
    arena_free(&x.arena);
  }
}

/* An abbreviation of many literals, of which each use takes three bits. */
static void literals_are_bounded(void **state) {
  (void)state;
  for (uint32_t uses = 1; uses < 1000; uses += 900) {
    struct writer w = {.at = 0};
    struct reading x;
    uint64_t begin = open_block(&w, 2, 8, 3);
    put(&w, 2, 3), put_vbr(&w, 500, 5);
    for (int i = 0; i < 500; i++) put(&w, 1, 1), put_vbr(&w, 1, 8);
    for (uint32_t i = 0; i < uses; i++) put(&w, 4, 3);
    close_block(&w, begin, 3);
    start(&x, &w);
    const char *problem = read_all(&x);
    assert_string_equal(problem ? problem : "", uses == 1 ? "" : "too many literals");
    arena_free(&x.arena);
  }
}

/* Numbers that do not fit where they are kept: of an abbreviation, which must not become one of an
 * outer block; a code; a block. */
static void numbers_of_64_bits(void **state) {
  (void)state;
  struct writer w = {.at = 0};
  struct reading x;
  uint64_t outer = open_block(&w, 2, 8, 3);
  put(&w, 2, 3), put_vbr(&w, 1, 5), put(&w, 1, 1), put_vbr(&w, 7, 8);
  uint64_t inner = open_block(&w, 3, 9, 32);
  put(&w, UINT32_MAX, 32);
  close_block(&w, inner, 32);
  close_block(&w, outer, 3);
  start(&x, &w);
  assert_string_equal(read_all(&x), "use of an undefined abbreviation");
  arena_free(&x.arena);
  struct writer code = {.at = 0};
  outer = open_block(&code, 2, 8, 3);
  put(&code, 3, 3), put_vbr(&code, UINT64_C(1) << 32, 6), put_vbr(&code, 0, 6);
  close_block(&code, outer, 3);
  start(&x, &code);
  assert_string_equal(read_all(&x), "the code of a record is out of range");
  arena_free(&x.arena);
  struct writer id = {.at = 0};
  put(&id, 1, 2), put_vbr(&id, UINT64_C(1) << 32 | 8, 8);
  id.at += 64;
  start(&x, &id);
  assert_string_equal(read_all(&x), "the id of a block is out of range");
  arena_free(&x.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_of_all_widths),   cmocka_unit_test(numbers_in_groups_of_all_widths),
      cmocka_unit_test(signed_numbers),          cmocka_unit_test(abbreviated_records),
      cmocka_unit_test(block_info_and_skipping), cmocka_unit_test(truncated_everywhere),
      cmocka_unit_test(malformed_streams),       cmocka_unit_test(elements_without_bits),
      cmocka_unit_test(literals_are_bounded),    cmocka_unit_test(numbers_of_64_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
