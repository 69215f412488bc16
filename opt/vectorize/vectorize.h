/* What the parts of the loop vectorizer share: the loop's facts (legality), the choice (cost), the
 * building and carrying out of plans. The pass itself, with its eight phases, is loop_vectorize.c.
 */
#ifndef NVM_OPT_VECTORIZE_VECTORIZE_H
#define NVM_OPT_VECTORIZE_VECTORIZE_H

#include "analysis/alias.h"
#include "analysis/scev.h"
#include "opt/pass.h"
#include "analysis/uses.h"
#include "opt/vectorize/vplan.h"
#include "target/cost.h"

enum {
  VECTORIZE_MOST_LANES = 64,
  MOST_FACTOR = 32
}; /* factor × interleave count; 32 bytes are one access */

/* A load or store of the loop. */
struct vector_access {
  struct nvm_inst_id inst;
  bool is_store, conditional;
  bool affine;           /* address = start + step × iteration; else it is computed lane by lane */
  int64_t step;          /* bytes */
  uint32_t bytes;        /* of one element */
  struct nvm_type type;  /* of one element */
  uint32_t space, align; /* align in bytes, of every element */
  struct scev address;
  uint32_t order; /* position in the linear body */
  uint32_t group; /* VP_NO_GROUP: alone */
  int64_t offset; /* bytes from the group's address */
};

/* Accesses of one kind that differ by constants: a run of consecutive elements, a struct's members.
 */
struct access_group {
  struct scev address;  /* of offset 0 in iteration 0: may contain the loop's iteration number */
  uint32_t first, last; /* accesses, in the order of the body */
  uint32_t count;
  int64_t step, low, high; /* bytes: members lie in [low, high) of an iteration */
  uint32_t bytes, space;
  struct nvm_type type;
  bool is_store, aligned_elements; /* every element at a multiple of its size */
  bool crosses;   /* members passed accesses that move alike, and perhaps touch the same bytes */
  bool wide;      /* some access of it can be wider than an element */
  bool asked;     /* whether it is aligned when the ruling group is, is only known at run time */
  int64_t anchor; /* offset that a wide access may begin at, once aligned */
  uint32_t known_align; /* of address + anchor in iteration 0 */
};

/* Two places that may overlap, to be told apart at run time. `near`: both move alike, and the
 * distance decides; else their whole ranges must not meet. */
struct overlap_check {
  uint32_t earlier, later;                                  /* accesses standing for their groups */
  int64_t earlier_low, earlier_high, later_low, later_high; /* bytes covered in an iteration */
  bool near, same_iteration;                                /* near: not in one iteration either */
};

enum reduction_kind {
  REDUCE_NONE,
  REDUCE_ADD,
  REDUCE_MUL,
  REDUCE_AND,
  REDUCE_OR,
  REDUCE_XOR,
  REDUCE_SMIN,
  REDUCE_SMAX,
  REDUCE_UMIN,
  REDUCE_UMAX,
  REDUCE_FADD,
  REDUCE_FMUL,
  REDUCE_FMIN,
  REDUCE_FMAX,
  REDUCE_COUNT
};

/* What a phi of the header is. */
enum phi_kind { PHI_INDUCTION, PHI_REDUCTION, PHI_RECURRENCE, PHI_SERIAL };
struct header_phi {
  struct nvm_inst_id inst;
  enum phi_kind kind;
  struct nvm_value start, back;
  int64_t step; /* INDUCTION: integers, or bytes */
  enum reduction_kind reduction;
  struct nvm_inst_id
      combine;    /* REDUCTION: min and max by intrinsic or select: the operation to imitate */
  uint16_t flags; /* REDUCTION: fast-math flags that all links have */
  bool needed;    /* its value is used for more than addresses and itself */
};

/* Why a loop is left as it is: LLVM's tags and cicc's messages (seed 3). */
enum vector_refusal {
  VECTOR_OK,
#define REFUSAL(ID, tag, message) VECTOR_##ID,
#include "opt/vectorize/diagnostics.def"
#undef REFUSAL
  VECTOR_REFUSAL_COUNT
};
extern const char *const vector_refusal_tags[VECTOR_REFUSAL_COUNT];
extern const char *const vector_refusal_messages[VECTOR_REFUSAL_COUNT];

enum vector_force { FORCE_UNDEFINED, FORCE_DISABLED, FORCE_ENABLED };
struct vector_hints {
  enum vector_force force, predicate;
  int64_t width, interleave; /* 0: not said */
  bool scalable, is_vectorized;
};

/* One loop on its way through the phases. */
struct vector_loop {
  struct nvm_function *f;
  struct pass_env *env;
  const struct loops *loops;
  struct dominance *dominance;
  struct scev_env *scev;
  struct alias_env *alias;
  struct uses uses;
  uint32_t index; /* of the loop */
  const struct loop *loop;
  struct vector_hints hints;
  struct trip_count trips;
  uint64_t exact_trips; /* iterations if constant, else 0 */
  struct nvm_block
      early; /* leaves the loop on a condition that cannot be counted; none: the latch alone does */

  /* Legality. */
  struct nvm_inst_id *body; /* the loop's instructions in linear order */
  uint32_t body_count;
  uint32_t *position; /* by instruction: 1 + index into body, 0: outside */
  bool *needed;       /* by instruction: some recipe has to compute it */
  bool *chained;      /* by instruction: a member of a serial chain */
  bool *reduced; /* by instruction: a link of a reduction; its order changes, so does where it wraps
                  */
  VEC(struct header_phi) phis;
  VEC(struct vector_access) accesses;
  VEC(struct access_group) groups;
  VEC(struct overlap_check) checks;
  uint32_t *access_of;  /* by instruction: 1 + access, 0: none */
  uint64_t most_lanes;  /* that dependences allow: factor × interleave count */
  bool scalar_epilogue; /* the last iteration must be the old loop's: some value of it is used after
                         */
  bool declares_scopes; /* for !noalias: they hold within one iteration */
  bool histogram;       /* updates memory at computed addresses */
  struct nvm_inst_id culprit; /* what refused */

  /* The choice. */
  uint32_t factor, interleave, epilogue_factor;
  bool interleave_refused; /* the user wants 1, the cost model more */
  bool own_remainder;      /* the last iterations are a stage of their own, not the old loop's */
  uint32_t predicated; /* those last iterations stand in a row, each under a condition; 0: they are
                          a loop */
  bool peel;           /* iterations until peel_group's accesses are aligned */
  bool peel_in_row;    /* they stand in a row too */
  uint32_t peel_group, peel_most; /* iterations at most */
  uint64_t least_iterations;      /* fewer are left to the old loop */
  bool against;    /* such a group walks against that one: most numbers of iterations leave it
                      unaligned */
  bool twofold;    /* vectors for groups aligned like that one, and for others */
  bool unlike;     /* now those for others: groups whose alignment is asked go element by element */
  uint32_t widest; /* bytes of the widest access */
};

/* The instruction's record and operand, and a knob's value, with less noise. */
static inline const struct nvm_inst *vl_inst(const struct vector_loop *v, struct nvm_inst_id i) {
  return &v->f->insts.data[i.index];
}
static inline int32_t vl_knob(const struct vector_loop *v, enum knob k) {
  return v->env->knobs->value[k];
}
static inline bool vl_inside(const struct vector_loop *v, struct nvm_value x) {
  return value_kind(x) == VALUE_INST && v->position[value_index(x)] != 0;
}
static inline const struct type_table *vl_types(const struct vector_loop *v) {
  return &v->f->module->types;
}

/* --- legality.c, reductions.c, accesses.c -------------------------------------------------------
 */

/* Phase 1: the loop's shape, then everything in it. On success the legality part of v is filled;
 * its tables lie in the environment's arena. NVM_OUT_OF_MEMORY in *status. */
enum vector_refusal legality_check_shape(struct vector_loop *v);
enum vector_refusal legality_check(struct vector_loop *v, enum nvm_status *status);
/* A part of it: lists the body in linear order and looks at each instruction. *ok: false when out
 * of memory. */
enum vector_refusal legality_collect_body(struct vector_loop *v, bool *ok);
/* What a phi of the header is that is no induction. False: nothing that we know. */
bool reduction_recognize(struct vector_loop *v, struct header_phi *p);
/* The chain of a phi that must stay in order: marks its members. False if they are more than plain
 * arithmetic. */
bool serial_recognize(struct vector_loop *v, struct header_phi *p);
/* Accesses, their groups, and what must be checked at run time. */
enum vector_refusal accesses_analyze(struct vector_loop *v, enum nvm_status *status);
/* Parts of it: the access that is instruction `at` of the body joins v->accesses (false when out of
 * memory); whether types of its size travel in vectors; whether two objects are different ones;
 * whether the base is a kernel's byval parameter, which is read in place; the alignment, up to 32,
 * that address + offset is known to have in iteration 0. */
bool accesses_add(struct vector_loop *v, uint32_t at);
bool accesses_is_element(const struct vector_loop *v, const struct vector_access *a);
bool accesses_never_meet(const struct vector_loop *v, const struct vector_access *a,
                         const struct vector_access *b);
bool accesses_in_parameter(const struct vector_loop *v, struct nvm_value base);
uint32_t accesses_known_align(const struct vector_loop *v, struct scev address, int64_t offset);
/* Whether everything accessed may be accessed in all iterations that the latch counts, though the
 * loop be left before: loads of memory known to be there. */
bool accesses_may_run_ahead(const struct vector_loop *v);
/* After the choice: where wide accesses begin, and how wide (bytes) those of the group can be for
 * that many lanes at a time. */
uint32_t accesses_width(const struct vector_loop *v, const struct access_group *g, uint32_t lanes);

/* One access that carrying out a group makes. */
struct access_piece {
  int64_t offset;
  uint32_t elements;
};
enum { MOST_PIECES = 4 * VECTORIZE_MOST_LANES };
/* The accesses of a group for `lanes` iterations, `width` bytes at most; their number. */
uint32_t accesses_pieces(const struct vector_loop *v, uint32_t group, uint32_t lanes,
                         uint32_t width, struct access_piece pieces[MOST_PIECES]);

/* --- build.c ------------------------------------------------------------------------------------
 */

/* The plan of the loop for a range of factors; false when out of memory. */
bool plan_build(struct vector_loop *v, uint32_t least, uint32_t most, struct vplan *p);

/* --- vcost.c ------------------------------------------------------------------------------------
 */

struct vector_price {
  int64_t body;          /* issue slots of one vector iteration */
  int64_t computing;     /* those that no access takes, without the loop's own */
  uint32_t registers;    /* 32-bit registers alive at once */
  uint32_t warps;        /* resident per SM then */
  uint32_t accesses;     /* memory instructions of one vector iteration */
  uint32_t pointers;     /* that move from one iteration to the next */
  int64_t per_iteration; /* 1000 × issue slots per original iteration, all told */
};
/* What the plan costs with that factor and interleave count; factor 1, count 1: the loop as it is.
 */
struct vector_price price_plan(const struct vector_loop *v, const struct vplan *p, uint32_t factor,
                               uint32_t count);

/* What target/cost.h is asked: a type of so many lanes, and the row of an op. */
struct cost_type price_type(const struct nvm_module *m, struct nvm_type type, uint32_t lanes);
enum tgt_operation_index price_operation(enum op op);

/* Phases 4 to 6: chooses factor, interleave count and epilogue among the plans; tells why by
 * remarks. */
enum vector_refusal price_choose(struct vector_loop *v, const struct vplan *p);

/* --- execute.c, skeleton.c
 * ---------------------------------------------------------------------------------- */

enum plan_result { PLAN_DONE, PLAN_OUT_OF_MEMORY, PLAN_NOT_EXPRESSIBLE };
/* Phase 7: carries the plan out. The old loop becomes the remainder. NOT_EXPRESSIBLE: the loop is
 * as it was. */
enum plan_result plan_execute(struct vector_loop *v, const struct vplan *p);

/* --- outer.c ------------------------------------------------------------------------------------
 */

/* Legality of an outer loop whose shape was checked, and the factor; *made lies in the
 * environment's arena. */
struct outer_nest;
enum vector_refusal outer_check(struct vector_loop *v, struct outer_nest **made,
                                enum nvm_status *status);
enum plan_result outer_execute(struct outer_nest *n);

#endif
