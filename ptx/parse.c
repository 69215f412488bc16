/* The actions of the PTX parser that build ptx.h's form, and its entry points; see parse.h. */
#include "ptx/parse_state.h"

#include "support/float.h"

#include "ptx_parser.h"

/* --- operands --------------------------------------------------------------------------------- */

static bool wants_label(const struct ptx_parser *p) { return p->op == PTX_BRA || p->op == PTX_BRX; }

bool parse_name_operand(struct ptx_parser *p, uint32_t name, struct ptx_operand *o) {
  struct nvm_text t = parse_text(p, name);
  struct ptx_name *n = &p->meaning.data[name];
  *o = (struct ptx_operand){.kind = PTX_OPERAND_NONE};
  if (t.length == 1 && t.bytes[0] == '_') return true;
  if (n->kind == NAME_UNKNOWN && parse_find_meaning(p, name)) n = &p->meaning.data[name];
  switch ((enum name_kind)n->kind) {
    case NAME_REG: *o = ptx_r((struct ptx_reg){n->value}); return true;
    case NAME_SPECIAL: *o = ptx_special_reg(n->value); return true;
    case NAME_LABEL: *o = ptx_label(n->value); return true;
    case NAME_SYMBOL: break;
    case NAME_UNKNOWN:
      if (text_is(t, "WARP_SZ")) {
        *o = ptx_i(32);
        return true;
      }
      if (wants_label(p)) {
        *o = ptx_label(parse_label_of(p, name));
        return o->label != 0 || parse_fail(p, "out of memory");
      }
      if (!p->is_inline || t.bytes[0] == '%')
        return parse_fail_outside(p, "'%t' is not declared", name);
      break;
  }
  *o = ptx_symbol(parse_module_name(p, name), 0);
  return true;
}

uint32_t parse_selector_of(const char *word, size_t length) {
  uint32_t code = PTX_SELECTOR | (uint32_t)(length - 3) << PTX_SELECTOR_DIGITS_SHIFT;
  if (word[1] == 'h') code |= PTX_SELECTOR_HALVES;
  for (size_t k = 2; k < length; k++) code |= (uint32_t)(word[k] - '0') << 3 * (length - 1 - k);
  return code;
}

bool parse_select(struct ptx_parser *p, struct ptx_operand *o, uint32_t selector) {
  if (selector == PTX_MOD_B1) selector = parse_selector_of(".b1", 3);
  if (selector == PTX_MOD_B32) selector = parse_selector_of(".b32", 4);
  if (o->kind != PTX_OPERAND_REG || !(selector & PTX_SELECTOR))
    return parse_fail(p, "unexpected selector");
  o->count = (uint16_t)selector;
  return true;
}

bool parse_offset(struct ptx_parser *p, struct ptx_operand *o, int64_t offset) {
  if (o->kind != PTX_OPERAND_REG && o->kind != PTX_OPERAND_SYMBOL && o->kind != PTX_OPERAND_INT)
    return parse_fail(p, "unexpected offset");
  o->imm = (int64_t)((uint64_t)o->imm + (uint64_t)offset);
  return true;
}

bool parse_push(struct ptx_parser *p, struct ptx_operand o) {
  return VEC_PUSH(&p->scratch, &p->stack, o) || parse_fail(p, "out of memory");
}

bool parse_group(struct ptx_parser *p, enum ptx_operand_kind kind, uint32_t count,
                 struct ptx_operand *o) {
  if (count > UINT16_MAX) return parse_fail(p, "too many operands");
  p->stack.count -= count;
  *o = ptx_group(p->f, kind, p->stack.data + p->stack.count, count);
  return !p->f->arena->failed || parse_fail(p, "out of memory");
}

bool parse_address(struct ptx_parser *p, uint32_t count, struct ptx_operand *o) {
  if (count > 1) return parse_group(p, PTX_OPERAND_TENSOR, count, o);
  *o = p->stack.data[--p->stack.count];
  if (o->kind == PTX_OPERAND_REG && !o->negated && !o->count) o->kind = PTX_OPERAND_ADDRESS_REG;
  else if (o->kind == PTX_OPERAND_SYMBOL) o->kind = PTX_OPERAND_ADDRESS_SYMBOL;
  else if (o->kind == PTX_OPERAND_INT) o->kind = PTX_OPERAND_ADDRESS_IMM;
  else return parse_fail(p, "expected an address");
  return true;
}

bool parse_decimal(struct ptx_parser *p, struct nvm_text text, bool negative,
                   struct ptx_operand *o) {
  uint64_t bits;
  if (!float_from_decimal(text.bytes, text.length, FLOAT_DOUBLE, &bits))
    return parse_fail_with(p, "'%t' is too large", text.bytes, text.length);
  *o = ptx_f64(bits | (negative ? UINT64_C(1) << 63 : 0));
  return true;
}

/* --- instructions ----------------------------------------------------------------------------- */

/* The word just read: the last token, or the one before it if that is a look-ahead. */
static const char *begin_of(const struct ptx_parser *p, struct nvm_text word) {
  if (strncmp(p->token, word.bytes, word.length) == 0) return p->token;
  for (const char *at = p->token; (size_t)(at - p->start) >= word.length; at--)
    if (memcmp(at - word.length, word.bytes, word.length) == 0) return at - word.length;
  return p->token;
}

/* Reports at the name of the instruction, not at its end. */
static bool fail_at_op(struct ptx_parser *p, const char *format, const char *bytes, size_t length) {
  p->token = p->op_begin;
  p->line = p->op_line;
  return parse_fail_with(p, format, bytes, length);
}

bool parse_mnemonic(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = parse_text(p, name);
  p->op = (uint16_t)ptx_find_op(t.bytes, t.length);
  p->op_line = p->line;
  p->op_begin = begin_of(p, t);
  p->mods.count = 0;
  return p->op != PTX_NONE || fail_at_op(p, "unknown instruction '%t'", t.bytes, t.length);
}

bool parse_guard(struct ptx_parser *p, struct ptx_operand o, bool negated) {
  if (o.kind != PTX_OPERAND_REG || ptx_reg_class(o.reg) != PTX_PRED)
    return parse_fail(p, "a guard must be a predicate register");
  p->guard = o.reg;
  p->guard_negated = negated != o.negated;
  return true;
}

/* ptxas takes some modifiers in any order (`atom.or.acq_rel`). Searches the order that the table
 * has: types keep their order among themselves, and earlier words are tried first. `used` is a set
 * of indices of p->mods; the order found goes to `out`. */
static bool find_order(const struct ptx_parser *p, uint16_t state, uint32_t used, uint32_t count,
                       uint16_t *out) {
  bool past_type = false;
  if (count == 0) return ptx_state(state)->form_count > 0;
  for (uint32_t i = 0; i < p->mods.count; i++) {
    uint16_t mod = p->mods.data[i];
    if (used >> i & 1) continue;
    bool is_type = ptx_mod_row(mod)->bits != 0;
    const struct ptx_step *step = is_type && past_type ? NULL : ptx_step(state, mod);
    past_type |= is_type;
    if (!step) continue;
    *out = mod;
    if (find_order(p, step->state, used | UINT32_C(1) << i, count - 1, out + 1)) return true;
  }
  return false;
}

enum { MAX_REORDERED = 12 };

/* Sorts the modifiers into an order of the table, if one exists. */
static void order_modifiers(struct ptx_parser *p) {
  uint16_t order[MAX_REORDERED];
  uint16_t state = ptx_op_row(p->op)->state;
  const struct ptx_step *step = NULL;
  uint32_t i = 0;
  for (; i < p->mods.count; i++, state = step->state)
    if (!(step = ptx_step(state, p->mods.data[i]))) break;
  if (i == p->mods.count && ptx_state(state)->form_count > 0) return;
  if (p->mods.count > MAX_REORDERED) return;
  if (find_order(p, ptx_op_row(p->op)->state, 0, p->mods.count, order))
    memcpy(p->mods.data, order, p->mods.count * sizeof order[0]);
}

static bool fail_instruction(struct ptx_parser *p, const struct ptx_entry *e,
                             const struct ptx_need *need) {
  struct textbuf b;
  static const struct nvm_target none;
  textbuf_init(&b, &p->scratch);
  ptx_describe_need(p->f, e, &none, need, &b);
  return fail_at_op(p, "%t", b.bytes, b.length);
}

/* `{%r1}` is the register itself if no vector of one element is expected, as in ptxas. */
static void unwrap_single(const struct ptx_function *f, struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_VECTOR && o->count == 1) *o = f->operands.data[o->first];
}

bool parse_instruction(struct ptx_parser *p, uint32_t operand_count) {
  struct ptx_need need;
  uint32_t before = p->f->entries.count;
  if (operand_count > UINT8_MAX || p->mods.count > UINT8_MAX)
    return parse_fail(p, "too many operands");
  order_modifiers(p);
  if (!VEC_PUSH(&p->scratch, &p->mods, PTX_MOD_NONE)) return parse_fail(p, "out of memory");
  p->stack.count -= operand_count;
  for (uint32_t k = 0; (p->op == PTX_LD || p->op == PTX_ST) && k < operand_count; k++)
    unwrap_single(p->f, &p->stack.data[p->stack.count + k]);
  ptx_add_guarded(p->f, p->guard, p->guard_negated, (enum ptx_op)p->op, p->mods.data,
                  p->stack.data + p->stack.count, operand_count);
  if (p->f->entries.count == before) return parse_fail(p, "out of memory");
  struct ptx_entry *e = &p->f->entries.data[before];
  e->line = p->is_inline ? 0 : p->op_line;
  p->op = PTX_NONE;
  p->guard = (struct ptx_reg){0};
  p->guard_negated = false;
  return ptx_find_form(p->f, e, &need) || fail_instruction(p, e, &need);
}

bool parse_loc(struct ptx_parser *p, const uint64_t place[3], uint32_t function_name,
               const uint64_t inlined[4]) {
  struct ptx_operand o[6] = {ptx_i((int64_t)place[1]), ptx_i((int64_t)place[2])};
  uint32_t count = 2;
  if (inlined) {
    o[2] = ptx_symbol(parse_module_name(p, function_name), (int64_t)inlined[3]);
    for (int i = 0; i < 3; i++) o[3 + i] = ptx_i((int64_t)inlined[i]);
    count = 6;
  }
  struct ptx_operand list = ptx_group(p->f, PTX_OPERAND_LIST, o, count);
  ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_LOC,
                                         .operand_count = (uint8_t)count,
                                         .first_mod = (uint32_t)place[0],
                                         .first_operand = list.first});
  return list.count == count || parse_fail(p, "out of memory");
}

bool parse_branch_targets(struct ptx_parser *p, uint32_t name, uint32_t count) {
  uint32_t label = parse_define_label(p, name);
  struct ptx_operand list;
  if (label == 0 || !parse_group(p, PTX_OPERAND_LIST, count, &list)) return false;
  ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_BRANCHTARGETS,
                                         .first_mod = label,
                                         .first_operand = list.first,
                                         .line = count});
  return true;
}

bool parse_pragma(struct ptx_parser *p, struct nvm_text text) {
  ptx_add_text(p->f, PTX_PRAGMA, text);
  return true;
}

/* --- variables -------------------------------------------------------------------------------- */

void parse_variable_begin(struct ptx_parser *p, uint16_t space) {
  p->variable = (struct ptx_variable){.space = space, .linkage = p->linkage};
}

bool parse_variable_word(struct ptx_parser *p, uint16_t mod) {
  if (mod == PTX_MOD_V2 || mod == PTX_MOD_V4) p->variable.vector = mod;
  else if (ptx_mod_row(mod)->bits != 0 || mod == PTX_MOD_TEXREF || mod == PTX_MOD_SAMPLERREF ||
           mod == PTX_MOD_SURFREF)
    p->variable.type = mod;
  else
    return parse_fail_with(p, "unknown type '%t'", ptx_mod_row(mod)->text,
                           ptx_mod_row(mod)->length);
  return true;
}

/* Also declares the name, except of registers, whose class depends on the type. */
void parse_variable_name(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = parse_text(p, name);
  struct ptx_variable *v = &p->variable;
  v->is_array = v->is_unsized = false;
  v->count = 1;
  v->init_count = 0;
  v->first_init = p->module->inits.count;
  v->name = (struct nvm_str){0};
  v->reg = (struct ptx_reg){0};
  if (text_is(t, "_")) return;
  if (v->space == PTX_MOD_REG) {
    if (p->f && parse_reg(p, v->type, name, false, 1))
      v->reg = (struct ptx_reg){p->meaning.data[name].value};
    return;
  }
  v->name = parse_module_name(p, name);
  parse_declare_symbol(p, name);
}

void parse_variable_dimension(struct ptx_parser *p, bool sized, uint64_t count) {
  struct ptx_variable *v = &p->variable;
  if (!sized) v->is_unsized = true;
  else if (count != 0 && v->count > UINT64_MAX / count) parse_fail(p, "array too large");
  else v->count *= count;
  v->is_array = true;
}

static bool add_init(struct ptx_parser *p, struct ptx_init init) {
  p->variable.init_count++;
  return VEC_PUSH(p->module->arena, &p->module->inits, init) || parse_fail(p, "out of memory");
}

bool parse_init_number(struct ptx_parser *p, uint64_t bits) {
  const struct ptx_mod_row *type = ptx_mod_row(p->variable.type);
  if (type->kind == 'f' && bits != 0) return parse_fail(p, "expected a floating-point number");
  if (type->bits != 0 && type->bits < 64)
    bits &= (UINT64_C(1) << type->bits) - 1; /* 0: a property */
  return add_init(p, (struct ptx_init){.bits = bits});
}

bool parse_init_float(struct ptx_parser *p, struct ptx_operand value) {
  const struct ptx_mod_row *type = ptx_mod_row(p->variable.type);
  enum float_format from = value.kind == PTX_OPERAND_F32 ? FLOAT_SINGLE : FLOAT_DOUBLE;
  enum float_format to = type->bits == 32 ? FLOAT_SINGLE : FLOAT_DOUBLE;
  if (type->kind != 'f' || type->bits < 32)
    return parse_fail(p, "unexpected floating-point number");
  uint64_t bits = (uint64_t)value.imm;
  if (from != to) bits = float_convert_bits(bits, from, to, NULL);
  return add_init(p, (struct ptx_init){.bits = bits});
}

bool parse_init_symbol(struct ptx_parser *p, uint32_t name, bool generic, int64_t addend) {
  return add_init(
      p, (struct ptx_init){
             .bits = (uint64_t)addend, .symbol = parse_module_name(p, name), .generic = generic});
}

bool parse_init_property(struct ptx_parser *p, uint32_t name) {
  return add_init(p, (struct ptx_init){.symbol = parse_module_name(p, name), .is_property = true});
}

/* `0xFF00(symbol)`: the mask of the last initializer. */
bool parse_init_mask(struct ptx_parser *p, uint64_t mask) {
  for (uint8_t byte = 0; byte < 8; byte++)
    if (mask == UINT64_C(0xFF) << 8 * byte) {
      p->module->inits.data[p->module->inits.count - 1].mask_byte = (uint8_t)(byte + 1);
      return true;
    }
  return parse_fail(p, "a mask selects one byte of an address");
}

bool parse_variable_end(struct ptx_parser *p) {
  struct ptx_variable *v = &p->variable;
  if (p->failed) return false;
  if (v->type == 0) return parse_fail(p, "a variable needs a type");
  bool is_scalar = !v->is_array && v->vector == 0;
  if (is_scalar && v->init_count > 1 && !p->module->inits.data[v->first_init].is_property)
    return parse_fail(p, "several initial values for a scalar");
  if (v->is_unsized && v->init_count > 0) {
    v->count = v->init_count;
    v->is_unsized = false;
  }
  if (p->f) {
    ptx_add_variable(p->f, *v);
    return true;
  }
  if (v->space == PTX_MOD_PARAM || v->space == PTX_MOD_LOCAL)
    return parse_fail(p, "a variable of a module must be in .global, .shared or .const");
  return VEC_PUSH(p->module->arena, &p->module->variables, *v) || parse_fail(p, "out of memory");
}

bool parse_parameter_end(struct ptx_parser *p) {
  if (p->failed) return false;
  if (p->variable.type == 0) return parse_fail(p, "a parameter needs a type");
  p->variable.linkage = 0;
  return VEC_PUSH(&p->scratch, &p->parameters, p->variable) || parse_fail(p, "out of memory");
}

/* --- the module ------------------------------------------------------------------------------- */

bool parse_version(struct ptx_parser *p, struct nvm_text text) {
  bool good = text.length == 3 && text.bytes[1] == '.';
  if (!good) return parse_fail_with(p, "unknown PTX version '%t'", text.bytes, text.length);
  p->module->ptx_version = (uint32_t)(text.bytes[0] - '0') * 10 + (uint32_t)(text.bytes[2] - '0');
  return true;
}

/* Accepts exactly the targets that --cpu accepts. */
bool parse_target(struct ptx_parser *p, uint32_t name, bool first) {
  struct nvm_text t = parse_text(p, name);
  if (first && !tgt_find_cpu(t.bytes, t.length))
    return parse_fail_name(p, "unknown target '%t'", name);
  if (first) p->module->target = parse_module_name(p, name);
  else if (text_is(t, "debug")) p->module->debug = true;
  else if (text_is(t, "texmode_independent")) p->module->texmode_independent = true;
  return true;
}

bool parse_file(struct ptx_parser *p, uint64_t number, struct nvm_text name) {
  struct ptx_module *m = p->module;
  if (number == 0 || number > 1000000) return parse_fail(p, "file numbers are 1 to 1000000");
  struct nvm_str s = strtab_intern(m->strings, name.bytes, name.length);
  while (m->files.count < number)
    if (!VEC_PUSH(m->arena, &m->files, (struct nvm_str){0})) return parse_fail(p, "out of memory");
  m->files.data[number - 1] = s;
  return true;
}

bool parse_triple(struct ptx_parser *p, uint32_t which, uint64_t x, uint64_t y, uint64_t z) {
  uint32_t *triples[] = {p->performance.maxntid, p->performance.reqntid,
                         p->performance.cluster_dim};
  if ((x | y | z) > UINT32_MAX) return parse_fail(p, "this number is too large");
  triples[which][0] = (uint32_t)x;
  triples[which][1] = (uint32_t)y;
  triples[which][2] = (uint32_t)z;
  return true;
}

/* Called at the function's name. Results were read before the function existed, so registers of
 * .reg results are made here. */
bool parse_function_begin(struct ptx_parser *p, bool is_entry, uint32_t name) {
  struct ptx_function *f = arena_alloc(p->module->arena, sizeof *f);
  if (!f) return parse_fail(p, "out of memory");
  ptx_function_init(f, p->module, p->module->arena);
  f->name = parse_module_name(p, name);
  f->is_entry = is_entry;
  p->function_name = name;
  if (p->linkage == PTX_MOD_VISIBLE) f->flags = PTX_FUNC_VISIBLE;
  if (p->linkage == PTX_MOD_EXTERN) f->flags = PTX_FUNC_EXTERN;
  if (p->linkage == PTX_MOD_WEAK) f->flags = PTX_FUNC_WEAK;
  parse_declare_symbol(p, name);
  struct ptx_name *n = &p->meaning.data[name];
  if (is_entry) n->value = SYMBOL_ENTRY;
  else if (n->value == SYMBOL_OTHER) n->value = SYMBOL_DECLARED;
  for (uint32_t i = 0; i < p->parameters.count; i++)
    if (p->parameters.data[i].space == PTX_MOD_REG)
      return parse_fail(p, "results in registers are not supported");
  p->linkage = 0;
  p->performance = (struct ptx_performance){0};
  p->f = f;
  p->first_label = f->labels.count;
  p->first_operand = 0;
  p->has_aliases = false;
  p->labels.count = 0;
  return parse_open_scope(p);
}

static bool take_parameters(struct ptx_parser *p, struct ptx_function *f) {
  for (uint32_t i = 0; i < p->parameters.count; i++)
    if (!VEC_PUSH(f->arena, &f->params, p->parameters.data[i]))
      return parse_fail(p, "out of memory");
  f->result_count = p->result_count;
  f->performance = p->performance;
  if (p->noreturn) f->flags |= PTX_FUNC_NORETURN;
  p->noreturn = false;
  return VEC_PUSH(p->module->arena, &p->module->functions, f) || parse_fail(p, "out of memory");
}

bool parse_body_begin(struct ptx_parser *p) { return take_parameters(p, p->f); }

bool parse_function_end(struct ptx_parser *p, bool has_body) {
  struct ptx_function *f = p->f;
  f->is_declaration = !has_body;
  if ((!has_body && !take_parameters(p, f)) || !parse_close_scope(p)) return false;
  struct ptx_name *n = &p->meaning.data[p->function_name];
  if (has_body && n->value == SYMBOL_ALIAS)
    return parse_fail_name(p, "'%t' is an alias", p->function_name);
  if (has_body && !f->is_entry) n->value = f->flags & PTX_FUNC_WEAK ? SYMBOL_WEAK : SYMBOL_DEFINED;
  parse_resolve_aliases(p);
  p->f = NULL;
  return true;
}

bool parse_alias(struct ptx_parser *p, uint32_t name, uint32_t aliasee) {
  struct ptx_name *n = &p->meaning.data[name];
  if (n->kind != NAME_SYMBOL || n->value != SYMBOL_DECLARED)
    return parse_fail_name(p, "'%t' is not declared as a device function without body", name);
  n->value = SYMBOL_ALIAS;
  struct ptx_pending_alias a = {name, aliasee, p->token, p->cursor, p->line};
  return VEC_PUSH(&p->scratch, &p->pending, a) || parse_fail(p, "out of memory");
}

/* At the end of the module, where all definitions are known. Prototypes are not compared. */
static bool resolve_aliases(struct ptx_parser *p) {
  struct ptx_module *m = p->module;
  for (uint32_t i = 0; i < p->pending.count; i++) {
    const struct ptx_pending_alias *a = &p->pending.data[i];
    const struct ptx_name *n = &p->meaning.data[a->aliasee];
    p->token = a->token, p->cursor = a->cursor, p->line = a->line;
    bool defined = n->value == SYMBOL_DEFINED || n->value == SYMBOL_RESOLVED;
    if (n->kind != NAME_SYMBOL || !defined)
      return parse_fail_name(p, "aliasee '%t' is no device function that is defined", a->aliasee);
    p->meaning.data[a->name].value = SYMBOL_RESOLVED;
    struct ptx_alias made = {parse_module_name(p, a->name), parse_module_name(p, a->aliasee)};
    if (!VEC_PUSH(m->arena, &m->aliases, made)) return parse_fail(p, "out of memory");
  }
  return true;
}

bool parse_prototype(struct ptx_parser *p, uint32_t name) {
  struct ptx_module *m = p->module;
  struct ptx_prototype t = {.name = parse_module_name(p, name),
                            .first_result = m->variables.count,
                            .result_count = p->result_count,
                            .first_param = m->variables.count + p->result_count,
                            .param_count = p->parameters.count - p->result_count,
                            .noreturn = p->noreturn};
  p->noreturn = false;
  for (uint32_t i = 0; i < p->parameters.count; i++)
    if (!VEC_PUSH(m->arena, &m->variables, p->parameters.data[i]))
      return parse_fail(p, "out of memory");
  if (!VEC_PUSH(m->arena, &m->prototypes, t)) return parse_fail(p, "out of memory");
  ptx_add_entry(p->f,
                (struct ptx_entry){.kind = PTX_PROTOTYPE, .first_mod = m->prototypes.count - 1});
  return parse_declare_symbol(p, name);
}

/* --- entry points ----------------------------------------------------------------------------- */

static bool parser_init(struct ptx_parser *p, struct nvm_text text, struct ptx_module *m,
                        int first_token) {
  *p = (struct ptx_parser){.start = text.bytes,
                           .cursor = text.bytes,
                           .end = text.bytes + text.length,
                           .line = 1,
                           .first_token = first_token,
                           .is_inline = first_token == T_INLINE,
                           .module = m};
  arena_init(&p->scratch, m->arena->allocator);
  return strtab_init(&p->names, &p->scratch);
}

enum nvm_status ptx_parse_module(struct nvm_text text, struct ptx_module *m,
                                 struct ptx_parse_error *error) {
  struct ptx_parser p;
  *error = (struct ptx_parse_error){0};
  bool good = parser_init(&p, text, m, T_MODULE);
  p.error = error;
  good = good && ptxyyparse(&p) == 0 && !p.failed && resolve_aliases(&p);
  bool failed = p.scratch.failed || m->arena->failed;
  arena_free(&p.scratch);
  if (failed) return NVM_OUT_OF_MEMORY;
  if (!good && error->line == 0) parse_fail(&p, "syntax error");
  return good ? NVM_OK : NVM_REFUSED;
}

/* State that ptx_parse_inline restores after an error. */
struct function_mark {
  uint32_t entries, mods, operands, variables, labels, texts, inits, prototypes, module_variables;
  uint32_t reg_count[PTX_CLASS_COUNT];
};

static struct function_mark mark_function(const struct ptx_function *f) {
  struct function_mark m = {f->entries.count,
                            f->mods.count,
                            f->operands.count,
                            f->variables.count,
                            f->labels.count,
                            f->texts.count,
                            f->module->inits.count,
                            f->module->prototypes.count,
                            f->module->variables.count,
                            {0}};
  memcpy(m.reg_count, f->reg_count, sizeof m.reg_count);
  return m;
}

static void return_to(struct ptx_function *f, const struct function_mark *m) {
  f->entries.count = m->entries;
  f->mods.count = m->mods;
  f->operands.count = m->operands;
  f->variables.count = m->variables;
  f->labels.count = m->labels;
  f->texts.count = m->texts;
  f->module->inits.count = m->inits;
  f->module->prototypes.count = m->prototypes;
  f->module->variables.count = m->module_variables;
  memcpy(f->reg_count, m->reg_count, sizeof m->reg_count);
}

bool ptx_parse_inline(struct ptx_function *f, struct nvm_text text,
                      const struct ptx_operand *operands, uint32_t count,
                      struct ptx_parse_error *error) {
  struct ptx_parser p;
  struct function_mark mark = mark_function(f);
  bool good = parser_init(&p, text, f->module, T_INLINE);
  *error = (struct ptx_parse_error){0};
  p.error = error;
  p.f = f;
  p.arguments = operands;
  p.argument_count = count;
  p.first_label = f->labels.count;
  p.first_operand = f->operands.count;
  good = good && parse_open_scope(&p) && ptxyyparse(&p) == 0 && !p.failed && parse_close_scope(&p);
  if (good) parse_resolve_aliases(&p);
  good = good && !p.scratch.failed && !f->arena->failed;
  arena_free(&p.scratch);
  if (!good) return_to(f, &mark);
  return good;
}
