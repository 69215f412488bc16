/* dse: removes stores whose value is never read.
 *
 * Purpose:   front ends and inlining leave stores that are overwritten, or that write to variables
 *            of the function that are not read any more.
 * Algorithm: from each store forward over all paths. A path ends where the same bytes are written
 *            again, or where the function returns if the object is private to it. An access that
 *            may read the bytes keeps the store. The walk does not enter a block that redefines a
 *            part of the address. Stores of undef and poison are always removed, and those that
 *            write back what their block has loaded.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      each store looks at MAX_STEPS accesses in MAX_BLOCKS blocks.
 * Omits:     stores that are partly overwritten; block copies.
 * Tests:     check/opt/dse.nvir. */
#include "analysis/accesses.h"
#include "analysis/effects.h"
#include "opt/passes.h"

enum { MAX_BLOCKS = 16, MAX_STEPS = 64 };

struct eliminator {
  struct nvm_function *f;
  struct alias_env *alias;
  struct accesses accesses;
  uint32_t *seen;     /* by block: the store whose walk entered it last */
  uint32_t *position; /* by block: position in the layout */
  bool progresses;    /* mustprogress: no path is an endless loop */
  uint32_t *ends;     /* by alias class: number of stores and lifetime.end to that address */
  struct nvm_block work[MAX_BLOCKS];
  uint32_t work_count, steps;
};

static bool collect_accesses(struct eliminator *g, struct arena *arena) {
  struct nvm_function *f = g->f;
  if (!accesses_collect(&g->accesses, f, g->alias, 1u << ACCESS_STORE | 1u << ACCESS_END, arena))
    return false;
  g->seen = arena_alloc(arena, f->blocks.count * sizeof *g->seen);
  g->ends = arena_alloc(arena, (g->accesses.list.count + 1) * sizeof *g->ends);
  g->position = arena_alloc(arena, f->blocks.count * sizeof *g->position);
  g->progresses = function_attribute(f, ATTR_MUSTPROGRESS);
  if (!g->seen || !g->ends || !g->position) return false;
  uint32_t position = 0;
  FOR_EACH_BLOCK (f, b) g->position[b.index] = position++;
  for (uint32_t k = 0; k < g->accesses.list.count; k++) {
    const struct access *x = &g->accesses.list.data[k];
    g->ends[x->class] += x->kind == ACCESS_STORE || x->kind == ACCESS_END;
  }
  return true;
}

enum outcome { READ, OVERWRITTEN, PASSES };

/* Whether x, which has the same address class, overwrites or ends all bytes of the store. */
static bool covers(struct eliminator *g, const struct access *x, const struct access *store) {
  struct memory_location theirs = x->where;
  if (x->kind == ACCESS_END)
    theirs = (struct memory_location){
        .pointer = theirs.pointer, .bytes = store->where.bytes, .place = theirs.place};
  return theirs.bytes >= store->where.bytes &&
         alias_query(g->alias, theirs, store->where) == ALIAS_MUST;
}

/* What accesses first .. end - 1, of one block, do to the bytes of a store. */
static enum outcome look_ahead(struct eliminator *g, uint32_t first, uint32_t end,
                               const struct access *store) {
  for (uint32_t k = first; k < end; k++) {
    const struct access *x = &g->accesses.list.data[k];
    if (g->steps++ == MAX_STEPS) return READ;
    if (x->kind == ACCESS_STORE || x->kind == ACCESS_END) {
      if (x->class == store->class && covers(g, x, store)) return OVERWRITTEN;
    } else if (x->kind == ACCESS_LOAD) {
      if (alias_query(g->alias, x->where, store->where) != ALIAS_NO) return READ;
    } else if (alias_mod_ref(g->alias, x->where.access, store->where) & EFFECT_READS) {
      return READ;
    }
  }
  return PASSES;
}

/* Adds the successors of b. False: the store is kept. On a back edge the loop may be endless, and
 * other threads can observe the store. */
static bool add_successors(struct eliminator *g, struct nvm_block b, struct nvm_inst_id store,
                           const struct alias_address *address) {
  uint32_t count = block_successor_count(g->f, b);
  const struct nvm_inst *t = function_inst(g->f, block_terminator(g->f, b));
  bool is_private = alias_is_private(g->alias, address->base);
  if (count == 0) return t->op == OP_RET && is_private;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block to = block_successor(g->f, b, k);
    if (g->position[to.index] <= g->position[b.index] && !is_private && !g->progresses)
      return false;
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
  struct nvm_block block = function_inst(g->f, id)->block;
  const struct alias_address *address = &store->where.place->address;
  if (effects_stores_nothing(g->f, function_inst(g->f, id))) return true;
  if (g->ends[store->class] == 1 && !alias_is_private(g->alias, address->base)) return false;
  g->work_count = g->steps = 0;
  enum outcome v = look_ahead(g, at + 1, a->end[block.index], store);
  if (v != PASSES) return v == OVERWRITTEN;
  if (!add_successors(g, block, id, address)) return false;
  for (uint32_t k = 0; k < g->work_count; k++) {
    struct nvm_block b = g->work[k];
    v = look_ahead(g, a->first[b.index], a->end[b.index], store);
    if (v == READ) return false;
    if (v == PASSES && !add_successors(g, b, id, address)) return false;
  }
  return true;
}

/* Whether the store writes back what its block has loaded from the same place, which nothing has
 * written in between. */
static bool writes_back(struct eliminator *g, uint32_t at) {
  const struct accesses *a = &g->accesses;
  const struct access *store = &a->list.data[at];
  const struct nvm_inst *i = function_inst(g->f, store->where.access);
  struct nvm_value v = inst_operand(g->f, i, 0);
  const struct nvm_inst *load = value_inst_of(g->f, v, OP_LOAD);
  if (!load || load->block.index != i->block.index || !effects_is_plain_access(load)) return false;
  g->steps = 0;
  for (uint32_t k = at; k-- > a->first[i->block.index];) {
    const struct access *x = &a->list.data[k];
    if (g->steps++ == MAX_STEPS) return false;
    if (x->kind == ACCESS_LOAD && x->where.access.index == value_index(v))
      return x->where.bytes == store->where.bytes &&
             alias_query(g->alias, x->where, store->where) == ALIAS_MUST;
    if (x->kind == ACCESS_LOAD) continue;
    if (x->kind == ACCESS_STORE || x->kind == ACCESS_END) {
      if (alias_query(g->alias, x->where, store->where) != ALIAS_NO) return false;
    } else if (alias_mod_ref(g->alias, x->where.access, store->where) & EFFECT_WRITES) {
      return false;
    }
  }
  return false;
}

enum nvm_status dse_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct eliminator g = {.f = f, .alias = alias_init(f, env->arena)};
  if (!g.alias || !collect_accesses(&g, env->arena)) return NVM_OUT_OF_MEMORY;
  VEC(struct nvm_inst_id) dead = {0};
  for (uint32_t k = 0; k < g.accesses.list.count; k++) {
    const struct access *x = &g.accesses.list.data[k];
    if (x->kind == ACCESS_STORE && (is_dead(&g, k) || writes_back(&g, k)) &&
        !VEC_PUSH(env->arena, &dead, x->where.access))
      return NVM_OUT_OF_MEMORY;
  }
  /* Removed at the end: a dead store may be dead because of a later dead store. */
  for (uint32_t k = 0; k < dead.count; k++) inst_remove(f, dead.data[k]);
  *env->statistic += dead.count;
  *changed = dead.count != 0;
  return NVM_OK;
}
