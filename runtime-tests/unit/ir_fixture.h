/* What the tests of ir/ and support/ share: cmocka's headers, an allocator that fails on demand,
 * small helpers to make modules and to compare printed types. */
#ifndef NVM_TESTS_IR_FIXTURE_H
#define NVM_TESTS_IR_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/function.h"

/* Fails at call number `fail_at` (from 1; 0: never) and at all later ones; counts what is live. */
struct failing_allocator {
  uint32_t calls, fail_at;
  int64_t live_blocks, live_bytes;
};

static inline void *failing_resize(void *state, void *memory, size_t old_bytes, size_t new_bytes) {
  struct failing_allocator *a = state;
  if (new_bytes == 0) {
    a->live_blocks -= memory != NULL;
    a->live_bytes -= (int64_t)old_bytes;
    free(memory);
    return NULL;
  }
  a->calls++;
  if (a->fail_at && a->calls >= a->fail_at) return NULL;
  void *result = realloc(memory, new_bytes);
  assert_non_null(result);
  a->live_blocks += memory == NULL;
  a->live_bytes += (int64_t)new_bytes - (int64_t)old_bytes;
  return result;
}

static inline struct nvm_allocator failing_allocator(struct failing_allocator *a) {
  return (struct nvm_allocator){failing_resize, a};
}

/* Runs `scenario` with an allocator that fails at the first call, at the second, and so on, until
 * it succeeds. The scenario says whether it met no failure; it must leave nothing allocated. */
static inline void fail_everywhere(bool (*scenario)(struct nvm_allocator)) {
  for (uint32_t n = 1;; n++) {
    struct failing_allocator state = {.fail_at = n};
    bool done = scenario(failing_allocator(&state));
    assert_int_equal(state.live_blocks, 0);
    assert_int_equal(state.live_bytes, 0);
    if (done) {
      assert_true(state.calls < n);
      return;
    }
    assert_true(state.calls >= n);
  }
}

static inline struct nvm_module *new_module(void) {
  struct nvm_module *m = module_create(nvm_default_allocator, 0);
  assert_non_null(m);
  return m;
}

/* A function of the module, with one block where `body` is set. */
static inline struct nvm_function *new_function(struct nvm_module *m, const char *name,
                                                struct nvm_type result,
                                                const struct nvm_type *parameters, uint32_t count,
                                                bool body) {
  struct nvm_value v = module_add_function(m, module_str(m, name));
  struct nvm_function *f = module_function(m, v);
  f->type = type_function(&m->types, result, parameters, count, false);
  f->symbol.defined = true;
  f->symbol.declared_only = !body;
  if (body) function_add_block(f, (struct nvm_str){0});
  return f;
}

/* Adds an instruction at the end of a block. */
static inline struct nvm_inst_id emit(struct nvm_function *f, struct nvm_block b, enum op op,
                                      struct nvm_type type, uint32_t count,
                                      const struct nvm_value *operands, uint32_t aux) {
  struct nvm_inst_id i = function_add_inst(f, op, 0, type, operands, count, aux);
  inst_append(f, i, b);
  return i;
}

static inline void assert_type_text(struct nvm_module *m, struct nvm_type ty, const char *text) {
  struct textbuf b;
  textbuf_init(&b, &m->arena);
  type_print(&m->types, ty, &b);
  textbuf_char(&b, '\0');
  assert_string_equal(b.bytes, text);
}

#endif
