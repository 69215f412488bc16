/* Interval of an integer by !range or range(); see stated_range.h. Metadata with several intervals,
 * and numbers of more than MAX_DIGITS digits, are not understood. */
#include "analysis/stated_range.h"

#include "ir/function.h"

/* From `low` up to, and without, `end`. */
static bool set_interval(uint32_t width, uint64_t low, uint64_t end, uint64_t *to_low,
                         uint64_t *to_high) {
  uint64_t mask = width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
  low &= mask;
  end &= mask;
  if (low >= end) return false;
  *to_low = low;
  *to_high = end - 1;
  return true;
}

/* Reads a number at *at, and moves *at past it. */
static bool read_number(struct nvm_text text, size_t *at, uint64_t *number) {
  enum { MAX_DIGITS = 18 };
  bool negative = *at < text.length && text.bytes[*at] == '-';
  size_t begin = *at += negative;
  for (*number = 0; *at < text.length && text.bytes[*at] >= '0' && text.bytes[*at] <= '9'; ++*at)
    *number = *number * 10 + (uint64_t)(text.bytes[*at] - '0');
  if (negative) *number = 0 - *number;
  return *at > begin && *at - begin <= MAX_DIGITS;
}

/* Reads the text of an attribute, `i32 0, 192`. */
static bool read_interval(const struct nvm_module *m, struct nvm_attrset set, uint32_t width,
                          uint64_t *low, uint64_t *high) {
  const struct nvm_attr *a = attrset_find(&m->attributes, set, ATTR_RANGE);
  if (!a) return false;
  struct nvm_text text = module_text(m, a->str2);
  uint64_t bounds[2];
  size_t at = 0;
  while (at < text.length && text.bytes[at] != ' ') at++;
  for (int k = 0; k < 2; k++) {
    while (at < text.length && (text.bytes[at] == ' ' || (k == 1 && text.bytes[at] == ','))) at++;
    if (!read_number(text, &at, &bounds[k])) return false;
  }
  return set_interval(width, bounds[0], bounds[1], low, high);
}

static bool read_metadata(const struct nvm_function *f, const struct nvm_inst *i, uint32_t width,
                          uint64_t *low, uint64_t *high) {
  const struct nvm_module *m = f->module;
  const struct meta_node *n = inst_range(f, i);
  nvm_u128 begin, end;
  return n && n->count == 2 && meta_is_int(m, meta_operand(&m->metadata, n, 0), &begin) &&
         meta_is_int(m, meta_operand(&m->metadata, n, 1), &end) &&
         set_interval(width, (uint64_t)begin, (uint64_t)end, low, high);
}

/* Of the call, and of the function that it names. */
struct result_attributes {
  struct nvm_attrset sets[2];
  uint32_t count;
};

static struct result_attributes attributes_of_result(const struct nvm_function *f,
                                                     const struct nvm_inst *call) {
  const struct attr_table_data *a = &f->module->attributes;
  const struct nvm_function *g = call_function(f, call);
  struct result_attributes r = {{attrlist_info(a, call_site_of(f, call)->attributes)->result}, 1};
  if (g) r.sets[r.count++] = attrlist_info(a, g->attributes)->result;
  return r;
}

bool stated_range(const struct nvm_function *f, struct nvm_value v, uint64_t *low, uint64_t *high) {
  const struct nvm_module *m = f->module;
  const struct attr_table_data *a = &m->attributes;
  const struct nvm_inst *i = value_inst(f, v);
  if (i ? i->op != OP_LOAD && i->op != OP_CALL : value_kind(v) != VALUE_ARG) return false;
  const struct type_info *type = type_info(&m->types, value_type(f, v));
  if (type->kind != TY_INT || type->width > 64) return false;
  if (!i)
    return read_interval(m, attrlist_parameter(a, f->attributes, value_index(v)), type->width, low,
                         high);
  if (read_metadata(f, i, type->width, low, high)) return true;
  if (i->op != OP_CALL) return false;
  struct result_attributes r = attributes_of_result(f, i);
  for (uint32_t k = 0; k < r.count; k++)
    if (read_interval(m, r.sets[k], type->width, low, high)) return true;
  return false;
}

bool stated_range_poisons(const struct nvm_function *f, const struct nvm_inst *call) {
  const struct attr_table_data *a = &f->module->attributes;
  struct result_attributes r = attributes_of_result(f, call);
  bool ranges = inst_range(f, call) != NULL, is_defined = false;
  for (uint32_t k = 0; k < r.count; k++) {
    ranges |= attrset_has(a, r.sets[k], ATTR_RANGE);
    is_defined |= attrset_has(a, r.sets[k], ATTR_NOUNDEF);
  }
  return ranges && !is_defined;
}
