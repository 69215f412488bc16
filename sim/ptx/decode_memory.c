/* Decoding of memory accesses and address computations. Scopes and orderings concern race.c only:
 * threads run one after the other, so that every access is sequentially consistent. */
#include "ir/evalint.h"
#include "sim/machine/exec.h"
#include "sim/machine/number.h"
#include "sim/machine/race.h"
#include "sim/ptx/decoder.h"

/* The scope for which an access or a fence is strong. */
static void set_strength(struct decoder *d, bool is_strong) {
  static const uint16_t strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                    PTX_MOD_RELEASE, PTX_MOD_MMIO};
  for (size_t i = 0; i < sizeof strong / sizeof strong[0]; i++)
    is_strong |= decoder_has_mod(d, strong[i]);
  if (is_strong) d->in->strength = decoder_has_mod(d, PTX_MOD_CTA) ? RACE_BLOCK : RACE_DEVICE;
  d->in->releases = decoder_has_mod(d, PTX_MOD_RELEASE) || decoder_has_mod(d, PTX_MOD_ACQ_REL);
}

static bool store_bulk(struct decoder *d) {
  d->in->window = decoder_window(d->words.space);
  decoder_address(d, decoder_operand(d, 0));
  d->in->b = decoder_source(d, decoder_operand(d, 1), PTX_MOD_B64);
  d->in->kind = INST_MEMORY;
  d->in->run = exec_memory_store_bulk;
  return true;
}

static bool fence_op(struct decoder *d) {
  set_strength(d, true);
  d->in->run = exec_warp_fence;
  return true;
}

static bool is_own_param(struct decoder *d, const struct ptx_operand *o,
                         const struct scope_variable **v) {
  if (d->in->window != WINDOW_PARAM || o->kind != PTX_OPERAND_ADDRESS_SYMBOL) return false;
  *v = decoder_find_variable(d, o->symbol);
  return *v && (*v)->space == PTX_MOD_PARAM;
}

static bool access_op(struct decoder *d, bool is_store) {
  struct inst *in = d->in;
  uint16_t type = d->words.type[0];
  const struct ptx_operand *address = decoder_operand(d, is_store ? 0 : 1);
  const struct ptx_operand *value = decoder_operand(d, is_store ? 1 : 0);
  const struct scope_variable *v;
  in->bits = (uint8_t)ptx_mod_row(type)->bits;
  in->is_signed = ptx_mod_row(type)->kind == 's';
  in->window = decoder_window(d->words.space);
  uint32_t count = 0;
  in->rows = decoder_rows(d, value, !is_store, type, 0, &count);
  in->count = (uint8_t)count;
  if (is_own_param(d, address, &v)) {
    bool kernel = v->formal && d->func->ptx->is_entry;
    in->imm = evalint_wrapping_add((int64_t)v->offset, address->imm);
    uint64_t bytes = in->bits / 8u * in->count;
    if (address->imm < 0 || (uint64_t)address->imm + bytes > v->bytes)
      return decoder_unsupported(d, "accesses a parameter out of bounds");
    in->run = is_store ? exec_memory_store_param
              : kernel ? exec_memory_load_kernel_param
                       : exec_memory_load_param;
    return true;
  }
  decoder_address(d, address);
  if (in->kind == INST_BAD) return true;
  in->kind = INST_MEMORY;
  in->run = is_store ? exec_memory_store : exec_memory_load;
  set_strength(d, false);
  return true;
}

/* --- atomics ---------------------------------------------------------------------------------- */

static bool atomic_op(struct decoder *d, bool is_reduction) {
  struct inst *in = d->in;
  uint16_t type = d->words.type[0];
  uint32_t at = is_reduction ? 0 : 1;
  const struct ptx_mod_row *row = ptx_mod_row(type);
  if (d->words.vector || d->words.mode == PTX_MOD_ASYNC) return decoder_unsupported(d, NULL);
  in->bits = (uint8_t)row->bits;
  in->is_signed = row->kind == 's';
  in->format = (uint8_t)number_format(type);
  in->is_signed2 = row->kind == 'f' || row->kind == 'x';       /* a float */
  in->bits2 = type == PTX_MOD_F16X2 || type == PTX_MOD_BF16X2; /* halves */
  in->window = decoder_window(d->words.space);
  decoder_address(d, decoder_operand(d, at));
  if (in->kind == INST_BAD) return true;
  in->b = decoder_source(d, decoder_operand(d, at + 1), type);
  if (d->words.atom_op == PTX_MOD_CAS) in->c = decoder_source(d, decoder_operand(d, at + 2), type);
  in->d = is_reduction ? NO_ROW : decoder_dest(d, decoder_operand(d, 0));
  uint32_t *op = decoder_alloc(d, sizeof *op);
  if (!op) return true;
  *op = d->words.atom_op;
  in->rows = op;
  in->kind = INST_MEMORY;
  in->run = exec_memory_atom;
  set_strength(d, true);
  return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

static bool cvta_op(struct decoder *d) {
  struct inst *in = d->in;
  int64_t base = (int64_t)window_base((enum window)decoder_window(d->words.space));
  in->imm = d->words.to ? -base : base;
  in->bits = d->words.to ? (uint8_t)ptx_mod_row(d->words.type[0])->bits : 64;
  decoder_operands(d, d->words.type[0], 0, 0);
  in->run = exec_memory_cvta;
  return true;
}

static bool isspacep_op(struct decoder *d) {
  struct inst *in = d->in;
  in->window = decoder_window(d->words.space);
  decoder_operands(d, PTX_MOD_B64, 0, 0);
  in->run = exec_memory_isspacep;
  return true;
}

static bool alloca_op(struct decoder *d) {
  struct inst *in = d->in;
  in->kind = INST_MEMORY;
  if (d->e->op == PTX_STACKRESTORE) {
    in->a = decoder_source(d, decoder_operand(d, 0), d->words.type[0]);
    in->run = exec_memory_stack_restore;
    return true;
  }
  in->d = decoder_dest(d, decoder_operand(d, 0));
  in->run = exec_memory_stack_save;
  if (d->e->op != PTX_ALLOCA) return true;
  in->a = decoder_source(d, decoder_operand(d, 1), d->words.type[0]);
  in->imm = decoder_has(d, 2) ? decoder_operand(d, 2)->imm : 8;
  in->run = exec_memory_alloca;
  return true;
}

bool decode_memory(struct decoder *d) {
  switch (d->e->op) {
    case PTX_LD:
    case PTX_LDU: return access_op(d, false);
    case PTX_ST:
      if (d->words.mode == PTX_MOD_ASYNC) return false;
      if (d->words.mode == PTX_MOD_BULK) return store_bulk(d);
      return access_op(d, true);
    case PTX_MEMBAR:
    case PTX_FENCE: return fence_op(d);
    case PTX_ATOM: return atomic_op(d, false);
    case PTX_RED: return atomic_op(d, true);
    case PTX_CVTA: return cvta_op(d);
    case PTX_ISSPACEP: return isspacep_op(d);
    case PTX_ALLOCA:
    case PTX_STACKSAVE:
    case PTX_STACKRESTORE: return alloca_op(d);
    default: return false;
  }
}
