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
#include "ptx/print.h"
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

/* Variables of prototypes are in the module's table too, in space .param. */
static inline bool is_module_variable(const struct ptx_variable *v) {
  return v->space != PTX_MOD_PARAM && v->space != PTX_MOD_REG;
}

/* Declares all functions except kernels, each once; defined functions may or may not have a
 * declaration in the module. */
static inline void print_declarations(const struct ptx_module *m, struct textbuf *out) {
  bool *done = arena_alloc(m->arena, m->strings->entries.count * sizeof *done);
  for (int pass = 0; done && pass < 2; pass++)
    for (uint32_t i = 0; i < m->functions.count; i++) {
      const struct ptx_function *f = m->functions.data[i];
      bool wanted = f->is_declaration == (pass == 0) && !(f->is_entry && pass == 1);
      if (!wanted || done[f->name.index]) continue;
      done[f->name.index] = true;
      ptx_print_declaration(f, out);
    }
}

/* Header, files, declarations, variables and functions in order. */
static inline void print_module(const struct ptx_module *m, struct textbuf *out) {
  ptx_print_header(m, text_of(""), out);
  ptx_print_files(m, out);
  print_declarations(m, out);
  for (uint32_t i = 0; i < m->variables.count; i++)
    if (is_module_variable(&m->variables.data[i]))
      ptx_print_variable(m, &m->variables.data[i], out);
  for (uint32_t i = 0; i < m->functions.count; i++) {
    if (m->functions.data[i]->is_declaration) continue;
    textbuf_char(out, '\n');
    ptx_print_function(m->functions.data[i], out);
  }
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
