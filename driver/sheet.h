/* Tables for people and for programs: the same rows as aligned text or as JSON.
 *
 *   sheet_start(&s, json);
 *   sheet_table(&s, "latencies", "latency in cycles", "kind", "cycles", NULL);
 *   sheet_text(&s, "integer");
 *   sheet_number(&s, 4);
 *   sheet_end(&s);
 *   return sheet_finish(&s);
 *
 * A table is an array of objects in JSON, and a record one object. An absent value is "-" in text
 * and no member in JSON. Texts are borrowed until the table or record ends, except formatted ones,
 * which are copied. */
#ifndef NVM_DRIVER_SHEET_H
#define NVM_DRIVER_SHEET_H

#include "support/json.h"
#include "support/vec.h"

enum { SHEET_COLUMNS = 24 };

struct sheet_cell {
  enum { SHEET_TEXT, SHEET_NUMBER, SHEET_FLAG, SHEET_ABSENT } kind;
  const char *name, *text; /* name: of a record's value */
  uint64_t number;
};

struct sheet {
  bool json;
  struct arena arena;
  struct textbuf out;
  struct json_writer writer;
  const char *key, *title;
  const char *columns[SHEET_COLUMNS];
  uint32_t column_count; /* 0: a record */
  VEC(struct sheet_cell) cells;
  const char *name; /* of the next value of a record */
};

/* Begins the document, an object. */
void sheet_start(struct sheet *s, bool json);

/* Ends the document and prints it. Returns the exit status. */
int sheet_finish(struct sheet *s);

/* Begins a table with these column names, up to NULL; its values follow row by row. `key` is its
 * name in JSON, `title` the line above it in text. */
void sheet_table(struct sheet *s, const char *key, const char *title, ...);
void sheet_columns(struct sheet *s, const char *key, const char *title, const char *const *columns,
                   uint32_t count);

/* Begins a record; each value follows its name. */
void sheet_record(struct sheet *s, const char *key, const char *title);
void sheet_name(struct sheet *s, const char *name);

/* Adds a value: the next cell of the row, or the record's value of the name given before. */
void sheet_text(struct sheet *s, const char *text);
void sheet_format(struct sheet *s, const char *format, ...); /* as printf() */
void sheet_number(struct sheet *s, uint64_t number);
void sheet_flag(struct sheet *s, bool flag); /* yes or no */
void sheet_absent(struct sheet *s);

/* Ends the table or record. */
void sheet_end(struct sheet *s);

/* A line of text that JSON omits. */
void sheet_remark(struct sheet *s, const char *text);

#endif
