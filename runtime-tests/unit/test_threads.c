/* Two contexts in two threads share nothing: run under ThreadSanitizer too. */
#include "nvmini.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 2, ROUNDS = 20 };

static const char kernel[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {\n"
    "entry:\n"
    "  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %in = icmp ult i32 %i, %n\n"
    "  br i1 %in, label %work, label %done\n"
    "work:\n"
    "  %w = zext i32 %i to i64\n"
    "  %q = getelementptr i32, ptr addrspace(1) %p, i64 %w\n"
    "  store i32 %i, ptr addrspace(1) %q, align 4\n"
    "  br label %done\n"
    "done:\n"
    "  ret void\n"
    "}\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n";

/* What one thread compiled: malloc'ed, or NULL if something went wrong. */
static char *compile_once(const char *cpu) {
  struct nvmini_context *c = nvmini_create(NULL, 0);
  struct nvmini_module *m = NULL;
  struct nvmini_text ptx;
  char *copy = NULL;
  if (c != NULL && nvmini_set_option(c, cpu) == NVMINI_OK &&
      nvmini_parse(c, kernel, strlen(kernel), "kernel", &m) == NVMINI_OK &&
      nvmini_compile(m, &ptx) == NVMINI_OK && (copy = malloc(ptx.length + 1)) != NULL)
    memcpy(copy, ptx.bytes, ptx.length + 1);
  nvmini_release(m);
  nvmini_destroy(c);
  return copy;
}

struct work {
  const char *cpu;
  char *expected; /* from before the threads started */
  int wrong;
};

static void *worker(void *argument) {
  struct work *w = argument;
  for (int i = 0; i < ROUNDS; i++) {
    char *ptx = compile_once(w->cpu);
    w->wrong += ptx == NULL || strcmp(ptx, w->expected) != 0;
    free(ptx);
  }
  return NULL;
}

static void test_two_contexts(void **state) {
  (void)state;
  struct work work[THREADS] = {{"--cpu=sm_75", NULL, 0}, {"--cpu=sm_90a", NULL, 0}};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    work[i].expected = compile_once(work[i].cpu);
    assert_non_null(work[i].expected);
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, worker, &work[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(work[i].wrong, 0);
    free(work[i].expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_contexts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
