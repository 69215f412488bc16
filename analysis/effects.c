/* What instructions do; see effects.h. Calls are judged by their own attributes, their callee's and
 * the intrinsic's row; what nobody vouches for is assumed to do everything. */
#include "analysis/effects.h"

#include "ir/intrinsic.h"

static bool call_has_attribute(const struct nvm_function *f, const struct nvm_inst *i,
                               enum attr_id id) {
  const struct nvm_function *callee = call_function(f, i);
  return call_attribute(f, i, id) || (callee && function_attribute(callee, id));
}

static const struct intrinsic_info *intrinsic_of(const struct nvm_function *f,
                                                 const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(f, i);
  return id ? &intrinsic_table[id] : NULL;
}

/* Inline asm without side effects is a function of its operands. */
static bool is_plain_asm(const struct nvm_function *f, struct nvm_value callee) {
  if (value_kind(callee) != VALUE_CONST) return false;
  const struct constant_info *c = constant_info(&f->module->constants, callee);
  return c->kind == CONST_ASM && !(c->flags & CONST_ASM_SIDEEFFECT);
}

bool effects_call_is_debug(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(f, i);
  return id == INTRINSIC_dbg_addr || id == INTRINSIC_dbg_assign || id == INTRINSIC_dbg_declare ||
         id == INTRINSIC_dbg_label || id == INTRINSIC_dbg_value;
}

bool effects_call_is_convergent(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct intrinsic_info *in = intrinsic_of(f, i);
  return (in && (in->flags & INTRIN_CONVERGENT)) || call_has_attribute(f, i, ATTR_CONVERGENT);
}

/* Neither reads nor writes memory, and comes back. */
bool effects_call_is_pure(const struct nvm_function *f, const struct nvm_inst *i) {
  if (effects_call_is_convergent(f, i)) return false;
  const struct intrinsic_info *in = intrinsic_of(f, i);
  if (in) return !(in->flags & (INTRIN_READS | INTRIN_WRITES | INTRIN_NORETURN));
  if (is_plain_asm(f, call_callee(f, i))) return !call_has_attribute(f, i, ATTR_NOMERGE);
  return false;
}

/* memory(none), memory(argmem: read), but not memory(inaccessiblemem: write). */
static bool memory_never_written(const struct nvm_function *f, const struct nvm_attr *memory) {
  return memory && !strstr(module_text(f->module, memory->str2).bytes, "write");
}

static bool call_never_writes(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_function *callee = call_function(f, i);
  return call_has_attribute(f, i, ATTR_READNONE) || call_has_attribute(f, i, ATTR_READONLY) ||
         memory_never_written(f, call_attribute(f, i, ATTR_MEMORY)) ||
         (callee && memory_never_written(f, function_attribute(callee, ATTR_MEMORY)));
}

bool effects_call_must_stay(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct intrinsic_info *in = intrinsic_of(f, i);
  if (in) return (in->flags & (INTRIN_WRITES | INTRIN_NORETURN)) != 0;
  if (is_plain_asm(f, call_callee(f, i))) return type_equal(i->type, TYPE_VOID);
  bool comes_back = call_has_attribute(f, i, ATTR_WILLRETURN);
  return !comes_back || !call_never_writes(f, i) || effects_call_is_convergent(f, i);
}

static bool may_trap(const struct nvm_function *f, const struct nvm_inst *i) {
  if (!(op_table[i->op].flags & OPF_TRAPS)) return false;
  nvm_u128 divisor;
  struct nvm_value v = inst_operand(f, i, 1);
  if (!const_is_int(f->module, v, &divisor) || divisor == 0) return true;
  bool is_signed = i->op == OP_SDIV || i->op == OP_SREM;
  return is_signed && const_int_signed(f->module, v) == -1;
}

bool effects_is_speculatable(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op == OP_CALL) {
    const struct intrinsic_info *in = intrinsic_of(f, i);
    return in && (in->flags & INTRIN_SPECULATABLE) && effects_call_is_pure(f, i);
  }
  return (i->op == OP_FREEZE || effects_is_pure(f, i)) && !may_trap(f, i);
}

/* Kinds of attachments that are true of an access wherever its result goes; the first three are
 * asked by alias analysis. */
static const char *const access_kinds[] = {"tbaa", "alias.scope", "noalias", "invariant.load",
                                           "nontemporal"};
enum {
  FIRST_SCOPE = 1,
  FIRST_OF_MEMORY = 3,
  ACCESS_KINDS = sizeof access_kinds / sizeof *access_kinds
};

/* `to` gets the kinds of `from` but those from `first` to before `end`, of which it gets what
 * `other` has too. */
static void copy_kinds(struct nvm_function *f, struct nvm_inst_id to, struct nvm_inst_id from,
                       uint32_t first, uint32_t end, struct nvm_inst_id other) {
  struct nvm_module *m = f->module;
  uint32_t chain = 0, old = f->attachments.data[from.index],
           others = f->attachments.data[other.index];
  for (uint32_t k = 0; old && k < ACCESS_KINDS; k++) {
    struct nvm_str kind = module_str(m, access_kinds[k]);
    struct nvm_meta node = module_attachment(m, old, kind);
    bool kept = k < first || k >= end || module_attachment(m, others, kind).index == node.index;
    if (node.index && kept) module_attach(m, &chain, kind, node);
  }
  f->attachments.data[to.index] = chain;
}

void effects_copy_access_metadata(struct nvm_function *f, struct nvm_inst_id to,
                                  struct nvm_inst_id from, bool scopes) {
  copy_kinds(f, to, from, FIRST_SCOPE, FIRST_OF_MEMORY, scopes ? from : (struct nvm_inst_id){0});
}

void effects_join_access_metadata(struct nvm_function *f, struct nvm_inst_id a,
                                  struct nvm_inst_id b, bool moves) {
  copy_kinds(f, a, a, 0, moves ? ACCESS_KINDS : FIRST_OF_MEMORY, b);
}

bool effects_is_lifetime_marker(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t id = call_intrinsic(f, i);
  return id == INTRINSIC_lifetime_start || id == INTRINSIC_lifetime_end;
}
