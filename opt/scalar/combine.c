/* combine: replaces instructions by cheaper or more canonical ones, by the rules of combine.rules.
 *
 * Purpose:   removes redundant operations; canonical forms let later passes and instruction
 *            selection match one pattern instead of several.
 * Algorithm: a worklist: each instruction once in program order, and again when an operand or a
 *            user changes. At each visit dead code is removed, operations on constants are folded
 *            (ir/eval.c), and a constant operand of a commutative op moves to the right; then the
 *            decision tree made from combine.rules is tried (all integer rules are proven: `make
 *            prove`), then the code of combine_code.c. Everything a replacement touches is queued.
 *            Use lists are built by the first replacement; dead code needs only counts. The
 *            worklist terminates because each rule reduces a measure, which prove.py checks: the
 *            weights of the instructions, then the depth of operands. Unreachable code may have
 *            cycles without phis, so a budget bounds the work.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in instructions and replacements; known bits cost a bounded walk.
 * Omits:     rules that need new blocks, facts of other blocks, or memory.
 * Tests:     check/opt/combine-*, unit/test_known_bits.c, prove/. */
#include "opt/scalar/combine.h"

#include "ir/build.h"
#include "ir/eval.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

/* --- Use lists --- */

static bool has_list(struct nvm_value v) { return value_kind(v) == VALUE_INST; }

static void link_use(struct combiner *k, uint32_t slot, struct nvm_inst_id user) {
  struct nvm_value v = k->f->operands.data[slot];
  struct combine_use *use = &k->uses.data[slot];
  *use = (struct combine_use){.user = user};
  if (!has_list(v)) return;
  uint32_t *head = &k->insts.data[value_index(v)].head;
  use->next = *head;
  if (*head) k->uses.data[*head - 1].previous = slot + 1;
  *head = slot + 1;
}

static void unlink_use(struct combiner *k, uint32_t slot) {
  struct nvm_value v = k->f->operands.data[slot];
  struct combine_use use = k->uses.data[slot];
  if (!has_list(v)) return;
  if (use.next) k->uses.data[use.next - 1].previous = use.previous;
  if (use.previous) k->uses.data[use.previous - 1].next = use.next;
  else k->insts.data[value_index(v)].head = use.next;
}

/* Makes room for the current instructions and some more. Cheap to call often. */
static bool have_insts(struct combiner *k) {
  uint64_t count = k->f->insts.count;
  return count <= k->insts.capacity || VEC_RESERVE(k->arena, &k->insts, count + count / 8);
}

static bool have_uses(struct combiner *k) {
  uint64_t count = k->f->operands.count;
  return count <= k->uses.capacity || VEC_ROOM(k->arena, &k->uses, count + count / 8);
}

static void link_operands(struct combiner *k, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(k->f, i);
  for (uint32_t n = 0; n < inst->operand_count; n++) link_use(k, inst->first_operand + n, i);
}

/* Builds the use lists. Must be called before operands change. False when out of memory. */
static bool have_lists(struct combiner *k) {
  if (k->linked) return true;
  if (!have_insts(k) || !have_uses(k)) return false;
  FOR_EACH_BLOCK (k->f, b)
    FOR_EACH_INST (k->f, b, i) link_operands(k, i);
  return k->linked = true;
}

void combine_set_operand(struct combiner *k, struct nvm_inst_id i, uint32_t n, struct nvm_value v) {
  uint32_t slot = function_inst(k->f, i)->first_operand + n;
  if (!have_lists(k)) return;
  unlink_use(k, slot);
  inst_set_operand(k->f, i, n, v);
  link_use(k, slot, i);
}

/* --- Work --- */

void combine_queue(struct combiner *k, struct nvm_value v) {
  if (!has_list(v) || !have_insts(k) || k->insts.data[value_index(v)].waiting) return;
  k->insts.data[value_index(v)].waiting = true;
  (void)VEC_PUSH(k->arena, &k->stack, value_index(v)); /* the arena records a failure */
}

static void queue_users(struct combiner *k, struct nvm_inst_id i) {
  if (!have_lists(k)) return;
  for (uint32_t slot = k->insts.data[i.index].head; slot; slot = k->uses.data[slot - 1].next)
    combine_queue(k, value_of_inst(k->uses.data[slot - 1].user));
}

static void remove_inst(struct combiner *k, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(k->f, i);
  for (uint32_t n = 0; n < inst->operand_count; n++) {
    combine_queue(k, inst_operand(k->f, inst, n));
    if (k->linked) unlink_use(k, inst->first_operand + n);
  }
  inst_remove(k->f, i);
  k->changed = true;
}

/* Replaces all uses of i by `to` and removes i. */
static void replace(struct combiner *k, struct nvm_inst_id i, struct nvm_value to) {
  if (!have_lists(k)) return;
  for (uint32_t slot; (slot = k->insts.data[i.index].head) != 0;) {
    struct nvm_inst_id user = k->uses.data[slot - 1].user;
    combine_queue(k, value_of_inst(user));
    combine_set_operand(k, user, slot - 1 - function_inst(k->f, user)->first_operand, to);
  }
  combine_queue(k, to);
  k->insts.data[i.index].replacement = to;
  remove_inst(k, i);
}

/* --- Building --- */

/* Links the uses of a new instruction and queues it. The builder may have folded to one of the
 * first `old` instructions, an arm of a select, whose uses are linked already. */
static struct nvm_value note_made(struct combiner *k, struct nvm_value v, uint32_t old) {
  if (!has_list(v) || value_index(v) < old) return v;
  if (!have_insts(k) || !have_uses(k)) return VALUE_NULL;
  link_operands(k, value_inst_id(v));
  combine_queue(k, v);
  return v;
}

static bool is_float_type(const struct combiner *k, struct nvm_type type) {
  return type_is_float_or_vector(&k->m->types, type);
}

struct nvm_value build_op(struct combiner *k, struct nvm_inst_id root, enum op op, uint32_t flags,
                          struct nvm_type type, uint32_t aux, uint32_t count,
                          const struct nvm_value *operands) {
  struct builder at = builder_replacing(k->f, root);
  flags &= op_flags(op);
  if (op == OP_SELECT && !is_float_type(k, type)) flags = 0;
  if (!have_lists(k)) return VALUE_NULL;
  uint32_t old = k->f->insts.count;
  return note_made(k, builder_add(&at, op, (uint16_t)flags, type, operands, count, aux), old);
}

struct nvm_value build_call(struct combiner *k, struct nvm_inst_id root, uint32_t intrinsic,
                            uint32_t flags, struct nvm_type type, uint32_t count,
                            const struct nvm_value *operands) {
  struct builder at = builder_replacing(k->f, root);
  uint16_t fast = is_float_type(k, type) ? (uint16_t)(flags & INST_FAST) : 0;
  if (!have_lists(k)) return VALUE_NULL;
  uint32_t old = k->f->insts.count;
  return note_made(
      k, builder_intrinsic(&at, (enum intrinsic_id)intrinsic, fast, type, operands, count), old);
}

struct nvm_value make_splat(struct combiner *k, struct nvm_type type, struct nvm_value scalar) {
  if (!type_is_vector(&k->m->types, type)) return scalar;
  uint32_t lanes = (uint32_t)type_info(&k->m->types, type)->count;
  struct nvm_value *all = arena_alloc(k->arena, lanes * sizeof *all);
  if (!all) return VALUE_NULL;
  for (uint32_t n = 0; n < lanes; n++) all[n] = scalar;
  return const_aggregate(k->m, type, all, lanes);
}

struct nvm_value make_int(struct combiner *k, struct nvm_type type, uint64_t value) {
  return make_splat(k, type, const_int(k->m, type_scalar(&k->m->types, type), value));
}

/* --- One visit --- */

static struct nvm_value fold(struct combiner *k, const struct nvm_inst *i) {
  enum { MOST = 4 };
  struct nvm_value operands[MOST];
  if (i->op == OP_CALL || i->operand_count > MOST) return VALUE_NULL;
  for (uint32_t n = 0; n < i->operand_count; n++) {
    operands[n] = inst_operand(k->f, i, n);
    if (value_kind(operands[n]) != VALUE_CONST && i->op != OP_SELECT) return VALUE_NULL;
  }
  return eval_fold(k->m, (enum op)i->op, i->flags, i->aux, i->type, operands, i->operand_count);
}

static bool is_constant(struct nvm_value v) { return value_kind(v) == VALUE_CONST; }

/* Calls with attributes of parameters stay as they are. */
static bool call_commutes(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->operand_count >= 3 && (intrinsic_table[call_intrinsic(f, i)].flags & INTRIN_COMMUTES) &&
         attrlist_info(&f->module->attributes, call_site_of(f, i)->attributes)->count == 0;
}

/* Moves a constant operand to the right. */
static void order_operands(struct combiner *k, struct nvm_inst_id id) {
  struct nvm_inst *i = function_inst(k->f, id);
  bool compares = i->op == OP_ICMP || i->op == OP_FCMP;
  if (!compares && !(op_table[i->op].flags & OPF_COMMUTES) &&
      !(i->op == OP_CALL && call_commutes(k->f, i)))
    return;
  struct nvm_value a = inst_operand(k->f, i, 0), b = inst_operand(k->f, i, 1);
  if (!is_constant(a) || is_constant(b)) return;
  if (compares) i->aux = predicate_swapped((enum op)i->op, i->aux);
  combine_set_operand(k, id, 0, b);
  combine_set_operand(k, id, 1, a);
  k->changed = true;
}

/* Whether the instruction was removed or changed. */
static bool visit_once(struct combiner *k, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(k->f, id);
  if (k->f->uses.data[id.index] == 0 && !effects_must_stay(k->f, i)) {
    remove_inst(k, id);
    return true;
  }
  struct nvm_value to = VALUE_NULL;
  bool branch = i->op == OP_CONDBR;
  if (i->operand_count && is_constant(inst_operand(k->f, i, 0)) && i->op != OP_PHI) {
    to = fold(k, i);
    if (value_is_none(to)) order_operands(k, id);
  }
  if (value_is_none(to)) to = combine_try_rules(k, id);
  if (value_is_none(to)) to = combine_try_code(k, id);
  bool changed = branch && combine_unnegate_branch(k, id);
  if (changed) {
    k->changed = true;
    queue_users(k, id);
    combine_queue(k, value_of_inst(id));
  }
  if (value_is_none(to) || value_equal(to, value_of_inst(id))) return changed;
  if (has_list(to) && k->f->names.data[value_index(to)].index == 0) {
    k->f->names.data[value_index(to)] = k->f->names.data[id.index];
    k->f->names.data[id.index].index = 0;
  }
  replace(k, id, to);
  return true;
}

static void visit(struct combiner *k, struct nvm_inst_id id) {
  if (k->budget == 0 || block_is_none(function_inst(k->f, id)->block)) return;
  if (visit_once(k, id)) k->budget--;
}

static void drain(struct combiner *k) {
  while (k->stack.count && !k->arena->failed) {
    uint32_t top = k->stack.data[--k->stack.count];
    k->insts.data[top].waiting = false;
    visit(k, (struct nvm_inst_id){top});
  }
}

/* --- Debug records --- */

/* The final replacement of a local value in metadata. */
static struct nvm_value final_value(void *state, struct nvm_value v) {
  const struct combiner *k = state;
  while (has_list(v) && value_index(v) < k->insts.capacity &&
         !value_is_none(k->insts.data[value_index(v)].replacement))
    v = k->insts.data[value_index(v)].replacement;
  const struct nvm_inst *i = value_inst(k->f, v);
  return i && block_is_none(i->block) ? VALUE_NULL : v;
}

/* Visits all instructions in their original order; new ones are queued when they are made. */
static bool visit_all(struct combiner *k) {
  VEC(uint32_t) order = {0};
  if (!VEC_ROOM(k->arena, &order, k->f->insts.count)) return false;
  FOR_EACH_BLOCK (k->f, b)
    FOR_EACH_INST (k->f, b, i) order.data[order.count++] = i.index;
  for (uint32_t n = 0; n < order.count && !k->arena->failed; n++) {
    visit(k, (struct nvm_inst_id){order.data[n]});
    drain(k);
  }
  return !k->arena->failed;
}

enum nvm_status combine_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  enum { BUDGET_FACTOR = 16, BUDGET_LEAST = 1000 };
  struct combiner k = {.f = f,
                       .m = env->module,
                       .arena = env->arena,
                       .flushes = env->target->ftz || function_flushes_f32(f),
                       .divides_exactly = env->target->prec_div >= 2,
                       .narrows_loads = env->parameters & 1 << PARAMETER_LOADS,
                       .budget = (uint64_t)f->insts.count * BUDGET_FACTOR + BUDGET_LEAST};
  uint64_t all = k.budget;
  if (!visit_all(&k)) return NVM_OUT_OF_MEMORY;
  *changed = k.changed;
  *env->statistic += all - k.budget;
  if (k.changed) rewrite_all_metadata(f, final_value, &k);
  return NVM_OK;
}
