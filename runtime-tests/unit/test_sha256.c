/* SHA-256: published examples, and padding at every length of a block. */
#include "driver/sha256.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void expect(const char *text, const char *digits) {
  char found[SHA256_DIGITS + 1];
  struct sha256 s = sha256_start();
  sha256_add(&s, text, strlen(text));
  sha256_finish(&s, found);
  assert_string_equal(found, digits);
}

static void published_examples(void **state) {
  (void)state;
  expect("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* The sums of n letters 'a' for n from 0 to 199, added one after another as text: their sum, which
 * Python's hashlib computed. */
static void every_length_of_padding(void **state) {
  (void)state;
  char letters[200], digits[SHA256_DIGITS + 1];
  memset(letters, 'a', sizeof letters);
  struct sha256 all = sha256_start();
  for (size_t n = 0; n < sizeof letters; n++) {
    struct sha256 s = sha256_start();
    sha256_add(&s, letters, n / 3);
    sha256_add(&s, letters, n - n / 3);
    sha256_finish(&s, digits);
    sha256_add(&all, digits, SHA256_DIGITS);
  }
  sha256_finish(&all, digits);
  assert_string_equal(digits, "019f2b9f1af27a53a1f046da7e98af2c179f431e4b5bebb000e74040917a4123");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_examples),
      cmocka_unit_test(every_length_of_padding),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
