/* Finds the struct member that a part of a memcpy copies. clang lists the members as
 *     !tbaa.struct !{i64 offset, i64 size, !tag, ...}
 * and LLVM's SROA tags accesses in the same manner (AAMDNodes::adjustForAccess). Without tags,
 * the scale of a block of quantized numbers, a struct of a half, is loaded again after each store
 * of a float. The search is linear in the list. */
#include "opt/memory/copied_tags.h"

/* Whether the node is an access tag: !{base type, access type, offset}. */
static bool is_tag(const struct nvm_module *m, struct nvm_meta tag) {
  const struct meta_table *t = &m->metadata;
  const struct meta_node *n = meta_as_node(t, tag);
  nvm_u128 offset;
  return n && !n->name.index && n->count == 3 && meta_as_node(t, meta_operand(t, n, 0)) &&
         meta_as_node(t, meta_operand(t, n, 1)) && meta_is_int(m, meta_operand(t, n, 2), &offset);
}

/* The tag of the only member that overlaps the bytes, if it has exactly these; else {0}. */
static struct nvm_meta tag_of(struct nvm_module *m, const struct meta_node *members,
                              uint64_t offset, uint64_t size) {
  struct nvm_meta tag = {0};
  uint32_t overlapping = 0;
  for (uint32_t k = 0; k + 2 < members->count; k += 3) {
    nvm_u128 at, bytes;
    if (!meta_is_int(m, meta_operand(&m->metadata, members, k), &at) ||
        !meta_is_int(m, meta_operand(&m->metadata, members, k + 1), &bytes))
      return (struct nvm_meta){0};
    if (at >= offset + size || at + bytes <= offset) continue;
    overlapping++;
    if (at == offset && bytes == size) tag = meta_operand(&m->metadata, members, k + 2);
  }
  return overlapping == 1 ? tag : (struct nvm_meta){0};
}

void copied_tags_attach(struct nvm_function *f, uint32_t copy, struct nvm_value access,
                        uint64_t offset, uint64_t size) {
  struct nvm_module *m = f->module;
  if (!copy || value_kind(access) != VALUE_INST) return;
  struct nvm_meta list = module_attachment(m, copy, module_str(m, "tbaa.struct"));
  const struct meta_node *members = meta_as_node(&m->metadata, list);
  if (!members) return;
  struct nvm_meta tag = tag_of(m, members, offset, size);
  if (!tag.index || !is_tag(m, tag)) return;
  module_attach(m, &f->attachments.data[value_index(access)], module_str(m, "tbaa"), tag);
}
