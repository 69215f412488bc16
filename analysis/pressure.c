/* Register pressure; see pressure.h.
 *
 * No sets of values are kept. Each value is followed from its uses back to its definition (liveness
 * "by use": Boissinot et al., "Computing Liveness Sets for SSA-Form Programs", 2011). Its registers
 * are added to the blocks that it is live through and, where it is not live out, to the instruction
 * that reads it last. Then a backward walk over each block adds what dies and subtracts what is
 * defined. */
#include "analysis/pressure.h"

#include "analysis/uses.h"

enum { MAX_BLOCKS_EACH = 64 }; /* that a value is live in, on average */

struct counter {
  struct pressure *p;
  const struct nvm_function *f;
  const struct dominance *d;
  struct arena *arena;
  struct uses uses;
  uint32_t *position;           /* by instruction: grows along its block */
  uint32_t *made;               /* by instruction: registers of its result, if that is read */
  uint32_t *dies;               /* by instruction: registers of values that it reads last */
  uint32_t *in, *out, *read_in; /* by block: the value last found live in, live out, read in it */
  struct nvm_inst_id *last;     /* by block: the last reader of that value */
  uint64_t left;                /* remaining blocks to visit */
  VEC(struct nvm_block) open;   /* blocks with the value live in, to be visited */
  VEC(struct nvm_block) read;   /* blocks that read the value */
  VEC(struct nvm_value) names;  /* the value, and addresses at a constant distance from it */
  uint32_t value, registers;    /* the current value: its slot, its registers */
  struct nvm_block definition;  /* the block that defines it */
};

uint32_t pressure_registers(const struct nvm_function *f, struct nvm_type type) {
  const struct type_table *t = &f->module->types;
  if (type_equal(type, TYPE_VOID)) return 0;
  uint64_t bits = layout_bits(&f->module->layout, t, type_scalar(t, type));
  uint64_t lanes = type_is_vector(t, type) ? type_info(t, type)->count : 1;
  if (bits == 1) return 0;
  return (uint32_t)(bits == 16 ? (lanes + 1) / 2 : lanes * ((bits + 31) / 32));
}

bool pressure_is_offset(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_GEP && i->op != OP_ADDRSPACECAST) return false;
  for (uint32_t k = 1; k < i->operand_count; k++)
    if (value_kind(inst_operand(f, i, k)) != VALUE_CONST) return false;
  return true;
}

static bool note_live_in(struct counter *c, struct nvm_block b) {
  if (c->in[b.index] == c->value || c->left == 0) return true;
  c->in[b.index] = c->value;
  c->p->in[b.index] += c->registers;
  c->left--;
  return VEC_PUSH(c->arena, &c->open, b);
}

static bool note_live_out(struct counter *c, struct nvm_block b) {
  if (c->out[b.index] == c->value || !dominance_reachable(c->d, b)) return true;
  c->out[b.index] = c->value;
  c->p->out[b.index] += c->registers;
  return b.index == c->definition.index || note_live_in(c, b);
}

static bool note_use(struct counter *c, uint32_t use) {
  struct nvm_inst_id id = c->uses.users[use];
  const struct nvm_inst *i = function_inst(c->f, id);
  struct nvm_block b = i->block;
  if (!dominance_reachable(c->d, b)) return true;
  if (pressure_is_offset(c->f, i)) return VEC_PUSH(c->arena, &c->names, value_of_inst(id));
  if (i->op == OP_PHI)
    return note_live_out(
        c, (struct nvm_block){value_index(inst_operand(c->f, i, c->uses.operands[use] + 1))});
  bool first = c->read_in[b.index] != c->value;
  if (first || c->position[id.index] > c->position[c->last[b.index].index]) c->last[b.index] = id;
  c->read_in[b.index] = c->value;
  return (!first || VEC_PUSH(c->arena, &c->read, b)) &&
         (b.index == c->definition.index || note_live_in(c, b));
}

/* Follows one value; `at_begin`: it is a phi or argument, defined at the start of its block. */
static bool follow(struct counter *c, struct nvm_value v, struct nvm_block definition,
                   bool at_begin) {
  c->value = uses_slot(&c->uses, v);
  c->registers = pressure_registers(c->f, value_type(c->f, v));
  c->definition = definition;
  c->names.count = c->read.count = 0;
  if (c->registers == 0 || !VEC_PUSH(c->arena, &c->names, v)) return c->registers == 0;
  for (uint32_t n = 0; n < c->names.count; n++) {
    uint32_t slot = uses_slot(&c->uses, c->names.data[n]);
    for (uint32_t u = c->uses.first[slot]; u < c->uses.first[slot + 1]; u++)
      if (!note_use(c, u)) return false;
  }
  while (c->open.count) {
    struct nvm_block b = c->open.data[--c->open.count];
    FOR_EACH_PREDECESSOR (c->d, b, k)
      if (!note_live_out(c, c->d->predecessors[k])) return false;
  }
  bool there = c->read_in[definition.index] == c->value || c->out[definition.index] == c->value;
  if (at_begin && there) c->p->in[definition.index] += c->registers;
  if (!at_begin && there) c->made[value_index(v)] = c->registers;
  for (uint32_t k = 0; k < c->read.count; k++) {
    uint32_t b = c->read.data[k].index;
    if (c->out[b] != c->value) c->dies[c->last[b].index] += c->registers;
  }
  return true;
}

static void count_block(struct counter *c, struct nvm_block b) {
  uint32_t live = c->p->out[b.index], most = live;
  for (struct nvm_inst_id i = function_block(c->f, b)->last; !inst_is_none(i);
       i = function_inst(c->f, i)->previous) {
    if (function_inst(c->f, i)->op == OP_PHI) break;
    if (c->p->after) c->p->after[i.index] = live;
    live = live - c->made[i.index] + c->dies[i.index];
    if (live > most) most = live;
  }
  c->p->most[b.index] = most;
  if (most > c->p->highest) c->p->highest = most;
}

bool pressure_compute(struct pressure *p, const struct nvm_function *f, const struct dominance *d,
                      struct arena *arena) {
  struct counter c = {
      .p = p, .f = f, .d = d, .arena = arena, .left = (uint64_t)f->insts.count * MAX_BLOCKS_EACH};
  uint32_t **by_block[] = {&p->in, &p->out, &p->most, &c.in, &c.out, &c.read_in},
           **by_inst[] = {&c.position, &c.made, &c.dies};
  p->highest = 0;
  for (uint32_t k = 0; k < sizeof by_block / sizeof *by_block; k++)
    if (!(*by_block[k] = arena_alloc(arena, f->blocks.count * sizeof(uint32_t)))) return false;
  for (uint32_t k = 0; k < sizeof by_inst / sizeof *by_inst; k++)
    if (!(*by_inst[k] = arena_alloc(arena, f->insts.count * sizeof(uint32_t)))) return false;
  c.last = arena_alloc(arena, f->blocks.count * sizeof *c.last);
  if (!c.last || !uses_build_with_arguments(&c.uses, f, arena)) return false;
  FOR_EACH_BLOCK (f, b) {
    uint32_t position = 0;
    FOR_EACH_INST (f, b, i) c.position[i.index] = ++position;
  }
  for (uint32_t k = 0; !function_is_kernel(f) && k < function_arg_count(f); k++)
    if (!follow(&c, value_of_arg(k), f->entry, true)) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (!dominance_reachable(d, b) || inst->op == OP_ALLOCA || pressure_is_offset(f, inst))
        continue;
      if (!follow(&c, value_of_inst(i), b, inst->op == OP_PHI)) return false;
    }
  FOR_EACH_BLOCK (f, b)
    if (dominance_reachable(d, b)) count_block(&c, b);
  return true;
}
