/* Addresses of IR; see ir.h. */
#include "sim/ir/ir.h"

enum window ir_address_window(uint32_t address_space) {
  switch (address_space) {
    case 1: return WINDOW_GLOBAL;
    case 3:
    case 7: return WINDOW_SHARED;
    case 4: return WINDOW_CONST;
    case 5: return WINDOW_LOCAL;
    case 101: return WINDOW_PARAM;
    default: return WINDOW_COUNT;
  }
}

/* Whether an address leaves the object that inbounds refers to; shared and local memory count as
 * one object each. */
static bool leaves_object(uint64_t p, uint64_t q) {
  return window_of(p) != window_of(q) || object_number(in_window(p)) != object_number(in_window(q));
}

uint64_t ir_address_offset(uint16_t flags, uint32_t bits, uint64_t p, const nvm_i128 *terms,
                           uint32_t count, bool *poison) {
  nvm_i128 sum = 0, limit = (nvm_i128)1 << (bits - 1), all = limit * 2;
  bool wraps = false, negative = false;
  for (uint32_t k = 0; k < count; k++) {
    sum += terms[k];
    wraps |= terms[k] < -limit || terms[k] >= limit || sum < -limit || sum >= limit;
    negative |= terms[k] < 0;
  }
  uint64_t q = (uint64_t)((nvm_u128)(p + (uint64_t)sum) & eval_mask(bits));
  bool signed_flags = flags & (INST_INBOUNDS | INST_NUSW);
  if (signed_flags && (wraps || (nvm_i128)p + sum < 0 || (nvm_i128)p + sum >= all)) *poison = true;
  if ((flags & INST_NUW) && (negative || wraps || (nvm_i128)p + sum >= all)) *poison = true;
  if ((flags & INST_INBOUNDS) && sum != 0 && leaves_object(p, q)) *poison = true;
  return q;
}

uint64_t ir_address_base(const struct nvm_module *m, struct nvm_type pointer) {
  enum window w = ir_address_window(type_info(&m->types, type_scalar(&m->types, pointer))->width);
  return w == WINDOW_COUNT ? 0 : window_base(w);
}
