/* What instructions do; see effects.h. Calls are judged by their own attributes, their callee's and
 * the intrinsic's row; what nobody vouches for is assumed to do everything. */
#include "opt/effects.h"

#include "ir/intrinsic.h"

static bool call_has_attribute(const struct nvm_function *f, const struct nvm_inst *i,
                               enum attr_id id) {
  const struct attr_table_data *a = &f->module->attributes;
  if (attrset_find(a, attrlist_info(a, call_site_of(f, i)->attributes)->function, id)) return true;
  struct nvm_value callee = call_callee(f, i);
  if (value_kind(callee) != VALUE_FUNCTION) return false;
  struct nvm_attrlist list = module_function(f->module, callee)->attributes;
  return attrset_find(a, attrlist_info(a, list)->function, id) != NULL;
}

static const struct intrinsic_info *call_intrinsic(const struct nvm_function *f,
                                                   const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(f, i);
  if (value_kind(callee) != VALUE_FUNCTION) return NULL;
  uint32_t id = module_function(f->module, callee)->intrinsic;
  return id ? &intrinsic_table[id] : NULL;
}

/* Inline asm without side effects is a function of its operands. */
static bool is_plain_asm(const struct nvm_function *f, struct nvm_value callee) {
  if (value_kind(callee) != VALUE_CONST) return false;
  const struct constant_info *c = constant_info(&f->module->constants, callee);
  return c->kind == CONST_ASM && !(c->flags & CONST_ASM_SIDEEFFECT);
}

bool effects_is_debug(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value callee = i->op == OP_CALL ? call_callee(f, i) : VALUE_NULL;
  if (value_kind(callee) != VALUE_FUNCTION) return i->op == OP_DBG_RECORD;
  uint32_t id = module_function(f->module, callee)->intrinsic;
  return id == INTRINSIC_dbg_addr || id == INTRINSIC_dbg_assign || id == INTRINSIC_dbg_declare ||
         id == INTRINSIC_dbg_label || id == INTRINSIC_dbg_value;
}

bool effects_is_convergent(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_CALL) return false;
  const struct intrinsic_info *in = call_intrinsic(f, i);
  return (in && (in->flags & INTRIN_CONVERGENT)) || call_has_attribute(f, i, ATTR_CONVERGENT);
}

/* Neither reads nor writes memory, and comes back. */
static bool call_is_pure(const struct nvm_function *f, const struct nvm_inst *i) {
  if (effects_is_convergent(f, i)) return false;
  const struct intrinsic_info *in = call_intrinsic(f, i);
  if (in) return !(in->flags & (INTRIN_READS | INTRIN_WRITES | INTRIN_NORETURN));
  if (is_plain_asm(f, call_callee(f, i))) return !call_has_attribute(f, i, ATTR_NOMERGE);
  return false;
}

static bool call_must_stay(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct intrinsic_info *in = call_intrinsic(f, i);
  if (in) return (in->flags & (INTRIN_WRITES | INTRIN_NORETURN)) != 0;
  return !is_plain_asm(f, call_callee(f, i));
}

static bool is_plain_load(const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  return !how.is_volatile && how.ordering <= ORDER_UNORDERED;
}

bool effects_must_stay(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
  case OP_LOAD: return !is_plain_load(i);
  case OP_CALL: return call_must_stay(f, i);
  case OP_DBG_RECORD: return true;
  default: break;
  }
  return op_is_terminator((enum op)i->op) || (op_table[i->op].flags & OPF_WRITES) != 0;
}

static bool may_trap(const struct nvm_function *f, const struct nvm_inst *i) {
  if (!(op_table[i->op].flags & OPF_TRAPS)) return false;
  nvm_u128 divisor;
  struct nvm_value v = inst_operand(f, i, 1);
  if (!const_is_int(f->module, v, &divisor) || divisor == 0) return true;
  bool is_signed = i->op == OP_SDIV || i->op == OP_SREM;
  return is_signed && const_int_signed(f->module, v) == -1;
}

bool effects_is_pure(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
  case OP_CALL: return call_is_pure(f, i);
  case OP_ALLOCA: case OP_PHI: case OP_LOAD: case OP_DBG_RECORD: case OP_VA_ARG: return false;
  case OP_FREEZE: return false; /* two freezes of one value may differ */
  default: break;
  }
  return !op_is_terminator((enum op)i->op) &&
         !(op_table[i->op].flags & (OPF_READS | OPF_WRITES));
}

bool effects_is_speculatable(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op == OP_CALL) {
    const struct intrinsic_info *in = call_intrinsic(f, i);
    return in && (in->flags & INTRIN_SPECULATABLE) && call_is_pure(f, i);
  }
  return (i->op == OP_FREEZE || effects_is_pure(f, i)) && !may_trap(f, i);
}

void effects_drop_dead_metadata(struct nvm_function *f, const bool *live) {
  struct nvm_module *m = f->module;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i)
      for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k++) {
        struct nvm_value v = inst_operand(f, function_inst(f, i), k);
        if (value_kind(v) != VALUE_CONST) continue;
        const struct constant_info *c = constant_info(&m->constants, v);
        if (c->kind != CONST_METADATA) continue;
        const struct meta_item *item = meta_item(&m->metadata, (struct nvm_meta){c->meta});
        if (item->kind != META_VALUE || value_kind(item->value) != VALUE_INST) continue;
        if (live[value_index(item->value)]) continue;
        struct nvm_type type = item->type;
        struct nvm_meta poison = meta_value(&m->metadata, const_poison(m, type), type);
        inst_set_operand(f, i, k, const_metadata(m, poison.index));
      }
}

void effects_copy_access_metadata(struct nvm_function *f, struct nvm_inst_id to,
                                  struct nvm_inst_id from) {
  static const char *const kept[] = {"tbaa", "alias.scope", "noalias", "invariant.load", "nontemporal"};
  struct nvm_module *m = f->module;
  uint32_t chain = 0, old = f->attachments.data[from.index];
  for (size_t k = 0; old && k < sizeof kept / sizeof *kept; k++) {
    struct nvm_str kind = module_str(m, kept[k]);
    struct nvm_meta node = module_attachment(m, old, kind);
    if (node.index) module_attach(m, &chain, kind, node);
  }
  f->attachments.data[to.index] = chain;
}
