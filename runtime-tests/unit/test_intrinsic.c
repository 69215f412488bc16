/* ir/intrinsic.h: names found with and without overload suffixes, types checked with good words. */
#include "ir_fixture.h"

#include "ir/intrinsic.h"

static enum intrinsic_id find(const char *name) { return intrinsic_find(name, strlen(name)); }

static void every_row_is_found_by_its_name(void **state) {
  (void)state;
  for (uint32_t i = 1; i < INTRINSIC_COUNT; i++) {
    assert_int_equal(find(intrinsic_table[i].name), i);
    if (i > 1) assert_true(strcmp(intrinsic_table[i - 1].name, intrinsic_table[i].name) < 0);
  }
}

static void suffixes_belong_to_overloads(void **state) {
  (void)state;
  assert_int_equal(find("llvm.fabs.f32"), INTRINSIC_fabs);
  assert_int_equal(find("llvm.memcpy.p0i8.p1i8.i64"), INTRINSIC_memcpy);
  assert_int_equal(find("llvm.memcpy.inline.p0.p0.i64"), INTRINSIC_memcpy_inline);
  assert_int_equal(find("llvm.nvvm.fabs.f"), INTRINSIC_nvvm_fabs_f);
  assert_int_equal(find("llvm.nvvm.fabs.ftz.f32"), INTRINSIC_nvvm_fabs_ftz);
  assert_int_equal(find("llvm.nvvm.ldg.global.i.i32.p1"), INTRINSIC_nvvm_ldg_global_i);
  assert_int_equal(find("llvm.nvvm.atomic.load.inc.32.p3"), INTRINSIC_nvvm_atomic_load_inc_32);
  /* Without overloads nothing may follow, nor may half a word. */
  assert_int_equal(find("llvm.nvvm.barrier0.i32"), INTRINSIC_NONE);
  assert_int_equal(find("llvm.fab"), INTRINSIC_NONE);
  assert_int_equal(find("llvm.fabsx.f32"), INTRINSIC_NONE);
  assert_int_equal(find("llvm."), INTRINSIC_NONE);
  assert_int_equal(find("llvm"), INTRINSIC_NONE);
  assert_int_equal(find(""), INTRINSIC_NONE);
  assert_int_equal(find("fabs.f32"), INTRINSIC_NONE);
}

static void the_nearest_name_is_found(void **state) {
  (void)state;
  assert_int_equal(intrinsic_nearest("llvm.nvvm.read.ptx.sreg.tidx", 28),
                   INTRINSIC_nvvm_read_ptx_sreg_tid_x);
  assert_int_equal(intrinsic_nearest("llvm.ctpopp.i32", 15), INTRINSIC_ctpop);
  assert_int_equal(intrinsic_nearest("llvm.nothing.like.this.at.all", 29), INTRINSIC_NONE);
}

/* Checks a type; the sentence if it is refused, "" if not. */
static const char *check(struct nvm_module *m, enum intrinsic_id id, struct nvm_type result,
                         const struct nvm_type *arguments, uint32_t count) {
  struct textbuf why;
  textbuf_init(&why, &m->arena);
  struct nvm_type type = type_function(&m->types, result, arguments, count, false);
  bool good = intrinsic_check_type(&m->types, id, type, &why);
  assert_int_equal(good, intrinsic_check_type(&m->types, id, type, NULL));
  assert_int_equal(good, why.length == 0);
  textbuf_write(&why, "", 1);
  return why.bytes;
}

static void right_types_are_taken(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type v4 = type_vector(t, TYPE_I32, 4), flags = type_vector(t, TYPE_I1, 4);
  struct nvm_type members[2] = {v4, flags};
  struct nvm_type overflow = type_struct(t, members, 2, false);
  assert_string_equal(
      check(m, INTRINSIC_sadd_with_overflow, overflow, (struct nvm_type[]){v4, v4}, 2), "");
  assert_string_equal(check(m, INTRINSIC_vector_reduce_add, TYPE_I32, &v4, 1), "");
  assert_string_equal(
      check(m, INTRINSIC_is_fpclass, TYPE_I1, (struct nvm_type[]){TYPE_DOUBLE, TYPE_I32}, 2), "");
  /* Their spelling changed: bfloat or i16, a pair or i32; with and without an alignment. */
  assert_string_equal(check(m, INTRINSIC_nvvm_abs_bf16, TYPE_I16, (struct nvm_type[]){TYPE_I16}, 1),
                      "");
  struct nvm_type pair = type_vector(t, TYPE_BFLOAT, 2);
  assert_string_equal(check(m, INTRINSIC_nvvm_abs_bf16x2, pair, &pair, 1), "");
  struct nvm_type copy[5] = {TYPE_PTR, type_ptr(t, 1), TYPE_I64, TYPE_I1, TYPE_I1};
  assert_string_equal(check(m, INTRINSIC_memcpy, TYPE_VOID, copy, 4), "");
  copy[3] = TYPE_I32;
  assert_string_equal(check(m, INTRINSIC_memcpy, TYPE_VOID, copy, 5), "");
  /* One result alone is no structure. */
  struct nvm_type shared = type_ptr(t, 3);
  assert_string_equal(
      check(m, INTRINSIC_nvvm_ldmatrix_sync_aligned_m8n8_x1_b16, TYPE_I32, &shared, 1), "");
  module_destroy(m);
}

static void wrong_types_are_explained(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct type_table *t = &m->types;
  struct nvm_type two[2] = {TYPE_FLOAT, TYPE_DOUBLE};
  assert_string_equal(check(m, INTRINSIC_copysign, TYPE_FLOAT, two, 2),
                      "argument 2 must be float like the result, not double");
  assert_string_equal(check(m, INTRINSIC_fabs, TYPE_I32, two, 1),
                      "the result must be a floating-point type or a vector of one, not i32");
  assert_string_equal(check(m, INTRINSIC_nvvm_barrier_n, TYPE_VOID, NULL, 0),
                      "it takes 1 argument, not 0");
  assert_string_equal(check(m, INTRINSIC_assume, TYPE_VOID, NULL, 0),
                      "it takes at least 1 argument, not 0");
  struct nvm_type v4 = type_vector(t, TYPE_I32, 4);
  assert_string_equal(check(m, INTRINSIC_vector_reduce_add, TYPE_I64, &v4, 1),
                      "the result must be i32, not i64");
  struct nvm_type generic = TYPE_PTR;
  assert_string_equal(check(m, INTRINSIC_nvvm_mbarrier_inval_shared, TYPE_VOID, &generic, 1),
                      "argument 1 must be ptr addrspace(3), not ptr");
  struct nvm_type shared = type_ptr(t, 3);
  assert_string_equal(
      check(m, INTRINSIC_nvvm_ldmatrix_sync_aligned_m8n8_x4_b16, TYPE_I32, &shared, 1),
      "the result must be { i32, i32, i32, i32 }, not i32");
  module_destroy(m);
}

static void constant_arguments_are_marked(void **state) {
  (void)state;
  assert_true(intrinsic_arg_is_immediate(INTRINSIC_ctlz, 1));
  assert_false(intrinsic_arg_is_immediate(INTRINSIC_ctlz, 0));
  assert_true(intrinsic_arg_is_immediate(INTRINSIC_memcpy, 3));
  assert_false(intrinsic_arg_is_immediate(INTRINSIC_memcpy, 2));
  assert_true(intrinsic_arg_is_immediate(INTRINSIC_nvvm_cp_async_bulk_tensor_g2s_tile_2d, 7));
  assert_false(intrinsic_arg_is_immediate(INTRINSIC_nvvm_cp_async_bulk_tensor_g2s_tile_2d, 6));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_row_is_found_by_its_name),
      cmocka_unit_test(suffixes_belong_to_overloads),
      cmocka_unit_test(the_nearest_name_is_found),
      cmocka_unit_test(right_types_are_taken),
      cmocka_unit_test(wrong_types_are_explained),
      cmocka_unit_test(constant_arguments_are_marked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
