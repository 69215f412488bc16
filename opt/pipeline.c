/* Pipelines; see pipeline.h. */
#include "opt/pipeline.h"

enum level {
  O0 = 1,
  MAX = 2, /* -Ofc=max */
  MID = 4,
  O1 = 8, /* and -Ofc=min */
  O2 = 16,
  O3 = 32,
  BYVAL_COPY = 64, /* with the knob nvptx-early-byval-copy */
  POST_OPT = 128,  /* not with the knob disable-post-opt */
  ABOVE_O0 = MAX | MID | O1 | O2 | O3,
  ALL_LEVELS = O0 | ABOVE_O0,
  FROM_O1 = O1 | O2 | O3,
  FROM_O2 = O2 | O3,
};

static const struct {
  const char *name;
  enum level level;
} levels[] = {{"0", O0}, {"max", MAX}, {"mid", MID}, {"min", O1}, {"1", O1},
              {"2", O2}, {"s", O2},    {"z", O2},    {"3", O3}};

static const struct {
  enum level levels;
  const char *passes;
} stages[] = {
#define STAGE(levels, purpose, passes) {(enum level)(levels), passes},
#include "opt/pipelines.def"
#undef STAGE
};

/* A pass is removed if the knob has the value `removing`. */
static const struct {
  enum knob knob;
  int32_t removing;
  const char *pass;
} pass_knobs[] = {
#define KNOB(id, name, min, max, initial, reader, meaning)
#define REMOVES(id, name, pass) {KNOB_##id, 1, pass},
#define KEEPS(id, name, pass) {KNOB_##id, 0, pass},
#include "support/knobs.def"
#undef KNOB
};

uint64_t pipeline_removed(const struct knobs *knobs) {
  uint64_t removed = 0;
  for (size_t k = 0; k < sizeof pass_knobs / sizeof *pass_knobs; k++)
    if (knobs->value[pass_knobs[k].knob] == pass_knobs[k].removing)
      removed |= UINT64_C(1) << pass_find(pass_knobs[k].pass, strlen(pass_knobs[k].pass));
  return removed;
}

void pipeline_of_level(struct pipeline *p, const char *level, const struct knobs *knobs) {
  struct nvm_text refused;
  size_t n = 0;
  while (n + 1 < sizeof levels / sizeof *levels && strcmp(levels[n].name, level) != 0) n++;
  unsigned runs = levels[n].level | (knobs->value[KNOB_EARLY_BYVAL_COPY] ? BYVAL_COPY : 0),
           skipped = knobs->value[KNOB_DISABLE_POST_OPT] ? POST_OPT : 0;
  *p = (struct pipeline){.count = 0};
  for (size_t k = 0; k < sizeof stages / sizeof *stages; k++)
    if ((stages[k].levels & runs) && !(stages[k].levels & skipped))
      pipeline_append(p, text_of(stages[k].passes), &refused);
}

uint8_t pipeline_size_effort(const char *level) {
  if (level == NULL) return 0;
  return strcmp(level, "z") == 0 ? 2 : strcmp(level, "s") == 0;
}

static bool add_pass(struct pipeline *p, enum pass_id id, bool conditional, unsigned parameters) {
  const struct pass_info *pass = &pass_table[id];
  unsigned made = 0;
  for (size_t k = 0; k < PASS_FORMS; k++) {
    enum pass_id maker = pass_forms[k].maker;
    bool missing = pass->needs & pass_forms[k].form & ~p->holds;
    if (missing && maker != id && !add_pass(p, maker, conditional, 0)) return false;
    if (maker == id && !conditional) made = pass_forms[k].form;
  }
  if (p->count == PIPELINE_MAX) return false;
  p->steps[p->count++] = (struct pass_step){(uint8_t)id, conditional, (uint8_t)parameters};
  p->holds = (p->holds & pass->keeps) | made;
  return true;
}

static bool is_text(const char *text, size_t length, const char *wanted) {
  return strlen(wanted) == length && memcmp(text, wanted, length) == 0;
}

/* Reads `parameter;no-parameter>`, the rest of an element after `<`. */
static bool read_parameters(enum pass_id id, const char *text, size_t length, unsigned *set) {
  if (length == 0 || text[length - 1] != '>') return false;
  for (const char *end = text + length - 1; text < end;) {
    const char *next = memchr(text, ';', (size_t)(end - text));
    size_t size = (size_t)((next ? next : end) - text);
    bool clears = size > 3 && memcmp(text, "no-", 3) == 0;
    int k = 0;
    while (k < PASS_PARAMETER_COUNT &&
           !(pass_parameters[k].pass == id &&
             is_text(text + 3 * clears, size - 3 * clears, pass_parameters[k].name)))
      k++;
    if (k == PASS_PARAMETER_COUNT) return false;
    *set = clears ? *set & ~(1u << k) : *set | 1u << k;
    text += size + 1;
  }
  return true;
}

bool pipeline_append(struct pipeline *p, struct nvm_text list, struct nvm_text *refused) {
  for (size_t at = 0; at < list.length;) {
    const char *comma = memchr(list.bytes + at, ',', list.length - at);
    size_t length = comma ? (size_t)(comma - (list.bytes + at)) : list.length - at;
    *refused = (struct nvm_text){list.bytes + at, length};
    bool conditional = list.bytes[at] == '+';
    const char *name = list.bytes + at + conditional, *end = list.bytes + at + length,
               *angle = memchr(name, '<', (size_t)(end - name));
    enum pass_id id = pass_find(name, (size_t)((angle ? angle : end) - name));
    unsigned parameters = 0;
    if (id == PASS_NONE ||
        (angle && !read_parameters(id, angle + 1, (size_t)(end - angle - 1), &parameters)) ||
        !add_pass(p, id, conditional, parameters))
      return false;
    at += length + 1;
  }
  return true;
}
