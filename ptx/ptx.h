/* PTX as data: what codegen builds, the parser reads, the printer writes, the checker checks and
 * the simulator executes.
 *
 * An instruction is an op (a row of ops.def), its modifiers in order (words of mods.def: types,
 * rounding, state spaces, scopes …) and its operands. No strings anywhere, so that all readers see
 * the same thing. A function's instructions are in one array, in order; labels, calls with their
 * parameters and debug lines are entries of that array too. */
#ifndef NVM_PTX_PTX_H
#define NVM_PTX_PTX_H

#include "support/diag.h"
#include "support/status.h"
#include "ptx_ops.h" /* generated from ops.def: enum ptx_op { PTX_NONE, PTX_ABS, …, PTX_OP_COUNT },
                        enum ptx_mod { PTX_MOD_NONE, PTX_MOD_F32 (".f32"), … , PTX_MOD_COUNT } */

/* Register classes; a register's name is its class's prefix and its number. */
enum ptx_class {
  PTX_PRED, /* %p */
  PTX_B16,  /* %rs: 8- and 16-bit integers, half, bfloat */
  PTX_B32,  /* %r: 32-bit integers, packed pairs */
  PTX_B64,  /* %rd */
  PTX_F32,  /* %f */
  PTX_F64,  /* %fd */
  PTX_B128, /* %rq */
  PTX_B8,   /* %rb: only of text that has such registers; codegen keeps bytes in PTX_B16 */
  PTX_CLASS_COUNT,
};

enum { PTX_REG_CLASS_SHIFT = 28 };

/* A virtual register: class << 28 | number; numbers start at 1. {0}: none. */
struct ptx_reg {
  uint32_t bits;
};
static inline struct ptx_reg ptx_reg_make(enum ptx_class c, uint32_t number) {
  return (struct ptx_reg){(uint32_t)c << PTX_REG_CLASS_SHIFT | number};
}
static inline enum ptx_class ptx_reg_class(struct ptx_reg r) {
  return (enum ptx_class)(r.bits >> PTX_REG_CLASS_SHIFT);
}
static inline uint32_t ptx_reg_number(struct ptx_reg r) {
  return r.bits & ((UINT32_C(1) << PTX_REG_CLASS_SHIFT) - 1);
}
static inline bool ptx_reg_is_none(struct ptx_reg r) { return r.bits == 0; }

enum ptx_operand_kind {
  PTX_OPERAND_NONE,        /* `_`, the sink */
  PTX_OPERAND_REG,         /* reg; negated: `!%p1` or, in inline text, `-%r1`; count: a selector, as
                              `%r1.h0`; 0: none */
  PTX_OPERAND_INT,         /* imm: printed in decimal, signed */
  PTX_OPERAND_F32,         /* imm: bits, printed 0fXXXXXXXX */
  PTX_OPERAND_F64,         /* imm: bits, printed 0dXXXXXXXXXXXXXXXX */
  PTX_OPERAND_SYMBOL,      /* symbol + imm: a variable, parameter or function; as a value */
  PTX_OPERAND_LABEL,       /* label */
  PTX_OPERAND_SPECIAL,     /* special: %tid.x … (enum ptx_special); */
  PTX_OPERAND_ADDRESS_REG, /* [reg + imm] */
  PTX_OPERAND_ADDRESS_SYMBOL, /* [symbol + imm] */
  PTX_OPERAND_ADDRESS_IMM,    /* [imm] */
  /* From here on groups: `count` operands from `first` in the operand pool. */
  PTX_OPERAND_VECTOR, /* { a, b, … } */
  PTX_OPERAND_TENSOR, /* [a, {b, c}] or [a, {b, c}, d…] */
  PTX_OPERAND_LIST,   /* ( a, b ): the parameter lists of call */
  PTX_OPERAND_PAIR,   /* a|b: two (setp, shfl: d|p) */
};

struct ptx_operand {
  uint8_t kind; /* enum ptx_operand_kind */
  bool negated;
  uint16_t count;
  union {
    struct ptx_reg reg;
    struct nvm_str symbol;
    uint32_t label;   /* struct ptx_label index */
    uint32_t special; /* enum ptx_special */
    uint32_t first;
  };
  int64_t imm;
};
/* Selectors of video instructions, in `count` of a register: `.b` or `.h`, one to four octal
 * digits, as written. */
enum { PTX_SELECTOR = 0x8000, PTX_SELECTOR_HALVES = 0x4000, PTX_SELECTOR_DIGITS_SHIFT = 12 };

_Static_assert(sizeof(struct ptx_operand) == 16, "operands are copied around");

/* Entries of a body. */
enum ptx_entry_kind {
  PTX_INST,  /* an instruction */
  PTX_LABEL, /* `name:`; label in a */
  PTX_LOC,   /* `.loc file line column`: file in a; operands: INT line, INT column and, if it is
                inlined, SYMBOL function_name, INT file, INT line, INT column; ptx_add_loc() */
  PTX_SCOPE_BEGIN, /* `{` … */
  PTX_SCOPE_END,   /* `}` */
  PTX_LOCAL_VAR, /* `.param .b32 retval0;`, `.local .align 8 .b8 __local_depot[16];`: variable in a
                  */
  PTX_PROTOTYPE, /* `.callprototype`: a: index into module->prototypes, whose name is the label */
  PTX_BRANCHTARGETS, /* `.branchtargets`: label in a; `line` operands, labels, from b */
  PTX_PRAGMA,        /* `.pragma "text";`: text in a */
  PTX_RAW,     /* inline assembly that the parser does not accept, printed as it is: text in a */
  PTX_COMMENT, /* `// text`, only with --asm-verbose: text in a */
};

struct ptx_entry {
  uint8_t kind;          /* enum ptx_entry_kind */
  uint8_t mod_count;     /* PTX_INST */
  uint8_t operand_count; /* PTX_INST: destinations first, as written */
  bool guard_negated;
  uint16_t op;            /* PTX_INST: enum ptx_op */
  bool must_stay;         /* of inline assembly with side effects, or a label of inline assembly */
  struct ptx_reg guard;   /* PTX_INST: `@%p1`, {0}: none */
  uint32_t first_mod;     /* PTX_INST: into function->mods. Others: payload a */
  uint32_t first_operand; /* PTX_INST: into function->operands. Others: payload b */
  uint32_t line; /* of the source: a byte offset of IR text or a line of PTX text; 0: none */
};

/* A variable of any state space, at module level, in a function, or a parameter. */
struct ptx_variable {
  struct nvm_str name;
  uint16_t space;   /* enum ptx_mod: PTX_MOD_GLOBAL, SHARED, CONST, LOCAL, PARAM, REG */
  uint16_t type;    /* enum ptx_mod: PTX_MOD_B8 …; element type */
  uint16_t vector;  /* 0, or PTX_MOD_V2, PTX_MOD_V4 */
  uint16_t linkage; /* 0, PTX_MOD_VISIBLE, PTX_MOD_EXTERN, PTX_MOD_WEAK, PTX_MOD_COMMON */
  uint32_t align;   /* bytes; 0: not written */
  bool is_array;
  bool is_unsized;    /* `name[]` */
  bool managed;       /* .attribute(.managed) */
  uint64_t count;     /* elements if is_array */
  uint16_t ptr_space; /* parameters: `.ptr .global`: PTX_MOD_GLOBAL…, 0: no .ptr or generic */
  bool is_ptr;        /* parameters: `.ptr` written */
  uint32_t ptr_align; /* `.align` after `.ptr`; bytes */
  struct ptx_reg reg; /* PTX_MOD_REG parameters of parsed text */
  uint32_t first_init, init_count; /* into module->inits; 0 count: no initializer */
  const unsigned char *bytes; /* instead: `init_count` one-byte numbers; borrowed. Long tables would
                                 take 24 bytes per element. NULL: none */
};

/* One initializer element: a number of the variable's type, or an address; of samplers two for each
 * property, `addr_mode_0 = wrap`. */
struct ptx_init {
  uint64_t bits;         /* number, or addend */
  struct nvm_str symbol; /* 0: a number */
  bool is_property;      /* `symbol =`, and the next element is its value */
  bool generic;          /* generic(symbol) */
  uint8_t mask_byte;     /* 0xFF(symbol)-style: 1 + index of the byte taken; 0: whole */
};

enum ptx_linkage_flag {
  PTX_FUNC_VISIBLE = 1,
  PTX_FUNC_EXTERN = 2,
  PTX_FUNC_WEAK = 4,
  PTX_FUNC_NORETURN = 8
};

/* `.maxntid 128, 1, 1` and the like. */
struct ptx_performance {
  uint32_t maxntid[3], reqntid[3], cluster_dim[3]; /* [0] == 0: not given */
  uint32_t minnctapersm, maxnreg, maxclusterrank;  /* 0: not given */
  bool explicit_cluster, blocks_are_clusters;
};

struct ptx_prototype {
  struct nvm_str name;                 /* label of the .callprototype, local to the function */
  uint32_t first_result, result_count; /* into module->variables */
  uint32_t first_param, param_count;
  bool noreturn;
};

struct ptx_function {
  struct ptx_module *module;
  struct nvm_str name;
  bool is_entry;
  bool is_declaration;
  uint8_t flags; /* enum ptx_linkage_flag */
  struct ptx_performance performance;
  struct arena *arena;             /* owns the tables below; the function arena in codegen */
  VEC(struct ptx_variable) params; /* results first */
  uint32_t result_count;
  VEC(struct ptx_entry) entries;
  VEC(uint16_t) mods; /* enum ptx_mod */
  VEC(struct ptx_operand) operands;
  VEC(struct ptx_variable) variables;  /* of PTX_LOCAL_VAR entries */
  VEC(struct nvm_str) labels;          /* names; [0]: dummy */
  VEC(struct nvm_text) texts;          /* of PTX_PRAGMA, PTX_RAW, PTX_COMMENT */
  uint32_t reg_count[PTX_CLASS_COUNT]; /* highest number in use */
};

/* `.alias name, aliasee;`: a second name of a function that the module defines. */
struct ptx_alias {
  struct nvm_str name, aliasee;
};

/* `.file 1 "name"`. */
struct ptx_file {
  struct nvm_str name;
};

struct ptx_module {
  struct arena *arena;
  struct strtab *strings;   /* borrowed */
  uint32_t ptx_version;     /* 90 for 9.0 */
  struct nvm_str target;    /* "sm_90a" */
  bool debug;               /* `.target sm_90, debug` */
  bool texmode_independent; /* likewise: samplers are variables of their own */
  uint32_t address_size;    /* bits */
  VEC(struct ptx_variable) variables;
  VEC(struct ptx_init) inits;
  VEC(struct ptx_prototype) prototypes;
  VEC(struct ptx_function *) functions;
  VEC(struct ptx_alias) aliases;
  VEC(struct nvm_str) files;
};

/* --- building --------------------------------------------------------------------------------- */

/* An empty function of the module; `arena` is borrowed and owns what is added. */
void ptx_function_init(struct ptx_function *f, struct ptx_module *m, struct arena *arena);
/* Reserves memory for what so many IR instructions usually become. */
void ptx_expect(struct ptx_function *f, uint32_t instructions);
/* The next free register of the class. */
struct ptx_reg ptx_new_reg(struct ptx_function *f, enum ptx_class c);
/* A new label, printed as in print.h. 0 when out of memory. */
uint32_t ptx_new_label(struct ptx_function *f, struct nvm_str name);
void ptx_add_label(struct ptx_function *f, uint32_t label);

/* Appends `op mods operands;`. `mods` ends with PTX_MOD_NONE (or NULL). */
void ptx_add(struct ptx_function *f, enum ptx_op op, const uint16_t *mods,
             const struct ptx_operand *operands, uint32_t count);
/* The same under a guard. */
void ptx_add_guarded(struct ptx_function *f, struct ptx_reg guard, bool negated, enum ptx_op op,
                     const uint16_t *mods, const struct ptx_operand *operands, uint32_t count);

#define PTX_MODS(...) ((const uint16_t[]){__VA_ARGS__, PTX_MOD_NONE})
#define PTX_OPS(...)                           \
  ((const struct ptx_operand[]){__VA_ARGS__}), \
      (uint32_t)(sizeof((const struct ptx_operand[]){__VA_ARGS__}) / sizeof(struct ptx_operand))

static inline struct ptx_operand ptx_r(struct ptx_reg r) {
  return (struct ptx_operand){.kind = PTX_OPERAND_REG, .reg = r};
}
static inline struct ptx_operand ptx_i(int64_t value) {
  return (struct ptx_operand){.kind = PTX_OPERAND_INT, .imm = value};
}
static inline struct ptx_operand ptx_f32(uint32_t bits) {
  return (struct ptx_operand){.kind = PTX_OPERAND_F32, .imm = bits};
}
static inline struct ptx_operand ptx_f64(uint64_t bits) {
  return (struct ptx_operand){.kind = PTX_OPERAND_F64, .imm = (int64_t)bits};
}
static inline struct ptx_operand ptx_symbol(struct nvm_str name, int64_t offset) {
  return (struct ptx_operand){.kind = PTX_OPERAND_SYMBOL, .symbol = name, .imm = offset};
}
static inline struct ptx_operand ptx_label(uint32_t label) {
  return (struct ptx_operand){.kind = PTX_OPERAND_LABEL, .label = label};
}
static inline struct ptx_operand ptx_special_reg(uint32_t special) {
  return (struct ptx_operand){.kind = PTX_OPERAND_SPECIAL, .special = special};
}
static inline struct ptx_operand ptx_at(struct ptx_reg base, int64_t offset) {
  return (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS_REG, .reg = base, .imm = offset};
}
static inline struct ptx_operand ptx_at_symbol(struct nvm_str name, int64_t offset) {
  return (struct ptx_operand){.kind = PTX_OPERAND_ADDRESS_SYMBOL, .symbol = name, .imm = offset};
}
/* A composite operand (VECTOR, TENSOR, LIST, PAIR) of `count` operands, copied. */
struct ptx_operand ptx_group(struct ptx_function *f, enum ptx_operand_kind kind,
                             const struct ptx_operand *operands, uint32_t count);
/* A local variable entry (`.param .align 8 .b8 x[16];`). */
void ptx_add_variable(struct ptx_function *f, struct ptx_variable v);
/* An entry of a kind without its own builder (SCOPE_BEGIN/END, LOC, PROTOTYPE…). */
void ptx_add_entry(struct ptx_function *f, struct ptx_entry e);
/* `.loc`; `function_name` {0} if not inlined, else inlined at (file, line, column)[1]. */
void ptx_add_loc(struct ptx_function *f, struct nvm_str function_name, const uint32_t file[2],
                 const uint32_t line[2], const uint32_t column[2]);
/* PTX_RAW, PTX_PRAGMA, PTX_COMMENT: the text is copied. */
void ptx_add_text(struct ptx_function *f, enum ptx_entry_kind kind, struct nvm_text text);

#endif
