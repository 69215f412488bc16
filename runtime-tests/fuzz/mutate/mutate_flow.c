/* Mutations of control flow. Each splits a block at places that pick_inst() chose; values of the
 * old blocks are chosen before the first split, since the dominator tree does not know new blocks.
 */
#include "mutator.h"

/* Moves the instructions of a block from `at` on into a new block after it. The old block is left
 * without a terminator. {0} when out of memory. */
static struct nvm_block split_before(struct mutator *m, struct nvm_inst_id at) {
  struct nvm_function *f = m->f;
  struct nvm_block b = function_inst(f, at)->block,
                   rest = function_add_block(f, (struct nvm_str){0});
  if (!rest.index) return rest;
  function_move_block(f, rest, function_block(f, b)->next);
  for (struct nvm_inst_id i = at, next; i.index; i = next) {
    next = function_inst(f, i)->next;
    inst_unlink(f, i);
    inst_append(f, i, rest);
  }
  for (uint32_t s = 0; s < block_successor_count(f, rest); s++) {
    FOR_EACH_PHI (f, block_successor(f, rest, s), phi) {
      for (uint32_t k = 1; k < function_inst(f, phi)->operand_count; k += 2)
        if (value_equal(inst_operand_at(f, phi, k), value_of_block(b)))
          inst_set_operand(f, phi, k, value_of_block(rest));
    }
  }
  return rest;
}

/* An instruction after `at` in its block that blocks can be split at; {0}: none. */
static struct nvm_inst_id pick_end(struct mutator *m, struct nvm_inst_id at) {
  struct nvm_inst_id found = {0};
  uint32_t seen = 0;
  for (struct nvm_inst_id i = function_inst(m->f, at)->next; i.index;
       i = function_inst(m->f, i)->next)
    if (inst_is_place(m->f, function_inst(m->f, i)) && once_in(m, ++seen)) found = i;
  return found;
}

/* Whether the instructions from `at` to before `end` have results that a constant can stand for. */
static bool have_constants(struct mutator *m, struct nvm_inst_id at, struct nvm_inst_id end) {
  for (struct nvm_inst_id i = at; i.index != end.index; i = function_inst(m->f, i)->next) {
    struct nvm_type type = function_inst(m->f, i)->type;
    if (!type_equal(type, TYPE_VOID) && value_is_none(pick_constant(m, type))) return false;
  }
  return true;
}

/* Uses of v outside its block get a phi of v, from that block, and of a constant. */
static void merge_outside(struct mutator *m, struct nvm_inst_id v, struct nvm_block other,
                          struct nvm_block join) {
  struct nvm_block home = function_inst(m->f, v)->block;
  struct nvm_type type = function_inst(m->f, v)->type;
  struct nvm_value entries[] = {value_of_inst(v), value_of_block(home), pick_constant(m, type),
                                value_of_block(other)};
  struct nvm_value phi = VALUE_NULL;
  FOR_EACH_BLOCK (m->f, b) {
    if (b.index == home.index) continue;
    FOR_EACH_INST (m->f, b, user) {
      if (value_equal(value_of_inst(user), phi)) continue;
      for (uint32_t k = 0; k < function_inst(m->f, user)->operand_count; k++) {
        if (!value_equal(inst_operand_at(m->f, user, k), value_of_inst(v))) continue;
        struct builder build = builder_at_start(m->f, join);
        if (value_is_none(phi)) phi = builder_phi(&build, type, entries, 4);
        if (!value_is_none(phi)) inst_set_operand(m->f, user, k, phi);
      }
    }
  }
}

/* A part of a block is executed under a condition. */
bool mutate_branch(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  struct nvm_inst_id end = at.index ? pick_end(m, at) : at;
  if (!end.index || !have_constants(m, at, end)) return false;
  struct nvm_value condition = pick_value(m, TYPE_I1, at);
  struct nvm_block before = function_inst(m->f, at)->block;
  struct nvm_block part = split_before(m, at), join = split_before(m, end);
  if (!part.index || !join.index) return false;
  struct builder b = builder_at_end(m->f, before);
  bool negated = once_in(m, 2);
  (void)builder_condbranch(&b, condition, negated ? join : part, negated ? part : join);
  FOR_EACH_INST (m->f, part, i) {
    if (!type_equal(function_inst(m->f, i)->type, TYPE_VOID)) merge_outside(m, i, before, join);
  }
  b = builder_at_end(m->f, part);
  (void)builder_branch(&b, join);
  return true;
}

static bool is_number_inst(const struct nvm_function *f, const struct nvm_inst *i) {
  return type_is_int(&f->module->types, i->type) || type_is_float(&f->module->types, i->type);
}

/* A phi at the start of the loop of a value that its body computes; the body uses it. */
static void carry(struct mutator *m, struct nvm_block before, struct nvm_block body,
                  struct nvm_inst_id at, struct nvm_value first) {
  struct nvm_inst_id v = pick_inst_in(m, body, is_number_inst);
  if (!v.index) return;
  struct nvm_type type = function_inst(m->f, v)->type;
  if (!type_equal(type, value_type(m->f, first))) first = pick_constant(m, type);
  struct nvm_value entries[] = {first, value_of_block(before), value_of_inst(v),
                                value_of_block(body)};
  struct builder b = builder_at_start(m->f, body);
  use_value(m, builder_phi(&b, type, entries, 4), at);
}

/* A part of a block is repeated: a loop of one block that counts up to a constant or a value. */
bool mutate_loop(struct mutator *m) {
  static const enum icmp_predicate predicates[] = {ICMP_ULT, ICMP_SLT, ICMP_NE, ICMP_SLE};
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  struct nvm_inst_id end = at.index ? pick_end(m, at) : at;
  if (!end.index) return false;
  struct nvm_value limit = const_int(m->m, TYPE_I32, 1 + below(m, 12));
  if (once_in(m, 3)) limit = pick_value(m, TYPE_I32, at);
  struct nvm_value first = once_in(m, 2) ? pick_value(m, TYPE_I32, at) : VALUE_NULL;
  struct nvm_block before = function_inst(m->f, at)->block;
  struct nvm_block body = split_before(m, at), after = split_before(m, end);
  if (!body.index || !after.index) return false;
  struct builder b = builder_at_end(m->f, before);
  (void)builder_branch(&b, body);
  if (value_is_none(first)) first = const_int(m->m, TYPE_I32, 0);
  if (once_in(m, 2)) carry(m, before, body, at, first);
  struct nvm_value entries[] = {const_int(m->m, TYPE_I32, 0), value_of_block(before)};
  b = builder_at_start(m->f, body);
  struct nvm_value counter = builder_phi(&b, TYPE_I32, entries, 2);
  b = builder_at_end(m->f, body);
  struct nvm_value next[] = {counter, const_int(m->m, TYPE_I32, once_in(m, 3) ? 2 : 1)};
  uint16_t flags = once_in(m, 2) ? INST_NSW | INST_NUW : 0;
  struct nvm_value sum = builder_add(&b, OP_ADD, flags, TYPE_I32, next, 2, 0);
  struct nvm_value more = builder_icmp(&b, predicates[below(m, 4)], sum, limit);
  (void)builder_condbranch(&b, more, body, after);
  if (value_is_none(counter) || value_is_none(more)) return false;
  if (once_in(m, 2)) use_value(m, counter, at);
  return phi_add(m->f, value_inst_id(counter), sum, body);
}

/* The function returns early under a condition. */
bool mutate_exit(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  if (!at.index) return false;
  struct nvm_type type = function_result_type(m->f);
  struct nvm_value condition = pick_value(m, TYPE_I1, at), result = VALUE_NULL;
  if (!type_equal(type, TYPE_VOID)) {
    result = pick_value(m, type, at);
    if (value_is_none(result)) return false;
  }
  struct nvm_block before = function_inst(m->f, at)->block;
  struct nvm_block rest = split_before(m, at), exit = function_add_block(m->f, (struct nvm_str){0});
  if (!rest.index || !exit.index) return false;
  struct builder b = builder_at_end(m->f, before);
  (void)builder_condbranch(&b, condition, exit, rest);
  b = builder_at_end(m->f, exit);
  bool never = once_in(m, 8);
  bool empty = never || value_is_none(result);
  (void)builder_insert(&b, never ? OP_UNREACHABLE : OP_RET, 0, TYPE_VOID, &result, empty ? 0 : 1,
                       0);
  return true;
}

/* ---- Blocks without a path from the entry ---- */

enum { MAX_DEAD = 3, DEAD_VALUES = 3 * MAX_DEAD };

struct dead {
  struct nvm_type type;
  struct nvm_block blocks[MAX_DEAD], rest;
  struct nvm_value values[DEAD_VALUES], conditions[MAX_DEAD];
  uint32_t count, value_count;
  bool leaves[MAX_DEAD]; /* to `rest` */
};

static void hold_dead(struct dead *d, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST && !value_is_none(v)) d->values[d->value_count++] = v;
}

/* Definitions of block k: a phi, two operations, a condition; at times a store or assembly. */
static void fill_dead(struct mutator *m, struct dead *d, uint32_t k, struct nvm_value live,
                      struct nvm_value pointer) {
  bool is_float = type_is_float(&m->m->types, d->type);
  struct builder b = builder_at_end(m->f, d->blocks[k]);
  struct nvm_value entries[] = {live, value_of_block(d->blocks[(k + d->count - 1) % d->count])};
  struct nvm_value x = builder_phi(&b, d->type, entries, 2), xy[] = {x, live};
  hold_dead(d, x);
  for (int n = 0; n < 2; n++) {
    enum op op = is_float ? OP_FADD : once_in(m, 2) ? OP_MUL : OP_ADD;
    xy[0] = value_of_inst(builder_insert(&b, op, 0, d->type, xy, 2, 0));
    hold_dead(d, xy[0]);
  }
  d->conditions[k] = builder_add(&b, is_float ? OP_FCMP : OP_ICMP, 0, TYPE_I1, xy, 2,
                                 is_float ? (uint32_t)FCMP_OLT : (uint32_t)ICMP_SLT);
  if (once_in(m, 3) && !value_is_none(pointer))
    (void)builder_store(&b, xy[0], pointer,
                        memory_access_pack((struct memory_access){.align_log2 = 1}));
  if (once_in(m, 3) && type_equal(d->type, TYPE_I32))
    (void)build_assembly(m, b, once_in(m, 2) ? "mov.b32 $0, $1;" : "add.u32 $0, $1, 1;", "=r,r",
                         once_in(m, 2), TYPE_I32, &xy[0], 1);
}

/* Operands of the definitions become others of them, also later ones and themselves. */
static void cross_dead(struct mutator *m, struct dead *d) {
  for (uint32_t n = 0; n < d->value_count; n++) {
    const struct nvm_inst *i = value_inst(m->f, d->values[n]);
    uint32_t k = i->op == OP_PHI ? 0 : (uint32_t)below(m, 2);
    if (!once_in(m, 3))
      inst_set_operand(m->f, value_inst_id(d->values[n]), k, d->values[below(m, d->value_count)]);
  }
}

/* Each block branches to the next one, and the first ones in a circle, or to `rest`. */
static void end_dead(struct mutator *m, struct dead *d) {
  for (uint32_t k = 0; k < d->count; k++) {
    struct builder b = builder_at_end(m->f, d->blocks[k]);
    struct nvm_block next = d->blocks[(k + 1) % d->count];
    d->leaves[k] = once_in(m, 2) && !value_is_none(d->conditions[k]);
    if (d->leaves[k]) (void)builder_condbranch(&b, d->conditions[k], next, d->rest);
    else (void)builder_branch(&b, next);
  }
}

/* Blocks that are not executed, in a cycle, some of which branch to code that is. */
bool mutate_cycle(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  if (!at.index) return false;
  struct dead d = {.type = once_in(m, 2) ? TYPE_I32 : type_scalar(&m->m->types, pick_type(m)),
                   .count = 1 + (uint32_t)below(m, MAX_DEAD)};
  struct nvm_value live = pick_value(m, d.type, at), pointer = pick_any(m, type_is_ptr, at);
  struct nvm_block before = function_inst(m->f, at)->block;
  d.rest = split_before(m, at);
  if (!d.rest.index || value_is_none(live)) return false;
  struct builder b = builder_at_end(m->f, before);
  (void)builder_branch(&b, d.rest);
  for (uint32_t k = 0; k < d.count; k++) {
    d.blocks[k] = function_add_block(m->f, (struct nvm_str){0});
    if (!d.blocks[k].index) return false;
    function_move_block(m->f, d.blocks[k], d.rest);
  }
  for (uint32_t k = 0; k < d.count; k++) fill_dead(m, &d, k, live, pointer);
  cross_dead(m, &d);
  end_dead(m, &d);
  struct nvm_value entries[2 + 2 * MAX_DEAD] = {live, value_of_block(before)};
  uint32_t count = 2;
  for (uint32_t k = 0; k < d.count && d.value_count > 0; k++) {
    if (!d.leaves[k]) continue;
    entries[count++] = d.values[below(m, d.value_count)];
    entries[count++] = value_of_block(d.blocks[k]);
  }
  b = builder_at_start(m->f, d.rest);
  struct nvm_value phi = builder_phi(&b, d.type, entries, count);
  if (value_is_none(phi)) return false;
  use_value(m, phi, at);
  return true;
}

/* A switch over an integer with an arm for each of a few cases, whose constants meet in a phi. */
bool mutate_switch(struct mutator *m) {
  enum { MAX_CASES = 5 };
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  struct nvm_value v = at.index ? pick_any(m, type_is_int, at) : VALUE_NULL;
  if (value_is_none(v)) return false;
  struct nvm_type type = value_type(m->f, v), result = once_in(m, 2) ? TYPE_I32 : pick_type(m);
  uint32_t bits = type_scalar_bits(&m->m->types, type), count = 1 + (uint32_t)below(m, MAX_CASES);
  if (bits < 3) return false;
  uint64_t first = below(m, 3);
  struct nvm_block before = function_inst(m->f, at)->block, rest = split_before(m, at);
  if (!rest.index) return false;
  struct nvm_value operands[2 + 2 * MAX_CASES] = {v, value_of_block(rest)};
  struct nvm_value entries[2 + 2 * MAX_CASES] = {pick_constant(m, result), value_of_block(before)};
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_block arm = function_add_block(m->f, (struct nvm_str){0});
    if (!arm.index) return false;
    function_move_block(m->f, arm, rest);
    struct builder b = builder_at_end(m->f, arm);
    (void)builder_branch(&b, rest);
    operands[2 + 2 * k] = const_int(m->m, type, (first + k) & 7);
    entries[2 + 2 * k] = once_in(m, 4) ? entries[2 * k] : pick_constant(m, result);
    operands[3 + 2 * k] = entries[3 + 2 * k] = value_of_block(arm);
  }
  struct builder b = builder_at_end(m->f, before);
  (void)builder_insert(&b, OP_SWITCH, 0, TYPE_VOID, operands, 2 + 2 * count, 0);
  b = builder_at_start(m->f, rest);
  struct nvm_value phi = builder_phi(&b, result, entries, 2 + 2 * count);
  if (value_is_none(phi)) return false;
  use_value(m, phi, at);
  return true;
}
