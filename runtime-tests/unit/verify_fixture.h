/* The module that test_verify.c breaks, and what makes it. */
#ifndef NVM_TESTS_VERIFY_FIXTURE_H
#define NVM_TESTS_VERIFY_FIXTURE_H

#include "ir_fixture.h"

/* A module with `define void @f(i32, ptr, float, <4 x i32>, i1) { b: … }` in the making. */
struct fixture {
  struct nvm_module *m;
  struct nvm_function *f;
  struct nvm_block b;
  struct nvm_value i32, ptr, f32, v4, i1; /* the parameters */
};

static struct nvm_type v4_type(struct nvm_module *m) { return type_vector(&m->types, TYPE_I32, 4); }

static struct fixture make(void) {
  struct fixture x = {.m = new_module()};
  struct nvm_type parameters[] = {TYPE_I32, TYPE_PTR, TYPE_FLOAT, v4_type(x.m), TYPE_I1};
  x.f = new_function(x.m, "f", TYPE_VOID, parameters, 5, true);
  x.b = x.f->entry;
  x.i32 = value_of_arg(0);
  x.ptr = value_of_arg(1);
  x.f32 = value_of_arg(2);
  x.v4 = value_of_arg(3);
  x.i1 = value_of_arg(4);
  return x;
}

#define EMIT(x, block, op, type, aux, ...)                                               \
  emit((x)->f, (block), (op), (type),                                                    \
       (uint32_t)(sizeof((struct nvm_value[]){__VA_ARGS__}) / sizeof(struct nvm_value)), \
       (struct nvm_value[]){__VA_ARGS__}, (aux))

static struct nvm_inst_id emit_none(struct fixture *x, struct nvm_block b, enum op op,
                                    uint32_t aux) {
  struct nvm_value none[1] = {{0}};
  return emit(x->f, b, op, TYPE_VOID, 0, none, aux);
}

static void ret(struct fixture *x, struct nvm_block b) { emit_none(x, b, OP_RET, 0); }

static struct nvm_block block(struct fixture *x, const char *name) {
  return function_add_block(x->f, module_str(x->m, name));
}

static struct nvm_value i32_const(struct fixture *x, uint32_t n) {
  return const_int(x->m, TYPE_I32, n);
}

static uint32_t access_of(struct memory_access a) { return memory_access_pack(a); }

#endif
