/* A request of the playground as a command line: `nvmini COMMAND - --cpu CPU LEVEL OPTIONS`. Shared
 * by the server's child processes and by WebAssembly. */
#include "driver/serve/request.h"

#include "driver/commands.h"
#include "support/options.h"

#include <string.h>

enum { MAX_WORDS = 128 };

/* Whether a request may have the option: all of the compiler, and those of the command that name
 * no file; the table calls the value of those that do FILE. */
static bool is_allowed(enum option_id id) {
  static const enum option_id allowed[] = {
      OPTION_EMIT,  OPTION_CHANGES, OPTION_STOP_AFTER, OPTION_REMARKS,   OPTION_WHY,
      OPTION_FROM,  OPTION_KERNEL,  OPTION_GRID,       OPTION_BLOCK,     OPTION_CLUSTER,
      OPTION_ARG,   OPTION_SHARED,  OPTION_PRINT,      OPTION_STATS,     OPTION_TRACE,
      OPTION_STACK, OPTION_QUIET,   OPTION_NO_CHECKS,  OPTION_STEP_LIMIT, OPTION_SCHEDULE,
      OPTION_EXPLAIN_FORMAT,
  };
  if (strstr(options_row(id)->value, "FILE")) return false;
  if (id > OPTION_LAST_OF_COMMAND) return true;
  for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
    if (allowed[k] == id) return true;
  return false;
}

/* `buf:@FILE` and `buf:TYPE:@FILE`. */
static bool names_file(const struct option_given *given) {
  return given->id == OPTION_ARG && strstr(given->value, ":@") != NULL;
}

/* Also of the options in the text's own lines `nvmini-run:`. */
static int check_options(const struct options *o) {
  for (int i = 0; i < o->given_count; i++) {
    const struct option_given *given = &o->given[i];
    if (is_allowed(given->id) && !names_file(given)) continue;
    fprintf(stderr, "nvmini: error: option '%s'%s is not available here\n",
            options_name(given->id), names_file(given) ? " with a file" : "");
    return EXIT_USAGE;
  }
  if (o->operand_count == 1) return EXIT_DONE;
  fputs("nvmini: error: the options name a file; the module is the text of the editor\n", stderr);
  return EXIT_USAGE;
}

enum command request_command(struct nvm_text name) {
  static const enum command commands[] = {COMMAND_COMPILE, COMMAND_EXPLAIN, COMMAND_RUN};
  for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
    const char *row = command_row(commands[k])->name;
    if (name.length == strlen(row) && memcmp(name.bytes, row, name.length) == 0) return commands[k];
  }
  return COMMAND_COUNT;
}

/* Splits at white space. Returns MAX_WORDS + 1 if there are more. */
static int add_words(char *text, char **words, int count) {
  static const char blanks[] = " \t\r\n";
  for (char *word = strtok(text, blanks); word && count <= MAX_WORDS; word = strtok(NULL, blanks))
    words[count++] = word;
  return count;
}

int request_execute(const struct request *r) {
  const char *command = command_row(r->command)->name;
  char *words[MAX_WORDS + 1] = {strdup("nvmini"), strdup(command), strdup("-")};
  int count = 3;
  char *level = strdup(r->level), *options = strdup(r->options), *cpu = strdup(r->cpu);
  if (!words[0] || !words[1] || !words[2] || !level || !options || !cpu) return EXIT_REFUSED;
  if (*cpu) words[count++] = strdup("--cpu"), words[count++] = cpu;
  count = add_words(level, words, count);
  count = add_words(options, words, count);
  if (count > MAX_WORDS) {
    fprintf(stderr, "nvmini: error: more than %d words of options\n", (int)MAX_WORDS);
    return EXIT_USAGE;
  }
  struct options o;
  int status = options_parse(&o, count, words);
  o.check = check_options;
  if (status == EXIT_DONE) status = check_options(&o);
  if (status == EXIT_DONE) status = native_resolve(&o);
  if (status != EXIT_DONE) return status;
  if (r->command == COMMAND_RUN) return run_command(&o);
  return r->command == COMMAND_EXPLAIN ? jobs_explain(&o) : jobs_compile(&o);
}
