/* The simulator: a SIMT machine that executes PTX and IR on the CPU.
 *
 *   struct sim *s;
 *   sim_create(&s, allocator, 0);
 *   sim_load(s, module)                        one parsed module
 *   x = sim_allocate(s, bytes, initialized)    device memory; sim_memory() reads and writes it
 *   sim_launch(s, &launch)                     one kernel, to its end or to the first finding
 *   s->finding, s->output                      the finding; what the kernel printed
 *   sim_destroy(s)
 *
 * Nothing here prints, exits or keeps state outside of the struct. The schedule is deterministic:
 * blocks in order, warps of a block in turn, lanes of a warp together (machine/warp.c); or random,
 * from a seed. */
#ifndef NVM_SIM_SIM_H
#define NVM_SIM_SIM_H

#include "ptx/ops.h"
#include "ptx/ptx.h"
#include "support/textbuf.h"

/* The kinds of findings and their names, `sim_finding_name`. */
#define SIM_FINDINGS(ROW)                                                                       \
  ROW(SIM_NOTHING, "nothing")                                                                   \
  ROW(SIM_BAD_PROGRAM, "bad-program") /* the module cannot be executed; no thread */            \
  ROW(SIM_BAD_LAUNCH, "bad-launch")   /* no such kernel, wrong arguments or sizes; no thread */ \
  ROW(SIM_OUT_OF_BOUNDS, "out-of-bounds")                                                       \
  ROW(SIM_MISALIGNED, "misaligned")                                                             \
  ROW(SIM_UNINITIALIZED, "uninitialized")                                                       \
  ROW(SIM_READ_ONLY, "read-only")                                                               \
  ROW(SIM_BAD_CALL, "bad-call") /* not a function, or one without body */                       \
  ROW(SIM_STACK_OVERFLOW, "stack-overflow")                                                     \
  ROW(SIM_DEADLOCK, "deadlock")                                                                 \
  ROW(SIM_DIVERGENT_BARRIER, "divergent-barrier")                                               \
  ROW(SIM_RACE, "race")                                                                         \
  ROW(SIM_DIVISION, "division-by-zero")   /* of integers */                                     \
  ROW(SIM_MISSING_LANES, "missing-lanes") /* of a warp-level operation */                       \
  ROW(SIM_TRAP, "trap")                                                                         \
  ROW(SIM_ASSERT, "assert")                                                                     \
  ROW(SIM_STEP_LIMIT, "step-limit")                                                             \
  ROW(SIM_UNSUPPORTED, "unsupported")      /* an unsupported instruction was reached */         \
  ROW(SIM_MEMORY, "memory")                /* the host's memory */                              \
  ROW(SIM_POISON, "poison")                /* IR: decides, is an address, is stored globally */ \
  ROW(SIM_UNDEFINED, "undefined-behavior") /* IR: division by zero, unreachable code */

#define SIM_FINDING_KIND(kind, name) kind,
enum sim_finding_kind { SIM_FINDINGS(SIM_FINDING_KIND) };
#undef SIM_FINDING_KIND

struct sim_finding {
  enum sim_finding_kind kind;
  bool has_thread;
  uint32_t thread[3], block[3];
  struct nvm_str kernel, function; /* of the module's strings */
  uint32_t line;                   /* of the text, PTX or IR; 0: not known */
  struct nvm_str source;           /* where .loc says that it comes from; {0}: nowhere */
  uint32_t source_line;
  struct nvm_text message; /* one sentence without a full stop */
};

enum sim_space { SIM_GLOBAL, SIM_SHARED, SIM_LOCAL, SIM_CONST, SIM_PARAM, SIM_SPACE_COUNT };

/* Accesses to a state space. */
struct sim_space_counts {
  uint64_t loads, stores, atomics;  /* instructions of warps */
  uint64_t load_bytes, store_bytes; /* of threads; atomics count as both */
  uint64_t lines, sectors;          /* of 128 and 32 bytes that each access of a warp touches */
};

/* Counters of a launch; docs/run.md defines them. Only the first two are counted without
 * sim_launch.count. */
struct sim_counts {
  uint64_t instructions; /* of threads, guarded off or not */
  uint64_t warp_instructions;
  uint64_t by_class[PTX_ISSUE_COUNT]; /* of threads */
  uint64_t branches, diverged;        /* of warps; divergent ones */
  uint64_t barriers;                  /* arrivals of warps */
  uint64_t bank_conflicts;            /* replays of accesses to shared memory */
  struct sim_space_counts space[SIM_SPACE_COUNT];
};

/* What a line of PTX did in a launch. */
struct sim_line_counts {
  uint64_t warps, threads; /* executions; threads that executed it: guarded off ones do not count */
  uint64_t diverged;       /* divergent branches */
  uint64_t bytes, sectors; /* loaded and stored; sectors of 32 bytes that they touch */
  uint64_t conflicts;      /* replays of accesses to shared memory */
};

struct sim_launch {
  struct nvm_text kernel;
  uint32_t grid[3], block[3];   /* the grid counts blocks, also with clusters */
  uint32_t cluster[3];          /* [0] 0: of the kernel */
  uint64_t shared_bytes;        /* dynamic shared memory */
  const void *const *arguments; /* each of `argument_bytes[i]` bytes, as the kernel's parameters */
  const uint64_t *argument_bytes;
  uint32_t argument_count;
  uint64_t step_limit;  /* instructions of all threads together; 0: none */
  uint64_t stack_bytes; /* local memory of a thread; 0: 512 KiB */
  bool check_uninitialized, check_races, check_division;
  bool count; /* all of struct sim_counts */
  /* NULL, or `line_count` counters by line of the text, which are added to; needs `count`. */
  struct sim_line_counts *lines;
  uint32_t line_count;
  bool random_schedule; /* from `seed`: which warp runs, how long, with which of its lanes */
  uint64_t seed;
  /* NULL: no trace. Receives a line for each instruction of one thread, without line end. */
  void (*trace)(void *trace_data, struct nvm_text line);
  void *trace_data;
  uint64_t trace_block;  /* x + y * grid.x + z * grid.x * grid.y */
  uint32_t trace_thread; /* x + y * block.x + … */
};

struct sim; /* machine/machine.h */
struct nvm_module;

/* `limit_bytes`: of all memory, 0: no limit. NULL when out of memory. */
struct sim *sim_create(struct nvm_allocator allocator, size_t limit_bytes);
void sim_destroy(struct sim *s);

/* Loads a module, which must stay valid. NVM_REFUSED: sim_found() has the reason. */
enum nvm_status sim_load(struct sim *s, const struct ptx_module *m);

/* Loads a module of IR instead, verified and with its final layout. `source`, if not empty, is its
 * text, whose lines findings then name. Adds constants to the module, changes nothing else; both
 * must stay unchanged. */
enum nvm_status sim_load_ir(struct sim *s, struct nvm_module *m, struct nvm_text source);

/* Global memory of `bytes` bytes: its device address, 0 when out of memory. Zeroed; `initialized`
 * false: reading before writing is a finding. */
uint64_t sim_allocate(struct sim *s, uint64_t bytes, bool initialized);
/* The bytes at a device address, NULL if [address, +bytes) is not allocated. */
void *sim_memory(struct sim *s, uint64_t address, uint64_t bytes);
/* Whether the last store to the byte at a device address was of IR and stored poison. */
bool sim_is_poison(const struct sim *s, uint64_t address);
/* The device address of a variable of the module, and its size if `bytes` is not NULL; 0: none of
 * this name. */
uint64_t sim_symbol(struct sim *s, struct nvm_text name, uint64_t *bytes);

/* A kernel, for its parameters; NULL: no such kernel. */
const struct ptx_function *sim_kernel(const struct sim *s, struct nvm_text name);
/* The i-th kernel of the module, or NULL. */
const struct ptx_function *sim_kernel_at(const struct sim *s, uint32_t i);

/* What a kernel's parameter holds. */
enum sim_parameter_kind { SIM_BYTES, SIM_INTEGER, SIM_FLOAT, SIM_BFLOAT, SIM_POINTER };
enum sim_parameter_kind sim_parameter_kind(const struct ptx_variable *parameter);
uint64_t sim_parameter_bytes(const struct ptx_variable *parameter);

/* NVM_OK: ran to its end. NVM_REFUSED: sim_found() has the finding. */
enum nvm_status sim_launch(struct sim *s, const struct sim_launch *launch);

/* The text of a name of the module's. */
struct nvm_text sim_text(const struct sim *s, struct nvm_str name);

/* The finding of the last load or launch; the counters of the last launch. */
const struct sim_finding *sim_found(const struct sim *s);
const struct sim_counts *sim_counted(const struct sim *s);
/* The number of blocks of the launch that have ended; may be called from a signal handler. */
uint64_t sim_blocks_ended(const struct sim *s);
/* All counters, always in the same order: to a function, with names such as "global.loads" that are
 * valid during the call; or as `name value` lines or one JSON object. */
void sim_each_count(const struct sim_counts *counts,
                    void (*report)(void *state, const char *name, uint64_t value), void *state);
void sim_print_counts(const struct sim_counts *counts, bool json, struct textbuf *out);
/* What kernels have printed so far; sim_output_taken() clears it. */
struct nvm_text sim_output(const struct sim *s);
void sim_output_taken(struct sim *s);

/* "out-of-bounds" */
const char *sim_finding_name(enum sim_finding_kind kind);

#endif
