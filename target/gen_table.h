/* What the generators of tables share: reading rows, reporting what is wrong with them, texts that
 * grow, requirements by name, output that is whole or not there. A generator reads one table and
 * ends, so the table is one variable and memory is never given back. Linked into generators only. */
#ifndef NVM_TARGET_GEN_TABLE_H
#define NVM_TARGET_GEN_TABLE_H

#include "target/requirement.h"

#include <stdio.h>

enum { GEN_MAX_NEEDS = 1000, GEN_MAX_NAMES = 32, GEN_MAX_FAULTS = 20 };

struct gen_text {
  char *bytes; /* NUL-terminated; NULL while empty */
  size_t length, capacity;
};

struct gen_need {
  char *text; /* names expanded */
  struct tgt_requirement value;
};

extern struct gen_table {
  const char *path;
  int line, faults; /* line: of the row being read */
  struct gen_need needs[GEN_MAX_NEEDS];
  int need_count; /* 0 needs nothing */
  struct {
    char name[32], text[128];
  } names[GEN_MAX_NAMES];
  int name_count;
} gen_table;

/* `file:line: error: …` on standard error, the first GEN_MAX_FAULTS of them. */
void gen_fault(const char *format, ...);
void gen_fault_at(int line, const char *format, ...);
/* `memory`; ends the program if it is NULL. */
void *gen_allocated(void *memory);

/* Appends bytes, or as printf does (at most 511 bytes). */
void gen_add_bytes(struct gen_text *t, const char *bytes, size_t length);
void gen_add(struct gen_text *t, const char *format, ...);
/* A copy with a NUL. */
char *gen_copy(const char *bytes, size_t length);
/* `s` without blanks at both ends; cuts it in place. */
char *gen_trim(char *s);

/* Reads gen_table.path and calls `row` for each row, comments cut off. A row goes on in the next
 * line behind a `\` at its end, or, where `indented`, in lines that begin with a blank; else such a
 * row keeps its blank. False if the file can't be read. */
bool gen_read(bool indented, void (*row)(char *text));

/* `NAME = REQUIREMENT`: what $NAME stands for from now on. */
void gen_read_name(char *row);
/* The number of a requirement, entered if new; 0 for "" and for one with a fault. */
int gen_find_need(const char *text);

/* Writes two files into a folder, both or none: `write[i]` fills `names[i]`. The exit status; says
 * on standard error what failed. */
int gen_write(const char *folder, const char *const names[2], void (*const write[2])(FILE *));

#endif
