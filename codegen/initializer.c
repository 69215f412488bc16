/* Initializers: the values of constant expressions, and the bytes of a whole initializer.
 *
 * PTX initializes with numbers, `symbol + number` and `generic(symbol) + number`. Expressions are
 * reduced to these; one that depends on the address of a symbol in another way is refused. The low
 * bytes of an address (a truncated ptrtoint) are the same sum with fewer `bits`. */
#include "codegen/part.h"
#include "codegen/symbol.h"
#include "ir/eval.h"
#include "ir/gep.h"

enum {
  MAX_DEPTH = 2000,      /* of nested constants; the parser's limit is lower */
  MAX_IMAGE = 1 << 30,   /* bytes, up to the last that is not zero */
  MAX_IMPLIED = 1 << 23, /* bytes of zeroinitializer in an image */
};

struct evaluator {
  struct lower *l;
  const char *why;
  int depth;
};

static bool refuse(struct evaluator *e, const char *why) {
  if (!e->why) e->why = why;
  return false;
}

/* Bits of an integer, float or pointer. */
static uint32_t bits_of(const struct evaluator *e, struct nvm_type type) {
  return (uint32_t)layout_bits(&e->l->module->layout, &e->l->module->types, type);
}

static uint32_t space_of(const struct evaluator *e, struct nvm_value v) {
  struct nvm_type type = module_value_type(e->l->module, v);
  return type_info(&e->l->module->types, type)->width;
}

static bool evaluate(struct evaluator *e, struct nvm_value v, struct constant_value *out);

/* --- Symbols --- */

/* A placeholder in tables of virtual functions. No device runtime defines these functions; their
 * address is null. */
static bool is_pure_virtual(const struct lower *l, struct nvm_value v) {
  if (value_kind(v) != VALUE_FUNCTION) return false;
  const struct nvm_function *f = module_function(l->module, v);
  struct nvm_text name = module_text(l->module, f->symbol.name);
  return function_is_declaration(f) &&
         (text_is(name, "__cxa_pure_virtual") || text_is(name, "__cxa_deleted_virtual"));
}

static bool evaluate_symbol(struct evaluator *e, struct nvm_value v, struct constant_value *out) {
  struct nvm_value base = module_resolve_alias(e->l->module, v);
  if (value_kind(base) == VALUE_CONST) return evaluate(e, base, out);
  *out = (struct constant_value){.symbol = base,
                                 .bits = bits_of(e, module_value_type(e->l->module, v))};
  if (is_pure_virtual(e->l, base)) out->symbol = VALUE_NULL;
  if (value_kind(base) != VALUE_GLOBAL) return true;
  const struct nvm_global *g = module_global(e->l->module, base);
  out->generic = g->address_space == 0;
  if (g->address_space == 3)
    return refuse(e, "the address of a shared variable is not known before launch");
  if (g->address_space == 5)
    return refuse(e, "the address of a local variable is not known before launch");
  return true;
}

/* --- Expressions --- */

/* A sum has at most one symbol; the difference of two addresses in one object is a number. */
static bool add(struct evaluator *e, struct constant_value *a, const struct constant_value *b,
                bool subtract) {
  if (!value_is_none(b->symbol)) {
    bool same = value_equal(a->symbol, b->symbol) && a->generic == b->generic;
    if (subtract ? !same : !value_is_none(a->symbol))
      return refuse(e, "it adds or subtracts two addresses");
    a->symbol = subtract ? VALUE_NULL : b->symbol;
    a->generic = !subtract && b->generic;
  }
  a->number = (subtract ? a->number - b->number : a->number + b->number) & eval_mask(a->bits);
  return true;
}

/* An operation on numbers. Poison becomes 0. */
static bool compute(struct evaluator *e, const struct constant_info *c, struct constant_value *a,
                    const struct constant_value *b) {
  struct nvm_module *m = e->l->module;
  struct nvm_type operand = type_int(&m->types, a->bits); /* pointers are numbers here */
  struct nvm_type result = c->op == OP_ICMP ? TYPE_I1 : operand;
  const struct eval_lane in[2] = {{a->number, false}, {b->number, false}};
  struct eval_lane out;
  if (!eval_lane(m, (enum op)c->op, c->flags, c->aux, result, operand, in, &out))
    return refuse(e, "its value is undefined");
  *a = (struct constant_value){.bits = type_info(&m->types, result)->width,
                               .number = out.poison ? 0 : out.bits};
  return true;
}

static bool binary(struct evaluator *e, const struct constant_info *c, struct constant_value *a,
                   const struct constant_value *b) {
  bool same = value_equal(a->symbol, b->symbol) && a->generic == b->generic;
  bool numbers = value_is_none(a->symbol) && value_is_none(b->symbol);
  if (c->op == OP_ICMP && !same) return refuse(e, "it compares addresses");
  if (numbers || c->op == OP_ICMP) return compute(e, c, a, b);
  if (c->op == OP_ADD || c->op == OP_SUB) return add(e, a, b, c->op == OP_SUB);
  return refuse(e, "it computes with an address other than by a sum");
}

/* Between a specific and the generic address space. Global and constant addresses become generic by
 * generic(); shared and local ones are not constants. */
static bool cast_space(struct evaluator *e, struct nvm_value from, uint32_t to,
                       struct constant_value *v) {
  uint32_t space = space_of(e, from);
  v->bits = layout_pointer_bits(&e->l->module->layout, to);
  if (space == to) return true;
  if (value_is_none(v->symbol)) {
    if ((space <= 1 && to <= 1) || v->number == 0) return true;
    return refuse(e, "a number becomes an address of another space");
  }
  if (value_kind(v->symbol) == VALUE_FUNCTION) return true;
  v->generic = to == 0;
  return true;
}

static bool cast(struct evaluator *e, const struct constant_info *c, struct nvm_value from,
                 struct constant_value *v) {
  uint32_t to = bits_of(e, c->type);
  if (c->op == OP_ADDRSPACECAST)
    return cast_space(e, from, type_info(&e->l->module->types, c->type)->width, v);
  if (c->op >= OP_FPTRUNC && c->op <= OP_SITOFP)
    return refuse(e, "it converts between number formats");
  if (c->op == OP_SEXT) v->number = (nvm_u128)eval_signed(v->number, v->bits) & eval_mask(to);
  if (to > v->bits && !value_is_none(v->symbol)) return refuse(e, "it widens an address");
  v->bits = to;
  v->number &= eval_mask(to);
  return true;
}

/* Adds the offset of a getelementptr, in bytes, to *sum. */
static bool offset_of(struct evaluator *e, const struct constant_info *c, struct nvm_value v,
                      nvm_u128 *sum) {
  struct gep_walk walk = gep_begin(e->l->module, c->aux);
  for (uint32_t k = 1; k < c->count; k++) {
    struct nvm_value operand = const_operand(e->l->module, v, k);
    struct constant_value index;
    if (!evaluate(e, operand, &index)) return false;
    if (!value_is_none(index.symbol)) return refuse(e, "an index is an address");
    bool is_member;
    nvm_u128 bytes = gep_step(&walk, operand, &is_member);
    *sum += is_member ? bytes : (nvm_u128)eval_signed(index.number, index.bits) * bytes;
  }
  return true;
}

static bool evaluate_gep(struct evaluator *e, const struct constant_info *c, struct nvm_value v,
                         struct constant_value *out) {
  nvm_u128 sum = 0;
  if (!evaluate(e, const_operand(e->l->module, v, 0), out) || !offset_of(e, c, v, &sum))
    return false;
  out->number = (out->number + sum) & eval_mask(out->bits);
  return true;
}

static bool evaluate_select(struct evaluator *e, struct nvm_value v, struct constant_value *out) {
  struct constant_value condition;
  if (!evaluate(e, const_operand(e->l->module, v, 0), &condition)) return false;
  if (!value_is_none(condition.symbol)) return refuse(e, "it depends on an address");
  return evaluate(e, const_operand(e->l->module, v, condition.number & 1 ? 1 : 2), out);
}

/* extractelement of a vector constant. */
static bool evaluate_lane(struct evaluator *e, struct nvm_value v, struct constant_value *out) {
  struct constant_value index;
  if (!evaluate(e, const_operand(e->l->module, v, 1), &index)) return false;
  struct nvm_value lane =
      const_element(e->l->module, const_operand(e->l->module, v, 0), (uint64_t)index.number);
  if (value_is_none(lane)) return refuse(e, "it takes a lane of an expression");
  return evaluate(e, lane, out);
}

static bool evaluate_expression(struct evaluator *e, struct nvm_value v,
                                struct constant_value *out) {
  struct constant_info c = *constant_info(&e->l->module->constants, v);
  enum op op = (enum op)c.op;
  if (op == OP_GEP) return evaluate_gep(e, &c, v, out);
  if (op == OP_SELECT) return evaluate_select(e, v, out);
  if (op == OP_EXTRACTELEMENT) return evaluate_lane(e, v, out);
  struct nvm_value first = const_operand(e->l->module, v, 0);
  if (!op_is_cast(op) && op != OP_ICMP && !(op >= OP_FIRST_INT && op <= OP_LAST_INT))
    return refuse(e, "PTX has no such expression");
  if (!evaluate(e, first, out)) return false;
  if (op_is_cast(op)) return cast(e, &c, first, out);
  struct constant_value second;
  if (!evaluate(e, const_operand(e->l->module, v, 1), &second)) return false;
  return binary(e, &c, out, &second);
}

/* --- Values --- */

static bool evaluate_constant(struct evaluator *e, struct nvm_value v, struct constant_value *out) {
  struct constant_info c = *constant_info(&e->l->module->constants, v);
  const struct type_table *t = &e->l->module->types;
  if (c.kind == CONST_EXPR && !type_is_vector(t, c.type) && !type_is_aggregate(t, c.type))
    return evaluate_expression(e, v, out);
  if (type_is_vector(t, c.type) || type_is_aggregate(t, c.type))
    return refuse(e, "it computes with vectors or aggregates");
  *out = (struct constant_value){.bits = bits_of(e, c.type)};
  switch ((enum constant_kind)c.kind) {
    case CONST_INT: const_is_int(e->l->module, v, &out->number); return true;
    case CONST_FLOAT: out->number = c.bits; return true;
    case CONST_NULL:
    case CONST_ZERO:
    case CONST_UNDEF:
    case CONST_POISON: return true;
    default: return refuse(e, "it is neither a number nor an address");
  }
}

static bool evaluate(struct evaluator *e, struct nvm_value v, struct constant_value *out) {
  if (++e->depth > MAX_DEPTH) return refuse(e, "it is nested too deeply");
  bool ok = value_kind(v) == VALUE_CONST ? evaluate_constant(e, v, out)
            : value_kind(v) == VALUE_GLOBAL || value_kind(v) == VALUE_FUNCTION
                ? evaluate_symbol(e, v, out)
                : refuse(e, "it is not a constant");
  e->depth--;
  return ok;
}

/* --- Images --- */

struct image_writer {
  struct lower *l;
  struct image *out;
  uint64_t written; /* bytes that the source lists, zeros too */
};

/* PTX has a short form for zeros at the end only; without a limit, a few bytes of source could
 * require gigabytes of PTX. */
static bool fits(struct image_writer *p, uint64_t end) {
  if (end <= MAX_IMAGE && end <= p->written + MAX_IMPLIED) return true;
  p->out->failure = "it has more than 8 MiB of zeroinitializer before other values";
  return false;
}

static bool extend_beyond(struct image_writer *p, uint64_t end) {
  struct textbuf *b = &p->out->bytes;
  if (!fits(p, end)) return false;
  textbuf_zeros(b, end - b->length);
  return b->length == end;
}

/* Extends the image with zeros up to `end`. */
static inline bool extend(struct image_writer *p, uint64_t end) {
  return end <= p->out->bytes.length || extend_beyond(p, end);
}

/* Writes the bytes of a number; zeros at its end do not extend the image. */
static void write_word(struct image_writer *p, uint64_t number, uint64_t at) {
  uint32_t bytes = number ? 8 - (uint32_t)__builtin_clzll(number) / 8 : 0;
  if (bytes == 0 || !extend(p, at + bytes)) return;
  for (uint32_t k = 0; k < bytes; k++, number >>= 8)
    p->out->bytes.bytes[at + k] = (char)(unsigned char)number;
}

static void write_number(struct image_writer *p, nvm_u128 number, uint64_t at, uint64_t bytes) {
  p->written += bytes;
  write_word(p, (uint64_t)number, at);
  if (number >> 64) write_word(p, (uint64_t)(number >> 64), at + 8);
}

static void write_scalar(struct image_writer *p, struct nvm_value v, struct nvm_type type,
                         uint64_t at) {
  struct constant_value value;
  struct evaluator e = {.l = p->l};
  if (!evaluate(&e, v, &value)) {
    if (!p->out->failure) p->out->failure = e.why;
    return;
  }
  uint64_t bytes = layout_store_size(&p->l->module->layout, &p->l->module->types, type);
  if (value_is_none(value.symbol)) {
    write_number(p, value.number, at, bytes);
    return;
  }
  p->written += bytes;
  if (value.bits % 8 != 0) {
    p->out->failure = "it is a part of an address that is not whole bytes";
    return;
  }
  if (!fits(p, at + bytes)) return;
  struct image_address a = {at, value.bits / 8, value};
  if (a.bytes > bytes) a.bytes = (uint32_t)bytes;
  VEC_PUSH(&p->l->function_arena, &p->out->addresses, a);
}

static void write_constant(struct image_writer *p, struct nvm_value v, struct nvm_type type,
                           uint64_t at);

/* Lanes of i1, i4 and the like are packed bit by bit. */
static void write_bits(struct image_writer *p, struct nvm_value v, struct nvm_type type,
                       uint64_t at) {
  const struct type_table *t = &p->l->module->types;
  uint64_t lanes = type_info(t, type)->count, bit = 0;
  for (uint64_t i = 0; i < lanes; i++) {
    struct constant_value value;
    struct evaluator e = {.l = p->l};
    if (!evaluate(&e, const_element(p->l->module, v, i), &value) || !value_is_none(value.symbol)) {
      p->out->failure = "a lane is not a number";
      return;
    }
    for (uint32_t k = 0; k < value.bits; k++, bit++) {
      if (!(value.number >> k & 1) || !extend(p, at + bit / 8 + 1)) continue;
      p->out->bytes.bytes[at + bit / 8] |= (char)(1 << bit % 8);
    }
  }
}

/* Elements of one type: in large initializers mostly numbers, which are handled first. */
static void write_row(struct image_writer *p, struct nvm_value v, uint32_t count,
                      struct nvm_type type, uint64_t each, uint64_t at) {
  const struct nvm_module *m = p->l->module;
  uint64_t bytes = layout_store_size(&m->layout, &m->types, type);
  for (uint32_t i = 0; i < count && !p->out->bytes.arena->failed; i++, at += each) {
    struct nvm_value element = const_operand(m, v, i);
    const struct constant_info *c =
        value_kind(element) == VALUE_CONST ? constant_info(&m->constants, element) : NULL;
    if (c && bytes <= 8 && (c->kind == CONST_INT || c->kind == CONST_FLOAT))
      write_number(p, c->bits, at, bytes);
    else write_constant(p, element, type, at);
  }
}

static void write_elements(struct image_writer *p, struct nvm_value v, struct nvm_type type,
                           uint64_t at) {
  const struct type_table *t = &p->l->module->types;
  const struct nvm_layout *layout = &p->l->module->layout;
  struct nvm_type first = type_element(t, type, 0);
  if (type_is_vector(t, type) && layout_bits(layout, t, first) % 8 != 0) {
    write_bits(p, v, type, at);
    return;
  }
  uint32_t count = constant_info(&p->l->module->constants, v)->count;
  if (type_kind(t, type) != TY_STRUCT) {
    write_row(p, v, count, first, layout_element_offset(layout, t, type, 1), at);
    return;
  }
  for (uint32_t i = 0; i < count && !p->out->bytes.arena->failed; i++)
    write_constant(p, const_operand(p->l->module, v, i), type_element(t, type, i),
                   at + layout_element_offset(layout, t, type, i));
}

static void write_text(struct image_writer *p, struct nvm_text text, uint64_t at) {
  size_t length = text.length;
  p->written += length;
  while (length > 0 && text.bytes[length - 1] == 0) length--;
  if (length && extend(p, at + length)) memcpy(p->out->bytes.bytes + at, text.bytes, length);
}

static void write_constant(struct image_writer *p, struct nvm_value v, struct nvm_type type,
                           uint64_t at) {
  if (value_kind(v) != VALUE_CONST) {
    write_scalar(p, v, type, at);
    return;
  }
  const struct nvm_module *m = p->l->module;
  const struct constant_info *c = constant_info(&m->constants, v);
  nvm_u128 number = c->bits;
  switch ((enum constant_kind)c->kind) {
    case CONST_NULL:
    case CONST_ZERO:
    case CONST_UNDEF:
    case CONST_POISON: break;
    case CONST_INT: const_is_int(m, v, &number); /* fallthrough */
    case CONST_FLOAT:
      write_number(p, number, at, layout_store_size(&m->layout, &m->types, type));
      break;
    case CONST_BIG_INT:
    case CONST_BYTES: write_text(p, module_text(m, c->str), at); break;
    case CONST_AGGREGATE: write_elements(p, v, type, at); break;
    default: write_scalar(p, v, type, at); break;
  }
}

void initializer_image(struct lower *l, struct nvm_value initializer, struct image *out) {
  struct image_writer p = {l, out, 0};
  *out = (struct image){.failure = NULL};
  textbuf_init(&out->bytes, &l->function_arena);
  if (!value_is_none(initializer))
    write_constant(&p, initializer, module_value_type(l->module, initializer), 0);
}
