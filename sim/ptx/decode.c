/* PTX functions into code: parameters and variables get places, then each entry is decoded, by
 * decode_*.c for what computes, accesses memory or concerns several lanes; control flow is here.
 *
 * An instruction that is not supported becomes one that is a finding when it is reached: a module
 * may contain code that never runs. */
#include "ptx/check.h"
#include "sim/machine/exec.h"
#include "sim/machine/symbol.h"
#include "sim/ptx/decoder.h"

static uint64_t reserve(uint64_t *end, uint64_t bytes, uint64_t align) {
  uint64_t at = align_up(*end, align);
  *end = at + bytes;
  return at;
}

static void push_variable(struct decoder *d, struct scope_variable v) {
  if (!VEC_PUSH(&d->sim->arena, &d->scope, v)) d->failed = true;
}

/* The end of the frame's parameter area at this place of the text. */
static uint64_t param_end(const struct decoder *d) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < d->scope.count; i++) {
    const struct scope_variable *v = &d->scope.data[i];
    if (v->space == PTX_MOD_PARAM && v->offset + v->bytes > end) end = v->offset + v->bytes;
  }
  return end;
}

static void add_param(struct decoder *d, const struct ptx_variable *v, uint32_t formal,
                      struct slot *slot) {
  struct scope_variable s = {.name = v->name, .space = PTX_MOD_PARAM, .formal = formal};
  uint64_t end = param_end(d), align;
  s.bytes = decoder_variable(v, &align);
  s.offset = reserve(&end, s.bytes, align);
  if (end > d->func->param_bytes) d->func->param_bytes = (uint32_t)end;
  push_variable(d, s);
  if (slot) *slot = (struct slot){.offset = (uint32_t)s.offset, .bytes = (uint32_t)s.bytes};
}

static void local_variable(struct decoder *d, const struct ptx_variable *v) {
  if (v->space == PTX_MOD_PARAM) {
    add_param(d, v, 0, NULL);
  } else if (v->space == PTX_MOD_LOCAL) {
    struct scope_variable s = {.name = v->name, .space = PTX_MOD_LOCAL};
    uint64_t align;
    s.bytes = decoder_variable(v, &align);
    s.offset = reserve(&d->func->local_bytes, s.bytes, align);
    if (align > d->func->local_align) d->func->local_align = (uint32_t)align;
    push_variable(d, s);
  } /* others are variables of the module */
}

static void add_formals(struct decoder *d) {
  struct func *f = d->func;
  f->formal_count = f->ptx->params.count;
  f->result_count = f->ptx->result_count;
  f->formals = decoder_alloc(d, f->formal_count * sizeof *f->formals);
  f->param_copies = decoder_alloc(d, f->formal_count * sizeof *f->param_copies);
  if (d->failed) return;
  for (uint32_t i = 0; i < f->formal_count; i++) {
    const struct ptx_variable *v = &f->ptx->params.data[i];
    if (v->space == PTX_MOD_REG) {
      f->formals[i] = (struct slot){
          .is_reg = true, .row = decoder_reg(d, v->reg), .bits = decoder_reg_bits(v->reg)};
      continue;
    }
    add_param(d, v, i + 1, &f->formals[i]);
  }
  if (f->ptx->is_entry) {
    f->kernel_param_bytes = f->param_bytes;
    f->param_bytes = 0;
  }
}

/* --- control flow ----------------------------------------------------------------------------- */

static bool call_slots(struct decoder *d, const struct ptx_operand *list, const struct slot **slots,
                       uint32_t *count, const struct ptx_variable *formal) {
  struct slot *s = decoder_alloc(d, (list->count + 1u) * sizeof *s);
  if (!s) return false;
  for (uint32_t i = 0; i < list->count; i++) {
    const struct ptx_operand *o = &d->f->operands.data[list->first + i];
    if (o->kind == PTX_OPERAND_SYMBOL) {
      const struct scope_variable *v = decoder_find_variable(d, o->symbol);
      if (!v) return false;
      s[i] = (struct slot){.offset = (uint32_t)v->offset, .bytes = (uint32_t)v->bytes};
    } else if (o->kind == PTX_OPERAND_REG) {
      s[i] = (struct slot){
          .is_reg = true, .row = decoder_reg(d, o->reg), .bits = decoder_reg_bits(o->reg)};
    } else {
      uint16_t type = formal ? formal[i].type : 0;
      s[i] = (struct slot){.is_reg = true,
                           .row = decoder_source(d, o, type),
                           .bits = type ? ptx_mod_row(type)->bits : 64};
    }
  }
  *slots = s;
  *count = list->count;
  return true;
}

static bool decode_call(struct decoder *d) {
  struct inst *in = d->in;
  struct call_info *c = decoder_alloc(d, sizeof *c);
  if (!c) return true;
  uint32_t i = 0;
  const struct ptx_operand *results = NULL;
  if (decoder_operand(d, i)->kind == PTX_OPERAND_LIST) results = decoder_operand(d, i++);
  const struct ptx_operand *callee = decoder_operand(d, i++);
  const struct ptx_variable *formal = NULL;
  if (callee->kind == PTX_OPERAND_SYMBOL) {
    const struct sim_symbol *s = symbol_find(d->sim, symbol_text(d->sim, callee->symbol));
    if (!s || s->window != WINDOW_CODE)
      return decoder_unsupported(d, "calls a symbol that is not a function");
    c->callee = s->func;
    if (decoder_has(d, i) && decoder_operand(d, i)->kind == PTX_OPERAND_LIST &&
        s->func->ptx->params.count >= s->func->ptx->result_count + decoder_operand(d, i)->count)
      formal = s->func->ptx->params.data + s->func->ptx->result_count;
  } else {
    c->pointer = decoder_source(d, callee, PTX_MOD_B64);
  }
  if (results && !call_slots(d, results, &c->results, &c->result_count, NULL))
    return decoder_unsupported(d, "has an undeclared result");
  if (decoder_has(d, i) && decoder_operand(d, i)->kind == PTX_OPERAND_LIST &&
      !call_slots(d, decoder_operand(d, i), &c->arguments, &c->argument_count, formal))
    return decoder_unsupported(d, "has an undeclared argument");
  in->kind = INST_CALL;
  in->call = c;
  return true;
}

static bool decode_branch_table(struct decoder *d) {
  struct inst *in = d->in;
  uint32_t label = decoder_operand(d, 1)->label;
  for (uint32_t i = 0; i < d->f->entries.count; i++) {
    const struct ptx_entry *e = &d->f->entries.data[i];
    if (e->kind != PTX_BRANCHTARGETS || e->first_mod != label) continue;
    uint32_t *targets = decoder_alloc(d, (e->line + 1u) * sizeof *targets);
    if (!targets) return true;
    for (uint32_t k = 0; k < e->line; k++)
      targets[k] = d->f->operands.data[e->first_operand + k].label;
    in->kind = INST_BRANCH_TABLE;
    in->rows = targets;
    in->imm = e->line;
    in->a = decoder_source(d, decoder_operand(d, 0), PTX_MOD_B32);
    return true;
  }
  return decoder_unsupported(d, "branches by an undefined table");
}

static bool decode_control(struct decoder *d) {
  struct inst *in = d->in;
  switch (d->e->op) {
    case PTX_BRA:
      in->kind = INST_BRANCH;
      in->imm = decoder_operand(d, 0)->label;
      return true;
    case PTX_BRX: return decode_branch_table(d);
    case PTX_CALL: return decode_call(d);
    case PTX_RET: in->kind = INST_RETURN; return true;
    case PTX_EXIT: in->kind = INST_EXIT; return true;
    case PTX_TRAP: in->kind = INST_TRAP; return true;
    case PTX_NANOSLEEP:
      in->run = exec_warp_sleep;
      in->kind = INST_MEMORY;
      return true;
    case PTX_BRKPT:
    case PTX_PMEVENT:
    case PTX_PREFETCH:
    case PTX_PREFETCHU:
    case PTX_APPLYPRIORITY:
    case PTX_DISCARD:
    case PTX_GRIDDEPCONTROL:
    case PTX_SETMAXNREG: in->run = exec_nothing; return true;
    default: return false;
  }
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Which fields the instruction reads and writes; once it is decoded. */
static uint16_t flow_of(const struct inst *in) {
  if (in->run == exec_memory_store) return FLOW_ROWS | FLOW_STORES;
  if (in->run == exec_warp_redux || in->run == exec_warp_match || in->run == exec_warp_activemask ||
      in->run == exec_memory_alloca || in->run == exec_memory_stack_save)
    return FLOW_D;
  if (in->kind != INST_PLAIN && in->kind != INST_HELPER && in->run != exec_divide) return 0;
  if (in->run == exec_compare) return FLOW_A | FLOW_B | FLOW_DECIDES;
  if (in->run == exec_select) return FLOW_A | FLOW_B | FLOW_D | FLOW_CHOOSES | FLOW_MOVES;
  if (in->run == exec_mov) return FLOW_A | FLOW_D | FLOW_MOVES;
  if (in->run == exec_memory_cvta) return FLOW_A | FLOW_D;
  if (in->run == exec_pack) return FLOW_ROWS | FLOW_D | FLOW_MOVES;
  if (in->run == exec_unpack) return FLOW_A | FLOW_TO_ROWS | FLOW_MOVES;
  if (in->fn || in->run == exec_carry) return FLOW_A | FLOW_B | FLOW_C | FLOW_D;
  bool loads_param = in->run == exec_memory_load_param || in->run == exec_memory_load_kernel_param;
  return loads_param ? FLOW_TO_ROWS : 0;
}

static void decode_instruction(struct decoder *d) {
  struct inst in = {.kind = INST_PLAIN, .line = d->e->line, .d = NO_ROW, .d2 = NO_ROW};
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(d->f, d->e, &need);
  in.entry = (uint32_t)(d->e - d->f->entries.data);
  in.issue = form ? form->issue : ptx_op_row(d->e->op)->issue;
  in.a = in.b = in.c = decoder_constant(d, 0);
  d->in = &in;
  decoder_read_words(d);
  if (!ptx_reg_is_none(d->e->guard)) {
    in.guard = decoder_reg(d, d->e->guard) + 1;
    in.flip = d->e->guard_negated ? ALL_LANES : 0;
  }
  if (!decode_control(d) && !decode_alu(d) && !decode_async(d) && !decode_memory(d) &&
      !decode_warp(d) && !decode_matrix(d))
    decoder_unsupported(d, NULL);
  in.flow = flow_of(&in);
  decoder_append(d, &in);
}

void decode_entry(struct decoder *d) {
  const struct ptx_entry *e = d->e;
  switch ((enum ptx_entry_kind)e->kind) {
    case PTX_INST: decode_instruction(d); break;
    case PTX_LABEL: {
      d->labels[e->first_mod] = d->code.count;
      struct inst in = {.kind = INST_LABEL, .line = e->line};
      decoder_append(d, &in);
      break;
    }
    case PTX_SCOPE_BEGIN: push_variable(d, (struct scope_variable){0}); break;
    case PTX_SCOPE_END:
      while (d->scope.count && d->scope.data[d->scope.count - 1].space) d->scope.count--;
      if (d->scope.count) d->scope.count--;
      break;
    case PTX_LOCAL_VAR: local_variable(d, &d->f->variables.data[e->first_mod]); break;
    case PTX_RAW: {
      struct inst in = {
          .kind = INST_BAD, .line = e->line, .unsupported = "is unsupported inline assembly"};
      decoder_append(d, &in);
      break;
    }
    case PTX_LOC:
    case PTX_PROTOTYPE:
    case PTX_BRANCHTARGETS:
    case PTX_PRAGMA:
    case PTX_COMMENT: break;
  }
}

enum nvm_status decode_function(struct sim *s, struct func *f) {
  struct decoder d = {.sim = s, .func = f, .f = f->ptx};
  decoder_assign_rows(&d);
  add_formals(&d);
  for (uint32_t i = 0; i < d.f->entries.count && !d.failed; i++) {
    d.e = &d.f->entries.data[i];
    decode_entry(&d);
  }
  return !d.failed && decoder_finish(&d) ? NVM_OK : NVM_OUT_OF_MEMORY;
}
