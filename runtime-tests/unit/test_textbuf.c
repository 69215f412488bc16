/* support/textbuf.h: what is appended is there, in order, wherever the buffer has to grow, and
 * nothing is written past its room. */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/textbuf.h"

enum { GUARD_BYTES = 32, MOST = 64 };

/* A buffer whose memory the test owns: `capacity` bytes, and known bytes after them. */
struct fixture {
  struct arena arena;
  struct textbuf b;
  char memory[MOST + GUARD_BYTES];
};

static void begin(struct fixture *x, size_t capacity) {
  arena_init(&x->arena, nvm_default_allocator);
  textbuf_init(&x->b, &x->arena);
  memset(x->memory, 0xA5, sizeof x->memory);
  x->b.bytes = x->memory;
  x->b.capacity = capacity;
}

/* The text is `expected`, and no byte after the room was written. If the buffer moved, that is the
 * room of the first memory, which the arena takes for a multiple of 16 bytes and, in the checking
 * build, fills with 0xDB. */
static void end(struct fixture *x, size_t capacity, const char *expected, size_t length) {
  bool moved = x->b.bytes != x->memory;
  capacity = moved ? (capacity + 15) / 16 * 16 : x->b.capacity;
  assert_int_equal(x->b.length, length);
  assert_memory_equal(x->b.bytes, expected, length);
  for (size_t k = capacity; k < sizeof x->memory; k++) {
    unsigned char byte = (unsigned char)x->memory[k];
    assert_true(byte == 0xA5 || (moved && byte == 0xDB));
  }
  arena_free(&x->arena);
}

static void numbers_stop_at_the_end_of_their_room(void **state) {
  (void)state;
  uint64_t value = UINT64_MAX;
  for (int digits = 20; digits > 0; digits--, value /= 10)
    for (size_t capacity = 0; capacity <= 24; capacity++) {
      struct fixture x;
      char expected[32];
      int length = snprintf(expected, sizeof expected, "-%" PRIu64, value);
      begin(&x, capacity);
      struct text_room r = room_char(&x.b, textbuf_open(&x.b), '-');
      textbuf_close(&x.b, room_unsigned(&x.b, r, value));
      end(&x, capacity, expected, (size_t)length);
    }
}

static void words_stop_at_the_end_of_their_room(void **state) {
  (void)state;
  static const char word[] = "abcdefghijklmnopqrstuvwxyz";
  for (size_t length = 0; length <= 26; length++)
    for (size_t capacity = 0; capacity <= 2 * length; capacity++) {
      struct fixture x;
      char expected[64];
      memcpy(expected, word, length);
      memcpy(expected + length, word, length);
      begin(&x, capacity);
      struct text_room r = room_word(&x.b, textbuf_open(&x.b), word, length);
      textbuf_close(&x.b, room_word(&x.b, r, word, length));
      end(&x, capacity, expected, 2 * length);
    }
}

static void hexadecimal_digits_stop_at_the_end_of_their_room(void **state) {
  (void)state;
  for (int digits = 1; digits <= 16; digits++)
    for (size_t capacity = 0; capacity <= 18; capacity++) {
      struct fixture x;
      begin(&x, capacity);
      textbuf_close(&x.b,
                    room_hex(&x.b, textbuf_open(&x.b), UINT64_C(0x0123456789ABCDEF), digits, true));
      end(&x, capacity, &"0123456789ABCDEF"[16 - digits], (size_t)digits);
    }
}

static void every_number_of_four_digits_is_right(void **state) {
  (void)state;
  struct arena arena;
  struct textbuf b;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&b, &arena);
  for (int n = -10000; n <= 10000; n++) {
    char expected[8];
    b.length = 0;
    textbuf_signed(&b, n);
    assert_int_equal(b.length, snprintf(expected, sizeof expected, "%d", n));
    assert_memory_equal(b.bytes, expected, b.length);
  }
  arena_free(&arena);
}

static void a_text_replaces_a_shorter_and_a_longer_one(void **state) {
  (void)state;
  struct fixture x;
  begin(&x, 10);
  textbuf_puts(&x.b, "head tail");
  assert_true(textbuf_replace(&x.b, 0, 4, text_of("longer head")));
  assert_true(textbuf_replace(&x.b, 12, 16, text_of("")));
  assert_true(textbuf_replace(&x.b, 0, 6, text_of("a")));
  end(&x, 10, "a head ", 7);
}

static void *refuse(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  (void)state;
  (void)memory;
  (void)old_bytes;
  (void)new_bytes;
  return NULL;
}

static void nothing_is_written_without_memory(void **state) {
  (void)state;
  struct arena arena;
  struct textbuf b;
  arena_init(&arena, (struct nvm_allocator){refuse, NULL});
  textbuf_init(&b, &arena);
  struct text_room r = room_word(&b, textbuf_open(&b), "word", 4);
  textbuf_close(&b, room_unsigned(&b, r, 12345));
  textbuf_zeros(&b, 5);
  assert_false(textbuf_replace(&b, 0, 0, text_of("x")));
  assert_int_equal(b.length, 0);
  assert_true(arena.failed);
}

#ifdef NVM_CHECKING
/* A child that writes one byte too many and appends again. */
static void the_checking_build_sees_what_follows_a_buffer(void **state) {
  (void)state;
  struct arena arena;
  struct textbuf b;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&b, &arena);
  textbuf_puts(&b, "text");
  pid_t child = fork();
  if (child == 0) {
    fclose(stderr);
    b.bytes[b.capacity] = 'x';
    textbuf_puts(&b, "more");
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  arena_free(&arena);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_stop_at_the_end_of_their_room),
      cmocka_unit_test(words_stop_at_the_end_of_their_room),
      cmocka_unit_test(hexadecimal_digits_stop_at_the_end_of_their_room),
      cmocka_unit_test(every_number_of_four_digits_is_right),
      cmocka_unit_test(a_text_replaces_a_shorter_and_a_longer_one),
      cmocka_unit_test(nothing_is_written_without_memory),
#ifdef NVM_CHECKING
      cmocka_unit_test(the_checking_build_sees_what_follows_a_buffer),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
