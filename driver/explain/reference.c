/* What the reference says about the passes, instructions and PTX instructions of a recording, so
 * that the page explains its own words without a network. The texts are those of `nvmini passes
 * PASS` and `nvmini ops OP`, and of the page of PTX instructions. */
#include "driver/explain/explain.h"
#include "driver/reference/reference.h"

#include <string.h>

#include "ir/ops.h"
#include "opt/pass.h"
#include "ptx/ops.h"

/* Where the examples of a section begin: its first line that is not prose. */
static size_t example_begin(struct nvm_text section) {
  static const char *const marks[] = {"file ", "$ ", "none:", "wrong\n", "right\n"};
  for (size_t at = 0; at < section.length;) {
    struct nvm_text rest = {section.bytes + at, section.length - at};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
      if (text_begins(rest, marks[k])) return at;
    at += strcspn(rest.bytes, "\n") + 1;
  }
  return section.length;
}

/* The section of a row, as its prose and its examples. */
static void put_section(struct json_writer *w, const char *kind, const char *name) {
  struct nvm_text section = reference_section(kind, name);
  size_t begin = example_begin(section), end = begin;
  while (end > 0 && section.bytes[end - 1] == '\n') end--;
  json_member(w, "text", (struct nvm_text){section.bytes, end});
  struct nvm_text example = {section.bytes + begin, section.length - begin};
  json_member(w, "example", text_begins(example, "none:") ? text_of("") : example);
}

static void put_entry(struct json_writer *w, const char *kind, const char *name,
                      struct nvm_text meaning) {
  json_object(w);
  json_member(w, "name", text_of(name));
  json_member(w, "meaning", meaning);
  put_section(w, kind, name);
  json_object_end(w);
}

/* ---- What a function uses ---- */

struct uses {
  bool passes[PASS_COUNT], ops[OP_COUNT], ptx[PTX_OP_COUNT];
};

/* The opcode of a line of PTX, without its modifiers: `mad` of `@%p1 mad.lo.s32 …`. */
static struct nvm_text opcode(struct nvm_text line) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  while (line.length && strchr(" \t", *line.bytes)) line.bytes++, line.length--;
  if (line.length && *line.bytes == '@') {
    const char *blank = memchr(line.bytes, ' ', line.length);
    size_t skipped = blank ? (size_t)(blank + 1 - line.bytes) : line.length;
    line.bytes += skipped, line.length -= skipped;
  }
  size_t length = 0;
  while (length < line.length && strchr(letters, line.bytes[length])) length++;
  return (struct nvm_text){line.bytes, length};
}

static void add_uses(struct uses *used, const struct explain_function *x) {
  for (uint32_t k = 0; k < x->steps.count; k++) {
    struct nvm_text pass = x->steps.data[k].pass;
    used->passes[pass_find(pass.bytes, pass.length)] = true;
  }
  for (uint32_t k = 0; k < x->insts.count; k++) used->ops[x->insts.data[k].op] = true;
  for (uint32_t k = 0; k < x->ptx.count; k++) {
    struct nvm_text word = opcode(x->ptx.data[k].text);
    if (word.length) used->ptx[ptx_find_op(word.bytes, word.length)] = true;
  }
}

/* ---- The entries ---- */

static void put_passes(struct json_writer *w, const struct uses *used) {
  json_key(w, "passes"), json_array(w);
  for (int p = 1; p < PASS_COUNT; p++)
    if (used->passes[p])
      put_entry(w, "passes", pass_table[p].name, text_of(pass_table[p].meaning));
  json_array_end(w);
}

static bool has_keyword(int op, const char *keyword) {
  return strcmp(op_table[op].keyword, keyword) == 0;
}

/* Operations of one keyword, such as both forms of `br`, are neighbors and one entry. */
static void put_ops(struct json_writer *w, const struct uses *used) {
  json_key(w, "ops"), json_array(w);
  for (int first = 0, end; first < OP_COUNT; first = end) {
    const char *keyword = op_table[first].keyword;
    struct textbuf meaning;
    bool is_used = false;
    textbuf_init(&meaning, w->out->arena);
    for (end = first; end < OP_COUNT && has_keyword(end, keyword); end++) {
      textbuf_format(&meaning, "%s%s", end > first ? "; " : "", op_table[end].meaning);
      is_used = is_used || used->ops[end];
    }
    if (is_used)
      put_entry(w, "ops", keyword, (struct nvm_text){meaning.bytes, meaning.length});
  }
  json_array_end(w);
}

static void put_ptx(struct json_writer *w, const struct uses *used) {
  json_key(w, "ptx"), json_array(w);
  for (uint16_t k = 1; k < PTX_OP_COUNT; k++)
    if (used->ptx[k]) put_entry(w, "ptx", ptx_op_row(k)->text, text_of(""));
  json_array_end(w);
}

void explain_put_reference(struct json_writer *w, const struct explain *e, int64_t only) {
  struct uses used;
  memset(&used, 0, sizeof used);
  for (uint32_t k = 0; k < e->functions.count; k++)
    if (only == EXPLAIN_NONE || only == (int64_t)k) add_uses(&used, &e->functions.data[k]);
  json_key(w, "reference"), json_object(w);
  put_passes(w, &used);
  put_ops(w, &used);
  put_ptx(w, &used);
  json_object_end(w);
}
