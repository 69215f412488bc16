/* Shared by the parts of the loop vectorizer: facts about the loop (legality), the choice (cost),
 * building and executing plans. The pass with its eight phases is loop_vectorize.c. */
#ifndef NVM_OPT_VECTORIZE_VECTORIZE_H
#define NVM_OPT_VECTORIZE_VECTORIZE_H

#include "analysis/alias.h"
#include "analysis/scev.h"
#include "opt/pass.h"
#include "opt/remark.h"
#include "analysis/uses.h"
#include "opt/vectorize/vplan.h"
#include "target/cost.h"

enum {
  VECTORIZE_MAX_LANES = 64,
  MAX_FACTOR = 32
}; /* lanes: factor × interleave count; a factor of 32 bytes is one access */

/* A load or store of the loop. */
struct vector_access {
  struct nvm_inst_id inst;
  bool is_store, conditional;
  bool affine;           /* address = start + step × iteration; otherwise each lane computes it */
  int64_t step;          /* bytes */
  uint32_t bytes;        /* of one element */
  struct nvm_type type;  /* of one element */
  uint32_t space, align; /* align in bytes, of every element */
  struct scev address;
  uint32_t order;         /* position in the linear body */
  uint32_t group;         /* or VP_NO_GROUP */
  int64_t offset;         /* bytes from the group's address */
  uint32_t checked_align; /* outer loops: of lane 0, checked at run time; 0: none, or known */
};

/* Accesses of one kind whose addresses differ by constants: consecutive elements, members of a
 * struct. */
struct access_group {
  struct scev address;  /* of offset 0 in iteration 0; may contain the iteration number of the loop
                         */
  uint32_t first, last; /* accesses, in the order of the body */
  uint32_t count;
  int64_t step, low, high; /* in bytes: members of an iteration are in [low, high) */
  uint32_t bytes, space;
  struct nvm_type type;
  bool is_store, aligned_elements; /* every element is at a multiple of its size */
  bool crosses;         /* members moved past accesses with the same step that may overlap */
  bool wide;            /* an access can be wider than an element */
  bool align_checked;   /* alignment relative to peel_group is checked at run time */
  int64_t anchor;       /* offset at which wide accesses begin */
  uint32_t known_align; /* of address + anchor in iteration 0 */
};

/* Bytes between two iterations. */
static inline int64_t access_group_reach(const struct access_group *g) {
  return g->step < 0 ? -g->step : g->step;
}

/* Two groups that may overlap, to be checked at run time. `same_step`: both have the same step, so
 * that the distance decides; otherwise the ranges of the whole loop must be disjoint. */
struct overlap_check {
  uint32_t earlier, later;                                  /* an access of each group */
  int64_t earlier_low, earlier_high, later_low, later_high; /* bytes covered per iteration */
  int64_t min_step; /* outer loops: the inner step must be at least that many bytes; 0: ranges */
  bool same_step, same_iteration; /* same_iteration: overlaps within one
                                   * iteration count too */
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

/* The kinds of header phis. */
enum phi_kind { PHI_INDUCTION, PHI_REDUCTION, PHI_RECURRENCE, PHI_SERIAL };
struct header_phi {
  struct nvm_inst_id inst;
  enum phi_kind kind;
  struct nvm_value start, back;
  int64_t step; /* INDUCTION: integers, or bytes */
  enum reduction_kind reduction;
  struct nvm_inst_id
      combine;    /* REDUCTION: the minimum or maximum (intrinsic or select) to imitate */
  uint16_t flags; /* REDUCTION: fast-math flags of all links */
  bool needed;    /* used by more than addresses and itself */
};

/* Why a loop is not vectorized: LLVM's tags and messages. */
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
  int64_t width, interleave; /* 0: no hint */
  bool scalable, is_vectorized;
};

struct vector_cost {
  int64_t body;          /* issue slots per vector iteration */
  int64_t computing;     /* issue slots of computations only */
  int64_t wait;          /* slots until a load's result, as far as other warps do not hide them */
  uint32_t registers;    /* maximum number of live 32-bit registers */
  uint32_t warps;        /* resident per SM with that many registers */
  uint32_t accesses;     /* memory instructions per vector iteration */
  uint32_t pointers;     /* advancing pointers */
  int64_t per_iteration; /* 1000 × issue slots per original iteration, memory latency included */
};

/* A factor and an interleave count that were priced. */
struct vector_candidate {
  uint32_t factor, count;
  struct vector_cost price;
  int64_t checks; /* issue slots of the run-time checks */
  int64_t all;    /* 1000 × issue slots per iteration, with checks and remainder */
  bool steps;     /* lowers occupancy, and does not save enough for that */
};

/* Blocks that execution made from the plan's recipes. */
struct vector_stage {
  struct nvm_block first, last; /* header and latch of a loop; of straight-line code, its ends */
  uint32_t factor, count;
  uint32_t copy; /* straight-line code: this many iterations after the first of its row */
  bool straight, unaligned;
};

/* By instruction, for the loops of a function one after the other: allocated once, zero but for
 * instructions of the loop that is visited. */
struct vector_tables {
  struct arena *arena;
  uint32_t count;
  uint32_t *position, *access_of, *recipe_of;
  bool *needed, *chained, *reduced;
};

/* The state of one loop in all phases. */
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
      early; /* exits on a condition that cannot be counted; {0}: only the latch exits */

  /* Legality. */
  struct nvm_inst_id *body; /* the loop's instructions in linear order */
  uint32_t body_count;
  struct vector_tables *tables; /* which the following and access_of are of */
  uint32_t *position;           /* by instruction: 1 + index into body, 0: outside */
  bool *needed;                 /* by instruction: a recipe must compute it */
  bool *chained;                /* by instruction: a member of a serial chain */
  bool *reduced; /* by instruction: a link of a reduction, which is reordered and wraps elsewhere */
  VEC(struct header_phi) phis;
  VEC(struct vector_access) accesses;
  VEC(struct access_group) groups;
  VEC(struct overlap_check) checks;
  uint32_t *access_of;        /* by instruction: 1 + access, 0: none */
  uint64_t max_lanes;         /* maximum factor × interleave count that dependences allow */
  bool scalar_epilogue;       /* the last iteration must be executed by the scalar loop: one of its
                               * values is used after it */
  bool declares_scopes;       /* declares !noalias scopes, which hold within one iteration */
  bool histogram;             /* stores to computed addresses */
  struct nvm_inst_id culprit; /* the instruction that prevents vectorization; {0}: none alone */

  /* The choice. */
  VEC(struct vector_candidate)
  candidates;             /* in the order in which they were priced, the scalar loop first */
  uint32_t block_threads; /* launch bounds: threads of a block at most; 0: not bounded */
  uint64_t assumed_trips; /* iterations for which they are priced */
  uint32_t factor, interleave, epilogue_factor;
  bool interleave_only;     /* too few iterations for vectors */
  bool interleave_disabled; /* the user requests 1, the cost model more */
  bool own_remainder;       /* the last iterations are a stage of their own, not executed by the
                             * scalar loop */
  uint32_t remaining;       /* their largest number; 0: the vector stages execute all iterations */
  uint32_t predicated;      /* they are straight-line code under conditions, at most this many; 0: a
                             * loop */
  bool peel;                /* peel iterations until peel_group's accesses are aligned */
  bool peel_straight;       /* as straight-line code under conditions */
  uint32_t peel_group, max_peeled; /* iterations */
  uint64_t min_iterations;         /* fewer are executed by the scalar loop */
  bool opposite_direction; /* an align_checked group steps in the other direction than peel_group:
                            * rarely aligned */
  bool two_versions;       /* two versions of the vector loop: for groups aligned like peel_group,
                            * and for others */
  bool unaligned_version;  /* emitting the second version: align_checked groups are accessed by
                            * element */
  uint32_t widest;         /* bytes of the widest access */

  /* Execution. */
  uint32_t first_new_block; /* blocks from here on were made; 0: not yet executed */
  VEC(struct vector_stage) stages;
};

/* Accessors. */
static inline const struct nvm_inst *vl_inst(const struct vector_loop *v, struct nvm_inst_id i) {
  return &v->f->insts.data[i.index];
}
static inline int32_t vl_knob(const struct vector_loop *v, enum knob k) {
  return v->env->knobs->value[k];
}
/* The interleave count and the vectorization factor that the knob or a hint requests; 0: none. */
static inline int64_t vl_requested_count(const struct vector_loop *v) {
  int32_t knob = vl_knob(v, KNOB_FORCE_VECTOR_INTERLEAVE);
  return knob ? knob : v->hints.interleave;
}
static inline int64_t vl_requested_width(const struct vector_loop *v) {
  int32_t knob = vl_knob(v, KNOB_FORCE_VECTOR_WIDTH);
  return knob ? knob : v->hints.width;
}
static inline bool vl_inside(const struct vector_loop *v, struct nvm_value x) {
  return value_kind(x) == VALUE_INST && v->position[value_index(x)] != 0;
}
/* Refuses the loop because of an instruction, at which the remark is reported. */
static inline enum vector_refusal vl_refuse(struct vector_loop *v, struct nvm_inst_id culprit,
                                            enum vector_refusal r) {
  v->culprit = culprit;
  return r;
}
static inline const struct type_table *vl_types(const struct vector_loop *v) {
  return &v->f->module->types;
}

/* Phase 1: the shape of the loop, then its contents. On success, the legality part of v is filled;
 * its tables are in the environment's arena. *status: NVM_OUT_OF_MEMORY. */
enum vector_refusal legality_check_shape(struct vector_loop *v);
enum vector_refusal legality_check(struct vector_loop *v, enum nvm_status *status);
/* Collects the body in linear order and checks each instruction; part of it. *ok: false when out
 * of memory. */
enum vector_refusal legality_collect_body(struct vector_loop *v, bool *ok);
/* Clears the tables for the next loop. */
void legality_clear_tables(const struct vector_loop *v);
/* Classifies a header phi that is not an induction; false if it is not a reduction. */
bool reduction_recognize(struct vector_loop *v, struct header_phi *p);
/* The flags of sums of an induction and up to `count` of its steps: those of the scalar addition,
 * which is executed for each of them, unless the sum of the steps alone wraps. */
uint16_t legality_step_flags(const struct vector_loop *v, const struct header_phi *p,
                             uint32_t count);
/* Marks the members of the phi's in-order chain; false if they are not plain arithmetic. */
bool serial_recognize(struct vector_loop *v, struct header_phi *p);
/* Collects accesses and groups, and determines the run-time checks. */
enum vector_refusal accesses_analyze(struct vector_loop *v, enum nvm_status *status);
/* Parts of it: appends instruction `at` of the body to v->accesses (false when out of memory);
 * whether an address is affine and its numbers are so small that distances can be computed; whether
 * vectors can have elements of its type; whether two accesses are to different objects;
 * whether the base is a byval parameter of a kernel, which is read in place; the known alignment,
 * up to 32, of address + offset in iteration 0. */
bool accesses_add(struct vector_loop *v, uint32_t at);
bool accesses_is_bounded(const struct scev *address);
bool accesses_is_element(const struct vector_loop *v, const struct vector_access *a);
bool accesses_are_disjoint(const struct vector_loop *v, const struct vector_access *a,
                           const struct vector_access *b);
/* Whether the object is a variable of the frame or of this module whose alignment can be raised. */
bool accesses_can_align(const struct nvm_function *f, struct nvm_value object);
/* Raises its alignment to at least 1 << log2 bytes. */
void accesses_align(struct nvm_function *f, struct nvm_value object, uint32_t log2);
/* Aligns the variables that the loop accesses, as accesses_known_align() assumes. */
void accesses_align_variables(const struct vector_loop *v);
bool accesses_in_parameter(const struct vector_loop *v, struct nvm_value base);
uint32_t accesses_known_align(const struct vector_loop *v, struct scev address, int64_t offset);
/* Whether all accesses may be executed in all iterations that the latch counts, although the loop
 * may exit earlier: loads of memory known to be dereferenceable. If not, v->culprit is one. */
bool accesses_can_speculate(struct vector_loop *v);
/* Cycles that the loads of an iteration wait, if stores of the previous iterations must precede
 * them as far as an assembler can tell, which knows no more than addresses at constant distances;
 * else 0: it can begin the loads of several iterations together. */
int64_t accesses_ordered_latency(const struct vector_loop *v);
/* After the choice: the width in bytes of the group's accesses for that many lanes. */
uint32_t accesses_width(const struct vector_loop *v, const struct access_group *g, uint32_t lanes);

/* One access of a group. */
struct access_piece {
  int64_t offset;
  uint32_t elements;
};
enum { MAX_PIECES = 4 * VECTORIZE_MAX_LANES };
/* Computes the accesses of a group for `lanes` iterations, at most `width` bytes wide; returns
 * their number. */
uint32_t accesses_pieces(const struct vector_loop *v, uint32_t group, uint32_t lanes,
                         uint32_t width, struct access_piece pieces[MAX_PIECES]);

/* Builds the plan of the loop for a range of factors; false when out of memory. */
bool plan_build(struct vector_loop *v, uint32_t least, uint32_t most, struct vplan *p);

/* Whether a call is one operation on all lanes, not a call per lane. */
bool plan_widens_call(const struct vector_loop *v, const struct nvm_inst *i);

/* A final plan: with costs for that factor and interleave count, which are what the decision added
 * up. The copy shares recipes; false when out of memory. */
bool vcost_annotate(const struct vector_loop *v, const struct vplan *p, uint32_t factor,
                    uint32_t count, struct vplan *final);

/* Arguments for target/cost.h: a type with `lanes` lanes, and the row of an op. */
struct cost_type vcost_type(const struct nvm_module *m, struct nvm_type type, uint32_t lanes);
enum tgt_operation_index vcost_operation(enum op op);

/* Phases 4 to 6: chooses factor, interleave count and epilogue, and emits remarks about them. */
enum vector_refusal vcost_choose(struct vector_loop *v, const struct vplan *p);

/* Remarks (vreport.c): a message about the loop; a refusal; that interleaving alone, although it is
 * cheapest, needs more iterations; a price; the chosen candidate and the
 * next best; that registers limit occupancy to so many warps; a vectorized loop. */
void vreport_text(const struct vector_loop *v, enum remark_kind kind, const char *name,
                  const char *message);
void vreport_refusal(const struct vector_loop *v, enum vector_refusal r);
void vreport_too_few(const struct vector_loop *v);
void vreport_candidate(const struct vector_loop *v, const struct vector_candidate *c);
void vreport_choice(const struct vector_loop *v);
void vreport_occupancy(const struct vector_loop *v, uint32_t warps, uint32_t scalar_warps);
void vreport_success(const struct vector_loop *v);

enum plan_result { PLAN_DONE, PLAN_OUT_OF_MEMORY, PLAN_NOT_EXPRESSIBLE };
/* Phase 7: executes the plan. The scalar loop becomes the remainder. NOT_EXPRESSIBLE: the loop is
 * unchanged. */
enum plan_result plan_execute(struct vector_loop *v, const struct vplan *p);
/* The check of two accesses with the same step fails if low < later - earlier < high, in bytes. */
void overlap_bounds(const struct vector_loop *v, const struct overlap_check *c, int64_t *low,
                    int64_t *high);

/* The text of --emit vplan: the loop and its initial plan; the costs of the factors; the plan as it
 * was executed; why the loop is not vectorized. Without env->draw they do nothing. */
void show_initial(const struct vector_loop *v, const struct vplan *p);
void show_costs(const struct vector_loop *v);
void show_final(struct vector_loop *v, const struct vplan *p);
void show_refusal(const struct vector_loop *v, enum vector_refusal why);

/* Checks an outer loop whose shape is valid, and chooses the factor; *made is in the environment's
 * arena. */
struct outer_nest;
enum vector_refusal outer_check(struct vector_loop *v, struct outer_nest **made,
                                enum nvm_status *status);
/* Builds the plan of the nest, for that factor; false when out of memory. */
bool outer_plan(struct outer_nest *n, struct vplan *p);
enum plan_result outer_execute(struct outer_nest *n, const struct vplan *p);

#endif
