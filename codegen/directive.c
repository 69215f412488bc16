/* Performance directives of kernels, such as `.maxntid 128, 1, 1`. They come from !nvvm.annotations
 * ("maxntidx", one number for each key) or from string attributes ("nvvm.maxntid" with up to three
 * numbers), which are newer and take precedence. */
#include "codegen/report.h"
#include "codegen/symbol.h"

static const struct nvm_attr *string_attribute(const struct lower *l, struct nvm_attrset set,
                                               const char *key) {
  struct nvm_str s = strtab_find(&l->module->strings, key, strlen(key));
  return s.index ? attrset_find_string(&l->module->attributes, set, s) : NULL;
}

static struct nvm_attrset function_set(const struct lower *l, const struct nvm_function *f) {
  return attrlist_info(&l->module->attributes, f->attributes)->function;
}

/* Reads "128,1,1", up to `limit` numbers; returns how many, 0 if the text has another form. */
static uint32_t parse_numbers(struct nvm_text t, uint32_t *out, uint32_t limit) {
  uint32_t count = 0;
  for (size_t i = 0; i < t.length; i++) {
    uint64_t value = 0;
    size_t begin = i;
    while (i < t.length && t.bytes[i] >= '0' && t.bytes[i] <= '9' && value <= UINT32_MAX)
      value = value * 10 + (uint64_t)(t.bytes[i++] - '0');
    if (i == begin || value > UINT32_MAX || count == limit) return 0;
    if (i < t.length && t.bytes[i] != ',') return 0;
    out[count++] = (uint32_t)value;
  }
  return count;
}

struct directive_reader {
  struct lower *l;
  const struct nvm_function *f;
};

/* Reads the numbers of a string attribute; false if there is none. */
static bool read_attribute(const struct directive_reader *r, const char *key, uint32_t *out,
                           uint32_t limit) {
  struct lower *l = r->l;
  const struct nvm_attr *a = string_attribute(l, function_set(l, r->f), key);
  if (!a) return false;
  if (parse_numbers(module_text(l->module, a->str2), out, limit) == 0)
    report_refuse_symbol(l, &r->f->symbol, key, "its value must be numbers separated by commas");
  return true;
}

static bool read_annotation(const struct directive_reader *r, const char *key, uint32_t *out) {
  uint64_t value;
  if (!annotation_number(r->l, r->l->symbol, key, &value)) return false;
  *out = (uint32_t)value;
  return true;
}

/* Three numbers, from "nvvm.maxntid" or the annotations maxntidx, maxntidy, maxntidz. Missing ones
 * are 1; without any, all are 0. */
static void read_triple(const struct directive_reader *r, const char *attribute,
                        const char *const annotation[3], uint32_t out[3]) {
  if (!read_attribute(r, attribute, out, 3))
    for (int i = 0; i < 3; i++) read_annotation(r, annotation[i], &out[i]);
  if (out[0] | out[1] | out[2])
    for (int i = 0; i < 3; i++)
      if (out[i] == 0) out[i] = 1;
}

static void read_number(const struct directive_reader *r, const char *attribute,
                        const char *annotation, uint32_t *out) {
  if (!read_attribute(r, attribute, out, 1)) read_annotation(r, annotation, out);
}

static void read_cluster(const struct directive_reader *r, struct ptx_performance *p) {
  static const char *const dims[3] = {"cluster_dim_x", "cluster_dim_y", "cluster_dim_z"};
  struct lower *l = r->l;
  read_triple(r, "nvvm.cluster_dim", dims, p->cluster_dim);
  read_number(r, "nvvm.maxclusterrank", "maxclusterrank", &p->maxclusterrank);
  if (p->maxclusterrank == 0) read_annotation(r, "cluster_max_blocks", &p->maxclusterrank);
  if (p->cluster_dim[0]) p->explicit_cluster = true;
  if (p->cluster_dim[0] || p->maxclusterrank)
    report_require(l, TGT_NEED_CLUSTERS, "thread block clusters");
  if (!string_attribute(l, function_set(l, r->f), "nvvm.blocksareclusters")) return;
  if (p->cluster_dim[0] == 0 || p->reqntid[0] == 0)
    report_refuse_symbol(l, &r->f->symbol, "nvvm.blocksareclusters",
                         "it needs nvvm.reqntid and nvvm.cluster_dim");
  p->blocks_are_clusters = report_require(l, TGT_NEED_CLUSTER_GRIDS, "grids given in clusters");
}

void directive_read(struct lower *l, const struct nvm_function *f, struct ptx_function *pf) {
  static const char *const max[3] = {"maxntidx", "maxntidy", "maxntidz"};
  static const char *const req[3] = {"reqntidx", "reqntidy", "reqntidz"};
  struct directive_reader r = {l, f};
  struct ptx_performance *p = &pf->performance;
  read_triple(&r, "nvvm.maxntid", max, p->maxntid);
  read_triple(&r, "nvvm.reqntid", req, p->reqntid);
  read_number(&r, "nvvm.minctasm", "minctasm", &p->minnctapersm);
  read_number(&r, "nvvm.maxnreg", "maxnreg", &p->maxnreg);
  read_cluster(&r, p);
}

/* --- Grid constants --- */

/* !{ptr @k, !"grid_constant", !{i32 1, i32 3}} lists parameters, numbered from 1. */
static bool annotated_grid_constant(const struct lower *l, uint32_t argument) {
  const struct meta_table *t = &l->module->metadata;
  for (const struct annotation *a = annotation_first(l, l->symbol); a; a = annotation_next(l, a)) {
    const struct meta_node *n =
        annotation_is(l, a, "grid_constant") ? meta_as_node(t, a->value) : NULL;
    for (uint32_t i = 0; n && i < n->count; i++) {
      uint64_t number;
      if (annotation_metadata_number(l, meta_operand(t, n, i), &number) &&
          number == (uint64_t)argument + 1)
        return true;
    }
  }
  return false;
}

bool directive_is_grid_constant(struct lower *l, const struct nvm_function *f, uint32_t argument) {
  if (!function_is_kernel(f)) return false;
  struct nvm_attrset set = attrlist_parameter(&l->module->attributes, f->attributes, argument);
  if (!string_attribute(l, set, "nvvm.grid_constant") && !annotated_grid_constant(l, argument))
    return false;
  return report_require(l, TGT_NEED_PARAMETER_ADDRESS, "the address of a grid constant");
}
