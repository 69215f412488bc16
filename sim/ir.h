/* What the files sim/ir_*.c share: IR as the machine of machine.h executes it.
 *
 * An IR function becomes code of the same kind as PTX: the warps, splits, calls, barriers and
 * findings are the machine's. A value is a run of *scalars* (lanes of a vector, members of an
 * aggregate), each in one row of the frame, or two if it is wider than 64 bits. Poison is the
 * frame's mask of undefined lanes of the (low) row, so that it costs nothing while there is none;
 * in memory it is a byte of the shadow with the value SHADOW_POISON. undef is zero.
 *
 * Files: ir_load.c symbols, variables, constants; ir_decode.c functions into code; ir_call.c calls,
 * intrinsics, inline assembly; ir_exec.c what ops do; ir_memory.c what touches memory. */
#ifndef NVM_SIM_IR_H
#define NVM_SIM_IR_H

#include "ir/evalintrinsic.h"
#include "sim/machine.h"
#include "support/lines.h"

enum { IR_MOST_SCALARS = 1 << 16 }; /* of one value */

/* A scalar of a type: where it lies in memory. Pointers are integers of their width. */
struct ir_piece {
  struct nvm_type type;
  uint64_t bit; /* offset from the value's beginning */
  uint32_t bits;
};
struct ir_shape {
  const struct ir_piece *pieces;
  uint32_t count;
  bool known;
};

/* A scalar of a value in registers. */
struct ir_scalar {
  uint32_t low, high; /* rows; high: NO_ROW up to 64 bits */
  struct nvm_type type;
};
struct ir_value {
  const struct ir_scalar *scalars;
  uint32_t count;
};

/* What an instruction of IR has beside the fields of struct inst. Operands of ops that work lane by
 * lane: operand k of lane i is in[k].scalars[i], or [0] if it has one scalar alone. */
struct ir_op {
  enum op op;
  uint16_t flags;
  uint32_t aux;
  enum intrinsic_id intrinsic; /* of calls */
  struct ir_value d;
  const struct ir_value *in;
  uint32_t count;                /* of in */
  const struct ir_piece *pieces; /* memory: of the value */
  uint64_t bytes, align;
  struct nvm_type scalar; /* reductions: of a lane */
  const int64_t *scales;  /* GEP: bytes by which index k counts */
  nvm_i128 *terms;        /* GEP: room for what it adds */
  bool flushes;           /* f32 that is denormal counts as zero */
  const nvm_u128 *cases;  /* SWITCH: values, of the i-th entry of the table */
};

/* A module in execution. */
struct ir_program {
  struct nvm_module *module;
  struct nvm_text source; /* lines are counted in it; empty: not known */
  struct strtab strings;
  struct ptx_module names;     /* what the machine wants to know of a module */
  uint64_t *addresses;         /* of globals, as their pointers have them */
  uint32_t *code;              /* functions: index into sim->funcs */
  VEC(struct ir_shape) shapes; /* by type */
  struct line_list lines;      /* of the source */
};

/* --- ir_load.c -----------------------------------------------------------------------------------
 */
/* The scalars of a type; NULL if it has too many or memory ends. */
const struct ir_shape *ir_shape_of(struct sim *s, struct nvm_type type);
/* The scalars of a constant, in order; false where it has no value known here. */
bool ir_constant(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count);
/* Pointers as integers of their width; other types as they are. */
struct nvm_type ir_number_type(const struct nvm_module *m, struct nvm_type type);
enum window ir_window(uint32_t address_space);
/* What a pointer of the type lacks to be generic. */
uint64_t ir_space_base(const struct nvm_module *m, struct nvm_type pointer);
/* The address `bytes` behind p by the rules of getelementptr; *poison is set where its flags are
 * violated. `bits`: of the pointer. */
uint64_t ir_offset(uint16_t flags, uint32_t bits, uint64_t p, const nvm_i128 *terms, uint32_t count,
                   bool *poison);
/* The 1-based line of a byte offset; 0: not known. */
uint32_t ir_line(const struct ir_program *p, uint32_t position);

/* --- ir_decode.c
 * ------------------------------------------------------------------------------------ */
struct ir_slots {
  struct slot *data;
  uint32_t count, capacity;
};
struct ir_decoder {
  struct decoder d;       /* first: helpers of decode.c take it */
  struct ptx_function pf; /* PTX in the function, and its labels */
  const struct nvm_function *f;
  struct nvm_module *m;
  struct ir_program *program;
  struct nvm_inst_id id;               /* being decoded */
  struct nvm_inst i;                   /* a copy */
  const char *bad;                     /* why it can't be */
  struct ir_value *values, *arguments; /* by instruction, parameter; made when they are first met */
  struct ir_value results;             /* of the function */
  struct ir_slots formals;
  uint32_t *labels; /* of blocks; of a switch's edges from stubs[instruction] on */
  uint32_t *stubs;
  uint32_t poison_row;
  bool uses_poison;
  uint32_t list_row;           /* the address of variable arguments */
  uint32_t guard, flip;        /* of what is emitted */
  struct inst nowhere;         /* what is emitted when memory has ended */
  struct ir_snippet *snippets; /* by instruction; of calls that are PTX */
};
enum nvm_status ir_decode_function(struct sim *s, struct func *f);
/* The scalars of a value, of operand k of the instruction, of its result. */
struct ir_value ir_value_of(struct ir_decoder *d, struct nvm_value v);
struct ir_value ir_operand(struct ir_decoder *d, uint32_t k);
struct ir_value ir_result(struct ir_decoder *d);
/* New rows for a type's scalars. */
struct ir_value ir_new_value(struct ir_decoder *d, struct nvm_type type);
/* A number in all lanes; `count` of the scalars of v from `first` on. */
struct ir_value ir_number(struct ir_decoder *d, struct nvm_type type, nvm_u128 number);
struct ir_value ir_slice(struct ir_value v, uint32_t first, uint32_t count);
/* Appends an instruction with a copy of `ir`, whose `in` are the first operands of the instruction
 * if it is NULL; the record is valid until the next one is appended. */
struct inst *ir_emit(struct ir_decoder *d, enum inst_kind kind, inst_run *run,
                     const struct ir_op *ir);
/* to = from, all at once. */
void ir_emit_moves(struct ir_decoder *d, struct ir_value to, struct ir_value from);
/* How an access to a type in an address space looks: fills pieces, bytes and align (0: the type's).
 */
bool ir_set_access(struct ir_decoder *d, struct ir_op *op, struct nvm_type type, uint64_t align);
/* The address space of a pointer operand; the window of its accesses. */
uint32_t ir_space_of(const struct ir_decoder *d, struct nvm_value pointer);
/* What the host computes as well: arithmetic, or by OP_CALL a fused product, of floats of the type.
 * NULL: else. */
lane_fn *ir_host_function(const struct ir_decoder *d, enum op op, uint16_t flags,
                          struct nvm_type type);
void ir_emit_cast_space(struct ir_decoder *d, struct nvm_value from, struct nvm_type to);

/* --- ir_call.c
 * --------------------------------------------------------------------------------------- */
/* The PTX that a call is: entries of the scratch function and the registers of its operands. */
struct ir_snippet {
  uint32_t first, end;  /* entries; end 0: none */
  struct ptx_reg *regs; /* results' parts, then arguments' */
  uint32_t result_count, count;
  const char *bad; /* why inline assembly was not understood, or NULL */
};
/* Before registers get rows: makes the snippets of the function's calls. */
void ir_find_snippets(struct ir_decoder *d);
void ir_decode_call(struct ir_decoder *d);
/* Appends a slot, or those of a value's rows. */
void ir_add_slot(struct ir_decoder *d, struct ir_slots *s, struct slot slot);
void ir_add_slots(struct ir_decoder *d, struct ir_slots *s, struct ir_value v);

/* --- ir_exec.c, ir_memory.c
 * ---------------------------------------------------------------------------- */
inst_run ir_run_eval, ir_run_eval_intrinsic, ir_run_moves, ir_run_bitcast, ir_run_test,
    ir_run_switch, ir_run_gep, ir_run_cast_space, ir_run_extract, ir_run_insert, ir_run_reduce,
    ir_run_approximate, ir_run_unreachable, ir_run_poison, ir_run_to_reg, ir_run_from_reg;
inst_run ir_run_load, ir_run_store, ir_run_alloca, ir_run_atomicrmw, ir_run_cmpxchg, ir_run_copy,
    ir_run_set, ir_run_kernel_argument, ir_run_byval, ir_run_variadic, ir_run_va_arg;

/* A value at the beginning of `to`; its shadow, if there is one, is set. */
void ir_write_piece(uint8_t *to, uint8_t *shadow, const struct ir_piece *p, struct eval_lane v);

static inline uint32_t ir_poisoned(const struct warp *w, uint32_t row) {
  return w->frame->undefined && row >> BANK_SHIFT == BANK_FRAME ? w->frame->undefined[row] : 0;
}
static inline void ir_set_poisoned(struct warp *w, uint32_t row, unsigned lane, bool poison) {
  if (poison || w->frame->undefined) undefined_set(w, row, lane, poison);
}
static inline struct eval_lane ir_get(const struct warp *w, const struct ir_scalar *s,
                                      unsigned lane) {
  struct eval_lane v = {row_of(w, s->low)[lane], ir_poisoned(w, s->low) >> lane & 1};
  if (s->high != NO_ROW) v.bits |= (nvm_u128)row_of(w, s->high)[lane] << 64;
  return v;
}
static inline void ir_put(struct warp *w, const struct ir_scalar *s, unsigned lane,
                          struct eval_lane v) {
  row_of(w, s->low)[lane] = (uint64_t)v.bits;
  if (s->high != NO_ROW) row_of(w, s->high)[lane] = (uint64_t)(v.bits >> 64);
  ir_set_poisoned(w, s->low, lane, v.poison);
}
static inline const struct ir_scalar *ir_lane(const struct ir_value *v, uint32_t i) {
  return &v->scalars[v->count == 1 ? 0 : i];
}

#endif
