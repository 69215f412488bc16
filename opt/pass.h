/* Passes and their manager.
 *
 * A pass is one file, one function, one row of passes.def. It sees a function (or the module) and
 * its environment, and says whether it changed anything. Everything around it is the manager's:
 * which functions, verifying, dumps, timing, counting, bisection. No pass calls a pass. */
#ifndef NVM_OPT_PASS_H
#define NVM_OPT_PASS_H

#include "analysis/flow.h"
#include "support/knobs.h"
#include "target/target.h"

struct call_graph;
struct remark; /* opt/remark.h */
struct remark_sink;

struct pass_env {
  struct nvm_module *module;
  const struct nvm_target *target;
  struct arena *arena; /* scratch memory, reset after each run of a pass */
  const char *pass;    /* the running pass's name */
  const struct knobs *knobs;
  const struct remark_sink *remarks; /* for remark() of opt/remark.h; NULL: nobody asks */
  void (*draw)(void *state,
               struct nvm_text text); /* takes vectorization plans; NULL: nobody asks */
  void *draw_state;
  bool draw_graphs;  /* for Graphviz */
  struct flow *flow; /* of the function in hand, as the pass finds it: analysis/flow.h */
  bool flow_kept;    /* a pass that changed the control flow says: since then it made `flow` forget,
                        and has asked again */
  struct call_graph *calls; /* opt/interprocedural/call_graph.h; NULL: no pass of the group asks */
  uint32_t number;          /* of the function in hand */
  uint64_t *statistic;      /* what the running pass counts: its row's `counts` */
};

/* NVM_OK or NVM_OUT_OF_MEMORY; *changed is false on entry. */
typedef enum nvm_status pass_on_function(struct nvm_function *f, struct pass_env *env,
                                         bool *changed);
typedef enum nvm_status pass_on_module(struct nvm_module *m, struct pass_env *env, bool *changed);

enum pass_id {
  PASS_NONE,
#define FUNCTION_PASS(ENUM, name, run, needs, keeps, counts, meaning) PASS_##ENUM,
#define MODULE_PASS(ENUM, name, run, needs, keeps, counts, meaning) PASS_##ENUM,
#include "opt/passes.def"
#undef FUNCTION_PASS
#undef MODULE_PASS
  PASS_COUNT,
};

/* What a function can be in. Each form but FORM_CFG, which is the control flow as it was, is made
 * by the pass of its name. */
enum pass_form { FORM_CFG = 1, FORM_LOOP_SIMPLIFY = 2, FORM_LCSSA = 4 };
enum {
  KEEPS_NOTHING = 0,
  KEEPS_CFG = FORM_CFG | FORM_LOOP_SIMPLIFY,
  KEEPS_ALL = KEEPS_CFG | FORM_LCSSA
};

struct pass_info {
  const char *name;
  const char *meaning;
  const char *counts;            /* what the pass counts: "instructions removed" */
  pass_on_function *on_function; /* one of the two */
  pass_on_module *on_module;
  uint8_t needs, keeps; /* enum pass_form */
};
extern const struct pass_info pass_table[PASS_COUNT];

/* The pass of that name, PASS_NONE if there is none. */
enum pass_id pass_find(const char *name, size_t length);

/* A level's pipeline as names separated by commas: "mem2reg,sccp,…". `+name`: the pass runs on
 * those functions that the last one before it without + has changed. Levels: "0" … "3", "max",
 * "mid", "min" (of -Ofc). A level without a row has the last row's. */
const char *pass_pipeline(const char *level);

enum { PASS_MOST = 256 }; /* in one pipeline */
struct pass_step {
  uint8_t pass;     /* enum pass_id */
  bool conditional; /* + */
};
/* Reads a pipeline, adding what makes the forms that its passes need. Returns the number of
 * steps[PASS_MOST], or -1, *unknown being the name that no pass has (or that is one too many). */
int pass_read_pipeline(struct nvm_text list, struct pass_step *steps, struct nvm_text *unknown);

/* What the manager does beside running. Zero: nothing. */
struct pass_options {
  struct nvm_text pipeline; /* names, separated by commas */
  const struct knobs *knobs;
  void (*draw)(void *state, struct nvm_text text); /* as in struct pass_env */
  void *draw_state;
  bool draw_graphs;
  /* After each pass: verify what it changed, and that it told the truth about changing anything and
   * about what it keeps. Always so in a checking build. */
  bool verify_each;
  bool print_changed;                        /* dump after each pass that changed something */
  struct nvm_text print_before, print_after; /* a pass's name, "*": all, empty: none */
  struct nvm_text only_function;             /* dumps of this function only; empty: all */
  int64_t bisect_limit;                      /* run only the first N passes; negative: all */
  bool time_passes;                          /* measure */
  /* Receives the remarks; NULL: nobody asks. */
  void (*remark)(void *state, const struct remark *r);
  void *remark_state;
  /* Called before the first pass, then with `pass` NULL, and after each that changed something (f
   * NULL: the module). Anything but NVM_OK ends the run and is its status. NULL: nobody asks. */
  enum nvm_status (*on_change)(void *state, struct nvm_module *m, const char *pass,
                               const struct nvm_function *f);
  void *change_state;
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

/* Appends tables for people: where the time went; what was counted. */
void pass_report_times(const struct pass_result *r, struct textbuf *out);
void pass_report_statistics(const struct pass_result *r, struct textbuf *out);

/* Runs the pipeline over the module. Reports an unknown pass name or what the verifier finds to
 * `sink`: NVM_REFUSED for the former, NVM_BUG for the latter (the message names the pass). */
enum nvm_status pass_run_pipeline(struct nvm_module *m, const struct nvm_target *target,
                                  const struct pass_options *options, struct diag_sink *sink,
                                  struct pass_result *result);

#endif
