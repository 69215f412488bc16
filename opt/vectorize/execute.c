/* Executing the recipes of a plan: instructions for all lanes, in the order of the plan.
 *
 * A value exists as a vector, as lanes, or both; each form is made from the other on demand. On
 * this machine lanes of 32 bits and more are separate registers, so that extraction is free. All
 * parts of a recipe (interleave count) are emitted before the next recipe, which is the order that
 * accesses.c has proven correct. */
#include "analysis/effects.h"
#include "opt/vectorize/execute.h"

#include "ir/build.h"
#include "ir/eval.h"
#include "opt/loop/loop_tools.h"

#include <assert.h>

struct nvm_value x_emit(struct executor *x, enum op op, uint16_t flags, struct nvm_type type,
                        const struct nvm_value *operands, uint32_t count, uint32_t aux) {
  if (x->failed) return VALUE_NULL;
  struct builder at = builder_located(builder_at_end(x->v->f, x->block), x->origin);
  struct nvm_value v = builder_add(&at, op, flags, type, operands, count, aux);
  x->failed = value_is_none(v);
  return v;
}

struct nvm_value x_binary(struct executor *x, enum op op, struct nvm_value a, struct nvm_value b) {
  struct nvm_module *m = x->v->f->module;
  if ((op == OP_ADD || op == OP_OR || op == OP_SUB) && const_is_zero(m, b)) return a;
  if ((op == OP_ADD || op == OP_OR) && const_is_zero(m, a)) return b;
  struct nvm_value operands[2] = {a, b};
  return value_is_none(a) ? a : x_emit(x, op, 0, value_type(x->v->f, a), operands, 2, 0);
}

struct nvm_value x_compare(struct executor *x, enum icmp_predicate p, struct nvm_value a,
                           struct nvm_value b) {
  struct nvm_value operands[2] = {a, b};
  return x_emit(x, OP_ICMP, 0, TYPE_I1, operands, 2, p);
}

struct nvm_value x_number(struct executor *x, struct nvm_type type, int64_t value) {
  uint32_t bits = type_info(vl_types(x->v), type)->width;
  return const_int(x->v->f->module, type, (nvm_u128)(nvm_i128)value & eval_mask(bits));
}

struct nvm_value x_count_in(struct executor *x, struct nvm_value taken) {
  x->counter = value_type(x->v->f, taken);
  if (type_info(vl_types(x->v), x->counter)->width < 32) x->counter = TYPE_I32;
  return x_resize(x, taken, x->counter);
}

struct nvm_value x_iterations(struct executor *x, uint64_t count) {
  assert(count <= INT32_MAX && type_info(vl_types(x->v), x->counter)->width >= 32);
  return x_number(x, x->counter, (int64_t)count);
}

struct nvm_value x_resize(struct executor *x, struct nvm_value a, struct nvm_type type) {
  if (value_is_none(a)) return a;
  uint32_t from = type_info(vl_types(x->v), value_type(x->v->f, a))->width,
           to = type_info(vl_types(x->v), type)->width;
  return from == to ? a : x_emit(x, from < to ? OP_ZEXT : OP_TRUNC, 0, type, &a, 1, 0);
}

struct nvm_value x_advance(struct executor *x, struct nvm_value pointer, struct nvm_value bytes) {
  if (x->failed || const_is_zero(x->v->f->module, bytes)) return pointer;
  struct nvm_value operands[2] = {pointer, bytes};
  return x_emit(x, OP_GEP, 0, value_type(x->v->f, pointer), operands, 2, TYPE_I8.index);
}

struct nvm_value x_add_number(struct executor *x, struct nvm_value v, int64_t number) {
  if (x->failed) return VALUE_NULL;
  struct nvm_type type = value_type(x->v->f, v);
  return type_is_ptr(vl_types(x->v), type) ? x_advance(x, v, x_number(x, TYPE_I64, number))
                                           : x_binary(x, OP_ADD, v, x_number(x, type, number));
}

struct nvm_value x_or(struct executor *x, struct nvm_value a, struct nvm_value b) {
  return value_is_none(a) ? b : x_binary(x, OP_OR, a, b);
}

struct nvm_block x_block(struct executor *x, const char *name) {
  struct nvm_function *f = x->v->f;
  struct nvm_block b = function_add_block(f, module_str(f->module, name));
  x->failed |= block_is_none(b);
  if (!x->failed) function_move_block(f, b, x->before);
  return b;
}

void x_jump(struct executor *x, struct nvm_block to) {
  struct nvm_value target = value_of_block(to);
  x_emit(x, OP_BR, 0, TYPE_VOID, &target, 1, 0);
}

void x_branch(struct executor *x, struct nvm_value condition, struct nvm_block yes,
              struct nvm_block no) {
  struct nvm_value operands[3] = {condition, value_of_block(yes), value_of_block(no)};
  x_emit(x, OP_CONDBR, 0, TYPE_VOID, operands, 3, 0);
}

static struct nvm_type x_wide(const struct executor *x, struct nvm_type scalar) {
  return x->factor == 1 ? scalar : type_vector(&x->v->f->module->types, scalar, x->factor);
}

static struct nvm_value lane_number(struct executor *x, uint32_t lane) {
  return x_number(x, TYPE_I32, lane);
}

struct nvm_value x_insert(struct executor *x, struct nvm_value vector, struct nvm_value lane,
                          uint32_t at) {
  struct nvm_value operands[3] = {vector, lane, lane_number(x, at)};
  return x_emit(x, OP_INSERTELEMENT, 0, value_type(x->v->f, vector), operands, 3, 0);
}

struct nvm_value x_extract(struct executor *x, struct nvm_value vector, uint32_t at) {
  struct nvm_value operands[2] = {vector, lane_number(x, at)};
  struct nvm_type type = type_scalar(vl_types(x->v), value_type(x->v->f, vector));
  return x_emit(x, OP_EXTRACTELEMENT, 0, type, operands, 2, 0);
}

static struct nvm_value splat(struct executor *x, struct nvm_value lane) {
  if (x->factor == 1 || x->failed) return lane;
  struct nvm_module *m = x->v->f->module;
  struct nvm_type type = x_wide(x, value_type(x->v->f, lane));
  if (value_kind(lane) == VALUE_CONST) {
    struct nvm_value all[VECTORIZE_MAX_LANES];
    for (uint32_t k = 0; k < x->factor; k++) all[k] = lane;
    return const_aggregate(m, type, all, x->factor);
  }
  struct nvm_value operands[3] = {x_insert(x, const_poison(m, type), lane, 0),
                                  const_poison(m, type), const_zero(m, x_wide(x, TYPE_I32))};
  return x_emit(x, OP_SHUFFLEVECTOR, 0, type, operands, 3, 0);
}

struct nvm_value x_lane(struct executor *x, uint32_t r, uint32_t part, uint32_t lane) {
  const struct vp_recipe *from = vplan_recipe(x->p, r);
  if (from->kind == VP_LIVE_IN) return from->value;
  if (from->uniform) part = lane = 0;
  struct nvm_value *slot = x_lane_slot(x, r, part, lane);
  if (value_is_none(*slot)) {
    struct nvm_value whole = *x_vector_slot(x, r, part);
    x->failed |= value_is_none(whole);
    *slot = x->failed || x->factor == 1 ? whole : x_extract(x, whole, lane);
  }
  return *slot;
}

struct nvm_value x_vector(struct executor *x, uint32_t r, uint32_t part) {
  const struct vp_recipe *from = vplan_recipe(x->p, r);
  if (x->factor == 1) return x_lane(x, r, part, 0);
  if (from->kind == VP_LIVE_IN && value_kind(from->value) == VALUE_CONST)
    return splat(x, from->value);
  if (from->kind == VP_LIVE_IN || from->uniform) part = 0;
  struct nvm_value *slot = x_vector_slot(x, r, part);
  if (!value_is_none(*slot) || x->failed) return *slot;
  if (from->kind == VP_LIVE_IN || from->uniform) return *slot = splat(x, x_lane(x, r, 0, 0));
  struct nvm_value v = const_poison(x->v->f->module, x_wide(x, from->type));
  for (uint32_t l = 0; l < x->factor; l++) v = x_insert(x, v, x_lane(x, r, part, l), l);
  return *slot = v;
}

/* The call of an intrinsic for another type, without attributes. */
static struct nvm_value emit_call(struct executor *x, const struct nvm_inst *old, uint16_t flags,
                                  struct nvm_type type, struct nvm_value *operands,
                                  uint32_t count) {
  struct builder at = builder_located(builder_at_end(x->v->f, x->block), x->origin);
  if (x->failed || count > BUILDER_MAX_ARGUMENTS) return VALUE_NULL;
  struct nvm_value v = builder_intrinsic(&at, (enum intrinsic_id)call_intrinsic(x->v->f, old),
                                         flags, type, operands, count);
  x->failed = value_is_none(v);
  return v;
}

/* Flags that remain valid: reordered or narrowed sums wrap elsewhere. */
static uint16_t kept_flags(const struct executor *x, const struct vp_recipe *r) {
  struct nvm_inst_id i = r->inst;
  uint16_t flags = vl_inst(x->v, i)->flags;
  if (r->narrowed) return type_is_float(vl_types(x->v), r->type) ? flags : 0;
  if (vl_inst(x->v, i)->op == OP_CALL || !x->v->reduced[i.index]) return flags;
  return flags & (uint16_t) ~(INST_NUW | INST_NSW | INST_EXACT | INST_DISJOINT);
}

void x_copy_attachments(struct executor *x, struct nvm_inst_id from, struct nvm_value to) {
  struct nvm_function *f = x->v->f;
  if (x->failed || value_kind(to) != VALUE_INST) return;
  f->attachments.data[value_index(to)] =
      module_share_attachments(f->module, f->attachments.data[from.index]);
}

/* Gives `to`, which computes what `from` computes, its metadata: in an outer loop all, else !fpmath
 * alone, since others describe results of lanes that a condition selects. */
static void copy_result_metadata(struct executor *x, struct nvm_inst_id from, struct nvm_value to) {
  struct nvm_module *m = x->v->f->module;
  uint32_t *chains = x->v->f->attachments.data;
  if (x->failed || value_kind(to) != VALUE_INST || !chains[from.index]) return;
  if (x->p->nested) {
    x_copy_attachments(x, from, to);
    return;
  }
  struct nvm_str kind = module_str(m, "fpmath");
  struct nvm_meta accuracy = module_attachment(m, chains[from.index], kind);
  if (accuracy.index) x->failed |= !module_attach(m, &chains[value_index(to)], kind, accuracy);
}

enum { MAX_OPERANDS = 68 };

static struct nvm_value widen_one(struct executor *x, const struct vp_recipe *r, uint32_t part) {
  struct nvm_value operands[MAX_OPERANDS];
  for (uint32_t k = 0; k < r->operand_count; k++)
    operands[k] = x_vector(x, vplan_operand(x->p, r, k), part);
  if (r->mask && !x->failed) { /* inactive lanes divide by 1 */
    struct nvm_value one = x_number(x, r->type, 1);
    struct nvm_value choice[3] = {x_vector(x, r->mask, part), operands[1], splat(x, one)};
    operands[1] = x_emit(x, OP_SELECT, 0, x_wide(x, r->type), choice, 3, 0);
  }
  struct nvm_inst old = *vl_inst(x->v, r->inst);
  if (old.op == OP_CALL && x->factor == 1) operands[r->operand_count] = call_callee(x->v->f, &old);
  uint32_t count = r->operand_count + (old.op == OP_CALL);
  struct nvm_type type = r->narrowed ? r->type : old.type;
  struct nvm_value made =
      old.op == OP_CALL && x->factor > 1
          ? emit_call(x, &old, old.flags, x_wide(x, old.type), operands, r->operand_count)
          : x_emit(x, (enum op)old.op, kept_flags(x, r), x_wide(x, type), operands, count, old.aux);
  copy_result_metadata(x, r->inst, made);
  return made;
}

static struct nvm_value replicate_one(struct executor *x, const struct vp_recipe *r, uint32_t part,
                                      uint32_t lane) {
  struct nvm_value operands[MAX_OPERANDS];
  for (uint32_t k = 0; k < r->operand_count; k++)
    operands[k] = x_lane(x, vplan_operand(x->p, r, k), part, lane);
  struct nvm_inst old = *vl_inst(x->v, r->inst);
  uint32_t count = r->operand_count;
  if (old.op == OP_CALL) operands[count++] = call_callee(x->v->f, &old);
  struct nvm_value made = x_emit(x, (enum op)old.op, kept_flags(x, r),
                                 r->narrowed ? r->type : old.type, operands, count, old.aux);
  copy_result_metadata(x, r->inst, made);
  return made;
}

static void do_blend(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  for (uint32_t part = 0; part < x->count; part++) {
    struct nvm_value result = x_vector(x, vplan_operand(x->p, r, 0), part);
    for (uint32_t k = 1; k + 1 < r->operand_count; k += 2) {
      struct nvm_value operands[3] = {x_vector(x, vplan_operand(x->p, r, k), part),
                                      x_vector(x, vplan_operand(x->p, r, k + 1), part), result};
      result = x_emit(x, OP_SELECT, 0, x_wide(x, r->type), operands, 3, 0);
    }
    *x_vector_slot(x, n, part) = result;
  }
}

static void do_mask(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  for (uint32_t part = 0; part < x->count; part++) {
    struct nvm_value a = x_vector(x, vplan_operand(x->p, r, 0), part);
    struct nvm_value b = r->kind == VP_NOT ? splat(x, x_number(x, TYPE_I1, -1))
                                           : x_vector(x, vplan_operand(x->p, r, 1), part);
    /* If one condition is false, the other was not evaluated, and may be poison. */
    if (r->kind == VP_AND) b = x_emit(x, OP_FREEZE, 0, x_wide(x, TYPE_I1), &b, 1, 0);
    *x_vector_slot(x, n, part) = x_binary(x,
                                          r->kind == VP_NOT   ? OP_XOR
                                          : r->kind == VP_AND ? OP_AND
                                                              : OP_OR,
                                          a, b);
  }
}

/* Executes the chain lane by lane: a lane's phi is the previous lane's back-edge value. */
static void do_chain(struct executor *x) {
  for (uint32_t part = 0; part < x->count; part++)
    for (uint32_t lane = 0; lane < x->factor; lane++)
      for (uint32_t n = 1; n <= x->p->chain_end; n++) {
        const struct vp_recipe *r = vplan_recipe(x->p, n);
        bool first = part == 0 && lane == 0;
        if (r->kind == VP_SERIAL && !first) {
          uint32_t before = part * x->factor + lane - 1;
          *x_lane_slot(x, n, part, lane) =
              x_lane(x, vplan_operand(x->p, r, 1), before / x->factor, before % x->factor);
        } else if (r->in_chain) {
          x->origin = r->inst;
          if (r->kind == VP_LOAD || r->kind == VP_STORE) execute_lane_access(x, n, part, lane);
          else *x_lane_slot(x, n, part, lane) = replicate_one(x, r, part, lane);
        }
      }
}

/* The phi of an inner loop, of each lane; close_inner() adds the other value. */
static void do_phi(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  for (uint32_t lane = 0; lane < (r->uniform ? 1 : x->factor); lane++) {
    struct nvm_value operands[2] = {x_lane(x, vplan_operand(x->p, r, 0), 0, lane),
                                    value_of_block(x->inner_from)};
    *x_lane_slot(x, n, 0, lane) =
        x_emit(x, OP_PHI, vl_inst(x->v, r->inst)->flags, r->type, operands, 2, 0);
  }
}

static void do_recipe(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  x->origin = r->inst;
  if (r->in_chain) {
    if (n == x->p->chain_end) do_chain(x);
    return;
  }
  switch ((enum vp_kind)r->kind) {
    case VP_WIDEN:
      for (uint32_t part = 0; part < (r->uniform ? 1 : x->count); part++) {
        if (r->uniform) *x_lane_slot(x, n, 0, 0) = replicate_one(x, r, 0, 0);
        else *x_vector_slot(x, n, part) = widen_one(x, r, part);
      }
      break;
    case VP_REPLICATE:
      for (uint32_t part = 0; part < (r->uniform ? 1 : x->count); part++)
        for (uint32_t lane = 0; lane < (r->uniform ? 1 : x->factor); lane++)
          *x_lane_slot(x, n, part, lane) = replicate_one(x, r, part, lane);
      break;
    case VP_PHI: do_phi(x, n); break;
    case VP_LOAD:
    case VP_STORE: execute_access(x, n); break;
    case VP_BLEND: do_blend(x, n); break;
    case VP_AND:
    case VP_OR:
    case VP_NOT: do_mask(x, n); break;
    case VP_NONE:
    case VP_LIVE_IN:
    case VP_POINTER:
    case VP_INDUCTION:
    case VP_REDUCTION:
    case VP_RECURRENCE:
    case VP_SERIAL:
    case VP_KIND_COUNT: break;
  }
}

/* A header phi with its start value; close_phi() adds the other. */
static struct nvm_value new_phi(struct executor *x, struct nvm_value start, struct nvm_block from) {
  struct nvm_value operands[2] = {start, value_of_block(from)};
  return x->failed ? VALUE_NULL : x_emit(x, OP_PHI, 0, value_type(x->v->f, start), operands, 2, 0);
}

static void close_phi(struct executor *x, struct nvm_value phi, struct nvm_value back) {
  if (x->failed || value_is_none(phi) || value_is_none(back)) {
    x->failed = true;
    return;
  }
  struct nvm_inst_id i = {value_index(phi)};
  x->failed |= !inst_add_operand(x->v->f, i, back) ||
               !inst_add_operand(x->v->f, i, value_of_block(x->block));
}

/* The neutral element; VALUE_NULL: none is needed, every lane may begin with the start value. */
static struct nvm_value identity(struct executor *x, const struct header_phi *p) {
  struct nvm_type type = vl_inst(x->v, p->inst)->type;
  struct nvm_module *m = x->v->f->module;
  uint32_t bits = type_scalar_bits(&m->types, type);
  bool bf16 = type_kind(&m->types, type) == TY_BFLOAT;
  uint64_t one = bits == 64   ? UINT64_C(0x3ff0000000000000)
                 : bits == 32 ? 0x3f800000
                 : bf16       ? 0x3f80
                              : 0x3c00;
  switch (p->reduction) {
    case REDUCE_ADD:
    case REDUCE_XOR: return const_zero(m, type);
    case REDUCE_MUL: return x_number(x, type, 1);
    case REDUCE_FADD: return const_float(m, type, UINT64_C(1) << (bits - 1)); /* -0 */
    case REDUCE_FMUL: return const_float(m, type, one);
    case REDUCE_NONE:
    case REDUCE_AND:
    case REDUCE_OR:
    case REDUCE_SMIN:
    case REDUCE_SMAX:
    case REDUCE_UMIN:
    case REDUCE_UMAX:
    case REDUCE_FMIN:
    case REDUCE_FMAX:
    case REDUCE_COUNT: break;
  }
  return VALUE_NULL;
}

/* Flags of links that hold where lanes are combined. A condition can leave the links out; then a
 * start value that is NaN or infinite stays, so nnan and ninf do not hold. */
static uint16_t combining_flags(uint16_t flags) {
  return flags & INST_FAST & (uint16_t) ~(INST_NNAN | INST_NINF);
}

static struct nvm_value emit_minmax(struct executor *x, const struct header_phi *p,
                                    struct nvm_value a, struct nvm_value b) {
  struct nvm_inst old = *vl_inst(x->v, p->combine);
  struct nvm_value operands[2] = {a, b};
  struct nvm_type type = x->failed ? TYPE_I32 : value_type(x->v->f, a);
  if (old.op == OP_CALL) return emit_call(x, &old, combining_flags(old.flags), type, operands, 2);
  static const uint8_t predicates[REDUCE_COUNT] = {
      [REDUCE_SMIN] = ICMP_SLT, [REDUCE_SMAX] = ICMP_SGT, [REDUCE_UMIN] = ICMP_ULT,
      [REDUCE_UMAX] = ICMP_UGT, [REDUCE_FMIN] = FCMP_OLT, [REDUCE_FMAX] = FCMP_OGT};
  bool is_float = p->reduction == REDUCE_FMIN || p->reduction == REDUCE_FMAX;
  struct nvm_type condition = type_with_lanes_of(&x->v->f->module->types, TYPE_I1, type);
  struct nvm_value c = x_emit(x, is_float ? OP_FCMP : OP_ICMP, is_float ? INST_NSZ : 0, condition,
                              operands, 2, predicates[p->reduction]);
  struct nvm_value choice[3] = {c, a, b};
  return x_emit(x, OP_SELECT, 0, type, choice, 3, 0);
}

static struct nvm_value combine(struct executor *x, const struct header_phi *p, struct nvm_value a,
                                struct nvm_value b) {
  static const uint16_t ops[REDUCE_COUNT] = {
      [REDUCE_ADD] = OP_ADD, [REDUCE_MUL] = OP_MUL,   [REDUCE_AND] = OP_AND,  [REDUCE_OR] = OP_OR,
      [REDUCE_XOR] = OP_XOR, [REDUCE_FADD] = OP_FADD, [REDUCE_FMUL] = OP_FMUL};
  if (ops[p->reduction] == 0) return emit_minmax(x, p, a, b);
  struct nvm_value operands[2] = {a, b};
  bool is_float = p->reduction == REDUCE_FADD || p->reduction == REDUCE_FMUL;
  if (x->failed) return VALUE_NULL;
  return x_emit(x, (enum op)ops[p->reduction],
                is_float ? combining_flags(p->flags) : 0,
                value_type(x->v->f, a), operands, 2, 0);
}

/* Combines all parts and lanes, as a tree. */
static struct nvm_value reduce(struct executor *x, const struct header_phi *p, uint32_t back) {
  struct nvm_value part[VECTORIZE_MAX_LANES];
  for (uint32_t k = 0; k < x->count; k++) part[k] = x_vector(x, back, k);
  for (uint32_t n = x->count; n > 1; n /= 2)
    for (uint32_t k = 0; k < n / 2; k++) part[k] = combine(x, p, part[k], part[k + n / 2]);
  if (x->factor == 1 || x->failed) return part[0];
  struct nvm_value lane[VECTORIZE_MAX_LANES];
  for (uint32_t k = 0; k < x->factor; k++) lane[k] = x_extract(x, part[0], k);
  for (uint32_t n = x->factor; n > 1; n /= 2)
    for (uint32_t k = 0; k < n / 2; k++) lane[k] = combine(x, p, lane[k], lane[k + n / 2]);
  return lane[0];
}

struct nvm_value x_induction_at(struct executor *x, const struct header_phi *p,
                                struct nvm_value iterations) {
  struct nvm_type type = vl_inst(x->v, p->inst)->type;
  bool pointer = type_is_ptr(vl_types(x->v), type);
  struct nvm_type number = pointer ? TYPE_I64 : type;
  struct nvm_value n = x_resize(x, iterations, number);
  if (p->step != 1) n = x->failed ? n : x_binary(x, OP_MUL, n, x_number(x, number, p->step));
  return pointer ? x_advance(x, p->start, n) : x_binary(x, OP_ADD, p->start, n);
}

struct heads { /* by recipe: the value of a pointer, induction or recurrence in the header */
  struct nvm_value index;
  struct nvm_value *phi;
};

/* Emits what precedes the loop: addresses, splats, initial partial results. */
static void emit_preheader(struct executor *x, struct heads *h) {
  for (uint32_t n = 1; n < x->p->recipes.count && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    const struct header_phi *p =
        vplan_is_phi((enum vp_kind)r->kind) ? &x->v->phis.data[r->reduction] : NULL;
    if (r->kind == VP_LIVE_IN && x->factor > 1 && !x->p->nested &&
        !type_is_ptr(vl_types(x->v), r->type))
      x_vector(x, n, 0);
    if (r->kind == VP_POINTER) {
      struct nvm_value iterations = x_resize(x, x->begin, TYPE_I64);
      h->phi[n] = x_advance(x, x->starts[n],
                            x_binary(x, OP_MUL, iterations, x_number(x, TYPE_I64, r->step)));
    } else if (p) {
      h->phi[n] =
          p->kind == PHI_INDUCTION ? x_induction_at(x, p, x->begin) : x->entry[r->reduction];
    }
    if (r->kind != VP_REDUCTION) continue;
    struct nvm_value none = identity(x, p), all = splat(x, value_is_none(none) ? h->phi[n] : none);
    for (uint32_t part = 0; part < x->count; part++) *x_vector_slot(x, n, part) = all;
    if (!value_is_none(none))
      *x_vector_slot(x, n, 0) = x->factor == 1 ? h->phi[n] : x_insert(x, all, h->phi[n], 0);
  }
}

static void emit_phis(struct executor *x, struct heads *h, struct nvm_block from) {
  h->index = new_phi(x, x->begin, from);
  for (uint32_t n = 1; n < x->p->recipes.count && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    bool moves = r->kind == VP_POINTER && r->step != 0;
    x->origin = r->inst;
    if (r->kind == VP_REDUCTION)
      for (uint32_t part = 0; part < x->count; part++)
        *x_vector_slot(x, n, part) = new_phi(x, *x_vector_slot(x, n, part), from);
    else if (vplan_is_phi((enum vp_kind)r->kind) || moves) h->phi[n] = new_phi(x, h->phi[n], from);
    if (r->kind == VP_POINTER || r->kind == VP_SERIAL) *x_lane_slot(x, n, 0, 0) = h->phi[n];
  }
}

static uint16_t step_flags(const struct executor *x, const struct vp_recipe *r) {
  bool is_plain = r->kind == VP_INDUCTION && !x->p->nested && !x->p->early;
  return is_plain ? legality_step_flags(x->v, &x->v->phis.data[r->reduction], x->count * x->factor)
                  : 0;
}

/* v + by, where `by` is a number of steps of an induction. */
static struct nvm_value add_steps(struct executor *x, struct nvm_value v, struct nvm_value by,
                                  uint16_t flags) {
  struct nvm_value operands[2] = {v, by};
  if (x->failed || const_is_zero(x->v->f->module, by)) return v;
  return x_emit(x, OP_ADD, flags, value_type(x->v->f, v), operands, 2, 0);
}

/* Emits the lanes of an induction: the scalar plus its steps. */
static void emit_steps(struct executor *x, uint32_t n, struct nvm_value scalar) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  bool pointer = type_is_ptr(vl_types(x->v), r->type);
  bool lanes = pointer || x->p->nested || vplan_is_used_by_lane(x->p, n);
  uint16_t flags = step_flags(x, r);
  for (uint32_t part = 0; part < x->count; part++) {
    struct nvm_value steps[VECTORIZE_MAX_LANES];
    for (uint32_t l = 0; l < x->factor; l++) {
      struct nvm_value by =
          x_number(x, pointer ? TYPE_I64 : r->type, vplan_steps(r->step, part * x->factor + l));
      steps[l] = by;
      if (lanes)
        *x_lane_slot(x, n, part, l) =
            pointer ? x_advance(x, scalar, by) : add_steps(x, scalar, by, flags);
    }
    if (lanes || x->failed) continue;
    struct nvm_value by =
        x->factor == 1 ? steps[0]
                       : const_aggregate(x->v->f->module, x_wide(x, r->type), steps, x->factor);
    *x_vector_slot(x, n, part) = add_steps(x, splat(x, scalar), by, flags);
    if (part == 0) *x_lane_slot(x, n, 0, 0) = scalar;
  }
}

/* Each lane of a recurrence is the previous lane of its value, which exists by now. */
static void emit_splice(struct executor *x, uint32_t n, struct nvm_value phi) {
  uint32_t back = vplan_operand(x->p, vplan_recipe(x->p, n), 1);
  for (uint32_t k = 0; k < x->factor * x->count; k++)
    *x_lane_slot(x, n, k / x->factor, k % x->factor) =
        k == 0 ? phi : x_lane(x, back, (k - 1) / x->factor, (k - 1) % x->factor);
}

/* At the beginning of the body (`done` == 0): inductions, and recurrences of live-ins. After
 * recipe `done`: recurrences of its value. */
static void emit_header_values(struct executor *x, const struct heads *h, uint32_t done) {
  uint32_t heads = 2 * x->v->phis.count + 1; /* phis and their starts come first */
  for (uint32_t n = 1; n < x->p->recipes.count && n <= heads && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    x->origin = r->inst;
    if (r->kind == VP_INDUCTION && !done) emit_steps(x, n, h->phi[n]);
    if (r->kind != VP_RECURRENCE) continue;
    uint32_t back = vplan_operand(x->p, r, 1);
    bool outside = vplan_recipe(x->p, back)->kind == VP_LIVE_IN;
    uint32_t due = vplan_recipe(x->p, back)->in_chain ? x->p->chain_end : back;
    if (done ? due == done && !outside : outside) emit_splice(x, n, h->phi[n]);
  }
}

static void begin_inner(struct executor *x) {
  x->inner_from = x->block;
  x->inner = x_block(x, "vector.inner");
  x_jump(x, x->inner);
  x->block = x->inner;
}

/* Ends the inner loop; lane 0's condition holds for all lanes. */
static void end_inner(struct executor *x) {
  struct nvm_function *f = x->v->f;
  const struct loop *inner = &x->v->loops->data[x->v->index + 1];
  struct nvm_block after = x_block(x, "vector.latch");
  for (uint32_t n = x->p->inner_first; n <= x->p->inner_last && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    for (uint32_t lane = 0; r->kind == VP_PHI && lane < (r->uniform ? 1 : x->factor); lane++)
      close_phi(x, x_lane(x, n, 0, lane), x_lane(x, vplan_operand(x->p, r, 1), 0, lane));
  }
  bool repeats = block_successor(f, inner->header, 0).index == inner->header.index;
  x->origin = block_terminator(f, inner->header);
  x_branch(x, x_lane(x, x->p->inner_condition, 0, 0), repeats ? x->inner : after,
           repeats ? after : x->inner);
  x->failed |= x->failed || !loop_set_hint(f, x->block, inner->hints, "llvm.loop.vectorize.",
                                           "llvm.loop.isvectorized");
  x->block = after;
}

static void emit_body(struct executor *x, const struct heads *h) {
  emit_header_values(x, h, 0);
  for (uint32_t n = 1; n < x->p->recipes.count && !x->failed; n++) {
    if (n == x->p->inner_first) begin_inner(x);
    do_recipe(x, n);
    emit_header_values(x, h, n);
    if (n == x->p->inner_last) end_inner(x);
  }
}

/* If any lane exits, the scalar loop continues from this iteration's first lane and finds it.
 * Lanes after the exiting one were not evaluated in the source, and may be poison. */
static void emit_early_exit(struct executor *x, const struct heads *h) {
  struct nvm_value any = VALUE_NULL;
  for (uint32_t k = 0; k < x->count * x->factor; k++) {
    struct nvm_value leaves = x_lane(x, x->p->early, k / x->factor, k % x->factor);
    leaves = x_emit(x, OP_FREEZE, 0, TYPE_I1, &leaves, 1, 0);
    if (x->p->early_negated) leaves = x_binary(x, OP_XOR, leaves, x_number(x, TYPE_I1, -1));
    any = x_or(x, any, leaves);
  }
  struct nvm_block on = x_block(x, "vector.body.interim");
  x->early[x->early_count++] = (struct early_edge){x->block, h->index};
  x_branch(x, any, x->scalar_loop, on);
  x->block = on;
}

static void emit_latch(struct executor *x, struct heads *h, struct nvm_value end,
                       struct nvm_block body, struct nvm_block middle) {
  uint32_t last = x->factor * x->count - 1;
  struct nvm_value step = x_iterations(x, last + 1);
  x->origin = (struct nvm_inst_id){0};
  if (x->p->early && !x->failed) emit_early_exit(x, h);
  for (uint32_t n = 1; n < x->p->recipes.count && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    bool moves = r->kind == VP_INDUCTION || (r->kind == VP_POINTER && r->step != 0);
    if (x->p->nested && moves) {
      close_phi(x, h->phi[n], x_lane(x, vplan_operand(x->p, r, 1), 0, last));
    } else if (r->kind == VP_INDUCTION && type_is_int(vl_types(x->v), r->type)) {
      struct nvm_value by = x_number(x, r->type, vplan_steps(r->step, last + 1));
      close_phi(x, h->phi[n], add_steps(x, h->phi[n], by, step_flags(x, r)));
    } else if (moves) {
      close_phi(x, h->phi[n], x_add_number(x, h->phi[n], vplan_steps(r->step, last + 1)));
    } else if (r->kind == VP_RECURRENCE || r->kind == VP_SERIAL) {
      struct nvm_value back =
          x_lane(x, vplan_operand(x->p, r, 1), last / x->factor, last % x->factor);
      x->leave[r->reduction] = back;
      close_phi(x, h->phi[n], back);
    } else if (r->kind == VP_REDUCTION) {
      for (uint32_t part = 0; part < x->count; part++)
        close_phi(x, *x_vector_slot(x, n, part), x_vector(x, vplan_operand(x->p, r, 1), part));
    }
  }
  struct nvm_value next = x_binary(x, OP_ADD, h->index, step);
  close_phi(x, h->index, next);
  x_branch(x, x_compare(x, ICMP_EQ, next, end), middle, body);
}

static bool allocate_values(struct executor *x) {
  size_t values = (size_t)x->p->recipes.count * x->count;
  x->vectors = arena_alloc(x->v->env->arena, values * sizeof *x->vectors);
  x->lanes = arena_alloc(x->v->env->arena, values * x->factor * sizeof *x->lanes);
  x->failed |= !x->vectors || !x->lanes;
  return !x->failed;
}

/* Records the blocks from `first` to x->block as a stage of its own. */
static void record_stage(struct executor *x, struct nvm_block first, bool straight, uint32_t copy) {
  struct vector_stage s = {
      first, x->block, x->factor, x->count, copy, straight, x->v->unaligned_version};
  x->failed |= !VEC_PUSH(x->v->env->arena, &x->v->stages, s);
}

void execute_straight(struct executor *x, uint32_t copy, struct nvm_value *heads) {
  struct heads h = {.phi = heads};
  struct nvm_block first = x->block;
  x->factor = x->count = x->width = 1;
  if (!allocate_values(x)) return;
  if (copy == 0) emit_preheader(x, &h);
  h.phi = arena_alloc(x->v->env->arena, x->p->recipes.count * sizeof *h.phi);
  x->failed |= !h.phi;
  for (uint32_t n = 1; n < x->p->recipes.count && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    if (r->kind == VP_POINTER || r->kind == VP_INDUCTION)
      h.phi[n] = x_add_number(x, heads[n], vplan_steps(r->step, copy));
    else if (vplan_is_phi((enum vp_kind)r->kind)) h.phi[n] = x->entry[r->reduction];
    if (r->kind == VP_POINTER || r->kind == VP_SERIAL || r->kind == VP_REDUCTION)
      *x_lane_slot(x, n, 0, 0) = h.phi[n];
  }
  emit_body(x, &h);
  for (uint32_t n = 1; n < x->p->recipes.count && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    if (r->kind == VP_REDUCTION || r->kind == VP_SERIAL || r->kind == VP_RECURRENCE)
      x->leave[r->reduction] = x_lane(x, vplan_operand(x->p, r, 1), 0, 0);
  }
  record_stage(x, first, true, copy);
}

void execute_stage(struct executor *x, struct nvm_value end, const char *ph, const char *body,
                   const char *middle) {
  struct arena *arena = x->v->env->arena;
  uint32_t recipes = x->p->recipes.count;
  struct heads h = {.phi = arena_alloc(arena, recipes * sizeof *h.phi)};
  x->failed |= !h.phi || !allocate_values(x);
  struct nvm_block ph_block = ph ? x_block(x, ph) : x->block, body_block = x_block(x, body),
                   middle_block = x_block(x, middle);
  if (x->failed) return;
  if (ph) x_jump(x, ph_block);
  x->block = ph_block;
  emit_preheader(x, &h);
  x_jump(x, body_block);
  x->block = body_block;
  emit_phis(x, &h, ph_block);
  emit_body(x, &h);
  emit_latch(x, &h, end, body_block, middle_block);
  record_stage(x, body_block, false, 0);
  x->latch = x->block;
  if (!x->failed) function_move_block(x->v->f, middle_block, x->before);
  x->block = middle_block;
  for (uint32_t n = 1; n < recipes && !x->failed; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    if (r->kind == VP_REDUCTION)
      x->leave[r->reduction] = reduce(x, &x->v->phis.data[r->reduction], vplan_operand(x->p, r, 1));
  }
}
