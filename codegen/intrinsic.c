/* Calls of intrinsics: the requirements on the target are checked, then the row's PTX form is
 * emitted or its handler called. */
#include "codegen/inst.h"
#include "codegen/intrinsic.h"
#include "codegen/report.h"
#include "codegen/value.h"
#include "ir/evalint.h"

/* The handler of an intrinsic, if it has one; without handler and form it is refused. */
struct intrinsic_form {
  intrinsic_plain_function *plain;
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

/* --- Forms --- */

/* The register of a pointer as an operand: addresses in tensor memory (space 6) have 32 bits, even
 * if the data layout gives their pointers 64. */
static struct ptx_reg form_pointer(struct lower *l, struct nvm_value pointer) {
  enum { TENSOR_MEMORY = 6 };
  const struct type_info *type = type_info(&l->module->types, value_type(l->f, pointer));
  struct ptx_reg r = value_reg(l, pointer, 0);
  if (type->kind != TY_PTR || type->width != TENSOR_MEMORY || ptx_reg_class(r) != PTX_B64) return r;
  return emit_narrow(l, ptx_r(r), 64, 32).reg;
}

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

static void form_refuse(struct form_reader *r, uint32_t k, uint64_t allowed, uint64_t found) {
  const struct form_call *c = r->call;
  struct textbuf why;
  textbuf_init(&why, &c->l->function_arena);
  textbuf_format(&why, "argument %u must be ", k + 1);
  for (uint32_t v = 0, written = 0; allowed >> v; v++) {
    if (!(allowed >> v & 1)) continue;
    if (written++ > 0) textbuf_puts(&why, allowed >> v == 1 ? " or " : ", ");
    textbuf_format(&why, "%u", v);
  }
  textbuf_puts(&why, ", not ");
  textbuf_signed(&why, evalint_sext(intrinsic_int_bits(c->l, form_value_type(c, k)), found));
  textbuf_char(&why, '\0');
  report_refuse(c->l, intrinsic_call_name(c->l, c->inst), why.bytes ? why.bytes : "");
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
  if (how->plain) how->plain(l, i);
  else if (how->lower) how->lower(l, i, how->argument);
  else if (how->lane) intrinsic_lanes(l, i, how->argument, how->arguments, how->lane);
  else if (form) emit_form(l, i, form);
  else report_refuse(l, intrinsic_call_name(l, i), intrinsic_table[id].ptx + 1);
}
