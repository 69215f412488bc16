/* Tables as text or JSON; see sheet.h. Cells are collected until the table ends, since the widths
 * of its columns depend on all rows. */
#include "driver/sheet.h"

#include "driver/options.h"

#include <stdarg.h>

void sheet_start(struct sheet *s, bool json) {
  *s = (struct sheet){.json = json};
  arena_init(&s->arena, nvm_default_allocator);
  textbuf_init(&s->out, &s->arena);
  json_begin(&s->writer, &s->out, true);
  if (json) json_object(&s->writer);
}

int sheet_finish(struct sheet *s) {
  if (s->json) {
    json_object_end(&s->writer);
    textbuf_char(&s->out, '\n');
  }
  bool failed = s->arena.failed;
  if (!failed) fwrite(s->out.bytes, 1, s->out.length, stdout);
  else fputs("nvmini: error: out of memory\n", stderr);
  arena_free(&s->arena);
  return failed ? EXIT_REFUSED : EXIT_DONE;
}

/* ---- collecting ---- */

void sheet_columns(struct sheet *s, const char *key, const char *title, const char *const *columns,
                   uint32_t count) {
  s->key = key;
  s->title = title;
  s->column_count = count;
  for (uint32_t c = 0; c < count; c++) s->columns[c] = columns[c];
  s->cells.count = 0;
}

void sheet_table(struct sheet *s, const char *key, const char *title, ...) {
  const char *columns[SHEET_COLUMNS], *column;
  uint32_t count = 0;
  va_list list;
  va_start(list, title);
  while ((column = va_arg(list, const char *)) != NULL) columns[count++] = column;
  va_end(list);
  sheet_columns(s, key, title, columns, count);
}

void sheet_record(struct sheet *s, const char *key, const char *title) {
  sheet_columns(s, key, title, NULL, 0);
}

void sheet_name(struct sheet *s, const char *name) { s->name = name; }

static void add(struct sheet *s, struct sheet_cell cell) {
  cell.name = s->name;
  s->name = NULL;
  VEC_PUSH(&s->arena, &s->cells, cell);
}

void sheet_text(struct sheet *s, const char *text) {
  add(s, (struct sheet_cell){.kind = SHEET_TEXT, .text = text});
}

void sheet_format(struct sheet *s, const char *format, ...) {
  char text[256];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  const char *copy = arena_copy(&s->arena, text, strlen(text));
  sheet_text(s, copy ? copy : "");
}

void sheet_number(struct sheet *s, uint64_t number) {
  add(s, (struct sheet_cell){.kind = SHEET_NUMBER, .number = number});
}

void sheet_flag(struct sheet *s, bool flag) {
  add(s, (struct sheet_cell){.kind = SHEET_FLAG, .number = flag});
}

void sheet_absent(struct sheet *s) { add(s, (struct sheet_cell){.kind = SHEET_ABSENT}); }

/* ---- JSON ---- */

/* A column's name is a key with _ for each blank. */
static void write_member(struct json_writer *w, const char *name, const struct sheet_cell *cell) {
  char key[64];
  size_t length = 0;
  if (cell->kind == SHEET_ABSENT) return;
  for (; name[length] != '\0' && length + 1 < sizeof key; length++)
    key[length] = name[length] == ' ' ? '_' : name[length];
  key[length] = '\0';
  json_key(w, key);
  if (cell->kind == SHEET_TEXT) json_puts(w, cell->text);
  else if (cell->kind == SHEET_FLAG) json_bool(w, cell->number != 0);
  else json_unsigned(w, cell->number);
}

static void end_json(struct sheet *s) {
  struct json_writer *w = &s->writer;
  json_key(w, s->key);
  if (s->column_count == 0) json_object(w);
  else json_array(w);
  for (uint32_t i = 0; i < s->cells.count; i++) {
    uint32_t column = s->column_count ? i % s->column_count : 0;
    bool row = s->column_count != 0;
    const struct sheet_cell *cell = &s->cells.data[i];
    if (row && column == 0) json_object(w);
    write_member(w, row ? s->columns[column] : cell->name, cell);
    if (row && column + 1 == s->column_count) json_object_end(w);
  }
  if (s->column_count == 0) json_object_end(w);
  else json_array_end(w);
}

/* ---- text ---- */

/* The cell as text; a number is written to `digits`. */
static const char *shown(const struct sheet_cell *cell, char digits[24]) {
  switch (cell->kind) {
    case SHEET_TEXT: return cell->text[0] ? cell->text : "-";
    case SHEET_FLAG: return cell->number ? "yes" : "no";
    case SHEET_ABSENT: return "-";
    case SHEET_NUMBER: break;
  }
  snprintf(digits, 24, "%llu", (unsigned long long)cell->number);
  return digits;
}

static void pad(struct textbuf *out, size_t count) {
  while (count-- > 0) textbuf_char(out, ' ');
}

/* `last`: of its line, without blanks after it. */
static void put_cell(struct textbuf *out, const char *text, size_t width, bool right, bool last) {
  size_t length = strlen(text), rest = width > length ? width - length : 0;
  textbuf_puts(out, "  ");
  if (right) pad(out, rest);
  textbuf_puts(out, text);
  if (!right && !last) pad(out, rest);
}

static void end_table(struct sheet *s) {
  size_t width[SHEET_COLUMNS];
  bool right[SHEET_COLUMNS] = {false};
  char digits[24];
  uint32_t columns = s->column_count;
  for (uint32_t c = 0; c < columns; c++) width[c] = strlen(s->columns[c]);
  for (uint32_t i = 0; i < s->cells.count; i++) {
    size_t length = strlen(shown(&s->cells.data[i], digits));
    if (length > width[i % columns]) width[i % columns] = length;
    right[i % columns] |= s->cells.data[i].kind == SHEET_NUMBER;
  }
  for (uint32_t c = 0; c < columns; c++)
    put_cell(&s->out, s->columns[c], width[c], right[c], c + 1 == columns);
  textbuf_char(&s->out, '\n');
  for (uint32_t i = 0; i < s->cells.count; i++) {
    uint32_t c = i % columns;
    put_cell(&s->out, shown(&s->cells.data[i], digits), width[c], right[c], c + 1 == columns);
    if (c + 1 == columns) textbuf_char(&s->out, '\n');
  }
}

static void end_record(struct sheet *s) {
  size_t width = 0;
  char digits[24];
  for (uint32_t i = 0; i < s->cells.count; i++)
    if (strlen(s->cells.data[i].name) > width) width = strlen(s->cells.data[i].name);
  for (uint32_t i = 0; i < s->cells.count; i++) {
    put_cell(&s->out, s->cells.data[i].name, width, false, false);
    put_cell(&s->out, shown(&s->cells.data[i], digits), 0, false, true);
    textbuf_char(&s->out, '\n');
  }
}

void sheet_end(struct sheet *s) {
  if (s->json) {
    end_json(s);
    return;
  }
  if (s->out.length > 0) textbuf_char(&s->out, '\n');
  textbuf_puts(&s->out, s->title);
  textbuf_char(&s->out, '\n');
  if (s->column_count > 0) end_table(s);
  else end_record(s);
}

void sheet_remark(struct sheet *s, const char *text) {
  if (s->json) return;
  textbuf_char(&s->out, '\n');
  textbuf_puts(&s->out, text);
  textbuf_char(&s->out, '\n');
}
