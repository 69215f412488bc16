/* Attributes of functions, results, parameters, call sites and globals.
 *
 * A set is an interned list of attributes in the order written; set 0 is empty. Attributes are kept
 * whether or not the compiler knows them: name and payload are enough to print them back. Known
 * ones are rows of attributes.def and have a fixed id. */
#ifndef NVM_IR_ATTRIBUTE_H
#define NVM_IR_ATTRIBUTE_H

#include "ir/type.h"

enum attr_payload {
  ATTR_FLAG,   /* noinline */
  ATTR_INT,    /* align 16, dereferenceable(8): number */
  ATTR_TYPE,   /* byval(%struct.S): type; TYPE_NONE in the older spelling without one */
  ATTR_STRING, /* "key"="value": str2 is the value; has_value: there is one */
  ATTR_TEXT,   /* memory(argmem: read), range(i32 0, 9): str2 is the text in parentheses */
};

enum attr_id {
  ATTR_UNKNOWN,
#define ATTRIBUTE(ENUM, keyword, payload, places, number) ATTR_##ENUM,
#include "ir/attributes.def"
#undef ATTRIBUTE
  ATTR_ID_COUNT,
};

/* Where an attribute is allowed, and on values of which type. */
enum attr_places {
  ON_FUNCTION = 1,
  ON_PARAMETER = 2,
  ON_RESULT = 4,
  ON_VALUE = ON_PARAMETER | ON_RESULT,
  IS_POINTER = 8,
  IS_POINTERS = 16, /* or a vector of pointers */
  IS_INT = 32,
};

struct attr_info {
  const char *keyword;
  enum attr_payload payload;
  uint8_t places; /* enum attr_places */
  uint8_t number; /* in LLVM bitcode; 0: none */
};
extern const struct attr_info attr_table[ATTR_ID_COUNT];

struct nvm_attr {
  uint16_t id;     /* enum attr_id; ATTR_UNKNOWN for strings */
  uint8_t payload; /* enum attr_payload */
  bool has_value;  /* ATTR_STRING */
  struct nvm_type type;
  struct nvm_str str, str2; /* ATTR_STRING: key, value; ATTR_TEXT: str2 */
  uint64_t number;
};

struct nvm_attrset {
  uint32_t index;
};

struct attrset_info {
  uint32_t first, count; /* into `attrs` */
  uint64_t has[2];       /* one bit for each id */
};
_Static_assert(ATTR_ID_COUNT <= 128, "a bit an id");

/* The attributes of a function or call: of the function, its result and its parameters. Interned
 * too; list 0 is empty. */
struct nvm_attrlist {
  uint32_t index;
};

struct attrlist_info {
  struct nvm_attrset function;
  struct nvm_attrset result;
  uint32_t first, count; /* into `parameter_sets`; later parameters have none */
};

struct attr_table_data {
  struct arena *arena;
  VEC(struct nvm_attr) attrs;
  VEC(struct attrset_info) sets;
  VEC(struct attrlist_info) lists;
  VEC(struct nvm_attrset) parameter_sets;
  uint32_t *slots; /* interning of sets */
  uint32_t slot_count;
  uint32_t *list_slots;
  uint32_t list_slot_count;
};

/* An empty table in `arena`; false when out of memory. */
bool attr_table_init(struct attr_table_data *t, struct arena *arena);

/* The interned set (list) of these attributes; {0} when out of memory. */
struct nvm_attrset attrset_make(struct attr_table_data *t, const struct nvm_attr *attrs,
                                uint32_t count);
/* The set without that attribute; `scratch` holds a temporary copy. {0} when out of memory. */
struct nvm_attrset attrset_without(struct attr_table_data *t, struct nvm_attrset s, enum attr_id id,
                                   struct arena *scratch);
struct nvm_attrlist attrlist_make(struct attr_table_data *t, struct nvm_attrset function,
                                  struct nvm_attrset result, const struct nvm_attrset *parameters,
                                  uint32_t count);

static inline bool attrset_has(const struct attr_table_data *t, struct nvm_attrset s,
                               enum attr_id id) {
  return t->sets.data[s.index].has[id / 64] >> id % 64 & 1;
}
/* The attribute with this id, which must be in the set. */
const struct nvm_attr *attrset_get(const struct attr_table_data *t, struct nvm_attrset s,
                                   enum attr_id id);
/* The attribute with this id in the set, or NULL. */
static inline const struct nvm_attr *attrset_find(const struct attr_table_data *t,
                                                  struct nvm_attrset s, enum attr_id id) {
  return attrset_has(t, s, id) ? attrset_get(t, s, id) : NULL;
}
/* The bytes of an `align` attribute (NULL: 0), or of a set's; 2^32, the largest alignment, counts
 * as 2^31. */
uint32_t attr_align_bytes(const struct nvm_attr *align);
uint32_t attrset_align(const struct attr_table_data *t, struct nvm_attrset s);
/* The string attribute with this key, or NULL. */
const struct nvm_attr *attrset_find_string(const struct attr_table_data *t, struct nvm_attrset s,
                                           struct nvm_str key);
struct nvm_attrset attrlist_parameter(const struct attr_table_data *t, struct nvm_attrlist l,
                                      uint32_t i);
static inline const struct attrlist_info *attrlist_info(const struct attr_table_data *t,
                                                        struct nvm_attrlist l) {
  return &t->lists.data[l.index];
}

#endif
