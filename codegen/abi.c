/* How values are passed in .param space, as other compilers do it, because modules are linked.
 *
 *   integers up to 32 bits       .b32 in device functions, extended; .u8 .u16 .u32 in kernels
 *   integers up to 64, pointers  .b64; .u64 in kernels (32-bit pointers: as 32-bit integers)
 *   float, double                .b32 .b64; .f32 .f64 in kernels
 *   everything else              .align A .b8 x[N]: half, bfloat, wider integers, vectors, arrays
 *                                and structs as in memory; the object of a byval pointer
 *   nothing                      types without bytes
 *
 * A byval argument is a pointer to the callee's own copy (byval.c). */
#include "codegen/abi.h"
#include "codegen/emit.h"
#include "codegen/memory.h"
#include "codegen/report.h"
#include "codegen/symbol.h"

/* --- the rules -------------------------------------------------------------------------------- */

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
 * in the function's annotations and in !callalign of a call whose callee is not known. */
static bool packed_align(uint64_t packed, uint32_t i, uint32_t *align) {
  uint32_t number = i == ABI_RESULT ? 0 : i + 1;
  uint32_t bytes = packed & 0xffff;
  if (packed >> 16 != number || bytes == 0 || (bytes & (bytes - 1)) != 0) return false;
  *align = bytes;
  return true;
}

static bool annotated_align(const struct lower *l, struct nvm_value function, uint32_t i,
                            uint32_t *align) {
  const struct annotations *all = l->annotations;
  for (const struct annotation *a = annotation_first(all, function); a;
       a = annotation_next(all, a)) {
    nvm_u128 packed;
    if (annotation_is(all, a, "align") && meta_is_int(l->module, a->value, &packed) &&
        packed_align((uint64_t)packed, i, align))
      return true;
  }
  return false;
}

static bool call_align(const struct lower *l, struct nvm_meta node, uint32_t i, uint32_t *align) {
  const struct meta_table *t = &l->module->metadata;
  const struct meta_node *n = meta_as_node(t, node);
  for (uint32_t k = 0; n && k < n->count; k++) {
    nvm_u128 packed;
    if (meta_is_int(l->module, meta_operand(t, n, k), &packed) &&
        packed_align((uint64_t)packed, i, align))
      return true;
  }
  return false;
}

/* The alignment that is given in addition to the type's; 0: none. */
static uint32_t written_align(const struct lower *l, const struct abi *abi, uint32_t i) {
  uint32_t align = 0;
  const struct nvm_attr *a = abi_attr(l, abi, i, ATTR_ALIGNSTACK);
  if (a && a->number <= 4096) return (uint32_t)a->number;
  if (!value_is_none(abi->function) && annotated_align(l, abi->function, i, &align)) return align;
  call_align(l, abi->call_align, i, &align);
  return align;
}

enum {
  MAX_PARAM_ALIGN = 128, /* bytes; the limit of ptxas */
  LOCAL_BYTES = 524288,  /* of a thread: CUDA C++ Programming Guide, technical specifications */
};

static struct passing pass_bytes(const struct lower *l, struct nvm_type type, uint32_t align) {
  const struct type_table *t = &l->module->types;
  uint64_t bytes = layout_alloc_size(&l->module->layout, t, type);
  if (align == 0) align = layout_align(&l->module->layout, t, type);
  if (align > MAX_PARAM_ALIGN) align = MAX_PARAM_ALIGN;
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

/* The pointee of a byval parameter; its alignment is the attribute `align`. */
static struct passing pass_byval(struct lower *l, const struct abi *abi, uint32_t i,
                                 struct nvm_type pointee) {
  if (!type_is_sized(&l->module->types, pointee)) {
    report_refuse(l, "a byval parameter without its type", "write byval(TYPE)");
    return (struct passing){PASS_NOTHING, 0, 1, true, TYPE_I8, 1};
  }
  uint32_t written = attr_align_bytes(abi_attr(l, abi, i, ATTR_ALIGN));
  struct passing p = pass_bytes(l, pointee, 0);
  uint32_t more = written_align(l, abi, i);
  if (p.bytes > LOCAL_BYTES && !is_kernel(l, abi)) {
    report_refuse(l, "a byval parameter of more than 512 KiB", "a thread has no more local memory");
    return (struct passing){PASS_NOTHING, 0, 1, true, TYPE_I8, 1};
  }
  if (written > p.align) p.align = written;
  if (more > p.align) p.align = more;
  p.is_byval = true;
  p.pointer_align = written ? written : p.align; /* the callee's copy may have more */
  if (lower_knob(l, KNOB_FORCE_MIN_BYVAL_PARAM_ALIGN) && p.align < 4 && !is_kernel(l, abi))
    p.align = 4;
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

bool abi_may_write_noreturn(const struct lower *l) {
  unsigned ptx = l->target->ptx ? l->target->ptx : tgt_ptx_for(l->target->cpu);
  return tgt_satisfies(l->target, ptx, tgt_need_of(TGT_NEED_NORETURN));
}

/* --- moving values ---------------------------------------------------------------------------- */

static struct memory_access aligned_to(uint32_t align) {
  unsigned log2 = 0;
  while (UINT32_C(2) << log2 <= align) log2++;
  return (struct memory_access){.align_log2 = log2 + 1};
}

/* A scalar part as .param has it: i1 and small integers extended to 32 bits. */
static struct ptx_operand widened(struct lower *l, const struct part *p, struct ptx_operand v,
                                  bool is_signed) {
  uint32_t bits = p->bits <= 32 ? 32 : 64;
  if (p->kind == PART_I1)
    return emit_select(l, PTX_MOD_B32, ptx_i(is_signed ? -1 : 1), ptx_i(0), v);
  if (p->kind != PART_INT) return v;
  return emit_extend(l, v, p, bits, is_signed);
}

void abi_store(struct lower *l, const struct passing *p, struct nvm_str name,
               const struct ptx_operand *value, bool is_signed) {
  struct address to = abi_address(p, name);
  if (p->kind == PASS_BYTES) memory_store_parts(l, p->type, value, to, aligned_to(p->align));
  if (p->kind != PASS_SCALAR) return;
  struct part part = *part_at(part_list(l, p->type), 0);
  struct ptx_operand v = widened(l, &part, value[0], is_signed);
  uint16_t type = part_is_full(&part) ? part_float_mod(&part) : mod_bits((uint32_t)p->bytes * 8);
  emit2(l, PTX_ST, PTX_MODS(PTX_MOD_PARAM, type), to.at, v);
}

void abi_load(struct lower *l, const struct passing *p, struct nvm_str name,
              const struct ptx_reg *to) {
  struct address from = abi_address(p, name);
  if (p->kind == PASS_BYTES) memory_load_parts(l, p->type, to, from, aligned_to(p->align));
  if (p->kind != PASS_SCALAR) return;
  struct part part = *part_at(part_list(l, p->type), 0);
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

void abi_copy_bytes(struct lower *l, struct address to, struct address from, uint64_t bytes) {
  enum { PIECE = 64 };
  for (uint64_t at = 0; at < bytes; at += PIECE)
    block_copy_bytes(l, address_plus(to, (int64_t)at), address_plus(from, (int64_t)at),
                     bytes - at < PIECE ? bytes - at : PIECE, false);
}
