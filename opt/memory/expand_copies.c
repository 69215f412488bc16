/* expand-copies: short copies of memory become loads and stores.
 *
 * Purpose:   front ends copy structs with llvm.memcpy. Only loads and stores get state spaces,
 *            vector accesses, moving pointers in loops, and values from gvn.
 * Algorithm: a memcpy or memmove of few units of the common alignment is replaced by loads of all
 *            units, then stores, as memmove needs.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear.
 * Omits:     copies from and to variables of the frame and byval arguments, which sroa splits, or
 *            code generation reads in place, unless they are within one, which sroa does not
 *            split; volatile ones; memset.
 * Tests:     check/opt/expand-copies.nvir. */
#include "analysis/alias.h"
#include "ir/build.h"
#include "ir/evalint.h"
#include "opt/memory/copied_tags.h"
#include "opt/passes.h"

enum { MAX_UNITS = 4, WIDEST_UNIT = 16 };

static bool is_in_frame(const struct nvm_function *f, struct nvm_value object) {
  return value_inst_of(f, object, OP_ALLOCA) ||
         (value_kind(object) == VALUE_ARG &&
          function_parameter_attribute(f, value_index(object), ATTR_BYVAL));
}

/* Whether one end of the copy is in an object of the frame, and not the other end, too. */
static bool is_left(const struct nvm_function *f, const struct nvm_inst *call) {
  struct nvm_value to = alias_underlying_object(f, inst_operand(f, call, 0)),
                   from = alias_underlying_object(f, inst_operand(f, call, 1));
  return !value_equal(to, from) && (is_in_frame(f, to) || is_in_frame(f, from));
}

/* The unit of the copy in bytes; 0 if it stays. */
static uint64_t unit_of(const struct nvm_function *f, const struct nvm_inst *call,
                        uint64_t *length) {
  struct nvm_module *m = f->module;
  uint32_t what = call_intrinsic(f, call);
  nvm_u128 bytes;
  if ((what != INTRINSIC_memcpy && what != INTRINSIC_memmove) ||
      !const_is_int(m, inst_operand(f, call, 2), &bytes) || bytes == 0 ||
      bytes > MAX_UNITS * WIDEST_UNIT || call_copy_is_volatile(f, call))
    return 0;
  uint64_t to = call_copy_align(f, call, 0), from = call_copy_align(f, call, 1), unit = WIDEST_UNIT;
  *length = (uint64_t)bytes;
  while (unit > to || unit > from || *length % unit) unit /= 2;
  bool is_short = *length / unit <= MAX_UNITS;
  return is_short && !is_left(f, call) ? unit : 0;
}

static bool expand(struct nvm_function *f, struct nvm_inst_id call, uint64_t unit,
                   uint64_t length) {
  struct nvm_module *m = f->module;
  struct builder b = builder_replacing(f, call);
  uint32_t how =
      memory_access_pack((struct memory_access){.align_log2 = (evalint_log2(unit) + 1) & 63});
  struct nvm_type type = unit == WIDEST_UNIT ? type_vector(&m->types, TYPE_I32, 4)
                                             : type_int(&m->types, (uint32_t)unit * 8);
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
      uint64_t length, unit;
      next = function_inst(f, i)->next;
      if (function_inst(f, i)->op != OP_CALL || !(unit = unit_of(f, function_inst(f, i), &length)))
        continue;
      if (!expand(f, i, unit, length)) return NVM_OUT_OF_MEMORY;
      *changed = true;
      ++*env->statistic;
    }
  return NVM_OK;
}
