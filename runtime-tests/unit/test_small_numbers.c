/* Known bits and ranges in small worlds: every op on integers of 3 to 6 bits, whose operands are
 * known to have certain bits or to lie in an interval, against all numbers that these can be. The
 * best answer is what the results have in common. */
#include "small_world.h"

#include "ir/evalintrinsic.h"
#include "analysis/known_bits.h"
#include "analysis/ranges.h"

/* --- what is asked
 * --------------------------------------------------------------------------------- */

/* An op with flags, a comparison, a cast to another width, or an intrinsic. */
struct question {
  const char *name;
  enum op op;
  uint16_t flags;
  uint32_t aux; /* the predicate */
  int to;       /* width of the result, less that of the operands; 1 of comparisons */
  const char *intrinsic;
  enum intrinsic_id id;
  const char *more; /* arguments of the intrinsic after these */
  uint32_t operands;
};

enum { MAX_QUESTIONS = 80 };

static uint32_t add_question(struct question *q, uint32_t count, struct question one) {
  assert_true(count < MAX_QUESTIONS);
  q[count] = one;
  return count + 1;
}

static uint32_t all_questions(struct question *q) {
  static const struct {
    const char *name;
    enum intrinsic_id id;
    uint32_t operands;
    const char *more;
  } intrinsics[] = {{"umin", INTRINSIC_umin, 2, ""},       {"umax", INTRINSIC_umax, 2, ""},
                    {"smin", INTRINSIC_smin, 2, ""},       {"smax", INTRINSIC_smax, 2, ""},
                    {"ctpop", INTRINSIC_ctpop, 1, ""},     {"ctlz", INTRINSIC_ctlz, 1, ", i1 0"},
                    {"cttz", INTRINSIC_cttz, 1, ", i1 0"}, {"abs", INTRINSIC_abs, 1, ", i1 0"}};
  uint32_t count = 0;
  for (enum op op = OP_FIRST_INT; op <= OP_LAST_INT; op++) {
    uint32_t may = op_table[op].flags;
    for (uint16_t flags = 0; flags < 16; flags++) {
      uint16_t allowed =
          (uint16_t)((may & OPF_WRAP ? INST_NUW | INST_NSW : 0) |
                     (may & OPF_EXACT ? INST_EXACT : 0) | (may & OPF_DISJOINT ? INST_DISJOINT : 0));
      if (!(flags & ~allowed))
        count = add_question(
            q, count,
            (struct question){
                .name = op_table[op].keyword, .op = op, .flags = flags, .operands = 2});
    }
  }
  for (uint16_t flags = 0; flags < 4; flags++)
    count =
        add_question(q, count,
                     (struct question){
                         .name = "trunc", .op = OP_TRUNC, .flags = flags, .to = -1, .operands = 1});
  count = add_question(q, count,
                       (struct question){.name = "zext", .op = OP_ZEXT, .to = 2, .operands = 1});
  count = add_question(
      q, count,
      (struct question){.name = "zext", .op = OP_ZEXT, .flags = INST_NNEG, .to = 2, .operands = 1});
  count = add_question(q, count,
                       (struct question){.name = "sext", .op = OP_SEXT, .to = 2, .operands = 1});
  count =
      add_question(q, count, (struct question){.name = "select", .op = OP_SELECT, .operands = 2});
  for (uint32_t p = 0; p < ICMP_COUNT; p++)
    count = add_question(
        q, count,
        (struct question){.name = "icmp", .op = OP_ICMP, .aux = p, .to = 1, .operands = 2});
  for (uint32_t k = 0; k < sizeof intrinsics / sizeof *intrinsics; k++)
    count = add_question(q, count,
                         (struct question){.name = intrinsics[k].name,
                                           .op = OP_CALL,
                                           .intrinsic = intrinsics[k].name,
                                           .id = intrinsics[k].id,
                                           .more = intrinsics[k].more,
                                           .operands = intrinsics[k].operands});
  return count;
}

/* --- the world
 * ------------------------------------------------------------------------------------- */

struct world {
  struct question q;
  uint32_t width, to;
  struct loop_sample sample;
  struct nvm_inst_id masks[2][2], result; /* and, or; the op */
  uint32_t *results; /* by operands: second << width | first; bits of select's other arm << 16 */
};

static struct nvm_inst_id inst_of(const struct world *w, const char *name) {
  return (struct nvm_inst_id){value_index(named(&w->sample, name))};
}

/* What the op computes, by ir/eval.h. */
static void fill_results(struct world *w) {
  struct nvm_module *m = w->sample.m;
  struct nvm_type from = type_int(&m->types, w->width), to = type_int(&m->types, w->to);
  w->results = calloc(1u << 2 * w->width, sizeof *w->results);
  assert_non_null(w->results);
  for (uint32_t k = 0; k < 1u << 2 * w->width; k++) {
    struct eval_lane in[3] = {{k & ((1u << w->width) - 1), false},
                              {k >> w->width, false},
                              {0, false}},
                     out[2];
    bool defined;
    if (w->q.op == OP_SELECT) defined = true, out[0] = in[0];
    else if (w->q.op != OP_CALL)
      defined = eval_lane(m, w->q.op, w->q.flags, w->q.aux, to, from, in, out);
    else {
      if (w->q.operands == 1) in[1] = (struct eval_lane){0, false};
      defined = eval_intrinsic_lane(m, w->q.id, 0, to, from, in, 2, out);
      assert_true(defined);
    }
    w->results[k] = !defined || out[0].poison ? WORLD_POISON : (uint32_t)out[0].bits;
  }
}

static void open_world(struct world *w, struct question q, uint32_t width) {
  char text[1500], op[200], types[60];
  *w = (struct world){
      .q = q, .width = width, .to = q.op == OP_ICMP ? 1 : (uint32_t)((int)width + q.to)};
  sprintf(types, "i%u", width);
  if (q.op == OP_CALL)
    sprintf(op, "call i%u @llvm.%s.i%u(i%u %%a1%s%s%s)", width, q.intrinsic, width, width,
            q.operands == 2 ? ", i" : "", q.operands == 2 ? types + 1 : "",
            q.operands == 2 ? " %b1" : q.more);
  else if (q.op == OP_SELECT) sprintf(op, "select i1 %%c, i%u %%a1, i%u %%b1", width, width);
  else if (q.operands == 1) sprintf(op, "%s i%u %%a1 to i%u", q.name, width, w->to);
  else sprintf(op, "%s%s i%u %%a1, %%b1", q.name, q.op == OP_ICMP ? " eq" : "", width);
  *text = 0;
  if (q.op == OP_CALL)
    sprintf(text, "declare i%u @llvm.%s.i%u(i%u%s%s%s)\n", width, q.intrinsic, width, width,
            q.operands == 2 ? ", " : "", q.operands == 2 ? types : "", *q.more ? ", i1" : "");
  sprintf(text + strlen(text),
          "define void @f(i%u %%a, i%u %%b, i1 %%c) {\n  %%a0 = and i%u %%a, 1\n  %%a1 = or i%u "
          "%%a0, 1\n  %%b0 = and i%u %%b, 1\n"
          "  %%b1 = or i%u %%b0, 1\n  %%r = %s\n  ret void\n}\n",
          width, width, width, width, width, width, op);
  w->sample = (struct loop_sample){.m = new_module()};
  struct diag_sink sink;
  diag_sink_init(&sink, &w->sample.m->arena, 0);
  assert_int_equal(parse_module(w->sample.m, text, strlen(text), "test", 0, &sink), NVM_OK);
  w->sample.f = w->sample.m->functions.data[w->sample.m->functions.count - 1];
  w->masks[0][0] = inst_of(w, "a0");
  w->masks[0][1] = inst_of(w, "a1");
  w->masks[1][0] = inst_of(w, "b0");
  w->masks[1][1] = inst_of(w, "b1");
  w->result = inst_of(w, "r");
  struct nvm_inst *r = function_inst(w->sample.f, w->result);
  if (q.op != OP_CALL) r->flags = q.flags;
  if (q.op == OP_ICMP) r->aux = q.aux;
  fill_results(w);
}

static void close_world(struct world *w) {
  free(w->results);
  module_destroy(w->sample.m);
}

/* --- what is known of an operand
 * ------------------------------------------------------------------- */

/* Every assignment of 0, 1 and unknown to the bits, or every interval read unsigned, then every one
 * read signed. */
struct fact {
  uint32_t zero, one; /* known bits */
  struct range range;
  uint64_t members; /* a bit for each number */
};

static uint32_t bit_facts(uint32_t width, struct fact *out) {
  uint32_t count = 0;
  for (uint32_t zero = 0; zero < 1u << width; zero++)
    for (uint32_t one = 0; one < 1u << width; one++) {
      if (zero & one) continue;
      struct fact f = {.zero = zero, .one = one};
      for (uint32_t v = 0; v < 1u << width; v++)
        if (!(v & zero) && (v & one) == one) f.members |= UINT64_C(1) << v;
      out[count++] = f;
    }
  return count;
}

static uint32_t range_facts(uint32_t width, struct fact *out) {
  uint32_t count = 0;
  int64_t half = INT64_C(1) << (width - 1);
  for (int is_signed = 0; is_signed < 2; is_signed++)
    for (int64_t low = 0; low < 2 * half; low++)
      for (int64_t high = low; high < 2 * half; high++) {
        struct fact f = {.range = is_signed ? range_signed(width, low - half, high - half)
                                            : range_unsigned(width, (uint64_t)low, (uint64_t)high)};
        for (uint32_t v = 0; v < 1u << width; v++) {
          int64_t s = evalint_sext(width, v);
          if (is_signed ? s >= low - half && s <= high - half : v >= low && v <= high)
            f.members |= UINT64_C(1) << v;
        }
        out[count++] = f;
      }
  return count;
}

/* --- the best answers
 * ------------------------------------------------------------------------------ */

struct best {
  uint64_t zero, one;
  struct range range;
  bool any;
};

static void add_result(struct best *b, uint32_t width, uint32_t v) {
  int64_t s = evalint_sext(width, v);
  if (!b->any) *b = (struct best){~UINT64_C(0), ~UINT64_C(0), {width, v, v, s, s}, true};
  b->zero &= ~(uint64_t)v;
  b->one &= v;
  if (v < b->range.low) b->range.low = v;
  if (v > b->range.high) b->range.high = v;
  if (s < b->range.least) b->range.least = s;
  if (s > b->range.most) b->range.most = s;
}

static struct best best_answer(const struct world *w, const struct fact *a, const struct fact *b) {
  struct best best = {0, 0, {0, 0, 0, 0, 0}, false};
  for (uint64_t xs = a->members; xs; xs &= xs - 1)
    for (uint64_t ys = b->members; ys; ys &= ys - 1) {
      uint32_t x = (uint32_t)__builtin_ctzll(xs), y = (uint32_t)__builtin_ctzll(ys),
               r = w->results[y << w->width | x];
      if (r != WORLD_POISON) add_result(&best, w->to, r);
      if (w->q.op == OP_SELECT) add_result(&best, w->to, y);
    }
  best.zero &= evalint_mask(w->to);
  return best;
}

static bool range_covers(struct range r, struct range best) {
  return r.width == best.width && r.low <= best.low && r.high >= best.high &&
         r.least <= best.least && r.most >= best.most;
}

static void note_wrong(struct world_score *s, const struct world *w, const struct fact *a,
                       const struct fact *b) {
  if (s->wrong++ >= 5) return;
  printf(
      "%s, flags %u, aux %u, width %u: bits %x/%x [%llu, %llu] [%lld, %lld] and %x/%x [%llu, %llu] "
      "[%lld, %lld]\n",
      w->q.name, w->q.flags, w->q.aux, w->width, a->zero, a->one, (unsigned long long)a->range.low,
      (unsigned long long)a->range.high, (long long)a->range.least, (long long)a->range.most,
      b->zero, b->one, (unsigned long long)b->range.low, (unsigned long long)b->range.high,
      (long long)b->range.least, (long long)b->range.most);
}

/* --- known bits
 * ------------------------------------------------------------------------------------ */

static void set_bits(struct world *w, uint32_t operand, const struct fact *a) {
  struct nvm_type t = type_int(&w->sample.m->types, w->width);
  inst_set_operand(w->sample.f, w->masks[operand][0], 1,
                   const_int(w->sample.m, t, ~a->zero & evalint_mask(w->width)));
  inst_set_operand(w->sample.f, w->masks[operand][1], 1, const_int(w->sample.m, t, a->one));
}

static void check_bits(struct world *w, struct world_score *s, struct world_score *ranges,
                       const struct fact *a, const struct fact *b) {
  set_bits(w, 0, a);
  set_bits(w, 1, b);
  struct best best = best_answer(w, a, b);
  struct nvm_value v = value_of_inst(w->result);
  struct known_bits k = known_bits_of(w->sample.f, v);
  struct range r = range_of(w->sample.f, v);
  s->cases++;
  ranges->cases++;
  if (!best.any) return;
  s->answerable++;
  ranges->answerable++;
  bool good = k.width == w->to && !(k.zero & ~best.zero) && !(k.one & ~best.one);
  if (!good || !range_covers(r, best.range)) note_wrong(s, w, a, b);
  s->exact += k.zero == best.zero && k.one == best.one;
  ranges->exact += range_equal(r, best.range);
}

/* --- ranges
 * ---------------------------------------------------------------------------------------- */

struct operands {
  const struct fact *of[2];
  struct nvm_value first;
};

static struct range range_of_operand_of(void *state, struct nvm_value v) {
  const struct operands *o = state;
  return o->of[!value_equal(v, o->first)]->range;
}

static void check_ranges(struct world *w, struct world_score *s, const struct fact *a,
                         const struct fact *b) {
  struct operands o = {{a, b}, value_of_inst(w->masks[0][1])};
  struct best best = best_answer(w, a, b);
  struct range r =
      range_of_inst(w->sample.f, function_inst(w->sample.f, w->result), range_of_operand_of, &o);
  s->cases++;
  if (!best.any) return;
  s->answerable++;
  if (!range_covers(r, best.range)) note_wrong(s, w, a, b);
  s->exact += range_equal(r, best.range);
}

/* Which wrap flags the op may have: exact where each flag that holds for all numbers is found. */
static void check_flags(struct world *w, struct world_score *s, const struct fact *a,
                        const struct fact *b) {
  uint16_t found = range_no_wrap(w->q.op, a->range, b->range), best = INST_NUW | INST_NSW;
  struct nvm_type t = type_int(&w->sample.m->types, w->width);
  for (uint64_t xs = a->members; xs; xs &= xs - 1)
    for (uint64_t ys = b->members; ys; ys &= ys - 1)
      for (uint16_t flag = INST_NUW; flag <= INST_NSW; flag++) {
        struct eval_lane in[2] = {{(nvm_u128)__builtin_ctzll(xs), false},
                                  {(nvm_u128)__builtin_ctzll(ys), false}},
                         out;
        if ((best & flag) &&
            (!eval_lane(w->sample.m, w->q.op, flag, 0, t, t, in, &out) || out.poison))
          best &= (uint16_t)~flag;
      }
  s->cases++;
  s->answerable++;
  if (found & ~best) note_wrong(s, w, a, b);
  s->exact += found == best;
}

/* --- comparisons and sets
 * --------------------------------------------------------------------------- */

static struct range hull(uint32_t width, uint64_t members) {
  struct best b = {0, 0, {0, 0, 0, 0, 0}, false};
  for (; members; members &= members - 1) add_result(&b, width, (uint32_t)__builtin_ctzll(members));
  return b.range;
}

static void check_compare(struct world *w, struct world_score *compare, struct world_score *where,
                          const struct fact *a, const struct fact *b) {
  bool some[2] = {false, false};
  uint64_t xs_where = 0;
  for (uint32_t x = 0; x < 1u << w->width; x++)
    for (uint64_t ys = b->members; ys; ys &= ys - 1) {
      uint32_t holds = w->results[(uint32_t)__builtin_ctzll(ys) << w->width | x];
      if (holds) xs_where |= UINT64_C(1) << x;
      if (a->members >> x & 1) some[holds] = true;
    }
  int best = some[0] && some[1] ? -1 : some[1],
      found = range_compare((enum icmp_predicate)w->q.aux, a->range, b->range);
  compare->cases++;
  compare->answerable++;
  if (found >= 0 && found != best) note_wrong(compare, w, a, b);
  compare->exact += found == best;
  struct range r = range_where((enum icmp_predicate)w->q.aux, b->range),
               h = hull(w->width, xs_where);
  where->cases++;
  if (!xs_where) return;
  where->answerable++;
  if (!range_covers(r, h)) note_wrong(where, w, a, b);
  where->exact += range_equal(r, h);
}

static void check_sets(struct world *w, struct world_score *s, const struct fact *a,
                       const struct fact *b) {
  struct range both = range_both(a->range, b->range), either = range_either(a->range, b->range);
  struct range h = hull(w->width, a->members | b->members),
               inner = hull(w->width, a->members & b->members);
  s->cases++;
  s->answerable++;
  if (!range_covers(either, h) || (a->members & b->members && !range_covers(both, inner)))
    note_wrong(s, w, a, b);
  s->exact += range_equal(either, h) &&
              (a->members & b->members ? range_equal(both, inner) : range_is_empty(both));
}

/* --- all cases
 * ------------------------------------------------------------------------------------- */

enum { MAX_FACTS = 1 << 12, MAX_SCORES = 64 };

struct scores {
  struct world_score data[MAX_SCORES];
  uint32_t count;
};

static struct world_score *score_of(struct scores *s, const char *name) {
  uint32_t k = 0;
  while (k < s->count && strcmp(s->data[k].name, name) != 0) k++;
  assert_true(k < MAX_SCORES);
  if (k == s->count) s->data[s->count++].name = name;
  return &s->data[k];
}

/* Pairs of facts; every n-th, so that there are about as many as `budget` says. */
typedef void visit(struct world *w, struct scores *s, const struct fact *a, const struct fact *b);

static void for_all_pairs(struct question q, uint32_t width,
                          uint32_t facts(uint32_t width, struct fact *out), uint64_t budget,
                          visit *visit, struct scores *s) {
  static struct fact data[MAX_FACTS];
  struct world w;
  uint32_t count = facts(width, data);
  assert_true(count <= MAX_FACTS);
  uint64_t pairs = q.operands == 1 ? count : (uint64_t)count * count, stride = pairs / budget + 1;
  while (stride > 1 && (stride % 2 == 0 || stride % 3 == 0 || stride % 5 == 0 || stride % 17 == 0 ||
                        stride % 11 == 0))
    stride++;
  open_world(&w, q, width);
  for (uint64_t k = 0; k < pairs; k += stride)
    visit(&w, s, &data[k % count], &data[q.operands == 1 ? k : k / count]);
  close_world(&w);
}

static const char *ranges_name(const char *name) {
  static char names[MAX_QUESTIONS][24];
  static uint32_t count;
  char wanted[24];
  snprintf(wanted, sizeof wanted, "%s, by its bits", name);
  uint32_t k = 0;
  while (k < count && strcmp(names[k], wanted) != 0) k++;
  if (k == count) strcpy(names[count++], wanted);
  return names[k];
}

static void visit_bits(struct world *w, struct scores *s, const struct fact *a,
                       const struct fact *b) {
  struct world_score *ranges = score_of(s, ranges_name(w->q.name));
  check_bits(w, score_of(s, w->q.name), ranges, a, b);
}
static void visit_ranges(struct world *w, struct scores *s, const struct fact *a,
                         const struct fact *b) {
  check_ranges(w, score_of(s, w->q.name), a, b);
}
static void visit_flags(struct world *w, struct scores *s, const struct fact *a,
                        const struct fact *b) {
  check_flags(w, score_of(s, w->q.name), a, b);
}
static void visit_compare(struct world *w, struct scores *s, const struct fact *a,
                          const struct fact *b) {
  struct world_score *where = score_of(s, "numbers that a comparison holds for");
  check_compare(w, score_of(s, "comparison"), where, a, b);
  if (w->q.aux == ICMP_EQ) check_sets(w, score_of(s, "sets"), a, b);
}

/* Exact answers: of the cases in `make check`, and of all. */
static const struct world_golden goldens[] = {
    {"known bits, add, by its bits", {3584, 232446}},
    {"known bits, add", {4128, 345637}},
    {"known bits, sub, by its bits", {3513, 226459}},
    {"known bits, sub", {4059, 338803}},
    {"known bits, mul, by its bits", {1600, 38716}},
    {"known bits, mul", {2498, 125323}},
    {"known bits, udiv, by its bits", {1577, 135773}},
    {"known bits, udiv", {412, 14192}},
    {"known bits, sdiv, by its bits", {408, 31341}},
    {"known bits, sdiv", {1123, 97827}},
    {"known bits, urem, by its bits", {702, 47627}},
    {"known bits, urem", {562, 50763}},
    {"known bits, srem, by its bits", {650, 39972}},
    {"known bits, srem", {652, 58960}},
    {"known bits, shl, by its bits", {358, 4737}},
    {"known bits, shl", {917, 23607}},
    {"known bits, lshr, by its bits", {309, 4955}},
    {"known bits, lshr", {602, 17027}},
    {"known bits, ashr, by its bits", {269, 4113}},
    {"known bits, ashr", {650, 20716}},
    {"known bits, and, by its bits", {1146, 95315}},
    {"known bits, and", {1667, 142260}},
    {"known bits, or, by its bits", {1878, 142516}},
    {"known bits, or", {2758, 217050}},
    {"known bits, xor, by its bits", {955, 69333}},
    {"known bits, xor", {1667, 142260}},
    {"known bits, trunc, by its bits", {204, 1944}},
    {"known bits, trunc", {264, 2640}},
    {"known bits, zext, by its bits", {144, 1440}},
    {"known bits, zext", {144, 1440}},
    {"known bits, sext, by its bits", {74, 724}},
    {"known bits, sext", {108, 1080}},
    {"known bits, select, by its bits", {382, 13715}},
    {"known bits, select", {1667, 142260}},
    {"known bits, umin, by its bits", {556, 19137}},
    {"known bits, umin", {1139, 82334}},
    {"known bits, umax, by its bits", {99, 1753}},
    {"known bits, umax", {589, 47712}},
    {"known bits, smin, by its bits", {94, 1747}},
    {"known bits, smin", {576, 47758}},
    {"known bits, smax, by its bits", {99, 1749}},
    {"known bits, smax", {587, 47710}},
    {"known bits, ctpop, by its bits", {1, 1}},
    {"known bits, ctpop", {28, 552}},
    {"known bits, ctlz, by its bits", {4, 4}},
    {"known bits, ctlz", {17, 153}},
    {"known bits, cttz, by its bits", {4, 4}},
    {"known bits, cttz", {17, 153}},
    {"known bits, abs, by its bits", {0, 0}},
    {"known bits, abs", {12, 60}},
    {"ranges, add", {6528, 494845}},
    {"ranges, sub", {6516, 494769}},
    {"ranges, mul", {2762, 172538}},
    {"ranges, udiv", {2276, 172703}},
    {"ranges, sdiv", {2142, 156548}},
    {"ranges, urem", {1315, 99018}},
    {"ranges, srem", {1723, 135473}},
    {"ranges, shl", {1234, 58884}},
    {"ranges, lshr", {1163, 69053}},
    {"ranges, ashr", {1512, 98573}},
    {"ranges, and", {1213, 90678}},
    {"ranges, or", {2044, 141887}},
    {"ranges, xor", {807, 60107}},
    {"ranges, trunc", {512, 1972}},
    {"ranges, zext", {436, 1764}},
    {"ranges, sext", {266, 1067}},
    {"ranges, select", {2137, 164948}},
    {"ranges, icmp", {21286, 1641766}},
    {"ranges, umin", {2137, 164948}},
    {"ranges, umax", {2137, 164948}},
    {"ranges, smin", {2137, 164948}},
    {"ranges, smax", {2137, 164948}},
    {"ranges, ctpop", {82, 339}},
    {"ranges, ctlz", {92, 364}},
    {"ranges, cttz", {112, 414}},
    {"ranges, abs", {0, 0}},
    {"wrap flags, add", {2137, 164948}},
    {"wrap flags, sub", {2137, 164948}},
    {"wrap flags, mul", {2137, 164948}},
    {"wrap flags, shl", {2137, 164948}},
    {"ranges, numbers that a comparison holds for", {21244, 1646078}},
    {"ranges, comparison", {21286, 1641766}},
    {"ranges, sets", {1994, 151792}},
};

static void report(const struct scores *s, const char *what) {
  for (uint32_t k = 0; k < s->count; k++) {
    char name[80];
    struct world_score score = s->data[k];
    snprintf(name, sizeof name, "%s, %s", what, score.name);
    score.name = name;
    world_report(&score, goldens, sizeof goldens / sizeof *goldens);
  }
}

static void known_bits_of_ops(void **state) {
  (void)state;
  struct question q[MAX_QUESTIONS];
  struct scores s = {.count = 0};
  uint32_t count = all_questions(q), widest = world_is_whole() ? 6 : 4;
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t width = 3; width <= widest && q[k].op != OP_ICMP; width++)
      for_all_pairs(q[k], width, bit_facts, world_is_whole() ? 100000 : 1500, visit_bits, &s);
  report(&s, "known bits");
}

static void ranges_of_ops(void **state) {
  (void)state;
  struct question q[MAX_QUESTIONS];
  struct scores s = {.count = 0}, flags = {.count = 0}, compare = {.count = 0};
  uint32_t count = all_questions(q), widest = world_is_whole() ? 5 : 4;
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t width = 3; width <= widest; width++) {
      uint64_t budget = world_is_whole() ? 100000 : 1500;
      for_all_pairs(q[k], width, range_facts, budget, visit_ranges, &s);
      if (q[k].flags == 0 &&
          (q[k].op == OP_ADD || q[k].op == OP_SUB || q[k].op == OP_MUL || q[k].op == OP_SHL))
        for_all_pairs(q[k], width, range_facts, budget, visit_flags, &flags);
      if (q[k].op == OP_ICMP)
        for_all_pairs(q[k], width, range_facts, budget, visit_compare, &compare);
    }
  report(&s, "ranges");
  report(&flags, "wrap flags");
  report(&compare, "ranges");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(known_bits_of_ops),
                                     cmocka_unit_test(ranges_of_ops)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
