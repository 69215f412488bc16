/* Calls of intrinsics: what the target must have, then the form of the row, or its function. */
#include "codegen/intrinsic.h"

/* How an intrinsic is lowered: by a function, or by its form; neither: it is refused. */
struct intrinsic_form {
  intrinsic_function *lower;
  int argument;
  uint16_t need; /* into needs */
};

static const struct intrinsic_form forms[INTRINSIC_COUNT] = {
    {0, 0, 0},
#define INTRINSIC_FORMS
#include "intrinsics.inc"
#undef INTRINSIC_FORMS
};

static const struct tgt_requirement needs[] = {
#define INTRINSIC_NEEDS
#include "intrinsics.inc"
#undef INTRINSIC_NEEDS
};

/* ---- Helpers of all handlers ---- */

const struct part intrinsic_i16 = {.kind = PART_INT, .bits = 16, .container = 16};
const struct part intrinsic_i32 = {.kind = PART_INT, .bits = 32, .container = 32};
const struct part intrinsic_i64 = {.kind = PART_INT, .bits = 64, .container = 64};
const struct part intrinsic_f32 = {.kind = PART_FLOAT, .bits = 32, .container = 32};

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
  char detail[] = "argument 00 must be a constant";
  char *digits = strchr(detail, '0');
  digits[0] = (char)('0' + (k + 1) / 10 % 10);
  digits[1] = (char)('0' + (k + 1) % 10);
  if (k + 1 < 10) memmove(digits, digits + 1, strlen(digits));
  lower_refuse(l, intrinsic_call_name(l, i), detail);
  return false;
}

struct ptx_operand intrinsic_in_reg(struct lower *l, struct ptx_operand v, const struct part *p) {
  if (v.kind == PTX_OPERAND_REG) return v;
  struct ptx_reg r = lower_new_reg(l, p);
  lower_copy(l, r, v);
  return ptx_r(r);
}

struct part intrinsic_part(struct lower *l, struct nvm_type scalar, uint32_t k) {
  struct type_parts parts = lower_type(l, scalar);
  return k < parts.count ? *lower_part(l, parts, k) : intrinsic_i32;
}

struct ptx_reg intrinsic_pointer(struct lower *l, struct nvm_value pointer) {
  enum { TENSOR_MEMORY = 6 };
  const struct type_info *type = type_info(&l->module->types, value_type(l->f, pointer));
  struct ptx_reg r = lower_reg(l, pointer, 0);
  if (type->kind != TY_PTR || type->width != TENSOR_MEMORY || ptx_reg_class(r) != PTX_B64) return r;
  struct ptx_reg narrow = lower_temp(l, PTX_B32);
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(narrow), ptx_r(r));
  return narrow;
}

uint32_t intrinsic_int_bits(const struct lower *l, struct nvm_type type) {
  return type_info(&l->module->types, type_scalar(&l->module->types, type))->width;
}

void intrinsic_select(struct lower *l, const struct part *p, struct ptx_reg to,
                      struct ptx_operand a, struct ptx_operand b, struct ptx_reg condition) {
  bool full_float = p->kind == PART_FLOAT || p->kind == PART_DOUBLE;
  emit4(l, PTX_SELP, PTX_MODS(full_float ? part_float_mod(p) : part_bits_mod(p)), ptx_r(to), a, b,
        ptx_r(condition));
}

/* ---- Forms ---- */

struct form_call {
  struct lower *l;
  const struct nvm_inst *inst;
  const struct ptx_reg *result;
};

static struct nvm_type form_value_type(const struct form_call *c, uint32_t k) {
  return k == FORM_TYPE_RESULT ? c->inst->type : value_type(c->l->f, intrinsic_arg(c->l, c->inst, k));
}

static uint32_t form_parts(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  return lower_type(c->l, form_value_type(c, k)).count;
}

static struct ptx_operand form_value(struct form_reader *r, uint32_t k, uint32_t part, bool in_register) {
  const struct form_call *c = r->call;
  if (k == FORM_TYPE_RESULT) return ptx_r(c->result[part]);
  struct nvm_value v = intrinsic_arg(c->l, c->inst, k);
  if (type_is_ptr(&c->l->module->types, form_value_type(c, k))) return ptx_r(intrinsic_pointer(c->l, v));
  return in_register ? ptx_r(lower_reg(c->l, v, part)) : lower_operand(c->l, v, part);
}

static uint64_t form_constant(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  uint64_t value = 0;
  if (k < call_arg_count(c->l->f, c->inst)) intrinsic_constant(c->l, c->inst, k, &value);
  return value;
}

static uint16_t form_space(struct form_reader *r, uint32_t k) {
  const struct form_call *c = r->call;
  return space_mod(type_info(&c->l->module->types, form_value_type(c, k))->width);
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
  lower_refuse(c->l, intrinsic_call_name(c->l, c->inst), why);
}

static void emit_form(struct lower *l, const struct nvm_inst *i, const uint16_t *form) {
  struct form_call call = {.l = l, .inst = i};
  struct form_reader r = {l->pf, &call, l->ftz, form_parts, form_value, form_constant, form_space, form_type,
                          form_refuse, NULL, false, {{{0}}}};
  if (lower_type(l, i->type).count > 0) call.result = lower_result(l, l->inst);
  form_emit(&r, form);
}

/* ---- Dispatch ---- */

static bool target_has(struct lower *l, const struct nvm_inst *i,
                       const struct tgt_requirement *need) {
  if (!tgt_allows(l->target, need)) {
    char missing[256];
    tgt_describe_missing(l->target, need, missing, sizeof missing);
    lower_refuse(l, intrinsic_call_name(l, i), missing);
    return false;
  }
  unsigned ptx = tgt_ptx_needed(l->target, need);
  if (ptx > l->ptx_needed) l->ptx_needed = ptx;
  return true;
}

void lower_intrinsic(struct lower *l, const struct nvm_inst *i, enum intrinsic_id id) {
  const struct intrinsic_form *how = &forms[id];
  const uint16_t *form = form_of(id);
  if (how->need != 0 && !target_has(l, i, &needs[how->need])) return;
  if (how->lower) how->lower(l, i, how->argument);
  else if (form) emit_form(l, i, form);
  else lower_refuse(l, intrinsic_call_name(l, i), intrinsic_table[id].ptx + 1);
}
