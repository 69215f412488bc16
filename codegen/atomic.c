/* Atomic loads, stores, read-modify-writes and fences, after the published mapping of the C++
 * memory model to PTX (Lustig, Sahasrabuddhe, Giroux: "A Formal Analysis of the NVIDIA PTX Memory
 * Consistency Model", 2019): the ordering stands on the instruction, and seq_cst puts fence.sc in
 * front of an acquire. Before sm_70 there are no orderings: membar stands on either side.
 *
 * What PTX has no instruction for is a compare-and-swap loop: over the object itself where it is
 * 16, 32, 64 or 128 bits long, else over the 32-bit word around it. The thread's own frame can't be
 * seen by anybody else, and atom has no form for it: there the plain sequence is used. */
#include "codegen/lower.h"

/* --- orderings and scopes --------------------------------------------------------------------- */

static bool has_orderings(const struct lower *l) {
  return lower_has(l, PTX_FENCE, PTX_MODS(PTX_MOD_SC, PTX_MOD_SYS));
}

static bool scope_is(const struct lower *l, unsigned scope, const char *name) {
  struct nvm_text t = module_text(l->module, l->module->sync_scopes.data[scope]);
  return t.length == strlen(name) && memcmp(t.bytes, name, t.length) == 0;
}

/* The scope modifier; 0 where the CPU has none or, for a single thread, none is needed. */
static uint16_t scope_mod(struct lower *l, unsigned scope) {
  if (scope == 0 && l->options->relaxed_atomics) return 0;
  if (!lower_has(l, PTX_ATOM, PTX_MODS(PTX_MOD_SYS, PTX_MOD_ADD, PTX_MOD_U32))) return 0;
  if (scope == 0) return PTX_MOD_SYS;
  if (scope_is(l, scope, "block") || scope_is(l, scope, "workgroup") ||
      scope_is(l, scope, "singlethread"))
    return PTX_MOD_CTA;
  if (scope_is(l, scope, "device") || scope_is(l, scope, "agent")) return PTX_MOD_GPU;
  if (scope_is(l, scope, "cluster")) return PTX_MOD_CLUSTER;
  lower_refuse(l, "a synchronization scope of this name",
               "known are block, cluster, device, singlethread and none (the whole system)");
  return PTX_MOD_SYS;
}

static void emit_fence(struct lower *l, bool sequential, unsigned scope) {
  if (scope != 0 && scope_is(l, scope, "singlethread")) return;
  uint16_t level = scope_mod(l, scope);
  if (level == 0) level = PTX_MOD_SYS;
  if (has_orderings(l)) {
    emit0(l, PTX_FENCE, PTX_MODS(sequential ? PTX_MOD_SC : PTX_MOD_ACQ_REL, level));
    return;
  }
  uint16_t old = level == PTX_MOD_CTA ? PTX_MOD_CTA : level == PTX_MOD_GPU ? PTX_MOD_GL : PTX_MOD_SYS;
  emit0(l, PTX_MEMBAR, PTX_MODS(old));
}

void lower_fence(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  emit_fence(l, how.ordering == ORDER_SEQ_CST, how.scope);
}

static bool acquires(unsigned order) {
  return order == ORDER_ACQUIRE || order >= ORDER_ACQ_REL;
}
static bool releases(unsigned order) { return order >= ORDER_RELEASE; }

/* The ordering that an atom of this IR ordering carries, after fence.sc if it is seq_cst. */
static uint16_t order_mod(unsigned order) {
  switch (order) {
  case ORDER_ACQUIRE: case ORDER_SEQ_CST: return PTX_MOD_ACQUIRE;
  case ORDER_RELEASE: return PTX_MOD_RELEASE;
  case ORDER_ACQ_REL: return PTX_MOD_ACQ_REL;
  default: return PTX_MOD_RELAXED;
  }
}

/* One atomic operation as its instructions need to know it. */
struct atomic {
  struct lower *l;
  struct address at;
  unsigned order; /* enum atomic_ordering; of cmpxchg the stronger of both */
  unsigned scope;
  struct part part; /* the object */
};

static unsigned effective_order(const struct lower *l, struct memory_access how) {
  unsigned order = how.ordering > how.failure_ordering ? how.ordering : how.failure_ordering;
  if (how.ordering == ORDER_RELEASE && how.failure_ordering == ORDER_ACQUIRE) order = ORDER_ACQ_REL;
  return order == ORDER_SEQ_CST && l->options->relaxed_atomics ? ORDER_MONOTONIC : order;
}

static void fence_before(const struct atomic *a) {
  if (has_orderings(a->l)) {
    if (a->order == ORDER_SEQ_CST) emit_fence(a->l, true, a->scope);
  } else if (releases(a->order)) {
    emit_fence(a->l, true, a->scope);
  }
}

static void fence_after(const struct atomic *a) {
  if (!has_orderings(a->l) && acquires(a->order)) emit_fence(a->l, true, a->scope);
}

/* --- loads and stores ------------------------------------------------------------------------- */

static uint16_t plain_type(const struct part *p) {
  if (p->kind == PART_FLOAT) return PTX_MOD_F32;
  if (p->kind == PART_DOUBLE) return PTX_MOD_F64;
  switch (part_store_bytes(p)) {
  case 1: return PTX_MOD_U8;
  case 2: return PTX_MOD_B16;
  case 4: return PTX_MOD_B32;
  default: return PTX_MOD_B64;
  }
}

/* `.acquire.sys.global.b32`; the own frame has no order to keep. */
static void plain_mods(const struct atomic *a, uint16_t order, uint16_t mods[6]) {
  struct lower *l = a->l;
  uint32_t n = 0;
  bool local = a->at.space == PTX_MOD_LOCAL;
  if (!has_orderings(l) && !local) mods[n++] = PTX_MOD_VOLATILE;
  if (has_orderings(l) && !local) {
    uint16_t scope = scope_mod(l, a->scope);
    mods[n++] = order;
    mods[n++] = scope ? scope : PTX_MOD_GPU;
  }
  if (a->at.space) mods[n++] = a->at.space;
  mods[n++] = plain_type(&a->part);
  mods[n] = PTX_MOD_NONE;
}

static void emit_load(const struct atomic *a, uint16_t order, struct ptx_reg to) {
  uint16_t mods[6];
  plain_mods(a, order, mods);
  emit2(a->l, PTX_LD, mods, ptx_r(to), a->at.at);
}

static void emit_store(const struct atomic *a, uint16_t order, struct ptx_operand value) {
  uint16_t mods[6];
  plain_mods(a, order, mods);
  emit2(a->l, PTX_ST, mods, a->at.at, value);
}

static bool atomic_init(struct atomic *a, struct lower *l, struct nvm_value pointer,
                        struct nvm_type type, struct memory_access how) {
  struct type_parts parts = lower_type(l, type);
  *a = (struct atomic){l, lower_address(l, pointer), effective_order(l, how), how.scope, {0}};
  if (parts.count == 0) return false;
  a->part = *lower_part(l, parts, 0);
  if (parts.count > 1) {
    lower_refuse(l, "an atomic access of more than 64 bits", "PTX has exchange and compare only");
    return false;
  }
  return true;
}

void lower_atomic_load(struct lower *l, const struct nvm_inst *i) {
  struct atomic a;
  if (!atomic_init(&a, l, inst_operand(l->f, i, 0), i->type, memory_access_unpack(i->aux))) return;
  struct ptx_reg to = lower_result(l, l->inst)[0];
  bool is_bool = a.part.kind == PART_I1;
  struct ptx_reg byte = is_bool ? lower_temp(l, PTX_B16) : to;
  fence_before(&a);
  emit_load(&a, acquires(a.order) ? PTX_MOD_ACQUIRE : PTX_MOD_RELAXED, byte);
  fence_after(&a);
  if (is_bool) lower_copy(l, to, ptx_r(lower_int_to_pred(l, ptx_r(byte), 16)));
}

void lower_atomic_store(struct lower *l, const struct nvm_inst *i) {
  struct atomic a;
  struct nvm_value v = inst_operand(l->f, i, 0);
  struct memory_access how = memory_access_unpack(i->aux);
  if (!atomic_init(&a, l, inst_operand(l->f, i, 1), value_type(l->f, v), how)) return;
  struct ptx_operand value = lower_operand(l, v, 0);
  if (a.part.kind == PART_I1) value = ptx_r(lower_pred_to_int(l, value, 16));
  else if (a.part.kind == PART_INT) value = lower_zext_part(l, value, &a.part, a.part.container);
  fence_before(&a);
  emit_store(&a, a.order == ORDER_RELEASE || a.order == ORDER_ACQ_REL ? PTX_MOD_RELEASE
                                                                      : PTX_MOD_RELAXED, value);
  fence_after(&a);
}

/* --- atom ------------------------------------------------------------------------------------- */

/* `atom.acquire.sys.global.OP[.noftz].TYPE to, [at], b[, c]`; c may be NULL. */
static void emit_atom(const struct atomic *a, uint16_t op, uint16_t type, struct ptx_reg to,
                      struct ptx_operand b, const struct ptx_operand *c) {
  struct lower *l = a->l;
  uint16_t mods[8], n = 0, scope = scope_mod(l, a->scope);
  uint16_t order = order_mod(a->order);
  /* Without a word atom is relaxed, and its scope is the GPU. */
  if (has_orderings(l) && (order != PTX_MOD_RELAXED || (scope && scope != PTX_MOD_GPU)))
    mods[n++] = order;
  if (scope && scope != PTX_MOD_GPU) mods[n++] = scope;
  else if (n) mods[n++] = PTX_MOD_GPU;
  if (a->at.space) mods[n++] = a->at.space;
  mods[n++] = op;
  bool small_float = type == PTX_MOD_F16 || type == PTX_MOD_F16X2 || type == PTX_MOD_BF16 ||
                     type == PTX_MOD_BF16X2;
  if (small_float) mods[n++] = PTX_MOD_NOFTZ;
  mods[n++] = type;
  mods[n] = PTX_MOD_NONE;
  if (c) emit4(l, PTX_ATOM, mods, ptx_r(to), a->at.at, b, *c);
  else emit3(l, PTX_ATOM, mods, ptx_r(to), a->at.at, b);
}

static uint16_t bits_type(uint32_t bits) {
  return bits == 16 ? PTX_MOD_B16 : bits == 32 ? PTX_MOD_B32 : PTX_MOD_B64;
}
static enum ptx_class bits_class(uint32_t bits) {
  return bits == 16 ? PTX_B16 : bits == 32 ? PTX_B32 : PTX_B64;
}

/* The part's bits in an integer register of its size, and back. */
static struct ptx_operand as_bits(struct lower *l, const struct part *p, struct ptx_operand v) {
  if (p->kind != PART_FLOAT && p->kind != PART_DOUBLE) return v;
  struct ptx_reg r = lower_temp(l, bits_class(p->bits));
  emit2(l, PTX_MOV, PTX_MODS(bits_type(p->bits)), ptx_r(r), v);
  return ptx_r(r);
}

static void from_bits(struct lower *l, const struct part *p, struct ptx_reg to, struct ptx_reg bits) {
  if (to.bits == bits.bits) return;
  emit2(l, PTX_MOV, PTX_MODS(part_bits_mod(p)), ptx_r(to), ptx_r(bits));
}

/* --- which operations PTX has ------------------------------------------------------------------ */

struct native_atom {
  uint16_t op;   /* 0: none */
  uint16_t type;
};

static struct native_atom native_float(const struct lower *l, const struct part *p, enum rmw_op op) {
  uint16_t type = part_float_mod(p);
  bool full = p->kind == PART_FLOAT || p->kind == PART_DOUBLE;
  const uint16_t *mods = full ? PTX_MODS(PTX_MOD_ADD, type)
                              : PTX_MODS(PTX_MOD_ADD, PTX_MOD_NOFTZ, type);
  bool native = (op == RMW_FADD || op == RMW_FSUB) && lower_has(l, PTX_ATOM, mods);
  return native ? (struct native_atom){PTX_MOD_ADD, type} : (struct native_atom){0, 0};
}

static struct native_atom native_atom(const struct lower *l, const struct part *p, enum rmw_op op) {
  const struct native_atom none = {0, 0};
  if (op >= RMW_FADD && op <= RMW_FMIN) return native_float(l, p, op);
  if (p->bits != 32 && p->bits != 64) return none;
  uint16_t u = p->bits == 32 ? PTX_MOD_U32 : PTX_MOD_U64;
  uint16_t s = p->bits == 32 ? PTX_MOD_S32 : PTX_MOD_S64, b = bits_type(p->bits);
  switch (op) {
  case RMW_XCHG: return (struct native_atom){PTX_MOD_EXCH, b};
  case RMW_ADD: case RMW_SUB: return (struct native_atom){PTX_MOD_ADD, u};
  case RMW_AND: return (struct native_atom){PTX_MOD_AND, b};
  case RMW_OR: return (struct native_atom){PTX_MOD_OR, b};
  case RMW_XOR: return (struct native_atom){PTX_MOD_XOR, b};
  case RMW_MAX: return (struct native_atom){PTX_MOD_MAX, s};
  case RMW_MIN: return (struct native_atom){PTX_MOD_MIN, s};
  case RMW_UMAX: return (struct native_atom){PTX_MOD_MAX, u};
  case RMW_UMIN: return (struct native_atom){PTX_MOD_MIN, u};
  case RMW_UINC_WRAP: return p->bits == 32 ? (struct native_atom){PTX_MOD_INC, u} : none;
  case RMW_UDEC_WRAP: return p->bits == 32 ? (struct native_atom){PTX_MOD_DEC, u} : none;
  default: return none;
  }
}

/* The operand of the native instruction: sub adds the negative. */
static struct ptx_operand native_operand(struct lower *l, const struct part *p, enum rmw_op op,
                                         struct ptx_operand v) {
  if (op == RMW_XCHG) return as_bits(l, p, v);
  if (op != RMW_SUB && op != RMW_FSUB) return v;
  if (op == RMW_SUB && v.kind == PTX_OPERAND_INT) return ptx_i((int64_t)(0 - (uint64_t)v.imm));
  struct ptx_reg r = lower_new_reg(l, p);
  if (op == RMW_SUB || p->kind == PART_FLOAT || p->kind == PART_DOUBLE)
    emit2(l, PTX_NEG, PTX_MODS(op == RMW_SUB ? part_signed_mod(p) : part_float_mod(p)), ptx_r(r), v);
  else
    emit3(l, PTX_XOR, PTX_MODS(part_bits_mod(p)), ptx_r(r), v,
          ptx_i(p->container == 16 ? -0x8000 : (int64_t)(int32_t)0x80008000u));
  return ptx_r(r);
}

/* --- the new value of a loop ------------------------------------------------------------------ */

static void emit_choice(struct lower *l, const struct part *p, struct ptx_reg to,
                        struct ptx_operand a, struct ptx_operand b, struct ptx_reg when) {
  bool is_float = p->kind == PART_FLOAT || p->kind == PART_DOUBLE;
  emit4(l, PTX_SELP, PTX_MODS(is_float ? part_float_mod(p) : part_bits_mod(p)), ptx_r(to), a, b,
        ptx_r(when));
}

static void emit_minmax(struct lower *l, const struct part *p, enum icmp_predicate keep,
                        struct ptx_reg to, struct ptx_operand old, struct ptx_operand v) {
  struct ptx_reg p1 = lower_temp(l, PTX_PRED);
  lower_icmp_part(l, keep, p, p1, old, v);
  emit_choice(l, p, to, old, v, p1);
}

/* fmax and fmin as llvm.maxnum and minnum: a NaN loses; the *IMUM ones let it win. Halves through
 * float, which is exact for a choice. */
static void emit_float_minmax(struct lower *l, const struct part *p, enum rmw_op op,
                              struct ptx_reg to, struct ptx_operand old, struct ptx_operand v) {
  if (p->kind == PART_PAIR_HALF || p->kind == PART_PAIR_BFLOAT) {
    struct part lane = {.kind = p->kind == PART_PAIR_HALF ? PART_HALF : PART_BFLOAT, .bits = 16,
                        .container = 16};
    struct ptx_reg a[2], b[2], r[2] = {lower_temp(l, PTX_B16), lower_temp(l, PTX_B16)};
    lower_unpack_pair(l, old, &a[0], &a[1]);
    lower_unpack_pair(l, v, &b[0], &b[1]);
    for (int k = 0; k < 2; k++) emit_float_minmax(l, &lane, op, r[k], ptx_r(a[k]), ptx_r(b[k]));
    lower_copy(l, to, ptx_r(lower_pack_pair(l, ptx_r(r[0]), ptx_r(r[1]))));
    return;
  }
  bool small = p->kind == PART_HALF || p->kind == PART_BFLOAT;
  bool max = op == RMW_FMAX || op == RMW_FMAXIMUM;
  bool nan = op == RMW_FMAXIMUM || op == RMW_FMINIMUM;
  uint16_t type = p->kind == PART_DOUBLE ? PTX_MOD_F64 : PTX_MOD_F32;
  struct ptx_operand x = small ? ptx_r(lower_to_f32(l, p, old)) : old;
  struct ptx_operand y = small ? ptx_r(lower_to_f32(l, p, v)) : v;
  struct ptx_reg r = small ? lower_temp(l, PTX_F32) : to;
  const uint16_t *mods = nan ? PTX_MODS(PTX_MOD_NAN_RESULT, type) : PTX_MODS(type);
  if (!lower_has(l, PTX_MAX, mods)) {
    lower_refuse(l, "an atomic fmaximum or fminimum", "float from sm_80 only");
    return;
  }
  emit3(l, max ? PTX_MAX : PTX_MIN, mods, ptx_r(r), x, y);
  if (small) lower_from_f32(l, p, to, ptx_r(r));
}

/* uinc_wrap: old >= v ? 0 : old + 1. udec_wrap: old == 0 || old > v ? v : old - 1. usub_cond:
 * old >= v ? old - v : old. usub_sat: old >= v ? old - v : 0. */
static void emit_wrapping(struct lower *l, const struct part *p, enum rmw_op op, struct ptx_reg to,
                          struct ptx_operand old, struct ptx_operand v) {
  struct ptx_reg t = lower_new_reg(l, p), when = lower_temp(l, PTX_PRED);
  if (op == RMW_UDEC_WRAP) {
    struct ptx_reg zero = lower_temp(l, PTX_PRED), both = lower_temp(l, PTX_PRED);
    lower_icmp_part(l, ICMP_UGT, p, when, old, v);
    lower_icmp_part(l, ICMP_EQ, p, zero, old, ptx_i(0));
    emit3(l, PTX_OR, PTX_MODS(PTX_MOD_PRED), ptx_r(both), ptx_r(when), ptx_r(zero));
    lower_binary_part(l, OP_ADD, 0, p, t, old, ptx_i(-1));
    emit_choice(l, p, to, v, ptx_r(t), both);
    return;
  }
  lower_icmp_part(l, ICMP_UGE, p, when, old, v);
  if (op == RMW_UINC_WRAP) {
    lower_binary_part(l, OP_ADD, 0, p, t, old, ptx_i(1));
    emit_choice(l, p, to, ptx_i(0), ptx_r(t), when);
  } else {
    lower_binary_part(l, OP_SUB, 0, p, t, old, v);
    emit_choice(l, p, to, ptx_r(t), op == RMW_USUB_SAT ? ptx_i(0) : old, when);
  }
}

static void emit_new_value(struct lower *l, const struct part *p, enum rmw_op op,
                           struct ptx_reg to, struct ptx_operand old, struct ptx_operand v) {
  switch (op) {
  case RMW_XCHG: lower_copy(l, to, v); return;
  case RMW_ADD: lower_binary_part(l, OP_ADD, 0, p, to, old, v); return;
  case RMW_SUB: lower_binary_part(l, OP_SUB, 0, p, to, old, v); return;
  case RMW_AND: lower_binary_part(l, OP_AND, 0, p, to, old, v); return;
  case RMW_OR: lower_binary_part(l, OP_OR, 0, p, to, old, v); return;
  case RMW_XOR: lower_binary_part(l, OP_XOR, 0, p, to, old, v); return;
  case RMW_NAND: {
    struct ptx_reg both = lower_new_reg(l, p);
    lower_binary_part(l, OP_AND, 0, p, both, old, v);
    emit2(l, PTX_NOT, PTX_MODS(part_bits_mod(p)), ptx_r(to), ptx_r(both));
    return;
  }
  case RMW_MAX: emit_minmax(l, p, ICMP_SGT, to, old, v); return;
  case RMW_MIN: emit_minmax(l, p, ICMP_SLE, to, old, v); return;
  case RMW_UMAX: emit_minmax(l, p, ICMP_UGT, to, old, v); return;
  case RMW_UMIN: emit_minmax(l, p, ICMP_ULE, to, old, v); return;
  case RMW_FADD: lower_float_part(l, OP_FADD, 0, p, to, old, v); return;
  case RMW_FSUB: lower_float_part(l, OP_FSUB, 0, p, to, old, v); return;
  case RMW_FMAX: case RMW_FMIN: case RMW_FMAXIMUM: case RMW_FMINIMUM:
    emit_float_minmax(l, p, op, to, old, v);
    return;
  case RMW_UINC_WRAP: case RMW_UDEC_WRAP: case RMW_USUB_COND: case RMW_USUB_SAT:
    emit_wrapping(l, p, op, to, old, v);
    return;
  case RMW_COUNT: return;
  }
}

/* --- the word around a small object ------------------------------------------------------------ */

/* The aligned 32-bit word that holds an 8- or 16-bit object, and where in it. */
struct word {
  struct atomic at;     /* the word as an atomic object */
  struct ptx_reg shift; /* bits */
  struct ptx_reg mask;  /* the object's bits in the word */
  struct ptx_reg outside;
};

static const struct part part_word = {.kind = PART_INT, .bits = 32, .container = 32};

/* The address of an access in a register of its width. */
static struct ptx_reg address_register(struct lower *l, struct address a) {
  bool wide = a.at.kind == PTX_OPERAND_ADDRESS_SYMBOL ? l->target->pointer_bits == 64
                                                      : ptx_reg_class(a.at.reg) == PTX_B64;
  struct ptx_reg r = lower_temp(l, wide ? PTX_B64 : PTX_B32);
  if (a.at.kind == PTX_OPERAND_ADDRESS_SYMBOL)
    emit2(l, PTX_MOV, PTX_MODS(wide ? PTX_MOD_U64 : PTX_MOD_U32), ptx_r(r),
          ptx_symbol(a.at.symbol, a.at.imm));
  else
    emit3(l, PTX_ADD, PTX_MODS(wide ? PTX_MOD_S64 : PTX_MOD_S32), ptx_r(r), ptx_r(a.at.reg),
          ptx_i(a.at.imm));
  return r;
}

static struct word word_around(const struct atomic *a) {
  struct lower *l = a->l;
  struct word w = {.at = *a};
  struct ptx_reg byte = address_register(l, a->at);
  bool wide = ptx_reg_class(byte) == PTX_B64;
  struct ptx_reg base = lower_temp(l, wide ? PTX_B64 : PTX_B32), low = byte;
  emit3(l, PTX_AND, PTX_MODS(wide ? PTX_MOD_B64 : PTX_MOD_B32), ptx_r(base), ptx_r(byte), ptx_i(-4));
  if (wide) {
    low = lower_temp(l, PTX_B32);
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U64), ptx_r(low), ptx_r(byte));
  }
  struct ptx_reg in_word = lower_temp(l, PTX_B32), ones = lower_temp(l, PTX_B32);
  w.shift = lower_temp(l, PTX_B32);
  w.mask = lower_temp(l, PTX_B32);
  w.outside = lower_temp(l, PTX_B32);
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(in_word), ptx_r(low), ptx_i(3));
  emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B32), ptx_r(w.shift), ptx_r(in_word), ptx_i(3));
  lower_copy(l, ones, ptx_i(a->part.bits <= 8 ? 0xff : 0xffff));
  emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B32), ptx_r(w.mask), ptx_r(ones), ptx_r(w.shift));
  emit2(l, PTX_NOT, PTX_MODS(PTX_MOD_B32), ptx_r(w.outside), ptx_r(w.mask));
  w.at.at.at = ptx_at(base, 0);
  w.at.part = part_word;
  return w;
}

static struct ptx_reg word_extract(struct lower *l, const struct word *w, struct ptx_reg word) {
  struct ptx_reg down = lower_temp(l, PTX_B32), small = lower_temp(l, PTX_B16);
  emit3(l, PTX_SHR, PTX_MODS(PTX_MOD_U32), ptx_r(down), ptx_r(word), ptx_r(w->shift));
  emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U16, PTX_MOD_U32), ptx_r(small), ptx_r(down));
  return small;
}

static struct ptx_reg word_insert(struct lower *l, const struct word *w, struct ptx_reg word,
                                  struct ptx_operand small) {
  struct ptx_reg wide = lower_temp(l, PTX_B32), up = lower_temp(l, PTX_B32);
  struct ptx_reg cut = lower_temp(l, PTX_B32), rest = lower_temp(l, PTX_B32);
  struct ptx_reg joined = lower_temp(l, PTX_B32);
  if (small.kind == PTX_OPERAND_REG)
    emit2(l, PTX_CVT, PTX_MODS(PTX_MOD_U32, PTX_MOD_U16), ptx_r(wide), small);
  else
    lower_copy(l, wide, small);
  emit3(l, PTX_SHL, PTX_MODS(PTX_MOD_B32), ptx_r(up), ptx_r(wide), ptx_r(w->shift));
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(cut), ptx_r(up), ptx_r(w->mask));
  emit3(l, PTX_AND, PTX_MODS(PTX_MOD_B32), ptx_r(rest), ptx_r(word), ptx_r(w->outside));
  emit3(l, PTX_OR, PTX_MODS(PTX_MOD_B32), ptx_r(joined), ptx_r(rest), ptx_r(cut));
  return joined;
}

/* --- loops ------------------------------------------------------------------------------------ */

static void branch_if(struct lower *l, struct ptx_reg p, bool negated, uint32_t label) {
  struct ptx_operand target = ptx_label(label);
  ptx_add_guarded(l->pf, p, negated, PTX_BRA, NULL, &target, 1);
}

/* do { seen = cas(at, old, new(old)) } while (seen != old); the result is what was replaced. The
 * object of the loop is `bits` wide; `w` is not NULL where it is the word around a small one. */
static void rmw_loop(const struct atomic *a, const struct atomic *object, const struct word *w,
                     enum rmw_op op, struct ptx_reg to, struct ptx_operand v) {
  struct lower *l = a->l;
  uint32_t bits = object->part.container;
  enum ptx_class class = bits_class(bits);
  struct ptx_reg old = lower_temp(l, class), seen = lower_temp(l, class);
  struct ptx_reg retry = lower_temp(l, PTX_PRED), value = lower_new_reg(l, &a->part);
  struct part raw = {.kind = PART_INT, .bits = (uint8_t)bits, .container = (uint8_t)bits};
  struct atomic first = *object;
  first.part = raw;
  emit_load(&first, PTX_MOD_RELAXED, old);
  uint32_t loop = ptx_new_label(l->pf, (struct nvm_str){0});
  ptx_add_label(l->pf, loop);
  struct ptx_reg current = lower_new_reg(l, &a->part), next;
  if (w) {
    lower_copy(l, current, ptx_r(word_extract(l, w, old)));
    emit_new_value(l, &a->part, op, value, ptx_r(current), v);
    next = word_insert(l, w, old, ptx_r(value));
  } else {
    from_bits(l, &a->part, current, old);
    emit_new_value(l, &a->part, op, value, ptx_r(current), v);
    next = as_bits(l, &a->part, ptx_r(value)).reg;
  }
  struct ptx_operand n = ptx_r(next);
  emit_atom(object, PTX_MOD_CAS, bits_type(bits), seen, ptx_r(old), &n);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, bits_type(bits)), ptx_r(retry), ptx_r(seen), ptx_r(old));
  lower_copy(l, old, ptx_r(seen));
  branch_if(l, retry, false, loop);
  lower_copy(l, to, ptx_r(current));
}

static bool needs_word(const struct lower *l, const struct part *p) {
  return p->bits <= 8 || (p->container == 16 &&
                          !lower_has(l, PTX_ATOM, PTX_MODS(PTX_MOD_CAS, PTX_MOD_B16)));
}

/* The frame of one thread: nobody interferes. */
static void rmw_local(const struct atomic *a, enum rmw_op op, struct ptx_reg to,
                      struct ptx_operand v) {
  struct ptx_reg value = lower_new_reg(a->l, &a->part), old = lower_new_reg(a->l, &a->part);
  emit_load(a, PTX_MOD_RELAXED, old);
  emit_new_value(a->l, &a->part, op, value, ptx_r(old), v);
  emit_store(a, PTX_MOD_RELAXED, ptx_r(value));
  lower_copy(a->l, to, ptx_r(old));
}

/* 128 bits are a .b128 register (sm_90), made of two. */
static struct ptx_reg wide_of_regs(struct lower *l, const struct ptx_reg v[2]) {
  struct ptx_reg r = lower_temp(l, PTX_B128);
  struct ptx_operand halves[2] = {ptx_r(v[0]), ptx_r(v[1])};
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B128), ptx_r(r),
        ptx_group(l->pf, PTX_OPERAND_VECTOR, halves, 2));
  return r;
}

static struct ptx_reg wide_of(struct lower *l, struct nvm_value v) {
  return wide_of_regs(l, (struct ptx_reg[]){lower_reg(l, v, 0), lower_reg(l, v, 1)});
}

static void wide_to(struct lower *l, const struct ptx_reg *to, struct ptx_reg wide) {
  struct ptx_operand halves[2] = {ptx_r(to[0]), ptx_r(to[1])};
  emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B128), ptx_group(l->pf, PTX_OPERAND_VECTOR, halves, 2),
        ptx_r(wide));
}

/* to = both halves of v equal those of expected. */
static void emit_wide_equal(struct lower *l, struct ptx_reg to, const struct ptx_reg v[2],
                            struct nvm_value expected) {
  struct ptx_reg low = lower_temp(l, PTX_PRED);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_B64), ptx_r(low), ptx_r(v[0]),
        lower_operand(l, expected, 0));
  emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_AND, PTX_MOD_B64), ptx_r(to), ptx_r(v[1]),
        lower_operand(l, expected, 1), ptx_r(low));
}

/* Exchange, or compare and swap where `expected` is a value, of 128 bits of the thread's frame. The
 * success is the third part of the result. */
static void wide_local(const struct atomic *a, const struct nvm_inst *i, struct nvm_value expected,
                       struct nvm_value next) {
  struct lower *l = a->l;
  const struct ptx_reg *to = lower_result(l, l->inst);
  struct ptx_operand value[2] = {lower_operand(l, next, 0), lower_operand(l, next, 1)};
  for (int k = 0; k < 2; k++)
    emit2(l, PTX_LD, PTX_MODS(PTX_MOD_LOCAL, PTX_MOD_B64), ptx_r(to[k]),
          address_plus(a->at, 8 * k).at);
  if (i->op == OP_CMPXCHG) {
    emit_wide_equal(l, to[2], to, expected);
    for (int k = 0; k < 2; k++) {
      struct ptx_reg chosen = lower_temp(l, PTX_B64);
      emit4(l, PTX_SELP, PTX_MODS(PTX_MOD_B64), ptx_r(chosen), value[k], ptx_r(to[k]), ptx_r(to[2]));
      value[k] = ptx_r(chosen);
    }
  }
  for (int k = 0; k < 2; k++)
    emit2(l, PTX_ST, PTX_MODS(PTX_MOD_LOCAL, PTX_MOD_B64), address_plus(a->at, 8 * k).at, value[k]);
}

static void xchg_wide(struct lower *l, const struct nvm_inst *i, struct memory_access how) {
  struct atomic a = {l, lower_address(l, inst_operand(l->f, i, 0)), effective_order(l, how),
                     how.scope, part_word};
  if (a.at.space == PTX_MOD_LOCAL) {
    wide_local(&a, i, VALUE_NULL, inst_operand(l->f, i, 1));
    return;
  }
  struct ptx_reg old = lower_temp(l, PTX_B128), value = wide_of(l, inst_operand(l->f, i, 1));
  fence_before(&a);
  emit_atom(&a, PTX_MOD_EXCH, PTX_MOD_B128, old, ptx_r(value), NULL);
  wide_to(l, lower_result(l, l->inst), old);
}

/* --- vectors of 64 and 128 bits ----------------------------------------------------------------
 * PTX's own (atom.v2.f32) are atomic by element only: a loop over the whole object instead. */

enum { MOST_VECTOR_PARTS = 4 };

/* Moves between the registers of the parts and the words of 64 bits that they fill. */
static void split_words(struct lower *l, const struct part *p, uint32_t count,
                        const struct ptx_reg *words, const struct ptx_reg *parts) {
  for (uint32_t k = 0; k < count; k += 64 / p->bits) {
    struct ptx_operand pair[2] = {ptx_r(parts[k]), ptx_r(parts[p->bits == 64 ? k : k + 1])};
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64),
          p->bits == 64 ? pair[0] : ptx_group(l->pf, PTX_OPERAND_VECTOR, pair, 2),
          ptx_r(words[k * p->bits / 64]));
  }
}

static void join_words(struct lower *l, const struct part *p, uint32_t count,
                       const struct ptx_reg *parts, const struct ptx_reg *words) {
  for (uint32_t k = 0; k < count; k += 64 / p->bits) {
    struct ptx_operand pair[2] = {ptx_r(parts[k]), ptx_r(parts[p->bits == 64 ? k : k + 1])};
    emit2(l, PTX_MOV, PTX_MODS(PTX_MOD_B64), ptx_r(words[k * p->bits / 64]),
          p->bits == 64 ? pair[0] : ptx_group(l->pf, PTX_OPERAND_VECTOR, pair, 2));
  }
}

/* seen = cas(at, old, next), of one or two words. */
static void emit_cas_words(const struct atomic *a, uint32_t words, const struct ptx_reg *seen,
                           const struct ptx_reg *old, const struct ptx_reg *next) {
  struct ptx_operand n = ptx_r(next[0]);
  if (words == 1) {
    emit_atom(a, PTX_MOD_CAS, PTX_MOD_B64, seen[0], ptx_r(old[0]), &n);
    return;
  }
  struct ptx_reg was = lower_temp(a->l, PTX_B128);
  n = ptx_r(wide_of_regs(a->l, next));
  emit_atom(a, PTX_MOD_CAS, PTX_MOD_B128, was, ptx_r(wide_of_regs(a->l, old)), &n);
  wide_to(a->l, seen, was);
}

/* As rmw_loop, beginning with the guess that the object is zero: a wrong one costs one round. */
static void rmw_vector_loop(const struct atomic *a, enum rmw_op op, uint32_t count,
                            const struct ptx_reg *to, const struct ptx_operand *v) {
  struct lower *l = a->l;
  const struct part *p = &a->part;
  uint32_t words = count * p->bits / 64;
  struct ptx_reg old[2], seen[2], next[2], value[MOST_VECTOR_PARTS];
  struct ptx_reg retry = lower_temp(l, PTX_PRED), first = lower_temp(l, PTX_PRED);
  for (uint32_t k = 0; k < words; k++) {
    old[k] = lower_temp(l, PTX_B64);
    seen[k] = lower_temp(l, PTX_B64);
    next[k] = lower_temp(l, PTX_B64);
    lower_copy(l, old[k], ptx_i(0));
  }
  uint32_t loop = ptx_new_label(l->pf, (struct nvm_str){0});
  ptx_add_label(l->pf, loop);
  split_words(l, p, count, old, to);
  for (uint32_t k = 0; k < count; k++) {
    value[k] = lower_new_reg(l, p);
    emit_new_value(l, p, op, value[k], ptx_r(to[k]), v[k]);
  }
  join_words(l, p, count, value, next);
  emit_cas_words(a, words, seen, old, next);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B64), ptx_r(first), ptx_r(seen[0]), ptx_r(old[0]));
  if (words == 2)
    emit4(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_OR, PTX_MOD_B64), ptx_r(retry), ptx_r(seen[1]),
          ptx_r(old[1]), ptx_r(first));
  for (uint32_t k = 0; k < words; k++) lower_copy(l, old[k], ptx_r(seen[k]));
  branch_if(l, words == 2 ? retry : first, false, loop);
}

/* An operation on a vector of floats that fills one or two words; false: it is none. */
static bool rmw_vector(struct lower *l, const struct nvm_inst *i, struct memory_access how) {
  struct nvm_value operand = inst_operand(l->f, i, 1);
  struct nvm_type type = value_type(l->f, operand);
  struct type_parts parts = lower_type(l, type);
  if (!type_is_vector(&l->module->types, type) || parts.count < 2) return false;
  struct atomic a = {l, lower_address(l, inst_operand(l->f, i, 0)), effective_order(l, how),
                     how.scope, *lower_part(l, parts, 0)};
  uint32_t bits = parts.count * a.part.bits;
  if (bits != 64 && bits != 128) {
    lower_refuse(l, "an atomic access of more than 128 bits", "PTX has none");
    return true;
  }
  const struct ptx_reg *to = lower_result(l, l->inst);
  struct ptx_operand v[MOST_VECTOR_PARTS], value[MOST_VECTOR_PARTS];
  for (uint32_t k = 0; k < parts.count; k++) v[k] = lower_operand(l, operand, k);
  if (a.at.space != PTX_MOD_LOCAL) {
    fence_before(&a);
    rmw_vector_loop(&a, (enum rmw_op)how.rmw, parts.count, to, v);
    fence_after(&a);
    return true;
  }
  lower_load_parts(l, type, to, a.at, (struct memory_access){0});
  for (uint32_t k = 0; k < parts.count; k++) {
    value[k] = ptx_r(lower_new_reg(l, &a.part));
    emit_new_value(l, &a.part, (enum rmw_op)how.rmw, value[k].reg, ptx_r(to[k]), v[k]);
  }
  lower_store_parts(l, type, value, a.at, (struct memory_access){0});
  return true;
}

void lower_atomicrmw(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  struct nvm_value operand = inst_operand(l->f, i, 1);
  struct nvm_type type = value_type(l->f, operand);
  if (how.rmw == RMW_XCHG && lower_type(l, type).count == 2) {
    xchg_wide(l, i, how);
    return;
  }
  if (rmw_vector(l, i, how)) return;
  struct atomic a;
  if (!atomic_init(&a, l, inst_operand(l->f, i, 0), type, how)) return;
  struct ptx_reg to = lower_result(l, l->inst)[0];
  enum rmw_op op = (enum rmw_op)how.rmw;
  struct ptx_operand v = lower_operand(l, operand, 0);
  struct native_atom native = native_atom(l, &a.part, op);
  if (a.part.kind == PART_I1) {
    lower_refuse(l, "an atomicrmw on i1", "use i8");
    return;
  }
  if (a.at.space == PTX_MOD_LOCAL) {
    rmw_local(&a, op, to, v);
    return;
  }
  fence_before(&a);
  if (native.op) {
    v = native_operand(l, &a.part, op, v);
    struct ptx_reg r = op == RMW_XCHG ? lower_temp(l, bits_class(a.part.bits)) : to;
    emit_atom(&a, native.op, native.type, r, v, NULL);
    from_bits(l, &a.part, to, r);
  } else if (needs_word(l, &a.part)) {
    struct word w = word_around(&a);
    rmw_loop(&a, &w.at, &w, op, to, v);
  } else {
    rmw_loop(&a, &a, NULL, op, to, v);
  }
  fence_after(&a);
}

/* --- cmpxchg ---------------------------------------------------------------------------------- */

/* Compare and swap of a small object: tried on its word until the object differs or the word was
 * exchanged whole. */
static void cas_in_word(const struct atomic *a, struct ptx_reg to, struct ptx_operand expected,
                        struct ptx_operand next) {
  struct lower *l = a->l;
  struct word w = word_around(a);
  struct ptx_reg old = lower_temp(l, PTX_B32), seen = lower_temp(l, PTX_B32);
  struct ptx_reg differs = lower_temp(l, PTX_PRED), retry = lower_temp(l, PTX_PRED);
  uint32_t loop = ptx_new_label(l->pf, (struct nvm_str){0});
  uint32_t end = ptx_new_label(l->pf, (struct nvm_str){0});
  /* Where the object differs at once, this load is all that the failed exchange does. */
  emit_load(&w.at, acquires(a->order) ? PTX_MOD_ACQUIRE : PTX_MOD_RELAXED, old);
  ptx_add_label(l->pf, loop);
  lower_copy(l, to, ptx_r(word_extract(l, &w, old)));
  lower_icmp_part(l, ICMP_NE, &a->part, differs, ptx_r(to), expected);
  branch_if(l, differs, false, end);
  struct ptx_operand n = ptx_r(word_insert(l, &w, old, next));
  emit_atom(&w.at, PTX_MOD_CAS, PTX_MOD_B32, seen, ptx_r(old), &n);
  emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B32), ptx_r(retry), ptx_r(seen), ptx_r(old));
  lower_copy(l, old, ptx_r(seen));
  branch_if(l, retry, false, loop);
  ptx_add_label(l->pf, end);
}

static void cas_local(const struct atomic *a, struct ptx_reg to, struct ptx_operand expected,
                      struct ptx_operand next) {
  struct lower *l = a->l;
  struct ptx_reg same = lower_temp(l, PTX_PRED), value = lower_new_reg(l, &a->part);
  emit_load(a, PTX_MOD_RELAXED, to);
  lower_icmp_part(l, ICMP_EQ, &a->part, same, ptx_r(to), expected);
  emit_choice(l, &a->part, value, next, ptx_r(to), same);
  emit_store(a, PTX_MOD_RELAXED, ptx_r(value));
}

static void cmpxchg_wide(struct lower *l, const struct nvm_inst *i, struct memory_access how) {
  struct nvm_value expected = inst_operand(l->f, i, 1), next = inst_operand(l->f, i, 2);
  struct atomic a = {l, lower_address(l, inst_operand(l->f, i, 0)), effective_order(l, how),
                     how.scope, part_word};
  const struct ptx_reg *to = lower_result(l, l->inst);
  if (a.at.space == PTX_MOD_LOCAL) {
    wide_local(&a, i, expected, next);
    return;
  }
  struct ptx_reg old = lower_temp(l, PTX_B128), c = wide_of(l, expected);
  struct ptx_operand n = ptx_r(wide_of(l, next));
  fence_before(&a);
  emit_atom(&a, PTX_MOD_CAS, PTX_MOD_B128, old, ptx_r(c), &n);
  wide_to(l, to, old);
  emit_wide_equal(l, to[2], to, expected);
}

void lower_cmpxchg(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  struct nvm_value c = inst_operand(l->f, i, 1), v = inst_operand(l->f, i, 2);
  struct nvm_type type = value_type(l->f, c);
  if (lower_type(l, type).count == 2) {
    cmpxchg_wide(l, i, how);
    return;
  }
  struct atomic a;
  if (!atomic_init(&a, l, inst_operand(l->f, i, 0), type, how)) return;
  const struct ptx_reg *to = lower_result(l, l->inst);
  struct ptx_operand expected = lower_operand(l, c, 0), next = lower_operand(l, v, 0);
  if (a.at.space == PTX_MOD_LOCAL) {
    cas_local(&a, to[0], expected, next);
  } else {
    fence_before(&a);
    if (needs_word(l, &a.part)) cas_in_word(&a, to[0], expected, next);
    else emit_atom(&a, PTX_MOD_CAS, bits_type(a.part.container), to[0], expected, &next);
    fence_after(&a);
  }
  lower_icmp_part(l, ICMP_EQ, &a.part, to[1], ptx_r(to[0]), expected);
}
