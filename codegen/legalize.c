/* Replaces constant expressions in operands by instructions, and aliases by their targets, so that
 * constant expressions remain in initializers of globals only.
 *
 * An operand is expanded right before its instruction; a phi's operand at the end of its
 * predecessor. An aggregate that contains an expression becomes a chain of insertvalue or
 * insertelement. Within one operand a shared subexpression is expanded once: a chain of expressions
 * that each use the previous one twice would otherwise grow exponentially.
 *
 * An atomic access of a vector becomes one of an integer.
 *
 * A remainder next to the quotient of the same operands is computed from it: ptxas calls a
 * subroutine for each of 64 bits; of 32 bits it shares the work, but corrects both results.
 *
 * x * (y + 1) becomes x * y + x, one mad. Vectors of bytes that are only copied become words. */
#include "analysis/division.h"
#include "codegen/stage.h"
#include "ir/build.h"

enum { MAX_DEPTH = 1024 }; /* of nested constant expressions; deeper ones are refused later */

static const struct constant_info *info_of(const struct nvm_function *f, struct nvm_value v) {
  return constant_info(&f->module->constants, v);
}

static bool is_alias(const struct nvm_function *f, struct nvm_value v) {
  return value_kind(v) == VALUE_GLOBAL && module_global(f->module, v)->is_alias;
}

/* The target of an alias, after legalize_aliases(). */
static struct nvm_value aliasee_of(const struct nvm_function *f, struct nvm_value v) {
  return is_alias(f, v) ? module_global(f->module, v)->aliasee : v;
}

static bool contains_expression(const struct nvm_function *f, struct nvm_value v, int depth) {
  if (is_alias(f, v)) return true;
  if (value_kind(v) != VALUE_CONST || depth > MAX_DEPTH) return false;
  const struct constant_info *c = info_of(f, v);
  if (c->kind == CONST_EXPR) return true;
  if (c->kind != CONST_AGGREGATE) return false;
  for (uint32_t i = 0; i < c->count; i++)
    if (contains_expression(f, const_operand(f->module, v, i), depth + 1)) return true;
  return false;
}

enum { REMEMBERED = 256 }; /* expansions of one operand: the latest */

/* The expansion of one operand. */
struct expansion {
  struct nvm_function *f;
  struct nvm_inst_id before;
  struct nvm_value from[REMEMBERED], to[REMEMBERED]; /* a ring */
  uint32_t count;
};

static struct nvm_value expand(struct expansion *x, struct nvm_value v, int depth);

static struct nvm_value insert(struct expansion *x, enum op op, uint16_t flags,
                               struct nvm_type type, const struct nvm_value *operands,
                               uint32_t count, uint32_t aux) {
  struct builder at = builder_before(x->f, x->before);
  at.position = x->f->positions.data[x->before.index];
  return builder_add(&at, op, flags, type, operands, count, aux);
}

/* An index of a constant address has at most the 64 bits of addresses. */
static struct nvm_value narrow_index(struct nvm_module *m, struct nvm_value index) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  struct nvm_type type = module_value_type(m, index);
  bool is_wide = type_is_int(&m->types, type) && type_info(&m->types, type)->width > 64;
  return is_wide && const_words(m, index, words) ? const_int(m, TYPE_I64, words[0]) : index;
}

static struct nvm_value expand_expr(struct expansion *x, struct nvm_value v, int depth) {
  struct nvm_module *m = x->f->module;
  struct constant_info c = *info_of(x->f, v); /* a copy: adding constants may move the table */
  struct nvm_value *operands = arena_alloc(&m->arena, c.count * sizeof *operands);
  if (!operands) return v;
  for (uint32_t i = 0; i < c.count; i++) operands[i] = expand(x, const_operand(m, v, i), depth + 1);
  for (uint32_t i = 1; c.op == OP_GEP && i < c.count; i++)
    operands[i] = narrow_index(m, operands[i]);
  return insert(x, (enum op)c.op, c.flags, c.type, operands, c.count, c.aux);
}

static struct nvm_value expand_aggregate(struct expansion *x, struct nvm_value v, int depth) {
  struct nvm_module *m = x->f->module;
  struct constant_info c = *info_of(x->f, v);
  enum op op = type_is_vector(&m->types, c.type) ? OP_INSERTELEMENT : OP_INSERTVALUE;
  struct nvm_value whole = const_poison(m, c.type);
  for (uint32_t i = 0; i < c.count; i++) {
    struct nvm_value element = expand(x, const_operand(m, v, i), depth + 1);
    const struct nvm_value operands[3] = {whole, element, const_int(m, TYPE_I32, i)};
    whole = insert(x, op, 0, c.type, operands, 3, 0);
  }
  return whole;
}

static struct nvm_value expand(struct expansion *x, struct nvm_value v, int depth) {
  v = aliasee_of(x->f, v);
  if (depth > MAX_DEPTH || !contains_expression(x->f, v, depth)) return v;
  for (uint32_t k = 0; k < x->count && k < REMEMBERED; k++)
    if (value_equal(x->from[k], v)) return x->to[k];
  struct nvm_value made = info_of(x->f, v)->kind == CONST_EXPR ? expand_expr(x, v, depth)
                                                               : expand_aggregate(x, v, depth);
  x->from[x->count % REMEMBERED] = v;
  x->to[x->count++ % REMEMBERED] = made;
  return made;
}

/* The instruction before which operand k of instruction i is computed. */
static struct nvm_inst_id expansion_point(const struct nvm_function *f, struct nvm_inst_id i,
                                          uint32_t k) {
  const struct nvm_inst *inst = function_inst(f, i);
  if (inst->op != OP_PHI) return i;
  struct nvm_value from = inst_operand(f, inst, k + 1);
  return block_terminator(f, (struct nvm_block){value_index(from)});
}

static void legalize_operand(struct nvm_function *f, struct nvm_inst_id i, uint32_t k,
                             struct nvm_value v) {
  struct nvm_inst_id point = expansion_point(f, i, k);
  if (inst_is_none(point)) return;
  struct expansion x;
  x.f = f;
  x.before = point;
  x.count = 0;
  struct nvm_value expanded = expand(&x, v, 0);
  inst_set_operand(f, i, k, expanded);
  if (function_inst(f, i)->op != OP_PHI) return;
  /* Other edges from the same block must have the same value. */
  struct nvm_value block = inst_operand(f, function_inst(f, i), k + 1);
  for (uint32_t j = k + 2; j < function_inst(f, i)->operand_count; j += 2)
    if (value_equal(inst_operand(f, function_inst(f, i), j + 1), block))
      inst_set_operand(f, i, j, expanded);
}

static void legalize_inst(struct nvm_function *f, struct nvm_inst_id i) {
  uint32_t count = function_inst(f, i)->operand_count;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value v = inst_operand(f, function_inst(f, i), k);
    bool may_hold = value_kind(v) == VALUE_CONST || is_alias(f, v);
    if (may_hold && contains_expression(f, v, 0)) legalize_operand(f, i, k, v);
  }
}

/* --- atomic vectors --------------------------------------------------------------------------- */

static bool is_atomic_vector(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_LOAD && i->op != OP_STORE) return false;
  if (memory_access_unpack(i->aux).ordering == ORDER_NONE) return false;
  struct nvm_type type = i->op == OP_LOAD ? i->type : value_type(f, inst_operand(f, i, 0));
  return type_is_vector(&f->module->types, type);
}

/* The type of integers with as many lanes and bits as a vector. */
static struct nvm_type integer_lanes(struct nvm_module *m, struct nvm_type vector) {
  uint32_t bits = layout_scalar_bits(&m->layout, &m->types, type_scalar(&m->types, vector));
  return type_vector(&m->types, type_int(&m->types, bits), type_info(&m->types, vector)->count);
}

/* PTX has no atomic access of a vector: an integer of as many bits is loaded or stored. */
static void access_as_integer(struct nvm_function *f, struct nvm_inst_id id) {
  struct type_table *t = &f->module->types;
  struct nvm_inst i = *function_inst(f, id);
  struct nvm_value v = inst_operand(f, &i, 0);
  struct nvm_type type = i.op == OP_LOAD ? i.type : value_type(f, v);
  struct nvm_type lanes = integer_lanes(f->module, type);
  uint64_t bits = type_scalar_bits(t, type_scalar(t, lanes)) * type_info(t, lanes)->count;
  struct nvm_type integer = type_int(t, (uint32_t)bits);
  bool pointers = type_is_ptr_or_vector(t, type);
  struct builder b = builder_replacing(f, id);
  if (i.op == OP_LOAD) {
    v = builder_load(&b, integer, v, i.aux);
    if (pointers) v = builder_unary(&b, OP_BITCAST, lanes, v);
  } else {
    if (pointers) v = builder_unary(&b, OP_PTRTOINT, lanes, v);
    v = builder_unary(&b, OP_BITCAST, integer, v);
  }
  if (value_is_none(v)) return;
  inst_set_operand(f, id, 0, v);
  if (i.op == OP_STORE) return;
  function_inst(f, id)->op = pointers ? OP_INTTOPTR : OP_BITCAST;
  function_inst(f, id)->aux = 0;
}

/* --- quotient and remainder ------------------------------------------------------------------- */

/* Whether i divides integers of 32 or 64 bits by a variable. A constant dividend could be undef, a
 * different number at each use; what is in a register is one number. */
static bool divides_by_variable(const struct nvm_function *f, const struct nvm_inst *i) {
  return division_is(i) && (type_equal(i->type, TYPE_I32) || type_equal(i->type, TYPE_I64)) &&
         value_kind(inst_operand(f, i, 0)) != VALUE_CONST &&
         value_kind(inst_operand(f, i, 1)) != VALUE_CONST;
}

/* The remainder becomes a difference in place. A quotient that follows it becomes a copy of one
 * that is computed before both. */
static void share_division(struct nvm_function *f, struct nvm_inst_id first) {
  struct nvm_inst_id second = division_find_other(f, function_inst(f, first)), remainder = second;
  if (inst_is_none(second)) return;
  struct nvm_value quotient = value_of_inst(first);
  function_inst(f, first)->flags = function_inst(f, second)->flags =
      0; /* an exact quotient may be poison where the other is not */
  if (!division_is_quotient(function_inst(f, first))) {
    const struct nvm_inst *i = function_inst(f, second);
    struct nvm_value pair[] = {inst_operand(f, i, 0), inst_operand(f, i, 1)};
    struct builder above = builder_replacing(f, first);
    quotient = builder_binary(&above, (enum op)i->op, pair[0], pair[1]);
    if (value_is_none(quotient)) return;
    inst_set_operand(f, second, 0, quotient);
    inst_remove_operands(f, second, 1, 1);
    function_inst(f, second)->op = OP_FREEZE;
    remainder = first;
  }
  struct builder here = builder_replacing(f, remainder);
  struct nvm_value divisor = inst_operand(f, function_inst(f, remainder), 1);
  struct nvm_value product = builder_binary(&here, OP_MUL, quotient, divisor);
  if (value_is_none(product)) return;
  inst_set_operand(f, remainder, 1, product);
  function_inst(f, remainder)->op = OP_SUB;
}

/* --- products -------------------------------------------------------------------------------- */

/* Whether v adds 1 for this product alone, which is in the same block: a sum that was moved out of
 * a loop stays there. */
static bool adds_one(const struct nvm_function *f, struct nvm_value v, struct nvm_block b) {
  nvm_u128 one;
  if (value_kind(v) != VALUE_INST || f->uses.data[value_index(v)] != 1) return false;
  const struct nvm_inst *sum = function_inst(f, (struct nvm_inst_id){value_index(v)});
  return sum->op == OP_ADD && sum->block.index == b.index &&
         value_kind(inst_operand(f, sum, 0)) != VALUE_CONST &&
         const_is_int(f->module, inst_operand(f, sum, 1), &one) && one == 1;
}

/* A factor that is a constant could be undef, see above. */
static void multiply_and_add(struct nvm_function *f, struct nvm_inst_id product) {
  const struct nvm_inst *i = function_inst(f, product);
  if (i->op != OP_MUL || !(type_equal(i->type, TYPE_I32) || type_equal(i->type, TYPE_I64))) return;
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_value factor = inst_operand(f, i, 1 - k), sum = inst_operand(f, i, k);
    if (value_kind(factor) == VALUE_CONST || !adds_one(f, sum, i->block)) continue;
    const struct nvm_inst *add = function_inst(f, (struct nvm_inst_id){value_index(sum)});
    struct builder at = builder_replacing(f, product);
    struct nvm_value less = builder_binary(&at, OP_MUL, factor, inst_operand(f, add, 0));
    if (value_is_none(less)) return;
    inst_set_operand(f, product, 0, less);
    inst_set_operand(f, product, 1, factor);
    function_inst(f, product)->op = OP_ADD;
    function_inst(f, product)->flags = 0;
    return;
  }
}

/* --- copies ---------------------------------------------------------------------------------- */

/* Whether it is a plain access at least as aligned as words, as the types themselves are. */
static bool is_of_words(const struct nvm_inst *i) {
  enum { WORD_ALIGN = 3 }; /* as memory_access has it: log2(4) + 1 */
  struct memory_access how = memory_access_unpack(i->aux);
  return !how.is_volatile && how.ordering == ORDER_NONE &&
         (how.align_log2 == 0 || how.align_log2 >= WORD_ALIGN);
}

/* Bytes would be taken apart for registers of their own, and put together. */
static void copy_words(struct nvm_function *f, const struct nvm_inst *store) {
  struct type_table *t = &f->module->types;
  struct nvm_value v = store->op == OP_STORE ? inst_operand(f, store, 0) : VALUE_NULL;
  if (value_kind(v) != VALUE_INST || f->uses.data[value_index(v)] != 1) return;
  struct nvm_inst *load = function_inst(f, (struct nvm_inst_id){value_index(v)});
  if (load->op != OP_LOAD || !type_is_vector(t, load->type) || !is_of_words(load) ||
      !is_of_words(store) || !type_equal(type_scalar(t, load->type), type_int(t, 8)))
    return;
  uint64_t bytes = type_info(t, load->type)->count;
  if (bytes % 4 != 0) return;
  struct nvm_type words = bytes == 4 ? TYPE_I32 : type_vector(t, TYPE_I32, bytes / 4);
  if (!module_out_of_memory(f->module)) load->type = words;
}

/* --- aliases -------------------------------------------------------------------------------- */

static struct nvm_global *alias_of(struct nvm_module *m, struct nvm_value v) {
  struct nvm_global *g = value_kind(v) == VALUE_GLOBAL ? module_global(m, v) : NULL;
  return g && g->is_alias ? g : NULL;
}

/* Each chain is walked twice: to its end, and to point all of it there. The verifier has refused
 * circles. */
void legalize_aliases(struct nvm_module *m) {
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value end = m->symbol_order.data[i], at = end, next;
    while (alias_of(m, end)) end = alias_of(m, end)->aliasee;
    for (; alias_of(m, at); at = next) {
      next = alias_of(m, at)->aliasee;
      alias_of(m, at)->aliasee = end;
    }
  }
}

bool legalize_function(struct nvm_function *f, bool optimizes) {
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      legalize_inst(f, i);
      if (is_atomic_vector(f, function_inst(f, i))) access_as_integer(f, i);
      if (optimizes && divides_by_variable(f, function_inst(f, i))) share_division(f, i);
      if (optimizes) multiply_and_add(f, i);
      if (optimizes) copy_words(f, function_inst(f, i));
    }
  return !module_out_of_memory(f->module);
}
