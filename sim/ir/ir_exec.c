/* Instructions of IR that compute: each lane calls ir/eval.c, which defines the ops. Poison
 * propagates with the values; where it would decide something it is a finding. */
#include "sim/ir/ir_exec.h"

#include "sim/machine/finding.h"
#include "sim/machine/number.h"

static const struct nvm_module *module_of(const struct warp *w) { return w->sim->ir->module; }

/* --- arithmetic ------------------------------------------------------------------------------- */

static void report_undefined(struct warp *w, unsigned lane, const struct ir_scalar *divisor) {
  if (!undefined_check(w, divisor->low, lane, "divides by %s")) return;
  if (ir_get(w, divisor, lane).bits == 0) finding_report(w, lane, SIM_UNDEFINED, "divides by zero");
  else finding_report(w, lane, SIM_UNDEFINED, "divides the smallest integer by -1");
}

/* All lanes at once, where nothing can be poison: numbers of up to 64 bits, floats that the host
 * computes. False: not done. */
static bool evaluate_row(struct warp *w, const struct inst *in, const struct ir_scalar *to,
                         const struct ir_scalar **s, uint32_t mask) {
  const struct ir_op *o = in->ir;
  if (w->frame->undefined || to->high != NO_ROW || s[0]->high != NO_ROW) return false;
  uint64_t *d = row_of(w, to->low);
  const uint64_t *a = row_of(w, s[0]->low), *b = row_of(w, s[o->count > 1]->low),
                 *c = row_of(w, s[o->count - 1]->low);
  if (in->fn) {
    FOR_LANES(l, mask) d[l] = in->fn(in, a[l], b[l], c[l]);
    return true;
  }
  if (o->op == OP_SELECT && !o->flags) {
    FOR_LANES(l, mask) d[l] = a[l] ? b[l] : c[l];
    return true;
  }
  if (mask != ALL_LANES || type_kind(&module_of(w)->types, s[0]->type) != TY_INT) return false;
  uint32_t bits = type_scalar_bits(&module_of(w)->types, s[0]->type),
           to_bits = type_scalar_bits(&module_of(w)->types, to->type);
  return eval_row(o->op, o->flags, o->aux, bits, to_bits, a, c, d, LANES);
}

void ir_exec_eval(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  const struct nvm_module *m = module_of(w);
  for (uint32_t i = 0; i < o->d.count; i++) {
    const struct ir_scalar *d = &o->d.scalars[i], *s[3];
    for (uint32_t k = 0; k < o->count; k++) s[k] = ir_lane(&o->in[k], i);
    if (evaluate_row(w, in, d, s, mask)) continue;
    FOR_LANES(l, mask) {
      struct eval_lane x[3], r;
      for (uint32_t k = 0; k < o->count; k++) {
        x[k] = ir_get(w, s[k], l);
        if (o->flushes) x[k].bits = evalfloat_flush(FLOAT_SINGLE, (uint64_t)x[k].bits);
      }
      if (!eval_lane(m, o->op, o->flags, o->aux, d->type, s[0]->type, x, &r)) {
        report_undefined(w, l, s[1]);
        return;
      }
      if (o->flushes && type_equal(d->type, TYPE_FLOAT))
        r.bits = evalfloat_flush(FLOAT_SINGLE, (uint64_t)r.bits);
      ir_put(w, d, l, r);
    }
  }
}

static uint32_t bits_of(const struct warp *w, const struct ir_scalar *s) {
  return type_scalar_bits(&module_of(w)->types, s->type);
}

/* aux: scalars of the first result; those of a second result, as an overflow bit, follow them. An
 * arbitrary result is zero. */
void ir_exec_eval_intrinsic(struct warp *w, const struct inst *in, uint32_t mask) {
  enum { MOST = 8 };
  const struct ir_op *o = in->ir;
  const struct nvm_module *m = module_of(w);
  for (uint32_t i = 0; i < o->aux; i++) {
    const struct ir_scalar *d = &o->d.scalars[i], *s[MOST];
    for (uint32_t k = 0; k < o->count; k++) s[k] = ir_lane(&o->in[k], i);
    if (in->fn && evaluate_row(w, in, d, s, mask)) continue;
    FOR_LANES(l, mask) {
      struct eval_lane x[MOST], r[2];
      for (uint32_t k = 0; k < o->count; k++) x[k] = ir_get(w, s[k], l);
      if (!eval_intrinsic_lane(m, o->intrinsic, o->flags, d->type, s[0]->type, x, o->count, r))
        r[0] = r[1] = (struct eval_lane){0, false};
      ir_put(w, d, l, r[0]);
      if (o->d.count == o->aux) continue;
      r[1].bits &= eval_mask(bits_of(w, &o->d.scalars[o->aux + i]));
      ir_put(w, &o->d.scalars[o->aux + i], l, r[1]);
    }
  }
}

/* in[0]: the start value, if there are two operands; the last: the vector. */
void ir_exec_reduce(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  const struct ir_value *v = &o->in[o->count - 1];
  const struct ir_scalar *d = &o->d.scalars[0];
  FOR_LANES(l, mask) {
    struct eval_lane x[2] = {ir_get(w, &o->in[0].scalars[0], l), {0, false}}, r[2];
    for (uint32_t i = o->count == 2 ? 0 : 1; i < v->count; i++) {
      x[1] = ir_get(w, &v->scalars[i], l);
      if (o->op != OP_COUNT) eval_lane(module_of(w), o->op, o->flags, 0, d->type, d->type, x, r);
      else eval_intrinsic_lane(module_of(w), o->intrinsic, o->flags, d->type, d->type, x, 2, r);
      x[0] = r[0];
    }
    ir_put(w, d, l, x[0]);
  }
}

/* Elementary functions, by the model of PTX's approximate instructions. */
static double approximate(enum intrinsic_id id, double x, double y) {
  static const double log2_e = 0x1.71547652b82fep+0, log2_10 = 0x1.a934f0979a371p+1;
  switch (id) {
    case INTRINSIC_sin:
    case INTRINSIC_sincos: return special_sin(x);
    case INTRINSIC_cos: return special_cos(x);
    case INTRINSIC_tan: return special_sin(x) / special_cos(x);
    case INTRINSIC_tanh:
    case INTRINSIC_nvvm_tanh_approx: return special_tanh(x);
    case INTRINSIC_exp: return special_exp2(x * log2_e);
    case INTRINSIC_exp2: return special_exp2(x);
    case INTRINSIC_exp10: return special_exp2(x * log2_10);
    case INTRINSIC_log: return special_log2(x) / log2_e;
    case INTRINSIC_log2: return special_log2(x);
    case INTRINSIC_log10: return special_log2(x) / log2_10;
    default: return special_exp2(y * special_log2(x)); /* pow */
  }
}

void ir_exec_approximate(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  uint32_t lanes = o->intrinsic == INTRINSIC_sincos ? o->d.count / 2 : o->d.count;
  for (uint32_t i = 0; i < o->d.count; i++) {
    const struct ir_scalar *d = &o->d.scalars[i];
    enum intrinsic_id id = i < lanes ? o->intrinsic : INTRINSIC_cos;
    enum float_format f = eval_format(type_kind(&module_of(w)->types, d->type));
    FOR_LANES(l, mask) {
      struct eval_lane x = ir_get(w, ir_lane(&o->in[0], i % lanes), l),
                       y = ir_get(w, ir_lane(&o->in[o->count - 1], i % lanes), l);
      double r = approximate(id, number_to_double(f, (uint64_t)x.bits),
                             number_to_double(f, (uint64_t)y.bits));
      uint64_t bits = number_from_double(f, r);
      ir_put(w, d, l, (struct eval_lane){bits, x.poison || y.poison});
    }
  }
}

/* --- moving ----------------------------------------------------------------------------------- */

static void move_row(struct warp *w, uint32_t to, uint32_t from, uint32_t mask) {
  uint64_t *d = row_of(w, to);
  const uint64_t *a = row_of(w, from);
  FOR_LANES(l, mask) d[l] = a[l];
}

void ir_exec_moves(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  for (uint32_t i = 0; i < o->d.count; i++) {
    const struct ir_scalar *d = &o->d.scalars[i], *s = &o->in[0].scalars[i];
    move_row(w, d->low, s->low, mask);
    if (d->high != NO_ROW) move_row(w, d->high, s->high, mask);
    if (!w->frame->undefined) continue;
    uint32_t poison = ir_poisoned(w, s->low);
    FOR_LANES(l, mask) undefined_set(w, d->low, l, poison >> l & 1);
  }
}

void ir_exec_poison(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    row_of(w, in->d)[l] = 0;
    undefined_set(w, in->d, l, true);
  }
}

/* Bits [at, at + count) of a value whose scalars are concatenated; poison if a scalar in the range
 * is. */
static struct eval_lane read_bits(const struct warp *w, const struct ir_value *v, uint64_t at,
                                  uint32_t count, unsigned lane) {
  struct eval_lane r = {0, false};
  uint64_t begin = 0;
  for (uint32_t i = 0; i < v->count && begin < at + count; i++) {
    uint32_t bits = bits_of(w, &v->scalars[i]);
    if (begin + bits > at) {
      struct eval_lane x = ir_get(w, &v->scalars[i], lane);
      r.poison |= x.poison;
      r.bits |= begin >= at ? x.bits << (begin - at) : x.bits >> (at - begin);
    }
    begin += bits;
  }
  r.bits &= eval_mask(count);
  return r;
}

void ir_exec_bitcast(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  uint64_t at = 0;
  for (uint32_t i = 0; i < o->d.count; i++) {
    uint32_t bits = bits_of(w, &o->d.scalars[i]);
    FOR_LANES(l, mask) ir_put(w, &o->d.scalars[i], l, read_bits(w, &o->in[0], at, bits, l));
    at += bits;
  }
}

/* A value into a register of a PTX instruction: in->d of in->bits bits, a predicate if it is 1. */
void ir_exec_to_reg(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    struct eval_lane v = read_bits(w, &in->ir->in[0], 0, in->bits, l);
    if (in->bits == 1) {
      mask_put(&w->preds[in->d], UINT32_C(1) << l, (uint32_t)(v.bits & 1) << l);
      continue;
    }
    row_of(w, in->d)[l] = (uint64_t)v.bits;
    if (in->bits == 128) row_of(w, in->d + 1)[l] = (uint64_t)(v.bits >> 64);
    ir_set_poisoned(w, in->d, l, v.poison);
  }
}

void ir_exec_from_reg(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_value *d = &in->ir->d;
  FOR_LANES(l, mask) {
    struct eval_lane v = {0, in->bits > 1 && (ir_poisoned(w, in->a) >> l & 1)};
    nvm_u128 all = in->bits == 1 ? w->preds[in->a] >> l & 1 : row_of(w, in->a)[l];
    if (in->bits == 128) all |= (nvm_u128)row_of(w, in->a + 1)[l] << 64;
    for (uint32_t i = 0; i < d->count; i++) {
      uint32_t bits = bits_of(w, &d->scalars[i]);
      v.bits = all & eval_mask(bits);
      ir_put(w, &d->scalars[i], l, v);
      all = bits < 128 ? all >> bits : 0;
    }
  }
}

/* The element of a vector at a variable index; beyond its end: poison. */
void ir_exec_extract(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  FOR_LANES(l, mask) {
    struct eval_lane index = ir_get(w, &o->in[1].scalars[0], l), v = {0, true};
    if (!index.poison && index.bits < o->in[0].count)
      v = ir_get(w, &o->in[0].scalars[index.bits], l);
    ir_put(w, &o->d.scalars[0], l, v);
  }
}

void ir_exec_insert(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  FOR_LANES(l, mask) {
    struct eval_lane index = ir_get(w, &o->in[2].scalars[0], l),
                     element = ir_get(w, &o->in[1].scalars[0], l);
    bool outside = index.poison || index.bits >= o->d.count;
    for (uint32_t i = 0; i < o->d.count; i++) {
      struct eval_lane v = i == index.bits ? element : ir_get(w, &o->in[0].scalars[i], l);
      v.poison |= outside;
      ir_put(w, &o->d.scalars[i], l, v);
    }
  }
}

/* --- addresses -------------------------------------------------------------------------------- */

/* All lanes at once, where the result cannot be poison: small indices that stay in the object.
 * False: not done. */
static bool offset_row(struct warp *w, const struct ir_op *o, uint32_t i, uint32_t mask) {
  const uint64_t half = UINT64_C(1) << 31, *p = row_of(w, ir_lane(&o->in[0], i)->low);
  uint64_t *d = row_of(w, o->d.scalars[i].low), sum[LANES] = {0}, large[LANES] = {0}, bad = 0;
  if (w->frame->undefined || o->flags & INST_NUW || bits_of(w, &o->d.scalars[i]) != 64)
    return false;
  for (uint32_t k = 1; k < o->count; k++) {
    const struct ir_scalar *s = ir_lane(&o->in[k], i);
    int64_t scale = o->scales[k];
    uint64_t fixed = scale < 0 ? (uint64_t)(-1 - scale) : 0,
             factor = scale < 0 ? 0 : (uint64_t)scale;
    unsigned shift = 64 - bits_of(w, s);
    if (s->high != NO_ROW || factor >= half || fixed + half >= 2 * half) return false;
    const uint64_t *a = row_of(w, s->low);
    for (unsigned l = 0; l < LANES; l++) {
      uint64_t index = (uint64_t)((int64_t)(a[l] << shift) >> shift);
      sum[l] += index * factor + fixed;
      large[l] |= (index + half) >> 32;
    }
  }
  FOR_LANES(l, mask) bad |= large[l] | ((p[l] + sum[l]) ^ p[l]) >> OBJECT_SHIFT;
  if (bad) return false;
  FOR_LANES(l, mask) d[l] = p[l] + sum[l];
  return true;
}

void ir_exec_gep(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  uint32_t terms = o->count - 1;
  for (uint32_t i = 0; i < o->d.count; i++) {
    if (offset_row(w, o, i, mask)) continue;
    FOR_LANES(l, mask) {
      struct eval_lane p = ir_get(w, ir_lane(&o->in[0], i), l), r = {0, p.poison};
      for (uint32_t k = 0; k < terms; k++) {
        const struct ir_scalar *s = ir_lane(&o->in[k + 1], i);
        struct eval_lane index = ir_get(w, s, l);
        int64_t scale = o->scales[k + 1];
        o->terms[k] = scale < 0 ? -1 - scale : eval_signed(index.bits, bits_of(w, s)) * scale;
        r.poison |= index.poison;
      }
      r.bits = ir_address_offset(o->flags, bits_of(w, &o->d.scalars[i]), (uint64_t)p.bits, o->terms,
                                 terms, &r.poison);
      ir_put(w, &o->d.scalars[i], l, r);
    }
  }
}

/* Null does not stay null, as in PTX. */
void ir_exec_cast_space(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  for (uint32_t i = 0; i < o->d.count; i++) FOR_LANES(l, mask) {
      struct eval_lane v = ir_get(w, &o->in[0].scalars[i], l);
      v.bits = (v.bits + (uint64_t)in->imm) & eval_mask(bits_of(w, &o->d.scalars[i]));
      ir_put(w, &o->d.scalars[i], l, v);
    }
}

/* --- control flow ----------------------------------------------------------------------------- */

void ir_exec_test(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_scalar *s = &in->ir->in[0].scalars[0];
  const uint64_t *a = row_of(w, s->low);
  uint32_t value = 0;
  uint32_t poison = ir_poisoned(w, s->low) & mask;
  if (poison && !undefined_check(w, s->low, lane_first(poison), "branches on %s")) return;
  FOR_LANES(l, mask) value |= (uint32_t)(a[l] & 1) << l;
  mask_put(&w->preds[in->d], mask, value);
}

void ir_exec_switch(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  const struct ir_scalar *s = &o->in[0].scalars[0];
  FOR_LANES(l, mask) {
    if (!undefined_check(w, s->low, l, "switches on %s")) return;
    nvm_u128 v = ir_get(w, s, l).bits;
    uint32_t k = 0;
    while (k < o->aux && o->cases[k] != v) k++;
    row_of(w, in->d)[l] = k;
  }
}

void ir_exec_unreachable(struct warp *w, const struct inst *in, uint32_t mask) {
  (void)in;
  finding_report(w, lane_first(mask), SIM_UNDEFINED, "executes 'unreachable'");
}

/* --- undefined values ------------------------------------------------------------------------- */

/* Poison is what eval.c says; this notes only where undefined values come from. */
uint32_t ir_exec_flow(uint32_t *masks, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  uint32_t any = undefined_mask(masks, in->a);
  for (uint32_t k = 0; k < o->count; k++)
    for (uint32_t i = 0; i < o->in[k].count; i++)
      any |= undefined_mask(masks, o->in[k].scalars[i].low);
  for (uint32_t i = 0; i < o->d.count; i++)
    undefined_put_mask(masks, o->d.scalars[i].low, mask,
                       in->flow & FLOW_EACH ? undefined_mask(masks, o->in[0].scalars[i].low) : any);
  if (in->flow & FLOW_D) undefined_put_mask(masks, in->d, mask, any);
  return any;
}
