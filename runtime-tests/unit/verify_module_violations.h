/* Each breaks a rule of ir/verify_rules.def about the module: types, constants, symbols,
 * attributes, metadata. test_verify.c has the table of them. */
#ifndef NVM_TESTS_VERIFY_MODULE_VIOLATIONS_H
#define NVM_TESTS_VERIFY_MODULE_VIOLATIONS_H

#include "verify_fixture.h"

/* ---- Types and constants ------------------------------------------------------------------- */

static void type_element_(struct fixture *x) { type_array(&x->m->types, TYPE_VOID, 3); }
static void type_element_function(struct fixture *x) {
  type_function(&x->m->types, TYPE_LABEL, NULL, 0, false);
}
static void type_recursive(struct fixture *x) {
  struct nvm_type s = type_named(&x->m->types, module_str(x->m, "s"));
  struct nvm_type a = type_array(&x->m->types, s, 2);
  type_set_body(&x->m->types, s, &a, 1, false);
}
static void type_depth(struct fixture *x) {
  struct nvm_type s = TYPE_I8;
  for (uint32_t i = 0; i < 100000; i++) s = type_array(&x->m->types, s, 1);
}
static void const_type(struct fixture *x) { const_null(x->m, TYPE_I32); }
static void const_type_bytes(struct fixture *x) {
  const_bytes(x->m, type_array(&x->m->types, TYPE_I8, 7), "abc", 3);
}
static void const_element_count(struct fixture *x) {
  struct nvm_value one = i32_const(x, 1);
  const_aggregate(x->m, v4_type(x->m), &one, 1);
}
static void const_element_type(struct fixture *x) {
  struct nvm_value one[] = {i32_const(x, 1), const_int(x->m, TYPE_I64, 1)};
  const_aggregate(x->m, type_array(&x->m->types, TYPE_I32, 2), one, 2);
}
static void const_operand_(struct fixture *x) {
  struct nvm_value v[] = {x->i32, x->i32};
  const_aggregate(x->m, type_array(&x->m->types, TYPE_I32, 2), v, 2);
}
static void const_operand_cycle(struct fixture *x) {
  struct nvm_type a = type_array(&x->m->types, TYPE_I32, 1);
  struct nvm_value self = value_make(VALUE_CONST, x->m->constants.infos.count);
  const_aggregate(x->m, a, &self, 1);
}
static void const_op(struct fixture *x) {
  struct nvm_value p = const_null(x->m, TYPE_PTR);
  const_expr(x->m, OP_LOAD, 0, TYPE_I32, &p, 1, 0);
}
static void const_op_types(struct fixture *x) {
  struct nvm_value p = const_null(x->m, TYPE_PTR);
  const_expr(x->m, OP_TRUNC, 0, TYPE_I8, &p, 1, 0);
}

/* ---- Symbols --------------------------------------------------------------------------------- */

static struct nvm_global *variable(struct fixture *x, const char *name, struct nvm_type type,
                                   struct nvm_value initializer) {
  struct nvm_global *g = module_global(x->m, module_add_global(x->m, module_str(x->m, name)));
  g->value_type = type;
  g->initializer = initializer;
  g->symbol.defined = true;
  g->symbol.where = (struct diag_range){0, 77, 78};
  return g;
}
static void symbol_defined(struct fixture *x) {
  variable(x, "g", TYPE_I32, VALUE_NULL)->symbol.defined = false;
}
static void symbol_linkage(struct fixture *x) {
  variable(x, "g", TYPE_I32, VALUE_NULL)->symbol.linkage = LINK_INTERNAL;
}
static void symbol_linkage_appending(struct fixture *x) {
  variable(x, "g", TYPE_I32, i32_const(x, 1))->symbol.linkage = LINK_APPENDING;
}
static void symbol_visibility(struct fixture *x) {
  struct nvm_global *g = variable(x, "g", TYPE_I32, i32_const(x, 1));
  g->symbol.linkage = LINK_PRIVATE;
  g->symbol.visibility = VIS_HIDDEN;
}
static void symbol_comdat(struct fixture *x) {
  variable(x, "g", TYPE_I32, VALUE_NULL)->symbol.comdat = 1;
}
static void symbol_align(struct fixture *x) {
  variable(x, "g", TYPE_I32, i32_const(x, 1))->align_log2 = 34;
}
static void global_type(struct fixture *x) { variable(x, "g", TYPE_METADATA, VALUE_NULL); }
static void global_initializer(struct fixture *x) {
  variable(x, "g", TYPE_I32, const_int(x->m, TYPE_I64, 1));
}
static void global_common(struct fixture *x) {
  variable(x, "g", TYPE_I32, i32_const(x, 1))->symbol.linkage = LINK_COMMON;
}
static void global_list(struct fixture *x) { variable(x, "llvm.used", TYPE_I32, i32_const(x, 1)); }
static struct nvm_global *alias(struct fixture *x, const char *name, struct nvm_value target) {
  struct nvm_global *g = variable(x, name, TYPE_I32, VALUE_NULL);
  g->is_alias = true;
  g->aliasee = target;
  return g;
}
static void alias_target(struct fixture *x) {
  variable(x, "declared", TYPE_I32, VALUE_NULL);
  alias(x, "a", module_find_symbol(x->m, module_str(x->m, "declared")));
}
static void alias_target_type(struct fixture *x) { alias(x, "a", i32_const(x, 1)); }
static void alias_cycle(struct fixture *x) {
  alias(x, "a", VALUE_NULL);
  struct nvm_value a = module_find_symbol(x->m, module_str(x->m, "a"));
  alias(x, "b", a);
  struct nvm_value b = module_find_symbol(x->m, module_str(x->m, "b"));
  struct nvm_value e[] = {b, const_int(x->m, TYPE_I64, 1)};
  module_global(x->m, a)->aliasee = const_expr(x->m, OP_GEP, 0, TYPE_PTR, e, 2, TYPE_I8.index);
}
static void function_type(struct fixture *x) {
  new_function(x->m, "g", TYPE_VOID, &TYPE_METADATA, 1, false);
}
static void function_variadic(struct fixture *x) {
  struct nvm_function *g = new_function(x->m, "g", TYPE_VOID, NULL, 0, false);
  g->type = type_function(&x->m->types, TYPE_VOID, NULL, 0, true);
  g->convention = CC_FAST;
}
static void kernel_result(struct fixture *x) {
  new_function(x->m, "g", TYPE_I32, NULL, 0, false)->convention = CC_PTX_KERNEL;
}
static void intrinsic_body(struct fixture *x) {
  struct nvm_function *f = x->f;
  x->f = new_function(x->m, "llvm.trap", TYPE_VOID, NULL, 0, true);
  ret(x, x->f->entry);
  x->f = f;
}
static struct nvm_function *trap(struct fixture *x, const struct nvm_type *parameters,
                                 uint32_t count) {
  struct nvm_function *g = new_function(x->m, "llvm.trap", TYPE_VOID, parameters, count, false);
  g->intrinsic = (uint32_t)intrinsic_find("llvm.trap", 9);
  assert_true(g->intrinsic != 0);
  return g;
}
static struct nvm_value symbol(struct fixture *x, const char *name) {
  return module_find_symbol(x->m, module_str(x->m, name));
}
static void intrinsic_type(struct fixture *x) { trap(x, &TYPE_I32, 1); }
static void intrinsic_address(struct fixture *x) {
  trap(x, NULL, 0);
  EMIT(x, x->b, OP_STORE, TYPE_VOID, 0, symbol(x, "llvm.trap"), x->ptr);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static struct nvm_attrset set_of(struct fixture *x, enum attr_id a, enum attr_id b, uint64_t number,
                                 struct nvm_type type) {
  struct nvm_attr attrs[] = {{.id = (uint16_t)a, .number = number, .type = type},
                             {.id = (uint16_t)b, .number = number, .type = type}};
  return attrset_make(&x->m->attributes, attrs, b ? 2 : 1);
}
static void on_parameters(struct fixture *x, struct nvm_attrset first, struct nvm_attrset second) {
  struct nvm_attrset sets[] = {first, second}, none = {0};
  x->f->attributes = attrlist_make(&x->m->attributes, none, none, sets, 2);
}
static void on_function(struct fixture *x, struct nvm_attrset set) {
  struct nvm_attrset none = {0};
  x->f->attributes = attrlist_make(&x->m->attributes, set, none, NULL, 0);
}
static const struct nvm_attrset NO_ATTRS = {0};
static void attr_place(struct fixture *x) {
  on_function(x, set_of(x, ATTR_BYVAL, ATTR_UNKNOWN, 0, TYPE_I32));
}
static void attr_type(struct fixture *x) {
  on_parameters(x, set_of(x, ATTR_NOALIAS, ATTR_UNKNOWN, 0, TYPE_NONE), NO_ATTRS);
}
static void attr_sized(struct fixture *x) {
  struct nvm_type opaque = type_named(&x->m->types, module_str(x->m, "opaque"));
  on_parameters(x, NO_ATTRS, set_of(x, ATTR_BYVAL, ATTR_UNKNOWN, 0, opaque));
}
static void attr_align(struct fixture *x) {
  on_parameters(x, NO_ATTRS, set_of(x, ATTR_ALIGN, ATTR_UNKNOWN, 12, TYPE_NONE));
}
static void attr_conflict(struct fixture *x) {
  on_parameters(x, set_of(x, ATTR_ZEROEXT, ATTR_SIGNEXT, 0, TYPE_NONE), NO_ATTRS);
}
static void attr_sret(struct fixture *x) {
  struct nvm_type p[] = {TYPE_PTR, TYPE_PTR};
  struct nvm_function *f = x->f;
  x->f = new_function(x->m, "g", TYPE_VOID, p, 2, false);
  struct nvm_attrset s = set_of(x, ATTR_SRET, ATTR_UNKNOWN, 0, TYPE_I32);
  on_parameters(x, s, s);
  x->f = f;
}
static void attr_returned(struct fixture *x) {
  on_parameters(x, set_of(x, ATTR_RETURNED, ATTR_UNKNOWN, 0, TYPE_NONE), NO_ATTRS);
}
static void attr_optnone(struct fixture *x) {
  on_function(x, set_of(x, ATTR_OPTNONE, ATTR_UNKNOWN, 0, TYPE_NONE));
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static void meta_defined(struct fixture *x) {
  meta_node(&x->m->metadata, meta_node_new(&x->m->metadata), false);
}
static struct nvm_meta tuple(struct fixture *x, const struct nvm_meta *operands, uint32_t count) {
  uint32_t node = meta_node_new(&x->m->metadata);
  meta_node_define(&x->m->metadata, node, (struct nvm_str){0}, false, NULL, operands, count);
  return meta_node(&x->m->metadata, node, false);
}
static void meta_arguments(struct fixture *x) {
  struct nvm_meta text = meta_string(&x->m->metadata, module_str(x->m, "x"));
  uint32_t node = meta_node_new(&x->m->metadata);
  meta_node_define(&x->m->metadata, node, module_str(x->m, "DIArgList"), false, NULL, &text, 1);
}

static void meta_local(struct fixture *x) {
  struct nvm_meta local = meta_value(&x->m->metadata, x->i32, TYPE_I32);
  tuple(x, &local, 1);
}
static void meta_named(struct fixture *x) {
  struct nvm_meta s = meta_string(&x->m->metadata, module_str(x->m, "s"));
  meta_add_named(&x->m->metadata, module_str(x->m, "n"), &s, 1);
}
static void meta_module_flag(struct fixture *x) {
  struct nvm_meta flag = tuple(x, NULL, 0);
  meta_add_named(&x->m->metadata, module_str(x->m, "llvm.module.flags"), &flag, 1);
}
static void meta_range(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_LOAD, TYPE_I32, 0, x->ptr);
  struct nvm_meta pair[2];
  for (uint32_t k = 0; k < 2; k++)
    pair[k] = meta_value(&x->m->metadata, const_int(x->m, TYPE_I64, k), TYPE_I64);
  module_attach(x->m, &x->f->attachments.data[i.index], module_str(x->m, "range"),
                tuple(x, pair, 2));
}
static void meta_location(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_LOAD, TYPE_I32, 0, x->ptr);
  x->f->locations.data[i.index] = tuple(x, NULL, 0);
}

#endif
