/* Exact values of the mathematical functions, to compare implementations with. */
#ifndef MATH_REFERENCES_H
#define MATH_REFERENCES_H

#include <mpfr.h>
#include <stdbool.h>

/* What is known of one function; x are its floating-point arguments, n its integer argument. */
struct reference {
  const char *name; /* without __nv_ and the f of float: "sin" */
  /* Computes the results (at most two) to the precision of r; returns the integer result. */
  long (*exact)(mpfr_t *r, const mpfr_t *x, long n);
  /* The same nearly exact and fast: in double for functions of float, in long double for double. */
  long (*fast)(double *r, const double *x, long n);
  long (*fast_wide)(long double *r, const long double *x, long n);
  bool is_fast_exact; /* the fast results are the exact ones */
};

/* The reference with this name, or null. */
const struct reference *reference_find(const char *name);

#endif
