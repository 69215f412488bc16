/* Trip counts and forms of recurrences in small worlds: loops of 3- to 6-bit counters of all
 * predicates, steps, starts, bounds, wrap flags and guards, executed for every value of the
 * symbols, against what analysis/scev.h says that they do. */
#include "analysis/loop_execution.h"
#include "small_world.h"

/* --- loops
 * ---------------------------------------------------------------------------------------- */

/* How start and bound are made; %cs, %cb stand for numbers, which each case has its own of. */
enum made_of {
  IS_NUMBER,
  IS_ARGUMENT,
  IS_MASKED,
  IS_SUM,
  IS_FROM_START,
  IS_TO_START,
  IS_BESIDE_START, /* of a bound: a sum of the start's symbol and a number */
  MADE_OF
};
enum guard_kind {
  NO_GUARD,
  GUARD_BY_START,
  GUARD_INVERSE,
  GUARD_BY_FIRST,
  GUARD_UNEQUAL,
  GUARD_BOUND,
  GUARDS
};
enum { TWO_BLOCKS = 1, TESTS_NEW = 2, SHAPES = 4 };
enum extension { NOT_EXTENDED, EXTENDED_ZERO, EXTENDED_SIGN, EXTENSIONS };
enum ending { ENDS_ONCE, ENDS_EARLY, ENDS_FINITE, ENDINGS };
enum written { IS_PLAIN, IS_SWAPPED, IS_NEGATED, WRITTEN };
/* Arguments: two that are symbols, the others stand for numbers. */
enum { ARG_A, ARG_B, ARG_START, ARG_BOUND, ARG_STEP, ARG_WIDE_STEP, ARG_GUARD, ARG_COUNT };

struct shape {
  uint32_t width, start, bound, guard, shape, extension, ending, written;
};

/* The numbers of a case. */
struct numbers {
  uint32_t predicate, step, step_op, flags, start, start_flags, bound, bound_flags, guard_predicate,
      guard;
};

/* The text of a shape, with `eq` for each predicate. */
static void write_loop(const struct shape *s, char *text) {
  uint32_t w = s->width, wide = s->extension == NOT_EXTENDED ? w : w + 2;
  bool two = s->shape & TWO_BLOCKS, is_new = s->shape & TESTS_NEW, early = s->ending == ENDS_EARLY;
  const char *extension = s->extension == EXTENDED_ZERO ? "zext" : "sext",
             *again = two ? "%latch" : "%header";
  const char *start = s->start == IS_NUMBER     ? "%cs"
                      : s->start == IS_ARGUMENT ? "%a"
                                                : "%s",
             *from = start;
  const char *bound = s->bound == IS_NUMBER     ? "%cb"
                      : s->bound == IS_ARGUMENT ? "%b"
                                                : "%e",
             *t = is_new ? "%n" : "%i";
  char *at = text;
  at += sprintf(at,
                "define void @f(i%u %%a, i%u %%b, i%u %%cs, i%u %%cb, i%u %%ct, i%u %%cw, i%u "
                "%%cg, ptr %%p) {\nentry:\n",
                w, wide, w, wide, w, wide, wide);
  if (s->start >= IS_MASKED)
    at += sprintf(at, "  %%s = %s i%u %%a, %%cs\n", s->start == IS_MASKED ? "and" : "add", w);
  if (s->extension != NOT_EXTENDED)
    at += sprintf(at, "  %%ws = %s i%u %s to i%u\n", extension, w, start, wide), from = "%ws";
  if (s->bound == IS_MASKED || s->bound == IS_SUM)
    at += sprintf(at, "  %%e = %s i%u %%b, %%cb\n", s->bound == IS_SUM ? "add" : "and", wide);
  if (s->bound == IS_FROM_START) at += sprintf(at, "  %%e = add i%u %s, %%cb\n", wide, from);
  if (s->bound == IS_TO_START) at += sprintf(at, "  %%e = sub i%u %%cb, %s\n", wide, from);
  if (s->bound == IS_BESIDE_START) at += sprintf(at, "  %%e = add i%u %%a, %%cb\n", wide);
  if (s->guard == GUARD_BY_FIRST)
    at += sprintf(at, "  %%f = add i%u %s, %%cw\n", wide, from), from = "%f";
  if (s->guard == GUARD_BOUND) at += sprintf(at, "  %%g = icmp eq i%u %s, %%cg\n", wide, bound);
  else if (s->guard) at += sprintf(at, "  %%g = icmp eq i%u %s, %s\n", wide, from, bound);
  if (!s->guard) at += sprintf(at, "  br label %%pre\n");
  else
    at += sprintf(at, "  br i1 %%g, label %%%s, label %%%s\n",
                  s->guard == GUARD_INVERSE ? "out" : "pre",
                  s->guard == GUARD_INVERSE ? "pre" : "out");
  at +=
      sprintf(at, "pre:\n  br label %%header\nheader:\n  %%i = phi i%u [%s, %%pre], [%%n, %%%s]\n",
              w, start,
              two     ? "latch"
              : early ? "body"
                      : "header");
  if (early)
    at += sprintf(
        at, "  %%q = load volatile i1, ptr %%p\n  br i1 %%q, label %%out, label %%body\nbody:\n");
  if (is_new || !two) at += sprintf(at, "  %%n = add i%u %%i, %%ct\n", w);
  if (s->extension != NOT_EXTENDED)
    at += sprintf(at, "  %%x = %s i%u %s to i%u\n", extension, w, t, wide), t = "%x";
  at += sprintf(at, "  %%t = icmp eq i%u %s, %s\n", wide, s->written == IS_SWAPPED ? bound : t,
                s->written == IS_SWAPPED ? t : bound);
  at += sprintf(at, "  br i1 %%t, label %s, label %s", s->written == IS_NEGATED ? "%out" : again,
                s->written == IS_NEGATED ? again : "%out");
  if (two) at += sprintf(at, "\nlatch:\n");
  if (two && !is_new) at += sprintf(at, "  %%n = add i%u %%i, %%ct\n", w);
  if (two) at += sprintf(at, "  br label %%header");
  at += sprintf(at, "%s\nout:\n  ret void\n}\n", s->ending == ENDS_FINITE ? ", !llvm.loop !0" : "");
  sprintf(at, "!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.mustprogress\"}\n");
}

enum { MAX_USES = 16 };

struct world {
  struct shape shape;
  struct world_tables *tables;
  struct loop_sample sample;
  struct world_run run;
  struct arena arena;
  struct dominance dominance;
  struct {
    struct nvm_inst_id inst;
    uint32_t operand, argument;
  } uses[MAX_USES]; /* of arguments that stand for numbers */
  uint32_t use_count;
  struct nvm_inst_id start, bound, next, test, guard;
  struct nvm_value phi, tested;
  struct nvm_block header, exiting, again; /* again: where the test stays */
};

static struct nvm_inst_id inst_named(const struct world *w, const char *name) {
  for (uint32_t k = 1; k < w->sample.f->insts.count; k++)
    if (strcmp(module_text(w->sample.m, w->sample.f->names.data[k]).bytes, name) == 0)
      return (struct nvm_inst_id){k};
  return (struct nvm_inst_id){0};
}

static void find_uses(struct world *w) {
  w->use_count = 0;
  for (uint32_t k = 1; k < w->sample.f->insts.count; k++) {
    const struct nvm_inst *i = function_inst(w->sample.f, (struct nvm_inst_id){k});
    for (uint32_t o = 0; o < i->operand_count; o++) {
      struct nvm_value v = inst_operand(w->sample.f, i, o);
      if (value_kind(v) != VALUE_ARG || value_index(v) < ARG_START || value_index(v) >= ARG_COUNT)
        continue;
      assert_true(w->use_count < MAX_USES);
      w->uses[w->use_count].inst = (struct nvm_inst_id){k};
      w->uses[w->use_count].operand = o;
      w->uses[w->use_count++].argument = value_index(v);
    }
  }
}

static void open_world(struct world *w, struct shape shape) {
  char text[2000];
  write_loop(&shape, text);
  w->shape = shape;
  w->sample = loop_sample(text);
  w->run = (struct world_run){.tables = w->tables, .f = w->sample.f};
  w->start = inst_named(w, "s");
  w->bound = inst_named(w, "e");
  w->next = inst_named(w, "n");
  w->test = inst_named(w, "t");
  w->guard = inst_named(w, "g");
  w->phi = named(&w->sample, "i");
  w->tested = shape.extension           ? named(&w->sample, "x")
              : shape.shape & TESTS_NEW ? named(&w->sample, "n")
                                        : w->phi;
  w->header = (struct nvm_block){value_index(named(&w->sample, "header"))};
  w->exiting = function_inst(w->sample.f, w->test)->block;
  w->again = shape.shape & TWO_BLOCKS ? (struct nvm_block){value_index(named(&w->sample, "latch"))}
                                      : w->header;
  assert_true(dominance_compute(&w->dominance, w->sample.f, &w->sample.m->arena));
  arena_init_reused(&w->arena, nvm_default_allocator);
  find_uses(w);
}

static void close_world(struct world *w) {
  if (!w->sample.m) return;
  arena_free(&w->arena);
  module_destroy(w->sample.m);
  w->sample.m = NULL;
}

/* Writes the numbers of a case into the loop. */
static void set_case(struct world *w, const struct numbers *n) {
  struct nvm_function *f = w->sample.f;
  const uint32_t by_argument[ARG_COUNT] = {0, 0, n->start, n->bound, n->step, n->step, n->guard};
  enum icmp_predicate p = (enum icmp_predicate)n->predicate;
  for (uint32_t k = 0; k < w->use_count; k++) {
    struct nvm_type t = value_type(f, value_of_arg(w->uses[k].argument));
    uint32_t bits = type_scalar_bits(&f->module->types, t);
    uint64_t v = by_argument[w->uses[k].argument];
    if (w->uses[k].argument == ARG_WIDE_STEP)
      v = (uint64_t)evalint_sext(w->shape.width, n->step_op == OP_SUB ? 0 - v : v);
    inst_set_operand(f, w->uses[k].inst, w->uses[k].operand,
                     const_int(f->module, t, evalint_zext(bits, v)));
  }
  function_inst(f, w->test)->aux = w->shape.written == IS_SWAPPED   ? icmp_swapped(p)
                                   : w->shape.written == IS_NEGATED ? icmp_inverse(p)
                                                                    : p;
  function_inst(f, w->next)->flags = (uint16_t)n->flags;
  function_inst(f, w->next)->op = (uint8_t)n->step_op;
  if (w->shape.start == IS_SUM) function_inst(f, w->start)->flags = (uint16_t)n->start_flags;
  if (w->shape.bound >= IS_SUM) function_inst(f, w->bound)->flags = (uint16_t)n->bound_flags;
  if (inst_is_none(w->guard)) return;
  enum icmp_predicate g = w->shape.guard == GUARD_BOUND ? (enum icmp_predicate)n->guard_predicate
                          : w->shape.guard == GUARD_UNEQUAL ? ICMP_NE
                                                            : p;
  function_inst(f, w->guard)->aux = w->shape.guard == GUARD_INVERSE ? icmp_inverse(g) : g;
}

/* --- truth
 * ---------------------------------------------------------------------------------------- */

/* One execution: the tests that stayed, and how it ended. */
enum end { ENDS_BEFORE, ENDS_LEFT, ENDS_UNDEFINED, ENDS_NEVER };

/* Of the phi, what it becomes, and what is tested: in each iteration, and in the last one. */
struct forms {
  struct scev value[3], last[3];
  struct nvm_value of[3];
};

static struct nvm_block inst_block(const struct world *w, struct nvm_value v) {
  return function_inst(w->sample.f, (struct nvm_inst_id){value_index(v)})->block;
}

static enum end execute(struct world *w, const struct forms *forms, uint32_t *stays,
                        const char **wrong) {
  struct nvm_block from = {0}, at = w->sample.f->entry, next;
  uint32_t iteration = 0, limit = (1u << w->shape.width) + 2;
  bool defined, entered = false;
  *stays = 0;
  for (; at.index; from = at, at = next) {
    if (at.index == w->header.index && entered) iteration++;
    entered |= at.index == w->header.index;
    next = world_block(&w->run, from, at, &defined);
    for (int k = 0; entered && k < 3; k++) {
      bool here = inst_block(w, forms->of[k]).index == at.index;
      if (here && !*wrong)
        *wrong = world_check_form(&w->run, &forms->value[k], forms->of[k], iteration);
    }
    if (!defined) return ENDS_UNDEFINED;
    if (at.index != w->exiting.index) continue;
    for (int k = 0; k < 3 && next.index != w->again.index && !*wrong; k++)
      if (inst_block(w, forms->of[k]).index == w->header.index)
        *wrong = world_check_form(&w->run, &forms->last[k], forms->of[k], 0);
    if (next.index != w->again.index) return ENDS_LEFT;
    if (++*stays > limit) return ENDS_NEVER;
  }
  return ENDS_BEFORE;
}

/* C, as the trip count says it is; *evaluated is false where its forms have poison in them. */
static uint64_t count_said(const struct world *w, const struct trip_count *c, bool *evaluated) {
  int64_t taken, first, bound;
  *evaluated = world_form(&w->run, &c->taken, 0, 2, &taken) &&
               world_form(&w->run, &c->first, 0, 2, &first) &&
               world_form(&w->run, &c->bound, 0, 2, &bound);
  if (!*evaluated) return 0;
  if (!c->guarded) {
    uint32_t bits = c->first.width;
    const uint16_t *table = world_table(w->tables, OP_ICMP, 0, c->predicate, bits, 1);
    if (!table[evalint_zext(bits, (uint64_t)bound) << 8 | evalint_zext(bits, (uint64_t)first)])
      return 0;
  }
  return evalint_zext(c->taken.width, (uint64_t)taken) / c->divisor;
}

/* What all executions of a case say. */
struct truth {
  bool endless, any;
  uint64_t most, least; /* of executions that leave */
};

static const char *check_count(const struct world *w, const struct trip_count *c, enum end end,
                               uint32_t stays, struct truth *truth) {
  bool early = w->shape.ending == ENDS_EARLY, evaluated;
  if (end == ENDS_BEFORE) return NULL;
  if (end == ENDS_NEVER && w->shape.ending == ENDS_FINITE) return NULL;
  if (end == ENDS_LEFT) {
    truth->least = !truth->any || stays < truth->least ? stays : truth->least;
    truth->most = !truth->any || stays > truth->most ? stays : truth->most;
    truth->any = true;
  }
  truth->endless |= end == ENDS_NEVER;
  if ((end != ENDS_UNDEFINED || early) && c->most < stays) return "most is too small";
  if (c->taken.width == 0) return c->known || c->exact ? "no form, but known or exact" : NULL;
  uint64_t said = count_said(w, c, &evaluated);
  if (!evaluated) return end == ENDS_LEFT ? "the count has poison in it" : NULL;
  if (c->known && end == ENDS_LEFT && said != stays) return "known, but another count";
  if (c->known && end == ENDS_NEVER) return "known, but the loop does not end";
  if (c->exact && (end == ENDS_LEFT ? said != stays : said < stays))
    return "exact, but another count";
  if (end == ENDS_LEFT && stays < said) return "fewer tests stay";
  if ((c->known || c->exact) && c->guarded && end == ENDS_LEFT && (stays + 1) % c->multiple != 0)
    return "not a multiple";
  return NULL;
}

/* --- a case
 * --------------------------------------------------------------------------------------- */

struct suite {
  struct world_score count, most, executed;
};

/* Execution on constants, where start and bound are numbers; `wrong` as check_count(). */
static const char *check_executed(const struct loop_execution *e, const struct world *w,
                                  enum end end, uint32_t stays) {
  bool early = w->shape.ending == ENDS_EARLY;
  if (!e->ends || end == ENDS_BEFORE || end == ENDS_UNDEFINED) return NULL;
  if (end == ENDS_NEVER) return "executed to its end, but endless";
  if (early ? stays >= e->iterations : stays + 1 != e->iterations)
    return "executed another number of times";
  return NULL;
}

static bool execute_on_constants(struct world *w, struct loop_execution *e) {
  *e = (struct loop_execution){0};
  if (w->shape.start != IS_NUMBER || w->shape.bound != IS_NUMBER ||
      block_is_none(w->sample.loops.data[1].preheader) ||
      block_is_none(w->sample.loops.data[1].latch))
    return false;
  struct executor *x = loop_execution_init(w->sample.f, &w->sample.loops, &w->dominance, &w->arena);
  return x && loop_execution_run(x, 1, 1000, 100000, e);
}

static void print_case(const struct world *w, const struct trip_count *c, const char *wrong,
                       uint32_t stays) {
  printf(
      "%s: a %u, b %u, %u tests stay; known %d guarded %d exact %d most %llu multiple %llu divisor "
      "%llu\n%s\n",
      wrong, w->run.arguments[0], w->run.arguments[1], stays, c->known, c->guarded, c->exact,
      (unsigned long long)c->most, (unsigned long long)c->multiple, (unsigned long long)c->divisor,
      world_text(w->sample.m));
}

static void check_case(struct world *w, struct suite *s) {
  arena_reset(&w->arena);
  struct scev_env *e = scev_init(w->sample.f, &w->sample.loops, &w->dominance, &w->arena);
  struct trip_count c = scev_trip_count(e, 1);
  struct forms forms = {.of = {w->phi, value_of_inst(w->next), w->tested}};
  for (int k = 0; k < 3; k++) {
    forms.value[k] = scev_of(e, forms.of[k]);
    forms.last[k] = scev_at_end(e, forms.value[k], 1);
  }
  struct truth truth = {false, false, 0, 0};
  bool uses_a = w->shape.start != IS_NUMBER,
       uses_b = w->shape.bound != IS_NUMBER && w->shape.bound < IS_FROM_START;
  uint32_t as = uses_a ? 1u << w->shape.width : 1,
           bs = uses_b ? 1u << world_width(w->sample.f, value_of_arg(ARG_B)) : 1;
  const char *wrong = NULL;
  struct loop_execution executed;
  bool is_executed = execute_on_constants(w, &executed), leaves = false;
  world_prepare(&w->run);
  for (uint32_t k = 0; k < as * bs && !wrong; k++) {
    uint32_t stays;
    w->run.arguments[0] = (uint16_t)(k % as);
    w->run.arguments[1] = (uint16_t)(k / as);
    enum end end = execute(w, &forms, &stays, &wrong);
    if (!wrong) wrong = check_count(w, &c, end, stays, &truth);
    if (!wrong) wrong = check_executed(&executed, w, end, stays);
    leaves |= end == ENDS_LEFT;
    if (wrong && s->count.wrong++ < 5) print_case(w, &c, wrong, stays);
  }
  s->count.cases++;
  s->most.cases++;
  s->executed.cases += is_executed;
  s->executed.answerable += is_executed && leaves;
  s->executed.exact += is_executed && leaves && executed.ends;
  if (!truth.any || truth.endless) return;
  s->count.answerable++;
  s->count.exact += c.known || c.exact;
  s->most.answerable++;
  s->most.exact += c.most == truth.most;
}

/* --- instructions that compute a count
 * ---------------------------------------------------------------- */

/* What scev_expand_trip_count() emits before the loop, executed: C for all symbols. Adds to the
 * function: its last use. */
static void check_expansion(struct world *w, struct world_score *s) {
  arena_reset(&w->arena);
  struct scev_env *e = scev_init(w->sample.f, &w->sample.loops, &w->dominance, &w->arena);
  struct trip_count c = scev_trip_count(e, 1);
  struct nvm_block pre = {value_index(named(&w->sample, "pre"))};
  s->cases++;
  if (!c.taken.width) return;
  struct nvm_value v =
      scev_expand_trip_count(e, w->sample.f, 1, block_terminator(w->sample.f, pre));
  s->answerable++;
  if (value_is_none(v)) return;
  s->exact++;
  world_prepare(&w->run);
  uint32_t bits = w->shape.width, wide = world_width(w->sample.f, value_of_arg(ARG_B));
  for (uint32_t k = 0; k < 1u << (bits + wide); k++) {
    struct nvm_block from = {0}, at = w->sample.f->entry, next;
    bool defined = true, evaluated;
    w->run.arguments[0] = (uint16_t)(k & ((1u << bits) - 1));
    w->run.arguments[1] = (uint16_t)(k >> bits);
    for (; at.index && defined && from.index != pre.index && at.index != w->header.index;
         from = at, at = next)
      next = world_block(&w->run, from, at, &defined);
    if (from.index != pre.index) continue;
    uint64_t said = count_said(w, &c, &evaluated);
    uint16_t now = world_value(&w->run, v);
    if (!evaluated || now == said || s->wrong++ >= 5) continue;
    printf("expanded to %u instead of %llu: a %u, b %u\n%s\n", now, (unsigned long long)said,
           w->run.arguments[0], w->run.arguments[1], world_text(w->sample.m));
  }
}

/* --- all cases
 * ------------------------------------------------------------------------------------ */

#define ONE(x) (1u << (x))

/* Sets of shapes, as masks. */
struct family {
  const char *name;
  uint32_t starts, bounds, guards, extensions, endings, written;
};

static const struct family families[] = {
    {"numbers", ONE(IS_NUMBER), ONE(IS_NUMBER), ONE(NO_GUARD), ONE(NOT_EXTENDED), ONE(ENDS_ONCE),
     7},
    {"one symbol", ONE(IS_NUMBER), ONE(IS_ARGUMENT) | ONE(IS_MASKED), 31, ONE(NOT_EXTENDED),
     ONE(ENDS_ONCE), 1},
    {"a number as bound", ONE(IS_ARGUMENT) | ONE(IS_MASKED), ONE(IS_NUMBER), 31, ONE(NOT_EXTENDED),
     ONE(ENDS_ONCE), 1},
    {"a bound made of the start", ONE(IS_ARGUMENT) | ONE(IS_MASKED),
     ONE(IS_FROM_START) | ONE(IS_TO_START), 31, ONE(NOT_EXTENDED), ONE(ENDS_ONCE), 1},
    {"a bound beside the start", ONE(IS_ARGUMENT) | ONE(IS_SUM), ONE(IS_BESIDE_START), 15,
     ONE(NOT_EXTENDED), ONE(ENDS_ONCE), 1},
    {"two symbols", ONE(IS_ARGUMENT) | ONE(IS_MASKED) | ONE(IS_SUM),
     ONE(IS_ARGUMENT) | ONE(IS_MASKED) | ONE(IS_SUM), 31, ONE(NOT_EXTENDED), ONE(ENDS_ONCE), 7},
    {"what is known of the bound", ONE(IS_NUMBER) | ONE(IS_MASKED),
     ONE(IS_ARGUMENT) | ONE(IS_MASKED), ONE(GUARD_BOUND), ONE(NOT_EXTENDED), ONE(ENDS_ONCE), 1},
    {"extended counters", ONE(IS_NUMBER) | ONE(IS_ARGUMENT) | ONE(IS_MASKED),
     ONE(IS_NUMBER) | ONE(IS_ARGUMENT) | ONE(IS_SUM) | ONE(IS_FROM_START), 15, 6, ONE(ENDS_ONCE),
     1},
    {"two exits", 7, 55, 15, 1, ONE(ENDS_EARLY), 1},
    {"loops that must end", 7, 55, 15, 1, ONE(ENDS_FINITE), 1},
};

enum { FAMILIES = sizeof families / sizeof *families };

struct walk {
  const struct family *family;
  struct suite suite;
  struct world_score *expansions; /* looked at instead, where set */
  struct world_tables tables;
  uint64_t next, stride; /* of the cases still to be passed over */
};

/* How many numbers of each kind a shape has; the product. */
static uint64_t count_cases(const struct shape *s, uint32_t counts[9]) {
  uint32_t wide = s->width + (s->extension ? 2 : 0);
  const uint32_t c[9] = {ICMP_COUNT,
                         (1u << s->width) - 1,
                         8,
                         s->start == IS_ARGUMENT ? 1 : 1u << s->width,
                         s->start == IS_SUM ? 4 : 1,
                         s->bound == IS_ARGUMENT ? 1 : 1u << wide,
                         s->bound >= IS_SUM ? 4 : 1,
                         s->guard == GUARD_BOUND ? ICMP_COUNT : 1,
                         s->guard == GUARD_BOUND ? 1u << wide : 1};
  uint64_t product = 1;
  for (int k = 0; k < 9; k++) product *= counts[k] = c[k];
  return product;
}

static void walk_shape(struct walk *walk, struct shape shape) {
  static const uint16_t flags[] = {0, INST_NSW, INST_NUW, INST_NSW | INST_NUW};
  struct world w = {.tables = &walk->tables};
  uint32_t counts[9], v[9];
  uint64_t all = count_cases(&shape, counts), at = walk->next;
  for (; at < all; at += walk->stride) {
    uint64_t rest = at;
    for (int k = 0; k < 9; rest /= counts[k++]) v[k] = (uint32_t)(rest % counts[k]);
    struct numbers n = {v[0],
                        v[1] + 1,
                        v[2] & 4 ? OP_SUB : OP_ADD,
                        flags[v[2] & 3],
                        v[3],
                        flags[v[4]],
                        v[5],
                        flags[v[6]],
                        v[7],
                        v[8]};
    if (!w.sample.m) {
      open_world(&w, shape);
      walk->tables.m = w.sample.m;
    }
    set_case(&w, &n);
    if (walk->expansions) {
      check_expansion(&w, walk->expansions);
      close_world(&w);
    } else {
      check_case(&w, &walk->suite);
    }
  }
  walk->next = at - all;
  close_world(&w);
}

/* All shapes of a family and width; the number of cases, where none is looked at. */
static uint64_t walk_shapes(struct walk *walk, uint32_t width, bool only_count) {
  const struct family *f = walk->family;
  const uint32_t masks[] = {f->starts,  f->bounds,  f->guards,         f->extensions,
                            f->endings, f->written, (1u << SHAPES) - 1};
  uint64_t all = 0;
  uint32_t counts[9];
  for (uint32_t k = 0; k < MADE_OF * MADE_OF * GUARDS * EXTENSIONS * ENDINGS * WRITTEN * SHAPES;
       k++) {
    const uint32_t sizes[] = {MADE_OF, MADE_OF, GUARDS, EXTENSIONS, ENDINGS, WRITTEN, SHAPES};
    uint32_t v[7], rest = k;
    bool wanted = true;
    for (int d = 0; d < 7; rest /= sizes[d++]) wanted &= masks[d] >> (v[d] = rest % sizes[d]) & 1;
    if (!wanted) continue;
    struct shape s = {width, v[0], v[1], v[2], v[6], v[3], v[4], v[5]};
    all += count_cases(&s, counts);
    if (!only_count) walk_shape(walk, s);
  }
  return all;
}

/* The next number that has no factor in common with how many predicates, steps and numbers there
 * are. */
static uint64_t coprime(uint64_t n) {
  while (n > 1 && (n % 2 == 0 || n % 3 == 0 || n % 5 == 0 || n % 7 == 0 || n % 31 == 0)) n++;
  return n;
}

static void walk_family(struct walk *walk, uint32_t widest, uint64_t budget) {
  uint32_t own = ONE(IS_ARGUMENT) | ONE(IS_MASKED) | ONE(IS_SUM),
           symbols = !!(walk->family->starts & own) + !!(walk->family->bounds & own);
  for (uint32_t width = 3; width <= widest; width++) {
    uint64_t all = walk_shapes(walk, width, true), most = budget >> width * (1 + symbols);
    walk->next = 0;
    walk->stride = coprime(all / (most ? most : 1) + 1);
    walk_shapes(walk, width, false);
    if (walk->suite.count.wrong) return;
  }
}

/* Exact answers: of the cases in `make check`, and of all. */
static const struct world_golden goldens[] = {
    {"trip counts, numbers", {51328, 2147410}},
    {"upper bounds, numbers", {52015, 2169153}},
    {"trip counts, one symbol", {3615, 155031}},
    {"upper bounds, one symbol", {3052, 132920}},
    {"trip counts, a number as bound", {5339, 225943}},
    {"upper bounds, a number as bound", {5059, 222689}},
    {"trip counts, a bound made of the start", {4125, 134779}},
    {"upper bounds, a bound made of the start", {3243, 109125}},
    {"trip counts, a bound beside the start", {2667, 111470}},
    {"upper bounds, a bound beside the start", {2347, 98595}},
    {"trip counts, two symbols", {495, 34422}},
    {"upper bounds, two symbols", {341, 22776}},
    {"trip counts, what is known of the bound", {436, 27956}},
    {"upper bounds, what is known of the bound", {298, 19381}},
    {"trip counts, extended counters", {114, 6841}},
    {"upper bounds, extended counters", {103, 5833}},
    {"trip counts, two exits", {205, 12152}},
    {"upper bounds, two exits", {195, 11385}},
    {"trip counts, loops that must end", {535, 30702}},
    {"upper bounds, loops that must end", {423, 24944}},
    {"trip counts as instructions", {1866, 90540}},
    {"loops executed on constants", {116326, 4927457}},
};

static void loops_run_as_counted(void **state) {
  (void)state;
  struct world_score executed = {.name = "loops executed on constants"};
  for (int k = 0; k < FAMILIES; k++) {
    struct walk walk = {.family = &families[k]};
    char count[80], most[80];
    walk.suite.executed = executed;
    snprintf(count, sizeof count, "trip counts, %s", families[k].name);
    snprintf(most, sizeof most, "upper bounds, %s", families[k].name);
    walk.suite.count.name = count;
    walk.suite.most.name = most;
    walk_family(&walk, 6, world_is_whole() ? 100000000 : 1500000);
    world_tables_free(&walk.tables);
    world_report(&walk.suite.count, goldens, sizeof goldens / sizeof *goldens);
    world_report(&walk.suite.most, goldens, sizeof goldens / sizeof *goldens);
    executed = walk.suite.executed;
  }
  world_report(&executed, goldens, sizeof goldens / sizeof *goldens);
}

static void counts_are_expanded(void **state) {
  (void)state;
  struct world_score s = {.name = "trip counts as instructions"};
  for (int k = 0; k < FAMILIES; k++) {
    struct walk walk = {.family = &families[k], .expansions = &s};
    walk_family(&walk, 4, world_is_whole() ? 2000000 : 20000);
    world_tables_free(&walk.tables);
  }
  world_report(&s, goldens, sizeof goldens / sizeof *goldens);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loops_run_as_counted),
                                     cmocka_unit_test(counts_are_expanded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
