/* What one lane computes: comparisons. */
#include "ir/evalfloat.h"
#include "sim/machine/number.h"
#include "sim/ptx/scalar.h"

/* Integers of in->bits bits. */
#define COMPARISON(P, U, name, result) LANE_RESULT(name, evalint_narrow_##name(in->bits, a, b))
EVALINT_COMPARISONS(COMPARISON, , , )

/* Bits: 1 less, 2 equal, 4 greater, 8 unordered. */
LANE(float_compare) {
  (void)c;
  if (in->flags & FLAG_FTZ) {
    a = evalfloat_flush((enum float_format)in->format, a);
    b = evalfloat_flush((enum float_format)in->format, b);
  }
  int order = evalfloat_compare((enum float_format)in->format, a, b);
  return in->compare >> (order + 1) & 1;
}

static uint8_t float_orders(uint16_t compare) {
  switch (compare) {
    case PTX_MOD_EQ: return 2;
    case PTX_MOD_NE: return 5;
    case PTX_MOD_LT: return 1;
    case PTX_MOD_LE: return 3;
    case PTX_MOD_GT: return 4;
    case PTX_MOD_GE: return 6;
    case PTX_MOD_EQU: return 10;
    case PTX_MOD_NEU: return 13;
    case PTX_MOD_LTU: return 9;
    case PTX_MOD_LEU: return 11;
    case PTX_MOD_GTU: return 12;
    case PTX_MOD_GEU: return 14;
    case PTX_MOD_NUM: return 7;
    default: return 8; /* nan */
  }
}

lane_fn *scalar_compare(const struct decoder *d, uint16_t type) {
  const struct ptx_mod_row *row = ptx_mod_row(type);
  struct inst *in = d->in;
  in->bits = (uint8_t)row->bits;
  if (row->kind == 'f' || row->kind == 'x') {
    in->format = (uint8_t)number_format(type);
    in->compare = float_orders(d->words.compare);
    return float_compare;
  }
  bool s = row->kind == 's';
  switch (d->words.compare) {
    case PTX_MOD_EQ: return eq;
    case PTX_MOD_NE: return ne;
    case PTX_MOD_LT:
    case PTX_MOD_LO: return s ? lt_s : lt_u;
    case PTX_MOD_LE:
    case PTX_MOD_LS: return s ? le_s : le_u;
    case PTX_MOD_GT:
    case PTX_MOD_HI: return s ? gt_s : gt_u;
    case PTX_MOD_GE:
    case PTX_MOD_HS: return s ? ge_s : ge_u;
    default: return NULL;
  }
}
