/* Reads the address of a variable in shared memory once.
 *
 *     @!%p1 bra $L__2;                     mov.u64 %rd3, table;
 *     mov.u64 %rd3, table;                 @!%p1 bra $L__2;
 *     add.s64 %rd4, %rd3, %rd1;      →     add.s64 %rd4, %rd3, %rd1;
 *     ...                                  ...
 *   $L__2:                               $L__2:
 *     mov.u64 %rd5, table;                 add.s64 %rd6, %rd3, %rd2;
 *     add.s64 %rd6, %rd5, %rd2;
 *
 * From sm_90 on, ptxas adds the address to the window of the thread block in its cluster, a special
 * register: three machine instructions with their latency in each basic block that reads the
 * address, and a branch around them where a predicate would do. If several basic blocks or a loop
 * need the address in a register, it is read once, in the nearest block that dominates all of them
 * and is in no loop. Accesses at a constant distance name the variable. Operands of calls, phis and
 * selects are not counted. Linear in instructions times MAX_VARIABLES. */
#include "codegen/stage.h"
#include "ir/build.h"

enum { MAX_VARIABLES = 16 }; /* of a function; others are read where they are used */

struct shared_base {
  struct nvm_value variable, address;
  struct nvm_block user, place; /* the first user's block; the nearest one above all */
  bool in_several_blocks;       /* its users */
};

struct shared_bases {
  struct shared_base of[MAX_VARIABLES];
  uint32_t count;
};

static bool has_variable_index(const struct nvm_function *f, const struct nvm_inst *gep) {
  for (uint32_t k = 1; k < gep->operand_count; k++)
    if (value_kind(inst_operand(f, gep, k)) != VALUE_CONST) return true;
  return false;
}

/* The variable in shared memory whose address i needs in a register; NULL: none, or too many. */
static struct shared_base *base_of(struct shared_bases *s, const struct lower *l,
                                   const struct nvm_inst *i) {
  bool may_need = i->op == OP_PTRTOINT || i->op == OP_ADDRSPACECAST ||
                  (i->op == OP_GEP && has_variable_index(l->f, i));
  struct nvm_value variable = may_need ? inst_operand(l->f, i, 0) : VALUE_NULL;
  if (value_kind(variable) != VALUE_GLOBAL ||
      module_global(l->module, variable)->address_space != 3)
    return NULL;
  for (uint32_t n = 0; n < s->count; n++)
    if (value_equal(s->of[n].variable, variable)) return &s->of[n];
  if (s->count == MAX_VARIABLES) return NULL;
  s->of[s->count] = (struct shared_base){.variable = variable};
  return &s->of[s->count++];
}

bool shared_bases_place(struct lower *l) {
  struct nvm_function *f = l->f;
  struct shared_bases s = {.count = 0};
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, id) {
      const struct nvm_inst *i = function_inst(f, id);
      struct shared_base *x = base_of(&s, l, i);
      if (!x) continue;
      if (block_is_none(x->place)) x->user = b;
      x->in_several_blocks |= x->user.index != b.index;
      x->place = loops_place_above(&l->loops, f, &l->dominance, x->place, i, 0);
    }
  for (uint32_t n = 0; n < s.count; n++) {
    struct shared_base *x = &s.of[n];
    if (!x->in_several_blocks && x->place.index == x->user.index) continue;
    struct builder at = builder_before(f, block_first_after_phis(f, x->place));
    x->address =
        builder_unary(&at, OP_FREEZE, module_value_type(l->module, x->variable), x->variable);
  }
  for (struct nvm_block b = f->entry; s.count && !block_is_none(b); b = function_block(f, b)->next)
    FOR_EACH_INST (f, b, id) {
      struct shared_base *x = base_of(&s, l, function_inst(f, id));
      if (x && !value_is_none(x->address)) inst_set_operand(f, id, 0, x->address);
    }
  return !module_out_of_memory(l->module);
}
