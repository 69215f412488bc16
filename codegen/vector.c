/* Vectors and aggregates: their lanes and members as registers. Nothing here computes; it moves. */
#include "codegen/select.h"

static uint64_t lane_count(struct lower *l, struct nvm_type type) {
  const struct type_table *t = &l->module->types;
  return type_is_vector(t, type) ? type_info(t, type)->count : 1;
}

static struct lanes lanes_of(struct lower *l, struct nvm_type type) {
  struct nvm_type scalar = type_scalar(&l->module->types, type);
  struct lanes r = {.scalar = scalar, .parts_each = part_list(l, scalar).count};
  uint64_t count = lane_count(l, type);
  if (part_list(l, type).count == 0) count = 0; /* refused before */
  r.at = arena_alloc(&l->function_arena, count * r.parts_each * sizeof *r.at);
  r.count = r.at ? (uint32_t)count : 0;
  return r;
}

static bool is_undefined(const struct lower *l, struct nvm_value v) {
  return value_kind(v) == VALUE_CONST && const_is_undef_or_poison(l->module, v);
}

static bool constant_index(struct lower *l, struct nvm_value v, uint64_t *index) {
  nvm_u128 value;
  if (!const_is_int(l->module, v, &value)) return false;
  *index = (uint64_t)value;
  return true;
}

/* The scalar that was inserted as lane k of *v; VALUE_NULL: none, *v becomes the vector below the
 * insertions. */
static struct nvm_value inserted_lane(struct lower *l, struct nvm_value *v, uint32_t k) {
  uint64_t lane;
  for (uint32_t step = 0; step < SELECT_MAX_INSERTIONS && select_is_insertion(l, *v, &lane);
       step++) {
    const struct nvm_inst *i = &l->f->insts.data[value_index(*v)];
    if (lane == k) return inst_operand(l->f, i, 1);
    *v = inst_operand(l->f, i, 0);
  }
  return VALUE_NULL;
}

/* Lanes k and k + 1 of a packed vector; for an undefined one the other will do. */
static void split_pair(struct lower *l, struct nvm_value v, uint32_t k,
                       struct ptx_operand lanes[2]) {
  struct nvm_value below[2] = {v, v}, scalar[2];
  for (uint32_t j = 0; j < 2; j++) scalar[j] = inserted_lane(l, &below[j], k + j);
  struct nvm_value rest = value_is_none(scalar[0]) ? below[0] : below[1];
  bool unpacks = value_is_none(scalar[0]) || value_is_none(scalar[1]);
  if (unpacks && value_kind(rest) != VALUE_CONST)
    emit_unpack_pair(l, value_operand(l, rest, k / 2), lanes);
  for (uint32_t j = 0; j < 2; j++)
    if (value_is_none(scalar[j]) && value_kind(rest) == VALUE_CONST)
      scalar[j] = const_element(l->module, rest, k + j);
  for (uint32_t j = 0; j < 2; j++) {
    bool undefined = is_undefined(l, scalar[j]) && !value_is_none(scalar[1 - j]);
    if (!value_is_none(scalar[j])) lanes[j] = value_operand(l, scalar[undefined ? 1 - j : j], 0);
  }
}

struct lanes lane_split(struct lower *l, struct nvm_value v) {
  struct nvm_type type = value_type(l->f, v);
  struct lanes r = lanes_of(l, type);
  bool packed = part_is_packed_type(l, type);
  for (uint32_t k = 0; k < r.count * r.parts_each && !packed; k++) r.at[k] = value_operand(l, v, k);
  for (uint32_t k = 0; k + 1 < r.count && packed; k += 2) split_pair(l, v, k, &r.at[k]);
  return r;
}

struct lanes lane_targets(struct lower *l, struct nvm_type type, const struct ptx_reg *to) {
  struct lanes r = lanes_of(l, type);
  bool packed = part_is_packed_type(l, type);
  for (uint32_t k = 0; k < r.count * r.parts_each; k++)
    r.at[k] = ptx_r(packed ? emit_temp(l, PTX_B16) : to[k]);
  return r;
}

void lane_join(struct lower *l, struct nvm_type type, const struct ptx_reg *to, struct lanes from) {
  if (part_is_packed_type(l, type)) {
    for (uint32_t k = 0; k + 1 < from.count; k += 2)
      emit_copy(l, to[k / 2], emit_pack_pair(l, from.at[k], from.at[k + 1]));
    return;
  }
  for (uint32_t k = 0; k < from.count * from.parts_each; k++) {
    bool in_place = from.at[k].kind == PTX_OPERAND_REG && from.at[k].reg.bits == to[k].bits;
    if (!in_place) emit_copy(l, to[k], from.at[k]);
  }
}

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

/* c && a, c || b, and where the constant is the other one: !c || a, !c && b. False: neither a nor b
 * is constant. */
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

/* A vector condition chooses lane by lane, a scalar one the whole value. */
void vector_lower_select(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value c = inst_operand(l->f, i, 0), a = inst_operand(l->f, i, 1);
  struct nvm_value b = inst_operand(l->f, i, 2);
  const struct ptx_reg *to = value_result(l, l->inst);
  if (type_is_vector(&l->module->types, value_type(l->f, c))) {
    struct lanes x = lane_split(l, a), y = lane_split(l, b);
    struct lanes z = lane_targets(l, i->type, to);
    struct part_range each = part_list(l, x.scalar);
    for (uint32_t k = 0; k < z.count * z.parts_each; k++)
      select_part(l, part_at(l, each, k % z.parts_each), z.at[k].reg,
                  ptx_r(value_reg(l, c, k / z.parts_each)), x.at[k], y.at[k]);
    lane_join(l, i->type, to, z);
    return;
  }
  if (type_equal(i->type, TYPE_I1) && select_logical(l, to[0], c, a, b)) return;
  struct ptx_operand condition = ptx_r(value_reg(l, c, 0));
  struct part_range parts = part_list(l, i->type);
  for (uint32_t k = 0; k < parts.count; k++) {
    struct ptx_operand x = value_operand(l, a, k), y = value_operand(l, b, k);
    select_part(l, part_at(l, parts, k), to[k], condition, x, y);
  }
}

/* Registers hold some bits whatever the value was: that is a frozen value. */
void vector_lower_freeze(struct lower *l, const struct nvm_inst *i) {
  copy_parts(l, value_result(l, l->inst), inst_operand(l->f, i, 0), 0, part_list(l, i->type).count);
}

/* --- members of aggregates -------------------------------------------------------------------- */

/* The parts that the path of constant indices from operand `k` on leads to, as first and count
 * relative to the whole; *type becomes the member's type. */
static struct part_range walk_path(struct lower *l, const struct nvm_inst *i, uint32_t k,
                                   struct nvm_type *type) {
  uint32_t first = 0;
  for (; k < i->operand_count; k++) {
    nvm_u128 index = 0;
    const_is_int(l->module, inst_operand(l->f, i, k), &index);
    struct part_range whole = part_list(l, *type);
    struct part_range member = part_of_member(l, *type, (uint64_t)index);
    first += member.first - whole.first;
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
  bool in_place =
      value_kind(whole) == VALUE_INST && l->selection[l->inst.index].home == value_index(whole);
  for (uint32_t k = 0; k < count && !undefined && !in_place; k++)
    if (k < at.first || k >= at.first + at.count) emit_copy(l, to[k], value_operand(l, whole, k));
  copy_parts(l, to + at.first, member, 0, at.count);
}

/* --- lanes by index --------------------------------------------------------------------------- */

/* lane == index for an index known only at run time. */
static struct ptx_reg lane_is(struct lower *l, struct nvm_value index, uint32_t lane) {
  struct part p = *part_at(l, part_list(l, value_type(l->f, index)), 0);
  struct ptx_reg hit = emit_temp(l, PTX_PRED);
  int_compare_part(l, ICMP_EQ, &p, hit, value_operand(l, index, 0), ptx_i(lane));
  return hit;
}

static void select_lane(struct lower *l, struct lanes v, uint32_t lane, struct ptx_reg hit,
                        const struct ptx_reg *to) {
  struct part_range each = part_list(l, v.scalar);
  for (uint32_t j = 0; j < v.parts_each; j++)
    select_part(l, part_at(l, each, j), to[j], ptx_r(hit), v.at[lane * v.parts_each + j],
                ptx_r(to[j]));
}

/* The registers that already hold the lanes of v; NULL for constants, packed pairs, values without
 * registers yet, and phis, whose registers change while others may still look at the lane. */
static const struct ptx_reg *held_lanes(struct lower *l, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST || part_is_packed_type(l, value_type(l->f, v))) return NULL;
  uint32_t index = value_index(v), first = l->inst_regs[index];
  return first && l->f->insts.data[index].op != OP_PHI ? &l->regs.data[first] : NULL;
}

/* Where part k of the result of a lane instruction stands already; none if it must be moved. */
static struct ptx_reg held_part(struct lower *l, const struct nvm_inst *i, uint32_t k,
                                uint32_t each) {
  uint64_t lane = k / each, from = 0;
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1), source = a;
  bool undefined = false;
  if (i->op == OP_EXTRACTELEMENT) {
    from = constant_index(l, b, &from) && from < lane_count(l, value_type(l->f, a)) ? from
                                                                                    : UINT64_MAX;
  } else if (i->op == OP_INSERTELEMENT) {
    if (!constant_index(l, inst_operand(l->f, i, 2), &from)) return (struct ptx_reg){0};
    undefined = lane != from && is_undefined(l, a); /* any register of the class will do */
    if (lane == from || undefined) source = b;
    from = lane == from || undefined ? 0 : lane;
  } else {
    uint64_t lanes = lane_count(l, value_type(l->f, a));
    struct nvm_value at = const_element(l->module, inst_operand(l->f, i, 2), lane);
    if (!constant_index(l, at, &from)) from = 0;
    if (from >= lanes) source = b;
    if (from >= lanes) from -= lanes;
  }
  const struct ptx_reg *held = from == UINT64_MAX ? NULL : held_lanes(l, source);
  return held ? held[from * each + k % each] : (struct ptx_reg){0};
}

bool lane_share(struct lower *l, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(l->f, id);
  if (l->inst_regs[id.index]) return false;
  struct part_range parts = part_list(l, i->type);
  uint32_t each = part_list(l, type_scalar(&l->module->types, i->type)).count;
  uint32_t first = l->regs.count;
  if (parts.count == 0 || part_is_packed_type(l, i->type)) return false;
  for (uint32_t k = 0; k < parts.count; k++) {
    struct ptx_reg r = held_part(l, i, k, each);
    if (ptx_reg_is_none(r) || ptx_reg_class(r) != part_class(part_at(l, parts, k)) ||
        !VEC_PUSH(&l->function_arena, &l->regs, r)) {
      l->regs.count = first;
      return false;
    }
  }
  l->inst_regs[id.index] = first;
  return true;
}

/* An index beyond the lanes is poison: any lane will do. */
void vector_lower_extract(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value vector = inst_operand(l->f, i, 0), index = inst_operand(l->f, i, 1);
  struct nvm_type type = value_type(l->f, vector);
  const struct ptx_reg *to = value_result(l, l->inst);
  uint64_t lane = 0;
  bool known = constant_index(l, index, &lane);
  if (lane >= lane_count(l, type)) lane = 0;
  if (known && part_is_packed_type(l, type)) {
    struct ptx_operand pair[2];
    split_pair(l, vector, (uint32_t)lane & ~UINT32_C(1), pair);
    emit_copy(l, to[0], pair[lane & 1]);
    return;
  }
  struct lanes v = lane_split(l, vector);
  if (v.count == 0) return;
  for (uint32_t j = 0; j < v.parts_each; j++) emit_copy(l, to[j], v.at[lane * v.parts_each + j]);
  for (uint32_t k = 1; k < v.count && !known; k++) select_lane(l, v, k, lane_is(l, index, k), to);
}

/* Pairs that nothing is inserted into are copied whole. */
static void insert_packed(struct lower *l, const struct nvm_inst *i, uint64_t lane) {
  struct nvm_value vector = inst_operand(l->f, i, 0), e = inst_operand(l->f, i, 1);
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < lane_count(l, i->type); k += 2) {
    struct nvm_value rest = vector, other = vector;
    struct ptx_operand pair[2];
    bool here = lane / 2 == k / 2;
    if (!here && value_is_none(inserted_lane(l, &rest, k)) &&
        value_is_none(inserted_lane(l, &other, k + 1))) {
      emit_copy(l, to[k / 2], value_operand(l, rest, k / 2));
      continue;
    }
    split_pair(l, vector, k, pair);
    if (here) pair[lane & 1] = value_operand(l, e, 0);
    if (here && is_undefined(l, vector)) pair[~lane & 1] = pair[lane & 1];
    emit_copy(l, to[k / 2], emit_pack_pair(l, pair[0], pair[1]));
  }
}

void vector_lower_insert(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value index = inst_operand(l->f, i, 2);
  uint64_t lane = 0;
  bool known = constant_index(l, index, &lane);
  if (known && part_is_packed_type(l, i->type)) {
    insert_packed(l, i, lane);
    return;
  }
  struct lanes v = lane_split(l, inst_operand(l->f, i, 0));
  struct lanes e = lane_split(l, inst_operand(l->f, i, 1));
  const struct ptx_reg *to = value_result(l, l->inst);
  struct part_range each = part_list(l, v.scalar);
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
      struct ptx_reg r = emit_new_reg(l, part_at(l, each, j));
      select_part(l, part_at(l, each, j), r, ptx_r(hit), e.at[j], *slot);
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
    if (!constant_index(l, const_element(l->module, mask, k), &from)) from = 0; /* undefined */
    for (uint32_t j = 0; j < r.parts_each; j++) {
      const struct lanes *source = from < a.count ? &a : &b;
      uint64_t lane = from < a.count ? from : from - a.count;
      if (lane < source->count) r.at[k * r.parts_each + j] = source->at[lane * r.parts_each + j];
    }
  }
  lane_join(l, i->type, to, r);
}
