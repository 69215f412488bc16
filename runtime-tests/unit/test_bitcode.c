/* frontend/bitcode/: modules written here record by record, among them layouts of producers that
 * are not at hand; what is refused, and where; an allocator that fails. */
#include "bitcode_fixture.h"

/* define i32 @f(i32): two blocks, a value used before its definition, a constant. */
static uint64_t write_function(struct writer *w) {
  uint64_t module = open_module(w), at = open_types(w);
  RECORD(w, 21, 0, 0, 0); /* 3: i32 (i32) */
  close_inner(w, at);
  RECORD(w, 8, 3, 0, 0, 0, 0, 0, 0, 0);
  at = open_inner(w, NAMES);
  put_name(w, 1, 0, "f");
  close_inner(w, at);
  uint64_t body = open_inner(w, FUNCTION);
  RECORD(w, 1, 3);
  at = open_inner(w, CONSTANTS);
  RECORD(w, 1, 0);
  RECORD(w, 4, 7 << 1); /* value 2: i32 7 */
  close_inner(w, at);
  RECORD(w, 11, 2);
  RECORD(w, 10, 0, 0);   /* ret value 3, of type 0, which the block after it defines */
  RECORD(w, 2, 2, 1, 0); /* value 3: the argument, value 1, + 7 */
  RECORD(w, 11, 1);
  at = open_inner(w, NAMES);
  put_name(w, 1, 3, "sum");
  put_name(w, 2, 1, "last");
  close_inner(w, at);
  close_inner(w, body);
  return module;
}

static void a_function(void **state) {
  (void)state;
  struct writer w;
  struct result x;
  close_block(&w, write_function(&w), WIDTH);
  read_stream(&x, &w);
  assert_string_equal(x.message, "");
  assert_non_null(strstr(x.text,
                         "define i32 @f(i32 %0) {\n"
                         "  br label %2\n\n"
                         "last:\n"
                         "  ret i32 %sum\n\n"
                         "2:\n"
                         "  %sum = add i32 %0, 7\n"
                         "  br label %last\n"
                         "}\n"));
}

/* The same stream after the header of a wrapper, and before padding. */
static void a_wrapped_stream(void **state) {
  (void)state;
  struct writer w, wrapped = {.at = 0};
  struct result plain, x;
  close_block(&w, write_function(&w), WIDTH);
  read_stream(&plain, &w);
  const uint64_t header[] = {0x0B17C0DE, 0, 20, w.at / 8, 0};
  for (int i = 0; i < 5; i++) put(&wrapped, header[i], 32);
  for (uint64_t i = 0; i < w.at / 8; i++) put(&wrapped, w.bytes[i], 8);
  wrapped.at += 96;
  read_stream(&x, &wrapped);
  assert_string_equal(x.message, "");
  assert_string_equal(x.text, plain.text);
}

/* byval of LLVM 11 and older has no type: it is that of the typed pointer. */
static void byval_without_type(void **state) {
  (void)state;
  struct writer w;
  uint64_t module = open_module(&w), at = open_types(&w);
  put_text(&w, 19, "S");
  RECORD(&w, 20, 0, 0, 0);    /* 3: %S = type { i32, i32 } */
  RECORD(&w, 8, 3);           /* 4: %S* */
  RECORD(&w, 21, 0, 1, 4, 0); /* 5: void (%S*, i32) */
  RECORD(&w, 8, 5);           /* 6: a pointer to it, as functions had */
  close_inner(&w, at);
  at = open_inner(&w, 10);
  RECORD(&w, 3, 1, 1, 0, 3);
  close_inner(&w, at);
  at = open_inner(&w, 9);
  RECORD(&w, 2, 1);
  close_inner(&w, at);
  RECORD(&w, 8, 6, 71, 1, 0, 1, 0, 0, 0);
  at = open_inner(&w, NAMES);
  put_name(&w, 1, 0, "k");
  close_inner(&w, at);
  const struct result *x = read_module(&w, module);
  assert_string_equal(x->message, "");
  assert_non_null(strstr(x->text, "%S = type { i32, i32 }"));
  assert_non_null(strstr(x->text, "declare ptx_kernel void @k(ptr byval(%S), i32)"));
}

/* Comdats are found by name in the text, so that two of one name could not be read again. */
static void comdat_names(void **state) {
  (void)state;
  for (int same = 0; same < 2; same++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_types(&w);
    close_inner(&w, at);
    RECORD(&w, 12, 1, 1, 'c');
    RECORD(&w, 12, 3, 1, same ? 'c' : 'd');
    const struct result *x = read_module(&w, module);
    assert_string_equal(x->message, same ? "invalid bitcode: two comdats have the same name" : "");
    if (!same) assert_non_null(strstr(x->text, "$c = comdat any\n\n$d = comdat largest\n"));
  }
}

/* `align` among a variable's attributes, as llvm-as writes it without a comma, has no meaning. */
static void align_attribute_of_variable(void **state) {
  (void)state;
  struct writer w;
  uint64_t module = open_module(&w), at = open_types(&w);
  RECORD(&w, 8, 0, 0); /* 3: i32* */
  close_inner(&w, at);
  at = open_inner(&w, 10);
  RECORD(&w, 3, 1, UINT32_MAX, 1, 1, 4);
  close_inner(&w, at);
  at = open_inner(&w, 9);
  RECORD(&w, 2, 1);
  close_inner(&w, at);
  RECORD(&w, 7, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
  at = open_inner(&w, NAMES);
  put_name(&w, 1, 0, "v");
  close_inner(&w, at);
  const struct result *x = read_module(&w, module);
  assert_string_equal(x->message, "");
  assert_non_null(strstr(x->text, "@v = external"));
  assert_null(strstr(x->text, "#0"));
}

/* Attributes that are encoded as another kind, or without their values: their text could not be
 * read again. */
static void attributes_without_text(void **state) {
  (void)state;
  static const struct {
    uint64_t stored, kind;
    const char *message;
  } cases[] = {
      {8, 51, "invalid bitcode: a range of an attribute is malformed"}, /* ranges of allocsize */
      {8, 94, "invalid bitcode: a range of an attribute is malformed"}, /* initializes: no range */
      {7, 94, "invalid bitcode: a range of an attribute is malformed"}, /* one range */
      {1, 87, "unsupported in bitcode: nofpclass"},                     /* no class */
      {0, 87, "unsupported in bitcode: nofpclass"},
      {0, 33, ""}, /* uwtable */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_types(&w);
    close_inner(&w, at);
    at = open_inner(&w, 10);
    if (cases[i].stored == 0) RECORD(&w, 3, 1, UINT32_MAX, 0, cases[i].kind);
    else RECORD(&w, 3, 1, UINT32_MAX, cases[i].stored, cases[i].kind, 0);
    close_inner(&w, at);
    assert_string_equal(read_module(&w, module)->message, cases[i].message);
  }
}

/* declare void @f(i32*) with one attribute of the function (index UINT32_MAX), the result (0) or
 * the parameter (1). `values` follow its kind. */
static const struct result *read_with_attribute(uint64_t index, uint64_t stored, uint64_t kind,
                                                const uint64_t *values, uint32_t count) {
  struct writer w;
  uint64_t module = open_module(&w), at = open_types(&w);
  uint64_t group[10] = {1, index, stored, kind};
  memcpy(group + 4, values, count * sizeof *values);
  RECORD(&w, 8, 0, 0);     /* 3: i32* */
  RECORD(&w, 21, 0, 1, 3); /* 4: void (i32*) */
  EMPTY(&w, 16);           /* 5: metadata */
  EMPTY(&w, 22);           /* 6: token */
  close_inner(&w, at);
  at = open_inner(&w, 10);
  put_record(&w, WIDTH, 3, group, 4 + count);
  close_inner(&w, at);
  at = open_inner(&w, 9);
  RECORD(&w, 2, 1);
  close_inner(&w, at);
  RECORD(&w, 8, 4, 0, 1, 0, 1, 0, 0, 0);
  at = open_inner(&w, NAMES);
  put_name(&w, 1, 0, "f");
  close_inner(&w, at);
  return read_module(&w, module);
}

/* Each kind of attribute in each encoding: what is accepted is printed, and the text is read as the
 * same. */
static void attributes_of_all_kinds(void **state) {
  (void)state;
  static const uint64_t numbers[] = {
      0, 1, 2, 3, 4, 5, 6, 8, 255, UINT32_MAX, 1ull << 32, 3ull << 32, 1ull << 56, UINT64_MAX};
  enum { NUMBERS = sizeof numbers / sizeof *numbers, WAYS = 9, PLACES = 3, KINDS = 110 };
  static const struct {
    uint64_t stored, values[4]; /* the number replaces a 99 */
    uint32_t count;
  } ways[WAYS] = {{0, {0}, 0},
                  {1, {99}, 1},
                  {5, {0}, 0},
                  {6, {99}, 1},
                  {7, {32, 99, 7}, 3},
                  {7, {99, 2, 4}, 3},
                  {8, {99, 64, 0, 2}, 4},
                  {8, {1, 99, 0, 2}, 4},
                  {8, {1, 64, 99, 8}, 4}};
  uint32_t accepted = 0;
  for (uint64_t trial = 0; trial < KINDS * WAYS * NUMBERS * PLACES; trial++) {
    uint64_t kind = trial / (WAYS * NUMBERS * PLACES) + 1, values[4];
    size_t way = trial / (NUMBERS * PLACES) % WAYS;
    static const uint64_t places[PLACES] = {UINT32_MAX, 0, 1};
    for (int k = 0; k < 4; k++)
      values[k] =
          ways[way].values[k] == 99 ? numbers[trial / PLACES % NUMBERS] : ways[way].values[k];
    const struct result *x = read_with_attribute(places[trial % PLACES], ways[way].stored, kind,
                                                 values, ways[way].count);
    if (x->message[0]) continue;
    accepted++;
    struct result again;
    read_bytes(&again, (const unsigned char *)x->text, strlen(x->text));
    if (again.message[0]) print_message("kind %d: %s\n%s", (int)kind, again.message, x->text);
    assert_string_equal(again.message, "");
    assert_string_equal(again.text, x->text);
  }
  assert_true(accepted > 500);
}

/* A variable whose type is that of its address, an aggregate of later constants, a cycle. */
static void variables(void **state) {
  (void)state;
  for (int cycle = 0; cycle < 2; cycle++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_types(&w);
    RECORD(&w, 11, 2, 0); /* 3: [2 x i32] */
    RECORD(&w, 11, 1, 3); /* 4: [1 x [2 x i32]] */
    RECORD(&w, 8, 4, 1);  /* 5: [1 x [2 x i32]] addrspace(1)* */
    close_inner(&w, at);
    RECORD(&w, 7, 5, 0, 2, 0, 3, 0);
    at = open_inner(&w, NAMES);
    put_name(&w, 1, 0, "v");
    close_inner(&w, at);
    at = open_inner(&w, CONSTANTS);
    RECORD(&w, 1, 4);
    RECORD(&w, 7, cycle ? 1 : 2); /* value 1: of value 2, or of itself */
    RECORD(&w, 1, 3);
    RECORD(&w, 22, 5, 4294967295); /* value 2: 5, -1 */
    close_inner(&w, at);
    const struct result *x = read_module(&w, module);
    assert_string_equal(x->message, cycle ? "invalid bitcode: a constant contains itself" : "");
    if (!cycle)
      assert_non_null(strstr(x->text,
                             "@v = addrspace(1) global [1 x [2 x i32]] [[2 x i32] "
                             "[i32 5, i32 -1]], align 4"));
  }
}

/* A type and a constant of 40 levels that contain the one below twice: 2^40 parts when printed. */
static void written_out_too_long(void **state) {
  (void)state;
  for (int constants = 0; constants < 2; constants++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_types(&w);
    for (uint64_t i = 0; i < 40; i++) {
      if (constants) put_name(&w, 19, 'a' + i, "");
      RECORD(&w, constants ? 20 : 18, 0, i ? i + 2 : 0, i ? i + 2 : 0);
    }
    close_inner(&w, at);
    at = open_inner(&w, CONSTANTS);
    RECORD(&w, 1, 0);
    RECORD(&w, 4, 2);
    for (uint64_t i = 0; i < 40; i++) {
      RECORD(&w, 1, i + 3);
      RECORD(&w, 7, i, i);
    }
    close_inner(&w, at);
    const struct result *x = read_module(&w, module);
    assert_string_equal(x->message,
                        constants ? "invalid bitcode: a constant is too long when written out"
                                  : "invalid bitcode: the module is too long when written out");
  }
}

/* A variable whose initializer has that many levels. */
static const char *problem_of_nesting(uint64_t levels) {
  struct writer w;
  uint64_t module = open_module(&w), at = open_types(&w);
  RECORD(&w, 8, 0); /* 3: i32* */
  close_inner(&w, at);
  RECORD(&w, 7, 3, 0, levels + 2, 0, 0, 0);
  at = open_inner(&w, NAMES);
  put_name(&w, 1, 0, "v");
  close_inner(&w, at);
  at = open_inner(&w, CONSTANTS);
  RECORD(&w, 1, 0);
  RECORD(&w, 4, 2);
  for (uint64_t i = 0; i < levels; i++) RECORD(&w, 10, 0, i + 1, 1);
  close_inner(&w, at);
  return read_module(&w, module)->message;
}

static void nested_constants(void **state) {
  (void)state;
  assert_string_equal(problem_of_nesting(1000), "");
  assert_string_equal(problem_of_nesting(1001), "invalid bitcode: a constant is nested too deeply");
}

/* One large constant, used by many: the string is written once in the stream. `rows` of it in one
 * constant, or in as many variables. */
static const char *problem_of_strings(uint64_t rows, bool variables) {
  struct writer w;
  uint64_t count = variables ? rows : 1, module = open_module(&w), at = open_types(&w);
  RECORD(&w, 7, 8);        /* 3: i8 */
  RECORD(&w, 11, 4000, 3); /* 4: [4000 x i8] */
  RECORD(&w, 11, rows, 4); /* 5 */
  RECORD(&w, 8, variables ? 4 : 5);
  close_inner(&w, at);
  for (uint64_t i = 0; i < count; i++) RECORD(&w, 7, 6, 0, count + 1 + !variables, 0, 0, 0);
  at = open_inner(&w, CONSTANTS);
  RECORD(&w, 1, 4);
  put_array_abbreviation(&w, WIDTH, 22);
  put(&w, 0, 1), put(&w, 1, 3), put_vbr(&w, 1, 5);
  put(&w, 4, WIDTH), put_vbr(&w, 4000, 6);
  for (int i = 0; i < 4000; i++) put(&w, i & 1, 1);
  uint64_t numbers[5000];
  for (uint64_t i = 0; i < rows; i++) numbers[i] = 1;
  RECORD(&w, 1, 5);
  if (!variables) put_record(&w, WIDTH, 7, numbers, (uint32_t)rows);
  close_inner(&w, at);
  return read_module(&w, module)->message;
}

static void large_constants_used_often(void **state) {
  (void)state;
  assert_string_equal(problem_of_strings(1, false), "");
  assert_string_equal(problem_of_strings(4500, false),
                      "invalid bitcode: a constant is too long when written out");
  assert_string_equal(problem_of_strings(10, true), "");
  assert_string_equal(problem_of_strings(4500, true),
                      "invalid bitcode: the module is too long when written out");
}

enum asm_use { IN_VARIABLE, IN_AGGREGATE, IN_METADATA };

/* Text has no alias of a label or of metadata. */
static void types_of_aliases(void **state) {
  static const uint64_t codes[] = {14, 18}; /* alias, ifunc */
  (void)state;
  for (uint64_t type = 2; type < 5; type++) /* 2: label */
    for (int k = 0; k < 2; k++) {
      struct writer w;
      uint64_t module = open_module(&w), at = open_types(&w);
      RECORD(&w, 25, 0); /* 3: ptr */
      EMPTY(&w, 16);     /* 4: metadata */
      close_inner(&w, at);
      RECORD(&w, 7, 0, 2, 0, 0, 0, 0); /* value 0: a declared i32 */
      RECORD(&w, codes[k], type, 0, 0, 0, 0, 0, 0);
      bool malformed = strstr(read_module(&w, module)->message, "an alias is malformed") != NULL;
      assert_int_equal(malformed, type != 3);
    }
}

/* Inline assembly as a value of another kind than the callee of a call. */
static const char *problem_of_asm(enum asm_use use) {
  struct writer w;
  uint64_t module = open_module(&w), at = open_types(&w);
  RECORD(&w, 25, 0);    /* 3: ptr */
  RECORD(&w, 11, 1, 3); /* 4: [1 x ptr] */
  close_inner(&w, at);
  if (use != IN_METADATA)
    RECORD(&w, 7, use == IN_VARIABLE ? 3 : 4, 2, use == IN_VARIABLE ? 2 : 3, 0, 0, 0);
  at = open_inner(&w, CONSTANTS);
  RECORD(&w, 1, 3);
  RECORD(&w, 30, 1, 1, 0, 0); /* value 1, or 0 without variable: asm sideeffect "", "" */
  RECORD(&w, 1, 4);
  if (use == IN_AGGREGATE) RECORD(&w, 7, 1);
  close_inner(&w, at);
  if (use == IN_METADATA) {
    at = open_inner(&w, METADATA);
    RECORD(&w, 2, 3, 0);
    close_inner(&w, at);
  }
  return read_module(&w, module)->message;
}

static void inline_assembly_is_only_called(void **state) {
  (void)state;
  assert_string_equal(problem_of_asm(IN_VARIABLE),
                      "invalid bitcode: inline assembly as the value of a symbol");
  assert_string_equal(problem_of_asm(IN_AGGREGATE),
                      "invalid bitcode: an operand of a constant is not constant");
  assert_string_equal(problem_of_asm(IN_METADATA),
                      "invalid bitcode: inline assembly as a value of metadata");
}

/* A function f(i32) whose body has metadata: 0: its argument, 1: a value that follows; then a
 * record. */
static const char *problem_of_metadata(uint32_t code, uint64_t first, uint64_t second) {
  struct writer w;
  uint64_t module = open_module(&w), body = open_body(&w), at = open_inner(&w, METADATA);
  RECORD(&w, 2, 0, 1);
  RECORD(&w, 2, 0, 2);
  RECORD(&w, 46, 0, 1); /* 2: !DIArgList(i32 %0, i32 %later) */
  RECORD(&w, code, first, second);
  close_inner(&w, at);
  RECORD(&w, 2, 1, 1, 0); /* value 2 */
  EMPTY(&w, 10);
  close_inner(&w, body);
  return read_module(&w, module)->message;
}

static void values_in_metadata(void **state) {
  (void)state;
  enum { TUPLE = 3, TEMPLATE_TYPE = 25, ARGUMENTS = 46 };
  assert_string_equal(problem_of_metadata(ARGUMENTS, 1, 0), "");
  assert_string_equal(problem_of_metadata(ARGUMENTS, 0, 2),
                      "invalid bitcode: an argument of an expression is no value");
  assert_string_equal(problem_of_metadata(TUPLE, 0, 2),
                      "invalid bitcode: a value as operand of a node is not defined yet");
  assert_string_equal(problem_of_metadata(TEMPLATE_TYPE, 0, 2),
                      "invalid bitcode: a value as operand of a node is not defined yet");
  assert_string_equal(problem_of_metadata(TUPLE, 5, 0),
                      "invalid bitcode: use of undefined metadata");
}

/* Every word of the module cut off or set to ones: an error inside the bytes, or a module. */
static void damaged_everywhere(void **state) {
  (void)state;
  struct writer w;
  struct result x;
  close_block(&w, write_function(&w), WIDTH);
  for (uint64_t bytes = 4; bytes < w.at / 8; bytes++) {
    unsigned char *copy = malloc(bytes + 1); /* exact, for the sanitizer */
    memcpy(copy, w.bytes, bytes);
    copy[bytes] = 0;
    read_bytes(&x, copy, bytes);
    assert_string_not_equal(x.message, "");
    assert_true(x.place <= x.end && x.end <= bytes);
    free(copy);
  }
  for (uint64_t at = 32; at < w.at; at++) {
    struct writer bad = w;
    bad.bytes[at / 8] ^= (unsigned char)(1 << at % 8);
    read_stream(&x, &bad);
    assert_true(x.place <= x.end && x.end <= bad.at / 8);
  }
}

/* The message about a module with this record in place of a function's return. */
static const char *problem_of(uint32_t code, const uint64_t *numbers, uint32_t count) {
  struct writer w;
  uint64_t module = open_module(&w), body = open_body(&w);
  put_record(&w, WIDTH, code, numbers, count);
  EMPTY(&w, 10);
  close_inner(&w, body);
  return read_module(&w, module)->message;
}

#define PROBLEM(code, ...)                          \
  problem_of(code, (const uint64_t[]){__VA_ARGS__}, \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void refused_records(void **state) {
  (void)state;
  assert_string_equal(PROBLEM(2, 1, 1, 0), ""); /* add %0, %0 */
  assert_string_equal(PROBLEM(2, 1, 1), "invalid bitcode: a record is too short");
  assert_string_equal(PROBLEM(2, 1, 1, 99), "invalid bitcode: unknown binary operation");
  assert_string_equal(PROBLEM(2, 2, 1, 0),
                      "invalid bitcode: a value has another type than its use requires");
  assert_string_equal(PROBLEM(2, 1u << 31, 0, 0, 0), "invalid bitcode: use of an undefined value");
  assert_string_equal(PROBLEM(11, 7), "invalid bitcode: use of an undefined block");
  assert_string_equal(PROBLEM(11, 0), "invalid bitcode: an instruction after the last block");
  assert_string_equal(PROBLEM(33, 0), "invalid bitcode: a location without an instruction");
  assert_string_equal(PROBLEM(13, 0), "unsupported in bitcode: exception handling");
  assert_string_equal(PROBLEM(999, 0),
                      "unsupported in bitcode: an instruction that nvmini does not know");
}

/* ---- What is used more often than it is stated ---- */

/* A type of 3,000 parts, which so many variables or instructions have. */
static const char *problem_of_types(uint64_t variables, uint64_t insts) {
  struct writer w;
  uint64_t numbers[3001] = {0}, module = open_module(&w), at = open_types(&w);
  put_record(&w, WIDTH, 18, numbers, 3001); /* 3: { i32, … } */
  RECORD(&w, 21, 0, 1, 3);                  /* 4: void ({ … }) */
  RECORD(&w, 8, 3);                         /* 5: { … }* */
  close_inner(&w, at);
  RECORD(&w, 8, 4, 0, 0, 0, 0, 0, 0, 0);
  for (uint64_t i = 0; i < variables; i++) RECORD(&w, 7, 5, 0, 0, 0, 0, 0);
  uint64_t body = open_inner(&w, FUNCTION);
  RECORD(&w, 1, 1);
  for (uint64_t i = 0; i < insts; i++) RECORD(&w, 58, 1);
  EMPTY(&w, 10);
  close_inner(&w, body);
  return read_module(&w, module)->message;
}

static void large_types_used_often(void **state) {
  (void)state;
  assert_string_equal(problem_of_types(3, 3), "");
  assert_string_equal(problem_of_types(6000, 1),
                      "invalid bitcode: the module is too long when written out");
  assert_string_equal(problem_of_types(1, 100), "");
  assert_string_equal(problem_of_types(1, 300),
                      "invalid bitcode: the module is too long when written out");
}

/* The bits after a body cannot define its values: a forward reference reserves room for as many. */
static void forward_reference_beyond_the_body(void **state) {
  (void)state;
  for (uint64_t id = 5; id < 2000; id += 1900) {
    struct writer w;
    uint64_t module = open_module(&w), body = open_body(&w);
    RECORD(&w, 2, 2 - id, 0, 1, 0);
    EMPTY(&w, 10);
    close_inner(&w, body);
    for (int i = 0; i < 200; i++) RECORD(&w, 5, 'x');
    const struct result *x = read_module(&w, module);
    assert_string_equal(x->message, id == 5
                                        ? "invalid bitcode: use of a value that is never defined"
                                        : "invalid bitcode: use of an undefined value");
  }
}

/* ---- Debug information, constants, modules ---- */

/* Nodes that few producers write; layouts of DIModule with and without its file. */
static void rare_nodes(void **state) {
  (void)state;
  struct writer w;
  uint64_t module = open_module(&w), at = open_inner(&w, METADATA);
  put_text(&w, 1, "text");
  RECORD(&w, 16, 0, 1, 1, 0, 0);             /* 1: a file */
  RECORD(&w, 32, 0, 2, 0, 1, 0, 0, 1, 7, 1); /* 2 */
  RECORD(&w, 32, 0, 0, 1, 1, 0, 0);          /* 3 */
  RECORD(&w, 12, 1, 13, 0, 1);               /* 4 */
  RECORD(&w, 40, 2, 2, 1, 2, 3, 9);          /* 5 */
  put_text(&w, 4, "n");
  RECORD(&w, 10, 2, 3, 4, 5);
  close_inner(&w, at);
  const struct result *x = read_module(&w, module);
  assert_string_equal(x->message, "");
  static const char *const texts[] = {
      "!DIModule(scope: null, name: \"text\", apinotes: \"text\", file: !1, line: 7, isDecl: true)",
      "!DIModule(scope: null, name: \"text\", configMacros: \"text\")",
      "distinct !GenericDINode(tag: DW_TAG_member, header: \"text\")",
      "!DILabel(scope: !1, name: \"text\", file: !1, line: 3, column: 9, isArtificial: true)"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_non_null(strstr(x->text, texts[i]));
}

/* Flags of a subprogram: a virtuality of 3 has no name, so the set is a number. */
static void subprogram_flags(void **state) {
  (void)state;
  static const char *const texts[] = {"spFlags: DISPFlagPureVirtual | DISPFlagDefinition)",
                                      "spFlags: 3)", "spFlags: 11)"};
  static const uint64_t flags[] = {10, 3, 11};
  for (size_t i = 0; i < 3; i++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_inner(&w, METADATA);
    RECORD(&w, 21, 5, 0, 0, 0, 0, 0, 0, 0, 0, flags[i], 0, 0, 0, 0, 0, 0, 0, 0, 0);
    put_text(&w, 4, "n");
    RECORD(&w, 10, 0);
    close_inner(&w, at);
    const struct result *x = read_module(&w, module);
    assert_string_equal(x->message, "");
    assert_non_null(strstr(x->text, texts[i]));
  }
}

/* Operands, which the text reader does not take either. */
static void generic_nodes_with_operands(void **state) {
  (void)state;
  struct writer w;
  uint64_t module = open_module(&w), at = open_inner(&w, METADATA);
  put_text(&w, 1, "text");
  uint64_t place = w.at / 8;
  RECORD(&w, 12, 0, 13, 0, 1, 1);
  close_inner(&w, at);
  const struct result *x = read_module(&w, module);
  assert_string_equal(x->message, "unsupported in bitcode: operands of GenericDINode");
  assert_int_equal(x->place, place);
}

/* insertelement of an i32 into <2 x i8>, and at an index that is a vector. */
static void operands_of_vector_constants(void **state) {
  (void)state;
  for (uint64_t wrong = 0; wrong < 3; wrong++) {
    struct writer w;
    uint64_t module = open_module(&w), at = open_types(&w);
    RECORD(&w, 7, 8);     /* 3: i8 */
    RECORD(&w, 12, 2, 3); /* 4: <2 x i8> */
    RECORD(&w, 8, 4);     /* 5 */
    close_inner(&w, at);
    RECORD(&w, 7, 5, 0, 5, 0, 0, 0);
    at = open_inner(&w, CONSTANTS);
    RECORD(&w, 1, 4);
    EMPTY(&w, 2); /* value 1: <2 x i8> zeroinitializer */
    RECORD(&w, 1, 3);
    RECORD(&w, 4, 14); /* 2: i8 7 */
    RECORD(&w, 1, 0);
    EMPTY(&w, 2); /* 3: i32 0 */
    RECORD(&w, 1, 4);
    RECORD(&w, 15, 1, wrong == 1 ? 3 : 2, wrong == 2 ? 1 : 3);
    close_inner(&w, at);
    const struct result *x = read_module(&w, module);
    assert_string_equal(
        x->message, wrong ? "invalid bitcode: the operands' types do not fit the operation" : "");
    if (!wrong) assert_non_null(strstr(x->text, "global <2 x i8> <i8 7, i8 0>"));
  }
}

static void several_modules(void **state) {
  (void)state;
  struct writer w;
  struct result x;
  close_block(&w, write_function(&w), WIDTH);
  uint64_t second = open_block(&w, 2, 8, WIDTH);
  close_block(&w, second, WIDTH);
  read_stream(&x, &w);
  assert_string_equal(x.message, "unsupported in bitcode: several modules");
}

static bool read_once(struct nvm_allocator allocator) {
  struct writer w;
  struct nvm_module *m = module_create(allocator, 0);
  struct arena arena;
  struct diag_sink sink;
  close_block(&w, write_function(&w), WIDTH);
  if (!m) return false;
  arena_init(&arena, nvm_default_allocator);
  diag_sink_init(&sink, &arena, 20);
  enum nvm_status status = parse_module(m, (const char *)w.bytes, w.at / 8, "test", 0, &sink);
  if (status != NVM_OUT_OF_MEMORY) assert_int_equal(status, NVM_OK);
  assert_int_equal(sink.error_count, 0);
  arena_free(&arena);
  module_destroy(m);
  return status == NVM_OK;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  fail_everywhere(read_once);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_function),
      cmocka_unit_test(a_wrapped_stream),
      cmocka_unit_test(byval_without_type),
      cmocka_unit_test(comdat_names),
      cmocka_unit_test(align_attribute_of_variable),
      cmocka_unit_test(attributes_without_text),
      cmocka_unit_test(attributes_of_all_kinds),
      cmocka_unit_test(variables),
      cmocka_unit_test(written_out_too_long),
      cmocka_unit_test(damaged_everywhere),
      cmocka_unit_test(large_types_used_often),
      cmocka_unit_test(forward_reference_beyond_the_body),
      cmocka_unit_test(rare_nodes),
      cmocka_unit_test(subprogram_flags),
      cmocka_unit_test(generic_nodes_with_operands),
      cmocka_unit_test(operands_of_vector_constants),
      cmocka_unit_test(several_modules),
      cmocka_unit_test(nested_constants),
      cmocka_unit_test(large_constants_used_often),
      cmocka_unit_test(inline_assembly_is_only_called),
      cmocka_unit_test(types_of_aliases),
      cmocka_unit_test(values_in_metadata),
      cmocka_unit_test(refused_records),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
