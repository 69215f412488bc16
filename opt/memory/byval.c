/* Objects passed by value; see byval.h. */
#include "opt/memory/byval.h"

#include "ir/build.h"
#include "ir/evalint.h"

struct nvm_value byval_copy(struct nvm_function *f, struct nvm_inst_id before,
                            struct nvm_value from, struct nvm_type type, uint32_t align,
                            struct nvm_meta location) {
  struct nvm_module *m = f->module;
  uint32_t natural = layout_align(&m->layout, &m->types, type);
  uint16_t log2 = (uint16_t)evalint_log2(align > natural ? align : natural);
  struct nvm_value one = const_int(m, TYPE_I32, 1);
  struct builder entry = builder_at_start(f, f->entry), at = builder_before(f, before);
  at.location = location;
  struct nvm_type parameters[] = {TYPE_PTR, value_type(f, from), TYPE_I64, TYPE_I1};
  struct nvm_value callee =
      intrinsic_declare(m, INTRINSIC_memcpy, parameters, 3,
                        type_function(&m->types, TYPE_VOID, parameters, 4, false));
  if (value_is_none(callee)) return VALUE_NULL;
  struct nvm_value object = builder_add(&entry, OP_ALLOCA, log2 + 1, TYPE_PTR, &one, 1, type.index);
  uint64_t size = layout_alloc_size(&m->layout, &m->types, type);
  struct nvm_value operands[] = {object, from, const_int(m, TYPE_I64, size),
                                 const_int(m, TYPE_I1, 0), callee};
  struct nvm_attr aligned = {.id = ATTR_ALIGN, .payload = ATTR_INT, .number = UINT64_C(1) << log2};
  struct nvm_attrset set = attrset_make(&m->attributes, &aligned, 1);
  struct call_site site = {.function_type = module_function(m, callee)->type};
  site.attributes =
      attrlist_make(&m->attributes, (struct nvm_attrset){0}, (struct nvm_attrset){0}, &set, 1);
  struct nvm_value copy =
      builder_add(&at, OP_CALL, 0, TYPE_VOID, operands, 5, module_call_site(m, site));
  return value_is_none(copy) ? copy : object;
}
