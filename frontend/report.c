/* Diagnostics of the front end: ranges, texts of arguments, hints. */
#include "frontend/state.h"

enum { LONGEST_TYPE = 120 };

struct diag *report(struct parser *p, enum diag_id id, uint32_t begin, uint32_t end,
                    const char *a0, const char *a1, const char *a2) {
  if (state_out_of_memory(p)) { /* the fault of dummies, not of the text */
    p->refused = p->stop = true;
    return NULL;
  }
  struct diag_range range = {p->source, begin, end > begin ? end : begin};
  struct diag *d = diag_report_s(p->sink, id, range, a0, a1, a2);
  if (d && p->f) d->function = module_text(p->m, p->f->symbol.name);
  if (diag_severity(id) == DIAG_ERROR) p->refused = true;
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

void report_hint_word(struct parser *p, struct diag *d, uint32_t begin, uint32_t end) {
  const char *word = lexer_nearest_word(p, p->text + begin, end - begin);
  if (!word) return;
  struct textbuf b;
  textbuf_init(&b, p->sink->arena);
  textbuf_format(&b, "did you mean '%s'?", word);
  d->hint = (struct nvm_text){b.bytes, b.length};
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

/* Edit distance of short words, by the usual one-row table. */
uint32_t report_distance(const char *a, size_t a_length, const char *b, size_t b_length,
                         uint32_t limit) {
  enum { LONGEST = 96 };
  size_t difference = a_length > b_length ? a_length - b_length : b_length - a_length;
  if (a_length > LONGEST || b_length > LONGEST || difference > limit) return limit + 1;
  uint32_t row[LONGEST + 1];
  for (size_t k = 0; k <= b_length; k++) row[k] = (uint32_t)k;
  for (size_t i = 1; i <= a_length; i++) {
    uint32_t diagonal = row[0], best = row[0] = (uint32_t)i;
    for (size_t k = 1; k <= b_length; k++) {
      uint32_t replaced = diagonal + (a[i - 1] != b[k - 1]);
      diagonal = row[k];
      uint32_t shorter = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
      row[k] = replaced < shorter ? replaced : shorter;
      if (row[k] < best) best = row[k];
    }
    if (best > limit) return limit + 1;
  }
  return row[b_length];
}
