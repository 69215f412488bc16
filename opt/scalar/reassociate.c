/* reassociate: orders the operands of sums and products so that less is computed.
 *
 * Purpose:   (x + 1) + i + 2 has two constants that do not fold; (i + a) + b has two loop-invariant
 *            operands that cannot be hoisted.
 * Algorithm: after Briggs and Cooper, "Effective Partial Redundancy Elimination", 1994: trees of
 *            one associative and commutative op, whose inner nodes have one use, are flattened. A
 *            tree is rebuilt, operands of outer loops first, constants last and folded, if it has
 *            two constants, two equal operands that simplify, or two operands of outer loops that
 *            are joined through one of an inner loop. Otherwise it keeps its form and flags, and so
 *            do sums that lsr makes an advancing pointer of because nothing in them wraps. New sums
 *            have the flags that follow from those of all old ones.
 * Requires:  nothing; licm hoists the invariant part.
 * Preserves: the control flow.
 * Cost:      a tree of n operands n² comparisons, n at most MAX_OPERANDS.
 * Omits:     factoring, which combine does; floats without reassoc and nsz on every op of the tree.
 * Tests:     check/opt/reassociate*.nvir. */
#include "ir/build.h"
#include "ir/evalint.h"
#include "analysis/known_bits.h"
#include "analysis/scev.h"
#include "opt/passes.h"

enum { MAX_OPERANDS = 16 };

struct tree {
  struct nvm_inst_id root;
  struct nvm_value leaves[MAX_OPERANDS + 1];
  uint32_t depth[MAX_OPERANDS + 1]; /* loop depth of a leaf; constants: UINT32_MAX */
  uint32_t count;
  uint16_t flags; /* fast-math flags, nsw and nuw that all ops have */
};

struct reassociation {
  struct nvm_function *f;
  struct pass_env *env;
  bool have_loops; /* computed for the first tree */
  struct dominance dominance;
  struct loops loops;
  struct scev_env *scev;        /* NULL: not needed yet */
  struct nvm_inst_id *index_of; /* by instruction: a sext, getelementptr or access that uses it */
};

static bool may_reorder(const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_MUL:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return true;
    case OP_FADD:
    case OP_FMUL: return (i->flags & INST_REASSOC) && (i->flags & INST_NSZ);
    default: return false;
  }
}

/* The instruction that computes v, if it is an inner node of a tree of `op`. */
static const struct nvm_inst *inner_node(const struct nvm_function *f, struct nvm_value v,
                                         uint16_t op) {
  if (value_kind(v) != VALUE_INST || f->uses.data[value_index(v)] != 1) return NULL;
  const struct nvm_inst *i = function_inst(f, value_inst_id(v));
  return i->op == op && may_reorder(i) ? i : NULL;
}

static uint32_t loop_depth(const struct reassociation *s, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return value_kind(v) == VALUE_CONST ? UINT32_MAX : 0;
  struct nvm_block b = function_inst(s->f, value_inst_id(v))->block;
  return b.index < s->loops.known_blocks ? s->loops.data[s->loops.innermost[b.index]].depth : 0;
}

/* Lists the leaves from left to right. False if there are too many, or only two. */
static bool flatten(const struct reassociation *s, struct tree *t) {
  const struct nvm_inst *root = function_inst(s->f, t->root);
  struct nvm_value open[MAX_OPERANDS + 1];
  uint32_t depth = 0;
  t->count = 0;
  t->flags = root->flags;
  open[depth++] = inst_operand(s->f, root, 1);
  open[depth++] = inst_operand(s->f, root, 0);
  while (depth) {
    struct nvm_value v = open[--depth];
    const struct nvm_inst *i = inner_node(s->f, v, root->op);
    if (t->count + depth + 2 > MAX_OPERANDS) return false;
    if (i) {
      t->flags &= i->flags;
      open[depth++] = inst_operand(s->f, i, 1);
      open[depth++] = inst_operand(s->f, i, 0);
      continue;
    }
    t->leaves[t->count++] = v;
  }
  return t->count > 2;
}

/* False when out of memory. */
static bool find_depths(struct reassociation *s, struct tree *t) {
  if (!s->have_loops && !flow_loops(s->env->flow, s->f, &s->dominance, &s->loops)) return false;
  s->have_loops = true;
  for (uint32_t k = 0; k < t->count; k++) t->depth[k] = loop_depth(s, t->leaves[k]);
  return true;
}

static void remove_leaf(struct tree *t, uint32_t k) {
  t->count--;
  memmove(&t->leaves[k], &t->leaves[k + 1], (t->count - k) * sizeof *t->leaves);
  memmove(&t->depth[k], &t->depth[k + 1], (t->count - k) * sizeof *t->depth);
}

/* x & x, x | x are x; x ^ x is 0. True if there was such a pair. */
static bool drop_pairs(struct tree *t, enum op op, struct nvm_value zero) {
  bool any = false;
  if (op != OP_AND && op != OP_OR && op != OP_XOR) return false;
  for (uint32_t k = 0; k < t->count; k++)
    for (uint32_t n = k + 1; n < t->count; n++) {
      if (!value_equal(t->leaves[k], t->leaves[n]) || t->depth[k] == UINT32_MAX) continue;
      remove_leaf(t, n--);
      any = true;
      if (op != OP_XOR) continue;
      t->leaves[k] = zero;
      t->depth[k] = UINT32_MAX;
      break;
    }
  return any;
}

/* Sorts leaves stably: outer loops first, constants last. True if this joins two leaves of an outer
 * loop, or two constants. */
static bool sort_leaves(struct tree *t) {
  uint32_t constants = 0, inner = 0, moved = 0, least = UINT32_MAX, outer = 0;
  for (uint32_t k = 0; k < t->count; k++) {
    if (t->depth[k] == UINT32_MAX) constants++;
    else if (t->depth[k] > inner) inner = t->depth[k];
    if (t->depth[k] < least) least = t->depth[k];
  }
  for (uint32_t k = 0; k < t->count; k++) {
    outer += t->depth[k] < inner;
    struct nvm_value v = t->leaves[k];
    uint32_t depth = t->depth[k], n = k;
    for (; n > 0 && t->depth[n - 1] > depth; n--) {
      moved += t->depth[n - 1] != UINT32_MAX;
      t->leaves[n] = t->leaves[n - 1];
      t->depth[n] = t->depth[n - 1];
    }
    t->leaves[n] = v;
    t->depth[n] = depth;
  }
  return constants > 1 || (moved && outer > 1);
}

static bool all_nonnegative(const struct nvm_function *f, const struct tree *t) {
  for (uint32_t k = 0; k < t->count; k++)
    if (!known_bits_nonnegative(known_bits_of(f, t->leaves[k]))) return false;
  return true;
}

/* Whether the sum of the leaf with the constants, if there is just one other leaf, keeps nsw: the
 * constants do not wrap. */
static bool constants_fit(const struct nvm_function *f, const struct tree *t) {
  nvm_i128 sum = 0;
  uint32_t width = type_scalar_bits(&f->module->types, value_type(f, t->leaves[0]));
  if (width > 64 || t->depth[0] == UINT32_MAX) return false;
  for (uint32_t k = 1; k < t->count; k++) {
    nvm_u128 bits;
    if (!const_is_int(f->module, t->leaves[k], &bits)) return false;
    sum += evalint_sext(width, (uint64_t)bits);
  }
  return sum == evalint_sext(width, (uint64_t)sum);
}

/* The flags that new ops keep. Parts of a sum that does not wrap do not wrap as unsigned numbers,
 * and as signed ones if none is negative. */
static uint16_t kept_flags(const struct nvm_function *f, const struct tree *t, enum op op) {
  uint16_t kept = INST_FAST | INST_DISJOINT;
  if (op == OP_FADD || op == OP_FMUL) return t->flags & INST_FAST;
  if (op == OP_ADD) kept |= INST_NUW;
  if (op == OP_ADD && (t->flags & INST_NSW) && (constants_fit(f, t) || all_nonnegative(f, t)))
    kept |= INST_NSW;
  return op == OP_ADD || op == OP_OR ? t->flags & kept : 0;
}

static struct nvm_value join(struct reassociation *s, const struct tree *t, struct nvm_value a,
                             struct nvm_value b) {
  const struct nvm_inst *root = function_inst(s->f, t->root);
  struct builder at = builder_replacing(s->f, t->root);
  return builder_add(&at, (enum op)root->op, t->flags, root->type, (struct nvm_value[]){a, b}, 2,
                     0);
}

/* Builds the tree. The root becomes its last op; the old inner nodes are dead. */
static bool rebuild(struct reassociation *s, struct tree *t) {
  t->flags = kept_flags(s->f, t, (enum op)function_inst(s->f, t->root)->op);
  while (t->count > 2 && t->depth[t->count - 2] == UINT32_MAX) {
    t->leaves[t->count - 2] = join(s, t, t->leaves[t->count - 2], t->leaves[t->count - 1]);
    t->count--;
  }
  struct nvm_value v = t->leaves[0];
  for (uint32_t k = 1; k + 1 < t->count && !value_is_none(v); k++) v = join(s, t, v, t->leaves[k]);
  if (value_is_none(v) || value_is_none(t->leaves[t->count - 1])) return false;
  inst_set_operand(s->f, t->root, 0, v);
  inst_set_operand(s->f, t->root, 1, t->leaves[t->count - 1]);
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
  for (uint32_t k = 0; k < t->count; k++) constants += t->depth[k] == UINT32_MAX;
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

static bool visit(struct reassociation *s, struct nvm_inst_id id, const uint32_t *user_op) {
  const struct nvm_inst *i = function_inst(s->f, id);
  struct tree t;
  t.root = id;
  if ((s->f->uses.data[id.index] == 1 && user_op[id.index] == i->op) || !flatten(s, &t))
    return true;
  if (!find_depths(s, &t)) return false;
  bool paired = drop_pairs(&t, (enum op)i->op, const_zero(s->f->module, i->type));
  if (t.count < 2) { /* x & x; for other ops x and 0 */
    t.leaves[1] = i->op == OP_AND ? t.leaves[0] : const_zero(s->f->module, i->type);
    t.depth[1] = i->op == OP_AND ? t.depth[0] : UINT32_MAX;
    t.count = 2;
  }
  if (is_index_of_loop(s, &t)) return true;
  return (!sort_leaves(&t) && !paired) || rebuild(s, &t);
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
  uint32_t *user_op = arena_alloc(env->arena, f->insts.count * sizeof *user_op);
  VEC(struct nvm_inst_id) nodes = {NULL, 0, 0};
  s.index_of = arena_alloc(env->arena, f->insts.count * sizeof *s.index_of);
  if (!user_op || !s.index_of) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      note_index(&s, i);
      if (!may_reorder(inst)) continue;
      for (uint32_t k = 0; k < 2; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) == VALUE_INST) user_op[value_index(v)] = inst->op;
      }
      if (!VEC_PUSH(env->arena, &nodes, i)) return NVM_OUT_OF_MEMORY;
    }
  for (uint32_t k = 0; k < nodes.count; k++)
    if (!visit(&s, nodes.data[k], user_op)) return NVM_OUT_OF_MEMORY;
  *changed = *env->statistic != before;
  return NVM_OK;
}
