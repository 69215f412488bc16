/* bypass-slow-division: 64-bit divisions of numbers that happen to be short are done in 32 bits.
 *
 * Purpose:   no GPU divides integers. For sm_90, ptxas 13.0 makes 72 (unsigned) or 88 instructions
 *            of a 64-bit division and 16 of one of 32 bits. Indices of 64 bits are mostly small.
 * Algorithm: a quotient that is only multiplied by its divisor becomes n - n mod d where that is
 *            computed too; else a remainder becomes n - q d where the quotient dominates it. Then a
 *            test of the high halves of 64-bit operands, at run time, decides between two blocks;
 *            phis merge their results. A quotient and a remainder of the same operands in one block
 *            share the test.
 *              (n | d) below 2^32 → zext (trunc n udiv trunc d); also of signed numbers, which are
 *              not negative then
 *            Operands of which it is known that they are short are not tested. A short dividend
 *            needs no long division: the quotient by a larger divisor is 0.
 *              n < d → 0, else zext (trunc n udiv trunc d)
 * Requires:  nothing. Runs last: a block becomes four.
 * Preserves: nothing.
 * Cost:      linear, times MAX_TESTS for the instructions after divisions in long blocks, and
 *            MAX_QUOTIENTS for each remainder.
 * Omits:     further divisions of a function; constant divisors, which become multiplications;
 *            dividends that are known or likely to be long (hashes); vectors; functions optimized
 *            for size.
 * Tests:     check/opt/bypass-slow-division.nvir, exec/divisions.nvir. */
#include "analysis/division.h"
#include "analysis/known_bits.h"
#include "analysis/ranges.h"
#include "ir/build.h"
#include "opt/cfg/cfg.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_QUOTIENTS = 64, MAX_TESTS = 256 };

/* A division and the other result of its operands. */
struct division {
  struct nvm_function *f;
  struct nvm_inst_id first, second; /* second: none if only one is computed */
  struct nvm_value dividend, divisor;
};

/* The results of one of the two divisions. */
struct results {
  struct nvm_value quotient, remainder; /* VALUE_NULL: not needed */
};

/* Whether the value is a hash or another number that mixes bits: rarely short. */
static bool is_likely_long(const struct nvm_function *f, struct nvm_value v) {
  const struct nvm_inst *i = value_inst(f, v);
  nvm_u128 factor;
  if (!i) return false;
  if (i->op == OP_XOR) return true;
  return i->op == OP_MUL && const_is_int(f->module, inst_operand(f, i, 1), &factor) && factor >> 32;
}

/* Whether i is a division that may gain by a test. */
static bool may_be_short(const struct nvm_function *f, const struct nvm_inst *i) {
  if (!division_is(i) || !type_equal(i->type, TYPE_I64)) return false;
  struct nvm_value n = inst_operand(f, i, 0), d = inst_operand(f, i, 1);
  return value_kind(d) != VALUE_CONST && range_of(f, n).low <= UINT32_MAX &&
         range_of(f, d).low <= UINT32_MAX && !is_likely_long(f, n);
}

/* The operand as one number, the same for the test and both divisions. */
static struct nvm_value freeze_operand(const struct builder *b, struct nvm_value v) {
  if (known_bits_are_defined(b->f, v)) return v;
  return builder_unary(b, OP_FREEZE, value_type(b->f, v), v);
}

/* The same of a short dividend: also a frozen number is short. */
static struct nvm_value freeze_dividend(const struct builder *b, struct nvm_value v) {
  if (known_bits_are_defined(b->f, v)) return v;
  const struct nvm_inst *i = value_inst_of(b->f, v, OP_ZEXT);
  struct nvm_value n = i ? inst_operand(b->f, i, 0) : VALUE_NULL;
  if (!i || !type_equal(value_type(b->f, n), TYPE_I32)) n = builder_unary(b, OP_TRUNC, TYPE_I32, v);
  return builder_unary(b, OP_ZEXT, TYPE_I64, builder_unary(b, OP_FREEZE, TYPE_I32, n));
}

/* Whether all operands that may be long are short. */
static struct nvm_value test_operands(const struct division *v, const struct builder *b) {
  struct nvm_function *f = v->f;
  const struct nvm_inst *i = function_inst(f, v->first);
  bool test_dividend = range_of(f, inst_operand(f, i, 0)).high > UINT32_MAX;
  bool test_divisor = range_of(f, inst_operand(f, i, 1)).high > UINT32_MAX;
  struct nvm_value bits = test_dividend ? v->dividend : v->divisor;
  if (test_dividend && test_divisor) bits = builder_binary(b, OP_OR, v->dividend, v->divisor);
  return builder_icmp(b, ICMP_ULT, bits, const_int(f->module, TYPE_I64, UINT64_C(1) << 32));
}

/* Of a pair, the remainder is computed from the quotient. */
static struct results divide(const struct division *v, const struct builder *b, bool is_signed,
                             struct nvm_value n, struct nvm_value d) {
  struct results r = {.quotient = VALUE_NULL, .remainder = VALUE_NULL};
  bool pair = !inst_is_none(v->second);
  if (!pair && !division_is_quotient(function_inst(v->f, v->first))) {
    r.remainder = builder_binary(b, is_signed ? OP_SREM : OP_UREM, n, d);
    return r;
  }
  r.quotient = builder_binary(b, is_signed ? OP_SDIV : OP_UDIV, n, d);
  if (pair) r.remainder = builder_binary(b, OP_SUB, n, builder_binary(b, OP_MUL, r.quotient, d));
  return r;
}

static struct nvm_value extend(const struct builder *b, struct nvm_value v) {
  return value_is_none(v) ? v : builder_unary(b, OP_ZEXT, TYPE_I64, v);
}

/* Whether the dividend is short, and a divisor that is not exceeds it. */
static bool has_short_dividend(const struct nvm_function *f, const struct nvm_inst *i) {
  struct range d = range_of(f, inst_operand(f, i, 1));
  return range_of(f, inst_operand(f, i, 0)).high <= UINT32_MAX &&
         (!division_is_signed(i) || (d.width && d.least >= 0));
}

/* A new block after `after`; {0} when out of memory. */
static struct nvm_block add_block(struct nvm_function *f, struct nvm_block after) {
  struct nvm_block b = function_add_block(f, (struct nvm_str){0});
  if (!block_is_none(b)) function_move_block(f, b, function_block(f, after)->next);
  return b;
}

/* The results of the long division, in a block that ends with a jump to `rest`; or of a dividend
 * below the divisor. */
static struct results divide_long(const struct division *v, const struct builder *b,
                                  struct nvm_block rest, bool is_less) {
  if (is_less) return (struct results){const_int(v->f->module, TYPE_I64, 0), v->dividend};
  bool is_signed = division_is_signed(function_inst(v->f, v->first));
  struct results r = divide(v, b, is_signed, v->dividend, v->divisor);
  builder_branch(b, rest);
  return r;
}

static struct results divide_short(const struct division *v, const struct builder *b,
                                   struct nvm_block rest) {
  struct nvm_value n = builder_unary(b, OP_TRUNC, TYPE_I32, v->dividend);
  struct nvm_value d = builder_unary(b, OP_TRUNC, TYPE_I32, v->divisor);
  struct results r = divide(v, b, false, n, d);
  r.quotient = extend(b, r.quotient), r.remainder = extend(b, r.remainder);
  builder_branch(b, rest);
  return r;
}

/* Splits the block at the division, and moves it to a block of its own, or replaces it. */
static bool bypass(struct division *v, struct rewrite *r) {
  struct nvm_function *f = v->f;
  struct nvm_inst_id at = v->first;
  struct nvm_block before = function_inst(f, at)->block;
  bool is_less = has_short_dividend(f, function_inst(f, at));
  /* Short operands: one jump, over the long division. */
  struct nvm_block slow = is_less ? before : add_block(f, before);
  struct nvm_block fast = block_is_none(slow) ? slow : add_block(f, slow);
  struct nvm_block rest = block_is_none(fast) ? fast : add_block(f, fast);
  if (block_is_none(rest)) return false;
  cfg_move_rest(f, at, rest);
  struct builder test = builder_located(builder_at_end(f, before), at);
  struct nvm_value n = inst_operand_at(f, at, 0);
  v->dividend = is_less ? freeze_dividend(&test, n) : freeze_operand(&test, n);
  v->divisor = freeze_operand(&test, inst_operand_at(f, at, 1));
  if (is_less)
    builder_condbranch(&test, builder_icmp(&test, ICMP_ULT, v->dividend, v->divisor), rest, fast);
  else builder_condbranch(&test, test_operands(v, &test), fast, slow);
  struct builder in_slow = builder_located(builder_at_end(f, slow), at);
  struct builder in_fast = builder_located(builder_at_end(f, fast), at);
  struct builder merge = builder_located(builder_at_start(f, rest), at);
  struct results l = divide_long(v, &in_slow, rest, is_less);
  struct results s = divide_short(v, &in_fast, rest);
  for (int k = 0; k < 2; k++) {
    struct nvm_inst_id old = k ? v->second : v->first;
    if (inst_is_none(old)) break;
    bool quotient = division_is_quotient(function_inst(f, old));
    struct nvm_value entries[4] = {quotient ? s.quotient : s.remainder, value_of_block(fast),
                                   quotient ? l.quotient : l.remainder, value_of_block(slow)};
    rewrite_set(r, old, builder_phi(&merge, TYPE_I64, entries, 4));
  }
  return !module_out_of_memory(f->module);
}

/* A quotient, and its operands before they were frozen. */
struct quotient {
  struct nvm_inst_id inst;
  struct nvm_value dividend, divisor;
};

/* Whether i is the remainder of the same operands. */
static bool is_remainder_of(const struct nvm_function *f, const struct nvm_inst *i,
                            const struct quotient *q) {
  const struct nvm_inst *quotient = function_inst(f, q->inst);
  return i->op == division_remainder(quotient) && type_equal(i->type, quotient->type) &&
         value_equal(inst_operand(f, i, 0), q->dividend) &&
         value_equal(inst_operand(f, i, 1), q->divisor);
}

/* n - q d at the remainder, of operands that are the same numbers there as at the quotient. */
static bool use_quotient(struct nvm_function *f, const struct quotient *q,
                         struct nvm_inst_id remainder) {
  struct builder above = builder_replacing(f, q->inst), here = builder_replacing(f, remainder);
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_value v = inst_operand_at(f, q->inst, k);
    bool is_frozen = !value_equal(v, k ? q->divisor : q->dividend);
    if (!is_frozen) inst_set_operand(f, q->inst, k, freeze_operand(&above, v));
  }
  function_inst(f, q->inst)->flags = 0; /* an exact quotient may be poison */
  struct nvm_value n = inst_operand_at(f, q->inst, 0), d = inst_operand_at(f, q->inst, 1);
  struct nvm_value product = builder_binary(&here, OP_MUL, value_of_inst(q->inst), d);
  if (value_is_none(product)) return false;
  inst_set_operand(f, remainder, 0, n);
  inst_set_operand(f, remainder, 1, product);
  function_inst(f, remainder)->op = OP_SUB;
  return true;
}

/* The quotients of integers by variables, MAX_QUOTIENTS of them; how many. */
static uint32_t find_quotients(const struct nvm_function *f, struct quotient *quotients) {
  uint32_t count = 0;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      if (count == MAX_QUOTIENTS || !division_is_quotient(i) ||
          !type_is_int(&f->module->types, i->type) ||
          value_kind(inst_operand(f, i, 1)) == VALUE_CONST)
        continue;
      quotients[count++] = (struct quotient){id, inst_operand(f, i, 0), inst_operand(f, i, 1)};
    }
  return count;
}

/* The operands of a division as one number each, also for other instructions: they are frozen. */
static void freeze_operands(struct nvm_function *f, struct nvm_inst_id division) {
  struct builder above = builder_replacing(f, division);
  for (uint32_t k = 0; k < 2; k++)
    inst_set_operand(f, division, k, freeze_operand(&above, inst_operand_at(f, division, k)));
}

/* Whether i multiplies the quotient by its divisor, which is its only use. */
static bool is_product_of(const struct nvm_function *f, const struct nvm_inst *i,
                          const struct quotient *q) {
  struct nvm_value v = value_of_inst(q->inst);
  if (i->op != OP_MUL || f->uses.data[q->inst.index] != 1) return false;
  uint32_t k = value_equal(inst_operand(f, i, 1), v);
  return value_equal(inst_operand(f, i, k), v) &&
         value_equal(inst_operand(f, i, 1 - k), q->divisor);
}

/* The instructions that read the operands of a quotient, or it: {0}: there is none. */
struct readers {
  struct nvm_inst_id product, remainder;
  bool product_first; /* in the same block */
};

static void find_readers(const struct nvm_function *f, const struct quotient *quotients,
                         struct readers *readers, uint32_t count) {
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      if (i->op != OP_MUL && !division_is(i)) continue;
      for (uint32_t k = 0; k < count; k++) {
        struct readers *r = &readers[k];
        if (is_product_of(f, i, &quotients[k])) r->product = id;
        if (!is_remainder_of(f, i, &quotients[k]) || !inst_is_none(r->remainder)) continue;
        r->remainder = id;
        r->product_first = !inst_is_none(r->product);
      }
    }
}

/* A quotient that is only multiplied by its divisor is n - n mod d where the remainder is known,
 * and is not computed then. */
static bool use_remainders(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct dominance dominance;
  struct quotient quotients[MAX_QUOTIENTS];
  uint32_t count = find_quotients(f, quotients);
  if (count == 0) return true;
  struct readers *readers = arena_alloc(env->arena, count * sizeof *readers);
  if (!readers || !flow_dominance(env->flow, f, &dominance)) return false;
  find_readers(f, quotients, readers, count);
  for (uint32_t k = 0; k < count; k++) {
    const struct readers *r = &readers[k];
    if (inst_is_none(r->product) || inst_is_none(r->remainder)) continue;
    struct nvm_block at = function_inst(f, r->remainder)->block,
                     to = function_inst(f, r->product)->block;
    if (!dominance_dominates(&dominance, at, to)) continue;
    if (at.index == to.index && r->product_first) { /* the quotient divides before both */
      inst_unlink(f, r->remainder);
      inst_insert_before(f, r->remainder, r->product);
    }
    for (uint32_t other = k + 1; other < count; other++) /* it may be above their products now */
      if (readers[other].remainder.index == r->remainder.index)
        readers[other].remainder = (struct nvm_inst_id){0};
    freeze_operands(f, r->remainder);
    inst_set_operand(f, r->product, 0, inst_operand_at(f, r->remainder, 0));
    inst_set_operand(f, r->product, 1, value_of_inst(r->remainder));
    struct nvm_inst *product = function_inst(f, r->product);
    product->op = OP_SUB, product->flags = 0;
    inst_remove(f, quotients[k].inst);
    *changed = true;
    ++*env->statistic;
  }
  return !module_out_of_memory(f->module);
}

/* Computes remainders from quotients in blocks that dominate theirs. */
static bool use_quotients(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct dominance dominance;
  struct quotient quotients[MAX_QUOTIENTS];
  uint32_t count = find_quotients(f, quotients);
  if (count == 0) return true;
  if (!flow_dominance(env->flow, f, &dominance)) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      if (!division_is(function_inst(f, i))) continue;
      uint32_t k = 0;
      for (; k < count; k++) {
        struct nvm_block above = function_inst(f, quotients[k].inst)->block;
        if (is_remainder_of(f, function_inst(f, i), &quotients[k]) && above.index != b.index &&
            dominance_dominates(&dominance, above, b))
          break;
      }
      if (k == count) continue;
      if (!use_quotient(f, &quotients[k], i)) return false;
      *changed = true;
      ++*env->statistic;
    }
  return true;
}

enum nvm_status bypass_slow_division_run(struct nvm_function *f, struct pass_env *env,
                                         bool *changed) {
  struct rewrite r;
  if (pass_size_effort(env, f)) return NVM_OK;
  if (!use_remainders(f, env, changed) || !use_quotients(f, env, changed)) return NVM_OUT_OF_MEMORY;
  uint32_t count = f->insts.count, tests = 0;
  if (!rewrite_init(&r, f, env->arena)) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (tests == MAX_TESTS || i.index >= count || rewrite_is_set(&r, i) ||
          !may_be_short(f, function_inst(f, i)))
        continue;
      struct nvm_inst_id other = division_find_other(f, function_inst(f, i));
      struct division v = {.f = f, .first = i, .second = other};
      if (!bypass(&v, &r)) return NVM_OUT_OF_MEMORY;
      *changed = true;
      ++*env->statistic;
      tests++;
      break; /* the rest of the block is the block after the next two */
    }
  rewrite_apply(&r);
  return NVM_OK;
}
