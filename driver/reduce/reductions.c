/* The reductions; see reductions.h. */
#include "driver/reduce/reductions.h"

#include "opt/cfg/cfg.h"
#include "opt/pass.h"
#include "target/options.h"

struct place {
  uint32_t at, first, count;
};
static bool is_chosen(struct place *p) {
  uint32_t at = p->at++;
  return at >= p->first && at - p->first < p->count;
}

#define FOR_EACH_DEFINITION(m, f)                          \
  for (uint32_t n_ = 1; n_ < (m)->functions.count; n_++)   \
    for (struct nvm_function *f = (m)->functions.data[n_]; \
         f && !function_is_declaration(f) && f->symbol.name.index; f = NULL)

/* The zero of the type; VALUE_NULL if it has none. */
static struct nvm_value zero_of(struct nvm_module *m, struct nvm_type type) {
  bool has = type_is_first_class(&m->types, type) && type_is_sized(&m->types, type);
  return has ? const_zero(m, type) : VALUE_NULL;
}

static void replace_uses(struct nvm_function *f, struct nvm_inst_id old, struct nvm_value with) {
  for (uint32_t i = 1; i < f->insts.count; i++) {
    const struct nvm_inst *user = &f->insts.data[i];
    for (uint32_t k = 0; user->block.index && k < f->insts.data[i].operand_count; k++)
      if (value_equal(inst_operand(f, &f->insts.data[i], k), value_of_inst(old)))
        inst_set_operand(f, (struct nvm_inst_id){i}, k, with);
  }
}

/* ---- Reductions ---- */

/* Removes functions and their calls. */
static uint32_t remove_functions(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  for (uint32_t n = 1; n < m->functions.count; n++) {
    struct nvm_value v = value_make(VALUE_FUNCTION, n);
    if (m->functions.data[n]->symbol.name.index == 0 || !is_chosen(&p)) continue;
    FOR_EACH_DEFINITION (m, f)
      FOR_EACH_BLOCK (f, b) {
        struct nvm_inst_id next;
        for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i); i = next) {
          const struct nvm_inst *call = function_inst(f, i);
          next = call->next;
          if (call->op != OP_CALL || !value_equal(call_callee(f, call), v)) continue;
          struct nvm_value zero = zero_of(m, call->type);
          if (!value_is_none(zero)) replace_uses(f, i, zero);
          inst_remove(f, i);
        }
      }
    module_remove_symbol(m, v);
  }
  return p.at;
}

/* Makes a branch unconditional. */
static uint32_t remove_edges(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION (m, f) {
    FOR_EACH_BLOCK (f, b)
      for (uint32_t k = 0, n = block_successor_count(f, b); n > 1 && k < n; k++)
        if (is_chosen(&p)) {
          cfg_make_jump(f, b, block_successor(f, b, k));
          p.at += n - k - 1;
          break;
        }
    if (cfg_remove_unreachable(f, &m->arena) < 0) return 0;
  }
  return p.at;
}

/* Ends a block with a return. */
static uint32_t end_blocks(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION (m, f) {
    FOR_EACH_BLOCK (f, b) {
      if (block_successor_count(f, b) == 0 || !is_chosen(&p)) continue;
      struct nvm_value zero = zero_of(m, function_result_type(f));
      for (uint32_t k = block_successor_count(f, b); k-- > 0;)
        cfg_remove_phi_edges(f, block_successor(f, b, k), b, 0);
      struct nvm_inst_id old = block_terminator(f, b);
      struct nvm_inst_id end =
          function_add_inst(f, OP_RET, 0, TYPE_VOID, &zero, !value_is_none(zero), 0);
      if (inst_is_none(end)) return 0;
      inst_insert_before(f, end, old);
      inst_remove(f, old);
    }
    if (cfg_remove_unreachable(f, &m->arena) < 0) return 0;
  }
  return p.at;
}

enum substitute { BY_ZERO, BY_FIRST, BY_LAST }; /* operand of the same type */

/* Replaces an instruction by another value. */
static uint32_t remove_instructions(struct nvm_module *m, uint32_t first, uint32_t count,
                                    enum substitute by) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION (m, f)
    FOR_EACH_BLOCK (f, b) {
      struct nvm_inst_id next;
      for (struct nvm_inst_id i = function_block(f, b)->first; !inst_is_none(i); i = next) {
        const struct nvm_inst *inst = function_inst(f, i);
        next = inst->next;
        struct nvm_value to = zero_of(m, inst->type);
        bool found = by == BY_ZERO;
        for (uint32_t k = 0; by != BY_ZERO && (!found || by == BY_LAST) && k < inst->operand_count;
             k++) {
          struct nvm_value v = inst_operand(f, inst, k);
          if (value_kind(v) == VALUE_BLOCK || !type_equal(value_type(f, v), inst->type) ||
              value_equal(v, value_of_inst(i)))
            continue;
          found = true;
          to = v;
        }
        if (op_is_terminator((enum op)inst->op) || !found || !is_chosen(&p)) continue;
        if (!value_is_none(to)) replace_uses(f, i, to);
        inst_remove(f, i);
      }
    }
  return p.at;
}
static uint32_t remove_to_zero(struct nvm_module *m, uint32_t first, uint32_t count) {
  return remove_instructions(m, first, count, BY_ZERO);
}
static uint32_t remove_to_first(struct nvm_module *m, uint32_t first, uint32_t count) {
  return remove_instructions(m, first, count, BY_FIRST);
}
static uint32_t remove_to_last(struct nvm_module *m, uint32_t first, uint32_t count) {
  return remove_instructions(m, first, count, BY_LAST);
}

/* Replaces non-constant operands by zero. */
static uint32_t clear_operands(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION (m, f)
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i) {
        const struct nvm_inst *inst = function_inst(f, i);
        for (uint32_t k = 0; k < inst->operand_count; k++) {
          struct nvm_value v = inst_operand(f, inst, k);
          if ((value_kind(v) != VALUE_INST && value_kind(v) != VALUE_ARG) || !is_chosen(&p))
            continue;
          struct nvm_value zero = zero_of(m, value_type(f, v));
          if (!value_is_none(zero)) inst_set_operand(f, i, k, zero);
        }
      }
  return p.at;
}

/* Drops flags, attributes and metadata of instructions and functions. */
static uint32_t clear_words(struct nvm_module *m, uint32_t first, uint32_t count) {
  struct place p = {0, first, count};
  FOR_EACH_DEFINITION (m, f) {
    if (f->attributes.index && is_chosen(&p)) f->attributes.index = 0;
    FOR_EACH_BLOCK (f, b)
      FOR_EACH_INST (f, b, i) {
        struct nvm_inst *inst = function_inst(f, i);
        bool has_flags = inst->flags && inst->op != OP_ALLOCA;
        if ((has_flags || f->attachments.data[i.index] || f->locations.data[i.index].index) &&
            is_chosen(&p)) {
          if (has_flags) inst->flags = 0;
          f->attachments.data[i.index] = 0;
          f->locations.data[i.index].index = 0;
        }
      }
  }
  return p.at;
}

enum nvm_status reductions_run_passes(struct nvm_module *m, const char *list, int64_t limit,
                                      struct diag_sink *sink) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  struct pass_result result;
  const struct knobs knobs = knobs_initial();
  struct pass_options o = {.pipeline = text_of(list), .bisect_limit = limit, .knobs = &knobs};
  if (tgt_set_cpu(&options, "sm_90", strlen("sm_90"), NULL) != TGT_OK ||
      tgt_init(&target, &options, NULL) != TGT_OK)
    return NVM_BUG;
  return pass_run_pipeline(m, &target, &o, sink, &result);
}

/* Runs cleanup passes. The second globaldce removes uncalled functions too: those that are not
 * kernels become internal before it. */
static uint32_t tidy(struct nvm_module *m, uint32_t first, uint32_t count) {
  static const char *const passes[] = {"globaldce", "globaldce", "dce", "simplifycfg"};
  enum { PASSES = sizeof passes / sizeof *passes };
  struct diag_sink sink;
  diag_sink_init(&sink, &m->arena, 0);
  for (uint32_t k = first; k < PASSES && k - first < count; k++) {
    FOR_EACH_DEFINITION (m, f)
      if (k == 1 && !function_is_kernel(f)) f->symbol.linkage = LINK_INTERNAL;
    reductions_run_passes(m, passes[k], -1, &sink);
  }
  return PASSES;
}

reduction *const reductions_all[] = {
    remove_functions, remove_edges,   end_blocks,  remove_to_zero, remove_to_first,
    remove_to_last,   clear_operands, clear_words, tidy,           NULL};
