/* What one lane computes: floating point. Everything is computed by ir/evalfloat.h but the most
 * frequent f32 and f64 operations, which the host's arithmetic does (the launch sets its default
 * environment): the results are the same, as the unit test checks.
 *
 * Model of the approximate instructions: the correctly rounded result; sin, cos, lg2, ex2, tanh and
 * rsqrt in double (special.c), then rounded. */
#include "ir/evalfloat.h"
#include "sim/machine/number.h"
#include "sim/ptx/scalar.h"

/* --- round to nearest, on the host ------------------------------------------------------------ */

LANE_RESULT(add_f32, number_of_float(number_float(a) + number_float(b)))
LANE_RESULT(sub_f32, number_of_float(number_float(a) - number_float(b)))
LANE_RESULT(mul_f32, number_of_float(number_float(a) * number_float(b)))
LANE_RESULT(div_f32, number_of_float(number_float(a) / number_float(b)))
LANE_RESULT(fma_f32,
            number_of_float(special_fmaf(number_float(a), number_float(b), number_float(c))))
LANE_RESULT(add_f64, number_of_double(special_double(a) + special_double(b)))
LANE_RESULT(sub_f64, number_of_double(special_double(a) - special_double(b)))
LANE_RESULT(mul_f64, number_of_double(special_double(a) * special_double(b)))
LANE_RESULT(div_f64, number_of_double(special_double(a) / special_double(b)))

/* --- any format, rounding and modifier -------------------------------------------------------- */

#define FORMAT ((enum float_format)in->format)
#define ROUNDING ((enum evalfloat_rounding)in->rounding)
#define INPUT(x) evalfloat_input(FORMAT, in->flags, x)
#define OUTPUT(r) evalfloat_output(FORMAT, in->flags, r)

#define BINARY(name) \
  LANE_RESULT(any_##name, OUTPUT(evalfloat_##name(FORMAT, ROUNDING, INPUT(a), INPUT(b))))
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
LANE_RESULT(any_fma, OUTPUT(evalfloat_fma(FORMAT, ROUNDING, INPUT(a), INPUT(b), INPUT(c))))
LANE_RESULT(any_rcp, OUTPUT(evalfloat_div(FORMAT, ROUNDING, evalfloat_one(FORMAT), INPUT(a))))
LANE_RESULT(any_sqrt, OUTPUT(evalfloat_sqrt(FORMAT, ROUNDING, INPUT(a))))
LANE_RESULT(any_neg, INPUT(a) ^ evalfloat_sign(FORMAT))
LANE_RESULT(any_abs, INPUT(a) & ~evalfloat_sign(FORMAT))
/* The sign of a, the magnitude of b. */
LANE_RESULT(any_copysign, (a & evalfloat_sign(FORMAT)) | (b & ~evalfloat_sign(FORMAT)))
LANE_RESULT(any_min, evalfloat_extreme(FORMAT, in->flags, false, INPUT(a), INPUT(b)))
LANE_RESULT(any_max, evalfloat_extreme(FORMAT, in->flags, true, INPUT(a), INPUT(b)))
LANE_RESULT(any_min3, evalfloat_extreme(FORMAT, in->flags, false, any_min(in, a, b, 0), INPUT(c)))
LANE_RESULT(any_max3, evalfloat_extreme(FORMAT, in->flags, true, any_max(in, a, b, 0), INPUT(c)))

/* --- special functions ------------------------------------------------------------------------ */

static double reciprocal_root(double x) {
  uint64_t root = evalfloat_sqrt(FLOAT_DOUBLE, EVALFLOAT_NEAREST, number_of_double(x));
  return 1 / special_double(root);
}
#define APPROXIMATE(name, function) \
  LANE_RESULT(approximate_##name,   \
              OUTPUT(number_from_double(FORMAT, function(number_to_double(FORMAT, INPUT(a))))))
APPROXIMATE(sin, special_sin)
APPROXIMATE(cos, special_cos)
APPROXIMATE(lg2, special_log2)
APPROXIMATE(ex2, special_exp2)
APPROXIMATE(tanh, special_tanh)
APPROXIMATE(rsqrt, reciprocal_root)

/* --- choice ----------------------------------------------------------------------------------- */

lane_fn *scalar_float_host(const struct sim *s, enum ptx_op op, enum float_format format) {
  bool single = format == FLOAT_SINGLE;
  if (!s->host_is_ieee || format < FLOAT_SINGLE) return NULL;
  switch ((int)op) {
    case PTX_ADD: return single ? add_f32 : add_f64;
    case PTX_SUB: return single ? sub_f32 : sub_f64;
    case PTX_MUL: return single ? mul_f32 : mul_f64;
    case PTX_DIV: return single ? div_f32 : div_f64;
    case PTX_FMA:
    case PTX_MAD: return single ? fma_f32 : NULL;
    default: return NULL;
  }
}

lane_fn *scalar_float(const struct decoder *d, enum ptx_op op) {
  const struct inst *in = d->in;
  bool three = decoder_has(d, 3), is_plain = in->flags == 0 && in->rounding == EVALFLOAT_NEAREST;
  lane_fn *host = is_plain ? scalar_float_host(d->sim, op, FORMAT) : NULL;
  if (host) return host;
  switch ((int)op) {
    case PTX_ADD: return any_add;
    case PTX_SUB: return any_sub;
    case PTX_MUL: return any_mul;
    case PTX_DIV: return any_div;
    case PTX_FMA:
    case PTX_MAD: return any_fma;
    case PTX_RCP: return any_rcp;
    case PTX_SQRT: return any_sqrt;
    case PTX_RSQRT: return approximate_rsqrt;
    case PTX_SIN: return approximate_sin;
    case PTX_COS: return approximate_cos;
    case PTX_LG2: return approximate_lg2;
    case PTX_EX2: return approximate_ex2;
    case PTX_TANH: return approximate_tanh;
    case PTX_NEG: return any_neg;
    case PTX_ABS: return any_abs;
    case PTX_MIN: return three ? any_min3 : any_min;
    case PTX_MAX: return three ? any_max3 : any_max;
    case PTX_COPYSIGN: return any_copysign;
    default: return NULL;
  }
}

/* --- loops ------------------------------------------------------------------------------------ */

#define COMMON(F) F(add_f32) F(sub_f32) F(mul_f32) F(fma_f32) F(add_f64) F(sub_f64) F(mul_f64)
COMMON(SCALAR_LOOP)

inst_run *scalar_float_loop(lane_fn *fn) {
  COMMON(SCALAR_LOOP_CASE)
  return NULL;
}
