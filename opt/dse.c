/* dse: stores whose value nobody reads are removed.
 *
 * Purpose:   what is overwritten, or lies in a variable of the function that is not read any more, need not
 *            be written.
 * Algorithm: from each store forward over all ways: a way is done where the same bytes are written again,
 *            or the function ends and the object is private to it; anything that may read the bytes keeps the
 *            store. The walk does not enter a block that defines a part of the address again.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      each store looks at MAX_STEPS accesses in MAX_BLOCKS blocks.
 * Omits:     stores partly overwritten; block copies.
 * Tests:     check/opt/dse.nvir. */
#include "ir/intrinsic.h"
#include "opt/analysis/alias.h"
#include "opt/effects.h"
#include "opt/passes.h"

enum { MAX_BLOCKS = 16, MAX_STEPS = 64 };

struct eliminator {
  struct nvm_function *f;
  struct alias_env *alias;
  struct nvm_inst_id *after; /* by instruction: the access behind it in its block */
  struct nvm_inst_id *first; /* by block: its first access */
  uint32_t *seen;            /* by block: number of the store + 1 */
  uint32_t *place;           /* by block: in the layout */
  bool progresses;           /* no way goes round for ever */
  uint32_t *ends;            /* by alias_class: stores and lifetime.end that it is the address of */
  struct nvm_block work[MAX_BLOCKS];
  uint32_t work_count, steps;
};

static bool is_plain_store(const struct nvm_inst *i) {
  return i->op == OP_STORE && effects_is_plain_access(i);
}

static bool is_lifetime_end(const struct nvm_function *f, const struct nvm_inst *i) {
  return call_intrinsic(f, i) == INTRINSIC_lifetime_end;
}

static bool chain_accesses(struct eliminator *g, struct arena *arena) {
  struct nvm_function *f = g->f;
  g->after = arena_alloc(arena, f->insts.count * sizeof *g->after);
  g->first = arena_alloc(arena, f->blocks.count * sizeof *g->first);
  g->seen = arena_alloc(arena, f->blocks.count * sizeof *g->seen);
  g->ends = arena_alloc(arena, f->insts.count * sizeof *g->ends); /* no more than stores and calls, and [0] */
  g->place = arena_alloc(arena, f->blocks.count * sizeof *g->place);
  g->progresses = function_attribute(f, ATTR_MUSTPROGRESS);
  if (!g->after || !g->first || !g->seen || !g->ends || !g->place) return false;
  uint32_t place = 0;
  FOR_EACH_BLOCK(f, b) {
    struct nvm_inst_id last = {0};
    g->place[b.index] = place++;
    FOR_EACH_INST(f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (!alias_effects(f, i)) continue;
      if (is_plain_store(inst) || is_lifetime_end(f, inst)) {
        uint32_t class = alias_class(g->alias, inst_operand(f, inst, 1));
        if (class == 0) return false;
        g->ends[class]++;
      }
      if (inst_is_none(last)) g->first[b.index] = i;
      else g->after[last.index] = i;
      last = i;
    }
  }
  return true;
}

enum verdict { READ, GONE, PASSES };

/* What becomes of the bytes from access `from` to the end of its block. */
static enum verdict look_ahead(struct eliminator *g, struct nvm_inst_id from, struct memory_location l) {
  uint32_t class = alias_class(g->alias, l.pointer);
  for (struct nvm_inst_id i = from; !inst_is_none(i); i = g->after[i.index]) {
    const struct nvm_inst *inst = function_inst(g->f, i);
    struct memory_location theirs;
    if (g->steps++ == MAX_STEPS) return READ;
    bool end = is_lifetime_end(g->f, inst);
    if (end || is_plain_store(inst)) {
      alias_location_of(g->f, i, &theirs);
      if (end) theirs = (struct memory_location){.pointer = inst_operand(g->f, inst, 1), .bytes = l.bytes};
      bool same = alias_class(g->alias, theirs.pointer) == class;
      if (same && theirs.bytes >= l.bytes && alias_query(g->alias, theirs, l) == ALIAS_MUST) return GONE;
      continue;
    }
    if (alias_mod_ref(g->alias, i, l) & ALIAS_READS) return READ;
  }
  return PASSES;
}

/* Whether block b makes a part of the address anew. */
static bool defines_part(const struct eliminator *g, struct nvm_block b, const struct alias_address *a) {
  for (uint32_t k = 0; k <= a->term_count; k++) {
    struct nvm_value v = k ? a->terms[k - 1].variable : a->base;
    if (value_kind(v) == VALUE_INST && g->f->insts.data[value_index(v)].block.index == b.index) return true;
  }
  return false;
}

/* Adds the successors of b; false: the store stays. A way that goes back may go round for ever, and others see the store. */
static bool add_successors(struct eliminator *g, struct nvm_block b, struct nvm_inst_id store,
                           const struct alias_address *address) {
  uint32_t count = block_successor_count(g->f, b);
  const struct nvm_inst *t = function_inst(g->f, block_terminator(g->f, b));
  bool is_private = alias_is_private(g->alias, address->base);
  if (count == 0) return t->op == OP_RET && is_private;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block to = block_successor(g->f, b, k);
    if (g->place[to.index] <= g->place[b.index] && !is_private && !g->progresses) return false;
    if (g->seen[to.index] == store.index) continue;
    if (g->work_count == MAX_BLOCKS || defines_part(g, to, address)) return false;
    g->seen[to.index] = store.index;
    g->work[g->work_count++] = to;
  }
  return true;
}

static bool is_dead(struct eliminator *g, struct nvm_inst_id store) {
  const struct nvm_inst *i = function_inst(g->f, store);
  struct memory_location l;
  alias_location_of(g->f, store, &l);
  struct alias_address address = alias_decompose(g->f, l.pointer);
  if (g->ends[alias_class(g->alias, l.pointer)] == 1 && !alias_is_private(g->alias, address.base)) return false;
  g->work_count = g->steps = 0;
  enum verdict v = look_ahead(g, g->after[store.index], l);
  if (v != PASSES) return v == GONE;
  if (!add_successors(g, i->block, store, &address)) return false;
  for (uint32_t k = 0; k < g->work_count; k++) {
    v = look_ahead(g, g->first[g->work[k].index], l);
    if (v == READ) return false;
    if (v == PASSES && !add_successors(g, g->work[k], store, &address)) return false;
  }
  return true;
}

enum nvm_status dse_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct eliminator g = {.f = f, .alias = alias_init(f, env->arena)};
  if (!g.alias || !chain_accesses(&g, env->arena)) return NVM_OUT_OF_MEMORY;
  VEC(struct nvm_inst_id) dead = {0};
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i)
      if (is_plain_store(function_inst(f, i)) && is_dead(&g, i) && !VEC_PUSH(env->arena, &dead, i))
        return NVM_OUT_OF_MEMORY;
  /* All at once: a store may have been found dead because of another that is dead, later. */
  for (uint32_t k = 0; k < dead.count; k++) inst_remove(f, dead.data[k]);
  *env->statistic += dead.count;
  *changed = dead.count != 0;
  return NVM_OK;
}
