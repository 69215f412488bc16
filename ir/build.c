/* The builder of instructions; see build.h. */
#include "ir/build.h"

#include "ir/eval.h"

struct nvm_inst_id builder_insert(const struct builder *b, enum op op, uint16_t flags,
                                  struct nvm_type type, const struct nvm_value *operands,
                                  uint32_t count, uint32_t aux) {
  struct nvm_function *f = b->f;
  for (uint32_t k = 0; k < count; k++)
    if (value_is_none(operands[k])) return (struct nvm_inst_id){0};
  struct nvm_inst_id i = function_add_inst(f, op, flags, type, operands, count, aux);
  if (inst_is_none(i)) return i;
  f->locations.data[i.index] = b->location;
  f->positions.data[i.index] = b->position;
  if (inst_is_none(b->before)) inst_append(f, i, b->block);
  else inst_insert_before(f, i, b->before);
  return i;
}

struct nvm_value builder_add(const struct builder *b, enum op op, uint16_t flags,
                             struct nvm_type type, const struct nvm_value *operands, uint32_t count,
                             uint32_t aux) {
  if (count && value_kind(operands[0]) == VALUE_CONST) {
    struct nvm_value folded = eval_fold(b->f->module, op, flags, aux, type, operands, count);
    if (!value_is_none(folded)) return folded;
  }
  struct nvm_inst_id i = builder_insert(b, op, flags, type, operands, count, aux);
  return inst_is_none(i) ? VALUE_NULL : value_of_inst(i);
}

struct nvm_value builder_binary(const struct builder *b, enum op op, struct nvm_value x,
                                struct nvm_value y) {
  return builder_add(b, op, 0, value_type(b->f, x), (struct nvm_value[]){x, y}, 2, 0);
}

struct nvm_value builder_icmp(const struct builder *b, enum icmp_predicate predicate,
                              struct nvm_value x, struct nvm_value y) {
  return builder_add(b, OP_ICMP, 0, TYPE_I1, (struct nvm_value[]){x, y}, 2, predicate);
}

struct nvm_value builder_select(const struct builder *b, struct nvm_value condition,
                                struct nvm_value yes, struct nvm_value no) {
  struct nvm_value operands[] = {condition, yes, no};
  return builder_add(b, OP_SELECT, 0, value_type(b->f, yes), operands, 3, 0);
}

struct nvm_value builder_gep(const struct builder *b, struct nvm_value pointer,
                             struct nvm_value bytes) {
  struct nvm_value operands[] = {pointer, bytes};
  return builder_add(b, OP_GEP, 0, value_type(b->f, pointer), operands, 2, TYPE_I8.index);
}

struct nvm_value builder_offset(const struct builder *b, struct nvm_value pointer, int64_t bytes) {
  if (bytes == 0) return pointer;
  return builder_gep(b, pointer, const_int(b->f->module, TYPE_I64, (nvm_u128)(nvm_i128)bytes));
}

struct nvm_value builder_store(const struct builder *b, struct nvm_value v,
                               struct nvm_value pointer, uint32_t access) {
  return builder_add(b, OP_STORE, 0, TYPE_VOID, (struct nvm_value[]){v, pointer}, 2, access);
}

struct nvm_value builder_extract_lane(const struct builder *b, struct nvm_value vector,
                                      uint32_t lane) {
  struct nvm_module *m = b->f->module;
  struct nvm_value operands[] = {vector, const_int(m, TYPE_I32, lane)};
  struct nvm_type type = type_scalar(&m->types, value_type(b->f, vector));
  return builder_add(b, OP_EXTRACTELEMENT, 0, type, operands, 2, 0);
}

struct nvm_value builder_insert_lane(const struct builder *b, struct nvm_value vector,
                                     struct nvm_value v, uint32_t lane) {
  struct nvm_value operands[] = {vector, v, const_int(b->f->module, TYPE_I32, lane)};
  return builder_add(b, OP_INSERTELEMENT, 0, value_type(b->f, vector), operands, 3, 0);
}

struct nvm_value builder_intrinsic(const struct builder *b, enum intrinsic_id id, uint16_t flags,
                                   struct nvm_type type, const struct nvm_value *arguments,
                                   uint32_t count) {
  struct nvm_module *m = b->f->module;
  struct nvm_type parameters[BUILDER_MAX_ARGUMENTS];
  struct nvm_value operands[BUILDER_MAX_ARGUMENTS + 1];
  for (uint32_t k = 0; k < count; k++) {
    if (value_is_none(arguments[k])) return VALUE_NULL;
    operands[k] = arguments[k];
    parameters[k] = value_type(b->f, arguments[k]);
  }
  struct nvm_type callee = type_function(&m->types, type, parameters, count, false);
  operands[count] = intrinsic_declare(m, id, &type, intrinsic_table[id].overloads ? 1 : 0, callee);
  uint32_t site = module_call_site(m, (struct call_site){.function_type = callee});
  return site ? builder_add(b, OP_CALL, flags, type, operands, count + 1, site) : VALUE_NULL;
}

struct nvm_value builder_branch(const struct builder *b, struct nvm_block to) {
  return builder_unary(b, OP_BR, TYPE_VOID, value_of_block(to));
}

struct nvm_value builder_condbranch(const struct builder *b, struct nvm_value condition,
                                    struct nvm_block yes, struct nvm_block no) {
  struct nvm_value operands[] = {condition, value_of_block(yes), value_of_block(no)};
  return builder_add(b, OP_CONDBR, 0, TYPE_VOID, operands, 3, 0);
}
