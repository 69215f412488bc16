/* Alias analysis: each sample is a function body; its first two accesses are compared, or what the
 * second instruction that touches memory may do to the first is asked. */
#include "ir_fixture.h"

#include "frontend/parse.h"
#include "analysis/alias.h"

static const char prologue[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@s = internal addrspace(3) global [64 x i32] undef\n"
    "@t = internal addrspace(3) global [64 x i32] undef\n"
    "@d1 = external addrspace(3) global [0 x i32]\n"
    "@d2 = external addrspace(3) global [0 x float]\n"
    "@g = addrspace(1) global [64 x i32] zeroinitializer\n"
    "@c = addrspace(4) constant [64 x i32] zeroinitializer\n"
    "declare void @opaque(ptr)\n"
    "declare void @reader(ptr readonly nocapture) memory(argmem: read)\n"
    "declare void @llvm.nvvm.barrier0()\n"
    "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
    "!0 = !{!1, !1, i64 0}\n!1 = !{!\"int\", !4, i64 0}\n"
    "!2 = !{!3, !3, i64 0}\n!3 = !{!\"float\", !4, i64 0}\n"
    "!4 = !{!\"omnipotent char\", !5, i64 0}\n!5 = !{!\"C++\"}\n"
    "!6 = !{!7, !1, i64 4}\n!7 = !{!\"S\", !3, i64 0, !1, i64 4}\n!8 = !{!4, !4, i64 0}\n"
    "!9 = !{!7, !3, i64 0}\n"
    "!20 = distinct !{!20, !\"domain\"}\n!21 = distinct !{!21, !20}\n!22 = distinct !{!22, !20}\n"
    "!23 = !{!21}\n!24 = !{!21, !22}\n!25 = !{!22}\n!30 = !{}\n";

struct scene {
  struct nvm_module *m;
  struct arena arena;
  struct alias_env *env;
  struct nvm_inst_id access[2];
};

static void set_up(struct scene *s, const char *function) {
  static char text[8192];
  struct diag_sink sink;
  *s = (struct scene){.m = module_create(nvm_default_allocator, 0)};
  arena_init(&s->arena, nvm_default_allocator);
  diag_sink_init(&sink, &s->arena, 0);
  snprintf(text, sizeof text, "%s%s", prologue, function);
  assert_int_equal(parse_module(s->m, text, strlen(text), "test", 0, &sink), NVM_OK);
  struct nvm_function *f = NULL;
  for (uint32_t n = 1; n < s->m->functions.count; n++)
    if (!function_is_declaration(s->m->functions.data[n])) f = s->m->functions.data[n];
  s->env = alias_init(f, &s->arena);
  int found = 0;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (effects_on_memory(f, i) && found < 2) s->access[found++] = i;
  assert_int_equal(found, 2);
}

static void tear_down(struct scene *s) {
  arena_free(&s->arena);
  module_destroy(s->m);
}

static const struct nvm_function *body_of(const struct scene *s) {
  return s->m->functions.data[s->m->functions.count - 1];
}

static enum alias ask(const char *function) {
  struct scene s;
  struct memory_location a, b;
  set_up(&s, function);
  assert_true(alias_location_of(body_of(&s), s.access[0], &a));
  assert_true(alias_location_of(body_of(&s), s.access[1], &b));
  enum alias answer = alias_query(s.env, a, b);
  assert_int_equal(alias_query(s.env, b, a), answer);
  tear_down(&s);
  return answer;
}

static uint32_t does(const char *function) {
  struct scene s;
  struct memory_location a;
  set_up(&s, function);
  assert_true(alias_location_of(body_of(&s), s.access[0], &a));
  uint32_t answer = alias_mod_ref(s.env, s.access[1], a);
  tear_down(&s);
  return answer;
}

#define LOADS(p, q) "  %x = load i32, " p "\n  %y = load i32, " q "\n  ret void\n}\n"
#define KERNEL(arguments) "define ptx_kernel void @f(" arguments ") {\n"
#define DEVICE(arguments) "define void @f(" arguments ") {\n"

static void spaces(void **state) {
  (void)state;
  assert_int_equal(ask(DEVICE("ptr addrspace(1) %p, ptr addrspace(3) %q")
                           LOADS("ptr addrspace(1) %p", "ptr addrspace(3) %q")),
                   ALIAS_NO);
  assert_int_equal(
      ask(DEVICE("ptr %p, ptr addrspace(3) %q") LOADS("ptr %p", "ptr addrspace(3) %q")), ALIAS_MAY);
  assert_int_equal(
      ask(KERNEL("ptr %p, ptr addrspace(3) %q") LOADS("ptr %p", "ptr addrspace(3) %q")), ALIAS_NO);
  assert_int_equal(ask(DEVICE("ptr addrspace(7) %p, ptr addrspace(3) %q")
                           LOADS("ptr addrspace(7) %p", "ptr addrspace(3) %q")),
                   ALIAS_MAY);
  assert_int_equal(ask(KERNEL("ptr %p, i1 %c") "  %a = addrspacecast ptr addrspace(3) @s to ptr\n"
                                               "  %b = addrspacecast ptr addrspace(3) @t to ptr\n"
                                               "  %q = select i1 %c, ptr %a, ptr %b\n" LOADS(
                                                   "ptr %p", "ptr %q")),
                   ALIAS_NO);
}

static void objects(void **state) {
  (void)state;
  assert_int_equal(ask(DEVICE("") LOADS("ptr addrspace(3) @s", "ptr addrspace(3) @t")), ALIAS_NO);
  assert_int_equal(ask(DEVICE("") LOADS("ptr addrspace(3) @d1", "ptr addrspace(3) @d2")),
                   ALIAS_MAY);
  assert_int_equal(ask(DEVICE("") LOADS("ptr addrspace(3) @d1", "ptr addrspace(3) @s")), ALIAS_MAY);
  assert_int_equal(ask(DEVICE("ptr %p, ptr %q") LOADS("ptr %p", "ptr %q")), ALIAS_MAY);
  assert_int_equal(ask(DEVICE("ptr noalias %p, ptr %q") LOADS("ptr %p", "ptr %q")), ALIAS_NO);
  assert_int_equal(ask(DEVICE("ptr %q") "  %a = alloca i32\n" LOADS("ptr %a", "ptr %q")), ALIAS_NO);
  const char *captured = DEVICE("ptr %q") "  %a = alloca i32\n  store ptr %a, ptr %q\n"
                         "  %l = load ptr, ptr %q\n" LOADS("ptr %l", "ptr %a");
  assert_int_equal(ask(captured), ALIAS_MUST); /* the two accesses to %q */
  assert_int_equal(
      ask(DEVICE("ptr %q") "  %a = alloca i32\n  %i = ptrtoint ptr %a to i64\n"
                           "  %l = inttoptr i64 %i to ptr\n" LOADS("ptr %l", "ptr %a")),
      ALIAS_MAY);
}

static void bytes(void **state) {
  (void)state;
#define AT(p, type, index) "  " p " = getelementptr inbounds " type ", ptr %p, i64 " index "\n"
  assert_int_equal(ask(DEVICE("ptr %p, i64 %i") AT("%a", "i32", "%i") AT("%b", "i32", "%i")
                           LOADS("ptr %a", "ptr %b")),
                   ALIAS_MUST);
  assert_int_equal(ask(DEVICE("ptr %p, i64 %i") "  %j = add i64 %i, 1\n" AT("%a", "i32", "%i")
                           AT("%b", "i32", "%j") LOADS("ptr %a", "ptr %b")),
                   ALIAS_NO);
  assert_int_equal(ask(DEVICE("ptr %p, i64 %i") AT("%a", "i8", "2") LOADS("ptr %a", "ptr %p")),
                   ALIAS_PARTIAL);
  assert_int_equal(ask(DEVICE("ptr %p, i64 %i, i64 %j") AT("%a", "i32", "%i") AT("%b", "i32", "%j")
                           LOADS("ptr %a", "ptr %b")),
                   ALIAS_MAY);
  assert_int_equal(ask(DEVICE("ptr %p, i64 %i, i64 %j")
                           AT("%a", "i64", "%i") "  %o = getelementptr i8, ptr %p, i64 4\n"
                                                 "  %b = getelementptr i64, ptr %o, i64 %j\n" LOADS(
                                                     "ptr %a", "ptr %b")),
                   ALIAS_NO);
  const char *narrow = DEVICE("ptr %p, i32 %n") "  %m = add %s  i32 %n, 1\n"
                       "  %i = sext i32 %n to i64\n"
                       "  %j = sext i32 %m to i64\n" AT("%a", "i32", "%i") AT("%b", "i32", "%j")
                       LOADS("ptr %a", "ptr %b");
  char text[2048];
  for (int nsw = 0; nsw < 2; nsw++) {
    snprintf(text, sizeof text, "%s", narrow);
    char *flag = strstr(text, "%s ");
    memcpy(flag, nsw ? "nsw" : "   ", 3);
    assert_int_equal(ask(text), nsw ? ALIAS_NO : ALIAS_MAY);
  }
  assert_int_equal(ask(DEVICE("ptr %p") "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                                        "  %i = zext i32 %t to i64\n" AT("%a", "i32", "%i")
                                            AT("%b", "i32", "1024") LOADS("ptr %a", "ptr %b")),
                   ALIAS_NO);
  assert_int_equal(ask(DEVICE("ptr %p") "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                                        "  %i = zext i32 %t to i64\n" AT("%a", "i32", "%i")
                                            AT("%b", "i32", "1023") LOADS("ptr %a", "ptr %b")),
                   ALIAS_MAY);
}

#define TAGGED(type, p, a, q, b) \
  "  %x = load i32, ptr " p ", " a "\n  %y = load " type ", ptr " q ", " b "\n  ret void\n}\n"
static void metadata(void **state) {
  (void)state;
  const char *two = "ptr %p, ptr %q";
  char text[1024];
  static const struct {
    const char *a, *b;
    enum alias answer;
  } cases[] = {
      {"!tbaa !0", "!tbaa !2", ALIAS_NO},  /* int, float */
      {"!tbaa !0", "!tbaa !8", ALIAS_MAY}, /* int, char */
      {"!tbaa !0", "!tbaa !6", ALIAS_MAY}, /* int, S::int */
      {"!tbaa !0", "!tbaa !9", ALIAS_NO},  /* int, S::float */
      {"!tbaa !6", "!tbaa !9", ALIAS_NO},  /* two members */
      {"!tbaa !0", "!noalias !23", ALIAS_MAY},
      {"!alias.scope !23", "!noalias !23", ALIAS_NO},
      {"!alias.scope !23", "!noalias !24", ALIAS_NO},
      {"!alias.scope !24", "!noalias !23", ALIAS_MAY},
      {"!alias.scope !25", "!noalias !23", ALIAS_MAY},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    snprintf(
        text, sizeof text,
        "define void @f(%s) {\n  %%x = load i32, ptr %%p, %s\n  %%y = load float, ptr %%q, %s\n"
        "  ret void\n}\n",
        two, cases[k].a, cases[k].b);
    assert_int_equal(ask(text), cases[k].answer);
    snprintf(text, sizeof text,
             "define void @f(%s) {\n  %%r = getelementptr i8, ptr %%p, i64 2\n  %%x = load i32, "
             "ptr %%p, %s\n"
             "  %%y = load float, ptr %s, %s\n  ret void\n}\n",
             two, cases[k].a, k % 2 ? "%p" : "%r", cases[k].b);
    assert_int_equal(ask(text), k % 2 ? ALIAS_MUST : ALIAS_PARTIAL); /* the addresses count first */
  }
}

static void effects(void **state) {
  (void)state;
  enum { BOTH = EFFECT_READS | EFFECT_WRITES };
#define THEN(load, rest) "  %x = load i32, " load "\n" rest "\n  ret void\n}\n"
#define BARRIER "  call void @llvm.nvvm.barrier0()"
  assert_int_equal(does(DEVICE("ptr %p") THEN("ptr %p", BARRIER)), BOTH);
  assert_int_equal(does(DEVICE("") "  %a = alloca i32\n" THEN("ptr %a", BARRIER)), 0);
  assert_int_equal(does(DEVICE("ptr noalias %a") THEN("ptr %a", BARRIER)), BOTH);
  assert_int_equal(does(KERNEL("ptr noalias %a") THEN("ptr %a", BARRIER)), EFFECT_READS);
  assert_int_equal(does(KERNEL("ptr noalias %a") THEN("ptr %a", BARRIER "\n  store i32 0, ptr %a")),
                   BOTH);
  assert_int_equal(does(KERNEL("ptr %a") THEN("ptr %a", BARRIER)), BOTH);
  assert_int_equal(does(KERNEL("ptr noalias readonly %a") THEN("ptr %a", BARRIER)), EFFECT_READS);
  assert_int_equal(does(DEVICE("") THEN("ptr addrspace(4) @c", BARRIER)), EFFECT_READS);
  assert_int_equal(does(DEVICE("ptr %p") THEN("ptr %p, !invariant.load !30", BARRIER)),
                   EFFECT_READS);
  assert_int_equal(does(DEVICE("ptr %p") THEN(
                       "ptr %p", "  store atomic i32 0, ptr addrspace(3) @s release, align 4")),
                   BOTH);
  assert_int_equal(does(KERNEL("ptr %p") THEN(
                       "ptr %p", "  store atomic i32 0, ptr addrspace(3) @s monotonic, align 4")),
                   0);
  assert_int_equal(does(DEVICE("ptr %p") THEN("ptr %p", "  %v = load volatile i32, ptr %p")), BOTH);
  assert_int_equal(does(DEVICE("ptr %p") THEN("ptr %p", "  %v = load i32, ptr %p")), EFFECT_READS);
  assert_int_equal(does(DEVICE("ptr %p") THEN("ptr %p", "  call void @opaque(ptr null)")), BOTH);
  assert_int_equal(does(DEVICE("ptr %p") THEN("ptr %p", "  call void @reader(ptr %p)")),
                   EFFECT_READS);
  assert_int_equal(
      does(DEVICE("ptr %p") "  %a = alloca i32\n" THEN("ptr %p", "  call void @reader(ptr %a)")),
      0);
  assert_int_equal(
      does(DEVICE("ptr noalias %p, ptr noalias %q")
               THEN("ptr %p", "  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 8, i1 0)")),
      EFFECT_READS);
  assert_int_equal(does(DEVICE("ptr %q") "  %a = alloca i32\n" THEN(
                       "ptr %a", "  call void asm sideeffect \"nop;\", \"\"()")),
                   0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spaces),   cmocka_unit_test(objects), cmocka_unit_test(bytes),
      cmocka_unit_test(metadata), cmocka_unit_test(effects),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
