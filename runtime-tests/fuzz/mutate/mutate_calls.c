/* Mutations that add calls, atomic operations, and copies of blocks of this or another function. */
#include "mutator.h"

/* Whether an instruction can be copied with other operands: not those of metadata and tokens. */
static bool is_copyable(const struct nvm_function *f, const struct nvm_inst *i) {
  if (op_is_terminator((enum op)i->op) || i->op == OP_PHI || i->op == OP_DBG_RECORD) return false;
  if (i->op == OP_CALL && i->flags & CALL_TAIL_MASK) return false;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    enum type_kind kind = type_kind(&f->module->types, value_type(f, inst_operand(f, i, k)));
    if (kind == TY_METADATA || kind == TY_TOKEN) return false;
  }
  return type_kind(&f->module->types, i->type) != TY_TOKEN;
}

/* ---- Intrinsics ---- */

/* Types by letter: v void, i i32, m i32 that is mostly a full mask of lanes, f float, b i1; T the
 * overloaded type, an integer, F a float; 0: the constant i1 false. The first is the result's. */
static const struct {
  enum intrinsic_id id;
  const char *types;
} rows[] = {
    {INTRINSIC_nvvm_barrier0, "v"},
    {INTRINSIC_nvvm_bar_warp_sync, "vm"},
    {INTRINSIC_nvvm_barrier0_popc, "ii"},
    {INTRINSIC_nvvm_membar_cta, "v"},
    {INTRINSIC_nvvm_activemask, "i"},
    {INTRINSIC_nvvm_shfl_sync_bfly_i32, "imiii"},
    {INTRINSIC_nvvm_shfl_sync_down_i32, "imiii"},
    {INTRINSIC_nvvm_shfl_sync_idx_f32, "fmfii"},
    {INTRINSIC_nvvm_vote_ballot_sync, "imb"},
    {INTRINSIC_nvvm_vote_all_sync, "bmb"},
    {INTRINSIC_nvvm_match_any_sync_i32, "imi"},
    {INTRINSIC_nvvm_redux_sync_add, "iim"},
    {INTRINSIC_nvvm_read_ptx_sreg_tid_x, "i"},
    {INTRINSIC_nvvm_read_ptx_sreg_laneid, "i"},
    {INTRINSIC_umin, "TTT"},
    {INTRINSIC_smax, "TTT"},
    {INTRINSIC_abs, "TT0"},
    {INTRINSIC_ctpop, "TT"},
    {INTRINSIC_ctlz, "TT0"},
    {INTRINSIC_fshl, "TTTT"},
    {INTRINSIC_uadd_sat, "TTT"},
    {INTRINSIC_ssub_sat, "TTT"},
    {INTRINSIC_bitreverse, "TT"},
    {INTRINSIC_fma, "FFFF"},
    {INTRINSIC_fmuladd, "FFFF"},
    {INTRINSIC_fabs, "FF"},
    {INTRINSIC_minnum, "FFF"},
    {INTRINSIC_copysign, "FFF"},
    {INTRINSIC_floor, "FF"},
    {INTRINSIC_sqrt, "FF"},
};

static struct nvm_type pick_overload(struct mutator *m, type_predicate *accept) {
  struct nvm_type type = pick_type(m);
  for (int tries = 0; tries < 8 && !accept(&m->m->types, type); tries++) type = pick_type(m);
  return accept(&m->m->types, type)          ? type
         : accept == type_is_float_or_vector ? TYPE_FLOAT
                                             : TYPE_I32;
}

static struct nvm_type type_of(char letter, struct nvm_type overload) {
  switch (letter) {
    case 'v': return TYPE_VOID;
    case 'f': return TYPE_FLOAT;
    case 'b':
    case '0': return TYPE_I1;
    case 'T':
    case 'F': return overload;
    default: return TYPE_I32;
  }
}

/* A call of an intrinsic, also of barriers and of operations of a warp. */
bool mutate_intrinsic(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  if (!at.index) return false;
  uint64_t row = below(m, sizeof rows / sizeof *rows);
  const char *types = rows[row].types;
  struct nvm_type overload = TYPE_NONE;
  if (types[0] == 'T') overload = pick_overload(m, type_is_int_or_vector);
  if (types[0] == 'F') overload = pick_overload(m, type_is_float_or_vector);
  struct nvm_value arguments[BUILDER_MAX_ARGUMENTS];
  uint32_t count = 0;
  for (const char *t = types + 1; *t; t++, count++) {
    struct nvm_type type = type_of(*t, overload);
    bool full = *t == 'm' && !once_in(m, 4);
    arguments[count] = full        ? const_int(m->m, TYPE_I32, UINT32_MAX)
                       : *t == '0' ? const_int(m->m, TYPE_I1, 0)
                                   : pick_value(m, type, at);
  }
  struct builder b = builder_before(m->f, at);
  struct nvm_type type = type_of(types[0], overload);
  struct nvm_value v = builder_intrinsic(&b, rows[row].id, 0, type, arguments, count);
  if (value_is_none(v)) return false;
  if (!type_equal(type, TYPE_VOID)) use_value(m, v, at);
  return true;
}

/* An atomic operation, or a fence. */
bool mutate_atomic(struct mutator *m) {
  const struct nvm_type types[] = {TYPE_I32, TYPE_I32, TYPE_I64, TYPE_FLOAT};
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  struct nvm_value p = at.index ? pick_any(m, type_is_ptr, at) : VALUE_NULL;
  if (value_is_none(p)) return false;
  struct nvm_type type = types[below(m, 4)];
  struct memory_access access = {.ordering = ORDER_MONOTONIC + (unsigned)below(m, 5),
                                 .scope = (unsigned)below(m, m->m->sync_scopes.count)};
  bool is_float = type_equal(type, TYPE_FLOAT), is_exchange = !is_float && once_in(m, 3);
  struct builder b = builder_before(m->f, at);
  struct nvm_value operands[] = {p, pick_value(m, type, at), pick_value(m, type, at)}, v;
  if (once_in(m, 8)) {
    if (access.ordering == ORDER_MONOTONIC) access.ordering = ORDER_SEQ_CST;
    return builder_insert(&b, OP_FENCE, 0, TYPE_VOID, NULL, 0, memory_access_pack(access)).index;
  }
  access.align_log2 = type_equal(type, TYPE_I64) ? 4 : 3;
  if (is_exchange) {
    struct nvm_type pair[] = {type, TYPE_I1};
    access.failure_ordering = ORDER_MONOTONIC;
    v = builder_add(&b, OP_CMPXCHG, 0, type_struct(&m->m->types, pair, 2, false), operands, 3,
                    memory_access_pack(access));
    uint32_t member = (uint32_t)below(m, 2);
    struct nvm_value parts[] = {v, const_int(m->m, TYPE_I32, member)};
    v = builder_add(&b, OP_EXTRACTVALUE, 0, pair[member], parts, 2, 0);
  } else {
    access.rmw = is_float ? RMW_FADD : (unsigned)below(m, RMW_UMIN + 1);
    v = builder_add(&b, OP_ATOMICRMW, 0, type, operands, 2, memory_access_pack(access));
  }
  if (value_is_none(v)) return false;
  use_value(m, v, at);
  return true;
}

/* A call of another function of the module. */
bool mutate_call(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  if (!at.index || m->m->functions.count < 2) return false;
  uint32_t index = 1 + (uint32_t)below(m, m->m->functions.count - 1);
  struct nvm_function *callee = m->m->functions.data[index];
  uint32_t count = function_arg_count(callee);
  if (callee->intrinsic || callee == m->f || function_is_declaration(callee) ||
      function_is_kernel(callee) || count > BUILDER_MAX_ARGUMENTS)
    return false;
  struct nvm_value operands[BUILDER_MAX_ARGUMENTS + 1];
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = pick_value(m, function_arg_type(callee, k), at);
    if (value_is_none(operands[k])) return false;
  }
  operands[count] = value_make(VALUE_FUNCTION, index);
  uint32_t site = module_call_site(
      m->m, (struct call_site){.function_type = callee->type, .convention = callee->convention});
  struct builder b = builder_replacing(m->f, at); /* calls need a location where others have one */
  struct nvm_type type = function_result_type(callee);
  struct nvm_inst_id i = builder_insert(&b, OP_CALL, 0, type, operands, count + 1, site);
  if (!site || !i.index) return false;
  if (!type_equal(type, TYPE_VOID)) use_value(m, value_of_inst(i), at);
  return true;
}

static bool is_number_load(const struct nvm_function *f, const struct nvm_inst *i) {
  const struct type_table *t = &f->module->types;
  return i->op == OP_LOAD && (type_is_int(t, i->type) || type_is_float(t, i->type));
}

/* A pointer of that type that is available; VALUE_NULL: none. */
static struct nvm_value pick_pointer(struct mutator *m, struct nvm_type type,
                                     struct nvm_inst_id at) {
  struct nvm_value v = pick_any(m, type_is_ptr, at);
  bool fits = !value_is_none(v) && type_equal(value_type(m->f, v), type);
  return fits ? v : pick_value(m, type, at);
}

/* Between a load and the choice of its value or of its address, through which it is loaded again:
 * a barrier or a fence, and at times a store. */
bool mutate_reload(struct mutator *m) {
  static const enum intrinsic_id syncs[] = {INTRINSIC_nvvm_barrier0, INTRINSIC_nvvm_barrier0,
                                            INTRINSIC_nvvm_membar_cta, INTRINSIC_nvvm_membar_gl};
  struct nvm_inst_id load = pick_inst(m, is_number_load);
  struct nvm_inst_id at = load.index ? function_inst(m->f, load)->next : load;
  if (!at.index || !inst_is_place(m->f, function_inst(m->f, at))) return false;
  struct nvm_inst old = *function_inst(m->f, load);
  struct nvm_value p = inst_operand(m->f, &old, 0), v = value_of_inst(load);
  struct nvm_value limit = pick_value(m, old.type, at), given = pick_value(m, TYPE_I1, at);
  struct nvm_value other = pick_pointer(m, value_type(m->f, p), at), compared[] = {v, limit};
  struct builder b = builder_replacing(m->f, at);
  bool is_float = type_is_float(&m->m->types, old.type), early = once_in(m, 2);
  struct nvm_value c = given, which = VALUE_NULL;
  if (!once_in(m, 3))
    c = builder_add(&b, is_float ? OP_FCMP : OP_ICMP, 0, TYPE_I1, compared, 2,
                    is_float ? (uint32_t)FCMP_OLT : (uint32_t)ICMP_SLT);
  if (early) which = builder_select(&b, c, p, other);
  (void)builder_intrinsic(&b, syncs[below(m, 4)], 0, TYPE_VOID, NULL, 0);
  if (once_in(m, 3)) (void)builder_store(&b, limit, p, old.aux);
  if (!early) which = builder_select(&b, c, p, other);
  struct nvm_value again = builder_load(&b, old.type, which, old.aux);
  if (value_is_none(again)) return false;
  use_value(m, again, at);
  struct nvm_value chosen = builder_select(&b, c, v, once_in(m, 2) ? again : limit);
  if (!value_is_none(chosen)) use_value(m, chosen, at);
  return true;
}

/* ---- Blocks ---- */

/* The operand of a copy: the copy of an operand that was copied, a constant, or another value. */
static struct nvm_value operand_of_copy(struct mutator *m, const struct nvm_function *from,
                                        const struct nvm_value *copies, struct nvm_value v,
                                        struct nvm_inst_id at) {
  if (value_kind(v) == VALUE_INST && !value_is_none(copies[value_index(v)]))
    return copies[value_index(v)];
  if (value_kind(v) != VALUE_INST && value_kind(v) != VALUE_ARG) return v;
  return pick_value(m, value_type(from, v), at);
}

static struct nvm_value copy_inst(struct mutator *m, const struct nvm_function *from,
                                  const struct nvm_inst *i, const struct nvm_value *copies,
                                  struct nvm_inst_id at) {
  enum { MAX_OPERANDS = 16 };
  struct nvm_value operands[MAX_OPERANDS];
  if (i->operand_count > MAX_OPERANDS) return VALUE_NULL;
  for (uint32_t k = 0; k < i->operand_count; k++) {
    operands[k] = operand_of_copy(m, from, copies, inst_operand(from, i, k), at);
    if (value_is_none(operands[k])) return VALUE_NULL;
  }
  struct builder b = builder_replacing(m->f, at);
  return value_of_inst(
      builder_insert(&b, (enum op)i->op, i->flags, i->type, operands, i->operand_count, i->aux));
}

bool splice_block(struct mutator *m, const struct nvm_function *from) {
  bool made = false;
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  struct nvm_block chosen = {0};
  uint32_t seen = 0, known = from->insts.count;
  FOR_EACH_BLOCK (from, b) {
    if (once_in(m, ++seen)) chosen = b;
  }
  struct nvm_value *copies = arena_alloc(&m->m->arena, known * sizeof *copies), last = VALUE_NULL;
  if (!at.index || !chosen.index || !copies) return false;
  memset(copies, 0, known * sizeof *copies);
  for (struct nvm_inst_id i = function_block(from, chosen)->first, next; i.index; i = next) {
    struct nvm_inst inst = *function_inst(from, i); /* `from` may be f, whose table moves */
    next = inst.next;
    if (!is_copyable(from, &inst) || i.index >= known) continue;
    copies[i.index] = copy_inst(m, from, &inst, copies, at);
    if (value_is_none(copies[i.index])) continue;
    if (!type_equal(inst.type, TYPE_VOID)) last = copies[i.index];
    made = true;
  }
  if (!value_is_none(last)) use_value(m, last, at);
  return made;
}

/* A copy of a block of any function of the module. */
bool mutate_splice(struct mutator *m) { return splice_block(m, pick_definition(m, 1)); }
