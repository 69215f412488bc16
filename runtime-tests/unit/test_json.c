/* The JSON writer: commas, indentation, escapes. */
#include "support/json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct arena arena;
static struct textbuf out;

static int set_up(void **state) {
  (void)state;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  arena_free(&arena);
  return 0;
}

static const char *text_written(void) {
  textbuf_char(&out, '\0');
  out.length = 0;
  return out.bytes;
}

static void write_sample(bool pretty) {
  struct json_writer w;
  json_begin(&w, &out, pretty);
  json_object(&w);
  json_key(&w, "name");
  json_puts(&w, "saxpy");
  json_key(&w, "list");
  json_array(&w);
  json_unsigned(&w, UINT64_MAX);
  json_unsigned(&w, 0);
  json_object(&w);
  json_object_end(&w);
  json_array_end(&w);
  json_key(&w, "none");
  json_array(&w);
  json_array_end(&w);
  json_key(&w, "yes");
  json_bool(&w, true);
  json_object_end(&w);
}

static void compact_has_no_spaces(void **state) {
  (void)state;
  write_sample(false);
  assert_string_equal(text_written(),
                      "{\"name\":\"saxpy\",\"list\":[18446744073709551615,0,{}],"
                      "\"none\":[],\"yes\":true}");
}

static void pretty_has_a_line_for_each_member(void **state) {
  (void)state;
  write_sample(true);
  assert_string_equal(text_written(),
                      "{\n"
                      "  \"name\": \"saxpy\",\n"
                      "  \"list\": [\n"
                      "    18446744073709551615,\n"
                      "    0,\n"
                      "    {}\n"
                      "  ],\n"
                      "  \"none\": [],\n"
                      "  \"yes\": true\n"
                      "}");
}

static const char *string(const char *bytes, size_t length) {
  struct json_writer w;
  json_begin(&w, &out, false);
  json_string(&w, (struct nvm_text){bytes, length});
  return text_written();
}

static void strings_are_escaped(void **state) {
  (void)state;
  assert_string_equal(string("a\"b\\c/\n\t\r\x01\x7f", 11),
                      "\"a\\\"b\\\\c/\\n\\t\\r\\u0001\\u007f\"");
  assert_string_equal(string("\0", 1), "\"\\u0000\"");
  assert_string_equal(string("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9),
                      "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}

/* A lone continuation, an overlong slash, a surrogate, a character cut short. */
static void bytes_that_are_no_utf8_are_replaced(void **state) {
  (void)state;
#define BAD "\xEF\xBF\xBD"
  assert_string_equal(string("\x80", 1), "\"" BAD "\"");
  assert_string_equal(string("\xC0\xAF", 2), "\"" BAD BAD "\"");
  assert_string_equal(string("\xED\xA0\x80", 3), "\"" BAD BAD BAD "\"");
  assert_string_equal(string("\xF5\x80\x80\x80", 4), "\"" BAD BAD BAD BAD "\"");
  assert_string_equal(string("x\xE2\x82", 3), "\"x" BAD BAD "\"");
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(compact_has_no_spaces),
      TEST(pretty_has_a_line_for_each_member),
      TEST(strings_are_escaped),
      TEST(bytes_that_are_no_utf8_are_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
