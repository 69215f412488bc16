/* llvm.vector.reduce.*: the lanes of a vector joined into one value, in order, as the sequential
 * form of the floating-point ones demands. */
#include "codegen/intrinsic.h"

/* Over the lanes of the call's last argument; a first one is where it starts. `join` joins what
 * there is so far and the next lane. */
static void reduce(struct lower *l, const struct nvm_inst *i, int argument, lane_lowering *join) {
  uint32_t last = call_arg_count(l->f, i) - 1;
  struct lanes start = lower_split(l, intrinsic_arg(l, i, 0)), v = start;
  if (last) v = lower_split(l, intrinsic_arg(l, i, last));
  struct lane x = {.l = l,
                   .inst = i,
                   .argument = argument,
                   .part = intrinsic_part(l, v.scalar, 0),
                   .bits = intrinsic_int_bits(l, v.scalar),
                   .a = start.at};
  struct ptx_operand sum[2], next[2] = {{0}};
  for (uint32_t k = last ? 0 : 1; k < v.count; k++) {
    for (uint32_t j = 0; j < v.parts_each; j++) {
      struct part p = intrinsic_part(l, v.scalar, j);
      next[j] = ptx_r(lower_new_reg(l, &p));
    }
    x.b = &v.at[k * v.parts_each];
    x.to = next;
    join(&x);
    memcpy(sum, next, sizeof sum);
    x.a = sum;
  }
  const struct ptx_reg *to = lower_result(l, l->inst);
  for (uint32_t j = 0; j < v.parts_each && x.a; j++) lower_copy(l, to[j], x.a[j]);
}

/* add, mul, and, or, xor: `argument` is the op. */
static void join_integers(const struct lane *x) {
  lower_binary_bits(x->l, (enum op)x->argument, x->bits, &x->part, x->to, x->a, x->b);
}

void intrinsic_lower_reduce(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, join_integers);
}

/* fadd, fmul: starts with argument 0 of the call. */
static void join_floats(const struct lane *x) {
  lower_float_part(x->l, (enum op)x->argument, x->inst->flags, &x->part, x->to[0].reg, x->a[0],
                   x->b[0]);
}

void intrinsic_lower_reduce_float(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, join_floats);
}

/* smin, smax, umin, umax: `argument` is the predicate under which the first operand is kept. */
static void least_integer(const struct lane *x) {
  intrinsic_int_minmax(x->l, (enum icmp_predicate)x->argument, x->bits, &x->part, x->a, x->b,
                       x->to);
}

void intrinsic_lower_reduce_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, least_integer);
}

/* fmin, fmax, fminimum, fmaximum: 0 to 3. */
static void least_float(const struct lane *x) {
  const struct float_minmax how = {x->argument & 1 ? PTX_MAX : PTX_MIN, x->argument >= 2};
  const struct ptx_operand v[3] = {x->a[0], x->b[0]};
  intrinsic_minmax_part(x->l, &x->part, x->to[0].reg, v, &how);
}

void intrinsic_lower_reduce_float_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, least_float);
}
