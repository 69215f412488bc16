/* See nearest.h. */
#include "support/nearest.h"

enum { LONGEST = 95 };

unsigned nearest_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  unsigned row[LONGEST + 1];
  if (a_length > LONGEST) a_length = LONGEST;
  if (b_length > LONGEST) b_length = LONGEST;
  for (unsigned j = 0; j <= b_length; j++) row[j] = j;
  for (unsigned i = 1; i <= a_length; i++) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= b_length; j++) {
      unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
      unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = replace < other ? replace : other;
    }
  }
  return row[b_length];
}
