/* The page of `nvmini explain` as two C arrays: `gen_explain PAGE STYLE SCRIPT... OUTDIR` writes
 * OUTDIR/explain_page.inc, with what precedes and what follows the data. PAGE has three marks, in
 * this order, which are replaced: by STYLE, by the data, and by the scripts. */
#include "tools/gen/gen_table.h"

#include <stdlib.h>
#include <string.h>

static const char style_mark[] = "/*STYLE*/", data_mark[] = "/*DATA*/",
                  script_mark[] = "/*SCRIPT*/";

static char *find(const char *page, const char *mark, const char *path) {
  char *at = strstr(page, mark);
  if (!at) gen_fail("%s: mark %s not found", path, mark);
  return at;
}

static struct gen_text head, tail;

static void write_page(FILE *out) {
  gen_write_array(out, "explain_page_head", &head);
  gen_write_array(out, "explain_page_tail", &tail);
}

int main(int argc, char **argv) {
  if (argc < 5) gen_fail("usage: gen_explain PAGE STYLE SCRIPT... OUTDIR");
  char *page = gen_read_file(argv[1]);
  char *style = find(page, style_mark, argv[1]), *data = find(style, data_mark, argv[1]),
       *script = find(data, script_mark, argv[1]);
  char *css = gen_read_file(argv[2]);
  gen_add_bytes(&head, page, (size_t)(style - page));
  gen_add_bytes(&head, css, strlen(css));
  style += strlen(style_mark);
  gen_add_bytes(&head, style, (size_t)(data - style));
  data += strlen(data_mark);
  gen_add_bytes(&tail, data, (size_t)(script - data));
  for (int k = 3; k < argc - 1; k++) {
    char *text = gen_read_file(argv[k]);
    gen_add_bytes(&tail, text, strlen(text));
    free(text);
  }
  script += strlen(script_mark);
  gen_add_bytes(&tail, script, strlen(script));
  free(page);
  free(css);
  static const struct generator generator = {.files = {{"explain_page.inc", write_page}}};
  return gen_write_files(argv[argc - 1], &generator);
}
