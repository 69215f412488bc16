/* ir/eval.h against definitions in exact arithmetic: integers of unlimited size made of sign and
 * limbs, in which an op is done first and only then cut to its width. Widths 1 to 8 exhaustively,
 * the others with edge values and random ones. Then casts, poison, and folding of constants. */
#include <math.h>

#include "ir_fixture.h"

#include "ir/eval.h"
#include "ir/evalfloat.h"

/* --- exact integers -----------------------------------------------------------------------------
 */

enum { LIMBS = 9 };
static int limbs_used = LIMBS; /* enough for products of the width in question */

struct exact {
  bool negative;
  uint32_t limb[LIMBS];
};

static struct exact exact_of(nvm_u128 v, uint32_t width, bool is_signed) {
  struct exact x = {false, {0}};
  if (width < 128) v &= ((nvm_u128)1 << width) - 1;
  x.negative = is_signed && (v >> (width - 1) & 1);
  if (x.negative) v = (width < 128 ? (nvm_u128)1 << width : 0) - v;
  for (int i = 0; i < 4; i++) x.limb[i] = (uint32_t)(v >> (32 * i));
  return x;
}

static int compare_magnitudes(const struct exact *a, const struct exact *b) {
  for (int i = limbs_used - 1; i >= 0; i--)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

static bool exact_is_zero(struct exact a) {
  struct exact zero = {false, {0}};
  return compare_magnitudes(&a, &zero) == 0;
}

static int exact_compare(struct exact a, struct exact b) {
  bool na = a.negative && !exact_is_zero(a), nb = b.negative && !exact_is_zero(b);
  if (na != nb) return na ? -1 : 1;
  return na ? compare_magnitudes(&b, &a) : compare_magnitudes(&a, &b);
}

static struct exact exact_add(struct exact a, struct exact b) {
  int64_t carry = 0;
  if (a.negative != b.negative && compare_magnitudes(&a, &b) < 0) {
    struct exact swap = a;
    a = b, b = swap;
  }
  for (int i = 0; i < limbs_used; i++) {
    carry +=
        a.negative == b.negative ? (int64_t)a.limb[i] + b.limb[i] : (int64_t)a.limb[i] - b.limb[i];
    a.limb[i] = (uint32_t)carry;
    carry = carry < 0 ? -1 : carry >> 32;
  }
  return a;
}

static struct exact exact_negate(struct exact a) {
  a.negative = !a.negative;
  return a;
}

static struct exact exact_mul(struct exact a, struct exact b) {
  struct exact r = {a.negative != b.negative, {0}};
  for (int i = 0; i < limbs_used; i++) {
    uint64_t carry = 0;
    for (int k = 0; i + k < limbs_used; k++) {
      carry += (uint64_t)a.limb[i] * b.limb[k] + r.limb[i + k];
      r.limb[i + k] = (uint32_t)carry;
      carry >>= 32;
    }
  }
  return r;
}

static void shift_in(struct exact *a, uint32_t bit) {
  for (int i = 0; i < limbs_used; i++) {
    uint32_t out = a->limb[i] >> 31;
    a->limb[i] = a->limb[i] << 1 | bit;
    bit = out;
  }
}

/* Long division, bit by bit; the quotient towards zero, the remainder with a's sign. */
static struct exact exact_divide(struct exact a, struct exact b, uint32_t width,
                                 struct exact *remainder) {
  struct exact q = {a.negative != b.negative, {0}}, r = {a.negative, {0}};
  for (uint32_t i = width + 1; i-- > 0;) {
    shift_in(&r, a.limb[i / 32] >> i % 32 & 1);
    bool goes = compare_magnitudes(&r, &b) >= 0;
    shift_in(&q, goes);
    if (!goes) continue;
    struct exact less = b;
    less.negative = !r.negative;
    r = exact_add(r, less);
    r.negative = a.negative;
  }
  *remainder = r;
  return q;
}

static struct exact power_of_two(uint32_t n) {
  struct exact x = {false, {0}};
  x.limb[n / 32] = UINT32_C(1) << n % 32;
  return x;
}

static bool fits(struct exact x, uint32_t width, bool is_signed) {
  struct exact zero = {false, {0}}, top = power_of_two(is_signed ? width - 1 : width);
  struct exact bottom = is_signed ? exact_negate(top) : zero;
  return exact_compare(x, bottom) >= 0 && exact_compare(x, top) < 0;
}

static nvm_u128 wrap(struct exact x, uint32_t width) {
  nvm_u128 v = 0;
  for (int i = 0; i < 4; i++) v |= (nvm_u128)x.limb[i] << (32 * i);
  if (x.negative) v = 0 - v;
  return width < 128 ? v & (((nvm_u128)1 << width) - 1) : v;
}

/* --- what an op is ------------------------------------------------------------------------------
 */

struct answer {
  bool known, poison;
  nvm_u128 bits;
};

static struct answer arithmetic(enum op op, uint16_t flags, uint32_t w, nvm_u128 a, nvm_u128 b) {
  struct exact r[2]; /* unsigned, signed */
  for (int s = 0; s < 2; s++) {
    struct exact x = exact_of(a, w, s), y = exact_of(b, w, s);
    if (op == OP_SHL) r[s] = exact_mul(x, power_of_two((uint32_t)b));
    else
      r[s] = op == OP_ADD   ? exact_add(x, y)
             : op == OP_SUB ? exact_add(x, exact_negate(y))
                            : exact_mul(x, y);
  }
  bool poison =
      ((flags & INST_NUW) && !fits(r[0], w, false)) || ((flags & INST_NSW) && !fits(r[1], w, true));
  return (struct answer){true, poison, wrap(r[0], w)};
}

static struct answer division(enum op op, uint16_t flags, uint32_t w, nvm_u128 a, nvm_u128 b) {
  bool is_signed = op == OP_SDIV || op == OP_SREM, quotient = op == OP_UDIV || op == OP_SDIV;
  struct exact x = exact_of(a, w, is_signed), y = exact_of(b, w, is_signed), rest;
  if (exact_is_zero(y)) return (struct answer){false, false, 0};
  struct exact q = exact_divide(x, y, w, &rest);
  if (!fits(q, w, is_signed)) return (struct answer){false, false, 0};
  bool poison = quotient && (flags & INST_EXACT) && !exact_is_zero(rest);
  return (struct answer){true, poison, wrap(quotient ? q : rest, w)};
}

static struct answer right_shift(enum op op, uint16_t flags, uint32_t w, nvm_u128 a, nvm_u128 b) {
  struct exact x = exact_of(a, w, op == OP_ASHR), rest, one = power_of_two(0);
  struct exact q = exact_divide(x, power_of_two((uint32_t)b), w, &rest);
  bool lost = !exact_is_zero(rest);
  if (lost && x.negative) q = exact_add(q, exact_negate(one)); /* down, not towards zero */
  return (struct answer){true, (flags & INST_EXACT) && lost, wrap(q, w)};
}

static struct answer bitwise(enum op op, uint16_t flags, uint32_t w, nvm_u128 a, nvm_u128 b) {
  struct answer r = {true, false, 0};
  for (uint32_t i = 0; i < w; i++) {
    int x = (int)(a >> i & 1), y = (int)(b >> i & 1);
    int bit = op == OP_AND ? x + y == 2 : op == OP_OR ? x + y >= 1 : x + y == 1;
    r.bits |= (nvm_u128)bit << i;
    if ((flags & INST_DISJOINT) && x + y == 2) r.poison = true;
  }
  return r;
}

static struct answer expected(enum op op, uint16_t flags, uint32_t w, nvm_u128 a, nvm_u128 b) {
  switch (op) {
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR:
      if (b >= w) return (struct answer){true, true, 0};
      return op == OP_SHL ? arithmetic(op, flags, w, a, b) : right_shift(op, flags, w, a, b);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return arithmetic(op, flags, w, a, b);
    case OP_AND:
    case OP_OR:
    case OP_XOR: return bitwise(op, flags, w, a, b);
    default: return division(op, flags, w, a, b);
  }
}

static void refuse(const char *what, uint32_t w, uint16_t flags, nvm_u128 a, nvm_u128 b) {
  fail_msg("%s i%u flags %x: %llx:%016llx, %llx:%016llx", what, w, flags,
           (unsigned long long)(a >> 64), (unsigned long long)a, (unsigned long long)(b >> 64),
           (unsigned long long)b);
}

static void check_lane(const struct nvm_module *m, enum op op, uint16_t flags, uint32_t aux,
                       struct nvm_type result, struct nvm_type type, nvm_u128 a, nvm_u128 b,
                       struct answer want) {
  struct eval_lane in[2] = {{a, false}, {b, false}}, out;
  bool known = eval_lane(m, op, flags, aux, result, type, in, &out);
  if (known != want.known || (known && out.poison != want.poison) ||
      (known && !want.poison && out.bits != want.bits))
    refuse(op_table[op].keyword, type_info(&m->types, type)->width, flags, a, b);
}

static uint16_t flags_of(enum op op) {
  uint32_t may = op_table[op].flags;
  return (uint16_t)((may & OPF_WRAP ? INST_NUW | INST_NSW : 0) |
                    (may & OPF_EXACT ? INST_EXACT : 0) | (may & OPF_DISJOINT ? INST_DISJOINT : 0) |
                    (may & OPF_NNEG ? INST_NNEG : 0));
}

static bool predicate_holds(enum icmp_predicate p, uint32_t w, nvm_u128 a, nvm_u128 b) {
  bool is_signed = p >= ICMP_SGT;
  int order = exact_compare(exact_of(a, w, is_signed), exact_of(b, w, is_signed));
  static const bool holds[ICMP_COUNT][3] = {
      /* less, equal, greater */
      [ICMP_EQ] = {0, 1, 0},  [ICMP_NE] = {1, 0, 1},  [ICMP_UGT] = {0, 0, 1},
      [ICMP_UGE] = {0, 1, 1}, [ICMP_ULT] = {1, 0, 0}, [ICMP_ULE] = {1, 1, 0},
      [ICMP_SGT] = {0, 0, 1}, [ICMP_SGE] = {0, 1, 1}, [ICMP_SLT] = {1, 0, 0},
      [ICMP_SLE] = {1, 1, 0}};
  return holds[p][order + 1];
}

static void check_pair(const struct nvm_module *m, struct nvm_type type, uint32_t w, nvm_u128 a,
                       nvm_u128 b) {
  for (enum op op = OP_FIRST_INT; op <= OP_LAST_INT; op++) {
    uint16_t all = flags_of(op);
    for (uint16_t flags = 0; flags <= all; flags++)
      if ((flags & ~all) == 0)
        check_lane(m, op, flags, 0, type, type, a, b, expected(op, flags, w, a, b));
  }
  bool differ = exact_of(a, w, true).negative != exact_of(b, w, true).negative;
  for (uint32_t p = 0; p < ICMP_COUNT; p++)
    for (int same = 0; same < 2; same++) {
      struct answer r = {true, same && differ, predicate_holds((enum icmp_predicate)p, w, a, b)};
      check_lane(m, OP_ICMP, same ? INST_SAMESIGN : 0, p, TYPE_I1, type, a, b, r);
    }
}

static void use_width(uint32_t w) { limbs_used = (int)(2 * w + 33) / 32; }

static void small_integers_exhaustively(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  for (uint32_t w = 1; w <= 8; w++) {
    struct nvm_type type = type_int(&m->types, w);
    use_width(w);
    for (uint32_t a = 0; a < 1u << w; a++)
      for (uint32_t b = 0; b < 1u << w; b++) check_pair(m, type, w, a, b);
  }
  module_destroy(m);
}

static uint64_t seed = 1;
static uint64_t next_random(void) {
  uint64_t x = seed += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

static const uint32_t wide_widths[] = {16, 24, 32, 33, 63, 64, 65, 100, 127, 128};
enum { WIDE = sizeof wide_widths / sizeof wide_widths[0] };

enum { MAX_EDGES = 40 };
static uint32_t edges_of(uint32_t w, nvm_u128 *edge) {
  uint32_t n = 0;
  nvm_u128 mask = eval_mask(w), top = (nvm_u128)1 << (w - 1);
  nvm_u128 root = (nvm_u128)1 << (w / 2);
  nvm_u128 some[] = {0,   1,       2,        3,        5,        7,        w - 1,
                     w,   w + 1,   root - 1, root,     root + 1, top - 2,  top - 1,
                     top, top + 1, top + 2,  mask / 3, mask - 2, mask - 1, mask};
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) edge[n++] = some[i] & mask;
  return n;
}

/* Any length, often sparse or dense. */
static nvm_u128 random_of(uint32_t w) {
  nvm_u128 v = (nvm_u128)next_random() << 64 | next_random();
  uint64_t r = next_random();
  if (r & 1) v &= (nvm_u128)next_random() << 64 | next_random();
  v >>= (r >> 8) % w;
  if (r & 2) v = 0 - v;
  return v & eval_mask(w);
}

static void wide_integers(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  for (uint32_t k = 0; k < WIDE; k++) {
    uint32_t w = wide_widths[k];
    struct nvm_type type = type_int(&m->types, w);
    nvm_u128 edge[MAX_EDGES];
    uint32_t n = edges_of(w, edge);
    use_width(w);
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t j = 0; j < n; j++) check_pair(m, type, w, edge[i], edge[j]);
    for (int i = 0; i < 1000; i++) {
      nvm_u128 a = random_of(w), b = random_of(w);
      check_pair(m, type, w, a, b);
      check_pair(m, type, w, a, next_random() % w); /* shifts */
      check_pair(m, type, w, edge[next_random() % n], b);
    }
  }
  module_destroy(m);
}

/* --- casts --------------------------------------------------------------------------------------
 */

static void check_int_casts(const struct nvm_module *m, struct nvm_type from, uint32_t w,
                            struct nvm_type to, uint32_t v, nvm_u128 a) {
  struct exact u = exact_of(a, w, false), s = exact_of(a, w, true);
  if (v < w)
    for (uint16_t flags = 0; flags < 4; flags++) {
      bool poison =
          ((flags & INST_NUW) && !fits(u, v, false)) || ((flags & INST_NSW) && !fits(s, v, true));
      check_lane(m, OP_TRUNC, flags, 0, to, from, a, 0, (struct answer){true, poison, wrap(u, v)});
    }
  if (v <= w) return;
  check_lane(m, OP_ZEXT, 0, 0, to, from, a, 0, (struct answer){true, false, wrap(u, v)});
  check_lane(m, OP_ZEXT, INST_NNEG, 0, to, from, a, 0,
             (struct answer){true, s.negative, wrap(u, v)});
  check_lane(m, OP_SEXT, 0, 0, to, from, a, 0, (struct answer){true, false, wrap(s, v)});
}

static void integer_casts(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  static const uint32_t widths[] = {1, 2, 7, 8, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128};
  enum { N = sizeof widths / sizeof widths[0] };
  limbs_used = LIMBS;
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++) {
      struct nvm_type from = type_int(&m->types, widths[i]), to = type_int(&m->types, widths[k]);
      nvm_u128 edge[MAX_EDGES];
      uint32_t n = edges_of(widths[i], edge);
      for (uint32_t e = 0; e < n; e++) check_int_casts(m, from, widths[i], to, widths[k], edge[e]);
      for (int r = 0; r < 50; r++)
        check_int_casts(m, from, widths[i], to, widths[k], random_of(widths[i]));
      for (uint32_t a = 0; widths[i] <= 16 && a < 1u << widths[i]; a++) /* all of them */
        check_int_casts(m, from, widths[i], to, widths[k], a);
    }
  module_destroy(m);
}

static double double_of(uint64_t b) {
  double f;
  memcpy(&f, &b, sizeof f);
  return f;
}
static uint64_t bits_of_double(double f) {
  uint64_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? UINT64_C(0x7ff8000000000000) : b;
}
static uint64_t bits_of_float(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return f != f ? 0x7fffffff : b;
}

/* An integer in the compiler's own 128 bits, and back. */
static void check_to_int(const struct nvm_module *m, struct nvm_type to, uint32_t w, double x) {
  double whole = trunc(x), two_to_w = ldexp(1, (int)w);
  bool fits_u = whole >= 0 && whole < two_to_w;
  bool fits_s = whole >= -two_to_w / 2 && whole < two_to_w / 2;
  nvm_u128 magnitude = fits_u || fits_s ? (nvm_u128)fabs(whole) : 0;
  nvm_u128 bits = (whole < 0 ? 0 - magnitude : magnitude) & eval_mask(w);
  uint64_t a = bits_of_double(x);
  check_lane(m, OP_FPTOUI, 0, 0, to, TYPE_DOUBLE, a, 0, (struct answer){true, !fits_u, bits});
  check_lane(m, OP_FPTOSI, 0, 0, to, TYPE_DOUBLE, a, 0, (struct answer){true, !fits_s, bits});
}

static void check_from_int(const struct nvm_module *m, struct nvm_type from, uint32_t w,
                           nvm_u128 a) {
  nvm_i128 s = eval_signed(a, w);
  bool negative = s < 0;
  check_lane(m, OP_UITOFP, 0, 0, TYPE_DOUBLE, from, a, 0,
             (struct answer){true, false, bits_of_double((double)a)});
  check_lane(m, OP_UITOFP, INST_NNEG, 0, TYPE_DOUBLE, from, a, 0,
             (struct answer){true, negative, bits_of_double((double)a)});
  check_lane(m, OP_SITOFP, 0, 0, TYPE_DOUBLE, from, a, 0,
             (struct answer){true, false, bits_of_double((double)s)});
  check_lane(m, OP_SITOFP, 0, 0, TYPE_FLOAT, from, a, 0,
             (struct answer){true, false, bits_of_float((float)s)});
  if (a <= UINT64_MAX) /* what compilers make of more for float depends on their library */
    check_lane(m, OP_UITOFP, 0, 0, TYPE_FLOAT, from, a, 0,
               (struct answer){true, false, bits_of_float((float)(uint64_t)a)});
}

static void casts_between_numbers(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  static const uint32_t widths[] = {1, 8, 16, 32, 33, 63, 64, 65, 100, 127, 128};
  for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
    uint32_t w = widths[k];
    struct nvm_type type = type_int(&m->types, w);
    nvm_u128 edge[MAX_EDGES];
    uint32_t n = edges_of(w, edge);
    for (uint32_t e = 0; e < n; e++) check_from_int(m, type, w, edge[e]);
    for (int r = 0; r < 3000; r++) check_from_int(m, type, w, random_of(w));
    for (uint32_t a = 0; w <= 16 && a < 1u << w; a++) check_from_int(m, type, w, a);
    static const int near[] = {-2, -1, 0, 1, 2};
    for (int e = -2; e <= 129; e++)
      for (int i = 0; i < 5; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
          uint64_t b = bits_of_double(ldexp(1, e)) + (uint64_t)(int64_t)near[i];
          check_to_int(m, type, w, sign * double_of(b));
          check_to_int(m, type, w, sign * (ldexp(1, e) + near[i] * 0.5));
        }
    double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1074, 1e300, -1e300};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
      check_to_int(m, type, w, special[i]);
  }
  module_destroy(m);
}

static void casts_between_formats(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = next_random();
    if (i & 1) bits = (bits & UINT64_C(0x800fffffffffffff)) | (872 + next_random() % 280) << 52;
    double x = double_of(bits);
    struct answer narrow = {true, false, bits_of_float((float)x)};
    check_lane(m, OP_FPTRUNC, 0, 0, TYPE_FLOAT, TYPE_DOUBLE, bits, 0, narrow);
    struct answer wide = {true, false, bits_of_double((double)(float)x)};
    check_lane(m, OP_FPEXT, 0, 0, TYPE_DOUBLE, TYPE_FLOAT, narrow.bits, 0, wide);
    check_lane(m, OP_BITCAST, 0, 0, TYPE_I64, TYPE_DOUBLE, bits, 0,
               (struct answer){true, false, bits});
    check_lane(m, OP_BITCAST, 0, 0, TYPE_BFLOAT, TYPE_I16, bits & 0xffff, 0,
               (struct answer){true, false, bits & 0xffff});
  }
  check_lane(m, OP_FPTRUNC, 0, 0, TYPE_HALF, TYPE_FLOAT, 0x477fefff, 0,
             (struct answer){true, false, 0x7bff}); /* just below where it overflows */
  check_lane(m, OP_FPTRUNC, 0, 0, TYPE_HALF, TYPE_FLOAT, 0x477ff000, 0,
             (struct answer){true, false, 0x7c00});
  check_lane(m, OP_BITCAST, 0, 0, TYPE_I32, TYPE_DOUBLE, 0, 0, (struct answer){false, false, 0});
  module_destroy(m);
}

/* --- floats -------------------------------------------------------------------------------------
 */

static void float_ops(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  double edge[] = {0.0,       -0.0,      1,
                   -1,        1.5,       3,
                   0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023,
                   INFINITY,  -INFINITY, NAN,
                   0x1p-600,  0x1p600,   1.0 / 3};
  enum { N = sizeof edge / sizeof edge[0] };
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++) {
      volatile double x = edge[i], y = edge[k];
      uint64_t a = bits_of_double(x), b = bits_of_double(y);
      double r[] = {x + y, x - y, x * y, x / y, fmod(x, y)};
      static const enum op op[] = {OP_FADD, OP_FSUB, OP_FMUL, OP_FDIV, OP_FREM};
      for (int o = 0; o < 5; o++)
        for (uint16_t flags = 0; flags <= 3; flags++) {
          bool nan = x != x || y != y || r[o] != r[o], inf = isinf(x) || isinf(y) || isinf(r[o]);
          struct answer want = {true, ((flags & 1) && nan) || ((flags & 2) && inf),
                                bits_of_double(r[o])};
          check_lane(m, op[o], (uint16_t)(flags * INST_NNAN), 0, TYPE_DOUBLE, TYPE_DOUBLE, a, b,
                     want);
        }
      bool unordered = x != x || y != y;
      bool holds[] = {false, x == y, x > y, x >= y, x < y, x <= y, x < y || x > y, !unordered};
      for (uint32_t p = 0; p < FCMP_COUNT; p++) { /* the second half: or unordered */
        bool want = p < FCMP_UNO ? holds[p] : unordered || holds[p - FCMP_UNO];
        check_lane(m, OP_FCMP, 0, p, TYPE_I1, TYPE_DOUBLE, a, b,
                   (struct answer){true, false, want});
        check_lane(m, OP_FCMP, INST_NNAN, p, TYPE_I1, TYPE_DOUBLE, a, b,
                   (struct answer){true, unordered, want});
        check_lane(m, OP_FCMP, INST_NINF, p, TYPE_I1, TYPE_DOUBLE, a, b,
                   (struct answer){true, isinf(x) || isinf(y), want});
      }
    }
  /* fneg turns the sign of anything, the bits of a NaN otherwise untouched. */
  check_lane(m, OP_FNEG, 0, 0, TYPE_FLOAT, TYPE_FLOAT, 0x7fc01234, 0,
             (struct answer){true, false, 0xffc01234});
  check_lane(m, OP_FNEG, 0, 0, TYPE_HALF, TYPE_HALF, 0x8000, 0, (struct answer){true, false, 0});
  check_lane(m, OP_FNEG, INST_NNAN, 0, TYPE_HALF, TYPE_HALF, 0x7e00, 0,
             (struct answer){true, true, 0});
  check_lane(m, OP_FPTRUNC, INST_NINF, 0, TYPE_HALF, TYPE_FLOAT, 0x47800000, 0,
             (struct answer){true, true, 0});
  check_lane(m, OP_FPEXT, INST_NNAN, 0, TYPE_DOUBLE, TYPE_FLOAT, 0x7fc00000, 0,
             (struct answer){true, true, 0});
  module_destroy(m);
}

/* --- poison -------------------------------------------------------------------------------------
 */

static void poison_spreads(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct eval_lane poison = {7, true}, five = {5, false}, zero = {0, false}, out;
  for (enum op op = OP_FIRST_INT; op <= OP_LAST_INT; op++) {
    struct eval_lane left[] = {poison, five}, right[] = {five, poison}, by_zero[] = {poison, zero};
    bool divides = op_table[op].flags & OPF_TRAPS;
    assert_true(eval_lane(m, op, 0, 0, TYPE_I32, TYPE_I32, left, &out) && out.poison);
    assert_int_equal(eval_lane(m, op, 0, 0, TYPE_I32, TYPE_I32, right, &out), !divides);
    assert_true(divides || out.poison);
    assert_int_equal(eval_lane(m, op, 0, 0, TYPE_I32, TYPE_I32, by_zero, &out), !divides);
  }
  for (enum op op = OP_FADD; op <= OP_FNEG; op++)
    assert_true(
        eval_lane(m, op, 0, 0, TYPE_FLOAT, TYPE_FLOAT, (struct eval_lane[]){poison, five}, &out) &&
        out.poison);
  assert_true(eval_lane(m, OP_ICMP, 0, ICMP_EQ, TYPE_I1, TYPE_I32,
                        (struct eval_lane[]){five, poison}, &out) &&
              out.poison);
  assert_true(eval_lane(m, OP_TRUNC, 0, 0, TYPE_I8, TYPE_I32, &poison, &out) && out.poison);
  assert_true(eval_lane(m, OP_BITCAST, 0, 0, TYPE_FLOAT, TYPE_I32, &poison, &out) && out.poison);
  assert_true(eval_lane(m, OP_FREEZE, 0, 0, TYPE_I32, TYPE_I32, &poison, &out) && !out.poison);
  assert_true(eval_lane(m, OP_FREEZE, 0, 0, TYPE_I32, TYPE_I32, &five, &out) && out.bits == 5);
  struct eval_lane yes = {1, false}, no = {0, false};
  struct eval_lane select_five[] = {yes, five, poison}, select_poison[] = {no, five, poison};
  struct eval_lane unknown[] = {poison, five, five};
  assert_true(eval_lane(m, OP_SELECT, 0, 0, TYPE_I32, TYPE_I1, select_five, &out) && !out.poison &&
              out.bits == 5);
  assert_true(eval_lane(m, OP_SELECT, 0, 0, TYPE_I32, TYPE_I1, select_poison, &out) && out.poison);
  assert_true(eval_lane(m, OP_SELECT, 0, 0, TYPE_I32, TYPE_I1, unknown, &out) && out.poison);
  struct eval_lane nan[] = {yes, {0x7fc00000, false}, five};
  assert_true(eval_lane(m, OP_SELECT, INST_NNAN, 0, TYPE_FLOAT, TYPE_I1, nan, &out) && out.poison);
  assert_false(eval_lane(m, OP_FREEZE, 0, 0, TYPE_PTR, TYPE_PTR, &five, &out));
  assert_false(eval_lane(m, OP_LOAD, 0, 0, TYPE_I32, TYPE_I32, &five, &out));
  module_destroy(m);
}

/* --- constants ----------------------------------------------------------------------------------
 */

static struct nvm_value i32(struct nvm_module *m, uint64_t v) { return const_int(m, TYPE_I32, v); }

static struct nvm_value pair_of(struct nvm_module *m, struct nvm_value a, struct nvm_value b) {
  struct nvm_type type = type_vector(&m->types, constant_info(&m->constants, a)->type, 2);
  return const_aggregate(m, type, (struct nvm_value[]){a, b}, 2);
}

#define FOLD(op, flags, aux, type, ...)                                 \
  eval_fold(m, op, flags, aux, type, (struct nvm_value[]){__VA_ARGS__}, \
            sizeof(struct nvm_value[]){__VA_ARGS__} / sizeof(struct nvm_value))

static void vectors_fold_lane_by_lane(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_type v2 = type_vector(&m->types, TYPE_I32, 2), b2 = type_vector(&m->types, TYPE_I1, 2);
  struct nvm_type f2 = type_vector(&m->types, TYPE_FLOAT, 2);
  struct nvm_value poison = const_poison(m, TYPE_I32), undef = const_undef(m, TYPE_I32);
  struct nvm_value a = pair_of(m, i32(m, 6), i32(m, 0xffffffff)),
                   b = pair_of(m, i32(m, 3), i32(m, 1));
  assert_true(value_equal(FOLD(OP_ADD, 0, 0, v2, a, b), pair_of(m, i32(m, 9), i32(m, 0))));
  assert_true(value_equal(FOLD(OP_ADD, INST_NUW, 0, v2, a, b), pair_of(m, i32(m, 9), poison)));
  assert_true(value_equal(FOLD(OP_SUB, 0, 0, v2, a, a), const_zero(m, v2)));
  assert_true(value_equal(FOLD(OP_MUL, 0, 0, v2, const_zero(m, v2), b), const_zero(m, v2)));
  assert_true(value_equal(FOLD(OP_ICMP, 0, ICMP_SGT, b2, a, b),
                          pair_of(m, const_int(m, TYPE_I1, 1), const_int(m, TYPE_I1, 0))));
  struct nvm_value half_undef = pair_of(m, undef, i32(m, 1)),
                   half_poison = pair_of(m, poison, i32(m, 1));
  assert_true(value_is_none(FOLD(OP_ADD, 0, 0, v2, half_undef, b)));
  assert_true(value_is_none(FOLD(OP_ADD, 0, 0, TYPE_I32, undef, i32(m, 1))));
  assert_true(value_equal(FOLD(OP_ADD, 0, 0, v2, half_poison, b), pair_of(m, poison, i32(m, 2))));
  assert_true(value_equal(FOLD(OP_ADD, 0, 0, v2, const_poison(m, v2), b), const_poison(m, v2)));
  assert_true(value_is_none(FOLD(OP_UDIV, 0, 0, v2, b, half_poison)));
  assert_true(value_is_none(FOLD(OP_UDIV, 0, 0, v2, b, pair_of(m, i32(m, 1), i32(m, 0)))));
  assert_true(
      value_equal(FOLD(OP_FREEZE, 0, 0, v2, half_poison), pair_of(m, i32(m, 0), i32(m, 1))));
  assert_true(value_is_none(FOLD(OP_FREEZE, 0, 0, v2, half_undef)));
  struct nvm_value ones = FOLD(OP_UITOFP, 0, 0, f2, pair_of(m, i32(m, 1), i32(m, 1)));
  assert_int_equal(constant_info(&m->constants, const_element(m, ones, 1))->bits, 0x3f800000);
  module_destroy(m);
}

static void selects_extracts_inserts(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_type v2 = type_vector(&m->types, TYPE_I32, 2),
                  v4 = type_vector(&m->types, TYPE_I32, 4);
  struct nvm_value yes = const_int(m, TYPE_I1, 1), no = const_int(m, TYPE_I1, 0);
  struct nvm_value poison = const_poison(m, TYPE_I32), undef = const_undef(m, TYPE_I32);
  struct nvm_value a = pair_of(m, i32(m, 6), i32(m, 7)), b = pair_of(m, i32(m, 8), undef);
  struct nvm_value g = module_add_global(m, module_str(m, "g"));
  assert_true(value_equal(FOLD(OP_SELECT, 0, 0, TYPE_PTR, yes, g, const_null(m, TYPE_PTR)), g));
  assert_true(value_equal(FOLD(OP_SELECT, 0, 0, v2, no, a, b), b));
  assert_true(value_equal(FOLD(OP_SELECT, 0, 0, v2, pair_of(m, yes, no), a, b),
                          pair_of(m, i32(m, 6), undef)));
  assert_true(
      value_equal(FOLD(OP_SELECT, 0, 0, v2, const_poison(m, TYPE_I1), a, b), const_poison(m, v2)));
  assert_true(value_is_none(FOLD(OP_SELECT, 0, 0, v2, const_undef(m, TYPE_I1), a, b)));
  assert_true(value_equal(FOLD(OP_EXTRACTELEMENT, 0, 0, TYPE_I32, a, i32(m, 1)), i32(m, 7)));
  assert_true(value_equal(FOLD(OP_EXTRACTELEMENT, 0, 0, TYPE_I32, b, i32(m, 1)), undef));
  assert_true(value_equal(FOLD(OP_EXTRACTELEMENT, 0, 0, TYPE_I32, a, i32(m, 2)), poison));
  assert_true(value_is_none(FOLD(OP_EXTRACTELEMENT, 0, 0, TYPE_I32, a, undef)));
  assert_true(value_equal(FOLD(OP_INSERTELEMENT, 0, 0, v2, b, i32(m, 7), i32(m, 1)),
                          pair_of(m, i32(m, 8), i32(m, 7))));
  assert_true(
      value_equal(FOLD(OP_INSERTELEMENT, 0, 0, v2, b, i32(m, 7), i32(m, 9)), const_poison(m, v2)));
  struct nvm_type members[] = {TYPE_I32, v2};
  struct nvm_type s = type_struct(&m->types, members, 2, false);
  struct nvm_value record = const_aggregate(m, s, (struct nvm_value[]){i32(m, 1), a}, 2);
  struct nvm_type array = type_array(&m->types, s, 3);
  struct nvm_value zeros = const_zero(m, array);
  struct nvm_value with = FOLD(OP_INSERTVALUE, 0, 0, array, zeros, i32(m, 4), i32(m, 2), i32(m, 0));
  assert_true(value_equal(FOLD(OP_EXTRACTVALUE, 0, 0, v2, record, i32(m, 1)), a));
  assert_true(
      value_equal(FOLD(OP_EXTRACTVALUE, 0, 0, TYPE_I32, with, i32(m, 2), i32(m, 0)), i32(m, 4)));
  assert_true(
      value_equal(FOLD(OP_EXTRACTVALUE, 0, 0, TYPE_I32, with, i32(m, 1), i32(m, 0)), i32(m, 0)));
  assert_true(
      value_equal(FOLD(OP_EXTRACTVALUE, 0, 0, v2, with, i32(m, 2), i32(m, 1)), const_zero(m, v2)));
  struct nvm_value order[] = {i32(m, 3), i32(m, 0), poison, i32(m, 1)};
  struct nvm_value shuffled[] = {undef, i32(m, 6), poison, i32(m, 7)};
  assert_true(value_equal(FOLD(OP_SHUFFLEVECTOR, 0, 0, v4, a, b, const_aggregate(m, v4, order, 4)),
                          const_aggregate(m, v4, shuffled, 4)));
  module_destroy(m);
}

static void bits_as_other_lanes(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_type h2 = type_vector(&m->types, TYPE_HALF, 2),
                  i8x4 = type_vector(&m->types, TYPE_I8, 4);
  struct nvm_value one = const_float(m, TYPE_HALF, 0x3c00), two = const_float(m, TYPE_HALF, 0x4000);
  struct nvm_value both = pair_of(m, one, two);
  assert_true(value_equal(FOLD(OP_BITCAST, 0, 0, TYPE_I32, both), i32(m, 0x40003c00)));
  assert_true(value_equal(FOLD(OP_BITCAST, 0, 0, h2, i32(m, 0x40003c00)), both));
  struct nvm_value bytes = FOLD(OP_BITCAST, 0, 0, i8x4, both);
  assert_true(value_equal(const_element(m, bytes, 1), const_int(m, TYPE_I8, 0x3c)));
  assert_true(value_equal(FOLD(OP_BITCAST, 0, 0, TYPE_FLOAT, const_zero(m, h2)),
                          const_zero(m, TYPE_FLOAT)));
  assert_true(value_is_none(FOLD(OP_BITCAST, 0, 0, TYPE_I32, const_undef(m, h2))));
  assert_true(value_equal(FOLD(OP_BITCAST, 0, 0, TYPE_I16, one), const_int(m, TYPE_I16, 0x3c00)));
  module_destroy(m);
}

static void what_is_no_number_is_left(void **unused) {
  (void)unused;
  struct nvm_module *m = new_module();
  struct nvm_value null = const_null(m, TYPE_PTR), g = module_add_global(m, module_str(m, "g"));
  assert_true(value_is_none(FOLD(OP_ICMP, 0, ICMP_EQ, TYPE_I1, null, null)));
  assert_true(value_is_none(FOLD(OP_PTRTOINT, 0, 0, TYPE_I64, null)));
  assert_true(value_is_none(FOLD(OP_FREEZE, 0, 0, TYPE_PTR, g)));
  assert_true(value_is_none(FOLD(OP_ADD, 0, 0, TYPE_I32, g, i32(m, 1))));
  struct nvm_value address = const_expr(m, OP_PTRTOINT, 0, TYPE_I32, &g, 1, 0);
  assert_true(value_is_none(FOLD(OP_ADD, 0, 0, TYPE_I32, address, i32(m, 1))));
  module_destroy(m);
}

/* --- many lanes at once -------------------------------------------------------------------------
 */

enum { ROW_EDGES = 8 };

/* eval_row() computes what eval_lane() does, or nothing. Returns whether it did. */
static bool row_agrees(struct nvm_module *m, enum op op, uint32_t aux, uint32_t bits,
                       uint32_t to_bits) {
  uint64_t mask = (uint64_t)eval_mask(bits), a[ROW_EDGES * ROW_EDGES], b[ROW_EDGES * ROW_EDGES],
           d[ROW_EDGES * ROW_EDGES];
  const uint64_t edges[ROW_EDGES] = {0,
                                     1,
                                     mask,
                                     mask >> 1,
                                     (mask >> 1) + 1,
                                     0x5a5a5a5a5a5a5a5a & mask,
                                     3 & mask,
                                     mask - (bits > 1)};
  struct nvm_type from = type_int(&m->types, bits), to = type_int(&m->types, to_bits);
  for (int i = 0; i < ROW_EDGES * ROW_EDGES; i++)
    a[i] = edges[i / ROW_EDGES], b[i] = edges[i % ROW_EDGES];
  if (!eval_row(op, 0, aux, bits, to_bits, a, b, d, ROW_EDGES * ROW_EDGES)) return false;
  for (int i = 0; i < ROW_EDGES * ROW_EDGES; i++) {
    struct eval_lane in[2] = {{a[i], false}, {b[i], false}}, out;
    assert_true(eval_lane(m, op, 0, aux, to, from, in, &out));
    assert_int_equal(d[i], (uint64_t)out.bits);
  }
  return true;
}

/* A row of one lane is done exactly where that is no poison, but for wide products. */
static void row_leaves_poison(struct nvm_module *m, enum op op, uint16_t flags, uint32_t bits,
                              uint32_t to_bits) {
  const uint64_t mask = (uint64_t)eval_mask(bits),
                 edges[] = {0, 1, 2, bits - 1, bits, mask >> 1, (mask >> 1) + 1, mask - 1, mask};
  struct nvm_type from = type_int(&m->types, bits), to = type_int(&m->types, to_bits);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
      struct eval_lane in[2] = {{edges[i] & mask, false}, {edges[k] & mask, false}}, out;
      uint64_t a = (uint64_t)in[0].bits, b = (uint64_t)in[1].bits, d;
      bool done = eval_row(op, flags, 0, bits, to_bits, &a, &b, &d, 1);
      assert_true(eval_lane(m, op, flags, 0, to, from, in, &out));
      if (done) assert_int_equal(d, (uint64_t)out.bits);
      if (done || op != OP_MUL || bits <= 32) assert_int_equal(done, !out.poison);
    }
}

static void rows_with_flags(void **state) {
  (void)state;
  static const uint32_t widths[] = {1, 7, 8, 13, 32, 33, 63};
  struct nvm_module *m = new_module();
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    for (uint16_t flags = 0; flags <= (INST_NUW | INST_NSW); flags++)
      for (int op = OP_ADD; op <= OP_MUL; op++)
        row_leaves_poison(m, (enum op)op, flags, widths[w], widths[w]);
    row_leaves_poison(m, OP_OR, INST_DISJOINT, widths[w], widths[w]);
    row_leaves_poison(m, OP_ICMP, INST_SAMESIGN, widths[w], 1);
    row_leaves_poison(m, OP_ZEXT, INST_NNEG, widths[w], 64);
    row_leaves_poison(m, OP_SHL, 0, widths[w], widths[w]);
    row_leaves_poison(m, OP_LSHR, 0, widths[w], widths[w]);
    row_leaves_poison(m, OP_ASHR, 0, widths[w], widths[w]);
  }
  module_destroy(m);
}

static void rows_of_lanes(void **state) {
  (void)state;
  static const uint32_t widths[] = {1, 7, 8, 13, 32, 33, 63, 64};
  struct nvm_module *m = new_module();
  int done = 0;
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    for (int op = OP_FIRST_INT; op <= OP_LAST_INT; op++)
      done += row_agrees(m, (enum op)op, 0, widths[w], widths[w]);
    for (uint32_t p = 0; p < ICMP_COUNT; p++) done += row_agrees(m, OP_ICMP, p, widths[w], 1);
    for (size_t v = 0; v < w; v++) {
      done += row_agrees(m, OP_TRUNC, 0, widths[w], widths[v]);
      done += row_agrees(m, OP_ZEXT, 0, widths[v], widths[w]) +
              row_agrees(m, OP_SEXT, 0, widths[v], widths[w]);
    }
  }
  assert_int_equal(done, 8 * (6 + 10) + 28 * 3);
  module_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_integers_exhaustively),
      cmocka_unit_test(wide_integers),
      cmocka_unit_test(rows_of_lanes),
      cmocka_unit_test(rows_with_flags),
      cmocka_unit_test(integer_casts),
      cmocka_unit_test(casts_between_numbers),
      cmocka_unit_test(casts_between_formats),
      cmocka_unit_test(float_ops),
      cmocka_unit_test(poison_spreads),
      cmocka_unit_test(vectors_fold_lane_by_lane),
      cmocka_unit_test(selects_extracts_inserts),
      cmocka_unit_test(bits_as_other_lanes),
      cmocka_unit_test(what_is_no_number_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
