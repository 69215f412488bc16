/* Instructions, one function for each form of ops.def. The shapes are drawn in docs/nvir.md. */
#include "ir/print_internal.h"

static struct nvm_value operand(const struct printer *p, const struct nvm_inst *i, uint32_t k) {
  return inst_operand(p->f, i, k);
}

/* `, ` between operands k..end-1, each with its type. */
static void print_typed_operands(struct printer *p, const struct nvm_inst *i, uint32_t k,
                                 uint32_t end) {
  for (uint32_t first = k; k < end; k++) {
    if (k > first) print_word(p, ", ");
    print_typed(p, operand(p, i, k));
  }
}

/* `T a, b`: operands of one type, written once. */
static void print_same_type_operands(struct printer *p, const struct nvm_inst *i) {
  print_typed(p, operand(p, i, 0));
  for (uint32_t k = 1; k < i->operand_count; k++) {
    print_word(p, ", ");
    print_operand(p, operand(p, i, k));
  }
}

static void print_align(struct printer *p, unsigned log2_plus_one) {
  if (log2_plus_one == 0) return;
  print_word(p, ", align ");
  print_number(p, UINT64_C(1) << (log2_plus_one - 1));
}

static void print_switch(struct printer *p, const struct nvm_inst *i) {
  print_typed_operands(p, i, 0, 2);
  print_word(p, " [\n");
  for (uint32_t k = 2; k + 1 < i->operand_count; k += 2) {
    print_word(p, "    ");
    print_typed_operands(p, i, k, k + 2);
    print_char(p, '\n');
  }
  print_word(p, "  ]");
}

static void print_alloca(struct printer *p, const struct nvm_inst *i) {
  if (i->flags & ALLOCA_INALLOCA) print_word(p, "inalloca ");
  if (i->flags & ALLOCA_SWIFTERROR) print_word(p, "swifterror ");
  print_type(p, (struct nvm_type){i->aux});
  struct nvm_value count = operand(p, i, 0);
  nvm_u128 number = 0;
  bool one = const_is_int(p->m, count, &number) && number == 1;
  if (!one || !type_equal(print_type_of(p, count), TYPE_I32)) {
    print_word(p, ", ");
    print_typed(p, count);
  }
  print_align(p, i->flags & ALLOCA_ALIGN_MASK);
  uint32_t space = type_info(&p->m->types, i->type)->width;
  if (space == 0) return;
  print_word(p, ", addrspace(");
  print_number(p, space);
  print_char(p, ')');
}

/* ` syncscope("agent") acquire`, for the orderings given; nothing if the access is not atomic. */
static void print_ordering(struct printer *p, struct memory_access a, bool failure) {
  if (a.ordering == ORDER_NONE) return;
  if (a.scope != 0) {
    print_quoted(p, " syncscope(", p->m->sync_scopes.data[a.scope]);
    print_char(p, ')');
  }
  print_char(p, ' ');
  print_word(p, ordering_names[a.ordering]);
  if (!failure) return;
  print_char(p, ' ');
  print_word(p, ordering_names[a.failure_ordering]);
}

/* load, store, cmpxchg, atomicrmw: all that stands behind the keyword. */
static void print_memory(struct printer *p, const struct nvm_inst *i) {
  struct memory_access a = memory_access_unpack(i->aux);
  bool load = i->op == OP_LOAD, store = i->op == OP_STORE, exchange = i->op == OP_CMPXCHG;
  if ((load || store) && a.ordering != ORDER_NONE) print_word(p, " atomic");
  if (exchange && a.is_weak) print_word(p, " weak");
  if (a.is_volatile) print_word(p, " volatile");
  print_char(p, ' ');
  if (load) {
    print_type(p, i->type);
    print_word(p, ", ");
  } else if (i->op == OP_ATOMICRMW) {
    print_word(p, rmw_names[a.rmw]);
    print_char(p, ' ');
  }
  print_typed_operands(p, i, 0, i->operand_count);
  print_ordering(p, a, exchange);
  print_align(p, a.align_log2);
}

static void print_gep(struct printer *p, const struct nvm_inst *i) {
  print_type(p, (struct nvm_type){i->aux});
  print_word(p, ", ");
  print_typed_operands(p, i, 0, i->operand_count);
}

static void print_phi(struct printer *p, const struct nvm_inst *i) {
  print_type(p, i->type);
  for (uint32_t k = 0; k + 1 < i->operand_count; k += 2) {
    print_word(p, k == 0 ? " [ " : ", [ ");
    print_operand(p, operand(p, i, k));
    print_word(p, ", ");
    print_operand(p, operand(p, i, k + 1));
    print_word(p, " ]");
  }
}

/* `, 1, 0`: the constants from operand k on, without their type. */
static void print_indices(struct printer *p, const struct nvm_inst *i, uint32_t k) {
  for (; k < i->operand_count; k++) {
    print_word(p, ", ");
    print_operand(p, operand(p, i, k));
  }
}

/* ---- Calls ---- */

static void print_arguments(struct printer *p, const struct nvm_inst *i,
                            const struct call_site *site, uint32_t count) {
  const struct attr_table_data *attributes = &p->m->attributes;
  for (uint32_t k = 0; k < count; k++) {
    if (k) print_word(p, ", ");
    struct nvm_value v = operand(p, i, k);
    print_type(p, print_type_of(p, v));
    print_char(p, ' ');
    struct nvm_attrset set = attrlist_parameter(attributes, site->attributes, k);
    if (set.index) {
      print_attributes(p, set);
      print_char(p, ' ');
    }
    print_operand(p, v);
  }
}

/* ` [ "tag"(i32 1), "other"() ]`; operands from k on. */
static void print_bundles(struct printer *p, const struct nvm_inst *i,
                          const struct call_site *site, uint32_t k) {
  for (uint32_t b = 0; b < site->bundle_count; b++) {
    const struct operand_bundle *bundle = &p->m->bundles.data[site->first_bundle + b];
    print_quoted(p, b == 0 ? " [ " : ", ", bundle->tag);
    print_char(p, '(');
    print_typed_operands(p, i, k, k + bundle->count);
    print_char(p, ')');
    k += bundle->count;
  }
  if (site->bundle_count) print_word(p, " ]");
}

void print_convention(struct printer *p, uint32_t convention) {
  if (convention == CC_C) return;
  const char *name = calling_convention_name(convention);
  if (name) {
    print_word(p, name);
  } else {
    print_word(p, "cc");
    print_number(p, convention);
  }
  print_char(p, ' ');
}

/* The function type is written out only where the arguments don't give it. */
static void print_callee(struct printer *p, const struct nvm_inst *i, const struct call_site *site) {
  struct nvm_value callee = call_callee(p->f, i);
  const struct type_info *function_type = type_info(&p->m->types, site->function_type);
  struct nvm_type pointer = print_type_of(p, callee);
  uint32_t space = type_info(&p->m->types, pointer)->width;
  if (space != 0 && type_kind(&p->m->types, pointer) == TY_PTR) {
    print_word(p, "addrspace(");
    print_number(p, space);
    print_word(p, ") ");
  }
  bool variadic = function_type->flags & TYPE_VARIADIC;
  print_type(p, variadic ? site->function_type : function_type->element);
  print_char(p, ' ');
  print_operand(p, callee);
}

static void print_call(struct printer *p, const struct nvm_inst *i) {
  const struct call_site *site = call_site_of(p->f, i);
  const struct attrlist_info *attributes = attrlist_info(&p->m->attributes, site->attributes);
  uint32_t count = call_arg_count(p->f, i);
  print_convention(p, site->convention);
  if (attributes->result.index) {
    print_attributes(p, attributes->result);
    print_char(p, ' ');
  }
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
  print_word(p, dbg_names[i->aux]);
  print_char(p, '(');
  for (uint32_t k = 0; k < i->operand_count; k++) {
    if (k) print_word(p, ", ");
    print_operand(p, operand(p, i, k));
  }
  if (location.index) {
    if (i->operand_count) print_word(p, ", ");
    print_meta(p, location);
  }
  print_char(p, ')');
}

/* ---- The forms ---- */

static void print_form(struct printer *p, const struct nvm_inst *i) {
  switch (op_table[i->op].form) {
  case FORM_NONE:
  case FORM_DBG_RECORD: return;
  case FORM_RET:
    if (i->operand_count == 0) print_word(p, "void");
    print_typed_operands(p, i, 0, i->operand_count);
    return;
  case FORM_SWITCH: print_switch(p, i); return;
  case FORM_UNARY:
  case FORM_BINARY:
  case FORM_CMP: print_same_type_operands(p, i); return;
  case FORM_ALLOCA: print_alloca(p, i); return;
  case FORM_LOAD:
  case FORM_STORE:
  case FORM_CMPXCHG:
  case FORM_ATOMICRMW:
  case FORM_FENCE: return; /* print_body */
  case FORM_GEP: print_gep(p, i); return;
  case FORM_CAST:
    print_typed(p, operand(p, i, 0));
    print_word(p, " to ");
    print_type(p, i->type);
    return;
  case FORM_VA_ARG:
    print_typed(p, operand(p, i, 0));
    print_word(p, ", ");
    print_type(p, i->type);
    return;
  case FORM_PHI: print_phi(p, i); return;
  case FORM_CALL: print_call(p, i); return;
  case FORM_BR:
  case FORM_CONDBR:
  case FORM_SELECT:
  case FORM_EXTRACTELEMENT:
  case FORM_INSERTELEMENT:
  case FORM_SHUFFLEVECTOR: print_typed_operands(p, i, 0, i->operand_count); return;
  case FORM_EXTRACTVALUE:
    print_typed_operands(p, i, 0, 1);
    print_indices(p, i, 1);
    return;
  case FORM_INSERTVALUE:
    print_typed_operands(p, i, 0, 2);
    print_indices(p, i, 2);
    return;
  }
}

static bool is_memory_form(enum op_form form) {
  return form == FORM_LOAD || form == FORM_STORE || form == FORM_CMPXCHG || form == FORM_ATOMICRMW;
}

/* What follows the keyword: flags, predicate, and the form's own text. */
static void print_body(struct printer *p, const struct nvm_inst *i) {
  enum op_form form = op_table[i->op].form;
  if (form == FORM_NONE) return;
  if (form == FORM_FENCE) {
    print_ordering(p, memory_access_unpack(i->aux), false);
    return;
  }
  if (is_memory_form(form)) {
    print_memory(p, i);
    return;
  }
  if (form != FORM_ALLOCA) print_flags(p, (enum op)i->op, i->flags);
  if (form == FORM_CMP) {
    print_char(p, ' ');
    print_word(p, i->op == OP_ICMP ? icmp_names[i->aux] : fcmp_names[i->aux]);
  }
  print_char(p, ' ');
  print_form(p, i);
}

static void print_result(struct printer *p, struct nvm_inst_id id, const struct nvm_inst *i) {
  if (type_equal(i->type, TYPE_VOID)) return;
  print_operand(p, value_of_inst(id));
  print_word(p, " = ");
}

void print_inst_text(struct printer *p, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(p->f, id);
  struct nvm_meta location = p->f->locations.count > id.index ? p->f->locations.data[id.index]
                                                              : (struct nvm_meta){0};
  if (i->op != OP_DBG_RECORD) {
    print_result(p, id, i);
    print_word(p, tail_word(i));
  }
  print_word(p, op_table[i->op].keyword);
  if (i->op == OP_DBG_RECORD) {
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
