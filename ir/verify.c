/* The verifier's reports, and the checks of whole bodies: links, terminators, use counts,
 * dominance, phi edges. Every step is linear in the size of the function, with arrays by block or
 * instruction in its own arena. Dominance takes one tree, and two comparisons for each use in
 * another block; within a block the order of instructions decides. */
#include "ir/verify_internal.h"

#include <stdarg.h>

const struct verify_rule_info verify_rules[VERIFY_RULE_COUNT] = {
#define VERIFY_RULE(ENUM, id, requirement) [VERIFY_##ENUM] = {id, requirement},
#include "ir/verify_rules.def"
#undef VERIFY_RULE
};

/* Reports. */

static void write_value(const struct verifier *v, struct nvm_value value, struct textbuf *out) {
  struct nvm_str name = {0};
  char sigil = '%';
  switch (value_kind(value)) {
    case VALUE_INST:
      if (v->f && value_index(value) < v->f->insts.count)
        name = v->f->names.data[value_index(value)];
      break;
    case VALUE_ARG:
      if (v->f && v->f->arg_names && value_index(value) < function_arg_count(v->f))
        name = v->f->arg_names[value_index(value)];
      break;
    case VALUE_BLOCK:
      if (v->f && value_index(value) < v->f->blocks.count)
        name = v->f->blocks.data[value_index(value)].name;
      break;
    case VALUE_GLOBAL:
    case VALUE_FUNCTION:
      sigil = '@';
      name = module_symbol(v->m, value)->name;
      break;
    case VALUE_NONE:
    case VALUE_CONST:
    case VALUE_FORWARD: break;
  }
  static const char *const nameless[] = {[VALUE_NONE] = "no value",
                                         [VALUE_INST] = "an unnamed value",
                                         [VALUE_ARG] = "an unnamed parameter",
                                         [VALUE_BLOCK] = "an unnamed block",
                                         [VALUE_CONST] = "a constant",
                                         [VALUE_GLOBAL] = "an unnamed variable",
                                         [VALUE_FUNCTION] = "an unnamed function",
                                         [VALUE_FORWARD] = "an unresolved name"};
  nvm_u128 number;
  bool is_short = value_kind(value) == VALUE_CONST && const_is_int(v->m, value, &number) &&
                  type_info(v->types, verify_type(v, value))->width <= 64;
  if (name.index) textbuf_format(out, "'%c%t'", sigil, module_text(v->m, name));
  else if (is_short) textbuf_signed(out, (int64_t)const_int_signed(v->m, value));
  else textbuf_puts(out, nameless[value_kind(value)]);
}

static void write_found(const struct verifier *v, struct textbuf *out, const char *format,
                        va_list *args) {
  for (const char *p = format; *p; p++) {
    if (*p != '%') {
      textbuf_char(out, *p);
      continue;
    }
    switch (*++p) {
      case 'T':
        textbuf_char(out, '\'');
        type_print(v->types, va_arg(*args, struct nvm_type), out);
        textbuf_char(out, '\'');
        break;
      case 'V': write_value(v, va_arg(*args, struct nvm_value), out); break;
      case 'S': textbuf_text(out, module_text(v->m, va_arg(*args, struct nvm_str))); break;
      default: textbuf_directive(out, *p, args); break;
    }
  }
}

/* The instruction: ` in '%x = add'`. */
static void write_place(const struct verifier *v, struct nvm_inst_id at, struct textbuf *out) {
  if (inst_is_none(at)) return;
  struct nvm_str name = v->f->names.data[at.index];
  textbuf_puts(out, " in '");
  if (name.index) textbuf_format(out, "%%%t = ", module_text(v->m, name));
  uint16_t op = function_inst(v->f, at)->op;
  textbuf_format(out, "%s'", op < OP_COUNT ? op_table[op].keyword : "?");
}

static struct diag_range place_of(const struct verifier *v, struct nvm_inst_id at) {
  struct diag_range range = {.source = v->source};
  if (!v->f) return range;
  uint32_t position = v->f->positions.data[at.index];
  if (inst_is_none(at) || position == 0) return v->f->symbol.where;
  range.begin = position;
  range.end = range.begin + 1;
  return range;
}

static void report(struct verifier *v, enum verify_rule rule, struct diag_range where,
                   struct nvm_inst_id at, const char *format, va_list *args) {
  v->broken = true;
  if (v->sink->error_limit && v->sink->error_count > v->sink->error_limit) return;
  struct textbuf found;
  textbuf_init(&found, &v->arena);
  write_found(v, &found, format, args);
  write_place(v, at, &found);
  struct nvm_text arguments[] = {text_of(verify_rules[rule].id),
                                 text_of(verify_rules[rule].requirement),
                                 {found.bytes ? found.bytes : "", found.length}};
  struct diag *d = diag_report(v->sink, DIAG_VERIFY, where, arguments, 3);
  if (d && v->f) d->function = module_text(v->m, v->f->symbol.name);
}

bool verify_fail(struct verifier *v, enum verify_rule rule, struct nvm_inst_id at,
                 const char *found, ...) {
  va_list args;
  va_start(args, found);
  report(v, rule, place_of(v, at), at, found, &args);
  va_end(args);
  return false;
}

bool verify_fail_at(struct verifier *v, enum verify_rule rule, struct diag_range where,
                    const char *found, ...) {
  va_list args;
  va_start(args, found);
  report(v, rule, where, (struct nvm_inst_id){0}, found, &args);
  va_end(args);
  return false;
}

bool verify_same_lanes(const struct type_table *t, struct nvm_type a, struct nvm_type b) {
  const struct type_info *x = type_info(t, a), *y = type_info(t, b);
  if ((x->kind == TY_VECTOR) != (y->kind == TY_VECTOR)) return false;
  return x->kind != TY_VECTOR || x->count == y->count;
}

/* A body and its side tables. */
struct body {
  struct verifier *v;
  const struct nvm_function *f;
  uint32_t *order;         /* by instruction: its number in layout order; 0: in no block */
  uint32_t *uses;          /* by instruction: its number of uses */
  struct nvm_inst_id *far; /* instructions with operands from other blocks, in layout order */
  uint32_t far_count;
  struct dominance dominance;
  uint32_t *edge_count;         /* by block: edges from it to the current block */
  uint32_t *seen;               /* by block: how many of them the current phi has */
  struct nvm_value *seen_value; /* by block: the value for them */
};

static bool block_is_live(const struct nvm_function *f, uint32_t b) {
  return b != 0 && b < f->blocks.count && !f->blocks.data[b].removed;
}

static const struct nvm_inst_id NOWHERE = {0};

/* Checks the links of a block's instructions, and numbers them. */
static bool check_inst_links(struct body *y, struct nvm_block b, uint32_t *number) {
  const struct nvm_function *f = y->f;
  struct nvm_inst_id last = {0};
  for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i);) {
    if (i.index >= f->insts.count || y->order[i.index] != 0)
      return verify_fail(y->v, VERIFY_BLOCK_LINKS, NOWHERE, "a broken instruction list in %V",
                         value_of_block(b));
    const struct nvm_inst *inst = function_inst(f, i);
    if (inst->block.index != b.index || inst->previous.index != last.index)
      return verify_fail(y->v, VERIFY_BLOCK_LINKS, i, "an instruction of another block");
    if (inst->op >= OP_COUNT)
      return verify_fail(y->v, VERIFY_BLOCK_LINKS, i, "opcode %u", (unsigned)inst->op);
    y->order[i.index] = ++*number;
    last = i;
    i = inst->next;
  }
  if (function_block(f, b)->last.index != last.index)
    return verify_fail(y->v, VERIFY_BLOCK_LINKS, NOWHERE, "a wrong last instruction in %V",
                       value_of_block(b));
  return true;
}

static bool check_links(struct body *y) {
  uint32_t number = 0, blocks = 0;
  struct nvm_block last = {0};
  FOR_EACH_BLOCK (y->f, b) {
    if (++blocks >= y->f->blocks.count || !block_is_live(y->f, b.index) ||
        function_block(y->f, b)->previous.index != last.index)
      return verify_fail(y->v, VERIFY_BLOCK_LINKS, NOWHERE, "a broken block list at %V",
                         value_of_block(b));
    if (!check_inst_links(y, b, &number)) return false;
    last = b;
  }
  if (y->f->last_block.index != last.index)
    return verify_fail(y->v, VERIFY_BLOCK_LINKS, NOWHERE, "a wrong last block");
  return true;
}

/* Checks that operand k of a terminator is a block of the function. */
static bool check_target(struct body *y, struct nvm_inst_id id, uint32_t k) {
  struct nvm_value target = inst_operand(y->f, function_inst(y->f, id), k);
  if (value_kind(target) == VALUE_FORWARD)
    return verify_fail(y->v, VERIFY_OPERAND_FORWARD, id, "an unresolved label");
  if (value_kind(target) != VALUE_BLOCK || !block_is_live(y->f, value_index(target)))
    return verify_fail(y->v, VERIFY_OPERAND_BLOCK, id, "%V as operand %u", target, k);
  if (value_index(target) == y->f->entry.index)
    return verify_fail(y->v, VERIFY_BLOCK_ENTRY, id, "a branch to the entry block");
  return true;
}

static bool check_targets(struct body *y, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(y->f, id);
  uint32_t wanted = i->op == OP_BR ? 1 : i->op == OP_CONDBR ? 3 : i->op == OP_SWITCH ? 2 : 0;
  bool fits = i->op == OP_SWITCH ? i->operand_count >= 2 && i->operand_count % 2 == 0
                                 : wanted == 0 || i->operand_count == wanted;
  if (!fits) return verify_fail(y->v, VERIFY_OPERAND_COUNT, id, "%u operands", i->operand_count);
  bool sound = true;
  uint32_t step = i->op == OP_SWITCH ? 2 : 1;
  for (uint32_t k = i->op == OP_BR ? 0 : 1; wanted && k < i->operand_count; k += step)
    sound &= check_target(y, id, k);
  return sound;
}

static bool check_block_shape(struct body *y, struct nvm_block b) {
  bool sound = true, phis = true;
  FOR_EACH_INST (y->f, b, id) {
    const struct nvm_inst *i = function_inst(y->f, id);
    bool last = inst_is_none(i->next), terminator = op_is_terminator((enum op)i->op);
    if (last != terminator)
      sound = verify_fail(y->v, VERIFY_BLOCK_TERMINATOR, id, "%s at %s of %V",
                          terminator ? "a terminator" : "a non-terminator",
                          last ? "the end" : "an inner position", value_of_block(b));
    if (terminator) sound &= check_targets(y, id);
    if (i->op == OP_PHI && !phis)
      verify_fail(y->v, VERIFY_BLOCK_PHI, id, "a phi after another instruction");
    phis = phis && (i->op == OP_PHI || i->op == OP_DBG_RECORD);
  }
  if (inst_is_none(function_block(y->f, b)->first))
    sound = verify_fail(y->v, VERIFY_BLOCK_TERMINATOR, NOWHERE, "the empty block %V",
                        value_of_block(b));
  return sound;
}

/* Operands. */

static bool inst_is_live(const struct body *y, uint32_t index) {
  return index != 0 && index < y->f->insts.count && y->order[index] != 0;
}

static bool operand_exists(const struct body *y, struct nvm_value value) {
  uint32_t index = value_index(value);
  switch (value_kind(value)) {
    case VALUE_INST: return inst_is_live(y, index);
    case VALUE_ARG: return index < function_arg_count(y->f);
    case VALUE_BLOCK: return block_is_live(y->f, index);
    case VALUE_CONST: return index != 0 && index < y->v->m->constants.infos.count;
    case VALUE_GLOBAL: return index != 0 && index < y->v->m->globals.count;
    case VALUE_FUNCTION: return index != 0 && index < y->v->m->functions.count;
    case VALUE_NONE:
    case VALUE_FORWARD: return false;
  }
  return false;
}

/* Whether an operand of a special kind is allowed here. */
static bool kind_is_allowed(const struct body *y, const struct nvm_inst *i, uint32_t k,
                            struct nvm_value value) {
  bool call = i->op == OP_CALL, callee = call && k == i->operand_count - 1;
  switch ((int)type_kind(y->v->types, value_type(y->f, value))) {
    case TY_LABEL: return i->op == OP_PHI || op_is_terminator((enum op)i->op);
    case TY_METADATA: return (call && !callee) || i->op == OP_DBG_RECORD;
    case TY_TOKEN: return call && !callee;
    case TY_NONE:
    case TY_VOID:
    case TY_FUNCTION: return false;
    default: break;
  }
  bool is_asm = value_kind(value) == VALUE_CONST &&
                constant_info(&y->v->m->constants, value)->kind == CONST_ASM;
  return (!is_asm || callee) && i->op != OP_DBG_RECORD;
}

static bool check_operand(struct body *y, struct nvm_inst_id id, uint32_t k) {
  const struct nvm_inst *i = function_inst(y->f, id);
  struct nvm_value value = inst_operand(y->f, i, k);
  if (value_kind(value) == VALUE_FORWARD)
    return verify_fail(y->v, VERIFY_OPERAND_FORWARD, id, "an unresolved name as operand %u", k);
  if (!operand_exists(y, value))
    return verify_fail(y->v, VERIFY_OPERAND_VALUE, id, "%V as operand %u, which does not exist",
                       value, k);
  if (!kind_is_allowed(y, i, k, value))
    return verify_fail(y->v, VERIFY_OPERAND_KIND, id, "%V of type %T as operand %u", value,
                       value_type(y->f, value), k);
  bool callee = i->op == OP_CALL && k == i->operand_count - 1;
  if (value_kind(value) == VALUE_FUNCTION && !callee && module_function(y->v->m, value)->intrinsic)
    return verify_fail(y->v, VERIFY_INTRINSIC_ADDRESS, id, "%V as operand %u", value, k);
  return true;
}

/* Whether `def` dominates the end of block `b`, or the instruction `use` in it. */
static bool is_computed(const struct body *y, struct nvm_inst_id def, struct nvm_block b,
                        struct nvm_inst_id use) {
  struct nvm_block from = function_inst(y->f, def)->block;
  if (!dominance_reachable(&y->dominance, b)) return true;
  if (from.index == b.index && !inst_is_none(use)) return y->order[def.index] < y->order[use.index];
  return dominance_dominates(&y->dominance, from, b);
}

static void check_dominance(struct body *y, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(y->f, id);
  bool phi = i->op == OP_PHI;
  for (uint32_t k = 0; k < i->operand_count; k += phi ? 2 : 1) {
    struct nvm_value value = inst_operand(y->f, i, k);
    if (value_kind(value) != VALUE_INST) continue;
    struct nvm_block at = i->block;
    if (phi) at.index = value_index(inst_operand(y->f, i, k + 1));
    struct nvm_inst_id def = {value_index(value)};
    if (!is_computed(y, def, at, phi ? NOWHERE : id))
      verify_fail(y->v, VERIFY_DOMINANCE, id, "a use of %V that its definition does not dominate",
                  value);
  }
}

/* Instructions one by one. */

static uint16_t allowed_flags(const struct nvm_inst *i, const struct type_table *types) {
  uint16_t allowed = op_flags((enum op)i->op);
  struct nvm_type type = i->type;
  while (type_kind(types, type) == TY_ARRAY) type = type_info(types, type)->element;
  bool maybe_float = i->op == OP_PHI || i->op == OP_SELECT || i->op == OP_CALL;
  if (maybe_float && !type_is_float_or_vector(types, type)) allowed &= (uint16_t)~INST_FAST;
  if (i->op == OP_CALL) allowed |= CALL_TAIL_MASK;
  if (i->op == OP_ALLOCA) allowed |= ALLOCA_ALIGN_MASK | ALLOCA_INALLOCA | ALLOCA_SWIFTERROR;
  return allowed;
}

/* Results of aggregate type allow fast-math flags if all members are floats, e.g. complex numbers;
 * LLVM's rule for calls. */
static bool is_float_struct(const struct type_table *types, struct nvm_type type) {
  const struct type_info *info = type_info(types, type);
  if (info->kind != TY_STRUCT || info->count == 0) return false;
  for (uint32_t i = 0; i < info->count; i++)
    if (!type_is_float_or_vector(types, type_member(types, type, i))) return false;
  return true;
}

static void check_flags(struct body *y, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(y->f, id);
  if (i->flags == 0) return;
  uint32_t extra = i->flags & ~(uint32_t)allowed_flags(i, y->v->types);
  if (op_table[i->op].flags & OPF_FAST && is_float_struct(y->v->types, i->type))
    extra &= ~(uint32_t)INST_FAST;
  if (extra) verify_fail(y->v, VERIFY_FLAGS, id, "flag bits %u", extra);
}

static void count_uses(struct body *y, const struct nvm_inst *i) {
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value value = inst_operand(y->f, i, k);
    if (value_kind(value) == VALUE_INST && value_index(value) < y->f->insts.count)
      y->uses[value_index(value)]++;
  }
}

/* Whether operand k is an ordinary value computed earlier in the same block: the common case, which
 * needs no further check. */
static bool is_near(const struct body *y, struct nvm_inst_id id, const struct nvm_inst *i,
                    struct nvm_value value) {
  uint32_t index = value_index(value);
  if (value_kind(value) != VALUE_INST || !inst_is_live(y, index)) return false;
  const struct nvm_inst *def = &y->f->insts.data[index];
  enum type_kind kind = type_kind(y->v->types, def->type);
  return def->block.index == i->block.index && y->order[index] < y->order[id.index] &&
         kind >= TY_INT && kind < TY_FUNCTION && i->op != OP_PHI && i->op != OP_DBG_RECORD;
}

static bool check_operands(struct body *y, struct nvm_inst_id id, const struct nvm_inst *i) {
  bool sound = true, far = false, targets_checked = op_is_terminator((enum op)i->op);
  count_uses(y, i);
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value value = inst_operand(y->f, i, k);
    if (is_near(y, id, i, value) || (targets_checked && value_kind(value) == VALUE_BLOCK)) continue;
    far |= value_kind(value) == VALUE_INST;
    sound &= check_operand(y, id, k);
  }
  if (far) y->far[y->far_count++] = id;
  return sound;
}

static void check_inst(struct body *y, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(y->f, id);
  bool sound = check_operands(y, id, i);
  if (i->op == OP_PHI && i->operand_count % 2)
    sound = verify_fail(y->v, VERIFY_OPERAND_COUNT, id, "%u operands", i->operand_count);
  check_flags(y, id);
  if (type_equal(i->type, TYPE_VOID) && y->f->names.data[id.index].index)
    verify_fail(y->v, VERIFY_RESULT_NAME, id, "a result name");
  if (!sound) return;
  struct subject s = {y->v,
                      id,
                      (enum op)i->op,
                      i->flags,
                      i->type,
                      y->f->operands.data + i->first_operand,
                      i->operand_count,
                      i->aux};
  verify_op(&s);
  if (y->f->attachments.data[id.index] || y->f->locations.data[id.index].index)
    verify_attachments(y->v, id);
}

static void check_use_counts(struct body *y) {
  const struct nvm_function *f = y->f;
  for (uint32_t n = 1; n < f->insts.count; n++)
    if (y->order[n] == 0) count_uses(y, &f->insts.data[n]); /* in no block */
  for (uint32_t n = 1; n < f->insts.count; n++)
    if (y->uses[n] != f->uses.data[n])
      verify_fail(y->v, VERIFY_USE_COUNT, (struct nvm_inst_id){n}, "a count of %u for %u uses",
                  f->uses.data[n], y->uses[n]);
}

/* Phis against edges. All phis of a block are compared with the counts of its incoming edges. The
 * arrays by block are reset afterwards, so the cost is linear in edges and operands. */

static bool phi_operand_fits(struct body *y, struct nvm_inst_id id, uint32_t k, bool *reported) {
  const struct nvm_inst *i = function_inst(y->f, id);
  struct nvm_value value = inst_operand(y->f, i, k), from = inst_operand(y->f, i, k + 1);
  uint32_t b = value_index(from);
  if (y->seen[b]++ == 0) {
    y->seen_value[b] = value;
  } else if (!value_equal(y->seen_value[b], value) && !*reported) {
    *reported = true;
    verify_fail(y->v, VERIFY_PHI_SAME, id, "two values for block %V", from);
  }
  if (y->seen[b] <= y->edge_count[b]) return true;
  return verify_fail(y->v, VERIFY_PHI_EDGES, id, "more operands for %V than edges from it", from);
}

static bool phi_is_sound(const struct body *y, const struct nvm_inst *i) {
  for (uint32_t k = 1; k < i->operand_count; k += 2) {
    struct nvm_value from = inst_operand(y->f, i, k);
    if (value_kind(from) != VALUE_BLOCK || !block_is_live(y->f, value_index(from))) return false;
  }
  return i->operand_count % 2 == 0;
}

static void check_phi(struct body *y, struct nvm_inst_id id, struct nvm_block b, uint32_t edges) {
  const struct nvm_inst *i = function_inst(y->f, id);
  if (!phi_is_sound(y, i)) return;
  bool fits = true, reported = false;
  for (uint32_t k = 0; k < i->operand_count && fits; k += 2)
    fits = phi_operand_fits(y, id, k, &reported);
  uint32_t first = y->dominance.first_predecessor[b.index];
  for (uint32_t n = 0; n < edges && fits && i->operand_count / 2 != edges; n++) {
    struct nvm_block from = y->dominance.predecessors[first + n];
    if (y->seen[from.index] < y->edge_count[from.index])
      fits = verify_fail(y->v, VERIFY_PHI_EDGES, id, "no operand for an edge from %V",
                         value_of_block(from));
  }
  for (uint32_t k = 1; k < i->operand_count; k += 2)
    y->seen[value_index(inst_operand(y->f, i, k))] = 0;
}

static void check_phis(struct body *y, struct nvm_block b) {
  struct nvm_inst_id first = function_block(y->f, b)->first;
  uint32_t begin = y->dominance.first_predecessor[b.index];
  uint32_t end = y->dominance.first_predecessor[b.index + 1];
  while (!inst_is_none(first) && function_inst(y->f, first)->op == OP_DBG_RECORD)
    first = function_inst(y->f, first)->next;
  if (inst_is_none(first) || function_inst(y->f, first)->op != OP_PHI) return;
  for (uint32_t n = begin; n < end; n++) y->edge_count[y->dominance.predecessors[n].index]++;
  for (struct nvm_inst_id i = first; !inst_is_none(i); i = function_inst(y->f, i)->next) {
    uint16_t op = function_inst(y->f, i)->op;
    if (op == OP_PHI) check_phi(y, i, b, end - begin);
    else if (op != OP_DBG_RECORD) break;
  }
  for (uint32_t n = begin; n < end; n++) y->edge_count[y->dominance.predecessors[n].index] = 0;
}

/* Whether the operands that the dominance check uses are valid: values in blocks, blocks of
 * phis. */
static bool can_follow(const struct body *y, const struct nvm_inst *i) {
  for (uint32_t k = 0; k < i->operand_count; k++) {
    struct nvm_value value = inst_operand(y->f, i, k);
    if (value_kind(value) == VALUE_INST && !inst_is_live(y, value_index(value))) return false;
  }
  return i->op != OP_PHI || phi_is_sound(y, i);
}

static bool body_allocate(struct body *y) {
  struct arena *a = &y->v->function_arena;
  size_t blocks = y->f->blocks.count;
  y->edge_count = arena_alloc(a, blocks * sizeof *y->edge_count);
  y->seen = arena_alloc(a, blocks * sizeof *y->seen);
  y->seen_value = arena_alloc(a, blocks * sizeof *y->seen_value);
  return y->edge_count && y->seen && y->seen_value && dominance_compute(&y->dominance, y->f, a);
}

static void check_flow(struct body *y) {
  uint32_t n = 0;
  if (!body_allocate(y)) return;
  FOR_EACH_BLOCK (y->f, b) {
    check_phis(y, b);
    for (; n < y->far_count && function_inst(y->f, y->far[n])->block.index == b.index; n++)
      if (can_follow(y, function_inst(y->f, y->far[n]))) check_dominance(y, y->far[n]);
  }
}

static void check_body(struct verifier *v) {
  struct body y = {.v = v, .f = v->f};
  size_t count = v->f->insts.count;
  y.order = arena_alloc(&v->function_arena, count * sizeof *y.order);
  y.uses = arena_alloc(&v->function_arena, count * sizeof *y.uses);
  y.far = arena_alloc(&v->function_arena, count * sizeof *y.far);
  if (!y.far || !check_links(&y)) return;
  bool sound = true;
  FOR_EACH_BLOCK (v->f, b) sound &= check_block_shape(&y, b);
  FOR_EACH_BLOCK (v->f, b)
    FOR_EACH_INST (v->f, b, i) check_inst(&y, i);
  check_use_counts(&y);
  if (sound) check_flow(&y);
}

static void check_function(struct verifier *v, const struct nvm_function *f) {
  v->f = f;
  bool has_type = f->type.index != 0 && type_kind(v->types, f->type) == TY_FUNCTION;
  verify_symbol_function(v, f);
  if (has_type && !function_is_declaration(f)) check_body(v);
  v->f = NULL;
  arena_reset(&v->function_arena);
}

static void verifier_init(struct verifier *v, const struct nvm_module *m, struct diag_sink *sink,
                          uint32_t source) {
  *v = (struct verifier){.m = m,
                         .types = &m->types,
                         .sink = sink,
                         .source = source,
                         .range = strtab_find(&m->strings, "range", strlen("range"))};
  arena_init(&v->arena, m->arena.allocator);
  arena_init_reused(&v->function_arena, m->arena.allocator);
  v->arena.limit_bytes = v->function_arena.limit_bytes = m->arena.limit_bytes;
}

static enum nvm_status verifier_end(struct verifier *v) {
  bool failed = v->arena.failed || v->function_arena.failed || v->sink->arena->failed ||
                module_out_of_memory(v->m);
  arena_free(&v->arena);
  arena_free(&v->function_arena);
  return failed ? NVM_OUT_OF_MEMORY : v->broken ? NVM_REFUSED : NVM_OK;
}

enum nvm_status verify_function(const struct nvm_function *f, struct diag_sink *sink,
                                uint32_t source) {
  struct verifier v;
  verifier_init(&v, f->module, sink, source);
  check_function(&v, f);
  return verifier_end(&v);
}

enum nvm_status verify_module(const struct nvm_module *m, struct diag_sink *sink, uint32_t source) {
  struct verifier v;
  verifier_init(&v, m, sink, source);
  v.site_seen = arena_alloc(&v.arena, m->call_sites.count);
  verify_module_level(&v);
  for (uint32_t k = 0; k < m->symbol_order.count; k++) {
    struct nvm_value symbol = m->symbol_order.data[k];
    if (value_kind(symbol) == VALUE_FUNCTION) check_function(&v, module_function(m, symbol));
  }
  return verifier_end(&v);
}
