/* Prints the tables that the compiler is made of: CPUs, instructions, intrinsics, diagnostics. */
#include "driver/commands.h"
#include "ir/intrinsic.h"
#include "ir/ops.h"
#include "opt/pass.h"
#include "support/diag.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

/* ---- CPUs ---- */

static void put_ptx(unsigned version) { printf("%u.%u", version / 10, version % 10); }

static int by_number(const void *a, const void *b) {
  const struct tgt_cpu *const *x = a, *const *y = b;
  return (int)(*x)->full_sm - (int)(*y)->full_sm;
}

/* The table is sorted as text, for its look-ups; people count. */
static void sorted_cpus(const struct tgt_cpu *cpus[TGT_CPU_COUNT]) {
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) cpus[i] = &tgt_cpus()[i];
  qsort(cpus, TGT_CPU_COUNT, sizeof cpus[0], by_number);
}

void tables_cpu_names(FILE *out) {
  const struct tgt_cpu *cpus[TGT_CPU_COUNT];
  sorted_cpus(cpus);
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++)
    fprintf(out, i % 10 == 9 || i == TGT_CPU_COUNT - 1 ? "%s\n" : "%-8s ", cpus[i]->name);
}

static void list_targets(void) {
  const struct tgt_cpu *cpus[TGT_CPU_COUNT];
  sorted_cpus(cpus);
  puts("CPU       SM    PTX  family        product");
  for (unsigned i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *c = cpus[i];
    const struct tgt_described *family = tgt_family_of(c->family);
    printf("%-8s  %-4u  ", c->name, c->sm);
    put_ptx(c->min_ptx);
    printf("  %-12s  %s%s\n", family == NULL ? "-" : family->name, c->product,
           c->placeholder ? " (a name without hardware)" : "");
  }
  puts("\nPTX is the lowest version that knows the CPU; `nvmini targets CPU` shows all of one.");
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

static void show_features(const struct tgt_cpu *cpu) {
  fputs("\nfeatures\n ", stdout);
  for (unsigned i = 0; i < TGT_FEATURE_COUNT; i++) {
    const struct tgt_feature *f = &tgt_features()[i];
    if (cpu->implies[f->index >> 6] >> (f->index & 63) & 1) printf(" %s", f->key);
  }
  putchar('\n');
}

static void show_target(const struct tgt_cpu *cpu) {
  const struct tgt_described *family = tgt_family_of(cpu->family);
  printf("%s: %s%s\n", cpu->name, cpu->product, cpu->placeholder ? " (a name without hardware)" : "");
  printf("  SM %u, full version %u, __CUDA_ARCH__ %u\n  lowest PTX ", cpu->sm, cpu->full_sm,
         tgt_cuda_arch(cpu));
  put_ptx(cpu->min_ptx);
  printf(" (%s%s)\n", tgt_source_of(cpu->version_source)->name,
         cpu->version_unverified ? ", not verified" : "");
  if (family != NULL) printf("  family %s: %s\n", family->name, family->description);
  show_limits(cpu);
  show_features(cpu);
}

int tables_targets(const struct options *o) {
  if (o->operand_count == 0) {
    list_targets();
    return EXIT_DONE;
  }
  const char *name = o->operands[0];
  const struct tgt_cpu *cpu = tgt_find_cpu(name, strlen(name));
  if (cpu == NULL) {
    fprintf(stderr, "nvmini: error: there is no CPU '%s'; did you mean '%s'? `nvmini targets` lists all\n",
            name, tgt_nearest_cpu(name, strlen(name))->name);
    return EXIT_USAGE;
  }
  show_target(cpu);
  return EXIT_DONE;
}

/* ---- Instructions ---- */

static void show_op_flags(uint32_t flags) {
  static const struct { uint32_t flag; const char *text; } names[] = {
      {OPF_TERMINATOR, "ends a block"},        {OPF_COMMUTES, "commutes"},
      {OPF_TRAPS, "must not be speculated"},   {OPF_READS, "may read memory"},
      {OPF_WRITES, "may write memory"},        {OPF_WRAP, "takes nuw, nsw"},
      {OPF_EXACT, "takes exact"},              {OPF_DISJOINT, "takes disjoint"},
      {OPF_NNEG, "takes nneg"},                {OPF_GEPFLAGS, "takes inbounds, nusw, nuw"},
      {OPF_SAMESIGN, "takes samesign"},        {OPF_FAST, "takes fast-math flags"},
  };
  const char *separator = "  [";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if ((flags & names[i].flag) == 0) continue;
    printf("%s%s", separator, names[i].text);
    separator = ", ";
  }
  if (separator[0] == ',') putchar(']');
}

int tables_ops(const struct options *o) {
  const char *wanted = o->operand_count == 0 ? NULL : o->operands[0];
  const char *names[OP_COUNT];
  bool found = false;
  for (int i = 0; i < OP_COUNT; i++) {
    names[i] = op_table[i].keyword;
    if (wanted != NULL && strcmp(wanted, names[i]) != 0) continue;
    found = true;
    printf("%-15s %s", names[i], op_table[i].meaning);
    show_op_flags(op_table[i].flags);
    putchar('\n');
  }
  if (found) return EXIT_DONE;
  const char *nearest = options_nearest(wanted, names, OP_COUNT);
  fprintf(stderr, "nvmini: error: there is no instruction '%s'", wanted);
  if (nearest != NULL) fprintf(stderr, "; did you mean '%s'?", nearest);
  fputc('\n', stderr);
  return EXIT_USAGE;
}

/* ---- Passes ---- */

static void show_pass(const struct pass_info *p) { printf("%-16s %s\n", p->name, p->meaning); }

/* A level's passes, one a line, in the order in which they run. */
static int show_level(const char *list) {
  while (*list != '\0') {
    size_t length = strcspn(list, ",");
    show_pass(&pass_table[pass_find(list, length)]);
    list += length + (list[length] == ',');
  }
  return EXIT_DONE;
}

int tables_passes(const struct options *o) {
  if (o->values[OPTION_O0] != NULL) return show_level(pass_pipeline("0"));
  if (o->values[OPTION_O1] != NULL) return show_level(pass_pipeline("1"));
  for (int p = 1; p < PASS_COUNT; p++) show_pass(&pass_table[p]);
  return EXIT_DONE;
}

/* ---- Intrinsics ---- */

static void show_intrinsic(const struct intrinsic_info *i) {
  printf("%-44s %s", i->name, i->signature);
  if (i->requires[0] != '\0') printf("  needs %s", i->requires);
  static const struct { uint16_t flag; const char *text; } names[] = {
      {INTRIN_READS, "reads"},           {INTRIN_WRITES, "writes"},
      {INTRIN_ARGMEM, "only arguments"}, {INTRIN_CONVERGENT, "convergent"},
      {INTRIN_NORETURN, "no return"},
  };
  const char *separator = "  [";
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    if ((i->flags & names[k].flag) == 0) continue;
    printf("%s%s", separator, names[k].text);
    separator = ", ";
  }
  puts(separator[0] == ',' ? "]" : "");
}

int tables_intrinsics(const struct options *o) {
  const char *prefix = o->operand_count == 0 ? "" : o->operands[0];
  bool found = false;
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++) {
    if (strncmp(intrinsic_table[i].name, prefix, strlen(prefix)) != 0) continue;
    show_intrinsic(&intrinsic_table[i]);
    found = true;
  }
  if (found) return EXIT_DONE;
  fprintf(stderr, "nvmini: error: no intrinsic's name begins with '%s'\n", prefix);
  return EXIT_USAGE;
}

/* ---- Diagnostics ---- */

static const char *severity_word(enum diag_severity s) {
  switch (s) {
    case DIAG_ERROR: return "error";
    case DIAG_WARNING: return "warning";
    case DIAG_REMARK: return "remark";
    case DIAG_NOTE: return "note";
  }
  return "error";
}

int tables_diagnostics(const struct options *o) {
  const char *wanted = o->operand_count == 0 ? NULL : o->operands[0];
  const char *names[DIAG_COUNT];
  for (int i = 0; i < DIAG_COUNT; i++) {
    enum diag_id id = (enum diag_id)i;
    names[i] = diag_name(id);
    if (wanted == NULL) printf("%-28s %-8s %s\n", names[i], severity_word(diag_severity(id)), diag_message(id));
    if (wanted == NULL || strcmp(wanted, names[i]) != 0) continue;
    printf("%s (%s): %s\n\n%s\n", names[i], severity_word(diag_severity(id)), diag_message(id),
           diag_meaning(id));
    return EXIT_DONE;
  }
  if (wanted == NULL) return EXIT_DONE;
  const char *nearest = options_nearest(wanted, names, DIAG_COUNT);
  fprintf(stderr, "nvmini: error: there is no diagnostic '%s'", wanted);
  if (nearest != NULL) fprintf(stderr, "; did you mean '%s'?", nearest);
  fputc('\n', stderr);
  return EXIT_USAGE;
}
