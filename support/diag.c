/* Diagnostics: the rows of diags.def, and the sink that stores what is reported. */
#include "support/diag.h"

struct diag_row {
  const char *name;
  const char *message;
  const char *meaning;
  enum diag_severity severity;
};

/* A row's public name is its enum in small letters with dashes: UNDEFINED_LOCAL is undefined-local.
 * The compiler builds it, since the library has no writable globals. */
enum { LONGEST_NAME = 40 };
#define AT(s, i) ((i) < sizeof(s) ? (s)[(i) < sizeof(s) ? (i) : 0] : '\0')
#define SMALL(s, i) \
  (AT(s, i) == '_' ? '-' : (AT(s, i) >= 'A' && AT(s, i) <= 'Z') ? AT(s, i) + ('a' - 'A') : AT(s, i))
#define SMALL4(s, i) SMALL(s, i), SMALL(s, i + 1), SMALL(s, i + 2), SMALL(s, i + 3)
#define SMALL20(s, i) \
  SMALL4(s, i), SMALL4(s, i + 4), SMALL4(s, i + 8), SMALL4(s, i + 12), SMALL4(s, i + 16)

#define DIAG(id, severity, message, meaning)                                             \
  _Static_assert(sizeof #id <= LONGEST_NAME, #id " is longer than LONGEST_NAME allows"); \
  static const char name_##id[LONGEST_NAME] = {SMALL20(#id, 0), SMALL20(#id, 20)};
#include "support/diags.def"
#undef DIAG

static const struct diag_row rows[DIAG_COUNT] = {
#define DIAG(id, severity, message, meaning) [DIAG_##id] = {name_##id, message, meaning, severity},
#include "support/diags.def"
#undef DIAG
};

const char *diag_name(enum diag_id id) { return rows[id].name; }
const char *diag_message(enum diag_id id) { return rows[id].message; }
const char *diag_meaning(enum diag_id id) { return rows[id].meaning; }
enum diag_severity diag_severity(enum diag_id id) { return rows[id].severity; }

void diag_sink_init(struct diag_sink *s, struct arena *arena, uint32_t error_limit) {
  *s = (struct diag_sink){.arena = arena, .error_limit = error_limit};
}

static struct nvm_text render(struct arena *arena, const char *message,
                              const struct nvm_text *arguments, uint32_t count) {
  struct textbuf b;
  textbuf_init(&b, arena);
  for (const char *p = message; *p; p++) {
    if (p[0] != '%' || p[1] < '0' || p[1] > '9') {
      textbuf_char(&b, *p);
      continue;
    }
    uint32_t k = (uint32_t)(*++p - '0');
    if (k < count) textbuf_text(&b, arguments[k]);
  }
  return (struct nvm_text){b.bytes ? b.bytes : "", b.length};
}

static struct diag *store(struct diag_sink *s, struct diag d) {
  return VEC_PUSH(s->arena, &s->list, d) ? &s->list.data[s->list.count - 1] : NULL;
}

/* Counts an error; true if it is to be stored. The first error beyond the limit adds a note. */
static bool count_error(struct diag_sink *s) {
  bool room = !diag_full(s);
  bool first_refused = !room && s->error_count == s->error_limit;
  s->error_count++;
  if (first_refused)
    store(s, (struct diag){.id = DIAG_TOO_MANY_ERRORS,
                           .severity = DIAG_NOTE,
                           .message = text_of(rows[DIAG_TOO_MANY_ERRORS].message),
                           .function = text_of(""),
                           .hint = text_of("")});
  return room;
}

/* The warning of that name, or DIAG_COUNT. */
static enum diag_id find_warning(const char *name) {
  int id = 0;
  while (id < DIAG_COUNT &&
         !(rows[id].severity == DIAG_WARNING && strcmp(rows[id].name, name) == 0))
    id++;
  return (enum diag_id)id;
}

bool diag_policy_set(struct diag_policy *p, const char *text, const char **unknown) {
  bool no = strncmp(text, "no-", 3) == 0;
  const char *name = no ? text + 3 : text;
  bool error = strncmp(name, "error", 5) == 0 && (name[5] == '=' || name[5] == '\0');
  if (error && name[5] == '\0') {
    p->errors = !no;
    return true;
  }
  *unknown = error ? name += 6 : name;
  enum diag_id id = find_warning(name);
  if (id == DIAG_COUNT) return false;
  uint8_t set = error ? no ? DIAG_POLICY_NO_ERROR : DIAG_POLICY_ERROR : no ? DIAG_POLICY_OFF : 0;
  uint8_t kept = error ? DIAG_POLICY_OFF : DIAG_POLICY_ERROR | DIAG_POLICY_NO_ERROR;
  p->of[id] = (uint8_t)((p->of[id] & kept) | set);
  return true;
}

/* The severity under the policy; *off: the warning is disabled. */
static enum diag_severity severity_of(const struct diag_policy *p, enum diag_id id, bool *off) {
  enum diag_severity own = rows[id].severity;
  *off = false;
  if (own != DIAG_WARNING || !p) return own;
  *off = p->of[id] & DIAG_POLICY_OFF;
  bool error = p->of[id] & DIAG_POLICY_ERROR || (p->errors && !(p->of[id] & DIAG_POLICY_NO_ERROR));
  return error ? DIAG_ERROR : DIAG_WARNING;
}

static bool is_same(const struct diag *a, const struct diag *b) {
  return a->id == b->id && a->severity == b->severity && a->range.source == b->range.source &&
         a->range.begin == b->range.begin && a->range.end == b->range.end &&
         a->message.length == b->message.length &&
         memcmp(a->message.bytes, b->message.bytes, b->message.length) == 0;
}

/* Copies of an instruction, of an unrolled loop or an inlined function, have the same warnings and
 * errors. Of errors without a place, each says something: its function. */
static bool is_repeated(const struct diag_sink *s, const struct diag *d) {
  enum { MAX_COMPARED = 32 };
  bool is_error = d->severity == DIAG_ERROR && d->range.begin < d->range.end;
  uint32_t compared = is_error ? MAX_COMPARED : d->severity == DIAG_WARNING;
  for (uint32_t k = s->list.count; k && compared; k--, compared--)
    if (is_same(&s->list.data[k - 1], d)) return true;
  return false;
}

struct diag *diag_report(struct diag_sink *s, enum diag_id id, struct diag_range range,
                         const struct nvm_text *arguments, uint32_t count) {
  bool refusing = s->error_limit != 0 && s->error_count > s->error_limit, off;
  enum diag_severity severity = severity_of(s->policy, id, &off);
  if (off || (severity == DIAG_NOTE && s->repeated)) return NULL;
  if (refusing) { /* also notes and hints of a dropped error */
    s->error_count += severity == DIAG_ERROR;
    return NULL;
  }
  struct diag d = {.id = id,
                   .severity = severity,
                   .range = range,
                   .message = render(s->arena, rows[id].message, arguments, count),
                   .function = text_of(""),
                   .hint = text_of("")};
  s->repeated = is_repeated(s, &d);
  if (s->repeated || (severity == DIAG_ERROR && !count_error(s))) return NULL;
  return store(s, d);
}

void diag_suggest(const struct diag_sink *s, struct diag *d, const struct nearest *n) {
  struct textbuf b;
  textbuf_init(&b, s->arena);
  if (d && nearest_write(n, &b)) d->hint = (struct nvm_text){b.bytes, b.length};
}

struct diag *diag_report_s(struct diag_sink *s, enum diag_id id, struct diag_range range,
                           const char *a0, const char *a1, const char *a2) {
  const char *given[] = {a0, a1, a2};
  struct nvm_text texts[3];
  uint32_t count = 0;
  while (count < 3 && given[count]) {
    texts[count] = text_of(given[count]);
    count++;
  }
  return diag_report(s, id, range, texts, count);
}
