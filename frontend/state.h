/* The state of parse_module(), shared by the files of the front end: the position in the text,
 * lists and headers being read, and one table per file for what only that file uses. Lives on the
 * stack of parse_module(). */
#ifndef NVM_FRONTEND_STATE_H
#define NVM_FRONTEND_STATE_H

#include "frontend/parse.h"
#include "frontend/token.h"

/* An operand that waits for the definition of a local value. */
struct fixup {
  struct nvm_inst_id inst; /* {0}: `operand` indexes the metadata operands */
  uint32_t operand;
};

/* The lines of a function from its `define` to its `}`, both in column 0. */
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

struct parser {
  struct nvm_module *m;
  struct diag_sink *sink;
  uint32_t source;
  struct arena scratch;          /* until parsing ends */
  struct parse_release *release; /* NULL: the text stays */
  uint32_t released;             /* the end of what was released */

  /* Scanner (lexer.re). */
  const char *text, *cursor, *limit;
  uint32_t token_begin, token_end; /* the last token, with sigils and quotes */
  uint32_t outside;                /* number of the last T_OUTSIDE token */
  uint32_t last_resync;
  bool resync;   /* the next token is T_RESYNC or T_RESYNC_TOP */
  bool at_begin; /* the error was at the start of a statement or definition */
  bool in_body;
  bool stop; /* return the end of the text */
  bool refused;
  bool scanned_fully;
  VEC(struct body_lines) bodies; /* in order (scan.c) */

  /* Lists being read. */
  VEC(struct operand) stack;
  VEC(struct nvm_value) values; /* operands of one instruction or constant */
  VEC(struct nvm_type) types;   /* member lists, nested */
  VEC(struct nvm_attr) attributes;
  VEC(struct argument) arguments;
  VEC(struct meta_entry) entries;
  VEC(struct pending_attachment) attachments;
  VEC(char) bytes;

  /* Header of a function or variable being read. */
  struct prefixes prefixes;
  struct nvm_attrset result_set;
  struct token initializer_missing; /* a variable that needs one; length 0: none */
  bool variadic;
  struct nvm_str section, partition, gc;
  uint32_t align_log2, suffix_space;
  uint8_t unnamed_addr;
  struct nvm_value prefix, prologue, personality;

  /* Function being read. */
  struct nvm_function *f;
  uint32_t function_begin; /* the begin of its name */
  struct nvm_block block;  /* {0}: none open */
  bool saw_forward;
  bool block_broken; /* it had an error, perhaps in its terminator */
  VEC(struct fixup) fixups;

  /* Statement being read. */
  struct memory_access access; /* zero before it */
  struct nvm_type phi_type;
  struct token assigned; /* the name before `=` */
  bool has_assigned;

  /* Tables of one file each, defined there. */
  struct lexer *lexer;
  struct names *name_tables;
  struct types *type_tables;
  struct attrs *attrs;
  struct nodes *nodes;
  struct symbols *symbols;
  struct insts *insts;
};

/* Whether an allocation failed; the parser continues with dummies. */
static inline bool state_out_of_memory(const struct parser *p) {
  return p->m->arena.failed || p->scratch.failed || p->sink->arena->failed;
}

#endif
