/* mem2reg: promotes variables that are only loaded and stored to SSA values.
 *
 * Purpose:   front ends write every variable as an alloca; other passes need values.
 * Algorithm: phis at the iterated dominance frontier of the stores (Cytron et al., 1991), only
 *            where the variable is live (pruned SSA: Choi, Cytron, Ferrante, 1991); then a walk
 *            over the dominator tree replaces loads by the reaching values.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      for each variable linear in the blocks where it is live, the renaming walk linear;
 *            bounded by a number of steps and phis for each instruction and block (BUDGET).
 * Omits:     aggregates accessed by parts; accesses of another type than the variable's;
 *            variables for which the budget is spent.
 * Tests:     check/opt/mem2reg-*. */
#include "ir/dominance.h"
#include "ir/build.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum {
  NO_VARIABLE = 0,
  /* Thousands of variables that are live through thousands of joins need millions of phis. BUDGET
   * edges may be walked for each instruction and block of the function; phis may have as many
   * operands as there are instructions. The floors are for small functions. */
  BUDGET = 32,
  BUDGET_FLOOR = 1 << 18,
  OPERANDS_FLOOR = 1 << 16,
};

struct block_accesses {
  struct nvm_block block;
  bool reads_first; /* a load comes before the first store of the block */
  bool stores;
};
typedef VEC(struct block_accesses) access_list;

struct variable {
  struct nvm_inst_id alloca;
  struct nvm_type type; /* of all its loads and stores */
  uint32_t known_uses;  /* these and lifetime markers; a promotable variable has no others */
  access_list accesses; /* by block, in layout order */
};

/* A load, a store or a lifetime marker of a variable. */
struct user {
  struct nvm_inst_id inst;
  uint32_t variable;
};

struct promoter {
  struct nvm_function *f;
  struct arena *arena;
  struct dominance dom;
  struct rewrite rewrite;
  uint32_t *variable_of; /* by instruction: index + 1 into variables */
  VEC(struct variable) variables;
  VEC(struct user) users;           /* grouped by block, in its order */
  uint32_t *first_user;             /* by block, if it has one: index into users */
  struct nvm_inst_id *first_phi;    /* by block: phis made by this pass, chained by next_phi */
  VEC(struct nvm_inst_id) next_phi; /* by the number of the phi */
  VEC(uint32_t) phi_variable;
  uint32_t first_new; /* the first instruction made by this pass */
};

/* --- Candidates --- */

static bool is_candidate(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_ALLOCA && i->block.index == f->entry.index && alloca_is_single(f, i);
}

static struct variable *variable_of(struct promoter *p, struct nvm_value v) {
  if (value_kind(v) != VALUE_INST || value_index(v) >= p->first_new) return NULL;
  uint32_t n = p->variable_of[value_index(v)];
  return n == NO_VARIABLE ? NULL : &p->variables.data[n - 1];
}

static bool is_promoted(const struct promoter *p, const struct variable *v) {
  return p->variable_of[v->alloca.index] != NO_VARIABLE;
}

static void reject(struct promoter *p, const struct variable *v) {
  p->variable_of[v->alloca.index] = NO_VARIABLE;
}

/* The variable that a load or store accesses, NULL if there is none. */
static struct variable *accessed_variable(struct promoter *p, const struct nvm_inst *i) {
  return i->op == OP_LOAD || i->op == OP_STORE
             ? variable_of(p, inst_operand(p->f, i, i->op == OP_STORE))
             : NULL;
}

static bool note_user(struct promoter *p, struct nvm_inst_id i, const struct variable *v) {
  struct nvm_block b = function_inst(p->f, i)->block;
  struct user u = {i, (uint32_t)(v - p->variables.data)};
  bool first = p->users.count == 0 ||
               function_inst(p->f, p->users.data[p->users.count - 1].inst)->block.index != b.index;
  if (first) p->first_user[b.index] = p->users.count;
  return VEC_PUSH(p->arena, &p->users, u);
}

static bool note_access(struct promoter *p, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(p->f, id);
  struct variable *v = accessed_variable(p, i);
  if (!v || !effects_is_plain_access(i)) return true;
  bool store = i->op == OP_STORE;
  struct nvm_type type = store ? value_type(p->f, inst_operand(p->f, i, 0)) : i->type;
  if (v->type.index == 0) v->type = type;
  v->known_uses += type_equal(v->type, type);
  if (!note_user(p, id, v)) return false;
  if (v->accesses.count == 0 ||
      v->accesses.data[v->accesses.count - 1].block.index != i->block.index) {
    struct block_accesses a = {i->block, !store, store};
    return VEC_PUSH(p->arena, &v->accesses, a);
  }
  v->accesses.data[v->accesses.count - 1].stores |= store;
  return true;
}

/* Lifetime markers do not prevent promotion; they are removed. */
static bool note_marker(struct promoter *p, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(p->f, id);
  bool marker = effects_is_lifetime_marker(p->f, i);
  struct variable *v = NULL;
  for (uint32_t k = 0; marker && !v && k < i->operand_count; k++)
    v = variable_of(p, inst_operand(p->f, i, k));
  if (!v) return true;
  v->known_uses++;
  return note_user(p, id, v);
}

/* Finds the variables and their accesses. *promoted: the number of promotable ones. */
static bool find_variables(struct promoter *p, uint32_t *promoted) {
  struct nvm_function *f = p->f;
  FOR_EACH_INST (f, f->entry, i) {
    struct variable v = {.alloca = i};
    if (is_candidate(f, function_inst(f, i)) && !VEC_PUSH(p->arena, &p->variables, v)) return false;
  }
  if (p->variables.count == 0) return true;
  p->variable_of = arena_alloc(p->arena, f->insts.count * sizeof(uint32_t));
  p->first_user = arena_alloc(p->arena, f->blocks.count * sizeof *p->first_user);
  if (!p->variable_of || !p->first_user) return false;
  for (uint32_t n = 0; n < p->variables.count; n++)
    p->variable_of[p->variables.data[n].alloca.index] = n + 1;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (!(function_inst(f, i)->op == OP_CALL ? note_marker(p, i) : note_access(p, i)))
        return false;
  for (uint32_t n = 0; n < p->variables.count; n++) {
    struct variable *v = &p->variables.data[n];
    if (v->type.index == 0) v->type = TYPE_I32; /* never accessed */
    if (v->known_uses == f->uses.data[v->alloca.index]) ++*promoted;
    else reject(p, v);
  }
  return true;
}

/* --- Where phis are needed --- */

/* A set of blocks; incrementing `stamp` clears it. b is in the set if at[b] == stamp. */
struct marks {
  uint32_t *at;
  uint32_t stamp;
};

static bool marks_test_and_set(struct marks *m, struct nvm_block b) {
  bool was = m->at[b.index] == m->stamp;
  m->at[b.index] = m->stamp;
  return was;
}

struct placement {
  struct promoter *p;
  struct marks live, stored, placed;
  VEC(struct nvm_block) work, joins; /* joins: blocks that need a phi of the current variable */
  uint64_t budget, operands;         /* remaining steps and operands of phis */
  bool spent;                        /* the current variable needs more */
};

/* Marks the blocks where the variable is live-in. */
static bool mark_live(struct placement *s, const access_list *list) {
  struct promoter *p = s->p;
  s->work.count = 0;
  for (uint32_t k = 0; k < list->count; k++)
    if (list->data[k].reads_first && !VEC_PUSH(p->arena, &s->work, list->data[k].block))
      return false;
  while (s->work.count) {
    struct nvm_block b = s->work.data[--s->work.count];
    if (marks_test_and_set(&s->live, b)) continue;
    uint32_t edges = dominance_predecessor_count(&p->dom, b) + 1;
    s->spent = s->budget < edges;
    if (s->spent) return true;
    s->budget -= edges;
    FOR_EACH_PREDECESSOR (&p->dom, b, e) {
      struct nvm_block from = p->dom.predecessors[e];
      if (s->stored.at[from.index] == s->stored.stamp) continue;
      if (!dominance_reachable(&p->dom, from)) continue;
      if (!VEC_PUSH(p->arena, &s->work, from)) return false;
    }
  }
  return true;
}

static bool make_phi(struct promoter *p, struct nvm_block b, uint32_t variable) {
  struct builder at = builder_at_start(p->f, b);
  struct nvm_inst_id phi =
      builder_insert(&at, OP_PHI, 0, p->variables.data[variable].type, NULL, 0, 0);
  if (inst_is_none(phi) || !VEC_PUSH(p->arena, &p->next_phi, p->first_phi[b.index]) ||
      !VEC_PUSH(p->arena, &p->phi_variable, variable))
    return false;
  p->first_phi[b.index] = phi;
  return true;
}

/* Adds the dominance frontier of a storing block: the joins that its store reaches but does not
 * dominate. */
static bool place_from(struct placement *s, struct nvm_block store, const uint32_t *frontier_start,
                       const struct nvm_block *frontier) {
  for (uint32_t k = frontier_start[store.index]; k < frontier_start[store.index + 1]; k++) {
    struct nvm_block join = frontier[k];
    if (s->live.at[join.index] != s->live.stamp || marks_test_and_set(&s->placed, join)) continue;
    uint32_t edges = dominance_predecessor_count(&s->p->dom, join);
    if (s->operands < edges) return s->spent = true;
    s->operands -= edges;
    if (!VEC_PUSH(s->p->arena, &s->joins, join)) return false;
    if (s->stored.at[join.index] != s->stored.stamp && !VEC_PUSH(s->p->arena, &s->work, join))
      return false;
  }
  return true;
}

/* Dominance frontiers of all blocks (Cooper, Harvey, Kennedy, 2001), in two passes: count, fill. If
 * they exceed the budget, as in thousands of nested loops, there are none and the budget is spent.
 */
static bool compute_frontiers(struct promoter *p, uint64_t *budget, uint32_t **start,
                              struct nvm_block **frontier) {
  struct nvm_function *f = p->f;
  const struct dominance *d = &p->dom;
  uint32_t blocks = f->blocks.count;
  uint32_t *last =
      arena_alloc(p->arena, blocks * sizeof *last); /* the last join, to skip duplicates */
  *start = arena_alloc(p->arena, (blocks + 2) * sizeof **start);
  if (!last || !*start) return false;
  for (int pass = 0; pass < 2; pass++) {
    memset(last, 0, blocks * sizeof *last);
    FOR_EACH_BLOCK (f, b) {
      if (dominance_predecessor_count(d, b) < 2 || !dominance_reachable(d, b)) continue;
      FOR_EACH_PREDECESSOR (d, b, e) {
        struct nvm_block r = d->predecessors[e];
        if (!dominance_reachable(d, r)) continue;
        while (r.index != d->immediate[b.index].index && last[r.index] != b.index) {
          last[r.index] = b.index;
          if (pass == 0 && (*budget)-- == 0) return *budget = 0, true;
          if (pass == 0) (*start)[r.index + 1]++;
          else (*frontier)[(*start)[r.index]++] = b;
          r = d->immediate[r.index];
        }
      }
    }
    if (pass == 1) break;
    for (uint32_t b = 0; b <= blocks; b++) (*start)[b + 1] += (*start)[b];
    *frontier = arena_alloc(p->arena, ((*start)[blocks] + 1) * sizeof **frontier);
    if (!*frontier) return false;
  }
  for (uint32_t b = blocks; b > 0; b--) (*start)[b] = (*start)[b - 1];
  (*start)[0] = 0;
  return true;
}

static void drop_unreachable(struct promoter *p, access_list *list) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < list->count; k++)
    if (dominance_reachable(&p->dom, list->data[k].block)) list->data[count++] = list->data[k];
  list->count = count;
}

/* Whether a single block stores and dominates all other accesses, so that no phi is needed. */
static bool is_stored_first(const struct promoter *p, const access_list *list) {
  struct nvm_block store = {0};
  for (uint32_t k = 0; k < list->count; k++) {
    if (list->data[k].stores && !block_is_none(store)) return false;
    if (list->data[k].stores) store = list->data[k].block;
  }
  if (block_is_none(store)) return true; /* reads before the store are undefined */
  for (uint32_t k = 0; k < list->count; k++) {
    bool after = list->data[k].block.index != store.index &&
                 dominance_dominates(&p->dom, store, list->data[k].block);
    if (list->data[k].reads_first && !after) return false;
  }
  return true;
}

static bool place_variable(struct placement *s, uint32_t variable, const uint32_t *frontier_start,
                           const struct nvm_block *frontier) {
  access_list *list = &s->p->variables.data[variable].accesses;
  drop_unreachable(s->p, list);
  if (is_stored_first(s->p, list)) return true;
  s->live.stamp = s->stored.stamp = s->placed.stamp = variable + 1;
  for (uint32_t k = 0; k < list->count; k++)
    if (list->data[k].stores) marks_test_and_set(&s->stored, list->data[k].block);
  s->spent = false;
  if (!mark_live(s, list)) return false;
  s->work.count = s->joins.count = 0;
  for (uint32_t k = 0; frontier && !s->spent && k < list->count; k++)
    if (list->data[k].stores && !VEC_PUSH(s->p->arena, &s->work, list->data[k].block)) return false;
  while (s->work.count && !s->spent) {
    struct nvm_block b = s->work.data[--s->work.count];
    if (!place_from(s, b, frontier_start, frontier)) return false;
  }
  if (s->spent) reject(s->p, &s->p->variables.data[variable]);
  for (uint32_t k = 0; !s->spent && k < s->joins.count; k++)
    if (!make_phi(s->p, s->joins.data[k], variable)) return false;
  return true;
}

static bool place_phis(struct promoter *p) {
  uint32_t blocks = p->f->blocks.count;
  struct placement s = {.p = p};
  s.budget = ((uint64_t)p->f->insts.count + blocks) * BUDGET;
  if (s.budget < BUDGET_FLOOR) s.budget = BUDGET_FLOOR;
  s.operands = p->f->insts.count + (uint64_t)OPERANDS_FLOOR;
  s.live.at = arena_alloc(p->arena, blocks * sizeof(uint32_t));
  s.stored.at = arena_alloc(p->arena, blocks * sizeof(uint32_t));
  s.placed.at = arena_alloc(p->arena, blocks * sizeof(uint32_t));
  p->first_phi = arena_alloc(p->arena, blocks * sizeof *p->first_phi);
  uint32_t *frontier_start = NULL;
  struct nvm_block *frontier = NULL;
  if (!s.live.at || !s.stored.at || !s.placed.at || !p->first_phi) return false;
  if (!compute_frontiers(p, &s.budget, &frontier_start, &frontier)) return false;
  for (uint32_t v = 0; v < p->variables.count; v++)
    if (is_promoted(p, &p->variables.data[v]) && !place_variable(&s, v, frontier_start, frontier))
      return false;
  return true;
}

/* --- Renaming --- */

/* Values to restore when the walk leaves a block. */
struct undo {
  uint32_t variable;
  struct nvm_value value;
};

struct renamer {
  struct promoter *p;
  struct nvm_value *current; /* by variable: the current value; VALUE_NULL: undef */
  VEC(struct undo) undo;
};

static bool set_current(struct renamer *r, uint32_t variable, struct nvm_value v) {
  struct undo u = {variable, r->current[variable]};
  r->current[variable] = v;
  return VEC_PUSH(r->p->arena, &r->undo, u);
}

static struct nvm_value current(struct renamer *r, uint32_t variable) {
  struct nvm_value v = r->current[variable];
  if (!value_is_none(v)) return v;
  return const_undef(r->p->f->module, r->p->variables.data[variable].type);
}

static bool rename_block(struct renamer *r, struct nvm_block b) {
  struct promoter *p = r->p;
  for (struct nvm_inst_id phi = p->first_phi[b.index]; !inst_is_none(phi);
       phi = p->next_phi.data[phi.index - p->first_new])
    if (!set_current(r, p->phi_variable.data[phi.index - p->first_new], value_of_inst(phi)))
      return false;
  for (uint32_t k = p->first_user[b.index]; k < p->users.count; k++) {
    struct user u = p->users.data[k];
    const struct nvm_inst *inst = function_inst(p->f, u.inst);
    if (inst->block.index != b.index) break;
    if (!is_promoted(p, &p->variables.data[u.variable])) continue;
    p->variables.data[u.variable].known_uses--;
    if (inst->op == OP_LOAD) {
      rewrite_set(&p->rewrite, u.inst, current(r, u.variable));
      continue;
    }
    struct nvm_value stored = rewrite_get(&p->rewrite, inst_operand(p->f, inst, 0));
    if (inst->op == OP_STORE && !set_current(r, u.variable, stored)) return false;
    inst_remove(p->f, u.inst);
  }
  return true;
}

/* Adds the current values to the phis of b's successors. */
static bool fill_successors(struct renamer *r, struct nvm_block b) {
  struct promoter *p = r->p;
  uint32_t count = block_successor_count(p->f, b);
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block to = block_successor(p->f, b, k);
    for (struct nvm_inst_id phi = p->first_phi[to.index]; !inst_is_none(phi);
         phi = p->next_phi.data[phi.index - p->first_new]) {
      struct nvm_value v = current(r, p->phi_variable.data[phi.index - p->first_new]);
      if (!phi_add(p->f, phi, v, b)) return false;
    }
  }
  return true;
}

static void leave_block(struct renamer *r, uint32_t undo_to) {
  while (r->undo.count > undo_to) {
    struct undo u = r->undo.data[--r->undo.count];
    r->current[u.variable] = u.value;
  }
}

/* Preorder of the dominator tree; each entry records where its changes begin. */
static bool rename_all(struct promoter *p) {
  struct nvm_function *f = p->f;
  struct renamer r = {.p = p};
  uint32_t blocks = f->blocks.count;
  struct nvm_block *order = dominance_preorder(&p->dom, f, p->arena);
  uint32_t *undo_start = arena_alloc(p->arena, (blocks + 2) * sizeof *undo_start);
  r.current = arena_alloc(p->arena, p->variables.count * sizeof *r.current);
  if (!order || !undo_start || !r.current) return false;
  VEC(struct nvm_block) open = {0}; /* the path from the root */
  for (uint32_t n = 1; n <= p->dom.size[f->entry.index]; n++) {
    struct nvm_block b = order[n];
    while (open.count && !dominance_dominates(&p->dom, open.data[open.count - 1], b))
      leave_block(&r, undo_start[open.data[--open.count].index]);
    undo_start[b.index] = r.undo.count;
    if (!VEC_PUSH(p->arena, &open, b) || !rename_block(&r, b) || !fill_successors(&r, b))
      return false;
  }
  leave_block(&r, 0);
  FOR_EACH_BLOCK (f, b) /* phis need operands for unreachable predecessors too */
    if (!dominance_reachable(&p->dom, b) && !fill_successors(&r, b)) return false;
  return true;
}

/* --- The end --- */

/* Accesses in unreachable blocks. */
static void remove_unreachable_accesses(struct promoter *p) {
  struct nvm_function *f = p->f;
  uint32_t left = 0;
  for (uint32_t v = 0; v < p->variables.count; v++)
    if (is_promoted(p, &p->variables.data[v])) left += p->variables.data[v].known_uses;
  if (left == 0) return;
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      const struct nvm_inst *inst = function_inst(f, i);
      next = inst->next;
      bool gone = false;
      for (uint32_t k = 0; k < inst->operand_count && !gone; k++)
        gone = variable_of(p, inst_operand(f, inst, k)) != NULL;
      if (!gone || rewrite_is_set(&p->rewrite, i)) continue;
      if (inst->op == OP_LOAD) rewrite_set(&p->rewrite, i, const_undef(f->module, inst->type));
      else inst_remove(f, i); /* stores and lifetime markers */
    }
}

enum nvm_status mem2reg_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct promoter p = {.f = f, .arena = env->arena, .first_new = f->insts.count};
  uint32_t promoted = 0;
  if (!find_variables(&p, &promoted)) return NVM_OUT_OF_MEMORY;
  if (promoted == 0) return NVM_OK;
  if (!flow_dominance(env->flow, f, &p.dom) || !place_phis(&p)) return NVM_OUT_OF_MEMORY;
  if (!rewrite_init(&p.rewrite, f, env->arena) || !rename_all(&p)) return NVM_OUT_OF_MEMORY;
  remove_unreachable_accesses(&p);
  for (uint32_t v = 0; v < p.variables.count; v++) {
    struct nvm_inst_id alloca = p.variables.data[v].alloca;
    if (!is_promoted(&p, &p.variables.data[v])) continue;
    /* Debug metadata may refer to the variable: it becomes poison. */
    rewrite_set(&p.rewrite, alloca, const_poison(f->module, function_inst(f, alloca)->type));
  }
  rewrite_apply(&p.rewrite);
  *env->statistic += promoted;
  *changed = true;
  return NVM_OK;
}
