/* What the files of the bitcode reader share: events, errors, strings. */
#include "frontend/bitcode/reader.h"

#include "frontend/report.h"

uint32_t reader_place(const struct reader *r) { return (uint32_t)(r->base + r->begin / 8); }

static bool fail(struct reader *r, enum diag_id id, const char *text) {
  uint32_t place = reader_place(r), length = (uint32_t)(r->p.limit - r->p.text);
  uint32_t end = place < length ? place + 1 : length; /* at the end there is no byte */
  if (!r->p.refused) report(&r->p, id, place, end, text, NULL, NULL);
  r->p.refused = true;
  return false;
}

bool reader_fail(struct reader *r, const char *problem) {
  return fail(r, DIAG_BITCODE_INVALID, problem);
}

bool reader_unsupported(struct reader *r, const char *what) {
  return fail(r, DIAG_BITCODE_UNSUPPORTED, what);
}

/* Real modules have 0.2 parts a byte. Chains of insertvalue, which state a struct of hundreds of
 * members with each instruction of five bytes, have 100. */
enum { FREE_PARTS = 1 << 16, PARTS_A_BYTE = 256 };

uint64_t reader_text_limit(const struct reader *r) {
  uint64_t limit = FREE_PARTS + r->bits.length * PARTS_A_BYTE;
  return limit < UINT32_MAX ? limit : UINT32_MAX;
}

bool reader_spend(struct reader *r, uint64_t parts) {
  if (parts == 0) return true;
  if (parts > reader_text_limit(r) - r->spent)
    return reader_fail(r, "the module is too long when written out");
  r->spent += parts;
  return true;
}

enum bits_event reader_next(struct reader *r, struct bits_record *record) {
  enum bits_event event = bits_next(&r->bits, record);
  r->begin = event == BITS_ERROR ? r->bits.at : record->begin;
  if (event == BITS_ERROR) reader_fail(r, r->bits.problem);
  return event;
}

bool reader_enter(struct reader *r) {
  if (bits_enter(&r->bits)) return true;
  r->begin = r->bits.at;
  return reader_fail(r, r->bits.problem);
}

bool reader_skip(struct reader *r) {
  if (bits_skip(&r->bits)) return true;
  r->begin = r->bits.at;
  return reader_fail(r, r->bits.problem);
}

bool reader_block(struct reader *r, bool (*handle)(struct reader *r, const struct bits_record *)) {
  struct bits_record s;
  enum bits_event event;
  if (!reader_enter(r)) return false;
  while ((event = reader_next(r, &s)) != BITS_END) {
    if (event == BITS_ERROR) return false;
    if (event == BITS_BLOCK ? !reader_skip(r) : !handle(r, &s)) return false;
  }
  return true;
}

bool reader_needs(struct reader *r, const struct bits_record *record, uint32_t count) {
  return record->count >= count || reader_fail(r, "a record is too short");
}

struct nvm_str reader_string(struct reader *r, const struct bits_record *record, uint32_t first) {
  uint32_t count = record->count > first ? record->count - first : 0;
  if (!VEC_ROOM(&r->p.scratch, &r->p.bytes, (uint64_t)count + 1)) return (struct nvm_str){0};
  for (uint32_t i = 0; i < count; i++) r->p.bytes.data[i] = (char)record->numbers[first + i];
  return strtab_intern(&r->p.m->strings, r->p.bytes.data, count);
}
