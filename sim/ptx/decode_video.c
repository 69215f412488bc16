/* Video instructions: vadd … vset on values of 32 bits, vadd2 … vset4 on halves and bytes. Operands
 * with selectors (%r1.h0) and vmad are not supported. */
#include "ir/evalint.h"
#include "sim/machine/exec.h"
#include "sim/ptx/decoder.h"
#include "sim/ptx/scalar.h"

/* The operation of each element. */
enum video_kind {
  VIDEO_ADD,
  VIDEO_SUB,
  VIDEO_AVERAGE,
  VIDEO_DIFFERENCE,
  VIDEO_MIN,
  VIDEO_MAX,
  VIDEO_SHL,
  VIDEO_SHR,
  VIDEO_SET
};

/* Fields of the instruction: imm: enum video_kind, bits: width of an element, is_signed and
 * is_signed2: of the sources, rounding: the result is signed, bits2: enum video_second. */
enum video_compare { VIDEO_EQ, VIDEO_NE, VIDEO_LT, VIDEO_LE, VIDEO_GT, VIDEO_GE };
enum video_second { SECOND_NONE, SECOND_ADD, SECOND_MIN, SECOND_MAX };

static bool compare(const struct inst *in, int64_t x, int64_t y) {
  switch (in->compare) {
    case VIDEO_EQ: return x == y;
    case VIDEO_NE: return x != y;
    case VIDEO_LT: return x < y;
    case VIDEO_LE: return x <= y;
    case VIDEO_GT: return x > y;
    default: return x >= y;
  }
}

static int64_t shift_distance(const struct inst *in, int64_t y) {
  return in->flags & FLAG_HIGH ? y & 31 : y > 32 ? 32 : y; /* .wrap, .clamp */
}

/* Left shifts need 65 bits. */
static evalint_s128 compute(const struct inst *in, int64_t x, int64_t y) {
  switch ((enum video_kind)in->imm) {
    case VIDEO_ADD: return x + y;
    case VIDEO_SUB: return x - y;
    case VIDEO_AVERAGE: return (x + y + (x + y >= 0)) >> 1;
    case VIDEO_DIFFERENCE: return x < y ? y - x : x - y;
    case VIDEO_MIN: return x < y ? x : y;
    case VIDEO_MAX: return x > y ? x : y;
    case VIDEO_SHL: return (evalint_s128)x * ((evalint_s128)1 << shift_distance(in, y));
    case VIDEO_SHR: return x >> shift_distance(in, y);
    case VIDEO_SET: return compare(in, x, y);
  }
  return 0;
}

static int64_t extend(bool is_signed, unsigned bits, uint64_t v) {
  return is_signed ? evalint_sext(bits, v) : (int64_t)evalint_zext(bits, v);
}

/* An element's result, saturated by .sat. Otherwise it is exact: it wraps around where it is merged
 * into its element, and not where .add sums the elements. */
static int64_t lane_result(const struct inst *in, evalint_s128 r) {
  if (!(in->flags & FLAG_SAT)) return (int64_t)r;
  return in->rounding ? extend(true, in->bits, evalint_clamp_s(in->bits, r))
                      : extend(false, in->bits, evalint_clamp_u(in->bits, r));
}

LANE(video) {
  uint64_t all = 0, sum = c;
  for (unsigned at = 0; at < 32; at += in->bits) {
    int64_t x = extend(in->is_signed, in->bits, a >> at),
            y = extend(in->is_signed2, in->bits, b >> at);
    uint64_t r = (uint64_t)lane_result(in, compute(in, x, y));
    all |= evalint_zext(in->bits, r) << at;
    sum += r;
  }
  int64_t first = extend(in->rounding, 32, all), second = extend(in->rounding, 32, c);
  switch ((enum video_second)in->bits2) {
    case SECOND_NONE: return all;
    case SECOND_ADD: return evalint_zext(32, sum);
    case SECOND_MIN: return evalint_zext(32, (uint64_t)(first < second ? first : second));
    case SECOND_MAX: return evalint_zext(32, (uint64_t)(first > second ? first : second));
  }
  return all;
}

static bool kind_of(uint16_t op, enum video_kind *kind, unsigned *bits) {
  static const struct {
    uint16_t ops[3]; /* of 32, 16 and 8 bits; 0: none */
    enum video_kind kind;
  } rows[] = {
      {{PTX_VADD, PTX_VADD2, PTX_VADD4}, VIDEO_ADD},
      {{PTX_VSUB, PTX_VSUB2, PTX_VSUB4}, VIDEO_SUB},
      {{0, PTX_VAVRG2, PTX_VAVRG4}, VIDEO_AVERAGE},
      {{PTX_VABSDIFF, PTX_VABSDIFF2, PTX_VABSDIFF4}, VIDEO_DIFFERENCE},
      {{PTX_VMIN, PTX_VMIN2, PTX_VMIN4}, VIDEO_MIN},
      {{PTX_VMAX, PTX_VMAX2, PTX_VMAX4}, VIDEO_MAX},
      {{PTX_VSHL, 0, 0}, VIDEO_SHL},
      {{PTX_VSHR, 0, 0}, VIDEO_SHR},
      {{PTX_VSET, PTX_VSET2, PTX_VSET4}, VIDEO_SET},
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    for (unsigned n = 0; n < 3; n++)
      if (rows[k].ops[n] == op) {
        *kind = rows[k].kind;
        *bits = 32u >> n;
        return true;
      }
  return false;
}

static uint8_t comparison(uint16_t word) {
  switch (word) {
    case PTX_MOD_EQ: return VIDEO_EQ;
    case PTX_MOD_NE: return VIDEO_NE;
    case PTX_MOD_LT: return VIDEO_LT;
    case PTX_MOD_LE: return VIDEO_LE;
    case PTX_MOD_GT: return VIDEO_GT;
    default: return VIDEO_GE;
  }
}

static bool is_signed_type(const struct decoder *d, unsigned k) {
  return ptx_mod_row(d->words.type[k])->kind == 's';
}

bool decode_video(struct decoder *d) {
  struct inst *in = d->in;
  const struct words *w = &d->words;
  enum video_kind kind;
  unsigned bits;
  if (!kind_of(d->e->op, &kind, &bits)) return decoder_unsupported(d, NULL);
  for (uint32_t k = 0; decoder_has(d, k); k++)
    if (decoder_operand(d, k)->kind == PTX_OPERAND_REG && decoder_operand(d, k)->count)
      return decoder_unsupported(d, NULL);
  bool sets = kind == VIDEO_SET; /* has no result type */
  in->imm = kind;
  in->bits = (uint8_t)bits;
  in->rounding = !sets && is_signed_type(d, 0);
  in->is_signed = is_signed_type(d, sets ? 0 : 1);
  in->is_signed2 = is_signed_type(d, sets ? 1 : 2);
  in->compare = comparison(w->compare);
  in->bits2 = w->atom_op == PTX_MOD_ADD   ? SECOND_ADD
              : w->atom_op == PTX_MOD_MIN ? SECOND_MIN
              : w->atom_op == PTX_MOD_MAX ? SECOND_MAX
                                          : SECOND_NONE;
  if (w->sat) in->flags |= FLAG_SAT;
  if ((kind == VIDEO_SHL || kind == VIDEO_SHR) && !w->clamp) in->flags |= FLAG_HIGH;
  decoder_operands(d, PTX_MOD_U32, PTX_MOD_U32, PTX_MOD_U32);
  in->run = exec_lanes;
  in->fn = video;
  return true;
}
