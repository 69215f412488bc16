/* Completion: names of the sigil that was typed, ops where an instruction begins, types elsewhere.
 * The words come from the tables of ir/, names from the index. */
#include "driver/lsp/server.h"

#include "ir/attribute.h"
#include "ir/intrinsic.h"
#include "ir/ops.h"

enum {
  MAX_ITEMS = 300, /* of one answer, which then says that there are more */
  KIND_FUNCTION = 3,
  KIND_VARIABLE = 6,
  KIND_KEYWORD = 14,
  KIND_STRUCT = 22,
  KIND_TYPE = 25,
};

struct completion {
  struct document *d;
  struct json_writer *w;
  struct text_range replaced; /* the typed prefix, with its sigil */
  uint32_t count;
  bool is_more;
};

static bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '$';
}

static struct text_range prefix_before(const struct text *t, uint32_t offset) {
  uint32_t begin = offset;
  while (begin > 0 && is_word_byte(t->bytes[begin - 1])) begin--;
  if (begin > 0 && t->bytes[begin - 1] && strchr("%@!#", t->bytes[begin - 1])) begin--;
  return (struct text_range){begin, offset};
}

/* Adds `label` if it begins with the prefix. */
static void add(struct completion *c, struct nvm_text label, unsigned kind, const char *detail) {
  uint32_t typed = c->replaced.end - c->replaced.begin;
  const char *prefix = c->d->text.bytes + c->replaced.begin;
  if (label.length < typed || memcmp(label.bytes, prefix, typed) != 0) return;
  c->is_more = c->is_more || c->count == MAX_ITEMS;
  if (c->count == MAX_ITEMS) return;
  c->count++;
  json_object(c->w);
  json_member(c->w, "label", label);
  json_number(c->w, "kind", kind);
  if (*detail) json_member(c->w, "detail", text_of(detail));
  json_key(c->w, "textEdit"), json_object(c->w);
  json_key(c->w, "range"), text_put_range(&c->d->text, c->w, c->replaced);
  json_member(c->w, "newText", label);
  json_object_end(c->w);
  json_object_end(c->w);
}

/* The definitions that can be named at the prefix: those of its function, and those of the module.
 * Other names than words need quotes, and numbers are not typed. */
static void add_names(struct completion *c, char sigil) {
  const struct index *x = &c->d->index;
  for (uint32_t k = 0; k < x->names.count; k++) {
    const struct index_name *n = &x->names.data[k];
    const struct index_function *f = index_function_of(x, n);
    bool local = n->kind == INDEX_LOCAL;
    bool here = !f || (f->begin <= c->replaced.begin && c->replaced.end <= f->end);
    bool fits = sigil == '%'   ? local || n->kind == INDEX_TYPE
                : sigil == '@' ? n->kind == INDEX_GLOBAL
                : sigil == '!' ? n->kind == INDEX_METADATA
                               : n->kind == INDEX_GROUP;
    if (!n->is_definition || !here || !fits || (local && n->is_number)) continue;
    struct nvm_text inside = {c->d->text.bytes + n->inside.begin, n->inside.end - n->inside.begin};
    char label[256];
    struct textbuf b;
    textbuf_init_fixed(&b, label, sizeof label);
    textbuf_format(&b, "%c%t", sigil, inside);
    if (inside.length + 2 > sizeof label) continue;
    add(c, (struct nvm_text){label, b.length},
        n->kind == INDEX_TYPE     ? KIND_STRUCT
        : n->kind == INDEX_GLOBAL ? KIND_FUNCTION
                                  : KIND_VARIABLE,
        n->is_block ? "block" : "");
  }
}

static void add_intrinsics(struct completion *c) {
  for (uint32_t k = 1; k < INTRINSIC_COUNT; k++) {
    char label[256];
    struct textbuf b;
    textbuf_init_fixed(&b, label, sizeof label);
    textbuf_format(&b, "@%s", intrinsic_table[k].name);
    if (b.length + 1 < sizeof label)
      add(c, (struct nvm_text){label, b.length}, KIND_FUNCTION, intrinsic_table[k].signature);
  }
}

static void add_words(struct completion *c, bool begins_instruction) {
  static const char *const types[] = {"i1",   "i8",     "i16",   "i32",    "i64", "i128",
                                      "half", "bfloat", "float", "double", "ptr", "void"};
  const struct op_info *last = NULL; /* rows of one keyword follow each other */
  for (enum op k = 0; begins_instruction && k < OP_COUNT; last = &op_table[k++])
    if (!last || strcmp(op_table[k].keyword, last->keyword) != 0)
      add(c, text_of(op_table[k].keyword), KIND_KEYWORD, op_table[k].meaning);
  for (size_t k = 0; !begins_instruction && k < sizeof types / sizeof *types; k++)
    add(c, text_of(types[k]), KIND_TYPE, "");
  for (int k = 1; !begins_instruction && k < ATTR_ID_COUNT; k++)
    if (attr_table[k].keyword) add(c, text_of(attr_table[k].keyword), KIND_KEYWORD, "attribute");
}

/* Whether only blanks, or a name and `=`, are before the prefix in its line. */
static bool is_at_instruction(struct text *t, uint32_t offset) {
  uint32_t at = offset, begin = text_line(t, offset).begin;
  while (at > begin && (t->bytes[at - 1] == ' ' || t->bytes[at - 1] == '\t')) at--;
  return at == begin || t->bytes[at - 1] == '=';
}

void complete_answer(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  struct text_range prefix = prefix_before(&d->text, offset);
  char sigil = prefix.end > prefix.begin ? d->text.bytes[prefix.begin] : '\0';
  struct json_writer w = server_begin_result(s, r->id->source);
  struct completion c = {.d = d, .w = &w, .replaced = prefix};
  json_object(&w);
  json_key(&w, "items"), json_array(&w);
  if (sigil && strchr("%@!#", sigil)) add_names(&c, sigil);
  else add_words(&c, is_at_instruction(&d->text, prefix.begin));
  if (sigil == '@') add_intrinsics(&c);
  json_array_end(&w);
  json_key(&w, "isIncomplete"), json_bool(&w, c.is_more);
  json_object_end(&w);
  server_send(s);
}
