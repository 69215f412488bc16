/* The state of `nvmini run` and `nvmini bisect`: a module, a launch, and the results to compare. */
#ifndef NVM_DRIVER_RUN_H
#define NVM_DRIVER_RUN_H

#include "driver/files.h"
#include "driver/options.h"
#include "driver/render.h"
#include "driver/run_buffer.h"
#include "ir/module.h"
#include "nvmini.h"
#include "ptx/parse.h"
#include "sim/outcome.h"

struct run {
  const struct options *options;
  struct arena arena;
  struct strtab strings;
  const char *path, *ptx;
  struct file_bytes file;
  struct nvmini_context *context; /* of IR */
  struct render render;           /* of its diagnostics */
  struct nvmini_module *compiled;
  bool is_ir; /* executed directly, not as PTX */
  struct ptx_module module;
  struct sim *sim;
  const struct ptx_function *kernel;
  struct run_argument arguments[OPTIONS_MAX_GIVEN];
  uint32_t argument_count;
  double tolerance;
  struct sim_launch launch;
  struct sim_outcome *outcomes; /* of --verify-each=run, one for each kernel */
  uint32_t outcome_count;
  bool has_outcomes; /* of a first execution */
};

/* Reads the file, and the options in it. Returns the exit status, after a message if it fails;
 * run_end() follows in any case. `r` is zero before. */
int run_start(struct run *r, const struct options *o);
void run_end(struct run *r);

/* Whether options of the command line or the file say what to execute. */
bool run_is_launch_known(struct run *r);

/* Parses r->file as IR and links libraries, in a context with the options, at `level` unless they
 * name one. Returns the exit status. */
int run_parse_ir(struct run *r, const char *level);

/* For module_on_change; `state` is the struct run: executes the kernels and compares the results
 * with those before the first pass, or after the first that folded __nvvm_reflect. NVM_REFUSED
 * after a message if they differ. */
enum nvm_status run_check_change(void *state, struct nvm_module *m, const char *pass,
                                 const struct nvm_function *f);

/* Executes the kernels of PTX text and compares in the same way. Returns the exit status. */
int run_check_ptx(struct run *r, struct nvm_text ptx);

#endif
