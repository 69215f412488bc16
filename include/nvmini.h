/* nvmini: textual NVVM IR or LLVM bitcode in, PTX out, from memory; and execution on the CPU.
 *
 * A context holds the options, the allocator and the memory limit; modules are made in a context.
 * There is no global state: contexts are independent, and each may be used by one thread at a time.
 * The library never prints, exits, aborts or opens files. Diagnostics go to a callback, with byte
 * ranges into the caller's text.
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
 * samples/embed.c and samples/embed_run.c are complete programs. Link with -lnvmini; nothing else
 * is needed. */
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
  NVMINI_REFUSED,       /* the input has errors, all reported */
  NVMINI_OUT_OF_MEMORY, /* the allocator failed, or the memory limit was reached; reported */
  NVMINI_BAD_OPTION, /* an option is unknown, has an invalid value or contradicts another; reported
                      */
  NVMINI_BUG,        /* internal compiler error; reported */
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
  struct nvmini_text function; /* the function concerned, without @; may be empty */
  struct nvmini_text hint;     /* a suggestion, lines separated by \n; may be empty */
  const char *name;            /* of the module, as given to nvmini_parse; NULL: none */
  struct nvmini_text source;   /* the module's whole text */
  uint64_t begin, end;         /* byte range [begin, end) in it; 0, 0: none */
  uint32_t line, column;       /* of `begin`, from 1; the column counts bytes; 0: none */
};

typedef void nvmini_report(void *user, const struct nvmini_diagnostic *diagnostic);

/* The caller's memory. `resize(state, NULL, 0, n)` allocates, `resize(state, p, old, 0)` frees and
 * returns NULL, anything else grows or shrinks. NULL for n > 0 means out of memory; the old memory
 * stays valid. Sizes are bytes; results are aligned for any object. */
struct nvmini_allocator {
  void *(*resize)(void *state, void *memory, size_t old_bytes, size_t new_bytes);
  void *state;
};

struct nvmini_context;
struct nvmini_module;

/* A context with default options. `allocator` may be NULL (the C library's). The context, its
 * modules and machines never hold more than `memory_limit` bytes together; 0: no limit. Returns
 * NULL when out of memory. */
NVMINI_API struct nvmini_context *nvmini_create(const struct nvmini_allocator *allocator,
                                                size_t memory_limit);

/* Ends a context. Its modules and machines must have been released. NULL is allowed. */
NVMINI_API void nvmini_destroy(struct nvmini_context *context);

/* Sends diagnostics to `report`, called with `user`. NULL: discards them. */
NVMINI_API void nvmini_on_diagnostic(struct nvmini_context *context, nvmini_report *report,
                                     void *user);

/* Sends IR dumps (--print-before, --print-after, --print-changed) and the tables of --time-passes
 * and --stats to `dump`, called with `user`; the text is valid during the call. NULL: discards
 * them. */
typedef void nvmini_dump(void *user, struct nvmini_text text);
NVMINI_API void nvmini_on_dump(struct nvmini_context *context, nvmini_dump *dump, void *user);

/* Sends the loop vectorizer's plans to `plan`, as text or, if `graphs` is not 0, for Graphviz. */
NVMINI_API void nvmini_on_plan(struct nvmini_context *context, nvmini_dump *plan, void *user,
                               int graphs);

/* LLVM's optimization remarks: what was optimized, what was not and why, and analysis results. The
 * text is the concatenation of the argument values; their keys ("String" for plain text) are for
 * programs. */
enum nvmini_remark_kind { NVMINI_PASSED, NVMINI_MISSED, NVMINI_ANALYSIS };
struct nvmini_remark_argument {
  struct nvmini_text key, value;
};
struct nvmini_remark {
  enum nvmini_remark_kind kind;
  const char *pass, *name; /* NUL-terminated: "inline", "TooCostly" */
  struct nvmini_text function;
  struct nvmini_text file; /* the source file, or the name given to nvmini_parse */
  uint32_t line, column;   /* from 1; 0: unknown */
  const struct nvmini_remark_argument *arguments;
  size_t count;
};
/* Sends remarks to `remark`, called with `user`; the record is valid during the call. NULL: none
 * are produced. */
typedef void nvmini_remark_report(void *user, const struct nvmini_remark *remark);
NVMINI_API void nvmini_on_remark(struct nvmini_context *context, nvmini_remark_report *remark,
                                 void *user);

/* Sets one option: any of those that `nvmini compile --help` lists as compiler options, spelled
 * with
 * `=` before the value ("--cpu=sm_90a", "--ftz", "-O2", "-Wno-unknown-asm", "--knob=NAME=VALUE"),
 * or one of libNVVM's: -arch=compute_90a -opt=0..3 -ftz=0|1 -fma=0|1 -prec-div=0|1 -prec-sqrt=0|1
 * -g. Of several occurrences the last one holds.
 *
 * Returns NVMINI_BAD_OPTION, without effect, for anything else. A CPU must be set before the first
 * nvmini_compile; it has no default. */
NVMINI_API enum nvmini_status nvmini_set_option(struct nvmini_context *context, const char *option);

/* Parses a module of `length` bytes; text[length] must be NUL, as in a C string. On NVMINI_OK the
 * caller must release *module; otherwise it is NULL. `text` and `name` are borrowed until then;
 * `name` is for messages. */
NVMINI_API enum nvmini_status nvmini_parse(struct nvmini_context *context, const char *text,
                                           size_t length, const char *name,
                                           struct nvmini_module **module);

/* Frees a module and all texts that it returned. NULL is allowed. */
NVMINI_API void nvmini_release(struct nvmini_module *module);

/* Copies all definitions of `other` into `module`, by LLVM's linkage rules. `other`, of the same
 * context, still belongs to the caller, and `module` borrows nothing from it. NVMINI_REFUSED, with
 * `module` unchanged, if the modules are incompatible; after NVMINI_OUT_OF_MEMORY it can only be
 * released. */
NVMINI_API enum nvmini_status nvmini_link(struct nvmini_module *module,
                                          const struct nvmini_module *other);

/* The same for a library such as libdevice: copies only definitions that `module` declares, and
 * their dependencies, as internal symbols. */
NVMINI_API enum nvmini_status nvmini_link_library(struct nvmini_module *module,
                                                  const struct nvmini_module *library);

/* Verifies a module and reports all violations. */
NVMINI_API enum nvmini_status nvmini_check(struct nvmini_module *module);

/* The module's canonical text, which parses to the same module. Valid until the next call with this
 * module; followed by a NUL. */
NVMINI_API enum nvmini_status nvmini_print(struct nvmini_module *module, struct nvmini_text *text);

/* The control flow graphs of its functions (or of --only-function), for Graphviz. */
NVMINI_API enum nvmini_status nvmini_print_graphs(struct nvmini_module *module,
                                                  struct nvmini_text *text);

/* Verifies the module and runs the passes of the context's options over it. A CPU must be set. The
 * passes specialize the module for this CPU; parse the text again for another one. */
NVMINI_API enum nvmini_status nvmini_optimize(struct nvmini_module *module);

/* Optimizes the module and compiles it to PTX. The text is valid until the next call with this
 * module; followed by a NUL. */
NVMINI_API enum nvmini_status nvmini_compile(struct nvmini_module *module, struct nvmini_text *ptx);

/* ---- Execution on the CPU: docs/run.md describes the machine, its findings and its counts ---- */

/* A machine executes the kernels of one module and holds their memory. It belongs to the context:
 * its memory is the context's. */
struct nvmini_machine;

/* Loads the IR of a module, as the passes left it; runs nvmini_optimize() unless that was called.
 * Until the machine is released, the module must stay as it is. NVMINI_REFUSED also after
 * nvmini_compile(), which leaves no IR to execute. On NVMINI_OK the caller must release *machine;
 * otherwise it is NULL. */
NVMINI_API enum nvmini_status nvmini_load(struct nvmini_module *module,
                                          struct nvmini_machine **machine);

/* The same for PTX text, from any compiler, which is copied. `name` is for messages. */
NVMINI_API enum nvmini_status nvmini_load_ptx(struct nvmini_context *context, const char *text,
                                              size_t length, const char *name,
                                              struct nvmini_machine **machine);

/* Frees a machine and its memory. NULL is allowed. */
NVMINI_API void nvmini_unload(struct nvmini_machine *machine);

/* A kernel. Names and parameters belong to the machine. */
enum nvmini_parameter_kind {
  NVMINI_BYTES, /* a structure, or a number of unknown kind (.b32) */
  NVMINI_INTEGER,
  NVMINI_FLOAT, /* half, single, double */
  NVMINI_BFLOAT,
  NVMINI_POINTER,
};
struct nvmini_parameter {
  enum nvmini_parameter_kind kind;
  uint64_t bytes;
};
struct nvmini_kernel {
  const char *name; /* NUL-terminated */
  const struct nvmini_parameter *parameters;
  uint32_t count;
};

/* The kernels of the module, in its order; *count is their number. */
NVMINI_API const struct nvmini_kernel *nvmini_kernels(const struct nvmini_machine *machine,
                                                      uint32_t *count);

/* Allocates `bytes` bytes of global memory, zeroed, until nvmini_unload(). If `initialized` is 0,
 * a use of bytes that no kernel wrote is a finding. Returns the device address, a multiple of 256;
 * 0 when out of memory: the machine then executes nothing more. */
NVMINI_API uint64_t nvmini_allocate(struct nvmini_machine *machine, uint64_t bytes,
                                    int initialized);

/* The device address of a variable of the module in global or constant memory, and its size if
 * `bytes` is not NULL; 0: none. */
NVMINI_API uint64_t nvmini_variable(const struct nvmini_machine *machine, const char *name,
                                    uint64_t *bytes);

/* The host's address of [address, +bytes), to read and write it between launches; valid until
 * nvmini_unload(). NULL if the range is not within one allocation or variable. */
NVMINI_API void *nvmini_memory(struct nvmini_machine *machine, uint64_t address, uint64_t bytes);

/* An error of the program, which ends the launch. Everything in it is valid only during the
 * callback. */
struct nvmini_finding {
  const char *kind;           /* NUL-terminated: "race", "bad-launch" */
  struct nvmini_text message; /* one line; its subject is the thread, if there is one */
  int has_thread;
  uint32_t block[3], thread[3];        /* x, y, z */
  struct nvmini_text kernel, function; /* may be empty */
  uint32_t line;                       /* of the text that was loaded, from 1; 0: unknown */
  struct nvmini_text source;           /* the file of its debug location; may be empty */
  uint32_t source_line;                /* 0: unknown */
};

/* One launch. Kernel, grid, block and arguments suffice: other members have a meaning if 0. */
struct nvmini_launch {
  const char *kernel;
  uint32_t grid[3], block[3];   /* x, y, z: blocks, also with clusters; threads. 0 counts as 1 */
  uint32_t cluster[3];          /* blocks; 0: the kernel's attribute, or 1 */
  uint64_t shared_bytes;        /* dynamic shared memory of a block */
  uint64_t stack_bytes;         /* local memory of a thread; 0: 512 KiB */
  uint64_t step_limit;          /* instructions of all threads together; 0: 10^10 */
  const void *const *arguments; /* values in the host's memory; pointers: device addresses */
  const uint64_t *argument_bytes;
  uint32_t argument_count;
  int no_checks;       /* not 0: races, uninitialized memory, division by zero are not detected */
  int random_schedule; /* not 0: from `seed`, which warp runs, how long, with which of its lanes */
  uint64_t seed;

  void *user; /* for the callbacks, each of which may be NULL */
  void (*finding)(void *user, const struct nvmini_finding *finding);
  void (*output)(void *user, struct nvmini_text text); /* what the kernel printed, at its end */
  void (*count)(void *user, const char *name, uint64_t value); /* docs/run.md; at its end */
  void (*trace)(void *user, struct nvmini_text line);          /* each instruction of one thread: */
  uint64_t trace_block;  /* x + y * grid[0] + z * grid[0] * grid[1] */
  uint32_t trace_thread; /* likewise */
};

/* Executes a kernel to its end or to the first finding: NVMINI_REFUSED. After
 * NVMINI_OUT_OF_MEMORY the machine can only be released. */
NVMINI_API enum nvmini_status nvmini_launch(struct nvmini_machine *machine,
                                            const struct nvmini_launch *launch);

/* Bytes that the context, its modules and machines hold now, and their maximum so far. */
NVMINI_API size_t nvmini_memory_used(const struct nvmini_context *context);
NVMINI_API size_t nvmini_memory_peak(const struct nvmini_context *context);

/* "0.1.0" */
NVMINI_API const char *nvmini_version(void);

#ifdef __cplusplus
}
#endif

#endif
