/* Facts about the last text of a function: its graph, its loops, and what the analyses know of each
 * instruction, as JSON. */
#include "driver/explain/explain.h"

#include "analysis/ranges.h"
#include "driver/explain/facts.h"
#include "ir/debug.h"
#include "ir/print.h"

#include <string.h>

/* ---- Lines ---- */

static uint32_t count_lines(const char *bytes, size_t length) {
  uint32_t lines = 1;
  for (size_t i = 0; i < length; i++) lines += bytes[i] == '\n';
  return lines;
}

/* The text begins with the `define` line; a block with a label begins with an empty line and the
 * label; instructions follow, some of several lines. */
static bool find_lines(struct facts *x) {
  const struct nvm_function *f = x->f;
  uint32_t *end = arena_alloc(&x->arena, f->insts.count * sizeof *end), begin = 0, line = 1;
  struct textbuf printed;
  textbuf_init(&printed, &x->arena);
  if (!end || print_insts(f, &printed, end) != NVM_OK) return false;
  FOR_EACH_BLOCK (f, b) {
    bool labeled = b.index != f->entry.index || function_block(f, b)->name.index;
    if (labeled) line += b.index == f->entry.index ? 1 : 2;
    x->block_line[b.index] = line;
    FOR_EACH_INST (f, b, i) {
      x->line[i.index] = line + 1;
      if (end[i.index] == 0) continue;
      line += count_lines(printed.bytes + begin, end[i.index] - begin);
      begin = end[i.index] + 1;
    }
  }
  return true;
}

/* ---- Values ---- */

/* Whether the text has the name without quotes: numbers, and what LLVM does not quote. */
static bool is_plain_name(struct nvm_text name) {
  size_t digits = 0;
  while (digits < name.length && name.bytes[digits] >= '0' && name.bytes[digits] <= '9') digits++;
  if (digits) return digits == name.length;
  for (size_t i = 0; i < name.length; i++) {
    char c = name.bytes[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && (c == 0 || !strchr("-$._", c))) return false;
  }
  return true;
}

static void put_quoted(struct textbuf *b, struct nvm_text name) {
  textbuf_puts(b, "%\"");
  for (size_t i = 0; i < name.length; i++) {
    unsigned char c = (unsigned char)name.bytes[i];
    bool special = c < ' ' || c >= 0x7f || c == '"';
    if (special || c == '\\') textbuf_char(b, '\\');
    if (special) textbuf_hex(b, c, 2, true);
    else textbuf_char(b, (char)c);
  }
  textbuf_char(b, '"');
}

static struct nvm_str name_of(const struct nvm_function *f, struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_INST: return f->names.data[value_index(v)];
    case VALUE_ARG: return f->arg_names[value_index(v)];
    case VALUE_BLOCK: return function_block(f, value_block(v))->name;
    default: return (struct nvm_str){0};
  }
}

/* `%x`, as the text has it; nothing for other values than instructions, arguments and blocks. */
static void put_value(struct textbuf *b, const struct nvm_function *f, struct nvm_value v) {
  struct nvm_str s = name_of(f, v);
  if (s.index == 0) return;
  struct nvm_text name = module_text(f->module, s);
  if (is_plain_name(name)) textbuf_format(b, "%%%t", name);
  else put_quoted(b, name);
}

static struct nvm_text text_in(const struct textbuf *b) {
  return (struct nvm_text){b->bytes ? b->bytes : "", b->length};
}

struct nvm_text facts_value(struct facts *x, struct nvm_value v) {
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  put_value(&b, x->f, v);
  return text_in(&b);
}

/* ---- Analyses ---- */

struct nvm_text facts_range(struct facts *x, struct nvm_value v) {
  struct range r = range_of(x->f, v), all = range_all(r.width);
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  if (r.width < 2 || range_equal(r, all) || range_is_empty(r)) return text_of("");
  if (r.least > all.least || r.most < all.most) textbuf_format(&b, "%D to %D", r.least, r.most);
  else textbuf_format(&b, "%U to %U unsigned", r.low, r.high);
  return text_in(&b);
}

struct nvm_text facts_bits(struct facts *x, struct nvm_value v) {
  struct known_bits k = known_bits_of(x->f, v);
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  if (k.width < 2 || (k.zero | k.one) == 0) return text_of("");
  for (uint32_t shift = k.width; shift-- > 0;)
    textbuf_char(&b, k.one >> shift & 1 ? '1' : k.zero >> shift & 1 ? '0' : 'x');
  return text_in(&b);
}

/* A symbol of a form; unlike the operands of the JSON, also a variable of the module. */
static void put_symbol(struct textbuf *b, struct facts *x, struct nvm_value v) {
  const struct nvm_module *m = x->f->module;
  if (value_kind(v) != VALUE_GLOBAL) put_value(b, x->f, v);
  else textbuf_format(b, "@%t", module_text(m, module_global(m, v)->symbol.name));
}

static void put_term(struct textbuf *b, struct facts *x, const struct scev_term *t) {
  bool bare = value_is_none(t->symbol) && t->loop == 0;
  if (t->coefficient != 1 || bare) textbuf_format(b, "%D", t->coefficient);
  const char *times = t->coefficient != 1 ? " * " : "";
  if (!value_is_none(t->symbol)) {
    textbuf_puts(b, times);
    put_symbol(b, x, t->symbol);
    times = " * ";
  }
  if (t->loop == 0) return;
  textbuf_format(b, "%siteration(", times);
  put_value(b, x->f, value_of_block(x->loops.data[t->loop].header));
  textbuf_char(b, ')');
}

static struct nvm_text scev_text(struct facts *x, struct scev s) {
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  bool any = !value_is_none(s.base);
  if (any) put_symbol(&b, x, s.base);
  for (uint32_t k = 0; k < s.count; k++, any = true) {
    if (any) textbuf_puts(&b, " + ");
    put_term(&b, x, &s.terms[k]);
  }
  bool minus = any && s.constant < 0 && s.constant != INT64_MIN;
  if (s.constant != 0 || !any)
    textbuf_format(&b, minus ? " - %D" : any ? " + %D" : "%D", minus ? -s.constant : s.constant);
  return (struct nvm_text){b.bytes, b.length};
}

struct nvm_text facts_scev(struct facts *x, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(x->f, i);
  if (x->loops.innermost[inst->block.index] == 0) return text_of("");
  struct scev s = scev_of(x->scev, value_of_inst(i));
  bool itself = s.count == 1 && value_equal(s.terms[0].symbol, value_of_inst(i));
  bool more = s.width && !itself && !value_equal(s.base, value_of_inst(i));
  return more ? scev_text(x, s) : text_of("");
}

/* ---- Instructions ---- */

struct location {
  int32_t file;  /* index, or EXPLAIN_NONE */
  uint64_t line; /* 0: unknown */
};

static struct location location_of(struct facts *x, struct nvm_inst_id i) {
  const struct nvm_module *m = x->f->module;
  struct nvm_meta at = x->f->locations.data[i.index];
  const struct meta_node *place = at.index ? meta_as_node(&m->metadata, at) : NULL;
  const struct meta_node *file = place ? debug_file(m, place) : NULL;
  if (!file) return (struct location){EXPLAIN_NONE, 0};
  struct nvm_text directory = debug_text(m, file, "directory"),
                  name = debug_text(m, file, "filename");
  return (struct location){explain_file(x->e, directory, name), debug_number(m, place, "line")};
}

static void put_location(struct json_writer *w, struct facts *x, struct nvm_inst_id i) {
  struct location at = location_of(x, i);
  if (at.file != EXPLAIN_NONE) json_number(w, "file", (uint64_t)at.file);
  if (at.line) json_number(w, "source", at.line);
}

static void put_known(struct json_writer *w, const char *key, struct nvm_text fact) {
  if (fact.length) json_member(w, key, fact);
}

static void put_inst(struct json_writer *w, struct facts *x, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(x->f, i);
  struct nvm_value result = value_of_inst(i);
  struct textbuf type;
  textbuf_init(&type, &x->arena);
  type_print(&x->f->module->types, inst->type, &type);
  bool has_result = inst->type.index != TYPE_VOID.index;
  json_number(w, "line", x->line[i.index]);
  json_member(w, "name", has_result ? facts_value(x, result) : text_of(""));
  json_member(w, "type", (struct nvm_text){type.bytes, type.length});
  json_member(w, "op", text_of(op_table[inst->op].keyword));
  json_key(w, "operands"), json_array(w);
  for (uint32_t k = 0; k < inst->operand_count; k++) {
    struct nvm_text name = facts_value(x, inst_operand(x->f, inst, k));
    if (name.length) json_string(w, name);
  }
  json_array_end(w);
  put_location(w, x, i);
  bool branch = i.index == block_terminator(x->f, inst->block).index;
  json_key(w, "divergent");
  json_bool(w, branch ? x->divergence.branches[inst->block.index]
                      : has_result && divergence_of(&x->divergence, result));
  if (has_result) {
    put_known(w, "range", facts_range(x, result));
    put_known(w, "bits", facts_bits(x, result));
    put_known(w, "scev", facts_scev(x, i));
  }
  bool is_phi = inst->op == OP_PHI;
  json_number(w, "live",
              is_phi ? x->pressure.in[inst->block.index] : x->pressure.after[i.index]);
}

static void add_insts(struct facts *x, struct explain_function *out) {
  FOR_EACH_BLOCK (x->f, b)
    FOR_EACH_INST (x->f, b, i) {
      struct textbuf members;
      struct json_writer w;
      textbuf_init(&members, &x->e->arena);
      json_begin(&w, &members, false);
      put_inst(&w, x, i);
      struct explain_inst inst = {
          .line = x->line[i.index],
          .op = function_inst(x->f, i)->op,
          .has_result = function_inst(x->f, i)->type.index != TYPE_VOID.index,
          .members = {members.bytes, members.length}};
      (void)VEC_PUSH(&x->e->arena, &out->insts, inst);
    }
}

/* ---- Blocks and loops ---- */

/* A number, or -1. */
static void put_index(struct json_writer *w, const char *key, bool given, uint32_t value) {
  json_key(w, key);
  json_signed(w, given ? (int64_t)value : EXPLAIN_NONE);
}

static struct nvm_text block_name(struct facts *x, struct nvm_block b) {
  struct nvm_str s = function_block(x->f, b)->name;
  return s.index ? module_text(x->f->module, s) : text_of("entry");
}

static void put_block(struct json_writer *w, struct facts *x, struct nvm_block b, uint32_t *insts) {
  struct nvm_block dominator = x->dominance.immediate[b.index];
  uint32_t loop = x->loops.innermost[b.index], first = *insts;
  FOR_EACH_INST (x->f, b, i) ++*insts;
  json_object(w);
  json_member(w, "name", block_name(x, b));
  json_number(w, "line", x->block_line[b.index]);
  json_key(w, "insts"), json_array(w);
  json_unsigned(w, first), json_unsigned(w, *insts);
  json_array_end(w);
  json_key(w, "successors"), json_array(w);
  for (uint32_t k = 0, n = block_successor_count(x->f, b); k < n; k++)
    json_unsigned(w, x->block_index[block_successor(x->f, b, k).index]);
  json_array_end(w);
  put_index(w, "dominator", !block_is_none(dominator), x->block_index[dominator.index]);
  put_index(w, "loop", loop != 0, loop - 1);
  json_number(w, "pressure", x->pressure.most[b.index]);
  json_object_end(w);
}

struct nvm_text facts_trip_count(struct facts *x, uint32_t n) {
  struct trip_count c = scev_trip_count(x->scev, n);
  struct textbuf b;
  textbuf_init(&b, &x->arena);
  if (c.known && c.taken.width) {
    struct nvm_text taken = scev_text(x, c.taken);
    if (c.divisor == 1) textbuf_text(&b, taken);
    else textbuf_format(&b, "(%t) / %U", taken, c.divisor);
  }
  return text_in(&b);
}

static void put_trip_count(struct json_writer *w, struct facts *x, uint32_t loop) {
  struct trip_count c = scev_trip_count(x->scev, loop);
  json_member(w, "trip_count", facts_trip_count(x, loop));
  if (c.most != UINT64_MAX) json_number(w, "most", c.most);
}

static void put_loop(struct json_writer *w, struct facts *x, uint32_t n) {
  const struct loop *l = &x->loops.data[n];
  json_object(w);
  json_number(w, "header", x->block_index[l->header.index]);
  put_index(w, "parent", l->parent != 0, l->parent - 1);
  json_number(w, "depth", l->depth);
  json_key(w, "blocks"), json_array(w);
  for (uint32_t k = 0; k < l->block_count; k++)
    json_unsigned(w, x->block_index[x->loops.blocks[l->first_block + k].index]);
  json_array_end(w);
  put_trip_count(w, x, n);
  json_object_end(w);
}

static struct nvm_text graph(struct facts *x) {
  struct textbuf b;
  struct json_writer w;
  uint32_t insts = 0;
  textbuf_init(&b, &x->e->arena);
  json_begin(&w, &b, false);
  json_key(&w, "blocks"), json_array(&w);
  FOR_EACH_BLOCK (x->f, block) put_block(&w, x, block, &insts);
  json_array_end(&w);
  json_key(&w, "loops"), json_array(&w);
  for (uint32_t n = 1; n <= x->loops.count; n++) put_loop(&w, x, n);
  json_array_end(&w);
  return (struct nvm_text){b.bytes, b.length};
}

/* ---- All ---- */

static bool compute_lines(struct facts *x) {
  const struct nvm_function *f = x->f;
  x->line = arena_alloc(&x->arena, f->insts.count * sizeof *x->line);
  x->block_line = arena_alloc(&x->arena, f->blocks.count * sizeof *x->block_line);
  return x->line && x->block_line && find_lines(x);
}

bool facts_compute(struct facts *x) {
  arena_init(&x->arena, nvm_default_allocator);
  const struct nvm_function *f = x->f;
  struct arena *a = &x->arena;
  x->block_index = arena_alloc(a, f->blocks.count * sizeof *x->block_index);
  x->pressure.after = arena_alloc(a, f->insts.count * sizeof *x->pressure.after);
  if (!x->block_index || !x->pressure.after) return false;
  memset(x->pressure.after, 0, f->insts.count * sizeof *x->pressure.after);
  memset(x->block_index, 0, f->blocks.count * sizeof *x->block_index);
  uint32_t count = 0;
  FOR_EACH_BLOCK (f, b) x->block_index[b.index] = count++;
  if (!compute_lines(x) || !dominance_compute(&x->dominance, f, a) ||
      !loops_compute(&x->loops, f, &x->dominance, a) ||
      !divergence_compute(&x->divergence, f, &x->dominance, &x->loops, a) ||
      !pressure_compute(&x->pressure, f, &x->dominance, a))
    return false;
  x->scev = scev_init(f, &x->loops, &x->dominance, a);
  return x->scev != NULL;
}

void facts_end(struct facts *x) {
  x->e->arena.failed |= x->arena.failed;
  arena_free(&x->arena);
}

void explain_facts(struct explain *e, struct explain_function *out, const struct nvm_function *f) {
  struct facts x = {.e = e, .f = f};
  if (facts_compute(&x)) {
    out->graph = graph(&x);
    add_insts(&x, out);
  }
  facts_end(&x);
}

struct nvm_text explain_located_lines(struct explain *e, const struct nvm_function *f) {
  struct facts x = {.e = e, .f = f};
  struct textbuf lines;
  struct json_writer w;
  arena_init(&x.arena, nvm_default_allocator);
  textbuf_init(&lines, &e->arena);
  json_begin(&w, &lines, false);
  json_array(&w);
  if (compute_lines(&x)) {
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i) {
        struct location at = location_of(&x, i);
        if (at.file == EXPLAIN_NONE || at.line == 0) continue;
        json_array(&w);
        json_unsigned(&w, x.line[i.index]), json_signed(&w, at.file), json_unsigned(&w, at.line);
        json_array_end(&w);
      }
  }
  json_array_end(&w);
  facts_end(&x);
  return text_in(&lines);
}
