/* The state of code generation: one module, lowered function by function.
 *
 * Every IR value is a row of *parts*: its scalar leaves in order, each in one PTX register.
 *   i1                 one predicate
 *   i2..i8, i9..i16    one %rs; i17..i32 one %r; i33..i64 one %rd; i65..i128 two %rd, low first
 *   half, bfloat       one %rs of their bits; float %f; double %fd
 *   ptr                one %rd (%r where its address space has 32-bit pointers)
 *   <2n x half|bfloat|i16>  n packed %r; lane 2k in the low half of part k
 *   other vectors, arrays, structs   the parts of their elements, one after the other
 * Bits of a register above an integer's width are undefined: code that depends on them extends the
 * value first (emit_extend). A predicate is a whole i1.
 *
 * Constant expressions are instructions before anything here reads a function (legalize.c).
 *
 * Headers by topic, from the bottom up:
 *   report.h   diagnostics                      address.h  addresses, the frame
 *   part.h     parts of types, modifiers        memory.h   loads, stores, block copies, atomics
 *   emit.h     instructions, short sequences    abi.h      parameters, results, calls
 *   value.h    operands and results             symbol.h   names, variables
 *   lane.h     vectors lane by lane             stage.h    the stages of lowering one function
 *   select.h   what is emitted, and how         inst.h     one lowering function per instruction
 *   number.h   arithmetic, conversions */
#ifndef NVM_CODEGEN_LOWER_H
#define NVM_CODEGEN_LOWER_H

#include "analysis/loops.h"
#include "codegen/codegen.h"
#include "ir/dominance.h"
#include "ptx/ptx.h"

/* Machine value types: what one part holds. */
enum part_kind {
  PART_I1,  /* predicate */
  PART_INT, /* integer of `bits` 2..64 */
  PART_HALF,
  PART_BFLOAT,
  PART_FLOAT,
  PART_DOUBLE,
  PART_PAIR_I16,
  PART_PAIR_HALF,
  PART_PAIR_BFLOAT, /* two lanes in a 32-bit register */
};

struct part {
  uint8_t kind;      /* enum part_kind */
  uint8_t bits;      /* bits that count: 1..64; pairs 32 */
  uint8_t container; /* bits of the register: 1, 16, 32, 64 */
  bool is_pointer;
  uint32_t offset; /* bytes from the start of the value in memory */
};

/* The parts of a type; they stay where they are while others are added. */
struct part_list {
  const struct part *at;
  uint32_t count;
};
/* Some of the parts of a type, by number. */
struct part_range {
  uint32_t first;
  uint32_t count;
};

struct lower {
  struct nvm_module *module;
  const struct nvm_target *target;
  const struct codegen_options *options;
  struct diag_sink *sink;
  struct textbuf *out;         /* function bodies and everything after the header */
  struct arena arena;          /* of the whole lowering: names, parts, global tables */
  struct arena function_arena; /* reset after each function */
  struct ptx_module ptx;       /* variables and prototypes; functions are not kept */

  VEC(struct part) new_parts;       /* of the type that part_measure() reads */
  VEC(struct part_list) type_parts; /* by type index; at == NULL: not computed */

  /* State of single files, for the whole module. */
  struct names *names;
  const struct annotations *annotations;
  struct call_state *calls;
  struct debug_state *debug;
  struct ptx_key *allowed;       /* report.c */
  struct nvm_str invariant_load; /* the kind of metadata */

  unsigned ptx_needed;  /* largest version that emitted instructions need */
  unsigned ptx_before;  /* smallest that some of them end with; 0: none does */
  bool relaxed_atomics; /* seq_cst atomicrmw and cmpxchg without a scope are relaxed at GPU scope */
  bool noted_relaxed;   /* a note was reported about it */
  bool is_bug;          /* an instruction that no input asked for is not PTX */

  /* The function being lowered. */
  struct nvm_value symbol; /* whose signature is written: f, or a declaration */
  struct nvm_function *f;
  struct ptx_function *pf;
  struct nvm_inst_id inst; /* being lowered */
  uint32_t *inst_regs;     /* by instruction: index of its first part in `regs`, 0: none yet */
  uint32_t *arg_regs;      /* by argument */
  VEC(struct ptx_reg) regs;
  VEC(unsigned char) above; /* by number of a 16-bit register that holds a byte: enum byte_above */
  struct dominance dominance;
  struct loops loops;
  uint32_t *block_labels;   /* by block */
  uint32_t *block_rank;     /* by block: its position in the layout */
  struct nvm_block *layout; /* the blocks to be emitted, in order (placement.c) */
  uint32_t layout_count;
  bool *merged;                /* by block: the branch before it makes its copies (branch.c) */
  uint32_t next_label;         /* of the block that follows the one being lowered; 0: none */
  struct selection *selection; /* by instruction (select.h) */
  VEC(struct selected_address) addresses;
  VEC(struct index_product) products;

  /* State of single files, for the function. */
  bool *converted_args; /* by argument: only conversions read it, which load it themselves */
  struct params *params;
  struct byval *byval;
  struct frame *frame;
  struct phi_edges *edges;
  struct coalescer *coalescer;        /* NULL: nothing is known about live ranges */
  struct verbose_notes *notes;        /* NULL without --asm-verbose */
  struct wide_product *wide_products; /* address.c */
  uint32_t *switch_labels;            /* switch.c */

  bool ftz;       /* f32 denormals are flushed in this function */
  bool too_large; /* a value of this function has too many parts: nothing is lowered */
  bool refused;   /* an error in this function was reported, */
  struct nvm_inst_id refused_inst; /* the last one at this instruction */
};

static inline int32_t lower_knob(const struct lower *l, enum knob knob) {
  return l->options->knobs->value[knob];
}

#endif
