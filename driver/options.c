/* Parsing the command line by the tables of options, and everything printed from them. */
#include "driver/options.h"

#include <stdlib.h>
#include <string.h>

#include "nvmini.h"
#include "support/nearest.h"
#include "support/options.h"

enum {
#define COMMAND(id, name, operands, min, max, help) IN_##id = 1 << COMMAND_##id,
#define OPTION(id, commands, name, value, initial, nvvm, llvm, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
  IN_ALL = (1 << COMMAND_COUNT) - 1,
};

static const struct {
  const char *name, *operands;
  int min, max;
  const char *help;
} commands[COMMAND_COUNT] = {
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

static bool takes(enum command c, int option) { return options[option].commands >> c & 1; }

enum command command_find(const char *name) {
  int c = 0;
  while (c < COMMAND_COUNT && strcmp(commands[c].name, name) != 0) c++;
  return (enum command)c;
}

/* ---- Spelling suggestions ---- */

enum { LONGEST_WORD = 63 };

/* Ends an error line, with the names nearest to `word` if there are any. */
static void suggest(const char *word, const char *const *names, size_t count) {
  struct nearest n = nearest_start(text_of(word));
  for (size_t i = 0; i < count; i++) nearest_offer(&n, text_of(names[i]));
  if (n.best.bytes != NULL) fprintf(stderr, "; did you mean '%s'", n.best.bytes);
  if (n.also.bytes != NULL) fprintf(stderr, " or '%s'", n.also.bytes);
  fputs(n.best.bytes != NULL ? "?\n" : "\n", stderr);
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

static int unknown_command(const char *word) {
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

/* Whether `word` is one of the spellings "a|b" of another compiler, whose values may follow =. */
static bool is_spelling(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
    if (strcspn(at, "=|") == length && strncmp(at, word, length) == 0) return true;
  return false;
}

static int unknown_option(enum command c, const char *word) {
  char what[LONGEST_WORD + 1], name[LONGEST_WORD + 1];
  const char *names[OPTION_COUNT];
  size_t length = strcspn(word, "="), count = 0;
  snprintf(name, sizeof name, "%.*s", (int)(length < LONGEST_WORD ? length : LONGEST_WORD), word);
  snprintf(what, sizeof what, "`%s` has no option", commands[c].name);
  for (int i = 0; i < OPTION_COUNT; i++) {
    const struct option_row *row = &options[i].row;
    if (!takes(c, i)) continue;
    names[count++] = row->name;
    if (!is_spelling(row->nvvm, name) && !is_spelling(row->llvm, name)) continue;
    fprintf(stderr, "nvmini: error: %s '%s'; use %s\n", what, name,
            i == OPTION_O3 ? "-O0 to -O3" : row->name);
    return see_help(commands[c].name);
  }
  options_unknown(what, name, names, count);
  return see_help(commands[c].name);
}

/* The option of command c that `word` spells, and its value as option_matches() returns it. */
static int find_option(enum command c, const char *word, const char **value) {
  int i = 0;
  for (; i < OPTION_COUNT; i++) {
    /* -opt=3 is libNVVM's option, not the file pt=3 */
    bool is_other = i == OPTION_OUTPUT && word[2] != '=' && strchr(word, '=') != NULL;
    if (takes(c, i) && !is_other && option_matches(&options[i].row, word, value)) break;
  }
  return i;
}

bool options_add(struct options *o, enum option_id id, const char *value) {
  if (o->given_count == OPTIONS_MAX_GIVEN) {
    fprintf(stderr, "nvmini: error: more than %d options\n", (int)OPTIONS_MAX_GIVEN);
    return false;
  }
  if (id >= OPTION_O0 && id <= OPTION_OFC)
    for (int level = OPTION_O0; level <= OPTION_OFC; level++) o->values[level] = NULL;
  o->values[id] = value;
  o->given[o->given_count++] = (struct option_given){id, value};
  return true;
}

/* Takes option i, with the value that was given with it (NULL: none) or with the next word. */
static int take_option(struct options *o, int i, const char *value, int argc, char **argv,
                       int *at) {
  const struct option_row *row = &options[i].row;
  struct arena arena;
  struct textbuf message;
  if (option_needs_value(row) && value == NULL && *at + 1 < argc) value = argv[++*at];
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&message, &arena);
  bool valid = option_check_value(row, value, &message);
  if (!valid) fprintf(stderr, "nvmini: error: %.*s\n", (int)message.length, message.bytes);
  arena_free(&arena);
  if (!valid) return see_help(commands[o->command].name);
  return options_add(o, (enum option_id)i, value == NULL ? "" : value) ? EXIT_DONE : EXIT_USAGE;
}

static int check_operands(const struct options *o) {
  const char *name = commands[o->command].name;
  int max = commands[o->command].max;
  if (o->values[OPTION_HELP] != NULL) return EXIT_DONE;
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
  if (o->command == COMMAND_COUNT) return unknown_command(first);
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
    const char *value = NULL;
    int i = find_option(o->command, word, &value);
    if (i == OPTION_COUNT) return unknown_option(o->command, word);
    int status = take_option(o, i, value, argc, argv, &at);
    if (status != EXIT_DONE) return status;
  }
  return check_operands(o);
}

const char *options_name(enum option_id id) { return options[id].row.name; }

const char *options_value(const struct options *o, enum option_id id) {
  return o->values[id] != NULL ? o->values[id] : options[id].row.initial;
}

/* "--cpu=sm_90a", "-Wno-x", "--ftz" */
static enum nvmini_status set_library(const struct option_given *given,
                                      struct nvmini_context *context) {
  const struct option_row *row = &options[given->id].row;
  const char *equals = *given->value == '\0' || strlen(row->name) == 2 ? "" : "=";
  size_t size = strlen(row->name) + strlen(given->value) + sizeof "=";
  char *text = malloc(size);
  if (text == NULL) return NVMINI_OUT_OF_MEMORY;
  snprintf(text, size, "%s%s%s", row->name, equals, given->value);
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

/* ---- Help ---- */

static void option_help(FILE *out, const struct option_row *row) {
  char syntax[64];
  bool separate = option_needs_value(row);
  snprintf(syntax, sizeof syntax, "%s%s%s", row->name, separate ? " " : "", row->value);
  fprintf(out, "  %-26s%s%s", syntax, strlen(syntax) > 26 ? "\n                             " : " ",
          row->help);
  if (row->initial[0] != '\0') fprintf(out, " (default: %s)", row->initial);
  fputc('\n', out);
}

static void command_help(FILE *out, enum command c) {
  const char *operands = commands[c].operands, *heading = "\nCompiler options:\n";
  fprintf(out, "nvmini %s [OPTION...]%s%s\n\n  %s\n\nOptions:\n", commands[c].name,
          operands[0] == '\0' ? "" : " ", operands, commands[c].help);
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!takes(c, i)) continue;
    if (i > OPTION_LAST_OF_COMMAND) fputs(heading, out), heading = "";
    option_help(out, &options[i].row);
  }
  if (strncmp(operands, "FILE", 4) == 0) fputs("\nFILE may be - for standard input.\n", out);
}

#define EXIT_STATUSES "0 success, 1 input refused, 2 wrong usage, 70 internal compiler error.\n"

void options_help(FILE *out, enum command c) {
  if (c != COMMAND_COUNT) {
    command_help(out, c);
    return;
  }
  fputs("nvmini COMMAND [OPTION...] [OPERAND...]\n\n", out);
  for (int i = 0; i < COMMAND_COUNT; i++) {
    char syntax[64];
    snprintf(syntax, sizeof syntax, "%s %s", commands[i].name, commands[i].operands);
    fprintf(out, "  %-22s %s\n", syntax, commands[i].help);
  }
  fputs("\n`nvmini COMMAND --help` lists its options.\nExit status: " EXIT_STATUSES, out);
}

/* Escapes text for roff. */
static void roff_text(FILE *out, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '-' || *text == '\\') fputc('\\', out);
    fputc(*text, out);
  }
}

void options_man(FILE *out) {
  fprintf(out, ".TH NVMINI 1 \"\" \"nvmini %s\"\n.SH NAME\nnvmini \\- NVVM IR to PTX compiler\n",
          nvmini_version());
  fputs(
      ".SH SYNOPSIS\n.B nvmini\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n"
      ".SH COMMANDS\n",
      out);
  for (int c = 0; c < COMMAND_COUNT; c++) {
    fprintf(out, ".SS %s ", commands[c].name);
    roff_text(out, commands[c].operands);
    fputs("\n", out);
    roff_text(out, commands[c].help);
    fputs(".\n", out);
    for (int i = 0; i < OPTION_COUNT; i++) {
      const struct option_row *row = &options[i].row;
      if (!takes((enum command)c, i)) continue;
      fputs(".TP\n.B ", out);
      roff_text(out, row->name);
      fputs(" ", out);
      roff_text(out, row->value);
      fputs("\n", out);
      roff_text(out, row->help);
      if (row->initial[0] != '\0') {
        fputs(" (default: ", out);
        roff_text(out, row->initial);
        fputs(")", out);
      }
      fputs("\n", out);
    }
  }
  fputs(
      ".SH FILES\nA \\fIFILE\\fR of \\fB\\-\\fR is standard input or output.\n"
      ".SH EXIT STATUS\n" EXIT_STATUSES
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty, disables colours in diagnostics.\n",
      out);
}

void options_bash_completion(FILE *out) {
  fputs(
      "# bash completion for nvmini\n_nvmini() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
      "  case $before in\n",
      out);
  for (int i = 0; i < OPTION_COUNT; i++) {
    const char *value = options[i].row.value;
    if (strchr(value, '|') == NULL) continue;
    fprintf(out, "    %s) list='", options[i].row.name);
    for (; *value != '\0'; value++) fputc(*value == '|' ? ' ' : *value, out);
    fputs("' ;;\n", out);
  }
  fputs(
      "    --cpu|targets) list=$(nvmini targets 2>/dev/null | sed -n "
      "'s/^\\(sm_[0-9a-z]*\\).*/\\1/p') ;;\n"
      "    nvmini|help) list='",
      out);
  for (int c = 0; c < COMMAND_COUNT; c++) fprintf(out, "%s%s", c == 0 ? "" : " ", commands[c].name);
  fputs("' ;;\n  esac\n  if [[ -z $list && $word == -* ]]; then\n    case ${COMP_WORDS[1]} in\n",
        out);
  for (int c = 0; c < COMMAND_COUNT; c++) {
    fprintf(out, "      %s) list='", commands[c].name);
    for (int i = 0; i < OPTION_COUNT; i++)
      if (takes((enum command)c, i)) fprintf(out, "%s ", options[i].row.name);
    fputs("' ;;\n", out);
  }
  fputs(
      "    esac\n  fi\n"
      "  if [[ -n $list ]]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\ncomplete -F _nvmini nvmini\n",
      out);
}
