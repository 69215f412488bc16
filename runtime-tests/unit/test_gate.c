/* What a target has, read off the requirements of the instruction table, against the checker: a
 * word is there exactly where some form that uses it is allowed. */
#include "ptx/gate.h"
#include "target/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct nvm_target target(const char *cpu) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target t;
  assert_int_equal(tgt_set_cpu(&options, cpu, strlen(cpu), NULL), TGT_OK);
  assert_int_equal(tgt_init(&t, &options, NULL), TGT_OK);
  return t;
}

static bool has(const char *cpu, enum ptx_op op, enum ptx_mod word) {
  struct nvm_target t = target(cpu);
  struct gate gate;
  gate_read(&gate, op, &t);
  return word == PTX_MOD_NONE ? gate.any : gate.words[word];
}

static void whole_instructions(void **state) {
  (void)state;
  assert_true(has("sm_90a", PTX_WGMMA, PTX_MOD_NONE));
  assert_false(has("sm_90", PTX_WGMMA, PTX_MOD_NONE));
  assert_false(has("sm_100a", PTX_WGMMA, PTX_MOD_NONE));
  assert_true(has("sm_100f", PTX_TCGEN05, PTX_MOD_NONE));
  assert_false(has("sm_120f", PTX_TCGEN05, PTX_MOD_NONE));
  assert_true(has("sm_20", PTX_ADD, PTX_MOD_NONE));
}

static void words_of_an_instruction(void **state) {
  (void)state;
  assert_true(has("sm_100", PTX_ADD, PTX_MOD_F32X2));
  assert_false(has("sm_90a", PTX_ADD, PTX_MOD_F32X2));
  assert_true(has("sm_100", PTX_LD, PTX_MOD_V8));
  assert_false(has("sm_90", PTX_LD, PTX_MOD_V8));
  assert_true(has("sm_103a", PTX_TCGEN05, PTX_MOD_SHIFT));
  assert_false(has("sm_103f", PTX_TCGEN05, PTX_MOD_SHIFT));
  assert_false(has("sm_103a", PTX_TCGEN05, PTX_MOD_KIND_I8));
  assert_true(has("sm_62", PTX_VOTE, PTX_MOD_BALLOT));
  assert_true(has("sm_70", PTX_VOTE, PTX_MOD_BALLOT)); /* vote.sync.ballot */
}

/* Every form is within some target's reach, and a later PTX version takes nothing away. */
static void versions_only_add(void **state) {
  (void)state;
  struct nvm_target old = target("sm_90a"), new = old;
  old.ptx = 80;
  new.ptx = 0;
  for (int op = 1; op < PTX_OP_COUNT; op++) {
    struct gate a, b;
    gate_read(&a, (enum ptx_op)op, &old);
    gate_read(&b, (enum ptx_op)op, &new);
    assert_true(b.any || !a.any);
    for (int m = 1; m < PTX_MOD_COUNT; m++) assert_true(b.words[m] || !a.words[m]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_instructions),
      cmocka_unit_test(words_of_an_instruction),
      cmocka_unit_test(versions_only_add),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
