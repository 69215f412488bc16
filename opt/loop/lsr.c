/* lsr: addresses in a loop become advancing pointers and constant offsets (strength reduction).
 *
 * Purpose:   PTX addresses are [register + constant]. `p[i]` in a loop costs a widening
 *            multiplication and an addition per access and iteration; an advancing pointer costs
 *            one addition per iteration, and neighbours (p[i + 1], struct members, unrolled
 *            copies) are offsets from it.
 * Algorithm: accesses with affine addresses are grouped by base and strides; members of a group
 *            differ by constants. Each group gets a phi in the header. It starts at the address of
 *            the group's first access in the first iteration (its computation is copied to the
 *            preheader, with the start values of the loop's phis), and advances by the stride, a
 *            number or an invariant value. A group without an access in every iteration needs at
 *            least MIN_CONDITIONAL accesses. Of rows a symbolic stride apart, at most MAX_RELATIVES
 *            get pointers; share-addresses computes the other addresses from them. Then integer
 *            sums in every iteration that are affine modulo 2^width become phis too, if that saves
 *            at least MIN_SAVED instructions: an index that may wrap has to be extended in each
 *            iteration, but not to be computed. Finally, parts of starts that are invariant in an
 *            enclosing loop are hoisted out of it.
 * Requires:  loop-simplify; vectorization before it; unrolling, combine and dce afterwards.
 * Preserves: control flow, LCSSA form.
 * Cost:      linear; at most MAX_POINTERS groups per loop, which also bounds the registers (two
 *            each).
 * Omits:     single conditional accesses and sums; exit tests; pointers of outer loops.
 * Tests:     check/opt/lsr-*. */
#include "analysis/divergence.h"
#include "analysis/scev.h"
#include "ir/build.h"
#include "ir/evalint.h"
#include "analysis/effects.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_POINTERS = 12, MAX_COPIED = 24, MAX_OFFSET = 1 << 20, MIN_CONDITIONAL = 2 };
enum { MAX_RELATIVES = 2 }; /* pointers that are a stride apart */
enum { MIN_ARRAYS = 3, MIN_BODY = 32, MAX_BASE_DEPTH = 8 };
enum { MAX_SUMS = 4, MIN_SAVED = 2, MIN_HOISTED = 3 };

struct group {
  struct scev form;               /* of the first access */
  struct nvm_inst_id first;       /* the first unconditional access; {0}: none */
  struct nvm_inst_id conditional; /* otherwise the first one */
  uint32_t conditional_count;     /* number of conditional accesses */
  struct nvm_value pointer;       /* the phi, whose offset is that of `form` */
};

struct access {
  struct nvm_inst_id inst;
  uint32_t group;
  int64_t constant;
};

struct sum {
  struct scev form; /* of the phi */
  struct nvm_value phi;
};

struct reducer {
  struct nvm_function *f;
  struct pass_env *env;
  struct loop_nest nest;
  struct scev_env *scev;
  struct loop_copy copy;
  uint32_t n;
  const struct loop *loop;
  struct group groups[MAX_POINTERS];
  uint32_t group_count, copied;
  VEC(struct access) accesses;
  struct sum sums[MAX_SUMS];
  uint32_t sum_count;
  struct part *parts; /* by instruction of the function before the pass */
  uint32_t part_count;
  struct rewrite rewrite;
  bool changed;
};

/* What is known of an instruction as a part of sums. */
struct part {
  uint32_t dead_uses; /* uses by instructions of the loop that are dead */
  uint32_t saved;     /* instructions of the loop that compute only it; 0: not affine */
  bool is_inner;      /* it counts as a part of its user */
  bool is_kept;       /* a value of the next iteration, or compared to leave the loop */
  uint8_t depth;      /* 1 + the least depth at which keep_address() came here; 0: it did not */
};

/* Whether v is an advancing pointer, or a constant offset from one. */
static bool is_reduced(const struct reducer *r, struct nvm_value v) {
  while (value_kind(v) == VALUE_INST) {
    const struct nvm_inst *i = function_inst(r->f, (struct nvm_inst_id){value_index(v)});
    if (i->op == OP_PHI) return i->block.index == r->loop->header.index;
    if (i->op != OP_GEP) return false;
    for (uint32_t k = 1; k < i->operand_count; k++)
      if (value_kind(inst_operand(r->f, i, k)) != VALUE_CONST) return false;
    v = inst_operand(r->f, i, 0);
  }
  return false;
}

/* The part of the form that changes with the loop; false if there is none, or the rest is not
 * invariant. */
static bool split_step(struct reducer *r, struct scev form, struct scev *step) {
  *step = (struct scev){.width = form.width};
  struct scev rest = form;
  struct scev_term *terms = arena_alloc(r->env->arena, (form.count + 1) * 2 * sizeof *terms);
  if (!terms) return false;
  struct scev_term *moving = terms + form.count;
  rest.count = 0;
  rest.terms = terms;
  step->terms = moving;
  for (uint32_t k = 0; k < form.count; k++) {
    struct scev_term t = form.terms[k];
    if (t.loop != r->n) {
      terms[rest.count++] = t;
      continue;
    }
    t.loop = 0;
    if (value_is_none(t.symbol))
      step->constant = evalint_wrapping_add(step->constant, t.coefficient);
    else moving[step->count++] = t;
  }
  return (step->count || step->constant) && scev_is_invariant(r->scev, rest, r->n) &&
         scev_is_invariant(r->scev, *step, r->n);
}

static struct scev without_constant(struct scev a) {
  a.constant = 0;
  return a;
}

/* Whether the group, by its accesses seen so far, gets a pointer and is accessed in every iteration
 * that reaches b. */
static bool is_accessed_before(const struct reducer *r, const struct group *g, struct nvm_block b) {
  if (!inst_is_none(g->first)) return true;
  return g->conditional_count >= MIN_CONDITIONAL &&
         dominance_dominates(&r->nest.d, function_inst(r->f, g->conditional)->block, b);
}

/* Whether MAX_RELATIVES groups differ from the form, the address of an access in b, by a constant
 * and a multiple of an invariant symbol: share-addresses adds that to one of their pointers. */
static bool has_relatives(struct reducer *r, struct scev form, struct nvm_block b) {
  uint32_t count = 0;
  for (uint32_t g = 0; g < r->group_count; g++) {
    struct scev d = scev_subtract(r->scev, form, r->groups[g].form);
    count += d.width && d.count == 1 && scev_is_invariant(r->scev, d, r->n) &&
             is_accessed_before(r, &r->groups[g], b);
  }
  return count >= MAX_RELATIVES;
}

/* The group of the form, the address of an access in b; a new one if there is room, else
 * UINT32_MAX. */
static uint32_t find_group(struct reducer *r, struct scev form, struct nvm_block b) {
  struct scev step;
  for (uint32_t g = 0; g < r->group_count; g++) {
    int64_t distance = (int64_t)((uint64_t)form.constant - (uint64_t)r->groups[g].form.constant);
    if (distance >= -MAX_OFFSET && distance <= MAX_OFFSET &&
        scev_equal(without_constant(form), without_constant(r->groups[g].form)))
      return g;
  }
  if (r->group_count == MAX_POINTERS || has_relatives(r, form, b) || !split_step(r, form, &step))
    return UINT32_MAX;
  r->groups[r->group_count] = (struct group){.form = form};
  return r->group_count++;
}

static struct part *part_of(struct reducer *r, struct nvm_value v) {
  bool is_old = value_kind(v) == VALUE_INST && value_index(v) < r->part_count;
  return is_old ? &r->parts[value_index(v)] : NULL;
}

static void keep(struct reducer *r, struct nvm_value v) {
  struct part *p = part_of(r, v);
  if (p) p->is_kept = true;
}

/* Keeps what an address is computed from: share-addresses subtracts it from another one's. */
static void keep_address(struct reducer *r, struct nvm_value v, uint32_t depth) {
  enum { MAX_DEPTH = 5 };
  const struct nvm_inst *i = value_inst(r->f, v);
  struct part *p = part_of(r, v);
  if (!i || i->op == OP_PHI || depth == MAX_DEPTH) return;
  if (p) {
    if (p->depth && p->depth <= depth + 1) return;
    p->depth = (uint8_t)(depth + 1);
    p->is_kept = true;
  }
  for (uint32_t k = 0; k < i->operand_count; k++)
    keep_address(r, inst_operand(r->f, i, k), depth + 1);
}

static bool collect(struct reducer *r) {
  const struct loops *l = &r->nest.loops;
  r->group_count = r->accesses.count = 0;
  for (uint32_t k = r->loop->first_block, end = k + r->loop->block_count; k < end; k++) {
    struct nvm_block b = l->blocks[k];
    const struct loop *inner = &l->data[l->innermost[b.index]];
    if (inner != r->loop) { /* inner loops are skipped */
      k = inner->first_block + inner->block_count - 1;
      continue;
    }
    FOR_EACH_INST (r->f, b, i) {
      const struct nvm_inst *inst = function_inst(r->f, i);
      uint32_t operand = inst_address_operand(inst);
      if (operand == UINT32_MAX) continue;
      struct nvm_value pointer = inst_operand(r->f, inst, operand);
      if (loops_is_invariant(l, r->f, r->n, pointer) || is_reduced(r, pointer)) continue;
      struct scev form = scev_of(r->scev, pointer);
      uint32_t g = form.width && !value_is_none(form.base) ? find_group(r, form, b) : UINT32_MAX;
      if (g == UINT32_MAX && form.width && has_relatives(r, form, b)) keep_address(r, pointer, 0);
      if (g == UINT32_MAX) continue;
      struct access a = {i, g, form.constant};
      if (!VEC_PUSH(r->env->arena, &r->accesses, a)) return false;
      struct group *group = &r->groups[g];
      bool always = dominance_dominates(&r->nest.d, b, r->loop->latch);
      if (inst_is_none(group->conditional)) group->conditional = i;
      group->conditional_count += !always;
      if (always && inst_is_none(group->first)) {
        group->first = i;
        group->form = form;
      }
    }
  }
  return true;
}

/* The value of v in the first iteration, computed in the preheader; VALUE_NULL: too much to copy,
 * which bounds the recursion. */
static struct nvm_value at_start(struct reducer *r, struct nvm_value v) {
  struct nvm_function *f = r->f;
  if (loops_is_invariant(&r->nest.loops, f, r->n, v)) return v;
  struct nvm_inst_id id = {value_index(v)};
  if (id.index < r->copy.value_count && !value_is_none(r->copy.values[id.index]))
    return r->copy.values[id.index];
  const struct nvm_inst *i = function_inst(f, id);
  if (i->op == OP_PHI)
    return i->block.index == r->loop->header.index ? phi_incoming(f, id, r->loop->preheader)
                                                   : VALUE_NULL;
  if (!effects_is_speculatable(f, i) || ++r->copied > MAX_COPIED) return VALUE_NULL;
  for (uint32_t k = 0; k < function_inst(f, id)->operand_count; k++)
    if (value_is_none(at_start(r, inst_operand(f, function_inst(f, id), k)))) return VALUE_NULL;
  struct nvm_inst_id made = loop_copy_inst(&r->copy, f, id);
  if (inst_is_none(made)) return VALUE_NULL;
  for (uint32_t k = 0; k < function_inst(f, made)->operand_count; k++)
    inst_set_operand(f, made, k, at_start(r, inst_operand(f, function_inst(f, id), k)));
  inst_insert_before(f, made, block_terminator(f, r->loop->preheader));
  return value_of_inst(made);
}

/* Makes the pointer of a group, if its start and step can be computed. */
static void make_pointer(struct reducer *r, struct group *g) {
  struct nvm_function *f = r->f;
  struct scev step;
  bool always = !inst_is_none(g->first);
  if ((!always && g->conditional_count < MIN_CONDITIONAL) || !split_step(r, g->form, &step)) return;
  struct nvm_inst_id before = block_terminator(f, r->loop->preheader);
  const struct nvm_inst *i = function_inst(f, always ? g->first : g->conditional);
  struct nvm_value address = inst_operand(f, i, inst_address_operand(i));
  r->copied = 0;
  /* A conditional address may be poison in the first iteration; its form is not. */
  struct nvm_value start =
      always ? at_start(r, address)
             : scev_expand(r->scev, f, scev_at_start(r->scev, g->form, r->n), before);
  if (value_is_none(start)) return;
  struct nvm_value bytes = scev_expand(r->scev, f, step, before);
  if (value_is_none(bytes)) return;
  struct nvm_value operands[4] = {start, value_of_block(r->loop->preheader), start,
                                  value_of_block(r->loop->latch)};
  struct builder header = builder_at_start(f, r->loop->header),
                 latch = builder_before(f, block_terminator(f, r->loop->latch));
  g->pointer = builder_phi(&header, value_type(f, address), operands, 4);
  struct nvm_value next = builder_gep(&latch, g->pointer, bytes);
  if (value_is_none(next)) return;
  inst_set_operand(f, value_inst_id(g->pointer), 2, next);
  ++*r->env->statistic;
  r->changed = true;
}

static bool is_innermost(const struct reducer *r) { return r->loop->end == r->n + 1; }

/* Whether the loop has at least MIN_BODY instructions. */
static bool has_large_body(const struct reducer *r) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < r->loop->block_count && count < MIN_BODY; k++)
    FOR_EACH_INST (r->f, r->nest.loops.blocks[r->loop->first_block + k], i) count++;
  return count >= MIN_BODY;
}

/* Whether the groups access uniform arrays at the same index, but for a constant. */
static bool share_index(const struct reducer *r, const struct group *a, const struct group *b) {
  struct scev x = without_constant(a->form), y = without_constant(b->form);
  y.base = x.base;
  return scev_equal(x, y) &&
         divergence_is_absent(r->f, &r->nest.loops, r->loop->header, b->form.base, MAX_BASE_DEPTH);
}

/* Whether the group belongs to at least MIN_ARRAYS that share an index. */
static bool is_one_of_many(const struct reducer *r, const struct group *g) {
  uint32_t count = 0;
  if (!share_index(r, g, g)) return false;
  for (uint32_t k = 0; k < r->group_count; k++) count += share_index(r, g, &r->groups[k]);
  return count >= MIN_ARRAYS;
}

static void make_pointers(struct reducer *r) {
  bool is_large = r->group_count >= MIN_ARRAYS && has_large_body(r);
  bool is_shared[MAX_POINTERS] = {false};
  for (uint32_t g = 0; is_large && g < r->group_count; g++)
    is_shared[g] = is_one_of_many(r, &r->groups[g]);
  for (uint32_t g = 0; g < r->group_count; g++)
    if (!is_shared[g]) make_pointer(r, &r->groups[g]);
}

static void use_pointers(struct reducer *r) {
  struct nvm_function *f = r->f;
  for (uint32_t k = 0; k < r->accesses.count; k++) {
    struct access a = r->accesses.data[k];
    const struct group *g = &r->groups[a.group];
    if (value_is_none(g->pointer)) continue;
    uint64_t distance = (uint64_t)a.constant - (uint64_t)g->form.constant;
    struct nvm_value pointer = g->pointer;
    struct nvm_type offset = type_int(&f->module->types, g->form.width);
    if (g->form.width < 64) distance &= (UINT64_C(1) << g->form.width) - 1;
    struct builder at = builder_before(f, a.inst);
    if (distance) pointer = builder_gep(&at, pointer, const_int(f->module, offset, distance));
    inst_set_operand(f, a.inst, inst_address_operand(function_inst(f, a.inst)), pointer);
  }
}

/* --- integer sums ----------------------------------------------------------------------------- */

static uint32_t live_uses(const struct reducer *r, struct nvm_inst_id i) {
  uint32_t uses = r->f->uses.data[i.index];
  return i.index < r->part_count ? uses - r->parts[i.index].dead_uses : uses;
}

/* Visits a block after those that use its values: marks what the test at its end compares, if that
 * leaves the loop, and counts uses by dead instructions. */
static void count_uses(struct reducer *r, struct nvm_block b) {
  struct nvm_function *f = r->f;
  const struct nvm_inst *end = function_inst(f, block_terminator(f, b));
  const struct nvm_inst *test =
      end->op == OP_CONDBR ? value_inst_of(f, inst_operand(f, end, 0), OP_ICMP) : NULL;
  for (uint32_t k = 0; test && k < 2; k++) {
    if (loops_contains(&r->nest.loops, r->n, block_successor(f, b, k))) continue;
    keep(r, inst_operand(f, test, 0));
    keep(r, inst_operand(f, test, 1));
  }
  for (struct nvm_inst_id i = function_block(f, b)->last; !inst_is_none(i);
       i = function_inst(f, i)->previous) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->op == OP_PHI || live_uses(r, i) || effects_must_stay(f, inst)) continue;
    for (uint32_t k = 0; k < inst->operand_count; k++) {
      struct part *p = part_of(r, inst_operand(f, inst, k));
      if (p) p->dead_uses++;
    }
  }
}

/* Counts the instructions that compute only i, if i is affine. A product that is added is none: it
 * becomes a part of a mad. */
static void weigh(struct reducer *r, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(r->f, i);
  struct part *p = part_of(r, value_of_inst(i));
  struct scev step;
  bool sums = inst->op == OP_ADD || inst->op == OP_SUB || inst->op == OP_MUL || inst->op == OP_SHL;
  if (!sums || !p || !live_uses(r, i) || p->is_kept ||
      !split_step(r, scev_of(r->scev, value_of_inst(i)), &step))
    return;
  p->saved = 1;
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_value v = inst_operand(r->f, inst, k);
    struct part *inner = part_of(r, v);
    if (!inner || !inner->saved || live_uses(r, value_inst_id(v)) != 1) continue;
    p->saved += inner->saved - (inst->op == OP_ADD && value_inst_of(r->f, v, OP_MUL));
    inner->is_inner = true;
  }
}

/* The phi that is the form, or a constant less; VALUE_NULL: there is none. */
static struct nvm_value phi_of_sum(struct reducer *r, struct scev form, uint64_t *distance) {
  struct nvm_function *f = r->f;
  struct scev step;
  for (uint32_t k = 0; k < r->sum_count; k++) {
    *distance = (uint64_t)form.constant - (uint64_t)r->sums[k].form.constant;
    if (scev_equal(without_constant(form), without_constant(r->sums[k].form)))
      return r->sums[k].phi;
  }
  *distance = 0;
  if (r->sum_count == MAX_SUMS || !split_step(r, form, &step)) return VALUE_NULL;
  /* Not a copy of the sum, which may be poison in the first iteration and nowhere used there. */
  struct nvm_inst_id before = block_terminator(f, r->loop->preheader);
  struct nvm_value start = scev_expand(r->scev, f, scev_at_start(r->scev, form, r->n), before);
  struct nvm_value by = value_is_none(start) ? start : scev_expand(r->scev, f, step, before);
  if (value_is_none(by)) return by;
  struct nvm_value operands[4] = {start, value_of_block(r->loop->preheader), start,
                                  value_of_block(r->loop->latch)};
  struct builder header = builder_at_start(f, r->loop->header),
                 latch = builder_before(f, block_terminator(f, r->loop->latch));
  struct nvm_value phi = builder_phi(&header, value_type(f, start), operands, 4);
  struct nvm_value next = builder_binary(&latch, OP_ADD, phi, by);
  if (value_is_none(next)) return next;
  inst_set_operand(f, value_inst_id(phi), 2, next);
  r->sums[r->sum_count++] = (struct sum){form, phi};
  return phi;
}

static void replace_sum(struct reducer *r, struct nvm_inst_id i) {
  struct nvm_function *f = r->f;
  uint64_t distance;
  struct scev form = scev_of(r->scev, value_of_inst(i));
  struct nvm_value v = phi_of_sum(r, form, &distance);
  struct nvm_type type = function_inst(f, i)->type;
  if (value_is_none(v)) return;
  if (form.width < 64) distance &= (UINT64_C(1) << form.width) - 1;
  struct builder at = builder_replacing(f, i);
  if (distance) v = builder_binary(&at, OP_ADD, v, const_int(f->module, type, distance));
  rewrite_set(&r->rewrite, i, v);
  ++*r->env->statistic;
  r->changed = true;
}

/* Calls visit for the instructions of the loop that are in no inner loop. */
static void for_each_own(struct reducer *r, void (*visit)(struct reducer *, struct nvm_inst_id)) {
  const struct loops *l = &r->nest.loops;
  for (uint32_t k = r->loop->first_block, end = k + r->loop->block_count; k < end; k++) {
    const struct loop *inner = &l->data[l->innermost[l->blocks[k].index]];
    if (inner != r->loop) k = inner->first_block + inner->block_count - 1;
    else
      FOR_EACH_INST (r->f, l->blocks[k], i) visit(r, i);
  }
}

static void visit_root(struct reducer *r, struct nvm_inst_id i) {
  const struct part *p = part_of(r, value_of_inst(i));
  struct nvm_block b = function_inst(r->f, i)->block;
  if (p && p->saved >= MIN_SAVED && !p->is_inner &&
      dominance_dominates(&r->nest.d, b, r->loop->latch))
    replace_sum(r, i);
}

/* Replaces sums of the loop by phis. */
static void reduce_sums(struct reducer *r) {
  const struct loops *l = &r->nest.loops;
  r->sum_count = 0;
  FOR_EACH_PHI (r->f, r->loop->header, phi) keep(r, phi_incoming(r->f, phi, r->loop->latch));
  for (uint32_t k = r->loop->block_count; k-- > 0;)
    count_uses(r, l->blocks[r->loop->first_block + k]);
  for_each_own(r, weigh);
  for_each_own(r, visit_root);
}

/* --- hoisting --------------------------------------------------------------------------------- */

/* The preheader of the outermost loop around i in which its operands do not change; {0}: none. */
static struct nvm_block outermost_preheader(const struct reducer *r, const struct nvm_inst *i) {
  const struct loops *l = &r->nest.loops;
  struct nvm_block place = {0};
  for (uint32_t n = l->innermost[i->block.index]; n; n = l->data[n].parent) {
    for (uint32_t k = 0; k < i->operand_count; k++)
      if (!loops_is_invariant(l, r->f, n, inst_operand(r->f, i, k))) return place;
    if (!block_is_none(l->data[n].preheader)) place = l->data[n].preheader;
  }
  return place;
}

/* The number of emitted instructions that compute id, itself included, if it is invariant in the
 * innermost loop around it; else 0. Operands have lower ids than their users, phis excepted. */
static uint32_t count_hoistable(const struct reducer *r, const uint32_t *counts,
                                struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(r->f, id);
  uint32_t count = 1;
  if (block_is_none(i->block) || i->op == OP_PHI || !effects_is_pure(r->f, i)) return 0;
  uint32_t innermost = r->nest.loops.innermost[i->block.index];
  for (uint32_t k = 0; innermost && k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(r->f, i, k);
    if (loops_is_invariant(&r->nest.loops, r->f, innermost, v)) continue;
    struct nvm_inst_id operand = value_inst_id(v);
    if (operand.index < r->part_count ||
        function_inst(r->f, operand)->block.index != i->block.index ||
        !counts[operand.index - r->part_count])
      return 0;
    count += counts[operand.index - r->part_count];
  }
  return innermost ? count : 0;
}

/* Hoists code emitted into preheaders out of the enclosing loops if it has at least MIN_HOISTED
 * instructions: the result occupies a register there. */
static bool hoist_starts(struct reducer *r) {
  struct nvm_function *f = r->f;
  uint32_t first = r->part_count, count = f->insts.count - first;
  if (count == 0) return true;
  uint32_t *counts = arena_alloc(r->env->arena, count * sizeof *counts);
  bool *is_hoisted = arena_alloc(r->env->arena, count * sizeof *is_hoisted);
  if (!counts || !is_hoisted) return false;
  for (uint32_t n = 0; n < count; n++)
    counts[n] = count_hoistable(r, counts, (struct nvm_inst_id){first + n});
  for (uint32_t n = count; n-- > 0;) {
    const struct nvm_inst *i = function_inst(f, (struct nvm_inst_id){first + n});
    is_hoisted[n] = counts[n] && (is_hoisted[n] || counts[n] >= MIN_HOISTED);
    for (uint32_t k = 0; is_hoisted[n] && k < i->operand_count; k++) {
      struct nvm_value v = inst_operand(f, i, k);
      if (value_kind(v) == VALUE_INST && value_index(v) >= first)
        is_hoisted[value_index(v) - first] = true;
    }
  }
  for (uint32_t n = 0; n < count; n++) {
    struct nvm_inst_id id = {first + n};
    struct nvm_block to =
        is_hoisted[n] ? outermost_preheader(r, function_inst(f, id)) : (struct nvm_block){0};
    if (block_is_none(to)) continue;
    inst_unlink(f, id);
    inst_insert_before(f, id, block_terminator(f, to));
  }
  return true;
}

enum nvm_status lsr_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct reducer r = {.f = f, .env = env};
  if (!loop_nest_of(&r.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (r.nest.loops.count == 0) return NVM_OK;
  r.scev = scev_init(f, &r.nest.loops, &r.nest.d, env->arena);
  if (!r.scev || !loop_copy_init(&r.copy, f, env->arena)) return NVM_OUT_OF_MEMORY;
  scev_split_products(r.scev);
  r.part_count = f->insts.count;
  r.parts = arena_alloc(env->arena, r.part_count * sizeof *r.parts);
  if (!r.parts || !rewrite_init(&r.rewrite, f, env->arena)) return NVM_OUT_OF_MEMORY;
  for (r.n = r.nest.loops.count; r.n >= 1; r.n--) {
    r.loop = &r.nest.loops.data[r.n];
    if (block_is_none(r.loop->preheader) || block_is_none(r.loop->latch)) continue;
    if (is_innermost(&r)) {
      if (!collect(&r)) return NVM_OUT_OF_MEMORY;
      make_pointers(&r);
      use_pointers(&r);
    }
    reduce_sums(&r);
  }
  if (!hoist_starts(&r)) return NVM_OUT_OF_MEMORY;
  rewrite_apply(&r.rewrite);
  /* Of a value that can be computed in part only, that part has been inserted. */
  *changed = r.changed || f->insts.count != r.part_count;
  return NVM_OK;
}
