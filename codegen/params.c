/* The signature of a function, where its arguments are read, and its result. */
#include "codegen/abi.h"
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/memory.h"
#include "codegen/report.h"
#include "codegen/select.h"
#include "codegen/symbol.h"
#include "codegen/value.h"
#include "ir/build.h"

/* --- kernels ---------------------------------------------------------------------------------- */

/* `.param .u64 .ptr .global .align 4 k_param_0`: the space of the pointer, for the launch. */
static void describe_pointer(const struct lower *l, const struct abi *abi, uint32_t i,
                             struct ptx_variable *v) {
  struct nvm_type type = type_member(&l->module->types, abi->type, i);
  uint16_t space = mod_space(type_info(&l->module->types, type)->width);
  uint32_t align = attr_align_bytes(abi_attr(l, abi, i, ATTR_ALIGN));
  if (space != PTX_MOD_GLOBAL && space != PTX_MOD_SHARED && space != PTX_MOD_CONST) return;
  v->is_ptr = true;
  v->ptr_space = space;
  v->ptr_align = align ? align : 1;
}

static struct ptx_variable kernel_variable(const struct lower *l, const struct abi *abi, uint32_t i,
                                           const struct passing *p, struct nvm_str name) {
  struct ptx_variable v = abi_variable(p, name);
  if (p->kind != PASS_SCALAR) return v;
  const struct type_info *info = type_info(&l->module->types, p->type);
  if (info->kind == TY_INT) v.type = mod_unsigned(info->width);
  else if (info->kind == TY_FLOAT) v.type = PTX_MOD_F32;
  else if (info->kind == TY_DOUBLE) v.type = PTX_MOD_F64;
  else {
    v.type = mod_unsigned((uint32_t)p->bytes * 8);
    describe_pointer(l, abi, i, &v);
  }
  return v;
}

/* --- the header of a function ----------------------------------------------------------------- */

struct params {
  struct parameter *list; /* by argument; after them the area of variable arguments */
  uint32_t *first, *next; /* by block, by argument: 1 + the (next) argument read there; 0: none */
};

/* Sets l->params: the parameters, followed by the area of variable arguments. */
static bool name_params(struct lower *l, const struct abi *abi, const struct ptx_function *pf) {
  const char *before = pf->is_entry ? module_text(l->module, pf->name).bytes : "";
  uint32_t count = (uint32_t)type_info(&l->module->types, abi->type)->count;
  struct params *p = l->params = arena_alloc(&l->function_arena, sizeof *p);
  if (!p) return false;
  p->list = arena_alloc(&l->function_arena, (count + 1) * sizeof *p->list);
  if (!p->list) return false;
  for (uint32_t i = 0; i < count; i++) {
    l->params->list[i].how = abi_param(l, abi, i);
    if (l->params->list[i].how.kind != PASS_NOTHING)
      l->params->list[i].name = abi_numbered_name(l, before, "_param_", i);
  }
  if (!(type_info(&l->module->types, abi->type)->flags & TYPE_VARIADIC)) return true;
  l->params->list[count] =
      (struct parameter){abi_variadic_area(l), abi_numbered_name(l, before, "_param_", count)};
  return true;
}

static struct nvm_str result_name(struct lower *l) { return names_of_local(l, "func_retval0"); }

static uint8_t linkage_flags(const struct nvm_function *f, bool is_declaration) {
  switch ((enum linkage)f->symbol.linkage) {
    case LINK_PRIVATE:
    case LINK_INTERNAL: return 0;
    case LINK_LINKONCE:
    case LINK_LINKONCE_ODR:
    case LINK_WEAK:
    case LINK_WEAK_ODR:
    case LINK_COMMON: return function_is_declaration(f) ? PTX_FUNC_EXTERN : PTX_FUNC_WEAK;
    case LINK_AVAILABLE_EXTERNALLY:
    case LINK_EXTERN_WEAK: return PTX_FUNC_EXTERN;
    case LINK_EXTERNAL:
    case LINK_APPENDING:
    case LINK_COUNT: break;
  }
  return is_declaration && function_is_declaration(f) ? PTX_FUNC_EXTERN : PTX_FUNC_VISIBLE;
}

static void add_param(struct ptx_function *pf, struct ptx_variable v) {
  VEC_PUSH(pf->arena, &pf->params, v);
}

/* Parameters of a kernel have 4352 bytes, or on later hardware 32764. */
static void require_bank(struct lower *l, uint64_t bytes) {
  enum { SMALL_BANK = 4352, LARGE_BANK = 32764 };
  if (bytes > SMALL_BANK &&
      report_require(l, TGT_NEED_LARGE_PARAMETERS, "more than 4352 bytes of parameters") &&
      bytes > LARGE_BANK)
    report_refuse_symbol(l, &module_function(l->module, l->symbol)->symbol, "its parameters",
                         "a kernel has at most 32764 bytes of them");
}

static void add_params(struct lower *l, const struct abi *abi, struct ptx_function *pf) {
  const struct type_info *type = type_info(&l->module->types, abi->type);
  uint64_t end = 0;
  for (uint32_t i = 0; i < type->count; i++) {
    const struct passing *p = &l->params->list[i].how;
    struct nvm_str name = l->params->list[i].name;
    if (p->kind == PASS_NOTHING) continue;
    add_param(pf, pf->is_entry ? kernel_variable(l, abi, i, p, name) : abi_variable(p, name));
    end = (end + p->align - 1) / p->align * p->align + p->bytes;
  }
  if (pf->is_entry) require_bank(l, end);
  const struct parameter *area = &l->params->list[type->count];
  if (type->flags & TYPE_VARIADIC) add_param(pf, abi_variable(&area->how, area->name));
}

void params_signature(struct lower *l, const struct nvm_function *f, struct ptx_function *pf) {
  struct abi abi = abi_of_function(l, l->symbol);
  struct passing result = abi_result(l, &abi);
  bool external = function_is_declaration(f) || f->symbol.linkage == LINK_AVAILABLE_EXTERNALLY;
  pf->name = names_of_symbol(l, l->symbol);
  pf->is_entry = function_is_kernel(f);
  pf->flags = linkage_flags(f, external);
  if (!name_params(l, &abi, pf)) return;
  if (result.kind != PASS_NOTHING && pf->is_entry) {
    report_refuse_symbol(l, &f->symbol, "a kernel that returns a value", "kernels return void");
    return;
  }
  if (pf->is_entry && type_info(&l->module->types, f->type)->flags & TYPE_VARIADIC) {
    report_refuse_symbol(l, &f->symbol, "a variadic kernel", "a launch has fixed arguments");
    return;
  }
  if (result.kind != PASS_NOTHING) {
    add_param(pf, abi_variable(&result, result_name(l)));
    pf->result_count = pf->params.count; /* 0 when out of memory */
  }
  add_params(l, &abi, pf);
  bool noreturn = attrset_find(&l->module->attributes, abi.attributes->function, ATTR_NORETURN);
  if (noreturn && !pf->is_entry && result.kind == PASS_NOTHING && abi_may_write_noreturn(l))
    pf->flags |= PTX_FUNC_NORETURN;
  if (pf->is_entry && !external) directive_read(l, f, pf);
}

/* --- where arguments are read ----------------------------------------------------------------- */

/* The type with which ld converts an argument of a kernel as the instruction does: a truncation of
 * 64 to 32 bits, or an extension to one of these. 0: it does not, or is in a loop. */
static uint16_t converting_type(const struct lower *l, const struct nvm_inst *i) {
  const struct type_table *t = &l->module->types;
  bool extends = i->op == OP_ZEXT || i->op == OP_SEXT;
  if ((!extends && i->op != OP_TRUNC) || !l->selection[i - l->f->insts.data].wanted ||
      l->loops.innermost[i->block.index])
    return 0;
  struct nvm_value v = inst_operand(l->f, i, 0);
  if (value_kind(v) != VALUE_ARG || !type_is_int(t, i->type)) return 0;
  uint32_t from = type_scalar_bits(t, value_type(l->f, v)), to = type_scalar_bits(t, i->type);
  if ((to != 32 && to != 64) || (!extends && (from != 64 || to != 32))) return 0;
  if (from != 8 && from != 16 && from != 32 && from != 64) return 0;
  return i->op == OP_SEXT ? mod_signed(from) : mod_unsigned(extends ? from : to);
}

/* Excludes argument v if `reader` reads it in another way than converting it. A reader that looks
 * through a conversion reads the argument. */
static void exclude_argument(struct lower *l, bool *converted, struct nvm_value v,
                             const struct nvm_inst *reader) {
  if (value_kind(v) == VALUE_ARG && converted[value_index(v)] && !converting_type(l, reader))
    converted[value_index(v)] = false;
}

/* Finds the arguments of a kernel that only conversions read. */
static bool find_converted(struct lower *l, uint32_t count) {
  if (!function_is_kernel(l->f) || l->target->optimization_level == 0) return true;
  bool *converted = arena_alloc(&l->function_arena, count + 1);
  if (!converted) return false;
  for (uint32_t a = 0; a < count; a++) {
    const struct passing *how = &l->params->list[a].how;
    converted[a] = how->kind == PASS_SCALAR && !how->is_byval;
  }
  FOR_EACH_BLOCK (l->f, b)
    FOR_EACH_INST (l->f, b, id) {
      const struct nvm_inst *i = function_inst(l->f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        exclude_argument(l, converted, inst_operand(l->f, i, k), i);
        exclude_argument(l, converted, select_operand(l, i, k), i);
      }
    }
  l->converted_args = converted;
  return true;
}

bool params_lower_conversion(struct lower *l, const struct nvm_inst *i) {
  struct nvm_value v = inst_operand(l->f, i, 0);
  if (value_kind(v) != VALUE_ARG || !l->converted_args || !l->converted_args[value_index(v)])
    return false;
  const struct parameter *p = &l->params->list[value_index(v)];
  emit2(l, PTX_LD, PTX_MODS(PTX_MOD_PARAM, converting_type(l, i)),
        ptx_r(value_result(l, l->inst)[0]), abi_address(&p->how, p->name).at);
  return true;
}

/* By argument that is used, the block that reads it: in kernels, where threads may exit before they
 * need it, the nearest block that dominates all uses and is in no loop; else the entry. A block of
 * a loop would copy a byval argument again, over what was stored to the copy. */
static struct nvm_block *place_arguments(struct lower *l, uint32_t count) {
  const struct nvm_function *f = l->f;
  struct nvm_block *place = arena_alloc(&l->function_arena, (count + 1) * sizeof *place);
  bool choose = function_is_kernel(f) && f->entry.index != f->last_block.index &&
                loops_are_all_cycles(f, &l->dominance, &l->function_arena);
  if (!place || l->function_arena.failed) return NULL;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        struct nvm_value v = inst_operand(f, i, k);
        if (value_kind(v) != VALUE_ARG || (l->converted_args && l->converted_args[value_index(v)]))
          continue;
        struct nvm_block *at = &place[value_index(v)];
        *at = choose ? loops_place_above(&l->loops, f, &l->dominance, *at, i, k) : f->entry;
      }
    }
  return place;
}

/* Whether argument a is one register, and not a conversion of a parameter. */
static bool is_plain_argument(struct lower *l, uint32_t a) {
  const struct passing *how = &l->params->list[a].how;
  return how->kind == PASS_SCALAR && !how->is_byval && part_list(l, how->type).count == 1;
}

/* Copies the arguments of a kernel that phis take, to values that coalesce.c can give the registers
 * of the phis: then ld.param writes these. Not those that casts read, for ld may convert them. */
bool params_copy_for_phis(struct lower *l) {
  struct nvm_function *f = l->f;
  uint32_t count = function_arg_count(f);
  if (!function_is_kernel(f) || l->target->optimization_level == 0 || count == 0 ||
      f->entry.index == f->last_block.index ||
      !loops_are_all_cycles(f, &l->dominance, &l->function_arena))
    return !l->function_arena.failed;
  struct nvm_block *place = arena_alloc(&l->function_arena, count * sizeof *place);
  bool *is_taken = arena_alloc(&l->function_arena, count),
       *is_cast = arena_alloc(&l->function_arena, count);
  struct nvm_value *copies = arena_alloc(&l->function_arena, count * sizeof *copies);
  if (!place || !is_taken || !is_cast || !copies) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        struct nvm_value v = inst_operand(f, i, k);
        if (value_kind(v) != VALUE_ARG) continue;
        struct nvm_block *at = &place[value_index(v)];
        *at = loops_place_above(&l->loops, f, &l->dominance, *at, i, k);
        is_taken[value_index(v)] |= i->op == OP_PHI;
        is_cast[value_index(v)] |= i->op == OP_ZEXT || i->op == OP_SEXT || i->op == OP_TRUNC;
      }
    }
  for (uint32_t a = 0; a < count; a++) {
    copies[a] = VALUE_NULL;
    if (!is_taken[a] || is_cast[a] || !is_plain_argument(l, a)) continue;
    struct builder at = builder_before(f, block_first_after_phis(f, place[a]));
    copies[a] = builder_unary(&at, OP_FREEZE, function_arg_type(f, a), value_of_arg(a));
    if (value_is_none(copies[a])) return false;
  }
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id)
      for (uint32_t k = 0, n = function_inst(f, id)->operand_count; k < n; k++) {
        struct nvm_value v = inst_operand_at(f, id, k);
        if (value_kind(v) == VALUE_ARG && !value_is_none(copies[value_index(v)]) &&
            !value_equal(value_of_inst(id), copies[value_index(v)]))
          inst_set_operand(f, id, k, copies[value_index(v)]);
      }
  return true;
}

/* The pointer of a byval argument, into .param or to a copy in the frame. */
static void lower_byval_argument(struct lower *l, uint32_t a, const struct passing *p,
                                 struct nvm_str name) {
  struct nvm_type type = function_arg_type(l->f, a);
  struct ptx_reg to = value_reg(l, value_of_arg(a), 0);
  uint16_t pointer = ptx_reg_class(to) == PTX_B64 ? PTX_MOD_U64 : PTX_MOD_U32;
  uint32_t space = type_info(&l->module->types, type)->width;
  struct nvm_str in_place;
  if (byval_in_place(l, value_of_arg(a), &in_place)) {
    if (function_is_kernel(l->f))
      emit2(l, PTX_MOV, PTX_MODS(pointer), ptx_r(to), ptx_symbol(name, 0));
    return; /* device functions do not use the address */
  }
  if (p->kind == PASS_BYTES && function_is_kernel(l->f) && mod_space(space) == PTX_MOD_PARAM) {
    emit2(l, PTX_MOV, PTX_MODS(pointer), ptx_r(to), ptx_symbol(name, 0));
    return;
  }
  if (p->kind == PASS_BYTES && directive_is_grid_constant(l, l->f, a)) {
    struct ptx_operand in_param = emit_unary(l, PTX_MOV, pointer, ptx_symbol(name, 0));
    emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_PARAM, pointer), ptx_r(to), in_param);
    return;
  }
  uint64_t offset = frame_reserve(l, p->bytes ? p->bytes : 1, p->align);
  struct address copy = frame_address(l, offset);
  copy.align = p->align;
  if (p->kind == PASS_BYTES && function_is_kernel(l->f))
    block_copy_bytes(l, copy, abi_address(p, name), p->bytes, false);
  else if (p->kind == PASS_BYTES) abi_copy_bytes(l, copy, abi_address(p, name), p->bytes);
  struct ptx_operand frame = frame_symbol(l, offset);
  struct ptx_reg local = mod_space(space) == PTX_MOD_LOCAL ? to : emit_temp(l, ptx_reg_class(to));
  emit2(l, PTX_MOV, PTX_MODS(pointer), ptx_r(local), frame);
  if (local.bits != to.bits)
    emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, pointer), ptx_r(to), ptx_r(local));
}

static void read_argument(struct lower *l, uint32_t a) {
  const struct passing *p = &l->params->list[a].how;
  struct nvm_str name = l->params->list[a].name;
  if (p->is_byval || p->kind == PASS_NOTHING) {
    if (p->is_byval) lower_byval_argument(l, a, p, name);
    return;
  }
  uint32_t count = part_list(l, p->type).count;
  struct ptx_reg *to = arena_alloc(&l->function_arena, (count + 1) * sizeof *to);
  if (!to) return;
  for (uint32_t k = 0; k < count; k++) to[k] = value_reg(l, value_of_arg(a), k);
  abi_load(l, p, name, to);
  bool is_byte = type_equal(p->type, TYPE_I8) && p->kind == PASS_SCALAR;
  if (is_byte && function_is_kernel(l->f)) emit_note_above(l, to[0], ABOVE_ZERO); /* ld.param.u8 */
}

bool params_plan(struct lower *l) {
  uint32_t count = function_arg_count(l->f);
  struct nvm_block *place = find_converted(l, count) ? place_arguments(l, count) : NULL;
  l->params->first = arena_alloc(&l->function_arena, l->f->blocks.count * sizeof *l->params->first);
  l->params->next = arena_alloc(&l->function_arena, (count + 1) * sizeof *l->params->next);
  if (!place || !l->params->first || !l->params->next) return false;
  for (uint32_t a = count; a-- > 0;) {
    if (place[a].index == 0) continue;
    l->params->next[a] = l->params->first[place[a].index];
    l->params->first[place[a].index] = a + 1;
  }
  byval_plan(l, l->params->list, count);
  return !l->function_arena.failed;
}

bool params_are_read(const struct lower *l, struct nvm_block b) {
  return l->params->first[b.index] != 0;
}

void params_read(struct lower *l, struct nvm_block b) {
  if (!params_are_read(l, b)) return;
  uint32_t from = l->pf->entries.count;
  for (uint32_t a = l->params->first[b.index]; a; a = l->params->next[a - 1])
    read_argument(l, a - 1);
  report_unsupported(l, from);
}

struct ptx_reg params_variadic_area(struct lower *l) {
  const struct parameter *area = &l->params->list[function_arg_count(l->f)];
  struct ptx_reg r = emit_temp(l, area->how.bytes == 8 ? PTX_B64 : PTX_B32);
  abi_load(l, &area->how, area->name, &r);
  return r;
}

void params_lower_ret(struct lower *l, const struct nvm_inst *i) {
  struct abi abi = abi_of_function(l, l->symbol);
  struct passing p = abi_result(l, &abi);
  if (i->operand_count && p.kind != PASS_NOTHING) {
    struct nvm_value v = inst_operand(l->f, i, 0);
    bool is_signed = abi_attr(l, &abi, ABI_RESULT, ATTR_SIGNEXT) != NULL;
    const struct ptx_operand *parts = value_operands(l, v);
    if (parts) abi_store(l, &p, result_name(l), parts, is_signed);
  }
  emit0(l, PTX_RET, NULL);
}
