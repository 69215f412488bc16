/* Prints the compiler's tables: instructions, passes, intrinsics, knobs, diagnostics. */
#include "driver/commands.h"
#include "driver/reference/reference.h"
#include "ir/intrinsic.h"
#include "ir/ops.h"
#include "opt/pipeline.h"
#include "support/diag.h"
#include "support/knobs.h"

#include <stdlib.h>
#include <string.h>

/* ---- Instructions ---- */

struct flag_text {
  uint32_t flag;
  const char *text;
};

static uint32_t texts_of(const struct flag_text *rows, size_t count, uint32_t flags,
                         const char **texts) {
  uint32_t found = 0;
  for (size_t i = 0; i < count; i++)
    if (flags & rows[i].flag) texts[found++] = rows[i].text;
  return found;
}

uint32_t tables_op_flags(uint32_t flags, const char *texts[TABLES_MAX_FLAGS]) {
  static const struct flag_text rows[] = {
      {OPF_TERMINATOR, "terminator"},
      {OPF_COMMUTES, "commutative"},
      {OPF_TRAPS, "must not be speculated"},
      {OPF_READS, "may read memory"},
      {OPF_WRITES, "may write memory"},
      {OPF_WRAP, "allows nuw, nsw"},
      {OPF_EXACT, "allows exact"},
      {OPF_DISJOINT, "allows disjoint"},
      {OPF_NNEG, "allows nneg"},
      {OPF_GEPFLAGS, "allows inbounds, nusw, nuw"},
      {OPF_SAMESIGN, "allows samesign"},
      {OPF_FAST, "allows fast-math flags"},
      {OPF_UNIQUE, "must not be merged"},
  };
  return texts_of(rows, sizeof rows / sizeof rows[0], flags, texts);
}

/* Prints "  [a, b]" if there are texts. */
static void show_flags(const char *const *texts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) printf("%s%s", i ? ", " : "  [", texts[i]);
  if (count) putchar(']');
}

/* Prints what the reference says of a row, after a blank line. */
static void show_section(const char *kind, const char *name) {
  struct nvm_text section = reference_section(kind, name);
  if (section.length) printf("\n%.*s", (int)section.length, section.bytes);
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
    const char *flags[TABLES_MAX_FLAGS];
    show_flags(flags, tables_op_flags(op_table[i].flags, flags));
    putchar('\n');
  }
  if (found && wanted) show_section("ops", wanted);
  return found ? EXIT_DONE : options_unknown("unknown instruction", wanted, names, OP_COUNT);
}

/* ---- Passes ---- */

/* The name of a step as `--passes` takes it, with parameters. */
static void step_name(char *name, size_t size, const struct pass_step *step) {
  const char *before = "<";
  size_t length = (size_t)snprintf(name, size, "%s", pass_table[step->pass].name);
  for (unsigned k = 0; k < PASS_PARAMETER_COUNT && step->parameters; k++) {
    if (!(step->parameters >> k & 1)) continue;
    length +=
        (size_t)snprintf(name + length, size - length, "%s%s", before, pass_parameters[k].name);
    before = ";";
  }
  if (step->parameters) snprintf(name + length, size - length, ">");
}

/* Prints a level's passes in order. Passes between two module passes run function by function; +:
 * only if the last pass without + changed the function. */
static int show_level(const char *level) {
  struct pipeline p;
  struct knobs knobs = knobs_initial();
  pipeline_of_level(&p, level, &knobs);
  for (uint32_t i = 0; i < p.count; i++) {
    const struct pass_info *pass = &pass_table[p.steps[i].pass];
    bool follows = i > 0 && pass_table[p.steps[i - 1].pass].on_module == NULL;
    if (!pass->on_module && !follows) puts("for each function");
    fputs(pass->on_module ? "" : p.steps[i].conditional ? " +" : "  ", stdout);
    char name[128];
    step_name(name, sizeof name, &p.steps[i]);
    printf("%-*s %s\n", pass->on_module ? 18 : 16, name, pass->meaning);
  }
  return EXIT_DONE;
}

static void show_pass(enum pass_id p) {
  printf("%-18s %s\n", pass_table[p].name, pass_table[p].meaning);
  for (int k = 0; k < PASS_PARAMETER_COUNT; k++)
    if (pass_parameters[k].pass == p)
      printf("  <[no-]%s> %s\n", pass_parameters[k].name, pass_parameters[k].meaning);
}

int tables_passes(const struct options *o) {
  char level[16] = "";
  for (int i = OPTION_O0; i < OPTION_OFC; i++)
    if (o->values[i] != NULL)
      snprintf(level, sizeof level, "%s", options_name((enum option_id)i) + strlen("-O"));
  if (o->values[OPTION_OFC] != NULL) snprintf(level, sizeof level, "%s", o->values[OPTION_OFC]);
  const char *wanted = o->operand_count == 0 ? NULL : o->operands[0];
  if (level[0] != '\0' && wanted != NULL) {
    fputs("nvmini: error: `passes` takes a level or a pass, not both\n", stderr);
    return EXIT_USAGE;
  }
  if (level[0] != '\0') return show_level(level);
  const char *names[PASS_COUNT];
  bool found = wanted == NULL;
  for (int p = 1; p < PASS_COUNT; p++) {
    names[p - 1] = pass_table[p].name;
    if (wanted != NULL && strcmp(wanted, names[p - 1]) != 0) continue;
    found = true;
    show_pass((enum pass_id)p);
    if (wanted != NULL) show_section("passes", wanted);
  }
  return found ? EXIT_DONE : options_unknown("unknown pass", wanted, names, PASS_COUNT - 1);
}

/* ---- Intrinsics ---- */

uint32_t tables_effects(uint32_t flags, const char *texts[TABLES_MAX_FLAGS]) {
  static const struct flag_text rows[] = {
      {INTRIN_READS, "reads"},           {INTRIN_WRITES, "writes"},
      {INTRIN_ARGMEM, "only arguments"}, {INTRIN_CONVERGENT, "convergent"},
      {INTRIN_NORETURN, "no return"},
  };
  return texts_of(rows, sizeof rows / sizeof rows[0], flags, texts);
}

static void show_intrinsic(enum intrinsic_id id) {
  const struct intrinsic_info *i = &intrinsic_table[id];
  const char *effects[TABLES_MAX_FLAGS];
  printf("%-44s %s", i->name, i->signature);
  if (i->requires[0] != '\0') printf("  needs %s", i->requires);
  show_flags(effects, tables_effects(i->flags, effects));
  putchar('\n');
}

int tables_intrinsics(const struct options *o) {
  const char *prefix = o->operand_count == 0 ? "" : o->operands[0];
  bool found = false;
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++) {
    if (strncmp(intrinsic_table[i].name, prefix, strlen(prefix)) != 0) continue;
    show_intrinsic((enum intrinsic_id)i);
    found = true;
  }
  if (found) return EXIT_DONE;
  fprintf(stderr, "nvmini: error: no intrinsic with prefix '%s'\n", prefix);
  return EXIT_USAGE;
}

/* ---- Knobs ---- */

int tables_knobs(const struct options *o) {
  const char *wanted = o->operand_count == 0 ? NULL : o->operands[0];
  const char *names[KNOB_COUNT];
  bool found = false;
  for (int i = 0; i < KNOB_COUNT; i++) {
    const struct knob_row *k = knobs_row((enum knob)i);
    names[i] = k->name;
    if (wanted != NULL && strcmp(wanted, k->name) != 0) continue;
    found = true;
    printf("%-36s %-6s %d..%d (%d)  %s: %s\n", k->name,
           k->min == 0 && k->max == 1 ? "switch" : "number", (int)k->min, (int)k->max,
           (int)k->initial, k->reader, k->meaning);
  }
  if (found && wanted) show_section("knobs", wanted);
  return found ? EXIT_DONE : options_unknown("unknown knob", wanted, names, KNOB_COUNT);
}

/* ---- Diagnostics ---- */

const char *tables_severity(enum diag_severity s) {
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
    if (wanted == NULL)
      printf("%-28s %-8s %s\n", names[i], tables_severity(diag_severity(id)), diag_message(id));
    if (wanted == NULL || strcmp(wanted, names[i]) != 0) continue;
    printf("%s (%s): %s\n\n%s\n", names[i], tables_severity(diag_severity(id)), diag_message(id),
           diag_meaning(id));
    show_section("diagnostics", wanted);
    return EXIT_DONE;
  }
  return wanted == NULL ? EXIT_DONE
                        : options_unknown("unknown diagnostic", wanted, names, DIAG_COUNT);
}
