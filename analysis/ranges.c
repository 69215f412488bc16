/* Ranges of integers; see ranges.h.
 *
 * Interval arithmetic in unbounded (128-bit) numbers, once unsigned and once signed. A result
 * that fits the width is the answer. A result that does not fit wraps and is unknown or, if a
 * flag makes wrapping poison, is clamped to the width; amounts of shifts are clamped likewise.
 * Each interval narrows the other where one of them does not cross the sign. LLVM's
 * ConstantRange is one interval that may wrap; two that do not wrap are less precise for a few
 * sets, and need no case distinctions. */
#include "analysis/ranges.h"

#include "analysis/stated_range.h"
#include "ir/evalint.h"
#include "ir/intrinsic.h"

static int64_t most_signed(uint32_t width) { return (int64_t)(evalint_mask(width) >> 1); }

/* Narrows each interval by the other. */
static struct range settle(struct range r) {
  uint64_t top = (uint64_t)most_signed(r.width);
  if (r.low > top || r.high <= top) {
    int64_t a = evalint_sext(r.width, r.low), b = evalint_sext(r.width, r.high);
    r.least = a > r.least ? a : r.least;
    r.most = b < r.most ? b : r.most;
  }
  if (r.least >= 0 || r.most < 0) {
    uint64_t a = evalint_zext(r.width, (uint64_t)r.least),
             b = evalint_zext(r.width, (uint64_t)r.most);
    r.low = a > r.low ? a : r.low;
    r.high = b < r.high ? b : r.high;
  }
  return r;
}

struct range range_all(uint32_t width) {
  struct range none = {0, 0, 0, 0, 0};
  if (width == 0) return none;
  return (struct range){width, 0, evalint_mask(width), -most_signed(width) - 1, most_signed(width)};
}

struct range range_unsigned(uint32_t width, uint64_t low, uint64_t high) {
  struct range r = range_all(width);
  r.low = low;
  r.high = high;
  return settle(r);
}

struct range range_signed(uint32_t width, int64_t least, int64_t most) {
  struct range r = range_all(width);
  r.least = least;
  r.most = most;
  return settle(r);
}

struct range range_both(struct range a, struct range b) {
  if (a.width == 0 || b.width == 0) return a.width ? a : b;
  a.low = b.low > a.low ? b.low : a.low;
  a.high = b.high < a.high ? b.high : a.high;
  a.least = b.least > a.least ? b.least : a.least;
  a.most = b.most < a.most ? b.most : a.most;
  return range_is_empty(a) ? a : settle(a);
}

struct range range_either(struct range a, struct range b) {
  if (a.width == 0 || b.width == 0) return range_all(0);
  if (range_is_empty(a)) return b;
  if (range_is_empty(b)) return a;
  a.low = b.low < a.low ? b.low : a.low;
  a.high = b.high > a.high ? b.high : a.high;
  a.least = b.least < a.least ? b.least : a.least;
  a.most = b.most > a.most ? b.most : a.most;
  return a;
}

/* --- comparisons ------------------------------------------------------------------------------ */

struct range range_where(enum icmp_predicate p, struct range b) {
  struct range r = range_all(b.width);
  if (b.width == 0 || range_is_empty(b)) return r;
  switch (p) {
    case ICMP_EQ: return b;
    case ICMP_NE: /* only an end can be excluded */
      if (b.low != b.high) return r;
      if (b.low == 0) r.low++;
      if (b.high == r.high) r.high--;
      if (b.least == r.least) r.least++;
      if (b.most == r.most) r.most--;
      break;
    case ICMP_UGT: r.low = b.low + (b.low < r.high); break;
    case ICMP_UGE: r.low = b.low; break;
    case ICMP_ULT: r.high = b.high - (b.high > 0); break;
    case ICMP_ULE: r.high = b.high; break;
    case ICMP_SGT: r.least = b.least + (b.least < r.most); break;
    case ICMP_SGE: r.least = b.least; break;
    case ICMP_SLT: r.most = b.most - (b.most > r.least); break;
    case ICMP_SLE: r.most = b.most; break;
    case ICMP_COUNT: break;
  }
  return range_is_empty(r) ? r : settle(r);
}

int range_compare(enum icmp_predicate p, struct range a, struct range b) {
  if (a.width == 0 || b.width == 0 || range_is_empty(a) || range_is_empty(b)) return -1;
  bool apart = a.high < b.low || b.high < a.low || a.most < b.least || b.most < a.least;
  bool same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (p) {
    case ICMP_EQ: return same ? 1 : apart ? 0 : -1;
    case ICMP_NE: return same ? 0 : apart ? 1 : -1;
    case ICMP_UGT: return a.low > b.high ? 1 : a.high <= b.low ? 0 : -1;
    case ICMP_UGE: return a.low >= b.high ? 1 : a.high < b.low ? 0 : -1;
    case ICMP_ULT: return a.high < b.low ? 1 : a.low >= b.high ? 0 : -1;
    case ICMP_ULE: return a.high <= b.low ? 1 : a.low > b.high ? 0 : -1;
    case ICMP_SGT: return a.least > b.most ? 1 : a.most <= b.least ? 0 : -1;
    case ICMP_SGE: return a.least >= b.most ? 1 : a.most < b.least ? 0 : -1;
    case ICMP_SLT: return a.most < b.least ? 1 : a.least >= b.most ? 0 : -1;
    case ICMP_SLE: return a.most <= b.least ? 1 : a.least > b.most ? 0 : -1;
    case ICMP_COUNT: break;
  }
  return -1;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

/* An interval of unbounded numbers, unsigned or signed. */
struct span {
  nvm_i128 low, high;
};

static struct span span_of(struct range r, bool is_signed) {
  if (is_signed) return (struct span){r.least, r.most};
  return (struct span){r.low, r.high};
}

/* The interval of op applied to the ends. */
static struct span corners(nvm_i128 (*op)(nvm_i128, nvm_i128), struct span a, struct span b) {
  nvm_i128 v[] = {op(a.low, b.low), op(a.low, b.high), op(a.high, b.low), op(a.high, b.high)};
  struct span s = {v[0], v[0]};
  for (int k = 1; k < 4; k++) {
    s.low = v[k] < s.low ? v[k] : s.low;
    s.high = v[k] > s.high ? v[k] : s.high;
  }
  return s;
}
static nvm_i128 times(nvm_i128 a, nvm_i128 b) { return a * b; }
static nvm_i128 divided(nvm_i128 a, nvm_i128 b) { return a / b; }
static nvm_i128 shifted_left(nvm_i128 a, nvm_i128 b) { return a * ((nvm_i128)1 << b); }
static nvm_i128 shifted_right(nvm_i128 a, nvm_i128 b) { return a >> b; }

/* The smallest 2^k - 1 that is at least n. */
static nvm_i128 filled(nvm_i128 n) {
  return n <= 0 ? 0 : (nvm_i128)(~UINT64_C(0) >> __builtin_clzll((uint64_t)n));
}

static nvm_i128 smaller(nvm_i128 a, nvm_i128 b) { return a < b ? a : b; }
static nvm_i128 larger(nvm_i128 a, nvm_i128 b) { return a > b ? a : b; }

static struct span remainder_of(struct span a, struct span b) {
  nvm_i128 most = larger(b.high, -b.low) - 1;
  if (b.low > 0 && a.low >= 0 && a.high < b.low) return a;
  return (struct span){a.low < 0 ? larger(a.low, -most) : 0,
                       a.high > 0 ? smaller(a.high, most) : 0};
}

/* Divisors of 0 have no quotient; false if there is no other. */
static bool quotient_of(struct span a, struct span b, struct span *out) {
  if (b.low == 0) b.low = 1;
  if (b.high == 0) b.high = -1;
  if (b.low > b.high) return false;
  nvm_i128 most = larger(larger(a.low, -a.low), larger(a.high, -a.high));
  *out = b.low < 0 && b.high > 0 ? (struct span){-most, most} : corners(divided, a, b);
  return true;
}

/* *out is the interval of `op` on unbounded numbers; false if unknown. */
static bool compute(enum op op, bool is_signed, uint32_t width, struct span a, struct span b,
                    struct span *out) {
  const nvm_i128 large = (nvm_i128)1 << 63;
  if (op == OP_SHL || op == OP_LSHR || op == OP_ASHR) { /* other amounts give poison */
    b = (struct span){larger(b.low, 0), smaller(b.high, (nvm_i128)width - 1)};
    if (b.low > b.high) return false;
  }
  switch (op) {
    case OP_ADD: *out = (struct span){a.low + b.low, a.high + b.high}; return true;
    case OP_SUB: *out = (struct span){a.low - b.high, a.high - b.low}; return true;
    case OP_MUL: /* within 127 bits */
      if (a.high >= large || b.high >= large) return false;
      *out = corners(times, a, b);
      return true;
    case OP_SHL:
      if (a.high >= large) return false;
      *out = corners(shifted_left, a, b);
      return true;
    case OP_UDIV:
    case OP_SDIV:
      if (is_signed != (op == OP_SDIV)) return false;
      return quotient_of(a, b, out);
    case OP_UREM:
    case OP_SREM:
      if (is_signed != (op == OP_SREM)) return false;
      *out = remainder_of(a, b);
      return true;
    case OP_LSHR:
    case OP_ASHR:
      if (is_signed != (op == OP_ASHR)) return false;
      *out = corners(shifted_right, a, b);
      return true;
    case OP_AND: *out = (struct span){0, smaller(a.high, b.high)}; return !is_signed;
    case OP_OR:
      *out = (struct span){larger(a.low, b.low), filled(larger(a.high, b.high))};
      return !is_signed;
    case OP_XOR: *out = (struct span){0, filled(larger(a.high, b.high))}; return !is_signed;
    default: return false;
  }
}

static bool lies_within(struct span s, struct span all) {
  return s.low >= all.low && s.high <= all.high;
}

bool range_divides_in(uint32_t width, struct range a, struct range b) {
  struct range all = range_all(width);
  bool fits = a.least >= all.least && a.most <= all.most && b.least >= all.least &&
              b.most <= all.most && !range_is_empty(a) && !range_is_empty(b);
  return fits && (a.least > all.least || b.least > -1 || b.most < -1);
}

struct range range_binary(enum op op, uint16_t flags, struct range a, struct range b) {
  struct range r = range_all(a.width);
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    struct span s, all = span_of(r, is_signed);
    if (!compute(op, is_signed, a.width, span_of(a, is_signed), span_of(b, is_signed), &s))
      continue;
    if (!lies_within(s, all) && !(flags & (is_signed ? INST_NSW : INST_NUW))) continue;
    s.low = larger(s.low, all.low);
    s.high = smaller(s.high, all.high);
    if (s.low > s.high) continue; /* always poison */
    if (is_signed) r.least = (int64_t)s.low, r.most = (int64_t)s.high;
    else r.low = (uint64_t)s.low, r.high = (uint64_t)s.high;
  }
  return settle(r);
}

uint16_t range_no_wrap(enum op op, struct range a, struct range b) {
  struct span s;
  uint16_t flags = 0;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL && op != OP_SHL) return 0;
  /* Where the amount may make the result poison, a flag says nothing more. */
  if (op == OP_SHL && b.high >= a.width) return 0;
  struct range all = range_all(a.width);
  for (int is_signed = 0; is_signed < 2; is_signed++)
    if (compute(op, is_signed, a.width, span_of(a, is_signed), span_of(b, is_signed), &s) &&
        lies_within(s, span_of(all, is_signed)))
      flags |= is_signed ? INST_NSW : INST_NUW;
  return flags;
}

/* --- instructions ----------------------------------------------------------------------------- */

static struct range convert(enum op op, struct range a, uint32_t width) {
  if (op == OP_ZEXT) return range_unsigned(width, a.low, a.high);
  if (op == OP_SEXT) return range_signed(width, a.least, a.most);
  struct range r = range_all(width);
  if (a.high <= r.high) r.low = a.low, r.high = a.high;
  if (a.least >= r.least && a.most <= r.most) r.least = a.least, r.most = a.most;
  return settle(r);
}

struct range range_of_bits(struct known_bits k) {
  return k.width ? range_unsigned(k.width, known_bits_least(k), known_bits_most(k)) : range_all(0);
}

static struct range call(const struct nvm_function *f, const struct nvm_inst *i, uint32_t width,
                         range_of_operand *of, void *state) {
  struct range r = range_all(width);
  uint32_t id = call_intrinsic(f, i);
  bool is_signed = id == INTRINSIC_smin || id == INTRINSIC_smax;
  bool minimum = id == INTRINSIC_smin || id == INTRINSIC_umin;
  if (is_signed || minimum || id == INTRINSIC_umax) {
    struct range x = of(state, inst_operand(f, i, 0)), y = of(state, inst_operand(f, i, 1));
    struct span a = span_of(x, is_signed), b = span_of(y, is_signed);
    nvm_i128 low = minimum ? smaller(a.low, b.low) : larger(a.low, b.low);
    nvm_i128 high = minimum ? smaller(a.high, b.high) : larger(a.high, b.high);
    if (x.width == 0 || range_is_empty(x) || range_is_empty(y)) return r;
    r = range_either(x, y);
    return range_both(r, is_signed ? range_signed(width, (int64_t)low, (int64_t)high)
                                   : range_unsigned(width, (uint64_t)low, (uint64_t)high));
  }
  if (id == INTRINSIC_ctpop || id == INTRINSIC_ctlz || id == INTRINSIC_cttz)
    return range_unsigned(width, 0, width);
  struct register_limits l = known_bits_register_limits(id);
  return width == 32 ? range_unsigned(width, l.least, l.most) : r;
}

static uint32_t width_of(const struct nvm_function *f, struct nvm_type t) {
  const struct type_info *info = type_info(&f->module->types, t);
  return info->kind == TY_INT && info->width <= 64 ? info->width : 0;
}

struct range range_of_value(const struct nvm_function *f, struct nvm_value v) {
  struct range r = range_all(width_of(f, value_type(f, v)));
  nvm_u128 bits;
  uint64_t low, high;
  if (r.width && const_is_int(f->module, v, &bits))
    return range_unsigned(r.width, (uint64_t)bits, (uint64_t)bits);
  return stated_range(f, v, &low, &high) ? range_unsigned(r.width, low, high) : r;
}

struct range range_of_inst(const struct nvm_function *f, const struct nvm_inst *i,
                           range_of_operand *of, void *state) {
  struct range r = range_all(width_of(f, i->type)), a, b;
  enum op op = (enum op)i->op;
  if (r.width == 0) return r;
  if (op >= OP_FIRST_INT && op <= OP_LAST_INT) {
    a = of(state, inst_operand(f, i, 0));
    b = of(state, inst_operand(f, i, 1));
    return range_is_empty(a) || range_is_empty(b) ? r : range_binary(op, i->flags, a, b);
  }
  if (op == OP_TRUNC || op == OP_ZEXT || op == OP_SEXT || op == OP_FREEZE) {
    a = of(state, inst_operand(f, i, 0));
    if (a.width == 0 || range_is_empty(a) || op == OP_FREEZE) return r;
    return convert(op, a, r.width);
  }
  if (op == OP_SELECT)
    return range_either(of(state, inst_operand(f, i, 1)), of(state, inst_operand(f, i, 2)));
  if (op == OP_CALL || op == OP_LOAD) {
    struct nvm_inst_id id = {(uint32_t)(i - f->insts.data)};
    a = range_of_value(f, value_of_inst(id));
    return op == OP_LOAD ? a : range_both(a, call(f, i, r.width, of, state));
  }
  if (op == OP_ICMP) {
    int truth = range_compare((enum icmp_predicate)i->aux, of(state, inst_operand(f, i, 0)),
                              of(state, inst_operand(f, i, 1)));
    return truth < 0 ? r : range_unsigned(1, (uint64_t)truth, (uint64_t)truth);
  }
  if (op == OP_PHI && i->operand_count) {
    a = of(state, inst_operand(f, i, 0));
    for (uint32_t k = 2; k < i->operand_count; k += 2)
      a = range_either(a, of(state, inst_operand(f, i, k)));
    return range_is_empty(a) ? r : a;
  }
  return r;
}

static struct range of_operand(void *state, struct nvm_value v) {
  const struct nvm_function *f = *(const struct nvm_function **)state;
  struct range r = range_of_value(f, v);
  return r.low == r.high ? r : range_both(r, range_of_bits(known_bits_of(f, v)));
}

/* Whether the operation gives a smaller range than known bits do. */
static bool narrows(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op == OP_CALL) {
    uint32_t id = call_intrinsic(f, i);
    return id == INTRINSIC_smin || id == INTRINSIC_smax || id == INTRINSIC_umin ||
           id == INTRINSIC_umax;
  }
  return i->op == OP_SEXT || i->op == OP_ADD || i->op == OP_SUB || i->op == OP_MUL ||
         (i->op >= OP_UDIV && i->op <= OP_SREM);
}

struct range range_of(const struct nvm_function *f, struct nvm_value v) {
  struct range r = of_operand(&f, v);
  const struct nvm_inst *i = value_kind(v) == VALUE_INST ? &f->insts.data[value_index(v)] : NULL;
  return i && r.width && narrows(f, i) ? range_both(r, range_of_inst(f, i, of_operand, &f)) : r;
}
