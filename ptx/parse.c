/* The actions of the PTX parser: what names mean, and building ptx.h's form; see parse.h.
 *
 * A name's meaning is one record per interned name. Entering a scope remembers how long the undo
 * list is, leaving it puts the records back, so that looking up never searches. A `%r<5>` declares
 * one record for its prefix; `%r3` gets its own record when first met.
 *
 * Labels may be used before they are defined, and each scope may define its own. A use makes a
 * label of the scope it stands in; one that is still undefined when its scope ends becomes the
 * outer scope's label of that name (an alias, if there is one already), and the operands are
 * changed at the end. */
#include "ptx/parse_state.h"

#include "support/float.h"

#include "ptx_parser.h"

enum { MAX_SCOPES = 1000, MAX_REGISTERS = 1 << 26 };
_Static_assert(2 * (int64_t)MAX_REGISTERS + 2 < INT64_C(1) << PTX_REG_CLASS_SHIFT,
               "numbers fit beside the class");

/* --- errors ----------------------------------------------------------------------------------- */

static void locate(struct ptx_parser *p, struct ptx_parse_error *e) {
  const char *token = p->token ? p->token : p->start, *line = token;
  while (line > p->start && line[-1] != '\n') line--;
  e->line = p->line;
  e->column = (uint32_t)(token - line) + 1;
  e->begin = (uint64_t)(token - p->start);
  e->end = (uint64_t)((p->cursor < p->end ? p->cursor : p->end) - p->start);
}

/* Reports `format` with the bytes as %t at the last token; only the first error is kept. Returns
 * false. */
static bool fail_with(struct ptx_parser *p, const char *format, const char *bytes, size_t length) {
  if (!p->failed && p->error) {
    struct textbuf b;
    textbuf_init(&b, p->module->arena);
    textbuf_format(&b, format, (struct nvm_text){bytes, length});
    textbuf_char(&b, 0);
    locate(p, p->error);
    if (b.length > 0) p->error->message = (struct nvm_text){b.bytes, b.length - 1};
  }
  p->failed = true;
  return false;
}

static bool fail(struct ptx_parser *p, const char *message) {
  return fail_with(p, "%t", message, strlen(message));
}

static struct nvm_text name_text(const struct ptx_parser *p, uint32_t name) {
  return strtab_text(&p->names, (struct nvm_str){name});
}

static bool fail_name(struct ptx_parser *p, const char *format, uint32_t name) {
  struct nvm_text t = name_text(p, name);
  return fail_with(p, format, t.bytes, t.length);
}

/* Names that another text of inline assembly may declare. */
static bool fail_outside(struct ptx_parser *p, const char *format, uint32_t name) {
  if (p->error && !p->failed) p->error->is_fragment = true;
  return fail_name(p, format, name);
}

void ptxp_syntax_error(struct ptx_parser *p) {
  size_t length = (size_t)(p->cursor - p->token);
  bool unmatched = p->token >= p->end || *p->token == '}';
  if (p->error && !p->failed) p->error->is_fragment = unmatched;
  if (p->token >= p->end) fail(p, "unexpected end of text");
  else fail_with(p, "unexpected '%t'", p->token, length < 60 ? length : 60);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Declares the name until the scope ends. */
static bool set_meaning(struct ptx_parser *p, uint32_t name, struct ptx_name meaning) {
  struct ptx_name *n = &p->meaning.data[name];
  if (p->scopes.count > 0 && !VEC_PUSH(&p->scratch, &p->undo, (struct ptx_undo){name, *n}))
    return fail(p, "out of memory");
  meaning.symbol = n->symbol;
  if (meaning.range.count == 0) meaning.range = n->range;
  p->meaning.data[name] = meaning;
  return true;
}

static struct nvm_str module_name(struct ptx_parser *p, uint32_t name) {
  struct ptx_name *n = &p->meaning.data[name];
  if (n->symbol.index == 0) {
    struct nvm_text t = name_text(p, name);
    n->symbol = strtab_intern(p->module->strings, t.bytes, t.length);
  }
  return n->symbol;
}

static bool declare_symbol(struct ptx_parser *p, uint32_t name) {
  return set_meaning(p, name, (struct ptx_name){.kind = NAME_SYMBOL});
}

/* The register of index `i` of a `%r<N>`. */
static struct ptx_reg prefixed_reg(struct ptx_parser *p, struct ptx_range *range, uint32_t i) {
  if (i > 0) return (struct ptx_reg){range->first + i - 1};
  if (range->zero == 0)
    range->zero = ptx_new_reg(p->f, ptx_reg_class((struct ptx_reg){range->first})).bits;
  return (struct ptx_reg){range->zero};
}

/* Declares `%r3` if `%r<5>` is declared. */
static bool find_prefixed(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = name_text(p, name);
  size_t digits = t.length;
  while (digits > 1 && t.bytes[digits - 1] >= '0' && t.bytes[digits - 1] <= '9') digits--;
  /* `%f16x20` has the prefix `%f16x2` or shorter ones, as declared */
  for (; digits < t.length; digits++) {
    uint64_t number = 0;
    if (t.bytes[digits] == '0' && digits + 1 < t.length) continue;
    for (size_t i = digits; i < t.length && number <= UINT32_MAX; i++)
      number = number * 10 + (uint64_t)(t.bytes[i] - '0');
    struct nvm_str s = strtab_find(&p->names, t.bytes, digits);
    struct ptx_name *prefix = s.index ? &p->meaning.data[s.index] : NULL;
    if (!prefix || number >= prefix->range.count) continue;
    struct ptx_reg r = prefixed_reg(p, &prefix->range, (uint32_t)number);
    return set_meaning(p, name, (struct ptx_name){.kind = NAME_REG, .value = r.bits});
  }
  return false;
}

/* Looks up an undeclared name among prefixes and special registers. */
static bool find_meaning(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = name_text(p, name);
  if (p->f && find_prefixed(p, name)) return true;
  if (t.bytes[0] != '%') return false;
  uint32_t special = ptx_find_special(t.bytes, t.length);
  if (special == PTX_SPECIAL_NONE) return false;
  p->meaning.data[name] = (struct ptx_name){.kind = NAME_SPECIAL, .value = special};
  return true;
}

/* --- registers -------------------------------------------------------------------------------- */

static bool class_of(uint16_t type, enum ptx_class *class) {
  const struct ptx_mod_row *row = ptx_mod_row(type);
  switch (row->bits) {
    case 1: *class = PTX_PRED; return row->kind == 'p';
    case 8: *class = PTX_B8; return true;
    case 16: *class = PTX_B16; return true;
    case 32: *class = type == PTX_MOD_F32 ? PTX_F32 : PTX_B32; return true;
    case 64: *class = type == PTX_MOD_F64 ? PTX_F64 : PTX_B64; return true;
    case 128: *class = PTX_B128; return true;
    default: return false;
  }
}

bool ptxp_reg(struct ptx_parser *p, uint16_t type, uint32_t name, bool is_prefix, uint64_t count) {
  enum ptx_class class;
  if (!class_of(type, &class))
    return fail_with(p, "no register has the type '%t'", ptx_mod_row(type)->text,
                     ptx_mod_row(type)->length);
  uint32_t first = p->f->reg_count[class] + 1;
  if (count > MAX_REGISTERS || first > MAX_REGISTERS) return fail(p, "too many registers");
  uint32_t bits = ptx_reg_make(class, first).bits;
  struct ptx_name n = {.kind = NAME_REG, .value = bits};
  if (is_prefix) {
    n = p->meaning.data[name];
    n.range = (struct ptx_range){.first = bits, .count = (uint32_t)count};
  }
  if (!is_prefix) p->f->reg_count[class]++;
  else if (count > 1) p->f->reg_count[class] += (uint32_t)count - 1;
  return set_meaning(p, name, n);
}

/* --- labels ----------------------------------------------------------------------------------- */

/* `$L_name`, as nvmini prints labels, is the label `name`. */
static struct nvm_str label_name(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = name_text(p, name);
  if (t.length > 3 && text_begins(t, "$L_")) t = (struct nvm_text){t.bytes + 3, t.length - 3};
  return strtab_intern(p->module->strings, t.bytes, t.length);
}

static struct ptx_label_state *label_state(struct ptx_parser *p, uint32_t label) {
  return &p->labels.data[label - p->first_label];
}

static uint32_t new_label(struct ptx_parser *p, uint32_t name) {
  uint32_t label = ptx_new_label(p->f, label_name(p, name));
  struct ptx_label_state state = {.name = name, .scope = p->scopes.count};
  if (label == 0 || !VEC_PUSH(&p->scratch, &p->labels, state) ||
      !VEC_PUSH(&p->scratch, &p->scope_labels, label))
    return 0;
  return set_meaning(p, name, (struct ptx_name){.kind = NAME_LABEL, .value = label}) ? label : 0;
}

uint32_t ptxp_label_of(struct ptx_parser *p, uint32_t name) {
  struct ptx_name *n = &p->meaning.data[name];
  return n->kind == NAME_LABEL ? n->value : new_label(p, name);
}

static uint32_t define_label(struct ptx_parser *p, uint32_t name) {
  struct ptx_name *n = &p->meaning.data[name];
  uint32_t label = n->kind == NAME_LABEL ? n->value : 0;
  if (label == 0 || label_state(p, label)->scope != p->scopes.count) label = new_label(p, name);
  if (label == 0) {
    fail(p, "out of memory");
    return 0;
  }
  if (label_state(p, label)->defined) {
    fail_name(p, "label '%t' is already defined", name);
    return 0;
  }
  label_state(p, label)->defined = true;
  return label;
}

bool ptxp_label(struct ptx_parser *p, uint32_t name) {
  uint32_t label = define_label(p, name);
  if (label != 0) ptx_add_label(p->f, label);
  return label != 0;
}

/* Moves undefined labels of the ending scope to the enclosing one. */
static bool pass_labels_on(struct ptx_parser *p, uint32_t mark) {
  uint32_t count = p->scope_labels.count;
  p->scope_labels.count = mark;
  for (uint32_t i = mark; i < count; i++) {
    uint32_t label = p->scope_labels.data[i];
    struct ptx_label_state *state = label_state(p, label);
    if (state->defined) continue;
    if (p->scopes.count == 0) return fail_outside(p, "label '%t' is not defined", state->name);
    const struct ptx_name *outer = &p->meaning.data[state->name];
    if (outer->kind == NAME_LABEL) {
      state->alias = outer->value;
      p->has_aliases = true;
      continue;
    }
    state->scope = p->scopes.count;
    p->scope_labels.data[p->scope_labels.count++] = label;
    if (!set_meaning(p, state->name, (struct ptx_name){.kind = NAME_LABEL, .value = label}))
      return false;
  }
  return true;
}

static void resolve_aliases(struct ptx_parser *p) {
  for (uint32_t i = p->first_operand; p->has_aliases && i < p->f->operands.count; i++) {
    struct ptx_operand *o = &p->f->operands.data[i];
    if (o->kind != PTX_OPERAND_LABEL || o->label < p->first_label) continue;
    while (label_state(p, o->label)->alias != 0) o->label = label_state(p, o->label)->alias;
  }
}

bool ptxp_branch_targets(struct ptx_parser *p, uint32_t name, uint32_t count) {
  uint32_t label = define_label(p, name);
  struct ptx_operand list;
  if (label == 0 || !ptxp_group(p, PTX_OPERAND_LIST, count, &list)) return false;
  ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_BRANCHTARGETS,
                                         .first_mod = label,
                                         .first_operand = list.first,
                                         .line = count});
  return true;
}

/* --- scopes ----------------------------------------------------------------------------------- */

static bool open_scope(struct ptx_parser *p) {
  struct ptx_scope s = {p->undo.count, p->scope_labels.count, p->f->entries.count,
                        p->f->variables.count};
  if (p->scopes.count == MAX_SCOPES) return fail(p, "scopes are nested too deeply");
  return VEC_PUSH(&p->scratch, &p->scopes, s) || fail(p, "out of memory");
}

static bool close_scope(struct ptx_parser *p) {
  struct ptx_scope s = p->scopes.data[--p->scopes.count];
  while (p->undo.count > s.undo_mark) {
    const struct ptx_undo *u = &p->undo.data[--p->undo.count];
    struct ptx_name *n = &p->meaning.data[u->name], ended = *n;
    *n = u->before;
    n->symbol = ended.symbol;
    if (n->range.first == ended.range.first) n->range.zero = ended.range.zero;
  }
  return pass_labels_on(p, s.label_mark);
}

bool ptxp_scope_begin(struct ptx_parser *p) {
  if (!open_scope(p)) return false;
  ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_SCOPE_BEGIN});
  return true;
}

/* Removes a scope without variables: registers and labels belong to the function. */
static void drop_scope_begin(struct ptx_function *f, uint32_t entry) {
  if (entry >= f->entries.count) return;
  memmove(&f->entries.data[entry], &f->entries.data[entry + 1],
          (f->entries.count - entry - 1) * sizeof f->entries.data[0]);
  f->entries.count--;
}

bool ptxp_scope_end(struct ptx_parser *p) {
  struct ptx_scope s = p->scopes.data[p->scopes.count - 1];
  if (s.variables == p->f->variables.count) drop_scope_begin(p->f, s.entry);
  else ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_SCOPE_END});
  return close_scope(p);
}

/* --- operands --------------------------------------------------------------------------------- */

static bool wants_label(const struct ptx_parser *p) { return p->op == PTX_BRA || p->op == PTX_BRX; }

bool ptxp_name_operand(struct ptx_parser *p, uint32_t name, struct ptx_operand *o) {
  struct nvm_text t = name_text(p, name);
  struct ptx_name *n = &p->meaning.data[name];
  *o = (struct ptx_operand){.kind = PTX_OPERAND_NONE};
  if (t.length == 1 && t.bytes[0] == '_') return true;
  if (n->kind == NAME_UNKNOWN && find_meaning(p, name)) n = &p->meaning.data[name];
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
        *o = ptx_label(ptxp_label_of(p, name));
        return o->label != 0 || fail(p, "out of memory");
      }
      if (!p->is_inline || t.bytes[0] == '%') return fail_outside(p, "'%t' is not declared", name);
      break;
  }
  *o = ptx_symbol(module_name(p, name), 0);
  return true;
}

uint32_t ptxp_selector_of(const char *word, size_t length) {
  uint32_t code = PTX_SELECTOR | (uint32_t)(length - 3) << PTX_SELECTOR_DIGITS_SHIFT;
  if (word[1] == 'h') code |= PTX_SELECTOR_HALVES;
  for (size_t k = 2; k < length; k++) code |= (uint32_t)(word[k] - '0') << 3 * (length - 1 - k);
  return code;
}

bool ptxp_select(struct ptx_parser *p, struct ptx_operand *o, uint32_t selector) {
  if (selector == PTX_MOD_B1) selector = ptxp_selector_of(".b1", 3);
  if (selector == PTX_MOD_B32) selector = ptxp_selector_of(".b32", 4);
  if (o->kind != PTX_OPERAND_REG || !(selector & PTX_SELECTOR))
    return fail(p, "unexpected selector");
  o->count = (uint16_t)selector;
  return true;
}

bool ptxp_offset(struct ptx_parser *p, struct ptx_operand *o, int64_t offset) {
  if (o->kind != PTX_OPERAND_REG && o->kind != PTX_OPERAND_SYMBOL && o->kind != PTX_OPERAND_INT)
    return fail(p, "unexpected offset");
  o->imm = (int64_t)((uint64_t)o->imm + (uint64_t)offset);
  return true;
}

bool ptxp_push(struct ptx_parser *p, struct ptx_operand o) {
  return VEC_PUSH(&p->scratch, &p->stack, o) || fail(p, "out of memory");
}

bool ptxp_group(struct ptx_parser *p, enum ptx_operand_kind kind, uint32_t count,
                struct ptx_operand *o) {
  if (count > UINT16_MAX) return fail(p, "too many operands");
  p->stack.count -= count;
  *o = ptx_group(p->f, kind, p->stack.data + p->stack.count, count);
  return !p->f->arena->failed || fail(p, "out of memory");
}

bool ptxp_address(struct ptx_parser *p, uint32_t count, struct ptx_operand *o) {
  if (count > 1) return ptxp_group(p, PTX_OPERAND_TENSOR, count, o);
  *o = p->stack.data[--p->stack.count];
  if (o->kind == PTX_OPERAND_REG && !o->negated && !o->count) o->kind = PTX_OPERAND_ADDRESS_REG;
  else if (o->kind == PTX_OPERAND_SYMBOL) o->kind = PTX_OPERAND_ADDRESS_SYMBOL;
  else if (o->kind == PTX_OPERAND_INT) o->kind = PTX_OPERAND_ADDRESS_IMM;
  else return fail(p, "expected an address");
  return true;
}

bool ptxp_decimal(struct ptx_parser *p, struct nvm_text text, bool negative,
                  struct ptx_operand *o) {
  uint64_t bits;
  if (!float_from_decimal(text.bytes, text.length, FLOAT_DOUBLE, &bits))
    return fail_with(p, "'%t' is too large", text.bytes, text.length);
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
  return fail_with(p, format, bytes, length);
}

bool ptxp_mnemonic(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = name_text(p, name);
  p->op = (uint16_t)ptx_find_op(t.bytes, t.length);
  p->op_line = p->line;
  p->op_begin = begin_of(p, t);
  p->mods.count = 0;
  return p->op != PTX_NONE || fail_at_op(p, "unknown instruction '%t'", t.bytes, t.length);
}

bool ptxp_guard(struct ptx_parser *p, struct ptx_operand o, bool negated) {
  if (o.kind != PTX_OPERAND_REG || ptx_reg_class(o.reg) != PTX_PRED)
    return fail(p, "a guard must be a predicate register");
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

bool ptxp_instruction(struct ptx_parser *p, uint32_t operand_count) {
  struct ptx_need need;
  uint32_t before = p->f->entries.count;
  if (operand_count > UINT8_MAX || p->mods.count > UINT8_MAX) return fail(p, "too many operands");
  order_modifiers(p);
  if (!VEC_PUSH(&p->scratch, &p->mods, PTX_MOD_NONE)) return fail(p, "out of memory");
  p->stack.count -= operand_count;
  for (uint32_t k = 0; (p->op == PTX_LD || p->op == PTX_ST) && k < operand_count; k++)
    unwrap_single(p->f, &p->stack.data[p->stack.count + k]);
  ptx_add_guarded(p->f, p->guard, p->guard_negated, (enum ptx_op)p->op, p->mods.data,
                  p->stack.data + p->stack.count, operand_count);
  if (p->f->entries.count == before) return fail(p, "out of memory");
  struct ptx_entry *e = &p->f->entries.data[before];
  e->line = p->is_inline ? 0 : p->op_line;
  p->op = PTX_NONE;
  p->guard = (struct ptx_reg){0};
  p->guard_negated = false;
  return ptx_find_form(p->f, e, &need) || fail_instruction(p, e, &need);
}

bool ptxp_loc(struct ptx_parser *p, const uint64_t place[3], uint32_t function_name,
              const uint64_t inlined[4]) {
  struct ptx_operand o[6] = {ptx_i((int64_t)place[1]), ptx_i((int64_t)place[2])};
  uint32_t count = 2;
  if (inlined) {
    o[2] = ptx_symbol(module_name(p, function_name), (int64_t)inlined[3]);
    for (int i = 0; i < 3; i++) o[3 + i] = ptx_i((int64_t)inlined[i]);
    count = 6;
  }
  struct ptx_operand list = ptx_group(p->f, PTX_OPERAND_LIST, o, count);
  ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_LOC,
                                         .operand_count = (uint8_t)count,
                                         .first_mod = (uint32_t)place[0],
                                         .first_operand = list.first});
  return list.count == count || fail(p, "out of memory");
}

bool ptxp_pragma(struct ptx_parser *p, struct nvm_text text) {
  ptx_add_text(p->f, PTX_PRAGMA, text);
  return true;
}

/* --- variables -------------------------------------------------------------------------------- */

void ptxp_variable_begin(struct ptx_parser *p, uint16_t space) {
  p->variable = (struct ptx_variable){.space = space, .linkage = p->linkage};
}

bool ptxp_variable_word(struct ptx_parser *p, uint16_t mod) {
  if (mod == PTX_MOD_V2 || mod == PTX_MOD_V4) p->variable.vector = mod;
  else if (ptx_mod_row(mod)->bits != 0 || mod == PTX_MOD_TEXREF || mod == PTX_MOD_SAMPLERREF ||
           mod == PTX_MOD_SURFREF)
    p->variable.type = mod;
  else return fail_with(p, "unknown type '%t'", ptx_mod_row(mod)->text, ptx_mod_row(mod)->length);
  return true;
}

/* Also declares the name, except of registers, whose class depends on the type. */
void ptxp_variable_name(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = name_text(p, name);
  struct ptx_variable *v = &p->variable;
  v->is_array = v->is_unsized = false;
  v->count = 1;
  v->init_count = 0;
  v->first_init = p->module->inits.count;
  v->name = (struct nvm_str){0};
  v->reg = (struct ptx_reg){0};
  if (text_is(t, "_")) return;
  if (v->space == PTX_MOD_REG) {
    if (p->f && ptxp_reg(p, v->type, name, false, 1))
      v->reg = (struct ptx_reg){p->meaning.data[name].value};
    return;
  }
  v->name = module_name(p, name);
  declare_symbol(p, name);
}

void ptxp_variable_dimension(struct ptx_parser *p, bool sized, uint64_t count) {
  struct ptx_variable *v = &p->variable;
  if (!sized) v->is_unsized = true;
  else if (count != 0 && v->count > UINT64_MAX / count) fail(p, "array too large");
  else v->count *= count;
  v->is_array = true;
}

static bool add_init(struct ptx_parser *p, struct ptx_init init) {
  p->variable.init_count++;
  return VEC_PUSH(p->module->arena, &p->module->inits, init) || fail(p, "out of memory");
}

bool ptxp_init_number(struct ptx_parser *p, uint64_t bits) {
  const struct ptx_mod_row *type = ptx_mod_row(p->variable.type);
  if (type->kind == 'f' && bits != 0) return fail(p, "expected a floating-point number");
  if (type->bits != 0 && type->bits < 64)
    bits &= (UINT64_C(1) << type->bits) - 1; /* 0: a property */
  return add_init(p, (struct ptx_init){.bits = bits});
}

bool ptxp_init_float(struct ptx_parser *p, struct ptx_operand value) {
  const struct ptx_mod_row *type = ptx_mod_row(p->variable.type);
  enum float_format from = value.kind == PTX_OPERAND_F32 ? FLOAT_SINGLE : FLOAT_DOUBLE;
  enum float_format to = type->bits == 32 ? FLOAT_SINGLE : FLOAT_DOUBLE;
  if (type->kind != 'f' || type->bits < 32) return fail(p, "unexpected floating-point number");
  uint64_t bits = (uint64_t)value.imm;
  if (from != to) bits = float_convert_bits(bits, from, to, NULL);
  return add_init(p, (struct ptx_init){.bits = bits});
}

bool ptxp_init_symbol(struct ptx_parser *p, uint32_t name, bool generic, int64_t addend) {
  return add_init(
      p, (struct ptx_init){
             .bits = (uint64_t)addend, .symbol = module_name(p, name), .generic = generic});
}

bool ptxp_init_property(struct ptx_parser *p, uint32_t name) {
  return add_init(p, (struct ptx_init){.symbol = module_name(p, name), .is_property = true});
}

/* `0xFF00(symbol)`: the mask of the last initializer. */
bool ptxp_init_mask(struct ptx_parser *p, uint64_t mask) {
  for (uint8_t byte = 0; byte < 8; byte++)
    if (mask == UINT64_C(0xFF) << 8 * byte) {
      p->module->inits.data[p->module->inits.count - 1].mask_byte = (uint8_t)(byte + 1);
      return true;
    }
  return fail(p, "a mask selects one byte of an address");
}

bool ptxp_variable_end(struct ptx_parser *p) {
  struct ptx_variable *v = &p->variable;
  if (p->failed) return false;
  if (v->type == 0) return fail(p, "a variable needs a type");
  if (v->is_unsized && v->init_count > 0) {
    v->count = v->init_count;
    v->is_unsized = false;
  }
  if (p->f) {
    ptx_add_variable(p->f, *v);
    return true;
  }
  return VEC_PUSH(p->module->arena, &p->module->variables, *v) || fail(p, "out of memory");
}

bool ptxp_parameter_end(struct ptx_parser *p) {
  if (p->failed) return false;
  if (p->variable.type == 0) return fail(p, "a parameter needs a type");
  p->variable.linkage = 0;
  return VEC_PUSH(&p->scratch, &p->parameters, p->variable) || fail(p, "out of memory");
}

/* --- the module ------------------------------------------------------------------------------- */

bool ptxp_version(struct ptx_parser *p, struct nvm_text text) {
  bool good = text.length == 3 && text.bytes[1] == '.';
  if (!good) return fail_with(p, "unknown PTX version '%t'", text.bytes, text.length);
  p->module->ptx_version = (uint32_t)(text.bytes[0] - '0') * 10 + (uint32_t)(text.bytes[2] - '0');
  return true;
}

/* Accepts exactly the targets that --cpu accepts. */
bool ptxp_target(struct ptx_parser *p, uint32_t name, bool first) {
  struct nvm_text t = name_text(p, name);
  if (first && !tgt_find_cpu(t.bytes, t.length)) return fail_name(p, "unknown target '%t'", name);
  if (first) p->module->target = module_name(p, name);
  else if (text_is(t, "debug")) p->module->debug = true;
  else if (text_is(t, "texmode_independent")) p->module->texmode_independent = true;
  return true;
}

bool ptxp_file(struct ptx_parser *p, uint64_t number, struct nvm_text name) {
  struct ptx_module *m = p->module;
  if (number == 0 || number > 1000000) return fail(p, "file numbers are 1 to 1000000");
  struct nvm_str s = strtab_intern(m->strings, name.bytes, name.length);
  while (m->files.count < number)
    if (!VEC_PUSH(m->arena, &m->files, (struct nvm_str){0})) return fail(p, "out of memory");
  m->files.data[number - 1] = s;
  return true;
}

bool ptxp_triple(struct ptx_parser *p, uint32_t which, uint64_t x, uint64_t y, uint64_t z) {
  uint32_t *triples[] = {p->performance.maxntid, p->performance.reqntid,
                         p->performance.cluster_dim};
  if ((x | y | z) > UINT32_MAX) return fail(p, "this number is too large");
  triples[which][0] = (uint32_t)x;
  triples[which][1] = (uint32_t)y;
  triples[which][2] = (uint32_t)z;
  return true;
}

/* Called at the function's name. Results were read before the function existed, so registers of
 * .reg results are made here. */
bool ptxp_function_begin(struct ptx_parser *p, bool is_entry, uint32_t name) {
  struct ptx_function *f = arena_alloc(p->module->arena, sizeof *f);
  if (!f) return fail(p, "out of memory");
  ptx_function_init(f, p->module, p->module->arena);
  f->name = module_name(p, name);
  f->is_entry = is_entry;
  if (p->linkage == PTX_MOD_VISIBLE) f->flags = PTX_FUNC_VISIBLE;
  if (p->linkage == PTX_MOD_EXTERN) f->flags = PTX_FUNC_EXTERN;
  if (p->linkage == PTX_MOD_WEAK) f->flags = PTX_FUNC_WEAK;
  declare_symbol(p, name);
  for (uint32_t i = 0; i < p->parameters.count; i++)
    if (p->parameters.data[i].space == PTX_MOD_REG)
      return fail(p, "results in registers are not supported");
  p->linkage = 0;
  p->performance = (struct ptx_performance){0};
  p->f = f;
  p->first_label = f->labels.count;
  p->first_operand = 0;
  p->has_aliases = false;
  p->labels.count = 0;
  return open_scope(p);
}

static bool take_parameters(struct ptx_parser *p, struct ptx_function *f) {
  for (uint32_t i = 0; i < p->parameters.count; i++)
    if (!VEC_PUSH(f->arena, &f->params, p->parameters.data[i])) return fail(p, "out of memory");
  f->result_count = p->result_count;
  f->performance = p->performance;
  if (p->noreturn) f->flags |= PTX_FUNC_NORETURN;
  p->noreturn = false;
  return VEC_PUSH(p->module->arena, &p->module->functions, f) || fail(p, "out of memory");
}

bool ptxp_body_begin(struct ptx_parser *p) { return take_parameters(p, p->f); }

bool ptxp_function_end(struct ptx_parser *p, bool has_body) {
  struct ptx_function *f = p->f;
  f->is_declaration = !has_body;
  if ((!has_body && !take_parameters(p, f)) || !close_scope(p)) return false;
  resolve_aliases(p);
  p->f = NULL;
  return true;
}

bool ptxp_prototype(struct ptx_parser *p, uint32_t name) {
  struct ptx_module *m = p->module;
  struct ptx_prototype t = {.name = module_name(p, name),
                            .first_result = m->variables.count,
                            .result_count = p->result_count,
                            .first_param = m->variables.count + p->result_count,
                            .param_count = p->parameters.count - p->result_count,
                            .noreturn = p->noreturn};
  p->noreturn = false;
  for (uint32_t i = 0; i < p->parameters.count; i++)
    if (!VEC_PUSH(m->arena, &m->variables, p->parameters.data[i])) return fail(p, "out of memory");
  if (!VEC_PUSH(m->arena, &m->prototypes, t)) return fail(p, "out of memory");
  ptx_add_entry(p->f,
                (struct ptx_entry){.kind = PTX_PROTOTYPE, .first_mod = m->prototypes.count - 1});
  return declare_symbol(p, name);
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
  good = good && ptxyyparse(&p) == 0 && !p.failed;
  bool failed = p.scratch.failed || m->arena->failed;
  arena_free(&p.scratch);
  if (failed) return NVM_OUT_OF_MEMORY;
  if (!good && error->line == 0) fail(&p, "syntax error");
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
  good = good && open_scope(&p) && ptxyyparse(&p) == 0 && !p.failed && close_scope(&p);
  if (good) resolve_aliases(&p);
  good = good && !p.scratch.failed && !f->arena->failed;
  arena_free(&p.scratch);
  if (!good) return_to(f, &mark);
  return good;
}
