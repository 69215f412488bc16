/* The decoder of IR functions: its state, and the contracts of the files that share it. */
#ifndef NVM_SIM_IR_IR_DECODER_H
#define NVM_SIM_IR_IR_DECODER_H

#include "sim/ir/ir.h"
#include "sim/ptx/decoder.h"

struct ir_slots {
  struct slot *data;
  uint32_t count, capacity;
};

/* The PTX that a call becomes: entries of the scratch function, and the registers of its operands.
 */
struct ir_snippet {
  uint32_t first, end;  /* entries; end 0: none */
  struct ptx_reg *regs; /* results' parts, then arguments'; NULL: not supported */
  uint32_t result_count, count;
  const char *bad; /* why inline assembly is not supported, or NULL */
};

struct ir_decoder {
  struct decoder d;       /* first: the functions of decoder.c take it */
  struct ptx_function pf; /* the scratch function: PTX of snippets, and the labels */
  const struct nvm_function *f;
  struct nvm_module *m;
  struct ir_program *program;
  struct nvm_inst_id id;               /* being decoded */
  struct nvm_inst i;                   /* a copy */
  const char *bad;                     /* why it is not supported, or NULL */
  struct ir_value *values, *arguments; /* by instruction, parameter; made on first use */
  struct ir_value results;             /* of the function */
  struct ir_slots formals;
  uint32_t *labels; /* of blocks; of a switch's edges from stubs[instruction] on */
  uint32_t *stubs;
  uint32_t poison_row;
  bool uses_poison;
  uint32_t list_row;           /* the address of variable arguments */
  uint32_t guard, flip;        /* of what is emitted */
  struct inst nowhere;         /* receives what is emitted when out of memory */
  struct ir_snippet *snippets; /* by instruction; of calls that are PTX */
};

/* struct front_end's decode(). */
enum nvm_status ir_decode(struct sim *s, struct func *f);

/* --- ir_value.c: values in rows --------------------------------------------------------------- */

/* The scalars of a value, of operand k of the instruction, of its result. */
struct ir_value ir_value_of(struct ir_decoder *d, struct nvm_value v);
struct ir_value ir_value_operand(struct ir_decoder *d, uint32_t k);
struct ir_value ir_value_result(struct ir_decoder *d);
struct nvm_type ir_value_operand_type(const struct ir_decoder *d, uint32_t k);
/* New rows for a type's scalars. */
struct ir_value ir_value_new(struct ir_decoder *d, struct nvm_type type);
/* A number, or poison, in all lanes. */
struct ir_value ir_value_number(struct ir_decoder *d, struct nvm_type type, nvm_u128 number);
struct ir_scalar ir_value_scalar(struct ir_decoder *d, struct nvm_type type, struct eval_lane v);
/* `count` of the scalars of v from `first` on. */
static inline struct ir_value ir_value_slice(struct ir_value v, uint32_t first, uint32_t count) {
  return (struct ir_value){v.scalars + first, count};
}
/* The number of scalars of a type. */
uint32_t ir_value_scalars(struct ir_decoder *d, struct nvm_type type);
/* The address space of a pointer type, of operand k. */
uint32_t ir_value_space(const struct ir_decoder *d, struct nvm_type type);
uint8_t ir_value_window(const struct ir_decoder *d, uint32_t k);
/* Appends the rows of a value as parameters or results. */
void ir_value_add_slot(struct ir_decoder *d, struct ir_slots *s, struct slot slot);
void ir_value_add_slots(struct ir_decoder *d, struct ir_slots *s, struct ir_value v);

/* --- ir_emit.c: code -------------------------------------------------------------------------- */

/* Appends an instruction with a copy of `ir`, whose `in`, if it is NULL, are the first operands of
 * the instruction; the record is valid until the next one is appended. */
struct inst *ir_emit(struct ir_decoder *d, enum inst_kind kind, inst_run *run,
                     const struct ir_op *ir);
/* to = from, all at once. */
void ir_emit_moves(struct ir_decoder *d, struct ir_value to, struct ir_value from);
/* The result is the pointer `from` in the address space of type `to`. */
void ir_emit_cast_space(struct ir_decoder *d, struct nvm_value from, struct nvm_type to);
/* Fills pieces, bytes and align (0: the type's) of an access to a type; false: unsupported. */
bool ir_emit_set_access(struct ir_decoder *d, struct ir_op *op, struct nvm_type type,
                        uint64_t align);
/* Arithmetic on floats, or (OP_CALL) a fused multiply-add, that the host computes; NULL: none. */
lane_fn *ir_emit_host_function(const struct ir_decoder *d, enum op op, uint16_t flags,
                               struct nvm_type type);
/* The line of an instruction in the source; 0: not known. */
uint32_t ir_emit_line(const struct ir_decoder *d, struct nvm_inst_id id);

/* --- ir_call.c, ir_snippet.c: calls ----------------------------------------------------------- */

/* Decodes a call. */
void ir_call(struct ir_decoder *d);
/* Before registers get rows: makes the snippets of the function's calls. */
void ir_snippet_find(struct ir_decoder *d);
/* The code of a snippet, with moves to and from its registers. */
void ir_snippet_emit_intrinsic(struct ir_decoder *d, const struct ir_snippet *s);
void ir_snippet_emit_asm(struct ir_decoder *d, const struct ir_snippet *s);
/* The intrinsic, the inline assembly that is called; INTRINSIC_NONE, NULL: none. */
enum intrinsic_id ir_snippet_intrinsic(const struct ir_decoder *d, const struct nvm_inst *i);
const struct constant_info *ir_snippet_asm(const struct ir_decoder *d, const struct nvm_inst *i);

#endif
