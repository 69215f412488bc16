/* Executing before and after each pass: a pass that is made to go wrong is named, with what it
 * changed. */
#include "ir_fixture.h"

#include "frontend/parse.h"
#include "opt/pass.h"
#include "sim/outcome.h"
#include "target/options.h"

static const char text[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define ptx_kernel void @k(ptr %p, i32 %n) {\n"
    "  %slot = alloca i32\n"
    "  store i32 %n, ptr %slot\n"
    "  %a = load i32, ptr %slot\n"
    "  %b = add i32 %a, 5\n"
    "  %unused = mul i32 %b, %b\n"
    "  store i32 %b, ptr %p\n"
    "  ret void\n"
    "}\n";

struct planted {
  struct sim_outcome outcome;
  const char *wrong_after; /* this pass goes wrong */
  enum op becomes;         /* what the addition becomes then */
  const char *refused;     /* the pass that was found */
};

/* The first addition of the function becomes another op. */
static void plant(struct nvm_module *m, enum op becomes) {
  struct nvm_function *f = m->functions.data[1];
  for (uint32_t i = 1; i < f->insts.count; i++)
    if (f->insts.data[i].op == OP_ADD && f->insts.data[i].block.index)
      f->insts.data[i].op = (uint16_t)becomes;
}

static enum nvm_status on_change(void *state, struct nvm_module *m, const char *pass,
                                 const struct nvm_function *f) {
  struct planted *p = state;
  (void)f;
  if (pass && p->wrong_after && strcmp(pass, p->wrong_after) == 0) plant(m, p->becomes);
  enum nvm_status s = outcome_check(&p->outcome, m);
  if (s == NVM_REFUSED) p->refused = pass ? pass : "none";
  return s;
}

static enum nvm_status run(struct planted *p, struct nvm_module *m) {
  static const uint8_t buffer[4] = {9, 9, 9, 9}, n[4] = {37, 0, 0, 0};
  const struct sim_argument arguments[] = {{buffer, 4, true}, {n, 4, false}};
  struct diag_sink sink;
  diag_sink_init(&sink, &m->arena, 0);
  assert_int_equal(parse_module(m, text, strlen(text), "test", 0, &sink), NVM_OK);
  p->outcome = (struct sim_outcome){.arena = &m->arena, .arguments = arguments, .count = 2};
  p->outcome.launch =
      (struct sim_launch){.kernel = text_of("k"), .grid = {1, 1, 1}, .block = {32, 1, 1}};
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  assert_int_equal(tgt_set_cpu(&options, "sm_90", 5, NULL), TGT_OK);
  assert_int_equal(tgt_init(&target, &options, NULL), TGT_OK);
  const struct knobs knobs = knobs_initial();
  struct pass_options passes = {.knobs = &knobs,
                                .pipeline = text_of("mem2reg,dce"),
                                .bisect_limit = -1,
                                .on_change = on_change,
                                .change_state = p};
  struct pass_result result;
  return pass_run_pipeline(m, &target, &passes, &sink, &result);
}

static void test_right_passes(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct planted p = {.refused = NULL};
  assert_int_equal(run(&p, m), NVM_OK);
  assert_null(p.refused);
  assert_int_equal(p.outcome.left[0].bytes[0], 42);
  module_destroy(m);
}

static void test_wrong_pass(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct planted p = {.wrong_after = "dce", .becomes = OP_SUB};
  assert_int_equal(run(&p, m), NVM_REFUSED);
  assert_string_equal(p.refused, "dce");
  assert_int_equal(p.outcome.message.length,
                   strlen("leaves 32 instead of 42 in byte 0 of argument 0"));
  assert_memory_equal(p.outcome.message.bytes, "leaves 32 instead of 42 in byte 0 of argument 0",
                      p.outcome.message.length);
  module_destroy(m);
}

static void test_first_wrong_pass_is_named(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct planted p = {.wrong_after = "mem2reg", .becomes = OP_SHL};
  assert_int_equal(run(&p, m), NVM_REFUSED);
  assert_string_equal(p.refused, "mem2reg");
  module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_right_passes),
      cmocka_unit_test(test_wrong_pass),
      cmocka_unit_test(test_first_wrong_pass_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
