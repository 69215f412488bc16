/* Calls, and the attributes that functions and call sites share.
 *
 * The type of a direct call may differ from the function's type, as in LLVM (undefined behavior,
 * not malformed), except for intrinsics. */
#include "ir/verify_internal.h"

#include "ir/asm_constraint.h"
#include "ir/intrinsic.h"

/* The owner, type and place of the attributes being checked. */
struct attr_subject {
  struct verifier *v;
  struct nvm_inst_id at;
  struct nvm_type function;
};

static bool attr_fits_type(const struct type_table *t, uint8_t places, struct nvm_type type) {
  return (!(places & IS_POINTERS) || type_is_ptr_or_vector(t, type)) &&
         (!(places & IS_POINTER) || type_is_ptr(t, type)) &&
         (!(places & IS_INT) || type_is_int(t, type));
}

static void verify_attr(const struct attr_subject *s, const struct nvm_attr *a,
                        struct nvm_type type, uint32_t place) {
  const char *keyword = attr_table[a->id].keyword;
  uint8_t places = attr_table[a->id].places;
  bool sized_type = a->id == ATTR_BYVAL || a->id == ATTR_SRET || a->id == ATTR_BYREF;
  if (!(places & place)) {
    verify_fail(s->v, VERIFY_ATTR_PLACE, s->at, "'%s' on a %s", keyword,
                place == ON_FUNCTION ? "function"
                : place == ON_RESULT ? "result"
                                     : "parameter");
  } else if (place != ON_FUNCTION && !attr_fits_type(s->v->types, places, type)) {
    verify_fail(s->v, VERIFY_ATTR_TYPE, s->at, "'%s' on %T", keyword, type);
  } else if (a->id == ATTR_ALIGN && ((a->number & (a->number - 1)) != 0 || a->number == 0 ||
                                     a->number > UINT64_C(1) << 32)) {
    verify_fail(s->v, VERIFY_ATTR_ALIGN, s->at, "'align %U'", a->number);
  } else if (sized_type && a->type.index && !type_is_sized(s->v->types, a->type)) {
    verify_fail(s->v, VERIFY_ATTR_SIZED, s->at, "'%s' of type %T", keyword, a->type);
  }
}

/* Groups of mutually exclusive attributes. */
static void verify_conflicts(const struct attr_subject *s, struct nvm_attrset set) {
  enum { MOST = 6 };
  static const enum attr_id groups[][MOST] = {
      {ATTR_BYVAL, ATTR_SRET, ATTR_BYREF, ATTR_INALLOCA, ATTR_PREALLOCATED, ATTR_NEST},
      {ATTR_BYVAL, ATTR_INREG},
      {ATTR_BYREF, ATTR_INREG},
      {ATTR_ZEROEXT, ATTR_SIGNEXT, ATTR_NOEXT},
      {ATTR_READNONE, ATTR_READONLY, ATTR_WRITEONLY},
      {ATTR_NOINLINE, ATTR_ALWAYSINLINE},
  };
  const struct attr_table_data *t = &s->v->m->attributes;
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    const char *first = NULL;
    for (size_t k = 0; k < MOST && groups[g][k] != ATTR_UNKNOWN; k++) {
      if (!attrset_has(t, set, groups[g][k])) continue;
      const char *keyword = attr_table[groups[g][k]].keyword;
      if (first) verify_fail(s->v, VERIFY_ATTR_CONFLICT, s->at, "'%s' and '%s'", first, keyword);
      first = keyword;
    }
  }
}

static void verify_set(const struct attr_subject *s, struct nvm_attrset set, struct nvm_type type,
                       uint32_t place) {
  const struct attr_table_data *t = &s->v->m->attributes;
  const struct attrset_info *info = &t->sets.data[set.index];
  for (uint32_t i = 0; i < info->count; i++)
    verify_attr(s, &t->attrs.data[info->first + i], type, place);
  if (info->count > 1) verify_conflicts(s, set);
}

static void verify_optnone(const struct attr_subject *s, struct nvm_attrset set) {
  const struct attr_table_data *t = &s->v->m->attributes;
  if (!attrset_find(t, set, ATTR_OPTNONE)) return;
  if (!attrset_find(t, set, ATTR_NOINLINE))
    verify_fail(s->v, VERIFY_ATTR_OPTNONE, s->at, "'optnone' without 'noinline'");
  static const enum attr_id others[] = {ATTR_OPTSIZE, ATTR_MINSIZE, ATTR_ALWAYSINLINE};
  for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    if (attrset_find(t, set, others[k]))
      verify_fail(s->v, VERIFY_ATTR_OPTNONE, s->at, "'optnone' and '%s'",
                  attr_table[others[k]].keyword);
}

/* Rules about all parameters together: sret and returned. */
static void verify_parameters(const struct attr_subject *s, struct nvm_attrlist list) {
  const struct attr_table_data *t = &s->v->m->attributes;
  const struct type_info *function = type_info(s->v->types, s->function);
  uint32_t srets = 0, returned = 0;
  for (uint32_t i = 0; i < attrlist_info(t, list)->count; i++) {
    struct nvm_attrset set = attrlist_parameter(t, list, i);
    if (set.index == 0) continue;
    struct nvm_type type = TYPE_NONE; /* variadic arguments have no type here */
    if (i < function->count) type = type_member(s->v->types, s->function, i);
    if (i < function->count) verify_set(s, set, type, ON_PARAMETER);
    if (attrset_find(t, set, ATTR_SRET) && (srets++ || i > 1))
      verify_fail(s->v, VERIFY_ATTR_SRET, s->at, "'sret' on parameter %u", i + 1);
    if (attrset_find(t, set, ATTR_RETURNED) && (returned++ || !type_equal(type, function->element)))
      verify_fail(s->v, VERIFY_ATTR_RETURNED, s->at, "'returned' on parameter %u of type %T", i + 1,
                  type);
  }
}

void verify_attributes(struct verifier *v, struct nvm_attrlist list, struct nvm_type type,
                       struct nvm_inst_id at) {
  if (list.index == 0) return;
  const struct attr_subject s = {v, at, type};
  const struct attrlist_info *info = attrlist_info(&v->m->attributes, list);
  verify_set(&s, info->function, TYPE_NONE, ON_FUNCTION);
  verify_set(&s, info->result, type_info(v->types, type)->element, ON_RESULT);
  verify_optnone(&s, info->function);
  verify_parameters(&s, list);
}

/* The function of a direct call, or NULL. */
static const struct nvm_function *direct_callee(const struct subject *s) {
  struct nvm_value callee = s->operands[s->count - 1];
  return value_kind(callee) == VALUE_FUNCTION ? module_function(s->v->m, callee) : NULL;
}

static bool verify_call_site(const struct subject *s) {
  const struct nvm_module *m = s->v->m;
  if (s->aux == 0 || s->aux >= m->call_sites.count)
    return verify_fail(s->v, VERIFY_CALL_SITE, s->id, "call site %u", s->aux);
  const struct call_site *site = &m->call_sites.data[s->aux];
  if (type_kind(s->v->types, site->function_type) != TY_FUNCTION)
    return verify_fail(s->v, VERIFY_CALL_SITE, s->id, "%T", site->function_type);
  uint64_t values = 1;
  for (uint32_t k = 0; k < site->bundle_count; k++)
    values += m->bundles.data[site->first_bundle + k].count;
  if (values > s->count)
    return verify_fail(s->v, VERIFY_CALL_SITE, s->id, "%u operands for %U bundle operands",
                       s->count, values - 1);
  return true;
}

static bool verify_arguments(const struct subject *s, const struct call_site *site) {
  const struct type_table *t = s->v->types;
  const struct type_info *type = type_info(t, site->function_type);
  uint32_t count = call_arg_count(s->v->f, function_inst(s->v->f, s->id));
  bool variadic = type->flags & TYPE_VARIADIC;
  if (count < type->count || (count > type->count && !variadic))
    return verify_fail(s->v, VERIFY_CALL_COUNT, s->id, "%u arguments for %U parameters", count,
                       type->count);
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_type found = subject_type(s, k);
    bool fits = k < type->count ? type_equal(found, type_member(t, site->function_type, k))
                                : type_is_first_class(t, found);
    if (!fits)
      return verify_fail(s->v, VERIFY_CALL_ARGUMENT, s->id, "%T as argument %u of %T", found, k + 1,
                         site->function_type);
  }
  return verify_result(s, type->element);
}

static bool verify_immargs(const struct subject *s, const struct nvm_function *callee) {
  const struct attr_table_data *t = &s->v->m->attributes;
  uint32_t count = attrlist_info(t, callee->attributes)->count;
  for (uint32_t k = 0; k < count && k + 1 < s->count; k++) {
    struct nvm_attrset set = attrlist_parameter(t, callee->attributes, k);
    enum value_kind kind = value_kind(s->operands[k]);
    if (set.index == 0 || kind == VALUE_CONST || !attrset_find(t, set, ATTR_IMMARG)) continue;
    return verify_fail(s->v, VERIFY_CALL_IMMARG, s->id, "%V as argument %u", s->operands[k], k + 1);
  }
  return true;
}

/* The number of outputs that the result type holds; -1 if it is not such a type. */
static int64_t result_count(const struct type_table *t, struct nvm_type type) {
  if (type_equal(type, TYPE_VOID)) return 0;
  return type_kind(t, type) == TY_STRUCT ? (int64_t)type_info(t, type)->count : 1;
}

/* Whether the constraints match the call, as in LLVM's InlineAsm::verify; a struct holds two or
 * more outputs. */
static bool verify_asm(const struct subject *s, const struct constant_info *assembly) {
  struct asm_constraint room[ASM_MAX_OPERANDS];
  struct asm_constraints all = {.room = ASM_MAX_OPERANDS, .of = room};
  struct nvm_text word;
  const char *wrong = asm_constraints_read(module_text(s->v->m, assembly->str2), &all, &word);
  if (wrong) return verify_fail(s->v, VERIFY_ASM_CONSTRAINT, s->id, "%s '%t'", wrong, word);
  uint32_t inputs = all.count - all.results,
           arguments = call_arg_count(s->v->f, function_inst(s->v->f, s->id));
  if (inputs != arguments)
    return verify_fail(s->v, VERIFY_ASM_OPERANDS, s->id, "%u inputs and %u arguments", inputs,
                       arguments);
  bool is_struct = type_kind(s->v->types, s->type) == TY_STRUCT;
  if (result_count(s->v->types, s->type) != all.results || is_struct != (all.results > 1))
    return verify_fail(s->v, VERIFY_ASM_OPERANDS, s->id, "%u outputs and a result of type %T",
                       all.results, s->type);
  for (uint32_t n = 0, k = 0; n < all.count; n++) {
    const struct asm_constraint *c = &all.of[n];
    if (c->output && !c->indirect) continue;
    struct nvm_type type = subject_type(s, k++);
    if (c->letter == 'm' && !type_is_ptr(s->v->types, type))
      return verify_fail(s->v, VERIFY_ASM_POINTER, s->id, "%T as argument %u", type, k);
  }
  return true;
}

static bool verify_callee(const struct subject *s, const struct call_site *site) {
  struct nvm_value value = s->operands[s->count - 1];
  if (!type_is_ptr(s->v->types, verify_type(s->v, value)))
    return verify_fail(s->v, VERIFY_CALL_CALLEE, s->id, "%T", verify_type(s->v, value));
  const struct constant_info *c =
      value_kind(value) == VALUE_CONST ? constant_info(&s->v->m->constants, value) : NULL;
  if (c && c->kind == CONST_ASM) return verify_asm(s, c);
  const struct nvm_function *callee = direct_callee(s);
  if (!callee) return true;
  if (callee->intrinsic && !type_equal(callee->type, site->function_type))
    return verify_fail(s->v, VERIFY_CALL_INTRINSIC, s->id,
                       "a call with type %T of a declaration with type %T", site->function_type,
                       callee->type);
  bool variadic = type_info(s->v->types, s->v->f->type)->flags & TYPE_VARIADIC;
  if (callee->intrinsic == INTRINSIC_va_start && !variadic)
    return verify_fail(s->v, VERIFY_CALL_VA_START, s->id, "a call in a function of type %T",
                       s->v->f->type);
  return verify_immargs(s, callee);
}

/* Whether the call is followed by a return of its result, through at most one bitcast. */
static bool returns_result(const struct subject *s) {
  const struct nvm_function *f = s->v->f;
  struct nvm_value result = value_of_inst(s->id);
  struct nvm_inst_id next = function_inst(f, s->id)->next;
  while (!inst_is_none(next) && function_inst(f, next)->op == OP_DBG_RECORD)
    next = function_inst(f, next)->next;
  if (inst_is_none(next)) return false;
  const struct nvm_inst *i = function_inst(f, next);
  if (i->op == OP_BITCAST && value_equal(inst_operand(f, i, 0), result)) {
    result = value_of_inst(next);
    next = i->next;
    if (inst_is_none(next)) return false;
    i = function_inst(f, next);
  }
  if (i->op != OP_RET) return false;
  return i->operand_count == 0 ? type_equal(s->type, TYPE_VOID)
                               : value_equal(inst_operand(f, i, 0), result);
}

static bool verify_musttail(const struct subject *s, const struct call_site *site) {
  const struct nvm_function *f = s->v->f;
  if ((s->flags & CALL_TAIL_MASK) != CALL_MUSTTAIL) return true;
  if (site->convention != f->convention || !type_equal(site->function_type, f->type))
    return verify_fail(s->v, VERIFY_MUSTTAIL_TYPE, s->id,
                       "callee %T with convention %u and caller %T with convention %u",
                       site->function_type, site->convention, f->type, f->convention);
  if (returns_result(s)) return true;
  return verify_fail(s->v, VERIFY_MUSTTAIL_RET, s->id, "another instruction after the call");
}

static void verify_site_attributes(const struct subject *s, const struct call_site *site) {
  if (s->v->site_seen && s->v->site_seen[s->aux]) return;
  if (s->v->site_seen) s->v->site_seen[s->aux] = 1;
  verify_attributes(s->v, site->attributes, site->function_type, s->id);
}

bool verify_call(const struct subject *s) {
  if (!verify_call_site(s)) return false;
  const struct call_site *site = &s->v->m->call_sites.data[s->aux];
  if (!verify_callee(s, site) || !verify_arguments(s, site)) return false;
  verify_site_attributes(s, site);
  return verify_musttail(s, site);
}
