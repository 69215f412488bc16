/* Fuzzes the reader of PTX text, its checker, its printer and the simulator of PTX: whatever the
 * bytes are, parsing ends with a status; what is accepted prints, parses and prints to the same
 * bytes; each instruction has a requirement or a fault that can be described; each kernel ends or
 * has a finding, on zeroed buffers, within a limited number of instructions. */
#include "ptx/check.h"
#include "ptx/parse.h"
#include "runtime-tests/unit/ptx_module_text.h"
#include "sim/sim.h"
#include "target/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MEMORY_LIMIT = 512 << 20,
  MACHINE_LIMIT = 64 << 20,
  STEPS = 2000, /* instructions of all threads */
  BUFFER_BYTES = 1024,
  MAX_PARAMETERS = 16,
  MAX_PARAMETER_BYTES = 256,
  MAX_KERNELS = 4,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
  struct arena arena;
  struct strtab strings;
  struct ptx_module module;
  struct ptx_parse_error error;
  enum nvm_status status;
};

static void read_text(struct reading *r, const char *text, size_t length) {
  memset(r, 0, sizeof *r);
  arena_init(&r->arena, nvm_default_allocator);
  r->arena.limit_bytes = MEMORY_LIMIT;
  if (!strtab_init(&r->strings, &r->arena)) abort();
  r->module.arena = &r->arena;
  r->module.strings = &r->strings;
  r->status = ptx_parse_module((struct nvm_text){text, length}, &r->module, &r->error);
  if (r->status == NVM_REFUSED && (r->error.message.length == 0 || r->error.end > length)) abort();
}

static const char *printed(struct reading *r, size_t *length) {
  struct textbuf out;
  textbuf_init(&out, &r->arena);
  print_module(&r->module, &out);
  *length = out.length;
  textbuf_char(&out, 0);
  return r->arena.failed ? NULL : out.bytes;
}

static void check_round_trip(struct reading *r) {
  size_t length, again_length;
  struct reading again;
  const char *once = printed(r, &length);
  if (once == NULL) return;
  read_text(&again, once, length);
  if (again.status == NVM_REFUSED) {
    fprintf(stderr, "the printed text is refused, line %u: %.*s\n%s\n", again.error.line,
            (int)again.error.message.length, again.error.message.bytes, once);
    abort();
  }
  const char *twice = again.status == NVM_OK ? printed(&again, &again_length) : NULL;
  if (twice != NULL && (length != again_length || memcmp(once, twice, length) != 0)) {
    fprintf(stderr, "printing changes the text\n--- once\n%s\n--- twice\n%s\n", once, twice);
    abort();
  }
  arena_free(&again.arena);
}

/* ---- The checker ---- */

static bool target_of(const struct reading *r, struct nvm_target *target) {
  struct tgt_options options = tgt_default_options();
  struct tgt_error error;
  struct nvm_text cpu = strtab_text(&r->strings, r->module.target);
  return tgt_set_cpu(&options, cpu.bytes, cpu.length, &error) == TGT_OK &&
         tgt_init(target, &options, &error) == TGT_OK;
}

static void check_function(const struct ptx_function *f, const struct nvm_target *target) {
  for (uint32_t i = 0; i < f->entries.count; i++) {
    const struct ptx_entry *e = &f->entries.data[i];
    struct ptx_need need;
    char bytes[200];
    struct textbuf out;
    if (ptx_check_entry(f, e, target, &need) != NVM_REFUSED) continue;
    if (need.fault != PTX_FAULT_TARGET) abort(); /* the parser takes rows of the table only */
    textbuf_init_fixed(&out, bytes, sizeof bytes);
    ptx_describe_need(f, e, target, &need, &out);
    if (out.length == 0) abort();
  }
}

/* ---- Execution ---- */

struct arguments {
  uint8_t bytes[MAX_PARAMETERS][MAX_PARAMETER_BYTES];
  const void *pointers[MAX_PARAMETERS];
  uint64_t sizes[MAX_PARAMETERS];
};

/* Pointers and 64-bit numbers are buffers, other values small numbers. */
static bool make_arguments(struct sim *s, const struct ptx_function *f, struct arguments *a) {
  memset(a, 0, sizeof *a);
  if (f->params.count > MAX_PARAMETERS) return false;
  for (uint32_t i = 0; i < f->params.count; i++) {
    uint64_t bytes = sim_parameter_bytes(&f->params.data[i]);
    if (bytes > MAX_PARAMETER_BYTES) return false;
    a->sizes[i] = bytes;
    a->pointers[i] = a->bytes[i];
    uint64_t value = bytes == 8 ? sim_allocate(s, BUFFER_BYTES, true) : 3;
    memcpy(a->bytes[i], &value, bytes < 8 ? bytes : 8);
  }
  return true;
}

static void run_kernels(struct reading *r) {
  static struct arguments a;
  struct sim *s = sim_create(nvm_default_allocator, MACHINE_LIMIT);
  const struct ptx_function *f;
  enum nvm_status status = s == NULL ? NVM_OUT_OF_MEMORY : sim_load(s, &r->module);
  for (uint32_t i = 0; status == NVM_OK && i < MAX_KERNELS; i++) {
    if ((f = sim_kernel_at(s, i)) == NULL) break;
    if (!make_arguments(s, f, &a)) continue;
    struct sim_launch launch = {.kernel = strtab_text(&r->strings, f->name),
                                .grid = {2, 1, 1},
                                .block = {8, 1, 1},
                                .shared_bytes = BUFFER_BYTES,
                                .stack_bytes = 4096,
                                .arguments = a.pointers,
                                .argument_bytes = a.sizes,
                                .argument_count = f->params.count,
                                .step_limit = STEPS,
                                .check_races = true,
                                .check_uninitialized = true,
                                .check_division = true};
    status = sim_launch(s, &launch);
    if (status == NVM_REFUSED && sim_found(s)->kind == SIM_NOTHING) abort();
    if (status == NVM_REFUSED && sim_found(s)->kind != SIM_MEMORY) status = NVM_OK;
  }
  sim_destroy(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct reading r;
  struct nvm_target target;
  char *text = malloc(size + 1);
  if (text == NULL) abort();
  memcpy(text, data, size);
  text[size] = '\0';
  read_text(&r, text, size);
  if (r.status == NVM_OK) {
    bool known = target_of(&r, &target);
    for (uint32_t i = 0; known && i < r.module.functions.count; i++)
      check_function(r.module.functions.data[i], &target);
    /* A header is not required of a text, but is always printed. */
    if (r.module.ptx_version != 0 && r.module.target.index != 0) check_round_trip(&r);
    run_kernels(&r);
  }
  arena_free(&r.arena);
  free(text);
  return 0;
}
