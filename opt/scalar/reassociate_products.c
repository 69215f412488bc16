/* reassociate: products among the leaves of sums.
 *
 *     x % y * z + x / y * y * z  →  x * z
 *     a * b * z + c * z          →  (a * b + c) * z
 *
 * The second form is Horner's scheme: mad computes it with one instruction for each term. Factors
 * are compared as lists of at most MAX_FACTORS, so that a pair of terms takes constant time. */
#include "opt/scalar/reassociate.h"

#include "ir/build.h"
#include "ir/evalint.h"

enum { MAX_FACTORS = 8 };

/* Splits off the constant factor of a product; 1 if there is none. */
int64_t reassociate_split_factor(const struct nvm_function *f, struct nvm_value *v) {
  const struct nvm_inst *i = value_inst(f, *v);
  nvm_u128 bits;
  if (!i || (i->op != OP_MUL && i->op != OP_SHL) || reassociate_width(f, *v) > 64 ||
      !const_is_int(f->module, inst_operand(f, i, 1), &bits) ||
      (i->op == OP_SHL && bits >= reassociate_width(f, *v)))
    return 1;
  uint64_t factor = i->op == OP_SHL ? UINT64_C(1) << bits : (uint64_t)bits;
  int64_t number = evalint_sext(reassociate_width(f, *v), factor);
  *v = inst_operand(f, i, 0);
  return number;
}

struct product {
  struct nvm_value factors[MAX_FACTORS];
  uint32_t count;
};

/* A product, or a left shift by a constant, of at most 64 bits. */
static bool is_product(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t width = i ? type_scalar_bits(&f->module->types, i->type) : 0;
  nvm_u128 by;
  if (!i || i->op != OP_SHL) return i && i->op == OP_MUL;
  return width <= 64 && const_is_int(f->module, inst_operand(f, i, 1), &by) && by < width;
}

/* Where the nodes of a product have to be: in a loop, with one use each. */
struct place {
  const struct reassociation *s;
  uint32_t loop;
};

static bool is_in_place(const struct place *place, struct nvm_value v, const struct nvm_inst *i) {
  return !place || (place->s->loops.innermost[i->block.index] == place->loop &&
                    place->s->f->uses.data[value_index(v)] <= 1);
}

/* Lists the factors of v, a tree of products in that place, or anywhere if it is NULL. False if
 * there are too many. */
static bool product_of(const struct nvm_function *f, struct nvm_value v, const struct place *place,
                       struct product *p) {
  struct nvm_value open[MAX_FACTORS];
  uint32_t depth = 1;
  open[0] = v;
  p->count = 0;
  while (depth) {
    struct nvm_value top = open[--depth];
    const struct nvm_inst *i = value_inst(f, top);
    if (p->count + depth + 2 > MAX_FACTORS) return false;
    if (!is_product(f, i) || !is_in_place(place, top, i)) {
      p->factors[p->count++] = top;
      continue;
    }
    struct nvm_value by = inst_operand(f, i, 1);
    nvm_u128 amount;
    bool shifts = i->op == OP_SHL && const_is_int(f->module, by, &amount);
    open[depth++] = shifts ? const_int(f->module, i->type, (nvm_u128)1 << amount) : by;
    open[depth++] = inst_operand(f, i, 0);
  }
  return true;
}

static struct nvm_value build_product(struct builder *at, struct nvm_value v,
                                      const struct product *p, uint32_t first) {
  for (uint32_t k = first; k < p->count; k++) v = builder_binary(at, OP_MUL, v, p->factors[k]);
  return v;
}

static bool remove_factor(struct product *p, struct nvm_value v) {
  uint32_t k = 0;
  while (k < p->count && !value_equal(p->factors[k], v)) k++;
  if (k == p->count) return false;
  p->factors[k] = p->factors[--p->count];
  return true;
}

/* Whether the product has the factors x / y and y, and then those of `others`. */
static bool is_multiple(const struct nvm_function *f, struct product p, const struct nvm_inst *rest,
                        const struct product *others) {
  struct nvm_value x = inst_operand(f, rest, 0), y = inst_operand(f, rest, 1);
  for (uint32_t k = 0; k < others->count; k++)
    if (!remove_factor(&p, others->factors[k])) return false;
  if (p.count != 2 || !remove_factor(&p, y)) return false;
  const struct nvm_inst *i =
      value_inst_of(f, p.factors[0], rest->op == OP_SREM ? OP_SDIV : OP_UDIV);
  return i && value_equal(inst_operand(f, i, 0), x) && value_equal(inst_operand(f, i, 1), y);
}

/* x % y * z + x / y * y * z is x * z. Without z it is the dividend, which wraps only if x does. */
bool reassociate_merge_divided(struct nvm_function *f, struct tree *t, uint32_t k, uint32_t n) {
  struct product a, b;
  const struct nvm_inst *product = value_inst(f, t->leaves[k].value);
  bool may_have_rest = product && (product->op == OP_MUL || product->op == OP_SHL ||
                                   product->op == OP_SREM || product->op == OP_UREM);
  if (!may_have_rest || !product_of(f, t->leaves[k].value, NULL, &a)) return false;
  for (uint32_t i = 0; i < a.count; i++) {
    const struct nvm_inst *rest = value_inst(f, a.factors[i]);
    if (!rest || (rest->op != OP_SREM && rest->op != OP_UREM)) continue;
    struct product others = a;
    others.factors[i] = others.factors[--others.count];
    if (!product_of(f, t->leaves[n].value, NULL, &b) || !is_multiple(f, b, rest, &others)) continue;
    t->flags &= (uint16_t) ~(rest->op == OP_SREM ? INST_NUW : INST_NSW);
    if (others.count) t->flags = 0;
    struct builder at = builder_replacing(f, t->root);
    struct nvm_value v = build_product(&at, inst_operand(f, rest, 0), &others, 0);
    if (!value_is_none(v)) t->leaves[k].value = v;
    return !value_is_none(v);
  }
  return false;
}

/* --- common factors of terms ------------------------------------------------------------------ */

/* Moves the common factors of both products to `common`, except constants. */
static void split_common(struct product *a, struct product *b, struct product *common) {
  common->count = 0;
  for (uint32_t k = a->count; k-- > 0;) {
    struct nvm_value v = a->factors[k];
    if (value_kind(v) == VALUE_CONST || !remove_factor(b, v)) continue;
    common->factors[common->count++] = v;
    a->factors[k] = a->factors[--a->count];
  }
}

/* Whether a factor is a phi of the loop's header: the multiplication after the sum would be on the
 * path from one iteration to the next. */
static bool is_carried(const struct place *place, const struct product *p) {
  const struct reassociation *s = place->s;
  for (uint32_t k = 0; place->loop && k < p->count; k++) {
    const struct nvm_inst *phi = value_inst_of(s->f, p->factors[k], OP_PHI);
    if (phi && phi->block.index == s->loops.data[place->loop].header.index) return true;
  }
  return false;
}

/* a * b * z + c * z is (a * b + c) * z, which has one multiplication fewer. A sum costs nothing if
 * one of its operands is a product (mad). Merges leaf n into leaf k. */
static bool factor_terms(struct reassociation *s, struct tree *t, uint32_t k, uint32_t n) {
  struct leaf *a = &t->leaves[k];
  struct place place = {s, s->loops.innermost[function_inst(s->f, t->root)->block.index]};
  struct product p, q, common;
  if (a->factor != t->leaves[n].factor || !product_of(s->f, a->value, &place, &p) ||
      !product_of(s->f, t->leaves[n].value, &place, &q))
    return false;
  split_common(&p, &q, &common);
  if (is_carried(&place, &p) || is_carried(&place, &q)) return false;
  bool needs_add = p.count == 1 && q.count == 1;
  if (!p.count || !q.count || common.count < 1u + needs_add) return false;
  struct builder at = builder_replacing(s->f, t->root);
  struct nvm_value left = build_product(&at, p.factors[0], &p, 1),
                   right = build_product(&at, q.factors[0], &q, 1),
                   sum = builder_binary(&at, OP_ADD, left, right);
  struct nvm_value product = build_product(&at, sum, &common, 0);
  if (!value_is_none(product)) a->value = product;
  return !value_is_none(product);
}

/* Removes v if it is unused, and then its operands, so that the counted uses are those of live
 * trees. The recursion ends at the leaves of the old tree, which the new tree uses. */
static void remove_unused(struct nvm_function *f, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(f, v);
  if (!i || !i->operand_count || f->uses.data[value_index(v)] ||
      (!reassociate_may_reorder(i) && !is_product(f, i)))
    return;
  struct nvm_value operands[2] = {inst_operand(f, i, 0), inst_operand(f, i, 1)};
  inst_remove(f, value_inst_id(v));
  for (uint32_t k = 0; k < 2; k++) remove_unused(f, operands[k]);
}

/* Factors out what two terms of a sum have in common; *changed: whether there are such terms. Words
 * only: of 64 bits, a product of two extended words is one instruction (mul.wide), others are more.
 * False when out of memory. */
static bool factor_pair(struct reassociation *s, struct nvm_inst_id id, bool *changed) {
  struct tree t;
  *changed = false;
  const struct nvm_inst *root = function_inst(s->f, id);
  if (!root->operand_count || reassociate_tree_op(root) != OP_ADD ||
      reassociate_width(s->f, value_of_inst(id)) > 32 || !reassociate_flatten(s, id, &t))
    return true;
  if (!reassociate_find_depths(s, &t)) return false;
  for (uint32_t k = 0; k < t.count && !*changed; k++)
    for (uint32_t n = k + 1; n < t.count && !*changed; n++) {
      *changed = factor_terms(s, &t, k, n);
      if (*changed) reassociate_remove_leaf(&t, n);
    }
  if (!*changed) return !module_out_of_memory(s->f->module);
  struct nvm_value old[2];
  for (uint32_t k = 0; k < 2; k++) old[k] = inst_operand(s->f, function_inst(s->f, id), k);
  t.flags = 0;
  reassociate_add_neutral(s->f, &t, function_inst(s->f, id)->type);
  if (!reassociate_rebuild(s, &t)) return false;
  for (uint32_t k = 0; k < 2; k++) remove_unused(s->f, old[k]);
  return true;
}

/* False when out of memory. */
bool reassociate_factor_sums(struct reassociation *s) {
  for (uint32_t k = 0; k < s->nodes.count; k++)
    for (bool changed = true; changed;)
      if (!factor_pair(s, s->nodes.data[k], &changed)) return false;
  return true;
}
