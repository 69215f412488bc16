/* Scalar evolution; see scev.h. After O. Bachmann, P. Wang, E. Zima, "Chains of Recurrences"
 * (1994), as LLVM uses them, restricted to affine sums: flat lists of terms, which are compared and
 * subtracted in one walk.
 *
 * Each value has up to three forms, computed on demand: modulo 2^width (PLAIN), and the exact value
 * sign- or zero-extended to 64 bits (SIGNED, UNSIGNED), from which extensions are built. The
 * extended form of a sum is the sum of the extended forms if it does not wrap in that sense, else a
 * symbol. An explicit stack replaces recursion: compute() pushes missing forms of operands and is
 * called again. Sums of more than MAX_TERMS terms are symbols.
 *
 * Trip counts and implied conditions are in trip_count.c. */
#include "analysis/scev_internal.h"

#include "ir/evalint.h"
#include "ir/gep.h"
#include "analysis/ranges.h"

enum { MAX_TERMS = 16 };

/* --- sums ------------------------------------------------------------------------------------- */

struct sum {
  struct scev form; /* without terms */
  struct scev_term terms[MAX_TERMS];
  uint32_t count;
  bool too_long;
};

static int64_t wrap(uint32_t width, uint64_t v) { return evalint_sext(width, v); }

static uint32_t value_width(const struct scev_env *e, struct nvm_value v) {
  const struct type_info *t = type_info(&e->f->module->types, value_type(e->f, v));
  if (t->kind == TY_INT && t->width <= 64) return t->width;
  return t->kind == TY_PTR ? layout_pointer_bits(&e->f->module->layout, t->width) : 0;
}

/* The order of terms: by loop, symbol, factor, extensions; negative, 0 or positive. */
static int compare_terms(const struct scev_term *a, const struct scev_term *b) {
  if (a->loop != b->loop) return a->loop < b->loop ? -1 : 1;
  if (a->symbol.bits != b->symbol.bits) return a->symbol.bits < b->symbol.bits ? -1 : 1;
  if (a->factor.bits != b->factor.bits) return a->factor.bits < b->factor.bits ? -1 : 1;
  return (a->is_signed + 2 * a->factor_signed) - (b->is_signed + 2 * b->factor_signed);
}

/* Whether a symbol of that sign is sign-extended to `width`. */
static bool extends_signed(const struct scev_env *e, struct nvm_value symbol, bool is_signed,
                           uint32_t width) {
  return is_signed && !value_is_none(symbol) && value_width(e, symbol) < width;
}

/* The term with its symbols in order. */
static struct scev_term canonical(const struct scev_env *e, struct scev_term t, uint32_t width) {
  t.is_signed = extends_signed(e, t.symbol, t.is_signed, width);
  t.factor_signed = extends_signed(e, t.factor, t.factor_signed, width);
  bool ordered = t.symbol.bits < t.factor.bits ||
                 (t.symbol.bits == t.factor.bits && t.is_signed <= t.factor_signed);
  if (value_is_none(t.factor) || (!value_is_none(t.symbol) && ordered)) return t;
  struct scev_term swapped = t;
  swapped.symbol = t.factor, swapped.is_signed = t.factor_signed;
  swapped.factor = t.symbol, swapped.factor_signed = t.is_signed;
  return swapped;
}

/* A number of the sum modulo 2^width. If it changes, the sum wraps. */
static int64_t wrapped(struct sum *s, nvm_i128 exact) {
  int64_t n = wrap(s->form.width, (uint64_t)exact);
  if (n != exact) s->form.no_signed_wrap = s->form.no_unsigned_wrap = false;
  return n;
}

static void add_term(const struct scev_env *e, struct sum *s, struct scev_term t) {
  uint32_t k = 0;
  if (t.coefficient == 0) return;
  t = canonical(e, t, s->form.width);
  while (k < s->count && compare_terms(&s->terms[k], &t) < 0) k++;
  if (k < s->count && compare_terms(&s->terms[k], &t) == 0) {
    s->terms[k].coefficient = wrapped(s, (nvm_i128)s->terms[k].coefficient + t.coefficient);
    if (s->terms[k].coefficient == 0)
      memmove(s->terms + k, s->terms + k + 1, (--s->count - k) * sizeof t);
    return;
  }
  if (s->count == MAX_TERMS) {
    s->too_long = true;
    return;
  }
  memmove(s->terms + k + 1, s->terms + k, (s->count++ - k) * sizeof t);
  s->terms[k] = t;
}

/* Makes an empty sum; `terms` stays uninitialized. */
static void start_sum(struct sum *s, uint32_t width) {
  s->form = (struct scev){.width = width, .no_signed_wrap = true, .no_unsigned_wrap = true};
  s->count = 0;
  s->too_long = false;
}

/* *t times `by`, without the coefficients; false if there are too many loops or symbols. */
static bool multiply_term(struct scev_term *t, struct scev_term by) {
  if ((t->loop && by.loop) || (!value_is_none(by.symbol) && !value_is_none(t->factor)) ||
      (!value_is_none(t->symbol) && !value_is_none(by.factor)))
    return false;
  if (by.loop) t->loop = by.loop;
  if (value_is_none(by.symbol)) return true;
  if (value_is_none(by.factor)) t->factor = t->symbol, t->factor_signed = t->is_signed;
  else t->factor = by.factor, t->factor_signed = by.factor_signed;
  t->symbol = by.symbol, t->is_signed = by.is_signed;
  return true;
}

/* s += a * by. */
static void add_product(const struct scev_env *e, struct sum *s, struct scev a,
                        struct scev_term by) {
  if (a.width == 0) s->too_long = true;
  bool scaled = by.loop || !value_is_none(by.symbol);
  struct scev_term one = by;
  one.coefficient = wrapped(s, (nvm_i128)a.constant * by.coefficient);
  if (scaled) add_term(e, s, one);
  else s->form.constant = wrapped(s, (nvm_i128)s->form.constant + one.coefficient);
  for (uint32_t k = 0; k < a.count; k++) {
    struct scev_term t = a.terms[k];
    s->too_long |= !multiply_term(&t, by) || (!value_is_none(t.factor) && !e->splits_products);
    t.coefficient = wrapped(s, (nvm_i128)t.coefficient * by.coefficient);
    add_term(e, s, t);
  }
  if (!value_is_none(a.base)) {
    s->too_long |= !value_is_none(s->form.base) || by.coefficient != 1 || scaled;
    s->form.base = a.base;
  }
  s->form.no_signed_wrap &= a.no_signed_wrap;
  s->form.no_unsigned_wrap &= a.no_unsigned_wrap;
}

static void add_form(const struct scev_env *e, struct sum *s, struct scev a, int64_t factor) {
  add_product(e, s, a, (struct scev_term){.coefficient = factor});
}

/* The sum as a form; width 0 if it is not affine. */
static struct scev finish(struct scev_env *e, struct sum *s) {
  if (s->too_long) return (struct scev){.width = 0};
  s->form.count = s->count;
  if (s->count) {
    struct scev_term *terms = arena_alloc(e->arena, s->count * sizeof *terms);
    if (!terms) return (struct scev){.width = 0};
    memcpy(terms, s->terms, s->count * sizeof *terms);
    s->form.terms = terms;
  }
  return s->form;
}

/* --- symbols and constants -------------------------------------------------------------------- */

/* Cached in e->nonnegative. */
static bool is_nonnegative(const struct scev_env *e, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST && value_index(v) < e->size && e->nonnegative[value_index(v)])
    return e->nonnegative[value_index(v)] == 1;
  struct range r = range_of(e->f, v);
  bool yes = r.width && r.least >= 0;
  if (value_kind(v) == VALUE_INST && value_index(v) < e->size)
    e->nonnegative[value_index(v)] = yes ? 1 : 2;
  return yes;
}

/* v as a constant or a symbol. */
static struct scev opaque(struct scev_env *e, struct nvm_value v, enum scev_mode mode) {
  uint32_t width = value_width(e, v);
  if (width == 0) return (struct scev){.width = 0};
  struct sum s;
  nvm_u128 bits;
  start_sum(&s, mode == SCEV_PLAIN ? width : 64);
  if (const_is_int(e->f->module, v, &bits)) {
    s.form.constant = mode == SCEV_UNSIGNED ? (int64_t)bits : wrap(width, (uint64_t)bits);
    s.form.no_unsigned_wrap = s.form.constant >= 0;
    return s.form;
  }
  bool pointer = type_is_ptr(&e->f->module->types, value_type(e->f, v));
  if (pointer && mode != SCEV_PLAIN) return (struct scev){.width = 0};
  if (mode == SCEV_SIGNED && (width == 64 || is_nonnegative(e, v))) mode = SCEV_UNSIGNED;
  if (pointer) s.form.base = v;
  if (mode == SCEV_SIGNED) s.form.no_unsigned_wrap = false; /* it may be negative */
  if (!pointer)
    add_term(e, &s,
             (struct scev_term){.symbol = v, .is_signed = mode == SCEV_SIGNED, .coefficient = 1});
  return finish(e, &s);
}

/* The form in a narrower width; wrapping becomes unknown. */
static struct scev truncated(struct scev_env *e, struct scev a, uint32_t width) {
  if (a.width == width || a.width == 0) return a;
  struct sum s;
  start_sum(&s, width);
  struct scev whole = a;
  whole.constant = wrap(width, (uint64_t)a.constant);
  add_form(e, &s, whole, 1);
  s.form.no_signed_wrap = a.count == 0;
  s.form.no_unsigned_wrap = false;
  return finish(e, &s);
}

/* --- forms of instructions -------------------------------------------------------------------- */

static uint32_t *memo_place(struct scev_env *e, struct nvm_value v, enum scev_mode mode) {
  return &e->memo[mode][value_index(v)];
}

enum { IN_PROGRESS = UINT32_MAX };

/* The form of v if computed, else requests it. A v that depends on itself, in unreachable code, is
 * a symbol. */
static struct scev get(struct scev_env *e, struct nvm_value v, enum scev_mode mode) {
  if (value_kind(v) != VALUE_INST || value_index(v) >= e->size) return opaque(e, v, mode);
  if (mode != SCEV_PLAIN && value_width(e, v) == 64) mode = SCEV_PLAIN;
  uint32_t at = *memo_place(e, v, mode);
  if (at == IN_PROGRESS) return opaque(e, v, mode);
  if (at) return e->forms.data[at];
  struct scev_request missing = {v, mode};
  if (!VEC_PUSH(e->arena, &e->stack, missing)) return opaque(e, v, mode);
  e->missing = true;
  return (struct scev){.width = 0};
}

/* Whether an extension distributes over an operation with these flags and result v: `mode` or, if v
 * is not negative, either; *mode becomes it. */
static bool distributes(const struct scev_env *e, struct nvm_value v, uint16_t flags,
                        enum scev_mode *mode) {
  if (*mode == SCEV_PLAIN) return true;
  if (flags & (*mode == SCEV_SIGNED ? INST_NSW : INST_NUW)) return true;
  enum scev_mode other = *mode == SCEV_SIGNED ? SCEV_UNSIGNED : SCEV_SIGNED;
  if (!(flags & (other == SCEV_SIGNED ? INST_NSW : INST_NUW)) || !is_nonnegative(e, v))
    return false;
  *mode = other;
  return true;
}

static struct scev with_flags(struct sum *s, struct scev_env *e, enum scev_mode mode,
                              uint16_t flags) {
  if (mode == SCEV_PLAIN) {
    s->form.no_signed_wrap &= (flags & INST_NSW) != 0;
    s->form.no_unsigned_wrap &= (flags & INST_NUW) != 0;
  }
  return finish(e, s);
}

/* a * b if b is a constant, or a lone symbol and a has no symbols; or all products of their terms.
 */
static struct scev product(struct scev_env *e, struct scev a, struct scev b, enum scev_mode mode,
                           uint16_t flags) {
  struct sum s;
  start_sum(&s, a.width);
  bool lone =
      b.count == 1 && b.constant == 0 && b.terms[0].loop == 0 && b.terms[0].coefficient == 1;
  bool pointers = !value_is_none(b.base) || !value_is_none(a.base);
  s.too_long = !scev_is_constant(b) && (pointers || !(lone || e->splits_products));
  if (b.constant || b.count == 0) add_form(e, &s, a, b.constant);
  for (uint32_t k = 0; k < b.count && !s.too_long; k++) add_product(e, &s, a, b.terms[k]);
  s.form.no_signed_wrap &= b.no_signed_wrap;
  s.form.no_unsigned_wrap &= b.no_unsigned_wrap;
  return with_flags(&s, e, mode, flags);
}

/* The form of v in which products of two symbols are symbols, so that it can be multiplied by one
 * more: of b * n + i, that is t + i, where t is the value b * n. */
static struct scev with_whole_products(struct scev_env *e, struct nvm_value v, enum scev_mode mode,
                                       uint32_t depth) {
  enum { MAX_DEPTH = 4 };
  struct scev form = get(e, v, mode);
  const struct nvm_inst *i = value_inst(e->f, v);
  bool splits = false;
  for (uint32_t k = 0; k < form.count; k++) splits |= !value_is_none(form.terms[k].factor);
  if (!splits || !i) return form;
  if (depth == MAX_DEPTH || (i->op != OP_ADD && i->op != OP_SUB) ||
      !distributes(e, v, i->flags, &mode))
    return opaque(e, v, mode);
  struct scev a = with_whole_products(e, inst_operand(e->f, i, 0), mode, depth + 1),
              b = with_whole_products(e, inst_operand(e->f, i, 1), mode, depth + 1);
  struct sum s;
  start_sum(&s, form.width);
  add_form(e, &s, a, 1);
  add_form(e, &s, b, i->op == OP_SUB ? -1 : 1);
  if (mode == SCEV_SIGNED && i->op == OP_SUB) s.form.no_unsigned_wrap = false;
  return with_flags(&s, e, mode, i->flags);
}

/* The form of a product, of operands with forms a and b. */
static struct scev compute_product(struct scev_env *e, const struct nvm_inst *i, struct scev a,
                                   struct scev b, enum scev_mode mode, uint16_t flags) {
  struct scev r = product(e, a, b, mode, flags);
  if (r.width == 0) r = product(e, b, a, mode, flags);
  if (r.width || !e->splits_products) return r;
  a = with_whole_products(e, inst_operand(e->f, i, 0), mode, 0);
  b = with_whole_products(e, inst_operand(e->f, i, 1), mode, 0);
  return e->missing ? (struct scev){.width = 0} : product(e, a, b, mode, flags);
}

static struct scev compute_binary(struct scev_env *e, struct nvm_value v, const struct nvm_inst *i,
                                  enum scev_mode mode) {
  struct scev none = {.width = 0};
  uint16_t flags = i->op == OP_OR ? INST_NSW | INST_NUW : i->flags;
  if (i->op == OP_OR && !(i->flags & INST_DISJOINT)) return none;
  if (!distributes(e, v, flags, &mode)) return none;
  struct nvm_value y = inst_operand(e->f, i, 1);
  nvm_u128 by;
  if (i->op == OP_SHL) {
    uint32_t width = value_width(e, v);
    if (!const_is_int(e->f->module, y, &by) || by + 1 >= width) return none;
    struct sum s;
    start_sum(&s, mode == SCEV_PLAIN ? width : 64);
    add_form(e, &s, get(e, inst_operand(e->f, i, 0), mode), INT64_C(1) << by);
    return with_flags(&s, e, mode, flags);
  }
  struct scev a = get(e, inst_operand(e->f, i, 0), mode), b = get(e, y, mode);
  if (e->missing || a.width == 0 || b.width == 0) return none;
  if (i->op == OP_MUL) return compute_product(e, i, a, b, mode, flags);
  struct sum s;
  start_sum(&s, a.width);
  add_form(e, &s, a, 1);
  add_form(e, &s, b, i->op == OP_SUB ? -1 : 1);
  if (mode == SCEV_SIGNED && i->op == OP_SUB) s.form.no_unsigned_wrap = false;
  return with_flags(&s, e, mode, flags);
}

static struct scev compute_cast(struct scev_env *e, struct nvm_value v, const struct nvm_inst *i,
                                enum scev_mode mode) {
  struct nvm_value x = inst_operand(e->f, i, 0);
  uint32_t width = value_width(e, v), from = value_width(e, x);
  if (width == 0 || from == 0) return (struct scev){.width = 0};
  bool to_pointer = type_is_ptr(&e->f->module->types, i->type);
  switch ((enum op)i->op) {
    case OP_TRUNC:
      if (mode == SCEV_PLAIN) return truncated(e, get(e, x, SCEV_PLAIN), width);
      return distributes(e, v, i->flags, &mode) ? get(e, x, mode) : (struct scev){.width = 0};
    case OP_ZEXT: {
      enum scev_mode inner = i->flags & INST_NNEG ? SCEV_SIGNED : SCEV_UNSIGNED;
      struct scev r = get(e, x, inner);
      return mode == SCEV_PLAIN ? truncated(e, r, width) : r;
    }
    case OP_SEXT:
      if (mode == SCEV_UNSIGNED && !is_nonnegative(e, x)) return (struct scev){.width = 0};
      return mode == SCEV_PLAIN ? truncated(e, get(e, x, SCEV_SIGNED), width)
                                : get(e, x, SCEV_SIGNED);
    case OP_BITCAST:
      if (to_pointer != type_is_ptr(&e->f->module->types, value_type(e->f, x))) break;
      return get(e, x, mode);
    default: break;
  }
  return (struct scev){.width = 0};
}

/* Adds the indices of a getelementptr, each times its bytes. */
static void add_indices(struct scev_env *e, struct sum *s, const struct nvm_inst *i) {
  struct gep_walk walk = gep_begin(e->f->module, i->aux);
  s->too_long |= type_is_vector(&e->f->module->types, walk.type) && i->operand_count > 2;
  for (uint32_t k = 1; k < i->operand_count && !s->too_long; k++) {
    struct nvm_value index = inst_operand(e->f, i, k);
    bool is_member;
    int64_t bytes = (int64_t)gep_step(&walk, index, &is_member);
    if (is_member) {
      s->form.constant = evalint_wrapping_add(s->form.constant, bytes);
      continue;
    }
    bool is_full = value_width(e, index) == s->form.width;
    struct scev form = get(e, index, is_full ? SCEV_PLAIN : SCEV_SIGNED);
    if (!e->missing) add_form(e, s, truncated(e, form, s->form.width), bytes);
  }
}

static struct scev compute_gep(struct scev_env *e, struct nvm_value v, const struct nvm_inst *i) {
  struct sum s;
  start_sum(&s, value_width(e, v));
  if (s.form.width == 0) return s.form;
  add_form(e, &s, get(e, inst_operand(e->f, i, 0), SCEV_PLAIN), 1);
  add_indices(e, &s, i);
  if (!(i->flags & INST_INBOUNDS)) s.form.no_signed_wrap = false;
  s.form.no_unsigned_wrap = false;
  return finish(e, &s);
}

/* --- recurrences ------------------------------------------------------------------------------ */

bool scev_recurrence(const struct scev_env *e, struct nvm_value v, struct recurrence *r) {
  *r = (struct recurrence){.flags = INST_NSW | INST_NUW};
  if (value_kind(v) != VALUE_INST) return false;
  const struct nvm_inst *phi = function_inst(e->f, (struct nvm_inst_id){value_index(v)});
  if (phi->op != OP_PHI) return false;
  r->loop = e->loops->innermost[phi->block.index];
  if (r->loop == 0 || e->loops->data[r->loop].header.index != phi->block.index) return false;
  for (uint32_t k = 0; k < phi->operand_count; k += 2) {
    struct nvm_value in = inst_operand(e->f, phi, k);
    struct nvm_block from = {value_index(inst_operand(e->f, phi, k + 1))};
    struct nvm_value *which = loops_contains(e->loops, r->loop, from) ? &r->next : &r->start;
    if (!value_is_none(*which) && !value_equal(*which, in)) return false;
    *which = in;
  }
  struct nvm_value at = r->next;
  for (; !value_equal(at, v); r->count++) {
    if (value_kind(at) != VALUE_INST || r->count == RECURRENCE_CHAIN) return false;
    const struct nvm_inst *i = function_inst(e->f, (struct nvm_inst_id){value_index(at)});
    if (i->op != OP_ADD && i->op != OP_SUB && i->op != OP_GEP) return false;
    uint32_t through = 0;
    if (i->op == OP_ADD && loops_is_invariant(e->loops, e->f, r->loop, inst_operand(e->f, i, 0)))
      through = 1;
    for (uint32_t k = 0; k < i->operand_count; k++)
      if (k != through && !loops_is_invariant(e->loops, e->f, r->loop, inst_operand(e->f, i, k)))
        return false;
    r->steps[r->count] = (struct nvm_inst_id){value_index(at)};
    r->through[r->count] = through;
    r->flags &= i->op == OP_GEP ? (i->flags & INST_INBOUNDS ? INST_NSW : 0) : i->flags;
    at = inst_operand(e->f, i, through);
  }
  return r->count > 0 && !value_is_none(r->start);
}

/* The sum of the steps, extended as `mode` says. */
static struct scev recurrence_step(struct scev_env *e, const struct recurrence *r,
                                   enum scev_mode mode, uint32_t width) {
  struct sum s;
  start_sum(&s, width);
  for (uint32_t k = 0; k < r->count; k++) {
    const struct nvm_inst *i = function_inst(e->f, r->steps[k]);
    if (i->op == OP_GEP) add_indices(e, &s, i);
    else
      add_form(e, &s, get(e, inst_operand(e->f, i, !r->through[k]), mode),
               i->op == OP_SUB ? -1 : 1);
  }
  return finish(e, &s);
}

static struct scev compute_phi(struct scev_env *e, struct nvm_value v, enum scev_mode mode) {
  struct scev none = {.width = 0};
  struct recurrence r;
  if (!scev_recurrence(e, v, &r)) return none;
  uint32_t width = mode == SCEV_PLAIN ? value_width(e, v) : 64;
  if (width == 0) return none;
  /* With nuw, steps are unsigned: sub nuw i8 %i, -3 subtracts 253. */
  bool by_flags = (r.flags & INST_NUW) != 0;
  struct scev step = recurrence_step(e, &r, SCEV_SIGNED, 64);
  bool number = scev_is_constant(step);
  if (e->missing) return none;
  bool up = number && step.constant > 0;
  bool is_signed = (r.flags & INST_NSW) || (number && scev_no_wrap(e, v, &r, step.constant, true));
  bool is_unsigned = by_flags || (number && scev_no_wrap(e, v, &r, step.constant, false));
  if (mode == SCEV_UNSIGNED && !is_unsigned && is_signed && up && is_nonnegative(e, r.start))
    mode = SCEV_SIGNED;
  if (mode == SCEV_SIGNED && !is_signed) {
    if (!is_unsigned || !is_nonnegative(e, v)) return none;
    mode = SCEV_UNSIGNED;
  }
  if (mode == SCEV_UNSIGNED && !is_unsigned) return none;
  struct sum s;
  start_sum(&s, width);
  add_form(e, &s, get(e, r.start, mode), 1);
  if (mode == SCEV_PLAIN || (mode == SCEV_UNSIGNED && by_flags))
    step = recurrence_step(e, &r, mode, width);
  add_product(e, &s, step, (struct scev_term){.loop = r.loop, .coefficient = 1});
  if (mode == SCEV_SIGNED) s.form.no_unsigned_wrap &= up;
  if (mode == SCEV_PLAIN) {
    s.form.no_signed_wrap &= is_signed;
    s.form.no_unsigned_wrap &= is_unsigned;
  }
  return finish(e, &s);
}

static struct scev compute(struct scev_env *e, struct nvm_value v, enum scev_mode mode) {
  const struct nvm_inst *i = function_inst(e->f, (struct nvm_inst_id){value_index(v)});
  struct scev r = {.width = 0};
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_SHL:
    case OP_OR:
      if (value_width(e, v)) r = compute_binary(e, v, i, mode);
      break;
    case OP_TRUNC:
    case OP_SEXT:
    case OP_ZEXT:
    case OP_BITCAST: r = compute_cast(e, v, i, mode); break;
    case OP_GEP: r = compute_gep(e, v, i); break;
    case OP_PHI: r = compute_phi(e, v, mode); break;
    default: break;
  }
  return r.width || e->missing ? r : opaque(e, v, mode);
}

struct scev scev_form(struct scev_env *e, struct nvm_value v, enum scev_mode mode) {
  if (value_kind(v) != VALUE_INST || value_index(v) >= e->size) return opaque(e, v, mode);
  if (mode != SCEV_PLAIN && value_width(e, v) == 64) mode = SCEV_PLAIN;
  uint32_t bottom = e->stack.count;
  (void)get(e, v, mode);
  while (e->stack.count > bottom) {
    struct scev_request top = e->stack.data[e->stack.count - 1];
    uint32_t *place = memo_place(e, top.value, top.mode);
    if (*place && *place != IN_PROGRESS) {
      e->stack.count--;
      continue;
    }
    *place = IN_PROGRESS;
    e->missing = false;
    struct scev form = compute(e, top.value, top.mode);
    if (e->missing) continue;
    *place = e->forms.count;
    if (!VEC_PUSH(e->arena, &e->forms, form)) *place = 0, e->stack.count = bottom;
    else e->stack.count--;
  }
  e->missing = false;
  uint32_t at = *memo_place(e, v, mode);
  return at && at != IN_PROGRESS ? e->forms.data[at] : (struct scev){.width = 0};
}

void scev_split_products(struct scev_env *e) { e->splits_products = true; }

struct scev scev_of(struct scev_env *e, struct nvm_value v) { return scev_form(e, v, SCEV_PLAIN); }

struct scev_env *scev_init(const struct nvm_function *f, const struct loops *l,
                           const struct dominance *d, struct arena *arena) {
  struct scev_env *e = arena_alloc(arena, sizeof *e);
  if (!e) return NULL;
  *e =
      (struct scev_env){.f = f, .loops = l, .dominance = d, .arena = arena, .size = f->insts.count};
  for (int mode = 0; mode < SCEV_MODES; mode++)
    if (!(e->memo[mode] = arena_alloc(arena, e->size * sizeof *e->memo[mode]))) return NULL;
  e->nonnegative = arena_alloc(arena, e->size);
  e->counts = arena_alloc(arena, (l->count + 1) * sizeof *e->counts);
  struct scev dummy = {.width = 0};
  return e->nonnegative && e->counts && VEC_PUSH(arena, &e->forms, dummy) ? e : NULL;
}

/* --- questions -------------------------------------------------------------------------------- */

struct scev scev_subtract(struct scev_env *e, struct scev a, struct scev b) {
  if (a.width != b.width || !value_equal(a.base, b.base)) return (struct scev){.width = 0};
  struct sum s;
  start_sum(&s, a.width);
  a.base = b.base = VALUE_NULL;
  if (a.width == 0) return a;
  add_form(e, &s, a, 1);
  add_form(e, &s, b, -1);
  s.form.no_signed_wrap = s.form.no_unsigned_wrap = false;
  return finish(e, &s);
}

struct scev scev_plus(struct scev a, int64_t constant) {
  a.constant = wrap(a.width, (uint64_t)a.constant + (uint64_t)constant);
  a.no_signed_wrap = a.no_unsigned_wrap = false;
  return a;
}

struct scev scev_at_start(struct scev_env *e, struct scev a, uint32_t loop) {
  struct sum s;
  start_sum(&s, a.width);
  if (a.width == 0) return a;
  s.form = a;
  for (uint32_t k = 0; k < a.count; k++)
    if (a.terms[k].loop != loop) add_term(e, &s, a.terms[k]);
  return finish(e, &s);
}

struct scev scev_at_end(struct scev_env *e, struct scev a, uint32_t loop) {
  struct trip_count c = scev_trip_count(e, loop);
  struct scev start = scev_at_start(e, a, loop), taken = c.taken, none = {.width = 0};
  int64_t step;
  bool fits = scev_is_constant(taken) || a.width <= taken.width; /* no extension needed */
  if (a.width == 0 || !c.known || c.divisor != 1 || !c.guarded || !fits ||
      !scev_step(e, a, loop, &step))
    return none;
  if (scev_is_constant(taken))
    return scev_plus(
        start, (int64_t)((uint64_t)step * evalint_zext(taken.width, (uint64_t)taken.constant)));
  struct sum s;
  start_sum(&s, a.width);
  add_form(e, &s, start, 1);
  add_form(e, &s, truncated(e, taken, a.width), step);
  s.form.no_signed_wrap = s.form.no_unsigned_wrap = false;
  return finish(e, &s);
}

bool scev_equal(struct scev a, struct scev b) {
  if (a.width == 0 || a.width != b.width || !value_equal(a.base, b.base) ||
      a.constant != b.constant || a.count != b.count)
    return false;
  for (uint32_t k = 0; k < a.count; k++)
    if (compare_terms(&a.terms[k], &b.terms[k]) != 0 ||
        a.terms[k].coefficient != b.terms[k].coefficient)
      return false;
  return true;
}

bool scev_is_constant(struct scev a) { return a.width && a.count == 0 && value_is_none(a.base); }

bool scev_is_invariant(struct scev_env *e, struct scev a, uint32_t loop) {
  if (a.width == 0 || !loops_is_invariant(e->loops, e->f, loop, a.base)) return false;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct scev_term *t = &a.terms[k];
    if (t->loop >= loop && t->loop < e->loops->data[loop].end) return false;
    if (!loops_is_invariant(e->loops, e->f, loop, t->symbol) ||
        !loops_is_invariant(e->loops, e->f, loop, t->factor))
      return false;
  }
  return true;
}

bool scev_step(struct scev_env *e, struct scev a, uint32_t loop, int64_t *step) {
  *step = 0;
  struct scev rest = scev_at_start(e, a, loop);
  for (uint32_t k = 0; k < a.count; k++)
    if (a.terms[k].loop == loop) {
      if (!value_is_none(a.terms[k].symbol)) return false;
      *step = a.terms[k].coefficient;
    }
  return scev_is_invariant(e, rest, loop);
}
