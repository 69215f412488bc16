/* What one lane computes: conversions (cvt). */
#include "ir/evalfloat.h"
#include "sim/machine/number.h"
#include "sim/ptx/scalar.h"

#define FORMAT ((enum float_format)in->format)
#define ROUNDING ((enum evalfloat_rounding)in->rounding)

/* --- integers --------------------------------------------------------------------------------- */

/* An integer of in->bits, as the destination register holds it. */
static uint64_t widen(const struct inst *in, uint64_t v) {
  if (in->is_signed) v = (uint64_t)evalint_sext(in->bits, v);
  else v = evalint_zext(in->bits, v);
  return evalint_zext(in->dest_bits, v);
}

LANE(int_to_int) {
  (void)b, (void)c;
  evalint_s128 v = in->is_signed2 ? (evalint_s128)evalint_sext(in->bits2, a)
                                  : (evalint_s128)evalint_zext(in->bits2, a);
  if (in->flags & FLAG_SAT)
    return widen(in, in->is_signed ? evalint_clamp_s(in->bits, v) : evalint_clamp_u(in->bits, v));
  return widen(in, (uint64_t)(evalint_u128)v);
}
LANE_RESULT(int_to_float,
            evalfloat_output(FORMAT, in->flags,
                             evalfloat_from_int(FORMAT, ROUNDING, in->bits2, in->is_signed2, a)))
LANE_RESULT(float_to_int, widen(in, evalfloat_to_int_ptx(FORMAT, ROUNDING, in->bits, in->is_signed,
                                                         evalfloat_input(FORMAT, in->flags, a))))

/* --- round to nearest, on the host ------------------------------------------------------------ */

LANE_RESULT(host_int_to_f32, number_of_float(in->is_signed2 ? (float)evalint_sext(in->bits2, a)
                                                            : (float)evalint_zext(in->bits2, a)))
LANE_RESULT(host_int_to_f64, number_of_double(in->is_signed2 ? (double)evalint_sext(in->bits2, a)
                                                             : (double)evalint_zext(in->bits2, a)))
/* C leaves the result of a value out of range open. */
LANE(host_f32_to_s32) {
  float x = number_float(a);
  return x > -0x1p31f && x < 0x1p31f ? (uint32_t)(int32_t)x : float_to_int(in, a, b, c);
}
LANE_RESULT(host_f32_to_f64, number_of_double(number_float(a)))
LANE_RESULT(host_f64_to_f32, number_of_float((float)special_double(a)))

/* --- floats ----------------------------------------------------------------------------------- */

/* The source's format is in `compare`; .ftz concerns single precision. */
LANE(float_to_float) {
  enum float_format from = (enum float_format)in->compare;
  unsigned flags = FORMAT == FLOAT_SINGLE ? in->flags : in->flags & ~(unsigned)FLAG_FTZ;
  (void)b, (void)c;
  if (from == FLOAT_SINGLE) a = evalfloat_input(from, in->flags, a);
  return evalfloat_output(FORMAT, flags, evalfloat_convert(from, FORMAT, ROUNDING, a));
}
LANE_RESULT(float_same, evalfloat_output(FORMAT, in->flags, evalfloat_input(FORMAT, in->flags, a)))
LANE_RESULT(float_integral,
            evalfloat_output(FORMAT, in->flags,
                             evalfloat_round(FORMAT, ROUNDING,
                                             evalfloat_input(FORMAT, in->flags, a))))
LANE_RESULT(two_floats, float_to_float(in, a, 0, 0) << 16 | float_to_float(in, b, 0, 0))
/* 8 exponent and 10 fraction bits, in the upper bits of 32. */
LANE(float_to_tf32) {
  (void)b, (void)c;
  if (evalfloat_is_nan(FLOAT_SINGLE, a)) return 0x7fffffff;
  if (evalfloat_is_infinite(FLOAT_SINGLE, a)) return a;
  uint64_t rest = a & 0x1fff, kept = a & ~UINT64_C(0x1fff);
  bool up = in->rounding == EVALFLOAT_AWAY      ? rest >= 0x1000
            : in->rounding == EVALFLOAT_NEAREST ? rest > 0x1000 || (rest == 0x1000 && kept & 0x2000)
                                                : false;
  return kept + (up ? 0x2000 : 0);
}

/* --- pairs of small floats; in->imm: their row (number.h), `compare`: the other format -------- */

static uint64_t small_of(const struct inst *in, uint64_t v) {
  double x = number_to_double((enum float_format)in->compare, v);
  if (in->flags & FLAG_RELU && in->imm != NUMBER_UE8M0 && x < 0) x = 0;
  return number_to_small((int)in->imm, x, ROUNDING, in->flags & FLAG_HIGH);
}
LANE_RESULT(two_floats_to_small,
            small_of(in, a) << number_small_width((int)in->imm) | small_of(in, b))
LANE_RESULT(halves_to_small, two_floats_to_small(in, a >> 16 & 0xffff, a & 0xffff, 0))
static uint64_t half_of(const struct inst *in, uint64_t v) {
  uint64_t r = number_from_double(FORMAT, number_from_small((int)in->imm, v));
  return evalfloat_output(FORMAT, in->flags & FLAG_RELU, r);
}
LANE(small_to_halves) {
  unsigned width = number_small_width((int)in->imm);
  (void)b, (void)c;
  return half_of(in, a >> width & evalint_mask(width)) << 16 | half_of(in, a & evalint_mask(width));
}

/* Whether the type is a pair of small floats; then in->imm is set. */
static bool is_small(struct inst *in, uint16_t type) {
  int small = number_small(type);
  if (small != NUMBER_NOT_SMALL) in->imm = small;
  return small != NUMBER_NOT_SMALL;
}

/* --- choice ----------------------------------------------------------------------------------- */

lane_fn *scalar_convert_host(const struct sim *s, enum float_format to, enum float_format from) {
  if (!s->host_is_ieee || to == from || to < FLOAT_SINGLE || from < FLOAT_SINGLE) return NULL;
  return to == FLOAT_SINGLE ? host_f64_to_f32 : host_f32_to_f64;
}

lane_fn *scalar_convert_host_from_int(const struct sim *s, enum float_format to) {
  if (!s->host_is_ieee || to < FLOAT_SINGLE) return NULL;
  return to == FLOAT_SINGLE ? host_int_to_f32 : host_int_to_f64;
}

static lane_fn *between_floats(struct decoder *d, uint16_t to, uint16_t from) {
  struct inst *in = d->in;
  in->format = (uint8_t)number_format(to);
  in->compare = (uint8_t)number_format(from);
  if (d->words.satfinite) in->flags |= FLAG_HIGH;
  if (to == PTX_MOD_TF32) return float_to_tf32;
  if (is_small(in, to)) return from == PTX_MOD_F32 ? two_floats_to_small : halves_to_small;
  if (is_small(in, from)) return small_to_halves;
  if (ptx_mod_row(to)->kind == 'x')
    return (to == PTX_MOD_F16X2 || to == PTX_MOD_BF16X2) && from == PTX_MOD_F32 ? two_floats : NULL;
  if (ptx_mod_row(from)->kind == 'x') return NULL;
  lane_fn *host = in->flags == 0 && in->rounding == EVALFLOAT_NEAREST
                      ? scalar_convert_host(d->sim, number_format(to), number_format(from))
                      : NULL;
  if (to != from) return host ? host : float_to_float;
  return d->words.integral ? float_integral : float_same;
}

lane_fn *scalar_convert(struct decoder *d) {
  struct inst *in = d->in;
  uint16_t to = d->words.type[0], from = d->words.type[1];
  if (d->words.type_count != 2 || d->words.mode == PTX_MOD_PACK || d->words.mode == PTX_MOD_RS)
    return NULL;
  const struct ptx_mod_row *t = ptx_mod_row(to), *f = ptx_mod_row(from);
  bool to_float = t->kind == 'f' || t->kind == 'x', from_float = f->kind == 'f' || f->kind == 'x';
  in->bits = (uint8_t)t->bits;
  in->bits2 = (uint8_t)f->bits;
  in->is_signed = t->kind == 's';
  in->is_signed2 = f->kind == 's';
  if (to_float && from_float) return between_floats(d, to, from);
  in->format = (uint8_t)number_format(to_float ? to : from);
  bool nearest = in->flags == 0 && in->rounding == EVALFLOAT_NEAREST;
  lane_fn *host =
      to_float && nearest ? scalar_convert_host_from_int(d->sim, number_format(to)) : NULL;
  if (to_float) return host ? host : int_to_float;
  if (from == PTX_MOD_F32 && to == PTX_MOD_S32 && in->dest_bits == 32 && in->flags == 0 &&
      in->rounding == EVALFLOAT_ZERO)
    return host_f32_to_s32;
  return from_float ? float_to_int : int_to_int;
}

#define COMMON(F) F(int_to_int)
COMMON(SCALAR_LOOP)

inst_run *scalar_convert_loop(lane_fn *fn) {
  COMMON(SCALAR_LOOP_CASE)
  return NULL;
}
