/* What the lowering makes of IR that the verifier would refuse: a fault of nvmini, which is no
 * refusal of the input (exit status 70 of the command), and never text that is no PTX. */
#include "ptx_fixture.h"

#include "codegen/codegen.h"
#include "ir/function.h"
#include "frontend/parse.h"

enum { WELL_TYPED, ILL_TYPED_BRANCH, ILL_TYPED_SUM };

static const char text[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "define i32 @f(i32 %x, i64 %y, i1 %c) {\n"
    "entry:\n"
    "  %s = add i32 %x, %x\n"
    "  br i1 %c, label %a, label %b\n"
    "a:\n"
    "  ret i32 %s\n"
    "b:\n"
    "  ret i32 0\n"
    "}\n";

/* Puts an argument in place of the first operand of the first instruction of an op. */
static void put_argument(struct nvm_function *f, enum op op, uint32_t argument) {
  FOR_EACH_INST (f, f->entry, i)
    if (function_inst(f, i)->op == op) inst_set_operand(f, i, 0, value_of_arg(argument));
}

/* The status of the lowering, and its only message. */
static enum nvm_status lower(int kind, char *message, size_t room) {
  struct nvm_module *m = module_create(nvm_default_allocator, 0);
  struct nvm_target target = fixture_target("sm_90", NULL);
  struct knobs knobs = knobs_initial();
  struct codegen_options options = {.knobs = &knobs};
  struct arena arena;
  struct diag_sink sink;
  struct textbuf out;
  arena_init(&arena, nvm_default_allocator);
  diag_sink_init(&sink, &arena, 0);
  textbuf_init(&out, &arena);
  assert_int_equal(parse_module(m, text, strlen(text), "test", 0, &sink), NVM_OK);
  struct nvm_function *f = m->functions.data[m->functions.count - 1];
  if (kind == ILL_TYPED_BRANCH) put_argument(f, OP_CONDBR, 0);
  if (kind == ILL_TYPED_SUM) put_argument(f, OP_ADD, 1);
  enum nvm_status status = codegen_module(m, &target, &options, &sink, &out, NULL);
  assert_int_equal(sink.list.count, kind == WELL_TYPED ? 0 : 1);
  if (kind != WELL_TYPED) {
    struct nvm_text found = sink.list.data[0].message;
    assert_true(found.length < room);
    memcpy(message, found.bytes, found.length);
    message[found.length] = '\0';
  }
  arena_free(&arena);
  module_destroy(m);
  return status;
}

static void a_guard_is_a_predicate(void **state) {
  (void)state;
  char message[256];
  assert_int_equal(lower(ILL_TYPED_BRANCH, message, sizeof message), NVM_BUG);
  assert_non_null(strstr(message, "the guard is not a predicate"));
}

static void an_operand_has_the_type_of_the_instruction(void **state) {
  (void)state;
  char message[256];
  assert_int_equal(lower(ILL_TYPED_SUM, message, sizeof message), NVM_BUG);
  assert_non_null(strstr(message, "operand 2 has the wrong kind or type"));
}

static void good_code_is_lowered(void **state) {
  (void)state;
  assert_int_equal(lower(WELL_TYPED, NULL, 0), NVM_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_guard_is_a_predicate),
      cmocka_unit_test(an_operand_has_the_type_of_the_instruction),
      cmocka_unit_test(good_code_is_lowered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
