/* Types: interned records, compared as handles. */
#ifndef NVM_IR_TYPE_H
#define NVM_IR_TYPE_H

#include "support/textbuf.h"

/* A type of one module. {0} is "no type" (never valid in finished IR). */
struct nvm_type {
  uint32_t index;
};

enum type_kind {
  TY_NONE,
  TY_VOID,
  TY_LABEL,
  TY_METADATA,
  TY_TOKEN,
  TY_INT,  /* width: bits, 1..1024; above 128 only before expand-integers */
  TY_HALF, /* from here to TY_DOUBLE: IEEE and bfloat16 formats */
  TY_BFLOAT,
  TY_FLOAT,
  TY_DOUBLE,
  TY_PTR,      /* width: address space. pointee types of the older dialect are erased */
  TY_VECTOR,   /* element, count: fixed number of lanes */
  TY_ARRAY,    /* element, count */
  TY_STRUCT,   /* members; packed; name if it has one; opaque if named and without a body */
  TY_FUNCTION, /* element: result; members: parameters; variadic */
  TY_KIND_COUNT,
};

enum { TYPE_MAX_INT_BITS = 1024, TYPE_MAX_INT_WORDS = TYPE_MAX_INT_BITS / 64 };

enum { TYPE_PACKED = 1, TYPE_OPAQUE = 2, TYPE_VARIADIC = 4 };

struct type_info {
  uint8_t kind;            /* enum type_kind */
  uint8_t flags;           /* TYPE_ */
  uint32_t width;          /* TY_INT: bits; TY_PTR: address space */
  struct nvm_type element; /* TY_VECTOR, TY_ARRAY: element; TY_FUNCTION: result */
  uint32_t first_member;   /* TY_STRUCT, TY_FUNCTION: into the table's member pool */
  uint64_t count;          /* TY_VECTOR, TY_ARRAY: elements; TY_STRUCT, TY_FUNCTION: members */
  struct nvm_str name;     /* TY_STRUCT: its name without %, or 0 */
};

/* Every table starts with these handles, so they are constants. */
#define TYPE_NONE ((struct nvm_type){0})
#define TYPE_VOID ((struct nvm_type){1})
#define TYPE_LABEL ((struct nvm_type){2})
#define TYPE_METADATA ((struct nvm_type){3})
#define TYPE_TOKEN ((struct nvm_type){4})
#define TYPE_I1 ((struct nvm_type){5})
#define TYPE_I8 ((struct nvm_type){6})
#define TYPE_I16 ((struct nvm_type){7})
#define TYPE_I32 ((struct nvm_type){8})
#define TYPE_I64 ((struct nvm_type){9})
#define TYPE_I128 ((struct nvm_type){10})
#define TYPE_HALF ((struct nvm_type){11})
#define TYPE_BFLOAT ((struct nvm_type){12})
#define TYPE_FLOAT ((struct nvm_type){13})
#define TYPE_DOUBLE ((struct nvm_type){14})
#define TYPE_PTR ((struct nvm_type){15}) /* address space 0; spaces 1..7 follow it */
enum { TYPE_NEAR_SPACES = 7, TYPE_FIRST_DERIVED = 16 + TYPE_NEAR_SPACES };

/* Maximum nesting of a type, named structs included; deeper types have no size, which bounds every
 * recursion over types. */
enum { TYPE_MAX_DEPTH = 1024 };

/* Cached facts about a type: whether it is sized, and its layout. Stored in a parallel array and
 * written through `const` tables; verify_module() fills it for every type, and afterwards it is
 * only read. */
struct type_memo {
  uint64_t alloc_size; /* bytes; valid if layout_epoch is that of the table's layout_key */
  uint32_t layout_epoch;
  uint32_t bodies;    /* UNSIZED: valid while the table has this many struct bodies */
  uint16_t depth;     /* SIZED: levels, a scalar has 1 */
  uint8_t state;      /* TYPE_SIZE_ */
  uint8_t align_log2; /* as alloc_size */
};
enum { TYPE_SIZE_UNKNOWN, TYPE_SIZE_BUSY, TYPE_SIZE_SIZED, TYPE_SIZE_UNSIZED };

/* The struct member whose offset was computed last: most queries are for members in order. */
struct member_cursor {
  struct nvm_type type;
  uint32_t epoch;
  uint32_t next;   /* members before it have offsets */
  uint64_t offset; /* bytes: of the member before `next` */
  uint64_t end;    /* bytes: the end of that member */
  uint8_t align_log2;
};

/* The layout of the memos (a copy of its bytes, see ir/layout.c). */
struct type_layout_key {
  unsigned char bytes[64];
  uint32_t epoch; /* 0: none yet */
  struct member_cursor cursor;
};

struct type_table {
  struct arena *arena;
  struct strtab *strings;
  VEC(struct type_info) infos;
  VEC(struct nvm_type) members;
  VEC(struct nvm_type) named; /* named structs in order of first appearance */
  uint32_t *slots;            /* interning: open addressing over infos */
  uint32_t slot_count;
  uint32_t *named_slots; /* struct name → index into named + 1 */
  uint32_t named_slot_count;
  VEC(struct type_memo) memos; /* parallel to infos */
  struct type_layout_key *layout_key;
  uint32_t body_count; /* struct bodies set so far */
};

/* Creates the table with the types of fixed handles; false when out of memory. */
bool type_table_init(struct type_table *t, struct arena *arena, struct strtab *strings);

static inline const struct type_info *type_info(const struct type_table *t, struct nvm_type ty) {
  return &t->infos.data[ty.index];
}
static inline enum type_kind type_kind(const struct type_table *t, struct nvm_type ty) {
  return (enum type_kind)t->infos.data[ty.index].kind;
}
static inline bool type_equal(struct nvm_type a, struct nvm_type b) { return a.index == b.index; }

/* Interning constructors; TYPE_NONE when out of memory. */
struct nvm_type type_int(struct type_table *t, uint32_t bits);
struct nvm_type type_ptr(struct type_table *t, uint32_t address_space);
struct nvm_type type_vector(struct type_table *t, struct nvm_type element, uint64_t lanes);
struct nvm_type type_array(struct type_table *t, struct nvm_type element, uint64_t count);
struct nvm_type type_struct(struct type_table *t, const struct nvm_type *members, uint32_t count,
                            bool packed);
struct nvm_type type_function(struct type_table *t, struct nvm_type result,
                              const struct nvm_type *parameters, uint32_t count, bool variadic);

/* The named struct; a new one is opaque. */
struct nvm_type type_named(struct type_table *t, struct nvm_str name);
/* Gives a named struct its body; the members are copied. False when out of memory. */
bool type_set_body(struct type_table *t, struct nvm_type named, const struct nvm_type *members,
                   uint32_t count, bool packed);

/* Member i of a struct, parameter i of a function type. */
static inline struct nvm_type type_member(const struct type_table *t, struct nvm_type ty,
                                          uint32_t i) {
  return t->members.data[t->infos.data[ty.index].first_member + i];
}
/* The type of element i of a vector, array or struct; TYPE_NONE for other types and beyond the
 * members of a struct. Vectors and arrays answer for any i. */
struct nvm_type type_element(const struct type_table *t, struct nvm_type ty, uint64_t i);
/* The element type of a vector, else the type itself. */
static inline struct nvm_type type_scalar(const struct type_table *t, struct nvm_type ty) {
  return type_kind(t, ty) == TY_VECTOR ? type_info(t, ty)->element : ty;
}
/* A vector of these elements with `like`'s length, or the scalar if `like` is not a vector. */
struct nvm_type type_with_lanes_of(struct type_table *t, struct nvm_type scalar,
                                   struct nvm_type like);

/* Whether the type itself is of that kind; an aggregate is an array or struct. */
static inline bool type_is_int(const struct type_table *t, struct nvm_type ty) {
  return type_kind(t, ty) == TY_INT;
}
static inline bool type_is_float(const struct type_table *t, struct nvm_type ty) {
  return type_kind(t, ty) >= TY_HALF && type_kind(t, ty) <= TY_DOUBLE;
}
static inline bool type_is_ptr(const struct type_table *t, struct nvm_type ty) {
  return type_kind(t, ty) == TY_PTR;
}
static inline bool type_is_vector(const struct type_table *t, struct nvm_type ty) {
  return type_kind(t, ty) == TY_VECTOR;
}
static inline bool type_is_aggregate(const struct type_table *t, struct nvm_type ty) {
  return type_kind(t, ty) == TY_ARRAY || type_kind(t, ty) == TY_STRUCT;
}
/* Whether the type is an integer (float, pointer) or a vector of them. */
static inline bool type_is_int_or_vector(const struct type_table *t, struct nvm_type ty) {
  return type_is_int(t, type_scalar(t, ty));
}
static inline bool type_is_float_or_vector(const struct type_table *t, struct nvm_type ty) {
  return type_is_float(t, type_scalar(t, ty));
}
static inline bool type_is_ptr_or_vector(const struct type_table *t, struct nvm_type ty) {
  return type_is_ptr(t, type_scalar(t, ty));
}
/* Whether it can be the type of a result or operand (not void, label, function, opaque). */
bool type_is_first_class(const struct type_table *t, struct nvm_type ty);
/* Whether it has a size (not a function, void, opaque struct, nor anything that contains one, or
 * itself). */
bool type_is_sized(const struct type_table *t, struct nvm_type ty);
/* Bits of an integer or float; 0 for all others (pointers depend on the layout). */
static inline uint32_t type_scalar_bits(const struct type_table *t, struct nvm_type ty) {
  static const uint8_t float_bits[TY_KIND_COUNT] = {
      [TY_HALF] = 16, [TY_BFLOAT] = 16, [TY_FLOAT] = 32, [TY_DOUBLE] = 64};
  const struct type_info *info = type_info(t, ty);
  return info->kind == TY_INT ? info->width : float_bits[info->kind];
}

/* Prints the type: `{ i32, ptr addrspace(1) }`, `%struct.foo`. */
void type_print(const struct type_table *t, struct nvm_type ty, struct textbuf *out);
/* Prints the members of a struct, even if it is named. */
void type_print_body(const struct type_table *t, struct nvm_type ty, struct textbuf *out);

#endif
