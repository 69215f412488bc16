/* The call graph with facts for the inliner, updated while functions are changed in the order
 * callees first. */
#ifndef NVM_OPT_CALL_GRAPH_H
#define NVM_OPT_CALL_GRAPH_H

#include "ir/function.h"

struct call_node {
  uint32_t first, count; /* into callees: one entry per call, in order; 0: inlined */
  uint32_t uses;         /* direct calls of it in the whole module */
  uint32_t copied_uses;  /* at first, with alwaysinline callers copied; 0: no more than uses */
  uint32_t size;         /* instructions that cost something */
  uint32_t component;    /* Tarjan's preorder number, from 1; 0: not visited yet */
  uint32_t low;          /* Tarjan's */
  bool on_stack;
  bool recursive;
  bool copyable;       /* its body may be copied into a caller */
  bool kept;           /* its address may be taken */
  bool inlined_into;   /* the inliner has visited its calls */
  bool passed_on;      /* the manager's: its other passes run after those of its caller */
  bool not_convergent; /* function-attrs has found nothing convergent in its body */
};

struct call_graph {
  struct nvm_module *m;
  struct arena *arena;
  uint32_t count;          /* of functions; later declarations are not included */
  struct call_node *nodes; /* by function */
  VEC(uint32_t) callees;
  uint32_t *order; /* definitions, callees first; unordered within a recursion */
  uint32_t order_count;
};

/* Builds the graph in `arena`, and removes definitions that cannot be called. False when out of
 * memory. Cost: linear in operands. */
bool call_graph_build(struct call_graph *g, struct nvm_module *m, struct arena *arena);
/* Counts the calls of function n again after a change, and removes definitions that it called for
 * the last time; not itself, of which a pass may be running. False when out of memory. */
bool call_graph_update(struct call_graph *g, uint32_t n);
/* Appends a call to function n, which was updated last. False when out of memory. */
bool call_graph_add(struct call_graph *g, uint32_t n, uint32_t callee);
/* Drops the call with that index into callees, and the callee if it has no other use. */
void call_graph_drop(struct call_graph *g, uint32_t call);
/* Whether f is a function of OpenMP's device runtime, by LLVM's rule: its name has one of the
 * runtime's prefixes, in a module with the flag "openmp-device". */
bool call_graph_is_openmp_runtime(const struct nvm_function *f);
/* Whether f is marked noinline, and no function of OpenMP's device runtime: LLVM ignores the mark
 * there too, which is only to keep the names until its OpenMPOpt has run. */
bool call_graph_is_noinline(const struct nvm_function *f);
/* Whether the only use of function n is one call that may be inlined: its own calls are best
 * visited in the caller. */
bool call_graph_is_passed_on(const struct call_graph *g, uint32_t n);
/* The calls of function n, now or once alwaysinline callers are copied. */
uint32_t call_graph_uses(const struct call_graph *g, uint32_t n);
/* The definition that i calls directly; 0: none. */
uint32_t call_graph_callee(const struct nvm_function *f, const struct nvm_inst *i);
/* Whether i is an alloca of a fixed size in the entry block. */
bool call_graph_is_static_alloca(const struct nvm_function *f, const struct nvm_inst *i);

#endif
