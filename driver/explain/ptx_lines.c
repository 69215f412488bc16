/* Splits PTX into lines of functions. With --asm-verbose a comment before each group of lines has
 * the text of the IR instruction that they come from; the comments are then removed, which leaves
 * what `nvmini compile` writes. */
#include "driver/explain/explain.h"

#include "support/number.h"

#include <string.h>

/* The state of the split. `first` and `next` are described at index_insts(). */
struct splitter {
  struct explain *e;
  struct explain_function *function; /* NULL: outside of all */
  struct textbuf kept;               /* the PTX without comments */
  uint32_t line;                     /* the number of its lines */
  uint32_t inst;                     /* index + 1 of the instruction of the last comment */
  uint32_t source, file_number;      /* of the last `.loc` */
  bool is_asm;                       /* in inline assembly, whose lines can look like any other */
  struct arena scratch;              /* of the following, about one function */
  struct strtab keys;
  VEC(uint32_t) first;
  VEC(uint32_t) next;
};

/* ---- Functions ---- */

/* Whether a PTX name is that of an IR name: `.` and `@` become `_$_`, other bytes `_$` and two
 * digits (codegen/names.c). */
static bool is_name_of(struct nvm_text ptx, struct nvm_text ir) {
  size_t at = 0;
  for (size_t i = 0; i < ir.length; i++) {
    if (at < ptx.length && ptx.bytes[at] == ir.bytes[i]) {
      at++;
    } else {
      bool mark = ir.bytes[i] == '.' || ir.bytes[i] == '@';
      if (ptx.length - at < 3 || memcmp(ptx.bytes + at, "_$", 2) != 0) return false;
      at += mark ? 3 : 4;
      if (at > ptx.length) return false;
    }
  }
  return at == ptx.length;
}

static struct explain_function *function_of_name(struct explain *e, struct nvm_text name) {
  for (uint32_t k = 0; k < e->functions.count; k++)
    if (e->functions.data[k].is_final && is_name_of(name, e->functions.data[k].name))
      return &e->functions.data[k];
  return NULL;
}

/* The name in `.visible .entry NAME(` or `.func (.param .b32 r) NAME(`; empty if it is neither. */
static struct nvm_text header_name(struct nvm_text line) {
  const char *end = line.bytes + line.length, *at = NULL;
  for (const char *p = line.bytes; p + 6 < end && !at; p++)
    if (memcmp(p, ".entry ", 7) == 0 || memcmp(p, ".func ", 6) == 0) at = p + 6;
  if (!at || line.bytes[0] != '.') return (struct nvm_text){"", 0};
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  if (at < end && *at == '(') {
    while (at < end && *at != ')') at++;
    while (at < end && (*at == ')' || *at == ' ')) at++;
  }
  size_t length = 0;
  while (at + length < end && !strchr("( \t;", at[length])) length++;
  return (struct nvm_text){at, length};
}

/* ---- Comments ---- */

/* The text by which a comment and an instruction are compared: without quotes, which numbers have
 * in one of them, and without labels, which may have other names. */
static struct nvm_str key_of(struct splitter *s, struct nvm_text text) {
  struct textbuf b;
  textbuf_init(&b, &s->scratch);
  for (size_t i = 0; i < text.length; i++) {
    if (text.length - i > 7 && memcmp(text.bytes + i, " label ", 7) == 0) break;
    if (text.bytes[i] != '"') textbuf_char(&b, text.bytes[i]);
  }
  return strtab_intern(&s->keys, b.bytes, b.length);
}

static struct nvm_text line_at(struct nvm_text text, size_t begin) {
  const char *end = memchr(text.bytes + begin, '\n', text.length - begin);
  size_t length = end ? (size_t)(end - text.bytes) - begin : text.length - begin;
  return (struct nvm_text){text.bytes + begin, length};
}

static struct nvm_text without_indent(struct nvm_text t) {
  while (t.length && (*t.bytes == ' ' || *t.bytes == '\t')) t.bytes++, t.length--;
  return t;
}

/* Prepares the lookup of the function's instructions by their text: for each key the first
 * instruction, and for each instruction the next one of the same key, as indices + 1. From the
 * last line to the first: many instructions may have one key. */
static bool index_insts(struct splitter *s, const struct explain_function *x) {
  struct nvm_text text = x->texts.data[x->texts.count - 1];
  size_t begin = 0;
  arena_reset(&s->scratch);
  s->first.data = s->next.data = NULL;
  s->first.count = s->first.capacity = s->next.count = s->next.capacity = 0;
  if (!strtab_init(&s->keys, &s->scratch) || !VEC_RESERVE(&s->scratch, &s->next, x->insts.count))
    return false;
  VEC(uint32_t) keys = {NULL, 0, 0};
  for (uint32_t line = 1, k = 0; k < x->insts.count && begin < text.length; line++) {
    struct nvm_text all = line_at(text, begin);
    begin += all.length + 1;
    if (x->insts.data[k].line != line) continue;
    struct nvm_str key = key_of(s, without_indent(all));
    k++;
    if (!VEC_PUSH(&s->scratch, &keys, key.index)) return false;
    if (!VEC_RESERVE(&s->scratch, &s->first, (uint64_t)key.index + 1)) return false;
    if (s->first.count <= key.index) s->first.count = key.index + 1;
  }
  for (uint32_t k = keys.count; k > 0; k--) {
    s->next.data[k - 1] = s->first.data[keys.data[k - 1]];
    s->first.data[keys.data[k - 1]] = k;
  }
  return true;
}

/* The instruction of a comment, each one once; 0: none. */
static uint32_t find_inst(struct splitter *s, struct nvm_text comment) {
  struct nvm_str key = key_of(s, comment);
  if (key.index >= s->first.count || s->first.data[key.index] == 0) return 0;
  uint32_t found = s->first.data[key.index];
  if (s->next.data[found - 1]) s->first.data[key.index] = s->next.data[found - 1];
  return found;
}

/* ---- Lines ---- */

/* The registers that an instruction writes: its first operand, with the braces of a vector. */
static struct nvm_text written_registers(struct nvm_text line) {
  struct nvm_text t = without_indent(line);
  if (t.length && *t.bytes == '@') {
    while (t.length && *t.bytes != ' ' && *t.bytes != '\t') t.bytes++, t.length--;
    t = without_indent(t);
  }
  if (text_begins(t, "st.") || text_begins(t, "bra") || text_begins(t, "red.")) return text_of("");
  const char *at = memchr(t.bytes, '%', t.length), *tab = memchr(t.bytes, '\t', t.length);
  bool braces = tab && tab + 1 < t.bytes + t.length && tab[1] == '{';
  if (!at || !tab || at != tab + 1 + braces) return text_of("");
  const char *end = t.bytes + t.length, *p = at;
  while (p < end && *p != '}' && (braces || *p != ',') && *p != ';') p++;
  return (struct nvm_text){at, (size_t)(p - at)};
}

/* `.file 1 "dir/name"` and `.loc 1 12 3`. */
static void read_location(struct splitter *s, struct nvm_text line) {
  uint64_t number = 0, source = 0;
  const char *at = line.bytes + 5;
  if (!number_read(&at, INT32_MAX, &number) || *at != ' ') return;
  at++;
  if (number_read(&at, UINT32_MAX, &source)) s->source = (uint32_t)source;
  s->file_number = (uint32_t)number;
}

static void add_line(struct splitter *s, struct nvm_text line) {
  struct explain_function *x = s->function;
  s->line++;
  textbuf_text(&s->kept, line);
  textbuf_char(&s->kept, '\n');
  if (!x) return;
  struct nvm_text bare = without_indent(line);
  bool label = bare.length && bare.bytes[bare.length - 1] == ':';
  if (text_begins(bare, ".loc ")) read_location(s, bare);
  bool instruction = !label && bare.length && *bare.bytes != '.' && *bare.bytes != '{';
  uint32_t inst = instruction ? s->inst : 0;
  const char *copy = arena_copy(&s->e->arena, line.bytes, line.length);
  struct explain_ptx made = {{copy ? copy : "", copy ? line.length : 0},
                             inst ? x->insts.data[inst - 1].line : 0,
                             instruction ? s->source : 0,
                             instruction ? (int32_t)s->file_number : EXPLAIN_NONE};
  (void)VEC_PUSH(&s->e->arena, &x->ptx, made);
  bool wanted = inst && x->insts.data[inst - 1].has_result;
  struct nvm_text written = wanted ? written_registers(line) : text_of("");
  if (written.length && copy)
    x->insts.data[inst - 1].registers =
        (struct nvm_text){copy + (written.bytes - line.bytes), written.length};
}

static void begin_function(struct splitter *s, struct nvm_text header) {
  struct nvm_text name = header_name(header);
  struct explain_function *x = name.length ? function_of_name(s->e, name) : NULL;
  if (!x || !x->texts.count || !index_insts(s, x)) return;
  s->function = x;
  s->inst = s->source = s->file_number = 0;
  x->ptx.count = 0;
  x->ptx_begin = s->line + 1;
}

static void take_line(struct splitter *s, struct nvm_text line) {
  if (text_is(line, "\t// begin inline asm")) s->is_asm = true;
  if (s->is_asm) {
    s->is_asm = !text_is(line, "\t// end inline asm");
    add_line(s, line);
    return;
  }
  if (s->function && text_begins(line, "\t// ")) {
    uint32_t found = find_inst(s, (struct nvm_text){line.bytes + 4, line.length - 4});
    if (found) s->inst = found;
    return;
  }
  if (!s->function) begin_function(s, line);
  add_line(s, line);
  bool declared = s->function && s->function->ptx.count && line.length &&
                  line.bytes[line.length - 1] == ';' && *line.bytes != '\t';
  if (declared) s->function->ptx.count = s->function->ptx_begin = 0;
  if (declared || text_is(line, "}")) s->function = NULL;
}

/* The names of `.file` directives, which the numbers of lines then become indices of. */
static void name_files(struct explain *e, struct nvm_text ptx) {
  VEC(int32_t) index = {NULL, 0, 0};
  for (size_t begin = 0; begin < ptx.length;) {
    struct nvm_text line = line_at(ptx, begin);
    begin += line.length + 1;
    line = without_indent(line);
    uint64_t number;
    const char *at = line.bytes + 6, *open = memchr(line.bytes, '"', line.length);
    if (!text_begins(line, ".file") || !open || !number_read(&at, 1 << 20, &number)) continue;
    size_t length = (size_t)(line.bytes + line.length - open) - 1;
    const char *close = memchr(open + 1, '"', length);
    if (!close || !VEC_RESERVE(&e->arena, &index, number + 1)) continue;
    if (index.count <= number) index.count = (uint32_t)number + 1;
    index.data[number] =
        explain_file(e, text_of(""), (struct nvm_text){open + 1, (size_t)(close - open) - 1}) + 1;
  }
  for (uint32_t f = 0; f < e->functions.count; f++)
    for (uint32_t k = 0; k < e->functions.data[f].ptx.count; k++) {
      int32_t *file = &e->functions.data[f].ptx.data[k].file;
      bool known = *file > 0 && (uint32_t)*file < index.count;
      *file = known ? index.data[*file] - 1 : EXPLAIN_NONE;
    }
}

void explain_split_ptx(struct explain *e, struct nvm_text ptx) {
  struct splitter s = {.e = e};
  arena_init(&s.scratch, nvm_default_allocator);
  textbuf_init(&s.kept, &e->arena);
  for (size_t begin = 0; begin < ptx.length;) {
    struct nvm_text line = line_at(ptx, begin);
    begin += line.length + 1;
    take_line(&s, line);
  }
  name_files(e, ptx);
  textbuf_char(&s.kept, '\0');
  e->ptx = (struct nvm_text){s.kept.bytes, s.kept.length - 1};
  e->ptx_lines = s.line;
  e->arena.failed |= s.scratch.failed;
  arena_free(&s.scratch);
}
