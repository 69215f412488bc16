/* infer-alignment: raises the alignment of accesses to what is known of their addresses.
 *
 * Purpose:   wide accesses require proof of alignment; front ends write the element type's.
 * Algorithm: an address is as aligned as the least of the objects it may point into and of the
 *            offsets added on the way (known trailing zeros times scales). A walk backwards from
 *            each access visits them all, through phis and selects, each once; it stops where no
 *            gain is left, for most accesses at the first object. Objects are variables, allocas,
 *            and `align` of parameters and results; llvm.assume counts where it dominates.
 *            Few real modules change (docs/passes.md), since clang writes most alignments; it stays
 *            for code that states them as assumptions or attributes only.
 * Requires:  nothing.
 * Preserves: everything but the alignments.
 * Cost:      linear in accesses times the assumptions, at most MAX_ASSUMPTIONS, and times the phis
 *            and selects before an address, at most MAX_ADDRESSES.
 * Omits:     raising the alignment of variables; block copies; assumptions about integers.
 * Tests:     check/opt/infer-alignment.nvir. */
#include "ir/dominance.h"
#include "ir/evalint.h"
#include "ir/intrinsic.h"
#include "analysis/alias.h"
#include "opt/passes.h"

enum {
  MAX_LOG2 = 31,
  MAX_WRITTEN = 7, /* log2 of the largest alignment that is written: a cache line */
  MAX_ADDRESSES = 64,
  MAX_ASSUMPTIONS = 64,
};

struct assumption {
  struct nvm_value pointer;
  struct nvm_inst_id at;
  uint8_t log2;
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
  VEC(struct candidate) accesses; /* in layout order */
  VEC(struct assumption) assumptions;
  uint32_t *seen, walk; /* by instruction: the last walk that visited it */
};

static uint8_t trailing_zeros(uint64_t x) { return (uint8_t)evalint_trailing_zeros(MAX_LOG2, x); }

static uint8_t attribute_log2(const struct aligner *g, struct nvm_attrset s) {
  uint32_t align = attrset_align(&g->f->module->attributes, s);
  return align ? trailing_zeros(align) : 0;
}

static uint8_t type_log2(const struct aligner *g, struct nvm_type type) {
  const struct nvm_module *m = g->f->module;
  return type_is_sized(&m->types, type) ? trailing_zeros(layout_align(&m->layout, &m->types, type))
                                        : 0;
}

static uint8_t argument_log2(const struct aligner *g, uint32_t k) {
  const struct attr_table_data *t = &g->f->module->attributes;
  struct nvm_attrset s = attrlist_parameter(t, g->f->attributes, k);
  const struct nvm_attr *byval = attrset_find(t, s, ATTR_BYVAL);
  uint8_t own = byval && byval->type.index ? type_log2(g, byval->type) : 0;
  uint8_t written = attribute_log2(g, s);
  return written > own ? written : own;
}

static uint8_t object_log2(const struct aligner *g, struct nvm_value v) {
  const struct nvm_module *m = g->f->module;
  const struct nvm_inst *i = value_inst(g->f, v);
  if (value_kind(v) == VALUE_ARG) return argument_log2(g, value_index(v));
  if (value_kind(v) == VALUE_GLOBAL) {
    const struct nvm_global *variable = module_global(m, v);
    if (variable->is_alias) return 0;
    return variable->align_log2 ? variable->align_log2 - 1 : type_log2(g, variable->value_type);
  }
  if (!i) return const_is_undef_or_poison(m, v) || const_is_zero(m, v) ? MAX_LOG2 : 0;
  if (i->op == OP_ALLOCA) return trailing_zeros(alloca_align(g->f, i));
  if (i->op != OP_CALL) return 0;
  return attribute_log2(g,
                        attrlist_info(&m->attributes, call_site_of(g->f, i)->attributes)->result);
}

/* --- Addresses --- */

/* The addresses that a walk has still to visit. */
struct walk {
  struct nvm_value at[MAX_ADDRESSES];
  uint32_t count;
  bool too_many;
};

static void add_address(struct aligner *g, struct walk *w, struct nvm_value v) {
  uint32_t *seen = value_kind(v) == VALUE_INST ? &g->seen[value_index(v)] : NULL;
  if (seen && *seen == g->walk) return;
  if (seen) *seen = g->walk;
  w->too_many |= w->count == MAX_ADDRESSES;
  if (!w->too_many) w->at[w->count++] = v;
}

static void add_operands(struct aligner *g, struct walk *w, const struct nvm_inst *choice) {
  bool phi = choice->op == OP_PHI;
  for (uint32_t k = !phi; k < choice->operand_count; k += 1 + phi)
    add_address(g, w, inst_operand(g->f, choice, k));
}

/* log2 of the alignment of an address relative to those that are added to the walk. */
static uint32_t visit(struct aligner *g, struct walk *w, struct nvm_value at, uint32_t now) {
  struct nvm_value base = alias_underlying_object(g->f, at);
  const struct nvm_inst *i = value_inst(g->f, base);
  bool chooses = i && (i->op == OP_PHI || i->op == OP_SELECT), is_base = value_equal(base, at);
  if (chooses && is_base) add_operands(g, w, i);
  else if (chooses) add_address(g, w, base);
  uint32_t log2 = chooses ? MAX_LOG2 : object_log2(g, base);
  if (is_base || log2 <= now) return log2;
  struct alias_address a = alias_decompose(g->f, at);
  uint32_t zeros = alias_offset_zeros(g->f, &a);
  if (value_equal(a.base, at)) return 0; /* a getelementptr of too many parts */
  if (!value_equal(a.base, base)) add_address(g, w, a.base);
  return zeros < log2 ? zeros : log2;
}

/* log2 of the alignment of a pointer if that is more than `now`, else `now` or less. */
static uint32_t pointer_log2(struct aligner *g, struct nvm_value pointer, uint32_t now) {
  struct walk w = {.count = 0};
  uint32_t least = MAX_LOG2;
  g->walk++;
  add_address(g, &w, pointer);
  for (uint32_t k = 0; k < w.count && least > now; k++) {
    uint32_t log2 = visit(g, &w, w.at[k], now);
    if (log2 < least) least = log2;
  }
  return w.too_many ? 0 : least;
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

/* Raises the alignment of the access. Whether it did. */
static bool raise_alignment(struct aligner *g, struct candidate access) {
  const struct nvm_function *f = g->f;
  struct nvm_inst *i = function_inst(f, access.inst);
  struct nvm_value pointer = inst_operand(f, i, i->op == OP_STORE);
  struct memory_access how = memory_access_unpack(i->aux);
  struct nvm_type type = effects_accessed_type(f, i);
  uint32_t now = how.align_log2 ? how.align_log2 - 1u : type_log2(g, type);
  if (now >= MAX_WRITTEN) return false;
  uint32_t known = assumed_log2(g, access, pointer);
  if (known < now) known = now;
  uint32_t own = pointer_log2(g, pointer, known);
  if (own > known) known = own;
  if (known > MAX_WRITTEN) known = MAX_WRITTEN;
  if (known <= now) return false;
  how.align_log2 = (known + 1) & 63;
  i->aux = memory_access_pack(how);
  return true;
}

enum nvm_status infer_alignment_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct aligner g = {.f = f, .arena = env->arena};
  g.seen = arena_alloc(env->arena, f->insts.count * sizeof *g.seen);
  if (!g.seen) return NVM_OUT_OF_MEMORY;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      struct candidate access = {i, g.assumptions.count};
      if (is_access(function_inst(f, i)) && !VEC_PUSH(g.arena, &g.accesses, access))
        return NVM_OUT_OF_MEMORY;
      if (!note_assumptions(&g, i)) return NVM_OUT_OF_MEMORY;
    }
  if (g.assumptions.count > MAX_ASSUMPTIONS) g.assumptions.count = MAX_ASSUMPTIONS;
  if (g.assumptions.count && !flow_dominance(env->flow, f, &g.dominance)) return NVM_OUT_OF_MEMORY;
  uint64_t raised = 0;
  for (uint32_t k = 0; k < g.accesses.count; k++) raised += raise_alignment(&g, g.accesses.data[k]);
  *env->statistic += raised;
  *changed = raised != 0;
  return NVM_OK;
}
