/* What reassociate.c and reassociate_products.c share: trees of one op, and products among their
 * leaves. */
#ifndef NVM_OPT_REASSOCIATE_H
#define NVM_OPT_REASSOCIATE_H

#include "analysis/scev.h"
#include "opt/passes.h"

enum { MAX_OPERANDS = 16 }; /* leaves of a tree */

struct leaf {
  struct nvm_value value;
  int64_t factor; /* in sums of integers; 1 or -1 until equal leaves are merged */
  uint32_t depth; /* of the loop; constants: UINT32_MAX */
};

struct tree {
  struct nvm_inst_id root;
  enum op op; /* not sub */
  struct leaf leaves[MAX_OPERANDS + 1];
  uint32_t count;
  uint16_t flags; /* fast-math flags, nsw and nuw that all ops have */
};

struct pair;

struct reassociation {
  struct nvm_function *f;
  struct pass_env *env;
  bool have_loops; /* computed for the first tree */
  struct dominance dominance;
  struct loops loops;
  struct scev_env *scev;        /* NULL: not needed yet */
  struct nvm_inst_id *index_of; /* by instruction: a sext, getelementptr or access that uses it */
  uint32_t *user_op;            /* by instruction: the op of a tree that it is an operand of */
  VEC(struct nvm_inst_id) nodes;
  struct pair *pairs;  /* by hash, linear probing */
  uint32_t slots;      /* a power of two */
  uint32_t used;       /* at most half of them */
  uint32_t pair_count; /* of all trees */
  bool have_large;     /* a tree has three leaves */
  bool have_pairs;     /* some pair is in two trees */
};

/* Whether i, which is not NULL, is an op of trees. */
bool reassociate_may_reorder(const struct nvm_inst *i);
/* The op of the tree that i is in: that of a difference is the sum. */
enum op reassociate_tree_op(const struct nvm_inst *i);
/* Bits of the elements of v. */
uint32_t reassociate_width(const struct nvm_function *f, struct nvm_value v);
/* Lists the leaves from left to right. False if there are too many. */
bool reassociate_flatten(struct reassociation *s, struct nvm_inst_id root, struct tree *t);
/* Sets the loop depth of each leaf; computes the loops first if needed. False when out of
 * memory. */
bool reassociate_find_depths(struct reassociation *s, struct tree *t);
/* Removes leaf k; the order of the others stays. */
void reassociate_remove_leaf(struct tree *t, uint32_t k);
/* Adds what an empty tree, a single leaf, or a sum of negative ones needs to be built. */
void reassociate_add_neutral(const struct nvm_function *f, struct tree *t, struct nvm_type type);
/* Builds the tree, with its flags. The root becomes its last op; the old inner nodes are dead.
 * False when out of memory. */
bool reassociate_rebuild(struct reassociation *s, struct tree *t);

/* Splits off the constant factor of a product; 1 if there is none. */
int64_t reassociate_split_factor(const struct nvm_function *f, struct nvm_value *v);
/* x % y * z + x / y * y * z is x * z. Leaf k of the sum becomes that product if leaf n is the other
 * term. Without z it is the dividend, which wraps only if x does. */
bool reassociate_merge_divided(struct nvm_function *f, struct tree *t, uint32_t k, uint32_t n);
/* Factors out what terms of the sums among s->nodes have in common where that saves a
 * multiplication. False when out of memory. */
bool reassociate_factor_sums(struct reassociation *s);

#endif
