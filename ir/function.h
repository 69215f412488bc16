/* Functions: blocks and instructions, all in flat tables indexed by handle.
 *
 * Blocks, and the instructions of a block, are doubly linked lists, so insertion and removal take
 * constant time. Ids never change and are not reused while a pass runs. Removed instructions keep
 * their slot, with block 0, and removed blocks theirs, until rewrite_compact() of opt/. Parallel
 * tables hold what only some readers need. */
#ifndef NVM_IR_FUNCTION_H
#define NVM_IR_FUNCTION_H

#include "ir/module.h"

struct nvm_inst {
  uint16_t op;            /* enum op */
  uint16_t flags;         /* INST_, CALL_TAIL_, ALLOCA_ */
  struct nvm_type type;   /* of the result; TYPE_VOID: none */
  struct nvm_block block; /* {0}: removed */
  struct nvm_inst_id previous, next;
  uint32_t first_operand; /* into function->operands */
  uint32_t operand_count;
  uint32_t aux; /* by op: ALLOCA, GEP: a type; LOAD…ATOMICRMW: memory_access; ICMP, FCMP:
                   predicate; CALL: call site; DBG_RECORD: dbg_kind; VA_ARG: unused */
};
_Static_assert(sizeof(struct nvm_inst) <= 32, "an instruction is 32 bytes plus 4 per operand");

struct nvm_block_info {
  struct nvm_inst_id first, last;
  struct nvm_block previous, next; /* layout order; the entry block comes first */
  struct nvm_str name;             /* 0: numbered */
  bool removed;
};

struct nvm_function {
  struct symbol symbol;
  struct nvm_module *module;
  struct nvm_type type; /* TY_FUNCTION */
  uint32_t convention;
  uint32_t address_space;
  uint8_t align_log2;
  struct nvm_attrlist attributes;
  uint32_t intrinsic; /* enum intrinsic_id (ir/intrinsic.h), 0: not an intrinsic */
  struct nvm_str gc;
  struct nvm_value prefix, prologue, personality;

  VEC(struct nvm_inst) insts; /* [0]: dummy */
  VEC(struct nvm_value) operands;
  VEC(struct nvm_block_info) blocks; /* [0]: dummy */
  struct nvm_block entry, last_block;
  uint32_t removed, removed_blocks; /* removed instructions and blocks still in the tables */
  struct nvm_str *arg_names;        /* one per parameter, or NULL */
  /* Parallel to insts, with its count and at least its capacity. */
  VEC(uint32_t) uses; /* number of operands that refer to the instruction */
  VEC(struct nvm_str) names;
  VEC(struct nvm_meta) locations; /* !dbg */
  VEC(uint32_t) attachments;      /* chains in module->attachments */
  VEC(uint32_t) positions;        /* byte offset in the source, low 32 bits; 0: made by a pass */
  struct nvm_text packed;         /* ir/pack.h: empty, or all of the tables, which are empty then */
};

/* Empties the tables and releases large ones. */
void function_clear(struct nvm_function *f);
/* Turns a definition into a declaration. */
void function_drop_body(struct nvm_function *f);
/* Reserves room for a total of instructions and operands; false when out of memory. */
bool function_reserve(struct nvm_function *f, uint64_t insts, uint64_t operands);
/* Drops the instructions from `count` on, which must have no uses. */
void function_truncate(struct nvm_function *f, uint32_t count);
/* Releases the unused room of large tables. */
void function_shrink(struct nvm_function *f);

/* Number of parameters and the type of parameter i. */
uint32_t function_arg_count(const struct nvm_function *f);
struct nvm_type function_arg_type(const struct nvm_function *f, uint32_t i);
struct nvm_type function_result_type(const struct nvm_function *f);
static inline bool function_is_declaration(const struct nvm_function *f) {
  return f->entry.index == 0;
}
/* Kernel by calling convention or by !nvvm.annotations (which the front end turns into
 * CC_PTX_KERNEL when it has read the file). */
static inline bool function_is_kernel(const struct nvm_function *f) {
  return f->convention == CC_PTX_KERNEL || f->convention == CC_SPIR_KERNEL;
}
/* Whether the function's attributes flush f32 denormals to zero. */
bool function_flushes_f32(const struct nvm_function *f);

static inline struct nvm_inst *function_inst(const struct nvm_function *f, struct nvm_inst_id i) {
  return &f->insts.data[i.index];
}
static inline struct nvm_block_info *function_block(const struct nvm_function *f,
                                                    struct nvm_block b) {
  return &f->blocks.data[b.index];
}
static inline struct nvm_value inst_operand(const struct nvm_function *f, const struct nvm_inst *i,
                                            uint32_t k) {
  return f->operands.data[i->first_operand + k];
}
/* The same, by instruction id. */
static inline struct nvm_value inst_operand_at(const struct nvm_function *f, struct nvm_inst_id i,
                                               uint32_t k) {
  return inst_operand(f, function_inst(f, i), k);
}
static inline bool block_is_none(struct nvm_block b) { return b.index == 0; }
static inline bool inst_is_none(struct nvm_inst_id i) { return i.index == 0; }

/* The handle in a value that must be an instruction, or a block. */
static inline struct nvm_inst_id value_inst_id(struct nvm_value v) {
  return (struct nvm_inst_id){value_index(v)};
}
static inline struct nvm_block value_block(struct nvm_value v) {
  return (struct nvm_block){value_index(v)};
}
/* The instruction that computes v, NULL for other values; the same, restricted to one op. */
static inline const struct nvm_inst *value_inst(const struct nvm_function *f, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? &f->insts.data[value_index(v)] : NULL;
}
static inline const struct nvm_inst *value_inst_of(const struct nvm_function *f, struct nvm_value v,
                                                   enum op op) {
  const struct nvm_inst *i = value_inst(f, v);
  return i && i->op == op ? i : NULL;
}

/* The type of any value as an operand in f. */
struct nvm_type function_type_of(const struct nvm_function *f, struct nvm_value v);
static inline struct nvm_type value_type(const struct nvm_function *f, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? f->insts.data[value_index(v)].type : function_type_of(f, v);
}

/* A new block at the end of the layout. {0} when out of memory. */
struct nvm_block function_add_block(struct nvm_function *f, struct nvm_str name);
/* Moves b before `before` in the layout; {0}: to the end. */
void function_move_block(struct nvm_function *f, struct nvm_block b, struct nvm_block before);
/* Removes a block and its instructions; nothing may refer to them. */
void function_remove_block(struct nvm_function *f, struct nvm_block b);

/* A new instruction, not yet in a block; operands are copied and their uses counted.
 * {0} when out of memory. */
struct nvm_inst_id function_add_inst(struct nvm_function *f, enum op op, uint16_t flags,
                                     struct nvm_type type, const struct nvm_value *operands,
                                     uint32_t count, uint32_t aux);
/* Inserts i at the end of b, or before the instruction `before` in its block. */
void inst_append(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block b);
void inst_insert_before(struct nvm_function *f, struct nvm_inst_id i, struct nvm_inst_id before);
/* Takes i out of its block but keeps it; deletes it and its uses of operands. */
void inst_unlink(struct nvm_function *f, struct nvm_inst_id i);
void inst_remove(struct nvm_function *f, struct nvm_inst_id i);
void inst_set_operand(struct nvm_function *f, struct nvm_inst_id i, uint32_t k, struct nvm_value v);
/* Appends one operand (phi, switch); false when out of memory. */
bool inst_add_operand(struct nvm_function *f, struct nvm_inst_id i, struct nvm_value v);
/* Removes operands k..k+count-1, keeping the order of the rest. */
void inst_remove_operands(struct nvm_function *f, struct nvm_inst_id i, uint32_t k, uint32_t count);

/* The terminator of b, or {0}. */
static inline struct nvm_inst_id block_terminator(const struct nvm_function *f,
                                                  struct nvm_block b) {
  struct nvm_inst_id last = function_block(f, b)->last;
  bool found = !inst_is_none(last) && op_is_terminator((enum op)function_inst(f, last)->op);
  return found ? last : (struct nvm_inst_id){0};
}
/* The number of successors of b, with repetitions, and successor k in operand order. */
static inline uint32_t block_successor_count(const struct nvm_function *f, struct nvm_block b) {
  const struct nvm_inst *t = function_inst(f, function_block(f, b)->last);
  return t->op == OP_BR       ? 1
         : t->op == OP_CONDBR ? 2
         : t->op == OP_SWITCH ? t->operand_count / 2
                              : 0;
}
static inline struct nvm_block block_successor(const struct nvm_function *f, struct nvm_block b,
                                               uint32_t k) {
  const struct nvm_inst *t = function_inst(f, function_block(f, b)->last);
  uint32_t operand = t->op == OP_BR ? k : t->op == OP_CONDBR ? k + 1 : 2 * k + 1;
  return (struct nvm_block){value_index(inst_operand(f, t, operand))};
}

/* Inserts i at the start of b, which may be empty. */
void inst_prepend(struct nvm_function *f, struct nvm_inst_id i, struct nvm_block b);
/* The first instruction of b that is not a phi. */
struct nvm_inst_id block_first_after_phis(const struct nvm_function *f, struct nvm_block b);
/* The only value of a phi besides itself, or of a few phis that read each other, besides these;
 * VALUE_NULL if there are several. Undef and poison count as values: the other value might not
 * dominate their edges. */
struct nvm_value phi_single_value(const struct nvm_function *f, struct nvm_inst_id i);
/* The !range of an instruction of scalar integer type: pairs of numbers for meta_is_int(), the
 * begin of an interval and its end, which is not in it. If the end is not above the begin, the
 * interval wraps. NULL: none. */
const struct meta_node *inst_range(const struct nvm_function *f, const struct nvm_inst *i);
/* The value of a phi on the edge from block b; VALUE_NULL if there is none. */
struct nvm_value phi_incoming(const struct nvm_function *f, struct nvm_inst_id phi,
                              struct nvm_block b);
/* Adds an entry to a phi: v from block `from`. False when out of memory. */
bool phi_add(struct nvm_function *f, struct nvm_inst_id phi, struct nvm_value v,
             struct nvm_block from);

/* The variable of an alloca: whether it is one element, its size in bytes (0 unless it is one
 * element of a sized type), its alignment in bytes. */
bool alloca_is_single(const struct nvm_function *f, const struct nvm_inst *i);
uint64_t alloca_bytes(const struct nvm_function *f, const struct nvm_inst *i);
uint32_t alloca_align(const struct nvm_function *f, const struct nvm_inst *i);

/* Calls: the callee (last operand), number of arguments, the call site record. */
static inline struct nvm_value call_callee(const struct nvm_function *f, const struct nvm_inst *i) {
  return inst_operand(f, i, i->operand_count - 1);
}
static inline const struct call_site *call_site_of(const struct nvm_function *f,
                                                   const struct nvm_inst *i) {
  return &f->module->call_sites.data[i->aux];
}
/* Arguments without bundle operands. */
uint32_t call_arg_count(const struct nvm_function *f, const struct nvm_inst *i);
/* The alignment in bytes that a memcpy, memmove or memset states for argument k. */
uint64_t call_copy_align(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k);
/* The alignment that an attribute of argument k of a call states; 1 if none does. */
uint64_t call_argument_align(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k);
/* Whether a memcpy, memmove or memset is volatile. */
bool call_copy_is_volatile(const struct nvm_function *f, const struct nvm_inst *i);

/* The function that i calls directly, or NULL; the id of the intrinsic that i calls, or 0. */
static inline struct nvm_function *call_function(const struct nvm_function *f,
                                                 const struct nvm_inst *i) {
  struct nvm_value v = i->op == OP_CALL ? call_callee(f, i) : VALUE_NULL;
  return value_kind(v) == VALUE_FUNCTION ? module_function(f->module, v) : NULL;
}
static inline uint32_t call_intrinsic(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_function *g = call_function(f, i);
  return g ? g->intrinsic : 0;
}
/* An attribute of the function, of its parameter k, or of the call; NULL: none. */
const struct nvm_attr *function_attribute(const struct nvm_function *f, enum attr_id id);
const struct nvm_attr *function_parameter_attribute(const struct nvm_function *f, uint32_t k,
                                                    enum attr_id id);
const struct nvm_attr *call_attribute(const struct nvm_function *f, const struct nvm_inst *i,
                                      enum attr_id id);
/* A string attribute of the function, such as "target-cpu", or of its parameter k; NULL: none. */
const struct nvm_attr *function_string_attribute(const struct nvm_function *f, const char *key);
const struct nvm_attr *function_parameter_string(const struct nvm_function *f, uint32_t k,
                                                 const char *key);

/* The operand that is the address of a load, store or atomic access; UINT32_MAX for other
 * instructions. */
static inline uint32_t inst_address_operand(const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_LOAD:
    case OP_ATOMICRMW:
    case OP_CMPXCHG: return 0;
    case OP_STORE: return 1;
    default: return UINT32_MAX;
  }
}

/* Iteration: for (struct nvm_block b = f->entry; !block_is_none(b); b = function_block(f, b)->next)
 * and for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i);
 *          i = function_inst(f, i)->next) */
#define FOR_EACH_BLOCK(f, b) \
  for (struct nvm_block b = (f)->entry; b.index != 0; b = (f)->blocks.data[b.index].next)
#define FOR_EACH_INST(f, b, i)                                                 \
  for (struct nvm_inst_id i = (f)->blocks.data[(b).index].first; i.index != 0; \
       i = (f)->insts.data[i.index].next)
/* The phis of b, which come first. */
#define FOR_EACH_PHI(f, b, i)                                    \
  for (struct nvm_inst_id i = (f)->blocks.data[(b).index].first; \
       i.index != 0 && (f)->insts.data[i.index].op == OP_PHI; i = (f)->insts.data[i.index].next)

#endif
