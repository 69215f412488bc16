/* See asm_constraint.h. What LLVM accepts and PTX cannot express (several letters, alternatives,
 * named registers, labels of asm goto) is rejected with its own message. */
#include "ir/asm_constraint.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Parses the code after the flags: an output's number, or a letter. */
static const char *read_code(struct nvm_text code, const struct asm_constraints *all,
                             struct asm_constraint *out) {
  if (code.length > 0 && is_digit(code.bytes[0])) {
    size_t k = 0;
    out->is_tied = true;
    for (; k < code.length && is_digit(code.bytes[k]) && out->tied < ASM_MAX_OPERANDS; k++)
      out->tied = out->tied * 10 + (uint32_t)(code.bytes[k] - '0');
    const struct asm_constraint *to = out->tied < all->count ? &all->of[out->tied] : NULL;
    if (k < code.length || out->output || !to || !to->output || to->indirect)
      return "tied constraint without output";
    return NULL;
  }
  if (code.length > 0 && code.bytes[0] == '{') return "unsupported named register";
  if (code.length != 1 || !strchr("bchrlNqfdnismC", code.bytes[0])) return "unknown constraint";
  out->letter = code.bytes[0];
  if (out->output && strchr("nisC", out->letter)) return "constant as an output";
  if (out->output && out->letter == 'm' && !out->indirect)
    return "output in memory that is not indirect";
  if (out->indirect && out->letter != 'm') return "indirect operand that is not memory";
  return NULL;
}

static const char *read_one(struct nvm_text word, struct asm_constraints *all, bool clobbered) {
  struct asm_constraint c = {0};
  const char *p = word.bytes, *end = p + word.length;
  if (clobbered) return "operand after a clobber";
  if (p < end && *p == '!') return "unsupported asm goto label";
  if (p < end && *p == '=') c.output = true, p++;
  for (; p < end && (*p == '&' || *p == '*' || *p == '%'); p++) c.indirect |= *p == '*';
  if (all->count == all->room) return "operand beyond the limit of 1024";
  const char *wrong = read_code((struct nvm_text){p, (size_t)(end - p)}, all, &c);
  if (wrong) return wrong;
  if (c.output && all->count > 0 && !all->of[all->count - 1].output) return "output after an input";
  all->results += c.output && !c.indirect;
  all->of[all->count++] = c;
  return NULL;
}

static bool is_clobber(struct nvm_text word) {
  return word.length > 2 && word.bytes[1] == '{' && word.bytes[word.length - 1] == '}';
}

const char *asm_constraints_read(struct nvm_text text, struct asm_constraints *out,
                                 struct nvm_text *word) {
  const char *p = text.bytes, *end = p + text.length, *wrong = NULL;
  bool clobbered = false, more = text.length > 0;
  out->count = out->results = 0;
  while (more && !wrong) {
    const char *start = p;
    for (bool braced = false; p < end && (braced || *p != ','); p++)
      braced = *p == '{' || (braced && *p != '}');
    *word = (struct nvm_text){start, (size_t)(p - start)};
    if (word->length == 0) wrong = "empty constraint";
    else if (*start != '~') wrong = read_one(*word, out, clobbered);
    else if (is_clobber(*word)) clobbered = true;
    else wrong = "clobber without braces";
    more = p++ < end;
  }
  return wrong;
}
