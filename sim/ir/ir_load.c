/* A module of IR in the machine: its functions get numbers, its variables memory and their
 * initializers' values. The machine expects PTX's records of functions and their parameters
 * (sim_kernel, check_launch), so each function gets one. */
#include "analysis/launch_bounds.h"
#include "ir/debug.h"
#include "sim/ir/ir_decoder.h"
#include "sim/ir/ir_exec.h"
#include "sim/machine/finding.h"
#include "sim/machine/native.h"
#include "sim/machine/symbol.h"

#include <string.h>

/* --- variables -------------------------------------------------------------------------------- */

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
  if (!symbol_add_variable(s, name_of(p, &g->symbol), window, bytes, align, dynamic, &at))
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
  struct object *o = &s->objects.data[object_number(in_window(address))];
  if (constant_info(&m->constants, v)->kind == CONST_BYTES && value_kind(v) == VALUE_CONST) {
    struct nvm_text text = module_text(m, constant_info(&m->constants, v)->str);
    memcpy(o->bytes, text.bytes, text.length < o->size ? text.length : o->size);
    return true;
  }
  const struct ir_shape *shape = ir_shape_of(s, g->value_type);
  struct eval_lane *values =
      shape ? arena_alloc(&s->arena, (shape->count + 1) * sizeof *values) : NULL;
  if (!values || !ir_constant(s, v, values, shape->count)) {
    finding_refuse(s, SIM_BAD_PROGRAM, name_of(s->ir, &g->symbol), 0,
                   "the initializer is too large or cannot be evaluated");
    return false;
  }
  for (uint32_t i = 0; i < shape->count; i++)
    ir_memory_write_piece(o->bytes, NULL, &shape->pieces[i], values[i]);
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

/* --- functions -------------------------------------------------------------------------------- */

/* The source line, by `!dbg`. */
static void place(const struct sim *s, const struct func *f, uint32_t pc,
                  struct sim_finding *finding) {
  const struct nvm_module *m = s->ir->module;
  struct nvm_meta location = f->ir->locations.data[f->code[pc].entry];
  const struct meta_node *where = meta_as_node(&m->metadata, location);
  const struct meta_node *file = where ? debug_file(m, where) : NULL;
  if (!file) return;
  struct nvm_text name = debug_text(m, file, "filename");
  finding->source = strtab_intern(&s->ir->strings, name.bytes, name.length);
  finding->source_line = debug_number(m, where, "line");
}

static const struct front_end front = {ir_decode, ir_trace, place, ir_exec_flow};

/* The machine's record of a kernel's parameter. */
static struct ptx_variable describe_parameter(const struct nvm_function *f, uint32_t i) {
  static const uint16_t integers[] = {
      [1] = PTX_MOD_U8, [2] = PTX_MOD_U16, [4] = PTX_MOD_U32, [8] = PTX_MOD_U64};
  const struct type_table *types = &f->module->types;
  const struct nvm_attr *byval = function_parameter_attribute(f, i, ATTR_BYVAL);
  struct nvm_type type = byval ? byval->type : function_arg_type(f, i);
  uint64_t bytes = layout_alloc_size(&f->module->layout, types, type);
  struct ptx_variable v = {.space = PTX_MOD_PARAM, .type = PTX_MOD_B8};
  enum type_kind kind = type_info(types, type)->kind;
  bool number = kind == TY_INT || kind == TY_PTR;
  v.is_ptr = kind == TY_PTR && !byval;
  if (kind == TY_HALF) v.type = PTX_MOD_F16;
  else if (kind == TY_BFLOAT) v.type = PTX_MOD_BF16;
  else if (kind == TY_FLOAT) v.type = PTX_MOD_F32;
  else if (kind == TY_DOUBLE) v.type = PTX_MOD_F64;
  else if (number && bytes <= 8 && integers[bytes]) v.type = integers[bytes];
  else v.is_array = true, v.count = bytes;
  return v;
}

/* The machine's record of a function; parameters and bounds of the launch only of kernels. */
static struct ptx_function *describe(struct sim *s, uint32_t number,
                                     const struct annotations *all) {
  const struct nvm_function *f = s->ir->module->functions.data[number];
  struct ptx_function *p = arena_alloc(&s->arena, sizeof *p);
  if (!p) return NULL;
  ptx_function_init(p, &s->ir->names, &s->arena);
  p->name = name_of(s->ir, &f->symbol);
  p->is_entry = function_is_kernel(f);
  p->is_declaration = function_is_declaration(f);
  for (uint32_t i = 0; p->is_entry && i < function_arg_count(f); i++)
    if (!VEC_PUSH(&s->arena, &p->params, describe_parameter(f, i))) return NULL;
  if (!p->is_entry) return p;
  struct nvm_value kernel = value_make(VALUE_FUNCTION, number);
  launch_bounds_triple(all, kernel, "nvvm.reqntid", launch_bounds_required, p->performance.reqntid);
  launch_bounds_triple(all, kernel, "nvvm.maxntid", launch_bounds_most, p->performance.maxntid);
  return p;
}

static bool add_functions(struct sim *s) {
  struct ir_program *p = s->ir;
  struct nvm_module *m = p->module;
  const struct annotations *all = annotations_read(m, &s->arena);
  for (uint32_t i = 1; all && i < m->functions.count; i++) {
    const struct nvm_function *f = m->functions.data[i];
    struct func *func = arena_alloc(&s->arena, sizeof *func);
    if (!func || !(func->ptx = describe(s, i, all))) return false;
    if (f->intrinsic) continue;
    func->front = &front;
    func->name = func->ptx->name;
    func->ir = f;
    if (func->ptx->is_declaration) func->native = native_find(symbol_text(s, func->name));
    p->code[i] = s->funcs.count;
    if (!symbol_add_function(s, func)) return false;
  }
  return all != NULL;
}

/* --- the module ------------------------------------------------------------------------------- */

enum nvm_status ir_load(struct sim *s, struct nvm_module *m, struct nvm_text source) {
  struct ir_program *p = arena_alloc(&s->arena, sizeof *p);
  if (!p || !strtab_init(&p->strings, &s->arena)) return NVM_OUT_OF_MEMORY;
  p->module = m;
  p->names.arena = &s->arena;
  p->names.strings = &p->strings;
  p->names.target = strtab_intern(&p->strings, "sm_70", 5); /* lanes may diverge anywhere */
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
