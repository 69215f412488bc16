/* What the loops of each function cost: the tables of `nvmini cost`, by parsing the PTX. */
#include "driver/cost/cost.h"
#include "driver/explain/explain.h"

#include "ptx/parse.h"

/* The function whose PTX has this line; NULL: none. */
static struct explain_function *function_at(struct explain *e, uint32_t line) {
  for (uint32_t k = 0; k < e->functions.count; k++) {
    struct explain_function *x = &e->functions.data[k];
    if (x->ptx_begin && line >= x->ptx_begin && line < x->ptx_begin + x->ptx.count) return x;
  }
  return NULL;
}

static void add_costs(struct explain *e, const struct ptx_module *m, const struct ptx_function *f,
                      const struct nvm_target *target) {
  struct textbuf out;
  uint32_t line = 0;
  for (uint32_t i = 0; i < f->entries.count && !line; i++)
    if (f->entries.data[i].kind == PTX_INST) line = f->entries.data[i].line;
  struct explain_function *x = f->is_declaration ? NULL : function_at(e, line);
  if (!x) return;
  textbuf_init(&out, &e->arena);
  if (!cost_write_json(m, f, target, &out)) e->arena.failed = true;
  x->costs = (struct nvm_text){out.bytes, out.length};
}

void explain_costs(struct explain *e) {
  struct arena arena;
  struct strtab strings;
  struct nvm_target target;
  struct ptx_parse_error error;
  arena_init(&arena, nvm_default_allocator);
  struct ptx_module m = {.arena = &arena, .strings = &strings};
  bool read = strtab_init(&strings, &arena) && ptx_parse_module(e->ptx, &m, &error) == NVM_OK &&
              module_target(e->context, &target) == NVMINI_OK;
  for (uint32_t i = 0; read && i < m.functions.count; i++)
    add_costs(e, &m, m.functions.data[i], &target);
  e->arena.failed |= arena.failed;
  arena_free(&arena);
}
