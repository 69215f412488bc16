/* Names that PTX accepts for every function and variable.
 *
 * PTX takes [a-zA-Z][a-zA-Z0-9_$]* and [_$][a-zA-Z0-9_$]+ (and %-names, which we leave to
 * registers) but for a few words that its parser keeps to itself. Who links with us depends on
 * names of symbols that other modules see, so those are settled first and stay as they are wherever
 * they are legal; then the legal names of the rest; what is left is rewritten, in source order: `.`
 * and `@` become
 * `_$_` as LLVM has it, other bytes `_$` and two digits, unnamed symbols `__unnamed_N`, and who
 * meets a name already taken gets `$` and a number. */
#include "codegen/lower.h"

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/* [a-zA-Z0-9_$], a bit for each of the 128 characters. */
static bool is_follow(char c) {
  uint64_t low = UINT64_C(0x3ff000000000000) | UINT64_C(1) << '$';
  uint64_t high = UINT64_C(0x7fffffe07fffffe) | UINT64_C(1) << ('_' - 64);
  return (unsigned char)c < 128 && ((c < 64 ? low : high) >> (c & 63) & 1);
}

/* Words that ptxas refuses as a symbol, and the one that every function may use for its frame. */
static bool is_reserved(struct nvm_text name) {
  static const char *const words[] = {"WARP_SZ", "function_name", "inlined_at", "__local_depot"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (text_is(name, words[i])) return true;
  return false;
}

static bool is_legal(struct nvm_text name) {
  if (name.length == 0) return false;
  if (!is_letter(name.bytes[0]) &&
      ((name.bytes[0] != '_' && name.bytes[0] != '$') || name.length == 1))
    return false;
  for (size_t i = 1; i < name.length; i++)
    if (!is_follow(name.bytes[i])) return false;
  return !is_reserved(name);
}

static bool is_local_linkage(uint8_t linkage) {
  return linkage == LINK_PRIVATE || linkage == LINK_INTERNAL;
}

/* --- which names are taken --- */

static bool is_taken(const struct lower *l, struct nvm_str name) {
  return name.index < l->taken_names.count && l->taken_names.data[name.index];
}

static bool take(struct lower *l, struct nvm_str name) {
  uint32_t wanted = name.index + 1;
  if (!VEC_RESERVE(&l->arena, &l->taken_names, wanted)) return false;
  if (l->taken_names.count < wanted) l->taken_names.count = wanted;
  l->taken_names.data[name.index] = true;
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

/* --- choosing --- */

static struct nvm_str *slot_of(struct lower *l, struct nvm_value symbol) {
  return value_kind(symbol) == VALUE_FUNCTION ? &l->function_names[value_index(symbol)]
                                              : &l->global_names[value_index(symbol)];
}

/* Intrinsics are no symbols. */
static bool needs_name(const struct lower *l, struct nvm_value symbol) {
  return !value_is_none(symbol) && (value_kind(symbol) != VALUE_FUNCTION ||
                                    module_function(l->module, symbol)->intrinsic == 0);
}

/* Lets symbols of one kind of linkage keep the names they have. */
static bool keep_names(struct lower *l, bool local) {
  const struct nvm_module *m = l->module;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (!needs_name(l, v)) continue;
    const struct symbol *s = module_symbol(m, v);
    if (is_local_linkage(s->linkage) != local || !is_legal(module_text(m, s->name))) continue;
    *slot_of(l, v) = s->name;
    if (!take(l, s->name)) return false;
  }
  return true;
}

static void write_legal(struct textbuf *b, struct nvm_text name) {
  if (name.length && name.bytes[0] >= '0' && name.bytes[0] <= '9') textbuf_char(b, '_');
  for (size_t i = 0; i < name.length; i++) {
    size_t begin = i;
    while (i < name.length && is_follow(name.bytes[i])) i++;
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

/* A legal name that nobody has, made from `b`, which is used up. `tried` is the last number that
 * any name got: it only grows, so that many symbols of one name don't try the same numbers again.
 */
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
  l->function_names = arena_alloc(&l->arena, m->functions.count * sizeof *l->function_names);
  l->global_names = arena_alloc(&l->arena, m->globals.count * sizeof *l->global_names);
  if (!l->function_names || !l->global_names) return false;
  return keep_names(l, false) && keep_names(l, true) && rewrite_names(l);
}

/* --- looking up --- */

struct nvm_value names_resolve_alias(const struct lower *l, struct nvm_value symbol) {
  if (value_kind(symbol) != VALUE_GLOBAL) return symbol;
  const struct nvm_global *g = module_global(l->module, symbol);
  return g->is_alias ? g->aliasee : symbol;
}

struct nvm_str names_of_symbol(const struct lower *l, struct nvm_value global_or_function) {
  struct nvm_value v = names_resolve_alias(l, global_or_function);
  if (value_kind(v) == VALUE_FUNCTION) return l->function_names[value_index(v)];
  if (value_kind(v) == VALUE_GLOBAL) return l->global_names[value_index(v)];
  return (struct nvm_str){0};
}
