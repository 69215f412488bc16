/* Converts two floats to a register of two halves or bfloats at once.
 *
 *     cvt.rn.f16.f32  %rs1, %f1;
 *     cvt.rn.f16.f32  %rs2, %f2;            →     cvt.rn.f16x2.f32  %r1, %f2, %f1;
 *     mov.b32         %r1, {%rs1, %rs2};
 *
 * The two conversions are in the same stretch of code as the mov, which alone reads their results,
 * and what they read is not written in between. They stay, and reuse.c removes them. Linear in the
 * entries. */
#include "codegen/emit.h"
#include "codegen/stage.h"
#include "ptx/ptx.h"

/* By register of 16 bits: the entry after its last conversion from float, and how often it is
 * written and read. By register of a float: the entry after the one that last wrote it. Register 0
 * does not exist; its counters are for operands of other classes and are not read. */
struct packer {
  struct ptx_function *pf;
  uint32_t *converted, *written;
  uint8_t *definitions, *reads;
  uint32_t begin; /* of the stretch */
};

static uint32_t number_in(struct ptx_operand o, enum ptx_class class) {
  return o.kind == PTX_OPERAND_REG && ptx_reg_class(o.reg) == class ? ptx_reg_number(o.reg) : 0;
}

static const struct ptx_operand *operands_of(const struct packer *p, const struct ptx_entry *e) {
  return &p->pf->operands.data[e->first_operand];
}

static void count(uint8_t *counts, uint32_t r) {
  if (counts[r] < UINT8_MAX) counts[r]++;
}

/* Counts the registers of 16 bits in o. */
static void count_uses(const struct packer *p, struct ptx_operand o, uint8_t *counts) {
  for (uint32_t k = 0; o.kind >= PTX_OPERAND_VECTOR && k < o.count; k++)
    count_uses(p, p->pf->operands.data[o.first + k], counts);
  count(counts, number_in(o, PTX_B16));
}

/* Entry n writes the registers in o. */
static void note_written(struct packer *p, struct ptx_operand o, uint32_t n) {
  for (uint32_t k = 0; o.kind >= PTX_OPERAND_VECTOR && k < o.count; k++)
    note_written(p, p->pf->operands.data[o.first + k], n);
  p->written[number_in(o, PTX_F32)] = n + 1;
}

/* PTX_MOD_F16X2 or PTX_MOD_BF16X2 if e rounds a float to half or bfloat; else 0. */
static uint16_t packed_type(const struct packer *p, const struct ptx_entry *e) {
  const uint16_t *mods = &p->pf->mods.data[e->first_mod];
  if (e->kind != PTX_INST || e->op != PTX_CVT || e->mod_count != 3 || mods[0] != PTX_MOD_RN ||
      mods[2] != PTX_MOD_F32 || !ptx_reg_is_none(e->guard) || e->must_stay)
    return 0;
  const struct ptx_operand *o = operands_of(p, e);
  if (!number_in(o[0], PTX_B16) || !number_in(o[1], PTX_F32)) return 0;
  return mods[1] == PTX_MOD_F16 ? PTX_MOD_F16X2 : mods[1] == PTX_MOD_BF16 ? PTX_MOD_BF16X2 : 0;
}

/* The conversion whose result is `lane` and has no other reader; NULL: there is none. */
static const struct ptx_entry *conversion_of(const struct packer *p, struct ptx_operand lane) {
  uint32_t r = number_in(lane, PTX_B16);
  if (r == 0 || p->converted[r] <= p->begin || p->definitions[r] != 1 || p->reads[r] != 1)
    return NULL;
  const struct ptx_entry *e = &p->pf->entries.data[p->converted[r] - 1];
  uint32_t source = number_in(operands_of(p, e)[1], PTX_F32);
  return p->written[source] < p->converted[r] ? e : NULL;
}

static void pack(struct lower *l, const struct packer *p, uint32_t n) {
  const struct ptx_entry *e = &p->pf->entries.data[n];
  const struct ptx_operand *o = operands_of(p, e);
  if (e->op != PTX_MOV || e->operand_count != 2 || e->must_stay || !number_in(o[0], PTX_B32) ||
      o[1].kind != PTX_OPERAND_VECTOR || o[1].count != 2)
    return;
  const struct ptx_operand *lanes = &p->pf->operands.data[o[1].first];
  const struct ptx_entry *low = conversion_of(p, lanes[0]), *high = conversion_of(p, lanes[1]);
  uint16_t type = low ? packed_type(p, low) : 0;
  const uint16_t *mods = PTX_MODS(PTX_MOD_RN, type, PTX_MOD_F32);
  if (!low || !high || packed_type(p, high) != type || !emit_has(l, PTX_CVT, mods)) return;
  struct ptx_operand packed[3] = {o[0], operands_of(p, high)[1], operands_of(p, low)[1]};
  struct ptx_entry old = *e;
  ptx_add(p->pf, PTX_CVT, mods, packed, 3);
  if (p->pf->arena->failed) return;
  struct ptx_entry *made = &p->pf->entries.data[n];
  *made = p->pf->entries.data[--p->pf->entries.count];
  made->guard = old.guard, made->guard_negated = old.guard_negated, made->line = old.line;
}

void packed_conversions_make(struct lower *l) {
  struct packer p = {.pf = l->pf};
  struct arena *a = &l->function_arena;
  uint32_t halves = l->pf->reg_count[PTX_B16] + 1, floats = l->pf->reg_count[PTX_F32] + 1;
  if (l->target->optimization_level == 0 || halves == 1) return;
  p.converted = arena_alloc(a, halves * sizeof *p.converted);
  p.written = arena_alloc(a, floats * sizeof *p.written);
  p.definitions = arena_alloc(a, halves);
  p.reads = arena_alloc(a, halves);
  if (a->failed) return;
  for (uint32_t n = 0; n < l->pf->entries.count; n++) {
    const struct ptx_entry *e = &l->pf->entries.data[n];
    if (e->kind != PTX_INST) continue;
    for (uint32_t k = 0; k < e->operand_count; k++)
      count_uses(&p, operands_of(&p, e)[k], k == 0 ? p.definitions : p.reads);
  }
  for (uint32_t n = 0; n < l->pf->entries.count; n++) {
    uint8_t kind = l->pf->entries.data[n].kind;
    if (kind == PTX_LABEL || kind == PTX_RAW) p.begin = n; /* unknown assembly may write */
    if (kind != PTX_INST) continue;
    pack(l, &p, n);
    const struct ptx_entry *e = &l->pf->entries.data[n];
    if (e->operand_count == 0) continue;
    note_written(&p, *operands_of(&p, e), n);
    if (packed_type(&p, e)) p.converted[number_in(*operands_of(&p, e), PTX_B16)] = n + 1;
  }
}
