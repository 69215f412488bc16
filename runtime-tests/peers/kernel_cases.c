/* Executes every kernel of a module on made-up arguments, as IR and as the PTX of several levels,
 * and compares what it leaves, bit by bit. check_kernels.py calls it, once a module:
 *
 *   kernel_cases MODULE --cpu CPU --levels O1,O2,O3 [--only KERNEL] [--ptx FOLDER]
 *   kernel_cases MODULE --measure --levels O3 --beside clang=FILE.ptx
 *
 * One line per fact, fields separated by tabs:
 *   refused  LEVEL MESSAGE                        the module does not compile
 *   bug      LEVEL MESSAGE                        an internal compiler error
 *   none     KERNEL FILLING REASON                no case: a finding at -O0, or results depend on
 *                                                 the order of threads
 *   same     KERNEL FILLING SHAPE LEVEL
 *   differs  KERNEL FILLING SHAPE LEVEL MESSAGE
 *   counted  KERNEL FILLING SHAPE LEVEL WARP_INSTRUCTIONS    with --measure
 * "ir" is the unoptimized IR, compared with the PTX of -O0 like the levels.
 *
 * Two blocks of 64 threads, or of the size that the kernel requires or at most allows if that is
 * smaller; a kernel with a finding there gets other shapes, down to a single thread, before it is
 * no case. --measure compares nothing: it counts what each level and each PTX
 * text beside them executes, in the first filling and shape that is without a finding as IR. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launch_bounds.h"
#include "api/module.h"
#include "kernel_arguments.h"
#include "nvmini.h"
#include "ptx/parse.h"
#include "sim/sim.h"

enum { MAX_LEVELS = 10, OFFSET_BITS = 36 };
static const uint64_t STEP_LIMIT = 1500000, SHARED_BYTES = 49152, MACHINE_BYTES = (uint64_t)3 << 30;

struct shape {
  uint32_t blocks, x, y;
};
static const struct shape shapes[] = {{2, 64, 1}, {2, 8, 8},  {2, 16, 16}, {2, 256, 1}, {2, 32, 1},
                                      {1, 64, 1}, {1, 32, 8}, {1, 32, 1},  {2, 1, 1},   {1, 1, 1}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], USUAL_THREADS = 64 };

/* A module compiled at one level, or at none ("ir"). */
struct level {
  const char *name;
  struct nvmini_context *context;
  struct nvmini_module *module;
  struct nvmini_text text; /* PTX */
  struct arena arena;
  struct strtab strings;
  struct ptx_module ptx;
  char refusal[300];
  const char *path; /* of PTX that another compiler wrote */
  bool is_ir, works;
};

/* --- clocks ------------------------------------------------------------------------------------
 */

static bool names_clock(struct nvm_text text) {
  static const char *const names[] = {"clock", "globaltimer", "steadycounter"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
    for (size_t i = 0, n = strlen(names[k]); i + n <= text.length; i++)
      if (memcmp(text.bytes + i, names[k], n) == 0) return true;
  return false;
}

/* Whether f, or what it calls, reads a clock: intrinsic or inline assembly. */
static bool reads_clock(const struct nvm_module *m, const struct nvm_function *f, bool *seen) {
  for (uint32_t i = 1; i < f->insts.count; i++) {
    const struct nvm_inst *in = &f->insts.data[i];
    if (block_is_none(in->block) || in->op != OP_CALL) continue;
    struct nvm_value callee = call_callee(f, in);
    bool is_asm = value_kind(callee) == VALUE_CONST &&
                  constant_info(&m->constants, callee)->kind == CONST_ASM;
    if (is_asm && names_clock(module_text(m, constant_info(&m->constants, callee)->str)))
      return true;
    if (value_kind(callee) != VALUE_FUNCTION) continue;
    const struct nvm_function *g = module_function(m, callee);
    if (g->intrinsic && names_clock(module_text(m, g->symbol.name))) return true;
    if (seen[value_index(callee)] || function_is_declaration(g)) continue;
    seen[value_index(callee)] = true;
    if (reads_clock(m, g, seen)) return true;
  }
  return false;
}

/* --- running -----------------------------------------------------------------------------------
 */

struct outcome {
  struct sim *sim;
  char finding[400]; /* empty: ran to its end */
};

static void end(struct outcome *o) {
  if (o->sim) sim_destroy(o->sim);
  o->sim = NULL;
}

static void keep_finding(struct outcome *o, enum nvm_status status) {
  const struct sim_finding *f = sim_found(o->sim);
  if (status == NVM_OUT_OF_MEMORY)
    snprintf(o->finding, sizeof o->finding, "memory: of this machine");
  else
    snprintf(o->finding, sizeof o->finding, "%s: block %u,%u thread %u,%u line %u: %.*s",
             sim_finding_name(f->kind), f->block[0], f->block[1], f->thread[0], f->thread[1],
             f->line, (int)f->message.length, f->message.bytes);
}

enum strictness { RESULT_ONLY, ALL_CHECKS, COUNTED };

/* Buffers first, so that they have the same addresses in every machine. */
static struct outcome execute(const struct instance *c, struct level *l, struct shape shape,
                              enum strictness how, uint64_t seed, uint64_t steps) {
  struct outcome o = {.sim = sim_create(nvm_default_allocator, MACHINE_BYTES)};
  if (!o.sim || !instance_place(c, o.sim)) {
    snprintf(o.finding, sizeof o.finding, "memory: of this machine");
    return o;
  }
  enum nvm_status s =
      l->is_ir ? sim_load_ir(o.sim, module_of_handle(l->module), (struct nvm_text){"", 0})
               : sim_load(o.sim, &l->ptx);
  if (s == NVM_OK) {
    instance_set_variables(c, o.sim);
    struct sim_launch launch = {.kernel = module_text(c->m, c->f->symbol.name),
                                .grid = {shape.blocks, 1, 1},
                                .arguments = c->arguments,
                                .argument_bytes = c->sizes,
                                .argument_count = c->argument_count,
                                .step_limit = steps,
                                .block = {shape.x, shape.y, 1},
                                .shared_bytes = SHARED_BYTES,
                                .random_schedule = seed != 0,
                                .seed = seed};
    launch.check_races = launch.check_uninitialized = launch.check_division = how == ALL_CHECKS;
    launch.count = how == COUNTED;
    s = sim_launch(o.sim, &launch);
  }
  if (s != NVM_OK) keep_finding(&o, s);
  return o;
}

struct piece {
  const char *what;
  uint32_t number;
  const uint8_t *a, *b;
  uint64_t size;
};

/* Whether 8 bytes are addresses of the same place: objects that the kernel or the module made have
 * other numbers in another machine. */
static bool is_same_place(const struct outcome *a, const struct outcome *b, const uint8_t *x,
                          const uint8_t *y) {
  uint64_t p, q, offset = (UINT64_C(1) << OFFSET_BITS) - 1;
  memcpy(&p, x, 8);
  memcpy(&q, y, 8);
  return (p & offset) == (q & offset) && sim_memory(a->sim, p, 0) && sim_memory(b->sim, q, 0);
}

/* Writes into `message` how b differs from a; false if it does not. */
static bool bytes_differ(const struct outcome *a, const struct outcome *b, struct piece p,
                         char *message, size_t room) {
  uint64_t first = p.size, count = 0;
  if (memcmp(p.a, p.b, p.size) == 0) return false;
  for (uint64_t i = 0; i < p.size; i++) {
    uint64_t word = i & ~UINT64_C(7);
    if (p.a[i] == p.b[i] || (word + 8 <= p.size && is_same_place(a, b, p.a + word, p.b + word)))
      continue;
    if (count++ == 0) first = i & ~UINT64_C(3);
  }
  if (count == 0) return false;
  uint32_t x = 0, y = 0;
  float fx, fy;
  memcpy(&x, p.a + first, p.size - first < 4 ? p.size - first : 4);
  memcpy(&y, p.b + first, p.size - first < 4 ? p.size - first : 4);
  memcpy(&fx, &x, 4);
  memcpy(&fy, &y, 4);
  snprintf(message, room, "%s %u, byte %" PRIu64 " (%" PRIu64 " in all): %08x (%g), not %08x (%g)",
           p.what, p.number, first, count, y, (double)fy, x, (double)fx);
  return true;
}

static bool outcomes_differ(const struct instance *c, const struct outcome *a,
                            const struct outcome *b, char *message, size_t room) {
  if (*b->finding) {
    snprintf(message, room, "ends with %s", b->finding);
    return true;
  }
  for (uint32_t i = 0; i < c->buffer_count; i++)
    if (bytes_differ(a, b,
                     (struct piece){
                         "buffer", i, sim_memory(a->sim, addresses[i], c->buffers[i].size),
                         sim_memory(b->sim, addresses[i], c->buffers[i].size), c->buffers[i].size},
                     message, room))
      return true;
  for (uint32_t i = 0; i < c->variables.count; i++) {
    const struct variable *v = &c->variables.data[i];
    uint64_t x = sim_symbol(a->sim, v->name, NULL), y = sim_symbol(b->sim, v->name, NULL);
    const uint8_t *p = x ? sim_memory(a->sim, x, v->size) : NULL,
                  *q = y ? sim_memory(b->sim, y, v->size) : NULL;
    if (p && q && bytes_differ(a, b, (struct piece){"variable", i, p, q, v->size}, message, room))
      return true;
  }
  struct nvm_text x = sim_output(a->sim), y = sim_output(b->sim);
  bool same =
      x.length == y.length && memcmp(x.bytes ? x.bytes : "", y.bytes ? y.bytes : "", x.length) == 0;
  if (!same) snprintf(message, room, "prints another text");
  return !same;
}

/* --- cases -------------------------------------------------------------------------------------
 */

struct levels {
  struct level all[MAX_LEVELS]; /* ir, O0, then those to compare */
  uint32_t count;
};

enum { SCHEDULES = 2 };

static bool depends_on_order(const struct instance *c, struct level *l, struct shape shape,
                             const struct outcome *fixed) {
  char message[500];
  bool differs = false;
  for (uint64_t seed = 1; seed <= SCHEDULES && !differs; seed++) {
    struct outcome other = execute(c, l, shape, RESULT_ONLY, seed, 2 * STEP_LIMIT);
    differs = outcomes_differ(c, fixed, &other, message, sizeof message);
    end(&other);
  }
  return differs;
}

/* Whether the kernel may be compared in this shape: no finding as IR and at -O0, and one result
 * whatever the order of its threads. Both outcomes are the caller's to end. */
static bool is_case(const struct instance *c, struct levels *l, struct shape shape,
                    struct outcome *ir, struct outcome *base, char *reason, size_t room) {
  *base = (struct outcome){0};
  *ir = execute(c, &l->all[0], shape, ALL_CHECKS, 0, STEP_LIMIT);
  if (*ir->finding) {
    snprintf(reason, room, "%s", ir->finding);
    return false;
  }
  *base = execute(c, &l->all[1], shape, ALL_CHECKS, 0, 2 * STEP_LIMIT);
  if (*base->finding) {
    snprintf(reason, room, "PTX of -O0: %s", base->finding);
    return false;
  }
  if (!depends_on_order(c, &l->all[0], shape, ir) && !depends_on_order(c, &l->all[1], shape, base))
    return true;
  snprintf(reason, room, "order: the result depends on the order of threads");
  return false;
}

static void compare(const struct instance *c, struct level *l, struct shape shape, const char *name,
                    struct outcome *base, struct outcome *other) {
  char message[500];
  struct nvm_text kernel = module_text(c->m, c->f->symbol.name);
  bool differs = outcomes_differ(c, base, other, message, sizeof message);
  printf("%s\t%.*s\t%s\t%u of %ux%u\t%s%s%s\n", differs ? "differs" : "same", (int)kernel.length,
         kernel.bytes, name, shape.blocks, shape.x, shape.y, l->name, differs ? "\t" : "",
         differs ? message : "");
}

/* The shape that the bounds of the kernel's launch ask for; no blocks: none in particular. */
static struct shape bounded_shape(struct instance *c) {
  uint32_t exact[3] = {0}, most;
  const struct annotations *all = annotations_read(c->m, &c->arena);
  if (!all) abort();
  struct nvm_value kernel = module_find_symbol(c->m, c->f->symbol.name);
  launch_bounds_triple(all, kernel, "nvvm.reqntid", launch_bounds_required, exact);
  if (exact[0] && exact[2] == 1) return (struct shape){2, exact[0], exact[1]};
  most = launch_bounds_threads(all, kernel);
  return (struct shape){most && most < USUAL_THREADS ? 2 : 0, most, 1};
}

static void run_filling(struct levels *l, struct instance *c, int filling) {
  struct nvm_text kernel = module_text(c->m, c->f->symbol.name);
  char first[600] = "", reason[600];
  bool *seen = arena_alloc(&c->arena, c->m->functions.count * sizeof *seen);
  if (!seen) abort();
  if (reads_clock(c->m, c->f, seen)) {
    printf("none\t%.*s\t%s\tclock: the kernel reads one\n", (int)kernel.length, kernel.bytes,
           filling_names[filling]);
    return;
  }
  struct shape bounded = bounded_shape(c);
  for (int i = bounded.blocks ? -1 : 0; i < SHAPES; i++) {
    struct shape shape = i < 0 ? bounded : shapes[i];
    struct outcome ir, base;
    bool usable = is_case(c, l, shape, &ir, &base, reason, sizeof reason);
    if (usable) {
      compare(c, &l->all[0], shape, filling_names[filling], &base, &ir);
      for (uint32_t k = 2; k < l->count; k++) {
        if (!l->all[k].works) continue;
        struct outcome o = execute(c, &l->all[k], shape, RESULT_ONLY, 0, 8 * STEP_LIMIT);
        compare(c, &l->all[k], shape, filling_names[filling], &base, &o);
        end(&o);
      }
    } else if (!*first) memcpy(first, reason, sizeof first);
    end(&ir);
    end(&base);
    if (usable) return;
    if (strncmp(reason, "unsupported", 11) == 0) break;
  }
  printf("none\t%.*s\t%s\t%s\n", (int)kernel.length, kernel.bytes, filling_names[filling], first);
}

/* --- measuring -------------------------------------------------------------------------------- */

static void count_level(const struct instance *c, struct level *l, struct shape shape) {
  struct nvm_text kernel = module_text(c->m, c->f->symbol.name);
  struct outcome o = execute(c, l, shape, COUNTED, 0, 8 * STEP_LIMIT);
  printf("%s\t%.*s\t%s\t%u of %ux%u\t%s\t", *o.finding ? "differs" : "counted", (int)kernel.length,
         kernel.bytes, filling_names[c->filling], shape.blocks, shape.x, shape.y, l->name);
  if (*o.finding) printf("%s\n", o.finding);
  else printf("%" PRIu64 "\n", sim_counted(o.sim)->warp_instructions);
  end(&o);
}

/* True: the kernel has been counted. */
static bool measure_filling(struct levels *l, struct instance *c) {
  struct shape bounded = bounded_shape(c);
  for (int i = bounded.blocks ? -1 : 0; i < SHAPES; i++) {
    struct shape shape = i < 0 ? bounded : shapes[i];
    struct outcome ir = execute(c, &l->all[0], shape, ALL_CHECKS, 0, STEP_LIMIT);
    bool usable = !*ir.finding;
    end(&ir);
    for (uint32_t k = 2; usable && k < l->count; k++)
      if (l->all[k].works) count_level(c, &l->all[k], shape);
    if (usable) return true;
  }
  return false;
}

/* --- modules ---------------------------------------------------------------------------------- */

static void run_kernel(struct levels *l, struct nvm_module *m, const struct nvm_function *f,
                       bool measures) {
  bool is_done = false;
  for (int filling = 0; filling < FILLINGS && !is_done; filling++) {
    struct instance c;
    if (!make_instance(&c, m, f, filling)) is_done = true;
    else if (measures) is_done = measure_filling(l, &c);
    else run_filling(l, &c, filling);
    arena_free(&c.arena);
  }
}

static void run_module(struct levels *l, const char *only, bool measures) {
  struct nvm_module *m = module_of_handle(l->all[0].module);
  for (uint32_t i = 1; i < m->functions.count; i++) {
    const struct nvm_function *f = m->functions.data[i];
    if (!function_is_kernel(f) || function_is_declaration(f)) continue;
    struct nvm_text name = module_text(m, f->symbol.name);
    if (only && (strlen(only) != name.length || memcmp(only, name.bytes, name.length) != 0))
      continue;
    run_kernel(l, m, f, measures);
    fflush(stdout);
  }
}

/* --- loading -----------------------------------------------------------------------------------
 */

static void keep_message(void *user, const struct nvmini_diagnostic *d) {
  struct level *l = user;
  if (d->severity == NVMINI_ERROR && !*l->refusal)
    snprintf(l->refusal, sizeof l->refusal, "%.*s", (int)d->message.length, d->message.bytes);
}

static void set_option(struct level *l, const char *prefix, const char *value) {
  char text[100];
  snprintf(text, sizeof text, "%s%s", prefix, value);
  if (nvmini_set_option(l->context, text) != NVMINI_OK) {
    fprintf(stderr, "kernel_cases: bad option %s\n", text);
    exit(2);
  }
}

static bool parse_ptx(struct level *l) {
  struct ptx_parse_error error;
  arena_init(&l->arena, nvm_default_allocator);
  if (!strtab_init(&l->strings, &l->arena)) return false;
  l->ptx.arena = &l->arena;
  l->ptx.strings = &l->strings;
  if (ptx_parse_module((struct nvm_text){l->text.bytes, l->text.length}, &l->ptx, &error) == NVM_OK)
    return true;
  snprintf(l->refusal, sizeof l->refusal, "our own PTX, line %u: %.*s", error.line,
           (int)error.message.length, error.message.bytes);
  return false;
}

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) exit(2);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  if (!text || fread(text, 1, *length, file) != *length) exit(2);
  text[*length] = 0;
  fclose(file);
  return text;
}

static void load_ptx(struct level *l) {
  size_t length;
  char *text = read_file(l->path, &length);
  l->text = (struct nvmini_text){text, length};
  l->works = parse_ptx(l);
  if (!l->works) printf("refused\t%s\t%s\n", l->name, l->refusal);
}

static void load(struct level *l, const char *text, size_t length, const char *cpu, bool measures) {
  l->context = nvmini_create(NULL, 0);
  if (!l->context) abort();
  nvmini_on_diagnostic(l->context, keep_message, l);
  set_option(l, "--cpu=", cpu);
  if (!measures) set_option(l, "--fma-level=", "0");
  set_option(l, "-", l->is_ir ? "O0" : l->name);
  if (l->is_ir) set_option(l, "--passes=", "nvvm-reflect");
  enum nvmini_status s = nvmini_parse(l->context, text, length, "module", &l->module);
  if (s == NVMINI_OK)
    s = l->is_ir ? nvmini_optimize(l->module) : nvmini_compile(l->module, &l->text);
  l->works = s == NVMINI_OK && (l->is_ir || parse_ptx(l));
  if (!l->works)
    printf("%s\t%s\t%s\n", s == NVMINI_BUG ? "bug" : "refused", l->name,
           *l->refusal ? l->refusal : "without a message");
}

static void save(const struct level *l, const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.ptx", folder, l->name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(l->text.bytes, 1, l->text.length, file) != l->text.length ||
      fclose(file) != 0)
    exit(2);
}

struct command {
  const char *module, *cpu, *only, *folder;
  char levels[200];
  bool measures, is_wrong;
};

static void add_level(struct levels *l, const char *name, const char *path) {
  if (l->count < MAX_LEVELS) l->all[l->count++] = (struct level){.name = name, .path = path};
}

/* NAME=FILE; the text is cut in two. */
static void add_beside(struct levels *l, char *text) {
  char *path = strchr(text, '=');
  if (!path) return;
  *path = 0;
  add_level(l, text, path + 1);
}

static struct command read_command(int argc, char **argv, struct levels *l) {
  struct command c = {.cpu = "sm_90", .levels = "O1,O2,O3", .is_wrong = argc < 2};
  c.module = argv[1];
  for (int i = 2; i < argc; i++) {
    bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--measure") == 0) c.measures = true;
    else if (!has_value) c.is_wrong = true;
    else if (strcmp(argv[i], "--cpu") == 0) c.cpu = argv[++i];
    else if (strcmp(argv[i], "--only") == 0) c.only = argv[++i];
    else if (strcmp(argv[i], "--ptx") == 0) c.folder = argv[++i];
    else if (strcmp(argv[i], "--beside") == 0) add_beside(l, argv[++i]);
    else if (strcmp(argv[i], "--levels") == 0) snprintf(c.levels, sizeof c.levels, "%s", argv[++i]);
    else c.is_wrong = true;
  }
  return c;
}

int main(int argc, char **argv) {
  static struct levels l = {{{.name = "ir", .is_ir = true}, {.name = "O0"}}, 2};
  struct command c = read_command(argc, argv, &l);
  if (c.is_wrong) {
    fprintf(stderr,
            "usage: kernel_cases MODULE [--cpu CPU] [--levels LIST] [--only KERNEL] "
            "[--ptx FOLDER] [--measure] [--beside NAME=FILE]\n");
    return 2;
  }
  for (char *name = strtok(c.levels, ","); name; name = strtok(NULL, ","))
    add_level(&l, name, NULL);
  size_t length;
  char *text = read_file(c.module, &length);
  for (uint32_t i = 0; i < l.count; i++) {
    struct level *level = &l.all[i];
    if (level->path) load_ptx(level);
    else load(level, text, length, c.cpu, c.measures);
    if (c.folder && !level->path && !level->is_ir && level->works) save(level, c.folder);
  }
  note_addresses();
  if (l.all[0].works && l.all[1].works) run_module(&l, c.only, c.measures);
  printf("done\n");
  return 0;
}
