/* What the parts of the front end share while one module is read: the scanner, the grammar's
 * semantic values, and the tables of names. Everything hangs on one struct parser, which lives on
 * parse_module()'s stack; its tables are in an arena of its own that goes when parsing ends.
 *
 * Places in the text are byte offsets of 32 bits; parse_module() refuses longer texts. */
#ifndef NVM_FRONTEND_STATE_H
#define NVM_FRONTEND_STATE_H

#include "frontend/parse.h"

/* A token. `begin` and `length` are of its payload: names without sigil and quotes, strings
 * without quotes. */
struct token {
  uint32_t begin, length;
  uint64_t number; /* names: NAME_ or the number; integers: magnitude; words: their value */
};
#define NAME_PLAIN UINT64_C(0xffffffff)   /* the payload is the name */
#define NAME_ESCAPED UINT64_C(0xfffffffe) /* it was quoted and holds \xx */

/* The token of an op holds the words that follow it too: enum op | (INST_ or ACCESS_) << 16. */
enum { ACCESS_VOLATILE = 1, ACCESS_ATOMIC = 2, ACCESS_WEAK = 4 };
static inline enum op token_op(const struct token *t) { return (enum op)(t->number & 0xffff); }
static inline uint16_t token_flags(const struct token *t) { return (uint16_t)(t->number >> 16); }

/* A type as written. `pointee`: of a typed pointer, which is erased to ptr otherwise. */
struct written_type {
  struct nvm_type type;
  struct nvm_type pointee;
  uint32_t begin, end;
};

/* How the text of a floating-point number says its value. */
enum float_spelling {
  SPELLED_DECIMAL, /* 1.5e3 */
  SPELLED_BITS,    /* f0x, 0x, 0xH, 0xR */
  SPELLED_SPECIAL, /* 0x1.8p3, +inf, -qnan, +nan(0x1), +snan(0x1) */
};

/* A value before its type is known. */
enum literal_kind {
  LIT_LOCAL,  /* length, id */
  LIT_GLOBAL, /* length, id */
  LIT_INT,    /* number: magnitude, saturated; the text tells the rest */
  LIT_FLOAT,  /* length, id: enum float_spelling */
  LIT_TRUE,
  LIT_FALSE,
  LIT_NULL,
  LIT_UNDEF,
  LIT_POISON,
  LIT_ZERO,
  LIT_NONE,
  LIT_CSTRING, /* length */
  LIT_ARRAY,
  LIT_VECTOR,
  LIT_STRUCT,
  LIT_PACKED, /* first, count: on the operand stack */
  LIT_CONST,  /* value, type */
  LIT_ASM,    /* value */
  LIT_SPLAT,  /* value, type: of one lane */
};
struct literal {
  uint32_t begin;
  uint32_t kind; /* enum literal_kind */
  union {
    uint64_t number;
    struct {
      uint32_t length;
      uint32_t id; /* NAME_PLAIN, NAME_ESCAPED or the number; enum float_spelling */
    };
    struct {
      uint32_t first, count;
    };
    struct {
      struct nvm_value value;
      struct nvm_type type;
    };
  };
};

static inline struct literal state_name(enum literal_kind kind, const struct token *t) {
  return (struct literal){
      .begin = t->begin, .kind = kind, .length = t->length, .id = (uint32_t)t->number};
}

static inline struct literal state_int(const struct token *t) {
  return (struct literal){.begin = t->begin, .kind = LIT_INT, .number = t->number};
}

/* A value with its type. */
struct operand {
  struct nvm_value value;
  struct nvm_type type;
  struct nvm_type pointee; /* TYPE_LABEL marks a bare number of extractvalue or insertvalue */
  uint32_t begin;
};
static inline bool state_is_index(const struct operand *o) {
  return o->pointee.index == TYPE_LABEL.index;
}

struct list {
  uint32_t first, count; /* on the operand stack */
};

union nvir_value {
  struct token token;
  struct written_type type;
  struct literal literal;
  struct operand operand;
  struct list list;
  struct nvm_meta meta;
  uint32_t number;
};

/* Where a name leads. One slot for every string of the module's string table. */
struct local_slot {
  uint32_t stamp; /* of the function that `value` belongs to */
  struct nvm_value value;
};
struct name_slot {
  struct local_slot local;
  struct nvm_value global;
};

/* A local value used before its definition. forwards[0] stands for names whose definition had an
 * error: it fits everywhere. */
struct forward {
  struct nvm_value value; /* once defined */
  struct nvm_type type;
  uint32_t begin, end; /* of the first use */
};
struct fixup {
  struct nvm_inst_id inst; /* {0}: `operand` indexes the metadata operands */
  uint32_t operand;
};

struct block_use {
  uint32_t begin, end; /* of the first use, or of the definition */
  bool defined;
};

/* Uses of a function or global that are checked at the end of the module. */
struct symbol_use {
  uint32_t begin, end; /* the first use; end 0: none */
  uint32_t space;      /* address space + 1 that it asked for; 0: none */
  uint32_t call_begin, call_end;
};

/* A function's lines, from that of its `define` to its `}`, where both stand in column 0. */
struct body_lines {
  uint32_t begin, end, count;
};

struct argument {
  struct operand operand;
  struct nvm_attrset attributes;
};

/* The words before a function's, variable's or call's type. */
enum {
  PREFIX_LINKAGE = 1,
  PREFIX_SYMBOL = 2,
  PREFIX_CONVENTION = 4,
  PREFIX_ATTRIBUTE = 8,
  PREFIX_FLAG = 16,
  PREFIX_SPACE = 32,
  PREFIX_UNNAMED = 64,
  PREFIX_VARIABLE = 128,
};
struct prefixes {
  uint32_t seen; /* PREFIX_ */
  uint32_t begin;
  uint8_t linkage, visibility, preemption, dll_storage, unnamed_addr, thread_local;
  bool linkage_written, externally_initialized;
  uint16_t flags;
  uint32_t convention, address_space;
};

struct pending_attachment {
  struct nvm_str kind;
  struct nvm_meta node;
};

struct meta_entry {
  struct nvm_str key;
  struct nvm_meta meta;
};

struct attribute_group {
  uint32_t number;
  struct nvm_attrset set;
};

/* A pseudo payload beside enum attr_payload: `#5`, number 5; gone when parsing ends. */
enum { ATTR_GROUP_REFERENCE = 0xff };

struct word {
  const char *text;
  uint64_t key; /* strtab_short_key() of the text */
  uint32_t value;
  int16_t token;
  uint8_t length;
  uint8_t joins; /* enum joined: words that may follow and become part of its token */
};
enum joined { JOIN_NONE, JOIN_FLAGS, JOIN_ACCESS };
enum { WORD_SLOTS = 1024 };

struct parser {
  struct nvm_module *m;
  struct diag_sink *sink;
  uint32_t source;

  /* The scanner. */
  const char *text, *cursor, *limit;
  uint32_t token_begin, token_end; /* the token last handed out, sigils and quotes included */
  bool resync;                     /* the next token is a resynchronization */
  bool at_begin;                   /* the error was at the begin of a statement or definition */
  bool in_body;
  bool stop; /* hand out the end of the text */
  bool refused;
  uint32_t last_resync;
  uint32_t outside; /* of the last T_OUTSIDE token */
  struct nvm_type int_types[TYPE_MAX_INT_BITS + 1];
  struct word *words; /* WORD_SLOTS of them */
  const char *ahead;  /* the word behind the last op, which was looked up already */
  const struct word *ahead_word;

  struct arena scratch;
  VEC(struct operand) stack;
  VEC(struct nvm_value) values; /* operands on their way into a table */
  VEC(struct nvm_type) types;   /* member lists, nested */
  VEC(struct nvm_attr) attributes;
  VEC(struct argument) arguments;
  VEC(struct nvm_attrset) sets;
  VEC(struct operand_bundle) bundles;
  VEC(struct meta_entry) entries;
  VEC(struct pending_attachment) attachments;
  VEC(struct attribute_group) groups;
  VEC(uint32_t) attribute_places; /* by key: an index into attributes (attrs.c) */
  VEC(char) bytes;
  VEC(struct nvm_str) keys;
  VEC(struct nvm_meta) metas;

  /* Names. */
  VEC(struct name_slot) slots;
  VEC(struct local_slot) numbers; /* %N */
  VEC(uint32_t) global_numbers;   /* @N: bits of a struct nvm_value */
  VEC(uint32_t) nodes;            /* !N: index into the module's nodes */
  VEC(uint32_t) node_uses;        /* by node: begin of its first use + 1 */
  VEC(uint32_t) comdats;          /* by string: index + 1 into the module's comdats */
  VEC(uint32_t) comdat_uses;      /* by comdat: begin of its first use + 1 */
  VEC(struct body_lines) bodies;  /* in their order (scan.c) */
  VEC(struct symbol_use) function_uses, global_uses;
  VEC(struct nvm_type) aliased_types; /* by string: what `%T = type i32` means */
  VEC(uint32_t) type_uses;   /* by string: begin of the first use of a type not yet given */
  VEC(uint32_t) type_places; /* by string: begin of the definition + 1 */
  VEC(uint32_t) type_depths; /* by type: how deep it nests, 0: not yet known */
  uint32_t next_global;
  bool scanned_fully;

  /* The header being read. */
  struct prefixes prefixes;
  struct nvm_attrset result_set;
  struct written_type result_type;
  struct token name;
  struct token initializer_missing; /* a variable that wants one; length 0: none */
  bool variadic;
  struct nvm_str section, partition, gc;
  uint32_t comdat, comdat_begin, align_log2, suffix_space;
  bool unnamed_written;
  uint8_t unnamed_addr;
  struct nvm_value prefix, prologue, personality;
  VEC(struct token) parameter_names;

  /* The function being read. */
  struct nvm_function *f;
  uint32_t function_begin; /* where its name stands */
  uint32_t next_body;      /* the first of `bodies` that may be its */
  struct nvm_block block;  /* {0}: none open */
  uint32_t stamp, next_number;
  bool saw_forward;
  bool block_broken; /* it had an error: perhaps that was its terminator */
  VEC(struct forward) forwards;
  VEC(struct fixup) fixups;
  VEC(struct block_use) blocks;
  struct nvm_inst_id last;     /* the instruction just made; {0}: it had an error */
  struct memory_access access; /* of the statement being read; zero before it */
  struct nvm_type phi_type;
  struct written_type call_type;
  struct literal callee;
  uint32_t bundle_first;   /* of the open bundle, among the arguments */
  uint32_t argument_count; /* without bundles; UINT32_MAX: no bundle met */
  struct token assigned;   /* the name before the `=` of the statement being read */
  bool has_assigned;
};

/* Whether the tables hold what was put in; the parser runs on with dummies otherwise. */
static inline bool state_out_of_memory(const struct parser *p) {
  return p->m->arena.failed || p->scratch.failed || p->sink->arena->failed;
}
static inline const char *state_text(const struct parser *p, uint32_t begin) {
  return p->text + begin;
}

/* lexer.re. False: out of memory. */
bool lexer_init(struct parser *p);
/* The next token, and its value where it has one. */
int lexer_token(union nvir_value *value, struct parser *p);
/* After an error: T_RESYNC or T_RESYNC_TOP, and the cursor at what can follow. */
int lexer_resync(struct parser *p);
/* Why a T_OUTSIDE token is outside the subset; `index`: its number. */
const char *lexer_outside_reason(uint64_t index);
/* The end of the token that begins at `begin`. */
uint32_t lexer_token_end(struct parser *p, uint32_t begin);
/* Offers the words of the language whose token, by its number, is wanted. */
void lexer_offer_words(const struct parser *p, const bool *wanted, struct nearest *n);

/* report.c: diagnostics at [begin, end). */
struct diag *report(struct parser *p, enum diag_id id, uint32_t begin, uint32_t end, const char *a0,
                    const char *a1, const char *a2);
/* At the token that begins at `begin`, whose text is %0. */
struct diag *report_token(struct parser *p, enum diag_id id, uint32_t begin, const char *a1,
                          const char *a2);
/* The type's text; lives until the parser ends. */
const char *report_type(struct parser *p, struct nvm_type type);
const char *report_number(struct parser *p, uint64_t number);
const char *report_copy(struct parser *p, const char *bytes, size_t length);
/* Offers the predicates of icmp or fcmp. */
void report_offer_predicates(enum op op, struct nearest *n);
void report_bad_byte(struct parser *p, uint32_t begin, uint32_t end);

/* scan.c: makes the symbols and metadata nodes known before they are parsed. */
bool scan_lines(struct parser *p);
/* Looks through every token for symbols that scan_lines() missed; once. */
void scan_tokens(struct parser *p);

/* names.c */
struct nvm_str names_string(struct parser *p, const struct token *t);
struct nvm_str names_unescape(struct parser *p, uint32_t begin, uint32_t length);
struct nvm_value names_local(struct parser *p, const struct literal *l, struct nvm_type type);
struct nvm_value names_block(struct parser *p, const struct token *t);
void names_define_block(struct parser *p, const struct token *t);
struct nvm_block names_new_block(struct parser *p);
void names_define(struct parser *p, const struct token *t, struct nvm_inst_id inst);
void names_define_argument(struct parser *p, const struct token *t, uint32_t i);
void names_mark_broken(struct parser *p, const struct token *t);
struct nvm_value names_add_symbol(struct parser *p, struct nvm_str name, bool is_function);
void names_scanned_symbol(struct parser *p, const struct token *t, bool is_function);
uint32_t names_space(const struct parser *p, struct nvm_value symbol);
/* The symbol of that name, made by the scan or on the spot; `is_function`: what to make of one that
 * the text never defines. */
struct nvm_value names_symbol(struct parser *p, const struct token *t, bool is_function);
struct nvm_value names_global(struct parser *p, const struct literal *l, struct nvm_type type);
struct symbol_use *names_use(struct parser *p, struct nvm_value symbol);
void names_note_use(struct parser *p, struct nvm_value symbol, const struct token *t,
                    uint32_t space);
uint32_t names_begin(const struct parser *p, const struct token *t);
/* The entry of number `n` for numbers with this sigil: @N, !N. NULL when out of memory. */
uint32_t *names_numbered(struct parser *p, char sigil, uint64_t n);
/* After the last statement of a function: every name used has been defined. */
void names_end_function(struct parser *p);
void names_begin_function(struct parser *p);

/* values.c */
struct nvm_value values_resolve(struct parser *p, struct nvm_type type, const struct literal *l);
struct operand values_typed(struct parser *p, const struct written_type *t,
                            const struct literal *l);
void values_push(struct parser *p, struct list *l, const struct operand *o);
bool values_number(struct parser *p, const struct token *t, uint64_t limit, uint64_t *number);
struct literal values_asm(struct parser *p, uint32_t begin, uint32_t flags,
                          const struct token *text, const struct token *constraints);
struct literal values_list(uint32_t begin, enum literal_kind kind, struct list l);
struct literal values_splat(struct parser *p, uint32_t begin, const struct operand *o);
struct literal values_cast(struct parser *p, const struct token *op, const struct operand *o,
                           const struct written_type *to);
struct literal values_gep(struct parser *p, const struct token *op,
                          const struct written_type *element, struct list l);
struct literal values_compare(struct parser *p, const struct token *op,
                              const struct token *predicate, const struct operand *a,
                              const struct operand *b);
struct literal values_expr(struct parser *p, const struct token *op, struct list l);
struct literal values_member(struct parser *p, const struct token *op, struct list l);
/* The operands of a list as values in p->values; the list is popped. */
const struct nvm_value *values_take(struct parser *p, struct list l);
/* Types that the grammar's ops have in common with instructions; TYPE_NONE after a report. */
struct nvm_type values_op_type(struct parser *p, enum op op, const struct token *at,
                               const struct operand *operands, uint32_t count);
struct nvm_type values_gep_type(struct parser *p, const struct operand *operands, uint32_t count);
bool values_check_flags(struct parser *p, enum op op, const struct token *at, uint32_t flags);
uint32_t values_predicate(struct parser *p, enum op op, const struct token *t);
/* What `extractvalue` finds: follows `count` members. TYPE_NONE after a report. */
struct nvm_type values_member_type(struct parser *p, struct nvm_type type,
                                   const struct operand *indices, uint32_t count);
void values_push_index(struct parser *p, struct list *l, const struct token *t);
bool values_check_pointee(struct parser *p, const struct operand *pointer, struct nvm_type type,
                          uint32_t begin);

/* types.c */
void types_push(struct parser *p, struct list *l, const struct written_type *t);
struct written_type types_pointer(struct parser *p, const struct written_type *to, uint64_t space,
                                  uint32_t end);
struct written_type types_sequence(struct parser *p, const struct token *count,
                                   const struct written_type *element, bool vector, uint32_t begin,
                                   uint32_t end);
struct written_type types_struct(struct parser *p, struct list l, bool packed, uint32_t begin,
                                 uint32_t end);
struct written_type types_empty_struct(struct parser *p, bool packed, uint32_t begin, uint32_t end);
struct written_type types_function(struct parser *p, const struct written_type *result,
                                   struct list l, bool variadic, uint32_t end);
struct written_type types_named(struct parser *p, const struct token *t);
void types_define(struct parser *p, const struct token *t, const struct written_type *body);
void types_finish(struct parser *p);

/* attrs.c */
void attrs_flag(struct parser *p, const struct token *t);
void attrs_int(struct parser *p, const struct token *t, const struct token *number);
void attrs_type(struct parser *p, const struct token *t, const struct written_type *type);
void attrs_text(struct parser *p, const struct token *t);
void attrs_string(struct parser *p, const struct token *key, const struct token *value);
void attrs_group(struct parser *p, const struct token *t);
/* The set of the attributes read since the last call. `pointee`: of the parameter, for older
 * byval; TYPE_NONE otherwise. */
struct nvm_attrset attrs_close(struct parser *p, struct nvm_type pointee);
void attrs_define_group(struct parser *p, const struct token *t);
void attrs_finish(struct parser *p);
/* log2 + 1 of a power of two, 0 of 0. */
uint8_t attrs_log2(uint64_t bytes);
bool attrs_alignment(struct parser *p, const struct token *t, uint32_t *log2_plus_1);

/* nodes.c: metadata. */
struct nvm_meta nodes_reference(struct parser *p, const struct token *t);
struct nvm_meta nodes_string(struct parser *p, const struct token *t);
struct nvm_meta nodes_value(struct parser *p, const struct operand *o);
struct nvm_meta nodes_int(struct parser *p, const struct token *t);
struct nvm_meta nodes_word(struct parser *p, uint32_t begin, uint32_t end);
void nodes_push(struct parser *p, const struct token *label, struct nvm_meta meta);
struct nvm_meta nodes_inline(struct parser *p, const struct token *name, uint32_t first);
void nodes_define(struct parser *p, const struct token *t, const struct token *name, bool distinct,
                  uint32_t first);
void nodes_define_named(struct parser *p, const struct token *t, uint32_t first);
struct operand nodes_operand(struct parser *p, struct nvm_meta meta, uint32_t begin);
/* The node of that number, made if it is not known. 0 when out of memory. */
uint32_t nodes_number(struct parser *p, uint64_t number);
void nodes_finish(struct parser *p);

/* symbols.c: functions, variables, aliases, comdats and the module's own lines. */
void symbols_reset_prefixes(struct parser *p);
void symbols_check_prefixes(struct parser *p, uint32_t allowed, uint32_t begin);
struct nvm_attrlist symbols_attribute_list(struct parser *p, struct nvm_attrset function,
                                           struct nvm_attrset result, uint32_t count);
void symbols_open_header(struct parser *p, const struct written_type *type,
                         const struct token *name);
void symbols_parameter(struct parser *p, const struct written_type *type, const struct token *name);
void symbols_begin_function(struct parser *p);
void symbols_declare(struct parser *p);
void symbols_end_function(struct parser *p);
void symbols_abandon_function(struct parser *p);
void symbols_comdat(struct parser *p, const struct token *name);
void symbols_attach(struct parser *p, const struct token *kind, struct nvm_meta node);
void symbols_variable(struct parser *p, const struct token *name, bool is_constant,
                      const struct written_type *type, const struct operand *initializer);
void symbols_alias(struct parser *p, const struct token *name, bool is_ifunc,
                   const struct written_type *type, const struct literal *bare,
                   const struct operand *typed);
void symbols_reset_variable(struct parser *p);
void symbols_define_comdat(struct parser *p, const struct token *name, const struct token *kind);
void symbols_target(struct parser *p, const struct token *what, const struct token *text);
void symbols_finish(struct parser *p);

/* insts.c */
void insts_plain(struct parser *p, const struct token *op, struct nvm_type type,
                 const struct operand *operands, uint32_t count);
void insts_list(struct parser *p, const struct token *op, struct list l);
void insts_binary(struct parser *p, const struct token *op, const struct operand *a,
                  const struct literal *b);
void insts_compare(struct parser *p, const struct token *op, const struct token *predicate,
                   const struct operand *a, const struct literal *b);
void insts_cast(struct parser *p, const struct token *op, const struct operand *o,
                const struct written_type *to);
void insts_alloca(struct parser *p, const struct token *op, uint32_t flags,
                  const struct written_type *type, const struct operand *count);
void insts_alloca_space(struct parser *p, const struct token *space);
void insts_align(struct parser *p, const struct token *t);
void insts_load(struct parser *p, const struct token *op, const struct written_type *type,
                const struct operand *pointer);
void insts_store(struct parser *p, const struct token *op, const struct operand *value,
                 const struct operand *pointer);
void insts_fence(struct parser *p, const struct token *op);
void insts_cmpxchg(struct parser *p, const struct token *op, const struct operand *operands);
void insts_atomicrmw(struct parser *p, const struct token *op, const struct token *rmw,
                     const struct operand *operands);
void insts_access_align(struct parser *p, const struct token *t);
void insts_scope(struct parser *p, const struct token *name);
void insts_gep(struct parser *p, const struct token *op, const struct written_type *element,
               struct list l);
void insts_member(struct parser *p, const struct token *op, struct list l);
void insts_phi(struct parser *p, const struct token *op, struct list l);
void insts_incoming(struct parser *p, struct list *l, const struct literal *value,
                    const struct token *block);
void insts_open_call(struct parser *p, const struct written_type *type,
                     const struct literal *callee);
void insts_open_bundle(struct parser *p);
void insts_close_bundle(struct parser *p, const struct token *tag);
void insts_call(struct parser *p, const struct token *op);
void insts_argument(struct parser *p, const struct operand *o);
void insts_dbg(struct parser *p, const struct token *op, struct list l);
void insts_finish(struct parser *p, const struct token *name);
void insts_attach(struct parser *p, const struct token *kind, struct nvm_meta node);
void insts_broken(struct parser *p);
struct operand insts_label(struct parser *p, const struct token *t);

#endif
