/* See nearest.h. */
#include "support/nearest.h"

enum { LONGEST = 95 };

/* Only cells within `limit` of the diagonal can be at most `limit`: the others count as limit + 1
 * and are not computed. */
static unsigned banded_distance(const char *a, unsigned a_length, const char *b, unsigned b_length,
                                unsigned limit) {
  unsigned row[LONGEST + 1], far = limit + 1;
  for (unsigned j = 0; j <= b_length; j++) row[j] = j < far ? j : far;
  for (unsigned i = 1; i <= a_length; i++) {
    unsigned first = i > limit ? i - limit : 1;
    unsigned last = i + limit < b_length ? i + limit : b_length;
    unsigned diagonal = row[first - 1], least = row[first - 1] = first == 1 && i < far ? i : far;
    for (unsigned j = first; j <= last; j++) {
      unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
      unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = replace < other ? replace : other;
      if (row[j] < least) least = row[j];
    }
    if (least > limit) return far;
  }
  return row[b_length] < far ? row[b_length] : far;
}

unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length,
                          unsigned limit) {
  size_t apart = a_length > b_length ? a_length - b_length : b_length - a_length;
  if (a_length > LONGEST || b_length > LONGEST || apart > limit) return limit + 1;
  while (a_length && b_length && *a == *b) a++, b++, a_length--, b_length--;
  while (a_length && b_length && a[a_length - 1] == b[b_length - 1]) a_length--, b_length--;
  return banded_distance(a, (unsigned)a_length, b, (unsigned)b_length, limit);
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
