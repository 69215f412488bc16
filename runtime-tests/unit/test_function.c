/* ir/function.h and ir/module.h: blocks, instructions and their operands; symbols, call sites. */
#include "ir_fixture.h"

static const struct nvm_value no_operands[1] = {{0}};

static struct nvm_function *new_body(struct nvm_module *m) {
  struct nvm_type parameters[] = {TYPE_I32, type_ptr(&m->types, 1)};
  return new_function(m, "f", TYPE_I32, parameters, 2, true);
}

static void types_of_values(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_value x[] = {value_of_arg(0), const_int(m, TYPE_I32, 1)};
  struct nvm_inst_id add = emit(f, f->entry, OP_ADD, TYPE_I32, 2, x, 0);
  assert_int_equal(value_type(f, value_of_inst(add)).index, TYPE_I32.index);
  assert_int_equal(value_type(f, value_of_arg(1)).index, type_ptr(&m->types, 1).index);
  assert_int_equal(value_type(f, value_of_arg(2)).index, TYPE_NONE.index);
  assert_int_equal(value_type(f, value_of_block(f->entry)).index, TYPE_LABEL.index);
  struct nvm_value g = module_add_global(m, module_str(m, "g"));
  module_global(m, g)->address_space = 300;
  assert_int_equal(value_type(f, g).index, type_ptr(&m->types, 300).index);
  assert_int_equal(function_result_type(f).index, TYPE_I32.index);
  assert_int_equal(function_arg_count(f), 2);
  module_destroy(m);
}

static void expect_order(struct nvm_function *f, struct nvm_block b, const uint32_t *ids,
                         int count) {
  int n = 0;
  struct nvm_inst_id last = {0};
  FOR_EACH_INST (f, b, i) {
    assert_true(n < count);
    assert_int_equal(i.index, ids[n++]);
    assert_int_equal(function_inst(f, i)->previous.index, last.index);
    assert_int_equal(function_inst(f, i)->block.index, b.index);
    last = i;
  }
  assert_int_equal(n, count);
  assert_int_equal(function_block(f, b)->last.index, last.index);
}

static void instructions_move_within_blocks(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_block b = f->entry;
  struct nvm_inst_id i[4];
  for (int k = 0; k < 4; k++)
    i[k] = function_add_inst(f, OP_UNREACHABLE, 0, TYPE_VOID, no_operands, 0, 0);
  inst_append(f, i[1], b);
  inst_insert_before(f, i[0], i[1]);
  inst_append(f, i[3], b);
  inst_insert_before(f, i[2], i[3]);
  expect_order(f, b, (uint32_t[]){i[0].index, i[1].index, i[2].index, i[3].index}, 4);
  inst_unlink(f, i[0]);
  inst_unlink(f, i[2]);
  expect_order(f, b, (uint32_t[]){i[1].index, i[3].index}, 2);
  inst_append(f, i[0], b);
  inst_remove(f, i[1]);
  expect_order(f, b, (uint32_t[]){i[3].index, i[0].index}, 2);
  inst_remove(f, i[3]);
  inst_remove(f, i[0]);
  expect_order(f, b, NULL, 0);
  module_destroy(m);
}

static void uses_are_counted(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_value x[] = {value_of_arg(0), value_of_arg(0)};
  struct nvm_inst_id a = emit(f, f->entry, OP_ADD, TYPE_I32, 2, x, 0);
  struct nvm_value aa[] = {value_of_inst(a), value_of_inst(a)};
  struct nvm_inst_id b = emit(f, f->entry, OP_MUL, TYPE_I32, 2, aa, 0);
  assert_int_equal(f->uses.data[a.index], 2);
  inst_set_operand(f, b, 0, value_of_arg(0));
  assert_int_equal(f->uses.data[a.index], 1);
  inst_set_operand(f, b, 1, value_of_inst(a));
  assert_int_equal(f->uses.data[a.index], 1);
  inst_remove(f, b);
  assert_int_equal(f->uses.data[a.index], 0);
  module_destroy(m);
}

/* Two phis that grow in turn, with others created and removed between: each keeps its own. */
static void operand_lists_grow_without_mixing(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  enum { PHIS = 5, ROUNDS = 3000 };
  struct nvm_inst_id phi[PHIS], dead = {0};
  for (int k = 0; k < PHIS; k++) phi[k] = emit(f, f->entry, OP_PHI, TYPE_I32, 0, no_operands, 0);
  for (uint32_t n = 0; n < ROUNDS; n++)
    for (int k = 0; k < PHIS; k++) {
      if ((n * 7 + (uint32_t)k) % (uint32_t)(k + 1) == 0)
        assert_true(inst_add_operand(f, phi[k], value_of_arg(n * PHIS + (uint32_t)k)));
      if (n % 50 == 0) {
        if (dead.index) inst_remove(f, dead);
        struct nvm_value v[] = {value_of_arg(0), value_of_arg(1), value_of_arg(2)};
        dead = emit(f, f->entry, OP_UNREACHABLE, TYPE_VOID, 3, v, 0);
      }
    }
  for (int k = 0; k < PHIS; k++) {
    uint32_t at = 0;
    for (uint32_t n = 0; n < ROUNDS; n++)
      if ((n * 7 + (uint32_t)k) % (uint32_t)(k + 1) == 0)
        assert_int_equal(value_index(inst_operand(f, function_inst(f, phi[k]), at++)),
                         n * PHIS + (uint32_t)k);
    assert_int_equal(function_inst(f, phi[k])->operand_count, at);
  }
  assert_true(f->operands.count < 6 * PHIS * ROUNDS);
  module_destroy(m);
}

static void operands_are_removed_in_order(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_value v[6];
  for (uint32_t k = 0; k < 6; k++) v[k] = value_of_arg(k);
  struct nvm_inst_id i = emit(f, f->entry, OP_PHI, TYPE_I32, 6, v, 0);
  inst_remove_operands(f, i, 2, 2);
  assert_int_equal(function_inst(f, i)->operand_count, 4);
  assert_int_equal(value_index(inst_operand(f, function_inst(f, i), 1)), 1);
  assert_int_equal(value_index(inst_operand(f, function_inst(f, i), 2)), 4);
  inst_add_operand(f, i, value_of_arg(9));
  assert_int_equal(value_index(inst_operand(f, function_inst(f, i), 4)), 9);
  assert_int_equal(f->operands.count, 6); /* the places given up were taken again */
  module_destroy(m);
}

/* An instruction cloned from operands in the pool itself. */
static void clones_survive_a_moving_pool(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_value v[] = {value_of_arg(0), value_of_arg(1)};
  struct nvm_inst_id i = emit(f, f->entry, OP_ADD, TYPE_I32, 2, v, 0);
  for (int n = 0; n < 100000; n++) {
    const struct nvm_value *operands = f->operands.data + function_inst(f, i)->first_operand;
    i = emit(f, f->entry, OP_ADD, TYPE_I32, 2, operands, 0);
    assert_true(value_equal(inst_operand(f, function_inst(f, i), 1), v[1]));
  }
  assert_int_equal(f->insts.count, f->positions.count);
  assert_int_equal(f->insts.count, f->uses.count);
  module_destroy(m);
}

static void blocks_and_successors(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_block a = f->entry, b = function_add_block(f, module_str(m, "b")),
                   c = function_add_block(f, module_str(m, "c"));
  struct nvm_value one = const_int(m, TYPE_I32, 1);
  struct nvm_value sw[] = {value_of_arg(0), value_of_block(b), one, value_of_block(c)};
  assert_int_equal(block_successor_count(f, a), 0);
  emit(f, a, OP_SWITCH, TYPE_VOID, 4, sw, 0);
  struct nvm_value br[] = {const_int(m, TYPE_I1, 1), value_of_block(c), value_of_block(c)};
  emit(f, b, OP_CONDBR, TYPE_VOID, 3, br, 0);
  assert_int_equal(block_successor_count(f, a), 2);
  assert_int_equal(block_successor(f, a, 0).index, b.index);
  assert_int_equal(block_successor(f, a, 1).index, c.index);
  assert_int_equal(block_successor_count(f, b), 2);
  assert_int_equal(block_successor(f, b, 1).index, c.index);
  function_move_block(f, c, b);
  assert_int_equal(function_block(f, a)->next.index, c.index);
  assert_int_equal(f->last_block.index, b.index);
  function_move_block(f, c, (struct nvm_block){0});
  assert_int_equal(f->last_block.index, c.index);
  function_remove_block(f, b);
  assert_int_equal(function_block(f, a)->next.index, c.index);
  assert_true(function_block(f, b)->removed);
  module_destroy(m);
}

static void symbols_by_name(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_value values[2000];
  char name[16];
  for (int i = 0; i < 2000; i++) {
    snprintf(name, sizeof name, "s%d", i);
    values[i] = i % 2 ? module_add_global(m, module_str(m, name))
                      : module_add_function(m, module_str(m, name));
  }
  struct nvm_value numbered = module_add_global(m, (struct nvm_str){0});
  for (int i = 0; i < 2000; i += 3) module_remove_symbol(m, values[i]);
  module_remove_symbol(m, numbered);
  for (int i = 0; i < 2000; i++) {
    snprintf(name, sizeof name, "s%d", i);
    struct nvm_value found = module_find_symbol(m, module_str(m, name));
    assert_true(value_equal(found, i % 3 ? values[i] : VALUE_NULL));
  }
  struct nvm_value again = module_add_global(m, module_str(m, "s0"));
  assert_true(value_equal(module_find_symbol(m, module_str(m, "s0")), again));
  assert_true(value_is_none(module_find_symbol(m, (struct nvm_str){0})));
  assert_true(value_is_none(m->symbol_order.data[2000]));
  module_destroy(m);
}

static void call_sites_are_interned_by_content(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct operand_bundle bundle = {module_str(m, "convergencectrl"), 1};
  uint32_t first[2];
  for (int i = 0; i < 2; i++) {
    first[i] = m->bundles.count;
    VEC_PUSH(&m->arena, &m->bundles, bundle);
  }
  struct nvm_type type = type_function(&m->types, TYPE_VOID, &TYPE_I32, 1, false);
  struct call_site s = {.function_type = type, .first_bundle = first[0], .bundle_count = 1};
  uint32_t k = module_call_site(m, s);
  s.first_bundle = first[1];
  assert_int_equal(module_call_site(m, s), k);
  s.convention = CC_FAST;
  assert_int_not_equal(module_call_site(m, s), k);
  struct nvm_function *f = new_body(m);
  struct nvm_value operands[] = {value_of_arg(0), const_token_none(m),
                                 value_make(VALUE_FUNCTION, 1)};
  struct nvm_inst_id call = emit(f, f->entry, OP_CALL, TYPE_VOID, 3, operands, k);
  assert_int_equal(call_arg_count(f, function_inst(f, call)), 1);
  module_destroy(m);
}

static void attachments_and_scopes(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  uint32_t chain = 0;
  struct nvm_meta a = meta_int(&m->metadata, 1, false), b = meta_int(&m->metadata, 2, false);
  assert_true(module_attach(m, &chain, module_str(m, "tbaa"), a));
  assert_true(module_attach(m, &chain, module_str(m, "range"), b));
  assert_int_equal(module_attachment(m, chain, module_str(m, "range")).index, b.index);
  assert_int_equal(module_attachment(m, chain, module_str(m, "prof")).index, 0);
  assert_int_equal(m->attachments.data[chain].kind.index, module_str(m, "tbaa").index);
  uint32_t other = module_share_attachments(m, chain);
  assert_int_equal(other, chain);
  assert_true(module_attach(m, &other, module_str(m, "prof"), a));
  assert_int_equal(module_attachment(m, other, module_str(m, "range")).index, b.index);
  assert_int_equal(module_attachment(m, other, module_str(m, "prof")).index, a.index);
  assert_int_equal(module_attachment(m, chain, module_str(m, "prof")).index, 0);
  assert_int_equal(module_sync_scope(m, (struct nvm_str){0}), 0);
  for (uint32_t i = 1; i <= 300; i++) {
    uint32_t scope = module_sync_scope(m, strtab_intern(&m->strings, (char *)&i, 4));
    assert_int_equal(scope, i <= MODULE_MAX_SYNC_SCOPE ? i : UINT32_MAX);
  }
  module_destroy(m);
}

static bool function_scenario(struct nvm_allocator allocator) {
  struct nvm_module *m = module_create(allocator, 0);
  if (!m) return false;
  struct nvm_function *f = module_function(m, module_add_function(m, module_str(m, "f")));
  struct nvm_inst_id phi = function_add_inst(f, OP_PHI, 0, TYPE_I32, no_operands, 0, 0);
  for (uint32_t i = 0; i < 3000; i++) {
    struct nvm_block b = function_add_block(f, (struct nvm_str){0});
    struct nvm_inst_id u = function_add_inst(f, OP_UNREACHABLE, 0, TYPE_VOID, no_operands, 0, 0);
    inst_append(f, u, b);
    inst_add_operand(f, phi, value_of_block(b));
    module_call_site(m, (struct call_site){.convention = i});
    module_attach(m, &f->attachments.data[u.index], (struct nvm_str){0}, (struct nvm_meta){0});
    f->attachments.data[0] = 0;
  }
  bool done = !module_out_of_memory(m);
  module_destroy(m);
  return done;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(function_scenario);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(types_of_values),
      cmocka_unit_test(instructions_move_within_blocks),
      cmocka_unit_test(uses_are_counted),
      cmocka_unit_test(operand_lists_grow_without_mixing),
      cmocka_unit_test(operands_are_removed_in_order),
      cmocka_unit_test(clones_survive_a_moving_pool),
      cmocka_unit_test(blocks_and_successors),
      cmocka_unit_test(symbols_by_name),
      cmocka_unit_test(call_sites_are_interned_by_content),
      cmocka_unit_test(attachments_and_scopes),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
