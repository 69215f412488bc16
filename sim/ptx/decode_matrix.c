/* Decoding of matrix instructions: ldmatrix, stmatrix, movmatrix, mma, wmma, wgmma. */
#include "sim/machine/exec.h"
#include "sim/machine/matrix.h"
#include "sim/ptx/decoder.h"

/* Registers of an operand; the first word is the member mask, as in all .sync instructions. */
static uint32_t *registers(struct decoder *d, const struct ptx_operand *o, bool is_dest,
                           uint16_t type, uint32_t *count) {
  uint32_t *rows = decoder_rows(d, o, is_dest, type, 1, count);
  if (rows) rows[0] = decoder_constant(d, ALL_LANES);
  return rows;
}

static bool set_part(struct decoder *d, struct matrix *x, enum matrix_operand which,
                     const struct ptx_operand *o, uint16_t type) {
  struct matrix_part *p = &x->part[which];
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
    if (decoder_has_mod(d, other[i])) return false;
  if (x->wmma && d->words.type_count == 2) /* f16: .d .c */
    types[MATRIX_A] = types[MATRIX_B] = PTX_MOD_F16, types[MATRIX_C] = t[1];
  x->quads = x->m == 8 && x->k == 4 && types[MATRIX_A] == PTX_MOD_F16;
  read_layouts(d, x);
  static const uint8_t operands[MATRIX_COUNT] = {1, 2, 3, 0};
  for (int i = 0; i < MATRIX_COUNT; i++)
    if (!set_part(d, x, (enum matrix_operand)i, decoder_operand(d, operands[i]), types[i]))
      return true;
  x->satfinite = d->words.satfinite;
  x->is_and = d->words.bool_op == PTX_MOD_AND;
  d->in->rounding = d->words.rounding;
  d->in->run = matrix_mma;
  return true;
}

static bool decode_fragment(struct decoder *d, struct matrix *x, bool is_store) {
  struct inst *in = d->in;
  struct matrix_part *p = &x->part[MATRIX_D];
  unsigned bits = ptx_mod_row(d->words.type[0])->bits;
  in->flags = is_store;
  in->bits2 = (uint8_t)(bits < 8 ? 32 / bits : 1);
  if (decoder_has_mod(d, PTX_MOD_A)) p->cols = x->k;
  if (decoder_has_mod(d, PTX_MOD_B)) p->rows = x->k;
  if (!set_part(d, x, MATRIX_D, decoder_operand(d, is_store), d->words.type[0])) return true;
  if (bits < 8) {
    *(decoder_has_mod(d, PTX_MOD_A) ? &p->cols : &p->rows) /= in->bits2;
    p->bits = 32;
  }
  in->window = decoder_window(d->words.space);
  decoder_address(d, decoder_operand(d, !is_store));
  if (decoder_has(d, 2)) in->b = decoder_source(d, decoder_operand(d, 2), PTX_MOD_B32);
  in->is_signed = decoder_has_mod(d, PTX_MOD_COL);
  in->run = matrix_fragment;
  return true;
}

static bool decode_matrix_rows(struct decoder *d, bool is_store) {
  struct inst *in = d->in;
  uint32_t count;
  if (!decoder_has_mod(d, PTX_MOD_M8N8)) return false;
  in->flags = is_store;
  in->is_signed = decoder_has_mod(d, PTX_MOD_TRANS);
  in->window = decoder_window(d->words.space);
  decoder_address(d, decoder_operand(d, !is_store));
  in->rows = registers(d, decoder_operand(d, is_store), !is_store, PTX_MOD_B32, &count);
  in->count = (uint8_t)count;
  in->bits = 16;
  in->run = matrix_rows;
  return true;
}

/* Operands: d, a, b, a predicate to add d, then -1 for a, b if negated, then 1 for those in shared
 * memory if transposed. */
static bool decode_wgmma(struct decoder *d, struct matrix *x) {
  struct inst *in = d->in;
  const uint16_t *t = d->words.type;
  uint32_t next = 4, *rows;
  in->run = decoder_has_mod(d, PTX_MOD_COMMIT_GROUP) ? matrix_wgmma_commit
            : decoder_has_mod(d, PTX_MOD_WAIT_GROUP) ? matrix_wgmma_wait
                                                     : exec_nothing;
  if (!decoder_has_mod(d, PTX_MOD_MMA_ASYNC)) {
    if (in->run == matrix_wgmma_wait) in->imm = decoder_operand(d, 0)->imm;
    in->rows = rows = decoder_alloc(d, sizeof *rows);
    if (rows) rows[0] = decoder_constant(d, ALL_LANES);
    return true;
  }
  if (decoder_has_mod(d, PTX_MOD_SP)) return false;
  x->m64 = true;
  x->m = 16;
  if (!set_part(d, x, MATRIX_D, decoder_operand(d, 0), t[0]) ||
      !set_part(d, x, MATRIX_A, decoder_operand(d, 1), t[1]) ||
      !set_part(d, x, MATRIX_B, decoder_operand(d, 2), t[2]))
    return true;
  x->part[MATRIX_C] = x->part[MATRIX_D];
  for (int i = 0; i < 2; i++)
    x->descriptors[i] = x->part[i].count == 1 ? x->part[i].regs[0] : NO_ROW;
  x->keeps = decoder_pred(d, decoder_operand(d, 3), &x->keeps_negated);
  for (int i = 0; i < 2 && decoder_has(d, 5); i++)
    x->negated ^= decoder_operand(d, next++)->imm == -1;
  for (int i = 0; i < 2 && decoder_has(d, next); i++)
    if (x->descriptors[i] != NO_ROW) x->transposed[i] = decoder_operand(d, next++)->imm == 1;
  x->satfinite = d->words.satfinite;
  x->is_and = d->words.bool_op == PTX_MOD_AND;
  in->window = WINDOW_SHARED;
  in->run = matrix_wgmma;
  return true;
}

bool decode_matrix(struct decoder *d) {
  struct inst *in = d->in;
  struct matrix *x = decoder_alloc(d, sizeof *x);
  bool known = false;
  if (!x) return true;
  x->wmma = d->e->op == PTX_WMMA;
  read_shape(d, x);
  if (d->e->op == PTX_MMA || (x->wmma && decoder_has_mod(d, PTX_MOD_MMA))) known = decode_mma(d, x);
  else if (x->wmma) known = decode_fragment(d, x, decoder_has_mod(d, PTX_MOD_STORE));
  else if (d->e->op == PTX_LDMATRIX || d->e->op == PTX_STMATRIX)
    known = decode_matrix_rows(d, d->e->op == PTX_STMATRIX);
  else if (d->e->op == PTX_WGMMA) known = decode_wgmma(d, x);
  if (d->e->op == PTX_MOVMATRIX) {
    uint32_t count;
    decoder_operands(d, PTX_MOD_B32, 0, 0);
    in->rows = registers(d, decoder_operand(d, 1), false, PTX_MOD_B32, &count);
    in->run = matrix_transpose;
    known = true;
  }
  if (!known || in->kind == INST_BAD) return known;
  in->kind = INST_WARP_SYNC;
  in->matrix = x;
  return true;
}
