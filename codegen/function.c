/* One function: the planning stages, then each instruction in layout order. */
#include "codegen/abi.h"
#include "codegen/inst.h"
#include "codegen/lane.h"
#include "codegen/report.h"
#include "codegen/select.h"
#include "codegen/stage.h"
#include "codegen/value.h"
#include "ptx/print.h"

/* --- planning --------------------------------------------------------------------------------- */

/* Computes the parts of all types in use and reserves all registers, so that neither table moves
 * while an instruction is lowered. */
static bool plan_registers(struct lower *l) {
  const struct nvm_function *f = l->f;
  uint64_t parts = 1;
  for (uint32_t a = 0; a < function_arg_count(f); a++)
    parts += part_list(l, function_arg_type(f, a)).count;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      if (!l->selection[i.index].wanted) continue;
      l->inst = i; /* the place of an error */
      parts += part_list(l, inst->type).count;
      for (uint32_t k = 0; k < inst->operand_count; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        if (value_kind(v) == VALUE_CONST) part_list(l, value_type(f, v));
      }
    }
  l->inst = (struct nvm_inst_id){0};
  l->inst_regs = arena_alloc(&l->function_arena, f->insts.count * sizeof *l->inst_regs);
  l->arg_regs = arena_alloc(&l->function_arena, (function_arg_count(f) + 1) * sizeof *l->arg_regs);
  if (!l->inst_regs || !l->arg_regs) return false;
  if (!VEC_RESERVE(&l->function_arena, &l->regs, parts)) return false;
  l->regs.count = 1; /* 0 says "none yet" */
  return true;
}

static bool plan_labels(struct lower *l) {
  const struct nvm_function *f = l->f;
  l->block_labels = arena_alloc(&l->function_arena, f->blocks.count * sizeof *l->block_labels);
  if (!l->block_labels) return false;
  for (uint32_t k = 0; k < l->layout_count; k++) {
    struct nvm_block b = l->layout[k];
    l->block_labels[b.index] = ptx_new_label(l->pf, function_block(f, b)->name);
  }
  return true;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void lower_unreachable(struct lower *l) {
  emit0(l, lower_knob(l, KNOB_EXIT_ON_UNREACHABLE) ? PTX_EXIT : PTX_TRAP, NULL);
}

static bool is_ordered(const struct nvm_inst *access) {
  return memory_access_unpack(access->aux).ordering != ORDER_NONE;
}

static void lower_inst(struct lower *l, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
    case OP_RET: params_lower_ret(l, i); break;
    case OP_BR: branch_lower(l, i); break;
    case OP_CONDBR: branch_lower_conditional(l, i); break;
    case OP_SWITCH: switch_lower(l, i); break;
    case OP_UNREACHABLE: lower_unreachable(l); break;
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_UDIV:
    case OP_SDIV:
    case OP_UREM:
    case OP_SREM:
    case OP_SHL:
    case OP_LSHR:
    case OP_ASHR:
    case OP_AND:
    case OP_OR:
    case OP_XOR: int_lower_binary(l, i); break;
    case OP_FADD:
    case OP_FSUB:
    case OP_FMUL:
    case OP_FDIV:
    case OP_FREM: float_lower_binary(l, i); break;
    case OP_FNEG: float_lower_neg(l, i); break;
    case OP_ALLOCA: frame_lower_alloca(l, i); break;
    case OP_LOAD: (is_ordered(i) ? atomic_lower_load : memory_lower_load)(l, i); break;
    case OP_STORE: (is_ordered(i) ? atomic_lower_store : memory_lower_store)(l, i); break;
    case OP_FENCE: atomic_lower_fence(l, i); break;
    case OP_CMPXCHG: atomic_lower_cmpxchg(l, i); break;
    case OP_ATOMICRMW: atomic_lower_rmw(l, i); break;
    case OP_GEP: address_lower_gep(l, i); break;
    case OP_TRUNC:
    case OP_ZEXT:
    case OP_SEXT:
    case OP_FPTRUNC:
    case OP_FPEXT:
    case OP_FPTOUI:
    case OP_FPTOSI:
    case OP_UITOFP:
    case OP_SITOFP:
    case OP_PTRTOINT:
    case OP_INTTOPTR:
    case OP_BITCAST:
    case OP_ADDRSPACECAST:
      if (!params_lower_conversion(l, i)) convert_lower(l, i);
      break;
    case OP_ICMP: int_lower_compare(l, i); break;
    case OP_FCMP: float_lower_compare(l, i); break;
    case OP_PHI: break; /* set by edges */
    case OP_SELECT: vector_lower_select(l, i); break;
    case OP_CALL: call_lower(l, i); break;
    case OP_FREEZE: vector_lower_freeze(l, i); break;
    case OP_EXTRACTELEMENT: vector_lower_extract(l, i); break;
    case OP_INSERTELEMENT: vector_lower_insert(l, i); break;
    case OP_SHUFFLEVECTOR: vector_lower_shuffle(l, i); break;
    case OP_EXTRACTVALUE: vector_lower_extract_value(l, i); break;
    case OP_INSERTVALUE: vector_lower_insert_value(l, i); break;
    case OP_VA_ARG: call_lower_va_arg(l, i); break;
    case OP_DBG_RECORD:
    case OP_COUNT: break;
  }
}

/* Values get registers when they are first used; all others that an instruction makes are
 * temporaries, which tidy_copies() may remove. */
static void lower_one(struct lower *l, struct nvm_inst_id i) {
  const struct nvm_inst *inst = function_inst(l->f, i);
  l->inst = i;
  if (select_moves_lanes((enum op)inst->op) && lane_share(l, i)) return;
  if ((inst->op == OP_ZEXT || inst->op == OP_SEXT) && select_is_loaded(l, inst)) return;
  uint32_t comment = l->notes ? verbose_inst(l, i) : 0;
  if (l->target->debug) debug_write_location(l, i);
  uint32_t from = l->pf->entries.count, temps[PTX_CLASS_COUNT];
  bool tidy = !op_is_terminator((enum op)inst->op) && part_list(l, inst->type).count != 0;
  if (tidy) {
    value_result(l, i);
    for (uint32_t k = 0; k < inst->operand_count; k++) value_touch(l, inst_operand(l->f, inst, k));
  }
  if (l->arena.failed || l->function_arena.failed) return; /* registers may be missing */
  memcpy(temps, l->pf->reg_count, sizeof temps);
  lower_inst(l, inst);
  if (tidy) tidy_copies(l, from, temps);
  for (uint32_t e = from; e < l->pf->entries.count; e++)
    if (l->pf->entries.data[e].kind == PTX_INST)
      l->pf->entries.data[e].line = l->f->positions.data[i.index];
  report_unsupported(l, from);
  if (l->notes) verbose_inst_end(l, comment);
}

/* Marks the headers of loops that ptxas must not unroll; NULL when out of memory. */
static bool *find_rolled_loops(struct lower *l) {
  bool *rolled = arena_alloc(&l->function_arena, l->f->blocks.count * sizeof *rolled);
  if (!rolled) return NULL;
  FOR_EACH_BLOCK (l->f, b) {
    struct nvm_meta hints = loops_hints_of(l->f, block_terminator(l->f, b));
    if (!loops_forbid_unrolling(l->f, hints)) continue;
    for (uint32_t k = 0, count = block_successor_count(l->f, b); k < count; k++) {
      struct nvm_block to = block_successor(l->f, b, k);
      rolled[to.index] |= dominance_dominates(&l->dominance, to, b);
    }
  }
  return rolled;
}

static void lower_block(struct lower *l, struct nvm_block b, bool is_rolled) {
  if (b.index != l->f->entry.index) ptx_add_label(l->pf, l->block_labels[b.index]);
  if (is_rolled) ptx_add_text(l->pf, PTX_PRAGMA, (struct nvm_text){"nounroll", strlen("nounroll")});
  verbose_block(l, b);
  params_read(l, b);
  uint32_t from = l->pf->entries.count;
  FOR_EACH_INST (l->f, b, i) {
    if (l->selection[i.index].wanted) lower_one(l, i);
    address_make_product(l, i);
  }
  placement_end_block(l, from);
}

static bool begin_function(struct lower *l, struct nvm_function *f, struct ptx_function *pf) {
  arena_reset(&l->function_arena);
  l->f = f;
  l->pf = pf;
  l->inst = (struct nvm_inst_id){0};
  l->regs.data = NULL;
  l->regs.count = l->regs.capacity = 0;
  l->above.data = NULL;
  l->above.count = l->above.capacity = 0;
  l->refused = l->too_large = false;
  l->wide_products = NULL;
  l->switch_labels = NULL;
  l->converted_args = NULL;
  l->ftz = l->target->ftz || function_flushes_f32(f);
  ptx_function_init(pf, &l->ptx, &l->function_arena);
  ptx_expect(pf, f->insts.count);
  params_signature(l, f, pf);
  if (!dominance_compute(&l->dominance, f, &l->function_arena) ||
      !loops_compute(&l->loops, f, &l->dominance, &l->function_arena) || !placement_plan(l))
    return false;
  if (l->target->optimization_level > 0 && !shared_bases_place(l)) return false;
  return params_copy_for_phis(l) && frame_plan(l) && frame_sink_addresses(l) &&
         select_function(l) && plan_registers(l);
}

static bool plan_blocks(struct lower *l) {
  return plan_labels(l) && phi_plan(l) && verbose_plan(l) && params_plan(l) &&
         (coalesce_function(l), placement_skip_jumps(l), !l->function_arena.failed);
}

enum nvm_status function_lower(struct lower *l, struct nvm_function *f) {
  struct ptx_function pf;
  bool optimizes = l->target->optimization_level > 0;
  if (!legalize_function(f, optimizes) ||
      (optimizes && !loaded_lanes_change(f, &l->function_arena)) || !begin_function(l, f, &pf))
    return NVM_OUT_OF_MEMORY;
  if (l->too_large) return NVM_REFUSED;
  const bool *rolled = plan_blocks(l) ? find_rolled_loops(l) : NULL;
  if (!rolled) return NVM_OUT_OF_MEMORY;
  for (uint32_t k = 0; k < l->layout_count; k++) {
    struct nvm_block b = l->layout[k];
    l->next_label = k + 1 < l->layout_count ? l->block_labels[l->layout[k + 1].index] : 0;
    lower_block(l, b, rolled[b.index]);
  }
  uint32_t single = pf.reg_count[PTX_B64];
  pairs_widen_registers(l);
  packed_conversions_make(l);
  reuse_values(l, single);
  frame_declare(l);
  if (l->is_bug) return NVM_BUG;
  if (l->refused) return NVM_REFUSED;
  ptx_print_function(&pf, l->out);
  bool failed = l->arena.failed || l->function_arena.failed || module_out_of_memory(l->module);
  return failed ? NVM_OUT_OF_MEMORY : NVM_OK;
}
