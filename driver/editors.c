/* Syntax descriptions for editors, from the tables of the language: of the IR (`nvir`) and of PTX
 * (`ptx`), for Vim, as a TextMate grammar, which VS Code, Sublime Text and GitHub read, and as a
 * grammar of tree-sitter. */
#include "driver/options.h"

#include <string.h>

#include "ir/attribute.h"
#include "ir/function.h"
#include "ptx/ops.h"
#include "support/json.h"

/* ---- Words ---- */

/* What a word is, with its Vim group and its TextMate scope. */
/* In the order of precedence: some words are of several kinds. */
enum word_kind { WORD_CONSTANT, WORD_OP, WORD_TYPE, WORD_ATTRIBUTE, WORD_KEYWORD, WORD_KINDS };

static const struct {
  const char *vim, *scope;
} kinds[WORD_KINDS] = {
    [WORD_CONSTANT] = {"Constant", "constant.language"},
    [WORD_OP] = {"Statement", "keyword.operator.instruction"},
    [WORD_KEYWORD] = {"Keyword", "keyword.other"},
    [WORD_TYPE] = {"Type", "storage.type"},
    [WORD_ATTRIBUTE] = {"PreProc", "storage.modifier"},
};

typedef void word_visit(void *state, const char *word);

static void each_name(const char *const *names, uint32_t first, uint32_t count, word_visit *visit,
                      void *state) {
  for (uint32_t k = first; k < count; k++) visit(state, names[k]);
}

static void each_keyword(word_visit *visit, void *state) {
#define WORD(text, token, value) visit(state, text);
#define CONVENTION(text, number) visit(state, text);
#define OUTSIDE(text, reason)
#include "frontend/words.def"
#undef WORD
#undef CONVENTION
#undef OUTSIDE
  each_name(icmp_names, 0, ICMP_COUNT, visit, state);
  each_name(fcmp_names, 0, FCMP_COUNT, visit, state);
  each_name(linkage_names, 1, LINK_COUNT, visit, state);
  each_name(visibility_names, 1, VIS_COUNT, visit, state);
  each_name(preemption_names, 1, PREEMPT_COUNT, visit, state);
  each_name(unnamed_addr_names, 1, UNNAMED_COUNT, visit, state);
  each_name(ordering_names, 1, ORDER_COUNT, visit, state);
  each_name(rmw_names, 0, RMW_COUNT, visit, state);
}

/* Calls `visit` for each word of a kind in the IR, some of them repeatedly. Words that are not
 * letters and digits (`#dbg_value`) are left out. */
static void each_nvir_word(enum word_kind kind, word_visit *visit, void *state) {
  static const char *const types[] = {"void",   "token", "half",  "bfloat",   "float",
                                      "double", "ptr",   "label", "metadata", "x"};
  static const char *const constants[] = {"true",   "false", "null",           "undef",
                                          "poison", "none",  "zeroinitializer"};
  switch (kind) {
    case WORD_CONSTANT:
      each_name(constants, 0, sizeof constants / sizeof *constants, visit, state);
      break;
    case WORD_OP:
      for (uint32_t k = 0; k < OP_COUNT; k++)
        if (op_table[k].keyword[0] != '#') visit(state, op_table[k].keyword);
      break;
    case WORD_KEYWORD: each_keyword(visit, state); break;
    case WORD_TYPE: each_name(types, 0, sizeof types / sizeof *types, visit, state); break;
    case WORD_ATTRIBUTE:
      for (uint32_t k = 1; k < ATTR_ID_COUNT; k++) visit(state, attr_table[k].keyword);
      break;
    case WORD_KINDS: break;
  }
}

static void each_ptx_word(enum word_kind kind, word_visit *visit, void *state) {
  if (kind != WORD_OP) return; /* all others begin with a dot */
  for (uint32_t k = 1; k < PTX_OP_COUNT; k++) visit(state, ptx_op_row((uint16_t)k)->text);
}

static bool is_ptx(const char *language) { return strcmp(language, "ptx") == 0; }

static void each_word(const char *language, enum word_kind kind, word_visit *visit, void *state) {
  if (is_ptx(language)) each_ptx_word(kind, visit, state);
  else each_nvir_word(kind, visit, state);
}

/* ---- Patterns that are no words ---- */

/* A pattern in Vim's (very magic) and in TextMate's syntax. `end`: the pattern is a region. */
struct pattern {
  const char *name, *vim, *vim_end, *vim_group, *match, *end, *scope;
};

static const struct pattern nvir_patterns[] = {
    {"Comment", ";.*$", NULL, "Comment", ";.*$", NULL, "comment.line.semicolon"},
    {"String", "\"", "\"", "String", "\"", "\"", "string.quoted.double"},
    {"Global", "\\v\\@(\"[^\"]*\"|[-a-zA-Z0-9$._]+)", NULL, "Function",
     "@(\"[^\"]*\"|[-a-zA-Z0-9$._]+)", NULL, "entity.name.function"},
    {"Local", "\\v\\%(\"[^\"]*\"|[-a-zA-Z0-9$._]+)", NULL, "Identifier",
     "%(\"[^\"]*\"|[-a-zA-Z0-9$._]+)", NULL, "variable.other"},
    {"Metadata", "\\v[!#][a-zA-Z0-9$._]+", NULL, "Special", "[!#][a-zA-Z0-9$._]+", NULL,
     "constant.other.metadata"},
    {"Label", "\\v^[-a-zA-Z0-9$._]+\\ze:", NULL, "Label", "^[-a-zA-Z0-9$._]+(?=:)", NULL,
     "entity.name.label"},
    {"Integer", "\\v<i[0-9]+>", NULL, "Type", "\\bi[0-9]+\\b", NULL, "storage.type"},
    {"Number", "\\v<-?[0-9][0-9.]*(e[-+]?[0-9]+)?>|<0x[HKLMR]?[0-9a-fA-F]+>", NULL, "Number",
     "-?\\b(0x[HKLMR]?[0-9a-fA-F]+|[0-9][0-9.]*(e[-+]?[0-9]+)?)\\b", NULL, "constant.numeric"},
};

static const struct pattern ptx_patterns[] = {
    {"Comment", "//.*$", NULL, "Comment", "//.*$", NULL, "comment.line.double-slash"},
    {"Block", "/\\*", "\\*/", "Comment", "/\\*", "\\*/", "comment.block"},
    {"String", "\"", "\"", "String", "\"", "\"", "string.quoted.double"},
    {"Register", "\\v\\%[a-zA-Z_$][a-zA-Z0-9_$]*(\\.[xyzw]>)?", NULL, "Identifier",
     "%[a-zA-Z_$][a-zA-Z0-9_$]*(\\.[xyzw]\\b)?", NULL, "variable.other"},
    {"Guard", "\\v\\@!?\\%[a-zA-Z0-9_$]+", NULL, "Special", "@!?%[a-zA-Z0-9_$]+", NULL,
     "keyword.control.guard"},
    {"Label", "\\v^\\s*[a-zA-Z_$][a-zA-Z0-9_$]*\\ze:", NULL, "Label",
     "^\\s*[a-zA-Z_$][a-zA-Z0-9_$]*(?=:)", NULL, "entity.name.label"},
    {"Type", "\\v\\.(pred|[busf](8|16|32|64|128)|b?f16(x2)?|bf16(x2)?|tf32)>", NULL, "Type",
     "\\.(pred|[busf](8|16|32|64|128)|b?f16(x2)?|bf16(x2)?|tf32)\\b", NULL, "storage.type"},
    {"Modifier", "\\v\\.[a-zA-Z_][a-zA-Z0-9_:]*", NULL, "PreProc", "\\.[a-zA-Z_][a-zA-Z0-9_:]*",
     NULL, "storage.modifier"},
    {"Number", "\\v<-?[0-9][0-9.]*(e[-+]?[0-9]+)?U?>|<0[xfd][0-9a-fA-F]+>", NULL, "Number",
     "-?\\b(0[xfdFD][0-9a-fA-F]+|[0-9][0-9.]*(e[-+]?[0-9]+)?U?)\\b", NULL, "constant.numeric"},
};

static const struct pattern *patterns_of(const char *language, size_t *count) {
  *count = is_ptx(language) ? sizeof ptx_patterns / sizeof *ptx_patterns
                            : sizeof nvir_patterns / sizeof *nvir_patterns;
  return is_ptx(language) ? ptx_patterns : nvir_patterns;
}

/* ---- Vim ---- */

static void put_vim_word(void *state, const char *word) { fprintf(state, " %s", word); }

void editors_vim(FILE *out, const char *language) {
  size_t count;
  const struct pattern *patterns = patterns_of(language, &count);
  fprintf(out,
          "\" Vim syntax of %s, printed by `nvmini help --vim-syntax=%s`.\n"
          "\" Save as ~/.vim/syntax/%s.vim.\n"
          "if exists('b:current_syntax') | finish | endif\n"
          "syntax case match\nsyntax iskeyword @,48-57,_%s\n",
          is_ptx(language) ? "PTX" : "NVVM IR", language, language, is_ptx(language) ? "" : ",.");
  for (size_t k = count; k-- > 0;) { /* in Vim the last one takes precedence */
    const struct pattern *p = &patterns[k];
    if (p->vim_end)
      fprintf(out, "syntax region %s%s start=~%s~ end=~%s~\n", language, p->name, p->vim,
              p->vim_end);
    else fprintf(out, "syntax match %s%s ~%s~\n", language, p->name, p->vim);
    fprintf(out, "highlight default link %s%s %s\n", language, p->name, p->vim_group);
  }
  for (int kind = WORD_KINDS; kind-- > 0;) {
    if (is_ptx(language) && kind != WORD_OP) continue;
    fprintf(out, "syntax keyword %sWord%d", language, kind);
    each_word(language, (enum word_kind)kind, put_vim_word, out);
    fprintf(out, "\nhighlight default link %sWord%d %s\n", language, kind, kinds[kind].vim);
  }
  fprintf(out, "let b:current_syntax = '%s'\n", language);
}

/* ---- TextMate ---- */

struct alternatives {
  struct textbuf text;
};

static void put_alternative(void *state, const char *word) {
  struct alternatives *a = state;
  textbuf_puts(&a->text, a->text.length ? "|" : "\\b(");
  textbuf_puts(&a->text, word);
}

static void put_scope(struct json_writer *w, const char *key, const char *scope,
                      const char *language) {
  char text[128];
  snprintf(text, sizeof text, "%s.%s", scope, language);
  json_member(w, key, text_of(text));
}

static void put_words(struct json_writer *w, const char *language, enum word_kind kind,
                      struct arena *arena) {
  struct alternatives a;
  textbuf_init(&a.text, arena);
  each_word(language, kind, put_alternative, &a);
  if (a.text.length == 0) return;
  textbuf_puts(&a.text, ")\\b");
  json_object(w);
  json_member(w, "match", (struct nvm_text){a.text.bytes, a.text.length});
  put_scope(w, "name", kinds[kind].scope, language);
  json_object_end(w);
}

void editors_textmate(FILE *out, const char *language) {
  struct arena arena;
  struct textbuf text;
  struct json_writer w;
  size_t count;
  const struct pattern *patterns = patterns_of(language, &count);
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&text, &arena);
  json_begin(&w, &text, true);
  json_object(&w);
  json_member(&w, "name", text_of(is_ptx(language) ? "PTX" : "NVVM IR"));
  put_scope(&w, "scopeName", "source", language);
  json_key(&w, "fileTypes"), json_array(&w);
  json_puts(&w, language);
  if (!is_ptx(language)) json_puts(&w, "ll");
  json_array_end(&w);
  json_key(&w, "patterns"), json_array(&w);
  for (size_t k = 0; k < count; k++) {
    json_object(&w);
    json_member(&w, patterns[k].end ? "begin" : "match", text_of(patterns[k].match));
    if (patterns[k].end) json_member(&w, "end", text_of(patterns[k].end));
    put_scope(&w, "name", patterns[k].scope, language);
    json_object_end(&w);
  }
  for (int kind = 0; kind < WORD_KINDS; kind++)
    put_words(&w, language, (enum word_kind)kind, &arena);
  json_array_end(&w);
  json_object_end(&w);
  textbuf_char(&text, '\n');
  fwrite(text.bytes, 1, text.length, out);
  arena_free(&arena);
}

/* ---- Tree-sitter ---- */

/* The tokens that are no words, in tree-sitter's regular expressions, which have no assertions. Of
 * tokens of one length a word of a table comes first, then the first of these. */
static const struct {
  const char *name, *nvir, *ptx; /* NULL: not in the language */
} tree_tokens[] = {
    {"label", "/(\"[^\"]*\"|[-a-zA-Z0-9$._]+):/", "/[a-zA-Z_$][a-zA-Z0-9_$]*:/"},
    {"string", "/[c!]?\"[^\"]*\"/", "/\"[^\"]*\"/"},
    {"global", "/@(\"[^\"]*\"|[-a-zA-Z0-9$._]+)/", NULL},
    {"local", "/%(\"[^\"]*\"|[-a-zA-Z0-9$._]+)/", "/%[a-zA-Z_$][a-zA-Z0-9_$]*(\\.[xyzw])?/"},
    {"guard", NULL, "/@!?%[a-zA-Z_$][a-zA-Z0-9_$]*/"},
    {"metadata", "/[!#][a-zA-Z0-9$._]+/", NULL},
    {"integer_type", "/i[0-9]+/", NULL},
    {"type", NULL, "/\\.(pred|[busf](8|16|32|64|128)|b?f16(x2)?|bf16(x2)?|tf32)/"},
    {"modifier", NULL, "/\\.[a-zA-Z_][a-zA-Z0-9_:]*/"},
    {"number", "/-?(0x[HKLMR]?[0-9a-fA-F]+|[0-9][0-9.]*(e[-+]?[0-9]+)?)/",
     "/-?(0[xXfFdD][0-9a-fA-F]+|[0-9][0-9.]*(e[-+]?[0-9]+)?U?)/"},
    {"word", "/[a-zA-Z_$][-a-zA-Z0-9$._]*/", "/[a-zA-Z_$][a-zA-Z0-9_$]*/"},
    {"punctuation", "/[^\\s]/", "/[^\\s]/"},
};
static const char *const tree_kinds[WORD_KINDS] = {[WORD_CONSTANT] = "constant",
                                                   [WORD_OP] = "operation",
                                                   [WORD_TYPE] = "builtin_type",
                                                   [WORD_ATTRIBUTE] = "attribute",
                                                   [WORD_KEYWORD] = "keyword"};

struct tree_words {
  struct strtab seen; /* words of the kinds before, which take precedence */
  FILE *out;
  uint32_t count; /* of the kind */
};

static void put_tree_word(void *state, const char *word) {
  struct tree_words *w = state;
  uint32_t before = w->seen.entries.count;
  strtab_intern(&w->seen, word, strlen(word));
  if (w->seen.entries.count == before) return;
  fprintf(w->out, "%s'%s'", w->count++ ? ", " : "", word);
}

static const char *tree_token(const char *language, size_t k) {
  return is_ptx(language) ? tree_tokens[k].ptx : tree_tokens[k].nvir;
}

void editors_tree_sitter(FILE *out, const char *language) {
  struct arena arena;
  struct tree_words words = {.out = out};
  size_t tokens = sizeof tree_tokens / sizeof *tree_tokens;
  int first = is_ptx(language) ? WORD_OP : 0, end = is_ptx(language) ? WORD_OP + 1 : WORD_KINDS;
  arena_init(&arena, nvm_default_allocator);
  fprintf(out,
          "// Grammar of %s for tree-sitter, printed by `nvmini help --tree-sitter=%s`: the "
          "tokens.\n"
          "module.exports = grammar({\n  name: '%s',\n  extras: $ => [/\\s/, $.comment],\n"
          "  word: $ => $.word,\n  rules: {\n    source: $ => repeat(choice(",
          is_ptx(language) ? "PTX" : "NVVM IR", language, language);
  for (int kind = first; kind < end; kind++) fprintf(out, "$.%s, ", tree_kinds[kind]);
  for (size_t k = 0; k < tokens; k++)
    if (tree_token(language, k))
      fprintf(out, "$.%s%s", tree_tokens[k].name, k + 1 < tokens ? ", " : ")),\n");
  fprintf(out, "    comment: $ => token(%s),\n",
          is_ptx(language)
              ? "choice(/\\/\\/[^\\n]*/, /\\/\\*([^*]|\\*+[^*\\/])*\\*+\\//)"
              : "/;[^\\n]*/");
  bool right = strtab_init(&words.seen, &arena);
  for (int kind = first; right && kind < end; kind++) {
    fprintf(out, "    %s: $ => choice(", tree_kinds[kind]);
    words.count = 0;
    each_word(language, (enum word_kind)kind, put_tree_word, &words);
    fprintf(out, "),\n");
  }
  for (size_t k = 0; k < tokens; k++)
    if (tree_token(language, k))
      fprintf(out, "    %s: $ => %s,\n", tree_tokens[k].name, tree_token(language, k));
  fputs("  },\n});\n", out);
  arena_free(&arena);
}
