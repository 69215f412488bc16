/* ir/constant.h: one form for every constant, elements and values read back. */
#include "ir_fixture.h"

static void integers_are_masked_and_interned(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  for (uint32_t width = 1; width <= 128; width++) {
    struct nvm_type type = type_int(&m->types, width);
    nvm_u128 ones = ~(nvm_u128)0 >> (128 - width), value;
    struct nvm_value all = const_int(m, type, ~(nvm_u128)0);
    assert_true(const_is_int(m, all, &value) && value == ones);
    assert_true(const_int_signed(m, all) == -1);
    assert_true(value_equal(all, const_int(m, type, ones)));
    assert_false(const_is_zero(m, all));
    struct nvm_value top = const_int(m, type, (nvm_u128)1 << (width - 1));
    assert_true(const_int_signed(m, top) == (nvm_i128)(~(nvm_u128)0 << (width - 1)));
    assert_true(const_is_zero(m, const_zero(m, type)));
    assert_true(value_equal(const_zero(m, type), const_int(m, type, 0)));
  }
  assert_false(value_equal(const_int(m, TYPE_I32, 1), const_int(m, TYPE_I64, 1)));
  module_destroy(m);
}

static void many_integers_are_found_again(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_value first = const_int(m, TYPE_I64, 0);
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < 100000; i++)
      assert_int_equal(value_index(const_int(m, TYPE_I64, i)), value_index(first) + i);
  module_destroy(m);
}

static void zeros_have_the_form_of_their_type(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_type v = type_vector(&m->types, TYPE_FLOAT, 2);
  assert_int_equal(constant_info(&m->constants, const_zero(m, TYPE_DOUBLE))->kind, CONST_FLOAT);
  assert_int_equal(constant_info(&m->constants, const_zero(m, TYPE_PTR))->kind, CONST_NULL);
  assert_int_equal(constant_info(&m->constants, const_zero(m, v))->kind, CONST_ZERO);
  struct nvm_value zeros[] = {const_zero(m, TYPE_FLOAT), const_zero(m, TYPE_FLOAT)};
  assert_true(value_equal(const_aggregate(m, v, zeros, 2), const_zero(m, v)));
  zeros[1] = const_float(m, TYPE_FLOAT, 0x80000000); /* -0.0 is no zero */
  assert_false(const_is_zero(m, const_aggregate(m, v, zeros, 2)));
  struct nvm_type empty = type_struct(&m->types, NULL, 0, false);
  assert_true(value_equal(const_aggregate(m, empty, NULL, 0), const_zero(m, empty)));
  module_destroy(m);
}

static void aggregates_of_undef_and_poison(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_type pair[] = {TYPE_I32, TYPE_I32};
  struct nvm_type s = type_struct(&m->types, pair, 2, false);
  struct nvm_type v = type_vector(&m->types, TYPE_I32, 2);
  struct nvm_value undef = const_undef(m, TYPE_I32), poison = const_poison(m, TYPE_I32);
  struct nvm_value undefs[] = {undef, undef}, poisons[] = {poison, poison};
  struct nvm_value both[] = {undef, poison};
  assert_true(value_equal(const_aggregate(m, s, undefs, 2), const_undef(m, s)));
  assert_true(value_equal(const_aggregate(m, v, poisons, 2), const_poison(m, v)));
  struct nvm_value members = const_aggregate(m, s, both, 2);
  assert_int_equal(constant_info(&m->constants, members)->kind, CONST_AGGREGATE);
  struct nvm_value mixed = const_aggregate(m, v, both, 2);
  assert_int_equal(constant_info(&m->constants, mixed)->kind, CONST_AGGREGATE);
  assert_true(value_equal(const_element(m, mixed, 0), undef));
  assert_true(value_equal(const_element(m, mixed, 1), poison));
  assert_true(value_equal(const_element(m, const_undef(m, v), 1), undef));
  assert_true(value_is_none(const_element(m, mixed, 2)));
  module_destroy(m);
}

static void strings_and_lists_of_bytes_are_one(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_type a3 = type_array(&m->types, TYPE_I8, 3);
  struct nvm_value list[] = {const_int(m, TYPE_I8, 'h'), const_int(m, TYPE_I8, 0),
                             const_int(m, TYPE_I8, 0xff)};
  struct nvm_value string = const_bytes(m, a3, "h\0\xff", 3);
  assert_true(value_equal(string, const_aggregate(m, a3, list, 3)));
  assert_true(value_equal(const_element(m, string, 2), list[2]));
  assert_true(value_equal(const_bytes(m, a3, "\0\0\0", 3), const_zero(m, a3)));
  list[1] = const_undef(m, TYPE_I8);
  struct nvm_value mixed = const_aggregate(m, a3, list, 3);
  assert_int_equal(constant_info(&m->constants, mixed)->kind, CONST_AGGREGATE);
  assert_true(value_equal(const_operand(m, mixed, 1), list[1]));
  module_destroy(m);
}

static void expressions_differ_by_all_they_say(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_value g = module_add_global(m, module_str(m, "g"));
  struct nvm_value operands[] = {g, const_int(m, TYPE_I64, 4)};
  struct nvm_value e = const_expr(m, OP_GEP, 0, TYPE_PTR, operands, 2, TYPE_I8.index);
  assert_true(value_equal(e, const_expr(m, OP_GEP, 0, TYPE_PTR, operands, 2, TYPE_I8.index)));
  assert_false(
      value_equal(e, const_expr(m, OP_GEP, INST_INBOUNDS, TYPE_PTR, operands, 2, TYPE_I8.index)));
  assert_false(value_equal(e, const_expr(m, OP_GEP, 0, TYPE_PTR, operands, 2, TYPE_I16.index)));
  assert_false(value_equal(e, const_expr(m, OP_ADD, 0, TYPE_PTR, operands, 2, TYPE_I8.index)));
  assert_true(value_equal(const_operand(m, e, 0), g));
  assert_true(value_is_none(const_element(m, e, 0)));
  module_destroy(m);
}

static void asm_metadata_and_tokens(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_str text = module_str(m, "bar.sync 0;"), none = {0};
  struct nvm_value a = const_asm(m, text, none, CONST_ASM_SIDEEFFECT);
  assert_true(value_equal(a, const_asm(m, text, none, CONST_ASM_SIDEEFFECT)));
  assert_false(value_equal(a, const_asm(m, text, none, 0)));
  assert_true(value_equal(const_metadata(m, 5), const_metadata(m, 5)));
  assert_int_equal(module_value_type(m, const_metadata(m, 5)).index, TYPE_METADATA.index);
  assert_int_equal(module_value_type(m, const_token_none(m)).index, TYPE_TOKEN.index);
  module_destroy(m);
}

static bool constant_scenario(struct nvm_allocator allocator) {
  struct nvm_module *m = module_create(allocator, 0);
  if (!m) return false;
  struct nvm_type wide = type_int(&m->types, 100), array = type_array(&m->types, TYPE_I8, 4);
  for (uint32_t i = 1; i < 1000; i++) {
    struct nvm_value elements[] = {const_int(m, TYPE_I32, i), const_int(m, wide, i)};
    struct nvm_type pair[] = {TYPE_I32, wide};
    if (!value_is_none(elements[0]) && !value_is_none(elements[1]))
      const_aggregate(m, type_struct(&m->types, pair, 2, false), elements, 2);
    const_bytes(m, array, (char *)&i, 4);
  }
  bool done = !module_out_of_memory(m);
  module_destroy(m);
  return done;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(constant_scenario);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_are_masked_and_interned),
      cmocka_unit_test(many_integers_are_found_again),
      cmocka_unit_test(zeros_have_the_form_of_their_type),
      cmocka_unit_test(aggregates_of_undef_and_poison),
      cmocka_unit_test(strings_and_lists_of_bytes_are_one),
      cmocka_unit_test(expressions_differ_by_all_they_say),
      cmocka_unit_test(asm_metadata_and_tokens),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
