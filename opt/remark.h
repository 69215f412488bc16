/* Optimization remarks: transformations done, missed with the reason, and results of analyses.
 *
 * A record is as in LLVM: kind, pass, name, function, location, and a text in pieces, some of which
 * have keys for programs. */
#ifndef NVM_OPT_REMARK_H
#define NVM_OPT_REMARK_H

#include "opt/pass.h"

enum remark_kind { REMARK_PASSED, REMARK_MISSED, REMARK_ANALYSIS };

struct remark_argument {
  struct nvm_text key; /* "String" for plain text */
  struct nvm_text value;
};

struct remark {
  enum remark_kind kind;
  const char *pass, *name;
  struct nvm_text function;
  struct nvm_text file;                    /* source file; empty: unknown */
  uint32_t line, column;                   /* in `file`; 0: unknown */
  uint64_t position;                       /* byte offset in the IR text; 0: unknown */
  const struct remark_argument *arguments; /* the text is the concatenation of their values */
  uint32_t count;
};

struct remark_sink {
  void (*deliver)(void *state, const struct remark *r); /* the record is valid during the call */
  void *state;
  struct arena *arena; /* of the text, reset after each remark */
};

/* To skip the computation of remark arguments. */
static inline bool remark_enabled(const struct pass_env *env) { return env->remarks != NULL; }

/* Emits a remark about f, located at `at` ({0}: at f). `name` is as in LLVM ("NotInlined"). The
 * format is that of textbuf_format(), and `%(Cost)u` makes a piece with the key `Cost`:
 *
 *   remark(env, REMARK_MISSED, f, call, "TooCostly", "'%(Callee)t' not inlined: cost=%(Cost)u", …)
 */
void remark(const struct pass_env *env, enum remark_kind kind, const struct nvm_function *f,
            struct nvm_inst_id at, const char *name, const char *format, ...);

/* Reports a warning about f at an instruction, with `text` as %0. */
void remark_warn(const struct pass_env *env, const struct nvm_function *f, struct nvm_inst_id at,
                 enum diag_id id, const char *text);

/* The first instruction of b that has a location, or its terminator. */
struct nvm_inst_id remark_at_block(const struct nvm_function *f, struct nvm_block b);

#endif
