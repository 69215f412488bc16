/* `nvmini targets`: lists the CPUs, or describes one, as text, JSON or a page of Markdown.
 *
 * What a CPU unlocks is the difference of two gates (ptx/gate.h): the instructions and modifiers
 * whose requirements it meets and the preceding CPU does not. No facts are stored here. */
#include "driver/commands.h"
#include "ir/intrinsic.h"
#include "ptx/gate.h"
#include "support/json.h"
#include "target/options.h"

#include <stdlib.h>
#include <string.h>

/* ---- CPUs in numeric order ---- */

/* The n-th CPU by number (the table is sorted as text); NULL at the end. */
static const struct tgt_cpu *nth_cpu(unsigned n) {
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) {
    unsigned below = 0;
    for (unsigned k = 0; k < TGT_CPU_COUNT; k++)
      below += tgt_cpus()[k].full_sm < tgt_cpus()[i].full_sm;
    if (below == n) return &tgt_cpus()[i];
  }
  return NULL;
}

void targets_cpu_names(FILE *out) {
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++)
    fprintf(out, i % 10 == 9 || i == TGT_CPU_COUNT - 1 ? "%s\n" : "%-8s ", nth_cpu(i)->name);
}

/* The nearest CPU with hardware before (step -1) or after (1) this one, or NULL. `base`: only
 * without suffix. */
static const struct tgt_cpu *neighbour(const struct tgt_cpu *cpu, int step, bool base) {
  int at = 0;
  while (nth_cpu((unsigned)at) != cpu) at++;
  for (at += step; at >= 0 && at < TGT_CPU_COUNT; at += step) {
    const struct tgt_cpu *other = nth_cpu((unsigned)at);
    if (!other->placeholder && !(base && other->suffix)) return other;
  }
  return NULL;
}

/* The CPU to compare with: sm_103 for sm_103f, sm_100 for sm_103. */
static const struct tgt_cpu *measure_of(const struct tgt_cpu *cpu) {
  return neighbour(cpu, -1, true);
}

static struct nvm_target target_of(const struct tgt_cpu *cpu) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target target = {0};
  options.cpu = cpu;
  tgt_init(&target, &options, NULL);
  return target;
}

static bool implies(const struct tgt_cpu *cpu, const struct tgt_feature *f) {
  return f->index != cpu->self && (cpu->implies[f->index >> 6] >> (f->index & 63) & 1) != 0;
}

/* ---- what one has and another lacks ---- */

struct gain {
  uint16_t op;
  bool whole; /* the other CPU lacks the instruction; words: those that can follow its name */
  bool words[PTX_MOD_COUNT];
};

/* False if `with` has no form of the op that `without` lacks. */
static bool read_gain(struct gain *gain, uint16_t op, const struct nvm_target *with,
                      const struct nvm_target *without) {
  struct gate a, b;
  gate_read(&a, (enum ptx_op)op, with);
  gate_read(&b, (enum ptx_op)op, without);
  *gain = (struct gain){.op = op, .whole = a.any && !b.any};
  bool found = gain->whole;
  for (uint16_t m = 1; m < PTX_MOD_COUNT; m++) {
    bool begins = ptx_step(ptx_op_row(op)->state, m) != NULL;
    gain->words[m] = a.words[m] && (gain->whole ? begins : !b.words[m]);
    found |= gain->words[m];
  }
  return found;
}

static bool meets(const struct nvm_target *target, const char *requirement) {
  struct tgt_requirement r;
  return tgt_parse_requirement(requirement, &r, NULL) && tgt_allows(target, &r);
}

static unsigned gained_intrinsics(const struct nvm_target *with, const struct nvm_target *without) {
  unsigned count = 0;
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++) {
    const char *needs = intrinsic_table[i].requires;
    count += meets(with, needs) && !meets(without, needs);
  }
  return count;
}

static void show_gains(const char *title, const struct tgt_cpu *cpu, const struct tgt_cpu *other) {
  if (!cpu || !other) return;
  struct nvm_target with = target_of(cpu), without = target_of(other);
  printf("\navailable on %s, but not on %s%s\n", cpu->name, other->name, title);
  bool any = false;
  for (uint16_t op = 1; op < PTX_OP_COUNT; op++) {
    struct gain gain;
    if (!read_gain(&gain, op, &with, &without)) continue;
    int column = printf("  %-18s", ptx_op_row(op)->text);
    for (uint16_t m = 1; m < PTX_MOD_COUNT; m++) {
      if (!gain.words[m]) continue;
      if (column + 1 + ptx_mod_row(m)->length > 98) column = printf("\n%20s", "");
      column += printf(" %s", ptx_mod_row(m)->text);
    }
    puts("");
    any = true;
  }
  if (!any) puts("  no instruction");
  printf("  and %u intrinsics\n", gained_intrinsics(&with, &without));
}

/* ---- text ---- */

static void put_ptx(unsigned version) { printf("%u.%u", version / 10, version % 10); }

static const char *family_name(const struct tgt_cpu *cpu) {
  const struct tgt_described *family = tgt_family_of(cpu->family);
  return family == NULL ? "-" : family->name;
}

/* Implied features; "-" if there are none. */
static void feature_names(const struct tgt_cpu *cpu, char *text, size_t size) {
  size_t length = 0;
  for (unsigned i = 0; i < TGT_FEATURE_COUNT; i++)
    if (implies(cpu, &tgt_features()[i]) && length + 1 < size)
      length += (size_t)snprintf(text + length, size - length, length ? " %s" : "%s",
                                 tgt_features()[i].key);
  if (length == 0) snprintf(text, size, "-");
}

static void list_text(void) {
  puts("CPU       SM    PTX  family   features  warps  shared  limits  product");
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *c = nth_cpu(i);
    char features[64];
    feature_names(c, features, sizeof features);
    printf("%-8s  %-4u  ", c->name, c->sm);
    put_ptx(c->min_ptx);
    printf("  %-7s  %-8s  %5u  %4u KB  %-6s  %s%s\n", family_name(c), features,
           tgt_limit(c, TGT_LIMIT_WARPS_PER_SM), tgt_limit(c, TGT_LIMIT_SHARED_PER_SM) / 1024,
           tgt_limits_of(c)->name, c->product, c->placeholder ? " (no hardware)" : "");
  }
  puts(
      "\nPTX: the lowest version that supports the CPU; warps and shared memory are per SM.\n"
      "`nvmini targets CPU` describes one CPU: compatibility, instructions, limits.");
}

static void show_limits(const struct tgt_cpu *cpu) {
  const struct tgt_limits *limits = tgt_limits_of(cpu);
  printf("\nlimits (%s)\n", limits->name);
  for (unsigned i = 0; i < TGT_LIMIT_COUNT; i++) {
    const struct tgt_number *n = &limits->number[i];
    const struct tgt_described *column = tgt_limit_column((enum tgt_limit)i);
    printf("  %-22s %8u  %s (%s%s)\n", column->name, n->value, column->description,
           tgt_source_of(n->source)->name, n->unverified ? ", not verified" : "");
  }
}

/* `runs`: CPUs whose PTX runs on this one; otherwise CPUs that run PTX for this one. */
static void show_compatible(const struct tgt_cpu *cpu, bool runs) {
  puts(runs ? "\nruns PTX for" : "\nits PTX runs on");
  int column = 0;
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) {
    if (!(runs ? tgt_can_run(nth_cpu(i), cpu) : tgt_can_run(cpu, nth_cpu(i)))) continue;
    if (column == 0 || column > 88) column = printf("%s ", column ? "\n" : "");
    column += printf(" %s", nth_cpu(i)->name);
  }
  puts("");
}

/* The named requirements, met or not. */
static void show_needs(const struct tgt_cpu *cpu) {
  struct nvm_target target = target_of(cpu);
  puts("\nrequirements of parts of the compiler");
  for (int i = 0; i < TGT_NEED_COUNT; i++) {
    const struct tgt_described *need = tgt_need_name((enum tgt_need)i);
    printf("  %-3s %-18s %s (%s)\n", tgt_has(&target, (enum tgt_need)i) ? "yes" : "no", need->name,
           need->description, need->source);
  }
}

static void show_text(const struct tgt_cpu *cpu) {
  const struct tgt_described *family = tgt_family_of(cpu->family);
  char features[64];
  feature_names(cpu, features, sizeof features);
  printf("%s: %s%s\n", cpu->name, cpu->product, cpu->placeholder ? " (no hardware)" : "");
  printf("  SM %u, full version %u, __CUDA_ARCH__ %u\n  lowest PTX ", cpu->sm, cpu->full_sm,
         tgt_cuda_arch(cpu));
  put_ptx(cpu->min_ptx);
  printf(" (%s%s)\n", tgt_source_of(cpu->version_source)->name,
         cpu->version_unverified ? ", not verified" : "");
  printf("  feature %u (%s), PTX code %u (%s), cubin byte ", cpu->self, cpu->index_source,
         cpu->ptx_code, cpu->code_source);
  if (cpu->elf_byte) printf("0x%X (%s)\n", cpu->elf_byte, cpu->elf_source);
  else puts("unknown");
  printf("  timing %s (see `nvmini costs %s`)\n", tgt_throughput_of(cpu->generation)->name,
         cpu->name);
  if (family != NULL) printf("  family %s: %s\n", family->name, family->description);
  printf("  features: %s\n", features);
  show_compatible(cpu, true);
  show_compatible(cpu, false);
  show_gains("", cpu, measure_of(cpu));
  const struct tgt_cpu *next = neighbour(cpu, 1, false);
  show_gains(" (the next CPU)", next, cpu);
  show_gains(" (dropped by the next CPU)", cpu, next);
  show_needs(cpu);
  show_limits(cpu);
}

/* ---- JSON ---- */

static void json_facts(struct json_writer *w, const struct tgt_cpu *c) {
  char ptx[8];
  snprintf(ptx, sizeof ptx, "%u.%u", c->min_ptx / 10u, c->min_ptx % 10u);
  json_member(w, "name", text_of(c->name));
  json_member(w, "product", text_of(c->product));
  json_number(w, "sm", c->sm);
  json_number(w, "full_sm", c->full_sm);
  json_number(w, "cuda_arch", tgt_cuda_arch(c));
  json_member(w, "ptx", text_of(ptx));
  if (c->family != TGT_FAMILY_NONE) json_member(w, "family", text_of(family_name(c)));
  json_key(w, "hardware");
  json_bool(w, !c->placeholder);
  json_number(w, "ptx_code", c->ptx_code);
  if (c->elf_byte) json_number(w, "elf_byte", c->elf_byte);
  json_member(w, "timing", text_of(tgt_throughput_of(c->generation)->name));
  json_number(w, "feature_index", c->self);
  json_key(w, "features");
  json_array(w);
  for (unsigned i = 0; i < TGT_FEATURE_COUNT; i++)
    if (implies(c, &tgt_features()[i])) json_puts(w, tgt_features()[i].key);
  json_array_end(w);
  json_key(w, "feature_indices");
  json_object(w);
  for (unsigned i = 0; i < TGT_FEATURE_COUNT; i++) {
    const struct tgt_feature *f = &tgt_features()[i];
    if (implies(c, f)) json_number(w, f->key, f->index);
  }
  json_object_end(w);
  json_member(w, "limits_row", text_of(tgt_limits_of(c)->name));
  json_key(w, "limits");
  json_object(w);
  for (unsigned i = 0; i < TGT_LIMIT_COUNT; i++)
    json_number(w, tgt_limit_column((enum tgt_limit)i)->name, tgt_limit(c, (enum tgt_limit)i));
  json_object_end(w);
}

/* Where each fact is from: "seed5", "memory[U]". */
static void json_sources(struct json_writer *w, const struct tgt_cpu *c) {
  char text[48];
  json_key(w, "sources");
  json_object(w);
  json_member(w, "feature_index", text_of(c->index_source));
  json_member(w, "elf_byte", text_of(c->elf_source));
  json_member(w, "ptx_code", text_of(c->code_source));
  snprintf(text, sizeof text, "%s%s", tgt_source_of(c->version_source)->name,
           c->version_unverified ? "[U]" : "");
  json_member(w, "ptx", text_of(text));
  for (unsigned i = 0; i < TGT_LIMIT_COUNT; i++) {
    const struct tgt_number *n = &tgt_limits_of(c)->number[i];
    snprintf(text, sizeof text, "%s%s", tgt_source_of(n->source)->name, n->unverified ? "[U]" : "");
    json_member(w, tgt_limit_column((enum tgt_limit)i)->name, text_of(text));
  }
  json_object_end(w);
}

static void json_needs(struct json_writer *w, const struct tgt_cpu *c) {
  struct nvm_target target = target_of(c);
  json_key(w, "requirements");
  json_object(w);
  for (int i = 0; i < TGT_NEED_COUNT; i++) {
    const struct tgt_described *need = tgt_need_name((enum tgt_need)i);
    json_key(w, need->name);
    json_object(w);
    json_member(w, "text", text_of(need->description));
    json_member(w, "source", text_of(need->source));
    json_key(w, "met");
    json_bool(w, tgt_has(&target, (enum tgt_need)i));
    json_object_end(w);
  }
  json_object_end(w);
}

static void json_compatible(struct json_writer *w, const struct tgt_cpu *cpu, bool runs) {
  json_key(w, runs ? "runs" : "runs_on");
  json_array(w);
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++)
    if (runs ? tgt_can_run(nth_cpu(i), cpu) : tgt_can_run(cpu, nth_cpu(i)))
      json_puts(w, nth_cpu(i)->name);
  json_array_end(w);
}

static void json_gains(struct json_writer *w, const char *key, const struct tgt_cpu *cpu,
                       const struct tgt_cpu *other) {
  if (!cpu || !other) return;
  struct nvm_target with = target_of(cpu), without = target_of(other);
  json_key(w, key);
  json_object(w);
  json_member(w, "cpu", text_of(cpu->name));
  json_member(w, "beyond", text_of(other->name));
  json_number(w, "intrinsics", gained_intrinsics(&with, &without));
  json_key(w, "instructions");
  json_array(w);
  for (uint16_t op = 1; op < PTX_OP_COUNT; op++) {
    struct gain gain;
    if (!read_gain(&gain, op, &with, &without)) continue;
    json_object(w);
    json_member(w, "op", text_of(ptx_op_row(op)->text));
    json_key(w, "whole");
    json_bool(w, gain.whole);
    json_key(w, "words");
    json_array(w);
    for (uint16_t m = 1; m < PTX_MOD_COUNT; m++)
      if (gain.words[m]) json_puts(w, ptx_mod_row(m)->text);
    json_array_end(w);
    json_object_end(w);
  }
  json_array_end(w);
  json_object_end(w);
}

/* One CPU in detail, or a summary of all. */
static void write_json(struct json_writer *w, const struct tgt_cpu *only) {
  if (only) {
    json_object(w);
    json_facts(w, only);
    json_sources(w, only);
    json_needs(w, only);
    json_compatible(w, only, true);
    json_compatible(w, only, false);
    json_gains(w, "unlocks", only, measure_of(only));
    json_gains(w, "next", neighbour(only, 1, false), only);
    json_gains(w, "dropped_by_next", only, neighbour(only, 1, false));
    json_object_end(w);
    return;
  }
  json_array(w);
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) {
    json_object(w);
    json_facts(w, nth_cpu(i));
    json_object_end(w);
  }
  json_array_end(w);
}

static int print_json(const struct tgt_cpu *only) {
  struct arena arena;
  struct textbuf out;
  struct json_writer w;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&out, &arena);
  json_begin(&w, &out, true);
  write_json(&w, only);
  textbuf_char(&out, '\n');
  bool failed = arena.failed;
  if (!failed) fwrite(out.bytes, 1, out.length, stdout);
  arena_free(&arena);
  return failed ? EXIT_REFUSED : EXIT_DONE;
}

/* ---- Markdown: the reference page ---- */

static void page_cpus(void) {
  puts(
      "## CPUs\n\n| CPU | product | PTX | from | PTX code | cubin byte | family | features | "
      "limits |\n"
      "|---|---|---|---|---|---|---|---|---|");
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *c = nth_cpu(i);
    char features[64];
    feature_names(c, features, sizeof features);
    printf("| `%s` | %s%s | ", c->name, c->product, c->placeholder ? " (no hardware)" : "");
    put_ptx(c->min_ptx);
    printf(" | %s%s | %u | ", tgt_source_of(c->version_source)->name,
           c->version_unverified ? ", not verified" : "", c->ptx_code);
    if (c->elf_byte) printf("0x%X", c->elf_byte);
    else printf("-");
    printf(" | %s | %s | %s |\n", family_name(c), features, tgt_limits_of(c)->name);
  }
}

static void page_families(void) {
  puts("\n## Families\n");
  for (int f = TGT_FAMILY_NONE + 1; f < TGT_FAMILY_COUNT; f++)
    printf("- `%s`: %s\n", tgt_family_of((enum tgt_family)f)->name,
           tgt_family_of((enum tgt_family)f)->description);
}

static void page_features(void) {
  puts(
      "\n## Features\n\nAn index is the feature's bit and never changes. Each CPU is also a "
      "feature.\n\n| feature | index | meaning |\n|---|---|---|");
  for (unsigned i = 0; i < TGT_FEATURE_COUNT; i++) {
    const struct tgt_feature *f = &tgt_features()[i];
    printf("| `%s` | %u | %s |\n", f->key, f->index, f->description);
  }
}

static void page_types(void) {
  puts(
      "\n## Types\n\nLegalization of values before instruction selection.\n\n"
      "| type | first CPU | from there on | before |\n|---|---|---|---|");
  for (int i = 0; i < TGT_LEGALITY_COUNT; i++) {
    const struct tgt_legality *t = &tgt_legalities()[i];
    printf("| %s | ", t->name);
    if (t->need.count) printf("`sm_%u`", t->need.any_of[0] / 100u);
    if (t->need.min_ptx) printf(", PTX %u.%u", t->need.min_ptx / 10u, t->need.min_ptx % 10u);
    if (t->gains != TGT_FAMILY_NONE) printf(", family %s only", tgt_family_of(t->gains)->name);
    printf(" | %s | %s |\n", tgt_action_name(t->with),
           t->need.count ? tgt_action_name(t->without) : "");
  }
}

static void page_differences(void) {
  puts(
      "\n## Disagreements between sources\n\n| subject | sources, and the one that the table "
      "follows "
      "|\n|---|---|");
  for (int i = 0; i < TGT_DIFFERS_COUNT; i++)
    printf("| %s | %s |\n", tgt_differences()[i].name, tgt_differences()[i].description);
  puts("\n## Sources\n");
  for (int s = 0; s < TGT_SOURCE_COUNT; s++)
    printf("- **%s**: %s\n", tgt_source_of((enum tgt_source)s)->name,
           tgt_source_of((enum tgt_source)s)->description);
}

static void print_page(void) {
  puts("# Targets\n\nGenerated from `target/nvptx.def` by `nvmini targets --format markdown`.\n");
  page_cpus();
  page_families();
  page_features();
  page_types();
  page_differences();
}

/* ---- the command ---- */

static int unknown(const char *name) {
  const struct tgt_cpu *near = tgt_nearest_cpu(name, strlen(name));
  fprintf(stderr, "nvmini: error: unknown CPU '%s'; ", name);
  if (near) fprintf(stderr, "did you mean '%s'? ", near->name);
  fputs("`nvmini targets` lists all\n", stderr);
  return EXIT_USAGE;
}

int targets_command(const struct options *o) {
  const char *format = o->values[OPTION_FORMAT], *name = o->operand_count ? o->operands[0] : NULL;
  const struct tgt_cpu *cpu = name ? tgt_find_cpu(name, strlen(name)) : NULL;
  if (name && !cpu) return unknown(name);
  if (format && strcmp(format, "json") == 0) return print_json(cpu);
  if (format && strcmp(format, "markdown") == 0) print_page();
  else if (cpu) show_text(cpu);
  else list_text();
  return EXIT_DONE;
}
