/* Performance directives of kernels, such as `.maxntid 128, 1, 1`: analysis/launch_bounds.h. */
#include "analysis/launch_bounds.h"
#include "codegen/report.h"
#include "codegen/symbol.h"

struct directive_reader {
  struct lower *l;
  const struct nvm_function *f;
};

static void check(const struct directive_reader *r, const char *attribute, bool valid) {
  if (!valid)
    report_refuse_symbol(r->l, &r->f->symbol, attribute,
                         "its value must be numbers separated by commas");
}

static void read_triple(const struct directive_reader *r, const char *attribute,
                        const char *const annotations[3], uint32_t out[3]) {
  check(r, attribute,
        launch_bounds_triple(r->l->annotations, r->l->symbol, attribute, annotations, out));
}

static void read_number(const struct directive_reader *r, const char *attribute,
                        const char *annotation, uint32_t *out) {
  check(r, attribute,
        launch_bounds_number(r->l->annotations, r->l->symbol, attribute, annotation, out));
}

static void read_cluster(const struct directive_reader *r, struct ptx_performance *p) {
  static const char *const dims[3] = {"cluster_dim_x", "cluster_dim_y", "cluster_dim_z"};
  struct lower *l = r->l;
  read_triple(r, "nvvm.cluster_dim", dims, p->cluster_dim);
  read_number(r, "nvvm.maxclusterrank", "maxclusterrank", &p->maxclusterrank);
  uint64_t most;
  if (p->maxclusterrank == 0 &&
      annotation_number(l->annotations, l->symbol, "cluster_max_blocks", &most))
    p->maxclusterrank = (uint32_t)most;
  if (p->cluster_dim[0]) p->explicit_cluster = true;
  if (p->cluster_dim[0] || p->maxclusterrank)
    report_require(l, TGT_NEED_CLUSTERS, "thread block clusters");
  if (!function_string_attribute(r->f, "nvvm.blocksareclusters")) return;
  if (p->cluster_dim[0] == 0 || p->reqntid[0] == 0)
    report_refuse_symbol(l, &r->f->symbol, "nvvm.blocksareclusters",
                         "it needs nvvm.reqntid and nvvm.cluster_dim");
  p->blocks_are_clusters = report_require(l, TGT_NEED_CLUSTER_GRIDS, "grids given in clusters");
}

void directive_read(struct lower *l, const struct nvm_function *f, struct ptx_function *pf) {
  struct directive_reader r = {l, f};
  struct ptx_performance *p = &pf->performance;
  read_triple(&r, "nvvm.maxntid", launch_bounds_most, p->maxntid);
  read_triple(&r, "nvvm.reqntid", launch_bounds_required, p->reqntid);
  read_number(&r, "nvvm.minctasm", "minctasm", &p->minnctapersm);
  read_number(&r, "nvvm.maxnreg", "maxnreg", &p->maxnreg);
  read_cluster(&r, p);
}

/* --- Grid constants --- */

/* !{ptr @k, !"grid_constant", !{i32 1, i32 3}} lists parameters, numbered from 1. */
static bool annotated_grid_constant(const struct lower *l, uint32_t argument) {
  const struct meta_table *t = &l->module->metadata;
  const struct annotations *all = l->annotations;
  for (const struct annotation *a = annotation_first(all, l->symbol); a;
       a = annotation_next(all, a)) {
    const struct meta_node *n =
        annotation_is(all, a, "grid_constant") ? meta_as_node(t, a->value) : NULL;
    for (uint32_t i = 0; n && i < n->count; i++) {
      nvm_u128 number;
      if (meta_is_int(l->module, meta_operand(t, n, i), &number) &&
          number == (uint64_t)argument + 1)
        return true;
    }
  }
  return false;
}

bool directive_is_grid_constant(struct lower *l, const struct nvm_function *f, uint32_t argument) {
  if (!function_is_kernel(f)) return false;
  if (!function_parameter_string(f, argument, "nvvm.grid_constant") &&
      !annotated_grid_constant(l, argument))
    return false;
  return report_require(l, TGT_NEED_PARAMETER_ADDRESS, "the address of a grid constant");
}
