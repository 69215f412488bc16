/* PTX into decoded code: registers get rows, labels indices, variables offsets, modifiers become
 * fields. What a family of instructions needs is in decode_alu.c, decode_mem.c, decode_warp.c; here
 * are operands, variables, control flow and the walk.
 *
 * An instruction that nothing knows is decoded into one that reports when it is reached: a module
 * may hold code that never runs. */
#include "sim/ir.h"

#include "ptx/check.h"

#include <string.h>

void *decode_alloc(struct decoder *d, size_t bytes) {
  void *p = arena_alloc(&d->sim->arena, bytes);
  if (!p) d->failed = true;
  return p;
}

/* --- modifiers -----------------------------------------------------------------------------------
 */

static void round_by(struct words *w, enum evalfloat_rounding rounding, bool integral) {
  w->rounding = (uint8_t)rounding;
  w->integral = integral;
}

/* A modifier that is no type. */
static void read_word(struct words *w, uint16_t mod) {
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
    case PTX_MOD_FTZ: w->ftz = true; break;
    case PTX_MOD_SAT: w->sat = true; break;
    case PTX_MOD_SATFINITE: w->satfinite = true; break;
    case PTX_MOD_RELU: w->relu = true; break;
    case PTX_MOD_APPROX:
    case PTX_MOD_FULL: break;
    case PTX_MOD_LO: w->compare = mod; break;
    case PTX_MOD_HI:
      w->hi = true;
      w->compare = mod;
      break;
    case PTX_MOD_WIDE: w->wide = true; break;
    case PTX_MOD_CC: w->cc = true; break;
    case PTX_MOD_NAN_RESULT: w->nan_result = true; break;
    case PTX_MOD_XORSIGN: w->xorsign = true; break;
    case PTX_MOD_ABS: w->abs = true; break;
    case PTX_MOD_SYNC: w->sync = true; break;
    case PTX_MOD_TO: w->to = true; break;
    case PTX_MOD_SHIFTAMT: w->shiftamt = true; break;
    case PTX_MOD_CLAMP: w->clamp = true; break;
    case PTX_MOD_L: w->left = true; break;
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
      if (!w->mode) w->mode = mod;
  }
}

static void read_words(struct decoder *d) {
  struct words *w = &d->words;
  memset(w, 0, sizeof *w);
  for (uint32_t i = 0; i < d->e->mod_count; i++) {
    uint16_t mod = d->f->mods.data[d->e->first_mod + i];
    const struct ptx_mod_row *row = ptx_mod_row(mod);
    if (row->bits == 0) read_word(w, mod);
    else if (w->type_count < 4) w->type[w->type_count++] = mod;
  }
}

bool decode_has_mod(const struct decoder *d, uint16_t mod) {
  for (uint32_t i = 0; i < d->e->mod_count; i++)
    if (d->f->mods.data[d->e->first_mod + i] == mod) return true;
  return false;
}

enum float_format decode_format(uint16_t type) {
  switch (type) {
    case PTX_MOD_F16:
    case PTX_MOD_F16X2: return FLOAT_HALF;
    case PTX_MOD_BF16:
    case PTX_MOD_BF16X2: return FLOAT_BFLOAT;
    case PTX_MOD_F64: return FLOAT_DOUBLE;
    default: return FLOAT_SINGLE;
  }
}

/* --- operands
 * -------------------------------------------------------------------------------------- */

const struct ptx_operand *decode_operand(const struct decoder *d, uint32_t i) {
  return &d->f->operands.data[d->e->first_operand + i];
}
bool decode_has(const struct decoder *d, uint32_t i) { return i < d->e->operand_count; }

unsigned decode_reg_bits(struct ptx_reg r) {
  static const uint8_t bits[PTX_CLASS_COUNT] = {
      [PTX_PRED] = 1, [PTX_B8] = 8,   [PTX_B16] = 16, [PTX_B32] = 32,
      [PTX_B64] = 64, [PTX_F32] = 32, [PTX_F64] = 64, [PTX_B128] = 128};
  return bits[ptx_reg_class(r)];
}

uint32_t decode_reg(const struct decoder *d, struct ptx_reg r) {
  enum ptx_class c = ptx_reg_class(r);
  uint32_t n = ptx_reg_number(r);
  return d->class_first[c] + (c == PTX_B128 ? 2 * n : n);
}

static bool grow_slots(struct decoder *d) {
  uint32_t count = d->constant_slot_count ? d->constant_slot_count * 2 : 64;
  uint32_t *slots = decode_alloc(d, count * sizeof *slots);
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

uint32_t decode_constant(struct decoder *d, uint64_t value) {
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

void decode_append(struct decoder *d, const struct inst *in) {
  if (!VEC_PUSH(&d->sim->arena, &d->code, *in)) d->failed = true;
}

struct scope_variable *decode_find_variable(struct decoder *d, struct nvm_str name) {
  for (uint32_t i = d->scope.count; i-- > 0;)
    if (d->scope.data[i].name.index == name.index && d->scope.data[i].space)
      return &d->scope.data[i];
  return NULL;
}

/* A row with the address of a variable of the frame, which each lane has elsewhere. */
static uint32_t frame_address(struct decoder *d, const struct scope_variable *v, int64_t addend) {
  struct inst in = {.kind = INST_HELPER, .line = d->e->line, .imm = addend, .d = new_row(d)};
  if (v->space == PTX_MOD_LOCAL) {
    in.run = run_local_address;
    in.imm += (int64_t)v->offset;
  } else if (d->func->ptx->is_entry) {
    return decode_constant(d, v->offset + (uint64_t)addend);
  } else if (v->formal) {
    struct func *f = d->func;
    if (f->param_copies[v->formal - 1] == 0) {
      f->local_bytes = (f->local_bytes + 15) / 16 * 16;
      f->param_copies[v->formal - 1] = (uint32_t)f->local_bytes + 1;
      f->local_bytes += v->bytes;
    }
    in.run = run_local_address;
    in.imm += f->param_copies[v->formal - 1] - 1;
  } else {
    decode_unsupported(d, "takes the address of a parameter of a call");
    return decode_constant(d, 0);
  }
  decode_append(d, &in);
  return in.d;
}

static uint32_t symbol_address(struct decoder *d, const struct ptx_operand *o) {
  const struct scope_variable *v = decode_find_variable(d, o->symbol);
  if (v) return frame_address(d, v, o->imm);
  const struct sim_symbol *s = sim_find_symbol(d->sim, o->symbol);
  if (!s) {
    sim_refuse(d->sim, SIM_BAD_PROGRAM, d->func->name, d->e->line, "%t is not defined",
               sim_text(d->sim, o->symbol));
    return decode_constant(d, 0);
  }
  uint64_t base = s->window == WINDOW_CODE ? window_base(WINDOW_CODE) : 0;
  return decode_constant(d, base + s->address + (uint64_t)o->imm);
}

static uint64_t float_immediate(const struct ptx_operand *o, uint16_t type) {
  uint64_t bits = (uint64_t)o->imm;
  bool is_float = ptx_mod_row(type)->kind == 'f';
  enum float_format own = o->kind == PTX_OPERAND_F32 ? FLOAT_SINGLE : FLOAT_DOUBLE;
  return is_float ? float_convert_bits(bits, own, decode_format(type), NULL) : bits;
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
  struct inst in = {.kind = INST_HELPER, .line = d->e->line, .d = new_row(d), .run = run_clock};
  in.count = special == PTX_SPECIAL_CLOCK_HI || special == PTX_SPECIAL_GLOBALTIMER_HI ? 32 : 0;
  in.bits = special == PTX_SPECIAL_CLOCK64 || special == PTX_SPECIAL_GLOBALTIMER ? 64 : 32;
  decode_append(d, &in);
  return in.d;
}

uint32_t decode_source(struct decoder *d, const struct ptx_operand *o, uint16_t type) {
  unsigned bits = type ? ptx_mod_row(type)->bits : 64;
  switch (o->kind) {
    case PTX_OPERAND_REG: return decode_reg(d, o->reg);
    case PTX_OPERAND_INT:
      return decode_constant(d, evalint_zext(bits > 64 ? 64 : bits, (uint64_t)o->imm));
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return decode_constant(d, float_immediate(o, type));
    case PTX_OPERAND_SPECIAL: return special_source(d, o->special);
    case PTX_OPERAND_SYMBOL: return symbol_address(d, o);
    case PTX_OPERAND_NONE: return decode_constant(d, 0);
    default: break;
  }
  decode_unsupported(d, "has an operand of a kind that is not known here");
  return decode_constant(d, 0);
}

/* Predicates 0 and 1 of a frame are the constants. */
uint32_t decode_pred(struct decoder *d, const struct ptx_operand *o, bool *negated) {
  *negated = o->negated;
  if (o->kind == PTX_OPERAND_INT) return o->imm != 0;
  if (o->kind == PTX_OPERAND_REG && ptx_reg_class(o->reg) == PTX_PRED) return decode_reg(d, o->reg);
  if (o->kind == PTX_OPERAND_SPECIAL && o->special == PTX_SPECIAL_IS_EXPLICIT_CLUSTER) {
    struct inst in = {
        .kind = INST_HELPER, .line = d->e->line, .d = d->func->preds++, .run = run_is_clustered};
    decode_append(d, &in);
    return in.d;
  }
  decode_unsupported(d, "has an operand that is no predicate");
  return 0;
}

uint32_t decode_dest(struct decoder *d, const struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_NONE) return NO_ROW;
  if (o->kind != PTX_OPERAND_REG) {
    decode_unsupported(d, "has a destination that is no register");
    return NO_ROW;
  }
  d->in->dest_bits = (uint8_t)decode_reg_bits(o->reg);
  return decode_reg(d, o->reg);
}

/* "is not simulated: tex.2d.v4.f32.s32" */
static const char *not_simulated(struct decoder *d) {
  struct textbuf b;
  textbuf_init(&b, &d->sim->arena);
  textbuf_format(&b, "is not simulated: %s", ptx_op_row(d->e->op)->text);
  for (uint32_t i = 0; i < d->e->mod_count; i++)
    textbuf_puts(&b, ptx_mod_row(d->f->mods.data[d->e->first_mod + i])->text);
  textbuf_char(&b, 0);
  return b.bytes ? b.bytes : "is not simulated";
}

uint32_t *decode_rows(struct decoder *d, const struct ptx_operand *o, bool is_dest, uint16_t type,
                      uint32_t room, uint32_t *count) {
  bool vector = o->kind == PTX_OPERAND_VECTOR;
  *count = vector ? o->count : 1;
  uint32_t *rows = decode_alloc(d, (*count + room) * sizeof *rows);
  for (uint32_t i = 0; rows && i < *count; i++) {
    const struct ptx_operand *e = vector ? &d->f->operands.data[o->first + i] : o;
    rows[room + i] = is_dest ? decode_dest(d, e) : decode_source(d, e, type);
  }
  return rows;
}

void decode_targets(struct decoder *d) {
  const struct ptx_operand *o = decode_operand(d, 0);
  bool pair = o->kind == PTX_OPERAND_PAIR;
  d->in->d = decode_dest(d, pair ? &d->f->operands.data[o->first] : o);
  if (pair) d->in->d2 = decode_dest(d, &d->f->operands.data[o->first + 1]);
}

void decode_operands(struct decoder *d, uint16_t a, uint16_t b, uint16_t c) {
  struct inst *in = d->in;
  decode_targets(d);
  if (decode_has(d, 1)) in->a = decode_source(d, decode_operand(d, 1), a);
  if (decode_has(d, 2)) in->b = decode_source(d, decode_operand(d, 2), b);
  if (decode_has(d, 3)) in->c = decode_source(d, decode_operand(d, 3), c);
}

bool decode_unsupported(struct decoder *d, const char *why) {
  if (!why) why = not_simulated(d);
  d->in->kind = INST_BAD;
  d->in->call = (const void *)why;
  return true;
}

/* --- variables
 * ---------------------------------------------------------------------------------------- */

static uint64_t element_bytes(const struct ptx_variable *v) {
  uint64_t bits = ptx_mod_row(v->type)->bits, lanes = v->vector == PTX_MOD_V2   ? 2
                                                      : v->vector == PTX_MOD_V4 ? 4
                                                                                : 1;
  return (bits < 8 ? 8 : bits) / 8 * lanes;
}

uint64_t decode_variable(const struct ptx_variable *v, uint64_t *align) {
  *align = v->align ? v->align : element_bytes(v);
  return element_bytes(v) * (v->is_unsized ? v->init_count : v->is_array ? v->count : 1);
}

static uint64_t reserve(uint64_t *end, uint64_t bytes, uint64_t align) {
  uint64_t at = align_up(*end, align);
  *end = at + bytes;
  return at;
}

static void push_variable(struct decoder *d, struct scope_variable v) {
  if (!VEC_PUSH(&d->sim->arena, &d->scope, v)) d->failed = true;
}

/* The end of the frame's parameter area at this point of the text. */
static uint64_t param_end(const struct decoder *d) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < d->scope.count; i++) {
    const struct scope_variable *v = &d->scope.data[i];
    if (v->space == PTX_MOD_PARAM && v->offset + v->bytes > end) end = v->offset + v->bytes;
  }
  return end;
}

static void add_param(struct decoder *d, const struct ptx_variable *v, uint32_t formal,
                      struct slot *slot) {
  struct scope_variable s = {.name = v->name, .space = PTX_MOD_PARAM, .formal = formal};
  uint64_t end = param_end(d), align;
  s.bytes = decode_variable(v, &align);
  s.offset = reserve(&end, s.bytes, align);
  if (end > d->func->param_bytes) d->func->param_bytes = (uint32_t)end;
  push_variable(d, s);
  if (slot) *slot = (struct slot){.offset = (uint32_t)s.offset, .bytes = (uint32_t)s.bytes};
}

static void local_variable(struct decoder *d, const struct ptx_variable *v) {
  if (v->space == PTX_MOD_PARAM) {
    add_param(d, v, 0, NULL);
  } else if (v->space == PTX_MOD_LOCAL) {
    struct scope_variable s = {.name = v->name, .space = PTX_MOD_LOCAL};
    uint64_t align;
    s.bytes = decode_variable(v, &align);
    s.offset = reserve(&d->func->local_bytes, s.bytes, align);
    if (align > d->func->local_align) d->func->local_align = (uint32_t)align;
    push_variable(d, s);
  } /* others are the module's by now */
}

static void formals(struct decoder *d) {
  struct func *f = d->func;
  f->formal_count = f->ptx->params.count;
  f->result_count = f->ptx->result_count;
  f->formals = decode_alloc(d, f->formal_count * sizeof *f->formals);
  f->param_copies = decode_alloc(d, f->formal_count * sizeof *f->param_copies);
  if (d->failed) return;
  for (uint32_t i = 0; i < f->formal_count; i++) {
    const struct ptx_variable *v = &f->ptx->params.data[i];
    if (v->space == PTX_MOD_REG) {
      f->formals[i] = (struct slot){
          .is_reg = true, .row = decode_reg(d, v->reg), .bits = decode_reg_bits(v->reg)};
      continue;
    }
    add_param(d, v, i + 1, &f->formals[i]);
  }
  if (f->ptx->is_entry) {
    f->kernel_param_bytes = f->param_bytes;
    f->param_bytes = 0;
  }
}

/* --- control flow
 * --------------------------------------------------------------------------------------- */

static bool call_slots(struct decoder *d, const struct ptx_operand *list, const struct slot **slots,
                       uint32_t *count, const struct ptx_variable *formal) {
  struct slot *s = decode_alloc(d, (list->count + 1u) * sizeof *s);
  if (!s) return false;
  for (uint32_t i = 0; i < list->count; i++) {
    const struct ptx_operand *o = &d->f->operands.data[list->first + i];
    if (o->kind == PTX_OPERAND_SYMBOL) {
      const struct scope_variable *v = decode_find_variable(d, o->symbol);
      if (!v) return false;
      s[i] = (struct slot){.offset = (uint32_t)v->offset, .bytes = (uint32_t)v->bytes};
    } else if (o->kind == PTX_OPERAND_REG) {
      s[i] = (struct slot){
          .is_reg = true, .row = decode_reg(d, o->reg), .bits = decode_reg_bits(o->reg)};
    } else {
      uint16_t type = formal ? formal[i].type : 0;
      s[i] = (struct slot){.is_reg = true,
                           .row = decode_source(d, o, type),
                           .bits = type ? ptx_mod_row(type)->bits : 64};
    }
  }
  *slots = s;
  *count = list->count;
  return true;
}

static bool decode_call(struct decoder *d) {
  struct inst *in = d->in;
  struct call_info *c = decode_alloc(d, sizeof *c);
  if (!c) return true;
  uint32_t i = 0;
  const struct ptx_operand *results = NULL;
  if (decode_operand(d, i)->kind == PTX_OPERAND_LIST) results = decode_operand(d, i++);
  const struct ptx_operand *callee = decode_operand(d, i++);
  const struct ptx_variable *formal = NULL;
  if (callee->kind == PTX_OPERAND_SYMBOL) {
    const struct sim_symbol *s = sim_find_symbol(d->sim, callee->symbol);
    if (!s || s->window != WINDOW_CODE) return decode_unsupported(d, "calls what is no function");
    c->callee = s->func;
    if (decode_has(d, i) && decode_operand(d, i)->kind == PTX_OPERAND_LIST &&
        s->func->ptx->params.count >= s->func->ptx->result_count + decode_operand(d, i)->count)
      formal = s->func->ptx->params.data + s->func->ptx->result_count;
  } else {
    c->pointer = decode_source(d, callee, PTX_MOD_B64);
  }
  if (results && !call_slots(d, results, &c->results, &c->result_count, NULL))
    return decode_unsupported(d, "has a result that is not declared");
  if (decode_has(d, i) && decode_operand(d, i)->kind == PTX_OPERAND_LIST &&
      !call_slots(d, decode_operand(d, i), &c->arguments, &c->argument_count, formal))
    return decode_unsupported(d, "has an argument that is not declared");
  in->kind = INST_CALL;
  in->call = c;
  return true;
}

static bool decode_branch_table(struct decoder *d) {
  struct inst *in = d->in;
  uint32_t label = decode_operand(d, 1)->label;
  for (uint32_t i = 0; i < d->f->entries.count; i++) {
    const struct ptx_entry *e = &d->f->entries.data[i];
    if (e->kind != PTX_BRANCHTARGETS || e->first_mod != label) continue;
    uint32_t *targets = decode_alloc(d, (e->line + 1u) * sizeof *targets);
    if (!targets) return true;
    for (uint32_t k = 0; k < e->line; k++)
      targets[k] = d->f->operands.data[e->first_operand + k].label;
    in->kind = INST_BRANCH_TABLE;
    in->rows = targets;
    in->imm = e->line;
    in->a = decode_source(d, decode_operand(d, 0), PTX_MOD_B32);
    return true;
  }
  return decode_unsupported(d, "branches by a table that is not there");
}

static bool decode_control(struct decoder *d) {
  struct inst *in = d->in;
  switch (d->e->op) {
    case PTX_BRA:
      in->kind = INST_BRANCH;
      in->imm = decode_operand(d, 0)->label;
      return true;
    case PTX_BRX: return decode_branch_table(d);
    case PTX_CALL: return decode_call(d);
    case PTX_RET: in->kind = INST_RETURN; return true;
    case PTX_EXIT: in->kind = INST_EXIT; return true;
    case PTX_TRAP: in->kind = INST_TRAP; return true;
    case PTX_NANOSLEEP:
      in->run = run_sleep;
      in->kind = INST_MEMORY;
      return true;
    case PTX_BRKPT:
    case PTX_PMEVENT:
    case PTX_PREFETCH:
    case PTX_PREFETCHU:
    case PTX_APPLYPRIORITY:
    case PTX_DISCARD:
    case PTX_GRIDDEPCONTROL:
    case PTX_SETMAXNREG: in->run = run_nothing; return true;
    default: return false;
  }
}

/* --- the walk
 * --------------------------------------------------------------------------------------------- */

static void decode_instruction(struct decoder *d) {
  struct inst in = {.kind = INST_PLAIN, .line = d->e->line, .d = NO_ROW, .d2 = NO_ROW};
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(d->f, d->e, &need);
  in.entry = (uint32_t)(d->e - d->f->entries.data);
  in.issue = form ? form->issue : ptx_op_row(d->e->op)->issue;
  in.a = in.b = in.c = decode_constant(d, 0);
  d->in = &in;
  read_words(d);
  if (!ptx_reg_is_none(d->e->guard)) {
    in.guard = decode_reg(d, d->e->guard) + 1;
    in.flip = d->e->guard_negated ? ALL_LANES : 0;
  }
  if (!decode_control(d) && !decode_alu(d) && !decode_async(d) && !decode_memory(d) &&
      !decode_warp(d) && !decode_matrix(d))
    decode_unsupported(d, NULL);
  undefined_set_flow(&in);
  decode_append(d, &in);
}

void decode_entry(struct decoder *d) {
  const struct ptx_entry *e = d->e;
  switch ((enum ptx_entry_kind)e->kind) {
    case PTX_INST: decode_instruction(d); break;
    case PTX_LABEL: {
      d->labels[e->first_mod] = d->code.count;
      struct inst in = {.kind = INST_LABEL, .line = e->line};
      decode_append(d, &in);
      break;
    }
    case PTX_SCOPE_BEGIN: push_variable(d, (struct scope_variable){0}); break;
    case PTX_SCOPE_END:
      while (d->scope.count && d->scope.data[d->scope.count - 1].space) d->scope.count--;
      if (d->scope.count) d->scope.count--;
      break;
    case PTX_LOCAL_VAR: local_variable(d, &d->f->variables.data[e->first_mod]); break;
    case PTX_RAW: {
      struct inst in = {.kind = INST_BAD,
                        .line = e->line,
                        .call = (const void *)"is inline assembly that was not understood"};
      decode_append(d, &in);
      break;
    }
    case PTX_LOC:
    case PTX_PROTOTYPE:
    case PTX_BRANCHTARGETS:
    case PTX_PRAGMA:
    case PTX_COMMENT: break;
  }
}

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
  f->constants = decode_alloc(d, (d->constants.count + 1u) * LANES * sizeof *f->constants);
  if (!f->constants) return;
  for (uint32_t i = 0; i < d->constants.count; i++)
    for (uint32_t l = 0; l < LANES; l++) f->constants[i * LANES + l] = d->constants.data[i];
  f->constant_count = d->constants.count;
}

void decode_assign_rows(struct decoder *d) {
  struct func *f = d->func;
  d->labels = decode_alloc(d, (d->f->labels.count + 1u) * sizeof *d->labels);
  f->preds = 2; /* the constants */
  for (int c = 0; c < PTX_CLASS_COUNT; c++) {
    uint32_t count = d->f->reg_count[c] + 1;
    uint32_t *next = c == PTX_PRED ? &f->preds : &f->rows;
    d->class_first[c] = f->class_first[c] = *next;
    *next += c == PTX_B128 ? 2 * count : count;
  }
}

bool decode_finish(struct decoder *d) {
  struct func *f = d->func;
  struct inst end = {.kind = INST_RETURN, .issue = PTX_ISSUE_CTL};
  decode_append(d, &end);
  patch_branches(d);
  fill_constants(d);
  f->param_bytes = (f->param_bytes + 15) / 16 * 16;
  f->code = d->code.data;
  f->code_count = d->code.count;
  return !d->failed;
}

static bool decode_body(struct decoder *d) {
  decode_assign_rows(d);
  formals(d);
  if (d->failed) return false;
  for (uint32_t i = 0; i < d->f->entries.count && !d->failed; i++) {
    d->e = &d->f->entries.data[i];
    decode_entry(d);
  }
  return decode_finish(d);
}

enum nvm_status decode_function(struct sim *s, struct func *f) {
  enum nvm_status status = NVM_OK;
  if (f->decoded || f->ptx->is_declaration) return NVM_OK;
  f->decoded = true;
  struct decoder d = {.sim = s, .func = f, .f = f->ptx};
  if (f->ir) status = ir_decode_function(s, f);
  else if (!decode_body(&d)) status = NVM_OUT_OF_MEMORY;
  return status == NVM_OK && s->finding.kind ? NVM_REFUSED : status;
}
