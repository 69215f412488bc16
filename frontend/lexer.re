/* The scanner: bytes to tokens.
 *
 * re2c generates the automaton of the lexical classes. Words are then looked up in one hash table,
 * filled from the tables of ir/ and words.def, so that a new op or attribute needs no change here.
 * No token is copied: its payload is a range of the text.
 *
 * To keep the grammar free of conflicts and of small reductions, the scanner joins what LLVM's
 * parser distinguishes by a look-ahead of two tokens: `%x =`, `@x =`, `!5 =`, `!name =`
 * (assignments), `, align N`, `, addrspace`, `, !kind` (the tails of instructions),
 * `ptr addrspace(N)`, an op and the flags after it, and the parenthesized payload of attributes
 * that are kept as text. */
#include "frontend/lexer.h"

#include "parser.h"

/* Words that may follow an op and become part of its token. */
enum joined { JOIN_NONE, JOIN_FLAGS, JOIN_ACCESS };

struct word {
  const char *text;
  uint64_t key; /* strtab_short_key() of the text */
  uint32_t value;
  int16_t token;
  uint8_t length;
  uint8_t joins; /* enum joined */
};
enum { WORD_SLOTS = 1024 };

struct lexer {
  struct nvm_type int_types[TYPE_MAX_INT_BITS + 1];
  struct word words[WORD_SLOTS];
  const char *ahead; /* the word after the last op, which was looked up already */
  const struct word *ahead_word;
};

/* ---- Words ---- */

/* The slot of the word, or the empty slot for it. */
static struct word *word_slot(const struct parser *p, const char *s, size_t length, uint64_t key) {
  uint64_t h = (key ^ length << 29) * UINT64_C(0x9E3779B97F4A7C15);
  for (uint32_t i = (uint32_t)(h >> 40);; i++) {
    struct word *w = &p->lexer->words[i % WORD_SLOTS];
    if (!w->text || (w->key == key && w->length == length &&
                     (length <= 8 || memcmp(w->text, s, length) == 0)))
      return w;
  }
}

static const struct word *word_find(const struct parser *p, const char *s, size_t length) {
  const struct word *w = word_slot(p, s, length, strtab_short_key(s, length));
  return w->text ? w : NULL;
}

/* Which words may join the op's token. */
static enum joined joined_words(int token) {
  switch (token) {
  case T_BINARY: case T_UNARY: case T_CAST: case T_ICMP: case T_FCMP: case T_PHI: case T_MULTI:
  case T_GEP: return JOIN_FLAGS;
  case T_LOAD: case T_STORE: case T_CMPXCHG: case T_ATOMICRMW: return JOIN_ACCESS;
  default: return JOIN_NONE;
  }
}

/* The first entry of a text is kept, later ones are dropped. */
static void word_add(struct parser *p, const char *text, int token, uint32_t value) {
  size_t length = strlen(text);
  uint64_t key = strtab_short_key(text, length);
  struct word *w = word_slot(p, text, length, key);
  if (length == 0 || w->text) return;
  *w = (struct word){text, key, value, (int16_t)token, (uint8_t)length, joined_words(token)};
}

static int token_of_form(enum op op) {
  switch (op_table[op].form) {
  case FORM_NONE: return T_UNREACHABLE;
  case FORM_RET: return T_RET;
  case FORM_BR:
  case FORM_CONDBR: return T_BR;
  case FORM_SWITCH: return T_SWITCH;
  case FORM_UNARY: return T_UNARY;
  case FORM_BINARY: return T_BINARY;
  case FORM_ALLOCA: return T_ALLOCA;
  case FORM_LOAD: return T_LOAD;
  case FORM_STORE: return T_STORE;
  case FORM_FENCE: return T_FENCE;
  case FORM_CMPXCHG: return T_CMPXCHG;
  case FORM_ATOMICRMW: return T_ATOMICRMW;
  case FORM_GEP: return T_GEP;
  case FORM_CAST: return T_CAST;
  case FORM_CMP: return op == OP_ICMP ? T_ICMP : T_FCMP;
  case FORM_PHI: return T_PHI;
  case FORM_CALL: return T_CALL;
  case FORM_SELECT:
  case FORM_EXTRACTELEMENT:
  case FORM_INSERTELEMENT:
  case FORM_SHUFFLEVECTOR: return T_MULTI;
  case FORM_EXTRACTVALUE: return T_EXTRACTVALUE;
  case FORM_INSERTVALUE: return T_INSERTVALUE;
  case FORM_VA_ARG: return T_VA_ARG;
  case FORM_DBG_RECORD: return T_DBG;
  }
  return T_WORD;
}

static int token_of_attribute(enum attr_id id) {
  if (id == ATTR_ALIGN) return T_ALIGN;
  switch (attr_table[id].payload) {
  case ATTR_FLAG: return T_ATTR_FLAG;
  case ATTR_INT: return T_ATTR_INT;
  case ATTR_TYPE: return T_ATTR_TYPE;
  case ATTR_STRING:
  case ATTR_TEXT: return T_ATTR_TEXT;
  }
  return T_WORD;
}

static void add_names(struct parser *p, const char *const *names, uint32_t first, uint32_t count,
                      int token) {
  for (uint32_t i = first; i < count; i++) word_add(p, names[i], token, i);
}

static void add_predicates(struct parser *p) {
  for (uint32_t i = 0; i < ICMP_COUNT; i++) {
    uint32_t fcmp = 0;
    for (uint32_t k = 0; k < FCMP_COUNT; k++)
      if (strcmp(icmp_names[i], fcmp_names[k]) == 0) fcmp = k + 1;
    word_add(p, icmp_names[i], T_PREDICATE, (i + 1) | fcmp << 8);
  }
  for (uint32_t k = 0; k < FCMP_COUNT; k++)
    word_add(p, fcmp_names[k], T_PREDICATE, (k + 1) << 8);
}

static void add_types(struct parser *p) {
  static const struct {
    const char *text;
    struct nvm_type type;
  } types[] = {{"void", {1}},  {"token", {4}},  {"half", {11}},
               {"bfloat", {12}}, {"float", {13}}, {"double", {14}}, {"ptr", {15}}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    word_add(p, types[i].text, T_TYPE, types[i].type.index);
}

static const char *const outside_reasons[] = {
#define WORD(text, token, value)
#define CONVENTION(text, number)
#define OUTSIDE(text, reason) reason,
#include "frontend/words.def"
#undef OUTSIDE
};

const char *lexer_outside_reason(uint64_t index) { return outside_reasons[index]; }

bool lexer_init(struct parser *p) {
  p->lexer = arena_alloc(&p->scratch, sizeof *p->lexer);
  if (!p->lexer) return false;
  uint32_t outside = 0;
#undef WORD
#undef CONVENTION
#define WORD(text, token, value) word_add(p, text, token, value);
#define CONVENTION(text, number) word_add(p, text, T_CONVENTION, number);
#define OUTSIDE(text, reason) word_add(p, text, T_OUTSIDE, outside++);
#include "frontend/words.def"
#undef WORD
#undef CONVENTION
#undef OUTSIDE
  add_types(p);
  for (uint32_t i = 0; i < OP_COUNT; i++)
    word_add(p, op_table[i].keyword, token_of_form((enum op)i), i);
  for (uint32_t i = 1; i < ATTR_ID_COUNT; i++)
    word_add(p, attr_table[i].keyword, token_of_attribute((enum attr_id)i), i);
  add_predicates(p);
  word_add(p, "external", T_LINKAGE, LINK_EXTERNAL);
  add_names(p, linkage_names, 1, LINK_COUNT, T_LINKAGE);
  word_add(p, "default", T_VISIBILITY, VIS_DEFAULT);
  add_names(p, visibility_names, 1, VIS_COUNT, T_VISIBILITY);
  add_names(p, preemption_names, 1, PREEMPT_COUNT, T_PREEMPTION);
  add_names(p, dll_storage_names, 1, DLL_COUNT, T_DLL_STORAGE);
  add_names(p, unnamed_addr_names, 1, UNNAMED_COUNT, T_UNNAMED_ADDR);
  add_names(p, ordering_names, 1, ORDER_COUNT, T_ORDERING);
  add_names(p, rmw_names, 0, RMW_COUNT, T_RMW);
  return true;
}

void lexer_offer_words(const struct parser *p, const bool *wanted, struct nearest *n) {
  for (uint32_t i = 0; i < WORD_SLOTS; i++) {
    const struct word *w = &p->lexer->words[i];
    if (w->text && wanted[w->token]) nearest_offer(n, (struct nvm_text){w->text, w->length});
  }
}

/* ---- Parts that look ahead ---- */

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
         c == '$' || c == '-';
}

/* The last character of a comment of C's form that begins at c and ends in its line; else NULL. */
static const char *comment_end(const char *c) {
  if (c[0] != '/' || c[1] != '*') return NULL;
  for (c += 2; *c != '\n' && *c != '\0'; c++)
    if (c[0] == '*' && c[1] == '/') return c + 1;
  return NULL;
}

static const char *skip_blanks(const char *c) {
  for (const char *end;; c++) {
    if ((end = comment_end(c)) != NULL) {
      c = end;
    } else if (*c == ';') {
      while (*c != '\n' && *c != '\0') c++;
      if (*c == '\0') return c;
    } else if (!is_space(*c)) {
      return c;
    }
  }
}

/* Usually at most one blank. */
static const char *skip_blank(const char *c) {
  if (*c == ' ') c++;
  return *c > ' ' && *c != ';' && *c != '/' ? c : skip_blanks(c);
}

/* Whether `=` follows; if so, joins it to the token. */
static bool joins_assignment(const char **cursor) {
  const char *c = skip_blank(*cursor);
  if (*c != '=') return false;
  *cursor = c + 1;
  return true;
}

/* Saturates; longer texts are re-read. */
static uint64_t digits_value(const char *c, const char *end) {
  uint64_t n = 0;
  if (end - c >= 20) return UINT64_MAX;
  for (; c < end; c++) n = n * 10 + (uint64_t)(*c - '0');
  return n;
}

static const char *skip_digits(const char *c) {
  while (is_digit(*c)) c++;
  return c;
}

static void set_token(struct parser *p, union nvir_value *value, const char *begin,
                      const char *end, uint64_t number) {
  value->token.begin = (uint32_t)(begin - p->text);
  value->token.length = (uint32_t)(end - begin);
  value->token.number = number;
}

/* After a comma: joins `align N`, `addrspace` and `!kind` to it. */
static int lex_comma(struct parser *p, union nvir_value *value, const char **cursor) {
  const char *c = skip_blank(*cursor);
  if (*c == '!') {
    const char *name = ++c;
    if (is_digit(*c)) return T_COMMA;
    while (is_name_char(*c) || *c == '\\') c++;
    const char *end = c;
    c = skip_blank(c);
    if (end == name || *c != '!') return T_COMMA;
    bool escaped = memchr(name, '\\', (size_t)(end - name)) != NULL;
    set_token(p, value, name, end, escaped ? NAME_ESCAPED : NAME_PLAIN);
    *cursor = end;
    return T_ATTACH;
  }
  if (*c != 'a') return T_COMMA;
  if (strncmp(c, "align", 5) == 0 && !is_name_char(c[5])) {
    const char *digits = skip_blank(c + 5), *end;
    if (!is_digit(*digits)) return T_COMMA;
    end = skip_digits(digits);
    set_token(p, value, digits, end, digits_value(digits, end));
    *cursor = end;
    return T_COMMA_ALIGN;
  }
  if (strncmp(c, "addrspace", 9) == 0 && !is_name_char(c[9])) {
    *cursor = c + 9;
    return T_COMMA_ADDRSPACE;
  }
  return T_COMMA;
}

/* Joins a text in balanced parentheses, if one follows. */
static const char *lex_payload(struct parser *p, const char *c, union nvir_value *value) {
  uint32_t number = (uint32_t)value->token.number;
  const char *open = skip_blank(c);
  set_token(p, value, c, c, number);
  if (*open != '(') return c;
  uint32_t depth = 0;
  for (c = open; *c != '\0' && *c != '\n'; c++) {
    if (*c == '(') depth++;
    if (*c == ')' && --depth == 0) break;
  }
  if (*c != ')') return open;
  set_token(p, value, open + 1, c, number);
  return c + 1;
}

static int lex_int_type(struct parser *p, union nvir_value *value, const char *begin,
                        const char *end) {
  uint64_t bits = digits_value(begin + 1, end);
  if (bits == 0 || bits > TYPE_MAX_INT_BITS) {
    set_token(p, value, begin, end, bits);
    return T_BAD_INT_TYPE;
  }
  struct nvm_type *known = &p->lexer->int_types[bits];
  if (known->index == 0) *known = type_int(&p->m->types, (uint32_t)bits);
  value->type = (struct written_type){.type = *known,
                                      .begin = (uint32_t)(begin - p->text),
                                      .end = (uint32_t)(end - p->text)};
  return T_TYPE;
}

static int lex_pointer_type(struct parser *p, union nvir_value *value, const char *begin,
                            const char *end) {
  const char *digits = begin;
  while (!is_digit(*digits)) digits++;
  uint64_t space = digits_value(digits, skip_digits(digits));
  if (space > PARSE_MAX_NUMBER) {
    set_token(p, value, begin, end, space);
    return T_BAD_NUMBER;
  }
  value->type = (struct written_type){.type = type_ptr(&p->m->types, (uint32_t)space),
                                      .begin = (uint32_t)(begin - p->text),
                                      .end = (uint32_t)(end - p->text)};
  return T_TYPE;
}

/* Joins `ret void`: otherwise the next statement's op could begin a constant expression. */
static int lex_return(const char **cursor) {
  const char *c = skip_blank(*cursor);
  if (strncmp(c, "void", 4) != 0 || is_name_char(c[4])) return T_RET;
  const char *end = c + 4;
  c = skip_blank(end);
  if (*c == '(' || *c == '*') return T_RET;
  *cursor = end;
  return T_RET_VOID;
}

/* Joins the flag words after an op. */
static void join_words(struct parser *p, const struct word *op, union nvir_value *value,
                       const char **cursor) {
  for (;;) {
    const char *c = skip_blank(*cursor), *end = c;
    while (*end >= 'a' && *end <= 'z') end++;
    if (end < c + 2) return; /* usually iN */
    const struct word *w = word_find(p, c, (size_t)(end - c));
    if (!w) return;
    uint32_t bits = w->value;
    if (op->token == T_CMPXCHG && w->token == T_LINKAGE && w->value == LINK_WEAK) {
      bits = ACCESS_WEAK;
    } else if (w->token != (op->joins == JOIN_FLAGS ? T_FLAG : T_ACCESS)) {
      p->lexer->ahead = c;
      p->lexer->ahead_word = w;
      return;
    }
    value->token.number |= (uint64_t)bits << 16;
    *cursor = end;
  }
}

static int lex_word(struct parser *p, union nvir_value *value, const char *begin,
                    const char **cursor) {
  size_t length = (size_t)(*cursor - begin);
  const struct word *w = begin == p->lexer->ahead && p->lexer->ahead_word->length == length
                             ? p->lexer->ahead_word
                             : word_find(p, begin, length);
  if (!w) {
    set_token(p, value, begin, *cursor, 0);
    return T_WORD;
  }
  if (w->token == T_TYPE) {
    value->type = (struct written_type){.type = {w->value},
                                        .begin = (uint32_t)(begin - p->text),
                                        .end = (uint32_t)(*cursor - p->text)};
    return T_TYPE;
  }
  set_token(p, value, begin, *cursor, w->value);
  if (w->joins) join_words(p, w, value, cursor);
  else if (w->token == T_RET) return lex_return(cursor);
  else if (w->token == T_ATTR_TEXT || w->token == T_INRANGE)
    *cursor = lex_payload(p, *cursor, value);
  else if (w->token == T_OUTSIDE) p->outside = w->value;
  return w->token;
}

/* `%5`, `@5`, `!5`, `#5`, `5:`; a number too large is a token that the grammar does not have. */
static int lex_numbered(struct parser *p, union nvir_value *value, const char *begin,
                        const char *end, int token) {
  uint64_t number = digits_value(begin, end);
  set_token(p, value, begin, end, number);
  return number <= PARSE_MAX_NUMBER ? token : T_BAD_NUMBER;
}

/* A quoted payload begin..end; the token's number says whether it contains escapes. */
static int lex_quoted(struct parser *p, union nvir_value *value, const char *begin,
                      const char *end, int token) {
  bool escaped = memchr(begin, '\\', (size_t)(end - begin)) != NULL;
  set_token(p, value, begin, end, escaped ? NAME_ESCAPED : NAME_PLAIN);
  return token;
}

/* ---- Resynchronization after an error ---- */

static bool begins_instruction(int token) {
  switch (token) {
  case T_RET: case T_BR: case T_SWITCH: case T_UNREACHABLE: case T_BINARY: case T_UNARY:
  case T_ALLOCA: case T_LOAD: case T_STORE: case T_FENCE: case T_CMPXCHG: case T_ATOMICRMW:
  case T_GEP: case T_CAST: case T_ICMP: case T_FCMP: case T_PHI: case T_MULTI: case T_CALL:
  case T_EXTRACTVALUE: case T_INSERTVALUE: case T_VA_ARG: case T_TAIL: case T_OUTSIDE: return true;
  default: return false;
  }
}

static bool begins_definition(int token) {
  switch (token) {
  case T_DEFINE: case T_DECLARE: case T_TARGET: case T_SOURCE_FILENAME: case T_MODULE:
  case T_ATTRIBUTES: return true;
  default: return false;
  }
}

/* What the line at `c` begins: T_RESYNC a statement or definition that is possible here,
 * T_RESYNC_TOP a definition inside a body, 0 neither. */
static int line_begins(const struct parser *p, const char *line) {
  const char *c = line;
  while (*c == ' ' || *c == '\t') c++;
  const char *end = c;
  while (is_name_char(*end)) end++;
  const struct word *first = word_find(p, c, (size_t)(end - c));
  int word = first ? first->token : T_WORD;
  bool top = (c == line && strchr("@!$", *c) && *c) || begins_definition(word);
  if (!p->in_body) return top || (c == line && *c == '%') ? T_RESYNC : 0;
  if (top) return T_RESYNC_TOP;
  if (*c == '}' || *c == '#') return T_RESYNC;
  if (*c == '%' || *c == '"') {
    if (*++c == '"') c++;
    while (*c != '\n' && *c != '\0' && *c != '=' && *c != ':' && *c != ',') c++;
    return *c == '=' || *c == ':' ? T_RESYNC : 0;
  }
  return (end > c && *end == ':') || begins_instruction(word) ? T_RESYNC : 0;
}

static const char *next_line(const char *c, const char *limit) {
  c = memchr(c, '\n', (size_t)(limit - c));
  return c ? c + 1 : limit;
}

int lexer_resync(struct parser *p) {
  p->resync = false;
  const char *c = p->text + p->token_begin;
  while (c > p->text && (c[-1] == ' ' || c[-1] == '\t')) c--;
  bool first_on_line = c == p->text || c[-1] == '\n';
  if (!first_on_line || p->at_begin || (uint32_t)(c - p->text) <= p->last_resync) {
    c = next_line(p->text + p->token_end, p->limit);
  }
  int token = 0;
  while (c < p->limit && (token = line_begins(p, c)) == 0) c = next_line(c, p->limit);
  p->cursor = c;
  p->last_resync = (uint32_t)(c - p->text);
  p->token_begin = p->token_end = p->last_resync;
  return token ? token : p->in_body ? T_RESYNC_TOP : T_RESYNC;
}

uint32_t lexer_token_end(struct parser *p, uint32_t begin) {
  const char *cursor = p->cursor;
  uint32_t token_begin = p->token_begin, token_end = p->token_end;
  union nvir_value ignored;
  p->cursor = p->text + begin;
  lexer_token(&ignored, p);
  uint32_t end = p->token_end;
  p->cursor = cursor;
  p->token_begin = token_begin, p->token_end = token_end;
  return end;
}

/* ---- The automaton ---- */

static const uint16_t punctuation['}' + 1] = {
    ['='] = T_EQUALS, ['*'] = T_STAR, [':'] = T_COLON, ['|'] = T_BAR,
    ['['] = T_LBRACKET, [']'] = T_RBRACKET, ['('] = T_LPAREN, [')'] = T_RPAREN,
    ['{'] = T_LBRACE, ['}'] = T_RBRACE, ['<'] = T_LESS, ['>'] = T_GREATER,
};

int lexer_token(union nvir_value *value, struct parser *p) {
  const char *cursor = p->cursor, *marker, *start;
  int token;
#define DONE(t) do { token = (t); goto done; } while (0)
again:
  cursor += *cursor == ' '; /* usually one blank; the automaton skips more */
  start = cursor;
  /*!re2c
  re2c:define:YYCTYPE = "unsigned char";
  re2c:define:YYCURSOR = cursor;
  re2c:define:YYMARKER = marker;
  re2c:yyfill:enable = 0;

  blank = [ \t\r\n];
  digit = [0-9];
  hex = [0-9a-fA-F];
  first = [-a-zA-Z$._];
  name = first [-a-zA-Z$._0-9]*;
  quoted = ["] [^"\x00]* ["];

  blank+ { /* the end of a line, mostly: often enough to look whether memory is out */
    p->stop |= state_out_of_memory(p);
    goto again;
  }
  ";" [^\n\x00]* { goto again; }
  /* LLVM 22 and later name literal arguments so; not across lines. */
  "/*" ([^*\n\x00] | "*"+ [^*/\n\x00])* "*"+ "/" { goto again; }

  [=*[\](){}<>|:] {
    value->token.begin = (uint32_t)(start - p->text);
    DONE(punctuation[(unsigned char)*start]);
  }
  "," { DONE(lex_comma(p, value, &cursor)); }
  "..." { DONE(T_DOTS); }

  [us] "0x" hex+ { set_token(p, value, start, cursor, UINT64_MAX); DONE(T_INT); }
  "i" digit+ { DONE(lex_int_type(p, value, start, cursor)); }
  "ptr" blank+ "addrspace" blank* "(" blank* digit+ blank* ")" {
    DONE(lex_pointer_type(p, value, start, cursor));
  }
  "cc" digit+ { /* llvm-dis writes cc99 for cc 99 */
    token = lex_numbered(p, value, start + 2, cursor, T_CONVENTION);
    DONE(value->token.number <= 1023 ? token : T_BAD_NUMBER);
  }
  "f0x" hex+ { set_token(p, value, start, cursor, SPELLED_BITS); DONE(T_FLOAT); }
  [a-zA-Z_] [a-zA-Z0-9_]* { DONE(lex_word(p, value, start, &cursor)); }

  name ":" { set_token(p, value, start, cursor - 1, NAME_PLAIN); DONE(T_LABEL); }
  digit+ ":" { DONE(lex_numbered(p, value, start, cursor - 1, T_LABEL)); }
  quoted ":" { DONE(lex_quoted(p, value, start + 1, cursor - 2, T_LABEL)); }

  "%" name {
    set_token(p, value, start + 1, cursor, NAME_PLAIN);
    DONE(joins_assignment(&cursor) ? T_LOCAL_ASSIGN : T_LOCAL);
  }
  "%" digit+ {
    token = lex_numbered(p, value, start + 1, cursor, T_LOCAL);
    DONE(token == T_LOCAL && joins_assignment(&cursor) ? T_LOCAL_ASSIGN : token);
  }
  "%" quoted {
    token = lex_quoted(p, value, start + 2, cursor - 1, T_LOCAL);
    DONE(joins_assignment(&cursor) ? T_LOCAL_ASSIGN : token);
  }
  "@" name {
    set_token(p, value, start + 1, cursor, NAME_PLAIN);
    DONE(joins_assignment(&cursor) ? T_GLOBAL_ASSIGN : T_GLOBAL);
  }
  "@" digit+ {
    token = lex_numbered(p, value, start + 1, cursor, T_GLOBAL);
    DONE(token == T_GLOBAL && joins_assignment(&cursor) ? T_GLOBAL_ASSIGN : token);
  }
  "@" quoted {
    token = lex_quoted(p, value, start + 2, cursor - 1, T_GLOBAL);
    DONE(joins_assignment(&cursor) ? T_GLOBAL_ASSIGN : token);
  }
  "$" quoted { DONE(lex_quoted(p, value, start + 2, cursor - 1, T_COMDAT_NAME)); }
  "$" name { set_token(p, value, start + 1, cursor, NAME_PLAIN); DONE(T_COMDAT_NAME); }

  "!" digit+ {
    token = lex_numbered(p, value, start + 1, cursor, T_META_ID);
    DONE(token == T_META_ID && joins_assignment(&cursor) ? T_META_ID_ASSIGN : token);
  }
  "!" [-a-zA-Z$._\\] [-a-zA-Z$._0-9\\]* {
    lex_quoted(p, value, start + 1, cursor, T_META_NAME);
    DONE(joins_assignment(&cursor) ? T_META_NAME_ASSIGN : T_META_NAME);
  }
  "!" quoted { DONE(lex_quoted(p, value, start + 2, cursor - 1, T_META_STRING)); }
  "!{" { DONE(T_META_OPEN); }

  "#" digit+ { DONE(lex_numbered(p, value, start + 1, cursor, T_GROUP)); }
  "#dbg_" [a-z]+ { set_token(p, value, start, cursor, 0); DONE(T_DBG); }

  quoted { DONE(lex_quoted(p, value, start + 1, cursor - 1, T_STRING)); }
  "c" quoted { DONE(lex_quoted(p, value, start + 2, cursor - 1, T_CSTRING)); }

  "-"? digit+ {
    set_token(p, value, start, cursor, digits_value(start + (*start == '-'), cursor));
    DONE(T_INT);
  }
  [-+]? digit+ "." digit* ([eE] [-+]? digit+)? {
    set_token(p, value, start, cursor, SPELLED_DECIMAL);
    DONE(T_FLOAT);
  }
  "0x" [KLMHR]? hex+ { set_token(p, value, start, cursor, SPELLED_BITS); DONE(T_FLOAT); }
  [-+]? "0x" hex+ ("." hex*)? [pP] [-+]? digit+ | [-+] ("inf" | "qnan" | "s"? "nan(0x" hex+ ")") {
    set_token(p, value, start, cursor, SPELLED_SPECIAL);
    DONE(T_FLOAT);
  }

  "\x00" {
    if (start >= p->limit) {
      cursor = start = p->limit;
      DONE(T_YYEOF);
    }
    DONE(T_BAD_BYTE);
  }
  [c%@!$]? ["] { DONE(T_BAD_BYTE); }
  * { DONE(T_BAD_BYTE); }
  */
done:
#undef DONE
  p->cursor = cursor;
  p->token_begin = (uint32_t)(start - p->text);
  p->token_end = (uint32_t)(cursor - p->text);
  return token;
}
