/* `nvmini features`: the feature bits of targets. `nvmini triples`: the target triples and data
 * layouts that modules name. */
#include "driver/commands.h"
#include "driver/sheet.h"
#include "target/datalayout.h"
#include "target/triple.h"

#include <string.h>

static bool wants_json(const struct options *o) {
  return strcmp(options_value(o, OPTION_FORMAT_DATA), "json") == 0;
}

/* ---- features ---- */

static bool implies(const struct tgt_cpu *cpu, unsigned index) {
  return (cpu->implies[index >> 6] >> (index & 63) & 1) != 0;
}

/* The CPUs that imply the feature, in the order of the table. */
static void put_implied_by(struct sheet *s, unsigned index) {
  char names[256] = "";
  size_t length = 0;
  for (int i = 0; i < TGT_CPU_COUNT; i++)
    if (implies(&tgt_cpus()[i], index) && length < sizeof names)
      length += (size_t)snprintf(names + length, sizeof names - length, length ? " %s" : "%s",
                                 tgt_cpus()[i].name);
  sheet_format(s, "%s", names);
}

static const struct tgt_feature *feature_of_index(unsigned index) {
  const struct tgt_feature *f = tgt_features();
  while (f->index != index) f++;
  return f;
}

int features_command(const struct options *o) {
  struct sheet s;
  sheet_start(&s, wants_json(o));
  sheet_table(&s, "features",
              "features: +NAME and -NAME of --features; an index is the feature's bit and never "
              "changes",
              "feature", "index", "group", "value", "source", "meaning", "implied by", NULL);
  for (unsigned index = 0; index < TGT_FEATURE_COUNT; index++) {
    const struct tgt_feature *f = feature_of_index(index);
    sheet_text(&s, f->key);
    sheet_number(&s, index);
    if (f->group[0]) sheet_text(&s, f->group), sheet_number(&s, f->value);
    else sheet_absent(&s), sheet_absent(&s);
    sheet_text(&s, f->source);
    sheet_text(&s, f->description);
    put_implied_by(&s, index);
  }
  sheet_end(&s);
  sheet_remark(&s, "Features of one group exclude each other: the last one holds.");
  return sheet_finish(&s);
}

/* ---- triples ---- */

static const char *runtime_name(enum triple_runtime runtime) {
  switch (runtime) {
    case TRIPLE_CUDA: return "CUDA";
    case TRIPLE_NVCL: return "OpenCL";
    case TRIPLE_DIRECTX: return "DirectX";
    case TRIPLE_SPIRV: return "SPIR-V";
    case TRIPLE_NO_RUNTIME: break;
  }
  return "";
}

static void put_triples(struct sheet *s) {
  sheet_table(s, "triples", "triples", "triple", "machine", "runtime", "pointer bits", "layout",
              NULL);
  for (int i = 0; i < TRIPLE_COUNT; i++) {
    struct triple t;
    const char *name = triple_name(i);
    triple_parse(&t, TRIPLE_UNIFIED, name, strlen(name));
    sheet_text(s, name);
    sheet_text(s, t.machine == TRIPLE_NVSASS ? "machine code" : "PTX");
    sheet_text(s, runtime_name(t.runtime));
    if (t.pointer_bits) sheet_number(s, t.pointer_bits);
    else sheet_absent(s);
    sheet_text(s, t.pointer_bits == 64 ? "64-bit" : t.pointer_bits == 32 ? "32-bit" : "");
  }
  sheet_end(s);
}

static void put_layouts(struct sheet *s) {
  static const struct {
    const char *name;
    enum datalayout_variant variant;
  } layouts[] = {{"64-bit", DATALAYOUT_64},
                 {"64-bit, +sharedmem32bitptr", DATALAYOUT_64_SHORT_SHARED},
                 {"32-bit", DATALAYOUT_32}};
  sheet_table(s, "layouts", "data layouts", "layout", "text", NULL);
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    sheet_text(s, layouts[i].name);
    sheet_text(s, datalayout_text(layouts[i].variant));
  }
  sheet_text(s, "libdevice");
  sheet_text(s, datalayout_link_form());
  sheet_end(s);
}

int triples_command(const struct options *o) {
  struct sheet s;
  sheet_start(&s, wants_json(o));
  put_triples(&s);
  put_layouts(&s);
  sheet_remark(&s,
               "Other triples whose first part is nvptx or nvptx64 are accepted too. A module "
               "without a triple has 64-bit\npointers. The layout of libdevice links with every "
               "64-bit layout; other forms of a layout are compared\nitem by item.");
  return sheet_finish(&s);
}
