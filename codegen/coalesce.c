/* Gives a phi and the value that its own loop brings back one register, where both never hold
 * different values at once.
 *
 *     $L_loop:                                  $L_loop:
 *       add.s32 %r5, %r2, %r3;                    add.s32 %r2, %r2, %r3;
 *       …                                         …
 *       @!%p2 bra $L_done;                 →      @%p2 bra $L_loop;
 *       mov.b32 %r2, %r5;
 *       bra.uni $L_loop;
 *
 * Only loops of one block are looked at: there the phi must not be read after the value is made,
 * nor anywhere outside, nor by another phi (the copies of an edge read after everything else). That
 * is one pass over the instructions from the last to the first. Addresses are not folded through
 * sums that have registers down to such a phi (address.c). */
#include "codegen/lower.h"

#include "ir/intrinsic.h"

/* By instruction: where in its own block it is read last, as a number that grows along the block;
 * `outside`: it is read in another block or by a phi too. */
struct reads {
  uint32_t last;
  bool outside;
};

struct coalescer {
  struct lower *l;
  uint32_t *position; /* by instruction, from 1 */
  struct reads *reads;
};

static void note_read(struct coalescer *c, const struct nvm_inst *user, struct nvm_inst_id id,
                      struct nvm_value v) {
  if (value_kind(v) != VALUE_INST) return;
  struct reads *r = &c->reads[value_index(v)];
  const struct nvm_inst *read = &c->l->f->insts.data[value_index(v)];
  if (user->op == OP_PHI || user->block.index != read->block.index) {
    r->outside = true;
    return;
  }
  /* Who gets no register of its own is computed where its own readers are. */
  bool folded = !c->l->wanted[id.index];
  uint32_t at = folded ? c->reads[id.index].last : c->position[id.index];
  r->outside |= folded && c->reads[id.index].outside;
  if (at > r->last) r->last = at;
}

static bool collect_reads(struct coalescer *c) {
  const struct nvm_function *f = c->l->f;
  c->position = arena_alloc(&c->l->function_arena, f->insts.count * sizeof *c->position);
  c->reads = arena_alloc(&c->l->function_arena, f->insts.count * sizeof *c->reads);
  if (!c->position || !c->reads) return false;
  FOR_EACH_BLOCK(f, b) {
    uint32_t n = 0;
    FOR_EACH_INST(f, b, i) c->position[i.index] = ++n;
    for (struct nvm_inst_id i = function_block(f, b)->last; !inst_is_none(i);
         i = function_inst(f, i)->previous) {
      const struct nvm_inst *inst = function_inst(f, i);
      for (uint32_t k = 0; k < inst->operand_count; k++) {
        struct nvm_value source;
        bool is_signed;
        note_read(c, inst, i, inst_operand(f, inst, k));
        if (inst->op == OP_GEP && lower_gep_index_source(c->l, inst, k, &source, &is_signed))
          note_read(c, inst, i, source);
      }
      if (inst->op == OP_STORE) note_read(c, inst, i, lower_stored_value(c->l, inst));
    }
  }
  return true;
}

/* Intrinsics that are one instruction a lane. */
static bool is_one_instruction(const struct nvm_function *f, const struct nvm_inst *i) {
  struct nvm_value callee = call_callee(f, i);
  if (value_kind(callee) != VALUE_FUNCTION) return false;
  switch (module_function(f->module, callee)->intrinsic) {
  case INTRINSIC_fma: case INTRINSIC_fmuladd: case INTRINSIC_smin: case INTRINSIC_smax:
  case INTRINSIC_umin: case INTRINSIC_umax:
    return true;
  default: return false;
  }
}

/* Whether lowering writes a lane of the result only after it has read that lane of all operands. */
static bool reads_before_writing(const struct nvm_function *f, const struct nvm_inst *i) {
  switch ((enum op)i->op) {
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_SHL: case OP_LSHR: case OP_ASHR: case OP_AND:
  case OP_OR: case OP_XOR: case OP_FADD: case OP_FSUB: case OP_FMUL: case OP_SELECT: case OP_GEP:
    return true;
  case OP_CALL: return is_one_instruction(f, i);
  default: return false;
  }
}

/* Numbers of 32 or 64 bits, each in one register. */
static bool is_simple_type(struct lower *l, struct nvm_type type) {
  struct type_parts parts = lower_type(l, type);
  bool vector = type_is_vector(&l->module->types, type);
  if (parts.count != (vector ? type_info(&l->module->types, type)->count : 1)) return false;
  const struct part *p = lower_part(l, parts, 0);
  return p->kind <= PART_DOUBLE && p->bits == p->container && p->bits >= 32;
}

static bool can_share(const struct coalescer *c, struct nvm_inst_id phi, struct nvm_value v) {
  const struct lower *l = c->l;
  if (value_kind(v) != VALUE_INST || !l->wanted[value_index(v)]) return false;
  const struct nvm_inst *value = &l->f->insts.data[value_index(v)];
  const struct nvm_inst *p = function_inst(l->f, phi);
  if (value->op == OP_PHI || value->block.index != p->block.index) return false;
  if (l->inst_regs[value_index(v)] != 0 || c->reads[phi.index].outside) return false;
  uint32_t made = c->position[value_index(v)], last = c->reads[phi.index].last;
  return last < made || (last == made && reads_before_writing(l->f, value));
}

void lower_coalesce(struct lower *l) {
  const struct nvm_function *f = l->f;
  struct coalescer c = {.l = l};
  bool any = false;
  FOR_EACH_BLOCK(f, b)
    for (uint32_t k = 0, n = block_successor_count(f, b); k < n && !any; k++)
      any = block_successor(f, b, k).index == b.index && block_has_phis(l, b);
  if (!any || !collect_reads(&c)) return;
  FOR_EACH_BLOCK(f, b)
    FOR_EACH_INST(f, b, i) {
      const struct nvm_inst *phi = function_inst(f, i);
      if (phi->op != OP_PHI) break;
      if (!l->wanted[i.index] || !is_simple_type(l, phi->type)) continue;
      for (uint32_t k = 0; k < phi->operand_count; k += 2) {
        struct nvm_value v = inst_operand(f, phi, k);
        if (value_index(inst_operand(f, phi, k + 1)) != b.index || !can_share(&c, i, v)) continue;
        lower_result(l, i);
        l->inst_regs[value_index(v)] = l->inst_regs[i.index];
        l->overwritten[i.index] = true;
        break;
      }
    }
}
