/* Scalar evolution, its affine part: what an integer or pointer is as a sum, and how it moves with the iterations of loops.
 *
 *   value  =  base  +  constant  +  Σ coefficient × symbol × iteration(loop)          (modulo 2^width)
 *
 * A term's symbol is a value the analysis does not look into (or none: 1), its loop one whose iteration number (0, 1, 2 …)
 * multiplies it (or 0: none); so a stride may be a constant or an invariant value. Add-recurrences {a,+,b}<L> of LLVM are the
 * terms with loop L. A symbol narrower than `width` counts sign- or zero-extended, a wider one truncated; extensions of sums are
 * looked through only where no wrap is proven (nsw/nuw, trip counts, known bits); otherwise the sum is a symbol. Terms are sorted
 * and unique, so equal forms are equal values. A form is what its value is unless that is poison (a sum that wraps against its
 * flags): a computation may be replaced by one of its form, but one value by another of the same form only if that is no more
 * often poison; what scev_expand emits has no flags. */
#ifndef NVM_OPT_ANALYSIS_SCEV_H
#define NVM_OPT_ANALYSIS_SCEV_H

#include "opt/analysis/loops.h"

struct scev_term {
  struct nvm_value symbol; /* none: 1 */
  bool is_signed;          /* how a narrower symbol is extended; false where that is all the same */
  uint32_t loop;           /* 0: not multiplied by an iteration number */
  int64_t coefficient;     /* never 0 */
};

struct scev {
  struct nvm_value base;   /* of a pointer: what the offset in bytes is relative to; none for integers */
  int64_t constant;        /* sign-extended from `width` */
  const struct scev_term *terms;
  uint32_t count;
  uint32_t width;          /* bits, of integers and of offsets; 0: not affine or not an integer or pointer */
  bool no_signed_wrap, no_unsigned_wrap; /* the sum holds in unbounded integers too, its symbols read so */
};

/* How often the latch of a loop is taken: "backedge-taken count"; iterations are one more. */
struct trip_count {
  bool known;         /* the loop ends by its only exiting block and has then gone back `taken` times */
  struct scev taken;  /* valid at the preheader, in the width of the induction variable, unsigned; to be divided by: */
  uint64_t divisor;   /* 1 mostly */
  bool guarded;       /* false: 0 instead if the first test fails, which scev_expand_trip_count sees to */
  bool exact;         /* true even if the loop could leave elsewhere before it would do what is undefined */
  uint64_t most;      /* an upper bound of the count, of any exit from the latch too; UINT64_MAX if none is known */
  enum icmp_predicate predicate; /* the exit's test: the loop goes on while `tested predicate bound`; tested moves by */
  struct nvm_value tested;       /* `step` from `first`. Valid where `known` */
  struct scev first, bound;
  int64_t step;
  uint64_t multiple;  /* iterations (taken + 1) is a multiple of this, unless 2^width wraps to 0; 1 if nothing is known */
};

struct scev_env; /* all that is remembered: one per run of a pass; in an arena */
/* NULL when out of memory. */
struct scev_env *scev_init(const struct nvm_function *f, const struct loops *l, const struct dominance *d, struct arena *arena);
/* The form of v as seen at any place where v is available; remembered. */
struct scev scev_of(struct scev_env *e, struct nvm_value v);
/* a - b; width 0 if their bases or widths differ or it has too many terms. */
struct scev scev_subtract(struct scev_env *e, struct scev a, struct scev b);
/* a in the first iteration of `loop`. */
struct scev scev_at_start(struct scev_env *e, struct scev a, uint32_t loop);
/* a in the last iteration of `loop`; width 0 if its steps or the trip count are not simple enough. */
struct scev scev_at_end(struct scev_env *e, struct scev a, uint32_t loop);
/* Whether both are affine and the same. */
bool scev_equal(struct scev a, struct scev b);
/* A number: affine, no base, no terms. */
bool scev_is_constant(struct scev a);
/* Affine, made of what does not change in `loop`. */
bool scev_is_invariant(struct scev_env *e, struct scev a, uint32_t loop);
/* The step per iteration of `loop` if constant: true and *step (0: invariant). */
bool scev_step(struct scev_env *e, struct scev a, uint32_t loop, int64_t *step);
/* How often `loop` runs; remembered. */
struct trip_count scev_trip_count(struct scev_env *e, uint32_t loop);
/* How often the loop comes to the end of block x, which has an exit and is passed in each iteration, before it leaves
 * there, if it does not leave elsewhere. */
struct trip_count scev_exit_count(struct scev_env *e, uint32_t loop, struct nvm_block x);
/* Emits instructions before `before` that compute a. Of loops whose iteration number it contains, `before` must be inside, and
 * they need an induction variable with step 1 or -1. VALUE_NULL when out of memory or not expressible; then nothing was emitted
 * but what dead-code elimination removes. */
struct nvm_value scev_expand(struct scev_env *e, struct nvm_function *f, struct scev a, struct nvm_inst_id before);
/* `taken`, divided and guarded, as a value of type iWIDTH at `before`; the trip count must be known. */
struct nvm_value scev_expand_trip_count(struct scev_env *e, struct nvm_function *f, uint32_t loop, struct nvm_inst_id before);
/* Whether `a predicate b` (integers) holds whenever block `at` is entered, by the branches that lead there. */
bool scev_holds(struct scev_env *e, struct nvm_block at, enum icmp_predicate predicate, struct scev a, struct scev b);

#endif
