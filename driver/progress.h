/* Progress of long work: one line on standard error that is rewritten, if that is a terminal and
 * --quiet is not given. It appears after PROGRESS_AFTER seconds and goes before other text. */
#ifndef NVM_DRIVER_PROGRESS_H
#define NVM_DRIVER_PROGRESS_H

#include "driver/options.h"
#include "support/textbuf.h"

enum { PROGRESS_AFTER = 2 }; /* seconds */

/* Begins work. */
void progress_start(const struct options *o);

/* Writes the line by itself each second until progress_clear(): `put` gets the seconds since
 * progress_start(). It is called by a signal handler, so it may only read and format. */
typedef void progress_put(struct textbuf *line, uint64_t seconds, void *state);
void progress_watch(progress_put *put, void *state);

/* Begins work on the command's inputs, and writes "file 2 of 3: small.nvir, 12 s" each second. */
void progress_files(const struct options *o);
/* The next of them, from 1. */
void progress_file(int number);

/* Removes the line, before other text is written. It is back after a second. */
void progress_hide(void);

/* Removes the line and ends progress_watch(). */
void progress_clear(void);

#endif
