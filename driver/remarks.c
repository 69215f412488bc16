/* Remarks in three forms: clang's messages (`a.cu:3:5: remark: … [-Rpass=inline]`), LLVM's records
 * in YAML, which its viewers read, and the same as JSON, one object a line. Strings in YAML are
 * written as in JSON, which is a subset. */
#include "driver/remarks.h"

#include "driver/progress.h"

#include "support/json.h"

static const struct {
  const char *tag, *option;
} kinds[] = {
    [NVMINI_PASSED] = {"Passed", "-Rpass"},
    [NVMINI_MISSED] = {"Missed", "-Rpass-missed"},
    [NVMINI_ANALYSIS] = {"Analysis", "-Rpass-analysis"},
};

static struct nvm_text text_from(struct nvmini_text t) {
  return (struct nvm_text){t.bytes, t.length};
}

static void put_line(struct textbuf *b, const struct nvmini_remark *m) {
  if (m->file.length) textbuf_text(b, text_from(m->file));
  else textbuf_puts(b, "<unknown>");
  textbuf_format(b, ":%u:%u: remark: ", m->line, m->column);
  for (size_t i = 0; i < m->count; i++) textbuf_text(b, text_from(m->arguments[i].value));
  textbuf_format(b, " [%s=%s]\n", kinds[m->kind].option, m->pass);
}

static void put_quoted(struct textbuf *b, struct nvmini_text t) {
  struct json_writer w;
  json_begin(&w, b, false);
  json_string(&w, text_from(t));
}

static void put_yaml(struct textbuf *b, const struct nvmini_remark *m) {
  textbuf_format(b, "--- !%s\nPass:            %s\nName:            %s\n", kinds[m->kind].tag,
                 m->pass, m->name);
  if (m->file.length) {
    textbuf_puts(b, "DebugLoc:        { File: ");
    put_quoted(b, m->file);
    textbuf_format(b, ", Line: %u, Column: %u }\n", m->line, m->column);
  }
  textbuf_puts(b, "Function:        ");
  put_quoted(b, m->function);
  textbuf_puts(b, "\nArgs:\n");
  for (size_t i = 0; i < m->count; i++) {
    textbuf_format(b, "  - %t:", text_from(m->arguments[i].key));
    for (size_t column = m->arguments[i].key.length + 1; column < 17; column++)
      textbuf_char(b, ' ');
    put_quoted(b, m->arguments[i].value);
    textbuf_char(b, '\n');
  }
  textbuf_puts(b, "...\n");
}

static void put_json(struct textbuf *b, const struct nvmini_remark *m) {
  struct json_writer w;
  json_begin(&w, b, false);
  json_object(&w);
  json_member(&w, "kind", text_of(kinds[m->kind].tag));
  json_member(&w, "pass", text_of(m->pass));
  json_member(&w, "name", text_of(m->name));
  json_member(&w, "function", text_from(m->function));
  if (m->file.length) {
    json_member(&w, "file", text_from(m->file));
    json_number(&w, "line", m->line);
    json_number(&w, "column", m->column);
  }
  json_key(&w, "args"), json_array(&w);
  for (size_t i = 0; i < m->count; i++) {
    json_object(&w);
    json_member(&w, "key", text_from(m->arguments[i].key));
    json_member(&w, "value", text_from(m->arguments[i].value));
    json_object_end(&w);
  }
  json_array_end(&w);
  json_object_end(&w);
  textbuf_char(b, '\n');
}

static void take_remark(void *user, const struct nvmini_remark *m) {
  struct remarks *r = user;
  if (r->filtered && regexec(&r->filter, m->pass, 0, NULL, 0) != 0) return;
  if (r->shown) {
    progress_hide();
    r->line.length = 0;
    put_line(&r->line, m);
    fwrite(r->line.bytes, 1, r->line.length, stderr);
  }
  if (!r->kept) return;
  if (r->form == REMARKS_YAML) put_yaml(&r->text, m);
  else if (r->form == REMARKS_JSON) put_json(&r->text, m);
  else put_line(&r->text, m);
}

static enum remarks_form form_of(const char *path, enum remarks_form otherwise) {
  const char *end = path ? strrchr(path, '.') : NULL;
  if (end && (strcmp(end, ".yaml") == 0 || strcmp(end, ".yml") == 0)) return REMARKS_YAML;
  if (end && strcmp(end, ".json") == 0) return REMARKS_JSON;
  return end && strcmp(end, ".txt") == 0 ? REMARKS_TEXT : otherwise;
}

int remarks_start(struct remarks *r, const struct options *o) {
  const char *pattern = o->values[OPTION_REMARKS], *file = o->values[OPTION_REMARKS_FILE];
  const char *emit = o->values[OPTION_EMIT];
  bool emitted = emit && strcmp(emit, "remarks") == 0;
  *r = (struct remarks){.kept = file || emitted};
  r->form = file ? form_of(file, REMARKS_TEXT) : form_of(o->values[OPTION_OUTPUT], REMARKS_YAML);
  r->shown = pattern && !r->kept;
  arena_init(&r->arena, nvm_default_allocator);
  textbuf_init(&r->text, &r->arena);
  textbuf_init(&r->line, &r->arena);
  if (file && o->values[OPTION_OUTPUT] && strcmp(file, o->values[OPTION_OUTPUT]) == 0) {
    fprintf(stderr, "nvmini: error: options '-o' and '--remarks-file' name the same file, '%s'\n",
            file);
    return EXIT_USAGE;
  }
  if (pattern && *pattern) {
    char message[128];
    int wrong = regcomp(&r->filter, pattern, REG_EXTENDED | REG_NOSUB);
    r->filtered = wrong == 0;
    if (wrong) regerror(wrong, &r->filter, message, sizeof message);
    if (wrong) fprintf(stderr, "nvmini: error: option '--remarks': '%s': %s\n", pattern, message);
    if (wrong) return EXIT_USAGE;
  }
  return EXIT_DONE;
}

void remarks_of(struct remarks *r, struct nvmini_context *context) {
  if (r->shown || r->kept) nvmini_on_remark(context, take_remark, r);
}

void remarks_end(struct remarks *r) {
  if (r->filtered) regfree(&r->filter);
  arena_free(&r->arena);
}
