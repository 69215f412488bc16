/* gen_identity: the sum of the compiler's sources. Run at build: gen_identity FILE... > identity.h
 *
 * The output of a compilation depends on sources, options and input alone, not on the C compiler
 * that built nvmini or the machine (docs/caching.md). So NVMINI_IDENTITY is the SHA-256 of names
 * and contents, and two builds of the same sources have the same cache keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/sha256.c"

/* Adds the whole file as one piece. False: it cannot be read. */
static int add_file(struct sha256 *all, const char *path) {
  char buffer[1 << 14], digits[SHA256_DIGITS + 1];
  struct sha256 one = sha256_start();
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) sha256_add(&one, buffer, n);
  int good = !ferror(f);
  fclose(f);
  sha256_finish(&one, digits);
  sha256_add_piece(all, path, strlen(path));
  sha256_add_piece(all, digits, SHA256_DIGITS);
  return good;
}

int main(int argc, char **argv) {
  char digits[SHA256_DIGITS + 1];
  struct sha256 all = sha256_start();
  for (int i = 1; i < argc; i++)
    if (!add_file(&all, argv[i])) {
      fprintf(stderr, "gen_identity: cannot read %s\n", argv[i]);
      return EXIT_FAILURE;
    }
  sha256_finish(&all, digits);
  printf("#define NVMINI_IDENTITY \"%s\"\n", digits);
  return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
