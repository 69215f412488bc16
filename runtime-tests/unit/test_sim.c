/* The simulator's interface: a module from text, memory, launches, findings; and that it survives
 * an allocator that refuses its n-th request, for every n. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/parse.h"
#include "ptx/parse.h"
#include "sim/sim.h"

static const char program[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".global .align 4 .u32 counter = 5;\n"
    ".shared .align 4 .b32 cells[64];\n"
    ".func (.param .b32 result) twice(.param .b32 x)\n{\n"
    "  .reg .b32 %r<3>;\n  ld.param.u32 %r1, [x];\n  add.s32 %r2, %r1, %r1;\n"
    "  st.param.b32 [result], %r2;\n  ret;\n}\n"
    ".entry k(.param .u64 out, .param .u32 n)\n{\n"
    "  .reg .b32 %r<9>;\n  .reg .b64 %rd<4>;\n  .reg .pred %p<2>;\n"
    "  mov.u32 %r1, %tid.x;\n  ld.param.u32 %r2, [n];\n  ld.param.u64 %rd1, [out];\n"
    "  setp.ge.u32 %p1, %r1, %r2;\n  @%p1 bra L1;\n"
    "  { .param .b32 a; st.param.b32 [a], %r1; .param .b32 r; call (r), twice, (a); ld.param.b32 "
    "%r3, [r]; }\n"
    "  bra L2;\nL1:\n  mov.u32 %r3, 7;\nL2:\n"
    "  mov.u32 %r4, cells;\n  mad.lo.s32 %r5, %r1, 4, %r4;\n  st.shared.u32 [%r5], %r3;\n  "
    "bar.sync 0;\n"
    "  xor.b32 %r6, %r1, 1;\n  mad.lo.s32 %r5, %r6, 4, %r4;\n  ld.shared.u32 %r7, [%r5];\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n  add.s64 %rd3, %rd1, %rd2;\n  st.global.u32 [%rd3], %r7;\n"
    "  atom.global.add.u32 %r8, [counter], 1;\n  ret;\n}\n";

struct fixture {
  struct arena arena;
  struct strtab strings;
  struct ptx_module module;
  struct sim *sim;
};

static void parse(struct fixture *f) {
  struct ptx_parse_error error;
  memset(f, 0, sizeof *f);
  arena_init(&f->arena, nvm_default_allocator);
  assert_true(strtab_init(&f->strings, &f->arena));
  f->module.arena = &f->arena;
  f->module.strings = &f->strings;
  assert_int_equal(
      ptx_parse_module((struct nvm_text){program, sizeof program - 1}, &f->module, &error), NVM_OK);
}

static enum nvm_status launch(struct fixture *f, uint64_t out, uint32_t block, uint32_t n) {
  const void *arguments[2] = {&out, &n};
  const uint64_t bytes[2] = {8, 4};
  struct sim_launch l = {.kernel = text_of("k"),
                         .grid = {1, 1, 1},
                         .block = {block, 1, 1},
                         .arguments = arguments,
                         .argument_bytes = bytes,
                         .argument_count = 2,
                         .check_uninitialized = true};
  return sim_launch(f->sim, &l);
}

static void runs(void **unused) {
  (void)unused;
  struct fixture f;
  parse(&f);
  f.sim = sim_create(nvm_default_allocator, 0);
  assert_non_null(f.sim);
  assert_int_equal(sim_load(f.sim, &f.module), NVM_OK);
  uint64_t out = sim_allocate(f.sim, 4 * 64, false);
  for (int again = 0; again < 2; again++) {
    assert_int_equal(launch(&f, out, 64, 40), NVM_OK);
    const uint32_t *values = sim_memory(f.sim, out, 4 * 64);
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(values[i], (i ^ 1) < 40 ? 2 * (i ^ 1) : 7);
  }
  uint64_t counter = sim_symbol(f.sim, text_of("counter"), NULL);
  assert_int_equal(*(const uint32_t *)sim_memory(f.sim, counter, 4), 5 + 2 * 64);
  assert_true(sim_counted(f.sim)->instructions > 64 * 10);
  sim_destroy(f.sim);
  arena_free(&f.arena);
}

static void finds(void **unused) {
  (void)unused;
  struct fixture f;
  parse(&f);
  f.sim = sim_create(nvm_default_allocator, 0);
  assert_int_equal(sim_load(f.sim, &f.module), NVM_OK);
  uint64_t out = sim_allocate(f.sim, 4 * 33, false);
  assert_int_equal(launch(&f, out, 64, 64), NVM_REFUSED);
  const struct sim_finding *found = sim_found(f.sim);
  assert_int_equal(found->kind, SIM_OUT_OF_BOUNDS);
  assert_int_equal(found->thread[0], 33);
  assert_int_equal(found->line, 38);
  assert_int_equal(launch(&f, out, 0, 1), NVM_REFUSED);
  assert_int_equal(sim_found(f.sim)->kind, SIM_BAD_LAUNCH);
  assert_int_equal(launch(&f, out, 32, 32), NVM_OK);
  assert_int_equal(sim_found(f.sim)->kind, SIM_NOTHING);
  sim_destroy(f.sim);
  arena_free(&f.arena);
}

/* realloc that refuses when *state has come down to zero. */
static void *refusing(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  long *left = state;
  if (new_bytes && (*left)-- <= 0) return NULL;
  return nvm_default_allocator.resize(nvm_default_allocator.state, memory, old_bytes, new_bytes);
}

static void survives_refusal(void **unused) {
  (void)unused;
  bool done = false;
  for (long n = 0; !done; n++) {
    struct fixture f;
    long left = n;
    parse(&f);
    f.sim = sim_create((struct nvm_allocator){refusing, &left}, 0);
    if (f.sim) {
      uint64_t out = 0;
      enum nvm_status s = sim_load(f.sim, &f.module);
      if (s == NVM_OK) out = sim_allocate(f.sim, 4 * 64, false);
      if (out) s = launch(&f, out, 64, 64);
      done = s == NVM_OK && out;
      if (out && s == NVM_REFUSED) assert_int_equal(sim_found(f.sim)->kind, SIM_MEMORY);
    }
    sim_destroy(f.sim);
    arena_free(&f.arena);
    assert_true(n < 1000);
  }
}

/* IR may store a vector that is poison in part: its bytes are marked until they are stored again.
 */
static void marks_poison(void **unused) {
  (void)unused;
  static const char text[] =
      "define ptx_kernel void @k(ptr %p, i1 %again) {\n"
      "  %v = insertelement <2 x i32> poison, i32 1, i32 0\n"
      "  store <2 x i32> %v, ptr %p\n"
      "  br i1 %again, label %a, label %b\na:\n"
      "  store <2 x i32> zeroinitializer, ptr %p\n"
      "  br label %b\nb:\n  ret void\n}\n";
  for (uint8_t again = 0; again < 2; again++) {
    struct nvm_module *m = module_create(nvm_default_allocator, 0);
    struct diag_sink sink;
    assert_non_null(m);
    diag_sink_init(&sink, &m->arena, 1);
    assert_int_equal(parse_module(m, text, sizeof text - 1, "", 0, &sink), NVM_OK);
    struct sim *s = sim_create(nvm_default_allocator, 0);
    assert_non_null(s);
    assert_int_equal(sim_load_ir(s, m, text_of("")), NVM_OK);
    uint64_t p = sim_allocate(s, 12, true), bytes[] = {8, 1};
    const void *arguments[] = {&p, &again};
    struct sim_launch l = {.kernel = text_of("k"),
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .arguments = arguments,
                           .argument_bytes = bytes,
                           .argument_count = 2};
    assert_int_equal(sim_launch(s, &l), NVM_OK);
    for (uint64_t i = 0; i < 13; i++)
      assert_int_equal(sim_is_poison(s, p + i), !again && i >= 4 && i < 8);
    assert_false(sim_is_poison(s, 0));
    sim_destroy(s);
    module_destroy(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs), cmocka_unit_test(finds),
                                     cmocka_unit_test(marks_poison),
                                     cmocka_unit_test(survives_refusal)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
