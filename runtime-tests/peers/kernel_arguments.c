#include "kernel_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "ir/evalfloat.h"
#include "sim/sim.h"

#ifndef KERNEL_BUFFER_BYTES
#define KERNEL_BUFFER_BYTES (1 << 19)
#endif
enum { BUFFER_BYTES = KERNEL_BUFFER_BYTES, MAX_DEPTH = 8 };
const char *const filling_names[FILLINGS] = {"random", "iota", "constant"};

uint64_t addresses[MAX_BUFFERS]; /* of the first allocations of any machine */

/* --- filling ---------------------------------------------------------------------------------- */

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

static bool is_bool(const struct instance *c, struct nvm_type type, uint32_t member) {
  for (uint32_t k = 0; k < c->bools.count; k++)
    if (type_equal(c->bools.data[k].type, type) && c->bools.data[k].member == member) return true;
  return false;
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
    for (uint32_t i = 0; i < info->count; i++) {
      uint8_t *member = at + layout_member_offset(l, t, type, i);
      fill(c, type_member(t, type, i), is_scalar ? index + i : index, is_scalar, member, depth + 1);
      if (is_bool(c, type, i) && type_equal(type_member(t, type, i), TYPE_I8)) *member &= 1;
    }
  } else if (kind == TY_VECTOR && type_scalar_bits(t, info->element) % 8 != 0) { /* packed bits */
    put(at, 0x5, layout_store_size(l, t, type));
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

/* --- what is read as a bool --------------------------------------------------------------------
 */

/* Whether a byte is loaded whose !range is 0 to 1. */
static bool loads_bool(const struct nvm_function *f, const struct nvm_inst *in) {
  const struct nvm_module *m = f->module;
  const struct meta_node *n = in->op == OP_LOAD ? inst_range(f, in) : NULL;
  nvm_u128 begin, end;
  return n && n->count == 2 && type_equal(in->type, TYPE_I8) &&
         meta_is_int(m, meta_operand(&m->metadata, n, 0), &begin) && begin == 0 &&
         meta_is_int(m, meta_operand(&m->metadata, n, 1), &end) && end == 2;
}

/* Notes the member of a structure that is loaded. */
static void note_bool(struct instance *c, const struct nvm_function *f, const struct nvm_inst *in) {
  struct nvm_value pointer = inst_operand(f, in, 0);
  if (value_kind(pointer) != VALUE_INST) return;
  const struct nvm_inst *gep = &f->insts.data[value_index(pointer)];
  struct nvm_type type = {gep->aux};
  nvm_u128 member;
  if (gep->op != OP_GEP || gep->operand_count != 3 || type_kind(&c->m->types, type) != TY_STRUCT ||
      !const_is_int(c->m, inst_operand(f, gep, 2), &member))
    return;
  struct bool_place place = {type, (uint32_t)member};
  if (!is_bool(c, type, place.member) && !VEC_PUSH(&c->arena, &c->bools, place)) abort();
}

static void find_bools(struct instance *c) {
  for (uint32_t k = 1; k < c->m->functions.count; k++) {
    const struct nvm_function *f = c->m->functions.data[k];
    for (uint32_t i = 1; i < f->insts.count; i++) {
      const struct nvm_inst *in = &f->insts.data[i];
      if (!block_is_none(in->block) && loads_bool(f, in)) note_bool(c, f, in);
    }
  }
}

/* --- what pointers point to --------------------------------------------------------------------
 */

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
    struct nvm_type type = loads_bool(f, in)   ? TYPE_I1
                           : in->op == OP_GEP  ? (struct nvm_type){in->aux}
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

/* --- arguments ---------------------------------------------------------------------------------
 */

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

bool make_instance(struct instance *c, struct nvm_module *m, const struct nvm_function *f,
                   int filling) {
  *c = (struct instance){.m = m, .f = f, .filling = filling, .random = 0x9e3779b97f4a7c15};
  arena_init(&c->arena, nvm_default_allocator);
  c->argument_count = function_arg_count(f);
  if (c->argument_count > MAX_ARGUMENTS) return false;
  find_bools(c);
  struct nvm_type pointees[MAX_ARGUMENTS] = {0};
  find_pointees(m, f, pointees, &c->arena, 0);
  for (uint32_t i = 0; i < c->argument_count; i++) make_argument(c, i, pointees[i]);
  make_variables(c);
  return true;
}

void note_addresses(void) {
  struct sim *s = sim_create(nvm_default_allocator, 0);
  if (!s) abort();
  for (int i = 0; i < MAX_BUFFERS; i++) addresses[i] = sim_allocate(s, 1, true);
  sim_destroy(s);
}

bool instance_place(const struct instance *c, struct sim *s) {
  for (uint32_t i = 0; i < c->buffer_count; i++) {
    if (sim_allocate(s, c->buffers[i].size, true) != addresses[i]) return false;
    memcpy(sim_memory(s, addresses[i], c->buffers[i].size), c->buffers[i].bytes,
           c->buffers[i].size);
  }
  return true;
}

void instance_set_variables(const struct instance *c, struct sim *s) {
  for (uint32_t i = 0; i < c->variables.count; i++) {
    const struct variable *v = &c->variables.data[i];
    uint64_t address = sim_symbol(s, v->name, NULL);
    uint8_t *at = address ? sim_memory(s, address, v->size) : NULL;
    if (at) memcpy(at, v->bytes, v->size);
  }
}
