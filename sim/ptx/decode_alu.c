/* Decoding of instructions that compute in each lane alone: arithmetic, logic, comparisons,
 * conversions, moves. */
#include "ir/evalfloat.h"
#include "sim/machine/exec.h"
#include "sim/machine/number.h"
#include "sim/ptx/decoder.h"
#include "sim/ptx/scalar.h"

/* Properties of the operation's type. */
static void set_type(struct inst *in, uint16_t type) {
  const struct ptx_mod_row *row = ptx_mod_row(type);
  in->bits = (uint8_t)row->bits;
  in->is_signed = row->kind == 's';
  in->format = (uint8_t)number_format(type);
}

static void set_flags(struct decoder *d) {
  const struct words *w = &d->words;
  struct inst *in = d->in;
  if (w->ftz) in->flags |= FLAG_FTZ;
  if (w->sat) in->flags |= FLAG_SAT;
  if (w->relu) in->flags |= FLAG_RELU;
  if (w->nan_result) in->flags |= FLAG_NAN;
  if (w->xorsign) in->flags |= FLAG_XORSIGN;
  in->rounding = w->rounding;
}

/* The two halves of a packed value. */
static uint64_t in_halves(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low = in->inner(in, a & 0xffff, b & 0xffff, c & 0xffff);
  uint64_t high = in->inner(in, a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff);
  return (high & 0xffff) << 16 | (low & 0xffff);
}

/* The two floats of .f32x2. */
static uint64_t in_pair(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  return in->inner(in, a >> 32, b >> 32, c >> 32) << 32 |
         (uint32_t)in->inner(in, (uint32_t)a, (uint32_t)b, (uint32_t)c);
}

static bool finish(struct decoder *d, lane_fn *fn) {
  inst_run *loop = scalar_int_loop(fn);
  if (!loop) loop = scalar_float_loop(fn);
  if (!loop) loop = scalar_convert_loop(fn);
  d->in->run = loop && d->in->d != NO_ROW ? loop : exec_lanes;
  d->in->fn = fn;
  return fn ? true : decoder_unsupported(d, NULL);
}

/* --- carries ---------------------------------------------------------------------------------- */

static bool with_carry(struct decoder *d) {
  struct inst *in = d->in;
  enum ptx_op op = (enum ptx_op)d->e->op;
  bool carries_in = op == PTX_ADDC || op == PTX_SUBC || op == PTX_MADC;
  if (!d->words.cc && !carries_in) return false;
  uint16_t type = d->words.type[0];
  set_type(in, type);
  if (d->words.cc) in->flags |= FLAG_CARRY_OUT;
  if (carries_in) in->flags |= FLAG_CARRY_IN;
  if (d->words.hi) in->flags |= FLAG_HIGH;
  in->imm = op;
  decoder_operands(d, type, type, type);
  in->run = exec_carry;
  return true;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static bool is_shift(enum ptx_op op) { return op == PTX_SHL || op == PTX_SHR; }

/* The row of scalar_int's table; 0xff: none. */
static uint8_t permute_mode(uint16_t mode) {
  static const uint16_t modes[] = {PTX_MOD_F4E, PTX_MOD_B4E, PTX_MOD_RC8,
                                   PTX_MOD_ECL, PTX_MOD_ECR, PTX_MOD_RC16};
  for (uint8_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (modes[i] == mode) return i;
  return 0xff;
}

static bool int_op(struct decoder *d) {
  struct inst *in = d->in;
  enum ptx_op op = (enum ptx_op)d->e->op;
  uint16_t type = d->words.type[0], second = type, third = type;
  if (d->words.hi || d->words.shiftamt) in->flags |= FLAG_HIGH;
  if (d->words.clamp) in->flags |= FLAG_SAT;
  if (op == PTX_SUB && d->words.sat) in->flags |= FLAG_HIGH;
  in->imm = op;
  if (op == PTX_PRMT) in->compare = permute_mode(d->words.mode);
  if (d->words.type_count > 1) in->is_signed2 = ptx_mod_row(d->words.type[1])->kind == 's';
  if (is_shift(op) || op == PTX_BFE) second = third = PTX_MOD_U32;
  if (d->words.wide) third = 0;
  decoder_operands(d, type, second, third);
  if (op == PTX_LOP3) in->imm = decoder_operand(d, 4)->imm;
  lane_fn *fn = scalar_int(d, op);
  if (fn && (type == PTX_MOD_U16X2 || type == PTX_MOD_S16X2)) {
    in->bits = 16;
    in->is_signed = type == PTX_MOD_S16X2;
    in->inner = scalar_int(d, op);
    fn = in_halves;
  }
  bool finished = finish(d, fn);
  if (op == PTX_DIV || op == PTX_REM) {
    in->run = exec_divide;
    in->kind = INST_MEMORY;
  }
  return finished;
}

static bool float_op(struct decoder *d) {
  struct inst *in = d->in;
  uint16_t type = d->words.type[0];
  if (d->words.type_count > 1) return decoder_unsupported(d, NULL);
  decoder_operands(d, type, type, type);
  lane_fn *fn = scalar_float(d, (enum ptx_op)d->e->op);
  if (fn && ptx_mod_row(type)->kind == 'x') {
    in->inner = fn;
    fn = type == PTX_MOD_F32X2 ? in_pair : in_halves;
  }
  return finish(d, fn);
}

static bool is_float(uint16_t type) {
  return ptx_mod_row(type)->kind == 'f' || type == PTX_MOD_F16X2 || type == PTX_MOD_BF16X2 ||
         type == PTX_MOD_F32X2;
}

/* bfi a, b, position, length: five operands; position and length become one. */
static uint64_t insert_field(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  return evalint_insert(in->bits, a, b, c & 0xff, c >> 8);
}
static uint64_t join_field(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  (void)in, (void)c;
  return (a & 0xff) | (b & 0xff) << 8;
}

static bool insert_op(struct decoder *d) {
  struct inst *in = d->in, joined = {.kind = INST_HELPER,
                                     .line = in->line,
                                     .run = exec_lanes,
                                     .fn = join_field,
                                     .d2 = NO_ROW};
  uint16_t type = d->words.type[0];
  joined.a = decoder_source(d, decoder_operand(d, 3), PTX_MOD_U32);
  joined.b = decoder_source(d, decoder_operand(d, 4), PTX_MOD_U32);
  joined.c = decoder_constant(d, 0);
  joined.d = d->func->rows++;
  if (!VEC_PUSH(&d->sim->arena, &d->code, joined)) d->failed = true;
  set_type(in, type);
  decoder_operands(d, type, type, PTX_MOD_U32);
  in->c = joined.d;
  return finish(d, insert_field);
}

/* --- predicates ------------------------------------------------------------------------------- */

static void combine(struct decoder *d) {
  if (!d->words.bool_op || !decoder_has(d, 3)) return;
  bool negated;
  d->in->c = decoder_pred(d, decoder_operand(d, 3), &negated);
  d->in->count =
      (uint8_t)((negated ? FLAG_NEGATE_PRED : 0) | (d->words.bool_op == PTX_MOD_AND  ? FLAG_AND
                                                    : d->words.bool_op == PTX_MOD_OR ? FLAG_OR
                                                                                     : FLAG_XOR));
}

static bool compare_op(struct decoder *d) {
  struct inst *in = d->in;
  bool is_set = d->e->op == PTX_SET;
  uint16_t type = d->words.type[is_set ? 1 : 0];
  set_flags(d);
  decoder_targets(d);
  in->a = decoder_source(d, decoder_operand(d, 1), type);
  in->b = decoder_source(d, decoder_operand(d, 2), type);
  in->c = 0;
  combine(d);
  in->fn = scalar_compare(d, type);
  in->run = exec_compare;
  in->bits2 = type == PTX_MOD_F16X2 || type == PTX_MOD_BF16X2; /* halves */
  if (is_set) {
    uint16_t result = d->words.type[0];
    bool as_float = ptx_mod_row(result)->kind != 'u' && ptx_mod_row(result)->kind != 's';
    unsigned bits = ptx_mod_row(result)->bits == 16 || in->bits2 ? 16 : 32;
    in->is_signed2 = true; /* writes a value */
    in->imm = as_float ? (int64_t)evalfloat_from_int(number_format(result), EVALFLOAT_NEAREST, 32,
                                                     false, 1)
                       : (int64_t)evalint_mask(bits);
  }
  return in->fn ? true : decoder_unsupported(d, NULL);
}

static uint64_t test_number(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  enum float_format f = (enum float_format)in->format;
  (void)b, (void)c;
  bool nan = evalfloat_is_nan(f, a), inf = evalfloat_is_infinite(f, a);
  bool tiny = evalfloat_is_subnormal(f, a), zero = evalfloat_is_zero(f, a);
  switch (in->imm) {
    case PTX_MOD_FINITE: return !nan && !inf;
    case PTX_MOD_INFINITE: return inf;
    case PTX_MOD_NUMBER: return !nan;
    case PTX_MOD_NOTANUMBER: return nan;
    case PTX_MOD_NORMAL: return !nan && !inf && !tiny && !zero;
    default: return tiny;
  }
}

static bool test_op(struct decoder *d) {
  struct inst *in = d->in;
  set_type(in, d->words.type[0]);
  decoder_targets(d);
  in->a = decoder_source(d, decoder_operand(d, 1), d->words.type[0]);
  in->c = 0;
  in->imm = d->words.mode;
  in->fn = test_number;
  in->run = exec_compare;
  return true;
}

static bool select_op(struct decoder *d) {
  struct inst *in = d->in;
  bool negated;
  decoder_operands(d, d->words.type[0], d->words.type[0], 0);
  in->c = decoder_pred(d, decoder_operand(d, 3), &negated);
  if (negated) {
    uint32_t swap = in->a;
    in->a = in->b;
    in->b = swap;
  }
  in->run = exec_select;
  return true;
}

static uint64_t choose_int(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  (void)in;
  return evalint_sext(32, c) >= 0 ? a : b;
}
static uint64_t choose_float(const struct inst *in, uint64_t a, uint64_t b, uint64_t c) {
  if (in->flags & FLAG_FTZ) c = evalfloat_flush(FLOAT_SINGLE, c);
  int order = evalfloat_compare(FLOAT_SINGLE, c, 0);
  return order == 0 || order == 1 ? a : b;
}

static bool slct_op(struct decoder *d) {
  bool by_float = d->words.type[1] == PTX_MOD_F32;
  set_type(d->in, d->words.type[0]);
  set_flags(d);
  decoder_operands(d, d->words.type[0], d->words.type[0], d->words.type[1]);
  return finish(d, by_float ? choose_float : choose_int);
}

static bool logic_of_preds(struct decoder *d) {
  struct inst *in = d->in;
  bool na = false, nb = false;
  in->d = decoder_dest(d, decoder_operand(d, 0));
  in->a = decoder_pred(d, decoder_operand(d, 1), &na);
  in->b = decoder_has(d, 2) ? decoder_pred(d, decoder_operand(d, 2), &nb) : 0;
  in->bits = na;
  in->bits2 = nb;
  in->imm = d->e->op;
  in->run = exec_pred_logic;
  return true;
}

static bool lop3_with_pred(struct decoder *d) {
  struct inst *in = d->in;
  bool negated;
  decoder_operands(d, PTX_MOD_B32, PTX_MOD_B32, PTX_MOD_B32);
  in->imm = decoder_operand(d, 4)->imm & 0xff;
  uint32_t q = decoder_pred(d, decoder_operand(d, 5), &negated);
  uint32_t *row = decoder_alloc(d, sizeof *row);
  if (!row) return true;
  *row = q;
  in->rows = row;
  in->count = (uint8_t)((negated ? FLAG_NEGATE_PRED : 0) |
                        (d->words.bool_op == PTX_MOD_AND ? FLAG_AND : FLAG_OR));
  in->run = exec_lop3_pred;
  return true;
}

/* --- moves ------------------------------------------------------------------------------------ */

static uint16_t bits_type(unsigned bits) {
  return bits == 8 ? PTX_MOD_B8 : bits == 16 ? PTX_MOD_B16 : bits == 32 ? PTX_MOD_B32 : PTX_MOD_B64;
}

static bool mov_op(struct decoder *d) {
  struct inst *in = d->in;
  uint16_t type = d->words.type[0];
  const struct ptx_operand *to = decoder_operand(d, 0), *from = decoder_operand(d, 1);
  uint32_t count;
  in->bits = (uint8_t)ptx_mod_row(type)->bits;
  if (type == PTX_MOD_PRED) {
    bool negated;
    in->d = decoder_dest(d, to);
    in->a = in->b = decoder_pred(d, from, &negated);
    in->bits = in->bits2 = negated;
    in->imm = PTX_AND;
    in->run = exec_pred_logic;
    return true;
  }
  if (from->kind == PTX_OPERAND_VECTOR) {
    in->count = (uint8_t)from->count;
    in->bits2 = (uint8_t)(in->bits / from->count);
    in->rows = decoder_rows(d, from, false, bits_type(in->bits2), 0, &count);
    in->d = decoder_dest(d, to);
    in->run = exec_pack;
    return true;
  }
  if (to->kind == PTX_OPERAND_VECTOR) {
    in->count = (uint8_t)to->count;
    in->bits2 = (uint8_t)(in->bits / to->count);
    in->a = decoder_source(d, from, type);
    in->rows = decoder_rows(d, to, true, type, 0, &count);
    in->run = exec_unpack;
    return true;
  }
  in->d = decoder_dest(d, to);
  in->a = decoder_source(d, from, type);
  in->run = in->bits == 128 ? exec_mov_wide : exec_mov;
  return true;
}

static bool cvt_op(struct decoder *d) {
  uint16_t from = d->words.type[1];
  set_flags(d);
  decoder_operands(d, from, from, from);
  return finish(d, scalar_convert(d));
}

/* An operation of scalar_int or scalar_float; false: none. */
static bool arithmetic(struct decoder *d) {
  struct inst before = *d->in;
  uint16_t type = d->words.type[0];
  enum ptx_op op = (enum ptx_op)d->e->op;
  set_type(d->in, type);
  set_flags(d);
  if (is_float(type) ? scalar_float(d, op) != NULL : scalar_int(d, op) != NULL)
    return is_float(type) ? float_op(d) : int_op(d);
  *d->in = before;
  return false;
}

bool decode_alu(struct decoder *d) {
  bool is_pred = d->words.type[0] == PTX_MOD_PRED;
  if (with_carry(d)) return true;
  if (d->e->op >= PTX_VADD && d->e->op <= PTX_VSET4) return decode_video(d);
  switch (d->e->op) {
    case PTX_AND:
    case PTX_OR:
    case PTX_XOR:
    case PTX_NOT: return is_pred ? logic_of_preds(d) : arithmetic(d);
    case PTX_LOP3: return d->words.bool_op ? lop3_with_pred(d) : arithmetic(d);
    case PTX_BFI: return insert_op(d);
    case PTX_SETP:
    case PTX_SET: return compare_op(d);
    case PTX_TESTP: return test_op(d);
    case PTX_SELP: return select_op(d);
    case PTX_SLCT: return slct_op(d);
    case PTX_MOV: return mov_op(d);
    case PTX_CVT: return cvt_op(d);
    default: return arithmetic(d);
  }
}
