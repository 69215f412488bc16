/* `nvmini costs`: the prices that passes decide by. Without a CPU, throughput and latency of all
 * generations; with one, the answers of all hooks of target/cost.h for it.
 *
 * Every number is asked from the hooks or is a row of target/nvptx.def; none is stored here. */
#include "api/module.h"
#include "driver/commands.h"
#include "driver/render.h"
#include "driver/sheet.h"
#include "target/cost.h"

#include <string.h>

/* "guide", "memory[U]"; "" of a number that the table does not define. */
static void put_source(struct sheet *s, const struct tgt_number *n) {
  if (n->value == 0 && n->source == 0) sheet_text(s, "");
  else sheet_format(s, "%s%s", tgt_source_of(n->source)->name, n->unverified ? "[U]" : "");
}

/* A price; COST_MAX means that the CPU cannot do it. */
static void put_cost(struct sheet *s, cost price) {
  if (price == COST_MAX) sheet_absent(s);
  else sheet_number(s, (uint64_t)price);
}

static const enum cost_measure measures[] = {COST_SIZE, COST_THROUGHPUT, COST_LATENCY};
enum { MEASURES = sizeof measures / sizeof *measures };

/* ---- what the table has for all CPUs ---- */

static const char *class_name(unsigned i) { return tgt_class_column((enum tgt_class)i)->name; }
static const char *wait_name(unsigned i) { return tgt_wait_column((enum tgt_wait)i)->name; }
static const char *type_name(unsigned i) { return tgt_type_column((enum tgt_type)i)->name; }

/* A table whose columns are `first`, the rows of one kind, and `last` unless NULL. */
static void begin_columns(struct sheet *s, const char *key, const char *title, const char *first,
                          const char *(*name)(unsigned), unsigned count, const char *last) {
  const char *columns[SHEET_COLUMNS];
  uint32_t n = 0;
  columns[n++] = first;
  for (unsigned i = 0; i < count; i++) columns[n++] = name(i);
  if (last) columns[n++] = last;
  sheet_columns(s, key, title, columns, n);
}

static void put_generations(struct sheet *s) {
  sheet_table(s, "cpus", "timing of each CPU", "cpu", "generation", NULL);
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    sheet_text(s, tgt_cpus()[i].name);
    sheet_text(s, tgt_throughput_of(tgt_cpus()[i].generation)->name);
  }
  sheet_end(s);
  begin_columns(s, "throughput", "results per clock and SM (0: the CPU has no such instruction)",
                "generation", class_name, TGT_CLASS_COUNT, NULL);
  for (int g = 0; g < TGT_GENERATION_COUNT; g++) {
    const struct tgt_throughput *row = tgt_throughput_of((enum tgt_generation)g);
    sheet_text(s, row->name);
    for (int c = 0; c < TGT_CLASS_COUNT; c++) sheet_number(s, row->number[c].value);
  }
  sheet_end(s);
  begin_columns(s, "latency", "cycles until a dependent instruction can start", "generation",
                wait_name, TGT_WAIT_COUNT, NULL);
  for (int g = 0; g < TGT_GENERATION_COUNT; g++) {
    const struct tgt_latency *row = tgt_latency_of((enum tgt_generation)g);
    sheet_text(s, row->name);
    for (int w = 0; w < TGT_WAIT_COUNT; w++) sheet_number(s, row->number[w].value);
  }
  sheet_end(s);
}

static void put_described(struct sheet *s, const char *key, const char *title, unsigned count,
                          const struct tgt_described *(*row)(unsigned)) {
  sheet_table(s, key, title, "name", "meaning", NULL);
  for (unsigned i = 0; i < count; i++) {
    sheet_text(s, row(i)->name);
    sheet_text(s, row(i)->description);
  }
  sheet_end(s);
}

static const struct tgt_described *type_row(unsigned i) {
  return tgt_type_column((enum tgt_type)i);
}
static const struct tgt_described *source_row(unsigned i) {
  return tgt_source_of((enum tgt_source)i);
}

/* Machine instructions of each operation, the same for all CPUs, and the sources. */
static void put_counts(struct sheet *s) {
  begin_columns(s, "counts", "machine instructions of an operation on a scalar", "operation",
                type_name, TGT_TYPE_COUNT, "class of integers");
  for (int o = 0; o < TGT_OPERATION_COUNT; o++) {
    const struct tgt_operation *row = tgt_operation_of((enum tgt_operation_index)o);
    sheet_text(s, row->name);
    for (int t = 0; t < TGT_TYPE_COUNT; t++) {
      if (row->number[t].value) sheet_number(s, row->number[t].value);
      else sheet_absent(s);
    }
    sheet_text(s, class_name(row->integer_class));
  }
  sheet_end(s);
  begin_columns(s, "count_sources", "sources of these counts", "operation", type_name,
                TGT_TYPE_COUNT, "special-function unit");
  for (int o = 0; o < TGT_OPERATION_COUNT; o++) {
    const struct tgt_operation *row = tgt_operation_of((enum tgt_operation_index)o);
    sheet_text(s, row->name);
    for (int t = 0; t < TGT_TYPE_COUNT; t++) put_source(s, &row->number[t]);
    sheet_flag(s, row->special);
  }
  sheet_end(s);
}

static void put_all(struct sheet *s) {
  put_generations(s);
  put_counts(s);
  put_described(s, "types", "types", TGT_TYPE_COUNT, type_row);
  put_described(s, "sources", "sources ([U]: unverified)", TGT_SOURCE_COUNT, source_row);
  sheet_remark(s, "`nvmini costs CPU` prints what passes ask about one CPU.");
}

/* ---- the machine ---- */

static void put_cpu(struct sheet *s, const struct nvm_target *t) {
  const struct tgt_cpu *cpu = t->cpu;
  sheet_record(s, "cpu", "CPU");
  sheet_name(s, "name"), sheet_text(s, cpu->name);
  sheet_name(s, "product"), sheet_text(s, cpu->product);
  sheet_name(s, "generation"), sheet_text(s, tgt_throughput_of(cpu->generation)->name);
  sheet_name(s, "issue_width"), sheet_number(s, cost_issue_width(t));
  sheet_name(s, "register_bits"), sheet_number(s, cost_register_bit_width(false));
  sheet_name(s, "vector_register_bits"), sheet_number(s, cost_register_bit_width(true));
  sheet_name(s, "scalable_vectors"), sheet_flag(s, cost_supports_scalable_vectors());
  sheet_end(s);
}

static const struct {
  const char *name;
  unsigned number;
} spaces[] = {{"generic", 0},  {"global", 1}, {"shared", 3},
              {"constant", 4}, {"local", 5},  {"param", 101}};
enum { SPACES = sizeof spaces / sizeof *spaces };

static void put_spaces(struct sheet *s, const struct nvm_target *t) {
  sheet_table(s, "address_spaces", "memory", "space", "number", "widest access in bits",
              "load latency", NULL);
  for (int i = 0; i < SPACES; i++) {
    sheet_text(s, spaces[i].name);
    sheet_number(s, spaces[i].number);
    sheet_number(s, cost_widest_access_bits(t, spaces[i].number));
    put_cost(s, cost_load_latency(t, spaces[i].number));
  }
  sheet_end(s);
}

static void put_classes(struct sheet *s, const struct nvm_target *t) {
  const struct tgt_number *number = tgt_throughput_of(t->cpu->generation)->number;
  sheet_table(s, "classes", "classes of instructions: results per clock and SM", "class",
              "throughput", "source", "meaning", NULL);
  for (int c = 0; c < TGT_CLASS_COUNT; c++) {
    sheet_text(s, class_name((unsigned)c));
    sheet_number(s, number[c].value);
    put_source(s, &number[c]);
    sheet_text(s, tgt_class_column((enum tgt_class)c)->description);
  }
  sheet_end(s);
}

static void put_latencies(struct sheet *s, const struct nvm_target *t) {
  const struct tgt_number *number = tgt_latency_of(t->cpu->generation)->number;
  sheet_table(s, "latencies", "cycles until a dependent instruction can start", "producer",
              "cycles", "source", "meaning", NULL);
  for (int w = 0; w < TGT_WAIT_COUNT; w++) {
    sheet_text(s, wait_name((unsigned)w));
    sheet_number(s, number[w].value);
    put_source(s, &number[w]);
    sheet_text(s, tgt_wait_column((enum tgt_wait)w)->description);
  }
  sheet_end(s);
}

static void put_types(struct sheet *s, const struct nvm_target *t) {
  sheet_table(s, "types", "legalization of types", "type", "action", "packed pair", "requires",
              "source", NULL);
  for (int i = 0; i < TGT_LEGALITY_COUNT; i++) {
    const struct tgt_legality *l = &tgt_legalities()[i];
    sheet_text(s, l->name);
    sheet_text(s, tgt_action_name(tgt_type_action(t, l->scalar, l->bits, l->lanes)));
    if (l->lanes == 2) sheet_flag(s, cost_has_packed_pair(t, l->scalar));
    else sheet_absent(s);
    if (l->gains == TGT_FAMILY_NONE) sheet_text(s, l->requires);
    else sheet_format(s, "%s, family %s", l->requires, tgt_family_of(l->gains)->name);
    sheet_text(s, l->source);
  }
  sheet_end(s);
}

/* ---- prices ---- */

static const struct typed {
  const char *name;
  struct cost_type type;
} types[] = {
    {"i32", {TGT_INTEGER, 32, 1}},   {"i64", {TGT_INTEGER, 64, 1}},
    {"i128", {TGT_INTEGER, 128, 1}}, {"f16", {TGT_HALF, 16, 1}},
    {"bf16", {TGT_BFLOAT, 16, 1}},   {"f32", {TGT_FLOAT, 32, 1}},
    {"f64", {TGT_DOUBLE, 64, 1}},    {"v2i16", {TGT_INTEGER, 16, 2}},
    {"v2f16", {TGT_HALF, 16, 2}},    {"v2bf16", {TGT_BFLOAT, 16, 2}},
    {"v2f32", {TGT_FLOAT, 32, 2}},   {"v4f32", {TGT_FLOAT, 32, 4}},
    {"v4i64", {TGT_INTEGER, 64, 4}},
};
enum { TYPES = sizeof types / sizeof *types };

static const char *priced_type(unsigned i) { return types[i].name; }

static void put_operations(struct sheet *s, const struct nvm_target *t) {
  static const struct {
    const char *key, *title;
  } of[] = {{"instructions", "operations: machine instructions"},
            {"slots", "operations: issue slots of an SM sub-partition"},
            {"cycles", "operations: cycles until a dependent instruction can start"}};
  for (int m = 0; m < MEASURES; m++) {
    begin_columns(s, of[m].key, of[m].title, "operation", priced_type, TYPES, NULL);
    for (int o = 0; o < TGT_OPERATION_COUNT; o++) {
      enum tgt_operation_index operation = (enum tgt_operation_index)o;
      sheet_text(s, tgt_operation_of(operation)->name);
      for (int i = 0; i < TYPES; i++)
        put_cost(s, cost_arithmetic(t, operation, types[i].type, measures[m]));
    }
    sheet_end(s);
  }
}

static void put_accesses(struct sheet *s, const struct nvm_target *t) {
  static const struct typed values[] = {
      {"i8", {TGT_INTEGER, 8, 1}},     {"i32", {TGT_INTEGER, 32, 1}},
      {"i64", {TGT_INTEGER, 64, 1}},   {"v2i32", {TGT_INTEGER, 32, 2}},
      {"v4i32", {TGT_INTEGER, 32, 4}}, {"v8i32", {TGT_INTEGER, 32, 8}},
  };
  static const int shown[] = {1, 2, 3}; /* of `spaces`: the others are as global memory */
  sheet_table(s, "accesses", "loads and stores", "type", "space", "alignment", "accesses",
              "instructions", "slots", "cycles", NULL);
  for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
    unsigned bytes = values[v].type.bits / 8 * values[v].type.lanes;
    for (unsigned align = bytes < 4 ? bytes : 4; align <= bytes; align *= 2)
      for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        unsigned space = spaces[shown[i]].number;
        sheet_text(s, values[v].name);
        sheet_text(s, spaces[shown[i]].name);
        sheet_number(s, align);
        sheet_number(s, cost_memory_accesses(t, values[v].type, space, align));
        for (int m = 0; m < MEASURES; m++)
          put_cost(s, cost_memory(t, values[v].type, space, align, measures[m]));
      }
  }
  sheet_end(s);
}

static void put_casts(struct sheet *s, const struct nvm_target *t) {
  static const struct {
    const char *name, *from_name, *to_name;
    enum cost_cast cast;
    struct cost_type from, to;
  } casts[] = {
      {"truncate", "i64", "i32", COST_TRUNCATE, {TGT_INTEGER, 64, 1}, {TGT_INTEGER, 32, 1}},
      {"zero extend", "i8", "i32", COST_ZERO_EXTEND, {TGT_INTEGER, 8, 1}, {TGT_INTEGER, 32, 1}},
      {"zero extend", "i32", "i64", COST_ZERO_EXTEND, {TGT_INTEGER, 32, 1}, {TGT_INTEGER, 64, 1}},
      {"sign extend", "i8", "i32", COST_SIGN_EXTEND, {TGT_INTEGER, 8, 1}, {TGT_INTEGER, 32, 1}},
      {"sign extend", "i32", "i64", COST_SIGN_EXTEND, {TGT_INTEGER, 32, 1}, {TGT_INTEGER, 64, 1}},
      {"convert", "i32", "f32", COST_CONVERT, {TGT_INTEGER, 32, 1}, {TGT_FLOAT, 32, 1}},
      {"convert", "f16", "f32", COST_CONVERT, {TGT_HALF, 16, 1}, {TGT_FLOAT, 32, 1}},
      {"convert", "f32", "f64", COST_CONVERT, {TGT_FLOAT, 32, 1}, {TGT_DOUBLE, 64, 1}},
      {"convert", "v4i32", "v4f32", COST_CONVERT, {TGT_INTEGER, 32, 4}, {TGT_FLOAT, 32, 4}},
      {"bitcast", "f32", "i32", COST_BITCAST, {TGT_FLOAT, 32, 1}, {TGT_INTEGER, 32, 1}},
  };
  sheet_table(s, "casts", "conversions", "cast", "from", "to", "instructions", "slots", "cycles",
              NULL);
  for (size_t c = 0; c < sizeof casts / sizeof *casts; c++) {
    sheet_text(s, casts[c].name);
    sheet_text(s, casts[c].from_name);
    sheet_text(s, casts[c].to_name);
    for (int m = 0; m < MEASURES; m++)
      put_cost(s, cost_of_cast(t, casts[c].cast, casts[c].from, casts[c].to, measures[m]));
  }
  sheet_end(s);
}

static void put_shuffles(struct sheet *s, const struct nvm_target *t) {
  static const struct typed vectors[] = {
      {"v4i8", {TGT_INTEGER, 8, 4}}, {"v16i8", {TGT_INTEGER, 8, 16}}, {"v2f16", {TGT_HALF, 16, 2}},
      {"v8f16", {TGT_HALF, 16, 8}},  {"v4f32", {TGT_FLOAT, 32, 4}},
  };
  sheet_table(s, "shuffles", "rearrangements of lanes", "type", "instructions", "slots", "cycles",
              NULL);
  for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
    sheet_text(s, vectors[v].name);
    for (int m = 0; m < MEASURES; m++) put_cost(s, cost_shuffle(t, vectors[v].type, measures[m]));
  }
  sheet_end(s);
}

static void put_reductions(struct sheet *s, const struct nvm_target *t) {
  static const enum tgt_operation_index operations[] = {TGT_OPERATION_ADD, TGT_OPERATION_MULTIPLY,
                                                        TGT_OPERATION_LOGIC, TGT_OPERATION_MINIMUM};
  static const struct typed vectors[] = {
      {"v4i32", {TGT_INTEGER, 32, 4}},
      {"v4i64", {TGT_INTEGER, 64, 4}},
      {"v8f16", {TGT_HALF, 16, 8}},
      {"v4f32", {TGT_FLOAT, 32, 4}},
  };
  sheet_table(s, "reductions", "reductions of all lanes to one", "operation", "type", "in order",
              "instructions", "slots", "cycles", NULL);
  for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++)
      for (int in_order = 0; in_order < 2; in_order++) {
        bool integer = vectors[v].type.scalar == TGT_INTEGER;
        if ((integer && in_order) || (!integer && operations[o] == TGT_OPERATION_LOGIC)) continue;
        sheet_text(s, tgt_operation_of(operations[o])->name);
        sheet_text(s, vectors[v].name);
        sheet_flag(s, in_order);
        for (int m = 0; m < MEASURES; m++)
          put_cost(s, cost_reduction(t, operations[o], vectors[v].type, in_order, measures[m]));
      }
  sheet_end(s);
}

static void put_control(struct sheet *s, const struct nvm_target *t) {
  sheet_table(s, "control", "branches and calls", "instruction", "registers", "instructions",
              "slots", "cycles", NULL);
  for (int divergent = 0; divergent < 2; divergent++) {
    sheet_text(s, divergent ? "divergent branch" : "uniform branch");
    sheet_absent(s);
    for (int m = 0; m < MEASURES; m++) put_cost(s, cost_branch(t, divergent, measures[m]));
  }
  for (unsigned registers = 0; registers <= 16; registers = registers ? registers * 4 : 1) {
    sheet_text(s, "call");
    sheet_number(s, registers);
    for (int m = 0; m < MEASURES; m++) put_cost(s, cost_call(t, registers, measures[m]));
  }
  sheet_end(s);
}

/* The interleave bound, with what it follows from: the occupancy of blocks of 256 threads. */
static void put_interleaving(struct sheet *s, const struct nvm_target *t) {
  enum { THREADS = 256 };
  static const uint32_t live[] = {4, 8, 16, 32};
  sheet_table(s, "interleaving",
              "occupancy of blocks of 256 threads, and copies of a loop body that keep it, by live "
              "registers",
              "registers", "blocks", "warps", "bound by", "scalar 4", "scalar 8", "scalar 16",
              "scalar 32", "vector 4", "vector 8", "vector 16", "vector 32", NULL);
  for (uint32_t registers = 16; registers < 256; registers *= 2) {
    struct occupancy_use use = {.threads_per_block = THREADS, .registers_per_thread = registers};
    struct occupancy occupancy;
    occupancy_compute(t->cpu, &use, &occupancy);
    sheet_number(s, registers);
    sheet_number(s, occupancy.blocks);
    sheet_number(s, occupancy.warps);
    sheet_text(s, occupancy_limit_name(occupancy_limiting_factor(&occupancy)));
    for (int vectorized = 0; vectorized < 2; vectorized++)
      for (size_t l = 0; l < sizeof live / sizeof *live; l++)
        sheet_number(s, cost_max_interleave_factor(t, &use, live[l], vectorized));
  }
  sheet_end(s);
}

static void put_target(struct sheet *s, const struct nvm_target *t) {
  put_cpu(s, t);
  put_classes(s, t);
  put_latencies(s, t);
  put_types(s, t);
  put_operations(s, t);
  put_spaces(s, t);
  put_accesses(s, t);
  put_casts(s, t);
  put_shuffles(s, t);
  put_reductions(s, t);
  put_control(s, t);
  put_interleaving(s, t);
  sheet_remark(s,
               "-: the CPU cannot do it. slots: issue slots of an SM sub-partition; an instruction "
               "as wide as the\nissue costs 1. `nvmini costs` lists the sources of all numbers.");
}

/* ---- the command ---- */

/* The target of the CPU and of the options that change prices. */
static int find_target(const struct options *o, struct nvm_target *target) {
  struct nvmini_context *context = nvmini_create(NULL, 0);
  struct render render = render_start(false);
  enum option_id failed;
  if (context == NULL) return EXIT_REFUSED;
  nvmini_on_diagnostic(context, render_diagnostic, &render);
  char cpu[64];
  snprintf(cpu, sizeof cpu, "--cpu=%s", o->operands[0]);
  enum nvmini_status status = nvmini_set_option(context, cpu);
  if (status == NVMINI_OK) status = options_set_library(o, context, &failed);
  if (status == NVMINI_OK) status = module_target(context, target);
  nvmini_destroy(context);
  return status == NVMINI_OK ? EXIT_DONE : EXIT_USAGE;
}

int costs_command(const struct options *o) {
  struct sheet s;
  struct nvm_target target;
  if (o->operand_count > 0) {
    int status = find_target(o, &target);
    if (status != EXIT_DONE) return status;
  }
  sheet_start(&s, strcmp(options_value(o, OPTION_FORMAT_DATA), "json") == 0);
  if (o->operand_count > 0) put_target(&s, &target);
  else put_all(&s);
  return sheet_finish(&s);
}
