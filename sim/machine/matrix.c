/* Matrix instructions of a warp: ldmatrix, stmatrix, movmatrix, mma, wmma, wgmma.
 *
 * The PTX manual defines which lane holds which element for mma (rows of A and C and columns of B
 * over groups of four lanes). For wmma it leaves that open: here element i of a matrix in row order
 * is in lane i / (elements / 32); further registers hold copies.
 *
 * wgmma is the mma of four warps, 16 rows and 8 columns at a time, with its matrices in shared
 * memory. It is executed at once, but it may be asynchronous: its results are marked until they are
 * waited for (undefined.c), and its inputs must not have changed by then.
 *
 * Model of the sums, which PTX also leaves open: integers exactly, then wrapped or clamped; f64 by
 * fused multiply-add in the order of k, in the instruction's rounding; all other floats in double,
 * c + a0*b0 + a1*b1 … in the order of k (the products are exact there), rounded to nearest at the
 * end, once. */
#include "sim/machine/matrix.h"

#include "sim/machine/finding.h"
#include "sim/machine/number.h"
#include "sim/machine/race.h"
#include "sim/machine/undefined.h"

#include <string.h>

enum { MAX_ELEMENTS = 32 * 256 };

/* A wgmma that has not been waited for. */
struct product {
  const struct inst *in;
  struct matrix x;
  uint32_t group;
  uint64_t read; /* a hash of it */
};

/* --- where elements are ----------------------------------------------------------------------- */

static void place_in_quad(const struct matrix *x, enum matrix_operand which, uint32_t i, uint32_t j,
                          unsigned *lane, unsigned *index) {
  bool high = (which == MATRIX_B ? j : i) >= 4,
       along = which == MATRIX_A ? x->a_by_columns : which == MATRIX_B && !x->b_by_rows;
  *lane = along ? j % 4 : i % 4;
  *index = which >= MATRIX_C ? j : along ? i % 4 : j % 4;
  if (which >= MATRIX_C && x->part[which].bits == 32) {
    *lane = (i & 1) | (j & 2);
    *index = (i & 2) | (j & 5);
  }
  *lane += 4 * x->quad + (high ? 16 : 0);
}

/* The lane of element (i, j), and its index there. */
static void place(const struct matrix *x, enum matrix_operand which, uint32_t i, uint32_t j,
                  unsigned *lane, unsigned *index) {
  const struct matrix_part *p = &x->part[which];
  if (x->quads) {
    place_in_quad(x, which, i, j, lane, index);
    return;
  }
  if (x->wmma) {
    uint32_t each = p->rows * p->cols / LANES, linear = i * p->cols + j;
    if (which == MATRIX_B && p->bits < 8)
      linear = (i / each * p->cols + j) * each + i % each; /* a word belongs to a column */
    *lane = linear / each;
    *index = linear % each;
    return;
  }
  if (which >= MATRIX_C) {
    *lane = i % 8 * 4 + j / 2;
    *index = i / 8 * 2 + j % 2;
    return;
  }
  uint32_t per = p->bits < 32 ? 32u / p->bits : 1, along = which == MATRIX_A ? j : i,
           across = which == MATRIX_A ? i : j;
  uint32_t halves = which == MATRIX_A ? x->m / 8 : 1;
  *lane = across % 8 * 4 + along / per % 4;
  *index = (along / (4 * per) * halves + across / 8) * per + along % per;
}

static uint64_t get_bits(const struct warp *w, const struct matrix_part *p, unsigned lane,
                         unsigned index) {
  unsigned size = p->bits == 64 ? 64 : 32, at = index * p->bits;
  return evalint_zext(p->bits, row_of(w, p->regs[at / size])[lane] >> at % size);
}

static void put_bits(struct warp *w, const struct matrix_part *p, unsigned lane, unsigned index,
                     uint64_t v) {
  unsigned size = p->bits == 64 ? 64 : 32, at = index * p->bits;
  if (p->regs[at / size] == NO_ROW) return;
  uint64_t *r = &row_of(w, p->regs[at / size])[lane];
  *r = (*r & ~(evalint_mask(p->bits) << at % size)) | evalint_zext(p->bits, v) << at % size;
}

/* --- sums ------------------------------------------------------------------------------------- */

static double as_double(uint16_t type, uint64_t v) {
  if (type == PTX_MOD_TF32) v &= ~UINT64_C(0x1fff);
  if (type == PTX_MOD_E2M1) v = v >> 2 & 15; /* in the middle of its byte */
  if (type == PTX_MOD_E2M3 || type == PTX_MOD_E3M2) v &= 63;
  int small = number_small(type);
  return small != NUMBER_NOT_SMALL ? number_from_small(small, v)
                                   : number_to_double(number_format(type), v);
}

static int64_t as_integer(uint16_t type, unsigned bits, uint64_t v) {
  return ptx_mod_row(type)->kind == 's' ? evalint_sext(bits, v) : (int64_t)v;
}

static bool access_memory(struct warp *w, const struct inst *in, unsigned l, uint64_t address,
                          unsigned bytes, uint8_t *value, bool is_write) {
  struct access at;
  if (!memory_find(w, l, address, in->window, bytes, bytes, is_write, &at)) return false;
  if (!race_allows(w, l, in, &at, bytes, is_write ? value : NULL)) return false;
  memcpy(is_write ? at.at : value, is_write ? value : at.at, bytes);
  if (is_write && at.written) memset(at.written, SHADOW_WRITTEN, bytes);
  if (is_write || memory_is_defined(w, &at, bytes)) return true;
  finding_report(w, l, SIM_UNINITIALIZED, "loads a matrix from uninitialized memory");
  return false;
}

struct tile {
  uint64_t a[MAX_ELEMENTS], b[MAX_ELEMENTS]; /* b by columns */
};

/* Element k of row (of a) or column (of b) i in shared memory: rows of `width` bytes, eight of them
 * contiguous, and blocks of these at the descriptor's strides; units of 16 bytes are swizzled by
 * the row's number. */
static uint64_t shared_place(const struct matrix *x, enum matrix_operand which, uint32_t i,
                             uint32_t k) {
  static const uint8_t widths[] = {16, 128, 64, 32};
  uint64_t where = x->where[which], leading = (where >> 16 & 0x3fff) * 16,
           stride = (where >> 32 & 0x3fff) * 16;
  bool by_k = !x->transposed[which];
  uint32_t width = widths[where >> 62], along = (by_k ? k : i) * x->part[which].bits / 8,
           across = by_k ? i : k;
  bool swapped = !by_k && width == 16;
  uint64_t at = (where & 0x3fff) * 16 + along % width +
                along / width * (swapped ? stride : leading) + across % 8 * width +
                across / 8 * (swapped ? leading : stride);
  uint64_t row = (at >> 7) - (where >> 49 & 7);
  return at ^ (row & (width / 16 - 1u)) << 4;
}

static bool get_shared(struct warp *w, const struct inst *in, const struct matrix *x,
                       enum matrix_operand which, uint32_t i, uint32_t k, uint64_t *v) {
  unsigned bits = x->part[which].bits, bytes = bits < 8 ? 1 : bits / 8u;
  uint8_t value[8];
  if (!access_memory(w, in, 0,
                     shared_place(x, which, i + (which == MATRIX_A ? x->row : x->column), k), bytes,
                     value, false))
    return false;
  *v = evalint_zext(bits, memory_number(value, bytes) >> (bits < 8 ? k % 8 : 0));
  return true;
}

/* The rows of a or the columns of b, `count` of them; false: a finding was made. */
static bool gather(struct warp *w, const struct inst *in, const struct matrix *x,
                   enum matrix_operand which, uint64_t *to) {
  bool is_shared = x->m64 && x->descriptors[which] != NO_ROW;
  for (uint32_t i = 0; i < (which == MATRIX_A ? x->m : x->n); i++)
    for (uint32_t k = 0; k < x->k; k++) {
      unsigned lane, index;
      place(x, which, which == MATRIX_A ? i : k, which == MATRIX_A ? k : i, &lane, &index);
      if (!is_shared) to[i * x->k + k] = get_bits(w, &x->part[which], lane, index);
      else if (!get_shared(w, in, x, which, i, k, &to[i * x->k + k])) return false;
    }
  return true;
}

static uint64_t sum_integers(const struct matrix *x, const uint64_t *a, const uint64_t *b,
                             uint64_t c) {
  const struct matrix_part *p = &x->part[MATRIX_A], *q = &x->part[MATRIX_B];
  int64_t sum = evalint_sext(32, c);
  for (uint32_t k = 0; k < x->k; k++)
    if (p->bits == 1) sum += (int64_t)(x->is_and ? a[k] & b[k] : a[k] ^ b[k]);
    else sum += as_integer(p->type, p->bits, a[k]) * as_integer(q->type, q->bits, b[k]);
  return x->satfinite ? evalint_clamp_s(32, sum) : evalint_zext(32, (uint64_t)sum);
}

static uint64_t sum_floats(const struct matrix *x, const uint64_t *a, const uint64_t *b,
                           uint64_t c) {
  double sum = as_double(x->part[MATRIX_C].type, c), sign = x->negated ? -1 : 1;
  for (uint32_t k = 0; k < x->k; k++)
    sum += sign * as_double(x->part[MATRIX_A].type, a[k]) * as_double(x->part[MATRIX_B].type, b[k]);
  return number_from_double(number_format(x->part[MATRIX_D].type), sum);
}

static uint64_t sum_of(const struct inst *in, const struct matrix *x, const uint64_t *a,
                       const uint64_t *b, uint64_t c) {
  uint16_t type = x->part[MATRIX_D].type;
  if (type == PTX_MOD_S32) return sum_integers(x, a, b, c);
  if (type != PTX_MOD_F64) return sum_floats(x, a, b, c);
  for (uint32_t k = 0; k < x->k; k++)
    c = evalfloat_fma(FLOAT_DOUBLE, (enum evalfloat_rounding)in->rounding, a[k], b[k], c);
  return c;
}

static bool check_whole_warp(struct warp *w, uint32_t mask) {
  if (mask == ALL_LANES) return true;
  finding_report(w, lane_first(mask), SIM_MISSING_LANES,
                 "executes a matrix instruction without all lanes of its warp");
  return false;
}

static void multiply(struct warp *w, const struct inst *in, const struct matrix *x,
                     const struct tile *t) {
  uint64_t d[32 * 32];
  unsigned lane, index;
  for (uint32_t i = 0; i < x->m; i++)
    for (uint32_t j = 0; j < x->n; j++) {
      place(x, MATRIX_C, i, j, &lane, &index);
      uint64_t c = x->from_zero ? 0 : get_bits(w, &x->part[MATRIX_C], lane, index);
      d[i * x->n + j] = sum_of(in, x, t->a + (size_t)i * x->k, t->b + (size_t)j * x->k, c);
    }
  for (uint32_t i = 0; i < x->m; i++)
    for (uint32_t j = 0; j < x->n; j++) {
      place(x, MATRIX_D, i, j, &lane, &index);
      put_bits(w, &x->part[MATRIX_D], lane, index, d[i * x->n + j]);
    }
}

/* Undefined accumulators stay undefined; a and b count as defined. */
static void define_results(struct warp *w, const struct matrix *x) {
  const struct matrix_part *c = &x->part[MATRIX_C], *d = &x->part[MATRIX_D];
  bool adds = !x->from_zero && c->count == d->count;
  for (uint32_t i = 0; i < d->count && w->frame->undefined; i++)
    for (unsigned l = 0; l < LANES; l++)
      undefined_set(w, d->regs[i], l, adds && undefined_is(w, c->regs[i], l));
}

void matrix_mma(struct warp *w, const struct inst *in, uint32_t mask) {
  struct matrix x = *in->matrix;
  struct tile t;
  if (!check_whole_warp(w, mask)) return;
  for (x.quad = 0; x.quad < (x.quads ? 4 : 1); x.quad++) {
    gather(w, in, &x, MATRIX_A, t.a);
    gather(w, in, &x, MATRIX_B, t.b);
    multiply(w, in, &x, &t);
  }
  define_results(w, &x);
}

/* --- wgmma ------------------------------------------------------------------------------------ */

static uint64_t hash(uint64_t h, const uint64_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) h = (h ^ values[i]) * UINT64_C(0x100000001b3);
  return h;
}

/* Computes 16 rows of a times all columns of b, unless only_reads; returns a hash of the inputs in
 * shared memory. */
static uint64_t multiply_columns(struct warp *w, const struct inst *in, struct matrix x,
                                 bool only_reads) {
  struct tile t;
  uint32_t columns = x.n, step = x.part[MATRIX_D].count * 8 / columns;
  bool from_memory = x.descriptors[MATRIX_A] != NO_ROW;
  x.n = 8;
  if ((from_memory || !only_reads) && !gather(w, in, &x, MATRIX_A, t.a)) return 0;
  uint64_t h = from_memory ? hash(0, t.a, x.m * x.k) : 0;
  for (; x.column < columns; x.column += 8) {
    if (!gather(w, in, &x, MATRIX_B, t.b)) return 0;
    h = hash(h, t.b, x.n * x.k);
    if (!only_reads) multiply(w, in, &x, &t);
    x.part[MATRIX_C].regs += step;
    x.part[MATRIX_D].regs += step;
  }
  return h;
}

void matrix_wgmma(struct warp *w, const struct inst *in, uint32_t mask) {
  struct matrix x = *in->matrix;
  if (!check_whole_warp(w, mask)) return;
  if ((w->index | 3) >= w->block->warp_count) {
    finding_report(w, 0, SIM_MISSING_LANES,
                   "executes wgmma.mma_async without all four warps of its warpgroup");
    return;
  }
  for (int i = 0; i < 2; i++)
    if (x.descriptors[i] != NO_ROW) x.where[i] = row_of(w, x.descriptors[i])[0];
  x.row = w->index % 4 * 16;
  x.from_zero = !((w->preds[x.keeps] & 1) ^ x.keeps_negated);
  define_results(w, &x);
  struct product p = {in, x, w->product_group, multiply_columns(w, in, x, false)};
  for (uint32_t i = 0; i < x.part[MATRIX_D].count && w->sim->launch->check_uninitialized; i++)
    if (x.part[MATRIX_D].regs[i] != NO_ROW)
      undefined_set_pending(w, x.part[MATRIX_D].regs[i], UINT32_C(1) << p.group % 32);
  if (!w->stopped && w->sim->races && !VEC_PUSH(&w->sim->arena, &w->products, p))
    finding_report(w, 0, SIM_MEMORY, "exceeds the memory limit of the simulator");
}

void matrix_wgmma_commit(struct warp *w, const struct inst *in, uint32_t mask) {
  (void)in;
  if (check_whole_warp(w, mask)) w->product_group++;
}

/* Checks that the inputs of the groups that end are unchanged. */
void matrix_wgmma_wait(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t kept = 0, still = 0, first = w->product_group - (uint32_t)in->imm;
  if (!check_whole_warp(w, mask)) return;
  for (uint32_t i = 0; i < w->products.count && !w->stopped; i++) {
    const struct product *p = &w->products.data[i];
    if ((int32_t)(p->group - first) >= 0) w->products.data[kept++] = *p;
    else if (multiply_columns(w, p->in, p->x, true) != p->read && !w->stopped)
      finding_report(
          w, 0, SIM_RACE,
          "waits for the wgmma.mma_async of line %u, but its matrices in shared memory were "
          "modified",
          p->in->line);
  }
  w->products.count = kept;
  for (uint32_t g = first; g != w->product_group + 1 && g - first < 32; g++)
    still |= UINT32_C(1) << g % 32;
  undefined_keep_pending(w, still);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* wmma.load, wmma.store. */
void matrix_fragment(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct matrix *x = in->matrix;
  const struct matrix_part *p = &x->part[MATRIX_D];
  const uint64_t *a = row_of(w, in->a), *stride = row_of(w, in->b);
  unsigned bytes = p->bits / 8u, size = p->bits == 64 ? 64 : 32;
  uint32_t each = p->rows * p->cols / LANES, held = p->count * size / p->bits;
  bool is_store = in->flags;
  if (!check_whole_warp(w, mask)) return;
  FOR_LANES(l, mask)
  for (uint32_t e = 0; e < (is_store ? each : held); e++) {
    uint32_t linear = l * each + e % each, i = linear / p->cols, j = linear % p->cols;
    uint64_t step = in->b != in->c  ? (stride[l] & UINT32_MAX) / in->bits2
                    : in->is_signed ? p->rows
                                    : p->cols,
             v = 0;
    uint64_t offset = (in->is_signed ? j * step + i : i * step + j) * bytes;
    uint8_t value[8];
    if (is_store) v = get_bits(w, p, l, e);
    memory_put_number(value, v, bytes);
    if (!access_memory(w, in, l, a[l] + (uint64_t)in->imm + offset, bytes, value, is_store)) return;
    if (is_store) continue;
    put_bits(w, p, l, e, memory_number(value, bytes));
  }
}

/* ldmatrix, stmatrix. */
void matrix_rows(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  bool is_store = in->flags, transposed = in->is_signed;
  if (!check_whole_warp(w, mask)) return;
  for (unsigned q = 0; q < in->count; q++) {
    uint8_t rows[8][16];
    for (unsigned l = 0; l < LANES; l++)
      for (unsigned e = 0; e < 2; e++) {
        unsigned r = transposed ? l % 4 * 2 + e : l / 4, c = transposed ? l / 4 : l % 4 * 2 + e;
        if (!is_store) continue;
        uint64_t v = row_of(w, in->rows[1 + q])[l] >> (16 * e);
        rows[r][2 * c] = (uint8_t)v;
        rows[r][2 * c + 1] = (uint8_t)(v >> 8);
      }
    for (unsigned r = 0; r < 8; r++)
      if (!access_memory(w, in, q * 8 + r, a[q * 8 + r] + (uint64_t)in->imm, 16, rows[r], is_store))
        return;
    for (unsigned l = 0; l < LANES && !is_store && in->rows[1 + q] != NO_ROW; l++) {
      uint64_t v = 0;
      for (unsigned e = 0; e < 2; e++) {
        unsigned r = transposed ? l % 4 * 2 + e : l / 4, c = transposed ? l / 4 : l % 4 * 2 + e;
        v |= (uint64_t)(rows[r][2 * c] | rows[r][2 * c + 1] << 8) << (16 * e);
      }
      row_of(w, in->rows[1 + q])[l] = v;
    }
  }
}

void matrix_transpose(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t a[LANES];
  if (!check_whole_warp(w, mask)) return;
  memcpy(a, row_of(w, in->a), sizeof a);
  for (unsigned l = 0; l < LANES; l++) {
    uint64_t v = 0;
    for (unsigned e = 0; e < 2; e++) {
      unsigned r = l % 4 * 2 + e, c = l / 4;
      v |= (a[r * 4 + c / 2] >> (16 * (c % 2)) & 0xffff) << (16 * e);
    }
    if (in->d != NO_ROW) row_of(w, in->d)[l] = v;
  }
}
