/* Leaving SSA: the copies that a control-flow edge makes for the phis of its target.
 *
 * The phis of a block are assigned simultaneously, so the copies of one edge are a parallel copy.
 * It is made sequential by emitting moves whose target has no more readers; the rest are cycles,
 * each broken by saving one register in a temporary. Linear in the number of copies. (After
 * Boissinot et al., "Revisiting Out-of-SSA Translation", 2009, algorithm 1.) Critical edges get
 * their copies in a block of their own (function.c), which avoids the lost-copy problem. */
#include "codegen/emit.h"
#include "codegen/select.h"
#include "codegen/stage.h"
#include "codegen/value.h"

enum { MAX_EARLY = 16 /* phis of the other target that are compared */ };

struct move {
  struct ptx_reg to;
  struct ptx_operand from;
  bool done;
};

/* A register of the copy, in a hash table. */
struct copier_slot {
  uint32_t key;        /* register bits, 0: free */
  int32_t writer;      /* the move that sets it, -1: none */
  uint32_t readers;    /* moves still to come that read it */
  uint32_t reader_xor; /* their numbers xored: the reader itself when there is only one */
};

struct copier {
  struct lower *l;
  struct move *moves;
  uint32_t count;
  struct copier_slot *slots;
  uint32_t slot_count;
};

static struct copier_slot *copier_slot(struct copier *c, struct ptx_reg r) {
  uint32_t mask = c->slot_count - 1, i = hash_mix(1, r.bits) & mask;
  while (c->slots[i].key != 0 && c->slots[i].key != r.bits) i = (i + 1) & mask;
  if (c->slots[i].key == 0) c->slots[i] = (struct copier_slot){r.bits, -1, 0, 0};
  return &c->slots[i];
}

static bool reads_register(const struct move *m) { return m->from.kind == PTX_OPERAND_REG; }

static void count_reader(struct copier *c, uint32_t i, bool is_new) {
  struct copier_slot *s = copier_slot(c, c->moves[i].from.reg);
  s->readers += is_new ? 1 : UINT32_MAX;
  s->reader_xor ^= i;
}

static bool copier_init(struct copier *c, struct lower *l, const struct ptx_reg *to,
                        const struct ptx_operand *from, uint32_t count) {
  *c = (struct copier){.l = l, .slot_count = 4};
  while (c->slot_count < count * 4) c->slot_count *= 2;
  c->moves = arena_alloc(&l->function_arena, count * sizeof *c->moves);
  c->slots = arena_alloc(&l->function_arena, c->slot_count * sizeof *c->slots);
  if (!c->moves || !c->slots) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (from[i].kind == PTX_OPERAND_REG && from[i].reg.bits == to[i].bits) continue;
    c->moves[c->count++] = (struct move){.to = to[i], .from = from[i]};
  }
  for (uint32_t i = 0; i < c->count; i++) {
    copier_slot(c, c->moves[i].to)->writer = (int32_t)i;
    if (reads_register(&c->moves[i])) count_reader(c, i, true);
  }
  return true;
}

/* Emits move i, then the moves that become possible because its source has no more readers. */
static void emit_chain(struct copier *c, int32_t i) {
  while (i >= 0) {
    struct move *m = &c->moves[i];
    emit_copy(c->l, m->to, m->from);
    m->done = true;
    if (!reads_register(m)) return;
    count_reader(c, (uint32_t)i, false);
    const struct copier_slot *s = copier_slot(c, m->from.reg);
    bool free_now = s->readers == 0 && s->writer >= 0 && !c->moves[s->writer].done;
    i = free_now ? s->writer : -1;
  }
}

/* Each remaining move is part of a cycle: its target is read by exactly one other move, which reads
 * a saved copy instead. */
static void break_cycle(struct copier *c, uint32_t i) {
  struct move *m = &c->moves[i];
  struct ptx_reg saved = ptx_new_reg(c->l->pf, ptx_reg_class(m->to));
  emit_copy(c->l, saved, ptx_r(m->to));
  uint32_t reader = copier_slot(c, m->to)->reader_xor;
  count_reader(c, reader, false);
  c->moves[reader].from = ptx_r(saved);
  count_reader(c, reader, true);
  emit_chain(c, (int32_t)i);
}

static void parallel_copy(struct lower *l, const struct ptx_reg *to, const struct ptx_operand *from,
                          uint32_t count) {
  struct copier c;
  if (!copier_init(&c, l, to, from, count)) return;
  for (uint32_t i = 0; i < c.count; i++)
    if (!c.moves[i].done && copier_slot(&c, c.moves[i].to)->readers == 0)
      emit_chain(&c, (int32_t)i);
  for (uint32_t i = 0; i < c.count; i++)
    if (!c.moves[i].done) break_cycle(&c, i);
}

bool phi_in_block(const struct lower *l, struct nvm_block b) {
  struct nvm_inst_id first = function_block(l->f, b)->first;
  return !inst_is_none(first) && function_inst(l->f, first)->op == OP_PHI;
}

/* --- which phi operands an edge carries ------------------------------------------------------- */

/* Phi operands grouped by edge. */
struct phi_edges {
  uint32_t *start; /* by block: first of its group in `uses`; one more at the end */
  struct phi_use *uses;
};

/* A phi and the position of the value it takes along an edge. */
struct phi_use {
  struct nvm_inst_id phi;
  uint32_t operand;
};

/* Groups the phi operands of all blocks by predecessor, each group in layout order of the targets:
 * linear in the operands. */
bool phi_plan(struct lower *l) {
  const struct nvm_function *f = l->f;
  struct phi_edges *e = l->edges = arena_alloc(&l->function_arena, sizeof *e);
  if (!e) return false;
  uint32_t blocks = f->blocks.count;
  e->start = arena_alloc(&l->function_arena, (blocks + 1) * sizeof *e->start);
  if (!e->start) return false;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t n = 0; n < l->layout_count; n++) {
      struct nvm_block b = l->layout[n];
      FOR_EACH_PHI (f, b, i) {
        const struct nvm_inst *phi = function_inst(f, i);
        for (uint32_t k = 0; k < phi->operand_count; k += 2) {
          uint32_t from = value_index(inst_operand(f, phi, k + 1));
          if (pass == 0) e->start[from + 1]++;
          else e->uses[e->start[from]++] = (struct phi_use){i, k};
        }
      }
    }
    if (pass == 1) break;
    for (uint32_t b = 0; b < blocks; b++) e->start[b + 1] += e->start[b];
    e->uses = arena_alloc(&l->function_arena, (e->start[blocks] + 1) * sizeof *e->uses);
    if (!e->uses) return false;
  }
  /* The second pass advanced each start to its group's end. */
  for (uint32_t b = blocks; b > 0; b--) e->start[b] = e->start[b - 1];
  e->start[0] = 0;
  return true;
}

static uint32_t use_rank(const struct lower *l, uint32_t use) {
  struct nvm_block to = function_inst(l->f, l->edges->uses[use].phi)->block;
  return l->block_rank[to.index];
}

/* The first use of the edges from → to, by bisection. */
static uint32_t first_use(const struct lower *l, struct nvm_block from, struct nvm_block to) {
  uint32_t low = l->edges->start[from.index], high = l->edges->start[from.index + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (use_rank(l, middle) < l->block_rank[to.index]) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Whether v has the registers of the phi (coalesce.c). */
static bool shares_registers(const struct lower *l, struct nvm_inst_id phi, struct nvm_value v) {
  return value_kind(v) == VALUE_INST && l->inst_regs[phi.index] != 0 &&
         l->inst_regs[value_index(v)] == l->inst_regs[phi.index];
}

/* The phi of use u if it belongs to the edges into `to`; else NULL. */
static const struct nvm_inst *phi_of_use(const struct lower *l, uint32_t u, struct nvm_block to) {
  const struct nvm_inst *phi = function_inst(l->f, l->edges->uses[u].phi);
  return phi->block.index == to.index ? phi : NULL;
}

static struct nvm_value used_value(const struct lower *l, struct phi_use use) {
  return inst_operand(l->f, function_inst(l->f, use.phi), use.operand);
}

/* The registers that an edge copies to a phi. */
static uint32_t copied_parts(struct lower *l, struct phi_use use) {
  struct nvm_value v = used_value(l, use);
  if (!l->selection[use.phi.index].wanted || value_is_undefined(l, v) ||
      shares_registers(l, use.phi, v))
    return 0;
  return part_list(l, function_inst(l->f, use.phi)->type).count;
}

uint32_t phi_edge_copies(struct lower *l, struct nvm_block from, struct nvm_block to) {
  uint32_t end = l->edges->start[from.index + 1], copies = 0;
  for (uint32_t u = first_use(l, from, to); u < end && phi_of_use(l, u, to); u++)
    copies += copied_parts(l, l->edges->uses[u]);
  return copies;
}

bool phi_copy_edge(struct lower *l, struct nvm_block from, struct nvm_block to) {
  VEC(struct ptx_reg) targets = {0};
  VEC(struct ptx_operand) sources = {0};
  struct nvm_inst_id previous = {0};
  uint32_t end = l->edges->start[from.index + 1];
  for (uint32_t u = first_use(l, from, to); u < end && phi_of_use(l, u, to); u++) {
    struct phi_use use = l->edges->uses[u];
    if (use.phi.index == previous.index) continue; /* several edges carry the same value */
    previous = use.phi;
    uint32_t parts = copied_parts(l, use);
    for (uint32_t k = 0; k < parts; k++) {
      struct ptx_operand source = value_source(l, used_value(l, use), k);
      if (!VEC_PUSH(&l->function_arena, &targets, value_result(l, use.phi)[k]) ||
          !VEC_PUSH(&l->function_arena, &sources, source))
        return false;
    }
  }
  if (targets.count) parallel_copy(l, targets.data, sources.data, targets.count);
  return targets.count != 0;
}

/* --- copies before the branch ----------------------------------------------------------------- */

static bool has_register(struct lower *l, struct nvm_inst_id v, struct ptx_reg r) {
  uint32_t parts = part_list(l, function_inst(l->f, v)->type).count;
  const struct ptx_reg *regs = value_result(l, v);
  for (uint32_t k = 0; k < parts; k++)
    if (regs[k].bits == r.bits) return true;
  return false;
}

/* Whether the edge from → to may read a register of the phi. */
static bool edge_reads(struct lower *l, struct nvm_block from, struct nvm_block to,
                       struct nvm_inst_id phi) {
  uint32_t end = l->edges->start[from.index + 1], first = first_use(l, from, to);
  uint32_t parts = part_list(l, function_inst(l->f, phi)->type).count;
  for (uint32_t u = first; u < end && phi_of_use(l, u, to); u++) {
    struct nvm_value v = used_value(l, l->edges->uses[u]);
    if (value_kind(v) != VALUE_INST || !l->selection[l->edges->uses[u].phi.index].wanted) continue;
    if (u - first > MAX_EARLY || !l->selection[value_index(v)].wanted) return true;
    for (uint32_t k = 0; k < parts; k++)
      if (has_register(l, (struct nvm_inst_id){value_index(v)}, value_result(l, phi)[k]))
        return true;
  }
  return false;
}

/* Whether edge b makes each copy of edge a, and none writes the condition. */
static bool makes_copies_of(struct lower *l, const struct phi_edge *b, const struct phi_edge *a,
                            struct ptx_reg condition) {
  const struct phi_use *uses = l->edges->uses;
  uint32_t end = l->edges->start[a->from.index + 1], first = first_use(l, a->from, a->to),
           b_end = l->edges->start[b->from.index + 1], b_first = first_use(l, b->from, b->to);
  for (uint32_t u = first; u < end && phi_of_use(l, u, a->to); u++) {
    if (!copied_parts(l, uses[u])) continue;
    bool found = false;
    for (uint32_t v = b_first; v < b_end && phi_of_use(l, v, b->to) && !found; v++) {
      if (v - b_first > MAX_EARLY) return false;
      found = l->inst_regs[uses[u].phi.index] != 0 && copied_parts(l, uses[v]) &&
              l->inst_regs[uses[u].phi.index] == l->inst_regs[uses[v].phi.index] &&
              value_equal(used_value(l, uses[u]), used_value(l, uses[v]));
    }
    if (!found || u - first > MAX_EARLY || has_register(l, uses[u].phi, condition)) return false;
  }
  return true;
}

bool phi_copies_agree(struct lower *l, const struct phi_edge *a, const struct phi_edge *b,
                      struct ptx_reg condition) {
  return makes_copies_of(l, a, b, condition) && makes_copies_of(l, b, a, condition);
}

enum phi_early phi_early(struct lower *l, const struct phi_edge *e, const struct phi_edge *other,
                         struct ptx_reg condition) {
  enum phi_early early = PHI_EARLY;
  uint32_t end = l->edges->start[e->from.index + 1];
  for (uint32_t u = first_use(l, e->from, e->to); u < end && phi_of_use(l, u, e->to); u++) {
    struct phi_use use = l->edges->uses[u];
    if (!copied_parts(l, use)) continue;
    if (has_register(l, use.phi, condition)) return PHI_NOT_EARLY;
    if (l->selection[use.phi.index].is_distant_base ||
        coalesce_is_live_into(l, use.phi, other->first) ||
        edge_reads(l, other->from, other->to, use.phi))
      early = PHI_EARLY_GUARDED;
  }
  return early;
}
