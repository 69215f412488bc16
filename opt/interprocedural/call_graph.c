/* The call graph; see call_graph.h. Tarjan's algorithm (1972) yields strongly connected components
 * in the order callees first. */
#include "opt/interprocedural/call_graph.h"

#include <string.h>

#include "ir/intrinsic.h"
#include "ir/module_flags.h"
#include "analysis/callers.h"
#include "analysis/effects.h"

bool call_graph_is_static_alloca(const struct nvm_function *f, const struct nvm_inst *i) {
  nvm_u128 count;
  return i->op == OP_ALLOCA && i->block.index == f->entry.index &&
         const_is_int(f->module, inst_operand(f, i, 0), &count);
}

static bool is_marker(const struct nvm_function *f, const struct nvm_inst *call) {
  return effects_is_lifetime_marker(f, call) || effects_call_is_debug(f, call);
}

static bool call_prevents_copying(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_function *g = call_function(f, i);
  return (i->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL || call_attribute(f, i, ATTR_NODUPLICATE) ||
         (g && function_attribute(g, ATTR_NODUPLICATE));
}

static bool alloca_prevents_copying(const struct nvm_function *f, const struct nvm_inst *i) {
  return !call_graph_is_static_alloca(f, i) || (i->flags & (ALLOCA_INALLOCA | ALLOCA_SWIFTERROR));
}

static bool may_be_replaced(const struct nvm_function *f) {
  enum linkage k = (enum linkage)f->symbol.linkage;
  return k == LINK_WEAK || k == LINK_LINKONCE || k == LINK_EXTERN_WEAK || k == LINK_COMMON;
}

static bool is_copyable(const struct nvm_function *f) {
  const struct type_info *type = type_info(&f->module->types, f->type);
  return !function_is_declaration(f) && !function_is_kernel(f) && !may_be_replaced(f) &&
         !(type->flags & TYPE_VARIADIC) && !function_attribute(f, ATTR_NAKED) &&
         !function_attribute(f, ATTR_RETURNS_TWICE);
}

uint32_t call_graph_callee(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct nvm_function *g = call_function(f, i);
  return g && !function_is_declaration(g) ? value_index(call_callee(f, i)) : 0;
}

bool call_graph_add(struct call_graph *g, uint32_t n, uint32_t callee) {
  g->nodes[callee].uses++;
  g->nodes[n].count++;
  return VEC_PUSH(g->arena, &g->callees, callee);
}

static bool survey_call(struct call_graph *g, uint32_t n, const struct nvm_function *f,
                        const struct nvm_inst *call) {
  struct call_node *node = &g->nodes[n];
  node->size += !is_marker(f, call);
  node->copyable = node->copyable && !call_prevents_copying(f, call);
  uint32_t callee = call_graph_callee(f, call);
  return callee == 0 || call_graph_add(g, n, callee);
}

static bool survey(struct call_graph *g, uint32_t n) {
  const struct nvm_function *f = g->m->functions.data[n];
  struct call_node *node = &g->nodes[n];
  node->first = g->callees.count;
  node->count = node->size = 0;
  node->copyable = is_copyable(f);
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      switch ((enum op)i->op) {
        case OP_PHI:
        case OP_BR:
        case OP_RET:
        case OP_DBG_RECORD:
        case OP_BITCAST: break; /* cost nothing */
        case OP_ALLOCA: node->copyable = node->copyable && !alloca_prevents_copying(f, i); break;
        case OP_CALL:
          if (!survey_call(g, n, f, i)) return false;
          break;
        case OP_VA_ARG:
          node->copyable = false;
          node->size++;
          break;
        default: node->size++; break;
      }
    }
  return true;
}

/* Removes a definition without uses; its callees, if dead too, are left to globaldce. */
static void remove_if_dead(struct call_graph *g, uint32_t n) {
  struct call_node *node = &g->nodes[n];
  if (node->uses || node->kept || function_is_declaration(g->m->functions.data[n])) return;
  for (uint32_t k = 0; k < node->count; k++) g->nodes[g->callees.data[node->first + k]].uses--;
  node->count = 0;
  function_drop_body(g->m->functions.data[n]);
  module_remove_symbol(g->m, value_make(VALUE_FUNCTION, n));
}

void call_graph_drop(struct call_graph *g, uint32_t call) {
  uint32_t callee = g->callees.data[call];
  g->callees.data[call] = 0;
  g->nodes[callee].uses--;
  remove_if_dead(g, callee);
}

bool call_graph_update(struct call_graph *g, uint32_t n) {
  uint32_t first = g->nodes[n].first, count = g->nodes[n].count;
  for (uint32_t k = 0; k < count; k++) g->nodes[g->callees.data[first + k]].uses--;
  if (!survey(g, n)) return false;
  for (uint32_t k = 0; k < count; k++)
    if (g->callees.data[first + k] != n) remove_if_dead(g, g->callees.data[first + k]);
  return true;
}

uint32_t call_graph_uses(const struct call_graph *g, uint32_t n) {
  const struct call_node *c = &g->nodes[n];
  return c->uses > c->copied_uses ? c->uses : c->copied_uses;
}

bool call_graph_is_openmp_runtime(const struct nvm_function *f) {
  static const char *const prefixes[] = {"__kmpc", "_ZN4ompx", "omp_"};
  struct nvm_text name = module_text(f->module, f->symbol.name);
  struct module_flag flag;
  uint32_t at;
  bool named = false;
  for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
    size_t length = strlen(prefixes[k]);
    named |= name.length >= length && memcmp(name.bytes, prefixes[k], length) == 0;
  }
  return named && module_flag_find(f->module, (struct nvm_text){"openmp-device", 13}, &flag, &at);
}

bool call_graph_is_noinline(const struct nvm_function *f) {
  return function_attribute(f, ATTR_NOINLINE) && !call_graph_is_openmp_runtime(f);
}

bool call_graph_is_passed_on(const struct call_graph *g, uint32_t n) {
  const struct call_node *c = &g->nodes[n];
  const struct nvm_function *f = g->m->functions.data[n];
  return call_graph_uses(g, n) == 1 && !c->kept && c->copyable && !c->recursive &&
         !call_graph_is_noinline(f) && !function_attribute(f, ATTR_OPTNONE);
}

struct visit {
  uint32_t function, next_call;
};

struct ordering {
  struct call_graph *g;
  uint32_t *stack, stack_count; /* Tarjan's */
  uint32_t entered;             /* preorder number given last */
  struct visit *visits;         /* the path from the root */
  uint32_t depth;
};

static void enter(struct ordering *o, uint32_t n) {
  struct call_node *c = &o->g->nodes[n];
  c->component = c->low = ++o->entered;
  c->on_stack = true;
  o->stack[o->stack_count++] = n;
  o->visits[o->depth++] = (struct visit){n, 0};
}

/* Ends the component whose first member is n. */
static void close_component(struct ordering *o, uint32_t n) {
  struct call_graph *g = o->g;
  uint32_t size = 0, member;
  do {
    member = o->stack[--o->stack_count];
    g->nodes[member].on_stack = false;
    g->order[g->order_count++] = member;
    size++;
  } while (member != n);
  for (uint32_t k = 0; size > 1 && k < size; k++)
    g->nodes[g->order[g->order_count - 1 - k]].recursive = true;
}

static void visit_next(struct ordering *o) {
  struct call_node *all = o->g->nodes;
  struct visit *v = &o->visits[o->depth - 1];
  struct call_node *c = &all[v->function];
  if (v->next_call < c->count) {
    uint32_t callee = o->g->callees.data[c->first + v->next_call++];
    if (callee == v->function) c->recursive = true;
    if (all[callee].component == 0) enter(o, callee);
    else if (all[callee].on_stack && all[callee].component < c->low) c->low = all[callee].component;
    return;
  }
  if (c->low == c->component) close_component(o, v->function);
  o->depth--;
  if (o->depth && c->low < all[o->visits[o->depth - 1].function].low)
    all[o->visits[o->depth - 1].function].low = c->low;
}

static bool find_order(struct call_graph *g) {
  struct ordering o = {.g = g};
  g->order = arena_alloc(g->arena, g->count * sizeof *g->order);
  o.stack = arena_alloc(g->arena, g->count * sizeof *o.stack);
  o.visits = arena_alloc(g->arena, g->count * sizeof *o.visits);
  if (!g->order || !o.stack || !o.visits) return false;
  for (uint32_t n = 1; n < g->count; n++) {
    if (g->nodes[n].component || function_is_declaration(g->m->functions.data[n])) continue;
    enter(&o, n);
    while (o.depth) visit_next(&o);
  }
  return true;
}

/* The bodies that function n will have if each of its calls, `uses`, is inlined that must be. */
static uint32_t count_bodies(const struct call_graph *g, uint32_t n, uint32_t uses) {
  const struct call_node *c = &g->nodes[n];
  bool copied = function_attribute(g->m->functions.data[n], ATTR_ALWAYSINLINE) && c->copyable &&
                !c->recursive && uses > 0;
  return copied ? uses + c->kept : 1;
}

/* Counts each call in an alwaysinline function as often as that function will be copied: what it
 * calls once would be copied with it. */
static void count_copied_uses(struct call_graph *g) {
  enum { MANY = 1 << 20 };
  for (uint32_t k = g->order_count; k-- > 0;) { /* callers first */
    struct call_node *c = &g->nodes[g->order[k]];
    uint32_t bodies = count_bodies(g, g->order[k], c->copied_uses);
    if (c->copied_uses <= c->uses) c->copied_uses = 0;
    for (uint32_t j = 0; j < c->count; j++) {
      uint32_t *uses = &g->nodes[g->callees.data[c->first + j]].copied_uses;
      *uses = *uses + bodies < MANY ? *uses + bodies : MANY;
    }
  }
}

/* Keeps functions that metadata refers to. */
static void keep_in_metadata(struct call_graph *g) {
  const struct meta_table *t = &g->m->metadata;
  for (uint32_t k = 0; k < t->items.count; k++) {
    const struct meta_item *item = &t->items.data[k];
    if (item->kind == META_VALUE && value_kind(item->value) == VALUE_FUNCTION)
      g->nodes[value_index(item->value)].kept = true;
  }
}

bool call_graph_build(struct call_graph *g, struct nvm_module *m, struct arena *arena) {
  *g = (struct call_graph){.m = m, .arena = arena, .count = m->functions.count};
  struct callers callers;
  g->nodes = arena_alloc(arena, g->count * sizeof *g->nodes);
  if (!g->nodes || !callers_find(&callers, m, arena)) return false;
  g->nodes[0].kept = true; /* dropped calls refer to it */
  keep_in_metadata(g);
  for (uint32_t n = 1; n < g->count; n++) {
    g->nodes[n].kept |= callers.taken[n] || module_must_keep(m, value_make(VALUE_FUNCTION, n));
    if (!survey(g, n)) return false;
  }
  if (!find_order(g)) return false;
  for (uint32_t k = g->order_count; k-- > 0;) remove_if_dead(g, g->order[k]); /* callers first */
  count_copied_uses(g);
  return true;
}
