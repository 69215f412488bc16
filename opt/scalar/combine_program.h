/* The compiled form of combine.rules, in 16-bit words: written by gen_combine, interpreted by
 * combine_rules.c.
 *
 * A pattern is a list of tests like "slot 1 is an add", in the order of a walk over the pattern.
 * Patterns with a common prefix share it, so that they form a decision tree:
 *
 *   tree    groups   {slot lowest-class classes tree...}...
 *           leaves   {program roots flags same slot...}...
 *
 * Slot 0 is the root, slots 1.. its operands. If a class says that a slot is an instruction, its
 * operands take the next free slots. A group has a tree for each class from the lowest on, 0 for
 * none. Trees and programs are referred to by the index of their first word. A leaf has the tests
 * that fail most often: which roots match (bits: the predicate of a comparison, the type of other
 * ops), the flags that the root must have, two slots that must hold the same value
 * (one << 8 | other). Then it lists the slot of each register of its program.
 *
 *   program    registers   checks and computations   RULE_DONE
 *
 * One program serves all orders of commutative operands: it refers to values of the pattern by
 * registers, numbered in the order of the text. It works on two stacks, of numbers and of new
 * values. A type is a register (with RULE_BOOL_LIKE: i1 with as many lanes) or RULE_TYPE_BOOL. A
 * predicate is a rule_predicate and its operand. */
#ifndef NVM_OPT_COMBINE_PROGRAM_H
#define NVM_OPT_COMBINE_PROGRAM_H

#include "ir/ops.h"

enum rule_class { /* of operands; other instructions have their enum op */
                  CLASS_INT =
                      OP_COUNT, /* an integer constant of at most 64 bits, or a splat of one */
                  CLASS_FLOAT,
                  CLASS_OTHER,
                  CLASS_CALL, /* + row of rule_intrinsics, from 1; CLASS_CALL: other calls */
                  CLASS_UNKNOWN = 255,
};

enum { RULE_MOST_SLOTS = 32, RULE_MOST_REGISTERS = 16, RULE_MOST_STACK = 16 };
enum { RULE_BOOL_LIKE = 64, RULE_TYPE_BOOL = 128 };

/* Each word, with the number of its operand words. */
#define RULE_WORDS(W)                                                                 \
  /* Checks: the rule does not apply if one fails. */                                 \
  W(SAME, 2)         /* register, register: equal values */                           \
  W(NUMBER_IS, 2)    /* register, number; negative ones are truncated to its width */ \
  W(FLOAT_IS, 2)     /* register, float */                                            \
  W(PREDICATE_IS, 3) /* register, predicate */                                        \
  W(PREDICATE_IN, 2) /* register, predicates as bits */                               \
  W(HAS_FLAGS, 2)    /* register, flags */                                            \
  W(ONE_USE, 1)      /* register */                                                   \
  W(SAME_TYPE, 2)    /* type, type */                                                 \
  W(TYPE_IS, 2)      /* type, enum rule_type_class */                                 \
  W(WIDENS, 2)       /* type, type: the second has wider scalars and as many lanes */ \
  W(ZERO, 1)         /* register; number: the bits that must be known to be 0 */      \
  W(NONNEG, 1)       /* register; here and below: known bits */                       \
  W(NONZERO, 1)                                                                       \
  W(ONE_BIT, 1)                                                                       \
  W(DEFINED, 1)                                                                       \
  W(FOLLOWS, 2)  /* register, register: the first is poison only if the second is */  \
  W(DISJOINT, 2) /* register, register */                                             \
  W(REQUIRE, 0)  /* number: not 0 */                                                  \
  /* Numbers, zero above their width. */                                              \
  W(NUMBER, 1)  /* register */                                                        \
  W(LITERAL, 2) /* number, sign-extended from 16 bits; type */                        \
  W(UNARY, 3)   /* what to compute, type of the operand, of the result; number */     \
  W(BINARY, 3)  /* likewise; number, number */                                        \
  /* Values. */                                                                       \
  W(VALUE, 1)      /* register */                                                     \
  W(MAKE_INT, 1)   /* type; number */                                                 \
  W(MAKE_FLOAT, 2) /* type, float */                                                  \
  W(FLAGS, 2)      /* flags of the next op if all these registers (bits) have them */ \
  W(OP, 5)         /* op, type, predicate, arity; the operands */                     \
  W(CALL, 3)       /* row of rule_intrinsics, type, arity; the operands */            \
  W(DONE, 0)

enum rule_word {
#define W(name, operands) RULE_##name,
  RULE_WORDS(W)
#undef W
};

/* How a predicate is computed from its operand: a literal for the first, else a register. */
enum rule_predicate {
  PREDICATE_LITERAL,
  PREDICATE_PLAIN,
  PREDICATE_INV,
  PREDICATE_SWAP,
  PREDICATE_U,
  PREDICATE_S,
};
enum { /* sets of predicates, and of other roots, as bits */
       RULE_EQNE = 1 << ICMP_EQ | 1 << ICMP_NE,
       RULE_UREL = 1 << ICMP_UGT | 1 << ICMP_UGE | 1 << ICMP_ULT | 1 << ICMP_ULE,
       RULE_SREL = RULE_UREL << (ICMP_SGT - ICMP_UGT),
       RULE_REL = RULE_UREL | RULE_SREL,
       RULE_BOOL_ROOT = 1 << 0,
       RULE_WIDE_ROOT = 1 << 1, /* types of roots other than comparisons */
       RULE_ANY_ROOT = 0xffff,
};
enum rule_type_class { TYPE_IS_INT, TYPE_IS_FLOAT, TYPE_IS_BOOL, TYPE_IS_WIDE, TYPE_FITS_64_BITS };

/* What RULE_UNARY and RULE_BINARY compute: an op, RULE_COMPARE + a predicate of icmp, or one of
 * these; the last three ignore the number. */
/* clang-format off */
#define RULE_FUNCTIONS(F)                                                               \
  F(smin) F(smax) F(umin) F(umax) F(fitsu) F(fitss) F(ctpop) F(bswap) F(bitreverse)     \
  F(log2) F(not) F(neg) F(lowmask) F(lowzeros) F(pow2) F(MIN) F(MAX) F(WIDTH)
/* clang-format on */

enum rule_function {
  FUNCTION_FIRST = OP_COUNT,
#define F(name) FUNCTION_##name,
  RULE_FUNCTIONS(F)
#undef F
      RULE_COMPARE,
};

#endif
