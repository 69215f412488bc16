/* Diagnostics of the front end: ranges, texts of arguments, hints. */
#include "frontend/report.h"

#include "frontend/lexer.h"
#include "ir/function.h"

enum { LONGEST_TYPE = 120 };

struct diag *report(struct parser *p, enum diag_id id, uint32_t begin, uint32_t end, const char *a0,
                    const char *a1, const char *a2) {
  if (state_out_of_memory(p)) { /* caused by dummies, not by the text */
    p->refused = p->stop = true;
    return NULL;
  }
  struct diag_range range = {p->source, begin, end > begin ? end : begin};
  uint32_t errors = p->sink->error_count;
  struct diag *d = diag_report_s(p->sink, id, range, a0, a1, a2);
  if (d && p->f) d->function = module_text(p->m, p->f->symbol.name);
  if (p->sink->error_count > errors) p->refused = true;
  if (diag_full(p->sink)) p->stop = true;
  return d;
}

struct diag *report_token(struct parser *p, enum diag_id id, uint32_t begin, const char *a1,
                          const char *a2) {
  uint32_t end = lexer_token_end(p, begin);
  while (end > begin + 1 && (p->text[end - 1] == '=' || p->text[end - 1] == ' ')) end--;
  if (end > begin + 200) end = begin + 200;
  return report(p, id, begin, end, report_copy(p, p->text + begin, end - begin), a1, a2);
}

const char *report_copy(struct parser *p, const char *bytes, size_t length) {
  const char *copy = arena_copy(&p->scratch, bytes, length);
  return copy ? copy : "";
}

const char *report_type(struct parser *p, struct nvm_type type) {
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  type_print(&p->m->types, type, &b);
  if (b.length <= LONGEST_TYPE) return report_copy(p, b.bytes, b.length);
  b.length = LONGEST_TYPE;
  textbuf_puts(&b, "...");
  return report_copy(p, b.bytes, b.length);
}

const char *report_number(struct parser *p, uint64_t number) {
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  textbuf_unsigned(&b, number);
  return report_copy(p, b.bytes, b.length);
}

void report_offer_predicates(enum op op, struct nearest *n) {
  bool is_integer = op == OP_ICMP;
  for (uint32_t i = 0; i < (is_integer ? ICMP_COUNT : FCMP_COUNT); i++)
    nearest_offer(n, text_of(is_integer ? icmp_names[i] : fcmp_names[i]));
}

void report_bad_byte(struct parser *p, uint32_t begin, uint32_t end) {
  unsigned char byte = (unsigned char)p->text[begin];
  if (p->text[end - 1] == '"') {
    const char *line = memchr(p->text + begin, '\n', (size_t)(p->limit - p->text) - begin);
    report(p, DIAG_UNTERMINATED_STRING, begin,
           line ? (uint32_t)(line - p->text) : (uint32_t)(p->limit - p->text), NULL, NULL, NULL);
    return;
  }
  if (byte > ' ' && byte < 0x7f) {
    struct textbuf b;
    textbuf_init(&b, &p->scratch);
    textbuf_format(&b, "unexpected '%c'", byte);
    report(p, DIAG_SYNTAX, begin, end, report_copy(p, b.bytes, b.length), NULL, NULL);
    return;
  }
  char hex[3] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], 0};
  report(p, DIAG_BAD_BYTE, begin, end, report_copy(p, hex, 2), NULL, NULL);
}
