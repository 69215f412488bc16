/* Bodies of functions: instruction records in one table, their operands in another.
 *
 * An instruction's operands are contiguous in the pool. A growing list (phi, switch) that cannot
 * grow in place moves to the end of the pool, followed by spare room of its length, so appending n
 * operands takes O(n) time:
 *
 *   … | a0 a1 | b0 b1 b2 | …          a grows     … | ## ## | b0 b1 b2 | … | a0 a1 a2 ## ## ## |
 *
 * ## is OPERAND_SPARE. Spare places belong to the list before them, which grows into these only.
 * The places of a moved or deleted list become spare too. */
#include "ir/function.h"

#include "ir/intern.h"

#define OPERAND_SPARE ((struct nvm_value){UINT32_MAX})

static const struct type_info *function_type_info(const struct nvm_function *f) {
  return type_info(&f->module->types, f->type);
}

uint32_t function_arg_count(const struct nvm_function *f) {
  return (uint32_t)function_type_info(f)->count;
}

struct nvm_type function_arg_type(const struct nvm_function *f, uint32_t i) {
  return i < function_type_info(f)->count ? type_member(&f->module->types, f->type, i) : TYPE_NONE;
}

struct nvm_type function_result_type(const struct nvm_function *f) {
  return function_type_info(f)->element;
}

struct nvm_type function_type_of(const struct nvm_function *f, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_INST: return f->insts.data[value_index(v)].type;
    case VALUE_ARG: return function_arg_type(f, value_index(v));
    case VALUE_CONST: return constant_info(&f->module->constants, v)->type;
    case VALUE_BLOCK: return TYPE_LABEL;
    case VALUE_GLOBAL:
    case VALUE_FUNCTION: return module_value_type(f->module, v);
    case VALUE_NONE:
    case VALUE_FORWARD: break;
  }
  return TYPE_NONE;
}

static void count_use(struct nvm_function *f, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST) f->uses.data[value_index(v)]++;
}

static void count_unuse(struct nvm_function *f, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST) f->uses.data[value_index(v)]--;
}

/* Blocks. */

static void block_link(struct nvm_function *f, struct nvm_block b, struct nvm_block before) {
  struct nvm_block_info *info = function_block(f, b);
  info->next = before;
  info->previous = block_is_none(before) ? f->last_block : function_block(f, before)->previous;
  if (block_is_none(info->previous)) f->entry = b;
  else function_block(f, info->previous)->next = b;
  if (block_is_none(before)) f->last_block = b;
  else function_block(f, before)->previous = b;
}

static void block_unlink(struct nvm_function *f, struct nvm_block b) {
  struct nvm_block_info *info = function_block(f, b);
  if (block_is_none(info->previous)) f->entry = info->next;
  else function_block(f, info->previous)->next = info->next;
  if (block_is_none(info->next)) f->last_block = info->previous;
  else function_block(f, info->next)->previous = info->previous;
  info->previous = info->next = (struct nvm_block){0};
}

struct nvm_block function_add_block(struct nvm_function *f, struct nvm_str name) {
  struct nvm_block b = {f->blocks.count};
  struct nvm_block_info info = {.name = name};
  if (b.index >> VALUE_INDEX_BITS) f->module->arena.failed = true;
  if (b.index >> VALUE_INDEX_BITS || !VEC_PUSH(&f->module->arena, &f->blocks, info))
    return (struct nvm_block){0};
  block_link(f, b, (struct nvm_block){0});
  return b;
}

void function_move_block(struct nvm_function *f, struct nvm_block b, struct nvm_block before) {
  if (block_is_none(b) || b.index == before.index) return;
  block_unlink(f, b);
  block_link(f, b, before);
}

void function_remove_block(struct nvm_function *f, struct nvm_block b) {
  if (block_is_none(b) || function_block(f, b)->removed) return;
  struct nvm_inst_id next;
  for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i); i = next) {
    next = function_inst(f, i)->next;
    inst_remove(f, i);
  }
  block_unlink(f, b);
  function_block(f, b)->removed = true;
  f->removed_blocks++;
}

/* Instructions. */

/* The table of instructions is last, so that after a failure the others have excess capacity. */
#define INST_TABLES(DO, f) \
  DO(&(f)->uses)           \
  DO(&(f)->names) DO(&(f)->locations) DO(&(f)->attachments) DO(&(f)->positions) DO(&(f)->insts)

void function_clear(struct nvm_function *f) {
  struct arena *a = &f->module->arena;
  void *dummy = f->module->functions.data[0]->insts.data;
#define CLEAR(table) VEC_RELEASE(a, table), (table)->data = dummy, (table)->count = 1;
  INST_TABLES(CLEAR, f) CLEAR(&f->operands) CLEAR(&f->blocks) f->operands.count = 0;
  if (f->packed.length) arena_release(a, (char *)f->packed.bytes, f->packed.length + 1);
  f->packed = (struct nvm_text){NULL, 0};
  f->entry = f->last_block = (struct nvm_block){0};
  f->removed = f->removed_blocks = 0;
}

void function_drop_body(struct nvm_function *f) {
  function_clear(f);
  f->prefix = f->prologue = f->personality = VALUE_NULL;
  f->symbol.declared_only = true;
}

bool function_reserve(struct nvm_function *f, uint64_t insts, uint64_t operands) {
  struct arena *a = &f->module->arena;
#define ROOM(table) &&VEC_ROOM(a, table, insts)
  return true INST_TABLES(ROOM, f) && VEC_ROOM(a, &f->operands, operands);
}

void function_truncate(struct nvm_function *f, uint32_t count) {
#define CUT(table) (table)->count = count;
  INST_TABLES(CUT, f)
}

void function_shrink(struct nvm_function *f) {
  struct arena *a = &f->module->arena;
#define SHRINK(table) VEC_SHRINK(a, table);
  INST_TABLES(SHRINK, f) SHRINK(&f->operands) SHRINK(&f->blocks)
}

/* Grows all tables to one capacity. */
static bool grow_insts(struct nvm_function *f) {
  enum { LARGE = 1 << 13 };
  uint64_t wanted = f->insts.capacity ? (uint64_t)f->insts.capacity * 2 : 4;
  if (f->insts.capacity > LARGE) wanted -= f->insts.capacity / 4 * 3; /* as in vec_grow() */
  if (wanted > UINT32_C(1) << VALUE_INDEX_BITS) {
    f->module->arena.failed = true;
    return false;
  }
  return function_reserve(f, wanted, 0);
}

/* Reserves room for `count` more operands; *operands is rebased if it points into the pool. */
static bool grow_pool(struct nvm_function *f, const struct nvm_value **operands, uint64_t count) {
  size_t pool_bytes = f->operands.capacity ? f->operands.count * sizeof **operands : 0;
  size_t offset = pool_offset(*operands, f->operands.data, pool_bytes);
  if (!VEC_ROOM(&f->module->arena, &f->operands, f->operands.count + count)) return false;
  *operands = pool_rebase(*operands, offset, f->operands.data);
  return true;
}

static inline bool pool_room(struct nvm_function *f, const struct nvm_value **operands,
                             uint64_t count) {
  return f->operands.count + count <= f->operands.capacity || grow_pool(f, operands, count);
}

struct nvm_inst_id function_add_inst(struct nvm_function *f, enum op op, uint16_t flags,
                                     struct nvm_type type, const struct nvm_value *operands,
                                     uint32_t count, uint32_t aux) {
  uint32_t k = f->insts.count, first = f->operands.count;
  if (k >= f->insts.capacity && !grow_insts(f)) return (struct nvm_inst_id){0};
  if (!pool_room(f, &operands, count)) return (struct nvm_inst_id){0};
  f->insts.data[k] = (struct nvm_inst){.op = (uint16_t)op,
                                       .flags = flags,
                                       .type = type,
                                       .first_operand = first,
                                       .operand_count = count,
                                       .aux = aux};
  f->uses.data[k] = 0;
  f->names.data[k] = (struct nvm_str){0};
  f->locations.data[k] = (struct nvm_meta){0};
  f->attachments.data[k] = 0;
  f->positions.data[k] = 0;
#define COUNT(table) (table)->count = k + 1;
  INST_TABLES(COUNT, f)
  f->operands.count += count;
  for (uint32_t i = 0; i < count; i++) {
    count_use(f, operands[i]);
    f->operands.data[first + i] = operands[i];
  }
  return (struct nvm_inst_id){k};
}

/* Links i into b before `before`, or at the end if that is none. */
static void inst_link(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block b,
                      struct nvm_inst_id before) {
  struct nvm_inst *inst = function_inst(f, i);
  struct nvm_block_info *block = function_block(f, b);
  inst->block = b;
  inst->next = before;
  inst->previous = inst_is_none(before) ? block->last : function_inst(f, before)->previous;
  if (inst_is_none(inst->previous)) block->first = i;
  else function_inst(f, inst->previous)->next = i;
  if (inst_is_none(before)) block->last = i;
  else function_inst(f, before)->previous = i;
}

void inst_append(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block b) {
  if (inst_is_none(i) || block_is_none(b)) return;
  inst_link(f, i, b, (struct nvm_inst_id){0});
}

void inst_insert_before(struct nvm_function *f, struct nvm_inst_id i, struct nvm_inst_id before) {
  if (inst_is_none(i) || inst_is_none(before)) return;
  inst_link(f, i, function_inst(f, before)->block, before);
}

void inst_unlink(struct nvm_function *f, struct nvm_inst_id i) {
  struct nvm_inst *inst = function_inst(f, i);
  if (block_is_none(inst->block)) return;
  struct nvm_block_info *block = function_block(f, inst->block);
  if (inst_is_none(inst->previous)) block->first = inst->next;
  else function_inst(f, inst->previous)->next = inst->next;
  if (inst_is_none(inst->next)) block->last = inst->previous;
  else function_inst(f, inst->next)->previous = inst->previous;
  inst->block = (struct nvm_block){0};
  inst->previous = inst->next = (struct nvm_inst_id){0};
}

void inst_remove(struct nvm_function *f, struct nvm_inst_id i) {
  inst_unlink(f, i);
  f->removed++;
  inst_remove_operands(f, i, 0, function_inst(f, i)->operand_count);
}

void inst_set_operand(struct nvm_function *f, struct nvm_inst_id i, uint32_t k,
                      struct nvm_value v) {
  struct nvm_value *place = &f->operands.data[function_inst(f, i)->first_operand + k];
  count_use(f, v);
  count_unuse(f, *place);
  *place = v;
}

/* Claims the place after the last operand of i. */
static bool claim_place(struct nvm_function *f, struct nvm_inst *inst) {
  uint32_t count = inst->operand_count, end = inst->first_operand + count;
  if (end < f->operands.count && f->operands.data[end].bits == OPERAND_SPARE.bits) return true;
  bool moves = end != f->operands.count;
  uint64_t wanted = moves ? ((uint64_t)count + 1) * 2 : 1;
  const struct nvm_value *none = NULL;
  if (!pool_room(f, &none, wanted)) return false;
  uint32_t first = f->operands.count;
  struct nvm_value *pool = f->operands.data;
  for (uint64_t k = 0; k < wanted; k++) pool[first + k] = OPERAND_SPARE;
  f->operands.count += (uint32_t)wanted;
  if (!moves) return true;
  for (uint32_t k = 0; k < count; k++) {
    pool[first + k] = pool[inst->first_operand + k];
    pool[inst->first_operand + k] = OPERAND_SPARE;
  }
  inst->first_operand = first;
  return true;
}

bool inst_add_operand(struct nvm_function *f, struct nvm_inst_id i, struct nvm_value v) {
  struct nvm_inst *inst = function_inst(f, i);
  if (inst_is_none(i) || !claim_place(f, inst)) return false;
  f->operands.data[inst->first_operand + inst->operand_count++] = v;
  count_use(f, v);
  return true;
}

void inst_remove_operands(struct nvm_function *f, struct nvm_inst_id i, uint32_t k,
                          uint32_t count) {
  struct nvm_inst *inst = function_inst(f, i);
  struct nvm_value *operands = f->operands.data + inst->first_operand;
  for (uint32_t n = k; n < k + count; n++) count_unuse(f, operands[n]);
  for (uint32_t n = k + count; n < inst->operand_count; n++) operands[n - count] = operands[n];
  inst->operand_count -= count;
  for (uint32_t n = 0; n < count; n++) operands[inst->operand_count + n] = OPERAND_SPARE;
}

/* Calls and phis. */

uint32_t call_arg_count(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct call_site *site = call_site_of(f, i);
  uint32_t count = i->operand_count - 1;
  for (uint32_t k = 0; k < site->bundle_count; k++)
    count -= f->module->bundles.data[site->first_bundle + k].count;
  return count;
}

uint64_t call_copy_align(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  nvm_u128 old = 1;
  if (i->operand_count == 6) { /* the older form passes it as the fourth argument */
    const_is_int(f->module, inst_operand(f, i, 3), &old);
    return old ? (uint64_t)old : 1;
  }
  return call_argument_align(f, i, k);
}

uint64_t call_argument_align(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  const struct attr_table_data *a = &f->module->attributes;
  uint32_t align = attrset_align(a, attrlist_parameter(a, call_site_of(f, i)->attributes, k));
  return align ? align : 1;
}

bool call_copy_is_volatile(const struct nvm_function *f, const struct nvm_inst *i) {
  nvm_u128 is_volatile;
  uint32_t last = call_arg_count(f, i) - 1; /* LLVM 6 and earlier had an alignment before it */
  return !const_is_int(f->module, inst_operand(f, i, last), &is_volatile) || is_volatile;
}

void inst_prepend(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block b) {
  struct nvm_inst_id first = function_block(f, b)->first;
  if (inst_is_none(first)) inst_append(f, i, b);
  else inst_insert_before(f, i, first);
}

struct nvm_inst_id block_first_after_phis(const struct nvm_function *f, struct nvm_block b) {
  struct nvm_inst_id i = function_block(f, b)->first;
  while (function_inst(f, i)->op == OP_PHI) i = function_inst(f, i)->next;
  return i;
}

const struct meta_node *inst_range(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_module *m = f->module;
  uint32_t chain = f->attachments.data[i - f->insts.data];
  struct nvm_str kind =
      chain ? strtab_find(&m->strings, "range", strlen("range")) : (struct nvm_str){0};
  struct nvm_meta range = kind.index ? module_attachment(m, chain, kind) : (struct nvm_meta){0};
  return range.index && type_is_int(&m->types, i->type) ? meta_as_node(&m->metadata, range) : NULL;
}

struct nvm_value phi_incoming(const struct nvm_function *f, struct nvm_inst_id phi,
                              struct nvm_block b) {
  const struct nvm_inst *i = function_inst(f, phi);
  for (uint32_t k = 0; k < i->operand_count; k += 2)
    if (value_index(inst_operand(f, i, k + 1)) == b.index) return inst_operand(f, i, k);
  return VALUE_NULL;
}

bool phi_add(struct nvm_function *f, struct nvm_inst_id phi, struct nvm_value v,
             struct nvm_block from) {
  return inst_add_operand(f, phi, v) && inst_add_operand(f, phi, value_of_block(from));
}

static const struct nvm_attr *attribute_of(const struct nvm_function *f, struct nvm_attrlist list,
                                           enum attr_id id) {
  const struct attr_table_data *a = &f->module->attributes;
  return attrset_find(a, attrlist_info(a, list)->function, id);
}

static const struct nvm_attr *find_string(const struct nvm_module *m, struct nvm_attrset set,
                                          const char *key) {
  struct nvm_str s = strtab_find(&m->strings, key, strlen(key));
  return s.index ? attrset_find_string(&m->attributes, set, s) : NULL;
}

const struct nvm_attr *function_string_attribute(const struct nvm_function *f, const char *key) {
  return find_string(f->module, attrlist_info(&f->module->attributes, f->attributes)->function,
                     key);
}

const struct nvm_attr *function_parameter_string(const struct nvm_function *f, uint32_t i,
                                                 const char *key) {
  return find_string(f->module, attrlist_parameter(&f->module->attributes, f->attributes, i), key);
}

const struct nvm_attr *function_attribute(const struct nvm_function *f, enum attr_id id) {
  return attribute_of(f, f->attributes, id);
}

const struct nvm_attr *function_parameter_attribute(const struct nvm_function *f, uint32_t k,
                                                    enum attr_id id) {
  const struct attr_table_data *a = &f->module->attributes;
  return attrset_find(a, attrlist_parameter(a, f->attributes, k), id);
}

const struct nvm_attr *call_attribute(const struct nvm_function *f, const struct nvm_inst *i,
                                      enum attr_id id) {
  return attribute_of(f, call_site_of(f, i)->attributes, id);
}

bool alloca_is_single(const struct nvm_function *f, const struct nvm_inst *i) {
  nvm_u128 count = 1;
  return i->operand_count == 0 ||
         (const_is_int(f->module, inst_operand(f, i, 0), &count) && count == 1);
}

uint64_t alloca_bytes(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_module *m = f->module;
  struct nvm_type type = {i->aux};
  bool known = alloca_is_single(f, i) && type_is_sized(&m->types, type);
  return known ? layout_alloc_size(&m->layout, &m->types, type) : 0;
}

uint32_t alloca_align(const struct nvm_function *f, const struct nvm_inst *i) {
  return layout_written_align(&f->module->layout, &f->module->types, (struct nvm_type){i->aux},
                              i->flags & ALLOCA_ALIGN_MASK);
}

/* The only value that a web of phis reads besides its own ones: i, the phis among its operands, the
 * phis among theirs, and so on. It dominates them all, since every path to them carries it. None if
 * there are others, or too many phis or operands. */
static struct nvm_value web_value(const struct nvm_function *f, struct nvm_inst_id i) {
  enum { MAX_WEB = 8, MAX_OPERANDS = 64 };
  struct nvm_value web[MAX_WEB] = {value_of_inst(i)}, single = VALUE_NULL;
  uint32_t count = 1, operands = 0;
  for (uint32_t n = 0; n < count; n++) {
    const struct nvm_inst *phi = value_inst(f, web[n]);
    if ((operands += phi->operand_count) > MAX_OPERANDS) return VALUE_NULL;
    for (uint32_t k = 0; k < phi->operand_count; k += 2) {
      struct nvm_value v = inst_operand(f, phi, k);
      const struct nvm_inst *from = value_inst(f, v);
      bool is_phi = from && from->op == OP_PHI;
      uint32_t seen = 0;
      while (is_phi && seen < count && !value_equal(web[seen], v)) seen++;
      if (is_phi ? seen == MAX_WEB : !value_is_none(single) && !value_equal(single, v))
        return VALUE_NULL;
      if (!is_phi) single = v;
      else if (seen == count) web[count++] = v;
    }
  }
  return single;
}

struct nvm_value phi_single_value(const struct nvm_function *f, struct nvm_inst_id i) {
  const struct nvm_inst *phi = function_inst(f, i);
  struct nvm_value single = VALUE_NULL;
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    struct nvm_value v = inst_operand(f, phi, k);
    if (value_equal(v, value_of_inst(i)) || value_equal(v, single)) continue;
    if (!value_is_none(single)) return web_value(f, i);
    single = v;
  }
  return single;
}
