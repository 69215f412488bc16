/* infer-alignment: raises the alignment of accesses to what is known of their addresses.
 *
 * Purpose:   wide accesses require proof of alignment; front ends write the element type's.
 * Algorithm: optimistic data flow on log2 of the alignment of every pointer, from variables,
 *            allocas, `align` of parameters and results, and llvm.assume. A getelementptr has at
 *            least the alignment of its base and of its offset (scales times known trailing
 *            zeros), a phi the least of its inputs. As most objects are aligned like their
 *            accesses, a first solution that ignores offsets finds the accesses that may gain.
 *            Few real modules change (docs/passes.md), since clang writes most alignments; it stays
 *            for code that states them as assumptions or attributes only.
 * Requires:  nothing.
 * Preserves: everything but the alignments.
 * Cost:      linear in operands times the rounds: two or three for each of two solutions, at most
 *            16; and in accesses times the assumptions, at most MAX_ASSUMPTIONS.
 * Omits:     raising the alignment of variables; block copies; assumptions about integers.
 * Tests:     check/opt/infer-alignment.nvir. */
#include "ir/dominance.h"
#include "ir/evalint.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "opt/passes.h"

enum {
  UNKNOWN_LOG2 = 31, /* log2; also "not known yet" */
  MAX_WRITTEN = 7,   /* log2 of the largest alignment that is written: a cache line */
  MAX_ROUNDS = 16,
  MAX_ASSUMPTIONS = 64,
};

struct assumption {
  struct nvm_value pointer;
  struct nvm_inst_id at;
  uint8_t log2;
};

/* An instruction that computes a pointer. If it adds to a base, `zeros` is the number of trailing
 * zeros of the offset; before add_offsets() `base` is the object and `zeros` UNKNOWN_LOG2. */
struct pointer {
  struct nvm_inst_id inst;
  struct nvm_value base; /* VALUE_NULL: not an addition */
  uint8_t zeros;
  bool is_needed; /* an access depends on it */
};

/* A load, store or atomic. */
struct candidate {
  struct nvm_inst_id inst;
  uint32_t assumed; /* number of assumptions before it in layout order */
};

struct aligner {
  struct nvm_function *f;
  struct arena *arena;
  struct dominance dominance;
  uint8_t *log2;                  /* by instruction */
  VEC(struct pointer) pointers;   /* in layout order */
  VEC(struct candidate) accesses; /* in layout order */
  VEC(struct assumption) assumptions;
};

static uint8_t trailing_zeros(uint64_t x) {
  return (uint8_t)evalint_trailing_zeros(UNKNOWN_LOG2, x);
}

static uint8_t attribute_log2(const struct aligner *g, struct nvm_attrset s) {
  uint32_t align = attrset_align(&g->f->module->attributes, s);
  return align ? trailing_zeros(align) : 0;
}

static uint8_t type_log2(const struct aligner *g, struct nvm_type type) {
  const struct nvm_module *m = g->f->module;
  return type_is_sized(&m->types, type) ? trailing_zeros(layout_align(&m->layout, &m->types, type))
                                        : 0;
}

static uint8_t object_log2(const struct aligner *g, struct nvm_value v) {
  const struct nvm_module *m = g->f->module;
  const struct attr_table_data *t = &m->attributes;
  if (value_kind(v) == VALUE_ARG) {
    struct nvm_attrset s = attrlist_parameter(t, g->f->attributes, value_index(v));
    const struct nvm_attr *byval = attrset_find(t, s, ATTR_BYVAL);
    uint8_t own = byval && byval->type.index ? type_log2(g, byval->type) : 0;
    uint8_t written = attribute_log2(g, s);
    return written > own ? written : own;
  }
  if (value_kind(v) == VALUE_GLOBAL) {
    const struct nvm_global *variable = module_global(m, v);
    if (variable->is_alias) return 0;
    return variable->align_log2 ? variable->align_log2 - 1 : type_log2(g, variable->value_type);
  }
  return const_is_undef_or_poison(m, v) || const_is_zero(m, v) ? UNKNOWN_LOG2 : 0;
}

static uint8_t value_log2(const struct aligner *g, struct nvm_value v) {
  if (value_kind(v) == VALUE_INST) return g->log2[value_index(v)];
  if (value_kind(v) != VALUE_CONST) return object_log2(g, v);
  struct alias_address a = alias_decompose(g->f, v);
  uint8_t base = object_log2(g, a.base),
          offset = a.offset ? trailing_zeros((uint64_t)a.offset) : UNKNOWN_LOG2;
  return a.term_count ? 0 : base < offset ? base : offset;
}

static bool note_pointer(struct aligner *g, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(g->f, id);
  struct pointer p = {.inst = id, .zeros = UNKNOWN_LOG2};
  if (i->op == OP_GEP || i->op == OP_ADDRSPACECAST || i->op == OP_BITCAST)
    p.base = alias_underlying_object(g->f, value_of_inst(id));
  return VEC_PUSH(g->arena, &g->pointers, p);
}

static uint8_t address_log2(const struct aligner *g, const struct pointer *p) {
  if (value_equal(p->base, value_of_inst(p->inst))) return 0;
  uint8_t base = value_log2(g, p->base);
  return p->zeros < base ? p->zeros : base;
}

static uint8_t transfer(const struct aligner *g, const struct pointer *p) {
  const struct nvm_inst *i = function_inst(g->f, p->inst);
  uint8_t least = UNKNOWN_LOG2;
  switch ((enum op)i->op) {
    case OP_ALLOCA: return trailing_zeros(alloca_align(g->f, i));
    case OP_PHI:
    case OP_SELECT:
      for (uint32_t k = i->op == OP_SELECT; k < i->operand_count; k += i->op == OP_PHI ? 2 : 1) {
        uint8_t n = value_log2(g, inst_operand(g->f, i, k));
        least = n < least ? n : least;
      }
      return least;
    case OP_CALL:
      return attribute_log2(
          g, attrlist_info(&g->f->module->attributes, call_site_of(g->f, i)->attributes)->result);
    case OP_GEP:
    case OP_ADDRSPACECAST:
    case OP_BITCAST: return address_log2(g, p);
    default: return 0;
  }
}

/* Iterates over all pointers in layout order, in which most operands come before their users. False
 * if there is no fixpoint after MAX_ROUNDS, as in deeply nested loops. */
static bool solve(struct aligner *g) {
  bool moved = true;
  for (uint32_t k = 0; k < g->pointers.count; k++)
    g->log2[g->pointers.data[k].inst.index] = UNKNOWN_LOG2;
  for (int round = 0; moved && round < MAX_ROUNDS; round++) {
    moved = false;
    for (uint32_t k = 0; k < g->pointers.count; k++) {
      const struct pointer *p = &g->pointers.data[k];
      uint8_t now = transfer(g, p);
      moved = moved || now < g->log2[p->inst.index];
      if (now < g->log2[p->inst.index]) g->log2[p->inst.index] = now;
    }
  }
  return !moved;
}

/* --- Offsets --- */

/* The pointers that accesses depend on. */
struct dependence {
  struct aligner *g;
  uint32_t *numbers; /* by instruction: index + 1 into `pointers` */
  VEC(uint32_t) work;
};

static bool depend_on(struct dependence *d, struct nvm_value v) {
  uint32_t n = value_kind(v) == VALUE_INST ? d->numbers[value_index(v)] : 0;
  if (n == 0 || d->g->pointers.data[n - 1].is_needed) return true;
  d->g->pointers.data[n - 1].is_needed = true;
  return VEC_PUSH(d->g->arena, &d->work, n - 1);
}

static bool depend_on_operands(struct dependence *d, struct pointer *p) {
  const struct nvm_function *f = d->g->f;
  const struct nvm_inst *i = function_inst(f, p->inst);
  if (!value_is_none(p->base)) {
    struct alias_address a = alias_decompose(f, value_of_inst(p->inst));
    uint32_t zeros = alias_offset_zeros(f, &a);
    p->base = a.base; /* an inner address if there are too many terms */
    p->zeros = zeros < UNKNOWN_LOG2 ? (uint8_t)zeros : UNKNOWN_LOG2;
    return depend_on(d, a.base);
  }
  for (uint32_t k = 0; (i->op == OP_PHI || i->op == OP_SELECT) && k < i->operand_count; k++)
    if (!depend_on(d, inst_operand(f, i, k))) return false;
  return true;
}

/* Keeps the pointers that accesses depend on, and computes their offsets. */
static bool add_offsets(struct aligner *g) {
  const struct nvm_function *f = g->f;
  uint32_t kept = 0;
  struct dependence d = {.g = g,
                         .numbers = arena_alloc(g->arena, f->insts.count * sizeof *d.numbers)};
  if (!d.numbers) return false;
  for (uint32_t k = 0; k < g->pointers.count; k++)
    d.numbers[g->pointers.data[k].inst.index] = k + 1;
  for (uint32_t k = 0; k < g->accesses.count; k++) {
    const struct nvm_inst *i = function_inst(f, g->accesses.data[k].inst);
    if (!depend_on(&d, inst_operand(f, i, i->op == OP_STORE))) return false;
  }
  while (d.work.count)
    if (!depend_on_operands(&d, &g->pointers.data[d.work.data[--d.work.count]])) return false;
  for (uint32_t k = 0; k < g->pointers.count; k++)
    if (g->pointers.data[k].is_needed) g->pointers.data[kept++] = g->pointers.data[k];
  g->pointers.count = kept;
  return true;
}

/* --- Assumptions --- */

/* call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16) ] */
static bool note_assumptions(struct aligner *g, struct nvm_inst_id id) {
  const struct nvm_function *f = g->f;
  const struct nvm_inst *i = function_inst(f, id);
  if (i->op != OP_CALL || call_intrinsic(f, i) != INTRINSIC_assume) return true;
  const struct call_site *site = call_site_of(f, i);
  uint32_t at = call_arg_count(f, i);
  for (uint32_t k = 0; k < site->bundle_count; k++) {
    const struct operand_bundle *bundle = &f->module->bundles.data[site->first_bundle + k];
    struct nvm_text tag = module_text(f->module, bundle->tag);
    nvm_u128 bytes = 0;
    if (text_is(tag, "align") && bundle->count == 2 &&
        const_is_int(f->module, inst_operand(f, i, at + 1), &bytes) && bytes) {
      struct assumption a = {inst_operand(f, i, at), id, trailing_zeros((uint64_t)bytes)};
      if (!VEC_PUSH(g->arena, &g->assumptions, a)) return false;
    }
    at += bundle->count;
  }
  return true;
}

/* The alignment of the pointer by the assumptions that hold at the access. */
static uint8_t assumed_log2(const struct aligner *g, struct candidate access,
                            struct nvm_value pointer) {
  const struct nvm_function *f = g->f;
  uint8_t most = 0;
  for (uint32_t k = 0; k < g->assumptions.count; k++) {
    struct assumption a = g->assumptions.data[k];
    if (a.log2 <= most) continue;
    struct alias_address x = alias_decompose(f, pointer), y = alias_decompose(f, a.pointer);
    if (!alias_same_shape(&x, &y)) continue;
    uint64_t distance = (uint64_t)x.offset - (uint64_t)y.offset;
    uint8_t log2 =
        distance && trailing_zeros(distance) < a.log2 ? trailing_zeros(distance) : a.log2;
    struct nvm_block from = function_inst(f, a.at)->block,
                     to = function_inst(f, access.inst)->block;
    bool holds =
        from.index == to.index ? k < access.assumed : dominance_dominates(&g->dominance, from, to);
    if (holds && log2 > most) most = log2;
  }
  return most;
}

/* --- The change --- */

static bool is_access(const struct nvm_inst *i) {
  return i->op == OP_LOAD || i->op == OP_STORE || i->op == OP_ATOMICRMW || i->op == OP_CMPXCHG;
}

/* log2 of the alignment of the access if it is more than is written, else 0. */
static uint8_t improved_log2(const struct aligner *g, struct candidate access) {
  const struct nvm_function *f = g->f;
  const struct nvm_inst *i = function_inst(f, access.inst);
  struct nvm_value pointer = inst_operand(f, i, i->op == OP_STORE);
  uint8_t known = value_log2(g, pointer), assumed = assumed_log2(g, access, pointer);
  if (assumed > known) known = assumed;
  if (known > MAX_WRITTEN) known = MAX_WRITTEN;
  if (known == 0) return 0;
  struct memory_access how = memory_access_unpack(i->aux);
  struct nvm_type type = i->op == OP_STORE ? value_type(f, inst_operand(f, i, 0)) : i->type;
  uint8_t now = how.align_log2 ? (uint8_t)(how.align_log2 - 1) : type_log2(g, type);
  return known > now ? known : 0;
}

/* Keeps the accesses whose alignment may be raised. Whether there are any. */
static bool keep_improvable(struct aligner *g) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < g->accesses.count; k++)
    if (improved_log2(g, g->accesses.data[k])) g->accesses.data[kept++] = g->accesses.data[k];
  g->accesses.count = kept;
  return kept != 0;
}

static bool raise_alignment(struct aligner *g, struct candidate access) {
  uint8_t log2 = improved_log2(g, access);
  if (log2 == 0) return false;
  struct nvm_inst *i = function_inst(g->f, access.inst);
  struct memory_access how = memory_access_unpack(i->aux);
  how.align_log2 = (log2 + 1) & 63;
  i->aux = memory_access_pack(how);
  return true;
}

enum nvm_status infer_alignment_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct aligner g = {.f = f, .arena = env->arena};
  g.log2 = arena_alloc(env->arena, f->insts.count);
  if (!g.log2) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      struct candidate access = {i, g.assumptions.count};
      if (is_access(inst) && !VEC_PUSH(g.arena, &g.accesses, access)) return NVM_OUT_OF_MEMORY;
      if (type_is_ptr(&f->module->types, inst->type) && !note_pointer(&g, i))
        return NVM_OUT_OF_MEMORY;
      if (!note_assumptions(&g, i)) return NVM_OUT_OF_MEMORY;
    }
  if (g.assumptions.count > MAX_ASSUMPTIONS) g.assumptions.count = MAX_ASSUMPTIONS;
  if (g.assumptions.count && !flow_dominance(env->flow, f, &g.dominance)) return NVM_OUT_OF_MEMORY;
  if (!solve(&g) || !keep_improvable(&g)) return NVM_OK;
  if (!add_offsets(&g)) return NVM_OUT_OF_MEMORY;
  if (!solve(&g)) return NVM_OK;
  uint64_t raised = 0;
  for (uint32_t k = 0; k < g.accesses.count; k++) raised += raise_alignment(&g, g.accesses.data[k]);
  *env->statistic += raised;
  *changed = raised != 0;
  return NVM_OK;
}
