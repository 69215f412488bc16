/* What scev.c and trip_count.c share. */
#ifndef NVM_OPT_ANALYSIS_SCEV_INTERNAL_H
#define NVM_OPT_ANALYSIS_SCEV_INTERNAL_H

#include "analysis/scev.h"

/* Modulo 2^width; the exact value extended to 64 bits. */
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
  uint32_t *memo[SCEV_MODES]; /* by instruction: into forms; 0: not made, UINT32_MAX: being made */
  VEC(struct scev) forms;     /* [0]: dummy */
  VEC(struct scev_request) stack;
  bool missing;                    /* something was pushed that the form being made needs */
  uint8_t *nonnegative;            /* by instruction: 0 not asked yet, 1 yes, 2 not known */
  struct remembered_count *counts; /* by loop */
  uint32_t size;                   /* instructions made later are symbols */
};

/* A header's phi that each iteration adds invariants to. */
enum { RECURRENCE_CHAIN = 8 };
struct recurrence {
  uint32_t loop;
  struct nvm_value start, next;
  struct nvm_inst_id steps[RECURRENCE_CHAIN]; /* add, sub, getelementptr; the last computed first */
  uint8_t through[RECURRENCE_CHAIN];          /* the operand through which the phi comes */
  uint32_t count;
  uint16_t flags; /* INST_NSW, INST_NUW where all steps have it (or inbounds) */
};
bool scev_recurrence(const struct scev_env *e, struct nvm_value v, struct recurrence *r);

/* The form of v in that mode. */
struct scev scev_form(struct scev_env *e, struct nvm_value v, enum scev_mode mode);
/* Known not to be negative; remembered. */
bool scev_nonnegative(const struct scev_env *e, struct nvm_value v);
/* a + constant. */
struct scev scev_plus(struct scev a, int64_t constant);
/* Whether by the loop's exit conditions the recurrence of phi v with that step leaves its range,
 * signed or unsigned, in no iteration that is executed. Asks for no forms. */
bool scev_no_wrap(const struct scev_env *e, struct nvm_value v, const struct recurrence *r,
                  int64_t step, bool is_signed);

#endif
