/* LLVM's inline-assembly templates: `$0`, `${0:c}`, `$$`, `$(a$|b$)`, `${:uid}`. Braces and bars
 * without a dollar sign are PTX's own. */
#include "ptx/asm_template.h"

#include "ptx/print.h"

struct template_reader {
  const char *at, *end;
  const struct asm_operand *operands;
  uint32_t count, uid;
  struct textbuf out;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads the number of an operand; false if there is none. */
static bool read_index(struct template_reader *r, uint32_t *index) {
  if (r->at == r->end || !is_digit(*r->at)) return false;
  for (*index = 0; r->at < r->end && is_digit(*r->at) && *index < r->count; r->at++)
    *index = *index * 10 + (uint32_t)(*r->at - '0');
  return *index < r->count;
}

/* Writes a reference to an operand, or its literal text. */
static void write_reference(struct template_reader *r, uint32_t index) {
  const struct asm_operand *o = &r->operands[index];
  if (o->literal.bytes) textbuf_text(&r->out, o->literal);
  else textbuf_format(&r->out, r->at < r->end && is_digit(*r->at) ? "${%u}" : "$%u", index);
}

/* After `${`: `0}`, `0:c}`, `:uid}`. */
static bool read_braced(struct template_reader *r) {
  uint32_t index = 0;
  const char *close = memchr(r->at, '}', (size_t)(r->end - r->at));
  if (!close) return false;
  if (*r->at == ':') {
    bool uid = close - r->at == 4 && memcmp(r->at, ":uid", 4) == 0;
    if (uid) textbuf_format(&r->out, "%u", r->uid);
    r->at = close + 1;
    return uid;
  }
  if (!read_index(r, &index)) return false;
  char modifier = '\0';
  if (*r->at == ':' && close - r->at == 2) modifier = r->at[1];
  else if (r->at != close) return false;
  r->at = close + 1;
  const struct ptx_operand *o = &r->operands[index].operand;
  if (modifier == 'n') {
    if (o->kind != PTX_OPERAND_INT) return false;
    textbuf_signed(&r->out, (int64_t)(0 - (uint64_t)o->imm));
    return true;
  }
  if (modifier != '\0' && modifier != 'c' && modifier != 'r') return false;
  write_reference(r, index);
  return true;
}

/* Skips the second and later variants, and `$)`. */
static void skip_variants(struct template_reader *r) {
  while (r->end - r->at >= 2 && !(r->at[0] == '$' && r->at[1] == ')'))
    r->at += r->at[0] == '$' ? 2 : 1;
  r->at = r->end - r->at >= 2 ? r->at + 2 : r->end;
}

/* Reads what follows a dollar sign. */
static bool read_dollar(struct template_reader *r) {
  uint32_t index;
  if (r->at == r->end) return false;
  switch (*r->at) {
    case '$':
      r->at++;
      textbuf_puts(&r->out, "$$");
      return true;
    case '(':
    case ')': r->at++; return true;
    case '|':
      r->at++;
      skip_variants(r);
      return true;
    case '{': r->at++; return read_braced(r);
    default:
      if (!read_index(r, &index)) return false;
      write_reference(r, index);
      return true;
  }
}

bool asm_template_expand(struct arena *arena, struct nvm_text template,
                         const struct asm_operand *operands, uint32_t count, uint32_t uid,
                         struct nvm_text *out) {
  struct template_reader r = {.at = template.bytes,
                              .end = template.bytes + template.length,
                              .operands = operands,
                              .count = count,
                              .uid = uid};
  textbuf_init(&r.out, arena);
  while (r.at < r.end) {
    const char *begin = r.at;
    if (*r.at++ != '$') {
      textbuf_char(&r.out, *begin);
    } else if (!read_dollar(&r)) {
      *out = (struct nvm_text){begin, (size_t)(r.end - begin)};
      return false;
    }
  }
  textbuf_char(&r.out, '\0');
  *out = (struct nvm_text){r.out.bytes, r.out.length ? r.out.length - 1 : 0};
  return true;
}

void asm_template_describe(struct nvm_text rest, struct textbuf *out) {
  enum { QUOTED_BYTES = 16 };
  if (rest.length > QUOTED_BYTES) rest.length = QUOTED_BYTES;
  textbuf_format(out, "'%t' refers to no operand, or has a modifier that PTX does not have", rest);
}

struct nvm_text asm_template_substitute(struct arena *arena, const struct ptx_function *f,
                                        struct nvm_text text, const struct asm_operand *operands,
                                        uint32_t count) {
  struct textbuf out;
  textbuf_init(&out, arena);
  for (const char *at = text.bytes, *end = at + text.length; at < end;) {
    uint32_t index = 0;
    if (*at != '$' || (++at < end && *at == '$')) {
      textbuf_char(&out, *at++);
      continue;
    }
    bool braced = at < end && *at == '{';
    for (at += braced; at < end && is_digit(*at); at++) index = index * 10 + (uint32_t)(*at - '0');
    at += braced;
    if (index < count) ptx_print_operand(f, &operands[index].operand, &out);
  }
  return (struct nvm_text){out.bytes ? out.bytes : "", out.length};
}
