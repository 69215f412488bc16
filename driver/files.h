/* Reading inputs whole and writing outputs whole or not at all. */
#ifndef NVM_DRIVER_FILES_H
#define NVM_DRIVER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "support/diag.h"

/* A file's bytes in malloc'ed memory, with a NUL behind them. */
struct file_bytes {
  char *bytes;
  size_t length;
};

/* Why a file could not be read or written: a diagnostic and, for its %0, errno (0: none). */
struct file_error {
  enum diag_id id;
  int number;
};

/* Makes sure that descriptors 0 to 2 are open, so that no file we open is taken for one of them:
 * what the caller had closed reads as empty and fails to be written. */
void files_open_standard(void);

/* Reads `path`; "-" is standard input. The caller frees with files_free. */
bool files_read(const char *path, struct file_bytes *file, struct file_error *error);
void files_free(struct file_bytes *file);
/* Whether both name one regular file that is there. */
bool files_same(const char *a, const char *b);

/* Writes `path`, "-" is standard output. A regular file is replaced only when all was written;
 * on failure it is as it was, and nothing is left beside it. */
bool files_write(const char *path, const char *bytes, size_t length, struct file_error *error);

#endif
