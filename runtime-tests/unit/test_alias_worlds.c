/* Alias answers held against addresses: a function of pointers of every kind; its integers are
 * executed by ir/eval.h for all values of its symbols, its bases get addresses in several worlds
 * (which arguments are equal, what a loaded pointer or an integer points to). Each two pointers
 * with several sizes: no answer may contradict a world; how many answers are the best that all
 * worlds allow is printed, and does not fall. */
#include "ir_fixture.h"

#include "frontend/parse.h"
#include "ir/eval.h"
#include "analysis/alias.h"

/* --- the pointers
 * --------------------------------------------------------------------------------- */

/* An index, %x of its type, and what computes it from the symbols %i and %j (i3) and %c. */
static const struct {
  const char *type, *code;
} indices[] = {
    {"i3", "  %x = add i3 %i, 0\n"},
    {"i64", "  %x = zext i3 %i to i64\n"},
    {"i64", "  %x = zext i3 %j to i64\n"},
    {"i64", "  %x.0 = add i3 %i, 1\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = add nuw i3 %i, 1\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = add nsw i3 %i, 3\n  %x = sext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = add i3 %i, 3\n  %x = sext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = sub i3 %i, %j\n  %x = sext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = sub nuw i3 %i, %j\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = mul i3 %i, 2\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = mul nsw i3 %i, 3\n  %x = sext i3 %x.0 to i64\n"},
    {"i64",
     "  %x.0 = shl nuw i3 %i, 1\n  %x.1 = or disjoint i3 %x.0, 1\n  %x = zext i3 %x.1 to i64\n"},
    {"i64", "  %x.0 = zext i3 %i to i64\n  %x = sub i64 4, %x.0\n"},
    {"i64", "  %x.0 = zext i3 %i to i64\n  %x.1 = zext i3 %j to i64\n  %x = add i64 %x.0, %x.1\n"},
    {"i32", "  %x.0 = zext i3 %i to i32\n  %x = add i32 %x.0, 2147483645\n"},
    {"i32", "  %x.0 = zext i3 %i to i32\n  %x = add nsw i32 %x.0, 2147483645\n"},
    {"i8", "  %x.0 = zext i3 %i to i8\n  %x = mul i8 %x.0, 37\n"},
    {"i8", "  %x.0 = zext i3 %i to i8\n  %x.1 = add i8 %x.0, 125\n  %x = freeze i8 %x.1\n"},
    {"i64", "  %x.0 = zext i3 %i to i64\n  %x = urem i64 %x.0, 3\n"},
    {"i64", "  %x.0 = add nsw i3 %i, 2\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = add nuw i3 %i, 2\n  %x = sext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = sub nsw i3 %i, 1\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = mul nuw i3 %i, 3\n  %x = sext i3 %x.0 to i64\n"},
    {"i64", "  %x.0 = sext i3 %i to i5\n  %x = zext i5 %x.0 to i64\n"},
    {"i64", "  %x.0 = zext i3 %i to i5\n  %x = sext i5 %x.0 to i64\n"},
    {"i64", "  %x.0 = lshr i3 %i, 1\n  %x = zext i3 %x.0 to i64\n"},
    {"i64", "  %x = select i1 %c, i64 1, i64 2\n"},
};
static const struct {
  const char *index, *element;
} steps[] = {{"i8", "0"}, {"i32", "0"}, {"[3 x i8]", "0"}};
static const int constants[] = {0, 2, -5};

/* Bases, each with the few offsets below; %p also with all of the above. */
static const char *const bases[] = {"%p", "%q", "%r",      "%s",      "%kept",   "%shown",
                                    "%g", "%h", "%loaded", "%number", "%either", "%met"};
enum {
  P,
  Q,
  R,
  S,
  KEPT,
  SHOWN,
  G,
  H,
  LOADED,
  NUMBER,
  EITHER,
  MET,
  BASES = sizeof bases / sizeof *bases
};

static const char prologue[] =
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "@global = addrspace(1) global [64 x i8] zeroinitializer\n"
    "@other = addrspace(1) global [64 x i8] zeroinitializer\n"
    "define void @f(i3 %i, i3 %j, i1 %c, i64 %n, ptr %p, ptr %q, ptr noalias %r, ptr noalias %s) "
    "{\n"
    "entry:\n"
    "  %kept = alloca [64 x i8]\n"
    "  %shown = alloca [64 x i8]\n"
    "  %g = addrspacecast ptr addrspace(1) @global to ptr\n"
    "  %h = addrspacecast ptr addrspace(1) @other to ptr\n"
    "  store ptr %shown, ptr %p\n"
    "  %loaded = load ptr, ptr %p\n"
    "  %number = inttoptr i64 %n to ptr\n"
    "  %either = select i1 %c, ptr %p, ptr %g\n"
    "  br i1 %c, label %then, label %join\n"
    "then:\n"
    "  br label %join\n"
    "join:\n"
    "  %met = phi ptr [ %kept, %then ], [ %r, %entry ]\n";

enum { MAX_TEXT = 1 << 16, MAX_POINTERS = 512 };
static char text[MAX_TEXT];
static uint32_t length, pointer_count;

static void put(const char *format, ...) {
  va_list list;
  va_start(list, format);
  int n = vsnprintf(text + length, sizeof text - length, format, list);
  va_end(list);
  length += (uint32_t)n;
  assert_true(length < sizeof text);
}

/* The code with %x as %x<number>. */
static void emit_index(const char *code, uint32_t number) {
  for (; *code; code++) {
    put("%c", *code);
    if (code[0] == 'x' && code[-1] == '%') put("%u_", number);
  }
}

static void emit_pointer(const char *base, uint32_t index, uint32_t step, int constant) {
  const char *at = base;
  if (index < sizeof indices / sizeof *indices) {
    put("  %%step%u = getelementptr %s, ptr %s, %s %%x%u_\n", pointer_count, steps[step].index,
        base, indices[index].type, index);
    at = NULL;
  }
  if (at) put("  %%a%u = getelementptr i8, ptr %s, i64 %d\n", pointer_count, at, constant);
  else
    put("  %%a%u = getelementptr i8, ptr %%step%u, i32 %d\n", pointer_count, pointer_count,
        constant);
  pointer_count++;
}

static void write_function(void) {
  enum { NO_INDEX = UINT32_MAX, ZEXT_I = 1, ZEXT_J = 2 };
  length = pointer_count = 0;
  put("%s", prologue);
  for (uint32_t k = 0; k < sizeof indices / sizeof *indices; k++) emit_index(indices[k].code, k);
  for (uint32_t k = 0; k < sizeof indices / sizeof *indices; k++)
    for (uint32_t s = 0; s < sizeof steps / sizeof *steps; s++)
      for (uint32_t c = 0; c < sizeof constants / sizeof *constants; c++)
        emit_pointer(bases[P], k, s, constants[c]);
  for (uint32_t b = 0; b < BASES; b++) {
    emit_pointer(bases[b], NO_INDEX, 0, 0);
    emit_pointer(bases[b], NO_INDEX, 0, 2);
    emit_pointer(bases[b], NO_INDEX, 0, 16);
    emit_pointer(bases[b], ZEXT_I, 1, 0);
    emit_pointer(bases[b], ZEXT_J, 1, 1);
  }
  put("  ret void\n}\n");
  assert_true(pointer_count <= MAX_POINTERS);
}

/* --- the worlds
 * ----------------------------------------------------------------------------------- */

enum { FAR = 1 << 20 };
/* Where the bases lie: objects FAR apart, but for those that a world makes equal or near. */
static const struct world {
  int base, at, offset;
} worlds[][3] = {
    {{-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}},         {{Q, P, 0}, {NUMBER, P, 0}, {LOADED, SHOWN, 0}},
    {{Q, P, 2}, {LOADED, P, -3}, {NUMBER, G, 1}}, {{P, G, 0}, {Q, H, 1}, {LOADED, G, 2}},
    {{P, G, 4}, {Q, G, 4}, {NUMBER, SHOWN, 2}},   {{LOADED, Q, 0}, {NUMBER, Q, 16}, {-1, 0, 0}},
};
enum { WORLDS = sizeof worlds / sizeof *worlds, SYMBOLS = 8 * 8 * 2 };

struct scene {
  struct nvm_module *m;
  struct arena arena;
  const struct nvm_function *f;
  struct alias_env *env;
  struct nvm_value pointers[MAX_POINTERS];
  int64_t (*addresses)[WORLDS * SYMBOLS]; /* by pointer; NOWHERE: it is poison */
};
static const int64_t NOWHERE = INT64_MIN;

static void place_bases(const struct world *w, bool c, int64_t *at) {
  for (int b = 0; b < BASES; b++) at[b] = (int64_t)(b + 1) * FAR;
  for (int k = 0; k < 3; k++)
    if (w[k].base >= 0) at[w[k].base] = at[w[k].at] + w[k].offset;
  at[EITHER] = at[c ? P : G];
  at[MET] = at[c ? KEPT : R];
}

static struct eval_lane lane_of(const struct scene *s, const struct eval_lane *values,
                                struct nvm_value v) {
  struct eval_lane lane = {.poison = true};
  if (value_kind(v) == VALUE_INST) return values[value_index(v)];
  if (value_kind(v) == VALUE_ARG) return values[s->f->insts.count + value_index(v)];
  assert_true(eval_lane_of(s->m, v, &lane));
  return lane;
}

static int base_of_name(const struct scene *s, struct nvm_value v) {
  static const int arguments[] = {[4] = P, [5] = Q, [6] = R, [7] = S};
  if (value_kind(v) == VALUE_ARG) return arguments[value_index(v)];
  struct nvm_text name = module_text(s->m, s->f->names.data[value_index(v)]);
  for (int b = 0; b < BASES; b++)
    if (strlen(bases[b] + 1) == name.length && memcmp(bases[b] + 1, name.bytes, name.length) == 0)
      return b;
  return -1;
}

/* Executes one instruction: values of integers, and addresses, which are lanes of 64 bits. */
static void execute(const struct scene *s, struct nvm_inst_id id, struct eval_lane *values) {
  const struct nvm_inst *i = function_inst(s->f, id);
  const struct type_table *t = &s->m->types;
  struct eval_lane in[3], *out = &values[id.index];
  if (i->op == OP_GEP) {
    struct eval_lane index = lane_of(s, values, inst_operand(s->f, i, 1)),
                     base = lane_of(s, values, inst_operand(s->f, i, 0));
    uint32_t width = type_scalar_bits(t, value_type(s->f, inst_operand(s->f, i, 1)));
    uint64_t bytes = layout_alloc_size(&s->m->layout, t, (struct nvm_type){i->aux});
    *out =
        (struct eval_lane){(uint64_t)base.bits + bytes * (uint64_t)eval_signed(index.bits, width),
                           base.poison || index.poison};
  } else if (type_kind(t, i->type) == TY_INT && i->op != OP_LOAD) {
    for (uint32_t k = 0; k < i->operand_count; k++)
      in[k] = lane_of(s, values, inst_operand(s->f, i, k));
    struct nvm_type from = value_type(s->f, inst_operand(s->f, i, 0));
    if (!eval_lane(s->m, (enum op)i->op, i->flags, i->aux, i->type, from, in, out))
      out->poison = true;
  }
}

/* The addresses of all pointers for one choice of the symbols in one world. */
static void execute_all(struct scene *s, uint32_t world, uint32_t symbols,
                        struct eval_lane *values) {
  const struct nvm_function *f = s->f;
  int64_t at[BASES];
  place_bases(worlds[world], symbols >> 6, at);
  values[f->insts.count + 0] = (struct eval_lane){symbols & 7, false};
  values[f->insts.count + 1] = (struct eval_lane){symbols >> 3 & 7, false};
  values[f->insts.count + 2] = (struct eval_lane){symbols >> 6, false};
  for (uint32_t a = 4; a < 8; a++)
    values[f->insts.count + a] =
        (struct eval_lane){(uint64_t)at[base_of_name(s, value_make(VALUE_ARG, a))], false};
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      int base = f->names.data[i.index].index ? base_of_name(s, value_of_inst(i)) : -1;
      if (base >= 0) values[i.index] = (struct eval_lane){(uint64_t)at[base], false};
      else execute(s, i, values);
    }
  for (uint32_t k = 0; k < pointer_count; k++) {
    struct eval_lane v = values[value_index(s->pointers[k])];
    s->addresses[k][world * SYMBOLS + symbols] = v.poison ? NOWHERE : (int64_t)v.bits;
  }
}

static void set_up(struct scene *s) {
  struct diag_sink sink;
  *s = (struct scene){.m = module_create(nvm_default_allocator, 0)};
  arena_init(&s->arena, nvm_default_allocator);
  diag_sink_init(&sink, &s->arena, 0);
  write_function();
  assert_int_equal(parse_module(s->m, text, length, "worlds", 0, &sink), NVM_OK);
  s->f = s->m->functions.data[s->m->functions.count - 1];
  s->env = alias_init(s->f, &s->arena);
  s->addresses = malloc(pointer_count * sizeof *s->addresses);
  assert_true(s->env && s->addresses);
  uint32_t found = 0;
  FOR_EACH_BLOCK (s->f, b)
    FOR_EACH_INST (s->f, b, i) {
      struct nvm_text name = module_text(s->m, s->f->names.data[i.index]);
      if (name.length > 1 && name.bytes[0] == 'a' && name.bytes[1] >= '0' && name.bytes[1] <= '9')
        s->pointers[found++] = value_of_inst(i);
    }
  assert_int_equal(found, pointer_count);
  struct eval_lane *values = calloc(s->f->insts.count + 8, sizeof *values);
  assert_non_null(values);
  for (uint32_t w = 0; w < WORLDS; w++)
    for (uint32_t n = 0; n < SYMBOLS; n++) execute_all(s, w, n, values);
  free(values);
}

/* --- questions
 * ------------------------------------------------------------------------------------ */

static const struct {
  uint8_t a, b;
} sizes[] = {{1, 1}, {1, 4}, {4, 1}, {4, 4}, {2, 8}, {8, 2}, {3, 5}, {16, 16}, {16, 1}};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct truth {
  bool meet[SIZES], miss[SIZES], differ; /* in some world */
};

static void find_truth(const struct scene *s, uint32_t a, uint32_t b, struct truth *t) {
  *t = (struct truth){0};
  for (uint32_t n = 0; n < WORLDS * SYMBOLS; n++) {
    int64_t x = s->addresses[a][n], y = s->addresses[b][n];
    if (x == NOWHERE || y == NOWHERE) continue;
    t->differ |= x != y;
    for (uint32_t k = 0; k < SIZES; k++) {
      bool meet = x < y + sizes[k].b && y < x + sizes[k].a;
      t->meet[k] |= meet, t->miss[k] |= !meet;
    }
  }
}

static enum alias best(const struct truth *t, uint32_t size) {
  if (!t->meet[size]) return ALIAS_NO;
  if (t->miss[size]) return ALIAS_MAY;
  return t->differ ? ALIAS_PARTIAL : ALIAS_MUST;
}

static void check_answer(const struct scene *s, uint32_t a, uint32_t b, uint32_t size,
                         const struct truth *t, enum alias answer) {
  bool wrong = (answer == ALIAS_NO && t->meet[size]) || (answer == ALIAS_MUST && t->differ) ||
               ((answer == ALIAS_MUST || answer == ALIAS_PARTIAL) && t->miss[size]);
  if (!wrong) return;
  struct nvm_text x = module_text(s->m, s->f->names.data[value_index(s->pointers[a])]);
  struct nvm_text y = module_text(s->m, s->f->names.data[value_index(s->pointers[b])]);
  fail_msg("%.*s (%u bytes) and %.*s (%u bytes): answer %d is wrong", (int)x.length, x.bytes,
           sizes[size].a, (int)y.length, y.bytes, sizes[size].b, (int)answer);
}

/* What the analysis reached when this was written; a change that lowers it needs a reason, one that
 * raises it raises it here too. */
enum { GOLDEN_EXACT = 295705 };

static void all_pairs(void **state) {
  (void)state;
  struct scene s;
  struct truth t;
  uint32_t asked = 0, exact = 0;
  set_up(&s);
  for (uint32_t a = 0; a < pointer_count; a++)
    for (uint32_t b = a; b < pointer_count; b++) {
      find_truth(&s, a, b, &t);
      for (uint32_t k = 0; k < SIZES; k++) {
        struct memory_location x = {.pointer = s.pointers[a], .bytes = sizes[k].a},
                               y = {.pointer = s.pointers[b], .bytes = sizes[k].b};
        enum alias answer = alias_query(s.env, x, y);
        assert_int_equal(alias_query(s.env, y, x), answer);
        check_answer(&s, a, b, k, &t, answer);
        asked++, exact += answer == best(&t, k);
      }
    }
  print_message("alias: %u of %u answers exact\n", exact, asked);
  assert_true(exact >= GOLDEN_EXACT);
  free(s.addresses);
  arena_free(&s.arena);
  module_destroy(s.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
