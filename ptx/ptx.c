/* Building PTX in memory; see ptx.h. Everything is appended; running out of memory leaves the
 * tables whole and the arena's `failed` flag set. */
#include "ptx/ptx.h"

#include <string.h>

void ptx_function_init(struct ptx_function *f, struct ptx_module *m, struct arena *arena) {
  memset(f, 0, sizeof *f);
  f->module = m;
  f->arena = arena;
  VEC_PUSH(arena, &f->labels, (struct nvm_str){0}); /* label 0 is none */
}

void ptx_expect(struct ptx_function *f, uint32_t instructions) {
  uint64_t n = instructions;
  (void)(VEC_ROOM(f->arena, &f->entries, n) && VEC_ROOM(f->arena, &f->mods, 2 * n) &&
         VEC_ROOM(f->arena, &f->operands, 2 * n));
}

struct ptx_reg ptx_new_reg(struct ptx_function *f, enum ptx_class c) {
  return ptx_reg_make(c, ++f->reg_count[c]);
}

uint32_t ptx_new_label(struct ptx_function *f, struct nvm_str name) {
  return VEC_PUSH(f->arena, &f->labels, name) ? f->labels.count - 1 : 0;
}

void ptx_add_entry(struct ptx_function *f, struct ptx_entry e) {
  VEC_PUSH(f->arena, &f->entries, e);
}

void ptx_add_label(struct ptx_function *f, uint32_t label) {
  ptx_add_entry(f, (struct ptx_entry){.kind = PTX_LABEL, .first_mod = label});
}

void ptx_add_guarded(struct ptx_function *f, struct ptx_reg guard, bool negated, enum ptx_op op,
                     const uint16_t *mods, const struct ptx_operand *operands, uint32_t count) {
  uint32_t mod_count = 0;
  while (mods && mods[mod_count] != PTX_MOD_NONE) mod_count++;
  if (!VEC_ROOM(f->arena, &f->mods, (uint64_t)f->mods.count + mod_count) ||
      !VEC_ROOM(f->arena, &f->operands, (uint64_t)f->operands.count + count))
    return;
  struct ptx_entry e = {.kind = PTX_INST,
                        .mod_count = (uint8_t)mod_count,
                        .operand_count = (uint8_t)count,
                        .guard_negated = negated,
                        .op = (uint16_t)op,
                        .guard = guard,
                        .first_mod = f->mods.count,
                        .first_operand = f->operands.count};
  for (uint32_t i = 0; i < mod_count; i++) f->mods.data[f->mods.count++] = mods[i];
  for (uint32_t i = 0; i < count; i++) f->operands.data[f->operands.count++] = operands[i];
  VEC_PUSH(f->arena, &f->entries, e);
}

void ptx_add(struct ptx_function *f, enum ptx_op op, const uint16_t *mods,
             const struct ptx_operand *operands, uint32_t count) {
  ptx_add_guarded(f, (struct ptx_reg){0}, false, op, mods, operands, count);
}

struct ptx_operand ptx_group(struct ptx_function *f, enum ptx_operand_kind kind,
                             const struct ptx_operand *operands, uint32_t count) {
  struct ptx_operand group = {.kind = (uint8_t)kind, .count = (uint16_t)count};
  if (!VEC_ROOM(f->arena, &f->operands, (uint64_t)f->operands.count + count)) {
    group.count = 0;
    return group;
  }
  group.first = f->operands.count;
  if (count) memcpy(f->operands.data + f->operands.count, operands, count * sizeof *operands);
  f->operands.count += count;
  return group;
}

void ptx_add_variable(struct ptx_function *f, struct ptx_variable v) {
  if (!VEC_PUSH(f->arena, &f->variables, v)) return;
  ptx_add_entry(f, (struct ptx_entry){.kind = PTX_LOCAL_VAR, .first_mod = f->variables.count - 1});
}

void ptx_add_loc(struct ptx_function *f, struct nvm_str function_name, const uint32_t file[2],
                 const uint32_t line[2], const uint32_t column[2]) {
  struct ptx_operand o[6] = {ptx_i(line[0]), ptx_i(column[0])};
  uint32_t count = 2;
  if (function_name.index != 0) {
    o[2] = ptx_symbol(function_name, 0);
    o[3] = ptx_i(file[1]);
    o[4] = ptx_i(line[1]);
    o[5] = ptx_i(column[1]);
    count = 6;
  }
  uint32_t first = f->operands.count;
  if (ptx_group(f, PTX_OPERAND_LIST, o, count).count != count) return;
  ptx_add_entry(f, (struct ptx_entry){.kind = PTX_LOC,
                                      .operand_count = (uint8_t)count,
                                      .first_mod = file[0],
                                      .first_operand = first});
}

void ptx_add_text(struct ptx_function *f, enum ptx_entry_kind kind, struct nvm_text text) {
  char *bytes = arena_copy(f->arena, text.bytes, text.length);
  if (!bytes || !VEC_PUSH(f->arena, &f->texts, (struct nvm_text){bytes, text.length})) return;
  ptx_add_entry(f, (struct ptx_entry){.kind = (uint8_t)kind, .first_mod = f->texts.count - 1});
}
