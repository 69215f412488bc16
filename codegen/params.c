/* Parameters and results: how values travel through .param space, the same way as code of other
 * compilers has it, since modules are linked with each other.
 *
 *   integers up to 32 bits       .b32 in device functions, extended; .u8 .u16 .u32 in kernels
 *   integers up to 64, pointers  .b64; .u64 in kernels (32-bit pointers: as 32-bit integers)
 *   float, double                .b32 .b64; .f32 .f64 in kernels
 *   everything else              .align A .b8 x[N]: half, bfloat, wider integers, vectors, arrays
 *                                and structs as they lie in memory; what a byval pointer points to
 *   nothing                      types without bytes
 *
 * A byval argument is a pointer to the callee's own copy. It is copied into the frame, unless all
 * that is done with it is loading: then the loads read .param itself. */
#include "codegen/lower.h"

#include "ir/gep.h"

/* --- the rules ---------------------------------------------------------------------------------
 */

static const struct attrlist_info *list_of(const struct lower *l, struct nvm_value function) {
  return attrlist_info(&l->module->attributes, module_function(l->module, function)->attributes);
}

struct abi abi_of_function(const struct lower *l, struct nvm_value function) {
  return (struct abi){
      function, module_function(l->module, function)->type, list_of(l, function), {0}};
}

static struct nvm_attrset set_of(const struct lower *l, const struct attrlist_info *list,
                                 uint32_t i) {
  if (i == ABI_RESULT) return list->result;
  if (i >= list->count) return (struct nvm_attrset){0};
  return l->module->attributes.parameter_sets.data[list->first + i];
}

const struct nvm_attr *abi_attr(const struct lower *l, const struct abi *abi, uint32_t i,
                                enum attr_id id) {
  const struct attr_table_data *t = &l->module->attributes;
  const struct nvm_attr *a = attrset_find(t, set_of(l, abi->attributes, i), id);
  if (a || value_is_none(abi->function)) return a;
  return attrset_find(t, set_of(l, list_of(l, abi->function), i), id);
}

/* Alignments by number (0 the result, 1 the first parameter) are written as number << 16 | bytes:
 * in the function's annotations and in !callalign of a call of which the callee is not known. */
static bool packed_align(uint64_t packed, uint32_t i, uint32_t *align) {
  uint32_t number = i == ABI_RESULT ? 0 : i + 1;
  uint32_t bytes = packed & 0xffff;
  if (packed >> 16 != number || bytes == 0 || (bytes & (bytes - 1)) != 0) return false;
  *align = bytes;
  return true;
}

static bool annotated_align(const struct lower *l, struct nvm_value function, uint32_t i,
                            uint32_t *align) {
  for (const struct annotation *a = annotation_first(l, function); a; a = annotation_next(l, a)) {
    uint64_t packed;
    if (annotation_is(l, a, "align") && annotation_metadata_number(l, a->value, &packed) &&
        packed_align(packed, i, align))
      return true;
  }
  return false;
}

static bool call_align(const struct lower *l, struct nvm_meta node, uint32_t i, uint32_t *align) {
  const struct meta_table *t = &l->module->metadata;
  const struct meta_node *n = meta_as_node(t, node);
  for (uint32_t k = 0; n && k < n->count; k++) {
    uint64_t packed;
    if (annotation_metadata_number(l, meta_operand(t, n, k), &packed) &&
        packed_align(packed, i, align))
      return true;
  }
  return false;
}

/* The alignment that is asked for beside the type's own; 0: none. */
static uint32_t written_align(const struct lower *l, const struct abi *abi, uint32_t i) {
  uint32_t align = 0;
  const struct nvm_attr *a = abi_attr(l, abi, i, ATTR_ALIGNSTACK);
  if (a && a->number <= 4096) return (uint32_t)a->number;
  if (!value_is_none(abi->function) && annotated_align(l, abi->function, i, &align)) return align;
  call_align(l, abi->call_align, i, &align);
  return align;
}

enum { MOST_PARAM_ALIGN = 128 }; /* bytes; what ptxas takes */

static struct passing pass_bytes(const struct lower *l, struct nvm_type type, uint32_t align) {
  const struct type_table *t = &l->module->types;
  uint64_t bytes = layout_alloc_size(&l->module->layout, t, type);
  if (align == 0) align = layout_align(&l->module->layout, t, type);
  if (align > MOST_PARAM_ALIGN) align = MOST_PARAM_ALIGN;
  return (struct passing){bytes ? PASS_BYTES : PASS_NOTHING, bytes, align, false, type, 0};
}

static struct passing pass_scalar(struct nvm_type type, uint32_t bits) {
  uint32_t bytes = bits <= 32 ? 4 : 8;
  return (struct passing){PASS_SCALAR, bytes, bytes, false, type, 0};
}

static struct passing pass(const struct lower *l, struct nvm_type type, uint32_t align) {
  const struct type_info *info = type_info(&l->module->types, type);
  switch ((enum type_kind)info->kind) {
    case TY_INT:
      return info->width <= 64 ? pass_scalar(type, info->width) : pass_bytes(l, type, align);
    case TY_PTR: return pass_scalar(type, layout_pointer_bits(&l->module->layout, info->width));
    case TY_FLOAT: return pass_scalar(type, 32);
    case TY_DOUBLE: return pass_scalar(type, 64);
    case TY_HALF:
    case TY_BFLOAT:
    case TY_VECTOR:
    case TY_ARRAY:
    case TY_STRUCT: return pass_bytes(l, type, align);
    case TY_NONE:
    case TY_VOID:
    case TY_LABEL:
    case TY_METADATA:
    case TY_TOKEN:
    case TY_FUNCTION:
    case TY_KIND_COUNT: break;
  }
  return (struct passing){PASS_NOTHING, 0, 1, false, type, 0};
}

struct passing abi_result(struct lower *l, const struct abi *abi) {
  struct nvm_type result = type_info(&l->module->types, abi->type)->element;
  return pass(l, result, written_align(l, abi, ABI_RESULT));
}

/* The host lays out a kernel's parameters by their own alignment. */
static bool is_kernel(const struct lower *l, const struct abi *abi) {
  return !value_is_none(abi->function) &&
         function_is_kernel(module_function(l->module, abi->function));
}

/* The type behind a byval pointer; its alignment is written as `align`. */
static struct passing pass_byval(struct lower *l, const struct abi *abi, uint32_t i,
                                 struct nvm_type pointee) {
  if (!type_is_sized(&l->module->types, pointee)) {
    report_refuse(l, "a byval parameter without its type", "write byval(TYPE)");
    return (struct passing){PASS_NOTHING, 0, 1, true, TYPE_I8, 1};
  }
  uint32_t written = attr_align_bytes(abi_attr(l, abi, i, ATTR_ALIGN));
  struct passing p = pass_bytes(l, pointee, 0);
  uint32_t more = written_align(l, abi, i);
  if (written > p.align) p.align = written;
  if (more > p.align) p.align = more;
  p.is_byval = true;
  p.pointer_align =
      written ? written : p.align; /* what the caller knows; the callee's copy may have more */
  if (l->options->wide_byval_params && p.align < 4 && !is_kernel(l, abi)) p.align = 4;
  return p;
}

struct passing abi_param(struct lower *l, const struct abi *abi, uint32_t i) {
  struct nvm_type type = type_member(&l->module->types, abi->type, i);
  const struct nvm_attr *byval =
      type_is_ptr(&l->module->types, type) ? abi_attr(l, abi, i, ATTR_BYVAL) : NULL;
  if (byval) return pass_byval(l, abi, i, byval->type);
  return pass(l, type, written_align(l, abi, i));
}

struct passing abi_variadic_area(const struct lower *l) {
  return pass(l, TYPE_PTR, 0);
}

struct ptx_variable abi_variable(const struct passing *p, struct nvm_str name) {
  struct ptx_variable v = {.name = name, .space = PTX_MOD_PARAM};
  if (p->kind == PASS_SCALAR) {
    v.type = mod_bits((uint32_t)p->bytes * 8);
    return v;
  }
  v.type = PTX_MOD_B8;
  v.align = p->align;
  v.is_array = true;
  v.count = p->bytes;
  return v;
}

/* --- kernels -----------------------------------------------------------------------------------
 */

/* `.param .u64 .ptr .global .align 4 k_param_0` tells who launches the kernel where it points to.
 */
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

/* --- the header of a function ------------------------------------------------------------------
 */

struct nvm_str abi_numbered_name(struct lower *l, const char *before, const char *word,
                                 uint32_t n) {
  struct textbuf b;
  textbuf_init(&b, &l->function_arena);
  textbuf_puts(&b, before);
  textbuf_puts(&b, word);
  textbuf_unsigned(&b, n);
  textbuf_char(&b, 0);
  return b.arena->failed ? (struct nvm_str){0} : names_of_local(l, b.bytes);
}

/* Settles l->params: the parameters, and behind them the area of variadic arguments. */
static bool name_params(struct lower *l, const struct abi *abi, const struct ptx_function *pf) {
  const char *before = pf->is_entry ? module_text(l->module, pf->name).bytes : "";
  uint32_t count = (uint32_t)type_info(&l->module->types, abi->type)->count;
  l->params = arena_alloc(&l->function_arena, (count + 1) * sizeof *l->params);
  if (!l->params) return false;
  for (uint32_t i = 0; i < count; i++) {
    l->params[i].how = abi_param(l, abi, i);
    if (l->params[i].how.kind != PASS_NOTHING)
      l->params[i].name = abi_numbered_name(l, before, "_param_", i);
  }
  if (!(type_info(&l->module->types, abi->type)->flags & TYPE_VARIADIC)) return true;
  l->params[count] =
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

bool abi_may_write_noreturn(const struct lower *l) {
  unsigned ptx = l->target->ptx ? l->target->ptx : tgt_ptx_for(l->target->cpu);
  return tgt_satisfies(l->target, ptx, tgt_need_of(TGT_NEED_NORETURN));
}

static void add_param(struct ptx_function *pf, struct ptx_variable v) {
  VEC_PUSH(pf->arena, &pf->params, v);
}

/* Parameters of a kernel lie in a bank of 4352 bytes, or with later hardware 32764. */
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
    const struct passing *p = &l->params[i].how;
    struct nvm_str name = l->params[i].name;
    if (p->kind == PASS_NOTHING) continue;
    add_param(pf, pf->is_entry ? kernel_variable(l, abi, i, p, name) : abi_variable(p, name));
    end = (end + p->align - 1) / p->align * p->align + p->bytes;
  }
  if (pf->is_entry) require_bank(l, end);
  const struct parameter *area = &l->params[type->count];
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

/* --- moving values ------------------------------------------------------------------------------
 */

static struct address param_address(const struct passing *p, struct nvm_str name) {
  return (struct address){ptx_at_symbol(name, 0), PTX_MOD_PARAM, p->align};
}

static struct memory_access aligned_to(uint32_t align) {
  unsigned log2 = 0;
  while (UINT32_C(2) << log2 <= align) log2++;
  return (struct memory_access){.align_log2 = log2 + 1};
}

/* The number that a scalar part is in .param: i1 and small integers extended to 32 bits. */
static struct ptx_operand widened(struct lower *l, const struct part *p, struct ptx_operand v,
                                  bool is_signed) {
  uint32_t bits = p->bits <= 32 ? 32 : 64;
  if (p->kind == PART_I1)
    return emit_select(l, PTX_MOD_B32, ptx_i(is_signed ? -1 : 1), ptx_i(0), v);
  if (p->kind != PART_INT) return v;
  return emit_extend(l, v, p, bits, is_signed);
}

const struct ptx_operand *value_operands(struct lower *l, struct nvm_value v) {
  uint32_t count = part_list(l, value_type(l->f, v)).count;
  struct ptx_operand *parts = arena_alloc(&l->function_arena, (count + 1) * sizeof *parts);
  for (uint32_t k = 0; parts && k < count; k++) parts[k] = value_operand(l, v, k);
  return parts;
}

void abi_store(struct lower *l, const struct passing *p, struct nvm_str name,
               const struct ptx_operand *value, bool is_signed) {
  struct address to = param_address(p, name);
  if (p->kind == PASS_BYTES) memory_store_parts(l, p->type, value, to, aligned_to(p->align));
  if (p->kind != PASS_SCALAR) return;
  struct part part = *part_at(l, part_list(l, p->type), 0);
  struct ptx_operand v = widened(l, &part, value[0], is_signed);
  uint16_t type = part_is_full(&part) ? part_float_mod(&part) : mod_bits((uint32_t)p->bytes * 8);
  emit2(l, PTX_ST, PTX_MODS(PTX_MOD_PARAM, type), to.at, v);
}

void abi_load(struct lower *l, const struct passing *p, struct nvm_str name,
              const struct ptx_reg *to) {
  struct address from = param_address(p, name);
  if (p->kind == PASS_BYTES) memory_load_parts(l, p->type, to, from, aligned_to(p->align));
  if (p->kind != PASS_SCALAR) return;
  struct part part = *part_at(l, part_list(l, p->type), 0);
  if (part.kind == PART_I1) {
    struct ptx_operand byte =
        emit_value(l, PTX_MOD_U8, PTX_LD, PTX_MODS(PTX_MOD_PARAM, PTX_MOD_U8), &from.at, 1);
    struct ptx_operand bit = emit_binary(l, PTX_AND, PTX_MOD_B16, byte, ptx_i(1));
    emit3(l, PTX_SETP, PTX_MODS(PTX_MOD_NE, PTX_MOD_B16), ptx_r(to[0]), bit, ptx_i(0));
    return;
  }
  uint16_t type = part_is_full(&part) ? part_float_mod(&part) : mod_unsigned(part.bits);
  emit2(l, PTX_LD, PTX_MODS(PTX_MOD_PARAM, type), ptx_r(to[0]), from.at);
}

/* --- byval parameters that stay where they are ---------------------------------------------------
 */

/* Which argument a pointer is based on: 1 + its number, 0: none that is looked for. */
static uint32_t base_argument(const uint32_t *param_of, const bool *candidate,
                              struct nvm_value pointer) {
  if (value_kind(pointer) == VALUE_ARG && candidate[value_index(pointer)])
    return value_index(pointer) + 1;
  return value_kind(pointer) == VALUE_INST ? param_of[value_index(pointer)] : 0;
}

static bool is_memcpy_source(const struct lower *l, const struct nvm_inst *i, uint32_t k) {
  struct nvm_value callee = call_callee(l->f, i);
  return k == 1 && value_kind(callee) == VALUE_FUNCTION &&
         module_function(l->module, callee)->intrinsic == INTRINSIC_memcpy;
}

/* One of several addresses: in the parameter if all are in the same. */
static bool is_join(const struct nvm_inst *i) { return i->op == OP_PHI || i->op == OP_SELECT; }

/* Loads, and what addresses them: any in kernels, constant offsets in device functions, where the
 * address of .param is no number. */
static bool reads_in_place(const struct lower *l, const struct nvm_inst *i, uint32_t k) {
  if (i->op == OP_LOAD) return memory_access_unpack(i->aux).ordering == ORDER_NONE;
  if (i->op == OP_CALL) return function_is_kernel(l->f) && is_memcpy_source(l, i, k);
  if (is_join(i)) return function_is_kernel(l->f);
  if (i->op != OP_GEP || k != 0 || type_is_vector(&l->module->types, i->type)) return false;
  int64_t offset;
  return function_is_kernel(l->f) || gep_constant_offset(l->f, i, &offset);
}

/* One walk over the function: follows addresses through getelementptr and strikes out arguments
 * that are used in any other way. True if something new was found. */
static bool follow_params(struct lower *l, uint32_t *param_of, bool *candidate) {
  bool changed = false;
  FOR_EACH_BLOCK(l->f, b)
  FOR_EACH_INST(l->f, b, id) {
    const struct nvm_inst *i = function_inst(l->f, id);
    for (uint32_t k = 0; k < i->operand_count; k++) {
      uint32_t base = base_argument(param_of, candidate, inst_operand(l->f, i, k));
      if (base == 0 || !candidate[base - 1]) continue;
      if (!reads_in_place(l, i, k)) {
        candidate[base - 1] = false;
        changed = true;
      } else if ((i->op == OP_GEP || is_join(i)) && param_of[id.index] == 0) {
        param_of[id.index] = base;
        changed = true;
      }
    }
  }
  return changed;
}

/* Strikes out arguments whose address meets another one. */
static void check_joins(const struct lower *l, const uint32_t *param_of, bool *candidate) {
  FOR_EACH_BLOCK(l->f, b)
  FOR_EACH_INST(l->f, b, id) {
    const struct nvm_inst *i = function_inst(l->f, id);
    uint32_t base = is_join(i) ? param_of[id.index] : 0;
    for (uint32_t k = i->op == OP_SELECT; base && k < i->operand_count;
         k += i->op == OP_PHI ? 2 : 1) {
      uint32_t other = base_argument(param_of, candidate, inst_operand(l->f, i, k));
      if (other == base) continue;
      candidate[base - 1] = false;
      if (other) candidate[other - 1] = false;
    }
  }
}

/* Settles l->param_args and l->param_of. A walk follows all chains of addresses that stand in the
 * order of their blocks. */
static void plan_params(struct lower *l, uint32_t count) {
  enum { MAX_WALKS = 8 };
  bool any = false;
  bool *candidate = arena_alloc(&l->function_arena, count * sizeof *candidate);
  l->param_args = NULL;
  for (uint32_t a = 0; candidate && a < count; a++) {
    const struct passing *p = &l->params[a].how;
    candidate[a] = p->is_byval && p->kind == PASS_BYTES &&
                   mod_space(type_info(&l->module->types, function_arg_type(l->f, a))->width) == 0;
    any |= candidate[a];
  }
  if (!any) return;
  uint32_t *param_of = arena_alloc(&l->function_arena, l->f->insts.count * sizeof *param_of);
  struct nvm_str *names = arena_alloc(&l->function_arena, count * sizeof *names);
  if (!param_of || !names) return;
  for (int walks = 0; follow_params(l, param_of, candidate); walks++)
    if (walks == MAX_WALKS) return; /* blocks in an odd order: copy */
  check_joins(l, param_of, candidate);
  for (uint32_t a = 0; a < count; a++)
    if (candidate[a]) names[a] = l->params[a].name;
  l->param_args = names;
  l->param_of = param_of;
}

bool byval_in_place(const struct lower *l, struct nvm_value pointer, struct nvm_str *name) {
  if (!l->param_args) return false;
  if (value_kind(pointer) == VALUE_ARG) {
    *name = l->param_args[value_index(pointer)];
    return name->index != 0;
  }
  if (value_kind(pointer) != VALUE_INST) return false;
  uint32_t base = l->param_of[value_index(pointer)];
  return base != 0 && l->param_args[base - 1].index != 0;
}

/* --- where arguments are read --------------------------------------------------------------------
 */

/* By argument, the block that reads it if some instruction does: in kernels, where threads may
 * leave before they need it, the nearest one that dominates all uses and is in no loop; else the
 * entry. */
static struct nvm_block *place_arguments(struct lower *l, uint32_t count) {
  const struct nvm_function *f = l->f;
  const struct dominance *d = &l->dominance;
  struct nvm_block *place = arena_alloc(&l->function_arena, (count + 1) * sizeof *place);
  bool choose = function_is_kernel(f) && f->entry.index != f->last_block.index;
  if (!place || l->function_arena.failed) return NULL;
  FOR_EACH_BLOCK(f, b)
  FOR_EACH_INST(f, b, id) {
    const struct nvm_inst *i = function_inst(f, id);
    for (uint32_t k = 0; k < i->operand_count; k++) {
      struct nvm_value v = inst_operand(f, i, k);
      if (value_kind(v) != VALUE_ARG) continue;
      struct nvm_block *at = &place[value_index(v)];
      struct nvm_block use =
          i->op == OP_PHI ? (struct nvm_block){value_index(inst_operand(f, i, k + 1))} : b;
      if (!choose || !dominance_reachable(d, use)) use = f->entry;
      if (at->index == 0) *at = use;
      while (choose && (l->loops.innermost[at->index] || !dominance_dominates(d, *at, use)))
        *at = d->immediate[at->index];
    }
  }
  return place;
}

void abi_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes) {
  enum { PIECE = 64 };
  for (uint64_t at = 0; at < bytes; at += PIECE)
    block_copy_bytes(l, address_plus(to, (int64_t)at), address_plus(from, (int64_t)at),
                     bytes - at < PIECE ? bytes - at : PIECE, false);
}

/* The pointer of a byval argument: into .param, or to a copy in the frame. */
static void lower_byval_argument(struct lower *l, uint32_t a, const struct passing *p,
                                 struct nvm_str name) {
  struct nvm_type type = function_arg_type(l->f, a);
  struct ptx_reg to = value_reg(l, value_of_arg(a), 0);
  uint16_t pointer = ptx_reg_class(to) == PTX_B64 ? PTX_MOD_U64 : PTX_MOD_U32;
  uint32_t space = type_info(&l->module->types, type)->width;
  if (l->param_args && l->param_args[a].index) {
    if (function_is_kernel(l->f))
      emit2(l, PTX_MOV, PTX_MODS(pointer), ptx_r(to), ptx_symbol(name, 0));
    return; /* in device functions nothing takes the address */
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
    block_copy_bytes(l, copy, param_address(p, name), p->bytes, false);
  else if (p->kind == PASS_BYTES) abi_copy_bytes(l, copy, param_address(p, name), p->bytes);
  struct ptx_operand frame = ptx_symbol(l->depot_name, (int64_t)offset);
  struct ptx_reg local = mod_space(space) == PTX_MOD_LOCAL ? to : emit_temp(l, ptx_reg_class(to));
  emit2(l, PTX_MOV, PTX_MODS(pointer), ptx_r(local), frame);
  if (local.bits != to.bits)
    emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, pointer), ptx_r(to), ptx_r(local));
}

static void read_argument(struct lower *l, uint32_t a) {
  const struct passing *p = &l->params[a].how;
  struct nvm_str name = l->params[a].name;
  if (p->is_byval || p->kind == PASS_NOTHING) {
    if (p->is_byval) lower_byval_argument(l, a, p, name);
    return;
  }
  uint32_t count = part_list(l, p->type).count;
  struct ptx_reg *to = arena_alloc(&l->function_arena, (count + 1) * sizeof *to);
  if (!to) return;
  for (uint32_t k = 0; k < count; k++) to[k] = value_reg(l, value_of_arg(a), k);
  abi_load(l, p, name, to);
}

bool params_plan(struct lower *l) {
  uint32_t count = function_arg_count(l->f);
  struct nvm_block *place = place_arguments(l, count);
  l->first_argument =
      arena_alloc(&l->function_arena, l->f->blocks.count * sizeof *l->first_argument);
  l->next_argument = arena_alloc(&l->function_arena, (count + 1) * sizeof *l->next_argument);
  if (!place || !l->first_argument || !l->next_argument) return false;
  for (uint32_t a = count; a-- > 0;) {
    if (place[a].index == 0) continue;
    if (l->params[a].how.is_byval) place[a] = l->f->entry;
    l->next_argument[a] = l->first_argument[place[a].index];
    l->first_argument[place[a].index] = a + 1;
  }
  plan_params(l, count);
  return !l->function_arena.failed;
}

void params_read(struct lower *l, struct nvm_block b) {
  if (l->first_argument[b.index] == 0) return;
  uint32_t from = l->pf->entries.count;
  for (uint32_t a = l->first_argument[b.index]; a; a = l->next_argument[a - 1])
    read_argument(l, a - 1);
  emit_check(l, from);
}

struct ptx_reg params_variadic_area(struct lower *l) {
  const struct parameter *area = &l->params[function_arg_count(l->f)];
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
