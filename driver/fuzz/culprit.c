/* Which pass is to blame; see fuzz.h.
 *
 * nvmini is asked by `nvmini bisect`. A command with {bisect} takes a number of passes: how many
 * there are is in its lines `BISECT: running pass (N) ...`, as LLVM prints them for
 * -opt-bisect-limit=-1, and the smallest number with a wrong result is found by halving. */
#include "driver/fuzz/fuzz.h"

#include <stdlib.h>

static const char running[] = "BISECT: running pass (";

/* The text after `(N) ` in the line of pass n; n 0: *last becomes the largest number. */
static struct nvm_text find_line(struct nvm_text err, unsigned long n, unsigned long *last) {
  struct nvm_text found = {"", 0};
  const char *at = err.length ? err.bytes : "";
  *last = 0;
  while ((at = strstr(at, running)) != NULL) {
    at += sizeof running - 1;
    char *end;
    unsigned long number = strtoul(at, &end, 10);
    if (number > *last) *last = number;
    if (number != n || n == 0 || *end != ')') continue;
    const char *text = end + 1 + strspn(end + 1, " ");
    found = (struct nvm_text){text, strcspn(text, "\n")};
  }
  return found;
}

static bool is_bad(const struct fuzz_setup *s, const struct fuzz_case *c, uint32_t k, int64_t limit,
                   struct nvm_text right) {
  struct fuzz_result r = fuzz_try(s, c, k, limit, NULL);
  enum fuzz_kind kind = c->results[k].kind;
  if (kind > FUZZ_FOUND) return r.kind == kind;
  return r.kind <= FUZZ_FOUND && (r.output.length != right.length ||
                                  memcmp(r.output.bytes, right.bytes, right.length) != 0);
}

static struct nvm_text halve(const struct fuzz_setup *s, const struct fuzz_case *c, uint32_t k,
                             struct nvm_text right) {
  struct fuzz_process compilation;
  struct textbuf out;
  unsigned long last, low = 0, high;
  textbuf_init(&out, c->arena);
  fuzz_try(s, c, k, -1, &compilation);
  find_line(compilation.err, 0, &high);
  if (high == 0 || !is_bad(s, c, k, (int64_t)high, right)) return (struct nvm_text){"", 0};
  if (is_bad(s, c, k, 0, right)) return text_of("without passes");
  while (high - low > 1 && !fuzz_interrupted()) {
    unsigned long middle = low + (high - low) / 2;
    if (is_bad(s, c, k, (int64_t)middle, right)) high = middle;
    else low = middle;
  }
  struct nvm_text line = find_line(compilation.err, high, &last);
  textbuf_format(&out, "pass %U: %t", (uint64_t)high, line);
  return (struct nvm_text){out.bytes, out.length};
}

/* `nvmini bisect FILE OPTIONS`, with the options of the command. */
static struct nvm_text ask_bisect(const struct fuzz_setup *s, const struct fuzz_case *c,
                                  uint32_t k) {
  const char *words[FUZZ_MAX_WORDS + 8] = {s->self, "bisect", c->path};
  const char *at = s->compilers[k].command;
  uint32_t n = 3;
  at += strspn(at, " ");
  at += strcspn(at, " ");
  while (n < FUZZ_MAX_WORDS && *(at += strspn(at, " "))) {
    size_t length = strcspn(at, " ");
    const char *word = arena_copy(c->arena, at, length);
    bool output = word && strcmp(word, "-o") == 0;
    if (word && !output && strcmp(word, "{in}") != 0 && strcmp(word, "{out}") != 0)
      words[n++] = word;
    at += length;
  }
  if (!strstr(s->compilers[k].command, "fma")) {
    words[n++] = "--fma-level";
    words[n++] = "0";
  }
  words[n] = NULL;
  struct fuzz_process p = fuzz_run(words, 4 * s->seconds, c->arena);
  size_t length = 0;
  while (length < p.out.length && p.out.bytes[length] != '\n') length++;
  bool found = p.end == FUZZ_EXITED && p.code == EXIT_REFUSED;
  return (struct nvm_text){p.out.bytes, found ? length : 0};
}

struct nvm_text fuzz_find_pass(const struct fuzz_setup *s, const struct fuzz_case *c, uint32_t k,
                               struct nvm_text right) {
  if (s->compilers[k].is_ours) return ask_bisect(s, c, k);
  bool can = strstr(s->compilers[k].command, "{bisect}") != NULL;
  return can ? halve(s, c, k, right) : (struct nvm_text){"", 0};
}
