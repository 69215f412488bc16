/* Instructions that access memory: lane by lane in ascending order, which is the order in which
 * conflicting writes and atomic operations of a warp take effect. */
#include "ir/evalfloat.h"
#include "sim/machine/exec.h"
#include "sim/machine/finding.h"
#include "sim/machine/race.h"
#include "sim/machine/undefined.h"

#include <string.h>

/* --- loads and stores ------------------------------------------------------------------------- */

/* One element of in->bits into lane l of the row; signed ones are extended to the register. */
static inline void put_element(struct warp *w, const struct inst *in, uint32_t row, unsigned l,
                               const uint8_t *at) {
  if (row == NO_ROW) return;
  uint64_t *d = row_of(w, row);
  if (in->bits == 128) {
    d[l] = memory_number(at, 8);
    d[LANES + l] = memory_number(at + 8, 8);
    return;
  }
  uint64_t v = memory_number(at, in->bits / 8);
  d[l] = in->is_signed ? evalint_zext(in->dest_bits, (uint64_t)evalint_sext(in->bits, v)) : v;
}

static inline void get_element(const struct warp *w, const struct inst *in, uint32_t row,
                               unsigned l, uint8_t *at) {
  const uint64_t *a = row_of(w, row);
  memory_put_number(at, a[l], in->bits == 128 ? 8 : in->bits / 8);
  if (in->bits == 128) memory_put_number(at + 8, a[LANES + l], 8);
}

/* Shared and local addresses in a 32-bit register wrap at 32 bits. */
static uint64_t effective_address(const struct inst *in, uint64_t register_value) {
  uint64_t address = register_value + (uint64_t)in->imm;
  bool narrow = in->window == WINDOW_SHARED || in->window == WINDOW_LOCAL;
  return narrow && register_value >> 32 == 0 ? (uint32_t)address : address;
}

static inline bool find(struct warp *w, unsigned l, uint64_t base, const struct inst *in,
                        unsigned bytes, bool is_write, struct access *at) {
  return memory_find_common(w, l, base + (uint64_t)in->imm, in->window, bytes, bytes, at) ||
         memory_find(w, l, effective_address(in, base), in->window, bytes, bytes, is_write, at);
}

void exec_memory_load(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  unsigned element = in->bits / 8u, bytes = element * in->count;
  bool undefined_rows = w->frame->undefined != NULL;
  if (in->strength && w->sim->races) race_acquire(w);
  FOR_LANES(l, mask) {
    struct access at;
    if ((undefined_rows && !undefined_check(w, in->a, l, "uses %s as an address")) ||
        !find(w, l, a[l], in, bytes, false, &at) || !race_allows(w, l, in, &at, bytes, NULL))
      return;
    bool undefined = at.written && !memory_is_defined(w, &at, bytes);
    for (unsigned i = 0; i < in->count; i++) {
      put_element(w, in, in->rows[i], l, at.at + i * element);
      if (undefined || undefined_rows) undefined_set(w, in->rows[i], l, undefined);
    }
    undefined_rows = undefined_rows || undefined;
  }
}

void exec_memory_store(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  unsigned element = in->bits / 8u, bytes = element * in->count;
  bool undefined_rows = w->frame->undefined != NULL;
  if (in->strength && w->sim->races) race_release(w, in);
  FOR_LANES(l, mask) {
    struct access at;
    uint8_t value[32];
    if ((undefined_rows && !undefined_check(w, in->a, l, "uses %s as an address")) ||
        !find(w, l, a[l], in, bytes, true, &at))
      return;
    for (unsigned i = 0; i < in->count; i++)
      get_element(w, in, in->rows[i], l, value + i * element);
    if (!race_allows(w, l, in, &at, bytes, value)) return;
    memcpy(at.at, value, bytes);
    if (!undefined_rows && !at.written) continue;
    for (unsigned i = 0; i < in->count; i++) {
      bool undefined = undefined_is(w, in->rows[i], l);
      if (at.written) memset(at.written + i * element, !undefined, element);
      else if (undefined && !undefined_check(w, in->rows[i], l, "stores %s to global memory"))
        return;
    }
  }
}

/* st.bulk: `b` zero bytes. */
void exec_memory_store_bulk(struct warp *w, const struct inst *in, uint32_t mask) {
  static const uint8_t zeros[8];
  FOR_LANES(l, mask) {
    uint64_t bytes = row_of(w, in->b)[l];
    struct access at;
    if (bytes % 8 != 0) {
      finding_report(w, l, SIM_MISALIGNED, "writes %U bytes in bulk, which is not a multiple of 8",
                     bytes);
      return;
    }
    if (!memory_find(w, l, effective_address(in, row_of(w, in->a)[l]), in->window, bytes, 8, true,
                     &at))
      return;
    for (uint64_t done = 0; done < bytes; done += 8, at.at += 8, at.offset += 8) {
      if (!race_allows(w, l, in, &at, 8, zeros)) return;
      memset(at.at, 0, 8);
      if (at.written) memset(at.written + done, SHADOW_WRITTEN, 8);
    }
  }
}

void exec_memory_load_kernel_param(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint8_t *at = w->sim->kernel_params + in->imm;
  FOR_LANES(l, mask)
  for (unsigned i = 0; i < in->count; i++)
    put_element(w, in, in->rows[i], l, at + i * (in->bits / 8u));
}

void exec_memory_load_param(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    const uint8_t *at = w->frame->params + (size_t)l * w->frame->func->param_bytes + in->imm;
    for (unsigned i = 0; i < in->count; i++)
      put_element(w, in, in->rows[i], l, at + i * (in->bits / 8u));
  }
}

void exec_memory_store_param(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    uint8_t *at = w->frame->params + (size_t)l * w->frame->func->param_bytes + in->imm;
    for (unsigned i = 0; i < in->count; i++)
      get_element(w, in, in->rows[i], l, at + i * (in->bits / 8u));
  }
}

/* --- atomics ---------------------------------------------------------------------------------- */

static uint64_t float_sum(const struct inst *in, uint64_t a, uint64_t b) {
  enum float_format f = (enum float_format)in->format;
  if (!in->bits2) return evalfloat_add(f, EVALFLOAT_NEAREST, a, b);
  return evalfloat_add(f, EVALFLOAT_NEAREST, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16 |
         evalfloat_add(f, EVALFLOAT_NEAREST, a & 0xffff, b & 0xffff);
}

static uint64_t atomic_result(const struct inst *in, uint64_t old, uint64_t b, uint64_t c) {
  switch (in->rows[0]) {
    case PTX_MOD_EXCH: return b;
    case PTX_MOD_CAS: return old == b ? c : old;
    case PTX_MOD_INC: return old >= b ? 0 : old + 1;
    case PTX_MOD_DEC: return old == 0 || old > b ? b : old - 1;
    default: break;
  }
  if (in->is_signed2 && in->rows[0] == PTX_MOD_ADD) return float_sum(in, old, b);
  return exec_combine((uint16_t)in->rows[0], in->bits, in->is_signed, old, b);
}

static void atomic_wide(struct warp *w, const struct inst *in, unsigned l, uint8_t *at) {
  const uint64_t *b = row_of(w, in->b), *c = row_of(w, in->c);
  uint64_t low = memory_number(at, 8), high = memory_number(at + 8, 8);
  bool same = low == b[l] && high == b[LANES + l];
  if (in->rows[0] == PTX_MOD_EXCH)
    memory_put_number(at, b[l], 8), memory_put_number(at + 8, b[LANES + l], 8);
  else if (same) memory_put_number(at, c[l], 8), memory_put_number(at + 8, c[LANES + l], 8);
  if (in->d == NO_ROW) return;
  row_of(w, in->d)[l] = low;
  row_of(w, in->d)[LANES + l] = high;
}

void exec_memory_atom(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a), *b = row_of(w, in->b), *c = row_of(w, in->c);
  unsigned bytes = in->bits / 8u;
  if (w->sim->races) {
    race_release(w, in);
    race_acquire(w);
  }
  FOR_LANES(l, mask) {
    struct access at;
    if (!find(w, l, a[l], in, bytes, true, &at)) return;
    if (w->sim->races && !race_atomic(w, l, in, &at, bytes)) return;
    if (in->rows[0] != PTX_MOD_EXCH && !memory_is_defined(w, &at, bytes)) {
      finding_report(w, l, SIM_UNINITIALIZED,
                     "performs an atomic operation on uninitialized memory");
      return;
    }
    if (w->frame->undefined) undefined_set(w, in->d, l, false);
    if (at.written) memset(at.written, SHADOW_WRITTEN, bytes);
    if (bytes == 16) {
      atomic_wide(w, in, l, at.at);
      continue;
    }
    uint64_t old = memory_number(at.at, bytes);
    memory_put_number(at.at, atomic_result(in, old, b[l], c[l]), bytes);
    if (in->d != NO_ROW) row_of(w, in->d)[l] = old;
  }
}

/* --- addresses -------------------------------------------------------------------------------- */

/* imm: what is added. Null does not stay null, as on the hardware. */
void exec_memory_cvta(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t *d = row_of(w, in->d);
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) d[l] = evalint_zext(in->bits, a[l] + (uint64_t)in->imm);
}

void exec_memory_isspacep(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  uint32_t value = 0;
  FOR_LANES(l, mask) value |= (uint32_t)(window_of(a[l]) == (enum window)in->window) << l;
  write_pred(w, in->d, mask, value);
}

void exec_memory_local_address(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t *d = row_of(w, in->d);
  FOR_LANES(l, mask) d[l] = w->frame->local_base[l] + (uint64_t)in->imm;
}

void exec_memory_alloca(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  uint64_t align = in->imm > 0 ? (uint64_t)in->imm : 8;
  FOR_LANES(l, mask) {
    uint64_t base = memory_push_stack(w, l, a[l], align);
    if (!base) return;
    row_of(w, in->d)[l] = base;
  }
}

void exec_memory_stack_save(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t *d = row_of(w, in->d);
  FOR_LANES(l, mask) d[l] = w->stack_top[l];
}

void exec_memory_stack_restore(struct warp *w, const struct inst *in, uint32_t mask) {
  const uint64_t *a = row_of(w, in->a);
  FOR_LANES(l, mask) {
    if (a[l] > w->stack_top[l] || a[l] < w->frame->local_base[l]) {
      finding_report(w, l, SIM_OUT_OF_BOUNDS,
                     "restores a stack pointer that was not saved in this function");
      return;
    }
    w->stack_top[l] = a[l];
  }
}
