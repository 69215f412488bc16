/* Passes and their manager.
 *
 * A pass is one file, one function, one row of passes.def. It transforms a function (or the module)
 * and reports whether it changed anything. The manager chooses the functions, verifies, dumps,
 * times, counts and bisects. No pass calls a pass. */
#ifndef NVM_OPT_PASS_H
#define NVM_OPT_PASS_H

#include "analysis/flow.h"
#include "support/knobs.h"
#include "target/target.h"

struct annotations;
struct call_graph;
struct remark; /* opt/remark.h */
struct remark_sink;

struct pass_env {
  struct nvm_module *module;
  const struct nvm_target *target;
  struct arena *arena; /* scratch memory, reset after each run of a pass */
  const char *pass;    /* the running pass's name */
  const struct knobs *knobs;
  const struct remark_sink *remarks; /* for remark() of opt/remark.h; NULL: disabled */
  struct diag_sink *warnings;        /* for remark_warn() */
  void (*draw)(void *state, struct nvm_text text); /* receives vectorization plans; may be NULL */
  void *draw_state;
  bool draw_graphs;  /* in Graphviz format */
  bool verify;       /* the pass verifies its own structures */
  const char *fault; /* set by a pass that returns NVM_BUG: what is wrong with its plan */
  struct flow *flow; /* of the current function, as it was before the pass: analysis/flow.h */
  bool flow_kept;    /* set by a pass: `flow` is valid after it although the control flow changed */
  struct call_graph *calls; /* opt/interprocedural/call_graph.h; NULL outside groups with inline */
  const struct annotations *annotations; /* ir/annotation.h: as they were before the first pass */
  uint32_t number;                       /* of the current function */
  uint32_t parameters;                   /* of the running pass: a bit per enum pass_parameter */
  uint64_t *statistic;                   /* counter of the running pass: its row's `counts` */
  uint8_t size_effort; /* of the level: 1 -Os, 2 -Oz; for a function see pass_size_effort() */
};

/* How far the code size of this function matters more than its speed: 0; 1: -Os or the attribute
 * optsize; 2: -Oz or minsize. */
unsigned pass_size_effort(const struct pass_env *env, const struct nvm_function *f);

/* NVM_OK or NVM_OUT_OF_MEMORY; *changed is false on entry. */
typedef enum nvm_status pass_on_function(struct nvm_function *f, struct pass_env *env,
                                         bool *changed);
typedef enum nvm_status pass_on_module(struct nvm_module *m, struct pass_env *env, bool *changed);

enum pass_id {
  PASS_NONE,
#define FUNCTION_PASS(ENUM, name, run, needs, keeps, counts, meaning) PASS_##ENUM,
#define MODULE_PASS(ENUM, name, run, needs, keeps, counts, meaning) PASS_##ENUM,
#include "opt/passes.def"
  PASS_COUNT,
};

enum pass_parameter {
#define PASS_PARAMETER(PASS, ENUM, name, meaning) PARAMETER_##ENUM,
#include "opt/passes.def"
  PASS_PARAMETER_COUNT
};

/* Canonical forms of a function, each made by the pass of its name, and FORM_CFG: the control flow
 * is unchanged. */
enum pass_form { FORM_CFG = 1, FORM_LOOP_SIMPLIFY = 2, FORM_LCSSA = 4 };
enum {
  KEEPS_NOTHING = 0,
  KEEPS_CFG = FORM_CFG | FORM_LOOP_SIMPLIFY,
  KEEPS_ALL = KEEPS_CFG | FORM_LCSSA
};

struct pass_info {
  const char *name;
  const char *meaning;
  const char *counts;            /* meaning of the statistic: "instructions removed" */
  pass_on_function *on_function; /* or NULL, and on_module is not */
  pass_on_module *on_module;
  uint8_t needs, keeps; /* enum pass_form */
};
extern const struct pass_info pass_table[PASS_COUNT];

struct pass_parameter_info {
  enum pass_id pass;
  const char *name, *meaning;
};
extern const struct pass_parameter_info pass_parameters[PASS_PARAMETER_COUNT];

/* The pass of that name, PASS_NONE if there is none. */
enum pass_id pass_find(const char *name, size_t length);

enum { PASS_FORMS = 2 };
extern const struct pass_form_maker {
  enum pass_form form;
  enum pass_id maker;
} pass_forms[PASS_FORMS];

/* Zero-initialized except for bisect_limit: only runs the pipeline of `level`. Callbacks may be
 * NULL. */
struct pass_options {
  struct nvm_text pipeline; /* pass names, separated by commas; no bytes: the pipeline of `level` */
  const char *level;        /* see opt/pipeline.h */
  const struct knobs *knobs;
  void (*draw)(void *state, struct nvm_text text); /* as in struct pass_env */
  void *draw_state;
  bool draw_graphs;
  /* After each pass: verify what it changed, and check its report of changes and `keeps`. Always on
   * in a checking build. */
  bool verify_each;
  bool print_changed;                        /* dump after each pass that changed something */
  struct nvm_text print_before, print_after; /* dump around this pass, "*": each; empty: none */
  struct nvm_text only_function;             /* dump only this function; empty: all */
  int64_t bisect_limit;                      /* run only the first N passes; negative: all */
  bool packs; /* of a large module, kernels whose passes have ended are left packed: ir/pack.h */
  bool time_passes;
  void (*remark)(void *state, const struct remark *r);
  void *remark_state;
  /* Called before the first pass (`pass` NULL) and after each that changed something (f NULL: the
   * module). A status other than NVM_OK ends the run, which returns it. */
  enum nvm_status (*on_change)(void *state, struct nvm_module *m, const char *pass,
                               const struct nvm_function *f);
  void *change_state;
  void (*dump)(void *state, struct nvm_text text);
  void *dump_state;
};

struct pass_result {
  uint64_t statistics[PASS_COUNT];
  uint64_t runs[PASS_COUNT], changes[PASS_COUNT];
  uint64_t nanoseconds[PASS_COUNT]; /* processor time, with time_passes */
  uint64_t executed;                /* passes run over functions, as bisection counts them */
};

/* Append a table: time by pass; statistics by pass. */
void pass_report_times(const struct pass_result *r, struct textbuf *out);
void pass_report_statistics(const struct pass_result *r, struct textbuf *out);

/* Runs the pipeline over the module. NVM_REFUSED: a pass name is unknown; NVM_BUG: the verifier
 * rejects the result of a pass. Both are reported to `sink`. */
enum nvm_status pass_run_pipeline(struct nvm_module *m, const struct nvm_target *target,
                                  const struct pass_options *options, struct diag_sink *sink,
                                  struct pass_result *result);

#endif
