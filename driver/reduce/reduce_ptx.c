/* Candidates of PTX: text without some of its statements.
 *
 * The text is cut into units: statements that end with a semicolon, labels, the directives that end
 * with their line, and functions or scopes with what is between their braces. Nothing else of the
 * language is known here, so that instructions that nvmini does not know, and text that is wrong on
 * purpose, can be reduced too: the test command judges a candidate. */
#include "driver/reduce/reduce.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct unit {
  size_t begin, end; /* bytes of the text */
  size_t inner;      /* after the brace that opens its block; 0: none */
  uint32_t depth;    /* blocks around it */
  bool is_header;    /* .version, .target, .address_size */
};

struct units {
  const char *text;
  struct unit *data;
  uint32_t count, capacity;
  bool failed;
};

/* ---- Cutting ---- */

/* Skips blanks and comments. */
static size_t skip_blank(const char *text, size_t at) {
  for (;;) {
    at += strspn(text + at, " \t\r\n");
    if (strncmp(text + at, "//", 2) == 0) at += strcspn(text + at, "\n");
    else if (strncmp(text + at, "/*", 2) == 0) {
      const char *end = strstr(text + at, "*/");
      at = end ? (size_t)(end + 2 - text) : at + strlen(text + at);
    } else return at;
  }
}

static bool starts_with(const char *text, const char *word) {
  size_t length = strlen(word);
  return strncmp(text, word, length) == 0 && !isalnum((unsigned char)text[length]) &&
         text[length] != '_';
}

static bool is_header(const char *text) {
  return starts_with(text, ".version") || starts_with(text, ".target") ||
         starts_with(text, ".address_size");
}

static bool ends_with_line(const char *text) {
  return is_header(text) || starts_with(text, ".file") || starts_with(text, ".loc");
}

static bool has_word(const char *from, const char *to, const char *word) {
  for (; from < to; from++)
    if (starts_with(from, word)) return true;
  return false;
}

/* Whether a brace at `at` opens a block of the unit that begins at `begin`, not a vector or an
 * initializer. */
static bool opens_block(const char *text, size_t begin, size_t at) {
  const char *from = text + begin, *to = text + at;
  return begin == at || has_word(from, to, ".entry") || has_word(from, to, ".func") ||
         has_word(from, to, ".section");
}

/* The end of the unit at `at`, which is no blank: after its semicolon or colon, or at the brace
 * that opens its block (*opens). */
static size_t find_end(const char *text, size_t begin, bool *opens) {
  size_t at = begin;
  *opens = false;
  if (ends_with_line(text + begin)) return begin + strcspn(text + begin, "\n");
  for (; text[at]; at++) {
    if (text[at] == '"') at += 1 + strcspn(text + at + 1, "\"");
    if (!text[at]) break;
    if (text[at] == ';') return at + 1;
    if (text[at] == ':' && text[at + 1] == ':') at++;
    else if (text[at] == ':' && isspace((unsigned char)text[at + 1])) return at + 1;
    else if (text[at] == '}' && at > begin && !strchr(text + begin, '{')) return at;
    if (text[at] == '{' && (*opens = opens_block(text, begin, at))) return at;
  }
  return at;
}

static struct unit *add_unit(struct units *u, struct unit unit) {
  if (u->count == u->capacity) {
    uint32_t capacity = u->capacity ? 2 * u->capacity : 64;
    struct unit *data = realloc(u->data, capacity * sizeof *data);
    if (!data) u->failed = true;
    if (!data) return NULL;
    u->data = data;
    u->capacity = capacity;
  }
  u->data[u->count] = unit;
  return &u->data[u->count++];
}

/* The units of the text, each before those in its block. */
static void cut(struct units *u) {
  enum { MAX_DEPTH = 64 };
  uint32_t open[MAX_DEPTH], depth = 0;
  for (size_t at = skip_blank(u->text, 0); u->text[at]; at = skip_blank(u->text, at)) {
    if (u->text[at] == '}') {
      at++;
      if (depth > 0) u->data[open[--depth]].end = at;
      continue;
    }
    bool opens;
    size_t end = find_end(u->text, at, &opens);
    struct unit unit = {
        .begin = at, .end = end, .depth = depth, .is_header = is_header(u->text + at)};
    if (opens) unit.inner = end + 1;
    if (opens && depth < MAX_DEPTH) open[depth++] = u->count;
    if (!add_unit(u, unit)) return;
    at = opens ? end + 1 : end > at ? end : at + 1;
  }
  while (depth > 0) u->data[open[--depth]].end = strlen(u->text);
}

/* ---- Candidates ---- */

enum part { WHOLE_FUNCTIONS, STATEMENTS, SCOPES, BRACES, GUARDS, NUMBERS };

struct edit {
  const struct units *u;
  char *out;
  size_t length, from; /* bytes written; of the text, up to which it was copied or left out */
};

/* Copies up to `begin` and leaves out what is before `end`. */
static void leave_out(struct edit *e, size_t begin, size_t end) {
  if (begin < e->from) return; /* inside of what was left out */
  memcpy(e->out + e->length, e->u->text + e->from, begin - e->from);
  e->length += begin - e->from;
  e->from = end;
}

/* With the line break before it, if the line has nothing else. */
static void leave_out_unit(struct edit *e, size_t begin, size_t end) {
  const char *text = e->u->text;
  size_t start = begin;
  while (start > e->from && (text[start - 1] == ' ' || text[start - 1] == '\t')) start--;
  bool own_line = start > e->from && text[start - 1] == '\n' && (text[end] == '\n' || !text[end]);
  leave_out(e, own_line ? start - 1 : begin, end);
}

static bool is_place(const struct units *u, const struct unit *x, enum part part) {
  switch (part) {
    case WHOLE_FUNCTIONS: return x->depth == 0 && !x->is_header;
    case STATEMENTS: return x->depth > 0 && !x->inner;
    case SCOPES: return x->depth > 0 && x->inner;
    case BRACES: return x->depth > 0 && x->inner;
    case GUARDS: return x->depth > 0 && u->text[x->begin] == '@';
    case NUMBERS: break;
  }
  return false;
}

static void apply(struct edit *e, const struct unit *x, enum part part) {
  if (part == BRACES) {
    leave_out(e, x->inner - 1, x->inner);
    return; /* the other brace: edit_units() */
  }
  if (part == GUARDS) {
    size_t at = x->begin + strcspn(e->u->text + x->begin, " \t");
    leave_out(e, x->begin, at + strspn(e->u->text + at, " \t"));
  } else leave_out_unit(e, x->begin, x->end);
}

/* The closing braces of blocks whose opening ones were left out, and all that is chosen, in order
 * of the text. */
static uint32_t edit_units(struct edit *e, enum part part, uint32_t first, uint32_t count) {
  uint32_t places = 0;
  size_t closing = 0;
  for (uint32_t k = 0; k < e->u->count; k++) {
    const struct unit *x = &e->u->data[k];
    if (closing && x->begin >= closing) {
      leave_out(e, closing - 1, closing);
      closing = 0;
    }
    if (!is_place(e->u, x, part)) continue;
    bool chosen = places >= first && places - first < count;
    places++;
    if (!chosen || (part == BRACES && closing)) continue;
    apply(e, x, part);
    if (part == BRACES) closing = x->end;
  }
  if (closing) leave_out(e, closing - 1, closing);
  return places;
}

/* Numbers that are operands become 0. */
static uint32_t edit_numbers(struct edit *e, uint32_t first, uint32_t count) {
  const char *text = e->u->text;
  uint32_t places = 0;
  for (uint32_t k = 0; k < e->u->count; k++) {
    const struct unit *x = &e->u->data[k];
    if (x->depth == 0 || x->inner || text[x->begin] == '.') continue;
    for (size_t at = x->begin + 1; at < x->end; at++) {
      bool starts = isdigit((unsigned char)text[at]) && strchr(" ,+-{[", text[at - 1]);
      size_t end = at;
      while (starts && isalnum((unsigned char)text[end])) end++;
      if (!starts || (end == at + 1 && text[at] == '0')) continue;
      bool is_float =
          text[at] == '0' && (text[at + 1] == 'f' || text[at + 1] == 'd') && end > at + 9;
      bool chosen = places >= first && places - first < count && !is_float;
      places += !is_float;
      if (chosen) {
        leave_out(e, at, end);
        e->out[e->length++] = '0';
      }
      at = end;
    }
  }
  return places;
}

static void make_ptx(const struct reduction_state *r, const void *what, uint32_t first,
                     uint32_t count, struct candidate *c) {
  const struct reduced_file *f = &r->files[r->current];
  struct units u = {.text = f->text};
  enum part part = *(const enum part *)what;
  cut(&u);
  struct edit e = {.u = &u, .out = malloc(f->length + 1)};
  if (e.out && !u.failed) {
    c->places =
        part == NUMBERS ? edit_numbers(&e, first, count) : edit_units(&e, part, first, count);
    leave_out(&e, f->length, f->length);
    e.out[e.length] = '\0';
    if (count && e.length < f->length + (part == NUMBERS) && strcmp(e.out, f->text) != 0) {
      c->text = e.out;
      c->length = e.length;
      e.out = NULL;
    }
  }
  free(e.out);
  free(u.data);
}

bool reduce_ptx(struct reduction_state *r) {
  static const enum part parts[] = {WHOLE_FUNCTIONS, SCOPES, STATEMENTS, BRACES, GUARDS, NUMBERS};
  bool any = false;
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    any |= search_places(r, make_ptx, &parts[k], UINT32_MAX);
  return any;
}
