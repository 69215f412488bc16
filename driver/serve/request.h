/* What a request of the playground executes, in a process of the server or in WebAssembly. */
#ifndef NVM_DRIVER_SERVE_REQUEST_H
#define NVM_DRIVER_SERVE_REQUEST_H

#include "driver/options.h"
#include "support/textbuf.h"

struct request {
  enum command command; /* COMPILE, EXPLAIN or RUN */
  const char *cpu, *level, *options; /* "": none; the last two are words separated by blanks */
};

/* The command with this name; COMMAND_COUNT if a request cannot have it. */
enum command request_command(struct nvm_text name);
/* Reads the module from standard input and writes to standard output and error, as the command
 * does. Options that name files are refused. Returns the exit status. */
int request_execute(const struct request *r);

/* choices.c: appends {"cpus": [NAME...], "samples": [{"name", "text"}...]}. */
void choices_write(struct textbuf *out);

#endif
