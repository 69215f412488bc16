/* Matrix instructions of a warp: ldmatrix, stmatrix, movmatrix, mma, wmma, wgmma. Decoding and
 * execution.
 *
 * Which lane holds which element is as the PTX manual says for mma (rows of A and C and columns of
 * B over groups of four lanes). For wmma it leaves that open: here element i of a matrix in row
 * order lies in lane i / (elements / 32); registers beyond hold copies.
 *
 * wgmma is four warps' worth of mma, 16 rows and 8 columns at a time, with its matrices in shared
 * memory. It is done at once; that it may not be is checked: what it gives is marked until it is
 * waited for (exec_undefined.c), and what it reads must then be the same.
 *
 * Model of the sums, which PTX leaves open too: integers exactly, then wrapped or clamped; f64 by
 * fused multiply-add in the order of k, in the instruction's rounding; all other floats in double,
 * c + a0*b0 + a1*b1 … in the order of k (the products are exact there), rounded to nearest at the
 * end, once. */
#include "sim/machine.h"
#include "sim/special.h"

#include <string.h>

enum operand { MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D, MATRIX_COUNT };
enum { MOST_ELEMENTS = 32 * 256 };

struct part {
  uint16_t type;
  uint8_t bits; /* of an element */
  uint32_t rows, cols;
  const uint32_t *regs; /* rows of the machine */
  uint32_t count;
};

struct matrix {
  uint32_t m, n, k;
  struct part part[MATRIX_COUNT];
  bool wmma, m64, satfinite, is_and; /* m64: wgmma */
  bool quads, a_by_columns,
      b_by_rows; /* m8n8k4 of f16: four products, of the lanes 4q … 4q + 3 and 16 more each */
  uint32_t quad;
  /* wgmma: */
  uint32_t descriptors[2]; /* rows; NO_ROW: in registers */
  bool transposed[2];      /* rows of a, columns of b are contiguous, not k */
  bool negated, keeps_negated;
  uint32_t keeps;       /* a predicate: the accumulators are added */
  uint64_t where[2];    /* values of the descriptors */
  uint32_t row, column; /* of the part that is computed */
  bool from_zero;
};

/* A wgmma that was not waited for. */
struct product {
  const struct inst *in;
  struct matrix x;
  uint32_t group;
  uint64_t read; /* a hash of it */
};

static const struct matrix *matrix_of(const struct inst *in) { return (const void *)in->call; }

/* --- where elements are
 * ---------------------------------------------------------------------------------- */

static void place_in_quad(const struct matrix *x, enum operand which, uint32_t i, uint32_t j,
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

/* The lane and the number in it of element (i, j). */
static void place(const struct matrix *x, enum operand which, uint32_t i, uint32_t j,
                  unsigned *lane, unsigned *index) {
  const struct part *p = &x->part[which];
  if (x->quads) {
    place_in_quad(x, which, i, j, lane, index);
    return;
  }
  if (x->wmma) {
    uint32_t each = p->rows * p->cols / LANES, linear = i * p->cols + j;
    if (which == MATRIX_B && p->bits < 8)
      linear = (i / each * p->cols + j) * each + i % each; /* a word is of a column */
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

static uint64_t get_bits(const struct warp *w, const struct part *p, unsigned lane,
                         unsigned index) {
  unsigned size = p->bits == 64 ? 64 : 32, at = index * p->bits;
  return evalint_zext(p->bits, row_of(w, p->regs[at / size])[lane] >> at % size);
}

static void put_bits(struct warp *w, const struct part *p, unsigned lane, unsigned index,
                     uint64_t v) {
  unsigned size = p->bits == 64 ? 64 : 32, at = index * p->bits;
  if (p->regs[at / size] == NO_ROW) return;
  uint64_t *r = &row_of(w, p->regs[at / size])[lane];
  *r = (*r & ~(evalint_mask(p->bits) << at % size)) | evalint_zext(p->bits, v) << at % size;
}

/* --- sums
 * ---------------------------------------------------------------------------------------------------
 */

static double as_double(uint16_t type, uint64_t v) {
  if (type == PTX_MOD_TF32) v &= ~UINT64_C(0x1fff);
  bool small = ptx_mod_row(type)->bits <= 8;
  if (type == PTX_MOD_E2M1) v = v >> 2 & 15; /* in the middle of its byte */
  if (type == PTX_MOD_E2M3 || type == PTX_MOD_E3M2) v &= 63;
  return special_double(
      small ? scalar_small_to_double(type, v)
            : evalfloat_convert(decode_format(type), FLOAT_DOUBLE, EVALFLOAT_NEAREST, v));
}

static int64_t as_integer(uint16_t type, unsigned bits, uint64_t v) {
  return ptx_mod_row(type)->kind == 's' ? evalint_sext(bits, v) : (int64_t)v;
}

static bool touch(struct warp *w, const struct inst *in, unsigned l, uint64_t address,
                  unsigned bytes, uint8_t *value, bool is_write) {
  struct access at;
  if (!memory_find(w, l, address, in->window, bytes, bytes, is_write, &at)) return false;
  if (w->sim->races && at.shadow &&
      !race_access(w, l, in, &at, bytes, RACE_WEAK, is_write ? value : NULL))
    return false;
  memcpy(is_write ? at.at : value, is_write ? value : at.at, bytes);
  if (is_write && at.written) memset(at.written, 1, bytes);
  if (is_write || memory_is_defined(w, &at, bytes)) return true;
  sim_report(w, l, SIM_UNINITIALIZED, "loads a matrix from memory that was never written");
  return false;
}

struct tile {
  uint64_t a[MOST_ELEMENTS], b[MOST_ELEMENTS]; /* b by columns */
};

/* Element k of row (of a) or column (of b) i in shared memory: rows of `width` bytes, eight of them
 * behind each other, and blocks of those as the descriptor says; 16 bytes of a row change places by
 * the row's number (swizzling). */
static uint64_t shared_place(const struct matrix *x, enum operand which, uint32_t i, uint32_t k) {
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
                       enum operand which, uint32_t i, uint32_t k, uint64_t *v) {
  unsigned bits = x->part[which].bits, bytes = bits < 8 ? 1 : bits / 8u;
  uint8_t value[8];
  if (!touch(w, in, 0, shared_place(x, which, i + (which == MATRIX_A ? x->row : x->column), k),
             bytes, value, false))
    return false;
  *v = evalint_zext(bits, memory_number(value, bytes) >> (bits < 8 ? k % 8 : 0));
  return true;
}

/* The rows of a or the columns of b, `count` of them; false: a finding was made. */
static bool gather(struct warp *w, const struct inst *in, const struct matrix *x,
                   enum operand which, uint64_t *to) {
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
  const struct part *p = &x->part[MATRIX_A], *q = &x->part[MATRIX_B];
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
  return evalfloat_convert(FLOAT_DOUBLE, decode_format(x->part[MATRIX_D].type), EVALFLOAT_NEAREST,
                           special_bits(sum));
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

static bool whole_warp(struct warp *w, uint32_t mask) {
  if (mask == ALL_LANES) return true;
  sim_report(w, lane_first(mask), SIM_MISSING_LANES,
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

/* What is undefined of the accumulators stays so; a and b count as defined. */
static void define(struct warp *w, const struct matrix *x) {
  const struct part *c = &x->part[MATRIX_C], *d = &x->part[MATRIX_D];
  bool adds = !x->from_zero && c->count == d->count;
  for (uint32_t i = 0; i < d->count && w->frame->undefined; i++)
    for (unsigned l = 0; l < LANES; l++)
      undefined_set(w, d->regs[i], l, adds && undefined_is(w, c->regs[i], l));
}

static void run_mma(struct warp *w, const struct inst *in, uint32_t mask) {
  struct matrix x = *matrix_of(in);
  struct tile t;
  if (!whole_warp(w, mask)) return;
  for (x.quad = 0; x.quad < (x.quads ? 4 : 1); x.quad++) {
    gather(w, in, &x, MATRIX_A, t.a);
    gather(w, in, &x, MATRIX_B, t.b);
    multiply(w, in, &x, &t);
  }
  define(w, &x);
}

/* --- wgmma
 * -----------------------------------------------------------------------------------------------------
 */

static uint64_t hash(uint64_t h, const uint64_t *values, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) h = (h ^ values[i]) * UINT64_C(0x100000001b3);
  return h;
}

/* The product of 16 rows of a and all columns of b, and a hash of what was read; or that alone. */
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

static void run_wgmma(struct warp *w, const struct inst *in, uint32_t mask) {
  struct matrix x = *matrix_of(in);
  if (!whole_warp(w, mask)) return;
  if ((w->index | 3) >= w->block->warp_count) {
    sim_report(w, 0, SIM_MISSING_LANES,
               "executes wgmma.mma_async without all four warps of its group");
    return;
  }
  for (int i = 0; i < 2; i++)
    if (x.descriptors[i] != NO_ROW) x.where[i] = row_of(w, x.descriptors[i])[0];
  x.row = w->index % 4 * 16;
  x.from_zero = !((w->preds[x.keeps] & 1) ^ x.keeps_negated);
  define(w, &x);
  struct product p = {in, x, w->product_group, multiply_columns(w, in, x, false)};
  for (uint32_t i = 0; i < x.part[MATRIX_D].count && w->sim->launch->check_uninitialized; i++)
    if (x.part[MATRIX_D].regs[i] != NO_ROW)
      undefined_set_pending(w, x.part[MATRIX_D].regs[i], UINT32_C(1) << p.group % 32);
  if (!w->stopped && w->sim->races && !VEC_PUSH(&w->sim->arena, &w->products, p))
    sim_report(w, 0, SIM_MEMORY, "multiplies more than the simulator has memory for");
}

static void run_wgmma_commit(struct warp *w, const struct inst *in, uint32_t mask) {
  (void)in;
  if (whole_warp(w, mask)) w->product_group++;
}

/* in->imm: so many groups may still be going. */
static void run_wgmma_wait(struct warp *w, const struct inst *in, uint32_t mask) {
  uint32_t kept = 0, still = 0, first = w->product_group - (uint32_t)in->imm;
  if (!whole_warp(w, mask)) return;
  for (uint32_t i = 0; i < w->products.count && !w->stopped; i++) {
    const struct product *p = &w->products.data[i];
    if ((int32_t)(p->group - first) >= 0) w->products.data[kept++] = *p;
    else if (multiply_columns(w, p->in, p->x, true) != p->read && !w->stopped)
      sim_report(w, 0, SIM_RACE,
                 "waits for the wgmma.mma_async of line %u, whose matrices in shared memory have "
                 "been changed",
                 p->in->line);
  }
  w->products.count = kept;
  for (uint32_t g = first; g != w->product_group + 1 && g - first < 32; g++)
    still |= UINT32_C(1) << g % 32;
  undefined_keep_pending(w, still);
}

/* --- memory
 * ---------------------------------------------------------------------------------------------------
 */

/* wmma.load, wmma.store: part 3. in->imm: the address's offset; in->is_signed: by columns;
 * in->bits2: so many elements are one of the part, if they are smaller than a byte. */
static void run_fragment(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct matrix *x = matrix_of(in);
  const struct part *p = &x->part[MATRIX_D];
  const uint64_t *a = row_of(w, in->a), *stride = row_of(w, in->b);
  unsigned bytes = p->bits / 8u, size = p->bits == 64 ? 64 : 32;
  uint32_t each = p->rows * p->cols / LANES, held = p->count * size / p->bits;
  bool is_store = in->flags;
  if (!whole_warp(w, mask)) return;
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
    if (!touch(w, in, l, a[l] + (uint64_t)in->imm + offset, bytes, value, is_store)) return;
    if (is_store) continue;
    put_bits(w, p, l, e, memory_number(value, bytes));
  }
}

/* ldmatrix, stmatrix: in->count matrices of 8 rows of 8 elements of 16 bits; lane 8 * q + r has the
 * address of row r of matrix q. */
static void run_rows(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  bool is_store = in->flags, transposed = in->is_signed;
  if (!whole_warp(w, mask)) return;
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
      if (!touch(w, in, q * 8 + r, a[q * 8 + r] + (uint64_t)in->imm, 16, rows[r], is_store)) return;
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

static void run_transpose(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t a[LANES];
  if (!whole_warp(w, mask)) return;
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

/* --- decoding
 * ----------------------------------------------------------------------------------------------------
 */

/* Registers of an operand; the first word is the member mask, as of all .sync instructions. */
static uint32_t *registers(struct decoder *d, const struct ptx_operand *o, bool is_dest,
                           uint16_t type, uint32_t *count) {
  uint32_t *rows = decode_rows(d, o, is_dest, type, 1, count);
  if (rows) rows[0] = decode_constant(d, ALL_LANES);
  return rows;
}

static bool set_part(struct decoder *d, struct matrix *x, enum operand which,
                     const struct ptx_operand *o, uint16_t type) {
  struct part *p = &x->part[which];
  uint32_t *rows = registers(d, o, which == MATRIX_D && !d->in->flags, PTX_MOD_B64, &p->count);
  if (!rows) return false;
  p->regs = rows + 1;
  if (!d->in->rows) d->in->rows = rows;
  p->type = type;
  bool in_byte = type == PTX_MOD_E2M3 || type == PTX_MOD_E3M2 || type == PTX_MOD_E2M1;
  p->bits = in_byte ? 8 : type == PTX_MOD_TF32 ? 32 : (uint8_t)ptx_mod_row(type)->bits;
  return true;
}

static void read_shape(struct decoder *d, struct matrix *x) {
  for (uint32_t i = 0; i < d->e->mod_count; i++) {
    const char *t = ptx_mod_row(d->f->mods.data[d->e->first_mod + i])->text;
    uint32_t *const numbers[3] = {&x->m, &x->n, &x->k};
    if (t[0] != '.' || t[1] != 'm' || t[2] < '0' || t[2] > '9') continue;
    for (int k = 0; k < 3 && *t; k++) {
      while (*t && (*t < '0' || *t > '9')) t++;
      for (*numbers[k] = 0; *t >= '0' && *t <= '9'; t++)
        *numbers[k] = *numbers[k] * 10 + (uint32_t)(*t - '0');
    }
  }
  const uint32_t sizes[MATRIX_COUNT][2] = {{x->m, x->k}, {x->k, x->n}, {x->m, x->n}, {x->m, x->n}};
  for (int i = 0; i < MATRIX_COUNT; i++)
    x->part[i].rows = sizes[i][0], x->part[i].cols = sizes[i][1];
}

/* ".row.col": of a, of b. */
static void read_layouts(struct decoder *d, struct matrix *x) {
  uint16_t found[2] = {0};
  for (uint32_t i = 0, n = 0; i < d->e->mod_count && n < 2; i++) {
    uint16_t mod = d->f->mods.data[d->e->first_mod + i];
    if (mod == PTX_MOD_ROW || mod == PTX_MOD_COL) found[n++] = mod;
  }
  x->a_by_columns = found[0] == PTX_MOD_COL;
  x->b_by_rows = found[1] == PTX_MOD_ROW;
}

static bool decode_mma(struct decoder *d, struct matrix *x) {
  static const uint16_t other[] = {PTX_MOD_SP, PTX_MOD_SP_ORDERED_METADATA, PTX_MOD_BLOCK_SCALE};
  const uint16_t *t = d->words.type;
  uint16_t types[MATRIX_COUNT] = {t[1], t[2], t[3], t[0]};
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
    if (decode_has_mod(d, other[i])) return false;
  if (x->wmma && d->words.type_count == 2) /* f16: .d .c */
    types[MATRIX_A] = types[MATRIX_B] = PTX_MOD_F16, types[MATRIX_C] = t[1];
  x->quads = x->m == 8 && x->k == 4 && types[MATRIX_A] == PTX_MOD_F16;
  read_layouts(d, x);
  static const uint8_t operands[MATRIX_COUNT] = {1, 2, 3, 0};
  for (int i = 0; i < MATRIX_COUNT; i++)
    if (!set_part(d, x, (enum operand)i, decode_operand(d, operands[i]), types[i])) return true;
  x->satfinite = d->words.satfinite;
  x->is_and = d->words.bool_op == PTX_MOD_AND;
  d->in->rounding = d->words.rounding;
  d->in->run = run_mma;
  return true;
}

static bool decode_fragment(struct decoder *d, struct matrix *x, bool is_store) {
  struct inst *in = d->in;
  struct part *p = &x->part[MATRIX_D];
  unsigned bits = ptx_mod_row(d->words.type[0])->bits;
  in->flags = is_store;
  in->bits2 = (uint8_t)(bits < 8 ? 32 / bits : 1);
  if (decode_has_mod(d, PTX_MOD_A)) p->cols = x->k;
  if (decode_has_mod(d, PTX_MOD_B)) p->rows = x->k;
  if (!set_part(d, x, MATRIX_D, decode_operand(d, is_store), d->words.type[0])) return true;
  if (bits < 8) {
    *(decode_has_mod(d, PTX_MOD_A) ? &p->cols : &p->rows) /= in->bits2;
    p->bits = 32;
  }
  in->window = decode_window(d->words.space);
  decode_address(d, decode_operand(d, !is_store));
  if (decode_has(d, 2)) in->b = decode_source(d, decode_operand(d, 2), PTX_MOD_B32);
  in->is_signed = decode_has_mod(d, PTX_MOD_COL);
  in->run = run_fragment;
  return true;
}

static bool decode_matrix_rows(struct decoder *d, bool is_store) {
  struct inst *in = d->in;
  uint32_t count;
  if (!decode_has_mod(d, PTX_MOD_M8N8)) return false;
  in->flags = is_store;
  in->is_signed = decode_has_mod(d, PTX_MOD_TRANS);
  in->window = decode_window(d->words.space);
  decode_address(d, decode_operand(d, !is_store));
  in->rows = registers(d, decode_operand(d, is_store), !is_store, PTX_MOD_B32, &count);
  in->count = (uint8_t)count;
  in->bits = 16;
  in->run = run_rows;
  return true;
}

/* Operands: d, a, b, whether d is added, then -1 where a, b are negated, 1 where those in shared
 * memory are transposed. */
static bool decode_wgmma(struct decoder *d, struct matrix *x) {
  struct inst *in = d->in;
  const uint16_t *t = d->words.type;
  uint32_t next = 4, *rows;
  in->run = decode_has_mod(d, PTX_MOD_COMMIT_GROUP) ? run_wgmma_commit
            : decode_has_mod(d, PTX_MOD_WAIT_GROUP) ? run_wgmma_wait
                                                    : run_nothing;
  if (!decode_has_mod(d, PTX_MOD_MMA_ASYNC)) {
    if (in->run == run_wgmma_wait) in->imm = decode_operand(d, 0)->imm;
    in->rows = rows = decode_alloc(d, sizeof *rows);
    if (rows) rows[0] = decode_constant(d, ALL_LANES);
    return true;
  }
  if (decode_has_mod(d, PTX_MOD_SP)) return false;
  x->m64 = true;
  x->m = 16;
  if (!set_part(d, x, MATRIX_D, decode_operand(d, 0), t[0]) ||
      !set_part(d, x, MATRIX_A, decode_operand(d, 1), t[1]) ||
      !set_part(d, x, MATRIX_B, decode_operand(d, 2), t[2]))
    return true;
  x->part[MATRIX_C] = x->part[MATRIX_D];
  for (int i = 0; i < 2; i++)
    x->descriptors[i] = x->part[i].count == 1 ? x->part[i].regs[0] : NO_ROW;
  x->keeps = decode_pred(d, decode_operand(d, 3), &x->keeps_negated);
  for (int i = 0; i < 2 && decode_has(d, 5); i++)
    x->negated ^= decode_operand(d, next++)->imm == -1;
  for (int i = 0; i < 2 && decode_has(d, next); i++)
    if (x->descriptors[i] != NO_ROW) x->transposed[i] = decode_operand(d, next++)->imm == 1;
  x->satfinite = d->words.satfinite;
  x->is_and = d->words.bool_op == PTX_MOD_AND;
  in->window = WINDOW_SHARED;
  in->run = run_wgmma;
  return true;
}

bool decode_matrix(struct decoder *d) {
  struct inst *in = d->in;
  struct matrix *x = decode_alloc(d, sizeof *x);
  bool known = false;
  if (!x) return true;
  x->wmma = d->e->op == PTX_WMMA;
  read_shape(d, x);
  if (d->e->op == PTX_MMA || (x->wmma && decode_has_mod(d, PTX_MOD_MMA))) known = decode_mma(d, x);
  else if (x->wmma) known = decode_fragment(d, x, decode_has_mod(d, PTX_MOD_STORE));
  else if (d->e->op == PTX_LDMATRIX || d->e->op == PTX_STMATRIX)
    known = decode_matrix_rows(d, d->e->op == PTX_STMATRIX);
  else if (d->e->op == PTX_WGMMA) known = decode_wgmma(d, x);
  if (d->e->op == PTX_MOVMATRIX) {
    uint32_t count;
    decode_operands(d, PTX_MOD_B32, 0, 0);
    in->rows = registers(d, decode_operand(d, 1), false, PTX_MOD_B32, &count);
    in->run = run_transpose;
    known = true;
  }
  if (!known || in->kind == INST_BAD) return known;
  in->kind = INST_WARP_SYNC;
  in->call = (const void *)x;
  return true;
}
