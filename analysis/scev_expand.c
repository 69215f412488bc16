/* Expands forms into instructions; see scev.h. Terms are added in order, the base of a pointer
 * last; a negative coefficient subtracts. Redundant instructions are left to early-cse. */
#include "analysis/scev_internal.h"

#include "ir/build.h"
#include "ir/evalint.h"

struct expander {
  struct scev_env *e;
  struct nvm_function *f;
  struct nvm_inst_id before;
  uint32_t width;
  struct nvm_type type;
};

static struct nvm_value emit(struct expander *x, enum op op, struct nvm_type type,
                             struct nvm_value a, struct nvm_value b, uint32_t aux) {
  struct builder at = builder_before(x->f, x->before);
  struct nvm_value operands[] = {a, b};
  return builder_add(&at, op, 0, type, operands, value_is_none(b) ? 1 : 2, aux);
}

static struct nvm_value integer(struct expander *x, uint64_t v) {
  return const_int(x->f->module, x->type, evalint_zext(x->width, v));
}

/* v extended or truncated to the form's width. */
static struct nvm_value resized(struct expander *x, struct nvm_value v, bool is_signed) {
  const struct type_info *t = type_info(&x->f->module->types, value_type(x->f, v));
  if (t->kind != TY_INT || t->width == x->width) return t->kind == TY_INT ? v : VALUE_NULL;
  enum op op = t->width > x->width ? OP_TRUNC : is_signed ? OP_SEXT : OP_ZEXT;
  return emit(x, op, x->type, v, VALUE_NULL, 0);
}

/* The iteration number of a loop around `before`, from a phi of its header with step 1 or -1. */
static struct nvm_value iteration(struct expander *x, uint32_t loop) {
  struct nvm_block header = x->e->loops->data[loop].header;
  if (!loops_contains(x->e->loops, loop, function_inst(x->f, x->before)->block)) return VALUE_NULL;
  FOR_EACH_PHI (x->f, header, i) {
    struct nvm_value phi = value_of_inst(i), n;
    int64_t step;
    for (enum scev_mode mode = SCEV_PLAIN; mode < SCEV_MODES; mode++) {
      struct scev form = scev_form(x->e, phi, mode);
      if (!value_is_none(form.base) || form.width < x->width || !scev_step(x->e, form, loop, &step))
        continue;
      if (step != 1 && step != -1) continue;
      struct scev start = scev_at_start(x->e, form, loop);
      n = resized(x, phi, mode == SCEV_SIGNED);
      if (start.count == 0 && start.constant == 0 && step == 1) return n;
      struct nvm_value from = scev_expand(x->e, x->f, start, x->before);
      from = value_is_none(from) ? from : resized(x, from, false);
      if (value_is_none(from) || value_is_none(n)) return VALUE_NULL;
      return step > 0 ? emit(x, OP_SUB, x->type, n, from, 0) : emit(x, OP_SUB, x->type, from, n, 0);
    }
  }
  return VALUE_NULL;
}

/* The term without its sign; VALUE_NULL: not expressible. */
static struct nvm_value expand_term(struct expander *x, const struct scev_term *t, bool *negative) {
  struct nvm_value v = VALUE_NULL;
  uint64_t c = (uint64_t)t->coefficient;
  *negative = t->coefficient < 0 && t->coefficient != INT64_MIN;
  if (*negative) c = 0 - c;
  if (!value_is_none(t->symbol) && value_is_none(v = resized(x, t->symbol, t->is_signed))) return v;
  if (!value_is_none(t->factor)) {
    struct nvm_value by = resized(x, t->factor, t->factor_signed);
    if (value_is_none(by)) return by;
    v = emit(x, OP_MUL, x->type, v, by, 0);
  }
  if (t->loop) {
    struct nvm_value n = iteration(x, t->loop);
    if (value_is_none(n)) return n;
    v = value_is_none(v) ? n : emit(x, OP_MUL, x->type, v, n, 0);
  }
  if (c == 1 || value_is_none(v)) return v;
  bool power = (c & (c - 1)) == 0;
  struct nvm_value by = integer(x, power ? (uint64_t)__builtin_ctzll(c) : c);
  return emit(x, power ? OP_SHL : OP_MUL, x->type, v, by, 0);
}

struct nvm_value scev_expand(struct scev_env *e, struct nvm_function *f, struct scev a,
                             struct nvm_inst_id before) {
  struct expander x = {e, f, before, a.width, type_int(&f->module->types, a.width ? a.width : 1)};
  struct nvm_value sum = VALUE_NULL;
  if (a.width == 0) return sum;
  for (int turn = 0; turn < 2; turn++) /* additions before subtractions */
    for (uint32_t k = 0; k < a.count; k++) {
      bool negative, wanted = a.terms[k].coefficient < 0 && a.terms[k].coefficient != INT64_MIN;
      if (wanted != (turn == 1)) continue;
      struct nvm_value v = expand_term(&x, &a.terms[k], &negative);
      if (value_is_none(v)) return v;
      if (negative) sum = emit(&x, OP_SUB, x.type, value_is_none(sum) ? integer(&x, 0) : sum, v, 0);
      else sum = value_is_none(sum) ? v : emit(&x, OP_ADD, x.type, sum, v, 0);
    }
  if (value_is_none(sum) && (a.constant || value_is_none(a.base)))
    sum = integer(&x, (uint64_t)a.constant);
  else if (a.constant) sum = emit(&x, OP_ADD, x.type, sum, integer(&x, (uint64_t)a.constant), 0);
  if (value_is_none(a.base) || value_is_none(sum)) return value_is_none(sum) ? a.base : sum;
  return emit(&x, OP_GEP, value_type(f, a.base), a.base, sum, TYPE_I8.index);
}

struct nvm_value scev_expand_trip_count(struct scev_env *e, struct nvm_function *f, uint32_t loop,
                                        struct nvm_inst_id before) {
  struct trip_count c = scev_trip_count(e, loop);
  struct expander x = {e, f, before, c.taken.width,
                       type_int(&f->module->types, c.taken.width ? c.taken.width : 1)};
  struct nvm_value v = c.taken.width ? scev_expand(e, f, c.taken, before) : VALUE_NULL;
  if (value_is_none(v)) return v;
  bool power = (c.divisor & (c.divisor - 1)) == 0;
  if (c.divisor > 1) {
    struct nvm_value by = integer(&x, power ? (uint64_t)__builtin_ctzll(c.divisor) : c.divisor);
    v = emit(&x, power ? OP_LSHR : OP_UDIV, x.type, v, by, 0);
  }
  if (c.guarded) return v;
  struct nvm_value first = scev_expand(e, f, c.first, before),
                   bound = scev_expand(e, f, c.bound, before);
  if (value_is_none(first) || value_is_none(bound)) return VALUE_NULL;
  bool swaps = value_kind(first) == VALUE_CONST; /* the canonical form of combine, for early-cse */
  struct nvm_value test = emit(&x, OP_ICMP, TYPE_I1, swaps ? bound : first, swaps ? first : bound,
                               swaps ? icmp_swapped(c.predicate) : c.predicate);
  struct builder at = builder_before(f, before);
  return builder_select(&at, test, v, integer(&x, 0));
}
