/* Calls: arguments into .param variables of a scope around the call, the result out of one.
 *
 *   {
 *   .param .b32 param0;
 *   st.param.b32 [param0], %r1;
 *   .param .b32 retval0;
 *   call.uni (retval0), f, (param0);
 *   ld.param.b32 %r2, [retval0];
 *   }
 *
 * A callee that is not known, or whose .param variables differ from those of the call's type, is
 * called through a register with a .callprototype (as in LLVM 20; ptxas refuses a direct call).
 * Variable arguments are stored in an area of the caller's frame, each with its own alignment; its
 * address is the callee's last parameter (as in LLVM 19). */
#include "codegen/abi.h"
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/intrinsic.h"
#include "codegen/memory.h"
#include "codegen/report.h"
#include "codegen/symbol.h"
#include "codegen/value.h"
#include "target/reflect.h"

/* --- the callee ------------------------------------------------------------------------ */

struct call {
  const struct nvm_inst *inst;
  const struct call_site *site;
  struct nvm_value callee; /* aliases resolved */
  bool is_direct;
  struct abi abi;
  uint32_t fixed; /* arguments before the variable ones */
  uint32_t count; /* all arguments */
  bool is_variadic;
};

struct call_state {
  VEC(struct nvm_str) argument_names; /* `param0`, … */
  bool *warned;                       /* by function: it was reported as undefined */
};

static struct call_state *state_of(struct lower *l) {
  if (l->calls) return l->calls;
  struct call_state *s = arena_alloc(&l->arena, sizeof *s);
  if (!s) return NULL;
  s->warned = arena_alloc(&l->arena, l->module->functions.count * sizeof *s->warned);
  return l->calls = s->warned ? s : NULL;
}

static struct nvm_meta attached(const struct lower *l, const char *kind) {
  uint32_t chain = l->f->attachments.data[l->inst.index];
  struct nvm_str key =
      chain ? strtab_find(&l->module->strings, kind, strlen(kind)) : (struct nvm_str){0};
  return key.index ? module_attachment(l->module, chain, key) : (struct nvm_meta){0};
}

static bool same_variable(struct passing a, struct passing b) {
  return a.kind == b.kind && a.bytes == b.bytes && (a.kind != PASS_BYTES || a.align == b.align);
}

/* Whether a call of this ABI has the same .param variables as the function; ptr and i64 do. */
static bool has_same_abi(struct lower *l, struct abi call, struct nvm_value callee) {
  struct abi own = abi_of_function(l, callee);
  if (type_equal(call.type, own.type)) return true;
  const struct type_info *a = type_info(&l->module->types, call.type),
                         *b = type_info(&l->module->types, own.type);
  if (((a->flags | b->flags) & TYPE_VARIADIC) || a->count != b->count) return false;
  call.function = callee;
  for (uint32_t k = 0; k < a->count; k++)
    if (!same_variable(abi_param(l, &call, k), abi_param(l, &own, k))) return false;
  return same_variable(abi_result(l, &call), abi_result(l, &own));
}

static struct call describe_call(struct lower *l, const struct nvm_inst *i) {
  struct call c = {.inst = i, .site = call_site_of(l->f, i)};
  c.callee = module_resolve_alias(l->module, call_callee(l->f, i));
  const struct type_info *type = type_info(&l->module->types, c.site->function_type);
  c.abi = (struct abi){VALUE_NULL,
                       c.site->function_type,
                       attrlist_info(&l->module->attributes, c.site->attributes),
                       {0}};
  c.is_direct = value_kind(c.callee) == VALUE_FUNCTION && has_same_abi(l, c.abi, c.callee);
  if (c.is_direct) c.abi.function = c.callee;
  else c.abi.call_align = attached(l, "callalign");
  c.count = call_arg_count(l->f, i);
  c.fixed = type->count < c.count ? (uint32_t)type->count : c.count;
  c.is_variadic = (type->flags & TYPE_VARIADIC) != 0;
  return c;
}

static struct nvm_value argument(const struct lower *l, const struct call *c, uint32_t k) {
  return inst_operand(l->f, c->inst, k);
}

/* --- arguments -------------------------------------------------------------------------------- */

/* A prepared argument: its values are in registers before the scope begins. */
struct outgoing {
  struct passing how;
  const struct ptx_operand *parts; /* NULL: byval */
  struct address object;           /* byval: the object that is copied */
  bool is_signed;
  struct nvm_str name;
};

/* A byval pointer has the alignment of its attributes. */
static struct outgoing prepare_argument(struct lower *l, const struct call *c, uint32_t k) {
  struct outgoing o = {.how = abi_param(l, &c->abi, k)};
  if (o.how.kind == PASS_NOTHING) return o;
  if (o.how.is_byval) {
    o.object = address_of(l, argument(l, c, k));
    if (o.object.align < o.how.pointer_align) o.object.align = o.how.pointer_align;
    return o;
  }
  o.parts = value_operands(l, argument(l, c, k));
  o.is_signed = abi_attr(l, &c->abi, k, ATTR_SIGNEXT) != NULL;
  return o;
}

static void store_argument(struct lower *l, const struct outgoing *o) {
  ptx_add_variable(l->pf, abi_variable(&o->how, o->name));
  if (o->how.is_byval) abi_copy_bytes(l, abi_address(&o->how, o->name), o->object, o->how.bytes);
  else if (o->parts) abi_store(l, &o->how, o->name, o->parts, o->is_signed);
}

/* --- variable arguments ----------------------------------------------------------------------- */

/* The offset of a variable argument in the area, whose first `*end` bytes are used. */
static uint64_t place_variable(const struct lower *l, struct nvm_type type, uint64_t *end,
                               uint32_t *align) {
  const struct type_table *t = &l->module->types;
  uint32_t own = layout_align(&l->module->layout, t, type);
  uint64_t at = (*end + own - 1) / own * own;
  if (own > *align) *align = own;
  *end = at + layout_alloc_size(&l->module->layout, t, type);
  return at;
}

/* The type of argument k in the area: of its value, or of the object of its byval pointer. */
static struct nvm_type variable_type(const struct lower *l, const struct call *c, uint32_t k,
                                     bool *is_byval) {
  const struct nvm_attr *byval = abi_attr(l, &c->abi, k, ATTR_BYVAL);
  *is_byval = byval && type_is_sized(&l->module->types, byval->type);
  return *is_byval ? byval->type : value_type(l->f, argument(l, c, k));
}

static void store_variable(struct lower *l, const struct call *c, uint32_t k, struct address to) {
  bool is_byval;
  struct nvm_type type = variable_type(l, c, k, &is_byval);
  if (!is_byval) {
    const struct ptx_operand *parts = value_operands(l, argument(l, c, k));
    if (parts) memory_store_parts(l, type, parts, to, (struct memory_access){0});
    return;
  }
  struct address from = address_of(l, argument(l, c, k));
  to.align = from.align = layout_align(&l->module->layout, &l->module->types, type);
  uint64_t bytes = layout_alloc_size(&l->module->layout, &l->module->types, type);
  block_copy_bytes(l, to, from, bytes, false);
}

/* Stores the variable arguments; the address of the area is the last argument. */
static struct outgoing prepare_variables(struct lower *l, const struct call *c) {
  uint64_t bytes = 0;
  uint32_t align = 1;
  bool is_byval;
  for (uint32_t k = c->fixed; k < c->count; k++)
    place_variable(l, variable_type(l, c, k, &is_byval), &bytes, &align);
  struct ptx_operand *pointer = arena_alloc(&l->function_arena, sizeof *pointer);
  struct outgoing o = {.how = abi_variadic_area(l), .parts = pointer};
  if (!pointer) return o;
  *pointer = ptx_i(0);
  if (bytes == 0) return o;
  uint64_t area = frame_reserve(l, bytes, align), end = 0;
  for (uint32_t k = c->fixed; k < c->count; k++) {
    uint64_t at = place_variable(l, variable_type(l, c, k, &is_byval), &end, &align);
    store_variable(l, c, k, frame_address(l, area + at));
  }
  *pointer = ptx_r(frame_pointer(l, area, 0));
  return o;
}

/* --- the call --------------------------------------------------------------------------------- */

static bool is_noreturn(const struct lower *l, const struct call *c) {
  const struct attr_table_data *t = &l->module->attributes;
  if (attrset_find(t, c->abi.attributes->function, ATTR_NORETURN)) return true;
  return c->is_direct &&
         attrset_find(t, abi_of_function(l, c->callee).attributes->function, ATTR_NORETURN);
}

/* `prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);` */
static struct nvm_str add_prototype(struct lower *l, const struct call *c,
                                    const struct passing *result, const struct outgoing *out,
                                    uint32_t count) {
  struct ptx_module *m = &l->ptx;
  struct nvm_str none = {0};
  struct ptx_prototype p = {.name = abi_numbered_name(l, "", "prototype_", m->prototypes.count)};
  p.first_result = m->variables.count;
  if (result->kind != PASS_NOTHING) VEC_PUSH(m->arena, &m->variables, abi_variable(result, none));
  p.first_param = m->variables.count;
  p.result_count = p.first_param - p.first_result;
  for (uint32_t k = 0; k < count; k++)
    VEC_PUSH(m->arena, &m->variables, abi_variable(&out[k].how, none));
  p.param_count = m->variables.count - p.first_param;
  p.noreturn = p.result_count == 0 && is_noreturn(l, c) && abi_may_write_noreturn(l);
  if (VEC_PUSH(m->arena, &m->prototypes, p))
    ptx_add_entry(l->pf,
                  (struct ptx_entry){.kind = PTX_PROTOTYPE, .first_mod = m->prototypes.count - 1});
  return p.name;
}

static void emit_call(struct lower *l, const struct call *c, const struct passing *result,
                      struct nvm_str result_name, const struct outgoing *out, uint32_t count,
                      struct ptx_reg callee) {
  struct ptx_operand operands[4], *list = arena_alloc(&l->function_arena, count * sizeof *list);
  if (!list) return;
  uint32_t n = 0;
  struct nvm_str prototype = {0};
  if (!c->is_direct) prototype = add_prototype(l, c, result, out, count);
  if (result->kind != PASS_NOTHING) {
    struct ptx_operand one = ptx_symbol(result_name, 0);
    operands[n++] = ptx_group(l->pf, PTX_OPERAND_LIST, &one, 1);
  }
  operands[n++] = c->is_direct ? ptx_symbol(names_of_symbol(l, c->callee), 0) : ptx_r(callee);
  for (uint32_t k = 0; k < count; k++) list[k] = ptx_symbol(out[k].name, 0);
  if (count || !c->is_direct) operands[n++] = ptx_group(l->pf, PTX_OPERAND_LIST, list, count);
  if (!c->is_direct) operands[n++] = ptx_symbol(prototype, 0);
  ptx_add(l->pf, PTX_CALL, c->is_direct ? PTX_MODS(PTX_MOD_UNI) : NULL, operands, n);
}

/* Prepares all arguments that have bytes; returns their number. */
static uint32_t prepare_arguments(struct lower *l, const struct call *c, struct outgoing *out) {
  struct call_state *state = state_of(l);
  uint32_t count = 0;
  if (!state) return 0;
  for (uint32_t k = 0; k < c->fixed; k++) {
    struct outgoing o = prepare_argument(l, c, k);
    if (o.how.kind != PASS_NOTHING) out[count++] = o;
  }
  if (c->is_variadic) out[count++] = prepare_variables(l, c);
  for (uint32_t k = 0; k < count; k++) {
    if (k == state->argument_names.count)
      VEC_PUSH(&l->arena, &state->argument_names, abi_numbered_name(l, "", "param", k));
    if (k < state->argument_names.count) out[k].name = state->argument_names.data[k];
  }
  return count;
}

static void lower_ordinary_call(struct lower *l, const struct call *c) {
  struct outgoing *out = arena_alloc(&l->function_arena, (c->fixed + 1) * sizeof *out);
  if (!out) return;
  struct passing result = abi_result(l, &c->abi);
  uint32_t count = prepare_arguments(l, c, out);
  struct ptx_reg callee = {0};
  if (!c->is_direct) callee = value_reg(l, c->callee, 0);
  ptx_add_entry(l->pf, (struct ptx_entry){.kind = PTX_SCOPE_BEGIN});
  for (uint32_t k = 0; k < count; k++) store_argument(l, &out[k]);
  struct nvm_str result_name =
      result.kind == PASS_NOTHING ? (struct nvm_str){0} : names_of_local(l, "retval0");
  if (result.kind != PASS_NOTHING) ptx_add_variable(l->pf, abi_variable(&result, result_name));
  emit_call(l, c, &result, result_name, out, count, callee);
  if (result.kind != PASS_NOTHING && l->f->uses.data[l->inst.index] != 0)
    abi_load(l, &result, result_name, value_result(l, l->inst));
  ptx_add_entry(l->pf, (struct ptx_entry){.kind = PTX_SCOPE_END});
}

/* Undefined functions of CUDA C++ and libdevice are mostly missing in the link; others, such as
 * vprintf, are defined by the system. Reported at the first call. */
static void warn_undefined(struct lower *l, struct nvm_value callee, const struct nvm_function *f) {
  struct nvm_text name = module_text(l->module, f->symbol.name);
  bool is_library = text_begins(name, "__nv_");
  if (!function_is_declaration(f) || !(is_library || text_begins(name, "_Z"))) return;
  struct call_state *state = state_of(l);
  if (!state || state->warned[value_index(callee)]) return;
  state->warned[value_index(callee)] = true;
  struct diag *d = report_warn(l, DIAG_UNDEFINED_FUNCTION, name);
  if (d)
    d->hint = text_of(is_library ? "link libdevice with --link FILE"
                                 : "link the module that defines it with --link FILE");
}

void call_lower(struct lower *l, const struct nvm_inst *i) {
  struct call c = describe_call(l, i);
  if (asm_is_callee(l, c.callee)) {
    asm_lower(l, i);
    return;
  }
  if (value_kind(c.callee) == VALUE_FUNCTION) {
    const struct nvm_function *f = module_function(l->module, c.callee);
    if (f->intrinsic) {
      intrinsic_lower(l, i, (enum intrinsic_id)f->intrinsic);
      return;
    }
    if (reflect_is_callee(l->module, c.callee)) {
      if (reflect_is_call(l->f, i)) intrinsic_lower_reflect(l, i);
      else
        report_refuse(l, "a call of __nvvm_reflect",
                      "it takes one argument and returns an integer");
      return;
    }
    if (function_is_kernel(f)) {
      report_refuse(l, "a call of a kernel", "kernels are launched, not called");
      return;
    }
    warn_undefined(l, c.callee, f);
  }
  lower_ordinary_call(l, &c);
}

/* --- va_arg ----------------------------------------------------------------------------------- */

/* The pointer at operand 0 is aligned for the type, read, and advanced past the value. */
void call_lower_va_arg(struct lower *l, const struct nvm_inst *i) {
  const struct type_table *t = &l->module->types;
  struct address list = address_of(l, inst_operand(l->f, i, 0));
  uint32_t bits = layout_pointer_bits(&l->module->layout, 0);
  const struct emit_mod_list mods = EMIT_MOD_LIST(list.space, mod_unsigned(bits));
  int64_t align = layout_align(&l->module->layout, t, i->type);
  struct ptx_operand at = emit_value(l, mod_unsigned(bits), PTX_LD, mods.words, &list.at, 1);
  if (align > 1) {
    at = emit_binary(l, PTX_ADD, mod_signed(bits), at, ptx_i(align - 1));
    at = emit_binary(l, PTX_AND, mod_bits(bits), at, ptx_i(-align));
  }
  int64_t bytes = (int64_t)layout_alloc_size(&l->module->layout, t, i->type);
  struct ptx_operand next = emit_binary(l, PTX_ADD, mod_signed(bits), at, ptx_i(bytes));
  emit2(l, PTX_ST, mods.words, list.at, next);
  memory_load_parts(l, i->type, value_result(l, l->inst), (struct address){ptx_at(at.reg, 0), 0, 1},
                    (struct memory_access){0});
}
