/* Calls of inline assembly. Constraints give the register class of each operand
 * (ir/asm_constraint.h).
 *
 * Values are copied into registers of these classes before the text and out of them after it. An
 * output has a register of its own, except in texts of one instruction (asm_is_single), so early
 * clobbers need no special case. If the text can be parsed as PTX, the checker and the simulator
 * see its instructions, and constants become literals; else it is copied. An input that it writes,
 * against the rules, is a copy of the value, as LLVM and nvcc make it. */
#include "codegen/inst.h"
#include "codegen/number.h"
#include "codegen/report.h"
#include "codegen/symbol.h"
#include "codegen/value.h"
#include "ir/asm_constraint.h"
#include "ptx/asm_template.h"
#include "ptx/check.h"
#include "ptx/parse.h"
#include "ptx/print.h"
#include "target/reflect.h"

struct asm_call {
  struct lower *l;
  const struct nvm_inst *inst;
  const struct constant_info *assembly;
  struct asm_constraints constraints; /* its array and the next three: in the function arena */
  struct asm_operand *operands;
  struct nvm_type *types; /* of outputs */
  uint32_t *first_part;   /* of outputs: in the call's result */
  uint32_t count;
};

static bool refuse(const struct asm_call *c, const char *detail) {
  report_refuse(c->l, "inline assembly", detail);
  return false;
}

bool asm_is_callee(const struct lower *l, struct nvm_value callee) {
  return value_kind(callee) == VALUE_CONST &&
         constant_info(&l->module->constants, callee)->kind == CONST_ASM;
}

/* --- Constraints --- */

/* The verifier has checked them; false when out of memory. */
static bool read_constraints(struct asm_call *c) {
  struct arena *a = &c->l->function_arena;
  struct nvm_text text = module_text(c->l->module, c->assembly->str2), word;
  uint32_t room = 1;
  for (size_t k = 0; k < text.length; k++) room += text.bytes[k] == ',';
  c->constraints = (struct asm_constraints){.room = room,
                                            .of = arena_alloc(a, room * sizeof *c->constraints.of)};
  if (!c->constraints.of || asm_constraints_read(text, &c->constraints, &word)) return false;
  c->count = c->constraints.count;
  c->operands = arena_alloc(a, room * sizeof *c->operands);
  c->types = arena_alloc(a, room * sizeof *c->types);
  c->first_part = arena_alloc(a, room * sizeof *c->first_part);
  return c->operands && c->types && c->first_part;
}

static bool class_of_letter(char letter, enum ptx_class *class) {
  static const char letters[] = "bchrlNqfd";
  static const uint8_t classes[] = {PTX_PRED, PTX_B16,  PTX_B16, PTX_B32, PTX_B64,
                                    PTX_B64,  PTX_B128, PTX_F32, PTX_F64};
  const char *at = letter ? strchr(letters, letter) : NULL;
  if (at) *class = (enum ptx_class)classes[at - letters];
  return at != NULL;
}

static uint32_t class_bits(enum ptx_class class) {
  return ptx_mod_row(ptx_class_type(class))->bits;
}

uint32_t *asm_ties(struct lower *l, const struct nvm_inst *i) {
  struct asm_call c = {.l = l, .inst = i};
  c.assembly = constant_info(&l->module->constants, call_callee(l->f, i));
  if (!read_constraints(&c)) return NULL;
  uint32_t *ties = arena_alloc(&l->function_arena, (c.count + 1) * sizeof *ties);
  uint32_t *result = arena_alloc(&l->function_arena, (c.count + 1) * sizeof *result);
  if (!ties || !result) return NULL;
  uint32_t results = 0, argument = 0;
  for (uint32_t n = 0; n < c.count; n++) {
    const struct asm_constraint *k = &c.constraints.of[n];
    bool is_result = k->output && !k->indirect;
    if (is_result) result[n] = results++;
    if (is_result) ties[result[n]] = UINT32_MAX;
    if (k->is_tied) ties[result[k->tied]] = argument;
    argument += !is_result;
  }
  return ties;
}

/* Whether the text is `op $0, …;`, perhaps in braces: what it writes is the first operand. */
static bool writes_output_alone(struct nvm_text text) {
  static const char blanks[] = " \t\r\n";
  const char *at = text.bytes, *end = at + text.length;
  while (at < end && (*at == '{' || (*at && strchr(blanks, *at)))) at++;
  while (at < end && *at && strchr("abcdefghijklmnopqrstuvwxyz0123456789_.:", *at)) at++;
  while (at < end && *at && strchr(blanks, *at)) at++;
  if (end - at < 3 || memcmp(at, "$0,", 3) != 0) return false;
  at = memchr(at, ';', (size_t)(end - at));
  if (!at) return false;
  for (at++; at < end; at++)
    if (*at != '}' && !(*at && strchr(blanks, *at))) return false;
  return true;
}

bool asm_is_single(struct lower *l, const struct nvm_inst *i) {
  struct asm_call c = {.l = l, .inst = i};
  c.assembly = constant_info(&l->module->constants, call_callee(l->f, i));
  if (!writes_output_alone(module_text(l->module, c.assembly->str)) || !read_constraints(&c) ||
      c.constraints.results != 1 || c.constraints.of[0].indirect)
    return false;
  for (uint32_t n = 0; n < c.count; n++)
    if (c.constraints.of[n].is_tied || c.constraints.of[n].letter == 'C') return false;
  return true;
}

/* --- Values into and out of registers of a class --- */

/* How the parts of a type fit in a register. */
enum fit {
  FIT_SAME,   /* one part of that class */
  FIT_BITS,   /* one smaller part */
  FIT_FILLED, /* parts of other classes with as many bits */
  FIT_CUT,    /* an input: a pointer of 64 bits to a space that 32 address */
  FIT_NOT,
};

static struct part whole_part(struct lower *l, struct nvm_type type, uint32_t k) {
  return *part_at(part_list(l, type), k);
}

/* Whether the type is a pointer to shared or local memory. */
static bool is_near_pointer(const struct lower *l, struct nvm_type type) {
  const struct type_info *info = type_info(&l->module->types, type);
  uint16_t space = info->kind == TY_PTR ? mod_space(info->width) : 0;
  return space == PTX_MOD_SHARED || space == PTX_MOD_LOCAL;
}

static enum fit fit_of(struct lower *l, struct nvm_type type, enum ptx_class class) {
  uint32_t count = part_list(l, type).count, total = 0;
  if (count == 0) return FIT_NOT;
  if (count == 1) {
    struct part p = whole_part(l, type, 0);
    if (part_class(&p) == class) return FIT_SAME;
    if (p.bits == class_bits(class)) return FIT_FILLED;
    if (class == PTX_B32 && p.bits == 64 && is_near_pointer(l, type)) return FIT_CUT;
    return class == PTX_B128 || p.bits > class_bits(class) ? FIT_NOT : FIT_BITS;
  }
  for (uint32_t k = 0; k < count; k++) {
    struct part p = whole_part(l, type, k);
    if (class == PTX_B128 && p.container * count != 128) return FIT_NOT;
    total += p.bits;
  }
  return total == class_bits(class) ? FIT_FILLED : FIT_NOT;
}

static bool refuse_fit(const struct asm_call *c, struct nvm_type type, char letter) {
  struct textbuf detail;
  textbuf_init(&detail, &c->l->function_arena);
  textbuf_puts(&detail, "a value of type ");
  type_print(&c->l->module->types, type, &detail);
  textbuf_format(&detail, " does not fit constraint '%c'", letter);
  textbuf_char(&detail, '\0');
  return refuse(c, detail.bytes ? detail.bytes : "");
}

/* The scalar type that fills a register of the class. */
static struct nvm_type type_of_class(struct lower *l, enum ptx_class class) {
  return class == PTX_F32   ? TYPE_FLOAT
         : class == PTX_F64 ? TYPE_DOUBLE
                            : type_int(&l->module->types, class_bits(class));
}

/* Joins two or four registers in the one of a `q` operand, or splits it. */
static void move_128(struct lower *l, const struct ptx_reg *parts, uint32_t count,
                     struct ptx_reg all, bool out) {
  struct ptx_operand group[4];
  for (uint32_t k = 0; k < count && k < 4; k++) group[k] = ptx_r(parts[k]);
  struct ptx_operand vector = ptx_group(l->pf, PTX_OPERAND_VECTOR, group, count);
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B128), out ? vector : ptx_r(all), out ? ptx_r(all) : vector);
}

/* Copies a value into a register of the class. */
static void move_in(struct lower *l, struct nvm_value v, struct nvm_type type, enum fit fit,
                    struct ptx_reg to) {
  struct part p = whole_part(l, type, 0);
  enum ptx_class class = ptx_reg_class(to);
  if (fit == FIT_SAME) {
    struct ptx_operand x = ptx_r(value_reg(l, v, 0));
    if (p.kind == PART_INT) x = emit_zext(l, x, &p, p.container);
    if (x.reg.bits != to.bits) emit_copy(l, to, x);
  } else if (fit == FIT_CUT) {
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(to), ptx_r(value_reg(l, v, 0)));
  } else if (fit == FIT_BITS && p.kind == PART_I1 && class <= PTX_B64 && class != PTX_PRED) {
    emit_copy(l, to, emit_pred_to_int(l, ptx_r(value_reg(l, v, 0)), class_bits(class)));
  } else if (fit == FIT_BITS) {
    struct part as_int = whole_part(l, type_of_class(l, class), 0);
    struct ptx_operand bits = convert_to_bits(l, &p, ptx_r(value_reg(l, v, 0)));
    convert_from_bits(l, &as_int, to, bits);
  } else {
    const struct ptx_reg *parts = value_regs(l, v);
    if (class != PTX_B128) convert_bits(l, type, parts, type_of_class(l, class), &to);
    else if (parts) move_128(l, parts, part_list(l, type).count, to, false);
  }
}

/* The register of an input: the value's own if it needs no conversion. */
static struct ptx_reg input_register(struct lower *l, struct nvm_value v, struct nvm_type type,
                                     enum fit fit, enum ptx_class class) {
  struct part p = whole_part(l, type, 0);
  if (fit == FIT_SAME && (p.kind != PART_INT || p.bits == p.container)) return value_reg(l, v, 0);
  struct ptx_reg r = emit_temp(l, class);
  move_in(l, v, type, fit, r);
  return r;
}

static void move_out(struct lower *l, struct nvm_type type, const struct ptx_reg *to,
                     struct ptx_reg from) {
  enum ptx_class class = ptx_reg_class(from);
  enum fit fit = fit_of(l, type, class);
  if (fit == FIT_SAME) {
    if (to[0].bits != from.bits) emit_copy(l, to[0], ptx_r(from));
  } else if (fit == FIT_BITS) {
    struct part p = whole_part(l, type, 0);
    struct part source = whole_part(l, type_of_class(l, class), 0);
    struct ptx_operand bits = convert_to_bits(l, &source, ptx_r(from));
    convert_from_bits(l, &p, to[0], bits);
  } else if (class != PTX_B128) {
    convert_bits(l, type_of_class(l, class), &from, type, to);
  } else {
    move_128(l, to, part_list(l, type).count, from, true);
  }
}

/* --- Operands --- */

/* The types of the outputs that are results, from the call's type. */
static void assign_results(struct asm_call *c) {
  const struct type_table *t = &c->l->module->types;
  bool is_struct = c->constraints.results > 1;
  uint32_t part = 0, k = 0;
  for (uint32_t n = 0; n < c->count; n++) {
    if (!c->constraints.of[n].output || c->constraints.of[n].indirect) continue;
    c->types[n] = is_struct ? type_member(t, c->inst->type, k++) : c->inst->type;
    c->first_part[n] = part;
    part += part_list(c->l, c->types[n]).count;
  }
}

/* A register for each output: the result's own if it has the class. */
static bool make_outputs(struct asm_call *c) {
  const struct ptx_reg *result = c->constraints.results ? value_result(c->l, c->l->inst) : NULL;
  for (uint32_t n = 0; n < c->count; n++) {
    const struct asm_constraint *k = &c->constraints.of[n];
    enum ptx_class class;
    if (!k->output || k->indirect || !class_of_letter(k->letter, &class)) continue;
    enum fit fit = fit_of(c->l, c->types[n], class);
    if (fit == FIT_NOT || fit == FIT_CUT) return refuse_fit(c, c->types[n], k->letter);
    c->operands[n].operand =
        ptx_r(fit == FIT_SAME ? result[c->first_part[n]] : emit_temp(c->l, class));
  }
  return true;
}

static bool constant_input(struct asm_call *c, struct nvm_value v, char letter,
                           struct ptx_operand *out) {
  struct lower *l = c->l;
  nvm_u128 bits;
  if (value_kind(v) == VALUE_CONST && const_is_int(l->module, v, &bits)) {
    struct nvm_type type = value_type(l->f, v);
    bool is_bool = type_info(&l->module->types, type)->width == 1;
    *out = ptx_i(is_bool ? (int64_t)bits : (int64_t)const_int_signed(l->module, v));
    return true;
  }
  if ((letter == 'i' || letter == 's') &&
      (value_kind(v) == VALUE_GLOBAL || value_kind(v) == VALUE_FUNCTION)) {
    *out = ptx_symbol(names_of_symbol(l, v), 0);
    return true;
  }
  if (value_kind(v) == VALUE_CONST && letter == 'i') {
    enum constant_kind kind = (enum constant_kind)constant_info(&l->module->constants, v)->kind;
    if (kind == CONST_FLOAT || kind == CONST_NULL) {
      *out = value_operand(l, v, 0);
      return true;
    }
  }
  return refuse(c, letter == 'n' ? "constraint 'n' needs a constant integer"
                                 : "constraint 'i' needs a constant");
}

/* Whether the text has an operand at all: `$0`, `${0}`. An empty text that hides a value from the
 * optimizer (black_box of Rust, DoNotOptimize of C++) has none; it is given pointers of 64 bits
 * under 'r'. */
static bool names_operands(const struct asm_call *c) {
  struct nvm_text text = module_text(c->l->module, c->assembly->str);
  return text.length > 0 && memchr(text.bytes, '$', text.length) != NULL;
}

/* The operand of constraint n, an input of value v. */
static bool make_input(struct asm_call *c, uint32_t n, struct nvm_value v) {
  struct lower *l = c->l;
  const struct asm_constraint *k = &c->constraints.of[n];
  struct nvm_type type = value_type(l->f, v);
  enum ptx_class class;
  if (k->is_tied) {
    struct ptx_reg to = c->operands[k->tied].operand.reg;
    enum fit fit = fit_of(l, type, ptx_reg_class(to));
    if (fit == FIT_NOT) return refuse_fit(c, type, c->constraints.of[k->tied].letter);
    move_in(l, v, type, fit, to);
    c->operands[n].operand = ptx_r(to);
    return true;
  }
  if (k->letter == 'm') {
    c->operands[n].operand = ptx_at(value_reg(l, v, 0), 0);
    return true;
  }
  if (k->letter == 'C')
    return reflect_string(l->f, v, &c->operands[n].literal) ||
           refuse(c, "constraint 'C' needs the address of a constant string");
  if (!class_of_letter(k->letter, &class))
    return constant_input(c, v, k->letter, &c->operands[n].operand);
  enum fit fit = fit_of(l, type, class);
  if (fit == FIT_NOT) return !names_operands(c) || refuse_fit(c, type, k->letter);
  c->operands[n].operand = ptx_r(input_register(l, v, type, fit, class));
  return true;
}

/* The arguments are the indirect outputs and the inputs, in the order of the constraints. Tied ones
 * are copied last, lest they overwrite a register that is another input's own. */
static bool make_inputs(struct asm_call *c) {
  uint32_t k = 0;
  struct nvm_value tied[ASM_MAX_OPERANDS];
  for (uint32_t n = 0; n < c->count; n++) {
    const struct asm_constraint *q = &c->constraints.of[n];
    if (q->output && !q->indirect) continue;
    struct nvm_value v = inst_operand(c->l->f, c->inst, k++);
    tied[n] = v;
    if (!q->is_tied && !make_input(c, n, v)) return false;
  }
  for (uint32_t n = 0; n < c->count; n++)
    if (c->constraints.of[n].is_tied && !make_input(c, n, tied[n])) return false;
  return true;
}

/* --- The call --- */

/* The line and column count from the start of the assembly text. */
static void warn_unknown(struct lower *l, const struct ptx_parse_error *error) {
  struct textbuf b;
  textbuf_init(&b, &l->arena);
  textbuf_format(&b, "%t (line %u, column %u of its text)", error->message, error->line,
                 error->column);
  report_warn(l, DIAG_UNKNOWN_ASM, (struct nvm_text){b.bytes, b.length});
}

static bool contains(const struct lower *l, const struct ptx_operand *o, struct ptx_reg r) {
  bool found = o->kind == PTX_OPERAND_REG && o->reg.bits == r.bits;
  if (o->kind == PTX_OPERAND_VECTOR || o->kind == PTX_OPERAND_PAIR)
    for (uint32_t k = 0; k < o->count; k++)
      found |= contains(l, &l->pf->operands.data[o->first + k], r);
  return found;
}

/* Whether r is also an output's register, shared by coalescing (asm_is_single). */
static bool is_output(const struct asm_call *c, struct ptx_reg r) {
  for (uint32_t n = 0; n < c->count; n++)
    if (c->constraints.of[n].output && contains(c->l, &c->operands[n].operand, r)) return true;
  return false;
}

/* Replaces inputs in the operand that is written by new registers; whether there are any. */
static bool rename_inputs_of(struct asm_call *c, const struct ptx_operand *written,
                             struct ptx_operand *operands) {
  bool any = false;
  for (uint32_t n = 0; n < c->count; n++) {
    const struct asm_constraint *k = &c->constraints.of[n];
    struct ptx_operand *o = &operands[n];
    if (k->output || k->is_tied || o->kind != PTX_OPERAND_REG || !contains(c->l, written, o->reg) ||
        is_output(c, o->reg))
      continue;
    o->reg = emit_temp(c->l, ptx_reg_class(o->reg));
    any = true;
  }
  return any;
}

/* The same for all that the entries from `first` on write. */
static bool rename_written_inputs(struct asm_call *c, uint32_t first,
                                  struct ptx_operand *operands) {
  const struct ptx_function *pf = c->l->pf;
  bool any = false;
  for (; first < pf->entries.count; first++) {
    const struct ptx_entry *e = &pf->entries.data[first];
    struct ptx_need need;
    const struct ptx_form *form = e->kind == PTX_INST ? ptx_find_form(pf, e, &need) : NULL;
    for (uint32_t k = 0; form && k < form->dest_count; k++)
      any |= rename_inputs_of(c, &pf->operands.data[e->first_operand + k], operands);
  }
  return any;
}

/* Whether the integer operands of op may be literals where the form allows one. */
static bool takes_literals(enum ptx_op op) {
  switch (op) {
    case PTX_ADD:
    case PTX_SUB:
    case PTX_MUL:
    case PTX_MAD:
    case PTX_AND:
    case PTX_OR:
    case PTX_XOR:
    case PTX_SHL:
    case PTX_SHR:
    case PTX_SHF:
    case PTX_BFE:
    case PTX_BFI:
    case PTX_LOP3:
    case PTX_PRMT:
    case PTX_SHFL: return true;
    default: return false;
  }
}

/* Whether the operand is the register of an input that is a constant integer of its size. */
static bool is_constant_input(const struct asm_call *c, const struct ptx_operand *o,
                              int64_t *number) {
  uint32_t argument = 0;
  for (uint32_t n = 0; n < c->count && o->kind == PTX_OPERAND_REG; n++) {
    const struct asm_constraint *q = &c->constraints.of[n];
    if (q->output && !q->indirect) continue;
    struct nvm_value v = inst_operand(c->l->f, c->inst, argument++);
    nvm_u128 bits;
    if (q->output || q->is_tied || c->operands[n].operand.kind != PTX_OPERAND_REG ||
        c->operands[n].operand.reg.bits != o->reg.bits || !const_is_int(c->l->module, v, &bits) ||
        type_scalar_bits(&c->l->module->types, value_type(c->l->f, v)) !=
            class_bits(ptx_reg_class(o->reg)))
      continue;
    *number = (int64_t)const_int_signed(c->l->module, v);
    return true;
  }
  return false;
}

/* Literals in place of registers that hold a constant, which often has no other reader. */
static void use_literals(struct asm_call *c, const struct ptx_entry *e) {
  struct ptx_function *pf = c->l->pf;
  struct ptx_need need;
  const struct ptx_form *form = e->kind == PTX_INST && takes_literals((enum ptx_op)e->op)
                                    ? ptx_find_form(pf, e, &need)
                                    : NULL;
  for (uint32_t k = form ? form->dest_count : e->operand_count; k < e->operand_count; k++) {
    struct ptx_operand *o = &pf->operands.data[e->first_operand + k], before = *o;
    int64_t number;
    if (!is_constant_input(c, o, &number)) continue;
    *o = ptx_i(number);
    if (!ptx_find_form(pf, e, &need)) *o = before;
  }
}

static bool parse_text(struct asm_call *c, struct nvm_text text, struct ptx_operand *operands,
                       struct ptx_parse_error *error) {
  struct lower *l = c->l;
  uint32_t first = l->pf->entries.count;
  if (!ptx_parse_inline(l->pf, text, operands, c->count, error)) return false;
  if (!rename_written_inputs(c, first, operands)) return true;
  l->pf->entries.count = first;
  for (uint32_t n = 0; n < c->count; n++) {
    struct ptx_operand from = c->operands[n].operand;
    if (operands[n].kind == PTX_OPERAND_REG && operands[n].reg.bits != from.reg.bits)
      emit_copy(l, operands[n].reg, from);
  }
  return ptx_parse_inline(l->pf, text, operands, c->count, error);
}

static void emit_text(struct asm_call *c, struct nvm_text text) {
  struct lower *l = c->l;
  struct ptx_operand *operands = arena_alloc(&l->function_arena, (c->count + 1) * sizeof *operands);
  if (!operands || strspn(text.bytes, " \t\r\n;") == text.length) return;
  for (uint32_t n = 0; n < c->count; n++) operands[n] = c->operands[n].operand;
  struct ptx_parse_error error;
  uint32_t first = l->pf->entries.count;
  if (parse_text(c, text, operands, &error)) {
    for (; first < l->pf->entries.count; first++) {
      struct ptx_entry *e = &l->pf->entries.data[first];
      e->must_stay = e->kind != PTX_INST || (c->assembly->flags & CONST_ASM_SIDEEFFECT);
      use_literals(c, e);
    }
    return;
  }
  if (error.line && !error.is_fragment) warn_unknown(l, &error);
  ptx_add_text(l->pf, PTX_RAW,
               asm_template_substitute(&l->function_arena, l->pf, text, c->operands, c->count));
}

static bool expand_template(struct asm_call *c, struct nvm_text *text) {
  struct lower *l = c->l;
  if (asm_template_expand(&l->function_arena, module_text(l->module, c->assembly->str), c->operands,
                          c->count, l->inst.index, text))
    return text->bytes != NULL;
  struct textbuf detail;
  textbuf_init(&detail, &l->function_arena);
  asm_template_describe(*text, &detail);
  textbuf_char(&detail, '\0');
  return refuse(c, detail.bytes ? detail.bytes : "");
}

void asm_lower(struct lower *l, const struct nvm_inst *i) {
  struct asm_call call = {.l = l, .inst = i}, *c = &call;
  struct nvm_text text;
  c->assembly = constant_info(&l->module->constants, call_callee(l->f, i));
  if (!read_constraints(c)) return;
  assign_results(c);
  if (!make_outputs(c) || !make_inputs(c)) return;
  if (!expand_template(c, &text)) return;
  emit_text(c, text);
  const struct ptx_reg *result = c->constraints.results ? value_result(l, l->inst) : NULL;
  for (uint32_t n = 0; n < c->count; n++) {
    const struct asm_constraint *k = &c->constraints.of[n];
    if (k->output && !k->indirect)
      move_out(l, c->types[n], result + c->first_part[n], c->operands[n].operand.reg);
  }
}
