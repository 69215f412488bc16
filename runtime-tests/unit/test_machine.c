/* Machines of the public API: IR and PTX executed on the same data, findings, counts, output,
 * trace, limits; and that an allocator that refuses its n-th request leads to a status, for every
 * n. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nvmini.h"
#include "runtime-tests/unit/failing_allocator.h"

/* scale: data[tid] *= factor. spin: endless. print: vprintf("hi"). */
static const char program[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@table = addrspace(1) global [2 x i32] [i32 3, i32 4]\n"
    "@text = internal addrspace(4) constant [4 x i8] c\"hi\\0A\\00\"\n"
    "%pair = type { i32, double }\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare i32 @vprintf(ptr, ptr)\n"
    "define ptx_kernel void @scale(ptr addrspace(1) %data, float %factor) {\n"
    "  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  %p = getelementptr float, ptr addrspace(1) %data, i32 %i\n"
    "  %x = load float, ptr addrspace(1) %p\n"
    "  %y = fmul float %x, %factor\n"
    "  store float %y, ptr addrspace(1) %p\n"
    "  ret void\n"
    "}\n"
    "define ptx_kernel void @spin(i8 %a, bfloat %b, i64 %c, half %d, double %e, i128 %f,\n"
    "    ptr byval(%pair) %g, <2 x float> %h) {\n"
    "entry:\n"
    "  br label %again\n"
    "again:\n"
    "  %n = load volatile i32, ptr addrspace(1) @table\n"
    "  br label %again\n"
    "}\n"
    "define ptx_kernel void @print() {\n"
    "  %n = call i32 @vprintf(ptr addrspacecast (ptr addrspace(4) @text to ptr), ptr null)\n"
    "  ret void\n"
    "}\n"
    "define ptx_kernel void @copy(ptr addrspace(1) %from, ptr addrspace(1) %to) {\n"
    "  %x = load i32, ptr addrspace(1) %from\n"
    "  store i32 %x, ptr addrspace(1) %to\n"
    "  ret void\n"
    "}\n"
    "define ptx_kernel void @race(ptr addrspace(1) %data) {\n"
    "  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "  store i32 %i, ptr addrspace(1) %data\n"
    "  ret void\n"
    "}\n";

struct seen {
  int diagnostics, findings, counts, lines;
  unsigned line, column;
  char message[256], kind[64], output[64], first_line[128];
  uint32_t thread, block;
  uint64_t loads, instructions;
};

static void copy(char *to, size_t size, struct nvmini_text from) {
  snprintf(to, size, "%.*s", (int)from.length, from.bytes);
}

static void report(void *user, const struct nvmini_diagnostic *d) {
  struct seen *s = user;
  s->diagnostics++;
  s->line = d->line;
  s->column = d->column;
  copy(s->message, sizeof s->message, d->message);
}

static void on_finding(void *user, const struct nvmini_finding *f) {
  struct seen *s = user;
  s->findings++;
  s->line = f->line;
  s->thread = f->thread[0];
  s->block = f->block[0];
  strcpy(s->kind, f->kind);
  copy(s->message, sizeof s->message, f->message);
}

static void on_output(void *user, struct nvmini_text text) {
  struct seen *s = user;
  copy(s->output, sizeof s->output, text);
}

static void on_count(void *user, const char *name, uint64_t value) {
  struct seen *s = user;
  s->counts++;
  if (strcmp(name, "global.loads") == 0) s->loads = value;
  if (strcmp(name, "instructions") == 0) s->instructions = value;
}

static void on_trace(void *user, struct nvmini_text line) {
  struct seen *s = user;
  if (s->lines++ == 0) copy(s->first_line, sizeof s->first_line, line);
}

struct fixture {
  struct nvmini_context *context;
  struct nvmini_module *module;
  struct nvmini_machine *machine;
  struct seen seen;
};

/* The program parsed. */
static void start(struct fixture *f) {
  *f = (struct fixture){.context = nvmini_create(NULL, 0)};
  assert_non_null(f->context);
  nvmini_on_diagnostic(f->context, report, &f->seen);
  assert_int_equal(nvmini_set_option(f->context, "--cpu=sm_90a"), NVMINI_OK);
  assert_int_equal(nvmini_set_option(f->context, "-O0"), NVMINI_OK);
  assert_int_equal(nvmini_parse(f->context, program, sizeof program - 1, "t", &f->module),
                   NVMINI_OK);
}

/* Loads the program as IR, or compiles it and loads the PTX. */
static void load(struct fixture *f, bool as_ptx) {
  struct nvmini_text ptx;
  start(f);
  if (!as_ptx) {
    assert_int_equal(nvmini_load(f->module, &f->machine), NVMINI_OK);
    return;
  }
  assert_int_equal(nvmini_compile(f->module, &ptx), NVMINI_OK);
  assert_int_equal(nvmini_load_ptx(f->context, ptx.bytes, ptx.length, "t.ptx", &f->machine),
                   NVMINI_OK);
}

static void end(struct fixture *f) {
  nvmini_unload(f->machine);
  nvmini_release(f->module);
  size_t left = nvmini_memory_used(f->context);
  assert_true(left < 20000); /* the context and its options */
  nvmini_destroy(f->context);
}

static struct nvmini_launch new_launch(struct fixture *f, const char *kernel) {
  return (struct nvmini_launch){.kernel = kernel,
                                .user = &f->seen,
                                .finding = on_finding,
                                .output = on_output,
                                .count = on_count};
}

/* scale, of `threads` threads on 4 floats 0 to 3, by 2.5. */
static enum nvmini_status scale(struct fixture *f, uint32_t threads, float **data,
                                bool with_trace) {
  uint64_t address = nvmini_allocate(f->machine, 16, 1);
  float factor = 2.5f;
  const void *arguments[] = {&address, &factor};
  const uint64_t bytes[] = {8, 4};
  struct nvmini_launch l = new_launch(f, "scale");
  l.block[0] = threads;
  l.arguments = arguments;
  l.argument_bytes = bytes;
  l.argument_count = 2;
  if (with_trace) l.trace = on_trace;
  l.trace_thread = 3;
  *data = nvmini_memory(f->machine, address, 16);
  if (address == 0) return NVMINI_OUT_OF_MEMORY;
  for (int i = 0; i < 4; i++) (*data)[i] = (float)i;
  return nvmini_launch(f->machine, &l);
}

static void test_run(void **state) {
  (void)state;
  for (int as_ptx = 0; as_ptx < 2; as_ptx++) {
    struct fixture f;
    float *data;
    load(&f, as_ptx);
    for (int again = 0; again < 2; again++) {
      assert_int_equal(scale(&f, 4, &data, true), NVMINI_OK);
      for (int i = 0; i < 4; i++) assert_true(data[i] == 2.5f * (float)i);
      if (as_ptx) assert_int_equal(f.seen.loads, 1); /* of the launch, not of both */
      assert_true(f.seen.instructions < 100);
    }
    assert_int_equal(f.seen.findings + f.seen.diagnostics, 0);
    assert_true(f.seen.lines > 6);
    assert_non_null(strstr(f.seen.first_line, "scale"));
    assert_string_equal(f.seen.output, "");
    end(&f);
  }
}

/* Launches of the same size need no more memory than the first; others in between do not matter. */
static void test_many_launches(void **state) {
  (void)state;
  struct fixture f;
  size_t first = 0;
  load(&f, true);
  uint64_t address = nvmini_variable(f.machine, "table", NULL), second = address + 4;
  const void *arguments[] = {&address, &second};
  const uint64_t bytes[] = {8, 8};
  for (int i = 0; i < 300; i++) {
    struct nvmini_launch l = new_launch(&f, "copy");
    l.grid[0] = 4;
    l.arguments = arguments;
    l.argument_bytes = bytes;
    l.argument_count = 2;
    assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_OK);
    if (i == 0) first = nvmini_memory_used(f.context);
  }
  assert_true(nvmini_memory_used(f.context) < first + 100000);
  for (uint32_t i = 0; i < 4; i++) {
    struct nvmini_launch l = new_launch(&f, "print");
    l.block[0] = i % 2 ? 40 : 100;
    l.shared_bytes = 100 * i;
    assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_OK);
  }
  end(&f);
}

static void test_finding(void **state) {
  (void)state;
  for (int as_ptx = 0; as_ptx < 2; as_ptx++) {
    struct fixture f;
    float *data;
    load(&f, as_ptx);
    assert_int_equal(scale(&f, 5, &data, false), NVMINI_REFUSED);
    assert_string_equal(f.seen.kind, "out-of-bounds");
    assert_int_equal(f.seen.findings, 1);
    assert_int_equal(f.seen.thread, 4);
    assert_int_equal(f.seen.block, 0);
    if (!as_ptx) assert_int_equal(f.seen.line, 10);
    assert_int_equal(scale(&f, 4, &data, false), NVMINI_OK); /* the machine is as good as before */
    end(&f);
  }
}

/* `race` writes different values to one place, which only a check finds. */
static void test_checks(void **state) {
  (void)state;
  for (int no_checks = 0; no_checks < 2; no_checks++) {
    struct fixture f;
    load(&f, false);
    uint64_t size, address = nvmini_variable(f.machine, "table", &size);
    assert_int_equal(size, 8);
    const void *arguments[] = {&address};
    const uint64_t bytes[] = {8};
    struct nvmini_launch l = new_launch(&f, "race");
    l.block[0] = 64;
    l.arguments = arguments;
    l.argument_bytes = bytes;
    l.argument_count = 1;
    l.no_checks = no_checks;
    assert_int_equal(nvmini_launch(f.machine, &l), no_checks ? NVMINI_OK : NVMINI_REFUSED);
    assert_string_equal(f.seen.kind, no_checks ? "" : "race");
    end(&f);
  }
}

static void test_output_and_variables(void **state) {
  (void)state;
  struct fixture f;
  load(&f, false);
  struct nvmini_launch l = new_launch(&f, "print");
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_OK);
  assert_string_equal(f.seen.output, "hi\n");
  const uint32_t *table = nvmini_memory(f.machine, nvmini_variable(f.machine, "table", NULL), 8);
  assert_non_null(table);
  assert_int_equal(table[1], 4);
  assert_int_equal(nvmini_variable(f.machine, "nothing", NULL), 0);
  assert_null(nvmini_memory(f.machine, nvmini_variable(f.machine, "table", NULL), 9));
  assert_null(nvmini_memory(f.machine, 0, 1));
  end(&f);
}

static void test_uninitialized(void **state) {
  (void)state;
  struct fixture f;
  load(&f, true);
  uint64_t from = nvmini_allocate(f.machine, 4, 0), to = nvmini_allocate(f.machine, 4, 1);
  const void *arguments[] = {&from, &to};
  const uint64_t bytes[] = {8, 8};
  struct nvmini_launch l = new_launch(&f, "copy");
  l.arguments = arguments;
  l.argument_bytes = bytes;
  l.argument_count = 2;
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_string_equal(f.seen.kind, "uninitialized");
  end(&f);
}

/* The parameters of `spin`; of PTX, the same or no kind. */
static void test_kernels(void **state) {
  (void)state;
  static const struct nvmini_parameter expected[] = {
      {NVMINI_INTEGER, 1}, {NVMINI_BFLOAT, 2}, {NVMINI_INTEGER, 8}, {NVMINI_FLOAT, 2},
      {NVMINI_FLOAT, 8},   {NVMINI_BYTES, 16}, {NVMINI_BYTES, 16},  {NVMINI_BYTES, 8}};
  for (int as_ptx = 0; as_ptx < 2; as_ptx++) {
    struct fixture f;
    uint32_t count;
    load(&f, as_ptx);
    const struct nvmini_kernel *k = nvmini_kernels(f.machine, &count);
    assert_int_equal(count, 5);
    assert_string_equal(k[0].name, "scale");
    assert_int_equal(k[0].count, 2);
    assert_int_equal(k[0].parameters[0].kind, NVMINI_POINTER);
    assert_int_equal(k[0].parameters[0].bytes, 8);
    assert_int_equal(k[0].parameters[1].kind, NVMINI_FLOAT);
    assert_string_equal(k[1].name, "spin");
    assert_int_equal(k[1].count, 8);
    for (int i = 0; i < 8; i++) {
      assert_int_equal(k[1].parameters[i].bytes, expected[i].bytes);
      if (!as_ptx || k[1].parameters[i].kind != NVMINI_BYTES)
        assert_int_equal(k[1].parameters[i].kind, expected[i].kind);
    }
    end(&f);
  }
}

static void test_step_limit(void **state) {
  (void)state;
  struct fixture f;
  load(&f, false);
  static const uint8_t zeros[16];
  const void *arguments[8];
  const uint64_t bytes[] = {1, 2, 8, 2, 8, 16, 16, 8};
  for (int i = 0; i < 8; i++) arguments[i] = zeros;
  struct nvmini_launch l = new_launch(&f, "spin");
  l.arguments = arguments;
  l.argument_bytes = bytes;
  l.argument_count = 8;
  l.step_limit = 100000;
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_string_equal(f.seen.kind, "step-limit");
  assert_true(f.seen.instructions > 90000 && f.seen.instructions < 200000);
  /* Each launch has the whole limit. */
  float *data;
  assert_int_equal(scale(&f, 4, &data, false), NVMINI_OK);
  end(&f);
}

static void test_bad_launch(void **state) {
  (void)state;
  struct fixture f;
  load(&f, false);
  struct nvmini_launch l = new_launch(&f, "nothing");
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_string_equal(f.seen.kind, "bad-launch");
  assert_string_equal(f.seen.message, "no kernel named 'nothing'");
  l.kernel = "scale";
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_string_equal(f.seen.message,
                      "kernel 'scale' has 2 parameters, but 0 arguments were given");
  /* Sizes whose products or sums wrap. */
  l.block[0] = l.block[1] = UINT32_C(1) << 31, l.block[2] = 4;
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_string_equal(f.seen.message, "a block has at most 1024 threads, and 64 in z");
  l.block[0] = l.block[1] = l.block[2] = 1;
  l.grid[0] = l.grid[1] = UINT32_C(1) << 31, l.grid[2] = 4;
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_string_equal(f.seen.message,
                      "a grid has at most 2147483647 blocks in x, 65535 in y and z");
  l.grid[0] = l.grid[1] = l.grid[2] = 1;
  uint64_t argument = 0;
  const void *arguments[] = {&argument, &argument};
  const uint64_t bytes[] = {8, 4};
  l.arguments = arguments, l.argument_bytes = bytes, l.argument_count = 2;
  l.shared_bytes = 0 - UINT64_C(4000);
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_non_null(strstr(f.seen.message, "bytes of shared memory, but a block has at most"));
  l.shared_bytes = 0, l.argument_count = 0;
  l.finding = NULL;
  assert_int_equal(nvmini_launch(f.machine, &l), NVMINI_REFUSED);
  assert_int_equal(f.seen.findings, 5);
  end(&f);
}

static void test_bad_ptx(void **state) {
  (void)state;
  struct fixture f;
  start(&f);
  static const char wrong[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { nonsense; }";
  assert_int_equal(nvmini_load_ptx(f.context, wrong, strlen(wrong), "w", &f.machine),
                   NVMINI_REFUSED);
  assert_null(f.machine);
  assert_int_equal(f.seen.line, 4);
  assert_int_equal(f.seen.column, 14);
  static const char undefined[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.global .u64 x = nothing;\n";
  assert_int_equal(nvmini_load_ptx(f.context, undefined, strlen(undefined), NULL, &f.machine),
                   NVMINI_REFUSED);
  assert_string_equal(f.seen.message,
                      "cannot be executed: the initializer refers to undefined symbol 'nothing'");
  assert_int_equal(f.seen.diagnostics, 2);
  end(&f);
}

static void test_compiled_module(void **state) {
  (void)state;
  struct fixture f;
  struct nvmini_text ptx;
  start(&f);
  assert_int_equal(nvmini_compile(f.module, &ptx), NVMINI_OK);
  assert_int_equal(nvmini_load(f.module, &f.machine), NVMINI_REFUSED);
  assert_null(f.machine);
  assert_string_equal(f.seen.message, "cannot be executed: the module was compiled; load its PTX");
  end(&f);
}

/* Parses, loads, and runs `scale`; whether that went to the end. */
static bool run_with(const struct nvmini_allocator *a, const char *ptx, size_t length) {
  struct fixture f = {.context = nvmini_create(a, 0)};
  if (f.context == NULL) return false;
  enum nvmini_status status = nvmini_set_option(f.context, "--cpu=sm_80");
  if (status == NVMINI_OK && ptx) status = nvmini_load_ptx(f.context, ptx, length, "t", &f.machine);
  else if (status == NVMINI_OK)
    status = nvmini_parse(f.context, program, sizeof program - 1, "t", &f.module);
  if (status == NVMINI_OK && !ptx) status = nvmini_load(f.module, &f.machine);
  float *data;
  if (status == NVMINI_OK) status = scale(&f, 4, &data, true);
  if (status == NVMINI_REFUSED) fail_msg("%s %s", f.seen.kind, f.seen.message);
  if (status != NVMINI_OK) assert_int_equal(status, NVMINI_OUT_OF_MEMORY);
  nvmini_unload(f.machine);
  nvmini_release(f.module);
  nvmini_destroy(f.context);
  return status == NVMINI_OK;
}

static void fail_everywhere(const char *ptx, size_t length) {
  bool done = false;
  for (long n = 0; !done; n++) {
    struct failing f = {n, 0};
    struct nvmini_allocator a = {failing_resize, &f};
    done = run_with(&a, ptx, length);
    assert_int_equal(f.held, 0);
    assert_true(n < 10000);
  }
}

static void test_failing_allocator(void **state) {
  (void)state;
  struct fixture f;
  struct nvmini_text ptx;
  fail_everywhere(NULL, 0);
  start(&f);
  assert_int_equal(nvmini_compile(f.module, &ptx), NVMINI_OK);
  fail_everywhere(ptx.bytes, ptx.length);
  end(&f);
}

/* Parses and runs `scale` on more threads than it has data for: a finding with its message, or out
 * of memory. */
static bool find_with(const struct nvmini_allocator *a) {
  struct fixture f = {.context = nvmini_create(a, 0)};
  float *data;
  if (f.context == NULL) return false;
  enum nvmini_status status = nvmini_set_option(f.context, "--cpu=sm_80");
  if (status == NVMINI_OK)
    status = nvmini_parse(f.context, program, sizeof program - 1, "t", &f.module);
  if (status == NVMINI_OK) status = nvmini_load(f.module, &f.machine);
  if (status == NVMINI_OK) status = scale(&f, 5, &data, false);
  assert_int_equal(f.seen.findings, status == NVMINI_REFUSED);
  if (status == NVMINI_REFUSED) assert_string_not_equal(f.seen.message, "");
  else assert_int_equal(status, NVMINI_OUT_OF_MEMORY);
  nvmini_unload(f.machine);
  nvmini_release(f.module);
  nvmini_destroy(f.context);
  return status == NVMINI_REFUSED;
}

static void test_finding_without_memory(void **state) {
  (void)state;
  bool done = false;
  for (long n = 0; !done; n++) {
    struct failing f = {n, 0};
    struct nvmini_allocator a = {failing_resize, &f};
    done = find_with(&a);
    assert_int_equal(f.held, 0);
  }
}

static void test_memory_limit(void **state) {
  (void)state;
  struct nvmini_context *c = nvmini_create(NULL, 1000000);
  struct nvmini_module *m;
  struct nvmini_machine *machine;
  assert_int_equal(nvmini_set_option(c, "--cpu=sm_90a"), NVMINI_OK);
  assert_int_equal(nvmini_parse(c, program, sizeof program - 1, "t", &m), NVMINI_OK);
  assert_int_equal(nvmini_load(m, &machine), NVMINI_OK);
  assert_int_equal(nvmini_allocate(machine, 2000000, 1), 0);
  assert_true(nvmini_memory_peak(c) <= 1000000);
  nvmini_unload(machine);
  nvmini_release(m);
  nvmini_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run),
      cmocka_unit_test(test_many_launches),
      cmocka_unit_test(test_finding),
      cmocka_unit_test(test_checks),
      cmocka_unit_test(test_output_and_variables),
      cmocka_unit_test(test_uninitialized),
      cmocka_unit_test(test_kernels),
      cmocka_unit_test(test_step_limit),
      cmocka_unit_test(test_bad_launch),
      cmocka_unit_test(test_bad_ptx),
      cmocka_unit_test(test_compiled_module),
      cmocka_unit_test(test_failing_allocator),
      cmocka_unit_test(test_finding_without_memory),
      cmocka_unit_test(test_memory_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
