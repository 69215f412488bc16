/* What one compilation did to each function, recorded while it runs and written as JSON, alone or
 * inside an HTML page. docs/explain.md describes both.
 *
 * A recording listens to the callbacks of the public API. The text of a function is stored when a
 * pass changed it; facts about its last text are computed just before code generation, which
 * consumes the IR. To make texts comparable, unnamed values and blocks get numbers as names once
 * and keep them: `%12` is the same value in every text. Names do not influence the PTX.
 *
 * All memory is of `arena`; its `failed` says that memory ran out. */
#ifndef NVM_DRIVER_EXPLAIN_H
#define NVM_DRIVER_EXPLAIN_H

#include "api/module.h"
#include "driver/options.h"
#include "ir/function.h"
#include "nvmini.h"
#include "sim/sim.h"
#include "support/diag.h"
#include "support/json.h"
#include "support/vec.h"

enum { EXPLAIN_NONE = -1 };

/* A pass that ran, and the function's text after it. */
struct explain_step {
  struct nvm_text pass;
  uint32_t number; /* as --opt-bisect-limit counts runs of passes; 0: no pass */
  uint32_t text;   /* index */
};

/* An instruction of the last text. */
struct explain_inst {
  uint32_t line; /* of the text, from 1; 0: unknown */
  bool has_result;
  enum op op;
  struct nvm_text members;   /* JSON, without braces */
  struct nvm_text registers; /* PTX registers of the result: `%f1, %f2` */
};

/* A line of PTX, without its line end. */
struct explain_ptx {
  struct nvm_text text;
  uint32_t ir;     /* line of the last text; 0: unknown */
  uint32_t source; /* line of its `.loc`; 0: none */
  int32_t file;    /* index of explain.files, or EXPLAIN_NONE */
};

struct explain_function {
  struct nvm_text name;
  bool is_kernel, is_final; /* is_final: still defined before code generation */
  uint32_t threads;         /* of a block, by launch bounds; 0: unknown */
  uint32_t next_number;     /* of unnamed values */
  VEC(struct nvm_text) texts;
  VEC(struct explain_step) steps;
  VEC(struct nvm_text) plans;
  struct textbuf remarks; /* JSON objects, separated by commas */
  struct nvm_text input_lines; /* JSON: the array of that name */
  struct nvm_text graph;  /* JSON: the members `blocks` and `loops` */
  VEC(struct explain_inst) insts;
  VEC(struct explain_ptx) ptx;
  uint32_t ptx_begin;    /* line in the PTX, from 1; 0: not there */
  struct nvm_text costs; /* JSON object; empty: the PTX was not understood */
};

/* A step of the traced thread. */
struct explain_trace {
  uint32_t line; /* of the PTX */
  struct nvm_text text;
};

struct explain_run {
  bool done;
  struct nvm_text kernel, finding; /* finding: empty if there was none */
  uint32_t grid[3], block[3];
  struct nvm_text counts;        /* JSON object */
  struct sim_line_counts *lines; /* by line of the PTX; explain.ptx_lines + 1 of them */
  VEC(struct explain_trace) trace;
};

struct explain_file {
  struct nvm_text name, path;
};

/* A block whose name is another one while its function is printed. */
struct renamed_block {
  struct nvm_block block;
  struct nvm_str name;
};

/* The diagnostics of an input, from before it is parsed, in memory of their own; each also goes to
 * the report that the context had. */
struct explain_diagnostics {
  struct arena arena;
  struct textbuf json; /* objects, separated by commas */
  bool used[DIAG_COUNT];
  nvmini_report *report;
  void *user;
};

struct explain {
  struct arena arena;
  struct nvmini_context *context;
  struct nvmini_module *module;
  struct nvm_text input; /* the name of the input */
  struct nvm_text source;
  struct nvm_text cpu, level;
  struct strtab names; /* of functions; function_of[name] - 1 is the index */
  VEC(uint32_t) function_of;
  VEC(struct explain_function) functions;
  uint32_t runs;    /* of passes so far, on all functions */
  uint32_t planned; /* index of the function of the last plan */
  const struct explain_diagnostics *diagnostics; /* or NULL */
  VEC(struct explain_file) files;
  VEC(struct renamed_block) renamed; /* record.c */
  VEC(bool) given;                   /* record.c: by string of the module */
  struct nvm_text ptx;               /* as `nvmini compile` writes it */
  uint32_t ptx_lines;
  struct explain_run run;
  /* Called with watch_state. If not NULL: after a step that gave function x a new text. */
  void (*watch)(void *state, struct explain *e, const struct explain_function *x);
  void *watch_state;
  /* If not NULL: called before each pass; `function` is `[module]` for a pass over the module, and
   * `pass` is `isel` before code generation. Needs the option --print-before=*. */
  void (*enter)(void *state, struct explain *e, struct nvm_text pass, struct nvm_text function);
  /* If not NULL: called after each change was recorded, as module_on_change says. */
  module_change *check;
};

/* record.c: records the diagnostics of a context that reports them to `report`. */
void explain_diagnostics_start(struct explain_diagnostics *d, struct nvmini_context *context,
                               nvmini_report *report, void *user);
void explain_diagnostics_end(struct explain_diagnostics *d, struct nvmini_context *context);

/* record.c: an empty recording of a module that was parsed in `context`, whose callbacks for
 * dumps, plans, remarks and changes it takes over. The context's memory limit includes the
 * recording, which ends before the context. `diagnostics` become part of it; NULL: none. False when
 * out of memory. */
bool explain_start(struct explain *e, struct nvmini_context *context, struct nvmini_module *module,
                   const struct explain_diagnostics *diagnostics);
/* Compiles the module with the context's options and records it. */
enum nvmini_status explain_compile(struct explain *e);
/* After a failure: records the texts that the last pass left. */
void explain_catch_up(struct explain *e);
void explain_end(struct explain *e);
/* Gives all values and blocks of f names, which stay; the text with them. Of `e`, only `arena` and
 * `names` are used. */
struct nvm_text explain_name_values(struct explain *e, struct nvm_function *f);
/* The index of a source file, added if it is new. */
int32_t explain_file(struct explain *e, struct nvm_text directory, struct nvm_text name);

/* facts.c: blocks, loops and instructions of f as code generation gets it. */
void explain_facts(struct explain *e, struct explain_function *x, const struct nvm_function *f);
/* The lines of f's text that have a debug location: a JSON array of [line, file, source line]. */
struct nvm_text explain_located_lines(struct explain *e, const struct nvm_function *f);

/* ptx_lines.c: splits the PTX, whose comments say which instruction each line comes from, and
 * removes these comments. */
void explain_split_ptx(struct explain *e, struct nvm_text ptx);

/* costs.c: what the loops cost, after the PTX was split. */
void explain_costs(struct explain *e);

/* write.c: the JSON and the page, of all functions or of one (an index, or EXPLAIN_NONE). */
void explain_write_json(struct explain *e, int64_t only, struct textbuf *out);
void explain_write_page(struct explain *e, int64_t only, struct textbuf *out);

/* reference.c: the member `reference`: what the reference says about passes, instructions and PTX
 * instructions that the recording, or one function of it, has. */
void explain_put_reference(struct json_writer *w, const struct explain *e, int64_t only);

/* changes.c: how a change is shown: as a difference of lines, as the number of lines, or as two
 * columns. */
enum explain_style { EXPLAIN_DIFF, EXPLAIN_QUIET, EXPLAIN_SIDE, EXPLAIN_STYLES };
/* The style of that name, or EXPLAIN_STYLES. */
enum explain_style explain_style(const char *name);
/* What step k, which is not the first one, changed. */
void explain_write_change(struct explain *e, const struct explain_function *x, uint32_t k,
                          enum explain_style style, struct textbuf *out);
/* What each pass changed; the history of a value (`%x`), false if no function has it. */
void explain_write_changes(struct explain *e, enum explain_style style, struct textbuf *out);
bool explain_write_history(struct explain *e, struct nvm_text name, struct textbuf *out);

/* analyses.c: what `--emit` of its name prints at the lines of the IR. */
struct explain_analysis {
  const char *name, *meaning;
};
/* The analyses in the order of the reference; NULL after the last. */
const struct explain_analysis *explain_analysis(uint32_t index);

/* analyses.c: whether an analysis has this name; appends the functions of m, or the one named
 * `only`, with what the analysis knows as comments at its lines, for which values without a name
 * get one. False when out of memory. */
bool explain_is_analysis(const char *name);
bool explain_write_analysis(struct nvm_module *m, const char *name, const char *only,
                            struct textbuf *out);

/* cfg_svg.c: the control flow graphs of the functions, or of the one named `only`, as an SVG
 * drawing; nothing if there is none. False when out of memory. */
bool explain_write_svg(struct nvm_module *m, const char *only, struct textbuf *out);

/* print_changed.c: optimizes the text of a module for the options of `compile` and the CPU that the
 * options or the module name, and prints each change to standard error as soon as it happened.
 * Nothing else is printed, and nothing if the module has errors. */
void explain_print_changed(const struct options *o, const char *shown, struct nvmini_text source,
                           enum explain_style style);

/* pages.c: the file name of a function's page; the page that lists them. */
struct nvm_text explain_page_name(struct explain *e, uint32_t function);
void explain_write_index(struct explain *e, struct textbuf *out);

#endif
