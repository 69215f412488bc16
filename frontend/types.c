/* Types as written. Typed pointers become ptr; the written type keeps the pointee for checks and
 * older attributes. Names may precede their definitions. */
#include "frontend/types.h"

#include "frontend/names.h"
#include "frontend/report.h"
#include "frontend/values.h"

struct types {
  VEC(struct nvm_type) aliased_types; /* by string: the meaning of `%T = type i32` */
  VEC(uint32_t) type_uses;            /* by string: begin of the first use before the definition */
  VEC(uint32_t) type_places;          /* by string: begin of the definition + 1 */
  VEC(uint32_t) type_depths;          /* by type: nesting depth, 0: not computed yet */
};

bool types_init(struct parser *p) {
  return (p->type_tables = arena_alloc(&p->scratch, sizeof *p->type_tables)) != NULL;
}

static struct written_type written(struct nvm_type type, uint32_t begin, uint32_t end) {
  return (struct written_type){.type = type, .begin = begin, .end = end};
}

static enum type_kind kind_of(const struct parser *p, struct nvm_type type) {
  return type_kind(&p->m->types, type);
}

void types_push(struct parser *p, struct list *l, const struct written_type *t) {
  if (VEC_PUSH(&p->scratch, &p->types, t->type)) l->count++;
}

struct written_type types_pointer(struct parser *p, const struct written_type *to, uint64_t space,
                                  uint32_t end) {
  enum type_kind kind = kind_of(p, to->type);
  if (kind == TY_VOID || kind == TY_LABEL || kind == TY_METADATA || kind == TY_TOKEN)
    report(p, DIAG_BAD_TYPE, to->begin, to->end, report_type(p, to->type), "pointed to", NULL);
  if (space > PARSE_MAX_NUMBER) {
    report(p, DIAG_NUMBER_TOO_LARGE, to->end, end, report_number(p, space), NULL, NULL);
    space = 0;
  }
  struct written_type t = written(type_ptr(&p->m->types, (uint32_t)space), to->begin, end);
  t.pointee = to->type;
  return t;
}

/* Whether the type can be an element or member; reports if not. */
static bool check_element(struct parser *p, struct nvm_type type, uint32_t begin, uint32_t end,
                          const char *as) {
  enum type_kind kind = kind_of(p, type);
  bool bad = kind == TY_VOID || kind == TY_LABEL || kind == TY_METADATA || kind == TY_TOKEN ||
             kind == TY_FUNCTION || kind == TY_NONE;
  if (bad) report(p, DIAG_BAD_TYPE, begin, end, report_type(p, type), as, NULL);
  return !bad;
}

/* The nesting depth of the type; named types are included when the module is complete. */
static uint32_t depth_of(const struct parser *p, struct nvm_type type) {
  return type.index < p->type_tables->type_depths.count
             ? p->type_tables->type_depths.data[type.index]
             : 0;
}

/* Notes that `type` holds types nested `inner` deep; false after a report. */
static bool nest(struct parser *p, struct nvm_type type, uint32_t inner, uint32_t begin,
                 uint32_t end) {
  if (!VEC_RESERVE(&p->scratch, &p->type_tables->type_depths, (uint64_t)type.index + 1))
    return false;
  if (p->type_tables->type_depths.count <= type.index)
    p->type_tables->type_depths.count = type.index + 1;
  p->type_tables->type_depths.data[type.index] = inner + 1;
  if (inner < PARSE_MAX_TYPE_NESTING) return true;
  if (inner == PARSE_MAX_TYPE_NESTING)
    report(p, DIAG_TYPE_TOO_DEEP, begin, end, report_type(p, type),
           report_number(p, PARSE_MAX_TYPE_NESTING), NULL);
  return false;
}

struct written_type types_sequence(struct parser *p, const struct token *count,
                                   const struct written_type *element, bool vector, uint32_t begin,
                                   uint32_t end) {
  uint64_t number;
  struct type_table *t = &p->m->types;
  if (!values_number(p, count, vector ? UINT64_MAX : UINT64_MAX / 16, &number) ||
      !check_element(p, element->type, element->begin, element->end,
                     vector ? "an element of a vector" : "an element of an array"))
    return written(TYPE_I8, begin, end);
  if (!vector) {
    struct nvm_type array = type_array(t, element->type, number);
    bool ok = nest(p, array, depth_of(p, element->type), begin, end);
    return written(ok ? array : TYPE_I8, begin, end);
  }
  enum type_kind kind = kind_of(p, element->type);
  if (kind != TY_INT && kind != TY_PTR && (kind < TY_HALF || kind > TY_DOUBLE)) {
    report(p, DIAG_BAD_TYPE, element->begin, element->end, report_type(p, element->type),
           "an element of a vector", NULL);
    return written(TYPE_I8, begin, end);
  }
  if (number == 0 || number > PARSE_MAX_VECTOR_LANES) {
    report(p, DIAG_VECTOR_LANES, begin, end, report_number(p, number),
           report_number(p, PARSE_MAX_VECTOR_LANES), NULL);
    number = 1;
  }
  struct written_type result = written(type_vector(t, element->type, number), begin, end);
  result.pointee = element->pointee;
  return result;
}

struct written_type types_empty_struct(struct parser *p, bool packed, uint32_t begin,
                                       uint32_t end) {
  return written(type_struct(&p->m->types, NULL, 0, packed), begin, end);
}

struct written_type types_struct(struct parser *p, struct list l, bool packed, uint32_t begin,
                                 uint32_t end) {
  uint32_t deepest = 0;
  for (uint32_t i = 0; i < l.count; i++) {
    struct nvm_type *member = &p->types.data[l.first + i];
    if (!check_element(p, *member, begin, end, "a member of a struct")) *member = TYPE_I8;
    uint32_t depth = depth_of(p, *member);
    if (depth > deepest) deepest = depth;
  }
  p->types.count = l.first;
  const struct nvm_type *members = p->types.data ? p->types.data + l.first : NULL;
  struct nvm_type type = type_struct(&p->m->types, members, l.count, packed);
  return written(nest(p, type, deepest, begin, end) ? type : TYPE_I8, begin, end);
}

struct written_type types_function(struct parser *p, const struct written_type *result,
                                   struct list l, bool variadic, uint32_t end) {
  enum type_kind kind = kind_of(p, result->type);
  struct written_type bad = written(TYPE_VOID, result->begin, end);
  p->types.count = l.first;
  if (kind == TY_FUNCTION || kind == TY_LABEL || kind == TY_METADATA) {
    report(p, DIAG_BAD_TYPE, result->begin, result->end, report_type(p, result->type),
           "the result of a function", NULL);
    return bad;
  }
  const struct nvm_type *parameters = p->types.data ? p->types.data + l.first : NULL;
  for (uint32_t i = 0; i < l.count; i++) {
    kind = kind_of(p, parameters[i]);
    if (kind == TY_VOID || kind == TY_FUNCTION) {
      report(p, DIAG_BAD_TYPE, result->end, end, report_type(p, parameters[i]),
             "a parameter of a function", NULL);
      return bad;
    }
  }
  return written(type_function(&p->m->types, result->type, parameters, l.count, variadic),
                 result->begin, end);
}

/* ---- Named types ---- */

/* The type that `%T = type i32` gives a name; TYPE_NONE for structs. */
static struct nvm_type *alias_slot(struct parser *p, struct nvm_str name) {
  if (!VEC_RESERVE(&p->scratch, &p->type_tables->aliased_types, (uint64_t)name.index + 1))
    return NULL;
  if (p->type_tables->aliased_types.count <= name.index)
    p->type_tables->aliased_types.count = name.index + 1;
  return &p->type_tables->aliased_types.data[name.index];
}

/* Begin of the first use + 1 of a type not defined yet; from 1 << 31 on once defined. */
static uint32_t *use_slot(struct parser *p, struct nvm_str name) {
  if (!VEC_RESERVE(&p->scratch, &p->type_tables->type_uses, (uint64_t)name.index + 1)) return NULL;
  if (p->type_tables->type_uses.count <= name.index)
    p->type_tables->type_uses.count = name.index + 1;
  return &p->type_tables->type_uses.data[name.index];
}
enum { TYPE_DEFINED = UINT32_MAX };

struct written_type types_named(struct parser *p, const struct token *t) {
  struct nvm_str name = names_string(p, t);
  uint32_t begin = names_begin(p, t), end = p->token_end > begin ? p->token_end : begin + 1;
  uint32_t *use = use_slot(p, name);
  if (name.index < p->type_tables->aliased_types.count &&
      p->type_tables->aliased_types.data[name.index].index)
    return written(p->type_tables->aliased_types.data[name.index], begin, end);
  if (use && *use == 0) *use = begin + 1;
  return written(type_named(&p->m->types, name), begin, begin + t->length + 1);
}

void types_define(struct parser *p, const struct token *t, const struct written_type *body) {
  struct type_table *types = &p->m->types;
  struct nvm_str name = names_string(p, t);
  uint32_t *use = use_slot(p, name);
  uint32_t begin = names_begin(p, t);
  if (!use) return;
  if (*use == TYPE_DEFINED) {
    report_token(p, DIAG_REDEFINED, begin, NULL, NULL);
    return;
  }
  bool is_struct =
      body && kind_of(p, body->type) == TY_STRUCT && type_info(types, body->type)->name.index == 0;
  if (body && !is_struct) {
    if (*use != 0) report_token(p, DIAG_TYPE_TOO_EARLY, *use - 1, NULL, NULL);
    struct nvm_type *alias = alias_slot(p, name);
    if (alias) *alias = body->type;
  } else {
    struct nvm_type type = type_named(types, name);
    if (body) {
      uint32_t count = (uint32_t)type_info(types, body->type)->count;
      p->types.count = 0;
      for (uint32_t i = 0; i < count; i++)
        VEC_PUSH(&p->scratch, &p->types, type_member(types, body->type, i));
      if (p->types.count == count)
        type_set_body(types, type, p->types.data, count,
                      type_info(types, body->type)->flags & TYPE_PACKED);
      p->types.count = 0;
    }
  }
  *use = TYPE_DEFINED;
  if (!VEC_RESERVE(&p->scratch, &p->type_tables->type_places, (uint64_t)name.index + 1)) return;
  if (p->type_tables->type_places.count <= name.index)
    p->type_tables->type_places.count = name.index + 1;
  p->type_tables->type_places.data[name.index] = begin + 1;
}

/* ---- The end of the module: all named types exist, none contains itself, none is too deep ---- */

/* Depth-first search of contained types, without recursion. depth[t]: 0 not visited, ON_PATH, or
 * its nesting depth. */
enum { ON_PATH = UINT32_MAX };
struct walk {
  struct parser *p;
  uint32_t *depth;
  VEC(struct {
    struct nvm_type type;
    uint64_t next;
    uint32_t deepest;
  })
  path;
};

static bool contains_types(const struct parser *p, struct nvm_type type) {
  enum type_kind kind = kind_of(p, type);
  return kind == TY_STRUCT || kind == TY_ARRAY || kind == TY_VECTOR;
}

static void report_named(struct parser *p, enum diag_id id, struct nvm_type type, const char *a1) {
  struct nvm_str name = type_info(&p->m->types, type)->name;
  uint32_t at = name.index < p->type_tables->type_places.count
                    ? p->type_tables->type_places.data[name.index]
                    : 0;
  uint32_t begin = at ? at - 1 : 0, end = 0;
  if (at) end = begin + 1 + (uint32_t)module_text(p->m, name).length;
  report(p, id, begin, end, report_type(p, type), a1, NULL);
}

static bool walk_enter(struct walk *w, struct nvm_type type) {
  struct parser *p = w->p;
  if (!contains_types(p, type)) return true;
  if (w->depth[type.index] == ON_PATH) {
    report_named(p, DIAG_TYPE_RECURSIVE, type, NULL);
    return false;
  }
  if (w->depth[type.index] != 0) return true;
  if (!VEC_RESERVE(&p->scratch, &w->path, (uint64_t)w->path.count + 1)) return false;
  w->path.data[w->path.count].type = type;
  w->path.data[w->path.count].next = 0;
  w->path.data[w->path.count++].deepest = 0;
  w->depth[type.index] = ON_PATH;
  return true;
}

/* One step of the search: enters the next contained type, or leaves the one on top. False after an
 * error. */
static bool walk_step(struct walk *w) {
  struct parser *p = w->p;
  uint32_t top = w->path.count - 1;
  struct nvm_type type = w->path.data[top].type;
  const struct type_info *info = type_info(&p->m->types, type);
  uint64_t count = info->kind == TY_STRUCT ? info->count : 1;
  if (w->path.data[top].next < count) {
    uint64_t k = w->path.data[top].next;
    struct nvm_type inner =
        info->kind == TY_STRUCT ? type_member(&p->m->types, type, (uint32_t)k) : info->element;
    if (contains_types(p, inner) && w->depth[inner.index] != 0 &&
        w->depth[inner.index] != ON_PATH) {
      if (w->depth[inner.index] > w->path.data[top].deepest)
        w->path.data[top].deepest = w->depth[inner.index];
      w->path.data[top].next++;
      return true;
    }
    if (!contains_types(p, inner)) {
      w->path.data[top].next++;
      return true;
    }
    return walk_enter(w, inner);
  }
  uint32_t depth = w->path.data[top].deepest + 1;
  bool named = info->name.index != 0;
  if (depth > PARSE_MAX_TYPE_NESTING && named) {
    report_named(p, DIAG_TYPE_TOO_DEEP, type, report_number(p, PARSE_MAX_TYPE_NESTING));
    return false;
  }
  w->depth[type.index] = depth;
  w->path.count--;
  return true;
}

void types_finish(struct parser *p) {
  struct type_table *t = &p->m->types;
  for (uint32_t i = 0; i < t->named.count; i++) {
    struct nvm_str name = type_info(t, t->named.data[i])->name;
    uint32_t use = name.index < p->type_tables->type_uses.count
                       ? p->type_tables->type_uses.data[name.index]
                       : 0;
    if (use != 0 && use != TYPE_DEFINED) report_token(p, DIAG_UNDEFINED_TYPE, use - 1, NULL, NULL);
  }
  struct walk w = {.p = p};
  w.depth = arena_alloc(&p->scratch, (size_t)t->infos.count * sizeof *w.depth);
  if (!w.depth) return;
  for (uint32_t i = 1; i < t->infos.count; i++) {
    if (!walk_enter(&w, (struct nvm_type){i})) return;
    while (w.path.count > 0)
      if (!walk_step(&w)) return;
  }
}
