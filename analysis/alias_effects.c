/* Which locations instructions access and what they do to a given one; see alias.h. Effects on
 * memory as a whole are in effects.c. */
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

/* --- locations -------------------------------------------------------------------------------- */

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
      if (!is_block_operation(call_intrinsic(f, i))) return false;
      out->bytes = length_of(f, i);
      break;
    default: return false;
  }
  out->pointer = inst_operand(f, i, 0);
  return true;
}

/* --- effects on a location -------------------------------------------------------------------- */

/* effects_of_call, remembered. */
static struct call_effect known_call_effect(struct alias_env *e, struct nvm_inst_id id) {
  if (id.index >= e->size) return effects_of_call(e->f, function_inst(e->f, id));
  uint8_t *known = &e->effects[id.index];
  if (*known == 0) {
    struct call_effect does = effects_of_call(e->f, function_inst(e->f, id));
    *known = (uint8_t)(1 + does.arguments + 4 * does.others);
  }
  return (struct call_effect){(*known - 1u) & EFFECT_BOTH, (*known - 1u) >> 2, 0};
}

/* What a call does through its argument k. */
static uint32_t argument_effect(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k,
                                uint32_t does) {
  uint32_t id = call_intrinsic(f, i);
  if (is_block_operation(id)) return k == 0 ? EFFECT_WRITES : EFFECT_READS;
  if (alias_call_attr(f, i, k, ATTR_READNONE)) return 0;
  if (alias_call_attr(f, i, k, ATTR_READONLY)) does &= EFFECT_READS;
  if (alias_call_attr(f, i, k, ATTR_WRITEONLY)) does &= EFFECT_WRITES;
  return does;
}

/* Cheap pre-check: whether i marks the lifetime of a variable that l is certainly not in. A loop
 * with arrays of its own contains many such markers. */
static bool marks_another_variable(const struct nvm_function *f, const struct nvm_inst *i,
                                   struct memory_location l) {
  if (!l.place || !effects_is_lifetime_marker(f, i)) return false;
  struct nvm_value variable = inst_operand(f, i, call_arg_count(f, i) - 1),
                   base = l.place->address.base;
  const struct nvm_inst *marked = inst_of(f, variable), *object = inst_of(f, base);
  if (!marked || marked->op != OP_ALLOCA || marked == object) return false;
  return object ? object->op == OP_ALLOCA
                : value_kind(base) == VALUE_ARG || value_kind(base) == VALUE_GLOBAL;
}

static uint32_t call_mod_ref(struct alias_env *e, struct nvm_inst_id id, struct memory_location l) {
  const struct nvm_function *f = e->f;
  const struct nvm_inst *i = function_inst(f, id);
  struct call_effect does = known_call_effect(e, id);
  if (!(does.arguments | does.others) || marks_another_variable(f, i, l)) return 0;
  uint32_t result = alias_location_is_private(e, l) ? 0 : does.others;
  bool block = is_block_operation(call_intrinsic(f, i));
  for (uint32_t k = 0, count = block ? 2 : call_arg_count(f, i);
       k < count && (does.arguments & ~result); k++) {
    struct nvm_value v = inst_operand(f, i, k);
    if (!type_is_ptr_or_vector(&f->module->types, value_type(f, v))) continue;
    struct memory_location theirs = {v, block ? length_of(f, i) : ALIAS_ANY_BYTES, id, NULL};
    uint32_t done = argument_effect(f, i, k, does.arguments);
    if ((done & ~result) && alias_query(e, theirs, l) != ALIAS_NO) result |= done;
  }
  return result;
}

/* Whether an access, fence or va_arg may touch the location or order accesses to it. */
static bool access_concerns(struct alias_env *e, struct nvm_inst_id id, struct memory_location l) {
  struct memory_location theirs;
  bool fence = effects_is_fence(function_inst(e->f, id));
  if (fence && !alias_location_is_private(e, l)) return true;
  return alias_location_of(e->f, id, &theirs) && alias_query(e, theirs, l) != ALIAS_NO;
}

uint32_t alias_mod_ref(struct alias_env *e, struct nvm_inst_id id, struct memory_location l) {
  bool call = function_inst(e->f, id)->op == OP_CALL;
  uint32_t does = call ? call_mod_ref(e, id, l) : effects_on_memory(e->f, id);
  if (does == 0 || (!call && !access_concerns(e, id, l))) return 0;
  return (does & EFFECT_WRITES) && alias_is_constant(e, l) ? does & EFFECT_READS : does;
}
