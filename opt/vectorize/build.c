/* Building the plan of a loop: recipes in the order of the body, conditions as masks, phis of the
 * body as blends. After LLVM's VPRecipeBuilder and its predicator; masks are made on demand. */
#include "opt/vectorize/vectorize.h"

#include "ir/eval.h"
#include "ir/intrinsic.h"
#include "analysis/effects.h"

struct plan_builder {
  struct vector_loop *v;
  struct vplan *p;
  uint32_t *recipe_of;  /* by instruction */
  uint32_t *block_mask; /* by block: 1 + recipe of its mask (1: all lanes); 0: not computed */
  bool *is_index;       /* by position in the body: find_indices() */
  bool failed;
};

static uint32_t add(struct plan_builder *b, struct vp_recipe r, const uint32_t *operands,
                    uint32_t count) {
  uint32_t n = vplan_add(b->p, r, operands, count);
  b->failed |= n == 0;
  return n;
}

static uint32_t live_in(struct plan_builder *b, struct nvm_value x) {
  uint32_t n = vplan_live_in(b->p, b->v->f, x);
  b->failed |= n == 0;
  return n;
}

static uint32_t recipe_for(struct plan_builder *b, struct nvm_value x) {
  uint32_t n = vl_inside(b->v, x) ? b->recipe_of[value_index(x)] : live_in(b, x);
  b->failed |= n == 0;
  return n;
}

static uint32_t block_mask(struct plan_builder *b, struct nvm_block block);

static uint32_t combine_masks(struct plan_builder *b, enum vp_kind kind, uint32_t x, uint32_t y) {
  if (kind == VP_AND && x == 0) return y;
  if (kind == VP_AND && y == 0) return x;
  uint32_t operands[2] = {x, y};
  return add(b, (struct vp_recipe){.kind = (uint8_t)kind, .type = TYPE_I1}, operands,
             kind == VP_NOT ? 1 : 2);
}

/* The mask of an edge; 0: all lanes. */
static uint32_t edge_mask(struct plan_builder *b, struct nvm_block from, struct nvm_block to) {
  const struct nvm_inst *t = vl_inst(b->v, block_terminator(b->v->f, from));
  uint32_t mask = block_mask(b, from);
  if (t->op != OP_CONDBR || value_equal(inst_operand(b->v->f, t, 1), inst_operand(b->v->f, t, 2)))
    return mask;
  uint32_t condition = recipe_for(b, inst_operand(b->v->f, t, 0));
  if (value_index(inst_operand(b->v->f, t, 1)) != to.index)
    condition = combine_masks(b, VP_NOT, condition, 0);
  return combine_masks(b, VP_AND, mask, condition);
}

/* The mask of a block; 0: all lanes. The recursion ends at blocks with a known mask or at the
 * header. */
static uint32_t block_mask(struct plan_builder *b, struct nvm_block block) {
  struct vector_loop *v = b->v;
  if (b->block_mask[block.index]) return b->block_mask[block.index] - 1;
  uint32_t mask = 0;
  if (!dominance_dominates(v->dominance, block, v->loop->latch)) {
    const struct dominance *d = v->dominance;
    for (uint32_t k = d->first_predecessor[block.index]; k < d->first_predecessor[block.index + 1];
         k++) {
      uint32_t edge = edge_mask(b, d->predecessors[k], block);
      mask = mask ? combine_masks(b, VP_OR, mask, edge) : edge;
    }
  }
  b->block_mask[block.index] = mask + 1;
  return mask;
}

bool plan_widens_call(const struct vector_loop *v, const struct nvm_inst *i) {
  switch (module_function(v->f->module, call_callee(v->f, i))->intrinsic) {
    case INTRINSIC_fma:
    case INTRINSIC_fmuladd:
    case INTRINSIC_fabs:
    case INTRINSIC_sqrt:
    case INTRINSIC_smin:
    case INTRINSIC_smax:
    case INTRINSIC_umin:
    case INTRINSIC_umax:
    case INTRINSIC_minnum:
    case INTRINSIC_maxnum:
    case INTRINSIC_minimum:
    case INTRINSIC_maximum:
    case INTRINSIC_minimumnum:
    case INTRINSIC_maximumnum:
    case INTRINSIC_floor:
    case INTRINSIC_ceil:
    case INTRINSIC_trunc:
    case INTRINSIC_copysign: return true;
    default: return false;
  }
}

static bool touches_pointers(const struct vector_loop *v, const struct nvm_inst *i) {
  const struct type_table *t = vl_types(v);
  if (type_is_ptr(t, i->type)) return true;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value x = inst_operand(v->f, i, k);
    enum value_kind kind = value_kind(x);
    if (kind != VALUE_BLOCK && kind != VALUE_FUNCTION && type_is_ptr(t, value_type(v->f, x)))
      return true;
  }
  return false;
}

static void build_phi(struct plan_builder *b, const struct header_phi *h) {
  struct vp_recipe r = {.inst = h->inst, .type = vl_inst(b->v, h->inst)->type, .step = h->step};
  uint32_t operands[2] = {live_in(b, h->start), 0};
  r.reduction = (uint32_t)(h - b->v->phis.data);
  r.kind = h->kind == PHI_INDUCTION    ? VP_INDUCTION
           : h->kind == PHI_REDUCTION  ? VP_REDUCTION
           : h->kind == PHI_RECURRENCE ? VP_RECURRENCE
                                       : VP_SERIAL;
  b->recipe_of[h->inst.index] = add(b, r, operands, h->kind == PHI_INDUCTION ? 1 : 2);
}

static void finish_phis(struct plan_builder *b) {
  for (uint32_t n = 1; n < b->p->recipes.count && !b->failed; n++) {
    struct vp_recipe *r = vplan_recipe(b->p, n);
    if (!vplan_is_phi((enum vp_kind)r->kind) || r->kind == VP_INDUCTION) continue;
    uint32_t back = recipe_for(b, b->v->phis.data[r->reduction].back);
    r = vplan_recipe(b->p, n);
    b->p->operands.data[r->first_operand + 1] = back;
  }
}

/* The pointer recipe at a constant distance from the access's address; *offset: the distance. */
static uint32_t pointer_for(struct plan_builder *b, uint32_t at, int64_t *offset) {
  const struct vector_access *a = &b->v->accesses.data[at];
  for (uint32_t n = 1; n < b->p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(b->p, n);
    if (r->kind != VP_POINTER || r->step != a->step) continue;
    struct scev d = scev_subtract(b->v->scev, a->address, b->v->accesses.data[r->access].address);
    bool near = d.width && scev_is_constant(d) && d.constant > -(1 << 20) && d.constant < 1 << 20;
    if (!near || b->v->accesses.data[r->access].space != a->space) continue;
    *offset = d.constant;
    return n;
  }
  *offset = 0;
  const struct nvm_inst *i = vl_inst(b->v, a->inst);
  struct vp_recipe r = {
      .kind = VP_POINTER,
      .step = a->step,
      .access = at,
      .value = inst_operand(b->v->f, i, a->is_store),
      .uniform = a->step == 0,
  };
  r.type = value_type(b->v->f, r.value);
  return add(b, r, NULL, 0);
}

static void build_access(struct plan_builder *b, struct nvm_inst_id id) {
  struct vector_loop *v = b->v;
  uint32_t at = v->access_of[id.index] - 1;
  const struct vector_access *a = &v->accesses.data[at];
  const struct nvm_inst *i = vl_inst(v, id);
  struct vp_recipe r = {.kind = a->is_store ? VP_STORE : VP_LOAD,
                        .inst = id,
                        .access = at,
                        .group = a->group,
                        .type = a->is_store ? TYPE_VOID : a->type};
  r.in_chain = v->chained[id.index];
  if (a->conditional) r.mask = block_mask(b, i->block);
  r.uniform = a->affine && a->step == 0 && !r.in_chain &&
              !r.mask; /* inactive lanes of a masked load have no value */
  if (a->group != VP_NO_GROUP) {
    const struct access_group *g = &v->groups.data[a->group];
    int64_t reach = a->step < 0 ? -a->step : a->step;
    r.interleaved = g->count > 1 || reach != a->bytes;
  }
  uint32_t operands[2], n = 0;
  if (a->is_store) operands[n++] = recipe_for(b, inst_operand(v->f, i, 0));
  operands[n++] =
      a->affine ? pointer_for(b, at, &r.offset) : recipe_for(b, inst_operand(v->f, i, a->is_store));
  b->recipe_of[id.index] = add(b, r, operands, n);
  if (r.in_chain) b->p->chain_end = b->recipe_of[id.index];
}

static void build_blend(struct plan_builder *b, struct nvm_inst_id id) {
  const struct nvm_inst *i = vl_inst(b->v, id);
  uint32_t count = i->operand_count / 2, n = 0;
  uint32_t *operands = arena_alloc(b->v->env->arena, (2 * count + 1) * sizeof *operands);
  if (!operands) {
    b->failed = true;
    return;
  }
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block from = {value_index(inst_operand(b->v->f, i, 2 * k + 1))};
    uint32_t mask = k ? edge_mask(b, from, i->block) : 0;
    uint32_t value = recipe_for(b, inst_operand(b->v->f, i, 2 * k));
    if (k) operands[n++] = mask;
    operands[n++] = value;
    b->failed |= k && mask == 0;
  }
  /* Operands: value, then pairs of mask and value. */
  b->recipe_of[id.index] =
      add(b, (struct vp_recipe){.kind = VP_BLEND, .inst = id, .type = i->type}, operands, n);
}

static bool all_uniform(const struct plan_builder *b, const uint32_t *operands, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (!vplan_recipe(b->p, operands[k])->uniform) return false;
  return true;
}

/* Operand k of `wide` before its extension from the narrow type, or as a constant of it. */
static struct nvm_value narrow_operand(const struct plan_builder *b, const struct nvm_inst *wide,
                                       uint32_t k, struct nvm_type narrow) {
  struct nvm_module *m = b->v->f->module;
  struct nvm_value x = inst_operand(b->v->f, wide, k);
  nvm_u128 number;
  if (const_is_int(m, x, &number)) {
    uint32_t bits = type_scalar_bits(&m->types, narrow);
    if (wide->op == OP_SHL && (k == 0 || number >= bits)) return VALUE_NULL;
    return const_int(m, narrow, number & eval_mask(bits));
  }
  if (!vl_inside(b->v, x) || (wide->op == OP_SHL && k == 1)) return VALUE_NULL;
  const struct nvm_inst *extension = &b->v->f->insts.data[value_index(x)];
  if (extension->op != OP_SEXT && extension->op != OP_ZEXT && extension->op != OP_FPEXT)
    return VALUE_NULL;
  struct nvm_value inner = inst_operand(b->v->f, extension, 0);
  return type_equal(value_type(b->v->f, inner), narrow) ? inner : VALUE_NULL;
}

/* Computes trunc (a + b) of extended a and b in the narrow type: C computes in int what is stored
 * in bytes. Sums, differences and products of half and bfloat in float are equal to the narrow
 * operation, since float has more than twice the precision. */
static bool build_narrow(struct plan_builder *b, struct nvm_inst_id id) {
  struct vector_loop *v = b->v;
  const struct nvm_inst *cut = vl_inst(v, id);
  struct nvm_value x = inst_operand(v->f, cut, 0);
  if ((cut->op != OP_TRUNC && cut->op != OP_FPTRUNC) || !vl_inside(v, x)) return false;
  const struct nvm_inst *wide = &v->f->insts.data[value_index(x)];
  bool integer = wide->op == OP_ADD || wide->op == OP_SUB || wide->op == OP_MUL ||
                 wide->op == OP_SHL || wide->op == OP_AND || wide->op == OP_OR ||
                 wide->op == OP_XOR;
  bool number = (wide->op == OP_FADD || wide->op == OP_FSUB || wide->op == OP_FMUL) &&
                type_equal(wide->type, TYPE_FLOAT) && !v->env->target->ftz;
  if (!(cut->op == OP_TRUNC ? integer : number) || v->chained[value_index(x)] ||
      v->reduced[value_index(x)])
    return false;
  struct nvm_value a = narrow_operand(b, wide, 0, cut->type),
                   c = narrow_operand(b, wide, 1, cut->type);
  if (value_is_none(a) || value_is_none(c)) return false;
  uint32_t operands[2] = {recipe_for(b, a), recipe_for(b, c)};
  struct vp_recipe r = {
      .kind = VP_WIDEN, .inst = {value_index(x)}, .type = cut->type, .narrowed = true};
  b->recipe_of[id.index] = add(b, r, operands, 2);
  return true;
}

/* Whether `id` computes an index for addresses alone. */
static bool computes_index(const struct plan_builder *b, struct nvm_inst_id id) {
  const struct vector_loop *v = b->v;
  const struct nvm_inst *i = vl_inst(v, id);
  bool found = i->op == OP_SEXT || i->op == OP_ZEXT || i->op == OP_ADD || i->op == OP_SUB ||
               i->op == OP_MUL || i->op == OP_SHL;
  if (!found || type_scalar_bits(vl_types(v), i->type) < 32 || v->chained[id.index] ||
      v->reduced[id.index])
    return false;
  for (uint32_t u = v->uses.first[id.index]; u < v->uses.first[id.index + 1] && found; u++) {
    struct nvm_inst_id user = v->uses.users[u];
    uint32_t at = v->position[user.index];
    found = at && (vl_inst(v, user)->op == OP_GEP || b->is_index[at - 1]);
  }
  return found;
}

/* Finds what computes indices for addresses alone. It is computed per lane: an access that is not
 * wide has an address for each lane, and one lane's is seen to be another's plus a stride. */
static bool find_indices(struct plan_builder *b) {
  const struct vector_loop *v = b->v;
  b->is_index = arena_alloc(v->env->arena, (v->body_count + 1) * sizeof *b->is_index);
  for (uint32_t k = v->body_count; b->is_index && k-- > 0;)
    b->is_index[k] = computes_index(b, v->body[k]);
  return b->is_index != NULL;
}

/* Whether the only use of a product is a sum of the chain: per lane, so that both become one fma.
 */
static bool multiplies_for_chain(const struct vector_loop *v, struct nvm_inst_id id) {
  uint32_t user = v->uses.first[id.index];
  if (vl_inst(v, id)->op != OP_FMUL || v->uses.first[id.index + 1] != user + 1) return false;
  if (type_scalar_bits(vl_types(v), vl_inst(v, id)->type) < 32) return false; /* packed products */
  const struct nvm_inst *sum = vl_inst(v, v->uses.users[user]);
  return v->chained[v->uses.users[user].index] && (sum->op == OP_FADD || sum->op == OP_FSUB);
}

static void build_plain(struct plan_builder *b, struct nvm_inst_id id) {
  struct vector_loop *v = b->v;
  const struct nvm_inst *i = vl_inst(v, id);
  if (build_narrow(b, id)) return;
  enum { MAX_COUNT = 64 };
  uint32_t operands[MAX_COUNT], count = i->op == OP_CALL ? i->operand_count - 1 : i->operand_count;
  if (count > MAX_COUNT) {
    b->failed = true;
    return;
  }
  for (uint32_t k = 0; k < count; k++) operands[k] = recipe_for(b, inst_operand(v->f, i, k));
  struct vp_recipe r = {
      .kind = VP_WIDEN, .inst = id, .type = i->type, .in_chain = v->chained[id.index]};
  if (touches_pointers(v, i) || (i->op == OP_CALL && !plan_widens_call(v, i)) || count == 0 ||
      b->is_index[v->position[id.index] - 1] || multiplies_for_chain(v, id))
    r.kind = VP_REPLICATE;
  bool traps = !effects_is_speculatable(v->f, i) && i->op != OP_FREEZE;
  if (traps && !dominance_dominates(v->dominance, i->block, v->loop->latch))
    r.mask = block_mask(b, i->block);
  r.uniform =
      !b->failed && !r.in_chain && !r.mask && i->op != OP_FREEZE && all_uniform(b, operands, count);
  b->recipe_of[id.index] = add(b, r, operands, count);
  if (r.in_chain) b->p->chain_end = b->recipe_of[id.index];
}

bool plan_build(struct vector_loop *v, uint32_t least, uint32_t most, struct vplan *p) {
  struct arena *arena = v->env->arena;
  struct plan_builder b = {.v = v, .p = p};
  b.recipe_of = v->tables->recipe_of;
  b.block_mask = arena_alloc(arena, v->f->blocks.count * sizeof *b.block_mask);
  if (!b.block_mask || !find_indices(&b) || !vplan_init(p, least, most, arena)) return false;
  for (uint32_t k = 0; k < v->phis.count; k++)
    if (v->phis.data[k].needed) build_phi(&b, &v->phis.data[k]);
  for (uint32_t k = 0; k < v->body_count && !b.failed; k++) {
    struct nvm_inst_id id = v->body[k];
    const struct nvm_inst *i = vl_inst(v, id);
    if (!v->needed[id.index] || b.recipe_of[id.index]) continue;
    if (v->access_of[id.index]) build_access(&b, id);
    else if (i->op == OP_PHI) build_blend(&b, id);
    else build_plain(&b, id);
  }
  if (v->early.index && !b.failed) {
    const struct nvm_inst *leave = vl_inst(v, block_terminator(v->f, v->early));
    p->early = recipe_for(&b, inst_operand(v->f, leave, 0));
    p->early_negated = loops_contains(v->loops, v->index, block_successor(v->f, v->early, 0));
  }
  if (!b.failed) finish_phis(&b);
  return !b.failed;
}
