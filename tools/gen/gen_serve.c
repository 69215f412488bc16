/* The page and the samples of `nvmini serve` as C arrays: `gen_serve PAGE SAMPLE... OUTDIR` writes
 * OUTDIR/serve_page.inc and OUTDIR/serve_samples.inc, with a name, a NUL, a text and a NUL for each
 * sample. */
#include "tools/gen/gen_table.h"

#include <string.h>

static struct gen_text page, samples;

static void write_page(FILE *out) { gen_write_array(out, "serve_page", &page); }

static void write_samples(FILE *out) { gen_write_array(out, "serve_samples", &samples); }

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
  static const struct generator generator = {
      .files = {{"serve_page.inc", write_page}, {"serve_samples.inc", write_samples}}};
  return gen_write_files(argv[argc - 1], &generator);
}
