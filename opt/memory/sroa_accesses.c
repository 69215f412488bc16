/* Splits accesses that sroa cannot handle directly:
 *
 *   load {T, U} of a variable,       a load of each member, combined by insertvalue
 *     or of which only members are used
 *   store {T, U} to a variable       a store of each member, from extractvalue or insertvalue
 *   extractvalue of insertvalue      the inserted value
 *   load of select c, &a, &b         select c, load a, load b; a store stores to both. For a load,
 *                                    one of them may be another address that was loaded from before
 *
 * New instructions come before the replaced one. */
#include <string.h>

#include "analysis/alias.h"
#include "opt/memory/sroa.h"

enum {
  MAX_MEMBERS = 128, /* of a struct that is loaded or stored */
  MAX_DEPTH = 16,    /* nesting of structs */
};

/* --- Whole structs --- */

struct member {
  struct nvm_type type;
  uint64_t offset;
  uint32_t path[MAX_DEPTH], depth;
};
typedef struct {
  struct member list[MAX_MEMBERS];
  uint32_t count;
} member_list;

/* Lists the scalars and vectors in a struct or array. False if there are too many. */
static bool list_members(const struct splitter *s, const struct member *at, member_list *out) {
  const struct type_table *t = &s->m->types;
  const struct type_info *info = type_info(t, at->type);
  if (!type_is_aggregate(t, at->type)) {
    if (out->count == MAX_MEMBERS) return false;
    out->list[out->count++] = *at;
    return true;
  }
  if (at->depth == MAX_DEPTH || info->count > MAX_MEMBERS) return false;
  for (uint32_t i = 0; i < info->count; i++) {
    struct member m = *at;
    m.type = type_element(t, at->type, i);
    m.offset += layout_element_offset(&s->m->layout, t, at->type, i);
    m.path[m.depth++] = i;
    if (!list_members(s, &m, out)) return false;
  }
  return true;
}

/* How the path of an insertvalue relates to the path searched for. */
enum relation { PLACE_APART, PLACE_SAME, PLACE_OTHER };

static enum relation compare_place(const struct splitter *s, const struct nvm_inst *insert,
                                   const uint32_t *path, uint32_t depth) {
  uint32_t length = insert->operand_count - 2;
  for (uint32_t k = 0; k < length && k < depth; k++) {
    nvm_u128 index = 0;
    const_is_int(s->m, inst_operand(s->f, insert, k + 2), &index);
    if (index != path[k]) return PLACE_APART;
  }
  return length == depth ? PLACE_SAME : PLACE_OTHER;
}

/* The member at `path` of v, if an insertvalue provides it. Otherwise VALUE_NULL, and *rest is the
 * aggregate that holds it. */
static struct nvm_value find_member(const struct splitter *s, struct nvm_value v,
                                    const uint32_t *path, uint32_t depth, struct nvm_value *rest) {
  for (int steps = 0; steps < 2 * MAX_MEMBERS; steps++) {
    *rest = v;
    if (value_kind(v) != VALUE_INST) break;
    const struct nvm_inst *i = &s->f->insts.data[value_index(v)];
    if (i->op != OP_INSERTVALUE || i->block.index == 0) break;
    enum relation where = compare_place(s, i, path, depth);
    if (where == PLACE_SAME) return inst_operand(s->f, i, 1);
    if (where == PLACE_OTHER) break;
    v = inst_operand(s->f, i, 0);
  }
  return VALUE_NULL;
}

static struct nvm_value constant_member(struct splitter *s, struct nvm_value v,
                                        const uint32_t *path, uint32_t depth) {
  for (uint32_t k = 0; k < depth && !value_is_none(v); k++) v = const_element(s->m, v, path[k]);
  return v;
}

static struct nvm_value take_member(struct splitter *s, struct nvm_value v,
                                    const struct member *m) {
  struct nvm_value rest, operands[MAX_DEPTH + 1];
  struct nvm_value found = find_member(s, v, m->path, m->depth, &rest);
  if (!value_is_none(found)) return found;
  if (value_kind(rest) == VALUE_CONST) {
    found = constant_member(s, rest, m->path, m->depth);
    if (!value_is_none(found)) return found;
  }
  operands[0] = rest;
  for (uint32_t k = 0; k < m->depth; k++) operands[k + 1] = const_int(s->m, TYPE_I32, m->path[k]);
  return builder_add(&s->b, OP_EXTRACTVALUE, 0, m->type, operands, m->depth + 1, 0);
}

/* The alignment of an access of the type, in bytes. */
static uint64_t access_align(const struct splitter *s, const struct nvm_inst *i,
                             struct nvm_type type) {
  return layout_written_align(&s->m->layout, &s->m->types, type,
                              memory_access_unpack(i->aux).align_log2);
}

static void split_struct_load(struct splitter *s, struct nvm_inst_id id,
                              const member_list *members) {
  struct nvm_type type = function_inst(s->f, id)->type;
  struct nvm_value pointer = inst_operand_at(s->f, id, 0);
  uint64_t align = access_align(s, function_inst(s->f, id), type);
  struct nvm_value whole = const_poison(s->m, type), operands[MAX_DEPTH + 2];
  for (uint32_t k = 0; k < members->count; k++) {
    const struct member *m = &members->list[k];
    struct nvm_value at = builder_offset(&s->b, pointer, (int64_t)m->offset);
    operands[0] = whole;
    operands[1] = builder_load(&s->b, m->type, at, sroa_aligned(sroa_align_at(align, m->offset)));
    for (uint32_t p = 0; p < m->depth; p++) operands[p + 2] = const_int(s->m, TYPE_I32, m->path[p]);
    whole = builder_add(&s->b, OP_INSERTVALUE, 0, type, operands, m->depth + 2, 0);
  }
  rewrite_set(&s->rewrite, id, whole);
}

static void split_struct_store(struct splitter *s, struct nvm_inst_id id,
                               const member_list *members) {
  struct nvm_value value = rewrite_get(&s->rewrite, inst_operand_at(s->f, id, 0));
  struct nvm_value pointer = inst_operand_at(s->f, id, 1);
  uint64_t align = access_align(s, function_inst(s->f, id), value_type(s->f, value));
  for (uint32_t k = 0; k < members->count; k++) {
    const struct member *m = &members->list[k];
    struct nvm_value v = take_member(s, value, m);
    struct nvm_value at = builder_offset(&s->b, pointer, (int64_t)m->offset);
    builder_store(&s->b, v, at, sroa_aligned(sroa_align_at(align, m->offset)));
  }
  inst_remove(s->f, id);
}

/* `extracted`: by load, how many extractvalues read it. */
static bool split_struct_access(struct splitter *s, struct nvm_inst_id id,
                                const uint32_t *extracted) {
  const struct nvm_inst *i = function_inst(s->f, id);
  bool load = i->op == OP_LOAD;
  struct nvm_type type = effects_accessed_type(s->f, i);
  bool by_members = load && extracted[id.index] && extracted[id.index] == s->f->uses.data[id.index];
  if (!type_is_aggregate(&s->m->types, type) || !effects_is_plain_access(i) ||
      !(by_members || sroa_is_in_variable(s, inst_operand(s->f, i, load ? 0 : 1))))
    return false;
  member_list members = {.count = 0};
  struct member root = {.type = type};
  if (!list_members(s, &root, &members) || members.count == 0) return false;
  s->b = builder_replacing(s->f, id);
  if (load) split_struct_load(s, id, &members);
  else split_struct_store(s, id, &members);
  return true;
}

/* Replaces extractvalue, or a chain of them, of a member that an insertvalue provides. */
static bool look_through(struct splitter *s, struct nvm_inst_id id) {
  uint32_t path[MAX_DEPTH], depth = 0;
  struct nvm_value rest, whole = value_of_inst(id);
  for (const struct nvm_inst *i; value_kind(whole) == VALUE_INST;
       whole = rewrite_get(&s->rewrite, inst_operand(s->f, i, 0))) {
    i = function_inst(s->f, value_inst_id(whole));
    uint32_t own = i->operand_count - 1;
    if (i->op != OP_EXTRACTVALUE) break;
    if (depth + own > MAX_DEPTH) return false;
    memmove(path + own, path, depth * sizeof *path);
    for (uint32_t k = 0; k < own; k++) {
      nvm_u128 index = 0;
      const_is_int(s->m, inst_operand(s->f, i, k + 1), &index);
      path[k] = (uint32_t)index;
    }
    depth += own;
  }
  struct nvm_value found = find_member(s, whole, path, depth, &rest);
  if (value_is_none(found)) return false;
  found = rewrite_get(&s->rewrite, found);
  if (value_equal(found, value_of_inst(id))) return false;
  rewrite_set(&s->rewrite, id, found);
  return true;
}

/* --- Choices --- */

/* Whether `bytes` bytes at v plus an offset are in a variable or in a byval parameter of a kernel,
 * which needs no copy then. Lowers *align to the known alignment there. */
static bool is_in_variables(const struct splitter *s, struct nvm_value v, int64_t offset,
                            uint64_t bytes, uint64_t *align) {
  struct alias_address a = alias_decompose(s->f, v);
  if (__builtin_add_overflow(a.offset, offset, &a.offset)) return false;
  uint64_t own;
  if (!alias_is_in_parameter(s->f, &a, bytes, &own)) {
    const struct nvm_inst *i = value_inst_of(s->f, a.base, OP_ALLOCA);
    uint64_t size = i ? alloca_bytes(s->f, i) : 0;
    if (!i || a.term_count || a.offset < 0 || bytes > size || (uint64_t)a.offset > size - bytes)
      return false;
    own = sroa_align_at(alloca_align(s->f, i), (uint64_t)a.offset);
  }
  if (own < *align) *align = own;
  return true;
}

/* Whether after i the memory at an address may be no longer accessible: freed, or being written by
 * another thread. */
static bool may_end_access(const struct nvm_function *f, const struct nvm_inst *i) {
  if (!(op_table[i->op].flags & (OPF_READS | OPF_WRITES))) return false;
  if (i->op != OP_CALL) return effects_is_fence(i);
  if (effects_is_pure(f, i) || effects_is_convergent_asm(f, i) || effects_is_lifetime_marker(f, i))
    return false;
  return !call_intrinsic(f, i) || effects_is_convergent(f, i) ||
         (effects_of_call(f, i).others & EFFECT_WRITES);
}

/* Whether as many bytes at v have been loaded before i in its block, so that another load is
 * possible there. Lowers *align to the alignment of that load. */
static bool is_loaded_before(const struct splitter *s, struct nvm_value v, uint64_t bytes,
                             const struct nvm_inst *i, uint64_t *align) {
  enum { MAX_SCANNED = 64 };
  const struct nvm_function *f = s->f;
  struct nvm_inst_id at = i->previous;
  for (uint32_t n = 0; n < MAX_SCANNED && !inst_is_none(at); at = function_inst(f, at)->previous) {
    const struct nvm_inst *before = function_inst(f, at);
    if (at.index >= s->old_count) continue; /* inserted by access_both() */
    if (may_end_access(f, before)) return false;
    n++;
    if (before->op != OP_LOAD || !effects_is_plain_access(before) ||
        !value_equal(inst_operand(f, before, 0), v) || sroa_size(s, before->type) < bytes)
      continue;
    uint64_t own = access_align(s, before, before->type);
    if (own < *align) *align = own;
    return true;
  }
  return false;
}

/* The select whose result plus an offset v is, by at most one gep. */
static struct nvm_inst_id select_below(const struct splitter *s, struct nvm_value v,
                                       int64_t *offset) {
  const struct nvm_inst *gep = value_inst_of(s->f, v, OP_GEP);
  struct nvm_value below = gep ? inst_operand(s->f, gep, 0) : v;
  if (!value_inst_of(s->f, below, OP_SELECT)) return (struct nvm_inst_id){0};
  struct alias_address a = alias_decompose(s->f, v);
  *offset = a.offset;
  return a.term_count == 0 && value_equal(a.base, below) ? value_inst_id(below)
                                                         : (struct nvm_inst_id){0};
}

/* The address of a load or store. */
static struct nvm_value address_of(const struct splitter *s, const struct nvm_inst *i) {
  return inst_operand(s->f, i, i->op == OP_STORE);
}

/* Whether i, an access through a select, may access v plus the offset in any case: a variable, or
 * for a load what was loaded before. Lowers *align to the known alignment there. */
static bool is_accessible(const struct splitter *s, const struct nvm_inst *i, struct nvm_value v,
                          int64_t offset, uint64_t bytes, uint64_t *align) {
  return is_in_variables(s, v, offset, bytes, align) ||
         (i->op == OP_LOAD && offset == 0 && is_loaded_before(s, v, bytes, i, align));
}

/* The select that computes the address of a load or store, if both its operands are accessible. */
static struct nvm_inst_id choice_of(const struct splitter *s, const struct nvm_inst *i,
                                    int64_t *offset) {
  if ((i->op != OP_LOAD && i->op != OP_STORE) || !effects_is_plain_access(i))
    return (struct nvm_inst_id){0};
  struct nvm_inst_id choice = select_below(s, address_of(s, i), offset);
  uint64_t align = 1, bytes = sroa_size(s, effects_accessed_type(s->f, i));
  for (uint32_t k = 1; k < 3 && !inst_is_none(choice); k++)
    if (!is_accessible(s, i, inst_operand_at(s->f, choice, k), *offset, bytes, &align))
      return (struct nvm_inst_id){0};
  return choice;
}

/* A load becomes one from each address. A store becomes one to each; the variable that is not
 * selected gets the value that it holds. */
static void access_both(struct splitter *s, struct nvm_inst_id id, struct nvm_inst_id choice,
                        int64_t offset) {
  s->b = builder_replacing(s->f, id);
  bool store = function_inst(s->f, id)->op == OP_STORE;
  struct nvm_type type = effects_accessed_type(s->f, function_inst(s->f, id));
  struct nvm_value condition = inst_operand_at(s->f, choice, 0), loaded[3];
  struct nvm_value stored = store ? inst_operand_at(s->f, id, 0) : VALUE_NULL;
  for (uint32_t k = 1; k < 3; k++) {
    struct nvm_value at = inst_operand_at(s->f, choice, k);
    uint64_t align = access_align(s, function_inst(s->f, id), type);
    is_accessible(s, function_inst(s->f, id), at, offset, sroa_size(s, type), &align);
    at = builder_offset(&s->b, at, offset);
    loaded[k] = builder_load(&s->b, type, at, sroa_aligned(align));
    if (store)
      builder_store(&s->b,
                    builder_select(&s->b, condition, k == 1 ? stored : loaded[k],
                                   k == 1 ? loaded[k] : stored),
                    at, sroa_aligned(align));
  }
  if (store) inst_remove(s->f, id);
  else rewrite_set(&s->rewrite, id, builder_select(&s->b, condition, loaded[1], loaded[2]));
  /* The choice is unused now. */
  rewrite_set(&s->rewrite, choice, inst_operand_at(s->f, choice, 1));
}

/* By instruction, before anything changes: */
struct address_uses {
  uint32_t accesses; /* of a select or gep: uses that access_both() can replace */
  bool replaced;     /* of a select: it replaces them */
  bool stored;       /* of a select: one is a store */
  bool mixed;        /* of a variable: has uses other than by selects and accesses of `type` */
  struct nvm_type type;
};

static void note_type(const struct splitter *s, struct address_uses *variable,
                      struct nvm_type type) {
  variable->mixed |= type_is_aggregate(&s->m->types, type) ||
                     (variable->type.index && !type_equal(variable->type, type));
  variable->type = type;
}

static struct address_uses *variable_of(const struct splitter *s, struct address_uses *uses,
                                        struct nvm_value address) {
  const struct nvm_inst *i = value_inst(s->f, address);
  return i && i->op == OP_ALLOCA ? &uses[value_index(address)] : NULL;
}

static void mix(const struct splitter *s, struct address_uses *uses, struct nvm_value address) {
  struct address_uses *variable = variable_of(s, uses, alias_underlying_object(s->f, address));
  if (variable) variable->mixed = true;
}

/* Records how i uses variables, also through a select. */
static void note_variables(const struct splitter *s, struct address_uses *uses,
                           struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(s->f, id);
  bool access = (i->op == OP_LOAD || i->op == OP_STORE) && effects_is_plain_access(i);
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct address_uses *variable = variable_of(s, uses, inst_operand(s->f, i, k));
    if (!variable || (i->op == OP_SELECT && k) || effects_is_debug(s->f, i) ||
        effects_is_lifetime_marker(s->f, i))
      continue;
    if (access && k == (i->op == OP_STORE)) note_type(s, variable, effects_accessed_type(s->f, i));
    else variable->mixed = true;
  }
  int64_t offset;
  struct nvm_inst_id choice = choice_of(s, i, &offset);
  if (!inst_is_none(choice)) uses[choice.index].stored |= i->op == OP_STORE;
  bool other = i->op == OP_SELECT && uses[id.index].accesses != s->f->uses.data[id.index];
  if (other) choice = id;
  for (uint32_t k = 1; k < 3 && !inst_is_none(choice); k++) {
    struct nvm_value from = inst_operand_at(s->f, choice, k);
    struct address_uses *variable = variable_of(s, uses, from);
    if (other || offset || !variable) mix(s, uses, from);
    else note_type(s, variable, effects_accessed_type(s->f, i));
  }
}

/* A store through a select must not change a bit of the variable that is not selected, nor make it
 * poison: what is written back to it must be all that it holds, in the type of all its accesses. */
static bool can_replace(const struct splitter *s, struct address_uses *uses,
                        struct nvm_inst_id select) {
  const struct address_uses *u = &uses[select.index];
  bool all = u->accesses && u->accesses == s->f->uses.data[select.index];
  for (uint32_t k = 1; k < 3 && all && u->stored; k++) {
    struct address_uses *variable = variable_of(s, uses, inst_operand_at(s->f, select, k));
    all = variable && !variable->mixed;
  }
  return all;
}

/* NULL when out of memory. */
static struct address_uses *find_uses(struct splitter *s) {
  struct address_uses *uses = arena_alloc(s->arena, s->f->insts.count * sizeof *uses);
  int64_t offset;
  if (!uses) return NULL;
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i) {
      const struct nvm_inst *inst = function_inst(s->f, i);
      if (!inst_is_none(choice_of(s, inst, &offset)))
        uses[value_index(address_of(s, inst))].accesses++;
    }
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i) {
      const struct nvm_inst *inst = function_inst(s->f, i);
      uint32_t accesses = uses[i.index].accesses;
      if (inst->op == OP_GEP && accesses && accesses == s->f->uses.data[i.index])
        uses[value_index(inst_operand(s->f, inst, 0))].accesses++;
    }
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i) note_variables(s, uses, i);
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i)
      if (function_inst(s->f, i)->op == OP_SELECT) uses[i.index].replaced = can_replace(s, uses, i);
  return uses;
}

/* The accesses must choose alike, also if the condition is undef. */
static void freeze_condition(struct splitter *s, struct nvm_inst_id select) {
  struct builder before = builder_before(s->f, select);
  struct nvm_value c = inst_operand_at(s->f, select, 0);
  const struct nvm_inst *i = value_inst(s->f, c);
  if (i && i->op == OP_FREEZE) return;
  c = builder_unary(&before, OP_FREEZE, value_type(s->f, c), c);
  if (!value_is_none(c)) inst_set_operand(s->f, select, 0, c);
}

/* Accesses both addresses of a select that only accesses use. `std::min(a, b)`, which returns a
 * reference, is such a select, and `(c ? a : b) += x`; a copy of the struct of one of two is loads
 * of its members. */
static bool split_choices(struct splitter *s) {
  bool any = false;
  s->old_count = s->f->insts.count;
  struct address_uses *uses = find_uses(s);
  s->failed |= !uses;
  if (!uses) return false;
  FOR_EACH_BLOCK (s->f, b)
    for (struct nvm_inst_id i = function_block(s->f, b)->first, next; !inst_is_none(i); i = next) {
      int64_t offset;
      next = function_inst(s->f, i)->next;
      struct nvm_inst_id choice = i.index < s->old_count
                                      ? choice_of(s, function_inst(s->f, i), &offset)
                                      : (struct nvm_inst_id){0};
      if (inst_is_none(choice) || !uses[choice.index].replaced) continue;
      if (uses[choice.index].stored) freeze_condition(s, choice);
      access_both(s, i, choice, offset);
      any = true;
    }
  return any;
}

/* Loads and stores of structs become those of members. */
static bool split_structs(struct splitter *s) {
  bool any = false;
  uint32_t old_count = s->f->insts.count;
  uint32_t *extracted = arena_alloc(s->arena, old_count * sizeof *extracted);
  s->failed |= !extracted;
  if (!extracted) return false;
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i) {
      const struct nvm_inst *inst = function_inst(s->f, i);
      struct nvm_value v = inst->operand_count ? inst_operand(s->f, inst, 0) : VALUE_NULL;
      if (inst->op == OP_EXTRACTVALUE && value_inst_of(s->f, v, OP_LOAD))
        extracted[value_index(v)]++;
    }
  FOR_EACH_BLOCK (s->f, b)
    for (struct nvm_inst_id i = function_block(s->f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(s->f, i)->next;
      uint16_t op = function_inst(s->f, i)->op;
      if (i.index < old_count && (op == OP_LOAD || op == OP_STORE))
        any |= split_struct_access(s, i, extracted);
    }
  return any;
}

bool sroa_split_accesses(struct splitter *s, struct sroa_found found) {
  if (!found.choices && !found.structs && !found.members) return false;
  if (!rewrite_init(&s->rewrite, s->f, s->arena)) {
    s->failed = true;
    return false;
  }
  bool any = found.choices && split_choices(s);
  if (any) { /* the new loads may read structs */
    rewrite_apply(&s->rewrite);
    s->failed |= !rewrite_init(&s->rewrite, s->f, s->arena);
    if (s->failed) return true;
  }
  if (found.structs) any |= split_structs(s);
  if (found.structs || found.members)
    FOR_EACH_BLOCK (s->f, b)
      FOR_EACH_INST (s->f, b, i)
        if (function_inst(s->f, i)->op == OP_EXTRACTVALUE && i.index < s->rewrite.size)
          any |= look_through(s, i);
  rewrite_apply(&s->rewrite);
  s->failed |= module_out_of_memory(s->m);
  return any;
}
