/* slp-vectorizer: packs equal operations on adjacent lanes.
 *
 * Purpose:   half2, bfloat2 and, on CPUs that have them, i16x2 and f32x2 execute two lanes per
 *            instruction. Load-store-vectorizer and unrolling leave wide accesses around lanes
 *            that are computed one by one. It changes 88 of 438 real modules on sm_100, which has
 *            f32x2 (code 0.25 % smaller over nine of them), and none on sm_90.
 * Algorithm: bottom-up superword-level parallelism (Larsen and Amarasinghe 2000, as in LLVM): a
 *            seed is all lanes of a vector that is built (the operand of a wide store), or the
 *            terms of a sum or product that may be reordered. Lanes that are results of one op in
 *            one block are a node, their operands the next bundles; a bundle that is all lanes of
 *            a vector is that vector; others are gathered. The tree is kept if, by target/cost.h,
 *            its packed operations and gathers cost less than the scalars that become dead.
 * Requires:  nothing; most useful after load-store-vectorizer and unrolling.
 * Preserves: the control flow.
 * Cost:      linear in seeds, with MAX_NODES nodes each.
 * Omits:     calls, casts, selects, comparisons; permuted lanes; operations of different blocks.
 *            Scalars with other uses remain.
 * Tests:     check/opt/slp-vectorizer*. */
#include "ir/build.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "opt/vectorize/vectorize.h"

enum { MAX_LANES = 16, MAX_NODES = 48, MAX_DEPTH = 12 };

enum node_kind { NODE_GATHER, NODE_VECTOR, NODE_OPERATION };
struct node {
  enum node_kind kind;
  struct nvm_value lane[MAX_LANES];
  uint32_t operand[2];     /* OPERATION: nodes */
  struct nvm_value vector; /* once built; VECTOR: from the start */
};

struct slp {
  struct nvm_function *f;
  struct pass_env *env;
  struct uses uses;
  struct rewrite rewrite;
  bool *dead; /* by instruction: dead if the tree is built */
  VEC(struct nvm_inst_id) marked;
  struct node nodes[MAX_NODES];
  uint32_t count, lanes;
  struct nvm_type type;    /* of a bundle as a vector */
  struct nvm_inst_id root; /* new instructions are placed before it */
};

static const struct nvm_inst *inst_of(const struct slp *s, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &s->f->insts.data[value_index(v)] : NULL;
}

static bool is_packed_op(const struct slp *s, const struct nvm_inst *i) {
  bool integer = type_is_int(&s->f->module->types, type_scalar(&s->f->module->types, i->type));
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_AND:
    case OP_OR:
    case OP_XOR: return integer;
    case OP_FADD:
    case OP_FSUB:
    case OP_FMUL:
    case OP_FNEG: return true;
    default: return false;
  }
}

static bool is_lane_type(const struct slp *s, struct nvm_type type) {
  const struct type_info *t = type_info(&s->f->module->types, type);
  return t->kind == TY_HALF || t->kind == TY_BFLOAT || t->kind == TY_FLOAT ||
         (t->kind == TY_INT && t->width == 16);
}

static bool constant_index(const struct slp *s, struct nvm_value v, uint32_t most,
                           uint32_t *index) {
  nvm_u128 number;
  if (!const_is_int(s->f->module, v, &number) || number >= most) return false;
  *index = (uint32_t)number;
  return true;
}

/* The vector with exactly these lanes; VALUE_NULL: none. */
static struct nvm_value whole_vector(const struct slp *s, const struct nvm_value *lane) {
  struct nvm_value from = VALUE_NULL;
  for (uint32_t k = 0; k < s->lanes; k++) {
    const struct nvm_inst *i = inst_of(s, lane[k]);
    uint32_t index;
    if (!i || i->op != OP_EXTRACTELEMENT) return VALUE_NULL;
    if (!constant_index(s, inst_operand(s->f, i, 1), s->lanes, &index) || index != k)
      return VALUE_NULL;
    struct nvm_value vector = inst_operand(s->f, i, 0);
    if (k == 0) from = vector;
    if (!value_equal(from, vector) || !type_equal(value_type(s->f, vector), s->type))
      return VALUE_NULL;
  }
  return from;
}

static bool is_operation(const struct slp *s, const struct nvm_value *lane) {
  const struct nvm_inst *first = inst_of(s, lane[0]);
  if (!first || !is_packed_op(s, first)) return false;
  for (uint32_t k = 0; k < s->lanes; k++) {
    const struct nvm_inst *i = inst_of(s, lane[k]);
    if (!i || i->op != first->op || i->block.index != function_inst(s->f, s->root)->block.index)
      return false;
    for (uint32_t j = 0; j < k; j++)
      if (value_equal(lane[j], lane[k])) return false;
  }
  return true;
}

/* A key that lanes of one bundle share: the op, or the vector they are extracted from. */
static uint32_t lane_key(const struct slp *s, struct nvm_value v) {
  const struct nvm_inst *i = inst_of(s, v);
  if (!i) return value_kind(v) == VALUE_CONST ? 1 : 2;
  return i->op == OP_EXTRACTELEMENT ? value_index(inst_operand(s->f, i, 0)) + OP_COUNT : 3u + i->op;
}

static uint32_t build(struct slp *s, const struct nvm_value *lane, uint32_t depth) {
  size_t bytes = s->lanes * sizeof *lane;
  for (uint32_t n = 1; n < s->count; n++)
    if (memcmp(s->nodes[n].lane, lane, bytes) == 0) return n;
  if (s->count == MAX_NODES) return 0;
  uint32_t n = s->count++;
  struct node *node = &s->nodes[n];
  *node = (struct node){.kind = NODE_GATHER, .vector = whole_vector(s, lane)};
  memcpy(node->lane, lane, bytes);
  if (!value_is_none(node->vector)) node->kind = NODE_VECTOR;
  if (node->kind != NODE_GATHER || depth == MAX_DEPTH || !is_operation(s, lane)) return n;
  node->kind = NODE_OPERATION;
  struct nvm_value in[2][MAX_LANES];
  const struct nvm_inst *first = inst_of(s, lane[0]);
  for (uint32_t k = 0; k < s->lanes; k++) {
    const struct nvm_inst *i = inst_of(s, lane[k]);
    for (uint32_t o = 0; o < i->operand_count; o++) in[o][k] = inst_operand(s->f, i, o);
    bool swap = k > 0 && op_table[i->op].flags & OPF_COMMUTES &&
                lane_key(s, in[0][k]) != lane_key(s, in[0][0]) &&
                lane_key(s, in[1][k]) == lane_key(s, in[0][0]);
    if (swap) in[0][k] = inst_operand(s->f, i, 1), in[1][k] = inst_operand(s->f, i, 0);
  }
  for (uint32_t o = 0; o < first->operand_count; o++) {
    node->operand[o] = build(s, in[o], depth + 1);
    if (node->operand[o] == 0) node->kind = NODE_GATHER;
  }
  return n;
}

static bool mark_dead(struct slp *s, struct nvm_inst_id i) {
  if (s->dead[i.index]) return true;
  for (uint32_t u = s->uses.first[i.index]; u < s->uses.first[i.index + 1]; u++)
    if (!s->dead[s->uses.users[u].index]) return false;
  return VEC_PUSH(s->env->arena, &s->marked, i) && (s->dead[i.index] = true);
}

static cost op_cost(const struct slp *s, enum op op, struct nvm_type type, uint32_t lanes) {
  cost c = cost_arithmetic(s->env->target, vcost_operation(op),
                           vcost_type(s->f->module, type, lanes), COST_THROUGHPUT);
  return c < 1 << 20 ? c : 1 << 20;
}

/* Issue slots that the tree saves: dead scalars and extractions, minus packed operations and
 * gathers. Nodes come after their users. */
static cost tree_gain(struct slp *s) {
  struct nvm_type scalar = type_scalar(&s->f->module->types, s->type);
  cost gain = 0, shuffle = cost_shuffle(s->env->target, vcost_type(s->f->module, scalar, s->lanes),
                                        COST_THROUGHPUT);
  for (uint32_t n = 1; n < s->count; n++) {
    const struct node *node = &s->nodes[n];
    bool constant = true, all = true;
    for (uint32_t k = 0; k < s->lanes; k++) {
      const struct nvm_inst *i = inst_of(s, node->lane[k]);
      constant &= value_kind(node->lane[k]) == VALUE_CONST;
      if (node->kind == NODE_GATHER || !i) continue;
      bool dies = mark_dead(s, (struct nvm_inst_id){value_index(node->lane[k])});
      all &= dies;
      if (dies && node->kind == NODE_OPERATION) gain += op_cost(s, (enum op)i->op, scalar, 1);
    }
    if (node->kind == NODE_OPERATION)
      gain -= op_cost(s, (enum op)inst_of(s, node->lane[0])->op, scalar, s->lanes);
    if (node->kind == NODE_GATHER && !constant) gain -= shuffle;
    if (node->kind == NODE_VECTOR && all) gain += shuffle;
  }
  return gain;
}

static struct nvm_value make(struct slp *s, enum op op, uint16_t flags, struct nvm_type type,
                             const struct nvm_value *operands, uint32_t count,
                             struct nvm_inst_id origin) {
  struct builder at = builder_located(builder_before(s->f, s->root), origin);
  return builder_add(&at, op, flags, type, operands, count, 0);
}

static struct nvm_value build_gather(struct slp *s, const struct node *node) {
  struct nvm_module *m = s->f->module;
  bool constant = true;
  for (uint32_t k = 0; k < s->lanes; k++) constant &= value_kind(node->lane[k]) == VALUE_CONST;
  if (constant) return const_aggregate(m, s->type, node->lane, s->lanes);
  struct builder at = builder_replacing(s->f, s->root);
  struct nvm_value v = const_poison(m, s->type);
  for (uint32_t k = 0; k < s->lanes; k++) v = builder_insert_lane(&at, v, node->lane[k], k);
  return v;
}

static struct nvm_value build_node(struct slp *s, uint32_t n) {
  struct node *node = &s->nodes[n];
  if (!value_is_none(node->vector)) return node->vector;
  if (node->kind == NODE_GATHER) return node->vector = build_gather(s, node);
  const struct nvm_inst first = *inst_of(s, node->lane[0]);
  uint16_t flags = first.flags;
  for (uint32_t k = 1; k < s->lanes; k++) flags &= inst_of(s, node->lane[k])->flags;
  struct nvm_value in[2] = {VALUE_NULL};
  for (uint32_t o = 0; o < first.operand_count; o++) in[o] = build_node(s, node->operand[o]);
  struct nvm_inst_id origin = {value_index(node->lane[0])};
  return node->vector = make(s, (enum op)first.op, flags, s->type, in, first.operand_count, origin);
}

static void unmark_all(struct slp *s) {
  while (s->marked.count) s->dead[s->marked.data[--s->marked.count].index] = false;
}

/* Builds the tree over these lanes before the root if it saves more than `other`; the seed's own
 * instructions are marked. VALUE_NULL: not built. */
static struct nvm_value try_tree(struct slp *s, const struct nvm_value *lane, cost other) {
  s->count = 1;
  uint32_t n = build(s, lane, 0);
  bool pays = n && s->nodes[n].kind != NODE_GATHER && tree_gain(s) > other;
  unmark_all(s);
  return pays ? build_node(s, n) : VALUE_NULL;
}

static bool begin_seed(struct slp *s, struct nvm_inst_id root, struct nvm_type scalar,
                       uint32_t lanes) {
  s->root = root;
  s->lanes = lanes;
  if (!is_lane_type(s, scalar) || lanes < 2 || lanes > MAX_LANES || lanes % 2) return false;
  s->type = type_vector(&s->f->module->types, scalar, lanes);
  return true;
}

static bool mark(struct slp *s, struct nvm_inst_id i) {
  return (s->dead[i.index] = VEC_PUSH(s->env->arena, &s->marked, i));
}

/* Packs the operands of a chain of insertelements that sets all lanes of a vector. */
static void seed_vector(struct slp *s, struct nvm_inst_id root) {
  const struct nvm_inst *i = function_inst(s->f, root);
  struct nvm_type scalar = type_scalar(&s->f->module->types, i->type);
  uint32_t index, set = 0, lanes = type_info(&s->f->module->types, i->type)->count;
  struct nvm_value lane[MAX_LANES] = {VALUE_NULL}, v = value_of_inst(root);
  if (!begin_seed(s, root, scalar, lanes)) return;
  for (; (i = inst_of(s, v)) && i->op == OP_INSERTELEMENT; v = inst_operand(s->f, i, 0)) {
    uint32_t id = value_index(v);
    if (id != root.index && s->uses.first[id + 1] != s->uses.first[id] + 1) break;
    if (!constant_index(s, inst_operand(s->f, i, 2), lanes, &index) ||
        !mark(s, (struct nvm_inst_id){id}))
      break;
    if (value_is_none(lane[index])) set++, lane[index] = inst_operand(s->f, i, 1);
  }
  cost joined =
      cost_shuffle(s->env->target, vcost_type(s->f->module, scalar, lanes), COST_THROUGHPUT);
  v = set == lanes ? try_tree(s, lane, -joined) : VALUE_NULL;
  unmark_all(s);
  if (value_is_none(v)) return;
  rewrite_set(&s->rewrite, root, v);
  ++*s->env->statistic;
}

static bool may_reorder(const struct slp *s, const struct nvm_inst *i) {
  if (!is_packed_op(s, i) || i->op == OP_FNEG || i->op == OP_FSUB) return false;
  return i->op != OP_FADD && i->op != OP_FMUL ? true : (i->flags & INST_REASSOC) != 0;
}

/* Collects the terms of the sum that ends with i; false if they are too many. *flags: those that
 * all links have. */
static bool collect_terms(struct slp *s, struct nvm_inst_id id, struct nvm_value *lane,
                          uint32_t *count, uint16_t *flags) {
  const struct nvm_inst *i = function_inst(s->f, id);
  *flags &= i->flags;
  if (!mark(s, id)) return false;
  for (uint32_t o = 0; o < 2; o++) {
    struct nvm_value v = inst_operand(s->f, i, o);
    const struct nvm_inst *x = inst_of(s, v);
    uint32_t n = value_index(v);
    bool link = x && x->op == i->op && x->block.index == i->block.index && may_reorder(s, x) &&
                s->uses.first[n + 1] == s->uses.first[n] + 1;
    if (link && !collect_terms(s, (struct nvm_inst_id){n}, lane, count, flags)) return false;
    if (link) continue;
    if (*count == MAX_LANES) return false;
    lane[(*count)++] = v;
  }
  return true;
}

/* Adds halves until two lanes are left, which one scalar operation adds. */
static struct nvm_value reduce(struct slp *s, struct nvm_value v, enum op op, uint16_t flags) {
  struct nvm_module *m = s->f->module;
  struct nvm_type scalar = type_scalar(&m->types, s->type);
  for (uint32_t lanes = s->lanes / 2; lanes > 1; lanes /= 2) {
    struct nvm_type half = type_vector(&m->types, scalar, lanes),
                    mask = type_vector(&m->types, TYPE_I32, lanes);
    struct nvm_value part[2], number[MAX_LANES], poison = const_poison(m, value_type(s->f, v));
    for (uint32_t h = 0; h < 2; h++) {
      for (uint32_t k = 0; k < lanes; k++) number[k] = const_int(m, TYPE_I32, h * lanes + k);
      struct nvm_value in[3] = {v, poison, const_aggregate(m, mask, number, lanes)};
      part[h] = make(s, OP_SHUFFLEVECTOR, 0, half, in, 3, s->root);
    }
    v = make(s, op, flags, half, part, 2, s->root);
  }
  struct builder at = builder_replacing(s->f, s->root);
  struct nvm_value end[2] = {builder_extract_lane(&at, v, 0)};
  end[1] = builder_extract_lane(&at, v, 1);
  return make(s, op, flags, scalar, end, 2, s->root);
}

/* Packs a sum, or product, of a power of two of terms. */
static void seed_reduction(struct slp *s, struct nvm_inst_id root) {
  const struct nvm_inst i = *function_inst(s->f, root);
  struct nvm_value lane[MAX_LANES];
  uint32_t count = 0, user = s->uses.first[root.index];
  uint16_t flags = UINT16_MAX;
  bool inner = s->uses.first[root.index + 1] == user + 1 &&
               function_inst(s->f, s->uses.users[user])->op == i.op;
  bool whole = !inner && collect_terms(s, root, lane, &count, &flags) && count >= 4 &&
               !(count & (count - 1));
  struct nvm_value v = VALUE_NULL;
  if (whole && begin_seed(s, root, i.type, count)) {
    cost scalars = cost_times(op_cost(s, (enum op)i.op, i.type, 1), count - 1);
    struct cost_type all = vcost_type(s->f->module, i.type, count);
    cost tree =
        cost_reduction(s->env->target, vcost_operation((enum op)i.op), all, false, COST_THROUGHPUT);
    v = try_tree(s, lane, tree - scalars);
  }
  unmark_all(s);
  if (value_is_none(v)) return;
  rewrite_set(&s->rewrite, root,
              reduce(s, v, (enum op)i.op, op_table[i.op].flags & OPF_FAST ? flags : 0));
  ++*s->env->statistic;
}

static bool is_seed(const struct slp *s, const struct nvm_inst *i) {
  return i->op == OP_INSERTELEMENT || (is_lane_type(s, i->type) && may_reorder(s, i));
}

static bool has_seed(const struct slp *s) {
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i)
      if (is_seed(s, function_inst(s->f, i))) return true;
  return false;
}

enum nvm_status slp_vectorizer_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct slp *s = arena_alloc(env->arena, sizeof *s);
  uint32_t first = f->insts.count;
  if (!s) return NVM_OUT_OF_MEMORY;
  *s = (struct slp){.f = f, .env = env};
  if (!has_seed(s)) return NVM_OK;
  s->dead = arena_alloc(env->arena, first * sizeof *s->dead);
  bool ready =
      s->dead && uses_build(&s->uses, f, env->arena) && rewrite_init(&s->rewrite, f, env->arena);
  if (!ready) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (i.index >= first || !is_seed(s, inst)) continue;
      uint32_t user = s->uses.first[i.index], users = s->uses.first[i.index + 1] - user;
      bool last = users != 1 || function_inst(f, s->uses.users[user])->op != OP_INSERTELEMENT;
      if (inst->op == OP_INSERTELEMENT && last) seed_vector(s, i);
      else if (inst->op != OP_INSERTELEMENT) seed_reduction(s, i);
    }
  *changed = s->rewrite.count != 0;
  rewrite_apply(&s->rewrite);
  return NVM_OK;
}
