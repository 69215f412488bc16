/* Which member of a struct a part of a memcpy has. clang writes what it copies as
 *     !tbaa.struct !{i64 offset, i64 size, !tag, ...}
 * and LLVM's SROA tags the accesses to members likewise (AAMDNodes::adjustForAccess). Without tags,
 * the scale of a block of quantized numbers, a struct of a half, is loaded again after each store
 * of a float. The search is linear in the list. */
#include "opt/memory/copied_tags.h"

/* The tag of the only member that overlaps the bytes, if it has just these; else {0}. */
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
  if (!tag.index || !meta_as_node(&m->metadata, tag)) return;
  module_attach(m, &f->attachments.data[value_index(access)], module_str(m, "tbaa"), tag);
}
