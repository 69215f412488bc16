/* A whole PTX module as text. */
#ifndef NVM_TESTS_PTX_MODULE_TEXT_H
#define NVM_TESTS_PTX_MODULE_TEXT_H

#include "ptx/print.h"

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

#endif
