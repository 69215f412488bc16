/* Parses a module, makes mutations, prints it; cross-over by linking. */
#include "mutate.h"

#include <stdio.h>
#include <string.h>

#include "frontend/link.h"
#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "mutator.h"

enum { MEMORY_LIMIT = 256 << 20, TRIES = 4 };

/* The one that breaks a rule on purpose comes last. Weight: how often, out of the sum. */
static const struct {
  const char *name;
  mutation *make;
  uint32_t weight;
} mutations[] = {
    {"operand", mutate_operand, 8},     {"opcode", mutate_opcode, 5},
    {"flags", mutate_flags, 3},         {"access", mutate_access, 3},
    {"insert", mutate_insert, 10},      {"remove", mutate_remove, 4},
    {"move", mutate_move, 3},           {"width", mutate_width, 3},
    {"lanes", mutate_lanes, 2},         {"hints", mutate_hints, 3},
    {"branch", mutate_branch, 5},       {"loop", mutate_loop, 6},
    {"exit", mutate_exit, 2},           {"switch", mutate_switch, 3},
    {"intrinsic", mutate_intrinsic, 5}, {"atomic", mutate_atomic, 2},
    {"call", mutate_call, 3},           {"splice", mutate_splice, 5},
    {"assembly", mutate_assembly, 5},   {"cycle", mutate_cycle, 3},
    {"reload", mutate_reload, 3},       {"rule", mutate_rule, 1},
};
enum { COUNT = sizeof mutations / sizeof *mutations, RULE = COUNT - 1 };

const char *mutate_name(int k) { return k >= 0 && k < COUNT ? mutations[k].name : NULL; }

static int pick_mutation(struct mutator *m) {
  uint64_t sum = 0;
  for (int k = 0; k < COUNT; k++) sum += mutations[k].weight;
  uint64_t at = below(m, sum);
  int k = 0;
  while (at >= mutations[k].weight) at -= mutations[k++].weight;
  return k;
}

/* ---- Text ---- */

/* NULL: not a valid module. */
static struct nvm_module *parse(const char *text, size_t size) {
  struct nvm_module *m = module_create(nvm_default_allocator, MEMORY_LIMIT);
  struct diag_sink sink;
  if (!m) return NULL;
  diag_sink_init(&sink, &m->arena, 1);
  char *copy = arena_alloc(&m->arena, size + 1);
  if (copy) {
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (parse_module(m, copy, size, "", 0, &sink) == NVM_OK &&
        verify_module(m, &sink, 0) == NVM_OK) {
      m->source_filename = (struct nvm_str){0};
      return m;
    }
  }
  module_destroy(m);
  return NULL;
}

/* The first line `; fuzz: …`, kept or replaced. */
static void print_options(struct mutator *m, const char *text, size_t size, struct textbuf *out) {
  static const char begin[] = "; fuzz:";
  static const char *const words[] = {" -O0",
                                      " -O1 --verify-each",
                                      " -O2 --verify-each",
                                      " -O3 --knob=vectorizer-min-trip-count=2",
                                      " --passes=sroa,mem2reg,loop-simplify,lcssa,loop-unroll,gvn",
                                      " --passes=combine,sccp,simplifycfg,loop-vectorize",
                                      " -O2 --knob=force-vector-width=4",
                                      " -Ofc=max"};
  const char *end = memchr(text, '\n', size);
  bool has_line = end && size > strlen(begin) && memcmp(text, begin, strlen(begin)) == 0;
  if (has_line && !once_in(m, 12)) {
    textbuf_write(out, text, (size_t)(end - text) + 1);
  } else if (has_line || once_in(m, 12)) {
    textbuf_puts(out, begin);
    textbuf_puts(out, words[below(m, sizeof words / sizeof *words)]);
    textbuf_puts(out, "\n");
  }
}

/* The module's text in `out`; 0 if it is invalid (`checked`) or too long. */
static size_t print(struct mutator *m, const char *text, size_t size, char *out, size_t room,
                    bool checked) {
  struct diag_sink sink;
  struct textbuf buffer;
  diag_sink_init(&sink, &m->m->arena, 1);
  textbuf_init(&buffer, &m->m->arena);
  if (checked && verify_module(m->m, &sink, 0) != NVM_OK) return 0;
  print_options(m, text, size, &buffer);
  if (print_module(m->m, &buffer) != NVM_OK || buffer.length > room) return 0;
  memcpy(out, buffer.bytes, buffer.length);
  return buffer.length;
}

/* ---- One module ---- */

/* One try: 0 if no mutation found a place, or the verifier refuses the result. */
static size_t try_once(struct mutator *m, const char *text, size_t size, char *out, size_t room,
                       int only) {
  bool checked = true, made = false;
  for (uint64_t left = only == MUTATE_ANY ? 1 + below(m, 4) : 1; left > 0 && checked; left--) {
    int k = only == MUTATE_ANY ? pick_mutation(m) : only;
    if (!mutator_begin(m, m->m->functions.count)) break;
    bool done = mutations[k].make(m);
    made |= done;
    if (done && k == RULE) checked = false;
  }
  return made && !m->m->arena.failed ? print(m, text, size, out, room, checked) : 0;
}

size_t mutate_text(const char *text, size_t size, char *out, size_t room, uint64_t seed, int only) {
  struct random r = {seed};
  size_t length = 0;
  for (int tries = 0; tries < TRIES && length == 0; tries++) {
    struct mutator m = {.m = parse(text, size), .random = r};
    if (!m.m) return 0;
    length = try_once(&m, text, size, out, room, only);
    r = m.random;
    module_destroy(m.m);
  }
  return length;
}

/* ---- Two modules ---- */

static bool is_taken(const struct nvm_module *m, const char *name, size_t length) {
  struct nvm_str s = strtab_find(&m->strings, name, length);
  return s.index && !value_is_none(module_find_symbol(m, s));
}

/* The first of `name_x0`, `name_x1`, … that neither module has; a long name is cut. */
static struct nvm_str fresh_name(const struct nvm_module *into, struct nvm_module *from,
                                 struct nvm_text name) {
  enum { MAX_NAME = 150 };
  char text[MAX_NAME + 20];
  int kept = (int)(name.length < MAX_NAME ? name.length : MAX_NAME);
  for (uint32_t n = 0;; n++) {
    int printed = snprintf(text, sizeof text, "%.*s_x%u", kept, name.bytes, n);
    size_t length = (size_t)printed;
    if (!is_taken(into, text, length) && !is_taken(from, text, length))
      return strtab_intern(&from->strings, text, length);
  }
}

/* Renames the definitions of `from` whose names are taken in `into`. False: out of memory. */
static bool rename_definitions(const struct nvm_module *into, struct nvm_module *from) {
  uint32_t count = from->symbol_order.count;
  for (uint32_t i = 0; i < count; i++) {
    struct nvm_value symbol = from->symbol_order.data[i];
    if (value_is_none(symbol) || module_symbol(from, symbol)->declared_only) continue;
    struct nvm_text name = module_text(from, module_symbol(from, symbol)->name);
    if (!is_taken(into, name.bytes, name.length)) continue;
    struct nvm_str fresh = fresh_name(into, from, name);
    if (!fresh.index || !module_rename_symbol(from, symbol, fresh)) return false;
  }
  return true;
}

/* Copies blocks of the functions from number `first` on to those before it; half of the time the
 * former become declarations. */
static bool splice_linked(struct mutator *m, uint32_t first) {
  bool made = false;
  for (uint64_t left = 1 + below(m, 3); left > 0; left--) {
    if (!mutator_begin(m, first)) return made;
    const struct nvm_function *from = pick_definition(m, first);
    made |= from && splice_block(m, from);
  }
  if (once_in(m, 2)) return made;
  for (uint32_t i = first; i < m->m->functions.count; i++) {
    struct nvm_function *f = m->m->functions.data[i];
    if (function_is_declaration(f)) continue;
    function_drop_body(f);
    f->symbol.linkage = LINK_EXTERNAL;
    f->symbol.comdat = 0;
  }
  return made;
}

size_t mutate_cross(const char *text, size_t size, const char *other, size_t other_size, char *out,
                    size_t room, uint64_t seed) {
  struct mutator m = {.m = parse(text, size), .random = {seed}};
  struct nvm_module *from = m.m ? parse(other, other_size) : NULL;
  size_t length = 0;
  if (from) {
    struct diag_sink sink;
    diag_sink_init(&sink, &m.m->arena, 1);
    uint32_t first = m.m->functions.count;
    if (rename_definitions(m.m, from) && link_modules(m.m, from, false, &sink) == NVM_OK &&
        splice_linked(&m, first) && !m.m->arena.failed)
      length = print(&m, text, size, out, room, true);
    module_destroy(from);
  }
  if (m.m) module_destroy(m.m);
  return length;
}
