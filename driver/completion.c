/* Completion scripts for bash, zsh and fish from the tables of options. They complete commands,
 * options, words that a table lists, files, and names that the command itself prints: CPUs, knobs,
 * passes, instructions, diagnostics. */
#include "driver/options.h"

#include <string.h>

#include "support/options.h"

/* The names that a VALUE or an operand stands for, and a shell command that prints them. */
static const struct source {
  const char *value, *operand, *function, *command;
} sources[] = {
    {"CPU", "[CPU]", "_nvmini_cpus",
     "nvmini targets 2>/dev/null | sed -n \"s/^\\(sm_[0-9a-z]*\\).*/\\1/p\"; echo native"},
    {"NAME=VALUE", "", "_nvmini_knob_values", "nvmini knobs 2>/dev/null | sed \"s/ .*/=/\""},
    {"", "[NAME]", "_nvmini_knobs", "nvmini knobs 2>/dev/null | sed \"s/ .*//\""},
    {"PASS", "[PASS]", "_nvmini_passes", "nvmini passes 2>/dev/null | sed \"s/ .*//\""},
    {"", "[OP]", "_nvmini_ops", "nvmini ops 2>/dev/null | sed \"s/ .*//\""},
    {"", "[ID]", "_nvmini_diagnostics", "nvmini diagnostics 2>/dev/null | sed \"s/ .*//\""},
    {"", "[COMMAND]", "_nvmini_commands",
     "nvmini help 2>/dev/null | sed -n \"s/^  \\([a-z]*\\) .*/\\1/p\""},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static const struct source *source_of_value(const char *value) {
  for (int k = 0; k < SOURCES; k++)
    if (value[0] != '\0' && strcmp(sources[k].value, value) == 0) return &sources[k];
  return NULL;
}

static const struct source *source_of_operand(const char *operand) {
  for (int k = 0; k < SOURCES; k++)
    if (operand[0] != '\0' && strcmp(sources[k].operand, operand) == 0) return &sources[k];
  return NULL;
}

static bool is_list(const char *value) { return strchr(value, '|') != NULL; }
static bool is_file(const char *value) { return strncmp(value, "FILE", 4) == 0; }

/* "a|b|c" as "a b c". */
static void put_list(FILE *out, const char *value) {
  for (; *value != '\0'; value++) fputc(*value == '|' ? ' ' : *value, out);
}

/* The text, inside '...', with a backslash before each byte of `special`; ' as `quote`. */
static void put_text(FILE *out, const char *text, const char *special, const char *quote) {
  for (; *text != '\0'; text++) {
    if (*text == '\'') {
      fputs(quote, out);
      continue;
    }
    if (strchr(special, *text) != NULL) fputc('\\', out);
    fputc(*text, out);
  }
}

/* ---- bash ---- */

/* "compile:--emit|run:--emit": the commands that take the option, followed by its name. */
static void put_pattern(FILE *out, enum option_id id) {
  const char *separator = "";
  for (int c = 0; c < COMMAND_COUNT; c++) {
    if (!options_takes((enum command)c, id)) continue;
    fprintf(out, "%s%s:%s", separator, command_row((enum command)c)->name, options_row(id)->name);
    separator = "|";
  }
}

static void bash_values(FILE *out) {
  for (int i = 0; i < OPTION_COUNT; i++) {
    const char *value = options_row((enum option_id)i)->value;
    const struct source *source = source_of_value(value);
    if (!is_list(value) && source == NULL) continue;
    fputs("    ", out);
    put_pattern(out, (enum option_id)i);
    if (source != NULL) fprintf(out, ") list=$(%s) ;;\n", source->function);
    else fputs(") list='", out), put_list(out, value), fputs("' ;;\n", out);
  }
  for (int c = 0; c < COMMAND_COUNT; c++) {
    const char *name = command_row((enum command)c)->name;
    const struct source *source = source_of_operand(command_row((enum command)c)->operands);
    if (source != NULL) fprintf(out, "    %s:%s) list=$(%s) ;;\n", name, name, source->function);
  }
}

static void bash_options(FILE *out) {
  for (int c = 0; c < COMMAND_COUNT; c++) {
    fprintf(out, "      %s) list='", command_row((enum command)c)->name);
    for (int i = 0; i < OPTION_COUNT; i++)
      if (options_takes((enum command)c, (enum option_id)i))
        fprintf(out, "%s ", options_row((enum option_id)i)->name);
    fputs("' ;;\n", out);
  }
}

/* The functions that print names, in the language that all three shells' completions call. */
static void put_functions(FILE *out) {
  for (int k = 0; k < SOURCES; k++)
    fprintf(out, "%s() { %s; }\n", sources[k].function, sources[k].command);
}

void options_bash_completion(FILE *out) {
  fputs("# bash completion for nvmini\n", out);
  put_functions(out);
  fputs(
      "_nvmini() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
      "  case ${COMP_WORDS[1]}:$before in\n",
      out);
  bash_values(out);
  fputs(
      "    *) if [[ $COMP_CWORD == 1 ]]; then list=$(_nvmini_commands); fi ;;\n  esac\n"
      "  if [[ -z $list && $word == -* ]]; then\n    case ${COMP_WORDS[1]} in\n",
      out);
  bash_options(out);
  fputs(
      "    esac\n  fi\n"
      "  if [[ -n $list ]]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\ncomplete -F _nvmini nvmini\n",
      out);
}

/* ---- zsh ---- */

#define ZSH_QUOTE "'\\''"

static void zsh_action(FILE *out, const char *value, const struct source *source) {
  bool unfinished = strchr(value, '=') != NULL; /* NAME=: no blank after it */
  if (source != NULL)
    fprintf(out, "{compadd %s-- $(%s)}", unfinished ? "-S \"\" " : "", source->function);
  else if (is_file(value)) fputs("_files", out);
  else if (is_list(value)) fputs("(", out), put_list(out, value), fputs(")", out);
  else fputs(" ", out);
}

/* '*--cpu=[help]:CPU:ACTION', as _arguments reads it. */
static void zsh_option(FILE *out, const struct option_row *row) {
  bool optional = row->value[0] == '[', letter = strlen(row->name) == 2;
  const char *name = optional ? row->value + 2 : is_list(row->value) ? "value" : row->value;
  fprintf(out, "        '*%s", row->name);
  if (option_needs_value(row)) fputs(letter ? "+" : "=", out);
  if (optional) fputs("=-", out);
  fputs("[", out);
  put_text(out, row->help, "[]:\\", ZSH_QUOTE);
  fputs("]", out);
  if (row->value[0] != '\0') {
    fprintf(out, "%s%.*s:", optional ? "::" : ":", (int)strcspn(name, "]"), name);
    zsh_action(out, row->value, source_of_value(row->value));
  }
  fputs("' \\\n", out);
}

static void zsh_command(FILE *out, enum command c) {
  const char *operands = command_row(c)->operands;
  const struct source *source = source_of_operand(operands);
  fprintf(out, "    %s)\n      _arguments \\\n", command_row(c)->name);
  for (int i = 0; i < OPTION_COUNT; i++)
    if (options_takes(c, (enum option_id)i)) zsh_option(out, options_row((enum option_id)i));
  if (operands[0] == '\0') {
    fputs("        && return ;;\n", out);
    return;
  }
  fprintf(out, "        '%s:operand:", command_row(c)->max > 1 ? "*" : "1");
  zsh_action(out, operands, source);
  fputs("' && return ;;\n", out);
}

void options_zsh_completion(FILE *out) {
  fputs("#compdef nvmini\n", out);
  put_functions(out);
  fputs("_nvmini() {\n  local -a commands\n  commands=(\n", out);
  for (int c = 0; c < COMMAND_COUNT; c++) {
    fprintf(out, "    '%s:", command_row((enum command)c)->name);
    put_text(out, command_row((enum command)c)->help, "\\", ZSH_QUOTE);
    fputs("'\n", out);
  }
  fputs(
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n",
      out);
  for (int c = 0; c < COMMAND_COUNT; c++) zsh_command(out, (enum command)c);
  fputs(
      "  esac\n}\nif [ \"$funcstack[1]\" = _nvmini ]; then _nvmini \"$@\"; "
      "else compdef _nvmini nvmini; fi\n",
      out);
}

/* ---- fish ---- */

#define FISH_QUOTE "\\'"

static void fish_values(FILE *out, const char *value, const struct source *source) {
  if (source != NULL) {
    fputs(" -x -a '(", out);
    put_text(out, source->command, "\\", FISH_QUOTE);
    fputs(")'", out);
  } else if (is_list(value)) {
    fputs(" -x -a '", out);
    put_list(out, value);
    fputs("'", out);
  } else {
    fputs(is_file(value) ? " -r -F" : " -x", out);
  }
}

static void fish_option(FILE *out, enum command c, const struct option_row *row) {
  bool is_long = strncmp(row->name, "--", 2) == 0, letter = strlen(row->name) == 2;
  fprintf(out, "complete -c nvmini -n '__fish_seen_subcommand_from %s' %s %s -d '",
          command_row(c)->name,
          is_long  ? "-l"
          : letter ? "-s"
                   : "-o",
          row->name + 1 + is_long);
  put_text(out, row->help, "\\", FISH_QUOTE);
  fputs("'", out);
  if (option_needs_value(row)) fish_values(out, row->value, source_of_value(row->value));
  fputs("\n", out);
}

void options_fish_completion(FILE *out) {
  fputs("# fish completion for nvmini\ncomplete -c nvmini -f\n", out);
  for (int c = 0; c < COMMAND_COUNT; c++) {
    const struct command_row *row = command_row((enum command)c);
    const struct source *source = source_of_operand(row->operands);
    fprintf(out, "complete -c nvmini -n __fish_use_subcommand -a %s -d '", row->name);
    put_text(out, row->help, "\\", FISH_QUOTE);
    fputs("'\n", out);
    if (source != NULL || is_file(row->operands)) {
      fprintf(out, "complete -c nvmini -n '__fish_seen_subcommand_from %s'", row->name);
      if (source == NULL) fputs(" -F", out);
      else fish_values(out, "", source);
      fputs("\n", out);
    }
    for (int i = 0; i < OPTION_COUNT; i++)
      if (options_takes((enum command)c, (enum option_id)i))
        fish_option(out, (enum command)c, options_row((enum option_id)i));
  }
}
