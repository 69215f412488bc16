/* Looking up intrinsics by name and checking their types against the signatures of the table.
 *
 * A signature is interpreted in its text form: only declarations are checked, so this is not worth
 * a compiled form. Type variables are bound at their first occurrence; messages name the bound
 * type. */
#include "ir/intrinsic.h"

#include "ir/function.h"
#include "support/nearest.h"

const struct intrinsic_info intrinsic_table[INTRINSIC_COUNT] = {
    {"", "", "", 0, 0, ""},
#define INTRINSIC_ROWS
#include "intrinsics.inc"
#undef INTRINSIC_ROWS
};

/* ---- Names ---- */

static enum intrinsic_id find_exact(const char *name, size_t length) {
  size_t count = INTRINSIC_COUNT - 1, row_bytes = sizeof *intrinsic_table;
  size_t k = text_search(intrinsic_table + 1, count, row_bytes, (struct nvm_text){name, length});
  return k == count ? INTRINSIC_NONE : (enum intrinsic_id)(k + 1);
}

enum intrinsic_id intrinsic_find(const char *name, size_t length) {
  if (length < 6 || memcmp(name, "llvm.", 5) != 0) return INTRINSIC_NONE;
  for (size_t n = length; n > 5;) {
    enum intrinsic_id id = find_exact(name, n);
    const struct intrinsic_info *info = &intrinsic_table[id];
    if (id != INTRINSIC_NONE && (n == length || info->overloads > 0 || info->signature[0] == '*'))
      return id;
    while (n > 5 && name[n - 1] != '.') n--;
    n--; /* the dot itself */
  }
  return INTRINSIC_NONE;
}

enum { NEAREST_MAX_LENGTH = 95, NEAREST_MAX_EDITS = 4 };

enum intrinsic_id intrinsic_nearest(const char *name, size_t length) {
  enum intrinsic_id nearest = INTRINSIC_NONE;
  if (length > NEAREST_MAX_LENGTH) return INTRINSIC_NONE;
  /* The whole name first, then without its last components, which may be overload suffixes. */
  for (size_t n = length; n > 8 && nearest == INTRINSIC_NONE;) {
    uint32_t limit = (uint32_t)(n - strlen("llvm.")) / 4;
    if (limit > NEAREST_MAX_EDITS) limit = NEAREST_MAX_EDITS;
    for (uint32_t i = 1; i < INTRINSIC_COUNT; i++) {
      const char *row = intrinsic_table[i].name;
      uint32_t edits = nearest_distance(name, n, row, strlen(row), limit);
      if (edits > limit || (edits == limit && nearest != INTRINSIC_NONE)) continue;
      nearest = (enum intrinsic_id)i;
      limit = edits;
    }
    while (n > 8 && name[n - 1] != '.') n--;
    n--;
  }
  return nearest;
}

/* ---- Types ---- */

enum { MAX_VARIABLES = 8 };

/* The interpreter of one signature. */
struct matcher {
  const struct type_table *types;
  const char *at;               /* in the signature */
  int position;                 /* -1: the result, else the argument */
  char names[MAX_VARIABLES][2]; /* variables bound so far */
  struct nvm_type bound[MAX_VARIABLES];
  int bound_at[MAX_VARIABLES]; /* position */
  int bound_count;
};

static void skip_blanks(struct matcher *m) {
  while (*m->at == ' ') m->at++;
}

static bool take_word(struct matcher *m, const char *word) {
  size_t n = strlen(word);
  char next;
  if (strncmp(m->at, word, n) != 0) return false;
  next = m->at[n];
  if ((next >= '0' && next <= '9') || (next >= 'a' && next <= 'z')) return false;
  m->at += n;
  return true;
}

static uint32_t take_number(struct matcher *m) {
  uint32_t n = 0;
  while (*m->at >= '0' && *m->at <= '9') n = n * 10 + (uint32_t)(*m->at++ - '0');
  return n;
}

static bool is_kind(const struct matcher *m, struct nvm_type type, enum type_kind kind) {
  return type_kind(m->types, type) == kind;
}

static bool is_int_of(const struct matcher *m, struct nvm_type type, uint32_t bits) {
  return is_kind(m, type, TY_INT) && type_info(m->types, type)->width == bits;
}

static bool is_vector_of(const struct matcher *m, struct nvm_type type, uint64_t lanes,
                         enum type_kind element) {
  return is_kind(m, type, TY_VECTOR) && type_info(m->types, type)->count == lanes &&
         is_kind(m, type_scalar(m->types, type), element);
}

/* A scalar of the signature: i32, f16, p3, h16 … */
static bool match_scalar(struct matcher *m, struct nvm_type type) {
  static const struct {
    const char *word;
    enum type_kind kind;
  } words[] = {{"f16", TY_HALF},  {"bf16", TY_BFLOAT}, {"f32", TY_FLOAT},        {"f64", TY_DOUBLE},
               {"void", TY_VOID}, {"token", TY_TOKEN}, {"metadata", TY_METADATA}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (take_word(m, words[i].word)) return is_kind(m, type, words[i].kind);
  if (take_word(m, "h16")) return is_kind(m, type, TY_BFLOAT) || is_int_of(m, type, 16);
  char kind = *m->at++;
  uint32_t number = take_number(m);
  if (kind == 'i') return is_int_of(m, type, number);
  return is_kind(m, type, TY_PTR) && type_info(m->types, type)->width == number;
}

static bool is_of_class(const struct matcher *m, struct nvm_type type, char class) {
  switch (class) {
    case 'I': return type_is_int_or_vector(m->types, type);
    case 'F': return type_is_float_or_vector(m->types, type);
    case 'P': return type_is_ptr_or_vector(m->types, type);
    case 'S': return type_is_int(m->types, type);
    default: return type_is_first_class(m->types, type);
  }
}

/* Parses a variable's name at `m->at`; returns its index among the bound ones, or bound_count. */
static int take_variable(struct matcher *m, char name[2]) {
  int i = 0;
  name[0] = *m->at++;
  name[1] = '\0';
  if (*m->at >= '0' && *m->at <= '9') name[1] = *m->at++;
  while (i < m->bound_count && memcmp(m->names[i], name, 2) != 0) i++;
  return i;
}

static bool match_variable(struct matcher *m, struct nvm_type type) {
  char name[2];
  int i = take_variable(m, name);
  if (i < m->bound_count) return type_equal(m->bound[i], type);
  if (!is_of_class(m, type, name[0])) return false;
  if (i < MAX_VARIABLES) {
    memcpy(m->names[i], name, 2);
    m->bound[i] = type;
    m->bound_at[i] = m->position;
    m->bound_count++;
  }
  return true;
}

/* @I: the element type of I, which may be bound later. */
static bool match_element(struct matcher *m, struct nvm_type type) {
  char name[2];
  m->at++;
  int i = take_variable(m, name);
  if (i == m->bound_count) return is_of_class(m, type, name[0]) && !type_is_vector(m->types, type);
  return type_equal(type_scalar(m->types, m->bound[i]), type);
}

/* i1@I: the scalar with as many lanes as I. */
static bool match_with_lanes(struct matcher *m, struct nvm_type type) {
  char name[2];
  bool good = match_scalar(m, type_scalar(m->types, type));
  if (*m->at != '@') return good && !type_is_vector(m->types, type);
  m->at++;
  int i = take_variable(m, name);
  if (i == m->bound_count) return good;
  bool vector = type_is_vector(m->types, m->bound[i]);
  return good && vector == type_is_vector(m->types, type) &&
         (!vector || type_info(m->types, m->bound[i])->count == type_info(m->types, type)->count);
}

static bool match_type(struct matcher *m, struct nvm_type type);

/* The repeat count after a skipped type at `m->at`. */
static uint32_t take_repeat(struct matcher *m) {
  if (*m->at != '*') return 1;
  m->at++;
  return take_number(m);
}

/* Skips a type without matching it. */
static void skip_type(struct matcher *m) {
  int depth = 0;
  for (; *m->at; m->at++) {
    char c = *m->at;
    if (depth == 0 && (c == ',' || c == ')' || c == ' ' || c == '*' || c == '}' || c == ']'))
      return;
    if (c == '{' || c == '[') depth++;
    if ((c == '}' || c == ']') && --depth == 0) {
      m->at++;
      return;
    }
  }
}

/* {a, b*2} or [a]: members of a structure; [a] with one member is that member. */
static bool match_members(struct matcher *m, struct nvm_type type) {
  bool may_be_single = *m->at++ == '[', good = true;
  const struct type_info *info = type_info(m->types, type);
  uint32_t k = 0;
  char close = may_be_single ? ']' : '}';
  if (may_be_single && info->kind != TY_STRUCT) {
    const char *start = m->at;
    skip_type(m);
    bool single = take_repeat(m) == 1 && *m->at == ']';
    m->at = start;
    good = single && match_type(m, type);
    while (*m->at && *m->at != close) m->at++;
    if (*m->at) m->at++;
    return good;
  }
  if (info->kind != TY_STRUCT) return false;
  while (good && *m->at != close) {
    const char *start = m->at;
    skip_type(m);
    uint32_t repeat = take_repeat(m);
    const char *after = m->at;
    for (uint32_t i = 0; i < repeat && good; i++) {
      m->at = start;
      good = k < info->count && match_type(m, type_member(m->types, type, k++));
    }
    m->at = after;
    if (*m->at == ',') m->at++;
    skip_blanks(m);
  }
  if (good) m->at++;
  return good && k == info->count && (k > 1 || !may_be_single);
}

static bool match_type(struct matcher *m, struct nvm_type type) {
  switch (*m->at) {
    case '{':
    case '[': return match_members(m, type);
    case '@': return match_element(m, type);
    case 'I':
    case 'F':
    case 'P':
    case 'T':
    case 'S': return match_variable(m, type);
    default: break;
  }
  if (take_word(m, "h32"))
    return is_int_of(m, type, 32) || is_vector_of(m, type, 2, TY_BFLOAT) ||
           is_vector_of(m, type, 2, TY_HALF);
  if (*m->at == 'v' && m->at[1] >= '0' && m->at[1] <= '9') {
    m->at++;
    uint32_t lanes = take_number(m);
    return type_is_vector(m->types, type) && type_info(m->types, type)->count == lanes &&
           match_scalar(m, type_scalar(m->types, type));
  }
  return match_with_lanes(m, type);
}

/* ---- Sentences ---- */

static void describe(struct matcher *m, struct textbuf *out);

static void describe_scalar(struct matcher *m, struct textbuf *out) {
  static const char *const words[][2] = {
      {"f16", "half"},          {"bf16", "bfloat"},         {"f32", "float"},
      {"f64", "double"},        {"void", "void"},           {"token", "token"},
      {"metadata", "metadata"}, {"h16", "bfloat (or i16)"}, {"h32", "<2 x bfloat> (or i32)"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!take_word(m, words[i][0])) continue;
    textbuf_puts(out, words[i][1]);
    return;
  }
  char kind = *m->at++;
  uint32_t number = take_number(m);
  if (kind == 'i') textbuf_format(out, "i%u", number);
  else if (number == 0) textbuf_puts(out, "ptr");
  else textbuf_format(out, "ptr addrspace(%u)", number);
}

static void describe_position(struct textbuf *out, int position) {
  if (position < 0) textbuf_puts(out, "the result");
  else textbuf_format(out, "argument %d", position + 1);
}

static void describe_variable(struct matcher *m, struct textbuf *out) {
  char name[2];
  int i = take_variable(m, name);
  if (i < m->bound_count) {
    type_print(m->types, m->bound[i], out);
    if (m->bound_at[i] == m->position) return;
    textbuf_puts(out, " like ");
    describe_position(out, m->bound_at[i]);
    return;
  }
  switch (name[0]) {
    case 'I': textbuf_puts(out, "an integer or a vector of integers"); break;
    case 'F': textbuf_puts(out, "a floating-point type or a vector of one"); break;
    case 'P': textbuf_puts(out, "a pointer or a vector of pointers"); break;
    case 'S': textbuf_puts(out, "an integer"); break;
    default: textbuf_puts(out, "a first-class type"); break;
  }
}

static void describe_members(struct matcher *m, struct textbuf *out) {
  char open = *m->at++, close = open == '{' ? '}' : ']';
  const char *start = m->at;
  skip_type(m);
  bool single = open == '[' && take_repeat(m) == 1 && *m->at == close, first = true;
  m->at = start;
  if (!single) textbuf_puts(out, "{ ");
  while (*m->at && *m->at != close) {
    start = m->at;
    skip_type(m);
    uint32_t repeat = take_repeat(m);
    const char *after = m->at;
    for (uint32_t i = 0; i < repeat; i++, first = false) {
      if (!first) textbuf_puts(out, ", ");
      m->at = start;
      describe(m, out);
    }
    m->at = after;
    if (*m->at == ',') m->at++;
    skip_blanks(m);
  }
  if (*m->at) m->at++;
  if (!single) textbuf_puts(out, " }");
}

/* Writes the type at m->at for a message. */
static void describe(struct matcher *m, struct textbuf *out) {
  char name[2];
  switch (*m->at) {
    case '{':
    case '[': describe_members(m, out); return;
    case 'I':
    case 'F':
    case 'P':
    case 'T':
    case 'S': describe_variable(m, out); return;
    case '@': {
      m->at++;
      int i = take_variable(m, name);
      if (i < m->bound_count) type_print(m->types, type_scalar(m->types, m->bound[i]), out);
      else textbuf_puts(out, "the vector's element type");
      return;
    }
    default: break;
  }
  if (*m->at == 'v' && m->at[1] >= '0' && m->at[1] <= '9') {
    m->at++;
    textbuf_format(out, "<%u x ", take_number(m));
    describe_scalar(m, out);
    textbuf_char(out, '>');
    return;
  }
  describe_scalar(m, out);
  if (*m->at != '@') return;
  m->at++;
  int i = take_variable(m, name);
  if (i >= m->bound_count || type_is_vector(m->types, m->bound[i]))
    textbuf_puts(out, " (a vector of it where the operand is one)");
}

static bool explain(struct matcher *m, const char *expected_at, struct nvm_type found,
                    struct textbuf *why) {
  if (!why) return false;
  describe_position(why, m->position);
  textbuf_puts(why, m->position < 0 ? " must be " : " must be ");
  m->at = expected_at;
  describe(m, why);
  textbuf_puts(why, ", not ");
  type_print(m->types, found, why);
  return false;
}

static bool explain_count(struct textbuf *why, uint32_t expected, uint64_t found, bool at_least) {
  if (why)
    textbuf_format(why, "it takes %s%u argument%s, not %U", at_least ? "at least " : "", expected,
                   expected == 1 ? "" : "s", found);
  return false;
}

/* One argument's type and repetition: its start; m->at is after it. */
struct argument_text {
  const char *type;
  uint32_t repeat;
  bool immediate, rest; /* rest: `...` */
};

/* The next argument of the signature; false at its end. m->at must be after `(` or `,`. */
static bool next_argument(struct matcher *m, struct argument_text *a) {
  skip_blanks(m);
  if (*m->at == ')' || *m->at == '\0') return false;
  *a = (struct argument_text){0};
  if (strncmp(m->at, "...", 3) == 0) {
    a->rest = true;
    m->at += 3;
    return true;
  }
  a->immediate = take_word(m, "imm");
  skip_blanks(m);
  a->type = m->at;
  skip_type(m);
  a->repeat = take_repeat(m);
  skip_blanks(m);
  if (*m->at == ',') m->at++;
  return true;
}

static void find_arguments(struct matcher *m, const char *signature) {
  m->at = signature;
  skip_type(m);
  while (*m->at && *m->at++ != '(') continue;
}

/* The number of arguments; *rest: more may follow. */
static uint32_t count_arguments(const char *signature, bool *rest) {
  struct matcher m = {0};
  struct argument_text a;
  uint32_t count = 0;
  *rest = false;
  find_arguments(&m, signature);
  while (next_argument(&m, &a)) {
    count += a.repeat;
    *rest |= a.rest;
  }
  return count;
}

/* One of the alternatives of a signature. */
static bool check_signature(const struct type_table *t, const char *signature, struct nvm_type type,
                            struct textbuf *why) {
  const struct type_info *info = type_info(t, type);
  struct matcher m = {.types = t, .at = signature, .position = -1};
  struct argument_text a;
  bool rest;
  if (signature[0] == '*') return true;
  uint32_t expected = count_arguments(signature, &rest), k = 0;
  if (!match_type(&m, info->element)) return explain(&m, signature, info->element, why);
  if (info->count != expected && !(rest && info->count > expected))
    return explain_count(why, expected, info->count, rest);
  find_arguments(&m, signature);
  while (next_argument(&m, &a)) {
    const char *after = m.at;
    for (uint32_t i = 0; i < a.repeat; i++, k++) {
      struct nvm_type argument = type_member(t, type, k);
      m.at = a.type;
      m.position = (int)k;
      if (!match_type(&m, argument)) return explain(&m, a.type, argument, why);
    }
    m.at = after;
  }
  /* Again with everything bound: @I and i1@I of the result may precede I. */
  m.at = signature;
  m.position = -1;
  if (!match_type(&m, info->element)) return explain(&m, signature, info->element, why);
  return true;
}

bool intrinsic_check_type(const struct type_table *t, enum intrinsic_id id, struct nvm_type type,
                          struct textbuf *why) {
  const char *signature = intrinsic_table[id].signature;
  for (const char *other = signature; (other = strchr(other, ';')) != NULL;) {
    other += strspn(other, "; ");
    if (check_signature(t, other, type, NULL)) return true;
  }
  return check_signature(t, signature, type, why);
}

bool intrinsic_arg_is_immediate(enum intrinsic_id id, uint32_t index) {
  struct matcher m = {0};
  struct argument_text a;
  uint32_t k = 0;
  find_arguments(&m, intrinsic_table[id].signature);
  while (next_argument(&m, &a)) {
    if (index < k + a.repeat) return a.immediate;
    k += a.repeat;
  }
  return false;
}

/* ".i32", ".v4bf16", ".p1": how a name spells an overload. */
static void put_overload(const struct type_table *t, struct nvm_type type, struct textbuf *out) {
  const struct type_info *scalar = type_info(t, type_scalar(t, type));
  textbuf_char(out, '.');
  if (type_is_vector(t, type)) textbuf_format(out, "v%u", (unsigned)type_info(t, type)->count);
  if (scalar->kind == TY_PTR) textbuf_format(out, "p%u", (unsigned)scalar->width);
  else if (scalar->kind == TY_INT) textbuf_format(out, "i%u", (unsigned)scalar->width);
  else if (scalar->kind == TY_BFLOAT) textbuf_puts(out, "bf16");
  else textbuf_format(out, "f%u", (unsigned)type_scalar_bits(t, type_scalar(t, type)));
}

static struct nvm_value add_declaration(struct nvm_module *m, enum intrinsic_id id,
                                        struct nvm_str name, struct nvm_type type) {
  struct nvm_value v = module_add_function(m, name);
  if (value_is_none(v)) return v;
  struct nvm_function *f = module_function(m, v);
  f->type = type;
  f->intrinsic = id;
  f->symbol.defined = f->symbol.declared_only = true;
  return v;
}

struct nvm_value intrinsic_find_name(struct nvm_module *m, enum intrinsic_id id,
                                     struct nvm_text wanted, struct nvm_type type,
                                     struct nvm_str *name) {
  enum { TRIES = 16 };
  struct textbuf b;
  textbuf_init(&b, &m->arena);
  textbuf_text(&b, wanted);
  for (uint32_t n = 1; !m->arena.failed; n++) {
    *name = strtab_intern(&m->strings, b.bytes, b.length);
    struct nvm_value v = module_find_symbol(m, *name);
    if (value_is_none(v)) return VALUE_NULL;
    const struct nvm_function *f = value_kind(v) == VALUE_FUNCTION ? module_function(m, v) : NULL;
    if (f && f->intrinsic == id && type_equal(f->type, type)) return v;
    if (intrinsic_table[id].overloads == 0) break; /* its name has no suffix */
    b.length = wanted.length;
    /* After some tries a number that is hardly in use, so that the search ends soon. */
    textbuf_format(&b, ".%u", n < TRIES ? n : n + m->functions.count);
  }
  *name = (struct nvm_str){0};
  return VALUE_NULL;
}

struct nvm_value intrinsic_find_declaration(struct nvm_module *m, enum intrinsic_id id,
                                            const struct nvm_type *overloads, uint32_t count,
                                            struct nvm_type type, struct nvm_str *name) {
  struct textbuf b;
  *name = (struct nvm_str){0};
  textbuf_init(&b, &m->arena);
  textbuf_puts(&b, intrinsic_table[id].name);
  for (uint32_t k = 0; k < count; k++) put_overload(&m->types, overloads[k], &b);
  if (m->arena.failed) return VALUE_NULL;
  return intrinsic_find_name(m, id, (struct nvm_text){b.bytes, b.length}, type, name);
}

struct nvm_value intrinsic_declare(struct nvm_module *m, enum intrinsic_id id,
                                   const struct nvm_type *overloads, uint32_t count,
                                   struct nvm_type type) {
  struct nvm_str name;
  struct nvm_value known = intrinsic_find_declaration(m, id, overloads, count, type, &name);
  bool is_free = value_is_none(known) && name.index;
  return is_free ? add_declaration(m, id, name, type) : known;
}
