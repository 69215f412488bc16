/* Lookup of the rows of target/nvptx.def, and building targets from options; see target.h.
 * Compatibility and requirements are in unlock.c. */
#include "target/target.h"

#include "support/nearest.h"
#include "target/options.h"

#include <string.h>

#include "nvptx_tables.inc"

/* ---- rows ---- */

const struct tgt_cpu *tgt_cpus(void) { return cpu_table; }
const struct tgt_feature *tgt_features(void) { return feature_table; }

const struct tgt_limits *tgt_limits_of(const struct tgt_cpu *cpu) {
  return &limits_table[cpu->limits];
}

uint32_t tgt_limit(const struct tgt_cpu *cpu, enum tgt_limit limit) {
  return limits_table[cpu->limits].number[limit].value;
}

const struct tgt_throughput *tgt_throughput_of(enum tgt_generation generation) {
  return &throughput_table[generation];
}

const struct tgt_latency *tgt_latency_of(enum tgt_generation generation) {
  return &latency_table[generation];
}

const struct tgt_operation *tgt_operation_of(enum tgt_operation_index operation) {
  return &operation_table[operation];
}

const struct tgt_described *tgt_source_of(enum tgt_source source) { return &source_table[source]; }
const struct tgt_described *tgt_limit_column(enum tgt_limit limit) { return &limit_table[limit]; }
const struct tgt_described *tgt_class_column(enum tgt_class class) { return &class_table[class]; }
const struct tgt_described *tgt_wait_column(enum tgt_wait wait) { return &wait_table[wait]; }
const struct tgt_described *tgt_type_column(enum tgt_type type) { return &type_table[type]; }
const struct tgt_described *tgt_need_name(enum tgt_need need) { return &req_table[need]; }

const struct tgt_described *tgt_family_of(enum tgt_family family) {
  return family == TGT_FAMILY_NONE ? NULL : &family_table[family - 1];
}

const struct tgt_described *tgt_differences(void) { return differs_table; }
const struct tgt_legality *tgt_legalities(void) { return legality_table; }
const struct tgt_requirement *tgt_need_of(enum tgt_need need) { return &need_table[need]; }

bool tgt_is_ptx_version(unsigned version) {
  for (int i = 0; i < TGT_PTX_COUNT; i++)
    if (ptx_table[i] == version) return true;
  return false;
}

const struct tgt_cpu *tgt_find_cpu(const char *name, size_t length) {
  struct nvm_text text = {name, length};
  size_t k = text_search(cpu_names, TGT_CPU_COUNT, sizeof *cpu_names, text);
  return k == TGT_CPU_COUNT ? NULL : &cpu_table[k];
}

const struct tgt_feature *tgt_find_feature(const char *key, size_t length) {
  struct nvm_text text = {key, length};
  size_t k = text_search(feature_table, TGT_FEATURE_COUNT, sizeof *feature_table, text);
  return k == TGT_FEATURE_COUNT ? NULL : &feature_table[k];
}

/* ---- spelling suggestions ---- */

enum { NEAR_MAX = 32 }; /* longer names are compared by their first bytes */

/* The first number in a text; 0: none. */
static unsigned first_number(const char *text, size_t length) {
  unsigned value = 0;
  size_t i = 0;
  while (i < length && (text[i] < '0' || text[i] > '9')) i++;
  for (; i < length && text[i] >= '0' && text[i] <= '9' && value < 100000; i++)
    value = value * 10 + (unsigned)(text[i] - '0');
  return value;
}

const struct tgt_cpu *tgt_nearest_cpu(const char *name, size_t length) {
  char meant[NEAR_MAX] = "sm_";
  size_t cut = length > 8 && memcmp(name, "compute_", 8) == 0 ? 8 : 0, kept = cut ? 3 : 0;
  size_t rest = length - cut < NEAR_MAX - kept ? length - cut : NEAR_MAX - kept;
  memcpy(meant + kept, name + cut, rest);
  unsigned number = first_number(meant, kept + rest),
           limit = nearest_start((struct nvm_text){meant, kept + rest}).limit;
  const struct tgt_cpu *best = NULL;
  unsigned best_rank = 0;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *cpu = &cpu_table[i];
    unsigned edits = nearest_distance(meant, kept + rest, cpu->name, cpu_names[i].length, NEAR_MAX);
    unsigned apart = number > cpu->sm ? number - cpu->sm : cpu->sm - number;
    bool begun = strncmp(meant, cpu->name, kept + rest) == 0; /* sm_9: sm_90, not sm_89 */
    unsigned rank = edits * 1000 + (begun ? 0 : apart < 999 ? apart : 999);
    bool meant_it = edits <= limit || (number != 0 && number == cpu->sm); /* gfx90a: sm_90a */
    if (cpu->placeholder || !meant_it || (best && rank >= best_rank)) continue;
    best = cpu;
    best_rank = rank;
  }
  return best;
}

const struct tgt_feature *tgt_nearest_feature(const char *key, size_t length) {
  struct nearest n = nearest_start((struct nvm_text){key, length});
  for (int i = 0; i < TGT_FEATURE_COUNT; i++) nearest_offer(&n, text_of(feature_table[i].key));
  return n.best.bytes ? tgt_find_feature(n.best.bytes, n.best.length) : NULL;
}

/* ---- building a target ---- */

/* The highest value of the group's enabled features, or `otherwise`. */
static unsigned group_value(const struct nvm_target *t, const char *group, unsigned otherwise) {
  bool found = false;
  unsigned value = 0;
  for (int i = 0; i < TGT_FEATURE_COUNT; i++) {
    const struct tgt_feature *f = &feature_table[i];
    if (!tgt_has_feature(t, f->index) || strcmp(f->group, group) != 0) continue;
    if (!found || f->value > value) value = f->value;
    found = true;
  }
  return found ? value : otherwise;
}

static void turn_on(struct nvm_target *t, unsigned index) {
  t->bits[index >> 6] |= UINT64_C(1) << (index & 63);
}

/* Derives fields from the feature bits, and sets the bits of defaults. */
static void derive(struct nvm_target *t) {
  static const uint16_t fma[] = {TGT_FEATURE_FMA_LEVEL_0, TGT_FEATURE_FMA_LEVEL_1,
                                 TGT_FEATURE_FMA_LEVEL_2};
  static const uint16_t div[] = {TGT_FEATURE_PREC_DIVF32_0, TGT_FEATURE_PREC_DIVF32_1,
                                 TGT_FEATURE_PREC_DIVF32_2, TGT_FEATURE_PREC_DIVF32_3};
  static const uint16_t sqrt[] = {TGT_FEATURE_PREC_SQRTF32_0, TGT_FEATURE_PREC_SQRTF32_1};
  t->fma_level = (uint8_t)group_value(t, "fma-level", 2);
  t->prec_div = (uint8_t)group_value(t, "prec-divf32", 2);
  t->prec_sqrt = (uint8_t)group_value(t, "prec-sqrtf32", 1);
  turn_on(t, fma[t->fma_level]);
  turn_on(t, div[t->prec_div]);
  turn_on(t, sqrt[t->prec_sqrt]);
  t->ptx = (uint8_t)group_value(t, "ptx", 0);
  t->has_tmem = tgt_has_feature(t, TGT_FEATURE_TMEM);
  t->short_shared_pointers = tgt_has_feature(t, TGT_FEATURE_SHAREDMEM32BITPTR);
}

/* A CPU that the options enable as a feature although another one is selected, or the selected CPU
 * if they disable it; NULL: none. */
static const struct tgt_cpu *contradicting_cpu(const struct tgt_options *options) {
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *cpu = &cpu_table[i];
    const uint64_t *bits = cpu == options->cpu ? options->removed : options->added;
    if (bits[cpu->self >> 6] >> (cpu->self & 63) & 1) return cpu;
  }
  return NULL;
}

enum tgt_status tgt_init(struct nvm_target *target, const struct tgt_options *options,
                         struct tgt_error *error) {
  const struct tgt_cpu *cpu = options->cpu;
  if (!cpu) return tgt_fail(error, TGT_NO_CPU, "", 0, NULL);
  struct nvm_target t = {
      .cpu = cpu,
      .sm = cpu->sm,
      .full_sm = cpu->full_sm,
      .pointer_bits = options->pointer_bits,
      .optimization_level = options->optimization_level,
      .ftz = options->ftz,
      .debug = options->debug,
      .narrow_accesses = options->narrow_accesses,
      .short_pointers = options->short_pointers,
  };
  for (int i = 0; i < TGT_FEATURE_WORDS; i++)
    t.bits[i] = (cpu->implies[i] & ~options->removed[i]) | options->added[i];
  t.long_shared_pointers = (options->removed[TGT_FEATURE_SHAREDMEM32BITPTR >> 6] >>
                                (TGT_FEATURE_SHAREDMEM32BITPTR & 63) &
                            1) != 0;
  const struct tgt_cpu *contradicts = contradicting_cpu(options);
  if (contradicts)
    return tgt_fail(error, TGT_CPU_FEATURE, contradicts->name, strlen(contradicts->name), NULL);
  derive(&t);
  if (t.ptx != 0 && t.ptx < cpu->min_ptx) {
    tgt_fail(error, TGT_PTX_TOO_LOW, cpu->name, strlen(cpu->name), NULL);
    if (error) error->needed = cpu->min_ptx, error->given = t.ptx;
    return TGT_PTX_TOO_LOW;
  }
  *target = t;
  return TGT_OK;
}

/* ---- errors as text ---- */

static void write_error(struct textbuf *b, const struct tgt_error *e) {
  switch (e->status) {
    case TGT_OK: break;
    case TGT_NO_CPU: textbuf_puts(b, "no CPU selected"); break;
    case TGT_UNKNOWN_CPU: textbuf_format(b, "unknown CPU '%s'", e->text); break;
    case TGT_UNKNOWN_FEATURE: textbuf_format(b, "unknown feature '%s'", e->text); break;
    case TGT_CPU_FEATURE:
      textbuf_format(b, "feature '%s' contradicts the CPU; select a CPU with --cpu", e->text);
      break;
    case TGT_BAD_FEATURE_SIGN:
      textbuf_format(b, "expected '+' or '-' before feature '%s'", e->text);
      break;
    case TGT_UNKNOWN_PTX:
      textbuf_format(b, "unknown PTX version '%s'; expected %u.%u to %u.%u", e->text,
                     TGT_PTX_LOWEST / 10u, TGT_PTX_LOWEST % 10u, TGT_PTX_HIGHEST / 10u,
                     TGT_PTX_HIGHEST % 10u);
      break;
    case TGT_PTX_TOO_LOW:
      textbuf_format(b, "%s requires PTX %u.%u or later; found PTX %u.%u", e->text, e->needed / 10,
                     e->needed % 10, e->given / 10, e->given % 10);
      break;
    case TGT_UNKNOWN_OPTION: textbuf_format(b, "unknown option '%s'", e->text); break;
    case TGT_BAD_OPTION_VALUE: textbuf_format(b, "invalid value of option '%s'", e->text); break;
    case TGT_REPEATED_OPTION: textbuf_format(b, "duplicate option '%s'", e->text); break;
  }
}

void tgt_describe_error(const struct tgt_error *error, char *buffer, size_t size) {
  struct textbuf b;
  textbuf_init_fixed(&b, buffer, size);
  write_error(&b, error);
  bool is_arch = error->status == TGT_BAD_OPTION_VALUE; /* -arch=compute_90 */
  if (error->nearest)
    textbuf_format(&b, "; did you mean '%s%s'?", is_arch ? "compute_" : "",
                   error->nearest + (is_arch ? strlen("sm_") : 0));
}

const char *tgt_action_name(enum tgt_action action) {
  switch (action) {
    case TGT_LEGAL: return "legal";
    case TGT_PROMOTE: return "promote";
    case TGT_EXPAND: return "expand";
    case TGT_SCALARIZE: return "scalarize";
    case TGT_SPLIT: return "split";
  }
  return "";
}
