/* Addresses of alias analysis: base + constant + terms.
 *
 * The walk follows getelementptrs and casts. Indices are split into sums and products with
 * constants that do not wrap (in the pointer's width wrapping is harmless). */
#include "analysis/alias_internal.h"
#include "analysis/known_bits.h"
#include "ir/evalint.h"
#include "ir/gep.h"

enum { MAX_DEPTH = 6 /* of the expression of an index */ };

/* --- the walk to the base --------------------------------------------------------------------- */

/* The operand of an intrinsic that returns its pointer unchanged. */
static struct nvm_value returned_pointer(const struct nvm_function *f,
                                         const struct nvm_inst *call) {
  switch (call_intrinsic(f, call)) {
    case INTRINSIC_ssa_copy:
    case INTRINSIC_launder_invariant_group:
    case INTRINSIC_strip_invariant_group:
    case INTRINSIC_preserve_static_offset:
    case INTRINSIC_threadlocal_address:
    case INTRINSIC_ptr_annotation: return inst_operand(f, call, 0);
    default: return VALUE_NULL;
  }
}

struct nvm_value alias_step_to_base(const struct nvm_function *f, struct nvm_value v, bool *gep) {
  const struct nvm_module *m = f->module;
  const struct nvm_inst *i = inst_of(f, v);
  const struct constant_info *c =
      value_kind(v) == VALUE_CONST ? constant_info(&m->constants, v) : NULL;
  bool expression = c && c->kind == CONST_EXPR;
  uint32_t op = i ? i->op : expression ? c->op : OP_COUNT;
  *gep = op == OP_GEP;
  if (!*gep && op != OP_ADDRSPACECAST && op != OP_BITCAST)
    return op == OP_CALL ? returned_pointer(f, i) : VALUE_NULL;
  struct nvm_value from = i ? inst_operand(f, i, 0) : const_operand(m, v, 0);
  bool one =
      type_is_ptr(&m->types, value_type(f, from)) && !type_is_vector(&m->types, value_type(f, v));
  return one ? from : VALUE_NULL;
}

struct nvm_value alias_underlying_object(const struct nvm_function *f, struct nvm_value pointer) {
  bool gep;
  for (int n = 0; n < ALIAS_MAX_STEPS; n++) {
    struct nvm_value from = alias_step_to_base(f, pointer, &gep);
    if (value_is_none(from)) break;
    pointer = from;
  }
  return pointer;
}

/* --- addresses -------------------------------------------------------------------------------- */

struct decomposer {
  const struct nvm_function *f;
  struct alias_address *a;
  uint32_t width; /* bits of the pointer */
};

bool alias_add_term(struct alias_address *a, struct nvm_value v, int64_t scale, bool is_signed) {
  for (uint32_t k = 0; k < a->term_count; k++) {
    struct alias_term *t = &a->terms[k];
    if (!value_equal(t->variable, v) || t->sign_extended != is_signed) continue;
    t->scale = evalint_wrapping_add(t->scale, scale);
    if (t->scale == 0) *t = a->terms[--a->term_count];
    return true;
  }
  if (scale == 0) return true;
  if (a->term_count == ALIAS_MAX_TERMS) return false;
  a->terms[a->term_count++] = (struct alias_term){v, scale, is_signed};
  return true;
}

/* Whether x + y, y a constant, does not wrap by what is known of x. */
static bool sum_fits(const struct nvm_function *f, struct nvm_value x, struct nvm_value y,
                     bool is_signed) {
  if (value_kind(y) != VALUE_CONST) return false;
  uint16_t flags = range_no_wrap(OP_ADD, range_of(f, x), range_of_value(f, y));
  return flags & (is_signed ? INST_NSW : INST_NUW);
}

/* The constant that i, a product or shift that does not wrap, multiplies its first operand by;
 * false if not a constant, or too large. */
static bool constant_factor(const struct nvm_function *f, const struct nvm_inst *i, bool is_signed,
                            uint32_t bits, uint64_t *factor) {
  struct nvm_value y = inst_operand(f, i, 1);
  nvm_u128 c;
  if (!const_is_int(f->module, y, &c) || bits > 64 || (i->op == OP_SHL && c + 1 >= bits))
    return false;
  *factor = is_signed ? (uint64_t)const_int_signed(f->module, y) : (uint64_t)c;
  if (i->op == OP_SHL) *factor = UINT64_C(1) << (uint64_t)c;
  return true;
}

/* Adds scale * v; a v narrower than the pointer is sign- or zero-extended. Sums and products in a
 * narrower type are split only if they do not wrap. */
static bool add_scaled(struct decomposer *d, struct nvm_value v, int64_t scale, bool is_signed,
                       int depth) {
  const struct nvm_function *f = d->f;
  for (;; depth++) {
    nvm_u128 c;
    uint64_t factor;
    uint32_t bits = type_scalar_bits(&f->module->types, value_type(f, v));
    if (value_kind(v) == VALUE_CONST && const_is_int(f->module, v, &c)) {
      nvm_i128 number =
          is_signed || bits >= d->width ? const_int_signed(f->module, v) : (nvm_i128)c;
      d->a->offset = (int64_t)((uint64_t)d->a->offset + (uint64_t)scale * (uint64_t)number);
      return true;
    }
    const struct nvm_inst *i = inst_of(f, v);
    bool full = bits >= d->width;
    if (full) is_signed = true; /* irrelevant: one form for equal terms */
    if (!i || i->operand_count == 0 || depth == MAX_DEPTH)
      return alias_add_term(d->a, v, scale, is_signed);
    bool unwrapped = full || (i->flags & (is_signed ? INST_NSW : INST_NUW)), apart = false;
    struct nvm_value x = inst_operand(f, i, 0),
                     y = i->operand_count > 1 ? inst_operand(f, i, 1) : VALUE_NULL;
    switch ((enum op)i->op) {
      case OP_SEXT: apart = is_signed; break;
      case OP_ZEXT:
        apart = true;
        is_signed = false;
        break;
      case OP_OR:
      case OP_ADD:
        apart = i->op == OP_OR ? (i->flags & INST_DISJOINT) != 0
                               : unwrapped || sum_fits(f, x, y, is_signed);
        if (apart && !add_scaled(d, y, scale, is_signed, depth + 1)) return false;
        break;
      case OP_SUB:
        apart = unwrapped;
        if (apart && !add_scaled(d, y, (int64_t)(0 - (uint64_t)scale), is_signed, depth + 1))
          return false;
        break;
      case OP_MUL:
      case OP_SHL:
        apart = unwrapped && constant_factor(f, i, is_signed, bits, &factor);
        if (apart) scale = (int64_t)((uint64_t)scale * factor);
        break;
      default: break;
    }
    if (!apart) return alias_add_term(d->a, v, scale, is_signed);
    v = x;
  }
}

static bool add_gep(struct decomposer *d, struct nvm_value v) {
  struct nvm_module *m = d->f->module;
  const struct nvm_inst *i = inst_of(d->f, v);
  const struct constant_info *c = i ? NULL : constant_info(&m->constants, v);
  struct gep_walk walk = gep_begin(m, i ? i->aux : c->aux);
  uint32_t count = i ? i->operand_count : c->count;
  for (uint32_t k = 1; k < count; k++) {
    struct nvm_value index = i ? inst_operand(d->f, i, k) : const_operand(m, v, k);
    bool is_member;
    int64_t bytes = (int64_t)gep_step(&walk, index, &is_member);
    if (is_member) d->a->offset = evalint_wrapping_add(d->a->offset, bytes);
    else if (bytes != 0 && !add_scaled(d, index, bytes, true, 0)) return false;
  }
  return true;
}

struct alias_address alias_decompose(const struct nvm_function *f, struct nvm_value pointer) {
  struct alias_address a = {.base = pointer};
  uint32_t width = layout_pointer_bits(&f->module->layout, space_of_type(f, pointer));
  bool gep;
  struct decomposer d = {f, &a, width};
  for (int n = 0; n < ALIAS_MAX_STEPS; n++) {
    struct nvm_value from = alias_step_to_base(f, a.base, &gep);
    if (value_is_none(from)) break;
    struct alias_address before = a;
    if (gep && !add_gep(&d, a.base)) {
      a = before;
      break;
    }
    a.base = from;
  }
  if (width < 64) a.offset = (int64_t)((uint64_t)a.offset << (64 - width)) >> (64 - width);
  return a;
}

bool alias_is_made_in(const struct nvm_function *f, const struct alias_address *a,
                      struct nvm_block b) {
  for (uint32_t k = 0; k <= a->term_count; k++) {
    const struct nvm_inst *i = inst_of(f, k ? a->terms[k - 1].variable : a->base);
    if (i && i->block.index == b.index) return true;
  }
  return false;
}

/* The value at the end of `from` of v at the start of `to`; none if unknown. */
static struct nvm_value translate_value(const struct nvm_function *f, struct nvm_value v,
                                        struct nvm_block to, struct nvm_block from) {
  const struct nvm_inst *i = inst_of(f, v);
  if (!i || i->block.index != to.index) return v;
  return i->op == OP_PHI ? phi_incoming(f, value_inst_id(v), from) : VALUE_NULL;
}

bool alias_translate(const struct nvm_function *f, struct alias_address *a, struct nvm_block to,
                     struct nvm_block from) {
  struct alias_address old = *a;
  struct decomposer d = {f, a, layout_pointer_bits(&f->module->layout, space_of_type(f, a->base))};
  struct nvm_value base = translate_value(f, a->base, to, from);
  if (value_is_none(base)) return false;
  if (value_equal(base, a->base)) {
    a->term_count = 0;
  } else {
    *a = alias_decompose(f, base);
    a->offset = evalint_wrapping_add(a->offset, old.offset);
  }
  for (uint32_t k = 0; k < old.term_count; k++) {
    struct nvm_value v = translate_value(f, old.terms[k].variable, to, from);
    if (value_is_none(v) || !add_scaled(&d, v, old.terms[k].scale, old.terms[k].sign_extended, 0))
      return false;
  }
  return true;
}

bool alias_same_shape(const struct alias_address *a, const struct alias_address *b) {
  if (!value_equal(a->base, b->base) || a->term_count != b->term_count) return false;
  for (uint32_t k = 0, n; k < a->term_count; k++) {
    const struct alias_term *t = &a->terms[k];
    for (n = 0; n < b->term_count; n++)
      if (value_equal(t->variable, b->terms[n].variable) && t->scale == b->terms[n].scale &&
          t->sign_extended == b->terms[n].sign_extended)
        break;
    if (n == b->term_count) return false;
  }
  return true;
}

static uint32_t offset_zeros(int64_t offset) {
  return offset ? (uint32_t)__builtin_ctzll((uint64_t)offset) : 63;
}

uint32_t alias_term_zeros(const struct alias_term *t, struct known_bits k) {
  uint32_t n = offset_zeros(t->scale) + known_bits_trailing_zeros(k);
  return n < 63 ? n : 63;
}

uint32_t alias_offset_zeros(const struct nvm_function *f, const struct alias_address *a) {
  uint32_t least = offset_zeros(a->offset);
  for (uint32_t k = 0; k < a->term_count; k++) {
    uint32_t n = alias_term_zeros(&a->terms[k], known_bits_of(f, a->terms[k].variable));
    least = n < least ? n : least;
  }
  return least;
}

bool alias_is_in_parameter(const struct nvm_function *f, const struct alias_address *a,
                           uint64_t bytes, uint64_t *align) {
  if (!function_is_kernel(f) || value_kind(a->base) != VALUE_ARG || a->term_count || a->offset < 0)
    return false;
  const struct nvm_module *m = f->module;
  uint32_t k = value_index(a->base);
  const struct nvm_attr *byval = function_parameter_attribute(f, k, ATTR_BYVAL),
                        *written = function_parameter_attribute(f, k, ATTR_ALIGN);
  if (!byval || !byval->type.index) return false;
  uint64_t size = layout_alloc_size(&m->layout, &m->types, byval->type),
           offset = (uint64_t)a->offset;
  *align = written ? attr_align_bytes(written)
                   : layout_written_align(&m->layout, &m->types, byval->type, 0);
  while (offset % *align) *align /= 2;
  return bytes <= size && offset <= size - bytes;
}

bool alias_loads_parameter(const struct nvm_function *f, const struct nvm_inst *i) {
  if (i->op != OP_LOAD || !effects_is_plain_access(i)) return false;
  const struct nvm_module *m = f->module;
  struct alias_address a = alias_decompose(f, inst_operand(f, i, 0));
  uint64_t align, wants = layout_written_align(&m->layout, &m->types, i->type,
                                               memory_access_unpack(i->aux).align_log2);
  return alias_is_in_parameter(f, &a, layout_store_size(&m->layout, &m->types, i->type), &align) &&
         align % wants == 0;
}
