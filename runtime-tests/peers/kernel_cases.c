/* Executes every kernel of a module on made-up arguments, as IR and as the PTX of several levels,
 * and compares what it leaves, bit by bit. check_kernels.py calls it, once a module:
 *
 *   kernel_cases MODULE --cpu CPU --levels O1,O2,O3 [--only KERNEL] [--ptx FOLDER] [--trace]
 *
 * One line per fact, fields separated by tabs:
 *   refused  LEVEL MESSAGE                       the module does not compile
 *   none     KERNEL FILLING REASON               no case: a finding at -O0, or results depend on
 * the order same     KERNEL FILLING SHAPE LEVEL differs  KERNEL FILLING SHAPE LEVEL MESSAGE LEVEL
 * "ir" is the unoptimized IR, compared with the PTX of -O0 like the levels.
 *
 * Three fillings of the arguments: random numbers, 0 1 2 ..., small constants. What a pointer
 * points to is taken from how the kernel and the functions it calls use it; structures are filled
 * member by member. Two blocks of 64 threads; a kernel with a finding there gets other shapes, down
 * to a single thread, before it is no case. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/module.h"
#include "ir/evalfloat.h"
#include "ir/function.h"
#include "nvmini.h"
#include "ptx/parse.h"
#include "sim/sim.h"

enum {
  MAX_LEVELS = 10,
  MAX_BUFFERS = 64,
  MAX_ARGUMENTS = 256,
  FILLINGS = 3,
  BUFFER_BYTES = 1 << 19,
  OFFSET_BITS = 36,
  MAX_DEPTH = 8
};
static const uint64_t STEP_LIMIT = 1500000, SHARED_BYTES = 49152, MACHINE_BYTES = (uint64_t)3 << 30;
static const char *const filling_names[FILLINGS] = {"random", "iota", "constant"};

struct shape {
  uint32_t blocks, x, y;
};
static const struct shape shapes[] = {{2, 64, 1}, {2, 8, 8},  {2, 16, 16}, {2, 256, 1}, {2, 32, 1},
                                      {1, 64, 1}, {1, 32, 8}, {1, 32, 1},  {2, 1, 1},   {1, 1, 1}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

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
  bool is_ir, works;
};

struct buffer {
  uint8_t *bytes;
  uint64_t size;
};

/* A variable of the module that the host may write. */
struct variable {
  struct nvm_text name;
  uint8_t *bytes;
  uint64_t size;
};

/* A kernel with arguments. */
struct instance {
  struct nvm_module *m;
  const struct nvm_function *f;
  int filling;
  uint64_t random;
  struct arena arena;
  struct buffer buffers[MAX_BUFFERS];
  uint32_t buffer_count;
  const void *arguments[MAX_ARGUMENTS];
  uint64_t sizes[MAX_ARGUMENTS];
  uint32_t argument_count;
  VEC(struct variable) variables;
};

static uint64_t addresses[MAX_BUFFERS]; /* of the first allocations of any machine */

/* --- filling -------------------------------------------------------------------------------------
 */

static uint64_t next_random(struct instance *c) {
  c->random ^= c->random << 13;
  c->random ^= c->random >> 7;
  c->random ^= c->random << 17;
  return c->random >> 11;
}

static void put(uint8_t *at, uint64_t bits, uint64_t bytes) {
  for (uint64_t k = 0; k < bytes; k++) at[k] = k < 8 ? (uint8_t)(bits >> (8 * k)) : 0;
}

static uint64_t float_bits(double value, enum type_kind kind) {
  static const enum float_format formats[] = {[TY_HALF] = FLOAT_HALF,
                                              [TY_BFLOAT] = FLOAT_BFLOAT,
                                              [TY_FLOAT] = FLOAT_SINGLE,
                                              [TY_DOUBLE] = FLOAT_DOUBLE};
  uint64_t bits;
  memcpy(&bits, &value, 8);
  return evalfloat_convert(FLOAT_DOUBLE, formats[kind], EVALFLOAT_NEAREST, bits);
}

/* A number in memory: element `index` of a buffer. */
static uint64_t element_integer(struct instance *c, uint64_t index) {
  return c->filling == 0 ? next_random(c) % 48 : c->filling == 1 ? index : 2;
}
static double element_float(struct instance *c, uint64_t index) {
  return c->filling == 0   ? (double)(next_random(c) & 0xffffff) / 0x1000000
         : c->filling == 1 ? (double)index
                           : 0.5;
}

/* A number given to the kernel itself: mostly a size. */
static uint64_t scalar_integer(const struct instance *c, uint64_t index) {
  static const uint64_t sizes[3] = {16, 48, 5};
  return c->filling < 2 ? sizes[c->filling] : sizes[index % 3];
}
static double scalar_float(const struct instance *c, uint64_t index) {
  return c->filling == 0 ? 0.5 : c->filling == 1 ? 1.5 + (double)index : 3;
}

static uint64_t buffer_of(struct instance *c, struct nvm_type element, int depth);

/* Writes a value of the type. `is_scalar`: as an argument is, else as an element of a buffer. */
static void fill(struct instance *c, struct nvm_type type, uint64_t index, bool is_scalar,
                 uint8_t *at, int depth) {
  const struct type_table *t = &c->m->types;
  const struct nvm_layout *l = &c->m->layout;
  const struct type_info *info = type_info(t, type);
  enum type_kind kind = (enum type_kind)info->kind;
  if (kind == TY_STRUCT) {
    for (uint32_t i = 0; i < info->count; i++)
      fill(c, type_member(t, type, i), is_scalar ? index + i : index, is_scalar,
           at + layout_member_offset(l, t, type, i), depth + 1);
  } else if (kind == TY_ARRAY || kind == TY_VECTOR) {
    uint64_t step = layout_alloc_size(l, t, info->element);
    for (uint64_t i = 0; i < info->count; i++)
      fill(c, info->element, index * info->count + i, is_scalar && kind == TY_VECTOR, at + i * step,
           depth + 1);
  } else if (kind == TY_PTR) {
    put(at, buffer_of(c, TYPE_FLOAT, depth + 1), layout_store_size(l, t, type));
  } else if (kind == TY_INT) {
    uint64_t value = is_scalar ? scalar_integer(c, index) : element_integer(c, index);
    put(at, info->width == 1 ? value & 1 : value, layout_store_size(l, t, type));
  } else if (kind >= TY_HALF && kind <= TY_DOUBLE) {
    put(at, float_bits(is_scalar ? scalar_float(c, index) : element_float(c, index), kind),
        layout_store_size(l, t, type));
  }
}

/* The address of a new buffer of such elements; of the last one where there are enough. */
static uint64_t buffer_of(struct instance *c, struct nvm_type element, int depth) {
  if (c->buffer_count == MAX_BUFFERS || depth > MAX_DEPTH) return addresses[MAX_BUFFERS - 1];
  uint32_t number = c->buffer_count++;
  uint64_t bytes = layout_alloc_size(&c->m->layout, &c->m->types, element);
  uint64_t count = bytes < BUFFER_BYTES ? BUFFER_BYTES / bytes : 1;
  struct buffer *b = &c->buffers[number];
  *b = (struct buffer){arena_alloc(&c->arena, count * bytes), count * bytes};
  if (!b->bytes) abort();
  if (type_kind(&c->m->types, element) == TY_PTR) { /* all of them to one buffer */
    uint64_t target = buffer_of(c, TYPE_FLOAT, depth + 1);
    for (uint64_t i = 0; i < count; i++) put(b->bytes + i * bytes, target, bytes);
    return addresses[number];
  }
  for (uint64_t i = 0; i < count; i++) {
    uint32_t before = c->buffer_count;
    fill(c, element, i, false, b->bytes + i * bytes, depth);
    if (c->buffer_count == before) continue;
    for (uint64_t k = i + 1; k < count; k++)
      memcpy(b->bytes + k * bytes, b->bytes + i * bytes, bytes); /* pointers in it */
    break;
  }
  return addresses[number];
}

/* --- what pointers point to
 * ------------------------------------------------------------------------ */

/* By instruction, parameter + 1: what it is computed from; what the alloca holds. */
struct tags {
  uint32_t *is, *holds;
};

static uint32_t tag_of(const struct tags *t, struct nvm_value v) {
  if (value_kind(v) == VALUE_ARG) return value_index(v) + 1;
  return value_kind(v) == VALUE_INST ? t->is[value_index(v)] : 0;
}

static void tag_instruction(const struct nvm_function *f, uint32_t i, struct tags *t) {
  const struct nvm_inst *in = &f->insts.data[i];
  if (block_is_none(in->block)) return;
  if (in->op == OP_STORE && value_kind(inst_operand(f, in, 1)) == VALUE_INST)
    t->holds[value_index(inst_operand(f, in, 1))] = tag_of(t, inst_operand(f, in, 0));
  else if (in->op == OP_LOAD && value_kind(inst_operand(f, in, 0)) == VALUE_INST)
    t->is[i] = t->holds[value_index(inst_operand(f, in, 0))];
  else if (in->op == OP_GEP || in->op == OP_ADDRSPACECAST || in->op == OP_BITCAST)
    t->is[i] = tag_of(t, inst_operand(f, in, 0));
}

/* How sure a hint is: a byte may be anything. */
static void hint(const struct nvm_module *m, struct nvm_type type, struct nvm_type *known) {
  const struct type_info *info = type_info(&m->types, type);
  bool is_byte = info->kind == TY_INT && info->width == 8;
  if (!type_is_sized(&m->types, type) || layout_alloc_size(&m->layout, &m->types, type) == 0)
    return;
  if (type_equal(*known, TYPE_NONE) || (type_equal(*known, TYPE_I8) && !is_byte)) *known = type;
}

/* A pointer that is passed on is used as the callee uses it. */
static void find_in_call(const struct nvm_module *m, const struct nvm_function *f,
                         const struct nvm_inst *in, const struct tags *t, struct nvm_type *pointees,
                         struct arena *arena, int depth);

static void find_pointees(const struct nvm_module *m, const struct nvm_function *f,
                          struct nvm_type *pointees, struct arena *arena, int depth) {
  struct tags t = {arena_alloc(arena, f->insts.count * 4), arena_alloc(arena, f->insts.count * 4)};
  if (!t.is || !t.holds) abort();
  for (int round = 0; round < 3; round++)
    for (uint32_t i = 1; i < f->insts.count; i++) tag_instruction(f, i, &t);
  for (uint32_t i = 1; i < f->insts.count; i++) {
    const struct nvm_inst *in = &f->insts.data[i];
    if (block_is_none(in->block)) continue;
    uint32_t tag = in->op == OP_GEP || in->op == OP_LOAD ? tag_of(&t, inst_operand(f, in, 0))
                   : in->op == OP_STORE                  ? tag_of(&t, inst_operand(f, in, 1))
                                                         : 0;
    if (in->op == OP_CALL) find_in_call(m, f, in, &t, pointees, arena, depth);
    if (!tag || tag > MAX_ARGUMENTS) continue;
    struct nvm_type type = in->op == OP_GEP    ? (struct nvm_type){in->aux}
                           : in->op == OP_LOAD ? in->type
                                               : value_type(f, inst_operand(f, in, 0));
    hint(m, type, &pointees[tag - 1]);
  }
}

static void find_in_call(const struct nvm_module *m, const struct nvm_function *f,
                         const struct nvm_inst *in, const struct tags *t, struct nvm_type *pointees,
                         struct arena *arena, int depth) {
  struct nvm_value callee = call_callee(f, in);
  struct nvm_type theirs[MAX_ARGUMENTS] = {0};
  bool passes_one = false;
  uint32_t count = call_arg_count(f, in);
  if (value_kind(callee) != VALUE_FUNCTION || depth == MAX_DEPTH || count > MAX_ARGUMENTS) return;
  const struct nvm_function *g = module_function(m, callee);
  for (uint32_t k = 0; k < count; k++) passes_one |= tag_of(t, inst_operand(f, in, k)) != 0;
  if (!passes_one || function_is_declaration(g) || function_arg_count(g) > MAX_ARGUMENTS) return;
  find_pointees(m, g, theirs, arena, depth + 1);
  for (uint32_t k = 0; k < count; k++) {
    uint32_t tag = tag_of(t, inst_operand(f, in, k));
    if (tag && tag <= MAX_ARGUMENTS && !type_equal(theirs[k], TYPE_NONE))
      hint(m, theirs[k], &pointees[tag - 1]);
  }
}

/* --- clocks
 * ------------------------------------------------------------------------------------------ */

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

/* --- arguments
 * --------------------------------------------------------------------------------------- */

static void make_argument(struct instance *c, uint32_t i, struct nvm_type pointee) {
  const struct type_table *t = &c->m->types;
  struct nvm_type type = function_arg_type(c->f, i);
  struct nvm_attrset attributes = attrlist_parameter(&c->m->attributes, c->f->attributes, i);
  const struct nvm_attr *byval = attrset_find(&c->m->attributes, attributes, ATTR_BYVAL);
  bool is_struct = byval && type_is_sized(t, byval->type);
  if (is_struct) type = byval->type;
  uint64_t bytes = layout_alloc_size(&c->m->layout, t, type);
  uint8_t *at = arena_alloc(&c->arena, bytes);
  if (!at) abort();
  if (!is_struct && type_kind(t, type) == TY_PTR)
    put(at, buffer_of(c, type_equal(pointee, TYPE_NONE) ? TYPE_FLOAT : pointee, 0), bytes);
  else fill(c, type, i, true, at, 0);
  c->arguments[i] = at;
  c->sizes[i] = bytes;
}

static void make_variables(struct instance *c) {
  for (uint32_t i = 1; i < c->m->globals.count; i++) {
    const struct nvm_global *g = &c->m->globals.data[i];
    uint64_t bytes = type_is_sized(&c->m->types, g->value_type)
                         ? layout_alloc_size(&c->m->layout, &c->m->types, g->value_type)
                         : 0;
    if (!g->externally_initialized || g->is_alias || bytes == 0 || bytes > 16 * BUFFER_BYTES)
      continue;
    struct variable v = {module_text(c->m, g->symbol.name), arena_alloc(&c->arena, bytes), bytes};
    if (!v.bytes) abort();
    fill(c, g->value_type, i, true, v.bytes, 0);
    VEC_PUSH(&c->arena, &c->variables, v);
  }
}

static bool make_instance(struct instance *c, struct nvm_module *m, const struct nvm_function *f,
                          int filling) {
  *c = (struct instance){.m = m, .f = f, .filling = filling, .random = 0x9e3779b97f4a7c15};
  arena_init(&c->arena, nvm_default_allocator);
  c->argument_count = function_arg_count(f);
  if (c->argument_count > MAX_ARGUMENTS) return false;
  struct nvm_type pointees[MAX_ARGUMENTS] = {0};
  find_pointees(m, f, pointees, &c->arena, 0);
  for (uint32_t i = 0; i < c->argument_count; i++) make_argument(c, i, pointees[i]);
  make_variables(c);
  return true;
}

/* --- running
 * ----------------------------------------------------------------------------------------- */

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

static bool place_memory(const struct instance *c, struct sim *s) {
  for (uint32_t i = 0; i < c->buffer_count; i++) {
    if (sim_allocate(s, c->buffers[i].size, true) != addresses[i]) return false;
    memcpy(sim_memory(s, addresses[i], c->buffers[i].size), c->buffers[i].bytes,
           c->buffers[i].size);
  }
  return true;
}

static void set_variables(const struct instance *c, struct sim *s) {
  for (uint32_t i = 0; i < c->variables.count; i++) {
    const struct variable *v = &c->variables.data[i];
    uint64_t address = sim_symbol(s, v->name);
    uint8_t *at = address ? sim_memory(s, address, v->size) : NULL;
    if (at) memcpy(at, v->bytes, v->size);
  }
}

enum strictness { RESULT_ONLY, ALL_CHECKS };

/* Buffers first, so that they have the same addresses in every machine. */
static struct outcome execute(const struct instance *c, struct level *l, struct shape shape,
                              enum strictness how, uint64_t seed, uint64_t steps) {
  struct outcome o = {.sim = sim_create(nvm_default_allocator, MACHINE_BYTES)};
  if (!o.sim || !place_memory(c, o.sim)) {
    snprintf(o.finding, sizeof o.finding, "memory: of this machine");
    return o;
  }
  enum nvm_status s =
      l->is_ir ? sim_load_ir(o.sim, module_of_handle(l->module), (struct nvm_text){"", 0})
               : sim_load(o.sim, &l->ptx);
  if (s == NVM_OK) {
    set_variables(c, o.sim);
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
    uint64_t x = sim_symbol(a->sim, v->name), y = sim_symbol(b->sim, v->name);
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

/* --- cases
 * ------------------------------------------------------------------------------------------- */

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
  for (int i = 0; i < SHAPES; i++) {
    struct outcome ir, base;
    bool usable = is_case(c, l, shapes[i], &ir, &base, reason, sizeof reason);
    if (usable) {
      compare(c, &l->all[0], shapes[i], filling_names[filling], &base, &ir);
      for (uint32_t k = 2; k < l->count; k++) {
        if (!l->all[k].works) continue;
        struct outcome o = execute(c, &l->all[k], shapes[i], RESULT_ONLY, 0, 8 * STEP_LIMIT);
        compare(c, &l->all[k], shapes[i], filling_names[filling], &base, &o);
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

static void run_module(struct levels *l, const char *only) {
  struct nvm_module *m = module_of_handle(l->all[0].module);
  for (uint32_t i = 1; i < m->functions.count; i++) {
    const struct nvm_function *f = m->functions.data[i];
    if (!function_is_kernel(f) || function_is_declaration(f)) continue;
    struct nvm_text name = module_text(m, f->symbol.name);
    if (only && (strlen(only) != name.length || memcmp(only, name.bytes, name.length) != 0))
      continue;
    for (int filling = 0; filling < FILLINGS; filling++) {
      struct instance c;
      if (make_instance(&c, m, f, filling)) run_filling(l, &c, filling);
      arena_free(&c.arena);
    }
    fflush(stdout);
  }
}

/* --- loading
 * ----------------------------------------------------------------------------------------- */

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

static void load(struct level *l, const char *text, size_t length, const char *cpu) {
  l->context = nvmini_create(NULL, 0);
  if (!l->context) abort();
  nvmini_on_diagnostic(l->context, keep_message, l);
  set_option(l, "--cpu=", cpu);
  set_option(l, "--fma-level=", "0");
  set_option(l, "-", l->is_ir ? "O0" : l->name);
  if (l->is_ir) set_option(l, "--passes=", "nvvm-reflect");
  enum nvmini_status s = nvmini_parse(l->context, text, length, "module", &l->module);
  if (s == NVMINI_OK)
    s = l->is_ir ? nvmini_optimize(l->module) : nvmini_compile(l->module, &l->text);
  l->works = s == NVMINI_OK && (l->is_ir || parse_ptx(l));
  if (!l->works)
    printf("refused\t%s\t%s\n", l->name, *l->refusal ? l->refusal : "without a message");
}

static void save(const struct level *l, const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.ptx", folder, l->name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(l->text.bytes, 1, l->text.length, file) != l->text.length ||
      fclose(file) != 0)
    exit(2);
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

static void note_addresses(void) {
  struct sim *s = sim_create(nvm_default_allocator, 0);
  if (!s) abort();
  for (int i = 0; i < MAX_BUFFERS; i++) addresses[i] = sim_allocate(s, 1, true);
  sim_destroy(s);
}

int main(int argc, char **argv) {
  const char *cpu = "sm_90", *only = NULL, *folder = NULL;
  char names[200] = "O1,O2,O3";
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--cpu") == 0) cpu = argv[i + 1];
    else if (strcmp(argv[i], "--levels") == 0) snprintf(names, sizeof names, "%s", argv[i + 1]);
    else if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    else if (strcmp(argv[i], "--ptx") == 0) folder = argv[i + 1];
    else argc = 0;
  }
  if (argc < 2) {
    fprintf(
        stderr,
        "usage: kernel_cases MODULE [--cpu CPU] [--levels LIST] [--only KERNEL] [--ptx FOLDER]\n");
    return 2;
  }
  static struct levels l;
  l.all[0] = (struct level){.name = "ir", .is_ir = true};
  l.all[1].name = "O0";
  l.count = 2;
  for (char *name = strtok(names, ","); name && l.count < MAX_LEVELS; name = strtok(NULL, ","))
    l.all[l.count++].name = name;
  size_t length;
  char *text = read_file(argv[1], &length);
  for (uint32_t i = 0; i < l.count; i++) {
    load(&l.all[i], text, length, cpu);
    if (folder && !l.all[i].is_ir && l.all[i].works) save(&l.all[i], folder);
  }
  note_addresses();
  if (l.all[0].works && l.all[1].works) run_module(&l, only);
  printf("done\n");
  return 0;
}
