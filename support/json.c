/* The JSON writer. It needs no stack: a comma is written before a key or value unless the last
 * output was a key or an opening bracket. */
#include "support/json.h"

void json_begin(struct json_writer *w, struct textbuf *out, bool pretty) {
  *w = (struct json_writer){.out = out, .pretty = pretty};
}

static void new_line(struct json_writer *w) {
  if (!w->pretty) return;
  textbuf_char(w->out, '\n');
  for (uint32_t i = 0; i < w->depth; i++) textbuf_puts(w->out, "  ");
}

/* The separator between the previous member and the next value or key. */
static void separate(struct json_writer *w) {
  if (w->after_key) {
    w->after_key = false;
    return;
  }
  if (w->comma) textbuf_char(w->out, ',');
  if (w->depth > 0) new_line(w);
}

static void open_level(struct json_writer *w, char bracket) {
  separate(w);
  textbuf_char(w->out, bracket);
  w->depth++;
  w->comma = false;
}

static void close_level(struct json_writer *w, char bracket) {
  w->depth--;
  if (w->comma) new_line(w);
  textbuf_char(w->out, bracket);
  w->comma = true;
}

void json_object(struct json_writer *w) { open_level(w, '{'); }
void json_object_end(struct json_writer *w) { close_level(w, '}'); }
void json_array(struct json_writer *w) { open_level(w, '['); }
void json_array_end(struct json_writer *w) { close_level(w, ']'); }

/* The length of the UTF-8 character at s, or 0 if invalid: overlong, a surrogate, or above
 * U+10FFFF. */
static size_t utf8_length(const unsigned char *s, size_t left) {
  unsigned char c = s[0];
  size_t length = c < 0x80                ? 1
                  : c >= 0xC2 && c < 0xE0 ? 2
                  : (c & 0xF0) == 0xE0    ? 3
                  : c >= 0xF0 && c < 0xF5 ? 4
                                          : 0;
  if (length == 0 || length > left) return 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  bool overlong = (c == 0xE0 && s[1] < 0xA0) || (c == 0xF0 && s[1] < 0x90);
  bool outside = (c == 0xED && s[1] >= 0xA0) || (c == 0xF4 && s[1] >= 0x90);
  return overlong || outside ? 0 : length;
}

static void write_control(struct textbuf *out, unsigned char c) {
  switch (c) {
    case '\n': textbuf_puts(out, "\\n"); return;
    case '\t': textbuf_puts(out, "\\t"); return;
    case '\r': textbuf_puts(out, "\\r"); return;
    default: break;
  }
  textbuf_puts(out, "\\u");
  textbuf_hex(out, c, 4, false);
}

static void write_string(struct textbuf *out, struct nvm_text text) {
  const unsigned char *s = (const unsigned char *)text.bytes;
  textbuf_char(out, '"');
  for (size_t i = 0; i < text.length;) {
    size_t length = utf8_length(s + i, text.length - i);
    if (length == 0) {
      textbuf_puts(out, "\xEF\xBF\xBD");
      i++;
      continue;
    }
    if (s[i] < ' ' || s[i] == 0x7f) {
      write_control(out, s[i]);
    } else {
      if (s[i] == '"' || s[i] == '\\') textbuf_char(out, '\\');
      textbuf_write(out, text.bytes + i, length);
    }
    i += length;
  }
  textbuf_char(out, '"');
}

void json_key(struct json_writer *w, const char *key) {
  separate(w);
  write_string(w->out, text_of(key));
  textbuf_puts(w->out, w->pretty ? ": " : ":");
  w->after_key = true;
}

void json_string(struct json_writer *w, struct nvm_text text) {
  separate(w);
  write_string(w->out, text);
  w->comma = true;
}

void json_puts(struct json_writer *w, const char *text) { json_string(w, text_of(text)); }

void json_unsigned(struct json_writer *w, uint64_t value) {
  separate(w);
  textbuf_unsigned(w->out, value);
  w->comma = true;
}

void json_signed(struct json_writer *w, int64_t value) {
  separate(w);
  textbuf_signed(w->out, value);
  w->comma = true;
}

void json_bool(struct json_writer *w, bool value) {
  separate(w);
  textbuf_puts(w->out, value ? "true" : "false");
  w->comma = true;
}

void json_member(struct json_writer *w, const char *key, struct nvm_text value) {
  json_key(w, key);
  json_string(w, value);
}

void json_number(struct json_writer *w, const char *key, uint64_t value) {
  json_key(w, key);
  json_unsigned(w, value);
}
