/* What the reference says about the passes, their knobs, the instructions, intrinsics and PTX
 * instructions of a recording and about the analyses, so that the page explains its own words
 * without a network. The texts are those of the pages that `nvmini help --reference` writes. */
#include "driver/commands.h"
#include "driver/explain/explain.h"
#include "driver/reference/page.h"

#include <ctype.h>
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

/* The section of a row, as its prose, which follows `facts`, and its examples. */
static void put_section(struct json_writer *w, const char *kind, const char *name,
                        const char *facts) {
  struct nvm_text section = reference_section(kind, name);
  size_t begin = example_begin(section), end = begin;
  while (end > 0 && section.bytes[end - 1] == '\n') end--;
  struct textbuf text;
  textbuf_init(&text, w->out->arena);
  textbuf_format(&text, "%s%s%t", facts, *facts && end ? " " : "",
                 (struct nvm_text){section.bytes ? section.bytes : "", end});
  json_member(w, "text", (struct nvm_text){text.bytes ? text.bytes : "", text.length});
  struct nvm_text example = {section.bytes + begin, section.length - begin};
  json_member(w, "example", text_begins(example, "none:") ? text_of("") : example);
}

static void put_entry(struct json_writer *w, const char *kind, const char *name,
                      struct nvm_text meaning, const char *facts) {
  json_object(w);
  json_member(w, "name", text_of(name));
  json_member(w, "meaning", meaning);
  put_section(w, kind, name, facts);
  json_object_end(w);
}

/* ---- What a function uses ---- */

struct uses {
  bool passes[PASS_COUNT], ops[OP_COUNT], ptx[PTX_OP_COUNT], intrinsics[INTRINSIC_COUNT];
  struct nvm_text diagnostics; /* JSON, with a zero after it */
};

/* The intrinsics that a text names. */
static void add_intrinsics(struct uses *used, struct nvm_text text) {
  const char *at = text.bytes, *end = text.bytes + text.length;
  while (at < end && (at = memchr(at, '@', (size_t)(end - at))) != NULL) {
    struct nvm_text name = {++at, 0};
    while (at < end && (isalnum((unsigned char)*at) || *at == '.' || *at == '_')) at++;
    name.length = (size_t)(at - name.bytes);
    if (!text_begins(name, "llvm.")) continue;
    used->intrinsics[intrinsic_find(name.bytes, name.length)] = true;
  }
}

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
  for (uint32_t k = 0; k < x->texts.count; k++) add_intrinsics(used, x->texts.data[k]);
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
      put_entry(w, "passes", pass_table[p].name, text_of(pass_table[p].meaning), "");
  json_array_end(w);
}

/* Whether a knob concerns a pass that ran, or a diagnostic names it. */
static bool is_near(const struct knob_row *knob, const struct uses *used) {
  if (used->diagnostics.length && strstr(used->diagnostics.bytes, knob->name)) return true;
  for (int p = 1; p < PASS_COUNT; p++)
    if (used->passes[p] && reference_knob_concerns(knob, pass_table[p].name)) return true;
  return false;
}

static void put_knob(struct json_writer *w, const struct knob_row *knob, const struct uses *used) {
  struct textbuf facts;
  textbuf_init(&facts, w->out->arena);
  const char *quote = pass_find(knob->reader, strlen(knob->reader)) != PASS_NONE ? "`" : "";
  textbuf_format(&facts, "Values: %d to %d, by default %d. Read by %s%s%s.", (int)knob->min,
                 (int)knob->max, (int)knob->initial, quote, knob->reader, quote);
  textbuf_char(&facts, '\0');
  json_object(w);
  json_member(w, "name", text_of(knob->name));
  json_member(w, "meaning", text_of(knob->meaning));
  json_key(w, "passes"), json_array(w);
  for (int p = 1; p < PASS_COUNT; p++)
    if (used->passes[p] && reference_knob_concerns(knob, pass_table[p].name))
      json_string(w, text_of(pass_table[p].name));
  json_array_end(w);
  put_section(w, "knobs", knob->name, facts.bytes ? facts.bytes : "");
  json_object_end(w);
}

static void put_knobs(struct json_writer *w, const struct uses *used) {
  json_key(w, "knobs"), json_array(w);
  for (int k = 0; k < KNOB_COUNT; k++)
    if (is_near(knobs_row((enum knob)k), used)) put_knob(w, knobs_row((enum knob)k), used);
  json_array_end(w);
}

/* The columns of the page of intrinsics: the signature is the meaning. */
static void put_intrinsic(struct json_writer *w, const struct intrinsic_info *row) {
  struct textbuf meaning, facts, needs;
  const char *effects[TABLES_MAX_FLAGS];
  uint32_t count = tables_effects(row->flags, effects);
  textbuf_init(&meaning, w->out->arena);
  textbuf_init(&facts, w->out->arena);
  textbuf_init(&needs, w->out->arena);
  textbuf_char(&meaning, '`');
  reference_signature(&meaning, row);
  textbuf_char(&meaning, '`');
  for (uint32_t k = 0; k < count; k++) textbuf_format(&meaning, ", %s", effects[k]);
  if (row->ptx[0] == '!') textbuf_format(&facts, "PTX: %s.", row->ptx + 1);
  else if (row->ptx[0]) textbuf_format(&facts, "PTX: `%s`.", row->ptx);
  page_requirement_text(&needs, text_of(row->requires));
  if (needs.length)
    textbuf_format(&facts, " Needs %t.", (struct nvm_text){needs.bytes, needs.length});
  textbuf_char(&facts, '\0');
  put_entry(w, "intrinsics", row->name, (struct nvm_text){meaning.bytes, meaning.length},
            facts.bytes ? facts.bytes : "");
}

static void put_intrinsics(struct json_writer *w, const struct uses *used) {
  json_key(w, "intrinsics"), json_array(w);
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++)
    if (used->intrinsics[i]) put_intrinsic(w, &intrinsic_table[i]);
  json_array_end(w);
}

static void put_diagnostics(struct json_writer *w, const struct explain *e) {
  json_key(w, "diagnostics"), json_array(w);
  for (int id = 0; e->diagnostics && id < DIAG_COUNT; id++)
    if (e->diagnostics->used[id])
      put_entry(w, "diagnostics", diag_name((enum diag_id)id),
                text_of(diag_message((enum diag_id)id)), diag_meaning((enum diag_id)id));
  json_array_end(w);
}

static void put_analyses(struct json_writer *w) {
  const struct explain_analysis *analysis;
  json_key(w, "analyses"), json_array(w);
  for (uint32_t k = 0; (analysis = explain_analysis(k)) != NULL; k++)
    put_entry(w, "analyses", analysis->name, text_of(analysis->meaning), "");
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
      put_entry(w, "ops", keyword, (struct nvm_text){meaning.bytes, meaning.length}, "");
  }
  json_array_end(w);
}

static void put_ptx(struct json_writer *w, const struct uses *used) {
  json_key(w, "ptx"), json_array(w);
  for (uint16_t k = 1; k < PTX_OP_COUNT; k++)
    if (used->ptx[k]) put_entry(w, "ptx", ptx_op_row(k)->text, text_of(""), "");
  json_array_end(w);
}

static struct nvm_text diagnostics_text(struct json_writer *w, const struct explain *e) {
  struct textbuf copy;
  textbuf_init(&copy, w->out->arena);
  if (e->diagnostics)
    textbuf_write(&copy, e->diagnostics->json.bytes, e->diagnostics->json.length);
  textbuf_char(&copy, '\0');
  return (struct nvm_text){copy.bytes ? copy.bytes : "", copy.length ? copy.length - 1 : 0};
}

void explain_put_reference(struct json_writer *w, const struct explain *e, int64_t only) {
  struct uses used;
  memset(&used, 0, sizeof used);
  used.diagnostics = diagnostics_text(w, e);
  for (uint32_t k = 0; k < e->functions.count; k++)
    if (only == EXPLAIN_NONE || only == (int64_t)k) add_uses(&used, &e->functions.data[k]);
  json_key(w, "reference"), json_object(w);
  put_passes(w, &used);
  put_ops(w, &used);
  put_ptx(w, &used);
  put_knobs(w, &used);
  put_intrinsics(w, &used);
  put_diagnostics(w, e);
  put_analyses(w);
  json_object_end(w);
}
