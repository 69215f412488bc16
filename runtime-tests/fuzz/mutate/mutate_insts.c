/* Mutations of single instructions: operands, operations, flags, memory accesses, widths. */
#include "mutator.h"

/* ---- Operands and operations ---- */

static bool has_operand(const struct nvm_function *f, const struct nvm_inst *i) {
  (void)f;
  return i->operand_count > 0 && i->op != OP_BR && i->op != OP_DBG_RECORD;
}

/* Another value in place of one operand. */
bool mutate_operand(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, has_operand);
  if (!at.index) return false;
  struct nvm_inst i = *function_inst(m->f, at);
  uint32_t k = (uint32_t)below(m, i.operand_count);
  struct nvm_value old = inst_operand(m->f, &i, k), v;
  if (value_kind(old) == VALUE_BLOCK || (i.op == OP_CALL && k + 1 == i.operand_count)) return false;
  struct nvm_type type = value_type(m->f, old);
  if (i.op == OP_PHI) {
    struct nvm_block from = value_block(inst_operand(m->f, &i, k + 1));
    v = pick_value(m, type, function_block(m->f, from)->last);
  } else {
    bool is_constant = value_kind(old) == VALUE_CONST && !once_in(m, 2);
    v = is_constant ? pick_constant(m, type) : pick_value(m, type, at);
  }
  if (value_is_none(v) || value_equal(v, old)) return false;
  inst_set_operand(m->f, at, k, v);
  return true;
}

/* The cast of the other signedness; `op` if there is none. */
static enum op other_cast(enum op op) {
  static const enum op pairs[][2] = {
      {OP_ZEXT, OP_SEXT}, {OP_FPTOUI, OP_FPTOSI}, {OP_UITOFP, OP_SITOFP}};
  for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
    for (size_t k = 0; k < 2; k++)
      if (pairs[p][k] == op) return pairs[p][1 - k];
  return op;
}

static bool can_change_op(const struct nvm_function *f, const struct nvm_inst *i) {
  enum op op = (enum op)i->op;
  (void)f;
  return op_is_binary(op) || other_cast(op) != op || op == OP_ICMP || op == OP_FCMP ||
         op == OP_SELECT || op == OP_ATOMICRMW;
}

static enum op pick_int_op(struct mutator *m) {
  return OP_FIRST_INT + (enum op)below(m, OP_LAST_INT - OP_FIRST_INT + 1);
}
static enum op pick_float_op(struct mutator *m) {
  return OP_FADD + (enum op)below(m, OP_FREM - OP_FADD + 1);
}

/* Another operation, predicate or order of operands; flags that it does not allow are dropped. */
bool mutate_opcode(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, can_change_op);
  if (!at.index) return false;
  struct nvm_inst *i = function_inst(m->f, at);
  enum op op = (enum op)i->op;
  uint32_t aux = i->aux;
  if (i->op == OP_ICMP) {
    i->aux = (uint32_t)below(m, ICMP_COUNT);
    i->flags = 0;
  } else if (i->op == OP_FCMP) {
    i->aux = (uint32_t)below(m, FCMP_COUNT);
  } else if (i->op == OP_SELECT) {
    struct nvm_value yes = inst_operand(m->f, i, 1), no = inst_operand(m->f, i, 2);
    inst_set_operand(m->f, at, 1, no), inst_set_operand(m->f, at, 2, yes);
    return !value_equal(yes, no);
  } else if (i->op == OP_ATOMICRMW) {
    struct memory_access access = memory_access_unpack(i->aux);
    access.rmw = (unsigned)below(m, RMW_COUNT);
    i->aux = memory_access_pack(access);
  } else {
    i->op = (uint16_t)(op_is_cast(op)                 ? other_cast(op)
                       : op_table[op].flags & OPF_INT ? pick_int_op(m)
                                                      : pick_float_op(m));
    i->flags &= op_flags((enum op)i->op);
  }
  return i->op != op || i->aux != aux;
}

static bool has_flags(const struct nvm_function *f, const struct nvm_inst *i) {
  (void)f;
  return i->op != OP_CALL && op_flags((enum op)i->op) != 0;
}

static uint16_t pick_flags(struct mutator *m, enum op op) {
  uint16_t flags = op_flags(op) & (uint16_t)below(m, UINT16_MAX + 1);
  if (flags & INST_INBOUNDS) flags &= (uint16_t)~INST_NUSW; /* implied */
  return flags;
}

/* Random flags out of those that the operation allows. */
bool mutate_flags(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, has_flags);
  if (!at.index) return false;
  struct nvm_inst *i = function_inst(m->f, at);
  uint16_t old = i->flags;
  i->flags = pick_flags(m, (enum op)i->op);
  return i->flags != old;
}

/* ---- Memory accesses ---- */

static bool is_access(const struct nvm_function *f, const struct nvm_inst *i) {
  (void)f;
  return i->op == OP_LOAD || i->op == OP_STORE || i->op == OP_ATOMICRMW || i->op == OP_CMPXCHG;
}

/* Another alignment, ordering, scope, or volatile. */
bool mutate_access(struct mutator *m) {
  static const enum atomic_ordering of_load[] = {ORDER_UNORDERED, ORDER_MONOTONIC, ORDER_ACQUIRE,
                                                 ORDER_SEQ_CST};
  struct nvm_inst_id at = pick_inst(m, is_access);
  if (!at.index) return false;
  struct nvm_inst *i = function_inst(m->f, at);
  struct memory_access a = memory_access_unpack(i->aux);
  switch (below(m, 4)) {
    case 0: a.align_log2 = 1 + (unsigned)below(m, 6); break;
    case 1: a.is_volatile = !a.is_volatile; break;
    case 2: a.scope = (unsigned)below(m, m->m->sync_scopes.count); break;
    default:
      a.ordering = of_load[below(m, 4)];
      if (i->op == OP_STORE && a.ordering == ORDER_ACQUIRE) a.ordering = ORDER_RELEASE;
      if (i->op == OP_CMPXCHG) a.failure_ordering = ORDER_MONOTONIC;
  }
  if (a.ordering == ORDER_NONE) a.scope = 0;
  else if (a.align_log2 == 0) a.align_log2 = 4;
  uint32_t old = i->aux;
  i->aux = memory_access_pack(a);
  return i->aux != old;
}

/* ---- New instructions ---- */

static struct nvm_value insert_compare(struct mutator *m, const struct builder *b,
                                       struct nvm_value x, struct nvm_value y) {
  struct type_table *t = &m->m->types;
  struct nvm_type type = value_type(m->f, x), bits = type_with_lanes_of(t, TYPE_I1, type);
  struct nvm_value xy[] = {x, y};
  bool is_float = type_is_float_or_vector(t, type);
  uint32_t predicate = (uint32_t)below(m, is_float ? FCMP_COUNT : ICMP_COUNT);
  struct nvm_value c = builder_add(b, is_float ? OP_FCMP : OP_ICMP, 0, bits, xy, 2, predicate);
  if (once_in(m, 2) || value_is_none(c)) return c;
  struct nvm_value chosen[] = {c, x, y};
  return builder_add(b, OP_SELECT, 0, type, chosen, 3, 0);
}

/* v as another type of as many lanes. */
static struct nvm_value insert_cast(struct mutator *m, const struct builder *b,
                                    struct nvm_value v) {
  struct type_table *t = &m->m->types;
  struct nvm_type from = type_scalar(t, value_type(m->f, v)), to = type_scalar(t, pick_type(m));
  uint32_t bits = type_scalar_bits(t, from), other = type_scalar_bits(t, to);
  bool was_int = type_is_int(t, from), is_int = type_is_int(t, to), is_signed = once_in(m, 2);
  enum op op;
  if (type_equal(from, to)) return VALUE_NULL;
  if (bits == other && once_in(m, 2)) op = OP_BITCAST;
  else if (was_int && is_int) op = other < bits ? OP_TRUNC : is_signed ? OP_SEXT : OP_ZEXT;
  else if (was_int) op = is_signed ? OP_SITOFP : OP_UITOFP;
  else if (is_int) op = is_signed ? OP_FPTOSI : OP_FPTOUI;
  else if (bits == other) return VALUE_NULL;
  else op = other < bits ? OP_FPTRUNC : OP_FPEXT;
  return builder_unary(b, op, type_with_lanes_of(t, to, value_type(m->f, v)), v);
}

static struct nvm_value insert_binary(struct mutator *m, const struct builder *b,
                                      struct nvm_value x, struct nvm_value y) {
  bool is_float = type_is_float_or_vector(&m->m->types, value_type(m->f, x));
  enum op op = is_float ? pick_float_op(m) : pick_int_op(m);
  struct nvm_value xy[] = {x, y};
  uint16_t flags = once_in(m, 3) ? pick_flags(m, op) : 0;
  return builder_add(b, op, flags, value_type(m->f, x), xy, 2, 0);
}

static bool is_number(const struct type_table *t, struct nvm_type type) {
  return type_is_int_or_vector(t, type) || type_is_float_or_vector(t, type);
}

/* A load, or the address of an element. */
static struct nvm_value insert_address(struct mutator *m, const struct builder *b,
                                       struct nvm_inst_id at) {
  struct nvm_value p = pick_any(m, type_is_ptr, at), index;
  if (value_is_none(p)) return VALUE_NULL;
  if (once_in(m, 2)) return builder_load(b, pick_type(m), p, 0);
  index = pick_any(m, type_is_int, at);
  if (value_is_none(index) || once_in(m, 2)) index = pick_constant(m, TYPE_I64);
  struct nvm_value operands[] = {p, index};
  uint16_t flags = once_in(m, 2) ? INST_INBOUNDS : 0;
  return builder_add(b, OP_GEP, flags, value_type(m->f, p), operands, 2, pick_type(m).index);
}

/* A new computation from available values; a later instruction uses its result. */
bool mutate_insert(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, inst_is_place);
  if (!at.index) return false;
  struct builder b = builder_before(m->f, at);
  struct nvm_value v, x = pick_any(m, is_number, at);
  if (value_is_none(x) || once_in(m, 8)) x = pick_constant(m, pick_type(m));
  struct nvm_value y = pick_value(m, value_type(m->f, x), at);
  switch (below(m, 8)) {
    case 0: v = insert_compare(m, &b, x, y); break;
    case 1: v = insert_cast(m, &b, x); break;
    case 2: v = insert_address(m, &b, at); break;
    case 3: v = builder_unary(&b, OP_FREEZE, value_type(m->f, x), x); break;
    default: v = insert_binary(m, &b, x, y);
  }
  if (value_is_none(v)) return false;
  use_value(m, v, at);
  return true;
}

static bool is_removable(const struct nvm_function *f, const struct nvm_inst *i) {
  (void)f;
  return !op_is_terminator((enum op)i->op);
}

/* Uses of the instruction get another value. */
bool mutate_remove(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, is_removable);
  if (!at.index) return false;
  struct nvm_type type = function_inst(m->f, at)->type;
  if (!type_equal(type, TYPE_VOID)) {
    struct nvm_value v = pick_value(m, type, at);
    if (value_is_none(v)) return false;
    replace_uses(m, at, v);
  }
  inst_remove(m->f, at);
  return true;
}

/* The instruction and the next one, which must not use it, change places. */
bool mutate_move(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, is_removable);
  if (!at.index || function_inst(m->f, at)->op == OP_PHI) return false;
  struct nvm_inst_id next = function_inst(m->f, at)->next;
  if (!next.index || op_is_terminator((enum op)function_inst(m->f, next)->op)) return false;
  for (uint32_t k = 0; k < function_inst(m->f, next)->operand_count; k++)
    if (value_equal(inst_operand_at(m->f, next, k), value_of_inst(at))) return false;
  inst_unlink(m->f, next);
  inst_insert_before(m->f, next, at);
  return true;
}

/* ---- Types ---- */

static bool is_int_binary(const struct nvm_function *f, const struct nvm_inst *i) {
  return op_is_binary((enum op)i->op) && type_is_int_or_vector(&f->module->types, i->type);
}

/* The operation in a wider or narrower type, with casts around it. */
bool mutate_width(struct mutator *m) {
  struct type_table *t = &m->m->types;
  struct nvm_inst_id at = pick_inst(m, is_int_binary);
  struct nvm_type other = type_scalar(t, pick_type(m));
  if (!at.index || !type_is_int(t, other)) return false;
  struct nvm_inst i = *function_inst(m->f, at);
  uint32_t bits = type_scalar_bits(t, type_scalar(t, i.type)), wide = type_scalar_bits(t, other);
  if (bits == wide) return false;
  enum op extend = once_in(m, 2) ? OP_ZEXT : OP_SEXT;
  struct builder b = builder_replacing(m->f, at);
  struct nvm_type type = type_with_lanes_of(t, other, i.type);
  struct nvm_value xy[2];
  for (uint32_t k = 0; k < 2; k++)
    xy[k] = builder_unary(&b, wide > bits ? extend : OP_TRUNC, type, inst_operand(m->f, &i, k));
  struct nvm_value v =
      builder_add(&b, (enum op)i.op, i.flags & op_flags((enum op)i.op), type, xy, 2, 0);
  v = builder_unary(&b, wide > bits ? OP_TRUNC : extend, i.type, v);
  if (value_is_none(v)) return false;
  replace_uses(m, at, v);
  inst_remove(m->f, at);
  return true;
}

static bool is_scalar_binary(const struct nvm_function *f, const struct nvm_inst *i) {
  return op_is_binary((enum op)i->op) && !type_is_vector(&f->module->types, i->type);
}

/* The operation as one lane of a short vector, whose other lanes are other values. */
bool mutate_lanes(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, is_scalar_binary);
  if (!at.index) return false;
  struct nvm_inst i = *function_inst(m->f, at);
  uint32_t lanes = 2 + (uint32_t)below(m, 3), lane = (uint32_t)below(m, lanes);
  struct builder b = builder_replacing(m->f, at);
  struct nvm_type type = type_vector(&m->m->types, i.type, lanes);
  struct nvm_value xy[2];
  for (uint32_t k = 0; k < 2; k++) {
    xy[k] = const_poison(m->m, type);
    for (uint32_t n = 0; n < lanes; n++) {
      struct nvm_value v = n == lane ? inst_operand(m->f, &i, k) : pick_value(m, i.type, at);
      if (value_is_none(v)) return false;
      if (n == lane || !once_in(m, 3)) xy[k] = builder_insert_lane(&b, xy[k], v, n);
    }
  }
  struct nvm_value v = builder_add(&b, (enum op)i.op, i.flags, type, xy, 2, 0);
  v = builder_extract_lane(&b, v, lane);
  if (value_is_none(v)) return false;
  replace_uses(m, at, v);
  inst_remove(m->f, at);
  return true;
}

/* ---- Metadata ---- */

static struct nvm_meta number(struct mutator *m, struct nvm_type type, uint64_t n) {
  return meta_value(&m->m->metadata, const_int(m->m, type, n), type);
}

static struct nvm_meta tuple(struct mutator *m, const struct nvm_meta *parts, uint32_t count) {
  struct meta_table *t = &m->m->metadata;
  uint32_t node = meta_node_new(t);
  bool done = node && meta_node_define(t, node, (struct nvm_str){0}, false, NULL, parts, count);
  return done ? meta_node(t, node, false) : (struct nvm_meta){0};
}

/* A distinct node that refers to itself, with one hint; most > 0: the hint has a number. */
static struct nvm_meta loop_node(struct mutator *m) {
  static const struct {
    const char *name;
    uint32_t most;
  } hints[] = {{"llvm.loop.unroll.count", 5},     {"llvm.loop.unroll.full", 0},
               {"llvm.loop.unroll.disable", 0},   {"llvm.loop.vectorize.width", 8},
               {"llvm.loop.interleave.count", 4}, {"llvm.loop.mustprogress", 0}};
  struct meta_table *t = &m->m->metadata;
  uint64_t k = below(m, sizeof hints / sizeof *hints);
  struct nvm_meta hint[] = {meta_string(t, module_str(m->m, hints[k].name)),
                            number(m, TYPE_I32, 1 + below(m, hints[k].most))};
  uint32_t node = meta_node_new(t);
  struct nvm_meta parts[] = {meta_node(t, node, false), tuple(m, hint, hints[k].most ? 2 : 1)};
  bool done = node && meta_node_define(t, node, (struct nvm_str){0}, true, NULL, parts, 2);
  return done ? parts[0] : (struct nvm_meta){0};
}

static bool takes_hint(const struct nvm_function *f, const struct nvm_inst *i) {
  return i->op == OP_BR || i->op == OP_CONDBR || i->op == OP_STORE ||
         (i->op == OP_LOAD && type_is_int(&f->module->types, i->type));
}

/* !llvm.loop at a branch, !range at a load, !nontemporal at a store. */
bool mutate_hints(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, takes_hint);
  if (!at.index) return false;
  const struct nvm_inst *i = function_inst(m->f, at);
  const char *kind = i->op == OP_STORE ? "nontemporal" : i->op == OP_LOAD ? "range" : "llvm.loop";
  struct nvm_str name = module_str(m->m, kind);
  uint32_t *chain = &m->f->attachments.data[at.index];
  if (module_attachment(m->m, *chain, name).index) return false;
  uint64_t low = once_in(m, 2) ? 0 : below(m, 100);
  struct nvm_type type = i->op == OP_LOAD ? i->type : TYPE_I32;
  struct nvm_meta ends[] = {number(m, type, low), number(m, type, low + 1 + below(m, 20))};
  struct nvm_meta one = number(m, TYPE_I32, 1);
  struct nvm_meta node = i->op == OP_STORE  ? tuple(m, &one, 1)
                         : i->op == OP_LOAD ? tuple(m, ends, 2)
                                            : loop_node(m);
  return node.index && module_attach(m->m, chain, name, node);
}

/* ---- A broken rule ---- */

/* Any value in place of an operand: mostly one of another type, or one that does not dominate its
 * use, which the verifier must report. */
bool mutate_rule(struct mutator *m) {
  struct nvm_inst_id at = pick_inst(m, has_operand), from = pick_inst(m, inst_is_any);
  if (!at.index || type_equal(function_inst(m->f, from)->type, TYPE_VOID)) return false;
  uint32_t count = function_inst(m->f, at)->operand_count;
  inst_set_operand(m->f, at, (uint32_t)below(m, count), value_of_inst(from));
  return true;
}
