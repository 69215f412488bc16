/* Each breaks a rule of ir/verify_rules.def about functions' bodies: blocks, operands,
 * instructions, calls. test_verify.c has the table of them. */
#ifndef NVM_TESTS_VERIFY_CODE_VIOLATIONS_H
#define NVM_TESTS_VERIFY_CODE_VIOLATIONS_H

#include "ir/intrinsic.h"
#include "verify_module_violations.h"

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
static void call_asm(struct fixture *x, const char *constraints) {
  struct nvm_value assembly = const_asm(x->m, module_str(x->m, "nop;"),
                                        module_str(x->m, constraints), CONST_ASM_SIDEEFFECT);
  EMIT(x, x->b, OP_CALL, TYPE_VOID, site(x, void_of_i32(x)), x->i32, assembly);
}
static void asm_constraint_unknown(struct fixture *x) { call_asm(x, "z"); }
static void asm_constraint_tie(struct fixture *x) { call_asm(x, "0"); }
static void asm_constraint_order(struct fixture *x) { call_asm(x, "~{memory},r"); }
static void asm_operands_inputs(struct fixture *x) { call_asm(x, "r,r"); }
static void asm_operands_outputs(struct fixture *x) { call_asm(x, "=r,r"); }
static void asm_pointer(struct fixture *x) { call_asm(x, "=*m"); }
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

#endif
