/* ir/layout.h: sizes, alignments and offsets; the numbers are LLVM's for nvptx64. */
#include "ir_fixture.h"

static void expect(struct nvm_module *m, struct nvm_type ty, uint64_t bits, uint64_t store,
                   uint64_t alloc, uint32_t align) {
  assert_int_equal(layout_bits(&m->layout, &m->types, ty), bits);
  assert_int_equal(layout_store_size(&m->layout, &m->types, ty), store);
  assert_int_equal(layout_alloc_size(&m->layout, &m->types, ty), alloc);
  assert_int_equal(layout_align(&m->layout, &m->types, ty), align);
}

static void scalars(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  expect(m, TYPE_I1, 1, 1, 1, 1);
  expect(m, TYPE_I16, 16, 2, 2, 2);
  expect(m, type_int(&m->types, 24), 24, 3, 4, 4);
  expect(m, type_int(&m->types, 65), 65, 9, 16, 16);
  expect(m, TYPE_I128, 128, 16, 16, 16);
  expect(m, TYPE_BFLOAT, 16, 2, 2, 2);
  expect(m, TYPE_DOUBLE, 64, 8, 8, 8);
  expect(m, type_ptr(&m->types, 3), 64, 8, 8, 8);
  module_destroy(m);
}

static void vectors(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  expect(m, type_vector(&m->types, TYPE_FLOAT, 4), 128, 16, 16, 16);
  expect(m, type_vector(&m->types, TYPE_FLOAT, 3), 96, 12, 16, 16);
  expect(m, type_vector(&m->types, TYPE_I1, 9), 9, 2, 2, 2);
  expect(m, type_vector(&m->types, type_int(&m->types, 24), 4), 96, 12, 16, 16);
  expect(m, type_vector(&m->types, TYPE_PTR, 2), 128, 16, 16, 16);
  m->layout.vector_align_log2[7] = 3; /* v128:64 */
  expect(m, type_vector(&m->types, TYPE_FLOAT, 4), 128, 16, 16, 8);
  module_destroy(m);
}

static void structs_and_arrays(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_type members[] = {TYPE_I8, TYPE_I64, TYPE_I8};
  struct nvm_type loose = type_struct(&m->types, members, 3, false);
  struct nvm_type tight = type_struct(&m->types, members, 3, true);
  expect(m, loose, 192, 24, 24, 8);
  expect(m, tight, 80, 10, 10, 1);
  assert_int_equal(layout_member_offset(&m->layout, &m->types, loose, 1), 8);
  assert_int_equal(layout_member_offset(&m->layout, &m->types, loose, 2), 16);
  assert_int_equal(layout_member_offset(&m->layout, &m->types, tight, 2), 9);
  expect(m, type_array(&m->types, loose, 3), 576, 72, 72, 8);
  expect(m, type_array(&m->types, type_int(&m->types, 24), 3), 96, 12, 12, 4);
  expect(m, type_struct(&m->types, NULL, 0, false), 0, 0, 0, 1);
  struct nvm_type nested[] = {TYPE_I8, tight, loose};
  assert_int_equal(
      layout_member_offset(&m->layout, &m->types, type_struct(&m->types, nested, 3, false), 2), 16);
  module_destroy(m);
}

static void another_layout_is_asked_anew(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_type members[] = {TYPE_I32, type_ptr(&m->types, 3)};
  struct nvm_type s = type_struct(&m->types, members, 2, false);
  expect(m, s, 128, 16, 16, 8);
  m->layout.pointer_bits[3] = 32;
  expect(m, s, 64, 8, 8, 4);
  module_destroy(m);
}

static void sizes_saturate(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_type a = type_array(&m->types, TYPE_I64, UINT64_MAX);
  for (int i = 0; i < 5; i++) {
    assert_true(layout_alloc_size(&m->layout, &m->types, a) == UINT64_MAX / 16);
    struct nvm_type two[] = {a, a};
    a = type_array(&m->types, type_struct(&m->types, two, 2, false), 1000);
  }
  assert_true(layout_bits(&m->layout, &m->types, type_vector(&m->types, TYPE_I64, UINT64_MAX)) > 0);
  module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scalars),
      cmocka_unit_test(vectors),
      cmocka_unit_test(structs_and_arrays),
      cmocka_unit_test(another_layout_is_asked_anew),
      cmocka_unit_test(sizes_saturate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
