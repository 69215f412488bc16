/* Response files, as gcc and LLVM's tools read them: @FILE stands for the words in FILE, separated
 * by white space; '...' and "..." keep white space, \ keeps the next character. A file can name
 * others. If FILE cannot be read, the word is kept as it is; so is everything after --. */
#include "driver/arguments.h"

#include <stdio.h>
#include <string.h>

#include "driver/files.h"

enum { MAX_DEPTH = 10 };

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Reads the word at *at into `word`, which has room for it, and moves *at behind it. */
static void read_word(const char **at, const char *end, char *word) {
  char quote = '\0';
  size_t length = 0;
  for (; *at < end && (quote != '\0' || !is_space(**at)); (*at)++) {
    char c = **at;
    if (c == '\\' && *at + 1 < end && quote != '\'') word[length++] = *++*at;
    else if (c == quote) quote = '\0';
    else if (quote == '\0' && (c == '\'' || c == '"')) quote = c;
    else word[length++] = c;
  }
  word[length] = '\0';
}

static bool add_word(struct arguments *a, char *word, int depth, bool *literal);

static bool add_words(struct arguments *a, const char *text, size_t length, int depth,
                      bool *literal) {
  for (const char *at = text, *end = text + length;;) {
    while (at < end && is_space(*at)) at++;
    if (at == end) return true;
    char *word = arena_alloc(&a->arena, (size_t)(end - at) + 1);
    if (word == NULL) return false;
    read_word(&at, end, word);
    if (!add_word(a, word, depth, literal)) return false;
  }
}

/* `literal`: a word -- was read. */
static bool add_word(struct arguments *a, char *word, int depth, bool *literal) {
  struct file_bytes file;
  struct file_error error;
  *literal |= strcmp(word, "--") == 0;
  bool named = !*literal && word[0] == '@' && word[1] != '\0' && strcmp(word, "@-") != 0;
  if (!named || !files_read(word + 1, &file, &error)) {
    if (named && error.id == DIAG_FILE_EMPTY) return true;
    return VEC_PUSH(&a->arena, &a->words, word);
  }
  bool ok = depth < MAX_DEPTH;
  if (!ok)
    fprintf(stderr, "nvmini: error: more than %d nested response files at '%s'\n", (int)MAX_DEPTH,
            word);
  ok = ok && add_words(a, file.bytes, file.length, depth + 1, literal);
  files_free(&file);
  return ok;
}

bool arguments_expand(struct arguments *a, int argc, char **argv) {
  bool literal = false;
  *a = (struct arguments){0};
  arena_init(&a->arena, nvm_default_allocator);
  for (int i = 0; i < argc; i++)
    if (!(i == 0 ? VEC_PUSH(&a->arena, &a->words, argv[i]) : add_word(a, argv[i], 0, &literal))) {
      if (a->arena.failed) fputs("nvmini: error: out of memory\n", stderr);
      return false;
    }
  return true;
}

void arguments_free(struct arguments *a) { arena_free(&a->arena); }
