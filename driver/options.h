/* The command line as data, and what is made from the same table: help, man page, completion. */
#ifndef NVM_DRIVER_OPTIONS_H
#define NVM_DRIVER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "nvmini.h"

enum command {
#define COMMAND(id, name, operands, least, most, help) COMMAND_##id,
#define OPTION(id, commands, name, value, kind, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
  COMMAND_COUNT,
};

enum option_id {
#define COMMAND(id, name, operands, least, most, help)
#define OPTION(id, commands, name, value, kind, help) OPTION_##id,
#include "driver/options.def"
#undef COMMAND
#undef OPTION
  OPTION_COUNT,
};

/* Exit statuses. */
enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_FAULT = 70 };

/* An option of which every occurrence counts, as --arg. */
struct option_given {
  enum option_id id;
  const char *value;
};

enum { OPTIONS_MOST_GIVEN = 256 };

struct options {
  enum command command;
  const char *values[OPTION_COUNT]; /* as given last; "" for those without value; NULL: not given */
  char **operands;                  /* into argv, which is reordered */
  int operand_count;
  struct option_given given[OPTIONS_MOST_GIVEN]; /* all options with values, in order */
  int given_count;
};

/* Reads the command line. Returns EXIT_DONE, or EXIT_USAGE after saying on standard error what is
 * wrong and what was probably meant. */
int options_parse(struct options *o, int argc, char **argv);

/* Gives an option its value, borrowed from the command line; of several levels the last one counts.
 */
void options_set(struct options *o, enum option_id id, const char *value);

/* Sets a library option that was given, as "--cpu=sm_90a"; others are no error. */
enum nvmini_status options_set_library(const struct options *o, enum option_id id,
                                       struct nvmini_context *context);

/* Moves *text behind the decimal digits it begins with and stores their number; false if there are
 * none or the number is larger than `most`. */
bool options_number(const char **text, uint64_t most, uint64_t *number);

/* The command of that name, or COMMAND_COUNT. */
enum command command_find(const char *name);

/* COMMAND_COUNT: the overview of all. */
void options_help(FILE *out, enum command c);
void options_man(FILE *out);
void options_bash_completion(FILE *out);

/* Says `WHAT 'WORD'`, an error, with the nearest of the names; EXIT_USAGE. */
int options_unknown(const char *what, const char *word, const char *const *names, size_t count);

#endif
