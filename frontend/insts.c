/* Instructions: checks what the syntax implies (types written twice, flags, counts) and adds them
 * to the function. Semantic rules are checked by the verifier. */
#include "frontend/insts.h"

#include "frontend/attrs.h"
#include "frontend/names.h"
#include "frontend/report.h"
#include "frontend/symbols.h"
#include "frontend/values.h"
#include "ir/function.h"

struct insts {
  VEC(struct operand_bundle) bundles;
  struct nvm_inst_id last; /* the instruction just made; {0}: it had an error */
  struct written_type call_type;
  struct literal callee;
  uint32_t bundle_first;   /* of the open bundle, among the arguments */
  uint32_t argument_count; /* without bundles; UINT32_MAX: no bundle yet */
};

bool insts_init(struct parser *p) {
  return (p->insts = arena_alloc(&p->scratch, sizeof *p->insts)) != NULL;
}

static const struct type_info *info_of(const struct parser *p, struct nvm_type type) {
  return type_info(&p->m->types, type);
}

/* ---- Adding ---- */

void insts_note_forwards(struct parser *p, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(p->f, i);
  p->saw_forward = false;
  for (uint32_t k = 0; k < inst->operand_count; k++) {
    struct nvm_value v = inst_operand(p->f, inst, k);
    bool waits = value_kind(v) == VALUE_FORWARD;
    if (value_kind(v) == VALUE_CONST) {
      const struct constant_info *c = constant_info(&p->m->constants, v);
      if (c->kind == CONST_METADATA) {
        const struct meta_item *item = meta_item(&p->m->metadata, (struct nvm_meta){c->meta});
        waits = item->kind == META_VALUE && value_kind(item->value) == VALUE_FORWARD;
      }
    }
    struct fixup fix = {i, k};
    if (waits) VEC_PUSH(&p->scratch, &p->fixups, fix);
  }
}

static void broken(struct parser *p) {
  p->insts->last = (struct nvm_inst_id){0};
  p->block_broken = true;
}

static void add(struct parser *p, enum op op, uint32_t flags, struct nvm_type type,
                const struct nvm_value *operands, uint32_t count, uint32_t aux, uint32_t begin) {
  if (p->scratch.failed) { /* operands may be missing; parse_module() reports it */
    broken(p);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (value_is_none(operands[i])) {
      broken(p);
      return;
    }
  }
  if (!p->block.index) {
    p->block = names_new_block(p);
    p->block_broken = false;
  }
  struct nvm_inst_id i = function_add_inst(p->f, op, (uint16_t)flags, type, operands, count, aux);
  p->insts->last = i;
  if (i.index == 0 || p->block.index == 0) return;
  inst_append(p->f, i, p->block);
  p->f->positions.data[i.index] = begin;
  if (p->saw_forward) insts_note_forwards(p, i);
  if (op_is_terminator(op)) p->block = (struct nvm_block){0};
}

/* Adds the op with the flags written after it. */
static void add_written(struct parser *p, const struct token *op, struct nvm_type type,
                        const struct nvm_value *operands, uint32_t count, uint32_t aux) {
  uint16_t flags = token_flags(op);
  if (!values_check_flags(p, token_op(op), op, flags)) {
    broken(p);
    return;
  }
  if (flags & INST_INBOUNDS) flags &= (uint16_t)~INST_NUSW; /* implied */
  add(p, token_op(op), flags, type, operands, count, aux, op->begin);
}

void insts_plain(struct parser *p, const struct token *op, struct nvm_type type,
                 const struct operand *operands, uint32_t count) {
  struct nvm_value values[3];
  for (uint32_t i = 0; i < count; i++) values[i] = operands[i].value;
  add_written(p, op, type, values, count, 0);
}

void insts_list(struct parser *p, const struct token *op, struct list l) {
  enum op o = token_op(op);
  struct nvm_type type = TYPE_VOID;
  if (o != OP_SWITCH) type = values_op_type(p, o, op, p->stack.data + l.first, l.count);
  const struct nvm_value *operands = values_take(p, l);
  if (type.index != 0) add_written(p, op, type, operands, l.count, 0);
  else broken(p);
}

void insts_binary(struct parser *p, const struct token *op, const struct operand *a,
                  const struct literal *b) {
  struct nvm_value values[2] = {a->value, values_resolve(p, a->type, b)};
  add_written(p, op, a->type, values, 2, 0);
}

void insts_compare(struct parser *p, const struct token *op, const struct token *predicate,
                   const struct operand *a, const struct literal *b) {
  struct nvm_value values[2] = {a->value, values_resolve(p, a->type, b)};
  struct nvm_type type = TYPE_I1;
  if (info_of(p, a->type)->kind == TY_VECTOR)
    type = type_with_lanes_of(&p->m->types, TYPE_I1, a->type);
  add_written(p, op, type, values, 2, values_predicate(p, token_op(op), predicate));
}

void insts_cast(struct parser *p, const struct token *op, const struct operand *o,
                const struct written_type *to) {
  if (!type_is_first_class(&p->m->types, to->type)) {
    report(p, DIAG_BAD_TYPE, to->begin, to->end, report_type(p, to->type), "the type of a value",
           NULL);
    broken(p);
    return;
  }
  insts_plain(p, op, to->type, o, 1);
}

/* ---- Memory ---- */

static bool check_object(struct parser *p, const struct written_type *t) {
  enum type_kind kind = type_kind(&p->m->types, t->type);
  if (kind >= TY_INT && kind != TY_FUNCTION) return true;
  report(p, DIAG_BAD_TYPE, t->begin, t->end, report_type(p, t->type), "the type of an object",
         NULL);
  broken(p);
  return false;
}

void insts_alloca(struct parser *p, const struct token *op, uint32_t flags,
                  const struct written_type *type, const struct operand *count) {
  struct operand one = {.type = TYPE_I32};
  if (!count) {
    one.value = const_int(p->m, TYPE_I32, 1);
    count = &one;
  }
  if (!check_object(p, type)) return;
  add(p, OP_ALLOCA, flags, TYPE_PTR, &count->value, 1, type->type.index, op->begin);
}

void insts_align(struct parser *p, const struct token *t) {
  uint32_t log2;
  if (!attrs_alignment(p, t, &log2) || p->insts->last.index == 0) return;
  struct nvm_inst *i = function_inst(p->f, p->insts->last);
  i->flags = (uint16_t)((i->flags & ~ALLOCA_ALIGN_MASK) | log2);
}

void insts_alloca_space(struct parser *p, const struct token *space) {
  uint64_t number;
  if (!values_number(p, space, PARSE_MAX_NUMBER, &number) || p->insts->last.index == 0) return;
  function_inst(p->f, p->insts->last)->type = type_ptr(&p->m->types, (uint32_t)number);
}

void insts_access_align(struct parser *p, const struct token *t) {
  uint32_t log2 = 0;
  attrs_alignment(p, t, &log2);
  p->access.align_log2 = log2 & 63;
}

void insts_scope(struct parser *p, const struct token *name) {
  uint32_t scope = module_sync_scope(p->m, names_string(p, name));
  p->access.scope = scope & 255;
}

/* `atomic` requires an ordering and vice versa; atomicrmw and fence have no `atomic`. */
static bool check_atomic(struct parser *p, const struct token *op) {
  bool ordered = p->access.ordering != ORDER_NONE;
  bool atomic = token_flags(op) & ACCESS_ATOMIC;
  p->access.is_volatile = (token_flags(op) & ACCESS_VOLATILE) != 0;
  if (ordered == atomic) return true;
  report(p, DIAG_NOT_ATOMIC, op->begin, op->begin + op->length,
         ordered ? "an access with an ordering needs the word 'atomic'"
                 : "an atomic access needs an ordering",
         NULL, NULL);
  broken(p);
  return false;
}

void insts_load(struct parser *p, const struct token *op, const struct written_type *type,
                const struct operand *pointer) {
  if (!check_object(p, type) || !check_atomic(p, op)) return;
  if (!values_check_pointee(p, pointer, type->type, type->begin)) broken(p);
  else add(p, OP_LOAD, 0, type->type, &pointer->value, 1, memory_access_pack(p->access), op->begin);
}

void insts_store(struct parser *p, const struct token *op, const struct operand *value,
                 const struct operand *pointer) {
  struct nvm_value values[2] = {value->value, pointer->value};
  if (!check_atomic(p, op)) return;
  if (!values_check_pointee(p, pointer, value->type, value->begin)) broken(p);
  else add(p, OP_STORE, 0, TYPE_VOID, values, 2, memory_access_pack(p->access), op->begin);
}

void insts_fence(struct parser *p, const struct token *op) {
  struct token atomic = *op;
  atomic.number |= ACCESS_ATOMIC << 16;
  if (check_atomic(p, &atomic))
    add(p, OP_FENCE, 0, TYPE_VOID, NULL, 0, memory_access_pack(p->access), op->begin);
}

static bool same_type(struct parser *p, const struct operand *a, struct nvm_type wanted) {
  if (type_equal(a->type, wanted)) return true;
  report_token(p, DIAG_VALUE_TYPE, a->begin, report_type(p, a->type), report_type(p, wanted));
  broken(p);
  return false;
}

void insts_cmpxchg(struct parser *p, const struct token *op, const struct operand *operands) {
  struct nvm_value values[3] = {operands[0].value, operands[1].value, operands[2].value};
  struct nvm_type members[2] = {operands[1].type, TYPE_I1};
  if (!same_type(p, &operands[2], operands[1].type)) return;
  if (!values_check_pointee(p, &operands[0], operands[1].type, operands[1].begin)) {
    broken(p);
    return;
  }
  struct nvm_type type = type_struct(&p->m->types, members, 2, false);
  p->access.is_volatile = (token_flags(op) & ACCESS_VOLATILE) != 0;
  p->access.is_weak = (token_flags(op) & ACCESS_WEAK) != 0;
  add(p, OP_CMPXCHG, 0, type, values, 3, memory_access_pack(p->access), op->begin);
}

void insts_atomicrmw(struct parser *p, const struct token *op, const struct token *rmw,
                     const struct operand *operands) {
  uint32_t number = 0;
  while (number < RMW_COUNT && (strlen(rmw_names[number]) != rmw->length ||
                                memcmp(rmw_names[number], p->text + rmw->begin, rmw->length) != 0))
    number++;
  if (number == RMW_COUNT) {
    report_token(p, DIAG_RMW_UNKNOWN, rmw->begin, NULL, NULL);
    broken(p);
    return;
  }
  struct token atomic = *op;
  atomic.number |= ACCESS_ATOMIC << 16;
  if (!check_atomic(p, &atomic)) return;
  if (!values_check_pointee(p, &operands[0], operands[1].type, operands[1].begin)) {
    broken(p);
    return;
  }
  struct nvm_value values[2] = {operands[0].value, operands[1].value};
  p->access.rmw = number & 31;
  add(p, OP_ATOMICRMW, 0, operands[1].type, values, 2, memory_access_pack(p->access), op->begin);
}

void insts_gep(struct parser *p, const struct token *op, const struct written_type *element,
               struct list l) {
  const struct operand *operands = p->stack.data + l.first;
  struct nvm_type type = TYPE_NONE;
  if (check_object(p, element) &&
      values_check_pointee(p, &operands[0], element->type, element->begin))
    type = values_gep_type(p, operands, l.count);
  const struct nvm_value *values = values_take(p, l);
  if (type.index == 0) broken(p);
  else add_written(p, op, type, values, l.count, element->type.index);
}

/* ---- The rest ---- */

void insts_member(struct parser *p, const struct token *op, struct list l) {
  const struct operand *operands = p->stack.data + l.first;
  uint32_t given = token_op(op) == OP_INSERTVALUE ? 2 : 1, written = 0;
  struct nvm_type type = operands[0].type, member = TYPE_NONE;
  while (written < l.count && !state_is_index(&operands[written])) written++;
  if (written != given)
    report(p, DIAG_OPERAND_COUNT, op->begin, op->begin + op->length, op_table[token_op(op)].keyword,
           report_number(p, given), report_number(p, written));
  else member = values_member_type(p, type, operands + given, l.count - given);
  if (member.index && given == 2 && !same_type(p, &operands[1], member)) member = TYPE_NONE;
  const struct nvm_value *values = values_take(p, l);
  if (member.index == 0) broken(p);
  else add(p, token_op(op), 0, given == 2 ? type : member, values, l.count, 0, op->begin);
}

void insts_incoming(struct parser *p, struct list *l, const struct literal *value,
                    const struct token *block) {
  struct operand v = {.value = values_resolve(p, p->phi_type, value), .type = p->phi_type};
  struct operand b = {.value = names_block(p, block), .type = TYPE_LABEL};
  if (l->count == 0)
    l->first = p->stack.count; /* element types of vectors of pointers are not kept */
  values_push(p, l, &v);
  values_push(p, l, &b);
}

void insts_phi(struct parser *p, const struct token *op, struct list l) {
  const struct nvm_value *values = values_take(p, l);
  add_written(p, op, p->phi_type, values, l.count, 0);
}

struct operand insts_label(struct parser *p, const struct token *t) {
  return (struct operand){
      .value = names_block(p, t), .type = TYPE_LABEL, .begin = names_begin(p, t)};
}

void insts_dbg(struct parser *p, const struct token *op, struct list l) {
  const char *text = p->text + op->begin + strlen("#dbg_");
  size_t length = op->length - strlen("#dbg_");
  uint32_t kind = 0;
  while (kind < DBG_COUNT &&
         (strlen(dbg_names[kind]) != length || memcmp(dbg_names[kind], text, length) != 0))
    kind++;
  const struct nvm_value *values = values_take(p, l);
  if (kind == DBG_COUNT) report_token(p, DIAG_DBG_RECORD_UNKNOWN, op->begin, NULL, NULL);
  else add(p, OP_DBG_RECORD, 0, TYPE_VOID, values, l.count, kind, op->begin);
}

/* ---- Calls ---- */

void insts_open_call(struct parser *p, const struct written_type *type,
                     const struct literal *callee) {
  symbols_check_prefixes(p, PREFIX_CONVENTION | PREFIX_ATTRIBUTE | PREFIX_FLAG | PREFIX_SPACE,
                         type->begin);
  p->result_set = attrs_close(p, type->pointee);
  p->insts->call_type = *type;
  p->insts->callee = *callee;
  p->arguments.count = 0;
  p->insts->bundles.count = 0;
  p->insts->argument_count = UINT32_MAX;
}

void insts_argument(struct parser *p, const struct operand *o) {
  bool in_bundle = p->insts->argument_count != UINT32_MAX; /* the attributes are the call's */
  struct argument a = {*o, in_bundle ? (struct nvm_attrset){0} : attrs_close(p, o->pointee)};
  VEC_PUSH(&p->scratch, &p->arguments, a);
}

void insts_open_bundle(struct parser *p) {
  if (p->insts->argument_count == UINT32_MAX) p->insts->argument_count = p->arguments.count;
  p->insts->bundle_first = p->arguments.count;
}

void insts_close_bundle(struct parser *p, const struct token *tag) {
  struct operand_bundle b = {names_string(p, tag), p->arguments.count - p->insts->bundle_first};
  VEC_PUSH(&p->scratch, &p->insts->bundles, b);
}

/* The function type of the call: as written, or built from the types of result and arguments. */
static struct nvm_type call_function_type(struct parser *p, uint32_t count) {
  if (info_of(p, p->insts->call_type.type)->kind == TY_FUNCTION) return p->insts->call_type.type;
  uint32_t first = p->types.count;
  for (uint32_t i = 0; i < count; i++)
    VEC_PUSH(&p->scratch, &p->types, p->arguments.data[i].operand.type);
  const struct nvm_type *types = p->types.data ? p->types.data + first : NULL;
  p->types.count = first;
  return type_function(&p->m->types, p->insts->call_type.type, types, count, false);
}

static bool check_arguments(struct parser *p, const struct token *op, struct nvm_type type,
                            uint32_t count) {
  const struct type_info *info = info_of(p, type);
  bool variadic = info->flags & TYPE_VARIADIC;
  if (count < info->count || (count > info->count && !variadic)) {
    report(p, DIAG_CALL_ARGUMENTS, op->begin, op->begin + op->length, report_number(p, info->count),
           report_number(p, count), NULL);
    return false;
  }
  for (uint32_t i = 0; i < info->count; i++)
    if (!same_type(p, &p->arguments.data[i].operand, type_member(&p->m->types, type, i)))
      return false;
  return true;
}

/* The called function. An intrinsic needs no declaration: its first call defines the type. */
static struct nvm_value call_target(struct parser *p, struct nvm_type type) {
  const struct literal *l = &p->insts->callee;
  uint32_t space = p->prefixes.address_space;
  if (l->kind == LIT_ASM) return l->value;
  if (l->kind != LIT_GLOBAL) return values_resolve(p, type_ptr(&p->m->types, space), l);
  struct token name = {l->begin, l->length, l->id};
  struct nvm_value v = names_symbol(p, &name, true);
  if (value_is_none(v)) return v;
  names_note_use(p, v, &name, space);
  struct symbol_use *use = names_use(p, v);
  if (use && use->call_end == 0) {
    use->call_begin = names_begin(p, &name);
    use->call_end = name.begin + name.length;
  }
  struct nvm_function *f = value_kind(v) == VALUE_FUNCTION ? module_function(p->m, v) : NULL;
  if (f && !f->symbol.defined && f->type.index == 0) f->type = type;
  return v;
}

/* Arguments, bundle operands and callee as values. */
static const struct nvm_value *call_operands(struct parser *p, struct nvm_value callee) {
  uint32_t count = p->arguments.count;
  if (!VEC_RESERVE(&p->scratch, &p->values, (uint64_t)count + 1)) return NULL;
  for (uint32_t i = 0; i < count; i++) p->values.data[i] = p->arguments.data[i].operand.value;
  p->values.data[count] = callee;
  return p->values.data;
}

static uint32_t call_site(struct parser *p, struct nvm_type type, uint32_t count) {
  struct nvm_attrset own = attrs_close(p, TYPE_NONE);
  struct call_site site = {.function_type = type, .convention = p->prefixes.convention};
  site.attributes = symbols_attribute_list(p, own, p->result_set, count);
  uint32_t first = p->m->bundles.count;
  site.first_bundle = p->insts->bundles.count ? first : 0;
  site.bundle_count = p->insts->bundles.count;
  for (uint32_t i = 0; i < p->insts->bundles.count; i++)
    if (!VEC_PUSH(&p->m->arena, &p->m->bundles, p->insts->bundles.data[i])) return 0;
  uint32_t made = module_call_site(p->m, site);
  if (p->m->call_sites.data[made].first_bundle != first) p->m->bundles.count = first;
  return made;
}

void insts_call(struct parser *p, const struct token *op) {
  uint32_t count =
      p->insts->argument_count == UINT32_MAX ? p->arguments.count : p->insts->argument_count;
  struct nvm_type type = call_function_type(p, count);
  uint32_t site = call_site(p, type, count);
  if (type.index == 0 || !values_check_flags(p, OP_CALL, op, p->prefixes.flags) ||
      !check_arguments(p, op, type, count)) {
    broken(p);
    return;
  }
  struct nvm_value callee = call_target(p, type);
  const struct nvm_value *operands = call_operands(p, callee);
  if (!operands) return;
  add(p, OP_CALL, (uint32_t)op->number | p->prefixes.flags, info_of(p, type)->element, operands,
      p->arguments.count + 1, site, op->begin);
}

/* ---- Statements ---- */

void insts_finish(struct parser *p, const struct token *name) {
  p->has_assigned = false;
  p->access = (struct memory_access){0};
  if (p->insts->last.index == 0) {
    if (name) names_mark_broken(p, name);
    return;
  }
  if (!type_equal(function_inst(p->f, p->insts->last)->type, TYPE_VOID)) {
    names_define(p, name, p->insts->last);
  } else if (name) {
    report_token(p, DIAG_VOID_NAMED, names_begin(p, name), NULL, NULL);
    names_mark_broken(p, name);
  }
}

void insts_attach(struct parser *p, const struct token *kind, struct nvm_meta node) {
  if (p->insts->last.index == 0) return;
  if (kind->length == 3 && memcmp(p->text + kind->begin, "dbg", 3) == 0) {
    p->f->locations.data[p->insts->last.index] = node;
    return;
  }
  module_attach(p->m, &p->f->attachments.data[p->insts->last.index], names_string(p, kind), node);
}

void insts_broken(struct parser *p) {
  broken(p);
  if (p->f && p->has_assigned) names_mark_broken(p, &p->assigned);
  p->has_assigned = p->saw_forward = false;
  p->access = (struct memory_access){0};
  p->stack.count = p->types.count = p->entries.count = 0;
  p->attributes.count = p->arguments.count = p->attachments.count = 0;
}
