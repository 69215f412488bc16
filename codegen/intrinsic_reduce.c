/* llvm.vector.reduce.*: the lanes of a vector are joined in order, as the sequential forms of the
 * floating-point ones require. */
#include "codegen/intrinsic.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/value.h"

/* Joins the lanes of the call's last argument, starting with its first one, or with lane 0. */
static void reduce(struct lower *l, const struct nvm_inst *i, int argument, lane_lowering *join) {
  uint32_t last = call_arg_count(l->f, i) - 1;
  struct lanes start = lane_split(l, intrinsic_arg(l, i, 0)), v = start;
  if (last) v = lane_split(l, intrinsic_arg(l, i, last));
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
      next[j] = ptx_r(emit_new_reg(l, &p));
    }
    x.b = &v.at[k * v.parts_each];
    x.to = next;
    join(&x);
    memcpy(sum, next, sizeof sum);
    x.a = sum;
  }
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t j = 0; j < v.parts_each && x.a; j++) emit_copy(l, to[j], x.a[j]);
}

static void join_integers(const struct lane *x) {
  int_binary_bits(x->l, (enum op)x->argument, x->bits, &x->part, x->to, x->a, x->b);
}

static void join_floats(const struct lane *x) {
  float_part(x->l, (enum op)x->argument, x->inst->flags, &x->part, x->to[0].reg, x->a[0], x->b[0]);
}

static void join_by_minmax(const struct lane *x) {
  const struct ptx_operand v[3] = {x->a[0], x->b[0]};
  intrinsic_minmax_part(x->l, &x->part, x->to[0].reg, v, &intrinsic_minmax_kinds[x->argument]);
}

/* add, mul, and, or, xor: `argument` is the op. */
void intrinsic_lower_reduce(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, join_integers);
}

/* fadd, fmul: argument 0 of the call is the start. */
void intrinsic_lower_reduce_float(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, join_floats);
}

/* smin, smax, umin, umax: `argument` is the predicate under which the first operand is kept. */
void intrinsic_lower_reduce_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, intrinsic_lane_int_minmax);
}

void intrinsic_lower_reduce_float_minmax(struct lower *l, const struct nvm_inst *i, int argument) {
  reduce(l, i, argument, join_by_minmax);
}
