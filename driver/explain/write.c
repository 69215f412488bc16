/* Writes a recording as JSON, or as the page with the JSON in it. */
#include "driver/explain/explain.h"

#include "driver/files.h"
#include "target/occupancy.h"
#include "target/target.h"

#include "explain_page.inc"

#include <string.h>

/* Appends a value that is JSON already. */
static void put_raw(struct json_writer *w, struct nvm_text json) {
  w->after_key = false;
  textbuf_text(w->out, json);
  w->comma = true;
}

/* Appends members that are JSON already. */
static void put_members(struct json_writer *w, struct nvm_text json) {
  if (json.length == 0) return;
  if (w->comma) textbuf_char(w->out, ',');
  put_raw(w, json);
}

static void put_strings(struct json_writer *w, const char *key, const struct nvm_text *texts,
                        uint32_t count) {
  json_key(w, key), json_array(w);
  for (uint32_t k = 0; k < count; k++) json_string(w, texts[k]);
  json_array_end(w);
}

/* A number, or -1. */
static void put_index(struct json_writer *w, const char *key, int32_t index) {
  json_key(w, key);
  json_signed(w, index);
}

/* ---- Files ---- */

/* The lines of a definition in the source: from the line of `define … @NAME(` to that of `}`. */
static void find_definition(const struct explain *e, struct nvm_text name, uint32_t lines[2]) {
  const char *at = e->source.bytes, *end = at + e->source.length;
  bool inside = false;
  lines[0] = lines[1] = 0;
  for (uint32_t line = 1; at < end; line++) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((next ? next : end) - at);
    if (!inside && length > 7 && memcmp(at, "define ", 7) == 0) {
      const char *sign = memchr(at, '@', length);
      struct nvm_text found = {sign ? sign + 1 : at, 0};
      if (sign && *found.bytes == '"') found.bytes++;
      bool same = sign && (size_t)(at + length - found.bytes) > name.length &&
                  memcmp(found.bytes, name.bytes, name.length) == 0 &&
                  strchr("(\"", found.bytes[name.length]);
      if (same) lines[0] = line, inside = true;
    }
    if (inside && *at == '}') lines[1] = line;
    if (lines[1]) return;
    at += length + 1;
  }
  lines[0] = 0;
}

/* The names are the input's: only regular files are read, because a device may have no end. */
static void put_files(struct json_writer *w, struct explain *e) {
  json_key(w, "files"), json_array(w);
  for (uint32_t k = 0; k < e->files.count; k++) {
    struct file_bytes file = {0};
    struct file_error error;
    char *path = arena_copy(&e->arena, e->files.data[k].path.bytes, e->files.data[k].path.length);
    bool there = path && files_same(path, path) && files_read(path, &file, &error);
    json_object(w);
    json_member(w, "name", e->files.data[k].name);
    json_member(w, "text", (struct nvm_text){there ? file.bytes : "", there ? file.length : 0});
    json_object_end(w);
    if (there) files_free(&file);
  }
  json_array_end(w);
}

/* ---- Registers and occupancy ---- */

enum { MIN_REGISTERS = 16 }; /* of the steps of occupancy */

static struct nvm_text bare_line(struct nvm_text t) {
  while (t.length && (*t.bytes == ' ' || *t.bytes == '\t')) t.bytes++, t.length--;
  return t;
}

/* From the declarations: `.reg .b32 %r<12>;` declares 11, from 1. */
static void put_registers(struct json_writer *w, const struct explain_function *x) {
  json_key(w, "registers"), json_array(w);
  for (uint32_t k = 0; k < x->ptx.count; k++) {
    struct nvm_text t = bare_line(x->ptx.data[k].text);
    const char *open = memchr(t.bytes, '<', t.length);
    if (!text_begins(t, ".reg ") || !open) continue;
    uint64_t count = 0;
    for (const char *p = open + 1; *p >= '0' && *p <= '9'; p++)
      count = count * 10 + (uint64_t)(*p - '0');
    size_t length = strcspn(t.bytes + 5, " \t");
    json_object(w);
    json_member(w, "type", (struct nvm_text){t.bytes + 5, length});
    json_number(w, "count", count ? count - 1 : 0);
    json_object_end(w);
  }
  json_array_end(w);
}

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

/* Whether a text has the name at `at`, and not as part of another name. */
static bool has_name_at(struct nvm_text t, size_t at, struct nvm_text name) {
  size_t end = at + name.length;
  return memcmp(t.bytes + at, name.bytes, name.length) == 0 &&
         (at == 0 || !is_name_byte(t.bytes[at - 1])) &&
         (end == t.length || !is_name_byte(t.bytes[end]));
}

/* Whether a line of the function's PTX has the name. */
static bool mentions(const struct explain_function *x, struct nvm_text name) {
  for (uint32_t k = 0; k < x->ptx.count; k++) {
    struct nvm_text t = x->ptx.data[k].text;
    for (size_t i = 0; i + name.length <= t.length; i++)
      if (has_name_at(t, i, name)) return true;
  }
  return false;
}

/* Bytes of the variables `.visible .shared .align 4 .b8 NAME[BYTES];` that the function's own code
 * names. */
static uint32_t shared_bytes(const struct explain *e, const struct explain_function *x) {
  uint64_t sum = 0;
  for (const char *at = e->ptx.bytes; (at = strstr(at, ".shared ")) != NULL; at += 8) {
    const char *end = at + strcspn(at, ";\n"), *open = memchr(at, '[', (size_t)(end - at));
    bool declares = (at == e->ptx.bytes || strchr("\n\t ", at[-1])) && open;
    if (!declares) continue;
    const char *name = open;
    while (name > at && name[-1] != ' ' && name[-1] != '\t') name--;
    uint64_t bytes = 0;
    for (const char *p = open + 1; *p >= '0' && *p <= '9'; p++)
      bytes = bytes * 10 + (uint64_t)(*p - '0');
    if (mentions(x, (struct nvm_text){name, (size_t)(open - name)})) sum += bytes;
  }
  return sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
}

/* What limits a step to its number of blocks, asked for the fewest registers that give that number:
 * at the most, registers are always among the limits. */
static const char *limit_of_step(const struct tgt_cpu *cpu, struct occupancy_use use,
                                 uint32_t blocks) {
  struct occupancy o, fewer;
  occupancy_compute(cpu, &use, &o);
  while (use.registers_per_thread > MIN_REGISTERS) {
    use.registers_per_thread--;
    occupancy_compute(cpu, &use, &fewer);
    if (fewer.blocks != blocks) break;
    o = fewer;
  }
  return occupancy_limit_name(occupancy_limiting_factor(&o));
}

static void put_occupancy(struct json_writer *w, struct explain *e,
                          const struct explain_function *x) {
  struct nvm_target target;
  if (!x->is_kernel || module_target(e->context, &target) != NVMINI_OK) return;
  const struct explain_run *run = &e->run;
  bool launched = run->done && run->kernel.length == x->name.length &&
                  memcmp(run->kernel.bytes, x->name.bytes, x->name.length) == 0;
  uint32_t threads = launched ? run->block[0] * run->block[1] * run->block[2] : x->threads;
  struct occupancy_use use = {.threads_per_block = threads ? threads : 256,
                              .shared_bytes = shared_bytes(e, x)};
  json_number(w, "threads", use.threads_per_block);
  json_number(w, "shared", use.shared_bytes);
  json_key(w, "occupancy"), json_array(w);
  uint32_t blocks = 0;
  uint32_t most = tgt_limit(target.cpu, TGT_LIMIT_REGISTERS_PER_THREAD);
  for (uint32_t r = most; r >= MIN_REGISTERS; r--) {
    struct occupancy o;
    use.registers_per_thread = r;
    occupancy_compute(target.cpu, &use, &o);
    if (o.blocks == blocks) continue;
    blocks = o.blocks;
    json_object(w);
    json_number(w, "registers", r);
    json_number(w, "blocks", o.blocks);
    json_number(w, "warps", o.warps);
    json_member(w, "limit", text_of(limit_of_step(target.cpu, use, blocks)));
    json_object_end(w);
  }
  json_array_end(w);
}

/* ---- Functions ---- */

/* The lines of all texts, each once, and the texts as arrays of their indices: passes change few
 * lines. */
static void put_texts(struct json_writer *w, struct explain *e, const struct explain_function *x) {
  struct arena scratch;
  struct strtab lines;
  arena_init(&scratch, nvm_default_allocator);
  bool right = strtab_init(&lines, &scratch);
  json_key(w, "texts"), json_array(w);
  for (uint32_t k = 0; right && k < x->texts.count; k++) {
    const char *at = x->texts.data[k].bytes, *end = at + x->texts.data[k].length;
    json_array(w);
    while (at < end) {
      const char *next = memchr(at, '\n', (size_t)(end - at));
      size_t length = (size_t)((next ? next : end) - at);
      json_unsigned(w, strtab_intern(&lines, at, length).index);
      at += length + 1;
    }
    json_array_end(w);
  }
  json_array_end(w);
  json_key(w, "lines"), json_array(w);
  for (uint32_t k = 0; right && k < lines.entries.count; k++)
    json_string(w, (struct nvm_text){lines.entries.data[k].bytes, lines.entries.data[k].length});
  json_array_end(w);
  e->arena.failed |= scratch.failed;
  arena_free(&scratch);
}

static void put_steps(struct json_writer *w, const struct explain_function *x) {
  json_key(w, "steps"), json_array(w);
  for (uint32_t k = 0; k < x->steps.count; k++) {
    json_object(w);
    json_member(w, "pass", x->steps.data[k].pass);
    json_number(w, "text", x->steps.data[k].text);
    json_object_end(w);
  }
  json_array_end(w);
}

static void put_insts(struct json_writer *w, const struct explain_function *x) {
  json_key(w, "insts"), json_array(w);
  for (uint32_t k = 0; k < x->insts.count; k++) {
    const struct explain_inst *i = &x->insts.data[k];
    json_object(w);
    put_members(w, i->members);
    if (i->registers.length) put_strings(w, "registers", &i->registers, 1);
    json_object_end(w);
  }
  json_array_end(w);
}

static void put_ptx(struct json_writer *w, const struct explain_function *x) {
  json_number(w, "ptx_begin", x->ptx_begin);
  json_key(w, "ptx"), json_array(w);
  for (uint32_t k = 0; k < x->ptx.count; k++) {
    const struct explain_ptx *p = &x->ptx.data[k];
    json_object(w);
    json_member(w, "text", p->text);
    if (p->ir) json_number(w, "ir", p->ir);
    if (p->source) put_index(w, "file", p->file), json_number(w, "line", p->source);
    json_object_end(w);
  }
  json_array_end(w);
}

static void put_line_counts(struct json_writer *w, uint32_t line, const struct sim_line_counts *c) {
  json_object(w);
  json_number(w, "line", line);
  json_number(w, "warps", c->warps);
  json_number(w, "threads", c->threads);
  json_number(w, "diverged", c->diverged);
  json_number(w, "bytes", c->bytes);
  json_number(w, "sectors", c->sectors);
  json_number(w, "conflicts", c->conflicts);
  json_object_end(w);
}

static void put_numbers(struct json_writer *w, const char *key, const uint32_t three[3]) {
  json_key(w, key), json_array(w);
  for (int k = 0; k < 3; k++) json_unsigned(w, three[k]);
  json_array_end(w);
}

/* The part of the launch that concerns a function: nothing if none of its lines was executed. */
static void put_run(struct json_writer *w, const struct explain *e,
                    const struct explain_function *x) {
  const struct explain_run *r = &e->run;
  bool executed = false;
  for (uint32_t k = 0; r->done && k < x->ptx.count; k++)
    executed |= r->lines[x->ptx_begin + k].warps != 0;
  if (!executed) return;
  json_key(w, "run"), json_object(w);
  json_member(w, "kernel", r->kernel);
  put_numbers(w, "grid", r->grid);
  put_numbers(w, "block", r->block);
  json_member(w, "finding", r->finding);
  json_key(w, "counts");
  put_raw(w, r->counts);
  json_key(w, "lines"), json_array(w);
  for (uint32_t k = 0; k < x->ptx.count; k++)
    if (r->lines[x->ptx_begin + k].warps) put_line_counts(w, k + 1, &r->lines[x->ptx_begin + k]);
  json_array_end(w);
  json_key(w, "trace"), json_array(w);
  for (uint32_t k = 0; k < r->trace.count; k++) {
    uint32_t line = r->trace.data[k].line;
    if (line < x->ptx_begin || line >= x->ptx_begin + x->ptx.count) continue;
    json_object(w);
    json_number(w, "line", line - x->ptx_begin + 1);
    json_member(w, "text", r->trace.data[k].text);
    json_object_end(w);
  }
  json_array_end(w);
  json_object_end(w);
}

static void put_function(struct json_writer *w, struct explain *e,
                         const struct explain_function *x) {
  uint32_t lines[2];
  find_definition(e, x->name, lines);
  json_object(w);
  json_member(w, "name", x->name);
  json_key(w, "kernel"), json_bool(w, x->is_kernel);
  json_number(w, "begin", lines[0]);
  json_number(w, "end", lines[1]);
  put_texts(w, e, x);
  put_steps(w, x);
  json_number(w, "final", x->steps.count ? x->steps.data[x->steps.count - 1].text : 0);
  json_key(w, "input_lines");
  put_raw(w, x->input_lines.length ? x->input_lines : text_of("[]"));
  put_members(w, x->graph);
  put_insts(w, x);
  json_key(w, "remarks"), json_array(w);
  put_raw(w, (struct nvm_text){x->remarks.bytes, x->remarks.length});
  json_array_end(w);
  put_strings(w, "plans", x->plans.data, x->plans.count);
  put_ptx(w, x);
  if (x->costs.length) json_key(w, "costs"), put_raw(w, x->costs);
  put_registers(w, x);
  put_occupancy(w, e, x);
  put_run(w, e, x);
  json_object_end(w);
}

enum { LARGE_SOURCE = 1 << 18 };

/* The source. With a large one, a page of one function has only the function's lines, after as many
 * empty lines as precede them: the source of a module with many functions is large. */
static void put_source(struct json_writer *w, struct explain *e, int64_t only) {
  const char *at = e->source.bytes, *end = at + e->source.length;
  if (only == EXPLAIN_NONE || e->source.length < LARGE_SOURCE) {
    json_member(w, "source", e->source);
    return;
  }
  uint32_t lines[2];
  struct textbuf shown;
  textbuf_init(&shown, w->out->arena);
  find_definition(e, e->functions.data[only].name, lines);
  for (uint32_t line = 1; at < end && line <= lines[1]; line++) {
    const char *next = memchr(at, '\n', (size_t)(end - at));
    if (line >= lines[0]) textbuf_write(&shown, at, (size_t)((next ? next : end) - at));
    textbuf_char(&shown, '\n');
    at = next ? next + 1 : end;
  }
  json_member(w, "source", (struct nvm_text){shown.bytes, shown.length});
}

void explain_write_json(struct explain *e, int64_t only, struct textbuf *out) {
  struct json_writer w;
  json_begin(&w, out, false);
  json_object(&w);
  json_number(&w, "format", 1);
  json_member(&w, "version", text_of(nvmini_version()));
  json_member(&w, "file", e->input);
  json_member(&w, "cpu", e->cpu);
  json_member(&w, "level", e->level);
  put_source(&w, e, only);
  json_key(&w, "functions"), json_array(&w);
  for (int kernels = 1; kernels >= 0; kernels--)
    for (uint32_t k = 0; k < e->functions.count; k++) {
      const struct explain_function *x = &e->functions.data[k];
      bool wanted = only == EXPLAIN_NONE || only == (int64_t)k;
      if (wanted && x->is_final && x->is_kernel == (kernels == 1)) put_function(&w, e, x);
    }
  json_array_end(&w);
  put_files(&w, e);
  json_key(&w, "diagnostics"), json_array(&w);
  if (e->diagnostics && e->diagnostics->json.length)
    put_raw(&w, (struct nvm_text){e->diagnostics->json.bytes, e->diagnostics->json.length});
  json_array_end(&w);
  explain_put_reference(&w, e, only);
  json_object_end(&w);
  textbuf_char(out, '\n');
}

/* In a <script> element no `<` may begin a tag or comment. */
void explain_write_page(struct explain *e, int64_t only, struct textbuf *out) {
  struct textbuf json;
  textbuf_init(&json, out->arena);
  explain_write_json(e, only, &json);
  textbuf_write(out, (const char *)explain_page_head, sizeof explain_page_head);
  for (size_t i = 0; i < json.length; i++)
    if (json.bytes[i] == '<') textbuf_puts(out, "\\u003c");
    else textbuf_char(out, json.bytes[i]);
  textbuf_write(out, (const char *)explain_page_tail, sizeof explain_page_tail);
}
