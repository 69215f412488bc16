/* Legality: whether several iterations of the loop can be executed at a time.
 *
 * First the shape (one latch that is the only exit, a known number of iterations), then each
 * instruction, then the header phis:
 *
 *   induction     start + constant × iteration, by scalar evolution
 *   reduction     an operation whose order does not matter                        (reductions.c)
 *   recurrence    the previous iteration's value of another instruction
 *   serial        other plain arithmetic: executed in order, lane by lane
 *
 * and last memory (accesses.c). Barriers and other operations that communicate between threads
 * prevent vectorization: they must execute as often as in the source. After LLVM's
 * LoopVectorizationLegality. Serial chains are an addition: on a GPU, a loop that sums in order
 * gains by wide loads, and so do float inductions. */
#include "opt/vectorize/vectorize.h"

#include "ir/intrinsic.h"
#include "analysis/effects.h"

const char *const vector_refusal_tags[VECTOR_REFUSAL_COUNT] = {
    [VECTOR_OK] = "",
#define REFUSAL(ID, tag, message) [VECTOR_##ID] = tag,
#include "opt/vectorize/diagnostics.def"
#undef REFUSAL
};
const char *const vector_refusal_messages[VECTOR_REFUSAL_COUNT] = {
    [VECTOR_OK] = "",
#define REFUSAL(ID, tag, message) [VECTOR_##ID] = message,
#include "opt/vectorize/diagnostics.def"
#undef REFUSAL
};

/* Whether all predecessors of the exit are in the loop. */
static bool exit_is_dedicated(const struct vector_loop *v) {
  const struct dominance *d = v->dominance;
  uint32_t exit = v->loop->exit.index;
  for (uint32_t k = d->first_predecessor[exit]; k < d->first_predecessor[exit + 1]; k++)
    if (!loops_contains(v->loops, v->index, d->predecessors[k])) return false;
  return true;
}

/* Finds the exiting block besides the latch; returns the number of exits. */
static uint32_t find_early_exit(struct vector_loop *v) {
  uint32_t exits = 0;
  for (uint32_t k = 0; k < v->loop->block_count; k++) {
    struct nvm_block b = v->loops->blocks[v->loop->first_block + k];
    for (uint32_t s = 0, count = block_successor_count(v->f, b); s < count; s++) {
      if (loops_contains(v->loops, v->index, block_successor(v->f, b, s))) continue;
      exits++;
      if (b.index != v->loop->latch.index && block_is_none(v->early)) v->early = b;
    }
  }
  return exits;
}

uint16_t legality_step_flags(const struct vector_loop *v, const struct header_phi *p,
                             uint32_t count) {
  const struct type_info *type = type_info(vl_types(v), vl_inst(v, p->inst)->type);
  const struct nvm_inst *back = value_inst(v->f, p->back);
  if (type->kind != TY_INT || !back || back->op != OP_ADD ||
      !value_equal(inst_operand(v->f, back, 0), value_of_inst(p->inst)) ||
      value_kind(inst_operand(v->f, back, 1)) != VALUE_CONST)
    return 0;
  nvm_i128 sum = (nvm_i128)p->step * count, limit = (nvm_i128)1 << (type->width - 1);
  if (sum >= limit || sum <= -limit) return 0;
  return back->flags & (p->step > 0 ? INST_NSW | INST_NUW : INST_NSW);
}

/* An early exit must be tested in every iteration. */
static bool is_tested_search(const struct vector_loop *v) {
  return v->early.index && vl_inst(v, block_terminator(v->f, v->early))->op == OP_CONDBR &&
         dominance_dominates(v->dominance, v->early, v->loop->latch) && v->trips.taken.width;
}

/* Whether unreachable code, which simplifycfg removes, leads into the body: it has no masks. */
static bool is_entered_by_dead_code(const struct vector_loop *v) {
  for (uint32_t k = 0; k < v->loop->block_count; k++) {
    struct nvm_block b = v->loops->blocks[v->loop->first_block + k];
    FOR_EACH_PREDECESSOR (v->dominance, b, e)
      if (!dominance_reachable(v->dominance, v->dominance->predecessors[e])) return true;
  }
  return false;
}

enum vector_refusal legality_check_shape(struct vector_loop *v) {
  const struct loop *l = v->loop;
  if (block_is_none(l->preheader) || block_is_none(l->latch) || is_entered_by_dead_code(v))
    return VECTOR_SHAPE;
  v->trips = scev_trip_count(v->scev, v->index);
  if (block_is_none(l->exiting)) { /* several exits: one of them cannot be counted */
    uint32_t exits = find_early_exit(v);
    struct nvm_inst_id leave = block_terminator(v->f, v->early.index ? v->early : l->latch);
    if (exits == 0) return vl_refuse(v, leave, VECTOR_TRIP_COUNT);
    if (!vl_knob(v, KNOB_ENABLE_EARLY_EXIT_VECTORIZATION))
      return vl_refuse(v, leave, VECTOR_EARLY_EXIT_DISABLED);
    if (exits != 2 || !is_tested_search(v)) return vl_refuse(v, leave, VECTOR_EARLY_EXIT);
    v->scalar_epilogue = true;
  } else if (l->exiting.index != l->latch.index || block_is_none(l->exit) ||
             !exit_is_dedicated(v)) {
    return vl_refuse(v, block_terminator(v->f, l->exiting), VECTOR_SHAPE);
  }
  if (v->trips.taken.width == 0 || !(v->trips.known || v->early.index))
    return vl_refuse(v, block_terminator(v->f, l->latch), VECTOR_TRIP_COUNT);
  uint64_t taken;
  if (trip_count_is_number(&v->trips, &taken)) v->exact_trips = taken + 1;
  return VECTOR_OK;
}

static bool is_annotation(uint32_t intrinsic) {
  return intrinsic == INTRINSIC_assume || intrinsic == INTRINSIC_lifetime_start ||
         intrinsic == INTRINSIC_lifetime_end ||
         intrinsic == INTRINSIC_experimental_noalias_scope_decl ||
         intrinsic == INTRINSIC_dbg_value || intrinsic == INTRINSIC_dbg_declare;
}

static enum vector_refusal check_call(const struct vector_loop *v, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(v->f, i);
  if (effects_is_convergent(v->f, i)) return VECTOR_CONVERGENT;
  if (value_kind(callee) != VALUE_FUNCTION) return VECTOR_CALL;
  uint32_t intrinsic = module_function(v->f->module, callee)->intrinsic;
  if (is_annotation(intrinsic)) return VECTOR_OK;
  if (intrinsic == 0 || call_site_of(v->f, i)->bundle_count) return VECTOR_CALL;
  return effects_is_pure(v->f, i) && effects_is_speculatable(v->f, i) ? VECTOR_OK : VECTOR_CALL;
}

static bool is_scalar_type(const struct vector_loop *v, struct nvm_type type) {
  const struct type_info *t = type_info(vl_types(v), type);
  return (t->kind == TY_INT && t->width <= 64) || (t->kind >= TY_HALF && t->kind <= TY_PTR) ||
         t->kind == TY_VOID;
}

static enum vector_refusal check_instruction(const struct vector_loop *v,
                                             const struct nvm_inst *i) {
  enum op op = (enum op)i->op;
  if (op == OP_CALL) return check_call(v, i);
  if (op == OP_BR || op == OP_CONDBR || op == OP_DBG_RECORD) return VECTOR_OK;
  if (op == OP_SWITCH) return VECTOR_SHAPE;
  if (op == OP_FENCE || op == OP_CMPXCHG || op == OP_ATOMICRMW) return VECTOR_ORDERED_MEMORY;
  if (!is_scalar_type(v, i->type)) return VECTOR_INSTRUCTION;
  if (op == OP_LOAD || op == OP_STORE) {
    bool store = op == OP_STORE;
    if (!effects_is_plain_access(i)) return VECTOR_ORDERED_MEMORY;
    return !store || is_scalar_type(v, value_type(v->f, inst_operand(v->f, i, 0)))
               ? VECTOR_OK
               : VECTOR_INSTRUCTION;
  }
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value x = inst_operand(v->f, i, k);
    if (value_kind(x) != VALUE_BLOCK && !is_scalar_type(v, value_type(v->f, x)))
      return VECTOR_INSTRUCTION;
  }
  bool known = op_is_binary(op) || op_is_cast(op) || op == OP_FNEG || op == OP_GEP ||
               op == OP_ICMP || op == OP_FCMP || op == OP_PHI || op == OP_SELECT || op == OP_FREEZE;
  return known ? VECTOR_OK : VECTOR_INSTRUCTION;
}

static bool use_tables(struct vector_loop *v) {
  struct vector_tables *t = v->tables;
  uint32_t count = v->f->insts.count;
  if (t->count < count) {
    struct arena *arena = t->arena;
    *t = (struct vector_tables){.arena = arena, .count = count + count / 2};
    t->position = arena_alloc(arena, t->count * sizeof *t->position);
    t->access_of = arena_alloc(arena, t->count * sizeof *t->access_of);
    t->recipe_of = arena_alloc(arena, t->count * sizeof *t->recipe_of);
    t->needed = arena_alloc(arena, t->count * sizeof *t->needed);
    t->chained = arena_alloc(arena, t->count * sizeof *t->chained);
    t->reduced = arena_alloc(arena, t->count * sizeof *t->reduced);
    if (arena->failed) return false;
  }
  v->position = t->position, v->access_of = t->access_of;
  v->needed = t->needed, v->chained = t->chained, v->reduced = t->reduced;
  return true;
}

void legality_clear_tables(const struct vector_loop *v) {
  const struct vector_tables *t = v->tables;
  for (uint32_t k = 0; k < v->body_count; k++) {
    uint32_t n = v->body[k].index;
    t->position[n] = t->access_of[n] = t->recipe_of[n] = 0;
    t->needed[n] = t->chained[n] = t->reduced[n] = false;
  }
}

enum vector_refusal legality_collect_body(struct vector_loop *v, bool *ok) {
  const struct loop *l = v->loop;
  uint32_t count = 0;
  struct arena *arena = v->env->arena;
  *ok = true;
  for (uint32_t b = 0; b < l->block_count; b++)
    FOR_EACH_INST (v->f, v->loops->blocks[l->first_block + b], i) {
      enum vector_refusal r = check_instruction(v, vl_inst(v, i));
      if (r != VECTOR_OK) return vl_refuse(v, i, r);
      v->declares_scopes |=
          call_intrinsic(v->f, vl_inst(v, i)) == INTRINSIC_experimental_noalias_scope_decl;
      count++;
    }
  v->body = arena_alloc(arena, (count + 1) * sizeof *v->body);
  *ok = v->body && use_tables(v);
  if (!*ok) return VECTOR_OK;
  for (uint32_t b = 0; b < l->block_count; b++)
    FOR_EACH_INST (v->f, v->loops->blocks[l->first_block + b], i) {
      v->body[v->body_count] = i;
      v->position[i.index] = ++v->body_count;
    }
  return VECTOR_OK;
}

/* Whether all users of i in the loop come after position `after`. */
static bool users_follow(const struct vector_loop *v, struct nvm_inst_id i, uint32_t after) {
  for (uint32_t u = v->uses.first[i.index]; u < v->uses.first[i.index + 1]; u++) {
    uint32_t at = v->position[v->uses.users[u].index];
    if (at && at <= after && vl_inst(v, v->uses.users[u])->block.index != 0) return false;
  }
  return true;
}

static bool is_recurrence(const struct vector_loop *v, const struct header_phi *p) {
  if (!vl_inside(v, p->back)) return true;
  struct nvm_inst_id back = {value_index(p->back)};
  bool is_header_phi =
      vl_inst(v, back)->op == OP_PHI && vl_inst(v, back)->block.index == v->loop->header.index;
  return !is_header_phi && users_follow(v, p->inst, v->position[back.index]);
}

static enum vector_refusal classify_phi(struct vector_loop *v, struct header_phi *p) {
  struct scev s = scev_of(v->scev, value_of_inst(p->inst));
  p->kind = PHI_INDUCTION;
  if (s.width && scev_step(v->scev, s, v->index, &p->step) && p->step != 0) return VECTOR_OK;
  p->kind = PHI_REDUCTION;
  if (reduction_recognize(v, p)) return VECTOR_OK;
  bool is_float = type_is_float(vl_types(v), vl_inst(v, p->inst)->type);
  p->kind = PHI_SERIAL;
  if (serial_recognize(v, p)) return VECTOR_OK;
  p->kind = PHI_RECURRENCE;
  if (is_recurrence(v, p)) return VECTOR_OK;
  return is_float ? VECTOR_REORDER_FP : VECTOR_PHI;
}

static enum vector_refusal collect_phis(struct vector_loop *v, bool *ok) {
  struct nvm_function *f = v->f;
  FOR_EACH_INST (f, v->loop->header, i) {
    const struct nvm_inst *phi = vl_inst(v, i);
    if (phi->op != OP_PHI) break;
    if (phi->operand_count != 4) return VECTOR_SHAPE;
    bool swapped = value_index(inst_operand(f, phi, 1)) == v->loop->latch.index;
    struct header_phi p = {.inst = i,
                           .start = inst_operand(f, phi, swapped ? 2 : 0),
                           .back = inst_operand(f, phi, swapped ? 0 : 2)};
    enum vector_refusal r = classify_phi(v, &p);
    if (r == VECTOR_OK && v->early.index && p.kind != PHI_INDUCTION) r = VECTOR_EARLY_EXIT;
    if (r != VECTOR_OK) return vl_refuse(v, i, r);
    if (!VEC_PUSH(v->env->arena, &v->phis, p)) *ok = false;
  }
  return VECTOR_OK;
}

static const struct header_phi *phi_of(const struct vector_loop *v, struct nvm_inst_id i) {
  for (uint32_t p = 0; p < v->phis.count; p++)
    if (v->phis.data[p].inst.index == i.index) return &v->phis.data[p];
  return NULL;
}

/* Whether the lanes of a header phi are available only after the chain: it is a chain's, or a
 * recurrence of a member. */
static bool depends_on_chain(const struct vector_loop *v, struct nvm_inst_id i, bool *recurrence) {
  const struct header_phi *h = phi_of(v, i);
  *recurrence =
      h && h->kind == PHI_RECURRENCE && vl_inside(v, h->back) && v->chained[value_index(h->back)];
  return *recurrence || (h && h->kind == PHI_SERIAL);
}

/* Chains are executed at their last member: users outside of the chain must come later. */
static enum vector_refusal check_chain(struct vector_loop *v) {
  uint32_t last = 0;
  for (uint32_t k = 0; k < v->body_count; k++)
    if (v->chained[v->body[k].index]) last = k + 1;
  for (uint32_t k = 0; k < last; k++) {
    bool recurrence = false;
    if (!v->chained[v->body[k].index] && !depends_on_chain(v, v->body[k], &recurrence)) continue;
    for (uint32_t u = v->uses.first[v->body[k].index]; u < v->uses.first[v->body[k].index + 1];
         u++) {
      struct nvm_inst_id user = v->uses.users[u];
      bool next_iteration =
          vl_inst(v, user)->op == OP_PHI && vl_inst(v, user)->block.index == v->loop->header.index;
      bool early = v->position[user.index] && v->position[user.index] <= last &&
                   (recurrence || !v->chained[user.index]);
      if (early && !next_iteration) return vl_refuse(v, user, VECTOR_REORDER_FP);
    }
  }
  return VECTOR_OK;
}

struct needs {
  struct vector_loop *v;
  VEC(struct nvm_inst_id) open;
};

static void need(struct needs *n, struct nvm_value x) {
  if (!vl_inside(n->v, x) || n->v->needed[value_index(x)]) return;
  struct nvm_inst_id i = {value_index(x)};
  if (VEC_PUSH(n->v->env->arena, &n->open, i)) n->v->needed[i.index] = true;
}

static void need_operands(struct needs *n, struct nvm_inst_id i) {
  struct vector_loop *v = n->v;
  const struct nvm_inst *inst = vl_inst(v, i);
  uint32_t access = v->access_of[i.index];
  bool affine = access && v->accesses.data[access - 1].affine;
  const struct header_phi *p = inst->op == OP_PHI ? phi_of(v, i) : NULL;
  if (p && p->kind != PHI_INDUCTION) need(n, p->back);
  if (p) return;
  uint32_t skip = affine ? inst_address_operand(inst) : UINT32_MAX;
  for (uint32_t k = 0; k < inst->operand_count; k++)
    if (k != skip) need(n, inst_operand(v->f, inst, k));
}

/* Marks the values that recipes must compute: stored values, conditions, back-edge values of used
 * phis. A value that is used after the loop but is not a back-edge value requires the scalar loop
 * for the last iteration. */
static enum vector_refusal find_needed(struct vector_loop *v) {
  struct needs n = {.v = v};
  for (uint32_t k = 0; k < v->body_count; k++) {
    struct nvm_inst_id i = v->body[k];
    const struct nvm_inst *inst = vl_inst(v, i);
    if (inst->op == OP_STORE) need(&n, value_of_inst(i));
    if (inst->op == OP_CONDBR && inst->block.index != v->loop->latch.index)
      need(&n, inst_operand(v->f, inst, 0));
    for (uint32_t u = v->uses.first[i.index]; u < v->uses.first[i.index + 1]; u++) {
      struct nvm_inst_id user = v->uses.users[u];
      if (v->position[user.index] || block_is_none(vl_inst(v, user)->block) || v->early.index)
        continue;
      if (vl_inst(v, user)->op != OP_PHI || vl_inst(v, user)->block.index != v->loop->exit.index)
        return vl_refuse(v, i, VECTOR_PHI);
      bool is_back_value = false;
      for (uint32_t p = 0; p < v->phis.count; p++)
        if (value_equal(v->phis.data[p].back, value_of_inst(i))) {
          is_back_value = true;
          if (v->phis.data[p].kind != PHI_INDUCTION) need(&n, value_of_inst(v->phis.data[p].inst));
        }
      if (!is_back_value) v->scalar_epilogue = true;
    }
  }
  /* The remainder needs every phi. */
  for (uint32_t p = 0; p < v->phis.count; p++)
    if (v->phis.data[p].kind != PHI_INDUCTION) need(&n, value_of_inst(v->phis.data[p].inst));
  while (n.open.count) need_operands(&n, n.open.data[--n.open.count]);
  for (uint32_t p = 0; p < v->phis.count; p++)
    v->phis.data[p].needed = v->needed[v->phis.data[p].inst.index];
  return VECTOR_OK;
}

enum vector_refusal legality_check(struct vector_loop *v, enum nvm_status *status) {
  bool ok = true;
  v->max_lanes = VECTORIZE_MAX_LANES;
  enum vector_refusal r = legality_collect_body(v, &ok);
  if (ok && r == VECTOR_OK) r = collect_phis(v, &ok);
  if (ok && r == VECTOR_OK) r = accesses_analyze(v, status);
  if (ok && r == VECTOR_OK && v->early.index && !accesses_can_speculate(v)) r = VECTOR_EARLY_EXIT;
  if (ok && r == VECTOR_OK) r = check_chain(v);
  if (ok && r == VECTOR_OK) r = find_needed(v);
  if (!ok) *status = NVM_OUT_OF_MEMORY;
  return r;
}
