/* ptx/check.h: which instructions are rows of the table, and which targets have them. Instructions
 * are written as text and read without the parser's own check getting in the way: a text that the
 * parser refuses must be refused by the checker for the stated reason. */
#include "ptx_fixture.h"

enum { REGS = 4 };

/* Reads one inline instruction; `$0`.. are %r, `$4`.. %rd, `$8`.. %f, `$12`.. %p, `$16`.. %rs. */
static bool read_one(struct ptx_fixture *x, const char *text) {
  static const enum ptx_class classes[] = {PTX_B32, PTX_B64, PTX_F32, PTX_PRED, PTX_B16};
  struct ptx_operand o[5 * REGS];
  for (int i = 0; i < 5 * REGS; i++) o[i] = ptx_r(ptx_reg_make(classes[i / REGS], 1 + i % REGS));
  return ptx_parse_inline(&x->function, text_of(text), o, 5 * REGS, &(struct ptx_parse_error){0});
}

static enum nvm_status check(const char *text, const char *cpu, const char *ptx,
                             struct ptx_need *need) {
  struct ptx_fixture x;
  struct nvm_target target = fixture_target(cpu, ptx);
  fixture_begin(&x);
  if (!read_one(&x, text)) fail_msg("'%s' is not read", text);
  enum nvm_status status = ptx_check_entry(&x.function, &x.function.entries.data[0], &target, need);
  fixture_end(&x);
  return status;
}

static void versions_that_instructions_need(void **state) {
  (void)state;
  static const struct {
    const char *text, *cpu;
    int ptx;
  } cases[] = {
      {"add.s32 $0, $1, 1;", "sm_75", 63},
      {"ld.global.L2::128B.u32 $0, [$4];", "sm_75", 74},
      {"ld.global.u32 $0, [$4];", "sm_90", 78},
      {"mbarrier.arrive.relaxed.cta.b64 $4, [$5];", "sm_90", 86},
      {"wgmma.fence.sync.aligned;", "sm_90a", 80},
      {"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", "sm_100a", 86},
      {"cp.async.bulk.commit_group;", "sm_90", 80},
      {"mov.u64 $4, %current_graph_exec;", "sm_75", 80},
      {"setmaxnreg.inc.sync.aligned.u32 64;", "sm_103a", 88},
      {"ld.global.v8.b32 {$0,$1,$2,$3,$0,$1,$2,$3}, [$4];", "sm_100", 88},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct ptx_need need;
    assert_int_equal(check(cases[i].text, cases[i].cpu, NULL, &need), NVM_OK);
    if (need.ptx != cases[i].ptx)
      fail_msg("'%s': %d instead of %d", cases[i].text, need.ptx, cases[i].ptx);
  }
}

static void targets_that_lack_something(void **state) {
  (void)state;
  static const struct {
    const char *text, *cpu, *ptx;
    enum ptx_mod mod;
  } cases[] = {
      {"wgmma.fence.sync.aligned;", "sm_90", NULL, PTX_MOD_NONE},
      {"wgmma.fence.sync.aligned;", "sm_100a", NULL, PTX_MOD_NONE},
      {"tcgen05.wait::ld.sync.aligned;", "sm_120a", NULL, PTX_MOD_NONE},
      {"tcgen05.wait::ld.sync.aligned;", "sm_100", NULL, PTX_MOD_NONE},
      {"ld.global.L2::128B.u32 $0, [$4];", "sm_75", "7.0", PTX_MOD_L2_128B},
      {"red.relaxed.cluster.add.u32 [$4], $0;", "sm_89", NULL, PTX_MOD_CLUSTER},
      {"mov.u32 $0, %clusterid.x;", "sm_89", NULL, PTX_MOD_NONE},
      {"fma.rn.f32x2 $4, $5, $6, $7;", "sm_90a", NULL, PTX_MOD_NONE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct ptx_need need;
    if (check(cases[i].text, cases[i].cpu, cases[i].ptx, &need) != NVM_REFUSED)
      fail_msg("'%s' taken for %s", cases[i].text, cases[i].cpu);
    assert_int_equal(need.fault, PTX_FAULT_TARGET);
    assert_int_equal(need.mod, cases[i].mod);
    assert_non_null(need.missing);
  }
}

/* Builds `op mods operands` without the parser. */
static uint8_t fault_of(enum ptx_op op, const uint16_t *mods, const struct ptx_operand *operands,
                        uint32_t count, struct ptx_need *need) {
  struct ptx_fixture x;
  fixture_begin(&x);
  ptx_add(&x.function, op, mods, operands, count);
  const struct ptx_form *form = ptx_find_form(&x.function, &x.function.entries.data[0], need);
  assert_int_equal(form != NULL, need->fault == PTX_FAULT_NONE);
  fixture_end(&x);
  return need->fault;
}

static void what_is_no_instruction(void **state) {
  (void)state;
  struct ptx_need need;
  struct ptx_operand r = ptx_r(ptx_reg_make(PTX_B32, 1)), d = ptx_r(ptx_reg_make(PTX_B64, 1)),
                     f = ptx_r(ptx_reg_make(PTX_F32, 1)), p = ptx_r(ptx_reg_make(PTX_PRED, 1));
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_S32), PTX_OPS(r, r, ptx_i(1)), &need),
                   PTX_FAULT_NONE);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_GLOBAL), PTX_OPS(r, r, r), &need),
                   PTX_FAULT_MODIFIER);
  assert_int_equal(need.mod, PTX_MOD_GLOBAL);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_RN), PTX_OPS(r, r, r), &need), PTX_FAULT_END);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_S32), PTX_OPS(r, r), &need), PTX_FAULT_COUNT);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_S32), PTX_OPS(r, r, f), &need),
                   PTX_FAULT_OPERAND);
  assert_int_equal(need.operand, 2);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_F32), PTX_OPS(f, r, ptx_i(1)), &need),
                   PTX_FAULT_OPERAND);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_F16X2), PTX_OPS(r, r, ptx_i(1)), &need),
                   PTX_FAULT_OPERAND);
  assert_int_equal(fault_of(PTX_ADD, PTX_MODS(PTX_MOD_S32), PTX_OPS(ptx_i(1), r, r), &need),
                   PTX_FAULT_OPERAND);
  assert_int_equal(need.operand, 0);
  /* widths: strict for arithmetic, wider registers allowed for ld, st and cvt of integers */
  assert_int_equal(fault_of(PTX_MUL, PTX_MODS(PTX_MOD_WIDE, PTX_MOD_S32), PTX_OPS(d, r, r), &need),
                   PTX_FAULT_NONE);
  assert_int_equal(fault_of(PTX_MUL, PTX_MODS(PTX_MOD_WIDE, PTX_MOD_S32), PTX_OPS(r, r, r), &need),
                   PTX_FAULT_OPERAND);
  assert_int_equal(fault_of(PTX_LD, PTX_MODS(PTX_MOD_U8),
                            PTX_OPS(r, ptx_at((struct ptx_reg){d.reg.bits}, 0)), &need),
                   PTX_FAULT_NONE);
  assert_int_equal(fault_of(PTX_LD, PTX_MODS(PTX_MOD_U64), PTX_OPS(r, ptx_at(d.reg, 0)), &need),
                   PTX_FAULT_OPERAND);
  assert_int_equal(
      fault_of(PTX_CVT, PTX_MODS(PTX_MOD_RN, PTX_MOD_F32, PTX_MOD_U8), PTX_OPS(f, r), &need),
      PTX_FAULT_NONE);
  /* negation: predicates only */
  p.negated = true;
  assert_int_equal(fault_of(PTX_SELP, PTX_MODS(PTX_MOD_B32), PTX_OPS(r, r, r, p), &need),
                   PTX_FAULT_NONE);
  r.negated = true;
  assert_int_equal(fault_of(PTX_NEG, PTX_MODS(PTX_MOD_S32), PTX_OPS(ptx_r(r.reg), r), &need),
                   PTX_FAULT_OPERAND);
}

/* Literals at the bounds of their ranges, and beyond: the parser refuses as the checker does. */
static void literals_have_ranges(void **state) {
  (void)state;
  static const struct {
    const char *text, *wrong; /* "": fits */
  } cases[] = {
      {"bar.sync 0;", ""},
      {"bar.sync 15;", ""},
      {"bar.sync $0;", ""},
      {"bar.sync 16;", "operand 1 must be 0 to 15, not 16"},
      {"bar.sync -1;", "operand 1 must be 0 to 15, not -1"},
      {"bar.arrive 1, 32;", ""},
      {"bar.arrive 1, 33;", "operand 2 must be a multiple of 32 and 32 or more, not 33"},
      {"bar.arrive 1, 0;", "operand 2 must be a multiple of 32 and 32 or more, not 0"},
      {"setmaxnreg.inc.sync.aligned.u32 24;", ""},
      {"setmaxnreg.inc.sync.aligned.u32 256;", ""},
      {"setmaxnreg.inc.sync.aligned.u32 25;", "operand 1 must be 24 to 256 in steps of 8, not 25"},
      {"fence.proxy.tensormap::generic.acquire.gpu [$4], 127;", "operand 2 must be 128, not 127"},
      {"wgmma.wait_group.sync.aligned -1;", "operand 1 must be 0 or more, not -1"},
      /* by doubling; of several rows, the one that fits longest */
      {"cp.async.ca.shared.global [$4], [$5], 8;", ""},
      {"cp.async.ca.shared.global [$4], [$5], 12;", "operand 3 must be 4, 8 or 16, not 12"},
      {"cp.async.ca.shared.global [$4], [$5], 4, 4;", ""},
      {"cp.async.ca.shared.global [$4], [$5], 4, $0;", ""},
      {"cp.async.ca.shared.global [$4], [$5], 4, 5;", "operand 4 must be 0 to 4, not 5"},
      /* values that some targets have only */
      {"tensormap.replace.tile.swizzle_mode.b1024.b32 [$4], 4;", ""},
      {"tensormap.replace.tile.swizzle_mode.b1024.b32 [$4], 5;",
       "operand 2 must be 0 to 4, not 5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct ptx_fixture x;
    struct ptx_parse_error error = {0};
    struct ptx_operand o[8];
    for (uint32_t k = 0; k < 8; k++)
      o[k] = ptx_r(ptx_reg_make(k < 4 ? PTX_B32 : PTX_B64, 1 + k % 4));
    fixture_begin(&x);
    bool fits = ptx_parse_inline(&x.function, text_of(cases[i].text), o, 8, &error);
    const char *found = fits ? "" : strstr(error.message.bytes, "operand");
    if (!found || strcmp(found, cases[i].wrong) != 0)
      fail_msg("'%s': %s", cases[i].text, fits ? "fits" : error.message.bytes);
    fixture_end(&x);
  }
  struct ptx_need need;
  const char *text = "tensormap.replace.tile.swizzle_mode.b1024.b32 [$4], 4;";
  assert_int_equal(check(text, "sm_103a", NULL, &need), NVM_OK);
  assert_int_equal(check(text, "sm_100a", NULL, &need), NVM_REFUSED);
  assert_int_equal(need.fault, PTX_FAULT_TARGET);
}

/* What the checker says of `@g bra $L;` and, by key, of the same with no guard. */
static void guards_are_predicates(void **state) {
  (void)state;
  static const enum ptx_class classes[] = {PTX_PRED, PTX_B16, PTX_B32, PTX_B64, PTX_F32};
  struct nvm_target target = fixture_target("sm_90", NULL);
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    struct ptx_fixture x;
    struct ptx_need need;
    struct ptx_key keys[2];
    fixture_begin(&x);
    struct ptx_operand label = ptx_label(ptx_new_label(&x.function, (struct nvm_str){0}));
    ptx_add(&x.function, PTX_BRA, NULL, &label, 1);
    ptx_add_guarded(&x.function, ptx_reg_make(classes[i], 1), true, PTX_BRA, NULL, &label, 1);
    bool good = classes[i] == PTX_PRED;
    for (int k = 0; k < 2; k++)
      assert_true(ptx_check_key(&x.function, &x.function.entries.data[k], &keys[k]));
    assert_int_equal(ptx_key_equal(&keys[0], &keys[1]), good);
    enum nvm_status status =
        ptx_check_entry(&x.function, &x.function.entries.data[1], &target, &need);
    assert_int_equal(status, good ? NVM_OK : NVM_REFUSED);
    assert_int_equal(need.fault, good ? PTX_FAULT_NONE : PTX_FAULT_GUARD);
    fixture_end(&x);
  }
}

static void messages_name_instruction_and_need(void **state) {
  (void)state;
  struct ptx_fixture x;
  struct ptx_need need;
  struct textbuf b;
  struct nvm_target target = fixture_target("sm_90", NULL);
  fixture_begin(&x);
  assert_true(read_one(&x, "wgmma.fence.sync.aligned;"));
  const struct ptx_entry *e = &x.function.entries.data[0];
  assert_int_equal(ptx_check_entry(&x.function, e, &target, &need), NVM_REFUSED);
  textbuf_init(&b, &x.arena);
  ptx_describe_need(&x.function, e, &target, &need, &b);
  textbuf_char(&b, 0);
  assert_non_null(strstr(b.bytes, "wgmma.fence.sync.aligned: "));
  assert_non_null(strstr(b.bytes, "sm_90a"));
  fixture_end(&x);
}

/* Every op and every step of the automaton is in range, and every form can be reached. */
static void the_table_is_whole(void **state) {
  (void)state;
  static bool reached[PTX_FORM_COUNT], seen[UINT16_MAX + 1];
  static uint16_t queue[UINT16_MAX + 1];
  const struct ptx_form *first_form = NULL;
  uint32_t first = 0, last = 0;
  for (uint16_t op = 1; op < PTX_OP_COUNT; op++) {
    const struct ptx_op_row *row = ptx_op_row(op);
    assert_int_equal(ptx_find_op(row->text, row->length), op);
    if (!seen[row->state]) queue[last++] = row->state;
    seen[row->state] = true;
  }
  for (; first < last; first++) {
    const struct ptx_state *s = ptx_state(queue[first]);
    for (uint32_t i = 0; i < s->form_count; i++)
      if (!first_form || ptx_state_form(s, i) < first_form) first_form = ptx_state_form(s, i);
    for (uint16_t mod = 1; mod < PTX_MOD_COUNT; mod++) {
      const struct ptx_step *step = ptx_step(queue[first], mod);
      if (step && !seen[step->state]) queue[last++] = step->state;
      if (step) seen[step->state] = true;
    }
  }
  for (uint32_t k = 0; k < last; k++)
    for (uint32_t i = 0; i < ptx_state(queue[k])->form_count; i++)
      reached[ptx_state_form(ptx_state(queue[k]), i) - first_form] = true;
  for (uint32_t i = 0; i < PTX_FORM_COUNT; i++)
    if (!reached[i]) fail_msg("no instruction has the form of line %d", first_form[i].line);
  for (uint16_t mod = 1; mod < PTX_MOD_COUNT; mod++)
    assert_int_equal(ptx_find_mod(ptx_mod_row(mod)->text, ptx_mod_row(mod)->length), mod);
  for (uint32_t i = 1; i < PTX_SPECIAL_COUNT; i++)
    assert_int_equal(ptx_find_special(ptx_special_row(i)->text, ptx_special_row(i)->length), i);
}

static bool key_of(const char *text, struct ptx_key *key) {
  struct ptx_fixture x;
  fixture_begin(&x);
  if (!read_one(&x, text)) fail_msg("'%s' is not read", text);
  bool fits = ptx_check_key(&x.function, &x.function.entries.data[0], key);
  fixture_end(&x);
  return fits;
}

/* Other registers and numbers make no difference; another op, word, kind, class, count or special
 * register does. */
static void keys_are_equal_for_equal_answers(void **state) {
  (void)state;
  static const char *const texts[] = {
      "add.s32 $0, $1, $2;",
      "add.s32 $0, $1, 2;",
      "add.u32 $0, $1, $2;",
      "sub.s32 $0, $1, $2;",
      "mov.u32 $0, $1;",
      "mov.b32 $0, $1;",
      "mov.b32 $0, $8;",
      "mov.u32 $0, %tid.x;",
      "mov.u32 $0, %clusterid.x;",
      "ld.global.u32 $0, [$4];",
      "ld.global.v2.u32 {$0, $1}, [$4];",
      "ld.global.v4.u32 {$0, $1, $2, $3}, [$4];",
      "selp.b32 $0, $1, $2, $12;",
      "selp.b32 $0, $1, $2, !$12;",
  };
  enum { COUNT = sizeof texts / sizeof *texts };
  struct ptx_key keys[COUNT], other;
  for (int i = 0; i < COUNT; i++) {
    assert_true(key_of(texts[i], &keys[i]));
    for (int k = 0; k < i; k++)
      if (ptx_key_equal(&keys[k], &keys[i]))
        fail_msg("one key for '%s' and '%s'", texts[k], texts[i]);
  }
  assert_true(key_of("add.s32 $3, $0, 77;", &other));
  assert_true(ptx_key_equal(&other, &keys[1]));
  assert_false(
      key_of("ld.relaxed.gpu.global.L1::evict_last.u32 $0, [$4];", &other)); /* too many words */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(versions_that_instructions_need),
      cmocka_unit_test(targets_that_lack_something),
      cmocka_unit_test(what_is_no_instruction),
      cmocka_unit_test(literals_have_ranges),
      cmocka_unit_test(guards_are_predicates),
      cmocka_unit_test(messages_name_instruction_and_need),
      cmocka_unit_test(keys_are_equal_for_equal_answers),
      cmocka_unit_test(the_table_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
