/* One input of compile, check, print, link, explain or cost: from its file to its output. A client
 * of the public API. */
#ifndef NVM_DRIVER_JOBS_H
#define NVM_DRIVER_JOBS_H

#include "api/module.h"
#include "driver/files.h"
#include "driver/options.h"
#include "driver/remarks.h"
#include "driver/render.h"

/* The module of a command, and what it is processed with. */
struct job {
  const struct options *options;
  struct render render;
  struct nvmini_context *context;
  const char *path, *shown; /* shown: its name in messages */
  struct file_bytes file;
  size_t file_length; /* of what was released after parsing */
  struct nvmini_module *module;
  bool has_cpu; /* of `compile`: given, or the module's */
  bool folder;  /* the output is a folder */
  const struct remarks *remarks;
};

/* The exit status of the command; for a bug, after asking for a report. */
int jobs_exit_status(enum nvmini_status status);
/* Reports a diagnostic of the driver about a file; %0 of its message is `argument`. */
void jobs_report(const struct render *how, enum diag_id id, const char *shown,
                 struct nvmini_text argument);
enum nvmini_status jobs_no_memory(void);

/* The functions that return int return an exit status, after an error message. Whatever
 * jobs_start() returns, jobs_end() must follow, which passes a status on. */
int jobs_start(struct job *j, const struct options *o);
int jobs_end(struct job *j, int status);

/* Reads and parses `path`, "-" is standard input; in two steps, jobs_read() and jobs_parse(). */
int jobs_load(struct job *j, const char *path);
int jobs_read(struct job *j, const char *path);
int jobs_parse(struct job *j);
/* The text of a job (`state`), for messages after parsing. Empty, so that they lack lines, if the
 * file has gone. */
struct nvmini_text jobs_reread(void *state);
/* Frees the module and the file. */
void jobs_unload(struct job *j);

/* Saves the output, after the remarks; nothing if these cannot be written. */
int jobs_save(struct job *j, struct nvmini_text text);
int jobs_save_text(struct job *j, const struct file_text *text);
/* Saves something else than the output. */
int jobs_save_bytes(struct job *j, const char *path, struct nvm_text bytes);
/* What the remarks of all jobs were so far. */
struct nvmini_text jobs_remarks_text(const struct remarks *r);

#endif
