/* Types as lists of scalars; see ir.h. */
#include "sim/ir/ir.h"

struct nvm_type ir_shape_number_type(const struct nvm_module *m, struct nvm_type type) {
  const struct type_info *info = type_info(&m->types, type);
  if (info->kind != TY_PTR) return type;
  return layout_pointer_bits(&m->layout, info->width) == 32 ? TYPE_I32 : TYPE_I64;
}

struct shape_maker {
  struct sim *sim;
  const struct nvm_module *m;
  VEC(struct ir_piece) pieces;
  bool failed;
};

static void add_piece(struct shape_maker *s, struct nvm_type type, uint64_t bit, uint32_t bits) {
  struct ir_piece p = {type, bit, bits};
  if (bits == 0 || s->pieces.count >= IR_MAX_SCALARS || !VEC_PUSH(&s->sim->arena, &s->pieces, p))
    s->failed = true;
}

/* Integers above 128 bits, which only variables have, in words. */
static void add_words(struct shape_maker *s, uint64_t bit, uint32_t bits) {
  for (uint32_t k = 0; k < bits; k += 64)
    add_piece(s, TYPE_I64, bit + k, bits - k < 64 ? bits - k : 64);
}

static void add_pieces(struct shape_maker *s, struct nvm_type type, uint64_t bit) {
  const struct type_table *t = &s->m->types;
  const struct nvm_layout *l = &s->m->layout;
  const struct type_info *info = type_info(t, type);
  if (s->failed || info->kind == TY_VOID) return;
  bool is_vector = type_is_vector(t, type);
  if (is_vector || type_is_aggregate(t, type)) {
    uint64_t lane_bits = is_vector ? layout_bits(l, t, info->element) : 0;
    if (info->count > IR_MAX_SCALARS) s->failed = true;
    for (uint64_t i = 0; i < info->count && !s->failed; i++)
      add_pieces(s, type_element(t, type, i),
                 bit + (is_vector ? i * lane_bits : 8 * layout_element_offset(l, t, type, i)));
  } else {
    struct nvm_type number = ir_shape_number_type(s->m, type);
    uint32_t bits = type_scalar_bits(t, number);
    if (bits > 128) add_words(s, bit, bits);
    else add_piece(s, number, bit, bits);
  }
}

const struct ir_shape *ir_shape_of(struct sim *s, struct nvm_type type) {
  struct ir_program *p = s->ir;
  if (!VEC_RESERVE(&s->arena, &p->shapes, (uint64_t)type.index + 1)) return NULL;
  while (p->shapes.count <= type.index) p->shapes.data[p->shapes.count++] = (struct ir_shape){0};
  struct ir_shape *shape = &p->shapes.data[type.index];
  if (!shape->known) {
    struct shape_maker maker = {.sim = s, .m = p->module};
    add_pieces(&maker, type, 0);
    if (maker.failed) return NULL;
    *shape = (struct ir_shape){maker.pieces.data, maker.pieces.count, true};
  }
  return shape;
}
