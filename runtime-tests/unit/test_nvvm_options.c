/* Both ways to say options to the library, the command's and libNVVM's, give the same PTX for every
 * CPU. */
#include "nvmini.h"
#include "target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char source[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(ptr addrspace(1) %p, float %a, float %b, double %x) {\n"
    "  %q = fdiv float %a, %b\n"
    "  %s = call float @llvm.sqrt.f32(float %q)\n"
    "  %f = call float @llvm.fmuladd.f32(float %s, float %a, float %b)\n"
    "  store float %f, ptr addrspace(1) %p\n"
    "  %d = call double @llvm.fmuladd.f64(double %x, double %x, double %x)\n"
    "  %next = getelementptr i8, ptr addrspace(1) %p, i64 8\n"
    "  store double %d, ptr addrspace(1) %next\n"
    "  ret void\n"
    "}\n"
    "declare float @llvm.sqrt.f32(float)\n"
    "declare float @llvm.fmuladd.f32(float, float, float)\n"
    "declare double @llvm.fmuladd.f64(double, double, double)\n";

/* The PTX under these options, NULL-terminated; the caller frees it. */
static char *compile(const char *const *options) {
  struct nvmini_context *c = nvmini_create(NULL, 0);
  struct nvmini_module *m;
  struct nvmini_text ptx;
  assert_non_null(c);
  for (; *options; options++) assert_int_equal(nvmini_set_option(c, *options), NVMINI_OK);
  assert_int_equal(nvmini_parse(c, source, sizeof source - 1, "t", &m), NVMINI_OK);
  assert_int_equal(nvmini_compile(m, &ptx), NVMINI_OK);
  char *copy = malloc(ptx.length + 1);
  assert_non_null(copy);
  memcpy(copy, ptx.bytes, ptx.length + 1);
  nvmini_release(m);
  nvmini_destroy(c);
  return copy;
}

static void assert_same(const char *const *command, const char *const *library) {
  char *a = compile(command), *b = compile(library);
  assert_string_equal(a, b);
  free(a);
  free(b);
}

static void spellings_give_the_same_code(void **state) {
  (void)state;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    char cpu[32], arch[32];
    snprintf(cpu, sizeof cpu, "--cpu=%s", tgt_cpus()[i].name);
    snprintf(arch, sizeof arch, "-arch=compute_%s", tgt_cpus()[i].name + 3);
    assert_same((const char *const[]){cpu, NULL}, (const char *const[]){arch, NULL});
    assert_same((const char *const[]){cpu, "--fma-level=0", "--prec-div=1", "--prec-sqrt=0", "--ftz", NULL},
                (const char *const[]){arch, "-fma=0", "-prec-div=0", "-prec-sqrt=0", "-ftz=1", NULL});
    assert_same((const char *const[]){cpu, "--fma-level=2", "--prec-div=2", "--prec-sqrt=1", NULL},
                (const char *const[]){arch, "-fma=1", "-prec-div=1", "-prec-sqrt=1", "-ftz=0", NULL});
    assert_same((const char *const[]){cpu, "--fma-level=1", NULL},
                (const char *const[]){arch, "--knob=nvptx-fma-level=1", NULL});
  }
}

static void options_matter(void **state) {
  (void)state;
  char *a = compile((const char *const[]){"-arch=compute_90a", NULL});
  char *b = compile((const char *const[]){"-arch=compute_90a", "-fma=0", NULL});
  char *c = compile((const char *const[]){"-arch=compute_90a", "-ftz=1", NULL});
  assert_string_not_equal(a, b);
  assert_string_not_equal(a, c);
  free(a);
  free(b);
  free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spellings_give_the_same_code),
      cmocka_unit_test(options_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
