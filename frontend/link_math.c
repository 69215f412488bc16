/* Calls of mathematical intrinsics become calls of the library's functions: llvm.sin.f32 of
 * @__nv_sinf, llvm.pow.f64 of @__nv_pow.
 *
 * PTX has no sine but a coarse one, so that clang's headers call libdevice; front ends that write
 * the intrinsic (Clang's builtins, Numba, OpenCL's and Julia's optimizers) expect the compiler to
 * do so. It happens before optimizing, that the bodies be linked, asked about the target and
 * inlined like all others. What PTX can do stays: an approximation where the call allows it (afn),
 * 2^x in f32, log2 of half and bfloat. A vector is taken apart; half and bfloat are computed as
 * float, whose result is within an ulp of theirs. */
#include "frontend/link.h"

#include "ir/build.h"
#include "ir/intrinsic.h"

/* When the PTX instruction suffices for f32: never; in calls marked afn, and for half and bfloat
 * (its error is far below their ulp); always. */
enum exactness { NEVER, IF_ALLOWED, IF_NARROW, ALWAYS };

static const struct math_row {
  uint16_t intrinsic;
  uint8_t approximated; /* enum exactness */
  const char *names[2]; /* without __nv_; the second one for the second result */
} math_rows[] = {
    {INTRINSIC_sin, IF_ALLOWED, {"sin"}},
    {INTRINSIC_cos, IF_ALLOWED, {"cos"}},
    {INTRINSIC_tan, IF_ALLOWED, {"tan"}},
    {INTRINSIC_tanh, IF_ALLOWED, {"tanh"}},
    {INTRINSIC_exp, IF_ALLOWED, {"exp"}},
    {INTRINSIC_exp10, IF_ALLOWED, {"exp10"}},
    {INTRINSIC_log, IF_ALLOWED, {"log"}},
    {INTRINSIC_log10, IF_ALLOWED, {"log10"}},
    {INTRINSIC_pow, IF_ALLOWED, {"pow"}},
    {INTRINSIC_exp2, ALWAYS, {"exp2"}},
    {INTRINSIC_log2, IF_NARROW, {"log2"}},
    {INTRINSIC_asin, NEVER, {"asin"}},
    {INTRINSIC_acos, NEVER, {"acos"}},
    {INTRINSIC_atan, NEVER, {"atan"}},
    {INTRINSIC_sinh, NEVER, {"sinh"}},
    {INTRINSIC_cosh, NEVER, {"cosh"}},
    {INTRINSIC_atan2, NEVER, {"atan2"}},
    {INTRINSIC_sincos, IF_ALLOWED, {"sin", "cos"}},
    {INTRINSIC_sincospi, NEVER, {"sinpi", "cospi"}},
};

static const struct math_row *row_of(uint32_t intrinsic) {
  for (size_t k = 0; k < sizeof math_rows / sizeof *math_rows; k++)
    if (math_rows[k].intrinsic == intrinsic) return &math_rows[k];
  return NULL;
}

/* Whether the symbol is a function of `count` arguments of that type, which is also its result
 * type. */
static bool suits(const struct nvm_module *m, struct nvm_value v, enum type_kind kind,
                  uint32_t count) {
  if (value_is_none(v) || value_kind(v) != VALUE_FUNCTION) return false;
  const struct nvm_function *f = module_function(m, v);
  if (function_arg_count(f) != count || type_info(&m->types, f->type)->flags & TYPE_VARIADIC ||
      type_kind(&m->types, function_result_type(f)) != kind)
    return false;
  for (uint32_t k = 0; k < count; k++)
    if (type_kind(&m->types, function_arg_type(f, k)) != kind) return false;
  return true;
}

static struct nvm_value find(const struct nvm_module *m, struct nvm_text name) {
  struct nvm_str s = strtab_find(&m->strings, name.bytes, name.length);
  return s.index ? module_find_symbol(m, s) : VALUE_NULL;
}

bool link_module_has_math(const void *library, struct nvm_text name, enum type_kind type,
                          uint32_t count) {
  const struct nvm_module *m = library;
  return suits(m, find(m, name), type, count);
}

struct math_library {
  link_has_math *has;
  const void *state;
};

/* The scalar function __nv_BASE of `m`, declared if only the library has it; VALUE_NULL if neither
 * does. */
static struct nvm_value math_function(struct nvm_module *m, const struct math_library *library,
                                      const char *base, struct nvm_type scalar, uint32_t count) {
  enum type_kind kind = type_kind(&m->types, scalar);
  char bytes[32] = "__nv_";
  struct nvm_text name = {bytes, strlen(bytes)};
  while (*base && name.length < sizeof bytes - 2) bytes[name.length++] = *base++;
  if (kind == TY_FLOAT) bytes[name.length++] = 'f';
  struct nvm_value ours = find(m, name);
  if (!value_is_none(ours)) return suits(m, ours, kind, count) ? ours : VALUE_NULL;
  if (!library->has || !library->has(library->state, name, kind, count)) return VALUE_NULL;
  ours = module_add_function(m, strtab_intern(&m->strings, name.bytes, name.length));
  if (value_is_none(ours)) return ours;
  struct nvm_function *f = module_function(m, ours);
  f->type = type_function(&m->types, scalar, (struct nvm_type[]){scalar, scalar}, count, false);
  f->symbol.defined = f->symbol.declared_only = true;
  return ours;
}

/* --- one call --------------------------------------------------------------------------------- */

/* A new instruction before `at`, with its debug location. */
static struct nvm_value before(struct nvm_function *f, struct nvm_inst_id at, enum op op,
                               struct nvm_type type, const struct nvm_value *operands,
                               uint32_t count, uint32_t aux) {
  uint16_t flags = op == OP_CALL ? function_inst(f, at)->flags : 0;
  struct builder b = builder_replacing(f, at);
  return builder_add(&b, op, flags, type, operands, count, aux);
}

/* Replaces the call by another instruction with the same name and users. */
static void become(struct nvm_function *f, struct nvm_inst_id i, enum op op,
                   const struct nvm_value *operands, uint32_t count) {
  inst_remove_operands(f, i, 0, function_inst(f, i)->operand_count);
  for (uint32_t k = 0; k < count; k++) inst_add_operand(f, i, operands[k]);
  struct nvm_inst *inst = function_inst(f, i);
  inst->op = op;
  inst->flags = 0;
  inst->aux = 0;
  f->attachments.data[i.index] = 0;
}

struct math_call {
  struct nvm_function *f;
  struct nvm_inst_id at;
  struct nvm_value arguments[2];
  struct nvm_value callee;
  uint32_t count, site;
  bool is_vector;
  struct nvm_type lane, computed; /* of one lane; of the computation */
};

/* The library's result for one lane, as `computed`. */
static struct nvm_value lane_result(const struct math_call *c, uint32_t lane) {
  struct nvm_value operands[3], extract[2];
  for (uint32_t k = 0; k < c->count; k++) {
    operands[k] = extract[0] = c->arguments[k];
    extract[1] = const_int(c->f->module, TYPE_I32, lane);
    if (c->is_vector) operands[k] = before(c->f, c->at, OP_EXTRACTELEMENT, c->lane, extract, 2, 0);
    if (!type_equal(c->lane, c->computed))
      operands[k] = before(c->f, c->at, OP_FPEXT, c->computed, &operands[k], 1, 0);
  }
  operands[c->count] = c->callee;
  return before(c->f, c->at, OP_CALL, c->computed, operands, c->count + 1, c->site);
}

static void replace_lanes(const struct math_call *c, struct nvm_type type) {
  struct nvm_module *m = c->f->module;
  uint32_t lanes = c->is_vector ? (uint32_t)type_info(&m->types, type)->count : 1;
  struct nvm_value insert[3] = {const_poison(m, type)};
  bool narrowed = !type_equal(c->lane, c->computed);
  for (uint32_t lane = 0; lane < lanes; lane++) {
    struct nvm_value result = lane_result(c, lane);
    if (!c->is_vector) {
      become(c->f, c->at, OP_FPTRUNC, &result, 1);
      return;
    }
    insert[1] = narrowed ? before(c->f, c->at, OP_FPTRUNC, c->lane, &result, 1, 0) : result;
    insert[2] = const_int(m, TYPE_I32, lane);
    if (lane + 1 == lanes) become(c->f, c->at, OP_INSERTELEMENT, insert, 3);
    else insert[0] = before(c->f, c->at, OP_INSERTELEMENT, type, insert, 3, 0);
  }
}

/* Replaces the call at c->at by a call of c->callee, one per lane. */
static void call_library(struct math_call *c) {
  struct nvm_type type = function_inst(c->f, c->at)->type;
  if (c->is_vector || !type_equal(c->lane, c->computed)) replace_lanes(c, type);
  else inst_set_operand(c->f, c->at, function_inst(c->f, c->at)->operand_count - 1, c->callee);
}

/* The same for a call with two results, by two functions. */
static void call_for_each(struct math_call *c, const struct nvm_value callees[2]) {
  struct nvm_inst_id call = c->at;
  struct nvm_type pair = function_inst(c->f, call)->type;
  struct nvm_type type = type_element(&c->f->module->types, pair, 0);
  struct nvm_value whole = const_poison(c->f->module, pair);
  for (uint32_t k = 0; k < 2; k++) {
    struct nvm_value one = before(c->f, call, OP_CALL, type,
                                  (struct nvm_value[]){c->arguments[0], callees[k]}, 2, c->site);
    if (value_is_none(one)) return;
    c->at.index = value_index(one);
    c->callee = callees[k];
    call_library(c);
    struct nvm_value insert[3] = {whole, one, const_int(c->f->module, TYPE_I32, k)};
    if (k == 0) whole = before(c->f, call, OP_INSERTVALUE, pair, insert, 3, 0);
    else become(c->f, call, OP_INSERTVALUE, insert, 3);
  }
}

static void link_call(struct nvm_function *f, struct nvm_inst_id i,
                      const struct math_library *library) {
  struct nvm_module *m = f->module;
  const struct nvm_inst *inst = function_inst(f, i);
  struct nvm_value callee = call_callee(f, inst), functions[2];
  if (value_kind(callee) != VALUE_FUNCTION) return;
  uint32_t intrinsic = module_function(m, callee)->intrinsic;
  const struct math_row *row = intrinsic ? row_of(intrinsic) : NULL;
  if (!row || !type_equal(call_site_of(f, inst)->function_type, module_function(m, callee)->type))
    return;
  struct nvm_type type = value_type(f, inst_operand(f, inst, 0)),
                  lane = type_scalar(&m->types, type);
  bool is_double = type_kind(&m->types, lane) == TY_DOUBLE;
  bool allowed = inst->flags & INST_AFN && row->approximated != NEVER;
  bool is_narrow = row->approximated == IF_NARROW && !type_equal(lane, TYPE_FLOAT);
  if (!is_double && (row->approximated == ALWAYS || allowed || is_narrow)) return;
  struct math_call c = {.f = f, .at = i, .count = call_arg_count(f, inst), .lane = lane};
  c.is_vector = type_is_vector(&m->types, type);
  c.computed = is_double ? lane : TYPE_FLOAT;
  for (uint32_t k = 0; k < c.count && k < 2; k++) c.arguments[k] = inst_operand(f, inst, k);
  for (uint32_t k = 0; k < 2 && row->names[k]; k++) {
    functions[k] = math_function(m, library, row->names[k], c.computed, c.count);
    if (value_is_none(functions[k]) || module_function(m, functions[k]) == f) return;
  }
  c.callee = functions[0];
  c.site =
      module_call_site(m, (struct call_site){.function_type = module_function(m, c.callee)->type});
  if (!c.site) return;
  if (row->names[1]) call_for_each(&c, functions);
  else call_library(&c);
}

bool link_math(struct nvm_module *into, link_has_math *has, const void *library) {
  const struct math_library from = {has, library};
  bool any = false;
  for (uint32_t n = 1; n < into->functions.count && !any; n++)
    any = row_of(into->functions.data[n]->intrinsic) != NULL;
  for (uint32_t n = 1, end = into->functions.count; any && n < end; n++) {
    struct nvm_function *f = into->functions.data[n];
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i)
        if (function_inst(f, i)->op == OP_CALL) link_call(f, i, &from);
  }
  return !module_out_of_memory(into);
}
