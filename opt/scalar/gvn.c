/* gvn: values that are already known are not computed or loaded again.
 *
 * Purpose:   a load is a trip of hundreds of cycles; what was stored or loaded on the way is in a
 * register. Algorithm: the walk of early-cse, with loads: each looks back over the accesses before
 * it, through its block and all predecessors, for the value that its address holds (the address
 * follows phis on the way: alias_translate). Found on all ways: phis join it. Found on all but one,
 * and that one ends in a jump: the load is made there too (partial redundancy elimination as Chow
 * et al., 1997, but one load at a time). Loads from constant initializers are folded, stores of
 *            what is there already go.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands; each load looks at MAX_STEPS accesses in MAX_NODES blocks.
 * Omits:     values of another size than what was stored; block copies as sources; partially
 * redundant arithmetic. Tests:     check/opt/gvn-*. */
#include "ir/build.h"
#include "analysis/accesses.h"
#include "analysis/effects.h"
#include "opt/scalar/numbering.h"
#include "opt/passes.h"

enum { MAX_NODES = 16, MAX_STEPS = 96, MAX_ANTICIPATION = 64 };

enum fate { VALUE_HERE, NOT_KNOWN, PASSES };

/* A block that the value is looked for in, from its end up. */
struct node {
  struct nvm_block block;
  enum fate fate;
  struct alias_place place;  /* of the address at its end; PASSES: at its start too */
  struct nvm_value value;    /* VALUE_HERE; of the load's type or as wide */
  struct nvm_inst_id source; /* the access that has it; none: undef */
  struct nvm_value phi;      /* PASSES, several predecessors: what joins them */
};

struct numberer {
  struct nvm_function *f;
  struct arena *arena;
  struct alias_env *alias;
  struct dominance dominance;
  struct numbering numbering;
  struct accesses accesses;
  uint32_t size;     /* of its table by instruction */
  uint32_t *node_of; /* by block: index + 1 into nodes */
  uint32_t *plain;   /* by class: how many plain accesses there are */
  struct node nodes[MAX_NODES];
  uint32_t node_count, steps;
  bool found;           /* some node has the value */
  struct node *without; /* that node does not, but the load can be made there; NULL: all have it or
                           pass it on */
  struct nvm_inst_id load; /* that is being looked for; its type: */
  struct nvm_type type;
  VEC(uint32_t)
  passed; /* accesses that the search passed only because metadata says that they do not alias */
  uint32_t first_passed; /* of the load at hand */
  struct passed {
    uint32_t first, end;
  } * passed_of; /* by instruction: of a load that was replaced */
  bool *moved; /* by instruction: the load's address was another where some of those were passed */
  VEC(struct nvm_inst_id) dead;
};

/* The access that instruction i, which was there when they were collected, is; NULL: none, or not a
 * plain one. */
static struct access *plain_access(const struct numberer *g, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(g->f, i);
  if (inst->op != OP_LOAD && inst->op != OP_STORE) return NULL;
  struct access *x = &g->accesses.list.data[g->accesses.at[i.index]];
  return x->kind == ACCESS_OTHER ? NULL : x;
}

/* The pointer may have become another by now, of which more is known: that of other accesses, where
 * it was loaded twice. */
static bool follow_pointer(struct numberer *g, struct access *x) {
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

/* Whether another plain access has the address of x. Classes beyond the table were made on the way,
 * for it alone. */
static bool has_company(const struct numberer *g, const struct access *x) {
  return x->class <= g->accesses.list.count && g->plain[x->class] > 1;
}

static bool collect_accesses(struct numberer *g) {
  struct nvm_function *f = g->f;
  if (!accesses_collect(&g->accesses, f, g->alias, 1u << ACCESS_LOAD | 1u << ACCESS_STORE,
                        g->arena))
    return false;
  g->size = f->insts.count;
  g->node_of = arena_alloc(g->arena, f->blocks.count * sizeof *g->node_of);
  g->plain = arena_alloc(g->arena, (g->accesses.list.count + 1) * sizeof *g->plain);
  g->passed_of = arena_alloc(g->arena, g->size * sizeof *g->passed_of);
  g->moved = arena_alloc(g->arena, g->size * sizeof *g->moved);
  if (!g->node_of || !g->plain || !g->passed_of || !g->moved) return false;
  for (uint32_t k = 0; k < g->accesses.list.count; k++) {
    const struct access *x = &g->accesses.list.data[k];
    g->plain[x->class] += x->kind == ACCESS_LOAD || x->kind == ACCESS_STORE;
  }
  return true;
}

/* --- looking back
 * --------------------------------------------------------------------------------- */

/* Whether a value of type `have` can be taken for one of type `want`: the same bits. */
static bool same_bits(const struct numberer *g, struct nvm_type have, struct nvm_type want) {
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

/* Whether access x may write the location, or has its address: *answer, of a plain one. */
static bool concerns(struct numberer *g, const struct access *x, struct memory_location l,
                     enum alias *answer) {
  if (x->kind == ACCESS_OTHER || x->kind == ACCESS_END)
    return alias_mod_ref(g->alias, x->where.access, l) & ALIAS_WRITES;
  *answer = alias_query(g->alias, x->where, l);
  return *answer != ALIAS_NO;
}

/* The same; notes what only metadata says. */
static bool stands_in_way(struct numberer *g, const struct access *x, struct memory_location l,
                          enum alias *answer) {
  *answer = ALIAS_MAY;
  if (concerns(g, x, l, answer)) return true;
  enum alias addresses;
  if (g->f->attachments.data[l.access.index] == 0) return false;
  l.access = (struct nvm_inst_id){0};
  return concerns(g, x, l, &addresses) &&
         !VEC_PUSH(g->arena, &g->passed, (uint32_t)(x - g->accesses.list.data));
}

/* Whether what load i was replaced by serves the location too: by its metadata too, nothing that
 * was passed is to the same bytes. */
static bool serves(struct numberer *g, struct nvm_inst_id i, struct memory_location l) {
  enum { MAX_PASSED = 256 };
  struct passed p = g->passed_of[i.index];
  if (p.end - p.first > MAX_PASSED || (p.first < p.end && g->moved[i.index])) return false;
  for (; p.first < p.end; p.first++) {
    enum alias answer;
    uint32_t k = g->passed.data[p.first];
    if (concerns(g, &g->accesses.list.data[k], l, &answer) || !VEC_PUSH(g->arena, &g->passed, k))
      return false;
  }
  return true;
}

/* Looks at the accesses before `end`, down to `first`, of one block for the location, whose address
 * is of that class. */
static void look_back(struct numberer *g, uint32_t first, uint32_t end, struct memory_location l,
                      uint32_t class, struct node *n) {
  const struct nvm_function *f = g->f;
  n->fate = NOT_KNOWN;
  for (uint32_t k = end; k-- > first;) {
    const struct access *x = &g->accesses.list.data[k];
    bool store = x->kind == ACCESS_STORE;
    if (!(x->effects & ALIAS_WRITES) && x->kind != ACCESS_LOAD) continue;
    if (g->steps++ == MAX_STEPS) return;
    if (x->kind == ACCESS_LOAD && x->class != class) continue;
    enum alias answer;
    if (!stands_in_way(g, x, l, &answer)) continue;
    if (x->kind != ACCESS_LOAD && !store) return;
    struct nvm_inst_id i = x->where.access;
    struct nvm_value v = store ? inst_operand(f, function_inst(f, i), 0) : value_of_inst(i);
    if (!store && !serves(g, i, l)) continue;
    if (answer == ALIAS_MUST && same_bits(g, value_type(f, v), g->type)) {
      n->value = rewrite_get(&g->numbering.rewrite, v);
      n->source = i;
      n->fate = VALUE_HERE;
      return;
    }
    if (store && !alias_is_constant(g->alias, l)) return;
  }
  n->fate = PASSES;
}

/* The same from access x up. */
static void look_back_from(struct numberer *g, const struct access *x, struct node *n) {
  uint32_t at = (uint32_t)(x - g->accesses.list.data);
  g->steps = 0;
  look_back(g, g->accesses.first[function_inst(g->f, x->where.access)->block.index], at, x->where,
            x->class, n);
}

static bool same_address(const struct alias_address *a, const struct alias_address *b) {
  return a->offset == b->offset && alias_same_shape(a, b);
}

/* Whether the load is reached from the start of its block in any case. */
static bool is_anticipated(const struct numberer *g) {
  const struct nvm_function *f = g->f;
  struct nvm_inst_id i = function_block(f, function_inst(f, g->load)->block)->first;
  for (uint32_t n = 0; n < MAX_ANTICIPATION; n++, i = function_inst(f, i)->next) {
    if (i.index == g->load.index) return true;
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->op == OP_CALL && !effects_is_pure(f, inst)) return false;
  }
  return false;
}

/* Whether the load can be made at the end of block b, for the way from there to its own. */
static bool can_load_in(const struct numberer *g, struct nvm_block b) {
  struct nvm_block home = function_inst(g->f, g->load)->block;
  if (block_successor_count(g->f, b) != 1 || block_successor(g->f, b, 0).index != home.index)
    return false;
  if (dominance_dominates(&g->dominance, home, b)) return false; /* a loop: nothing is won */
  return is_anticipated(g);
}

/* What becomes of the value in that block, which was looked through from its end up. */
static void judge(struct numberer *g, struct node *n) {
  if (!dominance_reachable(&g->dominance, n->block)) { /* whatever it has */
    n->fate = VALUE_HERE;
    n->source = (struct nvm_inst_id){0};
    n->value = const_undef(g->f->module, g->type);
  } else if (n->fate == PASSES && n->block.index == g->f->entry.index) {
    struct nvm_value base = n->place.address.base;
    n->fate =
        alias_is_private(g->alias, base) && value_kind(base) == VALUE_INST ? VALUE_HERE : NOT_KNOWN;
    n->value = const_undef(g->f->module, g->type);
  }
}

/* Adds the predecessors of `to`, at whose start the load's place is `place`. False: too many, or
 * one block would have two addresses, or what is missing cannot be loaded in one place. */
static bool add_predecessors(struct numberer *g, struct nvm_block to,
                             const struct alias_place *place, uint64_t bytes) {
  const struct dominance *d = &g->dominance;
  bool moves = alias_is_made_in(g->f, &place->address, to);
  g->moved[g->load.index] |= moves;
  for (uint32_t e = d->first_predecessor[to.index]; e < d->first_predecessor[to.index + 1]; e++) {
    struct nvm_block from = d->predecessors[e];
    if (e > d->first_predecessor[to.index] && from.index == d->predecessors[e - 1].index)
      continue; /* cases of a switch */
    struct alias_place at = *place;
    bool known = !moves || alias_translate(g->f, &at.address, to, from);
    uint32_t seen = g->node_of[from.index];
    if (seen) {
      if (!known || !same_address(&g->nodes[seen - 1].place.address, &at.address)) return false;
      continue;
    }
    if (g->node_count == MAX_NODES) return false;
    if (moves && known)
      at = (struct alias_place){at.address, at.address.base,
                                alias_known_class(g->alias, &at.address), NULL};
    struct node *n = &g->nodes[g->node_count++];
    *n = (struct node){.block = from, .place = at, .fate = NOT_KNOWN};
    g->node_of[from.index] = g->node_count;
    struct memory_location l = {n->place.pointer, bytes, g->load, &n->place};
    if (known)
      look_back(g, g->accesses.first[from.index], g->accesses.end[from.index], l, at.class, n);
    else n->place.address.base = VALUE_NULL; /* like no other */
    judge(g, n);
    g->found |= n->fate == VALUE_HERE;
    if (n->fate != NOT_KNOWN) continue;
    if (g->without || !can_load_in(g, from)) return false;
    g->without = n;
  }
  return true;
}

/* Visits all blocks before the load. Whether all have the value or pass it on, but one perhaps that
 * may load it. */
static bool search(struct numberer *g, struct memory_location l) {
  struct nvm_block home = function_inst(g->f, g->load)->block;
  g->node_count = 0;
  g->found = false;
  g->without = NULL;
  if (!add_predecessors(g, home, l.place, l.bytes)) return false;
  for (uint32_t k = 0; k < g->node_count; k++) {
    struct node *n = &g->nodes[k];
    if (n->fate != PASSES) continue;
    if (n->block.index == home.index && !same_address(&n->place.address, &l.place->address))
      return false;
    if (!add_predecessors(g, n->block, &n->place, l.bytes)) return false;
  }
  return g->found;
}

/* --- making the value
 * ----------------------------------------------------------------------------- */

/* v with the type of the load, made where it comes from. */
static struct nvm_value adapt(struct numberer *g, struct nvm_value v, struct nvm_inst_id source) {
  struct nvm_function *f = g->f;
  if (type_equal(value_type(f, v), g->type)) return v;
  struct builder at = builder_before(f, function_inst(f, source)->next);
  return builder_unary(&at, OP_BITCAST, g->type, v);
}

/* A reused load loses the metadata about its value, and keeps the alias metadata that both loads
 * have. */
static void drop_value_metadata(struct numberer *g, struct nvm_inst_id source) {
  if (!inst_is_none(source) && function_inst(g->f, source)->op == OP_LOAD)
    effects_join_access_metadata(g->f, source, g->load, false);
}

static struct nvm_value value_at_end(struct numberer *g, struct nvm_block b) {
  for (uint32_t k = 0; k <= g->node_count; k++) {
    struct node *n = &g->nodes[g->node_of[b.index] - 1];
    if (n->fate != PASSES) return n->value;
    if (!value_is_none(n->phi)) return n->phi;
    b = g->dominance.predecessors[g->dominance.first_predecessor[b.index]];
  }
  return const_undef(g->f->module, g->type); /* a ring of blocks that nothing enters */
}

static struct nvm_value make_phi(struct numberer *g, struct nvm_block b) {
  struct builder at = builder_located(builder_at_start(g->f, b), g->load);
  return builder_phi(&at, g->type, NULL, 0);
}

static bool fill_phi(struct numberer *g, struct nvm_value phi, struct nvm_block b) {
  const struct dominance *d = &g->dominance;
  for (uint32_t e = d->first_predecessor[b.index]; e < d->first_predecessor[b.index + 1]; e++) {
    struct nvm_value v = value_at_end(g, d->predecessors[e]);
    struct nvm_inst_id i = {value_index(phi)};
    if (!phi_add(g->f, i, v, d->predecessors[e])) return false;
  }
  return true;
}

static uint32_t predecessor_count(const struct numberer *g, struct nvm_block b) {
  return g->dominance.first_predecessor[b.index + 1] - g->dominance.first_predecessor[b.index];
}

/* The one value that all have; none if there are several. */
static struct nvm_value common_value(const struct numberer *g) {
  struct nvm_value one = VALUE_NULL;
  for (uint32_t k = 0; k < g->node_count; k++) {
    const struct node *n = &g->nodes[k];
    if (n->fate == PASSES || value_equal(n->value, one)) continue;
    if (!value_is_none(one) || !type_equal(value_type(g->f, n->value), g->type)) return VALUE_NULL;
    one = n->value;
  }
  if (value_kind(one) != VALUE_INST) return one;
  struct nvm_block made = g->f->insts.data[value_index(one)].block;
  struct nvm_block home = function_inst(g->f, g->load)->block;
  return value_index(one) != g->load.index && dominance_dominates(&g->dominance, made, home)
             ? one
             : VALUE_NULL;
}

/* Every node has the value or passes it on: what the load gives. */
static struct nvm_value join(struct numberer *g) {
  struct nvm_block home = function_inst(g->f, g->load)->block;
  for (uint32_t k = 0; k < g->node_count; k++) drop_value_metadata(g, g->nodes[k].source);
  struct nvm_value one = common_value(g), result = VALUE_NULL;
  if (!value_is_none(one)) return one;
  for (uint32_t k = 0; k < g->node_count; k++) {
    struct node *n = &g->nodes[k];
    if (n->fate == VALUE_HERE && !inst_is_none(n->source)) n->value = adapt(g, n->value, n->source);
    if (n->fate == PASSES && predecessor_count(g, n->block) > 1) n->phi = make_phi(g, n->block);
    if (n->block.index == home.index) result = n->phi;
  }
  bool own = value_is_none(result);
  if (own && predecessor_count(g, home) == 1)
    result = value_at_end(g, g->dominance.predecessors[g->dominance.first_predecessor[home.index]]);
  else if (own) {
    result = make_phi(g, home);
    if (value_is_none(result) || !fill_phi(g, result, home)) return VALUE_NULL;
  }
  for (uint32_t k = 0; k < g->node_count; k++)
    if (!value_is_none(g->nodes[k].phi) && !fill_phi(g, g->nodes[k].phi, g->nodes[k].block))
      return VALUE_NULL;
  return result;
}

/* --- the load that is missing on one way
 * ---------------------------------------------------------- */

/* v as `from` has it, where v is used in its successor `home`; what computes
 * it is made again. */
static struct nvm_value available_at(struct numberer *g, struct nvm_value v, struct nvm_block home,
                                     struct nvm_block from, int depth) {
  struct nvm_function *f = g->f;
  if (value_kind(v) != VALUE_INST) return v;
  struct nvm_inst_id id = {value_index(v)};
  const struct nvm_inst *i = function_inst(f, id);
  enum { MOST = 6 };
  struct nvm_value operands[MOST];
  if (i->block.index != home.index) return v;
  for (uint32_t k = 0; i->op == OP_PHI && k < i->operand_count; k += 2)
    if (value_index(inst_operand(f, i, k + 1)) == from.index) return inst_operand(f, i, k);
  if (i->op == OP_CALL || !effects_is_speculatable(f, i) || i->operand_count > MOST || depth == 3)
    return VALUE_NULL;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = available_at(g, inst_operand(f, i, k), home, from, depth + 1);
    if (value_is_none(operands[k])) return VALUE_NULL;
    i = function_inst(f, id);
  }
  struct builder at = builder_located(builder_before(f, block_terminator(f, from)), id);
  return builder_add(&at, (enum op)i->op, i->flags, i->type, operands, i->operand_count, i->aux);
}

static bool load_in(struct numberer *g, struct node *n) {
  struct nvm_function *f = g->f;
  struct nvm_block home = function_inst(f, g->load)->block;
  struct nvm_value pointer = inst_operand(f, function_inst(f, g->load), 0);
  pointer = available_at(g, pointer, home, n->block, 0);
  if (value_is_none(pointer)) return false;
  const struct nvm_inst *old = function_inst(f, g->load);
  struct builder at = builder_located(builder_before(f, block_terminator(f, n->block)), g->load);
  n->value = builder_add(&at, OP_LOAD, old->flags, g->type, &pointer, 1, old->aux);
  if (value_is_none(n->value)) return false;
  effects_copy_access_metadata(f, value_inst_id(n->value), g->load, true);
  n->fate = VALUE_HERE;
  return true;
}

/* --- visits
 * --------------------------------------------------------------------------------------- */

/* The element of that type at a byte offset in a constant. */
static struct nvm_value constant_at(struct nvm_module *m, struct nvm_value v, uint64_t offset,
                                    struct nvm_type want) {
  const struct type_table *t = &m->types;
  for (;;) {
    struct nvm_type type = module_value_type(m, v);
    if (offset == 0 && type_equal(type, want)) return v;
    const struct type_info *info = type_info(t, type);
    if (info->kind != TY_STRUCT && info->kind != TY_ARRAY && info->kind != TY_VECTOR)
      return VALUE_NULL;
    uint64_t k = 0;
    if (info->kind == TY_STRUCT) {
      if (info->count == 0) return VALUE_NULL;
      k = layout_member_at(&m->layout, t, type, &offset);
    } else {
      uint64_t each = layout_alloc_size(&m->layout, t, info->element);
      if (each == 0 || offset / each >= info->count) return VALUE_NULL;
      if (info->kind == TY_VECTOR && layout_bits(&m->layout, t, info->element) != 8 * each)
        return VALUE_NULL;
      k = offset / each;
      offset %= each;
    }
    v = const_element(m, v, k);
    if (value_kind(v) != VALUE_CONST && !(offset == 0 && !value_is_none(v))) return VALUE_NULL;
    if (value_kind(v) != VALUE_CONST)
      return type_equal(module_value_type(m, v), want) ? v : VALUE_NULL;
  }
}

static struct nvm_value fold_constant_load(struct numberer *g, const struct alias_address *a) {
  struct nvm_module *m = g->f->module;
  if (value_kind(a->base) != VALUE_GLOBAL || a->term_count || a->offset < 0) return VALUE_NULL;
  const struct nvm_global *v = module_global(m, a->base);
  bool replaced = !symbol_is_local(&v->symbol) && v->symbol.linkage != LINK_EXTERNAL &&
                  v->symbol.linkage != LINK_LINKONCE_ODR && v->symbol.linkage != LINK_WEAK_ODR;
  if (!v->is_constant || v->is_alias || v->externally_initialized || replaced ||
      value_is_none(v->initializer))
    return VALUE_NULL;
  return constant_at(m, v->initializer, (uint64_t)a->offset, g->type);
}

/* Whether the value of the load can be known at all: another access has its address, or it is
 * another's on the way through phis, or the variable's first value. */
static bool may_be_known(const struct numberer *g, const struct access *load) {
  const struct alias_address *a = &load->where.place->address;
  bool found = has_company(g, load);
  for (uint32_t k = 0; k <= a->term_count && !found; k++) {
    struct nvm_value v = k ? a->terms[k - 1].variable : a->base;
    const struct nvm_inst *i =
        value_kind(v) == VALUE_INST ? &g->f->insts.data[value_index(v)] : NULL;
    found = i && (i->op == OP_PHI || i->op == OP_ALLOCA);
  }
  return found;
}

static struct nvm_value find_value(struct numberer *g, const struct access *load) {
  struct nvm_block home = function_inst(g->f, load->where.access)->block;
  const struct alias_address *address = &load->where.place->address;
  struct nvm_value constant = fold_constant_load(g, address);
  if (!value_is_none(constant)) return constant;
  if (!may_be_known(g, load)) return VALUE_NULL;
  struct node local = {.block = home};
  look_back_from(g, load, &local);
  if (local.fate == VALUE_HERE) {
    drop_value_metadata(g, local.source);
    return adapt(g, local.value, local.source);
  }
  if (local.fate == NOT_KNOWN || home.index == g->f->entry.index) return VALUE_NULL;
  struct nvm_value result = VALUE_NULL;
  if (search(g, load->where) && (!g->without || load_in(g, g->without))) result = join(g);
  for (uint32_t k = 0; k < g->node_count; k++) g->node_of[g->nodes[k].block.index] = 0;
  return result;
}

static bool visit(void *state, struct nvm_inst_id id) {
  struct numberer *g = state;
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
    rewrite_set(&g->numbering.rewrite, id, v);
    return true;
  }
  if (!has_company(g, x)) return true;
  struct node n = {.fate = NOT_KNOWN};
  g->type = value_type(g->f, inst_operand(g->f, i, 0));
  look_back_from(g, x, &n);
  bool same = n.fate == VALUE_HERE && value_equal(n.value, inst_operand(g->f, i, 0));
  /* A store that only tags make redundant is kept: it may change the type of its memory. */
  return !same || g->passed.count > g->first_passed || VEC_PUSH(g->arena, &g->dead, id);
}

enum nvm_status gvn_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct numberer g = {.f = f, .arena = env->arena};
  g.alias = alias_init(f, env->arena);
  if (!g.alias || !collect_accesses(&g) || !flow_dominance(env->flow, f, &g.dominance) ||
      !numbering_init(&g.numbering, f, env->arena) ||
      !numbering_walk(&g.numbering, &g.dominance, visit, &g))
    return NVM_OUT_OF_MEMORY;
  uint64_t changes = g.numbering.rewrite.count + g.dead.count;
  rewrite_apply(&g.numbering.rewrite);
  for (uint32_t k = 0; k < g.dead.count; k++) inst_remove(f, g.dead.data[k]);
  *env->statistic += changes;
  *changed = changes != 0;
  return NVM_OK;
}
