/* Constants: scalars by scalars, expressions by ir/eval.c and by the addresses of variables. */
#include "ir/gep.h"
#include "sim/ir/ir.h"

enum { MAX_DEPTH = 512 }; /* of constant expressions */

static bool constant_at(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count,
                        int depth);

static bool symbol_address(struct sim *s, struct nvm_value v, struct eval_lane *out, int depth) {
  struct ir_program *p = s->ir;
  *out = (struct eval_lane){0, false};
  if (value_kind(v) == VALUE_FUNCTION) {
    out->bits = window_base(WINDOW_CODE) + (uint64_t)p->code[value_index(v)] * 16;
    return true;
  }
  const struct nvm_global *g = module_global(p->module, v);
  if (g->is_alias) return depth < MAX_DEPTH && constant_at(s, g->aliasee, out, 1, depth + 1);
  out->bits = p->addresses[value_index(v)];
  return true;
}

static struct nvm_type type_of(const struct nvm_module *m, struct nvm_value v) {
  return module_value_type(m, v);
}

static bool constant_gep(struct sim *s, const struct constant_info *c, struct nvm_value v,
                         struct eval_lane *out, int depth) {
  struct nvm_module *m = s->ir->module;
  nvm_i128 *terms = arena_alloc(&s->arena, c->count * sizeof *terms);
  struct eval_lane p, index;
  struct gep_walk walk = gep_begin(m, c->aux);
  if (!terms || !constant_at(s, const_operand(m, v, 0), &p, 1, depth)) return false;
  for (uint32_t k = 1; k < c->count; k++) {
    struct nvm_value iv = const_operand(m, v, k);
    if (!constant_at(s, iv, &index, 1, depth)) return false;
    nvm_i128 i = eval_signed(index.bits, type_scalar_bits(&m->types, type_of(m, iv)));
    bool is_member;
    nvm_i128 bytes = (nvm_i128)gep_step(&walk, iv, &is_member);
    terms[k - 1] = is_member ? bytes : i * bytes;
  }
  uint32_t bits = type_scalar_bits(&m->types, ir_shape_number_type(m, c->type));
  *out = (struct eval_lane){0, p.poison};
  out->bits = ir_address_offset(0, bits, (uint64_t)p.bits, terms, c->count - 1, &out->poison);
  return true;
}

static bool constant_expression(struct sim *s, struct nvm_value v, struct eval_lane *out,
                                int depth) {
  struct nvm_module *m = s->ir->module;
  struct constant_info c = *constant_info(&m->constants, v); /* a copy: the table may move */
  struct eval_lane in[3];
  if (c.op == OP_GEP) return constant_gep(s, &c, v, out, depth);
  if (c.count == 0 || c.count > 3) return false;
  struct nvm_type operand = type_of(m, const_operand(m, v, 0));
  for (uint32_t k = 0; k < c.count; k++)
    if (!constant_at(s, const_operand(m, v, k), &in[k], 1, depth)) return false;
  struct nvm_type from = ir_shape_number_type(m, operand), to = ir_shape_number_type(m, c.type);
  if (c.op == OP_ADDRSPACECAST) {
    *out = in[0];
    out->bits += ir_address_base(m, operand) - ir_address_base(m, c.type);
    out->bits &= eval_mask(type_scalar_bits(&m->types, to));
    return true;
  }
  enum op op = (enum op)c.op;
  if (op == OP_PTRTOINT || op == OP_INTTOPTR) {
    op = type_scalar_bits(&m->types, from) < type_scalar_bits(&m->types, to) ? OP_ZEXT : OP_TRUNC;
    if (type_equal(from, to)) op = OP_BITCAST;
  }
  return eval_lane(m, op, c.flags, c.aux, to, from, in, out);
}

static bool constant_words(const struct nvm_module *m, struct nvm_value v, struct eval_lane *out,
                           uint32_t count) {
  uint64_t words[TYPE_MAX_INT_WORDS];
  if (count > TYPE_MAX_INT_WORDS || !const_words(m, v, words)) return false;
  for (uint32_t k = 0; k < count; k++) out[k] = (struct eval_lane){words[k], false};
  return true;
}

static bool constant_at(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count,
                        int depth) {
  struct nvm_module *m = s->ir->module;
  if (depth > MAX_DEPTH) return false;
  if (value_kind(v) == VALUE_GLOBAL || value_kind(v) == VALUE_FUNCTION)
    return symbol_address(s, v, out, depth);
  if (value_kind(v) != VALUE_CONST) return false;
  struct constant_info c = *constant_info(&m->constants, v);
  switch ((enum constant_kind)c.kind) {
    case CONST_BIG_INT: return constant_words(m, v, out, count);
    case CONST_INT:
    case CONST_FLOAT:
      return count == 1 ? eval_lane_of(m, v, out) : constant_words(m, v, out, count);
    case CONST_NULL:
    case CONST_ZERO:
    case CONST_UNDEF:
    case CONST_POISON:
      for (uint32_t i = 0; i < count; i++) out[i] = (struct eval_lane){0, c.kind == CONST_POISON};
      return true;
    case CONST_AGGREGATE:
    case CONST_BYTES: {
      uint64_t elements = type_info(&m->types, c.type)->count;
      for (uint64_t i = 0; i < elements; i++) {
        const struct ir_shape *shape = ir_shape_of(s, type_element(&m->types, c.type, i));
        if (!shape || shape->count > count ||
            !constant_at(s, const_element(m, v, i), out, shape->count, depth + 1))
          return false;
        out += shape->count;
        count -= shape->count;
      }
      return true;
    }
    case CONST_EXPR: return count == 1 && constant_expression(s, v, out, depth + 1);
    case CONST_NONE:
    case CONST_ASM:
    case CONST_METADATA:
    case CONST_NONE_TOKEN: break;
  }
  return false;
}

bool ir_constant(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count) {
  return constant_at(s, v, out, count, 0);
}
