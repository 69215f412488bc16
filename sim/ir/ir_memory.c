/* Instructions of IR that access memory, lane by lane as in exec_memory.c.
 *
 * Values are in memory by the data layout, lanes of vectors bit by bit. Bytes that were never
 * written read as zero; a scalar without any written byte is tracked like poison, as PTX's
 * undefined values are (undefined.c). Stored poison marks its bytes; storing a value that is poison
 * as a whole to global memory, where other threads may read it, is a finding. */
#include "sim/ir/ir_exec.h"
#include "sim/machine/finding.h"
#include "sim/machine/memory.h"
#include "sim/machine/race.h"

#include <string.h>

enum { GENERIC = WINDOW_COUNT };

/* --- bytes ------------------------------------------------------------------------------------ */

/* Whether the scalar is one number of whole bytes. */
static bool is_whole(const struct ir_piece *p) {
  return p->bit % 8 == 0 && p->bits % 8 == 0 && p->bits <= 64;
}

static struct eval_lane read_piece(const uint8_t *from, const uint8_t *shadow,
                                   const struct ir_piece *p) {
  struct eval_lane v = {0, false};
  uint64_t first = p->bit / 8, last = (p->bit + p->bits - 1) / 8;
  uint32_t shift = p->bit % 8, bytes = p->bits / 8;
  if (is_whole(p) && (!shadow || memory_number(shadow + first, bytes) ==
                                     UINT64_C(0x0101010101010101) >> (64 - p->bits)))
    return (struct eval_lane){memory_number(from + first, bytes), false};
  for (uint64_t i = last + 1; i-- > first;) {
    uint8_t byte = shadow && !shadow[i] ? 0 : from[i];
    if (shadow && shadow[i] == SHADOW_POISON) v.poison = true;
    if (i == first && shift) v.bits = (v.bits << (8 - shift)) | byte >> shift;
    else v.bits = v.bits << 8 | byte;
  }
  v.bits &= eval_mask(p->bits);
  return v;
}

void ir_memory_write_piece(uint8_t *to, uint8_t *shadow, const struct ir_piece *p,
                           struct eval_lane v) {
  uint64_t first = p->bit / 8, last = (p->bit + p->bits - 1) / 8;
  uint32_t shift = p->bit % 8;
  if (v.poison) v.bits = 0;
  if (is_whole(p)) {
    memory_put_number(to + first, (uint64_t)v.bits, p->bits / 8);
    if (shadow) memset(shadow + first, v.poison ? SHADOW_POISON : SHADOW_WRITTEN, p->bits / 8);
    return;
  }
  for (uint64_t i = first; i <= last; i++) {
    bool joins = i == first && shift; /* the element before has written the byte */
    to[i] = (uint8_t)(joins ? (to[i] & ((1u << shift) - 1)) | (unsigned)(v.bits << shift)
                            : (unsigned)v.bits);
    v.bits = v.bits >> (joins ? 8 - shift : 8);
    if (shadow && v.poison) shadow[i] = SHADOW_POISON;
    else if (shadow && !joins) shadow[i] = SHADOW_WRITTEN;
  }
}

/* The address in the scalar; false: a finding was made. */
static bool address_of(struct warp *w, const struct ir_value *v, unsigned lane, uint64_t *address) {
  *address = row_of(w, v->scalars[0].low)[lane];
  return !w->frame->undefined ||
         undefined_check(w, v->scalars[0].low, lane, "uses %s as an address");
}

static bool find(struct warp *w, const struct inst *in, const struct ir_value *pointer,
                 unsigned lane, bool is_write, struct access *at) {
  uint64_t address;
  return address_of(w, pointer, lane, &address) &&
         (memory_find_common(w, lane, address, in->window, in->ir->bytes, in->ir->align, at) ||
          memory_find(w, lane, address, in->window, in->ir->bytes, in->ir->align, is_write, at));
}

/* Gives global memory a shadow, for a value that is poison in part. */
static void add_shadow(struct warp *w, struct access *at) {
  struct sim *s = w->sim;
  for (uint32_t i = 1; i < s->objects.count; i++) {
    struct object *o = &s->objects.data[i];
    if (o->written || at->shadow != &o->shadow) continue;
    o->written = arena_alloc(&s->arena, o->size);
    if (!o->written) return;
    memset(o->written, SHADOW_WRITTEN, o->size);
    at->written = o->written + at->offset;
  }
}

static bool has_races(const struct warp *w, const struct access *at) {
  return w->sim->races && at->shadow;
}

/* Where `bytes` bytes for *at are assembled: in place, or aside if races are looked for. NULL: a
 * finding was made. */
static uint8_t *begin_write(struct warp *w, const struct access *at, uint64_t bytes) {
  struct sim *s = w->sim;
  if (!has_races(w, at)) return at->at;
  if (VEC_RESERVE(&s->arena, &s->scratch, bytes)) return memcpy(s->scratch.data, at->at, bytes);
  finding_report(w, 0, SIM_MEMORY, "exceeds the memory limit of the simulator");
  return NULL;
}

static bool end_write(struct warp *w, unsigned lane, const struct inst *in, const struct access *at,
                      uint64_t bytes, const uint8_t *value) {
  if (value == at->at) return true;
  if (!value || !race_access(w, lane, in, at, bytes, (enum race_strength)in->strength, value))
    return false;
  memcpy(at->at, value, bytes);
  return true;
}

/* --- loads and stores ------------------------------------------------------------------------- */

static void load_pieces(struct warp *w, const struct ir_op *o, unsigned lane,
                        const struct access *at) {
  for (uint32_t i = 0; i < o->d.count; i++) {
    const struct ir_piece *p = &o->pieces[i];
    ir_put(w, &o->d.scalars[i], lane, read_piece(at->at, at->written, p));
    struct access part = {.written = at->written ? at->written + p->bit / 8 : NULL};
    if (!memory_is_defined(w, &part, (p->bit % 8 + p->bits + 7) / 8))
      undefined_set_unwritten(w, o->d.scalars[i].low, lane);
  }
}

static bool store_pieces(struct warp *w, const struct ir_value *v, const struct ir_piece *pieces,
                         unsigned lane, struct access *at) {
  uint32_t poison = 0;
  for (uint32_t i = 0; w->frame->undefined && i < v->count; i++)
    poison += ir_poisoned(w, v->scalars[i].low) >> lane & 1;
  if (poison && poison == v->count && !at->written)
    return undefined_check(w, v->scalars[0].low, lane, "stores %s to global memory");
  if (poison && !at->written) add_shadow(w, at);
  for (uint32_t i = 0; i < v->count; i++) {
    const struct ir_piece *p = &pieces[i];
    ir_memory_write_piece(at->at, at->written, p, ir_get(w, &v->scalars[i], lane));
    if (poison && at->written && p->bits >= 8 && undefined_is_unwritten(w, v->scalars[i].low, lane))
      memset(at->written + p->bit / 8, 0, p->bits / 8);
  }
  return true;
}

/* A number outside of !range is poison. An interval whose end is not above its begin wraps. */
static void check_range(struct warp *w, const struct ir_op *o, unsigned lane) {
  struct eval_lane v = ir_get(w, &o->d.scalars[0], lane);
  bool inside = false;
  for (uint32_t k = 0; k + 1 < o->bounds; k += 2) {
    nvm_u128 low = o->cases[k], end = o->cases[k + 1];
    inside |= low < end ? v.bits >= low && v.bits < end : v.bits >= low || v.bits < end;
  }
  v.poison |= !inside;
  ir_put(w, &o->d.scalars[0], lane, v);
}

void ir_memory_load(struct warp *w, const struct inst *in, uint32_t mask) {
  if (in->strength && w->sim->races) race_acquire(w);
  FOR_LANES(l, mask) {
    struct access at;
    if (!find(w, in, &in->ir->in[0], l, false, &at) ||
        !race_allows(w, l, in, &at, in->ir->bytes, NULL))
      return;
    load_pieces(w, in->ir, l, &at);
    if (in->ir->bounds) check_range(w, in->ir, l);
  }
}

void ir_memory_store(struct warp *w, const struct inst *in, uint32_t mask) {
  uint64_t bytes = in->ir->bytes;
  if (in->strength && w->sim->races) race_release(w, in);
  FOR_LANES(l, mask) {
    struct access at;
    if (!find(w, in, &in->ir->in[1], l, true, &at)) return;
    struct access aside = at;
    aside.at = begin_write(w, &at, bytes);
    if (!aside.at || !store_pieces(w, &in->ir->in[0], in->ir->pieces, l, &aside) ||
        !end_write(w, l, in, &at, bytes, aside.at))
      return;
  }
}

/* A kernel's parameter at offset imm. */
void ir_memory_kernel_argument(struct warp *w, const struct inst *in, uint32_t mask) {
  struct access at = {.at = w->sim->kernel_params + in->imm};
  FOR_LANES(l, mask) load_pieces(w, in->ir, l, &at);
}

/* --- local memory ----------------------------------------------------------------------------- */

/* imm: the window's base, if the address is generic. */
void ir_memory_alloca(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  FOR_LANES(l, mask) {
    struct eval_lane count = ir_get(w, &o->in[0].scalars[0], l);
    if (!undefined_check(w, o->in[0].scalars[0].low, l, "allocates as many objects as %s")) return;
    nvm_u128 bytes = (count.bits & UINT64_MAX) * (nvm_u128)o->bytes;
    uint64_t base =
        memory_push_stack(w, l, bytes > UINT32_MAX ? UINT32_MAX : (uint64_t)bytes, o->align);
    if (!base) return;
    ir_put(w, &o->d.scalars[0], l, (struct eval_lane){base + (uint64_t)in->imm, false});
  }
}

/* The function's own copy of a byval argument; of a kernel (is_signed): of a parameter.
 */
void ir_memory_byval(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  FOR_LANES(l, mask) {
    struct access from = {.at = w->sim->kernel_params + in->imm};
    uint64_t address = 0;
    if (!in->is_signed && (!address_of(w, &o->d, l, &address) ||
                           !memory_find(w, l, address, in->window, o->bytes, 1, false, &from)))
      return;
    uint64_t base = memory_push_stack(w, l, o->bytes, o->align);
    if (!base) return;
    if (window_of(address) == WINDOW_LOCAL) /* the stack may have moved */
      memory_find(w, l, address, in->window, o->bytes, 1, false, &from);
    memcpy(w->local[l].bytes + base, from.at, o->bytes);
    if (from.written) memcpy(w->local[l].written + base, from.written, o->bytes);
    else memset(w->local[l].written + base, SHADOW_WRITTEN, o->bytes);
    bool is_local = in->window == WINDOW_LOCAL && !in->is_signed;
    ir_put(w, &o->d.scalars[0], l,
           (struct eval_lane){base + (is_local ? 0 : window_base(WINDOW_LOCAL)), false});
  }
}

/* Variable arguments in[0], consecutive in an area of o->bytes bytes, whose address is d. */
void ir_memory_variadic(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  FOR_LANES(l, mask) {
    uint64_t base = memory_push_stack(w, l, o->bytes, o->align);
    if (!base) return;
    struct access at = {.at = w->local[l].bytes + base, .written = w->local[l].written + base};
    store_pieces(w, &o->in[0], o->pieces, l, &at);
    row_of(w, in->d)[l] = base + window_base(WINDOW_LOCAL);
  }
}

void ir_memory_va_arg(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  const struct ir_piece pointer = {TYPE_I64, 0, 64};
  FOR_LANES(l, mask) {
    struct access list, at;
    uint64_t address;
    if (!address_of(w, &o->in[0], l, &address) ||
        !memory_find(w, l, address, in->window, 8, 8, true, &list))
      return;
    address = ((uint64_t)read_piece(list.at, list.written, &pointer).bits + o->align - 1) /
              o->align * o->align;
    if (!memory_find(w, l, address, GENERIC, o->bytes, o->align, false, &at)) return;
    load_pieces(w, o, l, &at);
    uint64_t size = (o->bytes + o->align - 1) / o->align * o->align;
    ir_memory_write_piece(list.at, list.written, &pointer,
                          (struct eval_lane){address + size, false});
  }
}

/* --- atomics ---------------------------------------------------------------------------------- */

static struct eval_lane choose(bool first, struct eval_lane a, struct eval_lane b) {
  struct eval_lane r = first ? a : b;
  r.poison = a.poison || b.poison;
  return r;
}

/* The value that atomicrmw stores. */
static struct eval_lane updated(const struct nvm_module *m, enum rmw_op op, struct nvm_type type,
                                struct eval_lane old, struct eval_lane v) {
  static const struct {
    uint8_t op;         /* enum op, or */
    uint16_t intrinsic; /* of two numbers */
  } by[RMW_COUNT] = {[RMW_ADD] = {OP_ADD, 0},
                     [RMW_SUB] = {OP_SUB, 0},
                     [RMW_AND] = {OP_AND, 0},
                     [RMW_NAND] = {OP_AND, 0},
                     [RMW_OR] = {OP_OR, 0},
                     [RMW_XOR] = {OP_XOR, 0},
                     [RMW_FADD] = {OP_FADD, 0},
                     [RMW_FSUB] = {OP_FSUB, 0},
                     [RMW_UINC_WRAP] = {OP_ADD, 0},
                     [RMW_UDEC_WRAP] = {OP_SUB, 0},
                     [RMW_USUB_COND] = {OP_SUB, 0},
                     [RMW_MAX] = {0, INTRINSIC_smax},
                     [RMW_MIN] = {0, INTRINSIC_smin},
                     [RMW_UMAX] = {0, INTRINSIC_umax},
                     [RMW_UMIN] = {0, INTRINSIC_umin},
                     [RMW_FMAX] = {0, INTRINSIC_maxnum},
                     [RMW_FMIN] = {0, INTRINSIC_minnum},
                     [RMW_FMAXIMUM] = {0, INTRINSIC_maximum},
                     [RMW_FMINIMUM] = {0, INTRINSIC_minimum},
                     [RMW_USUB_SAT] = {0, INTRINSIC_usub_sat}};
  bool by_one = op == RMW_UINC_WRAP || op == RMW_UDEC_WRAP;
  const struct eval_lane x[2] = {old, by_one ? (struct eval_lane){1, false} : v}, zero = {0, false};
  struct eval_lane r[2] = {v, {0, false}};
  if (by[op].intrinsic)
    eval_intrinsic_lane(m, (enum intrinsic_id)by[op].intrinsic, 0, type, type, x, 2, r);
  else if (by[op].op) eval_lane(m, (enum op)by[op].op, 0, 0, type, type, x, r);
  if (op == RMW_NAND) r->bits ^= eval_mask(type_scalar_bits(&m->types, type));
  if (op == RMW_UINC_WRAP) return choose(old.bits >= v.bits, zero, r[0]);
  if (op == RMW_UDEC_WRAP) return choose(old.bits == 0 || old.bits > v.bits, v, r[0]);
  return op == RMW_USUB_COND ? choose(old.bits >= v.bits, r[0], old) : r[0];
}

/* Memory for an atomic operation, which reads it unless it only exchanges. */
static bool find_atomic(struct warp *w, const struct inst *in, unsigned lane, bool writes_only,
                        struct access *at) {
  if (!find(w, in, &in->ir->in[0], lane, true, at)) return false;
  if (w->sim->races) {
    race_release(w, in);
    race_acquire(w);
    if (!race_atomic(w, lane, in, at, in->ir->bytes)) return false;
  }
  if (writes_only || memory_is_defined(w, at, in->ir->bytes)) return true;
  finding_report(w, lane, SIM_UNINITIALIZED,
                 "performs an atomic operation on uninitialized memory");
  return false;
}

void ir_memory_atomicrmw(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  enum rmw_op op = (enum rmw_op)memory_access_unpack(o->aux).rmw;
  FOR_LANES(l, mask) {
    struct access at;
    if (!find_atomic(w, in, l, op == RMW_XCHG, &at)) return;
    for (uint32_t i = 0; i < o->d.count; i++) {
      struct eval_lane v = ir_get(w, &o->in[1].scalars[i], l),
                       old = read_piece(at.at, at.written, &o->pieces[i]);
      struct eval_lane new = updated(w->sim->ir->module, op, o->pieces[i].type, old, v);
      if (new.poison && !at.written) {
        undefined_check(w, o->in[1].scalars[i].low, l, "stores %s to global memory");
        if (!w->stopped)
          finding_report(w, l, SIM_POISON, "updates a poison value in global memory");
        return;
      }
      ir_memory_write_piece(at.at, at.written, &o->pieces[i], new);
      ir_put(w, &o->d.scalars[i], l, old);
    }
  }
}

void ir_memory_cmpxchg(struct warp *w, const struct inst *in, uint32_t mask) {
  const struct ir_op *o = in->ir;
  FOR_LANES(l, mask) {
    struct access at;
    if (!find_atomic(w, in, l, false, &at)) return;
    struct eval_lane wanted = ir_get(w, &o->in[1].scalars[0], l),
                     new = ir_get(w, &o->in[2].scalars[0], l);
    struct eval_lane old = read_piece(at.at, at.written, &o->pieces[0]);
    if (wanted.poison || old.poison || new.poison) {
      finding_report(w, l, SIM_POISON, "compares or exchanges a poison value");
      return;
    }
    bool same = old.bits == wanted.bits;
    if (same) ir_memory_write_piece(at.at, at.written, &o->pieces[0], new);
    ir_put(w, &o->d.scalars[0], l, old);
    ir_put(w, &o->d.scalars[1], l, (struct eval_lane){same, false});
  }
}

/* --- blocks of bytes -------------------------------------------------------------------------- */

/* The number of bytes, in[2], and the memory they are written to; *bytes 0: nothing to do. */
static bool block_target(struct warp *w, const struct inst *in, unsigned lane, uint64_t *bytes,
                         struct access *to) {
  const struct ir_op *o = in->ir;
  struct eval_lane count = ir_get(w, &o->in[2].scalars[0], lane);
  uint64_t address;
  *bytes = (uint64_t)count.bits;
  if (!undefined_check(w, o->in[2].scalars[0].low, lane, "copies as many bytes as %s"))
    return false;
  if (*bytes == 0) return true;
  return address_of(w, &o->in[0], lane, &address) &&
         memory_find(w, lane, address, in->window, *bytes, o->align, true, to);
}

/* memcpy, memmove; in->dest_bits: the window of the source, aux: its alignment in bytes. */
void ir_memory_copy(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    struct access to = {0}, from;
    uint64_t bytes, address;
    if (!block_target(w, in, l, &bytes, &to)) return;
    if (bytes == 0) continue;
    if (!address_of(w, &in->ir->in[1], l, &address) ||
        !memory_find(w, l, address, in->dest_bits, bytes, in->ir->aux, false, &from) ||
        !race_allows(w, l, in, &from, bytes, NULL) ||
        (has_races(w, &to) && !race_access(w, l, in, &to, bytes, RACE_WEAK, from.at)))
      return;
    if (from.written && !to.written && memchr(from.written, SHADOW_POISON, bytes))
      add_shadow(w, &to);
    memmove(to.at, from.at, bytes);
    for (uint64_t i = 0; from.written && i < bytes; i++)
      if (!from.written[i]) to.at[i] = 0;
    if (to.written && from.written) memmove(to.written, from.written, bytes);
    else if (to.written) memset(to.written, SHADOW_WRITTEN, bytes);
  }
}

void ir_memory_set(struct warp *w, const struct inst *in, uint32_t mask) {
  FOR_LANES(l, mask) {
    struct access to = {0};
    uint64_t bytes;
    struct eval_lane v = ir_get(w, &in->ir->in[1].scalars[0], l);
    if (!block_target(w, in, l, &bytes, &to)) return;
    if (bytes == 0) continue;
    if (v.poison && !to.written) add_shadow(w, &to);
    uint8_t *value = begin_write(w, &to, bytes);
    if (value) memset(value, (int)(v.poison ? 0 : (unsigned)v.bits), bytes);
    if (!end_write(w, l, in, &to, bytes, value)) return;
    if (to.written) memset(to.written, v.poison ? SHADOW_POISON : SHADOW_WRITTEN, bytes);
  }
}
