/* Completion scripts of shells from the tables of options. */
#include "driver/options.h"

#include <string.h>

#include "support/options.h"

void options_bash_completion(FILE *out) {
  fputs(
      "# bash completion for nvmini\n_nvmini() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
      "  case $before in\n",
      out);
  for (int i = 0; i < OPTION_COUNT; i++) {
    const char *value = options_row((enum option_id)i)->value;
    if (strchr(value, '|') == NULL) continue;
    fprintf(out, "    %s) list='", options_row((enum option_id)i)->name);
    for (; *value != '\0'; value++) fputc(*value == '|' ? ' ' : *value, out);
    fputs("' ;;\n", out);
  }
  fputs(
      "    --cpu|targets) list=$(nvmini targets 2>/dev/null | sed -n "
      "'s/^\\(sm_[0-9a-z]*\\).*/\\1/p') ;;\n"
      "    nvmini|help) list='",
      out);
  for (int c = 0; c < COMMAND_COUNT; c++)
    fprintf(out, "%s%s", c == 0 ? "" : " ", command_row(c)->name);
  fputs("' ;;\n  esac\n  if [[ -z $list && $word == -* ]]; then\n    case ${COMP_WORDS[1]} in\n",
        out);
  for (int c = 0; c < COMMAND_COUNT; c++) {
    fprintf(out, "      %s) list='", command_row(c)->name);
    for (int i = 0; i < OPTION_COUNT; i++)
      if (options_takes((enum command)c, (enum option_id)i))
        fprintf(out, "%s ", options_row((enum option_id)i)->name);
    fputs("' ;;\n", out);
  }
  fputs(
      "    esac\n  fi\n"
      "  if [[ -n $list ]]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\ncomplete -F _nvmini nvmini\n",
      out);
}
