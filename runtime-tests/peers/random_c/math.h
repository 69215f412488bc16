/* Csmith includes it and uses fabs and fabsf, which csmith.h has. */
