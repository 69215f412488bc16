/* Both ways to say options to the library, the command's and libNVVM's, build the same target,
 * field by field, and give the same PTX for every CPU. */
#include "api/module.h"
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
    "  %less = call float @less(float %f)\n"
    "  store float %less, ptr addrspace(1) %p\n"
    "  ret void\n"
    "}\n"
    "define internal float @less(float %f) {\n"
    "  %less = fadd float %f, -1.0\n"
    "  ret float %less\n"
    "}\n"
    "declare float @llvm.sqrt.f32(float)\n"
    "declare float @llvm.fmuladd.f32(float, float, float)\n"
    "declare double @llvm.fmuladd.f64(double, double, double)\n";

/* A context with these options, NULL-terminated; the caller destroys it. */
static struct nvmini_context *context_of(const char *const *options) {
  struct nvmini_context *c = nvmini_create(NULL, 0);
  assert_non_null(c);
  for (; *options; options++) assert_int_equal(nvmini_set_option(c, *options), NVMINI_OK);
  return c;
}

/* The PTX under these options; the caller frees it. */
static char *compile(const char *const *options) {
  struct nvmini_context *c = context_of(options);
  struct nvmini_module *m;
  struct nvmini_text ptx;
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
    assert_same(
        (const char *const[]){cpu, "--fma-level=0", "--prec-div=1", "--prec-sqrt=0", "--ftz", NULL},
        (const char *const[]){arch, "-fma=0", "-prec-div=0", "-prec-sqrt=0", "-ftz=1", NULL});
    assert_same(
        (const char *const[]){cpu, "--fma-level=2", "--prec-div=2", "--prec-sqrt=1", NULL},
        (const char *const[]){arch, "-fma=1", "-prec-div=1", "-prec-sqrt=1", "-ftz=0", NULL});
    assert_same((const char *const[]){cpu, "--fma-level=1", NULL},
                (const char *const[]){arch, "--knob=nvptx-fma-level=1", NULL});
  }
}

static struct nvm_target target_of(const char *const *options) {
  struct nvmini_context *c = context_of(options);
  struct nvm_target target;
  assert_int_equal(module_target(c, &target), NVMINI_OK);
  nvmini_destroy(c);
  return target;
}

static void assert_same_target(const char *const *command, const char *const *library) {
  struct nvm_target a = target_of(command), b = target_of(library);
  assert_ptr_equal(a.cpu, b.cpu);
  assert_memory_equal(a.bits, b.bits, sizeof a.bits);
  assert_int_equal(a.sm, b.sm);
  assert_int_equal(a.full_sm, b.full_sm);
  assert_int_equal(a.ptx, b.ptx);
  assert_int_equal(a.fma_level, b.fma_level);
  assert_int_equal(a.prec_div, b.prec_div);
  assert_int_equal(a.prec_sqrt, b.prec_sqrt);
  assert_int_equal(a.pointer_bits, b.pointer_bits);
  assert_int_equal(a.optimization_level, b.optimization_level);
  assert_int_equal(a.ftz, b.ftz);
  assert_int_equal(a.has_tmem, b.has_tmem);
  assert_int_equal(a.short_shared_pointers, b.short_shared_pointers);
  assert_int_equal(a.long_shared_pointers, b.long_shared_pointers);
  assert_int_equal(a.debug, b.debug);
  assert_int_equal(a.narrow_accesses, b.narrow_accesses);
}

static void spellings_build_the_same_target(void **state) {
  (void)state;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    char cpu[32], arch[32];
    snprintf(cpu, sizeof cpu, "--cpu=%s", tgt_cpus()[i].name);
    snprintf(arch, sizeof arch, "-arch=compute_%s", tgt_cpus()[i].name + 3);
    assert_same_target((const char *const[]){cpu, NULL}, (const char *const[]){arch, NULL});
    assert_same_target((const char *const[]){cpu, "-g", "-O0", NULL},
                       (const char *const[]){arch, "-g", "-opt=0", NULL});
    assert_same_target((const char *const[]){cpu, "--ftz", "--fma-level=0", "--prec-div=1",
                                             "--prec-sqrt=0", "-O2", NULL},
                       (const char *const[]){arch, "-ftz=1", "-fma=0", "-prec-div=0",
                                             "-prec-sqrt=0", "-opt=2", NULL});
    assert_same_target(
        (const char *const[]){cpu, "--fma-level=2", "--prec-div=2", "--prec-sqrt=1", "-O1", NULL},
        (const char *const[]){arch, "-ftz=0", "-fma=1", "-prec-div=1", "-prec-sqrt=1", "-opt=1",
                              NULL});
  }
}

/* Each option shows in the target, so that the comparison above compares something. */
static void options_show_in_the_target(void **state) {
  (void)state;
  struct nvm_target plain = target_of((const char *const[]){"--cpu=sm_103a", NULL});
  struct nvm_target other =
      target_of((const char *const[]){"--cpu=sm_103a", "-g", "--ftz", "-O1", "--fma-level=0",
                                      "--prec-div=1", "--prec-sqrt=0", NULL});
  assert_true(!plain.debug && other.debug);
  assert_true(!plain.ftz && other.ftz);
  assert_true(plain.optimization_level == 3 && other.optimization_level == 1);
  assert_true(plain.fma_level == 2 && other.fma_level == 0);
  assert_true(plain.prec_div == 2 && other.prec_div == 1);
  assert_true(plain.prec_sqrt == 1 && other.prec_sqrt == 0);
}

/* -opt=1 is -O1 whatever level stood before it. */
static void the_last_level_counts(void **state) {
  (void)state;
  char *a = compile((const char *const[]){"-arch=compute_90", "-Ofc=max", "-opt=1", NULL});
  char *b = compile((const char *const[]){"-arch=compute_90", "-opt=1", NULL});
  char *c = compile((const char *const[]){"-arch=compute_90", "-Ofc=max", NULL});
  assert_string_equal(a, b);
  assert_string_not_equal(b, c);
  free(a);
  free(b);
  free(c);
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
      cmocka_unit_test(spellings_build_the_same_target),
      cmocka_unit_test(options_show_in_the_target),
      cmocka_unit_test(the_last_level_counts),
      cmocka_unit_test(options_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
