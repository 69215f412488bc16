/* Walks the automaton of ops.def over an instruction; see check.h. */
#include "ptx/check.h"

enum { MAX_TYPES = 4, MAX_NEEDS = 24 };

/* The result of the walk over the modifiers. */
struct walk {
  uint16_t types[MAX_TYPES]; /* first four type modifiers */
  uint8_t type_count;
  uint16_t last_type;
  uint8_t vector; /* 2, 4, 8 of .v2 .v4 .v8; else 0 */
  bool is_video;  /* operands may have selectors */
  uint8_t need_count;
  struct {
    uint16_t need, mod;
  } needs[MAX_NEEDS];
  const struct ptx_state *end;
};

/* --- classes of registers that a type takes --------------------------------------------------- */

#define CLASS(c) (1u << (c))

static unsigned classes_of(unsigned bits, char kind, bool relaxed) {
  bool either = kind == 'b' || kind == 'f'; /* .b32 and .f32 take both %r and %f */
  unsigned wider = 0;
  switch (bits) {
    case 1: return kind == 'p' ? CLASS(PTX_PRED) : 0;
    case 2:
    case 4:
    case 8:
      if (!relaxed) return CLASS(PTX_B8);
      return CLASS(PTX_B8) | CLASS(PTX_B16) | CLASS(PTX_B32) | CLASS(PTX_B64);
    case 16:
      if (relaxed) wider = CLASS(PTX_B32) | CLASS(PTX_B64);
      if (relaxed && kind == 'b') wider |= CLASS(PTX_F32) | CLASS(PTX_F64);
      return CLASS(PTX_B16) | wider;
    case 32:
      if (relaxed && kind != 'f') wider = CLASS(PTX_B64);
      if (relaxed && kind == 'b') wider |= CLASS(PTX_F64);
      return CLASS(PTX_B32) | (either ? CLASS(PTX_F32) : 0) | wider;
    case 64: return CLASS(PTX_B64) | (either ? CLASS(PTX_F64) : 0);
    case 128: return CLASS(PTX_B128);
    default: return 0;
  }
}

/* Bits and kind of a shape's type in this instruction; 0 bits: none. */
static unsigned type_of(const struct walk *w, const struct ptx_shape *s, char *kind) {
  uint16_t type = 0;
  unsigned scale = 1;
  if (s->type >= 0) type = (uint16_t)s->type;
  else if (s->type == PTX_TYPE_LAST) type = w->last_type;
  else if (s->type == PTX_TYPE_WIDE) {
    type = w->types[0];
    scale = 2;
  } else type = w->types[PTX_TYPE_1 - s->type];
  const struct ptx_mod_row *row = ptx_mod_row(type);
  *kind = row->kind;
  return row->bits * scale;
}

uint16_t ptx_shape_type(const struct ptx_function *f, const struct ptx_entry *e,
                        const struct ptx_shape *shape, bool *wide) {
  uint16_t found = 0;
  int left = shape->type == PTX_TYPE_WIDE ? 1 : PTX_TYPE_1 - shape->type + 1;
  *wide = shape->type == PTX_TYPE_WIDE;
  if (shape->type >= 0) return (uint16_t)shape->type;
  for (uint32_t i = 0; i < e->mod_count; i++) {
    uint16_t mod = f->mods.data[e->first_mod + i];
    if (ptx_mod_row(mod)->bits == 0) continue;
    found = mod;
    if (shape->type != PTX_TYPE_LAST && --left == 0) return found;
  }
  return shape->type == PTX_TYPE_LAST ? found : 0;
}

/* --- operands --------------------------------------------------------------------------------- */

static bool reg_fits(const struct ptx_operand *o, unsigned classes) {
  if (!(classes & CLASS(ptx_reg_class(o->reg)))) return false;
  return !o->negated || ptx_reg_class(o->reg) == PTX_PRED;
}

/* Whether a literal can have a type: integers any but floats and packed numbers, floats only floats
 * and bits. ptxas takes no literal for a float of 16 bits. */
static bool literal_fits(const struct ptx_operand *o, unsigned bits, char kind) {
  if (o->kind == PTX_OPERAND_INT) return kind != 'f' && kind != 'x';
  return kind == 'f' || (kind == 'b' && bits >= 32);
}

static bool value_fits(const struct walk *w, const struct ptx_shape *s,
                       const struct ptx_operand *o) {
  char kind;
  unsigned bits = type_of(w, s, &kind);
  switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_REG:
      return reg_fits(o, classes_of(bits, kind, s->relaxed)) && !(s->dest && o->negated) &&
             (s->selected ? o->count != 0 : !o->count || (w->is_video && !s->dest));
    case PTX_OPERAND_NONE: return s->dest;
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return !s->dest && literal_fits(o, bits, kind);
    case PTX_OPERAND_SYMBOL:
    case PTX_OPERAND_LABEL:
    case PTX_OPERAND_SPECIAL:
    case PTX_OPERAND_ADDRESS_REG:
    case PTX_OPERAND_ADDRESS_SYMBOL:
    case PTX_OPERAND_ADDRESS_IMM:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_TENSOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR: return false;
  }
  return false;
}

static bool vector_fits(const struct ptx_function *f, const struct walk *w,
                        const struct ptx_shape *s, const struct ptx_operand *o) {
  unsigned count = s->count ? s->count : w->vector;
  if (count == 0) return value_fits(w, s, o);
  if (o->kind != PTX_OPERAND_VECTOR || (count != 255 && o->count != count)) return false;
  for (uint32_t i = 0; i < o->count; i++)
    if (!value_fits(w, s, &f->operands.data[o->first + i])) return false;
  return true;
}

/* `{%r1, %r2}` of mov: equal parts of the type. */
static bool pack_vector_fits(const struct ptx_function *f, const struct ptx_shape *s,
                             const struct ptx_operand *o, unsigned bits) {
  if (o->count < 2 || bits % o->count != 0) return false;
  unsigned classes = classes_of(bits / o->count, 'b', false);
  for (uint32_t i = 0; i < o->count; i++) {
    const struct ptx_operand *part = &f->operands.data[o->first + i];
    bool literal = part->kind == PTX_OPERAND_INT && !s->dest;
    bool sink = part->kind == PTX_OPERAND_NONE && s->dest;
    if (!literal && !sink && !(part->kind == PTX_OPERAND_REG && reg_fits(part, classes)))
      return false;
  }
  return true;
}

static bool pack_fits(const struct ptx_function *f, const struct walk *w, const struct ptx_shape *s,
                      const struct ptx_operand *o) {
  char kind;
  struct ptx_shape value = {.dest = s->dest, .type = PTX_TYPE_LAST};
  unsigned bits = type_of(w, &value, &kind);
  if (o->kind == PTX_OPERAND_VECTOR) return pack_vector_fits(f, s, o, bits);
  if (s->dest) return value_fits(w, &value, o);
  if (o->kind == PTX_OPERAND_SPECIAL) return true;
  if (o->kind == PTX_OPERAND_SYMBOL || o->kind == PTX_OPERAND_LABEL) return bits >= 32;
  return value_fits(w, &value, o);
}

static bool pair_fits(const struct ptx_function *f, const struct walk *w, const struct ptx_shape *s,
                      const struct ptx_operand *o) {
  static const struct ptx_shape predicate = {.dest = true, .type = PTX_MOD_PRED};
  if (o->kind != PTX_OPERAND_PAIR) return s->kind == PTX_SHAPE_PAIR_OPTIONAL && value_fits(w, s, o);
  const struct ptx_operand *parts = &f->operands.data[o->first];
  return o->count == 2 && value_fits(w, s, &parts[0]) && value_fits(w, &predicate, &parts[1]);
}

static bool is_address(const struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_ADDRESS_REG)
    return (CLASS(ptx_reg_class(o->reg)) & (CLASS(PTX_B32) | CLASS(PTX_B64))) != 0;
  return o->kind == PTX_OPERAND_ADDRESS_SYMBOL || o->kind == PTX_OPERAND_ADDRESS_IMM;
}

static bool is_symbol(const struct ptx_operand *o) {
  if (o->kind == PTX_OPERAND_REG)
    return (CLASS(ptx_reg_class(o->reg)) & (CLASS(PTX_B32) | CLASS(PTX_B64))) != 0;
  return o->kind == PTX_OPERAND_SYMBOL;
}

static bool operand_fits(const struct ptx_function *f, const struct walk *w,
                         const struct ptx_shape *s, const struct ptx_operand *o) {
  switch ((enum ptx_shape_kind)s->kind) {
    case PTX_SHAPE_VALUE: return value_fits(w, s, o);
    case PTX_SHAPE_VECTOR: return vector_fits(f, w, s, o);
    case PTX_SHAPE_PAIR:
    case PTX_SHAPE_PAIR_OPTIONAL: return pair_fits(f, w, s, o);
    case PTX_SHAPE_PACK: return pack_fits(f, w, s, o);
    case PTX_SHAPE_ADDRESS: return is_address(o);
    case PTX_SHAPE_TENSOR: return o->kind == PTX_OPERAND_TENSOR;
    case PTX_SHAPE_IMMEDIATE: return o->kind == PTX_OPERAND_INT;
    case PTX_SHAPE_LABEL: return o->kind == PTX_OPERAND_LABEL;
    case PTX_SHAPE_SYMBOL:
    case PTX_SHAPE_CALLEE: return is_symbol(o);
    case PTX_SHAPE_LIST: return o->kind == PTX_OPERAND_LIST;
    case PTX_SHAPE_ANY: return true;
  }
  return false;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void note_need(struct walk *w, uint16_t need, uint16_t mod) {
  if (need == 0 || w->need_count == MAX_NEEDS) return;
  w->needs[w->need_count].need = need;
  w->needs[w->need_count++].mod = mod;
}

static void note_mod(struct walk *w, uint16_t mod) {
  if (ptx_mod_row(mod)->bits != 0) {
    if (w->type_count < MAX_TYPES) w->types[w->type_count++] = mod;
    w->last_type = mod;
  } else if (mod == PTX_MOD_V2) w->vector = 2;
  else if (mod == PTX_MOD_V4) w->vector = 4;
  else if (mod == PTX_MOD_V8) w->vector = 8;
}

static bool walk_mods(const struct ptx_function *f, const struct ptx_entry *e, struct walk *w,
                      struct ptx_need *need) {
  uint16_t state = ptx_op_row(e->op)->state;
  const uint16_t *mods = f->mods.data + e->first_mod;
  for (uint32_t i = 0; i < e->mod_count; i++) {
    const struct ptx_step *step = ptx_step(state, mods[i]);
    if (!step) {
      need->fault = PTX_FAULT_MODIFIER;
      need->mod = mods[i];
      return false;
    }
    state = step->state;
    note_need(w, step->need, mods[i]);
    note_mod(w, mods[i]);
  }
  w->end = ptx_state(state);
  if (w->end->form_count == 0) need->fault = PTX_FAULT_END;
  return w->end->form_count > 0;
}

/* The number of leading operands that fit. */
static uint32_t fitting_operands(const struct ptx_function *f, const struct ptx_entry *e,
                                 const struct walk *w, const struct ptx_form *form) {
  const struct ptx_shape *shapes = ptx_form_shapes(form);
  for (uint32_t i = 0; i < e->operand_count; i++)
    if (!operand_fits(f, w, &shapes[i], &f->operands.data[e->first_operand + i])) return i;
  return e->operand_count;
}

static bool in_range(const struct ptx_bounds *r, int64_t value) {
  if (value < r->low || value > r->high) return false;
  if (!r->doubles) return (value - r->low) % r->step == 0;
  return value % r->low == 0 && (value / r->low & (value / r->low - 1)) == 0;
}

/* Notes the first literal that is out of the range of its operand, the latest of all forms. */
static bool literals_fit(const struct ptx_function *f, const struct ptx_entry *e,
                         const struct ptx_form *form, struct ptx_need *need) {
  const struct ptx_shape *shapes = ptx_form_shapes(form);
  for (uint32_t i = 0; i < e->operand_count; i++) {
    const struct ptx_operand *o = &f->operands.data[e->first_operand + i];
    if (shapes[i].range == 0 || o->kind != PTX_OPERAND_INT) continue;
    if (in_range(ptx_bounds(shapes[i].range), o->imm)) continue;
    if (need->fault == PTX_FAULT_RANGE && i < need->operand) return false;
    need->fault = PTX_FAULT_RANGE;
    need->operand = (uint8_t)i;
    need->range = shapes[i].range;
    return false;
  }
  return true;
}

static const struct ptx_form *choose_form(const struct ptx_function *f, const struct ptx_entry *e,
                                          const struct walk *w, struct ptx_need *need) {
  need->fault = PTX_FAULT_COUNT;
  need->operand = 0;
  for (uint32_t i = 0; i < w->end->form_count; i++) {
    const struct ptx_form *form = ptx_state_form(w->end, i);
    if (e->operand_count < form->min_count || e->operand_count > form->shape_count) continue;
    uint32_t fitting = fitting_operands(f, e, w, form);
    if (fitting == e->operand_count) {
      if (!literals_fit(f, e, form, need)) continue;
      need->fault = PTX_FAULT_NONE;
      return form;
    }
    if (need->fault == PTX_FAULT_RANGE) continue; /* nearer than another kind of operand */
    if (need->fault == PTX_FAULT_COUNT || fitting > need->operand) need->operand = (uint8_t)fitting;
    need->fault = PTX_FAULT_OPERAND;
  }
  return NULL;
}

static bool find_form(const struct ptx_function *f, const struct ptx_entry *e, struct walk *w,
                      struct ptx_need *need) {
  *need = (struct ptx_need){0};
  if (!walk_mods(f, e, w, need)) return false;
  if (!ptx_reg_is_none(e->guard) && ptx_reg_class(e->guard) != PTX_PRED) {
    need->fault = PTX_FAULT_GUARD;
    return false;
  }
  need->form = choose_form(f, e, w, need);
  return need->form != NULL;
}

const struct ptx_form *ptx_find_form(const struct ptx_function *f, const struct ptx_entry *e,
                                     struct ptx_need *need) {
  struct walk w = {.is_video = e->op >= PTX_VADD && e->op <= PTX_VSET4};
  return find_form(f, e, &w, need) ? need->form : NULL;
}

/* --- requirements ----------------------------------------------------------------------------- */

/* Special registers have requirements of their own; they occur in mov only. */
static void note_specials(const struct ptx_function *f, const struct ptx_entry *e, struct walk *w) {
  for (uint32_t i = 0; e->op == PTX_MOV && i < e->operand_count; i++) {
    const struct ptx_operand *o = &f->operands.data[e->first_operand + i];
    if (o->kind == PTX_OPERAND_SPECIAL) note_need(w, ptx_special_row(o->special)->need, 0);
  }
}

enum nvm_status ptx_check_entry(const struct ptx_function *f, const struct ptx_entry *e,
                                const struct nvm_target *target, struct ptx_need *need) {
  struct walk w = {.is_video = e->op >= PTX_VADD && e->op <= PTX_VSET4};
  if (e->kind != PTX_INST) {
    *need = (struct ptx_need){.ptx = target->cpu->min_ptx};
    return NVM_OK;
  }
  if (!find_form(f, e, &w, need)) return NVM_REFUSED;
  need->ptx = target->cpu->min_ptx;
  note_need(&w, need->form->need, 0);
  note_specials(f, e, &w);
  for (uint32_t i = 0; i < w.need_count; i++) {
    const struct tgt_requirement *r = ptx_need(w.needs[i].need);
    if (!tgt_allows(target, r)) {
      need->fault = PTX_FAULT_TARGET;
      need->missing = r;
      need->mod = w.needs[i].mod;
      return NVM_REFUSED;
    }
    unsigned ptx = tgt_ptx_needed(target, r);
    if (ptx > need->ptx) need->ptx = (uint8_t)ptx;
    if (r->before_ptx) need->before_ptx = r->before_ptx;
  }
  return NVM_OK;
}

/* --- what the answer depends on --------------------------------------------------------------- */

enum { KEY_MODS = 4, KEY_OPERANDS = 16 };

_Static_assert(PTX_OPERAND_PAIR < 16, "a kind takes four bits of a key");

static inline void key_push(struct ptx_key *key, uint32_t byte) {
  key->operands[1] = key->operands[1] << 8 | key->operands[0] >> 56;
  key->operands[0] = key->operands[0] << 8 | byte;
}

/* Appends one byte per operand, one more for the count of a group and for a literal that may have a
 * range, two more for a special register; returns how many. */
static uint32_t key_push_operands(const struct ptx_function *f, uint32_t first, uint32_t count,
                                  bool ranged, struct ptx_key *key) {
  uint32_t n = count;
  for (uint32_t i = 0; i < count; i++) {
    const struct ptx_operand *o = &f->operands.data[first + i];
    bool has_class = o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_ADDRESS_REG;
    key_push(key,
             o->kind | (uint32_t)o->negated << 4 | (has_class ? ptx_reg_class(o->reg) << 5 : 0));
    if (o->kind == PTX_OPERAND_REG && o->count) return KEY_OPERANDS + 1; /* a selector */
    if (o->kind == PTX_OPERAND_INT && ranged) {
      if (o->imm < 0 || o->imm > UINT8_MAX) return KEY_OPERANDS + 1;
      key_push(key, (uint32_t)o->imm);
      n++;
    } else if (o->kind == PTX_OPERAND_SPECIAL) {
      key_push(key, o->special >> 8);
      key_push(key, o->special & 255);
      n += 2;
    } else if (o->kind >= PTX_OPERAND_VECTOR) {
      if (o->count > KEY_OPERANDS) return KEY_OPERANDS + 1;
      key_push(key, o->count);
      n += 1 + key_push_operands(f, o->first, o->count, ranged, key);
    }
  }
  return n;
}

bool ptx_check_key(const struct ptx_function *f, const struct ptx_entry *e, struct ptx_key *key) {
  uint64_t guard_class = ptx_reg_is_none(e->guard) ? PTX_PRED : ptx_reg_class(e->guard);
  *key = (struct ptx_key){.op = e->op | (uint64_t)e->mod_count << 16 |
                                (uint64_t)e->operand_count << 24 | guard_class << 32};
  if (e->mod_count > KEY_MODS || e->operand_count > KEY_OPERANDS) return false;
  for (uint32_t i = 0; i < e->mod_count; i++)
    key->mods = key->mods << 16 | f->mods.data[e->first_mod + i];
  bool ranged = ptx_op_row(e->op)->ranged;
  return key_push_operands(f, e->first_operand, e->operand_count, ranged, key) <= KEY_OPERANDS;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Op and modifiers: "ld.global.u32". */
static void write_mnemonic(const struct ptx_function *f, const struct ptx_entry *e,
                           struct textbuf *out) {
  textbuf_puts(out, ptx_op_row(e->op)->text);
  for (uint32_t i = 0; i < e->mod_count; i++)
    textbuf_puts(out, ptx_mod_row(f->mods.data[e->first_mod + i])->text);
}

/* "operand 2 must be 0 to 4, not 7"; also "-1 or 1", "4, 8 or 16", "24 to 256 in steps of 8". */
static void describe_range(const struct ptx_bounds *r, uint32_t operand, int64_t found,
                           struct textbuf *out) {
  bool few = r->doubles || r->high / r->step - r->low / r->step <= 2;
  textbuf_format(out, "operand %u must be ", operand + 1);
  if (!few && r->high == INT32_MAX && r->step > 1)
    textbuf_format(out, "a multiple of %u and ", (unsigned)r->step);
  textbuf_signed(out, r->low);
  for (int64_t v = r->low, next; few && v < r->high; v = next) {
    next = r->doubles ? v * 2 : v + r->step;
    textbuf_puts(out, next == r->high ? " or " : ", ");
    textbuf_signed(out, next);
  }
  if (!few) textbuf_puts(out, r->high == INT32_MAX ? " or more" : " to ");
  if (!few && r->high != INT32_MAX) {
    textbuf_signed(out, r->high);
    if (r->step > 1) textbuf_format(out, " in steps of %u", (unsigned)r->step);
  }
  textbuf_puts(out, ", not ");
  textbuf_signed(out, found);
}

void ptx_describe_need(const struct ptx_function *f, const struct ptx_entry *e,
                       const struct nvm_target *target, const struct ptx_need *need,
                       struct textbuf *out) {
  char buffer[256];
  write_mnemonic(f, e, out);
  textbuf_puts(out, ": ");
  switch ((enum ptx_fault)need->fault) {
    case PTX_FAULT_NONE: textbuf_puts(out, "nothing is wrong"); break;
    case PTX_FAULT_MODIFIER:
      textbuf_format(out, "'%s' is not allowed there", ptx_mod_row(need->mod)->text);
      break;
    case PTX_FAULT_END: textbuf_puts(out, "a modifier is missing at the end"); break;
    case PTX_FAULT_COUNT:
      textbuf_format(out, "does not take %u operands", (unsigned)e->operand_count);
      break;
    case PTX_FAULT_OPERAND:
      textbuf_format(out, "operand %u has the wrong kind or type", need->operand + 1u);
      break;
    case PTX_FAULT_RANGE:
      describe_range(ptx_bounds(need->range), need->operand,
                     f->operands.data[e->first_operand + need->operand].imm, out);
      break;
    case PTX_FAULT_GUARD: textbuf_puts(out, "the guard is not a predicate"); break;
    case PTX_FAULT_TARGET:
      if (need->mod) textbuf_format(out, "'%s' ", ptx_mod_row(need->mod)->text);
      tgt_describe_missing(target, need->missing, buffer, sizeof buffer);
      textbuf_puts(out, buffer);
      break;
  }
}
