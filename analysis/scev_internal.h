/* Shared by scev.c, scev_expand.c, scev_ranges.c and trip_count.c. */
#ifndef NVM_ANALYSIS_SCEV_INTERNAL_H
#define NVM_ANALYSIS_SCEV_INTERNAL_H

#include "analysis/ranges.h"
#include "analysis/scev.h"
#include "ir/evalint.h"

/* Modulo 2^width; the exact value, sign- or zero-extended to 64 bits. */
enum scev_mode { SCEV_PLAIN, SCEV_SIGNED, SCEV_UNSIGNED, SCEV_MODES };

struct scev_request {
  struct nvm_value value;
  enum scev_mode mode;
};

struct remembered_count {
  bool known;
  struct trip_count count;
};

struct scev_env {
  const struct nvm_function *f;
  const struct loops *loops;
  const struct dominance *dominance;
  struct arena *arena;
  uint32_t
      *memo[SCEV_MODES];  /* by instruction: index into forms; 0: none, UINT32_MAX: in progress */
  VEC(struct scev) forms; /* [0]: dummy */
  VEC(struct scev_request) stack;
  bool splits_products;            /* as scev_split_products() says */
  bool missing;                    /* a form that the current one needs was pushed */
  uint8_t *nonnegative;            /* by instruction: 0 not computed yet, 1 yes, 2 unknown */
  struct remembered_count *counts; /* by loop */
  uint32_t size;                   /* instructions added later are symbols */
};

/* A phi of a header to which each iteration adds invariants. */
enum { RECURRENCE_CHAIN = 8 };
struct recurrence {
  uint32_t loop;
  struct nvm_value start, next;
  struct nvm_inst_id steps[RECURRENCE_CHAIN]; /* add, sub, getelementptr; the last computed first */
  uint8_t through[RECURRENCE_CHAIN];          /* the operand that depends on the phi */
  uint32_t count;
  uint16_t flags; /* INST_NSW, INST_NUW where all steps have it (or inbounds) */
};
bool scev_recurrence(const struct scev_env *e, struct nvm_value v, struct recurrence *r);

/* The form of v in that mode. */
struct scev scev_form(struct scev_env *e, struct nvm_value v, enum scev_mode mode);
/* Whether the loop's exit conditions keep the recurrence of phi v with this step from wrapping,
 * signed or unsigned, in every executed iteration. Computes no forms. */
bool scev_no_wrap(const struct scev_env *e, struct nvm_value v, const struct recurrence *r,
                  int64_t step, bool is_signed);

/* The smallest or largest number of a range. */
static inline nvm_i128 scev_range_end(struct range r, bool is_signed, bool largest) {
  if (is_signed) return largest ? r.most : r.least;
  return largest ? r.high : r.low;
}
static inline struct range scev_number_range(uint32_t width, int64_t v) {
  uint64_t bits = evalint_zext(width, (uint64_t)v);
  return range_unsigned(width, bits, bits);
}
/* x + by, as the intersection of adding `by` and subtracting its negative. */
struct range scev_range_plus(struct range x, int64_t by);
/* The range of a form from the ranges of its symbols: modulo 2^width and, where it does not wrap,
 * in unbounded numbers. */
struct range scev_range(const struct scev_env *e, struct scev a);
/* The low bits that are 0 in every value of the form, less than its width. */
uint32_t scev_trailing_zeros(const struct scev_env *e, struct scev a);

#endif
