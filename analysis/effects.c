/* Effects of instructions; see effects.h. Those of calls come from the attributes of call and
 * callee and from the intrinsic's row; without either a call may do everything. Barriers and fences
 * read and write all memory that other threads can access. */
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

/* --- memory ----------------------------------------------------------------------------------- */

static uint32_t effect_word(const char *s) {
  if (strncmp(s, "none", 4) == 0) return 0;
  if (strncmp(s, "readwrite", 9) == 0) return EFFECT_BOTH;
  return strncmp(s, "read", 4) == 0 ? EFFECT_READS : EFFECT_WRITES;
}

/* memory(read, argmem: write, …): the word without a place is for all places not named. */
static struct call_effect effect_of_text(const char *s) {
  struct call_effect e = {0, 0, 0};
  bool is_first = true, arguments_named = false, inaccessible_named = false;
  while (*s) {
    const char *colon = strchr(s, ':'), *comma = strchr(s, ',');
    bool placed = colon && (!comma || colon < comma);
    uint32_t does = effect_word(placed ? colon + 1 + strspn(colon + 1, " ") : s);
    if (placed && strncmp(s, "argmem", 6) == 0) {
      e.arguments = does;
      arguments_named = true;
    } else if (placed && strncmp(s, "inaccessiblemem", 15) == 0) {
      e.inaccessible = does;
      inaccessible_named = true;
    } else if (placed || is_first) {
      e.others |= does;
    }
    is_first = false;
    if (!comma) break;
    s = comma + 1 + strspn(comma + 1, " ");
  }
  if (!arguments_named) e.arguments = e.others;
  if (!inaccessible_named) e.inaccessible = e.others;
  return e;
}

static struct call_effect attribute_effect(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct attr_table_data *t = &f->module->attributes;
  const struct nvm_function *callee = call_function(f, i);
  struct nvm_attrlist lists[2] = {call_site_of(f, i)->attributes, {0}};
  const struct call_effect all = {EFFECT_BOTH, EFFECT_BOTH, EFFECT_BOTH};
  struct call_effect e = all;
  if (callee) lists[1] = callee->attributes;
  for (int k = 0; k < 2; k++) {
    struct nvm_attrset s = attrlist_info(t, lists[k])->function;
    const struct nvm_attr *memory = attrset_find(t, s, ATTR_MEMORY);
    struct call_effect said =
        memory ? effect_of_text(module_text(f->module, memory->str2).bytes) : all;
    uint32_t kinds = attrset_find(t, s, ATTR_READNONE)    ? 0
                     : attrset_find(t, s, ATTR_READONLY)  ? EFFECT_READS
                     : attrset_find(t, s, ATTR_WRITEONLY) ? EFFECT_WRITES
                                                          : EFFECT_BOTH;
    bool only_arguments = attrset_find(t, s, ATTR_ARGMEMONLY),
         only_inaccessible = attrset_find(t, s, ATTR_INACCESSIBLEMEMONLY);
    if (only_arguments || only_inaccessible ||
        attrset_find(t, s, ATTR_INACCESSIBLEMEM_OR_ARGMEMONLY))
      said.others = 0;
    if (only_arguments) said.inaccessible = 0;
    if (only_inaccessible) said.arguments = 0;
    e.arguments &= said.arguments & kinds;
    e.others &= said.others & kinds;
    e.inaccessible &= said.inaccessible & kinds;
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

static struct call_effect intrinsic_effect(uint32_t id) {
  const struct intrinsic_info *in = &intrinsic_table[id];
  const struct call_effect none = {0, 0, 0};
  switch (id) {
    case INTRINSIC_assume:
    case INTRINSIC_sideeffect:
    case INTRINSIC_prefetch:
    case INTRINSIC_experimental_noalias_scope_decl:
    case INTRINSIC_pseudoprobe:
    case INTRINSIC_var_annotation:
    case INTRINSIC_ptr_annotation:
    case INTRINSIC_annotation: return none;
    default: break;
  }
  if ((in->flags & INTRIN_WRITES) && is_register_exchange(in->name)) return none;
  uint32_t does = (in->flags & INTRIN_READS ? EFFECT_READS : 0) |
                  (in->flags & INTRIN_WRITES ? EFFECT_WRITES : 0);
  if (in->flags & INTRIN_ARGMEM) return (struct call_effect){does, 0, 0};
  if (does & EFFECT_WRITES) does = EFFECT_BOTH;
  return (struct call_effect){does, does, 0};
}

struct call_effect effects_of_call(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(f, i);
  uint32_t id = call_intrinsic(f, i);
  if (id) return intrinsic_effect(id);
  if (is_plain_asm(f, callee)) {
    const struct constant_info *c = constant_info(&f->module->constants, callee);
    if (!strstr(module_text(f->module, c->str2).bytes, "memory"))
      return (struct call_effect){0, 0, 0};
  }
  return attribute_effect(f, i);
}

bool effects_is_fence(const struct nvm_inst *i) {
  return i->op == OP_FENCE || i->op == OP_VA_ARG ||
         memory_access_unpack(i->aux).ordering > ORDER_MONOTONIC;
}

uint32_t effects_of_access(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op == OP_CALL) {
    struct call_effect e = effects_of_call(f, i);
    return e.arguments | e.others;
  }
  struct memory_access how = memory_access_unpack(i->aux);
  bool relaxed = !how.is_volatile && how.ordering <= ORDER_UNORDERED;
  if (i->op == OP_LOAD && relaxed) return EFFECT_READS;
  return i->op == OP_STORE && relaxed ? EFFECT_WRITES : EFFECT_BOTH;
}

/* --- questions -------------------------------------------------------------------------------- */

static bool accesses_nothing(struct call_effect e) {
  return (e.arguments | e.others | e.inaccessible) == 0;
}

/* Neither accesses memory nor fails to return. */
bool effects_call_is_pure(const struct nvm_function *f, const struct nvm_inst *i) {
  if (effects_call_is_convergent(f, i)) return false;
  const struct intrinsic_info *in = intrinsic_of(f, i);
  if (in) return !(in->flags & (INTRIN_READS | INTRIN_WRITES | INTRIN_NORETURN));
  if (call_has_attribute(f, i, ATTR_NOMERGE)) return false;
  if (is_plain_asm(f, call_callee(f, i))) return true;
  return call_has_attribute(f, i, ATTR_WILLRETURN) && accesses_nothing(attribute_effect(f, i));
}

bool effects_call_must_stay(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct intrinsic_info *in = intrinsic_of(f, i);
  if (in) return (in->flags & (INTRIN_WRITES | INTRIN_NORETURN)) != 0;
  if (is_plain_asm(f, call_callee(f, i))) return type_equal(i->type, TYPE_VOID);
  if (!call_has_attribute(f, i, ATTR_WILLRETURN) || effects_call_is_convergent(f, i)) return true;
  struct call_effect e = attribute_effect(f, i);
  return ((e.arguments | e.others | e.inaccessible) & EFFECT_WRITES) != 0;
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

bool effects_is_convergent_asm(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_CALL || !is_plain_asm(f, call_callee(f, i)) ||
      call_has_attribute(f, i, ATTR_NOMERGE) || !effects_call_is_convergent(f, i))
    return false;
  return accesses_nothing(attribute_effect(f, i));
}

/* --- metadata --------------------------------------------------------------------------------- */

/* Kinds of attachments that describe an access, not its result; alias analysis reads the first
 * three. */
static const char *const access_kinds[] = {"tbaa", "alias.scope", "noalias", "invariant.load",
                                           "nontemporal"};
enum {
  FIRST_SCOPE = 1,
  FIRST_OF_MEMORY = 3,
  ACCESS_KINDS = sizeof access_kinds / sizeof *access_kinds
};

/* Copies the kinds of `from` to `to`; those from `first` to before `end` only where `other` has the
 * same node. */
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

bool effects_may_not_return(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_CALL) return false;
  uint32_t intrinsic = call_intrinsic(f, i);
  return intrinsic ? (intrinsic_table[intrinsic].flags & INTRIN_NORETURN) != 0
                   : effects_must_stay(f, i);
}
