/* Transformations of combine that rules cannot express: ops with any number of operands, trees, and
 * facts of the target.
 *
 *   phi        all operands one value (or the phi): that value
 *   gep        offset 0: the base; constant offset of a constant offset: one, in bytes
 *   icmp       of two addresses with the same base; of an extremum with its constant
 *   ptrtoint   of inttoptr, if the widths agree
 *   trunc, and of a tree of 64-bit operations: the tree in 32 bits
 *   trunc      of a load: a load of the low bytes, if combine<loads>
 *   zext       of trunc: a mask
 *   uitofp, sitofp of a bool: a select
 *   uitofp, sitofp of another extension: of the narrow integer
 *   fdiv       by a power of two: a product
 *   fptrunc, fcmp, fptosi, fptoui   in a wider format than needed
 *   bitcast    to float of a select between the bits of a float and a constant: a select of floats
 *   and, or    with undef: 0, -1
 *   addrspacecast   of a gep of a cast from the same space: the gep in it
 *   any op     of selects of constants by one condition: a select of the two results
 *   br         on a negated condition: successors swapped
 *   call       llvm.expect, the warp size, the address space of a pointer cast from a known one */
#include "analysis/known_bits.h"
#include "opt/scalar/combine.h"
#include "ir/eval.h"
#include "ir/evalfloat.h"
#include "ir/gep.h"
#include "ir/intrinsic.h"

/* --- Addresses --- */

/* Cheap pre-check for the most common case: a single constant index that is not zero. */
static bool steps_once(const struct combiner *k, const struct nvm_inst *g) {
  struct nvm_value index = g->operand_count == 2 ? inst_operand(k->f, g, 1) : VALUE_NULL;
  return value_kind(index) == VALUE_CONST && !const_is_zero(k->m, index) &&
         type_scalar_bits(&k->m->types, (struct nvm_type){g->aux}) != 0;
}

/* Whether all indices are constants. */
static bool has_constant_indices(const struct combiner *k, const struct nvm_inst *g) {
  for (uint32_t n = 1; n < g->operand_count; n++)
    if (value_kind(inst_operand(k->f, g, n)) != VALUE_CONST) return false;
  return true;
}

/* Truncates indices that are wider than the pointer: pointers to shared memory may have 32 bits.
 * Other rules combine the truncations with extensions and sums. */
static struct nvm_value narrow_indices(struct combiner *k, struct nvm_inst_id root) {
  enum { MAX_OPERANDS = 8 };
  struct nvm_inst g = *function_inst(k->f, root);
  struct nvm_value operands[MAX_OPERANDS];
  uint32_t bits = layout_pointer_bits(&k->m->layout, type_info(&k->m->types, g.type)->width);
  bool any = false;
  if (bits == 64 || g.operand_count > MAX_OPERANDS) return VALUE_NULL;
  for (uint32_t n = 0; n < g.operand_count; n++) {
    struct nvm_value v = operands[n] = inst_operand(k->f, &g, n);
    struct nvm_type type = value_type(k->f, v);
    if (n == 0 || value_kind(v) == VALUE_CONST || !type_is_int(&k->m->types, type) ||
        type_scalar_bits(&k->m->types, type) <= bits)
      continue;
    operands[n] = build_op(k, root, OP_TRUNC, 0, type_int(&k->m->types, bits), 0, 1, &v);
    if (value_is_none(operands[n])) return VALUE_NULL;
    any = true;
  }
  return any ? build_op(k, root, OP_GEP, g.flags, g.type, g.aux, g.operand_count, operands)
             : VALUE_NULL;
}

static struct nvm_value gep_simplify(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *g = function_inst(k->f, root);
  if (type_is_ptr(&k->m->types, g->type)) {
    struct nvm_value narrow = narrow_indices(k, root);
    if (!value_is_none(narrow)) return narrow;
    g = function_inst(k->f, root);
  }
  struct nvm_value base = inst_operand(k->f, g, 0);
  int64_t outer, inner;
  const struct nvm_inst *b = value_inst_of(k->f, base, OP_GEP);
  if (!type_equal(value_type(k->f, base), g->type) || !type_is_ptr(&k->m->types, g->type) ||
      (steps_once(k, g) && !(b && has_constant_indices(k, b))) ||
      !gep_small_offset(k->f, g, &outer))
    return VALUE_NULL;
  if (outer == 0) return base;
  if (!b || !type_is_ptr(&k->m->types, value_type(k->f, inst_operand(k->f, b, 0))) ||
      !gep_small_offset(k->f, b, &inner))
    return VALUE_NULL;
  uint16_t flags = g->flags & b->flags;
  if ((inner < 0) != (outer < 0)) flags = 0; /* the sum of the steps may leave the object */
  struct nvm_value from = inst_operand(k->f, b, 0);
  if (inner + outer == 0) return from;
  struct nvm_value operands[2] = {from, make_int(k, TYPE_I64, (uint64_t)(inner + outer))};
  return build_op(k, root, OP_GEP, flags, g->type, TYPE_I8.index, 2, operands);
}

/* A pointer as a constant distance from another. */
struct distance {
  struct nvm_value from;
  int64_t bytes;
  bool inbounds, casts; /* all steps stay in the object; some step changes the state space */
};

static struct distance distance_of(const struct combiner *k, struct nvm_value v) {
  enum { MAX_STEPS = 16 };
  struct distance d = {.from = v, .inbounds = true};
  for (uint32_t step = 0; step < MAX_STEPS; step++) {
    const struct nvm_inst *i = value_inst(k->f, d.from);
    int64_t bytes = 0;
    bool casts = i && i->op == OP_ADDRSPACECAST;
    if (!i || !(casts || (i->op == OP_GEP && gep_small_offset(k->f, i, &bytes))) ||
        !type_is_ptr(&k->m->types, value_type(k->f, inst_operand(k->f, i, 0))))
      break;
    d.from = inst_operand(k->f, i, 0);
    d.bytes += bytes;
    d.casts |= casts;
    d.inbounds &= casts || i->flags & INST_INBOUNDS;
  }
  return d;
}

/* Pointers at constant distances from one: two differ as the distances do. Their order too, if no
 * address wraps; a state space is a window of the generic one. */
static struct nvm_value icmp_of_distances(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_type type = value_type(k->f, inst_operand(k->f, i, 0));
  if (!type_is_ptr(&k->m->types, type)) return VALUE_NULL;
  struct distance a = distance_of(k, inst_operand(k->f, i, 0)),
                  b = distance_of(k, inst_operand(k->f, i, 1));
  bool inbounds = a.inbounds && b.inbounds;
  bool may_wrap = layout_pointer_bits(&k->m->layout, type_info(&k->m->types, type)->width) < 64;
  if (!value_equal(a.from, b.from) || ((a.casts || b.casts || may_wrap) && !inbounds))
    return VALUE_NULL;
  bool known = i->aux <= ICMP_NE || (inbounds && i->aux <= ICMP_ULE);
  bool less = a.bytes < b.bytes, equal = a.bytes == b.bytes;
  bool holds[] = {[ICMP_EQ] = equal,  [ICMP_NE] = !equal, [ICMP_UGT] = !less && !equal,
                  [ICMP_UGE] = !less, [ICMP_ULT] = less,  [ICMP_ULE] = less || equal};
  return known ? make_int(k, TYPE_I1, holds[i->aux]) : VALUE_NULL;
}

/* p + i == p + j becomes i == j, if neither can wrap. */
static struct nvm_value icmp_of_indices(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct nvm_inst *a = value_inst_of(k->f, inst_operand(k->f, i, 0), OP_GEP);
  const struct nvm_inst *b = value_inst_of(k->f, inst_operand(k->f, i, 1), OP_GEP);
  if (!a || !b || i->aux > ICMP_NE || a->operand_count != 2 || b->operand_count != 2 ||
      a->aux != b->aux || !(a->flags & b->flags & INST_INBOUNDS) ||
      !value_equal(inst_operand(k->f, a, 0), inst_operand(k->f, b, 0)))
    return VALUE_NULL;
  struct nvm_value operands[2] = {inst_operand(k->f, a, 1), inst_operand(k->f, b, 1)};
  struct nvm_type type = value_type(k->f, operands[0]);
  if (!type_equal(type, value_type(k->f, operands[1])) || !type_is_int(&k->m->types, type) ||
      layout_alloc_size(&k->m->layout, &k->m->types, (struct nvm_type){a->aux}) == 0 ||
      type_scalar_bits(&k->m->types, type) >
          layout_pointer_bits(&k->m->layout, type_info(&k->m->types, a->type)->width))
    return VALUE_NULL;
  return build_op(k, root, OP_ICMP, 0, i->type, i->aux, 2, operands);
}

static struct nvm_value icmp_simplify(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_value to = icmp_of_distances(k, root);
  if (value_is_none(to)) to = icmp_of_indices(k, root);
  return value_is_none(to) ? combine_is_limit(k, root) : to;
}

/* --- Casts of pointers --- */

/* ptrtoint of inttoptr of an integer as wide as the pointer. (inttoptr of ptrtoint is kept: it may
 * have another provenance.) */
static struct nvm_value ptrtoint_of_inttoptr(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct nvm_inst *inner = value_inst_of(k->f, inst_operand(k->f, i, 0), OP_INTTOPTR);
  if (!inner || !type_is_ptr(&k->m->types, inner->type)) return VALUE_NULL;
  struct nvm_value v = inst_operand(k->f, inner, 0);
  uint32_t pointer =
      layout_pointer_bits(&k->m->layout, type_info(&k->m->types, inner->type)->width);
  bool whole = type_equal(value_type(k->f, v), i->type) &&
               type_scalar_bits(&k->m->types, i->type) <= pointer;
  return whole ? v : VALUE_NULL;
}

/* --- Truncations --- */

/* The low 32 bits of sums, products, bitwise operations and left shifts depend on the low 32 bits
 * of the operands alone. `trunc` or `and` with a mask of at most 32 bits computes a tree of these
 * operations, which nothing else reads, in 32 bits (LLVM: evaluateInDifferentType). At least one
 * product or left shift of 64 bits goes each time and none is made; no rule makes one of narrower
 * operations, so that combine ends. */
struct tree {
  uint32_t products, shifts, cuts; /* cuts: operands that need a truncation */
};

enum { MAX_TREE_DEPTH = 6 };

static bool is_tree_op(const struct combiner *k, const struct nvm_inst *i) {
  nvm_u128 amount;
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return true;
    case OP_SHL: return const_is_int(k->m, inst_operand(k->f, i, 1), &amount) && amount < 32;
    default: return false;
  }
}

/* The operation of the tree that computes v; NULL if v is an operand of the tree. */
static const struct nvm_inst *tree_node(const struct combiner *k, struct nvm_value v, int depth) {
  if (value_kind(v) != VALUE_INST || k->f->uses.data[value_index(v)] != 1) return NULL;
  const struct nvm_inst *i = &k->f->insts.data[value_index(v)];
  return depth < MAX_TREE_DEPTH && is_tree_op(k, i) ? i : NULL;
}

/* Whether v is extended from an integer of at most 32 bits. */
static bool is_extended(const struct combiner *k, struct nvm_value v) {
  const struct nvm_inst *i = value_inst_of(k->f, v, OP_ZEXT);
  if (!i) i = value_inst_of(k->f, v, OP_SEXT);
  return i && type_scalar_bits(&k->m->types, value_type(k->f, inst_operand(k->f, i, 0))) <= 32;
}

static void measure_tree(const struct combiner *k, struct nvm_value v, int depth,
                         struct tree *tree) {
  const struct nvm_inst *i = tree_node(k, v, depth);
  if (!i) {
    tree->cuts += value_kind(v) != VALUE_CONST && !is_extended(k, v);
    return;
  }
  tree->products += i->op == OP_MUL;
  tree->shifts += i->op == OP_SHL;
  measure_tree(k, inst_operand(k->f, i, 0), depth + 1, tree);
  measure_tree(k, inst_operand(k->f, i, 1), depth + 1, tree);
}

/* The low 32 bits of an operand of the tree, before `at`. */
static struct nvm_value cut_operand(struct combiner *k, struct nvm_inst_id at, struct nvm_value v) {
  if (!is_extended(k, v)) return build_op(k, at, OP_TRUNC, 0, TYPE_I32, 0, 1, &v);
  struct nvm_inst i = k->f->insts.data[value_index(v)];
  struct nvm_value from = inst_operand(k->f, &i, 0);
  if (type_equal(value_type(k->f, from), TYPE_I32)) return from;
  return build_op(k, at, (enum op)i.op, i.flags, TYPE_I32, 0, 1, &from);
}

/* Each operation is made where it was, so that it stays outside of loops. */
static struct nvm_value build_tree(struct combiner *k, struct nvm_inst_id at, struct nvm_value v,
                                   int depth) {
  const struct nvm_inst *i = tree_node(k, v, depth);
  if (!i) return cut_operand(k, at, v);
  enum op op = (enum op)i->op;
  struct nvm_inst_id here = {value_index(v)};
  struct nvm_value a = inst_operand(k->f, i, 0), b = inst_operand(k->f, i, 1), operands[2];
  operands[0] = build_tree(k, here, a, depth + 1);
  operands[1] = value_equal(a, b) ? operands[0] : build_tree(k, here, b, depth + 1);
  return build_op(k, here, op, 0, TYPE_I32, 0, 2, operands);
}

/* The operand of a mask or `or` that has all bits of the truncation. */
static struct nvm_value trunc_of_bits(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  uint64_t low = known_bits_mask(type_scalar_bits(&k->m->types, i->type));
  struct nvm_type type = i->type;
  struct nvm_value v = inst_operand(k->f, i, 0);
  const struct nvm_inst *both = value_inst_of(k->f, v, OP_OR),
                        *mask = value_inst_of(k->f, v, OP_AND);
  if (!type_is_int(&k->m->types, type) || (!both && !mask)) return VALUE_NULL;
  for (uint32_t n = 0; n < 2; n++) {
    struct known_bits bits = known_bits_of(k->f, inst_operand(k->f, both ? both : mask, n));
    struct nvm_value rest = inst_operand(k->f, both ? both : mask, 1 - n);
    if (bits.width && (low & ~(both ? bits.zero : bits.one)) == 0)
      return build_op(k, root, OP_TRUNC, 0, type, 0, 1, &rest);
  }
  return VALUE_NULL;
}

/* Loads of the low bytes of an integer that only the truncation reads. */
static struct nvm_value trunc_of_load(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_type type = function_inst(k->f, root)->type;
  struct nvm_value v = inst_operand(k->f, function_inst(k->f, root), 0);
  const struct nvm_inst *load = value_inst_of(k->f, v, OP_LOAD);
  if (!load || k->f->uses.data[value_index(v)] != 1 || !type_is_int(&k->m->types, type))
    return VALUE_NULL;
  struct memory_access how = memory_access_unpack(load->aux);
  uint32_t bits = type_scalar_bits(&k->m->types, type),
           chain = k->f->attachments.data[value_index(v)];
  if ((bits != 8 && bits != 16 && bits != 32) || how.is_volatile || how.ordering != ORDER_NONE ||
      (chain && module_attachment(k->m, chain, module_str(k->m, "range")).index))
    return VALUE_NULL;
  struct nvm_value address = inst_operand(k->f, load, 0);
  struct nvm_value low = build_op(k, value_inst_id(v), OP_LOAD, 0, type, load->aux, 1, &address);
  if (chain && !value_is_none(low))
    k->f->attachments.data[value_index(low)] = module_share_attachments(k->m, chain);
  return low;
}

/* A shift alone only where no truncation is added: PTX has one instruction for 64 bits too. */
static struct nvm_value trunc_of_tree(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_type type = i->type;
  struct nvm_value v = inst_operand(k->f, i, 0);
  struct tree tree = {0, 0, 0};
  struct nvm_value bits = trunc_of_bits(k, root);
  if (value_is_none(bits) && k->narrows_loads) bits = trunc_of_load(k, root);
  if (!value_is_none(bits)) return bits;
  if (!type_is_int(&k->m->types, type) || !type_equal(value_type(k->f, v), TYPE_I64) ||
      type_scalar_bits(&k->m->types, type) > 32)
    return VALUE_NULL;
  measure_tree(k, v, 0, &tree);
  if (tree.products == 0 && (tree.shifts == 0 || tree.cuts > 1)) return VALUE_NULL;
  struct nvm_value narrow = build_tree(k, root, v, 0);
  return type_equal(type, TYPE_I32) ? narrow : build_op(k, root, OP_TRUNC, 0, type, 0, 1, &narrow);
}

static struct nvm_value mask_of_tree(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value v = inst_operand(k->f, i, 0);
  struct tree tree = {0, 0, 0};
  nvm_u128 mask;
  if (!type_equal(i->type, TYPE_I64) || !const_is_int(k->m, inst_operand(k->f, i, 1), &mask) ||
      mask > UINT32_MAX)
    return VALUE_NULL;
  measure_tree(k, v, 0, &tree);
  if (tree.products == 0) return VALUE_NULL;
  struct nvm_value pair[] = {build_tree(k, root, v, 0), make_int(k, TYPE_I32, (uint64_t)mask)};
  if (mask != UINT32_MAX) pair[0] = build_op(k, root, OP_AND, 0, TYPE_I32, 0, 2, pair);
  return build_op(k, root, OP_ZEXT, 0, TYPE_I64, 0, 1, pair);
}

/* A byte of a word; or the low bits of x: `x & mask` in x's type if that is not the wider one,
 * which is then extended. 32 of 64 bits stay a conversion: analyses and mul.wide read such an
 * index. */
static struct nvm_value zext_simplify(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct nvm_inst *cut = value_inst_of(k->f, inst_operand(k->f, i, 0), OP_TRUNC);
  if (!cut) return combine_extended_byte(k, root);
  if (!type_is_int(&k->m->types, i->type)) return VALUE_NULL;
  uint32_t low = type_scalar_bits(&k->m->types, cut->type),
           wide = type_scalar_bits(&k->m->types, i->type);
  struct nvm_value x = inst_operand(k->f, cut, 0);
  uint32_t from = type_scalar_bits(&k->m->types, value_type(k->f, x));
  struct nvm_type type = i->type, narrow = from < wide ? value_type(k->f, x) : type;
  if (low >= 32 || from > 64 || wide > 64) return VALUE_NULL;
  struct nvm_value pair[] = {x, make_int(k, narrow, known_bits_mask(low))};
  if (from > wide) pair[0] = build_op(k, root, OP_TRUNC, 0, narrow, 0, 1, &x);
  struct nvm_value masked = build_op(k, root, OP_AND, 0, narrow, 0, 2, pair);
  return from < wide ? build_op(k, root, OP_ZEXT, 0, type, 0, 1, &masked) : masked;
}

/* The sum of a high and a low word equals their `or`, for which lowering emits one mov. */
static struct nvm_value add_of_words(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  if (!type_equal(i->type, TYPE_I64)) return VALUE_NULL;
  for (uint32_t n = 0; n < 2; n++) {
    struct nvm_value words[] = {inst_operand(k->f, i, n), inst_operand(k->f, i, 1 - n)};
    const struct nvm_inst *high = value_inst_of(k->f, words[0], OP_SHL),
                          *low = value_inst_of(k->f, words[1], OP_ZEXT);
    nvm_u128 amount;
    if (!high || !low || !const_is_int(k->m, inst_operand(k->f, high, 1), &amount) ||
        amount != 32 ||
        type_scalar_bits(&k->m->types, value_type(k->f, inst_operand(k->f, low, 0))) > 32)
      continue;
    return build_op(k, root, OP_OR, INST_DISJOINT, TYPE_I64, 0, 2, words);
  }
  return VALUE_NULL;
}

/* A bool that is converted to float or double is a choice of constants, one instruction: 1 or 0, or
 * with its sign -1 or 0. Constants of 16 bits would take instructions of their own. */
static struct nvm_value float_of_bool(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct type_table *t = &k->m->types;
  struct nvm_value c = inst_operand(k->f, i, 0);
  bool is_signed = i->op == OP_SITOFP;
  const struct nvm_inst *wide = value_inst(k->f, c);
  if (wide && (wide->op == OP_ZEXT || (wide->op == OP_SEXT && is_signed))) {
    c = inst_operand(k->f, wide, 0);
    is_signed = wide->op == OP_SEXT;
  }
  struct nvm_type type = i->type, scalar = type_scalar(t, type);
  enum type_kind kind = type_kind(t, scalar);
  bool is_bool = type_scalar_bits(t, type_scalar(t, value_type(k->f, c))) == 1;
  if (!is_bool || (kind != TY_FLOAT && kind != TY_DOUBLE)) return VALUE_NULL;
  uint64_t sign = is_signed ? UINT64_C(1) << (type_scalar_bits(t, scalar) - 1) : 0;
  struct nvm_value one = const_float(k->m, scalar, evalfloat_one(eval_format(kind)) | sign);
  struct nvm_value choice[] = {c, make_splat(k, type, one),
                               make_splat(k, type, const_float(k->m, scalar, 0))};
  return build_op(k, root, OP_SELECT, 0, type, 0, 3, choice);
}

/* The float whose bits v is, if no instruction has to compute it. */
static struct nvm_value float_of_bits(struct combiner *k, struct nvm_type type,
                                      struct nvm_value v) {
  const struct nvm_inst *cast = value_inst_of(k->f, v, OP_BITCAST);
  nvm_u128 bits;
  if (const_is_int(k->m, v, &bits)) return const_float(k->m, type, (uint64_t)bits);
  if (!cast || !type_equal(value_type(k->f, inst_operand(k->f, cast, 0)), type)) return VALUE_NULL;
  return inst_operand(k->f, cast, 0);
}

/* Programs set a float to 0 by a mask of its bits. */
static struct nvm_value bitcast_of_select(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value v = inst_operand(k->f, i, 0);
  const struct nvm_inst *select = value_inst_of(k->f, v, OP_SELECT);
  struct nvm_type type = i->type;
  if (!select || k->f->uses.data[value_index(v)] != 1 ||
      (!type_equal(type, TYPE_FLOAT) && !type_equal(type, TYPE_DOUBLE)) ||
      !type_equal(value_type(k->f, inst_operand(k->f, select, 0)), TYPE_I1))
    return VALUE_NULL;
  struct nvm_value choice[] = {inst_operand(k->f, select, 0),
                               float_of_bits(k, type, inst_operand(k->f, select, 1)),
                               float_of_bits(k, type, inst_operand(k->f, select, 2))};
  if (value_is_none(choice[1]) || value_is_none(choice[2])) return VALUE_NULL;
  return build_op(k, root, OP_SELECT, 0, type, 0, 3, choice);
}

static struct nvm_value bitcast_simplify(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_value to = bitcast_of_select(k, root);
  return value_is_none(to) ? combine_words_of_halves(k, root) : to;
}

/* A float of the low bits of an i32: of a mask of it, or of their sign extension, which take no
 * conversion to fewer bits. */
static struct nvm_value float_of_low_bits(struct combiner *k, struct nvm_inst_id root,
                                          struct nvm_value low) {
  const struct nvm_inst *i = function_inst(k->f, root), *cut = value_inst(k->f, low);
  enum op op = (enum op)i->op;
  struct nvm_type type = i->type;
  uint32_t bits = type_scalar_bits(&k->m->types, cut->type);
  struct nvm_value pair[] = {inst_operand(k->f, cut, 0),
                             make_int(k, TYPE_I32, known_bits_mask(bits))};
  if (bits < 8 || !type_equal(value_type(k->f, pair[0]), TYPE_I32)) return VALUE_NULL;
  struct nvm_value whole = op == OP_SITOFP ? build_op(k, root, OP_SEXT, 0, TYPE_I32, 0, 1, &low)
                                           : build_op(k, root, OP_AND, 0, TYPE_I32, 0, 2, pair);
  return build_op(k, root, op, 0, type, 0, 1, &whole);
}

/* The same for a mask of low bits. sitofp only if the mask clears the sign bit. */
static struct nvm_value float_of_mask(struct combiner *k, struct nvm_inst_id root,
                                      struct nvm_value v) {
  const struct nvm_inst *i = function_inst(k->f, root), *mask = value_inst(k->f, v);
  const struct nvm_inst *cut = value_inst_of(k->f, inst_operand(k->f, mask, 0), OP_TRUNC);
  enum op op = (enum op)i->op;
  struct nvm_type type = i->type;
  uint32_t sign = type_scalar_bits(&k->m->types, value_type(k->f, v)) - 1;
  nvm_u128 bits;
  if (!cut || !type_equal(value_type(k->f, inst_operand(k->f, cut, 0)), TYPE_I32) ||
      !const_is_int(k->m, inst_operand(k->f, mask, 1), &bits) ||
      (op == OP_SITOFP && bits >> sign != 0))
    return VALUE_NULL;
  struct nvm_value pair[] = {inst_operand(k->f, cut, 0), make_int(k, TYPE_I32, (uint64_t)bits)};
  struct nvm_value whole = build_op(k, root, OP_AND, 0, TYPE_I32, 0, 2, pair);
  return build_op(k, root, op, 0, type, 0, 1, &whole);
}

/* A bool, or an extension, whose number is that of its operand. Bits of less than a byte are
 * extended anyway, signed bytes and halves by fewer instructions in 32 bits. */
static struct nvm_value float_of_integer(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_value choice = float_of_bool(k, root);
  if (!value_is_none(choice)) return choice;
  struct nvm_inst i = *function_inst(k->f, root);
  struct nvm_value v = inst_operand(k->f, &i, 0);
  const struct nvm_inst *zext = value_inst_of(k->f, v, OP_ZEXT),
                        *sext = value_inst_of(k->f, v, OP_SEXT),
                        *cut = value_inst_of(k->f, v, OP_TRUNC);
  if (cut) return float_of_low_bits(k, root, v);
  if (value_inst_of(k->f, v, OP_AND)) return float_of_mask(k, root, v);
  if (value_inst_of(k->f, v, OP_EXTRACTELEMENT) && i.op == OP_SITOFP)
    return combine_extended_byte(k, root);
  if (!zext && (!sext || i.op != OP_SITOFP)) return VALUE_NULL;
  struct nvm_value narrow = inst_operand(k->f, zext ? zext : sext, 0);
  uint32_t bits = type_scalar_bits(&k->m->types, value_type(k->f, narrow));
  if (bits != 32 && (sext || (bits != 8 && bits != 16))) return VALUE_NULL;
  return build_op(k, root, zext ? OP_UITOFP : OP_SITOFP, 0, i.type, 0, 1, &narrow);
}

/* The number of which v is a splat; v if it is no aggregate, VALUE_NULL if its members differ. */
static struct nvm_value number_of_splat(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) != VALUE_CONST) return VALUE_NULL;
  const struct constant_info *c = constant_info(&m->constants, v);
  if (c->kind != CONST_AGGREGATE) return v;
  const struct nvm_value *lanes = m->constants.operands.data + c->first;
  for (uint32_t n = 1; n < c->count; n++)
    if (!value_equal(lanes[n], lanes[0])) return VALUE_NULL;
  return lanes[0];
}

/* The reciprocal of a power of two is exact, so both round the same number. It is a normal number,
 * since others may be flushed. */
static struct nvm_value fdiv_by_power(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_type type = i->type, scalar = type_scalar(&k->m->types, type);
  struct nvm_value divisor = number_of_splat(k->m, inst_operand(k->f, i, 1));
  struct eval_lane lane;
  if (value_kind(divisor) != VALUE_CONST || !eval_lane_of(k->m, divisor, &lane) || lane.poison)
    return VALUE_NULL;
  /* Without a sign, the powers of two are the multiples of `step`, symmetric to the number one. */
  uint64_t one = evalfloat_one(eval_format(type_kind(&k->m->types, scalar))), step = one & -one,
           sign = UINT64_C(1) << (type_scalar_bits(&k->m->types, scalar) - 1),
           bits = (uint64_t)lane.bits, size = bits & ~sign;
  if (size % step != 0 || size < step || size > 2 * one - step) return VALUE_NULL;
  struct nvm_value power = const_float(k->m, scalar, (2 * one - size) | (bits & sign));
  struct nvm_value pair[] = {inst_operand(k->f, i, 0), make_splat(k, type, power)};
  return build_op(k, root, OP_FMUL, i->flags, type, 0, 2, pair);
}

/* --- Undefined operands --- */

/* `x & undef` and `x | undef`: the undefined operand decides all bits. */
static struct nvm_value decided_by_undef(struct combiner *k, const struct nvm_inst *i) {
  bool is_undefined = const_is_undef_or_poison(k->m, inst_operand(k->f, i, 0)) ||
                      const_is_undef_or_poison(k->m, inst_operand(k->f, i, 1));
  if (!is_undefined || !type_is_int(&k->m->types, i->type) ||
      type_scalar_bits(&k->m->types, i->type) > 64)
    return VALUE_NULL;
  return make_int(k, i->type, i->op == OP_OR ? UINT64_MAX : 0);
}

static struct nvm_value and_simplify(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_value v = decided_by_undef(k, function_inst(k->f, root));
  if (value_is_none(v)) v = mask_of_tree(k, root);
  return value_is_none(v) ? combine_mask_of_counter(k, root) : v;
}

static struct nvm_value or_simplify(struct combiner *k, struct nvm_inst_id root) {
  struct nvm_value to = decided_by_undef(k, function_inst(k->f, root));
  if (value_is_none(to)) to = combine_sum_of_bits(k, root);
  if (value_is_none(to)) to = combine_byte_swap(k, root);
  return value_is_none(to) ? combine_joined_halves(k, root) : to;
}

/* --- Control and calls --- */

/* Branches with weights are kept, because the weights would have to be swapped. */
bool combine_unnegate_branch(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  const struct nvm_inst *not = value_inst_of(k->f, inst_operand(k->f, i, 0), OP_XOR);
  nvm_u128 one;
  if (!not || k->f->attachments.data[root.index] ||
      !const_is_int(k->m, inst_operand(k->f, not, 1), &one) || one != 1)
    return false;
  struct nvm_value condition = inst_operand(k->f, not, 0);
  struct nvm_value yes = inst_operand(k->f, i, 1), no = inst_operand(k->f, i, 2);
  combine_queue(k, inst_operand(k->f, i, 0)); /* may be dead now */
  combine_set_operand(k, root, 0, condition);
  combine_set_operand(k, root, 1, no);
  combine_set_operand(k, root, 2, yes);
  return true;
}

/* Inline assembly without effects that reads a register of the lane, as libraries write it. */
static struct nvm_value asm_register(struct combiner *k, struct nvm_inst_id root) {
  static const struct {
    const char *text;
    enum intrinsic_id id;
  } rows[] = {{"mov.u32 $0, %laneid;", INTRINSIC_nvvm_read_ptx_sreg_laneid},
              {"mov.u32 $0, %lanemask_eq;", INTRINSIC_nvvm_read_ptx_sreg_lanemask_eq},
              {"mov.u32 $0, %lanemask_le;", INTRINSIC_nvvm_read_ptx_sreg_lanemask_le},
              {"mov.u32 $0, %lanemask_lt;", INTRINSIC_nvvm_read_ptx_sreg_lanemask_lt},
              {"mov.u32 $0, %lanemask_ge;", INTRINSIC_nvvm_read_ptx_sreg_lanemask_ge},
              {"mov.u32 $0, %lanemask_gt;", INTRINSIC_nvvm_read_ptx_sreg_lanemask_gt}};
  const struct nvm_inst *i = function_inst(k->f, root);
  struct nvm_value callee = call_callee(k->f, i);
  if (value_kind(callee) != VALUE_CONST || !type_equal(i->type, TYPE_I32)) return VALUE_NULL;
  const struct constant_info *c = constant_info(&k->m->constants, callee);
  if (c->kind != CONST_ASM || c->flags || !text_is(module_text(k->m, c->str2), "=r"))
    return VALUE_NULL;
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
    if (text_is(module_text(k->m, c->str), rows[n].text))
      return build_call(k, root, rows[n].id, 0, i->type, 0, NULL);
  return VALUE_NULL;
}

static struct nvm_value call_simplify(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(k->f, root);
  enum { WARP_LANES = 32 };
  switch (call_intrinsic(k->f, i)) {
    case INTRINSIC_expect:
    case INTRINSIC_expect_with_probability: return inst_operand(k->f, i, 0);
    case INTRINSIC_nvvm_isspacep_global: return combine_isspacep(k, i, 1);
    case INTRINSIC_nvvm_isspacep_shared: return combine_isspacep(k, i, 3);
    case INTRINSIC_nvvm_isspacep_const: return combine_isspacep(k, i, 4);
    case INTRINSIC_nvvm_isspacep_local: return combine_isspacep(k, i, 5);
    case INTRINSIC_nvvm_isspacep_shared_cluster: return combine_isspacep(k, i, 7);
    case INTRINSIC_nvvm_read_ptx_sreg_warpsize: return make_int(k, i->type, WARP_LANES);
    case INTRINSIC_NONE: return asm_register(k, root);
    default: return VALUE_NULL;
  }
}

static struct nvm_value phi_simplify(struct combiner *k, struct nvm_inst_id root) {
  return phi_single_value(k->f, root);
}

/* --- Selects --- */

/* The constant that v is if the condition has the value of `arm`: of a select by `*condition`,
 * which is set if it is none yet; a constant itself. VALUE_NULL if there is none. */
static struct nvm_value constant_arm(const struct combiner *k, struct nvm_value v, uint32_t arm,
                                     struct nvm_value *condition) {
  if (value_kind(v) == VALUE_CONST) return v;
  const struct nvm_inst *i = value_inst_of(k->f, v, OP_SELECT);
  if (!i) return VALUE_NULL;
  if (value_is_none(*condition)) *condition = inst_operand(k->f, i, 0);
  struct nvm_value chosen = inst_operand(k->f, i, 1 + arm);
  bool fits =
      value_equal(*condition, inst_operand(k->f, i, 0)) && value_kind(chosen) == VALUE_CONST;
  return fits ? chosen : VALUE_NULL;
}

/* Whether selects of constants stay as they are: a 64-bit index is extended by its mul.wide. */
static bool keeps_selects(const struct combiner *k, const struct nvm_inst *i) {
  enum op op = (enum op)i->op;
  bool extends = op == OP_SEXT || op == OP_ZEXT, is_last = false;
  if (!op_is_binary(op) && !op_is_cast(op) && op != OP_FNEG) return true;
  if (extends && type_scalar_bits(&k->m->types, i->type) > 32) return true;
  for (uint32_t n = 0; n < i->operand_count; n++) {
    struct nvm_value v = inst_operand(k->f, i, n);
    is_last |= value_inst_of(k->f, v, OP_SELECT) && k->f->uses.data[value_index(v)] == 1;
  }
  return !is_last;
}

/* An operation on selects of constants by one condition, one of which nothing else reads, is a
 * select of the two results. */
static struct nvm_value op_of_selects(struct combiner *k, struct nvm_inst_id root) {
  const struct nvm_inst i = *function_inst(k->f, root);
  struct nvm_value choice[3] = {VALUE_NULL, VALUE_NULL, VALUE_NULL}, operands[2];
  if (keeps_selects(k, &i)) return VALUE_NULL;
  for (uint32_t arm = 0; arm < 2; arm++) {
    for (uint32_t n = 0; n < i.operand_count; n++) {
      operands[n] = constant_arm(k, inst_operand(k->f, &i, n), arm, &choice[0]);
      if (value_is_none(operands[n])) return VALUE_NULL;
    }
    choice[1 + arm] =
        eval_fold(k->m, (enum op)i.op, i.flags, i.aux, i.type, operands, i.operand_count);
    if (value_is_none(choice[1 + arm])) return VALUE_NULL;
  }
  bool one_lane = type_equal(value_type(k->f, choice[0]), TYPE_I1);
  return one_lane ? build_op(k, root, OP_SELECT, 0, i.type, 0, 3, choice) : VALUE_NULL;
}

struct nvm_value combine_try_code(struct combiner *k, struct nvm_inst_id root) {
  typedef struct nvm_value simplify(struct combiner * k, struct nvm_inst_id root);
  static simplify *const by_op[OP_COUNT] = {
      [OP_ADD] = add_of_words,
      [OP_PHI] = phi_simplify,
      [OP_GEP] = gep_simplify,
      [OP_ICMP] = icmp_simplify,
      [OP_LSHR] = combine_count_of_bits,
      [OP_SELECT] = combine_select,
      [OP_PTRTOINT] = ptrtoint_of_inttoptr,
      [OP_TRUNC] = trunc_of_tree,
      [OP_ZEXT] = zext_simplify,
      [OP_SEXT] = combine_extended_byte,
      [OP_UITOFP] = float_of_integer,
      [OP_SITOFP] = float_of_integer,
      [OP_FDIV] = fdiv_by_power,
      [OP_FPTRUNC] = combine_fptrunc,
      [OP_FCMP] = combine_fcmp,
      [OP_FPTOSI] = combine_float_to_int,
      [OP_FPTOUI] = combine_float_to_int,
      [OP_BITCAST] = bitcast_simplify,
      [OP_ADDRSPACECAST] = combine_addrspacecast,
      [OP_AND] = and_simplify,
      [OP_OR] = or_simplify,
      [OP_XOR] = combine_sum_of_constant,
      [OP_EXTRACTELEMENT] = combine_extractelement,
      [OP_EXTRACTVALUE] = combine_extractvalue,
      [OP_SHUFFLEVECTOR] = combine_shuffle,
      [OP_CALL] = call_simplify,
  };
  simplify *code = by_op[function_inst(k->f, root)->op];
  struct nvm_value to = code ? code(k, root) : VALUE_NULL;
  return value_is_none(to) ? op_of_selects(k, root) : to;
}
