/* llvm.vector.reduce.*: the lanes of a vector joined into one value, in order, as the sequential
 * form of the floating-point ones demands. */
#include "codegen/intrinsic.h"

/* A running value of one scalar type: one or two registers. */
struct running {
  struct ptx_operand at[2];
};

static struct running fresh(struct lower *l, const struct lanes *v) {
  struct running r = {{{0}}};
  for (uint32_t j = 0; j < v->parts_each && j < 2; j++) {
    struct part p = intrinsic_part(l, v->scalar, j);
    r.at[j] = ptx_r(lower_new_reg(l, &p));
  }
  return r;
}

static struct running lane(const struct lanes *v, uint32_t k) {
  struct running r = {{{0}}};
  for (uint32_t j = 0; j < v->parts_each && j < 2; j++) r.at[j] = v->at[k * v->parts_each + j];
  return r;
}

static void set_result(struct lower *l, const struct lanes *v, const struct running *r) {
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t j = 0; j < v->parts_each && j < 2; j++) lower_copy(l, to[j], r->at[j]);
}

/* add, mul, and, or, xor: `argument` is the op. */
void lower_i_reduce(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  struct part p = intrinsic_part(l, v.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, v.scalar);
  struct running sum = lane(&v, 0);
  for (uint32_t k = 1; k < v.count; k++) {
    struct running next = fresh(l, &v), x = lane(&v, k);
    if (v.parts_each == 2)
      lower_wide_binary(l, (enum op)argument, bits,
                        (struct ptx_reg[]){next.at[0].reg, next.at[1].reg}, sum.at, x.at);
    else lower_binary_part(l, (enum op)argument, 0, &p, next.at[0].reg, sum.at[0], x.at[0]);
    sum = next;
  }
  set_result(l, &v, &sum);
}

/* fadd, fmul: starts with argument 0 of the call. */
void lower_i_reduce_float(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes start = lower_split(l, intrinsic_arg(l, i, 0)),
               v = lower_split(l, intrinsic_arg(l, i, 1));
  struct part p = intrinsic_part(l, v.scalar, 0);
  struct running sum = lane(&start, 0);
  for (uint32_t k = 0; k < v.count; k++) {
    struct running next = fresh(l, &v);
    lower_float_part(l, (enum op)argument, i->flags, &p, next.at[0].reg, sum.at[0], v.at[k]);
    sum = next;
  }
  set_result(l, &v, &sum);
}

/* smin, smax, umin, umax: `argument` is the predicate under which the first operand is kept. */
void lower_i_reduce_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  struct part p = intrinsic_part(l, v.scalar, 0);
  uint32_t bits = intrinsic_int_bits(l, v.scalar);
  struct running best = lane(&v, 0);
  for (uint32_t k = 1; k < v.count; k++) {
    struct running next = fresh(l, &v), x = lane(&v, k);
    intrinsic_int_minmax_lane(l, (enum icmp_predicate)argument, bits, &p, best.at, x.at, next.at);
    best = next;
  }
  set_result(l, &v, &best);
}

/* fmin, fmax, fminimum, fmaximum: 0 to 3. */
void lower_i_reduce_float_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  struct lanes v = lower_split(l, intrinsic_arg(l, i, 0));
  struct part p = intrinsic_part(l, v.scalar, 0);
  struct running best = lane(&v, 0);
  for (uint32_t k = 1; k < v.count; k++) {
    struct running next = fresh(l, &v);
    intrinsic_float_minmax_lane(l, argument & 1 ? PTX_MAX : PTX_MIN, argument >= 2, &p,
                                next.at[0].reg, best.at[0], v.at[k]);
    best = next;
  }
  set_result(l, &v, &best);
}
