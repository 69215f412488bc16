/* Known bits; see known_bits.h.
 *
 * Evaluates the expression tree MAX_DEPTH levels deep with bits 0, 1 or unknown. Carries of a sum
 * are known where the sum with all unknown bits 0 and the sum with all unknown bits 1 agree.
 * Operands of phis are followed one level; loops end at the depth limit.
 *
 * Limits of special registers are those of the PTX ISA for compute capability 3.0 and later: blocks
 * of 1024 x 1024 x 64 threads, grids of 2^31-1 x 65535 x 65535 blocks, warps of 32. */
#include "analysis/known_bits.h"

#include "analysis/stated_range.h"
#include "ir/intrinsic.h"

enum { MAX_DEPTH = 5 };

static struct known_bits known(const struct nvm_function *f, struct nvm_value v, uint32_t depth);

static struct known_bits known_constant(const struct nvm_module *m, struct nvm_value v,
                                        struct known_bits k) {
  const struct constant_info *c = constant_info(&m->constants, v);
  uint64_t mask = known_bits_mask(k.width);
  if (c->kind == CONST_INT) {
    k.one = c->bits & mask;
    k.zero = ~c->bits & mask;
  } else if (c->kind == CONST_ZERO) {
    k.zero = mask;
  } else if (c->kind == CONST_AGGREGATE) {
    k.one = k.zero = mask;
    for (uint32_t i = 0; i < c->count; i++) {
      const struct constant_info *e = constant_info(&m->constants, const_operand(m, v, i));
      bool number = value_kind(const_operand(m, v, i)) == VALUE_CONST && e->kind == CONST_INT;
      k.one &= number ? e->bits : 0;
      k.zero &= number ? ~e->bits : 0;
    }
  }
  return k;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static struct known_bits known_sum(struct known_bits a, struct known_bits b, bool carry) {
  uint64_t mask = known_bits_mask(a.width);
  uint64_t most = (~a.zero & mask) + (~b.zero & mask) + carry, least = a.one + b.one + carry;
  uint64_t carry_zero = ~(most ^ a.zero ^ b.zero), carry_one = least ^ a.one ^ b.one;
  uint64_t certain = (a.zero | a.one) & (b.zero | b.one) & (carry_zero | carry_one) & mask;
  return (struct known_bits){~most & certain, least & certain, a.width};
}

static struct known_bits known_not(struct known_bits a) {
  return (struct known_bits){a.one, a.zero, a.width};
}

static uint32_t leading_zeros(struct known_bits a) {
  uint64_t rest = known_bits_most(a);
  return rest ? (uint32_t)__builtin_clzll(rest) - (64 - a.width) : a.width;
}

/* Zeros in the `low` lowest and `high` highest bits. */
static struct known_bits known_ends(uint32_t width, uint32_t low, uint32_t high) {
  struct known_bits k = {0, 0, width};
  uint64_t mask = known_bits_mask(width);
  if (low + high >= width) return (struct known_bits){mask, 0, width};
  k.zero = known_bits_mask(low) | (mask & ~known_bits_mask(width - high));
  return k;
}

static struct known_bits known_product(struct known_bits a, struct known_bits b) {
  uint32_t low = known_bits_trailing_zeros(a) + known_bits_trailing_zeros(b),
           high = leading_zeros(a) + leading_zeros(b);
  high = high > a.width ? high - a.width : 0;
  return known_ends(a.width, low > a.width ? a.width : low, high);
}

static struct known_bits known_shift(enum op op, struct known_bits a, struct known_bits by) {
  uint64_t mask = known_bits_mask(a.width);
  if ((by.zero | by.one) != known_bits_mask(by.width)) { /* by an unknown amount */
    if (op == OP_SHL) return known_ends(a.width, known_bits_trailing_zeros(a), 0);
    if (op == OP_LSHR || known_bits_nonnegative(a)) return known_ends(a.width, 0, leading_zeros(a));
    return (struct known_bits){0, 0, a.width};
  }
  uint64_t n = by.one;
  if (n >= a.width) return (struct known_bits){0, 0, a.width};
  uint64_t high = n ? mask & ~(mask >> n) : 0;
  switch (op) {
    case OP_SHL:
      return (struct known_bits){((a.zero << n) | known_bits_mask((uint32_t)n)) & mask,
                                 (a.one << n) & mask, a.width};
    case OP_LSHR: return (struct known_bits){(a.zero >> n) | high, a.one >> n, a.width};
    default:
      return (struct known_bits){(a.zero >> n) | (known_bits_nonnegative(a) ? high : 0),
                                 (a.one >> n) | (known_bits_negative(a) ? high : 0), a.width};
  }
}

static struct known_bits known_division(enum op op, struct known_bits a, struct known_bits b) {
  struct known_bits none = {0, 0, a.width};
  bool is_signed = op == OP_SDIV || op == OP_SREM;
  if (is_signed && !(known_bits_nonnegative(a) && known_bits_nonnegative(b))) return none;
  if (op == OP_UDIV || op == OP_SDIV) return known_ends(a.width, 0, leading_zeros(a));
  uint32_t za = leading_zeros(a), zb = leading_zeros(b); /* remainder: below both */
  return known_ends(a.width, 0, za > zb ? za : zb);
}

static struct known_bits known_binary(const struct nvm_inst *i, struct known_bits a,
                                      struct known_bits b) {
  struct known_bits none = {0, 0, a.width}, r;
  switch ((enum op)i->op) {
    case OP_AND: return (struct known_bits){a.zero | b.zero, a.one & b.one, a.width};
    case OP_OR: return (struct known_bits){a.zero & b.zero, a.one | b.one, a.width};
    case OP_XOR:
      return (struct known_bits){(a.zero & b.zero) | (a.one & b.one),
                                 (a.zero & b.one) | (a.one & b.zero), a.width};
    case OP_ADD:
      r = known_sum(a, b, false);
      if ((i->flags & INST_NSW) && known_bits_nonnegative(a) && known_bits_nonnegative(b))
        r.zero |= UINT64_C(1) << (a.width - 1), r.one &= ~(UINT64_C(1) << (a.width - 1));
      return r;
    case OP_SUB: return known_sum(a, known_not(b), true);
    case OP_MUL:
      r = known_product(a, b);
      if ((i->flags & INST_NSW) && known_bits_nonnegative(a) && known_bits_nonnegative(b))
        r.zero |= UINT64_C(1) << (a.width - 1);
      return r;
    case OP_UDIV:
    case OP_SDIV:
    case OP_UREM:
    case OP_SREM: return known_division((enum op)i->op, a, b);
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR: return known_shift((enum op)i->op, a, b);
    default: return none;
  }
}

static struct known_bits known_cast(const struct nvm_inst *i, struct known_bits a, uint32_t width) {
  uint64_t mask = known_bits_mask(width);
  if (i->op == OP_TRUNC) return (struct known_bits){a.zero & mask, a.one & mask, width};
  struct known_bits k = {a.zero, a.one, width};
  uint64_t above = mask & ~known_bits_mask(a.width);
  if (i->op == OP_ZEXT || known_bits_nonnegative(a)) k.zero |= above;
  else if (known_bits_negative(a)) k.one |= above;
  return k;
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct known_bits below(uint32_t width, uint64_t most) {
  uint32_t bits = most ? 64 - (uint32_t)__builtin_clzll(most) : 0;
  return known_ends(width, 0, width > bits ? width - bits : 0);
}

struct register_limits known_bits_register_limits(uint32_t intrinsic) {
  enum { THREADS = 1024, THREADS_Z = 64, BLOCKS_X = INT32_MAX, BLOCKS_YZ = 65535 };
  switch (intrinsic) {
    case INTRINSIC_nvvm_read_ptx_sreg_tid_x:
    case INTRINSIC_nvvm_read_ptx_sreg_tid_y: return (struct register_limits){0, THREADS - 1};
    case INTRINSIC_nvvm_read_ptx_sreg_tid_z: return (struct register_limits){0, THREADS_Z - 1};
    case INTRINSIC_nvvm_read_ptx_sreg_ntid_x:
    case INTRINSIC_nvvm_read_ptx_sreg_ntid_y: return (struct register_limits){1, THREADS};
    case INTRINSIC_nvvm_read_ptx_sreg_ntid_z: return (struct register_limits){1, THREADS_Z};
    case INTRINSIC_nvvm_read_ptx_sreg_ctaid_x: return (struct register_limits){0, BLOCKS_X - 1};
    case INTRINSIC_nvvm_read_ptx_sreg_nctaid_x: return (struct register_limits){1, BLOCKS_X};
    case INTRINSIC_nvvm_read_ptx_sreg_ctaid_y:
    case INTRINSIC_nvvm_read_ptx_sreg_ctaid_z: return (struct register_limits){0, BLOCKS_YZ - 1};
    case INTRINSIC_nvvm_read_ptx_sreg_nctaid_y:
    case INTRINSIC_nvvm_read_ptx_sreg_nctaid_z: return (struct register_limits){1, BLOCKS_YZ};
    case INTRINSIC_nvvm_read_ptx_sreg_laneid: return (struct register_limits){0, 31};
    case INTRINSIC_nvvm_read_ptx_sreg_warpsize: return (struct register_limits){32, 32};
    default: return (struct register_limits){0, UINT32_MAX};
  }
}

struct known_bits known_bits_of_register(uint32_t intrinsic) {
  struct register_limits l = known_bits_register_limits(intrinsic);
  if (l.least == l.most) return (struct known_bits){~l.most, l.most, 32};
  return below(32, l.most);
}

static struct known_bits known_both(struct known_bits a, struct known_bits b) {
  return (struct known_bits){a.zero & b.zero, a.one & b.one, a.width};
}

static struct known_bits known_call(const struct nvm_function *f, const struct nvm_inst *i,
                                    uint32_t width, uint32_t depth) {
  struct known_bits none = {0, 0, width};
  uint32_t id = call_intrinsic(f, i);
  switch (id) {
    case INTRINSIC_NONE: return none;
    case INTRINSIC_ctpop:
    case INTRINSIC_ctlz:
    case INTRINSIC_cttz: return below(width, width);
    case INTRINSIC_umin:
    case INTRINSIC_umax:
    case INTRINSIC_smin:
    case INTRINSIC_smax: {
      struct known_bits a = known(f, inst_operand(f, i, 0), depth + 1);
      struct known_bits b = known(f, inst_operand(f, i, 1), depth + 1), r = known_both(a, b);
      uint32_t za = leading_zeros(a), zb = leading_zeros(b);
      if (id == INTRINSIC_umin) r.zero |= known_ends(width, 0, za > zb ? za : zb).zero;
      return r;
    }
    default: break;
  }
  struct known_bits r = known_bits_of_register(id);
  return width == 32 ? r : none;
}

/* --- the walk --------------------------------------------------------------------------------- */

static struct known_bits known_phi(const struct nvm_function *f, const struct nvm_inst *i,
                                   struct known_bits r, uint32_t depth) {
  enum { MAX_EDGES = 4 };
  if (i->operand_count > 2 * MAX_EDGES || i->operand_count == 0) return r;
  uint32_t inner = depth + 1 < MAX_DEPTH - 1 ? MAX_DEPTH - 1 : depth + 1;
  struct known_bits all = {known_bits_mask(r.width), known_bits_mask(r.width), r.width};
  for (uint32_t k = 0; k < i->operand_count; k += 2)
    all = known_both(all, known(f, inst_operand(f, i, k), inner));
  return all;
}

static struct nvm_inst_id id_of(const struct nvm_function *f, const struct nvm_inst *i) {
  return (struct nvm_inst_id){(uint32_t)(i - f->insts.data)};
}

/* Narrows r, of the value v, to what the module states of it. */
static struct known_bits known_stated(const struct nvm_function *f, struct nvm_value v,
                                      struct known_bits r) {
  uint64_t low, most;
  if (!stated_range(f, v, &low, &most)) return r;
  for (uint32_t shift = 1; shift < 64; shift *= 2) most |= most >> shift;
  r.zero |= ~most & known_bits_mask(r.width);
  return r;
}

static struct known_bits known_inst(const struct nvm_function *f, const struct nvm_inst *i,
                                    struct known_bits r, uint32_t depth) {
  enum op op = (enum op)i->op;
  if (op >= OP_FIRST_INT && op <= OP_LAST_INT) {
    struct known_bits b = known(f, inst_operand(f, i, 1), depth + 1);
    bool needs_both = op == OP_ADD || op == OP_SUB || op == OP_XOR;
    if (needs_both && (b.zero | b.one) == 0) return r;
    return known_binary(i, known(f, inst_operand(f, i, 0), depth + 1), b);
  }
  switch (op) {
    case OP_TRUNC:
    case OP_ZEXT:
    case OP_SEXT: {
      struct known_bits a = known(f, inst_operand(f, i, 0), depth + 1);
      return a.width ? known_cast(i, a, r.width) : r;
    }
    case OP_SELECT:
      return known_both(known(f, inst_operand(f, i, 1), depth + 1),
                        known(f, inst_operand(f, i, 2), depth + 1));
    case OP_PHI: return known_phi(f, i, r, depth);
    case OP_CALL:
      return known_stated(f, value_of_inst(id_of(f, i)), known_call(f, i, r.width, depth));
    case OP_LOAD: return known_stated(f, value_of_inst(id_of(f, i)), r);
    default: return r;
  }
}

static struct known_bits known(const struct nvm_function *f, struct nvm_value v, uint32_t depth) {
  const struct type_table *t = &f->module->types;
  const struct type_info *type = type_info(t, type_scalar(t, value_type(f, v)));
  struct known_bits r = {0, 0, 0};
  if (type->kind != TY_INT || type->width > 64) return r;
  r.width = type->width;
  if (value_kind(v) == VALUE_CONST) return known_constant(f->module, v, r);
  if (value_kind(v) == VALUE_ARG) return known_stated(f, v, r);
  if (value_kind(v) != VALUE_INST || depth >= MAX_DEPTH) return r;
  return known_inst(f, function_inst(f, (struct nvm_inst_id){value_index(v)}), r, depth);
}

struct known_bits known_bits_of(const struct nvm_function *f, struct nvm_value v) {
  return known(f, v, 0);
}

/* --- at most one bit -------------------------------------------------------------------------- */

enum { MAX_PHIS = 2, MAX_INCOMING = 4 };

/* The phis on the path to the value that is looked at, of which it is assumed: by induction, a phi
 * has at most one bit if all its operands have, assuming that it had in the iteration before. */
struct assumed {
  uint32_t phis[MAX_PHIS], count;
};

static bool at_most_one(const struct nvm_function *f, struct nvm_value v, struct assumed *a,
                        uint32_t depth);

static bool phi_has_at_most_one(const struct nvm_function *f, struct nvm_value v, struct assumed *a,
                                uint32_t depth) {
  const struct nvm_inst *i = value_inst(f, v);
  for (uint32_t n = 0; n < a->count; n++)
    if (a->phis[n] == value_index(v)) return true;
  if (a->count == MAX_PHIS || i->operand_count > 2 * MAX_INCOMING) return false;
  a->phis[a->count++] = value_index(v);
  bool all = true;
  for (uint32_t n = 0; all && n < i->operand_count; n += 2)
    all = at_most_one(f, inst_operand(f, i, n), a, depth + 1);
  a->count--;
  return all;
}

static bool is_negated(const struct nvm_function *f, struct nvm_value v, struct nvm_value of) {
  const struct nvm_inst *i = value_inst(f, v);
  return i && i->op == OP_SUB && const_is_zero(f->module, inst_operand(f, i, 0)) &&
         value_equal(inst_operand(f, i, 1), of);
}

static bool at_most_one(const struct nvm_function *f, struct nvm_value v, struct assumed *a,
                        uint32_t depth) {
  struct known_bits b = known(f, v, depth);
  uint64_t most = known_bits_most(b);
  if (b.width && !(most & (most - 1))) return true;
  const struct nvm_inst *i = value_inst(f, v);
  if (!i || depth >= MAX_DEPTH) return false;
  struct nvm_value x = i->operand_count ? inst_operand(f, i, 0) : VALUE_NULL,
                   y = i->operand_count > 1 ? inst_operand(f, i, 1) : VALUE_NULL;
  switch ((enum op)i->op) {
    case OP_SHL:
    case OP_LSHR:
    case OP_ZEXT:
    case OP_TRUNC: return at_most_one(f, x, a, depth + 1);
    case OP_ASHR:
      return known_bits_nonnegative(known(f, x, depth + 1)) && at_most_one(f, x, a, depth + 1);
    case OP_AND:
      return is_negated(f, x, y) || is_negated(f, y, x) || at_most_one(f, x, a, depth + 1) ||
             at_most_one(f, y, a, depth + 1);
    case OP_SELECT:
      return at_most_one(f, y, a, depth + 1) && at_most_one(f, inst_operand(f, i, 2), a, depth + 1);
    case OP_PHI: return phi_has_at_most_one(f, v, a, depth);
    default: return false;
  }
}

bool known_bits_at_most_one(const struct nvm_function *f, struct nvm_value v) {
  struct assumed none = {{0}, 0};
  return at_most_one(f, v, &none, 0);
}

/* --- defined values --------------------------------------------------------------------------- */

static bool is_defined_constant(const struct nvm_module *m, struct nvm_value v) {
  const struct constant_info *c = constant_info(&m->constants, v);
  for (uint32_t k = 0; c->kind == CONST_AGGREGATE && k < c->count; k++)
    if (value_kind(const_operand(m, v, k)) != VALUE_CONST ||
        !is_defined_constant(m, const_operand(m, v, k)))
      return false;
  return c->kind == CONST_INT || c->kind == CONST_FLOAT || c->kind == CONST_ZERO ||
         c->kind == CONST_AGGREGATE;
}

static bool is_defined(const struct nvm_function *f, struct nvm_value v, uint32_t depth) {
  if (value_kind(v) == VALUE_CONST) return is_defined_constant(f->module, v);
  if (value_kind(v) == VALUE_ARG)
    return function_parameter_attribute(f, value_index(v), ATTR_NOUNDEF);
  if (value_kind(v) != VALUE_INST) return false;
  const struct nvm_inst *i = value_inst(f, v);
  switch ((enum op)i->op) {
    case OP_FREEZE: return true;
    case OP_CALL: {
      uint32_t id = call_intrinsic(f, i);
      return id && i->operand_count == 1 && !stated_range_poisons(f, i) &&
             !(intrinsic_table[id].flags & (INTRIN_READS | INTRIN_WRITES));
    }
    case OP_ICMP:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_UDIV: /* a divisor that is 0 is undefined behaviour before it is a value */
    case OP_UREM:
    case OP_SDIV:
    case OP_SREM:
    case OP_ZEXT:
    case OP_SEXT:
    case OP_TRUNC: break;
    default: return false;
  }
  if (i->flags || depth >= MAX_DEPTH) return false;
  for (uint32_t n = 0; n < i->operand_count; n++)
    if (!is_defined(f, inst_operand(f, i, n), depth + 1)) return false;
  return true;
}

bool known_bits_are_defined(const struct nvm_function *f, struct nvm_value v) {
  return is_defined(f, v, 0);
}
