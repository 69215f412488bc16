/* Makes symbols and metadata nodes known before they are parsed.
 *
 * A use of @x before its definition does not show whether @x is a function or a variable, and the
 * order of symbols and of metadata numbers is that of their definitions. So lines that begin in
 * column 0 are scanned first: `@x = …`, `define … @f(`, `declare … @f(`, `%T = type {…`, `!5 = …`.
 * That costs a memchr() per line. Other definitions (indented, or with headers of several lines)
 * are found by scan_tokens(), which scans all tokens once, at the first unknown symbol. */
#include "frontend/scan.h"

#include "frontend/lexer.h"
#include "frontend/names.h"
#include "frontend/nodes.h"

#include <stdlib.h>

#include "parser.h"

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-';
}

/* The name after a sigil at `c`, NULL if there is none; *end is after it. */
static bool read_name(const struct parser *p, const char *c, struct token *t, const char **end) {
  const char *begin = c;
  t->number = NAME_PLAIN;
  if (*c == '"') {
    const char *close = memchr(c + 1, '"', (size_t)(p->limit - c - 1));
    if (!close) return false;
    begin = c + 1;
    *end = close + 1;
    c = close;
    if (memchr(begin, '\\', (size_t)(close - begin))) t->number = NAME_ESCAPED;
  } else if (*c >= '0' && *c <= '9') {
    uint64_t n = 0;
    for (; *c >= '0' && *c <= '9'; c++)
      if (n <= PARSE_MAX_NUMBER) n = n * 10 + (uint64_t)(*c - '0');
    if (n > PARSE_MAX_NUMBER) return false;
    t->number = n;
    *end = c;
  } else {
    while (is_name_char(*c)) c++;
    if (c == begin) return false;
    *end = c;
  }
  t->begin = (uint32_t)(begin - p->text);
  t->length = (uint32_t)(c - begin);
  return true;
}

static bool at_assignment(const char *c) {
  while (*c == ' ' || *c == '\t') c++;
  return *c == '=';
}

/* `@x = `; names such as @llvm.used too. */
static void scan_variable(struct parser *p, const char *line) {
  struct token t;
  const char *end;
  if (read_name(p, line + 1, &t, &end) && at_assignment(end)) names_scanned_symbol(p, &t, false);
}

/* `define … @f(` on one line. */
static void scan_function(struct parser *p, const char *line) {
  for (const char *c = line; *c != '\n' && *c != '\0' && *c != ';'; c++) {
    if (*c == '"') {
      c = memchr(c + 1, '"', (size_t)(p->limit - c - 1));
      if (!c) return;
    } else if (*c == '@') {
      struct token t;
      const char *end;
      if (read_name(p, c + 1, &t, &end) && *end == '(') names_scanned_symbol(p, &t, true);
      return;
    }
  }
}

static bool starts_with(const char *line, const char *word) {
  return strncmp(line, word, strlen(word)) == 0;
}

/* `%T = type { … }`: named structs are in the order of their definitions. */
static void scan_type(struct parser *p, const char *line) {
  struct token t;
  const char *c;
  if (!read_name(p, line + 1, &t, &c) || !at_assignment(c)) return;
  while (*c == ' ' || *c == '=') c++;
  if (!starts_with(c, "type ")) return;
  c += strlen("type ");
  if (*c != '{' && !starts_with(c, "<{") && !starts_with(c, "opaque")) return;
  type_named(&p->m->types, names_string(p, &t));
}

static int compare_numbers(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

struct node_numbers {
  VEC(uint32_t) list;
  bool ascending;
};

static void scan_node(struct parser *p, const char *line, struct node_numbers *numbers) {
  struct token t;
  const char *end;
  if (line[1] < '0' || line[1] > '9' || !read_name(p, line + 1, &t, &end) || !at_assignment(end))
    return;
  uint32_t n = (uint32_t)t.number, count = numbers->list.count;
  if (count && numbers->list.data[count - 1] > n) numbers->ascending = false;
  VEC_PUSH(&p->scratch, &numbers->list, n);
}

bool scan_lines(struct parser *p) {
  struct node_numbers numbers = {.ascending = true};
  struct body_lines body = {0};
  for (const char *line = p->text; line < p->limit; body.count++) {
    if (*line == 'd') body = (struct body_lines){.begin = (uint32_t)(line - p->text)};
    if (*line == '@') scan_variable(p, line);
    else if (*line == 'd' && (starts_with(line, "define") || starts_with(line, "declare")))
      scan_function(p, line);
    else if (*line == '%') scan_type(p, line);
    else if (*line == '!') scan_node(p, line, &numbers);
    else if (*line == '}') {
      body.end = (uint32_t)(line - p->text);
      VEC_PUSH(&p->scratch, &p->bodies, body);
    }
    const char *end = memchr(line, '\n', (size_t)(p->limit - line));
    line = end ? end + 1 : p->limit;
  }
  if (!numbers.ascending)
    qsort(numbers.list.data, numbers.list.count, sizeof *numbers.list.data, compare_numbers);
  for (uint32_t i = 0; i < numbers.list.count; i++) nodes_number(p, numbers.list.data[i]);
  return !state_out_of_memory(p);
}

void scan_tokens(struct parser *p) {
  if (p->scanned_fully) return;
  p->scanned_fully = true;
  const char *cursor = p->cursor;
  uint32_t begin = p->token_begin, end = p->token_end, outside = p->outside;
  bool header = false;
  p->cursor = p->text + p->released; /* what is before was parsed */
  union nvir_value value;
  for (int token; !state_out_of_memory(p) && (token = lexer_token(&value, p)) != T_YYEOF;) {
    if (token == T_DEFINE || token == T_DECLARE) header = true;
    if (token == T_GLOBAL_ASSIGN) names_scanned_symbol(p, &value.token, false);
    if (token == T_GLOBAL && header) {
      names_scanned_symbol(p, &value.token, true);
      header = false;
    }
  }
  p->cursor = cursor;
  p->token_begin = begin, p->token_end = end, p->outside = outside;
}
