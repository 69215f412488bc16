/* What the generators of tables share: reading rows, reporting what is wrong with them, texts that
 * grow, requirements by name, output that is whole or not there. A generator reads one table and
 * ends, so the table is one variable and memory is never given back. Linked into generators only.
 */
#ifndef NVM_TARGET_GEN_TABLE_H
#define NVM_TARGET_GEN_TABLE_H

#include "target/requirement.h"

#include <stdio.h>

enum { GEN_MAX_NEEDS = 1000, GEN_MAX_NAMES = 64, GEN_MAX_FAULTS = 20 };

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
} gen_table;

/* A generator: how it reads its table and what it writes. */
struct generator {
  bool indented;           /* a line that begins with a blank continues the row before it */
  void (*row)(char *text); /* takes a row, comments cut off, without a newline; may cut it up */
  void (*finish)(void);    /* after the last row, where all were right; may find faults */
  struct {
    const char *name;
    void (*write)(FILE *out);
  } files[2]; /* the second may be missing */
};

/* The whole of a generator: `gen_X TABLE [NAMES] OUTDIR` reads the table, with the `req` rows of
 * NAMES as names of requirements, and writes the files, all or none. A row goes on in the next line
 * behind a `\` at its end too. Returns the exit status: 1 if anything was wrong, 2 for wrong use.
 */
int gen_main(int argc, char **argv, const struct generator *generator);

/* `file:line: error: …` on standard error, the first GEN_MAX_FAULTS of them. */
void gen_fault(const char *format, ...);
void gen_fault_at(int line, const char *format, ...);
/* The same, and ends the program. */
_Noreturn void gen_fail(const char *format, ...);
/* `memory`; ends the program if it is NULL. */
void *gen_allocated(void *memory);

/* Appends bytes, or as printf does (at most 511 bytes). */
void gen_add_bytes(struct gen_text *t, const char *bytes, size_t length);
void gen_add(struct gen_text *t, const char *format, ...);
/* The bytes as part of a C name: letters in upper case, runs of what can't stand in one as `_`. */
char *gen_name(const char *text, size_t length);
/* What printf prints, at most 4095 bytes. */
char *gen_format(const char *format, ...);
/* A copy with a NUL. */
char *gen_copy(const char *bytes, size_t length);
/* `s` without blanks at both ends; cuts it in place. */
char *gen_trim(char *s);

/* The number of a requirement, entered if new; $NAME stands for what NAME says. 0 for "" and for
 * one with a fault. */
int gen_find_need(const char *text);
/* The requirement as a C initializer, `{.min_ptx = 80, .count = 1, .any_of = {9011}}`. */
const char *gen_requirement(const struct tgt_requirement *requirement);

#endif
