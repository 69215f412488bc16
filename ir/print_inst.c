/* Instructions, one function for each form of ops.def. docs/nvir.md shows the syntax. */
#include "ir/print_internal.h"

static struct nvm_value operand(const struct printer *p, const struct nvm_inst *i, uint32_t k) {
  return inst_operand(p->f, i, k);
}

/* `, ` between operands k..end-1, each with its type. */
static void print_typed_operands(struct printer *p, const struct nvm_inst *i, uint32_t k,
                                 uint32_t end) {
  for (uint32_t first = k; k < end; k++)
    print_format(p, k > first ? ", %V" : "%V", operand(p, i, k));
}

/* `, 1, 0`: the operands from k on, without their type. */
static void print_indices(struct printer *p, const struct nvm_inst *i, uint32_t k) {
  for (; k < i->operand_count; k++) print_format(p, ", %O", operand(p, i, k));
}

static void print_align(struct printer *p, unsigned log2_plus_one) {
  if (log2_plus_one) print_format(p, ", align %U", UINT64_C(1) << (log2_plus_one - 1));
}

static void print_switch(struct printer *p, const struct nvm_inst *i) {
  print_typed_operands(p, i, 0, 2);
  print_word(p, " [\n");
  for (uint32_t k = 2; k + 1 < i->operand_count; k += 2)
    print_format(p, "    %V, %V\n", operand(p, i, k), operand(p, i, k + 1));
  print_word(p, "  ]");
}

static void print_alloca(struct printer *p, const struct nvm_inst *i) {
  if (i->flags & ALLOCA_INALLOCA) print_word(p, "inalloca ");
  if (i->flags & ALLOCA_SWIFTERROR) print_word(p, "swifterror ");
  print_type(p, (struct nvm_type){i->aux});
  struct nvm_value count = operand(p, i, 0);
  nvm_u128 number = 0;
  bool one = const_is_int(p->m, count, &number) && number == 1;
  if (!one || !type_equal(print_type_of(p, count), TYPE_I32)) print_format(p, ", %V", count);
  print_align(p, i->flags & ALLOCA_ALIGN_MASK);
  uint32_t space = type_info(&p->m->types, i->type)->width;
  if (space) print_format(p, ", addrspace(%u)", space);
}

/* ` syncscope("agent") acquire`, for an atomic access; otherwise nothing. */
static void print_ordering(struct printer *p, struct memory_access a, bool failure) {
  if (a.ordering == ORDER_NONE) return;
  if (a.scope != 0) print_format(p, " syncscope(%Q)", p->m->sync_scopes.data[a.scope]);
  print_format(p, " %s", ordering_names[a.ordering]);
  if (failure) print_format(p, " %s", ordering_names[a.failure_ordering]);
}

/* load, store, cmpxchg, atomicrmw: the text after the keyword. */
static void print_memory(struct printer *p, const struct nvm_inst *i) {
  struct memory_access a = memory_access_unpack(i->aux);
  bool exchange = i->op == OP_CMPXCHG, plain = i->op == OP_LOAD || i->op == OP_STORE;
  if (plain && a.ordering != ORDER_NONE) print_word(p, " atomic");
  if (exchange && a.is_weak) print_word(p, " weak");
  if (a.is_volatile) print_word(p, " volatile");
  print_char(p, ' ');
  if (i->op == OP_LOAD) print_format(p, "%T, ", i->type);
  if (i->op == OP_ATOMICRMW) print_format(p, "%s ", rmw_names[a.rmw]);
  print_typed_operands(p, i, 0, i->operand_count);
  print_ordering(p, a, exchange);
  print_align(p, a.align_log2);
}

static void print_phi(struct printer *p, const struct nvm_inst *i) {
  print_type(p, i->type);
  for (uint32_t k = 0; k + 1 < i->operand_count; k += 2)
    print_format(p, k == 0 ? " [ %O, %O ]" : ", [ %O, %O ]", operand(p, i, k),
                 operand(p, i, k + 1));
}

/* ---- Calls ---- */

static void print_arguments(struct printer *p, const struct nvm_inst *i,
                            const struct call_site *site, uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_value v = operand(p, i, k);
    print_format(p, k ? ", %T " : "%T ", print_type_of(p, v));
    print_attributes(p, "", attrlist_parameter(&p->m->attributes, site->attributes, k), " ");
    print_operand(p, v);
  }
}

/* ` [ "tag"(i32 1), "other"() ]`; operands from k on. */
static void print_bundles(struct printer *p, const struct nvm_inst *i, const struct call_site *site,
                          uint32_t k) {
  for (uint32_t b = 0; b < site->bundle_count; b++) {
    const struct operand_bundle *bundle = &p->m->bundles.data[site->first_bundle + b];
    print_format(p, b == 0 ? " [ %Q(" : ", %Q(", bundle->tag);
    print_typed_operands(p, i, k, k + bundle->count);
    print_char(p, ')');
    k += bundle->count;
  }
  if (site->bundle_count) print_word(p, " ]");
}

void print_convention(struct printer *p, uint32_t convention) {
  const char *name = calling_convention_name(convention);
  if (convention == CC_C) return;
  if (name) print_format(p, "%s ", name);
  else print_format(p, "cc%u ", convention);
}

/* The function type is printed only if the arguments do not determine it. */
static void print_callee(struct printer *p, const struct nvm_inst *i,
                         const struct call_site *site) {
  struct nvm_value callee = call_callee(p->f, i);
  struct nvm_type callee_type = print_type_of(p, callee);
  const struct type_info *function_type = type_info(&p->m->types, site->function_type);
  const struct type_info *pointer = type_info(&p->m->types, callee_type);
  if (pointer->width != 0 && pointer->kind == TY_PTR)
    print_format(p, "addrspace(%u) ", pointer->width);
  bool variadic = function_type->flags & TYPE_VARIADIC;
  print_format(p, "%T %O", variadic ? site->function_type : function_type->element, callee);
}

static void print_call(struct printer *p, const struct nvm_inst *i) {
  const struct call_site *site = call_site_of(p->f, i);
  const struct attrlist_info *attributes = attrlist_info(&p->m->attributes, site->attributes);
  uint32_t count = call_arg_count(p->f, i);
  print_convention(p, site->convention);
  print_attributes(p, "", attributes->result, " ");
  print_callee(p, i, site);
  print_char(p, '(');
  print_arguments(p, i, site, count);
  bool forwards_rest = (i->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL &&
                       type_info(&p->m->types, p->f->type)->flags & TYPE_VARIADIC;
  if (forwards_rest) print_word(p, count ? ", ..." : "...");
  print_char(p, ')');
  print_group_reference(p, attributes->function);
  print_bundles(p, i, site, count);
}

static const char *tail_word(const struct nvm_inst *i) {
  static const char *const words[] = {"", "tail ", "musttail ", "notail "};
  return i->op == OP_CALL ? words[i->flags & CALL_TAIL_MASK] : "";
}

/* ---- Debug records ---- */

static void print_record(struct printer *p, const struct nvm_inst *i, struct nvm_meta location) {
  print_format(p, "%s(", dbg_names[i->aux]);
  if (i->operand_count) print_operand(p, operand(p, i, 0));
  print_indices(p, i, 1);
  if (location.index) print_format(p, i->operand_count ? ", %M" : "%M", location);
  print_char(p, ')');
}

/* ---- The forms ---- */

static void print_form(struct printer *p, const struct nvm_inst *i) {
  uint32_t count = i->operand_count;
  switch (op_table[i->op].form) {
    case FORM_NONE:
    case FORM_DBG_RECORD: return;
    case FORM_LOAD:
    case FORM_STORE:
    case FORM_CMPXCHG:
    case FORM_ATOMICRMW:
    case FORM_FENCE: return; /* print_body */
    case FORM_RET:
      if (count == 0) print_word(p, "void");
      break;
    case FORM_SWITCH: print_switch(p, i); return;
    case FORM_ALLOCA: print_alloca(p, i); return;
    case FORM_GEP: print_format(p, "%T, ", (struct nvm_type){i->aux}); break;
    case FORM_CAST: print_format(p, "%V to %T", operand(p, i, 0), i->type); return;
    case FORM_VA_ARG: print_format(p, "%V, %T", operand(p, i, 0), i->type); return;
    case FORM_PHI: print_phi(p, i); return;
    case FORM_CALL: print_call(p, i); return;
    case FORM_UNARY:
    case FORM_BINARY:
    case FORM_CMP: /* operands of one type, printed once */
    case FORM_EXTRACTVALUE: count = 1; break;
    case FORM_INSERTVALUE: count = 2; break;
    case FORM_BR:
    case FORM_CONDBR:
    case FORM_SELECT:
    case FORM_EXTRACTELEMENT:
    case FORM_INSERTELEMENT:
    case FORM_SHUFFLEVECTOR: break;
  }
  print_typed_operands(p, i, 0, count);
  print_indices(p, i, count);
}

/* The text after the keyword: flags, predicate, operands. */
static void print_body(struct printer *p, const struct nvm_inst *i) {
  enum op_form form = op_table[i->op].form;
  switch ((int)form) {
    case FORM_NONE: return;
    case FORM_FENCE: print_ordering(p, memory_access_unpack(i->aux), false); return;
    case FORM_LOAD:
    case FORM_STORE:
    case FORM_CMPXCHG:
    case FORM_ATOMICRMW: print_memory(p, i); return;
    default: break;
  }
  if (form != FORM_ALLOCA) print_flags(p->out, (enum op)i->op, i->flags);
  print_predicate(p, (enum op)i->op, i->aux);
  print_char(p, ' ');
  print_form(p, i);
}

void print_inst_op(const struct nvm_function *f, struct nvm_inst_id i, struct textbuf *out) {
  struct printer p = {.m = f->module, .f = f, .out = out};
  const struct nvm_inst *inst = function_inst(f, i);
  print_word(&p, op_table[inst->op].keyword);
  print_flags(p.out, (enum op)inst->op, inst->flags);
  print_predicate(&p, (enum op)inst->op, inst->aux);
}

void print_inst_text(struct printer *p, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(p->f, id);
  struct nvm_meta location =
      p->f->locations.count > id.index ? p->f->locations.data[id.index] : (struct nvm_meta){0};
  bool record = i->op == OP_DBG_RECORD;
  if (!record && !type_equal(i->type, TYPE_VOID)) print_format(p, "%O = ", value_of_inst(id));
  print_format(p, "%s%s", tail_word(i), op_table[i->op].keyword);
  if (record) {
    print_record(p, i, location);
    return;
  }
  print_body(p, i);
  uint32_t chain = p->f->attachments.count > id.index ? p->f->attachments.data[id.index] : 0;
  if (location.index | chain) print_attachments(p, ", ", location, chain);
}

void print_inst_line(struct printer *p, struct nvm_inst_id id) {
  bool record = function_inst(p->f, id)->op == OP_DBG_RECORD;
  print_word(p, record ? "    " : "  ");
  print_inst_text(p, id);
  print_char(p, '\n');
}
