/* Names that PTX accepts for all functions and variables.
 *
 * PTX accepts [a-zA-Z][a-zA-Z0-9_$]* and [_$][a-zA-Z0-9_$]+ (%-names are for registers) except a
 * few reserved words. Other modules refer to external symbols by name, so these are assigned first
 * and keep their legal names; local symbols with legal names come next. The others are rewritten in
 * source order: `.` and `@` become `_$_` as in LLVM, other bytes `_$` and two hexadecimal digits,
 * unnamed symbols `__unnamed_N`; a name that is taken gets `$` and a number. */
#include "codegen/symbol.h"

struct names {
  struct nvm_str *of_function, *of_global; /* by index */
  VEC(bool) taken;                         /* by string: some symbol has it as its PTX name */
};

/* [a-zA-Z0-9_$], a bit for each of the 128 characters. */
static bool is_name_character(char c) {
  uint64_t low = UINT64_C(0x3ff000000000000) | UINT64_C(1) << '$';
  uint64_t high = UINT64_C(0x7fffffe07fffffe) | UINT64_C(1) << ('_' - 64);
  return (unsigned char)c < 128 && ((c < 64 ? low : high) >> (c & 63) & 1);
}

/* Words that ptxas refuses as symbols, and the name of every function's frame. */
static bool is_reserved(struct nvm_text name) {
  static const char *const words[] = {"WARP_SZ", "function_name", "inlined_at", "__local_depot"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (text_is(name, words[i])) return true;
  return false;
}

static bool is_legal(struct nvm_text name) {
  for (size_t i = 0; i < name.length; i++)
    if (!is_name_character(name.bytes[i])) return false;
  if (name.length == 0 || (name.bytes[0] >= '0' && name.bytes[0] <= '9')) return false;
  bool is_mark = name.bytes[0] == '_' || name.bytes[0] == '$';
  return (name.length > 1 || !is_mark) && !is_reserved(name);
}

/* --- Taken names --- */

static bool is_taken(const struct lower *l, struct nvm_str name) {
  return name.index < l->names->taken.count && l->names->taken.data[name.index];
}

static bool take(struct lower *l, struct nvm_str name) {
  uint32_t wanted = name.index + 1;
  if (!VEC_RESERVE(&l->arena, &l->names->taken, wanted)) return false;
  if (l->names->taken.count < wanted) l->names->taken.count = wanted;
  l->names->taken.data[name.index] = true;
  return true;
}

struct nvm_str names_of_local(struct lower *l, const char *name) {
  struct textbuf b;
  struct nvm_str s = module_str(l->module, name);
  if (!is_taken(l, s)) return s;
  textbuf_init(&b, &l->function_arena);
  textbuf_puts(&b, name);
  do {
    textbuf_char(&b, '$');
    s = strtab_intern(&l->module->strings, b.bytes, b.length);
  } while (is_taken(l, s) && !b.arena->failed);
  return s;
}

/* --- Assignment --- */

static struct nvm_str *slot_of(struct lower *l, struct nvm_value symbol) {
  return value_kind(symbol) == VALUE_FUNCTION ? &l->names->of_function[value_index(symbol)]
                                              : &l->names->of_global[value_index(symbol)];
}

/* Intrinsics have no PTX names. */
static bool needs_name(const struct lower *l, struct nvm_value symbol) {
  return !value_is_none(symbol) && (value_kind(symbol) != VALUE_FUNCTION ||
                                    module_function(l->module, symbol)->intrinsic == 0);
}

/* Symbols that are local, or those that are not, keep their legal names. */
static bool keep_names(struct lower *l, bool local) {
  const struct nvm_module *m = l->module;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (!needs_name(l, v)) continue;
    const struct symbol *s = module_symbol(m, v);
    bool is_local = s->linkage == LINK_PRIVATE || s->linkage == LINK_INTERNAL;
    if (is_local != local || !is_legal(module_text(m, s->name))) continue;
    *slot_of(l, v) = s->name;
    if (!take(l, s->name)) return false;
  }
  return true;
}

static void write_legal(struct textbuf *b, struct nvm_text name) {
  if (name.length && name.bytes[0] >= '0' && name.bytes[0] <= '9') textbuf_char(b, '_');
  for (size_t i = 0; i < name.length; i++) {
    size_t begin = i;
    while (i < name.length && is_name_character(name.bytes[i])) i++;
    textbuf_write(b, name.bytes + begin, i - begin);
    if (i == name.length) return;
    char c = name.bytes[i];
    if (c == '.' || c == '@') textbuf_puts(b, "_$_");
    else {
      textbuf_puts(b, "_$");
      textbuf_hex(b, (unsigned char)c, 2, false);
    }
  }
}

/* A legal name that is free: the text of `b`, if need be with a number. *tried, the last number
 * that any name got, only grows: many symbols of one name do not try the same numbers again. */
static struct nvm_str make_unique(struct lower *l, struct textbuf *b, uint32_t *tried) {
  size_t length = b->length;
  for (;;) {
    struct nvm_str s = strtab_intern(&l->module->strings, b->bytes, b->length);
    if (b->arena->failed || module_out_of_memory(l->module)) return (struct nvm_str){0};
    if (is_legal((struct nvm_text){b->bytes, b->length}) && !is_taken(l, s)) return s;
    b->length = length;
    textbuf_char(b, '$');
    textbuf_unsigned(b, ++*tried);
  }
}

static bool rewrite_names(struct lower *l) {
  const struct nvm_module *m = l->module;
  struct textbuf b;
  textbuf_init(&b, &l->arena);
  uint32_t unnamed = 0, tried = 0;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (!needs_name(l, v) || slot_of(l, v)->index != 0) continue;
    struct nvm_str name = module_symbol(m, v)->name;
    b.length = 0;
    if (name.index) write_legal(&b, module_text(m, name));
    else textbuf_format(&b, "__unnamed_%u", ++unnamed);
    struct nvm_str s = make_unique(l, &b, &tried);
    *slot_of(l, v) = s;
    if (s.index == 0 || !take(l, s)) return false;
  }
  return true;
}

bool names_assign(struct lower *l) {
  const struct nvm_module *m = l->module;
  struct names *n = l->names = arena_alloc(&l->arena, sizeof *n);
  if (!n) return false;
  n->of_function = arena_alloc(&l->arena, m->functions.count * sizeof *n->of_function);
  n->of_global = arena_alloc(&l->arena, m->globals.count * sizeof *n->of_global);
  if (!n->of_function || !n->of_global) return false;
  return keep_names(l, false) && keep_names(l, true) && rewrite_names(l);
}

/* --- Lookup --- */

struct nvm_str names_of_alias(const struct lower *l, struct nvm_value alias) {
  return l->names->of_global[value_index(alias)];
}

struct nvm_str names_of_symbol(const struct lower *l, struct nvm_value global_or_function) {
  struct nvm_value v = module_resolve_alias(l->module, global_or_function);
  if (value_kind(v) == VALUE_FUNCTION) return l->names->of_function[value_index(v)];
  if (value_kind(v) == VALUE_GLOBAL) return l->names->of_global[value_index(v)];
  return (struct nvm_str){0};
}
