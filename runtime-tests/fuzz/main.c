/* Runs a fuzz target without an engine:
 *
 *   fuzz_X FILE...                          each file once (AFL++ with @@, regressions)
 *   fuzz_X                                  standard input once (AFL++)
 *   fuzz_X --seconds N --dict F FILE...     each file, then mutations of them for N seconds
 *
 * The mutations are blind (no coverage): truncation, bit flips, deletions, copies within and
 * between files, words of the dictionary, extreme numbers. The seed is fixed, so that a run
 * repeats. When the target ends the process by a signal, the input in hand is written to the file
 * `fuzz-crash-input` (of sanitizers: ASAN_OPTIONS and UBSAN_OPTIONS with abort_on_error=1). */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUT = 1 << 16, MAX_WORDS = 2000 };

struct bytes {
  uint8_t *data;
  size_t size;
};

struct mutator {
  struct bytes *seeds;
  size_t seed_count;
  char *words[MAX_WORDS];
  size_t word_count;
  struct random random;
};

static struct bytes read_stream(FILE *in) {
  struct bytes b = {malloc(1 << 16), 0};
  size_t room = 1 << 16, n;
  while (b.data != NULL && (n = fread(b.data + b.size, 1, room - b.size, in)) > 0) {
    b.size += n;
    if (b.size == room) b.data = realloc(b.data, room *= 2);
  }
  if (b.data == NULL) exit(2);
  return b;
}

static struct bytes read_path(const char *path) {
  FILE *in = fopen(path, "rb");
  if (in == NULL) {
    perror(path);
    exit(2);
  }
  struct bytes b = read_stream(in);
  fclose(in);
  return b;
}

/* The quoted words of a libFuzzer dictionary; escapes are \" and \\ only. */
static void read_dictionary(struct mutator *m, const char *path) {
  struct bytes b = read_path(path);
  for (size_t at = 0; at < b.size && m->word_count < MAX_WORDS;) {
    size_t end = at;
    while (end < b.size && b.data[end] != '\n') end++;
    char *word = malloc(end - at + 1), *to = word;
    size_t i = at;
    while (i < end && b.data[i] != '"' && b.data[i] != '#') i++;
    for (i++; i < end && b.data[i] != '"'; i++) {
      if (b.data[i] == '\\' && i + 1 < end) i++;
      *to++ = (char)b.data[i];
    }
    *to = '\0';
    if (to > word) m->words[m->word_count++] = word;
    else free(word);
    at = end + 1;
  }
  free(b.data);
}

static size_t below(struct mutator *m, size_t n) { return random_below(&m->random, n); }

/* Replaces `old` bytes at `at` by `size` bytes of `with`, within MAX_INPUT. */
static void splice(struct bytes *b, size_t at, size_t old, const void *with, size_t size) {
  if (b->size - old + size > MAX_INPUT) return;
  memmove(b->data + at + size, b->data + at + old, b->size - at - old);
  memcpy(b->data + at, with, size);
  b->size = b->size - old + size;
}

static void mutate(struct mutator *m, struct bytes *b) {
  static const char *const numbers[] = {"0",
                                        "-1",
                                        "4294967295",
                                        "18446744073709551616",
                                        "128",
                                        "129",
                                        "9999999999999999999999999",
                                        "1000000",
                                        "0x7FF0000000000000"};
  size_t at = below(m, b->size), rest = b->size - at;
  size_t length = below(m, rest < 64 ? rest + 1 : 64);
  const struct bytes *other = &m->seeds[below(m, m->seed_count)];
  size_t from = below(m, other->size);
  size_t piece = below(m, other->size - from < 200 ? other->size - from + 1 : 200);
  uint8_t copy[64];
  const char *text;
  switch (below(m, 8)) {
    case 0:
      if (b->size > 0) b->data[at] ^= (uint8_t)(1u << below(m, 8));
      break;
    case 1: splice(b, at, length, "", 0); break;
    case 2:
      memcpy(copy, b->data + at, length);
      splice(b, below(m, b->size), 0, copy, length);
      break;
    case 3: splice(b, at, length, other->data + from, piece); break;
    case 4:
      text = numbers[below(m, 9)];
      splice(b, at, 0, text, strlen(text));
      break;
    case 5:
    case 6:
      if (m->word_count == 0) break;
      text = m->words[below(m, m->word_count)];
      splice(b, at, below(m, 2) * length, text, strlen(text));
      break;
    case 7:
      if (below(m, 16) == 0) b->size = at;
      break;
  }
}

static struct bytes in_hand;
static const int caught[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { CAUGHT = sizeof caught / sizeof *caught, STACK_BYTES = 1 << 16 };
static struct sigaction before[CAUGHT];

/* Writes the input, and lets the fault happen again as if it had not been caught. Writing every
 * input before it runs would take more time than most targets. */
static void keep_input(int number) {
  int file = open("fuzz-crash-input", O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (size_t at = 0; file >= 0 && at < in_hand.size;) {
    ssize_t count = write(file, in_hand.data + at, in_hand.size - at);
    if (count <= 0) break;
    at += (size_t)count;
  }
  for (int i = 0; i < CAUGHT; i++)
    if (caught[i] == number) sigaction(number, &before[i], NULL);
}

/* On a stack of their own: the target may have used up the other one. */
static void catch_signals(void) {
  static char memory[STACK_BYTES];
  stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  struct sigaction action = {.sa_handler = keep_input};
  action.sa_flags = SA_ONSTACK;
  sigaltstack(&stack, NULL);
  for (int i = 0; i < CAUGHT; i++) sigaction(caught[i], &action, &before[i]);
}

static void run_once(struct bytes b) {
  in_hand = b;
  LLVMFuzzerTestOneInput(b.data, b.size);
}

static void fuzz(struct mutator *m, double seconds) {
  struct bytes b = {malloc(MAX_INPUT), 0};
  if (b.data == NULL) exit(2);
  time_t end = time(NULL) + (time_t)seconds;
  unsigned long runs = 0;
  for (; time(NULL) < end; runs++) {
    const struct bytes *seed = &m->seeds[below(m, m->seed_count)];
    b.size = seed->size < MAX_INPUT ? seed->size : MAX_INPUT;
    memcpy(b.data, seed->data, b.size);
    for (size_t n = 1 + below(m, 6); n > 0; n--) mutate(m, &b);
    run_once(b);
  }
  printf("%lu inputs\n", runs);
  free(b.data);
}

int main(int argc, char **argv) {
  static struct mutator m = {.random = {1}};
  double seconds = 0;
  int at = 1;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--seconds") == 0) seconds = atof(argv[at + 1]);
    else if (strcmp(argv[at], "--dict") == 0) read_dictionary(&m, argv[at + 1]);
    else return 2;
  }
  remove("fuzz-crash-input");
  catch_signals();
  m.seeds = calloc((size_t)(argc - at) + 1, sizeof *m.seeds);
  if (m.seeds == NULL) return 2;
  if (at == argc) m.seeds[m.seed_count++] = read_stream(stdin);
  for (; at < argc; at++) m.seeds[m.seed_count++] = read_path(argv[at]);
  for (size_t i = 0; i < m.seed_count; i++) run_once(m.seeds[i]);
  if (seconds > 0) fuzz(&m, seconds);
  for (size_t i = 0; i < m.seed_count; i++) free(m.seeds[i].data);
  for (size_t i = 0; i < m.word_count; i++) free(m.words[i]);
  free(m.seeds);
  return 0;
}
