/* opt/fingerprint.h: whatever the text of a function shows changes its fingerprint. */
#include "ir_fixture.h"

#include "ir/constant.h"
#include "ir/metadata.h"
#include "opt/fingerprint.h"

struct fixture {
  struct nvm_module *m;
  struct nvm_function *f;
  struct nvm_block entry, end;
  struct nvm_inst_id sum, branch;
};

/* f(i32 %0): entry adds 1 and branches to the end, which returns the sum. */
static void begin(struct fixture *x) {
  x->m = new_module();
  x->f = new_function(x->m, "f", TYPE_I32, &TYPE_I32, 1, true);
  x->entry = x->f->entry;
  x->end = function_add_block(x->f, (struct nvm_str){0});
  struct nvm_value operands[] = {value_make(VALUE_ARG, 0), const_int(x->m, TYPE_I32, 1)};
  x->sum = emit(x->f, x->entry, OP_ADD, TYPE_I32, 2, operands, 0);
  struct nvm_value to = value_of_block(x->end), result = value_of_inst(x->sum);
  x->branch = emit(x->f, x->entry, OP_BR, TYPE_VOID, 1, &to, 0);
  emit(x->f, x->end, OP_RET, TYPE_VOID, 1, &result, 0);
}

static void set_op(struct fixture *x) { function_inst(x->f, x->sum)->op = OP_SUB; }
static void set_flags(struct fixture *x) { function_inst(x->f, x->sum)->flags = INST_NSW; }
static void set_type(struct fixture *x) { function_inst(x->f, x->sum)->type = TYPE_I64; }
static void set_operand(struct fixture *x) {
  inst_set_operand(x->f, x->sum, 1, const_int(x->m, TYPE_I32, 2));
}
static void set_aux(struct fixture *x) { function_inst(x->f, x->sum)->aux = 1; }
static void set_name(struct fixture *x) {
  x->f->names.data[x->sum.index] = module_str(x->m, "sum");
}
static void set_location(struct fixture *x) {
  x->f->locations.data[x->sum.index] = meta_int(&x->m->metadata, 1, true);
}
static void attach(struct fixture *x) {
  module_attach(x->m, &x->f->attachments.data[x->sum.index], module_str(x->m, "range"),
                meta_int(&x->m->metadata, 1, true));
}
static void attach_to_function(struct fixture *x) {
  module_attach(x->m, &x->f->symbol.attachments, module_str(x->m, "dbg"),
                meta_int(&x->m->metadata, 1, true));
}
static void set_linkage(struct fixture *x) { x->f->symbol.linkage = LINK_INTERNAL; }
static void set_convention(struct fixture *x) { x->f->convention = CC_PTX_KERNEL; }
static void name_block(struct fixture *x) {
  function_block(x->f, x->end)->name = module_str(x->m, "end");
}
static void add_inst(struct fixture *x) {
  struct nvm_value one = const_int(x->m, TYPE_I32, 1), operands[] = {one, one};
  inst_insert_before(x->f, function_add_inst(x->f, OP_ADD, 0, TYPE_I32, operands, 2, 0), x->branch);
}

/* Each change alone, in a fresh function: the contents differ, blocks and edges do not. */
static void every_change_is_seen(void **state) {
  (void)state;
  static void (*const changes[])(struct fixture *) = {
      set_op, set_flags,          set_type,    set_operand,    set_aux,    set_name, set_location,
      attach, attach_to_function, set_linkage, set_convention, name_block, add_inst};
  for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
    struct fixture x;
    begin(&x);
    struct fingerprint before = fingerprint_of_function(x.f);
    assert_int_equal(fingerprint_of_function(x.f).content, before.content);
    changes[k](&x);
    struct fingerprint after = fingerprint_of_function(x.f);
    assert_int_not_equal(after.content, before.content);
    assert_int_equal(after.flow, before.flow);
    module_destroy(x.m);
  }
}

static void edges_are_seen(void **state) {
  (void)state;
  struct fixture x;
  begin(&x);
  struct fingerprint before = fingerprint_of_function(x.f);
  inst_set_operand(x.f, x.branch, 0, value_of_block(x.entry));
  assert_int_not_equal(fingerprint_of_function(x.f).flow, before.flow);
  module_destroy(x.m);
}

/* A pass may invert a condition and exchange the targets, which keeps the control flow. */
static void the_order_of_targets_is_content(void **state) {
  (void)state;
  struct fixture x;
  struct fingerprint prints[2];
  for (uint32_t k = 0; k < 2; k++) {
    begin(&x);
    struct nvm_value targets[] = {const_int(x.m, TYPE_I1, 1), value_of_block(k ? x.end : x.entry),
                                  value_of_block(k ? x.entry : x.end)};
    inst_remove(x.f, x.branch);
    emit(x.f, x.entry, OP_CONDBR, TYPE_VOID, 3, targets, 0);
    prints[k] = fingerprint_of_function(x.f);
    module_destroy(x.m);
  }
  assert_int_equal(prints[0].flow, prints[1].flow);
  assert_int_not_equal(prints[0].content, prints[1].content);
}

static void a_module_is_its_text(void **state) {
  (void)state;
  struct fixture x;
  struct arena text;
  struct fingerprint before, same, after;
  begin(&x);
  arena_init(&text, nvm_default_allocator);
  assert_int_equal(fingerprint_of_module(x.m, &text, &before), NVM_OK);
  assert_int_equal(fingerprint_of_module(x.m, &text, &same), NVM_OK);
  set_operand(&x);
  assert_int_equal(fingerprint_of_module(x.m, &text, &after), NVM_OK);
  assert_int_equal(same.content, before.content);
  assert_int_not_equal(after.content, before.content);
  arena_free(&text);
  module_destroy(x.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_change_is_seen),
      cmocka_unit_test(edges_are_seen),
      cmocka_unit_test(the_order_of_targets_is_content),
      cmocka_unit_test(a_module_is_its_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
