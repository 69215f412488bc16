/* share-addresses: writes an address as an earlier one plus a constant or a stride.
 *
 * Purpose:   stencils and matrix rows access a[i-1], a[i], a[(i+1)*n+j]: each index is computed,
 *            extended and scaled again, although PTX adds a constant to an address for free, and
 *            the next row is one addition away.
 * Algorithm: straight-line strength reduction (LLVM: separate-const-offset-from-gep, n-ary
 *            reassociation, early-cse) on affine forms: a preorder walk of the dominator tree with
 *            a hash table of accessed addresses, by base and terms of their form
 *            (analysis/scev.h). If one is found, the access uses it plus the difference. If none
 *            is, one of the same loop may differ by a constant and a multiple of a symbol, the
 *            stride, which is computed once, before the outermost loop where it is known;
 *            MAX_STRIDES for each loop bounds the registers. Only accessed addresses are used,
 *            because they are not poison. A constant within a new address, or in its index, is
 *            added last.
 *            An address that is a constant away from one in a branch beside it is computed above
 *            both, where its base and index are known, unless they are the two arms of a branch:
 *            no path would become shorter, and the address would occupy registers above them.
 * Requires:  nothing; lsr comes first.
 * Preserves: the control flow.
 * Cost:      linear in accesses (hashing); each looks at MAX_TRIED addresses.
 * Omits:     differences by several symbols; atomics as users.
 * Tests:     check/opt/share-addresses*.nvir. */
#include "ir/build.h"
#include "ir/evalint.h"
#include "ir/gep.h"
#include "analysis/scev.h"
#include "opt/passes.h"

enum { MAX_TRIED = 8, MAX_STEPS = 64, MAX_OFFSET = 1 << 30, MAX_STRIDES = 4, SLOTS = 1024 };
/* The least number of instructions that an addition saves, and how many of them are counted. */
enum { WORTH_AN_ADDITION = 3, MAX_SAVED_DEPTH = 6 };

struct address {
  struct scev form;
  struct nvm_value root; /* an address in a register, and the distance from it */
  int64_t offset;
  struct nvm_block block;
  uint32_t older, older_relative; /* the next older one in the same slot: index + 1 */
};

/* A multiple of a symbol in a register. */
struct stride {
  struct scev form; /* its only term */
  struct nvm_value value;
  struct nvm_block block;
  uint32_t loop; /* that it was made for */
};

struct sharer {
  struct nvm_function *f;
  struct pass_env *env;
  struct dominance dominance;
  struct loops loops;
  struct scev_env *scev;
  VEC(struct address) seen;
  VEC(struct stride) strides;
  uint32_t slots[SLOTS];     /* by hash: index + 1 into seen */
  uint32_t relatives[SLOTS]; /* by hash without lone symbols */
};

/* Strips up to MAX_STEPS constant offsets. */
static struct nvm_value root_of(const struct nvm_function *f, struct nvm_value v, int64_t *offset) {
  const struct nvm_inst *i;
  int64_t more;
  *offset = 0;
  for (uint32_t step = 0; step < MAX_STEPS && (i = value_inst(f, v)) != NULL; step++) {
    if (i->op != OP_GEP || !type_is_ptr(&f->module->types, i->type) ||
        !gep_constant_offset(f, i, &more))
      break;
    *offset = evalint_wrapping_add(*offset, more);
    v = inst_operand(f, i, 0);
  }
  return v;
}

/* A slot for base and terms, or for those that strides do not change. */
static uint32_t hash_form(struct scev a, bool relative) {
  uint64_t h = a.base.bits;
  for (uint32_t k = 0; k < a.count; k++) {
    const struct scev_term *t = &a.terms[k];
    if (relative && !t->loop && value_is_none(t->factor)) continue;
    h = hash_mix(h ^ t->symbol.bits, (uint64_t)t->coefficient ^ (uint64_t)t->loop << 48);
  }
  return (uint32_t)(h ^ h >> 32) % SLOTS;
}

/* Whether block b is in all loops whose iteration numbers the form contains. */
static bool is_within_loops(const struct sharer *s, struct scev a, struct nvm_block b) {
  for (uint32_t k = 0; k < a.count; k++)
    if (a.terms[k].loop && !loops_contains(&s->loops, a.terms[k].loop, b)) return false;
  return true;
}

static bool have_same_terms(struct scev a, struct scev b) {
  a.constant = b.constant;
  return scev_equal(a, b);
}

/* The bytes to add to the root of `from` for the address `now`, which has the same terms. */
static int64_t offset_from(const struct address *from, const struct address *now) {
  uint64_t distance =
      (uint64_t)from->offset + (uint64_t)now->form.constant - (uint64_t)from->form.constant;
  return evalint_sext(now->form.width, distance);
}

static bool is_near(int64_t offset) { return offset > -MAX_OFFSET && offset < MAX_OFFSET; }

/* A dominating address at a constant distance from `now`; NULL if there is none. */
static const struct address *find(const struct sharer *s, const struct address *now,
                                  uint32_t slot) {
  uint32_t tried = 0;
  for (uint32_t n = s->slots[slot]; n && tried++ < MAX_TRIED; n = s->seen.data[n - 1].older) {
    const struct address *a = &s->seen.data[n - 1];
    if (have_same_terms(a->form, now->form) &&
        dominance_dominates(&s->dominance, a->block, now->block) &&
        type_equal(value_type(s->f, a->root), value_type(s->f, now->root)))
      return a;
  }
  return NULL;
}

static uint32_t loop_of(const struct sharer *s, struct nvm_block b) {
  return s->loops.innermost[b.index];
}

/* --- addresses in branches -------------------------------------------------------------------- */

/* Whether v is known at the end of b, or computed by casts and geps of such values, which may move
 * there. */
static bool may_rise(const struct sharer *s, struct nvm_value v, struct nvm_block b,
                     uint32_t depth) {
  enum { MAX_DEPTH = 4 };
  const struct nvm_inst *i = value_inst(s->f, v);
  if (!i || dominance_dominates(&s->dominance, i->block, b)) return true;
  if (depth == MAX_DEPTH ||
      (i->op != OP_GEP && i->op != OP_ZEXT && i->op != OP_SEXT && i->op != OP_ADDRSPACECAST))
    return false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!may_rise(s, inst_operand(s->f, i, k), b, depth + 1)) return false;
  return true;
}

static bool is_computed_from(const struct nvm_function *f, struct nvm_value v,
                             struct nvm_value part, uint32_t depth) {
  const struct nvm_inst *i = value_inst(f, v);
  if (value_equal(v, part)) return true;
  for (uint32_t k = 0; i && depth && k < i->operand_count; k++)
    if (is_computed_from(f, inst_operand(f, i, k), part, depth - 1)) return true;
  return false;
}

/* Whether v is what its form says on all paths where `now` is accessed: no flag below it promises
 * anything, except of what `now` is computed from too. */
static bool holds_for(const struct nvm_function *f, struct nvm_value v, struct nvm_value now,
                      uint32_t depth) {
  enum { MAX_DEPTH = 6 };
  const struct nvm_inst *i = value_inst(f, v);
  bool is_cast = i && (op_is_cast((enum op)i->op));
  bool is_arithmetic = i && i->op >= OP_FIRST_INT && i->op <= OP_LAST_INT;
  if (!i || !(i->op == OP_GEP || is_cast || is_arithmetic)) return true;
  if (depth < MAX_DEPTH && is_computed_from(f, now, v, MAX_DEPTH - 2)) return true;
  if (depth == MAX_DEPTH || (i->op != OP_GEP && i->flags)) return false;
  for (uint32_t k = 0; k < i->operand_count; k++)
    if (!holds_for(f, inst_operand(f, i, k), now, depth + 1)) return false;
  return true;
}

/* Without flags: what these promise need not hold there. */
static void raise(struct sharer *s, struct nvm_value v, struct nvm_block b) {
  const struct nvm_inst *i = value_inst(s->f, v);
  struct nvm_inst_id id = value_inst_id(v);
  if (i && i->op == OP_GEP) function_inst(s->f, id)->flags = 0;
  if (!i || dominance_dominates(&s->dominance, i->block, b)) return;
  for (uint32_t k = 0; k < function_inst(s->f, id)->operand_count; k++)
    raise(s, inst_operand(s->f, function_inst(s->f, id), k), b);
  inst_unlink(s->f, id);
  inst_insert_before(s->f, id, block_terminator(s->f, b));
  function_inst(s->f, id)->flags = 0;
  s->f->locations.data[id.index].index = 0;
}

static struct nvm_block common_dominator(const struct sharer *s, struct nvm_block a,
                                         struct nvm_block b) {
  while (!dominance_dominates(&s->dominance, a, b)) a = s->dominance.immediate[a.index];
  return a;
}

/* Whether b is in an arm of the branch at the end of `above`, which no other edge enters. */
static bool is_in_arm(const struct sharer *s, struct nvm_block b, struct nvm_block above) {
  while (b.index != above.index && s->dominance.immediate[b.index].index != above.index)
    b = s->dominance.immediate[b.index];
  return b.index != above.index && dominance_predecessor_count(&s->dominance, b) == 1;
}

/* An address near `now` in a branch beside it, once its root is computed above both, in no other
 * loop; NULL if there is none. */
static const struct address *raise_sibling(struct sharer *s, const struct address *now,
                                           uint32_t slot) {
  uint32_t tried = 0;
  for (uint32_t n = s->slots[slot]; n && tried++ < MAX_TRIED; n = s->seen.data[n - 1].older) {
    struct address *a = &s->seen.data[n - 1];
    if (!have_same_terms(a->form, now->form) || loop_of(s, a->block) != loop_of(s, now->block) ||
        !type_equal(value_type(s->f, a->root), value_type(s->f, now->root)))
      continue;
    struct nvm_block above = common_dominator(s, a->block, now->block);
    bool exclude_each_other = is_in_arm(s, a->block, above) && is_in_arm(s, now->block, above);
    if (exclude_each_other || loop_of(s, above) != loop_of(s, now->block) ||
        !is_near(offset_from(a, now)) || !may_rise(s, a->root, above, 0) ||
        !holds_for(s->f, a->root, now->root, 0))
      continue;
    if (!value_equal(a->root, now->root)) raise(s, a->root, above);
    a->block = above;
    return a;
  }
  return NULL;
}

/* --- strides ---------------------------------------------------------------------------------- */

/* How many instructions are saved with v: those that compute nothing else. An extension or a sum
 * with one more use counts as well: the index of a second array, which is likely to change too. */
static uint32_t count_saved(const struct nvm_function *f, struct nvm_value v, uint32_t depth) {
  const struct nvm_inst *i = value_inst(f, v);
  uint32_t saved = 1;
  if (!i || depth == 0) return 0;
  uint32_t most = i->op == OP_SEXT || i->op == OP_ZEXT ? 2 : i->op == OP_ADD ? 3 : 1;
  if (f->uses.data[value_index(v)] > most) return 0;
  bool arithmetic = i->op == OP_GEP || i->op == OP_SEXT || i->op == OP_ZEXT || i->op == OP_SHL ||
                    i->op == OP_ADD || i->op == OP_SUB || i->op == OP_MUL || i->op == OP_OR;
  if (!arithmetic) return 0;
  for (uint32_t k = 0; k < i->operand_count; k++)
    saved += count_saved(f, inst_operand(f, i, k), depth - 1);
  return saved;
}

/* The difference, if it is a constant and a stride; else width 0. */
static struct scev stride_between(struct sharer *s, const struct address *now,
                                  const struct address *above) {
  struct scev d = scev_subtract(s->scev, now->form, above->form);
  if (d.count != 1 || d.terms[0].loop || !is_near(evalint_wrapping_add(d.constant, above->offset)))
    d.width = 0;
  return d;
}

static const struct stride *known_stride(const struct sharer *s, struct scev wanted,
                                         struct nvm_block at) {
  wanted.constant = 0;
  for (uint32_t k = s->strides.count; k > 0; k--) {
    const struct stride *known = &s->strides.data[k - 1];
    if (scev_equal(known->form, wanted) && dominance_dominates(&s->dominance, known->block, at))
      return known;
  }
  return NULL;
}

/* The terminator of the preheader of the outermost loop around the access in which the stride is
 * invariant; the access where there is none. */
static struct nvm_inst_id place_of_stride(const struct sharer *s, struct scev stride,
                                          struct nvm_inst_id access) {
  struct nvm_inst_id at = access;
  uint32_t n = loop_of(s, function_inst(s->f, access)->block);
  for (; n && scev_is_invariant(s->scev, stride, n); n = s->loops.data[n].parent) {
    if (block_is_none(s->loops.data[n].preheader)) break;
    at = block_terminator(s->f, s->loops.data[n].preheader);
  }
  return at;
}

/* Computes a stride for `access`; NULL: it does not pay, or there are too many. */
static const struct stride *make_stride(struct sharer *s, struct scev form,
                                        struct nvm_inst_id access, uint32_t saved) {
  uint32_t loop = loop_of(s, function_inst(s->f, access)->block), count = 0;
  struct nvm_inst_id at = place_of_stride(s, form, access);
  uint32_t cost = value_is_none(form.terms[0].factor) ? 1 : 2;
  if (at.index == access.index && saved < WORTH_AN_ADDITION + cost - 1) return NULL;
  for (uint32_t k = 0; k < s->strides.count; k++) count += s->strides.data[k].loop == loop;
  form.constant = 0;
  if (count == MAX_STRIDES) return NULL;
  struct stride made = {.form = form, .loop = loop, .block = function_inst(s->f, at)->block};
  made.value = scev_expand(s->scev, s->f, form, at);
  if (value_is_none(made.value) || !VEC_PUSH(s->env->arena, &s->strides, made)) return NULL;
  return &s->strides.data[s->strides.count - 1];
}

/* Writes the address of an access as one above, a stride and a constant: *now gets another root.
 * False if there is none, or it does not pay. */
static bool add_stride(struct sharer *s, struct address *now, struct nvm_inst_id access,
                       uint32_t slot) {
  uint32_t tried = 0, saved = count_saved(s->f, now->root, MAX_SAVED_DEPTH);
  const struct address *above = NULL;
  const struct stride *stride = NULL;
  struct scev distance = {.width = 0};
  if (saved < WORTH_AN_ADDITION) return false;
  for (uint32_t n = s->relatives[slot]; n && !stride && tried++ < MAX_TRIED;) {
    const struct address *a = &s->seen.data[n - 1];
    n = a->older_relative;
    if (loop_of(s, a->block) != loop_of(s, now->block) ||
        !dominance_dominates(&s->dominance, a->block, now->block) ||
        !type_equal(value_type(s->f, a->root), value_type(s->f, now->root)))
      continue;
    struct scev d = stride_between(s, now, a);
    if (d.width == 0 || (stride = known_stride(s, d, now->block)) == NULL) {
      if (d.width && !above) above = a, distance = d;
      continue;
    }
    above = a, distance = d;
  }
  if (above && !stride) stride = make_stride(s, distance, access, saved);
  if (!stride) return false;
  struct builder at = builder_replacing(s->f, access);
  struct nvm_value root = builder_gep(&at, above->root, stride->value);
  if (value_is_none(root)) return false;
  now->root = root;
  now->offset = evalint_wrapping_add(above->offset, distance.constant);
  return true;
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool remember(struct sharer *s, struct address *now, uint32_t slot, uint32_t relative) {
  now->older = s->slots[slot];
  now->older_relative = s->relatives[relative];
  if (!VEC_PUSH(s->env->arena, &s->seen, *now)) return false;
  s->slots[slot] = s->relatives[relative] = s->seen.count;
  return true;
}

/* Makes the access use root + offset. */
static bool use_address(struct sharer *s, struct nvm_inst_id access, uint32_t operand,
                        struct nvm_value root, int64_t offset) {
  struct builder at = builder_replacing(s->f, access);
  struct nvm_value to = builder_offset(&at, root, offset);
  if (value_is_none(to)) return false;
  inst_set_operand(s->f, access, operand, to);
  ++*s->env->statistic;
  return true;
}

/* (p + constant) + index is (p + index) + constant, which the access adds itself: *now gets another
 * root. False if it has no such form. */
static bool move_constant(struct sharer *s, struct address *now, struct nvm_inst_id access) {
  enum { MAX_INDICES = 4 };
  struct nvm_value operands[MAX_INDICES];
  int64_t constant;
  const struct nvm_inst *i = value_inst(s->f, now->root);
  if (!i || i->op != OP_GEP || i->operand_count > MAX_INDICES) return false;
  for (uint32_t k = 0; k < i->operand_count; k++) operands[k] = inst_operand(s->f, i, k);
  operands[0] = root_of(s->f, operands[0], &constant);
  if (constant == 0 || constant <= -MAX_OFFSET || constant >= MAX_OFFSET ||
      !type_is_ptr(&s->f->module->types, value_type(s->f, operands[0])))
    return false;
  struct builder at = builder_replacing(s->f, access);
  struct nvm_value root = builder_add(&at, OP_GEP, 0, i->type, operands, i->operand_count, i->aux);
  if (value_is_none(root)) return false;
  now->root = root;
  now->offset = evalint_wrapping_add(now->offset, constant);
  return true;
}

/* The sum of a value and a constant that a gep of one index adds, in its extension if there is one;
 * {0}: not so, something else reads one of them, or the extension is not that of each summand. */
static struct nvm_inst_id find_index_sum(const struct nvm_function *f, const struct nvm_inst *gep) {
  struct nvm_value v = inst_operand(f, gep, 1);
  const struct nvm_inst *extension = value_inst(f, v), *sum = extension;
  uint16_t flags = 0;
  if (!sum || f->uses.data[value_index(v)] != 1) return (struct nvm_inst_id){0};
  if (sum->op == OP_SEXT || (sum->op == OP_ZEXT && !(sum->flags & INST_NNEG))) {
    flags = sum->op == OP_SEXT ? INST_NSW : INST_NUW;
    v = inst_operand(f, extension, 0);
    sum = value_inst(f, v);
  }
  if (!sum || sum->op != OP_ADD || (sum->flags & flags) != flags ||
      f->uses.data[value_index(v)] != 1)
    return (struct nvm_inst_id){0};
  return value_inst_id(v);
}

/* The bytes that the constant of such a sum adds to the address; 0: none, or too many. */
static int64_t bytes_of_index(const struct sharer *s, const struct nvm_inst *gep,
                              const struct nvm_inst *sum) {
  const struct nvm_function *f = s->f;
  const struct type_table *t = &f->module->types;
  struct nvm_value index = inst_operand(f, gep, 1);
  uint32_t bits = type_scalar_bits(t, sum->type), wide = type_scalar_bits(t, value_type(f, index));
  uint64_t size = layout_alloc_size(&f->module->layout, t, (struct nvm_type){gep->aux});
  nvm_u128 constant;
  if (!const_is_int(f->module, inst_operand(f, sum, 1), &constant) || size >= MAX_OFFSET ||
      wide != layout_pointer_bits(&f->module->layout, type_info(t, gep->type)->width))
    return 0;
  bool is_signed = bits == wide || value_inst(f, index)->op == OP_SEXT;
  int64_t steps = is_signed ? evalint_sext(bits, (uint64_t)constant) : (int64_t)constant;
  if (steps <= -MAX_OFFSET || steps >= MAX_OFFSET) return 0;
  steps *= (int64_t)size;
  return steps > -MAX_OFFSET && steps < MAX_OFFSET ? steps : 0;
}

/* base + ext(x + constant) is (base + ext(x)) + constant, which accesses add themselves: the gep
 * becomes this sum, and *now gets another root. False when out of memory. */
static bool split_index(struct sharer *s, struct address *now) {
  struct nvm_function *f = s->f;
  const struct nvm_inst *i = value_inst(f, now->root);
  if (!i || i->op != OP_GEP || i->operand_count != 2 || !type_is_ptr(&f->module->types, i->type))
    return true;
  struct nvm_inst_id gep = value_inst_id(now->root), sum = find_index_sum(f, i);
  int64_t bytes = inst_is_none(sum) ? 0 : bytes_of_index(s, i, function_inst(f, sum));
  if (bytes == 0) return true;
  struct nvm_value operands[] = {inst_operand(f, i, 0), inst_operand_at(f, sum, 0)};
  const struct nvm_inst_id extension = value_inst_id(inst_operand(f, i, 1));
  if (extension.index != sum.index) {
    struct builder above = builder_replacing(f, extension);
    const struct nvm_inst *from = function_inst(f, extension);
    operands[1] = builder_unary(&above, (enum op)from->op, from->type, operands[1]);
    if (value_is_none(operands[1])) return false;
  }
  struct builder at = builder_replacing(f, gep);
  i = function_inst(f, gep);
  struct nvm_value root = builder_add(&at, OP_GEP, 0, i->type, operands, 2, i->aux);
  if (value_is_none(root)) return false;
  inst_set_operand(f, gep, 0, root);
  inst_set_operand(f, gep, 1, const_int(f->module, TYPE_I64, (uint64_t)bytes));
  function_inst(f, gep)->aux = TYPE_I8.index;
  function_inst(f, gep)->flags = 0;
  now->root = root;
  now->offset = evalint_wrapping_add(now->offset, bytes);
  ++*s->env->statistic;
  return true;
}

static bool share(struct sharer *s, struct nvm_inst_id access, uint32_t operand) {
  struct nvm_value v = inst_operand_at(s->f, access, operand);
  struct address now = {.block = function_inst(s->f, access)->block};
  now.root = root_of(s->f, v, &now.offset);
  now.form = scev_of(s->scev, now.root);
  now.form.constant = evalint_wrapping_add(now.form.constant, now.offset);
  if (now.form.width == 0 || value_is_none(now.form.base) ||
      !is_within_loops(s, now.form, now.block))
    return true;
  uint32_t slot = hash_form(now.form, false), relative = hash_form(now.form, true);
  const struct address *above = find(s, &now, slot);
  if (!above && now.form.count) above = raise_sibling(s, &now, slot);
  if (!above) {
    bool added = add_stride(s, &now, access, relative) || move_constant(s, &now, access);
    if (added ? !use_address(s, access, operand, now.root, now.offset) : !split_index(s, &now))
      return false;
    return remember(s, &now, slot, relative);
  }
  int64_t offset = offset_from(above, &now);
  if (value_equal(above->root, now.root) || !is_near(offset)) return true;
  return use_address(s, access, operand, above->root, offset);
}

enum nvm_status share_addresses_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct sharer *s = arena_alloc(env->arena, sizeof *s);
  uint64_t before = *env->statistic;
  if (!s) return NVM_OUT_OF_MEMORY;
  s->f = f;
  s->env = env;
  if (!flow_loops(env->flow, f, &s->dominance, &s->loops)) return NVM_OUT_OF_MEMORY;
  s->scev = scev_init(f, &s->loops, &s->dominance, env->arena);
  struct nvm_block *order = dominance_preorder(&s->dominance, f, env->arena);
  if (!s->scev || !order) return NVM_OUT_OF_MEMORY;
  scev_split_products(s->scev);
  for (uint32_t k = 1; k <= s->dominance.size[f->entry.index]; k++)
    FOR_EACH_INST (f, order[k], i) {
      enum op op = (enum op)function_inst(f, i)->op;
      if ((op == OP_LOAD || op == OP_STORE) && !share(s, i, op == OP_STORE))
        return NVM_OUT_OF_MEMORY;
    }
  *changed = *env->statistic != before;
  return NVM_OK;
}
