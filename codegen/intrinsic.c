/* Calls of intrinsics: what the target must have, then the form of the row, or its function. */
#include "codegen/intrinsic.h"

static const uint16_t form_words[] = {
#define INTRINSIC_WORDS
#include "intrinsics.inc"
#undef INTRINSIC_WORDS
};

/* How an intrinsic is lowered: by a function, or by the form that starts at form_words[form];
 * neither: it is refused. */
struct intrinsic_form {
  intrinsic_function *lower;
  int argument;
  uint32_t form;
  uint16_t need; /* into needs */
};

static const struct intrinsic_form forms[INTRINSIC_COUNT] = {
    {0, 0, 0, 0},
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

/* ---- The interpreter of forms ---- */

enum { TEMP_CLASSES = 8, TEMP_NUMBERS = 16, MAX_GROUP = 160, MAX_OPERANDS = 24, MAX_MODS = 24 };

struct form_reader {
  struct lower *l;
  const struct nvm_inst *inst;
  const uint16_t *at;
  const struct ptx_reg *result;
  uint32_t result_count;
  struct ptx_reg temps[TEMP_CLASSES][TEMP_NUMBERS];
  bool registers_only; /* no immediates: in vectors, and as the first source */
};

static struct ptx_reg form_temp(struct form_reader *r, uint16_t word) {
  static const uint8_t classes[TEMP_CLASSES] = {PTX_PRED, PTX_B16, PTX_B32,
                                                PTX_B64,  PTX_F32, PTX_F64, PTX_B8, PTX_B128};
  struct ptx_reg *slot = &r->temps[word >> 4 & 7][word & 15];
  if (ptx_reg_is_none(*slot)) *slot = lower_temp(r->l, (enum ptx_class)classes[word >> 4 & 7]);
  return *slot;
}

static struct ptx_operand form_arg(struct form_reader *r, uint32_t k, uint32_t part) {
  struct nvm_value v = intrinsic_arg(r->l, r->inst, k);
  if (type_is_ptr(&r->l->module->types, value_type(r->l->f, v)))
    return ptx_r(intrinsic_pointer(r->l, v));
  if (r->registers_only) return ptx_r(lower_reg(r->l, v, part));
  return lower_operand(r->l, v, part);
}

/* Reads one word's operands into `to`: several where a whole value stands in a group. */
static uint32_t read_operands(struct form_reader *r, struct ptx_operand *to, uint32_t room);

static struct ptx_operand read_group(struct form_reader *r, enum ptx_operand_kind kind,
                                     uint32_t words) {
  struct ptx_operand members[MAX_GROUP];
  uint32_t count = 0;
  bool before = r->registers_only;
  r->registers_only = kind != PTX_OPERAND_PAIR;
  for (uint32_t k = 0; k < words; k++)
    count += read_operands(r, members + count, MAX_GROUP - count);
  r->registers_only = before;
  return ptx_group(r->l->pf, kind, members, count);
}

static uint32_t read_value(struct form_reader *r, uint16_t word, struct ptx_operand *to,
                           uint32_t room) {
  bool is_result = (word & FORM_KIND) == FORM_RESULT;
  uint32_t part = word & 63, k = word >> 6 & 63, first = part, last = part + 1;
  if (part == FORM_ALL) {
    first = 0;
    last = is_result ? r->result_count
                     : lower_type(r->l, value_type(r->l->f, intrinsic_arg(r->l, r->inst, k))).count;
  }
  uint32_t count = 0;
  for (uint32_t p = first; p < last && count < room; p++)
    to[count++] = is_result ? ptx_r(r->result[p]) : form_arg(r, k, p);
  return count;
}

static struct ptx_operand read_operand(struct form_reader *r, uint16_t word) {
  uint32_t payload = word & 0xfff;
  switch (word & FORM_KIND) {
    case FORM_INT: return ptx_i((int16_t)*r->at++);
    case FORM_SPECIAL: return ptx_special_reg(*r->at++);
    case FORM_TEMP: return ptx_r(form_temp(r, word));
    case FORM_VECTOR: return read_group(r, PTX_OPERAND_VECTOR, payload);
    case FORM_PAIR: return read_group(r, PTX_OPERAND_PAIR, payload);
    case FORM_TENSOR: return read_group(r, PTX_OPERAND_TENSOR, payload);
    case FORM_ADDRESS:
      return ptx_at(intrinsic_pointer(r->l, intrinsic_arg(r->l, r->inst, payload)), 0);
    case FORM_NOT: {
      struct ptx_operand o = read_operand(r, *r->at++);
      o.negated = true;
      return o;
    }
    default: return (struct ptx_operand){.kind = PTX_OPERAND_NONE};
  }
}

/* A constant argument that a form's shape depends on; 0 if the call lacks it. */
static uint64_t form_constant(struct form_reader *r, uint32_t k) {
  uint64_t value = 0;
  if (k < call_arg_count(r->l->f, r->inst)) intrinsic_constant(r->l, r->inst, k, &value);
  return value;
}

static uint32_t read_operands(struct form_reader *r, struct ptx_operand *to, uint32_t room) {
  uint16_t word = *r->at++;
  if ((word & FORM_KIND) == FORM_IF) {
    if (form_constant(r, word & 63)) return read_operands(r, to, room);
    r->at += word >> 6 & 63;
    return 0;
  }
  if ((word & FORM_KIND) == FORM_RESULT || (word & FORM_KIND) == FORM_ARG)
    return read_value(r, word, to, room);
  if (room == 0) return 0;
  *to = read_operand(r, word);
  return 1;
}

/* The type modifier of kind `b u s f` for the first part of the result or of an argument. */
static uint16_t type_modifier(struct form_reader *r, uint16_t word) {
  struct lower *l = r->l;
  uint32_t k = word & 0xff;
  struct nvm_type type =
      k == FORM_TYPE_RESULT ? r->inst->type : value_type(l->f, intrinsic_arg(l, r->inst, k));
  struct part p = intrinsic_part(l, type, 0);
  switch (word >> 8 & 15) {
    case 0: return part_bits_mod(&p);
    case 1: return part_unsigned_mod(&p);
    case 2: return part_signed_mod(&p);
    default: return part_float_mod(&p);
  }
}

/* The word that constant arguments choose; two make a number of base 4. */
static uint16_t chosen_modifier(struct form_reader *r, uint16_t word) {
  uint32_t count = word >> 6 & 63, second = *r->at++;
  uint64_t choice = form_constant(r, word & 63);
  if (second != FORM_ALL) choice = choice * 4 + form_constant(r, second);
  const uint16_t *words = r->at;
  r->at += count;
  if (choice < count) return words[choice];
  lower_refuse(r->l, intrinsic_call_name(r->l, r->inst), "a constant argument is out of range");
  return PTX_MOD_NONE;
}

static void read_modifiers(struct form_reader *r, uint16_t mods[MAX_MODS + 1]) {
  struct lower *l = r->l;
  uint32_t words = *r->at++, count = 0;
  for (uint32_t k = 0; k < words && count < MAX_MODS; k++) {
    uint16_t word = *r->at++, mod = word;
    if ((word & FORM_KIND) == FORM_MOD_SPACE) {
      struct nvm_type type = value_type(l->f, intrinsic_arg(l, r->inst, word & 0xfff));
      mod = space_mod(type_info(&l->module->types, type)->width);
    } else if (word == FORM_MOD_FTZ) {
      mod = l->ftz ? PTX_MOD_FTZ : PTX_MOD_NONE;
    } else if ((word & FORM_KIND) == FORM_MOD_TYPE) {
      mod = type_modifier(r, word);
    } else if ((word & FORM_KIND) == FORM_MOD_CHOICE) {
      mod = chosen_modifier(r, word);
    }
    if (mod != PTX_MOD_NONE) mods[count++] = mod;
  }
  mods[count] = PTX_MOD_NONE;
}

static bool is_destination(uint16_t word) {
  uint16_t kind = word & FORM_KIND;
  return kind == FORM_RESULT || kind == FORM_TEMP || kind == FORM_VECTOR || kind == FORM_PAIR;
}

/* One instruction; false at the end of the form. */
static bool emit_form_instruction(struct form_reader *r) {
  enum ptx_op op = (enum ptx_op) * r->at++;
  uint16_t mods[MAX_MODS + 1];
  struct ptx_operand operands[MAX_OPERANDS];
  struct ptx_reg guard = {0};
  bool negated = false;
  if (op == PTX_NONE) return false;
  read_modifiers(r, mods);
  uint16_t words = *r->at++;
  if (words & FORM_GUARDED) {
    struct ptx_operand o = read_operand(r, *r->at++);
    guard = o.reg;
    negated = o.negated;
  }
  uint32_t count = 0;
  bool has_destination = (words & 0xff) > 0 && is_destination(*r->at);
  for (uint32_t k = 0; k < (words & 0xffu); k++) {
    r->registers_only = has_destination && k == 1;
    count += read_operands(r, operands + count, MAX_OPERANDS - count);
  }
  r->registers_only = false;
  if (ptx_reg_is_none(guard)) ptx_add(r->l->pf, op, mods, operands, count);
  else ptx_add_guarded(r->l->pf, guard, negated, op, mods, operands, count);
  return true;
}

static void emit_form(struct lower *l, const struct nvm_inst *i, uint32_t form) {
  struct form_reader r = {.l = l, .inst = i, .at = form_words + form};
  r.result_count = lower_type(l, i->type).count;
  if (r.result_count > 0) r.result = lower_result(l, l->inst);
  while (emit_form_instruction(&r)) continue;
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
  const struct intrinsic_form *form = &forms[id];
  if (form->need != 0 && !target_has(l, i, &needs[form->need])) return;
  if (form->lower) form->lower(l, i, form->argument);
  else if (form->form != 0) emit_form(l, i, form->form);
  else lower_refuse(l, intrinsic_call_name(l, i), intrinsic_table[id].ptx + 1);
}
