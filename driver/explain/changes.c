/* The recording as text for a terminal: what each pass changed, as unified differences of lines;
 * and the history of one value.
 *
 * The difference is Myers's greedy one (An O(ND) Difference Algorithm and Its Variations, 1986):
 * the shortest edit script, found by the furthest points that d edits reach on each diagonal. Texts
 * that differ in more than MAX_EDITS lines are shown as removed and added as a whole, between the
 * lines that they begin and end with. */
#include "driver/explain/explain.h"

#include <string.h>

enum { MAX_EDITS = 2000, CONTEXT_LINES = 2, COLUMN = 60 };

/* ---- Lines ---- */

struct lines {
  VEC(struct nvm_text) of; /* without line ends */
};

static bool split(struct arena *a, struct nvm_text text, struct lines *out) {
  const char *at = text.bytes, *end = at + text.length;
  *out = (struct lines){{NULL, 0, 0}};
  while (at < end) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((next ? next : end) - at);
    if (!VEC_PUSH(a, &out->of, (struct nvm_text){at, length})) return false;
    at += length + 1;
  }
  return true;
}

/* ---- The difference ---- */

struct difference {
  struct lines before, after;
  bool *removed, *added; /* by line */
  int32_t *reached;      /* by edits d and diagonal k, -d to d, at d * d + d + k: x */
  struct arena *arena;
};

/* The furthest x on diagonal k after d edits, from those of d - 1. */
static int32_t step(const struct difference *x, int32_t d, int32_t k) {
  const int32_t *last = x->reached + (d - 1) * (d - 1) + d - 1;
  bool down = k == -d || (k != d && last[k - 1] < last[k + 1]);
  return down ? last[k + 1] : last[k - 1] + 1;
}

/* The number of edits of the shortest script; -1: more than MAX_EDITS, or out of memory. */
static int32_t search(struct difference *x, uint32_t begin, uint32_t n, uint32_t m) {
  const struct nvm_text *a = x->before.of.data + begin, *b = x->after.of.data + begin;
  VEC(int32_t) reached = {NULL, 0, 0};
  for (int32_t d = 0; d <= MAX_EDITS; d++) {
    if (!VEC_RESERVE(x->arena, &reached, (uint64_t)(d + 1) * (uint64_t)(d + 1))) return -1;
    x->reached = reached.data;
    reached.count = (uint32_t)((d + 1) * (d + 1));
    for (int32_t k = -d; k <= d; k += 2) {
      int32_t at = d == 0 ? 0 : step(x, d, k);
      while (at < (int32_t)n && at - k < (int32_t)m && text_equal(a[at], b[at - k])) at++;
      reached.data[d * d + d + k] = at;
      if (at >= (int32_t)n && at - k >= (int32_t)m) return d;
    }
  }
  return -1;
}

/* Marks the lines of the script that ends at (n, m) after d edits. */
static void mark(struct difference *x, uint32_t begin, int32_t d, int32_t n, int32_t m) {
  for (int32_t k = n - m; d > 0; d--) {
    const int32_t *last = x->reached + (d - 1) * (d - 1) + d - 1;
    bool down = k == -d || (k != d && last[k - 1] < last[k + 1]);
    k += down ? 1 : -1;
    int32_t at = last[k];
    if (down) x->added[begin + (uint32_t)(at - k)] = true;
    else x->removed[begin + (uint32_t)at] = true;
  }
}

static bool compare(struct difference *x, struct nvm_text before, struct nvm_text after) {
  if (!split(x->arena, before, &x->before) || !split(x->arena, after, &x->after)) return false;
  uint32_t n = x->before.of.count, m = x->after.of.count, begin = 0;
  x->removed = arena_alloc(x->arena, n + 1);
  x->added = arena_alloc(x->arena, m + 1);
  if (!x->removed || !x->added) return false;
  memset(x->removed, 0, n + 1);
  memset(x->added, 0, m + 1);
  const struct nvm_text *a = x->before.of.data, *b = x->after.of.data;
  while (begin < n && begin < m && text_equal(a[begin], b[begin])) begin++;
  while (n > begin && m > begin && text_equal(a[n - 1], b[m - 1])) n--, m--;
  int32_t edits = search(x, begin, n - begin, m - begin);
  if (edits >= 0) mark(x, begin, edits, (int32_t)(n - begin), (int32_t)(m - begin));
  else {
    memset(x->removed + begin, 1, n - begin);
    memset(x->added + begin, 1, m - begin);
  }
  return !x->arena->failed;
}

/* ---- Printing ---- */

static void put_line(struct textbuf *out, char mark, struct nvm_text line) {
  textbuf_char(out, mark);
  textbuf_text(out, line);
  textbuf_char(out, '\n');
}

/* Whether one of the next lines of the unchanged run, or of the last ones, is changed. */
static bool is_near(const bool *changed, uint32_t count, uint32_t line) {
  uint32_t from = line > CONTEXT_LINES ? line - CONTEXT_LINES : 0;
  for (uint32_t k = from; k <= line + CONTEXT_LINES && k < count; k++)
    if (changed[k]) return true;
  return false;
}

static void put_difference(struct textbuf *out, const struct difference *x) {
  uint32_t n = x->before.of.count, m = x->after.of.count, i = 0, k = 0;
  bool skipped = false;
  while (i < n || k < m) {
    if (i < n && x->removed[i]) {
      put_line(out, '-', x->before.of.data[i++]);
    } else if (k < m && x->added[k]) {
      put_line(out, '+', x->after.of.data[k++]);
    } else {
      bool near = is_near(x->removed, n, i) || is_near(x->added, m, k);
      if (near) put_line(out, ' ', x->after.of.data[k]);
      else if (!skipped) textbuf_puts(out, " ...\n");
      skipped = !near;
      i++, k++;
    }
  }
}

static void put_quiet(struct textbuf *out, const struct difference *x) {
  uint32_t removed = 0, added = 0;
  for (uint32_t k = 0; k < x->before.of.count; k++) removed += x->removed[k];
  for (uint32_t k = 0; k < x->after.of.count; k++) added += x->added[k];
  textbuf_format(out, "-%u +%u lines\n", removed, added);
}

/* A row of two columns, in which lines are cut to COLUMN bytes. */
static void put_row(struct textbuf *out, struct nvm_text left, char mark, struct nvm_text right) {
  size_t shown = left.length < COLUMN ? left.length : COLUMN;
  textbuf_write(out, left.bytes, shown);
  bool bare = right.length == 0 && mark == ' ';
  for (; shown < COLUMN && !bare; shown++) textbuf_char(out, ' ');
  if (!bare) textbuf_format(out, right.length ? " %c " : " %c", mark);
  textbuf_write(out, right.bytes, right.length < COLUMN ? right.length : COLUMN);
  textbuf_char(out, '\n');
}

/* As `diff --side-by-side`: `|` between lines that replace each other, `<` after a removed one, `>`
 * before an added one. */
static void put_side(struct textbuf *out, const struct difference *x) {
  const struct nvm_text none = {"", 0}, *a = x->before.of.data, *b = x->after.of.data;
  uint32_t n = x->before.of.count, m = x->after.of.count, i = 0, k = 0;
  bool skipped = false;
  while (i < n || k < m) {
    bool removed = i < n && x->removed[i], added = k < m && x->added[k];
    if (removed && added) put_row(out, a[i++], '|', b[k++]);
    else if (removed) put_row(out, a[i++], '<', none);
    else if (added) put_row(out, none, '>', b[k++]);
    else {
      bool near = is_near(x->removed, n, i) || is_near(x->added, m, k);
      if (near) put_row(out, a[i], ' ', b[k]);
      else if (!skipped) textbuf_puts(out, "...\n");
      skipped = !near;
      i++, k++;
      continue;
    }
    skipped = false;
  }
}

enum explain_style explain_style(const char *name) {
  static const char *const names[] = {
      [EXPLAIN_DIFF] = "diff", [EXPLAIN_QUIET] = "quiet", [EXPLAIN_SIDE] = "side"};
  int style = 0;
  while (style < EXPLAIN_STYLES && strcmp(names[style], name) != 0) style++;
  return (enum explain_style)style;
}

static void put_number(struct textbuf *out, const struct explain_step *s) {
  if (s->number) textbuf_format(out, " (pass %u)", s->number);
}

void explain_write_change(struct explain *e, const struct explain_function *x, uint32_t k,
                          enum explain_style style, struct textbuf *out) {
  const struct explain_step *s = &x->steps.data[k];
  struct arena arena;
  arena_init(&arena, nvm_default_allocator);
  struct difference d = {.arena = &arena};
  if (style != EXPLAIN_QUIET) textbuf_puts(out, "*** ");
  textbuf_format(out, "%t on %t", s->pass, x->name);
  put_number(out, s);
  textbuf_puts(out, style == EXPLAIN_QUIET ? ": " : " ***\n");
  if (compare(&d, x->texts.data[s[-1].text], x->texts.data[s->text])) {
    if (style == EXPLAIN_QUIET) put_quiet(out, &d);
    else if (style == EXPLAIN_SIDE) put_side(out, &d);
    else put_difference(out, &d);
  }
  if (style != EXPLAIN_QUIET) textbuf_char(out, '\n');
  e->arena.failed |= arena.failed;
  arena_free(&arena);
}

void explain_write_changes(struct explain *e, enum explain_style style, struct textbuf *out) {
  for (uint32_t k = 0; k < e->functions.count; k++) {
    const struct explain_function *x = &e->functions.data[k];
    if (!x->is_final || !x->steps.count) continue;
    textbuf_format(out, "@%t: %u passes, %u texts\n", x->name, x->steps.count - 1, x->texts.count);
    if (style != EXPLAIN_QUIET) textbuf_char(out, '\n');
    for (uint32_t s = 1; s < x->steps.count; s++)
      if (x->steps.data[s].text != x->steps.data[s - 1].text)
        explain_write_change(e, x, s, style, out);
  }
}

/* ---- The history of a value ---- */

/* The line of a text that defines `name` (`%x`), without its indentation; empty if none does. */
static struct nvm_text definition(struct nvm_text text, struct nvm_text name) {
  const char *at = text.bytes, *end = at + text.length;
  while (at < end) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    struct nvm_text line = {at, (size_t)((next ? next : end) - at)};
    at += line.length + 1;
    while (line.length && *line.bytes == ' ') line.bytes++, line.length--;
    bool defines = line.length > name.length + 3 &&
                   memcmp(line.bytes, name.bytes, name.length) == 0 &&
                   memcmp(line.bytes + name.length, " = ", 3) == 0;
    if (defines) return line;
  }
  return (struct nvm_text){"", 0};
}

static bool put_history(const struct explain_function *x, struct nvm_text name,
                        struct textbuf *out) {
  struct nvm_text last = {"", 0};
  bool any = false;
  for (uint32_t k = 0; k < x->steps.count; k++) {
    if (k && x->steps.data[k].text == x->steps.data[k - 1].text) continue;
    struct nvm_text now = definition(x->texts.data[x->steps.data[k].text], name);
    if (text_equal(now, last)) continue;
    if (!any) textbuf_format(out, "@%t:\n", x->name);
    any = true;
    const char *event = last.length == 0 ? "made by" : now.length ? "changed by" : "removed by";
    if (k == 0) textbuf_puts(out, "  in the input");
    else {
      textbuf_format(out, "  %s %t", event, x->steps.data[k].pass);
      put_number(out, &x->steps.data[k]);
    }
    if (now.length) textbuf_format(out, ": %t", now);
    textbuf_char(out, '\n');
    last = now;
  }
  if (any && last.length) textbuf_puts(out, "  in the code that is generated\n");
  return any;
}

bool explain_write_history(struct explain *e, struct nvm_text name, struct textbuf *out) {
  bool any = false;
  for (uint32_t k = 0; k < e->functions.count; k++)
    if (e->functions.data[k].is_final) any |= put_history(&e->functions.data[k], name, out);
  return any;
}
