/* loop-rotate: while loops become guarded do-while loops (loop inversion).
 *
 * Purpose:   one branch per iteration instead of two; a block that is executed only if the loop
 *            is, to hoist invariants to; trip counts without a special case for zero.
 * Algorithm: the header, which tests and exits, is copied into the preheader, where it becomes the
 *            guard. The body's first block is the new header, the old header the latch:
 *              pre → H ⇄ body, H → exit
 *            becomes
 *              pre+H' → body ⇄ H, both H' and H → exit
 *            The values of H have two definitions then: phis in the new header join them, and
 *            exits' phis get an entry for the guard.
 * Requires:  loop-simplify, lcssa (other loops are skipped), which it destroys.
 * Preserves: hints, which move to the new latch.
 * Cost:      linear; a header of at most MAX_HEADER instructions is copied, once.
 * Omits:     headers with convergent operations; loops that test in the latch already.
 * Tests:     check/opt/loop-rotate-*. */
#include "analysis/effects.h"
#include "ir/build.h"
#include "opt/loop/loop_tools.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_HEADER = 16 };

struct rotation {
  struct nvm_function *f;
  struct loop_nest nest;
  struct arena *arena;
  const struct loop *loop;
  struct nvm_block header, body, exit;
  struct loop_copy copy;
  struct nvm_inst_id *joined; /* by instruction of the header: its phi in the new header */
};

static bool is_small_header(const struct nvm_function *f, struct nvm_block header) {
  uint32_t size = 0;
  FOR_EACH_INST (f, header, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->op == OP_PHI || inst->op == OP_DBG_RECORD) continue;
    if (++size > MAX_HEADER || effects_is_convergent(f, inst) || inst->op == OP_ALLOCA ||
        inst->op == OP_VA_ARG)
      return false;
  }
  return true;
}

/* Whether the loop has a small header that exits, and a latch that does not. */
static bool has_shape(struct rotation *r, uint32_t n) {
  const struct nvm_function *f = r->f;
  const struct loop *l = r->loop = &r->nest.loops.data[n];
  r->header = l->header;
  if (!l->preheader.index || !l->latch.index || l->latch.index == l->header.index) return false;
  if (function_inst(f, block_terminator(f, l->latch))->op != OP_BR) return false;
  if (function_inst(f, block_terminator(f, l->header))->op != OP_CONDBR) return false;
  bool first = loops_contains(&r->nest.loops, n, block_successor(f, l->header, 0));
  r->body = block_successor(f, l->header, !first);
  r->exit = block_successor(f, l->header, first);
  if (loops_contains(&r->nest.loops, n, r->exit) || r->body.index == r->header.index) return false;
  return is_small_header(f, l->header);
}

/* The loops that can be rotated; NULL when out of memory. */
static bool *find_rotatable(struct rotation *r) {
  bool *rotatable = arena_alloc(r->arena, (r->nest.loops.count + 1) * sizeof *rotatable),
       convergent;
  uint32_t size;
  for (uint32_t n = 1; rotatable && n <= r->nest.loops.count; n++)
    rotatable[n] = has_shape(r, n) && loop_is_closed(&r->nest, r->f, n) &&
                   loop_is_copyable(r->f, &r->nest.loops, n, UINT32_MAX, &convergent, &size);
  return rotatable;
}

/* Copies the header into the preheader, replacing its jump. */
static bool make_guard(struct rotation *r) {
  struct nvm_function *f = r->f;
  inst_remove(f, block_terminator(f, r->loop->preheader));
  FOR_EACH_INST (f, r->header, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->op == OP_DBG_RECORD) continue;
    if (inst->op == OP_PHI) {
      r->copy.values[i.index] = phi_incoming(f, i, r->loop->preheader);
      continue;
    }
    struct nvm_inst_id made = loop_copy_inst(&r->copy, f, i);
    if (inst_is_none(made)) return false;
    inst_append(f, made, r->loop->preheader);
  }
  return true;
}

/* Adds a phi to the new header for each value of the old one. Casts and addresses are computed
 * again instead, from phis of their operands, which analyses understand. */
static bool join_values(struct rotation *r) {
  struct nvm_function *f = r->f;
  struct builder body = builder_before(f, block_first_after_phis(f, r->body));
  FOR_EACH_INST (f, r->header, i) {
    struct nvm_inst inst = *function_inst(f, i);
    if (inst.op == OP_DBG_RECORD || f->uses.data[i.index] == 0 || type_equal(inst.type, TYPE_VOID))
      continue;
    if (op_is_cast((enum op)inst.op) || inst.op == OP_GEP) {
      struct nvm_inst_id again =
          builder_insert(&body, (enum op)inst.op, inst.flags, inst.type,
                         f->operands.data + inst.first_operand, inst.operand_count, inst.aux);
      if (inst_is_none(again)) return false;
      r->joined[i.index] = again;
      continue;
    }
    struct nvm_value operands[4] = {loop_copy_of(&r->copy, value_of_inst(i)),
                                    value_of_block(r->loop->preheader), value_of_inst(i),
                                    value_of_block(r->header)};
    struct builder start = builder_at_start(f, r->body);
    struct nvm_inst_id phi = builder_insert(&start, OP_PHI, 0, inst.type, operands, 4, 0);
    if (inst_is_none(phi)) return false;
    f->names.data[phi.index] = inst.op == OP_PHI ? f->names.data[i.index] : (struct nvm_str){0};
    if (inst.op == OP_PHI) f->names.data[i.index] = (struct nvm_str){0};
    r->joined[i.index] = phi;
  }
  return true;
}

/* The new value for v: after the new loop's latch (the old header), or before it. */
static struct nvm_value new_value(const struct rotation *r, struct nvm_value v, bool after) {
  if (value_kind(v) != VALUE_INST || value_index(v) >= r->copy.value_count) return v;
  struct nvm_inst_id i = {value_index(v)}, phi = r->joined[i.index];
  if (inst_is_none(phi) || function_inst(r->f, i)->block.index != r->header.index) return v;
  if (!after) return value_of_inst(phi);
  if (function_inst(r->f, i)->op != OP_PHI) return v; /* computed there */
  return new_value(r, phi_incoming(r->f, i, r->loop->latch), false);
}

/* Renames the operands in block b; entries of phis for the old header are after the latch. */
static void use_joined(struct rotation *r, struct nvm_block b, bool outside) {
  struct nvm_function *f = r->f;
  FOR_EACH_INST (f, b, i) {
    bool phi = function_inst(f, i)->op == OP_PHI, header = b.index == r->header.index;
    if ((outside && !phi) || (phi && header)) continue;
    for (uint32_t o = 0; o < function_inst(f, i)->operand_count; o++) {
      struct nvm_value v = inst_operand(f, function_inst(f, i), o);
      bool after = header;
      if (phi && !(o & 1))
        after = value_index(inst_operand(f, function_inst(f, i), o + 1)) == r->header.index;
      struct nvm_value now = new_value(r, v, after);
      if (!value_equal(v, now)) inst_set_operand(f, i, o, now);
    }
  }
}

/* Adds entries for the guard to the phis of the exit or the body. */
static bool add_guard_entries(struct rotation *r, struct nvm_block to) {
  struct nvm_function *f = r->f;
  FOR_EACH_PHI (f, to, i) {
    struct nvm_value v = loop_copy_of(&r->copy, phi_incoming(f, i, r->header));
    if (!phi_add(f, i, v, r->loop->preheader)) return false;
  }
  return true;
}

/* Replaces the old header's phis, which debug records may still refer to. */
static void replace_old_phis(struct rotation *r, struct rewrite *replaced) {
  FOR_EACH_PHI (r->f, r->header, i) {
    const struct nvm_inst *inst = function_inst(r->f, i);
    struct nvm_inst_id phi = r->joined[i.index];
    rewrite_set(replaced, i,
                inst_is_none(phi) ? const_poison(r->f->module, inst->type) : value_of_inst(phi));
  }
}

static bool rotate(struct rotation *r, uint32_t n, struct rewrite *replaced) {
  struct nvm_function *f = r->f;
  const struct loops *l = &r->nest.loops;
  if (!make_guard(r) || !add_guard_entries(r, r->exit) || !add_guard_entries(r, r->body) ||
      !join_values(r))
    return false;
  for (uint32_t k = 0; k < r->loop->block_count; k++) {
    struct nvm_block b = l->blocks[r->loop->first_block + k];
    use_joined(r, b, false);
    for (uint32_t s = 0, count = block_successor_count(f, b); s < count; s++)
      if (!loops_contains(l, n, block_successor(f, b, s)))
        use_joined(r, block_successor(f, b, s), true);
  }
  replace_old_phis(r, replaced);
  struct nvm_inst_id old = block_terminator(f, r->loop->latch);
  return loop_attach(f, old, (struct nvm_meta){0}) &&
         (!r->loop->hints.index || loop_attach(f, block_terminator(f, r->header), r->loop->hints));
}

/* Splits the edge from a header to a body with other predecessors. */
static bool split_body_edges(struct rotation *r, const bool *rotatable) {
  for (uint32_t n = r->nest.loops.count; n >= 1; n--) {
    if (!rotatable[n] || !has_shape(r, n)) continue;
    const uint32_t *first = &r->nest.d.first_predecessor[r->body.index];
    if (first[1] - first[0] == 1) continue;
    if (block_is_none(loop_split_predecessors(r->f, r->body, &r->header, 1))) return false;
  }
  return true;
}

enum nvm_status loop_rotate_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct rotation r = {.f = f, .arena = env->arena};
  struct rewrite replaced;
  if (!loop_nest_of(&r.nest, f, env)) return NVM_OUT_OF_MEMORY;
  if (r.nest.loops.count == 0) return NVM_OK;
  uint32_t blocks = f->blocks.count;
  const bool *rotatable = find_rotatable(&r);
  if (!rotatable || !split_body_edges(&r, rotatable) || !rewrite_init(&replaced, f, env->arena))
    return NVM_OUT_OF_MEMORY;
  *changed = f->blocks.count != blocks;
  if (*changed && (!loop_nest_compute(&r.nest, f, env->arena) || !(rotatable = find_rotatable(&r))))
    return NVM_OUT_OF_MEMORY;
  r.joined = arena_alloc(env->arena, f->insts.count * sizeof *r.joined);
  if (!r.joined || !loop_copy_init(&r.copy, f, env->arena)) return NVM_OUT_OF_MEMORY;
  /* Inner loops first: rotation ends the preheader with a test, and it may be the header of the
   * outer loop, which then is not rotated in this run. */
  for (uint32_t n = r.nest.loops.count; n >= 1; n--) {
    if (!rotatable[n] || !has_shape(&r, n)) continue;
    if (!rotate(&r, n, &replaced)) return NVM_OUT_OF_MEMORY;
    ++*env->statistic;
    *changed = true;
  }
  rewrite_apply(&replaced);
  return NVM_OK;
}
