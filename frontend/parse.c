/* parse_module(): reads bitcode (bitcode/), or scans text, parses, and then resolves what needs the
 * whole module: symbols, types, metadata and attribute groups used before their definitions,
 * intrinsics, and kernels named by !nvvm.annotations. */
#include "frontend/attrs.h"
#include "frontend/bitcode/bcmodule.h"
#include "frontend/insts.h"
#include "frontend/lexer.h"
#include "frontend/names.h"
#include "frontend/nodes.h"
#include "frontend/report.h"
#include "frontend/scan.h"
#include "frontend/symbols.h"
#include "frontend/types.h"
#include "ir/function.h"

#include "ir/intrinsic.h"

int nvir_parse(struct parser *p); /* parser.y */

/* ---- Intrinsics ---- */

/* The one place that asks the table of intrinsics. */
static enum intrinsic_id find_intrinsic(struct nvm_text name) {
  return intrinsic_find(name.bytes, name.length);
}

static void hint_intrinsic(struct parser *p, struct diag *d, struct nvm_text name) {
  enum intrinsic_id best = intrinsic_nearest(name.bytes, name.length);
  if (best == INTRINSIC_NONE) return;
  struct textbuf b;
  textbuf_init(&b, p->sink->arena);
  textbuf_format(&b, "did you mean '%s'?", intrinsic_table[best].name);
  d->hint = (struct nvm_text){b.bytes, b.length};
}

static void check_intrinsic(struct parser *p, struct nvm_value v, struct nvm_function *f) {
  struct nvm_text name = module_text(p->m, f->symbol.name);
  const struct symbol_use *use = names_use(p, v);
  enum intrinsic_id id = find_intrinsic(name);
  f->intrinsic = id;
  if (id == INTRINSIC_NONE) {
    if (!use || use->call_end == 0) return;
    struct diag *d = report(p, DIAG_INTRINSIC_UNKNOWN, use->call_begin, use->call_end,
                            report_copy(p, name.bytes, name.length), NULL, NULL);
    if (d) hint_intrinsic(p, d, name);
    return;
  }
  struct textbuf why;
  textbuf_init(&why, &p->scratch);
  if (!intrinsic_check_type(&p->m->types, id, f->type, &why))
    report(p, DIAG_INTRINSIC_TYPE, (uint32_t)f->symbol.where.begin, (uint32_t)f->symbol.where.end,
           report_copy(p, name.bytes, name.length), report_copy(p, why.bytes, why.length), NULL);
}

static void finish_intrinsics(struct parser *p) {
  for (uint32_t i = 1; i < p->m->functions.count; i++) {
    struct nvm_function *f = p->m->functions.data[i];
    if (f->symbol.defined && text_begins(module_text(p->m, f->symbol.name), "llvm."))
      check_intrinsic(p, value_make(VALUE_FUNCTION, i), f);
  }
}

/* ---- !nvvm.annotations = !{!0}, !0 = !{ptr @f, !"kernel", i32 1, …} ---- */

static const struct meta_item *item_of(const struct parser *p, const struct meta_node *n,
                                       uint32_t i) {
  return meta_item(&p->m->metadata, meta_operand(&p->m->metadata, n, i));
}

static bool is_one(const struct parser *p, const struct meta_item *item) {
  nvm_u128 value;
  return item->kind == META_VALUE && const_is_int(p->m, item->value, &value) && value == 1;
}

/* The offset of the first occurrence of these bytes, 0 if none: metadata has no source location. */
static uint32_t find_bytes(const struct parser *p, const char *bytes, size_t length) {
  for (const char *at = p->text; (at = memchr(at, bytes[0], (size_t)(p->limit - at))); at++)
    if ((size_t)(p->limit - at) >= length && memcmp(at, bytes, length) == 0)
      return (uint32_t)(at - p->text);
  return 0;
}

/* Unknown keys, each reported once. */
struct unknown_keys {
  uint32_t count;
  struct nvm_str keys[16];
};

static bool is_reported(struct unknown_keys *u, struct nvm_str key) {
  for (uint32_t i = 0; i < u->count; i++)
    if (u->keys[i].index == key.index) return true;
  if (u->count == sizeof u->keys / sizeof *u->keys) return true;
  u->keys[u->count++] = key;
  return false;
}

/* The keys of the NVVM IR specification and of LLVM. */
static void check_annotation_key(struct parser *p, struct unknown_keys *unknown, struct nvm_str s) {
  static const char *const known[] = {"align",          "callalign",     "cluster_dim_x",
                                      "cluster_dim_y",  "cluster_dim_z", "cluster_max_blocks",
                                      "grid_constant",  "kernel",        "managed",
                                      "maxclusterrank", "maxnreg",       "maxntidx",
                                      "maxntidy",       "maxntidz",      "minctasm",
                                      "rdoimage",       "rdwrimage",     "reqntidx",
                                      "reqntidy",       "reqntidz",      "sampler",
                                      "surface",        "texture",       "wroimage"};
  struct nvm_text key = module_text(p->m, s);
  struct nearest near = nearest_start(key);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (text_is(key, known[i])) return;
    nearest_offer(&near, text_of(known[i]));
  }
  if (is_reported(unknown, s)) return;
  struct textbuf quoted;
  textbuf_init(&quoted, &p->scratch);
  textbuf_format(&quoted, "!\"%t\"", key);
  uint32_t at = find_bytes(p, quoted.bytes, quoted.length),
           end = at ? at + (uint32_t)quoted.length : 0;
  struct diag *d = report(p, DIAG_UNKNOWN_ANNOTATION, at, end,
                          report_copy(p, key.bytes, key.length), NULL, NULL);
  diag_suggest(p->sink, d, &near);
}

static void make_kernel(struct nvm_function *f) {
  if (!function_is_kernel(f)) f->convention = CC_PTX_KERNEL;
}

static void read_annotation(struct parser *p, struct unknown_keys *unknown,
                            const struct meta_node *n) {
  const struct meta_item *symbol = item_of(p, n, 0);
  bool is_function = symbol->kind == META_VALUE && value_kind(symbol->value) == VALUE_FUNCTION;
  for (uint32_t i = 1; i + 1 < n->count; i += 2) {
    const struct meta_item *key = item_of(p, n, i);
    if (key->kind != META_STRING) continue;
    if (!text_is(module_text(p->m, key->str), "kernel")) check_annotation_key(p, unknown, key->str);
    else if (is_function && is_one(p, item_of(p, n, i + 1)))
      make_kernel(module_function(p->m, symbol->value));
  }
}

static void finish_kernels(struct parser *p) {
  struct nvm_str name = strtab_find(&p->m->strings, "nvvm.annotations", strlen("nvvm.annotations"));
  const struct named_metadata *named = name.index ? meta_find_named(&p->m->metadata, name) : NULL;
  struct unknown_keys unknown = {0};
  bool *done = named ? arena_alloc(&p->scratch, p->m->metadata.nodes.count * sizeof *done) : NULL;
  for (uint32_t i = 0; done && i < named->count; i++) {
    const struct meta_node *n =
        meta_as_node(&p->m->metadata, p->m->metadata.operands.data[named->first + i]);
    if (!n || n->count < 3 || done[n - p->m->metadata.nodes.data]) continue;
    done[n - p->m->metadata.nodes.data] = true;
    read_annotation(p, &unknown, n);
  }
}

/* ---- !nvvmir.version = !{!0}, !0 = !{i32 2, i32 0}, with debug information two more numbers ----
 */

static void check_ir_version(struct parser *p) {
  static const char line[] = "!nvvmir.version";
  struct nvm_str name = strtab_find(&p->m->strings, line + 1, strlen(line + 1));
  const struct named_metadata *named = name.index ? meta_find_named(&p->m->metadata, name) : NULL;
  const struct meta_table *t = &p->m->metadata;
  for (uint32_t i = 0; named && i < named->count; i++) {
    const struct meta_node *n = meta_as_node(t, t->operands.data[named->first + i]);
    nvm_u128 major = 0, minor = 0;
    bool is_pair = n && n->count >= 2 && item_of(p, n, 0)->kind == META_VALUE &&
                   item_of(p, n, 1)->kind == META_VALUE &&
                   const_is_int(p->m, item_of(p, n, 0)->value, &major) &&
                   const_is_int(p->m, item_of(p, n, 1)->value, &minor);
    if (is_pair && ((major == 1 && minor <= 11) || (major == 2 && minor == 0))) continue;
    struct textbuf b;
    textbuf_init(&b, &p->scratch);
    if (is_pair) textbuf_format(&b, "%U.%U", (uint64_t)major, (uint64_t)minor);
    else textbuf_puts(&b, "(no pair of numbers)");
    uint32_t at = find_bytes(p, line, strlen(line));
    report(p, DIAG_UNKNOWN_IR_VERSION, at, at + (uint32_t)strlen(line),
           report_copy(p, b.bytes, b.length), NULL, NULL);
  }
}

/* ---- The whole ---- */

/* LLVM's first line, a comment: `; ModuleID = 'name'`. */
static void read_module_id(struct parser *p) {
  static const char head[] = "; ModuleID = '";
  if (strncmp(p->text, head, sizeof head - 1) != 0) return;
  const char *begin = p->text + sizeof head - 1;
  const char *line = memchr(begin, '\n', (size_t)(p->limit - begin));
  const char *end = line ? line : p->limit;
  while (end > begin && end[-1] != '\'') end--;
  if (end > begin + 1)
    p->m->module_id = strtab_intern(&p->m->strings, begin, (size_t)(end - 1 - begin));
}

void parse_finish(struct parser *p) {
  finish_intrinsics(p);
  if (p->refused) return;
  finish_kernels(p);
  check_ir_version(p);
}

static void finish(struct parser *p) {
  symbols_finish(p);
  types_finish(p);
  nodes_finish(p);
  attrs_finish(p);
  parse_finish(p);
}

static enum nvm_status parse_bitcode(struct parser *p) {
  if (!names_init(p) || !types_init(p) || !attrs_init(p)) return NVM_OUT_OF_MEMORY;
  bcmodule_read(p);
  if (state_out_of_memory(p)) return NVM_OUT_OF_MEMORY;
  return p->refused ? NVM_REFUSED : p->stop ? NVM_BUG : NVM_OK;
}

static enum nvm_status parse_text(struct parser *p) {
  if (!lexer_init(p) || !names_init(p) || !types_init(p) || !attrs_init(p) || !nodes_init(p) ||
      !symbols_init(p) || !insts_init(p) || !scan_lines(p) ||
      !VEC_RESERVE(&p->scratch, &p->stack, 4))
    return NVM_OUT_OF_MEMORY;
  read_module_id(p);
  int result = nvir_parse(p);
  if (state_out_of_memory(p)) return NVM_OUT_OF_MEMORY;
  if (result == 0 && !p->stop) finish(p);
  if (state_out_of_memory(p)) return NVM_OUT_OF_MEMORY;
  if (result != 0 && !p->refused) return NVM_BUG;
  return p->refused ? NVM_REFUSED : NVM_OK;
}

/* Skips blanks and comments of IR, PTX and C; `c_like` is set if a comment has C syntax. */
static const char *skip_comments(const char *at, bool *c_like) {
  for (;;) {
    at += strspn(at, " \t\r\n");
    const char *end = strncmp(at, "/*", 2) == 0 ? strstr(at, "*/") : NULL;
    if (*at != ';' && !end && strncmp(at, "//", 2) != 0) return at;
    *c_like = *c_like || *at == '/';
    at = end ? end + 2 : at + strcspn(at, "\n");
  }
}

/* Texts that files of other languages begin with, and modules of IR do not. */
static const struct {
  const char *begin, *what, *hint;
} other_languages[] = {
    {".version", "PTX", "`nvmini run` executes PTX"},
    {"\x7F"
     "ELF",
     "an object file", NULL},
    {"#", "C or C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"__global__", "CUDA C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"__device__", "CUDA C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"extern \"C\"", "C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"template", "C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"using ", "C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"namespace", "C++ source", "compile it with clang -S -emit-llvm --cuda-device-only"},
    {"__kernel", "OpenCL C source", "compile it with clang -S -emit-llvm -target nvptx64"},
};

static bool begins_ir(const char *at) {
  static const char *const words[] = {"define",          "declare",    "target",
                                      "source_filename", "attributes", "module"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strncmp(at, words[i], strlen(words[i])) == 0) return true;
  return *at == '\0' || strchr("@%!$^", *at);
}

/* Reports a file that is not IR text. */
static bool is_other_language(const char *text, uint32_t source, struct diag_sink *sink) {
  bool c_like = false;
  if (strncmp(text, "\xEF\xBB\xBF", 3) == 0 || strncmp(text, "\xFF\xFE", 2) == 0 ||
      strncmp(text, "\xFE\xFF", 2) == 0) {
    diag_report(sink, DIAG_BYTE_ORDER_MARK, (struct diag_range){source, 0, 2}, NULL, 0);
    return true;
  }
  const char *at = skip_comments(text, &c_like), *what = NULL, *hint = NULL;
  size_t length = 1;
  for (size_t i = 0; !what && i < sizeof other_languages / sizeof *other_languages; i++) {
    length = strlen(other_languages[i].begin);
    if (strncmp(at, other_languages[i].begin, length) != 0) continue;
    what = other_languages[i].what;
    hint = other_languages[i].hint;
  }
  if (!what && (!c_like || begins_ir(at))) return false;
  uint64_t begin = (uint64_t)(at - text);
  struct diag *d = diag_report_s(sink, DIAG_OTHER_LANGUAGE,
                                 (struct diag_range){source, begin, begin + (what ? length : 1)},
                                 what ? what : "C or C++ source", NULL, NULL);
  if (d && hint) d->hint = text_of(hint);
  return true;
}

enum nvm_status parse_module_releasing(struct nvm_module *m, const char *text, size_t length,
                                       const char *name, uint32_t source, struct diag_sink *sink,
                                       struct parse_release *release) {
  struct parser p = {.m = m,
                     .sink = sink,
                     .source = source,
                     .release = release,
                     .text = text,
                     .cursor = text,
                     .limit = text + length};
  if (length > PARSE_MAX_BYTES) {
    diag_report(sink, DIAG_SOURCE_TOO_LARGE, (struct diag_range){source, 0, 0}, NULL, 0);
    return NVM_REFUSED;
  }
  bool is_bitcode = bcmodule_is_bitcode(text, length);
  if (!is_bitcode && is_other_language(text, source, sink)) return NVM_REFUSED;
  arena_init(&p.scratch, m->arena.allocator);
  p.scratch.limit_bytes = m->arena.limit_bytes;
  enum nvm_status status = is_bitcode ? parse_bitcode(&p) : parse_text(&p);
  if (m->source_filename.index == 0 && name) m->source_filename = module_str(m, name);
  arena_free(&p.scratch);
  if (status == NVM_OK) module_make_address_types(m);
  if (p.released && status != NVM_OUT_OF_MEMORY && (sink->list.count || status == NVM_REFUSED)) {
    release->again = true;
    return NVM_REFUSED;
  }
  return status == NVM_OK && module_out_of_memory(m) ? NVM_OUT_OF_MEMORY : status;
}

enum nvm_status parse_module(struct nvm_module *m, const char *text, size_t length,
                             const char *name, uint32_t source, struct diag_sink *sink) {
  return parse_module_releasing(m, text, length, name, source, sink, NULL);
}
