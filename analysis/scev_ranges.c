/* Ranges and trailing zeros of forms; see scev.h. */
#include "analysis/scev_internal.h"

uint32_t scev_trailing_zeros(const struct scev_env *e, struct scev a) {
  uint32_t zeros = a.constant ? (uint32_t)__builtin_ctzll((uint64_t)a.constant) : a.width;
  for (uint32_t k = 0; k < a.count; k++) {
    uint32_t z = (uint32_t)__builtin_ctzll((uint64_t)a.terms[k].coefficient);
    if (!value_is_none(a.terms[k].symbol))
      z += known_bits_trailing_zeros(known_bits_of(e->f, a.terms[k].symbol));
    if (z < zeros) zeros = z;
  }
  return zeros < a.width ? zeros : a.width - 1;
}

struct range scev_range_plus(struct range x, int64_t by) {
  return range_both(
      range_binary(OP_ADD, 0, x, scev_number_range(x.width, by)),
      range_binary(OP_SUB, 0, x, scev_number_range(x.width, (int64_t)(0 - (uint64_t)by))));
}

/* An interval of unbounded numbers. */
struct span {
  nvm_i128 low, high;
};

static void add_scaled(struct span *sum, struct range r, bool is_signed, int64_t factor) {
  nvm_i128 low = scev_range_end(r, is_signed, factor < 0) * factor,
           high = scev_range_end(r, is_signed, factor >= 0) * factor;
  sum->low += low;
  sum->high += high;
}

static struct range cut(struct range all, struct span s, bool is_signed) {
  nvm_i128 low = scev_range_end(all, is_signed, false), high = scev_range_end(all, is_signed, true);
  low = s.low > low ? s.low : low;
  high = s.high < high ? s.high : high;
  if (low > high) return all; /* always poison */
  return is_signed ? range_signed(all.width, (int64_t)low, (int64_t)high)
                   : range_unsigned(all.width, (uint64_t)low, (uint64_t)high);
}

struct range scev_range(const struct scev_env *e, struct scev a) {
  const int64_t large = INT64_C(1) << 48;
  struct range all = range_all(a.width), sum = scev_number_range(a.width, a.constant);
  struct span exact[2] = {{a.constant, a.constant}, {a.constant, a.constant}};
  bool holds[2] = {a.no_unsigned_wrap, a.no_signed_wrap};
  if (a.count == 0 && value_is_none(a.base)) return sum;
  if (!value_is_none(a.base)) return all;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct scev_term *t = &a.terms[k];
    bool lone = !t->loop && !value_is_none(t->symbol) && value_is_none(t->factor);
    struct range r = lone ? range_of(e->f, t->symbol) : range_all(0), part = r;
    if (r.width == 0 || r.width > a.width) part = all;
    else if (r.width < a.width)
      part = t->is_signed ? range_signed(a.width, r.least, r.most)
                          : range_unsigned(a.width, r.low, r.high);
    if (t->coefficient == 1)
      sum = a.count == 1 ? scev_range_plus(part, a.constant) : range_binary(OP_ADD, 0, sum, part);
    else if (t->coefficient == -1) sum = range_binary(OP_SUB, 0, sum, part);
    else
      sum = range_binary(OP_ADD, 0, sum,
                         range_binary(OP_MUL, 0, part, scev_number_range(a.width, t->coefficient)));
    for (int is_signed = 0; is_signed < 2; is_signed++) {
      holds[is_signed] &=
          r.width && r.width <= a.width && t->coefficient < large && t->coefficient > -large;
      if (holds[is_signed])
        add_scaled(&exact[is_signed], r, r.width < a.width ? t->is_signed : is_signed,
                   t->coefficient);
    }
  }
  for (int is_signed = 0; is_signed < 2; is_signed++)
    if (holds[is_signed]) sum = range_both(sum, cut(all, exact[is_signed], is_signed));
  return sum;
}
