/* Affine scalar evolution: integers and pointers as sums over symbols and loop iterations.
 *
 *   value = base + constant + Σ coefficient × symbol × factor × iteration(loop)   (modulo 2^width)
 *
 * Example: in `for (i = 0; i < n; i++) a[k * i + 2]`, with 4-byte elements, the address is
 * a + 8 + 4 × k × iteration(loop).
 *
 * - The symbol of a term is a value that is not analyzed further, or none (1). A symbol narrower
 * than `width` is sign- or zero-extended, a wider one truncated.
 * - The factor is a second symbol, or none (1), only after scev_split_products(); otherwise a
 *   product of two symbols is a symbol.
 * - The loop of a term multiplies it by the loop's iteration number (0, 1, 2 …); loop 0: not. So
 *   strides are constant or invariant. LLVM's add-recurrence {a,+,b}<L> is a sum with terms of L.
 * - Extensions of a sum are distributed over it only if it provably does not wrap (nsw/nuw, trip
 *   counts, known bits). Otherwise the extended sum is a symbol.
 * - Terms are sorted and unique, so equal forms are equal values.
 *
 * A form equals its value unless the value is poison (a sum that wraps against its flags). So a
 * computation may be replaced by one of its form (scev_expand emits no flags), but a value by
 * another one with the same form only if that is not poison more often. */
#ifndef NVM_ANALYSIS_SCEV_H
#define NVM_ANALYSIS_SCEV_H

#include "analysis/loops.h"

struct scev_term {
  struct nvm_value symbol; /* none: 1 */
  struct nvm_value factor; /* none: 1; else not before the symbol in the order of handles */
  bool is_signed;          /* how a narrower symbol is extended; false for other symbols */
  bool factor_signed;
  uint32_t loop;       /* 0: not multiplied by an iteration number */
  int64_t coefficient; /* never 0 */
};

struct scev {
  struct nvm_value base; /* of a pointer: the rest is an offset in bytes; none for integers */
  int64_t constant;      /* sign-extended from `width` */
  const struct scev_term *terms;
  uint32_t count;
  uint32_t width; /* bits, of integers and of offsets; 0: not affine or not an integer or pointer */
  bool no_signed_wrap, no_unsigned_wrap; /* holds in unbounded integers too, symbols read so */
};

/* How often the back edge of a loop is taken ("backedge-taken count"); iterations are one more.
 *
 * The exit test stays in the loop while `tested predicate bound` holds; `tested` is `first` in the
 * first iteration and changes by `step`. These five are valid if `taken` is. Let C be
 * taken / divisor, or 0 if `guarded` is false and the first test fails.
 *
 * - known: the loop has no other exit and takes the back edge C times, unless its behaviour is
 *   undefined earlier
 * - exact: the tests 0 … C - 1 stay, and test C leaves unless `tested` is poison there; the loop
 * may have other exits
 * - neither: the tests 0 … C - 1 stay, and later ones may, so the loop must have other exits
 * - most: an upper bound of the back edges taken; UINT64_MAX if unknown. The loop may leave earlier
 *   unless trip_count_is_number()
 * - multiple: if guarded, and known or exact, divides the iterations C + 1; 1 if nothing is known
 *
 * A constant count has divisor 1. */
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

struct scev_env; /* the cached forms and counts of one run of a pass */
/* NULL when out of memory. */
struct scev_env *scev_init(const struct nvm_function *f, const struct loops *l,
                           const struct dominance *d, struct arena *arena);
/* Forms computed from now on have products of two symbols: (i + 1) * n is n + i * n, which can be
 * compared with i * n. For users that compare forms and need no trip counts. */
void scev_split_products(struct scev_env *e);
/* The form of v, valid wherever v is available; cached. */
struct scev scev_of(struct scev_env *e, struct nvm_value v);
/* a - b; width 0 if their bases or widths differ or it has too many terms. */
struct scev scev_subtract(struct scev_env *e, struct scev a, struct scev b);
/* a + constant. */
struct scev scev_plus(struct scev a, int64_t constant);
/* a in the first iteration of `loop`. */
struct scev scev_at_start(struct scev_env *e, struct scev a, uint32_t loop);
/* a in the last iteration of `loop`; width 0 if its steps or the trip count are not simple enough.
 */
struct scev scev_at_end(struct scev_env *e, struct scev a, uint32_t loop);
/* Whether both are affine and the same. */
bool scev_equal(struct scev a, struct scev b);
/* Whether a is a constant: affine without base and terms. */
bool scev_is_constant(struct scev a);
/* Whether a is affine and does not change in `loop`. */
bool scev_is_invariant(struct scev_env *e, struct scev a, uint32_t loop);
/* The step per iteration of `loop` (0: invariant); false if not constant. */
bool scev_step(struct scev_env *e, struct scev a, uint32_t loop, int64_t *step);
/* Whether C is a constant, *taken, and certain: the back edges taken if there is no other exit. */
bool trip_count_is_number(const struct trip_count *c, uint64_t *taken);
/* The trip count of `loop`; cached. */
struct trip_count scev_trip_count(struct scev_env *e, uint32_t loop);
/* The same for the test at the end of block x, which leaves the loop and dominates its latch. */
struct trip_count scev_exit_count(struct scev_env *e, uint32_t loop, struct nvm_block x);
/* Whether `loop` must terminate: it is mustprogress and has no effect that counts as progress. */
bool trip_count_must_end(const struct scev_env *e, uint32_t loop);
/* Emits instructions before `before` that compute a. `before` must be inside the loops of its
 * terms, which need an induction variable with step 1 or -1. VALUE_NULL when out of memory or not
 * expressible; what was emitted until then is dead. */
struct nvm_value scev_expand(struct scev_env *e, struct nvm_function *f, struct scev a,
                             struct nvm_inst_id before);
/* C of a known trip count as a value of type iWIDTH at `before`. */
struct nvm_value scev_expand_trip_count(struct scev_env *e, struct nvm_function *f, uint32_t loop,
                                        struct nvm_inst_id before);
/* Whether `a predicate b` holds whenever block `at` is entered, by the branches that dominate it.
 */
bool scev_holds(struct scev_env *e, struct nvm_block at, enum icmp_predicate predicate,
                struct scev a, struct scev b);
/* Whether `a predicate b` holds in every iteration of `loop` in which neither is poison, for an a
 * that changes by a constant and an invariant b: it holds in the first iteration, and a moves away
 * from b without wrapping, or the branches to the back edge imply it for the next one.
 * starts_exactly: the first value of a has not wrapped, as that of an integer phi. */
bool scev_holds_always(struct scev_env *e, uint32_t loop, enum icmp_predicate predicate,
                       struct scev a, bool starts_exactly, struct scev b);

#endif
