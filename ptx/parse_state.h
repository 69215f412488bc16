/* Shared by scanner, grammar and actions of the PTX parser. */
#ifndef NVM_PTX_PARSE_STATE_H
#define NVM_PTX_PARSE_STATE_H

#include "ptx/check.h"
#include "ptx/ops.h"
#include "ptx/parse.h"

/* The current meaning of a name. */
enum name_kind {
  NAME_UNKNOWN,
  NAME_REG,     /* value: bits of a struct ptx_reg */
  NAME_LABEL,   /* value: label of the function */
  NAME_SYMBOL,  /* a variable, parameter, function or prototype; value: enum symbol_state */
  NAME_SPECIAL, /* value: enum ptx_special */
};

/* What an alias needs to know of a symbol. */
enum symbol_state {
  SYMBOL_OTHER, /* no function */
  SYMBOL_ENTRY,
  SYMBOL_DECLARED, /* a device function: without body so far, */
  SYMBOL_DEFINED,  /* with one, */
  SYMBOL_WEAK,     /* with one that another module may replace, */
  SYMBOL_ALIAS,    /* a second name of another one: resolve_aliases() has to look at it, */
  SYMBOL_RESOLVED, /* or has */
};

/* `.alias name, aliasee;` and the place of the aliasee. */
struct ptx_pending_alias {
  uint32_t name, aliasee; /* index of names */
  const char *token, *cursor;
  uint32_t line;
};

struct ptx_name {
  uint8_t kind; /* enum name_kind */
  uint32_t value;
  struct ptx_range {
    uint32_t first;      /* bits of the register of index 1 */
    uint32_t zero;       /* of that of index 0, once used */
    uint32_t count;      /* registers declared */
  } range;               /* declared by `%r<5>`, besides a meaning of `%r` itself */
  struct nvm_str symbol; /* the name in the module's strings, once used */
};

/* A name's meaning before a scope changed it. */
struct ptx_undo {
  uint32_t name;
  struct ptx_name before;
};

struct ptx_scope {
  uint32_t undo_mark, label_mark;
  uint32_t entry;     /* of SCOPE_BEGIN */
  uint32_t variables; /* of the function when it began */
};

struct ptx_label_state {
  uint32_t name;  /* index of names */
  uint32_t scope; /* depth that it belongs to */
  uint32_t alias; /* the label that it is an alias of, or 0 */
  bool defined;
};

/* A token's or nonterminal's value. */
union ptx_value {
  uint32_t number; /* name, modifier, count */
  uint64_t integer;
  struct nvm_text text;
  struct ptx_operand operand;
};

struct ptx_parser {
  /* scanner */
  const char *start, *cursor, *end, *token;
  uint32_t line;
  int first_token; /* selects the start of the grammar; 0 afterwards */
  bool is_inline;
  const struct ptx_operand *arguments;
  uint32_t argument_count;
  /* the output */
  struct ptx_module *module;
  struct ptx_function *f;        /* NULL outside a function */
  struct ptx_parse_error *error; /* or NULL */
  bool failed;
  /* names */
  struct arena scratch;
  struct strtab names;
  VEC(struct ptx_name) meaning; /* by index of names */
  VEC(struct ptx_undo) undo;
  VEC(struct ptx_scope) scopes;
  VEC(uint32_t) scope_labels;
  VEC(struct ptx_label_state) labels; /* by label of the function, from first_label */
  uint32_t function_name;             /* index of names */
  uint32_t first_label;
  uint32_t first_operand; /* of the function, when parsing began */
  bool has_aliases;
  VEC(struct ptx_pending_alias) pending; /* of the module */
  /* the instruction being read */
  uint16_t op;
  uint32_t op_line;
  const char *op_begin;
  struct ptx_reg guard;
  bool guard_negated;
  VEC(uint16_t) mods;
  VEC(struct ptx_operand) stack;
  /* the declaration being read */
  struct ptx_variable variable;
  uint16_t linkage;
  struct ptx_performance performance;
  bool noreturn;
  VEC(struct ptx_variable) parameters;
  uint32_t result_count;
};

/* The next token, 0 at the end. */
int ptxyylex(union ptx_value *value, struct ptx_parser *p);

/* ---- Errors (parse_names.c) ----
 * At the last token; only the first one is kept. All return false. %t in `format` is the text. */
bool parse_fail(struct ptx_parser *p, const char *message);
bool parse_fail_with(struct ptx_parser *p, const char *format, const char *bytes, size_t length);
bool parse_fail_name(struct ptx_parser *p, const char *format, uint32_t name);
/* Of a name that another text of inline assembly may declare. */
bool parse_fail_outside(struct ptx_parser *p, const char *format, uint32_t name);

/* ---- Names and scopes (parse_names.c); false: an error was reported ---- */

/* A name's text, and the name in the module's strings. */
struct nvm_text parse_text(const struct ptx_parser *p, uint32_t name);
struct nvm_str parse_module_name(struct ptx_parser *p, uint32_t name);
bool parse_declare_symbol(struct ptx_parser *p, uint32_t name);
/* Looks up an undeclared name among prefixes and special registers. */
bool parse_find_meaning(struct ptx_parser *p, uint32_t name);
/* The label of a use, and of a definition; 0: an error. */
uint32_t parse_label_of(struct ptx_parser *p, uint32_t name);
uint32_t parse_define_label(struct ptx_parser *p, uint32_t name);
/* Replaces operands that are aliases of labels, at a function's end. */
void parse_resolve_aliases(struct ptx_parser *p);
bool parse_open_scope(struct ptx_parser *p);
bool parse_close_scope(struct ptx_parser *p);

/* ---- Actions, in the order of the grammar; false: an error was reported ----
 */
void parse_syntax_error(struct ptx_parser *p);
bool parse_version(struct ptx_parser *p, struct nvm_text text);
bool parse_target(struct ptx_parser *p, uint32_t name, bool first);
bool parse_file(struct ptx_parser *p, uint64_t number, struct nvm_text name);
void parse_variable_begin(struct ptx_parser *p, uint16_t space);
bool parse_variable_word(struct ptx_parser *p, uint16_t mod);
void parse_variable_name(struct ptx_parser *p, uint32_t name);
void parse_variable_dimension(struct ptx_parser *p, bool sized, uint64_t count);
bool parse_triple(struct ptx_parser *p, uint32_t which, uint64_t x, uint64_t y, uint64_t z);
bool parse_decimal(struct ptx_parser *p, struct nvm_text text, bool negative,
                   struct ptx_operand *o);
bool parse_init_number(struct ptx_parser *p, uint64_t bits);
bool parse_init_float(struct ptx_parser *p, struct ptx_operand value);
bool parse_init_symbol(struct ptx_parser *p, uint32_t name, bool generic, int64_t addend);
bool parse_init_property(struct ptx_parser *p, uint32_t name);
bool parse_init_mask(struct ptx_parser *p, uint64_t mask);
bool parse_variable_end(struct ptx_parser *p);
bool parse_parameter_end(struct ptx_parser *p);
bool parse_function_begin(struct ptx_parser *p, bool is_entry, uint32_t name);
bool parse_function_end(struct ptx_parser *p, bool has_body);
bool parse_body_begin(struct ptx_parser *p);
bool parse_reg(struct ptx_parser *p, uint16_t type, uint32_t name, bool is_prefix, uint64_t count);
bool parse_scope_begin(struct ptx_parser *p);
bool parse_scope_end(struct ptx_parser *p);
bool parse_label(struct ptx_parser *p, uint32_t name);
bool parse_branch_targets(struct ptx_parser *p, uint32_t name, uint32_t count);
bool parse_prototype(struct ptx_parser *p, uint32_t name);
bool parse_alias(struct ptx_parser *p, uint32_t name, uint32_t aliasee);
bool parse_loc(struct ptx_parser *p, const uint64_t place[3], uint32_t function_name,
               const uint64_t inlined[4]);
bool parse_pragma(struct ptx_parser *p, struct nvm_text text);
bool parse_mnemonic(struct ptx_parser *p, uint32_t name);
bool parse_guard(struct ptx_parser *p, struct ptx_operand o, bool negated);
bool parse_name_operand(struct ptx_parser *p, uint32_t name, struct ptx_operand *o);
bool parse_offset(struct ptx_parser *p, struct ptx_operand *o, int64_t offset);
/* The code of a selector's text, `.h10`; gives an operand a selector, which must be a register. */
uint32_t parse_selector_of(const char *word, size_t length);
bool parse_select(struct ptx_parser *p, struct ptx_operand *o, uint32_t selector);
bool parse_push(struct ptx_parser *p, struct ptx_operand o);
bool parse_group(struct ptx_parser *p, enum ptx_operand_kind kind, uint32_t count,
                 struct ptx_operand *o);
bool parse_address(struct ptx_parser *p, uint32_t count, struct ptx_operand *o);
bool parse_instruction(struct ptx_parser *p, uint32_t operand_count);

#endif
