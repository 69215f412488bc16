/* The printer, on IR built through the API: text of each part, and numbers of unnamed things. */
#include "ir/print.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct nvm_module *m;
static struct textbuf out;

static int set_up(void **state) {
  (void)state;
  m = module_create(nvm_default_allocator, 0);
  textbuf_init(&out, &m->arena);
  return m ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  module_destroy(m);
  return 0;
}

static const char *text_written(void) {
  textbuf_char(&out, '\0');
  out.length = 0;
  return out.bytes;
}

static const char *module_printed(void) {
  assert_int_equal(print_module(m, &out), NVM_OK);
  return text_written();
}

static const char *function_printed(const struct nvm_function *f) {
  assert_int_equal(print_function(f, &out), NVM_OK);
  return text_written();
}

static const char *value_printed(const struct nvm_function *f, struct nvm_value v) {
  assert_int_equal(print_value(f, v, &out), NVM_OK);
  return text_written();
}

static struct nvm_str str(const char *s) { return module_str(m, s); }

/* `void @name(parameters)`, without a body. */
static struct nvm_function *new_function(const char *name, struct nvm_type result,
                                         const struct nvm_type *parameters, uint32_t count) {
  struct nvm_function *f = module_function(m, module_add_function(m, str(name)));
  f->type = type_function(&m->types, result, parameters, count, false);
  f->symbol.defined = true;
  return f;
}

static struct nvm_value add(struct nvm_function *f, struct nvm_block b, enum op op, uint16_t flags,
                            struct nvm_type type, const struct nvm_value *operands, uint32_t count,
                            uint32_t aux) {
  struct nvm_inst_id i = function_add_inst(f, op, flags, type, operands, count, aux);
  inst_append(f, i, b);
  return value_of_inst(i);
}

static struct nvm_value i32(int64_t value) {
  return const_int(m, TYPE_I32, (nvm_u128)(uint64_t)value & UINT32_MAX);
}

static void an_empty_module_is_an_empty_text(void **state) {
  (void)state;
  assert_string_equal(module_printed(), "");
}

static void heading_types_and_comdats(void **state) {
  (void)state;
  m->source_filename = str("a \"b\".cu");
  m->triple = str("nvptx64-nvidia-cuda");
  m->has_triple = true;
  assert_true(VEC_PUSH(&m->arena, &m->module_asm, str(".globl\tx")));
  struct nvm_type pair = type_named(&m->types, str("struct.pair"));
  struct nvm_type members[] = {TYPE_I8, type_vector(&m->types, TYPE_FLOAT, 4)};
  type_set_body(&m->types, pair, members, 2, true);
  type_named(&m->types, str("o p"));
  assert_true(VEC_PUSH(&m->arena, &m->comdats, ((struct comdat){str("c"), str("any")})));
  assert_true(VEC_PUSH(&m->arena, &m->comdats, ((struct comdat){str("$d"), str("largest")})));
  assert_string_equal(module_printed(),
                      "source_filename = \"a \\22b\\22.cu\"\n"
                      "target triple = \"nvptx64-nvidia-cuda\"\n"
                      "\n"
                      "module asm \".globl\\09x\"\n"
                      "\n"
                      "%struct.pair = type <{ i8, <4 x float> }>\n"
                      "%\"o p\" = type opaque\n"
                      "\n"
                      "$c = comdat any\n"
                      "\n"
                      "$\"$d\" = comdat largest\n");
}

/* Aliases follow variables whatever the source's order; numbers follow the text. */
static void globals_and_their_numbers(void **state) {
  (void)state;
  struct nvm_value a = module_add_global(m, (struct nvm_str){0});
  struct nvm_value v = module_add_global(m, (struct nvm_str){0});
  struct nvm_value w = module_add_global(m, str("shared mem"));
  *module_global(m, v) =
      (struct nvm_global){.value_type = TYPE_I32,
                          .initializer = i32(-7),
                          .symbol = {.linkage = LINK_INTERNAL, .unnamed_addr = UNNAMED_GLOBAL},
                          .is_constant = true,
                          .align_log2 = 3};
  struct nvm_global *g = module_global(m, w);
  g->value_type = type_array(&m->types, TYPE_I8, 0);
  g->address_space = 3;
  g->align_log2 = 5;
  g = module_global(m, a);
  g->is_alias = true;
  g->value_type = TYPE_I32;
  g->aliasee = v;
  assert_string_equal(module_printed(),
                      "@0 = internal unnamed_addr constant i32 -7, align 4\n"
                      "@\"shared mem\" = external addrspace(3) global [0 x i8], align 16\n"
                      "\n"
                      "@1 = alias i32, ptr @0\n");
}

static void constants(void **state) {
  (void)state;
  struct nvm_function *f = new_function("f", TYPE_VOID, NULL, 0);
  struct nvm_value two[] = {i32(1), const_poison(m, TYPE_I32)};
  struct nvm_type pair[] = {TYPE_I32, TYPE_I32};
  struct nvm_type vector = type_vector(&m->types, TYPE_I32, 2);
  nvm_u128 wide = (nvm_u128)1 << 127;
  assert_string_equal(value_printed(f, const_int(m, TYPE_I1, 1)), "i1 true");
  assert_string_equal(value_printed(f, const_int(m, TYPE_I8, 255)), "i8 -1");
  assert_string_equal(value_printed(f, const_int(m, TYPE_I128, wide)),
                      "i128 -170141183460469231731687303715884105728");
  assert_string_equal(value_printed(f, const_int(m, TYPE_I128, ((nvm_u128)1 << 64) + 5)),
                      "i128 18446744073709551621");
  assert_string_equal(value_printed(f, const_float(m, TYPE_FLOAT, 0x3DCCCCCD)),
                      "float 0x3FB99999A0000000");
  assert_string_equal(value_printed(f, const_aggregate(m, vector, two, 2)),
                      "<2 x i32> <i32 1, i32 poison>");
  assert_string_equal(
      value_printed(f, const_aggregate(m, type_struct(&m->types, pair, 2, true), two, 2)),
      "<{ i32, i32 }> <{ i32 1, i32 poison }>");
  assert_string_equal(value_printed(f, const_zero(m, vector)), "<2 x i32> zeroinitializer");
  assert_string_equal(
      value_printed(f, const_bytes(m, type_array(&m->types, TYPE_I8, 4), "a\"\n\\", 4)),
      "[4 x i8] c\"a\\22\\0A\\\\\"");
  assert_string_equal(value_printed(f, const_undef(m, TYPE_PTR)), "ptr undef");
}

static void constant_expressions(void **state) {
  (void)state;
  struct nvm_function *f = new_function("f", TYPE_VOID, NULL, 0);
  struct nvm_value g = module_add_global(m, str("g"));
  module_global(m, g)->value_type = TYPE_I32;
  module_global(m, g)->address_space = 1;
  struct nvm_value cast = const_expr(m, OP_ADDRSPACECAST, 0, TYPE_PTR, &g, 1, 0);
  assert_string_equal(value_printed(f, cast), "ptr addrspacecast (ptr addrspace(1) @g to ptr)");
  struct nvm_value gep[] = {cast, i32(3)};
  uint16_t flags = INST_INBOUNDS | INST_NUSW | INST_NUW;
  assert_string_equal(
      value_printed(f, const_expr(m, OP_GEP, flags, TYPE_PTR, gep, 2, TYPE_I8.index)),
      "ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(1) @g to ptr), i32 3)");
}

/* Arguments, then the entry block, then values and blocks as they come. */
static void unnamed_values_are_numbered_like_llvm(void **state) {
  (void)state;
  struct nvm_type parameters[] = {TYPE_I32, TYPE_I32};
  struct nvm_function *f = new_function("f", TYPE_I32, parameters, 2);
  struct nvm_str names[] = {{0}, str("n")};
  f->arg_names = names;
  struct nvm_block entry = function_add_block(f, (struct nvm_str){0});
  struct nvm_block next = function_add_block(f, (struct nvm_str){0});
  struct nvm_block end = function_add_block(f, str("end"));
  struct nvm_value operands[] = {value_of_arg(0), value_of_arg(1)};
  struct nvm_value sum = add(f, entry, OP_ADD, INST_NUW | INST_NSW, TYPE_I32, operands, 2, 0);
  struct nvm_value to_next = value_of_block(next), to_end = value_of_block(end);
  add(f, entry, OP_BR, 0, TYPE_VOID, &to_next, 1, 0);
  struct nvm_value compared[] = {sum, i32(0)};
  struct nvm_value test = add(f, next, OP_ICMP, 0, TYPE_I1, compared, 2, ICMP_SLT);
  struct nvm_value branch[] = {test, to_next, to_end};
  add(f, next, OP_CONDBR, 0, TYPE_VOID, branch, 3, 0);
  add(f, end, OP_RET, 0, TYPE_VOID, &sum, 1, 0);
  assert_string_equal(function_printed(f),
                      "define i32 @f(i32 %0, i32 %n) {\n"
                      "  %2 = add nuw nsw i32 %0, %n\n"
                      "  br label %3\n"
                      "\n"
                      "3:\n"
                      "  %4 = icmp slt i32 %2, 0\n"
                      "  br i1 %4, label %3, label %end\n"
                      "\n"
                      "end:\n"
                      "  ret i32 %2\n"
                      "}\n");
}

/* A pass that copies an instruction may leave its name on both. */
static void a_name_taken_twice_is_numbered(void **state) {
  (void)state;
  struct nvm_function *f = new_function("f", TYPE_I32, NULL, 0);
  struct nvm_block entry = function_add_block(f, str("entry"));
  struct nvm_value operands[] = {i32(1), i32(2)};
  for (int i = 0; i < 2; i++) {
    operands[0] = add(f, entry, OP_MUL, 0, TYPE_I32, operands, 2, 0);
    f->names.data[value_index(operands[0])] = str("x y");
  }
  add(f, entry, OP_RET, 0, TYPE_VOID, operands, 1, 0);
  assert_string_equal(function_printed(f),
                      "define i32 @f() {\n"
                      "entry:\n"
                      "  %\"x y\" = mul i32 1, 2\n"
                      "  %0 = mul i32 %\"x y\", 2\n"
                      "  ret i32 %0\n"
                      "}\n");
}

static void memory_instructions(void **state) {
  (void)state;
  struct nvm_type parameters[] = {TYPE_PTR};
  struct nvm_function *f = new_function("f", TYPE_VOID, parameters, 1);
  struct nvm_block b = function_add_block(f, (struct nvm_str){0});
  struct nvm_value p = value_of_arg(0), one = i32(1), pair[] = {p, one}, stored[] = {one, p};
  struct nvm_value three[] = {p, one, i32(2)};
  uint32_t scope = module_sync_scope(m, str("agent"));
  struct memory_access a = {.align_log2 = 3, .is_volatile = 1};
  add(f, b, OP_LOAD, 0, TYPE_I32, &p, 1, memory_access_pack(a));
  a.ordering = ORDER_RELEASE;
  a.scope = scope & 255;
  add(f, b, OP_STORE, 0, TYPE_VOID, stored, 2, memory_access_pack(a));
  a = (struct memory_access){.ordering = ORDER_ACQ_REL, .rmw = RMW_UINC_WRAP};
  add(f, b, OP_ATOMICRMW, 0, TYPE_I32, pair, 2, memory_access_pack(a));
  a = (struct memory_access){
      .ordering = ORDER_SEQ_CST, .failure_ordering = ORDER_ACQUIRE, .is_weak = 1, .align_log2 = 4};
  struct nvm_type result[] = {TYPE_I32, TYPE_I1};
  add(f, b, OP_CMPXCHG, 0, type_struct(&m->types, result, 2, false), three, 3,
      memory_access_pack(a));
  a = (struct memory_access){.ordering = ORDER_ACQUIRE, .scope = scope & 255};
  add(f, b, OP_FENCE, 0, TYPE_VOID, NULL, 0, memory_access_pack(a));
  struct nvm_value four = const_int(m, TYPE_I64, 4);
  add(f, b, OP_ALLOCA, 5, type_ptr(&m->types, 5), &four, 1, TYPE_FLOAT.index);
  add(f, b, OP_GEP, INST_NUSW, TYPE_PTR, pair, 2, TYPE_I16.index);
  add(f, b, OP_RET, 0, TYPE_VOID, NULL, 0, 0);
  assert_string_equal(
      function_printed(f),
      "define void @f(ptr %0) {\n"
      "  %2 = load volatile i32, ptr %0, align 4\n"
      "  store atomic volatile i32 1, ptr %0 syncscope(\"agent\") release, align 4\n"
      "  %3 = atomicrmw uinc_wrap ptr %0, i32 1 acq_rel\n"
      "  %4 = cmpxchg weak ptr %0, i32 1, i32 2 seq_cst acquire, align 8\n"
      "  fence syncscope(\"agent\") acquire\n"
      "  %5 = alloca float, i64 4, align 16, addrspace(5)\n"
      "  %6 = getelementptr nusw i16, ptr %0, i32 1\n"
      "  ret void\n"
      "}\n");
}

static void calls_and_groups(void **state) {
  (void)state;
  struct nvm_attr noundef = {.id = ATTR_NOUNDEF, .payload = ATTR_FLAG};
  struct nvm_attr align = {.id = ATTR_ALIGN, .payload = ATTR_INT, .number = 8};
  struct nvm_attr group[] = {
      {.id = ATTR_ALIGNSTACK, .payload = ATTR_INT, .number = 16},
      {.id = ATTR_MEMORY, .payload = ATTR_TEXT, .str2 = str("none")},
      {.payload = ATTR_STRING, .str = str("k"), .str2 = str("v"), .has_value = true}};
  struct nvm_attrset parameter = attrset_make(&m->attributes, &align, 1);
  struct nvm_attrlist list =
      attrlist_make(&m->attributes, attrset_make(&m->attributes, group, 3),
                    attrset_make(&m->attributes, &noundef, 1), &parameter, 1);
  struct nvm_type parameters[] = {TYPE_PTR};
  struct nvm_function *f = new_function("f", TYPE_I32, parameters, 1);
  f->attributes = list;
  f->convention = CC_PTX_DEVICE;
  struct nvm_block b = function_add_block(f, (struct nvm_str){0});
  struct call_site site = {.function_type = f->type, .attributes = list, .convention = 42};
  site.first_bundle = m->bundles.count;
  site.bundle_count = 1;
  assert_true(VEC_PUSH(&m->arena, &m->bundles, ((struct operand_bundle){str("tag"), 1})));
  struct nvm_value operands[] = {value_of_arg(0), i32(9), module_find_symbol(m, str("f"))};
  struct nvm_value result =
      add(f, b, OP_CALL, CALL_NOTAIL, TYPE_I32, operands, 3, module_call_site(m, site));
  add(f, b, OP_RET, 0, TYPE_VOID, &result, 1, 0);
  assert_string_equal(
      module_printed(),
      "define ptx_device noundef i32 @f(ptr align 8 %0) #0 {\n"
      "  %2 = notail call cc42 noundef i32 @f(ptr align 8 %0) #0 [ \"tag\"(i32 9) ]\n"
      "  ret i32 %2\n"
      "}\n"
      "\n"
      "attributes #0 = { alignstack=16 memory(none) \"k\"=\"v\" }\n");
}

/* Only what is reached is printed; inline nodes have no number. */
static void metadata_is_numbered_as_met(void **state) {
  (void)state;
  struct meta_table *t = &m->metadata;
  uint32_t unused = meta_node_new(t), second = meta_node_new(t), first = meta_node_new(t);
  uint32_t expression = meta_node_new(t);
  struct nvm_meta operands[] = {meta_node(t, second, false), meta_string(t, str("a\n")),
                                (struct nvm_meta){0}, meta_node(t, expression, true),
                                meta_value(t, i32(3), TYPE_I32)};
  struct nvm_meta fields[] = {meta_int(t, (uint64_t)-3, false), meta_string(t, str("x")),
                              meta_word(t, str("DIFlagA | DIFlagB")), meta_node(t, first, false)};
  struct nvm_str keys[] = {str("line"), str("name"), str("flags"), str("scope")};
  struct nvm_meta words[] = {meta_word(t, str("DW_OP_deref")), meta_int(t, UINT64_MAX, true)};
  assert_true(meta_node_define(t, unused, (struct nvm_str){0}, false, NULL, NULL, 0));
  assert_true(meta_node_define(t, second, str("DIThing"), true, keys, fields, 4));
  assert_true(meta_node_define(t, first, (struct nvm_str){0}, false, NULL, operands, 5));
  assert_true(meta_node_define(t, expression, str("DIExpression"), false, NULL, words, 2));
  struct nvm_meta root = meta_node(t, first, false);
  assert_true(meta_add_named(t, str("nvvm annotations"), &root, 1));
  assert_string_equal(
      module_printed(),
      "!nvvm\\20annotations = !{!0}\n"
      "\n"
      "!0 = !{!1, !\"a\\0A\", null, !DIExpression(DW_OP_deref, 18446744073709551615), i32 3}\n"
      "!1 = distinct !DIThing(line: -3, name: \"x\", flags: DIFlagA | DIFlagB, scope: !0)\n");
}

static void one_instruction_for_diagnostics(void **state) {
  (void)state;
  struct nvm_function *f = new_function("f", TYPE_VOID, NULL, 0);
  struct nvm_block b = function_add_block(f, str("entry"));
  struct nvm_value value[] = {i32(1), value_of_block(b), i32(5), value_of_block(b)};
  struct nvm_value sw = add(f, b, OP_SWITCH, 0, TYPE_VOID, value, 4, 0);
  assert_int_equal(print_inst(f, (struct nvm_inst_id){value_index(sw)}, &out), NVM_OK);
  assert_string_equal(text_written(),
                      "switch i32 1, label %entry [\n"
                      "    i32 5, label %entry\n"
                      "  ]");
}

/* An allocator that gives `left` more blocks of memory. */
static void *limited(void *left, void *memory, size_t old_bytes, size_t new_bytes) {
  int *n = left;
  if (new_bytes > old_bytes && --*n < 0) return NULL;
  return nvm_default_allocator.resize(NULL, memory, old_bytes, new_bytes);
}

static void running_out_of_memory_is_a_status(void **state) {
  (void)state;
  struct nvm_type parameters[] = {TYPE_I32, TYPE_I32};
  struct nvm_function *f = new_function("f", TYPE_I32, parameters, 2);
  struct nvm_block b = function_add_block(f, (struct nvm_str){0});
  struct nvm_value x = value_of_arg(0);
  for (int i = 0; i < 2000; i++) {
    struct nvm_value operands[] = {x, value_of_arg(1)};
    x = add(f, b, OP_ADD, 0, TYPE_I32, operands, 2, 0);
  }
  add(f, b, OP_RET, 0, TYPE_VOID, &x, 1, 0);
  int left = 0, n = 0;
  struct nvm_allocator old = m->arena.allocator;
  for (enum nvm_status status = NVM_OUT_OF_MEMORY; status != NVM_OK; n++) {
    struct arena arena;
    struct textbuf text;
    left = n;
    m->arena.allocator = (struct nvm_allocator){limited, &left};
    arena_init(&arena, m->arena.allocator);
    textbuf_init(&text, &arena);
    status = print_module(m, &text);
    assert_true(status == NVM_OK || status == NVM_OUT_OF_MEMORY);
    arena_free(&arena);
  }
  m->arena.allocator = old;
  assert_true(n > 3);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(an_empty_module_is_an_empty_text),
      TEST(heading_types_and_comdats),
      TEST(globals_and_their_numbers),
      TEST(constants),
      TEST(constant_expressions),
      TEST(unnamed_values_are_numbered_like_llvm),
      TEST(a_name_taken_twice_is_numbered),
      TEST(memory_instructions),
      TEST(calls_and_groups),
      TEST(metadata_is_numbered_as_met),
      TEST(one_instruction_for_diagnostics),
      TEST(running_out_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
