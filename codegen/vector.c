/* Vectors, aggregates and select: moves between registers. */
#include "codegen/inst.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/select.h"
#include "codegen/value.h"

/* --- moves of whole values -------------------------------------------------------------------- */

static void copy_parts(struct lower *l, const struct ptx_reg *to, struct nvm_value v,
                       uint32_t first, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    struct ptx_operand x = value_operand(l, v, first + k);
    if (x.kind != PTX_OPERAND_REG || x.reg.bits != to[k].bits) emit_copy(l, to[k], x);
  }
}

static void select_part(struct lower *l, const struct part *p, struct ptx_reg to,
                        struct ptx_operand condition, struct ptx_operand a, struct ptx_operand b) {
  if (p->kind == PART_I1) { /* selp has no .pred */
    struct ptx_operand x = emit_binary(l, PTX_AND, PTX_MOD_PRED, a, condition);
    struct ptx_operand y =
        emit_binary(l, PTX_AND, PTX_MOD_PRED, b, emit_unary(l, PTX_NOT, PTX_MOD_PRED, condition));
    emit3(l, PTX_OR, PTX_MODS(PTX_MOD_PRED), ptx_r(to), x, y);
    return;
  }
  emit4(l, PTX_SELP, PTX_MODS(part_move_mod(p)), ptx_r(to), a, b, condition);
}

/* A select of i1 with a constant arm: c && a, c || b, !c || a, !c && b. False: no arm is constant.
 */
static bool select_logical(struct lower *l, struct ptx_reg to, struct nvm_value c,
                           struct nvm_value a, struct nvm_value b) {
  nvm_u128 constant;
  bool second = const_is_int(l->module, b, &constant);
  if (!second && !const_is_int(l->module, a, &constant)) return false;
  struct ptx_operand condition = ptx_r(value_reg(l, c, 0));
  if (second == (constant != 0)) condition = emit_unary(l, PTX_NOT, PTX_MOD_PRED, condition);
  emit3(l, constant ? PTX_OR : PTX_AND, PTX_MODS(PTX_MOD_PRED), ptx_r(to), condition,
        ptx_r(value_reg(l, second ? a : b, 0)));
  return true;
}

/* A vector condition selects lane by lane, a scalar one the whole value. */
void vector_lower_select(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value c = inst_operand(l->f, i, 0), a = inst_operand(l->f, i, 1);
  struct nvm_value b = inst_operand(l->f, i, 2);
  const struct ptx_reg *to = value_result(l, l->inst);
  if (int_lower_joined(l, i)) return;
  if (type_is_vector(&l->module->types, value_type(l->f, c))) {
    struct lanes x = lane_split(l, a), y = lane_split(l, b);
    struct lanes z = lane_targets(l, i->type, to);
    struct part_list each = part_list(l, x.scalar);
    for (uint32_t k = 0; k < z.count * z.parts_each; k++)
      select_part(l, part_at(each, k % z.parts_each), z.at[k].reg,
                  ptx_r(value_reg(l, c, k / z.parts_each)), x.at[k], y.at[k]);
    lane_join(l, i->type, to, z);
    return;
  }
  if (type_equal(i->type, TYPE_I1) && select_logical(l, to[0], c, a, b)) return;
  struct ptx_operand condition = ptx_r(value_reg(l, c, 0));
  struct part_list parts = part_list(l, i->type);
  for (uint32_t k = 0; k < parts.count; k++) {
    struct ptx_operand x = value_operand(l, a, k), y = value_operand(l, b, k);
    select_part(l, part_at(parts, k), to[k], condition, x, y);
  }
}

/* A register always holds some bits: a copy is a frozen value. */
void vector_lower_freeze(struct lower *l, const struct nvm_inst *i) {
  copy_parts(l, value_result(l, l->inst), inst_operand(l->f, i, 0), 0, part_list(l, i->type).count);
}

/* --- members of aggregates -------------------------------------------------------------------- */

/* The parts of the member that the constant indices from operand `k` on select, relative to the
 * whole; *type becomes the member's type. */
static struct part_range walk_path(struct lower *l, const struct nvm_inst *i, uint32_t k,
                                   struct nvm_type *type) {
  uint32_t first = 0;
  for (; k < i->operand_count; k++) {
    nvm_u128 index = 0;
    const_is_int(l->module, inst_operand(l->f, i, k), &index);
    first += part_of_member(l, *type, (uint64_t)index).first;
    *type = type_element(&l->module->types, *type, (uint64_t)index);
  }
  return (struct part_range){first, part_list(l, *type).count};
}

void vector_lower_extract_value(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value whole = inst_operand(l->f, i, 0);
  struct nvm_type type = value_type(l->f, whole);
  struct part_range member = walk_path(l, i, 1, &type);
  copy_parts(l, value_result(l, l->inst), whole, member.first, member.count);
}

void vector_lower_insert_value(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value whole = inst_operand(l->f, i, 0), member = inst_operand(l->f, i, 1);
  struct nvm_type type = i->type;
  struct part_range at = walk_path(l, i, 2, &type);
  const struct ptx_reg *to = value_result(l, l->inst);
  uint32_t count = part_list(l, i->type).count;
  bool undefined = value_kind(whole) == VALUE_CONST && const_is_undef_or_poison(l->module, whole);
  bool in_place = value_kind(whole) == VALUE_INST &&
                  l->selection[l->inst.index].coalesced_with == value_index(whole);
  for (uint32_t k = 0; k < count && !undefined && !in_place; k++)
    if (k < at.first || k >= at.first + at.count) emit_copy(l, to[k], value_operand(l, whole, k));
  copy_parts(l, to + at.first, member, 0, at.count);
}

/* --- lanes by index --------------------------------------------------------------------------- */

/* lane == index, at run time. */
static struct ptx_reg lane_is(struct lower *l, struct nvm_value index, uint32_t lane) {
  struct part p = *part_at(part_list(l, value_type(l->f, index)), 0);
  struct ptx_reg hit = emit_temp(l, PTX_PRED);
  int_compare_part(l, ICMP_EQ, &p, hit, value_operand(l, index, 0), ptx_i(lane));
  return hit;
}

static void select_lane(struct lower *l, struct lanes v, uint32_t lane, struct ptx_reg hit,
                        const struct ptx_reg *to) {
  struct part_list each = part_list(l, v.scalar);
  for (uint32_t j = 0; j < v.parts_each; j++)
    select_part(l, part_at(each, j), to[j], ptx_r(hit), v.at[lane * v.parts_each + j],
                ptx_r(to[j]));
}

/* An index beyond the lanes is poison: any lane is correct. */
void vector_lower_extract(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value vector = inst_operand(l->f, i, 0), index = inst_operand(l->f, i, 1);
  struct nvm_type type = value_type(l->f, vector);
  const struct ptx_reg *to = value_result(l, l->inst);
  uint64_t lane = 0;
  bool known = lane_index(l, index, &lane);
  if (lane >= lane_count(l, type)) lane = 0;
  if (known && part_is_packed_type(l, type)) {
    struct ptx_operand pair[2];
    lane_split_pair(l, vector, (uint32_t)lane & ~UINT32_C(1), pair);
    emit_copy(l, to[0], pair[lane & 1]);
    return;
  }
  struct lanes v = lane_split(l, vector);
  if (v.count == 0) return;
  for (uint32_t j = 0; j < v.parts_each; j++) emit_copy(l, to[j], v.at[lane * v.parts_each + j]);
  struct ptx_operand only = v.at[lane * v.parts_each];
  for (enum byte_above above = ABOVE_ZERO; above <= ABOVE_SIGN && known; above++)
    if (only.kind == PTX_OPERAND_REG && emit_has_above(l, only, above))
      emit_note_above(l, to[0], above);
  for (uint32_t k = 1; k < v.count && !known; k++) select_lane(l, v, k, lane_is(l, index, k), to);
}

/* Other pairs are copied whole. */
static void insert_packed(struct lower *l, const struct nvm_inst *i, uint64_t lane) {
  struct nvm_value vector = inst_operand(l->f, i, 0), e = inst_operand(l->f, i, 1);
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < lane_count(l, i->type); k += 2) {
    struct nvm_value rest = vector, other = vector;
    struct ptx_operand pair[2];
    bool here = lane / 2 == k / 2;
    if (!here && value_is_none(lane_inserted(l, &rest, k)) &&
        value_is_none(lane_inserted(l, &other, k + 1))) {
      emit_copy(l, to[k / 2], value_operand(l, rest, k / 2));
      continue;
    }
    lane_split_pair(l, vector, k, pair);
    if (here) pair[lane & 1] = value_operand(l, e, 0);
    if (here && value_is_undefined(l, vector)) pair[~lane & 1] = pair[lane & 1];
    emit_copy(l, to[k / 2], emit_pack_pair(l, pair[0], pair[1]));
  }
}

void vector_lower_insert(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value index = inst_operand(l->f, i, 2);
  uint64_t lane = 0;
  bool known = lane_index(l, index, &lane);
  if (known && part_is_packed_type(l, i->type)) {
    insert_packed(l, i, lane);
    return;
  }
  struct lanes v = lane_split(l, inst_operand(l->f, i, 0));
  struct lanes e = lane_split(l, inst_operand(l->f, i, 1));
  const struct ptx_reg *to = value_result(l, l->inst);
  struct part_list each = part_list(l, v.scalar);
  for (uint32_t k = 0; k < v.count && e.count; k++) {
    if (known && k != lane) continue;
    struct ptx_reg hit = {0};
    if (!known) hit = lane_is(l, index, k);
    for (uint32_t j = 0; j < v.parts_each; j++) {
      struct ptx_operand *slot = &v.at[k * v.parts_each + j];
      if (known) {
        *slot = e.at[j];
        continue;
      }
      struct ptx_reg r = emit_new_reg(l, part_at(each, j));
      select_part(l, part_at(each, j), r, ptx_r(hit), e.at[j], *slot);
      *slot = ptx_r(r);
    }
  }
  lane_join(l, i->type, to, v);
}

void vector_lower_shuffle(struct lower *l, const struct nvm_inst *i) {
  struct lanes a = lane_split(l, inst_operand(l->f, i, 0));
  struct lanes b = lane_split(l, inst_operand(l->f, i, 1));
  struct nvm_value mask = inst_operand(l->f, i, 2);
  const struct ptx_reg *to = value_result(l, l->inst);
  struct lanes r = lane_targets(l, i->type, to);
  for (uint32_t k = 0; k < r.count; k++) {
    uint64_t from = 0;
    if (!lane_index(l, const_element(l->module, mask, k), &from)) from = 0; /* undefined */
    for (uint32_t j = 0; j < r.parts_each; j++) {
      const struct lanes *source = from < a.count ? &a : &b;
      uint64_t lane = from < a.count ? from : from - a.count;
      if (lane < source->count) r.at[k * r.parts_each + j] = source->at[lane * r.parts_each + j];
    }
  }
  lane_join(l, i->type, to, r);
}
