/* ptx/print.h: how each operand, entry, variable and head is spelled. */
#include "ptx_fixture.h"

static void operands_are_spelled_as_ptxas_reads_them(void **state) {
  (void)state;
  struct ptx_fixture x;
  fixture_begin(&x);
  struct ptx_function *f = &x.function;
  struct ptx_reg r = ptx_new_reg(f, PTX_B32), d = ptx_new_reg(f, PTX_B64),
                 p = ptx_new_reg(f, PTX_PRED);
  struct ptx_operand pair =
      ptx_group(f, PTX_OPERAND_PAIR, (struct ptx_operand[]){ptx_r(r), ptx_r(p)}, 2);
  struct ptx_operand vector =
      ptx_group(f, PTX_OPERAND_VECTOR, (struct ptx_operand[]){ptx_r(r), {0}}, 2);
  ptx_add(f, PTX_ADD, PTX_MODS(PTX_MOD_S32), PTX_OPS(ptx_r(r), ptx_r(r), ptx_i(-1)));
  ptx_add(f, PTX_MOV, PTX_MODS(PTX_MOD_F32), PTX_OPS(ptx_r(r), ptx_f32(0x3F800000)));
  ptx_add(f, PTX_MOV, PTX_MODS(PTX_MOD_F64), PTX_OPS(ptx_r(d), ptx_f64(0xBFF0000000000000)));
  ptx_add(f, PTX_MOV, PTX_MODS(PTX_MOD_U64), PTX_OPS(ptx_r(d), ptx_i(INT64_MIN)));
  ptx_add(f, PTX_MOV, PTX_MODS(PTX_MOD_U32), PTX_OPS(ptx_r(r), ptx_special_reg(PTX_SPECIAL_TID_X)));
  ptx_add(f, PTX_MOV, PTX_MODS(PTX_MOD_U64),
          PTX_OPS(ptx_r(d), ptx_symbol(fixture_name(&x, "g"), 8)));
  ptx_add(f, PTX_LD, PTX_MODS(PTX_MOD_GLOBAL, PTX_MOD_V2, PTX_MOD_U32),
          PTX_OPS(vector, ptx_at(d, -4)));
  ptx_add(f, PTX_LD, PTX_MODS(PTX_MOD_PARAM, PTX_MOD_U32),
          PTX_OPS(ptx_r(r), ptx_at_symbol(fixture_name(&x, "p"), 4)));
  ptx_add(f, PTX_SHFL, PTX_MODS(PTX_MOD_SYNC, PTX_MOD_IDX, PTX_MOD_B32),
          PTX_OPS(pair, ptx_r(r), ptx_i(0), ptx_i(31), ptx_i(-1)));
  ptx_add_guarded(f, p, true, PTX_RET, NULL, NULL, 0);
  assert_string_equal(fixture_body(&x),
                      "\tadd.s32 \t%r1, %r1, -1;\n"
                      "\tmov.f32 \t%r1, 0f3F800000;\n"
                      "\tmov.f64 \t%rd1, 0dBFF0000000000000;\n"
                      "\tmov.u64 \t%rd1, -9223372036854775808;\n"
                      "\tmov.u32 \t%r1, %tid.x;\n"
                      "\tmov.u64 \t%rd1, g+8;\n"
                      "\tld.global.v2.u32 \t{%r1, _}, [%rd1+-4];\n"
                      "\tld.param.u32 \t%r1, [p+4];\n"
                      "\tshfl.sync.idx.b32 \t%r1|%p1, %r1, 0, 31, -1;\n"
                      "\t@!%p1 ret;\n");
  fixture_end(&x);
}

static void labels_are_unique_and_legal(void **state) {
  (void)state;
  struct ptx_fixture x;
  fixture_begin(&x);
  struct ptx_function *f = &x.function;
  const char *names[] = {"for.body", "for_body", "for body", "", "_4", "a$b"};
  for (int i = 0; i < 6; i++) ptx_add_label(f, ptx_new_label(f, fixture_name(&x, names[i])));
  assert_string_equal(fixture_body(&x),
                      "$L_for_body:\n$L_for_body$2:\n$L_for_body$3:\n"
                      "$L__4:\n$L__4$5:\n$L_a$b:\n");
  fixture_end(&x);
}

static void entries(void **state) {
  (void)state;
  struct ptx_fixture x;
  fixture_begin(&x);
  struct ptx_function *f = &x.function;
  uint32_t a = ptx_new_label(f, fixture_name(&x, "a")), t = ptx_new_label(f, fixture_name(&x, "t"));
  struct ptx_operand list =
      ptx_group(f, PTX_OPERAND_LIST, (struct ptx_operand[]){ptx_label(a), ptx_label(a)}, 2);
  ptx_add_entry(
      f, (struct ptx_entry){
             .kind = PTX_BRANCHTARGETS, .first_mod = t, .first_operand = list.first, .line = 2});
  ptx_add_entry(f, (struct ptx_entry){.kind = PTX_SCOPE_BEGIN});
  ptx_add_variable(f, (struct ptx_variable){.name = fixture_name(&x, "retval0"),
                                            .space = PTX_MOD_PARAM,
                                            .type = PTX_MOD_B8,
                                            .align = 8,
                                            .is_array = true,
                                            .count = 16});
  ptx_add(f, PTX_CALL, PTX_MODS(PTX_MOD_UNI),
          PTX_OPS(ptx_group(f, PTX_OPERAND_LIST,
                            (struct ptx_operand[]){ptx_symbol(fixture_name(&x, "retval0"), 0)}, 1),
                  ptx_symbol(fixture_name(&x, "f"), 0), ptx_group(f, PTX_OPERAND_LIST, NULL, 0)));
  ptx_add_entry(f, (struct ptx_entry){.kind = PTX_SCOPE_END});
  ptx_add_loc(f, (struct nvm_str){0}, (uint32_t[]){1, 0}, (uint32_t[]){7, 0}, (uint32_t[]){3, 0});
  ptx_add_loc(f, fixture_name(&x, "$L__info"), (uint32_t[]){1, 2}, (uint32_t[]){7, 9},
              (uint32_t[]){3, 5});
  ptx_add_text(f, PTX_PRAGMA, text_of("nounroll"));
  ptx_add_text(f, PTX_COMMENT, text_of("loop of depth 1"));
  ptx_add_text(f, PTX_RAW, text_of("nop;"));
  assert_string_equal(fixture_body(&x),
                      "$L_t: .branchtargets $L_a, $L_a;\n"
                      "\t{\n"
                      "\t.param .align 8 .b8 retval0[16];\n"
                      "\tcall.uni \t(retval0), f, ();\n"
                      "\t}\n"
                      "\t.loc\t1 7 3\n"
                      "\t.loc\t1 7 3, function_name $L__info, inlined_at 2 9 5\n"
                      "\t.pragma \"nounroll\";\n"
                      "\t// loop of depth 1\n"
                      "\t// begin inline asm\n\tnop;\n\t// end inline asm\n");
  fixture_end(&x);
}

static void check_variable(struct ptx_fixture *x, struct ptx_variable v, const char *expected) {
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  ptx_print_variable(&x->module, &v, &b);
  textbuf_char(&b, 0);
  assert_string_equal(b.bytes, expected);
}

static void variables(void **state) {
  (void)state;
  struct ptx_fixture x;
  fixture_begin(&x);
  struct nvm_str v = fixture_name(&x, "v");
  struct ptx_init inits[] = {{.bits = 0xFF},
                             {.bits = 0x80},
                             {.bits = 8, .symbol = v},
                             {.symbol = v, .generic = true},
                             {.symbol = v, .mask_byte = 2},
                             {.bits = 0x3FC00000}};
  for (int i = 0; i < 6; i++) VEC_PUSH(&x.arena, &x.module.inits, inits[i]);
  check_variable(&x,
                 (struct ptx_variable){.name = v,
                                       .space = PTX_MOD_SHARED,
                                       .type = PTX_MOD_B8,
                                       .linkage = PTX_MOD_EXTERN,
                                       .align = 16,
                                       .is_array = true,
                                       .is_unsized = true},
                 ".extern .shared .align 16 .b8 v[];\n");
  check_variable(&x,
                 (struct ptx_variable){.name = v,
                                       .space = PTX_MOD_GLOBAL,
                                       .type = PTX_MOD_S8,
                                       .linkage = PTX_MOD_VISIBLE,
                                       .managed = true,
                                       .is_array = true,
                                       .count = 2,
                                       .init_count = 2},
                 ".visible .global .attribute(.managed) .s8 v[2] = {-1, -128};\n");
  check_variable(&x,
                 (struct ptx_variable){.name = v,
                                       .space = PTX_MOD_CONST,
                                       .type = PTX_MOD_B64,
                                       .is_array = true,
                                       .count = 3,
                                       .first_init = 2,
                                       .init_count = 3},
                 ".const .b64 v[3] = {v+8, generic(v), 0xFF00(v)};\n");
  check_variable(&x,
                 (struct ptx_variable){.name = v,
                                       .space = PTX_MOD_GLOBAL,
                                       .type = PTX_MOD_F32,
                                       .vector = PTX_MOD_V2,
                                       .first_init = 5,
                                       .init_count = 1},
                 ".global .v2 .f32 v = {0f3FC00000};\n");
  check_variable(&x,
                 (struct ptx_variable){.name = v,
                                       .space = PTX_MOD_PARAM,
                                       .type = PTX_MOD_U64,
                                       .is_ptr = true,
                                       .ptr_space = PTX_MOD_GLOBAL,
                                       .ptr_align = 4},
                 ".param .u64 .ptr .global .align 4 v;\n");
  fixture_end(&x);
}

static void heads_and_registers(void **state) {
  (void)state;
  struct ptx_fixture x;
  struct textbuf b;
  fixture_begin(&x);
  struct ptx_function *f = &x.function;
  f->name = fixture_name(&x, "k");
  f->is_entry = true;
  f->flags = PTX_FUNC_VISIBLE;
  f->performance =
      (struct ptx_performance){.maxntid = {128, 2, 1}, .minnctapersm = 2, .maxnreg = 64};
  VEC_PUSH(&x.arena, &f->params,
           (struct ptx_variable){
               .name = fixture_name(&x, "k_param_0"), .space = PTX_MOD_PARAM, .type = PTX_MOD_U32});
  ptx_new_reg(f, PTX_B32);
  ptx_add(f, PTX_RET, NULL, NULL, 0);
  textbuf_init(&b, &x.arena);
  ptx_print_function(f, &b);
  f->is_declaration = true;
  f->is_entry = false;
  f->flags = PTX_FUNC_EXTERN | PTX_FUNC_NORETURN;
  f->result_count = 1;
  ptx_print_function(f, &b);
  textbuf_char(&b, 0);
  assert_string_equal(b.bytes,
                      ".visible .entry k(\n\t.param .u32 k_param_0\n)\n"
                      ".maxntid 128, 2, 1\n.minnctapersm 2\n.maxnreg 64\n"
                      "{\n\t.reg .b32 \t%r<2>;\n\n\tret;\n}\n"
                      ".extern .func (.param .u32 k_param_0) k()\n.noreturn;\n");
  fixture_end(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operands_are_spelled_as_ptxas_reads_them),
      cmocka_unit_test(labels_are_unique_and_legal),
      cmocka_unit_test(entries),
      cmocka_unit_test(variables),
      cmocka_unit_test(heads_and_registers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
