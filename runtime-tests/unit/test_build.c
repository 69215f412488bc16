/* ir/build.h: where instructions are put, which location they get, what is folded, what fails. */
#include "ir_fixture.h"

#include "ir/build.h"

static struct nvm_function *new_body(struct nvm_module *m) {
  struct nvm_type parameters[] = {TYPE_I32, TYPE_PTR};
  return new_function(m, "f", TYPE_I32, parameters, 2, true);
}

static void insertion_points(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_block b = f->entry;
  struct nvm_value x = value_of_arg(0);
  struct builder end = builder_at_end(f, b);
  struct builder first = builder_at_start(f, b); /* of an empty block: its end */
  struct nvm_value one = builder_binary(&first, OP_ADD, x, x);
  struct nvm_value three = builder_binary(&end, OP_MUL, one, x);
  struct builder before = builder_before(f, value_inst_id(three));
  struct nvm_value two = builder_binary(&before, OP_SUB, one, x);
  first = builder_at_start(f, b);
  struct nvm_value zero = builder_phi(&first, TYPE_I32, NULL, 0);
  struct nvm_value expected[] = {zero, one, two, three};
  uint32_t n = 0;
  FOR_EACH_INST (f, b, i) assert_int_equal(i.index, value_index(expected[n++]));
  assert_int_equal(n, 4);
  module_destroy(m);
}

static void locations(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct nvm_value x = value_of_arg(0);
  struct builder at = builder_at_end(f, f->entry);
  struct nvm_inst_id old = value_inst_id(builder_binary(&at, OP_ADD, x, x));
  assert_int_equal(f->locations.data[old.index].index, 0);
  f->locations.data[old.index].index = 7;
  f->positions.data[old.index] = 40;
  at = builder_replacing(f, old);
  uint32_t made = value_index(builder_binary(&at, OP_SUB, x, x));
  assert_int_equal(f->locations.data[made].index, 7);
  assert_int_equal(f->positions.data[made], 40);
  assert_int_equal(f->insts.data[made].next.index, old.index);
  module_destroy(m);
}

static void folding(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct builder at = builder_at_end(f, f->entry);
  struct nvm_value two = const_int(m, TYPE_I32, 2), three = const_int(m, TYPE_I32, 3);
  assert_true(value_equal(builder_binary(&at, OP_ADD, two, three), const_int(m, TYPE_I32, 5)));
  assert_true(value_equal(builder_icmp(&at, ICMP_ULT, two, three), const_int(m, TYPE_I1, 1)));
  struct nvm_value yes = const_int(m, TYPE_I1, 1), x = value_of_arg(0);
  assert_true(value_equal(builder_unary(&at, OP_ZEXT, TYPE_I32, yes), const_int(m, TYPE_I32, 1)));
  assert_true(value_equal(builder_offset(&at, value_of_arg(1), 0), value_of_arg(1)));
  assert_true(inst_is_none(function_block(f, f->entry)->first));
  struct nvm_value undefined = builder_binary(&at, OP_UDIV, two, const_int(m, TYPE_I32, 0));
  assert_int_equal(value_kind(undefined), VALUE_INST); /* has no result */
  assert_int_equal(value_kind(builder_select(&at, builder_icmp(&at, ICMP_EQ, x, two), x, two)),
                   VALUE_INST);
  module_destroy(m);
}

static void a_missing_operand_makes_nothing(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct builder at = builder_at_end(f, f->entry);
  struct nvm_value x = value_of_arg(0), none = VALUE_NULL;
  assert_true(value_is_none(builder_binary(&at, OP_ADD, none, x)));
  assert_true(value_is_none(builder_binary(&at, OP_ADD, x, none)));
  assert_true(value_is_none(builder_store(&at, x, builder_gep(&at, none, x), 0)));
  assert_true(value_is_none(builder_condbranch(&at, none, f->entry, f->entry)));
  assert_true(value_is_none(builder_intrinsic(&at, INTRINSIC_abs, 0, TYPE_I32, &none, 1)));
  assert_true(inst_is_none(function_block(f, f->entry)->first));
  module_destroy(m);
}

static void intrinsics_are_declared(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct builder at = builder_at_end(f, f->entry);
  struct nvm_value x[] = {value_of_arg(0), value_of_arg(0)};
  struct nvm_value v = builder_intrinsic(&at, INTRINSIC_smax, 0, TYPE_I32, x, 2);
  assert_int_equal(call_intrinsic(f, value_inst_of(f, v, OP_CALL)), INTRINSIC_smax);
  module_destroy(m);
}

/* Fills a block until memory runs out: nothing is left half made, and failures are seen. */
static bool build_many(struct nvm_allocator allocator) {
  struct nvm_module *m = module_create(allocator, 0);
  if (!m) return false;
  struct nvm_value v = module_add_function(m, module_str(m, "f"));
  struct nvm_function *f = value_is_none(v) ? NULL : module_function(m, v);
  struct nvm_block b = f ? function_add_block(f, (struct nvm_str){0}) : (struct nvm_block){0};
  bool done = !block_is_none(b);
  if (done) {
    struct builder at = builder_at_end(f, b);
    struct nvm_value sum = const_int(m, TYPE_I64, 1), pointer = const_null(m, TYPE_PTR);
    for (int k = 0; k < 40; k++)
      sum = builder_binary(&at, OP_ADD, builder_load(&at, TYPE_I64, pointer, 0), sum);
    builder_branch(&at, b);
    done = !value_is_none(sum) && !module_out_of_memory(m);
    assert_true(done || module_out_of_memory(m));
  }
  module_destroy(m);
  return done;
}

static void failures_are_sticky(void **state) {
  (void)state;
  fail_everywhere(build_many);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(insertion_points),
      cmocka_unit_test(locations),
      cmocka_unit_test(folding),
      cmocka_unit_test(a_missing_operand_makes_nothing),
      cmocka_unit_test(intrinsics_are_declared),
      cmocka_unit_test(failures_are_sticky),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
