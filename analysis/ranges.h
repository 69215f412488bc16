/* Ranges of integers: the least and the largest number a value can be, read unsigned and read
 * signed.
 *
 * Nothing is stored here: who asks keeps what is known of each value (opt/scalar/correlated.c by a
 * walk over the dominator tree) and has results computed from it. A range speaks of values that are
 * not poison. */
#ifndef NVM_OPT_ANALYSIS_RANGES_H
#define NVM_OPT_ANALYSIS_RANGES_H

#include "ir/function.h"
#include "analysis/known_bits.h"

/* Both pairs hold at once; empty (no value at all: the place is not reached) if low > high or least
 * > most. */
struct range {
  uint32_t width;      /* 1..64; 0: not an integer of at most 64 bits, nothing is known */
  uint64_t low, high;  /* unsigned */
  int64_t least, most; /* signed */
};

/* Every number of `width` bits; the numbers low … high read unsigned, or read signed. */
struct range range_all(uint32_t width);
struct range range_unsigned(uint32_t width, uint64_t low, uint64_t high);
struct range range_signed(uint32_t width, int64_t least, int64_t most);
static inline bool range_is_empty(struct range r) { return r.low > r.high || r.least > r.most; }
static inline bool range_equal(struct range a, struct range b) {
  return a.width == b.width && a.low == b.low && a.high == b.high && a.least == b.least &&
         a.most == b.most;
}
/* What is in both; what is in one of them or between them. */
struct range range_both(struct range a, struct range b);
struct range range_either(struct range a, struct range b);

/* The numbers x for which some y of b has `x predicate y`. */
struct range range_where(enum icmp_predicate predicate, struct range b);
/* What `a predicate b` is: 1 or 0 if always the same, else -1. */
int range_compare(enum icmp_predicate predicate, struct range a, struct range b);

/* Wrap flags (INST_NUW, INST_NSW) that add, sub, mul and shl of such numbers can carry. */
uint16_t range_no_wrap(enum op op, struct range a, struct range b);
/* What `op` with these flags makes of such numbers. */
struct range range_binary(enum op op, uint16_t flags, struct range a, struct range b);
/* The range of an instruction's result, scalar integers only, where those of its operands are what
 * `of` says. */
typedef struct range range_of_operand(void *state, struct nvm_value v);
struct range range_of_inst(const struct nvm_function *f, const struct nvm_inst *i,
                           range_of_operand *of, void *state);
/* Of a constant; of anything else what its type and width allow. */
struct range range_of_value(const struct nvm_function *f, struct nvm_value v);
/* What the bits allow. */
struct range range_of_bits(struct known_bits k);
/* What v's operation and the known bits of its operands say, wherever it is available. */
struct range range_of(const struct nvm_function *f, struct nvm_value v);

#endif
