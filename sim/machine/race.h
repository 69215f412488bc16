/* Data races: two accesses of different threads to the same byte, one of them a write, that nothing
 * orders. Call these functions only while w->sim->races is set, but for race_begin*(). */
#ifndef NVM_SIM_MACHINE_RACE_H
#define NVM_SIM_MACHINE_RACE_H

#include "sim/machine/memory.h"

enum race_strength { RACE_WEAK, RACE_BLOCK, RACE_DEVICE }; /* strong: at which scope, at least */

/* Begins a launch, a block. False: out of memory. */
bool race_begin(struct sim *s);
bool race_begin_block(struct block *b);

/* An access that is about to happen; `bytes` of `at` become those of `value` (NULL: it reads).
 * False: a finding was made. */
bool race_access(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                 uint64_t bytes, enum race_strength strength, const uint8_t *value);
/* race_access() of an atomic operation. */
bool race_atomic(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                 uint64_t bytes);
/* race_access() with the instruction's strength; true where races are not looked for. */
static inline bool race_allows(struct warp *w, unsigned lane, const struct inst *in,
                               const struct access *at, uint64_t bytes, const uint8_t *value) {
  return !w->sim->races || !at->shadow ||
         race_access(w, lane, in, at, bytes, (enum race_strength)in->strength, value);
}

/* Lanes of the warp have met. */
void race_sync_lanes(struct warp *w, uint32_t mask);
/* The warp arrives at a barrier; `waiting` warps and those that have arrived are synchronized. */
void race_arrive(struct warp *w, uint32_t barrier);
void race_sync_warps(struct block *b, uint32_t barrier, uint32_t waiting);
/* A fence; a strong write or atomic operation, which publishes what was before the last fence; a
 * strong read, which may see what others published. */
void race_fence(struct warp *w, enum race_strength scope);
void race_publish(struct warp *w, enum race_strength scope);
void race_acquire(struct warp *w);
/* A strong write is about to happen: the fence that the instruction contains, then
 * race_publish(). */
void race_release(struct warp *w, const struct inst *in);

#endif
