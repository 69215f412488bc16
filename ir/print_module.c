/* The canonical text of a module, after LLVM 19's assembly writer: the same parts in the same order
 * with the same spaces, so both texts can be compared line by line. Comments (attributes before a
 * function, predecessors of a block) are omitted.
 *
 * Unnamed entities are numbered as in LLVM: globals in text order; in a function the arguments,
 * then blocks and values in layout order; attribute groups at first use, functions before calls;
 * metadata as in print_metadata.c. A function is walked twice, to number it and to print it. */
#include "ir/print_internal.h"

/* ---- Beginning and end ---- */

static uint32_t *new_table(struct printer *p, uint32_t count) {
  return arena_alloc(&p->scratch, (size_t)count * sizeof(uint32_t));
}

/* The order of the text: variables, aliases, functions. */
enum symbol_group { GROUP_VARIABLES, GROUP_ALIASES, GROUP_IFUNCS, GROUP_FUNCTIONS, GROUP_COUNT };

static enum symbol_group group_of(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) == VALUE_FUNCTION) return GROUP_FUNCTIONS;
  const struct nvm_global *g = module_global(m, v);
  return g->is_ifunc ? GROUP_IFUNCS : g->is_alias ? GROUP_ALIASES : GROUP_VARIABLES;
}

static void number_symbols(struct printer *p) {
  uint32_t number = 0;
  for (enum symbol_group group = 0; group < GROUP_COUNT; group++) {
    for (uint32_t i = 0; i < p->m->symbol_order.count; i++) {
      struct nvm_value v = p->m->symbol_order.data[i];
      if (value_is_none(v) || module_symbol(p->m, v)->name.index || group_of(p->m, v) != group)
        continue;
      bool function = value_kind(v) == VALUE_FUNCTION;
      (function ? p->function_numbers : p->global_numbers)[value_index(v)] = number++;
    }
  }
}

/* False when out of memory. Call printer_end() in either case. */
static bool printer_begin(struct printer *p, const struct nvm_module *m, struct textbuf *out) {
  *p = (struct printer){.m = m, .out = out, .begin = out->length};
  arena_init(&p->scratch, m->arena.allocator);
  p->types = arena_alloc(&p->scratch, (size_t)m->types.infos.count * sizeof *p->types);
  p->global_numbers = new_table(p, m->globals.count);
  p->function_numbers = new_table(p, m->functions.count);
  p->group_numbers = new_table(p, m->attributes.attrs.count);
  p->name_owner = new_table(p, m->strings.entries.count);
  if (p->scratch.failed) return false;
  p->type_count = m->types.infos.count;
  number_symbols(p);
  return true;
}

static enum nvm_status printer_end(struct printer *p) {
  bool failed = p->scratch.failed || p->out->arena->failed;
  arena_free(&p->scratch);
  return failed ? NVM_OUT_OF_MEMORY : NVM_OK;
}

/* ---- Numbers of local values ---- */

/* 0 if `name` is not empty and not yet used in this function, otherwise the next number + 1. */
static uint32_t number_local(struct printer *p, struct nvm_str name, uint32_t *next) {
  if (name.index && p->name_owner[name.index] != p->stamp) {
    p->name_owner[name.index] = p->stamp;
    return 0;
  }
  return ++*next;
}

static void number_locals(struct printer *p, const struct nvm_function *f) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < function_arg_count(f); i++) {
    struct nvm_str name = f->arg_names ? f->arg_names[i] : (struct nvm_str){0};
    p->arg_numbers.data[i] = number_local(p, name, &next);
  }
  FOR_EACH_BLOCK (f, b) {
    p->block_numbers.data[b.index] = number_local(p, function_block(f, b)->name, &next);
    FOR_EACH_INST (f, b, i) {
      if (type_equal(function_inst(f, i)->type, TYPE_VOID)) continue;
      struct nvm_str name = i.index < f->names.count ? f->names.data[i.index] : (struct nvm_str){0};
      p->inst_numbers.data[i.index] = number_local(p, name, &next);
    }
  }
}

/* Numbers the unnamed arguments, blocks and values of f and makes it the current function. A second
 * value with the same name (a copy made by a pass) is numbered too. False when out of memory. */
static bool enter_function(struct printer *p, const struct nvm_function *f) {
  p->f = NULL;
  if (!VEC_RESERVE(&p->scratch, &p->arg_numbers, function_arg_count(f)) ||
      !VEC_RESERVE(&p->scratch, &p->block_numbers, f->blocks.count) ||
      !VEC_RESERVE(&p->scratch, &p->inst_numbers, f->insts.count))
    return false;
  p->stamp++;
  p->f = f;
  number_locals(p, f);
  return true;
}

/* ---- Words that symbols share ---- */

static void print_word_if(struct printer *p, const char *word) {
  if (word[0] != '\0') print_format(p, "%s ", word);
}

static void print_symbol_words(struct printer *p, const struct symbol *s) {
  print_word_if(p, linkage_names[s->linkage]);
  print_word_if(p, preemption_names[s->preemption]);
  print_word_if(p, visibility_names[s->visibility]);
  print_word_if(p, dll_storage_names[s->dll_storage]);
}

static void print_text_if(struct printer *p, const char *format, struct nvm_str text) {
  if (text.index) print_format(p, format, text);
}

static void print_comdat_reference(struct printer *p, const char *separator,
                                   const struct symbol *s) {
  if (s->comdat == 0) return;
  struct nvm_str name = p->m->comdats.data[s->comdat - 1].name;
  print_format(p, name.index == s->name.index ? "%scomdat" : "%scomdat($%N)", separator, name);
}

static void print_symbol_align(struct printer *p, const char *separator, uint8_t log2_plus_one) {
  if (log2_plus_one) print_format(p, "%salign %U", separator, UINT64_C(1) << (log2_plus_one - 1));
}

/* ---- Variables and aliases ---- */

static void print_thread_and_address(struct printer *p, const struct symbol *s) {
  print_symbol_words(p, s);
  print_word_if(p, thread_local_names[s->thread_local]);
  print_word_if(p, unnamed_addr_names[s->unnamed_addr]);
}

static void print_variable(struct printer *p, const struct nvm_global *g) {
  bool declared = value_is_none(g->initializer);
  if (declared && g->symbol.linkage == LINK_EXTERNAL) print_word(p, "external ");
  print_thread_and_address(p, &g->symbol);
  if (g->address_space) print_format(p, "addrspace(%u) ", g->address_space);
  if (g->externally_initialized) print_word(p, "externally_initialized ");
  print_format(p, g->is_constant ? "constant %T" : "global %T", g->value_type);
  if (!declared) print_format(p, " %O", g->initializer);
  print_text_if(p, ", section %Q", g->symbol.section);
  print_text_if(p, ", partition %Q", g->symbol.partition);
  print_comdat_reference(p, ", ", &g->symbol);
  print_symbol_align(p, ", ", g->align_log2);
  print_attachments(p, ", ", (struct nvm_meta){0}, g->symbol.attachments);
  print_group_reference(p, g->attributes);
}

/* The aliasee is printed with its type unless it is an expression. */
static void print_alias(struct printer *p, const struct nvm_global *g) {
  struct nvm_value v = g->aliasee;
  bool expression =
      value_kind(v) == VALUE_CONST && constant_info(&p->m->constants, v)->kind == CONST_EXPR;
  print_thread_and_address(p, &g->symbol);
  print_format(p, g->is_ifunc ? "ifunc %T, " : "alias %T, ", g->value_type);
  print_format(p, expression ? "%O" : "%V", v);
  print_text_if(p, ", partition %Q", g->symbol.partition);
}

static void print_global(struct printer *p, struct nvm_value v) {
  const struct nvm_global *g = module_global(p->m, v);
  print_format(p, "%O = ", v);
  if (g->is_alias || g->is_ifunc) print_alias(p, g);
  else print_variable(p, g);
  print_char(p, '\n');
}

/* ---- Functions ---- */

/* Only the types of the parameters of a declaration, types and names for a definition. */
static void print_parameters(struct printer *p, const struct nvm_function *f) {
  uint32_t count = function_arg_count(f);
  for (uint32_t i = 0; i < count; i++) {
    print_format(p, i ? ", %T" : "%T", function_arg_type(f, i));
    print_attributes(p, " ", attrlist_parameter(&p->m->attributes, f->attributes, i), "");
    if (!function_is_declaration(f)) print_format(p, " %O", value_of_arg(i));
  }
  if (type_info(&p->m->types, f->type)->flags & TYPE_VARIADIC)
    print_word(p, count ? ", ..." : "...");
}

static void print_function_data(struct printer *p, const char *format, struct nvm_value v) {
  if (!value_is_none(v)) print_format(p, format, v);
}

/* The text between the parameters and the body. */
static void print_header_tail(struct printer *p, const struct nvm_function *f) {
  if (f->symbol.unnamed_addr) print_format(p, " %s", unnamed_addr_names[f->symbol.unnamed_addr]);
  if (f->address_space) print_format(p, " addrspace(%u)", f->address_space);
  print_group_reference(p, attrlist_info(&p->m->attributes, f->attributes)->function);
  print_text_if(p, " section %Q", f->symbol.section);
  print_text_if(p, " partition %Q", f->symbol.partition);
  print_comdat_reference(p, " ", &f->symbol);
  print_symbol_align(p, " ", f->align_log2);
  print_text_if(p, " gc %Q", f->gc);
  print_function_data(p, " prefix %V", f->prefix);
  print_function_data(p, " prologue %V", f->prologue);
  print_function_data(p, " personality %V", f->personality);
}

static void print_header(struct printer *p, const struct nvm_function *f, struct nvm_value symbol) {
  print_symbol_words(p, &f->symbol);
  print_convention(p, f->convention);
  print_attributes(p, "", attrlist_info(&p->m->attributes, f->attributes)->result, " ");
  print_format(p, "%T %O(", function_result_type(f), symbol);
  print_parameters(p, f);
  print_char(p, ')');
  print_header_tail(p, f);
}

/* An unnamed entry block has no label. */
static void print_label(struct printer *p, const struct nvm_function *f, struct nvm_block b) {
  uint32_t number = p->block_numbers.data[b.index];
  if (number == 0) print_format(p, "\n%N:", function_block(f, b)->name);
  else if (b.index != f->entry.index) print_format(p, "\n%u:", number - 1);
  print_char(p, '\n');
}

static void print_one_function(struct printer *p, struct nvm_value symbol) {
  const struct nvm_function *f = module_function(p->m, symbol);
  bool declared = function_is_declaration(f);
  if (!enter_function(p, f)) return;
  print_word(p, declared ? "declare" : "define ");
  if (declared) {
    print_attachments(p, " ", (struct nvm_meta){0}, f->symbol.attachments);
    print_char(p, ' ');
  }
  print_header(p, f, symbol);
  if (!declared) {
    print_attachments(p, " ", (struct nvm_meta){0}, f->symbol.attachments);
    print_word(p, " {");
    FOR_EACH_BLOCK (f, b) {
      print_label(p, f, b);
      FOR_EACH_INST (f, b, i) print_inst_line(p, i);
    }
    print_char(p, '}');
  }
  print_char(p, '\n');
  p->f = NULL;
}

/* ---- The module ---- */

static void print_heading(struct printer *p) {
  const struct nvm_module *m = p->m;
  if (m->module_id.index) print_format(p, "; ModuleID = '%t'\n", module_text(m, m->module_id));
  print_text_if(p, "source_filename = %Q\n", m->source_filename);
  if (m->has_layout) print_format(p, "target datalayout = %Q\n", m->layout_text);
  if (m->has_triple) print_format(p, "target triple = %Q\n", m->triple);
  if (m->module_asm.count) print_gap(p);
  for (uint32_t i = 0; i < m->module_asm.count; i++)
    print_format(p, "module asm %Q\n", m->module_asm.data[i]);
}

static void print_named_types(struct printer *p) {
  if (p->m->types.named.count) print_gap(p);
  for (uint32_t i = 0; i < p->m->types.named.count; i++) {
    struct nvm_type ty = p->m->types.named.data[i];
    print_format(p, "%T = type ", ty);
    if (type_info(&p->m->types, ty)->flags & TYPE_OPAQUE) print_word(p, "opaque");
    else type_print_body(&p->m->types, ty, p->out);
    print_char(p, '\n');
  }
}

static void print_comdats(struct printer *p) {
  for (uint32_t i = 0; i < p->m->comdats.count; i++) {
    print_gap(p);
    print_format(p, "$%N = comdat %t\n", p->m->comdats.data[i].name,
                 module_text(p->m, p->m->comdats.data[i].kind));
  }
}

static void print_symbols(struct printer *p, enum symbol_group group) {
  bool first = true;
  for (uint32_t i = 0; i < p->m->symbol_order.count; i++) {
    struct nvm_value v = p->m->symbol_order.data[i];
    if (value_is_none(v) || group_of(p->m, v) != group) continue;
    if (first || group == GROUP_FUNCTIONS) print_gap(p);
    first = false;
    if (group == GROUP_FUNCTIONS) print_one_function(p, v);
    else print_global(p, v);
  }
}

/* Groups of variables and functions are numbered before those of calls, in order of use. */
static void number_groups(struct printer *p) {
  p->numbered_groups = true;
  for (enum symbol_group group = 0; group < GROUP_COUNT; group++) {
    for (uint32_t i = 0; i < p->m->symbol_order.count; i++) {
      struct nvm_value v = p->m->symbol_order.data[i];
      if (value_is_none(v) || group_of(p->m, v) != group) continue;
      if (group == GROUP_VARIABLES) print_number_group(p, module_global(p->m, v)->attributes);
      if (group != GROUP_FUNCTIONS) continue;
      struct nvm_attrlist list = module_function(p->m, v)->attributes;
      print_number_group(p, attrlist_info(&p->m->attributes, list)->function);
    }
  }
}

enum nvm_status print_module(const struct nvm_module *m, struct textbuf *out) {
  struct printer p;
  if (!printer_begin(&p, m, out)) return printer_end(&p);
  print_number_nodes(&p);
  number_groups(&p);
  if (p.scratch.failed) return printer_end(&p);
  print_heading(&p);
  print_named_types(&p);
  print_comdats(&p);
  for (enum symbol_group group = 0; group < GROUP_COUNT; group++) print_symbols(&p, group);
  print_groups(&p);
  print_named_metadata(&p);
  print_numbered_metadata(&p);
  return printer_end(&p);
}

/* ---- Parts of a module ---- */

/* The symbol of f, to print its name. */
static struct nvm_value symbol_of(const struct nvm_function *f) {
  for (uint32_t i = 1; i < f->module->functions.count; i++)
    if (f->module->functions.data[i] == f) return value_make(VALUE_FUNCTION, i);
  return VALUE_NULL;
}

enum nvm_status print_function(const struct nvm_function *f, struct textbuf *out) {
  struct printer p;
  if (printer_begin(&p, f->module, out)) print_one_function(&p, symbol_of(f));
  return printer_end(&p);
}

enum nvm_status print_inst(const struct nvm_function *f, struct nvm_inst_id i,
                           struct textbuf *out) {
  struct printer p;
  if (printer_begin(&p, f->module, out) && enter_function(&p, f)) print_inst_text(&p, i);
  return printer_end(&p);
}

enum nvm_status print_insts(const struct nvm_function *f, struct textbuf *out, uint32_t *end) {
  struct printer p;
  if (printer_begin(&p, f->module, out) && enter_function(&p, f))
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i) {
        print_inst_text(&p, i);
        end[i.index] = (uint32_t)out->length;
        textbuf_char(out, '\0');
      }
  return printer_end(&p);
}

enum nvm_status print_value(const struct nvm_function *f, struct nvm_value v, struct textbuf *out) {
  struct printer p;
  if (printer_begin(&p, f->module, out) && enter_function(&p, f)) print_typed(&p, v);
  return printer_end(&p);
}

/* ---- The control flow graph ---- */

/* Moves the printed text into a quoted label, every line left-aligned. */
static void take_label(struct printer *p, struct textbuf *out) {
  for (size_t i = 0; i < p->out->length; i++) {
    char c = p->out->bytes[i];
    if (c == '"' || c == '\\') textbuf_char(out, '\\');
    if (c == '\n') textbuf_puts(out, "\\l");
    else textbuf_char(out, c);
  }
  textbuf_puts(out, "\\l");
  p->out->length = 0;
}

/* The label of edge k out of b: true and false, or a switch's cases. */
static void print_edge(struct printer *p, struct nvm_block b, uint32_t k, struct textbuf *out) {
  const struct nvm_inst *t = function_inst(p->f, block_terminator(p->f, b));
  textbuf_format(out, "  b%u -> b%u", b.index, block_successor(p->f, b, k).index);
  if (t->op == OP_CONDBR) textbuf_puts(out, k == 0 ? " [label=true]" : " [label=false]");
  if (t->op == OP_SWITCH && k == 0) textbuf_puts(out, " [label=default]");
  if (t->op == OP_SWITCH && k > 0) {
    print_operand(p, inst_operand(p->f, t, 2 * k));
    textbuf_format(out, " [label=\"%t\"]", (struct nvm_text){p->out->bytes, p->out->length});
    p->out->length = 0;
  }
  textbuf_puts(out, ";\n");
}

enum nvm_status print_cfg(const struct nvm_function *f, struct textbuf *out) {
  struct printer p;
  struct textbuf text;
  textbuf_init(&text, out->arena);
  if (!printer_begin(&p, f->module, &text) || !enter_function(&p, f)) return printer_end(&p);
  print_escaped(&p, module_text(f->module, f->symbol.name));
  textbuf_format(out, "digraph \"%t\" {\n  node [shape=box, fontname=monospace];\n",
                 (struct nvm_text){text.bytes, text.length});
  text.length = 0;
  FOR_EACH_BLOCK (f, b) {
    textbuf_format(out, "  b%u [label=\"", b.index);
    print_operand(&p, value_of_block(b));
    print_char(&p, ':');
    take_label(&p, out);
    FOR_EACH_INST (f, b, i) {
      print_word(&p, "  ");
      print_inst_text(&p, i);
      take_label(&p, out);
    }
    textbuf_puts(out, "\"];\n");
    for (uint32_t k = 0, n = block_successor_count(f, b); k < n; k++) print_edge(&p, b, k, out);
  }
  textbuf_puts(out, "}\n");
  return printer_end(&p);
}
