/* Remarks: what a pass did, did not do and why, and what it found out, told to whoever asks.
 *
 * The record is LLVM's: a kind, the pass, the remark's name, the function, a place, and a text in
 * pieces, some of which have keys for programs to read. */
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
  struct nvm_text file;  /* of the source that was compiled to IR; empty: not known */
  uint32_t line, column; /* in it; 0: not known */
  uint64_t position;     /* byte offset in the IR's text; 0: not known */
  const struct remark_argument *arguments; /* their values in a row are the text */
  uint32_t count;
};

struct remark_sink {
  void (*deliver)(void *state, const struct remark *r); /* the record is valid during the call */
  void *state;
  struct arena *arena; /* of the text on its way, reset after each */
};

/* Whether somebody asks: for what takes work to find out. */
static inline bool remark_wanted(const struct pass_env *env) { return env->remarks != NULL; }

/* Tells of f, at the instruction `at` ({0}: at the function's head). `name` is the remark's, in
 * LLVM's manner ("NotInlined"). The text is as textbuf_format()'s, and `%(Cost)u` gives a piece the
 * key `Cost`:
 *
 *   remark(env, REMARK_MISSED, f, call, "TooCostly", "'%(Callee)t' not inlined: cost=%(Cost)u", …)
 */
void remark(const struct pass_env *env, enum remark_kind kind, const struct nvm_function *f,
            struct nvm_inst_id at, const char *name, const char *format, ...);

/* For remark()'s `at`: the first instruction of b that has a place, or its terminator. */
struct nvm_inst_id remark_at_block(const struct nvm_function *f, struct nvm_block b);

#endif
