/* ir/verify.h: every rule is broken once, in a module that is otherwise sound, and must be the
 * first one reported; a table of them all shows that none is without its test. Then what must not
 * be refused, and that size does not hurt. */
#include "ir_fixture.h"

#include <time.h>

#include "ir/dominance.h"
#include "ir/intrinsic.h"
#include "ir/verify.h"

/* A module with `define void @f(i32, ptr, float, <4 x i32>, i1) { b: … }` in the making. */
struct fixture {
  struct nvm_module *m;
  struct nvm_function *f;
  struct nvm_block b;
  struct nvm_value i32, ptr, f32, v4, i1; /* the parameters */
};

static struct nvm_type v4_type(struct nvm_module *m) { return type_vector(&m->types, TYPE_I32, 4); }

static struct fixture make(void) {
  struct fixture x = {.m = new_module()};
  struct nvm_type parameters[] = {TYPE_I32, TYPE_PTR, TYPE_FLOAT, v4_type(x.m), TYPE_I1};
  x.f = new_function(x.m, "f", TYPE_VOID, parameters, 5, true);
  x.b = x.f->entry;
  x.i32 = value_of_arg(0);
  x.ptr = value_of_arg(1);
  x.f32 = value_of_arg(2);
  x.v4 = value_of_arg(3);
  x.i1 = value_of_arg(4);
  return x;
}

#define EMIT(x, block, op, type, aux, ...)                                                 \
  emit((x)->f, (block), (op), (type),                                                      \
       (uint32_t)(sizeof((struct nvm_value[]){__VA_ARGS__}) / sizeof(struct nvm_value)),   \
       (struct nvm_value[]){__VA_ARGS__}, (aux))

static struct nvm_inst_id emit_none(struct fixture *x, struct nvm_block b, enum op op,
                                    uint32_t aux) {
  struct nvm_value none[1] = {{0}};
  return emit(x->f, b, op, TYPE_VOID, 0, none, aux);
}

static void ret(struct fixture *x, struct nvm_block b) { emit_none(x, b, OP_RET, 0); }

static struct nvm_block block(struct fixture *x, const char *name) {
  return function_add_block(x->f, module_str(x->m, name));
}

static struct nvm_value i32_const(struct fixture *x, uint32_t n) {
  return const_int(x->m, TYPE_I32, n);
}

static uint32_t access_of(struct memory_access a) { return memory_access_pack(a); }

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

/* ---- Blocks and operands ------------------------------------------------------------------- */

static void block_links(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, x->f32);
  function_inst(x->f, i)->block.index = 7;
}
static void block_terminator_middle(struct fixture *x) { ret(x, x->b); }
static void block_terminator_missing(struct fixture *x) {
  EMIT(x, block(x, "c"), OP_FNEG, TYPE_FLOAT, 0, x->f32);
}
static void block_terminator_empty(struct fixture *x) { block(x, "c"); }
static void block_phi(struct fixture *x) {
  struct nvm_block c = block(x, "c");
  EMIT(x, c, OP_FNEG, TYPE_FLOAT, 0, x->f32);
  EMIT(x, c, OP_PHI, TYPE_I32, 0, x->i32, value_of_block(x->b));
  ret(x, c);
  EMIT(x, x->b, OP_BR, TYPE_VOID, 0, value_of_block(c));
}
static void block_entry(struct fixture *x) {
  EMIT(x, block(x, "c"), OP_BR, TYPE_VOID, 0, value_of_block(x->b));
}
static void use_count(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, x->f32);
  x->f->uses.data[i.index] = 3;
}
static void operand_count(struct fixture *x) { EMIT(x, x->b, OP_ADD, TYPE_I32, 0, x->i32); }
static void operand_count_branch(struct fixture *x) { emit_none(x, block(x, "c"), OP_BR, 0); }
static void operand_forward(struct fixture *x) {
  EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, value_make(VALUE_FORWARD, 3));
}
static void operand_value(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, x->f32);
  EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, value_of_inst(i));
  inst_unlink(x->f, i);
}
static void operand_value_argument(struct fixture *x) {
  EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, value_of_arg(99));
}
static void operand_kind_label(struct fixture *x) {
  EMIT(x, x->b, OP_FREEZE, TYPE_LABEL, 0, value_of_block(x->b));
}
static void operand_kind_void(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_STORE, TYPE_VOID, 0, x->i32, x->ptr);
  EMIT(x, x->b, OP_FREEZE, TYPE_VOID, 0, value_of_inst(i));
}
static void operand_kind_asm(struct fixture *x) {
  struct nvm_str s = module_str(x->m, "nop");
  EMIT(x, x->b, OP_FREEZE, TYPE_PTR, 0, const_asm(x->m, s, (struct nvm_str){0}, 0));
}
static void operand_kind_metadata(struct fixture *x) {
  EMIT(x, x->b, OP_FREEZE, TYPE_METADATA, 0, const_metadata(x->m, 0));
}
static void operand_block(struct fixture *x) {
  EMIT(x, block(x, "c"), OP_BR, TYPE_VOID, 0, x->i32);
}
static void dominance_order(struct fixture *x) {
  struct nvm_inst_id late = function_add_inst(x->f, OP_FNEG, 0, TYPE_FLOAT, &x->f32, 1, 0);
  EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, value_of_inst(late));
  inst_append(x->f, late, x->b);
}
static void dominance_itself(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, x->f32);
  inst_set_operand(x->f, i, 0, value_of_inst(i));
}
/* b → c or d; d uses what c computes. */
static void dominance_blocks(struct fixture *x) {
  struct nvm_block c = block(x, "c"), d = block(x, "d");
  EMIT(x, x->b, OP_CONDBR, TYPE_VOID, 0, x->i1, value_of_block(c), value_of_block(d));
  struct nvm_inst_id i = EMIT(x, c, OP_FNEG, TYPE_FLOAT, 0, x->f32);
  ret(x, c);
  EMIT(x, d, OP_FNEG, TYPE_FLOAT, 0, value_of_inst(i));
  ret(x, d);
}
/* The same through a phi: the value is not there at the end of b. */
static void dominance_phi(struct fixture *x) {
  struct nvm_block c = block(x, "c");
  EMIT(x, x->b, OP_BR, TYPE_VOID, 0, value_of_block(c));
  struct nvm_inst_id phi = EMIT(x, c, OP_PHI, TYPE_FLOAT, 0, x->f32, value_of_block(x->b));
  inst_set_operand(x->f, phi, 0, value_of_inst(EMIT(x, c, OP_FNEG, TYPE_FLOAT, 0, x->f32)));
  ret(x, c);
}
static void phi_in(struct fixture *x, uint32_t edges, uint32_t operands, bool same) {
  struct nvm_block c = block(x, "c");
  struct nvm_value v[] = {x->i1, value_of_block(c), value_of_block(c)};
  if (edges == 2) emit(x->f, x->b, OP_CONDBR, TYPE_VOID, 3, v, 0);
  else emit(x->f, x->b, OP_BR, TYPE_VOID, 1, v + 1, 0);
  struct nvm_value p[] = {x->i32, value_of_block(x->b), same ? x->i32 : i32_const(x, 1),
                          value_of_block(x->b)};
  emit(x->f, c, OP_PHI, TYPE_I32, 2 * operands, p, 0);
  ret(x, c);
}
static void phi_edges_missing(struct fixture *x) { phi_in(x, 1, 0, true); }
static void phi_edges_too_few(struct fixture *x) { phi_in(x, 2, 1, true); }
static void phi_edges_too_many(struct fixture *x) { phi_in(x, 1, 2, true); }
static void phi_edges_entry(struct fixture *x) {
  EMIT(x, x->b, OP_PHI, TYPE_I32, 0, x->i32, value_of_block(x->b));
}
static void phi_same(struct fixture *x) { phi_in(x, 2, 2, false); }
static void flags(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_AND, TYPE_I32, 0, x->i32, x->i32);
  function_inst(x->f, i)->flags = INST_NUW;
}
static void flags_fast(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_SELECT, TYPE_I32, 0, x->i1, x->i32, x->i32);
  function_inst(x->f, i)->flags = INST_NNAN;
}
static void result_type(struct fixture *x) { EMIT(x, x->b, OP_ADD, TYPE_I64, 0, x->i32, x->i32); }
static void result_name(struct fixture *x) {
  struct nvm_inst_id i = EMIT(x, x->b, OP_STORE, TYPE_VOID, 0, x->i32, x->ptr);
  x->f->names.data[i.index] = module_str(x->m, "s");
}

/* ---- Instructions ---------------------------------------------------------------------------- */

static void ret_type(struct fixture *x) { EMIT(x, block(x, "c"), OP_RET, TYPE_VOID, 0, x->i32); }
static void branch_condition(struct fixture *x) {
  struct nvm_block c = block(x, "c");
  ret(x, c);
  EMIT(x, block(x, "d"), OP_CONDBR, TYPE_VOID, 0, x->i32, value_of_block(c), value_of_block(c));
}
static void switch_on(struct fixture *x, struct nvm_value v, struct nvm_value a,
                      struct nvm_value b) {
  struct nvm_block c = block(x, "c");
  ret(x, c);
  struct nvm_value to = value_of_block(c);
  EMIT(x, block(x, "d"), OP_SWITCH, TYPE_VOID, 0, v, to, a, to, b, to);
}
static void switch_type(struct fixture *x) { switch_on(x, x->i32, i32_const(x, 1), x->i32); }
static void switch_type_value(struct fixture *x) { switch_on(x, x->f32, x->f32, x->f32); }
static void switch_unique(struct fixture *x) {
  switch_on(x, x->i32, i32_const(x, 1), i32_const(x, 1));
}
static void unary_type(struct fixture *x) { EMIT(x, x->b, OP_FNEG, TYPE_I32, 0, x->i32); }
static void binary_type(struct fixture *x) { EMIT(x, x->b, OP_ADD, TYPE_FLOAT, 0, x->f32, x->f32); }
static void binary_type_mixed(struct fixture *x) {
  EMIT(x, x->b, OP_ADD, TYPE_I32, 0, x->i32, x->i1);
}
static void cmp_type(struct fixture *x) {
  EMIT(x, x->b, OP_ICMP, TYPE_I1, ICMP_EQ, x->f32, x->f32);
}
static void cmp_predicate(struct fixture *x) {
  EMIT(x, x->b, OP_ICMP, TYPE_I1, ICMP_COUNT, x->i32, x->i32);
}
static void cast_type(struct fixture *x) { EMIT(x, x->b, OP_TRUNC, TYPE_I8, 0, x->f32); }
static void cast_type_lanes(struct fixture *x) { EMIT(x, x->b, OP_TRUNC, TYPE_I8, 0, x->v4); }
static void cast_size(struct fixture *x) { EMIT(x, x->b, OP_ZEXT, TYPE_I16, 0, x->i32); }
static void cast_size_bitcast(struct fixture *x) { EMIT(x, x->b, OP_BITCAST, TYPE_I64, 0, x->v4); }
static void bitcast_pointer(struct fixture *x) {
  EMIT(x, x->b, OP_BITCAST, type_ptr(&x->m->types, 1), 0, x->ptr);
}
static void addrspacecast(struct fixture *x) {
  EMIT(x, x->b, OP_ADDRSPACECAST, TYPE_PTR, 0, x->ptr);
}
static void alloca_sized(struct fixture *x) {
  EMIT(x, x->b, OP_ALLOCA, TYPE_PTR, TYPE_VOID.index, x->i32);
}
static void alloca_count(struct fixture *x) {
  EMIT(x, x->b, OP_ALLOCA, TYPE_PTR, TYPE_I32.index, x->f32);
}
static void pointer_operand(struct fixture *x) { EMIT(x, x->b, OP_LOAD, TYPE_I32, 0, x->i32); }
static void memory_type(struct fixture *x) { EMIT(x, x->b, OP_LOAD, TYPE_TOKEN, 0, x->ptr); }
static void memory_align(struct fixture *x) {
  uint32_t aux = access_of((struct memory_access){.align_log2 = 40});
  EMIT(x, x->b, OP_LOAD, TYPE_I32, aux, x->ptr);
}
static void atomic_ordering_load(struct fixture *x) {
  uint32_t aux = access_of((struct memory_access){.ordering = ORDER_RELEASE});
  EMIT(x, x->b, OP_LOAD, TYPE_I32, aux, x->ptr);
}
static void atomic_ordering_fence(struct fixture *x) { emit_none(x, x->b, OP_FENCE, 0); }
static void atomic_ordering_rmw(struct fixture *x) {
  uint32_t aux = access_of((struct memory_access){.ordering = ORDER_UNORDERED, .rmw = RMW_ADD});
  EMIT(x, x->b, OP_ATOMICRMW, TYPE_I32, aux, x->ptr, x->i32);
}
static void atomic_ordering_failure(struct fixture *x) {
  struct memory_access a = {.ordering = ORDER_SEQ_CST, .failure_ordering = ORDER_RELEASE};
  struct nvm_type pair[] = {TYPE_I32, TYPE_I1};
  EMIT(x, x->b, OP_CMPXCHG, type_struct(&x->m->types, pair, 2, false), access_of(a), x->ptr, x->i32,
       x->i32);
}
static void atomic_type_rmw(struct fixture *x) {
  uint32_t aux = access_of((struct memory_access){.ordering = ORDER_SEQ_CST, .rmw = RMW_ADD});
  EMIT(x, x->b, OP_ATOMICRMW, TYPE_FLOAT, aux, x->ptr, x->f32);
}
static void atomic_type_size(struct fixture *x) {
  uint32_t aux = access_of((struct memory_access){.ordering = ORDER_SEQ_CST});
  EMIT(x, x->b, OP_LOAD, type_int(&x->m->types, 24), aux, x->ptr);
}
static void atomic_scope(struct fixture *x) {
  module_sync_scope(x->m, module_str(x->m, "block"));
  EMIT(x, x->b, OP_LOAD, TYPE_I32, access_of((struct memory_access){.scope = 1}), x->ptr);
}
static void gep_base(struct fixture *x) {
  EMIT(x, x->b, OP_GEP, TYPE_PTR, TYPE_I32.index, x->i32, x->i32);
}
static void gep_base_unsized(struct fixture *x) {
  EMIT(x, x->b, OP_GEP, TYPE_PTR, TYPE_VOID.index, x->ptr, x->i32);
}
static struct nvm_type pair_type(struct fixture *x) {
  struct nvm_type pair[] = {TYPE_I32, TYPE_FLOAT};
  return type_struct(&x->m->types, pair, 2, false);
}
static void gep_into(struct fixture *x, struct nvm_value index) {
  EMIT(x, x->b, OP_GEP, TYPE_PTR, pair_type(x).index, x->ptr, x->i32, index);
}
static void gep_index_range(struct fixture *x) { gep_into(x, i32_const(x, 2)); }
static void gep_index_variable(struct fixture *x) { gep_into(x, x->i32); }
static void gep_index_width(struct fixture *x) { gep_into(x, const_int(x->m, TYPE_I64, 1)); }
static void gep_index_float(struct fixture *x) {
  EMIT(x, x->b, OP_GEP, TYPE_PTR, TYPE_I32.index, x->ptr, x->f32);
}
static void gep_index_scalar(struct fixture *x) {
  EMIT(x, x->b, OP_GEP, TYPE_PTR, TYPE_I32.index, x->ptr, x->i32, x->i32);
}
static void gep_lanes(struct fixture *x) {
  struct nvm_value two = const_zero(x->m, type_vector(&x->m->types, TYPE_I32, 2));
  struct nvm_type a = type_array(&x->m->types, TYPE_I32, 2);
  EMIT(x, x->b, OP_GEP, TYPE_PTR, a.index, x->ptr, x->v4, two);
}
static void phi_type(struct fixture *x) {
  struct nvm_block c = block(x, "c");
  EMIT(x, x->b, OP_BR, TYPE_VOID, 0, value_of_block(c));
  EMIT(x, c, OP_PHI, TYPE_I64, 0, x->i32, value_of_block(x->b));
  ret(x, c);
}
static void select_type(struct fixture *x) {
  EMIT(x, x->b, OP_SELECT, TYPE_I32, 0, x->i32, x->i32, x->i32);
}
static void select_type_lanes(struct fixture *x) {
  struct nvm_value c = const_zero(x->m, type_vector(&x->m->types, TYPE_I1, 2));
  EMIT(x, x->b, OP_SELECT, v4_type(x->m), 0, c, x->v4, x->v4);
}
static void vector_element(struct fixture *x) {
  EMIT(x, x->b, OP_EXTRACTELEMENT, TYPE_I32, 0, x->i32, x->i32);
}
static void vector_element_type(struct fixture *x) {
  EMIT(x, x->b, OP_INSERTELEMENT, v4_type(x->m), 0, x->v4, x->f32, x->i32);
}
static void shuffle_type(struct fixture *x) {
  struct nvm_value mask = const_zero(x->m, v4_type(x->m));
  EMIT(x, x->b, OP_SHUFFLEVECTOR, TYPE_I32, 0, x->i32, x->i32, mask);
}
static void shuffle_mask(struct fixture *x) {
  struct nvm_value m[] = {i32_const(x, 0), i32_const(x, 8), i32_const(x, 1), i32_const(x, 2)};
  struct nvm_value mask = const_aggregate(x->m, v4_type(x->m), m, 4);
  EMIT(x, x->b, OP_SHUFFLEVECTOR, v4_type(x->m), 0, x->v4, x->v4, mask);
}
static void shuffle_mask_variable(struct fixture *x) {
  EMIT(x, x->b, OP_SHUFFLEVECTOR, v4_type(x->m), 0, x->v4, x->v4, x->v4);
}
static void aggregate_path(struct fixture *x) {
  EMIT(x, x->b, OP_EXTRACTVALUE, TYPE_I32, 0, const_zero(x->m, pair_type(x)), i32_const(x, 2));
}
static void aggregate_path_scalar(struct fixture *x) {
  EMIT(x, x->b, OP_EXTRACTVALUE, TYPE_I32, 0, x->i32, i32_const(x, 0));
}
static void aggregate_type(struct fixture *x) {
  EMIT(x, x->b, OP_INSERTVALUE, pair_type(x), 0, const_zero(x->m, pair_type(x)), x->f32,
       i32_const(x, 0));
}
static void va_arg_(struct fixture *x) { EMIT(x, x->b, OP_VA_ARG, TYPE_I32, 0, x->i32); }
static void dbg_record(struct fixture *x) { emit_none(x, x->b, OP_DBG_RECORD, DBG_COUNT); }

/* ---- Calls ----------------------------------------------------------------------------------- */

static uint32_t site(struct fixture *x, struct nvm_type type) {
  return module_call_site(x->m, (struct call_site){.function_type = type});
}
static void call_site_missing(struct fixture *x) {
  EMIT(x, x->b, OP_CALL, TYPE_VOID, 99, symbol(x, "f"));
}
static void call_site_type(struct fixture *x) {
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, TYPE_I32), symbol(x, "f"));
}
static struct nvm_type void_of_i32(struct fixture *x) {
  return type_function(&x->m->types, TYPE_VOID, &TYPE_I32, 1, false);
}
static void call_callee_(struct fixture *x) {
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, void_of_i32(x)), x->i32, x->i32);
}
static void call_count(struct fixture *x) {
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, void_of_i32(x)), x->ptr);
}
static void call_argument(struct fixture *x) {
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, void_of_i32(x)), x->f32, x->ptr);
}
static void call_result(struct fixture *x) {
  EMIT(x, x->b, OP_CALL, TYPE_I32, site(x, void_of_i32(x)), x->i32, x->ptr);
}
static void call_immarg(struct fixture *x) {
  struct nvm_function *f = x->f, *g = new_function(x->m, "g", TYPE_VOID, &TYPE_I32, 1, false);
  x->f = g;
  on_parameters(x, set_of(x, ATTR_IMMARG, ATTR_UNKNOWN, 0, TYPE_NONE), NO_ATTRS);
  x->f = f;
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, g->type), x->i32, symbol(x, "g"));
}
static void calls_intrinsic(struct fixture *x) {
  trap(x, NULL, 0);
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, void_of_i32(x)), x->i32, symbol(x, "llvm.trap"));
}
static void va_start_of_nothing(struct fixture *x) {
  struct nvm_type pointer = type_ptr(&x->m->types, 0);
  struct nvm_function *g = new_function(x->m, "llvm.va_start", TYPE_VOID, &pointer, 1, false);
  g->intrinsic = (uint32_t)intrinsic_find("llvm.va_start", strlen("llvm.va_start"));
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, g->type), x->ptr, symbol(x, "llvm.va_start"));
}
static void musttail(struct fixture *x, struct nvm_type type, uint32_t count) {
  struct nvm_value v[] = {x->i32, x->ptr, x->f32, x->v4, x->i1, symbol(x, "f")};
  struct nvm_inst_id i = emit(x->f, x->b, OP_CALL, TYPE_VOID, count, v + 6 - count, site(x, type));
  function_inst(x->f, i)->flags = CALL_MUSTTAIL;
}
static void musttail_type(struct fixture *x) {
  musttail(x, type_function(&x->m->types, TYPE_VOID, NULL, 0, false), 1);
}
static void musttail_ret(struct fixture *x) {
  musttail(x, x->f->type, 6);
  EMIT(x, x->b, OP_FNEG, TYPE_FLOAT, 0, x->f32);
}

/* ---- The table of violations ----------------------------------------------------------------- */

struct violation {
  enum verify_rule rule;
  void (*build)(struct fixture *x);
};

static const struct violation violations[] = {
    {VERIFY_TYPE_ELEMENT, type_element_},
    {VERIFY_TYPE_ELEMENT, type_element_function},
    {VERIFY_TYPE_RECURSIVE, type_recursive},
    {VERIFY_TYPE_DEPTH, type_depth},
    {VERIFY_CONST_TYPE, const_type},
    {VERIFY_CONST_TYPE, const_type_bytes},
    {VERIFY_CONST_ELEMENT, const_element_count},
    {VERIFY_CONST_ELEMENT, const_element_type},
    {VERIFY_CONST_OPERAND, const_operand_},
    {VERIFY_CONST_OPERAND, const_operand_cycle},
    {VERIFY_CONST_OP, const_op},
    {VERIFY_CAST_TYPE, const_op_types},
    {VERIFY_SYMBOL_DEFINED, symbol_defined},
    {VERIFY_SYMBOL_LINKAGE, symbol_linkage},
    {VERIFY_SYMBOL_LINKAGE, symbol_linkage_appending},
    {VERIFY_SYMBOL_VISIBILITY, symbol_visibility},
    {VERIFY_SYMBOL_COMDAT, symbol_comdat},
    {VERIFY_SYMBOL_ALIGN, symbol_align},
    {VERIFY_GLOBAL_TYPE, global_type},
    {VERIFY_GLOBAL_INITIALIZER, global_initializer},
    {VERIFY_GLOBAL_COMMON, global_common},
    {VERIFY_GLOBAL_LIST, global_list},
    {VERIFY_ALIAS_TARGET, alias_target},
    {VERIFY_ALIAS_TARGET, alias_target_type},
    {VERIFY_ALIAS_CYCLE, alias_cycle},
    {VERIFY_FUNCTION_TYPE, function_type},
    {VERIFY_FUNCTION_VARIADIC, function_variadic},
    {VERIFY_KERNEL_RESULT, kernel_result},
    {VERIFY_INTRINSIC_BODY, intrinsic_body},
    {VERIFY_INTRINSIC_TYPE, intrinsic_type},
    {VERIFY_INTRINSIC_ADDRESS, intrinsic_address},
    {VERIFY_ATTR_PLACE, attr_place},
    {VERIFY_ATTR_TYPE, attr_type},
    {VERIFY_ATTR_SIZED, attr_sized},
    {VERIFY_ATTR_ALIGN, attr_align},
    {VERIFY_ATTR_CONFLICT, attr_conflict},
    {VERIFY_ATTR_SRET, attr_sret},
    {VERIFY_ATTR_RETURNED, attr_returned},
    {VERIFY_ATTR_OPTNONE, attr_optnone},
    {VERIFY_META_DEFINED, meta_defined},
    {VERIFY_META_LOCAL, meta_local},
    {VERIFY_META_NAMED, meta_named},
    {VERIFY_META_MODULE_FLAG, meta_module_flag},
    {VERIFY_META_RANGE, meta_range},
    {VERIFY_META_LOCATION, meta_location},
    {VERIFY_BLOCK_LINKS, block_links},
    {VERIFY_BLOCK_TERMINATOR, block_terminator_middle},
    {VERIFY_BLOCK_TERMINATOR, block_terminator_missing},
    {VERIFY_BLOCK_TERMINATOR, block_terminator_empty},
    {VERIFY_BLOCK_PHI, block_phi},
    {VERIFY_BLOCK_ENTRY, block_entry},
    {VERIFY_USE_COUNT, use_count},
    {VERIFY_OPERAND_COUNT, operand_count},
    {VERIFY_OPERAND_COUNT, operand_count_branch},
    {VERIFY_OPERAND_FORWARD, operand_forward},
    {VERIFY_OPERAND_VALUE, operand_value},
    {VERIFY_OPERAND_VALUE, operand_value_argument},
    {VERIFY_OPERAND_KIND, operand_kind_label},
    {VERIFY_OPERAND_KIND, operand_kind_void},
    {VERIFY_OPERAND_KIND, operand_kind_asm},
    {VERIFY_OPERAND_KIND, operand_kind_metadata},
    {VERIFY_OPERAND_BLOCK, operand_block},
    {VERIFY_DOMINANCE, dominance_order},
    {VERIFY_DOMINANCE, dominance_itself},
    {VERIFY_DOMINANCE, dominance_blocks},
    {VERIFY_DOMINANCE, dominance_phi},
    {VERIFY_PHI_EDGES, phi_edges_missing},
    {VERIFY_PHI_EDGES, phi_edges_too_few},
    {VERIFY_PHI_EDGES, phi_edges_too_many},
    {VERIFY_PHI_EDGES, phi_edges_entry},
    {VERIFY_PHI_SAME, phi_same},
    {VERIFY_FLAGS, flags},
    {VERIFY_FLAGS, flags_fast},
    {VERIFY_RESULT_TYPE, result_type},
    {VERIFY_RESULT_NAME, result_name},
    {VERIFY_RET_TYPE, ret_type},
    {VERIFY_BRANCH_CONDITION, branch_condition},
    {VERIFY_SWITCH_TYPE, switch_type},
    {VERIFY_SWITCH_TYPE, switch_type_value},
    {VERIFY_SWITCH_UNIQUE, switch_unique},
    {VERIFY_UNARY_TYPE, unary_type},
    {VERIFY_BINARY_TYPE, binary_type},
    {VERIFY_BINARY_TYPE, binary_type_mixed},
    {VERIFY_CMP_TYPE, cmp_type},
    {VERIFY_CMP_PREDICATE, cmp_predicate},
    {VERIFY_CAST_TYPE, cast_type},
    {VERIFY_CAST_TYPE, cast_type_lanes},
    {VERIFY_CAST_SIZE, cast_size},
    {VERIFY_CAST_SIZE, cast_size_bitcast},
    {VERIFY_BITCAST_POINTER, bitcast_pointer},
    {VERIFY_ADDRSPACECAST, addrspacecast},
    {VERIFY_ALLOCA, alloca_sized},
    {VERIFY_ALLOCA, alloca_count},
    {VERIFY_POINTER_OPERAND, pointer_operand},
    {VERIFY_MEMORY_TYPE, memory_type},
    {VERIFY_MEMORY_ALIGN, memory_align},
    {VERIFY_ATOMIC_ORDERING, atomic_ordering_load},
    {VERIFY_ATOMIC_ORDERING, atomic_ordering_fence},
    {VERIFY_ATOMIC_ORDERING, atomic_ordering_rmw},
    {VERIFY_ATOMIC_ORDERING, atomic_ordering_failure},
    {VERIFY_ATOMIC_TYPE, atomic_type_rmw},
    {VERIFY_ATOMIC_TYPE, atomic_type_size},
    {VERIFY_ATOMIC_SCOPE, atomic_scope},
    {VERIFY_GEP_BASE, gep_base},
    {VERIFY_GEP_BASE, gep_base_unsized},
    {VERIFY_GEP_INDEX, gep_index_range},
    {VERIFY_GEP_INDEX, gep_index_variable},
    {VERIFY_GEP_INDEX, gep_index_width},
    {VERIFY_GEP_INDEX, gep_index_float},
    {VERIFY_GEP_INDEX, gep_index_scalar},
    {VERIFY_GEP_LANES, gep_lanes},
    {VERIFY_PHI_TYPE, phi_type},
    {VERIFY_SELECT_TYPE, select_type},
    {VERIFY_SELECT_TYPE, select_type_lanes},
    {VERIFY_VECTOR_ELEMENT, vector_element},
    {VERIFY_VECTOR_ELEMENT, vector_element_type},
    {VERIFY_SHUFFLE_TYPE, shuffle_type},
    {VERIFY_SHUFFLE_MASK, shuffle_mask},
    {VERIFY_SHUFFLE_MASK, shuffle_mask_variable},
    {VERIFY_AGGREGATE_PATH, aggregate_path},
    {VERIFY_AGGREGATE_PATH, aggregate_path_scalar},
    {VERIFY_AGGREGATE_TYPE, aggregate_type},
    {VERIFY_VA_ARG, va_arg_},
    {VERIFY_DBG_RECORD, dbg_record},
    {VERIFY_CALL_SITE, call_site_missing},
    {VERIFY_CALL_SITE, call_site_type},
    {VERIFY_CALL_CALLEE, call_callee_},
    {VERIFY_CALL_COUNT, call_count},
    {VERIFY_CALL_ARGUMENT, call_argument},
    {VERIFY_RESULT_TYPE, call_result},
    {VERIFY_CALL_IMMARG, call_immarg},
    {VERIFY_CALL_INTRINSIC, calls_intrinsic},
    {VERIFY_CALL_VA_START, va_start_of_nothing},
    {VERIFY_MUSTTAIL_TYPE, musttail_type},
    {VERIFY_MUSTTAIL_RET, musttail_ret},
};
enum { VIOLATIONS = sizeof violations / sizeof *violations };

/* Ends the entry block where it has no end, so that only the violation is wrong. */
static void finish(struct fixture *x) {
  if (inst_is_none(block_terminator(x->f, x->b))) ret(x, x->b);
}

static void expect_rule(enum verify_rule rule, const struct diag_sink *sink,
                        enum nvm_status status) {
  char wanted[64];
  snprintf(wanted, sizeof wanted, "[%s] ", verify_rules[rule].id);
  assert_int_equal(status, NVM_REFUSED);
  assert_true(sink->list.count >= 1);
  const struct diag *d = &sink->list.data[0];
  assert_int_equal(d->id, DIAG_VERIFY);
  if (d->message.length < strlen(wanted) || memcmp(d->message.bytes, wanted, strlen(wanted)) != 0)
    fail_msg("wanted %s, got %.*s", wanted, (int)d->message.length, d->message.bytes);
}

static void every_rule_is_found_when_broken(void **state) {
  (void)state;
  bool tested[VERIFY_RULE_COUNT] = {false};
  for (int i = 0; i < VIOLATIONS; i++) {
    struct fixture x = make();
    violations[i].build(&x);
    if (violations[i].build == block_terminator_middle) ret(&x, x.b);
    else finish(&x);
    struct diag_sink sink;
    diag_sink_init(&sink, &x.m->arena, 0);
    expect_rule(violations[i].rule, &sink, verify_module(x.m, &sink, 0));
    tested[violations[i].rule] = true;
    module_destroy(x.m);
  }
  for (int rule = 0; rule < VERIFY_RULE_COUNT; rule++)
    if (!tested[rule]) fail_msg("no test breaks %s", verify_rules[rule].id);
}

/* A place in the source: the instruction's, or the symbol's name. */
static void violations_have_places(void **state) {
  (void)state;
  struct fixture x = make();
  struct nvm_inst_id i = EMIT(&x, x.b, OP_ADD, TYPE_I32, 0, x.i32, x.f32);
  x.f->names.data[i.index] = module_str(x.m, "sum");
  x.f->positions.data[i.index] = 1234;
  ret(&x, x.b);
  global_initializer(&x);
  struct diag_sink sink;
  diag_sink_init(&sink, &x.m->arena, 0);
  verify_module(x.m, &sink, 5);
  assert_int_equal(sink.list.count, 2);
  assert_int_equal(sink.list.data[0].range.begin, 77);
  const struct diag *d = &sink.list.data[1];
  assert_int_equal(d->range.begin, 1234);
  assert_int_equal(d->range.end, 1235);
  assert_int_equal(d->range.source, 5);
  assert_memory_equal(d->function.bytes, "f", 2);
  const char *end = "found i32 and float in '%sum = add'";
  assert_memory_equal(d->message.bytes + d->message.length - strlen(end), end, strlen(end));
  module_destroy(x.m);
}

static void expect_ok(struct fixture *x) {
  struct diag_sink sink;
  diag_sink_init(&sink, &x->m->arena, 0);
  enum nvm_status status = verify_module(x->m, &sink, 0);
  if (sink.list.count)
    fail_msg("%.*s", (int)sink.list.data[0].message.length, sink.list.data[0].message.bytes);
  assert_int_equal(status, NVM_OK);
  module_destroy(x->m);
}

/* Shapes that look odd and are right. */
static void sound_modules_pass(void **state) {
  (void)state;
  struct fixture x = make();
  struct nvm_block dead = block(&x, "dead"), c = block(&x, "c");
  struct nvm_value two = value_of_block(c);
  EMIT(&x, x.b, OP_CONDBR, TYPE_VOID, 0, x.i1, two, two);
  /* Unreachable: uses itself, and what comes later. */
  struct nvm_inst_id self = EMIT(&x, dead, OP_FNEG, TYPE_FLOAT, 0, x.f32);
  inst_set_operand(x.f, self, 0, value_of_inst(self));
  EMIT(&x, dead, OP_BR, TYPE_VOID, 0, two);
  struct nvm_value b = value_of_block(x.b);
  EMIT(&x, c, OP_PHI, TYPE_FLOAT, 0, x.f32, b, x.f32, b, value_of_inst(self), value_of_block(dead));
  EMIT(&x, c, OP_BITCAST, TYPE_PTR, 0, x.ptr);
  EMIT(&x, c, OP_GEP, type_vector(&x.m->types, TYPE_PTR, 4), pair_type(&x).index, x.ptr, x.v4,
       i32_const(&x, 1));
  uint32_t fadd = access_of((struct memory_access){.ordering = ORDER_MONOTONIC, .rmw = RMW_FADD});
  struct nvm_value halves = const_zero(x.m, type_vector(&x.m->types, TYPE_HALF, 2));
  EMIT(&x, c, OP_ATOMICRMW, type_vector(&x.m->types, TYPE_HALF, 2), fadd, x.ptr, halves);
  struct nvm_inst_id call = EMIT(&x, c, OP_CALL, TYPE_VOID, site(&x, void_of_i32(&x)), x.i32,
                                 symbol(&x, "f")); /* undefined behaviour, but well formed */
  function_inst(x.f, call)->flags = CALL_TAIL;
  ret(&x, c);
  variable(&x, "g", TYPE_I32, i32_const(&x, 1));
  alias(&x, "a", symbol(&x, "g"));
  expect_ok(&x);
}

static void an_empty_module_passes(void **state) {
  (void)state;
  struct fixture x = {.m = new_module()};
  expect_ok(&x);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A phi with very many operands, from a switch and from a chain of checks that leave to it. */
static void size_is_linear(void **state) {
  (void)state;
  enum { MANY = 100000 };
  struct fixture x = make();
  struct nvm_block out = block(&x, "out"), b = x.b;
  struct nvm_value none[1] = {{0}};
  struct nvm_inst_id phi = emit(x.f, out, OP_PHI, TYPE_I32, 0, none, 0);
  for (int i = 0; i < MANY; i++) {
    struct nvm_block next = function_add_block(x.f, (struct nvm_str){0});
    EMIT(&x, b, OP_CONDBR, TYPE_VOID, 0, x.i1, value_of_block(next), value_of_block(out));
    inst_add_operand(x.f, phi, x.i32);
    inst_add_operand(x.f, phi, value_of_block(b));
    b = next;
  }
  struct nvm_inst_id sw = EMIT(&x, b, OP_SWITCH, TYPE_VOID, 0, x.i32, value_of_block(out));
  inst_add_operand(x.f, phi, x.i32);
  inst_add_operand(x.f, phi, value_of_block(b));
  for (uint32_t i = 0; i < MANY; i++) {
    inst_add_operand(x.f, sw, i32_const(&x, i));
    inst_add_operand(x.f, sw, value_of_block(out));
    inst_add_operand(x.f, phi, x.i32);
    inst_add_operand(x.f, phi, value_of_block(b));
  }
  ret(&x, out);
  double begin = seconds();
  expect_ok(&x);
  assert_true(seconds() - begin < 5);
}

/* The tree on a graph with a loop, a diamond and an unreachable block, known by hand. */
static void dominator_tree(void **state) {
  (void)state;
  struct fixture x = make();
  struct nvm_block a = block(&x, "a"), l = block(&x, "l"), r = block(&x, "r"), j = block(&x, "j"),
                   u = block(&x, "u");
  EMIT(&x, x.b, OP_BR, TYPE_VOID, 0, value_of_block(a));
  EMIT(&x, a, OP_CONDBR, TYPE_VOID, 0, x.i1, value_of_block(l), value_of_block(r));
  EMIT(&x, l, OP_BR, TYPE_VOID, 0, value_of_block(j));
  EMIT(&x, r, OP_CONDBR, TYPE_VOID, 0, x.i1, value_of_block(a), value_of_block(j));
  ret(&x, j);
  EMIT(&x, u, OP_BR, TYPE_VOID, 0, value_of_block(j));
  struct dominance d;
  assert_true(dominance_compute(&d, x.f, &x.m->arena));
  assert_int_equal(d.immediate[j.index].index, a.index);
  assert_int_equal(d.immediate[r.index].index, a.index);
  assert_int_equal(d.immediate[a.index].index, x.b.index);
  assert_int_equal(d.immediate[x.b.index].index, 0);
  assert_true(dominance_dominates(&d, a, j) && dominance_dominates(&d, j, j));
  assert_false(dominance_dominates(&d, l, j) || dominance_dominates(&d, j, a));
  assert_false(dominance_reachable(&d, u) || dominance_dominates(&d, u, j));
  assert_true(dominance_dominates(&d, l, u));
  assert_int_equal(d.first_predecessor[j.index + 1] - d.first_predecessor[j.index], 3);
  module_destroy(x.m);
}

/* Random graphs against the definition: a dominates b if b can't be reached without a. */
static bool reaches_without(struct fixture *x, struct nvm_block without, struct nvm_block to) {
  struct nvm_block stack[64];
  bool seen[64] = {false};
  int depth = 0;
  if (x->b.index != without.index) stack[depth++] = x->b;
  seen[x->b.index] = true;
  while (depth > 0) {
    struct nvm_block b = stack[--depth];
    if (b.index == to.index) return true;
    for (uint32_t k = 0; k < block_successor_count(x->f, b); k++) {
      struct nvm_block next = block_successor(x->f, b, k);
      if (seen[next.index] || next.index == without.index) continue;
      seen[next.index] = true;
      stack[depth++] = next;
    }
  }
  return false;
}

static void dominators_by_definition(void **state) {
  (void)state;
  uint32_t random = 1;
  for (int round = 0; round < 300; round++) {
    struct fixture x = make();
    enum { BLOCKS = 20 };
    struct nvm_block blocks[BLOCKS] = {x.b};
    for (int i = 1; i < BLOCKS; i++) blocks[i] = function_add_block(x.f, (struct nvm_str){0});
    for (int i = 0; i < BLOCKS; i++) {
      random = random * 1664525 + 1013904223;
      struct nvm_value to[] = {x.i1, value_of_block(blocks[1 + (random >> 8) % (BLOCKS - 1)]),
                               value_of_block(blocks[1 + (random >> 20) % (BLOCKS - 1)])};
      if (random % 5 == 0) ret(&x, blocks[i]);
      else emit(x.f, blocks[i], OP_CONDBR, TYPE_VOID, 3, to, 0);
    }
    struct dominance d;
    assert_true(dominance_compute(&d, x.f, &x.m->arena));
    struct nvm_block nothing = {0};
    for (int a = 0; a < BLOCKS; a++)
      for (int b = 0; b < BLOCKS; b++) {
        bool reachable = reaches_without(&x, nothing, blocks[b]);
        bool wanted = !reachable || !reaches_without(&x, blocks[a], blocks[b]);
        assert_int_equal(dominance_dominates(&d, blocks[a], blocks[b]), wanted);
      }
    module_destroy(x.m);
  }
}

/* The verifier's own memory runs out; the module is made beforehand with memory enough. */
static void out_of_memory_at_every_call(void **state) {
  (void)state;
  for (uint32_t n = 1;; n++) {
    struct failing_allocator allocator = {0};
    struct nvm_module *m = module_create(failing_allocator(&allocator), 0);
    struct fixture x = {.m = m};
    struct nvm_type parameters[] = {TYPE_I32, TYPE_PTR, TYPE_FLOAT, v4_type(m), TYPE_I1};
    x.f = new_function(m, "f", TYPE_VOID, parameters, 5, true);
    x.b = x.f->entry;
    x.i32 = value_of_arg(0);
    x.i1 = value_of_arg(4);
    phi_in(&x, 2, 2, true);
    for (int i = 0; i < 100; i++) EMIT(&x, x.b, OP_ADD, TYPE_I1, 0, x.i32, x.i32);
    struct arena arena;
    arena_init(&arena, failing_allocator(&allocator));
    struct diag_sink sink;
    diag_sink_init(&sink, &arena, 20);
    allocator.fail_at = allocator.calls + n;
    enum nvm_status status = verify_module(m, &sink, 0);
    bool done = allocator.calls < allocator.fail_at;
    assert_int_equal(status, done ? NVM_REFUSED : NVM_OUT_OF_MEMORY);
    arena_free(&arena);
    module_destroy(m);
    assert_int_equal(allocator.live_bytes, 0);
    if (done) return;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule_is_found_when_broken),
      cmocka_unit_test(violations_have_places),
      cmocka_unit_test(sound_modules_pass),
      cmocka_unit_test(an_empty_module_passes),
      cmocka_unit_test(size_is_linear),
      cmocka_unit_test(dominator_tree),
      cmocka_unit_test(dominators_by_definition),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
