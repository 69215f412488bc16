/* The rules outside function bodies: types, constants, symbols, metadata.
 *
 * Types are walked depth first with three colours and an explicit stack, since a chain of structs
 * may be longer than the call stack. Constants need no walk: each refers to older ones only, which
 * is itself a rule. */
#include "ir/verify_internal.h"

#include "ir/intrinsic.h"

static const struct nvm_inst_id NOWHERE = {0};

/* Types. */

enum { WHITE, GREY, BLACK };

struct type_walk {
  struct verifier *v;
  uint8_t *colour; /* by type */
  uint32_t *depth; /* by type: nesting levels */
  uint32_t *next;  /* by type on the stack: its next member */
  struct nvm_type *stack;
  uint32_t count;
};

static uint64_t member_count(const struct type_info *info) {
  if (info->kind == TY_STRUCT) return info->flags & TYPE_OPAQUE ? 0 : info->count;
  return info->kind == TY_ARRAY || info->kind == TY_VECTOR;
}

static bool may_be_member(const struct type_table *t, enum type_kind of, struct nvm_type member) {
  if (of == TY_VECTOR)
    return type_is_int(t, member) || type_is_float(t, member) || type_is_ptr(t, member);
  enum type_kind kind = type_kind(t, member);
  return kind != TY_NONE && kind != TY_VOID && kind != TY_LABEL && kind != TY_METADATA &&
         kind != TY_TOKEN && kind != TY_FUNCTION;
}

static void check_members(struct verifier *v, struct nvm_type type) {
  const struct type_info *info = type_info(v->types, type);
  for (uint64_t i = 0; i < member_count(info); i++) {
    struct nvm_type member = type_element(v->types, type, i);
    if (!may_be_member(v->types, (enum type_kind)info->kind, member))
      verify_fail(v, VERIFY_TYPE_ELEMENT, NOWHERE, "%T in %T", member, type);
  }
  if (info->kind == TY_VECTOR && info->count == 0)
    verify_fail(v, VERIFY_TYPE_ELEMENT, NOWHERE, "a vector without lanes");
}

static void check_function_type(struct verifier *v, struct nvm_type type) {
  const struct type_info *info = type_info(v->types, type);
  enum type_kind result = type_kind(v->types, info->element);
  if (result == TY_NONE || result == TY_LABEL || result == TY_METADATA || result == TY_FUNCTION)
    verify_fail(v, VERIFY_TYPE_ELEMENT, NOWHERE, "a function that returns %T", info->element);
  for (uint32_t i = 0; i < info->count; i++) {
    enum type_kind kind = type_kind(v->types, type_member(v->types, type, i));
    if (kind == TY_NONE || kind == TY_VOID || kind == TY_FUNCTION || kind == TY_LABEL)
      verify_fail(v, VERIFY_TYPE_ELEMENT, NOWHERE, "a parameter of type %T",
                  type_member(v->types, type, i));
  }
}

static void enter_type(struct type_walk *w, struct nvm_type type) {
  w->colour[type.index] = GREY;
  w->depth[type.index] = 1;
  w->stack[w->count++] = type;
}

/* Visits the next member of the top type, or pops the type. */
static void step_type(struct type_walk *w) {
  struct nvm_type type = w->stack[w->count - 1];
  const struct type_info *info = type_info(w->v->types, type);
  uint32_t k = w->next[type.index];
  if (k >= member_count(info)) {
    w->colour[type.index] = BLACK;
    w->count--;
    if (w->depth[type.index] == TYPE_MAX_DEPTH + 1)
      verify_fail(w->v, VERIFY_TYPE_DEPTH, NOWHERE, "deeper nesting");
    return;
  }
  struct nvm_type member = type_element(w->v->types, type, k);
  if (w->colour[member.index] == WHITE) {
    enter_type(w, member);
    return;
  }
  if (w->colour[member.index] == GREY)
    verify_fail(w->v, VERIFY_TYPE_RECURSIVE, NOWHERE, "%T, which contains itself", member);
  else if (w->depth[member.index] >= w->depth[type.index])
    w->depth[type.index] = w->depth[member.index] + 1;
  w->next[type.index]++;
}

static void check_types(struct verifier *v) {
  size_t n = v->types->infos.count;
  struct type_walk w = {.v = v,
                        .colour = arena_alloc(&v->arena, n),
                        .depth = arena_alloc(&v->arena, n * sizeof *w.depth),
                        .next = arena_alloc(&v->arena, n * sizeof *w.next),
                        .stack = arena_alloc(&v->arena, n * sizeof *w.stack)};
  if (!w.colour || !w.depth || !w.next || !w.stack) return;
  for (uint32_t k = 1; k < n; k++) {
    struct nvm_type type = {k};
    if (type_kind(v->types, type) == TY_FUNCTION) check_function_type(v, type);
    else check_members(v, type);
    if (w.colour[k] == WHITE) enter_type(&w, type);
    while (w.count) step_type(&w);
    layout_alloc_size(&v->m->layout, v->types, type); /* read-only from here on: see type_memo */
  }
}

/* Constants. */

static bool constant_fits(const struct verifier *v, const struct constant_info *c) {
  const struct type_table *t = v->types;
  enum type_kind kind = type_kind(t, c->type);
  const struct type_info *info = type_info(t, c->type);
  switch ((enum constant_kind)c->kind) {
    case CONST_INT: return kind == TY_INT;
    case CONST_BIG_INT:
      return kind == TY_INT && info->width > 128 &&
             module_text(v->m, c->str).length == (info->width + 7) / 8;
    case CONST_FLOAT: return type_is_float(t, c->type);
    case CONST_NULL: return kind == TY_PTR;
    case CONST_ZERO:
    case CONST_AGGREGATE:
      return kind == TY_VECTOR || kind == TY_ARRAY ||
             (kind == TY_STRUCT && !(info->flags & TYPE_OPAQUE));
    case CONST_UNDEF:
    case CONST_POISON:
      return type_is_first_class(t, c->type) && kind != TY_TOKEN && kind != TY_METADATA;
    case CONST_BYTES:
      return kind == TY_ARRAY && type_equal(info->element, TYPE_I8) &&
             info->count == module_text(v->m, c->str).length;
    case CONST_EXPR: return type_is_first_class(t, c->type);
    case CONST_ASM: return kind == TY_PTR;
    case CONST_METADATA: return kind == TY_METADATA && c->meta < v->m->metadata.items.count;
    case CONST_NONE_TOKEN: return kind == TY_TOKEN;
    case CONST_NONE: return false;
  }
  return false;
}

static bool constant_operands_exist(struct verifier *v, struct nvm_value constant) {
  const struct constant_info *c = constant_info(&v->m->constants, constant);
  for (uint32_t i = 0; i < c->count; i++) {
    struct nvm_value operand = const_operand(v->m, constant, i);
    uint32_t index = value_index(operand);
    enum value_kind kind = value_kind(operand);
    bool fits = (kind == VALUE_CONST && index != 0 && index < value_index(constant)) ||
                (kind == VALUE_GLOBAL && index != 0 && index < v->m->globals.count) ||
                (kind == VALUE_FUNCTION && index != 0 && index < v->m->functions.count);
    if (!fits)
      return verify_fail(v, VERIFY_CONST_OPERAND, NOWHERE, "%V as element %u of %T", operand, i,
                         c->type);
    if (kind == VALUE_FUNCTION && module_function(v->m, operand)->intrinsic)
      return verify_fail(v, VERIFY_INTRINSIC_ADDRESS, NOWHERE, "%V in a constant", operand);
  }
  return true;
}

static void check_elements(struct verifier *v, struct nvm_value constant) {
  const struct constant_info *c = constant_info(&v->m->constants, constant);
  uint64_t count = type_info(v->types, c->type)->count;
  if (c->count != count) {
    verify_fail(v, VERIFY_CONST_ELEMENT, NOWHERE, "%u elements for type %T", c->count, c->type);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    struct nvm_type found = verify_type(v, const_operand(v->m, constant, i));
    if (type_equal(found, type_element(v->types, c->type, i))) continue;
    verify_fail(v, VERIFY_CONST_ELEMENT, NOWHERE, "%T as element %u of %T", found, i, c->type);
    return;
  }
}

static bool may_be_expression(enum op op) {
  if (op_is_cast(op) || (op >= OP_FIRST_INT && op <= OP_LAST_INT)) return true;
  return (op >= OP_FIRST_FLOAT && op <= OP_LAST_FLOAT) || op == OP_GEP || op == OP_ICMP ||
         op == OP_FCMP || op == OP_SELECT || op == OP_EXTRACTELEMENT || op == OP_INSERTELEMENT ||
         op == OP_SHUFFLEVECTOR || op == OP_EXTRACTVALUE || op == OP_INSERTVALUE;
}

static void check_expression(struct verifier *v, const struct constant_info *c) {
  if (c->op >= OP_COUNT || !may_be_expression((enum op)c->op)) {
    verify_fail(v, VERIFY_CONST_OP, NOWHERE, "'%s'",
                c->op < OP_COUNT ? op_table[c->op].keyword : "an unknown opcode");
    return;
  }
  struct subject s = {v,        NOWHERE, (enum op)c->op,
                      c->flags, c->type, v->m->constants.operands.data + c->first,
                      c->count, c->aux};
  verify_op(&s);
}

static void check_constants(struct verifier *v) {
  for (uint32_t k = 1; k < v->m->constants.infos.count; k++) {
    const struct constant_info *c = &v->m->constants.infos.data[k];
    struct nvm_value constant = value_make(VALUE_CONST, k);
    if (!constant_fits(v, c)) {
      verify_fail(v, VERIFY_CONST_TYPE, NOWHERE, "type %T for a constant of kind %u", c->type,
                  (unsigned)c->kind);
      continue;
    }
    if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) continue;
    if (!constant_operands_exist(v, constant)) continue;
    if (c->kind == CONST_AGGREGATE) check_elements(v, constant);
    else check_expression(v, c);
  }
}

/* Symbols. */

static bool is_local(const struct symbol *s) {
  return s->linkage == LINK_PRIVATE || s->linkage == LINK_INTERNAL;
}

static void check_symbol(struct verifier *v, const struct symbol *s, bool declared) {
  bool extern_linkage = s->linkage == LINK_EXTERNAL || s->linkage == LINK_EXTERN_WEAK;
  if (!s->defined) {
    verify_fail_at(v, VERIFY_SYMBOL_DEFINED, s->where, "undefined '@%S'", s->name);
    return;
  }
  if (s->linkage >= LINK_COUNT || (declared ? !extern_linkage : s->linkage == LINK_EXTERN_WEAK))
    verify_fail_at(v, VERIFY_SYMBOL_LINKAGE, s->where, "a %s of '@%S' with linkage %s",
                   declared ? "declaration" : "definition", s->name,
                   s->linkage < LINK_COUNT ? linkage_names[s->linkage] : "unknown");
  if (is_local(s) && s->visibility != VIS_DEFAULT)
    verify_fail_at(v, VERIFY_SYMBOL_VISIBILITY, s->where, "'@%S'", s->name);
  if (declared && s->comdat)
    verify_fail_at(v, VERIFY_SYMBOL_COMDAT, s->where, "declaration '@%S'", s->name);
}

/* llvm.used and llvm.compiler.used list pointers; the constructor lists have structs of a priority,
 * a function and, since LLVM 4, data. */
static void check_list(struct verifier *v, const struct nvm_global *g) {
  struct nvm_text name = module_text(v->m, g->symbol.name);
  bool used = text_is(name, "llvm.used") || text_is(name, "llvm.compiler.used");
  bool structors = text_is(name, "llvm.global_ctors") || text_is(name, "llvm.global_dtors");
  if (!used && !structors) return;
  const struct type_info *info = type_info(v->types, g->value_type);
  bool fits = info->kind == TY_ARRAY && g->symbol.linkage == LINK_APPENDING;
  struct nvm_type element = info->element;
  if (fits && used) fits = type_is_ptr(v->types, element);
  if (fits && structors) {
    const struct type_info *row = type_info(v->types, element);
    fits = row->kind == TY_STRUCT && (row->count == 2 || row->count == 3) &&
           type_equal(type_member(v->types, element, 0), TYPE_I32) &&
           type_is_ptr(v->types, type_member(v->types, element, 1));
  }
  if (!fits)
    verify_fail_at(v, VERIFY_GLOBAL_LIST, g->symbol.where, "'@%S' of type %T", g->symbol.name,
                   g->value_type);
}

static void check_initializer(struct verifier *v, const struct nvm_global *g) {
  enum value_kind kind = value_kind(g->initializer);
  struct nvm_type found = module_value_type(v->m, g->initializer);
  bool constant = kind == VALUE_CONST || kind == VALUE_GLOBAL || kind == VALUE_FUNCTION;
  if (!constant || !type_equal(found, g->value_type))
    verify_fail_at(v, VERIFY_GLOBAL_INITIALIZER, g->symbol.where, "%T for '@%S' of type %T", found,
                   g->symbol.name, g->value_type);
  else if (!type_is_sized(v->types, g->value_type))
    verify_fail_at(v, VERIFY_GLOBAL_TYPE, g->symbol.where, "%T, which has no size", g->value_type);
  if (g->symbol.linkage == LINK_COMMON && (!const_is_zero(v->m, g->initializer) || g->is_constant))
    verify_fail_at(v, VERIFY_GLOBAL_COMMON, g->symbol.where, "'@%S'", g->symbol.name);
}

static void check_variable(struct verifier *v, const struct nvm_global *g) {
  bool declared = value_is_none(g->initializer);
  check_symbol(v, &g->symbol, declared);
  if (!g->symbol.defined) return;
  if (g->align_log2 > 33)
    verify_fail_at(v, VERIFY_SYMBOL_ALIGN, g->symbol.where, "2^%u for '@%S'",
                   (unsigned)g->align_log2 - 1, g->symbol.name);
  if (!may_be_member(v->types, TY_STRUCT, g->value_type))
    verify_fail_at(v, VERIFY_GLOBAL_TYPE, g->symbol.where, "%T", g->value_type);
  else if (!declared) check_initializer(v, g);
  if (g->symbol.linkage == LINK_APPENDING && type_kind(v->types, g->value_type) != TY_ARRAY)
    verify_fail_at(v, VERIFY_SYMBOL_LINKAGE, g->symbol.where,
                   "appending '@%S', which is not an array", g->symbol.name);
  check_list(v, g);
}

/* Aliases. The aliasee is a constant whose chain of first operands ends in a symbol. */

static struct nvm_value aliasee_base(const struct nvm_module *m, struct nvm_value v) {
  while (value_kind(v) == VALUE_CONST) {
    const struct constant_info *c = constant_info(&m->constants, v);
    if (c->kind != CONST_EXPR || c->count == 0) return VALUE_NULL;
    struct nvm_value first = const_operand(m, v, 0);
    if (value_kind(first) == VALUE_CONST && value_index(first) >= value_index(v)) return VALUE_NULL;
    v = first;
  }
  return v;
}

static bool symbol_exists(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) return value_index(v) < m->functions.count;
  return value_kind(v) == VALUE_GLOBAL && value_index(v) < m->globals.count;
}

static bool is_alias(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) != VALUE_GLOBAL) return false;
  return module_global(m, v)->is_alias || module_global(m, v)->is_ifunc;
}

static bool is_definition(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) return !function_is_declaration(module_function(m, v));
  return is_alias(m, v) || !value_is_none(module_global(m, v)->initializer);
}

static void check_alias(struct verifier *v, struct nvm_value alias) {
  const struct nvm_global *g = module_global(v->m, alias);
  struct nvm_type wanted = module_value_type(v->m, alias);
  struct nvm_value base = aliasee_base(v->m, g->aliasee);
  check_symbol(v, &g->symbol, false);
  if (g->symbol.linkage == LINK_COMMON || g->symbol.linkage == LINK_APPENDING)
    verify_fail_at(v, VERIFY_SYMBOL_LINKAGE, g->symbol.where, "%s alias '@%S'",
                   linkage_names[g->symbol.linkage], g->symbol.name);
  struct nvm_type found = module_value_type(v->m, g->aliasee);
  if (!type_equal(found, wanted))
    verify_fail_at(v, VERIFY_ALIAS_TARGET, g->symbol.where, "%T for '@%S' of type %T", found,
                   g->symbol.name, wanted);
  else if (!symbol_exists(v->m, base) || !is_definition(v->m, base))
    verify_fail_at(v, VERIFY_ALIAS_TARGET, g->symbol.where,
                   "'@%S', whose aliasee is not a definition", g->symbol.name);
}

/* Follows the aliases from `start`, colouring them grey; a grey one again is a cycle, a black one
 * leads to no new cycle. Afterwards all of them are black. */
static void follow_alias(struct verifier *v, uint8_t *colour, struct nvm_value start) {
  struct nvm_value at = start;
  while (symbol_exists(v->m, at) && is_alias(v->m, at) && colour[value_index(at)] == WHITE) {
    colour[value_index(at)] = GREY;
    at = aliasee_base(v->m, module_global(v->m, at)->aliasee);
  }
  if (symbol_exists(v->m, at) && is_alias(v->m, at) && colour[value_index(at)] == GREY)
    verify_fail_at(v, VERIFY_ALIAS_CYCLE, module_global(v->m, at)->symbol.where,
                   "'@%S', which refers to itself", module_global(v->m, at)->symbol.name);
  for (at = start; symbol_exists(v->m, at) && is_alias(v->m, at) && colour[value_index(at)] == GREY;
       at = aliasee_base(v->m, module_global(v->m, at)->aliasee))
    colour[value_index(at)] = BLACK;
}

static void check_globals(struct verifier *v) {
  uint8_t *colour = arena_alloc(&v->arena, v->m->globals.count);
  if (!colour) return;
  for (uint32_t k = 0; k < v->m->symbol_order.count; k++) {
    struct nvm_value symbol = v->m->symbol_order.data[k];
    if (value_kind(symbol) != VALUE_GLOBAL) continue;
    if (is_alias(v->m, symbol)) {
      check_alias(v, symbol);
      follow_alias(v, colour, symbol);
    } else {
      check_variable(v, module_global(v->m, symbol));
    }
  }
}

/* Functions, without their bodies. */

static bool intrinsic_fits(struct verifier *v, const struct nvm_function *f) {
  struct textbuf why;
  textbuf_init(&why, &v->function_arena);
  if (intrinsic_check_type(v->types, (enum intrinsic_id)f->intrinsic, f->type, &why)) return true;
  textbuf_char(&why, '\0');
  return verify_fail(v, VERIFY_INTRINSIC_TYPE, NOWHERE, "%s", why.bytes ? why.bytes : "");
}

/* Only intrinsics have parameters of metadata and token type. */
static void check_parameters(struct verifier *v, const struct nvm_function *f) {
  for (uint32_t i = 0; i < function_arg_count(f); i++) {
    struct nvm_type type = function_arg_type(f, i);
    enum type_kind kind = type_kind(v->types, type);
    bool special = kind == TY_METADATA || kind == TY_TOKEN;
    if (!type_is_first_class(v->types, type) ||
        (special && !text_begins(module_text(v->m, f->symbol.name), "llvm.")))
      verify_fail(v, VERIFY_FUNCTION_TYPE, NOWHERE, "parameter %u of type %T", i + 1, type);
  }
}

static void check_convention(struct verifier *v, const struct nvm_function *f) {
  bool variadic = type_info(v->types, f->type)->flags & TYPE_VARIADIC;
  bool fixed = f->convention == CC_FAST || f->convention == CC_COLD ||
               f->convention == CC_PTX_KERNEL || f->convention == CC_PTX_DEVICE;
  if (variadic && fixed) verify_fail(v, VERIFY_FUNCTION_VARIADIC, NOWHERE, "%T", f->type);
  if (function_is_kernel(f) && !type_equal(function_result_type(f), TYPE_VOID))
    verify_fail(v, VERIFY_KERNEL_RESULT, NOWHERE, "%T", function_result_type(f));
}

void verify_symbol_function(struct verifier *v, const struct nvm_function *f) {
  bool declared = function_is_declaration(f);
  check_symbol(v, &f->symbol, declared);
  if (!f->symbol.defined) return;
  if (f->type.index == 0 || type_kind(v->types, f->type) != TY_FUNCTION) {
    verify_fail(v, VERIFY_FUNCTION_TYPE, NOWHERE, "%T", f->type);
    return;
  }
  if (f->symbol.linkage == LINK_COMMON || f->symbol.linkage == LINK_APPENDING)
    verify_fail(v, VERIFY_SYMBOL_LINKAGE, NOWHERE, "a function with linkage %s",
                linkage_names[f->symbol.linkage]);
  if (f->align_log2 > 33)
    verify_fail(v, VERIFY_SYMBOL_ALIGN, NOWHERE, "2^%u", (unsigned)f->align_log2 - 1);
  check_parameters(v, f);
  check_convention(v, f);
  if (!declared && text_begins(module_text(v->m, f->symbol.name), "llvm."))
    verify_fail(v, VERIFY_INTRINSIC_BODY, NOWHERE, "a definition");
  if (f->intrinsic) intrinsic_fits(v, f);
  verify_attributes(v, f->attributes, f->type, NOWHERE);
}

/* Metadata. */

static void check_nodes(struct verifier *v) {
  const struct meta_table *t = &v->m->metadata;
  for (uint32_t k = 1; k < t->items.count; k++) {
    const struct meta_item *item = &t->items.data[k];
    bool node = item->kind == META_NODE || item->kind == META_INLINE;
    if (node && (item->node >= t->nodes.count || !t->nodes.data[item->node].defined))
      verify_fail(v, VERIFY_META_DEFINED, NOWHERE, "a reference to node %u", item->node);
  }
}

static bool is_local_item(const struct meta_table *t, struct nvm_meta m) {
  const struct meta_item *item = meta_item(t, m);
  if (item->kind != META_VALUE) return false;
  enum value_kind kind = value_kind(item->value);
  return kind == VALUE_INST || kind == VALUE_ARG || kind == VALUE_BLOCK || kind == VALUE_FORWARD;
}

static void check_arguments(struct verifier *v, const struct meta_node *n) {
  const struct meta_table *t = &v->m->metadata;
  for (uint32_t i = 0; i < n->count; i++) {
    const struct meta_item *item = meta_item(t, meta_operand(t, n, i));
    if (item->kind != META_VALUE || value_kind(item->value) == VALUE_FORWARD)
      verify_fail(v, VERIFY_META_ARGUMENTS, NOWHERE, "operand %u of a DIArgList", i);
  }
}

/* Numbered nodes belong to the module: only DIArgList, printed in place, may contain local
 * values. */
static void check_local(struct verifier *v) {
  const struct meta_table *t = &v->m->metadata;
  struct nvm_str list = strtab_find(&v->m->strings, "DIArgList", 9);
  for (uint32_t k = 1; k < t->nodes.count; k++) {
    const struct meta_node *n = &t->nodes.data[k];
    bool is_list = n->name.index != 0 && n->name.index == list.index;
    if (is_list) check_arguments(v, n);
    for (uint32_t i = 0; i < n->count && !is_list; i++)
      if (is_local_item(t, meta_operand(t, n, i)))
        verify_fail(v, VERIFY_META_LOCAL, NOWHERE, "a local value as operand %u of a node", i);
  }
}

static bool is_module_flag(const struct verifier *v, const struct meta_node *n) {
  const struct meta_table *t = &v->m->metadata;
  if (!n || n->count != 3 || n->name.index) return false;
  const struct meta_item *behaviour = meta_item(t, meta_operand(t, n, 0));
  nvm_u128 number;
  return behaviour->kind == META_VALUE && const_is_int(v->m, behaviour->value, &number) &&
         number >= 1 && number <= 8 && meta_item(t, meta_operand(t, n, 1))->kind == META_STRING;
}

static void check_named(struct verifier *v) {
  const struct meta_table *t = &v->m->metadata;
  for (uint32_t k = 0; k < t->named.count; k++) {
    const struct named_metadata *named = &t->named.data[k];
    bool flags = text_is(module_text(v->m, named->name), "llvm.module.flags");
    for (uint32_t i = 0; i < named->count; i++) {
      const struct meta_node *n = meta_as_node(t, t->operands.data[named->first + i]);
      if (!n) verify_fail(v, VERIFY_META_NAMED, NOWHERE, "operand %u of '!%S'", i, named->name);
      else if (flags && n->defined && !is_module_flag(v, n))
        verify_fail(v, VERIFY_META_MODULE_FLAG, NOWHERE, "operand %u of '!llvm.module.flags'", i);
    }
  }
}

/* Whether the bounds of a !range pair are distinct constants of the type. */
static bool range_pair_fits(const struct verifier *v, const struct meta_node *n, uint32_t i,
                            struct nvm_type type) {
  const struct meta_table *t = &v->m->metadata;
  const struct meta_item *low = meta_item(t, meta_operand(t, n, i));
  const struct meta_item *high = meta_item(t, meta_operand(t, n, i + 1));
  nvm_u128 a, b;
  return low->kind == META_VALUE && high->kind == META_VALUE &&
         const_is_int(v->m, low->value, &a) && const_is_int(v->m, high->value, &b) && a != b &&
         type_equal(module_value_type(v->m, low->value), type) &&
         type_equal(module_value_type(v->m, high->value), type);
}

static void check_range(struct verifier *v, struct nvm_inst_id id, struct nvm_meta range) {
  const struct nvm_inst *i = function_inst(v->f, id);
  const struct meta_node *n = meta_as_node(&v->m->metadata, range);
  struct nvm_type type = type_scalar(v->types, i->type);
  bool fits = n && n->count && n->count % 2 == 0 && (i->op == OP_LOAD || i->op == OP_CALL);
  for (uint32_t k = 0; fits && k + 1 < n->count; k += 2) fits = range_pair_fits(v, n, k, type);
  if (!fits) verify_fail(v, VERIFY_META_RANGE, id, "an invalid list for type %T", i->type);
}

void verify_attachments(struct verifier *v, struct nvm_inst_id id) {
  const struct meta_table *t = &v->m->metadata;
  struct nvm_meta location = v->f->locations.data[id.index];
  uint32_t chain = v->f->attachments.data[id.index];
  if (location.index) {
    const struct meta_node *n = meta_as_node(t, location);
    if (!n || !n->defined || !text_is(module_text(v->m, n->name), "DILocation"))
      verify_fail(v, VERIFY_META_LOCATION, id, "other metadata");
  }
  if (!chain || v->range.index == 0) return;
  struct nvm_meta range = module_attachment(v->m, chain, v->range);
  if (range.index) check_range(v, id, range);
}

void verify_module_level(struct verifier *v) {
  check_types(v);
  check_constants(v);
  check_globals(v);
  check_nodes(v);
  check_local(v);
  check_named(v);
}
