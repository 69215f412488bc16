/* What the references of algorithms/ and ops/ share: `reference KERNEL` reads the lists that the
   kernel's launch prints from the standard input, one a line, and prints what those that the kernel
   wrote should be. A kernel that it doesn't know: status 2. See c_references.py. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 u128;
typedef __int128 i128;

enum { MAX_ELEMENTS = 512, MAX_LISTS = 3 };

/* A list as it was printed: its numbers as integers (those above 2^63 wrap) and as doubles. */
struct list {
  int count;
  int64_t i[MAX_ELEMENTS];
  double f[MAX_ELEMENTS];
};

/* Computes a kernel's results from its lists and puts them. */
typedef void reference_function(const struct list *in);

struct reference {
  const char *kernel;
  reference_function *compute;
  int lists; /* how many it reads; those after them are the kernel's results */
};

static inline void put(int64_t x) { printf("%lld ", (long long)x); }
static inline void put_unsigned(uint64_t x) { printf("%llu ", (unsigned long long)x); }
static inline void put_float(double x) { printf("%.17g ", x); }
static inline void next_list(void) { printf("\n"); }

/* x to the nearest number of `precision` bits and exponents from `lowest` to `highest`, ties to
 * even. */
static inline double rounded(int precision, int lowest, int highest, double x) {
  if (x == 0 || !isfinite(x)) return x;
  int e = ilogb(x) < lowest ? lowest : ilogb(x);
  double y = ldexp(nearbyint(ldexp(x, precision - 1 - e)), e - precision + 1);
  return precision < 53 && fabs(y) >= ldexp(1, highest + 1) ? copysign(INFINITY, x) : y;
}

static inline double half(double x) { return rounded(11, -14, 15, x); }

static inline void read_list(struct list *list) {
  int c = getchar();
  for (list->count = 0; c != '\n' && c != EOF; c = getchar()) {
    char word[64];
    size_t n = 0;
    for (; c != ' ' && c != '\n' && c != EOF && n < sizeof word - 1; c = getchar())
      word[n++] = (char)c;
    word[n] = 0;
    if (n && list->count < MAX_ELEMENTS) {
      list->i[list->count] = (int64_t)strtoull(word, NULL, 10);
      list->f[list->count++] = strtod(word, NULL);
    }
    if (c == '\n' || c == EOF) break;
  }
}

static inline int reference_main(int count, char **words, const struct reference *table,
                                 size_t size) {
  static struct list in[MAX_LISTS];
  for (size_t k = 0; count == 2 && k < size; k++)
    if (!strcmp(table[k].kernel, words[1])) {
      for (int j = 0; j < table[k].lists; j++) read_list(&in[j]);
      table[k].compute(in);
      next_list();
      return 0;
    }
  return 2;
}

#endif
