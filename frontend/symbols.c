/* Functions, variables, aliases, comdats, and the module's own lines. */
#include "frontend/symbols.h"

#include "frontend/attrs.h"
#include "frontend/lexer.h"
#include "frontend/names.h"
#include "frontend/report.h"
#include "ir/function.h"

#include "target/datalayout.h"
#include "target/triple.h"

struct symbols {
  VEC(struct nvm_attrset) sets;
  VEC(uint32_t) comdats;     /* by string: index + 1 into the module's comdats */
  VEC(uint32_t) comdat_uses; /* by comdat: begin of its first use + 1 */
  uint32_t next_global;
  uint32_t next_body; /* the first of p->bodies that may be that of the next function */
  /* The current header. */
  struct written_type result_type;
  struct token name;
  uint32_t comdat, comdat_begin;
  VEC(struct token) parameter_names;
};

bool symbols_init(struct parser *p) {
  return (p->symbols = arena_alloc(&p->scratch, sizeof *p->symbols)) != NULL;
}

/* ---- Words before the type ---- */

void symbols_reset_prefixes(struct parser *p) {
  p->prefixes = (struct prefixes){.begin = p->token_begin};
  p->attributes.count = 0;
}

void symbols_check_prefixes(struct parser *p, uint32_t allowed, uint32_t begin) {
  static const char *const names[] = {"linkage",
                                      "visibility",
                                      "calling convention",
                                      "attribute",
                                      "flag",
                                      "address space",
                                      "'unnamed_addr'",
                                      "'thread_local' or 'externally_initialized'"};
  uint32_t count = sizeof names / sizeof *names, bad = p->prefixes.seen & ~allowed, first = 0;
  if (bad == 0) return;
  while (!(bad >> first & 1)) first++;
  struct textbuf b;
  textbuf_init(&b, &p->scratch);
  for (uint32_t i = 0; i < count; i++)
    if (allowed >> i & 1) textbuf_format(&b, b.length ? ", %s" : "%s", names[i]);
  report(p, DIAG_WORD_MISPLACED, p->prefixes.begin, begin, names[first],
         report_copy(p, b.bytes, b.length), NULL);
}

/* ---- Comdats ---- */

static bool room_for(struct parser *p, uint32_t string) {
  if (!VEC_RESERVE(&p->scratch, &p->symbols->comdats, (uint64_t)string + 1)) return false;
  if (p->symbols->comdats.count <= string) p->symbols->comdats.count = string + 1;
  return true;
}

/* Index + 1 of the comdat, made if it is new; 0 when out of memory. */
static uint32_t comdat_of(struct parser *p, struct nvm_str name, uint32_t begin) {
  if (!room_for(p, name.index)) return 0;
  uint32_t *entry = &p->symbols->comdats.data[name.index];
  if (*entry) return *entry;
  struct comdat made = {.name = name};
  if (!VEC_PUSH(&p->m->arena, &p->m->comdats, made) ||
      !VEC_PUSH(&p->scratch, &p->symbols->comdat_uses, begin))
    return 0;
  return *entry = p->m->comdats.count;
}

void symbols_comdat(struct parser *p, const struct token *name) {
  p->symbols->comdat_begin = p->token_begin;
  p->symbols->comdat = name ? comdat_of(p, names_string(p, name), name->begin) : UINT32_MAX;
}

void symbols_define_comdat(struct parser *p, const struct token *name, const struct token *kind) {
  uint32_t i = comdat_of(p, names_string(p, name), name->begin);
  if (i == 0) return;
  struct comdat *c = &p->m->comdats.data[i - 1];
  if (c->kind.index) report_token(p, DIAG_REDEFINED, names_begin(p, name), NULL, NULL);
  c->kind = names_string(p, kind);
}

/* ---- What symbols share ---- */

void symbols_reset_variable(struct parser *p) {
  p->section = p->partition = p->gc = (struct nvm_str){0};
  p->symbols->comdat = p->align_log2 = p->suffix_space = 0;
  p->unnamed_addr = UNNAMED_NONE;
  p->prefix = p->prologue = p->personality = VALUE_NULL;
  p->attachments.count = 0;
  p->attributes.count = 0;
}

void symbols_attach(struct parser *p, const struct token *kind, struct nvm_meta node) {
  struct pending_attachment a = {names_string(p, kind), node};
  VEC_PUSH(&p->scratch, &p->attachments, a);
}

static void fill_symbol(struct parser *p, struct symbol *s, const struct token *name) {
  const struct prefixes *w = &p->prefixes;
  s->linkage = w->linkage;
  s->visibility = w->visibility;
  s->preemption = w->preemption;
  s->dll_storage = w->dll_storage;
  s->thread_local = w->thread_local;
  s->unnamed_addr = w->unnamed_addr ? w->unnamed_addr : p->unnamed_addr;
  s->section = p->section;
  s->partition = p->partition;
  s->comdat = p->symbols->comdat == UINT32_MAX ? comdat_of(p, s->name, p->symbols->comdat_begin + 1)
                                               : p->symbols->comdat;
  s->defined = true;
  uint32_t begin = names_begin(p, name);
  s->where = (struct diag_range){p->source, begin, name->begin + name->length};
  for (uint32_t i = 0; i < p->attachments.count; i++)
    module_attach(p->m, &s->attachments, p->attachments.data[i].kind, p->attachments.data[i].node);
  p->attachments.count = 0;
}

/* The previous variable had no initializer. Reported late, because a following syntax error may be
 * the cause. */
static void report_missing_initializer(struct parser *p) {
  if (p->initializer_missing.length == 0) return;
  uint32_t begin = names_begin(p, &p->initializer_missing);
  p->initializer_missing.length = 0;
  report_token(p, DIAG_INITIALIZER_WANTED, begin, NULL, NULL);
}

/* The record to define; VALUE_NULL after a report. */
static struct nvm_value symbol_to_define(struct parser *p, const struct token *name,
                                         bool is_function) {
  struct nvm_value v = names_symbol(p, name, is_function);
  if (value_is_none(v)) return v;
  uint32_t begin = names_begin(p, name);
  report_missing_initializer(p);
  const struct symbol *s = module_symbol(p->m, v);
  if (s->defined) {
    report_token(p, DIAG_REDEFINED, begin, NULL, NULL);
    report(p, DIAG_FIRST_HERE, (uint32_t)s->where.begin, (uint32_t)s->where.end,
           report_copy(p, p->text + s->where.begin, (size_t)(s->where.end - s->where.begin)), NULL,
           NULL);
    return VALUE_NULL;
  }
  if ((value_kind(v) == VALUE_FUNCTION) != is_function) {
    report_token(p, DIAG_SYMBOL_KIND, begin, NULL, NULL);
    return VALUE_NULL;
  }
  if (name->number < NAME_ESCAPED) {
    if (name->number < p->symbols->next_global)
      report_token(p, DIAG_VALUE_NUMBER, begin, report_number(p, p->symbols->next_global), NULL);
    p->symbols->next_global = (uint32_t)name->number + 1;
  }
  return v;
}

/* Checks the address space that earlier uses require. */
static void check_space(struct parser *p, struct nvm_value v) {
  const struct symbol_use *use = names_use(p, v);
  uint32_t space = names_space(p, v);
  if (use && use->space && use->space != space + 1)
    report(p, DIAG_SYMBOL_SPACE, use->begin, use->end,
           report_copy(p, p->text + use->begin, use->end - use->begin), report_number(p, space),
           report_number(p, use->space - 1));
}

/* ---- Functions ---- */

void symbols_open_header(struct parser *p, const struct written_type *type,
                         const struct token *name) {
  symbols_check_prefixes(p, PREFIX_LINKAGE | PREFIX_SYMBOL | PREFIX_CONVENTION | PREFIX_ATTRIBUTE,
                         type->begin);
  uint32_t attachments = p->attachments.count;
  p->result_set = attrs_close(p, type->pointee);
  p->symbols->result_type = *type;
  symbols_reset_variable(p);
  p->attachments.count = attachments; /* of a declaration: before the header */
  p->symbols->name = *name;
  p->variadic = false;
  p->arguments.count = p->symbols->parameter_names.count = 0;
}

void symbols_parameter(struct parser *p, const struct written_type *type,
                       const struct token *name) {
  struct argument a = {.operand = {.type = type->type, .begin = type->begin}};
  enum type_kind kind = type_kind(&p->m->types, type->type);
  a.attributes = attrs_close(p, type->pointee);
  if (kind == TY_VOID || kind == TY_FUNCTION) {
    report(p, DIAG_BAD_TYPE, type->begin, type->end, report_type(p, type->type),
           "the type of a parameter", NULL);
    a.operand.type = TYPE_I32;
  }
  struct token none = {0};
  VEC_PUSH(&p->scratch, &p->arguments, a);
  VEC_PUSH(&p->scratch, &p->symbols->parameter_names, name ? *name : none);
}

static struct nvm_type parameter_types(struct parser *p) {
  uint32_t count = p->arguments.count, first = p->types.count;
  enum type_kind kind = type_kind(&p->m->types, p->symbols->result_type.type);
  struct nvm_type result = p->symbols->result_type.type;
  if (kind == TY_FUNCTION || kind == TY_LABEL || kind == TY_METADATA) {
    report(p, DIAG_BAD_TYPE, p->symbols->result_type.begin, p->symbols->result_type.end,
           report_type(p, result), "the result of a function", NULL);
    result = TYPE_VOID;
  }
  for (uint32_t i = 0; i < count; i++)
    VEC_PUSH(&p->scratch, &p->types, p->arguments.data[i].operand.type);
  if (p->scratch.failed) return TYPE_NONE; /* some of them are missing */
  const struct nvm_type *types = p->types.data ? p->types.data + first : NULL;
  p->types.count = first;
  return type_function(&p->m->types, result, types, count, p->variadic);
}

/* The list of the sets of function, result and the first `count` arguments. */
struct nvm_attrlist symbols_attribute_list(struct parser *p, struct nvm_attrset function,
                                           struct nvm_attrset result, uint32_t count) {
  while (count > 0 && p->arguments.data[count - 1].attributes.index == 0) count--;
  if (count == 0 && function.index == 0 && result.index == 0) return (struct nvm_attrlist){0};
  if (!VEC_RESERVE(&p->scratch, &p->symbols->sets, (uint64_t)count + 1)) count = 0;
  for (uint32_t i = 0; i < count; i++) p->symbols->sets.data[i] = p->arguments.data[i].attributes;
  return attrlist_make(&p->m->attributes, function, result, p->symbols->sets.data, count);
}

static void name_arguments(struct parser *p, struct nvm_function *f) {
  bool any = false;
  for (uint32_t i = 0; i < p->symbols->parameter_names.count; i++)
    any |= p->symbols->parameter_names.data[i].length != 0;
  if (any)
    f->arg_names =
        arena_alloc(&p->m->arena, p->symbols->parameter_names.count * sizeof *f->arg_names);
}

/* The function of the header just read; an unnamed one after an error. */
static struct nvm_function *finish_header(struct parser *p, bool has_body) {
  struct nvm_value v = symbol_to_define(p, &p->symbols->name, true);
  if (value_is_none(v)) v = module_add_function(p->m, (struct nvm_str){0});
  if (value_is_none(v)) return NULL;
  struct nvm_function *f = module_function(p->m, v);
  f->type = parameter_types(p);
  f->convention = p->prefixes.convention;
  f->address_space = p->suffix_space;
  f->align_log2 = attrs_take_alignment(p);
  f->gc = p->gc;
  f->prefix = p->prefix, f->prologue = p->prologue, f->personality = p->personality;
  struct nvm_attrset own = attrs_close(p, TYPE_NONE);
  f->attributes = symbols_attribute_list(p, own, p->result_set, p->arguments.count);
  fill_symbol(p, &f->symbol, &p->symbols->name);
  f->symbol.declared_only = !has_body;
  check_space(p, v);
  return f;
}

static void declare_names(struct parser *p, struct nvm_function *f) {
  name_arguments(p, f);
  for (uint32_t i = 0; f->arg_names && i < p->symbols->parameter_names.count; i++) {
    const struct token *t = &p->symbols->parameter_names.data[i];
    if (t->length && t->number >= NAME_ESCAPED) f->arg_names[i] = names_string(p, t);
  }
}

void symbols_declare(struct parser *p) {
  struct nvm_function *f = finish_header(p, false);
  if (f) declare_names(p, f);
}

/* Reserves as many instructions as the body has lines, so that the tables neither move nor stay
 * half empty. */
static void reserve_body(struct parser *p, struct nvm_function *f) {
  uint32_t at = (uint32_t)(p->cursor - p->text);
  while (p->symbols->next_body < p->bodies.count && p->bodies.data[p->symbols->next_body].end < at)
    p->symbols->next_body++;
  if (p->symbols->next_body == p->bodies.count || p->bodies.data[p->symbols->next_body].begin > at)
    return;
  uint64_t lines = p->bodies.data[p->symbols->next_body].count + UINT64_C(2);
  if (lines > UINT32_MAX / 4) return;
  (void)function_reserve(f, lines, lines * 2);
}

/* Releases the text before the function that begins, in large steps. */
static void release_text(struct parser *p) {
#ifdef NVM_HOSTILE
  enum { STEP = 1 };
#else
  enum { STEP = 1 << 21 };
#endif
  if (!p->release || p->function_begin - p->released < STEP) return;
  p->released = p->function_begin;
  p->release->release(p->release->state, p->released);
}

void symbols_begin_function(struct parser *p) {
  p->in_body = true;
  p->f = finish_header(p, true);
  p->block = (struct nvm_block){0};
  p->block_broken = false;
  p->has_assigned = false;
  names_begin_function(p);
  if (!p->f) return;
  p->function_begin = names_begin(p, &p->symbols->name);
  name_arguments(p, p->f);
  for (uint32_t i = 0; i < p->symbols->parameter_names.count; i++)
    names_define_argument(p, &p->symbols->parameter_names.data[i], i);
  reserve_body(p, p->f);
  release_text(p);
}

void symbols_end_function(struct parser *p) {
  p->in_body = false;
  if (!p->f) return;
  if (p->f->entry.index == 0)
    report(p, DIAG_EMPTY_FUNCTION, p->token_begin, p->token_end, NULL, NULL, NULL);
  else if (p->block.index && !p->block_broken)
    report(p, DIAG_MISSING_TERMINATOR, p->token_begin, p->token_end, NULL, NULL, NULL);
  names_end_function(p);
  p->f = NULL;
}

void symbols_abandon_function(struct parser *p) {
  p->in_body = false;
  p->f = NULL;
  p->stack.count = p->types.count = p->entries.count = 0;
  p->attributes.count = p->arguments.count = p->attachments.count = 0;
}

/* ---- Variables ---- */

static void check_initializer(struct parser *p, const struct token *name,
                              const struct operand *initializer) {
  bool external = p->prefixes.linkage_written &&
                  (p->prefixes.linkage == LINK_EXTERNAL || p->prefixes.linkage == LINK_EXTERN_WEAK);
  uint32_t begin = names_begin(p, name);
  if (external && initializer)
    report(p, DIAG_INITIALIZER_UNWANTED, initializer->begin, initializer->begin + 1,
           report_copy(p, p->text + begin, name->begin + name->length - begin), NULL, NULL);
  if (!external && !initializer) p->initializer_missing = *name;
}

void symbols_variable(struct parser *p, const struct token *name, bool is_constant,
                      const struct written_type *type, const struct operand *initializer) {
  symbols_check_prefixes(
      p, PREFIX_LINKAGE | PREFIX_SYMBOL | PREFIX_SPACE | PREFIX_UNNAMED | PREFIX_VARIABLE,
      type->begin);
  enum type_kind kind = type_kind(&p->m->types, type->type);
  if (kind == TY_VOID || kind == TY_FUNCTION)
    report(p, DIAG_BAD_TYPE, type->begin, type->end, report_type(p, type->type),
           "the type of a variable", NULL);
  struct nvm_value v = symbol_to_define(p, name, false);
  (void)attrs_take_alignment(p);
  struct nvm_attrset set = attrs_close(p, TYPE_NONE);
  check_initializer(p, name, initializer);
  if (value_is_none(v)) return;
  struct nvm_global *g = module_global(p->m, v);
  g->value_type = type->type;
  g->address_space = p->prefixes.address_space;
  g->initializer = initializer ? initializer->value : VALUE_NULL;
  g->is_constant = is_constant;
  g->externally_initialized = p->prefixes.externally_initialized;
  g->align_log2 = (uint8_t)p->align_log2;
  g->attributes = set;
  g->symbol.declared_only = initializer == NULL;
  fill_symbol(p, &g->symbol, name);
  check_space(p, v);
}

void symbols_alias(struct parser *p, const struct token *name, bool is_ifunc,
                   const struct written_type *type, const struct literal *bare,
                   const struct operand *typed) {
  symbols_check_prefixes(p, PREFIX_LINKAGE | PREFIX_SYMBOL | PREFIX_UNNAMED | PREFIX_VARIABLE,
                         type->begin);
  struct nvm_value aliasee = bare ? bare->value : typed->value;
  struct nvm_type pointer = bare ? bare->type : typed->type;
  struct nvm_value v = symbol_to_define(p, name, false);
  if (value_is_none(v)) return;
  struct nvm_global *g = module_global(p->m, v);
  if (!type_is_ptr(&p->m->types, pointer))
    report(p, DIAG_BAD_TYPE, bare ? bare->begin : typed->begin,
           lexer_token_end(p, bare ? bare->begin : typed->begin), report_type(p, pointer),
           "the type of an alias's target", NULL);
  g->value_type = type->type;
  g->address_space = type_info(&p->m->types, pointer)->width;
  g->aliasee = aliasee;
  g->is_alias = !is_ifunc;
  g->is_ifunc = is_ifunc;
  fill_symbol(p, &g->symbol, name);
  check_space(p, v);
}

/* ---- The module's own lines ---- */

/* The first line of the description is the message, the others, which are an example, the hint. */
void symbols_set_layout(struct parser *p, struct nvm_str layout, const struct token *t) {
  p->m->layout_text = layout;
  p->m->has_layout = true;
  struct nvm_text text = module_text(p->m, layout);
  struct datalayout_error error;
  if (datalayout_parse(&p->m->layout, text.bytes, text.length, &error) == DATALAYOUT_OK) return;
  char words[600];
  datalayout_describe(&error, text.bytes, words, sizeof words);
  size_t message = strcspn(words, "\n");
  const char *hint = words[message] ? words + message + 1 : words + message;
  uint32_t begin = t->begin, end = t->begin + t->length;
  if (t->number == NAME_PLAIN && error.begin + error.length <= t->length && error.length) {
    begin += (uint32_t)error.begin;
    end = begin + (uint32_t)error.length;
  }
  struct diag *d =
      report(p, DIAG_LAYOUT_INVALID, begin, end, report_copy(p, words, message), NULL, NULL);
  const char *copy = arena_copy(p->sink->arena, hint, strlen(hint));
  if (d && copy) d->hint = text_of(copy);
}

void symbols_check_triple(struct parser *p, uint32_t begin, uint32_t end) {
  struct nvm_text text = module_text(p->m, p->m->triple);
  enum triple_rule rule = (enum triple_rule)p->m->triple_rule;
  struct triple triple;
  enum triple_status status = triple_parse(&triple, rule, text.bytes, text.length);
  if (status == TRIPLE_OK || (rule == TRIPLE_ANY && text.length == 0)) return;
  char words[400];
  triple_describe(status, rule, text.bytes, text.length, words, sizeof words);
  words[strcspn(words, "\n")] = '\0';
  report(p, DIAG_TRIPLE_INVALID, begin, end, report_copy(p, words, strlen(words)), NULL, NULL);
}

static bool is_word(const struct parser *p, const struct token *t, const char *word) {
  return t->length == strlen(word) && memcmp(p->text + t->begin, word, t->length) == 0;
}

void symbols_target(struct parser *p, const struct token *what, const struct token *text) {
  struct nvm_module *m = p->m;
  if (is_word(p, what, "datalayout")) {
    symbols_set_layout(p, names_string(p, text), text);
  } else if (is_word(p, what, "triple")) {
    m->triple = names_string(p, text);
    m->has_triple = true;
    symbols_check_triple(p, text->begin, text->begin + text->length);
  } else if (is_word(p, what, "source_filename")) {
    m->source_filename = names_string(p, text);
  } else if (is_word(p, what, "asm")) {
    VEC_PUSH(&m->arena, &m->module_asm, names_string(p, text));
  } else {
    report_token(p, DIAG_TARGET_LINE, what->begin, NULL, NULL);
  }
}

/* ---- The end of the module ---- */

/* Adds the symbol with the nearest name as a hint. */
static void hint_symbol(struct parser *p, struct diag *d, struct nvm_text name) {
  struct nearest near = nearest_start(name);
  if (near.limit > 2) near.limit = 2; /* names of one module resemble each other */
  for (uint32_t i = 0; i < p->m->symbol_order.count && i < 20000; i++) {
    const struct symbol *s = module_symbol(p->m, p->m->symbol_order.data[i]);
    if (s->defined) nearest_offer(&near, module_text(p->m, s->name));
  }
  if (!near.best.bytes) return;
  struct textbuf b;
  textbuf_init(&b, p->sink->arena);
  textbuf_format(&b, "did you mean '@%t'?", near.best);
  d->hint = (struct nvm_text){b.bytes, b.length};
}

/* An intrinsic that is called and not declared: frontend/parse.c checks the type of its first call.
 */
static bool declares_itself(struct parser *p, struct nvm_value v) {
  struct nvm_text name = module_text(p->m, module_symbol(p->m, v)->name);
  return value_kind(v) == VALUE_FUNCTION && module_function(p->m, v)->type.index != 0 &&
         name.length > 5 && memcmp(name.bytes, "llvm.", 5) == 0;
}

static void finish_undefined(struct parser *p, struct nvm_value v, uint32_t *hints) {
  struct symbol *s = module_symbol(p->m, v);
  if (s->defined) return;
  if (declares_itself(p, v)) {
    const struct symbol_use *call = names_use(p, v);
    s->defined = s->declared_only = true;
    s->where.begin = call->call_begin, s->where.end = call->call_end;
    return;
  }
  const struct symbol_use *use = names_use(p, v);
  if (!use || use->end == 0) {
    module_remove_symbol(p->m, v);
    return;
  }
  struct diag *d = report(p, DIAG_UNDEFINED_GLOBAL, use->begin, use->end,
                          report_copy(p, p->text + use->begin, use->end - use->begin), NULL, NULL);
  if (d && (*hints)++ < 8) hint_symbol(p, d, module_text(p->m, s->name));
}

void symbols_finish(struct parser *p) {
  if (!p->m->has_triple) symbols_check_triple(p, 0, 0);
  uint32_t hints = 0;
  report_missing_initializer(p);
  for (uint32_t i = 1; i < p->m->globals.count; i++)
    finish_undefined(p, value_make(VALUE_GLOBAL, i), &hints);
  for (uint32_t i = 1; i < p->m->functions.count; i++)
    finish_undefined(p, value_make(VALUE_FUNCTION, i), &hints);
  for (uint32_t i = 0; i < p->m->comdats.count; i++) {
    uint32_t begin = p->symbols->comdat_uses.data[i];
    if (p->m->comdats.data[i].kind.index == 0)
      report(p, DIAG_UNDEFINED_COMDAT, begin - 1, lexer_token_end(p, begin - 1),
             module_text(p->m, p->m->comdats.data[i].name).bytes, NULL, NULL);
  }
}
