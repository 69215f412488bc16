/* Undefined values: loaded from memory that was never written, or poison of IR. Loading and moving
 * them is allowed (compilers copy padding, and load before they choose); deciding by them, using
 * them as an address and storing them to global memory are findings. */
#ifndef NVM_SIM_MACHINE_UNDEFINED_H
#define NVM_SIM_MACHINE_UNDEFINED_H

#include "sim/machine/machine.h"

/* Before the instruction: where its operands are undefined, its results become so. */
void undefined_flow(struct warp *w, const struct inst *in, uint32_t mask);
/* A table of masks by row: of rows outside of the frame nothing is undefined. */
static inline uint32_t undefined_mask(const uint32_t *masks, uint32_t row) {
  return row >> BANK_SHIFT == BANK_FRAME ? masks[row] : 0;
}
static inline void undefined_put_mask(uint32_t *masks, uint32_t row, uint32_t lanes,
                                      uint32_t value) {
  if (row != NO_ROW) mask_put(&masks[row], lanes, value);
}

/* Makes a row's value in a lane undefined, or defined. */
void undefined_set(struct warp *w, uint32_t row, unsigned lane, bool undefined);
/* Makes it undefined because it comes from memory that was never written. */
void undefined_set_unwritten(struct warp *w, uint32_t row, unsigned lane);
/* The same for a call: row `d` of frame `to` becomes as row `s` of frame `from`. */
void undefined_copy(struct warp *w, struct frame *to, uint32_t d, const struct frame *from,
                    uint32_t s, unsigned lane);
static inline bool undefined_is(const struct warp *w, uint32_t row, unsigned lane) {
  return w->frame->undefined && row >> BANK_SHIFT == BANK_FRAME &&
         w->frame->undefined[row] >> lane & 1;
}
static inline bool undefined_is_unwritten(const struct warp *w, uint32_t row, unsigned lane) {
  return undefined_is(w, row, lane) &&
         (!w->frame->unwritten || w->frame->unwritten[row] >> lane & 1);
}
/* A finding if the row is undefined in the lane; `format` has one %s, for the value. */
bool undefined_check(struct warp *w, uint32_t row, unsigned lane, const char *format);

/* The row's value comes from a group of wgmma, and may be moved, but not used, until the group has
 * been waited for; undefined_keep_pending() ends the groups whose bit of `still` is not set. */
void undefined_set_pending(struct warp *w, uint32_t row, uint32_t group_bit);
void undefined_keep_pending(struct warp *w, uint32_t still);

#endif
