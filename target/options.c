/* Options as feature bits and a few fields; see options.h. */
#include "target/options.h"

#include "support/options.h"

#include <string.h>

struct tgt_options tgt_default_options(void) {
  return (struct tgt_options){.optimization_level = 3, .pointer_bits = 64};
}

enum tgt_status tgt_fail(struct tgt_error *error, enum tgt_status status, const char *text,
                         size_t length, const char *nearest) {
  if (!error) return status;
  *error = (struct tgt_error){.status = status, .nearest = nearest};
  size_t kept = length < sizeof error->text ? length : sizeof error->text - 1;
  memcpy(error->text, text, kept);
  return status;
}

/* ---- feature bits ---- */

static void set_bit(uint64_t bits[TGT_FEATURE_WORDS], unsigned index, bool on) {
  uint64_t bit = UINT64_C(1) << (index & 63);
  if (on) bits[index >> 6] |= bit;
  else bits[index >> 6] &= ~bit;
}

/* +feature or -feature; + removes the features that it excludes. */
static void set_feature(struct tgt_options *o, const struct tgt_feature *feature, bool on) {
  const struct tgt_feature *all = tgt_features();
  for (int i = 0; on && feature->group[0] && i < TGT_FEATURE_COUNT; i++)
    if (strcmp(all[i].group, feature->group) == 0) set_bit(o->added, all[i].index, false);
  set_bit(o->added, feature->index, on);
  set_bit(o->removed, feature->index, !on);
}

enum tgt_status tgt_set_group(struct tgt_options *options, const char *group, unsigned value,
                              struct tgt_error *error) {
  const struct tgt_feature *all = tgt_features();
  for (int i = 0; i < TGT_FEATURE_COUNT; i++) {
    if (strcmp(all[i].group, group) != 0 || all[i].value != value) continue;
    set_feature(options, &all[i], true);
    return TGT_OK;
  }
  enum tgt_status status = tgt_fail(error, TGT_BAD_OPTION_VALUE, group, strlen(group), NULL);
  if (error) error->given = value;
  return status;
}

void tgt_set_knob(struct tgt_options *options, enum knob knob, int32_t value) {
  if (knob == KNOB_FMA_LEVEL) tgt_set_group(options, "fma-level", (unsigned)value, NULL);
  if (knob == KNOB_PREC_DIVF32) tgt_set_group(options, "prec-divf32", (unsigned)value, NULL);
  if (knob == KNOB_PREC_SQRTF32) tgt_set_group(options, "prec-sqrtf32", (unsigned)value, NULL);
  if (knob == KNOB_WIDE_ACCESSES) options->narrow_accesses = !value;
  if (knob == KNOB_SHORT_PTR) options->short_pointers = value != 0;
  if (knob == KNOB_SHARED_32_BIT || (knob == KNOB_SHORT_PTR && value))
    set_feature(options, tgt_find_feature("sharedmem32bitptr", 17), value != 0);
}

static enum tgt_status parse_feature(struct tgt_options *o, const char *word, size_t length,
                                     struct tgt_error *error) {
  if (word[0] != '+' && word[0] != '-')
    return tgt_fail(error, TGT_BAD_FEATURE_SIGN, word, length, NULL);
  const struct tgt_feature *feature = tgt_find_feature(word + 1, length - 1);
  if (!feature) {
    const struct tgt_feature *near = tgt_nearest_feature(word + 1, length - 1);
    return tgt_fail(error, TGT_UNKNOWN_FEATURE, word + 1, length - 1, near ? near->key : NULL);
  }
  set_feature(o, feature, word[0] == '+');
  return TGT_OK;
}

enum tgt_status tgt_parse_features(struct tgt_options *options, const char *list, size_t length,
                                   struct tgt_error *error) {
  struct tgt_options changed = *options;
  for (const char *p = list, *end = list + length; p < end;) {
    const char *comma = memchr(p, ',', (size_t)(end - p));
    size_t word = (size_t)((comma ? comma : end) - p);
    enum tgt_status status = word ? parse_feature(&changed, p, word, error) : TGT_OK;
    if (status != TGT_OK) return status;
    p += word + 1;
  }
  *options = changed;
  return TGT_OK;
}

/* ---- options of the command ---- */

enum tgt_status tgt_set_cpu(struct tgt_options *options, const char *name, size_t length,
                            struct tgt_error *error) {
  const struct tgt_cpu *cpu = tgt_find_cpu(name, length);
  if (!cpu) {
    const struct tgt_cpu *near = tgt_nearest_cpu(name, length);
    return tgt_fail(error, TGT_UNKNOWN_CPU, name, length, near ? near->name : NULL);
  }
  options->cpu = cpu;
  return TGT_OK;
}

/* Parses "7.8" or "78" as 78; 0 if invalid. */
static unsigned read_version(const char *text, size_t length) {
  size_t dot = length == 3 && text[1] == '.';
  if (length != 2 + dot) return 0;
  char major = text[0], minor = text[1 + dot];
  if (major < '0' || major > '9' || minor < '0' || minor > '9') return 0;
  return (unsigned)(major - '0') * 10 + (unsigned)(minor - '0');
}

enum tgt_status tgt_set_ptx(struct tgt_options *options, const char *text, size_t length,
                            struct tgt_error *error) {
  unsigned version = read_version(text, length);
  if (!tgt_is_ptx_version(version)) {
    enum tgt_status status = tgt_fail(error, TGT_UNKNOWN_PTX, text, length, NULL);
    if (error) error->given = version;
    return status;
  }
  return tgt_set_group(options, "ptx", version, error);
}

/* ---- libNVVM's spellings ---- */

/* -arch=compute_90a; `text` follows the `=`. */
static bool set_arch(struct tgt_options *o, const char *text, size_t length) {
  char name[16] = "sm_";
  if (length < 9 || length > 8 + 8 || memcmp(text, "compute_", 8) != 0) return false;
  memcpy(name + 3, text + 8, length - 8);
  const struct tgt_cpu *cpu = tgt_find_cpu(name, length - 5);
  if (cpu) o->cpu = cpu;
  return cpu != NULL;
}

/* True if the value is in the range of `spelling`, -name=0|1; sets the CPU of -arch. */
static bool is_good_value(struct tgt_options *o, const char *spelling, const char *value,
                          size_t length) {
  char highest = spelling[strlen(spelling) - 1];
  if (highest == 'N') return set_arch(o, value, length);
  return length == 1 && *value >= '0' && *value <= highest;
}

/* The rows of support/options.def with such a spelling. */
static void apply_nvvm(struct tgt_options *o, enum option option, unsigned value) {
  if (option == OPT_O3) o->optimization_level = (uint8_t)value;
  if (option == OPT_FTZ) o->ftz = value != 0;
  if (option == OPT_FMA_LEVEL) tgt_set_group(o, "fma-level", value ? 2 : 0, NULL);
  if (option == OPT_PREC_DIV) tgt_set_group(o, "prec-divf32", value ? 2 : 1, NULL);
  if (option == OPT_PREC_SQRT) tgt_set_group(o, "prec-sqrtf32", value, NULL);
  if (option == OPT_DEBUG_LINES) o->debug = true;
}

enum tgt_status tgt_parse_nvvm_option(struct tgt_options *options, const char *option,
                                      size_t length, struct tgt_error *error) {
  for (enum option o = 0; o < OPT_COUNT; o++) {
    const char *spelling = option_row(o)->nvvm;
    size_t name = strcspn(spelling, "=");
    bool takes_value = spelling[name] == '=';
    if (name == 0 || length < name + takes_value || memcmp(option, spelling, name + takes_value))
      continue;
    if (!takes_value && length > name) continue;
    const char *value = option + name + 1;
    if (options->nvvm_given >> o & 1)
      return tgt_fail(error, TGT_REPEATED_OPTION, option, name, NULL);
    if (takes_value && !is_good_value(options, spelling, value, length - name - 1)) {
      const struct tgt_cpu *near = o == OPT_CPU ? tgt_nearest_cpu(value, length - name - 1) : NULL;
      return tgt_fail(error, TGT_BAD_OPTION_VALUE, option, length, near ? near->name : NULL);
    }
    options->nvvm_given |= UINT32_C(1) << o;
    apply_nvvm(options, o, takes_value ? (unsigned)(*value - '0') : 1);
    return TGT_OK;
  }
  return tgt_fail(error, TGT_UNKNOWN_OPTION, option, length, NULL);
}
