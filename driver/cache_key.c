/* `compile --print-cache-key`; docs/caching.md states what the key promises.
 *
 * The key is the SHA-256 of pieces, each with its length: the version, the sources that the
 * compiler was built from (build/gen/identity.h), the options in order, --link's files by their
 * content, the input. An option counts unless is_ignored() names it, so that a new option counts
 * without being mentioned here. */
#include "driver/cache_key.h"

#include <string.h>

#include "driver/commands.h"
#include "driver/sha256.h"
#include "identity.h"

/* Options that change neither the output nor the exit status. */
static bool is_ignored(enum option_id id) {
  return id == OPTION_OUTPUT || id == OPTION_TEXT || id == OPTION_QUIET ||
         id == OPTION_PRINT_CACHE_KEY;
}

static void add_text(struct sha256 *s, const char *text) {
  sha256_add_piece(s, text, strlen(text));
}

static bool add_file(struct sha256 *s, const char *path) {
  struct file_bytes file;
  struct file_error error;
  if (!files_read(path, &file, &error)) {
    struct render render = render_start(false);
    jobs_file_failed(&render, strcmp(path, "-") == 0 ? "<stdin>" : path, error);
    return false;
  }
  sha256_add_piece(s, file.bytes, file.length);
  files_free(&file);
  return true;
}

/* Every occurrence counts, in order: later ones can add to earlier ones (--knob) or undo them (-W,
 * --device-c). */
static bool add_options(struct sha256 *s, const struct options *o) {
  for (const struct option_given *g = o->given; g < o->given + o->given_count; g++) {
    if (is_ignored(g->id)) continue;
    add_text(s, g->libnvvm ? g->libnvvm : options_name(g->id));
    if (g->id != OPTION_LINK) add_text(s, g->value);
    else if (!add_file(s, g->value)) return false;
  }
  return true;
}

/* Remarks contain the input's name if it has no debug locations; IR its source_filename, of which
 * a knob makes symbols. */
static bool is_name_in_output(const struct options *o) {
  return o->values[OPTION_REMARKS_FILE] != NULL || o->values[OPTION_KNOB] != NULL ||
         strcmp(options_value(o, OPTION_EMIT), "ptx") != 0;
}

static bool print_key(const struct sha256 *common, const struct options *o, const char *path) {
  char digits[SHA256_DIGITS + 1];
  struct sha256 s = *common;
  add_text(&s, is_name_in_output(o) ? path : "");
  if (!add_file(&s, path)) return false;
  sha256_finish(&s, digits);
  puts(digits);
  return true;
}

int cache_key_print(const struct options *o) {
  struct sha256 s = sha256_start();
  int status = jobs_check_options(o);
  if (status != EXIT_DONE) return status;
  add_text(&s, nvmini_version());
  add_text(&s, NVMINI_IDENTITY);
  if (!add_options(&s, o)) return EXIT_REFUSED;
  for (int i = 0; i < o->operand_count; i++)
    if (!print_key(&s, o, o->operands[i])) status = EXIT_REFUSED;
  return status;
}
