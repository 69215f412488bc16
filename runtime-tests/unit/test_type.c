/* ir/type.h: identity by structure, named structs, what is sized, how types are written. */
#include "ir_fixture.h"

static void structure_is_identity(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  assert_int_equal(type_int(t, 32).index, TYPE_I32.index);
  assert_int_equal(type_int(t, 128).index, TYPE_I128.index);
  assert_int_equal(type_ptr(t, 0).index, TYPE_PTR.index);
  assert_int_equal(type_int(t, 7).index, type_int(t, 7).index);
  for (uint32_t space = 0; space < 200; space++) {
    assert_int_equal(type_info(t, type_ptr(t, space))->kind, TY_PTR);
    assert_int_equal(type_info(t, type_ptr(t, space))->width, space);
  }
  struct nvm_type pair[] = {TYPE_I32, TYPE_FLOAT}, swapped[] = {TYPE_FLOAT, TYPE_I32};
  struct nvm_type s = type_struct(t, pair, 2, false);
  assert_int_equal(s.index, type_struct(t, pair, 2, false).index);
  assert_int_not_equal(s.index, type_struct(t, pair, 2, true).index);
  assert_int_not_equal(s.index, type_struct(t, swapped, 2, false).index);
  assert_int_not_equal(s.index, type_struct(t, pair, 1, false).index);
  assert_int_not_equal(type_array(t, TYPE_I8, 4).index, type_vector(t, TYPE_I8, 4).index);
  assert_int_not_equal(type_array(t, TYPE_I8, 4).index,
                       type_array(t, TYPE_I8, (UINT64_C(1) << 32) + 4).index);
  assert_int_not_equal(type_function(t, TYPE_VOID, pair, 2, false).index,
                       type_function(t, TYPE_VOID, pair, 2, true).index);
  module_destroy(m);
}

static void thousands_are_found_again(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  uint32_t handles[3000];
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < 3000; i++) {
      struct nvm_type members[] = {type_array(t, TYPE_I8, i), TYPE_I32};
      struct nvm_type s = type_struct(t, members, 2, false);
      if (round == 0) handles[i] = s.index;
      assert_int_equal(handles[i], s.index);
    }
  module_destroy(m);
}

/* A list that is read from the very pool it is copied to. */
static void members_from_the_pool(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type two[] = {TYPE_I8, TYPE_I16};
  struct nvm_type s = type_struct(t, two, 2, false);
  for (uint32_t i = 0; i < 1000; i++) {
    const struct nvm_type *pool = t->members.data + type_info(t, s)->first_member;
    struct nvm_type f = type_function(t, type_array(t, TYPE_I8, i), pool, 2, false);
    assert_int_equal(type_member(t, f, 0).index, TYPE_I8.index);
    assert_int_equal(type_member(t, f, 1).index, TYPE_I16.index);
  }
  module_destroy(m);
}

static void named_structs_by_name(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type list = type_named(t, module_str(m, "struct.list"));
  assert_int_equal(list.index, type_named(t, module_str(m, "struct.list")).index);
  assert_false(type_is_sized(t, list));
  assert_false(type_is_first_class(t, list));
  struct nvm_type members[] = {TYPE_I32, TYPE_PTR};
  struct nvm_type holder = type_array(t, list, 3);
  assert_false(type_is_sized(t, holder));
  assert_true(type_set_body(t, list, members, 2, false));
  assert_true(type_is_sized(t, list));
  assert_true(type_is_sized(t, holder)); /* what was found out before the body is forgotten */
  assert_int_not_equal(list.index, type_struct(t, members, 2, false).index);
  assert_int_equal(type_element(t, list, 1).index, TYPE_PTR.index);
  assert_int_equal(type_element(t, list, 2).index, TYPE_NONE.index);
  assert_type_text(m, list, "%struct.list");
  assert_type_text(m, type_named(t, module_str(m, "a b\"\xc3")), "%\"a b\\22\\C3\"");
  assert_type_text(m, type_named(t, module_str(m, "12")), "%12");
  assert_type_text(m, type_named(t, module_str(m, "12x")), "%\"12x\"");
  module_destroy(m);
}

static void a_struct_in_itself_has_no_size(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type a = type_named(t, module_str(m, "a")), b = type_named(t, module_str(m, "b"));
  struct nvm_type of_a[] = {TYPE_I32, type_array(t, b, 2)}, of_b[] = {a, a};
  type_set_body(t, a, of_a, 2, false);
  type_set_body(t, b, of_b, 2, false);
  assert_false(type_is_sized(t, a));
  assert_false(type_is_sized(t, b));
  assert_int_equal(layout_alloc_size(&m->layout, t, a), 0);
  module_destroy(m);
}

/* %s(n) = { %s(n-1), %s(n-1) }: exponential without memory, too deep in the end. */
static void chains_of_structs_are_bounded(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  enum { LENGTH = TYPE_MAX_DEPTH + 10 };
  struct nvm_type chain[LENGTH + 1];
  for (uint32_t i = 0; i <= LENGTH; i++) {
    char name[16];
    snprintf(name, sizeof name, "s%u", i);
    chain[i] = type_named(t, module_str(m, name));
  }
  struct nvm_type none = TYPE_I8;
  type_set_body(t, chain[0], &none, 1, false);
  for (uint32_t i = 1; i <= LENGTH; i++) {
    struct nvm_type pair[] = {chain[i - 1], chain[i - 1]};
    type_set_body(t, chain[i], pair, 2, false);
  }
  assert_false(type_is_sized(t, chain[LENGTH])); /* from above */
  assert_true(type_is_sized(t, chain[TYPE_MAX_DEPTH - 2]));
  assert_false(type_is_sized(t, chain[TYPE_MAX_DEPTH])); /* from below: the same limit */
  assert_int_equal(layout_alloc_size(&m->layout, t, chain[10]), 1024);
  assert_true(layout_alloc_size(&m->layout, t, chain[500]) == UINT64_MAX / 16);
  module_destroy(m);
}

static void kinds_are_told_apart(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type v4f = type_vector(t, TYPE_FLOAT, 4);
  assert_true(type_is_float_or_vector(t, v4f) && !type_is_float(t, v4f));
  assert_true(type_is_float(t, TYPE_BFLOAT) && !type_is_int(t, TYPE_BFLOAT));
  assert_true(type_is_ptr_or_vector(t, type_vector(t, type_ptr(t, 3), 2)));
  assert_true(type_is_aggregate(t, type_array(t, TYPE_I8, 0)));
  assert_false(type_is_first_class(t, TYPE_LABEL) || type_is_first_class(t, TYPE_VOID));
  assert_false(type_is_sized(t, TYPE_METADATA) || type_is_sized(t, TYPE_TOKEN));
  assert_int_equal(type_scalar_bits(t, TYPE_BFLOAT), 16);
  assert_int_equal(type_scalar_bits(t, type_int(t, 77)), 77);
  assert_int_equal(type_scalar_bits(t, TYPE_PTR), 0);
  assert_int_equal(type_with_lanes_of(t, TYPE_I1, v4f).index, type_vector(t, TYPE_I1, 4).index);
  assert_int_equal(type_with_lanes_of(t, TYPE_I1, TYPE_FLOAT).index, TYPE_I1.index);
  module_destroy(m);
}

static void types_are_written_as_in_the_text(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type members[] = {TYPE_I32, type_ptr(t, 1)};
  assert_type_text(m, type_struct(t, members, 2, false), "{ i32, ptr addrspace(1) }");
  assert_type_text(m, type_struct(t, members, 1, true), "<{ i32 }>");
  assert_type_text(m, type_struct(t, NULL, 0, false), "{}");
  assert_type_text(m, type_struct(t, NULL, 0, true), "<{}>");
  assert_type_text(m, type_array(t, type_vector(t, TYPE_HALF, 2), 3), "[3 x <2 x half>]");
  assert_type_text(m, type_function(t, TYPE_VOID, members, 2, true),
                   "void (i32, ptr addrspace(1), ...)");
  assert_type_text(m, type_function(t, TYPE_I1, NULL, 0, true), "i1 (...)");
  module_destroy(m);
}

static bool type_scenario(struct nvm_allocator allocator) {
  struct nvm_module *m = module_create(allocator, 0);
  if (!m) return false;
  for (uint32_t i = 0; i < 400; i++) {
    struct nvm_type members[] = {type_int(&m->types, i % 128 + 1),
                                 type_array(&m->types, TYPE_I8, i)};
    struct nvm_str name = strtab_intern(&m->strings, (char *)&i, sizeof i);
    struct nvm_type named = type_named(&m->types, name);
    type_set_body(&m->types, named, members, 2, i & 1);
    type_function(&m->types, named, members, 2, false);
  }
  bool done = !module_out_of_memory(m);
  module_destroy(m);
  return done;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(type_scenario);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(structure_is_identity),
      cmocka_unit_test(thousands_are_found_again),
      cmocka_unit_test(members_from_the_pool),
      cmocka_unit_test(named_structs_by_name),
      cmocka_unit_test(a_struct_in_itself_has_no_size),
      cmocka_unit_test(chains_of_structs_are_bounded),
      cmocka_unit_test(kinds_are_told_apart),
      cmocka_unit_test(types_are_written_as_in_the_text),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
