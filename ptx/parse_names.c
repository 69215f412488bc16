/* The names of PTX text: what a name means in each scope, registers, labels; and errors.
 *
 * A name's meaning is one record per interned name. Entering a scope remembers how long the undo
 * list is, leaving it puts the records back, so that looking up never searches. A `%r<5>` declares
 * one record for its prefix; `%r3` gets its own record when it is first used.
 *
 * Labels may be used before they are defined, and each scope may define its own. A use makes a
 * label of the innermost scope; one that is still undefined when its scope ends becomes the outer
 * scope's label of that name (an alias, if there is one already), and the operands are changed at
 * the end. */
#include "ptx/parse_state.h"

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

bool parse_fail_with(struct ptx_parser *p, const char *format, const char *bytes, size_t length) {
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

bool parse_fail(struct ptx_parser *p, const char *message) {
  return parse_fail_with(p, "%t", message, strlen(message));
}

struct nvm_text parse_text(const struct ptx_parser *p, uint32_t name) {
  return strtab_text(&p->names, (struct nvm_str){name});
}

bool parse_fail_name(struct ptx_parser *p, const char *format, uint32_t name) {
  struct nvm_text t = parse_text(p, name);
  return parse_fail_with(p, format, t.bytes, t.length);
}

bool parse_fail_outside(struct ptx_parser *p, const char *format, uint32_t name) {
  if (p->error && !p->failed) p->error->is_fragment = true;
  return parse_fail_name(p, format, name);
}

void parse_syntax_error(struct ptx_parser *p) {
  size_t length = (size_t)(p->cursor - p->token);
  bool unmatched = p->token >= p->end || *p->token == '}';
  if (p->error && !p->failed) p->error->is_fragment = unmatched;
  if (p->token >= p->end) parse_fail(p, "unexpected end of text");
  else parse_fail_with(p, "unexpected '%t'", p->token, length < 60 ? length : 60);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Declares the name until the scope ends. */
static bool set_meaning(struct ptx_parser *p, uint32_t name, struct ptx_name meaning) {
  struct ptx_name *n = &p->meaning.data[name];
  if (p->scopes.count > 0 && !VEC_PUSH(&p->scratch, &p->undo, (struct ptx_undo){name, *n}))
    return parse_fail(p, "out of memory");
  meaning.symbol = n->symbol;
  if (meaning.range.count == 0) meaning.range = n->range;
  p->meaning.data[name] = meaning;
  return true;
}

struct nvm_str parse_module_name(struct ptx_parser *p, uint32_t name) {
  struct ptx_name *n = &p->meaning.data[name];
  if (n->symbol.index == 0) {
    struct nvm_text t = parse_text(p, name);
    n->symbol = strtab_intern(p->module->strings, t.bytes, t.length);
  }
  return n->symbol;
}

bool parse_declare_symbol(struct ptx_parser *p, uint32_t name) {
  const struct ptx_name *n = &p->meaning.data[name];
  uint32_t value = p->scopes.count == 0 && n->kind == NAME_SYMBOL ? n->value : 0;
  return set_meaning(p, name, (struct ptx_name){.kind = NAME_SYMBOL, .value = value});
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
  struct nvm_text t = parse_text(p, name);
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

bool parse_find_meaning(struct ptx_parser *p, uint32_t name) {
  struct nvm_text t = parse_text(p, name);
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

bool parse_reg(struct ptx_parser *p, uint16_t type, uint32_t name, bool is_prefix, uint64_t count) {
  enum ptx_class class;
  if (!class_of(type, &class))
    return parse_fail_with(p, "no register has the type '%t'", ptx_mod_row(type)->text,
                           ptx_mod_row(type)->length);
  uint32_t first = p->f->reg_count[class] + 1;
  if (count > MAX_REGISTERS || first > MAX_REGISTERS) return parse_fail(p, "too many registers");
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
  struct nvm_text t = parse_text(p, name);
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

uint32_t parse_label_of(struct ptx_parser *p, uint32_t name) {
  struct ptx_name *n = &p->meaning.data[name];
  return n->kind == NAME_LABEL ? n->value : new_label(p, name);
}

uint32_t parse_define_label(struct ptx_parser *p, uint32_t name) {
  struct ptx_name *n = &p->meaning.data[name];
  uint32_t label = n->kind == NAME_LABEL ? n->value : 0;
  if (label == 0 || label_state(p, label)->scope != p->scopes.count) label = new_label(p, name);
  if (label == 0) {
    parse_fail(p, "out of memory");
    return 0;
  }
  if (label_state(p, label)->defined) {
    parse_fail_name(p, "label '%t' is already defined", name);
    return 0;
  }
  label_state(p, label)->defined = true;
  return label;
}

bool parse_label(struct ptx_parser *p, uint32_t name) {
  uint32_t label = parse_define_label(p, name);
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
    if (p->scopes.count == 0)
      return parse_fail_outside(p, "label '%t' is not defined", state->name);
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

void parse_resolve_aliases(struct ptx_parser *p) {
  for (uint32_t i = p->first_operand; p->has_aliases && i < p->f->operands.count; i++) {
    struct ptx_operand *o = &p->f->operands.data[i];
    if (o->kind != PTX_OPERAND_LABEL || o->label < p->first_label) continue;
    while (label_state(p, o->label)->alias != 0) o->label = label_state(p, o->label)->alias;
  }
}

/* --- scopes ----------------------------------------------------------------------------------- */

bool parse_open_scope(struct ptx_parser *p) {
  struct ptx_scope s = {p->undo.count, p->scope_labels.count, p->f->entries.count,
                        p->f->variables.count};
  if (p->scopes.count == MAX_SCOPES) return parse_fail(p, "scopes are nested too deeply");
  return VEC_PUSH(&p->scratch, &p->scopes, s) || parse_fail(p, "out of memory");
}

bool parse_close_scope(struct ptx_parser *p) {
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

bool parse_scope_begin(struct ptx_parser *p) {
  if (!parse_open_scope(p)) return false;
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

bool parse_scope_end(struct ptx_parser *p) {
  struct ptx_scope s = p->scopes.data[p->scopes.count - 1];
  if (s.variables == p->f->variables.count) drop_scope_begin(p->f, s.entry);
  else ptx_add_entry(p->f, (struct ptx_entry){.kind = PTX_SCOPE_END});
  return parse_close_scope(p);
}
