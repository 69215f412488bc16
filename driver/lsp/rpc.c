/* Framing. A header is some lines `Name: value`, each with CR LF at its end, and an empty line;
 * `Content-Length` is the one that matters. A lone LF is accepted too. */
#include "driver/lsp/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

enum { READ_STEP = 1 << 16 };

void rpc_free(struct rpc *r) {
  free(r->bytes);
  r->bytes = NULL;
}

/* ---- Input ---- */

/* The value of Content-Length, saturated; false if it is not a number. */
static bool read_length(const char *at, const char *end, uint64_t *length) {
  *length = 0;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
  if (at == end) return false;
  for (; at < end; at++) {
    if (*at < '0' || *at > '9') return false;
    if (*length < UINT64_MAX / 16) *length = *length * 10 + (uint64_t)(*at - '0');
  }
  return true;
}

/* Reads the lines of a header from `at`. *after: the byte after it, NULL if it is not all there.
 * False: it is there and has no valid length. */
static bool read_header(const char *at, const char *limit, const char **after, uint64_t *length) {
  static const char name[] = "content-length:";
  bool found = false, valid = true;
  *after = NULL;
  for (;;) {
    const char *line = at, *end = memchr(at, '\n', (size_t)(limit - at));
    if (!end) return true;
    at = end + 1;
    if (end > line && end[-1] == '\r') end--;
    if (end == line) break;
    if ((size_t)(end - line) < sizeof name - 1 || strncasecmp(line, name, sizeof name - 1) != 0)
      continue;
    valid = valid && !found && read_length(line + sizeof name - 1, end, length);
    found = true;
  }
  *after = at;
  return found && valid;
}

static void skip(struct rpc *r) {
  size_t there = r->end - r->begin;
  if (there > r->skip) there = (size_t)r->skip;
  r->begin += there;
  r->skip -= there;
}

enum rpc_event rpc_next(struct rpc *r, struct nvm_text *message) {
  skip(r);
  while (r->begin < r->end && (r->bytes[r->begin] == '\r' || r->bytes[r->begin] == '\n'))
    r->begin++; /* blank lines between messages */
  if (r->begin == r->end) return r->ended ? RPC_END : RPC_NOTHING;
  const char *at = r->bytes + r->begin, *limit = r->bytes + r->end, *after;
  uint64_t length = 0;
  bool valid = read_header(at, limit, &after, &length);
  if (!after && limit - at > RPC_MAX_HEADER) {
    r->begin = r->end;
    return RPC_BAD_HEADER;
  }
  if (!after) return r->ended ? RPC_END : RPC_NOTHING;
  if (!valid || length > RPC_MAX_MESSAGE) {
    r->begin += (size_t)(after - at);
    if (valid) r->skip = length;
    return valid ? RPC_TOO_LONG : RPC_BAD_HEADER;
  }
  if ((uint64_t)(limit - after) < length) return r->ended ? RPC_END : RPC_NOTHING;
  *message = (struct nvm_text){after, (size_t)length};
  r->begin += (size_t)(after - at) + (size_t)length;
  return RPC_MESSAGE;
}

/* Room for READ_STEP bytes after what is not yet used. The buffer shrinks after a large message. */
static bool make_room(struct rpc *r) {
  size_t used = r->end - r->begin, wanted = used + READ_STEP;
  if (r->begin > 0 && used > 0) memmove(r->bytes, r->bytes + r->begin, used);
  r->begin = 0;
  r->end = used;
  if (wanted <= r->capacity && (r->capacity <= 16 * READ_STEP || wanted > r->capacity / 4))
    return true;
  size_t capacity = wanted > 2 * READ_STEP ? wanted + wanted / 2 : 2 * READ_STEP;
  char *bytes = realloc(r->bytes, capacity);
  if (!bytes) return wanted <= r->capacity;
  r->bytes = bytes;
  r->capacity = capacity;
  return true;
}

void rpc_fill(struct rpc *r) {
  if (r->ended) return;
  if (r->capacity - r->end < READ_STEP && !make_room(r)) {
    r->ended = true;
    return;
  }
  ssize_t count;
  do {
    count = read(r->in, r->bytes + r->end, r->capacity - r->end);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) r->ended = true;
  else r->end += (size_t)count;
}

/* ---- Output ---- */

static void send_bytes(struct rpc *r, const char *bytes, size_t length) {
  while (length > 0 && !r->broken) {
    ssize_t count = write(r->out, bytes, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) r->broken = true;
    else bytes += count, length -= (size_t)count;
  }
}

void rpc_send(struct rpc *r, struct nvm_text message) {
  char header[64];
  int length = snprintf(header, sizeof header, "Content-Length: %zu\r\n\r\n", message.length);
  send_bytes(r, header, (size_t)length);
  send_bytes(r, message.bytes, message.length);
}
