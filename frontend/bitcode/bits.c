/* The bitstream cursor; see bits.h. */
#include "frontend/bitcode/bits.h"

#include <string.h>

/* Abbreviation numbers with a fixed meaning. */
enum { ABBREVIATION_END, ABBREVIATION_BLOCK, ABBREVIATION_DEFINE, ABBREVIATION_NONE };
enum { FIRST_ABBREVIATION = 4, WORD_BITS = 32, MAX_WIDTH = 64, MAX_VBR_WIDTH = 32 };
enum { BLOCK_INFO = 0, INFO_SET_BLOCK = 1 };

static void set_problem(struct bits *b, uint64_t at, const char *problem) {
  if (b->problem) return;
  b->problem = problem;
  b->at = at;
}

void bits_init(struct bits *b, struct arena *arena, const void *bytes, uint64_t length) {
  *b = (struct bits){
      .arena = arena, .bytes = bytes, .length = length, .end = length * 8, .depth = 1};
  b->scopes[0] = (struct bits_scope){.id = UINT32_MAX, .width = 2, .end = length * 8};
}

static struct bits_scope *innermost(struct bits *b) { return &b->scopes[b->depth - 1]; }

static bool refuse_length(struct bits *b) {
  set_problem(b, b->at, "the block ends inside a record");
  return false;
}

static inline bool has_room(struct bits *b, uint64_t bits) {
  return (!b->problem && b->at <= b->end && bits <= b->end - b->at) || refuse_length(b);
}

/* ---- Numbers ---- */

/* Up to 57 bits at bit offset `at`, the others of the word undefined; bytes after the end are 0. */
static inline uint64_t peek(const struct bits *b, uint64_t at) {
  uint64_t byte = at >> 3, word = 0, left = b->length - byte;
  if (left >= sizeof word && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) {
    memcpy(&word, b->bytes + byte, sizeof word);
  } else {
    for (uint64_t i = 0; i < left && i < sizeof word; i++)
      word |= (uint64_t)b->bytes[byte + i] << i * 8;
  }
  return word >> (at & 7);
}

static inline uint64_t mask_of(uint32_t width) {
  return width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static inline uint64_t read_fixed(struct bits *b, uint32_t width) {
  if (!has_room(b, width)) return 0;
  uint64_t value = peek(b, b->at);
  if (width > 56) {
    value &= mask_of(32);
    value |= peek(b, b->at + 32) << 32;
  }
  b->at += width;
  return value & mask_of(width);
}

static uint64_t read_long_vbr(struct bits *b, uint32_t width) {
  uint64_t more = UINT64_C(1) << (width - 1), value = 0;
  for (uint32_t shift = 0;; shift += width - 1) {
    if (!has_room(b, width)) return 0;
    uint64_t group = peek(b, b->at) & mask_of(width);
    b->at += width;
    if (shift < 64) value |= (group & (more - 1)) << shift;
    if (!(group & more)) return value;
    if (shift >= 64) break;
  }
  set_problem(b, b->at, "a number has more than 64 bits");
  return 0;
}

/* Most numbers have one or two groups. */
static inline uint64_t read_vbr(struct bits *b, uint32_t width) {
  uint64_t more = UINT64_C(1) << (width - 1);
  if (b->problem || b->at > b->end || b->end - b->at < 2 * width || width > 28)
    return read_long_vbr(b, width);
  uint64_t word = peek(b, b->at), high = word >> width;
  if (!(word & more)) {
    b->at += width;
    return word & (more - 1);
  }
  if (high & more) return read_long_vbr(b, width);
  b->at += 2 * width;
  return (word & (more - 1)) | (high & (more - 1)) << (width - 1);
}

uint64_t bits_vbr(struct bits *b, uint32_t width) { return read_vbr(b, width); }

static void align_word(struct bits *b) {
  uint64_t at = (b->at + WORD_BITS - 1) / WORD_BITS * WORD_BITS;
  if (has_room(b, at - b->at)) b->at = at;
}

/* ---- Abbreviations ---- */

static struct bits_operand read_coding(struct bits *b) {
  struct bits_operand o = {CODING_LITERAL, 0};
  if (read_fixed(b, 1)) {
    o.value = read_vbr(b, 8);
    return o;
  }
  o.coding = (uint8_t)read_fixed(b, 3);
  if (o.coding == CODING_FIXED || o.coding == CODING_VBR) {
    o.value = read_vbr(b, 5);
    if (o.value > (o.coding == CODING_FIXED ? MAX_WIDTH : MAX_VBR_WIDTH) ||
        (o.coding == CODING_VBR && o.value == 1))
      set_problem(b, b->at, "a number's width in an abbreviation is out of range");
    if (o.value == 0) o.coding = CODING_LITERAL; /* no bits: the number 0 */
  } else if (o.coding == CODING_LITERAL || o.coding > CODING_BLOB) {
    set_problem(b, b->at, "an abbreviation has an unknown coding");
  }
  return o;
}

/* An array is followed by the coding of its elements; array and blob come last. LLVM defines arrays
 * of elements without bits where a module has no types, but never uses them. */
static bool is_well_formed(const struct bits_operand *o, uint32_t count) {
  if (count == 0) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (o[i].coding == CODING_BLOB && i + 1 != count) return false;
    if (o[i].coding != CODING_ARRAY) continue;
    return i + 2 == count && o[i + 1].coding != CODING_ARRAY && o[i + 1].coding != CODING_BLOB &&
           i > 0;
  }
  return o[0].coding != CODING_BLOB;
}

static struct bits_abbreviation define(struct bits *b) {
  uint64_t begin = b->at, count = read_vbr(b, 5);
  struct bits_abbreviation a = {b->operands.count, 0};
  for (; a.count < count && !b->problem; a.count++) {
    struct bits_operand o = read_coding(b);
    if (!VEC_PUSH(b->arena, &b->operands, o)) set_problem(b, begin, "out of memory");
  }
  if (!b->problem && !is_well_formed(b->operands.data + a.first, a.count))
    set_problem(b, begin, "an abbreviation is malformed");
  return a;
}

static const struct bits_abbreviation *find_abbreviation(struct bits *b, uint32_t number) {
  const struct bits_scope *s = innermost(b);
  uint64_t k = number - FIRST_ABBREVIATION;
  if (k < s->inherited) return &b->info[s->id].list.data[k];
  k = k - s->inherited + s->own;
  if (k < b->local.count) return &b->local.data[k];
  set_problem(b, b->at, "use of an undefined abbreviation");
  return NULL;
}

/* ---- Records ---- */

static void push(struct bits *b, uint64_t number) {
  if (!VEC_PUSH(b->arena, &b->numbers, number)) set_problem(b, b->at, "out of memory");
}

static char decode_char6(uint64_t v) {
  return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"[v & 63];
}

/* A literal takes no bits: all of them together are as many as the bits of the stream at most. */
static uint64_t read_literal(struct bits *b, const struct bits_operand *o) {
  if (b->literals++ >= b->length * 8) set_problem(b, b->at, "too many literals");
  return o->value;
}

static inline uint64_t read_operand(struct bits *b, const struct bits_operand *o) {
  switch ((enum bits_coding)o->coding) {
    case CODING_LITERAL: return read_literal(b, o);
    case CODING_FIXED: return read_fixed(b, (uint32_t)o->value);
    case CODING_VBR: return read_vbr(b, (uint32_t)o->value);
    case CODING_CHAR6: return (unsigned char)decode_char6(read_fixed(b, 6));
    case CODING_ARRAY:
    case CODING_BLOB: break;
  }
  return 0;
}

/* The elements take at least one bit each: no record is longer than what is left of the block. */
static uint64_t read_count(struct bits *b) {
  uint64_t count = read_vbr(b, 6);
  return has_room(b, count) ? count : 0;
}

static void read_array(struct bits *b, const struct bits_operand *element) {
  uint64_t count = read_count(b);
  if (element->coding == CODING_LITERAL)
    set_problem(b, b->at, "the elements of an array have no bits");
  if (!VEC_ROOM(b->arena, &b->numbers, b->numbers.count + count))
    set_problem(b, b->at, "out of memory");
  for (uint64_t i = 0; i < count && !b->problem; i++)
    b->numbers.data[b->numbers.count++] = read_operand(b, element);
}

static void read_blob(struct bits *b, struct bits_record *r) {
  uint64_t size = read_vbr(b, 6);
  align_word(b);
  if (b->problem || size > UINT64_MAX / 16 || !has_room(b, size * 8)) return;
  r->blob = (const char *)b->bytes + b->at / 8;
  r->blob_size = size;
  b->at += size * 8;
  align_word(b);
}

static void set_code(struct bits *b, struct bits_record *r, uint64_t code) {
  if (code > UINT32_MAX) set_problem(b, b->at, "the code of a record is out of range");
  r->code = (uint32_t)code;
}

static void read_abbreviated(struct bits *b, struct bits_record *r, uint32_t number) {
  const struct bits_abbreviation *a = find_abbreviation(b, number);
  if (!a) return;
  const struct bits_operand *o = b->operands.data + a->first, *end = o + a->count;
  set_code(b, r, read_operand(b, o++));
  for (; o < end && !b->problem; o++) {
    if (o->coding == CODING_ARRAY) read_array(b, ++o);
    else if (o->coding == CODING_BLOB) read_blob(b, r);
    else push(b, read_operand(b, o));
  }
}

static void read_plain(struct bits *b, struct bits_record *r) {
  set_code(b, r, read_vbr(b, 6));
  uint64_t count = read_count(b);
  if (!VEC_ROOM(b->arena, &b->numbers, count)) set_problem(b, b->at, "out of memory");
  for (uint64_t i = 0; i < count && !b->problem; i++)
    b->numbers.data[b->numbers.count++] = read_vbr(b, 6);
}

/* ---- Blocks ---- */

static bool leave(struct bits *b) {
  align_word(b);
  if (!b->problem && b->at != b->end) set_problem(b, b->at, "the length of the block is wrong");
  if (b->depth <= 1) set_problem(b, b->at, "end of a block outside of blocks");
  if (b->problem) return false;
  b->local.count = innermost(b)->own;
  b->depth--;
  b->end = innermost(b)->end;
  return true;
}

/* The header of a block after its id. */
static bool read_header(struct bits *b, uint32_t id, struct bits_scope *s) {
  s->id = id;
  s->width = (uint32_t)read_vbr(b, 4);
  align_word(b);
  uint64_t words = read_fixed(b, WORD_BITS);
  if (!has_room(b, words * WORD_BITS)) return false;
  if (s->width < 2 || s->width > WORD_BITS) {
    set_problem(b, b->at, "the width of abbreviation numbers is out of range");
    return false;
  }
  s->end = b->at + words * WORD_BITS;
  s->inherited = id < BITS_KNOWN_BLOCKS ? b->info[id].list.count : 0;
  s->own = b->local.count;
  return true;
}

/* The id of a block: the cursor is after ABBREVIATION_BLOCK. */
static uint32_t read_id(struct bits *b) {
  uint64_t id = read_vbr(b, 8);
  if (id > UINT32_MAX) set_problem(b, b->at, "the id of a block is out of range");
  return (uint32_t)id;
}

static bool open_block(struct bits *b, struct bits_scope *s) {
  uint32_t id = read_id(b);
  return read_header(b, id, s);
}

bool bits_skip(struct bits *b) {
  struct bits_scope s;
  if (!open_block(b, &s)) return false;
  b->at = s.end;
  return true;
}

bool bits_enter(struct bits *b) {
  struct bits_scope s;
  if (!open_block(b, &s)) return false;
  if (b->depth > BITS_MAX_DEPTH) {
    set_problem(b, b->at, "blocks are nested too deeply");
    return false;
  }
  b->scopes[b->depth++] = s;
  b->end = s.end;
  return true;
}

void bits_seek(struct bits *b, uint64_t at) {
  if (!b->problem) b->at = at;
}

/* The block info: abbreviations for other blocks. Those for unknown ones are not kept. */
static bool read_info(struct bits *b) {
  struct bits_record r;
  uint32_t id = BITS_KNOWN_BLOCKS;
  if (!bits_enter(b)) return false;
  for (;;) {
    uint64_t number = read_fixed(b, innermost(b)->width);
    if (b->problem) return false;
    if (number == ABBREVIATION_END) return leave(b);
    if (number == ABBREVIATION_DEFINE) {
      struct bits_abbreviation a = define(b);
      if (id < BITS_KNOWN_BLOCKS && !VEC_PUSH(b->arena, &b->info[id].list, a))
        set_problem(b, b->at, "out of memory");
    } else if (number == ABBREVIATION_NONE) {
      b->numbers.count = 0;
      read_plain(b, &r);
      if (!b->problem && r.code == INFO_SET_BLOCK && b->numbers.count > 0)
        id = b->numbers.data[0] < BITS_KNOWN_BLOCKS ? (uint32_t)b->numbers.data[0]
                                                    : BITS_KNOWN_BLOCKS;
    } else {
      set_problem(b, b->at, "unexpected contents of the block info");
    }
  }
}

/* A block, of which the cursor is before the id: reads the block info here. */
static bool handle_block(struct bits *b, struct bits_record *r, enum bits_event *event) {
  uint64_t at = b->at;
  r->code = read_id(b);
  b->at = b->problem ? b->at : at;
  *event = b->problem ? BITS_ERROR : BITS_BLOCK;
  if (b->problem || r->code != BLOCK_INFO) return true;
  bool known = at < b->info_end;
  if (known ? bits_skip(b) : read_info(b)) {
    if (!known) b->info_end = b->at;
    return false;
  }
  *event = BITS_ERROR;
  return true;
}

/* The stream itself has blocks only, and ends where no word is left. */
static bool at_end_of_stream(struct bits *b) {
  return b->depth == 1 && b->scopes[0].end - b->at < WORD_BITS;
}

enum bits_event bits_next(struct bits *b, struct bits_record *r) {
  enum bits_event event = BITS_ERROR;
  while (!b->problem) {
    *r = (struct bits_record){.begin = b->at};
    if (at_end_of_stream(b)) return BITS_END;
    uint64_t number = read_fixed(b, innermost(b)->width);
    if (b->problem) break;
    if (number == ABBREVIATION_END) return leave(b) ? BITS_END : BITS_ERROR;
    if (number == ABBREVIATION_BLOCK) {
      if (handle_block(b, r, &event)) return event;
      continue;
    }
    if (number == ABBREVIATION_DEFINE) {
      struct bits_abbreviation a = define(b);
      if (!VEC_PUSH(b->arena, &b->local, a)) set_problem(b, b->at, "out of memory");
      continue;
    }
    b->numbers.count = 0;
    if (number == ABBREVIATION_NONE) read_plain(b, r);
    else read_abbreviated(b, r, (uint32_t)number);
    r->numbers = b->numbers.data;
    r->count = b->numbers.count;
    return b->problem ? BITS_ERROR : BITS_RECORD;
  }
  return BITS_ERROR;
}
