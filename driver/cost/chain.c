/* What limits a loop: the sums of its instructions by unit, the longest chain of dependences that
 * is carried from iteration to iteration, and one warp alone, in order.
 *
 * The chain: M[r][s] is the largest latency of a path from the value of register r at the start of
 * an iteration to the value of s at its end; the chain is the cycle of M with the largest latency
 * per iteration (Karp, "A Characterization of the Minimum Cycle Mean in a Digraph", 1978). At joins
 * the later value counts. Cost: instructions and blocks times carried registers, and their cube.
 *
 * One warp: an instruction issues when the one before it has, its operands are ready, and its unit
 * is free; blocks in reverse postorder, as if every branch diverged. */
#include "driver/cost/cost.h"

#include "ptx/check.h"

#include <string.h>

enum {
  MAX_CARRIED = 256,       /* registers of a chain */
  MAX_WORK = 40 * 1000000, /* steps: blocks times registers times carried ones */
  WARM_UP = 4,             /* iterations of one warp that are not counted */
  COUNTED = 8,
};

struct walk {
  const struct cost_graph *g;
  const struct nvm_target *target;
  struct cost_measured *m;
  struct arena *arena;
  uint32_t loop;
  VEC(uint32_t) blocks; /* of the loop, in reverse postorder */
  uint32_t class_first[PTX_CLASS_COUNT];
  uint32_t *local;        /* by register of the function: number in the loop + 1; 0: not written */
  uint32_t *first_writer; /* by register of the loop: instruction + 1 */
  bool *is_exposed;       /* its value at the start of an iteration may be read */
  uint32_t crossing;      /* registers below this number are read in other blocks than written */
  VEC(uint32_t) carried;  /* registers of the loop */
  int64_t *matrix;        /* carried × carried; below 0: no path */
};

/* ---- Instructions ---- */

static void *zeros(struct arena *arena, uint64_t count, size_t bytes) {
  void *made = arena_alloc(arena, (count + 1) * bytes);
  if (made) memset(made, 0, (count + 1) * bytes);
  return made;
}

static bool prepare_registers(struct walk *w) {
  const struct ptx_function *f = w->g->function;
  uint32_t total = 0;
  for (int c = 0; c < PTX_CLASS_COUNT; c++) {
    w->class_first[c] = total;
    total += f->reg_count[c] + 1;
  }
  w->local = zeros(w->arena, total, sizeof *w->local);
  return w->local != NULL;
}

static void add_register(struct walk *w, struct ptx_reg r, bool writes, uint32_t *count) {
  if (ptx_reg_is_none(r)) return;
  uint32_t *local = &w->local[w->class_first[ptx_reg_class(r)] + ptx_reg_number(r)];
  if (writes && !*local) *local = ++w->m->register_count;
  if (*local && VEC_PUSH(w->arena, &w->m->registers, *local - 1)) (*count)++;
}

static void add_operand(struct walk *w, const struct ptx_operand *o, bool writes, uint32_t *count) {
  if (o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_ADDRESS_REG)
    add_register(w, o->reg, writes, count);
  if (o->kind < PTX_OPERAND_VECTOR) return;
  for (uint32_t i = 0; i < o->count; i++)
    add_operand(w, &w->g->function->operands.data[o->first + i], writes, count);
}

static uint32_t written_operands(const struct walk *w, const struct ptx_entry *e) {
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(w->g->function, e, &need);
  uint32_t written = form ? form->dest_count : 0;
  return written < e->operand_count ? written : e->operand_count;
}

static void add_inst(struct walk *w, uint32_t entry, uint32_t block) {
  const struct ptx_function *f = w->g->function;
  const struct ptx_entry *e = &f->entries.data[entry];
  struct cost_inst in = {.entry = entry, .block = block, .first_write = w->m->registers.count};
  if (e->kind != PTX_INST) return;
  in.price = cost_price(w->target, f, e);
  in.is_guarded = !ptx_reg_is_none(e->guard);
  in.is_branch = e->op == PTX_BRA || e->op == PTX_BRX;
  for (uint32_t i = 0, n = written_operands(w, e); i < n; i++)
    add_operand(w, &f->operands.data[e->first_operand + i], true, &in.write_count);
  (void)VEC_PUSH(w->arena, &w->m->insts, in);
}

/* The registers that an instruction reads, of those that the loop writes. A guarded instruction
 * also reads what it may leave as it is. */
static void add_reads(struct walk *w, struct cost_inst *in) {
  const struct ptx_function *f = w->g->function;
  const struct ptx_entry *e = &f->entries.data[in->entry];
  in->first_read = w->m->registers.count;
  for (uint32_t i = in->is_guarded ? 0 : written_operands(w, e); i < e->operand_count; i++)
    add_operand(w, &f->operands.data[e->first_operand + i], false, &in->read_count);
  add_register(w, e->guard, false, &in->read_count);
}

static bool collect(struct walk *w) {
  if (!prepare_registers(w)) return false;
  for (uint32_t k = 0; k < w->g->order.count; k++) {
    uint32_t block = w->g->order.data[k];
    const struct cost_block *b = &w->g->blocks.data[block];
    if (b->loop != w->loop) continue;
    if (!VEC_PUSH(w->arena, &w->blocks, block)) return false;
    for (uint32_t i = b->begin; i < b->end; i++) add_inst(w, i, block);
  }
  for (uint32_t i = 0; i < w->m->insts.count; i++) add_reads(w, &w->m->insts.data[i]);
  return !w->arena->failed;
}

static void sum(struct walk *w) {
  struct cost_measured *m = w->m;
  for (uint32_t i = 0; i < m->insts.count; i++) {
    const struct cost_price *p = &m->insts.data[i].price;
    m->machine = cost_add(m->machine, p->machine);
    m->slots[p->unit] = cost_add(m->slots[p->unit], p->slots);
    m->has_unknown |= !p->is_known;
  }
  m->throughput = m->machine;
  m->busiest = COST_UNIT_COUNT;
  for (int u = 0; u < COST_UNIT_COUNT; u++)
    if (m->slots[u] > m->throughput) m->throughput = m->slots[u], m->busiest = (enum cost_unit)u;
}

static const uint32_t *writes(const struct walk *w, const struct cost_inst *in) {
  return w->m->registers.data + in->first_write;
}
static const uint32_t *reads(const struct walk *w, const struct cost_inst *in) {
  return w->m->registers.data + in->first_read;
}

/* ---- Carried registers ---- */

/* Renumbers the registers so that those that cross blocks come first: that are read before the same
 * block writes them. */
static bool number_registers(struct walk *w) {
  uint32_t n = w->m->register_count, others = 0;
  uint32_t *writer = zeros(w->arena, n, sizeof *writer); /* block + 1 of the last write */
  bool *crosses = zeros(w->arena, n, sizeof *crosses);
  uint32_t *new_number = zeros(w->arena, n, sizeof *new_number);
  if (!writer || !crosses || !new_number) return false;
  for (uint32_t i = 0; i < w->m->insts.count; i++) {
    const struct cost_inst *in = &w->m->insts.data[i];
    for (uint32_t k = 0; k < in->read_count; k++)
      if (writer[reads(w, in)[k]] != in->block + 1) crosses[reads(w, in)[k]] = true;
    for (uint32_t k = 0; k < in->write_count; k++) writer[writes(w, in)[k]] = in->block + 1;
  }
  for (uint32_t r = 0; r < n; r++) w->crossing += crosses[r];
  for (uint32_t r = 0, crossing = 0; r < n; r++)
    new_number[r] = crosses[r] ? crossing++ : w->crossing + others++;
  for (uint32_t k = 0; k < w->m->registers.count; k++)
    w->m->registers.data[k] = new_number[w->m->registers.data[k]];
  return true;
}

static bool is_defined_before(const struct walk *w, uint32_t writer, const struct cost_inst *in) {
  return writer && cost_dominates(w->g, w->m->insts.data[writer - 1].block, in->block);
}

/* Registers that are written in the loop and whose old value may be read in it. */
static bool find_carried(struct walk *w) {
  uint32_t n = w->m->register_count;
  w->first_writer = zeros(w->arena, n, sizeof *w->first_writer);
  w->is_exposed = zeros(w->arena, n, sizeof *w->is_exposed);
  if (!w->first_writer || !w->is_exposed) return false;
  for (uint32_t i = 0; i < w->m->insts.count; i++) {
    const struct cost_inst *in = &w->m->insts.data[i];
    for (uint32_t k = 0; k < in->read_count; k++) {
      uint32_t r = reads(w, in)[k];
      if (!is_defined_before(w, w->first_writer[r], in)) w->is_exposed[r] = true;
    }
    for (uint32_t k = 0; k < in->write_count; k++)
      if (!w->first_writer[writes(w, in)[k]]) w->first_writer[writes(w, in)[k]] = i + 1;
  }
  for (uint32_t r = 0; r < n; r++)
    if (w->first_writer[r] && w->is_exposed[r] && !VEC_PUSH(w->arena, &w->carried, r)) return false;
  return true;
}

/* ---- Paths through an iteration ---- */

/* The value of a register: its time since the source's, below 0 if it does not depend on it, and
 * the instruction + 1 that computed it. */
struct arrival {
  int64_t time;
  uint32_t maker;
};

/* `state`: block of the loop × register that crosses blocks; `inside`: the other registers.
 * `from[i]`: the maker of the operand that came last. */
struct paths {
  struct arrival *state, *inside;
  uint32_t *row_of; /* by block of the function: row in state + 1 */
  uint32_t *from;
};

static bool paths_init(struct walk *w, struct paths *p) {
  p->state = zeros(w->arena, (uint64_t)(w->blocks.count + 1) * w->crossing, sizeof *p->state);
  p->row_of = zeros(w->arena, w->g->blocks.count, sizeof *p->row_of);
  p->from = zeros(w->arena, w->m->insts.count, sizeof *p->from);
  p->inside = zeros(w->arena, w->m->register_count - w->crossing, sizeof *p->inside);
  if (!p->state || !p->inside || !p->row_of || !p->from) return false;
  for (uint32_t k = 0; k < w->blocks.count; k++) p->row_of[w->blocks.data[k]] = k + 1;
  return true;
}

static void join(struct arrival *into, const struct arrival *other, uint32_t n) {
  for (uint32_t r = 0; r < n; r++)
    if (other[r].time > into[r].time) into[r] = other[r];
}

/* The values at the start of a block; of the header only the source has one. */
static void enter(const struct walk *w, struct paths *p, uint32_t k, uint32_t source) {
  uint32_t n = w->crossing;
  struct arrival *row = p->state + (uint64_t)k * n;
  const struct cost_block *b = &w->g->blocks.data[w->blocks.data[k]];
  for (uint32_t r = 0; r < n; r++) row[r] = (struct arrival){COST_NONE, 0};
  if (k == 0) row[source].time = 0;
  for (uint32_t i = 0; k != 0 && i < b->from_count; i++) {
    uint32_t from = p->row_of[w->g->from.data[b->first_from + i]];
    if (from && from - 1 < k) join(row, p->state + (uint64_t)(from - 1) * n, n);
  }
}

static struct arrival *arrival_of(const struct walk *w, struct paths *p, struct arrival *row,
                                  uint32_t r) {
  return r < w->crossing ? &row[r] : &p->inside[r - w->crossing];
}

static void step(const struct walk *w, struct paths *p, uint32_t i, struct arrival *row) {
  const struct cost_inst *in = &w->m->insts.data[i];
  struct arrival last = {COST_NONE, 0};
  for (uint32_t k = 0; k < in->read_count; k++) {
    const struct arrival *value = arrival_of(w, p, row, reads(w, in)[k]);
    if (value->time > last.time) last = *value;
  }
  p->from[i] = last.maker;
  if (last.time >= 0) last = (struct arrival){last.time + in->price.latency, i + 1};
  for (uint32_t k = 0; k < in->write_count; k++) *arrival_of(w, p, row, writes(w, in)[k]) = last;
}

/* Follows the values that depend on `source` through an iteration. The result, of the latches
 * together, is in the last row of the state. */
static struct arrival *follow(const struct walk *w, struct paths *p, uint32_t source) {
  uint32_t n = w->crossing, i = 0;
  struct arrival *end = p->state + (uint64_t)w->blocks.count * n;
  for (uint32_t r = 0; r < n; r++) end[r] = (struct arrival){COST_NONE, 0};
  for (uint32_t k = 0; k < w->blocks.count; k++) {
    const struct cost_block *b = &w->g->blocks.data[w->blocks.data[k]];
    struct arrival *row = p->state + (uint64_t)k * n;
    enter(w, p, k, source);
    for (; i < w->m->insts.count && w->m->insts.data[i].block == w->blocks.data[k]; i++)
      step(w, p, i, row);
    for (uint32_t t = 0; t < b->to_count; t++)
      if (w->g->to.data[b->first_to + t] == w->blocks.data[0]) join(end, row, n);
  }
  return end;
}

/* ---- The cycle with the largest latency per iteration ---- */

struct karp {
  uint32_t n;
  int64_t *walk;    /* (n + 1) × n: the longest walk of that many iterations to a register */
  uint32_t *parent; /* the register before it */
};

static bool karp_walks(const struct walk *w, struct karp *q) {
  uint64_t n = q->n;
  q->walk = zeros(w->arena, (n + 1) * n, sizeof *q->walk);
  q->parent = zeros(w->arena, (n + 1) * n, sizeof *q->parent);
  if (!q->walk || !q->parent) return false;
  for (uint64_t k = 1; k <= n; k++)
    for (uint64_t to = 0; to < n; to++) {
      int64_t best = COST_NONE;
      for (uint64_t from = 0; from < n; from++) {
        int64_t before = q->walk[(k - 1) * n + from], edge = w->matrix[from * n + to];
        if (before < 0 || edge < 0 || before + edge <= best) continue;
        best = before + edge;
        q->parent[k * n + to] = (uint32_t)from;
      }
      q->walk[k * n + to] = best;
    }
  return true;
}

/* The best cycle on the walk of n iterations that ends in `end`: its registers in order. */
struct cycle {
  cost cycles;
  uint32_t length;
  uint32_t at; /* of the walk, where it ends, and its register there */
  uint32_t end;
};

static bool is_better(struct cycle a, struct cycle b) {
  return b.length == 0 || a.cycles * b.length > b.cycles * a.length ||
         (a.cycles * b.length == b.cycles * a.length && a.length < b.length);
}

/* A register that occurs twice on a walk encloses a cycle. */
static void cycles_of_walk(const struct karp *q, uint32_t end, uint32_t *seen, struct cycle *best) {
  uint64_t n = q->n;
  uint32_t r = end;
  memset(seen, 0, n * sizeof *seen);
  for (uint64_t k = n;; k--) {
    if (seen[r]) {
      uint64_t later = seen[r] - 1;
      struct cycle c = {q->walk[later * n + r] - q->walk[k * n + r], (uint32_t)(later - k),
                        (uint32_t)later, r};
      if (is_better(c, *best)) *best = c;
    }
    seen[r] = (uint32_t)k + 1;
    if (k == 0) break;
    r = q->parent[k * n + r];
  }
}

/* Adds the instructions on the path from register `source` to the value of `result`. */
static bool add_path(struct walk *w, struct paths *p, uint32_t source, uint32_t result) {
  uint32_t first = w->m->chain.count;
  for (uint32_t i = follow(w, p, source)[result].maker; i; i = p->from[i - 1]) {
    w->m->insts.data[i - 1].is_on_chain = true;
    if (!VEC_PUSH(w->arena, &w->m->chain, i - 1)) return false;
  }
  for (uint32_t a = first, b = w->m->chain.count; a + 1 < b; a++) { /* it was found backwards */
    uint32_t moved = w->m->chain.data[--b];
    w->m->chain.data[b] = w->m->chain.data[a];
    w->m->chain.data[a] = moved;
  }
  return true;
}

static bool note_cycle(struct walk *w, struct paths *p, const struct karp *q, struct cycle c) {
  uint32_t *registers = zeros(w->arena, c.length + 1, sizeof *registers);
  if (!registers) return false;
  for (uint32_t k = c.length + 1, r = c.end, at = c.at; k-- > 0; at--) {
    registers[k] = r;
    if (k > 0 && c.length > 1) r = q->parent[(uint64_t)at * q->n + r];
  }
  w->m->chain_cycles = c.cycles;
  w->m->chain_iterations = c.length;
  for (uint32_t k = 0; k < c.length; k++)
    if (!add_path(w, p, w->carried.data[registers[k]], w->carried.data[registers[k + 1]]))
      return false;
  return true;
}

static bool find_chain(struct walk *w) {
  if (!number_registers(w) || !find_carried(w)) return false;
  uint64_t n = w->carried.count;
  uint64_t work = n * ((w->blocks.count + 1) * (uint64_t)w->crossing + w->m->insts.count);
  w->m->is_too_large = n > MAX_CARRIED || work > MAX_WORK;
  if (n == 0 || w->m->is_too_large) return true;
  struct paths p;
  struct karp q = {.n = (uint32_t)n};
  struct cycle best = {0};
  uint32_t *seen = zeros(w->arena, n, sizeof *seen);
  w->matrix = zeros(w->arena, n * n, sizeof *w->matrix);
  if (!seen || !w->matrix || !paths_init(w, &p)) return false;
  for (uint64_t from = 0; from < n; from++) {
    const struct arrival *end = follow(w, &p, w->carried.data[from]);
    for (uint64_t to = 0; to < n; to++) w->matrix[from * n + to] = end[w->carried.data[to]].time;
  }
  if (!karp_walks(w, &q)) return false;
  for (uint32_t r = 0; r < n; r++) { /* of equal cycles one of a single iteration */
    struct cycle c = {w->matrix[r * n + r], 1, 0, r};
    if (c.cycles >= 0 && is_better(c, best)) best = c;
  }
  for (uint32_t end = 0; end < n; end++)
    if (q.walk[n * n + end] >= 0) cycles_of_walk(&q, end, seen, &best);
  return best.length == 0 || note_cycle(w, &p, &q, best);
}

/* ---- One warp ---- */

static bool run_one_warp(struct walk *w) {
  cost *ready = zeros(w->arena, w->m->register_count, sizeof *ready);
  cost free_at[COST_UNIT_COUNT] = {0}, now = 0, start = 0;
  if (!ready) return false;
  for (int iteration = 0; iteration < WARM_UP + COUNTED; iteration++) {
    if (iteration == WARM_UP) start = now;
    for (uint32_t i = 0; i < w->m->insts.count; i++) {
      const struct cost_inst *in = &w->m->insts.data[i];
      const struct cost_price *p = &in->price;
      cost at = p->machine && free_at[p->unit] > now ? free_at[p->unit] : now;
      cost inputs = p->machine ? at : 0; /* a copy does not issue: it only passes its time on */
      for (uint32_t k = 0; k < in->read_count; k++)
        if (ready[reads(w, in)[k]] > inputs) inputs = ready[reads(w, in)[k]];
      if (p->machine) {
        free_at[p->unit] = cost_add(inputs, p->slots);
        now = cost_add(inputs, in->is_branch ? p->latency : p->machine);
      }
      for (uint32_t k = 0; k < in->write_count; k++)
        ready[writes(w, in)[k]] = cost_add(inputs, p->latency);
    }
  }
  w->m->one_warp = (now - start + COUNTED - 1) / COUNTED;
  return true;
}

bool cost_loop_measure(struct cost_measured *m, const struct cost_graph *g, uint32_t loop,
                       const struct nvm_target *target, struct arena *arena) {
  struct walk w = {.g = g, .target = target, .m = m, .arena = arena, .loop = loop};
  *m = (struct cost_measured){0};
  if (!collect(&w)) return false;
  sum(&w);
  if (!g->loops.data[loop].is_innermost) return true;
  return find_chain(&w) && run_one_warp(&w) && !arena->failed;
}
