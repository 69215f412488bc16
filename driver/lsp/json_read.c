/* The JSON reader: recursive descent, one function per kind of value. */
#include "driver/lsp/json_read.h"

struct reader {
  struct arena *arena;
  const char *at, *end;
  uint32_t depth;
};

static struct json_value *read_value(struct reader *r);

static void skip_blanks(struct reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
    r->at++;
}

static bool take(struct reader *r, char c) {
  if (r->at == r->end || *r->at != c) return false;
  r->at++;
  return true;
}

static bool take_word(struct reader *r, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
  r->at += length;
  return true;
}

static struct json_value *make(struct reader *r, enum json_kind kind) {
  struct json_value *v = arena_alloc(r->arena, sizeof *v);
  if (v) v->kind = kind;
  return v;
}

/* ---- Strings ---- */

/* Four hexadecimal digits; UINT32_MAX if they are not. */
static uint32_t read_unit(struct reader *r) {
  uint32_t unit = 0;
  if (r->end - r->at < 4) return UINT32_MAX;
  for (int k = 0; k < 4; k++) {
    char c = *r->at++;
    uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                            : 16;
    if (digit == 16) return UINT32_MAX;
    unit = unit << 4 | digit;
  }
  return unit;
}

static char *put_utf8(char *out, uint32_t c) {
  if (c < 0x80) {
    *out++ = (char)c;
    return out;
  }
  int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
  *out++ = (char)(first[more] | c >> (6 * more));
  while (more-- > 0) *out++ = (char)(0x80 | (c >> (6 * more) & 0x3F));
  return out;
}

/* After `\u`. A surrogate without its partner becomes U+FFFD. NULL if malformed. */
static char *read_unicode(struct reader *r, char *out) {
  uint32_t c = read_unit(r);
  if (c == UINT32_MAX) return NULL;
  if (c >= 0xD800 && c < 0xDC00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
    const char *before = r->at;
    r->at += 2;
    uint32_t low = read_unit(r);
    if (low == UINT32_MAX) return NULL;
    if (low >= 0xDC00 && low < 0xE000)
      return put_utf8(out, 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00));
    r->at = before;
  }
  return put_utf8(out, c >= 0xD800 && c < 0xE000 ? 0xFFFD : c);
}

static char *read_escape(struct reader *r, char *out) {
  static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (r->at == r->end) return NULL;
  char c = *r->at++;
  if (c == 'u') return read_unicode(r, out);
  const char *letter = c != '\0' ? strchr(letters, c) : NULL;
  if (!letter) return NULL;
  *out++ = meanings[letter - letters];
  return out;
}

/* The closing quote; NULL if there is none. */
static const char *find_close(const struct reader *r) {
  for (const char *c = r->at; c < r->end; c++) {
    if (*c == '"') return c;
    if (*c == '\\' && ++c == r->end) return NULL;
  }
  return NULL;
}

/* After the opening quote. No decoded text is longer than its source. */
static bool read_text(struct reader *r, struct nvm_text *text) {
  const char *close = find_close(r);
  char *bytes = close ? arena_alloc(r->arena, (size_t)(close - r->at) + 1) : NULL, *out = bytes;
  while (out && r->at < close) {
    size_t plain = 0, left = (size_t)(close - r->at);
    while (plain < left && r->at[plain] != '\\' && (unsigned char)r->at[plain] >= ' ') plain++;
    memcpy(out, r->at, plain);
    out += plain;
    r->at += plain;
    if (plain == left) break;
    if (*r->at != '\\') return false; /* a control character */
    r->at++;
    out = read_escape(r, out);
  }
  if (!out) return false;
  r->at = close + 1;
  *text = (struct nvm_text){bytes, (size_t)(out - bytes)};
  return true;
}

static struct json_value *read_string(struct reader *r) {
  struct json_value *v = make(r, JSON_STRING);
  return v && read_text(r, &v->text) ? v : NULL;
}

/* ---- Numbers ---- */

static size_t take_digits(struct reader *r) {
  const char *begin = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
  return (size_t)(r->at - begin);
}

static bool integer_of(const char *at, const char *end, int64_t *result) {
  bool negative = *at == '-';
  int64_t n = 0;
  for (at += negative; at < end; at++) {
    if (n > (INT64_MAX - 9) / 10) return false;
    n = n * 10 + (*at - '0');
  }
  *result = negative ? -n : n;
  return true;
}

static struct json_value *read_number(struct reader *r) {
  struct json_value *v = make(r, JSON_NUMBER);
  const char *begin = r->at;
  (void)take(r, '-');
  if (!take(r, '0') && take_digits(r) == 0) return NULL;
  const char *end = r->at;
  if (take(r, '.') && take_digits(r) == 0) return NULL;
  if (take(r, 'e') || take(r, 'E')) {
    if (!take(r, '+')) (void)take(r, '-');
    if (take_digits(r) == 0) return NULL;
  }
  if (v) v->is_integer = r->at == end && integer_of(begin, end, &v->integer);
  return v;
}

/* ---- Arrays and objects ---- */

static struct json_value *read_member(struct reader *r, bool keyed) {
  struct nvm_text key = {"", 0};
  skip_blanks(r);
  if (keyed) {
    if (!take(r, '"') || !read_text(r, &key)) return NULL;
    skip_blanks(r);
    if (!take(r, ':')) return NULL;
  }
  struct json_value *member = read_value(r);
  if (member) member->key = key;
  return member;
}

/* After the opening bracket. */
static struct json_value *read_members(struct reader *r, enum json_kind kind) {
  char close = kind == JSON_ARRAY ? ']' : '}';
  struct json_value *v = make(r, kind);
  struct json_value **last = v ? &v->first : NULL;
  skip_blanks(r);
  if (!v || take(r, close)) return v;
  do {
    *last = read_member(r, kind == JSON_OBJECT);
    if (!*last) return NULL;
    last = &(*last)->next;
    skip_blanks(r);
  } while (take(r, ','));
  return take(r, close) ? v : NULL;
}

static struct json_value *read_any(struct reader *r) {
  if (take(r, '"')) return read_string(r);
  if (take(r, '[')) return read_members(r, JSON_ARRAY);
  if (take(r, '{')) return read_members(r, JSON_OBJECT);
  if (take_word(r, "null")) return make(r, JSON_NULL);
  if (take_word(r, "true")) return make(r, JSON_TRUE);
  if (take_word(r, "false")) return make(r, JSON_FALSE);
  return read_number(r);
}

static struct json_value *read_value(struct reader *r) {
  if (r->depth == JSON_MAX_DEPTH) return NULL;
  r->depth++;
  skip_blanks(r);
  const char *begin = r->at;
  struct json_value *v = read_any(r);
  if (v) v->source = (struct nvm_text){begin, (size_t)(r->at - begin)};
  r->depth--;
  return v;
}

const struct json_value *json_read(struct arena *arena, struct nvm_text text) {
  struct reader r = {arena, text.bytes, text.bytes + text.length, 0};
  const struct json_value *v = read_value(&r);
  skip_blanks(&r);
  return v && r.at == r.end ? v : NULL;
}

/* ---- Access ---- */

static const struct json_value *find(const struct json_value *object, const char *key,
                                     size_t length) {
  if (!object || object->kind != JSON_OBJECT) return NULL;
  const struct json_value *v = object->first;
  while (v && (v->key.length != length || memcmp(v->key.bytes, key, length) != 0)) v = v->next;
  return v;
}

const struct json_value *json_find(const struct json_value *object, const char *key) {
  return find(object, key, strlen(key));
}

const struct json_value *json_at(const struct json_value *object, const char *path) {
  for (;;) {
    size_t length = strcspn(path, ".");
    object = find(object, path, length);
    if (path[length] == '\0') return object;
    path += length + 1;
  }
}

bool json_get_string(const struct json_value *v, struct nvm_text *text) {
  if (!v || v->kind != JSON_STRING) return false;
  *text = v->text;
  return true;
}

bool json_get_integer(const struct json_value *v, int64_t least, int64_t most, int64_t *number) {
  if (!v || v->kind != JSON_NUMBER || !v->is_integer) return false;
  if (v->integer < least || v->integer > most) return false;
  *number = v->integer;
  return true;
}

bool json_is_true(const struct json_value *v) { return v && v->kind == JSON_TRUE; }
