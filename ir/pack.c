/* Packed bodies.
 *
 * Once the passes over a kernel have ended, its body waits for code generation, and so do those of
 * all kernels of a module: most of the memory of a large one. A body in tables has 52 bytes for an
 * instruction and 4 for an operand, most of which say that this instruction follows the one before.
 *
 * So the tables are written column by column, each number as its difference from a guess that the
 * columns and rows before it allow:
 *
 *   counts | operands | instructions: op op op …, flags flags …, type type … | blocks: …
 *
 *   a run of n right guesses     2n
 *   a difference d               2 zigzag(d) + 1, where zigzag(0, -1, 1, -2 …) = 0, 1, 2, 3 …
 *   an operand                   8 zigzag(index - the index of the last operand of its kind) + kind
 *
 * each in base 128, seven bits a byte, the lowest first, as in LEB128. What follows from the
 * rest is computed again: counts of uses, the block of an instruction, and what precedes it. */
#include "ir/pack.h"

#include <string.h>

/* Of a table with rows from 1: type and place of a field, and the guess for it. */
#define INST_COLUMNS(DO, f, k)                                                       \
  DO(uint16_t, (f)->insts.data[k].op, 0)                                             \
  DO(uint16_t, (f)->insts.data[k].flags, 0)                                          \
  DO(uint32_t, (f)->insts.data[k].type.index, 0)                                     \
  DO(uint32_t, (f)->insts.data[k].operand_count, 0)                                  \
  DO(uint32_t, (f)->insts.data[k].first_operand,                                     \
     (f)->insts.data[k - 1].first_operand + (f)->insts.data[k - 1].operand_count)    \
  DO(uint32_t, (f)->insts.data[k].next.index, (f)->insts.data[k - 1].next.index + 1) \
  DO(uint32_t, (f)->insts.data[k].aux, 0)                                            \
  DO(uint32_t, (f)->names.data[k].index, 0)                                          \
  DO(uint32_t, (f)->locations.data[k].index, (f)->locations.data[k - 1].index)       \
  DO(uint32_t, (f)->attachments.data[k], 0)                                          \
  DO(uint32_t, (f)->positions.data[k], (f)->positions.data[k - 1])

#define BLOCK_COLUMNS(DO, f, k)                                                        \
  DO(uint32_t, (f)->blocks.data[k].first.index, (f)->blocks.data[k - 1].first.index)   \
  DO(uint32_t, (f)->blocks.data[k].next.index, (f)->blocks.data[k - 1].next.index + 1) \
  DO(uint32_t, (f)->blocks.data[k].name.index, 0)                                      \
  DO(bool, (f)->blocks.data[k].removed, 0)

enum { MAX_BYTES = 6 /* of a number */, KINDS = 1 << (32 - VALUE_INDEX_BITS) };

/* --- writing --- */

struct writer {
  struct arena *arena;
  VEC(unsigned char) bytes;
  uint32_t right; /* guesses since the last difference */
};

/* Reserves room for so many numbers. */
static bool make_room(struct writer *w, uint64_t numbers) {
  return VEC_ROOM(w->arena, &w->bytes, w->bytes.count + (numbers + 1) * MAX_BYTES);
}

static uint32_t zigzag(uint32_t d) { return d << 1 ^ (d >> 31 ? UINT32_MAX : 0); }

static void put_number(struct writer *w, uint64_t n) {
  for (; n >= 0x80; n >>= 7) w->bytes.data[w->bytes.count++] = (unsigned char)(n | 0x80);
  w->bytes.data[w->bytes.count++] = (unsigned char)n;
}

static void end_run(struct writer *w) {
  if (w->right) put_number(w, (uint64_t)w->right << 1);
  w->right = 0;
}

static inline void put_difference(struct writer *w, uint32_t d) {
  if (d == 0) {
    w->right++;
    return;
  }
  end_run(w);
  put_number(w, (uint64_t)zigzag(d) << 1 | 1);
}

static bool put_operands(struct writer *w, const struct nvm_function *f) {
  uint32_t last[KINDS] = {0};
  if (!make_room(w, f->operands.count)) return false;
  for (uint32_t k = 0; k < f->operands.count; k++) {
    uint32_t kind = value_kind(f->operands.data[k]), index = value_index(f->operands.data[k]);
    put_number(w, (uint64_t)zigzag(index - last[kind]) * KINDS + kind);
    last[kind] = index;
  }
  return true;
}

#define PUT_COLUMN(T, place, guess)                                                    \
  if (!make_room(w, count)) return false;                                              \
  for (uint32_t k = 1; k < count; k++) put_difference(w, (uint32_t)(place) - (guess)); \
  end_run(w);

static bool put_insts(struct writer *w, const struct nvm_function *f) {
  uint32_t count = f->insts.count;
  INST_COLUMNS(PUT_COLUMN, f, k)
  return true;
}

static bool put_blocks(struct writer *w, const struct nvm_function *f) {
  uint32_t count = f->blocks.count;
  BLOCK_COLUMNS(PUT_COLUMN, f, k)
  return true;
}

bool pack_function(struct nvm_function *f, struct arena *scratch) {
  struct writer w = {.arena = scratch};
  if (!make_room(&w, 3)) return false;
  put_number(&w, f->operands.count);
  put_number(&w, f->insts.count);
  put_number(&w, f->blocks.count);
  if (!put_operands(&w, f) || !put_insts(&w, f) || !put_blocks(&w, f)) return false;
  struct nvm_text packed = {arena_copy(&f->module->arena, w.bytes.data, w.bytes.count),
                            w.bytes.count};
  if (!packed.bytes) return false;
  struct nvm_function old = *f;
  function_clear(f);
  f->packed = packed;
  f->entry = old.entry;
  f->last_block = old.last_block;
  f->removed = old.removed;
  f->removed_blocks = old.removed_blocks;
  return true;
}

/* --- reading --- */

struct reader {
  const char *at;
  uint32_t right; /* guesses before the next number */
};

static uint64_t get_number(struct reader *r) {
  uint64_t n = 0;
  for (int shift = 0;; shift += 7) {
    unsigned char byte = (unsigned char)*r->at++;
    n |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return n;
  }
}

static uint32_t undo_zigzag(uint32_t n) { return n >> 1 ^ (n & 1 ? UINT32_MAX : 0); }

static inline uint32_t get_difference(struct reader *r) {
  if (r->right == 0) {
    uint64_t n = get_number(r);
    if (n & 1) return undo_zigzag((uint32_t)(n >> 1));
    r->right = (uint32_t)(n >> 1);
  }
  r->right--;
  return 0;
}

static void get_operands(struct reader *r, struct nvm_value *operands, uint32_t count) {
  uint32_t last[KINDS] = {0};
  for (uint32_t k = 0; k < count; k++) {
    uint64_t n = get_number(r);
    uint32_t kind = n % KINDS;
    last[kind] += undo_zigzag((uint32_t)(n / KINDS));
    operands[k] = value_make((enum value_kind)kind, last[kind]);
  }
}

#define GET_COLUMN(T, place, guess) \
  for (uint32_t k = 1; k < count; k++) place = (T)((guess) + get_difference(r));

static void get_insts(struct reader *r, struct nvm_function *f) {
  uint32_t count = f->insts.count;
  INST_COLUMNS(GET_COLUMN, f, k)
}

static void get_blocks(struct reader *r, struct nvm_function *f) {
  uint32_t count = f->blocks.count;
  BLOCK_COLUMNS(GET_COLUMN, f, k)
}

/* Computes the fields that are not stored. */
static void link_all(struct nvm_function *f) {
  memset(f->uses.data, 0, f->uses.count * sizeof *f->uses.data);
  for (uint32_t k = 0; k < f->operands.count; k++)
    if (value_kind(f->operands.data[k]) == VALUE_INST)
      f->uses.data[value_index(f->operands.data[k])]++;
  for (uint32_t k = 1; k < f->insts.count; k++) {
    f->insts.data[k].block = (struct nvm_block){0};
    f->insts.data[k].previous = (struct nvm_inst_id){0};
  }
  for (uint32_t k = 1; k < f->blocks.count; k++) {
    f->blocks.data[k].last = (struct nvm_inst_id){0};
    f->blocks.data[k].previous = (struct nvm_block){0};
  }
  struct nvm_block before = {0};
  FOR_EACH_BLOCK (f, b) {
    struct nvm_block_info *block = function_block(f, b);
    block->previous = before;
    before = b;
    FOR_EACH_INST (f, b, i) {
      function_inst(f, i)->block = b;
      function_inst(f, i)->previous = block->last;
      block->last = i;
    }
  }
}

bool pack_restore(struct nvm_function *f) {
  if (f->packed.length == 0) return true;
  struct reader r = {f->packed.bytes, 0};
  uint32_t operands = (uint32_t)get_number(&r), insts = (uint32_t)get_number(&r),
           blocks = (uint32_t)get_number(&r);
  struct arena *arena = &f->module->arena;
  if (!function_reserve(f, insts, operands) || !VEC_ROOM(arena, &f->blocks, blocks)) return false;
  f->operands.count = operands;
  f->blocks.count = blocks;
  function_truncate(f, insts);
  function_shrink(f);
  get_operands(&r, f->operands.data, operands);
  get_insts(&r, f);
  get_blocks(&r, f);
  link_all(f);
  arena_release(arena, (char *)f->packed.bytes, f->packed.length + 1);
  f->packed = (struct nvm_text){NULL, 0};
  return true;
}

const struct nvm_value *pack_operands(const struct nvm_function *f, struct arena *arena,
                                      uint32_t *count) {
  *count = f->operands.count;
  if (f->packed.length == 0) return f->operands.data;
  struct reader r = {f->packed.bytes, 0};
  *count = (uint32_t)get_number(&r);
  (void)get_number(&r);
  (void)get_number(&r);
  struct nvm_value *operands = arena_grow_raw(arena, NULL, 0, *count * sizeof *operands);
  if (operands) get_operands(&r, operands, *count);
  return operands;
}
