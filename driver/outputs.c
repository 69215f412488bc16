/* Names of outputs in a folder; see outputs.h. */
#include "driver/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static bool ends_in_slash(const char *path) {
  size_t length = strlen(path);
  return length > 0 && path[length - 1] == '/';
}

bool outputs_is_folder(const struct options *o) {
  const char *to = o->values[OPTION_OUTPUT];
  return o->operand_count > 1 || (to != NULL && (ends_in_slash(to) || is_folder(to)));
}

static const char *extension(const struct options *o) {
  static const struct {
    const char *emit, *extension;
  } kinds[] = {{"ptx", ".ptx"},       {"cfg", ".dot"},      {"vplan", ".vplan"},
               {"vplan-dot", ".dot"}, {"remarks", ".yaml"}, {"ir", ".ll"}};
  enum { LAST = sizeof kinds / sizeof *kinds - 1 }; /* also for analyses, which are comments */
  const char *emit = options_value(o, OPTION_EMIT), *remarks = o->values[OPTION_REMARKS_FILE];
  size_t k = 0;
  if (remarks != NULL && strcmp(emit, "remarks") == 0) /* of the same form */
    return strrchr(remarks, '.') != NULL ? strrchr(remarks, '.') : ".txt";
  while (k < LAST && strcmp(kinds[k].emit, emit) != 0) k++;
  return kinds[k].extension;
}

/* The last part of the path without .ll or .nvir, `*length` bytes. */
static const char *stem(const char *input, size_t *length) {
  const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
  if (strcmp(input, "-") == 0) name = "stdin";
  const char *dot = strrchr(name, '.');
  bool known = dot != NULL && dot != name && (strcmp(dot, ".ll") == 0 || strcmp(dot, ".nvir") == 0);
  *length = known ? (size_t)(dot - name) : strlen(name);
  return name;
}

static bool same_stem(const char *a, const char *b) {
  size_t a_length, b_length;
  a = stem(a, &a_length);
  b = stem(b, &b_length);
  return a_length == b_length && memcmp(a, b, a_length) == 0;
}

int outputs_check(const struct options *o) {
  const char *to = o->values[OPTION_OUTPUT];
  struct stat facts;
  if (!outputs_is_folder(o)) return EXIT_DONE;
  if (to == NULL || strcmp(to, "-") == 0) {
    fputs("nvmini: error: several inputs need an output folder: -o FOLDER\n", stderr);
    return EXIT_USAGE;
  }
  if (stat(to, &facts) == 0 && !S_ISDIR(facts.st_mode)) {
    fprintf(stderr, "nvmini: error: several inputs need an output folder; '%s' is a file\n", to);
    return EXIT_USAGE;
  }
  for (int i = 0; i < o->operand_count; i++)
    for (int k = 0; k < i; k++)
      if (same_stem(o->operands[i], o->operands[k])) {
        fprintf(stderr, "nvmini: error: '%s' and '%s' would have the same output\n", o->operands[k],
                o->operands[i]);
        return EXIT_USAGE;
      }
  return EXIT_DONE;
}

char *outputs_path(const struct options *o, const char *input) {
  const char *to = o->values[OPTION_OUTPUT], *end = extension(o);
  size_t length, size;
  const char *name = stem(input, &length);
  size = strlen(to) + length + strlen(end) + sizeof "/";
  char *path = malloc(size);
  if (path != NULL)
    snprintf(path, size, "%s%s%.*s%s", to, ends_in_slash(to) ? "" : "/", (int)length, name, end);
  return path;
}

bool outputs_make_folder(const struct options *o) {
  const char *to = o->values[OPTION_OUTPUT];
  return mkdir(to, 0777) == 0 || (errno == EEXIST && is_folder(to));
}
