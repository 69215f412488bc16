/* hoist-bases: adds the invariant part of an index to the base of the address before the loop.
 *
 *     loop:                                      q = p + 4 * row
 *       ... load p[row + x] ...          →     loop:
 *                                                ... load q[x] ...
 *
 * Purpose:   `a[row * n + index[i]]` adds the row in each iteration. Where the index advances by a
 *            known stride, lsr makes it a pointer; this is for the others, such as counters that
 *            may wrap before they are extended, and numbers from memory.
 * Algorithm: the affine form of an address (analysis/scev.h) is split into the base with the terms
 *            that are invariant in the innermost loop, which is computed before it, and the other
 *            terms, which are computed again at the access; early-cse joins what accesses share.
 *            An address changes if it takes fewer instructions of the loop then. Products of sums
 *            are expanded only if other terms then remain in the loop; otherwise the base keeps
 *            the product, which takes fewer instructions. (LLVM: licm's reassociation of
 *            getelementptrs.)
 * Requires:  loop-simplify; lsr before it, early-cse and dce after it.
 * Preserves: control flow, LCSSA form.
 * Cost:      linear in accesses, times MAX_BASES.
 * Omits:     parts of a base that could be hoisted further than the rest.
 * Tests:     check/opt/hoist-bases.nvir. */
#include "analysis/effects.h"
#include "analysis/scev.h"
#include "ir/build.h"
#include "ir/evalint.h"
#include "ir/gep.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"

enum { MAX_BASES = 8, MAX_VARIANT_TERMS = 2, MAX_DEPTH = 8, MAX_OFFSET = 1 << 20 /* bytes */ };

/* A base with invariant terms, computed before the loop. */
struct base {
  struct scev form;
  struct nvm_value pointer;
};

struct hoister {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  struct scev_env *scev, *whole; /* scev expands products of sums, whole keeps them */
  uint32_t n;                    /* the loop */
  struct base bases[MAX_BASES];
  uint32_t count;
};

static bool is_invariant(const struct hoister *h, struct nvm_value v) {
  return loops_is_invariant(&h->nest.loops, h->f, h->n, v);
}

/* Whether the term does not change in the loop. */
static bool is_invariant_term(const struct hoister *h, const struct scev_term *t) {
  bool advances = t->loop >= h->n && t->loop < h->nest.loops.data[h->n].end;
  return !advances && is_invariant(h, t->symbol) && is_invariant(h, t->factor);
}

/* Splits the form of an address into the base with invariant terms, and the other terms. False if
 * one of the two is empty, or another term is not a single symbol outside loops. */
static bool split(struct hoister *h, struct scev form, struct scev *base, struct scev *rest) {
  struct scev_term *terms = arena_alloc(h->env->arena, (form.count + 1) * 2 * sizeof *terms);
  if (!terms || form.width == 0 || value_is_none(form.base) || !is_invariant(h, form.base))
    return false;
  struct scev_term *others = terms + form.count;
  *base = form, *rest = (struct scev){.width = form.width, .terms = others};
  base->terms = terms, base->count = 0, base->constant = 0;
  for (uint32_t k = 0; k < form.count; k++) {
    const struct scev_term *t = &form.terms[k];
    if (is_invariant_term(h, t)) {
      terms[base->count++] = *t;
      continue;
    }
    if (t->loop || !value_is_none(t->factor) || rest->count == MAX_VARIANT_TERMS) return false;
    others[rest->count++] = *t;
  }
  return base->count && rest->count;
}

/* The instructions of the loop that compute v, extensions not counted: mul.wide does them. */
static uint32_t cost_of(const struct hoister *h, struct nvm_value v, uint32_t depth) {
  const struct nvm_inst *i = value_inst(h->f, v);
  uint32_t cost = 0;
  if (!i || depth == MAX_DEPTH || is_invariant(h, v)) return 0;
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_SUB:
      for (uint32_t k = 0; k < 2; k++) {
        cost += cost_of(h, inst_operand(h->f, i, k), depth + 1);
        cost -= cost && value_inst_of(h->f, inst_operand(h->f, i, k), OP_MUL); /* mad */
      }
      return 1 + cost;
    case OP_MUL:
    case OP_SHL:
      return 1 + cost_of(h, inst_operand(h->f, i, 0), depth + 1) +
             cost_of(h, inst_operand(h->f, i, 1), depth + 1);
    case OP_ZEXT:
    case OP_SEXT: return cost_of(h, inst_operand(h->f, i, 0), depth + 1);
    case OP_GEP: break;
    default: return 0;
  }
  struct gep_walk walk = gep_begin(h->f->module, i->aux);
  for (uint32_t k = 1; k < i->operand_count; k++) {
    struct nvm_value index = inst_operand(h->f, i, k);
    bool is_member;
    uint64_t step = gep_step(&walk, index, &is_member);
    if (is_member || value_kind(index) == VALUE_CONST) continue;
    cost += 1 + (step != 1 && !is_invariant(h, index)) + cost_of(h, index, depth + 1);
  }
  return cost + cost_of(h, inst_operand(h->f, i, 0), depth + 1);
}

static uint32_t cost_of_terms(struct scev rest) {
  uint32_t cost = 0;
  for (uint32_t k = 0; k < rest.count; k++) cost += 1 + (rest.terms[k].coefficient != 1);
  return cost;
}

/* Whether two forms differ by a constant. */
static bool is_near(struct scev a, struct scev b) {
  a.constant = b.constant = 0;
  return scev_equal(a, b);
}

static const struct base *find_base(const struct hoister *h, struct scev form) {
  for (uint32_t k = 0; k < h->count; k++)
    if (is_near(h->bases[k].form, form)) return &h->bases[k];
  return NULL;
}

/* The base, before the outermost loop in which it does not change; NULL if it cannot be computed,
 * or there are too many. */
static const struct base *make_base(struct hoister *h, struct scev_env *scev, struct scev form) {
  const struct base *known = find_base(h, form);
  if (known || h->count == MAX_BASES) return known;
  const struct loops *l = &h->nest.loops;
  struct nvm_block preheader = {0};
  for (uint32_t n = h->n; n && scev_is_invariant(scev, form, n); n = l->data[n].parent)
    if (!block_is_none(l->data[n].preheader)) preheader = l->data[n].preheader;
  if (block_is_none(preheader)) return NULL;
  struct nvm_value v = scev_expand(scev, h->f, form, block_terminator(h->f, preheader));
  if (value_is_none(v)) return NULL;
  h->bases[h->count++] = (struct base){form, v};
  return &h->bases[h->count - 1];
}

/* An address that the loop accesses and does not change is a base. */
static void note_base(struct hoister *h, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(h->f, id);
  uint32_t operand = inst_address_operand(i);
  if (operand == UINT32_MAX || h->count == MAX_BASES / 2) return;
  struct nvm_value pointer = inst_operand(h->f, i, operand);
  if (value_kind(pointer) != VALUE_INST || !is_invariant(h, pointer)) return;
  struct scev form = scev_of(h->scev, pointer);
  if (form.width && !value_is_none(form.base) && form.count)
    h->bases[h->count++] = (struct base){form, pointer};
}

static void visit(struct hoister *h, struct nvm_inst_id id) {
  struct nvm_function *f = h->f;
  const struct nvm_inst *i = function_inst(f, id);
  uint32_t operand = inst_address_operand(i);
  if (operand == UINT32_MAX) return;
  struct nvm_value pointer = inst_operand(f, i, operand);
  struct scev form, invariant, rest;
  if (value_kind(pointer) != VALUE_INST || is_invariant(h, pointer)) return;
  form = scev_of(h->scev, pointer);
  if (!split(h, form, &invariant, &rest) || cost_of(h, pointer, 0) <= cost_of_terms(rest)) return;
  struct scev_env *scev = h->scev;
  struct scev whole_form = scev_of(h->whole, pointer), whole, same_rest;
  const struct base *base = find_base(h, invariant);
  if (!base && split(h, whole_form, &whole, &same_rest) && scev_equal(rest, same_rest))
    scev = h->whole, form = whole_form, invariant = whole;
  if (!base) base = make_base(h, scev, invariant);
  if (!base) return;
  int64_t offset = (int64_t)((uint64_t)form.constant - (uint64_t)base->form.constant);
  if (offset < -MAX_OFFSET || offset > MAX_OFFSET) return;
  struct nvm_value bytes = scev_expand(h->scev, f, rest, id);
  struct builder at = builder_before(f, id);
  pointer = builder_offset(&at, builder_gep(&at, base->pointer, bytes), offset);
  if (value_is_none(pointer)) return;
  inst_set_operand(f, id, operand, pointer);
  ++*h->env->statistic;
}

/* Calls visit for the instructions of the loop that are in no inner loop and not new. */
static void for_each_own(struct hoister *h, uint32_t count,
                         void (*visit_inst)(struct hoister *, struct nvm_inst_id)) {
  const struct loops *l = &h->nest.loops;
  const struct loop *loop = &l->data[h->n];
  for (uint32_t k = loop->first_block; k < loop->first_block + loop->block_count; k++) {
    if (l->innermost[l->blocks[k].index] != h->n) continue;
    FOR_EACH_INST (h->f, l->blocks[k], i)
      if (i.index < count) visit_inst(h, i);
  }
}

enum nvm_status hoist_bases_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct hoister h = {.f = f, .env = env};
  if (!loop_nest_of(&h.nest, f, env)) return NVM_OUT_OF_MEMORY;
  uint32_t count = f->insts.count;
  const struct loops *l = &h.nest.loops;
  if (l->count == 0) return NVM_OK;
  h.scev = scev_init(f, l, &h.nest.d, env->arena);
  h.whole = scev_init(f, l, &h.nest.d, env->arena);
  if (!h.scev || !h.whole) return NVM_OUT_OF_MEMORY;
  scev_split_products(h.scev);
  for (h.n = 1; h.n <= l->count; h.n++) {
    h.count = 0;
    if (block_is_none(l->data[h.n].preheader)) continue;
    for_each_own(&h, count, note_base);
    for_each_own(&h, count, visit);
  }
  /* Of an address that can be computed in part only, that part has been inserted. */
  *changed = f->insts.count != count;
  return env->arena->failed ? NVM_OUT_OF_MEMORY : NVM_OK;
}
