/* Fingerprints: hashes of a function's tables, or of a module's text.
 *
 * The manager takes a fingerprint before and after every pass. A function is hashed by its handles:
 * hashing its text would take two thirds of the time of a checking build. A module is hashed by its
 * text, since module passes are few. The hash of words is FNV-1a, with a shift, because a product
 * carries no bit downwards. */
#include "opt/fingerprint.h"

#include "ir/print.h"

#define FNV_PRIME UINT64_C(0x100000001B3)

static uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * FNV_PRIME;
  return hash ^ hash >> 29;
}

static uint64_t hash_words(uint64_t hash, const uint32_t *words, size_t count) {
  for (size_t k = 0; k < count; k++) hash = hash_word(hash, words[k]);
  return hash;
}

/* Hashes kinds and nodes, not links: a pass may copy a chain unchanged. */
static uint64_t hash_attachments(uint64_t hash, const struct nvm_module *m, uint32_t chain) {
  for (; chain != 0; chain = m->attachments.data[chain].next) {
    const struct attachment *a = &m->attachments.data[chain];
    hash = hash_words(hash, (const uint32_t[]){a->kind.index, a->node.index}, 2);
  }
  return hash_word(hash, 0);
}

static uint64_t hash_header(const struct nvm_function *f) {
  const struct symbol *s = &f->symbol;
  const uint32_t words[] = {
      s->name.index,   s->linkage,      s->visibility,    s->preemption,       s->dll_storage,
      s->unnamed_addr, s->thread_local, s->comdat,        s->section.index,    s->partition.index,
      f->type.index,   f->convention,   f->address_space, f->align_log2,       f->attributes.index,
      f->gc.index,     f->prefix.bits,  f->prologue.bits, f->personality.bits,
  };
  uint64_t hash = hash_words(0, words, sizeof words / sizeof *words);
  for (uint32_t k = 0; f->arg_names && k < function_arg_count(f); k++)
    hash = hash_word(hash, f->arg_names[k].index);
  return hash_attachments(hash, f->module, s->attachments);
}

static uint64_t hash_inst(uint64_t hash, const struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  const uint32_t words[] = {id.index, i->op, i->flags, i->type.index, i->operand_count, i->aux};
  hash = hash_words(hash, words, sizeof words / sizeof *words);
  for (uint32_t k = 0; k < i->operand_count; k++)
    hash = hash_word(hash, inst_operand(f, i, k).bits);
  hash = hash_word(hash, f->names.data[id.index].index);
  hash = hash_word(hash, f->locations.data[id.index].index);
  return hash_attachments(hash, f->module, f->attachments.data[id.index]);
}

/* Independent of the order of edges: a pass that keeps the control flow may invert a branch. */
static uint64_t hash_flow(const struct nvm_function *f) {
  uint64_t sum = 0;
  FOR_EACH_BLOCK (f, b) {
    sum += hash_word(1, b.index);
    for (uint32_t k = 0, n = block_successor_count(f, b); k < n; k++)
      sum += hash_word(hash_word(2, b.index), block_successor(f, b, k).index);
  }
  return sum;
}

struct fingerprint fingerprint_of_function(const struct nvm_function *f) {
  struct fingerprint print = {hash_header(f), hash_flow(f)};
  FOR_EACH_BLOCK (f, b) {
    const uint32_t words[] = {b.index, function_block(f, b)->name.index};
    print.content = hash_words(print.content, words, 2);
    FOR_EACH_INST (f, b, i) print.content = hash_inst(print.content, f, i);
  }
  return print;
}

enum nvm_status fingerprint_of_module(const struct nvm_module *m, struct arena *text,
                                      struct fingerprint *print) {
  struct textbuf b;
  textbuf_init(&b, text);
  enum nvm_status s = print_module(m, &b);
  *print = (struct fingerprint){0, 0};
  for (size_t k = 0; k < b.length; k++)
    print->content = (print->content ^ (unsigned char)b.bytes[k]) * FNV_PRIME;
  arena_reset(text);
  return s;
}
