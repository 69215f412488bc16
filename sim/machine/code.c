/* See code.h. */
#include "sim/machine/machine.h"

enum nvm_status code_prepare(struct sim *s, struct func *f) {
  if (f->decoded || f->ptx->is_declaration) return NVM_OK;
  f->decoded = true;
  enum nvm_status status = f->front->decode(s, f);
  return status == NVM_OK && s->finding.kind ? NVM_REFUSED : status;
}

const struct func *code_at(const struct sim *s, uint64_t address) {
  uint64_t at = in_window(address);
  if (window_of(address) != WINDOW_CODE || at % 16 != 0 || at / 16 >= s->funcs.count) return NULL;
  return s->funcs.data[at / 16];
}
