/* nvmini reduce: the smallest module for which a command still succeeds.
 *
 * Delta debugging (Zeller, Hildebrandt: "Simplifying and Isolating Failure-Inducing Input", 2002)
 * on the IR: each way of making a module smaller numbers the places where it could act, and is
 * tried on all of them, on halves, quarters … down to single ones. A candidate is made from the
 * text of the best one so far, so that nothing has to be undone; what the verifier refuses is not
 * tried. Each way lowers the number of its places, so that the whole ends.
 *
 * The command gets the candidate's path as its last argument, and the passes that are left of
 * --passes in NVMINI_PASSES. Comments at the head of the file stay: they say how to run it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/commands.h"
#include "driver/files.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "opt/cfg/cfg.h"
#include "opt/pass.h"
#include "target/options.h"

struct reduction {
  const char *command;
  char *path; /* of candidates */
  char *text; /* the best one so far */
  size_t length;
  struct nvm_text head; /* comments in front of it */
  char *passes;         /* what is left of them, NULL: none given */
  uint32_t tries;
};

/* Acts at the places from `first` on, `count` of them; returns how many places there are. */
typedef uint32_t reduction_way(struct nvm_module *m, uint32_t first, uint32_t count);

struct place {
  uint32_t at, first, count;
};
static bool is_chosen(struct place *p) {
  uint32_t at = p->at++;
  return at >= p->first && at - p->first < p->count;
}

#define FOR_EACH_DEFINITION(m, f)                          \
  for (uint32_t n_ = 1; n_ < (m)->functions.count; n_++)   \
    for (struct nvm_function *f = (m)->functions.data[n_]; \
         f && !function_is_declaration(f) && f->symbol.name.index; f = NULL)

/* ---- values ---- */

/* A constant of the type; VALUE_NULL if there is none. */
static struct nvm_value zero_of(struct nvm_module *m, struct nvm_type type) {
  bool has = type_is_first_class(&m->types, type) && type_is_sized(&m->types, type);
  return has ? const_zero(m, type) : VALUE_NULL;
}

static void replace_uses(struct nvm_function *f, struct nvm_inst_id old, struct nvm_value with) {
  for (uint32_t i = 1; i < f->insts.count; i++) {
    const struct nvm_inst *user = &f->insts.data[i];
    for (uint32_t k = 0; user->block.index && k < f->insts.data[i].operand_count; k++)
      if (value_equal(inst_operand(f, &f->insts.data[i], k), value_of_inst(old)))
        inst_set_operand(f, (struct nvm_inst_id){i}, k, with);
  }
}

/* ---- ways ---- */

/* Functions and their calls go. */
static uint32_t remove_functions(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  for (uint32_t n = 1; n < m->functions.count; n++) {
    struct nvm_value v = value_make(VALUE_FUNCTION, n);
    if (m->functions.data[n]->symbol.name.index == 0 || !is_chosen(&p)) continue;
    FOR_EACH_DEFINITION(m, f) FOR_EACH_BLOCK(f, b) {
      struct nvm_inst_id next;
      for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i); i = next) {
        const struct nvm_inst *call = function_inst(f, i);
        next = call->next;
        if (call->op != OP_CALL || !value_equal(call_callee(f, call), v)) continue;
        struct nvm_value zero = zero_of(m, call->type);
        if (!value_is_none(zero)) replace_uses(f, i, zero);
        inst_remove(f, i);
      }
    }
    module_remove_symbol(m, v);
  }
  return p.at;
}

/* A branch always goes one way. */
static uint32_t remove_edges(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION(m, f) {
    FOR_EACH_BLOCK(f, b)
    for (uint32_t k = 0, n = block_successor_count(f, b); n > 1 && k < n; k++)
      if (is_chosen(&p)) {
        cfg_make_jump(f, b, block_successor(f, b, k));
        p.at += n - k - 1;
        break;
      }
    if (cfg_remove_unreachable(f, &m->arena) < 0) return 0;
  }
  return p.at;
}

/* A block returns instead of going on. */
static uint32_t end_blocks(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION(m, f) {
    FOR_EACH_BLOCK(f, b) {
      if (block_successor_count(f, b) == 0 || !is_chosen(&p)) continue;
      struct nvm_value zero = zero_of(m, function_result_type(f));
      for (uint32_t k = block_successor_count(f, b); k-- > 0;)
        cfg_remove_phi_edges(f, block_successor(f, b, k), b, 0);
      struct nvm_inst_id old = block_terminator(f, b);
      struct nvm_inst_id end =
          function_add_inst(f, OP_RET, 0, TYPE_VOID, &zero, !value_is_none(zero), 0);
      if (inst_is_none(end)) return 0;
      inst_insert_before(f, end, old);
      inst_remove(f, old);
    }
    if (cfg_remove_unreachable(f, &m->arena) < 0) return 0;
  }
  return p.at;
}

enum substitute { BY_ZERO, BY_FIRST, BY_LAST }; /* operand of the same type */

/* An instruction goes; something else takes its place. */
static uint32_t remove_instructions(struct nvm_module *m, uint32_t first, uint32_t count,
                                    enum substitute by) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION(m, f) FOR_EACH_BLOCK(f, b) {
    struct nvm_inst_id next;
    for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i); i = next) {
      const struct nvm_inst *inst = function_inst(f, i);
      next = inst->next;
      struct nvm_value to = zero_of(m, inst->type);
      bool found = by == BY_ZERO;
      for (uint32_t k = 0; by != BY_ZERO && (!found || by == BY_LAST) && k < inst->operand_count;
           k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) == VALUE_BLOCK || !type_equal(value_type(f, v), inst->type) ||
            value_equal(v, value_of_inst(i)))
          continue;
        found = true;
        to = v;
      }
      if (op_is_terminator((enum op)inst->op) || !found || !is_chosen(&p)) continue;
      if (!value_is_none(to)) replace_uses(f, i, to);
      inst_remove(f, i);
    }
  }
  return p.at;
}
static uint32_t remove_to_zero(struct nvm_module *m, uint32_t first, uint32_t count) {
  return remove_instructions(m, first, count, BY_ZERO);
}
static uint32_t remove_to_first(struct nvm_module *m, uint32_t first, uint32_t count) {
  return remove_instructions(m, first, count, BY_FIRST);
}
static uint32_t remove_to_last(struct nvm_module *m, uint32_t first, uint32_t count) {
  return remove_instructions(m, first, count, BY_LAST);
}

/* Operands that are no constants become zero. */
static uint32_t clear_operands(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION(m, f) FOR_EACH_BLOCK(f, b) FOR_EACH_INST(f, b, i) {
    const struct nvm_inst *inst = function_inst(f, i);
    for (uint32_t k = 0; k < inst->operand_count; k++) {
      struct nvm_value v = inst_operand(f, inst, k);
      if ((value_kind(v) != VALUE_INST && value_kind(v) != VALUE_ARG) || !is_chosen(&p)) continue;
      struct nvm_value zero = zero_of(m, value_type(f, v));
      if (!value_is_none(zero)) inst_set_operand(f, i, k, zero);
    }
  }
  return p.at;
}

/* Flags, attributes and metadata of instructions and functions. */
static uint32_t clear_words(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION(m, f) {
    if (f->attributes.index && is_chosen(&p)) f->attributes.index = 0;
    FOR_EACH_BLOCK(f, b) FOR_EACH_INST(f, b, i) {
      struct nvm_inst *inst = function_inst(f, i);
      bool has_flags = inst->flags && inst->op != OP_ALLOCA;
      if ((has_flags || f->attachments.data[i.index] || f->locations.data[i.index].index) &&
          is_chosen(&p)) {
        if (has_flags) inst->flags = 0;
        f->attachments.data[i.index] = 0;
        f->locations.data[i.index].index = 0;
      }
    }
  }
  return p.at;
}

/* Runs the first passes of the list; limit -1: all. */
static enum nvm_status run_passes(struct nvm_module *m, const char *list, int64_t limit,
                                  struct diag_sink *sink) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  struct pass_result result;
  const struct knobs knobs = knobs_initial();
  struct pass_options o = {.pipeline = text_of(list), .bisect_limit = limit, .knobs = &knobs};
  if (tgt_set_cpu(&options, "sm_90", strlen("sm_90"), NULL) != TGT_OK ||
      tgt_init(&target, &options, NULL) != TGT_OK)
    return NVM_BUG;
  return pass_run_pipeline(m, &target, &o, sink, &result);
}

/* Passes that only tidy up; functions that are no kernels become internal, so that globaldce sees
 * those that nobody calls. */
static uint32_t tidy(struct nvm_module *m, uint32_t first, uint32_t count) {
  static const char *const passes[] = {"globaldce", "dce", "simplifycfg"};
  enum { PASSES = sizeof passes / sizeof *passes };
  struct diag_sink sink;
  diag_sink_init(&sink, &m->arena, 0);
  for (uint32_t k = first; k < PASSES && k - first < count; k++) {
    FOR_EACH_DEFINITION(m, f)
    if (k == 0 && !function_is_kernel(f)) f->symbol.linkage = LINK_INTERNAL;
    run_passes(m, passes[k], -1, &sink);
  }
  return PASSES;
}

/* ---- the text ---- */

/* One type for another in the whole text, names of overloaded intrinsics included. */
static const char *const simpler_types[][2] = {
    {"i128", "i64"},   {"i100", "i64"},    {"i65", "i64"}, {"i63", "i64"}, {"i48", "i64"},
    {"i33", "i32"},    {"i31", "i32"},     {"i24", "i32"}, {"i16", "i32"}, {"i13", "i32"},
    {"i8", "i32"},     {"i7", "i32"},      {"i3", "i32"},  {"i64", "i32"}, {"double", "float"},
    {"half", "float"}, {"bfloat", "float"}};

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char *with_type(const char *text, const char *from, const char *to) {
  size_t length = strlen(text), n = 0, size = strlen(from);
  char *out = malloc(2 * length + 1);
  for (const char *p = text; out && *p;) {
    bool whole = strncmp(p, from, size) == 0 && !is_word(p[size]) && (p == text || !is_word(p[-1]));
    const char *from_here = whole ? to : p;
    size_t bytes = whole ? strlen(to) : 1;
    memcpy(out + n, from_here, bytes);
    n += bytes;
    p += whole ? size : 1;
  }
  if (out) out[n] = '\0';
  return out;
}

/* ---- trying ---- */

static bool succeeds(struct reduction *r, const char *text, size_t length) {
  struct file_error error;
  size_t size = strlen(r->command) + strlen(r->path) + 8;
  char *line = malloc(size), *whole = malloc(r->head.length + length + 1);
  bool ok = line && whole;
  if (ok) {
    memcpy(whole, r->head.bytes, r->head.length);
    memcpy(whole + r->head.length, text, length);
    snprintf(line, size, "%s '%s'", r->command, r->path);
    ok = files_write(r->path, whole, r->head.length + length, &error) && system(line) == 0;
    r->tries++;
  }
  free(line);
  free(whole);
  return ok;
}

static void keep(struct reduction *r, const char *text, size_t length) {
  char *copy = malloc(length + 1);
  if (!copy) return;
  memcpy(copy, text, length);
  copy[length] = '\0';
  free(r->text);
  r->text = copy;
  r->length = length;
}

/* The text as a module; NULL if it is none, or not valid. */
static struct nvm_module *module_from(const char *text, size_t length) {
  struct nvm_module *m = module_create(nvm_default_allocator, 0);
  struct diag_sink sink;
  if (!m) return NULL;
  diag_sink_init(&sink, &m->arena, 1);
  if (parse_module(m, text, length, "", 0, &sink) == NVM_OK &&
      verify_module(m, &sink, 0) == NVM_OK) {
    m->source_filename = (struct nvm_str){0};
    return m;
  }
  module_destroy(m);
  return NULL;
}

/* The module is kept if it is valid, another one than before, and the command succeeds. */
static bool try_module(struct reduction *r, struct nvm_module *m) {
  struct textbuf out;
  struct diag_sink sink;
  textbuf_init(&out, &m->arena);
  diag_sink_init(&sink, &m->arena, 1);
  bool valid =
      verify_module(m, &sink, 0) == NVM_OK && print_module(m, &out) == NVM_OK && !m->arena.failed;
  bool same = valid && out.length == r->length && memcmp(out.bytes, r->text, out.length) == 0;
  if (!valid || same || !succeeds(r, out.bytes, out.length)) return false;
  keep(r, out.bytes, out.length);
  return true;
}

/* Acts at `count` places; *places: how many there were. */
static bool try_way(struct reduction *r, reduction_way *way, uint32_t first, uint32_t count,
                    uint32_t *places) {
  struct nvm_module *m = module_from(r->text, r->length);
  if (!m) return false;
  *places = way(m, first, count);
  bool kept = count && try_module(r, m);
  module_destroy(m);
  return kept;
}

static bool reduce_by(struct reduction *r, reduction_way *way) {
  uint32_t places = 0;
  bool any = false;
  try_way(r, way, 0, 0, &places);
  for (uint32_t chunk = places; chunk > 0; chunk /= 2)
    for (uint32_t at = 0; at < places;) {
      uint32_t before = places, left;
      size_t length = r->length;
      bool kept = try_way(r, way, at, chunk, &before);
      any |= kept;
      if (kept) try_way(r, way, 0, 0, &places);
      left = kept && (places < before || r->length < length) ? 0 : chunk;
      at += left;
    }
  return any;
}

static bool reduce_types(struct reduction *r) {
  bool any = false;
  for (size_t k = 0; k < sizeof simpler_types / sizeof *simpler_types; k++) {
    char *text = with_type(r->text, simpler_types[k][0], simpler_types[k][1]);
    struct nvm_module *m = text ? module_from(text, strlen(text)) : NULL;
    if (m) any |= try_module(r, m);
    if (m) module_destroy(m);
    free(text);
  }
  return any;
}

/* Leaves out one pass after the other. */
static bool reduce_passes(struct reduction *r) {
  bool any = false;
  for (size_t at = 0; r->passes && r->passes[at];) {
    size_t length = strcspn(r->passes + at, ","),
           rest = at + length + (r->passes[at + length] == ',');
    char *fewer = malloc(strlen(r->passes) + 1);
    if (!fewer) return any;
    memcpy(fewer, r->passes, at);
    strcpy(fewer + at, r->passes + rest);
    size_t end = strlen(fewer);
    if (end && fewer[end - 1] == ',') fewer[end - 1] = '\0';
    setenv("NVMINI_PASSES", fewer, 1);
    bool kept = succeeds(r, r->text, r->length);
    any |= kept;
    if (!kept) at = rest;
    free(kept ? r->passes : fewer);
    if (kept) r->passes = fewer;
    setenv("NVMINI_PASSES", r->passes, 1);
  }
  return any;
}

/* ---- the command ---- */

static void reduce_all(struct reduction *r) {
  static reduction_way *const ways[] = {remove_functions, remove_edges,    end_blocks,
                                        remove_to_zero,   remove_to_first, remove_to_last,
                                        clear_operands,   clear_words,     tidy};
  bool any = true;
  while (any) {
    any = reduce_passes(r);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) any |= reduce_by(r, ways[k]);
    any |= reduce_types(r);
  }
}

/* Comments and blank lines in front of everything else. */
static size_t head_length(const char *text) {
  size_t at = 0;
  while (text[at] == ';' || text[at] == '\n')
    at += strcspn(text + at, "\n") + (text[at + strcspn(text + at, "\n")] == '\n');
  return at;
}

static int fail(const char *path, const char *message) {
  fprintf(stderr, "nvmini: error: %s: %s\n", path, message);
  return EXIT_REFUSED;
}

/* The canonical text of the file, if the command succeeds on it. */
static int begin(struct reduction *r, const char *path, const struct file_bytes *file) {
  struct nvm_module *m = module_from(file->bytes, file->length);
  struct textbuf out;
  struct diag_sink sink;
  if (!m) return fail(path, "the module has errors (see `nvmini check`)");
  textbuf_init(&out, &m->arena);
  bool ok = print_module(m, &out) == NVM_OK;
  diag_sink_init(&sink, &m->arena, 1);
  if (r->passes && run_passes(m, r->passes, 0, &sink) != NVM_OK && sink.list.count) {
    const struct diag *d = &sink.list.data[0];
    fprintf(stderr, "nvmini: error: %.*s\n", (int)d->message.length, d->message.bytes);
    module_destroy(m);
    return EXIT_USAGE;
  }
  if (ok) keep(r, out.bytes, out.length);
  module_destroy(m);
  if (!ok) return fail(path, "out of memory");
  return succeeds(r, r->text, r->length)
             ? EXIT_DONE
             : fail(path, "the test command fails on the unreduced module");
}

static int finish(struct reduction *r, const char *to) {
  struct file_error error;
  char *whole = malloc(r->head.length + r->length + 1);
  if (!whole) return fail(to, "out of memory");
  memcpy(whole, r->head.bytes, r->head.length);
  memcpy(whole + r->head.length, r->text, r->length);
  bool written = files_write(to, whole, r->head.length + r->length, &error);
  free(whole);
  if (!written) return fail(to, "cannot write");
  if (r->passes) fprintf(stderr, "passes: %s\n", r->passes);
  fprintf(stderr, "%u tries, %u bytes left\n", r->tries, (unsigned)r->length);
  return EXIT_DONE;
}

int reduce_command(const struct options *o) {
  const char *path = o->operands[0], *to = o->values[OPTION_OUTPUT],
             *passes = o->values[OPTION_PASSES];
  struct reduction r = {.command = o->values[OPTION_TEST]};
  struct file_bytes file;
  struct file_error error;
  const char *folder = getenv("TMPDIR");
  char name[4096];
  if (!r.command || !*r.command) {
    fputs("nvmini: error: `reduce` needs --test COMMAND\n", stderr);
    return EXIT_USAGE;
  }
  snprintf(name, sizeof name, "%s/nvmini-reduce-XXXXXX", folder && *folder ? folder : "/tmp");
  if (!files_read(path, &file, &error)) return fail(path, "cannot read");
  int descriptor = mkstemp(name);
  int status = descriptor < 0 ? fail(path, "cannot create a temporary file") : EXIT_DONE;
  if (descriptor >= 0) close(descriptor);
  r.path = name;
  r.head = (struct nvm_text){file.bytes, head_length(file.bytes)};
  if (passes && (r.passes = malloc(strlen(passes) + 1)) != NULL) {
    strcpy(r.passes, passes);
    setenv("NVMINI_PASSES", passes, 1);
  }
  if (status == EXIT_DONE) status = begin(&r, path, &file);
  if (status == EXIT_DONE) {
    reduce_all(&r);
    status = finish(&r, to ? to : "-");
  }
  if (descriptor >= 0) unlink(name);
  files_free(&file);
  free(r.text);
  free(r.passes);
  return status;
}
