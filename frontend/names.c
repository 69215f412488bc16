/* Names: what %x, %5, @f and labels refer to, before and after they are defined.
 *
 * Names are interned in the module's string table, and a table with one slot per string says what a
 * name means; numbers have such tables of their own. Slots of local names carry the stamp of their
 * function, so nothing has to be cleared between functions.
 *
 * A local value used before its definition becomes a VALUE_FORWARD handle, and the operand slots
 * that got one are listed; at the end of the function one pass over that list puts in the
 * definitions. Blocks are created when they are first named, symbols by scan.c. */
#include "frontend/names.h"

#include "frontend/lexer.h"
#include "frontend/report.h"
#include "frontend/scan.h"
#include "ir/function.h"

/* What a name means. One slot for every string of the module's string table. */
struct local_slot {
  uint32_t stamp; /* of the function that `value` belongs to */
  struct nvm_value value;
};
struct name_slot {
  struct local_slot local;
  struct nvm_value global;
};

/* A local value used before its definition. forwards[0] stands for names whose definition had an
 * error: it has any type. */
struct forward {
  struct nvm_value value; /* once defined */
  struct nvm_type type;
  uint32_t begin, end; /* of the first use */
};

struct block_use {
  uint32_t begin, end; /* of the first use, or of the definition */
  bool defined;
};

struct names {
  VEC(struct name_slot) slots;
  VEC(struct local_slot) numbers; /* %N */
  VEC(uint32_t) global_numbers;   /* @N: bits of a struct nvm_value */
  VEC(uint32_t) nodes;            /* !N: index into the module's nodes */
  VEC(struct symbol_use) function_uses, global_uses;
  /* The current function. */
  uint32_t stamp, next_number;
  VEC(struct forward) forwards;
  VEC(struct block_use) blocks;
};

bool names_init(struct parser *p) {
  return (p->name_tables = arena_alloc(&p->scratch, sizeof *p->name_tables)) != NULL;
}

uint32_t names_begin(const struct parser *p, const struct token *t) {
  uint32_t begin = t->begin;
  if (begin > 0 && p->text[begin - 1] == '"') begin--;
  char sigil = begin > 0 ? p->text[begin - 1] : '\0';
  bool named = sigil == '%' || sigil == '@' || sigil == '$' || sigil == '!' || sigil == '#';
  return begin - named;
}

static uint32_t token_end(const struct parser *p, const struct token *t) {
  uint32_t end = t->begin + t->length;
  return p->text[end] == '"' ? end + 1 : end;
}

/* ---- Strings ---- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

struct nvm_str names_unescape(struct parser *p, uint32_t begin, uint32_t length) {
  const char *s = p->text + begin;
  if (!VEC_RESERVE(&p->scratch, &p->bytes, length)) return (struct nvm_str){0};
  uint32_t n = 0;
  for (uint32_t i = 0; i < length; i++) {
    char c = s[i];
    if (c == '\\' && i + 1 < length && s[i + 1] == '\\') {
      i++;
    } else if (c == '\\' && i + 2 < length && hex_digit(s[i + 1]) >= 0 &&
               hex_digit(s[i + 2]) >= 0) {
      c = (char)(hex_digit(s[i + 1]) << 4 | hex_digit(s[i + 2]));
      i += 2;
    }
    p->bytes.data[n++] = c;
  }
  p->bytes.count = n;
  return strtab_intern(&p->m->strings, p->bytes.data, n);
}

struct nvm_str names_string(struct parser *p, const struct token *t) {
  if (t->number == NAME_ESCAPED) return names_unescape(p, t->begin, t->length);
  return strtab_intern(&p->m->strings, p->text + t->begin, t->length);
}

/* ---- Slots ---- */

/* The slot of names that could not be stored; parsing ends out of memory. */
static struct name_slot *name_slot(struct parser *p, struct nvm_str name) {
  if (name.index >= p->name_tables->slots.count) {
    if (!VEC_RESERVE(&p->scratch, &p->name_tables->slots, (uint64_t)name.index + 1)) return NULL;
    p->name_tables->slots.count = p->name_tables->slots.capacity;
  }
  return &p->name_tables->slots.data[name.index];
}

/* Numbers far beyond what a text of this length can define are interned as strings. */
static bool is_dense(const struct parser *p, uint64_t n) {
  return n < (uint64_t)(p->limit - p->text) / 8 + 1024;
}

static struct name_slot *sparse_slot(struct parser *p, char sigil, uint64_t n) {
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  textbuf_char(&b, '\0');
  textbuf_char(&b, sigil);
  textbuf_unsigned(&b, n);
  struct nvm_str name = strtab_intern(&p->m->strings, b.bytes ? b.bytes : "", b.length);
  return name_slot(p, name);
}

uint32_t *names_numbered(struct parser *p, char sigil, uint64_t n) {
  if (!is_dense(p, n)) {
    struct name_slot *s = sparse_slot(p, sigil, n);
    return s ? &s->global.bits : NULL;
  }
  if (sigil == '@') {
    if (n >= p->name_tables->global_numbers.count) {
      if (!VEC_RESERVE(&p->scratch, &p->name_tables->global_numbers, n + 1)) return NULL;
      p->name_tables->global_numbers.count = p->name_tables->global_numbers.capacity;
    }
    return &p->name_tables->global_numbers.data[n];
  }
  if (n >= p->name_tables->nodes.count) {
    if (!VEC_RESERVE(&p->scratch, &p->name_tables->nodes, n + 1)) return NULL;
    p->name_tables->nodes.count = p->name_tables->nodes.capacity;
  }
  return &p->name_tables->nodes.data[n];
}

static struct local_slot *number_slot(struct parser *p, uint64_t n) {
  if (n < p->name_tables->numbers.count) return &p->name_tables->numbers.data[n];
  if (!is_dense(p, n)) {
    struct name_slot *s = sparse_slot(p, '%', n);
    return s ? &s->local : NULL;
  }
  if (!VEC_RESERVE(&p->scratch, &p->name_tables->numbers, n + 1)) return NULL;
  p->name_tables->numbers.count = p->name_tables->numbers.capacity;
  return &p->name_tables->numbers.data[n];
}

/* The slot of a local name; its value is VALUE_NULL if it has none in this function. */
static struct local_slot *local_slot(struct parser *p, uint32_t begin, uint32_t length, uint64_t id,
                                     struct nvm_str *name) {
  struct local_slot *slot;
  *name = (struct nvm_str){0};
  if (id < NAME_ESCAPED) {
    slot = number_slot(p, id);
  } else {
    struct token t = {begin, length, id};
    *name = names_string(p, &t);
    struct name_slot *s = name_slot(p, *name);
    slot = s ? &s->local : NULL;
  }
  if (slot && slot->stamp != p->name_tables->stamp)
    *slot = (struct local_slot){p->name_tables->stamp, VALUE_NULL};
  return slot;
}

/* ---- Values ---- */

struct nvm_type names_type(const struct parser *p, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_INST: return p->f->insts.data[value_index(v)].type;
    case VALUE_ARG: return type_member(&p->m->types, p->f->type, value_index(v));
    case VALUE_FORWARD: return p->name_tables->forwards.data[value_index(v)].type;
    case VALUE_BLOCK: return TYPE_LABEL;
    case VALUE_NONE:
    case VALUE_CONST:
    case VALUE_GLOBAL:
    case VALUE_FUNCTION: break;
  }
  return module_value_type(p->m, v);
}

struct nvm_value names_forward(struct parser *p, struct nvm_type type, uint32_t begin,
                               uint32_t end) {
  struct forward f = {VALUE_NULL, type, begin, end};
  if (!VEC_PUSH(&p->scratch, &p->name_tables->forwards, f)) return VALUE_NULL;
  return value_make(VALUE_FORWARD, p->name_tables->forwards.count - 1);
}

bool names_resolve_forward(struct parser *p, struct nvm_value forward, struct nvm_value v) {
  struct forward *f = &p->name_tables->forwards.data[value_index(forward)];
  f->value = v;
  return type_equal(f->type, names_type(p, v));
}

/* Reports a value of the wrong type and returns poison, so that parsing continues. */
static struct nvm_value wrong_type(struct parser *p, const struct token *t, struct nvm_value v,
                                   struct nvm_type type) {
  uint32_t begin = names_begin(p, t);
  if (value_kind(v) == VALUE_BLOCK)
    report_token(p, DIAG_LABEL_AS_VALUE, begin, report_type(p, type), NULL);
  else if (value_kind(v) != VALUE_FORWARD || value_index(v) != 0)
    report_token(p, DIAG_VALUE_TYPE, begin, report_type(p, names_type(p, v)), report_type(p, type));
  return const_poison(p->m, type);
}

struct nvm_value names_local(struct parser *p, const struct literal *l, struct nvm_type type) {
  struct token t = {l->begin, l->length, l->id};
  if (!p->f) {
    report_token(p, DIAG_LOCAL_OUTSIDE_FUNCTION, names_begin(p, &t), NULL, NULL);
    return const_poison(p->m, type);
  }
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, l->begin, l->length, l->id, &name);
  if (!slot) return VALUE_NULL;
  if (value_is_none(slot->value)) {
    struct nvm_value forward = names_forward(p, type, names_begin(p, &t), token_end(p, &t));
    slot->value = forward;
  }
  struct nvm_value v = slot->value;
  if (!type_equal(names_type(p, v), type)) return wrong_type(p, &t, v, type);
  if (value_kind(v) == VALUE_FORWARD) p->saw_forward = true;
  return v;
}

static void report_redefined(struct parser *p, const struct token *t, struct nvm_value first) {
  uint32_t begin = names_begin(p, t), first_begin = 0;
  uint32_t end = token_end(p, t);
  const char *text = report_copy(p, p->text + begin, end - begin);
  report(p, DIAG_REDEFINED, begin, end, text, NULL, NULL);
  if (value_kind(first) == VALUE_INST) first_begin = p->f->positions.data[value_index(first)];
  else if (value_kind(first) == VALUE_BLOCK)
    first_begin = p->name_tables->blocks.data[value_index(first)].begin;
  else return;
  report(p, DIAG_FIRST_HERE, first_begin, lexer_token_end(p, first_begin), text, NULL, NULL);
}

/* Numbers ascend; gaps are allowed. */
static void take_number(struct parser *p, const struct token *t) {
  if (t->number >= NAME_ESCAPED) return;
  if (t->number < p->name_tables->next_number)
    report_token(p, DIAG_VALUE_NUMBER, names_begin(p, t),
                 report_number(p, p->name_tables->next_number), NULL);
  else p->name_tables->next_number = (uint32_t)t->number + 1;
}

/* Defines the slot as v of that type and resolves earlier uses. */
static void define_slot(struct parser *p, struct local_slot *slot, const struct token *t,
                        struct nvm_value v, struct nvm_type type) {
  struct nvm_value old = slot->value;
  if (value_kind(old) == VALUE_FORWARD) {
    struct forward *f = &p->name_tables->forwards.data[value_index(old)];
    if (value_index(old) != 0 && value_is_none(f->value)) {
      f->value = v;
      if (!type_equal(f->type, type)) {
        report(p, DIAG_VALUE_TYPE, f->begin, f->end,
               report_copy(p, p->text + f->begin, f->end - f->begin), report_type(p, type),
               report_type(p, f->type));
        f->value = const_poison(p->m, f->type);
      }
    }
  } else if (!value_is_none(old)) {
    report_redefined(p, t, old);
    return;
  }
  slot->value = v;
}

void names_define(struct parser *p, const struct token *t, struct nvm_inst_id inst) {
  struct token numbered = {p->function_begin, 1, p->name_tables->next_number};
  if (!t) t = &numbered;
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, t->begin, t->length, t->number, &name);
  take_number(p, t);
  if (!slot) return;
  p->f->names.data[inst.index] = name;
  define_slot(p, slot, t, value_of_inst(inst), p->f->insts.data[inst.index].type);
}

void names_define_argument(struct parser *p, const struct token *t, uint32_t i) {
  struct token numbered = {p->function_begin, 1, p->name_tables->next_number};
  bool named = t->length != 0;
  if (!named) t = &numbered;
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, t->begin, t->length, t->number, &name);
  take_number(p, t);
  if (!slot) return;
  if (p->f->arg_names) p->f->arg_names[i] = name;
  define_slot(p, slot, t, value_of_arg(i), type_member(&p->m->types, p->f->type, i));
}

void names_mark_broken(struct parser *p, const struct token *t) {
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, t->begin, t->length, t->number, &name);
  if (t->number < NAME_ESCAPED && t->number >= p->name_tables->next_number)
    p->name_tables->next_number = (uint32_t)t->number + 1;
  if (!slot) return;
  struct nvm_value v = slot->value;
  if (value_is_none(v)) {
    slot->value = value_make(VALUE_FORWARD, 0);
  } else if (value_kind(v) == VALUE_FORWARD && value_index(v) != 0) {
    struct forward *f = &p->name_tables->forwards.data[value_index(v)];
    if (value_is_none(f->value)) f->value = const_poison(p->m, f->type);
    slot->value = value_make(VALUE_FORWARD, 0);
  }
}

/* ---- Blocks ---- */

static struct nvm_block add_block(struct parser *p, struct nvm_str name, struct block_use use) {
  struct nvm_block b = function_add_block(p->f, name);
  if (b.index == 0 || !VEC_RESERVE(&p->scratch, &p->name_tables->blocks, (uint64_t)b.index + 1))
    return (struct nvm_block){0};
  if (p->name_tables->blocks.count <= b.index) p->name_tables->blocks.count = b.index + 1;
  p->name_tables->blocks.data[b.index] = use;
  return b;
}

struct nvm_value names_block(struct parser *p, const struct token *t) {
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, t->begin, t->length, t->number, &name);
  if (!slot) return VALUE_NULL;
  struct nvm_value v = slot->value;
  if (value_is_none(v)) {
    struct block_use use = {names_begin(p, t), token_end(p, t), false};
    struct nvm_block b = add_block(p, name, use);
    if (b.index == 0) return VALUE_NULL;
    slot->value = v = value_of_block(b);
  }
  if (value_kind(v) == VALUE_BLOCK) return v;
  if (value_kind(v) != VALUE_FORWARD || value_index(v) != 0)
    report_token(p, DIAG_VALUE_AS_LABEL, names_begin(p, t), NULL, NULL);
  return VALUE_NULL;
}

/* Opens the block of a slot at the end of the layout. */
static struct nvm_block open_block(struct parser *p, struct local_slot *slot, const struct token *t,
                                   struct nvm_str name) {
  struct block_use use = {names_begin(p, t), token_end(p, t), true};
  struct nvm_value v = slot ? slot->value : VALUE_NULL;
  if (value_kind(v) == VALUE_BLOCK && !p->name_tables->blocks.data[value_index(v)].defined) {
    struct nvm_block b = {value_index(v)};
    p->name_tables->blocks.data[b.index] = use;
    if (p->f->last_block.index != b.index) function_move_block(p->f, b, (struct nvm_block){0});
    return b;
  }
  struct nvm_block b = add_block(p, name, use);
  if (slot && b.index) define_slot(p, slot, t, value_of_block(b), TYPE_LABEL);
  return b;
}

void names_define_block(struct parser *p, const struct token *t) {
  if (p->block.index)
    report(p, DIAG_MISSING_TERMINATOR, names_begin(p, t), t->begin + t->length, NULL, NULL, NULL);
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, t->begin, t->length, t->number, &name);
  take_number(p, t);
  p->block = open_block(p, slot, t, name);
}

struct nvm_block names_new_block(struct parser *p) {
  struct token t = {p->token_begin, 0, p->name_tables->next_number++};
  struct nvm_str name;
  struct local_slot *slot = local_slot(p, t.begin, t.length, t.number, &name);
  return open_block(p, slot, &t, name);
}

/* ---- Functions ---- */

void names_begin_function(struct parser *p) {
  p->name_tables->stamp++;
  p->name_tables->next_number = 0;
  p->name_tables->forwards.count = 0;
  p->fixups.count = 0;
  p->name_tables->blocks.count = 0;
  p->saw_forward = false;
  VEC_PUSH(&p->scratch, &p->name_tables->forwards, (struct forward){0});
}

/* The value of a forward handle; reports the first undefined one. */
static struct nvm_value settle(struct parser *p, struct nvm_value v) {
  struct forward *f = &p->name_tables->forwards.data[value_index(v)];
  if (value_is_none(f->value)) {
    if (value_index(v) != 0)
      report(p, DIAG_UNDEFINED_LOCAL, f->begin, f->end,
             report_copy(p, p->text + f->begin, f->end - f->begin), NULL, NULL);
    f->value = const_poison(p->m, f->type.index ? f->type : TYPE_I1);
  }
  return f->value;
}

/* An operand `metadata ptr %x` whose value was forward. */
static struct nvm_value settle_metadata(struct parser *p, struct nvm_value v) {
  const struct constant_info *c = constant_info(&p->m->constants, v);
  if (c->kind != CONST_METADATA) return v;
  struct meta_item item = *meta_item(&p->m->metadata, (struct nvm_meta){c->meta});
  if (item.kind != META_VALUE || value_kind(item.value) != VALUE_FORWARD) return v;
  struct nvm_meta meta = meta_value(&p->m->metadata, settle(p, item.value), item.type);
  return const_metadata(p->m, meta.index);
}

static void apply_fixup(struct parser *p, struct fixup fix) {
  struct nvm_function *f = p->f;
  if (fix.inst.index == 0) {
    struct nvm_meta *m = &p->m->metadata.operands.data[fix.operand];
    struct meta_item item = *meta_item(&p->m->metadata, *m);
    struct nvm_meta settled = meta_value(&p->m->metadata, settle(p, item.value), item.type);
    p->m->metadata.operands.data[fix.operand] = settled;
    return;
  }
  struct nvm_value v = inst_operand(f, function_inst(f, fix.inst), fix.operand);
  if (value_kind(v) == VALUE_FORWARD) v = settle(p, v);
  else if (value_kind(v) == VALUE_CONST) v = settle_metadata(p, v);
  inst_set_operand(f, fix.inst, fix.operand, v);
}

void names_end_function(struct parser *p) {
  for (uint32_t i = 0; i < p->fixups.count; i++) apply_fixup(p, p->fixups.data[i]);
  for (uint32_t i = 1; i < p->name_tables->blocks.count; i++) {
    const struct block_use *b = &p->name_tables->blocks.data[i];
    if (!b->defined)
      report(p, DIAG_UNDEFINED_LABEL, b->begin, b->end,
             report_copy(p, p->text + b->begin, b->end - b->begin), NULL, NULL);
  }
}

/* ---- Symbols ---- */

static uint32_t *symbol_entry(struct parser *p, const struct token *t, struct nvm_str *name) {
  *name = (struct nvm_str){0};
  if (t->number < NAME_ESCAPED) return names_numbered(p, '@', t->number);
  *name = names_string(p, t);
  struct name_slot *s = name_slot(p, *name);
  return s ? &s->global.bits : NULL;
}

static struct nvm_value add_symbol(struct parser *p, struct nvm_str name, bool is_function) {
  return is_function ? module_add_function(p->m, name) : module_add_global(p->m, name);
}

struct nvm_value names_symbol(struct parser *p, const struct token *t, bool is_function) {
  struct nvm_str name;
  uint32_t *entry = symbol_entry(p, t, &name);
  if (entry && *entry) return (struct nvm_value){*entry};
  scan_tokens(p);
  entry = symbol_entry(p, t, &name);
  if (!entry) return VALUE_NULL;
  if (*entry == 0) *entry = add_symbol(p, name, is_function).bits;
  return (struct nvm_value){*entry};
}

void names_scanned_symbol(struct parser *p, const struct token *t, bool is_function) {
  struct nvm_str name;
  uint32_t *entry = symbol_entry(p, t, &name);
  if (entry && *entry == 0) *entry = add_symbol(p, name, is_function).bits;
}

struct symbol_use *names_use(struct parser *p, struct nvm_value symbol) {
  uint32_t i = value_index(symbol);
  if (value_kind(symbol) == VALUE_FUNCTION) {
    if (!VEC_RESERVE(&p->scratch, &p->name_tables->function_uses, (uint64_t)i + 1)) return NULL;
    if (p->name_tables->function_uses.count <= i) p->name_tables->function_uses.count = i + 1;
    return &p->name_tables->function_uses.data[i];
  }
  if (!VEC_RESERVE(&p->scratch, &p->name_tables->global_uses, (uint64_t)i + 1)) return NULL;
  if (p->name_tables->global_uses.count <= i) p->name_tables->global_uses.count = i + 1;
  return &p->name_tables->global_uses.data[i];
}

uint32_t names_space(const struct parser *p, struct nvm_value symbol) {
  return value_kind(symbol) == VALUE_FUNCTION ? module_function(p->m, symbol)->address_space
                                              : module_global(p->m, symbol)->address_space;
}

void names_note_use(struct parser *p, struct nvm_value symbol, const struct token *t,
                    uint32_t space) {
  struct symbol_use *use = names_use(p, symbol);
  if (!use) return;
  uint32_t begin = names_begin(p, t);
  if (use->end == 0) use->begin = begin, use->end = token_end(p, t);
  if (module_symbol(p->m, symbol)->defined) {
    uint32_t has = names_space(p, symbol);
    if (has != space)
      report_token(p, DIAG_SYMBOL_SPACE, begin, report_number(p, has), report_number(p, space));
  } else if (use->space == 0) {
    use->space = space + 1;
  }
}

struct nvm_value names_global(struct parser *p, const struct literal *l, struct nvm_type type) {
  struct token t = {l->begin, l->length, l->id};
  uint32_t begin = names_begin(p, &t);
  if (!type_is_ptr(&p->m->types, type)) {
    report_token(p, DIAG_VALUE_TYPE, begin, "ptr", report_type(p, type));
    return const_poison(p->m, type);
  }
  struct nvm_value v = names_symbol(p, &t, false);
  if (value_is_none(v)) return v;
  names_note_use(p, v, &t, type_info(&p->m->types, type)->width);
  return v;
}
