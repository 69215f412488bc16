/* The lanes of vectors as operands: packed pairs taken apart and joined. */
#include "codegen/lane.h"
#include "codegen/select.h"
#include "codegen/value.h"

uint64_t lane_count(struct lower *l, struct nvm_type type) {
  const struct type_table *t = &l->module->types;
  return type_is_vector(t, type) ? type_info(t, type)->count : 1;
}

static struct lanes lanes_of(struct lower *l, struct nvm_type type) {
  struct nvm_type scalar = type_scalar(&l->module->types, type);
  struct lanes r = {.scalar = scalar, .parts_each = part_list(l, scalar).count};
  uint64_t count = lane_count(l, type);
  if (part_list(l, type).count == 0) count = 0; /* an error was reported */
  r.at = arena_alloc(&l->function_arena, count * r.parts_each * sizeof *r.at);
  r.count = r.at ? (uint32_t)count : 0;
  return r;
}

bool lane_index(struct lower *l, struct nvm_value v, uint64_t *index) {
  nvm_u128 value;
  if (!const_is_int(l->module, v, &value)) return false;
  *index = (uint64_t)value;
  return true;
}

struct nvm_value lane_inserted(struct lower *l, struct nvm_value *v, uint32_t k) {
  uint64_t lane;
  for (uint32_t step = 0; step < SELECT_MAX_INSERTIONS && select_is_insertion(l, *v, &lane);
       step++) {
    const struct nvm_inst *i = value_inst(l->f, *v);
    if (lane == k) return inst_operand(l->f, i, 1);
    *v = inst_operand(l->f, i, 0);
  }
  return VALUE_NULL;
}

void lane_split_pair(struct lower *l, struct nvm_value v, uint32_t k, struct ptx_operand lanes[2]) {
  struct nvm_value below[2] = {v, v}, scalar[2];
  for (uint32_t j = 0; j < 2; j++) scalar[j] = lane_inserted(l, &below[j], k + j);
  struct nvm_value rest = value_is_none(scalar[0]) ? below[0] : below[1];
  bool unpacks = value_is_none(scalar[0]) || value_is_none(scalar[1]);
  if (unpacks && value_kind(rest) != VALUE_CONST)
    emit_unpack_pair(l, value_operand(l, rest, k / 2), lanes);
  for (uint32_t j = 0; j < 2; j++)
    if (value_is_none(scalar[j]) && value_kind(rest) == VALUE_CONST)
      scalar[j] = const_element(l->module, rest, k + j);
  for (uint32_t j = 0; j < 2; j++) {
    bool undefined = value_is_undefined(l, scalar[j]) && !value_is_none(scalar[1 - j]);
    if (!value_is_none(scalar[j])) lanes[j] = value_operand(l, scalar[undefined ? 1 - j : j], 0);
  }
}

struct lanes lane_split(struct lower *l, struct nvm_value v) {
  struct nvm_type type = value_type(l->f, v);
  struct lanes r = lanes_of(l, type);
  bool packed = part_is_packed_type(l, type);
  for (uint32_t k = 0; k < r.count * r.parts_each && !packed; k++) r.at[k] = value_operand(l, v, k);
  for (uint32_t k = 0; k + 1 < r.count && packed; k += 2) lane_split_pair(l, v, k, &r.at[k]);
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

void lane_by_parts(struct lower *l, const struct nvm_inst *i, uint32_t arguments,
                   lane_function *lower, const void *how) {
  uint32_t count = part_list(l, i->type).count;
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = *part_at(part_list(l, i->type), k);
    struct ptx_operand v[3] = {{0}};
    for (uint32_t j = 0; j < arguments; j++) v[j] = value_operand(l, inst_operand(l->f, i, j), k);
    lower(l, &p, to[k], v, how);
  }
}

/* --- lanes that need no moves --- */

/* Whether v is a phi with an edge from later code, on which its register changes, perhaps while a
 * lane of it is still in use. (Where a header is placed after its latch, the edge ends in a jump
 * alone, and only its parallel copy reads lanes.) */
static bool is_carried(const struct lower *l, struct nvm_inst_id v) {
  const struct nvm_inst *i = function_inst(l->f, v);
  for (uint32_t k = 1; i->op == OP_PHI && k < i->operand_count; k += 2) {
    uint32_t from = value_index(inst_operand(l->f, i, k));
    if (l->block_rank[from] >= l->block_rank[i->block.index]) return true;
  }
  return false;
}

/* The registers that hold the lanes of v; NULL for constants, packed pairs, values without
 * registers yet, and phis that change in a loop. */
static const struct ptx_reg *held_lanes(struct lower *l, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST || part_is_packed_type(l, value_type(l->f, v))) return NULL;
  uint32_t first = l->inst_regs[value_index(v)];
  return first && !is_carried(l, value_inst_id(v)) ? &l->regs.data[first] : NULL;
}

/* The register that holds part k of the result of a lane instruction; none if it must be moved. */
static struct ptx_reg held_part(struct lower *l, const struct nvm_inst *i, uint32_t k,
                                uint32_t each) {
  uint64_t lane = k / each, from = 0;
  struct nvm_value a = inst_operand(l->f, i, 0), b = inst_operand(l->f, i, 1), source = a;
  bool undefined = false;
  if (i->op == OP_EXTRACTELEMENT) {
    from = lane_index(l, b, &from) && from < lane_count(l, value_type(l->f, a)) ? from : UINT64_MAX;
  } else if (i->op == OP_INSERTELEMENT) {
    if (!lane_index(l, inst_operand(l->f, i, 2), &from)) return (struct ptx_reg){0};
    undefined = lane != from && value_is_undefined(l, a); /* any register of the class */
    if (lane == from || undefined) source = b;
    from = lane == from || undefined ? 0 : lane;
  } else {
    uint64_t lanes = lane_count(l, value_type(l->f, a));
    struct nvm_value at = const_element(l->module, inst_operand(l->f, i, 2), lane);
    if (!lane_index(l, at, &from)) from = 0;
    if (from >= lanes) source = b;
    if (from >= lanes) from -= lanes;
  }
  const struct ptx_reg *held = from == UINT64_MAX ? NULL : held_lanes(l, source);
  return held ? held[from * each + k % each] : (struct ptx_reg){0};
}

bool lane_share(struct lower *l, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(l->f, id);
  if (l->inst_regs[id.index]) return false;
  struct part_list parts = part_list(l, i->type);
  uint32_t each = part_list(l, type_scalar(&l->module->types, i->type)).count; /* 0: no memory */
  uint32_t first = l->regs.count;
  if (parts.count == 0 || each == 0 || part_is_packed_type(l, i->type)) return false;
  for (uint32_t k = 0; k < parts.count; k++) {
    struct ptx_reg r = held_part(l, i, k, each);
    if (ptx_reg_is_none(r) || ptx_reg_class(r) != part_class(part_at(parts, k)) ||
        !VEC_PUSH(&l->function_arena, &l->regs, r)) {
      l->regs.count = first;
      return false;
    }
  }
  l->inst_regs[id.index] = first;
  return true;
}
