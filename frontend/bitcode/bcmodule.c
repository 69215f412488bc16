/* The stream: the blocks of its top level, and the MODULE block.
 *
 * The module block is walked twice: first past its inner blocks, to find those that the others need
 * (types, which attributes of some producers precede; names of symbols in streams without a string
 * table), then from its start in order. */
#include "frontend/bitcode/bcmodule.h"

#include "frontend/bitcode/bcattrs.h"
#include "frontend/bitcode/bcconstants.h"
#include "frontend/bitcode/bcfunction.h"
#include "frontend/bitcode/bcmeta.h"
#include "frontend/bitcode/bcorder.h"
#include "frontend/bitcode/bcsymbols.h"
#include "frontend/bitcode/bctypes.h"
#include "frontend/names.h"
#include "frontend/symbols.h"
#include "frontend/types.h"

/* Codes of LLVM's LLVMBitCodes.h. */
enum {
  CODE_VERSION = 1,
  CODE_TRIPLE = 2,
  CODE_LAYOUT = 3,
  CODE_ASM = 4,
  CODE_SECTION = 5,
  CODE_COLLECTOR = 11,
  CODE_SOURCE_FILENAME = 16,
};
enum { CODE_PRODUCER = 1 };
enum { MAX_VERSION = 2, WORD_BYTES = 4, WRAPPER_BYTES = 20 };

static const unsigned char stream_magic[] = {'B', 'C', 0xC0, 0xDE};
static const unsigned char wrapper_magic[] = {0xDE, 0xC0, 0x17, 0x0B};

static bool has_magic(const char *bytes, size_t length, const unsigned char *magic) {
  return length >= WORD_BYTES && memcmp(bytes, magic, WORD_BYTES) == 0;
}

bool bcmodule_is_bitcode(const char *bytes, size_t length) {
  return has_magic(bytes, length, stream_magic) || has_magic(bytes, length, wrapper_magic);
}

/* ---- Small records of the module ---- */

/* One entry for each line; a newline at the end begins no other. */
static bool add_asm(struct reader *r, struct nvm_str str) {
  struct nvm_text text = module_text(r->p.m, str);
  for (size_t at = 0; at < text.length;) {
    const char *newline = memchr(text.bytes + at, '\n', text.length - at);
    size_t end = newline ? (size_t)(newline - text.bytes) : text.length;
    struct nvm_str line = strtab_intern(&r->p.m->strings, text.bytes + at, end - at);
    if (!VEC_PUSH(&r->p.m->arena, &r->p.m->module_asm, line)) return false;
    at = end + 1;
  }
  return true;
}

static bool set_layout(struct reader *r, struct nvm_str layout) {
  struct token place = {reader_place(r), 1, NAME_ESCAPED};
  symbols_set_layout(&r->p, layout, &place);
  return !r->p.refused;
}

static bool set_triple(struct reader *r, struct nvm_str triple) {
  uint32_t place = reader_place(r);
  r->p.m->triple = triple;
  r->p.m->has_triple = true;
  symbols_check_triple(&r->p, place, place + 1);
  return !r->p.refused;
}

static bool read_record(struct reader *r, const struct bits_record *s) {
  switch (s->code) {
    case CODE_TRIPLE: return set_triple(r, reader_string(r, s, 0));
    case CODE_LAYOUT: return set_layout(r, reader_string(r, s, 0));
    case CODE_ASM: return add_asm(r, reader_string(r, s, 0));
    case CODE_SECTION: return VEC_PUSH(&r->p.scratch, &r->sections, reader_string(r, s, 0));
    case CODE_COLLECTOR: return VEC_PUSH(&r->p.scratch, &r->collectors, reader_string(r, s, 0));
    case CODE_SOURCE_FILENAME: r->p.m->source_filename = reader_string(r, s, 0); return true;
    default: return bcsymbols_read(r, s);
  }
}

static bool read_bundle_tag(struct reader *r, const struct bits_record *s) {
  return VEC_PUSH(&r->p.scratch, &r->bundle_tags, reader_string(r, s, 0));
}

static bool read_sync_scope(struct reader *r, const struct bits_record *s) {
  uint32_t scope = module_sync_scope(r->p.m, reader_string(r, s, 0));
  if (scope > MODULE_MAX_SYNC_SCOPE) return reader_fail(r, "too many synchronization scopes");
  return VEC_PUSH(&r->p.scratch, &r->scopes, scope);
}

/* ---- The module block ---- */

static bool read_block(struct reader *r, uint32_t id) {
  switch (id) {
    case BLOCK_ATTRIBUTE_LISTS: return bcattrs_read_lists(r);
    case BLOCK_ATTRIBUTE_GROUPS: return bcattrs_read_groups(r);
    case BLOCK_CONSTANTS: return bcconstants_read(r);
    case BLOCK_FUNCTION: return bcfunction_read(r);
    case BLOCK_METADATA: return bcmeta_read(r);
    case BLOCK_METADATA_KINDS: return bcmeta_read_kinds(r);
    case BLOCK_BUNDLE_TAGS: return reader_block(r, read_bundle_tag);
    case BLOCK_SYNC_SCOPES: return reader_block(r, read_sync_scope);
    default: return reader_skip(r);
  }
}

/* The second walk. */
static bool read_contents(struct reader *r) {
  struct bits_record s;
  enum bits_event event;
  while ((event = reader_next(r, &s)) != BITS_END) {
    if (event == BITS_ERROR) return false;
    if (event == BITS_BLOCK ? !read_block(r, s.code) : !read_record(r, &s)) return false;
  }
  return true;
}

static bool read_version(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1)) return false;
  if (s->numbers[0] > MAX_VERSION)
    return reader_unsupported(r, "a module of a version that nvmini does not know");
  r->version = (uint32_t)s->numbers[0];
  return true;
}

/* The first walk: finds the version and the blocks that are read early. The cursor is at the end of
 * the block then, and has left it. */
static bool find_blocks(struct reader *r, uint64_t *types_at, uint64_t *names_at) {
  struct bits_record s;
  enum bits_event event;
  while ((event = reader_next(r, &s)) != BITS_END) {
    uint64_t at = r->bits.at;
    if (event == BITS_ERROR) return false;
    if (event == BITS_BLOCK && !reader_skip(r)) return false;
    if (event == BITS_BLOCK && s.code == BLOCK_TYPES) *types_at = at;
    if (event == BITS_BLOCK && s.code == BLOCK_NAMES) *names_at = at;
    if (event == BITS_RECORD && s.code == CODE_VERSION && !read_version(r, &s)) return false;
  }
  return true;
}

/* Goes to a block inside of the module block, and back to its start. */
static bool read_early(struct reader *r, uint64_t at, uint64_t start,
                       bool (*read)(struct reader *r)) {
  if (at == 0) return true;
  bits_seek(&r->bits, at);
  if (!read(r)) return false;
  bits_seek(&r->bits, start);
  return true;
}

static bool read_module(struct reader *r, uint64_t at) {
  uint64_t types_at = 0, names_at = 0;
  bits_seek(&r->bits, at);
  if (!reader_enter(r)) return false;
  if (!find_blocks(r, &types_at, &names_at)) return false;
  bits_seek(&r->bits, at);
  if (!reader_enter(r)) return false;
  uint64_t start = r->bits.at;
  if (!read_early(r, types_at, start, bctypes_read)) return false;
  if (r->version < MAX_VERSION && !read_early(r, names_at, start, bcsymbols_read_names))
    return false;
  return read_contents(r) && bcsymbols_finish(r) && bcorder_finish(r);
}

/* ---- The stream ---- */

static bool read_string_table(struct reader *r, const struct bits_record *s) {
  if (s->blob && !r->names.bytes) r->names = (struct nvm_text){s->blob, (size_t)s->blob_size};
  return true;
}

/* "LLVM22.1.0", or the name of another producer. */
static bool read_producer(struct reader *r, const struct bits_record *s) {
  static const char name[] = "LLVM";
  uint32_t k = 0;
  if (s->code != CODE_PRODUCER) return true;
  while (k < s->count && name[k] && s->numbers[k] == (unsigned char)name[k]) k++;
  if (name[k]) return true;
  for (r->producer = 0; k < s->count && s->numbers[k] - '0' < 10 && r->producer < 1000; k++)
    r->producer = r->producer * 10 + (uint32_t)(s->numbers[k] - '0');
  return true;
}

/* Finds the module, and the string table after it. What is left at the end may be padding. */
static bool find_module(struct reader *r, uint64_t *module_at) {
  struct bits_record s;
  enum { PADDING_BITS = 64 };
  while (r->bits.length * 8 - r->bits.at >= PADDING_BITS) {
    enum bits_event event = reader_next(r, &s);
    uint64_t at = r->bits.at;
    if (event == BITS_END) break;
    if (event == BITS_ERROR) return false;
    if (event != BITS_BLOCK) return reader_fail(r, "a record outside of blocks");
    if (s.code == BLOCK_MODULE && *module_at) return reader_unsupported(r, "several modules");
    if (s.code == BLOCK_MODULE) *module_at = at;
    bool is_table = s.code == BLOCK_STRING_TABLE && *module_at;
    bool read = is_table                         ? reader_block(r, read_string_table)
                : s.code == BLOCK_IDENTIFICATION ? reader_block(r, read_producer)
                                                 : reader_skip(r);
    if (!read) return false;
  }
  return *module_at != 0 || reader_fail(r, "the stream contains no module");
}

static uint32_t read_word(const char *bytes) {
  const unsigned char *b = (const unsigned char *)bytes;
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The bytes of the stream: all, or those that a wrapper's header names. */
static bool open_stream(struct reader *r) {
  const char *bytes = r->p.text;
  uint64_t length = (uint64_t)(r->p.limit - bytes), offset = 0;
  if (has_magic(bytes, (size_t)length, wrapper_magic)) {
    if (length < WRAPPER_BYTES) return reader_fail(r, "the wrapper's header is cut off");
    offset = read_word(bytes + 2 * WORD_BYTES);
    uint64_t size = read_word(bytes + 3 * WORD_BYTES);
    if (offset > length || size > length - offset)
      return reader_fail(r, "the wrapper's header names bytes after the end");
    length = size;
  }
  r->base = offset;
  if (!has_magic(bytes + offset, (size_t)length, stream_magic))
    return reader_fail(r, "the wrapper contains no bitcode");
  bits_init(&r->bits, &r->p.scratch, bytes + offset, length);
  bits_seek(&r->bits, WORD_BYTES * 8);
  return true;
}

static bool read_stream(struct reader *r) {
  uint64_t module_at = 0;
  return bcconstants_init(r) && bcmeta_init(r) && bcfunction_init(r) && open_stream(r) &&
         find_module(r, &module_at) && read_module(r, module_at);
}

void bcmodule_read(struct parser *p) {
  struct reader *r = arena_alloc(&p->scratch, sizeof *r);
  if (!r) return;
  r->p = *p;
  bool read = read_stream(r);
  if (read && !r->p.m->has_triple) symbols_check_triple(&r->p, 0, 0);
  if (read) types_finish(&r->p);
  if (read && !r->p.refused) parse_finish(&r->p);
  *p = r->p;
  p->stop |= !read;
}
