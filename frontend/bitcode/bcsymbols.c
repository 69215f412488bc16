/* Symbols: each record gives the next value id to a variable, function or alias. Their names are in
 * the string table, in older streams in the module's symbol table. */
#include "frontend/bitcode/bcsymbols.h"

#include "frontend/bitcode/bcattrs.h"
#include "frontend/bitcode/bcconstants.h"
#include "frontend/bitcode/bctypes.h"
#include "frontend/bitcode/bcvalues.h"
#include "ir/function.h"

/* MODULE_CODE_ and VST_CODE_ of LLVM's LLVMBitCodes.h. */
enum {
  CODE_GLOBALVAR = 7,
  CODE_FUNCTION = 8,
  CODE_ALIAS_OLD = 9,
  CODE_COMDAT = 12,
  CODE_ALIAS = 14,
  CODE_IFUNC = 18,
};
enum { CODE_NAME = 1, CODE_FUNCTION_NAME = 3 };

/* ---- Names ---- */

static bool read_name(struct reader *r, const struct bits_record *s) {
  uint32_t first = s->code == CODE_FUNCTION_NAME ? 2 : 1; /* after the offset of the body */
  if (s->code != CODE_NAME && s->code != CODE_FUNCTION_NAME) return true;
  if (!reader_needs(r, s, first)) return false;
  uint64_t id = s->numbers[0];
  if (id > r->bits.length * 8) return reader_fail(r, "a name for an undefined value");
  if (!VEC_RESERVE(&r->p.scratch, &r->symbol_names, id + 1)) return false;
  if (r->symbol_names.count <= id) r->symbol_names.count = (uint32_t)id + 1;
  r->symbol_names.data[id] = reader_string(r, s, first);
  return true;
}

bool bcsymbols_read_names(struct reader *r) { return reader_block(r, read_name); }

/* The string at [offset, offset + size) of the string table. */
static bool table_string(struct reader *r, uint64_t offset, uint64_t size, struct nvm_str *str) {
  *str = (struct nvm_str){0};
  if (size == 0) return true;
  if (offset > r->names.length || size > r->names.length - offset)
    return reader_fail(r, "a name is outside of the string table");
  *str = strtab_intern(&r->p.m->strings, r->names.bytes + offset, (size_t)size);
  return str->index != 0;
}

/* A record of a symbol without the place of its name. */
struct symbol_record {
  const uint64_t *numbers;
  uint32_t count;
  struct nvm_str name;
};

static uint64_t number(const struct symbol_record *s, uint32_t k) {
  return k < s->count ? s->numbers[k] : 0;
}

static bool open_record(struct reader *r, const struct bits_record *s, uint32_t least,
                        struct symbol_record *y) {
  uint32_t k = r->version >= 2 ? 2 : 0, id = r->value_count;
  if (!reader_needs(r, s, k + least)) return false;
  *y = (struct symbol_record){.numbers = s->numbers + k, .count = s->count - k};
  if (k) return table_string(r, s->numbers[0], s->numbers[1], &y->name);
  if (id < r->symbol_names.count) y->name = r->symbol_names.data[id];
  return true;
}

/* ---- What symbols share ---- */

static const uint8_t linkages[] = {[0] = LINK_EXTERNAL,
                                   [1] = LINK_WEAK,
                                   [2] = LINK_APPENDING,
                                   [3] = LINK_INTERNAL,
                                   [4] = LINK_LINKONCE,
                                   [5] = LINK_EXTERNAL,
                                   [6] = LINK_EXTERNAL,
                                   [7] = LINK_EXTERN_WEAK,
                                   [8] = LINK_COMMON,
                                   [9] = LINK_PRIVATE,
                                   [10] = LINK_WEAK_ODR,
                                   [11] = LINK_LINKONCE_ODR,
                                   [12] = LINK_AVAILABLE_EXTERNALLY,
                                   [13] = LINK_PRIVATE,
                                   [14] = LINK_PRIVATE,
                                   [15] = LINK_EXTERNAL,
                                   [16] = LINK_WEAK,
                                   [17] = LINK_WEAK_ODR,
                                   [18] = LINK_LINKONCE,
                                   [19] = LINK_LINKONCE_ODR};

/* The places of fields in the records of one kind of symbol; 0: it has none. */
struct places {
  uint8_t linkage, visibility, dll_storage, thread_local, unnamed_addr, preemption, section, comdat;
  uint8_t partition; /* offset, and size after it */
};

/* A number below `limit`; 0, for any other, after an error. */
static uint8_t small_number(struct reader *r, const struct symbol_record *s, uint8_t place,
                            uint32_t limit) {
  uint64_t n = place ? number(s, place) : 0;
  if (n < limit) return (uint8_t)n;
  reader_fail(r, "a property of a symbol is out of range");
  return 0;
}

/* dso_local is not written where linkage or visibility imply it. */
static bool implies_local(const struct symbol *y) {
  return symbol_is_local(y) || (y->visibility != VIS_DEFAULT && y->linkage != LINK_EXTERN_WEAK);
}

static bool fill_symbol(struct reader *r, struct symbol *y, const struct symbol_record *s,
                        const struct places *at) {
  static const uint8_t unnamed[] = {UNNAMED_NONE, UNNAMED_GLOBAL, UNNAMED_LOCAL};
  y->linkage = linkages[small_number(r, s, at->linkage, sizeof linkages)];
  y->visibility = small_number(r, s, at->visibility, VIS_COUNT);
  if (symbol_is_local(y)) y->visibility = VIS_DEFAULT;
  y->dll_storage = small_number(r, s, at->dll_storage, DLL_COUNT);
  y->thread_local = small_number(r, s, at->thread_local, TLS_COUNT);
  uint64_t address = at->unnamed_addr ? number(s, at->unnamed_addr) : 0;
  y->unnamed_addr = address < sizeof unnamed ? unnamed[address] : UNNAMED_NONE;
  bool local = at->preemption && number(s, at->preemption) && !implies_local(y);
  y->preemption = local ? PREEMPT_LOCAL : PREEMPT_NONE;
  uint64_t section = at->section ? number(s, at->section) : 0;
  uint64_t comdat = at->comdat ? number(s, at->comdat) : 0;
  if (section > r->sections.count || comdat > r->p.m->comdats.count)
    return reader_fail(r, "use of an undefined section or comdat");
  if (section) y->section = r->sections.data[section - 1];
  y->comdat = (uint32_t)comdat;
  y->defined = true;
  y->where = (struct diag_range){r->p.source, reader_place(r), reader_place(r) + 1};
  return !r->p.refused &&
         (!at->partition ||
          table_string(r, number(s, at->partition), number(s, at->partition + 1u), &y->partition));
}

/* A new symbol with the next value id. */
static struct nvm_value add_symbol(struct reader *r, const struct symbol_record *s,
                                   bool is_function) {
  if (s->name.index && !value_is_none(module_find_symbol(r->p.m, s->name))) {
    reader_fail(r, "two symbols have the same name");
    return VALUE_NULL;
  }
  struct nvm_value v =
      is_function ? module_add_function(r->p.m, s->name) : module_add_global(r->p.m, s->name);
  struct stream_symbol y = {.value = v};
  if (r->symbols.count != r->value_count) reader_fail(r, "a symbol after constants");
  if (r->p.refused || !VEC_PUSH(&r->p.scratch, &r->symbols, y) || !bcvalues_define(r, v))
    return VALUE_NULL;
  return v;
}

static struct stream_symbol *last_symbol(struct reader *r) {
  return &r->symbols.data[r->symbols.count - 1];
}

/* ---- Variables ---- */

static bool read_variable(struct reader *r, const struct bits_record *record) {
  enum { CONSTANT = 1, EXPLICIT_TYPE = 2, SPACE_SHIFT = 2 };
  static const struct places at = {.linkage = 3,
                                   .section = 5,
                                   .visibility = 6,
                                   .thread_local = 7,
                                   .unnamed_addr = 8,
                                   .dll_storage = 10,
                                   .comdat = 11,
                                   .preemption = 13,
                                   .partition = 14};
  struct symbol_record s;
  if (!open_record(r, record, 6, &s)) return false;
  bool explicit_type = s.numbers[1] & EXPLICIT_TYPE;
  struct nvm_type type = bctypes_get(r, s.numbers[0]);
  uint64_t space = s.numbers[1] >> SPACE_SHIFT;
  if (type.index == 0) return false;
  if (!explicit_type) {
    space = type_info(&r->p.m->types, type)->width;
    type = bctypes_pointee(r, s.numbers[0]);
  }
  if (!bctypes_is_object(r, type) || space > PARSE_MAX_NUMBER ||
      s.numbers[4] > MAX_ALIGN_LOG2_PLUS_1)
    return reader_fail(r, "the type or alignment of a variable is invalid");
  struct nvm_value v = add_symbol(r, &s, false);
  if (value_is_none(v)) return false;
  struct nvm_global *g = module_global(r->p.m, v);
  g->value_type = type;
  g->address_space = (uint32_t)space;
  g->is_constant = s.numbers[1] & CONSTANT;
  g->externally_initialized = number(&s, 9) != 0;
  g->align_log2 = (uint8_t)s.numbers[4];
  if (s.numbers[2] > UINT32_MAX) return reader_fail(r, "use of an undefined value");
  last_symbol(r)->initializer = (uint32_t)s.numbers[2];
  g->symbol.declared_only = s.numbers[2] == 0;
  if (!fill_symbol(r, &g->symbol, &s, &at)) return false;
  bool external = g->symbol.linkage == LINK_EXTERNAL || g->symbol.linkage == LINK_EXTERN_WEAK;
  if (g->symbol.declared_only && !external)
    return reader_fail(r, "a variable of this linkage needs an initializer");
  return bcattrs_of_variable(r, number(&s, 12), &g->attributes);
}

static bool read_alias(struct reader *r, const struct bits_record *record) {
  static const struct places new_at = {.linkage = 3,
                                       .visibility = 4,
                                       .dll_storage = 5,
                                       .thread_local = 6,
                                       .unnamed_addr = 7,
                                       .preemption = 8,
                                       .partition = 9};
  static const struct places old_at = {
      .linkage = 2, .visibility = 3, .dll_storage = 4, .thread_local = 5, .unnamed_addr = 6};
  static const struct places ifunc_at = {
      .linkage = 3, .visibility = 4, .preemption = 5, .partition = 6};
  bool old = record->code == CODE_ALIAS_OLD, ifunc = record->code == CODE_IFUNC;
  struct symbol_record s;
  if (!open_record(r, record, old ? 3 : 4, &s)) return false;
  struct nvm_type type = bctypes_get(r, s.numbers[0]);
  if (type.index == 0) return false;
  if (old) type = bctypes_pointee(r, s.numbers[0]);
  uint64_t aliasee = s.numbers[old ? 1 : 2];
  enum type_kind kind = type_kind(&r->p.m->types, type);
  if (type.index == 0 || kind == TY_LABEL || kind == TY_METADATA || aliasee >= UINT32_MAX)
    return reader_fail(r, "an alias is malformed");
  struct nvm_value v = add_symbol(r, &s, false);
  if (value_is_none(v)) return false;
  struct nvm_global *g = module_global(r->p.m, v);
  g->value_type = type;
  g->is_alias = !ifunc;
  g->is_ifunc = ifunc;
  last_symbol(r)->initializer = (uint32_t)aliasee + 1;
  return fill_symbol(r, &g->symbol, &s, ifunc ? &ifunc_at : old ? &old_at : &new_at);
}

/* ---- Functions ---- */

static bool set_operands(struct reader *r, const struct symbol_record *s) {
  struct stream_symbol *y = last_symbol(r);
  uint64_t prologue = number(s, 10), prefix = number(s, 13), personality = number(s, 14);
  if ((prologue | prefix | personality) > UINT32_MAX)
    return reader_fail(r, "use of an undefined value");
  y->prologue = (uint32_t)prologue;
  y->prefix = (uint32_t)prefix;
  y->personality = (uint32_t)personality;
  return true;
}

static bool read_function(struct reader *r, const struct bits_record *record) {
  static const struct places at = {.linkage = 3,
                                   .section = 6,
                                   .visibility = 7,
                                   .unnamed_addr = 9,
                                   .dll_storage = 11,
                                   .comdat = 12,
                                   .preemption = 15,
                                   .partition = 17};
  struct symbol_record s;
  if (!open_record(r, record, 8, &s)) return false;
  uint32_t type = bctypes_function(r, s.numbers[0]);
  if (type == UINT32_MAX) return false;
  if (s.numbers[1] > MAX_CONVENTION || number(&s, 16) > PARSE_MAX_NUMBER ||
      s.numbers[5] > MAX_ALIGN_LOG2_PLUS_1)
    return reader_fail(r, "a property of a function is out of range");
  struct nvm_value v = add_symbol(r, &s, true);
  if (value_is_none(v)) return false;
  struct nvm_function *f = module_function(r->p.m, v);
  f->type = r->types.data[type].type;
  f->convention = (uint32_t)s.numbers[1];
  f->address_space = (uint32_t)number(&s, 16);
  f->align_log2 = (uint8_t)s.numbers[5];
  uint64_t gc = number(&s, 8);
  if (gc > r->collectors.count) return reader_fail(r, "use of an undefined garbage collector");
  if (gc) f->gc = r->collectors.data[gc - 1];
  f->symbol.declared_only = s.numbers[2] != 0;
  last_symbol(r)->has_body = s.numbers[2] == 0;
  uint32_t parameters = r->types.data[type].members - 1;
  return set_operands(r, &s) && fill_symbol(r, &f->symbol, &s, &at) &&
         bcattrs_list(r, s.numbers[4], type, parameters, &f->attributes);
}

/* ---- Comdats ---- */

static bool read_comdat(struct reader *r, const struct bits_record *s) {
  static const char *const kinds[] = {"",        "any",           "exactmatch",
                                      "largest", "nodeduplicate", "samesize"};
  bool has_table = r->version >= 2;
  if (!reader_needs(r, s, has_table ? 3 : 2)) return false;
  uint64_t kind = s->numbers[has_table ? 2 : 0];
  if (kind == 0 || kind >= sizeof kinds / sizeof *kinds)
    return reader_fail(r, "unknown kind of a comdat");
  struct comdat c = {.kind = module_str(r->p.m, kinds[kind])};
  if (!has_table) c.name = reader_string(r, s, 2);
  else if (!table_string(r, s->numbers[0], s->numbers[1], &c.name)) return false;
  return VEC_PUSH(&r->p.m->arena, &r->p.m->comdats, c);
}

bool bcsymbols_read(struct reader *r, const struct bits_record *s) {
  switch (s->code) {
    case CODE_GLOBALVAR: return read_variable(r, s);
    case CODE_FUNCTION: return read_function(r, s);
    case CODE_ALIAS_OLD:
    case CODE_ALIAS:
    case CODE_IFUNC: return read_alias(r, s);
    case CODE_COMDAT: return read_comdat(r, s);
    default: return true;
  }
}

/* ---- The end of the module ---- */

/* The constant with id + 1; VALUE_NULL for 0 and after an error. */
static struct nvm_value operand_of(struct reader *r, uint32_t id_plus_1) {
  struct nvm_value v = id_plus_1 ? bcvalues_get(r, id_plus_1 - 1, TYPE_NONE) : VALUE_NULL;
  if (bcconstants_is_asm(r, v)) reader_fail(r, "inline assembly as the value of a symbol");
  else if (value_is_none(v) || bcconstants_use(r, v)) return v;
  return VALUE_NULL;
}

static bool finish_variable(struct reader *r, const struct stream_symbol *y, struct nvm_global *g) {
  struct nvm_value v = operand_of(r, y->initializer);
  if (y->initializer == 0) return true;
  if (value_is_none(v)) return false;
  struct nvm_type type = module_value_type(r->p.m, v);
  if (g->is_alias || g->is_ifunc) {
    if (!type_is_ptr(&r->p.m->types, type)) return reader_fail(r, "an alias of no address");
    g->aliasee = v;
    g->address_space = type_info(&r->p.m->types, type)->width;
    return true;
  }
  g->initializer = v;
  return type_equal(type, g->value_type) ||
         reader_fail(r, "an initializer has another type than its variable");
}

static bool finish_function(struct reader *r, const struct stream_symbol *y,
                            struct nvm_function *f) {
  f->prologue = operand_of(r, y->prologue);
  f->prefix = operand_of(r, y->prefix);
  f->personality = operand_of(r, y->personality);
  return (!y->has_body || f->entry.index || reader_fail(r, "the body of a function is missing")) &&
         !r->p.refused;
}

static bool comdats_have_own_names(struct reader *r) {
  struct nvm_module *m = r->p.m;
  bool *seen = arena_alloc(&r->p.scratch, m->strings.entries.count * sizeof *seen);
  if (!seen) return false;
  memset(seen, 0, m->strings.entries.count * sizeof *seen);
  for (uint32_t i = 0; i < m->comdats.count; i++) {
    uint32_t name = m->comdats.data[i].name.index;
    if (seen[name]) return reader_fail(r, "two comdats have the same name");
    seen[name] = true;
  }
  return true;
}

bool bcsymbols_finish(struct reader *r) {
  for (uint32_t i = 0; i < r->symbols.count; i++) {
    const struct stream_symbol *y = &r->symbols.data[i];
    bool function = value_kind(y->value) == VALUE_FUNCTION;
    r->begin = (module_symbol(r->p.m, y->value)->where.begin - r->base) * 8;
    if (function ? !finish_function(r, y, module_function(r->p.m, y->value))
                 : !finish_variable(r, y, module_global(r->p.m, y->value)))
      return false;
  }
  return comdats_have_own_names(r);
}
