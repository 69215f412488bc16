/* Linking of the built-in mathematics library; see mathlib.h.
 *
 * The generated table (tools/gen/gen_mathlib.c) has the items of the library's modules, each with
 * the items that it refers to. Those that a module needs, directly or through others, are joined to
 * the text of one small module, which is parsed and linked as other libraries are: the time goes
 * with what is needed. Functions that only other functions of the library need are made internal,
 * so that symbols of the user with these names are neither used nor replaced. */
#include "mathlib/mathlib.h"

#include "frontend/link.h"
#include "frontend/parse.h"
#include "ir/function.h"

struct mathlib_item {
  uint32_t name, type, text; /* offsets into mathlib_bytes, of texts that end in a NUL */
  uint32_t first_need;       /* index into mathlib_needs */
  uint16_t need_count;
  bool is_definition; /* the text lacks `define` and the linkage */
  bool is_public;
};

#include "mathlib.inc"

/* Whether an item is needed: by the library only, or by the module too. */
enum need { NOT_NEEDED, INSIDE, OUTSIDE };

struct selection {
  uint8_t needed[MATHLIB_ITEMS]; /* enum need */
  uint16_t open[MATHLIB_ITEMS];  /* needed, their own needs not added yet */
  uint32_t open_count;
};

static const char *item_name(const struct mathlib_item *i) { return mathlib_bytes + i->name; }
static const char *item_type(const struct mathlib_item *i) { return mathlib_bytes + i->type; }

/* How "@item" compares with "@" and the name, as strcmp() does. */
static int compare_symbol(const char *item, struct nvm_text name) {
  struct nvm_text other = text_of(item + 1);
  size_t common = other.length < name.length ? other.length : name.length;
  int order = *item - '@';
  if (order == 0) order = memcmp(other.bytes, name.bytes, common);
  if (order == 0) order = (other.length > name.length) - (other.length < name.length);
  return order;
}

/* The public function of this name, or NULL. */
static const struct mathlib_item *find(struct nvm_text name) {
  uint32_t low = 0, high = MATHLIB_ITEMS;
  if (!text_begins(name, "__nv_")) return NULL;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    const struct mathlib_item *item = &mathlib_items[middle];
    int order = compare_symbol(item_name(item), name);
    if (order == 0) return item->is_public ? item : NULL;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* Of link_math(): its functions have these types in the library. */
static bool has_function(const void *library, struct nvm_text name, enum type_kind kind,
                         uint32_t count) {
  (void)library, (void)kind, (void)count;
  return find(name) != NULL;
}

static void select_item(struct selection *s, uint32_t k, enum need need) {
  if (s->needed[k] == NOT_NEEDED) s->open[s->open_count++] = (uint16_t)k;
  if (s->needed[k] < need) s->needed[k] = (uint8_t)need;
}

/* Whether the module declares the function with the library's type; reports if not. */
static bool has_type(const struct nvm_module *m, const struct nvm_function *f,
                     const struct mathlib_item *item, struct diag_sink *sink) {
  char bytes[256];
  struct textbuf b;
  textbuf_init_fixed(&b, bytes, sizeof bytes);
  type_print(&m->types, f->type, &b);
  struct nvm_text found = {b.bytes, b.length};
  if (text_is(found, item_type(item))) return true;
  struct nvm_text arguments[] = {module_text(m, f->symbol.name), found, text_of(item_type(item))};
  if (sink) diag_report(sink, DIAG_MATHLIB_TYPE, f->symbol.where, arguments, 3);
  return false;
}

static const struct mathlib_item *declared_item(const struct nvm_module *m,
                                                const struct nvm_function *f) {
  return function_is_declaration(f) ? find(module_text(m, f->symbol.name)) : NULL;
}

static bool declares_any(const struct nvm_module *m) {
  bool any = false;
  for (uint32_t n = 1; !any && n < m->functions.count; n++)
    any = declared_item(m, m->functions.data[n]) != NULL;
  return any;
}

static void mark_functions(bool *used, const struct nvm_value *values, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (value_kind(values[k]) == VALUE_FUNCTION) used[value_index(values[k])] = true;
}

/* The functions that code or constants refer to: some modules declare all of libdevice. NULL when
 * out of memory. */
static bool *used_functions(const struct nvm_module *m, struct arena *arena) {
  bool *used = arena_alloc(arena, m->functions.count * sizeof *used);
  if (!used) return NULL;
  memset(used, 0, m->functions.count * sizeof *used);
  mark_functions(used, m->constants.operands.data, m->constants.operands.count);
  for (uint32_t n = 1; n < m->functions.count; n++)
    mark_functions(used, m->functions.data[n]->operands.data, m->functions.data[n]->operands.count);
  for (uint32_t n = 1; n < m->globals.count; n++) {
    mark_functions(used, &m->globals.data[n].initializer, 1);
    mark_functions(used, &m->globals.data[n].aliasee, 1);
  }
  return used;
}

/* Selects for the module what it declares and uses, or what is selected already. */
static void select_declared(struct selection *s, const struct nvm_module *m, const bool *used,
                            struct diag_sink *sink) {
  for (uint32_t n = 1; n < m->functions.count; n++) {
    const struct nvm_function *f = m->functions.data[n];
    const struct mathlib_item *item = declared_item(m, f);
    if (!item) continue;
    uint32_t k = (uint32_t)(item - mathlib_items);
    if ((used[n] || s->needed[k] != NOT_NEEDED) && has_type(m, f, item, sink))
      select_item(s, k, OUTSIDE);
  }
}

static void select_needs(struct selection *s) {
  while (s->open_count) {
    const struct mathlib_item *item = &mathlib_items[s->open[--s->open_count]];
    for (uint32_t k = 0; k < item->need_count; k++)
      select_item(s, mathlib_needs[item->first_need + k], INSIDE);
  }
}

static void write_selected(const struct selection *s, struct textbuf *out) {
  for (uint32_t k = 0; k < MATHLIB_ITEMS; k++) {
    const struct mathlib_item *item = &mathlib_items[k];
    if (s->needed[k] == NOT_NEEDED) continue;
    if (item->is_definition)
      textbuf_puts(out, s->needed[k] == OUTSIDE ? "define " : "define internal ");
    textbuf_puts(out, mathlib_bytes + item->text);
  }
  textbuf_char(out, '\0');
}

/* Links the module of this text; its diagnostics, which only an error of ours causes, are dropped.
 */
static enum nvm_status link_text(struct nvm_module *m, struct nvm_text text, struct arena *arena) {
  struct diag_sink sink;
  diag_sink_init(&sink, arena, 1);
  struct nvm_module *library = module_create(m->arena.allocator, 0);
  if (!library) return NVM_OUT_OF_MEMORY;
  enum nvm_status status =
      parse_module(library, text.bytes, text.length, "mathlib", LINK_SOURCE_FROM, &sink);
  if (status == NVM_OK) status = link_modules(m, library, true, &sink);
  module_destroy(library);
  return status == NVM_REFUSED ? NVM_BUG : status;
}

/* Links what the module declares and uses; `arena` is for the text and its diagnostics. */
static enum nvm_status link_declared(struct nvm_module *m, struct diag_sink *sink,
                                     struct arena *arena) {
  struct selection s = {.open_count = 0};
  struct textbuf text;
  const bool *used = used_functions(m, arena);
  if (!used) return NVM_OUT_OF_MEMORY;
  select_declared(&s, m, used, sink);
  if (s.open_count == 0) return NVM_OK;
  select_needs(&s);
  select_declared(&s, m, used, NULL);
  textbuf_init(&text, arena);
  write_selected(&s, &text);
  if (arena->failed) return NVM_OUT_OF_MEMORY;
  return link_text(m, (struct nvm_text){text.bytes, text.length - 1}, arena);
}

enum nvm_status mathlib_link(struct nvm_module *m, struct diag_sink *sink) {
  struct arena arena;
  if (!link_math(m, has_function, NULL)) return NVM_OUT_OF_MEMORY;
  if (!declares_any(m)) return NVM_OK;
  arena_init(&arena, m->arena.allocator);
  enum nvm_status status = link_declared(m, sink, &arena);
  arena_free(&arena);
  return status;
}
