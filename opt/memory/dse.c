/* dse: stores whose value nobody reads are removed.
 *
 * Purpose:   what is overwritten, or lies in a variable of the function that is not read any more,
 * need not be written. Algorithm: from each store forward over all ways: a way is done where the
 * same bytes are written again, or the function ends and the object is private to it; anything that
 * may read the bytes keeps the store. The walk does not enter a block that defines a part of the
 * address again. Nobody needs what is stored as undef or poison. Requires:  nothing. Preserves: the
 * control flow. Cost:      each store looks at MAX_STEPS accesses in MAX_BLOCKS blocks. Omits:
 * stores partly overwritten; block copies. Tests:     check/opt/dse.nvir. */
#include "analysis/accesses.h"
#include "analysis/effects.h"
#include "opt/passes.h"

enum { MAX_BLOCKS = 16, MAX_STEPS = 64 };

struct eliminator {
  struct nvm_function *f;
  struct alias_env *alias;
  struct accesses accesses;
  uint32_t *seen;  /* by block: number of the store + 1 */
  uint32_t *place; /* by block: in the layout */
  bool progresses; /* no way goes round for ever */
  uint32_t *ends;  /* by alias_class: stores and lifetime.end that it is the address of */
  struct nvm_block work[MAX_BLOCKS];
  uint32_t work_count, steps;
};

static bool collect_accesses(struct eliminator *g, struct arena *arena) {
  struct nvm_function *f = g->f;
  if (!accesses_collect(&g->accesses, f, g->alias, 1u << ACCESS_STORE | 1u << ACCESS_END, arena))
    return false;
  g->seen = arena_alloc(arena, f->blocks.count * sizeof *g->seen);
  g->ends = arena_alloc(arena, (g->accesses.list.count + 1) * sizeof *g->ends);
  g->place = arena_alloc(arena, f->blocks.count * sizeof *g->place);
  g->progresses = function_attribute(f, ATTR_MUSTPROGRESS);
  if (!g->seen || !g->ends || !g->place) return false;
  uint32_t place = 0;
  FOR_EACH_BLOCK(f, b) g->place[b.index] = place++;
  for (uint32_t k = 0; k < g->accesses.list.count; k++) {
    const struct access *x = &g->accesses.list.data[k];
    g->ends[x->class] += x->kind == ACCESS_STORE || x->kind == ACCESS_END;
  }
  return true;
}

enum verdict { READ, GONE, PASSES };

/* Whether nothing of what the store wrote is left behind x, which has the same address. */
static bool covers(struct eliminator *g, const struct access *x, const struct access *store) {
  struct memory_location theirs = x->where;
  if (x->kind == ACCESS_END)
    theirs = (struct memory_location){
        .pointer = theirs.pointer, .bytes = store->where.bytes, .place = theirs.place};
  return theirs.bytes >= store->where.bytes &&
         alias_query(g->alias, theirs, store->where) == ALIAS_MUST;
}

/* What becomes of the bytes of a store in the accesses from `first` to before `end`, of one block.
 */
static enum verdict look_ahead(struct eliminator *g, uint32_t first, uint32_t end,
                               const struct access *store) {
  for (uint32_t k = first; k < end; k++) {
    const struct access *x = &g->accesses.list.data[k];
    if (g->steps++ == MAX_STEPS) return READ;
    if (x->kind == ACCESS_STORE || x->kind == ACCESS_END) {
      if (x->class == store->class && covers(g, x, store)) return GONE;
    } else if (x->kind == ACCESS_LOAD) {
      if (alias_query(g->alias, x->where, store->where) != ALIAS_NO) return READ;
    } else if (alias_mod_ref(g->alias, x->where.access, store->where) & ALIAS_READS) {
      return READ;
    }
  }
  return PASSES;
}

/* Adds the successors of b; false: the store stays. A way that goes back may go round for ever, and
 * others see the store. */
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
    if (g->work_count == MAX_BLOCKS || alias_is_made_in(g->f, address, to)) return false;
    g->seen[to.index] = store.index;
    g->work[g->work_count++] = to;
  }
  return true;
}

static bool is_dead(struct eliminator *g, uint32_t at) {
  const struct accesses *a = &g->accesses;
  const struct access *store = &a->list.data[at];
  struct nvm_inst_id id = store->where.access;
  struct nvm_block home = function_inst(g->f, id)->block;
  const struct alias_address *address = &store->where.place->address;
  if (effects_stores_nothing(g->f, function_inst(g->f, id))) return true;
  if (g->ends[store->class] == 1 && !alias_is_private(g->alias, address->base)) return false;
  g->work_count = g->steps = 0;
  enum verdict v = look_ahead(g, at + 1, a->end[home.index], store);
  if (v != PASSES) return v == GONE;
  if (!add_successors(g, home, id, address)) return false;
  for (uint32_t k = 0; k < g->work_count; k++) {
    struct nvm_block b = g->work[k];
    v = look_ahead(g, a->first[b.index], a->end[b.index], store);
    if (v == READ) return false;
    if (v == PASSES && !add_successors(g, b, id, address)) return false;
  }
  return true;
}

enum nvm_status dse_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct eliminator g = {.f = f, .alias = alias_init(f, env->arena)};
  if (!g.alias || !collect_accesses(&g, env->arena)) return NVM_OUT_OF_MEMORY;
  VEC(struct nvm_inst_id) dead = {0};
  for (uint32_t k = 0; k < g.accesses.list.count; k++) {
    const struct access *x = &g.accesses.list.data[k];
    if (x->kind == ACCESS_STORE && is_dead(&g, k) && !VEC_PUSH(env->arena, &dead, x->where.access))
      return NVM_OUT_OF_MEMORY;
  }
  /* All at once: a store may have been found dead because of another that is dead, later. */
  for (uint32_t k = 0; k < dead.count; k++) inst_remove(f, dead.data[k]);
  *env->statistic += dead.count;
  *changed = dead.count != 0;
  return NVM_OK;
}
