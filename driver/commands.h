/* The commands. Each returns the exit status; the command line is already checked. */
#ifndef NVM_DRIVER_COMMANDS_H
#define NVM_DRIVER_COMMANDS_H

#include "driver/files.h"
#include "driver/options.h"
#include "driver/render.h"
#include "nvmini.h"

/* jobs.c: commands that read modules. */
int jobs_compile(const struct options *o);
int jobs_check(const struct options *o);
int jobs_print(const struct options *o);
int jobs_link(const struct options *o);
int jobs_explain(const struct options *o);
int jobs_cost(const struct options *o);

/* Makes a context with the options that a job has, as `compile` starts. EXIT_DONE, or the status
 * after a message. */
int jobs_check_options(const struct options *o);

/* Links the libraries that --link names into `module`, in that order; errors go to the context's
 * callback, or to standard error. Returns the exit status. */
int jobs_link_libraries(const struct options *o, struct nvmini_context *context,
                        struct nvmini_module *module);

/* Reports a file that could not be read or written, by its name for messages; the exit status. */
int jobs_file_failed(const struct render *how, const char *shown, struct file_error error);

/* run.c: executes a kernel in the simulator. */
int run_command(const struct options *o);
struct explain;
/* Executes the PTX of a recording, if the options or the source (`nvmini-run:`) say how, and
 * records counts, a trace of one thread, and a finding if there is one. Returns the exit status. */
int run_profile(const struct options *o, const char *path, struct nvmini_text source,
                struct explain *e);

/* lsp/server.c: the language server; 0 if the client shut it down. */
int lsp_command(const struct options *o);

/* bisect.c: the first pass that changes the result of a kernel, or fails. */
int bisect_command(const struct options *o);

/* stop_after.c: with --stop-after, sets the options of the context to the passes of the pipeline up
 * to the first with that name. EXIT_USAGE after a message: no such pass. */
int stop_after_set(const struct options *o, struct nvmini_context *c,
                   const struct nvmini_module *m);

/* tables.c: prints the compiler's tables. */
int tables_ops(const struct options *o);
int tables_passes(const struct options *o);
int tables_intrinsics(const struct options *o);
int tables_knobs(const struct options *o);
int tables_diagnostics(const struct options *o);
/* The words for the flags of an instruction, and for the effects of an intrinsic; their number. */
enum { TABLES_MAX_FLAGS = 16 };
uint32_t tables_op_flags(uint32_t flags, const char *texts[TABLES_MAX_FLAGS]);
uint32_t tables_effects(uint32_t flags, const char *texts[TABLES_MAX_FLAGS]);
/* "error" */
const char *tables_severity(enum diag_severity s);

/* targets.c: the CPUs. */
int targets_command(const struct options *o);
/* Prints the names of all CPUs in ascending order. */
void targets_cpu_names(FILE *out);

/* native.c: replaces `native` by the name of the GPU's CPU wherever the command line names a CPU.
 * Returns EXIT_DONE, or EXIT_USAGE after an error message. */
int native_resolve(struct options *o);

/* costs.c: prices, throughput and latency. */
int costs_command(const struct options *o);

/* features.c: feature bits; triples and data layouts. */
int features_command(const struct options *o);
int triples_command(const struct options *o);

#endif
