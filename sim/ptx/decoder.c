/* See decoder.h. Registers get rows, constants rows of the constant bank, modifiers become fields
 * of struct words. */
#include "sim/ptx/decoder.h"

#include "ir/evalfloat.h"
#include "ir/evalint.h"
#include "sim/machine/exec.h"
#include "sim/machine/finding.h"
#include "sim/machine/number.h"
#include "sim/machine/symbol.h"

#include <string.h>

void *decoder_alloc(struct decoder *d, size_t bytes) {
  void *p = arena_alloc(&d->sim->arena, bytes);
  if (!p) d->failed = true;
  return p;
}

/* --- modifiers -------------------------------------------------------------------------------- */

static void round_by(struct words *w, enum evalfloat_rounding rounding, bool integral) {
  w->rounding = (uint8_t)rounding;
  w->integral = integral;
}

static bool *flag_of(struct words *w, uint16_t mod) {
  switch (mod) {
    case PTX_MOD_FTZ: return &w->ftz;
    case PTX_MOD_SAT: return &w->sat;
    case PTX_MOD_SATFINITE: return &w->satfinite;
    case PTX_MOD_RELU: return &w->relu;
    case PTX_MOD_HI: return &w->hi;
    case PTX_MOD_WIDE: return &w->wide;
    case PTX_MOD_CC: return &w->cc;
    case PTX_MOD_NAN_RESULT: return &w->nan_result;
    case PTX_MOD_XORSIGN: return &w->xorsign;
    case PTX_MOD_ABS: return &w->abs;
    case PTX_MOD_SYNC: return &w->sync;
    case PTX_MOD_TO: return &w->to;
    case PTX_MOD_SHIFTAMT: return &w->shiftamt;
    case PTX_MOD_CLAMP: return &w->clamp;
    case PTX_MOD_L: return &w->left;
    default: return NULL;
  }
}

/* A modifier that is not a type. */
static void read_word(struct words *w, uint16_t mod) {
  bool *flag = flag_of(w, mod);
  if (flag) *flag = true;
  switch (mod) {
    case PTX_MOD_RN:
    case PTX_MOD_RNI: round_by(w, EVALFLOAT_NEAREST, mod == PTX_MOD_RNI); break;
    case PTX_MOD_RZ:
    case PTX_MOD_RZI: round_by(w, EVALFLOAT_ZERO, mod == PTX_MOD_RZI); break;
    case PTX_MOD_RM:
    case PTX_MOD_RMI: round_by(w, EVALFLOAT_DOWN, mod == PTX_MOD_RMI); break;
    case PTX_MOD_RP:
    case PTX_MOD_RPI: round_by(w, EVALFLOAT_UP, mod == PTX_MOD_RPI); break;
    case PTX_MOD_RNA: round_by(w, EVALFLOAT_AWAY, false); break;
    case PTX_MOD_APPROX:
    case PTX_MOD_FULL: break;
    case PTX_MOD_GLOBAL:
    case PTX_MOD_SHARED:
    case PTX_MOD_SHARED_CTA:
    case PTX_MOD_SHARED_CLUSTER:
    case PTX_MOD_LOCAL:
    case PTX_MOD_CONST:
    case PTX_MOD_PARAM:
    case PTX_MOD_PARAM_ENTRY:
    case PTX_MOD_PARAM_FUNC: w->space = mod; break;
    case PTX_MOD_V2:
    case PTX_MOD_V4:
    case PTX_MOD_V8: w->vector = mod; break;
    case PTX_MOD_LO:
    case PTX_MOD_HI:
    case PTX_MOD_EQ:
    case PTX_MOD_NE:
    case PTX_MOD_LT:
    case PTX_MOD_LE:
    case PTX_MOD_GT:
    case PTX_MOD_GE:
    case PTX_MOD_LS:
    case PTX_MOD_HS:
    case PTX_MOD_EQU:
    case PTX_MOD_NEU:
    case PTX_MOD_LTU:
    case PTX_MOD_LEU:
    case PTX_MOD_GTU:
    case PTX_MOD_GEU:
    case PTX_MOD_NUM:
    case PTX_MOD_NAN: w->compare = mod; break;
    case PTX_MOD_AND:
    case PTX_MOD_OR:
    case PTX_MOD_XOR: w->bool_op = w->atom_op = mod; break;
    case PTX_MOD_ADD:
    case PTX_MOD_MIN:
    case PTX_MOD_MAX:
    case PTX_MOD_INC:
    case PTX_MOD_DEC:
    case PTX_MOD_EXCH:
    case PTX_MOD_CAS: w->atom_op = mod; break;
    default:
      if (!flag && !w->mode) w->mode = mod;
  }
}

void decoder_read_words(struct decoder *d) {
  struct words *w = &d->words;
  memset(w, 0, sizeof *w);
  for (uint32_t i = 0; i < d->e->mod_count; i++) {
    uint16_t mod = d->f->mods.data[d->e->first_mod + i];
    const struct ptx_mod_row *row = ptx_mod_row(mod);
    if (row->bits == 0) read_word(w, mod);
    else if (w->type_count < 4) w->type[w->type_count++] = mod;
  }
}

bool decoder_has_mod(const struct decoder *d, uint16_t mod) {
  for (uint32_t i = 0; i < d->e->mod_count; i++)
    if (d->f->mods.data[d->e->first_mod + i] == mod) return true;
  return false;
}

/* --- operands --------------------------------------------------------------------------------- */

const struct ptx_operand *decoder_operand(const struct decoder *d, uint32_t i) {
  return &d->f->operands.data[d->e->first_operand + i];
}
bool decoder_has(const struct decoder *d, uint32_t i) { return i < d->e->operand_count; }

unsigned decoder_reg_bits(struct ptx_reg r) {
  static const uint8_t bits[PTX_CLASS_COUNT] = {
      [PTX_PRED] = 1, [PTX_B8] = 8,   [PTX_B16] = 16, [PTX_B32] = 32,
      [PTX_B64] = 64, [PTX_F32] = 32, [PTX_F64] = 64, [PTX_B128] = 128};
  return bits[ptx_reg_class(r)];
}

uint32_t decoder_reg(const struct decoder *d, struct ptx_reg r) {
  enum ptx_class c = ptx_reg_class(r);
  uint32_t n = ptx_reg_number(r);
  return d->class_first[c] + (c == PTX_B128 ? 2 * n : n);
}

static bool grow_slots(struct decoder *d) {
  uint32_t count = d->constant_slot_count ? d->constant_slot_count * 2 : 64;
  uint32_t *slots = decoder_alloc(d, count * sizeof *slots);
  if (!slots) return false;
  for (uint32_t i = 0; i < d->constants.count; i++) {
    uint32_t at = hash_mix(0, d->constants.data[i]) & (count - 1);
    while (slots[at]) at = (at + 1) & (count - 1);
    slots[at] = i + 1;
  }
  d->constant_slots = slots;
  d->constant_slot_count = count;
  return true;
}

uint32_t decoder_constant(struct decoder *d, uint64_t value) {
  if (d->constants.count * 2 >= d->constant_slot_count && !grow_slots(d)) return 0;
  uint32_t mask = d->constant_slot_count - 1, at = hash_mix(0, value) & mask;
  while (d->constant_slots[at]) {
    if (d->constants.data[d->constant_slots[at] - 1] == value)
      return (uint32_t)BANK_CONST << BANK_SHIFT | (d->constant_slots[at] - 1);
    at = (at + 1) & mask;
  }
  if (!VEC_PUSH(&d->sim->arena, &d->constants, value)) d->failed = true;
  else d->constant_slots[at] = d->constants.count;
  return (uint32_t)BANK_CONST << BANK_SHIFT | (d->constants.count - 1);
}

static uint32_t new_row(struct decoder *d) { return d->func->rows++; }

void decoder_append(struct decoder *d, const struct inst *in) {
  if (!VEC_PUSH(&d->sim->arena, &d->code, *in)) d->failed = true;
}

struct scope_variable *decoder_find_variable(struct decoder *d, struct nvm_str name) {
  for (uint32_t i = d->scope.count; i-- > 0;)
    if (d->scope.data[i].name.index == name.index && d->scope.data[i].space)
      return &d->scope.data[i];
  return NULL;
}

/* A row with the address of a variable of the frame, which differs by lane. */
static uint32_t frame_address(struct decoder *d, const struct scope_variable *v, int64_t addend) {
  struct inst in = {.kind = INST_HELPER, .line = d->e->line, .imm = addend, .d = new_row(d)};
  if (v->space == PTX_MOD_LOCAL) {
    in.run = exec_memory_local_address;
    in.imm = evalint_wrapping_add(in.imm, (int64_t)v->offset);
  } else if (d->func->ptx->is_entry) {
    return decoder_constant(d, v->offset + (uint64_t)addend);
  } else if (v->formal) {
    struct func *f = d->func;
    if (f->param_copies[v->formal - 1] == 0) {
      f->local_bytes = (f->local_bytes + 15) / 16 * 16;
      f->param_copies[v->formal - 1] = (uint32_t)f->local_bytes + 1;
      f->local_bytes += v->bytes;
    }
    in.run = exec_memory_local_address;
    in.imm = evalint_wrapping_add(in.imm, f->param_copies[v->formal - 1] - 1);
  } else {
    decoder_unsupported(d, "takes the address of a call's parameter");
    return decoder_constant(d, 0);
  }
  decoder_append(d, &in);
  return in.d;
}

static uint32_t symbol_address(struct decoder *d, const struct ptx_operand *o) {
  const struct scope_variable *v = decoder_find_variable(d, o->symbol);
  if (v) return frame_address(d, v, o->imm);
  const struct sim_symbol *s = symbol_find(d->sim, symbol_text(d->sim, o->symbol));
  if (!s) {
    finding_refuse(d->sim, SIM_BAD_PROGRAM, d->func->name, d->e->line, "undefined symbol '%t'",
                   symbol_text(d->sim, o->symbol));
    return decoder_constant(d, 0);
  }
  uint64_t base = s->window == WINDOW_CODE ? window_base(WINDOW_CODE) : 0;
  return decoder_constant(d, base + s->address + (uint64_t)o->imm);
}

static uint64_t float_immediate(const struct ptx_operand *o, uint16_t type) {
  uint64_t bits = (uint64_t)o->imm;
  bool is_float = ptx_mod_row(type)->kind == 'f';
  enum float_format own = o->kind == PTX_OPERAND_F32 ? FLOAT_SINGLE : FLOAT_DOUBLE;
  return is_float ? float_convert_bits(bits, own, number_format(type), NULL) : bits;
}

static uint32_t special_source(struct decoder *d, uint32_t special) {
  static const struct {
    uint16_t first, last, row; /* in the same order on both sides */
  } ranges[] = {{PTX_SPECIAL_TID_X, PTX_SPECIAL_NWARPID, SPECIAL_TID},
                {PTX_SPECIAL_CLUSTERID_X, PTX_SPECIAL_CLUSTER_NCTARANK, SPECIAL_CLUSTERID},
                {PTX_SPECIAL_LANEMASK_EQ, PTX_SPECIAL_LANEMASK_GT, SPECIAL_MASK_EQ},
                {PTX_SPECIAL_NSMID, PTX_SPECIAL_NSMID, SPECIAL_ONE},
                {PTX_SPECIAL_DYNAMIC_SMEM_SIZE, PTX_SPECIAL_TOTAL_SMEM_SIZE, SPECIAL_DYNAMIC_SMEM}};
  uint32_t row = SPECIAL_ZERO;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (special >= ranges[i].first && special <= ranges[i].last)
      row = ranges[i].row + (special - ranges[i].first);
  if (special < PTX_SPECIAL_CLOCK || special > PTX_SPECIAL_GLOBALTIMER_HI)
    return (uint32_t)BANK_SPECIAL << BANK_SHIFT | row;
  struct inst in = {
      .kind = INST_HELPER, .line = d->e->line, .d = new_row(d), .run = exec_warp_clock};
  in.count = special == PTX_SPECIAL_CLOCK_HI || special == PTX_SPECIAL_GLOBALTIMER_HI ? 32 : 0;
  in.bits = special == PTX_SPECIAL_CLOCK64 || special == PTX_SPECIAL_GLOBALTIMER ? 64 : 32;
  decoder_append(d, &in);
  return in.d;
}

uint32_t decoder_source(struct decoder *d, const struct ptx_operand *o, uint16_t type) {
  unsigned bits = type ? ptx_mod_row(type)->bits : 64;
  switch (o->kind) {
    case PTX_OPERAND_REG: return decoder_reg(d, o->reg);
    case PTX_OPERAND_INT:
      return decoder_constant(d, evalint_zext(bits > 64 ? 64 : bits, (uint64_t)o->imm));
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return decoder_constant(d, float_immediate(o, type));
    case PTX_OPERAND_SPECIAL: return special_source(d, o->special);
    case PTX_OPERAND_SYMBOL: return symbol_address(d, o);
    case PTX_OPERAND_NONE: return decoder_constant(d, 0);
    default: break;
  }
  decoder_unsupported(d, "has an unsupported kind of operand");
  return decoder_constant(d, 0);
}

/* Predicates 0 and 1 of a frame are false and true. */
uint32_t decoder_pred(struct decoder *d, const struct ptx_operand *o, bool *negated) {
  *negated = o->negated;
  if (o->kind == PTX_OPERAND_INT) return o->imm != 0;
  if (o->kind == PTX_OPERAND_REG && ptx_reg_class(o->reg) == PTX_PRED)
    return decoder_reg(d, o->reg);
  if (o->kind == PTX_OPERAND_SPECIAL && o->special == PTX_SPECIAL_IS_EXPLICIT_CLUSTER) {
    struct inst in = {.kind = INST_HELPER,
                      .line = d->e->line,
                      .d = d->func->preds++,
                      .run = exec_warp_is_clustered};
    decoder_append(d, &in);
    return in.d;
  }
  decoder_unsupported(d, "has an operand that is not a predicate");
  return 0;
}

uint32_t decoder_dest(struct decoder *d, const struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_NONE) return NO_ROW;
  if (o->kind != PTX_OPERAND_REG) {
    decoder_unsupported(d, "has a destination that is not a register");
    return NO_ROW;
  }
  d->in->dest_bits = (uint8_t)decoder_reg_bits(o->reg);
  return decoder_reg(d, o->reg);
}

/* "is not supported: tex.2d.v4.f32.s32" */
static const char *not_simulated(struct decoder *d) {
  struct textbuf b;
  textbuf_init(&b, &d->sim->arena);
  textbuf_format(&b, "is not supported: %s", ptx_op_row(d->e->op)->text);
  for (uint32_t i = 0; i < d->e->mod_count; i++)
    textbuf_puts(&b, ptx_mod_row(d->f->mods.data[d->e->first_mod + i])->text);
  textbuf_char(&b, 0);
  return b.bytes ? b.bytes : "is not supported";
}

uint32_t *decoder_rows(struct decoder *d, const struct ptx_operand *o, bool is_dest, uint16_t type,
                       uint32_t room, uint32_t *count) {
  bool vector = o->kind == PTX_OPERAND_VECTOR;
  *count = vector ? o->count : 1;
  uint32_t *rows = decoder_alloc(d, (*count + room) * sizeof *rows);
  for (uint32_t i = 0; rows && i < *count; i++) {
    const struct ptx_operand *e = vector ? &d->f->operands.data[o->first + i] : o;
    rows[room + i] = is_dest ? decoder_dest(d, e) : decoder_source(d, e, type);
  }
  return rows;
}

void decoder_targets(struct decoder *d) {
  const struct ptx_operand *o = decoder_operand(d, 0);
  bool pair = o->kind == PTX_OPERAND_PAIR;
  d->in->d = decoder_dest(d, pair ? &d->f->operands.data[o->first] : o);
  if (pair) d->in->d2 = decoder_dest(d, &d->f->operands.data[o->first + 1]);
}

void decoder_operands(struct decoder *d, uint16_t a, uint16_t b, uint16_t c) {
  struct inst *in = d->in;
  decoder_targets(d);
  if (decoder_has(d, 1)) in->a = decoder_source(d, decoder_operand(d, 1), a);
  if (decoder_has(d, 2)) in->b = decoder_source(d, decoder_operand(d, 2), b);
  if (decoder_has(d, 3)) in->c = decoder_source(d, decoder_operand(d, 3), c);
}

bool decoder_unsupported(struct decoder *d, const char *why) {
  if (!why) why = not_simulated(d);
  d->in->kind = INST_BAD;
  d->in->call = (const void *)why;
  return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

uint8_t decoder_window(uint16_t space) {
  switch (space) {
    case PTX_MOD_GLOBAL: return WINDOW_GLOBAL;
    case PTX_MOD_SHARED:
    case PTX_MOD_SHARED_CTA:
    case PTX_MOD_SHARED_CLUSTER: return WINDOW_SHARED;
    case PTX_MOD_LOCAL: return WINDOW_LOCAL;
    case PTX_MOD_CONST: return WINDOW_CONST;
    case PTX_MOD_PARAM:
    case PTX_MOD_PARAM_ENTRY:
    case PTX_MOD_PARAM_FUNC: return WINDOW_PARAM;
    default: return WINDOW_COUNT;
  }
}

/* A generic access to a variable of the module gets the variable's window. */
static void add_window(struct decoder *d, const struct ptx_operand *o) {
  const struct sim_symbol *s = symbol_find(d->sim, symbol_text(d->sim, o->symbol));
  if (d->in->window == WINDOW_COUNT && s)
    d->in->imm = evalint_wrapping_add(d->in->imm, (int64_t)window_base(s->window));
}

/* Row a and offset imm of an address. */
void decoder_address(struct decoder *d, const struct ptx_operand *o) {
  struct inst *in = d->in;
  in->imm = 0;
  switch (o->kind) {
    case PTX_OPERAND_ADDRESS_REG:
      in->a = decoder_reg(d, o->reg);
      in->imm = o->imm;
      break;
    case PTX_OPERAND_ADDRESS_IMM: in->a = decoder_constant(d, (uint64_t)o->imm); break;
    case PTX_OPERAND_ADDRESS_SYMBOL: {
      struct ptx_operand value = *o;
      value.kind = PTX_OPERAND_SYMBOL;
      in->a = decoder_source(d, &value, 0);
      const struct scope_variable *v = decoder_find_variable(d, o->symbol);
      if (!v) add_window(d, o);
      else if (in->window == WINDOW_COUNT) in->imm = (int64_t)window_base(WINDOW_LOCAL);
      break;
    }
    default: decoder_unsupported(d, "has an unsupported kind of address"); break;
  }
}

static uint64_t element_bytes(const struct ptx_variable *v) {
  uint64_t bits = ptx_mod_row(v->type)->bits, lanes = v->vector == PTX_MOD_V2   ? 2
                                                      : v->vector == PTX_MOD_V4 ? 4
                                                                                : 1;
  return (bits < 8 ? 8 : bits) / 8 * lanes;
}

uint64_t decoder_variable(const struct ptx_variable *v, uint64_t *align) {
  *align = v->align ? v->align : element_bytes(v);
  return element_bytes(v) * (v->is_unsized ? v->init_count : v->is_array ? v->count : 1);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void patch_branches(struct decoder *d) {
  for (uint32_t i = 0; i < d->code.count; i++) {
    struct inst *in = &d->code.data[i];
    if (in->kind == INST_BRANCH) in->imm = d->labels[in->imm];
    if (in->kind != INST_BRANCH_TABLE) continue;
    uint32_t *targets = (uint32_t *)(uintptr_t)in->rows;
    for (int64_t k = 0; k < in->imm; k++) targets[k] = d->labels[targets[k]];
  }
}

static void fill_constants(struct decoder *d) {
  struct func *f = d->func;
  f->constants = decoder_alloc(d, (d->constants.count + 1u) * LANES * sizeof *f->constants);
  if (!f->constants) return;
  for (uint32_t i = 0; i < d->constants.count; i++)
    for (uint32_t l = 0; l < LANES; l++) f->constants[i * LANES + l] = d->constants.data[i];
}

void decoder_assign_rows(struct decoder *d) {
  struct func *f = d->func;
  d->labels = decoder_alloc(d, (d->f->labels.count + 1u) * sizeof *d->labels);
  f->preds = 2; /* false and true */
  for (int c = 0; c < PTX_CLASS_COUNT; c++) {
    uint32_t count = d->f->reg_count[c] + 1;
    uint32_t *next = c == PTX_PRED ? &f->preds : &f->rows;
    d->class_first[c] = f->class_first[c] = *next;
    *next += c == PTX_B128 ? 2 * count : count;
  }
}

bool decoder_finish(struct decoder *d) {
  struct func *f = d->func;
  struct inst end = {.kind = INST_RETURN, .issue = PTX_ISSUE_CTL};
  decoder_append(d, &end);
  patch_branches(d);
  fill_constants(d);
  f->param_bytes = (f->param_bytes + 15) / 16 * 16;
  f->code = d->code.data;
  f->code_count = d->code.count;
  return !d->failed;
}
