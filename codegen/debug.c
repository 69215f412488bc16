/* Line information: `.loc FILE LINE COLUMN` where the place in the source changes, and the files'
 * names in the header. Places come from !dbg: DILocation, whose scope leads to a DIFile. Only with
 * -g; the debugger's sections (types, variables) are not written. */
#include "codegen/lower.h"
#include "ir/debug.h"

/* "directory/filename", or the name alone where it begins at the root. */
static struct nvm_str file_name(struct lower *l, const struct meta_node *file) {
  struct nvm_text name = debug_text(l->module, file, "filename");
  struct nvm_text directory = debug_text(l->module, file, "directory");
  struct textbuf b;
  textbuf_init(&b, &l->function_arena);
  if (directory.length && !(name.length && name.bytes[0] == '/')) {
    textbuf_text(&b, directory);
    textbuf_char(&b, '/');
  }
  for (size_t i = 0; i < name.length; i++) /* the text between quotes has no escapes */
    textbuf_char(&b, name.bytes[i] == '"' || name.bytes[i] == '\n' ? '_' : name.bytes[i]);
  return strtab_intern(&l->module->strings, b.bytes, b.length);
}

/* The number of a file, from 1; 0 when out of memory. */
static uint32_t file_number(struct lower *l, const struct meta_node *file) {
  const struct meta_table *t = &l->module->metadata;
  if (!l->file_numbers)
    l->file_numbers = arena_alloc(&l->arena, t->nodes.count * sizeof *l->file_numbers);
  if (!l->file_numbers) return 0;
  uint32_t *number = &l->file_numbers[file - t->nodes.data];
  if (*number) return *number;
  struct nvm_str name = file_name(l, file);
  for (uint32_t i = 0; i < l->ptx.files.count; i++)
    if (l->ptx.files.data[i].index == name.index) return *number = i + 1;
  if (!VEC_PUSH(&l->arena, &l->ptx.files, name)) return 0;
  return *number = l->ptx.files.count;
}

void lower_location(struct lower *l, struct nvm_inst_id i) {
  struct nvm_meta location = l->f->locations.data[i.index];
  if (!l->target->debug || location.index == 0 || location.index == l->location.index) return;
  l->location = location;
  const struct meta_node *n = meta_as_node(&l->module->metadata, location);
  const struct meta_node *file = n ? debug_file(l->module, n) : NULL;
  uint32_t line = n ? debug_number(l->module, n, "line") : 0;
  if (!file || line == 0) return;
  const uint32_t number[2] = {file_number(l, file), 0}, at[2] = {line, 0};
  const uint32_t column[2] = {debug_number(l->module, n, "column"), 0};
  ptx_add_loc(l->pf, (struct nvm_str){0}, number, at, column);
}
