/* The index of a document. One pass over the tokens finds functions and names; which of the `%`
 * names outside the definitions of values are types is decided in a second one, when all
 * definitions are known: the two kinds of names are written alike. */
#include "driver/lsp/index.h"

#include "frontend/lexer.h"
#include "ir/module.h"
#include "parser.h"

#include <stdlib.h>

struct builder {
  struct index *x;
  const char *text;
  struct parser parser;
  union nvir_value value; /* of the last token */
  uint32_t depth;         /* open brackets */
  bool in_header, in_body, named, saw_arguments;
};

/* ---- Names ---- */

static unsigned hex_digit(char c) {
  if (c >= '0' && c <= '9') return (unsigned)(c - '0');
  if (c >= 'a' && c <= 'f') return (unsigned)(c - 'a') + 10;
  return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

/* The name with each `\xx` replaced by its byte. */
static struct nvm_str intern(struct index *x, const char *bytes, size_t length) {
  if (!memchr(bytes, '\\', length)) return strtab_intern(&x->strings, bytes, length);
  char *out = arena_alloc(&x->arena, length + 1), *at = out;
  for (size_t i = 0; out && i < length; i++) {
    bool escape = bytes[i] == '\\' && i + 2 < length && hex_digit(bytes[i + 1]) < 16 &&
                  hex_digit(bytes[i + 2]) < 16;
    *at++ = escape ? (char)(hex_digit(bytes[i + 1]) << 4 | hex_digit(bytes[i + 2])) : bytes[i];
    if (escape) i += 2;
  }
  return out ? strtab_intern(&x->strings, out, (size_t)(at - out)) : (struct nvm_str){0};
}

/* Records the name of the last token, whose payload lies between sigil, quotes and what joined. */
static struct index_name *add_name(struct builder *b, enum index_kind kind, bool defines) {
  struct index *x = b->x;
  const struct token *t = &b->value.token;
  uint32_t begin = b->parser.token_begin;
  bool quoted = t->begin > begin && b->text[t->begin - 1] == '"';
  bool sigil = t->begin > begin + quoted; /* a label has none */
  uint32_t end = t->begin + t->length + quoted;
  struct index_name n = {
      .range = {begin, end},
      .inside = {begin + sigil, end},
      .token = x->tokens.count - 1,
      .function = kind == INDEX_LOCAL ? x->functions.count : 0,
      .name = intern(x, b->text + t->begin, t->length),
      .kind = kind,
      .is_number = !quoted && b->text[t->begin] >= '0' && b->text[t->begin] <= '9',
      .is_definition = defines,
  };
  return VEC_PUSH(&x->arena, &x->names, n) ? &x->names.data[x->names.count - 1] : NULL;
}

/* ---- Functions ---- */

/* Ends the open function, if there is one, with the token `last`. */
static void end_function(struct builder *b, uint32_t last) {
  struct index *x = b->x;
  if (!b->in_header && !b->in_body) return;
  struct index_function *f = &x->functions.data[x->functions.count - 1];
  f->end = x->tokens.data[last].end;
  f->last_token = last;
  b->in_header = b->in_body = false;
  b->depth = 0;
}

static void begin_function(struct builder *b, bool declaration) {
  struct index_function f = {.name = UINT32_MAX,
                             .begin = b->parser.token_begin,
                             .end = b->parser.token_end,
                             .first_token = b->x->tokens.count - 1,
                             .last_token = b->x->tokens.count - 1,
                             .is_declaration = declaration};
  b->depth = 0;
  b->in_header = VEC_PUSH(&b->x->arena, &b->x->functions, f);
  b->named = b->saw_arguments = false;
}

/* Whether the token begins a definition in column 0, where an open function ends. */
static bool is_at_top(const struct builder *b, int kind) {
  uint32_t begin = b->parser.token_begin;
  if (begin > 0 && b->text[begin - 1] != '\n') return false;
  switch (kind) {
    case T_GLOBAL_ASSIGN:
    case T_META_ID_ASSIGN:
    case T_META_NAME_ASSIGN:
    case T_ATTRIBUTES:
    case T_TARGET:
    case T_SOURCE_FILENAME:
    case T_COMDAT_NAME: return true;
    default: return false;
  }
}

/* Whether `{` after a header begins the body: a structure there begins with a type. */
static bool begins_body(struct builder *b) {
  struct parser *p = &b->parser;
  const char *cursor = p->cursor;
  uint32_t begin = p->token_begin, end = p->token_end;
  union nvir_value ignored;
  int next = lexer_token(&ignored, p);
  p->cursor = cursor, p->token_begin = begin, p->token_end = end;
  return next != T_TYPE && next != T_LBRACKET && next != T_LESS && next != T_LBRACE;
}

static bool opens(int kind) {
  return kind == T_LPAREN || kind == T_LBRACKET || kind == T_LBRACE || kind == T_META_OPEN ||
         kind == T_LESS;
}
static bool closes(int kind) {
  return kind == T_RPAREN || kind == T_RBRACKET || kind == T_RBRACE || kind == T_GREATER;
}

static void bracket(struct builder *b, int kind) {
  struct index *x = b->x;
  if (b->in_header && b->saw_arguments && b->depth == 0 && kind == T_LBRACE && begins_body(b)) {
    b->in_header = false;
    b->in_body = true;
    x->functions.data[x->functions.count - 1].body = x->tokens.count - 1;
    return;
  }
  if (b->in_body && b->depth == 0 && kind == T_RBRACE) {
    end_function(b, x->tokens.count - 1);
    return;
  }
  if (opens(kind)) b->depth++;
  else if (b->depth > 0 && closes(kind)) b->depth--;
  if (b->in_header && b->named && b->depth == 0 && kind == T_RPAREN) b->saw_arguments = true;
}

/* ---- Tokens ---- */

static void add_global(struct builder *b, bool assigned) {
  struct index *x = b->x;
  bool names_function = !assigned && b->in_header && !b->named;
  struct index_name *n = add_name(b, INDEX_GLOBAL, assigned || names_function);
  if (!n || !names_function) return;
  b->named = true;
  x->functions.data[x->functions.count - 1].name = x->names.count - 1;
}

/* A name in a function is a local one at first: resolve_types() finds the types among them. */
static void add_local(struct builder *b, bool assigned) {
  bool inside = b->in_header || b->in_body;
  struct index_name *n = add_name(b, inside ? INDEX_LOCAL : INDEX_TYPE, assigned);
  if (n && inside) n->function = b->x->functions.count;
}

static void take_token(struct builder *b, int kind) {
  struct index *x = b->x;
  bool top = kind == T_DEFINE || kind == T_DECLARE || is_at_top(b, kind);
  if (top && x->tokens.count > 1) end_function(b, x->tokens.count - 2);
  if (opens(kind) || closes(kind)) bracket(b, kind);
  switch (kind) {
    case T_DEFINE: begin_function(b, false); break;
    case T_DECLARE: begin_function(b, true); break;
    case T_GLOBAL: add_global(b, false); break;
    case T_GLOBAL_ASSIGN: add_global(b, true); break;
    case T_LOCAL: add_local(b, false); break;
    case T_LOCAL_ASSIGN: add_local(b, true); break;
    case T_LABEL: {
      struct index_name *n = b->in_body ? add_name(b, INDEX_LOCAL, true) : NULL;
      if (n) n->is_block = true;
      break;
    }
    case T_META_ID:
    case T_META_NAME: add_name(b, INDEX_METADATA, false); break;
    case T_META_ID_ASSIGN:
    case T_META_NAME_ASSIGN: add_name(b, INDEX_METADATA, true); break;
    case T_GROUP: {
      bool defines = x->tokens.count > 1 &&
                     x->tokens.data[x->tokens.count - 2].kind == T_ATTRIBUTES;
      add_name(b, INDEX_GROUP, defines);
      break;
    }
    case T_COMDAT_NAME: add_name(b, INDEX_COMDAT, b->depth == 0 && !b->in_header); break;
    case T_CONVENTION:
      if (b->in_header && b->value.token.number == CC_PTX_KERNEL)
        x->functions.data[x->functions.count - 1].is_kernel = true;
      break;
    default: break;
  }
}

static void read_tokens(struct builder *b) {
  struct index *x = b->x;
  for (int kind; !x->arena.failed && (kind = lexer_token(&b->value, &b->parser)) != T_YYEOF;) {
    struct index_token t = {.begin = b->parser.token_begin,
                            .end = b->parser.token_end,
                            .kind = (uint16_t)kind,
                            .depth = (uint16_t)(b->depth < UINT16_MAX ? b->depth : UINT16_MAX)};
    if (VEC_PUSH(&x->arena, &x->tokens, t)) take_token(b, kind);
  }
  if (x->tokens.count) end_function(b, x->tokens.count - 1);
}

/* ---- Arguments and types ---- */

static int kind_at(const struct index *x, uint32_t token) {
  return token < x->tokens.count ? x->tokens.data[token].kind : T_YYEOF;
}

/* Whether a `%` name in a header at depth 1 names an argument: after a type, before `,` or `)`. */
static bool is_argument(const struct index *x, const struct index_name *n) {
  const struct index_function *f = index_function_of(x, n);
  int before = kind_at(x, n->token - 1), after = kind_at(x, n->token + 1);
  if (!f || f->name == UINT32_MAX || (f->body && n->token > f->body)) return false;
  return n->token > x->names.data[f->name].token && x->tokens.data[n->token].depth == 1 &&
         before != T_LPAREN && before != T_COMMA && (after == T_COMMA || after == T_RPAREN);
}

/* Whether its neighbors show that a `%` name is a type. */
static bool is_type_position(const struct index *x, const struct index_name *n) {
  switch (kind_at(x, n->token + 1)) {
    case T_LOCAL: case T_GLOBAL: case T_STAR: case T_INT: case T_FLOAT: case T_NULL: case T_UNDEF:
    case T_POISON: case T_ZERO: case T_LBRACE: return true;
    default: break;
  }
  switch (kind_at(x, n->token - 1)) {
    case T_X: case T_TO: case T_ALLOCA: case T_GEP: case T_LOAD: case T_CALL: return true;
    default: return false;
  }
}

enum { SEEN_TYPE = 1, SEEN_LOCAL = 2 };

/* By name: whether it is a type's, and the last function + 1 in which it is a value's. */
struct seen {
  bool is_type;
  uint32_t function;
};

/* Makes types of those local names that have no definition in their function or are where only a
 * type can be. */
static void resolve_function(struct index *x, struct seen *seen, uint32_t first, uint32_t last) {
  for (uint32_t k = first; k < last; k++) {
    struct index_name *n = &x->names.data[k];
    if (n->kind != INDEX_LOCAL) continue;
    if (!n->is_definition) n->is_definition = is_argument(x, n);
    if (n->is_definition) seen[n->name.index].function = n->function;
  }
  for (uint32_t k = first; k < last; k++) {
    struct index_name *n = &x->names.data[k];
    if (n->kind != INDEX_LOCAL || n->is_definition || !seen[n->name.index].is_type) continue;
    bool is_value = seen[n->name.index].function == n->function;
    if (is_value && !is_type_position(x, n)) continue;
    n->kind = INDEX_TYPE;
    n->function = 0;
  }
}

static void resolve_types(struct index *x) {
  struct seen *seen = arena_alloc(&x->arena, x->strings.entries.count * sizeof *seen);
  if (!seen) return;
  for (uint32_t k = 0; k < x->names.count; k++) {
    const struct index_name *n = &x->names.data[k];
    if (n->kind == INDEX_TYPE && n->is_definition) seen[n->name.index].is_type = true;
  }
  for (uint32_t k = 0; k < x->names.count;) {
    uint32_t first = k, function = x->names.data[k].function;
    if (x->names.data[k].kind != INDEX_LOCAL) {
      k++;
      continue;
    }
    while (k < x->names.count &&
           (x->names.data[k].kind != INDEX_LOCAL || x->names.data[k].function == function))
      k++;
    resolve_function(x, seen, first, k);
  }
}

/* ---- Kernels by metadata: !0 = !{ptr @f, !"kernel", i32 1} ---- */

static bool is_kernel_string(const struct index *x, const char *text, uint32_t token) {
  static const char word[] = "!\"kernel\"";
  const struct index_token *t = &x->tokens.data[token];
  return t->kind == T_META_STRING && t->end - t->begin == sizeof word - 1 &&
         memcmp(text + t->begin, word, sizeof word - 1) == 0;
}

static void find_kernels(struct index *x, const char *text) {
  uint32_t *function_of = arena_alloc(&x->arena, x->strings.entries.count * sizeof *function_of);
  for (uint32_t k = 0; function_of && k < x->functions.count; k++)
    if (x->functions.data[k].name != UINT32_MAX)
      function_of[x->names.data[x->functions.data[k].name].name.index] = k + 1;
  for (uint32_t k = 0; function_of && k < x->names.count; k++) {
    const struct index_name *n = &x->names.data[k];
    if (n->kind != INDEX_GLOBAL || n->token < 3 || x->tokens.data[n->token].depth != 1) continue;
    bool listed = kind_at(x, n->token - 2) == T_META_OPEN &&
                  kind_at(x, n->token - 3) == T_META_ID_ASSIGN &&
                  kind_at(x, n->token + 1) == T_COMMA && n->token + 2 < x->tokens.count;
    uint32_t f = function_of[n->name.index];
    if (listed && f && is_kernel_string(x, text, n->token + 2))
      x->functions.data[f - 1].is_kernel = true;
  }
}

/* ---- The whole ---- */

bool index_make(struct index *x, const char *text, size_t length) {
  struct diag_sink sink;
  struct builder b = {.x = x, .text = text};
  *x = (struct index){.functions.count = 0};
  arena_init(&x->arena, nvm_default_allocator);
  struct nvm_module *m = module_create(nvm_default_allocator, 0);
  arena_init(&b.parser.scratch, nvm_default_allocator);
  diag_sink_init(&sink, &b.parser.scratch, 1);
  b.parser.m = m;
  b.parser.sink = &sink;
  b.parser.text = b.parser.cursor = text;
  b.parser.limit = text + length;
  bool right = m && strtab_init(&x->strings, &x->arena) && lexer_init(&b.parser);
  if (right) {
    read_tokens(&b);
    resolve_types(x);
    find_kernels(x, text);
  }
  arena_free(&b.parser.scratch);
  if (m) module_destroy(m);
  return right && !x->arena.failed;
}

void index_free(struct index *x) {
  arena_free(&x->arena);
  *x = (struct index){.functions.count = 0};
}

/* ---- Queries ---- */

const struct index_name *index_name_at(const struct index *x, uint32_t offset) {
  uint32_t low = 0, high = x->names.count; /* names before `low` begin at or before the offset */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (x->names.data[middle].range.begin <= offset) low = middle + 1;
    else high = middle;
  }
  const struct index_name *n = low ? &x->names.data[low - 1] : NULL;
  if (n && offset == n->range.begin && low > 1 && x->names.data[low - 2].range.end > offset)
    n = &x->names.data[low - 2];
  return n && offset <= n->range.end ? n : NULL;
}

const struct index_token *index_token_at(const struct index *x, uint32_t offset) {
  uint32_t low = 0, high = x->tokens.count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (x->tokens.data[middle].begin <= offset) low = middle + 1;
    else high = middle;
  }
  const struct index_token *t = low ? &x->tokens.data[low - 1] : NULL;
  return t && offset < t->end ? t : NULL;
}

bool index_same(const struct index_name *a, const struct index_name *b) {
  return a->kind == b->kind && a->name.index == b->name.index && a->function == b->function &&
         a->is_number == b->is_number;
}

const struct index_name *index_definition(const struct index *x, const struct index_name *n) {
  for (uint32_t k = 0; k < x->names.count; k++)
    if (x->names.data[k].is_definition && index_same(&x->names.data[k], n))
      return &x->names.data[k];
  return NULL;
}

const struct index_function *index_function_of(const struct index *x, const struct index_name *n) {
  return n->function ? &x->functions.data[n->function - 1] : NULL;
}

struct nvm_text index_text(const struct index *x, const struct index_name *n) {
  return strtab_text(&x->strings, n->name);
}

static bool begins_instruction(int kind) {
  switch (kind) {
    case T_RET: case T_RET_VOID: case T_BR: case T_SWITCH: case T_UNREACHABLE: case T_UNARY:
    case T_BINARY: case T_ALLOCA: case T_LOAD: case T_STORE: case T_FENCE: case T_CMPXCHG:
    case T_ATOMICRMW: case T_GEP: case T_CAST: case T_ICMP: case T_FCMP: case T_PHI: case T_CALL:
    case T_MULTI: case T_EXTRACTVALUE: case T_INSERTVALUE: case T_VA_ARG: case T_DBG: return true;
    default: return false;
  }
}

const char *index_op(const struct index_token *t, const char *text) {
  if (!begins_instruction(t->kind)) return NULL;
  for (uint32_t k = 0; k < OP_COUNT; k++) {
    const char *word = op_table[k].keyword;
    size_t length = strlen(word);
    if (t->end - t->begin < length || memcmp(text + t->begin, word, length) != 0) continue;
    char c = t->end - t->begin == length ? ' ' : text[t->begin + length];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';') return word;
  }
  return NULL;
}
