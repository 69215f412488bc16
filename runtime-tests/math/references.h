/* Exact values of the mathematical functions, to compare implementations with. */
#ifndef MATH_REFERENCES_H
#define MATH_REFERENCES_H

#include <mpfr.h>

/* What is known of one function; x are its floating-point arguments, n its integer argument. */
struct reference {
  const char *name; /* without __nv_ and the f of float: "sin" */
  /* Computes the results (at most two) to the precision of r; returns the integer result. */
  long (*exact)(mpfr_t *r, const mpfr_t *x, long n);
  /* Nearly exact and fast, or null: in double for functions of float, in long double for double. */
  double (*fast)(const double *x, long n);
  long double (*fast_wide)(const long double *x, long n);
};

/* The reference with this name, or null. */
const struct reference *reference_find(const char *name);

#endif
