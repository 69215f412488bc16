/* expand-asm: replaces inline assembly by the IR that computes the same.
 *
 * Purpose:   the headers of CUDA compute with half and bfloat16 in inline assembly, which no pass
 *            looks into: `__float2half(0)` is not a constant, two conversions are not one access
 *            wide, and the assembly, which clang marks convergent, may not be moved.
 * Algorithm: a text that is a sequence of declarations and of instructions in asm_ops.def, and
 *            whose operands have their sizes, is read into statements, which are then built as
 *            IR. Registers hold values of any type of their size. Braces are ignored, as long as
 *            no name is declared twice.
 * Requires:  nothing; before inlining, so that the small functions around the assembly are cheap.
 * Preserves: the control flow.
 * Cost:      linear in the texts, times the rows of the table.
 * Omits:     assembly that is volatile, or clobbers memory; predicated instructions.
 * Tests:     check/opt/expand-asm*.nvir, exec/half_asm.nvir. */
#include "analysis/effects.h"
#include "ir/asm_constraint.h"
#include "ir/build.h"
#include "opt/passes.h"
#include "opt/rewrite.h"

enum { MAX_REGISTERS = 16, MAX_STATEMENTS = 16, MAX_SOURCES = 3, WARP_LANES = 32 };

enum asm_form { BINARY, UNARY, CONVERT, PACK, CALL, COMPARE, SELECT, MOVE, WIDE };
enum asm_type { PRED, I16, I32, I64, HALF, BFLOAT, HALVES, BFLOATS, FLOAT, DOUBLE };

struct asm_op {
  const char *text;
  enum asm_form form;
  enum asm_type from, to;
  uint32_t what;
  uint16_t flags;
};

static const struct asm_op asm_ops[] = {
#define ASM_OP(text, form, from, to, what, flags) {text, form, from, to, what, flags},
#include "opt/gpu/asm_ops.def"
};

/* A register or a number; of a group {first, second} of registers, both. */
struct operand {
  bool is_number, is_group;
  uint8_t first, second;
  int64_t number;
};

struct statement {
  const struct asm_op *op;
  struct operand to, from[MAX_SOURCES];
};

/* An operand of the assembly, or a register that it declares. */
struct reg {
  struct nvm_text name; /* of a declared one */
  uint32_t bits;        /* 1: a predicate */
  bool is_set;
  uint8_t same;           /* the register itself, or of a tied input that of its output */
  struct nvm_value value; /* of any type of that size */
};

struct expander {
  struct nvm_function *f;
  struct rewrite rewrite;
  struct builder b;
  const char *at, *end; /* the rest of the text */
  struct reg regs[MAX_REGISTERS];
  uint32_t operand_count, reg_count, result_count;
  struct statement statements[MAX_STATEMENTS];
  uint32_t statement_count;
};

/* --- types ------------------------------------------------------------------------------------ */

static struct nvm_type ir_type(struct expander *x, enum asm_type type) {
  struct type_table *t = &x->f->module->types;
  switch (type) {
    case PRED: return TYPE_I1;
    case I16: return TYPE_I16;
    case I32: return TYPE_I32;
    case I64: return TYPE_I64;
    case HALF: return TYPE_HALF;
    case BFLOAT: return TYPE_BFLOAT;
    case HALVES: return type_vector(t, TYPE_HALF, 2);
    case BFLOATS: return type_vector(t, TYPE_BFLOAT, 2);
    case FLOAT: return TYPE_FLOAT;
    case DOUBLE: break;
  }
  return TYPE_DOUBLE;
}

static uint32_t type_bits(enum asm_type type) {
  switch (type) {
    case PRED: return 1;
    case I16:
    case HALF:
    case BFLOAT: return 16;
    case I64:
    case DOUBLE: return 64;
    case I32:
    case HALVES:
    case BFLOATS:
    case FLOAT: break;
  }
  return 32;
}

/* The bits of a value that an operand of the assembly can be; 0: of another type. */
static uint32_t value_bits(const struct nvm_function *f, struct nvm_type type) {
  const struct type_info *t = type_info(&f->module->types, type);
  switch (t->kind) {
    case TY_INT: return t->width == 16 || t->width == 32 || t->width == 64 ? t->width : 0;
    case TY_HALF:
    case TY_BFLOAT: return 16;
    case TY_FLOAT: return 32;
    case TY_DOUBLE: return 64;
    default: return 0;
  }
}

/* --- the text --------------------------------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void skip_spaces(struct expander *x) {
  while (x->at < x->end && is_space(*x->at)) x->at++;
}

static bool take(struct expander *x, char c) {
  skip_spaces(x);
  if (x->at == x->end || *x->at != c) return false;
  x->at++;
  return true;
}

static bool is_in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$';
}

/* The next name, number or instruction; empty if there is none. */
static struct nvm_text take_word(struct expander *x) {
  skip_spaces(x);
  const char *start = x->at;
  while (x->at < x->end && is_in_word(*x->at)) x->at++;
  return (struct nvm_text){start, (size_t)(x->at - start)};
}

/* Reads the decimal number that follows `skipped` characters of the word; false if these are no
 * digits, or many, or begin with 0, by which PTX marks octal and hexadecimal numbers. */
static bool read_number(struct nvm_text word, size_t skipped, int64_t *number) {
  enum { MAX_DIGITS = 5 };
  if (word.length <= skipped || word.length > skipped + MAX_DIGITS) return false;
  if (word.bytes[skipped] == '0' && word.length > skipped + 1) return false;
  *number = 0;
  for (size_t k = skipped; k < word.length; k++) {
    if (word.bytes[k] < '0' || word.bytes[k] > '9') return false;
    *number = 10 * *number + (word.bytes[k] - '0');
  }
  return true;
}

static uint32_t find_register(const struct expander *x, struct nvm_text name) {
  for (uint32_t r = x->operand_count; r < x->reg_count; r++)
    if (x->regs[r].name.length == name.length &&
        memcmp(x->regs[r].name.bytes, name.bytes, name.length) == 0)
      return r;
  return MAX_REGISTERS;
}

/* Reads `$n` or a declared name. */
static bool read_register(struct expander *x, struct nvm_text word, uint8_t *r) {
  int64_t number = MAX_REGISTERS;
  bool is_operand = word.length > 1 && *word.bytes == '$' && read_number(word, 1, &number);
  uint32_t found = is_operand ? (uint32_t)number : find_register(x, word);
  if (found >= (is_operand ? x->operand_count : x->reg_count)) return false;
  *r = is_operand ? x->regs[found].same : (uint8_t)found;
  return true;
}

static bool read_operand(struct expander *x, struct operand *o) {
  *o = (struct operand){0};
  if (take(x, '{')) {
    o->is_group = true;
    return read_register(x, take_word(x), &o->first) && take(x, ',') &&
           read_register(x, take_word(x), &o->second) && take(x, '}');
  }
  struct nvm_text word = take_word(x);
  o->is_number = read_number(word, 0, &o->number);
  if (text_is(word, "WARP_SZ")) o->is_number = true, o->number = WARP_LANES;
  return o->is_number || read_register(x, word, &o->first);
}

/* The bits of a register declared with this type; 0: another type. */
static uint32_t declared_bits(struct nvm_text type) {
  static const struct {
    const char *text;
    uint32_t bits;
  } types[] = {{".pred", 1}, {".b16", 16}, {".u16", 16}, {".s16", 16}, {".f16", 16},
               {".b32", 32}, {".u32", 32}, {".s32", 32}, {".f32", 32}, {".f16x2", 32},
               {".b64", 64}, {".u64", 64}, {".s64", 64}, {".f64", 64}};
  for (size_t n = 0; n < sizeof types / sizeof *types; n++)
    if (text_is(type, types[n].text)) return types[n].bits;
  return 0;
}

static bool read_declaration(struct expander *x) {
  uint32_t bits = declared_bits(take_word(x));
  do {
    struct nvm_text name = take_word(x);
    if (bits == 0 || name.length == 0 || x->reg_count == MAX_REGISTERS ||
        find_register(x, name) < MAX_REGISTERS)
      return false;
    x->regs[x->reg_count++] = (struct reg){.name = name, .bits = bits};
  } while (take(x, ','));
  return take(x, ';');
}

static const struct asm_op *find_op(struct nvm_text word) {
  for (size_t n = 0; n < sizeof asm_ops / sizeof *asm_ops; n++)
    if (text_is(word, asm_ops[n].text)) return &asm_ops[n];
  return NULL;
}

static uint32_t source_count(const struct asm_op *op) {
  switch (op->form) {
    case BINARY:
    case COMPARE:
    case PACK:
    case WIDE: return 2;
    case SELECT: return 3;
    case UNARY:
    case CONVERT:
    case MOVE: return 1;
    case CALL: break;
  }
  return op->what == INTRINSIC_fma ? 3 : 1;
}

/* Whether the operand is read as `bits` bits, and has been set. */
static bool is_source(const struct expander *x, const struct operand *o, uint32_t bits,
                      bool may_be_number) {
  if (o->is_number) return may_be_number;
  if (o->is_group) {
    const struct reg *a = &x->regs[o->first], *b = &x->regs[o->second];
    return a->is_set && b->is_set && 2 * a->bits == bits && a->bits == b->bits;
  }
  return x->regs[o->first].is_set && x->regs[o->first].bits == bits;
}

static bool is_input(const struct expander *x, const struct reg *r) {
  return r >= x->regs + x->result_count && r < x->regs + x->operand_count;
}

static bool takes_number(const struct asm_op *op, int64_t number) {
  return op->from == I32 || (op->from == I16 && number <= UINT16_MAX);
}

/* Checks the sizes of the statement's operands; the result is set then. */
static bool check_statement(struct expander *x, const struct statement *s) {
  const struct asm_op *op = s->op;
  uint32_t from = type_bits(op->from), to = type_bits(op->to);
  for (uint32_t k = 0; k < source_count(op); k++) {
    bool is_condition = op->form == SELECT && k == 2;
    if ((s->from[k].is_group && op->form != MOVE) ||
        (s->from[k].is_number && !takes_number(op, s->from[k].number)) ||
        !is_source(x, &s->from[k], is_condition ? 1 : from, !is_condition))
      return false;
  }
  struct reg *first = &x->regs[s->to.first], *second = &x->regs[s->to.second];
  if (s->to.is_number || (s->to.is_group && (op->form != MOVE || s->from[0].is_group)))
    return false;
  if (!s->to.is_group) second = first;
  else to /= 2;
  if (first->bits != to || second->bits != to || is_input(x, first) || is_input(x, second))
    return false;
  first->is_set = second->is_set = true;
  return true;
}

static bool read_statement(struct expander *x) {
  struct nvm_text word = take_word(x);
  if (text_is(word, ".reg")) return read_declaration(x);
  if (x->statement_count == MAX_STATEMENTS) return false;
  struct statement *s = &x->statements[x->statement_count++];
  s->op = find_op(word);
  if (!s->op || !read_operand(x, &s->to)) return false;
  for (uint32_t k = 0; k < source_count(s->op); k++)
    if (!take(x, ',') || !read_operand(x, &s->from[k])) return false;
  if (!take(x, ';') && x->at != x->end) return false;
  return check_statement(x, s);
}

/* Reads all of the text; false if a part of it is unknown. */
static bool read_text(struct expander *x) {
  for (;;) {
    skip_spaces(x);
    if (x->at == x->end) break;
    if (*x->at == '{' || *x->at == '}' || *x->at == ';') x->at++;
    else if (!read_statement(x)) return false;
  }
  for (uint32_t r = 0; r < x->result_count; r++)
    if (!x->regs[r].is_set) return false;
  return x->statement_count > 0;
}

/* --- building --------------------------------------------------------------------------------- */

static struct nvm_value as_type(struct expander *x, struct nvm_value v, struct nvm_type type) {
  return value_is_none(v) || type_equal(value_type(x->f, v), type)
             ? v
             : builder_unary(&x->b, OP_BITCAST, type, v);
}

/* A pair of registers as a vector of integers. */
static struct nvm_type pair_type(struct expander *x, uint32_t bits) {
  struct type_table *t = &x->f->module->types;
  return type_vector(t, type_int(t, bits), 2);
}

static struct nvm_value build_source(struct expander *x, const struct operand *o,
                                     enum asm_type type) {
  struct nvm_type want = ir_type(x, type);
  struct nvm_module *m = x->f->module;
  if (o->is_number) return const_int(m, want, (uint64_t)o->number);
  const struct reg *r = &x->regs[o->first];
  if (!o->is_group) return as_type(x, r->value, want);
  struct nvm_type pair = pair_type(x, r->bits), half = type_int(&m->types, r->bits);
  struct nvm_value v = const_undef(m, pair);
  v = builder_insert_lane(&x->b, v, as_type(x, r->value, half), 0);
  v = builder_insert_lane(&x->b, v, as_type(x, x->regs[o->second].value, half), 1);
  return as_type(x, v, want);
}

static void set_registers(struct expander *x, const struct operand *to, struct nvm_value v) {
  if (!to->is_group) {
    x->regs[to->first].value = v;
    return;
  }
  v = as_type(x, v, pair_type(x, x->regs[to->first].bits));
  x->regs[to->first].value = builder_extract_lane(&x->b, v, 0);
  x->regs[to->second].value = builder_extract_lane(&x->b, v, 1);
}

static struct nvm_value build_result(struct expander *x, const struct statement *s) {
  const struct asm_op *op = s->op;
  struct nvm_type type = ir_type(x, op->to);
  struct nvm_value v[MAX_SOURCES];
  uint32_t count = source_count(op);
  for (uint32_t k = 0; k < count; k++)
    v[k] = build_source(x, &s->from[k], op->form == SELECT && k == 2 ? PRED : op->from);
  switch (op->form) {
    case BINARY:
    case UNARY:
    case CONVERT: return builder_add(&x->b, (enum op)op->what, op->flags, type, v, count, 0);
    case PACK:
      for (uint32_t k = 0; k < count; k++)
        v[k] =
            builder_unary(&x->b, (enum op)op->what, type_scalar(&x->f->module->types, type), v[k]);
      return builder_insert_lane(
          &x->b, builder_insert_lane(&x->b, const_undef(x->f->module, type), v[1], 0), v[0], 1);
    case COMPARE: return builder_add(&x->b, OP_FCMP, op->flags, type, v, count, op->what);
    case SELECT: return builder_select(&x->b, v[2], v[0], v[1]);
    case MOVE: return v[0];
    case WIDE:
      for (uint32_t k = 0; k < count; k++)
        v[k] = builder_unary(&x->b, (enum op)op->flags, type, v[k]);
      return builder_binary(&x->b, (enum op)op->what, v[0], v[1]);
    case CALL: break;
  }
  return builder_intrinsic(&x->b, (enum intrinsic_id)op->what, op->flags, type, v, count);
}

/* The result of the call: the value of its only output, or a struct of them. */
static struct nvm_value build_outputs(struct expander *x, struct nvm_type type) {
  const struct type_table *t = &x->f->module->types;
  if (x->result_count == 1 && type_kind(t, type) != TY_STRUCT)
    return as_type(x, x->regs[0].value, type);
  struct nvm_value whole = const_undef(x->f->module, type);
  for (uint32_t r = 0; r < x->result_count; r++) {
    struct nvm_value operands[3] = {whole, as_type(x, x->regs[r].value, type_member(t, type, r)),
                                    const_int(x->f->module, TYPE_I32, r)};
    if (value_is_none(operands[1])) return operands[1];
    whole = builder_add(&x->b, OP_INSERTVALUE, 0, type, operands, 3, 0);
  }
  return whole;
}

/* --- the pass --------------------------------------------------------------------------------- */

/* Makes registers of the operands; false if one is not in a register, or has an unknown type. */
static bool set_up(struct expander *x, const struct nvm_inst *call,
                   const struct constant_info *assembly) {
  const struct nvm_module *m = x->f->module;
  struct asm_constraint list[MAX_REGISTERS];
  struct asm_constraints all = {.room = MAX_REGISTERS, .of = list};
  struct nvm_text text = module_text(m, assembly->str),
                  constraints = module_text(m, assembly->str2);
  struct nvm_text word;
  if (assembly->flags || memchr(constraints.bytes, '~', constraints.length) ||
      asm_constraints_read(constraints, &all, &word) || all.results == 0)
    return false;
  bool is_struct = type_kind(&m->types, call->type) == TY_STRUCT;
  x->at = text.bytes, x->end = text.bytes + text.length;
  x->operand_count = x->reg_count = all.count;
  x->result_count = all.results;
  x->statement_count = 0;
  if (!is_struct && all.results != 1) return false;
  if (call->operand_count != all.count - all.results + 1) return false;
  for (uint32_t k = 0; k < all.count; k++) {
    struct reg *r = &x->regs[k];
    *r = (struct reg){.is_set = k >= all.results, .same = (uint8_t)k};
    if (list[k].indirect || list[k].letter == 'm') return false;
    if (r->is_set) r->value = inst_operand(x->f, call, k - all.results);
    struct nvm_type type = r->is_set   ? value_type(x->f, r->value)
                           : is_struct ? type_member(&m->types, call->type, k)
                                       : call->type;
    r->bits = value_bits(x->f, type);
    if (r->bits == 0) return false;
    if (!list[k].is_tied) continue;
    struct reg *output = &x->regs[list[k].tied];
    if (output->bits != r->bits) return false;
    output->is_set = true;
    output->value = r->value;
    r->same = (uint8_t)list[k].tied;
  }
  return true;
}

/* The value of a call of a constant; VALUE_NULL: the call stays. */
static struct nvm_value expand(struct expander *x, struct nvm_inst_id id) {
  const struct nvm_inst *call = function_inst(x->f, id);
  const struct constant_info *assembly =
      constant_info(&x->f->module->constants, call_callee(x->f, call));
  struct nvm_type type = call->type;
  if (assembly->kind != CONST_ASM || !set_up(x, call, assembly) || !read_text(x)) return VALUE_NULL;
  x->b = builder_replacing(x->f, id);
  for (uint32_t n = 0; n < x->statement_count; n++)
    set_registers(x, &x->statements[n].to, build_result(x, &x->statements[n]));
  return build_outputs(x, type);
}

enum nvm_status expand_asm_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct expander *x = NULL;
  struct dominance dominance;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      if (function_inst(f, i)->op != OP_CALL ||
          value_kind(call_callee(f, function_inst(f, i))) != VALUE_CONST)
        continue;
      if (!x) {
        x = arena_alloc(env->arena, sizeof *x);
        if (!x || !rewrite_init(&x->rewrite, f, env->arena) ||
            !flow_dominance(env->flow, f, &dominance))
          return NVM_OUT_OF_MEMORY;
        x->f = f;
      }
      if (!dominance_reachable(&dominance, b))
        break; /* there, values may be each other's operands */
      struct nvm_value v = expand(x, i);
      if (value_is_none(v)) continue;
      rewrite_set(&x->rewrite, i, v);
      ++*env->statistic;
      *changed = true;
    }
  if (x) rewrite_apply(&x->rewrite);
  return NVM_OK;
}
