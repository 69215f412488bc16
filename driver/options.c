/* Reads the command line by the table options.def, and prints what else is made from it. */
#include "driver/options.h"

#include "support/nearest.h"

#include <stdlib.h>
#include <string.h>

#include "nvmini.h"

enum {
#define COMMAND(id, name, operands, least, most, help) IN_##id = 1 << COMMAND_##id,
#define OPTION(id, commands, name, value, kind, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
  IN_ALL = (1 << COMMAND_COUNT) - 1,
};

enum option_kind { OPTION_DRIVER, OPTION_LIBRARY };

struct command_row {
  const char *name, *operands;
  int least, most;
  const char *help;
};

struct option_row {
  int commands;
  const char *name, *value;
  enum option_kind kind;
  const char *help;
};

static const struct command_row commands[COMMAND_COUNT] = {
#define COMMAND(id, name, operands, least, most, help) {name, operands, least, most, help},
#define OPTION(id, commands, name, value, kind, help)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
};

static const struct option_row options[OPTION_COUNT] = {
#define COMMAND(id, name, operands, least, most, help)
#define OPTION(id, commands, name, value, kind, help) {commands, name, value, kind, help},
#include "driver/options.def"
#undef COMMAND
#undef OPTION
};

enum command command_find(const char *name) {
  int c = 0;
  while (c < COMMAND_COUNT && strcmp(commands[c].name, name) != 0) c++;
  return (enum command)c;
}

/* ---- Spelling suggestions ---- */

enum { LONGEST_WORD = 63 };

/* Ends an error line with the names nearest to `word`, if any is near. */
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

/* Ends a usage message: where to look. */
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
  fprintf(stderr, "nvmini: error: there is no command '%s'", word);
  if (file) fprintf(stderr, "; did you mean `nvmini compile %s`?\n", word);
  else suggest(word, names, COMMAND_COUNT);
  return see_help("");
}

/* Options of other compilers, and what they are here. */
static const struct {
  const char *theirs, *ours;
} other_spellings[] = {
    {"-opt", "-O0 to -O3"},  {"-arch", "--cpu"},          {"-march", "--cpu"},
    {"-mcpu", "--cpu"},      {"-mattr", "--features"},    {"-ftz", "--ftz"},
    {"-fma", "--fma-level"}, {"-prec-div", "--prec-div"}, {"-prec-sqrt", "--prec-sqrt"}};

static int unknown_option(enum command c, const char *word) {
  char name[LONGEST_WORD + 1];
  size_t length = strcspn(word, "=");
  snprintf(name, sizeof name, "%.*s", (int)(length < LONGEST_WORD ? length : LONGEST_WORD), word);
  for (size_t i = 0; i < sizeof other_spellings / sizeof *other_spellings; i++)
    if ((options[OPTION_CPU].commands >> c & 1) && strcmp(name, other_spellings[i].theirs) == 0) {
      fprintf(stderr, "nvmini: error: `%s` has no option '%s'; use %s\n", commands[c].name, name,
              other_spellings[i].ours);
      return see_help(commands[c].name);
    }
  const char *names[OPTION_COUNT];
  size_t count = 0;
  for (int i = 0; i < OPTION_COUNT; i++)
    if (options[i].commands >> c & 1) names[count++] = options[i].name;
  char what[LONGEST_WORD + 1];
  snprintf(what, sizeof what, "`%s` has no option", commands[c].name);
  options_unknown(what, name, names, count);
  return see_help(commands[c].name);
}

/* The option that `word` gives to command c; *value gets what follows `=` (or -o), else NULL. */
static int find_option(enum command c, const char *word, const char **value) {
  for (int i = 0; i < OPTION_COUNT; i++) {
    const struct option_row *o = &options[i];
    size_t length = strlen(o->name);
    if (!(o->commands >> c & 1) || strncmp(word, o->name, length) != 0) continue;
    const char *rest = word + length;
    bool is_short = length == 2 && o->value[0] != '\0';
    /* -opt=3 is libNVVM's, not the file pt=3 */
    bool is_glued = is_short && *rest != '\0' && !(i == OPTION_OUTPUT && strchr(rest, '=') != NULL);
    *value = *rest == '=' ? rest + 1 : is_glued ? rest : NULL;
    if (*rest == '\0' || *value != NULL) return i;
  }
  return OPTION_COUNT;
}

/* Whether `value` is one of the words in "a|b|c"; true if there is no such list. */
static bool is_listed(const char *list, const char *value) {
  if (strchr(list, '|') == NULL) return true;
  size_t length = strlen(value);
  for (const char *word = list; length > 0; word++) {
    size_t n = strcspn(word, "|");
    if (n == length && strncmp(word, value, n) == 0) return true;
    word += n;
    if (*word == '\0') break;
  }
  return false;
}

/* Takes option number i; `value` was given with it or is NULL. Advances *at past a separate one. */
void options_set(struct options *o, enum option_id id, const char *value) {
  if (id >= OPTION_O0 && id <= OPTION_OFC)
    for (int level = OPTION_O0; level <= OPTION_OFC; level++) o->values[level] = NULL;
  o->values[id] = value;
}

static int take_option(struct options *o, int i, const char *value, int argc, char **argv,
                       int *at) {
  const struct option_row *row = &options[i];
  const char *command = commands[o->command].name;
  if (row->value[0] == '\0' && value != NULL) {
    fprintf(stderr, "nvmini: error: option '%s' takes no value\n", row->name);
    return see_help(command);
  }
  if (row->value[0] != '\0' && row->value[0] != '[' && value == NULL) {
    if (*at + 1 >= argc) {
      fprintf(stderr, "nvmini: error: option '%s' needs a value: %s\n", row->name, row->value);
      return see_help(command);
    }
    value = argv[++*at];
  }
  if (value != NULL && !is_listed(row->value, value)) {
    fprintf(stderr, "nvmini: error: option '%s': '%s' is not one of %s\n", row->name, value,
            row->value);
    return see_help(command);
  }
  options_set(o, (enum option_id)i, value == NULL ? "" : value);
  if (o->given_count == OPTIONS_MOST_GIVEN) {
    fprintf(stderr, "nvmini: error: more than %d options\n", (int)OPTIONS_MOST_GIVEN);
    return EXIT_USAGE;
  }
  o->given[o->given_count++] = (struct option_given){(enum option_id)i, o->values[i]};
  return EXIT_DONE;
}

static int check_operands(const struct options *o) {
  const struct command_row *c = &commands[o->command];
  if (o->values[OPTION_HELP] != NULL) return EXIT_DONE;
  if (o->operand_count < c->least) {
    fprintf(stderr, "nvmini: error: `%s` needs an operand: %s\n", c->name, c->operands);
    return see_help(c->name);
  }
  if (o->operand_count > c->most) {
    fprintf(stderr, "nvmini: error: `%s` takes no more than %d operand%s; '%s' is too many\n",
            c->name, c->most, c->most == 1 ? "" : "s", o->operands[c->most]);
    return see_help(c->name);
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

enum nvmini_status options_set_library(const struct options *o, enum option_id id,
                                       struct nvmini_context *context) {
  const struct option_row *row = &options[id];
  const char *value = o->values[id];
  if (row->kind != OPTION_LIBRARY || value == NULL) return NVMINI_OK;
  bool alone = row->value[0] == '\0' || (row->value[0] == '[' && *value == '\0');
  size_t size = strlen(row->name) + strlen(value) + sizeof "=";
  char *text = malloc(size);
  if (text == NULL) return NVMINI_OUT_OF_MEMORY;
  snprintf(text, size, "%s%s%s", row->name, alone ? "" : "=", value);
  enum nvmini_status status = nvmini_set_option(context, text);
  free(text);
  return status;
}

bool options_number(const char **text, uint64_t most, uint64_t *number) {
  const char *digits = *text;
  *number = 0;
  for (; **text >= '0' && **text <= '9'; ++*text) {
    uint64_t digit = (uint64_t)(**text - '0');
    if (digit > most || *number > (most - digit) / 10) return false;
    *number = *number * 10 + digit;
  }
  return *text != digits;
}

/* ---- Help ---- */

static void option_syntax(char *text, size_t size, const struct option_row *o) {
  const char *space = o->value[0] == '\0' || o->value[0] == '[' ? "" : " ";
  snprintf(text, size, "%s%s%s", o->name, space, o->value);
}

static void command_help(FILE *out, enum command c) {
  const struct command_row *row = &commands[c];
  fprintf(out, "nvmini %s [OPTION...]%s%s\n\n  %s\n\nOptions:\n", row->name,
          row->operands[0] == '\0' ? "" : " ", row->operands, row->help);
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!(options[i].commands >> c & 1)) continue;
    char syntax[64];
    option_syntax(syntax, sizeof syntax, &options[i]);
    fprintf(out, "  %-26s %s\n", syntax, options[i].help);
  }
  if (strncmp(row->operands, "FILE", 4) == 0) fputs("\nA FILE of - is standard input.\n", out);
}

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
  fputs(
      "\n`nvmini COMMAND --help` shows its options.\n"
      "Exit status: 0 done, 1 the input was refused, 2 wrong usage, 70 internal fault.\n",
      out);
}

/* Text for roff: a backslash before what it would interpret. */
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
      if (!(options[i].commands >> c & 1)) continue;
      fputs(".TP\n.B ", out);
      roff_text(out, options[i].name);
      fputs(" ", out);
      roff_text(out, options[i].value);
      fputs("\n", out);
      roff_text(out, options[i].help);
      fputs("\n", out);
    }
  }
  fputs(
      ".SH FILES\nA \\fIFILE\\fR of \\fB\\-\\fR is standard input or output.\n"
      ".SH EXIT STATUS\n0 done, 1 the input was refused, 2 wrong usage, 70 internal fault.\n"
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty, diagnostics have no colour.\n",
      out);
}

void options_bash_completion(FILE *out) {
  fputs(
      "# bash completion for nvmini\n_nvmini() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
      "  case $before in\n",
      out);
  for (int i = 0; i < OPTION_COUNT; i++) {
    const char *value = options[i].value;
    if (strchr(value, '|') == NULL) continue;
    fprintf(out, "    %s) list='", options[i].name);
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
      if (options[i].commands >> c & 1) fprintf(out, "%s ", options[i].name);
    fputs("' ;;\n", out);
  }
  fputs(
      "    esac\n  fi\n"
      "  if [[ -n $list ]]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\ncomplete -F _nvmini nvmini\n",
      out);
}
