/* Atomic loads, stores, read-modify-writes and fences, after the published mapping of the C++
 * memory model to PTX (Lustig, Sahasrabuddhe, Giroux: "A Formal Analysis of the NVIDIA PTX Memory
 * Consistency Model", 2019): the instruction carries the ordering, and seq_cst is fence.sc followed
 * by an acquire. Before sm_70 there are no orderings: membar precedes and follows the access.
 *
 * CUDA code is an exception: clang up to 21 writes seq_cst without a scope for every atomicAdd,
 * which the CUDA guide defines as relaxed at GPU scope. In modules by such a clang these are
 * lowered as relaxed, and one note reports it.
 *
 * An operation without a PTX instruction becomes a compare-and-swap loop: over the object itself if
 * it has 16, 32, 64 or 128 bits, else over the 32-bit word around it. Other threads cannot see a
 * thread's own frame, and atom has no form for .local: a load, the operation and a store do. */
#include "codegen/inst.h"
#include "codegen/intrinsic.h"
#include "codegen/memory.h"
#include "codegen/number.h"
#include "codegen/report.h"
#include "codegen/value.h"
#include "ir/module_flags.h"

#include <string.h>

/* --- Orderings and scopes --- */

static bool has_orderings(const struct lower *l) {
  return emit_has(l, PTX_FENCE, PTX_MODS(PTX_MOD_SC, PTX_MOD_SYS));
}

static bool scope_is(const struct lower *l, unsigned scope, const char *name) {
  return text_is(module_text(l->module, l->module->sync_scopes.data[scope]), name);
}

/* The scope modifier; 0 where the CPU has none or, for a single thread, none is needed. */
static uint16_t scope_mod(struct lower *l, unsigned scope) {
  if (!emit_has(l, PTX_ATOM, PTX_MODS(PTX_MOD_SYS, PTX_MOD_ADD, PTX_MOD_U32))) return 0;
  if (scope == 0) return PTX_MOD_SYS;
  if (scope_is(l, scope, "block") || scope_is(l, scope, "workgroup") ||
      scope_is(l, scope, "singlethread"))
    return PTX_MOD_CTA;
  if (scope_is(l, scope, "device") || scope_is(l, scope, "agent")) return PTX_MOD_GPU;
  if (scope_is(l, scope, "cluster")) return PTX_MOD_CLUSTER;
  report_refuse(l, "a synchronization scope of this name",
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
  uint16_t old = level == PTX_MOD_CTA   ? PTX_MOD_CTA
                 : level == PTX_MOD_GPU ? PTX_MOD_GL
                                        : PTX_MOD_SYS;
  emit0(l, PTX_MEMBAR, PTX_MODS(old));
}

void atomic_lower_fence(struct lower *l, const struct nvm_inst *i) {
  struct memory_access how = memory_access_unpack(i->aux);
  emit_fence(l, how.ordering == ORDER_SEQ_CST, how.scope);
}

static bool acquires(unsigned order) { return order == ORDER_ACQUIRE || order >= ORDER_ACQ_REL; }
static bool releases(unsigned order) { return order >= ORDER_RELEASE; }

/* The ordering of the atom instruction; of seq_cst, after its fence.sc. */
static uint16_t order_mod(unsigned order) {
  switch (order) {
    case ORDER_ACQUIRE:
    case ORDER_SEQ_CST: return PTX_MOD_ACQUIRE;
    case ORDER_RELEASE: return PTX_MOD_RELEASE;
    case ORDER_ACQ_REL: return PTX_MOD_ACQ_REL;
    default: return PTX_MOD_RELAXED;
  }
}

/* One atomic operation. */
struct atomic {
  struct lower *l;
  struct address at;
  unsigned order; /* enum atomic_ordering; of cmpxchg the stronger of its two */
  unsigned scope;
  struct part part; /* the object */
  bool is_relaxed;  /* seq_cst without a scope, lowered as relaxed at GPU scope */
};

/* The major version of the clang that made the module, 0 if none did. libdevice's clang, 3.8, does
 * not count. */
static unsigned clang_version(const struct nvm_module *m) {
  const struct named_metadata *idents = module_named_metadata(m, "llvm.ident");
  for (uint32_t k = 0; idents && k < idents->count; k++) {
    const struct meta_node *n =
        meta_as_node(&m->metadata, m->metadata.operands.data[idents->first + k]);
    const struct meta_item *text =
        n && n->count ? meta_item(&m->metadata, meta_operand(&m->metadata, n, 0)) : NULL;
    if (!text || text->kind != META_STRING) continue;
    const char *at = strstr(module_text(m, text->str).bytes, "clang version ");
    unsigned version = 0;
    if (at) at += strlen("clang version ");
    for (; at && *at >= '0' && *at <= '9' && version < 1000; at++)
      version = version * 10 + (unsigned)(*at - '0');
    if (version > 3) return version;
  }
  return 0;
}

static bool has_flag(const struct nvm_module *m, const char *key) {
  struct module_flag flag;
  uint32_t at;
  return module_flag_find(m, text_of(key), &flag, &at);
}

bool atomic_is_relaxed_module(const struct nvm_module *m, int32_t knob) {
  enum { LAST_CLANG = 21 };
  if (knob >= 0) return knob != 0;
  unsigned version = clang_version(m);
  return version > 0 && version <= LAST_CLANG &&
         (has_flag(m, "SDK Version") || has_flag(m, "nvvm-reflect-ftz"));
}

static struct atomic describe_atomic(struct lower *l, struct nvm_value pointer,
                                     struct memory_access how) {
  unsigned order = how.ordering > how.failure_ordering ? how.ordering : how.failure_ordering;
  if (how.ordering == ORDER_RELEASE && how.failure_ordering == ORDER_ACQUIRE) order = ORDER_ACQ_REL;
  return (struct atomic){.l = l, .at = address_of(l, pointer), .order = order, .scope = how.scope};
}

/* Relaxes an atomicrmw or cmpxchg where the module asks for it; reports the first one, unless the
 * knob asked. */
static void relax(struct atomic *a) {
  struct lower *l = a->l;
  a->is_relaxed = a->order == ORDER_SEQ_CST && a->scope == 0 && l->relaxed_atomics;
  if (!a->is_relaxed) return;
  a->order = ORDER_MONOTONIC;
  if (lower_knob(l, KNOB_RELAXED_ATOMICS) < 0 && !l->noted_relaxed)
    diag_report(l->sink, DIAG_RELAXED_ATOMICS, report_place(l), NULL, 0);
  l->noted_relaxed = true;
}

/* As scope_mod(); also 0 for the scope that atom has by default, the GPU. */
static uint16_t atomic_scope(const struct atomic *a) {
  return a->is_relaxed ? 0 : scope_mod(a->l, a->scope);
}

static void fence_before(const struct atomic *a) {
  if (has_orderings(a->l) ? a->order == ORDER_SEQ_CST : releases(a->order))
    emit_fence(a->l, true, a->scope);
}

static void fence_after(const struct atomic *a) {
  if (!has_orderings(a->l) && acquires(a->order)) emit_fence(a->l, true, a->scope);
}

/* --- Loads and stores --- */

static bool is_read_only(const struct atomic *a) {
  return a->at.space == PTX_MOD_CONST || a->at.space == PTX_MOD_PARAM;
}

/* Reports a write to memory that has none; true if it is such memory. */
static bool refuse_read_only(const struct atomic *a) {
  if (is_read_only(a))
    report_refuse(a->l, "an atomic write to constant or parameter memory", "these are read-only");
  return is_read_only(a);
}

/* `ld.acquire.sys.global.b32 to, [at]` or st; from memory that is never written without an
 * ordering. */
static void emit_plain(const struct atomic *a, bool load, uint16_t order,
                       struct ptx_operand value) {
  struct lower *l = a->l;
  bool ordered = has_orderings(l);
  uint16_t scope = ordered ? atomic_scope(a) : PTX_MOD_NONE;
  bool wide = value.kind == PTX_OPERAND_REG && ptx_reg_class(value.reg) == PTX_B128;
  uint16_t type = wide                              ? PTX_MOD_B128
                  : part_store_bytes(&a->part) == 1 ? PTX_MOD_U8
                                                    : part_move_mod(&a->part);
  struct emit_mod_list mods =
      emit_mods(PTX_MODS(ordered ? order : PTX_MOD_VOLATILE,
                         ordered && scope == PTX_MOD_NONE ? PTX_MOD_GPU : scope, a->at.space, type),
                4);
  if (is_read_only(a)) mods = emit_mods(PTX_MODS(a->at.space, type), 2);
  if (load) emit2(l, PTX_LD, mods.words, value, a->at.at);
  else emit2(l, PTX_ST, mods.words, a->at.at, value);
}

/* LLVM calls __atomic_load and so on for such accesses, which no GPU library defines. */
static void warn_if_misaligned(const struct atomic *a, struct nvm_type type,
                               struct memory_access how) {
  struct lower *l = a->l;
  uint64_t bytes = layout_store_size(&l->module->layout, &l->module->types, type);
  uint64_t align = how.align_log2 ? 1ull << (how.align_log2 - 1) : bytes;
  if (align >= bytes || a->at.space == PTX_MOD_LOCAL) return;
  struct textbuf b;
  textbuf_init(&b, &l->arena);
  textbuf_format(&b, "%U bytes with alignment %U", bytes, align);
  report_warn(l, DIAG_MISALIGNED_ATOMIC, (struct nvm_text){b.bytes, b.length});
}

/* The access of memory that only this thread sees: plain, as wide as its alignment allows. */
static struct memory_access local_access(struct memory_access how) {
  return (struct memory_access){.align_log2 = how.align_log2};
}

static bool atomic_init(struct atomic *a, struct lower *l, struct nvm_value pointer,
                        struct nvm_type type, struct memory_access how) {
  struct part_list parts = part_list(l, type);
  *a = describe_atomic(l, pointer, how);
  if (parts.count == 0) return false;
  warn_if_misaligned(a, type, how);
  a->part = *part_at(parts, 0);
  if (parts.count == 1 || (parts.count == 2 && a->part.kind == PART_INT)) return true;
  report_refuse(l, "an atomic access of more than 128 bits", "PTX has none");
  return false;
}

void atomic_lower_load(struct lower *l, const struct nvm_inst *i) {
  struct atomic a;
  struct memory_access how = memory_access_unpack(i->aux);
  if (!atomic_init(&a, l, inst_operand(l->f, i, 0), i->type, how)) return;
  const struct ptx_reg *to = value_result(l, l->inst);
  if (a.at.space == PTX_MOD_LOCAL) {
    memory_load_parts(l, i->type, to, a.at, local_access(how));
    return;
  }
  bool is_bool = a.part.kind == PART_I1, wide = part_list(l, i->type).count == 2;
  struct ptx_operand raw = ptx_r(is_bool ? emit_temp(l, PTX_B16)
                                 : wide  ? emit_temp(l, PTX_B128)
                                         : to[0]);
  fence_before(&a);
  emit_plain(&a, true, acquires(a.order) ? PTX_MOD_ACQUIRE : PTX_MOD_RELAXED, raw);
  fence_after(&a);
  if (is_bool) emit_copy(l, to[0], emit_int_to_pred(l, raw, 16));
  if (wide) emit_ungroup(l, PTX_MOD_B128, raw, ptx_r(to[0]), ptx_r(to[1]));
}

void atomic_lower_store(struct lower *l, const struct nvm_inst *i) {
  struct atomic a;
  struct nvm_value v = inst_operand(l->f, i, 0);
  struct memory_access how = memory_access_unpack(i->aux);
  if (!atomic_init(&a, l, inst_operand(l->f, i, 1), value_type(l->f, v), how)) return;
  if (refuse_read_only(&a)) return;
  if (a.at.space == PTX_MOD_LOCAL) {
    memory_store_parts(l, value_type(l->f, v), value_operands(l, v), a.at, local_access(how));
    return;
  }
  struct ptx_operand value = value_operand(l, v, 0);
  if (part_list(l, value_type(l->f, v)).count == 2) {
    struct ptx_operand high = emit_in_reg(l, value_operand(l, v, 1), &part_i64);
    value = emit_group(l, PTX_MOD_B128, emit_in_reg(l, value, &part_i64), high);
  } else if (a.part.kind == PART_I1) value = emit_pred_to_int(l, value, 16);
  else if (a.part.kind == PART_INT) value = emit_zext(l, value, &a.part, a.part.container);
  fence_before(&a);
  bool release = a.order == ORDER_RELEASE || a.order == ORDER_ACQ_REL;
  emit_plain(&a, false, release ? PTX_MOD_RELEASE : PTX_MOD_RELAXED, value);
  fence_after(&a);
}

/* --- atom --- */

/* The modifiers of `atom.acquire.sys.global.OP[.noftz].TYPE`, and of red. */
static struct emit_mod_list atom_mods(const struct atomic *a, uint16_t op, uint16_t type) {
  struct lower *l = a->l;
  uint16_t scope = atomic_scope(a), order = order_mod(a->order);
  /* By default atom is relaxed, and its scope is the GPU. */
  bool far = scope && scope != PTX_MOD_GPU,
       ordered = has_orderings(l) && (order != PTX_MOD_RELAXED || far);
  bool small_float = type == PTX_MOD_F16 || type == PTX_MOD_F16X2 || type == PTX_MOD_BF16 ||
                     type == PTX_MOD_BF16X2;
  return emit_mods(PTX_MODS(ordered ? order : PTX_MOD_NONE,
                            far       ? scope
                            : ordered ? PTX_MOD_GPU
                                      : PTX_MOD_NONE,
                            a->at.space, op, small_float ? PTX_MOD_NOFTZ : PTX_MOD_NONE, type),
                   6);
}

/* `atom.acquire.sys.global.OP[.noftz].TYPE to, [at], b[, c]`; c may be NULL. */
static void emit_atom(const struct atomic *a, uint16_t op, uint16_t type, struct ptx_operand to,
                      struct ptx_operand b, const struct ptx_operand *c) {
  struct emit_mod_list mods = atom_mods(a, op, type);
  if (c) emit4(a->l, PTX_ATOM, mods.words, to, a->at.at, b, *c);
  else emit3(a->l, PTX_ATOM, mods.words, to, a->at.at, b);
}

/* Whether red will do: the result is unused, and the operation neither exchanges nor acquires. */
static bool can_reduce(const struct atomic *a, uint16_t op) {
  uint16_t order = order_mod(a->order);
  bool unused = a->l->f->uses.data[a->l->inst.index] == 0;
  return unused && op != PTX_MOD_EXCH &&
         (!has_orderings(a->l) || order == PTX_MOD_RELAXED || order == PTX_MOD_RELEASE);
}

/* The bits of one or two parts in one integer register of `bits`; scatter() is the inverse. */
static struct ptx_operand gathered(struct lower *l, const struct part *p, uint32_t bits,
                                   const struct ptx_operand *parts) {
  if (p->bits < bits && p->bits >= 32) return emit_group(l, mod_bits(bits), parts[0], parts[1]);
  return part_is_full(p) ? emit_unary(l, PTX_MOV, mod_bits(bits), parts[0]) : parts[0];
}

static void scatter(struct lower *l, const struct part *p, uint32_t bits, struct ptx_operand word,
                    const struct ptx_operand *parts) {
  if (p->bits < bits && p->bits >= 32) emit_ungroup(l, mod_bits(bits), word, parts[0], parts[1]);
  else if (parts[0].reg.bits != word.reg.bits)
    emit2(l, PTX_MOV, PTX_MODS(mod_bits(bits)), parts[0], word);
}

/* --- Operations that PTX has --- */

struct native_atom {
  uint16_t op; /* 0: none */
  uint16_t type;
};

static struct native_atom native_atom(const struct lower *l, const struct part *p, enum rmw_op op) {
  static const struct native_atom of_32_bits[RMW_COUNT] = {
      [RMW_XCHG] = {PTX_MOD_EXCH, PTX_MOD_B32},     [RMW_ADD] = {PTX_MOD_ADD, PTX_MOD_U32},
      [RMW_SUB] = {PTX_MOD_ADD, PTX_MOD_U32},       [RMW_AND] = {PTX_MOD_AND, PTX_MOD_B32},
      [RMW_OR] = {PTX_MOD_OR, PTX_MOD_B32},         [RMW_XOR] = {PTX_MOD_XOR, PTX_MOD_B32},
      [RMW_MAX] = {PTX_MOD_MAX, PTX_MOD_S32},       [RMW_MIN] = {PTX_MOD_MIN, PTX_MOD_S32},
      [RMW_UMAX] = {PTX_MOD_MAX, PTX_MOD_U32},      [RMW_UMIN] = {PTX_MOD_MIN, PTX_MOD_U32},
      [RMW_UINC_WRAP] = {PTX_MOD_INC, PTX_MOD_U32}, [RMW_UDEC_WRAP] = {PTX_MOD_DEC, PTX_MOD_U32}};
  struct native_atom native = of_32_bits[op];
  if (op == RMW_FADD || op == RMW_FSUB) {
    native = (struct native_atom){PTX_MOD_ADD, part_float_mod(p)};
    uint16_t noftz = part_is_full(p) ? PTX_MOD_NONE : PTX_MOD_NOFTZ;
    if (emit_has(l, PTX_ATOM, EMIT_MODS(PTX_MOD_ADD, noftz, native.type))) return native;
  } else if (p->bits == 32) {
    return native;
  } else if (p->bits == 64 && op != RMW_UINC_WRAP && op != RMW_UDEC_WRAP) {
    native.type = native.type == PTX_MOD_U32   ? PTX_MOD_U64
                  : native.type == PTX_MOD_S32 ? PTX_MOD_S64
                                               : PTX_MOD_B64;
    return native;
  }
  return (struct native_atom){0, 0};
}

/* The operand of the native instruction: sub adds the negative. */
static struct ptx_operand native_operand(struct lower *l, const struct part *p, enum rmw_op op,
                                         struct ptx_operand v) {
  const struct ptx_operand parts[2] = {v, v};
  if (op == RMW_XCHG) return gathered(l, p, p->container, parts);
  if (op != RMW_SUB && op != RMW_FSUB) return v;
  if (op == RMW_SUB && v.kind == PTX_OPERAND_INT) return ptx_i((int64_t)(0 - (uint64_t)v.imm));
  if (op == RMW_FSUB && !part_is_full(p))
    return emit_binary(l, PTX_XOR, part_bits_mod(p), v, float_sign_bits(p));
  return emit_unary(l, PTX_NEG, op == RMW_SUB ? part_signed_mod(p) : part_float_mod(p), v);
}

/* --- The new value of a loop --- */

/* The type of an object; one of more than 64 bits has two parts, low first. */
struct object {
  const struct part *part;
  uint32_t bits; /* of an integer lane */
};

static uint32_t object_parts(const struct object *o) { return o->bits > 64 ? 2 : 1; }

static void emit_choice(struct lower *l, const struct object *o, const struct ptx_operand *to,
                        const struct ptx_operand *a, const struct ptx_operand *b,
                        struct ptx_operand when) {
  for (uint32_t k = 0; k < object_parts(o); k++)
    emit4(l, PTX_SELP, PTX_MODS(part_move_mod(o->part)), to[k], a[k], b[k], when);
}

/* uinc_wrap: old >= v ? 0 : old + 1. udec_wrap: old == 0 || old > v ? v : old - 1. usub_cond:
 * old >= v ? old - v : old. usub_sat: old >= v ? old - v : 0. */
static void emit_wrapping(struct lower *l, const struct object *o, enum rmw_op op,
                          const struct ptx_operand *to, const struct ptx_operand *old,
                          const struct ptx_operand *v) {
  const struct ptx_operand zero[2] = {ptx_i(0), ptx_i(0)}, one[2] = {ptx_i(1), ptx_i(0)};
  bool steps = op == RMW_UINC_WRAP || op == RMW_UDEC_WRAP, down = op == RMW_UDEC_WRAP;
  struct ptx_operand when = int_compare(l, down ? ICMP_UGT : ICMP_UGE, o->bits, o->part, old, v),
                     next[2];
  for (uint32_t k = 0; k < object_parts(o); k++) next[k] = ptx_r(emit_new_reg(l, o->part));
  int_binary_bits(l, op == RMW_UINC_WRAP ? OP_ADD : OP_SUB, o->bits, o->part, next, old,
                  steps ? one : v);
  if (down)
    when = emit_binary(l, PTX_OR, PTX_MOD_PRED, when,
                       int_compare(l, ICMP_EQ, o->bits, o->part, old, zero));
  if (steps) emit_choice(l, o, to, down ? v : zero, next, when);
  else emit_choice(l, o, to, next, op == RMW_USUB_SAT ? zero : old, when);
}

static void emit_new_value(struct lower *l, const struct object *o, enum rmw_op op,
                           const struct ptx_operand *to, const struct ptx_operand *old,
                           const struct ptx_operand *v) {
  static const enum op ops[RMW_COUNT] = {
      [RMW_ADD] = OP_ADD, [RMW_SUB] = OP_SUB, [RMW_AND] = OP_AND,   [RMW_NAND] = OP_AND,
      [RMW_OR] = OP_OR,   [RMW_XOR] = OP_XOR, [RMW_FADD] = OP_FADD, [RMW_FSUB] = OP_FSUB};
  static const enum icmp_predicate keep[RMW_COUNT] = {
      [RMW_MAX] = ICMP_SGT, [RMW_MIN] = ICMP_SLT, [RMW_UMAX] = ICMP_UGT, [RMW_UMIN] = ICMP_ULT};
  static const struct float_minmax choice[RMW_COUNT] = {[RMW_FMAX] = {PTX_MAX, false},
                                                        [RMW_FMAXIMUM] = {PTX_MAX, true},
                                                        [RMW_FMIN] = {PTX_MIN, false},
                                                        [RMW_FMINIMUM] = {PTX_MIN, true}};
  const struct ptx_operand both[3] = {old[0], v[0]};
  if (ops[op]) int_binary_bits(l, ops[op], o->bits, o->part, to, old, v);
  else if (keep[op]) intrinsic_int_minmax(l, keep[op], o->bits, o->part, old, v, to);
  else if (choice[op].op) intrinsic_minmax_part(l, o->part, to[0].reg, both, &choice[op]);
  else if (op != RMW_XCHG) emit_wrapping(l, o, op, to, old, v);
  for (uint32_t k = 0; k < object_parts(o); k++)
    if (op == RMW_XCHG) emit_copy(l, to[k].reg, v[k]);
    else if (op == RMW_NAND) emit2(l, PTX_NOT, PTX_MODS(part_bits_mod(o->part)), to[k], to[k]);
}

/* --- The word around a small object --- */

/* The aligned 32-bit word that holds an 8- or 16-bit object, and its place there. */
struct word {
  struct atomic at;         /* the word as an atomic object */
  struct ptx_operand shift; /* in bits */
  struct ptx_operand mask;  /* the object's bits in the word */
  struct ptx_operand outside;
};

static struct word word_around(const struct atomic *a) {
  struct lower *l = a->l;
  struct word w = {.at = *a};
  struct ptx_operand byte = ptx_r(address_register(l, a->at));
  uint32_t bits = ptx_reg_class(byte.reg) == PTX_B64 ? 64 : 32;
  struct ptx_operand base = emit_binary(l, PTX_AND, mod_bits(bits), byte, ptx_i(-4));
  struct ptx_operand low = emit_narrow(l, byte, bits, 32);
  low = emit_binary(l, PTX_AND, PTX_MOD_B32, low, ptx_i(3));
  w.shift = emit_binary(l, PTX_SHL, PTX_MOD_B32, low, ptx_i(3));
  struct ptx_operand ones = emit_in_reg(l, ptx_i(a->part.bits <= 8 ? 0xff : 0xffff), &part_i32);
  w.mask = emit_binary(l, PTX_SHL, PTX_MOD_B32, ones, w.shift);
  w.outside = emit_unary(l, PTX_NOT, PTX_MOD_B32, w.mask);
  w.at.at.at = ptx_at(base.reg, 0);
  w.at.part = part_i32;
  return w;
}

static struct ptx_operand word_extract(struct lower *l, const struct word *w,
                                       struct ptx_operand word) {
  return emit_narrow(l, emit_binary(l, PTX_SHR, PTX_MOD_U32, word, w->shift), 32, 16);
}

static struct ptx_operand word_insert(struct lower *l, const struct word *w,
                                      struct ptx_operand word, struct ptx_operand small) {
  struct ptx_operand v = small.kind == PTX_OPERAND_REG
                             ? emit_convert(l, PTX_MOD_U32, PTX_MOD_U16, small)
                             : emit_in_reg(l, small, &part_i32);
  v = emit_binary(l, PTX_SHL, PTX_MOD_B32, v, w->shift);
  v = emit_binary(l, PTX_AND, PTX_MOD_B32, v, w->mask);
  return emit_binary(l, PTX_OR, PTX_MOD_B32, emit_binary(l, PTX_AND, PTX_MOD_B32, word, w->outside),
                     v);
}

/* --- Loops --- */

/* seen = cas(at, old, next) of one register, or of two as a .b128 (sm_90). */
static void emit_cas(const struct atomic *a, uint32_t bits, uint32_t words,
                     const struct ptx_operand *seen, const struct ptx_operand *old,
                     const struct ptx_operand *next) {
  struct lower *l = a->l;
  if (words == 1) {
    emit_atom(a, PTX_MOD_CAS, mod_bits(bits), seen[0], old[0], next);
    return;
  }
  struct ptx_operand was = ptx_r(emit_temp(l, PTX_B128));
  struct ptx_operand c = emit_group(l, PTX_MOD_B128, old[0], old[1]);
  struct ptx_operand n = emit_group(l, PTX_MOD_B128, next[0], next[1]);
  emit_atom(a, PTX_MOD_CAS, PTX_MOD_B128, was, c, &n);
  emit_ungroup(l, PTX_MOD_B128, was, seen[0], seen[1]);
}

/* An operation on one part, or on the parts of a vector that fills one or two words of 64 bits.
 * PTX's own vectors (atom.v2.f32) are only atomic by element. */
struct update {
  enum rmw_op op;
  uint32_t count;                   /* parts */
  uint32_t bits;                    /* of a lane; above 64 both parts are one integer */
  const struct ptx_operand *to, *v; /* by part: registers of the result; the operand */
};

enum { MAX_UPDATE_PARTS = 4 };

/* value[k] = new(to[k], v[k]) for all lanes, in new registers. */
static void emit_new_values(const struct atomic *a, const struct update *u,
                            struct ptx_operand *value) {
  const struct object lane = {&a->part, u->bits};
  for (uint32_t k = 0; k < u->count; k++) value[k] = ptx_r(emit_new_reg(a->l, &a->part));
  for (uint32_t k = 0; k < u->count; k += object_parts(&lane))
    emit_new_value(a->l, &lane, u->op, value + k, u->to + k, u->v + k);
}

/* do { seen = cas(at, old, new(old)) } while (seen != old); the result is the replaced value. If
 * `w` is not NULL, the loop is over the word around a small object. For a vector, which has no load
 * of all its parts, `old` starts as zero: a wrong guess costs one iteration. */
static void rmw_loop(const struct atomic *a, const struct word *w, const struct update *u) {
  struct lower *l = a->l;
  const struct atomic *object = w ? &w->at : a;
  uint32_t bits = u->count > 1 ? 64 : object->part.container;
  uint32_t words = u->count > 1 ? u->count * a->part.bits / 64 : 1, each = u->count / words;
  struct ptx_operand old[2], seen[2], next[2] = {{0}}, value[MAX_UPDATE_PARTS];
  for (uint32_t k = 0; k < words; k++) {
    old[k] = ptx_r(emit_temp(l, mod_class(mod_bits(bits))));
    seen[k] = ptx_r(emit_temp(l, mod_class(mod_bits(bits))));
    if (u->count > 1) emit_copy(l, old[k].reg, ptx_i(0));
  }
  struct atomic raw = *object;
  raw.part = (struct part){.kind = PART_INT, .bits = (uint8_t)bits, .container = (uint8_t)bits};
  if (u->count == 1) emit_plain(&raw, true, PTX_MOD_RELAXED, old[0]);
  uint32_t loop = emit_new_label(l);
  ptx_add_label(l->pf, loop);
  if (w) emit_copy(l, u->to[0].reg, word_extract(l, w, old[0]));
  for (uint32_t k = 0; k < words && !w; k++) scatter(l, &a->part, bits, old[k], u->to + k * each);
  emit_new_values(a, u, value);
  if (w) next[0] = word_insert(l, w, old[0], value[0]);
  for (uint32_t k = 0; k < words && !w; k++)
    next[k] = gathered(l, &a->part, bits, value + k * each);
  emit_cas(object, bits, words, seen, old, next);
  struct ptx_operand retry = emit_compare(l, PTX_MOD_NE, mod_bits(bits), seen[0], old[0]);
  if (words == 2)
    retry = emit_value(l, PTX_MOD_PRED, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_OR, PTX_MOD_B64),
                       PTX_OPS(seen[1], old[1], retry));
  for (uint32_t k = 0; k < words; k++) emit_copy(l, old[k].reg, seen[k]);
  emit_branch_if(l, retry, false, loop);
}

static bool needs_word(const struct lower *l, const struct part *p) {
  return p->bits <= 8 ||
         (p->container == 16 && !emit_has(l, PTX_ATOM, PTX_MODS(PTX_MOD_CAS, PTX_MOD_B16)));
}

/* In the thread's own frame. `expected` is cmpxchg's operand, or NULL. */
static void update_local(const struct atomic *a, const struct nvm_inst *i, struct nvm_type type,
                         const struct update *u, const struct ptx_operand *expected) {
  struct lower *l = a->l;
  const struct object lane = {&a->part, u->bits};
  struct ptx_operand value[MAX_UPDATE_PARTS], same = {0};
  struct memory_access how = local_access(memory_access_unpack(i->aux));
  memory_load_parts(l, type, value_result(l, l->inst), a->at, how);
  if (expected) {
    same = int_compare(l, ICMP_EQ, u->bits, &a->part, u->to, expected);
    for (uint32_t k = 0; k < u->count; k++) value[k] = ptx_r(emit_new_reg(l, &a->part));
    emit_choice(l, &lane, value, u->v, u->to, same);
  } else {
    emit_new_values(a, u, value);
  }
  memory_store_parts(l, type, value, a->at, how);
  if (expected) emit_copy(l, u->to[u->count].reg, same);
}

/* The update by operand `k` of an instruction; false if it is empty or was refused. */
static bool describe(struct lower *l, const struct nvm_inst *i, uint32_t k, struct atomic *a,
                     struct update *u) {
  struct memory_access how = memory_access_unpack(i->aux);
  struct nvm_type type = value_type(l->f, inst_operand(l->f, i, k));
  struct part_list parts = part_list(l, type);
  struct ptx_operand *to = arena_alloc(&l->function_arena, (parts.count + 1) * sizeof *to);
  *u = (struct update){(enum rmw_op)how.rmw, parts.count, 0, to,
                       value_operands(l, inst_operand(l->f, i, k))};
  *a = describe_atomic(l, inst_operand(l->f, i, 0), how);
  relax(a);
  if (parts.count == 0 || !to || !u->v) return false;
  a->part = *part_at(parts, 0);
  uint32_t bits = parts.count * a->part.bits;
  u->bits = type_is_vector(&l->module->types, type) ? a->part.bits : bits;
  for (uint32_t n = 0; n < part_list(l, i->type).count; n++)
    to[n] = ptx_r(value_result(l, l->inst)[n]);
  if (refuse_read_only(a)) return false;
  warn_if_misaligned(a, type, how);
  if (a->part.kind == PART_I1) report_refuse(l, "an atomicrmw on i1", "use i8");
  else if (parts.count == 1 || bits == 64 || bits == 128) return true;
  else report_refuse(l, "an atomic access of more than 128 bits", "PTX has none");
  return false;
}

void atomic_lower_rmw(struct lower *l, const struct nvm_inst *i) {
  struct atomic a;
  struct update u;
  if (!describe(l, i, 1, &a, &u)) return;
  if (a.at.space == PTX_MOD_LOCAL) {
    update_local(&a, i, i->type, &u, NULL);
    return;
  }
  struct native_atom native = native_atom(l, &a.part, u.op);
  fence_before(&a);
  if (u.op == RMW_XCHG && u.count == 2) {
    struct ptx_operand old = ptx_r(emit_temp(l, PTX_B128));
    struct ptx_operand low = emit_in_reg(l, u.v[0], &part_i64);
    struct ptx_operand high = emit_in_reg(l, u.v[1], &part_i64);
    emit_atom(&a, PTX_MOD_EXCH, PTX_MOD_B128, old, emit_group(l, PTX_MOD_B128, low, high), NULL);
    emit_ungroup(l, PTX_MOD_B128, old, u.to[0], u.to[1]);
  } else if (native.op && u.count == 1) {
    struct ptx_operand v = native_operand(l, &a.part, u.op, u.v[0]);
    bool bits = u.op == RMW_XCHG && part_is_full(&a.part);
    struct ptx_operand r = bits ? ptx_r(emit_temp(l, mod_class(native.type))) : u.to[0];
    if (can_reduce(&a, native.op)) {
      emit2(l, PTX_RED, atom_mods(&a, native.op, native.type).words, a.at.at, v);
    } else {
      emit_atom(&a, native.op, native.type, r, v, NULL);
      scatter(l, &a.part, a.part.container, r, u.to);
    }
  } else if (u.count == 1 && needs_word(l, &a.part)) {
    struct word w = word_around(&a);
    rmw_loop(&a, &w, &u);
  } else {
    rmw_loop(&a, NULL, &u);
  }
  fence_after(&a);
}

/* --- cmpxchg --- */

/* Compare and swap of a small object: repeated on its word until the object differs or the word was
 * exchanged. */
static void cas_in_word(const struct atomic *a, struct ptx_reg to, struct ptx_operand expected,
                        struct ptx_operand next) {
  struct lower *l = a->l;
  struct word w = word_around(a);
  struct ptx_operand old = ptx_r(emit_temp(l, PTX_B32)), seen = ptx_r(emit_temp(l, PTX_B32));
  const struct ptx_operand found = ptx_r(to);
  uint32_t loop = emit_new_label(l), end = emit_new_label(l);
  /* If the object differs at once, this load is the whole exchange, and has its ordering. */
  emit_plain(&w.at, true, acquires(a->order) ? PTX_MOD_ACQUIRE : PTX_MOD_RELAXED, old);
  ptx_add_label(l->pf, loop);
  emit_copy(l, to, word_extract(l, &w, old));
  emit_branch_if(l, int_compare(l, ICMP_NE, a->part.bits, &a->part, &found, &expected), false, end);
  struct ptx_operand n = word_insert(l, &w, old, next);
  emit_atom(&w.at, PTX_MOD_CAS, PTX_MOD_B32, seen, old, &n);
  struct ptx_operand retry = emit_compare(l, PTX_MOD_NE, PTX_MOD_B32, seen, old);
  emit_copy(l, old.reg, seen);
  emit_branch_if(l, retry, false, loop);
  ptx_add_label(l->pf, end);
}

void atomic_lower_cmpxchg(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value c = inst_operand(l->f, i, 1);
  struct atomic a;
  struct update u;
  if (!describe(l, i, 2, &a, &u)) return;
  struct ptx_operand expected[2] = {value_operand(l, c, 0)};
  if (u.count == 2) expected[1] = value_operand(l, c, 1);
  if (a.at.space == PTX_MOD_LOCAL) {
    update_local(&a, i, value_type(l->f, c), &u, expected);
    return;
  }
  struct ptx_operand next[2] = {u.v[0], u.v[u.count - 1]};
  for (uint32_t k = 0; k < u.count && u.count == 2; k++) {
    expected[k] = emit_in_reg(l, expected[k], &part_i64);
    next[k] = emit_in_reg(l, next[k], &part_i64);
  }
  fence_before(&a);
  if (needs_word(l, &a.part)) cas_in_word(&a, u.to[0].reg, expected[0], next[0]);
  else emit_cas(&a, a.part.container, u.count, u.to, expected, next);
  fence_after(&a);
  emit_copy(l, u.to[u.count].reg, int_compare(l, ICMP_EQ, u.bits, &a.part, u.to, expected));
}
