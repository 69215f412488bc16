/* Pairs of floats in one register of 64 bits.
 *
 * Sums and products of two floats (.f32x2) take registers of 64 bits, but all other code has a
 * register for each lane, so that lowering joins lanes before each of them and splits them after
 * it:
 *
 *     ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [..];      ld.global.v2.b64 {%rd8, %rd9}, [..];
 *     mov.b64 %rd1, {%f1, %f2};
 *     mul.rn.f32x2 %rd3, %rd1, %rd2;              →     mul.rn.f32x2 %rd10, %rd8, %rd2;
 *     mov.b64 {%f5, %f6}, %rd3;
 *
 * Two registers that a mov.b64 joins or splits are a pair if neither belongs to another pair. It
 * gets a 64-bit register where that saves instructions, weighted by 8 for each loop around them:
 * those movs are removed; vector accesses of pairs become accesses of 64-bit elements; the pair is
 * split before an instruction that reads one lane, and joined after two neighbouring instructions
 * that write its lanes. Linear in the entries. */
#include "codegen/lane.h"
#include "codegen/stage.h"
#include "ptx/check.h"

struct pair {
  struct ptx_operand lane[2];
  struct ptx_reg wide;
  int64_t gain; /* instructions saved; the pair is kept where it is positive */
  bool torn;    /* used in a way that has no form for pairs */
};

struct pairing {
  struct lower *l;
  struct ptx_function *pf;
  struct ptx_entry *entries; /* as they were */
  uint32_t count;
  VEC(struct pair) pairs;
  uint32_t *pair_of;    /* by number of the float register: 1 + pair */
  struct ptx_reg *same; /* by number of the 64-bit register: its replacement */
  bool *temporary;      /* the same: used by one .f32x2 and one mov only */
  int32_t *depth;       /* by entry: loops around it */
  VEC(struct ptx_operand)
  constants; /* moved to temporaries since the last label: register, value */
};

static struct ptx_operand *operand(const struct pairing *p, const struct ptx_entry *e, uint32_t k) {
  return &p->pf->operands.data[e->first_operand + k];
}

static uint16_t modifier(const struct pairing *p, const struct ptx_entry *e, uint32_t from_end) {
  return e->mod_count < from_end ? PTX_MOD_NONE
                                 : p->pf->mods.data[e->first_mod + e->mod_count - from_end];
}

static bool is_lane(struct ptx_operand o) {
  return o.kind == PTX_OPERAND_REG && ptx_reg_class(o.reg) == PTX_F32;
}

static struct pair *pair_with(const struct pairing *p, struct ptx_operand o) {
  uint32_t n = is_lane(o) ? p->pair_of[ptx_reg_number(o.reg)] : 0;
  return n ? &p->pairs.data[n - 1] : NULL;
}

/* The pair of the two operands at `o`, in that order; NULL if they are not a pair. */
static struct pair *pair_at(const struct pairing *p, const struct ptx_operand *o) {
  struct pair *x = pair_with(p, o[0]);
  return x && x == pair_with(p, o[1]) && x->lane[0].reg.bits == o[0].reg.bits &&
                 o[0].reg.bits != o[1].reg.bits
             ? x
             : NULL;
}

static bool is_kept(const struct pair *x) { return x && !x->torn && x->gain > 0; }

/* mov.b64 %rd, {a, b} or {a, b}, %rd: the lanes; *wide the register. */
static struct ptx_operand *lanes_of_move(const struct pairing *p, const struct ptx_entry *e,
                                         struct ptx_reg *wide) {
  if (e->op != PTX_MOV || modifier(p, e, 1) != PTX_MOD_B64 || e->operand_count != 2) return NULL;
  const struct ptx_operand *a = operand(p, e, 0), *b = operand(p, e, 1);
  const struct ptx_operand *v = a->kind == PTX_OPERAND_VECTOR ? a : b;
  *wide = (v == a ? b : a)->reg;
  struct ptx_operand *lanes = &p->pf->operands.data[v->first];
  return v->kind == PTX_OPERAND_VECTOR && v->count == 2 && is_lane(lanes[0]) && is_lane(lanes[1])
             ? lanes
             : NULL;
}

/* A 64-bit register may also be a double's, which has numbers of its own. */
static bool is_temporary(const struct pairing *p, struct ptx_reg r) {
  return ptx_reg_class(r) == PTX_B64 && p->temporary[ptx_reg_number(r)];
}

/* The vector operand of a plain access whose lanes are pairs, kept or (`any`) not; else NULL. */
static struct ptx_operand *paired_access(const struct pairing *p, const struct ptx_entry *e,
                                         bool any) {
  if ((e->op != PTX_LD && e->op != PTX_ST) || modifier(p, e, 1) != PTX_MOD_F32) return NULL;
  struct ptx_operand *v = operand(p, e, e->op == PTX_ST);
  if (v->kind != PTX_OPERAND_VECTOR || v->count % 2) return NULL;
  for (uint32_t k = 0; k < v->count; k += 2) {
    const struct pair *x = pair_at(p, &p->pf->operands.data[v->first + k]);
    if (!x || (!any && !is_kept(x))) return NULL;
  }
  return v;
}

/* The pair whose lanes entries n and n + 1 write without reading them; else NULL. */
static struct pair *written_pair(const struct pairing *p, uint32_t n) {
  const struct ptx_entry *e = &p->entries[n];
  struct ptx_operand to[2];
  if (n + 1 >= p->count) return NULL;
  for (uint32_t k = 0; k < 2; k++) {
    if (e[k].kind != PTX_INST || !ptx_reg_is_none(e[k].guard) || e[k].operand_count < 2)
      return NULL;
    to[k] = *operand(p, &e[k], 0);
  }
  struct pair *x = is_lane(to[0]) && e[0].op != PTX_ST && e[1].op != PTX_ST ? pair_at(p, to) : NULL;
  for (uint32_t k = 0; x && k < 2; k++)
    for (uint32_t j = 1; j < e[k].operand_count; j++) {
      const struct ptx_operand *o = operand(p, &e[k], j);
      if (o->kind > PTX_OPERAND_ADDRESS_IMM || pair_with(p, *o) == x) return NULL;
    }
  return x;
}

/* The source of both lanes as one operand, if entries n and n + 1 copy a pair or constants. */
static bool copied_pair(const struct pairing *p, uint32_t n, struct ptx_operand *from) {
  const struct ptx_entry *e = &p->entries[n];
  if (e[0].op != PTX_MOV || e[1].op != PTX_MOV) return false;
  struct ptx_operand v[2] = {*operand(p, &e[0], 1), *operand(p, &e[1], 1)};
  struct pair *x = pair_at(p, v);
  if (x) *from = ptx_r(x->wide);
  else *from = ptx_i((int64_t)((uint64_t)v[1].imm << 32 | (uint32_t)v[0].imm));
  return x ? is_kept(x) : v[0].kind == PTX_OPERAND_F32 && v[1].kind == PTX_OPERAND_F32;
}

/* --- which pairs ------------------------------------------------------------------------------ */

static void claim(struct pairing *p, const struct ptx_operand lanes[2]) {
  struct pair *a = pair_with(p, lanes[0]), *b = pair_with(p, lanes[1]);
  if (pair_at(p, lanes)) return;
  if (a) a->torn = true;
  if (b) b->torn = true;
  if (a || b || lanes[0].reg.bits == lanes[1].reg.bits) return;
  if (!VEC_PUSH(&p->l->function_arena, &p->pairs, ((struct pair){.lane = {lanes[0], lanes[1]}})))
    return;
  for (uint32_t k = 0; k < 2; k++) p->pair_of[ptx_reg_number(lanes[k].reg)] = p->pairs.count;
}

/* Loop depth: entries between a label and a later jump to it are in a loop. */
static void find_depths(struct pairing *p, uint32_t *place) {
  for (uint32_t n = 0; n < p->count; n++) {
    const struct ptx_entry *e = &p->entries[n];
    if (e->kind == PTX_LABEL) place[e->first_mod] = n + 1;
    if (e->kind != PTX_INST || e->op != PTX_BRA) continue;
    const struct ptx_operand *to = operand(p, e, 0);
    if (to->kind != PTX_OPERAND_LABEL || !place[to->label]) continue;
    p->depth[place[to->label] - 1]++;
    p->depth[n + 1]--;
  }
  for (uint32_t n = 1; n < p->count; n++) p->depth[n] += p->depth[n - 1];
}

static void count_single(struct pairing *p, struct ptx_operand o, bool written, int64_t weight) {
  struct pair *x = pair_with(p, o);
  if (!x) return;
  x->gain -= weight;
  x->torn |= written;
}

/* Adds the gain of entry n to the pairs that it uses; returns the number of entries counted. */
static uint32_t count_entry(struct pairing *p, uint32_t n) {
  const struct ptx_entry *e = &p->entries[n];
  struct ptx_reg wide;
  struct ptx_need need;
  int64_t weight = INT64_C(1) << 3 * (p->depth[n] < 6 ? p->depth[n] : 6);
  struct ptx_operand *lanes = lanes_of_move(p, e, &wide), constant;
  struct pair *x = lanes ? pair_at(p, lanes) : NULL;
  if (x) x->gain += weight;
  if (x || paired_access(p, e, true)) return 1;
  struct pair *written = written_pair(p, n);
  if (written) written->gain += copied_pair(p, n, &constant) ? weight : -weight;
  for (uint32_t k = 0; k < (written ? 2 : 1); k++, e++) {
    const struct ptx_form *form = ptx_find_form(p->pf, e, &need);
    for (uint32_t j = written ? 1 : 0; j < e->operand_count; j++) {
      const struct ptx_operand *o = operand(p, e, j);
      bool group = o->kind >= PTX_OPERAND_VECTOR, destination = !form || j < form->dest_count;
      for (uint32_t i = 0; i < (group ? o->count : 1); i++)
        count_single(p, group ? p->pf->operands.data[o->first + i] : *o, destination, weight);
    }
  }
  return written ? 2 : 1;
}

/* Temporaries between .f32x2 and its movs are replaced by the pairs' registers. */
static void find_same(struct pairing *p) {
  for (uint32_t n = 0; n < p->count; n++) {
    const struct ptx_entry *e = &p->entries[n];
    struct ptx_reg wide;
    struct ptx_operand *lanes = e->kind == PTX_INST ? lanes_of_move(p, e, &wide) : NULL;
    struct pair *x = lanes ? pair_at(p, lanes) : NULL;
    if (is_kept(x) && is_temporary(p, wide)) p->same[ptx_reg_number(wide)] = x->wide;
  }
}

/* --- rewriting -------------------------------------------------------------------------------- */

static void move(struct pairing *p, struct ptx_operand to, struct ptx_operand from) {
  emit2(p->l, PTX_MOV, PTX_MODS(PTX_MOD_B64), to, from);
}

static struct ptx_operand lanes_of(struct pairing *p, const struct pair *x) {
  return ptx_group(p->pf, PTX_OPERAND_VECTOR, x->lane, 2);
}

/* {a, b, c, d} of floats to {ab, cd}, or one. */
static void widen_access(struct pairing *p, struct ptx_entry *e, struct ptx_operand *v) {
  struct ptx_operand *lanes = &p->pf->operands.data[v->first];
  uint16_t *mods = &p->pf->mods.data[e->first_mod + e->mod_count - 2];
  for (uint32_t k = 0; k < v->count; k += 2) lanes[k / 2] = ptx_r(pair_at(p, &lanes[k])->wide);
  v->count /= 2;
  mods[0] = v->count == 1 ? PTX_MOD_B64 : mod_vector(v->count);
  mods[1] = PTX_MOD_B64;
  if (v->count > 1) return;
  e->mod_count--;
  *v = lanes[0];
}

/* Splits kept pairs of which the entry reads a lane. */
static void split_for(struct pairing *p, const struct ptx_entry *e, uint32_t first) {
  struct pair *done = NULL;
  for (uint32_t j = first; j < e->operand_count; j++) {
    struct ptx_operand o = *operand(p, e, j);
    bool group = o.kind >= PTX_OPERAND_VECTOR;
    for (uint32_t i = 0; i < (group ? o.count : 1); i++) {
      struct pair *x = pair_with(p, group ? p->pf->operands.data[o.first + i] : o);
      if (is_kept(x) && x != done) move(p, lanes_of(p, x), ptx_r(x->wide));
      if (is_kept(x)) done = x;
    }
  }
}

/* Whether an earlier register of the block holds the constant pair that this entry moves. */
static bool shares_constant(struct pairing *p, const struct ptx_entry *e) {
  if (e->op != PTX_MOV || modifier(p, e, 1) != PTX_MOD_B64 ||
      operand(p, e, 1)->kind != PTX_OPERAND_INT)
    return false;
  struct ptx_operand both[2] = {*operand(p, e, 0), *operand(p, e, 1)};
  if (!is_temporary(p, both[0].reg)) return false;
  for (uint32_t k = 0; k < p->constants.count; k += 2)
    if (p->constants.data[k + 1].imm == both[1].imm) {
      p->same[ptx_reg_number(both[0].reg)] = p->constants.data[k].reg;
      return true;
    }
  enum { MAX_CONSTANTS = 16 };
  for (uint32_t k = 0; k < 2 && p->constants.count < MAX_CONSTANTS; k++)
    if (!VEC_PUSH(&p->l->function_arena, &p->constants, both[k])) p->constants.count = 0;
  return false;
}

/* Rewrites entry n; returns the number of entries that are done. */
static uint32_t rewrite_entry(struct pairing *p, uint32_t n) {
  struct ptx_entry e = p->entries[n];
  struct ptx_reg wide;
  if (e.kind == PTX_LABEL) p->constants.count = 0;
  if (e.kind != PTX_INST || shares_constant(p, &e)) {
    if (e.kind != PTX_INST) ptx_add_entry(p->pf, e);
    return 1;
  }
  struct ptx_operand *lanes = lanes_of_move(p, &e, &wide), *v, from;
  struct pair *x = lanes ? pair_at(p, lanes) : NULL, *written = written_pair(p, n);
  if (is_kept(x)) {
    bool splits = operand(p, &e, 0)->kind == PTX_OPERAND_VECTOR;
    if (!is_temporary(p, wide))
      move(p, ptx_r(splits ? x->wide : wide), ptx_r(splits ? wide : x->wide));
    return 1;
  }
  if ((v = paired_access(p, &e, false)) != NULL) widen_access(p, &e, v);
  bool loads_lanes = v == NULL && paired_access(p, &e, true) && e.op == PTX_LD;
  if (is_kept(written) && copied_pair(p, n, &from)) {
    move(p, ptx_r(written->wide), from);
    return 2;
  }
  if (modifier(p, &e, 1) == PTX_MOD_F32X2)
    for (uint32_t k = 0; k < e.operand_count; k++) {
      struct ptx_operand *o = operand(p, &e, k);
      struct ptx_reg same =
          o->kind == PTX_OPERAND_REG ? p->same[ptx_reg_number(o->reg)] : (struct ptx_reg){0};
      if (!ptx_reg_is_none(same)) o->reg = same;
    }
  else split_for(p, &e, loads_lanes || is_kept(written) ? 1 : 0);
  ptx_add_entry(p->pf, e);
  for (uint32_t k = 0; loads_lanes && k < operand(p, &e, 0)->count; k += 2) {
    x = pair_at(p, &p->pf->operands.data[operand(p, &e, 0)->first + k]);
    if (is_kept(x)) move(p, ptx_r(x->wide), lanes_of(p, x));
  }
  if (!is_kept(written)) return 1;
  split_for(p, &p->entries[n + 1], 1);
  ptx_add_entry(p->pf, p->entries[n + 1]);
  move(p, ptx_r(written->wide), lanes_of(p, written));
  return 2;
}

static void mention(uint8_t *mentions, struct ptx_operand o) {
  bool reg = o.kind == PTX_OPERAND_REG || o.kind == PTX_OPERAND_ADDRESS_REG;
  if (reg && ptx_reg_class(o.reg) == PTX_B64 && mentions[ptx_reg_number(o.reg)] < 3)
    mentions[ptx_reg_number(o.reg)]++;
}

/* Finds the pairs and temporaries; false if there is raw text, which may name registers. */
static bool find_pairs(struct pairing *p, uint8_t *mentions) {
  for (uint32_t n = 0; n < p->count; n++) {
    const struct ptx_entry *e = &p->entries[n];
    struct ptx_reg wide;
    if (e->kind == PTX_RAW) return false;
    if (e->kind != PTX_INST) continue;
    struct ptx_operand *lanes = lanes_of_move(p, e, &wide);
    if (lanes) claim(p, lanes);
    for (uint32_t k = 0; k < e->operand_count; k++) {
      const struct ptx_operand *o = operand(p, e, k);
      bool group = o->kind >= PTX_OPERAND_VECTOR;
      for (uint32_t i = 0; i < (group ? o->count : 1); i++)
        mention(mentions, group ? p->pf->operands.data[o->first + i] : *o);
      if (modifier(p, e, 1) == PTX_MOD_F32X2 && o->kind == PTX_OPERAND_REG)
        p->temporary[ptx_reg_number(o->reg)] = true;
    }
  }
  for (uint32_t k = 1; k <= p->pf->reg_count[PTX_B64]; k++) p->temporary[k] &= mentions[k] == 2;
  return !p->l->function_arena.failed;
}

void pairs_widen_registers(struct lower *l) {
  struct ptx_function *pf = l->pf;
  struct arena *arena = &l->function_arena;
  struct pairing p = {.l = l, .pf = pf, .entries = pf->entries.data, .count = pf->entries.count};
  if (tgt_type_action(l->target, TGT_FLOAT, 32, 2) != TGT_LEGAL ||
      l->target->optimization_level == 0)
    return;
  uint32_t wide = pf->reg_count[PTX_B64] + 1;
  p.pair_of = arena_alloc(arena, (pf->reg_count[PTX_F32] + 1) * sizeof *p.pair_of);
  p.same = arena_alloc(arena, wide * sizeof *p.same);
  p.temporary = arena_alloc(arena, wide * sizeof *p.temporary);
  p.depth = arena_alloc(arena, (p.count + 1) * sizeof *p.depth);
  uint32_t *place = arena_alloc(arena, (pf->labels.count + 1) * sizeof *place);
  uint8_t *mentions = arena_alloc(arena, wide);
  if (!p.pair_of || !p.same || !p.temporary || !p.depth || !place || !mentions ||
      !find_pairs(&p, mentions))
    return;
  find_depths(&p, place);
  for (uint32_t n = 0; n < p.count;) n += p.entries[n].kind == PTX_INST ? count_entry(&p, n) : 1;
  for (uint32_t k = 0; k < p.pairs.count; k++)
    if (is_kept(&p.pairs.data[k])) p.pairs.data[k].wide = ptx_new_reg(pf, PTX_B64);
  find_same(&p);
  pf->entries.data = NULL;
  pf->entries.count = pf->entries.capacity = 0;
  for (uint32_t n = 0; n < p.count;) {
    uint32_t first = pf->entries.count, done = rewrite_entry(&p, n);
    for (uint32_t k = first; k < pf->entries.count; k++)
      if (pf->entries.data[k].kind == PTX_INST) pf->entries.data[k].line = p.entries[n].line;
    n += done;
  }
}
