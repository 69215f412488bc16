/* VPlans: how a loop will look when it works on several iterations at a time, before anything is
 * changed.
 *
 * A plan is a list of recipes, one for each value and access of the loop's body that is still
 * needed, in the order in which they will be carried out; conditions have become masks, phis of the
 * body blends. A recipe names its operands by index; what comes from outside the loop is a recipe
 * too (LIVE_IN). The same plan serves every vectorization factor of its range: what differs (how
 * many lanes, which accesses) is decided when it is carried out (execute.c) or priced (cost.c).
 * After LLVM's VPlan, without its regions: a plan has one block, which is repeated, and the blocks
 * that predicated recipes bring along. */
#ifndef NVM_OPT_VECTORIZE_VPLAN_H
#define NVM_OPT_VECTORIZE_VPLAN_H

#include "ir/function.h"

enum vp_kind {
  VP_NONE,
  VP_LIVE_IN, /* value: a constant, an argument, or made before the loop */
  VP_POINTER, /* an address that moves by `step` bytes an iteration; only lane 0 of part 0 exists */
  VP_INDUCTION,  /* phi `inst` = start + step × iteration: a scalar and its steps */
  VP_REDUCTION,  /* phi `inst`: partial results, a lane each; operands: start, what comes back */
  VP_RECURRENCE, /* phi `inst`: operands: start, the value of which it is the last iteration's */
  VP_SERIAL,     /* phi `inst` of a chain that stays in order: operands: start, what comes back */
  VP_WIDEN, /* `inst` on all lanes: arithmetic, comparisons, select, casts, freeze, intrinsics */
  VP_REPLICATE, /* `inst` once a lane; once a part if uniform; under a mask in blocks of its own */
  VP_LOAD,      /* `inst`, member of an access group; mask: lane by lane under the mask */
  VP_STORE,
  VP_BLEND, /* operands: value, then (mask, value)...: the value whose mask is true */
  VP_AND,
  VP_OR,
  VP_NOT, /* of masks */
  VP_KIND_COUNT
};

enum { VP_NO_GROUP = UINT32_MAX };

struct vp_recipe {
  uint8_t kind;     /* enum vp_kind */
  bool uniform;     /* all lanes are equal: computed once */
  bool interleaved; /* LOAD, STORE: its group has other members, or gaps */
  bool narrowed; /* WIDEN: `inst` in the narrower type that its result is cut to, on values of that
                    type */
  bool in_chain; /* carried out lane after lane, with the chain's last member */
  struct nvm_type type;    /* of one lane; TYPE_VOID: none */
  struct nvm_inst_id inst; /* what it stands for; {0}: nothing */
  struct nvm_value value;  /* LIVE_IN */
  uint32_t mask;           /* recipe, 0: none */
  uint32_t first_operand, operand_count;
  uint32_t group;     /* LOAD, STORE: access group, VP_NO_GROUP: address is an operand */
  int64_t offset;     /* LOAD, STORE: bytes from the group's pointer to lane 0 */
  int64_t step;       /* POINTER: bytes; INDUCTION: per iteration */
  uint32_t access;    /* LOAD, STORE, POINTER: index into the legality's accesses */
  uint32_t reduction; /* REDUCTION: index into the legality's reductions */
};

struct vplan {
  VEC(struct vp_recipe) recipes; /* [0]: none */
  VEC(uint32_t) operands;
  uint32_t least_factor, most_factor; /* the range of vectorization factors, powers of two */
  uint32_t early; /* the condition on which a lane leaves the loop before its end, 0: none does */
  bool early_negated;   /* it leaves where the condition is false */
  uint32_t chain_end;   /* the last member of the serial chain, 0: none */
  struct nvm_text name; /* "Initial VPlan" … */
  struct arena *arena;
};

/* An empty plan for factors least … most. */
bool vplan_init(struct vplan *p, uint32_t least, uint32_t most, struct arena *arena);
/* Appends a recipe with these operands; 0 when out of memory. */
uint32_t vplan_add(struct vplan *p, struct vp_recipe r, const uint32_t *operands, uint32_t count);
static inline struct vp_recipe *vplan_recipe(const struct vplan *p, uint32_t r) {
  return &p->recipes.data[r];
}
static inline uint32_t vplan_operand(const struct vplan *p, const struct vp_recipe *r, uint32_t k) {
  return p->operands.data[r->first_operand + k];
}
/* Whether the kind stands at the head of the loop and carries a value around. */
bool vplan_is_phi(enum vp_kind k);

/* Checks the plan's shape: operands before users (but what phis get back), masks are masks, types
 * agree, one chain. NULL if all is well, else what is wrong; *at the recipe. */
const char *vplan_verify(const struct vplan *p, const struct nvm_function *f, uint32_t *at);
/* The plan as text, in LLVM's manner, and as a Graphviz graph. */
void vplan_print(const struct vplan *p, const struct nvm_function *f, struct textbuf *out);
void vplan_print_dot(const struct vplan *p, const struct nvm_function *f, struct textbuf *out);

#endif
