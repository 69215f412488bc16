/* Values of IR in rows; see ir_decoder.h. */
#include "sim/ir/ir_decoder.h"

static struct ir_value no_value(struct ir_decoder *d, const char *why) {
  static const struct ir_scalar none = {0, NO_ROW, {0}};
  d->bad = why;
  return (struct ir_value){&none, 1};
}

static const char too_large[] = "has a value with too many elements";

static struct ir_scalar *new_scalars(struct ir_decoder *d, struct nvm_type type, uint32_t *count) {
  const struct ir_shape *shape = ir_shape_of(d->d.sim, type);
  struct ir_scalar *s = shape ? decoder_alloc(&d->d, (shape->count + 1) * sizeof *s) : NULL;
  for (uint32_t i = 0; s && i < shape->count; i++)
    s[i] = (struct ir_scalar){0, NO_ROW, shape->pieces[i].type};
  if (s) *count = shape->count;
  return s;
}

struct ir_value ir_value_new(struct ir_decoder *d, struct nvm_type type) {
  uint32_t count;
  struct ir_scalar *s = new_scalars(d, type, &count);
  if (!s) return no_value(d, too_large);
  for (uint32_t i = 0; i < count; i++) {
    s[i].low = d->d.func->rows++;
    if (type_scalar_bits(&d->m->types, s[i].type) > 64) s[i].high = d->d.func->rows++;
  }
  return (struct ir_value){s, count};
}

struct ir_scalar ir_value_scalar(struct ir_decoder *d, struct nvm_type type, struct eval_lane v) {
  struct ir_scalar s = {decoder_constant(&d->d, (uint64_t)v.bits), NO_ROW, type};
  if (type_scalar_bits(&d->m->types, type) > 64)
    s.high = decoder_constant(&d->d, (uint64_t)(v.bits >> 64));
  if (!v.poison) return s;
  d->uses_poison = true;
  s.low = d->poison_row;
  return s;
}

static struct ir_value constant_value(struct ir_decoder *d, struct nvm_value v) {
  uint32_t count;
  struct ir_scalar *s = new_scalars(d, value_type(d->f, v), &count);
  struct eval_lane *lanes = s ? decoder_alloc(&d->d, (count + 1) * sizeof *lanes) : NULL;
  if (!lanes) return no_value(d, too_large);
  if (!ir_constant(d->d.sim, v, lanes, count))
    return no_value(d, "has a constant that cannot be evaluated");
  for (uint32_t i = 0; i < count; i++) s[i] = ir_value_scalar(d, s[i].type, lanes[i]);
  return (struct ir_value){s, count};
}

struct ir_value ir_value_number(struct ir_decoder *d, struct nvm_type type, nvm_u128 number) {
  struct ir_scalar *s = decoder_alloc(&d->d, sizeof *s);
  if (!s) return no_value(d, too_large);
  *s = ir_value_scalar(d, ir_shape_number_type(d->m, type), (struct eval_lane){number, false});
  return (struct ir_value){s, 1};
}

static struct ir_value value_rows(struct ir_decoder *d, struct ir_value *at, struct nvm_type type) {
  if (!at->scalars) {
    struct ir_value v = ir_value_new(d, type);
    if (d->bad) return v;
    *at = v;
  }
  return *at;
}

struct ir_value ir_value_of(struct ir_decoder *d, struct nvm_value v) {
  uint32_t i = value_index(v);
  if (value_kind(v) == VALUE_INST) return value_rows(d, &d->values[i], d->f->insts.data[i].type);
  if (value_kind(v) == VALUE_ARG)
    return value_rows(d, &d->arguments[i], function_arg_type(d->f, i));
  return constant_value(d, v);
}

struct ir_value ir_value_operand(struct ir_decoder *d, uint32_t k) {
  return ir_value_of(d, inst_operand(d->f, &d->i, k));
}
struct ir_value ir_value_result(struct ir_decoder *d) {
  return ir_value_of(d, value_of_inst(d->id));
}

struct nvm_type ir_value_operand_type(const struct ir_decoder *d, uint32_t k) {
  return value_type(d->f, inst_operand(d->f, &d->i, k));
}

uint32_t ir_value_scalars(struct ir_decoder *d, struct nvm_type type) {
  const struct ir_shape *s = ir_shape_of(d->d.sim, type);
  return s ? s->count : 0;
}

uint32_t ir_value_space(const struct ir_decoder *d, struct nvm_type type) {
  return type_info(&d->m->types, type_scalar(&d->m->types, type))->width;
}

uint8_t ir_value_window(const struct ir_decoder *d, uint32_t k) {
  return (uint8_t)ir_address_window(ir_value_space(d, ir_value_operand_type(d, k)));
}

void ir_value_add_slot(struct ir_decoder *d, struct ir_slots *s, struct slot slot) {
  if (!VEC_PUSH(&d->d.sim->arena, s, slot)) d->d.failed = true;
}

void ir_value_add_slots(struct ir_decoder *d, struct ir_slots *s, struct ir_value v) {
  for (uint32_t i = 0; i < v.count; i++) {
    ir_value_add_slot(d, s, (struct slot){.is_reg = true, .row = v.scalars[i].low, .bits = 64});
    if (v.scalars[i].high != NO_ROW)
      ir_value_add_slot(d, s, (struct slot){.is_reg = true, .row = v.scalars[i].high, .bits = 64});
  }
}
