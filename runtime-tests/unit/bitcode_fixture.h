/* Modules written record by record, and what the reader makes of them: text, or the first error. */
#ifndef NVM_TESTS_BITCODE_FIXTURE_H
#define NVM_TESTS_BITCODE_FIXTURE_H

#include "bits_writer.h"
#include "ir_fixture.h"

#include "frontend/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

enum { WIDTH = 4, TYPES = 17, CONSTANTS = 11, FUNCTION = 12, NAMES = 14, METADATA = 15 };

#define RECORD(w, code, ...)                                  \
  put_record(w, WIDTH, code, (const uint64_t[]){__VA_ARGS__}, \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
#define EMPTY(w, code) put_record(w, WIDTH, code, NULL, 0)

static inline void put_text(struct writer *w, uint32_t code, const char *text) {
  uint64_t numbers[64];
  uint32_t count = 0;
  for (; text[count]; count++) numbers[count] = (unsigned char)text[count];
  put_record(w, WIDTH, code, numbers, count);
}

/* A name for a value id: the record of a symbol table. */
static inline void put_name(struct writer *w, uint32_t code, uint64_t id, const char *text) {
  uint64_t numbers[64] = {id};
  uint32_t count = 1;
  for (; text[count - 1]; count++) numbers[count] = (unsigned char)text[count - 1];
  put_record(w, WIDTH, code, numbers, count);
}

/* Opens a stream and its module block of version 1: names are in a symbol table. */
static inline uint64_t open_module(struct writer *w) {
  *w = (struct writer){.at = 0};
  put(w, 0xDEC04342, 32);
  uint64_t begin = open_block(w, 2, 8, WIDTH);
  RECORD(w, 1, 1);
  put_text(w, 2, "nvptx64-nvidia-cuda");
  return begin;
}

static inline uint64_t open_inner(struct writer *w, uint32_t id) {
  return open_block(w, WIDTH, id, WIDTH);
}
static inline void close_inner(struct writer *w, uint64_t begin) { close_block(w, begin, WIDTH); }

struct result {
  struct arena arena;
  char text[4000];   /* as printed; empty after an error */
  char message[200]; /* of the first error */
  uint64_t place;    /* its byte */
  uint64_t end;      /* the end of its range */
};

/* What fits, and a NUL. */
static inline void copy_text(char *to, size_t room, const char *bytes, size_t length) {
  if (length > room - 1) length = room - 1;
  memcpy(to, bytes, length);
  to[length] = '\0';
}

static inline void read_bytes(struct result *x, const unsigned char *bytes, uint64_t length) {
  *x = (struct result){.place = 0};
  struct nvm_module *m = new_module();
  struct diag_sink sink;
  struct textbuf out;
  arena_init(&x->arena, nvm_default_allocator);
  diag_sink_init(&sink, &x->arena, 20);
  textbuf_init(&out, &x->arena);
  enum nvm_status status = parse_module(m, (const char *)bytes, length, "test", 0, &sink);
  if (status == NVM_OK) status = verify_module(m, &sink, 0);
  if (status == NVM_OK) status = print_module(m, &out);
  if (status == NVM_OK) copy_text(x->text, sizeof x->text, out.bytes, out.length);
  if (sink.list.count) {
    const struct nvm_text message = sink.list.data[0].message;
    copy_text(x->message, sizeof x->message, message.bytes, message.length);
    x->place = sink.list.data[0].range.begin;
    x->end = sink.list.data[0].range.end;
  }
  assert_int_equal(status, sink.error_count ? NVM_REFUSED : NVM_OK);
  arena_free(&x->arena);
  module_destroy(m);
}

static inline void read_stream(struct result *x, const struct writer *w) {
  read_bytes(x, w->bytes, w->at / 8);
}

/* Closes the module and reads the stream; valid until the next call. */
static inline const struct result *read_module(struct writer *w, uint64_t module) {
  static struct result x;
  close_block(w, module, WIDTH);
  read_stream(&x, w);
  return &x;
}

/* Types 0: i32, 1: void, 2: label; the block remains open for more. */
static inline uint64_t open_types(struct writer *w) {
  uint64_t types = open_inner(w, TYPES);
  RECORD(w, 7, 32);
  EMPTY(w, 2);
  EMPTY(w, 5);
  return types;
}

/* Declares void (i32) as type 3 and such a function as value 0; opens its body of one block, where
 * value 1 is the argument. */
static inline uint64_t open_body(struct writer *w) {
  uint64_t types = open_types(w);
  RECORD(w, 21, 0, 1, 0);
  close_inner(w, types);
  RECORD(w, 8, 3, 0, 0, 0, 0, 0, 0, 0);
  uint64_t body = open_inner(w, FUNCTION);
  RECORD(w, 1, 1);
  return body;
}

#endif
