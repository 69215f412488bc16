/* Knobs: every row is sound, values are taken within their range, all else is refused and leaves
 * the knobs as they were. */
#include "support/knobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char message[256];

static enum nvm_status set(struct knobs *k, const char *text) {
  struct arena arena;
  struct textbuf b;
  enum knob knob;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&b, &arena);
  enum nvm_status status = knobs_set(k, text, &knob, &b);
  snprintf(message, sizeof message, "%.*s", (int)b.length, b.length ? b.bytes : "");
  arena_free(&arena);
  return status;
}

static void rows_are_sound(void **state) {
  (void)state;
  struct knobs k = knobs_initial();
  for (int i = 0; i < KNOB_COUNT; i++) {
    const struct knob_row *row = knobs_row((enum knob)i);
    char text[128];
    assert_true(row->min < row->max);
    assert_true(row->min <= row->initial && row->initial <= row->max);
    assert_int_equal(k.value[i], row->initial);
    for (int j = 0; j < i; j++) assert_string_not_equal(row->name, knobs_row((enum knob)j)->name);
    snprintf(text, sizeof text, "%s=%d", row->name, (int)row->max);
    assert_int_equal(set(&k, text), NVM_OK);
    assert_int_equal(k.value[i], row->max);
    snprintf(text, sizeof text, "%s=%d", row->name, (int)row->max + 1);
    assert_int_equal(set(&k, text), NVM_REFUSED);
    snprintf(text, sizeof text, "%s=%d", row->name, (int)row->min - 1);
    assert_int_equal(set(&k, text), NVM_REFUSED);
    assert_int_equal(k.value[i], row->max);
  }
}

static void wrong_texts_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"",
                                      "=",
                                      "=1",
                                      "nvptx",
                                      "nvptx-fma-level",
                                      "nvptx-fma-level=",
                                      "nvptx-fma-level=x",
                                      "nvptx-fma-level=1x",
                                      "nvptx-fma-level=-",
                                      "nvptx-fma-level= 1",
                                      "nvptx-fma-level=99999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct knobs k = knobs_initial(), before = k;
    assert_int_equal(set(&k, wrong[i]), NVM_REFUSED);
    assert_memory_equal(&k, &before, sizeof k);
    assert_true(message[0] != '\0');
  }
}

static void messages_say_what_was_meant(void **state) {
  (void)state;
  struct knobs k = knobs_initial();
  set(&k, "nvptx-fma-levle=1");
  assert_string_equal(message, "unknown knob 'nvptx-fma-levle'; did you mean 'nvptx-fma-level'?");
  set(&k, "xyzzy=1");
  assert_string_equal(message, "unknown knob 'xyzzy'");
  set(&k, "nvptx-prec-divf32=4");
  assert_string_equal(message, "knob 'nvptx-prec-divf32': '4' is not a number from 0 to 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_sound),
      cmocka_unit_test(wrong_texts_are_refused),
      cmocka_unit_test(messages_say_what_was_meant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
