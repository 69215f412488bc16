/* Fuzzes sequences of calls of nvmini.h and of libNVVM's interface, in every order that the headers
 * permit. The first line of the input is a program: two characters a call, of which the first
 * chooses the function and the second its objects and arguments. What follows are texts, separated
 * by lines `;;;`: IR, bitcode, PTX and options alike.
 *
 * No call may end in an internal error, a release must free everything, and a size that is
 * announced must be the size that is written. */
#include "compat/nvvm.h"
#include "nvmini.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  MEMORY_LIMIT = 64 << 20,
  MAX_CALLS = 40,
  MAX_TEXTS = 8,
  MODULES = 4,
  MACHINES = 2,
  STEPS = 2000,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
  char *bytes; /* of its own, so that reading beyond its end is seen */
  size_t length;
};

struct state {
  struct nvmini_context *context;
  struct nvmini_module *modules[MODULES];
  struct nvmini_machine *machines[MACHINES];
  uint32_t loaded[MODULES];     /* machines that execute the module; they need it as it is */
  uint32_t module_of[MACHINES]; /* index + 1 */
  uint64_t address[MACHINES];
  nvvmProgram program;
  struct text texts[MAX_TEXTS];
  uint32_t text_count;
  uint64_t seen; /* bytes that callbacks were given */
};

/* ---- Callbacks read what they are given ---- */

static void read_bytes(struct state *s, struct nvmini_text t) {
  for (size_t i = 0; i < t.length; i++) s->seen += (unsigned char)t.bytes[i];
}

static void on_diagnostic(void *user, const struct nvmini_diagnostic *d) {
  struct state *s = user;
  read_bytes(s, d->message), read_bytes(s, d->function), read_bytes(s, d->hint);
  s->seen += strlen(d->id) + (d->name ? strlen(d->name) : 0);
  if (d->begin > d->end || d->end > d->source.length) abort();
}

static void on_text(void *user, struct nvmini_text t) { read_bytes(user, t); }

static void on_remark(void *user, const struct nvmini_remark *r) {
  struct state *s = user;
  s->seen += strlen(r->pass) + strlen(r->name);
  read_bytes(s, r->function), read_bytes(s, r->file);
  for (size_t i = 0; i < r->count; i++)
    read_bytes(s, r->arguments[i].key), read_bytes(s, r->arguments[i].value);
}

static void on_finding(void *user, const struct nvmini_finding *f) {
  struct state *s = user;
  s->seen += strlen(f->kind);
  read_bytes(s, f->message), read_bytes(s, f->kernel), read_bytes(s, f->function);
  read_bytes(s, f->source);
}

static void on_count(void *user, const char *name, uint64_t value) {
  ((struct state *)user)->seen += strlen(name) + (value & 1);
}

static enum nvmini_status expect(enum nvmini_status status) {
  if (status == NVMINI_BUG) abort();
  return status;
}

/* ---- Modules ---- */

static const struct text *text_at(const struct state *s, unsigned k) {
  return &s->texts[k % s->text_count];
}

static void parse(struct state *s, unsigned k) {
  unsigned slot = k % MODULES;
  const struct text *t = text_at(s, k / MODULES);
  if (s->modules[slot]) return;
  if (expect(nvmini_parse(s->context, t->bytes, t->length, "fuzz", &s->modules[slot])) !=
          NVMINI_OK &&
      s->modules[slot] != NULL)
    abort();
}

static void unload(struct state *s, unsigned machine) {
  if (s->module_of[machine]) s->loaded[s->module_of[machine] - 1]--;
  s->module_of[machine] = 0;
  nvmini_unload(s->machines[machine]);
  s->machines[machine] = NULL;
  s->address[machine] = 0;
}

static void release(struct state *s, unsigned slot) {
  for (unsigned i = 0; i < MACHINES; i++)
    if (s->module_of[i] == slot + 1) unload(s, i);
  nvmini_release(s->modules[slot]);
  s->modules[slot] = NULL;
}

/* After running out of memory a module can only be released. */
static void ends_module(struct state *s, unsigned slot, enum nvmini_status status) {
  if (expect(status) == NVMINI_OUT_OF_MEMORY) release(s, slot);
}

static void on_module(struct state *s, char call, unsigned k) {
  struct nvmini_text out = {"", 0};
  unsigned slot = k % MODULES, other = k / MODULES % MODULES;
  struct nvmini_module *m = s->modules[slot];
  if (m == NULL) return;
  bool changes = call == 'o' || call == 'C' || call == 'l' || call == 'L';
  if (changes && s->loaded[slot]) return; /* it must stay as it is */
  enum nvmini_status status = NVMINI_OK;
  switch (call) {
    case 'v': status = nvmini_check(m); break;
    case 'P': status = nvmini_print(m, &out); break;
    case 'G': status = nvmini_print_graphs(m, &out); break;
    case 'o': status = nvmini_optimize(m); break;
    case 'C': status = nvmini_compile(m, &out); break;
    case 'l':
      if (other != slot && s->modules[other]) status = nvmini_link(m, s->modules[other]);
      break;
    default:
      if (other != slot && s->modules[other]) status = nvmini_link_library(m, s->modules[other]);
  }
  if (status == NVMINI_OK) {
    read_bytes(s, out);
    if (out.bytes[out.length] != '\0') abort();
  }
  ends_module(s, slot, status);
}

/* ---- Machines ---- */

static void load(struct state *s, unsigned k) {
  unsigned i = k % MACHINES, slot = k / MACHINES % MODULES;
  if (s->machines[i] || !s->modules[slot]) return;
  if (expect(nvmini_load(s->modules[slot], &s->machines[i])) != NVMINI_OK) {
    if (s->machines[i]) abort();
    return;
  }
  s->module_of[i] = slot + 1;
  s->loaded[slot]++;
}

static void load_ptx(struct state *s, unsigned k) {
  unsigned i = k % MACHINES;
  const struct text *t = text_at(s, k / MACHINES);
  if (s->machines[i]) return;
  if (expect(nvmini_load_ptx(s->context, t->bytes, t->length, "ptx", &s->machines[i])) !=
          NVMINI_OK &&
      s->machines[i])
    abort();
}

static void allocate(struct state *s, unsigned k) {
  unsigned i = k % MACHINES;
  uint64_t bytes = k / MACHINES * 8;
  if (!s->machines[i]) return;
  uint64_t address = nvmini_allocate(s->machines[i], bytes, k % 3 != 0);
  if (address == 0) {
    unload(s, i);
    return;
  }
  void *memory = nvmini_memory(s->machines[i], address, bytes);
  if (address % 256 != 0 || memory == NULL) abort();
  memset(memory, (int)k, bytes);
  if (nvmini_memory(s->machines[i], address, bytes + 1) && bytes > 0) abort();
  s->address[i] = address;
}

static void launch(struct state *s, unsigned k) {
  enum { MAX_ARGUMENTS = 8, BYTES = 64 };
  unsigned i = k % MACHINES;
  uint32_t count;
  uint64_t values[MAX_ARGUMENTS][BYTES / 8], sizes[MAX_ARGUMENTS];
  const void *pointers[MAX_ARGUMENTS];
  if (!s->machines[i]) return;
  const struct nvmini_kernel *all = nvmini_kernels(s->machines[i], &count);
  const struct nvmini_kernel *kernel = count ? &all[k / 16 % count] : NULL;
  uint32_t wanted = kernel && kernel->count < MAX_ARGUMENTS ? kernel->count : MAX_ARGUMENTS;
  for (uint32_t a = 0; a < wanted; a++) {
    bool is_pointer = kernel && a < kernel->count && kernel->parameters[a].kind == NVMINI_POINTER;
    memset(values[a], 0, BYTES);
    values[a][0] = is_pointer ? s->address[i] : a + k % 4;
    sizes[a] = kernel && a < kernel->count && kernel->parameters[a].bytes <= BYTES
                   ? kernel->parameters[a].bytes
                   : 4;
    pointers[a] = values[a];
  }
  struct nvmini_launch l = {.kernel = kernel ? kernel->name : "none",
                            .grid = {k % 3, 1, 0},
                            .block = {k % 9, k % 2, 1},
                            .cluster = {k % 5 == 0, 0, 0},
                            .shared_bytes = k % 7 * 64,
                            .stack_bytes = 4096,
                            .step_limit = STEPS,
                            .arguments = pointers,
                            .argument_bytes = sizes,
                            .argument_count = wanted,
                            .no_checks = k % 11 == 0,
                            .random_schedule = k % 6 == 0,
                            .seed = k,
                            .user = s,
                            .finding = k % 13 ? on_finding : NULL,
                            .output = on_text,
                            .count = k % 2 ? on_count : NULL,
                            .trace = k % 4 == 0 ? on_text : NULL};
  if (expect(nvmini_launch(s->machines[i], &l)) == NVMINI_OUT_OF_MEMORY) unload(s, i);
}

static void variable(struct state *s, unsigned k) {
  uint64_t bytes = 0;
  unsigned i = k % MACHINES;
  uint64_t address =
      s->machines[i] ? nvmini_variable(s->machines[i], k % 4 ? "g" : "table", &bytes) : 0;
  if (address != 0 && nvmini_memory(s->machines[i], address, bytes) == NULL) abort();
}

/* ---- libNVVM ---- */

static void nvvm_text(struct state *s, bool is_log) {
  size_t size = 0;
  nvvmResult r = is_log ? nvvmGetProgramLogSize(s->program, &size)
                        : nvvmGetCompiledResultSize(s->program, &size);
  char *buffer = malloc(size + 1);
  if (r != NVVM_SUCCESS || buffer == NULL || size == 0) abort();
  buffer[size] = 'x';
  r = is_log ? nvvmGetProgramLog(s->program, buffer) : nvvmGetCompiledResult(s->program, buffer);
  if (r != NVVM_SUCCESS || buffer[size] != 'x' || buffer[size - 1] != '\0') abort();
  free(buffer);
}

static void nvvm_call(struct state *s, char call, unsigned k) {
  static const char *const options[] = {"-arch=compute_90", "-opt=3",      "-ftz=1", "-g",
                                        "-opt=0",           "-prec-div=0", "-x",     "-fma=0"};
  const struct text *t = text_at(s, k);
  const char *chosen[3] = {options[0], options[k % 8], options[k / 8 % 8]};
  nvvmResult r = NVVM_SUCCESS;
  if (s->program == NULL && nvvmCreateProgram(&s->program) != NVVM_SUCCESS) return;
  switch (call) {
    case '1':
      r = nvvmAddModuleToProgram(s->program, t->bytes, t->length, k % 2 ? "m" : NULL);
      break;
    case '2': r = nvvmLazyAddModuleToProgram(s->program, t->bytes, t->length, "lazy"); break;
    case '3': r = nvvmVerifyProgram(s->program, (int)(k % 4), chosen); break;
    case '4': r = nvvmCompileProgram(s->program, (int)(k % 4), chosen); break;
    case '5': nvvm_text(s, false); break;
    case '6': nvvm_text(s, true); break;
    case '7': nvvmDestroyProgram(&s->program); break;
    default: nvvmAddModuleToProgram(NULL, t->bytes, t->length, "none");
  }
  if (strlen(nvvmGetErrorString(r)) == 0) abort();
}

/* ---- One input ---- */

static void set_option(struct state *s, unsigned k) {
  static const char *const options[] = {"--cpu=sm_90a",
                                        "--cpu=sm_75",
                                        "-O0",
                                        "-O1",
                                        "-O2",
                                        "-O3",
                                        "--verify-each",
                                        "--ftz",
                                        "-g",
                                        "-arch=compute_80",
                                        "--print-changed",
                                        "--stats",
                                        "--passes=mem2reg,combine,gvn",
                                        "--only-function=k",
                                        "--knob=force-vector-width=4",
                                        "--time-passes"};
  unsigned count = sizeof options / sizeof *options;
  const char *option = k < count ? options[k] : text_at(s, k)->bytes;
  expect(nvmini_set_option(s->context, option));
}

static void set_callbacks(struct state *s, unsigned k) {
  nvmini_on_diagnostic(s->context, k & 1 ? on_diagnostic : NULL, s);
  nvmini_on_dump(s->context, k & 2 ? on_text : NULL, s);
  nvmini_on_remark(s->context, k & 4 ? on_remark : NULL, s);
  nvmini_on_plan(s->context, k & 8 ? on_text : NULL, s, (int)(k & 16));
}

static void call(struct state *s, char c, unsigned k) {
  if (c >= '0' && c <= '9') nvvm_call(s, c, k);
  else if (strchr("vPGoClL", c)) on_module(s, c, k);
  else if (c == 'p') parse(s, k);
  else if (c == 'r') release(s, k % MODULES);
  else if (c == 's') set_option(s, k);
  else if (c == 'c') set_callbacks(s, k);
  else if (c == 'm') load(s, k);
  else if (c == 'x') load_ptx(s, k);
  else if (c == 'u') unload(s, k % MACHINES);
  else if (c == 'a') allocate(s, k);
  else if (c == 'R') launch(s, k);
  else if (c == 'g') variable(s, k);
}

/* Cuts what follows the first line at lines `;;;`; each text is followed by a NUL. */
static void cut(struct state *s, const char *at, size_t size) {
  while (s->text_count < MAX_TEXTS) {
    size_t length = 0;
    while (length < size && (size - length < 5 || memcmp(at + length, "\n;;;\n", 5) != 0)) length++;
    struct text *t = &s->texts[s->text_count++];
    *t = (struct text){malloc(length + 1), length};
    if (t->bytes == NULL) abort();
    memcpy(t->bytes, at, length);
    t->bytes[length] = '\0';
    if (length == size) return;
    at += length + 5, size -= length + 5;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct state s = {.context = nvmini_create(NULL, MEMORY_LIMIT)};
  const char *text = size ? (const char *)data : "";
  const char *line = size ? memchr(text, '\n', size) : NULL;
  size_t calls = line ? (size_t)(line - text) : size;
  if (s.context == NULL) abort();
  cut(&s, text + calls + (line != NULL), size - calls - (line != NULL));
  for (size_t i = 0; i + 1 < calls && i < 2 * MAX_CALLS; i += 2)
    call(&s, text[i], (unsigned char)text[i + 1] - (text[i + 1] >= '0' ? '0' : 0u));
  for (unsigned i = 0; i < MACHINES; i++) unload(&s, i);
  for (unsigned i = 0; i < MODULES; i++) release(&s, i);
  nvmini_destroy(s.context);
  if (s.program) nvvmDestroyProgram(&s.program);
  for (uint32_t i = 0; i < s.text_count; i++) free(s.texts[i].bytes);
  return 0;
}
