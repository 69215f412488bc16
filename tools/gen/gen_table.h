/* Shared by the table generators: reading rows, reporting errors, growing texts, named
 * requirements, atomic output. A generator reads one table and exits, so the table is one variable
 * and memory is never freed. Linked into generators only. */
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
  int need_count; /* 0: no requirement */
} gen_table;

/* A generator: its row reader and its output files. */
struct generator {
  bool indented;           /* a line that starts with a blank continues the row */
  void (*row)(char *text); /* gets a row without comments and newline; may modify it */
  void (*finish)(void);    /* after the last row if there were no errors; may report errors */
  struct {
    const char *name;
    void (*write)(FILE *out);
  } files[2]; /* the second may be missing */
};

/* The main function of a generator: `gen_X TABLE [NAMES] OUTDIR` reads the table, with the `req`
 * rows of NAMES as named requirements, and writes all files or none. A `\` at the end of a line
 * also continues a row. Returns the exit status: 1 for errors, 2 for wrong usage. */
int gen_main(int argc, char **argv, const struct generator *generator);

/* Writes the generator's files, to temporary names that are then renamed. Returns the exit status.
 */
int gen_write_files(const char *folder, const struct generator *generator);

/* The bytes of a file, with a NUL; exits if it cannot be read. */
char *gen_read_file(const char *path);
/* Writes the bytes as a C array of that name. */
void gen_write_array(FILE *out, const char *name, const struct gen_text *text);

/* Prints `file:line: error: …` to standard error, up to GEN_MAX_FAULTS times. */
void gen_fault(const char *format, ...);
void gen_fault_at(int line, const char *format, ...);
/* The same, and exits. */
_Noreturn void gen_fail(const char *format, ...);
/* Returns `memory`; exits if it is NULL. */
void *gen_allocated(void *memory);

/* Appends bytes, or text like printf (at most 511 bytes). */
void gen_add_bytes(struct gen_text *t, const char *bytes, size_t length);
void gen_add(struct gen_text *t, const char *format, ...);
/* The bytes as part of a C name: letters in upper case, runs of invalid characters as `_`. */
char *gen_name(const char *text, size_t length);
/* Formats like printf, at most 4095 bytes. */
char *gen_format(const char *format, ...);
/* A copy with a NUL. */
char *gen_copy(const char *bytes, size_t length);
/* Trims blanks at both ends, in place. */
char *gen_trim(char *s);

/* The number of a requirement, added if new; $NAME is expanded. 0 for "" and for an invalid one. */
int gen_find_need(const char *text);
/* The requirement as a C initializer, `{.min_ptx = 80, .count = 1, .any_of = {9011}}`. */
const char *gen_requirement(const struct tgt_requirement *requirement);

#endif
