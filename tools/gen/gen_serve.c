/* The page and the samples of `nvmini serve` as C arrays: `gen_serve PAGE SAMPLE... OUTDIR` writes
 * OUTDIR/serve.inc: serve_page, and serve_samples with a name, a NUL, a text and a NUL for each. */
#include "tools/gen/gen_table.h"

#include <string.h>

static struct gen_text page, samples;

static void write_arrays(FILE *out) {
  gen_write_array(out, "serve_page", &page);
  gen_write_array(out, "serve_samples", &samples);
}

int main(int argc, char **argv) {
  if (argc < 3) gen_fail("usage: gen_serve PAGE SAMPLE... OUTDIR");
  char *text = gen_read_file(argv[1]);
  gen_add_bytes(&page, text, strlen(text) + 1);
  for (int k = 2; k < argc - 1; k++) {
    const char *slash = strrchr(argv[k], '/'), *name = slash ? slash + 1 : argv[k];
    text = gen_read_file(argv[k]);
    gen_add_bytes(&samples, name, strcspn(name, "."));
    gen_add_bytes(&samples, "", 1);
    gen_add_bytes(&samples, text, strlen(text) + 1);
  }
  gen_add_bytes(&samples, "", 1); /* an empty name ends them */
  static const struct generator generator = {.files = {{"serve.inc", write_arrays}}};
  return gen_write_files(argv[argc - 1], &generator);
}
