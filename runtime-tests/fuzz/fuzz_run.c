/* Fuzzes what compiled code computes: each kernel of the text is executed as IR, with all checks,
 * and as PTX of a level that the input chooses, on made-up arguments. If the IR ends without a
 * finding and its result does not depend on the order of threads, the PTX must leave the same bytes
 * in every buffer and print the same text.
 *
 * No case are kernels whose result LLVM's reference leaves open: freeze, undef, fast-math flags,
 * signs and payloads of NaNs, addresses that are stored or used as numbers, clocks, the lanes that
 * happen to be active, inline assembly but the texts of mutate/assembly.def whose results PTX
 * determines, module-level assembly, which can be text that is not PTX; nor are atomic accesses
 * with less than their natural alignment. */
#include "api/module.h"
#include "ir/intrinsic.h"
#include "options_line.h"
#include "ptx/parse.h"
#include "sim/sim.h"

#include <stdio.h>

#define KERNEL_BUFFER_BYTES 2048
#include "runtime-tests/peers/kernel_arguments.c"

enum {
  MEMORY_LIMIT = 512 << 20,
  MACHINE_LIMIT = 64 << 20,
  STEPS = 5000, /* instructions of all threads, as IR */
  BLOCKS = 2,
  THREADS = 8,
  SHARED_BYTES = 4096,
  MAX_KERNELS = 3,
  SCHEDULES = 2,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- What is no case ---- */

static bool text_has(struct nvm_text text, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; i + n <= text.length; i++)
    if (memcmp(text.bytes + i, word, n) == 0) return true;
  return false;
}

/* llvm.lifetime of anything but a variable of the frame: the bytes become undefined, and passes
 * remove stores to them. The simulator keeps them. */
static bool is_foreign_lifetime(const struct nvm_function *f, const struct nvm_inst *in,
                                struct nvm_text name) {
  uint32_t count = call_arg_count(f, in);
  return text_has(name, "llvm.lifetime.") && count > 0 &&
         !value_inst_of(f, inst_operand(f, in, count - 1), OP_ALLOCA);
}

/* Whether v is inline assembly of a row whose results are determined. */
static bool is_determined_assembly(const struct nvm_module *m, struct nvm_value v) {
  static const struct {
    const char *text, *constraints;
    bool determined;
  } rows[] = {
#define ASSEMBLY(text, constraints, types, determined) {text, constraints, determined},
#include "mutate/assembly.def"
  };
  if (value_kind(v) != VALUE_CONST) return false;
  const struct constant_info *c = constant_info(&m->constants, v);
  for (size_t k = 0; c->kind == CONST_ASM && k < sizeof rows / sizeof *rows; k++)
    if (text_is(module_text(m, c->str), rows[k].text) &&
        text_is(module_text(m, c->str2), rows[k].constraints))
      return rows[k].determined;
  return false;
}

/* Calls whose result or effect is not determined, or whose result is an address. */
static bool is_open_call(const struct nvm_module *m, const struct nvm_function *f,
                         const struct nvm_inst *in) {
  static const char *const words[] = {
      "clock",      "timer",     "activemask", "smid",     "warpid",    "objectsize", "is.constant",
      "isspacep",   "stacksave", "gridid",     "pm0",      "envreg",    "match",      "approx",
      "ex2",        "lg2",       "is.shared",  "is.local", "is.global", "nanosleep",  "mapa",
      "ptr.gen.to", "malloc",    "lanemask",   "copysign"}; /* the sign may be that of a NaN */
  const struct nvm_function *g = call_function(f, in);
  if (g == NULL) return !is_determined_assembly(m, call_callee(f, in)); /* or an indirect call */
  struct nvm_text name = module_text(m, g->symbol.name);
  if (is_foreign_lifetime(f, in, name)) return true;
  if (text_has(name, "llvm.nvvm.") && text_has(name, "approx")) return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (text_has(name, words[i])) return true;
  return false;
}

/* Null of shared, constant or local memory: there the first variable begins, which may be another
 * one in PTX. */
static bool is_window_null(const struct nvm_module *m, const struct constant_info *constant) {
  return constant->kind == CONST_NULL && type_info(&m->types, constant->type)->width > 1;
}

/* PTX has no atomic access that is not aligned to its size; nvmini warns, and writes it as if it
 * were. */
static bool is_misaligned_atomic(const struct nvm_module *m, const struct nvm_function *f,
                                 const struct nvm_inst *in) {
  bool is_access = in->op == OP_LOAD || in->op == OP_STORE;
  if (!is_access && in->op != OP_ATOMICRMW && in->op != OP_CMPXCHG) return false;
  struct memory_access how = memory_access_unpack(in->aux);
  if ((is_access && how.ordering == ORDER_NONE) || how.align_log2 == 0) return false;
  struct nvm_type type = in->op == OP_LOAD    ? in->type
                         : in->op == OP_STORE ? value_type(f, inst_operand(f, in, 0))
                                              : value_type(f, inst_operand(f, in, 1));
  return UINT64_C(1) << (how.align_log2 - 1) < layout_store_size(&m->layout, &m->types, type);
}

/* A load of, say, <3 x i33>, 99 bits, is undefined unless the same type was stored there. */
static bool is_load_of_part_of_byte(const struct nvm_module *m, const struct nvm_inst *in) {
  return in->op == OP_LOAD && layout_bits(&m->layout, &m->types, in->type) % 8 != 0;
}

static bool is_open(const struct nvm_module *m, const struct nvm_function *f,
                    const struct nvm_inst *in) {
  bool is_float = in->op >= OP_FADD && in->op <= OP_FREM;
  if (in->op == OP_CALL && is_open_call(m, f, in)) return true;
  if (is_misaligned_atomic(m, f, in) || is_load_of_part_of_byte(m, in)) return true;
  if (in->op == OP_FREEZE || in->op == OP_PTRTOINT || in->op == OP_INTTOPTR) return true;
  if ((is_float || in->op == OP_FCMP || in->op == OP_FNEG || in->op == OP_CALL) &&
      (in->flags & INST_FAST) != 0)
    return true;
  for (uint32_t k = 0; k < in->operand_count; k++) {
    struct nvm_value v = inst_operand(f, in, k);
    if (value_kind(v) != VALUE_CONST) continue;
    const struct constant_info *constant = constant_info(&m->constants, v);
    if (constant->kind == CONST_UNDEF || constant->kind == CONST_EXPR) return true;
    if (is_window_null(m, constant)) return true;
  }
  /* The bits of a NaN are not determined. */
  if (in->op == OP_BITCAST && type_is_int_or_vector(&m->types, in->type) &&
      type_is_float_or_vector(&m->types, value_type(f, inst_operand(f, in, 0))))
    return true;
  /* The bytes of an address are those of the machine that executes. */
  if (in->op != OP_ICMP && in->op != OP_STORE) return false;
  return type_kind(&m->types, value_type(f, inst_operand(f, in, 0))) == TY_PTR;
}

static bool module_is_open(const struct nvm_module *m) {
  if (m->module_asm.count > 0) return true;
  for (uint32_t i = 1; i < m->functions.count; i++) {
    const struct nvm_function *f = m->functions.data[i];
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, at)
        if (is_open(m, f, function_inst(f, at))) return true;
  }
  return false;
}

/* ---- Loading ---- */

struct program {
  struct nvmini_context *context;
  struct nvmini_module *module;
  struct arena arena;
  struct strtab strings;
  struct ptx_module ptx;
  bool is_ir;
};

static void set(struct nvmini_context *c, const char *option) {
  if (nvmini_set_option(c, option) == NVMINI_BUG) abort();
}

static bool begin(struct program *p, const char *text, size_t size) {
  memset(p, 0, sizeof *p);
  p->context = nvmini_create(NULL, MEMORY_LIMIT);
  arena_init(&p->arena, nvm_default_allocator);
  if (p->context == NULL) abort();
  set(p->context, size % 2 ? "--cpu=sm_90a" : "--cpu=sm_75");
  set(p->context, "--fma-level=0");
  if (nvmini_parse(p->context, text, size, "fuzz", &p->module) == NVMINI_BUG) abort();
  return p->module != NULL;
}

static void end_program(struct program *p) {
  nvmini_release(p->module);
  nvmini_destroy(p->context);
  arena_free(&p->arena);
}

static bool load_as_ir(struct program *p, const char *text, size_t size) {
  p->is_ir = begin(p, text, size);
  if (!p->is_ir || nvmini_check(p->module) != NVMINI_OK) return false;
  set(p->context, "-O0");
  set(p->context, "--passes=nvvm-reflect");
  return !module_is_open(module_of_handle(p->module)) && nvmini_optimize(p->module) == NVMINI_OK;
}

static bool load_as_ptx(struct program *p, const char *text, size_t size) {
  static const char *const levels[] = {"-O3", "-O2", "-O1", "-O0"};
  struct nvmini_text ptx;
  struct ptx_parse_error error;
  if (!begin(p, text, size)) return false;
  set(p->context, levels[size / 2 % 4]);
  (void)options_take_line(p->context, text);
  enum nvmini_status status = nvmini_compile(p->module, &ptx);
  if (status == NVMINI_BUG) abort();
  if (status != NVMINI_OK || !strtab_init(&p->strings, &p->arena)) return false;
  p->ptx.arena = &p->arena;
  p->ptx.strings = &p->strings;
  if (ptx_parse_module((struct nvm_text){ptx.bytes, ptx.length}, &p->ptx, &error) == NVM_OK)
    return true;
  fprintf(stderr, "our PTX is refused, line %u: %.*s\n%s\n", error.line, (int)error.message.length,
          error.message.bytes, ptx.bytes);
  abort();
}

/* ---- Execution ---- */

/* The end of local memory is that of the stack: there are no bounds between variables, which
 * the PTX may have in another order. */
static enum sim_finding_kind kind_found(const struct sim *s) {
  const struct sim_finding *f = sim_found(s);
  bool is_end = f->kind == SIM_OUT_OF_BOUNDS && text_has(f->message, "is not local memory");
  return is_end ? SIM_STACK_OVERFLOW : f->kind;
}

/* The machine after the launch, which the caller destroys; NULL: there was a finding, which is in
 * *kind. */
static struct sim *execute(const struct instance *c, struct program *p, uint64_t seed,
                           enum sim_finding_kind *kind) {
  struct sim *s = sim_create(nvm_default_allocator, MACHINE_LIMIT);
  enum nvm_status status = s && instance_place(c, s) ? NVM_OK : NVM_OUT_OF_MEMORY;
  if (status == NVM_OK)
    status = p->is_ir ? sim_load_ir(s, module_of_handle(p->module), (struct nvm_text){"", 0})
                      : sim_load(s, &p->ptx);
  if (status == NVM_OK) {
    struct sim_launch launch = {.kernel = module_text(c->m, c->f->symbol.name),
                                .grid = {BLOCKS, 1, 1},
                                .block = {THREADS, 1, 1},
                                .arguments = c->arguments,
                                .argument_bytes = c->sizes,
                                .argument_count = c->argument_count,
                                .step_limit = p->is_ir ? STEPS : 20 * STEPS,
                                .shared_bytes = SHARED_BYTES,
                                .random_schedule = seed != 0,
                                .seed = seed};
    instance_set_variables(c, s);
    launch.check_races = launch.check_uninitialized = launch.check_division = p->is_ir && !seed;
    status = sim_launch(s, &launch);
  }
  *kind = status == NVM_OUT_OF_MEMORY ? SIM_MEMORY : SIM_NOTHING;
  if (status == NVM_OK) return s;
  if (status == NVM_REFUSED) *kind = kind_found(s);
  if (s) sim_destroy(s);
  return NULL;
}

/* ---- Comparison ---- */

static bool are_nans(const uint8_t *a, const uint8_t *b, unsigned exponent_bits, unsigned bytes) {
  uint64_t x = 0, y = 0, sign = UINT64_C(1) << (bytes * 8 - 1);
  uint64_t infinity = sign - (UINT64_C(1) << (bytes * 8 - 1 - exponent_bits));
  memcpy(&x, a, bytes);
  memcpy(&y, b, bytes);
  return (x & (sign - 1)) > infinity && (y & (sign - 1)) > infinity;
}

/* Whether byte i is of NaNs of some type in both. */
static bool is_in_nans(const uint8_t *a, const uint8_t *b, uint64_t i, uint64_t size) {
  static const struct { unsigned bytes, exponent; } formats[] = {{2, 5}, {2, 8}, {4, 8}, {8, 11}};
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    uint64_t at = i - i % formats[k].bytes;
    if (at + formats[k].bytes <= size &&
        are_nans(a + at, b + at, formats[k].exponent, formats[k].bytes))
      return true;
  }
  return false;
}

/* The first byte that differs and is not poison in machine `s`, where `a` is at the address; `size`
 * if there is none. */
static uint64_t first_difference(const struct sim *s, uint64_t address, const uint8_t *a,
                                 const uint8_t *b, uint64_t size) {
  if (memcmp(a, b, size) == 0) return size;
  for (uint64_t i = 0; i < size; i++)
    if (a[i] != b[i] && !is_in_nans(a, b, i, size) && !sim_is_poison(s, address + i)) return i;
  return size;
}

/* Whether the machines hold the same bytes, except where `a`, which executed the IR, has poison;
 * prints how they differ if `prints`. */
static bool is_same(const struct instance *c, struct sim *a, struct sim *b, bool prints) {
  for (uint32_t i = 0; i < c->buffer_count; i++) {
    uint64_t size = c->buffers[i].size;
    const uint8_t *x = sim_memory(a, addresses[i], size), *y = sim_memory(b, addresses[i], size);
    uint64_t at = first_difference(a, addresses[i], x, y, size);
    if (at == size) continue;
    if (prints)
      fprintf(stderr, "buffer %u, byte %llu: IR %02x, PTX %02x\n", i, (unsigned long long)at, x[at],
              y[at]);
    return false;
  }
  struct nvm_text x = sim_output(a), y = sim_output(b);
  bool same = x.length == y.length && (x.length == 0 || memcmp(x.bytes, y.bytes, x.length) == 0);
  if (!same && prints)
    fprintf(stderr, "output: IR '%.*s', PTX '%.*s'\n", (int)x.length, x.bytes, (int)y.length,
            y.bytes);
  return same;
}

static bool depends_on_order(const struct instance *c, struct program *ir, struct sim *first) {
  enum sim_finding_kind kind;
  bool same = true;
  for (uint64_t seed = 1; seed <= SCHEDULES && same; seed++) {
    struct sim *other = execute(c, ir, seed, &kind);
    same = other != NULL && is_same(c, first, other, false);
    if (other) sim_destroy(other);
  }
  return !same;
}

/* Kernels that were executed as IR, and those whose result was compared with that of the PTX. */
static struct { uint64_t executed, compared; } counts;

__attribute__((destructor)) static void print_counts(void) {
  fprintf(stderr, "fuzz_run: %llu kernels executed, %llu of them compared with their PTX\n",
          (unsigned long long)counts.executed, (unsigned long long)counts.compared);
}

static void check_kernel(const struct instance *c, struct program *ir, struct program *ptx) {
  enum sim_finding_kind kind;
  struct sim *right = execute(c, ir, 0, &kind);
  counts.executed++;
  if (right == NULL) return;
  if (!depends_on_order(c, ir, right)) {
    struct sim *other = execute(c, ptx, 0, &kind);
    /* A wide division may take more steps as PTX than are granted. `.reqntid` and clusters are
     * properties of the PTX only. */
    bool is_case = kind != SIM_BAD_LAUNCH && kind != SIM_MEMORY && kind != SIM_UNSUPPORTED &&
                   kind != SIM_STACK_OVERFLOW && kind != SIM_STEP_LIMIT;
    if (is_case && other == NULL)
      fprintf(stderr, "the PTX has the finding %s\n", sim_finding_name(kind));
    if (is_case && (other == NULL || !is_same(c, right, other, true))) abort();
    counts.compared += is_case;
    if (other) sim_destroy(other);
  }
  sim_destroy(right);
}

/* Whether PTX has the name as it is; other characters are replaced. */
static bool is_ptx_name(struct nvm_text name) {
  for (size_t i = 0; i < name.length; i++) {
    char c = name.bytes[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return name.length > 0;
}

static void check_kernels(struct program *ir, struct program *ptx, size_t size) {
  struct nvm_module *m = module_of_handle(ir->module);
  uint32_t count = 0;
  for (uint32_t i = 1; i < m->functions.count && count < MAX_KERNELS; i++) {
    const struct nvm_function *f = m->functions.data[i];
    struct instance c;
    if (!function_is_kernel(f) || function_is_declaration(f)) continue;
    if (!is_ptx_name(module_text(m, f->symbol.name))) continue;
    count++;
    if (make_instance(&c, m, f, (int)(size / 8 % FILLINGS))) check_kernel(&c, ir, ptx);
    arena_free(&c.arena);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct program ir, ptx;
  char *text = malloc(size + 1);
  if (text == NULL) abort();
  if (addresses[1] == 0) note_addresses();
  memcpy(text, data, size);
  text[size] = '\0';
  if (load_as_ir(&ir, text, size)) {
    if (load_as_ptx(&ptx, text, size)) check_kernels(&ir, &ptx, size);
    end_program(&ptx);
  }
  end_program(&ir);
  free(text);
  return 0;
}
