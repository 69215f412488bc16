/* See nearest.h. */
#include "support/nearest.h"

enum { LONGEST = 95 };

unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length,
                          unsigned limit) {
  unsigned row[LONGEST + 1];
  size_t apart = a_length > b_length ? a_length - b_length : b_length - a_length;
  if (a_length > LONGEST || b_length > LONGEST || apart > limit) return limit + 1;
  for (unsigned j = 0; j <= b_length; j++) row[j] = j;
  for (unsigned i = 1; i <= a_length; i++) {
    unsigned diagonal = row[0], least = row[0] = i;
    for (unsigned j = 1; j <= b_length; j++) {
      unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
      unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = replace < other ? replace : other;
      if (row[j] < least) least = row[j];
    }
    if (least > limit) return limit + 1;
  }
  return row[b_length] > limit ? limit + 1 : row[b_length];
}

struct nearest nearest_start(struct nvm_text word) {
  unsigned limit = word.length > LONGEST ? 0 : (unsigned)(word.length + 2) / 3;
  if (limit >= word.length) limit = word.length > 0 ? (unsigned)word.length - 1 : 0;
  return (struct nearest){.word = word, .limit = limit};
}

static bool precedes(struct nvm_text a, struct nvm_text b) {
  int order = memcmp(a.bytes, b.bytes, a.length < b.length ? a.length : b.length);
  return order < 0 || (order == 0 && a.length < b.length);
}

void nearest_offer(struct nearest *n, struct nvm_text name) {
  unsigned edits =
      nearest_distance(n->word.bytes, n->word.length, name.bytes, name.length, n->limit);
  if (edits > n->limit || name.length == 0) return;
  bool tie = n->best.bytes && edits == n->limit, first = !tie || precedes(name, n->best);
  if (!tie) n->also = (struct nvm_text){NULL, 0};
  else if (first) n->also = n->best;
  else if (!n->also.bytes || precedes(name, n->also)) n->also = name;
  if (first) n->best = name;
  n->limit = edits;
}

bool nearest_write(const struct nearest *n, struct textbuf *out) {
  if (!n->best.bytes) return false;
  textbuf_format(out, "did you mean '%t'", n->best);
  if (n->also.bytes) textbuf_format(out, " or '%t'", n->also);
  textbuf_char(out, '?');
  return true;
}
