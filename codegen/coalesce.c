/* Coalescing: gives a phi and its operands one register if their live ranges do not interfere.
 *
 *     $L_loop:                                  $L_loop:
 *       add.s32 %r5, %r2, %r3;                    add.s32 %r2, %r2, %r3;
 *       …                                         …
 *       @!%p2 bra $L_done;                 →      @%p2 bra $L_loop;
 *       mov.b32 %r2, %r5;
 *       bra.uni $L_loop;
 *
 * After Boissinot et al., "Revisiting Out-of-SSA Translation" (2009): congruence classes of phis
 * and their operands grow greedily, operands of back edges first, and two classes are joined if no
 * member of either is live where a member of the other is defined. Copies are on edges (phi.c), so
 * a phi is defined at the start of its block and an operand is read at the end of its predecessor.
 * Liveness is computed for the candidates only, from their reads back to their definitions, in a
 * number of steps that is linear in the function; candidates beyond that are not coalesced.
 *
 * Reads are those of the emitted code: an instruction that is folded into its readers reads its
 * operands where these are, and a lane instruction may have the registers of its operands (lane.c).
 * select_address() does not fold addresses down to a base whose registers are shared. */
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/select.h"
#include "codegen/stage.h"
#include "codegen/value.h"
#include "ir/intrinsic.h"

#include <stdlib.h>

enum { MAX_MEMBERS = 32, MAX_DEPTH = 100 };
#define AT_EDGE (UINT32_MAX - 1) /* positions after all instructions of a block */
#define LIVE_OUT UINT32_MAX

/* The last read of a value in a block, at an instruction's number in the block: these are even. One
 * more is a read of a lane that another lane of the result may have been written before. */
struct live {
  uint32_t block, position;
};

struct read {
  struct live at;
  uint32_t next; /* of the same candidate; 0: none */
};

/* A phi or an operand of one; its class is a list that begins with `leader`. */
struct candidate {
  struct nvm_inst_id value;
  uint32_t reads;                 /* first in coalescer->reads */
  uint32_t live, live_count;      /* in coalescer->live, sorted by block */
  uint32_t leader, next, members; /* next: 0 ends the class; members: of a leader */
  uint32_t tied; /* the value that inline assembly overwrites with this one; 0: none */
  bool unknown;  /* its live range was not computed: too many steps */
};

/* Inline assembly and the instructions that stand for its results: the call, or of a struct the
 * only extractvalue of each member, in the same block. */
struct assembly {
  struct nvm_inst_id call;
  uint32_t *results; /* instructions; 0: the result is not read */
  uint32_t count;
};

struct coalescer {
  struct lower *l;
  uint32_t *position;                 /* by instruction; phis 0 */
  uint32_t *number;                   /* by instruction: candidate, 0: none */
  uint32_t *entered, *touched, *slot; /* by block: the last candidate found live at its start, the
                                         last with an entry in `live`, and that entry */
  VEC(struct candidate) candidates;   /* [0]: dummy */
  VEC(struct read) reads;             /* [0]: dummy */
  VEC(struct live) live;
  VEC(struct assembly) assemblies;
  VEC(uint32_t) stack;
  uint64_t steps_left;
};

/* --- candidates ------------------------------------------------------------------------------ */

/* Intrinsics that are one instruction a lane. */
static bool is_one_instruction(const struct nvm_function *f, const struct nvm_inst *i) {
  switch (call_intrinsic(f, i)) {
    case INTRINSIC_fma:
    case INTRINSIC_fmuladd:
    case INTRINSIC_smin:
    case INTRINSIC_smax:
    case INTRINSIC_umin:
    case INTRINSIC_umax: return true;
    default: return false;
  }
}

/* Each lane one part. */
static bool is_candidate_type(struct lower *l, struct nvm_type type) {
  const struct type_table *t = &l->module->types;
  uint32_t count = part_list(l, type).count;
  return !type_is_aggregate(t, type) &&
         count == (type_is_vector(t, type) ? type_info(t, type)->count : 1);
}

/* Whether the result may have the registers of an operand: lowering writes a lane only after it has
 * read that lane of all operands. True of single instructions on 32 or 64 bits, and of inline
 * assembly that is one. */
static bool reads_before_writing(struct lower *l, const struct nvm_inst *i) {
  if (i->op == OP_CALL && asm_is_callee(l, call_callee(l->f, i))) return asm_is_single(l, i);
  const struct part *p = part_at(part_list(l, i->type), 0);
  if (p->kind > PART_DOUBLE || p->bits != p->container || p->bits < 32) return false;
  switch ((enum op)i->op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_FADD:
    case OP_FSUB:
    case OP_FMUL:
    case OP_SELECT:
    case OP_GEP: return true;
    case OP_CALL: return is_one_instruction(l->f, i);
    default: return false;
  }
}

static uint32_t number_of(const struct coalescer *c, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? c->number[value_index(v)] : 0;
}

static void add_candidate(struct coalescer *c, struct nvm_value v) {
  struct lower *l = c->l;
  if (value_kind(v) != VALUE_INST || number_of(c, v) || !l->selection[value_index(v)].wanted)
    return;
  struct nvm_inst_id id = {value_index(v)};
  uint32_t n = c->candidates.count;
  if (!is_candidate_type(l, function_inst(l->f, id)->type)) return;
  struct candidate made = {.value = id, .leader = n, .members = 1};
  if (VEC_PUSH(&l->function_arena, &c->candidates, made)) c->number[id.index] = n;
}

/* --- results of inline assembly --------------------------------------------------------------- */

static bool is_assembly(const struct lower *l, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(l->f, id);
  return i->op == OP_CALL && asm_is_callee(l, call_callee(l->f, i));
}

/* Finds the instructions that read the call's results. False unless each result has at most one,
 * after the call in the same block. */
static bool find_readers(struct coalescer *c, struct assembly *a) {
  struct lower *l = c->l;
  const struct nvm_inst *call = function_inst(l->f, a->call);
  const struct type_table *t = &l->module->types;
  struct nvm_value value = value_of_inst(a->call);
  uint32_t readers = 0, uses = l->f->uses.data[a->call.index];
  bool is_struct = type_kind(t, call->type) == TY_STRUCT;
  a->count = is_struct ? (uint32_t)type_info(t, call->type)->count : 1;
  a->results = arena_alloc(&l->function_arena, (a->count + 1) * sizeof *a->results);
  if (!a->results || type_equal(call->type, TYPE_VOID)) return false;
  memset(a->results, 0, a->count * sizeof *a->results);
  if (!is_struct) {
    a->results[0] = a->call.index;
    return true;
  }
  for (struct nvm_inst_id id = call->next; id.index && readers < uses && c->steps_left;
       id = function_inst(l->f, id)->next) {
    c->steps_left--;
    const struct nvm_inst *i = function_inst(l->f, id);
    nvm_u128 member;
    if (i->op != OP_EXTRACTVALUE || !value_equal(inst_operand(l->f, i, 0), value)) continue;
    if (i->operand_count != 2 || !const_is_int(l->module, inst_operand(l->f, i, 1), &member) ||
        a->results[member] || !is_candidate_type(l, i->type))
      return false;
    a->results[member] = id.index;
    readers++;
  }
  return readers == uses;
}

static uint32_t times_read(const struct nvm_function *f, const struct nvm_inst *i,
                           struct nvm_value v) {
  uint32_t times = 0;
  for (uint32_t k = 0; k < i->operand_count; k++) times += value_equal(inst_operand(f, i, k), v);
  return times;
}

/* Makes candidates of the call's results and the operands that are tied to them. */
static void add_assembly(struct coalescer *c, struct nvm_inst_id id) {
  struct lower *l = c->l;
  struct assembly a = {.call = id};
  const struct nvm_inst *call = function_inst(l->f, id);
  const uint32_t *ties = asm_ties(l, call);
  if (!ties || !find_readers(c, &a) || !VEC_PUSH(&l->function_arena, &c->assemblies, a)) return;
  for (uint32_t k = 0; k < a.count; k++) {
    struct nvm_value v =
        ties[k] == UINT32_MAX || !a.results[k] ? VALUE_NULL : inst_operand(l->f, call, ties[k]);
    if (value_kind(v) != VALUE_INST || times_read(l->f, call, v) != 1) continue;
    struct nvm_value result = value_make(VALUE_INST, a.results[k]);
    add_candidate(c, v);
    add_candidate(c, result);
    if (number_of(c, v) && number_of(c, result))
      c->candidates.data[number_of(c, result)].tied = value_index(v);
  }
}

/* The call writes members of its struct to the registers of their extractvalues. */
static void share_results(struct lower *l, const struct assembly *a) {
  const struct nvm_inst *call = function_inst(l->f, a->call);
  struct part_list parts = part_list(l, call->type);
  uint32_t part = 0;
  if (!l->selection[a->call.index].wanted || a->results[0] == a->call.index) return;
  for (uint32_t k = 0; k < a->count; k++)
    if (a->results[k] && l->selection[a->results[k]].wanted)
      value_result(l, (struct nvm_inst_id){a->results[k]});
  uint32_t first = l->regs.count;
  for (uint32_t k = 0; k < a->count; k++) {
    uint32_t reader = a->results[k],
             held = reader && l->selection[reader].wanted ? l->inst_regs[reader] : 0;
    uint32_t count = part_list(l, type_member(&l->module->types, call->type, k)).count;
    for (uint32_t j = 0; j < count; j++, part++) {
      struct ptx_reg r = held ? l->regs.data[held + j] : emit_new_reg(l, part_at(parts, part));
      if (!VEC_PUSH(&l->function_arena, &l->regs, r)) return;
    }
  }
  l->inst_regs[a->call.index] = first;
}

/* --- reads ----------------------------------------------------------------------------------- */

static void add_read(struct coalescer *c, struct nvm_value v, struct live at, uint32_t depth) {
  struct lower *l = c->l;
  if (value_kind(v) != VALUE_INST || c->steps_left == 0) return;
  c->steps_left = depth > MAX_DEPTH ? 0 : c->steps_left - 1;
  const struct nvm_inst *i = value_inst(l->f, v);
  uint32_t n = c->number[value_index(v)];
  if (n) {
    struct read r = {at, c->candidates.data[n].reads};
    c->candidates.data[n].reads = c->reads.count;
    if (!VEC_PUSH(&l->function_arena, &c->reads, r)) return;
  }
  if (l->selection[value_index(v)].wanted && !select_moves_lanes((enum op)i->op)) return;
  if ((i->op == OP_EXTRACTELEMENT || i->op == OP_SHUFFLEVECTOR) && at.position < AT_EDGE)
    at.position |= 1;
  for (uint32_t k = 0; k < i->operand_count && i->op != OP_PHI; k++)
    add_read(c, select_operand(l, i, k), at, depth + 1);
}

/* An access in another block than the phi that its address is folded to reads the phi's registers,
 * unless they are shared. add_read() does not record that if a pointer with registers lies between
 * them: those would be read instead. */
static void note_distant_base(struct lower *l, struct nvm_value pointer, struct nvm_block b) {
  struct selected_address a = select_address(l, pointer);
  const struct nvm_inst *base = value_inst(l->f, a.base);
  if (!base || base->op != OP_PHI || base->block.index == b.index) return;
  for (struct nvm_value v = pointer; !value_equal(v, a.base);
       v = inst_operand(l->f, value_inst(l->f, v), 0))
    if (l->selection[value_index(v)].wanted) selection_of(l, base)->is_distant_base = true;
}

static void collect_reads(struct coalescer *c, struct nvm_block b) {
  struct lower *l = c->l;
  uint32_t n = 0;
  FOR_EACH_INST (l->f, b, id) {
    const struct nvm_inst *i = function_inst(l->f, id);
    c->position[id.index] = i->op == OP_PHI ? 0 : (n += 2);
    for (uint32_t k = 0; k < i->operand_count && l->selection[id.index].wanted; k++) {
      struct live at = {b.index, n};
      if (i->op == OP_PHI && k % 2) continue;
      if (i->op == OP_PHI) at = (struct live){value_index(inst_operand(l->f, i, k + 1)), AT_EDGE};
      add_read(c, select_operand(l, i, k), at, 0);
      if (k == inst_address_operand(i)) note_distant_base(l, select_operand(l, i, k), b);
    }
  }
}

/* --- liveness -------------------------------------------------------------------------------- */

static void touch(struct coalescer *c, uint32_t n, struct live at) {
  if (c->touched[at.block] == n) {
    struct live *known = &c->live.data[c->slot[at.block]];
    if (known->position < at.position) known->position = at.position;
    return;
  }
  if (!VEC_PUSH(&c->l->function_arena, &c->live, at)) return;
  c->touched[at.block] = n;
  c->slot[at.block] = c->live.count - 1;
  c->steps_left -= c->steps_left != 0;
}

static void enter(struct coalescer *c, uint32_t n, uint32_t b) {
  uint32_t definition = function_inst(c->l->f, c->candidates.data[n].value)->block.index;
  if (b == definition || c->entered[b] == n) return;
  c->entered[b] = n;
  VEC_PUSH(&c->l->function_arena, &c->stack, b);
}

static int by_block(const void *a, const void *b) {
  uint32_t x = ((const struct live *)a)->block, y = ((const struct live *)b)->block;
  return x < y ? -1 : x > y;
}

static void find_live(struct coalescer *c, uint32_t n) {
  struct candidate *v = &c->candidates.data[n];
  const struct dominance *d = &c->l->dominance;
  v->live = c->live.count;
  for (uint32_t r = v->reads; r; r = c->reads.data[r].next) {
    touch(c, n, c->reads.data[r].at);
    enter(c, n, c->reads.data[r].at.block);
  }
  while (c->stack.count && c->steps_left) {
    uint32_t b = c->stack.data[--c->stack.count];
    for (uint32_t p = d->first_predecessor[b]; p < d->first_predecessor[b + 1]; p++) {
      touch(c, n, (struct live){d->predecessors[p].index, LIVE_OUT});
      enter(c, n, d->predecessors[p].index);
    }
  }
  v->unknown = c->steps_left == 0;
  v->live_count = c->live.count - v->live;
  if (v->live_count > 1)
    qsort(&c->live.data[v->live], v->live_count, sizeof(struct live), by_block);
}

/* Whether a is live after the definition of b, or read by it. */
static bool is_live_at(const struct coalescer *c, const struct candidate *a,
                       const struct candidate *b) {
  struct lower *l = c->l;
  const struct nvm_inst *maker = function_inst(l->f, b->value);
  struct live key = {maker->block.index, c->position[b->value.index]};
  bool same = function_inst(l->f, a->value)->block.index == key.block;
  if (same && c->position[a->value.index] > key.position) return false;
  if (same && c->position[a->value.index] == key.position) return true; /* two phis */
  const struct live *at = a->live_count == 0 ? NULL
                                             : bsearch(&key, &c->live.data[a->live], a->live_count,
                                                       sizeof key, by_block);
  if (!at || at->position < key.position) return false;
  return at->position > key.position ||
         (b->tied != a->value.index && !reads_before_writing(l, maker));
}

static void join(struct coalescer *c, uint32_t a, uint32_t b) {
  struct candidate *all = c->candidates.data;
  a = all[a].leader;
  b = all[b].leader;
  if (a == b || all[a].members + all[b].members > MAX_MEMBERS) return;
  uint32_t last = a;
  for (uint32_t x = a; x; x = all[x].next) {
    for (uint32_t y = b; y; y = all[y].next)
      if (all[x].unknown || all[y].unknown || is_live_at(c, &all[x], &all[y]) ||
          is_live_at(c, &all[y], &all[x]))
        return;
    last = x;
  }
  all[last].next = b;
  all[a].members += all[b].members;
  for (uint32_t y = b; y; y = all[y].next) all[y].leader = a;
}

/* --- joining --------------------------------------------------------------------------------- */

/* Results are defined by the call, not by the extractvalues that stand for them. */
static void place_results(struct coalescer *c) {
  for (uint32_t n = 0; n < c->assemblies.count; n++)
    for (uint32_t k = 0; k < c->assemblies.data[n].count; k++)
      c->position[c->assemblies.data[n].results[k]] = c->position[c->assemblies.data[n].call.index];
}

static void join_operands(struct coalescer *c, bool backward) {
  const struct lower *l = c->l;
  for (uint32_t n = 1; n < c->candidates.count; n++) {
    const struct nvm_inst *phi = function_inst(l->f, c->candidates.data[n].value);
    uint32_t tied = c->candidates.data[n].tied;
    if (tied && backward) join(c, n, c->number[tied]);
    for (uint32_t k = 0; phi->op == OP_PHI && k < phi->operand_count; k += 2) {
      uint32_t from = value_index(inst_operand(l->f, phi, k + 1)),
               v = number_of(c, inst_operand(l->f, phi, k));
      if (v && (l->block_rank[from] >= l->block_rank[phi->block.index]) == backward) join(c, n, v);
    }
  }
}

/* A load must not write the registers of its extension where these hold another value. */
static void release_load(struct lower *l, struct nvm_inst_id v) {
  const struct nvm_inst *i = function_inst(l->f, v);
  if ((i->op == OP_ZEXT || i->op == OP_SEXT) && select_is_loaded(l, i))
    l->selection[value_index(inst_operand(l->f, i, 0))].coalesced_with = 0;
}

static void share_registers(struct coalescer *c) {
  struct lower *l = c->l;
  for (uint32_t n = 1; n < c->candidates.count; n++) {
    struct nvm_inst_id v = c->candidates.data[n].value,
                       leader = c->candidates.data[c->candidates.data[n].leader].value;
    if (c->candidates.data[c->candidates.data[n].leader].members == 1) continue;
    if (v.index != leader.index) l->selection[v.index].coalesced_with = leader.index;
    l->selection[v.index].is_shared = true;
    value_result(l, v);
    release_load(l, v);
  }
}

void coalesce_function(struct lower *l) {
  const struct nvm_function *f = l->f;
  struct arena *arena = &l->function_arena;
  struct coalescer *c = arena_alloc(arena, sizeof *c);
  uint32_t insts = f->insts.count, blocks = f->blocks.count;
  int32_t method = lower_knob(l, KNOB_USEDESSA);
  bool any = false;
  l->coalescer = NULL;
  FOR_EACH_BLOCK (f, b) {
    any |= phi_in_block(l, b);
    FOR_EACH_INST (f, b, i) any |= is_assembly(l, i);
  }
  if (!c || !any || method == 0) return;
  *c = (struct coalescer){.l = l, .steps_left = 64 * ((uint64_t)insts + blocks)};
  c->position = arena_alloc(arena, insts * sizeof *c->position);
  c->number = arena_alloc(arena, insts * sizeof *c->number);
  c->entered = arena_alloc(arena, blocks * sizeof *c->entered);
  c->touched = arena_alloc(arena, blocks * sizeof *c->touched);
  c->slot = arena_alloc(arena, blocks * sizeof *c->slot);
  if (arena->failed || !VEC_PUSH(arena, &c->candidates, (struct candidate){.members = 1}) ||
      !VEC_PUSH(arena, &c->reads, (struct read){.next = 0}))
    return;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_PHI (f, b, i) {
      const struct nvm_inst *phi = function_inst(f, i);
      if (!l->selection[i.index].wanted) continue;
      add_candidate(c, value_of_inst(i));
      for (uint32_t k = 0; k < phi->operand_count; k += 2)
        add_candidate(c, inst_operand(f, phi, k));
    }
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (l->selection[i.index].wanted && is_assembly(l, i)) add_assembly(c, i);
  FOR_EACH_BLOCK (f, b) collect_reads(c, b);
  place_results(c);
  if (c->steps_left == 0 || arena->failed) return; /* not all reads were found */
  for (uint32_t n = 1; n < c->candidates.count && !arena->failed; n++) find_live(c, n);
  if (arena->failed) return;
  join_operands(c, true);
  if (method == 2) join_operands(c, false);
  share_registers(c);
  for (uint32_t n = 0; n < c->assemblies.count; n++) share_results(l, &c->assemblies.data[n]);
  l->coalescer = c;
}

static bool is_live_into(const struct coalescer *c, const struct candidate *v, struct nvm_block b) {
  const struct nvm_inst *i = function_inst(c->l->f, v->value);
  struct live key = {b.index, 0};
  if (i->block.index == b.index || v->unknown) return i->op == OP_PHI || v->unknown;
  return v->live_count &&
         bsearch(&key, &c->live.data[v->live], v->live_count, sizeof key, by_block);
}

bool coalesce_is_live_into(const struct lower *l, struct nvm_inst_id v, struct nvm_block b) {
  const struct coalescer *c = l->coalescer;
  if (!c || !c->number[v.index]) return true;
  const struct candidate *all = c->candidates.data;
  for (uint32_t n = all[c->number[v.index]].leader; n; n = all[n].next)
    if (is_live_into(c, &all[n], b)) return true;
  return false;
}
