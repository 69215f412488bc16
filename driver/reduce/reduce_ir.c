/* Candidates of IR: reductions of the module (reductions.h), simpler types, fewer passes. A
 * candidate is built from the text of the best version, so nothing has to be undone; those that the
 * verifier rejects are not tried. */
#include "driver/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "driver/reduce/reductions.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

struct nvm_module *reduce_parse(const char *text, size_t length) {
  struct nvm_module *m = module_create(nvm_default_allocator, 0);
  struct diag_sink sink;
  if (!m) return NULL;
  diag_sink_init(&sink, &m->arena, 1);
  if (parse_module(m, text, length, "", 0, &sink) == NVM_OK &&
      verify_module(m, &sink, 0) == NVM_OK) {
    m->source_filename = (struct nvm_str){0};
    return m;
  }
  module_destroy(m);
  return NULL;
}

bool reduce_print(struct nvm_module *m, char **text, size_t *length) {
  struct textbuf out;
  struct diag_sink sink;
  textbuf_init(&out, &m->arena);
  diag_sink_init(&sink, &m->arena, 1);
  bool valid =
      verify_module(m, &sink, 0) == NVM_OK && print_module(m, &out) == NVM_OK && !m->arena.failed;
  *text = valid ? malloc(out.length + 1) : NULL;
  *length = out.length;
  if (!*text) return false;
  if (out.length) memcpy(*text, out.bytes, out.length);
  (*text)[out.length] = '\0';
  return true;
}

/* Makes the module's text the candidate's, if it is valid and differs from the best version. */
static void offer(const struct reduced_file *f, struct nvm_module *m, struct candidate *c) {
  if (!reduce_print(m, &c->text, &c->length)) return;
  if (c->length != f->length || memcmp(c->text, f->text, c->length) != 0) return;
  free(c->text);
  c->text = NULL;
}

static void make_reduction(const struct reduction_state *r, const void *what, uint32_t first,
                           uint32_t count, struct candidate *c) {
  const struct reduced_file *f = &r->files[r->current];
  struct nvm_module *m = reduce_parse(f->text, f->length);
  if (!m) return;
  c->places = (*(reduction *const *)what)(m, first, count);
  if (count) offer(f, m, c);
  module_destroy(m);
}

/* ---- Types ---- */

/* Replacements of one type by another in the whole text, overloaded intrinsic names included. */
static const char *const simpler_types[][2] = {
    {"i128", "i64"},   {"i100", "i64"},    {"i65", "i64"}, {"i63", "i64"}, {"i48", "i64"},
    {"i33", "i32"},    {"i31", "i32"},     {"i24", "i32"}, {"i16", "i32"}, {"i13", "i32"},
    {"i8", "i32"},     {"i7", "i32"},      {"i3", "i32"},  {"i64", "i32"}, {"double", "float"},
    {"half", "float"}, {"bfloat", "float"}};

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char *with_type(const char *text, const char *from, const char *to) {
  size_t length = strlen(text), n = 0, size = strlen(from);
  char *out = malloc(2 * length + 1);
  for (const char *p = text; out && *p;) {
    bool whole = strncmp(p, from, size) == 0 && !is_word(p[size]) && (p == text || !is_word(p[-1]));
    const char *from_here = whole ? to : p;
    size_t bytes = whole ? strlen(to) : 1;
    memcpy(out + n, from_here, bytes);
    n += bytes;
    p += whole ? size : 1;
  }
  if (out) out[n] = '\0';
  return out;
}

static void make_type(const struct reduction_state *r, const void *what, uint32_t first,
                      uint32_t count, struct candidate *c) {
  (void)what;
  c->places = sizeof simpler_types / sizeof *simpler_types;
  if (!count) return;
  const struct reduced_file *f = &r->files[r->current];
  char *text = with_type(f->text, simpler_types[first][0], simpler_types[first][1]);
  struct nvm_module *m = text ? reduce_parse(text, strlen(text)) : NULL;
  if (m) offer(f, m, c);
  if (m) module_destroy(m);
  free(text);
}

/* ---- Passes ---- */

/* Leaves out `count` passes of the list from `first` on. */
static void make_passes(const struct reduction_state *r, const void *what, uint32_t first,
                        uint32_t count, struct candidate *c) {
  const struct reduced_file *f = &r->files[r->current];
  char *fewer = malloc(strlen(r->passes) + 1);
  size_t n = 0;
  (void)what;
  if (!fewer) return;
  for (const char *at = r->passes; *at; c->places++) {
    size_t length = strcspn(at, ",");
    if (c->places < first || c->places - first >= count) {
      if (n) fewer[n++] = ',';
      memcpy(fewer + n, at, length);
      n += length;
    }
    at += length + (at[length] == ',');
  }
  fewer[n] = '\0';
  c->passes = fewer;
  if (count && (c->text = malloc(f->length + 1)) != NULL) memcpy(c->text, f->text, f->length + 1);
  c->length = f->length;
  if (c->text) return;
  free(fewer);
  c->passes = NULL;
}

bool reduce_ir(struct reduction_state *r) {
  bool any = r->passes && search_places(r, make_passes, NULL, UINT32_MAX);
  for (reduction *const *each = reductions_all; *each; each++)
    any |= search_places(r, make_reduction, each, UINT32_MAX);
  return search_places(r, make_type, NULL, 1) || any;
}
