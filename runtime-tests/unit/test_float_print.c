/* Decimal text of floating-point numbers: against known texts, and back through float.h. */
#include "support/float_print.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct row {
  enum float_format format;
  uint64_t bits;
  const char *text;
};

static struct arena arena;
static struct textbuf out;

static int set_up(void **state) {
  (void)state;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  arena_free(&arena);
  return 0;
}

static const char *text_written(void) {
  textbuf_char(&out, '\0');
  out.length = 0;
  return out.bytes;
}

static const char *constant(enum float_format format, uint64_t bits) {
  float_print_constant(&out, format, bits);
  return text_written();
}

static const char *shortest(enum float_format format, uint64_t bits) {
  float_print_shortest(&out, format, bits);
  return text_written();
}

static const char *scientific(uint64_t bits, int decimals) {
  float_print_scientific(&out, FLOAT_DOUBLE, bits, decimals);
  return text_written();
}

static uint64_t double_of(const char *text) {
  uint64_t bits = 0;
  assert_true(float_from_decimal(text, strlen(text), FLOAT_DOUBLE, &bits));
  return bits;
}

/* Texts as llvm-dis 19 prints the same bits. */
static void constants_read_like_llvm(void **state) {
  static const struct row rows[] = {
      {FLOAT_DOUBLE, 0, "0.000000e+00"},
      {FLOAT_DOUBLE, UINT64_C(0x8000000000000000), "-0.000000e+00"},
      {FLOAT_DOUBLE, UINT64_C(0x3FF0000000000000), "1.000000e+00"},
      {FLOAT_DOUBLE, UINT64_C(0xBFE0000000000000), "-5.000000e-01"},
      {FLOAT_DOUBLE, UINT64_C(0x3FB999999999999A), "1.000000e-01"},
      {FLOAT_DOUBLE, UINT64_C(0x4132D68700000000), "0x4132D68700000000"}, /* 1234567: 7 digits */
      {FLOAT_DOUBLE, UINT64_C(0x4132D68000000000), "1.234560e+06"},
      {FLOAT_DOUBLE, UINT64_C(0x3FE6666666666666), "0x3FE6666666666666"}, /* 0.7, cut to 6.99999 */
      {FLOAT_DOUBLE, UINT64_C(0x3FE3333333333333), "6.000000e-01"},
      {FLOAT_DOUBLE, UINT64_C(0x000730D67819E8D2), "0x730D67819E8D2"},
      {FLOAT_DOUBLE, UINT64_C(0x54B249AD2594C37D), "1.000000e+100"},
      {FLOAT_DOUBLE, 1, "4.940660e-324"},
      {FLOAT_DOUBLE, UINT64_C(0x7FF0000000000000), "0x7FF0000000000000"},
      {FLOAT_DOUBLE, UINT64_C(0x7FF8000000000000), "0x7FF8000000000000"},
      {FLOAT_SINGLE, 0x3F800000, "1.000000e+00"},
      {FLOAT_SINGLE, 0x3DCCCCCD, "0x3FB99999A0000000"}, /* 0.1f is no short double */
      {FLOAT_SINGLE, 0x80000000, "-0.000000e+00"},
      {FLOAT_SINGLE, 0x00000001, "0x36A0000000000000"},
      {FLOAT_SINGLE, 0x7F800001, "0x7FF0000020000000"}, /* signaling, and stays so */
      {FLOAT_SINGLE, 0x4A7FFFFF, "0x414FFFFFE0000000"},
      {FLOAT_HALF, 0x3C00, "0xH3C00"},
      {FLOAT_BFLOAT, 0xFF80, "0xRFF80"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_string_equal(constant(rows[i].format, rows[i].bits), rows[i].text);
}

static void shortest_text_of_each_format(void **state) {
  static const struct row rows[] = {
      {FLOAT_HALF, 0x2E66, "0.1"},
      {FLOAT_HALF, 0x0001, "6e-08"},
      {FLOAT_HALF, 0x7BFF, "65500.0"},
      {FLOAT_HALF, 0xFC00, "-inf"},
      {FLOAT_BFLOAT, 0x3DCD, "0.1"},
      {FLOAT_BFLOAT, 0x7F80, "inf"},
      {FLOAT_SINGLE, 0x3DCCCCCD, "0.1"},
      {FLOAT_SINGLE, 0x7F7FFFFF, "3.4028235e+38"},
      {FLOAT_SINGLE, 0x00000001, "1e-45"},
      {FLOAT_SINGLE, 0x4B800000, "16777216.0"},
      {FLOAT_SINGLE, 0xFFC00000, "nan"},
      {FLOAT_SINGLE, 0x80000000, "-0.0"},
      {FLOAT_DOUBLE, UINT64_C(0x3FD5555555555555), "0.3333333333333333"},
      {FLOAT_DOUBLE, UINT64_C(0x44B52D02C7E14AF6), "1e+23"}, /* not 9.999999999999999e+22 */
      {FLOAT_DOUBLE, UINT64_C(0x7FEFFFFFFFFFFFFF), "1.7976931348623157e+308"},
      {FLOAT_DOUBLE, 1, "5e-324"},
      {FLOAT_DOUBLE, UINT64_C(0x0010000000000000), "2.2250738585072014e-308"},
      {FLOAT_DOUBLE, UINT64_C(0x4059000000000000), "100.0"},
      {FLOAT_DOUBLE, UINT64_C(0x3EE4F8B588E368F1), "0.00001"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_string_equal(shortest(rows[i].format, rows[i].bits), rows[i].text);
}

static void scientific_rounds_to_nearest_even(void **state) {
  (void)state;
  assert_string_equal(scientific(double_of("1234567.5"), 6), "1.234568e+06");
  assert_string_equal(scientific(double_of("2.5"), 0), "2e+00");
  assert_string_equal(scientific(double_of("3.5"), 0), "4e+00");
  assert_string_equal(scientific(double_of("9.9999999"), 3), "1.000e+01");
  assert_string_equal(scientific(0, 2), "0.00e+00");
  assert_string_equal(scientific(UINT64_C(0xFFF0000000000000), 2), "-inf");
  assert_string_equal(scientific(double_of("0.1"), 20), "1.00000000000000005551e-01");
}

/* Every half and bfloat, and doubles and floats spread over the whole range. */
static void shortest_text_reads_back(void **state) {
  (void)state;
  uint64_t x = UINT64_C(0x9E3779B97F4A7C15), bits = 0;
  for (int i = 0; i < 4 * 65536; i++) {
    x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    enum float_format format = (enum float_format)(i & 3);
    bool small = format == FLOAT_HALF || format == FLOAT_BFLOAT;
    uint64_t number = small ? (uint64_t)i >> 2 : format == FLOAT_SINGLE ? x >> 32 : x;
    const char *text = shortest(format, number);
    if (strchr(text, 'n')) continue; /* inf, nan */
    uint64_t wide = float_print_widen(format, number);
    /* The text is read as a double, which must round to the number. */
    assert_true(float_from_decimal(text, strlen(text), FLOAT_DOUBLE, &bits));
    if (format == FLOAT_DOUBLE) assert_int_equal(bits, wide);
    else assert_int_equal(float_convert_bits(bits, FLOAT_DOUBLE, format, NULL), number);
  }
}

static void constants_read_back(void **state) {
  (void)state;
  uint64_t bits = 0;
  for (uint64_t i = 0; i < 100000; i++) {
    uint64_t number = float_print_widen(FLOAT_SINGLE, (uint32_t)(i * 2654435761u));
    const char *text = constant(FLOAT_DOUBLE, number);
    if (text[1] == 'x') continue;
    assert_true(float_from_decimal(text, strlen(text), FLOAT_DOUBLE, &bits));
    assert_int_equal(bits, number);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(constants_read_like_llvm, set_up, tear_down),
      cmocka_unit_test_setup_teardown(shortest_text_of_each_format, set_up, tear_down),
      cmocka_unit_test_setup_teardown(scientific_rounds_to_nearest_even, set_up, tear_down),
      cmocka_unit_test_setup_teardown(shortest_text_reads_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(constants_read_back, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
