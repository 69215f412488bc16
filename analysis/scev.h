/* Scalar evolution, its affine part: what an integer or pointer is as a sum, and how it moves with
 * the iterations of loops.
 *
 *   value  =  base  +  constant  +  Σ coefficient × symbol × iteration(loop)          (modulo
 * 2^width)
 *
 * A term's symbol is a value the analysis does not look into (or none: 1), its loop one whose
 * iteration number (0, 1, 2 …) multiplies it (or 0: none); so a stride may be a constant or an
 * invariant value. Add-recurrences {a,+,b}<L> of LLVM are the terms with loop L. A symbol narrower
 * than `width` counts sign- or zero-extended, a wider one truncated; extensions of sums are looked
 * through only where no wrap is proven (nsw/nuw, trip counts, known bits); otherwise the sum is a
 * symbol. Terms are sorted and unique, so equal forms are equal values. A form is what its value is
 * unless that is poison (a sum that wraps against its flags): a computation may be replaced by one
 * of its form, but one value by another of the same form only if that is no more often poison; what
 * scev_expand emits has no flags. */
#ifndef NVM_OPT_ANALYSIS_SCEV_H
#define NVM_OPT_ANALYSIS_SCEV_H

#include "analysis/loops.h"

struct scev_term {
  struct nvm_value symbol; /* none: 1 */
  bool is_signed;          /* how a narrower symbol is extended; false where that is all the same */
  uint32_t loop;           /* 0: not multiplied by an iteration number */
  int64_t coefficient;     /* never 0 */
};

struct scev {
  struct nvm_value
      base;         /* of a pointer: what the offset in bytes is relative to; none for integers */
  int64_t constant; /* sign-extended from `width` */
  const struct scev_term *terms;
  uint32_t count;
  uint32_t width; /* bits, of integers and of offsets; 0: not affine or not an integer or pointer */
  bool no_signed_wrap,
      no_unsigned_wrap; /* the sum holds in unbounded integers too, its symbols read so */
};

/* How often the latch of a loop is taken: "backedge-taken count"; iterations are one more.
 *
 * The loop goes back while `tested predicate bound`, and `tested` moves by `step` from `first`:
 * these five say what the exit tests and are valid where `taken` is. C stands for taken / divisor,
 * or 0 if `guarded` is false and the first test fails. known           the loop has no other exit
 * and goes back C times, unless it does what is undefined before exact           whatever other
 * exits there are: the tests 0 … C - 1 stay, and C leaves unless `tested` is poison there neither
 * the tests 0 … C - 1 stay, and more of them may, so that there must be other exits most an upper
 * bound of the back edges taken, known or not; UINT64_MAX: none is known. It is the count itself
 *                   only where trip_count_is_number() says so: else the loop may leave earlier, so
 * that each copy of it tests multiple        divides the iterations, C + 1, where guarded, and
 * known or exact; 1 if nothing is known A count that is a number has divisor 1. */
struct trip_count {
  bool known, guarded, exact;
  struct scev taken; /* valid at the preheader, in the width of the induction variable, unsigned;
                        width 0: no count */
  uint64_t divisor;  /* never 0 */
  uint64_t most;
  enum icmp_predicate predicate;
  struct nvm_value tested;
  struct scev first, bound;
  int64_t step;
  uint64_t multiple; /* never 0 */
};

struct scev_env; /* all that is remembered: one per run of a pass; in an arena */
/* NULL when out of memory. */
struct scev_env *scev_init(const struct nvm_function *f, const struct loops *l,
                           const struct dominance *d, struct arena *arena);
/* The form of v as seen at any place where v is available; remembered. */
struct scev scev_of(struct scev_env *e, struct nvm_value v);
/* a - b; width 0 if their bases or widths differ or it has too many terms. */
struct scev scev_subtract(struct scev_env *e, struct scev a, struct scev b);
/* a in the first iteration of `loop`. */
struct scev scev_at_start(struct scev_env *e, struct scev a, uint32_t loop);
/* a in the last iteration of `loop`; width 0 if its steps or the trip count are not simple enough.
 */
struct scev scev_at_end(struct scev_env *e, struct scev a, uint32_t loop);
/* Whether both are affine and the same. */
bool scev_equal(struct scev a, struct scev b);
/* A number: affine, no base, no terms. */
bool scev_is_constant(struct scev a);
/* Affine, made of what does not change in `loop`. */
bool scev_is_invariant(struct scev_env *e, struct scev a, uint32_t loop);
/* The step per iteration of `loop` if constant: true and *step (0: invariant). */
bool scev_step(struct scev_env *e, struct scev a, uint32_t loop, int64_t *step);
/* Whether C is a number, *taken, and to be relied upon: the back edges taken, where the loop has no
 * other exit. */
bool trip_count_is_number(const struct trip_count *c, uint64_t *taken);
/* How often `loop` runs; remembered. */
struct trip_count scev_trip_count(struct scev_env *e, uint32_t loop);
/* How often the test at the end of block x, which has an exit and is passed in each iteration,
 * stays before it leaves. */
struct trip_count scev_exit_count(struct scev_env *e, uint32_t loop, struct nvm_block x);
/* Emits instructions before `before` that compute a. Of loops whose iteration number it contains,
 * `before` must be inside, and they need an induction variable with step 1 or -1. VALUE_NULL when
 * out of memory or not expressible; then nothing was emitted but what dead-code elimination
 * removes. */
struct nvm_value scev_expand(struct scev_env *e, struct nvm_function *f, struct scev a,
                             struct nvm_inst_id before);
/* `taken`, divided and guarded, as a value of type iWIDTH at `before`; the trip count must be
 * known. */
struct nvm_value scev_expand_trip_count(struct scev_env *e, struct nvm_function *f, uint32_t loop,
                                        struct nvm_inst_id before);
/* Whether `a predicate b` (integers) holds whenever block `at` is entered, by the branches that
 * lead there. */
bool scev_holds(struct scev_env *e, struct nvm_block at, enum icmp_predicate predicate,
                struct scev a, struct scev b);

#endif
