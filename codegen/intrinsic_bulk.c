/* Bulk asynchronous copies: cp.async.bulk and cp.async.bulk.tensor. Their flag arguments say which
 * of the optional operands (multicast mask, cache hint) are used; the rest are ignored.
 *
 * Tensor coordinates come as separate arguments; in im2col mode offsets follow them, two fewer. */
#include "codegen/intrinsic.h"

enum { MAX_MODS = 16, MAX_OPERANDS = 8 };

/* An instruction being put together. */
struct bulk {
  struct lower *l;
  const struct nvm_inst *inst;
  uint16_t mods[MAX_MODS];
  struct ptx_operand operands[MAX_OPERANDS];
  uint32_t mod_count, operand_count;
};

static struct bulk bulk_start(struct lower *l, const struct nvm_inst *i, const uint16_t *mods) {
  struct bulk b = {.l = l, .inst = i};
  for (; *mods != PTX_MOD_NONE; mods++) b.mods[b.mod_count++] = *mods;
  return b;
}

static void add_mod(struct bulk *b, uint16_t mod) { b->mods[b->mod_count++] = mod; }

static struct ptx_reg arg_reg(struct bulk *b, uint32_t k) {
  return lower_reg(b->l, intrinsic_arg(b->l, b->inst, k), 0);
}

static void add_address(struct bulk *b, uint32_t k) {
  b->operands[b->operand_count++] = ptx_at(arg_reg(b, k), 0);
}

static void add_value(struct bulk *b, uint32_t k) {
  b->operands[b->operand_count++] = ptx_r(arg_reg(b, k));
}

static struct ptx_operand vector_of(struct bulk *b, uint32_t first, uint32_t count) {
  struct ptx_operand members[5];
  for (uint32_t k = 0; k < count && k < 5; k++) members[k] = ptx_r(arg_reg(b, first + k));
  return ptx_group(b->l->pf, PTX_OPERAND_VECTOR, members, count);
}

/* [map, {coordinates}] */
static void add_tensor(struct bulk *b, uint32_t map, uint32_t first, uint32_t count) {
  struct ptx_operand members[2] = {ptx_r(arg_reg(b, map)), vector_of(b, first, count)};
  b->operands[b->operand_count++] = ptx_group(b->l->pf, PTX_OPERAND_TENSOR, members, 2);
}

/* The optional operand k, used if the flag argument says so. */
static void add_optional(struct bulk *b, uint32_t k, uint32_t flag, uint16_t mod) {
  uint64_t used;
  if (!intrinsic_constant(b->l, b->inst, flag, &used) || !used) return;
  add_mod(b, mod);
  add_value(b, k);
}

static void bulk_emit(struct bulk *b, enum ptx_op op) {
  b->mods[b->mod_count] = PTX_MOD_NONE;
  ptx_add(b->l->pf, op, b->mods, b->operands, b->operand_count);
}

/* (to, barrier, from, bytes, mask, hint, has mask, has hint) */
void lower_i_bulk_global_to_shared(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  struct bulk b = bulk_start(l, i,
                             PTX_MODS(PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_SHARED_CLUSTER,
                                      PTX_MOD_GLOBAL, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES));
  add_address(&b, 0);
  add_address(&b, 2);
  add_value(&b, 3);
  add_address(&b, 1);
  add_optional(&b, 4, 6, PTX_MOD_MULTICAST_CLUSTER);
  add_optional(&b, 5, 7, PTX_MOD_L2_CACHE_HINT);
  bulk_emit(&b, PTX_CP);
}

/* (to, from, bytes, hint, has hint) */
void lower_i_bulk_shared_to_global(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  struct bulk b = bulk_start(l, i,
                             PTX_MODS(PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_GLOBAL,
                                      PTX_MOD_SHARED_CTA, PTX_MOD_BULK_GROUP));
  add_address(&b, 0);
  add_address(&b, 1);
  add_value(&b, 2);
  add_optional(&b, 3, 4, PTX_MOD_L2_CACHE_HINT);
  bulk_emit(&b, PTX_CP);
}

/* (from, bytes, hint, has hint) */
void lower_i_bulk_prefetch(struct lower *l, const struct nvm_inst *i, int argument) {
  (void)argument;
  struct bulk b = bulk_start(
      l, i, PTX_MODS(PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_PREFETCH, PTX_MOD_L2, PTX_MOD_GLOBAL));
  add_address(&b, 0);
  add_value(&b, 1);
  add_optional(&b, 2, 3, PTX_MOD_L2_CACHE_HINT);
  bulk_emit(&b, PTX_CP);
}

static uint16_t dimensions_mod(int argument) {
  static const uint16_t mods[6] = {PTX_MOD_NONE, PTX_MOD_1D, PTX_MOD_2D,
                                   PTX_MOD_3D,   PTX_MOD_4D, PTX_MOD_5D};
  return mods[argument & BULK_DIMENSIONS];
}

/* (to, barrier, map, coordinates…, [offsets…], mask, hint, has mask, has hint) */
void lower_i_bulk_tensor_load(struct lower *l, const struct nvm_inst *i, int argument) {
  uint32_t n = (uint32_t)argument & BULK_DIMENSIONS, offsets = argument & BULK_IM2COL ? n - 2 : 0;
  struct bulk b = bulk_start(
      l, i,
      PTX_MODS(PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_TENSOR, dimensions_mod(argument),
               PTX_MOD_SHARED_CLUSTER, PTX_MOD_GLOBAL, offsets ? PTX_MOD_IM2COL : PTX_MOD_TILE,
               PTX_MOD_MBARRIER_COMPLETE_TX_BYTES));
  add_address(&b, 0);
  add_tensor(&b, 2, 3, n);
  add_address(&b, 1);
  if (offsets) b.operands[b.operand_count++] = vector_of(&b, 3 + n, offsets);
  uint32_t rest = 3 + n + offsets;
  add_optional(&b, rest, rest + 2, PTX_MOD_MULTICAST_CLUSTER);
  add_optional(&b, rest + 1, rest + 3, PTX_MOD_L2_CACHE_HINT);
  bulk_emit(&b, PTX_CP);
}

/* (from, map, coordinates…, hint, has hint) */
static void tensor_to_global(struct bulk *b, int argument) {
  uint32_t n = (uint32_t)argument & BULK_DIMENSIONS;
  add_mod(b, argument & BULK_IM2COL ? PTX_MOD_IM2COL_NO_OFFS : PTX_MOD_TILE);
  add_mod(b, PTX_MOD_BULK_GROUP);
  add_tensor(b, 1, 2, n);
  add_address(b, 0);
  add_optional(b, 2 + n, 3 + n, PTX_MOD_L2_CACHE_HINT);
}

void lower_i_bulk_tensor_store(struct lower *l, const struct nvm_inst *i, int argument) {
  struct bulk b =
      bulk_start(l, i,
                 PTX_MODS(PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_TENSOR, dimensions_mod(argument),
                          PTX_MOD_GLOBAL, PTX_MOD_SHARED_CTA));
  tensor_to_global(&b, argument);
  bulk_emit(&b, PTX_CP);
}

/* `argument`: the operation's modifier << 16 as well. */
void lower_i_bulk_tensor_reduce(struct lower *l, const struct nvm_inst *i, int argument) {
  struct bulk b = bulk_start(l, i,
                             PTX_MODS(PTX_MOD_REDUCE, PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_TENSOR,
                                      dimensions_mod(argument), PTX_MOD_GLOBAL, PTX_MOD_SHARED_CTA,
                                      (uint16_t)(argument >> 16)));
  tensor_to_global(&b, argument);
  bulk_emit(&b, PTX_CP);
}

/* (map, coordinates…, [offsets…], hint, has hint) */
void lower_i_bulk_tensor_prefetch(struct lower *l, const struct nvm_inst *i, int argument) {
  uint32_t n = (uint32_t)argument & BULK_DIMENSIONS, offsets = argument & BULK_IM2COL ? n - 2 : 0;
  struct bulk b = bulk_start(l, i,
                             PTX_MODS(PTX_MOD_ASYNC, PTX_MOD_BULK, PTX_MOD_PREFETCH, PTX_MOD_TENSOR,
                                      dimensions_mod(argument), PTX_MOD_L2, PTX_MOD_GLOBAL,
                                      offsets ? PTX_MOD_IM2COL : PTX_MOD_TILE));
  add_tensor(&b, 0, 1, n);
  if (offsets) b.operands[b.operand_count++] = vector_of(&b, 1 + n, offsets);
  add_optional(&b, 1 + n + offsets, 2 + n + offsets, PTX_MOD_L2_CACHE_HINT);
  bulk_emit(&b, PTX_CP);
}
