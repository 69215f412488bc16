/* Value ranges: the smallest and largest values of an integer, unsigned and signed.
 *
 * Nothing is stored: callers keep the ranges of values (opt/scalar/correlated.c in a walk over the
 * dominator tree) and compute results from them. Ranges do not include poison. */
#ifndef NVM_ANALYSIS_RANGES_H
#define NVM_ANALYSIS_RANGES_H

#include "ir/function.h"
#include "analysis/known_bits.h"

/* Both pairs hold. Empty, the range of unreachable code, if low > high or least > most. */
struct range {
  uint32_t width;      /* 1..64; 0: not an integer of at most 64 bits, nothing is known */
  uint64_t low, high;  /* unsigned */
  int64_t least, most; /* signed */
};

/* All numbers of `width` bits; unsigned low … high; signed least … most. */
struct range range_all(uint32_t width);
struct range range_unsigned(uint32_t width, uint64_t low, uint64_t high);
struct range range_signed(uint32_t width, int64_t least, int64_t most);
static inline bool range_is_empty(struct range r) { return r.low > r.high || r.least > r.most; }
static inline bool range_equal(struct range a, struct range b) {
  return a.width == b.width && a.low == b.low && a.high == b.high && a.least == b.least &&
         a.most == b.most;
}
/* The intersection; the smallest range that includes both. */
struct range range_both(struct range a, struct range b);
struct range range_either(struct range a, struct range b);

/* The numbers x for which some y of b has `x predicate y`. */
struct range range_where(enum icmp_predicate predicate, struct range b);
/* `a predicate b`: 1 or 0 if known, else -1. */
int range_compare(enum icmp_predicate predicate, struct range a, struct range b);

/* Whether signed numbers a, b and a / b fit in `width` bits; the least number by -1 does not. */
bool range_divides_in(uint32_t width, struct range a, struct range b);
/* The flags (INST_NUW, INST_NSW) that add, sub, mul or shl of such numbers can have. */
uint16_t range_no_wrap(enum op op, struct range a, struct range b);
/* The range of `op` with these flags on such numbers. */
struct range range_binary(enum op op, uint16_t flags, struct range a, struct range b);
/* The range of an instruction's result (scalar integers) from the ranges `of` its operands. */
typedef struct range range_of_operand(void *state, struct nvm_value v);
struct range range_of_inst(const struct nvm_function *f, const struct nvm_inst *i,
                           range_of_operand *of, void *state);
/* The range of a constant; of other values all numbers of their type. */
struct range range_of_value(const struct nvm_function *f, struct nvm_value v);
/* The range that known bits allow. */
struct range range_of_bits(struct known_bits k);
/* The range of v from its operation and the known bits of its operands; holds everywhere. */
struct range range_of(const struct nvm_function *f, struct nvm_value v);

#endif
