/* The parts of types, computed once for each type of the module. */
#include "codegen/lane.h"
#include "codegen/report.h"

const struct part part_i16 = {.kind = PART_INT, .bits = 16, .container = 16};
const struct part part_i32 = {.kind = PART_INT, .bits = 32, .container = 32};
const struct part part_i64 = {.kind = PART_INT, .bits = 64, .container = 64};
const struct part part_f32 = {.kind = PART_FLOAT, .bits = 32, .container = 32};

/* Whether two of these share a register; *kind is the pair. */
static bool is_pair_element(const struct type_table *t, struct nvm_type e, enum part_kind *kind) {
  switch (type_kind(t, e)) {
    case TY_HALF: *kind = PART_PAIR_HALF; return tgt_pair_fills_register(TGT_HALF, 16);
    case TY_BFLOAT: *kind = PART_PAIR_BFLOAT; return tgt_pair_fills_register(TGT_BFLOAT, 16);
    case TY_INT:
      *kind = PART_PAIR_I16;
      return tgt_pair_fills_register(TGT_INTEGER, type_info(t, e)->width);
    default: return false;
  }
}

static bool push_part(struct lower *l, struct part p) {
  return l->new_parts.count < PART_MAX && VEC_PUSH(&l->arena, &l->new_parts, p);
}

/* An integer, in the register that the target promotes it to, or in two halves. */
static bool push_int(struct lower *l, uint32_t bits, bool is_pointer, uint64_t offset) {
  uint32_t at = (uint32_t)offset, container = bits;
  enum tgt_action action;
  while ((action = tgt_type_action(l->target, TGT_INTEGER, container, 1)) == TGT_PROMOTE)
    for (container++; (container & (container - 1)) != 0;)
      container++; /* to the next power of two */
  if (action == TGT_LEGAL)
    return push_part(l, (struct part){bits == 1 ? PART_I1 : PART_INT, (uint8_t)bits,
                                      (uint8_t)container, is_pointer, at});
  container /= 2;
  return push_part(l, (struct part){PART_INT, (uint8_t)container, (uint8_t)container, false, at}) &&
         push_part(l, (struct part){PART_INT, (uint8_t)(bits - container), (uint8_t)container,
                                    false, at + container / 8});
}

static bool push_type(struct lower *l, struct nvm_type type, uint64_t offset);

/* Lanes of i1 are packed by bits; memory.c handles such vectors, whose part offsets have no
 * meaning. */
static bool push_elements(struct lower *l, struct nvm_type type, uint64_t offset) {
  const struct type_table *t = &l->module->types;
  struct nvm_type element = type_info(t, type)->element;
  uint64_t count = type_info(t, type)->count;
  uint64_t step = layout_element_offset(&l->module->layout, t, type, 1);
  bool is_vector = type_is_vector(t, type);
  enum part_kind kind;
  if (is_vector && count % 2 == 0 && is_pair_element(t, element, &kind)) {
    for (uint64_t i = 0; i < count; i += 2)
      if (!push_part(l, (struct part){(uint8_t)kind, 32, 32, false, (uint32_t)(offset + i * 2)}))
        return false;
    return true;
  }
  for (uint64_t i = 0; i < count && (step != 0 || is_vector); i++)
    if (!push_type(l, element, offset + i * step)) return false;
  return true;
}

static bool push_type(struct lower *l, struct nvm_type type, uint64_t offset) {
  if (offset > UINT32_MAX) return false;
  const struct type_table *t = &l->module->types;
  const struct type_info *info = type_info(t, type);
  switch ((enum type_kind)info->kind) {
    case TY_INT: return push_int(l, info->width, false, offset);
    case TY_PTR:
      return push_int(l, layout_pointer_bits(&l->module->layout, info->width), true, offset);
    case TY_HALF: return push_part(l, (struct part){PART_HALF, 16, 16, false, (uint32_t)offset});
    case TY_BFLOAT:
      return push_part(l, (struct part){PART_BFLOAT, 16, 16, false, (uint32_t)offset});
    case TY_FLOAT: return push_part(l, (struct part){PART_FLOAT, 32, 32, false, (uint32_t)offset});
    case TY_DOUBLE:
      return push_part(l, (struct part){PART_DOUBLE, 64, 64, false, (uint32_t)offset});
    case TY_VECTOR:
    case TY_ARRAY: return push_elements(l, type, offset);
    case TY_STRUCT:
      if (layout_alloc_size(&l->module->layout, t, type) == 0) return true;
      for (uint32_t i = 0; i < info->count; i++) {
        uint64_t at = layout_member_offset(&l->module->layout, t, type, i);
        if (!push_type(l, type_member(t, type, i), offset + at)) return false;
      }
      return true;
    case TY_NONE:
    case TY_VOID:
    case TY_LABEL:
    case TY_METADATA:
    case TY_TOKEN:
    case TY_FUNCTION:
    case TY_KIND_COUNT: return true;
  }
  return true;
}

/* No parts. Callers that do not check the count may read up to eight dummy parts. */
static struct part_list no_parts(void) {
#define SPARE \
  { .kind = PART_INT, .bits = 32, .container = 32 }
  static const struct part spare[] = {SPARE, SPARE, SPARE, SPARE, SPARE, SPARE, SPARE, SPARE};
#undef SPARE
  return (struct part_list){spare, 0};
}

struct part_list part_measure(struct lower *l, struct nvm_type type) {
  uint32_t wanted = l->module->types.infos.count;
  if (type.index >= l->type_parts.count) {
    if (!VEC_RESERVE(&l->arena, &l->type_parts, wanted)) return no_parts();
    l->type_parts.count = wanted; /* new entries are zero: not computed */
  }
  l->new_parts.count = 0;
  if (!push_type(l, type, 0)) {
    if (!l->too_large)
      report_refuse(l, "a first-class value of more than 65536 scalars", "pass it through memory");
    l->too_large = true;
    return no_parts();
  }
  struct part_list list = no_parts();
  size_t bytes = l->new_parts.count * sizeof *list.at;
  if (bytes != 0) {
    struct part *copy = arena_alloc(&l->arena, bytes);
    if (!copy) return no_parts();
    memcpy(copy, l->new_parts.data, bytes);
    list = (struct part_list){copy, l->new_parts.count};
  }
  l->type_parts.data[type.index] = list;
  return list;
}

struct part_range part_of_member(struct lower *l, struct nvm_type type, uint64_t index) {
  const struct type_table *t = &l->module->types;
  uint32_t count = part_list(l, type_element(t, type, index)).count, before = 0;
  if (type_kind(t, type) != TY_STRUCT) return (struct part_range){(uint32_t)index * count, count};
  for (uint32_t i = 0; i < index; i++) before += part_list(l, type_member(t, type, i)).count;
  return (struct part_range){before, count};
}

enum ptx_class part_class(const struct part *p) { return mod_class(part_move_mod(p)); }

uint16_t part_move_mod(const struct part *p) {
  return part_is_full(p) ? part_float_mod(p) : part_bits_mod(p);
}

uint16_t part_float_mod(const struct part *p) {
  switch ((enum part_kind)p->kind) {
    case PART_HALF: return PTX_MOD_F16;
    case PART_BFLOAT: return PTX_MOD_BF16;
    case PART_FLOAT: return PTX_MOD_F32;
    case PART_DOUBLE: return PTX_MOD_F64;
    case PART_PAIR_HALF: return PTX_MOD_F16X2;
    case PART_PAIR_BFLOAT: return PTX_MOD_BF16X2;
    case PART_I1:
    case PART_INT:
    case PART_PAIR_I16: break;
  }
  return PTX_MOD_NONE;
}

bool part_is_legal(const struct lower *l, const struct part *p) {
  bool is_pair = false;
  enum tgt_scalar scalar = TGT_INTEGER;
  switch ((enum part_kind)p->kind) {
    case PART_I1:
    case PART_INT: break;
    case PART_HALF: scalar = TGT_HALF; break;
    case PART_BFLOAT: scalar = TGT_BFLOAT; break;
    case PART_FLOAT: scalar = TGT_FLOAT; break;
    case PART_DOUBLE: scalar = TGT_DOUBLE; break;
    case PART_PAIR_I16: is_pair = true; break;
    case PART_PAIR_HALF: is_pair = true, scalar = TGT_HALF; break;
    case PART_PAIR_BFLOAT: is_pair = true, scalar = TGT_BFLOAT; break;
  }
  return tgt_type_action(l->target, scalar, is_pair ? 16 : p->container, is_pair ? 2 : 1) ==
         TGT_LEGAL;
}

bool part_is_packed_type(struct lower *l, struct nvm_type type) {
  struct part_list parts = part_list(l, type);
  return parts.count != 0 && type_is_vector(&l->module->types, type) &&
         part_is_pair(part_at(parts, 0));
}

uint32_t part_store_bytes(const struct part *p) { return (p->bits + 7u) / 8u; }
