/* One request and one answer of HTTP/1.1 (RFC 9112): no transfer codings, one request for each
 * connection. */
#include "driver/serve/serve.h"

#include <string.h>
#include <strings.h>

/* ---- Requests ---- */

static bool is(struct nvm_text t, const char *word) {
  return t.length == strlen(word) && memcmp(t.bytes, word, t.length) == 0;
}

static bool is_header(struct nvm_text name, const char *word) {
  return name.length == strlen(word) && strncasecmp(name.bytes, word, name.length) == 0;
}

/* The text before `c`, which is skipped; all of it if there is no such byte. */
static struct nvm_text take_until(struct nvm_text *rest, char c) {
  const char *found = memchr(rest->bytes, c, rest->length);
  struct nvm_text t = {rest->bytes, found ? (size_t)(found - rest->bytes) : rest->length};
  size_t used = t.length + (found ? 1 : 0);
  rest->bytes += used, rest->length -= used;
  return t;
}

static struct nvm_text trimmed(struct nvm_text t) {
  while (t.length && (*t.bytes == ' ' || *t.bytes == '\t')) t.bytes++, t.length--;
  while (t.length && strchr(" \t", t.bytes[t.length - 1])) t.length--;
  return t;
}

/* What the headers say about the body. */
struct body_facts {
  size_t length;
  bool has_length, is_coded;
};

static int read_length(struct nvm_text value, struct body_facts *body) {
  size_t length = 0;
  if (value.length == 0 || value.length > 12) return 400;
  for (size_t i = 0; i < value.length; i++) {
    if (value.bytes[i] < '0' || value.bytes[i] > '9') return 400;
    length = length * 10 + (size_t)(value.bytes[i] - '0');
  }
  if (body->has_length && body->length != length) return 400;
  body->length = length, body->has_length = true;
  return HTTP_OK;
}

/* A name is a token (RFC 9110, 5.6.2): a blank, which a continued line begins with, is none. */
static bool is_token(struct nvm_text t) {
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < t.length; i++) {
    char c = t.bytes[i];
    bool right = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 (c != '\0' && strchr(others, c));
    if (!right) return false;
  }
  return t.length > 0;
}

static int read_header(struct nvm_text line, struct http_request *r, struct body_facts *body) {
  struct nvm_text value = line, name = take_until(&value, ':');
  if (name.length == line.length || !is_token(name)) return 400;
  value = trimmed(value);
  if (is_header(name, "content-length")) return read_length(value, body);
  if (is_header(name, "transfer-encoding")) body->is_coded = true;
  if (is_header(name, "host")) {
    if (r->has_host) return 400;
    r->host = value, r->has_host = true;
  }
  if (is_header(name, "origin")) {
    if (r->has_origin) return 400;
    r->origin = value, r->has_origin = true;
  }
  if (is_header(name, "expect")) r->expects_continue = is_header(value, "100-continue");
  return HTTP_OK;
}

static int read_first_line(struct nvm_text line, struct http_request *r) {
  r->method = take_until(&line, ' ');
  struct nvm_text target = take_until(&line, ' ');
  bool known_version = is(line, "HTTP/1.1") || is(line, "HTTP/1.0");
  if (!known_version) return text_begins(line, "HTTP/") ? 505 : 400;
  if (target.length == 0 || *target.bytes != '/') return 400;
  r->path = take_until(&target, '?');
  r->query = target;
  return HTTP_OK;
}

/* The length of the head with its empty line; 0: not complete. */
static size_t head_length(struct nvm_text bytes) {
  for (size_t i = 0; i + 3 < bytes.length && i < HTTP_MAX_HEAD; i++)
    if (memcmp(bytes.bytes + i, "\r\n\r\n", 4) == 0) return i + 4;
  return 0;
}

static int read_head(struct nvm_text head, struct http_request *r, struct body_facts *body) {
  int status = HTTP_OK;
  bool first = true;
  while (head.length && status == HTTP_OK) {
    struct nvm_text line = take_until(&head, '\n');
    if (line.length == 0 || line.bytes[--line.length] != '\r') return 400;
    if (memchr(line.bytes, '\0', line.length) || memchr(line.bytes, '\r', line.length)) return 400;
    if (first) status = read_first_line(line, r);
    else if (line.length) status = read_header(line, r, body);
    first = false;
  }
  return status;
}

int http_read(struct nvm_text bytes, struct http_request *r) {
  struct body_facts body = {0, false, false};
  memset(r, 0, sizeof *r);
  size_t length = head_length(bytes);
  if (length == 0) return bytes.length >= HTTP_MAX_HEAD ? 431 : HTTP_MORE;
  int status = read_head((struct nvm_text){bytes.bytes, length}, r, &body);
  if (status != HTTP_OK) return status;
  if (body.is_coded || (is(r->method, "POST") && !body.has_length)) return 411;
  if (body.length > HTTP_MAX_BODY) return 413;
  r->body = (struct nvm_text){bytes.bytes + length, body.length};
  return bytes.length - length < body.length ? HTTP_MORE : HTTP_OK;
}

/* ---- The query ---- */

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* `%41+b` is `A b`. False: not valid; a NUL is not, either. */
static bool decode(struct nvm_text t, struct textbuf *out) {
  for (size_t i = 0; i < t.length; i++) {
    char c = t.bytes[i] == '+' ? ' ' : t.bytes[i];
    if (c == '%') {
      if (i + 2 >= t.length) return false;
      int high = digit_of(t.bytes[i + 1]), low = digit_of(t.bytes[i + 2]);
      if (high < 0 || low < 0 || high + low == 0) return false;
      c = (char)(high * 16 + low);
      i += 2;
    }
    textbuf_char(out, c);
  }
  return true;
}

const char *http_parameter(struct arena *arena, const struct http_request *r, const char *name) {
  struct nvm_text rest = r->query;
  while (rest.length) {
    struct nvm_text value = take_until(&rest, '&'), key = take_until(&value, '=');
    struct textbuf b;
    if (!is(key, name)) continue;
    textbuf_init(&b, arena);
    if (!decode(value, &b)) return NULL;
    textbuf_char(&b, '\0');
    return arena->failed ? NULL : b.bytes;
  }
  return "";
}

/* ---- Who asks ---- */

/* Whether `host` is `name`, with or without a port. */
static bool is_host(struct nvm_text host, const char *name) {
  size_t length = strlen(name);
  if (host.length < length || strncasecmp(host.bytes, name, length) != 0) return false;
  if (host.length == length) return true;
  if (host.bytes[length] != ':') return false;
  for (size_t i = length + 1; i < host.length; i++)
    if (host.bytes[i] < '0' || host.bytes[i] > '9') return false;
  return true;
}

bool http_is_own(const struct http_request *r, const char *local) {
  char bracketed[80];
  snprintf(bracketed, sizeof bracketed, "[%s]", local);
  const char *const names[] = {"127.0.0.1", "localhost", "[::1]", local, bracketed};
  bool known = false;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    known = known || is_host(r->host, names[k]);
  if (!known) return false;
  static const char scheme[] = "http://";
  struct nvm_text origin = r->origin;
  if (!r->has_origin) return true;
  if (!text_begins(origin, scheme)) return false;
  origin.bytes += strlen(scheme), origin.length -= strlen(scheme);
  return origin.length == r->host.length &&
         strncasecmp(origin.bytes, r->host.bytes, origin.length) == 0;
}

/* ---- Answers ---- */

const char *http_reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
  }
}

/* The page may run its own script and style and ask this server; nothing else is loaded. */
static const char headers[] =
    "Connection: close\r\n"
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; connect-src 'self'; frame-src blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n";

void http_answer(struct textbuf *out, int status, const char *type, struct nvm_text content,
                 bool has_body) {
  textbuf_format(out, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: ", (unsigned)status,
                 http_reason(status), type);
  textbuf_unsigned(out, content.length);
  textbuf_puts(out, "\r\n");
  if (status == 405) textbuf_puts(out, "Allow: GET, HEAD, POST\r\n");
  textbuf_puts(out, headers);
  textbuf_puts(out, "\r\n");
  if (has_body) textbuf_text(out, content);
}
