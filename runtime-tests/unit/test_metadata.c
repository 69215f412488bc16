/* ir/metadata.h and ir/attribute.h: items, nodes, attribute sets and lists. */
#include "ir_fixture.h"

static void items_are_interned(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct meta_table *t = &m->metadata;
  struct nvm_str s = module_str(m, "float");
  assert_int_equal(meta_string(t, s).index, meta_string(t, s).index);
  assert_int_not_equal(meta_string(t, s).index, meta_word(t, s).index);
  assert_int_equal(meta_int(t, 3, false).index, meta_int(t, 3, true).index);
  assert_int_not_equal(meta_int(t, UINT64_MAX, false).index, meta_int(t, UINT64_MAX, true).index);
  struct nvm_value one = const_int(m, TYPE_I32, 1), arg = value_of_arg(0);
  assert_int_not_equal(meta_value(t, arg, TYPE_I32).index, meta_value(t, arg, TYPE_I64).index);
  assert_int_equal(meta_value(t, one, TYPE_I32).index, meta_value(t, one, TYPE_I32).index);
  uint32_t handles[3000];
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < 3000; i++) {
      uint32_t index = meta_int(t, i + 10, false).index;
      if (round == 0) handles[i] = index;
      assert_int_equal(index, handles[i]);
    }
  module_destroy(m);
}

static void nodes_may_be_named_before_they_are_defined(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct meta_table *t = &m->metadata;
  uint32_t loop = meta_node_new(t);
  assert_false(t->nodes.data[loop].defined);
  struct nvm_meta self = meta_node(t, loop, false), text = meta_string(t, module_str(m, "x"));
  struct nvm_meta operands[] = {self, text};
  assert_true(meta_node_define(t, loop, (struct nvm_str){0}, true, NULL, operands, 2));
  const struct meta_node *n = meta_as_node(t, self);
  assert_true(n->defined && n->distinct && n->count == 2);
  assert_int_equal(meta_operand(t, n, 0).index, self.index);
  assert_null(meta_as_node(t, text));
  assert_int_not_equal(meta_node(t, loop, true).index, self.index);
  module_destroy(m);
}

static void fields_by_name(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct meta_table *t = &m->metadata;
  struct nvm_str keys[] = {module_str(m, "line"), module_str(m, "column")};
  struct nvm_meta values[] = {meta_int(t, 3, false), meta_int(t, 7, false)};
  uint32_t node = meta_node_new(t);
  meta_node_define(t, node, module_str(m, "DILocation"), false, keys, values, 2);
  /* The same content again, read from the pool that grows. */
  for (int i = 0; i < 1000; i++) {
    const struct meta_node *n = &t->nodes.data[node];
    uint32_t copy = meta_node_new(t);
    n = &t->nodes.data[node];
    meta_node_define(t, copy, n->name, false, t->keys.data + n->first, t->operands.data + n->first,
                     2);
    n = &t->nodes.data[copy];
    assert_int_equal(meta_field(t, n, keys[1]).index, values[1].index);
    assert_int_equal(meta_field(t, n, module_str(m, "scope")).index, 0);
  }
  module_destroy(m);
}

static void named_metadata_by_name(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_meta operand = meta_node(&m->metadata, meta_node_new(&m->metadata), false);
  meta_add_named(&m->metadata, module_str(m, "nvvm.annotations"), &operand, 1);
  const struct named_metadata *n = meta_find_named(&m->metadata, module_str(m, "nvvm.annotations"));
  assert_int_equal(m->metadata.operands.data[n->first].index, operand.index);
  assert_null(meta_find_named(&m->metadata, module_str(m, "llvm.ident")));
  module_destroy(m);
}

static void attribute_keywords_are_sorted(void **state) {
  (void)state;
  for (int id = 2; id < ATTR_ID_COUNT; id++)
    assert_true(strcmp(attr_table[id - 1].keyword, attr_table[id].keyword) < 0);
}

static struct nvm_attr flag(enum attr_id id) {
  return (struct nvm_attr){.id = (uint16_t)id, .payload = ATTR_FLAG};
}

static void sets_and_lists_are_interned(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct attr_table_data *t = &m->attributes;
  struct nvm_attr align = {.id = ATTR_ALIGN, .payload = ATTR_INT, .number = 16};
  struct nvm_attr text = {.payload = ATTR_STRING, .has_value = true, .str = module_str(m, "k")};
  struct nvm_attr two[] = {flag(ATTR_NOALIAS), align}, other[] = {align, flag(ATTR_NOALIAS)};
  struct nvm_attrset s = attrset_make(t, two, 2), none = {0};
  assert_int_equal(s.index, attrset_make(t, two, 2).index);
  assert_int_not_equal(s.index, attrset_make(t, other, 2).index);
  assert_int_equal(attrset_make(t, NULL, 0).index, 0);
  assert_int_equal(attrset_find(t, s, ATTR_ALIGN)->number, 16);
  assert_null(attrset_find(t, s, ATTR_BYVAL));
  struct nvm_attrset strings = attrset_make(t, &text, 1);
  assert_non_null(attrset_find_string(t, strings, module_str(m, "k")));
  assert_null(attrset_find_string(t, s, module_str(m, "k")));
  struct nvm_attrset parameters[] = {none, s, none};
  struct nvm_attrlist l = attrlist_make(t, none, none, parameters, 3);
  assert_int_equal(l.index, attrlist_make(t, none, none, parameters, 2).index);
  assert_int_equal(attrlist_parameter(t, l, 1).index, s.index);
  assert_int_equal(attrlist_parameter(t, l, 7).index, 0);
  assert_int_equal(attrlist_make(t, none, none, parameters, 1).index, 0);
  module_destroy(m);
}

static bool metadata_scenario(struct nvm_allocator allocator) {
  struct nvm_module *m = module_create(allocator, 0);
  if (!m) return false;
  for (uint32_t i = 1; i < 1000; i++) {
    struct nvm_meta item = meta_int(&m->metadata, i, false);
    uint32_t node = meta_node_new(&m->metadata);
    meta_node_define(&m->metadata, node, (struct nvm_str){0}, false, NULL, &item, 1);
    meta_add_named(&m->metadata, module_str(m, "n"), &item, 1);
    struct nvm_attr a = {.id = ATTR_ALIGN, .payload = ATTR_INT, .number = i};
    struct nvm_attrset s = attrset_make(&m->attributes, &a, 1);
    attrlist_make(&m->attributes, s, s, &s, 1);
  }
  bool done = !module_out_of_memory(m);
  module_destroy(m);
  return done;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(metadata_scenario);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_are_interned),
      cmocka_unit_test(nodes_may_be_named_before_they_are_defined),
      cmocka_unit_test(fields_by_name),
      cmocka_unit_test(named_metadata_by_name),
      cmocka_unit_test(attribute_keywords_are_sorted),
      cmocka_unit_test(sets_and_lists_are_interned),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
