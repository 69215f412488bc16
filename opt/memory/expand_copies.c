/* expand-copies: short copies of memory become loads and stores.
 *
 * Purpose:   front ends copy structs with llvm.memcpy. Only loads and stores get state spaces,
 *            vector accesses, moving pointers in loops, and values from gvn.
 * Algorithm: a memcpy or memmove of few units of the common alignment is replaced by loads of all
 *            units, then stores, as memmove needs.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear.
 * Omits:     copies from and to variables of the frame and byval arguments, which sroa splits or
 *            code generation reads in place. Copies within one variable are expanded, since sroa
 *            does not split them, if its scalars have 4 or 8 bytes. Volatile copies; memset.
 * Tests:     check/opt/expand-copies.nvir. */
#include "analysis/alias.h"
#include "ir/build.h"
#include "ir/evalint.h"
#include "opt/memory/copied_tags.h"
#include "opt/passes.h"

enum { MAX_UNITS = 4, WIDEST_UNIT = 16, MAX_NESTING = 8 };

static bool is_in_frame(const struct nvm_function *f, struct nvm_value object) {
  return value_inst_of(f, object, OP_ALLOCA) ||
         (value_kind(object) == VALUE_ARG &&
          function_parameter_attribute(f, value_index(object), ATTR_BYVAL));
}

/* The bytes of the scalars of which the type consists; 0 if they differ, or are not whole bytes. */
static uint64_t scalar_bytes(const struct nvm_module *m, struct nvm_type type, int depth) {
  const struct type_table *t = &m->types;
  const struct type_info *info = type_info(t, type);
  if (depth == MAX_NESTING) return 0;
  if (info->kind == TY_ARRAY || info->kind == TY_VECTOR)
    return scalar_bytes(m, info->element, depth + 1);
  uint64_t bits = info->kind == TY_STRUCT || info->kind == TY_PTR ? 0 : type_scalar_bits(t, type);
  uint64_t bytes = bits % 8 == 0 ? bits / 8 : 0;
  for (uint32_t k = 0; info->kind == TY_STRUCT && k < info->count; k++) {
    uint64_t of_member = scalar_bytes(m, type_member(t, type, k), depth + 1);
    if (of_member == 0 || (k > 0 && of_member != bytes)) return 0;
    bytes = of_member;
  }
  return bytes;
}

/* The lanes in which a copy is made, in bytes, so that poison in a member does not reach others;
 * WIDEST_UNIT: any, 0: it is left to sroa. A copy within one variable needs lanes of its members;
 * in memory outside of the frame, units are not split. */
static uint64_t lanes_of(const struct nvm_function *f, const struct nvm_inst *call) {
  struct nvm_value to = alias_underlying_object(f, inst_operand(f, call, 0)),
                   from = alias_underlying_object(f, inst_operand(f, call, 1));
  const struct nvm_inst *variable = value_inst_of(f, to, OP_ALLOCA);
  if (!is_in_frame(f, to) && !is_in_frame(f, from)) return WIDEST_UNIT;
  if (!value_equal(to, from) || !variable) return 0;
  uint64_t bytes = scalar_bytes(f->module, (struct nvm_type){variable->aux}, 0);
  return bytes == 4 || bytes == 8 ? bytes : 0;
}

/* How a copy is made; all in bytes. */
struct units {
  uint64_t length, unit, lane;
};

/* False if the copy stays. */
static bool find_units(const struct nvm_function *f, const struct nvm_inst *call, struct units *u) {
  struct nvm_module *m = f->module;
  uint32_t what = call_intrinsic(f, call);
  nvm_u128 bytes;
  if ((what != INTRINSIC_memcpy && what != INTRINSIC_memmove) ||
      !const_is_int(m, inst_operand(f, call, 2), &bytes) || bytes == 0 ||
      bytes > MAX_UNITS * WIDEST_UNIT || call_copy_is_volatile(f, call))
    return false;
  uint64_t to = call_copy_align(f, call, 0), from = call_copy_align(f, call, 1), unit = WIDEST_UNIT;
  while (unit > to || unit > from || bytes % unit) unit /= 2;
  *u = (struct units){(uint64_t)bytes, unit, 0};
  if (bytes / unit > MAX_UNITS) return false;
  u->lane = lanes_of(f, call);
  if (u->lane == WIDEST_UNIT) u->lane = unit == WIDEST_UNIT ? 4 : unit;
  return u->lane && unit >= u->lane;
}

static bool expand(struct nvm_function *f, struct nvm_inst_id call, struct units u) {
  struct nvm_module *m = f->module;
  struct builder b = builder_replacing(f, call);
  uint64_t unit = u.unit, length = u.length;
  uint32_t how =
      memory_access_pack((struct memory_access){.align_log2 = (evalint_log2(unit) + 1) & 63});
  struct nvm_type type = type_int(&m->types, (uint32_t)u.lane * 8);
  if (unit > u.lane) type = type_vector(&m->types, type, unit / u.lane);
  struct nvm_value ends[] = {inst_operand_at(f, call, 0), inst_operand_at(f, call, 1)},
                   units[MAX_UNITS];
  uint32_t copy = f->attachments.data[call.index];
  for (uint64_t at = 0; at < length; at += unit) {
    struct nvm_value from = builder_offset(&b, ends[1], (int64_t)at);
    units[at / unit] = builder_load(&b, type, from, how);
    copied_tags_attach(f, copy, units[at / unit], at, unit);
  }
  for (uint64_t at = 0; at < length; at += unit) {
    struct nvm_value to = builder_offset(&b, ends[0], (int64_t)at);
    copied_tags_attach(f, copy, builder_store(&b, units[at / unit], to, how), at, unit);
  }
  inst_remove(f, call);
  return !module_out_of_memory(m);
}

enum nvm_status expand_copies_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  FOR_EACH_BLOCK (f, b)
    for (struct nvm_inst_id i = function_block(f, b)->first, next; !inst_is_none(i); i = next) {
      struct units u;
      next = function_inst(f, i)->next;
      if (function_inst(f, i)->op != OP_CALL || !find_units(f, function_inst(f, i), &u)) continue;
      if (!expand(f, i, u)) return NVM_OUT_OF_MEMORY;
      *changed = true;
      ++*env->statistic;
    }
  return NVM_OK;
}
