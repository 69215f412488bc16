/* Random kernels of 32 threads, for `nvmini fuzz` without --generator.
 *
 * Every result is one number, whatever a compiler does: shift amounts are masked, divisors odd and
 * positive, indices masked to the array, loops count to a constant, each thread reads its own input
 * and writes its own output, no flag says more than is true. The types and ops are those that all
 * compilers of NVVM IR have: i8 to i64 and float, whose NaNs are made one before their bits count.
 * The generators of runtime-tests/fuzz/ know far more of the language. */
#include "driver/fuzz/fuzz.h"

enum { TYPES = 5, POOL = 8, FLOAT = 4, OUTPUTS = 8, STATEMENTS = 24 };

static const char *const types[TYPES] = {"i8", "i16", "i32", "i64", "float"};
static const uint32_t widths[TYPES] = {8, 16, 32, 64, 32};

struct generator {
  struct textbuf *out;
  uint64_t random;
  uint32_t count;                          /* of values */
  uint32_t pool[TYPES][POOL], made[TYPES]; /* the latest values of each type; how many there were */
};

/* xorshift64* (Vigna, 2016). */
static uint32_t below(struct generator *g, uint32_t n) {
  g->random ^= g->random >> 12;
  g->random ^= g->random << 25;
  g->random ^= g->random >> 27;
  return (uint32_t)((g->random * UINT64_C(2685821657736338717)) >> 33) % n;
}

/* A type; i32 more often than others. */
static uint32_t pick_type(struct generator *g) {
  static const uint32_t choices[] = {0, 1, 2, 2, 2, 3, FLOAT};
  return choices[below(g, sizeof choices / sizeof *choices)];
}

static uint32_t new_value(struct generator *g, uint32_t type) {
  g->pool[type][g->made[type]++ % POOL] = ++g->count;
  return g->count;
}

/* Writes an operand: a value that is known, or a constant. */
static void operand(struct generator *g, uint32_t type) {
  static const char *const floats[] = {"0.0", "1.0", "-1.5", "0.25", "3.0", "1024.0"};
  uint32_t known = g->made[type] < POOL ? g->made[type] : POOL;
  if (known && below(g, 5) > 0) {
    textbuf_format(g->out, "%%v%u", g->pool[type][below(g, known)]);
    return;
  }
  if (type == FLOAT) {
    textbuf_puts(g->out, floats[below(g, 6)]);
    return;
  }
  uint32_t bits = widths[type] < 32 ? widths[type] - 1 : 31;
  int64_t number = below(g, 3) ? (int64_t)below(g, 10) : (int64_t)below(g, 1u << bits);
  textbuf_signed(g->out, below(g, 4) ? number : -number);
}

/* `  %vN = `; the value is known afterwards, so the operands are written first into `text`. */
static void define(struct generator *g, uint32_t type, const struct textbuf *text) {
  textbuf_format(g->out, "  %%v%u = %t\n", new_value(g, type),
                 ((struct nvm_text){text->bytes, text->length}));
}

static struct textbuf text_in(struct generator *g, struct textbuf **outer) {
  struct textbuf inner;
  textbuf_init(&inner, g->out->arena);
  *outer = g->out;
  return inner;
}

/* `OP TYPE a, b`, with the second operand masked or made odd by an instruction before it. */
static void binary(struct generator *g) {
  static const char *const ops[] = {"add",  "sub",  "mul",  "and",  "or",   "xor", "shl",
                                    "lshr", "ashr", "udiv", "sdiv", "urem", "srem"};
  static const char *const float_ops[] = {"fadd", "fsub", "fmul", "fdiv"};
  uint32_t type = pick_type(g), op = below(g, 13);
  struct textbuf *outer, inner = text_in(g, &outer);
  if (type != FLOAT && op >= 6) {
    uint32_t mask = op < 9 ? widths[type] - 1 : 127;
    uint32_t masked = ++g->count;
    textbuf_format(outer, "  %%v%u = and %s ", masked, types[type]);
    operand(g, type);
    textbuf_format(outer, ", %u\n", mask);
    uint32_t divisor = masked;
    if (op >= 9) {
      divisor = ++g->count;
      textbuf_format(outer, "  %%v%u = or %s %%v%u, 1\n", divisor, types[type], masked);
    }
    g->out = &inner;
    textbuf_format(&inner, "%s %s ", ops[op], types[type]);
    operand(g, type);
    textbuf_format(&inner, ", %%v%u", divisor);
  } else {
    g->out = &inner;
    textbuf_format(&inner, "%s %s ", type == FLOAT ? float_ops[op % 4] : ops[op], types[type]);
    operand(g, type);
    textbuf_puts(&inner, ", ");
    operand(g, type);
  }
  g->out = outer;
  define(g, type, &inner);
}

static void cast(struct generator *g) {
  uint32_t from = below(g, 4), to = below(g, 5);
  struct textbuf *outer, inner = text_in(g, &outer);
  if (from == to) to = FLOAT;
  g->out = &inner;
  const char *op = to == FLOAT   ? (below(g, 2) ? "sitofp" : "uitofp")
                   : to < from   ? "trunc"
                   : below(g, 2) ? "zext"
                                 : "sext";
  textbuf_format(&inner, "%s %s ", op, types[from]);
  operand(g, from);
  textbuf_format(&inner, " to %s", types[to]);
  g->out = outer;
  define(g, to, &inner);
}

/* A comparison as %cN; its number. */
static uint32_t condition(struct generator *g) {
  static const char *const predicates[] = {"eq", "ne", "slt", "sle", "ugt", "uge"};
  uint32_t type = below(g, 4), number = ++g->count;
  textbuf_format(g->out, "  %%c%u = icmp %s %s ", number, predicates[below(g, 6)], types[type]);
  operand(g, type);
  textbuf_puts(g->out, ", ");
  operand(g, type);
  textbuf_char(g->out, '\n');
  return number;
}

static void select_one(struct generator *g) {
  uint32_t type = pick_type(g), c = condition(g);
  struct textbuf *outer, inner = text_in(g, &outer);
  g->out = &inner;
  textbuf_format(&inner, "select i1 %%c%u, %s ", c, types[type]);
  operand(g, type);
  textbuf_format(&inner, ", %s ", types[type]);
  operand(g, type);
  g->out = outer;
  define(g, type, &inner);
}

/* Stores into the local array, and loads from it, at masked places. */
static void local(struct generator *g) {
  uint32_t place = ++g->count;
  textbuf_format(g->out, "  %%m%u = and i32 ", place);
  operand(g, 2);
  textbuf_format(g->out, ", 7\n  %%p%u = getelementptr i32, ptr %%local, i32 %%m%u\n", place,
                 place);
  if (below(g, 2)) {
    textbuf_puts(g->out, "  store i32 ");
    operand(g, 2);
    textbuf_format(g->out, ", ptr %%p%u\n", place);
  } else textbuf_format(g->out, "  %%v%u = load i32, ptr %%p%u\n", new_value(g, 2), place);
}

static void statements(struct generator *g, uint32_t count, uint32_t depth);

/* What is defined inside is unknown outside. */
static void nested(struct generator *g, uint32_t depth) {
  struct generator before = *g;
  statements(g, 1 + below(g, 4), depth + 1);
  before.count = g->count;
  before.random = g->random;
  *g = before;
}

static void branch(struct generator *g, uint32_t depth) {
  uint32_t c = condition(g);
  textbuf_format(g->out, "  br i1 %%c%u, label %%yes%u, label %%no%u\nyes%u:\n", c, c, c, c);
  nested(g, depth);
  textbuf_format(g->out, "  br label %%no%u\nno%u:\n", c, c);
}

/* A loop of 1 to 9 iterations around an accumulator. */
static void loop(struct generator *g, uint32_t depth) {
  uint32_t k = ++g->count, sum = ++g->count;
  textbuf_format(g->out, "  br label %%before%u\nbefore%u:\n  br label %%loop%u\nloop%u:\n", k, k,
                 k, k);
  textbuf_format(g->out, "  %%i%u = phi i32 [ 0, %%before%u ], [ %%j%u, %%last%u ]\n", k, k, k, k);
  textbuf_format(g->out, "  %%v%u = phi i32 [ %u, %%before%u ], [ %%s%u, %%last%u ]\n", sum,
                 below(g, 100), k, k, k);
  struct generator before = *g;
  g->pool[2][g->made[2]++ % POOL] = sum;
  statements(g, 1 + below(g, 4), depth + 1);
  textbuf_format(g->out, "  br label %%last%u\nlast%u:\n  %%s%u = %s i32 %%v%u, ", k, k, k,
                 below(g, 2) ? "add" : "xor", sum);
  operand(g, 2);
  textbuf_format(g->out, "\n  %%j%u = add nuw nsw i32 %%i%u, 1\n", k, k);
  textbuf_format(g->out, "  %%e%u = icmp ult i32 %%j%u, %u\n", k, k, 1 + below(g, 9));
  textbuf_format(g->out, "  br i1 %%e%u, label %%loop%u, label %%after%u\nafter%u:\n", k, k, k, k);
  before.count = g->count;
  before.random = g->random;
  *g = before;
  textbuf_format(g->out, "  %%v%u = add i32 %%s%u, 0\n", new_value(g, 2), k);
}

static void statements(struct generator *g, uint32_t count, uint32_t depth) {
  for (; count > 0; count--) {
    uint32_t kind = below(g, depth < 3 ? 20 : 17);
    if (kind < 9) binary(g);
    else if (kind < 12) cast(g);
    else if (kind < 14) select_one(g);
    else if (kind < 17) local(g);
    else if (kind < 19) branch(g, depth);
    else loop(g, depth);
  }
}

static void begin(struct generator *g) {
  textbuf_puts(g->out, "; nvmini-run: --kernel k --block 32 --arg buf:i32:128:random:");
  textbuf_format(g->out, "%u --arg buf:i64:%u:zero --print 1\n", below(g, 1u << 30),
                 (unsigned)(32 * OUTPUTS));
  textbuf_puts(g->out,
               "target triple = \"nvptx64-nvidia-cuda\"\n\n"
               "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\n"
               "define ptx_kernel void @k(ptr %in, ptr %out) {\nentry:\n"
               "  %local = alloca [8 x i32], align 4\n"
               "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
               "  %mine = getelementptr [4 x i32], ptr %in, i32 %tid\n");
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t v = new_value(g, 2);
    textbuf_format(g->out, "  %%a%u = getelementptr i32, ptr %%mine, i32 %u\n", k, k);
    textbuf_format(g->out, "  %%v%u = load i32, ptr %%a%u\n", v, k);
  }
  for (uint32_t k = 0; k < 8; k++) {
    textbuf_format(g->out, "  %%l%u = getelementptr i32, ptr %%local, i32 %u\n", k, k);
    textbuf_format(g->out, "  store i32 %%v%u, ptr %%l%u\n", 1 + k % 4, k);
  }
}

/* Stores a value as 64 bits. */
static void store(struct generator *g, uint32_t slot) {
  uint32_t type = pick_type(g), k = ++g->count;
  textbuf_format(g->out, "  %%o%u = getelementptr i64, ptr %%results, i32 %u\n", slot, slot);
  if (type == FLOAT) {
    textbuf_format(g->out, "  %%f%u = fadd float ", k);
    operand(g, FLOAT);
    textbuf_format(g->out, ", 0.0\n  %%n%u = fcmp uno float %%f%u, %%f%u\n", k, k, k);
    textbuf_format(g->out, "  %%g%u = select i1 %%n%u, float 0x7FF8000000000000, float %%f%u\n", k,
                   k, k);
    textbuf_format(g->out, "  %%b%u = bitcast float %%g%u to i32\n", k, k);
    textbuf_format(g->out, "  %%w%u = zext i32 %%b%u to i64\n", k, k);
  } else if (type == 3) {
    textbuf_format(g->out, "  %%w%u = xor i64 ", k);
    operand(g, type);
    textbuf_puts(g->out, ", 0\n");
  } else {
    textbuf_format(g->out, "  %%w%u = sext %s ", k, types[type]);
    operand(g, type);
    textbuf_puts(g->out, " to i64\n");
  }
  textbuf_format(g->out, "  store i64 %%w%u, ptr %%o%u\n", k, slot);
}

void fuzz_generate(struct textbuf *out, uint64_t seed) {
  struct generator g = {.out = out, .random = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1};
  begin(&g);
  statements(&g, STATEMENTS, 0);
  textbuf_format(out, "  %%results = getelementptr [%u x i64], ptr %%out, i32 %%tid\n",
                 (unsigned)OUTPUTS);
  for (uint32_t k = 0; k < OUTPUTS; k++) store(&g, k);
  textbuf_puts(out, "  ret void\n}\n");
}
