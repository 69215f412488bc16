/* Help and man page from the tables of options. */
#include "driver/options.h"

#include <string.h>

#include "support/options.h"

enum { LONGEST_LIST = 255 };

/* The other spellings of an option, libNVVM's, then LLVM's: "also -arch=compute_NN, -mcpu". */
static void list_spellings(const struct option_row *row, char list[LONGEST_LIST + 1]) {
  size_t length = 0, size = LONGEST_LIST + 1;
  list[0] = '\0';
  if (strcmp(row->nvvm, row->name) != 0 && row->nvvm[0] != '\0')
    length = (size_t)snprintf(list, size, "also %s", row->nvvm);
  for (const char *at = row->llvm; *at && length < size; at += strcspn(at, "|"), at += *at == '|')
    length += (size_t)snprintf(list + length, size - length, "%s%.*s", length ? ", " : "also ",
                               (int)strcspn(at, "|"), at);
}

static void option_help(FILE *out, const struct option_row *row) {
  char syntax[LONGEST_LIST + 1], spellings[LONGEST_LIST + 1];
  bool separate = option_needs_value(row);
  snprintf(syntax, sizeof syntax, "%s%s%s", row->name, separate ? " " : "", row->value);
  fprintf(out, "  %-26s%s%s", syntax, strlen(syntax) > 26 ? "\n                             " : " ",
          row->help);
  if (row->initial[0] != '\0') fprintf(out, " (default: %s)", row->initial);
  list_spellings(row, spellings);
  fprintf(out, spellings[0] ? "\n                             %s\n" : "%s\n", spellings);
}

static void command_help(FILE *out, enum command c) {
  const char *operands = command_row(c)->operands, *heading = "\nCompiler options:\n";
  fprintf(out, "nvmini %s [OPTION...]%s%s\n\n  %s\n\nOptions:\n", command_row(c)->name,
          operands[0] == '\0' ? "" : " ", operands, command_row(c)->help);
  for (int i = 0; i < OPTION_COUNT; i++) {
    if (!options_takes(c, (enum option_id)i)) continue;
    if (i > OPTION_LAST_OF_COMMAND) fputs(heading, out), heading = "";
    option_help(out, options_row((enum option_id)i));
  }
  if (strncmp(operands, "FILE", 4) == 0)
    fputs("\nFILE may be - for standard input; @FILE: more words from FILE.\n", out);
  fputs("A value follows after a blank or =. One dash is enough for a long option.\n", out);
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
    snprintf(syntax, sizeof syntax, "%s %s", command_row((enum command)i)->name,
             command_row((enum command)i)->operands);
    fprintf(out, "  %-22s %s\n", syntax, command_row((enum command)i)->help);
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
  char spellings[LONGEST_LIST + 1];
  fprintf(out, ".TH NVMINI 1 \"\" \"nvmini %s\"\n.SH NAME\nnvmini \\- NVVM IR to PTX compiler\n",
          nvmini_version());
  fputs(
      ".SH SYNOPSIS\n.B nvmini\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n"
      ".SH COMMANDS\n",
      out);
  for (int c = 0; c < COMMAND_COUNT; c++) {
    fprintf(out, ".SS %s ", command_row(c)->name);
    roff_text(out, command_row(c)->operands);
    fputs("\n", out);
    roff_text(out, command_row(c)->help);
    fputs(".\n", out);
    for (int i = 0; i < OPTION_COUNT; i++) {
      const struct option_row *row = options_row((enum option_id)i);
      if (!options_takes((enum command)c, (enum option_id)i)) continue;
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
      list_spellings(row, spellings);
      if (spellings[0] != '\0') fputs("; ", out), roff_text(out, spellings);
      fputs("\n", out);
    }
  }
  fputs(
      ".SH FILES\nA \\fIFILE\\fR of \\fB\\-\\fR is standard input or output. "
      "Without a \\fIFILE\\fR, standard input is read if it is a file or a pipe.\n"
      "\\fB@\\fIFILE\\fR is replaced by the words in \\fIFILE\\fR.\n"
      ".SH EXIT STATUS\n" EXIT_STATUSES
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nIf set and not empty, disables colours in diagnostics.\n",
      out);
}
