/* frontend/bitcode/bcattrs.c, bcattrs_text.c: attributes that LLVM stores as numbers, in the
 * layouts of several versions; lists of groups. */
#include "bitcode_fixture.h"

/* Writes a function of one parameter with an attribute: its place (all ones: the function), how it
 * is stored, its kind, its numbers. `producer` NULL: none is named. */
static void read_attribute(struct result *x, const char *producer, const uint64_t *group,
                           uint32_t count) {
  struct writer w = {.at = 0};
  put(&w, 0xDEC04342, 32);
  if (producer) {
    uint64_t identification = open_block(&w, 2, 13, WIDTH);
    put_text(&w, 1, producer);
    close_inner(&w, identification);
  }
  uint64_t module = open_block(&w, 2, 8, WIDTH), at = open_types(&w), numbers[16] = {1};
  RECORD(&w, 8, 0);        /* 3: i32* */
  RECORD(&w, 21, 0, 1, 3); /* 4: void (i32*) */
  close_inner(&w, at);
  memcpy(numbers + 1, group, count * sizeof *group);
  at = open_inner(&w, 10);
  put_record(&w, WIDTH, 3, numbers, count + 1);
  close_inner(&w, at);
  at = open_inner(&w, 9);
  RECORD(&w, 2, 1);
  close_inner(&w, at);
  RECORD(&w, 8, 4, 0, 1, 0, 1, 0, 0, 0);
  close_block(&w, module, WIDTH);
  read_stream(x, &w);
}

#define ATTRIBUTE_BY(x, producer, ...)                         \
  read_attribute(x, producer, (const uint64_t[]){__VA_ARGS__}, \
                 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
#define ATTRIBUTE(x, ...) ATTRIBUTE_BY(x, "LLVM22.1.0", __VA_ARGS__)

enum { THE_FUNCTION = UINT32_MAX, STORED_INT = 1, STORED_RANGE = 7 };
enum { KIND_MEMORY = 86, KIND_RANGE = 92, KIND_NOFPCLASS = 87, KIND_DENORMALS = 106 };

/* Two bits a location. LLVM 21 did not write those of target memory; LLVM 16 had none for errno. */
static void memory_of_all_versions(void **state) {
  (void)state;
  static const struct {
    const char *producer;
    uint64_t number;
    const char *text; /* NULL: refused */
  } cases[] = {
      {"LLVM22.1.0", UINT64_C(1) << 56 | 2 << 8, "memory(target_mem0: write)"},
      {"LLVM22.1.0", UINT64_C(1) << 56 | 3 << 10 | 1,
       "memory(argmem: read, target_mem1: readwrite)"},
      {"LLVM22.1.0", UINT64_C(1) << 56 | 0x55,
       "memory(read, target_mem0: none, target_mem1: none)"},
      {"LLVM22.1.0", UINT64_C(1) << 56 | 0x555, "memory(read)"},
      {"LLVM21.1.0", UINT64_C(1) << 56 | 0x55, "memory(read)"},
      {"another one", UINT64_C(1) << 56 | 0x55, "memory(read)"},
      {"LLVM19.1.0", 0x15, "memory(read)"},
      {"LLVM19.1.0", 0x14, "memory(read, argmem: none)"},
      {"LLVM19.1.0", 0, "memory(none)"},
      {"LLVM19.1.0", 0x40, NULL},
      {"LLVM22.1.0", UINT64_C(1) << 56 | 1 << 12, NULL},
      {"LLVM30.1.0", UINT64_C(2) << 56, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct result x;
    ATTRIBUTE_BY(&x, cases[i].producer, THE_FUNCTION, STORED_INT, KIND_MEMORY, cases[i].number);
    assert_string_equal(x.message, cases[i].text ? "" : "unsupported in bitcode: memory");
    if (!cases[i].text) continue;
    char line[100];
    snprintf(line, sizeof line, "{ %s }", cases[i].text);
    assert_non_null(strstr(x.text, line));
  }
}

static void denormals(void **state) {
  (void)state;
  static const char *const texts[][2] = {
      {"\x01", "denormal_fpenv(preservesign|ieee, float: ieee)"},
      {"\x55", "denormal_fpenv(preservesign)"},
      {"\x50", "denormal_fpenv(float: preservesign)"},
      {"\xe5", "denormal_fpenv(preservesign, float: positivezero|dynamic)"},
  };
  struct result x;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    ATTRIBUTE(&x, THE_FUNCTION, STORED_INT, KIND_DENORMALS, (unsigned char)texts[i][0][0]);
    assert_string_equal(x.message, "");
    assert_non_null(strstr(x.text, texts[i][1]));
  }
  ATTRIBUTE(&x, THE_FUNCTION, STORED_INT, KIND_DENORMALS, 0x100);
  assert_string_equal(x.message, "unsupported in bitcode: denormal_fpenv");
  ATTRIBUTE(&x, 1, STORED_INT, KIND_NOFPCLASS, 0x400);
  assert_string_equal(x.message, "unsupported in bitcode: nofpclass");
}

/* Bounds of more than 64 bits are several words, whose numbers come first. */
static void ranges_of_all_widths(void **state) {
  (void)state;
  const uint64_t both = UINT64_C(2) << 32 | 2, high = UINT64_C(2) << 32 | 1;
  struct result x;
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 8, 1, 14); /* 1: INT64_MIN, beyond its width */
  assert_non_null(strstr(x.text, "range(i8 0, 7)"));
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 8, 257, 14);
  assert_non_null(strstr(x.text, "range(i8 -128, 7)"));
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 128, high, 0, 0, 2);
  assert_non_null(strstr(x.text, "range(i128 0, 18446744073709551616)"));
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 128, both, 11, 3, 3, 0);
  assert_non_null(strstr(x.text, "range(i128 -5, 18446744073709551615)"));
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 128, both, 11, 3, 3);
  assert_string_equal(x.message, "invalid bitcode: a range of an attribute is malformed");
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 128, UINT64_C(1) << 32, 0);
  assert_string_equal(x.message, "invalid bitcode: a range of an attribute is malformed");
  ATTRIBUTE(&x, 1, STORED_RANGE, KIND_RANGE, 4096, high, 0, 0, 2);
  assert_string_equal(x.message, "invalid bitcode: a range of an attribute is malformed");
}

/* A list for functions of one and of two parameters; groups of the same index; one of a parameter
 * that is not there. */
static void attribute_lists(void **state) {
  (void)state;
  enum { NOALIAS = 9, NONNULL = 39 };
  for (uint64_t parameter = 1; parameter < 3; parameter++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_types(&w);
    RECORD(&w, 8, 0);           /* 3: i32* */
    RECORD(&w, 21, 0, 1, 3);    /* 4: void (i32*) */
    RECORD(&w, 21, 0, 1, 3, 3); /* 5: void (i32*, i32*) */
    close_inner(&w, at);
    at = open_inner(&w, 10);
    RECORD(&w, 3, 1, parameter, 0, NOALIAS);
    RECORD(&w, 3, 2, parameter, 0, NONNULL);
    close_inner(&w, at);
    at = open_inner(&w, 9);
    RECORD(&w, 2, 1, 2, 1);
    close_inner(&w, at);
    for (uint64_t i = 0; i < 4; i++) RECORD(&w, 8, 5 - i % 2, 0, 1, 0, 1, 0, 0, 0);
    const struct result *x = read_module(&w, module);
    assert_string_equal(
        x->message, parameter == 1 ? "" : "invalid bitcode: an attribute after the last parameter");
    if (parameter == 1)
      assert_non_null(strstr(x->text,
                             "declare void @2(ptr noalias, ptr)\n\n"
                             "declare void @3(ptr noalias)"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_of_all_versions),
      cmocka_unit_test(denormals),
      cmocka_unit_test(ranges_of_all_widths),
      cmocka_unit_test(attribute_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
