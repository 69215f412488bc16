/* ir/verify.h: every rule is broken once, in a module that is otherwise sound, and must be the
 * first one reported; a table of them all shows that none is without its test. Then what must not
 * be refused, and that size does not hurt. */

#include "ir/dominance.h"
#include "ir/verify.h"
#include "verify_code_violations.h"
#include "verify_module_violations.h"

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
    {VERIFY_META_ARGUMENTS, meta_arguments},
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
    {VERIFY_ASM_CONSTRAINT, asm_constraint_unknown},
    {VERIFY_ASM_CONSTRAINT, asm_constraint_tie},
    {VERIFY_ASM_CONSTRAINT, asm_constraint_order},
    {VERIFY_ASM_OPERANDS, asm_operands_inputs},
    {VERIFY_ASM_OPERANDS, asm_operands_outputs},
    {VERIFY_ASM_POINTER, asm_pointer},
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
  const char *end = "found 'i32' and 'float' in '%sum = add'";
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

/* A phi with very many operands, from a switch and from a chain of checks that leave to it. */
static void many_operands_pass(void **state) {
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
  expect_ok(&x);
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
      cmocka_unit_test(many_operands_pass),
      cmocka_unit_test(dominator_tree),
      cmocka_unit_test(dominators_by_definition),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
