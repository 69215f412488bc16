/* Fuzzes the passes, with the verifier after each: whatever the order of passes and the values of
 * knobs, optimization ends with a status that is no internal error, and the result is printed,
 * parsed, verified and printed to the same bytes. A first line `; fuzz: WORDS` chooses passes and
 * knobs; without one, a hash of the input does. */
#include "opt/pass.h"
#include "options_line.h"
#include "random.h"
#include "round_trip.h"
#include "support/knobs.h"

#include <stdint.h>

enum { MEMORY_LIMIT = 512 << 20, MAX_PASSES = 8, MAX_TEXT = 600 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t below(struct random *r, uint32_t n) { return (uint32_t)random_below(r, n); }

static uint64_t hash(const uint8_t *data, size_t size) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < size; i++) h = (h ^ data[i]) * UINT64_C(1099511628211);
  return h;
}

/* How the input is compiled, and the last error: printed before the process ends in disorder. */
struct story {
  char options[2 * MAX_TEXT], message[MAX_TEXT];
};

static void keep_message(void *user, const struct nvmini_diagnostic *d) {
  struct story *s = user;
  if (d->severity == NVMINI_ERROR)
    snprintf(s->message, sizeof s->message, "%.*s", (int)d->message.length, d->message.bytes);
}

static void fail(const struct story *s) {
  fprintf(stderr, "options:%s\n%s\n", s->options, s->message);
  abort();
}

static void set(struct nvmini_context *c, struct story *s, const char *option) {
  size_t at = strlen(s->options);
  if (nvmini_set_option(c, option) == NVMINI_BUG) abort();
  snprintf(s->options + at, sizeof s->options - at, " %s", option);
}

static void choose_options(struct nvmini_context *c, struct story *s, struct random *r) {
  char text[MAX_TEXT];
  size_t at = (size_t)snprintf(text, sizeof text, "--passes=");
  for (uint32_t i = 0, n = 1 + below(r, MAX_PASSES); i < n; i++) {
    const char *name = pass_table[below(r, PASS_COUNT)].name;
    if (strncmp(name, "test-", 5) == 0) name = "combine"; /* it breaks the compiler on purpose */
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? "," : "", name);
  }
  set(c, s, text);
  for (uint32_t i = below(r, 3); i > 0; i--) {
    const struct knob_row *k = knobs_row((enum knob)below(r, KNOB_COUNT));
    int64_t range = (int64_t)k->max - k->min + 1;
    int64_t value = k->min + (int64_t)below(r, range < 16 ? (uint32_t)range : 16);
    snprintf(text, sizeof text, "--knob=%s=%lld", k->name, (long long)value);
    set(c, s, text);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const cpus[] = {"--cpu=sm_90a", "--cpu=sm_75", "--cpu=sm_100a", "--cpu=sm_52"};
  struct random r = {hash(data, size)};
  struct story story = {"", ""};
  char *text = malloc(size + 1);
  struct nvmini_context *c = nvmini_create(NULL, MEMORY_LIMIT);
  struct nvmini_module *m;
  if (text == NULL || c == NULL) abort();
  memcpy(text, data, size);
  text[size] = '\0';
  nvmini_on_diagnostic(c, keep_message, &story);
  set(c, &story, cpus[below(&r, 4)]);
  set(c, &story, "--verify-each");
  if (!options_take_line(c, text)) choose_options(c, &story, &r);
  if (nvmini_parse(c, text, size, "fuzz", &m) == NVMINI_BUG) abort();
  enum nvmini_status status = m == NULL ? NVMINI_REFUSED : nvmini_optimize(m);
  if (status == NVMINI_BUG) fail(&story);
  if (status == NVMINI_OK) {
    enum nvmini_status checked = nvmini_check(m);
    if (checked == NVMINI_REFUSED || checked == NVMINI_BUG) fail(&story);
    check_round_trip(c, m);
  }
  nvmini_release(m);
  nvmini_destroy(c);
  free(text);
  return 0;
}
