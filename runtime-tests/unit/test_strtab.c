/* support/strtab.h: equal bytes, equal handles; and support/diag.h, which stores texts. */
#include "ir_fixture.h"

static void equal_bytes_equal_handles(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct strtab *t = &m->strings;
  char name[16];
  uint32_t handles[5000];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 5000; i++) {
      int n = snprintf(name, sizeof name, "v%d", i);
      struct nvm_str s = strtab_intern(t, name, (size_t)n);
      if (round == 0) handles[i] = s.index;
      assert_int_equal(s.index, handles[i]);
      assert_string_equal(strtab_text(t, s).bytes, name);
    }
  module_destroy(m);
}

static void bytes_may_be_zero(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_str a = strtab_intern(&m->strings, "a\0b", 3);
  struct nvm_str b = strtab_intern(&m->strings, "a\0c", 3);
  assert_int_not_equal(a.index, b.index);
  assert_int_equal(strtab_text(&m->strings, a).length, 3);
  assert_int_equal(strtab_intern(&m->strings, "", 0).index, 0);
  assert_int_equal(strtab_find(&m->strings, "unknown", 7).index, 0);
  assert_int_equal(strtab_find(&m->strings, "a\0b", 3).index, a.index);
  module_destroy(m);
}

static void hash_is_the_same_everywhere(void **state) {
  (void)state;
  /* Written down once: a change of the function or a dependence on the machine shows here. */
  assert_int_equal(strtab_hash("nvmini", 6), 0x046aad8f);
  assert_int_equal(strtab_hash("a longer name.123", 17), 0xf52cb421);
  char text[] = "..nvmini..";
  for (int offset = 0; offset < 3; offset++)
    assert_int_equal(strtab_hash(text + 2, 6), strtab_hash("nvmini", 6));
  assert_int_not_equal(strtab_hash("a", 1), strtab_hash("a\0", 2));
}

static bool intern_scenario(struct nvm_allocator allocator) {
  struct arena a;
  arena_init(&a, allocator);
  struct strtab t;
  bool ok = strtab_init(&t, &a);
  for (uint32_t i = 0; ok && i < 3000; i++)
    ok = strtab_intern(&t, (const char *)&i, sizeof i).index != 0;
  assert_true(ok == !a.failed);
  arena_free(&a);
  return ok;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(intern_scenario);
}

static void diagnostics_have_names(void **state) {
  (void)state;
  assert_string_equal(diag_name(DIAG_TOO_MANY_ERRORS), "too-many-errors");
  for (int id = 0; id < DIAG_COUNT; id++) {
    assert_true(strlen(diag_name((enum diag_id)id)) > 0);
    assert_true(strlen(diag_meaning((enum diag_id)id)) > 0);
  }
}

static void sink_renders_and_stops_at_its_limit(void **state) {
  (void)state;
  struct arena a;
  arena_init(&a, nvm_default_allocator);
  struct diag_sink s;
  diag_sink_init(&s, &a, 2);
  struct diag_range range = {1, 10, 20};
  struct diag *d = diag_report_s(&s, DIAG_SYNTAX, range, "50% of %0", NULL, NULL);
  assert_memory_equal(d->message.bytes, "50% of %0", 9);
  assert_int_equal(d->range.end, 20);
  assert_false(diag_full(&s));
  assert_non_null(diag_report_s(&s, DIAG_SYNTAX, range, "b", NULL, NULL));
  assert_true(diag_full(&s));
  for (int i = 0; i < 3; i++) assert_null(diag_report_s(&s, DIAG_SYNTAX, range, "c", NULL, NULL));
  assert_int_equal(s.list.count, 3); /* two errors and one note that there were more */
  assert_int_equal(s.list.data[2].id, DIAG_TOO_MANY_ERRORS);
  arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_bytes_equal_handles),
      cmocka_unit_test(bytes_may_be_zero),
      cmocka_unit_test(hash_is_the_same_everywhere),
      cmocka_unit_test(out_of_memory_at_every_call),
      cmocka_unit_test(diagnostics_have_names),
      cmocka_unit_test(sink_renders_and_stops_at_its_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
