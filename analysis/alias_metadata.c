/* Metadata of accesses in alias analysis: scoped noalias lists, and struct-path TBAA (LLVM's
 * LangRef: accesses may alias if one is to a member on the access path of the other). */
#include "analysis/alias_internal.h"

enum {
  MAX_SCOPES = 64, /* of one list */
  MAX_TBAA = 64,   /* steps into a type */
};

static const struct meta_node *attached(const struct alias_env *e, struct nvm_inst_id i,
                                        struct nvm_str kind) {
  if (i.index == 0 || i.index >= e->f->attachments.count || e->f->attachments.data[i.index] == 0)
    return NULL;
  const struct nvm_module *m = e->f->module;
  return meta_as_node(&m->metadata, module_attachment(m, e->f->attachments.data[i.index], kind));
}

static bool list_has(const struct meta_table *t, const struct meta_node *list, struct nvm_meta m) {
  for (uint32_t k = 0; k < list->count; k++)
    if (meta_operand(t, list, k).index == m.index) return true;
  return false;
}

static struct nvm_meta domain_of(const struct meta_table *t, struct nvm_meta scope) {
  const struct meta_node *n = meta_as_node(t, scope);
  return n && n->count >= 2 ? meta_operand(t, n, 1) : (struct nvm_meta){0};
}

/* Whether, in some domain, all scopes of access a are in the noalias list of access b. */
static bool scopes_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b) {
  const struct meta_table *t = &e->f->module->metadata;
  const struct meta_node *scopes = attached(e, a, e->scope), *noalias = attached(e, b, e->noalias);
  if (!scopes || !noalias || scopes->count > MAX_SCOPES || noalias->count > MAX_SCOPES)
    return false;
  for (uint32_t k = 0; k < scopes->count; k++) {
    struct nvm_meta domain = domain_of(t, meta_operand(t, scopes, k));
    bool all = domain.index != 0;
    for (uint32_t n = 0; n < scopes->count && all; n++) {
      struct nvm_meta scope = meta_operand(t, scopes, n);
      if (domain_of(t, scope).index == domain.index) all = list_has(t, noalias, scope);
    }
    if (all) return true;
  }
  return false;
}

struct tbaa_place {
  struct nvm_meta type;
  uint64_t offset;
};

static bool meta_number(const struct nvm_module *m, struct nvm_meta operand, uint64_t *n) {
  const struct meta_item *item = meta_item(&m->metadata, operand);
  nvm_u128 value;
  if (item->kind != META_VALUE || !const_is_int(m, item->value, &value)) return false;
  *n = (uint64_t)value;
  return true;
}

/* Reads !{base, access, offset}; false: no tag, or another form. */
static bool read_tag(const struct alias_env *e, struct nvm_inst_id i, struct tbaa_place *base,
                     bool *constant) {
  const struct nvm_module *m = e->f->module;
  const struct meta_node *n = attached(e, i, e->tbaa);
  uint64_t flag = 0;
  if (!n || n->name.index || n->count < 3 || n->count > 4) return false;
  base->type = meta_operand(&m->metadata, n, 0);
  if (n->count == 4) meta_number(m, meta_operand(&m->metadata, n, 3), &flag);
  *constant = flag & 1;
  return meta_as_node(&m->metadata, base->type) &&
         meta_number(m, meta_operand(&m->metadata, n, 2), &base->offset);
}

/* Moves to the member at the place's offset or, for a scalar, to its parent type. False at the
 * root.
 */
static bool tbaa_enter(const struct nvm_module *m, struct tbaa_place *p) {
  const struct meta_node *n = meta_as_node(&m->metadata, p->type);
  if (!n || n->name.index || n->count < 2) return false;
  if (meta_item(&m->metadata, meta_operand(&m->metadata, n, 0))->kind != META_STRING) return false;
  struct tbaa_place inner = {meta_operand(&m->metadata, n, 1), p->offset};
  for (uint32_t k = 1; k + 1 < n->count; k += 2) {
    uint64_t at;
    if (!meta_number(m, meta_operand(&m->metadata, n, k + 1), &at) || at > p->offset) break;
    inner = (struct tbaa_place){meta_operand(&m->metadata, n, k), p->offset - at};
  }
  *p = inner;
  return true;
}

/* Whether `to` is on the access path from `from`; if not, *root is the end of that path. */
static bool tbaa_reaches(const struct nvm_module *m, struct tbaa_place from, struct tbaa_place to,
                         struct nvm_meta *root, bool *odd) {
  for (int n = 0; n < MAX_TBAA; n++) {
    if (from.type.index == to.type.index && from.offset == to.offset) return true;
    *root = from.type;
    if (!tbaa_enter(m, &from)) {
      const struct meta_node *r = meta_as_node(&m->metadata, *root);
      *odd = !r || r->count != 1; /* a root has only a name */
      return false;
    }
  }
  *odd = true;
  return false;
}

static bool tbaa_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b) {
  const struct nvm_module *m = e->f->module;
  struct tbaa_place x, y;
  bool constant, odd_x, odd_y;
  struct nvm_meta root_x, root_y;
  if (!read_tag(e, a, &x, &constant) || !read_tag(e, b, &y, &constant)) return false;
  if (tbaa_reaches(m, x, y, &root_x, &odd_x) || tbaa_reaches(m, y, x, &root_y, &odd_y))
    return false;
  return !odd_x && !odd_y && root_x.index == root_y.index;
}

bool alias_metadata_apart(const struct alias_env *e, struct nvm_inst_id a, struct nvm_inst_id b) {
  return scopes_apart(e, a, b) || scopes_apart(e, b, a) || tbaa_apart(e, a, b);
}

bool alias_metadata_constant(const struct alias_env *e, struct nvm_inst_id access) {
  struct tbaa_place place;
  bool constant;
  return attached(e, access, e->invariant) || (read_tag(e, access, &place, &constant) && constant);
}
