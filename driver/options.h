/* The parsed command line; help, man page and completion from the same tables. */
#ifndef NVM_DRIVER_OPTIONS_H
#define NVM_DRIVER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "nvmini.h"

enum command {
#define COMMAND(id, name, operands, min, max, help) COMMAND_##id,
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
  COMMAND_COUNT,
};

enum option_id {
#define COMMAND(id, name, operands, min, max, help)
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help) OPTION_##id,
#include "driver/options.def"
  OPTION_LAST_OF_COMMAND = OPTION_HELP,
#include "support/options.def"
#undef COMMAND
#undef OPTION
  OPTION_COUNT,
};

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_FAULT = 70 };

/* One occurrence of an option. */
struct option_given {
  enum option_id id;
  const char *value;
  const char *libnvvm; /* libNVVM's spelling "-ftz=0|1" if it was given so: other values */
};

enum { OPTIONS_MAX_GIVEN = 256 };

struct options {
  enum command command;
  const char *values[OPTION_COUNT]; /* the last one given; "": without a value; NULL: not given */
  char **operands;                  /* into argv, which is reordered */
  int operand_count;
  struct option_given given[OPTIONS_MAX_GIVEN]; /* in order */
  int given_count;
  /* Of a request of the playground: EXIT_DONE if it may have these options. Also for the options
   * in lines `nvmini-run:`. NULL: there is nothing to check. */
  int (*check)(const struct options *o);
};

/* Parses the command line. Returns EXIT_DONE, or EXIT_USAGE after an error message with a spelling
 * suggestion. */
int options_parse(struct options *o, int argc, char **argv);

/* Records an occurrence of an option, whose texts are borrowed. Of several levels the last one
 * holds. False after an error message. */
bool options_add(struct options *o, struct option_given given);

/* "--cpu" */
const char *options_name(enum option_id id);

/* The value given last, or the default of the table. */
const char *options_value(const struct options *o, enum option_id id);

/* Sets the library options in the order given. The status is that of the first one that fails, and
 * *failed is its id. */
enum nvmini_status options_set_library(const struct options *o, struct nvmini_context *context,
                                       enum option_id *failed);

/* The rows of the tables. */
struct command_row {
  const char *name, *operands;
  int min, max; /* number of operands */
  const char *help;
};
const struct command_row *command_row(enum command c);
const struct option_row *options_row(enum option_id id);
bool options_takes(enum command c, enum option_id id);

/* The command of that name, or COMMAND_COUNT. */
enum command command_find(const char *name);

/* help.c: help of one command (COMMAND_COUNT: the list of commands), and the man page. */
void options_help(FILE *out, enum command c);
void options_man(FILE *out);

/* completion.c: scripts for shells. */
void options_bash_completion(FILE *out);
void options_zsh_completion(FILE *out);
void options_fish_completion(FILE *out);

/* editors.c: the syntax of `nvir` or `ptx`, for Vim and as a TextMate grammar. */
void editors_vim(FILE *out, const char *language);
void editors_textmate(FILE *out, const char *language);
void editors_tree_sitter(FILE *out, const char *language);

/* Prints the error `WHAT 'WORD'` with a suggestion from the names; returns EXIT_USAGE. */
int options_unknown(const char *what, const char *word, const char *const *names, size_t count);
/* The same for a command. */
int options_unknown_command(const char *word);

#endif
