/* Linking in memory: every request for memory may fail, and what is left can be released; a link
 * that is refused leaves the module as it was. The rules are tested in check/link. */
#include "ir_fixture.h"

#include "frontend/link.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "nvmini.h"

static const char user[] =
    "%s = type { i32, i32 }\n"
    "@used = appending global [1 x ptr] [ptr @k]\n"
    "declare float @f(float)\n"
    "define ptx_kernel void @k(ptr %p) {\n"
    "  %x = load float, ptr %p\n  %y = call float @f(float %x)\n  store float %y, ptr %p\n"
    "  ret void\n}\n"
    "define internal void @g() {\n  ret void\n}\n";
static const char library[] =
    "%s = type { float }\n"
    "@used = appending global [1 x ptr] [ptr @f]\n"
    "@table = internal constant [2 x %s] [%s { float 1.0 }, %s { float 2.0 }]\n"
    "define float @f(float %x) #0 {\n"
    "  %t = load %s, ptr getelementptr (%s, ptr @table, i64 1), !range_like !1\n"
    "  %v = extractvalue %s %t, 0\n  call void @g()\n  %r = fadd fast float %v, %x\n"
    "  ret float %r\n}\n"
    "define internal void @g() {\n  ret void\n}\n"
    "attributes #0 = { \"unsafe-fp-math\"=\"true\" }\n"
    "!named = !{!0}\n!0 = !{!1}\n!1 = distinct !{!1, !\"text\"}\n";

static enum nvm_status parse(struct nvm_module *m, const char *text, struct diag_sink *sink) {
  return m ? parse_module(m, text, strlen(text), "test", 0, sink) : NVM_OUT_OF_MEMORY;
}

static bool link_once(struct nvm_allocator a, bool only_needed) {
  struct arena arena;
  struct diag_sink sink;
  arena_init(&arena, a);
  diag_sink_init(&sink, &arena, 0);
  struct nvm_module *into = module_create(a, 0), *from = module_create(a, 0);
  enum nvm_status s = parse(into, user, &sink);
  if (s == NVM_OK) s = parse(from, library, &sink);
  if (s == NVM_OK) s = link_modules(into, from, only_needed, &sink);
  if (s == NVM_OK) s = verify_module(into, &sink, 0);
  assert_true(s == NVM_OK || s == NVM_OUT_OF_MEMORY);
  module_destroy(into);
  module_destroy(from);
  arena_free(&arena);
  return s == NVM_OK;
}

static bool link_all(struct nvm_allocator a) { return link_once(a, false); }
static bool link_needed(struct nvm_allocator a) { return link_once(a, true); }

static void out_of_memory(void **state) {
  (void)state;
  fail_everywhere(link_all);
  fail_everywhere(link_needed);
}

static void refused_leaves_whole(void **state) {
  (void)state;
  struct arena arena;
  struct diag_sink sink;
  struct textbuf before, after;
  arena_init(&arena, nvm_default_allocator);
  diag_sink_init(&sink, &arena, 0);
  textbuf_init(&before, &arena);
  textbuf_init(&after, &arena);
  struct nvm_module *into = new_module(), *from = new_module();
  assert_int_equal(parse(into, user, &sink), NVM_OK);
  assert_int_equal(parse(from, "define void @k() {\n  ret void\n}\n@new = global i32 1\n", &sink),
                   NVM_OK);
  print_module(into, &before);
  assert_int_equal(link_modules(into, from, false, &sink), NVM_REFUSED);
  assert_int_equal(sink.list.data[0].id, DIAG_LINK_REDEFINED);
  assert_int_equal(sink.list.data[0].range.source, LINK_SOURCE_FROM);
  assert_int_equal(sink.list.data[0].range.begin, 12);
  assert_int_equal(sink.list.data[1].id, DIAG_FIRST_HERE);
  print_module(into, &after);
  assert_int_equal(before.length, after.length);
  assert_memory_equal(before.bytes, after.bytes, after.length);
  module_destroy(into);
  module_destroy(from);
  arena_free(&arena);
}

/* The public way: the other module may be gone before the result is used. */
static void through_the_api(void **state) {
  (void)state;
  struct nvmini_context *c = nvmini_create(NULL, 0);
  struct nvmini_module *into, *from;
  struct nvmini_text text;
  for (int all = 0; all < 2; all++) {
    assert_int_equal(nvmini_parse(c, user, strlen(user), "user", &into), NVMINI_OK);
    assert_int_equal(nvmini_parse(c, library, strlen(library), "library", &from), NVMINI_OK);
    enum nvmini_status s = all ? nvmini_link(into, from) : nvmini_link_library(into, from);
    assert_int_equal(s, NVMINI_OK);
    nvmini_release(from);
    assert_int_equal(nvmini_check(into), NVMINI_OK);
    assert_int_equal(nvmini_print(into, &text), NVMINI_OK);
    const char *head = all ? "define float @f(float %x)" : "define internal float @f(float %x)";
    assert_non_null(strstr(text.bytes, head));
    nvmini_release(into);
  }
  nvmini_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(out_of_memory),
      cmocka_unit_test(refused_leaves_whole),
      cmocka_unit_test(through_the_api),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
