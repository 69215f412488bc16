/* reassociate: orders the operands of sums and products so that less is computed.
 *
 * Purpose:   (x + 1) + i + 2 has two constants that do not fold; (i + a) + b has two loop-invariant
 *            operands that cannot be hoisted; x - q + q + h is x + h; n * h * d and b * n * h * d
 *            share n * h.
 * Algorithm: after Briggs and Cooper, "Effective Partial Redundancy Elimination", 1994, and LLVM's
 *            Reassociate and NaryReassociate: trees of one associative and commutative op, whose
 *            inner nodes have one use, are flattened; sums have negative leaves and leaves with a
 *            constant factor. A tree is rebuilt, operands of outer loops first, constants last and
 *            folded, if it has two constants, two leaves that merge, or two operands of outer loops
 *            that are joined through one of an inner loop. Otherwise it keeps its form and flags,
 *            and so do sums that lsr makes an advancing pointer of because nothing in them wraps.
 *            New sums have the flags that follow from those of all old ones.
 *            reassociate<pairs> then counts the pairs of leaves of all trees that a tree with the
 *            pair dominates. Each tree joins its most frequent pairs first, or uses the join of
 *            an earlier tree. This is repeated, since joins are leaves of the next round. Then a
 *            factor that two terms of a sum have in common is factored out if that saves a
 *            multiplication. Sums lose nsw, without which addresses cannot be compared: therefore
 *            it runs last.
 *            Nodes outside the loop of the root, which licm has hoisted, are leaves.
 * Requires:  nothing; licm hoists the invariant part.
 * Preserves: the control flow.
 * Cost:      a tree of n operands n² comparisons, n at most MAX_OPERANDS; for pairs n⁴, n at most
 *            MAX_PAIRED, in at most MAX_ROUNDS; for common factors n² for each that is found.
 * Omits:     floats without reassoc and nsz on every op of the tree; pairs in branches that exclude
 *            each other; common factors that are constants, of more than 32 bits, of vectors of
 *            shifts, or of products with other users.
 * Tests:     check/opt/reassociate*.nvir. */
#include "opt/scalar/reassociate.h"

#include "ir/build.h"
#include "ir/evalint.h"
#include "analysis/known_bits.h"

enum { MAX_PAIRED = 10, MAX_ROUNDS = 3 };

/* Two leaves that trees have. */
struct pair {
  enum op op;
  struct nvm_value a, b;
  uint32_t count;          /* of trees, in blocks that `block` dominates */
  struct nvm_block block;  /* of the first one */
  struct nvm_inst_id made; /* computes the pair; or none */
};

bool reassociate_may_reorder(const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return true;
    case OP_FADD:
    case OP_FMUL: return (i->flags & INST_REASSOC) && (i->flags & INST_NSZ);
    default: return false;
  }
}

enum op reassociate_tree_op(const struct nvm_inst *i) {
  return i->op == OP_SUB ? OP_ADD : (enum op)i->op;
}

/* The instruction that computes v, if it is an inner node of a tree of `op`. */
static const struct nvm_inst *inner_node(const struct nvm_function *f, struct nvm_value v,
                                         enum op op) {
  const struct nvm_inst *i = value_inst(f, v);
  bool is_inner = i && f->uses.data[value_index(v)] == 1 && reassociate_may_reorder(i) &&
                  reassociate_tree_op(i) == op;
  return is_inner ? i : NULL;
}

static uint32_t loop_depth(const struct reassociation *s, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return value_kind(v) == VALUE_CONST ? UINT32_MAX : 0;
  struct nvm_block b = function_inst(s->f, value_inst_id(v))->block;
  return b.index < s->loops.known_blocks ? s->loops.data[s->loops.innermost[b.index]].depth : 0;
}

static bool find_loops(struct reassociation *s) {
  s->have_loops = s->have_loops || flow_loops(s->env->flow, s->f, &s->dominance, &s->loops);
  return s->have_loops;
}

/* Whether i, an inner node, is in the same loop as the root: what was hoisted stays. */
static bool is_in_loop_of(struct reassociation *s, const struct nvm_inst *i,
                          struct nvm_inst_id root) {
  struct nvm_block a = i->block, b = function_inst(s->f, root)->block;
  if (a.index == b.index || !find_loops(s)) return true;
  return a.index >= s->loops.known_blocks || b.index >= s->loops.known_blocks ||
         s->loops.innermost[a.index] == s->loops.innermost[b.index];
}

/* Lists the leaves from left to right. False if there are too many. */
bool reassociate_flatten(struct reassociation *s, struct nvm_inst_id root, struct tree *t) {
  struct leaf open[MAX_OPERANDS + 1];
  uint32_t depth = 1;
  open[0] = (struct leaf){value_of_inst(root), 1, 0};
  t->root = root;
  t->op = reassociate_tree_op(function_inst(s->f, root));
  t->count = 0;
  t->flags = UINT16_MAX;
  while (depth) {
    struct leaf v = open[--depth];
    bool is_root = value_equal(v.value, value_of_inst(root));
    const struct nvm_inst *i =
        is_root ? function_inst(s->f, root) : inner_node(s->f, v.value, t->op);
    if (i && !is_root && !is_in_loop_of(s, i, root)) i = NULL;
    if (t->count + depth + 2 > MAX_OPERANDS) return false;
    if (!i) {
      t->leaves[t->count++] = v;
      continue;
    }
    bool is_sub = i->op == OP_SUB;
    t->flags &= is_sub ? i->flags & ~INST_NUW : i->flags;
    open[depth++] = (struct leaf){inst_operand(s->f, i, 1), is_sub ? -v.factor : v.factor, 0};
    open[depth++] = (struct leaf){inst_operand(s->f, i, 0), v.factor, 0};
  }
  return true;
}

/* False when out of memory. */
bool reassociate_find_depths(struct reassociation *s, struct tree *t) {
  if (!find_loops(s)) return false;
  for (uint32_t k = 0; k < t->count; k++) t->leaves[k].depth = loop_depth(s, t->leaves[k].value);
  return true;
}

void reassociate_remove_leaf(struct tree *t, uint32_t k) {
  t->count--;
  memmove(&t->leaves[k], &t->leaves[k + 1], (t->count - k) * sizeof *t->leaves);
}

static void add_leaf(struct tree *t, struct nvm_value v) {
  t->leaves[t->count++] =
      (struct leaf){v, 1, value_kind(v) == VALUE_CONST ? UINT32_MAX : t->leaves[0].depth};
}

/* Bits of the elements of v. */
uint32_t reassociate_width(const struct nvm_function *f, struct nvm_value v) {
  const struct type_table *types = &f->module->types;
  return type_scalar_bits(types, type_scalar(types, value_type(f, v)));
}

/* --- equal leaves ----------------------------------------------------------------------------- */

/* Merges leaf n of a sum into leaf k. */
static bool merge_terms(struct nvm_function *f, struct tree *t, uint32_t k, uint32_t n) {
  struct leaf *a = &t->leaves[k], *b = &t->leaves[n];
  if (a->factor == b->factor && reassociate_merge_divided(f, t, k, n)) return true;
  struct nvm_value x = a->value, y = b->value;
  int64_t p = reassociate_split_factor(f, &x), q = reassociate_split_factor(f, &y);
  if (!value_equal(x, y) || reassociate_width(f, x) > 64) return false;
  bool lone = (p == 1 || f->uses.data[value_index(a->value)] == 1) &&
              (q == 1 || f->uses.data[value_index(b->value)] == 1) &&
              type_is_int(&f->module->types, value_type(f, x));
  uint64_t total = (uint64_t)p * (uint64_t)a->factor + (uint64_t)q * (uint64_t)b->factor;
  int64_t sum = evalint_sext(reassociate_width(f, x), total);
  if (!lone && (sum < -1 || sum > 1)) return false;
  if (p != 1 || q != 1 || (uint64_t)sum != total) t->flags = 0; /* products may have wrapped */
  *a = (struct leaf){x, sum, 0};
  return true;
}

/* x - x is 0, x + 2 * x is 3 * x; x & x, x | x are x; x ^ x is 0. True if there was such a pair. */
static bool merge_leaves(struct nvm_function *f, struct tree *t) {
  bool any = false;
  if (t->op == OP_MUL || t->op == OP_FADD || t->op == OP_FMUL) return false;
  for (uint32_t k = 0; k < t->count; k++)
    for (uint32_t n = 0; n < t->count; n++) {
      struct leaf *a = &t->leaves[k];
      if (n == k || value_kind(a->value) == VALUE_CONST) continue;
      if (t->op == OP_ADD ? !merge_terms(f, t, k, n) : !value_equal(a->value, t->leaves[n].value))
        continue;
      if (t->op == OP_XOR) a->factor = 0;
      bool vanishes = a->factor == 0;
      reassociate_remove_leaf(t, n);
      if (n < k) k--;
      if (vanishes) reassociate_remove_leaf(t, k);
      any = true;
      n = UINT32_MAX;
      if (k >= t->count) break;
    }
  return any;
}

/* Adds what an empty tree, a single leaf, or a sum of negative ones needs to be built. */
void reassociate_add_neutral(const struct nvm_function *f, struct tree *t, struct nvm_type type) {
  bool positive = false;
  for (uint32_t k = 0; k < t->count; k++) positive |= t->leaves[k].factor > 0;
  if (!positive) add_leaf(t, const_zero(f->module, type));
  if (t->count == 1)
    add_leaf(t, t->op == OP_AND ? t->leaves[0].value : const_zero(f->module, type));
}

/* --- order ------------------------------------------------------------------------------------ */

/* Sorts leaves stably: outer loops first, constants last. True if this joins two leaves of an outer
 * loop, or two constants. */
static bool sort_leaves(struct tree *t) {
  uint32_t constants = 0, inner = 0, moved = 0, outer = 0;
  for (uint32_t k = 0; k < t->count; k++) {
    if (t->leaves[k].depth == UINT32_MAX) constants++;
    else if (t->leaves[k].depth > inner) inner = t->leaves[k].depth;
  }
  for (uint32_t k = 0; k < t->count; k++) {
    struct leaf v = t->leaves[k];
    uint32_t n = k;
    outer += v.depth < inner;
    for (; n > 0 && t->leaves[n - 1].depth > v.depth; n--) {
      moved += t->leaves[n - 1].depth != UINT32_MAX;
      t->leaves[n] = t->leaves[n - 1];
    }
    t->leaves[n] = v;
  }
  return constants > 1 || (moved && outer > 1);
}

static bool all_nonnegative(const struct nvm_function *f, const struct tree *t) {
  for (uint32_t k = 0; k < t->count; k++)
    if (t->leaves[k].factor != 1 || !known_bits_nonnegative(known_bits_of(f, t->leaves[k].value)))
      return false;
  return true;
}

/* Whether one join is left, of two leaves or of one with constants whose sum does not wrap. Then it
 * keeps nsw. */
static bool is_single_join(const struct nvm_function *f, const struct tree *t) {
  nvm_i128 sum = 0;
  uint32_t width = reassociate_width(f, t->leaves[0].value), others = 0;
  if (width > 64) return false;
  for (uint32_t k = 0; k < t->count; k++) {
    const struct leaf *leaf = &t->leaves[k];
    nvm_u128 bits;
    if (leaf->factor != 1 && leaf->factor != -1) return false;
    if (leaf->depth != UINT32_MAX) others++;
    else if (!const_is_int(f->module, leaf->value, &bits)) return false;
    else sum += evalint_sext(width, (uint64_t)bits) * (nvm_i128)leaf->factor;
  }
  return sum == evalint_sext(width, (uint64_t)sum) &&
         (others == 1 || (others == 2 && t->count == 2));
}

/* The flags that new ops keep. Parts of a sum that does not wrap do not wrap as unsigned numbers,
 * and as signed ones if none is negative. */
static uint16_t kept_flags(const struct nvm_function *f, const struct tree *t) {
  uint16_t kept = INST_FAST | INST_DISJOINT;
  if (t->op == OP_FADD || t->op == OP_FMUL) return t->flags & INST_FAST;
  if (t->op == OP_ADD) kept |= INST_NUW;
  if (t->op == OP_ADD && (t->flags & INST_NSW) && (is_single_join(f, t) || all_nonnegative(f, t)))
    kept |= INST_NSW;
  return t->op == OP_ADD || t->op == OP_OR ? t->flags & kept : 0;
}

/* A join of two leaves: op and operands. Its factor is the sign of what it computes. */
struct join {
  enum op op;
  struct nvm_value operands[2];
  int64_t factor;
};

static struct join join_of(const struct tree *t, struct leaf a, struct leaf b) {
  if (a.factor == b.factor) return (struct join){t->op, {a.value, b.value}, a.factor};
  if (a.factor < 0) return (struct join){OP_SUB, {b.value, a.value}, 1};
  return (struct join){OP_SUB, {a.value, b.value}, 1};
}

static struct leaf build_join(struct reassociation *s, const struct tree *t, struct leaf a,
                              struct leaf b) {
  struct join j = join_of(t, a, b);
  struct builder at = builder_replacing(s->f, t->root);
  struct nvm_type type = function_inst(s->f, t->root)->type;
  return (struct leaf){builder_add(&at, j.op, t->flags, type, j.operands, 2, 0), j.factor, a.depth};
}

/* Multiplies leaves that were merged. */
static void build_factors(struct reassociation *s, struct tree *t) {
  struct builder at = builder_replacing(s->f, t->root);
  struct nvm_type type = function_inst(s->f, t->root)->type;
  for (uint32_t k = 0; k < t->count; k++) {
    struct leaf *leaf = &t->leaves[k];
    if (leaf->factor == 1 || leaf->factor == -1) continue;
    bool negative = leaf->factor < 0;
    uint64_t factor = negative ? 0 - (uint64_t)leaf->factor : (uint64_t)leaf->factor;
    struct nvm_value constant = const_int(s->f->module, type, (nvm_u128)factor);
    leaf->value = builder_binary(&at, OP_MUL, leaf->value, constant);
    leaf->factor = negative ? -1 : 1;
  }
}

/* Builds the tree, with its flags. The root becomes its last op; the old inner nodes are dead. */
bool reassociate_rebuild(struct reassociation *s, struct tree *t) {
  build_factors(s, t);
  while (t->count > 2 && t->leaves[t->count - 2].depth == UINT32_MAX) {
    t->leaves[t->count - 2] = build_join(s, t, t->leaves[t->count - 2], t->leaves[t->count - 1]);
    t->count--;
  }
  struct leaf v = t->leaves[0];
  for (uint32_t k = 1; k + 1 < t->count; k++) v = build_join(s, t, v, t->leaves[k]);
  struct join last = join_of(t, v, t->leaves[t->count - 1]);
  if (value_is_none(last.operands[0]) || value_is_none(last.operands[1])) return false;
  inst_set_operand(s->f, t->root, 0, last.operands[0]);
  inst_set_operand(s->f, t->root, 1, last.operands[1]);
  function_inst(s->f, t->root)->op = (uint16_t)last.op;
  function_inst(s->f, t->root)->flags = t->flags;
  ++*s->env->statistic;
  return true;
}

/* Whether an access in `block` has an address of which v, extended, is an index. */
static bool is_index(const struct reassociation *s, struct nvm_inst_id v, struct nvm_block block) {
  enum { MAX_STEPS = 4 };
  struct nvm_inst_id user = s->index_of[v.index];
  if (inst_is_none(user) || function_inst(s->f, user)->op != OP_SEXT) return false;
  for (uint32_t k = 0; k < MAX_STEPS && !inst_is_none(user); k++) {
    const struct nvm_inst *i = function_inst(s->f, user);
    if (inst_address_operand(i) != UINT32_MAX)
      return s->loops.innermost[i->block.index] == s->loops.innermost[block.index];
    user = s->index_of[user.index];
  }
  return false;
}

/* Whether the sum is an index that lsr can replace as long as it has its flags: only extended, and
 * affine in its loop. */
static bool is_index_of_loop(struct reassociation *s, const struct tree *t) {
  struct nvm_block block = function_inst(s->f, t->root)->block;
  uint32_t constants = 0, loop = s->loops.innermost[block.index];
  for (uint32_t k = 0; k < t->count; k++)
    constants += value_kind(t->leaves[k].value) == VALUE_CONST;
  if (!(t->flags & INST_NSW) || constants > 1 || !loop || s->f->uses.data[t->root.index] != 1 ||
      !is_index(s, t->root, block))
    return false;
  if (!s->scev) s->scev = scev_init(s->f, &s->loops, &s->dominance, s->env->arena);
  if (!s->scev) return false;
  scev_split_products(s->scev);
  struct scev form = scev_of(s->scev, value_of_inst(s->index_of[t->root.index]));
  struct scev start = scev_at_start(s->scev, form, loop);
  return !scev_equal(form, start) && scev_is_invariant(s->scev, start, loop);
}

/* Whether a tree is rooted there. */
static bool is_root(const struct reassociation *s, struct nvm_inst_id id) {
  return s->f->uses.data[id.index] != 1 ||
         s->user_op[id.index] != reassociate_tree_op(function_inst(s->f, id));
}

/* Counts the pairs of the tree; false if it is not one for pairs. */
static bool count_pairs_of(struct reassociation *s, const struct tree *t) {
  if (t->count < 2 || t->count > MAX_PAIRED) return false;
  s->pair_count += t->count * (t->count - 1) / 2;
  s->have_large |= t->count > 2;
  return true;
}

/* False when out of memory; *paired as count_pairs_of() says. */
static bool visit(struct reassociation *s, struct nvm_inst_id id, bool *paired) {
  struct tree t;
  if (!is_root(s, id) || !reassociate_flatten(s, id, &t)) return true;
  struct tree whole = t;
  bool merged = (t.count > 2 || t.op == OP_ADD) && merge_leaves(s->f, &t);
  *paired = count_pairs_of(s, &t);
  if (!merged && t.count < 3) return true;
  if (module_out_of_memory(s->f->module) || !reassociate_find_depths(s, &t)) return false;
  reassociate_add_neutral(s->f, &t, function_inst(s->f, id)->type);
  if (!sort_leaves(&t) && !merged) return true;
  t.flags = kept_flags(s->f, &t);
  if ((!merged || !(t.flags & INST_NSW)) && is_index_of_loop(s, &whole)) return true;
  return reassociate_rebuild(s, &t);
}

/* --- pairs of leaves that several trees have -------------------------------------------------- */

/* The place of a pair; `a` of it is none if it is new. */
static struct pair *pair_of(const struct reassociation *s, const struct tree *t, uint32_t k,
                            uint32_t n) {
  struct nvm_value a = t->leaves[k].value, b = t->leaves[n].value;
  if (a.bits > b.bits) return pair_of(s, t, n, k);
  uint32_t at = hash_mix(hash_mix(t->op, a.bits), b.bits);
  for (;; at++) {
    struct pair *p = &s->pairs[at & (s->slots - 1)];
    if (value_is_none(p->a) || (p->op == t->op && value_equal(p->a, a) && value_equal(p->b, b)))
      return p;
  }
}

/* Whether two leaves may be joined first: constants are last, and what is computed before a loop
 * stays together. Of several equal leaves only the first one. */
static bool may_pair(const struct tree *t, uint32_t k, uint32_t n) {
  const struct leaf *a = &t->leaves[k], *b = &t->leaves[n];
  uint32_t depth = a->depth > b->depth ? a->depth : b->depth;
  if (depth == UINT32_MAX || a->factor != b->factor) return false;
  for (uint32_t i = 0; i < t->count; i++) {
    const struct leaf *other = &t->leaves[i];
    if (i == k || i == n) continue;
    if (other->depth < depth || (i < k && value_equal(other->value, a->value)) ||
        (i < n && value_equal(other->value, b->value)))
      return false;
  }
  return true;
}

static bool is_below(const struct reassociation *s, const struct pair *p, const struct tree *t) {
  return dominance_dominates(&s->dominance, p->block, function_inst(s->f, t->root)->block);
}

static void count_pairs(struct reassociation *s, const struct tree *t) {
  for (uint32_t k = 0; k < t->count; k++)
    for (uint32_t n = k + 1; n < t->count; n++) {
      if (!may_pair(t, k, n)) continue;
      struct pair *p = pair_of(s, t, k, n);
      if (value_is_none(p->a) && ++s->used > s->slots / 2) return;
      if (p->count && is_below(s, p, t)) {
        p->count++;
        s->have_pairs = true;
      } else if (p->count < 2) {
        bool swapped = t->leaves[k].value.bits > t->leaves[n].value.bits;
        *p = (struct pair){.op = t->op, .count = 1, .block = function_inst(s->f, t->root)->block};
        p->a = t->leaves[swapped ? n : k].value;
        p->b = t->leaves[swapped ? k : n].value;
      }
    }
}

/* The pair of a tree that most trees have, of those that are computed if there is one; NULL: none
 * is in another tree. */
static struct pair *most_frequent(struct reassociation *s, const struct tree *t, uint32_t *first,
                                  uint32_t *second) {
  struct pair *best = NULL;
  for (uint32_t k = 0; k < t->count; k++)
    for (uint32_t n = k + 1; n < t->count; n++) {
      if (!may_pair(t, k, n)) continue;
      struct pair *p = pair_of(s, t, k, n);
      if (p->count < 2 || !is_below(s, p, t)) continue;
      bool made = !inst_is_none(p->made), best_made = best && !inst_is_none(best->made);
      if (best && (made != best_made ? best_made : p->count <= best->count)) continue;
      best = p;
      *first = k;
      *second = n;
    }
  return best;
}

/* Leaf k is now part of a pair with leaf n, and of no other one. */
static void uncount_pairs(struct reassociation *s, const struct tree *t, uint32_t k, uint32_t n) {
  for (uint32_t i = 0; i < t->count; i++) {
    if (i == k || i == n || !may_pair(t, i, k)) continue;
    struct pair *p = pair_of(s, t, i, k);
    if (p->count) p->count--;
  }
}

/* The root or inner node in the block of the root that joins these leaves; or none. */
static struct nvm_inst_id joined(const struct reassociation *s, const struct tree *t,
                                 struct pair *p) {
  struct nvm_inst_id open[MAX_OPERANDS];
  uint32_t depth = 1;
  open[0] = t->root;
  while (depth) {
    struct nvm_inst_id id = open[--depth];
    struct nvm_value v[2] = {inst_operand_at(s->f, id, 0), inst_operand_at(s->f, id, 1)};
    bool same = value_equal(v[0], p->a) ? value_equal(v[1], p->b)
                                        : value_equal(v[0], p->b) && value_equal(v[1], p->a);
    const struct nvm_inst *i = function_inst(s->f, id);
    if (same && i->op == t->op && i->block.index == function_inst(s->f, t->root)->block.index)
      return id;
    for (uint32_t k = 0; k < 2; k++)
      if (inner_node(s->f, v[k], t->op)) open[depth++] = value_inst_id(v[k]);
  }
  return (struct nvm_inst_id){0};
}

static bool share_pairs(struct reassociation *s, struct nvm_inst_id id) {
  struct tree t;
  uint32_t k = 0, n = 0;
  bool changed = false;
  if (!reassociate_flatten(s, id, &t) || t.count > MAX_PAIRED)
    return true; /* a leaf lost its other use */
  if (!reassociate_find_depths(s, &t)) return false;
  t.flags = kept_flags(s->f, &t);
  for (struct pair *p; (p = most_frequent(s, &t, &k, &n)) != NULL;) {
    struct nvm_inst_id own = joined(s, &t, p);
    if (inst_is_none(p->made)) {
      struct leaf a = {p->a, 1, 0}, b = {p->b, 1, 0};
      p->made = inst_is_none(own) ? value_inst_id(build_join(s, &t, a, b).value) : own;
      if (inst_is_none(p->made)) return false;
      p->block = function_inst(s->f, p->made)->block;
    }
    if (t.count == 2) break;
    uncount_pairs(s, &t, k, n);
    uncount_pairs(s, &t, n, k);
    if (inst_is_none(own)) {
      function_inst(s->f, p->made)->flags &= t.flags;
      changed = true;
      own = p->made;
    }
    t.leaves[k].value = value_of_inst(own);
    t.leaves[k].depth = loop_depth(s, t.leaves[k].value);
    reassociate_remove_leaf(&t, n);
  }
  if (!changed) return true;
  sort_leaves(&t);
  return reassociate_rebuild(s, &t);
}

/* Joins first what several trees join. False when out of memory. */
static bool share_all_pairs(struct reassociation *s) {
  struct tree t;
  s->have_pairs = false;
  s->used = 0;
  memset(s->pairs, 0, s->slots * sizeof *s->pairs);
  for (uint32_t k = 0; k < s->nodes.count; k++) {
    if (!reassociate_flatten(s, s->nodes.data[k], &t) || t.count > MAX_PAIRED) continue;
    if (!reassociate_find_depths(s, &t)) return false;
    count_pairs(s, &t);
  }
  for (uint32_t k = 0; s->have_pairs && k < s->nodes.count; k++)
    if (!share_pairs(s, s->nodes.data[k])) return false;
  return true;
}

static bool share_in_rounds(struct reassociation *s) {
  uint64_t changes = *s->env->statistic + 1;
  if (!s->have_large) return true;
  for (s->slots = 64; s->slots < 2 * s->pair_count;) s->slots *= 2;
  s->pairs = arena_alloc(s->env->arena, s->slots * sizeof *s->pairs);
  if (!s->pairs) return false;
  for (uint32_t n = 0; n < MAX_ROUNDS && *s->env->statistic != changes; n++) {
    changes = *s->env->statistic;
    if (!share_all_pairs(s)) return false;
  }
  return true;
}

/* Records i as the user of its operands if that leads from an index to an access. */
static void note_index(struct reassociation *s, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(s->f, id);
  uint32_t address = inst_address_operand(i);
  bool computes = i->op == OP_SEXT || i->op == OP_GEP;
  if (!computes && address == UINT32_MAX) return;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if ((computes || k == address) && value_kind(inst_operand(s->f, i, k)) == VALUE_INST)
      s->index_of[value_index(inst_operand(s->f, i, k))] = id;
}

enum nvm_status reassociate_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct reassociation s = {.f = f, .env = env};
  uint64_t before = *env->statistic;
  s.user_op = arena_alloc(env->arena, f->insts.count * sizeof *s.user_op);
  s.index_of = arena_alloc(env->arena, f->insts.count * sizeof *s.index_of);
  if (!s.user_op || !s.index_of) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      note_index(&s, i);
      if (!reassociate_may_reorder(inst)) continue;
      for (uint32_t k = 0; k < 2; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) == VALUE_INST) s.user_op[value_index(v)] = reassociate_tree_op(inst);
      }
      if (!VEC_PUSH(env->arena, &s.nodes, i)) return NVM_OUT_OF_MEMORY;
    }
  uint32_t trees = 0;
  for (uint32_t k = 0; k < s.nodes.count; k++) {
    bool paired = false;
    if (!visit(&s, s.nodes.data[k], &paired)) return NVM_OUT_OF_MEMORY;
    if (paired) s.nodes.data[trees++] = s.nodes.data[k];
  }
  s.nodes.count = trees;
  bool shares_pairs = env->parameters & 1 << PARAMETER_PAIRS;
  if (shares_pairs && (!share_in_rounds(&s) || !reassociate_factor_sums(&s)))
    return NVM_OUT_OF_MEMORY;
  *changed = *env->statistic != before;
  return NVM_OK;
}
