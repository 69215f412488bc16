/* The objects behind the handles of the public API, and what the files of api/ share: counted
 * memory and the reporting of one call.
 *
 * A context wraps the caller's allocator, so that every byte is counted and the memory limit holds
 * for all arenas together. Each call that can report owns an arena for its diagnostics. They reach
 * the callback in the order in which they were found, and are freed when the call returns. Text
 * that a call returns lives in the module's output arena until the next call. */
#ifndef NVM_API_CONTEXT_H
#define NVM_API_CONTEXT_H

#include "api/module.h"
#include "codegen/codegen.h"
#include "nvmini.h"
#include "opt/pass.h"
#include "support/diag.h"
#include "support/knobs.h"
#include "target/options.h"

enum phase { PHASE_PARSE, PHASE_VERIFY, PHASE_PASSES, PHASE_CODEGEN, PHASE_COUNT };

/* Who may call the functions of a module. */
enum scope {
  SCOPE_UNKNOWN, /* above -O0, only the module itself if it appears to be a whole program */
  SCOPE_PROGRAM, /* --whole-program: the module itself */
  SCOPE_MODULE,  /* --device-c: other modules too */
};

struct nvmini_context {
  struct nvm_allocator allocator; /* the caller's */
  size_t used_bytes, peak_bytes;
  size_t limit_bytes; /* 0: none */
  nvmini_report *report;
  void *user;
  nvmini_dump *dump;
  void *dump_user;
  nvmini_dump *plan;
  void *plan_user;
  int plan_graphs;
  nvmini_remark_report *remark;
  void *remark_user;
  struct tgt_options target;
  struct knobs knobs;
  const char *level; /* a row of the pipelines: "0" … "3", "s", "z", "max", "mid", "min" */
  struct pass_options passes; /* texts in `strings`; no pipeline: the level's */
  bool statistics;
  uint64_t nanoseconds[PHASE_COUNT]; /* processor time; with passes.time_passes */
  struct arena strings;
  uint32_t error_limit;
  struct diag_policy warnings;
  bool verbose;        /* --asm-verbose */
  bool no_mathlib;     /* --mathlib=off */
  uint8_t scope;       /* enum scope */
  uint8_t triple_rule; /* enum triple_rule */
};

/* What was done to a module: compiled, its IR cannot be executed. */
enum module_state { MODULE_PARSED, MODULE_OPTIMIZED, MODULE_COMPILED };

struct nvmini_module {
  struct nvmini_context *context;
  enum module_state state;
  struct nvm_module *ir;
  struct nvmini_text source; /* borrowed from the caller; see module_source() */
  bool is_text;              /* or bitcode, without lines */
  module_reread *reread;     /* NULL, or returns `source` again */
  void *reread_state;
  const char *name;             /* likewise */
  struct arena output;          /* of the text returned last */
  struct codegen_pieces pieces; /* likewise */
};

/* ---- context.c ---- */

/* The context's allocator: counts, and fails where the memory limit would be exceeded. */
struct nvm_allocator context_allocator(struct nvmini_context *c);

/* This thread's processor time in nanoseconds; 0 without --time-passes. */
uint64_t context_clock(const struct nvmini_context *c);
/* Adds the time since `begin` to a phase. */
void context_add_time(struct nvmini_context *c, enum phase phase, uint64_t begin);

/* ---- report.c ---- */

/* The same bytes in the public type. */
static inline struct nvmini_text public_text(struct nvm_text t) {
  return (struct nvmini_text){t.bytes, t.length};
}

/* Reports without allocating memory; `m` may be NULL. */
void report_fixed(struct nvmini_context *c, const struct nvmini_module *m, enum diag_id id,
                  const char *message);

/* Reports that memory ran out; returns that status. */
enum nvmini_status report_out_of_memory(struct nvmini_context *c, const struct nvmini_module *m);

/* Begins a call that can report: an arena, and a sink in it. */
void report_start(struct nvmini_context *c, struct arena *arena, struct diag_sink *sink);

/* Ends the call: delivers what was reported, frees the arena, and returns the public status. */
enum nvmini_status report_finish(struct nvmini_context *c, const struct nvmini_module *m,
                                 struct arena *arena, const struct diag_sink *sink,
                                 enum nvm_status status);

/* The same for a call about two modules: each diagnostic is delivered with its own module. */
enum nvmini_status report_finish_link(struct nvmini_module *into, const struct nvmini_module *from,
                                      struct arena *arena, struct diag_sink *sink,
                                      enum nvm_status status);

/* ---- module.c ---- */

/* The text that was parsed. */
struct nvmini_text module_source(const struct nvmini_module *m);

/* The buffer's bytes, followed by a NUL; out of memory shows in the arena. */
struct nvmini_text module_finish_text(struct textbuf *b);

/* The function that --only-function names, or NULL without the option. False, and reported, if the
 * module does not define it. */
bool module_only_function(const struct nvmini_module *m, struct diag_sink *sink,
                          const struct nvm_function **only);

#endif
