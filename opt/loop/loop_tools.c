/* Shared by loop passes; see loop_tools.h. */
#include "opt/loop/loop_tools.h"

#include "ir/build.h"
#include "ir/evalintrinsic.h"
#include "ir/intrinsic.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"

bool loop_nest_of(struct loop_nest *n, const struct nvm_function *f, struct pass_env *env) {
  *n = (struct loop_nest){.arena = env->arena};
  return flow_loops(env->flow, f, &n->d, &n->loops);
}

bool loop_nest_compute(struct loop_nest *n, const struct nvm_function *f, struct arena *arena) {
  *n = (struct loop_nest){.arena = arena};
  return dominance_compute(&n->d, f, arena) && loops_compute(&n->loops, f, &n->d, arena);
}

static bool is_among(struct nvm_value block, const struct nvm_block *from, uint32_t count) {
  for (uint32_t k = 0; k < count; k++)
    if (from[k].index == value_index(block)) return true;
  return false;
}

/* Replaces the entries of phi i for `from` by one for `to`: their common value, or a phi in `to`.
 */
static void move_entries(struct nvm_function *f, struct nvm_inst_id i, const struct nvm_block *from,
                         uint32_t count, struct nvm_block to, struct nvm_inst_id before) {
  struct nvm_value common = VALUE_NULL;
  struct nvm_inst_id phi = {0};
  for (int turn = 0; turn < 2; turn++)
    for (uint32_t k = 0; k < function_inst(f, i)->operand_count; k += 2) {
      struct nvm_value v = inst_operand(f, function_inst(f, i), k),
                       b = inst_operand(f, function_inst(f, i), k + 1);
      if (!is_among(b, from, count)) continue;
      if (turn == 0 && value_is_none(common)) common = v;
      if (turn == 0 && !value_equal(common, v) && inst_is_none(phi)) {
        struct builder at = builder_before(f, before);
        phi = builder_insert(&at, OP_PHI, function_inst(f, i)->flags, function_inst(f, i)->type,
                             NULL, 0, 0);
      }
      if (turn == 0) continue;
      if (!inst_is_none(phi)) (void)(inst_add_operand(f, phi, v) && inst_add_operand(f, phi, b));
      inst_remove_operands(f, i, k, 2);
      k -= 2;
    }
  if (value_is_none(common)) return;
  struct nvm_value v = inst_is_none(phi) ? common : value_of_inst(phi);
  (void)phi_add(f, i, v, to);
}

struct nvm_block loop_split_predecessors(struct nvm_function *f, struct nvm_block b,
                                         const struct nvm_block *from, uint32_t count) {
  struct nvm_block made = function_add_block(f, (struct nvm_str){0});
  struct builder at = builder_at_end(f, made);
  struct nvm_inst_id jump = value_inst_id(builder_branch(&at, b));
  if (block_is_none(made) || inst_is_none(jump)) return (struct nvm_block){0};
  function_move_block(f, made, b);
  FOR_EACH_PHI (f, b, i) move_entries(f, i, from, count, made, jump);
  for (uint32_t k = 0; k < count; k++) cfg_redirect(f, from[k], b, made);
  return made;
}

bool loop_copy_init(struct loop_copy *c, const struct nvm_function *f, struct arena *arena) {
  *c = (struct loop_copy){.value_count = f->insts.count, .block_count = f->blocks.count};
  c->values = arena_alloc(arena, c->value_count * sizeof *c->values);
  c->blocks = arena_alloc(arena, c->block_count * sizeof *c->blocks);
  return c->values && c->blocks;
}

bool loop_copy_grow(struct loop_copy *c, const struct nvm_function *f, struct arena *arena) {
  uint32_t values = f->insts.count > c->value_count ? f->insts.count * 2 : c->value_count;
  uint32_t blocks = f->blocks.count > c->block_count ? f->blocks.count * 2 : c->block_count;
  c->values =
      arena_grow(arena, c->values, c->value_count * sizeof *c->values, values * sizeof *c->values);
  c->blocks =
      arena_grow(arena, c->blocks, c->block_count * sizeof *c->blocks, blocks * sizeof *c->blocks);
  c->value_count = values;
  c->block_count = blocks;
  return c->values && c->blocks;
}

void loop_copy_forget(struct loop_copy *c, const struct nvm_function *f,
                      const struct nvm_block *blocks, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    c->blocks[blocks[k].index].index = 0;
    FOR_EACH_INST (f, blocks[k], i)
      if (i.index < c->value_count) c->values[i.index] = VALUE_NULL;
  }
}

struct nvm_value loop_copy_of(const struct loop_copy *c, struct nvm_value v) {
  uint32_t k = value_index(v);
  if (value_kind(v) == VALUE_BLOCK && k < c->block_count && c->blocks[k].index)
    return value_of_block(c->blocks[k]);
  if (value_kind(v) == VALUE_INST && k < c->value_count && !value_is_none(c->values[k]))
    return c->values[k];
  return v;
}

struct nvm_inst_id loop_copy_inst(struct loop_copy *c, struct nvm_function *f,
                                  struct nvm_inst_id id) {
  struct nvm_inst i = *function_inst(f, id);
  struct nvm_inst_id made =
      function_add_inst(f, (enum op)i.op, i.flags, i.type, f->operands.data + i.first_operand,
                        i.operand_count, i.aux);
  if (inst_is_none(made)) return made;
  f->locations.data[made.index] = f->locations.data[id.index];
  f->positions.data[made.index] = f->positions.data[id.index];
  if (!op_is_terminator((enum op)i.op))
    f->attachments.data[made.index] =
        module_share_attachments(f->module, f->attachments.data[id.index]);
  for (uint32_t k = 0; k < i.operand_count; k++) {
    struct nvm_value v = inst_operand(f, function_inst(f, made), k), now = loop_copy_of(c, v);
    if (!value_equal(v, now)) inst_set_operand(f, made, k, now);
  }
  if (id.index < c->value_count) c->values[id.index] = value_of_inst(made);
  return made;
}

/* The constant that the copy of i folds to; VALUE_NULL: none. */
static struct nvm_value folded_copy(const struct loop_copy *c, struct nvm_function *f,
                                    const struct nvm_inst *i) {
  enum { MAX_OPERANDS = 3 };
  struct nvm_value operands[MAX_OPERANDS];
  if (i->operand_count == 0 || i->operand_count > MAX_OPERANDS || i->op == OP_CALL ||
      !effects_is_pure(f, i))
    return VALUE_NULL;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = loop_copy_of(c, inst_operand(f, i, k));
    if (value_kind(operands[k]) != VALUE_CONST) return VALUE_NULL;
  }
  return eval_inst(f, i, operands);
}

/* The number of operands of i whose copy does not exist yet. */
static uint32_t count_missing(const struct loop_copy *c, const struct nvm_function *f,
                              const struct nvm_inst *i) {
  uint32_t missing = 0;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value v = inst_operand(f, i, k);
    if (value_kind(v) != VALUE_INST || value_index(v) >= c->value_count) continue;
    uint32_t b = f->insts.data[value_index(v)].block.index;
    missing += value_is_none(c->values[value_index(v)]) && b < c->block_count && c->blocks[b].index;
  }
  return missing;
}

/* Removes the entries of blocks that were not copied from the phis of a copy of b. b is not the
 * header, so these blocks are unreachable. */
static void drop_foreign_entries(struct loop_copy *c, struct nvm_function *f, struct nvm_block b) {
  FOR_EACH_PHI (f, b, i) {
    if (value_kind(c->values[i.index]) != VALUE_INST) continue;
    struct nvm_inst_id made = {value_index(c->values[i.index])};
    for (uint32_t k = function_inst(f, i)->operand_count; k > 0; k -= 2) {
      uint32_t from = value_index(inst_operand(f, function_inst(f, i), k - 1));
      if (from >= c->block_count || c->blocks[from].index == 0)
        inst_remove_operands(f, made, k - 2, 2);
    }
  }
}

bool loop_copy_blocks(struct loop_copy *c, struct nvm_function *f, const struct nvm_block *blocks,
                      uint32_t count, struct nvm_block before) {
  uint32_t missing = 0;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block made = function_add_block(f, (struct nvm_str){0});
    if (block_is_none(made)) return false;
    function_move_block(f, made, before);
    c->blocks[blocks[k].index] = made;
  }
  for (uint32_t k = 0; k < count; k++)
    FOR_EACH_INST (f, blocks[k], i) {
      bool given = function_inst(f, i)->op == OP_PHI && blocks[k].index == c->header.index;
      if (given || function_inst(f, i)->op == OP_DBG_RECORD) continue;
      struct nvm_value constant = folded_copy(c, f, function_inst(f, i));
      if (!value_is_none(constant)) {
        c->values[i.index] = constant;
        continue;
      }
      missing += count_missing(c, f, function_inst(f, i));
      struct nvm_inst_id made = loop_copy_inst(c, f, i);
      if (inst_is_none(made)) return false;
      inst_append(f, made, c->blocks[blocks[k].index]);
    }
  for (uint32_t k = 0; missing && k < count; k++) /* second pass for operands copied later */
    FOR_EACH_INST (f, blocks[k], i) {
      bool given = function_inst(f, i)->op == OP_PHI && blocks[k].index == c->header.index;
      if (given || value_kind(c->values[i.index]) != VALUE_INST) continue;
      struct nvm_inst_id made = {value_index(c->values[i.index])};
      for (uint32_t o = 0; o < function_inst(f, i)->operand_count; o++) {
        struct nvm_value now = loop_copy_of(c, inst_operand(f, function_inst(f, i), o));
        if (value_equal(now, inst_operand(f, function_inst(f, made), o))) continue;
        inst_set_operand(f, made, o, now);
        missing--;
      }
    }
  for (uint32_t k = 1; k < count; k++) drop_foreign_entries(c, f, blocks[k]);
  return true;
}

void loop_replace_incoming(struct nvm_function *f, struct nvm_inst_id phi, struct nvm_block old,
                           struct nvm_value v, struct nvm_block from) {
  for (uint32_t k = 0; k < function_inst(f, phi)->operand_count; k += 2)
    if (value_index(inst_operand(f, function_inst(f, phi), k + 1)) == old.index) {
      inst_set_operand(f, phi, k, v);
      inst_set_operand(f, phi, k + 1, value_of_block(from));
    }
}

bool loop_copy_exits(const struct loop_copy *c, struct nvm_function *f,
                     const struct nvm_block *blocks, uint32_t block_count) {
  for (uint32_t k = 0; k < block_count; k++) {
    struct nvm_block b = blocks[k];
    for (uint32_t s = 0, count = block_successor_count(f, b); s < count; s++) {
      struct nvm_block to = block_successor(f, b, s);
      if (to.index < c->block_count && c->blocks[to.index].index) continue;
      FOR_EACH_PHI (f, to, i) {
        struct nvm_value v = loop_copy_of(c, phi_incoming(f, i, b));
        if (!phi_add(f, i, v, c->blocks[b.index])) return false;
      }
    }
  }
  return true;
}

static bool is_noduplicate(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_function *g = call_function(f, i);
  return call_attribute(f, i, ATTR_NODUPLICATE) || (g && function_attribute(g, ATTR_NODUPLICATE)) ||
         call_intrinsic(f, i) == INTRINSIC_experimental_noalias_scope_decl;
}

bool loop_is_copyable(const struct nvm_function *f, const struct loops *l, uint32_t n,
                      uint32_t most, bool *convergent, uint32_t *size) {
  const struct loop *p = &l->data[n];
  uint32_t count = 0;
  *convergent = false;
  *size = 0;
  if (p->block_count / 4 > most) return false;
  for (uint32_t k = 0; k < p->block_count && count <= most; k++)
    FOR_EACH_INST (f, l->blocks[p->first_block + k], i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (inst->op == OP_ALLOCA || inst->op == OP_VA_ARG) return false;
      if (inst->op == OP_CALL && is_noduplicate(f, inst)) return false;
      *convergent |= effects_is_convergent(f, inst);
      count += loops_work(f, inst);
    }
  *size = count;
  return count <= most;
}

cost loop_division_cost(const struct nvm_function *f, const struct nvm_target *target,
                        const struct nvm_inst *i) {
  static const uint8_t scalars[TY_KIND_COUNT] = {[TY_HALF] = TGT_HALF,
                                                 [TY_BFLOAT] = TGT_BFLOAT,
                                                 [TY_FLOAT] = TGT_FLOAT,
                                                 [TY_DOUBLE] = TGT_DOUBLE};
  static const uint8_t operations[OP_COUNT] = {[OP_FDIV] = TGT_OPERATION_DIVIDE,
                                               [OP_UDIV] = TGT_OPERATION_DIVIDE,
                                               [OP_SDIV] = TGT_OPERATION_DIVIDE_SIGNED,
                                               [OP_UREM] = TGT_OPERATION_REMAINDER,
                                               [OP_SREM] = TGT_OPERATION_REMAINDER_SIGNED};
  const struct nvm_module *m = f->module;
  bool is_float = i->op == OP_FDIV;
  uint8_t operation = operations[i->op];
  if (operation == 0 || (!is_float && value_kind(inst_operand(f, i, 1)) == VALUE_CONST)) return 0;
  if (is_float && (i->flags & INST_AFN)) operation = TGT_OPERATION_DIVIDE_APPROX;
  struct nvm_type scalar = type_scalar(&m->types, i->type);
  uint64_t bits = layout_bits(&m->layout, &m->types, scalar);
  struct cost_type type = {(enum tgt_scalar)scalars[type_kind(&m->types, scalar)], (uint16_t)bits,
                           1};
  return bits <= 128 ? cost_arithmetic(target, (enum tgt_operation_index)operation, type, COST_SIZE)
                     : 0;
}

/* Whether all predecessors of the exit blocks are in the loop. */
static bool has_dedicated_exits(const struct loop_nest *nest, uint32_t n) {
  const struct dominance *d = &nest->d;
  uint32_t count;
  const struct loop_exit *exits = loops_exits(&nest->loops, n, &count);
  for (uint32_t k = 0; k < count; k++) {
    uint32_t first = d->first_predecessor[exits[k].to.index],
             end = d->first_predecessor[exits[k].to.index + 1];
    bool once = d->predecessors[first].index ==
                exits[k].from.index; /* once per exit block: for its first predecessor */
    for (uint32_t e = first; e < (once ? end : first + 1); e++)
      if (!loops_contains(&nest->loops, n, d->predecessors[e])) return false;
  }
  return exits != NULL;
}

/* Marks the loops with a value that is used outside other than by a phi of an exit; for all loops
 * at once. */
static bool find_open_loops(struct loop_nest *nest, const struct nvm_function *f) {
  const struct loops *l = &nest->loops;
  nest->open = arena_alloc(nest->arena, (l->count + 1) * sizeof *nest->open);
  if (!nest->open) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      for (uint32_t k = 0; k < inst->operand_count; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) != VALUE_INST) continue;
        struct nvm_block from = f->insts.data[value_index(v)].block, at = b;
        if (from.index == b.index && inst->op != OP_PHI) continue;
        if (inst->op == OP_PHI) at.index = value_index(inst_operand(f, inst, k + 1));
        uint32_t n = from.index < l->known_blocks ? l->innermost[from.index] : 0;
        for (; n && !loops_contains(l, n, at); n = l->data[n].parent) nest->open[n] = true;
      }
    }
  return true;
}

bool loop_loads_conditionally(const struct nvm_function *f, const struct loop_nest *nest,
                              uint32_t n) {
  const struct loop *l = &nest->loops.data[n];
  for (uint32_t k = 0; k < l->block_count; k++) {
    struct nvm_block b = nest->loops.blocks[l->first_block + k];
    if (dominance_dominates(&nest->d, b, l->latch)) continue;
    FOR_EACH_INST (f, b, i)
      if (function_inst(f, i)->op == OP_LOAD) return true;
  }
  return false;
}

bool loop_loads(const struct nvm_function *f, const struct loop_nest *nest, uint32_t n) {
  const struct loop *l = &nest->loops.data[n];
  for (uint32_t k = 0; k < l->block_count; k++)
    FOR_EACH_INST (f, nest->loops.blocks[l->first_block + k], i)
      if ((op_table[function_inst(f, i)->op].flags & OPF_READS) && f->uses.data[i.index])
        return true;
  return false;
}

bool loop_unrolling_is_hinted(const struct nvm_function *f, const struct loop *l) {
  static const char *const names[] = {"llvm.loop.unroll.disable", "llvm.loop.unroll.enable",
                                      "llvm.loop.unroll.full", "llvm.loop.unroll.count"};
  bool any = false;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    any |= loops_hint(f, l->hints, names[k]).given;
  return any;
}

bool loop_is_closed(struct loop_nest *nest, const struct nvm_function *f, uint32_t n) {
  const struct loop *p = &nest->loops.data[n];
  if (block_is_none(p->preheader) || block_is_none(p->latch) || !has_dedicated_exits(nest, n))
    return false;
  return (nest->open || find_open_loops(nest, f)) && !nest->open[n];
}

bool loop_attach(struct nvm_function *f, struct nvm_inst_id branch, struct nvm_meta loop) {
  struct nvm_module *m = f->module;
  struct nvm_str kind = module_str(m, "llvm.loop");
  uint32_t made = 0;
  for (uint32_t chain = f->attachments.data[branch.index]; chain;
       chain = m->attachments.data[chain].next) {
    struct attachment a = m->attachments.data[chain];
    if (a.kind.index != kind.index && !module_attach(m, &made, a.kind, a.node)) return false;
  }
  if (loop.index && !module_attach(m, &made, kind, loop)) return false;
  f->attachments.data[branch.index] = made;
  return true;
}

bool loop_set_hint(struct nvm_function *f, struct nvm_block latch, struct nvm_meta old,
                   const char *without, const char *hint) {
  struct nvm_module *m = f->module;
  VEC(struct nvm_meta) operands = {0};
  uint32_t made = meta_node_new(&m->metadata);
  const struct meta_node *before = old.index ? meta_as_node(&m->metadata, old) : NULL;
  struct nvm_meta self = meta_node(&m->metadata, made, false);
  if (!made || !VEC_PUSH(&m->arena, &operands, self)) return false;
  for (uint32_t k = 1; before && k < before->count; k++) {
    struct nvm_meta o = meta_operand(&m->metadata, before, k);
    if (!text_begins(module_text(m, loops_hint_name(m, o)), without) &&
        !VEC_PUSH(&m->arena, &operands, o))
      return false;
  }
  if (hint) {
    uint32_t node = meta_node_new(&m->metadata);
    struct nvm_meta text = meta_string(&m->metadata, module_str(m, hint));
    if (!node || !meta_node_define(&m->metadata, node, (struct nvm_str){0}, false, NULL, &text, 1))
      return false;
    struct nvm_meta o = meta_node(&m->metadata, node, false);
    if (!VEC_PUSH(&m->arena, &operands, o)) return false;
  }
  if (!meta_node_define(&m->metadata, made, (struct nvm_str){0}, true, NULL, operands.data,
                        operands.count))
    return false;
  return loop_attach(f, block_terminator(f, latch), self);
}
