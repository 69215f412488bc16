/* The tables of `nvmini cost`. */
#include "driver/cost/cost.h"
#include "driver/sheet.h"

#include "ptx/ops.h"
#include "ptx/print.h"
#include "support/number.h"

#include <string.h>

/* A loop of a function that is shown. */
struct row {
  const struct ptx_function *f;
  const struct cost_graph *g;
  uint32_t loop;
  struct cost_measured m;
};

struct report {
  const char *kernel; /* NULL: all functions */
  uint64_t loop;      /* 0: all loops */
  const char *shown;
  const struct ptx_module *module;
  const struct nvm_target *target;
  struct sheet sheet;
  VEC(struct row) rows;
  uint32_t functions;        /* shown */
  const char *without_loops; /* the last function that has none */
};

static const char *name_of(struct report *r, struct nvm_str name) {
  return strtab_text(r->module->strings, name).bytes;
}

/* ---- Choosing ---- */

static int unknown_kernel(struct report *r, const char *name) {
  const char *separator = "; available: ";
  fprintf(stderr, "nvmini: error: %s: unknown kernel '%s'", r->shown, name);
  for (uint32_t i = 0; i < r->module->functions.count; i++) {
    const struct ptx_function *f = r->module->functions.data[i];
    if (f->is_declaration) continue;
    fprintf(stderr, "%s%s", separator, name_of(r, f->name));
    separator = ", ";
  }
  fputc('\n', stderr);
  return EXIT_REFUSED;
}

static bool is_chosen(struct report *r, const struct ptx_function *f) {
  return !f->is_declaration && (!r->kernel || strcmp(r->kernel, name_of(r, f->name)) == 0);
}

/* Adds the loops of a function; those that --loop does not name are left out. */
static bool add_function(struct report *r, const struct ptx_function *f) {
  struct arena *arena = &r->sheet.arena;
  struct cost_graph *g = arena_alloc(arena, sizeof *g);
  if (!g || !cost_graph_build(g, f, arena)) return false;
  r->functions++;
  if (g->loops.count == 1) r->without_loops = name_of(r, f->name);
  for (uint32_t k = 1; k < g->loops.count; k++) {
    struct row row = {.f = f, .g = g, .loop = k};
    if (r->loop && k != r->loop) continue;
    if (!cost_loop_measure(&row.m, g, k, r->target, arena)) return false;
    if (!VEC_PUSH(arena, &r->rows, row)) return false;
  }
  return true;
}

static int choose(struct report *r) {
  for (uint32_t i = 0; i < r->module->functions.count; i++)
    if (is_chosen(r, r->module->functions.data[i]) &&
        !add_function(r, r->module->functions.data[i]))
      return EXIT_DONE; /* sheet_finish() reports that memory ran out */
  if (r->kernel && r->functions == 0) return unknown_kernel(r, r->kernel);
  if (!r->loop || r->rows.count) return EXIT_DONE;
  fprintf(stderr, "nvmini: error: %s: %s has no loop %llu\n", r->shown,
          r->kernel ? r->kernel : "the module", (unsigned long long)r->loop);
  return EXIT_REFUSED;
}

/* ---- Tables ---- */

static uint32_t line_at(const struct row *row, const struct cost_inst *in) {
  return row->f->entries.data[in->entry].line;
}

/* "34-41": of the loop with its inner loops. */
static void put_lines(struct report *r, const struct row *row) {
  uint32_t first = UINT32_MAX, last = 0;
  for (uint32_t k = 0; k < row->g->blocks.count; k++) {
    const struct cost_block *b = &row->g->blocks.data[k];
    uint32_t loop = b->loop;
    while (loop > row->loop) loop = row->g->loops.data[loop].parent;
    if (loop != row->loop) continue;
    for (uint32_t i = b->begin; i < b->end; i++) {
      const struct ptx_entry *e = &row->f->entries.data[i];
      if (e->kind != PTX_INST) continue;
      if (e->line < first) first = e->line;
      if (e->line > last) last = e->line;
    }
  }
  sheet_format(&r->sheet, "%u-%u", first, last);
}

static const char *label_of(struct report *r, const struct row *row) {
  const struct cost_block *b = &row->g->blocks.data[row->g->loops.data[row->loop].header];
  const struct ptx_entry *e = &row->f->entries.data[b->begin];
  return e->kind == PTX_LABEL ? name_of(r, row->f->labels.data[e->first_mod]) : "";
}

static void put_cost(struct sheet *s, cost value) { sheet_number(s, (uint64_t)value); }

static void put_loops(struct report *r) {
  struct sheet *s = &r->sheet;
  sheet_table(s, "loops", "loops", "loop", "depth", "inside", "PTX lines", "label", "function",
              NULL);
  for (uint32_t k = 0; k < r->rows.count; k++) {
    const struct row *row = &r->rows.data[k];
    const struct cost_loop *l = &row->g->loops.data[row->loop];
    sheet_number(s, row->loop);
    sheet_number(s, l->depth);
    if (l->parent) sheet_number(s, l->parent);
    else sheet_absent(s);
    put_lines(r, row);
    sheet_text(s, label_of(r, row));
    sheet_text(s, name_of(r, row->f->name));
  }
  sheet_end(s);
}

/* One row for each class of instruction, and for each space of memory. */
struct class_sum {
  const struct cost_price *like;
  uint64_t count, bytes;
  cost machine, slots;
};

enum { MOST_CLASSES = 128 };

static bool is_same_class(const struct cost_price *a, const struct cost_price *b) {
  return a->issue == b->issue && a->unit == b->unit && a->is_known == b->is_known &&
         strcmp(a->access, b->access) == 0 && strcmp(a->space, b->space) == 0;
}

static uint32_t sum_classes(const struct cost_measured *m, struct class_sum *sums) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < m->insts.count; i++) {
    const struct cost_price *p = &m->insts.data[i].price;
    uint32_t k = 0;
    while (k < count && !is_same_class(sums[k].like, p)) k++;
    if (k == MOST_CLASSES) continue;
    if (k == count) sums[count++] = (struct class_sum){.like = p};
    sums[k].count++;
    sums[k].bytes += p->bytes;
    sums[k].machine = cost_add(sums[k].machine, p->machine);
    sums[k].slots = cost_add(sums[k].slots, p->slots);
  }
  return count;
}

static void put_class(struct sheet *s, const struct class_sum *sum) {
  const struct cost_price *p = sum->like;
  sheet_text(s, ptx_issue_name(p->issue));
  if (*p->space) sheet_format(s, "%s %s", p->space, p->access);
  else sheet_absent(s);
  sheet_number(s, sum->count);
  put_cost(s, sum->machine);
  sheet_text(s, p->is_known ? cost_unit_name(p->unit) : "");
  if (p->is_known) put_cost(s, sum->slots);
  else sheet_absent(s);
  if (*p->space) sheet_number(s, sum->bytes);
  else sheet_absent(s);
}

static void put_classes(struct report *r) {
  struct sheet *s = &r->sheet;
  struct class_sum sums[MOST_CLASSES];
  sheet_table(s, "classes", "instructions of an iteration of a warp, without inner loops", "loop",
              "class", "access", "PTX", "machine", "unit", "unit cycles", "bytes of a thread",
              "function", NULL);
  for (uint32_t k = 0; k < r->rows.count; k++) {
    const struct row *row = &r->rows.data[k];
    uint32_t count = sum_classes(&row->m, sums);
    for (uint32_t c = 0; c < count; c++) {
      sheet_number(s, row->loop);
      put_class(s, &sums[c]);
      sheet_text(s, name_of(r, row->f->name));
    }
  }
  sheet_end(s);
}

static uint32_t warps_of_port(const struct report *r) {
  return tgt_limit(r->target->cpu, TGT_LIMIT_WARPS_PER_SM) / cost_issue_width(r->target);
}

static const char *busiest_name(const struct cost_measured *m) {
  return m->busiest == COST_UNIT_COUNT ? "issue" : cost_unit_name(m->busiest);
}

/* The warps with which the busiest unit never waits. */
static uint64_t warps_needed(const struct cost_measured *m) {
  cost each = m->throughput ? m->throughput : 1;
  return m->one_warp <= each ? 1 : (uint64_t)((m->one_warp + each - 1) / each);
}

static void put_innermost(struct report *r, const struct row *row) {
  const struct cost_measured *m = &row->m;
  struct sheet *s = &r->sheet;
  uint64_t warps = warps_needed(m);
  if (m->is_too_large) {
    sheet_absent(s);
    sheet_absent(s);
  } else {
    put_cost(s, m->chain_cycles);
    sheet_number(s, m->chain_iterations);
  }
  put_cost(s, m->one_warp);
  sheet_number(s, warps);
  sheet_text(s, warps > warps_of_port(r) ? "latency" : busiest_name(m));
}

static void put_bounds(struct report *r) {
  struct sheet *s = &r->sheet;
  sheet_table(s, "bounds", "bounds of an iteration in cycles", "loop", "PTX", "machine",
              "throughput", "busiest", "carried chain", "of iterations", "one warp",
              "warps to hide it", "limit", "function", NULL);
  for (uint32_t k = 0; k < r->rows.count; k++) {
    const struct row *row = &r->rows.data[k];
    sheet_number(s, row->loop);
    sheet_number(s, row->m.insts.count);
    put_cost(s, row->m.machine);
    put_cost(s, row->m.throughput);
    sheet_text(s, busiest_name(&row->m));
    if (row->g->loops.data[row->loop].is_innermost) put_innermost(r, row);
    else
      for (int c = 0; c < 5; c++) sheet_absent(s);
    sheet_text(s, name_of(r, row->f->name));
  }
  sheet_end(s);
}

/* The cycles that an iteration keeps each unit busy; without OTHER, which has no prices. */
static void put_units(struct report *r) {
  const char *columns[COST_UNIT_COUNT + 3];
  struct sheet *s = &r->sheet;
  uint32_t count = 0;
  columns[count++] = "loop";
  columns[count++] = "issue";
  for (int u = 0; u < COST_UNIT_OTHER; u++) columns[count++] = cost_unit_name((enum cost_unit)u);
  columns[count++] = "function";
  sheet_columns(s, "units", "cycles that an iteration keeps the issue and each unit busy", columns,
                count);
  for (uint32_t k = 0; k < r->rows.count; k++) {
    const struct row *row = &r->rows.data[k];
    sheet_number(s, row->loop);
    put_cost(s, row->m.machine);
    for (int u = 0; u < COST_UNIT_OTHER; u++) put_cost(s, row->m.slots[u]);
    sheet_text(s, name_of(r, row->f->name));
  }
  sheet_end(s);
}

/* The instruction as PTX, with single blanks. */
static const char *instruction_text(struct report *r, const struct row *row, uint32_t entry) {
  struct textbuf b;
  size_t to = 0;
  textbuf_init(&b, &r->sheet.arena);
  ptx_print_entry(row->f, &row->f->entries.data[entry], &b);
  for (size_t i = 0; i < b.length; i++) {
    char c = b.bytes[i] == '\t' ? ' ' : b.bytes[i];
    if (c != '\n' && (c != ' ' || (to > 0 && b.bytes[to - 1] != ' '))) b.bytes[to++] = c;
  }
  b.length = to;
  textbuf_char(&b, '\0');
  return r->sheet.arena.failed ? "" : b.bytes;
}

static void put_chains(struct report *r) {
  struct sheet *s = &r->sheet;
  sheet_table(s, "chains", "the longest chain that each iteration of an innermost loop continues",
              "loop", "latency", "PTX line", "instruction", "function", NULL);
  for (uint32_t k = 0; k < r->rows.count; k++) {
    const struct row *row = &r->rows.data[k];
    for (uint32_t i = 0; i < row->m.chain.count; i++) {
      const struct cost_inst *in = &row->m.insts.data[row->m.chain.data[i]];
      sheet_number(s, row->loop);
      put_cost(s, in->price.latency);
      sheet_number(s, line_at(row, in));
      sheet_text(s, instruction_text(r, row, in->entry));
      sheet_text(s, name_of(r, row->f->name));
    }
  }
  sheet_end(s);
}

/* Of --loop: each instruction. */
static void put_instructions(struct report *r) {
  struct sheet *s = &r->sheet;
  sheet_table(s, "instructions", "instructions of the loop", "PTX line", "machine", "unit",
              "unit cycles", "latency", "on the chain", "instruction", "function", NULL);
  for (uint32_t k = 0; k < r->rows.count; k++) {
    const struct row *row = &r->rows.data[k];
    for (uint32_t i = 0; i < row->m.insts.count; i++) {
      const struct cost_inst *in = &row->m.insts.data[i];
      const struct cost_price *p = &in->price;
      sheet_number(s, line_at(row, in));
      put_cost(s, p->machine);
      sheet_text(s, p->is_known ? cost_unit_name(p->unit) : "");
      put_cost(s, p->slots);
      put_cost(s, p->latency);
      sheet_flag(s, in->is_on_chain);
      sheet_text(s, instruction_text(r, row, in->entry));
      sheet_text(s, name_of(r, row->f->name));
    }
  }
  sheet_end(s);
}

static void put_machine(struct report *r) {
  const struct tgt_cpu *cpu = r->target->cpu;
  struct sheet *s = &r->sheet;
  sheet_record(s, "machine", "machine");
  sheet_name(s, "cpu"), sheet_text(s, cpu->name);
  sheet_name(s, "generation"), sheet_text(s, tgt_throughput_of(cpu->generation)->name);
  sheet_name(s, "sub-partitions"), sheet_number(s, cost_issue_width(r->target));
  sheet_name(s, "warps of each"), sheet_number(s, warps_of_port(r));
  sheet_end(s);
}

static bool has_unknown(const struct report *r) {
  for (uint32_t k = 0; k < r->rows.count; k++)
    if (r->rows.data[k].m.has_unknown) return true;
  return false;
}

static void put_tables(struct report *r) {
  put_loops(r);
  put_classes(r);
  put_units(r);
  put_bounds(r);
  put_chains(r);
}

static void put_all(struct report *r) {
  struct sheet *s = &r->sheet;
  put_machine(r);
  put_tables(r);
  if (r->loop) put_instructions(r);
  if (has_unknown(r))
    sheet_remark(s,
                 "The tables have no price for instructions without a unit: each counts as one "
                 "machine\ninstruction without latency, so that the bounds are too low.");
  sheet_remark(s,
               "`nvmini costs CPU` lists the prices and their sources; docs/cost.md explains the "
               "columns.");
}

static void put_none(struct report *r) {
  struct sheet *s = &r->sheet;
  const char *name = r->functions == 1 ? r->without_loops : NULL;
  put_machine(r);
  if (s->json) {
    put_loops(r);
    return;
  }
  textbuf_format(&s->out, "\n%t has no loops\n", text_of(name ? name : "the module"));
}

int cost_report(const struct options *o, const char *shown, const struct ptx_module *m,
                const struct nvm_target *target) {
  const char *loop = o->values[OPTION_LOOP];
  struct report r = {
      .kernel = o->values[OPTION_COST_KERNEL], .shown = shown, .module = m, .target = target};
  if (loop && (!number_read_all(loop, UINT32_MAX, &r.loop) || r.loop == 0)) {
    fprintf(stderr, "nvmini: error: option '--loop': '%s' is not a positive number\n", loop);
    return EXIT_USAGE;
  }
  sheet_start(&r.sheet, strcmp(options_value(o, OPTION_COST_FORMAT), "json") == 0);
  int status = choose(&r);
  if (status != EXIT_DONE) {
    arena_free(&r.sheet.arena);
    return status;
  }
  if (r.rows.count) put_all(&r);
  else put_none(&r);
  return sheet_finish(&r.sheet);
}

bool cost_write_json(const struct ptx_module *m, const struct ptx_function *f,
                     const struct nvm_target *target, struct textbuf *out) {
  struct report r = {.module = m, .target = target};
  sheet_start(&r.sheet, true);
  r.sheet.writer.pretty = false;
  if (add_function(&r, f)) put_tables(&r);
  json_object_end(&r.sheet.writer);
  textbuf_write(out, r.sheet.out.bytes, r.sheet.out.length);
  bool done = !r.sheet.arena.failed;
  arena_free(&r.sheet.arena);
  return done;
}
