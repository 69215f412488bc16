/* Calls of intrinsics: the requirements on the target are checked, then the row's PTX form is
 * emitted or its handler called. */
#include "codegen/intrinsic.h"

/* The handler of an intrinsic, if it has one; without handler and form it is refused. */
struct intrinsic_form {
  intrinsic_function *lower;
  lane_lowering *lane;
  uint8_t arguments; /* that `lane` reads */
  int argument;      /* of the handler */
  uint16_t need;     /* into needs */
};

static const struct intrinsic_form forms[INTRINSIC_COUNT] = {
    {0},
#define INTRINSIC_FORMS
#include "intrinsics.inc"
#undef INTRINSIC_FORMS
};

static const struct tgt_requirement needs[] = {
#define INTRINSIC_NEEDS
#include "intrinsics.inc"
#undef INTRINSIC_NEEDS
};

/* --- Helpers of handlers --- */

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
  struct part_range parts = part_list(l, scalar);
  return k < parts.count ? *part_at(l, parts, k) : part_i32;
}

/* The register of a pointer as an operand: addresses in tensor memory (space 6) have 32 bits, even
 * if the data layout gives their pointers 64. */
static struct ptx_reg form_pointer(struct lower *l, struct nvm_value pointer) {
  enum { TENSOR_MEMORY = 6 };
  const struct type_info *type = type_info(&l->module->types, value_type(l->f, pointer));
  struct ptx_reg r = value_reg(l, pointer, 0);
  if (type->kind != TY_PTR || type->width != TENSOR_MEMORY || ptx_reg_class(r) != PTX_B64) return r;
  return emit_narrow(l, ptx_r(r), 64, 32).reg;
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

/* Each lane is tidied by itself: tidy_copies() only sees the copies at the end. */
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

void lane_by_parts(struct lower *l, const struct nvm_inst *i, uint32_t arguments,
                   lane_function *lower, const void *how) {
  uint32_t count = part_list(l, i->type).count;
  const struct ptx_reg *to = value_result(l, l->inst);
  for (uint32_t k = 0; k < count; k++) {
    struct part p = intrinsic_part(l, i->type, k);
    struct ptx_operand v[3] = {{0}};
    for (uint32_t j = 0; j < arguments; j++) v[j] = value_operand(l, intrinsic_arg(l, i, j), k);
    lower(l, &p, to[k], v, how);
  }
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

/* --- Forms --- */

struct form_call {
  struct lower *l;
  const struct nvm_inst *inst;
  const struct ptx_reg *result;
};

static struct nvm_type form_value_type(const struct form_call *c, uint32_t k) {
  return k == FORM_TYPE_RESULT ? c->inst->type
                               : value_type(c->l->f, intrinsic_arg(c->l, c->inst, k));
}

static uint32_t form_parts(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  return part_list(c->l, form_value_type(c, k)).count;
}

static struct ptx_operand form_value(struct form_reader *r, uint32_t k, uint32_t part,
                                     bool in_register) {
  const struct form_call *c = r->call;
  if (k == FORM_TYPE_RESULT) return ptx_r(c->result[part]);
  struct nvm_value v = intrinsic_arg(c->l, c->inst, k);
  if (type_is_ptr(&c->l->module->types, form_value_type(c, k))) return ptx_r(form_pointer(c->l, v));
  return in_register ? ptx_r(value_reg(c->l, v, part)) : value_operand(c->l, v, part);
}

static uint64_t form_constant(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  uint64_t value = 0;
  if (k < call_arg_count(c->l->f, c->inst)) intrinsic_constant(c->l, c->inst, k, &value);
  return value;
}

static uint16_t form_space(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  return mod_space(type_info(&c->l->module->types, form_value_type(c, k))->width);
}

static uint16_t form_type(struct form_reader *r, uint32_t k, unsigned kind) {
  const struct form_call *c = r->call;
  struct part p = intrinsic_part(c->l, form_value_type(c, k), 0);
  switch (kind) {
    case 0: return part_bits_mod(&p);
    case 1: return part_unsigned_mod(&p);
    case 2: return part_signed_mod(&p);
    default: return part_float_mod(&p);
  }
}

static void form_refuse(struct form_reader *r, const char *why) {
  const struct form_call *c = r->call;
  report_refuse(c->l, intrinsic_call_name(c->l, c->inst), why);
}

static void emit_form(struct lower *l, const struct nvm_inst *i, const uint16_t *form) {
  struct form_call call = {.l = l, .inst = i};
  struct form_reader r = {l->pf,      &call,     l->ftz,      form_parts, form_value, form_constant,
                          form_space, form_type, form_refuse, NULL,       false,      {{{0}}}};
  if (part_list(l, i->type).count > 0) call.result = value_result(l, l->inst);
  form_emit(&r, form);
}

/* --- Dispatch --- */

static bool target_has(struct lower *l, const struct nvm_inst *i,
                       const struct tgt_requirement *need) {
  if (!tgt_allows(l->target, need)) {
    char missing[256];
    tgt_describe_missing(l->target, need, missing, sizeof missing);
    report_refuse(l, intrinsic_call_name(l, i), missing);
    return false;
  }
  unsigned ptx = tgt_ptx_needed(l->target, need);
  if (ptx > l->ptx_needed) l->ptx_needed = ptx;
  return true;
}

void intrinsic_lower(struct lower *l, const struct nvm_inst *i, enum intrinsic_id id) {
  const struct intrinsic_form *how = &forms[id];
  const uint16_t *form = form_of(id);
  if (how->need != 0 && !target_has(l, i, &needs[how->need])) return;
  if (how->lower) how->lower(l, i, how->argument);
  else if (how->lane) intrinsic_lanes(l, i, how->argument, how->arguments, how->lane);
  else if (form) emit_form(l, i, form);
  else report_refuse(l, intrinsic_call_name(l, i), intrinsic_table[id].ptx + 1);
}
