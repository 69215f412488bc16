/* What instructions do to memory; see alias.h.
 *
 * Intrinsics by their rows, calls by the attributes of call and callee; what nobody vouches for
 * does everything. Barriers and fences count as reading and writing all that another thread can
 * see. */
#include "analysis/alias_internal.h"

const struct nvm_attr *alias_call_attr(const struct nvm_function *f, const struct nvm_inst *i,
                                       uint32_t arg, enum attr_id id) {
  const struct attr_table_data *t = &f->module->attributes;
  struct nvm_value callee = call_callee(f, i);
  struct nvm_attrlist site = call_site_of(f, i)->attributes;
  const struct nvm_attr *a = attrset_find(t, attrlist_parameter(t, site, arg), id);
  if (a || value_kind(callee) != VALUE_FUNCTION) return a;
  return attrset_find(t, attrlist_parameter(t, module_function(f->module, callee)->attributes, arg),
                      id);
}

/* --- locations
 * ------------------------------------------------------------------------------------ */

static uint64_t type_bytes(const struct nvm_function *f, struct nvm_type type) {
  return layout_store_size(&f->module->layout, &f->module->types, type);
}

/* The length of a memcpy or memset, if constant. */
static uint64_t length_of(const struct nvm_function *f, const struct nvm_inst *i) {
  nvm_u128 n;
  if (call_arg_count(f, i) < 3) return ALIAS_ANY_BYTES;
  return const_is_int(f->module, inst_operand(f, i, 2), &n) ? (uint64_t)n : ALIAS_ANY_BYTES;
}

static bool is_block_operation(uint32_t id) {
  return id == INTRINSIC_memcpy || id == INTRINSIC_memcpy_inline || id == INTRINSIC_memmove ||
         id == INTRINSIC_memset || id == INTRINSIC_memset_inline;
}

bool alias_location_of(const struct nvm_function *f, struct nvm_inst_id id,
                       struct memory_location *out) {
  const struct nvm_inst *i = function_inst(f, id);
  *out = (struct memory_location){.access = id};
  switch ((enum op)i->op) {
    case OP_LOAD: out->bytes = type_bytes(f, i->type); break;
    case OP_STORE:
      out->pointer = inst_operand(f, i, 1);
      out->bytes = type_bytes(f, value_type(f, inst_operand(f, i, 0)));
      return true;
    case OP_ATOMICRMW:
    case OP_CMPXCHG: out->bytes = type_bytes(f, value_type(f, inst_operand(f, i, 1))); break;
    case OP_CALL:
      if (!is_block_operation(called_intrinsic(f, i))) return false;
      out->bytes = length_of(f, i);
      break;
    default: return false;
  }
  out->pointer = inst_operand(f, i, 0);
  return true;
}

/* --- effects
 * -------------------------------------------------------------------------------------- */

enum { BOTH = ALIAS_READS | ALIAS_WRITES };

struct effect {
  uint32_t arguments; /* what is done through pointer arguments */
  uint32_t others;    /* to all other memory that others can see */
};

static uint32_t effect_word(const char *s) {
  if (strncmp(s, "none", 4) == 0) return 0;
  if (strncmp(s, "readwrite", 9) == 0) return BOTH;
  return strncmp(s, "read", 4) == 0 ? ALIAS_READS : ALIAS_WRITES;
}

/* memory(read, argmem: write, …): the word without a place is for all places not named. */
static struct effect effect_of_text(const char *s) {
  struct effect e = {0, 0};
  bool is_first = true, arguments_named = false;
  while (*s) {
    const char *colon = strchr(s, ':'), *comma = strchr(s, ',');
    bool placed = colon && (!comma || colon < comma);
    if (placed && strncmp(s, "argmem", 6) == 0) {
      e.arguments = effect_word(colon + 1 + strspn(colon + 1, " "));
      arguments_named = true;
    } else if (!placed && is_first) {
      e.others = effect_word(s);
    } else if (placed && strncmp(s, "inaccessiblemem", 15) != 0) {
      e.others |= effect_word(colon + 1 + strspn(colon + 1, " "));
    }
    is_first = false;
    if (!comma) break;
    s = comma + 1 + strspn(comma + 1, " ");
  }
  if (!arguments_named) e.arguments = e.others;
  return e;
}

static struct effect attribute_effect(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct attr_table_data *t = &f->module->attributes;
  struct nvm_value callee = call_callee(f, i);
  struct nvm_attrlist lists[2] = {call_site_of(f, i)->attributes, {0}};
  struct effect e = {BOTH, BOTH};
  if (value_kind(callee) == VALUE_FUNCTION)
    lists[1] = module_function(f->module, callee)->attributes;
  for (int k = 0; k < 2; k++) {
    struct nvm_attrset s = attrlist_info(t, lists[k])->function;
    const struct nvm_attr *memory = attrset_find(t, s, ATTR_MEMORY);
    struct effect said = {BOTH, BOTH};
    if (memory) said = effect_of_text(module_text(f->module, memory->str2).bytes);
    if (attrset_find(t, s, ATTR_READNONE)) said = (struct effect){0, 0};
    if (attrset_find(t, s, ATTR_READONLY)) said = (struct effect){ALIAS_READS, ALIAS_READS};
    if (attrset_find(t, s, ATTR_WRITEONLY)) said = (struct effect){ALIAS_WRITES, ALIAS_WRITES};
    if (attrset_find(t, s, ATTR_ARGMEMONLY) ||
        attrset_find(t, s, ATTR_INACCESSIBLEMEM_OR_ARGMEMONLY))
      said.others = 0;
    if (attrset_find(t, s, ATTR_INACCESSIBLEMEMONLY)) said = (struct effect){0, 0};
    e.arguments &= said.arguments;
    e.others &= said.others;
  }
  return e;
}

/* Convergent operations that exchange registers, not memory: their row says "writes" so that they
 * stay where they are. */
static bool is_register_exchange(const char *name) {
  static const char *const prefixes[] = {"llvm.nvvm.shfl.",      "llvm.nvvm.vote.",
                                         "llvm.nvvm.match.",     "llvm.nvvm.redux.",
                                         "llvm.nvvm.activemask", "llvm.nvvm.elect.sync"};
  for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
    if (strncmp(name, prefixes[k], strlen(prefixes[k])) == 0) return true;
  return false;
}

static struct effect intrinsic_effect(uint32_t id) {
  const struct intrinsic_info *in = &intrinsic_table[id];
  switch (id) {
    case INTRINSIC_assume:
    case INTRINSIC_sideeffect:
    case INTRINSIC_prefetch:
    case INTRINSIC_experimental_noalias_scope_decl:
    case INTRINSIC_pseudoprobe:
    case INTRINSIC_var_annotation:
    case INTRINSIC_ptr_annotation:
    case INTRINSIC_annotation: return (struct effect){0, 0};
    default: break;
  }
  if ((in->flags & INTRIN_WRITES) && is_register_exchange(in->name)) return (struct effect){0, 0};
  uint32_t does =
      (in->flags & INTRIN_READS ? ALIAS_READS : 0) | (in->flags & INTRIN_WRITES ? ALIAS_WRITES : 0);
  if (in->flags & INTRIN_ARGMEM) return (struct effect){does, 0};
  if (does & ALIAS_WRITES) does = BOTH;
  return (struct effect){does, does};
}

static struct effect call_effect(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(f, i);
  uint32_t id = called_intrinsic(f, i);
  if (id) return intrinsic_effect(id);
  struct effect e = attribute_effect(f, i);
  if (value_kind(callee) == VALUE_CONST) {
    const struct constant_info *c = constant_info(&f->module->constants, callee);
    bool memory = c->kind != CONST_ASM || (c->flags & CONST_ASM_SIDEEFFECT) ||
                  strstr(module_text(f->module, c->str2).bytes, "memory");
    if (!memory) return (struct effect){0, 0};
  }
  return e;
}

/* The same, remembered. */
static struct effect known_call_effect(struct alias_env *e, struct nvm_inst_id id) {
  struct effect does;
  if (id.index >= e->size) return call_effect(e->f, function_inst(e->f, id));
  uint8_t *known = &e->effects[id.index];
  if (*known == 0) {
    does = call_effect(e->f, function_inst(e->f, id));
    *known = (uint8_t)(1 + does.arguments + 4 * does.others);
  }
  return (struct effect){(*known - 1u) & BOTH, (*known - 1u) >> 2};
}

/* What a call does through its argument k. */
static uint32_t argument_effect(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k,
                                uint32_t does) {
  uint32_t id = called_intrinsic(f, i);
  if (is_block_operation(id)) return k == 0 ? ALIAS_WRITES : ALIAS_READS;
  if (alias_call_attr(f, i, k, ATTR_READNONE)) return 0;
  if (alias_call_attr(f, i, k, ATTR_READONLY)) does &= ALIAS_READS;
  if (alias_call_attr(f, i, k, ATTR_WRITEONLY)) does &= ALIAS_WRITES;
  return does;
}

static uint32_t call_mod_ref(struct alias_env *e, struct nvm_inst_id id, struct memory_location l,
                             bool is_private) {
  const struct nvm_function *f = e->f;
  const struct nvm_inst *i = function_inst(f, id);
  struct effect does = known_call_effect(e, id);
  uint32_t result = is_private ? 0 : does.others, count = call_arg_count(f, i);
  if (is_block_operation(called_intrinsic(f, i))) count = 2;
  for (uint32_t k = 0; k < count && (does.arguments & ~result); k++) {
    struct nvm_value v = inst_operand(f, i, k);
    if (!type_is_ptr_or_vector(&f->module->types, value_type(f, v))) continue;
    bool block = is_block_operation(called_intrinsic(f, i));
    struct memory_location theirs = {v, block ? length_of(f, i) : ALIAS_ANY_BYTES, id, NULL};
    uint32_t done = argument_effect(f, i, k, does.arguments);
    if ((done & ~result) && alias_query(e, theirs, l) != ALIAS_NO) result |= done;
  }
  return result;
}

/* What an access does to the bytes it touches; *fence: and to all that others can see. */
static uint32_t access_effect(const struct nvm_inst *i, bool *fence) {
  struct memory_access how = memory_access_unpack(i->aux);
  *fence = how.ordering > ORDER_MONOTONIC;
  if (*fence || how.is_volatile || how.ordering > ORDER_UNORDERED) return BOTH;
  return i->op == OP_LOAD ? ALIAS_READS : i->op == OP_STORE ? ALIAS_WRITES : BOTH;
}

uint32_t alias_access_effects(const struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  bool fence;
  switch ((enum op)i->op) {
    case OP_LOAD:
    case OP_STORE:
    case OP_ATOMICRMW:
    case OP_CMPXCHG: return access_effect(i, &fence);
    case OP_FENCE:
    case OP_VA_ARG: return BOTH;
    case OP_CALL: {
      struct effect e = call_effect(f, i);
      return e.arguments | e.others;
    }
    default: return 0;
  }
}

/* Whether an access, fence or va_arg has to do with the location. */
static bool access_concerns(struct alias_env *e, struct nvm_inst_id id, struct memory_location l) {
  const struct nvm_inst *i = function_inst(e->f, id);
  struct memory_location theirs;
  bool fence = true;
  if (i->op != OP_FENCE && i->op != OP_VA_ARG) access_effect(i, &fence);
  if (fence && !alias_location_is_private(e, l)) return true;
  return alias_location_of(e->f, id, &theirs) && alias_query(e, theirs, l) != ALIAS_NO;
}

uint32_t alias_mod_ref(struct alias_env *e, struct nvm_inst_id id, struct memory_location l) {
  const struct nvm_inst *i = function_inst(e->f, id);
  uint32_t does;
  if (i->op == OP_CALL) {
    struct effect call = known_call_effect(e, id);
    does = call.arguments | call.others;
  } else {
    does = alias_effects(e->f, id);
  }
  if (does == 0) return 0;
  if (i->op == OP_CALL) does &= call_mod_ref(e, id, l, alias_location_is_private(e, l));
  else if (!access_concerns(e, id, l)) return 0;
  return (does & ALIAS_WRITES) && alias_is_constant(e, l) ? does & ALIAS_READS : does;
}
