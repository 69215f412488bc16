/* Reading "target-cpu" and the triple from a module; see demands.h. */
#include "driver/demands.h"

#include <stdio.h>
#include <string.h>

#include "api/module.h"
#include "ir/function.h"
#include "target/triple.h"

static struct nvmini_text public_text(struct nvm_text t) {
  return (struct nvmini_text){t.bytes, t.length};
}

struct demands_cpu demands_cpu(const struct nvmini_module *module) {
  const struct nvm_module *m = module_of_handle(module);
  struct nvm_str first = {0};
  struct demands_cpu cpu = {0};
  for (uint32_t n = 1; n < m->functions.count; n++) {
    const struct nvm_function *f = m->functions.data[n];
    if (function_is_declaration(f)) continue;
    const struct nvm_attr *a = function_string_attribute(f, "target-cpu");
    if (a == NULL || !a->has_value || a->str2.index == first.index) continue;
    struct nvmini_text text = public_text(module_text(m, a->str2));
    if (first.index == 0) first = a->str2, cpu.cpu = text;
    else cpu.other = text;
  }
  return cpu;
}

bool demands_check_triple(const char *triple) {
  struct triple t;
  char message[400];
  enum triple_status status = triple_parse(&t, TRIPLE_ANY, triple, strlen(triple));
  if (status == TRIPLE_OK && t.machine == TRIPLE_NVPTX) return true;
  if (status == TRIPLE_OK) snprintf(message, sizeof message, "'%s' is not for PTX", triple);
  else triple_describe(status, TRIPLE_ANY, triple, strlen(triple), message, sizeof message);
  fprintf(stderr, "nvmini: error: option '--triple': %s\n", message);
  return false;
}

/* Pointer sizes are equal, and runtimes if both triples name one. */
static bool agree(struct triple a, struct triple b) {
  bool same_runtime =
      a.runtime == b.runtime || a.runtime == TRIPLE_NO_RUNTIME || b.runtime == TRIPLE_NO_RUNTIME;
  return a.machine == b.machine && a.pointer_bits == b.pointer_bits && same_runtime;
}

bool demands_triple(struct nvmini_module *module, const char *triple, struct nvmini_text *found) {
  struct nvm_module *m = module_of_handle(module);
  struct triple wanted = {0}, given = {0};
  struct nvm_text own = module_text(m, m->triple);
  *found = public_text(own.length ? own : module_text(m, m->layout_text));
  triple_parse(&wanted, TRIPLE_ANY, triple, strlen(triple));
  if (own.length > 0)
    return triple_parse(&given, TRIPLE_ANY, own.bytes, own.length) == TRIPLE_OK &&
           agree(wanted, given);
  if (m->has_layout && m->layout.pointer_bits[0] != wanted.pointer_bits) return false;
  m->triple = strtab_intern(&m->strings, triple, strlen(triple));
  m->has_triple = true;
  return true;
}
