#include "ir/gep.h"

uint64_t gep_step(struct gep_walk *w, struct nvm_value index, bool *is_member) {
  struct nvm_module *m = w->module;
  const struct type_table *t = &m->types;
  *is_member = w->inside && type_kind(t, w->type) == TY_STRUCT;
  if (!w->inside) {
    w->inside = true;
    return layout_alloc_size(&m->layout, t, w->type);
  }
  if (*is_member) {
    nvm_u128 value = 0;
    if (!const_is_int(m, index, &value)) const_is_int(m, const_element(m, index, 0), &value);
    uint64_t offset = layout_member_offset(&m->layout, t, w->type, (uint32_t)value);
    w->type = type_member(t, w->type, (uint32_t)value);
    return offset;
  }
  bool is_vector = type_is_vector(t, w->type);
  w->type = type_info(t, w->type)->element;
  return is_vector ? (layout_bits(&m->layout, t, w->type) + 7) / 8
                   : layout_alloc_size(&m->layout, t, w->type);
}

/* Of indices that are no constants, those whose stride is at least `size` count as 0. */
static bool offset_of(const struct nvm_function *f, const struct nvm_inst *gep, uint64_t size,
                      int64_t *offset) {
  struct nvm_module *m = f->module;
  struct gep_walk w = gep_begin(m, gep->aux);
  uint64_t sum = 0;
  for (uint32_t k = 1; k < gep->operand_count; k++) {
    struct nvm_value index = inst_operand(f, gep, k);
    nvm_u128 bits;
    bool is_member, is_constant = const_is_int(m, index, &bits);
    if (!is_constant && size == UINT64_MAX) return false;
    uint64_t step = gep_step(&w, index, &is_member);
    if (!is_constant && step < size) return false;
    if (step == 0 && !is_member && !type_is_sized(&m->types, w.type)) return false;
    if (is_constant) sum += is_member ? step : step * (uint64_t)const_int_signed(m, index);
  }
  *offset = (int64_t)sum;
  return true;
}

static bool is_small(int64_t offset) {
  const int64_t limit = INT64_C(1) << 40;
  return offset <= limit && offset >= -limit;
}

bool gep_constant_offset(const struct nvm_function *f, const struct nvm_inst *gep,
                         int64_t *offset) {
  return offset_of(f, gep, UINT64_MAX, offset);
}

bool gep_small_offset(const struct nvm_function *f, const struct nvm_inst *gep, int64_t *offset) {
  return gep_constant_offset(f, gep, offset) && is_small(*offset);
}

bool gep_offset_in_object(const struct nvm_function *f, const struct nvm_inst *gep, uint64_t size,
                          int64_t *offset) {
  bool is_exact = gep->flags & INST_INBOUNDS && size != 0;
  return offset_of(f, gep, is_exact ? size : UINT64_MAX, offset) && is_small(*offset);
}
