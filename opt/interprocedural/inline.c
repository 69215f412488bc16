/* inline: replaces calls by the bodies of callees.
 *
 * Purpose:   libdevice and C++ consist of functions of a few instructions; on a GPU a call costs
 *            more than most of them, and hides facts about arguments.
 * Algorithm: the manager visits callees first and runs all passes of a round on a function before
 *            its callers (opt/interprocedural/call_graph.h), so that bodies are simplified before
 *            they are copied. A function that is called once is not simplified by itself, but in
 *            its caller. The calls of a function are visited from the last to the first: the
 *            instructions after a call move to a new block and never again. A body of one block is
 *            inserted before the call, without a new block. A callee is removed after its last
 *            call was inlined. If a body is copied into a loop, undef is stored to its variables
 *            first, which forget the last iteration.
 * Inlined:   alwaysinline; internal functions with one call, unless it is in an alwaysinline
 *            function that is copied, and no other use; callees that cost at most INLINE_THRESHOLD
 *            (less if there are many calls: MAX_COPIES), plus CONSTANT_BONUS for each use of a
 *            constant argument and FRAME_BONUS for each variable whose address is passed, since
 *            only the call keeps it in memory. Not: noinline, optnone, recursive functions, those
 *            that the linker may replace, variadic ones, kernels, dynamic allocas, musttail,
 *            noduplicate calls, operand bundles, different denormal modes, calls with another
 *            function type than the callee's, integers passed as pointers apart.
 * Rules:     allocas move to the caller's entry block; lifetime.start marks the former position of
 *            arrays and structures. A byval argument is copied. `tail` is dropped. Inlined
 *            instructions keep their location, inlinedAt the call; those of functions without a
 *            subprogram get the call's; without a location of the call they have none. The callee's
 *            debug variables, !alias.scope and !noalias are dropped, since they would describe
 *            several copies at once. `mustprogress` is dropped if the callee has loops and lacks
 *            it.
 * Requires:  nothing.
 * Preserves: nothing of the callers.
 * Cost:      linear in the size of the result.
 * Omits:     calls through pointers; recursion, even one level; profiles.
 * Tests:     check/opt/inline-*. */
#include "opt/memory/byval.h"
#include "ir/build.h"
#include "opt/interprocedural/call_graph.h"
#include "opt/cfg/cfg.h"
#include "analysis/effects.h"
#include "opt/passes.h"
#include "opt/remark.h"
#include "opt/rewrite.h"

enum {
  INLINE_THRESHOLD = 500,  /* instructions; LLVM's for NVPTX: 250 * 11 units, 5 an instruction */
  MAX_COPIES = 2000,       /* instructions that inlining all calls of a callee may add */
  COPIES_THRESHOLD = 80,   /* of callees that would add more */
  HINT_THRESHOLD = 240,    /* of those among them marked inlinehint, or of OpenMP's runtime */
  SMALL_THRESHOLD = 25,    /* with -Os or optsize, LLVM's quarter of its limit */
  SMALLEST_THRESHOLD = 5,  /* with -Oz or minsize, LLVM's */
  CONSTANT_BONUS = 5,      /* instructions */
  FRAME_BONUS = 240,       /* instructions */
  MAX_CALLER_SIZE = 20000, /* larger ones inline only alwaysinline and single-use functions */
  MAX_CALLER_SIZE_OF_ONLY_USE = 80000, /* larger callers inline only alwaysinline functions */
  MAX_INSTRUCTIONS = 1 << 22,          /* callers with more instruction records inline nothing */
};

struct call {
  struct nvm_inst_id inst;
  uint32_t callee;
  uint32_t edge; /* of the call graph */
  bool copied;   /* it was copied from an inlined body */
  bool refused;  /* in the body that it was copied from */
  bool repeated; /* it is in a loop of the caller */
};

struct inliner {
  struct nvm_module *m;
  struct pass_env *env;
  struct call_graph *graph;
  VEC(struct call) calls; /* of definitions, in the caller; a stack */
  struct nvm_function *f; /* the caller */
  struct rewrite rewrite; /* of its calls that have results */
  /* Of the current call: by instruction and block of the callee. */
  struct nvm_value *map;
  struct nvm_block *blocks;
  uint32_t map_size, blocks_size;
  struct nvm_meta location;                    /* of the call */
  uint32_t position;                           /* of the call */
  struct nvm_str scope, noalias;               /* attachment kinds that are dropped */
  struct nvm_meta unlocated;                   /* the location of copies of instructions without
                                                * one */
  struct nvm_meta last_location, last_inlined; /* cache of the last translated location */
};

/* Whether g has instructions with values of type float, or vectors of them. */
static bool computes_f32(const struct nvm_function *g) {
  const struct type_table *t = &g->module->types;
  FOR_EACH_BLOCK (g, b)
    FOR_EACH_INST (g, b, id) {
      const struct nvm_inst *i = function_inst(g, id);
      if (type_equal(type_scalar(t, i->type), TYPE_FLOAT)) return true;
      for (uint32_t k = 0; k < i->operand_count; k++)
        if (type_equal(type_scalar(t, value_type(g, inst_operand(g, i, k))), TYPE_FLOAT))
          return true;
    }
  return false;
}

/* A callee with a denormal mode must have its caller's. One without keeps denormals: where they are
 * flushed it may be inlined if it has no floats, or is marked alwaysinline, as in LLVM. */
static bool same_denormals(const struct nvm_function *f, const struct nvm_function *g,
                           bool always) {
  static const char *const keys[] = {"denormal-fp-math", "denormal-fp-math-f32", "nvptx-f32ftz"};
  const struct nvm_attr *theirs = function_attribute(g, ATTR_DENORMAL_FPENV);
  const struct nvm_attr *ours = function_attribute(f, ATTR_DENORMAL_FPENV);
  if (theirs && (!ours || ours->str2.index != theirs->str2.index)) return false;
  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    theirs = function_string_attribute(g, keys[k]);
    ours = function_string_attribute(f, keys[k]);
    if (theirs && (!ours || ours->str2.index != theirs->str2.index)) return false;
  }
  return always || function_flushes_f32(f) == function_flushes_f32(g) || !computes_f32(g);
}

/* Whether g has a byval parameter whose copy would not be a variable of the generic space. */
static bool has_special_byval(const struct nvm_function *g) {
  bool any = false;
  for (uint32_t k = 0; k < function_arg_count(g) && !any; k++)
    any = function_parameter_attribute(g, k, ATTR_BYVAL) &&
          !type_equal(function_arg_type(g, k), TYPE_PTR);
  return any && !function_attribute(g, ATTR_READONLY) && !function_attribute(g, ATTR_READNONE);
}

/* The number of operands of g that are arguments with a constant value; stops after a few hundred
 * instructions. */
static uint32_t count_constant_uses(const struct nvm_function *f, const struct nvm_inst *i,
                                    const struct nvm_function *g) {
  uint32_t constants = 0, uses = 0, seen = 0;
  for (uint32_t k = 0; k + 1 < i->operand_count && k < 32; k++)
    if (value_kind(inst_operand(f, i, k)) == VALUE_CONST) constants |= UINT32_C(1) << k;
  if (constants == 0) return 0;
  FOR_EACH_BLOCK (g, b)
    FOR_EACH_INST (g, b, id) {
      const struct nvm_inst *inst = function_inst(g, id);
      if (++seen > INLINE_THRESHOLD * 2) return uses;
      for (uint32_t k = 0; k < inst->operand_count; k++) {
        struct nvm_value v = inst_operand(g, inst, k);
        if (value_kind(v) == VALUE_ARG && value_index(v) < 32)
          uses += constants >> value_index(v) & 1;
      }
    }
  return uses;
}

/* Whether inlining all calls of the callee adds few instructions to the module. */
static bool has_few_copies(const struct call_graph *g, uint32_t callee) {
  const struct call_node *c = &g->nodes[callee];
  return (uint64_t)c->size * (call_graph_uses(g, callee) - !c->kept) <= MAX_COPIES;
}

/* The cost up to which the callee is inlined. */
static uint32_t threshold_of(const struct inliner *l, uint32_t callee) {
  unsigned effort = pass_size_effort(l->env, l->f);
  if (effort) return effort == 1 ? SMALL_THRESHOLD : SMALLEST_THRESHOLD;
  if (has_few_copies(l->graph, callee)) return INLINE_THRESHOLD;
  const struct nvm_function *g = l->m->functions.data[callee];
  bool hinted = function_attribute(g, ATTR_INLINEHINT) || call_graph_is_openmp_runtime(g);
  return hinted ? HINT_THRESHOLD : COPIES_THRESHOLD;
}

/* The number of arguments that point to variables of the frame. */
static uint32_t count_passed_variables(const struct nvm_function *f, const struct nvm_inst *i) {
  uint32_t count = 0;
  for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
    struct nvm_value v = inst_operand(f, i, k);
    count += value_kind(v) == VALUE_INST &&
             call_graph_is_static_alloca(f, function_inst(f, (struct nvm_inst_id){value_index(v)}));
  }
  return count;
}

/* The maximum cost of the callee here, which constant arguments and addresses of variables raise.
 */
static uint32_t threshold_here(const struct inliner *l, const struct nvm_inst *i, uint32_t callee) {
  const struct nvm_function *g = l->m->functions.data[callee];
  uint32_t size = l->graph->nodes[callee].size;
  uint32_t threshold = threshold_of(l, callee) + FRAME_BONUS * count_passed_variables(l->f, i);
  if (size <= threshold || size > threshold * 2) return threshold;
  return threshold + CONSTANT_BONUS * count_constant_uses(l->f, i, g);
}

static bool is_only_use(const struct inliner *l, uint32_t callee) {
  return call_graph_uses(l->graph, callee) == 1 && !l->graph->nodes[callee].kept;
}

/* The cast of an argument of type `from` to a parameter of type `to`: a pointer passed as an
 * integer of its width, or the reverse. OP_COUNT: there is none. */
static enum op argument_cast(const struct nvm_module *m, struct nvm_type from, struct nvm_type to) {
  bool from_pointer = type_is_ptr(&m->types, from), to_pointer = type_is_ptr(&m->types, to);
  bool is_integer = type_info(&m->types, from_pointer ? to : from)->kind == TY_INT;
  if (from_pointer == to_pointer || !is_integer ||
      layout_bits(&m->layout, &m->types, from) != layout_bits(&m->layout, &m->types, to))
    return OP_COUNT;
  return from_pointer ? OP_PTRTOINT : OP_INTTOPTR;
}

/* Whether the call has the function type of g, but for integers passed as pointers: OpenMP's device
 * runtime calls outlined functions so. */
static bool types_agree(const struct nvm_function *f, const struct nvm_inst *i,
                        const struct nvm_function *g) {
  struct nvm_type type = call_site_of(f, i)->function_type;
  uint32_t count = function_arg_count(g);
  if (type_equal(type, g->type)) return true;
  if (type_info(&f->module->types, type)->flags & TYPE_VARIADIC || call_arg_count(f, i) != count ||
      !type_equal(i->type, function_result_type(g)))
    return false;
  for (uint32_t k = 0; k < count; k++) {
    struct nvm_type from = value_type(f, inst_operand(f, i, k)), to = function_arg_type(g, k);
    if (!type_equal(from, to) && argument_cast(f->module, from, to) == OP_COUNT) return false;
  }
  return true;
}

/* The reason not to inline whatever the cost; NULL: none. */
static const char *reason_to_refuse(const struct inliner *l, const struct nvm_inst *i,
                                    uint32_t callee) {
  const struct nvm_function *g = l->m->functions.data[callee];
  const struct call_node *c = &l->graph->nodes[callee];
  bool always =
      function_attribute(g, ATTR_ALWAYSINLINE) || call_attribute(l->f, i, ATTR_ALWAYSINLINE);
  if (!c->copyable) return "its body cannot be copied";
  if (c->recursive || g == l->f)
    return "it is recursive"; /* or became so when a called pointer became known */
  if (call_site_of(l->f, i)->bundle_count) return "the call has operand bundles";
  if (!types_agree(l->f, i, g)) return "the call's function type differs";
  if ((i->flags & CALL_TAIL_MASK) == CALL_MUSTTAIL) return "the call is musttail";
  if (has_special_byval(g)) return "a byval parameter is not a generic pointer";
  if (!same_denormals(l->f, g, always)) return "its denormal mode differs from the caller's";
  if (l->f->insts.count >= MAX_INSTRUCTIONS) return "the caller is too large";
  if (call_attribute(l->f, i, ATTR_NOINLINE) || (call_graph_is_noinline(g) && !always))
    return "it is marked noinline";
  if (function_attribute(g, ATTR_OPTNONE) || (function_attribute(l->f, ATTR_OPTNONE) && !always))
    return "of attribute optnone";
  return NULL;
}

/* What decides about a call that may be inlined. */
struct verdict {
  bool inlined;
  uint32_t threshold;
  const char *reason; /* for a cost above the threshold, or one below it that is not inlined */
};

static struct verdict decide(const struct inliner *l, const struct nvm_inst *i, uint32_t callee,
                             uint32_t caller_size) {
  const struct nvm_function *g = l->m->functions.data[callee];
  uint32_t base = threshold_of(l, callee);
  if (function_attribute(g, ATTR_ALWAYSINLINE) || call_attribute(l->f, i, ATTR_ALWAYSINLINE))
    return (struct verdict){true, base, ": it is marked alwaysinline"};
  bool only = is_only_use(l, callee);
  if (caller_size > (only ? MAX_CALLER_SIZE_OF_ONLY_USE : MAX_CALLER_SIZE))
    return (struct verdict){false, base, ": the caller is too large"};
  if (only) return (struct verdict){true, base, ": it is its only call"};
  struct verdict v = {.threshold = threshold_here(l, i, callee), .reason = ""};
  v.inlined = l->graph->nodes[callee].size <= v.threshold;
  if (v.inlined) v.reason = ": constant arguments or addresses of variables raise the threshold";
  return v;
}

/* The reason that the remark states; "": cost and threshold say it. */
static const char *stated_reason(const struct inliner *l, uint32_t callee, struct verdict v) {
  const struct call_node *c = &l->graph->nodes[callee];
  if (v.inlined == (c->size > threshold_of(l, callee))) return v.reason;
  bool few = v.inlined || c->size > INLINE_THRESHOLD || pass_size_effort(l->env, l->f) > 0;
  return few || has_few_copies(l->graph, callee)
             ? ""
             : ": its calls are too many for the usual threshold";
}

/* Whether to inline a call; emits the remark. */
static bool should_inline(const struct inliner *l, struct call call, uint32_t caller_size) {
  const struct nvm_inst *i = function_inst(l->f, call.inst);
  const struct nvm_function *g = l->m->functions.data[call.callee];
  if (call.refused && !is_only_use(l, call.callee)) return false;
  const char *never = reason_to_refuse(l, i, call.callee);
  struct verdict v = {0};
  if (!never) v = decide(l, i, call.callee, caller_size);
  if (!remark_enabled(l->env)) return v.inlined;
  uint32_t size = l->graph->nodes[call.callee].size;
  struct nvm_text callee = module_text(l->m, g->symbol.name);
  struct nvm_text caller = module_text(l->m, l->f->symbol.name);
  if (never)
    remark(l->env, REMARK_MISSED, l->f, call.inst, "NeverInline",
           "'%(Callee)t' not inlined into '%(Caller)t' because %(Reason)s", callee, caller, never);
  else
    remark(l->env, v.inlined ? REMARK_PASSED : REMARK_MISSED, l->f, call.inst,
           v.inlined ? "Inlined" : "TooCostly",
           "'%(Callee)t' %s into '%(Caller)t' with (cost=%(Cost)u, "
           "threshold=%(Threshold)u)%(Reason)s",
           callee, v.inlined ? "inlined" : "not inlined", caller, size, v.threshold,
           stated_reason(l, call.callee, v));
  return v.inlined;
}

static bool is_location(const struct inliner *l, const struct meta_node *n) {
  struct nvm_text name = module_text(l->m, n->name);
  return text_is(name, "DILocation");
}

/* The location with the call as outermost inlinedAt; {0} if it is not a location. The recursion is
 * as deep as the inlining was. */
static struct nvm_meta inlined_location(struct inliner *l, struct nvm_meta where) {
  struct meta_table *t = &l->m->metadata;
  const struct meta_node *found = meta_as_node(t, where);
  enum { MAX_FIELDS = 8 };
  if (!found || !is_location(l, found) || found->count >= MAX_FIELDS) return (struct nvm_meta){0};
  struct meta_node n = *found;
  struct nvm_str keys[MAX_FIELDS], key = module_str(l->m, "inlinedAt");
  struct nvm_meta operands[MAX_FIELDS], at = l->location;
  uint32_t count = 0;
  for (uint32_t i = 0; i < n.count; i++) {
    struct nvm_meta operand = meta_operand(t, &n, i);
    if (t->keys.data[n.first + i].index == key.index) {
      if (operand.index) at = inlined_location(l, operand);
      continue;
    }
    keys[count] = t->keys.data[n.first + i];
    operands[count++] = operand;
  }
  keys[count] = key;
  operands[count++] = at;
  uint32_t node = meta_node_new(t);
  if (!meta_node_define(t, node, n.name, n.distinct, keys, operands, count))
    return (struct nvm_meta){0};
  return meta_node(t, node, false);
}

static struct nvm_meta location_of_copy(struct inliner *l, struct nvm_meta where) {
  if (l->location.index == 0 || where.index == 0) return l->unlocated;
  if (where.index != l->last_location.index) {
    l->last_location = where;
    l->last_inlined = inlined_location(l, where);
  }
  return l->last_inlined;
}

static uint32_t copy_attachments(struct inliner *l, uint32_t chain) {
  uint32_t made = 0;
  if (chain == 0) return 0;
  if (!module_attachment(l->m, chain, l->scope).index &&
      !module_attachment(l->m, chain, l->noalias).index)
    return module_share_attachments(l->m, chain);
  for (; chain; chain = l->m->attachments.data[chain].next) {
    struct attachment a = l->m->attachments.data[chain];
    if (a.kind.index != l->scope.index && a.kind.index != l->noalias.index)
      module_attach(l->m, &made, a.kind, a.node);
  }
  return made;
}

/* The copy of a value of the callee; VALUE_NULL: not copied yet. */
static struct nvm_value mapped(const struct inliner *l, const struct nvm_value *arguments,
                               struct nvm_value v) {
  switch (value_kind(v)) {
    case VALUE_INST: return l->map[value_index(v)];
    case VALUE_ARG: return arguments[value_index(v)];
    case VALUE_BLOCK: return value_of_block(l->blocks[value_index(v)]);
    case VALUE_NONE:
    case VALUE_CONST:
    case VALUE_GLOBAL:
    case VALUE_FUNCTION:
    case VALUE_FORWARD: break;
  }
  return v;
}

/* An operand whose copy did not exist when its user was copied. */
struct pending {
  struct nvm_inst_id user;
  uint32_t operand;
  uint32_t value; /* instruction of the callee */
};

struct copy {
  const struct nvm_function *g;
  bool visited;  /* by the inliner: the calls it left were refused */
  bool repeated; /* the call is in a loop */
  bool loops;    /* the callee may have one */
  struct nvm_value *arguments;
  VEC(struct nvm_value) operands; /* of the current instruction */
  VEC(struct pending) pending;
  VEC(struct nvm_inst_id) returns; /* copies of ret */
};

static struct nvm_inst_id copy_inst(struct inliner *l, struct copy *c, struct nvm_inst_id id) {
  struct arena *a = l->env->arena;
  const struct nvm_function *g = c->g;
  struct nvm_inst i = *function_inst(g, id);
  struct nvm_inst_id made = {l->f->insts.count};
  if (!VEC_ROOM(a, &c->operands, i.operand_count)) return (struct nvm_inst_id){0};
  for (uint32_t k = 0; k < i.operand_count; k++) {
    struct nvm_value old = inst_operand(g, &i, k), now = mapped(l, c->arguments, old);
    c->operands.data[k] = now;
    if (!value_is_none(now) || value_kind(old) != VALUE_INST) continue;
    struct pending p = {made, k, value_index(old)};
    if (!VEC_PUSH(a, &c->pending, p)) return (struct nvm_inst_id){0};
  }
  if (i.op == OP_CALL && (i.flags & CALL_TAIL_MASK) == CALL_TAIL)
    i.flags &= (uint16_t)~CALL_TAIL_MASK;
  made = function_add_inst(l->f, (enum op)i.op, i.flags, i.type, c->operands.data, i.operand_count,
                           i.aux);
  if (inst_is_none(made)) return made;
  l->f->names.data[made.index] = g->names.data[id.index];
  l->f->locations.data[made.index] = location_of_copy(l, g->locations.data[id.index]);
  l->f->positions.data[made.index] =
      g->positions.data[id.index] ? g->positions.data[id.index] : l->position;
  l->f->attachments.data[made.index] = copy_attachments(l, g->attachments.data[id.index]);
  l->map[id.index] = value_of_inst(made);
  if (i.op != OP_CALL) return made;
  struct call call = {made,       call_graph_callee(g, &i), l->graph->callees.count, true,
                      c->visited, c->repeated || c->loops};
  if (call.callee &&
      !(call_graph_add(l->graph, l->env->number, call.callee) && VEC_PUSH(a, &l->calls, call)))
    return (struct nvm_inst_id){0};
  return made;
}

enum { MAX_UNDEF_VALUES = 128 /* values of a variable */, MAX_NESTING = 8 };

/* The number of scalars in a type; more than MAX_UNDEF_VALUES: too many. */
static uint64_t value_count(const struct type_table *t, struct nvm_type type, int depth) {
  const struct type_info *info = type_info(t, type);
  uint64_t count = 0;
  if (info->kind != TY_ARRAY && info->kind != TY_STRUCT) return 1;
  if (info->count > MAX_UNDEF_VALUES || depth == MAX_NESTING) return MAX_UNDEF_VALUES + 1;
  if (info->kind == TY_ARRAY) return info->count * value_count(t, info->element, depth + 1);
  for (uint32_t k = 0; k < info->count && count <= MAX_UNDEF_VALUES; k++)
    count += value_count(t, type_member(t, type, k), depth + 1);
  return count;
}

/* Stores undef to the variable: a call must not appear to read what the previous one stored. */
static bool reset_variable(struct inliner *l, struct nvm_inst_id alloca, struct nvm_block to,
                           struct nvm_inst_id before) {
  const struct nvm_inst *variable = function_inst(l->f, alloca);
  struct nvm_type type = {variable->aux};
  if (!alloca_is_single(l->f, variable) || value_count(&l->m->types, type, 0) > MAX_UNDEF_VALUES)
    return true;
  struct memory_access how = {.align_log2 = variable->flags & ALLOCA_ALIGN_MASK};
  struct builder at = builder_located((struct builder){l->f, before, to, {0}, 0}, alloca);
  return !value_is_none(
      builder_store(&at, const_undef(l->m, type), value_of_inst(alloca), memory_access_pack(how)));
}

/* Marks where the lifetime of an array or structure begins: code generation gives variables of
 * several copies one place in the frame. */
static bool begin_lifetime(struct inliner *l, struct nvm_inst_id alloca, struct nvm_block to,
                           struct nvm_inst_id before) {
  struct nvm_module *m = l->m;
  const struct nvm_inst *variable = function_inst(l->f, alloca);
  if (!alloca_is_single(l->f, variable) ||
      value_count(&m->types, (struct nvm_type){variable->aux}, 0) == 1)
    return true;
  uint64_t bytes = layout_alloc_size(&m->layout, &m->types, (struct nvm_type){variable->aux});
  struct nvm_type parameters[] = {TYPE_I64, variable->type};
  struct nvm_type type = type_function(&m->types, TYPE_VOID, parameters, 2, false),
                  sizeless = type_function(&m->types, TYPE_VOID, &parameters[1], 1, false);
  struct nvm_str name;
  struct nvm_value marker =
      intrinsic_find_declaration(m, INTRINSIC_lifetime_start, &parameters[1], 1, sizeless, &name);
  bool has_size = value_is_none(marker); /* LLVM 22 has no size any more */
  if (has_size) marker = intrinsic_declare(m, INTRINSIC_lifetime_start, &parameters[1], 1, type);
  else type = sizeless;
  uint32_t site = module_call_site(m, (struct call_site){.function_type = type});
  struct nvm_value operands[] = {const_int(m, TYPE_I64, bytes), value_of_inst(alloca), marker};
  struct builder at = builder_located((struct builder){l->f, before, to, {0}, 0}, alloca);
  return site && !value_is_none(builder_add(&at, OP_CALL, 0, TYPE_VOID, operands + !has_size,
                                            2 + has_size, site));
}

/* Copies the instructions of block b before `before`, or at the end of `to`; allocas to the
 * caller's entry block; ret into `returns`. */
static bool copy_block(struct inliner *l, struct copy *c, struct nvm_block b, struct nvm_block to,
                       struct nvm_inst_id before) {
  FOR_EACH_INST (c->g, b, id) {
    const struct nvm_inst *i = function_inst(c->g, id);
    if (effects_is_debug(c->g, i)) continue; /* the callee's debug variables are dropped */
    struct nvm_inst_id made = copy_inst(l, c, id);
    if (inst_is_none(made)) return false;
    if (i->op == OP_RET) {
      if (!VEC_PUSH(l->env->arena, &c->returns, made)) return false;
      if (inst_is_none(before)) inst_append(l->f, made, to);
    } else if (i->op == OP_ALLOCA) {
      inst_prepend(l->f, made, l->f->entry);
      if (!begin_lifetime(l, made, to, before) ||
          (c->repeated && !reset_variable(l, made, to, before)))
        return false;
    } else if (!inst_is_none(before)) {
      inst_insert_before(l->f, made, before);
    } else {
      inst_append(l->f, made, to);
    }
  }
  return true;
}

static void resolve_pending(struct inliner *l, struct copy *c) {
  for (uint32_t k = 0; k < c->pending.count; k++) {
    struct pending p = c->pending.data[k];
    inst_set_operand(l->f, p.user, p.operand, l->map[p.value]);
  }
}

/* Allocates the maps, without copies of instructions yet. */
static bool prepare_map(struct inliner *l, const struct nvm_function *g) {
  struct arena *a = l->env->arena;
  if (l->map_size < g->insts.count) {
    l->map_size = g->insts.count * 2;
    l->map = arena_alloc(a, l->map_size * sizeof *l->map);
  }
  if (l->blocks_size < g->blocks.count) {
    l->blocks_size = g->blocks.count * 2;
    l->blocks = arena_alloc(a, l->blocks_size * sizeof *l->blocks);
  }
  if (!l->map || !l->blocks) return false;
  memset(l->map, 0, g->insts.count * sizeof *l->map);
  return true;
}

/* The values of the callee's arguments: the call's operands, or copies of byval ones. */
static struct nvm_value *bind_arguments(struct inliner *l, struct nvm_inst_id call,
                                        const struct nvm_function *g) {
  uint32_t count = function_arg_count(g);
  struct nvm_value *arguments = arena_alloc(l->env->arena, (count + 1) * sizeof *arguments);
  for (uint32_t k = 0; arguments && k < count; k++) {
    struct nvm_value v = inst_operand(l->f, function_inst(l->f, call), k);
    struct nvm_type from = value_type(l->f, v), to = function_arg_type(g, k);
    struct builder at = builder_located(builder_before(l->f, call), call);
    if (!type_equal(from, to)) v = builder_unary(&at, argument_cast(l->m, from, to), to, v);
    const struct nvm_attr *byval = function_parameter_attribute(g, k, ATTR_BYVAL);
    uint32_t align = attr_align_bytes(function_parameter_attribute(g, k, ATTR_ALIGN));
    bool copied = byval && byval->type.index && !function_attribute(g, ATTR_READONLY) &&
                  !function_attribute(g, ATTR_READNONE);
    arguments[k] = copied ? byval_copy(l->f, call, v, byval->type, align, l->location) : v;
    if (value_is_none(arguments[k])) return NULL;
  }
  return arguments;
}

/* Moves the instructions after the call to a new block, which follows `b`. */
static struct nvm_block split_after(struct nvm_function *f, struct nvm_inst_id call) {
  struct nvm_block b = function_inst(f, call)->block;
  struct nvm_block rest = function_add_block(f, (struct nvm_str){0});
  if (block_is_none(rest)) return rest;
  function_move_block(f, rest, function_block(f, b)->next);
  cfg_move_rest(f, function_inst(f, call)->next, rest);
  return rest;
}

static bool jump_to(struct inliner *l, struct nvm_block from, struct nvm_block to) {
  struct builder at = {l->f, {0}, from, l->location, l->position};
  return !value_is_none(builder_branch(&at, to));
}

/* Replaces the copies of ret by jumps to `rest`; *result is the returned value. */
static bool join_returns(struct inliner *l, struct copy *c, struct nvm_block rest,
                         struct nvm_type type, struct nvm_value *result) {
  struct nvm_function *f = l->f;
  bool has_value = !type_equal(type, TYPE_VOID);
  struct nvm_inst_id phi = {0};
  if (has_value && c->returns.count > 1) {
    struct builder at = builder_at_start(f, rest);
    *result = builder_phi(&at, type, NULL, 0);
    phi = value_inst_id(*result);
    if (inst_is_none(phi)) return false;
  }
  for (uint32_t k = 0; k < c->returns.count; k++) {
    struct nvm_inst_id ret = c->returns.data[k];
    struct nvm_block b = function_inst(f, ret)->block;
    struct nvm_value v = has_value ? inst_operand(f, function_inst(f, ret), 0) : VALUE_NULL;
    if (inst_is_none(phi)) *result = v;
    else if (!phi_add(f, phi, v, b)) return false;
    inst_remove(f, ret);
    if (!jump_to(l, b, rest)) return false;
  }
  return true;
}

static bool copy_body(struct inliner *l, struct copy *c, struct nvm_inst_id call,
                      struct nvm_value *result) {
  struct nvm_function *f = l->f;
  struct nvm_block b = function_inst(f, call)->block, rest = split_after(f, call);
  if (block_is_none(rest)) return false;
  FOR_EACH_BLOCK (c->g, from) {
    struct nvm_block to = function_add_block(f, function_block(c->g, from)->name);
    if (block_is_none(to)) return false;
    function_move_block(f, to, rest);
    l->blocks[from.index] = to;
  }
  FOR_EACH_BLOCK (c->g, from)
    if (!copy_block(l, c, from, l->blocks[from.index], (struct nvm_inst_id){0})) return false;
  resolve_pending(l, c);
  struct nvm_type type = function_inst(f, call)->type;
  return jump_to(l, b, l->blocks[c->g->entry.index]) && join_returns(l, c, rest, type, result);
}

/* Copies a body of one block before the call. */
static bool copy_simple_body(struct inliner *l, struct copy *c, struct nvm_inst_id call,
                             struct nvm_value *result) {
  if (!copy_block(l, c, c->g->entry, (struct nvm_block){0}, call)) return false;
  resolve_pending(l, c);
  struct nvm_inst_id ret = c->returns.data[0];
  if (function_inst(l->f, ret)->operand_count)
    *result = inst_operand(l->f, function_inst(l->f, ret), 0);
  inst_remove(l->f, ret);
  return true;
}

/* Drops mustprogress from the caller if the callee, which has loops, lacks it. */
static bool drop_mustprogress(struct inliner *l, const struct nvm_function *g) {
  struct attr_table_data *t = &l->m->attributes;
  struct arena *arena = l->env->arena;
  if (!function_attribute(l->f, ATTR_MUSTPROGRESS) || function_attribute(g, ATTR_MUSTPROGRESS))
    return true;
  struct attrlist_info info = *attrlist_info(t, l->f->attributes);
  struct nvm_attrset *parameters = arena_alloc(arena, (info.count + 1) * sizeof *parameters);
  if (!parameters) return false;
  for (uint32_t k = 0; k < info.count; k++) parameters[k] = t->parameter_sets.data[info.first + k];
  info.function = attrset_without(t, info.function, ATTR_MUSTPROGRESS, arena);
  l->f->attributes = attrlist_make(t, info.function, info.result, parameters, info.count);
  return true;
}

static bool inline_call(struct inliner *l, const struct call *which) {
  struct nvm_function *f = l->f;
  struct nvm_inst_id call = which->inst;
  const struct nvm_function *g = l->m->functions.data[which->callee];
  l->location = f->locations.data[call.index];
  l->position = f->positions.data[call.index];
  l->last_location = l->unlocated = (struct nvm_meta){0};
  if (!module_attachment(l->m, g->symbol.attachments, module_str(l->m, "dbg")).index)
    l->unlocated = l->location;
  struct copy c = {.g = g,
                   .visited = l->graph->nodes[which->callee].inlined_into,
                   .repeated = which->repeated,
                   .loops = cfg_may_loop(g, l->env->arena),
                   .arguments = bind_arguments(l, call, g)};
  struct nvm_value result = VALUE_NULL;
  if (!c.arguments || !prepare_map(l, g) || (c.loops && !drop_mustprogress(l, g))) return false;
  struct nvm_inst_id last = block_terminator(g, g->entry);
  bool simple = g->entry.index == g->last_block.index && function_inst(g, last)->op == OP_RET;
  if (simple ? !copy_simple_body(l, &c, call, &result) : !copy_body(l, &c, call, &result))
    return false;
  struct nvm_type type = function_inst(f, call)->type;
  /* In unreachable code a call may be its own argument, and so its own result. */
  bool known =
      !value_is_none(result) && !value_equal(rewrite_get(&l->rewrite, result), value_of_inst(call));
  if (!type_equal(type, TYPE_VOID))
    rewrite_set(&l->rewrite, call, known ? result : const_poison(l->m, type));
  inst_remove(f, call);
  ++*l->env->statistic;
  return true;
}

static bool find_calls(struct inliner *l) {
  const struct nvm_function *f = l->f;
  struct dominance d;
  struct loops loops;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      if (function_inst(f, i)->op != OP_CALL) continue;
      struct call c = {
          .inst = i, .callee = call_graph_callee(f, function_inst(f, i)), .edge = l->calls.count};
      if (c.callee && !VEC_PUSH(l->env->arena, &l->calls, c)) return false;
    }
  if (l->calls.count && !flow_loops(l->env->flow, f, &d, &loops)) return false;
  for (uint32_t k = 0; k < l->calls.count; k++)
    l->calls.data[k].repeated =
        loops.innermost[function_inst(f, l->calls.data[k].inst)->block.index] != 0;
  return true;
}

enum nvm_status inline_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct nvm_module *m = env->module;
  struct inliner l = {.m = m,
                      .env = env,
                      .f = f,
                      .graph = env->calls,
                      .scope = module_str(m, "alias.scope"),
                      .noalias = module_str(m, "noalias")};
  l.graph->nodes[env->number].inlined_into = true;
  if (!find_calls(&l)) return NVM_OUT_OF_MEMORY;
  if (l.calls.count == 0) return NVM_OK;
  if (!call_graph_update(l.graph, env->number)) return NVM_OUT_OF_MEMORY;
  uint32_t size = l.graph->nodes[env->number].size, first = l.graph->nodes[env->number].first;
  for (uint32_t k = 0; k < l.calls.count; k++) l.calls.data[k].edge += first;
  while (l.calls.count) {
    struct call call = l.calls.data[--l.calls.count];
    if (!should_inline(&l, call, size)) continue;
    if (!*changed && !rewrite_init(&l.rewrite, f, env->arena)) return NVM_OUT_OF_MEMORY;
    *changed = true;
    if (call.copied && !rewrite_grow(&l.rewrite, env->arena)) return NVM_OUT_OF_MEMORY;
    if (!inline_call(&l, &call)) return NVM_OUT_OF_MEMORY;
    size += l.graph->nodes[call.callee].size;
    call_graph_drop(l.graph, call.edge);
  }
  if (!*changed) return NVM_OK;
  rewrite_apply(&l.rewrite);
  return call_graph_update(l.graph, env->number) ? NVM_OK : NVM_OUT_OF_MEMORY;
}
