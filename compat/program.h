/* What the files of compat/ share: a program, its options, its compilation. */
#ifndef NVM_COMPAT_PROGRAM_H
#define NVM_COMPAT_PROGRAM_H

#include "compat/nvvm.h"
#include "nvmini.h"
#include "support/textbuf.h"
#include "support/vec.h"
#include "target/target.h"

/* Newest accepted versions in !nvvmir.version. */
enum {
  PROGRAM_IR_MAJOR = 2,
  PROGRAM_IR_MINOR = 0,
  PROGRAM_DEBUG_MAJOR = 3,
  PROGRAM_DEBUG_MINOR = 2,
};

/* A module as it was added. */
struct program_input {
  const char *bytes; /* followed by a NUL */
  size_t length;
  const char *name;
  bool is_library; /* added lazily */
};

/* Behind the handle. A log or result of no bytes has size 1. */
struct _nvvmProgram {
  struct arena inputs_arena, log_arena, result_arena;
  VEC(struct program_input) inputs;
  struct textbuf log;
  struct nvm_text result;
};

/* ---- build.c ---- */

enum stage { STAGE_PARSE, STAGE_VERIFY, STAGE_LINK, STAGE_COMPILE };

/* A verification or compilation in work. */
struct build {
  struct _nvvmProgram *program;
  struct nvmini_context *context;
  struct nvmini_module **modules; /* as the inputs; NULL: not parsed yet */
  enum stage stage;
  const char *name;   /* of the module in work; NULL: of all, linked */
  nvvmResult refused; /* the code for invalid IR */
};

/* Compiles the program into its result, or verifies it if not `to_ptx`. The log is set. */
nvvmResult build_program(struct _nvvmProgram *p, int count, const char **options, bool to_ptx);

/* ---- lazy.c ---- */

/* Links what `whole` needs of the libraries among the modules. b->name is that of the last one. */
enum nvmini_status build_link_lazy(struct build *b, struct nvmini_module *whole);

/* ---- options.c ---- */

/* Sets libNVVM's options in the context; an error is logged. */
nvvmResult options_set(struct nvmini_context *context, int count, const char **options,
                       struct textbuf *log);

/* The CPU of "compute_90a", or NULL if libNVVM 13 has no such architecture. */
const struct tgt_cpu *options_find_arch(const char *name);

#endif
