/* Which result is taken as right, and the names of findings; see fuzz.h.
 *
 * Compilers whose programs print the same buffers are a group; the IR as written, executed as such,
 * is in one too. The largest group is right; of equally large ones that with the IR. Without IR, a
 * tie is undecided: the first group stands for what is right, and all are named. */
#include "driver/fuzz/fuzz.h"

#include <ctype.h>

static bool is_same(struct nvm_text a, struct nvm_text b) {
  return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

static bool ran(const struct fuzz_case *c, uint32_t k) {
  return c->results[k].kind == FUZZ_RAN || c->results[k].kind == FUZZ_FOUND;
}

/* ---- Differences ---- */

static struct nvm_text take_line(struct nvm_text *rest) {
  size_t length = 0;
  while (length < rest->length && rest->bytes[length] != '\n') length++;
  struct nvm_text line = {rest->bytes, length};
  size_t taken = length + (length < rest->length);
  rest->bytes += taken;
  rest->length -= taken;
  return line;
}

/* The number of the buffer that the n-th --print of the launch prints; n if there are fewer. */
static uint32_t buffer_of(const struct fuzz_case *c, uint32_t n) {
  uint32_t at = 0;
  for (uint32_t k = 0; c->launch[k] && c->launch[k + 1]; k++)
    if (strcmp(c->launch[k], "--print") == 0 && at++ == n)
      return (uint32_t)(c->launch[k + 1][0] - '0');
  return n;
}

struct line_place {
  struct nvm_text kernel;
  uint32_t print; /* number of the line of this kernel */
};

/* Follows the lines of an output: a kernel's name, or its next buffer. True for a buffer. */
static bool follow(struct line_place *p, struct nvm_text line) {
  if (line.length && line.bytes[line.length - 1] == ':') {
    *p = (struct line_place){{line.bytes, line.length - 1}, UINT32_MAX};
    return false;
  }
  p->print++;
  return true;
}

/* Whether a line is the name of a finding, not of a kernel, nor numbers. */
static bool is_word(struct nvm_text line) {
  bool is_number = line.length == 0 || !isalpha((unsigned char)line.bytes[0]) ||
                   strncmp(line.bytes, "nan", 3) == 0 || strncmp(line.bytes, "inf", 3) == 0;
  return !is_number && line.bytes[line.length - 1] != ':';
}

/* Names the buffers that differ, each once, or the finding at the end of one output. */
static void name_difference(struct textbuf *out, const struct fuzz_case *c, struct nvm_text right,
                            struct nvm_text other) {
  struct line_place place = {{"", 0}, UINT32_MAX};
  uint64_t buffers = 0;
  while (right.length || other.length) {
    struct nvm_text a = take_line(&right), b = take_line(&other);
    bool is_buffer = follow(&place, a.length ? a : b);
    if (is_same(a, b)) continue;
    if (is_word(b) || is_word(a)) {
      textbuf_format(out, "%t", is_word(b) ? b : a);
      return;
    }
    if (is_buffer) buffers |= UINT64_C(1) << (buffer_of(c, place.print) & 63);
  }
  textbuf_puts(out, "buffers");
  for (uint32_t k = 0; k < 64; k++)
    if (buffers >> k & 1) textbuf_format(out, " %u", k);
}

static struct nvm_text take_word(struct nvm_text *rest) {
  while (rest->length && rest->bytes[0] == ' ') rest->bytes++, rest->length--;
  size_t length = 0;
  while (length < rest->length && rest->bytes[length] != ' ') length++;
  struct nvm_text word = {rest->bytes, length};
  rest->bytes += length;
  rest->length -= length;
  return word;
}

void fuzz_print_difference(struct textbuf *out, const struct fuzz_case *c, struct nvm_text right,
                           struct nvm_text other) {
  struct line_place place = {{"", 0}, UINT32_MAX};
  while (right.length || other.length) {
    struct nvm_text a = take_line(&right), b = take_line(&other);
    follow(&place, a.length ? a : b);
    if (is_same(a, b)) continue;
    for (uint32_t n = 0; a.length || b.length; n++) {
      struct nvm_text x = take_word(&a), y = take_word(&b);
      if (is_same(x, y)) continue;
      textbuf_format(out, "%s%t%sbuffer %u, element %u: expected %t, found %t\n",
                     place.kernel.length ? "kernel " : "", place.kernel,
                     place.kernel.length ? ", " : "", buffer_of(c, place.print), n, x, y);
      return;
    }
  }
}

/* ---- Classes ---- */

/* A message without names and numbers, which differ from kernel to kernel. */
static void name_message(struct textbuf *out, struct nvm_text t) {
  enum { MOST = 80 };
  size_t begin = out->length;
  for (size_t k = 0; k < t.length && out->length - begin < MOST; k++) {
    char x = t.bytes[k];
    bool name = x == '%' || x == '@' || x == '/' || isdigit((unsigned char)x);
    if (!name) {
      textbuf_char(out, x);
      continue;
    }
    textbuf_char(out, '*');
    while (k + 1 < t.length &&
           (isalnum((unsigned char)t.bytes[k + 1]) || strchr("._/-", t.bytes[k + 1])))
      k++;
  }
}

/* `KIND NAME: what`, of the first compiler that is not right. */
static struct nvm_text class_of(const struct fuzz_setup *s, const struct fuzz_case *c,
                                const struct fuzz_verdict *v) {
  static const char *const kinds[] = {"wrong", "wrong", "garbage", "refuses", "crashes", "hangs"};
  struct textbuf out;
  uint32_t first = 0, names = 0;
  textbuf_init(&out, c->arena);
  while (first < s->count && !v->differs[first]) first++; /* the IR, if no compiler */
  enum fuzz_kind kind = c->results[first].kind;
  textbuf_puts(&out, v->is_decided ? kinds[kind] : "undecided");
  for (uint32_t k = 0; k < s->count + c->is_ir; k++)
    if (v->differs[k] && (c->results[k].kind == kind || (ran(c, k) && kind <= FUZZ_FOUND)))
      textbuf_format(&out, "%s%s", names++ ? "+" : " ", k < s->count ? s->compilers[k].name : "IR");
  textbuf_puts(&out, ": ");
  if (ran(c, first))
    name_difference(&out, c, c->results[v->right].output, c->results[first].output);
  else name_message(&out, c->results[first].message);
  return (struct nvm_text){out.bytes, out.length};
}

struct fuzz_verdict fuzz_vote(const struct fuzz_setup *s, const struct fuzz_case *c) {
  struct fuzz_verdict v = {.is_decided = true};
  uint32_t all = s->count + c->is_ir, best = 0, second = 0;
  if (c->is_invalid) return v;
  for (uint32_t k = all; k-- > 0;) { /* the IR first: it wins a tie */
    uint32_t votes = 0, j;
    for (j = 0; ran(c, k) && j < all; j++)
      votes += ran(c, j) && is_same(c->results[j].output, c->results[k].output);
    if (votes > best) {
      if (best && !is_same(c->results[k].output, c->results[v.right].output)) second = best;
      best = votes;
      v.right = k;
    } else if (votes && !is_same(c->results[k].output, c->results[v.right].output) &&
               votes > second)
      second = votes;
  }
  v.is_decided = best > second || c->is_ir;
  for (uint32_t k = 0; k < all; k++) {
    v.differs[k] = !ran(c, k) || !is_same(c->results[k].output, c->results[v.right].output);
    v.is_finding |= v.differs[k];
  }
  if (v.is_finding) v.kind = class_of(s, c, &v);
  return v;
}
