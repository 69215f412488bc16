/* The LLVM bitstream container: a cursor over nested blocks of records.
 *
 * A stream is a sequence of bits, low bit of each byte first. A block has an id, the width of its
 * abbreviation numbers, and its length in words of 32 bits. A record is a code and numbers, coded
 * plainly or by an abbreviation, which a block or the block info of the stream defines. See LLVM's
 * "LLVM Bitcode File Format"; what the numbers mean is the business of the reader.
 *
 * Every read is checked against the end of the innermost block. After the first error the cursor
 * returns BITS_ERROR only, `problem` says what was wrong, and `at` where. */
#ifndef NVM_FRONTEND_BITCODE_BITS_H
#define NVM_FRONTEND_BITCODE_BITS_H

#include "support/vec.h"

enum bits_event { BITS_ERROR, BITS_END, BITS_BLOCK, BITS_RECORD };

enum {
  BITS_MAX_DEPTH = 8,     /* nested blocks that a reader enters */
  BITS_KNOWN_BLOCKS = 32, /* block ids whose abbreviations are kept */
};

enum bits_coding {
  CODING_LITERAL,
  CODING_FIXED,
  CODING_VBR,
  CODING_ARRAY,
  CODING_CHAR6,
  CODING_BLOB
};

/* How one number of an abbreviated record is coded. */
struct bits_operand {
  uint8_t coding; /* enum bits_coding */
  uint64_t value; /* the literal, or the width */
};

struct bits_abbreviation {
  uint32_t first, count; /* into the pool of operands */
};

/* The abbreviations that one block, or the block info for one block id, defines. */
struct bits_list {
  VEC(struct bits_abbreviation) list;
};

struct bits_scope {
  uint32_t id;
  uint32_t width;     /* of abbreviation numbers */
  uint64_t end;       /* bit offset */
  uint32_t inherited; /* abbreviations from the block info */
  uint32_t own;       /* count of `local` when the block was entered */
};

struct bits_record {
  uint32_t code;      /* of a record; the id of a block */
  uint32_t count;     /* numbers */
  uint64_t *numbers;  /* valid until the next record */
  const char *blob;   /* NULL: none */
  uint64_t blob_size; /* bytes */
  uint64_t begin;     /* bit offset of the record or block */
};

struct bits {
  struct arena *arena; /* for tables; borrowed */
  const unsigned char *bytes;
  uint64_t length; /* bytes */
  uint64_t at;     /* bit offset of the next bit */
  uint64_t end;    /* bit offset: the end of the innermost block */
  const char *problem;
  uint32_t depth; /* scopes in use; scopes[0] is the whole stream */
  struct bits_scope scopes[BITS_MAX_DEPTH + 1];
  struct bits_list info[BITS_KNOWN_BLOCKS];
  uint64_t info_end; /* bit offset: the block info before it was read already */
  VEC(struct bits_abbreviation) local;
  VEC(struct bits_operand) operands; /* pool, of all abbreviations */
  VEC(uint64_t) numbers;
  uint64_t literals; /* read so far */
};

/* A cursor at the start of `bytes`, which are borrowed. */
void bits_init(struct bits *b, struct arena *arena, const void *bytes, uint64_t length);
/* The next event in the innermost block: the end of the block, which is then left; the start of an
 * inner block, to be entered or skipped; a record. Definitions of abbreviations and the block info
 * are handled inside. */
enum bits_event bits_next(struct bits *b, struct bits_record *r);
/* After BITS_BLOCK: goes into the block, or past it. False after an error. */
bool bits_enter(struct bits *b);
bool bits_skip(struct bits *b);
/* Continues at another place of the innermost block: `at` is a bit offset seen there before. */
void bits_seek(struct bits *b, uint64_t at);
/* A number outside of records: in groups of `width` bits (2 to 32), the highest bit of each group
 * saying that another one follows. 0 after an error. */
uint64_t bits_vbr(struct bits *b, uint32_t width);

/* A signed number as LLVM stores it: the sign in bit 0. */
static inline uint64_t bits_signed(uint64_t v) {
  if (v == 1) return UINT64_C(1) << 63;
  return v & 1 ? 0 - (v >> 1) : v >> 1;
}

#endif
