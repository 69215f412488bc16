/* Passes and their manager.
 *
 * A pass is one file, one function, one row of passes.def. It sees a function (or the module) and
 * its environment, and says whether it changed anything. Everything around it is the manager's:
 * which functions, verifying, dumps, timing, counting, bisection. No pass calls a pass. */
#ifndef NVM_OPT_PASS_H
#define NVM_OPT_PASS_H

#include "ir/function.h"
#include "target/target.h"

struct remark; /* opt/remark.h */
struct remark_sink;

struct pass_env {
  struct nvm_module *module;
  const struct nvm_target *target;
  struct arena *arena;      /* scratch memory, reset after each run of a pass */
  const char *pass;         /* the running pass's name */
  const struct remark_sink *remarks; /* for remark() of opt/remark.h; NULL: nobody asks */
  uint64_t *statistic;      /* what the running pass counts: its row's `counts` */
};

/* NVM_OK or NVM_OUT_OF_MEMORY; *changed is false on entry. */
typedef enum nvm_status pass_on_function(struct nvm_function *f, struct pass_env *env,
                                         bool *changed);
typedef enum nvm_status pass_on_module(struct nvm_module *m, struct pass_env *env, bool *changed);

enum pass_id {
  PASS_NONE,
#define FUNCTION_PASS(ENUM, name, run, counts, meaning) PASS_##ENUM,
#define MODULE_PASS(ENUM, name, run, counts, meaning) PASS_##ENUM,
#include "opt/passes.def"
#undef FUNCTION_PASS
#undef MODULE_PASS
  PASS_COUNT,
};

struct pass_info {
  const char *name;
  const char *meaning;
  const char *counts;          /* what the pass counts: "instructions removed" */
  pass_on_function *on_function; /* one of the two */
  pass_on_module *on_module;
};
extern const struct pass_info pass_table[PASS_COUNT];

/* The pass of that name, PASS_NONE if there is none. */
enum pass_id pass_find(const char *name, size_t length);

/* A level's pipeline as names separated by commas: "mem2reg,sccp,…". Levels: "0" … "3". NULL for
 * an unknown level. */
const char *pass_pipeline(const char *level);

/* What the manager does beside running. Zero: nothing. */
struct pass_options {
  struct nvm_text pipeline;    /* names, separated by commas */
  bool verify_each;            /* verify the module's function after each pass that changed it */
  bool print_changed;          /* dump after each pass that changed something */
  struct nvm_text print_before, print_after; /* a pass's name, "*": all, empty: none */
  struct nvm_text only_function; /* dumps of this function only; empty: all */
  int64_t bisect_limit;        /* run only the first N passes; negative: all */
  bool time_passes;            /* measure */
  /* Receives the remarks; NULL: nobody asks. */
  void (*remark)(void *state, const struct remark *r);
  void *remark_state;
  /* Receives the dumps; NULL: none. */
  void (*dump)(void *state, struct nvm_text text);
  void *dump_state;
};

struct pass_result {
  uint64_t statistics[PASS_COUNT];
  uint64_t runs[PASS_COUNT], changes[PASS_COUNT];
  uint64_t nanoseconds[PASS_COUNT]; /* processor time, with time_passes */
  uint64_t executed;                /* passes run over functions, as bisection counts them */
};

/* Runs the pipeline over the module. Reports an unknown pass name or what the verifier finds to
 * `sink`: NVM_REFUSED for the former, NVM_BUG for the latter (the message names the pass). */
enum nvm_status pass_run_pipeline(struct nvm_module *m, const struct nvm_target *target,
                                  const struct pass_options *options, struct diag_sink *sink,
                                  struct pass_result *result);

#endif
