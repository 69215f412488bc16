/* VPlans: the form of a vectorized loop, before the function is changed. A plan is a list of
 * recipes, one for each value and access of the loop's body that is needed, in execution order;
 * conditions are masks, phis of the body are blends. A recipe refers to operands by index; values
 * from outside the loop are recipes too (LIVE_IN). A plan serves all vectorization factors of its
 * range: lanes and accesses are determined when it is executed (execute.c) or priced (vcost.c).
 * After LLVM's VPlan, without regions: a plan has one block, and predicated recipes add blocks of
 * their own. The plan of an outer loop has a range of recipes that are its inner loop (outer.c). */
#ifndef NVM_OPT_VECTORIZE_VPLAN_H
#define NVM_OPT_VECTORIZE_VPLAN_H

#include "ir/function.h"

enum vp_kind {
  VP_NONE,
  VP_LIVE_IN,    /* value: a constant, an argument, or defined before the loop */
  VP_POINTER,    /* an address that advances by `step` bytes per iteration; only lane 0 of part 0
                  * exists */
  VP_INDUCTION,  /* phi `inst` = start + step × iteration: a scalar and its steps */
  VP_REDUCTION,  /* phi `inst`: partial results, one per lane; operands: start, back-edge value */
  VP_RECURRENCE, /* phi `inst`: the previous iteration's value; operands: start, that value */
  VP_SERIAL,     /* phi `inst` of an in-order chain; operands: start, back-edge value */
  VP_PHI,        /* phi `inst` of the inner loop, of each lane; operands: start, back-edge value */
  VP_WIDEN, /* `inst` on all lanes: arithmetic, comparisons, select, casts, freeze, intrinsics */
  VP_REPLICATE, /* `inst` per lane; per part if uniform; under a mask in blocks of its own */
  VP_LOAD,      /* `inst`, member of an access group; mask: lane by lane under the mask */
  VP_STORE,
  VP_BLEND, /* operands: value, then (mask, value)…: the value whose mask is true */
  VP_AND,
  VP_OR,
  VP_NOT, /* of masks */
  VP_KIND_COUNT
};

enum { VP_NO_GROUP = UINT32_MAX };

struct vp_recipe {
  uint8_t kind;     /* enum vp_kind */
  bool uniform;     /* all lanes are equal, computed once */
  bool interleaved; /* LOAD, STORE: its group has other members, or gaps */
  bool narrowed; /* WIDEN: `inst` in the narrower type of its truncation, on operands of that type
                  */
  bool in_chain; /* executed lane by lane, with the chain's last member */
  struct nvm_type type;    /* of one lane; TYPE_VOID: no value */
  struct nvm_inst_id inst; /* the instruction; {0}: none */
  struct nvm_value value;  /* LIVE_IN; POINTER: the address in the source */
  uint32_t mask;           /* recipe; 0: all lanes */
  uint32_t first_operand, operand_count;
  uint32_t group;     /* LOAD, STORE: access group; VP_NO_GROUP: the address is an operand */
  int64_t offset;     /* LOAD, STORE: bytes from the group's pointer to lane 0 */
  int64_t step;       /* POINTER: bytes; INDUCTION: per iteration; LOAD, STORE without a group:
                       * bytes between lanes, 0: each lane has its own address */
  uint32_t align;     /* LOAD, STORE: bytes, of lane 0; 0: that of the instruction */
  uint32_t access;    /* LOAD, STORE, POINTER: index into the legality's accesses */
  uint32_t reduction; /* REDUCTION: index into the legality's reductions */
};

/* Issue slots: count; compare and branch; the branch of an inner loop, whose condition is a recipe.
 */
enum { VP_ADVANCE_SLOTS = 1, VP_LATCH_SLOTS = 2, VP_BRANCH_SLOTS = 1 };

/* The price of a recipe, for all lanes and parts. */
struct vp_cost {
  int64_t slots, computing;    /* issue slots; those of computations */
  uint32_t accesses, pointers; /* memory instructions; advancing pointers */
};

struct vplan {
  VEC(struct vp_recipe) recipes; /* [0]: none */
  VEC(uint32_t) operands;
  uint32_t min_factor, max_factor;  /* vectorization factors, powers of two */
  uint32_t early;                   /* condition of an early exit; 0: none */
  bool early_negated;               /* it exits if the condition is false */
  uint32_t chain_end;               /* the last member of the serial chain; 0: none */
  bool nested;                      /* of an outer loop: each lane by itself */
  uint32_t inner_first, inner_last; /* recipes of its inner loop; 0: none */
  uint32_t inner_condition;         /* of the inner loop's branch */
  uint32_t factor, count; /* a final plan's vectorization factor and interleave count; 0: initial */
  struct vp_cost *costs;  /* of a final plan: by recipe; [0]: loop control */
  struct vp_cost total;   /* their sum, except for those of the inner loop */
  struct vp_cost inner;   /* of an iteration of the inner loop */
  struct arena *arena;
};

/* Creates an empty plan for factors least … most. */
bool vplan_init(struct vplan *p, uint32_t least, uint32_t most, struct arena *arena);
/* `count` steps of a pointer or an induction, modulo 2^64 as their sums are. */
static inline int64_t vplan_steps(int64_t step, uint32_t count) {
  return (int64_t)((uint64_t)step * count);
}
/* Appends a recipe with these operands; 0 when out of memory. */
uint32_t vplan_add(struct vplan *p, struct vp_recipe r, const uint32_t *operands, uint32_t count);
static inline struct vp_recipe *vplan_recipe(const struct vplan *p, uint32_t r) {
  return &p->recipes.data[r];
}
static inline uint32_t vplan_operand(const struct vplan *p, const struct vp_recipe *r, uint32_t k) {
  return p->operands.data[r->first_operand + k];
}
static inline bool vplan_is_access(const struct vp_recipe *r) {
  return r->kind == VP_LOAD || r->kind == VP_STORE;
}
/* The live-in of that value, appended if there is none; 0 when out of memory. */
uint32_t vplan_live_in(struct vplan *p, const struct nvm_function *f, struct nvm_value x);
/* Whether the recipe is one of the inner loop's. */
bool vplan_in_inner_loop(const struct vplan *p, uint32_t n);
/* Whether all users take lanes, so that the recipe's result need not be a vector. */
bool vplan_is_used_by_lane(const struct vplan *p, uint32_t n);
/* Whether the kind is a header phi. */
bool vplan_is_phi(enum vp_kind k);

/* Verifies the plan: operands precede users (except back-edge values), masks are conditions, types
 * agree, what is computed once depends only on such values, one chain, whose values are used after
 * it; in a final plan each recipe has its cost, and the costs add up. NULL if correct, else an
 * error message; *at: the recipe. */
const char *vplan_verify(const struct vplan *p, const struct nvm_function *f, uint32_t *at);
/* Prints the plan in LLVM's format, described in docs/vectorizer.md; of it, the first lines; the
 * recipes of the loop; a recipe as an operand, "ir<%x>" if it has a name, else "vp<%3>"; as a
 * Graphviz graph. */
void vplan_print(const struct vplan *p, const struct nvm_function *f, struct textbuf *out);
void vplan_print_head(const struct vplan *p, const struct nvm_function *f, struct textbuf *out);
void vplan_print_loop(const struct vplan *p, const struct nvm_function *f, struct textbuf *out);
void vplan_print_use(const struct vplan *p, const struct nvm_function *f, uint32_t n,
                     struct textbuf *out);
void vplan_print_dot(const struct vplan *p, const struct nvm_function *f, struct textbuf *out);

#endif
