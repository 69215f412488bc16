/* The thread's frame: one .local array, the "depot", in which allocas of constant size have fixed
 * places.
 *
 * Variables that are never live at once share a place, as in LLVM's stack coloring: two inlined
 * copies of a function have one array together. A variable holds a value from an access until a
 * lifetime marker, and the value is needed where an access may follow: two bit sets with a bit for
 * each variable, one propagated along the edges and one against them. Two variables interfere if
 * one is accessed while the other holds a value that is needed. Variables take part if their
 * address is not captured (analysis/alias.h). The others, and those beyond the first MAX_SHARED,
 * have places of their own, as have all in functions marked optnone, which are debugged. The number
 * of an address may be used in computations and comparisons; two variables of which the numbers are
 * compared have different places. Linear in operands and edges, times MAX_SHARED at worst. */
#include "analysis/alias.h"
#include "codegen/address.h"
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/report.h"
#include "codegen/value.h"

enum { MAX_SHARED = 64, MAX_ROUNDS = 8 /* for addresses that depend on themselves */ };

struct frame {
  uint32_t *places; /* by instruction: 1 + the offset of a fixed alloca; 0: none */
  uint64_t bytes;
  uint32_t align;
  struct nvm_str name; /* __local_depot */
};

struct variable {
  struct nvm_inst_id inst;
  uint64_t bytes;
  uint32_t align; /* bytes */
  uint64_t apart; /* those that interfere with it or with a variable in the same place */
  uint32_t over;  /* the variable whose place it has; mostly itself */
};

/* An instruction that accesses or marks variables. */
struct event {
  uint64_t variables;
  uint64_t needed; /* after it */
  bool marker;     /* begins or ends the lifetime; else an access */
};

struct frame_sharing {
  struct lower *l;
  const struct nvm_function *f;
  VEC(struct variable) variables;
  VEC(struct event) events;
  uint32_t *first_event, *end_event; /* by block */
  uint64_t *base;                    /* by instruction: the variables it may be an address in */
  uint64_t shared;                   /* the variables that take part */
  uint64_t *held, *needed;           /* by block: at its end, at its start */
};

uint64_t frame_reserve(struct lower *l, uint64_t bytes, uint32_t align) {
  if (align > l->frame->align) l->frame->align = align;
  uint64_t at = (l->frame->bytes + align - 1) / align * align;
  l->frame->bytes = at + (bytes ? bytes : 1); /* objects have distinct addresses */
  return at;
}

/* An alloca of constant size in the entry block. */
static bool is_fixed_alloca(const struct lower *l, const struct nvm_inst *i, uint64_t *bytes) {
  nvm_u128 count = 1;
  if (i->op != OP_ALLOCA || i->block.index != l->f->entry.index) return false;
  if (i->operand_count && !const_is_int(l->module, inst_operand(l->f, i, 0), &count)) return false;
  uint64_t each =
      layout_alloc_size(&l->module->layout, &l->module->types, (struct nvm_type){i->aux});
  if (count > UINT32_MAX || each > UINT32_MAX) return false;
  *bytes = each * (uint64_t)count;
  return *bytes <= UINT32_MAX;
}

/* --- accesses --------------------------------------------------------------------------------- */

static bool is_address(const struct nvm_function *f, const struct nvm_inst *i) {
  bool passes = i->op == OP_GEP || i->op == OP_BITCAST || i->op == OP_ADDRSPACECAST ||
                i->op == OP_PHI || i->op == OP_SELECT;
  return passes && type_is_ptr(&f->module->types, i->type);
}

/* Whether i computes an integer, which may be the number of an address: of the checks whether an
 * address is aligned, or two arrays overlap. */
static bool computes_integer(const struct nvm_function *f, const struct nvm_inst *i) {
  bool passes = i->op == OP_PTRTOINT || i->op == OP_TRUNC || i->op == OP_ZEXT || i->op == OP_SEXT ||
                i->op == OP_PHI || i->op == OP_SELECT ||
                (i->op >= OP_FIRST_INT && i->op <= OP_LAST_INT);
  return passes && type_is_int(&f->module->types, i->type);
}

static uint64_t base_of(const struct frame_sharing *w, struct nvm_value v) {
  return value_kind(v) == VALUE_INST ? w->base[value_index(v)] : 0;
}

/* Finds the variables that addresses may be in, as a fixpoint; gives up after MAX_ROUNDS. */
static bool find_bases(struct frame_sharing *w) {
  VEC(struct nvm_inst_id) addresses = {0};
  bool changed = true, has_numbers = false;
  FOR_EACH_BLOCK (w->f, b)
    FOR_EACH_INST (w->f, b, i) has_numbers |= function_inst(w->f, i)->op == OP_PTRTOINT;
  FOR_EACH_BLOCK (w->f, b)
    FOR_EACH_INST (w->f, b, i) {
      const struct nvm_inst *inst = function_inst(w->f, i);
      if ((is_address(w->f, inst) || (has_numbers && computes_integer(w->f, inst))) &&
          !VEC_PUSH(&w->l->function_arena, &addresses, i))
        return false;
    }
  for (int round = 0; changed; round++) {
    changed = false;
    for (uint32_t n = 0; n < addresses.count; n++) {
      const struct nvm_inst *i = function_inst(w->f, addresses.data[n]);
      uint64_t base = 0;
      for (uint32_t k = 0; k < i->operand_count; k++) base |= base_of(w, inst_operand(w->f, i, k));
      changed |= base != w->base[addresses.data[n].index];
      w->base[addresses.data[n].index] = base;
    }
    if (round == MAX_ROUNDS) w->shared = 0, changed = false;
  }
  return true;
}

static void set_apart(struct frame_sharing *w, uint64_t some, uint64_t others) {
  for (; some; some &= some - 1) w->variables.data[__builtin_ctzll(some)].apart |= others;
}

/* Variables of which the numbers of addresses are compared have different places. */
static void note_comparison(struct frame_sharing *w, const struct nvm_inst *i) {
  uint64_t bases = base_of(w, inst_operand(w->f, i, 0)) | base_of(w, inst_operand(w->f, i, 1));
  if (bases & (bases - 1)) set_apart(w, bases, bases);
}

static bool note_events(struct frame_sharing *w) {
  FOR_EACH_BLOCK (w->f, b) {
    w->first_event[b.index] = w->events.count;
    FOR_EACH_INST (w->f, b, id) {
      const struct nvm_inst *i = function_inst(w->f, id);
      struct event e = {.variables = 0};
      for (uint32_t k = 0; k < i->operand_count; k++) {
        struct nvm_value v = inst_operand(w->f, i, k);
        uint64_t base = base_of(w, v);
        bool is_pointer = base && type_is_ptr(&w->f->module->types, value_type(w->f, v));
        if (base == 0 || is_address(w->f, i) || computes_integer(w->f, i)) continue;
        if (!is_pointer && i->op == OP_ICMP) {
          note_comparison(w, i);
          continue;
        }
        enum alias_use use = is_pointer ? alias_use_of(w->f, i, k) : ALIAS_USE_CAPTURES;
        bool accesses = use == ALIAS_USE_READS || use == ALIAS_USE_WRITES;
        if (accesses) e.variables |= base;
        else w->shared &= ~base;
        e.marker |= effects_is_lifetime_marker(w->f, i) && !(base & (base - 1));
      }
      if (e.variables && !VEC_PUSH(&w->l->function_arena, &w->events, e)) return false;
    }
    w->end_event[b.index] = w->events.count;
  }
  return true;
}

/* --- values that are held and needed ---------------------------------------------------------- */

static uint64_t held_after(const struct frame_sharing *w, uint32_t block, uint64_t held) {
  for (uint32_t k = w->first_event[block]; k < w->end_event[block]; k++) {
    const struct event *e = &w->events.data[k];
    held = e->marker ? held & ~e->variables : held | e->variables;
  }
  return held & w->shared;
}

static uint64_t needed_before(struct frame_sharing *w, uint32_t block, uint64_t needed) {
  for (uint32_t k = w->end_event[block]; k-- > w->first_event[block];) {
    struct event *e = &w->events.data[k];
    e->needed = needed;
    needed = e->marker ? needed & ~e->variables : needed | e->variables;
  }
  return needed & w->shared;
}

static uint64_t neighbours(const struct frame_sharing *w, bool forwards, struct nvm_block b) {
  const struct dominance *d = &w->l->dominance;
  uint64_t all = 0;
  if (forwards)
    FOR_EACH_PREDECESSOR (d, b, k) all |= w->held[d->predecessors[k].index];
  else
    for (uint32_t k = 0, n = block_successor_count(w->f, b); k < n; k++)
      all |= w->needed[block_successor(w->f, b, k).index];
  return all;
}

/* A worklist of blocks whose neighbours changed; each is visited at most once for each variable. */
static bool propagate(struct frame_sharing *w, bool forwards) {
  const struct dominance *d = &w->l->dominance;
  VEC(struct nvm_block) work = {0};
  struct arena *arena = &w->l->function_arena;
  bool *queued = arena_alloc(arena, w->f->blocks.count * sizeof *queued);
  uint64_t *state = forwards ? w->held : w->needed;
  if (!queued) return false;
  for (struct nvm_block b = forwards ? w->f->last_block : w->f->entry; b.index;
       b = forwards ? function_block(w->f, b)->previous : function_block(w->f, b)->next) {
    if (!VEC_PUSH(arena, &work, b)) return false;
    queued[b.index] = true;
  }
  while (work.count) {
    struct nvm_block b = work.data[--work.count];
    uint64_t in = neighbours(w, forwards, b),
             out = forwards ? held_after(w, b.index, in) : needed_before(w, b.index, in);
    queued[b.index] = false;
    if (out == state[b.index]) continue;
    state[b.index] = out;
    uint32_t first = forwards ? 0 : d->first_predecessor[b.index];
    uint32_t end = forwards ? block_successor_count(w->f, b) : d->first_predecessor[b.index + 1];
    for (uint32_t k = first; k < end; k++) {
      struct nvm_block next = forwards ? block_successor(w->f, b, k) : d->predecessors[k];
      if (queued[next.index]) continue;
      if (!VEC_PUSH(arena, &work, next)) return false;
      queued[next.index] = true;
    }
  }
  return true;
}

static void find_conflicts(struct frame_sharing *w) {
  FOR_EACH_BLOCK (w->f, b) {
    uint64_t held = neighbours(w, true, b);
    for (uint32_t k = w->first_event[b.index]; k < w->end_event[b.index]; k++) {
      const struct event *e = &w->events.data[k];
      uint64_t live = e->variables | (held & e->needed);
      if (!e->marker && live & (live - 1)) {
        set_apart(w, e->variables, live);
        set_apart(w, live, e->variables);
      }
      held = e->marker ? held & ~e->variables : held | e->variables;
    }
  }
}

/* --- places ----------------------------------------------------------------------------------- */

/* Gives each variable the place of the first one before it that it does not interfere with. */
static void assign_shared_places(struct frame_sharing *w) {
  for (uint32_t v = 0; v < w->variables.count && v < MAX_SHARED; v++) {
    struct variable *variable = &w->variables.data[v];
    for (uint32_t k = 0; k < v && w->shared >> v & 1 && variable->over == v; k++) {
      struct variable *other = &w->variables.data[k];
      if (!(w->shared >> k & 1) || other->over != k || other->apart >> v & 1) continue;
      variable->over = k;
      other->apart |= variable->apart;
      other->bytes = variable->bytes > other->bytes ? variable->bytes : other->bytes;
      other->align = variable->align > other->align ? variable->align : other->align;
    }
  }
}

static bool share_places(struct frame_sharing *w) {
  const struct nvm_function *f = w->f;
  const struct attr_table_data *a = &f->module->attributes;
  struct arena *arena = &w->l->function_arena;
  uint32_t count = w->variables.count < MAX_SHARED ? w->variables.count : MAX_SHARED;
  if (count < 2 || attrset_find(a, attrlist_info(a, f->attributes)->function, ATTR_OPTNONE))
    return true;
  w->shared = ~UINT64_C(0) >> (MAX_SHARED - count);
  w->base = arena_alloc(arena, f->insts.count * sizeof *w->base);
  w->first_event = arena_alloc(arena, f->blocks.count * sizeof *w->first_event);
  w->end_event = arena_alloc(arena, f->blocks.count * sizeof *w->end_event);
  w->held = arena_alloc(arena, f->blocks.count * sizeof *w->held);
  w->needed = arena_alloc(arena, f->blocks.count * sizeof *w->needed);
  if (!w->base || !w->first_event || !w->end_event || !w->held || !w->needed) return false;
  for (uint32_t v = 0; v < count; v++) w->base[w->variables.data[v].inst.index] = UINT64_C(1) << v;
  if (!find_bases(w) || !note_events(w)) return false;
  if (!(w->shared & (w->shared - 1))) return true;
  if (!propagate(w, true) || !propagate(w, false)) return false;
  find_conflicts(w);
  assign_shared_places(w);
  return true;
}

bool frame_plan(struct lower *l) {
  const struct nvm_function *f = l->f;
  struct frame_sharing w = {.l = l, .f = f};
  struct frame *frame = l->frame = arena_alloc(&l->function_arena, sizeof *frame);
  if (!frame) return false;
  frame->align = 1;
  frame->name = module_str(l->module, "__local_depot");
  frame->places = arena_alloc(&l->function_arena, f->insts.count * sizeof *frame->places);
  if (!frame->places) return false;
  FOR_EACH_INST (f, f->entry, i) {
    struct variable v = {.inst = i, .over = w.variables.count};
    if (!is_fixed_alloca(l, function_inst(f, i), &v.bytes)) continue;
    v.align = alloca_align(l->f, function_inst(f, i));
    if (!VEC_PUSH(&l->function_arena, &w.variables, v)) return false;
  }
  if (!share_places(&w)) return false;
  for (uint32_t k = 0; k < w.variables.count; k++) {
    const struct variable *v = &w.variables.data[k];
    uint64_t at = v->over != k ? frame->places[w.variables.data[v->over].inst.index] - 1
                               : frame_reserve(l, v->bytes, v->align);
    if (at >= UINT32_MAX) {
      l->inst = v->inst;
      report_refuse(l, "a stack frame of 4 GiB or more", "use global memory");
      return true;
    }
    frame->places[v->inst.index] = (uint32_t)at + 1;
  }
  return true;
}

bool frame_place(const struct lower *l, struct nvm_inst_id alloca, uint32_t *offset) {
  uint32_t place = l->frame->places[alloca.index];
  *offset = place - 1;
  return place != 0;
}

/* --- addresses in it -------------------------------------------------------------------------- */

struct ptx_operand frame_symbol(const struct lower *l, uint64_t offset) {
  return ptx_symbol(l->frame->name, (int64_t)offset);
}

struct address frame_address(const struct lower *l, uint64_t offset) {
  return (struct address){ptx_at_symbol(l->frame->name, (int64_t)offset), PTX_MOD_LOCAL, 1};
}

struct ptx_reg frame_pointer(struct lower *l, uint64_t offset, uint32_t address_space) {
  bool wide = layout_pointer_bits(&l->module->layout, address_space) == 64;
  bool generic_wide = layout_pointer_bits(&l->module->layout, 0) == 64;
  uint16_t type = wide ? PTX_MOD_U64 : PTX_MOD_U32;
  struct ptx_reg local = emit_temp(l, wide ? PTX_B64 : PTX_B32);
  emit2(l, PTX_MOV, PTX_MODS(type), ptx_r(local), frame_symbol(l, offset));
  if (mod_space(address_space) == PTX_MOD_LOCAL) return local;
  struct ptx_reg generic = emit_temp(l, generic_wide ? PTX_B64 : PTX_B32);
  emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, generic_wide ? PTX_MOD_U64 : PTX_MOD_U32),
        ptx_r(generic), ptx_r(local));
  return generic;
}

bool frame_sink_addresses(struct lower *l) {
  struct nvm_function *f = l->f;
  if (l->frame->bytes == 0 || !function_is_kernel(f)) return true;
  struct nvm_block *place = arena_alloc(&l->function_arena, f->insts.count * sizeof *place);
  if (!place) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      for (uint32_t k = 0; k < i->operand_count; k++) {
        struct nvm_value v = inst_operand(f, i, k);
        if (value_kind(v) != VALUE_INST || !l->frame->places[value_index(v)]) continue;
        struct nvm_block *at = &place[value_index(v)];
        *at = loops_place_above(&l->loops, f, &l->dominance, *at, i, k);
      }
    }
  for (uint32_t n = f->insts.count - 1; n > 0; n--) { /* the last one goes first */
    if (place[n].index == 0 || place[n].index == f->entry.index) continue;
    struct nvm_inst_id alloca = {n};
    inst_unlink(f, alloca);
    inst_insert_before(f, alloca, block_first_after_phis(f, place[n]));
  }
  return true;
}

enum { MAX_ALLOCA_ALIGN = 1 << 23 }; /* of PTX's alloca */

/* The size of `i` elements of `each` bytes, as a number of `bits`. */
static struct ptx_operand dynamic_bytes(struct lower *l, const struct nvm_inst *i, uint64_t each,
                                        uint32_t bits) {
  if (i->operand_count == 0) return ptx_i((int64_t)each);
  struct nvm_value count = inst_operand(l->f, i, 0);
  struct part p = *part_at(part_list(l, value_type(l->f, count)), 0);
  struct ptx_operand n = emit_zext(l, value_operand(l, count, 0), &p, bits);
  if (n.kind != PTX_OPERAND_REG) return ptx_i((int64_t)((uint64_t)n.imm * each));
  struct ptx_operand factor = ptx_i((int64_t)each);
  struct ptx_reg product = emit_temp(l, bits == 64 ? PTX_B64 : PTX_B32);
  emit3(l, PTX_MUL, PTX_MODS(PTX_MOD_LO, mod_unsigned(bits)), ptx_r(product),
        emit_narrow(l, n, p.container, bits), factor);
  return ptx_r(product);
}

/* PTX's alloca moves the stack pointer; its alignment must be constant. Sizes and addresses have
 * the width of the pointer. */
static void lower_dynamic_alloca(struct lower *l, const struct nvm_inst *i, struct ptx_reg to) {
  struct nvm_type type = {i->aux};
  uint64_t each = layout_alloc_size(&l->module->layout, &l->module->types, type);
  uint32_t align = alloca_align(l->f, i), bits = ptx_reg_class(to) == PTX_B64 ? 64 : 32;
  if (align > MAX_ALLOCA_ALIGN) {
    report_refuse(l, "an alloca of a size known at run time with this alignment",
                  "the largest of PTX is 8388608");
    return;
  }
  struct ptx_operand bytes = dynamic_bytes(l, i, each, bits);
  struct ptx_reg local = emit_temp(l, ptx_reg_class(to));
  emit3(l, PTX_ALLOCA, PTX_MODS(mod_unsigned(bits)), ptx_r(local), bytes, ptx_i(align));
  if (mod_space(type_info(&l->module->types, i->type)->width) == PTX_MOD_LOCAL)
    emit_copy(l, to, ptx_r(local));
  else emit2(l, PTX_CVTA, PTX_MODS(PTX_MOD_LOCAL, mod_unsigned(bits)), ptx_r(to), ptx_r(local));
}

void frame_lower_alloca(struct lower *l, const struct nvm_inst *i) {
  struct ptx_reg to = value_result(l, l->inst)[0];
  uint32_t offset;
  if (!frame_place(l, l->inst, &offset)) {
    lower_dynamic_alloca(l, i, to);
    return;
  }
  uint32_t space = type_info(&l->module->types, i->type)->width;
  emit_copy(l, to, ptx_r(frame_pointer(l, offset, space)));
}

/* `.local .align 8 .b8 __local_depot[24];` */
void frame_declare(struct lower *l) {
  struct ptx_function *pf = l->pf;
  if (l->frame->bytes == 0) return;
  ptx_add_variable(pf, (struct ptx_variable){.name = l->frame->name,
                                             .space = PTX_MOD_LOCAL,
                                             .type = PTX_MOD_B8,
                                             .align = l->frame->align,
                                             .is_array = true,
                                             .count = l->frame->bytes});
  if (pf->arena->failed) return;
  struct ptx_entry added = pf->entries.data[pf->entries.count - 1];
  memmove(&pf->entries.data[1], pf->entries.data, (pf->entries.count - 1) * sizeof added);
  pf->entries.data[0] = added;
}
