/* One page for each function of a large module: their names, and the page that lists them. */
#include "driver/explain/explain.h"

enum { MAX_NAME = 80 };

struct nvm_text explain_page_name(struct explain *e, uint32_t function) {
  struct nvm_text name = e->functions.data[function].name;
  struct textbuf b;
  textbuf_init(&b, &e->arena);
  textbuf_format(&b, "%u-", function + 1);
  for (size_t i = 0; i < name.length && i < MAX_NAME; i++) {
    char c = name.bytes[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    textbuf_char(&b, plain ? c : '_');
  }
  textbuf_puts(&b, ".html");
  return (struct nvm_text){b.bytes, b.length};
}

/* Text in HTML. */
static void put_escaped(struct textbuf *out, struct nvm_text t) {
  for (size_t i = 0; i < t.length; i++) {
    if (t.bytes[i] == '<') textbuf_puts(out, "&lt;");
    else if (t.bytes[i] == '&') textbuf_puts(out, "&amp;");
    else textbuf_char(out, t.bytes[i]);
  }
}

static void put_row(struct textbuf *out, struct explain *e, uint32_t k) {
  const struct explain_function *x = &e->functions.data[k];
  textbuf_format(out, "<tr><td><a href=\"%t\">", explain_page_name(e, k));
  put_escaped(out, x->name);
  textbuf_format(out, "</a></td><td>%s</td><td>%u</td><td>%u</td></tr>\n",
                 x->is_kernel ? "kernel" : "function", x->insts.count, x->ptx.count);
}

void explain_write_index(struct explain *e, struct textbuf *out) {
  textbuf_puts(out,
               "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
  put_escaped(out, e->input);
  textbuf_puts(out,
               "</title>\n<style>body{font:15px system-ui,sans-serif;margin:2em}"
               "td,th{text-align:left;padding:.2em 1em .2em 0}"
               "td:nth-child(n+3),th:nth-child(n+3){text-align:right}</style></head>\n<body><h1>");
  put_escaped(out, e->input);
  textbuf_puts(out,
               "</h1>\n<table><thead><tr><th>Name</th><th>Kind</th><th>IR instructions</th>"
               "<th>Lines of PTX</th></tr></thead>\n<tbody>\n");
  for (int kernels = 1; kernels >= 0; kernels--)
    for (uint32_t k = 0; k < e->functions.count; k++)
      if (e->functions.data[k].is_final && e->functions.data[k].is_kernel == (kernels == 1))
        put_row(out, e, k);
  textbuf_puts(out, "</tbody></table></body></html>\n");
}
