/* ptx/parse.h: modules and inline assembly. Printed text parses back and prints the same. */
#include "ptx_fixture.h"

static void expect_module(const char *text, const char *expected) {
  struct ptx_fixture x;
  struct ptx_parse_error error;
  fixture_begin(&x);
  enum nvm_status status = ptx_parse_module(text_of(text), &x.module, &error);
  if (status != NVM_OK) fail_msg("%u:%u: %s", error.line, error.column, error.message.bytes);
  const char *printed = fixture_module_text(&x);
  if (expected) assert_string_equal(printed, expected);
  struct ptx_fixture y;
  fixture_begin(&y);
  assert_int_equal(ptx_parse_module(text_of(printed), &y.module, &error), NVM_OK);
  assert_string_equal(fixture_module_text(&y), printed);
  fixture_end(&y);
  fixture_end(&x);
}

static void our_own_text_is_a_fixpoint(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90a\n.address_size 64\n\n"
      ".file\t1 \"a.cu\"\n\n"
      ".extern .func (.param .b32 func_retval0) vprintf(\n\t.param .b64 p0,\n\t.param .b64 p1\n);\n"
      ".visible .global .align 4 .u32 g[3] = {1, 2, 3};\n"
      ".extern .shared .align 16 .b8 s[];\n"
      ".global .samplerref t = {addr_mode_0 = wrap, filter_mode = linear, "
      "force_unnormalized_coords = 1};\n"
      "\n.visible .entry k(\n\t.param .u64 .ptr .global .align 4 k_param_0,\n"
      "\t.param .align 4 .b8 k_param_1[8]\n)\n.reqntid 32, 1, 1\n"
      "{\n\t.reg .pred \t%p<2>;\n\t.reg .b32 \t%r<4>;\n\t.reg .b64 \t%rd<3>;\n\t.reg .f32 "
      "\t%f<2>;\n\n"
      "\t.local .align 8 .b8 __local_depot0[16];\n"
      "\t.loc\t1 3 5\n"
      "\tld.param.u64 \t%rd1, [k_param_0];\n"
      "\tld.param.f32 \t%f1, [k_param_1+4];\n"
      "\tmov.u32 \t%r1, %tid.x;\n"
      "$L_for_body:\n"
      "\tadd.s32 \t%r2, %r1, -1;\n"
      "\tsetp.ne.s32 \t%p1, %r2, 0;\n"
      "\t@%p1 bra \t$L_for_body;\n"
      "\t{\n\t.param .b64 param0;\n\t.param .b32 retval0;\n"
      "\tst.param.b64 \t[param0], %rd1;\n"
      "\tcall.uni \t(retval0), vprintf, (param0, param0);\n"
      "\tld.param.b32 \t%r3, [retval0];\n\t}\n"
      "\tprototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);\n"
      "\tmov.u64 \t%rd2, g+4;\n"
      "$L_t: .branchtargets $L_for_body;\n"
      "\tbrx.idx \t%r1, $L_t;\n"
      "\t.pragma \"nounroll\";\n"
      "\tret;\n}\n";
  expect_module(text, text);
}

static void other_compilers_text(void **state) {
  (void)state;
  expect_module(
      "//\n// comment\n.version 8.5 .target sm_80, debug .address_size 64 /* block\n */\n"
      ".weak .func (.param .b32 r) f (.param .b32 a)\n{\n"
      ".reg .b32 t, u; .reg .pred p; .reg .f32 %fx<3>;\n"
      "ld.param.u32 t, [a]; mul.lo.s32 u, t, 0x10;"
      "{.reg .b32 t; mov.u32 t, 7U; BB1: add.s32 u, u, t; bra BB1;}\n"
      "atom.or.acq_rel.cta.b32 t, [12], u; mov.f32 %fx1, 1.5;\n"
      "@!p bra BB1; BB1: st.param.b32 [r+0], u; ret; }\n"
      ".section .debug_str { $L__info: .b8 1 }\n",
      ".version 8.5\n.target sm_80, debug\n.address_size 64\n\n"
      ".weak .func (.param .b32 r) f(\n\t.param .b32 a\n);\n\n"
      ".weak .func (.param .b32 r) f(\n\t.param .b32 a\n)\n{\n"
      "\t.reg .pred \t%p<2>;\n\t.reg .b32 \t%r<4>;\n\t.reg .f32 \t%f<3>;\n\n"
      "\tld.param.u32 \t%r1, [a];\n"
      "\tmul.lo.s32 \t%r2, %r1, 16;\n"
      "\tmov.u32 \t%r3, 7;\n"
      "$L_BB1:\n"
      "\tadd.s32 \t%r2, %r2, %r3;\n"
      "\tbra \t$L_BB1;\n"
      "\tatom.acq_rel.cta.or.b32 \t%r1, [12], %r2;\n"
      "\tmov.f32 \t%f1, 0d3FF8000000000000;\n"
      "\t@!%p1 bra \t$L_BB1$2;\n"
      "$L_BB1$2:\n"
      "\tst.param.b32 \t[r], %r2;\n"
      "\tret;\n}\n");
}

/* `a<2>` declares a0 and a1, beside an `a`; an inner `a` leaves them alone. */
static void a_range_beside_its_name(void **state) {
  (void)state;
  expect_module(
      ".version 8.0 .target sm_80 .address_size 64 .entry k() { .reg .b32 a; .reg .b16 a<2>;\n"
      "mov.b32 {a0, a1}, a; { .reg .b32 a; mov.b16 a0, a1; mov.b32 a, 3; } mov.b16 a1, a0; ret; }",
      ".version 8.0\n.target sm_80\n.address_size 64\n\n\n.entry k()\n{\n"
      "\t.reg .b16 \t%rs<3>;\n\t.reg .b32 \t%r<3>;\n\n"
      "\tmov.b32 \t{%rs2, %rs1}, %r1;\n\tmov.b16 \t%rs2, %rs1;\n\tmov.b32 \t%r2, 3;\n"
      "\tmov.b16 \t%rs1, %rs2;\n\tret;\n}\n");
}

/* Braces around one register mean nothing to loads and stores. */
static void braces_around_one(void **state) {
  (void)state;
  expect_module(
      ".version 8.0 .target sm_80 .address_size 64 .entry k(.param .u64 a) { .reg .b32 x; .reg "
      ".b64 p;\n"
      "ld.param.b64 { p }, [a]; ld.global.L1::evict_first.b32 { x }, [ p + 4 ]; st.global.b32 [ p "
      "+ 0 ], { x }; }",
      ".version 8.0\n.target sm_80\n.address_size 64\n\n\n.entry k(\n\t.param .u64 a\n)\n{\n"
      "\t.reg .b32 \t%r<2>;\n\t.reg .b64 \t%rd<2>;\n\n\tld.param.b64 \t%rd1, [a];\n"
      "\tld.global.L1::evict_first.b32 \t%r1, [%rd1+4];\n\tst.global.b32 \t[%rd1], %r1;\n}\n");
}

static void a_label_may_lie_outside_the_scope(void **state) {
  (void)state;
  expect_module(
      ".version 8.0 .target sm_80 .address_size 64 .entry k() {\n"
      "{ bra OUT; }\n{ { bra OUT; } }\nOUT: ret; }",
      ".version 8.0\n.target sm_80\n.address_size 64\n\n\n.entry k()\n{\n"
      "\tbra \t$L_OUT;\n\tbra \t$L_OUT;\n$L_OUT:\n\tret;\n}\n");
}

static void errors_say_where_and_why(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
  } cases[] = {
      {".version 8", 1, 10, "unexpected '8'"},
      {".entry k() {\n  foo.u32 %r1;\n}", 2, 3, "unknown instruction 'foo'"},
      {".entry k() {\n ret\n}", 3, 1, "unexpected '}'"},
      {".entry k() { ret;", 1, 18, "unexpected end of text"},
      {".entry k() {\n .reg .b32 %r<3>;\n mov.u32 %r1, %r3;\n}", 3, 15, "'%r3' is not declared"},
      {".entry k() {\n bra nowhere;\n}", 3, 1, "label 'nowhere' is not defined"},
      {".entry k() {\na: ret;\na: ret;\n}", 3, 4, "label 'a' is already defined"},
      {".entry k() { .reg .b32 %r<3>; add.u33 %r1, %r1, 1; }", 1, 34, "unexpected '.u33'"},
      {".entry k() { .reg .b32 %r<3>; add.f64 %r1, %r1, 1; }", 1, 31,
       "add.f64: operand 1 has the wrong kind or type"},
      {".entry k() { .reg .b32 %r<3>; add.global.s32 %r1, %r1, 1; }", 1, 31,
       "add.global.s32: '.global' is not allowed there"},
      {".global .u32 g[2] = {1.5};", 1, 22, "unexpected floating-point number"},
      {".global .u32 g = {1, 2};", 1, 23, "several initial values for a scalar"},
      {".param .u32 g;", 1, 14, "a variable of a module must be in .global, .shared or .const"},
      {".local .u32 g;", 1, 14, "a variable of a module must be in .global, .shared or .const"},
      {".entry k() { @%tid.x ret; }", 1, 15, "unexpected '%tid.x'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct ptx_fixture x;
    struct ptx_parse_error e;
    fixture_begin(&x);
    assert_int_equal(ptx_parse_module(text_of(cases[i].text), &x.module, &e), NVM_REFUSED);
    if (strcmp(e.message.bytes, cases[i].message) != 0 || e.line != cases[i].line ||
        e.column != cases[i].column)
      fail_msg("'%s': %u:%u: %s", cases[i].text, e.line, e.column, e.message.bytes);
    fixture_end(&x);
  }
}

/* Any cut of a text and any byte changed: an error or a module, never a crash. */
static void damaged_text(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0 .target sm_90 .address_size 64 .global .b8 g[2] = {0xFF(generic(g)+4), -1};"
      ".global .samplerref s = { addr_mode_0 = wrap, force_unnormalized_coords = 1 };"
      ".entry k(.param .u64 .ptr .global .align 4 a) .maxntid 1, 2, 3 { .reg .b32 %r<5>, q; { "
      ".param .b32 x;"
      " @!%p1 bra L; L: ld.global.v2.u32 {%r1, _}, [%r2+-4]; t: .branchtargets L; brx.idx %r1, t; "
      "} }";
  char copy[sizeof text];
  for (size_t i = 0; i < sizeof text * 2; i++) {
    struct ptx_fixture x;
    struct ptx_parse_error e;
    size_t at = i % sizeof text;
    memcpy(copy, text, sizeof text);
    if (i < sizeof text) copy[at] = 0;
    else if (at + 1 < sizeof text) copy[at] = "{}()[],;:.%$"[at % 12];
    fixture_begin(&x);
    ptx_parse_module((struct nvm_text){copy, i < sizeof text ? at : sizeof text - 1}, &x.module,
                     &e);
    fixture_end(&x);
  }
}

static void expect_inline(const char *text, const char *expected) {
  struct ptx_fixture x;
  fixture_begin(&x);
  struct ptx_function *f = &x.function;
  struct ptx_operand o[] = {ptx_r(ptx_new_reg(f, PTX_B32)), ptx_r(ptx_new_reg(f, PTX_B64)),
                            ptx_r(ptx_new_reg(f, PTX_F32)), ptx_i(5),
                            ptx_symbol(fixture_name(&x, "g"), 4)};
  bool read = ptx_parse_inline(f, text_of(text), o, 5, &(struct ptx_parse_error){0});
  if (read != (expected != NULL)) fail_msg("'%s' is %sread", text, read ? "" : "not ");
  if (read) assert_string_equal(fixture_body(&x), expected);
  else {
    assert_int_equal(f->entries.count, 0);
    assert_int_equal(f->operands.count, 0);
    assert_int_equal(f->labels.count, 1);
    assert_int_equal(f->reg_count[PTX_B32], 1);
  }
  fixture_end(&x);
}

static void inline_assembly(void **state) {
  (void)state;
  expect_inline("", "");
  expect_inline("mov.u32 $0, %laneid;", "\tmov.u32 \t%r1, %laneid;\n");
  expect_inline("ld.global.u32 ${0:x}, [$1 + 8];", "\tld.global.u32 \t%r1, [%rd1+8];\n");
  expect_inline("st.shared.f32 [$4+4], $2;", "\tst.shared.f32 \t[g+8], %f1;\n");
  expect_inline("add.s32 $0, $0, -$3;", "\tadd.s32 \t%r1, %r1, -5;\n");
  expect_inline("ld.global.u32 $0, [$1+$3];", "\tld.global.u32 \t%r1, [%rd1+5];\n");
  expect_inline(
      "{ .reg .pred p; setp.eq.s32 p, $0, $3; @p bra DONE; add.s32 $0, $0, 1; DONE: }",
      "\tsetp.eq.s32 \t%p1, %r1, 5;\n\t@%p1 bra \t$L_DONE;\n\tadd.s32 \t%r1, %r1, 1;\n$L_DONE:\n");
  expect_inline("{ .param .b32 x; st.param.b32 [x], $0; }",
                "\t{\n\t.param .b32 x;\n\tst.param.b32 \t[x], %r1;\n\t}\n");
  expect_inline("fence.acq_rel.gpu; // why", "\tfence.acq_rel.gpu;\n");
  expect_inline("mov.b32 {$0}, $9;", NULL);
  expect_inline("some.thing $0;", NULL);
  expect_inline("{ .reg .b32 t; mov.u32 t, 1; bogus; }", NULL);
  expect_inline("bra ELSEWHERE;", NULL);
  expect_inline("add.s32 $0, %r7, 1;", NULL);
}

/* The n-th allocation fails: a status, no crash, nothing left. */
static void *failing(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  int *left = state;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(memory);
    return NULL;
  }
  return (*left)-- > 0 ? realloc(memory, new_bytes) : NULL;
}

static void out_of_memory(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0 .target sm_90 .address_size 64 .entry k() "
      "{ .reg .b32 %r<5>; L: add.s32 %r1, %r2, 3; bra L; }";
  enum nvm_status status = NVM_OUT_OF_MEMORY;
  for (int n = 0; status != NVM_OK && n < 200; n++) {
    int left = n;
    struct arena arena;
    struct strtab strings;
    arena_init(&arena, (struct nvm_allocator){failing, &left});
    struct ptx_module m = {.arena = &arena, .strings = &strings};
    struct ptx_parse_error e;
    if (strtab_init(&strings, &arena)) {
      status = ptx_parse_module(text_of(text), &m, &e);
      assert_int_not_equal(status, NVM_REFUSED);
    }
    arena_free(&arena);
  }
  assert_int_equal(status, NVM_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(our_own_text_is_a_fixpoint),
      cmocka_unit_test(other_compilers_text),
      cmocka_unit_test(a_range_beside_its_name),
      cmocka_unit_test(braces_around_one),
      cmocka_unit_test(a_label_may_lie_outside_the_scope),
      cmocka_unit_test(a_range_beside_its_name),
      cmocka_unit_test(braces_around_one),
      cmocka_unit_test(errors_say_where_and_why),
      cmocka_unit_test(damaged_text),
      cmocka_unit_test(inline_assembly),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
