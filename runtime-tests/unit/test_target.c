/* The target's tables, look-ups, options, compatibility and requirements. */
#include "target/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct tgt_cpu *cpu(const char *name) {
  const struct tgt_cpu *found = tgt_find_cpu(name, strlen(name));
  if (!found) fail_msg("no CPU %s", name);
  return found;
}

static struct nvm_target target_of(const char *name, const char *features) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  struct tgt_error error;
  options.cpu = cpu(name);
  assert_int_equal(tgt_parse_features(&options, features, strlen(features), &error), TGT_OK);
  assert_int_equal(tgt_init(&target, &options, &error), TGT_OK);
  return target;
}

static struct tgt_requirement need(const char *text) {
  struct tgt_requirement requirement;
  const char *bad;
  if (!tgt_parse_requirement(text, &requirement, &bad)) fail_msg("'%s' at '%s'", text, bad);
  return requirement;
}

/* ---- tables ---- */

/* sm-version.ll of seed 2 and LLVM's processor list, written out again: name, .version. */
static const struct {
  const char *name;
  unsigned version;
} version_rows[] = {
    {"sm_20", 32},   {"sm_21", 32},   {"sm_30", 32},   {"sm_32", 40},   {"sm_35", 32},
    {"sm_37", 41},   {"sm_50", 40},   {"sm_52", 41},   {"sm_53", 42},   {"sm_60", 50},
    {"sm_61", 50},   {"sm_62", 50},   {"sm_70", 60},   {"sm_72", 61},   {"sm_75", 63},
    {"sm_80", 70},   {"sm_86", 71},   {"sm_87", 74},   {"sm_89", 78},   {"sm_90", 78},
    {"sm_90a", 80},  {"sm_100", 86},  {"sm_100a", 86}, {"sm_100f", 88}, {"sm_101", 86},
    {"sm_101a", 86}, {"sm_101f", 88}, {"sm_103", 88},  {"sm_103a", 88}, {"sm_103f", 88},
    {"sm_120", 87},  {"sm_120a", 87}, {"sm_120f", 88}, {"sm_121", 88},  {"sm_121a", 88},
    {"sm_121f", 88}, {"sm_110", 90},  {"sm_110a", 90}, {"sm_110f", 90}, {"sm_88", 90},
};

static void every_cpu_has_the_version_of_seed_2(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof version_rows / sizeof version_rows[0]; i++)
    assert_int_equal(tgt_ptx_for(cpu(version_rows[i].name)), version_rows[i].version);
}

static unsigned bit_count(const uint64_t bits[TGT_FEATURE_WORDS]) {
  unsigned n = 0;
  for (int i = 0; i < TGT_FEATURE_WORDS; i++) n += (unsigned)__builtin_popcountll(bits[i]);
  return n;
}

static void cpu_rows_are_sorted_and_imply_themselves(void **state) {
  (void)state;
  const struct tgt_cpu *cpus = tgt_cpus();
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *c = &cpus[i];
    if (i > 0) assert_true(strcmp(cpus[i - 1].name, c->name) < 0);
    assert_true(c->implies[c->self >> 6] >> (c->self & 63) & 1);
    assert_int_equal(bit_count(c->tune_implies), 0);
    assert_ptr_equal(tgt_find_cpu(c->name, strlen(c->name)), c);
    const struct tgt_feature *self = tgt_find_feature(c->name, strlen(c->name));
    assert_non_null(self);
    assert_int_equal(self->index, c->self);
  }
}

static void exactly_eight_cpus_imply_tmem(void **state) {
  static const char *const with[] = {"sm_100a", "sm_100f", "sm_101a", "sm_101f",
                                     "sm_103a", "sm_103f", "sm_110a", "sm_110f"};
  (void)state;
  int count = 0;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    struct nvm_target t = target_of(tgt_cpus()[i].name, "");
    assert_int_equal(t.has_tmem, tgt_has_feature(&t, 80));
    assert_int_equal(bit_count(tgt_cpus()[i].implies), t.has_tmem ? 2 : 1);
    count += t.has_tmem;
  }
  assert_int_equal(count, 8);
  for (int i = 0; i < 8; i++) assert_true(target_of(with[i], "").has_tmem);
}

/* Seed 5's 81 keys in the order of their indices, then what was appended. */
static void feature_indices_are_those_of_seed_5(void **state) {
  static const char *const keys[] = {
      "fma-level=0",   "fma-level=1",   "fma-level=2",    "ptx32",          "ptx40",
      "ptx41",         "ptx42",         "ptx43",          "ptx50",          "ptx60",
      "ptx61",         "ptx62",         "ptx63",          "ptx64",          "ptx65",
      "ptx70",         "ptx71",         "ptx72",          "ptx73",          "ptx74",
      "ptx75",         "ptx76",         "ptx77",          "ptx78",          "ptx80",
      "ptx81",         "ptx82",         "ptx83",          "ptx84",          "ptx85",
      "ptx86",         "ptx87",         "ptx88",          "prec-divf32=0",  "prec-divf32=1",
      "prec-divf32=2", "prec-divf32=3", "prec-sqrtf32=0", "prec-sqrtf32=1", "sm_20",
      "sm_21",         "sm_30",         "sm_32",          "sm_35",          "sm_37",
      "sm_50",         "sm_52",         "sm_53",          "sm_60",          "sm_61",
      "sm_62",         "sm_70",         "sm_72",          "sm_73",          "sm_75",
      "sm_80",         "sm_82",         "sm_86",          "sm_89",          "sm_90",
      "sm_90a",        "sm_100",        "sm_100a",        "sm_100f",        "sm_101",
      "sm_101a",       "sm_101f",       "sm_103",         "sm_103a",        "sm_103f",
      "sm_110",        "sm_110a",       "sm_110f",        "sm_120",         "sm_120a",
      "sm_120f",       "sm_121",        "sm_121a",        "sm_121f",        "sharedmem32bitptr",
      "tmem",          "sm_87",         "sm_88",          "ptx90",          "sm_102",
      "sm_102a",       "sm_102f",
  };
  (void)state;
  assert_int_equal(TGT_FEATURE_COUNT, sizeof keys / sizeof keys[0]);
  for (int i = 0; i < TGT_FEATURE_COUNT; i++) {
    const struct tgt_feature *f = tgt_find_feature(keys[i], strlen(keys[i]));
    assert_non_null(f);
    assert_int_equal(f->index, i);
    assert_int_equal(bit_count(f->implies), 0);
  }
  for (int i = 1; i < TGT_FEATURE_COUNT; i++)
    assert_true(strcmp(tgt_features()[i - 1].key, tgt_features()[i].key) < 0);
}

/* Seed 5's 40 rows in its order; sm_87 and sm_88 have no row there, sm_102 and its suffixes none
 * but in libNVVM's list of 45. ELF bytes are seed 5's, 0 where it has a gap. */
static void cpu_rows_are_those_of_seed_5(void **state) {
  static const struct {
    const char *name;
    unsigned elf;
  } rows[] = {
      {"sm_100", 0x64}, {"sm_100a", 0},  {"sm_100f", 0},   {"sm_101", 0},   {"sm_101a", 0},
      {"sm_101f", 0},   {"sm_103", 0},   {"sm_103a", 0},   {"sm_103f", 0},  {"sm_110", 0},
      {"sm_110a", 0},   {"sm_110f", 0},  {"sm_120", 0x78}, {"sm_120a", 0},  {"sm_120f", 0},
      {"sm_121", 0},    {"sm_121a", 0},  {"sm_121f", 0},   {"sm_20", 0x14}, {"sm_21", 0x15},
      {"sm_30", 0x1E},  {"sm_32", 0x20}, {"sm_35", 0x23},  {"sm_37", 0x25}, {"sm_50", 0x32},
      {"sm_52", 0x34},  {"sm_53", 0x35}, {"sm_60", 0x3C},  {"sm_61", 0x3D}, {"sm_62", 0x3E},
      {"sm_70", 0x46},  {"sm_72", 0x48}, {"sm_73", 0},     {"sm_75", 0x4B}, {"sm_80", 0x50},
      {"sm_82", 0},     {"sm_86", 0x56}, {"sm_89", 0x59},  {"sm_90", 0x5A}, {"sm_90a", 0x85A},
  };
  (void)state;
  int n = 0;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *c = &tgt_cpus()[i];
    if (c->sm == 87 || c->sm == 88 || c->sm == 102) continue;
    assert_string_equal(c->name, rows[n].name);
    assert_int_equal(c->elf_byte, rows[n++].elf);
  }
  assert_int_equal(n, 40);
}

/* Seed 1: 45 processors; code 5 up to sm_90, 6 for sm_90a and base Blackwell, 7 with a suffix. */
static void ptx_codes_are_those_of_seed_1(void **state) {
  (void)state;
  assert_int_equal(TGT_CPU_COUNT, 45);
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *c = &tgt_cpus()[i];
    assert_int_equal(c->ptx_code, 5 + (c->full_sm > 9000) + (c->sm >= 100 && c->suffix));
  }
}

static void unknown_names_are_not_found(void **state) {
  static const char *const names[] = {"",       "sm_",    "sm_84",  "sm_85",     "sm_9", "sm_900",
                                      "sm_90b", "SM_90",  "sm_90f", "sm_87a",    "sm_1", "sm_999",
                                      "zz",     "sm_122", "sm_90 ", "compute_90"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    bool near = tgt_nearest_cpu(names[i], strlen(names[i])) != NULL;
    assert_null(tgt_find_cpu(names[i], strlen(names[i])));
    assert_int_equal(near, strcspn(names[i], "0123456789") < strlen(names[i]));
  }
  assert_null(tgt_find_cpu("sm_90a", 4)); /* only "sm_9" of it */
}

static void the_nearest_name_is_what_was_meant(void **state) {
  static const char *const rows[][2] = {
      {"sm_95", "sm_90"},   {"sm90", "sm_90"},    {"compute_90a", "sm_90a"}, {"sm_84", "sm_86"},
      {"gfx90a", "sm_90a"}, {"sm_104", "sm_103"}, {"SM_120a", "sm_120a"},    {"sm_122f", "sm_121f"},
      {"sm_9", "sm_90"},    {"90", "sm_90"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    assert_string_equal(tgt_nearest_cpu(rows[i][0], strlen(rows[i][0]))->name, rows[i][1]);
  assert_string_equal(tgt_nearest_feature("tmen", 4)->key, "tmem");
  assert_string_equal(tgt_nearest_feature("fma-level", 9)->key, "fma-level=0");
  assert_null(tgt_nearest_feature("avx512", 6));
  assert_null(tgt_nearest_cpu("native", 6));
  assert_null(tgt_nearest_cpu("generic", 7));
}

static void numbers_of_versions(void **state) {
  static const struct {
    const char *name;
    unsigned sm, full_sm, cuda_arch, code;
  } rows[] = {
      {"sm_20", 20, 2000, 200, 5},      {"sm_90", 90, 9000, 900, 5},
      {"sm_90a", 90, 9011, 900, 6},     {"sm_100", 100, 10000, 1000, 6},
      {"sm_103f", 103, 10310, 1030, 7}, {"sm_103a", 103, 10311, 1030, 7},
      {"sm_121f", 121, 12110, 1210, 7},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct nvm_target t = target_of(rows[i].name, "");
    assert_int_equal(t.sm, rows[i].sm);
    assert_int_equal(t.full_sm, rows[i].full_sm);
    assert_int_equal(tgt_cuda_arch(t.cpu), rows[i].cuda_arch);
    assert_int_equal(t.cpu->ptx_code, rows[i].code);
    assert_int_equal(tgt_parse_full_sm(rows[i].name, strlen(rows[i].name)), rows[i].full_sm);
  }
}

static void every_limit_is_a_number_with_a_source(void **state) {
  (void)state;
  for (int i = 0; i < TGT_CPU_COUNT; i++)
    for (int c = 0; c < TGT_LIMIT_COUNT; c++) {
      const struct tgt_number *n = &tgt_limits_of(&tgt_cpus()[i])->number[c];
      bool may_be_zero = c == TGT_LIMIT_BARRIERS_PER_SM || c == TGT_LIMIT_SHARED_RESERVED_BLOCK;
      assert_true(n->value > 0 || may_be_zero);
      assert_true(strlen(tgt_source_of(n->source)->description) > 0);
    }
  assert_int_equal(tgt_limit(cpu("sm_90a"), TGT_LIMIT_SHARED_PER_SM), 228 * 1024);
  assert_int_equal(tgt_limit(cpu("sm_89"), TGT_LIMIT_BLOCKS_PER_SM), 24);
}

/* ---- compatibility ---- */

static void ptx_runs_where_seed_2_says(void **state) {
  static const struct {
    const char *ptx, *device;
    bool runs;
  } rows[] = {
      {"sm_90", "sm_103", true},   /* 90 <= 103 */
      {"sm_90", "sm_103f", true},  /* seed 2's own example */
      {"sm_103", "sm_90", false},  /* not backwards */
      {"sm_103", "sm_103a", true}, /* XY < XYf < XYa */
      {"sm_103", "sm_103f", true},
      {"sm_103f", "sm_103a", true},
      {"sm_103a", "sm_103f", false}, /* a only on itself */
      {"sm_103a", "sm_103", false},
      {"sm_103a", "sm_103a", true},
      {"sm_100f", "sm_103f", true}, /* same family, later */
      {"sm_100f", "sm_103a", true},
      {"sm_103f", "sm_100f", false}, /* same family, earlier */
      {"sm_100f", "sm_120f", false}, /* seed 2's counter-example: another family */
      {"sm_100f", "sm_121a", false},
      {"sm_120f", "sm_121f", true},
      {"sm_121f", "sm_120f", false},
      {"sm_100f", "sm_101f", false}, /* sm_101 is a family of its own, by exception */
      {"sm_101f", "sm_103f", false},
      {"sm_101f", "sm_101a", true},
      {"sm_101f", "sm_110f", false}, /* and so is sm_11x */
      {"sm_110f", "sm_110a", true},
      {"sm_110f", "sm_120f", false},
      {"sm_100a", "sm_103a", false}, /* a of another SM */
      {"sm_90a", "sm_100a", false},
      {"sm_90a", "sm_90", false},
      {"sm_90a", "sm_100", false},
      {"sm_90", "sm_90a", true},
      {"sm_100f", "sm_100", true}, /* as ptxas: the device has what its family has */
      {"sm_100f", "sm_90a", false},
      {"sm_20", "sm_121f", true},
      {"sm_101", "sm_100a", false}, /* numbers decide for base code */
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (tgt_can_run(cpu(rows[i].ptx), cpu(rows[i].device)) != rows[i].runs)
      fail_msg("%s on %s", rows[i].ptx, rows[i].device);
}

static void compatibility_is_a_partial_order(void **state) {
  (void)state;
  const struct tgt_cpu *c = tgt_cpus();
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    assert_true(tgt_can_run(&c[i], &c[i]));
    for (int j = 0; j < TGT_CPU_COUNT; j++) {
      if (i != j && c[i].suffix == 'a') assert_false(tgt_can_run(&c[i], &c[j]));
      if (tgt_can_run(&c[i], &c[j])) assert_true(c[i].sm <= c[j].sm);
    }
  }
}

/* ---- options ---- */

static void defaults(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90a", "");
  assert_int_equal(t.fma_level, 2);
  assert_int_equal(t.prec_div, 2);
  assert_int_equal(t.prec_sqrt, 1);
  assert_int_equal(t.ptx, 0);
  assert_int_equal(t.pointer_bits, 64);
  assert_int_equal(t.optimization_level, 3);
  assert_false(t.ftz || t.short_shared_pointers || t.debug || t.has_tmem);
}

static void features_are_ored_in(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90",
                                  "+fma-level=1,-fma-level=2,+prec-divf32=0,"
                                  "+prec-sqrtf32=0,+sharedmem32bitptr,,+ptx80,+tmem");
  assert_int_equal(t.fma_level, 1);
  assert_int_equal(t.prec_div, 0);
  assert_int_equal(t.prec_sqrt, 0);
  assert_int_equal(t.ptx, 80);
  assert_true(t.short_shared_pointers && t.has_tmem);
  assert_int_equal(t.sm, 90);
  assert_int_equal(target_of("sm_90", "+ptx80,+ptx78").ptx, 78); /* the last one wins */
  assert_int_equal(target_of("sm_90", "+ptx80,-ptx80").ptx, 0);
  assert_false(target_of("sm_100a", "-tmem").has_tmem);
  /* what clang writes into the attribute "target-features" */
  assert_int_equal(target_of("sm_90", "+ptx83,+sm_90").ptx, 83);
}

static void assert_refused(const char *features, enum tgt_status status, const char *message) {
  struct tgt_options options = tgt_default_options(), before = options;
  struct tgt_error error;
  char text[200];
  assert_int_equal(tgt_parse_features(&options, features, strlen(features), &error), status);
  tgt_describe_error(&error, text, sizeof text);
  assert_string_equal(text, message);
  assert_memory_equal(options.added, before.added, sizeof options.added);
  assert_memory_equal(options.removed, before.removed, sizeof options.removed);
}

static void wrong_features_are_refused(void **state) {
  (void)state;
  assert_refused("+ptx80,+tmen", TGT_UNKNOWN_FEATURE,
                 "unknown feature 'tmen'; did you mean 'tmem'?");
  assert_refused("tmem", TGT_BAD_FEATURE_SIGN, "expected '+' or '-' before feature 'tmem'");
  assert_refused("+", TGT_UNKNOWN_FEATURE, "unknown feature ''");
  assert_refused("+avx512", TGT_UNKNOWN_FEATURE, "unknown feature 'avx512'");
}

static void ptx_versions(void **state) {
  (void)state;
  struct tgt_options o = tgt_default_options();
  struct tgt_error error;
  struct nvm_target t = {.sm = 7};
  char text[200];
  assert_int_equal(tgt_set_ptx(&o, "7.8", 3, &error), TGT_OK);
  assert_int_equal(tgt_set_cpu(&o, "sm_90a", 6, &error), TGT_OK);
  assert_int_equal(tgt_init(&t, &o, &error), TGT_PTX_TOO_LOW);
  assert_int_equal(t.sm, 7); /* left whole */
  tgt_describe_error(&error, text, sizeof text);
  assert_string_equal(text, "sm_90a requires PTX 8.0 or later; found PTX 7.8");
  assert_int_equal(tgt_set_ptx(&o, "90", 2, &error), TGT_OK);
  assert_int_equal(tgt_init(&t, &o, &error), TGT_OK);
  assert_int_equal(t.ptx, 90);
  static const char *const unknown[] = {"9.1", "5.1", "", "8", "8.", "800", "x.y", "8.0.0"};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    assert_int_equal(tgt_set_ptx(&o, unknown[i], strlen(unknown[i]), &error), TGT_UNKNOWN_PTX);
  tgt_describe_error(&error, text, sizeof text);
  assert_string_equal(text, "unknown PTX version '8.0.0'; expected 3.2 to 9.0");
}

static void an_unknown_cpu_is_named(void **state) {
  (void)state;
  struct tgt_options o = tgt_default_options();
  struct tgt_error error;
  struct nvm_target t;
  char text[200], cut[8];
  assert_int_equal(tgt_init(&t, &o, &error), TGT_NO_CPU);
  assert_int_equal(tgt_set_cpu(&o, "sm_95", 5, &error), TGT_UNKNOWN_CPU);
  tgt_describe_error(&error, text, sizeof text);
  assert_string_equal(text, "unknown CPU 'sm_95'; did you mean 'sm_90'?");
  tgt_describe_error(&error, cut, sizeof cut);
  assert_string_equal(cut, "unknown");
  assert_int_equal(tgt_set_cpu(&o, "sm_80", 5, &error), TGT_OK);
  assert_int_equal(tgt_parse_features(&o, "+sm_90a", 7, &error), TGT_OK);
  assert_int_equal(tgt_init(&t, &o, &error), TGT_CPU_FEATURE);
  tgt_describe_error(&error, text, sizeof text);
  assert_string_equal(text, "feature 'sm_90a' contradicts the CPU; select a CPU with --cpu");
  assert_int_equal(tgt_set_cpu(&o, "sm_90a", 6, &error), TGT_OK);
  assert_int_equal(tgt_init(&t, &o, &error), TGT_OK);
  assert_int_equal(tgt_parse_features(&o, "-sm_90a", 7, &error), TGT_OK);
  assert_int_equal(tgt_init(&t, &o, &error), TGT_CPU_FEATURE);
}

static enum tgt_status nvvm(struct tgt_options *o, const char *option) {
  struct tgt_error error;
  return tgt_parse_nvvm_option(o, option, strlen(option), &error);
}

static void nvvm_options_are_those_of_libnvvm(void **state) {
  (void)state;
  struct tgt_options o = tgt_default_options();
  static const char *const good[] = {"-arch=compute_90a", "-opt=0",       "-ftz=1", "-fma=0",
                                     "-prec-div=0",       "-prec-sqrt=0", "-g"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    assert_int_equal(nvvm(&o, good[i]), TGT_OK);
    assert_int_equal(nvvm(&o, good[i]), TGT_REPEATED_OPTION);
  }
  struct nvm_target t;
  struct tgt_error error;
  assert_int_equal(tgt_init(&t, &o, &error), TGT_OK);
  assert_string_equal(t.cpu->name, "sm_90a");
  assert_int_equal(t.optimization_level, 0);
  assert_int_equal(t.fma_level, 0);
  assert_int_equal(t.prec_div, 1); /* div.full, as nvcc -prec-div=false */
  assert_int_equal(t.prec_sqrt, 0);
  assert_true(t.ftz && t.debug);
  o = tgt_default_options();
  static const char *const bad[] = {
      "-arch=sm_90", "-arch=compute_90f", "-arch=compute_",          "-arch=", "-ftz=2", "-ftz=",
      "-opt=4",      "-opt=33",           "-arch=compute_1234567890"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal(nvvm(&o, bad[i]), TGT_BAD_OPTION_VALUE);
  static const char *const unknown[] = {"--arch=compute_90", "-O3", "-numba-debug", "-g3", "", "-"};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
    assert_int_equal(nvvm(&o, unknown[i]), TGT_UNKNOWN_OPTION);
  assert_null(o.cpu);
}

static void groups_refuse_values_without_a_row(void **state) {
  (void)state;
  struct tgt_options o = tgt_default_options();
  struct tgt_error error;
  assert_int_equal(tgt_set_group(&o, "fma-level", 3, &error), TGT_BAD_OPTION_VALUE);
  assert_int_equal(error.given, 3);
  assert_int_equal(tgt_set_group(&o, "no-such", 0, &error), TGT_BAD_OPTION_VALUE);
}

/* ---- requirements ---- */

static void requirements_are_read(void **state) {
  (void)state;
  struct tgt_requirement r = need("sm_100a|sm_100f|sm_120a ptx88");
  assert_int_equal(r.min_ptx, 88);
  assert_int_equal(r.count, 3);
  assert_int_equal(r.any_of[0], 10011);
  assert_int_equal(r.any_of[1], 10010);
  assert_int_equal(r.any_of[2], 12011);
  assert_false(r.tmem);
  assert_true(need("ptx86 tmem").tmem);
  assert_int_equal(need("").count, 0);
  r = need("sm_30 before_sm_70 ptx40");
  assert_int_equal(r.before_sm, 70);
}

static void wrong_requirements_are_refused_where_they_are_wrong(void **state) {
  static const struct {
    const char *text;
    size_t at;
  } rows[] = {
      {"sm_9x", 0},
      {"sm_90 ptx", 6},
      {"sm_90 sm_100", 6},
      {"sm_90|", 6},
      {"sm_90a|foo", 7},
      {"ptx80 ptx81", 6},
      {"ptx8", 0},
      {"tmem tmem", 5},
      {"sm_090", 0},
      {"sm_90aa", 0},
      {"ptx999", 0},
      {"sm_90||sm_80", 6},
      {"before_sm_", 0},
      {"before_ptx6", 0},
      {"before_ptx65 before_ptx70", 13},
      {"before_sm_9x", 0},
      {"before_sm_70 before_sm_80", 13},
      {"sm_1|sm_1|sm_1|sm_1|sm_1|sm_1|sm_1|sm_1|sm_1", 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tgt_requirement r = {.min_ptx = 1};
    const char *bad;
    assert_false(tgt_parse_requirement(rows[i].text, &r, &bad));
    assert_int_equal(bad - rows[i].text, rows[i].at);
    assert_int_equal(r.min_ptx, 1);
  }
}

/* The gated families: requirement, a CPU, lowest PTX there (0: refused). */
static void gates(void **state) {
  static const struct {
    const char *requirement, *cpu;
    unsigned ptx;
  } rows[] = {
      /* wgmma, setmaxnreg */
      {"sm_90a ptx80", "sm_90a", 80},
      {"sm_90a ptx80", "sm_90", 0},
      {"sm_90a ptx80", "sm_100a", 0},
      {"sm_90a ptx80", "sm_120a", 0},
      /* tcgen05 */
      {"tmem ptx86", "sm_100a", 86},
      {"tmem ptx86", "sm_100f", 88},
      {"tmem ptx86", "sm_101a", 86},
      {"tmem ptx86", "sm_101f", 88},
      {"tmem ptx86", "sm_103a", 88},
      {"tmem ptx86", "sm_103f", 88},
      {"tmem ptx86", "sm_110a", 90},
      {"tmem ptx86", "sm_110f", 90},
      {"tmem ptx86", "sm_100", 0},
      {"tmem ptx86", "sm_120a", 0},
      {"tmem ptx86", "sm_121f", 0},
      {"tmem ptx86", "sm_90a", 0},
      /* mma with block scale */
      {"sm_120a|sm_120f ptx87", "sm_120a", 87},
      {"sm_120a|sm_120f ptx87", "sm_120f", 88},
      {"sm_120a|sm_120f ptx87", "sm_121a", 88},
      {"sm_120a|sm_120f ptx87", "sm_120", 0},
      {"sm_120a|sm_120f ptx87", "sm_100a", 0},
      /* f32x2, 256-bit accesses, clusters */
      {"sm_100 ptx86", "sm_100", 86},
      {"sm_100 ptx86", "sm_121f", 88},
      {"sm_100 ptx86", "sm_90a", 0},
      {"sm_100 ptx88", "sm_100", 88},
      {"sm_90 ptx78", "sm_90", 78},
      {"sm_90 ptx78", "sm_89", 0},
      /* the family rule: f of sm_100 reaches sm_103, not sm_101, not backwards */
      {"sm_100f", "sm_103a", 88},
      {"sm_100f", "sm_103f", 88},
      {"sm_100f", "sm_101f", 0},
      {"sm_103f", "sm_100a", 0},
      {"sm_100f", "sm_103", 0},
      {"", "sm_20", 32},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct nvm_target t = target_of(rows[i].cpu, "");
    struct tgt_requirement r = need(rows[i].requirement);
    if (tgt_ptx_needed(&t, &r) != rows[i].ptx)
      fail_msg("%s on %s: PTX %u", rows[i].requirement, rows[i].cpu, tgt_ptx_needed(&t, &r));
    assert_int_equal(tgt_allows(&t, &r), rows[i].ptx != 0);
    if (rows[i].ptx == 0) continue;
    assert_true(tgt_satisfies(&t, rows[i].ptx, &r));
    assert_false(tgt_satisfies(&t, rows[i].ptx - 1, &r));
  }
}

static void assert_missing(const char *name, const char *features, const char *requirement,
                           const char *message) {
  struct nvm_target t = target_of(name, features);
  struct tgt_requirement r = need(requirement);
  char text[200];
  assert_false(tgt_allows(&t, &r));
  tgt_describe_missing(&t, &r, text, sizeof text);
  assert_string_equal(text, message);
}

static void what_is_missing_is_said(void **state) {
  (void)state;
  assert_missing("sm_90", "", "sm_90a ptx80",
                 "needs sm_90a and PTX 8.0; the target is sm_90; nearest CPU that has it: sm_90a");
  assert_missing("sm_100", "", "tmem ptx86",
                 "needs tensor memory and PTX 8.6; the target is sm_100; nearest CPU that has it: "
                 "sm_100a");
  assert_missing("sm_80", "+ptx70", "sm_80 ptx78",
                 "needs PTX 7.8; the target is sm_80 with PTX 7.0");
  assert_missing("sm_89", "", "sm_90 ptx78",
                 "needs sm_90 or later and PTX 7.8; the target is sm_89; nearest CPU that has it: "
                 "sm_90");
  assert_missing("sm_90a", "", "sm_120a|sm_120f ptx87",
                 "needs sm_120a or sm_120f (or later in its family) and PTX 8.7; the target is "
                 "sm_90a; nearest CPU that has it: sm_120a");
  assert_missing("sm_80", "", "sm_70 before_ptx65 ptx63",
                 "needs sm_70 or later and PTX 6.3 to before 6.5; the target is sm_80; nearest CPU "
                 "that has it: sm_75");
  assert_missing("sm_75", "+ptx70", "sm_70 before_ptx65 ptx63",
                 "needs PTX 6.3 to before 6.5; the target is sm_75 with PTX 7.0");
  assert_missing("sm_70", "", "before_sm_70",
                 "needs a CPU before sm_70; the target is sm_70; nearest CPU that has it: sm_62");
  assert_missing(
      "sm_20", "", "sm_30 before_sm_70",
      "needs sm_30 or later, before sm_70; the target is sm_20; nearest CPU that has it: "
      "sm_30");
}

/* ---- types ---- */

static void types_are_legal_by_cpu(void **state) {
  static const struct {
    const char *cpu, *features;
    enum tgt_scalar scalar;
    unsigned bits, lanes;
    enum tgt_action action;
  } rows[] = {
      {"sm_20", "", TGT_INTEGER, 1, 1, TGT_LEGAL},
      {"sm_20", "", TGT_INTEGER, 7, 1, TGT_PROMOTE},
      {"sm_20", "", TGT_INTEGER, 8, 1, TGT_PROMOTE},
      {"sm_20", "", TGT_INTEGER, 24, 1, TGT_PROMOTE},
      {"sm_20", "", TGT_INTEGER, 32, 1, TGT_LEGAL},
      {"sm_20", "", TGT_INTEGER, 64, 1, TGT_LEGAL},
      {"sm_20", "", TGT_INTEGER, 65, 1, TGT_PROMOTE},
      {"sm_121a", "", TGT_INTEGER, 128, 1, TGT_EXPAND},
      {"sm_121a", "", TGT_INTEGER, 129, 1, TGT_EXPAND},
      {"sm_52", "", TGT_HALF, 16, 1, TGT_PROMOTE},
      {"sm_53", "", TGT_HALF, 16, 1, TGT_LEGAL},
      {"sm_89", "", TGT_BFLOAT, 16, 1, TGT_PROMOTE},
      {"sm_90", "", TGT_BFLOAT, 16, 1, TGT_LEGAL},
      {"sm_20", "", TGT_DOUBLE, 64, 1, TGT_LEGAL},
      {"sm_52", "", TGT_HALF, 16, 2, TGT_SCALARIZE},
      {"sm_53", "", TGT_HALF, 16, 2, TGT_LEGAL},
      {"sm_53", "", TGT_HALF, 16, 8, TGT_SPLIT},
      {"sm_52", "", TGT_HALF, 16, 8, TGT_SCALARIZE},
      {"sm_53", "", TGT_HALF, 16, 3, TGT_SCALARIZE},
      {"sm_90", "", TGT_INTEGER, 16, 2, TGT_LEGAL},
      {"sm_90", "+ptx78", TGT_INTEGER, 16, 2, TGT_SCALARIZE},
      {"sm_90", "", TGT_FLOAT, 32, 2, TGT_SCALARIZE},
      {"sm_90", "", TGT_FLOAT, 32, 4, TGT_SCALARIZE},
      {"sm_90", "", TGT_FLOAT, 32, 8, TGT_SPLIT},
      {"sm_100", "", TGT_FLOAT, 32, 2, TGT_LEGAL},
      {"sm_100", "", TGT_FLOAT, 32, 4, TGT_SPLIT},
      {"sm_103a", "", TGT_FLOAT, 32, 2, TGT_LEGAL},
      {"sm_120", "", TGT_FLOAT, 32, 2, TGT_SCALARIZE}, /* takes .f32x2, and gains nothing */
      {"sm_90", "", TGT_DOUBLE, 64, 2, TGT_SCALARIZE},
      {"sm_90", "", TGT_INTEGER, 1, 32, TGT_SCALARIZE},
      {"sm_90", "", TGT_INTEGER, 8, 128, TGT_SPLIT},
      {"sm_90", "", TGT_INTEGER, 128, 8, TGT_SPLIT},
      {"sm_90", "", TGT_FLOAT, 32, 1, TGT_LEGAL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct nvm_target t = target_of(rows[i].cpu, rows[i].features);
    if (tgt_type_action(&t, rows[i].scalar, rows[i].bits, rows[i].lanes) != rows[i].action)
      fail_msg("row %zu, %s", i, rows[i].cpu);
  }
}

/* However wide a type, its parts end as legal scalars or pairs. */
static void legalization_ends(void **state) {
  static const struct {
    enum tgt_scalar scalar;
    unsigned bits;
  } lane[] = {{TGT_INTEGER, 1},  {TGT_INTEGER, 3},  {TGT_INTEGER, 8},   {TGT_INTEGER, 16},
              {TGT_INTEGER, 32}, {TGT_INTEGER, 64}, {TGT_INTEGER, 128}, {TGT_HALF, 16},
              {TGT_BFLOAT, 16},  {TGT_FLOAT, 32},   {TGT_DOUBLE, 64}};
  (void)state;
  for (int c = 0; c < TGT_CPU_COUNT; c++)
    for (size_t k = 0; k < sizeof lane / sizeof lane[0]; k++)
      for (unsigned lanes = 1; lanes * lane[k].bits <= 1024; lanes++) {
        struct nvm_target t = target_of(tgt_cpus()[c].name, "");
        unsigned now = lanes;
        enum tgt_action action = tgt_type_action(&t, lane[k].scalar, lane[k].bits, now);
        while (action == TGT_SPLIT)
          action = tgt_type_action(&t, lane[k].scalar, lane[k].bits, now /= 2);
        if (action == TGT_LEGAL) {
          assert_in_range(now, 1, 2);
          continue;
        }
        action = tgt_type_action(&t, lane[k].scalar, lane[k].bits, 1); /* by lane, then */
        assert_true(action == TGT_LEGAL || action == TGT_PROMOTE ||
                    (action == TGT_EXPAND && lane[k].bits == 128));
      }
}

static void pairs_of_16_bits_share_a_register(void **state) {
  (void)state;
  assert_true(tgt_pair_fills_register(TGT_HALF, 16));
  assert_true(tgt_pair_fills_register(TGT_BFLOAT, 16));
  assert_true(tgt_pair_fills_register(TGT_INTEGER, 16));
  assert_false(tgt_pair_fills_register(TGT_INTEGER, 8));
  assert_false(tgt_pair_fills_register(TGT_INTEGER, 32));
  assert_false(tgt_pair_fills_register(TGT_FLOAT, 32)); /* has a row, and two registers */
}

static void differences_between_sources_are_told(void **state) {
  (void)state;
  for (int i = 0; i < TGT_DIFFERS_COUNT; i++)
    assert_true(strlen(tgt_differences()[i].description) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_cpu_has_the_version_of_seed_2),
      cmocka_unit_test(cpu_rows_are_sorted_and_imply_themselves),
      cmocka_unit_test(exactly_eight_cpus_imply_tmem),
      cmocka_unit_test(feature_indices_are_those_of_seed_5),
      cmocka_unit_test(cpu_rows_are_those_of_seed_5),
      cmocka_unit_test(ptx_codes_are_those_of_seed_1),
      cmocka_unit_test(unknown_names_are_not_found),
      cmocka_unit_test(the_nearest_name_is_what_was_meant),
      cmocka_unit_test(numbers_of_versions),
      cmocka_unit_test(every_limit_is_a_number_with_a_source),
      cmocka_unit_test(ptx_runs_where_seed_2_says),
      cmocka_unit_test(compatibility_is_a_partial_order),
      cmocka_unit_test(defaults),
      cmocka_unit_test(features_are_ored_in),
      cmocka_unit_test(wrong_features_are_refused),
      cmocka_unit_test(ptx_versions),
      cmocka_unit_test(an_unknown_cpu_is_named),
      cmocka_unit_test(nvvm_options_are_those_of_libnvvm),
      cmocka_unit_test(groups_refuse_values_without_a_row),
      cmocka_unit_test(requirements_are_read),
      cmocka_unit_test(wrong_requirements_are_refused_where_they_are_wrong),
      cmocka_unit_test(gates),
      cmocka_unit_test(what_is_missing_is_said),
      cmocka_unit_test(types_are_legal_by_cpu),
      cmocka_unit_test(legalization_ends),
      cmocka_unit_test(pairs_of_16_bits_share_a_register),
      cmocka_unit_test(differences_between_sources_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
