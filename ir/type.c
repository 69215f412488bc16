/* Types as interned records.
 *
 * Types are identified by structure, except named structs, which are identified by name and may
 * have no body. Only a named struct can contain itself, so walks over structs guard against cycles
 * (type_is_sized) and against depth (TYPE_MAX_DEPTH). */
#include "ir/type.h"

#include "ir/intern.h"

/* The key of a lookup: a record whose members are not yet in the table. */
struct type_probe {
  struct type_info info;
  const struct nvm_type *members;
};

static bool kind_has_members(enum type_kind kind) {
  return kind == TY_STRUCT || kind == TY_FUNCTION;
}

static uint32_t type_hash(const struct type_info *info, const struct nvm_type *members) {
  uint32_t h = hash_mix(info->kind, (uint64_t)info->flags << 32 | info->width);
  h = hash_mix(h, (uint64_t)info->element.index << 32 | (uint32_t)info->count);
  h = hash_mix(h, info->count >> 32);
  if (kind_has_members((enum type_kind)info->kind))
    for (uint64_t i = 0; i < info->count; i++) h = hash_mix(h, members[i].index);
  return h;
}

static bool type_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct type_table *t = table;
  const struct type_info *info = &t->infos.data[k];
  if (info->name.index != 0) return false;
  *hash = type_hash(info, t->members.data + info->first_member);
  return true;
}

static bool named_hash_record(const void *table, uint32_t k, uint32_t *hash) {
  const struct type_table *t = table;
  *hash = hash_mix(0, type_info(t, t->named.data[k - 1])->name.index);
  return true;
}

static bool type_matches(const struct type_table *t, uint32_t k, const struct type_probe *p) {
  const struct type_info *a = &t->infos.data[k], *b = &p->info;
  if (a->kind != b->kind || a->flags != b->flags || a->width != b->width ||
      a->element.index != b->element.index || a->count != b->count)
    return false;
  if (!kind_has_members((enum type_kind)a->kind) || a->count == 0) return true;
  return memcmp(t->members.data + a->first_member, p->members,
                (size_t)a->count * sizeof *p->members) == 0;
}

static struct nvm_type type_find(const struct type_table *t, const struct type_probe *p,
                                 uint32_t hash) {
  uint32_t mask = t->slot_count - 1;
  for (uint32_t i = hash & mask; t->slots[i]; i = (i + 1) & mask)
    if (type_matches(t, t->slots[i], p)) return (struct nvm_type){t->slots[i]};
  return TYPE_NONE;
}

/* Copies members to the pool. */
static bool members_add(struct type_table *t, const struct nvm_type *members, uint64_t count,
                        uint32_t *first) {
  size_t offset = pool_offset(members, t->members.data, t->members.count * sizeof *members);
  if (!VEC_RESERVE(t->arena, &t->members, t->members.count + count)) return false;
  *first = t->members.count;
  if (count == 0) return true;
  members = pool_rebase(members, offset, t->members.data);
  memcpy(t->members.data + t->members.count, members, (size_t)count * sizeof *members);
  t->members.count += (uint32_t)count;
  return true;
}

static struct nvm_type type_append(struct type_table *t, struct type_info info) {
  struct type_memo memo = {0};
  if (!VEC_RESERVE(t->arena, &t->infos, (uint64_t)t->infos.count + 1)) return TYPE_NONE;
  if (!VEC_PUSH(t->arena, &t->memos, memo)) return TYPE_NONE;
  t->infos.data[t->infos.count] = info;
  return (struct nvm_type){t->infos.count++};
}

static struct nvm_type type_intern(struct type_table *t, struct type_probe p) {
  uint32_t hash = type_hash(&p.info, p.members);
  struct nvm_type found = type_find(t, &p, hash);
  if (found.index) return found;
  if (!intern_room(t->arena, &t->slots, &t->slot_count, 1, t->infos.count, type_hash_record, t))
    return TYPE_NONE;
  if (kind_has_members((enum type_kind)p.info.kind) &&
      !members_add(t, p.members, p.info.count, &p.info.first_member))
    return TYPE_NONE;
  struct nvm_type made = type_append(t, p.info);
  if (made.index) intern_enter(t->slots, t->slot_count, hash, made.index);
  return made;
}

static struct nvm_type type_intern_simple(struct type_table *t, enum type_kind kind,
                                          uint32_t width) {
  return type_intern(t, (struct type_probe){.info = {.kind = (uint8_t)kind, .width = width}});
}

/* The types with constant handles in type.h, in order from 1. */
static const struct {
  enum type_kind kind;
  uint32_t width;
} first_types[] = {
    {TY_VOID, 0},  {TY_LABEL, 0},  {TY_METADATA, 0}, {TY_TOKEN, 0}, {TY_INT, 1},  {TY_INT, 8},
    {TY_INT, 16},  {TY_INT, 32},   {TY_INT, 64},     {TY_INT, 128}, {TY_HALF, 0}, {TY_BFLOAT, 0},
    {TY_FLOAT, 0}, {TY_DOUBLE, 0}, {TY_PTR, 0},      {TY_PTR, 1},   {TY_PTR, 2},  {TY_PTR, 3},
    {TY_PTR, 4},   {TY_PTR, 5},    {TY_PTR, 6},      {TY_PTR, 7},
};
_Static_assert(sizeof first_types / sizeof *first_types == TYPE_FIRST_DERIVED - 1,
               "every constant handle has its row");

bool type_table_init(struct type_table *t, struct arena *arena, struct strtab *strings) {
  *t = (struct type_table){.arena = arena, .strings = strings};
  t->layout_key = arena_alloc(arena, sizeof *t->layout_key);
  if (!t->layout_key) return false;
  struct nvm_type member = {0};
  if (!VEC_PUSH(arena, &t->members, member)) return false;
  if (!VEC_RESERVE(arena, &t->infos, TYPE_FIRST_DERIVED)) return false;
  type_append(t, (struct type_info){.kind = TY_NONE});
  if (!intern_room(arena, &t->slots, &t->slot_count, 1, 1, type_hash_record, t)) return false;
  for (uint32_t k = 0; k < TYPE_FIRST_DERIVED - 1; k++)
    if (type_intern_simple(t, first_types[k].kind, first_types[k].width).index != k + 1)
      return false;
  return intern_room(arena, &t->named_slots, &t->named_slot_count, 1, 1, named_hash_record, t);
}

struct nvm_type type_int(struct type_table *t, uint32_t bits) {
  switch (bits) {
    case 1: return TYPE_I1;
    case 8: return TYPE_I8;
    case 16: return TYPE_I16;
    case 32: return TYPE_I32;
    case 64: return TYPE_I64;
    default: return type_intern_simple(t, TY_INT, bits);
  }
}

struct nvm_type type_ptr(struct type_table *t, uint32_t address_space) {
  if (address_space <= TYPE_NEAR_SPACES) return (struct nvm_type){TYPE_PTR.index + address_space};
  return type_intern_simple(t, TY_PTR, address_space);
}

static struct nvm_type type_sequence(struct type_table *t, enum type_kind kind,
                                     struct nvm_type element, uint64_t count) {
  struct type_info info = {.kind = (uint8_t)kind, .element = element, .count = count};
  return type_intern(t, (struct type_probe){.info = info});
}

struct nvm_type type_vector(struct type_table *t, struct nvm_type element, uint64_t lanes) {
  return type_sequence(t, TY_VECTOR, element, lanes);
}

struct nvm_type type_array(struct type_table *t, struct nvm_type element, uint64_t count) {
  return type_sequence(t, TY_ARRAY, element, count);
}

struct nvm_type type_struct(struct type_table *t, const struct nvm_type *members, uint32_t count,
                            bool packed) {
  struct type_info info = {.kind = TY_STRUCT, .flags = packed ? TYPE_PACKED : 0, .count = count};
  return type_intern(t, (struct type_probe){info, members});
}

struct nvm_type type_function(struct type_table *t, struct nvm_type result,
                              const struct nvm_type *parameters, uint32_t count, bool variadic) {
  struct type_info info = {.kind = TY_FUNCTION,
                           .flags = variadic ? TYPE_VARIADIC : 0,
                           .element = result,
                           .count = count};
  return type_intern(t, (struct type_probe){info, parameters});
}

struct nvm_type type_named(struct type_table *t, struct nvm_str name) {
  uint32_t hash = hash_mix(0, name.index), mask = t->named_slot_count - 1;
  for (uint32_t i = hash & mask; t->named_slots[i]; i = (i + 1) & mask) {
    struct nvm_type ty = t->named.data[t->named_slots[i] - 1];
    if (type_info(t, ty)->name.index == name.index) return ty;
  }
  uint32_t end = t->named.count + 1;
  if (!intern_room(t->arena, &t->named_slots, &t->named_slot_count, 1, end, named_hash_record, t) ||
      !VEC_RESERVE(t->arena, &t->named, end))
    return TYPE_NONE;
  struct type_info info = {.kind = TY_STRUCT, .flags = TYPE_OPAQUE, .name = name};
  struct nvm_type made = type_append(t, info);
  if (made.index == 0) return TYPE_NONE;
  t->named.data[t->named.count++] = made;
  intern_enter(t->named_slots, t->named_slot_count, hash, end);
  return made;
}

bool type_set_body(struct type_table *t, struct nvm_type named, const struct nvm_type *members,
                   uint32_t count, bool packed) {
  uint32_t first;
  if (named.index == 0 || !members_add(t, members, count, &first)) return false;
  struct type_info *info = &t->infos.data[named.index];
  info->flags = packed ? TYPE_PACKED : 0;
  info->first_member = first;
  info->count = count;
  t->body_count++;
  return true;
}

struct nvm_type type_element(const struct type_table *t, struct nvm_type ty, uint64_t i) {
  const struct type_info *info = type_info(t, ty);
  if (info->kind == TY_VECTOR || info->kind == TY_ARRAY) return info->element;
  if (info->kind == TY_STRUCT && i < info->count) return type_member(t, ty, (uint32_t)i);
  return TYPE_NONE;
}

struct nvm_type type_with_lanes_of(struct type_table *t, struct nvm_type scalar,
                                   struct nvm_type like) {
  const struct type_info *info = type_info(t, like);
  return info->kind == TY_VECTOR ? type_vector(t, scalar, info->count) : scalar;
}

/* Properties of the kinds. */
static const struct kind_info {
  const char *word;      /* the text of a simple type */
  bool first_class;      /* a value may have it */
  bool scalar_in_memory; /* a scalar with a size */
} kinds[TY_KIND_COUNT + 1] = {
    [TY_NONE] = {"<no type>", false, false}, [TY_VOID] = {"void", false, false},
    [TY_LABEL] = {"label", false, false},    [TY_METADATA] = {"metadata", true, false},
    [TY_TOKEN] = {"token", true, false},     [TY_INT] = {"i", true, true},
    [TY_HALF] = {"half", true, true},        [TY_BFLOAT] = {"bfloat", true, true},
    [TY_FLOAT] = {"float", true, true},      [TY_DOUBLE] = {"double", true, true},
    [TY_PTR] = {"ptr", true, true},          [TY_VECTOR] = {"<", true, false},
    [TY_ARRAY] = {"[", true, false},         [TY_STRUCT] = {"{", true, false},
    [TY_FUNCTION] = {"", false, false},
};

bool type_is_first_class(const struct type_table *t, struct nvm_type ty) {
  const struct type_info *info = type_info(t, ty);
  return kinds[info->kind].first_class && !(info->kind == TY_STRUCT && info->flags & TYPE_OPAQUE);
}

/* The nesting levels of a sized type, 0 for one without size, TYPE_MAX_DEPTH + 1 if too deep.
 * `level` is the recursion depth. A type that is already being measured contains itself. */
static uint32_t type_depth(const struct type_table *t, struct nvm_type ty, uint32_t level);

static uint32_t members_depth(const struct type_table *t, struct nvm_type ty, uint32_t level) {
  const struct type_info *info = type_info(t, ty);
  uint32_t deepest = 0;
  if (info->flags & TYPE_OPAQUE) return 0;
  for (uint32_t i = 0; i < info->count; i++) {
    uint32_t depth = type_depth(t, type_member(t, ty, i), level + 1);
    if (depth == 0 || depth > TYPE_MAX_DEPTH) return depth;
    if (depth > deepest) deepest = depth;
  }
  return deepest + 1;
}

static uint32_t composite_depth(const struct type_table *t, struct nvm_type ty, uint32_t level) {
  if (type_kind(t, ty) == TY_STRUCT) return members_depth(t, ty, level);
  uint32_t depth = type_depth(t, type_info(t, ty)->element, level + 1);
  return depth == 0 ? 0 : depth + 1;
}

static uint32_t type_depth_memo(const struct type_table *t, struct nvm_type ty, uint32_t level) {
  struct type_memo *memo = &t->memos.data[ty.index];
  if (memo->state == TYPE_SIZE_SIZED) return memo->depth;
  if (memo->state == TYPE_SIZE_BUSY) return 0;
  if (memo->state == TYPE_SIZE_UNSIZED && memo->bodies == t->body_count) return 0;
  if (level >= TYPE_MAX_DEPTH) return TYPE_MAX_DEPTH + 1;
  memo->state = TYPE_SIZE_BUSY;
  uint32_t depth = composite_depth(t, ty, level);
  memo->state = TYPE_SIZE_UNKNOWN;
  if (depth > TYPE_MAX_DEPTH) return TYPE_MAX_DEPTH + 1;
  memo->state = depth ? TYPE_SIZE_SIZED : TYPE_SIZE_UNSIZED;
  memo->depth = (uint16_t)depth;
  memo->bodies = t->body_count;
  return depth;
}

static uint32_t type_depth(const struct type_table *t, struct nvm_type ty, uint32_t level) {
  enum type_kind kind = type_kind(t, ty);
  bool composite = kind == TY_VECTOR || kind == TY_ARRAY || kind == TY_STRUCT;
  return composite ? type_depth_memo(t, ty, level) : kinds[kind].scalar_in_memory;
}

bool type_is_sized(const struct type_table *t, struct nvm_type ty) {
  uint32_t depth = type_depth(t, ty, 0);
  return depth != 0 && depth <= TYPE_MAX_DEPTH;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '.' ||
         c == '_';
}

/* Numbers and plain words are not quoted, as in LLVM. */
static bool name_is_plain(struct nvm_text name) {
  bool number = true, word = !is_digit(name.bytes[0]);
  for (size_t i = 0; i < name.length; i++) {
    number = number && is_digit(name.bytes[i]);
    word = word && is_name_char(name.bytes[i]);
  }
  return number || word;
}

static void print_struct_name(struct nvm_text name, struct textbuf *out) {
  textbuf_char(out, '%');
  if (name_is_plain(name)) {
    textbuf_text(out, name);
    return;
  }
  textbuf_char(out, '"');
  for (size_t i = 0; i < name.length; i++) {
    unsigned char c = (unsigned char)name.bytes[i];
    if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') {
      textbuf_char(out, (char)c);
    } else {
      textbuf_char(out, '\\');
      textbuf_hex(out, c, 2, true);
    }
  }
  textbuf_char(out, '"');
}

static void print_members(const struct type_table *t, struct nvm_type ty, struct textbuf *out) {
  for (uint32_t i = 0; i < type_info(t, ty)->count; i++) {
    if (i) textbuf_puts(out, ", ");
    type_print(t, type_member(t, ty, i), out);
  }
}

void type_print_body(const struct type_table *t, struct nvm_type ty, struct textbuf *out) {
  const struct type_info *info = type_info(t, ty);
  bool packed = info->flags & TYPE_PACKED;
  textbuf_puts(out, packed ? "<{" : "{");
  if (info->count) {
    textbuf_char(out, ' ');
    print_members(t, ty, out);
    textbuf_char(out, ' ');
  }
  textbuf_puts(out, packed ? "}>" : "}");
}

static void print_sequence(const struct type_table *t, struct nvm_type ty, struct textbuf *out) {
  const struct type_info *info = type_info(t, ty);
  bool array = info->kind == TY_ARRAY;
  textbuf_format(out, "%c%U x ", array ? '[' : '<', info->count);
  type_print(t, info->element, out);
  textbuf_char(out, array ? ']' : '>');
}

static void print_function_type(const struct type_table *t, struct nvm_type ty,
                                struct textbuf *out) {
  const struct type_info *info = type_info(t, ty);
  type_print(t, info->element, out);
  textbuf_puts(out, " (");
  print_members(t, ty, out);
  if (info->flags & TYPE_VARIADIC) textbuf_puts(out, info->count ? ", ..." : "...");
  textbuf_char(out, ')');
}

void type_print(const struct type_table *t, struct nvm_type ty, struct textbuf *out) {
  const struct type_info *info = type_info(t, ty);
  switch ((int)info->kind) {
    case TY_INT: textbuf_format(out, "i%u", info->width); break;
    case TY_PTR:
      textbuf_puts(out, "ptr");
      if (info->width) textbuf_format(out, " addrspace(%u)", info->width);
      break;
    case TY_VECTOR:
    case TY_ARRAY: print_sequence(t, ty, out); break;
    case TY_STRUCT:
      if (info->name.index) print_struct_name(strtab_text(t->strings, info->name), out);
      else type_print_body(t, ty, out);
      break;
    case TY_FUNCTION: print_function_type(t, ty, out); break;
    default: textbuf_puts(out, kinds[info->kind].word); break;
  }
}
