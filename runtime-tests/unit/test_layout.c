/* Triples and data layouts: reading, messages, the link-time check. */
#include "target/datalayout.h"
#include "target/options.h"
#include "target/triple.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* What LLVM's tools write; clang 14 and 19 print the first two (measured). */
static const char llvm_64[] = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64";
static const char llvm_32[] = "e-p:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64";
static const char llvm_21[] = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";
static const char llvm_short[] =
    "e-p3:32:32-p4:32:32-p5:32:32-i64:64-i128:128-v16:16-v32:32-n16:32:64";
static const char llvm_22_short[] =
    "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-p101:32:32-i64:64-i128:128-i256:256-v16:16-v32:"
    "32-n16:32:64";
static const char link_form[] = "e-i64:64-v16:16-v32:32-n16:32:64";

static struct nvm_layout layout_of(const char *text) {
  struct nvm_layout layout;
  struct datalayout_error error;
  if (datalayout_parse(&layout, text, strlen(text), &error) != DATALAYOUT_OK)
    fail_msg("%s: item at %zu", text, error.begin);
  return layout;
}

/* ---- triples ---- */

static enum triple_status parse(struct triple *t, enum triple_rule rule, const char *text) {
  return triple_parse(t, rule, text, strlen(text));
}

static void the_eight_triples_are_read(void **state) {
  static const struct triple meaning[TRIPLE_COUNT] = {
      {TRIPLE_NVPTX, TRIPLE_CUDA, 32},    {TRIPLE_NVPTX, TRIPLE_CUDA, 64},
      {TRIPLE_NVPTX, TRIPLE_NVCL, 32},    {TRIPLE_NVPTX, TRIPLE_NVCL, 64},
      {TRIPLE_NVSASS, TRIPLE_CUDA, 0},    {TRIPLE_NVSASS, TRIPLE_NVCL, 0},
      {TRIPLE_NVSASS, TRIPLE_DIRECTX, 0}, {TRIPLE_NVSASS, TRIPLE_SPIRV, 0},
  };
  (void)state;
  for (int i = 0; i < TRIPLE_COUNT; i++) {
    struct triple t;
    assert_int_equal(parse(&t, TRIPLE_UNIFIED, triple_name(i)), TRIPLE_OK);
    assert_int_equal(t.machine, meaning[i].machine);
    assert_int_equal(t.runtime, meaning[i].runtime);
    assert_int_equal(t.pointer_bits, meaning[i].pointer_bits);
    assert_int_equal(parse(&t, TRIPLE_ANY, triple_name(i)), TRIPLE_OK);
  }
}

/* Columns: any, unified, loose. */
static void each_rule_accepts_its_triples(void **state) {
  static const struct {
    const char *text;
    bool accepted[3];
  } rows[] = {
      {"nvptx64-nvidia-cuda", {true, true, true}},
      {"nvptx64-nvidia-nvcl", {true, true, false}},
      {"nvptx64-unknown-cuda", {true, false, true}},
      {"nvptx--cuda", {true, false, true}},
      {"nvptx64-nvidia-cuda-x", {true, false, true}},
      {"nvptx64-unknown-unknown", {true, false, false}},
      {"nvptx64--nvidiacl", {true, false, false}},
      {"nvptx64", {true, false, false}},
      {"nvsass-nvidia-cuda", {true, true, false}},
      {"nvsass-nvidia-vulkan", {false, false, false}},
      {"nvptx32-nvidia-cuda", {false, false, false}},
      {"nvptx64x-nvidia-cuda", {false, false, false}},
      {"x86_64-unknown-linux-gnu", {false, false, false}},
      {"amdgcn-amd-cuda", {false, false, false}},
      {"nvptx64-nvidia-cud", {true, false, false}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int rule = 0; rule < 3; rule++) {
      struct triple t;
      if ((parse(&t, (enum triple_rule)rule, rows[i].text) == TRIPLE_OK) != rows[i].accepted[rule])
        fail_msg("%s by rule %d", rows[i].text, rule);
    }
}

static void a_wrong_triple_is_named(void **state) {
  (void)state;
  char text[300];
  triple_describe(TRIPLE_EMPTY, TRIPLE_ANY, "", 0, text, sizeof text);
  assert_string_equal(text, "Empty target triple, must exist");
  triple_describe(TRIPLE_INVALID, TRIPLE_LOOSE, "x86_64", 6, text, sizeof text);
  assert_string_equal(
      text, "Invalid target triple (x86_64), expected nvptx-...-cuda or nvptx64-...-cuda");
  triple_describe(TRIPLE_INVALID, TRIPLE_UNIFIED, "x86_64", 6, text, sizeof text);
  assert_non_null(strstr(text, "expected one of nvptx-nvidia-cuda, nvptx64-nvidia-cuda, "));
}

/* ---- layouts ---- */

static void assert_int_aligns(const struct nvm_layout *l, const int log2_bytes[8]) {
  for (int k = 0; k < 8; k++) assert_int_equal(l->int_align_log2[k], log2_bytes[k]);
}

static void the_three_variants_are_read(void **state) {
  /* i1 i2 i4 i8 i16 i32 i64 i128, log2 of bytes */
  static const int natural[8] = {0, 0, 0, 0, 1, 2, 3, 4};
  static const struct {
    enum datalayout_variant variant;
    int generic, shared;
  } rows[] = {
      {DATALAYOUT_64, 64, 64}, {DATALAYOUT_64_SHORT_SHARED, 64, 32}, {DATALAYOUT_32, 32, 32}};
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct nvm_layout l = layout_of(datalayout_text(rows[i].variant));
    assert_int_aligns(&l, natural);
    for (int space = 0; space < LAYOUT_ADDRESS_SPACES; space++)
      assert_int_equal(l.pointer_bits[space], space == 3 ? rows[i].shared : rows[i].generic);
    assert_int_equal(l.float_align_log2[4], 1);
    assert_int_equal(l.float_align_log2[5], 2);
    assert_int_equal(l.float_align_log2[6], 3);
    assert_int_equal(l.vector_align_log2[4], 1);    /* v16:16 */
    assert_int_equal(l.vector_align_log2[5], 2);    /* v32:32 */
    assert_int_equal(l.vector_align_log2[7], 0xff); /* natural */
  }
}

static void llvms_short_forms_mean_the_same(void **state) {
  char why[200];
  (void)state;
  const char *wide = datalayout_text(DATALAYOUT_64), *narrow = datalayout_text(DATALAYOUT_32);
  assert_true(datalayout_compatible(llvm_64, strlen(llvm_64), wide, strlen(wide), why, sizeof why));
  assert_true(
      datalayout_compatible(llvm_32, strlen(llvm_32), narrow, strlen(narrow), why, sizeof why));
  assert_int_equal(layout_of(llvm_21).pointer_bits[6], 32);
  assert_int_equal(layout_of(llvm_21).pointer_bits[0], 64);
  struct nvm_layout s = layout_of(llvm_short);
  static const uint8_t bits[LAYOUT_POINTERS] = {64, 64, 64, 32, 32, 32, 64, 64, 64};
  assert_memory_equal(s.pointer_bits, bits, sizeof bits);
  s = layout_of(llvm_22_short);
  assert_int_equal(layout_pointer_bits(&s, 101), 32);
  assert_int_equal(layout_pointer_bits(&s, 100), 64);
}

/* i128 without an entry is aligned as the largest integer given; i64 defaults to 4 bytes. */
static void absent_entries_have_langrefs_defaults(void **state) {
  static const int no_i128[8] = {0, 0, 0, 0, 1, 2, 3, 3}, bare[8] = {0, 0, 0, 0, 1, 2, 2, 2};
  static const int odd[8] = {1, 1, 1, 1, 1, 2, 2, 2};
  (void)state;
  struct nvm_layout l = layout_of(link_form);
  assert_int_aligns(&l, no_i128);
  l = layout_of("e");
  assert_int_aligns(&l, bare);
  assert_int_equal(l.pointer_bits[0], 64);
  l = layout_of("e-i1:16-i8:16:32");
  assert_int_aligns(&l, odd);
  l = layout_of("e-m:e-S128-a:0:64-A0-G0-P0-ni:7-n8:16:32:64-f128:128-v4096:64-p1:64:64:64:64");
  assert_int_aligns(&l, bare);
}

static void assert_bad(const char *text, enum datalayout_status status, size_t begin,
                       size_t length) {
  struct nvm_layout layout = {.pointer_bits = {7}};
  struct datalayout_error error;
  if (datalayout_parse(&layout, text, strlen(text), &error) != status) fail_msg("%s", text);
  assert_int_equal(error.status, status);
  assert_int_equal(error.begin, begin);
  assert_int_equal(error.length, length);
  assert_int_equal(layout.pointer_bits[0], 7);
}

static void wrong_items_are_pointed_at(void **state) {
  (void)state;
  assert_bad("", DATALAYOUT_EMPTY, 0, 0);
  assert_bad("E-i64:64", DATALAYOUT_UNSUPPORTED, 0, 1);
  assert_bad("e-p:16:16", DATALAYOUT_UNSUPPORTED, 2, 7);
  assert_bad("e-p3:32:64", DATALAYOUT_UNSUPPORTED, 2, 8);
  assert_bad("e-p8:32:32", DATALAYOUT_UNSUPPORTED, 2, 8);
  assert_bad("e-i64:48", DATALAYOUT_UNSUPPORTED, 2, 6);
  assert_bad("e-A5", DATALAYOUT_UNSUPPORTED, 2, 2);
  assert_bad("e-i64", DATALAYOUT_SYNTAX, 2, 3);
  assert_bad("e-i64:", DATALAYOUT_SYNTAX, 2, 4);
  assert_bad("e-i64:64:64:64", DATALAYOUT_SYNTAX, 2, 12);
  assert_bad("e-x64:64", DATALAYOUT_SYNTAX, 2, 6);
  assert_bad("e--i64:64", DATALAYOUT_SYNTAX, 2, 0);
  assert_bad("e-", DATALAYOUT_SYNTAX, 2, 0);
  assert_bad("-", DATALAYOUT_SYNTAX, 0, 0);
  assert_bad("e-i99999999999:64", DATALAYOUT_SYNTAX, 2, 15);
  assert_bad("e-n1:2:3:4:5:6:7:8:9", DATALAYOUT_SYNTAX, 2, 18);
  assert_bad("e-i64:64 ", DATALAYOUT_SYNTAX, 2, 7);
}

static void messages_are_those_of_seed_1(void **state) {
  (void)state;
  char text[600];
  struct nvm_layout layout;
  struct datalayout_error error;
  datalayout_parse(&layout, "", 0, &error);
  datalayout_describe(&error, "", text, sizeof text);
  assert_string_equal(text, "Empty target data layout, must exist");
  datalayout_parse(&layout, "e-q:1", 5, &error);
  datalayout_describe(&error, "e-q:1", text, sizeof text);
  assert_string_equal(
      text,
      "Invalid target data layout: cannot parse 'q:1'\n"
      "Example valid data layout:\n"
      "32-bit: e-p:32:32:32-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f16:16:16-"
      "f32:32:32-f64:64:64-v16:16:16-v32:32:32-n16:32:64\n"
      "64-bit: e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f16:16:16-"
      "f32:32:32-f64:64:64-v16:16:16-v32:32:32-n16:32:64");
}

static void link_check(void **state) {
  static const struct {
    const char *a, *b, *why; /* why: NULL where they may be linked */
  } rows[] = {
      {llvm_64, llvm_64, NULL},
      {link_form, llvm_64, NULL}, /* libdevice into a module of clang 19 */
      {llvm_short, link_form, NULL},
      {link_form, llvm_32, "pointers of address space 0 have 64 bits in one and 32 in the other"},
      {llvm_short, llvm_64, "pointers of address space 3 have 32 bits in one and 64 in the other"},
      {"e-i64:64-v16:16-v32:32", llvm_64,
       "integers of bits 128 are aligned to 64 bits in one and 128 in the other"},
      {"e-i64:64-i128:128-v64:32", llvm_64,
       "vectors of bits 64 are aligned to 32 bits in one and 64 in the other"},
      {"e-q", llvm_64, "invalid data layout"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char why[200];
    bool may = datalayout_compatible(rows[i].a, strlen(rows[i].a), rows[i].b, strlen(rows[i].b),
                                     why, sizeof why);
    assert_int_equal(may, rows[i].why == NULL);
    assert_string_equal(why, rows[i].why ? rows[i].why : "");
  }
}

static void a_layout_must_agree_with_the_target(void **state) {
  (void)state;
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  char why[200];
  assert_int_equal(tgt_set_cpu(&options, "sm_90", 5, NULL), TGT_OK);
  assert_int_equal(tgt_init(&target, &options, NULL), TGT_OK);
  struct nvm_layout wide = layout_of(llvm_64), shared = layout_of(llvm_short);
  struct nvm_layout narrow = layout_of(llvm_32);
  assert_true(datalayout_agrees(&wide, &target, why, sizeof why));
  assert_false(datalayout_agrees(&shared, &target, why, sizeof why));
  assert_string_equal(why, "pointers of address space 3 have 32 bits in one and 64 in the other");
  assert_false(datalayout_agrees(&narrow, &target, why, sizeof why));
  assert_int_equal(tgt_parse_features(&options, "+sharedmem32bitptr", 18, NULL), TGT_OK);
  assert_int_equal(tgt_init(&target, &options, NULL), TGT_OK);
  assert_true(datalayout_agrees(&shared, &target, why, sizeof why));
  assert_false(datalayout_agrees(&wide, &target, why, sizeof why));
  options.pointer_bits = 32;
  assert_int_equal(tgt_init(&target, &options, NULL), TGT_OK);
  assert_true(datalayout_agrees(&narrow, &target, why, sizeof why));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_eight_triples_are_read),
      cmocka_unit_test(each_rule_accepts_its_triples),
      cmocka_unit_test(a_wrong_triple_is_named),
      cmocka_unit_test(the_three_variants_are_read),
      cmocka_unit_test(llvms_short_forms_mean_the_same),
      cmocka_unit_test(absent_entries_have_langrefs_defaults),
      cmocka_unit_test(wrong_items_are_pointed_at),
      cmocka_unit_test(messages_are_those_of_seed_1),
      cmocka_unit_test(link_check),
      cmocka_unit_test(a_layout_must_agree_with_the_target),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
