/* indvars: one induction variable for several that advance together, and comparisons decided by
 * scalar evolution.
 *
 * Purpose:   `for (i = 0, j = 1; …; i++, j++) assert(i <= j)` keeps two registers and a test that
 *            is always true, and the test keeps the loop.
 * Algorithm: a header's phi with the same form as another one (analysis/scev.h) is replaced by
 *            it; an integer phi that differs by a constant from a phi whose next value decides
 *            the latch's branch, by a sum. A comparison in a loop, of a value that changes there,
 *            is folded if the difference of its operands is a constant, if the branches that
 *            dominate it imply it, or if it holds in the first iteration and by induction in
 *            the next ones (LLVM's IndVarSimplify: replaceCongruentIVs, eliminateIVComparison). A
 *            narrow phi that is only read extended to 64 bits is counted in 64 bits, which saves
 *            an extension in each iteration; one that is also read otherwise stays.
 * Requires:  loop-simplify; loop-rotate before it, so that a guard implies the first test.
 * Preserves: control flow.
 * Cost:      linear, times MAX_PHIS per phi and the branches that scev_holds() visits per test.
 * Omits:     phis of different width; constant differences of pointers, which lsr knows.
 * Tests:     check/opt/indvars. */
#include "analysis/ranges.h"
#include "analysis/scev.h"
#include "analysis/uses.h"
#include "ir/build.h"
#include "ir/evalint.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_PHIS = 16 };

struct simplifier {
  struct nvm_function *f;
  struct loop_nest nest;
  struct scev_env *scev;
  struct rewrite rewrite;
  struct uses uses; /* on demand, of the function before the pass */
  uint32_t n;
  const struct loop *loop;
};

/* --- congruent phis --------------------------------------------------------------------------- */

static struct nvm_value entry(const struct simplifier *s, struct nvm_inst_id phi, bool next) {
  return phi_incoming(s->f, phi, next ? s->loop->latch : s->loop->preheader);
}

/* Whether the latch's branch compares the phi's next value: then that is never poison in a
 * following iteration. */
static bool is_tested(const struct simplifier *s, struct nvm_inst_id phi) {
  const struct nvm_function *f = s->f;
  const struct nvm_inst *t = function_inst(f, block_terminator(f, s->loop->latch));
  const struct nvm_inst *test =
      t->op == OP_CONDBR ? value_inst_of(f, inst_operand(f, t, 0), OP_ICMP) : NULL;
  struct nvm_value next = entry(s, phi, true);
  return test && (value_equal(inst_operand(f, test, 0), next) ||
                  value_equal(inst_operand(f, test, 1), next));
}

/* Whether the phi's first value is poison only if all values of its form are. */
static bool starts_plainly(struct simplifier *s, struct nvm_inst_id phi) {
  struct nvm_value start = entry(s, phi, false);
  struct scev form = scev_of(s->scev, start);
  return value_kind(start) == VALUE_CONST || value_equal(form.base, start) ||
         (form.count == 1 && value_equal(form.terms[0].symbol, start));
}

/* The instruction that adds the phi's step; NULL: none adds it to the phi itself. */
static struct nvm_inst *step_of(const struct simplifier *s, struct nvm_inst_id phi) {
  const struct nvm_inst *next = value_inst(s->f, entry(s, phi, true));
  if (!next || (next->op != OP_ADD && next->op != OP_SUB && next->op != OP_GEP) ||
      !value_equal(inst_operand(s->f, next, 0), value_of_inst(phi)))
    return NULL;
  return function_inst(s->f, value_inst_id(entry(s, phi, true)));
}

/* Makes `phi` nowhere poison where `other`, of the same form, is not; false if it may be. */
static bool make_leader(struct simplifier *s, struct nvm_inst_id phi, struct nvm_inst_id other) {
  if (!value_equal(entry(s, phi, false), entry(s, other, false)) && !starts_plainly(s, phi))
    return false;
  if (is_tested(s, phi)) return true;
  struct nvm_inst *x = step_of(s, phi), *y = step_of(s, other);
  if (!x || !y || x->op != y->op || x->aux != y->aux || x->operand_count != y->operand_count)
    return false;
  for (uint32_t k = 1; k < x->operand_count; k++)
    if (!value_equal(inst_operand(s->f, x, k), inst_operand(s->f, y, k))) return false;
  x->flags &= y->flags;
  return true;
}

/* phi + d, which is `other`; VALUE_NULL if that does not pay: the next value of `other` has more
 * uses. */
static struct nvm_value sum_for(struct simplifier *s, struct nvm_inst_id phi,
                                struct nvm_inst_id other, int64_t d) {
  struct nvm_function *f = s->f;
  struct nvm_type type = function_inst(f, other)->type;
  struct nvm_value next = entry(s, other, true);
  struct scev a = scev_of(s->scev, value_of_inst(phi)), b = scev_of(s->scev, value_of_inst(other));
  bool leads_back = scev_equal(scev_of(s->scev, next), a);
  if (!type_is_int(&f->module->types, type) || !is_tested(s, phi) || !starts_plainly(s, phi) ||
      value_kind(next) != VALUE_INST || (!leads_back && f->uses.data[value_index(next)] > 1))
    return VALUE_NULL;
  /* The first values are exact: so are the others. */
  bool exact = value_kind(entry(s, phi, false)) == VALUE_CONST &&
               value_kind(entry(s, other, false)) == VALUE_CONST && a.constant + d == b.constant;
  uint16_t flags = exact && a.no_signed_wrap && b.no_signed_wrap ? INST_NSW : 0;
  struct nvm_inst_id at = block_first_after_phis(f, s->loop->header);
  struct builder x = builder_located(builder_before(f, at), other);
  struct nvm_value by = const_int(f->module, type, evalint_zext(a.width, (uint64_t)d));
  struct nvm_value operands[2] = {value_of_inst(phi), by};
  return builder_add(&x, OP_ADD, flags, type, operands, 2, 0);
}

/* Replaces `other` if it is `phi`, or a constant more. */
static void merge(struct simplifier *s, struct nvm_inst_id phi, struct nvm_inst_id other) {
  struct nvm_function *f = s->f;
  if (!type_equal(function_inst(f, phi)->type, function_inst(f, other)->type)) return;
  struct scev d = scev_subtract(s->scev, scev_of(s->scev, value_of_inst(other)),
                                scev_of(s->scev, value_of_inst(phi)));
  if (!scev_is_constant(d)) return;
  if (d.constant) rewrite_set(&s->rewrite, other, sum_for(s, phi, other, d.constant));
  else if (make_leader(s, phi, other)) rewrite_set(&s->rewrite, other, value_of_inst(phi));
}

static void merge_phis(struct simplifier *s) {
  struct nvm_inst_id phis[MAX_PHIS];
  uint32_t count = 0;
  FOR_EACH_PHI (s->f, s->loop->header, i) {
    struct scev form = scev_of(s->scev, value_of_inst(i));
    if (count < MAX_PHIS && form.width && !scev_is_invariant(s->scev, form, s->n))
      phis[count++] = i;
  }
  for (uint32_t turn = 0; turn < 2; turn++) /* tested ones lead first */
    for (uint32_t k = 0; k < count; k++) {
      if (rewrite_is_set(&s->rewrite, phis[k]) || is_tested(s, phis[k]) == (turn == 1)) continue;
      for (uint32_t other = 0; other < count; other++)
        if (other != k && !rewrite_is_set(&s->rewrite, phis[other])) merge(s, phis[k], phis[other]);
    }
}

/* --- comparisons ------------------------------------------------------------------------------ */

/* Whether v is an integer phi of the loop's header: its first value has not wrapped. */
static bool is_header_phi(const struct simplifier *s, struct nvm_value v) {
  const struct nvm_inst *i = value_inst_of(s->f, v, OP_PHI);
  return i && i->block.index == s->loop->header.index && type_is_int(&s->f->module->types, i->type);
}

/* Whether `x predicate y` holds in block `at` of the loop. */
static bool holds(struct simplifier *s, struct nvm_block at, enum icmp_predicate predicate,
                  struct nvm_value x, struct nvm_value y) {
  struct scev a = scev_of(s->scev, x), b = scev_of(s->scev, y);
  return scev_holds(s->scev, at, predicate, a, b) ||
         scev_holds_always(s->scev, s->n, predicate, a, is_header_phi(s, x), b) ||
         scev_holds_always(s->scev, s->n, icmp_swapped(predicate), b, is_header_phi(s, y), a);
}

static void fold_comparison(struct simplifier *s, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(s->f, i);
  enum icmp_predicate predicate = (enum icmp_predicate)inst->aux;
  struct nvm_block at = inst->block;
  struct nvm_value x = inst_operand(s->f, inst, 0), y = inst_operand(s->f, inst, 1);
  struct scev a = scev_of(s->scev, x), b = scev_of(s->scev, y);
  if (a.width == 0 || a.width != b.width ||
      (scev_is_invariant(s->scev, a, s->n) && scev_is_invariant(s->scev, b, s->n)))
    return;
  struct scev d = scev_subtract(s->scev, a, b);
  bool yes, no;
  if (scev_is_constant(d) && (d.constant == 0 || predicate == ICMP_EQ || predicate == ICMP_NE)) {
    uint64_t by = evalint_zext(a.width, (uint64_t)d.constant);
    yes = range_compare(predicate, range_unsigned(a.width, by, by),
                        range_unsigned(a.width, 0, 0)) == 1;
    no = !yes;
  } else {
    yes = holds(s, at, predicate, x, y);
    no = !yes && holds(s, at, icmp_inverse(predicate), x, y);
  }
  if (yes || no) rewrite_set(&s->rewrite, i, const_int(s->f->module, TYPE_I1, yes));
}

/* Visits the blocks of the loop that are in no inner loop. */
static void fold_comparisons(struct simplifier *s) {
  const struct loops *l = &s->nest.loops;
  for (uint32_t k = s->loop->first_block, end = k + s->loop->block_count; k < end; k++) {
    const struct loop *inner = &l->data[l->innermost[l->blocks[k].index]];
    if (inner != s->loop) k = inner->first_block + inner->block_count - 1;
    else
      FOR_EACH_INST (s->f, l->blocks[k], i)
        if (function_inst(s->f, i)->op == OP_ICMP) fold_comparison(s, i);
  }
}

/* --- extended phis ---------------------------------------------------------------------------- */

/* Whether all uses of v but those by phi and next, its step, extend it to 64 bits and can read
 * `extension` of it instead. */
static bool is_only_extended(const struct simplifier *s, struct nvm_value v, struct nvm_inst_id phi,
                             struct nvm_inst_id next, enum op extension) {
  for (uint32_t u = s->uses.first[value_index(v)]; u < s->uses.first[value_index(v) + 1]; u++) {
    struct nvm_inst_id user = s->uses.users[u];
    const struct nvm_inst *i = function_inst(s->f, user);
    if (user.index == phi.index || user.index == next.index) continue;
    bool same =
        i->op == extension || (extension == OP_SEXT && i->op == OP_ZEXT && (i->flags & INST_NNEG));
    if (!same || !type_equal(i->type, TYPE_I64)) return false;
  }
  return true;
}

static void replace_extensions(struct simplifier *s, struct nvm_value narrow,
                               struct nvm_value wide) {
  uint32_t at = value_index(narrow);
  for (uint32_t u = s->uses.first[at]; u < s->uses.first[at + 1]; u++) {
    enum op op = (enum op)function_inst(s->f, s->uses.users[u])->op;
    if (op == OP_SEXT || op == OP_ZEXT) rewrite_set(&s->rewrite, s->uses.users[u], wide);
  }
}

/* The phi counts in 64 bits if it and its next value are only read extended and do not wrap. */
static void widen(struct simplifier *s, struct nvm_inst_id phi) {
  struct nvm_function *f = s->f;
  const struct type_table *t = &f->module->types;
  const struct nvm_inst *step = step_of(s, phi);
  struct nvm_value narrow = value_of_inst(phi), next = entry(s, phi, true);
  if (!step || step->op != OP_ADD || !type_is_int(t, step->type) ||
      type_scalar_bits(t, step->type) >= 64 || value_kind(inst_operand(f, step, 1)) != VALUE_CONST)
    return;
  enum op extension = step->flags & INST_NUW ? OP_ZEXT : OP_SEXT;
  struct nvm_inst_id id = value_inst_id(next);
  uint16_t flags = step->flags;
  if (extension == OP_ZEXT && is_only_extended(s, narrow, phi, id, OP_ZEXT) &&
      is_only_extended(s, next, phi, id, OP_ZEXT))
    flags |= INST_NSW;
  else extension = OP_SEXT;
  if (extension == OP_SEXT &&
      (!(flags & INST_NSW) || !is_only_extended(s, narrow, phi, id, OP_SEXT) ||
       !is_only_extended(s, next, phi, id, OP_SEXT)))
    return;
  if (f->uses.data[phi.index] + f->uses.data[id.index] <= 2) return; /* nothing is extended */
  struct nvm_value by = inst_operand(f, step, 1);
  nvm_u128 bits = 0;
  const_is_int(f->module, by, &bits);
  by = const_int(f->module, TYPE_I64,
                 extension == OP_ZEXT ? (uint64_t)bits : (uint64_t)const_int_signed(f->module, by));
  struct builder before = builder_before(f, block_terminator(f, s->loop->preheader)),
                 header = builder_located(builder_at_start(f, s->loop->header), phi),
                 at = builder_located(builder_before(f, id), id);
  struct nvm_value start = builder_unary(&before, extension, TYPE_I64, entry(s, phi, false));
  struct nvm_value entries[4] = {start, value_of_block(s->loop->preheader), start,
                                 value_of_block(s->loop->latch)};
  struct nvm_value wide = builder_phi(&header, TYPE_I64, entries, 4), sum[2] = {wide, by};
  struct nvm_value wide_next = builder_add(&at, OP_ADD, flags, TYPE_I64, sum, 2, 0);
  if (value_is_none(wide_next)) return;
  inst_set_operand(f, value_inst_id(wide), 2, wide_next);
  replace_extensions(s, narrow, wide);
  replace_extensions(s, next, wide_next);
}

static bool widen_phis(struct simplifier *s, struct arena *arena) {
  FOR_EACH_PHI (s->f, s->loop->header, phi) {
    const struct nvm_inst *i = function_inst(s->f, phi);
    if (phi.index >= s->rewrite.size || !type_is_int(&s->f->module->types, i->type) ||
        rewrite_is_set(&s->rewrite, phi))
      continue;
    if (!s->uses.first && !uses_build(&s->uses, s->f, arena)) return false;
    widen(s, phi);
  }
  return true;
}

enum nvm_status indvars_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct simplifier s = {.f = f};
  if (!loop_nest_of(&s.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (s.nest.loops.count == 0) return NVM_OK;
  s.scev = scev_init(f, &s.nest.loops, &s.nest.d, env->arena);
  if (!s.scev || !rewrite_init(&s.rewrite, f, env->arena)) return NVM_OUT_OF_MEMORY;
  for (s.n = 1; s.n <= s.nest.loops.count; s.n++) {
    s.loop = &s.nest.loops.data[s.n];
    if (block_is_none(s.loop->preheader) || block_is_none(s.loop->latch)) continue;
    fold_comparisons(&s);
    merge_phis(&s);
    if (!widen_phis(&s, env->arena)) return NVM_OUT_OF_MEMORY;
  }
  if (env->arena->failed) return NVM_OUT_OF_MEMORY;
  *env->statistic += s.rewrite.count;
  *changed = s.rewrite.count > 0;
  rewrite_apply(&s.rewrite);
  return NVM_OK;
}
