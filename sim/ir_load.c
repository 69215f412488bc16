/* A module of IR in the machine: its functions get numbers, its variables memory and their
 * initializers' values. The machine asks for PTX's records of functions and their parameters
 * (sim_kernel, check_launch), so each function gets one that says what it is.
 *
 * Constants are evaluated here too: scalars by scalars, expressions by ir/eval.c and, where they
 * speak of addresses, by the addresses that variables have got. */
#include "sim/ir.h"

#include "ir/gep.h"

#include <string.h>

enum { MOST_DEPTH = 512 }; /* of constant expressions */

/* --- types
 * ------------------------------------------------------------------------------------------ */

struct nvm_type ir_number_type(const struct nvm_module *m, struct nvm_type type) {
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

static void add_pieces(struct shape_maker *s, struct nvm_type type, uint64_t bit) {
  const struct type_table *t = &s->m->types;
  const struct nvm_layout *l = &s->m->layout;
  const struct type_info *info = type_info(t, type);
  if (s->failed || info->kind == TY_VOID) return;
  if (info->kind == TY_STRUCT) {
    for (uint32_t i = 0; i < info->count; i++)
      add_pieces(s, type_member(t, type, i), bit + 8 * layout_member_offset(l, t, type, i));
  } else if (info->kind == TY_ARRAY || info->kind == TY_VECTOR) {
    uint64_t step = info->kind == TY_ARRAY ? 8 * layout_alloc_size(l, t, info->element)
                                           : layout_bits(l, t, info->element);
    if (info->count > IR_MOST_SCALARS) s->failed = true;
    for (uint64_t i = 0; i < info->count && !s->failed; i++)
      add_pieces(s, info->element, bit + i * step);
  } else {
    struct ir_piece p = {ir_number_type(s->m, type), bit, 0};
    p.bits = type_scalar_bits(t, p.type);
    if (p.bits == 0 || s->pieces.count >= IR_MOST_SCALARS ||
        !VEC_PUSH(&s->sim->arena, &s->pieces, p))
      s->failed = true;
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

enum window ir_window(uint32_t address_space) {
  switch (address_space) {
    case 1: return WINDOW_GLOBAL;
    case 3:
    case 7: return WINDOW_SHARED;
    case 4: return WINDOW_CONST;
    case 5: return WINDOW_LOCAL;
    case 101: return WINDOW_PARAM;
    default: return WINDOW_COUNT;
  }
}

/* --- addresses
 * -------------------------------------------------------------------------------------- */

/* The bytes [0, end] around an address that inbounds may reach; shared and local memory are one
 * piece each here, so that only leaving them is seen. */
static bool leaves_object(uint64_t p, uint64_t q) {
  return window_of(p) != window_of(q) ||
         in_window(p) >> OBJECT_SHIFT != in_window(q) >> OBJECT_SHIFT;
}

uint64_t ir_offset(uint16_t flags, uint32_t bits, uint64_t p, const nvm_i128 *terms, uint32_t count,
                   bool *poison) {
  nvm_i128 sum = 0, limit = (nvm_i128)1 << (bits - 1), all = limit * 2;
  bool wraps = false, negative = false;
  for (uint32_t k = 0; k < count; k++) {
    sum += terms[k];
    wraps |= terms[k] < -limit || terms[k] >= limit || sum < -limit || sum >= limit;
    negative |= terms[k] < 0;
  }
  uint64_t q = (uint64_t)((nvm_u128)(p + (uint64_t)sum) & eval_mask(bits));
  bool signed_flags = flags & (INST_INBOUNDS | INST_NUSW);
  if (signed_flags && (wraps || (nvm_i128)p + sum < 0 || (nvm_i128)p + sum >= all)) *poison = true;
  if ((flags & INST_NUW) && (negative || wraps || (nvm_i128)p + sum >= all)) *poison = true;
  if ((flags & INST_INBOUNDS) && sum != 0 && leaves_object(p, q)) *poison = true;
  return q;
}

/* --- constants
 * -------------------------------------------------------------------------------------- */

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
  if (g->is_alias) return depth < MOST_DEPTH && constant_at(s, g->aliasee, out, 1, depth + 1);
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
  uint32_t bits = type_scalar_bits(&m->types, ir_number_type(m, c->type));
  *out = (struct eval_lane){0, p.poison};
  out->bits = ir_offset(0, bits, (uint64_t)p.bits, terms, c->count - 1, &out->poison);
  return true;
}

uint64_t ir_space_base(const struct nvm_module *m, struct nvm_type pointer) {
  enum window w = ir_window(type_info(&m->types, type_scalar(&m->types, pointer))->width);
  return w == WINDOW_COUNT ? 0 : window_base(w);
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
  struct nvm_type from = ir_number_type(m, operand), to = ir_number_type(m, c.type);
  if (c.op == OP_ADDRSPACECAST) {
    *out = in[0];
    out->bits += ir_space_base(m, operand) - ir_space_base(m, c.type);
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

static bool constant_at(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count,
                        int depth) {
  struct nvm_module *m = s->ir->module;
  if (depth > MOST_DEPTH) return false;
  if (value_kind(v) == VALUE_GLOBAL || value_kind(v) == VALUE_FUNCTION)
    return symbol_address(s, v, out, depth);
  if (value_kind(v) != VALUE_CONST) return false;
  struct constant_info c = *constant_info(&m->constants, v);
  switch ((enum constant_kind)c.kind) {
    case CONST_INT:
    case CONST_FLOAT: return eval_lane_of(m, v, out);
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
    case CONST_BIG_INT:
    case CONST_ASM:
    case CONST_METADATA:
    case CONST_NONE_TOKEN: break;
  }
  return false;
}

bool ir_constant(struct sim *s, struct nvm_value v, struct eval_lane *out, uint32_t count) {
  return constant_at(s, v, out, count, 0);
}

/* --- variables
 * -------------------------------------------------------------------------------------- */

static struct nvm_str name_of(struct ir_program *p, const struct symbol *symbol) {
  struct nvm_text text = module_text(p->module, symbol->name);
  return strtab_intern(&p->strings, text.bytes, text.length);
}

static bool place_variable(struct sim *s, uint32_t index, bool dynamic) {
  struct ir_program *p = s->ir;
  const struct nvm_global *g = &p->module->globals.data[index];
  const struct type_table *t = &p->module->types;
  bool shared = g->address_space == 3, unsized = shared && value_is_none(g->initializer);
  if (g->is_alias || unsized != dynamic || !type_is_sized(t, g->value_type)) return true;
  uint64_t bytes = layout_alloc_size(&p->module->layout, t, g->value_type);
  uint64_t align = layout_align(&p->module->layout, t, g->value_type);
  if (layout_align_bytes(g->align_log2) > align) align = layout_align_bytes(g->align_log2);
  enum window window = shared                  ? WINDOW_SHARED
                       : g->address_space == 4 ? WINDOW_CONST
                                               : WINDOW_GLOBAL;
  struct sim_symbol at;
  if (!sim_place_variable(s, name_of(p, &g->symbol), window, bytes, align, dynamic, &at))
    return false;
  p->addresses[index] = at.address + (g->address_space == 0 ? window_base(window) : 0);
  return true;
}

static bool initialize(struct sim *s, const struct nvm_global *g, uint64_t address) {
  struct nvm_module *m = s->ir->module;
  struct nvm_value v = g->initializer;
  if (g->is_alias || value_is_none(v) || g->address_space == 3 || const_is_undef_or_poison(m, v) ||
      const_is_zero(m, v) ||
      (value_kind(v) == VALUE_CONST && constant_info(&m->constants, v)->kind == CONST_ZERO))
    return true;
  struct object *o = &s->objects.data[in_window(address) >> OBJECT_SHIFT];
  if (constant_info(&m->constants, v)->kind == CONST_BYTES && value_kind(v) == VALUE_CONST) {
    struct nvm_text text = module_text(m, constant_info(&m->constants, v)->str);
    memcpy(o->bytes, text.bytes, text.length < o->size ? text.length : o->size);
    return true;
  }
  const struct ir_shape *shape = ir_shape_of(s, g->value_type);
  struct eval_lane *values =
      shape ? arena_alloc(&s->arena, (shape->count + 1) * sizeof *values) : NULL;
  if (!values || !ir_constant(s, v, values, shape->count)) {
    sim_refuse(s, SIM_BAD_PROGRAM, name_of(s->ir, &g->symbol), 0,
               "the initializer is too large or nothing that can be evaluated");
    return false;
  }
  for (uint32_t i = 0; i < shape->count; i++)
    ir_write_piece(o->bytes, NULL, &shape->pieces[i], values[i]);
  return true;
}

static bool place_variables(struct sim *s) {
  struct nvm_module *m = s->ir->module;
  for (int round = 0; round < 3; round++) {
    for (uint32_t i = 1; i < m->globals.count; i++)
      if (!place_variable(s, i, round > 0)) return false;
    s->shared_static = align_up(s->shared_static, 16);
  }
  for (uint32_t i = 1; i < m->globals.count; i++)
    if (!initialize(s, &m->globals.data[i], s->ir->addresses[i])) return false;
  return true;
}

/* --- functions
 * -------------------------------------------------------------------------------------- */

/* The record the machine has of a function; parameters only of kernels, whose number a launch
 * checks. */
static struct ptx_function *describe(struct sim *s, const struct nvm_function *f) {
  struct ptx_function *p = arena_alloc(&s->arena, sizeof *p);
  if (!p) return NULL;
  ptx_function_init(p, &s->ir->names, &s->arena);
  p->name = name_of(s->ir, &f->symbol);
  p->is_entry = function_is_kernel(f);
  p->is_declaration = function_is_declaration(f);
  for (uint32_t i = 0; p->is_entry && i < function_arg_count(f); i++)
    if (!VEC_PUSH(&s->arena, &p->params, (struct ptx_variable){.space = PTX_MOD_PARAM}))
      return NULL;
  return p;
}

static bool add_functions(struct sim *s) {
  struct ir_program *p = s->ir;
  struct nvm_module *m = p->module;
  for (uint32_t i = 1; i < m->functions.count; i++) {
    const struct nvm_function *f = m->functions.data[i];
    struct func *func = arena_alloc(&s->arena, sizeof *func);
    if (!func || !(func->ptx = describe(s, f))) return false;
    if (f->intrinsic) continue;
    func->name = func->ptx->name;
    func->ir = f;
    func->trace = trace_ir;
    if (func->ptx->is_declaration) func->native = native_find(sim_text(s, func->name));
    p->code[i] = s->funcs.count;
    struct sim_symbol symbol = {WINDOW_CODE, (uint64_t)p->code[i] * 16, 0, func};
    if (!VEC_PUSH(&s->arena, &s->funcs, func) || !sim_add_symbol(s, func->name, symbol))
      return false;
  }
  return true;
}

/* --- the interface
 * ------------------------------------------------------------------------------------ */

uint32_t ir_line(const struct ir_program *p, uint32_t position) {
  return position == 0 || p->lines.starts.count == 0 ? 0 : lines_find(&p->lines, position, NULL);
}

enum nvm_status sim_load_ir(struct sim *s, struct nvm_module *m, struct nvm_text source) {
  struct ir_program *p = arena_alloc(&s->arena, sizeof *p);
  if (!p || !strtab_init(&p->strings, &s->arena)) return NVM_OUT_OF_MEMORY;
  p->module = m;
  p->names.arena = &s->arena;
  p->names.strings = &p->strings;
  p->names.target = strtab_intern(&p->strings, "sm_70", 5); /* lanes may part anywhere */
  p->addresses = arena_alloc(&s->arena, m->globals.count * sizeof *p->addresses);
  p->code = arena_alloc(&s->arena, m->functions.count * sizeof *p->code);
  s->ir = p;
  s->module = &p->names;
  bool known =
      source.length == 0 || source.length > UINT32_MAX || lines_list(&p->lines, source, &s->arena);
  bool ok = p->addresses && p->code && known && add_functions(s) && place_variables(s);
  if (s->finding.kind) return NVM_REFUSED;
  return ok ? NVM_OK : NVM_OUT_OF_MEMORY;
}
