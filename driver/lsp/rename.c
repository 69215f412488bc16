/* Rename: of arguments, results, blocks, globals, types, metadata, attribute groups and comdats.
 *
 * Refused are numbers of values, which the language counts, names of intrinsics, names that the
 * document does not define or declare, and new names that exist in the same scope. A comdat
 * and a global of one name are renamed together: `comdat` alone refers to the global's name. */
#include "driver/lsp/server.h"

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("-$._", c) != NULL);
}

static bool is_digits(struct nvm_text t) {
  size_t digits = 0;
  while (digits < t.length && t.bytes[digits] >= '0' && t.bytes[digits] <= '9') digits++;
  return digits == t.length;
}

static bool is_plain(struct nvm_text t) {
  if (t.bytes[0] >= '0' && t.bytes[0] <= '9') return false;
  for (size_t i = 0; i < t.length; i++)
    if (!is_name_char(t.bytes[i])) return false;
  return true;
}

static bool is_symbol(const struct index_name *n) {
  return n->kind == INDEX_GLOBAL || n->kind == INDEX_COMDAT;
}

/* Whether both are renamed together. */
static bool is_bound(const struct index_name *a, const struct index_name *b) {
  if (is_symbol(a) && is_symbol(b))
    return a->name.index == b->name.index && a->is_number == b->is_number;
  return index_same(a, b);
}

/* Why the name cannot be renamed; NULL: it can. */
static const char *refusal(const struct index *x, const struct index_name *n) {
  bool counted = n->kind != INDEX_METADATA && n->kind != INDEX_GROUP;
  if (n->is_number && counted) return "numbers of values cannot be renamed: they are consecutive";
  if (n->kind == INDEX_GLOBAL && text_begins(index_text(x, n), "llvm."))
    return "names that begin with 'llvm.' are fixed";
  return index_definition(x, n) ? NULL : "the document does not define the name";
}

/* Why `name` is not valid for n; NULL: it is. */
static const char *invalid(const struct index_name *n, struct nvm_text name) {
  bool numbered = n->is_number;
  if (name.length == 0) return "the new name is empty";
  if (numbered && (!is_digits(name) || name.length > 9)) return "the new name must be a number";
  if (numbered) return NULL;
  if (is_digits(name)) return "the new name must not be a number";
  if (n->kind == INDEX_METADATA && !is_plain(name)) return "the new name has invalid characters";
  if (n->kind == INDEX_GLOBAL && text_begins(name, "llvm."))
    return "names that begin with 'llvm.' are fixed";
  for (size_t i = 0; i < name.length; i++)
    if ((unsigned char)name.bytes[i] < ' ' || name.bytes[i] == 0x7f)
      return "the new name has control characters";
  return NULL;
}

/* Whether another name of the same scope is written so. */
static bool clashes(const struct index *x, const struct index_name *n, struct nvm_text name) {
  struct nvm_str found = strtab_find(&x->strings, name.bytes, name.length);
  if (!found.index || found.index == n->name.index) return false;
  for (uint32_t k = 0; k < x->names.count; k++) {
    const struct index_name *other = &x->names.data[k];
    bool same_scope = is_symbol(n) ? is_symbol(other)
                                   : other->kind == n->kind && other->function == n->function;
    if (same_scope && other->name.index == found.index && other->is_number == n->is_number)
      return true;
  }
  return false;
}

/* As it is written after the sigil. */
static struct nvm_text written(struct arena *arena, struct nvm_text name, bool number) {
  struct textbuf b;
  if (number || is_plain(name)) return name;
  textbuf_init(&b, arena);
  textbuf_char(&b, '"');
  for (size_t i = 0; i < name.length; i++) {
    if (name.bytes[i] != '"' && name.bytes[i] != '\\') textbuf_char(&b, name.bytes[i]);
    else textbuf_puts(&b, name.bytes[i] == '"' ? "\\22" : "\\5C");
  }
  textbuf_char(&b, '"');
  return (struct nvm_text){b.bytes, b.length};
}

/* The new name without the sigil that names of the kind have, which users may type or not. */
static struct nvm_text without_sigil(const struct document *d, const struct index_name *n,
                                     struct nvm_text name) {
  static const char sigils[] = {[INDEX_LOCAL] = '%',    [INDEX_GLOBAL] = '@', [INDEX_TYPE] = '%',
                                [INDEX_METADATA] = '!', [INDEX_GROUP] = '#',  [INDEX_COMDAT] = '$'};
  (void)d;
  if (name.length > 1 && name.bytes[0] == sigils[n->kind]) name.bytes++, name.length--;
  return name;
}

void rename_prepare(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  const struct index_name *n = index_name_at(&d->index, offset);
  const char *why = n ? refusal(&d->index, n) : NULL;
  if (why) {
    server_error(s, r, RPC_REQUEST_FAILED, why);
  } else if (!n) {
    server_null(s, r);
  } else {
    struct json_writer w = server_begin_result(s, r->id->source);
    json_object(&w);
    json_key(&w, "range"), text_put_range(&d->text, &w, n->inside);
    json_member(&w, "placeholder", index_text(&d->index, n));
    json_object_end(&w);
    server_send(s);
  }
}

static void put_edits(struct server *s, const struct lsp_request *r, struct document *d,
                      const struct index_name *n, struct nvm_text text) {
  struct json_writer w = server_begin_result(s, r->id->source);
  json_object(&w);
  json_key(&w, "changes"), json_object(&w);
  /* a URI may need escapes, which a key does not get */
  textbuf_text(&s->out, text_of(""));
  json_string(&w, text_of(d->uri));
  textbuf_char(&s->out, ':');
  w.after_key = true;
  json_array(&w);
  for (uint32_t k = 0; k < d->index.names.count; k++) {
    const struct index_name *other = &d->index.names.data[k];
    if (!is_bound(n, other)) continue;
    json_object(&w);
    json_key(&w, "range"), text_put_range(&d->text, &w, other->inside);
    json_member(&w, "newText", text);
    json_object_end(&w);
  }
  json_array_end(&w);
  json_object_end(&w);
  json_object_end(&w);
  server_send(s);
}

void rename_answer(struct server *s, const struct lsp_request *r) {
  uint32_t offset;
  struct nvm_text name;
  struct document *d = server_place(s, r, &offset);
  if (!d) return;
  if (!json_get_string(json_find(r->params, "newName"), &name)) {
    server_error(s, r, RPC_INVALID_PARAMS, "newName is not a string");
    return;
  }
  const struct index_name *n = index_name_at(&d->index, offset);
  const char *why = n ? refusal(&d->index, n) : "there is no name at the position";
  if (!why) name = without_sigil(d, n, name), why = invalid(n, name);
  if (!why && clashes(&d->index, n, name)) why = "the new name exists already";
  if (why) server_error(s, r, RPC_REQUEST_FAILED, why);
  else put_edits(s, r, d, n, written(&s->arena, name, n->is_number));
}
