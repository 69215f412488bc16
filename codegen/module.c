/* A whole module: header, declarations, variables, functions, aliases.
 *
 * PTX requires declarations before uses. One walk over the module, in the order of the output,
 * finds the functions that are used before their definition or have none; these are declared first.
 * The version in the header depends on all code, so the header is rewritten at the end. */
#include "codegen/abi.h"
#include "codegen/codegen.h"
#include "codegen/memory.h"
#include "codegen/report.h"
#include "codegen/stage.h"
#include "codegen/symbol.h"
#include "ir/pack.h"
#include "ptx/print.h"
#include "target/datalayout.h"
#include "target/reflect.h"
#include "target/triple.h"

/* --- uses of symbols ---------------------------------------------------------------------------
 */

struct uses {
  struct lower *l;
  bool *seen;              /* by constant: visited */
  bool *global;            /* by global: it is used */
  bool *function_declared; /* by function: to be declared first */
  uint32_t *place;         /* by function: its number among the definitions, from 1; 0: none */
  uint32_t here;           /* the definition being visited; 0: initializers, which come first */
};

static bool is_defined(const struct nvm_function *f) {
  return !function_is_declaration(f) && f->symbol.linkage != LINK_AVAILABLE_EXTERNALLY;
}

static void name_symbol(struct uses *u, struct nvm_value v);

static void name_constant(struct uses *u, struct nvm_value v) {
  uint32_t index = value_index(v);
  if (u->seen[index]) return;
  u->seen[index] = true;
  const struct constant_info *c = constant_info(&u->l->module->constants, v);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return;
  for (uint32_t i = 0, count = c->count; i < count; i++)
    name_symbol(u, const_operand(u->l->module, v, i));
}

static void name_symbol(struct uses *u, struct nvm_value v) {
  v = module_resolve_alias(u->l->module, v);
  if (value_kind(v) == VALUE_CONST) name_constant(u, v);
  else if (value_kind(v) == VALUE_GLOBAL) u->global[value_index(v)] = true;
  else if (value_kind(v) == VALUE_FUNCTION) {
    uint32_t place = u->place[value_index(v)];
    if (place == 0 || place > u->here) u->function_declared[value_index(v)] = true;
  }
}

static bool init_uses(struct uses *u, struct lower *l) {
  const struct nvm_module *m = l->module;
  *u = (struct uses){.l = l};
  u->seen = arena_alloc(&l->arena, m->constants.infos.count * sizeof *u->seen);
  u->global = arena_alloc(&l->arena, m->globals.count * sizeof *u->global);
  u->function_declared = arena_alloc(&l->arena, m->functions.count * sizeof *u->function_declared);
  u->place = arena_alloc(&l->arena, m->functions.count * sizeof *u->place);
  if (l->arena.failed) return false;
  uint32_t place = 0;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (value_kind(v) == VALUE_FUNCTION && is_defined(module_function(m, v)))
      u->place[value_index(v)] = ++place;
  }
  return true;
}

/* Lists for the compiler, as in section llvm.metadata, are not uses. */
static bool is_program_data(const struct lower *l, const struct nvm_global *g) {
  return !g->is_alias && !value_is_none(g->initializer) && !global_is_for_compiler(l, g);
}

/* Deleted operands are VALUE_NULL there. */
static bool name_operands(struct uses *u, const struct nvm_function *f) {
  uint32_t count;
  arena_reset(&u->l->function_arena);
  const struct nvm_value *operands = pack_operands(f, &u->l->function_arena, &count);
  for (uint32_t k = 0; operands && k < count; k++) {
    enum value_kind kind = value_kind(operands[k]);
    if (kind == VALUE_CONST || kind == VALUE_GLOBAL || kind == VALUE_FUNCTION)
      name_symbol(u, operands[k]);
  }
  return operands != NULL;
}

static bool find_uses(struct lower *l, struct uses *u) {
  const struct nvm_module *m = l->module;
  if (!init_uses(u, l)) return false;
  for (uint32_t i = 1; i < m->globals.count; i++)
    if (is_program_data(l, &m->globals.data[i])) name_symbol(u, m->globals.data[i].initializer);
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (value_kind(v) != VALUE_FUNCTION || u->place[value_index(v)] == 0) continue;
    u->here = u->place[value_index(v)];
    if (!name_operands(u, module_function(m, v))) return false;
  }
  return true;
}

/* --- declarations and functions
 * -------------------------------------------------------------------------------- */

/* Declares a function, under the name of an alias unless `name` is {0}. */
static void write_declaration(struct lower *l, struct nvm_value v, struct nvm_str name,
                              uint8_t flags) {
  struct ptx_function pf;
  arena_reset(&l->function_arena);
  ptx_function_init(&pf, &l->ptx, &l->function_arena);
  l->f = NULL;
  l->inst = (struct nvm_inst_id){0};
  l->symbol = v;
  params_signature(l, module_function(l->module, v), &pf);
  pf.is_declaration = true;
  if (name.index) {
    pf.name = name;
    pf.flags = flags | (pf.flags & PTX_FUNC_NORETURN);
  }
  ptx_print_declaration(&pf, l->out);
}

static void write_declarations(struct lower *l, const struct uses *u) {
  const struct nvm_module *m = l->module;
  size_t before = l->out->length;
  for (uint32_t i = 0; i < m->symbol_order.count; i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (value_kind(v) != VALUE_FUNCTION || !u->function_declared[value_index(v)]) continue;
    const struct nvm_function *f = module_function(m, v);
    if (f->intrinsic || reflect_is_callee(m, v)) continue;
    write_declaration(l, v, (struct nvm_str){0}, 0);
  }
  if (l->out->length != before) textbuf_char(l->out, '\n');
}

static void write_module_asm(struct lower *l) {
  const struct nvm_module *m = l->module;
  if (m->module_asm.count == 0) return;
  textbuf_puts(l->out, "// begin module asm\n");
  for (uint32_t i = 0; i < m->module_asm.count; i++) {
    textbuf_text(l->out, module_text(m, m->module_asm.data[i]));
    textbuf_char(l->out, '\n');
  }
  textbuf_puts(l->out, "// end module asm\n\n");
}

/* Moves the text to a piece of its own if it is longer than `length`: one buffer for all of it
 * would move while it grows, and pieces use the memory of functions that were freed. */
static bool cut_piece(struct lower *l, struct codegen_pieces *p, size_t length) {
  struct textbuf *out = l->out;
  if (!p || out->length <= length) return true;
  struct nvm_text piece = {arena_copy(out->arena, out->bytes, out->length), out->length};
  out->length = 0;
  p->bytes += piece.length;
  return piece.bytes && VEC_PUSH(out->arena, &p->list, piece);
}

/* Hands the pieces to the caller once they are MANY bytes. */
static void spill_pieces(struct lower *l, struct codegen_pieces *p) {
#ifdef NVM_HOSTILE
  enum { MANY = 1 };
#else
  enum { MANY = 2 << 20 };
#endif
  if (!p || !p->spill || p->bytes < MANY) return;
  if (!p->spill(p->state, p->list.data + 1, p->list.count - 1)) return;
  for (uint32_t k = 1; k < p->list.count; k++)
    arena_release(l->out->arena, (char *)p->list.data[k].bytes, p->list.data[k].length + 1);
  p->list.count = 1;
  p->bytes = 0;
}

/* What remains is a definition without instructions, for its callers. */
static void free_body(struct nvm_function *f) {
  function_clear(f);
  function_add_block(f, (struct nvm_str){0});
}

static enum nvm_status write_functions(struct lower *l, const struct uses *u,
                                       struct codegen_pieces *pieces) {
#ifdef NVM_HOSTILE
  enum { LONG = 512 };
#else
  enum { LONG = 1 << 16 };
#endif
  struct nvm_module *m = l->module;
  enum nvm_status worst = NVM_OK;
  for (uint32_t i = 0; i < m->symbol_order.count && !diag_full(l->sink); i++) {
    struct nvm_value v = m->symbol_order.data[i];
    if (value_kind(v) != VALUE_FUNCTION || u->place[value_index(v)] == 0) continue;
    l->symbol = v;
    l->ptx.prototypes.count = 0; /* of one function; not used after it is printed */
    l->ptx.variables.count = 0;
    if (!pack_restore(module_function(m, v))) return NVM_OUT_OF_MEMORY;
    enum nvm_status status = function_lower(l, module_function(m, v));
    if (status == NVM_OUT_OF_MEMORY || status == NVM_BUG) return status;
    if (pieces) free_body(l->f);
    if (status != NVM_OK) worst = status;
    else textbuf_char(l->out, '\n');
    if (!cut_piece(l, pieces, LONG)) return NVM_OUT_OF_MEMORY;
    spill_pieces(l, pieces);
  }
  l->f = NULL;
  return worst;
}

/* --- aliases ---------------------------------------------------------------------------------- */

/* Uses of an alias refer to the aliasee; the alias itself is written for other modules only. */
static void write_alias(struct lower *l, struct nvm_value alias) {
  const struct nvm_global *g = module_global(l->module, alias);
  uint8_t linkage = g->symbol.linkage;
  if (linkage == LINK_PRIVATE || linkage == LINK_INTERNAL) return;
  struct nvm_value aliasee = module_resolve_alias(l->module, alias);
  const struct nvm_function *f =
      value_kind(aliasee) == VALUE_FUNCTION ? module_function(l->module, aliasee) : NULL;
  const char *problem = NULL;
  if (!f || function_is_kernel(f)) problem = "PTX has aliases of device functions only";
  else if (!is_defined(f)) problem = "the aliasee must be defined in this module";
  else if (linkage != LINK_EXTERNAL) problem = "PTX has no weak aliases";
  else if (f->symbol.linkage != LINK_EXTERNAL && f->symbol.linkage != LINK_INTERNAL &&
           f->symbol.linkage != LINK_PRIVATE)
    problem = "PTX has no aliases of weak functions";
  if (problem) {
    report_refuse_symbol(l, &g->symbol, "an alias that other modules can use", problem);
    return;
  }
  if (!report_require(l, TGT_NEED_ALIAS, "aliases")) return;
  struct nvm_str name = names_of_alias(l, alias);
  write_declaration(l, aliasee, name, PTX_FUNC_VISIBLE);
  textbuf_format(l->out, ".alias %t, %t;\n", module_text(l->module, name),
                 module_text(l->module, names_of_symbol(l, aliasee)));
}

static void write_aliases(struct lower *l) {
  for (uint32_t i = 0; i < l->module->symbol_order.count; i++) {
    struct nvm_value v = l->module->symbol_order.data[i];
    if (value_kind(v) == VALUE_GLOBAL && module_global(l->module, v)->is_alias) write_alias(l, v);
  }
}

/* --- header ----------------------------------------------------------------------------------- */

static void describe_origin(const struct lower *l, struct textbuf *b) {
  textbuf_puts(b, "Generated by nvmini");
  if (l->options->command.length) textbuf_format(b, "\n%t", l->options->command);
}

/* Reports instructions that a version removed next to others that need a later version. */
static void check_version(struct lower *l) {
  struct textbuf b;
  unsigned last = l->ptx_before, ptx = l->ptx.ptx_version;
  if (last == 0 || ptx < last) return;
  textbuf_init(&b, &l->arena);
  textbuf_format(&b, "some instructions need a PTX version before %u.%u, others %u.%u", last / 10,
                 last % 10, ptx / 10, ptx % 10);
  report_error(l, DIAG_TARGET_LACKS, (struct nvm_text){b.bytes, b.length});
}

static void write_header(struct lower *l, struct textbuf *out) {
  struct textbuf comment;
  textbuf_init(&comment, &l->function_arena);
  describe_origin(l, &comment);
  l->ptx.ptx_version = l->target->ptx ? l->target->ptx : l->ptx_needed;
  l->ptx.target = module_str(l->module, l->target->cpu->name);
  l->ptx.address_size = l->target->pointer_bits;
  ptx_print_header(&l->ptx, (struct nvm_text){comment.bytes, comment.length}, out);
  ptx_print_files(&l->ptx, out);
}

/* Replaces the header from `begin` to `end` by the final one, which mostly has the same length. */
static void rewrite_header(struct lower *l, size_t begin, size_t end) {
  struct textbuf header, *out = l->out;
  textbuf_init(&header, &l->function_arena);
  write_header(l, &header);
  check_version(l);
  textbuf_replace(out, begin, end, (struct nvm_text){header.bytes, header.length});
}

/* --- the module ------------------------------------------------------------------------------- */

/* The width of pointers in triple, data layout and target must agree. */
static bool check_layout(struct lower *l) {
  char why[256];
  struct nvm_text triple = module_text(l->module, l->module->triple);
  unsigned bits = triple_pointer_bits(triple.bytes, triple.length);
  if (text_begins(triple, "nvsass-")) {
    report_error(l, DIAG_TRIPLE_MACHINE, triple);
    return false;
  }
  if (bits != 0 && bits != l->target->pointer_bits) {
    report_error(
        l, DIAG_LAYOUT_MISMATCH,
        text_of(bits == 32 ? "its pointers have 64 bits, but the triple is nvptx (32 bits)"
                           : "its pointers have 32 bits, but the triple is nvptx64 (64 bits)"));
    return false;
  }
  if (l->target->pointer_bits == 32 && !tgt_has(l->target, TGT_NEED_ADDRESS32)) {
    report_error(l, DIAG_LAYOUT_MISMATCH, text_of("sm_90 and later have 64-bit addresses only"));
    return false;
  }
  if (datalayout_agrees(&l->module->layout, l->target, why, sizeof why)) return true;
  report_error(l, DIAG_LAYOUT_MISMATCH, text_of(why));
  return false;
}

/* The functions and what follows them, to the pieces if there are some. */
static enum nvm_status write_rest(struct lower *l, const struct uses *u,
                                  struct codegen_pieces *pieces) {
  struct textbuf rest, *head = l->out;
  textbuf_init(&rest, head->arena);
  if (pieces && !VEC_PUSH(head->arena, &pieces->list, (struct nvm_text){NULL, 0}))
    return NVM_OUT_OF_MEMORY;
  if (pieces) l->out = &rest;
  enum nvm_status status = write_functions(l, u, pieces);
  if (status != NVM_OUT_OF_MEMORY && status != NVM_BUG) {
    l->f = NULL;
    write_aliases(l);
    debug_write_inlined_names(l);
    if (!cut_piece(l, pieces, 0)) status = NVM_OUT_OF_MEMORY;
  }
  l->out = head;
  return status;
}

static enum nvm_status write_module(struct lower *l, struct codegen_pieces *pieces) {
  struct uses uses;
  size_t begin = l->out->length;
  if (!check_layout(l)) return NVM_REFUSED;
  legalize_aliases(l->module);
  if (!names_assign(l) || !(l->annotations = annotations_read(l->module, &l->arena)) ||
      !find_uses(l, &uses))
    return NVM_OUT_OF_MEMORY;
  write_header(l, l->out);
  size_t end = l->out->length;
  write_module_asm(l);
  write_declarations(l, &uses);
  enum nvm_status globals = global_write_all(l, uses.global);
  if (globals == NVM_OUT_OF_MEMORY) return globals;
  enum nvm_status functions = write_rest(l, &uses, pieces);
  if (functions != NVM_OK) return functions;
  rewrite_header(l, begin, end);
  if (pieces) pieces->list.data[0] = (struct nvm_text){l->out->bytes, l->out->length};
  return globals;
}

enum nvm_status codegen_module(struct nvm_module *m, const struct nvm_target *target,
                               const struct codegen_options *options, struct diag_sink *sink,
                               struct textbuf *out, struct codegen_pieces *pieces) {
  struct nvm_target own = datalayout_target(&m->layout, target);
  struct lower l = {.module = m, .target = &own, .options = options, .sink = sink, .out = out};
  uint32_t errors = sink->error_count;
  arena_init(&l.arena, m->arena.allocator);
  arena_init_reused(&l.function_arena, m->arena.allocator);
  l.ptx = (struct ptx_module){.arena = &l.arena, .strings = &m->strings};
  l.ptx_needed = tgt_ptx_for(target->cpu);
  l.relaxed_atomics = atomic_is_relaxed_module(m, options->knobs->value[KNOB_RELAXED_ATOMICS]);
  l.invariant_load = module_str(m, "invariant.load");
  enum nvm_status status = write_module(&l, pieces);
  bool failed =
      l.arena.failed || l.function_arena.failed || module_out_of_memory(m) || out->arena->failed;
  arena_free(&l.function_arena);
  arena_free(&l.arena);
  if (status == NVM_BUG) return status;
  if (failed) return NVM_OUT_OF_MEMORY;
  return status == NVM_OK && sink->error_count != errors ? NVM_REFUSED : status;
}
