/* The message of a syntax error; see syntax_error.h. */
#include "frontend/syntax_error.h"

#include "frontend/lexer.h"
#include "frontend/report.h"

#include "parser.h"

/* A short description of what the grammar accepts here. */
static const char *category(const struct syntax_error *e) {
  const bool *accepted = e->accepted;
  if (accepted[T_DEFINE]) return "a definition";
  if (accepted[T_RET]) return accepted[T_LABEL] ? "an instruction or '}'" : "an instruction";
  if (accepted[T_VARIABLE]) return "'global', 'constant' or 'alias'";
  if (accepted[T_CALL] && e->accepted_count < 3) return "'call'";
  if (accepted[T_TYPE]) return "a type";
  if (accepted[T_UNDEF]) return "a value";
  if (accepted[T_META_ID]) return "a metadata node";
  if (accepted[T_PREDICATE]) return "a comparison predicate";
  if (accepted[T_RMW]) return "an atomic operation";
  if (accepted[T_ORDERING]) return "an atomic ordering";
  if (accepted[T_ATTR_FLAG]) return "an attribute";
  return NULL;
}

static bool is_character(const char *name) { return strlen(name) == 1; }

static bool is_punctuation(const struct syntax_error *e, int token) {
  const char *name = e->name(token);
  return token == T_DOTS || token == T_COMMA_ALIGN || token == T_META_OPEN || name[0] == '\'' ||
         is_character(name);
}

/* Whether to list the token: omits tokens that can continue any type, and all but punctuation if
 * many are accepted. */
static bool is_listed(const struct syntax_error *e, int token) {
  bool continues_type = token == T_ADDRSPACE || token == T_STAR || token == T_LPAREN;
  if (!e->accepted[token] || token == T_RESYNC) return false;
  if (e->accepted[T_ADDRSPACE] && continues_type) return false;
  return e->accepted_count <= 4 || is_punctuation(e, token);
}

/* The category, or else the first tokens themselves. */
static const char *describe_accepted(struct parser *p, const struct syntax_error *e) {
  if (p->at_begin && p->initializer_missing.length) return "a value";
  if (category(e)) return category(e);
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  int written = 0;
  for (int token = 0; token < e->token_count && written < 4; token++) {
    if (!is_listed(e, token)) continue;
    const char *name = token == T_YYEOF ? "the end of the file" : e->name(token);
    if (written++) textbuf_puts(&b, " or ");
    textbuf_format(&b, is_character(name) ? "'%s'" : "%s", name);
  }
  return written ? report_copy(p, b.bytes, b.length) : NULL;
}

/* The error for what is outside the supported subset, or not a token. */
static bool report_refused_token(struct parser *p, int token) {
  uint32_t begin = p->token_begin, end = p->token_end;
  const char *text = report_copy(p, p->text + begin, end - begin);
  switch (token) {
    case T_OUTSIDE:
      report(p, DIAG_OUTSIDE_SUBSET, begin, end, text, lexer_outside_reason(p->outside), NULL);
      return true;
    case T_TARGET:
      if (!p->in_body && p->last_resync == begin) return false;
      report(p, DIAG_OUTSIDE_SUBSET, begin, end, text, "a type of another target", NULL);
      return true;
    case T_BAD_INT_TYPE: report(p, DIAG_INT_TYPE_WIDTH, begin, end, text, NULL, NULL); return true;
    case T_BAD_NUMBER: report(p, DIAG_NUMBER_TOO_LARGE, begin, end, text, NULL, NULL); return true;
    case T_BAD_BYTE: report_bad_byte(p, begin, end); return true;
    default: return false;
  }
}

/* Whether the token belongs to an integer comparison, by the words before it. */
static bool follows_icmp(const struct parser *p) {
  const char *line = p->text + p->token_begin;
  while (line > p->text && line[-1] != '\n' && strncmp(line, "icmp ", 5) != 0 &&
         strncmp(line, "fcmp ", 5) != 0)
    line--;
  return strncmp(line, "icmp ", 5) == 0;
}

/* Suggests the nearest words among those that the grammar accepts here. */
static void suggest_word(struct parser *p, struct diag *d, const struct syntax_error *e) {
  struct nvm_text word = {p->text + p->token_begin, p->token_end - p->token_begin};
  struct nearest n = nearest_start(word);
  if (e->accepted[T_PREDICATE]) report_offer_predicates(follows_icmp(p) ? OP_ICMP : OP_FCMP, &n);
  else lexer_offer_words(p, e->accepted, &n);
  diag_suggest(p->sink, d, &n);
}

static void report_unexpected(struct parser *p, const struct syntax_error *e) {
  const char *accepted = describe_accepted(p, e), *text = p->text + p->token_begin;
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  uint32_t begin = p->token_begin, end = p->token_end, length = end - begin;
  if (accepted) textbuf_format(&b, "expected %s, found ", accepted);
  else textbuf_puts(&b, "unexpected ");
  if (e->token == T_YYEOF) textbuf_puts(&b, "the end of the file");
  else if (length > 40) textbuf_format(&b, "'%t…'", (struct nvm_text){text, 39});
  else textbuf_format(&b, "'%t'", (struct nvm_text){text, length});
  const char *message = report_copy(p, b.bytes, b.length);
  struct diag *d = report(p, DIAG_SYNTAX, begin, end, message, NULL, NULL);
  if (d && e->token == T_WORD) suggest_word(p, d, e);
}

void syntax_error_report(struct parser *p, const struct syntax_error *e) {
  p->at_begin = e->accepted[T_RET] || e->accepted[T_DEFINE];
  if (!report_refused_token(p, e->token)) report_unexpected(p, e);
  if (p->at_begin) p->initializer_missing.length = 0; /* caused by this error */
  p->resync = true;
}
