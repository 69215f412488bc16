/* What the files of codegen/ share while they lower one module, function by function.
 *
 * Every IR value is a row of *parts*: its scalar leaves in order, each in one PTX register.
 *   i1                 one predicate
 *   i2..i8, i9..i16    one %rs; i17..i32 one %r; i33..i64 one %rd; i65..i128 two %rd, low first
 *   half, bfloat       one %rs of their bits; float %f; double %fd
 *   ptr                one %rd (%r where its address space has 32-bit pointers)
 *   <2n x half|bfloat|i16>  n packed %r; lane 2k in the low half of part k
 *   other vectors, arrays, structs   the parts of their elements, one after the other
 * Bits of a register above an integer's width are not defined: whoever depends on them extends
 * first (emit_zext, emit_sext). A predicate is a whole i1.
 *
 * Constant expressions are instructions by the time anything here looks at a function: legalize.c
 * expands them first.
 *
 * Files: legalize.c; types.c parts of types; function.c the walk, registers, blocks; phi.c edge
 * copies; value.c operands and constants; emit.c instructions and short sequences; int.c, wide.c,
 * float.c, convert.c, vector.c arithmetic; address.c addresses, getelementptr; frame.c the frame;
 * memory.c loads and stores; block.c memcpy and kin; atomic.c; call.c parameters, calls, returns;
 * global.c variables and initializers; names.c legal names; module.c the order of it all;
 * intrinsic.c and asm.c what their names say. */
#ifndef NVM_CODEGEN_LOWER_H
#define NVM_CODEGEN_LOWER_H

#include "codegen/codegen.h"
#include "analysis/loops.h"
#include "ir/intrinsic.h"
#include "ptx/check.h"
#include "ptx/gate.h"
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

extern const struct part part_i16, part_i32, part_i64,
    part_f32; /* with all bits of their register */

/* The parts of a type; `first` indexes lower->parts. */
struct part_range {
  uint32_t first;
  uint32_t count;
};

enum { MAX_PARTS = 1 << 16 }; /* of one first-class value; more is refused with a diagnostic */

/* Phi operands grouped by edge (phi.c). */
struct edge_uses {
  uint32_t *start; /* by block: first of its group in `uses`; one more at the end */
  uint32_t *rank;  /* by block: its place in the layout */
  struct phi_use *uses;
};

/* One key and value of !nvvm.annotations (annotation.c). */
struct annotation {
  struct nvm_str key;
  struct nvm_meta value;
  uint32_t next; /* of the same symbol, in `all`; 0: end */
};

struct annotations {
  VEC(struct annotation) all; /* [0]: dummy */
  uint32_t *of_function;      /* by function: its first; 0: none */
  uint32_t *of_global;
};

/* A register that holds value * step in 64 bits from `block` on. */
struct wide_product {
  struct nvm_value value; /* none: no such product */
  uint64_t step;
  struct nvm_block block;
  struct ptx_reg product;
  bool is_signed;
};

struct lower {
  struct nvm_module *module;
  const struct nvm_target *target;
  const struct codegen_options *options;
  struct diag_sink *sink;
  struct textbuf *out;         /* function bodies and everything after the header */
  struct arena arena;          /* of the whole lowering: names, type parts, global tables */
  struct arena function_arena; /* reset after each function */
  struct ptx_module ptx;       /* variables and prototypes; functions are not kept */

  VEC(struct part) parts;
  VEC(struct part_range) part_range; /* by type index; first 0: not computed */

  struct nvm_str *function_names; /* PTX names by index: names.c */
  struct nvm_str *global_names;
  struct nvm_str invariant_load;      /* of attachments */
  VEC(struct nvm_str) argument_names; /* `param0`, …: of calls (call.c) */
  VEC(bool) taken_names;              /* by string: some symbol has it as its PTX name */
  struct annotations annotations;
  VEC(uint32_t) inlined_numbers; /* by string: 1 + its index in inlined_names; 0: none (debug.c) */
  VEC(struct nvm_str) inlined_names; /* of functions, for .loc */
  uint32_t *file_numbers; /* by metadata node: its .file number; NULL: none yet (debug.c) */
  struct ptx_key
      *allowed; /* what the checker has allowed, each in the place of its hash (module.c) */
  bool *known_undefined; /* by function: the warning was reported (call.c) */
  unsigned ptx_needed;   /* largest version that emitted instructions need */
  unsigned ptx_before;   /* smallest that some of them end with; 0: none does */

  /* The function being lowered. */
  struct nvm_value symbol; /* of which the signature is asked for: f, or a declaration */
  struct nvm_function *f;
  struct ptx_function *pf;
  struct nvm_inst_id inst;  /* being lowered; for diagnostics */
  uint32_t *inst_regs;      /* by instruction: index of its first part in `regs`, 0: none yet */
  uint32_t *arg_regs;       /* by argument */
  struct parameter *params; /* by argument: how it comes (params.c) */
  uint32_t *first_argument,
      *next_argument; /* by block, by argument: 1 + the (next) argument read there; 0: none */
  VEC(struct ptx_reg) regs;
  struct dominance dominance;
  struct loops loops;
  uint32_t *block_labels; /* by block */
  bool *keeps_rolled;     /* by block: header of a loop that is not to be unrolled */
  struct edge_uses edges;
  uint32_t *edge_labels;    /* by block: scratch of switch.c, all 0 between switches */
  uint32_t *alloca_offsets; /* by instruction: offset + 1 in the local depot for fixed allocas */
  uint64_t depot_bytes;     /* size of __local_depot */
  uint32_t depot_align;
  struct nvm_str depot_name;
  struct nvm_str *param_args; /* by argument: name of the byval parameter that is read in place, in
                                 .param, or 0. NULL: there are none */
  uint32_t *param_of;       /* by instruction: 1 + such an argument that its address is based on */
  struct nvm_meta location; /* of the last .loc */
  struct verbose_notes *notes; /* of --asm-verbose (verbose.c); else NULL */
  struct selection *selection; /* by instruction (select.h) */
  VEC(struct selected_address) addresses;
  VEC(bool) zero_above; /* by number of a 16-bit register: it holds a loaded byte, zeros above */
  struct wide_product wide_products[32]; /* by value and step, hashed (address.c) */
  bool ftz;                              /* f32 denormals are flushed in this function */
  bool relaxed_atomics; /* seq_cst atomicrmw and cmpxchg without a scope are relaxed at GPU scope */
  bool noted_relaxed;   /* a note said so */
  bool refused;         /* something in this function was reported */
  bool is_bug;          /* an instruction that no input asked for is not PTX */
};

/* --- types.c ---------------------------------------------------------------------------------- */

/* The parts of a first-class type; reports and returns no parts beyond MAX_PARTS. */
struct part_range part_measure(struct lower *l, struct nvm_type type);
static inline struct part_range part_list(struct lower *l, struct nvm_type type) {
  if (type.index < l->part_range.count && l->part_range.data[type.index].first != 0)
    return l->part_range.data[type.index];
  return part_measure(l, type);
}
static inline const struct part *part_at(const struct lower *l, struct part_range t, uint32_t i) {
  return &l->parts.data[t.first + i];
}
/* Type modifiers by width: `.b32` (.pred for 1, .b128), `.u32`, `.s32`; odd widths: of what holds
 * them. The class of registers that hold a type. */
uint16_t mod_bits(uint32_t bits);
uint16_t mod_unsigned(uint32_t bits);
uint16_t mod_signed(uint32_t bits);
enum ptx_class mod_class(uint16_t type);
/* Those of a part's register; `move`: as mov and selp have it, .f32 and .f64 for floats. */
enum ptx_class part_class(const struct part *p);
uint16_t part_move_mod(const struct part *p);
static inline uint16_t part_bits_mod(const struct part *p) { return mod_bits(p->container); }
static inline uint16_t part_unsigned_mod(const struct part *p) {
  return mod_unsigned(p->container);
}
static inline uint16_t part_signed_mod(const struct part *p) { return mod_signed(p->container); }
uint16_t part_float_mod(const struct part *p);           /* .f16 .bf16 .f32 .f64 .f16x2 .bf16x2 */
static inline bool part_is_small(const struct part *p) { /* a 16-bit float */
  return p->kind == PART_HALF || p->kind == PART_BFLOAT;
}
static inline bool part_is_full(const struct part *p) { /* a float or double */
  return p->kind == PART_FLOAT || p->kind == PART_DOUBLE;
}
static inline bool part_is_pair(const struct part *p) { return p->kind >= PART_PAIR_I16; }
/* Does the target compute in this type, scalar or packed pair? The table of types in
 * target/nvptx.def says so (tgt_type_action), by CPU and PTX version. */
bool part_is_legal(const struct lower *l, const struct part *p);
/* Does the target have the op with exactly these modifiers? */
static inline bool emit_has(const struct lower *l, enum ptx_op op, const uint16_t *mods) {
  return gate_has(l->target, op, mods);
}
/* Whether the type is a vector whose parts are packed pairs. */
bool part_is_packed_type(struct lower *l, struct nvm_type type);
/* Bytes a part takes in memory: 1, 2, 4, 8 (3 for i24). */
uint32_t part_store_bytes(const struct part *p);
/* Range of parts that element `index` of an aggregate or vector type takes; for packed pairs see
 * vector.c. */
struct part_range part_of_member(struct lower *l, struct nvm_type type, uint64_t index);
/* Where element i of a value of that type begins, in bytes; vectors of whole bytes only. */
uint64_t part_element_offset(const struct lower *l, struct nvm_type type, uint64_t i);

/* --- value.c ---------------------------------------------------------------------------------- */

/* The registers of an instruction's result (or argument), made on first use, `count` parts. */
const struct ptx_reg *value_result(struct lower *l, struct nvm_inst_id i);
/* Gives an instruction's or argument's value its registers if it has none yet. */
void value_touch(struct lower *l, struct nvm_value v);
/* Part k of an operand: a register or, for constants, an immediate where PTX takes one (integers,
 * f32, f64; never for predicates, half, addresses). Valid in instructions that allow immediates. */
struct ptx_operand value_operand(struct lower *l, struct nvm_value v, uint32_t k);
/* The same for emit_copy(), which takes every constant as an immediate. */
struct ptx_operand value_source(struct lower *l, struct nvm_value v, uint32_t k);
/* The same, always in a register (constants are moved into a new one). */
struct ptx_reg value_reg(struct lower *l, struct nvm_value v, uint32_t k);
/* Registers that hold all parts, in the function arena; NULL where there is no memory. */
struct ptx_reg *value_regs(struct lower *l, struct nvm_value v);
/* Whether v is undef or poison. */
static inline bool value_is_undefined(const struct lower *l, struct nvm_value v) {
  return value_kind(v) == VALUE_CONST && const_is_undef_or_poison(l->module, v);
}
/* A new register that holds part p. */
struct ptx_reg emit_new_reg(struct lower *l, const struct part *p);
static inline struct ptx_reg emit_temp(struct lower *l, enum ptx_class c) {
  return ptx_new_reg(l->pf, c);
}

/* Reports that the current instruction can't be lowered; `what` and `detail` are shown. Returns
 * what diag_report() does. */
struct diag *report_refuse(struct lower *l, const char *what, const char *detail);

/* --- emit.c ----------------------------------------------------------------------------------- */

/* Append an instruction to the current function; d: where its result goes. */
void emit0(struct lower *l, enum ptx_op op, const uint16_t *mods);
void emit1(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand a);
void emit2(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a);
void emit3(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a, struct ptx_operand b);
void emit4(struct lower *l, enum ptx_op op, const uint16_t *mods, struct ptx_operand d,
           struct ptx_operand a, struct ptx_operand b, struct ptx_operand c);
/* A list of modifiers without those that are PTX_MOD_NONE; at most seven. */
struct emit_mod_list {
  uint16_t words[8];
};
struct emit_mod_list emit_mods(const uint16_t *words, size_t count);
#define EMIT_MODS(...)                                                   \
  (emit_mods((const uint16_t[]){__VA_ARGS__},                            \
             sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t)) \
       .words)

/* The same with a new register for the result, of the class that holds `type`, which is also the
 * only modifier where no others are given: op.type, setp.how.type, selp.type, cvt.to.from. */
struct ptx_operand emit_value(struct lower *l, uint16_t type, enum ptx_op op, const uint16_t *mods,
                              const struct ptx_operand *from, uint32_t count);
struct ptx_operand emit_unary(struct lower *l, enum ptx_op op, uint16_t type, struct ptx_operand a);
struct ptx_operand emit_binary(struct lower *l, enum ptx_op op, uint16_t type, struct ptx_operand a,
                               struct ptx_operand b);
struct ptx_operand emit_compare(struct lower *l, uint16_t how, uint16_t type, struct ptx_operand a,
                                struct ptx_operand b);
struct ptx_operand emit_select(struct lower *l, uint16_t type, struct ptx_operand a,
                               struct ptx_operand b, struct ptx_operand when);
struct ptx_operand emit_convert(struct lower *l, uint16_t to, uint16_t from, struct ptx_operand v);
/* Two registers as one of twice the size, and back. */
struct ptx_operand emit_group(struct lower *l, uint16_t type, struct ptx_operand low,
                              struct ptx_operand high);
void emit_ungroup(struct lower *l, uint16_t type, struct ptx_operand from, struct ptx_operand low,
                  struct ptx_operand high);
void emit_branch(struct lower *l, uint32_t label);
void emit_branch_if(struct lower *l, struct ptx_operand condition, bool negated, uint32_t label);
uint32_t emit_new_label(struct lower *l); /* without a name */

/* Copies an operand into a given register (mov of the right class). */
void emit_copy(struct lower *l, struct ptx_reg to, struct ptx_operand from);
/* An immediate in a new register; registers as they are. PTX has no form with two immediates for
 * some ops, and ptxas folds nothing. */
struct ptx_operand emit_in_reg(struct lower *l, struct ptx_operand v, const struct part *p);
/* Integer part with defined upper bits: extended to its container (at least `bits` wide: 16, 32,
 * 64), a predicate to `bits`. Returns the operand itself where nothing is to be done. */
struct ptx_operand emit_extend(struct lower *l, struct ptx_operand v, const struct part *p,
                               uint32_t bits, bool is_signed);
static inline struct ptx_operand emit_zext(struct lower *l, struct ptx_operand v,
                                           const struct part *p, uint32_t bits) {
  return emit_extend(l, v, p, bits, false);
}
static inline struct ptx_operand emit_sext(struct lower *l, struct ptx_operand v,
                                           const struct part *p, uint32_t bits) {
  return emit_extend(l, v, p, bits, true);
}
/* The low `to` bits of a register of `from` bits; itself where that is no less. */
struct ptx_operand emit_narrow(struct lower *l, struct ptx_operand v, uint32_t from, uint32_t to);
int64_t lower_sign_extend(uint64_t bits, uint32_t width);
/* i1 → integer register of 0/1 (16, 32, 64 bits) and back (low bit). */
struct ptx_operand emit_pred_to_int(struct lower *l, struct ptx_operand pred, uint32_t bits);
struct ptx_operand emit_int_to_pred(struct lower *l, struct ptx_operand value, uint32_t bits);
/* Packs two 16-bit registers into a pair and takes it apart. */
struct ptx_operand emit_pack_pair(struct lower *l, struct ptx_operand low, struct ptx_operand high);
void emit_unpack_pair(struct lower *l, struct ptx_operand pair, struct ptx_operand lanes[2]);
/* What computes one lane of up to three operands; `how` is the caller's. */
typedef void lane_function(struct lower *l, const struct part *p, struct ptx_reg to,
                           const struct ptx_operand v[3], const void *how);
/* A packed pair's lanes one by one. */
void emit_pair_by_lanes(struct lower *l, const struct part *p, struct ptx_reg to,
                        const struct ptx_operand *v, uint32_t count, lane_function *lane,
                        const void *how);

/* An instruction or call of which the first `count` operands are treated part by part. */
void lane_by_parts(struct lower *l, const struct nvm_inst *i, uint32_t count, lane_function *lower,
                   const void *how);

/* --- address.c, memory.c, block.c
 * --------------------------------------------------------------------------------- */

/* An address: base + offset in a state space. */
struct address {
  struct ptx_operand at; /* PTX_OPERAND_ADDRESS_* */
  uint16_t space;        /* PTX_MOD_GLOBAL, SHARED, LOCAL, CONST, PARAM, or 0: generic */
  uint32_t align;        /* known alignment in bytes, at least 1 */
};
enum { MAX_ADDRESS_CHAIN = 64 }; /* looked through; code that nothing reaches may be circular */
/* The best address for a pointer value: looks through constant offsets, allocas, globals. */
struct address address_of(struct lower *l, struct nvm_value pointer);
struct address address_plus(struct address a, int64_t offset);
/* The address in a register of its own, as wide as it is (atomic.c). */
struct ptx_reg address_register(struct lower *l, struct address a);
uint16_t mod_space(uint32_t address_space); /* 1 → PTX_MOD_GLOBAL …, 0 for generic */
uint16_t mod_vector(uint32_t count);        /* 2 → PTX_MOD_V2 …, 0 for 1 */
/* Loads and stores all parts of a type at an address, as wide as the alignment allows. */
void memory_load_parts(struct lower *l, struct nvm_type type, const struct ptx_reg *to,
                       struct address from, struct memory_access how);
void memory_store_parts(struct lower *l, struct nvm_type type, const struct ptx_operand *from,
                        struct address to, struct memory_access how);
/* Room in the thread's frame (.local __local_depot): its offset, address, and pointer value; of an
 * alloca the alignment in bytes. */
uint32_t frame_align(const struct lower *l, const struct nvm_inst *i);
uint64_t frame_reserve(struct lower *l, uint64_t bytes, uint32_t align);
struct address frame_address(struct lower *l, uint64_t offset);
struct ptx_reg frame_pointer(struct lower *l, uint64_t offset, uint32_t address_space);
void memory_lower_load(struct lower *l, const struct nvm_inst *i);
void memory_lower_store(struct lower *l, const struct nvm_inst *i);
void frame_lower_alloca(struct lower *l, const struct nvm_inst *i);
void address_lower_gep(struct lower *l, const struct nvm_inst *i);
/* Fixed allocas get their depot offsets. */
void frame_plan(struct lower *l);
/* Whether seq_cst atomics without a scope are relaxed at GPU scope, given the knob
 * nvptx-relaxed-atomics. */
bool atomic_is_relaxed_module(const struct nvm_module *m, int32_t knob);
/* llvm.memcpy, memmove, memset (also .inline, element-atomic refused). */
void block_lower_copy(struct lower *l, const struct nvm_inst *i, bool may_overlap);
void block_lower_fill(struct lower *l, const struct nvm_inst *i);
/* Copies `bytes` bytes between addresses, unrolled or as a loop. */
void block_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes,
                      bool is_volatile);

/* --- atomic.c --------------------------------------------------------------------------------- */
void atomic_lower_rmw(struct lower *l, const struct nvm_inst *i);
void atomic_lower_cmpxchg(struct lower *l, const struct nvm_inst *i);
void atomic_lower_fence(struct lower *l, const struct nvm_inst *i);
/* Atomic loads and stores (ordering above unordered), called by memory_lower_load and
 * memory_lower_store. */
void atomic_lower_load(struct lower *l, const struct nvm_inst *i);
void atomic_lower_store(struct lower *l, const struct nvm_inst *i);

/* --- int.c, wide.c, float.c, convert.c, vector.c: one instruction each --------------------------
 */
/* a op divisor, extended as the op's signedness says, without dividing; false: nothing was emitted.
 */
bool divide_by_constant(struct lower *l, enum op op, const struct part *p, struct ptx_reg to,
                        struct ptx_operand a, int64_t divisor);
void int_lower_binary(struct lower *l, const struct nvm_inst *i);
void float_lower_binary(struct lower *l, const struct nvm_inst *i);
void float_lower_neg(struct lower *l, const struct nvm_inst *i);
void convert_lower(struct lower *l, const struct nvm_inst *i);
void int_lower_compare(struct lower *l, const struct nvm_inst *i);
void float_lower_compare(struct lower *l, const struct nvm_inst *i);
void vector_lower_select(struct lower *l, const struct nvm_inst *i);
void vector_lower_freeze(struct lower *l, const struct nvm_inst *i);
void vector_lower_extract(struct lower *l, const struct nvm_inst *i);
void vector_lower_insert(struct lower *l, const struct nvm_inst *i);
void vector_lower_shuffle(struct lower *l, const struct nvm_inst *i);
void vector_lower_extract_value(struct lower *l, const struct nvm_inst *i);
void vector_lower_insert_value(struct lower *l, const struct nvm_inst *i);
/* The four bytes of a 32-bit register in 16-bit registers of their own (zero above), and back (what
 * is above 8 bits is ignored). */
void convert_unpack_bytes(struct lower *l, struct ptx_operand word, const struct ptx_operand to[4]);
void convert_pack_bytes(struct lower *l, struct ptx_reg to, const struct ptx_operand bytes[4]);
/* Gives an extracted, inserted into or shuffled vector the registers in which its lanes are
 * already; false if something has to be moved. */
bool lane_share(struct lower *l, struct nvm_inst_id id);
/* --- lanes (vector.c): a vector as scalars, packed pairs taken apart. A scalar is one lane. --- */
struct lanes {
  uint32_t count;      /* lanes */
  uint32_t parts_each; /* parts of one lane: 1, or 2 for wide integers */
  struct nvm_type scalar;
  struct ptx_operand *at; /* lane k, part j: at[k * parts_each + j]; in the function arena */
};
/* The lanes of an operand; constants may give immediates where value_operand does. */
struct lanes lane_split(struct lower *l, struct nvm_value v);
/* Lanes k and k + 1 of a packed vector; an undefined one is replaced by the other. */
void lane_split_pair(struct lower *l, struct nvm_value v, uint32_t k, struct ptx_operand lanes[2]);
/* The scalar that was inserted as lane k of *v; VALUE_NULL: none, and *v becomes the vector below
 * the insertions. */
struct nvm_value lane_inserted(struct lower *l, struct nvm_value *v, uint32_t k);
/* Lanes of a type; 1 for scalars. The lane that a constant index names; false if v is none. */
uint64_t lane_count(struct lower *l, struct nvm_type type);
bool lane_index(struct lower *l, struct nvm_value v, uint64_t *index);
/* Registers for the lanes of the current instruction's result: its own, or temporaries for packed
 * pairs, which lane_join then packs. All operands are registers. */
struct lanes lane_targets(struct lower *l, struct nvm_type type, const struct ptx_reg *to);
void lane_join(struct lower *l, struct nvm_type type, const struct ptx_reg *to, struct lanes from);

/* `.ftz`, or PTX_MOD_NONE, as the function wants it of the type. */
static inline uint16_t float_ftz(const struct lower *l, uint16_t type) {
  return l->ftz && type == PTX_MOD_F32 ? PTX_MOD_FTZ : PTX_MOD_NONE;
}
/* The sign bit or bits of a 16-bit float, or packed pair, as an immediate. */
static inline struct ptx_operand float_sign_bits(const struct part *p) {
  return ptx_i(p->container == 16 ? -0x8000 : (int64_t)(int32_t)0x80008000u);
}
/* 16-bit float ↔ f32 (float.c). */
struct ptx_operand float_to_f32(struct lower *l, const struct part *p, struct ptx_operand v);
void float_from_f32(struct lower *l, const struct part *p, struct ptx_reg to, struct ptx_operand v);
/* The pointer v of one address space as one of another (convert.c). */
void convert_space(struct lower *l, uint32_t from_space, uint32_t to_space, struct ptx_reg target,
                   struct ptx_operand v);
/* The bits of registers of one type (NULL: an earlier error) as another type of as many
 * (convert.c). */
void convert_bits(struct lower *l, struct nvm_type from_type, const struct ptx_reg *source,
                  struct nvm_type to_type, const struct ptx_reg *target);
/* Any part as a 64-bit integer of its bits, zeros above; and back into a register of the part
 * (convert.c). */
struct ptx_operand convert_to_bits(struct lower *l, const struct part *p, struct ptx_operand v);
void convert_from_bits(struct lower *l, const struct part *p, struct ptx_reg to,
                       struct ptx_operand bits);
/* word |= bits << by, or >> -by, of 64 bits. */
void convert_or_shifted(struct lower *l, struct ptx_operand word, struct ptx_operand bits, int by);

/* Helpers that intrinsics need too; `bits` 1..128, operands and results as parts, low first. */
static inline struct part high_part(uint32_t bits) {
  return (struct part){.kind = PART_INT, .bits = (uint8_t)(bits - 64), .container = 64};
}
void wide_binary(struct lower *l, enum op op, uint32_t bits, const struct ptx_operand to[2],
                 const struct ptx_operand a[2], const struct ptx_operand b[2]);
/* double → float towards zero with the lowest bit set if inexact: rounding that once more, to a
 * format narrower by two bits or more, gives what rounding the double would. */
struct ptx_operand float_round_to_odd(struct lower *l, struct ptx_operand v);
struct ptx_operand float_from_int64_to_odd(struct lower *l, struct ptx_operand v, bool is_signed);
/* `to_odd` (f32 only): towards zero with the lowest bit set if inexact, to be rounded once more. */
void wide_to_float(struct lower *l, uint32_t bits, bool is_signed, bool is_double, bool to_odd,
                   struct ptx_reg to, const struct ptx_operand v[2]);
void wide_from_float(struct lower *l, bool is_signed, bool is_double,
                     const struct ptx_operand to[2], struct ptx_operand v);
/* Of .f32 or .f64, as `type` says: the number with these bits; 2^exponent; the number of which
 * `high` is the word with sign and exponent, all other bits zero. */
struct ptx_operand float_immediate(uint16_t type, uint32_t f32, uint64_t f64);
struct ptx_operand float_power_of_two(uint16_t type, int exponent);
struct ptx_operand float_of_word(struct lower *l, uint16_t type, struct ptx_operand high);
/* Lowers such a sum; false if it is none. */
bool float_lower_fused(struct lower *l, const struct nvm_inst *i);
/* The running instruction as op.rn.f32x2 on `count` values, of which the one numbered `negated`
 * (-1: none) changes its sign. Returns how many lanes are done: an even number, 0 where the target
 * has no such pairs of this type. */
uint32_t float_pairs(struct lower *l, enum ptx_op op, struct nvm_type type,
                     const struct nvm_value *v, int count, int negated);
/* One lane of a float binary op (float.c), of any op (int.c). */
void float_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);
/* One lane of a binary op on scalars of part p (int or float), into `to`. */
void int_binary_part(struct lower *l, enum op op, uint16_t flags, const struct part *p,
                     struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);
/* The same for integers of `bits`, in one or two parts; p: the first. */
void int_binary_bits(struct lower *l, enum op op, uint32_t bits, const struct part *p,
                     const struct ptx_operand *to, const struct ptx_operand *a,
                     const struct ptx_operand *b);
struct ptx_operand int_compare(struct lower *l, enum icmp_predicate pred, uint32_t bits,
                               const struct part *p, const struct ptx_operand *a,
                               const struct ptx_operand *b);
/* Integer comparison of one part, giving a predicate. */
void int_compare_part(struct lower *l, enum icmp_predicate pred, const struct part *p,
                      struct ptx_reg to, struct ptx_operand a, struct ptx_operand b);

/* --- legalize.c ------------------------------------------------------------------------------- */
/* Replaces operands that are, or contain, constant expressions by instructions. */
bool legalize_function(struct nvm_function *f);
/* Makes aliases of aliases stand for what these stand for. */
void legalize_aliases(struct nvm_module *m);

/* --- phi.c, function.c ------------------------------------------------------------------------ */
/* Prepares phi_copy_edge for the function. */
bool phi_plan(struct lower *l);
/* coalesce.c: shares registers between phis and what they take. */
void coalesce_function(struct lower *l);
/* Whether the edge from → to needs any copy. */
bool phi_edge_needs_copies(struct lower *l, struct nvm_block from, struct nvm_block to);
/* The copies for the edge from → to, as if done at once. True if any was emitted. */
bool phi_copy_edge(struct lower *l, struct nvm_block from, struct nvm_block to);
bool phi_in_block(const struct lower *l, struct nvm_block b);
void switch_lower(struct lower *l, const struct nvm_inst *i); /* switch.c */
/* Lowers one function definition and appends its text to l->out. */
enum nvm_status function_lower(struct lower *l, struct nvm_function *f);

/* --- params.c --------------------------------------------------------------------------------- */

/* How a value travels through .param space. */
enum passing_kind {
  PASS_NOTHING, /* no bytes: void, empty structs */
  PASS_SCALAR,  /* one number of `bytes` 4 or 8 (kernels: also 1 and 2) */
  PASS_BYTES,   /* an array of `bytes` bytes aligned to `align` */
};
struct passing {
  enum passing_kind kind;
  uint64_t bytes;
  uint32_t align;
  bool is_byval;          /* what travels is what the pointer points to */
  struct nvm_type type;   /* of what travels */
  uint32_t pointer_align; /* byval: of the caller's object, in bytes */
};
struct parameter {
  struct passing how;
  struct nvm_str name;
};
/* What the ABI depends on: a function, or a call of one. */
struct abi {
  struct nvm_value function; /* VALUE_NULL: only known by its type */
  struct nvm_type type;      /* TY_FUNCTION */
  const struct attrlist_info *attributes;
  struct nvm_meta call_align; /* !callalign of a call */
};
struct abi abi_of_function(const struct lower *l, struct nvm_value function);
struct passing abi_result(struct lower *l, const struct abi *abi);
struct passing abi_param(struct lower *l, const struct abi *abi, uint32_t i);
/* The attribute of parameter i, or NULL; of the result for ABI_RESULT. */
enum { ABI_RESULT = UINT32_MAX };
const struct nvm_attr *abi_attr(const struct lower *l, const struct abi *abi, uint32_t i,
                                enum attr_id id);
/* The .param variable of a device function's parameter or result. */
struct ptx_variable abi_variable(const struct passing *p, struct nvm_str name);
/* A variadic function has the pointer to the area of its further arguments as its last parameter.
 */
struct passing abi_variadic_area(const struct lower *l);
/* Where the .param variable lies. */
static inline struct address abi_address(const struct passing *p, struct nvm_str name) {
  return (struct address){ptx_at_symbol(name, 0), PTX_MOD_PARAM, p->align};
}
/* Values into and out of the .param variable `name`. `value` has the parts of p->type. */
void abi_store(struct lower *l, const struct passing *p, struct nvm_str name,
               const struct ptx_operand *value, bool is_signed);
void abi_load(struct lower *l, const struct passing *p, struct nvm_str name,
              const struct ptx_reg *to);
/* All parts of an operand, in the function arena; NULL when out of memory. */
const struct ptx_operand *value_operands(struct lower *l, struct nvm_value v);
/* A byval object into or out of .param of a call or a device function, which is addressed by
 * constants only: without a loop. */
void abi_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes);
/* `beforeword7`, unless a symbol has that name. */
struct nvm_str abi_numbered_name(struct lower *l, const char *before, const char *word, uint32_t n);
/* Whether `.noreturn` can be written without asking for a later PTX version. */
bool abi_may_write_noreturn(const struct lower *l);

/* The PTX header of a function, that of l->symbol: parameters, results, performance directives; for
 * definitions and declarations alike. */
void params_signature(struct lower *l, const struct nvm_function *f, struct ptx_function *pf);
/* Chooses the block in which each argument that is used is read; false when out of memory. */
bool params_plan(struct lower *l);
/* Those of block b, into registers (or copies of them into local memory). */
void params_read(struct lower *l, struct nvm_block b);
void params_lower_ret(struct lower *l, const struct nvm_inst *i);
/* What llvm.va_start stores: the address of the further arguments. */
struct ptx_reg params_variadic_area(struct lower *l);
/* Whether a pointer is based on a byval parameter that is read in place; its address is then one in
 * .param. If it is the parameter itself, *name is set. */
void byval_plan(struct lower *l, uint32_t count);
bool byval_in_place(const struct lower *l, struct nvm_value pointer, struct nvm_str *name);

/* --- directive.c ------------------------------------------------------------------------------ */

/* `.maxntid` and its like, from annotations and attributes; refuses what the target lacks. */
void directive_read(struct lower *l, const struct nvm_function *f, struct ptx_function *pf);
/* Whether a kernel's byval parameter is marked as never written, so that its address can be taken.
 */
bool directive_is_grid_constant(struct lower *l, const struct nvm_function *f, uint32_t argument);

/* --- call.c ----------------------------------------------------------------------------------- */
void call_lower(struct lower *l, const struct nvm_inst *i);
void call_lower_va_arg(struct lower *l, const struct nvm_inst *i);

/* --- annotation.c ----------------------------------------------------------------------------- */
bool annotation_read_all(struct lower *l);
/* The pairs of a function or variable, in order; NULL at the end. */
const struct annotation *annotation_first(const struct lower *l, struct nvm_value symbol);
const struct annotation *annotation_next(const struct lower *l, const struct annotation *a);
bool annotation_is(const struct lower *l, const struct annotation *a, const char *key);
/* The number that metadata is, of an annotation or another list; false if it is none. */
bool annotation_metadata_number(const struct lower *l, struct nvm_meta meta, uint64_t *value);
/* The first number under `key`; false if there is none. */
bool annotation_number(const struct lower *l, struct nvm_value symbol, const char *key,
                       uint64_t *value);

/* --- names.c, initializer.c, global.c, module.c ----------------------------------------------- */
/* Legal, unique, deterministic PTX names for all functions and globals. */
bool names_assign(struct lower *l);
/* The name of the symbol, or of what it is an alias of. */
struct nvm_str names_of_symbol(const struct lower *l, struct nvm_value global_or_function);
/* What an alias stands for in the end (a symbol or an expression); other values as they are. */
struct nvm_value names_resolve_alias(const struct lower *l, struct nvm_value symbol);
/* A name for something in a function: this one, unless a symbol of the module has it. */
struct nvm_str names_of_local(struct lower *l, const char *name);

/* A constant as a number, or an address plus a number. */
struct constant_value {
  struct nvm_value symbol; /* a variable or function, or VALUE_NULL */
  bool generic;            /* generic(symbol) */
  uint32_t bits;           /* how many low bits of the sum count */
  nvm_u128 number;
};

/* The bytes of an initializer: numbers and, over them, addresses in ascending order. */
struct image_address {
  uint64_t offset; /* bytes */
  uint32_t bytes;  /* how many of the address count */
  struct constant_value value;
};
struct image {
  struct textbuf bytes; /* zeros beyond its end */
  VEC(struct image_address) addresses;
  const char *failure; /* why it can't be initialized so; NULL: it can */
};
/* In the function arena; of VALUE_NULL it is empty. */
void initializer_image(struct lower *l, struct nvm_value initializer, struct image *out);

/* All variables of the module in an order in which none is used before its definition. `used`: by
 * global, whether anything refers to it. */
enum nvm_status global_write_all(struct lower *l, const bool *used);
/* Lists for the compiler itself: llvm.used, llvm.global.annotations and such. */
bool global_is_for_compiler(const struct lower *l, const struct nvm_global *g);
/* The address space a global lives in: address space 0 variables are placed in .global. */
uint16_t global_space(const struct nvm_global *g);
/* Where the current instruction, or else the function, stands in the source. */
struct diag_range report_place(const struct lower *l);
/* Reports a warning, or what its policy makes of it, at the current instruction; `text` is its %0.
 */
struct diag *report_warn(struct lower *l, enum diag_id id, struct nvm_text text);
/* Refuses with the symbol's name and place; in the words of
 * DIAG_CANNOT_LOWER_SYMBOL. */
void report_error(struct lower *l, enum diag_id id, struct nvm_text text);
void report_refuse_symbol(struct lower *l, const struct symbol *s, const char *what,
                          const char *detail);
/* Reports if the target lacks what `what` requires; else raises l->ptx_needed. */
bool report_require(struct lower *l, enum tgt_need need, const char *what);

/* --- debug.c ---------------------------------------------------------------------------------- */
/* `.loc` before an instruction of which the place differs from the one before; only with -g. */
void debug_write_location(struct lower *l, struct nvm_inst_id i);
/* The names of inlined functions that .loc lines refer to, behind all functions. */
void debug_write_inlined_names(struct lower *l);

/* --- verbose.c: comments, only with --asm-verbose -----------------------------------------------
 */
bool verbose_plan(struct lower *l);
/* Which loop a block is in, behind its label. */
void verbose_block(struct lower *l, struct nvm_block b);
/* The IR instruction, before its PTX; returns where the comment stands, for verbose_inst_end(),
 * which takes it away if nothing followed. */
uint32_t verbose_inst(struct lower *l, struct nvm_inst_id i);
void verbose_inst_end(struct lower *l, uint32_t before);

/* --- tidy.c ----------------------------------------------------------------------------------- */
/* Removes the copies that the entries since `from` end with; registers numbered above first_temp of
 * their class are temporaries of these entries. */
void tidy_copies(struct lower *l, uint32_t from, const uint32_t first_temp[PTX_CLASS_COUNT]);

/* --- pairs.c ---------------------------------------------------------------------------------- */
/* Lanes of float that .f32x2 takes two at a time get registers of 64 bits, where that saves movs.
 */
void pairs_widen_registers(struct lower *l);

/* --- intrinsic.c, asm.c ----------------------------------------------------------------------- */
/* A call whose callee is an intrinsic; a call of inline asm. */
void intrinsic_lower(struct lower *l, const struct nvm_inst *i, enum intrinsic_id id);
void asm_lower(struct lower *l, const struct nvm_inst *i);
bool asm_is_callee(const struct lower *l, struct nvm_value callee);
/* For each result of a call of inline assembly the argument that is tied to it, or UINT32_MAX; in
 * the function arena. NULL: the constraints are wrong, or there is no memory. */
uint32_t *asm_ties(struct lower *l, const struct nvm_inst *i);

/* Makes the PTX instruction check for what was emitted since entry `from`; reports what the target
 * lacks. Called once per IR instruction. */
void report_unsupported(struct lower *l, uint32_t from);

#endif
