/* Decoding of instructions that several lanes or warps execute together: shuffles, votes, barriers.
 */
#include "sim/machine/exec.h"
#include "sim/ptx/decoder.h"

/* The row of the member mask of a .sync form is rows[0]. */
static bool set_members(struct decoder *d, uint32_t operand) {
  uint32_t *row = decoder_alloc(d, 2 * sizeof *row);
  if (!row) return false;
  row[0] = decoder_source(d, decoder_operand(d, operand), PTX_MOD_B32);
  d->in->rows = row;
  d->in->kind = INST_WARP_SYNC;
  return true;
}

static bool shuffle_op(struct decoder *d) {
  struct inst *in = d->in;
  decoder_operands(d, PTX_MOD_B32, PTX_MOD_B32, PTX_MOD_B32);
  in->imm = d->words.mode;
  in->run = exec_warp_shfl;
  if (d->words.sync) set_members(d, 4);
  return true;
}

static bool vote_op(struct decoder *d) {
  struct inst *in = d->in;
  bool negated;
  in->d = decoder_dest(d, decoder_operand(d, 0));
  in->a = decoder_pred(d, decoder_operand(d, 1), &negated);
  in->flags = negated ? FLAG_NEGATE_PRED : 0;
  in->imm = d->words.mode;
  in->run = exec_warp_vote;
  if (d->words.sync) set_members(d, 2);
  return true;
}

static bool match_op(struct decoder *d) {
  struct inst *in = d->in;
  decoder_targets(d);
  in->a = decoder_source(d, decoder_operand(d, 1), d->words.type[0]);
  in->imm = d->words.mode;
  in->run = exec_warp_match;
  return set_members(d, 2);
}

static bool redux_op(struct decoder *d) {
  struct inst *in = d->in;
  uint16_t type = d->words.type[0];
  in->is_signed2 = type == PTX_MOD_F32;
  in->flags = d->words.nan_result ? FLAG_NAN : 0;
  in->count = d->words.abs;
  in->is_signed = ptx_mod_row(type)->kind == 's';
  in->d = decoder_dest(d, decoder_operand(d, 0));
  in->a = decoder_source(d, decoder_operand(d, 1), type);
  in->imm = d->words.atom_op;
  in->run = exec_warp_redux;
  return set_members(d, 2);
}

static bool elect_op(struct decoder *d) {
  decoder_targets(d);
  d->in->run = exec_warp_elect;
  return set_members(d, 1);
}

/* --- barriers --------------------------------------------------------------------------------- */

static bool barrier_op(struct decoder *d) {
  struct inst *in = d->in;
  bool red = false, arrive = false, cluster = false, popc = false, aligned = false;
  for (uint32_t i = 0; i < d->e->mod_count; i++) {
    uint16_t mod = d->f->mods.data[d->e->first_mod + i];
    if (mod == PTX_MOD_WARP) {
      in->run = exec_nothing;
      in->flags = 1; /* lanes may execute it at different places */
      return set_members(d, 0);
    }
    if (mod == PTX_MOD_RED) red = true;
    if (mod == PTX_MOD_ARRIVE) arrive = true;
    if (mod == PTX_MOD_CLUSTER) cluster = true;
    if (mod == PTX_MOD_POPC) popc = true;
    if (mod == PTX_MOD_ALIGNED) aligned = true;
  }
  if (cluster) return decode_async_cluster_barrier(d);
  uint32_t at = red ? 1 : 0;
  in->a = decoder_source(d, decoder_operand(d, at), PTX_MOD_U32);
  bool counted = d->e->operand_count > at + 1 + (red ? 1 : 0);
  in->b =
      counted ? decoder_source(d, decoder_operand(d, at + 1), PTX_MOD_U32) : decoder_constant(d, 0);
  in->kind = INST_BARRIER;
  in->is_signed = d->e->op == PTX_BAR || aligned;
  in->compare = arrive ? BARRIER_ARRIVE : BARRIER_SYNC;
  if (!red) return true;
  bool negated;
  in->c = decoder_pred(d, decoder_operand(d, d->e->operand_count - 1u), &negated);
  in->flags = negated ? FLAG_NEGATE_PRED : 0;
  in->d = decoder_dest(d, decoder_operand(d, 0));
  in->compare = popc ? BARRIER_POPC : d->words.bool_op == PTX_MOD_AND ? BARRIER_AND : BARRIER_OR;
  return true;
}

bool decode_warp(struct decoder *d) {
  switch (d->e->op) {
    case PTX_SHFL: return shuffle_op(d);
    case PTX_VOTE: return vote_op(d);
    case PTX_MATCH: return match_op(d);
    case PTX_REDUX: return redux_op(d);
    case PTX_ELECT: return elect_op(d);
    case PTX_ACTIVEMASK:
      d->in->d = decoder_dest(d, decoder_operand(d, 0));
      d->in->run = exec_warp_activemask;
      return true;
    case PTX_BAR:
    case PTX_BARRIER: return barrier_op(d);
    default: return false;
  }
}
