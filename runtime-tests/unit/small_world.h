/* Small worlds: functions on integers of 3 to 8 bits, executed for every value of their arguments.
 *
 * What an op computes is asked of ir/eval.c once for each pair of operands and kept in a table, so
 * that an execution costs a few nanoseconds an instruction. A load is an opaque condition: false.
 * `make check` takes every n-th case of each suite, `make prove` all of them (SMALL_WORLDS=all);
 * either way the same cases each time, so that how many of them an analysis is exact for is a
 * number in the source, below which it may not fall. */
#ifndef NVM_TESTS_SMALL_WORLD_H
#define NVM_TESTS_SMALL_WORLD_H

#include "loop_fixture.h"

#include "ir/eval.h"
#include "ir/evalint.h"
#include "ir/print.h"

static inline bool world_is_whole(void) {
  const char *wanted = getenv("SMALL_WORLDS");
  return wanted && strcmp(wanted, "all") == 0;
}

/* --- what ops compute
 * ----------------------------------------------------------------------------- */

enum { WORLD_BITS = 8, WORLD_POISON = 1 << 14, WORLD_UNDEFINED = 1 << 15 };

struct world_table {
  uint32_t key;
  uint16_t *results; /* by operands: second << 8 | first */
};

struct world_tables {
  struct nvm_module *m;
  struct world_table data[512];
  uint32_t count;
};

static inline const uint16_t *world_table(struct world_tables *t, enum op op, uint16_t flags,
                                          uint32_t aux, uint32_t from, uint32_t to) {
  uint32_t key = (uint32_t)op << 20 | (uint32_t)flags << 12 | aux << 8 | from << 4 | to, k = 0;
  while (k < t->count && t->data[k].key != key) k++;
  if (k < t->count) return t->data[k].results;
  assert_true(t->count < sizeof t->data / sizeof *t->data && flags < 256 && aux < 16 &&
              from <= WORLD_BITS && to <= WORLD_BITS);
  uint16_t *r = calloc(1u << 2 * WORLD_BITS, sizeof *r);
  assert_non_null(r);
  struct nvm_type operand = type_int(&t->m->types, from), result = type_int(&t->m->types, to);
  for (uint32_t y = 0; y < 1u << from; y++)
    for (uint32_t x = 0; x < 1u << from; x++) {
      struct eval_lane in[2] = {{x, false}, {y, false}}, out;
      bool defined = eval_lane(t->m, op, flags, aux, result, operand, in, &out);
      r[y << 8 | x] = !defined ? WORLD_UNDEFINED : out.poison ? WORLD_POISON : (uint16_t)out.bits;
    }
  t->data[t->count++] = (struct world_table){key, r};
  return r;
}

static inline void world_tables_free(struct world_tables *t) {
  for (uint32_t k = 0; k < t->count; k++) free(t->data[k].results);
  t->count = 0;
}

/* --- execution
 * -------------------------------------------------------------------------------------- */

enum { WORLD_INSTS = 48 };

/* An execution of a function whose instructions, arguments and constants have at most WORLD_BITS
 * bits. */
struct world_run {
  struct world_tables *tables;
  const struct nvm_function *f;
  const uint16_t *table[WORLD_INSTS]; /* by instruction */
  uint16_t arguments[4];
  uint16_t values[WORLD_INSTS]; /* of instructions; WORLD_POISON or'ed in */
};

static inline uint32_t world_width(const struct nvm_function *f, struct nvm_value v) {
  return type_scalar_bits(&f->module->types, value_type(f, v));
}

/* To be called again when flags, predicates or types change. */
static inline void world_prepare(struct world_run *r) {
  assert_true(r->f->insts.count <= WORLD_INSTS);
  for (uint32_t k = 1; k < r->f->insts.count; k++) {
    const struct nvm_inst *i = function_inst(r->f, (struct nvm_inst_id){k});
    bool computes = (i->op >= OP_FIRST_INT && i->op <= OP_LAST_INT) || i->op == OP_ICMP ||
                    i->op == OP_ZEXT || i->op == OP_SEXT || i->op == OP_TRUNC;
    r->table[k] = NULL;
    if (!computes) continue;
    uint32_t from = world_width(r->f, inst_operand(r->f, i, 0)),
             to = world_width(r->f, value_of_inst((struct nvm_inst_id){k}));
    r->table[k] =
        world_table(r->tables, (enum op)i->op, i->flags, i->op == OP_ICMP ? i->aux : 0, from, to);
  }
}

static inline uint16_t world_value(const struct world_run *r, struct nvm_value v) {
  nvm_u128 bits = 0;
  if (value_kind(v) == VALUE_INST) return r->values[value_index(v)];
  if (value_kind(v) == VALUE_ARG) return r->arguments[value_index(v)];
  assert_true(const_is_int(r->f->module, v, &bits));
  return (uint16_t)bits;
}

/* False: undefined behaviour. */
static inline bool world_execute(struct world_run *r, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(r->f, id);
  uint16_t out, x, y;
  if (i->op == OP_LOAD) out = 0;
  else if (i->op == OP_SELECT) {
    x = world_value(r, inst_operand(r->f, i, 0));
    out = x & WORLD_POISON ? x : world_value(r, inst_operand(r->f, i, x ? 1 : 2));
  } else if (i->op == OP_STORE) {
    return true;
  } else {
    x = world_value(r, inst_operand(r->f, i, 0));
    y = i->operand_count > 1 ? world_value(r, inst_operand(r->f, i, 1)) : 0;
    assert_non_null(r->table[id.index]);
    out = (x | y) & WORLD_POISON ? WORLD_POISON : r->table[id.index][y << 8 | x];
    bool divides = i->op >= OP_UDIV && i->op <= OP_SREM;
    if ((out & WORLD_UNDEFINED) || (divides && (y & WORLD_POISON))) return false;
  }
  r->values[id.index] = out;
  return true;
}

/* Executes block b, its phis as from `from`; the next one, {0} after a return or where what it does
 * is undefined (*defined). */
static inline struct nvm_block world_block(struct world_run *r, struct nvm_block from,
                                           struct nvm_block b, bool *defined) {
  uint16_t phis[WORLD_INSTS];
  *defined = true;
  FOR_EACH_PHI (r->f, b, i) {
    const struct nvm_inst *phi = function_inst(r->f, i);
    for (uint32_t k = 0; k < phi->operand_count; k += 2)
      if (value_index(inst_operand(r->f, phi, k + 1)) == from.index)
        phis[i.index] = world_value(r, inst_operand(r->f, phi, k));
  }
  FOR_EACH_INST (r->f, b, i) {
    const struct nvm_inst *inst = function_inst(r->f, i);
    if (inst->op == OP_PHI) r->values[i.index] = phis[i.index];
    else if (inst->op == OP_RET) return (struct nvm_block){0};
    else if (inst->op == OP_BR) return block_successor(r->f, b, 0);
    else if (inst->op == OP_CONDBR) {
      uint16_t condition = world_value(r, inst_operand(r->f, inst, 0));
      *defined = !(condition & WORLD_POISON);
      return *defined ? block_successor(r->f, b, condition ? 0 : 1) : (struct nvm_block){0};
    } else if (!world_execute(r, i)) {
      *defined = false;
      return (struct nvm_block){0};
    }
  }
  return (struct nvm_block){0};
}

/* --- forms
 * ---------------------------------------------------------------------------------------- */

/* What the form is in iteration n, in numbers without bounds where `reading` is 0 (unsigned) or 1
 * (signed), else modulo 2^width. */
static inline bool world_form(const struct world_run *r, const struct scev *a, uint32_t n,
                              int reading, int64_t *out) {
  int64_t sum = a->constant;
  for (uint32_t k = 0; k < a->count; k++) {
    const struct scev_term *t = &a->terms[k];
    int64_t v = 1;
    if (!value_is_none(t->symbol)) {
      uint32_t bits = world_width(r->f, t->symbol);
      uint16_t number = world_value(r, t->symbol);
      if (number & WORLD_POISON) return false;
      bool is_signed = bits < a->width ? t->is_signed : reading == 1;
      v = is_signed ? evalint_sext(bits, number) : number;
    }
    if (!value_is_none(t->factor)) {
      uint32_t bits = world_width(r->f, t->factor);
      uint16_t number = world_value(r, t->factor);
      if (number & WORLD_POISON) return false;
      bool is_signed = bits < a->width ? t->factor_signed : reading == 1;
      v *= is_signed ? evalint_sext(bits, number) : number;
    }
    sum += v * t->coefficient * (t->loop ? (int64_t)n : 1);
  }
  *out = sum;
  return true;
}

static inline const char *world_check_form(const struct world_run *r, const struct scev *a,
                                           struct nvm_value v, uint32_t n) {
  uint16_t now = world_value(r, v);
  uint32_t bits = world_width(r->f, v);
  int64_t sum;
  if ((now & WORLD_POISON) || a->width == 0) return NULL;
  if (a->width != bits) return "a form has another width than its value";
  if (!world_form(r, a, n, 2, &sum)) return "a form of a value has poison in it";
  if (evalint_zext(bits, (uint64_t)sum) != now) return "a form is not its value";
  if (a->no_unsigned_wrap && (!world_form(r, a, n, 0, &sum) || sum != now))
    return "a form wraps that should not, unsigned";
  if (a->no_signed_wrap && (!world_form(r, a, n, 1, &sum) || sum != evalint_sext(bits, now)))
    return "a form wraps that should not, signed";
  return NULL;
}

/* The module, for a report. */
static inline const char *world_text(struct nvm_module *m) {
  struct textbuf b;
  textbuf_init(&b, &m->arena);
  assert_int_equal(print_module(m, &b), NVM_OK);
  textbuf_char(&b, '\0');
  return b.bytes;
}

/* --- counting
 * ------------------------------------------------------------------------------------- */

/* How many cases there were, how many have an answer, and how many of these the analysis gave in
 * full. */
struct world_score {
  const char *name;
  uint64_t cases, answerable, exact, wrong;
};

/* The least number of exact answers: of the cases in `make check`, and of all. They may only grow.
 */
struct world_golden {
  const char *name;
  uint64_t exact[2];
};

static inline void world_report(const struct world_score *s, const struct world_golden *goldens,
                                size_t count) {
  size_t k = 0;
  while (k < count && strcmp(goldens[k].name, s->name) != 0) k++;
  uint64_t least = k < count ? goldens[k].exact[world_is_whole()] : 0;
  printf("%s: %llu cases, exact %llu of %llu\n", s->name, (unsigned long long)s->cases,
         (unsigned long long)s->exact, (unsigned long long)s->answerable);
  if (s->wrong) fail_msg("%s: %llu wrong answers", s->name, (unsigned long long)s->wrong);
  if (k == count) fail_msg("no golden number of %s", s->name);
  if (s->exact < least)
    fail_msg("%s: exact %llu, and %llu before", s->name, (unsigned long long)s->exact,
             (unsigned long long)least);
}

#endif
