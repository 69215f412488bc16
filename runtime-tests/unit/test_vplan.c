/* Plans: what the verifier accepts and refuses, copies, ranges, text. */
#include "ir_fixture.h"

#include "opt/vectorize/vplan.h"

struct sample {
  struct nvm_module *m;
  struct nvm_function *f;
  struct vplan p;
  uint32_t x, sum, add;
};

/* s = phi(0, s + x): a live-in, a reduction, an addition. */
static struct sample new_sample(void) {
  struct sample s = {.m = new_module()};
  struct nvm_type parameters[1] = {TYPE_I32};
  s.f = new_function(s.m, "f", TYPE_VOID, parameters, 1, true);
  struct nvm_value both[2] = {value_of_arg(0), value_of_arg(0)};
  struct nvm_inst_id i = emit(s.f, s.f->entry, OP_ADD, TYPE_I32, 2, both, 0);
  assert_true(vplan_init(&s.p, 1, 8, &s.m->arena));
  s.x = vplan_add(
      &s.p,
      (struct vp_recipe){
          .kind = VP_LIVE_IN, .type = TYPE_I32, .uniform = true, .value = value_of_arg(0)},
      NULL, 0);
  uint32_t phi[2] = {s.x, 0};
  s.sum = vplan_add(&s.p, (struct vp_recipe){.kind = VP_REDUCTION, .type = TYPE_I32, .inst = i},
                    phi, 2);
  uint32_t operands[2] = {s.sum, s.x};
  s.add = vplan_add(&s.p, (struct vp_recipe){.kind = VP_WIDEN, .type = TYPE_I32, .inst = i},
                    operands, 2);
  s.p.operands.data[vplan_recipe(&s.p, s.sum)->first_operand + 1] = s.add;
  return s;
}

static void refused(struct sample *s, uint32_t recipe, const char *why) {
  uint32_t at = 0;
  const char *wrong = vplan_verify(&s->p, s->f, &at);
  assert_non_null(wrong);
  assert_string_equal(wrong, why);
  assert_int_equal(at, recipe);
  module_destroy(s->m);
}

static void accepts(void **state) {
  (void)state;
  struct sample s = new_sample();
  uint32_t at;
  assert_null(vplan_verify(&s.p, s.f, &at));
  module_destroy(s.m);
}

static void refuses_order(void **state) {
  (void)state;
  struct sample s = new_sample();
  uint32_t operands[1] = {s.add + 1};
  uint32_t n = vplan_add(&s.p, (struct vp_recipe){.kind = VP_NOT, .type = TYPE_I1}, operands, 1);
  refused(&s, n, "an operand comes after its user");
}

static void refuses_masks_of_numbers(void **state) {
  (void)state;
  struct sample s = new_sample();
  uint32_t operands[1] = {s.add};
  uint32_t n = vplan_add(&s.p, (struct vp_recipe){.kind = VP_NOT, .type = TYPE_I1}, operands, 1);
  refused(&s, n, "a mask is not a condition");
}

static void refuses_phis_of_other_types(void **state) {
  (void)state;
  struct sample s = new_sample();
  vplan_recipe(&s.p, s.add)->type = TYPE_I64;
  refused(&s, s.sum, "the types of a phi and its values differ");
}

static void refuses_phis_in_the_body(void **state) {
  (void)state;
  struct sample s = new_sample();
  uint32_t phi[2] = {s.x, s.add};
  uint32_t n = vplan_add(&s.p, (struct vp_recipe){.kind = VP_RECURRENCE, .type = TYPE_I32}, phi, 2);
  refused(&s, n, "a phi is in the body");
}

static void refuses_missing_operands(void **state) {
  (void)state;
  struct sample s = new_sample();
  uint32_t n = vplan_add(&s.p, (struct vp_recipe){.kind = VP_AND, .type = TYPE_I1}, &s.add, 1);
  refused(&s, n, "a recipe has a wrong number of operands");
}

static void refuses_odd_ranges(void **state) {
  (void)state;
  struct sample s = new_sample();
  s.p.max_factor = 3;
  refused(&s, 0, "the range of factors is invalid");
}

static void refuses_uniform_values_of_lanes(void **state) {
  (void)state;
  struct sample s = new_sample();
  vplan_recipe(&s.p, s.add)->uniform = true;
  refused(&s, s.add, "an operand of a uniform recipe differs between lanes");
}

static void refuses_chains_used_before_their_end(void **state) {
  (void)state;
  struct sample s = new_sample();
  uint32_t operands[2] = {s.add, s.add};
  struct vp_recipe r = *vplan_recipe(&s.p, s.add);
  uint32_t use = vplan_add(&s.p, r, operands, 2);
  vplan_recipe(&s.p, s.add)->in_chain = true;
  r.in_chain = true;
  s.p.chain_end = vplan_add(&s.p, r, operands, 2);
  refused(&s, use, "a value of the chain is used before its end");
}

/* The sample as a final plan whose recipes have these costs. */
static void price(struct sample *s, struct vp_cost *costs, int64_t total) {
  s->p.factor = 4, s->p.count = 2;
  s->p.costs = costs;
  s->p.total.slots = total;
}

static void accepts_costs_that_add_up(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct vp_cost costs[4] = {{.slots = 3}, {0}, {0}, {.slots = 8, .computing = 8}};
  uint32_t at;
  price(&s, costs, 11);
  assert_null(vplan_verify(&s.p, s.f, &at));
  module_destroy(s.m);
}

static void refuses_costs_that_do_not_add_up(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct vp_cost costs[4] = {{.slots = 3}, {0}, {0}, {.slots = 8, .computing = 8}};
  price(&s, costs, 12);
  refused(&s, 0, "the costs do not add up");
}

static void refuses_costs_of_live_ins(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct vp_cost costs[4] = {{.slots = 3}, {.slots = 1, .computing = 1}, {0}, {.slots = 8}};
  price(&s, costs, 12);
  refused(&s, s.x, "the cost of a recipe is invalid");
}

static void refuses_final_plans_without_costs(void **state) {
  (void)state;
  struct sample s = new_sample();
  price(&s, NULL, 0);
  refused(&s, 0, "a final plan has no costs");
}

static void refuses_factors_outside_the_range(void **state) {
  (void)state;
  struct sample s = new_sample();
  price(&s, NULL, 0);
  s.p.factor = 16;
  refused(&s, 0, "the factor is not one of the plan");
}

static void refuses_early_exits_without_condition(void **state) {
  (void)state;
  struct sample s = new_sample();
  s.p.early = s.add;
  refused(&s, s.add, "an early exit has no condition");
}

static void prints(void **state) {
  (void)state;
  struct sample s = new_sample();
  struct textbuf b;
  textbuf_init(&b, &s.m->arena);
  vplan_print(&s.p, s.f, &b);
  textbuf_char(&b, '\0');
  assert_non_null(strstr(b.bytes, "VPlan 'Initial VPlan for VF={1,2,4,8},UF>=1' {"));
  assert_non_null(strstr(b.bytes, "WIDEN-REDUCTION-PHI vp<%2> = phi i32 ir<i32 %0>, vp<%3>"));
  module_destroy(s.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts),
      cmocka_unit_test(refuses_order),
      cmocka_unit_test(refuses_masks_of_numbers),
      cmocka_unit_test(refuses_phis_of_other_types),
      cmocka_unit_test(refuses_phis_in_the_body),
      cmocka_unit_test(refuses_missing_operands),
      cmocka_unit_test(refuses_odd_ranges),
      cmocka_unit_test(refuses_uniform_values_of_lanes),
      cmocka_unit_test(refuses_chains_used_before_their_end),
      cmocka_unit_test(accepts_costs_that_add_up),
      cmocka_unit_test(refuses_costs_that_do_not_add_up),
      cmocka_unit_test(refuses_costs_of_live_ins),
      cmocka_unit_test(refuses_final_plans_without_costs),
      cmocka_unit_test(refuses_factors_outside_the_range),
      cmocka_unit_test(refuses_early_exits_without_condition),
      cmocka_unit_test(prints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
