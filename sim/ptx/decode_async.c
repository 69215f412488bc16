/* Decoding of mbarriers, asynchronous copies and what concerns clusters. */
#include "sim/machine/async.h"
#include "sim/machine/exec.h"
#include "sim/ptx/decoder.h"

/* True if it is one of these. */
static bool decode_group(struct decoder *d) {
  struct inst *in = d->in;
  in->is_signed = decoder_has_mod(d, PTX_MOD_BULK);
  in->flags = decoder_has_mod(d, PTX_MOD_WAIT_ALL);
  bool waits = in->flags || decoder_has_mod(d, PTX_MOD_WAIT_GROUP);
  if (waits && decoder_has(d, 0)) in->imm = decoder_operand(d, 0)->imm;
  in->run = waits ? async_wait_group : async_commit;
  if (!waits && !decoder_has_mod(d, PTX_MOD_COMMIT_GROUP)) return false;
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  return true;
}

/* Operands: to, from, bytes, and perhaps how many of them come from memory (the rest is zero) or a
 * predicate to ignore the source. */
static bool decode_copy(struct decoder *d) {
  struct inst *in = d->in;
  in->window = WINDOW_GLOBAL;
  decoder_address(d, decoder_operand(d, 1));
  in->b = in->a;
  int64_t from = in->imm;
  in->window = WINDOW_SHARED;
  decoder_address(d, decoder_operand(d, 0));
  in->count = (uint8_t)decoder_operand(d, 2)->imm;
  uint32_t *row = decoder_alloc(d, 2 * sizeof *row);
  if (!row) return true;
  row[0] = (uint32_t)from; /* offset of the source */
  in->rows = row;
  in->c = decoder_constant(d, in->count);
  bool counted = decoder_has(d, 3) && decoder_operand(d, 3)->kind != PTX_OPERAND_NONE &&
                 !decoder_has_mod(d, PTX_MOD_L2_CACHE_HINT);
  if (counted && decoder_operand(d, 3)->kind == PTX_OPERAND_REG &&
      ptx_reg_class(decoder_operand(d, 3)->reg) == PTX_PRED)
    return decoder_unsupported(d, NULL);
  if (counted) in->c = decoder_source(d, decoder_operand(d, 3), PTX_MOD_B32);
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = async_copy;
  return true;
}

static bool decode_mbarrier(struct decoder *d) {
  struct inst *in = d->in;
  static const struct {
    uint16_t mod;
    uint8_t op;
  } ops[] = {{PTX_MOD_INIT, MB_INIT},        {PTX_MOD_INVAL, MB_INVALIDATE},
             {PTX_MOD_ARRIVE, MB_ARRIVE},    {PTX_MOD_ARRIVE_DROP, MB_ARRIVE},
             {PTX_MOD_EXPECT_TX, MB_EXPECT}, {PTX_MOD_COMPLETE_TX, MB_COMPLETE},
             {PTX_MOD_TEST_WAIT, MB_TEST},   {PTX_MOD_TRY_WAIT, MB_TRY}};
  if (decoder_has_mod(d, PTX_MOD_PENDING_COUNT)) {
    decoder_operands(d, PTX_MOD_B64, 0, 0);
    in->run = async_pending_count;
    return true;
  }
  in->compare = UINT8_MAX;
  for (size_t i = 0; i < sizeof ops / sizeof ops[0] && in->compare == UINT8_MAX; i++)
    if (decoder_has_mod(d, ops[i].mod)) in->compare = ops[i].op;
  bool wait = in->compare >= MB_TEST, has_result = wait || in->compare == MB_ARRIVE;
  bool expects = in->compare == MB_ARRIVE && decoder_has_mod(d, PTX_MOD_EXPECT_TX);
  in->window = decoder_window(d->words.space);
  if (has_result) in->d = decoder_dest(d, decoder_operand(d, 0));
  decoder_address(d, decoder_operand(d, has_result));
  uint32_t value = has_result + 1u;
  bool has_value = decoder_has(d, value);
  uint32_t row =
      has_value ? decoder_source(d, decoder_operand(d, value), wait ? PTX_MOD_B64 : PTX_MOD_B32)
                : in->b;
  if (in->compare == MB_ARRIVE && !expects) in->c = has_value ? row : decoder_constant(d, 1);
  else in->b = row;
  if (expects) in->c = decoder_constant(d, 1);
  in->is_signed = decoder_has_mod(d, wait ? PTX_MOD_PARITY : PTX_MOD_ARRIVE_DROP);
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = wait ? async_mbarrier_wait : async_mbarrier;
  return true;
}

static void bulk_operand(struct decoder *d, uint32_t *rows, unsigned at, uint32_t operand) {
  d->in->window = WINDOW_SHARED;
  decoder_address(d, decoder_operand(d, operand));
  rows[at] = d->in->a;
  rows[at + 1] = (uint32_t)d->in->imm;
}

static bool decode_bulk(struct decoder *d) {
  struct inst *in = d->in;
  if (decoder_has_mod(d, PTX_MOD_PREFETCH)) {
    in->run = exec_nothing;
    return true;
  }
  if (decoder_has_mod(d, PTX_MOD_TENSOR) || decoder_has_mod(d, PTX_MOD_CP_MASK)) return false;
  uint32_t *rows = decoder_alloc(d, BULK_WORDS * sizeof *rows);
  if (!rows) return true;
  bulk_operand(d, rows, BULK_TO, 0);
  bulk_operand(d, rows, BULK_FROM, 1);
  rows[BULK_BYTES] = decoder_source(d, decoder_operand(d, 2), PTX_MOD_B32);
  in->is_signed = decoder_has_mod(d, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
  if (in->is_signed) bulk_operand(d, rows, BULK_BARRIER, 3);
  rows[BULK_MASK] = decoder_has_mod(d, PTX_MOD_MULTICAST_CLUSTER)
                        ? decoder_source(d, decoder_operand(d, 4), PTX_MOD_B16)
                        : NO_ROW;
  /* the first space is that of the target, the last that of the source */
  bool from_shared = d->words.space != PTX_MOD_GLOBAL,
       to_global = decoder_has_mod(d, PTX_MOD_BULK_GROUP);
  in->window = from_shared ? WINDOW_SHARED : WINDOW_GLOBAL;
  in->dest_bits = to_global ? WINDOW_GLOBAL : WINDOW_SHARED;
  in->rows = rows;
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = async_bulk;
  return true;
}

/* cp.async.mbarrier.arrive: the copies are done first, so that it arrives at once; without .noinc
 * it counts itself beforehand, which cancels out. */
static bool decode_copy_arrive(struct decoder *d) {
  struct inst *in = d->in;
  in->window = decoder_window(d->words.space);
  decoder_address(d, decoder_operand(d, 0));
  in->compare = MB_ARRIVE;
  in->flags = true;
  in->c = decoder_constant(d, decoder_has_mod(d, PTX_MOD_NOINC));
  if (in->kind != INST_BAD) in->kind = INST_MEMORY;
  in->run = async_mbarrier;
  return true;
}

bool decode_async_cluster_barrier(struct decoder *d) {
  d->in->kind = INST_MEMORY;
  d->in->run = decoder_has_mod(d, PTX_MOD_WAIT) ? async_cluster_wait : async_cluster_arrive;
  return true;
}

bool decode_async(struct decoder *d) {
  struct inst *in = d->in;
  switch (d->e->op) {
    case PTX_MBARRIER: return decode_mbarrier(d);
    case PTX_CP:
      if (decoder_has_mod(d, PTX_MOD_REDUCE)) return false;
      if (decode_group(d)) return true;
      if (decoder_has_mod(d, PTX_MOD_BULK)) return decode_bulk(d);
      return decoder_has_mod(d, PTX_MOD_MBARRIER) ? decode_copy_arrive(d) : decode_copy(d);
    case PTX_MAPA:
    case PTX_GETCTARANK:
      decoder_operands(d, d->words.type[0], PTX_MOD_B32, 0);
      in->run = d->e->op == PTX_MAPA ? async_map : async_rank_of;
      in->kind = INST_MEMORY;
      return true;
    default: return false;
  }
}
