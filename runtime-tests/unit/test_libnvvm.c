/* libNVVM's interface from C: a program's life, texts in buffers of exact size, threads. What each
 * call returns is in runtime-tests/compat/libnvvm.py, which asks NVIDIA's library too. */
#include "compat/nvvm.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char header[] =
    "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "!nvvmir.version = !{!0}\n"
    "!0 = !{i32 2, i32 0}\n";
static const char kernel[] =
    "declare float @half(float)\n"
    "define ptx_kernel void @k(ptr %p) {\n"
    "  %v = load float, ptr %p\n"
    "  %h = call float @half(float %v)\n"
    "  store float %h, ptr %p\n"
    "  ret void\n"
    "}\n";
static const char library[] =
    "define float @half(float %x) {\n"
    "  %h = fmul float %x, 0.5\n"
    "  ret float %h\n"
    "}\n";

static void add(nvvmProgram p, const char *text, int lazily) {
  char module[1024];
  size_t length = strlen(header), more = strlen(text);
  assert_true(length + more < sizeof module);
  memcpy(module, header, length);
  memcpy(module + length, text, more);
  nvvmResult status = lazily ? nvvmLazyAddModuleToProgram(p, module, length + more, "library.ll")
                             : nvvmAddModuleToProgram(p, module, length + more, "module.ll");
  assert_int_equal(status, NVVM_SUCCESS);
  memset(module, 'x', sizeof module); /* the caller's buffer is not used any more */
}

typedef nvvmResult get_size(nvvmProgram, size_t *);
typedef nvvmResult get_text(nvvmProgram, char *);

static char *text_of(nvvmProgram p, get_size *get_size, get_text *get_text) {
  size_t size = 0;
  assert_int_equal(get_size(p, &size), NVVM_SUCCESS);
  char *text = malloc(size);
  assert_non_null(text);
  assert_int_equal(get_text(p, text), NVVM_SUCCESS);
  assert_int_equal(strlen(text) + 1, size);
  return text;
}

static char *result_of(nvvmProgram p) {
  return text_of(p, nvvmGetCompiledResultSize, nvvmGetCompiledResult);
}

static char *log_of(nvvmProgram p) { return text_of(p, nvvmGetProgramLogSize, nvvmGetProgramLog); }

/* A program of one module. */
static nvvmProgram start(const char *text) {
  nvvmProgram p = NULL;
  assert_int_equal(nvvmCreateProgram(&p), NVVM_SUCCESS);
  add(p, text, 0);
  return p;
}

static void end(nvvmProgram p) {
  assert_int_equal(nvvmDestroyProgram(&p), NVVM_SUCCESS);
  assert_null(p);
}

/* Compiles, and ends the program; its log. */
static char *log_of_compilation(nvvmProgram p, nvvmResult expected) {
  assert_int_equal(nvvmCompileProgram(p, 0, NULL), expected);
  char *log = log_of(p), *ptx = result_of(p);
  assert_int_equal(*ptx == '\0', expected != NVVM_SUCCESS);
  free(ptx);
  end(p);
  return log;
}

/* The PTX of kernel and library. */
static char *compile_once(const char *arch) {
  const char *options[] = {arch, "-opt=3"};
  nvvmProgram p = start(kernel);
  assert_int_equal(nvvmVerifyProgram(p, 2, options), NVVM_SUCCESS);
  add(p, library, 1);
  assert_int_equal(nvvmCompileProgram(p, 2, options), NVVM_SUCCESS);
  char *ptx = result_of(p);
  end(p);
  return ptx;
}

static void test_library_is_linked(void **state) {
  (void)state;
  char *ptx = compile_once("-arch=compute_90a");
  assert_non_null(strstr(ptx, ".target sm_90a"));
  assert_non_null(strstr(ptx, "mul.rn.f32"));
  assert_null(strstr(ptx, "half"));
  free(ptx);
}

static void test_errors_of_two_modules(void **state) {
  (void)state;
  nvvmProgram p = start(kernel);
  add(p, "define void @f() {\n  ret void\n}\ndefine void @k() {\n  ret void\n}\n", 0);
  char *log = log_of_compilation(p, NVVM_ERROR_COMPILATION);
  assert_non_null(strstr(log, "module.ll (8, 12): link error"));
  free(log);
}

/* An error that only code generation finds, in the second of two modules: no wrong place. */
static void test_errors_after_linking(void **state) {
  (void)state;
  nvvmProgram p = start(kernel);
  add(p,
      "declare void @llvm.nvvm.barrier.cluster.arrive()\n"
      "define void @f() {\n  call void @llvm.nvvm.barrier.cluster.arrive()\n  ret void\n}\n",
      0);
  assert_int_equal(nvvmVerifyProgram(p, 0, NULL), NVVM_SUCCESS);
  char *log = log_of_compilation(p, NVVM_ERROR_COMPILATION);
  assert_int_equal(strncmp(log, "error: ", strlen("error: ")), 0);
  assert_non_null(strstr(log, "in function 'f'"));
  free(log);
}

static const char noinline_kernel[] = "define ptx_kernel void @k() noinline {\n  ret void\n}\n";

static void test_kernels_cannot_be_noinline(void **state) {
  (void)state;
  char *log = log_of_compilation(start(noinline_kernel), NVVM_SUCCESS);
  assert_string_equal(log, "module.ll: warning: overriding noinline attribute of kernel 'k'");
  free(log);
}

/* Each lazy module needs the one added before it. */
static void test_chain_of_lazy_modules(void **state) {
  (void)state;
  enum { LENGTH = 250 };
  char text[256];
  nvvmProgram p = start(
      "declare float @f0(float)\n"
      "define ptx_kernel void @k(ptr %p, float %x) {\n"
      "  %y = call float @f0(float %x)\n  store float %y, ptr %p\n  ret void\n}\n");
  for (int k = LENGTH - 1; k >= 0; k--) {
    snprintf(text, sizeof text,
             "declare float @f%d(float)\n"
             "define float @f%d(float %%x) noinline {\n"
             "  %%y = call float @f%d(float %%x)\n  ret float %%y\n}\n",
             k + 1, k, k + 1);
    add(p, text, 1);
  }
  assert_int_equal(nvvmCompileProgram(p, 0, NULL), NVVM_SUCCESS);
  char *ptx = result_of(p);
  for (int k = 0; k < LENGTH; k++) {
    snprintf(text, sizeof text, "f%d(\n", k);
    assert_non_null(strstr(ptx, text));
  }
  assert_non_null(strstr(ptx, ".extern .func"));
  free(ptx);
  end(p);
}

/* Bitcode, cut anywhere, is refused; nothing else happens. */
static void test_bitcode_is_cut(void **state) {
  (void)state;
  static const char bitcode[] = "BC\xC0\xDE\x35\x14\x00\x00\x05\x00\x00\x00\x62\x0C\x30\x24";
  for (size_t length = 1; length < sizeof bitcode; length++) {
    nvvmProgram p = NULL;
    char *exact = malloc(length);
    assert_non_null(exact);
    memcpy(exact, bitcode, length);
    assert_int_equal(nvvmCreateProgram(&p), NVVM_SUCCESS);
    assert_int_equal(nvvmAddModuleToProgram(p, exact, length, NULL), NVVM_SUCCESS);
    free(exact);
    assert_int_equal(nvvmVerifyProgram(p, 0, NULL), NVVM_ERROR_INVALID_IR);
    end(p);
  }
}

/* The linker replaces the library's realloc() by this one (Makefile). */
static _Thread_local long requests_left = -1; /* before the one that is refused; -1: none is */
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes) {
  if (requests_left >= 0 && requests_left-- == 0) return NULL;
  return __real_realloc(memory, bytes);
}

/* Any request is refused, also one of the log: no result. */
static void test_result_is_empty_without_memory(void **state) {
  (void)state;
  bool refused = true;
  for (long n = 0; refused; n++) {
    nvvmProgram p = start(noinline_kernel);
    requests_left = n;
    nvvmResult status = nvvmCompileProgram(p, 0, NULL);
    refused = requests_left < 0;
    requests_left = -1;
    size_t size = 0;
    assert_int_equal(nvvmGetCompiledResultSize(p, &size), NVVM_SUCCESS);
    if (status == NVVM_SUCCESS) assert_true(size > 1);
    else assert_int_equal(size, 1);
    end(p);
  }
}

enum { THREADS = 3, ROUNDS = 10 };

static void *compile_often(void *expected) {
  intptr_t wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    char *ptx = compile_once("-arch=compute_80");
    wrong += strcmp(ptx, expected) != 0;
    free(ptx);
  }
  return (void *)wrong;
}

static void test_threads(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  char *expected = compile_once("-arch=compute_80");
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, compile_often, expected), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong = NULL;
    pthread_join(threads[i], &wrong);
    assert_null(wrong);
  }
  free(expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_library_is_linked),
                                     cmocka_unit_test(test_errors_of_two_modules),
                                     cmocka_unit_test(test_errors_after_linking),
                                     cmocka_unit_test(test_kernels_cannot_be_noinline),
                                     cmocka_unit_test(test_chain_of_lazy_modules),
                                     cmocka_unit_test(test_bitcode_is_cut),
                                     cmocka_unit_test(test_result_is_empty_without_memory),
                                     cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
