/* Attributes: a group holds those of one function, result or parameter; a list refers to groups.
 * What LLVM packs into numbers is kept as the text that LLVM prints for it (bcattrs_text.c). */
#include "frontend/bitcode/bcattrs.h"

#include "frontend/attrs.h"
#include "frontend/bitcode/bcattrs_text.h"
#include "frontend/bitcode/bctypes.h"

enum { CODE_LIST = 2, CODE_GROUP = 3, MAX_GROUP = 1 << 20 };

/* How an attribute is stored in a group. */
enum stored {
  STORED_FLAG = 0,
  STORED_INT = 1,
  STORED_KEY = 3,
  STORED_KEY_AND_VALUE = 4,
  STORED_NO_TYPE = 5,
  STORED_TYPE = 6,
  STORED_RANGE = 7,
  STORED_RANGES = 8,
};

/* ATTR_KIND_ of LLVM's LLVMBitCodes.h. */
static const uint8_t kinds[] = {
    [1] = ATTR_ALIGN,
    [2] = ATTR_ALWAYSINLINE,
    [3] = ATTR_BYVAL,
    [4] = ATTR_INLINEHINT,
    [5] = ATTR_INREG,
    [6] = ATTR_MINSIZE,
    [7] = ATTR_NAKED,
    [8] = ATTR_NEST,
    [9] = ATTR_NOALIAS,
    [10] = ATTR_NOBUILTIN,
    [11] = ATTR_NOCAPTURE,
    [12] = ATTR_NODUPLICATE,
    [13] = ATTR_NOIMPLICITFLOAT,
    [14] = ATTR_NOINLINE,
    [15] = ATTR_NONLAZYBIND,
    [16] = ATTR_NOREDZONE,
    [17] = ATTR_NORETURN,
    [18] = ATTR_NOUNWIND,
    [19] = ATTR_OPTSIZE,
    [20] = ATTR_READNONE,
    [21] = ATTR_READONLY,
    [22] = ATTR_RETURNED,
    [23] = ATTR_RETURNS_TWICE,
    [24] = ATTR_SIGNEXT,
    [25] = ATTR_ALIGNSTACK,
    [26] = ATTR_SSP,
    [27] = ATTR_SSPREQ,
    [28] = ATTR_SSPSTRONG,
    [29] = ATTR_SRET,
    [30] = ATTR_SANITIZE_ADDRESS,
    [31] = ATTR_SANITIZE_THREAD,
    [32] = ATTR_SANITIZE_MEMORY,
    [33] = ATTR_UWTABLE,
    [34] = ATTR_ZEROEXT,
    [35] = ATTR_BUILTIN,
    [36] = ATTR_COLD,
    [37] = ATTR_OPTNONE,
    [38] = ATTR_INALLOCA,
    [39] = ATTR_NONNULL,
    [40] = ATTR_JUMPTABLE,
    [41] = ATTR_DEREFERENCEABLE,
    [42] = ATTR_DEREFERENCEABLE_OR_NULL,
    [43] = ATTR_CONVERGENT,
    [44] = ATTR_SAFESTACK,
    [45] = ATTR_ARGMEMONLY,
    [46] = ATTR_SWIFTSELF,
    [47] = ATTR_SWIFTERROR,
    [48] = ATTR_NORECURSE,
    [49] = ATTR_INACCESSIBLEMEMONLY,
    [50] = ATTR_INACCESSIBLEMEM_OR_ARGMEMONLY,
    [51] = ATTR_ALLOCSIZE,
    [52] = ATTR_WRITEONLY,
    [53] = ATTR_SPECULATABLE,
    [54] = ATTR_STRICTFP,
    [55] = ATTR_SANITIZE_HWADDRESS,
    [56] = ATTR_NOCF_CHECK,
    [57] = ATTR_OPTFORFUZZING,
    [58] = ATTR_SHADOWCALLSTACK,
    [59] = ATTR_SPECULATIVE_LOAD_HARDENING,
    [60] = ATTR_IMMARG,
    [61] = ATTR_WILLRETURN,
    [62] = ATTR_NOFREE,
    [63] = ATTR_NOSYNC,
    [64] = ATTR_SANITIZE_MEMTAG,
    [65] = ATTR_PREALLOCATED,
    [66] = ATTR_NOMERGE,
    [67] = ATTR_NULL_POINTER_IS_VALID,
    [68] = ATTR_NOUNDEF,
    [69] = ATTR_BYREF,
    [70] = ATTR_MUSTPROGRESS,
    [71] = ATTR_NOCALLBACK,
    [72] = ATTR_HOT,
    [73] = ATTR_NOPROFILE,
    [74] = ATTR_VSCALE_RANGE,
    [75] = ATTR_SWIFTASYNC,
    [76] = ATTR_NOSANITIZE_COVERAGE,
    [77] = ATTR_ELEMENTTYPE,
    [78] = ATTR_DISABLE_SANITIZER_INSTRUMENTATION,
    [79] = ATTR_NOSANITIZE_BOUNDS,
    [80] = ATTR_ALLOCALIGN,
    [81] = ATTR_ALLOCPTR,
    [82] = ATTR_ALLOCKIND,
    [83] = ATTR_PRESPLITCOROUTINE,
    [84] = ATTR_FN_RET_THUNK_EXTERN,
    [85] = ATTR_SKIPPROFILE,
    [86] = ATTR_MEMORY,
    [87] = ATTR_NOFPCLASS,
    [88] = ATTR_OPTDEBUG,
    [89] = ATTR_WRITABLE,
    [90] = ATTR_CORO_ONLY_DESTROY_WHEN_COMPLETE,
    [91] = ATTR_DEAD_ON_UNWIND,
    [92] = ATTR_RANGE,
    [93] = ATTR_SANITIZE_NUMERICAL_STABILITY,
    [94] = ATTR_INITIALIZES,
    [95] = ATTR_HYBRID_PATCHABLE,
    [96] = ATTR_SANITIZE_REALTIME,
    [97] = ATTR_SANITIZE_REALTIME_BLOCKING,
    [98] = ATTR_CORO_ELIDE_SAFE,
    [99] = ATTR_NOEXT,
    [100] = ATTR_NODIVERGENCESOURCE,
    [101] = ATTR_SANITIZE_TYPE,
    [102] = ATTR_CAPTURES,
    [103] = ATTR_DEAD_ON_RETURN,
    [104] = ATTR_SANITIZE_ALLOC_TOKEN,
    [105] = ATTR_NOCREATEUNDEFORPOISON,
    [106] = ATTR_DENORMAL_FPENV,
    [107] = ATTR_NOOUTLINE,
    [108] = ATTR_FLATTEN,
};

/* ---- Groups ---- */

/* The string from *k on, up to a zero; *k is then after it. */
static bool read_text(struct reader *r, const struct bits_record *s, uint32_t *k,
                      struct nvm_str *str) {
  r->p.bytes.count = 0;
  for (; *k < s->count && s->numbers[*k]; ++*k)
    if (!VEC_PUSH(&r->p.scratch, &r->p.bytes, (char)s->numbers[*k])) return false;
  if (*k == s->count) return reader_fail(r, "an attribute's text is cut off");
  ++*k;
  *str = strtab_intern(&r->p.m->strings, r->p.bytes.data ? r->p.bytes.data : "", r->p.bytes.count);
  return true;
}

static bool read_string_attribute(struct reader *r, const struct bits_record *s, uint32_t *k,
                                  bool has_value) {
  struct nvm_attr a = {.id = ATTR_UNKNOWN, .payload = ATTR_STRING, .has_value = has_value};
  if (!read_text(r, s, k, &a.str) || (has_value && !read_text(r, s, k, &a.str2))) return false;
  return VEC_PUSH(&r->p.scratch, &r->p.attributes, a);
}

/* A kind without text or type, with a number or (flags: 0) without. */
static bool read_plain(struct reader *r, struct nvm_attr *a, uint64_t number) {
  switch ((enum attr_payload)a->payload) {
    case ATTR_FLAG:
    case ATTR_TYPE: return true;
    case ATTR_TEXT: return bcattrs_text_number(r, a, number);
    case ATTR_INT: a->number = number; break;
    case ATTR_STRING: return false;
  }
  bool power = number && !(number & (number - 1)) && number <= UINT64_C(1) << 32;
  return a->id != ATTR_ALIGN || power || reader_fail(r, "an alignment is not a power of two");
}

/* An attribute with a keyword: *k is at its kind, and then after its payload. */
static bool read_kind(struct reader *r, const struct bits_record *s, uint32_t *k,
                      enum stored stored) {
  if (!reader_needs(r, s, *k + 1)) return false;
  uint64_t kind = s->numbers[(*k)++];
  uint32_t id = kind < sizeof kinds ? kinds[kind] : 0;
  if (id == 0) return reader_unsupported(r, "an attribute that nvmini does not know");
  struct nvm_attr a = {.id = (uint16_t)id, .payload = (uint8_t)attr_table[id].payload};
  bool has_number = stored == STORED_INT || stored == STORED_TYPE, ok = true;
  if (has_number && !reader_needs(r, s, *k + 1)) return false;
  uint64_t number = has_number ? s->numbers[(*k)++] : 0;
  if (stored == STORED_TYPE && a.payload == ATTR_TYPE) {
    a.type = bctypes_get(r, number);
    ok = a.type.index != 0;
  } else if (stored == STORED_RANGE || stored == STORED_RANGES) {
    ok = a.payload == ATTR_TEXT && bcattrs_text_ranges(r, &a, s, k, stored == STORED_RANGES);
    if (!ok) return reader_fail(r, "a range of an attribute is malformed");
  } else {
    ok = read_plain(r, &a, number);
  }
  return ok && VEC_PUSH(&r->p.scratch, &r->p.attributes, a);
}

static bool read_attributes(struct reader *r, const struct bits_record *s) {
  for (uint32_t k = 2; k < s->count;) {
    uint64_t stored = s->numbers[k++];
    bool is_text = stored == STORED_KEY || stored == STORED_KEY_AND_VALUE;
    if (stored > STORED_RANGES || stored == 2)
      return reader_fail(r, "an attribute is stored in an unknown way");
    if (is_text ? !read_string_attribute(r, s, &k, stored == STORED_KEY_AND_VALUE)
                : !read_kind(r, s, &k, (enum stored)stored))
      return false;
  }
  return true;
}

static bool is_typeless(const struct parser *p) {
  for (uint32_t i = 0; i < p->attributes.count; i++) {
    const struct nvm_attr *a = &p->attributes.data[i];
    if (a->payload == ATTR_TYPE && a->type.index == 0) return true;
  }
  return false;
}

static bool read_group(struct reader *r, const struct bits_record *s) {
  if (s->code != CODE_GROUP) return true;
  if (!reader_needs(r, s, 2)) return false;
  if (s->numbers[0] > MAX_GROUP) return reader_fail(r, "an attribute group's number is too large");
  r->p.attributes.count = 0;
  if (!read_attributes(r, s)) return false;
  struct stream_group g = {.index = (uint32_t)s->numbers[1], .typeless = is_typeless(&r->p)};
  g.set = attrset_make(&r->p.m->attributes, r->p.attributes.data, r->p.attributes.count);
  r->p.attributes.count = 0;
  uint32_t number = (uint32_t)s->numbers[0];
  if (!VEC_PUSH(&r->p.scratch, &r->groups, g) ||
      !VEC_RESERVE(&r->p.scratch, &r->group_of, (uint64_t)number + 1))
    return false;
  if (r->group_of.count <= number) r->group_of.count = number + 1;
  r->group_of.data[number] = r->groups.count;
  return true;
}

bool bcattrs_read_groups(struct reader *r) { return reader_block(r, read_group); }

/* ---- Lists ---- */

static bool read_list(struct reader *r, const struct bits_record *s) {
  if (s->code != CODE_LIST) return reader_unsupported(r, "attributes of LLVM before 3.3");
  struct attribute_list l = {.first = r->attribute_refs.count, .count = s->count};
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t group = s->numbers[i] < r->group_of.count ? r->group_of.data[s->numbers[i]] : 0;
    if (group == 0) return reader_fail(r, "use of an undefined attribute group");
    if (!VEC_PUSH(&r->p.scratch, &r->attribute_refs, group)) return false;
  }
  return VEC_PUSH(&r->p.scratch, &r->lists, l);
}

bool bcattrs_read_lists(struct reader *r) { return reader_block(r, read_list); }

/* The group's set; attributes without their type get that of the parameter's pointee. */
static struct nvm_attrset set_of(struct reader *r, const struct stream_group *g, uint32_t type) {
  struct attr_table_data *t = &r->p.m->attributes;
  if (!g->typeless || g->index == 0 || g->index == UINT32_MAX) return g->set;
  struct attrset_info info = t->sets.data[g->set.index];
  r->p.attributes.count = 0;
  for (uint32_t i = 0; i < info.count; i++)
    VEC_PUSH(&r->p.scratch, &r->p.attributes, t->attrs.data[info.first + i]);
  return attrs_close(&r->p, bctypes_parameter_pointee(r, type, g->index - 1));
}

static struct nvm_attrlist make_list(struct reader *r, const struct attribute_list *l,
                                     uint32_t type, uint32_t parameters) {
  struct nvm_attrset function = {0}, result = {0};
  struct nvm_attrset *sets = arena_alloc(&r->p.scratch, (parameters + 1) * sizeof *sets);
  for (uint32_t i = 0; sets && i < l->count; i++) {
    const struct stream_group *g = &r->groups.data[r->attribute_refs.data[l->first + i] - 1];
    struct nvm_attrset set = set_of(r, g, type);
    if (g->index == UINT32_MAX) function = set;
    else if (g->index == 0) result = set;
    else if (g->index <= parameters) sets[g->index - 1] = set;
  }
  return attrlist_make(&r->p.m->attributes, function, result, sets, sets ? parameters : 0);
}

bool bcattrs_list(struct reader *r, uint64_t list, uint32_t function_type, uint32_t arguments,
                  struct nvm_attrlist *made) {
  *made = (struct nvm_attrlist){0};
  if (list == 0) return true;
  if (list > r->lists.count) return reader_fail(r, "use of an undefined attribute list");
  struct attribute_list *l = &r->lists.data[list - 1];
  bool variadic = arguments != r->types.data[function_type].members - 1;
  if (l->type == function_type + 1 && !variadic) {
    *made = l->made;
    return true;
  }
  *made = make_list(r, l, function_type, arguments);
  if (variadic) return true;
  l->made = *made;
  l->type = function_type + 1;
  return true;
}

bool bcattrs_of_variable(struct reader *r, uint64_t list, struct nvm_attrset *set) {
  *set = (struct nvm_attrset){0};
  if (list == 0) return true;
  if (list > r->lists.count) return reader_fail(r, "use of an undefined attribute list");
  const struct attribute_list *l = &r->lists.data[list - 1];
  for (uint32_t i = 0; i < l->count; i++) {
    const struct stream_group *g = &r->groups.data[r->attribute_refs.data[l->first + i] - 1];
    if (g->index == UINT32_MAX) *set = g->set;
  }
  return true;
}
