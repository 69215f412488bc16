/* Text:  file:line:column: error: message       (bitcode: file: byte offset: error: …)
 *           12 | the source line
 *              |     ^~~~ under the range
 *        hint: what to try
 * JSON:  the same as one object a line, UTF-8 whatever the input was.
 *
 * Columns in the location count bytes, as other compilers do; the caret is placed by terminal
 * cells: tabs advance to multiples of eight, wide characters take two cells, combining marks none,
 * and each invalid byte is one replacement character. A long line is cut to the part around the
 * range. */
#include "driver/render.h"

#include "driver/progress.h"
#include "support/diag.h"
#include "support/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  SHOWN_CELLS = 100, /* maximum of one source line */
  LEAD_CELLS = 40,   /* before the range in a cut line */
  TAB_CELLS = 8,
};

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

struct render render_start(bool json) {
  const char *no_colour = getenv("NO_COLOR");
  const char *term = getenv("TERM");
  bool plain =
      (no_colour != NULL && *no_colour != '\0') || (term != NULL && strcmp(term, "dumb") == 0);
  return (struct render){.out = stderr, .json = json, .colour = !json && !plain && isatty(2)};
}

static const char *severity_name(enum nvmini_severity s) {
  switch (s) {
    case NVMINI_ERROR: return "error";
    case NVMINI_WARNING: return "warning";
    case NVMINI_REMARK: return "remark";
    case NVMINI_NOTE: return "note";
  }
  return "error";
}

/* ---- UTF-8 ---- */

/* Decodes one character: returns its bytes (1 to 4, at most `length` > 0); *code: its code point,
 * or UINT32_MAX for a byte that is not valid UTF-8. */
static size_t decode(const char *s, size_t length, uint32_t *code) {
  unsigned char first = (unsigned char)s[0];
  *code = first;
  if (first < 0x80) return 1;
  size_t bytes = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : 2;
  *code = UINT32_MAX;
  if (first < 0xC2 || first > 0xF4 || bytes > length) return 1;
  uint32_t value = first & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; i++) {
    if (((unsigned char)s[i] & 0xC0) != 0x80) return 1;
    value = value << 6 | ((unsigned char)s[i] & 0x3F);
  }
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[bytes] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return 1;
  *code = value;
  return bytes;
}

/* The terminal cells of a code point: the blocks of Unicode's East Asian Width and combining marks
 * that occur in source text. */
static unsigned cells(uint32_t c) {
  static const struct {
    uint32_t first, last;
    unsigned cells;
  } blocks[] = {
      {0x0300, 0x036F, 0},   {0x200B, 0x200F, 0},   {0x20D0, 0x20FF, 0},   {0xFE00, 0xFE0F, 0},
      {0xFE20, 0xFE2F, 0},   {0x1100, 0x115F, 2},   {0x2E80, 0x303E, 2},   {0x3041, 0x33FF, 2},
      {0x3400, 0x4DBF, 2},   {0x4E00, 0x9FFF, 2},   {0xA000, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},
      {0xF900, 0xFAFF, 2},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
      {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
  };
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
    if (c >= blocks[i].first && c <= blocks[i].last) return blocks[i].cells;
  return 1;
}

/* Cells of the character of `bytes` bytes at s when the cursor is at `column`. */
static unsigned shown_cells(uint32_t code, unsigned column) {
  if (code == '\t') return TAB_CELLS - column % TAB_CELLS;
  return code == UINT32_MAX ? 1 : cells(code);
}

static void put_character(FILE *out, const char *s, size_t bytes, uint32_t code, unsigned width) {
  bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  if (code == '\t') fprintf(out, "%*s", (int)width, "");
  else if (code == UINT32_MAX || control) fputs(replacement, out);
  else fwrite(s, 1, bytes, out);
}

/* A message may quote any bytes of the input: the same, without tabs. */
static void put_text(FILE *out, struct nvmini_text t) {
  for (size_t at = 0; at < t.length;) {
    uint32_t code;
    size_t bytes = decode(t.bytes + at, t.length - at, &code);
    put_character(out, t.bytes + at, bytes, code, 1);
    at += bytes;
  }
}

/* ---- The source line and its caret ---- */

/* The line around a range, as byte offsets into the source. */
struct line {
  const char *text;
  size_t length;
  size_t begin, end; /* the range in it; end > begin */
};

static struct line find_line(const struct nvmini_diagnostic *d) {
  size_t start = (size_t)d->begin - (d->column - 1);
  if (d->begin > d->source.length) start = d->source.length - (d->column - 1);
  const char *text = d->source.bytes + start;
  const char *newline = memchr(text, '\n', d->source.length - start);
  struct line l = {text, newline == NULL ? d->source.length - start : (size_t)(newline - text),
                   d->column - 1, d->column};
  if (l.length > 0 && text[l.length - 1] == '\r') l.length--;
  if (d->end > d->begin) l.end = l.begin + (size_t)(d->end - d->begin);
  if (l.end > l.length) l.end = l.length;
  if (l.end <= l.begin) l.end = l.begin + 1;
  return l;
}

/* The first byte shown: 0, or the start of a character LEAD_CELLS bytes before the range. */
static size_t first_shown(const struct line *l) {
  if (l->begin < SHOWN_CELLS - LEAD_CELLS / 2) return 0;
  size_t at = l->begin - LEAD_CELLS;
  while (at > 0 && ((unsigned char)l->text[at] & 0xC0) == 0x80) at--;
  return at;
}

static void put_source(const struct render *r, const struct nvmini_diagnostic *d) {
  struct line l = find_line(d);
  size_t start = first_shown(&l);
  const char *lead = start > 0 ? "..." : "";
  fprintf(r->out, "%6u | %s", d->line, lead);
  unsigned column = 0, caret = 0, caret_end = 0;
  size_t at = start;
  while (at < l.length && column < SHOWN_CELLS) {
    uint32_t code;
    size_t bytes = decode(l.text + at, l.length - at, &code);
    unsigned width = shown_cells(code, column);
    if (at <= l.begin) caret = column;
    put_character(r->out, l.text + at, bytes, code, width);
    column += width;
    at += bytes;
    if (at <= l.end) caret_end = column;
  }
  if (l.begin >= at) caret = column;
  fprintf(r->out, "%s\n       | %*s%s", at < l.length ? "..." : "", (int)(caret + strlen(lead)), "",
          r->colour ? "\033[1;32m" : "");
  fputc('^', r->out);
  for (unsigned c = caret + 1; c < caret_end; c++) fputc('~', r->out);
  fputs(r->colour ? "\033[0m\n" : "\n", r->out);
}

/* The option that controls a warning: [-Wname], or [-Werror,-Wname] if it became an error. */
static void put_flag(FILE *out, const struct nvmini_diagnostic *d) {
  int id = 0;
  while (id < DIAG_COUNT && strcmp(diag_name((enum diag_id)id), d->id) != 0) id++;
  if (id < DIAG_COUNT && diag_severity((enum diag_id)id) == DIAG_WARNING)
    fprintf(out, " [%s-W%s]", d->severity == NVMINI_ERROR ? "-Werror," : "", d->id);
}

/* A hint of several lines is indented. */
static void put_hint(FILE *out, struct nvmini_text hint) {
  for (const char *lead = "  hint: "; hint.length > 0; lead = "        ") {
    const char *newline = memchr(hint.bytes, '\n', hint.length);
    size_t length = newline ? (size_t)(newline - hint.bytes) : hint.length;
    fputs(lead, out);
    put_text(out, (struct nvmini_text){hint.bytes, length});
    fputc('\n', out);
    length += newline != NULL;
    hint = (struct nvmini_text){hint.bytes + length, hint.length - length};
  }
}

static void render_text(const struct render *r, const struct nvmini_diagnostic *d) {
  static const char *const colours[] = {[NVMINI_ERROR] = "\033[1;31m",
                                        [NVMINI_WARNING] = "\033[1;35m",
                                        [NVMINI_REMARK] = "\033[1;34m",
                                        [NVMINI_NOTE] = "\033[1;36m"};
  const char *bold = r->colour ? "\033[1m" : "", *plain = r->colour ? "\033[0m" : "";
  fputs(bold, r->out);
  fputs(d->name != NULL ? d->name : "nvmini", r->out);
  if (d->line != 0) fprintf(r->out, ":%u:%u", d->line, d->column);
  else if (d->end != 0) fprintf(r->out, ": byte %llu", (unsigned long long)d->begin);
  fprintf(r->out, ": %s%s:%s ", r->colour ? colours[d->severity] : "", severity_name(d->severity),
          plain);
  fputs(bold, r->out);
  put_text(r->out, d->message);
  put_flag(r->out, d);
  fputs(plain, r->out);
  if (d->function.length > 0) {
    fputs(" [in @", r->out);
    put_text(r->out, d->function);
    fputc(']', r->out);
  }
  fputc('\n', r->out);
  if (d->line != 0) put_source(r, d);
  put_hint(r->out, d->hint);
}

/* ---- JSON ---- */

static struct nvm_text text_from(struct nvmini_text t) {
  return (struct nvm_text){t.bytes, t.length};
}

static void render_json(const struct render *r, const struct nvmini_diagnostic *d) {
  struct arena arena;
  struct textbuf out;
  struct json_writer w;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  json_begin(&w, &out, false);
  json_object(&w);
  json_member(&w, "severity", text_of(severity_name(d->severity)));
  json_member(&w, "id", text_of(d->id));
  json_member(&w, "message", text_from(d->message));
  if (d->name != NULL) json_member(&w, "file", text_of(d->name));
  if (d->line != 0) {
    json_number(&w, "line", d->line);
    json_number(&w, "column", d->column);
  }
  if (d->end != 0) {
    json_number(&w, "begin", d->begin);
    json_number(&w, "end", d->end);
  }
  if (d->function.length > 0) json_member(&w, "function", text_from(d->function));
  if (d->hint.length > 0) json_member(&w, "hint", text_from(d->hint));
  json_object_end(&w);
  textbuf_char(&out, '\n');
  fwrite(out.bytes, 1, out.length, r->out);
  arena_free(&arena);
}

void render_diagnostic(void *user, const struct nvmini_diagnostic *d) {
  progress_hide();
  const struct render *r = user;
  if (r->json) render_json(r, d);
  else render_text(r, d);
}
