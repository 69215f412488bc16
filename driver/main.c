/* The nvmini command. */
#define _DEFAULT_SOURCE /* sbrk, madvise */

#include "driver/arguments.h"
#include "driver/commands.h"
#include "driver/course/course.h"
#include "driver/files.h"
#include "driver/fuzz/fuzz.h"
#include "driver/progress.h"
#include "driver/reduce/reduce.h"
#include "driver/reference/reference.h"
#include "driver/serve/serve.h"

#include "nvmini.h"

#if defined __GLIBC__ && defined __linux__
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes. The heap only reserves addresses; a page is allocated on its first write. */
enum {
  HEAP = 64 << 20,
  HEAP_STEP = 1 << 20,
  HUGE_PAGE = 2 << 20,
  SMALL_PAGES = 256 << 10,
  ALL_HUGE_PAGES = 16 << 20
};

/* Uses huge pages for the heap except for its start, which suffices for a small module: clearing a
 * huge page takes as long as 70 faults of small ones. Nor for what a large module needs beyond
 * ALL_HUGE_PAGES: half of the last page would be unused. The heap beyond HEAP is unaffected, and so
 * is all of it if the system lacks room or huge pages. */
static void use_huge_pages(void) {
  uintptr_t start = (uintptr_t)sbrk(0);
  sbrk((intptr_t)((HUGE_PAGE - SMALL_PAGES - start) % HUGE_PAGE));
  mallopt(M_TOP_PAD, HEAP);
  void *memory = malloc(SMALL_PAGES / 4 * 3); /* more than the rest of an existing heap */
  mallopt(M_TOP_PAD, HEAP_STEP);
  uintptr_t first = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE,
            end = (uintptr_t)sbrk(0);
  if (first < end && end - first > ALL_HUGE_PAGES) end = first + ALL_HUGE_PAGES;
  if (memory && first < end) madvise((void *)first, end - first, MADV_HUGEPAGE);
  free(memory);
}

/* Memory that a pass frees is reused by the next one; returning it to the system would cost a page
 * fault for each page. Only very large blocks are mapped separately. */
static void keep_memory(void) {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  use_huge_pages();
}
#else
static void keep_memory(void) {}
#endif

static int help(const struct options *o) {
  static const struct {
    enum option_id id;
    void (*print)(FILE *out);
  } documents[] = {{OPTION_MAN, options_man},
                   {OPTION_BASH, options_bash_completion},
                   {OPTION_ZSH, options_zsh_completion},
                   {OPTION_FISH, options_fish_completion}};
  static const struct {
    enum option_id id;
    void (*print)(FILE *out, const char *language);
  } syntaxes[] = {{OPTION_VIM_SYNTAX, editors_vim},
                  {OPTION_TEXTMATE, editors_textmate},
                  {OPTION_TREE_SITTER, editors_tree_sitter}};
  for (size_t k = 0; k < sizeof documents / sizeof *documents; k++) {
    if (o->values[documents[k].id] == NULL) continue;
    documents[k].print(stdout);
    return EXIT_DONE;
  }
  for (size_t k = 0; k < sizeof syntaxes / sizeof *syntaxes; k++) {
    if (o->values[syntaxes[k].id] == NULL) continue;
    syntaxes[k].print(stdout, o->values[syntaxes[k].id]);
    return EXIT_DONE;
  }
  if (o->values[OPTION_REFERENCE]) return reference_write(o->values[OPTION_REFERENCE]);
  enum command c = COMMAND_COUNT;
  if (o->operand_count > 0 && (c = command_find(o->operands[0])) == COMMAND_COUNT)
    return options_unknown_command(o->operands[0]);
  options_help(stdout, c);
  return EXIT_DONE;
}

static int dispatch(const struct options *o) {
  switch (o->command) {
    case COMMAND_COMPILE: return jobs_compile(o);
    case COMMAND_CHECK: return jobs_check(o);
    case COMMAND_PRINT: return jobs_print(o);
    case COMMAND_LINK: return jobs_link(o);
    case COMMAND_RUN: return run_command(o);
    case COMMAND_EXPLAIN: return jobs_explain(o);
    case COMMAND_COST: return jobs_cost(o);
    case COMMAND_BISECT: return bisect_command(o);
    case COMMAND_REDUCE: return reduce_command(o);
    case COMMAND_FUZZ: return fuzz_command(o);
    case COMMAND_COURSE: return course_command(o);
    case COMMAND_LSP: return lsp_command(o);
    case COMMAND_SERVE: return serve_command(o);
    case COMMAND_TARGETS: return targets_command(o);
    case COMMAND_COSTS: return costs_command(o);
    case COMMAND_FEATURES: return features_command(o);
    case COMMAND_TRIPLES: return triples_command(o);
    case COMMAND_OPS: return tables_ops(o);
    case COMMAND_PASSES: return tables_passes(o);
    case COMMAND_INTRINSICS: return tables_intrinsics(o);
    case COMMAND_KNOBS: return tables_knobs(o);
    case COMMAND_DIAGNOSTICS: return tables_diagnostics(o);
    case COMMAND_VERSION: printf("nvmini %s\n", nvmini_version()); return EXIT_DONE;
    case COMMAND_HELP: return help(o);
    case COMMAND_COUNT: break;
  }
  return EXIT_FAULT;
}

static int execute(int argc, char **argv) {
  struct options o;
  int status = options_parse(&o, argc, argv);
  if (status != EXIT_DONE) return status;
  if (o.values[OPTION_HELP] != NULL) options_help(stdout, o.command);
  else if ((status = native_resolve(&o)) == EXIT_DONE) status = dispatch(&o);
  progress_clear();
  return status;
}

int main(int argc, char **argv) {
  keep_memory();
  files_open_standard();
  setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
  struct arguments arguments;
  int status = EXIT_USAGE;
  if (arguments_expand(&arguments, argc, argv))
    status = execute((int)arguments.words.count, arguments.words.data);
  arguments_free(&arguments);
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_DONE) {
    perror("nvmini: error: <stdout>: cannot write");
    return EXIT_REFUSED;
  }
  return status;
}
