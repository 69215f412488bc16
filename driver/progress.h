/* Progress of long work: one line on standard error that is rewritten, if that is a terminal and
 * --quiet is not given. It appears after PROGRESS_AFTER seconds and goes before other text. */
#ifndef NVM_DRIVER_PROGRESS_H
#define NVM_DRIVER_PROGRESS_H

#include "driver/options.h"
#include "support/textbuf.h"

enum { PROGRESS_AFTER = 2 }; /* seconds */

/* Begins work. */
void progress_start(const struct options *o);

/* Rewrites the line, formatted as by textbuf_format(), unless it was just rewritten. */
void progress_show(const char *format, ...);

/* Writes the line by itself each second until progress_clear(): `put` gets the seconds since
 * progress_start(). It is called by a signal handler, so it may only read and format. */
typedef void progress_put(struct textbuf *line, uint64_t seconds, void *state);
void progress_watch(progress_put *put, void *state);

/* Removes the line and ends progress_watch(). */
void progress_clear(void);

#endif
