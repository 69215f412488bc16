/* nvmini: textual NVVM IR in, PTX out, from memory.
 *
 * A context holds the options, the allocator and the memory limit; modules are made in a context.
 * Nothing is global: contexts are independent of each other, and each may be used by one thread at
 * a time. The library never prints, exits or aborts, and opens no file. What it has to say about
 * the input comes through one callback, with byte ranges into the caller's text.
 *
 *   struct nvmini_context *c = nvmini_create(NULL, 0);
 *   nvmini_set_option(c, "--cpu=sm_90a");
 *   struct nvmini_module *m;
 *   if (nvmini_parse(c, text, length, "kernel.nvir", &m) == NVMINI_OK) {
 *     struct nvmini_text ptx;
 *     if (nvmini_compile(m, &ptx) == NVMINI_OK) fwrite(ptx.bytes, 1, ptx.length, stdout);
 *     nvmini_release(m);
 *   }
 *   nvmini_destroy(c);
 *
 * samples/embed.c is a whole program. Link with -lnvmini; nothing else is needed. */
#ifndef NVMINI_H
#define NVMINI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define NVMINI_API __attribute__((visibility("default")))
#else
#define NVMINI_API
#endif

enum nvmini_status {
  NVMINI_OK = 0,
  NVMINI_REFUSED,       /* the input has errors; each was reported */
  NVMINI_OUT_OF_MEMORY, /* the allocator refused, or the memory limit was reached; reported */
  NVMINI_BAD_OPTION, /* an option is unknown, has a wrong value or contradicts another; reported */
  NVMINI_BUG,        /* a fault of nvmini's own; reported, with the part it happened in */
};

enum nvmini_severity { NVMINI_ERROR, NVMINI_WARNING, NVMINI_REMARK, NVMINI_NOTE };

/* Bytes; not NUL-terminated unless a function says so. */
struct nvmini_text {
  const char *bytes;
  size_t length;
};

/* One message. Everything in it is valid only during the callback. */
struct nvmini_diagnostic {
  enum nvmini_severity severity;
  const char *id;              /* stable, NUL-terminated: "undefined-local" */
  struct nvmini_text message;  /* one line, without the location */
  struct nvmini_text function; /* the function it speaks of, without @; may be empty */
  struct nvmini_text hint;     /* what to try; may be empty */
  const char *name;            /* of the module, as given to nvmini_parse; NULL: about no module */
  struct nvmini_text source;   /* the module's whole text */
  uint64_t begin, end;         /* byte range [begin, end) in it; 0, 0: about no place */
  uint32_t line, column;       /* of `begin`, from 1; the column counts bytes; 0: about no place */
};

typedef void nvmini_report(void *user, const struct nvmini_diagnostic *diagnostic);

/* The caller's memory. `resize(state, NULL, 0, n)` allocates, `resize(state, p, old, 0)` frees and
 * returns NULL, all else grows or shrinks. NULL for n > 0 is "out of memory"; the old memory then
 * stays valid. Sizes are bytes; results are aligned for any object. */
struct nvmini_allocator {
  void *(*resize)(void *state, void *memory, size_t old_bytes, size_t new_bytes);
  void *state;
};

struct nvmini_context;
struct nvmini_module;

/* A context with default options. `allocator` may be NULL (the C library's). All memory that the
 * context and its modules hold at one time stays below `memory_limit` bytes; 0 is no limit.
 * Returns NULL when out of memory. */
NVMINI_API struct nvmini_context *nvmini_create(const struct nvmini_allocator *allocator,
                                                size_t memory_limit);

/* Ends a context. Its modules must have been released. NULL is allowed. */
NVMINI_API void nvmini_destroy(struct nvmini_context *context);

/* From now on diagnostics go to `report`, called with `user`. NULL: nowhere. */
NVMINI_API void nvmini_on_diagnostic(struct nvmini_context *context, nvmini_report *report,
                                     void *user);

/* From now on the IR dumps that --print-before, --print-after and --print-changed ask for, and the
 * tables of --time-passes and --stats, go to `dump`, called with `user`; the text is valid during
 * the call. NULL: nowhere. */
typedef void nvmini_dump(void *user, struct nvmini_text text);
NVMINI_API void nvmini_on_dump(struct nvmini_context *context, nvmini_dump *dump, void *user);

/* From now on the loop vectorizer's plans go to `plan`, as text or, if `graphs` is not 0, for
 * Graphviz. */
NVMINI_API void nvmini_on_plan(struct nvmini_context *context, nvmini_dump *plan, void *user,
                               int graphs);

/* What the optimizer did, did not do and why, or found out: LLVM's optimization remarks. The text
 * is the values of the arguments in a row; their keys ("String" for plain text) are for programs.
 */
enum nvmini_remark_kind { NVMINI_PASSED, NVMINI_MISSED, NVMINI_ANALYSIS };
struct nvmini_remark_argument {
  struct nvmini_text key, value;
};
struct nvmini_remark {
  enum nvmini_remark_kind kind;
  const char *pass, *name; /* NUL-terminated: "inline", "TooCostly" */
  struct nvmini_text function;
  struct nvmini_text file; /* of the place: the source's, or as given to nvmini_parse */
  uint32_t line, column;   /* from 1; 0: not known */
  const struct nvmini_remark_argument *arguments;
  size_t count;
};
/* From now on remarks go to `remark`, called with `user`; the record is valid during the call.
 * NULL: nowhere, which costs nothing. */
typedef void nvmini_remark_report(void *user, const struct nvmini_remark *remark);
NVMINI_API void nvmini_on_remark(struct nvmini_context *context, nvmini_remark_report *remark,
                                 void *user);

/* Sets one option: any of those that `nvmini compile --help` lists as compiler options, spelled with
 * `=` before the value ("--cpu=sm_90a", "--ftz", "-O2", "-Wno-unknown-asm", "--knob=NAME=VALUE"), or
 * one of libNVVM's: -arch=compute_90a -opt=0..3 -ftz=0|1 -fma=0|1 -prec-div=0|1 -prec-sqrt=0|1 -g.
 * Of several occurrences the last one holds.
 *
 * Returns NVMINI_BAD_OPTION, without effect, for anything else. A CPU must be set before the first
 * nvmini_compile; it has no default. */
NVMINI_API enum nvmini_status nvmini_set_option(struct nvmini_context *context, const char *option);

/* Reads a module of `length` bytes; text[length] must be a NUL, as it is behind a C string. On
 * NVMINI_OK *module is the caller's to release; otherwise it is NULL. `text` and `name` are
 * borrowed until then; `name` is for messages. */
NVMINI_API enum nvmini_status nvmini_parse(struct nvmini_context *context, const char *text,
                                           size_t length, const char *name,
                                           struct nvmini_module **module);

/* Frees a module and every text that it returned. NULL is allowed. */
NVMINI_API void nvmini_release(struct nvmini_module *module);

/* Copies all that `other` defines into `module`, by LLVM's rules of linkage. `other` (of the same
 * context) stays the caller's, and `module` borrows nothing from it. NVMINI_REFUSED, `module` being
 * unchanged, if the two don't fit together; after NVMINI_OUT_OF_MEMORY it can only be released. */
NVMINI_API enum nvmini_status nvmini_link(struct nvmini_module *module,
                                          const struct nvmini_module *other);

/* The same for a library as libdevice: only what `module` declares and lacks is copied, with what
 * that needs, and is internal to `module` from then on. */
NVMINI_API enum nvmini_status nvmini_link_library(struct nvmini_module *module,
                                                  const struct nvmini_module *library);

/* Verifies a module: reports every broken rule of the IR. */
NVMINI_API enum nvmini_status nvmini_check(struct nvmini_module *module);

/* The module's canonical text, which parses to the same module again. Valid until the next call
 * that takes this module; a NUL follows it. */
NVMINI_API enum nvmini_status nvmini_print(struct nvmini_module *module, struct nvmini_text *text);

/* The same for the control flow graphs of its functions (of --only-function), for Graphviz. */
NVMINI_API enum nvmini_status nvmini_print_graphs(struct nvmini_module *module,
                                                  struct nvmini_text *text);

/* Verifies the module and runs the passes of the context's options over it. A CPU must be set. The
 * passes change the module: what they folded for this CPU stays folded, so that for another CPU the
 * text is parsed again. */
NVMINI_API enum nvmini_status nvmini_optimize(struct nvmini_module *module);

/* The same, and compiles what comes out to PTX. Valid until the next call
 * that takes this module; a NUL follows it. */
NVMINI_API enum nvmini_status nvmini_compile(struct nvmini_module *module, struct nvmini_text *ptx);

/* Bytes that the context and its modules hold now, and the most they ever held. */
NVMINI_API size_t nvmini_memory_used(const struct nvmini_context *context);
NVMINI_API size_t nvmini_memory_peak(const struct nvmini_context *context);

/* "0.1.0" */
NVMINI_API const char *nvmini_version(void);

#ifdef __cplusplus
}
#endif

#endif
