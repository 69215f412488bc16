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
 *            least MIN_CONDITIONAL accesses.
 * Requires:  loop-simplify; vectorization before it; unrolling, combine and dce afterwards.
 * Preserves: control flow, LCSSA form.
 * Cost:      linear; at most MAX_POINTERS groups per loop, which also bounds the registers (two
 *            each).
 * Omits:     single conditional accesses; sums that are not addresses; exit tests; more than
 *            MAX_RELATIVES pointers that are a stride apart.
 * Tests:     check/opt/lsr-*. */
#include "analysis/scev.h"
#include "ir/build.h"
#include "analysis/effects.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"

enum { MAX_POINTERS = 12, MAX_COPIED = 24, MAX_OFFSET = 1 << 20, MIN_CONDITIONAL = 2 };
enum { MAX_RELATIVES = 2 }; /* pointers that are a stride apart */

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
  bool changed;
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
    if (value_is_none(t.symbol)) step->constant += t.coefficient;
    else moving[step->count++] = t;
  }
  return (step->count || step->constant) && scev_is_invariant(r->scev, rest, r->n) &&
         scev_is_invariant(r->scev, *step, r->n);
}

static struct scev without_constant(struct scev a) {
  a.constant = 0;
  return a;
}

/* Whether MAX_RELATIVES groups differ from the form by a constant and a multiple of an invariant
 * symbol: share-addresses adds that to the pointer of one of them. */
static bool has_relatives(struct reducer *r, struct scev form) {
  uint32_t count = 0;
  for (uint32_t g = 0; g < r->group_count; g++) {
    struct scev d = scev_subtract(r->scev, form, r->groups[g].form);
    count += d.width && d.count == 1 && scev_is_invariant(r->scev, d, r->n) &&
             !inst_is_none(r->groups[g].first);
  }
  return count >= MAX_RELATIVES;
}

/* The group of the form; a new one if there is room, else UINT32_MAX. */
static uint32_t find_group(struct reducer *r, struct scev form) {
  struct scev step;
  for (uint32_t g = 0; g < r->group_count; g++) {
    int64_t distance = (int64_t)((uint64_t)form.constant - (uint64_t)r->groups[g].form.constant);
    if (distance >= -MAX_OFFSET && distance <= MAX_OFFSET &&
        scev_equal(without_constant(form), without_constant(r->groups[g].form)))
      return g;
  }
  if (r->group_count == MAX_POINTERS || has_relatives(r, form) || !split_step(r, form, &step))
    return UINT32_MAX;
  r->groups[r->group_count] = (struct group){.form = form};
  return r->group_count++;
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
      uint32_t g = form.width && !value_is_none(form.base) ? find_group(r, form) : UINT32_MAX;
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

enum nvm_status lsr_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct reducer r = {.f = f, .env = env};
  if (!loop_nest_of(&r.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (r.nest.loops.count == 0) return NVM_OK;
  r.scev = scev_init(f, &r.nest.loops, &r.nest.d, env->arena);
  if (!r.scev || !loop_copy_init(&r.copy, f, env->arena)) return NVM_OUT_OF_MEMORY;
  scev_split_products(r.scev);
  for (r.n = r.nest.loops.count; r.n >= 1; r.n--) {
    r.loop = &r.nest.loops.data[r.n];
    if (block_is_none(r.loop->preheader) || block_is_none(r.loop->latch)) continue;
    if (!collect(&r)) return NVM_OUT_OF_MEMORY;
    for (uint32_t g = 0; g < r.group_count; g++) make_pointer(&r, &r.groups[g]);
    use_pointers(&r);
  }
  *changed = r.changed;
  return NVM_OK;
}
