/* What the files of sim/ share; private to them.
 *
 * A warp's registers are *rows* of 32 values, one a lane. A row lies in one of three banks: the
 * function's frame, the constants of the function (the same value in every lane, so that immediates
 * cost nothing), the warp's special registers. Predicates are masks of 32 bits in the frame.
 * Values are zero above their register's width.
 *
 * Files: memory.c address spaces and accesses; decode.c, decode_*.c PTX instructions into
 * struct inst; scalar_*.c what one lane computes; exec_*.c what one warp does; warp.c lanes that
 * part and meet, calls, barriers; block.c blocks and grids; race.c races;
 * async.c mbarriers, bulk copies, clusters; matrix.c matrix instructions; count.c, trace.c what can
 * be watched; print.c vprintf; sim.c the interface. */
#ifndef NVM_SIM_MACHINE_H
#define NVM_SIM_MACHINE_H

#include "ir/evalfloat.h"
#include "ir/evalint.h"
#include "ptx/ops.h"
#include "sim/sim.h"
#include "support/vec.h"

enum { LANES = 32 };
#define ALL_LANES UINT32_C(0xffffffff)

/* --- addresses ---------------------------------------------------------------------------------
 * A generic address has its window in the top byte. Global and constant objects lie 2^36 bytes
 * apart, so that an address names its object in bits 36..55 and no small offset leads into another
 * one. Addresses of the shared, local and param spaces themselves have no window byte. */
enum window {
  WINDOW_GLOBAL,
  WINDOW_SHARED,
  WINDOW_LOCAL,
  WINDOW_CONST,
  WINDOW_PARAM,
  WINDOW_CODE,
  WINDOW_COUNT
};
enum { WINDOW_SHIFT = 56, OBJECT_SHIFT = 36, OBJECT_LIMIT = 1 << 20 };
enum { LOCAL_FIRST = 16 }; /* the first local offset: 0 stays null */
/* What is kept of a byte that is tracked; 0: nobody wrote it. GAP: it lies between two variables,
 * of shared memory so many bytes, which leave it to the same banks and lines, of a thread of IR
 * LOCAL_GAP. */
enum { SHADOW_WRITTEN = 1, SHADOW_POISON, SHADOW_GAP };
enum { SHARED_GAP = 128, LOCAL_GAP = 16 };

static inline enum window window_of(uint64_t address) {
  return (enum window)(address >> WINDOW_SHIFT);
}
static inline uint64_t in_window(uint64_t address) {
  return address & ((UINT64_C(1) << WINDOW_SHIFT) - 1);
}
static inline uint64_t window_base(enum window w) { return (uint64_t)w << WINDOW_SHIFT; }

/* Who accessed which bytes when, as race.c keeps it: pages of cells, made when they are needed. */
struct shadow {
  struct race_cell **pages;
  uint32_t since; /* marks before that time are of former users */
};

/* A global or constant object; index 0 is none. */
struct object {
  uint8_t *bytes;
  uint8_t *written; /* one a byte; NULL: all of it is */
  uint64_t size;
  struct nvm_str name; /* {0}: a buffer */
  bool freed, heap, read_only;
  struct shadow shadow;
};

/* --- decoded code ------------------------------------------------------------------------------
 */

struct warp;
struct decoder;
struct inst;
typedef void inst_run(struct warp *w, const struct inst *in, uint32_t mask);
/* What one lane computes, on raw bits. */
typedef uint64_t lane_fn(const struct inst *in, uint64_t a, uint64_t b, uint64_t c);

enum bank { BANK_FRAME, BANK_CONST, BANK_SPECIAL };
enum { BANK_SHIFT = 30 };
enum { NO_ROW = UINT32_MAX }; /* a sink */

enum inst_kind {
  INST_PLAIN,  /* run() and on */
  INST_MEMORY, /* run(), which may stop the warp */
  INST_HELPER, /* run(); a part of the next one, which the program does not know of */
  INST_LABEL,
  INST_BRANCH,
  INST_BRANCH_TABLE,
  INST_CALL,
  INST_RETURN,
  INST_EXIT,
  INST_TRAP,
  INST_BARRIER,
  INST_WARP_SYNC,
  INST_BAD,
};

struct inst {
  uint8_t kind;               /* enum inst_kind */
  uint8_t format;             /* enum float_format */
  uint8_t rounding;           /* enum evalfloat_rounding */
  uint8_t bits;               /* width of the operation */
  uint8_t bits2;              /* width of the source of cvt and such */
  bool is_signed, is_signed2; /* of a barrier is_signed: .aligned */
  uint8_t flags;              /* enum sim_flag */
  uint8_t compare;            /* enum compare; kind of atomic operation; mode of shfl … */
  uint8_t count;              /* of `rows`; of vector elements */
  uint8_t dest_bits;          /* of the register that is written */
  uint8_t window;             /* memory: enum window, or WINDOW_COUNT: generic */
  uint8_t flow;               /* enum inst_flow */
  uint8_t issue;              /* enum ptx_issue */
  uint8_t strength;           /* of an access or fence: enum race_strength */
  bool releases;              /* of an access: a fence of its own comes before it */
  uint32_t guard;             /* predicate + 1; 0: none */
  uint32_t flip;              /* ALL_LANES: the guard is negated */
  uint32_t d, a, b, c;        /* rows or predicates */
  uint32_t d2;                /* second destination: a predicate; NO_ROW: none */
  uint32_t line;
  uint32_t entry; /* what it was made from: number of the PTX entry, or of the IR's instruction */
  int64_t imm;    /* offset of an address; target of a branch; table of lop3 … */
  inst_run *run;
  lane_fn *fn;
  lane_fn *inner;       /* of the halves of a packed value */
  const uint32_t *rows; /* `count` rows: vectors, targets of brx */
  const struct call_info *call;
  const struct ir_op *ir; /* of IR: ir.h */
};

enum sim_flag {
  FLAG_FTZ = 1,
  FLAG_SAT = 2,
  FLAG_HIGH = 4,
  FLAG_CARRY_OUT = 8,
  FLAG_CARRY_IN = 16,
  FLAG_NAN = 32, /* min.NaN; a comparison true on unordered */
  FLAG_RELU = 64,
  FLAG_XORSIGN = 128,
};
/* Which fields are rows that are read or written: how undefined values travel. */
enum inst_flow {
  FLOW_A = 1,
  FLOW_B = 2,
  FLOW_C = 4,
  FLOW_ROWS = 8, /* read */
  FLOW_D = 16,
  FLOW_TO_ROWS = 32,  /* written */
  FLOW_DECIDES = 64,  /* a comparison: must not read undefined values */
  FLOW_CHOOSES = 128, /* a or b by predicate c */
};
/* flags of other instructions use their own bits. */
enum { FLAG_NEGATE_PRED = 1, FLAG_AND = 2, FLAG_OR = 4, FLAG_XOR = 8 };
enum { BARRIER_SYNC, BARRIER_ARRIVE, BARRIER_POPC, BARRIER_AND, BARRIER_OR };

enum compare {
  CMP_EQ,
  CMP_NE,
  CMP_LT,
  CMP_LE,
  CMP_GT,
  CMP_GE,
  CMP_EQU,
  CMP_NEU,
  CMP_LTU,
  CMP_LEU,
  CMP_GTU,
  CMP_GEU,
  CMP_NUM,
  CMP_NAN
};

/* A parameter or result as a call or a function has it. */
struct slot {
  bool is_reg;
  uint32_t row; /* is_reg; a predicate if bits is 1 */
  uint32_t bits;
  uint32_t offset; /* else: into the frame's params */
  uint32_t bytes;
};

struct native;
struct frame;
struct ir_value;
/* Writes an instruction and the values of what it reads in the lane; with `results` instead what it
 * has written. */
typedef void func_trace(const struct warp *w, const struct frame *f, const struct inst *in,
                        unsigned lane, bool results, struct textbuf *out);

struct call_info {
  const struct func *callee; /* NULL: through row `pointer` */
  uint32_t pointer;
  uint32_t argument_count, result_count;
  const struct slot *arguments, *results;
};

/* A variable of the function's own: .local in its frame, or a copy of a parameter whose address is
 * taken. */
struct func {
  const struct ptx_function *ptx;
  struct nvm_str name;
  struct inst *code;
  uint32_t code_count;
  uint32_t rows, preds; /* of a frame */
  uint64_t *constants;  /* rows of the constant bank */
  uint32_t constant_count;
  uint32_t param_bytes; /* of a frame and lane: formals and the variables of calls */
  uint64_t local_bytes; /* of a frame and lane */
  uint32_t local_align;
  uint32_t formal_count, result_count; /* results first in `formals` */
  struct slot *formals;
  uint32_t *param_copies; /* per formal: offset in local memory + 1 if its address is taken */
  uint64_t kernel_param_bytes;
  struct frame *free_frames;
  bool decoded;
  const struct native *native;
  func_trace *trace;                         /* how --trace shows its instructions */
  const struct ir_value *values, *arguments; /* of IR: its instructions' and parameters', for it */
  uint32_t class_first[PTX_CLASS_COUNT];     /* rows (or predicates) of the registers 0 */
  const struct nvm_function *ir;             /* NULL: the code is PTX */
};

/* --- running ------------------------------------------------------------------------------------
 */

/* A call in progress of the lanes `live`. */
struct frame {
  struct frame *parent; /* or next in the free list */
  const struct func *func;
  uint32_t return_to; /* index in the parent's code */
  uint32_t live;      /* lanes that are in it or in what it called */
  uint32_t depth;
  const struct call_info *call;
  uint64_t *rows; /* func->rows rows */
  uint32_t *preds;
  uint8_t *params;     /* LANES times func->param_bytes */
  uint32_t *undefined; /* by row: lanes whose value was never written memory, or poison; NULL: none
                          so far */
  uint32_t *unwritten; /* of IR: which of them are not poison */
  uint32_t *pending; /* by row: groups of wgmma that its value comes from, a bit each; NULL: none so
                        far */
  uint64_t local_base[LANES], local_before[LANES];
};

enum split_state { SPLIT_READY, SPLIT_WARP, SPLIT_BARRIER, SPLIT_YIELDED };

/* Lanes of a warp that run together. */
struct split {
  uint32_t mask;
  uint32_t pc;
  struct frame *frame;
  uint8_t state;
  uint8_t barrier; /* SPLIT_BARRIER: its number */
  uint32_t wanted; /* SPLIT_WARP: lanes that must meet */
  uint32_t vote;   /* SPLIT_BARRIER: lanes whose predicate holds (bar.red) */
};

enum { BARRIER_COUNT = 16 };
struct barrier {
  uint32_t arrived;  /* threads */
  uint32_t expected; /* 0: all live ones */
};

struct local_stack {
  uint8_t *bytes, *written;
  uint64_t capacity;
};

enum yield {
  YIELD_NOT,
  YIELD_ON /* others first */,
  YIELD_WAITS /* for others */,
  YIELD_AGAIN /* at the same place */
};

struct block;
struct copy;
struct product;
struct warp {
  struct sim *sim;
  struct block *block;
  uint32_t index; /* in its block */
  uint32_t live;  /* lanes that have not exited */
  uint32_t split_count;
  struct split splits[LANES + 1];
  /* the split that runs */
  struct frame *frame;
  uint64_t *bank[3];
  uint32_t *preds;
  uint32_t mask; /* its lanes, guard or not */
  uint32_t pc;
  bool stopped;           /* a finding was made */
  uint32_t passing;       /* lanes that run while others of the warp wait at an aligned barrier */
  uint32_t passed;        /* of these, those that have written memory that others see */
  uint32_t carry;         /* CC.CF by lane */
  uint64_t *special;      /* rows by enum special_row */
  uint32_t synced;        /* race.c: everything of this warp before that time is ordered */
  uint32_t *lanes_synced; /* [lane][other]: the same for two lanes; NULL: nothing beyond `synced` */
  uint64_t stack_top[LANES]; /* local memory in use */
  struct local_stack local[LANES];
  uint64_t steps;               /* of this turn: warp instructions */
  uint8_t yields;               /* enum yield, after an instruction */
  bool waited;                  /* the last turn ended with waiting, and did little before */
  uint32_t cluster_phase;       /* lanes whose last arrival was in phase 1 */
  uint64_t turn;                /* a split that is watched runs no more than this */
  VEC(struct copy) copies;      /* of async.c: asked for, not done */
  uint32_t groups[2][LANES];    /* committed so far: of cp.async, of bulk copies */
  VEC(struct product) products; /* of matrix.c: of wgmma, not waited for */
  uint32_t product_group;       /* of wgmma: committed so far */
};

/* Blocks that can reach each other's shared memory; without clusters each block is one. */
enum { CLUSTER_LIMIT = 16, CLUSTER_SHIFT = 24 };
struct cluster {
  struct block *blocks[CLUSTER_LIMIT]; /* by rank; NULL: has ended */
  uint32_t count, live, arrived;       /* blocks; threads */
  uint32_t ended;                      /* blocks */
  struct cluster *next_free;
  bool phase;
};

struct block {
  struct cluster *cluster;
  uint32_t rank;
  uint32_t index[3];
  uint64_t number;
  uint32_t warp_count, live_threads;
  struct warp *warps;
  uint8_t *shared, *shared_written;
  struct barrier barriers[BARRIER_COUNT];
  struct shadow shadow;  /* of shared memory */
  uint32_t first_thread; /* of race.c: number of its first thread in the launch, from 1 */
  struct race_block *race;
  bool waits; /* its last turn ended with everybody waiting */
  struct block *next_free;
};

/* A variable of shared memory, behind which there is a gap. */
struct shared_variable {
  struct nvm_str name;
  uint64_t address, size;
};

struct sim_symbol {
  enum window window;
  uint64_t address; /* in its space: object base, shared offset, … */
  uint64_t size;
  const struct func *func; /* WINDOW_CODE */
};

struct sim {
  struct arena arena;
  const struct ptx_module *module;
  struct ir_program *ir; /* NULL: the module is PTX */
  VEC(struct object) objects;
  VEC(struct sim_symbol) symbols; /* by index in symbol_names */
  struct strtab symbol_names;
  VEC(struct func *) funcs; /* [0]: none; a code address is index * 16 in WINDOW_CODE */
  uint64_t shared_static;   /* bytes of .shared variables and their gaps */
  VEC(struct shared_variable) shared_variables;
  struct sim_finding finding;
  struct sim_counts counts;
  struct textbuf output;
  /* the launch */
  const struct sim_launch *launch;
  const struct func *kernel;
  uint8_t *kernel_params;
  uint64_t shared_bytes; /* static and dynamic */
  uint64_t stack_bytes;
  uint64_t step_limit;
  struct block *free_blocks;
  struct cluster *cluster, *free_clusters; /* that is being started */
  uint32_t cluster_dim[3];
  bool clusters_given;
  uint64_t clock;
  bool host_is_ieee;                /* host arithmetic rounds to nearest */
  bool watched;                     /* counts, traces or a random schedule */
  uint64_t random;                  /* state of the random schedule */
  bool lanes_part;                  /* which may part lanes: from sm_70 on */
  const struct frame *traced_frame; /* whose results are not written yet */
  const struct inst *traced;
  struct textbuf trace;
  VEC(struct copy) copies; /* of async.c: those that end with an mbarrier's phase */
  VEC(uint8_t) scratch;    /* what a store is about to write */
  bool races;              /* they are looked for */
  uint32_t time;           /* of race.c: counts what orders accesses */
  uint32_t launch_time;
  struct race_published **published; /* by block number / RACE_PAGE */
};

enum special_row {
  SPECIAL_ZERO,
  SPECIAL_TID,
  SPECIAL_NTID = SPECIAL_TID + 3,
  SPECIAL_CTAID = SPECIAL_NTID + 3,
  SPECIAL_NCTAID = SPECIAL_CTAID + 3,
  SPECIAL_LANEID = SPECIAL_NCTAID + 3,
  SPECIAL_WARPID,
  SPECIAL_NWARPID,
  SPECIAL_MASK_EQ,
  SPECIAL_MASK_LE,
  SPECIAL_MASK_LT,
  SPECIAL_MASK_GE,
  SPECIAL_MASK_GT,
  SPECIAL_DYNAMIC_SMEM,
  SPECIAL_TOTAL_SMEM,
  SPECIAL_ONE,
  SPECIAL_CLUSTERID,
  SPECIAL_NCLUSTERID = SPECIAL_CLUSTERID + 3,
  SPECIAL_CLUSTER_CTAID = SPECIAL_NCLUSTERID + 3,
  SPECIAL_CLUSTER_NCTAID = SPECIAL_CLUSTER_CTAID + 3,
  SPECIAL_CLUSTER_RANK = SPECIAL_CLUSTER_NCTAID + 3,
  SPECIAL_CLUSTER_SIZE,
  SPECIAL_COUNT
};

static inline uint64_t *row_of(const struct warp *w, uint32_t row) {
  return w->bank[row >> BANK_SHIFT] + (size_t)(row & ((1u << BANK_SHIFT) - 1)) * LANES;
}
static inline unsigned lane_first(uint32_t mask) { return (unsigned)__builtin_ctz(mask); }
static inline uint64_t align_up(uint64_t at, uint64_t align) {
  return align ? (at + align - 1) / align * align : at;
}
#define FOR_LANES(l, mask) \
  for (uint32_t rest_ = (mask), l; rest_ && (l = lane_first(rest_), true); rest_ &= rest_ - 1)

static inline void write_pred(struct warp *w, uint32_t pred, uint32_t mask, uint32_t value) {
  if (pred != NO_ROW) w->preds[pred] = (w->preds[pred] & ~mask) | (value & mask);
}

/* --- sim.c ---------------------------------------------------------------------------------------
 */
/* Records the first finding and stops the warp; `format` as textbuf_format. */
void sim_report(struct warp *w, unsigned lane, enum sim_finding_kind kind, const char *format, ...);
/* Without a thread. Returns NVM_REFUSED. */
enum nvm_status sim_refuse(struct sim *s, enum sim_finding_kind kind, struct nvm_str function,
                           uint32_t line, const char *format, ...);
/* Bytes of shared memory that a GPU would not need. */
static inline uint64_t sim_gaps(const struct sim *s) {
  return (uint64_t)s->shared_variables.count * SHARED_GAP;
}
const struct sim_symbol *sim_find_symbol(const struct sim *s, struct nvm_str name);
const struct func *sim_code_at(const struct sim *s, uint64_t address);
/* Makes a symbol known; false when out of memory. */
bool sim_add_symbol(struct sim *s, struct nvm_str name, struct sim_symbol symbol);
/* Gives a variable its place, in *symbol, and makes it known. Those of `dynamic` shared memory all
 * begin behind the others, at an address that suits all: they are placed twice. False when out of
 * memory. */
bool sim_place_variable(struct sim *s, struct nvm_str name, enum window window, uint64_t bytes,
                        uint64_t align, bool dynamic, struct sim_symbol *symbol);

/* --- memory.c ------------------------------------------------------------------------------------
 */
struct access {
  uint8_t *at;
  uint8_t *written;      /* NULL: not tracked */
  struct shadow *shadow; /* NULL: no memory that threads share */
  uint64_t offset, size; /* in the object, or in shared memory; its bytes */
};
uint32_t memory_new_object(struct sim *s, uint64_t bytes, bool initialized, struct nvm_str name);
static inline uint64_t memory_object_address(uint32_t object) {
  return (uint64_t)object << OBJECT_SHIFT;
}
/* Checks an access of `bytes` bytes, aligned to `align`, and finds its memory; `window`
 * WINDOW_COUNT: the address is generic. False: a finding was made. */
bool memory_find(struct warp *w, unsigned lane, uint64_t address, unsigned window, uint64_t bytes,
                 uint64_t align, bool is_write, struct access *at);
/* Whether some of the bytes were written, or nobody asks. */
bool memory_is_defined(const struct warp *w, const struct access *at, uint64_t bytes);
/* A NUL-terminated text; false: a finding was made. */
bool memory_text(struct warp *w, unsigned lane, uint64_t address, struct nvm_text *text);
/* Moves the top of the lane's stack; false: a finding was made. */
bool memory_set_stack(struct warp *w, unsigned lane, uint64_t top);
/* `bytes` more of the lane's stack, behind a gap: the offset, 0 after a finding. */
uint64_t memory_push_stack(struct warp *w, unsigned lane, uint64_t bytes, uint64_t align);
/* A number of 1 to 8 bytes, written out where the compiler is to make one access of them. Memory is
 * little-endian whatever the host is. */
static inline uint32_t memory_word(const uint8_t *at) {
  return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static inline void memory_put_word(uint8_t *at, uint32_t v) {
  at[0] = (uint8_t)v;
  at[1] = (uint8_t)(v >> 8);
  at[2] = (uint8_t)(v >> 16);
  at[3] = (uint8_t)(v >> 24);
}
static inline uint64_t memory_number(const uint8_t *at, unsigned bytes) {
  uint64_t v = 0;
  if (bytes == 4) return memory_word(at);
  if (bytes == 8) return memory_word(at) | (uint64_t)memory_word(at + 4) << 32;
  for (unsigned i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}
static inline void memory_put_number(uint8_t *at, uint64_t v, unsigned bytes) {
  if (bytes == 4 || bytes == 8) memory_put_word(at, (uint32_t)v);
  if (bytes == 8) memory_put_word(at + 4, (uint32_t)(v >> 32));
  if (bytes == 4 || bytes == 8) return;
  for (unsigned i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}
/* The common cases of memory_find(): an aligned access to the lane's stack, or within a global
 * object. False: perhaps it is another one. */
static inline bool memory_find_local(const struct warp *w, unsigned lane, uint64_t offset,
                                     uint64_t bytes, uint64_t align, struct access *at) {
  uint64_t top = w->stack_top[lane];
  if (offset < LOCAL_FIRST || offset >= top || bytes == 0 || bytes > top - offset ||
      (offset & (align - 1)) != 0)
    return false;
  *at = (struct access){.at = w->local[lane].bytes + offset,
                        .written = w->local[lane].written + offset};
  return bytes <= LOCAL_GAP && at->written[0] != SHADOW_GAP && at->written[bytes - 1] != SHADOW_GAP;
}
static inline bool memory_find_common(const struct warp *w, unsigned lane, uint64_t address,
                                      unsigned window, uint64_t bytes, uint64_t align,
                                      bool is_write, struct access *at) {
  const struct sim *s = w->sim;
  bool is_local =
      window == WINDOW_LOCAL || (window == WINDOW_COUNT && window_of(address) == WINDOW_LOCAL);
  if (is_local)
    return memory_find_local(w, lane, window == WINDOW_LOCAL ? address : in_window(address), bytes,
                             align, at);
  uint64_t number = address >> OBJECT_SHIFT, offset = address & ((UINT64_C(1) << OBJECT_SHIFT) - 1);
  if (number - 1 >= s->objects.count - 1 || (window != WINDOW_GLOBAL && window != WINDOW_COUNT))
    return false;
  struct object *o = &s->objects.data[number];
  if (offset + bytes > o->size || (offset & (align - 1)) != 0 || o->freed ||
      (is_write && o->read_only))
    return false;
  *at = (struct access){o->bytes + offset, o->written ? o->written + offset : NULL, &o->shadow,
                        offset, o->size};
  return true;
}

/* --- race.c
 * ---------------------------------------------------------------------------------------- */
enum race_strength { RACE_WEAK, RACE_BLOCK, RACE_DEVICE }; /* strong: at which scope, at least */
/* An access that is about to happen; `bytes` of `at` become those of `value` (NULL: it reads).
 * False: a finding was made. */
bool race_access(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                 uint64_t bytes, enum race_strength strength, const uint8_t *value);
/* Begins a launch, a block. False: out of memory. */
bool race_begin(struct sim *s);
bool race_begin_block(struct block *b);
/* Lanes of the warp have met. */
void race_sync_lanes(struct warp *w, uint32_t mask);
/* The warp arrives at a barrier; `waiting` warps and those that have arrived are synchronized. */
void race_arrive(struct warp *w, uint32_t barrier);
void race_sync_warps(struct block *b, uint32_t barrier, uint32_t waiting);
/* A fence; a strong write or atomic operation, which publishes what was before the last fence; a
 * strong read that may see what others published. */
void race_fence(struct warp *w, enum race_strength scope);
void race_publish(struct warp *w, enum race_strength scope);
void race_acquire(struct warp *w);
/* A strong write is about to happen: a fence that the instruction brings along, then
 * race_publish(). */
void race_release(struct warp *w, const struct inst *in);
/* race_access() of an atomic operation. */
bool race_atomic(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                 uint64_t bytes);

/* --- decode.c ------------------------------------------------------------------------------------
 */
/* The bytes of a variable; its alignment. */
uint64_t decode_variable(const struct ptx_variable *v, uint64_t *align);
/* Decodes a function if it is not; when it is launched or called first. */
enum nvm_status decode_function(struct sim *s, struct func *f);

/* Its parts, for who fills d->f himself: registers of d->f get rows (behind those there are), entry
 * d->e becomes code, branches to labels and the constants are filled in. */
void decode_assign_rows(struct decoder *d);
void decode_entry(struct decoder *d);
void decode_append(struct decoder *d, const struct inst *in);
bool decode_finish(struct decoder *d);

/* What the modifiers of an instruction say. */
struct words {
  uint16_t type[4];
  uint32_t type_count;
  uint16_t space, vector, compare, bool_op, atom_op, mode; /* enum ptx_mod, 0: not written */
  uint8_t rounding;                                        /* enum evalfloat_rounding */
  bool integral;                                           /* .rni … */
  bool ftz, sat, satfinite, relu, hi, wide, cc, nan_result, xorsign, abs, sync, to, shiftamt, clamp,
      left;
};

struct decoder {
  struct sim *sim;
  struct func *func;
  const struct ptx_function *f;
  const struct ptx_entry *e;
  struct words words;
  struct inst *in; /* being filled */
  VEC(struct inst) code;
  VEC(uint64_t) constants;  /* values */
  uint32_t *constant_slots; /* hash of constants */
  uint32_t constant_slot_count;
  uint32_t class_first[PTX_CLASS_COUNT]; /* row of a class's register 0 */
  uint32_t *labels;                      /* label → index in code */
  VEC(struct scope_variable) scope;
  uint32_t new_preds;
  bool failed;
};

struct scope_variable {
  struct nvm_str name;
  uint16_t space; /* PTX_MOD_PARAM, LOCAL, REG; 0: a scope's begin */
  uint64_t offset;
  uint64_t bytes;
  struct ptx_reg reg;
  uint32_t formal; /* index + 1 of a parameter; 0: none */
};

/* Operand i of the instruction; whether it has one. */
const struct ptx_operand *decode_operand(const struct decoder *d, uint32_t i);
bool decode_has(const struct decoder *d, uint32_t i);
/* The row of a register, or its number among the predicates; its width. */
uint32_t decode_reg(const struct decoder *d, struct ptx_reg r);
unsigned decode_reg_bits(struct ptx_reg r);
/* The row of the constant bank that holds the value. */
uint32_t decode_constant(struct decoder *d, uint64_t value);
/* A source: a row. `type` (enum ptx_mod) says how immediates are read. */
uint32_t decode_source(struct decoder *d, const struct ptx_operand *o, uint16_t type);
/* A predicate source, possibly negated or constant: a predicate of the frame. */
uint32_t decode_pred(struct decoder *d, const struct ptx_operand *o, bool *negated);
/* A destination register's row (NO_ROW for `_`). */
uint32_t decode_dest(struct decoder *d, const struct ptx_operand *o);
/* The rows of a value or of a vector's elements, `*count` of them, behind `room` free words. NULL:
 * no memory. */
uint32_t *decode_rows(struct decoder *d, const struct ptx_operand *o, bool is_dest, uint16_t type,
                      uint32_t room, uint32_t *count);
/* Fills in->d, and of a pair `d|q` in->d2. */
void decode_targets(struct decoder *d);
/* Those, and the sources behind them that are there: in->a, in->b, in->c, immediates as the types
 * say. */
void decode_operands(struct decoder *d, uint16_t a, uint16_t b, uint16_t c);
/* Fills in->a and in->imm. */
void decode_address(struct decoder *d, const struct ptx_operand *o);
/* The instruction reports `why` when it is reached: "reaches an instruction that WHY"; NULL: that
 * it is not simulated. Returns true. */
bool decode_unsupported(struct decoder *d, const char *why);
/* Of a floating-point type (enum ptx_mod); others: single. */
enum float_format decode_format(uint16_t type);
/* A variable or parameter of the function that is visible here; NULL: none of this name. */
struct scope_variable *decode_find_variable(struct decoder *d, struct nvm_str name);
/* Memory of the simulator; NULL when out of memory, which the decoder remembers. */
void *decode_alloc(struct decoder *d, size_t bytes);

/* decode_alu.c, decode_mem.c, decode_warp.c: true if the instruction is one of theirs. */
bool decode_alu(struct decoder *d);
bool decode_video(struct decoder *d);
bool decode_memory(struct decoder *d);
bool decode_warp(struct decoder *d);
bool decode_async(struct decoder *d);
bool decode_matrix(struct decoder *d);
bool decode_cluster_barrier(struct decoder *d);
/* Whether the instruction has the modifier (enum ptx_mod). */
bool decode_has_mod(const struct decoder *d, uint16_t mod);
/* The window of a state space (enum ptx_mod); WINDOW_COUNT: generic. */
uint8_t decode_window(uint16_t space);
/* The copies that have to do with the block are done, as it ends. */
void async_end_block(struct block *b);
/* Ends the phase of the cluster's barrier if all live threads have arrived. */
void async_cluster_check(struct cluster *c);

/* --- warp.c, block.c
 * ------------------------------------------------------------------------------ */
/* Runs the warp until all of its lanes wait or have exited, or `budget` instructions are done.
 * True if it did something. */
bool warp_run(struct warp *w, uint64_t budget);
bool warp_start(struct warp *w, const struct func *kernel, uint32_t mask);
bool warp_is_ready(const struct warp *w);
/* Lanes of this warp arrive; releases whoever waits if all have come. */
void block_arrive(struct block *b, uint32_t barrier, uint32_t threads, uint32_t expected);
/* Releases all barriers that are complete. */
void block_check_barriers(struct block *b);
enum nvm_status block_run_grid(struct sim *s);
/* A number below n of the random schedule. */
uint32_t block_random(struct sim *s, uint32_t n);

/* --- count.c, trace.c: what a launch may watch
 * ------------------------------------------------------ */
/* Before an instruction of the lanes `all`, of which those in `mask` execute it. */
void count_instruction(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all);
void trace_instruction(struct warp *w, const struct inst *in, uint32_t mask, uint32_t all);
/* Hands out what is left. */
void trace_end(struct sim *s);
func_trace trace_ptx, trace_ir;

/* --- print.c, native.c
 * ----------------------------------------------------------------------------- */
const struct native *native_find(struct nvm_text name);
/* Executes the call for the lanes. */
void native_call(struct warp *w, const struct native *n, const struct call_info *c, uint32_t mask);
bool print_formatted(struct warp *w, unsigned lane, uint64_t format, uint64_t arguments,
                     uint64_t *written);

/* --- scalar_*.c: choose what one lane computes; NULL: not one of theirs
 * -------------------------------- */
lane_fn *scalar_int(const struct decoder *d, enum ptx_op op);
lane_fn *scalar_float(const struct decoder *d, enum ptx_op op);
/* Of round-to-nearest arithmetic that the host does as well; NULL: of others. */
lane_fn *scalar_host(const struct sim *s, enum ptx_op op, enum float_format format);
lane_fn *scalar_host_convert(const struct sim *s, enum float_format to, enum float_format from);
lane_fn *scalar_host_from_int(const struct sim *s,
                              enum float_format to); /* of bits2 bits, is_signed2 */
lane_fn *scalar_compare(const struct decoder *d, uint16_t type);
lane_fn *scalar_convert(struct decoder *d);
/* An 8-bit float, e4m3 or e5m2 (enum ptx_mod), as the bits of a double. */
uint64_t scalar_small_to_double(uint16_t type, uint64_t v);
/* A loop over the lanes with the function inside, for the commonest; NULL: none. */
inst_run *scalar_int_loop(lane_fn *fn);
inst_run *scalar_float_loop(lane_fn *fn);

#define LANE(name) static uint64_t name(const struct inst *in, uint64_t a, uint64_t b, uint64_t c)
#define UNUSED_OPERANDS (void)in, (void)a, (void)b, (void)c
/* Defines name_loop, which does name in all lanes of the mask. */
#define SCALAR_LOOP(name)                                                               \
  static void name##_loop(struct warp *w, const struct inst *in, uint32_t mask) {       \
    uint64_t *d = row_of(w, in->d);                                                     \
    const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c); \
    if (mask == ALL_LANES)                                                              \
      for (unsigned l = 0; l < LANES; l++) d[l] = name(in, a[l], b[l], c[l]);           \
    else FOR_LANES(l, mask) d[l] = name(in, a[l], b[l], c[l]);                          \
  }
#define SCALAR_LOOP_ROW(name) {name, name##_loop},

/* exec_undefined.c */
/* Which fields the instruction reads and writes; once it is decoded. */
void undefined_set_flow(struct inst *in);
/* Before the instruction: where its operands are undefined its results will be. */
void undefined_flow(struct warp *w, const struct inst *in, uint32_t mask);
/* A row's value in a lane becomes undefined, or defined. */
void undefined_set(struct warp *w, uint32_t row, unsigned lane, bool undefined);
static inline bool undefined_is(const struct warp *w, uint32_t row, unsigned lane) {
  return w->frame->undefined && row >> BANK_SHIFT == BANK_FRAME &&
         w->frame->undefined[row] >> lane & 1;
}
/* It comes from memory that was never written. */
void undefined_set_unwritten(struct warp *w, uint32_t row, unsigned lane);
static inline bool undefined_is_unwritten(const struct warp *w, uint32_t row, unsigned lane) {
  return undefined_is(w, row, lane) &&
         (!w->frame->unwritten || w->frame->unwritten[row] >> lane & 1);
}
/* A finding if the row, used as `what`, is undefined in the lane. */
bool undefined_check(struct warp *w, uint32_t row, unsigned lane, const char *what);

/* The row's value is a group's of wgmma, and may be moved, but not used, until the group has been
 * waited for: until then its bit of `still` is set. */
void undefined_set_pending(struct warp *w, uint32_t row, uint32_t group_bit);
void undefined_keep_pending(struct warp *w, uint32_t still);

/* exec.c */
inst_run run_divide, run_lanes, run_lanes_carry, run_compare, run_select, run_pred_logic, run_mov,
    run_pack, run_unpack, run_mov_wide, run_lop3_pred;
/* exec_mem.c, async.c */
inst_run run_load, run_store, run_store_bulk, run_load_param, run_store_param,
    run_load_kernel_param, run_copy, run_cvta, run_isspacep, run_atom, run_local_address,
    run_alloca, run_stack_save, run_stack_restore;
/* exec_warp.c */
inst_run run_sleep, run_fence, run_shfl, run_vote, run_match, run_activemask, run_redux, run_elect,
    run_nothing, run_clock, run_is_clustered;

#endif
