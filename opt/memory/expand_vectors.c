/* Intrinsics that move lanes, of fixed vectors: each lane of the result is one of an operand.
 * expand_masked.c calls this. Where the index is no constant, or a vector is scalable, code
 * generation refuses the call. */
#include "opt/memory/expand_masked.h"

#include "ir/build.h"

static uint32_t lanes_of(const struct nvm_function *f, struct nvm_type type) {
  const struct type_table *t = &f->module->types;
  return type_is_vector(t, type) ? (uint32_t)type_info(t, type)->count : 0;
}

/* Copies `count` lanes of `from`, every `step`-th one from `first` on, to every `stride`-th lane of
 * `to` from `at` on. Lanes beyond the end of either are left as they are. */
struct lane_copy {
  struct nvm_value from;
  uint32_t first, step, at, stride, count;
};

static struct nvm_value copy_lanes(const struct builder *b, struct nvm_value to,
                                   struct lane_copy c) {
  uint32_t from_count = lanes_of(b->f, value_type(b->f, c.from)),
           to_count = lanes_of(b->f, value_type(b->f, to));
  for (uint32_t k = 0; k < c.count && !value_is_none(to); k++) {
    uint64_t source = c.first + (uint64_t)k * c.step, target = c.at + (uint64_t)k * c.stride;
    if (source >= from_count || target >= to_count) break;
    to = builder_insert_lane(b, to, builder_extract_lane(b, c.from, (uint32_t)source),
                             (uint32_t)target);
  }
  return to;
}

static struct nvm_value reversed(const struct builder *b, struct nvm_value to, struct nvm_value v) {
  uint32_t count = lanes_of(b->f, value_type(b->f, v));
  for (uint32_t k = 0; k < count && !value_is_none(to); k++)
    to = builder_insert_lane(b, to, builder_extract_lane(b, v, count - 1 - k), k);
  return to;
}

/* 0, 1, 2 …; a number that the type does not have is poison, for which any will do. */
static struct nvm_value stepped(struct nvm_module *m, struct nvm_type type) {
  uint32_t count = (uint32_t)type_info(&m->types, type)->count;
  struct nvm_value *lanes = arena_alloc(&m->arena, count * sizeof *lanes);
  for (uint32_t k = 0; lanes && k < count; k++)
    lanes[k] = const_int(m, type_scalar(&m->types, type), k);
  return lanes ? const_aggregate(m, type, lanes, count) : VALUE_NULL;
}

/* The even lanes and the odd ones, as members of a structure. */
static struct nvm_value deinterleaved(const struct builder *b, struct nvm_type type,
                                      struct nvm_value v) {
  struct nvm_module *m = b->f->module;
  struct nvm_value whole = const_poison(m, type);
  uint32_t half = lanes_of(b->f, value_type(b->f, v)) / 2;
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_value lanes = copy_lanes(b, const_poison(m, type_member(&m->types, type, k)),
                                        (struct lane_copy){v, k, 2, 0, 1, half});
    struct nvm_value operands[] = {whole, lanes, const_int(m, TYPE_I32, k)};
    if (value_is_none(lanes)) return lanes;
    whole = builder_add(b, OP_INSERTVALUE, 0, type, operands, 3, 0);
  }
  return whole;
}

/* The last lanes of the first vector, from `first` on, and then those of the second. */
static struct nvm_value spliced(const struct builder *b, struct nvm_value to, struct nvm_value v,
                                struct nvm_value after, int64_t first) {
  int64_t count = lanes_of(b->f, value_type(b->f, v));
  if (first < 0 || first > count) return to;
  uint32_t left = (uint32_t)(count - first);
  to = copy_lanes(b, to, (struct lane_copy){v, (uint32_t)first, 1, 0, 1, left});
  return value_is_none(to)
             ? to
             : copy_lanes(b, to, (struct lane_copy){after, 0, 1, left, 1, (uint32_t)first});
}

bool expand_vector_is_known(uint32_t intrinsic) {
  switch (intrinsic) {
    case INTRINSIC_stepvector:
    case INTRINSIC_experimental_stepvector:
    case INTRINSIC_vector_insert:
    case INTRINSIC_vector_extract:
    case INTRINSIC_vector_reverse:
    case INTRINSIC_experimental_vector_reverse:
    case INTRINSIC_vector_splice:
    case INTRINSIC_vector_splice_left:
    case INTRINSIC_vector_splice_right:
    case INTRINSIC_experimental_vector_splice:
    case INTRINSIC_vector_interleave2:
    case INTRINSIC_vector_deinterleave2: return true;
    default: return false;
  }
}

/* Whether each operand and the result are of the types that the intrinsic has, and short. */
static bool is_well_formed(const struct nvm_function *f, const struct nvm_inst *i,
                           uint32_t intrinsic, int64_t *index) {
  const struct type_table *t = &f->module->types;
  uint32_t arguments = call_arg_count(f, i);
  struct nvm_type first = arguments ? value_type(f, inst_operand(f, i, 0)) : i->type,
                  second = arguments > 1 ? value_type(f, inst_operand(f, i, 1)) : first;
  nvm_u128 bits;
  uint32_t at = intrinsic == INTRINSIC_vector_extract ? 1 : 2;
  bool is_step =
      intrinsic == INTRINSIC_stepvector || intrinsic == INTRINSIC_experimental_stepvector;
  if (lanes_of(f, first) == 0 || (!is_step && (lanes_of(f, first) > EXPAND_MAX_LANES ||
                                               lanes_of(f, i->type) > EXPAND_MAX_LANES)))
    return false;
  if (arguments > at) {
    if (arguments != at + 1 || !const_is_int(f->module, inst_operand(f, i, at), &bits))
      return false;
    *index = const_int_signed(f->module, inst_operand(f, i, at));
  }
  switch (intrinsic) {
    case INTRINSIC_stepvector:
    case INTRINSIC_experimental_stepvector:
      return arguments == 0 && type_is_int(t, type_scalar(t, first));
    case INTRINSIC_vector_insert:
      return arguments == 3 && *index >= 0 && type_equal(first, i->type) &&
             type_is_vector(t, second) && type_equal(type_scalar(t, first), type_scalar(t, second));
    case INTRINSIC_vector_extract:
      return arguments == 2 && *index >= 0 && type_is_vector(t, i->type) &&
             type_equal(type_scalar(t, first), type_scalar(t, i->type));
    case INTRINSIC_vector_interleave2:
      return arguments == 2 && type_equal(first, second) &&
             lanes_of(f, i->type) == 2 * lanes_of(f, first) &&
             type_equal(type_scalar(t, first), type_scalar(t, i->type));
    case INTRINSIC_vector_deinterleave2:
      return arguments == 1 && type_kind(t, i->type) == TY_STRUCT &&
             type_info(t, i->type)->count == 2 &&
             type_equal(type_member(t, i->type, 0), type_member(t, i->type, 1)) &&
             2 * lanes_of(f, type_member(t, i->type, 0)) == lanes_of(f, first) &&
             type_equal(type_scalar(t, type_member(t, i->type, 0)), type_scalar(t, first));
    case INTRINSIC_vector_splice:
    case INTRINSIC_vector_splice_left:
    case INTRINSIC_vector_splice_right:
    case INTRINSIC_experimental_vector_splice:
      return arguments == 3 && type_equal(first, second) && type_equal(first, i->type);
    default: return arguments == 1 && type_equal(first, i->type);
  }
}

struct nvm_value expand_vector(struct nvm_function *f, struct nvm_inst_id call,
                               uint32_t intrinsic) {
  const struct nvm_inst *i = function_inst(f, call);
  int64_t index = 0;
  if (!is_well_formed(f, i, intrinsic, &index)) return VALUE_NULL;
  struct builder b = builder_replacing(f, call);
  struct nvm_type type = i->type;
  uint32_t arguments = call_arg_count(f, i);
  struct nvm_value x = arguments ? inst_operand(f, i, 0) : VALUE_NULL,
                   y = arguments > 1 ? inst_operand(f, i, 1) : x,
                   none = const_poison(f->module, type);
  uint32_t count = arguments ? lanes_of(f, value_type(f, x)) : 0,
           at = index < UINT16_MAX ? (uint32_t)index : UINT16_MAX;
  switch (intrinsic) {
    case INTRINSIC_stepvector:
    case INTRINSIC_experimental_stepvector: return stepped(f->module, type);
    case INTRINSIC_vector_insert:
      return copy_lanes(&b, x, (struct lane_copy){y, 0, 1, at, 1, lanes_of(f, value_type(f, y))});
    case INTRINSIC_vector_extract:
      return copy_lanes(&b, none, (struct lane_copy){x, at, 1, 0, 1, lanes_of(f, type)});
    case INTRINSIC_vector_interleave2:
      none = copy_lanes(&b, none, (struct lane_copy){x, 0, 1, 0, 2, count});
      return value_is_none(none) ? none
                                 : copy_lanes(&b, none, (struct lane_copy){y, 0, 1, 1, 2, count});
    case INTRINSIC_vector_deinterleave2: return deinterleaved(&b, type, x);
    case INTRINSIC_vector_splice:
    case INTRINSIC_experimental_vector_splice: /* below 0: so many lanes before the end */
      return spliced(&b, none, x, y, index < 0 ? index + count : index);
    case INTRINSIC_vector_splice_left: return spliced(&b, none, x, y, index);
    case INTRINSIC_vector_splice_right: return spliced(&b, none, x, y, (int64_t)count - index);
    default: return reversed(&b, none, x);
  }
}
