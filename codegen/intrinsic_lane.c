/* Shared by the handlers of intrinsics: arguments of calls, and iteration over lanes. */
#include "codegen/intrinsic.h"
#include "codegen/lane.h"
#include "codegen/number.h"
#include "codegen/report.h"
#include "codegen/stage.h"
#include "codegen/value.h"

const char *intrinsic_call_name(const struct lower *l, const struct nvm_inst *i) {
  const struct nvm_function *callee = module_function(l->module, call_callee(l->f, i));
  return module_text(l->module, callee->symbol.name).bytes;
}

bool intrinsic_constant(struct lower *l, const struct nvm_inst *i, uint32_t k, uint64_t *value) {
  nvm_u128 wide = 0;
  struct nvm_value v = intrinsic_arg(l, i, k);
  *value = 0;
  if (value_kind(v) == VALUE_CONST && const_is_int(l->module, v, &wide)) {
    *value = (uint64_t)wide;
    return true;
  }
  struct textbuf detail;
  textbuf_init(&detail, &l->function_arena);
  textbuf_format(&detail, "argument %u must be a constant", k + 1);
  textbuf_char(&detail, '\0');
  report_refuse(l, intrinsic_call_name(l, i), detail.bytes ? detail.bytes : "");
  return false;
}

struct part intrinsic_part(struct lower *l, struct nvm_type scalar, uint32_t k) {
  struct part_list parts = part_list(l, scalar);
  return k < parts.count ? *part_at(parts, k) : part_i32;
}

uint32_t intrinsic_int_bits(const struct lower *l, struct nvm_type type) {
  return type_info(&l->module->types, type_scalar(&l->module->types, type))->width;
}

void intrinsic_set_number(struct lower *l, const struct nvm_inst *i, int64_t value) {
  uint32_t count = part_list(l, i->type).count;
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    bool is_bool = ptx_reg_class(to[k]) == PTX_PRED;
    emit_copy(l, to[k],
              is_bool ? emit_int_to_pred(l, ptx_i(value), 32)
                      : ptx_i(k == 0      ? value
                              : value < 0 ? -1
                                          : 0));
  }
}

/* --- Lanes --- */

/* Calls tidy_copies() after each lane, since it only sees trailing copies. */
void intrinsic_lanes(struct lower *l, const struct nvm_inst *i, int argument, uint32_t arguments,
                     lane_lowering *lane) {
  const struct type_table *t = &l->module->types;
  bool two = type_kind(t, i->type) == TY_STRUCT;
  struct nvm_type types[2] = {two ? type_element(t, i->type, 0) : i->type};
  const struct ptx_reg *results[2] = {value_result(l, l->inst)};
  struct lanes in[3] = {{0}}, to[2] = {{0}};
  for (uint32_t k = 0; k < arguments; k++) {
    in[k] = lane_split(l, intrinsic_arg(l, i, k));
    if (in[k].count == 0) return;
  }
  if (two) types[1] = type_element(t, i->type, 1);
  results[1] = results[0] + part_list(l, types[0]).count;
  for (int j = 0; j <= two; j++) to[j] = lane_targets(l, types[j], results[j]);
  struct lane x = {.l = l,
                   .inst = i,
                   .argument = argument,
                   .part = intrinsic_part(l, to[0].scalar, 0),
                   .source = intrinsic_part(l, in[0].scalar, 0),
                   .bits = intrinsic_int_bits(l, types[0]),
                   .source_bits = intrinsic_int_bits(l, in[0].scalar)};
  const struct ptx_operand **from[3] = {&x.a, &x.b, &x.c};
  for (uint32_t k = 0; k < to[0].count && k < to[two].count; k++) {
    uint32_t begin = l->pf->entries.count, temps[PTX_CLASS_COUNT];
    for (uint32_t j = 0; j < arguments; j++)
      *from[j] = &in[j].at[(in[j].count == 1 ? 0 : k) * in[j].parts_each];
    x.to = &to[0].at[k * to[0].parts_each];
    x.second = two ? &to[1].at[k * to[1].parts_each] : NULL;
    memcpy(temps, l->pf->reg_count, sizeof temps);
    lane(&x);
    tidy_copies(l, begin, temps);
  }
  for (int j = 0; j <= two; j++) lane_join(l, types[j], results[j], to[j]);
}

struct integer intrinsic_integer(const struct lane *x, const struct ptx_operand *argument) {
  return (struct integer){{argument[0], x->bits > 64 ? argument[1] : argument[0]}};
}

struct integer intrinsic_number(const struct lane *x, nvm_i128 n) {
  if (x->part.kind == PART_I1)
    return (struct integer){
        {emit_compare(x->l, PTX_MOD_NE, PTX_MOD_S32, ptx_i((int64_t)n & 1), ptx_i(0))}};
  return (struct integer){{ptx_i((int64_t)n), ptx_i((int64_t)(n >> 64))}};
}

struct integer intrinsic_compute(const struct lane *x, enum op op, struct integer a,
                                 struct integer b) {
  struct integer r;
  for (int k = 0; k < 2; k++) r.at[k] = ptx_r(emit_new_reg(x->l, &x->part));
  int_binary_bits(x->l, op, x->bits, &x->part, r.at, a.at, b.at);
  return r;
}

struct working intrinsic_working(const struct lane *x, const struct ptx_operand *argument) {
  bool small = part_is_small(&x->source);
  struct working w = {.part = small ? part_f32 : x->source};
  w.type = part_float_mod(&w.part);
  w.ftz = small ? PTX_MOD_NONE : float_ftz(x->l, w.type);
  w.v = small ? float_to_f32(x->l, &x->source, argument[0])
              : emit_in_reg(x->l, argument[0], &x->source);
  return w;
}

void intrinsic_finish(const struct lane *x, struct ptx_operand result) {
  if (part_is_small(&x->part)) float_from_f32(x->l, &x->part, x->to[0].reg, result);
  else emit_copy(x->l, x->to[0].reg, result);
}
