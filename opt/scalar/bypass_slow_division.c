/* bypass-slow-division: 64-bit divisions of numbers that happen to be short are done in 32 bits.
 *
 * Purpose:   no GPU divides integers. For sm_90, ptxas 13.0 makes 72 (unsigned) or 88 instructions
 *            of a 64-bit division and 16 of one of 32 bits. Indices of 64 bits are mostly small.
 * Algorithm: a remainder becomes n - q d where a quotient of the same operands dominates it. Then a
 *            test of the high halves of 64-bit operands, at run time, decides between two blocks;
 *            phis merge their results. A quotient and a remainder of the same operands in one block
 *            share the test.
 *              (n | d) below 2^32 → zext (trunc n udiv trunc d); also of signed numbers, which are
 *              not negative then
 *            Operands of which it is known that they are short are not tested.
 * Requires:  nothing. Runs last: a block becomes four.
 * Preserves: nothing.
 * Cost:      linear.
 * Omits:     constant divisors, which become multiplications; dividends that are known or likely
 *            to be long (hashes); vectors; functions optimized for size.
 * Tests:     check/opt/bypass-slow-division.nvir, exec/divisions.nvir. */
#include "analysis/division.h"
#include "analysis/ranges.h"
#include "ir/build.h"
#include "opt/cfg/cfg.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_QUOTIENTS = 64 };

/* A division and the other result of its operands. */
struct division {
  struct nvm_function *f;
  struct nvm_inst_id first, second; /* second: none if only one is computed */
  struct nvm_value dividend, divisor;
};

/* What one of the two ways computes. */
struct results {
  struct nvm_value quotient, remainder; /* VALUE_NULL: not needed */
};

/* Whether the value is a hash or another number that mixes bits: rarely short. */
static bool is_likely_long(const struct nvm_function *f, struct nvm_value v) {
  const struct nvm_inst *i = value_kind(v) == VALUE_INST ? value_inst(f, v) : NULL;
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

/* The operand, as the test and both ways see it: a number, the same for all of them. */
static struct nvm_value freeze_operand(const struct builder *b, struct nvm_value v) {
  if (value_kind(v) == VALUE_CONST) return v;
  return builder_unary(b, OP_FREEZE, value_type(b->f, v), v);
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

/* Splits the block at the division, and moves it to a block of its own. */
static bool bypass(struct division *v, struct rewrite *r) {
  struct nvm_function *f = v->f;
  struct nvm_inst_id at = v->first;
  struct nvm_block before = function_inst(f, at)->block, parts[3];
  for (int k = 0; k < 3; k++) { /* what is short jumps over the long way, and falls through */
    parts[k] = function_add_block(f, (struct nvm_str){0});
    if (block_is_none(parts[k])) return false;
    function_move_block(f, parts[k], function_block(f, k ? parts[k - 1] : before)->next);
  }
  struct nvm_block slow = parts[0], fast = parts[1], rest = parts[2];
  cfg_move_rest(f, at, rest);
  struct builder test = builder_located(builder_at_end(f, before), at);
  struct builder in_slow = builder_located(builder_at_end(f, slow), at);
  struct builder in_fast = builder_located(builder_at_end(f, fast), at);
  struct builder merge = builder_located(builder_at_start(f, rest), at);
  bool is_signed = division_is_signed(function_inst(f, at));
  v->dividend = freeze_operand(&test, inst_operand_at(f, at, 0));
  v->divisor = freeze_operand(&test, inst_operand_at(f, at, 1));
  builder_condbranch(&test, test_operands(v, &test), fast, slow);
  struct results l = divide(v, &in_slow, is_signed, v->dividend, v->divisor);
  builder_branch(&in_slow, rest);
  struct nvm_value n = builder_unary(&in_fast, OP_TRUNC, TYPE_I32, v->dividend);
  struct nvm_value d = builder_unary(&in_fast, OP_TRUNC, TYPE_I32, v->divisor);
  struct results s = divide(v, &in_fast, false, n, d);
  s.quotient = extend(&in_fast, s.quotient), s.remainder = extend(&in_fast, s.remainder);
  builder_branch(&in_fast, rest);
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

/* Whether both divide the same operands, read in the same way. */
static bool have_same_operands(const struct nvm_function *f, const struct nvm_inst *a,
                               const struct nvm_inst *b) {
  return type_equal(a->type, b->type) && division_is_signed(a) == division_is_signed(b) &&
         value_equal(inst_operand(f, a, 0), inst_operand(f, b, 0)) &&
         value_equal(inst_operand(f, a, 1), inst_operand(f, b, 1));
}

/* n - q d at the remainder, of operands that are the same numbers there as at the quotient. */
static bool use_quotient(struct nvm_function *f, struct nvm_inst_id quotient,
                         struct nvm_inst_id remainder) {
  struct builder above = builder_replacing(f, quotient), here = builder_replacing(f, remainder);
  struct nvm_value n = freeze_operand(&above, inst_operand_at(f, quotient, 0));
  struct nvm_value d = freeze_operand(&above, inst_operand_at(f, quotient, 1));
  struct nvm_value product = builder_binary(&here, OP_MUL, value_of_inst(quotient), d);
  if (value_is_none(product)) return false;
  function_inst(f, quotient)->flags = 0; /* an exact quotient may be poison */
  for (uint32_t k = 0; k < 2; k++) inst_set_operand(f, quotient, k, k ? d : n);
  for (uint32_t k = 0; k < 2; k++) inst_set_operand(f, remainder, k, k ? product : n);
  function_inst(f, remainder)->op = OP_SUB;
  return true;
}

/* Computes remainders from quotients in blocks that dominate theirs. */
static bool use_quotients(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct dominance dominance;
  struct nvm_inst_id quotients[MAX_QUOTIENTS];
  uint32_t count = 0;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      if (count < MAX_QUOTIENTS && division_is_quotient(function_inst(f, i)) &&
          type_is_int(&f->module->types, function_inst(f, i)->type) &&
          value_kind(inst_operand_at(f, i, 1)) != VALUE_CONST)
        quotients[count++] = i;
  if (count == 0) return true;
  if (!flow_dominance(env->flow, f, &dominance)) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i)
      for (uint32_t k = 0; k < count; k++) {
        const struct nvm_inst *r = function_inst(f, i), *q = function_inst(f, quotients[k]);
        if ((r->op != OP_UREM && r->op != OP_SREM) || !have_same_operands(f, r, q) ||
            q->block.index == b.index || !dominance_dominates(&dominance, q->block, b))
          continue;
        if (!use_quotient(f, quotients[k], i)) return false;
        *changed = true;
        ++*env->statistic;
      }
  return true;
}

enum nvm_status bypass_slow_division_run(struct nvm_function *f, struct pass_env *env,
                                         bool *changed) {
  struct rewrite r;
  if (pass_size_effort(env, f)) return NVM_OK;
  if (!use_quotients(f, env, changed)) return NVM_OUT_OF_MEMORY;
  uint32_t count = f->insts.count;
  if (!rewrite_init(&r, f, env->arena)) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      next = function_inst(f, i)->next;
      if (i.index >= count || rewrite_is_set(&r, i) || !may_be_short(f, function_inst(f, i)))
        continue;
      struct nvm_inst_id other = division_find_other(f, function_inst(f, i));
      struct division v = {.f = f, .first = i, .second = other};
      if (!bypass(&v, &r)) return NVM_OUT_OF_MEMORY;
      *changed = true;
      ++*env->statistic;
      break; /* the rest of the block is the block after the next two */
    }
  rewrite_apply(&r);
  return NVM_OK;
}
