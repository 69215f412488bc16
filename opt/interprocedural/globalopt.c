/* globalopt: marks variables that are never written as constant, and removes stores to shared
 * variables that are never read.
 *
 * Purpose:   `static __device__` and `__constant__` tables without const, as in libdevice's sines
 *            and in hashes: loads with known indices become their values, others from global memory
 *            ld.global.nc. Generated kernels fill shared arrays that only some of them read.
 * Algorithm: a local variable with an initializer, which nothing but the module can reach, is
 *            constant if each use of its address, through getelementptr and casts, reads or
 *            compares. A shared one is unread if each use writes or compares. It is unread in a
 *            kernel if that holds for the kernel and the functions that it may call, since no other
 *            code is executed in its blocks.
 * Requires:  nothing; finds more after inlining.
 * Preserves: the control flow.
 * Cost:      linear in constants and operands; nothing more in modules without such variables.
 * Omits:     addresses that pass a phi, a select or a call; variables written once; unread ones in
 *            global memory, which a debugger or the host may read.
 * Tests:     check/opt/globalopt*.nvir. */
#include <string.h>

#include "analysis/effects.h"
#include "ir/intrinsic.h"
#include "opt/passes.h"

/* How the module uses a variable; USES_OTHERWISE also of one that is no candidate. */
enum { USES_READ = 1, USES_WRITE = 2, USES_OTHERWISE = 4 };

/* A call of a definition. */
struct call_edge {
  uint32_t caller, callee;
};
enum { MAX_SHARED = 64 /* variables */, MAX_ROUNDS = 16 /* over all calls */ };

struct address_roots {
  struct nvm_module *m;
  struct arena *arena;
  VEC(struct call_edge) calls;
  uint32_t function; /* the current one; 0: none */
  uint64_t *reads;   /* by function, 0 for all: the shared variables, by their `bit`, that it may
                      * read or whose address it lets escape */
  uint64_t *bit;     /* by variable: a bit, if it is shared and among the first MAX_SHARED */
  uint64_t shared;   /* all such bits */
  uint64_t unread;   /* those that nothing reads in the blocks of the current kernel */
  struct nvm_value *of_constant; /* the variable that it is an address in; none: in no variable */
  struct nvm_value *of_inst;     /* the same, in the current function, if is_known */
  bool *is_known;
  uint8_t *uses; /* by variable: USES_ bits */
  bool is_odd;   /* a constant is older than its operands */
};

static bool is_shared(const struct nvm_global *g) { return g->address_space == 3; }

/* Whether it can be found to be constant or, if it is shared, unread. */
static bool is_candidate(const struct nvm_module *m, const struct nvm_global *g) {
  bool initialized = !value_is_none(g->initializer) &&
                     !const_is_undef_or_poison(m, g->initializer) && !g->externally_initialized;
  bool reachable = g->address_space == 0 || g->address_space == 1 || g->address_space == 4;
  return !g->is_constant && symbol_is_local(&g->symbol) && !g->is_alias && !g->is_ifunc &&
         !g->symbol.declared_only && !g->symbol.thread_local &&
         (is_shared(g) || (reachable && initialized));
}

/* Whether the result of op points into the same object as its first operand. */
static bool follows(enum op op, const struct type_table *t, struct nvm_type result) {
  return (op == OP_GEP || op == OP_ADDRSPACECAST || op == OP_BITCAST) && type_is_ptr(t, result);
}

static struct nvm_value root_of_constant(const struct address_roots *r, struct nvm_value v) {
  if (value_kind(v) == VALUE_GLOBAL) return v;
  return value_kind(v) == VALUE_CONST ? r->of_constant[value_index(v)] : VALUE_NULL;
}

static void mark_used(struct address_roots *r, struct nvm_value root, uint8_t how) {
  if (value_kind(root) != VALUE_GLOBAL) return;
  r->uses[value_index(root)] |= how;
  if (how != USES_WRITE) r->reads[r->function] |= r->bit[value_index(root)];
}

static void mark_escaped(struct address_roots *r, struct nvm_value root) {
  mark_used(r, root, USES_OTHERWISE);
}

/* Operands of a constant are older than it. */
static void visit_constant(struct address_roots *r, uint32_t n) {
  struct nvm_value v = value_make(VALUE_CONST, n);
  const struct constant_info *c = constant_info(&r->m->constants, v);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return;
  bool chain = c->kind == CONST_EXPR && follows((enum op)c->op, &r->m->types, c->type);
  for (uint32_t k = 0; k < c->count; k++) {
    struct nvm_value operand = const_operand(r->m, v, k);
    r->is_odd |= value_kind(operand) == VALUE_CONST && value_index(operand) >= n;
    struct nvm_value root = root_of_constant(r, operand);
    if (chain && k == 0) r->of_constant[n] = root;
    else mark_escaped(r, root);
  }
}

/* The instruction that `i` follows; NULL if it is none, or the end of the chain. */
static const struct nvm_inst *chain_above(const struct nvm_function *f, const struct nvm_inst *i) {
  return follows((enum op)i->op, &f->module->types, i->type) ? value_inst(f, inst_operand(f, i, 0))
                                                             : NULL;
}

/* Walks up to an address whose root is known, or to the end, and down again. A chain in unreachable
 * code may have no end. */
static struct nvm_value root_of(struct address_roots *r, const struct nvm_function *f,
                                struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return root_of_constant(r, v);
  struct nvm_value top = v, root = VALUE_NULL;
  const struct nvm_inst *i = value_inst(f, top);
  for (uint32_t n = 0; n < f->insts.count && !r->is_known[value_index(top)]; n++) {
    if (!chain_above(f, i)) {
      if (follows((enum op)i->op, &f->module->types, i->type))
        root = root_of_constant(r, inst_operand(f, i, 0));
      break;
    }
    top = inst_operand(f, i, 0);
    i = value_inst(f, top);
  }
  if (r->is_known[value_index(top)]) root = r->of_inst[value_index(top)];
  for (; !r->is_known[value_index(v)]; v = inst_operand(f, value_inst(f, v), 0)) {
    r->is_known[value_index(v)] = true;
    r->of_inst[value_index(v)] = root;
    if (value_equal(v, top)) break;
  }
  return root;
}

/* What a call does with a variable at operand k: USES_ bits. */
static uint8_t use_by_call(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  uint8_t writes = k == 0 ? USES_WRITE : USES_OTHERWISE;
  switch (call_intrinsic(f, i)) {
    case INTRINSIC_memset:
    case INTRINSIC_memset_inline: return call_copy_is_volatile(f, i) ? USES_OTHERWISE : writes;
    case INTRINSIC_memcpy:
    case INTRINSIC_memcpy_inline:
    case INTRINSIC_memmove:
      if (k == 1) return USES_READ;
      return call_copy_is_volatile(f, i) ? USES_OTHERWISE : writes;
    case INTRINSIC_nvvm_ldg_global_i:
    case INTRINSIC_nvvm_ldg_global_f:
    case INTRINSIC_nvvm_ldg_global_p: return k == 0 ? USES_READ : USES_OTHERWISE;
    default: return USES_OTHERWISE;
  }
}

/* What i does with a variable whose address is its operand k: USES_ bits, none if it compares it or
 * makes another address. */
static uint8_t use_of(const struct nvm_function *f, const struct nvm_inst *i, uint32_t k) {
  switch (i->op) {
    case OP_LOAD: return effects_is_plain_access(i) ? USES_READ : USES_OTHERWISE;
    case OP_STORE: return k == 1 && effects_is_plain_access(i) ? USES_WRITE : USES_OTHERWISE;
    case OP_ICMP:
    case OP_DBG_RECORD: return 0;
    case OP_CALL: return use_by_call(f, i, k);
    default: return k == 0 && follows(i->op, &f->module->types, i->type) ? 0 : USES_OTHERWISE;
  }
}

/* Notes a call. A function that is not defined here, or not known, may call any but a kernel. */
static bool note_call(struct address_roots *r, const struct nvm_function *f,
                      const struct nvm_inst *i) {
  const struct nvm_function *g = call_function(f, i);
  if (i->op != OP_CALL || (g && g->intrinsic) || !r->shared) return true;
  bool defined = g && !function_is_declaration(g);
  struct call_edge e = {r->function, defined ? value_index(call_callee(f, i)) : 0};
  return VEC_PUSH(r->arena, &r->calls, e);
}

static bool visit_function(struct address_roots *r, uint32_t n) {
  const struct nvm_function *f = r->m->functions.data[n];
  memset(r->is_known, 0, f->insts.count * sizeof *r->is_known);
  mark_escaped(r, root_of_constant(r, f->prefix));
  mark_escaped(r, root_of_constant(r, f->prologue));
  mark_escaped(r, root_of_constant(r, f->personality));
  r->function = n;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        uint8_t how = use_of(f, i, k);
        if (how) mark_used(r, root_of(r, f, inst_operand(f, i, k)), how);
      }
      if (!note_call(r, f, i)) return false;
    }
  r->function = 0;
  return true;
}

/* Annotations are nodes; debug records refer to values without one, or by a DIArgList. */
static void visit_metadata(struct address_roots *r) {
  const struct meta_table *t = &r->m->metadata;
  struct nvm_str list = strtab_find(&r->m->strings, "DIArgList", 9);
  for (uint32_t n = 1; n < t->nodes.count; n++) {
    const struct meta_node *node = &t->nodes.data[n];
    for (uint32_t k = 0; k < node->count; k++) {
      const struct meta_item *item = meta_item(t, meta_operand(t, node, k));
      if (item->kind == META_VALUE && !(list.index && node->name.index == list.index))
        mark_escaped(r, root_of_constant(r, item->value));
    }
  }
}

static bool visit_module(struct address_roots *r) {
  const struct nvm_module *m = r->m;
  for (uint32_t n = 1; n < m->constants.infos.count; n++) visit_constant(r, n);
  for (uint32_t n = 1; n < m->globals.count; n++) {
    mark_escaped(r, root_of_constant(r, m->globals.data[n].initializer));
    mark_escaped(r, root_of_constant(r, m->globals.data[n].aliasee));
  }
  visit_metadata(r);
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (!function_is_declaration(m->functions.data[n]) && !visit_function(r, n)) return false;
  return true;
}

/* Adds what callees read. False: the chains of calls are too long. */
static bool close_reads(struct address_roots *r) {
  const struct nvm_module *m = r->m;
  bool changed = true;
  for (int round = 0; changed; round++) {
    if (round == MAX_ROUNDS) return false;
    changed = false;
    uint64_t unknown = 0; /* what a function that is not known reads */
    for (uint32_t n = 1; n < m->functions.count; n++)
      if (!function_is_kernel(m->functions.data[n])) unknown |= r->reads[n];
    for (uint32_t k = 0; k < r->calls.count; k++) {
      struct call_edge e = r->calls.data[k];
      uint64_t reads = r->reads[e.caller] | (e.callee ? r->reads[e.callee] : unknown);
      changed |= reads != r->reads[e.caller];
      r->reads[e.caller] = reads;
    }
  }
  return true;
}

static bool allocate_roots(struct address_roots *r) {
  const struct nvm_module *m = r->m;
  uint32_t most = 1;
  for (uint32_t n = 1; n < m->functions.count; n++)
    if (m->functions.data[n]->insts.count > most) most = m->functions.data[n]->insts.count;
  r->of_constant = arena_alloc(r->arena, m->constants.infos.count * sizeof *r->of_constant);
  r->of_inst = arena_alloc(r->arena, most * sizeof *r->of_inst);
  r->is_known = arena_alloc(r->arena, most * sizeof *r->is_known);
  r->reads = arena_alloc(r->arena, m->functions.count * sizeof *r->reads);
  return r->of_constant && r->of_inst && r->is_known && r->reads;
}

static bool is_unread(const struct address_roots *r, struct nvm_value root) {
  uint32_t n = value_index(root);
  if (value_kind(root) != VALUE_GLOBAL || !is_shared(&r->m->globals.data[n])) return false;
  return r->uses[n] == USES_WRITE || (r->bit[n] & r->unread);
}

/* Removes stores, copies and fills to unread variables. Returns their number. */
static uint32_t remove_writes(struct address_roots *r, struct nvm_function *f) {
  uint32_t removed = 0;
  memset(r->is_known, 0, f->insts.count * sizeof *r->is_known);
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id id = function_block(f, b)->first, next; !inst_is_none(id); id = next) {
      const struct nvm_inst *i = function_inst(f, id);
      next = i->next;
      if (i->op != OP_STORE && i->op != OP_CALL) continue;
      uint32_t k = i->op == OP_STORE;
      if (use_of(f, i, k) != USES_WRITE || !is_unread(r, root_of(r, f, inst_operand(f, i, k))))
        continue;
      inst_remove(f, id);
      removed++;
    }
  return removed;
}

/* Returns the number of writes. */
static uint32_t remove_all_writes(struct address_roots *r) {
  const struct nvm_module *m = r->m;
  uint32_t removed = 0;
  uint64_t written = 0, shared = 0; /* shared variables */
  for (uint32_t n = 1; n < m->globals.count; n++)
    if (is_shared(&m->globals.data[n]) && r->uses[n] & USES_WRITE) {
      written |= r->bit[n];
      shared += 1;
    }
  bool closed = written && close_reads(r);
  for (uint32_t n = 1; n < m->functions.count && shared; n++) {
    struct nvm_function *f = m->functions.data[n];
    bool kernel = closed && function_is_kernel(f);
    r->unread = kernel ? written & ~(r->reads[n] | r->reads[0]) : 0;
    if (!function_is_declaration(f)) removed += remove_writes(r, f);
  }
  return removed;
}

/* Whether there are any. */
static bool find_candidates(struct address_roots *r) {
  const struct nvm_module *m = r->m;
  bool any = false;
  uint32_t shared = 0;
  for (uint32_t n = 1; n < m->globals.count; n++) {
    bool candidate = is_candidate(m, &m->globals.data[n]);
    if (!candidate) r->uses[n] = USES_OTHERWISE;
    else if (is_shared(&m->globals.data[n]) && shared < MAX_SHARED)
      r->bit[n] = UINT64_C(1) << shared++;
    r->shared |= r->bit[n];
    any |= candidate;
  }
  return any;
}

enum nvm_status globalopt_run(struct nvm_module *m, struct pass_env *env, bool *changed) {
  struct address_roots r = {.m = m, .arena = env->arena};
  r.uses = arena_alloc(env->arena, m->globals.count * sizeof *r.uses);
  r.bit = arena_alloc(env->arena, m->globals.count * sizeof *r.bit);
  if (!r.uses || !r.bit) return NVM_OUT_OF_MEMORY;
  if (!find_candidates(&r)) return NVM_OK;
  if (!allocate_roots(&r) || !visit_module(&r)) return NVM_OUT_OF_MEMORY;
  if (r.is_odd) return NVM_OK;
  for (uint32_t n = 1; n < m->globals.count; n++) {
    struct nvm_global *g = &m->globals.data[n];
    if (is_shared(g) || (r.uses[n] & (USES_WRITE | USES_OTHERWISE))) continue;
    g->is_constant = true;
    ++*env->statistic;
    *changed = true;
  }
  uint32_t removed = remove_all_writes(&r);
  *env->statistic += removed;
  *changed |= removed != 0;
  return NVM_OK;
}
