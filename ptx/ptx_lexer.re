/* The scanner of PTX text; made by re2c. A token's value is an index or number: names are interned,
 * modifier words are looked up in the table of ops.def. In inline assembly `$0` and `${0:x}` are
 * operands. `.section { ... }` and `@@dwarf` lines never reach the grammar. */
#include "ptx/parse_state.h"

#include "ptx_parser.h"
#include "support/float.h"

static int name_token(struct ptx_parser *p, union ptx_value *value) {
  size_t length = (size_t)(p->cursor - p->token);
  struct nvm_str s = strtab_intern(&p->names, p->token, length);
  while (p->meaning.count <= s.index && !p->scratch.failed)
    VEC_PUSH(&p->scratch, &p->meaning, (struct ptx_name){0});
  value->number = s.index;
  return p->scratch.failed ? T_BAD : T_NAME;
}

static int word_token(struct ptx_parser *p, union ptx_value *value, int token) {
  value->number = ptx_find_mod(p->token, (size_t)(p->cursor - p->token));
  return value->number == PTX_MOD_NONE ? T_BAD : token;
}

/* A type, as .b32, or a selector, as .h1 or .b3210. */
static int selector_token(struct ptx_parser *p, union ptx_value *value) {
  if (word_token(p, value, T_WORD) == T_WORD) return T_WORD;
  value->number = parse_selector_of(p->token, (size_t)(p->cursor - p->token));
  return T_SELECTOR;
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 32) - 'a' + 10;
}

/* Digits from `from` up to the token's end or its suffix U. */
static int integer_token(struct ptx_parser *p, union ptx_value *value, const char *from,
                         unsigned base) {
  uint64_t n = 0;
  const char *end = p->cursor;
  if (end[-1] == 'U') end--;
  for (; from < end; from++) {
    uint64_t digit = (uint64_t)digit_value(*from);
    if (n > (UINT64_MAX - digit) / base) return T_BAD;
    n = n * base + digit;
  }
  value->integer = n;
  return T_INTEGER;
}

static int float_bits_token(struct ptx_parser *p, union ptx_value *value, bool wide) {
  uint64_t bits = 0;
  for (const char *c = p->token + 2; c < p->cursor; c++)
    bits = bits << 4 | (uint64_t)digit_value(*c);
  value->operand = wide ? ptx_f64(bits) : ptx_f32((uint32_t)bits);
  return T_FLOAT;
}

static int decimal_token(struct ptx_parser *p, union ptx_value *value) {
  value->text = (struct nvm_text){p->token, (size_t)(p->cursor - p->token)};
  return T_DECIMAL;
}

/* `$0`, `${0:x}`. */
static int argument_token(struct ptx_parser *p, union ptx_value *value) {
  uint32_t n = 0;
  const char *c = p->token + 1;
  if (*c == '{') c++;
  for (; *c >= '0' && *c <= '9' && n < 100000; c++) n = n * 10 + (uint32_t)(*c - '0');
  if (!p->is_inline || n >= p->argument_count) return T_BAD;
  value->operand = p->arguments[n];
  return T_ARGUMENT;
}

/* Skips the `{ ... }` of a section; false if it has none. */
static bool skip_section(struct ptx_parser *p) {
  const char *c = p->cursor;
  while (c < p->end && *c != '{') p->line += *c++ == '\n';
  while (c < p->end && *c != '}') p->line += *c++ == '\n';
  if (c == p->end) return false;
  p->cursor = c + 1;
  return true;
}

static void skip_line(struct ptx_parser *p) {
  const char *c = memchr(p->cursor, '\n', (size_t)(p->end - p->cursor));
  p->cursor = c ? c : p->end;
}

static bool skip_comment(struct ptx_parser *p) {
  for (const char *c = p->cursor; c + 1 < p->end; c++) {
    if (c[0] == '*' && c[1] == '/') {
      p->cursor = c + 2;
      return true;
    }
    p->line += *c == '\n';
  }
  return false;
}

int ptxyylex(union ptx_value *value, struct ptx_parser *p) {
  const char *YYMARKER;
  if (p->first_token) {
    int token = p->first_token;
    p->first_token = 0;
    return token;
  }
  for (;;) {
    p->token = p->cursor;
    /*!re2c
      re2c:define:YYCTYPE = "unsigned char";
      re2c:define:YYCURSOR = p->cursor;
      re2c:yyfill:enable = 0;
      digit = [0-9];
      hex = [0-9a-fA-F];
      letter = [a-zA-Z_];
      rest = [a-zA-Z0-9_$];
      name = (letter rest*) | ([$%] rest+);
      word = "." [a-zA-Z0-9_]+ ("::" [a-zA-Z0-9_]+)*;

      [ \t\r]+ { continue; }
      "\n" { p->line++; continue; }
      "//" | "#" { skip_line(p); continue; }
      "@@dwarf" | "@@DWARF" { skip_line(p); continue; }
      "/*" { if (!skip_comment(p)) return T_BAD; continue; }
      "\x00" { return p->token == p->end ? 0 : T_BAD; }

      "$" digit+ { return p->is_inline ? argument_token(p, value) : name_token(p, value); }
      "${" digit+ (":" [a-zA-Z]+)? "}" { return argument_token(p, value); }
      "$$" rest* {
        if (p->is_inline) p->token++;
        return name_token(p, value);
      }
      name { return name_token(p, value); }
      "%" rest+ "." [xyzw] {
        value->number = ptx_find_special(p->token, (size_t)(p->cursor - p->token));
        return value->number == PTX_SPECIAL_NONE ? T_BAD : T_SPECIAL;
      }

      "0" [fF] hex{8} { return float_bits_token(p, value, false); }
      "0" [dD] hex{16} { return float_bits_token(p, value, true); }
      "0" [xX] hex+ "U"? { return integer_token(p, value, p->token + 2, 16); }
      "0" [bB] [01]+ "U"? { return integer_token(p, value, p->token + 2, 2); }
      "0" [0-7]* "U"? { return integer_token(p, value, p->token, 8); }
      [1-9] digit* "U"? { return integer_token(p, value, p->token, 10); }
      digit+ "." digit* ([eE] [-+]? digit+)? { return decimal_token(p, value); }
      digit+ [eE] [-+]? digit+ { return decimal_token(p, value); }
      ["] [^"\n\x00]* ["] {
        value->text = (struct nvm_text){p->token + 1, (size_t)(p->cursor - p->token) - 2};
        return T_STRING;
      }

      ".version" { return T_VERSION; }
      ".target" { return T_TARGET; }
      ".address_size" { return T_ADDRESS_SIZE; }
      ".file" { return T_FILE; }
      ".loc" { return T_LOC; }
      ".alias" { return p->f ? word_token(p, value, T_WORD) : T_ALIAS; } /* fence.proxy.alias */
      ".section" { if (!skip_section(p)) return T_BAD; continue; }
      ".entry" { return T_ENTRY; }
      ".func" { return T_FUNC; }
      ".reg" { value->number = PTX_MOD_REG; return T_REG; }
      ".align" { return T_ALIGN; }
      ".ptr" { return T_PTR; }
      ".attribute" { return T_ATTRIBUTE; }
      ".noreturn" { return T_NORETURN; }
      ".pragma" { return T_PRAGMA; }
      ".maxntid" { value->number = 0; return T_TRIPLE; }
      ".reqntid" { value->number = 1; return T_TRIPLE; }
      ".reqnctapercluster" { value->number = 2; return T_TRIPLE; }
      ".minnctapersm" { value->number = 0; return T_COUNT; }
      ".maxnreg" { value->number = 1; return T_COUNT; }
      ".maxclusterrank" { value->number = 2; return T_COUNT; }
      ".maxnctapersm" | ".abi_preserve" | ".abi_preserve_control" {
        value->number = 3;
        return T_COUNT;
      }
      ".explicitcluster" { return T_EXPLICITCLUSTER; }
      ".blocksareclusters" { return T_BLOCKSARECLUSTERS; }
      ".callprototype" { return T_CALLPROTOTYPE; }
      ".branchtargets" { return T_BRANCHTARGETS; }
      ".visible" | ".extern" | ".weak" | ".common" { return word_token(p, value, T_LINKAGE); }
      ".param" | ".local" | ".shared" | ".global" | ".const" {
        return word_token(p, value, T_SPACE);
      }
      "." [bh] [0-7]{1,4} { return selector_token(p, value); }
      word { return word_token(p, value, T_WORD); }
      [-,;:{}()[\]+!@|=<>~] { return (unsigned char)*p->token; }
      * { return T_BAD; }
    */
  }
}
