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
  size_t released; /* the end of what files_release() gave back */
  bool regular;    /* it can be read again, */
  int fd;          /* from this descriptor, which is open if `regular` */
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
/* Gives the memory of the bytes before `end` back to the system; they become unspecified. */
void files_release(struct file_bytes *file, size_t end);
/* Reads a regular file again; false if it cannot be read or has become shorter. */
bool files_read_again(struct file_bytes *file, struct file_error *error);
/* Gives free memory of the heap back to the system, where the C library can. */
void files_release_heap(void);
/* Whether it is PTX, which starts with `.version` after comments. */
bool files_is_ptx(const struct file_bytes *f);
/* Whether standard input is a file or a pipe: not a terminal, and not /dev/null. */
bool files_has_standard_input(void);

/* Whether both name the same existing regular file. */
bool files_same(const char *a, const char *b);

/* The part of a text that is not kept in memory until it is written: a file without a name, made at
 * the first write, in the folder of `path`. */
struct file_spill {
  const char *path; /* borrowed */
  int fd;           /* -1: none */
  size_t length;    /* bytes */
  bool refused;     /* it could not be made, or is full */
};

/* A text to be written. */
struct file_text {
  const struct nvm_text *pieces;
  uint32_t count;
  const struct file_spill *spill; /* NULL, or what belongs after the first piece */
};

/* Nothing is made yet. */
void files_spill_start(struct file_spill *s, const char *path);
/* False: the caller must keep the pieces, since `path` is no regular file, its folder is missing or
 * not writable, or the disk is full. */
bool files_spill_write(struct file_spill *s, const struct nvm_text *pieces, uint32_t count);
void files_spill_end(struct file_spill *s);

/* Writes `path`; "-" is standard output. A regular file is replaced only after everything was
 * written; on failure it is unchanged, and no temporary file remains. */
bool files_write(const char *path, const char *bytes, size_t length, struct file_error *error);
bool files_write_text(const char *path, const struct file_text *text, struct file_error *error);

#endif
