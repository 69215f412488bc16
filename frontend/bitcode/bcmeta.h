/* Metadata of a bitcode stream: ids are strings, values and nodes, those of the module first, then
 * those of the function. */
#ifndef NVM_FRONTEND_BITCODE_BCMETA_H
#define NVM_FRONTEND_BITCODE_BCMETA_H

#include "frontend/bitcode/reader.h"

struct meta_location {
  uint32_t function; /* number of the function whose ids it uses; 0: only the module's */
  uint32_t line, column;
  uint32_t scope, inlined_at; /* ids; inlined_at + 1, 0: none */
  bool implicit;
  uint64_t group; /* atom group, and rank in the top byte */
  struct nvm_meta node;
};

struct bcmeta {
  VEC(struct nvm_meta) items; /* by id; {0}: not defined yet */
  uint32_t module_count;      /* ids of the module */
  VEC(struct {
    uint32_t operand; /* of a node: index into the module's metadata operands */
    uint32_t id;
  })
  later; /* operands used before their definition */
  VEC(struct nvm_str) keys;
  VEC(struct nvm_meta) metas;
  VEC(struct meta_location) locations; /* [0]: dummy; interned */
  uint32_t *slots;
  uint32_t slot_count;
  struct nvm_str name; /* of the named node that follows */
};

/* Makes the tables; false when out of memory. */
bool bcmeta_init(struct reader *r);
/* Read the METADATA, METADATA_KIND block of the module or of a function. */
bool bcmeta_read(struct reader *r);
bool bcmeta_read_kinds(struct reader *r);
/* The metadata with that id; {0} after an error. */
struct nvm_meta bcmeta_get(struct reader *r, uint64_t id);
/* The same if it is a node. */
struct nvm_meta bcmeta_node(struct reader *r, uint64_t id);
/* Counts the text of a use of metadata; false if the module's text is too long. */
bool bcmeta_use(struct reader *r, struct nvm_meta meta);
/* The node of a location; equal ones are one node. {0} after an error. */
struct nvm_meta bcmeta_location(struct reader *r, const struct meta_location *l);
/* The name of an attachment's kind; {0} after an error. */
struct nvm_str bcmeta_kind(struct reader *r, uint64_t number);
/* Forgets the ids of the function. */
void bcmeta_end_function(struct reader *r);

/* bcnodes.c: specialized nodes. Adds a field to the node being collected; the operand with id + 1
 * may be defined later. */
bool bcmeta_field(struct reader *r, const char *key, struct nvm_meta meta);
bool bcmeta_operand(struct reader *r, const char *key, uint64_t id_plus_1);
/* Gives the next id to a node of the fields collected. */
bool bcmeta_finish(struct reader *r, const char *name, bool distinct, bool is_inline);
/* Reads a node with fields. */
bool bcnodes_read(struct reader *r, const struct bits_record *s);

#endif
