/* Remarks; see remark.h. The pieces of a text share one growing buffer, so that they are offsets
 * until the text is complete. */
#include "opt/remark.h"

#include "ir/debug.h"

enum { MAX_ARGUMENTS = 24 };

struct writing {
  struct textbuf text;
  size_t begins[MAX_ARGUMENTS + 1];
  struct nvm_text keys[MAX_ARGUMENTS];
  uint32_t count;
};

/* Ends the current piece and begins the next; an empty piece is dropped. */
static void begin_piece(struct writing *w, const char *key, size_t length) {
  if (w->count && w->begins[w->count - 1] == w->text.length) w->count--;
  else if (w->count == MAX_ARGUMENTS) return;
  w->begins[w->count] = w->text.length;
  w->keys[w->count++] = (struct nvm_text){key, length};
}

static void write_pieces(struct writing *w, const char *format, va_list *args) {
  static const char plain[] = "String";
  begin_piece(w, plain, sizeof plain - 1);
  for (const char *f = format; *f; f++) {
    const char *end = *f == '%' && f[1] == '(' ? strchr(f, ')') : NULL;
    if (end) begin_piece(w, f + 2, (size_t)(end - f) - 2);
    if (end) f = end;
    if (*f == '%' || end) textbuf_directive(&w->text, *++f, args);
    else textbuf_char(&w->text, *f);
    if (end) begin_piece(w, plain, sizeof plain - 1);
  }
  if (w->count > 1 && w->begins[w->count - 1] == w->text.length) w->count--;
  w->begins[w->count] = w->text.length;
}

/* The location of the instruction; of f if there is no instruction, or one that a pass made and
 * that has none. */
static void find_location(struct remark *r, const struct nvm_function *f, struct nvm_inst_id at) {
  const struct nvm_module *m = f->module;
  struct nvm_meta where = at.index ? f->locations.data[at.index] : (struct nvm_meta){0};
  struct nvm_str dbg = strtab_find(&m->strings, "dbg", 3);
  r->position = at.index ? f->positions.data[at.index] : 0;
  if (where.index == 0 && r->position == 0) {
    if (dbg.index) where = module_attachment(m, f->symbol.attachments, dbg);
    r->position = f->symbol.where.begin;
  }
  const struct meta_node *n = meta_as_node(&m->metadata, where);
  const struct meta_node *file = n ? debug_file(m, n) : NULL;
  if (!file) return;
  r->file = debug_text(m, file, "filename");
  r->line = debug_number(m, n, "line");
  r->column = debug_number(m, n, "column");
}

void remark(const struct pass_env *env, enum remark_kind kind, const struct nvm_function *f,
            struct nvm_inst_id at, const char *name, const char *format, ...) {
  if (!remark_enabled(env)) return;
  struct writing w = {.count = 0};
  struct remark_argument arguments[MAX_ARGUMENTS];
  struct remark r = {.kind = kind,
                     .pass = env->pass,
                     .name = name,
                     .arguments = arguments,
                     .function = module_text(f->module, f->symbol.name)};
  va_list args;
  va_start(args, format);
  textbuf_init(&w.text, env->remarks->arena);
  write_pieces(&w, format, &args);
  va_end(args);
  find_location(&r, f, at);
  for (; r.count < w.count; r.count++)
    arguments[r.count] = (struct remark_argument){
        w.keys[r.count],
        {w.text.bytes + w.begins[r.count], w.begins[r.count + 1] - w.begins[r.count]}};
  if (!env->remarks->arena->failed) env->remarks->deliver(env->remarks->state, &r);
  arena_reset(env->remarks->arena);
}

void remark_warn(const struct pass_env *env, const struct nvm_function *f, struct nvm_inst_id at,
                 enum diag_id id, const char *text) {
  uint64_t begin = at.index ? f->positions.data[at.index] : 0;
  struct diag_range range = {f->symbol.where.source, begin, begin + 1};
  struct diag *d =
      diag_report_s(env->warnings, id, begin ? range : f->symbol.where, text, NULL, NULL);
  if (d) d->function = module_text(f->module, f->symbol.name);
}

struct nvm_inst_id remark_at_block(const struct nvm_function *f, struct nvm_block b) {
  struct nvm_inst_id placed = block_terminator(f, b);
  FOR_EACH_INST (f, b, i) {
    if (f->locations.data[i.index].index) return i;
    if (f->positions.data[placed.index] == 0) placed = i;
  }
  return placed;
}
