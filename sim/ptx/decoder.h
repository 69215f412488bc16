/* The decoder of PTX: its state, and the contracts of the files that share it. */
#ifndef NVM_SIM_PTX_DECODER_H
#define NVM_SIM_PTX_DECODER_H

#include "sim/machine/machine.h"
#include "support/float.h"

/* The modifiers of an instruction. */
struct words {
  uint16_t type[4];
  uint32_t type_count;
  uint16_t space, vector, compare, bool_op, atom_op, mode; /* enum ptx_mod, 0: none */
  uint8_t rounding;                                        /* enum evalfloat_rounding */
  bool integral;                                           /* .rni … */
  bool ftz, sat, satfinite, relu, hi, wide, cc, nan_result, xorsign, abs, sync, to, shiftamt, clamp,
      left;
};

struct scope_variable {
  struct nvm_str name;
  uint16_t space; /* PTX_MOD_PARAM, LOCAL, REG; 0: the beginning of a scope */
  uint64_t offset;
  uint64_t bytes;
  struct ptx_reg reg;
  uint32_t formal; /* index + 1 of a parameter; 0: none */
};

struct decoder {
  struct sim *sim;
  struct func *func;
  const struct ptx_function *f;
  const struct ptx_entry *e; /* being decoded */
  struct words words;        /* its modifiers */
  struct inst *in;           /* being filled */
  VEC(struct inst) code;
  VEC(uint64_t) constants;  /* values */
  uint32_t *constant_slots; /* hash of constants */
  uint32_t constant_slot_count;
  uint32_t class_first[PTX_CLASS_COUNT]; /* row of a class's register 0 */
  uint32_t *labels;                      /* label → index in code */
  VEC(struct scope_variable) scope;
  bool failed; /* out of memory */
};

/* --- decoder.c: operands and rows ------------------------------------------------------------- */

/* Memory of the simulator; NULL when out of memory. */
void *decoder_alloc(struct decoder *d, size_t bytes);
/* Reads the modifiers of d->e into d->words. */
void decoder_read_words(struct decoder *d);
/* Whether the instruction has the modifier (enum ptx_mod). */
bool decoder_has_mod(const struct decoder *d, uint16_t mod);
/* Operand i of the instruction; whether it has one. */
const struct ptx_operand *decoder_operand(const struct decoder *d, uint32_t i);
bool decoder_has(const struct decoder *d, uint32_t i);
/* The row of a register, or its number among the predicates; its width. */
uint32_t decoder_reg(const struct decoder *d, struct ptx_reg r);
unsigned decoder_reg_bits(struct ptx_reg r);
/* The row of the constant bank that holds the value. */
uint32_t decoder_constant(struct decoder *d, uint64_t value);
/* A source: a row. `type` (enum ptx_mod) tells how immediates are read. */
uint32_t decoder_source(struct decoder *d, const struct ptx_operand *o, uint16_t type);
/* A predicate source, possibly negated or constant: a predicate of the frame. */
uint32_t decoder_pred(struct decoder *d, const struct ptx_operand *o, bool *negated);
/* A destination register's row (NO_ROW for `_`). */
uint32_t decoder_dest(struct decoder *d, const struct ptx_operand *o);
/* The rows of a value or of a vector's elements, `*count` of them, after `room` free words. NULL:
 * out of memory. */
uint32_t *decoder_rows(struct decoder *d, const struct ptx_operand *o, bool is_dest, uint16_t type,
                       uint32_t room, uint32_t *count);
/* Fills in->d, and of a pair `d|q` in->d2. */
void decoder_targets(struct decoder *d);
/* Those, and the sources that follow: in->a, in->b, in->c, immediates by the types. */
void decoder_operands(struct decoder *d, uint16_t a, uint16_t b, uint16_t c);
/* Fills in->a and in->imm. */
void decoder_address(struct decoder *d, const struct ptx_operand *o);
/* The window of a state space (enum ptx_mod); WINDOW_COUNT: generic. */
uint8_t decoder_window(uint16_t space);
/* A visible variable or parameter of the function; NULL: none of this name. */
struct scope_variable *decoder_find_variable(struct decoder *d, struct nvm_str name);
/* The bytes of a variable; its alignment. */
uint64_t decoder_variable(const struct ptx_variable *v, uint64_t *align);
/* The instruction becomes a finding when it is reached: "executes an instruction that WHY"; NULL:
 * that it is not supported. Returns true. */
bool decoder_unsupported(struct decoder *d, const char *why);

/* The registers of d->f get rows, after those that there are. */
void decoder_assign_rows(struct decoder *d);
void decoder_append(struct decoder *d, const struct inst *in);
/* Resolves the branches to labels and fills the constants; false when out of memory. */
bool decoder_finish(struct decoder *d);

/* --- decode.c and its families ---------------------------------------------------------------- */

/* The front end's decode(). */
enum nvm_status decode_function(struct sim *s, struct func *f);
/* Appends the code of entry d->e. */
void decode_entry(struct decoder *d);

/* True if the instruction is one of theirs. */
bool decode_alu(struct decoder *d);
bool decode_video(struct decoder *d);
bool decode_memory(struct decoder *d);
bool decode_warp(struct decoder *d);
bool decode_async(struct decoder *d);
bool decode_async_cluster_barrier(struct decoder *d);
bool decode_matrix(struct decoder *d);

/* --- the front end ---------------------------------------------------------------------------- */

func_trace trace_ptx;
/* Assigns addresses to the module's functions and variables. */
enum nvm_status load_ptx(struct sim *s, const struct ptx_module *m);

#endif
