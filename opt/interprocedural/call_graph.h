/* Who calls whom, and what the inliner asks of a function: kept up to date while functions are
 * changed one after the other, callees first. */
#ifndef NVM_OPT_CALL_GRAPH_H
#define NVM_OPT_CALL_GRAPH_H

#include "ir/function.h"

struct call_node {
  uint32_t first,
      count; /* into callees: what its instructions call, once a call, in their order; 0: inlined */
  uint32_t uses;      /* calls of it by their name, in the whole module */
  uint32_t size;      /* instructions that cost something */
  uint32_t component; /* Tarjan's preorder number, from 1; 0: not visited yet */
  uint32_t low;       /* Tarjan's */
  bool on_stack;
  bool recursive;
  bool copyable;     /* its body may stand in a caller */
  bool kept;         /* it is used otherwise than by calls, or may be by others */
  bool inlined_into; /* its calls were looked at by the inliner */
};

struct call_graph {
  struct nvm_module *m;
  struct arena *arena;
  uint32_t count;          /* of functions; those declared later are not in it */
  struct call_node *nodes; /* by function */
  VEC(uint32_t) callees;
  uint32_t *order; /* definitions, callees first; within a recursion as it comes */
  uint32_t order_count;
};

/* Of the module as it is, in `arena`; definitions that nobody can call are removed. False when out
 * of memory. Cost: linear in operands. */
bool call_graph_build(struct call_graph *g, struct nvm_module *m, struct arena *arena);
/* Function n has changed: its calls are counted again. A definition that it called for the last
 * time, and nobody else can call, is removed. False when out of memory. */
bool call_graph_update(struct call_graph *g, uint32_t n);
/* Function n, which was updated last, has another call, at the end of its list. False when out of
 * memory. */
bool call_graph_add(struct call_graph *g, uint32_t n, uint32_t callee);
/* The call with that index into callees is gone, and the callee if nobody else can call it. */
void call_graph_drop(struct call_graph *g, uint32_t call);
/* Whether nobody uses function n but one call, which may become its body: what it calls is best
 * looked at there. */
bool call_graph_is_passed_on(const struct call_graph *g, uint32_t n);
/* The definition that i calls by its name, 0: none. */
uint32_t call_graph_callee(const struct nvm_function *f, const struct nvm_inst *i);
/* Whether i is an alloca of a fixed size in the entry block. */
bool call_graph_is_static_alloca(const struct nvm_function *f, const struct nvm_inst *i);

#endif
