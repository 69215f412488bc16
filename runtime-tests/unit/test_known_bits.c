/* Known bits: every binary op on four-bit numbers against all values the masks allow, special
 * registers, casts, and the walk's end at its depth limit. */
#include "ir_fixture.h"

#include "ir/eval.h"
#include "ir/intrinsic.h"
#include "analysis/known_bits.h"

enum { BITS = 4, ALL = 15 };

struct sample {
  struct nvm_module *m;
  struct nvm_function *f;
  struct nvm_block b;
  struct nvm_type type;
};

static struct sample new_sample(void) {
  struct sample s = {.m = new_module()};
  s.type = type_int(&s.m->types, BITS);
  struct nvm_type parameters[2] = {s.type, s.type};
  s.f = new_function(s.m, "f", TYPE_VOID, parameters, 2, true);
  s.b = s.f->entry;
  return s;
}

static struct nvm_value op2(struct sample *s, enum op op, uint16_t flags, struct nvm_value a,
                            struct nvm_value b) {
  struct nvm_value operands[2] = {a, b};
  struct nvm_inst_id i = function_add_inst(s->f, op, flags, s->type, operands, 2, 0);
  inst_append(s->f, i, s->b);
  return value_of_inst(i);
}

/* A value of which exactly the bits of `zero` and `one` are known. */
static struct nvm_value with_bits(struct sample *s, uint32_t arg, unsigned zero, unsigned one) {
  struct nvm_value v = op2(s, OP_AND, 0, value_of_arg(arg), const_int(s->m, s->type, ALL & ~zero));
  return op2(s, OP_OR, 0, v, const_int(s->m, s->type, one));
}

static void check_op(enum op op, uint16_t flags, unsigned za, unsigned oa, unsigned zb,
                     unsigned ob) {
  struct sample s = new_sample();
  struct nvm_value a = with_bits(&s, 0, za, oa), b = with_bits(&s, 1, zb, ob);
  struct known_bits k = known_bits_of(s.f, op2(&s, op, flags, a, b));
  assert_int_equal(k.width, BITS);
  for (unsigned x = 0; x <= ALL; x++)
    for (unsigned y = 0; y <= ALL; y++) {
      if ((x & za) || (x & oa) != oa || (y & zb) || (y & ob) != ob) continue;
      struct eval_lane in[2] = {{x, false}, {y, false}}, out;
      if (!eval_lane(s.m, op, flags, 0, s.type, s.type, in, &out) || out.poison) continue;
      assert_int_equal((unsigned)out.bits & k.zero, 0);
      assert_int_equal((unsigned)out.bits & k.one, k.one);
    }
  module_destroy(s.m);
}

static void never_claims_too_much(void **state) {
  (void)state;
  static const unsigned masks[][2] = {{0, 0}, {8, 0},  {12, 1}, {1, 8},
                                      {3, 4}, {0, 15}, {15, 0}, {5, 10}};
  enum { COUNT = sizeof masks / sizeof *masks };
  for (int op = OP_FIRST_INT; op <= OP_LAST_INT; op++)
    for (unsigned a = 0; a < COUNT; a++)
      for (unsigned b = 0; b < COUNT; b++) {
        check_op((enum op)op, 0, masks[a][0], masks[a][1], masks[b][0], masks[b][1]);
        if (op_table[op].flags & OPF_WRAP)
          check_op((enum op)op, INST_NSW, masks[a][0], masks[a][1], masks[b][0], masks[b][1]);
      }
}

static void claims_what_it_should(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct nvm_value low = with_bits(&s, 0, 12, 0), odd = with_bits(&s, 1, 0, 1);
  assert_int_equal(known_bits_of(s.f, op2(&s, OP_ADD, 0, low, low)).zero, 8);
  assert_int_equal(known_bits_of(s.f, op2(&s, OP_MUL, 0, low, low)).zero, 0);
  struct nvm_value two = const_int(s.m, s.type, 2);
  assert_int_equal(known_bits_of(s.f, op2(&s, OP_SHL, 0, odd, two)).one, 4);
  assert_int_equal(known_bits_of(s.f, op2(&s, OP_SHL, 0, odd, two)).zero, 3);
  assert_int_equal(known_bits_of(s.f, op2(&s, OP_UREM, 0, value_of_arg(0), two)).zero & 8, 8);
  assert_int_equal(known_bits_of(s.f, value_of_arg(0)).zero, 0);
  module_destroy(s.m);
}

static void casts_and_widths(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct nvm_value arg = value_of_arg(0);
  struct nvm_value wide = value_of_inst(emit(s.f, s.b, OP_ZEXT, TYPE_I64, 1, &arg, 0));
  assert_true(known_bits_of(s.f, wide).zero == ~UINT64_C(15));
  assert_true(known_bits_nonnegative(known_bits_of(s.f, wide)));
  struct nvm_value huge = value_of_inst(emit(s.f, s.b, OP_ZEXT, TYPE_I128, 1, &arg, 0));
  assert_int_equal(known_bits_of(s.f, huge).width, 0);
  struct nvm_value back = value_of_inst(emit(s.f, s.b, OP_TRUNC, s.type, 1, &huge, 0));
  assert_int_equal(known_bits_of(s.f, back).zero, 0);
  module_destroy(s.m);
}

static void special_registers(void **state) {
  (void)state;
  assert_true(known_bits_most(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_tid_x)) == 1023);
  assert_true(known_bits_most(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_ntid_x)) == 2047);
  assert_true(known_bits_most(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_tid_z)) == 63);
  assert_true(known_bits_most(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_laneid)) == 31);
  assert_true(known_bits_nonnegative(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_ctaid_x)));
  assert_true(known_bits_least(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_warpsize)) ==
              32);
  assert_true(known_bits_of_register(INTRINSIC_nvvm_read_ptx_sreg_smid).zero == 0);
  struct register_limits blocks = known_bits_register_limits(INTRINSIC_nvvm_read_ptx_sreg_nctaid_x);
  assert_int_equal(blocks.least, 1);
  assert_int_equal(blocks.most, INT32_MAX);
  assert_int_equal(known_bits_register_limits(INTRINSIC_nvvm_read_ptx_sreg_ctaid_x).most,
                   INT32_MAX - 1);
}

/* A chain of ten thousand masks takes no longer than one of ten. */
static void depth_ends(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct nvm_value v = with_bits(&s, 0, 8, 0);
  for (int n = 0; n < 10000; n++) v = op2(&s, OP_XOR, 0, v, v);
  assert_int_equal(known_bits_of(s.f, v).width, BITS);
  module_destroy(s.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(never_claims_too_much),
      cmocka_unit_test(claims_what_it_should),
      cmocka_unit_test(casts_and_widths),
      cmocka_unit_test(special_registers),
      cmocka_unit_test(depth_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
