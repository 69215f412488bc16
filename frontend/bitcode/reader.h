/* The state of bcmodule_read(), shared by the files of the reader. It contains the state of the
 * text parser, because both build the same module with the same functions: attributes, forward
 * references, instructions and the checks of whole modules are those of frontend/.
 *
 * Ids of the stream (types, values, attribute lists, metadata) are indices into tables here. The
 * first error ends the reading. */
#ifndef NVM_FRONTEND_BITCODE_READER_H
#define NVM_FRONTEND_BITCODE_READER_H

#include "frontend/bitcode/bits.h"
#include "frontend/state.h"

/* Ids of blocks: LLVM's BitCodeEnums.h and LLVMBitCodes.h. */
enum {
  BLOCK_MODULE = 8,
  BLOCK_ATTRIBUTE_LISTS = 9,
  BLOCK_ATTRIBUTE_GROUPS = 10,
  BLOCK_CONSTANTS = 11,
  BLOCK_FUNCTION = 12,
  BLOCK_IDENTIFICATION = 13,
  BLOCK_NAMES = 14,
  BLOCK_METADATA = 15,
  BLOCK_ATTACHMENTS = 16,
  BLOCK_TYPES = 17,
  BLOCK_BUNDLE_TAGS = 21,
  BLOCK_METADATA_KINDS = 22,
  BLOCK_STRING_TABLE = 23,
  BLOCK_SYNC_SCOPES = 26,
};

enum {
  MAX_ALIGN_LOG2_PLUS_1 = 33, /* LLVM stores an alignment as its log2 + 1; 0: none */
  MAX_CONVENTION = 1023,
};

/* A type of the stream. Typed pointers become ptr; their pointees are kept for attributes and
 * function pointers of older producers. */
struct stream_type {
  struct nvm_type type;    /* TYPE_NONE: not defined yet */
  uint32_t pointee;        /* POINTER: type id + 1 */
  uint32_t first, members; /* FUNCTION: type ids of result and parameters in type_members */
  uint32_t depth;          /* nested unnamed aggregates */
  uint32_t length;         /* parts when written out; a named struct counts as one */
};

struct attribute_list {
  uint32_t first, count; /* indices + 1 of groups, in attribute_refs: one an index */
  uint32_t parameters;   /* the highest index of a parameter */
  bool typeless;         /* has a typeless group */
  uint32_t type;         /* of the last use: function type id + 1, and the list made for it; if the
                            list does not depend on types, any other number than 0 */
  struct nvm_attrlist made;
};

struct stream_group {
  uint32_t index; /* 0: of the result, UINT32_MAX: of the function, else of that parameter */
  bool typeless;  /* byval and the like without their type: that of the parameter's pointee */
  struct nvm_attrset set;
};

/* A variable, alias or function, whose operands follow later in the stream: ids + 1, 0: none. */
struct stream_symbol {
  struct nvm_value value;
  uint32_t initializer; /* or aliasee */
  uint32_t prologue, prefix, personality;
  bool has_body; /* a function with a FUNCTION block */
};

struct reader {
  struct parser p;
  struct bits bits;
  uint64_t base;         /* byte offset of the stream in the input */
  uint64_t begin;        /* bit offset of the record being read */
  uint64_t spent;        /* parts of the text, by reader_spend() */
  uint32_t version;      /* of the module block: 2 has a string table, 1 relative value ids */
  uint32_t producer;     /* major version of LLVM; 0: another one */
  struct nvm_text names; /* the string table */

  VEC(struct stream_type) types;
  VEC(uint32_t) type_members;
  VEC(uint32_t) type_lengths;           /* by index of a type: see bctypes_length() */
  uint8_t attribute_ids[UINT8_MAX + 1]; /* enum attr_id by the number in bitcode */
  VEC(struct stream_group) groups;
  VEC(uint32_t) group_of; /* by group id: index + 1 */
  VEC(uint32_t) attribute_refs;
  VEC(uint32_t) ref_of; /* by index + 1 of a group: its last place + 1 in attribute_refs */
  VEC(struct attribute_list) lists;
  VEC(struct nvm_attrset) sets; /* of the parameters of a list being made */

  VEC(struct nvm_str) sections, collectors, bundle_tags, meta_kinds;
  VEC(uint32_t) scopes; /* by number in the stream: MODULE's sync scope */
  VEC(struct stream_symbol) symbols;
  VEC(struct nvm_str) symbol_names; /* by value id, without a string table */
  uint32_t next_body;               /* the symbol from which the next body is looked for */

  VEC(struct nvm_value) values; /* by value id: symbols, constants, values of the function */
  uint32_t value_count;         /* defined; later ones are forward references */
  struct bcconstants *constants;
  struct bcmeta *meta;
  struct bcfunction *function;
};

/* Reports an error at the record being read; false. */
bool reader_fail(struct reader *r, const char *problem);
bool reader_unsupported(struct reader *r, const char *what);
/* Counts parts of the module's text that the stream states once and that are printed here again;
 * fails if their sum is out of proportion. */
bool reader_spend(struct reader *r, uint64_t parts);
/* The largest such sum, below 2^32. */
uint64_t reader_text_limit(const struct reader *r);
/* The next event, after reporting a problem of the stream itself. */
enum bits_event reader_next(struct reader *r, struct bits_record *record);
/* Goes into the block that BITS_BLOCK announced, or past it; false after an error. */
bool reader_enter(struct reader *r);
bool reader_skip(struct reader *r);
/* Reads the block that BITS_BLOCK announced: calls `handle` for each record, skips inner blocks. */
bool reader_block(struct reader *r, bool (*handle)(struct reader *r, const struct bits_record *));
/* Whether the record has at least `count` numbers; fails if not. */
bool reader_needs(struct reader *r, const struct bits_record *record, uint32_t count);
/* The numbers from `first` on as the characters of a string. */
struct nvm_str reader_string(struct reader *r, const struct bits_record *record, uint32_t first);
/* The place for diagnostics: the byte offset of the record being read. */
uint32_t reader_place(const struct reader *r);

#endif
