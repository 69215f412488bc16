/* Parsing the command line by the tables of options. Help is in help.c, completion in completion.c.
 */
#include "driver/options.h"

#include <stdlib.h>
#include <string.h>

#include "driver/files.h"
#include "nvmini.h"
#include "support/knobs.h"
#include "support/nearest.h"
#include "support/options.h"

enum {
#define COMMAND(id, name, operands, min, max, help) IN_##id = 1 << COMMAND_##id,
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
  IN_CODE =
      IN_COMPILE | IN_RUN | IN_EXPLAIN | IN_COST | IN_BISECT, /* the commands that compile to PTX */
  IN_ALL = (1 << COMMAND_COUNT) - 1,
};

static const struct command_row commands[COMMAND_COUNT] = {
#define COMMAND(id, name, operands, min, max, help) {name, operands, min, max, help},
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
};

static const struct command_option {
  int commands;
  struct option_row row;
} options[OPTION_COUNT] = {
#define COMMAND(id, name, operands, min, max, help)
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help) \
  {commands, {name, value, initial, nvvm, llvm, help}},
#include "driver/options.def"
#include "support/options.def"
#undef COMMAND
#undef OPTION
};

const struct command_row *command_row(enum command c) { return &commands[c]; }

const struct option_row *options_row(enum option_id id) { return &options[id].row; }

/* Whether the command has an option of its own with the name of this one of the library. */
static bool is_hidden(enum command c, enum option_id id) {
  for (int k = 0; id > OPTION_LAST_OF_COMMAND && k <= OPTION_LAST_OF_COMMAND; k++)
    if ((options[k].commands >> c & 1) && strcmp(options[k].row.name, options[id].row.name) == 0)
      return true;
  return false;
}

bool options_takes(enum command c, enum option_id id) {
  return (options[id].commands >> c & 1) && !is_hidden(c, id);
}

static bool takes(enum command c, int option) { return options_takes(c, (enum option_id)option); }

enum command command_find(const char *name) {
  int c = 0;
  while (c < COMMAND_COUNT && strcmp(commands[c].name, name) != 0) c++;
  return (enum command)c;
}

/* ---- Spelling suggestions ---- */

enum { LONGEST_WORD = 63 };

/* Ends an error line, with the nearest names if there are any. */
static void say_nearest(const struct nearest *n) {
  struct nvm_text best = n->best, also = n->also;
  if (best.bytes != NULL) fprintf(stderr, "; did you mean '%.*s'", (int)best.length, best.bytes);
  if (also.bytes != NULL) fprintf(stderr, " or '%.*s'", (int)also.length, also.bytes);
  fputs(best.bytes != NULL ? "?\n" : "\n", stderr);
}

static void suggest(const char *word, const char *const *names, size_t count) {
  struct nearest n = nearest_start(text_of(word));
  for (size_t i = 0; i < count; i++) nearest_offer(&n, text_of(names[i]));
  say_nearest(&n);
}

int options_unknown(const char *what, const char *word, const char *const *names, size_t count) {
  fprintf(stderr, "nvmini: error: %s '%s'", what, word);
  suggest(word, names, count);
  return EXIT_USAGE;
}

/* ---- Parsing ---- */

static int see_help(const char *command) {
  fprintf(stderr, "see `nvmini %s%s--help`\n", command, *command == '\0' ? "" : " ");
  return EXIT_USAGE;
}

int options_unknown_command(const char *word) {
  const char *names[COMMAND_COUNT];
  for (int c = 0; c < COMMAND_COUNT; c++) names[c] = commands[c].name;
  size_t length = strlen(word);
  bool file = strchr(word, '/') != NULL || (length > 3 && strcmp(word + length - 3, ".ll") == 0) ||
              (length > 5 && strcmp(word + length - 5, ".nvir") == 0);
  fprintf(stderr, "nvmini: error: unknown command '%s'", word);
  if (file) fprintf(stderr, "; did you mean `nvmini compile %s`?\n", word);
  else suggest(word, names, COMMAND_COUNT);
  return see_help("");
}

/* ---- Spellings of other tools ---- */

/* A word of the command line as one option of the tables. */
struct spelled {
  int option;          /* OPTION_COUNT: none */
  const char *value;   /* after =, or glued to a letter; NULL: none */
  const char *libnvvm; /* "-ftz=0|1" if the word has libNVVM's spelling, otherwise NULL */
};

/* Whether `word`, up to =, is `name`, `length` bytes; *value: what follows =, or NULL. */
static bool is_word(const char *word, const char *name, size_t length, const char **value) {
  if (strncmp(word, name, length) != 0 || (word[length] != '\0' && word[length] != '='))
    return false;
  *value = word[length] == '=' ? word + length + 1 : NULL;
  return true;
}

/* libNVVM's -name=value; the same name with a blank before the value, unless that is our option
 * with one dash: -ftz. */
static bool is_libnvvm(const struct option_row *row, const char *word, const char **value) {
  size_t length = strcspn(row->nvvm, "=");
  if (row->nvvm[length] == '\0' || !is_word(word, row->nvvm, length, value)) return false;
  return *value != NULL || option_needs_value(row) || strcmp(word, row->name + 1) != 0;
}

/* Our name, in full. */
static bool is_name(const struct option_row *row, const char *word, const char **value) {
  return is_word(word, row->name, strlen(row->name), value);
}

/* Our name with one dash, or LLVM's with one or two. */
static bool is_llvm(const struct option_row *row, const char *word, const char **value) {
  if (strncmp(row->name, "--", 2) == 0 &&
      is_word(word, row->name + 1, strlen(row->name) - 1, value))
    return true;
  const char *dashed = strncmp(word, "--", 2) == 0 ? word + 1 : word;
  for (const char *at = row->llvm; *at; at += strcspn(at, "|"), at += *at == '|')
    if (is_word(dashed, at, strcspn(at, "|"), value)) return true;
  return false;
}

/* The option that `word` spells; our own short options with a value glued to them come last, since
 * -opt-bisect-limit=3 is not the file pt-bisect-limit=3. */
static struct spelled find_option(enum command c, const char *word) {
  typedef bool matches(const struct option_row *row, const char *word, const char **value);
  static matches *const spellings[] = {is_libnvvm, is_name, is_llvm, option_matches};
  struct spelled s = {.option = OPTION_COUNT};
  for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++)
    for (int i = 0; i < OPTION_COUNT; i++) {
      if (!takes(c, i) || !spellings[k](&options[i].row, word, &s.value)) continue;
      s.option = i;
      s.libnvvm = k == 0 ? options[i].row.nvvm : NULL;
      return s;
    }
  return s;
}

/* Options of other tools, and what does the same here. */
static const struct {
  const char *word, *use;
} foreign[] = {
    {"-emit-llvm", "--emit ir"},
    {"-filetype", "--emit (the output is always text)"},
    {"-c", "--emit ptx; ptxas makes objects"},
    {"-ptx", "--emit ptx, the default"},
    {"-use_fast_math", "--ftz --prec-div 0 --prec-sqrt 0 --fma-level 2"},
    {"-fmad", "--fma-level"},
    {"-ffp-contract", "--fma-level"},
    {"-Ofast", "-O3"},
    {"-v", "--time-passes or --stats"},
    {"-lto", "`nvmini link`"},
};

/* The hint for an option that the command lacks; "": none. `name` has one dash. */
static void find_hint(const char *name, char *hint, size_t size) {
  bool is_level = strncmp(name, "-O", 2) == 0 && strspn(name + 2, "0123456789") == strlen(name + 2);
  snprintf(hint, size, "%s", is_level ? "-O0 to -O3" : "");
  for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
    if (strcmp(foreign[k].word, name) == 0) snprintf(hint, size, "%s", foreign[k].use);
  for (int k = 0; k < KNOB_COUNT; k++)
    if (strcmp(knobs_row((enum knob)k)->name, name + 1) == 0)
      snprintf(hint, size, "--knob %s=N", name + 1);
}

/* The options nearest to `name`: our names, or the spellings of other tools, with one dash, if they
 * are nearer. */
static struct nearest nearest_option(enum command c, const char *name) {
  struct nearest own = nearest_start(text_of(name)),
                 others = nearest_start(text_of(strncmp(name, "--", 2) == 0 ? name + 1 : name));
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!takes(c, i)) continue;
    nearest_offer(&own, text_of(options[i].row.name));
    for (const char *at = options[i].row.llvm; *at; at += *at == '|') {
      size_t length = strcspn(at, "|");
      nearest_offer(&others, (struct nvm_text){at, length});
      at += length;
    }
  }
  bool is_nearer = others.best.bytes && (!own.best.bytes || others.limit < own.limit);
  return is_nearer ? others : own;
}

static int unknown_option(enum command c, const char *word) {
  char name[LONGEST_WORD + 1], hint[LONGEST_WORD + 16];
  size_t length = strcspn(word, "=");
  snprintf(name, sizeof name, "%.*s", (int)(length < LONGEST_WORD ? length : LONGEST_WORD), word);
  find_hint(strncmp(name, "--", 2) == 0 ? name + 1 : name, hint, sizeof hint);
  fprintf(stderr, "nvmini: error: `%s` has no option '%s'", commands[c].name, name);
  struct nearest near = nearest_option(c, name);
  if (*hint != '\0' && takes(c, OPTION_O3)) fprintf(stderr, "; use %s\n", hint);
  else say_nearest(&near);
  return see_help(commands[c].name);
}

bool options_add(struct options *o, struct option_given given) {
  if (o->given_count == OPTIONS_MAX_GIVEN) {
    fprintf(stderr, "nvmini: error: more than %d options\n", (int)OPTIONS_MAX_GIVEN);
    return false;
  }
  if (given.id >= OPTION_O0 && given.id <= OPTION_OFC)
    for (int level = OPTION_O0; level <= OPTION_OFC; level++) o->values[level] = NULL;
  o->values[given.id] = given.value;
  o->given[o->given_count++] = given;
  return true;
}

/* Ends the line of an error about a value. libNVVM's option and ours can have different values. */
static void say_other_spelling(const struct option_row *row, const struct spelled *s) {
  if (row->nvvm[0] == '\0' || strchr(row->nvvm, '|') == NULL) fputc('\n', stderr);
  else if (row == &options[OPTION_O3].row) fputs("; nvmini's options are -O0 to -O3\n", stderr);
  else if (s->libnvvm != NULL && option_needs_value(row))
    fprintf(stderr, "; nvmini's option is %s %s\n", row->name, row->value);
  else if (s->libnvvm != NULL) fprintf(stderr, "; nvmini's option is %s\n", row->name);
  else fprintf(stderr, "; libNVVM's option is %s\n", row->nvvm);
}

/* Checks the value by the row, or by libNVVM's spelling "-ftz=0|1". False after a message. */
static bool check_value(const struct option_row *row, const struct spelled *s, const char *value) {
  char name[LONGEST_WORD + 1];
  struct option_row as = *row;
  struct arena arena;
  struct textbuf message;
  if (s->libnvvm != NULL) {
    size_t length = strcspn(s->libnvvm, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, s->libnvvm);
    as.name = name;
    as.value = s->libnvvm + length + 1;
  }
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&message, &arena);
  bool valid = option_check_value(&as, value, &message);
  if (!valid) fprintf(stderr, "nvmini: error: %.*s", (int)message.length, message.bytes);
  if (!valid) say_other_spelling(row, s);
  arena_free(&arena);
  return valid;
}

/* Takes an option, with the value that was given with it or with the next word. */
static int take_option(struct options *o, struct spelled s, int argc, char **argv, int *at) {
  const struct option_row *row = &options[s.option].row;
  bool needs = s.libnvvm != NULL || option_needs_value(row);
  if (needs && s.value == NULL && *at + 1 < argc) s.value = argv[++*at];
  bool is_level = s.option == OPTION_O3 && s.libnvvm != NULL;
  /* nvcc's -arch takes sm_90 */
  if (s.option == OPTION_CPU && s.value != NULL && strncmp(s.value, "compute_", 8) != 0)
    s.libnvvm = NULL;
  if (!check_value(row, &s, s.value)) return see_help(commands[o->command].name);
  if (is_level) s = (struct spelled){.option = OPTION_O0 + (*s.value - '0')};
  struct option_given given = {.id = (enum option_id)s.option,
                               .value = s.value == NULL ? "" : s.value,
                               .libnvvm = s.libnvvm};
  return options_add(o, given) ? EXIT_DONE : EXIT_USAGE;
}

static int check_operands(struct options *o) {
  static char standard_input[] = "-";
  const char *name = commands[o->command].name;
  int max = commands[o->command].max;
  if (o->values[OPTION_HELP] != NULL) return EXIT_DONE;
  bool reads = strncmp(commands[o->command].operands, "FILE", 4) == 0;
  if (reads && o->operand_count == 0 && o->command != COMMAND_REDUCE && files_has_standard_input())
    o->operands[o->operand_count++] = standard_input;
  if (o->operand_count < commands[o->command].min) {
    fprintf(stderr, "nvmini: error: `%s` needs an operand: %s\n", name,
            commands[o->command].operands);
    return see_help(name);
  }
  if (o->operand_count > max) {
    fprintf(stderr, "nvmini: error: `%s` takes at most %d operand%s; unexpected '%s'\n", name, max,
            max == 1 ? "" : "s", o->operands[max]);
    return see_help(name);
  }
  return EXIT_DONE;
}

int options_parse(struct options *o, int argc, char **argv) {
  *o = (struct options){.command = COMMAND_HELP, .operands = argv};
  if (argc < 2) {
    options_help(stderr, COMMAND_COUNT);
    return EXIT_USAGE;
  }
  const char *first = argv[1];
  if (strcmp(first, "--version") == 0) first = "version";
  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) first = "help";
  o->command = command_find(first);
  if (o->command == COMMAND_COUNT) return options_unknown_command(first);
  bool only_operands = false;
  for (int at = 2; at < argc; at++) {
    const char *word = argv[at];
    if (only_operands || word[0] != '-' || word[1] == '\0') {
      o->operands[o->operand_count++] = argv[at];
      continue;
    }
    only_operands = strcmp(word, "--") == 0;
    if (only_operands) continue;
    if (strcmp(word, "-h") == 0) word = "--help";
    struct spelled s = find_option(o->command, word);
    if (s.option == OPTION_COUNT) return unknown_option(o->command, word);
    int status = take_option(o, s, argc, argv, &at);
    if (status != EXIT_DONE) return status;
  }
  return check_operands(o);
}

const char *options_name(enum option_id id) { return options[id].row.name; }

const char *options_value(const struct options *o, enum option_id id) {
  return o->values[id] != NULL ? o->values[id] : options[id].row.initial;
}

/* "--cpu=sm_90a", "-Wno-x", "--ftz", "-ftz=1" */
static enum nvmini_status set_library(const struct option_given *given,
                                      struct nvmini_context *context) {
  const char *name = given->libnvvm ? given->libnvvm : options[given->id].row.name;
  size_t length = strcspn(name, "=");
  const char *equals = *given->value == '\0' || length == 2 ? "" : "=";
  size_t size = length + strlen(given->value) + sizeof "=";
  char *text = malloc(size);
  if (text == NULL) return NVMINI_OUT_OF_MEMORY;
  snprintf(text, size, "%.*s%s%s", (int)length, name, equals, given->value);
  enum nvmini_status status = nvmini_set_option(context, text);
  free(text);
  return status;
}

enum nvmini_status options_set_library(const struct options *o, struct nvmini_context *context,
                                       enum option_id *failed) {
  enum nvmini_status status = NVMINI_OK;
  for (int i = 0; i < o->given_count && status == NVMINI_OK; i++) {
    *failed = o->given[i].id;
    if (*failed > OPTION_LAST_OF_COMMAND) status = set_library(&o->given[i], context);
  }
  return status;
}
