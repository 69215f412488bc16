/* Line information, with -g: `.loc FILE LINE COLUMN` where the source location changes, and the
 * names of files in the header. A location is a DILocation (!dbg), whose scope has a DIFile. Of the
 * debug sections only .debug_str is written, with the names of inlined functions. */
#include "codegen/stage.h"
#include "ir/debug.h"

struct debug_state {
  uint32_t *file_numbers;            /* by metadata node: its .file number; 0: none yet */
  VEC(uint32_t) inlined_numbers;     /* by string: 1 + its index in inlined_names; 0: none */
  VEC(struct nvm_str) inlined_names; /* of functions, for .loc */
  const struct nvm_function *f;      /* of the last location, */
  struct nvm_meta location;          /* which is this */
  bool silent;                       /* f's compile unit has `emissionKind: NoDebug` */
};

/* "directory/filename", or the name alone where it begins at the root. */
static struct nvm_str file_name(struct lower *l, const struct meta_node *file) {
  struct nvm_text name = debug_text(l->module, file, "filename");
  struct nvm_text directory = debug_text(l->module, file, "directory");
  struct textbuf b;
  textbuf_init(&b, &l->function_arena);
  if (directory.length && !(name.length && name.bytes[0] == '/')) {
    textbuf_text(&b, directory);
    if (directory.bytes[directory.length - 1] != '/') textbuf_char(&b, '/');
  }
  for (size_t i = 0; i < name.length; i++) /* the text between quotes has no escapes */
    textbuf_char(&b, name.bytes[i] == '"' || name.bytes[i] == '\n' ? '_' : name.bytes[i]);
  return strtab_intern(&l->module->strings, b.bytes, b.length);
}

/* The number of a file, from 1; 0 when out of memory. */
static uint32_t file_number(struct lower *l, const struct meta_node *file) {
  const struct meta_table *t = &l->module->metadata;
  uint32_t *number = &l->debug->file_numbers[file - t->nodes.data];
  if (*number) return *number;
  struct nvm_str name = file_name(l, file);
  for (uint32_t i = 0; i < l->ptx.files.count; i++)
    if (l->ptx.files.data[i].index == name.index) return *number = i + 1;
  if (!VEC_PUSH(&l->arena, &l->ptx.files, name)) return 0;
  return *number = l->ptx.files.count;
}

/* --- Inlined code: `.loc 1 5 3, function_name $L__inlined0, inlined_at 1 20 7` --- */

enum { MAX_INLINED = 64 }; /* nested calls that are described */

static void label_name(struct textbuf *b, uint32_t number) {
  textbuf_format(b, "$L__inlined%u", number);
}

/* The label in .debug_str of the function that contains a location; {0} if it has no name. */
static struct nvm_str function_label(struct lower *l, const struct meta_node *place) {
  const struct meta_node *scope = debug_node(l->module, place, "scope");
  struct nvm_text name = {0};
  for (int step = 0; scope && step < MAX_INLINED && !name.length; step++) {
    name = debug_text(l->module, scope, "linkageName");
    if (!name.length) name = debug_text(l->module, scope, "name");
    scope = debug_node(l->module, scope, "scope");
  }
  struct nvm_str s = name.length ? strtab_intern(&l->module->strings, name.bytes, name.length)
                                 : (struct nvm_str){0};
  if (!s.index || !VEC_RESERVE(&l->arena, &l->debug->inlined_numbers, (uint64_t)s.index + 1))
    return (struct nvm_str){0};
  uint32_t *known = &l->debug->inlined_numbers.data[s.index];
  if (*known == 0 && VEC_PUSH(&l->arena, &l->debug->inlined_names, s))
    *known = l->debug->inlined_names.count;
  struct textbuf b;
  textbuf_init(&b, &l->function_arena);
  label_name(&b, *known);
  return b.arena->failed ? (struct nvm_str){0}
                         : strtab_intern(&l->module->strings, b.bytes, b.length);
}

void debug_write_inlined_names(struct lower *l) {
  if (!l->debug || l->debug->inlined_names.count == 0) return;
  textbuf_puts(l->out, ".section .debug_str\n{\n");
  for (uint32_t i = 0; i < l->debug->inlined_names.count; i++) {
    struct nvm_text name = module_text(l->module, l->debug->inlined_names.data[i]);
    label_name(l->out, i + 1);
    textbuf_puts(l->out, ":\n.b8 ");
    for (size_t k = 0; k < name.length; k++)
      textbuf_format(l->out, "%u, ", (unsigned char)name.bytes[k]);
    textbuf_puts(l->out, "0\n");
  }
  textbuf_puts(l->out, "}\n");
}

/* --- .loc --- */

/* Writes one location, after that of the call that it was inlined at. */
static bool write_place(struct lower *l, const struct meta_node *n, int depth) {
  const struct meta_node *file = debug_file(l->module, n),
                         *call = debug_node(l->module, n, "inlinedAt");
  uint32_t line[2] = {debug_number(l->module, n, "line"), 0}, number[2] = {0, 0};
  if (!file || line[0] == 0) return false;
  number[0] = file_number(l, file);
  uint32_t column[2] = {debug_number(l->module, n, "column"), 0};
  struct nvm_str name = {0};
  bool known = !l->target->ptx || l->target->ptx >= 72;
  if (call && known && depth < MAX_INLINED && write_place(l, call, depth + 1)) {
    name = function_label(l, n);
    number[1] = file_number(l, debug_file(l->module, call));
    line[1] = debug_number(l->module, call, "line");
    column[1] = debug_number(l->module, call, "column");
    if (l->ptx_needed < 72) l->ptx_needed = 72;
  }
  ptx_add_loc(l->pf, name, number, line, column);
  return true;
}

static struct debug_state *state_of(struct lower *l) {
  if (l->debug) return l->debug;
  struct debug_state *d = arena_alloc(&l->arena, sizeof *d);
  if (!d) return NULL;
  d->file_numbers =
      arena_alloc(&l->arena, l->module->metadata.nodes.count * sizeof *d->file_numbers);
  return l->debug = d->file_numbers ? d : NULL;
}

/* Whether the function's compile unit is for remarks only; LLVM asks the subprogram too. */
static bool is_without_debug(const struct nvm_function *f) {
  const struct nvm_module *m = f->module;
  struct nvm_str dbg = strtab_find(&m->strings, "dbg", strlen("dbg"));
  if (!dbg.index) return false;
  const struct meta_node *subprogram =
      meta_as_node(&m->metadata, module_attachment(m, f->symbol.attachments, dbg));
  const struct meta_node *unit = subprogram ? debug_node(m, subprogram, "unit") : NULL;
  return unit && text_is(debug_word(m, unit, "emissionKind"), "NoDebug");
}

void debug_write_location(struct lower *l, struct nvm_inst_id i) {
  struct nvm_meta location = l->f->locations.data[i.index];
  struct debug_state *d = state_of(l);
  if (!d || location.index == 0 || (d->f == l->f && location.index == d->location.index)) return;
  if (d->f != l->f) d->silent = is_without_debug(l->f);
  d->f = l->f;
  d->location = location;
  const struct meta_node *n = meta_as_node(&l->module->metadata, location);
  if (n && !d->silent) write_place(l, n, 0);
}
