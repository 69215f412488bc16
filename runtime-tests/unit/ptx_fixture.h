/* What the tests of ptx/ share: a module with one function, targets by name, printing into text. */
#ifndef NVM_TESTS_PTX_FIXTURE_H
#define NVM_TESTS_PTX_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/check.h"
#include "ptx/parse.h"
#include "runtime-tests/unit/ptx_module_text.h"
#include "target/options.h"

struct ptx_fixture {
  struct arena arena;
  struct strtab strings;
  struct ptx_module module;
  struct ptx_function function;
};

static inline void fixture_begin(struct ptx_fixture *x) {
  memset(x, 0, sizeof *x);
  arena_init(&x->arena, nvm_default_allocator);
  assert_true(strtab_init(&x->strings, &x->arena));
  x->module.arena = &x->arena;
  x->module.strings = &x->strings;
  x->module.address_size = 64;
  ptx_function_init(&x->function, &x->module, &x->arena);
}

static inline void fixture_end(struct ptx_fixture *x) { arena_free(&x->arena); }

static inline struct nvm_str fixture_name(struct ptx_fixture *x, const char *name) {
  return strtab_intern(&x->strings, name, strlen(name));
}

/* The entries of the function, as text. */
static inline const char *fixture_body(struct ptx_fixture *x) {
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  for (uint32_t i = 0; i < x->function.entries.count; i++)
    ptx_print_entry(&x->function, &x->function.entries.data[i], &b);
  textbuf_char(&b, 0);
  return b.bytes;
}

static inline const char *fixture_module_text(struct ptx_fixture *x) {
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  print_module(&x->module, &b);
  textbuf_char(&b, 0);
  return b.bytes;
}

/* The target of a CPU; ptx 0: automatic. */
static inline struct nvm_target fixture_target(const char *cpu, const char *ptx) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  struct tgt_error error;
  assert_int_equal(tgt_set_cpu(&options, cpu, strlen(cpu), &error), TGT_OK);
  if (ptx) assert_int_equal(tgt_set_ptx(&options, ptx, strlen(ptx), &error), TGT_OK);
  assert_int_equal(tgt_init(&target, &options, &error), TGT_OK);
  return target;
}

#endif
