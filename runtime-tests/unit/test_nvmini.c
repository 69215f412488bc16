/* The public API: options in both spellings, diagnostics with ranges, memory limit, an allocator
 * that fails at the n-th call. */
#include "nvmini.h"
#include "runtime-tests/unit/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char good[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
    "  store i32 1, ptr addrspace(1) %p, align 4\n"
    "  ret void\n"
    "}\n";

/* What the callback saw. */
struct seen {
  int count, errors, warnings;
  char id[64];       /* of the first */
  char message[256]; /* of the first */
  unsigned line, column;
  uint64_t begin, end;
};

static void report(void *user, const struct nvmini_diagnostic *d) {
  struct seen *s = user;
  s->errors += d->severity == NVMINI_ERROR;
  s->warnings += d->severity == NVMINI_WARNING;
  if (s->count++ > 0) return;
  strncpy(s->id, d->id, sizeof s->id - 1);
  size_t n = d->message.length < sizeof s->message - 1 ? d->message.length : sizeof s->message - 1;
  memcpy(s->message, d->message.bytes, n);
  s->line = d->line;
  s->column = d->column;
  s->begin = d->begin;
  s->end = d->end;
}

static struct nvmini_context *make(struct seen *seen) {
  struct nvmini_context *c = nvmini_create(NULL, 0);
  assert_non_null(c);
  *seen = (struct seen){0};
  nvmini_on_diagnostic(c, report, seen);
  return c;
}

static struct nvmini_module *parse(struct nvmini_context *c, const char *text) {
  struct nvmini_module *m;
  assert_int_equal(nvmini_parse(c, text, strlen(text), "t", &m), NVMINI_OK);
  return m;
}

static void test_compile(void **state) {
  (void)state;
  struct seen seen;
  struct nvmini_context *c = make(&seen);
  assert_int_equal(nvmini_set_option(c, "--cpu=sm_90a"), NVMINI_OK);
  struct nvmini_module *m = parse(c, good);
  struct nvmini_text ptx;
  assert_int_equal(nvmini_check(m), NVMINI_OK);
  assert_int_equal(nvmini_compile(m, &ptx), NVMINI_OK);
  assert_non_null(strstr(ptx.bytes, ".target sm_90a"));
  assert_non_null(strstr(ptx.bytes, ".visible .entry k("));
  assert_int_equal(ptx.bytes[ptx.length], 0);
  assert_int_equal(seen.count, 0);
  nvmini_release(m);
  nvmini_destroy(c);
}

static const char undefined[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "declare void @__nv_nothing()\n"
    "define ptx_kernel void @k() {\n"
    "  call void @__nv_nothing()\n"
    "  ret void\n"
    "}\n";

/* Compiles `undefined` with an option; what is seen, and whether there is a text. */
static struct seen compile_undefined(const char *option, enum nvmini_status expected) {
  struct seen seen;
  struct nvmini_context *c = make(&seen);
  assert_int_equal(nvmini_set_option(c, "--cpu=sm_90a"), NVMINI_OK);
  if (option) assert_int_equal(nvmini_set_option(c, option), NVMINI_OK);
  struct nvmini_module *m = parse(c, undefined);
  struct nvmini_text ptx;
  assert_int_equal(nvmini_compile(m, &ptx), expected);
  assert_int_equal(ptx.bytes != NULL, expected == NVMINI_OK);
  nvmini_release(m);
  nvmini_destroy(c);
  return seen;
}

static void test_warnings(void **state) {
  (void)state;
  struct seen seen = compile_undefined(NULL, NVMINI_OK);
  assert_int_equal(seen.warnings, 1);
  assert_int_equal(seen.errors, 0);
  assert_string_equal(seen.id, "undefined-function");
  assert_string_equal(seen.message, "function '__nv_nothing' is called but not defined");
  assert_int_equal(seen.line, 4);
  assert_int_equal(seen.column, 3);
  assert_int_equal(compile_undefined("-Wno-undefined-function", NVMINI_OK).count, 0);
  assert_int_equal(compile_undefined("-Wno-error=undefined-function", NVMINI_OK).warnings, 1);
  static const char *const errors[] = {"-Werror", "--warnings-as-errors",
                                       "-Werror=undefined-function"};
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    seen = compile_undefined(errors[i], NVMINI_REFUSED);
    assert_int_equal(seen.errors, 1);
    assert_int_equal(seen.warnings, 0);
  }
}

/* Both spellings lead to the same text. */
static void test_spellings(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"--cpu=sm_90a", "-arch=compute_90a"},
      {"--ftz", "-ftz=1"},
      {"--fma-level=0", "-fma=0"},
      {"--prec-sqrt=0", "-prec-sqrt=0"},
  };
  char *texts[2];
  for (int way = 0; way < 2; way++) {
    struct seen seen;
    struct nvmini_context *c = make(&seen);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
      assert_int_equal(nvmini_set_option(c, pairs[i][way]), NVMINI_OK);
    struct nvmini_module *m = parse(c, good);
    struct nvmini_text ptx;
    assert_int_equal(nvmini_compile(m, &ptx), NVMINI_OK);
    texts[way] = strdup(ptx.bytes);
    nvmini_release(m);
    nvmini_destroy(c);
  }
  assert_string_equal(texts[0], texts[1]);
  free(texts[0]);
  free(texts[1]);
}

static void test_wrong_options(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"--cpu=sm_95", "sm_9"},
      {"--cpu", "needs a value"},
      {"--ftz=1", "takes no value"},
      {"--fma-level=3", "not one of 0|1|2"},
      {"--features=ftz", "ftz"},
      {"--nonsense", "nonsense"},
      {"-opt=9", "-opt=9"},
      {"--error-limit=x", "number"},
      {"-Wnonsense", "unknown warning 'nonsense'"},
      {"-Wno-syntax", "unknown warning 'syntax'"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct seen seen;
    struct nvmini_context *c = make(&seen);
    assert_int_equal(nvmini_set_option(c, rows[i][0]), NVMINI_BAD_OPTION);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.id, "bad-option");
    if (strstr(seen.message, rows[i][1]) == NULL) fail_msg("%s: %s", rows[i][0], seen.message);
    nvmini_destroy(c);
  }
}

static void test_no_cpu(void **state) {
  (void)state;
  struct seen seen;
  struct nvmini_context *c = make(&seen);
  struct nvmini_module *m = parse(c, good);
  struct nvmini_text ptx;
  assert_int_equal(nvmini_compile(m, &ptx), NVMINI_BAD_OPTION);
  assert_int_equal(seen.errors, 1);
  nvmini_release(m);
  nvmini_destroy(c);
}

/* The range of a diagnostic is that of the word in the caller's text. */
static void test_ranges(void **state) {
  (void)state;
  static const char bad[] = "define void @f() {\n  %a = add i32 1, %missing\n  ret void\n}\n";
  struct seen seen;
  struct nvmini_context *c = make(&seen);
  struct nvmini_module *m;
  assert_int_equal(nvmini_parse(c, bad, strlen(bad), "t", &m), NVMINI_REFUSED);
  assert_null(m);
  assert_true(seen.errors >= 1);
  assert_int_equal(seen.line, 2);
  assert_int_equal(seen.begin, strstr(bad, "%missing") - bad);
  assert_int_equal(seen.end - seen.begin, strlen("%missing"));
  assert_int_equal(seen.column, 19);
  nvmini_destroy(c);
}

static void test_error_limit(void **state) {
  (void)state;
  char bad[4096] = "define void @f() {\n";
  for (int i = 0; i < 50; i++)
    sprintf(bad + strlen(bad), "  %%a%d = add i32 1, %%missing%d\n", i, i);
  strcat(bad, "  ret void\n}\n");
  struct seen seen;
  struct nvmini_context *c = make(&seen);
  assert_int_equal(nvmini_set_option(c, "--error-limit=3"), NVMINI_OK);
  struct nvmini_module *m;
  assert_int_equal(nvmini_parse(c, bad, strlen(bad), "t", &m), NVMINI_REFUSED);
  assert_int_equal(seen.errors, 3);
  assert_int_equal(seen.count, 4); /* and a note that there are more */
  nvmini_destroy(c);
}

static void test_print_is_a_fixed_point(void **state) {
  (void)state;
  struct seen seen;
  struct nvmini_context *c = make(&seen);
  struct nvmini_module *m = parse(c, good);
  struct nvmini_text once, twice;
  assert_int_equal(nvmini_print(m, &once), NVMINI_OK);
  struct nvmini_module *again = parse(c, once.bytes);
  assert_int_equal(nvmini_print(again, &twice), NVMINI_OK);
  assert_string_equal(once.bytes, twice.bytes);
  nvmini_release(again);
  nvmini_release(m);
  nvmini_destroy(c);
}

static void test_memory_limit(void **state) {
  (void)state;
  struct seen seen = {0};
  struct nvmini_context *c = nvmini_create(NULL, 100000);
  assert_non_null(c);
  nvmini_on_diagnostic(c, report, &seen);
  char *big = malloc(400000);
  assert_non_null(big);
  strcpy(big, good);
  size_t length = strlen(big);
  for (int i = 0; length < 390000; i++)
    length += (size_t)snprintf(big + length, 100, "@g%d = global i32 %d\n", i, i);
  struct nvmini_module *m;
  assert_int_equal(nvmini_parse(c, big, length, "t", &m), NVMINI_OUT_OF_MEMORY);
  assert_null(m);
  assert_string_equal(seen.id, "out-of-memory");
  assert_true(nvmini_memory_peak(c) <= 100000);
  m = parse(c, "@g = global i32 1\n"); /* the context is as good as before */
  nvmini_release(m);
  nvmini_destroy(c);
  free(big);
}

/* Compiles with the allocator; whether that went to the end. */
static bool compile_with(const struct nvmini_allocator *a, const char *text) {
  struct nvmini_context *c = nvmini_create(a, 0);
  if (c == NULL) return false;
  struct nvmini_module *m = NULL;
  struct nvmini_text ptx;
  enum nvmini_status status = nvmini_set_option(c, "--cpu=sm_80");
  if (status == NVMINI_OK) status = nvmini_parse(c, text, strlen(text), "t", &m);
  if (status == NVMINI_OK) status = nvmini_compile(m, &ptx);
  if (status != NVMINI_OK) assert_int_equal(status, NVMINI_OUT_OF_MEMORY);
  nvmini_release(m);
  nvmini_destroy(c);
  return status == NVMINI_OK;
}

/* Something for every part: globals, calls, a loop to vectorize, vectors, intrinsics, metadata. */
static const char rich[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@table = internal addrspace(4) constant [4 x float] [float 1.0, float 2.0, float 4.0, float "
    "8.0]\n"
    "@at = global ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 "
    "4)\n"
    "define internal float @of(i32 %k) {\n"
    "  %i = and i32 %k, 3\n"
    "  %p = getelementptr [4 x float], ptr addrspace(4) @table, i32 0, i32 %i\n"
    "  %v = load float, ptr addrspace(4) %p\n"
    "  ret float %v\n"
    "}\n"
    "define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) {\n"
    "entry:\n"
    "  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
    "  %f = call float @of(i32 %lane)\n"
    "  switch i32 %lane, label %loop [ i32 0, label %done i32 5, label %done ]\n"
    "loop:\n"
    "  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
    "  %pa = getelementptr inbounds float, ptr addrspace(1) %a, i32 %i\n"
    "  %pb = getelementptr inbounds float, ptr addrspace(1) %b, i32 %i\n"
    "  %v = load float, ptr addrspace(1) %pa\n"
    "  %w = fmul float %v, %f\n"
    "  store float %w, ptr addrspace(1) %pb\n"
    "  %next = add nuw nsw i32 %i, 1\n"
    "  %more = icmp slt i32 %next, %n\n"
    "  br i1 %more, label %loop, label %done, !llvm.loop !0\n"
    "done:\n"
    "  %x = load <4 x i16>, ptr addrspace(1) %a\n"
    "  %y = insertelement <4 x i16> %x, i16 7, i32 %lane\n"
    "  %z = shufflevector <4 x i16> %y, <4 x i16> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>\n"
    "  store <4 x i16> %z, ptr addrspace(1) %b\n"
    "  ret void\n"
    "}\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
    "!0 = distinct !{!0, !1}\n"
    "!1 = !{!\"llvm.loop.vectorize.enable\", i1 true}\n";

/* Pairs of conditions that fail to one place, in a loop. */
static const char conditions[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(i32 %n, ptr %o) {\n"
    "entry:\n"
    "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  br label %loop\n"
    "loop:\n"
    "  %i = phi i32 [ 0, %entry ], [ %next, %join ]\n"
    "  %a = icmp slt i32 %i, %t\n"
    "  br i1 %a, label %first, label %join\n"
    "first:\n"
    "  %moved = add nsw i32 %i, %n\n"
    "  %b = icmp slt i32 %moved, 3\n"
    "  br i1 %b, label %second, label %join\n"
    "second:\n"
    "  store i32 5, ptr %o\n"
    "  %c = icmp slt i32 %i, 9\n"
    "  br i1 %c, label %third, label %join\n"
    "third:\n"
    "  %d = icmp slt i32 %i, 19\n"
    "  br i1 %d, label %fourth, label %join\n"
    "fourth:\n"
    "  store i32 7, ptr %o\n"
    "  br label %join\n"
    "join:\n"
    "  %next = add i32 %i, 1\n"
    "  store i32 %i, ptr %o\n"
    "  %more = icmp slt i32 %next, 33\n"
    "  br i1 %more, label %loop, label %done\n"
    "done:\n"
    "  ret void\n"
    "}\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n";

/* Functions of the built-in mathematics library: one that asks __nvvm_reflect, and an intrinsic
 * that becomes a call of one. */
static const char mathematics[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "declare i32 @__nv_float2int_ru(float)\n"
    "declare double @llvm.exp.f64(double)\n"
    "define ptx_kernel void @k(ptr %p, float %x, double %y) {\n"
    "  %i = call i32 @__nv_float2int_ru(float %x)\n"
    "  store i32 %i, ptr %p\n"
    "  %e = call double @llvm.exp.f64(double %y)\n"
    "  store double %e, ptr %p\n"
    "  ret void\n"
    "}\n";

static void fail_everywhere(const char *text) {
  bool done = false;
  for (long n = 0; !done; n++) {
    struct failing f = {n, 0};
    struct nvmini_allocator a = {failing_resize, &f};
    done = compile_with(&a, text);
    assert_int_equal(f.held, 0);
    assert_true(n < 100000);
  }
}

static void test_failing_allocator(void **state) {
  (void)state;
  fail_everywhere(good);
  fail_everywhere(rich);
  fail_everywhere(conditions);
  fail_everywhere(mathematics);
}

/* nvmini_compile() and nvmini_optimize() link the built-in functions, unless an option says no. */
static void test_mathematics(void **state) {
  (void)state;
  struct seen seen;
  struct nvmini_text text;
  for (int way = 0; way < 3; way++) {
    struct nvmini_context *c = make(&seen);
    assert_int_equal(nvmini_set_option(c, "--cpu=sm_90a"), NVMINI_OK);
    if (way == 2) assert_int_equal(nvmini_set_option(c, "--mathlib=off"), NVMINI_OK);
    struct nvmini_module *m = parse(c, mathematics);
    if (way == 2) {
      assert_int_equal(nvmini_compile(m, &text), NVMINI_REFUSED);
      assert_int_equal(seen.errors, 1);
    } else {
      if (way == 0) assert_int_equal(nvmini_compile(m, &text), NVMINI_OK);
      else assert_int_equal(nvmini_optimize(m), NVMINI_OK);
      if (way == 1) assert_int_equal(nvmini_print(m, &text), NVMINI_OK);
      assert_int_equal(seen.count, 0);
      assert_null(strstr(text.bytes, "__nv_"));
    }
    nvmini_release(m);
    nvmini_destroy(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_compile),       cmocka_unit_test(test_spellings),
      cmocka_unit_test(test_wrong_options), cmocka_unit_test(test_no_cpu),
      cmocka_unit_test(test_warnings),      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_error_limit),   cmocka_unit_test(test_print_is_a_fixed_point),
      cmocka_unit_test(test_memory_limit),  cmocka_unit_test(test_failing_allocator),
      cmocka_unit_test(test_mathematics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
