/* Plans: construction and verification. */
#include "opt/vectorize/vplan.h"

bool vplan_init(struct vplan *p, uint32_t least, uint32_t most, struct arena *arena) {
  *p = (struct vplan){.min_factor = least, .max_factor = most, .arena = arena};
  return VEC_PUSH(arena, &p->recipes, (struct vp_recipe){.kind = VP_NONE});
}

uint32_t vplan_add(struct vplan *p, struct vp_recipe r, const uint32_t *operands, uint32_t count) {
  r.first_operand = p->operands.count;
  r.operand_count = count;
  for (uint32_t k = 0; k < count; k++)
    if (!VEC_PUSH(p->arena, &p->operands, operands[k])) return 0;
  return VEC_PUSH(p->arena, &p->recipes, r) ? p->recipes.count - 1 : 0;
}

uint32_t vplan_live_in(struct vplan *p, const struct nvm_function *f, struct nvm_value x) {
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    if (r->kind == VP_LIVE_IN && value_equal(r->value, x)) return n;
  }
  struct vp_recipe r = {.kind = VP_LIVE_IN, .value = x, .uniform = true, .type = value_type(f, x)};
  return vplan_add(p, r, NULL, 0);
}

bool vplan_is_phi(enum vp_kind k) {
  return k == VP_INDUCTION || k == VP_REDUCTION || k == VP_RECURRENCE || k == VP_SERIAL;
}

/* The number of operands of a kind: minimum, maximum; 0 for a maximum: unlimited. */
static const struct {
  uint8_t least, most;
} arity[VP_KIND_COUNT] = {
    [VP_POINTER] = {0, 0},    [VP_INDUCTION] = {1, 2}, [VP_REDUCTION] = {2, 2},
    [VP_RECURRENCE] = {2, 2}, [VP_SERIAL] = {2, 2},    [VP_WIDEN] = {1, 0},
    [VP_PHI] = {2, 2},        [VP_REPLICATE] = {0, 0}, [VP_LOAD] = {1, 1},
    [VP_STORE] = {2, 2},      [VP_BLEND] = {1, 0},     [VP_AND] = {2, 2},
    [VP_OR] = {2, 2},         [VP_NOT] = {1, 1}};

static const char *check_operand(const struct vplan *p, uint32_t n, uint32_t k) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  uint32_t o = vplan_operand(p, r, k);
  bool back = (vplan_is_phi((enum vp_kind)r->kind) || r->kind == VP_PHI) && k == 1;
  if (o == 0 || o >= p->recipes.count) return "an operand is not a recipe";
  const struct vp_recipe *from = vplan_recipe(p, o);
  if (o >= n && !back && from->kind != VP_LIVE_IN) return "an operand comes after its user";
  if (from->kind == VP_STORE) return "an operand has no value";
  bool mask = r->kind == VP_AND || r->kind == VP_OR || r->kind == VP_NOT ||
              (r->kind == VP_BLEND && k % 2 == 1);
  if (mask && !type_equal(from->type, TYPE_I1)) return "a mask is not a condition";
  bool same = back || (r->kind == VP_BLEND && k % 2 == 0);
  if (same && !type_equal(from->type, r->type)) return "the types of a phi and its values differ";
  return NULL;
}

/* Whether the value of an operand exists, and only once if the recipe is computed once. */
static const char *check_lanes(const struct vplan *p, uint32_t n, uint32_t k) {
  const struct vp_recipe *r = vplan_recipe(p, n), *from = vplan_recipe(p, vplan_operand(p, r, k));
  bool address = vplan_is_access(r) && r->group == VP_NO_GROUP; /* equal by scalar evolution */
  if (r->uniform && !from->uniform && !address && r->kind != VP_PHI)
    return "an operand of a uniform recipe differs between lanes";
  bool early = from->in_chain && !r->in_chain && n < p->chain_end;
  if (early && !vplan_is_phi((enum vp_kind)r->kind))
    return "a value of the chain is used before its end";
  return NULL;
}

static const char *check_recipe(const struct vplan *p, const struct nvm_function *f, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(p, n);
  if (r->kind == VP_NONE || r->kind >= VP_KIND_COUNT) return "a recipe has no kind";
  if (r->operand_count < arity[r->kind].least ||
      (arity[r->kind].most && r->operand_count > arity[r->kind].most))
    return "a recipe has a wrong number of operands";
  if (r->kind == VP_LIVE_IN && value_is_none(r->value)) return "a live-in has no value";
  if (r->inst.index >= f->insts.count) return "a recipe has no instruction";
  bool needs_inst =
      r->kind == VP_WIDEN || r->kind == VP_REPLICATE || r->kind == VP_LOAD || r->kind == VP_STORE;
  if (needs_inst && !r->inst.index) return "a recipe has no instruction";
  if (r->mask && (r->mask >= n || !type_equal(vplan_recipe(p, r->mask)->type, TYPE_I1)))
    return "a mask is not a condition";
  if (r->in_chain && n > p->chain_end) return "a chain continues after its end";
  for (uint32_t k = 0; k < r->operand_count; k++) {
    const char *wrong = check_operand(p, n, k);
    if (!wrong) wrong = check_lanes(p, n, k);
    if (wrong) return wrong;
  }
  return NULL;
}

bool vplan_in_inner_loop(const struct vplan *p, uint32_t n) {
  return n && p->inner_first <= n && n <= p->inner_last;
}

/* A final plan: its factor is one of the range, and the costs add up. */
static const char *check_costs(const struct vplan *p, uint32_t *at) {
  uint32_t count = p->count;
  struct vp_cost sums[2] = {{0}, {.slots = p->inner_last ? VP_BRANCH_SLOTS : 0}};
  if (p->factor < p->min_factor || p->factor > p->max_factor || (p->factor & (p->factor - 1)) ||
      count == 0 || (count & (count - 1)))
    return "the factor is not one of the plan";
  if (!p->costs) return "a final plan has no costs";
  for (uint32_t n = 0; n < p->recipes.count; n++) {
    const struct vp_cost *c = &p->costs[n];
    bool head = n && vplan_recipe(p, n)->kind == VP_LIVE_IN;
    *at = n;
    if (c->slots < c->computing || c->computing < 0 || (n == 0 && c->slots == 0) ||
        (head && c->slots != 0) || (c->accesses && !vplan_is_access(vplan_recipe(p, n))))
      return "the cost of a recipe is invalid";
    struct vp_cost *sum = &sums[vplan_in_inner_loop(p, n)];
    sum->slots += c->slots, sum->accesses += c->accesses;
  }
  *at = 0;
  bool same = sums[0].slots == p->total.slots && sums[0].accesses == p->total.accesses &&
              sums[1].slots == p->inner.slots && sums[1].accesses == p->inner.accesses;
  return same ? NULL : "the costs do not add up";
}

bool vplan_is_used_by_lane(const struct vplan *p, uint32_t n) {
  for (uint32_t k = n + 1; k < p->recipes.count; k++) {
    const struct vp_recipe *r = vplan_recipe(p, k);
    bool lanes = r->kind == VP_REPLICATE || r->kind == VP_PHI || r->in_chain || vplan_is_access(r);
    for (uint32_t o = 0; o < r->operand_count; o++)
      if (vplan_operand(p, r, o) == n && (!lanes || (r->kind == VP_STORE && o == 0))) return false;
  }
  return true;
}

const char *vplan_verify(const struct vplan *p, const struct nvm_function *f, uint32_t *at) {
  bool body = false;
  uint32_t least = p->min_factor, most = p->max_factor;
  *at = 0;
  if (least == 0 || (least & (least - 1)) || (most & (most - 1)) || most < least)
    return "the range of factors is invalid";
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(p, n);
    *at = n;
    const char *wrong = check_recipe(p, f, n);
    if (wrong) return wrong;
    bool head =
        vplan_is_phi((enum vp_kind)r->kind) || r->kind == VP_LIVE_IN || r->kind == VP_POINTER;
    if (body && vplan_is_phi((enum vp_kind)r->kind)) return "a phi is in the body";
    body |= !head;
  }
  *at = p->chain_end;
  if (p->chain_end &&
      (p->chain_end >= p->recipes.count || !vplan_recipe(p, p->chain_end)->in_chain))
    return "the end of the chain is not a member";
  *at = p->inner_first;
  if (p->inner_first > p->inner_last || p->inner_last >= p->recipes.count ||
      (p->inner_last && (!p->nested || !p->inner_condition)))
    return "the inner loop is not a range of recipes with a condition";
  for (uint32_t n = 1; n < p->recipes.count; n++) {
    *at = n;
    if (vplan_recipe(p, n)->kind == VP_PHI && (n < p->inner_first || n > p->inner_last))
      return "a phi of the inner loop is outside of it";
  }
  *at = p->early;
  if (p->early >= p->recipes.count ||
      (p->early && !type_equal(vplan_recipe(p, p->early)->type, TYPE_I1)))
    return "an early exit has no condition";
  *at = 0;
  return p->factor ? check_costs(p, at) : NULL;
}
