/* Redundant and partially redundant loads; see load_elimination.h.
 *
 * A load looks back over the accesses before it, through its block and all predecessors, for the
 * value that its address holds; the address is translated through phis (alias_translate). If all
 * paths have the value, phis join it. If exactly one lacks it, and that one ends in a jump, the
 * load is also inserted there (partial redundancy elimination as in Chow et al., 1997, but for one
 * load at a time). Loads from constant initializers are folded; stores of the value that the memory
 * already holds are removed. */
#include "opt/memory/load_elimination.h"

#include "ir/build.h"
#include "analysis/accesses.h"
#include "analysis/effects.h"
#include "opt/memory/constant_load.h"

enum { MAX_NODES = 64, MAX_STEPS = 512, MAX_ANTICIPATION = 64 };

enum availability { AVAILABLE, UNKNOWN, TRANSPARENT };

/* A block that is searched for the value, from its end upwards. */
struct node {
  struct nvm_block block;
  enum availability state;
  struct alias_place *place; /* of the address at the end; if TRANSPARENT, at the start too;
                              * borrowed from `places` or the alias environment */
  struct nvm_value value;    /* if AVAILABLE; of the load's type, or of the same size */
  struct nvm_inst_id source; /* the access that provides it; none: undef */
  struct nvm_value phi;      /* if TRANSPARENT, with several predecessors */
};

struct load_eliminator {
  struct nvm_function *f;
  struct arena *arena;
  struct alias_env *alias;
  const struct dominance *dominance;
  struct rewrite *rewrite;
  struct accesses accesses;
  uint32_t size;     /* number of instructions at the start */
  uint32_t *node_of; /* by block: index + 1 into nodes */
  uint32_t *plain;   /* by alias class: number of plain accesses */
  struct node nodes[MAX_NODES];
  struct alias_place places[MAX_NODES + 1]; /* translated addresses of nodes, and one more: of a
                                             * predecessor that is not a node yet */
  uint32_t node_count, steps;
  bool found;           /* a node is AVAILABLE */
  struct node *without; /* the UNKNOWN node, where the load can be inserted; NULL: there is none */
  struct nvm_inst_id load; /* the current load, and its type: */
  struct nvm_type type;
  VEC(uint32_t)
  passed;                /* accesses that do not alias only by metadata, which searches passed */
  uint32_t first_passed; /* of the current load */
  struct passed {
    uint32_t first, end;
  } * passed_of;    /* by instruction: of replaced loads */
  bool *translated; /* by instruction: the load's address was translated during its search */
  VEC(struct nvm_inst_id) dead;
};

/* The plain access of instruction i, which is not newer than the list. NULL if there is none. */
static struct access *plain_access(const struct load_eliminator *g, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(g->f, i);
  if (inst->op != OP_LOAD && inst->op != OP_STORE) return NULL;
  struct access *x = &g->accesses.list.data[g->accesses.at[i.index]];
  return x->kind == ACCESS_OTHER ? NULL : x;
}

/* Updates the address of x, whose pointer may have been replaced since by one with more known
 * accesses. */
static bool follow_pointer(struct load_eliminator *g, struct access *x) {
  const struct nvm_inst *i = function_inst(g->f, x->where.access);
  struct nvm_value pointer = inst_operand(g->f, i, i->op == OP_STORE);
  if (value_equal(pointer, x->where.pointer)) return true;
  x->where.pointer = pointer;
  x->where.place = alias_place_of(g->alias, pointer);
  if (!x->where.place) return false;
  x->class = alias_class_of_place(g->alias, x->where.place);
  if (x->class <= g->accesses.list.count) g->plain[x->class]++;
  return x->class != 0;
}

/* Whether another plain access has the address of x. Classes beyond the table are new, with one
 * access. */
static bool has_other_accesses(const struct load_eliminator *g, const struct access *x) {
  return x->class <= g->accesses.list.count && g->plain[x->class] > 1;
}

static bool collect_accesses(struct load_eliminator *g) {
  struct nvm_function *f = g->f;
  if (!accesses_collect(&g->accesses, f, g->alias, 1u << ACCESS_LOAD | 1u << ACCESS_STORE,
                        g->arena))
    return false;
  g->size = f->insts.count;
  g->node_of = arena_alloc(g->arena, f->blocks.count * sizeof *g->node_of);
  g->plain = arena_alloc(g->arena, (g->accesses.list.count + 1) * sizeof *g->plain);
  g->passed_of = arena_alloc(g->arena, g->size * sizeof *g->passed_of);
  g->translated = arena_alloc(g->arena, g->size * sizeof *g->translated);
  if (!g->node_of || !g->plain || !g->passed_of || !g->translated) return false;
  for (uint32_t k = 0; k < g->accesses.list.count; k++) {
    const struct access *x = &g->accesses.list.data[k];
    g->plain[x->class] += x->kind == ACCESS_LOAD || x->kind == ACCESS_STORE;
  }
  return true;
}

/* --- Looking back --- */

/* Whether a value of type `have` can be bitcast to type `want`. */
static bool same_bits(const struct load_eliminator *g, struct nvm_type have, struct nvm_type want) {
  const struct nvm_module *m = g->f->module;
  const struct type_table *t = &m->types;
  if (type_equal(have, want)) return true;
  if (type_is_aggregate(t, have) || type_is_aggregate(t, want) || type_is_ptr_or_vector(t, have) ||
      type_is_ptr_or_vector(t, want))
    return false;
  uint64_t bits = layout_bits(&m->layout, t, want);
  return bits == layout_bits(&m->layout, t, have) &&
         bits == 8 * layout_store_size(&m->layout, t, want) &&
         bits == 8 * layout_store_size(&m->layout, t, have);
}

/* Whether access x may write the location, or has its address. *answer: the alias result of a plain
 * access. */
static bool conflicts(struct load_eliminator *g, const struct access *x, struct memory_location l,
                      enum alias *answer) {
  if (x->kind == ACCESS_OTHER || x->kind == ACCESS_END)
    return alias_mod_ref(g->alias, x->where.access, l) & EFFECT_WRITES;
  *answer = alias_query(g->alias, x->where, l);
  return *answer != ALIAS_NO;
}

/* The same; records accesses that do not conflict only by metadata. */
static bool may_clobber(struct load_eliminator *g, const struct access *x, struct memory_location l,
                        enum alias *answer) {
  *answer = ALIAS_MAY;
  if (conflicts(g, x, l, answer)) return true;
  enum alias addresses;
  if (g->f->attachments.data[l.access.index] == 0) return false;
  l.access = (struct nvm_inst_id){0};
  return conflicts(g, x, l, &addresses) &&
         !VEC_PUSH(g->arena, &g->passed, (uint32_t)(x - g->accesses.list.data));
}

/* Whether the value that replaced load i is also right for this location: no access passed in i's
 * search conflicts by this location's metadata. */
static bool is_reusable(struct load_eliminator *g, struct nvm_inst_id i, struct memory_location l) {
  enum { MAX_PASSED = 256 };
  struct passed p = g->passed_of[i.index];
  if (p.end - p.first > MAX_PASSED || (p.first < p.end && g->translated[i.index])) return false;
  for (; p.first < p.end; p.first++) {
    enum alias answer;
    uint32_t k = g->passed.data[p.first];
    if (conflicts(g, &g->accesses.list.data[k], l, &answer) || !VEC_PUSH(g->arena, &g->passed, k))
      return false;
  }
  return true;
}

static bool is_naturally_aligned(const struct load_eliminator *g, struct nvm_inst_id i,
                                 uint64_t bytes) {
  const struct nvm_module *m = g->f->module;
  const struct nvm_inst *inst = function_inst(g->f, i);
  uint32_t align = layout_written_align(&m->layout, &m->types, effects_accessed_type(g->f, inst),
                                        memory_access_unpack(inst->aux).align_log2);
  return align % bytes == 0;
}

/* Whether store x, which may alias the location, leaves it unchanged if it holds *held; if *held is
 * none, it becomes the stored value. Both accesses have one size and are aligned to it, so they
 * cover the same bytes or none. Results of instructions only: undef may differ at each use. */
static bool stores_held_value(const struct load_eliminator *g, const struct access *x,
                              struct memory_location l, struct nvm_value *held) {
  struct nvm_value v = rewrite_get(g->rewrite, inst_operand_at(g->f, x->where.access, 0));
  bool one = value_is_none(*held) || value_equal(*held, v);
  if (!one || value_kind(v) != VALUE_INST || x->where.bytes != l.bytes ||
      !type_equal(value_type(g->f, v), g->type) || l.bytes == 0 || l.bytes & (l.bytes - 1) ||
      !is_naturally_aligned(g, x->where.access, l.bytes) ||
      !is_naturally_aligned(g, g->load, l.bytes))
    return false;
  *held = v;
  return true;
}

/* Searches accesses end - 1 .. first, of one block, for the location with that alias class. */
static void search_block(struct load_eliminator *g, uint32_t first, uint32_t end,
                         struct memory_location l, uint32_t class, struct node *n) {
  const struct nvm_function *f = g->f;
  struct nvm_value held = VALUE_NULL; /* what the location must hold for passed stores */
  n->state = UNKNOWN;
  for (uint32_t k = end; k-- > first;) {
    const struct access *x = &g->accesses.list.data[k];
    bool store = x->kind == ACCESS_STORE;
    if (!(x->effects & EFFECT_WRITES) && x->kind != ACCESS_LOAD) continue;
    if (g->steps++ == MAX_STEPS) return;
    if (x->kind == ACCESS_LOAD && x->class != class) continue;
    enum alias answer;
    if (!may_clobber(g, x, l, &answer)) continue;
    if (x->kind != ACCESS_LOAD && !store) return;
    struct nvm_inst_id i = x->where.access;
    struct nvm_value v = store ? inst_operand_at(f, i, 0) : value_of_inst(i);
    if (!store && !is_reusable(g, i, l)) continue;
    if (answer == ALIAS_MUST && same_bits(g, value_type(f, v), g->type)) {
      n->value = rewrite_get(g->rewrite, v);
      if (!value_is_none(held) && !value_equal(held, n->value)) return;
      n->source = i;
      n->state = AVAILABLE;
      return;
    }
    if (store && !alias_is_constant(g->alias, l) &&
        (answer == ALIAS_MUST || !stores_held_value(g, x, l, &held)))
      return;
  }
  if (value_is_none(held)) n->state = TRANSPARENT;
}

/* Searches the block of access x from x upwards. */
static void search_block_from(struct load_eliminator *g, const struct access *x, struct node *n) {
  uint32_t at = (uint32_t)(x - g->accesses.list.data);
  g->steps = 0;
  search_block(g, g->accesses.first[function_inst(g->f, x->where.access)->block.index], at,
               x->where, x->class, n);
}

static bool same_address(const struct alias_address *a, const struct alias_address *b) {
  return a->offset == b->offset && alias_same_shape(a, b);
}

/* Whether the load is always executed when its block is entered. */
static bool is_anticipated(const struct load_eliminator *g) {
  const struct nvm_function *f = g->f;
  struct nvm_inst_id i = function_block(f, function_inst(f, g->load)->block)->first;
  for (uint32_t n = 0; n < MAX_ANTICIPATION; n++, i = function_inst(f, i)->next) {
    if (i.index == g->load.index) return true;
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->op == OP_CALL && !effects_is_pure(f, inst)) return false;
  }
  return false;
}

/* Whether the load can be inserted at the end of block b, a predecessor of the load's block. */
static bool can_load_in(const struct load_eliminator *g, struct nvm_block b) {
  struct nvm_block load_block = function_inst(g->f, g->load)->block;
  if (block_successor_count(g->f, b) != 1 || block_successor(g->f, b, 0).index != load_block.index)
    return false;
  if (dominance_dominates(g->dominance, load_block, b))
    return false; /* a loop, in which nothing is gained */
  return is_anticipated(g);
}

/* Completes the state of a searched node. */
static void classify(struct load_eliminator *g, struct node *n) {
  if (!dominance_reachable(g->dominance, n->block)) { /* any value */
    n->state = AVAILABLE;
    n->source = (struct nvm_inst_id){0};
    n->value = const_undef(g->f->module, g->type);
  } else if (n->state == TRANSPARENT && n->block.index == g->f->entry.index) {
    struct nvm_value base = n->place->address.base;
    n->state =
        alias_is_private(g->alias, base) && value_kind(base) == VALUE_INST ? AVAILABLE : UNKNOWN;
    n->value = const_undef(g->f->module, g->type);
  }
}

/* Adds the predecessors of `to`, at whose start the load's address is `place`. False if there are
 * too many, if a block would have two addresses, or if more than one insertion would be needed. */
static bool add_predecessors(struct load_eliminator *g, struct nvm_block to,
                             struct alias_place *place, uint64_t bytes) {
  const struct dominance *d = g->dominance;
  bool translates = alias_is_made_in(g->f, &place->address, to);
  g->translated[g->load.index] |= translates;
  FOR_EACH_PREDECESSOR (d, to, e) {
    struct nvm_block from = d->predecessors[e];
    if (e > d->first_predecessor[to.index] && from.index == d->predecessors[e - 1].index)
      continue; /* a switch with several edges */
    struct alias_place *at = place;
    bool known = true;
    if (translates) {
      at = &g->places[g->node_count];
      *at = *place;
      known = alias_translate(g->f, &at->address, to, from);
    }
    uint32_t seen = g->node_of[from.index];
    if (seen) {
      if (!known || !same_address(&g->nodes[seen - 1].place->address, &at->address)) return false;
      continue;
    }
    if (g->node_count == MAX_NODES) return false;
    if (translates && known)
      *at = (struct alias_place){at->address, at->address.base,
                                 alias_known_class(g->alias, &at->address), NULL};
    struct node *n = &g->nodes[g->node_count++];
    *n = (struct node){.block = from, .place = at, .state = UNKNOWN};
    g->node_of[from.index] = g->node_count;
    struct memory_location l = {at->pointer, bytes, g->load, at};
    if (known)
      search_block(g, g->accesses.first[from.index], g->accesses.end[from.index], l, at->class, n);
    else at->address.base = VALUE_NULL; /* equal to no other address */
    classify(g, n);
    g->found |= n->state == AVAILABLE;
    if (n->state != UNKNOWN) continue;
    if (g->without || !can_load_in(g, from)) return false;
    g->without = n;
  }
  return true;
}

/* Searches all blocks before the load's. Whether the value is available on all paths, or on all but
 * one where it can be loaded. */
static bool search_predecessors(struct load_eliminator *g, struct memory_location l) {
  struct nvm_block load_block = function_inst(g->f, g->load)->block;
  g->node_count = 0;
  g->found = false;
  g->without = NULL;
  if (!add_predecessors(g, load_block, l.place, l.bytes)) return false;
  for (uint32_t k = 0; k < g->node_count; k++) {
    struct node *n = &g->nodes[k];
    if (n->state != TRANSPARENT) continue;
    if (n->block.index == load_block.index && !same_address(&n->place->address, &l.place->address))
      return false;
    if (!add_predecessors(g, n->block, n->place, l.bytes)) return false;
  }
  return g->found;
}

/* --- Making the value --- */

/* v cast to the load's type, after its source. */
static struct nvm_value cast_to_load(struct load_eliminator *g, struct nvm_value v,
                                     struct nvm_inst_id source) {
  struct nvm_function *f = g->f;
  if (type_equal(value_type(f, v), g->type)) return v;
  struct builder at = builder_before(f, function_inst(f, source)->next);
  return builder_unary(&at, OP_BITCAST, g->type, v);
}

/* A reused load loses the metadata about its value, and keeps the alias metadata that both loads
 * have. */
static void drop_value_metadata(struct load_eliminator *g, struct nvm_inst_id source) {
  if (!inst_is_none(source) && function_inst(g->f, source)->op == OP_LOAD)
    effects_join_access_metadata(g->f, source, g->load, false);
}

static struct nvm_value value_at_end(struct load_eliminator *g, struct nvm_block b) {
  for (uint32_t k = 0; k <= g->node_count; k++) {
    struct node *n = &g->nodes[g->node_of[b.index] - 1];
    if (n->state != TRANSPARENT) return n->value;
    if (!value_is_none(n->phi)) return n->phi;
    b = dominance_first_predecessor(g->dominance, b);
  }
  return const_undef(g->f->module, g->type); /* an unreachable loop */
}

static struct nvm_value make_phi(struct load_eliminator *g, struct nvm_block b) {
  struct builder at = builder_located(builder_at_start(g->f, b), g->load);
  return builder_phi(&at, g->type, NULL, 0);
}

static bool fill_phi(struct load_eliminator *g, struct nvm_value phi, struct nvm_block b) {
  const struct dominance *d = g->dominance;
  FOR_EACH_PREDECESSOR (d, b, e) {
    struct nvm_value v = value_at_end(g, d->predecessors[e]);
    struct nvm_inst_id i = {value_index(phi)};
    if (!phi_add(g->f, i, v, d->predecessors[e])) return false;
  }
  return true;
}

/* The common value of all nodes. VALUE_NULL if there are several. */
static struct nvm_value common_value(const struct load_eliminator *g) {
  struct nvm_value one = VALUE_NULL;
  for (uint32_t k = 0; k < g->node_count; k++) {
    const struct node *n = &g->nodes[k];
    if (n->state == TRANSPARENT || value_equal(n->value, one)) continue;
    if (!value_is_none(one) || !type_equal(value_type(g->f, n->value), g->type)) return VALUE_NULL;
    one = n->value;
  }
  if (value_kind(one) != VALUE_INST) return one;
  struct nvm_block made = g->f->insts.data[value_index(one)].block;
  struct nvm_block load_block = function_inst(g->f, g->load)->block;
  return value_index(one) != g->load.index && dominance_dominates(g->dominance, made, load_block)
             ? one
             : VALUE_NULL;
}

/* The value of the load, if no node is UNKNOWN. */
static struct nvm_value join(struct load_eliminator *g) {
  struct nvm_block load_block = function_inst(g->f, g->load)->block;
  for (uint32_t k = 0; k < g->node_count; k++) drop_value_metadata(g, g->nodes[k].source);
  struct nvm_value one = common_value(g), result = VALUE_NULL;
  if (!value_is_none(one)) return one;
  for (uint32_t k = 0; k < g->node_count; k++) {
    struct node *n = &g->nodes[k];
    if (n->state == AVAILABLE && !inst_is_none(n->source))
      n->value = cast_to_load(g, n->value, n->source);
    if (n->state == TRANSPARENT && dominance_predecessor_count(g->dominance, n->block) > 1)
      n->phi = make_phi(g, n->block);
    if (n->block.index == load_block.index) result = n->phi;
  }
  bool own = value_is_none(result);
  if (own && dominance_predecessor_count(g->dominance, load_block) == 1)
    result = value_at_end(g, dominance_first_predecessor(g->dominance, load_block));
  else if (own) {
    result = make_phi(g, load_block);
    if (value_is_none(result) || !fill_phi(g, result, load_block)) return VALUE_NULL;
  }
  for (uint32_t k = 0; k < g->node_count; k++)
    if (!value_is_none(g->nodes[k].phi) && !fill_phi(g, g->nodes[k].phi, g->nodes[k].block))
      return VALUE_NULL;
  return result;
}

/* --- Partially redundant loads --- */

/* v, as seen in block `to`, at the end of its predecessor `from`. Instructions of `to` are cloned.
 */
static struct nvm_value available_at(struct load_eliminator *g, struct nvm_value v,
                                     struct nvm_block to, struct nvm_block from, int depth) {
  struct nvm_function *f = g->f;
  if (value_kind(v) != VALUE_INST) return v;
  struct nvm_inst_id id = {value_index(v)};
  const struct nvm_inst *i = function_inst(f, id);
  enum { MOST = 6 };
  struct nvm_value operands[MOST];
  if (i->block.index != to.index) return v;
  if (i->op == OP_PHI) return phi_incoming(f, id, from);
  if (i->op == OP_CALL || !effects_is_speculatable(f, i) || i->operand_count > MOST || depth == 3)
    return VALUE_NULL;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = available_at(g, inst_operand(f, i, k), to, from, depth + 1);
    if (value_is_none(operands[k])) return VALUE_NULL;
    i = function_inst(f, id);
  }
  struct builder at = builder_located(builder_before(f, block_terminator(f, from)), id);
  return builder_add(&at, (enum op)i->op, i->flags, i->type, operands, i->operand_count, i->aux);
}

static bool load_in(struct load_eliminator *g, struct node *n) {
  struct nvm_function *f = g->f;
  struct nvm_block load_block = function_inst(f, g->load)->block;
  struct nvm_value pointer = inst_operand_at(f, g->load, 0);
  pointer = available_at(g, pointer, load_block, n->block, 0);
  if (value_is_none(pointer)) return false;
  const struct nvm_inst *old = function_inst(f, g->load);
  struct builder at = builder_located(builder_before(f, block_terminator(f, n->block)), g->load);
  n->value = builder_add(&at, OP_LOAD, old->flags, g->type, &pointer, 1, old->aux);
  if (value_is_none(n->value)) return false;
  effects_copy_access_metadata(f, value_inst_id(n->value), g->load, true);
  n->state = AVAILABLE;
  return true;
}

/* --- Visits --- */

/* Cheap pre-check: the value can only be available if another access has the address, if the
 * address may be translated through phis, or if it is in a new variable. */
static bool may_be_available(const struct load_eliminator *g, const struct access *load) {
  const struct alias_address *a = &load->where.place->address;
  bool found = has_other_accesses(g, load);
  for (uint32_t k = 0; k <= a->term_count && !found; k++) {
    struct nvm_value v = k ? a->terms[k - 1].variable : a->base;
    const struct nvm_inst *i = value_inst(g->f, v);
    found = i && (i->op == OP_PHI || i->op == OP_ALLOCA);
  }
  return found;
}

static struct nvm_value find_value(struct load_eliminator *g, const struct access *load) {
  struct nvm_block load_block = function_inst(g->f, load->where.access)->block;
  const struct alias_address *address = &load->where.place->address;
  struct nvm_value constant = constant_load(g->f, address, g->type);
  if (!value_is_none(constant)) return constant;
  if (!may_be_available(g, load)) return VALUE_NULL;
  struct node local = {.block = load_block};
  search_block_from(g, load, &local);
  if (local.state == AVAILABLE) {
    drop_value_metadata(g, local.source);
    return cast_to_load(g, local.value, local.source);
  }
  if (local.state == UNKNOWN || load_block.index == g->f->entry.index) return VALUE_NULL;
  struct nvm_value result = VALUE_NULL;
  if (search_predecessors(g, load->where) && (!g->without || load_in(g, g->without)))
    result = join(g);
  for (uint32_t k = 0; k < g->node_count; k++) g->node_of[g->nodes[k].block.index] = 0;
  return result;
}

bool load_elimination_visit(void *state, struct nvm_inst_id id) {
  struct load_eliminator *g = state;
  const struct nvm_inst *i = function_inst(g->f, id);
  struct access *x = id.index < g->size ? plain_access(g, id) : NULL;
  if (!x) return true;
  if (!follow_pointer(g, x)) return false;
  g->load = id;
  g->first_passed = g->passed.count;
  if (i->op == OP_LOAD) {
    g->type = i->type;
    struct nvm_value v = find_value(g, x);
    if (value_is_none(v)) {
      g->passed.count = g->first_passed;
      return true;
    }
    g->passed_of[id.index] = (struct passed){g->first_passed, g->passed.count};
    rewrite_set(g->rewrite, id, v);
    return true;
  }
  if (!has_other_accesses(g, x)) return true;
  struct node n = {.state = UNKNOWN};
  g->type = value_type(g->f, inst_operand(g->f, i, 0));
  search_block_from(g, x, &n);
  bool same = n.state == AVAILABLE && value_equal(n.value, inst_operand(g->f, i, 0));
  /* A store that is redundant only by type tags is kept: it may change the type of its memory. */
  return !same || g->passed.count > g->first_passed || VEC_PUSH(g->arena, &g->dead, id);
}

struct load_eliminator *load_elimination_begin(struct nvm_function *f, const struct dominance *d,
                                               struct rewrite *r, struct arena *arena) {
  struct load_eliminator *g = arena_alloc(arena, sizeof *g);
  if (!g) return NULL;
  *g = (struct load_eliminator){.f = f, .arena = arena, .dominance = d, .rewrite = r};
  g->alias = alias_init(f, arena);
  return g->alias && collect_accesses(g) ? g : NULL;
}

uint32_t load_elimination_end(struct load_eliminator *g) {
  for (uint32_t k = 0; k < g->dead.count; k++) inst_remove(g->f, g->dead.data[k]);
  return g->dead.count;
}
