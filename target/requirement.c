/* Parsing requirements; see requirement.h. Linked into the library and the generators, so it
 * includes no generated file. */
#include "target/requirement.h"

#include <string.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* Parses up to four digits; returns their number. */
static size_t read_number(const char *text, size_t length, unsigned *value) {
  size_t i = 0;
  for (*value = 0; i < length && i < 4 && digit(text[i]); i++)
    *value = *value * 10 + (unsigned)(text[i] - '0');
  return i;
}

uint16_t tgt_parse_full_sm(const char *text, size_t length) {
  unsigned sm;
  if (length < 5 || memcmp(text, "sm_", 3) != 0) return 0;
  size_t used = 3 + read_number(text + 3, length - 3, &sm);
  if (used == 3 || text[3] == '0' || sm > 650) return 0;
  if (used == length) return (uint16_t)(sm * 100);
  if (used + 1 != length) return 0;
  if (text[used] == 'f') return (uint16_t)(sm * 100 + TGT_FULL_SM_FAMILY);
  if (text[used] == 'a') return (uint16_t)(sm * 100 + TGT_FULL_SM_ARCH);
  return 0;
}

/* One CPU of an X|Y|... word. */
static bool read_alternative(const char *text, size_t length, struct tgt_requirement *r) {
  if (length == 4 && memcmp(text, "tmem", 4) == 0) {
    r->tmem = true;
    return true;
  }
  uint16_t full_sm = tgt_parse_full_sm(text, length);
  if (full_sm == 0 || r->count == TGT_MAX_ALTERNATIVES) return false;
  r->any_of[r->count++] = full_sm;
  return true;
}

/* A word without blanks: ptxNN, before_… or alternatives. Returns the start of an invalid part, or
 * NULL. */
static const char *read_word(const char *text, size_t length, struct tgt_requirement *r) {
  unsigned version;
  if (length > 3 && memcmp(text, "ptx", 3) == 0) {
    size_t digits = read_number(text + 3, length - 3, &version);
    if (digits < 2 || digits + 3 != length || version > 255 || r->min_ptx) return text;
    r->min_ptx = (uint8_t)version;
    return NULL;
  }
  if (length > 10 && (memcmp(text, "before_sm_", 10) == 0 || memcmp(text, "before_ptx", 10) == 0)) {
    uint8_t *before = text[7] == 's' ? &r->before_sm : &r->before_ptx;
    size_t digits = read_number(text + 10, length - 10, &version);
    if (digits < 2 || digits + 10 != length || version > 255 || *before) return text;
    *before = (uint8_t)version;
    return NULL;
  }
  if (r->count > 0 || r->tmem) return text; /* a second list of CPUs */
  for (const char *end = text + length;;) {
    const char *bar = memchr(text, '|', (size_t)(end - text));
    const char *stop = bar ? bar : end;
    if (!read_alternative(text, (size_t)(stop - text), r)) return text;
    if (!bar) return NULL;
    text = bar + 1;
  }
}

bool tgt_parse_requirement(const char *text, struct tgt_requirement *requirement,
                           const char **bad) {
  struct tgt_requirement r = {0};
  const char *wrong = NULL;
  for (const char *p = text + strspn(text, " \t"); *p && !wrong; p += strspn(p, " \t")) {
    size_t length = strcspn(p, " \t");
    wrong = read_word(p, length, &r);
    p += length;
  }
  if (bad) *bad = wrong;
  if (!wrong) *requirement = r;
  return !wrong;
}
