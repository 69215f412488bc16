/* A PTX module in the machine: its functions get numbers, its variables memory and their
 * initializers' values. */
#include "sim/machine/finding.h"
#include "sim/machine/memory.h"
#include "sim/machine/native.h"
#include "sim/machine/symbol.h"
#include "sim/ptx/decoder.h"

/* The source line: by the nearest `.loc` before the instruction. */
static void place(const struct sim *s, const struct func *f, uint32_t pc,
                  struct sim_finding *finding) {
  for (uint32_t i = f->code[pc].entry; i-- > 0;) {
    const struct ptx_entry *e = &f->ptx->entries.data[i];
    if (e->kind != PTX_LOC) continue;
    if (e->first_mod - 1 < s->module->files.count)
      finding->source = s->module->files.data[e->first_mod - 1];
    finding->source_line = (uint32_t)f->ptx->operands.data[e->first_operand].imm;
    return;
  }
}

static const struct front_end front = {decode_function, trace_ptx, place, NULL};

/* The value of one initializer element. */
static bool init_bits(struct sim *s, const struct ptx_init *init, uint64_t *bits) {
  *bits = init->bits;
  if (init->symbol.index) {
    const struct sim_symbol *target = symbol_find(s, symbol_text(s, init->symbol));
    if (!target) {
      finding_refuse(s, SIM_BAD_PROGRAM, (struct nvm_str){0}, 0,
                     "the initializer refers to undefined symbol '%t'",
                     symbol_text(s, init->symbol));
      return false;
    }
    *bits += target->address;
    bool tagged = init->generic || target->window == WINDOW_CODE;
    if (tagged) *bits += window_base(target->window);
  }
  if (init->mask_byte) *bits = *bits >> (8 * (init->mask_byte - 1)) & 0xff;
  return true;
}

static bool initialize(struct sim *s, const struct ptx_variable *v) {
  if (v->init_count == 0 || v->type == PTX_MOD_SAMPLERREF) return true;
  const struct sim_symbol *symbol = symbol_find(s, symbol_text(s, v->name));
  if (!symbol || (symbol->window != WINDOW_GLOBAL && symbol->window != WINDOW_CONST)) return true;
  struct object *o = &s->objects.data[object_number(symbol->address)];
  uint64_t bytes = ptx_mod_row(v->type)->bits / 8, at = 0;
  for (uint32_t i = 0; i < v->init_count; i++, at += bytes) {
    uint64_t bits;
    if (!init_bits(s, &s->module->inits.data[v->first_init + i], &bits)) return false;
    if (at + bytes > o->size) break;
    memory_put_number(o->bytes + at, bits, bytes < 8 ? (unsigned)bytes : 8);
  }
  return true;
}

static bool add_function(struct sim *s, const struct ptx_function *f) {
  const struct sim_symbol *known = symbol_find(s, symbol_text(s, f->name));
  if (known && known->window == WINDOW_CODE) { /* declared before */
    struct func *func = s->funcs.data[known->address / 16];
    if (func->ptx->is_declaration) func->ptx = f;
    if (!func->ptx->is_declaration) func->native = NULL; /* the program has its own malloc */
    return true;
  }
  struct func *func = arena_alloc(&s->arena, sizeof *func);
  if (!func) return false;
  *func = (struct func){.front = &front, .ptx = f, .name = f->name};
  if (f->is_declaration) func->native = native_find(symbol_text(s, f->name));
  return symbol_add_function(s, func);
}

static bool is_module_variable(const struct ptx_variable *v) {
  return v->space == PTX_MOD_GLOBAL || v->space == PTX_MOD_CONST || v->space == PTX_MOD_SHARED;
}

static bool place_variables(struct sim *s, const struct ptx_variable *variables, uint32_t count,
                            bool dynamic) {
  bool ok = true;
  for (uint32_t i = 0; i < count && ok; i++) {
    const struct ptx_variable *v = &variables[i];
    struct sim_symbol symbol;
    uint64_t align, bytes = decoder_variable(v, &align);
    bool shared = v->space == PTX_MOD_SHARED,
         wanted = (shared && v->is_unsized) == dynamic && is_module_variable(v);
    if (wanted && v->name.index && (dynamic || !symbol_find(s, symbol_text(s, v->name))))
      ok = symbol_add_variable(s, v->name, (enum window)decoder_window(v->space), bytes, align,
                               dynamic, &symbol);
  }
  return ok;
}

enum nvm_status load_ptx(struct sim *s, const struct ptx_module *m) {
  s->module = m;
  bool ok = true;
  for (int round = 0; ok && round < 3; round++) {
    ok = place_variables(s, m->variables.data, m->variables.count, round > 0);
    for (uint32_t i = 0; ok && i < m->functions.count; i++) {
      const struct ptx_function *f = m->functions.data[i];
      ok = (round > 0 || add_function(s, f)) &&
           place_variables(s, f->variables.data, f->variables.count, round > 0);
    }
    s->shared_static = align_up(s->shared_static, 16);
  }
  for (uint32_t i = 0; ok && i < m->aliases.count; i++)
    ok = symbol_add_alias(s, m->aliases.data[i].name, m->aliases.data[i].aliasee);
  for (uint32_t i = 0; ok && i < m->variables.count; i++)
    if (is_module_variable(&m->variables.data[i])) ok = initialize(s, &m->variables.data[i]);
  if (s->finding.kind) return NVM_REFUSED;
  return ok ? NVM_OK : NVM_OUT_OF_MEMORY;
}
