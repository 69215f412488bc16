/* What one lane computes: the functions of PTX's instructions, some of which IR uses too.
 *
 * Integer operations are those of ir/evalint.h, floating-point ones those of ir/evalfloat.h, or of
 * the host where its results are the same. Each scalar_*() chooses by a decoded instruction; NULL:
 * not one of theirs. */
#ifndef NVM_SIM_PTX_SCALAR_H
#define NVM_SIM_PTX_SCALAR_H

#include "sim/ptx/decoder.h"

/* Of an operation on integers, on floats; d->in has its type and flags. */
lane_fn *scalar_int(const struct decoder *d, enum ptx_op op);
lane_fn *scalar_float(const struct decoder *d, enum ptx_op op);
/* Of the comparison of the modifiers, on operands of the type; of cvt. These set fields of d->in.
 */
lane_fn *scalar_compare(const struct decoder *d, uint16_t type);
lane_fn *scalar_convert(struct decoder *d);
/* Arithmetic, rounded to nearest, on the host; NULL: the host does not compute it. */
lane_fn *scalar_float_host(const struct sim *s, enum ptx_op op, enum float_format format);
lane_fn *scalar_convert_host(const struct sim *s, enum float_format to, enum float_format from);
/* From integers of bits2 bits, is_signed2. */
lane_fn *scalar_convert_host_from_int(const struct sim *s, enum float_format to);
/* The loop over the lanes with the function inlined, for frequent functions; NULL: none. */
inst_run *scalar_int_loop(lane_fn *fn);
inst_run *scalar_float_loop(lane_fn *fn);
inst_run *scalar_convert_loop(lane_fn *fn);

#define LANE(name) static uint64_t name(const struct inst *in, uint64_t a, uint64_t b, uint64_t c)
/* For functions that ignore some of their operands. */
#define UNUSED_OPERANDS (void)in, (void)a, (void)b, (void)c
/* A function that returns `result`. */
#define LANE_RESULT(name, result) \
  LANE(name) {                    \
    UNUSED_OPERANDS;              \
    return result;                \
  }
/* Defines name_loop, which does name in all lanes of the mask. */
#define SCALAR_LOOP(name)                                                               \
  static void name##_loop(struct warp *w, const struct inst *in, uint32_t mask) {       \
    uint64_t *d = row_of(w, in->d);                                                     \
    const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c); \
    if (mask == ALL_LANES)                                                              \
      for (unsigned l = 0; l < LANES; l++) d[l] = name(in, a[l], b[l], c[l]);           \
    else FOR_LANES(l, mask) d[l] = name(in, a[l], b[l], c[l]);                          \
  }
#define SCALAR_LOOP_CASE(name) \
  if (fn == name) return name##_loop;

#endif
