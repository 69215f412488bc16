/* Formatting: indentation and blanks at line ends. The IR has one statement a line in all texts
 * that compilers print, so lines are never joined or broken; nothing but white space at the begin
 * and end of lines changes, and no comment is lost. A text with errors is left alone, because the
 * nesting of its brackets is unknown. */
#include "driver/lsp/server.h"

#include "parser.h"

enum { INDENT = 2 };

struct formatter {
  struct document *d;
  struct json_writer *w;
  uint32_t token;    /* the first one that ends after the line's start */
  uint32_t function; /* the first one that ends after the line's start */
};

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static void put_edit(struct formatter *f, uint32_t begin, uint32_t end, uint32_t blanks) {
  static const char spaces[] = "        ";
  struct text *t = &f->d->text;
  bool same = end - begin == blanks;
  for (uint32_t k = begin; same && k < end; k++) same = t->bytes[k] == ' ';
  if (same) return;
  json_object(f->w);
  json_key(f->w, "range");
  text_put_range(t, f->w, (struct text_range){begin, end});
  json_member(f->w, "newText", (struct nvm_text){spaces, blanks});
  json_object_end(f->w);
}

/* Whether a token begins before the offset and ends after it: a string with a line end in it. */
static bool is_in_token(const struct formatter *f, uint32_t offset) {
  const struct index *x = &f->d->index;
  return f->token < x->tokens.count && x->tokens.data[f->token].begin < offset;
}

/* The blanks before the line's first token. */
static uint32_t indentation(struct formatter *f, const struct index_token *t) {
  const struct index *x = &f->d->index;
  while (f->function < x->functions.count && x->functions.data[f->function].end <= t->begin)
    f->function++;
  const struct index_function *in =
      f->function < x->functions.count ? &x->functions.data[f->function] : NULL;
  uint32_t token = (uint32_t)(t - x->tokens.data);
  bool in_body = in && in->body && token > in->body && token <= in->last_token;
  bool is_end = in_body && token == in->last_token;
  uint32_t depth = t->depth;
  if (depth > 0 && (t->kind == T_RBRACKET || t->kind == T_RPAREN || t->kind == T_RBRACE)) depth--;
  if (is_end || (in_body && t->kind == T_LABEL)) return 0;
  return (in_body ? INDENT : 0) + (depth ? INDENT : 0);
}

static void format_line(struct formatter *f, struct text_range line) {
  const struct index *x = &f->d->index;
  const char *bytes = f->d->text.bytes;
  while (f->token < x->tokens.count && x->tokens.data[f->token].end <= line.begin) f->token++;
  bool starts_inside = is_in_token(f, line.begin);
  uint32_t first = line.begin, last = line.end;
  while (first < line.end && is_blank(bytes[first])) first++;
  while (last > first && is_blank(bytes[last - 1])) last--;
  if (!starts_inside && first == line.end) put_edit(f, line.begin, line.end, 0);
  if (first == line.end) return;
  const struct index_token *t = f->token < x->tokens.count ? &x->tokens.data[f->token] : NULL;
  if (!starts_inside && t && t->begin == first)
    put_edit(f, line.begin, first, indentation(f, t));
  while (f->token < x->tokens.count && x->tokens.data[f->token].end <= line.end) f->token++;
  if (!is_in_token(f, line.end)) put_edit(f, last, line.end, 0);
}

void format_answer(struct server *s, const struct lsp_request *r) {
  struct document *d = server_document(s, r);
  if (!d) return;
  if (!server_module(s, d)) {
    server_null(s, r);
    return;
  }
  if (!server_index(d)) {
    server_error(s, r, RPC_INTERNAL_ERROR, "out of memory");
    return;
  }
  struct json_writer w = server_begin_result(s, r->id->source);
  struct formatter f = {.d = d, .w = &w};
  json_array(&w);
  uint32_t at = 0;
  while (at < d->text.length) {
    struct text_range line = text_line(&d->text, at);
    format_line(&f, line);
    at = line.end + 1 + (d->text.bytes[line.end] == '\r' && d->text.bytes[line.end + 1] == '\n');
  }
  json_array_end(&w);
  server_send(s);
}
