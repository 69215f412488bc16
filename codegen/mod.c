/* Modifiers of PTX instructions by width, class and address space. */
#include "codegen/part.h"

/* Of the least width of 8, 16, 32, 64 that holds `bits`. */
static uint16_t mod_of(uint32_t bits, const uint16_t words[4]) {
  return words[bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3];
}

uint16_t mod_bits(uint32_t bits) {
  static const uint16_t words[4] = {PTX_MOD_B8, PTX_MOD_B16, PTX_MOD_B32, PTX_MOD_B64};
  return bits == 1 ? PTX_MOD_PRED : bits == 128 ? PTX_MOD_B128 : mod_of(bits, words);
}

uint16_t mod_unsigned(uint32_t bits) {
  static const uint16_t words[4] = {PTX_MOD_U8, PTX_MOD_U16, PTX_MOD_U32, PTX_MOD_U64};
  return mod_of(bits, words);
}

uint16_t mod_signed(uint32_t bits) {
  static const uint16_t words[4] = {PTX_MOD_S8, PTX_MOD_S16, PTX_MOD_S32, PTX_MOD_S64};
  return mod_of(bits, words);
}

uint16_t mod_space(uint32_t address_space) {
  switch (address_space) {
    case 1: return PTX_MOD_GLOBAL;
    case 3: return PTX_MOD_SHARED;
    case 4: return PTX_MOD_CONST;
    case 5: return PTX_MOD_LOCAL;
    case 7: return PTX_MOD_SHARED_CLUSTER;
    case 101: return PTX_MOD_PARAM;
    default: return 0;
  }
}

enum ptx_class mod_class(uint16_t type) {
  switch (type) {
    case PTX_MOD_PRED: return PTX_PRED;
    case PTX_MOD_B64:
    case PTX_MOD_U64:
    case PTX_MOD_S64: return PTX_B64;
    case PTX_MOD_F32: return PTX_F32;
    case PTX_MOD_F64: return PTX_F64;
    case PTX_MOD_B128: return PTX_B128;
    case PTX_MOD_B32:
    case PTX_MOD_U32:
    case PTX_MOD_S32:
    case PTX_MOD_F16X2:
    case PTX_MOD_BF16X2: return PTX_B32;
    default: return PTX_B16;
  }
}

uint16_t mod_vector(uint32_t count) {
  return count == 1 ? PTX_MOD_NONE : count == 2 ? PTX_MOD_V2 : count == 4 ? PTX_MOD_V4 : PTX_MOD_V8;
}
