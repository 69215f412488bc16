/* Forms of scalar evolution and implied conditions in small worlds: sums, products and extensions
 * of two symbols, and of the counter of a loop, with all flags, against the values that they have;
 * and each pair of a condition that is known and one that is asked for. */
#include "small_world.h"

/* Exact answers: of the cases in `make check`, and of all. */
static const struct world_golden goldens[] = {
    {"forms of sums", {29264, 1232462}},
    {"forms of sums of symbols", {33251, 1399268}},
    {"forms of products of symbols", {31828, 1339726}},
    {"forms of counters", {47828, 2014134}},
    {"forms of counters from a number", {30456, 1279712}},
    {"forms of counters that move by a symbol", {27560, 1164152}},
    {"a comparison with a number", {1032, 24772}},
    {"a number compared, negated", {1031, 24431}},
    {"a comparison of two symbols", {16, 313}},
    {"a conjunction", {792, 20189}},
    {"a disjunction", {1317, 32955}},
    {"a select as conjunction", {639, 16656}},
    {"a select as disjunction", {645, 16285}},
    {"two branches", {819, 20056}},
    {"two branches, one of them by numbers", {937, 22753}},
};

/* --- forms
 * ---------------------------------------------------------------------------------------- */

/* A function whose ops are chosen anew for each case. `%x`, `%y` are symbols; %ca … %cd stand for
 * numbers. */
struct template {
  const char *name;
  const char *text; /* W: the width, V: two more */
};

static const struct template templates[] = {
    {"forms of sums",
     "define void @f(iW %x, iW %y, iW %ca, iW %cb, iV %cc) {\n  %p = add iW %x, %ca\n  %q = add iW "
     "%p, %cb\n"
     "  %r = zext iW %q to iV\n  %s = add iV %r, %cc\n  %t = trunc iV %s to iW\n  ret void\n}\n"},
    {"forms of sums of symbols",
     "define void @f(iW %x, iW %y, iW %ca, iW %cb, iV %cc) {\n  %p = add iW %x, %y\n  %q = add iW "
     "%p, %cb\n  %u = add iW %q, %x\n"
     "  %r = zext iW %u to iV\n  %v = zext iW %y to iV\n  %s = add iV %r, %v\n  ret void\n}\n"},
    {"forms of products of symbols",
     "define void @f(iW %x, iW %y, iW %ca, iW %cb, iV %cc) {\n  %p = add iW %x, %ca\n  %q = add iW "
     "%y, %cb\n  %product = mul iW %p, %q\n"
     "  %r = zext iW %product to iV\n  %v = zext iW %y to iV\n  %s = add iV %r, %v\n  ret "
     "void\n}\n"},
    {"forms of counters",
     "define void @f(iW %x, iW %y, iW %ca, iW %cb, iV %cc, iW %cd) {\nentry:\n  %b = and iW %y, "
     "3\n  br label %loop\n"
     "loop:\n  %i = phi iW [%x, %entry], [%n, %loop]\n  %d = add iW %i, %ca\n"
     "  %e = zext iW %d to iV\n  %g = add iV %e, %cc\n  %w = zext iW %i to iV\n  %n = add iW %i, "
     "%cb\n  %z = zext iW %n to iV\n"
     "  %t = icmp eq iW %n, %y\n  br i1 %t, label %loop, label %out\nout:\n  ret void\n}\n"},
    {"forms of counters from a number",
     "define void @f(iW %x, iW %y, iW %ca, iW %cb, iV %cc, iW %cd) {\nentry:\n  br label %loop\n"
     "loop:\n  %i = phi iW [%cd, %entry], [%n, %latch]\n  %w = zext iW %i to iV\n  %t = icmp eq iW "
     "%i, %ca\n"
     "  br i1 %t, label %latch, label %out\nlatch:\n  %d = add iW %i, %x\n  %e = zext iW %d to "
     "iV\n  %n = add iW %i, %cb\n"
     "  br label %loop\nout:\n  ret void\n}\n"},
    {"forms of counters that move by a symbol",
     "define void @f(iW %x, iW %y, iW %ca, iW %cb, iV %cc, iW %cd) {\nentry:\n  %g = icmp eq iW "
     "%cd, %y\n  br i1 %g, label %pre, label %out\n"
     "pre:\n  br label %loop\n"
     "loop:\n  %i = phi iW [%cd, %pre], [%n, %loop]\n  %w = zext iW %i to iV\n  %m = add iW %i, "
     "%x\n  %n = add iW %m, %cb\n"
     "  %z = zext iW %n to iV\n  %t = icmp eq iW %n, %y\n  br i1 %t, label %loop, label "
     "%out\nout:\n  ret void\n}\n"},
};

enum { TEMPLATES = sizeof templates / sizeof *templates, ARG_FIRST_NUMBER = 2, MAX_USES = 16 };

struct world {
  uint32_t width;
  struct loop_sample sample;
  struct dominance dominance;
  struct arena arena;
  struct world_run run;
  struct {
    struct nvm_inst_id inst;
    uint32_t operand, argument;
  } uses[MAX_USES];
  uint32_t use_count;
};

static void open_world(struct world *w, const char *text, uint32_t width,
                       struct world_tables *tables) {
  char written[2000];
  uint32_t at = 0;
  for (const char *c = text; *c; c++) {
    bool number = c != text && c[-1] == 'i' && (*c == 'W' || *c == 'V');
    at += (uint32_t)sprintf(written + at, number ? "%u" : "%c",
                            number ? width + (*c == 'V' ? 2 : 0) : (uint32_t)*c);
  }
  *w = (struct world){.width = width, .sample = loop_sample(written)};
  w->run = (struct world_run){.tables = tables, .f = w->sample.f};
  tables->m = w->sample.m;
  assert_true(dominance_compute(&w->dominance, w->sample.f, &w->sample.m->arena));
  arena_init_reused(&w->arena, nvm_default_allocator);
  for (uint32_t k = 1; k < w->sample.f->insts.count; k++) {
    const struct nvm_inst *i = function_inst(w->sample.f, (struct nvm_inst_id){k});
    for (uint32_t o = 0; o < i->operand_count; o++) {
      struct nvm_value v = inst_operand(w->sample.f, i, o);
      if (value_kind(v) != VALUE_ARG || value_index(v) < ARG_FIRST_NUMBER) continue;
      assert_true(w->use_count < MAX_USES);
      w->uses[w->use_count].inst = (struct nvm_inst_id){k};
      w->uses[w->use_count].operand = o;
      w->uses[w->use_count++].argument = value_index(v);
    }
  }
}

static void close_world(struct world *w) {
  arena_free(&w->arena);
  module_destroy(w->sample.m);
}

/* The next number below n of those that a case is made of: a pseudo-random one. */
static uint32_t draw(uint64_t *state, uint32_t n) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (uint32_t)((*state >> 20) % n);
}

/* Chooses ops, flags, predicates and numbers. */
static void set_case(struct world *w, uint64_t seed) {
  static const enum op sums[] = {OP_ADD, OP_ADD, OP_ADD, OP_SUB, OP_SUB, OP_MUL, OP_SHL, OP_OR};
  static const uint16_t wraps[] = {0, INST_NUW, INST_NSW, INST_NUW | INST_NSW};
  struct nvm_function *f = w->sample.f;
  uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  uint32_t numbers[8];
  for (int k = 0; k < 3; k++) (void)draw(&state, 2);
  for (int k = 0; k < 8; k++) numbers[k] = draw(&state, 1u << (w->width + 2));
  for (uint32_t k = 0; k < w->use_count; k++) {
    struct nvm_type t = value_type(f, value_of_arg(w->uses[k].argument));
    uint32_t bits = type_scalar_bits(&f->module->types, t);
    inst_set_operand(f, w->uses[k].inst, w->uses[k].operand,
                     const_int(f->module, t, evalint_zext(bits, numbers[w->uses[k].argument])));
  }
  for (uint32_t k = 1; k < f->insts.count; k++) {
    struct nvm_inst *i = function_inst(f, (struct nvm_inst_id){k});
    const char *name = module_text(f->module, f->names.data[k]).bytes;
    bool is_next = strcmp(name, "n") == 0, is_product = strcmp(name, "product") == 0;
    if (i->op >= OP_FIRST_INT && i->op <= OP_LAST_INT &&
        world_width(f, value_of_inst((struct nvm_inst_id){k})) > 1) {
      i->op = is_product ? OP_MUL : (uint8_t)sums[draw(&state, is_next ? 5 : 8)];
      i->flags = i->op == OP_OR ? INST_DISJOINT : wraps[draw(&state, 4)];
    } else if (i->op == OP_ZEXT || i->op == OP_SEXT) {
      i->op = draw(&state, 2) ? OP_ZEXT : OP_SEXT;
      i->flags = i->op == OP_ZEXT && draw(&state, 3) == 0 ? INST_NNEG : 0;
    } else if (i->op == OP_TRUNC) {
      i->flags = wraps[draw(&state, 4)];
    } else if (i->op == OP_ICMP) {
      i->aux = draw(&state, ICMP_COUNT);
    }
  }
  world_prepare(&w->run);
}

struct forms {
  struct scev of[WORLD_INSTS];
  const char *wrong;
  struct nvm_value at;
};

static void execute(struct world *w, struct forms *forms) {
  struct nvm_block from = {0}, at = w->sample.f->entry, next;
  uint32_t iteration = 0, steps = 0;
  bool defined = true;
  for (; at.index && steps < 2u << w->width && defined; from = at, at = next, steps++) {
    bool header = w->sample.loops.count && w->sample.loops.data[1].header.index == at.index;
    next = world_block(&w->run, from, at, &defined);
    FOR_EACH_INST (w->sample.f, at, i) {
      if (forms->wrong || !forms->of[i.index].width) continue;
      forms->wrong = world_check_form(&w->run, &forms->of[i.index], value_of_inst(i), iteration);
      forms->at = value_of_inst(i);
    }
    if (w->sample.loops.count && !header && at.index == w->sample.loops.data[1].latch.index)
      iteration++;
    else if (header && at.index == w->sample.loops.data[1].latch.index) iteration++;
  }
}

/* A form is exact that says more than that the value is itself. */
static void check_forms(struct world *w, struct world_score *s, bool splits_products) {
  struct forms forms = {.wrong = NULL};
  arena_reset(&w->arena);
  struct scev_env *e = scev_init(w->sample.f, &w->sample.loops, &w->dominance, &w->arena);
  if (splits_products) scev_split_products(e);
  for (uint32_t k = 1; k < w->sample.f->insts.count; k++) {
    struct nvm_value v = value_of_inst((struct nvm_inst_id){k});
    if (!type_is_int(&w->sample.m->types, value_type(w->sample.f, v)) ||
        world_width(w->sample.f, v) == 1)
      continue;
    forms.of[k] = scev_of(e, v);
    bool symbol = forms.of[k].count == 1 && value_equal(forms.of[k].terms[0].symbol, v);
    s->answerable++;
    s->exact += !symbol;
  }
  s->cases++;
  for (uint32_t k = 0; k < 1u << 2 * w->width && !forms.wrong; k++) {
    w->run.arguments[0] = (uint16_t)(k & ((1u << w->width) - 1));
    w->run.arguments[1] = (uint16_t)(k >> w->width);
    execute(w, &forms);
  }
  if (!forms.wrong || s->wrong++ >= 5) return;
  printf("%s: %%%s, x %u, y %u\n%s\n", forms.wrong, name_of(&w->sample, forms.at),
         w->run.arguments[0], w->run.arguments[1], world_text(w->sample.m));
}

static void forms_are_their_values(void **state) {
  (void)state;
  for (int k = 0; k < TEMPLATES; k++) {
    struct world_score s = {.name = templates[k].name};
    struct world_tables tables = {.count = 0};
    uint64_t cases = world_is_whole() ? 100000 : 2500;
    for (uint32_t width = 3; width <= (world_is_whole() ? 5 : 4); width++) {
      struct world w;
      open_world(&w, templates[k].text, width, &tables);
      for (uint64_t n = 0; n < cases >> 2 * (width - 3) && !s.wrong; n++) {
        set_case(&w, n);
        check_forms(&w, &s, false);
        check_forms(&w, &s, true);
      }
      close_world(&w);
    }
    world_tables_free(&tables);
    world_report(&s, goldens, sizeof goldens / sizeof *goldens);
  }
}

/* --- implied conditions
 * ---------------------------------------------------------------------------- */

/* Two conditions, or one, that lead to block %yes or %no. */
struct condition_shape {
  const char *name, *text;
};

#define CONDITION_HEAD \
  "define void @f(iW %x, iW %y, iW %ca, iW %cb, iW %cc, iW %cd) {\n  %u = add iW %x, %ca\n"
#define CONDITION_TAIL "yes:\n  ret void\nno:\n  ret void\n}\n"

static const struct condition_shape conditions[] = {
    {"a comparison with a number", CONDITION_HEAD
     "  %c = icmp eq iW %u, %cb\n  br i1 %c, label %yes, label %no\n" CONDITION_TAIL},
    {"a number compared, negated",
     CONDITION_HEAD "  %c = icmp eq iW %cb, %u\n  %n = xor i1 %c, 1\n  br i1 %n, label %yes, label "
                    "%no\n" CONDITION_TAIL},
    {"a comparison of two symbols",
     CONDITION_HEAD "  %v = add iW %y, %cb\n  %c = icmp eq iW %u, %v\n  br i1 %c, label %yes, "
                    "label %no\n" CONDITION_TAIL},
    {"a conjunction",
     CONDITION_HEAD "  %c = icmp eq iW %u, %cb\n  %d = icmp eq iW %x, %y\n  %b = and i1 %c, %d\n  "
                    "br i1 %b, label %yes, label %no\n" CONDITION_TAIL},
    {"a disjunction",
     CONDITION_HEAD "  %c = icmp eq iW %x, %cb\n  %d = icmp eq iW %y, %x\n  %b = or i1 %c, %d\n  "
                    "br i1 %b, label %yes, label %no\n" CONDITION_TAIL},
    {"a select as conjunction",
     CONDITION_HEAD "  %c = icmp eq iW %x, %cb\n  %d = icmp eq iW %u, %y\n  %b = select i1 %c, i1 "
                    "%d, i1 0\n  br i1 %b, label %yes, label %no\n" CONDITION_TAIL},
    {"a select as disjunction",
     CONDITION_HEAD "  %c = icmp eq iW %x, %cb\n  %d = icmp eq iW %u, %y\n  %b = select i1 %c, i1 "
                    "1, i1 %d\n  br i1 %b, label %yes, label %no\n" CONDITION_TAIL},
    {"two branches",
     CONDITION_HEAD "  %c = icmp eq iW %u, %cb\n  br i1 %c, label %mid, label %no\nmid:\n  %d = "
                    "icmp eq iW %y, %x\n  br i1 %d, label %no, label %yes\n" CONDITION_TAIL},
    {"two branches, one of them by numbers",
     CONDITION_HEAD "  %c = icmp eq iW %x, %cb\n  br i1 %c, label %no, label %mid\nmid:\n  %d = "
                    "icmp eq iW %x, %cc\n  br i1 %d, label %yes, label %no\n" CONDITION_TAIL},
};

enum { CONDITIONS = sizeof conditions / sizeof *conditions, WORDS = 4, BLOCKS = 2 };

/* A set of pairs (x, y). */
struct pairs {
  uint64_t words[WORDS];
};

static void add_pair(struct pairs *p, uint32_t k) { p->words[k / 64] |= UINT64_C(1) << k % 64; }
static bool has_pairs(const struct pairs *p) {
  return p->words[0] || p->words[1] || p->words[2] || p->words[3];
}
static bool is_subset(const struct pairs *a, const struct pairs *b) {
  bool yes = true;
  for (int k = 0; k < WORDS; k++) yes &= !(a->words[k] & ~b->words[k]);
  return yes;
}

/* The pairs for which `x + m predicate y + n` holds, or `x + m predicate n` where no symbol is
 * asked for. */
static struct pairs pairs_where(struct world_tables *t, uint32_t width, enum icmp_predicate p,
                                uint32_t m, uint32_t n, bool symbol) {
  const uint16_t *table = world_table(t, OP_ICMP, 0, p, width, 1);
  struct pairs out = {{0}};
  uint32_t mask = (1u << width) - 1;
  for (uint32_t k = 0; k < 1u << 2 * width; k++) {
    uint32_t a = ((k & mask) + m) & mask, b = ((symbol ? k >> width : 0) + n) & mask;
    if (table[b << 8 | a]) add_pair(&out, k);
  }
  return out;
}

/* The pairs that lead to each of the two blocks. */
static void find_reached(struct world *w, const struct nvm_block to[BLOCKS],
                         struct pairs reached[BLOCKS]) {
  memset(reached, 0, BLOCKS * sizeof *reached);
  for (uint32_t k = 0; k < 1u << 2 * w->width; k++) {
    struct nvm_block from = {0}, at = w->sample.f->entry, next;
    bool defined;
    w->run.arguments[0] = (uint16_t)(k & ((1u << w->width) - 1));
    w->run.arguments[1] = (uint16_t)(k >> w->width);
    for (; at.index; from = at, at = next) {
      for (int b = 0; b < BLOCKS; b++)
        if (at.index == to[b].index) add_pair(&reached[b], k);
      next = world_block(&w->run, from, at, &defined);
    }
  }
}

static void ask(struct world *w, struct world_score *s, uint64_t seed,
                const struct nvm_block to[BLOCKS], const struct pairs reached[BLOCKS],
                struct scev_env *e) {
  uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 99;
  for (int k = 0; k < 4; k++) (void)draw(&state, 2);
  uint32_t p = draw(&state, ICMP_COUNT), m = draw(&state, 1u << w->width),
           n = draw(&state, 1u << w->width), b = draw(&state, BLOCKS);
  bool symbol = draw(&state, 2), plain = draw(&state, 2);
  if (plain) m = 0;
  if (plain && symbol) n = 0;
  struct scev left = scev_of(e, value_of_arg(0)), right = scev_of(e, value_of_arg(1));
  struct scev number = {.constant = evalint_sext(w->width, n), .width = w->width};
  left.constant = evalint_sext(w->width, m);
  right.constant = number.constant;
  bool told = scev_holds(e, to[b], (enum icmp_predicate)p, left, symbol ? right : number);
  struct pairs where = pairs_where(w->run.tables, w->width, (enum icmp_predicate)p, m, n, symbol);
  bool truth = is_subset(&reached[b], &where);
  s->cases++;
  if (!has_pairs(&reached[b])) return;
  s->answerable += truth;
  s->exact += told && truth;
  if (!told || truth || s->wrong++ >= 5) return;
  printf("not implied in block %d: x + %u %s %s%u\n%s\n", b, m, icmp_names[p], symbol ? "y + " : "",
         n, world_text(w->sample.m));
}

static void conditions_imply(void **state) {
  (void)state;
  for (int k = 0; k < CONDITIONS; k++) {
    struct world_score s = {.name = conditions[k].name};
    struct world_tables tables = {.count = 0};
    for (uint32_t width = 3; width <= 4; width++) {
      struct world w;
      open_world(&w, conditions[k].text, width, &tables);
      struct nvm_block to[BLOCKS] = {{value_index(named(&w.sample, "yes"))},
                                     {value_index(named(&w.sample, "no"))}};
      for (uint64_t n = 0; n < (world_is_whole() ? 10000u : 400u); n++) {
        struct pairs reached[BLOCKS];
        set_case(&w, n);
        find_reached(&w, to, reached);
        arena_reset(&w.arena);
        struct scev_env *e = scev_init(w.sample.f, &w.sample.loops, &w.dominance, &w.arena);
        for (uint64_t question = 0; question < 20; question++)
          ask(&w, &s, n * 64 + question, to, reached, e);
      }
      close_world(&w);
    }
    world_tables_free(&tables);
    world_report(&s, goldens, sizeof goldens / sizeof *goldens);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forms_are_their_values),
                                     cmocka_unit_test(conditions_imply)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
