/* See symbol.h. */
#include "sim/machine/symbol.h"

#include "sim/machine/memory.h"

const struct sim_symbol *symbol_find(const struct sim *s, struct nvm_text name) {
  struct nvm_str found = strtab_find(&s->symbol_names, name.bytes, name.length);
  return found.index ? &s->symbols.data[found.index] : NULL;
}

static bool add(struct sim *s, struct nvm_str name, struct sim_symbol symbol) {
  struct nvm_text text = symbol_text(s, name);
  struct nvm_str key = strtab_intern(&s->symbol_names, text.bytes, text.length);
  if (!VEC_RESERVE(&s->arena, &s->symbols, (uint64_t)key.index + 1)) return false;
  if (key.index >= s->symbols.count) s->symbols.count = key.index + 1;
  s->symbols.data[key.index] = symbol;
  return true;
}

bool symbol_add_function(struct sim *s, struct func *f) {
  struct sim_symbol symbol = {WINDOW_CODE, (uint64_t)s->funcs.count * 16, 0, f};
  return VEC_PUSH(&s->arena, &s->funcs, f) && add(s, f->name, symbol);
}

bool symbol_add_alias(struct sim *s, struct nvm_str name, struct nvm_str aliasee) {
  const struct sim_symbol *symbol = symbol_find(s, symbol_text(s, aliasee));
  return !symbol || add(s, name, *symbol);
}

/* Gives a constant addresses of 32 bits, unless they are used up. */
static bool place_constant(struct sim *s, uint32_t object, uint64_t align) {
  struct object *o = &s->objects.data[object];
  uint64_t at = CONSTANT_FIRST;
  if (s->constants.count) {
    const struct object *last = &s->objects.data[s->constants.data[s->constants.count - 1]];
    at = last->first + last->size + CONSTANT_GAP;
  }
  at = align_up(at, align > CONSTANT_GAP ? align : CONSTANT_GAP);
  o->read_only = true;
  if (at + o->size > UINT32_MAX) return true;
  o->first = at;
  return VEC_PUSH(&s->arena, &s->constants, object);
}

bool symbol_add_variable(struct sim *s, struct nvm_str name, enum window window, uint64_t bytes,
                         uint64_t align, bool dynamic, struct sim_symbol *symbol) {
  *symbol = (struct sim_symbol){.window = window, .size = bytes};
  if (window == WINDOW_SHARED) {
    symbol->address = s->shared_static = align_up(s->shared_static, align);
    if (!dynamic) s->shared_static += bytes + SHARED_GAP;
    if (!dynamic && !VEC_PUSH(&s->arena, &s->shared_variables,
                              (struct shared_variable){name, symbol->address, bytes}))
      return false;
  } else {
    uint32_t object = memory_new_object(s, bytes, true, name);
    if (object == 0) return false;
    if (window == WINDOW_CONST && !place_constant(s, object, align)) return false;
    symbol->address = memory_object_address(object) + s->objects.data[object].first;
  }
  return add(s, name, *symbol);
}
