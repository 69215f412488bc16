/* Reading inputs whole and writing outputs whole or not at all. */
#ifndef NVM_DRIVER_FILES_H
#define NVM_DRIVER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "support/diag.h"

/* A file's bytes in malloc'ed memory, followed by a NUL. */
struct file_bytes {
  char *bytes;
  size_t length;
  bool regular; /* it can be read again */
};

/* Why a file could not be read or written: a diagnostic and, for its %0, errno (0: none). */
struct file_error {
  enum diag_id id;
  int number;
};

/* Ensures that descriptors 0 to 2 are open, so that no other file gets these numbers. Closed ones
 * read as empty, and writing to them fails. */
void files_open_standard(void);

/* Reads `path`; "-" is standard input. The caller frees with files_free. */
bool files_read(const char *path, struct file_bytes *file, struct file_error *error);
void files_free(struct file_bytes *file);
/* Whether it is PTX, which starts with `.version` after comments. */
bool files_is_ptx(const struct file_bytes *f);
/* Whether standard input is a file or a pipe: not a terminal, and not /dev/null. */
bool files_has_standard_input(void);

/* Whether both name the same existing regular file. */
bool files_same(const char *a, const char *b);

/* Writes `path`; "-" is standard output. A regular file is replaced only after everything was
 * written; on failure it is unchanged, and no temporary file remains. */
bool files_write(const char *path, const char *bytes, size_t length, struct file_error *error);
bool files_write_pieces(const char *path, const struct nvm_text *pieces, uint32_t count,
                        struct file_error *error);

#endif
