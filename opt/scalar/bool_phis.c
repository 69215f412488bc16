/* bool-phis: narrows phis of integers that only hold a bool to i1.
 *
 * Purpose:   C and C++ store a bool in a byte. When the variable becomes a phi, a predicate is
 *            extended to 0 or 1, moved, masked and compared again at each test.
 * Algorithm: phis that are operands of each other form a web (union-find). A web becomes i1 if each
 *            source is a constant or a zero-extended i1, and each use needs only the bool:
 *
 *               trunc to i1               the phi       icmp ne x, 0; eq x, 1       the phi
 *               zext                      zext of it    icmp eq x, 0; ne x, 1       its negation
 *
 *            If all uses are trunc to i1, any constant and sign-extended i1 are also allowed.
 * Requires:  nothing.
 * Preserves: the control flow.
 * Cost:      linear in operands.
 * Omits:     and x, 1; selects; other narrow integers; debug records of the phi become poison.
 * Tests:     check/opt/bool-phis.nvir. */
#include "ir/build.h"
#include "opt/passes.h"
#include "opt/rewrite.h"
#include "analysis/uses.h"

struct web {
  uint32_t next; /* by phi: union-find link; 0: not a candidate */
  bool wide;     /* a use or a source needs more than a bool */
  bool has_other_bits,
      needs_all_bits; /* a source is a bool only in its lowest bit; a use needs all bits */
  bool profitable;    /* a use or source becomes cheaper */
};

struct narrower {
  struct nvm_function *f;
  struct nvm_module *m;
  struct pass_env *env;
  struct web *webs;       /* by instruction; valid for representatives */
  struct nvm_value *made; /* by instruction: the new phi of i1 */
  uint32_t count;         /* of instructions at the start */
  struct rewrite rewrite;
};

static bool is_candidate(const struct narrower *n, struct nvm_value v) {
  return value_kind(v) == VALUE_INST && n->webs[value_index(v)].next;
}

static struct web *web_of(struct narrower *n, uint32_t phi) {
  uint32_t root = phi;
  while (n->webs[root].next != root) root = n->webs[root].next;
  while (n->webs[phi].next != root) {
    uint32_t next = n->webs[phi].next;
    n->webs[phi].next = root;
    phi = next;
  }
  return &n->webs[root];
}

/* The i1 that v extends; VALUE_NULL if it is no such extension. */
static struct nvm_value extended_bool(const struct narrower *n, struct nvm_value v, bool *by_sign) {
  const struct nvm_inst *i = value_inst(n->f, v);
  if (!i || (i->op != OP_ZEXT && i->op != OP_SEXT)) return VALUE_NULL;
  struct nvm_value from = inst_operand(n->f, i, 0);
  *by_sign = i->op == OP_SEXT;
  return type_equal(value_type(n->f, from), TYPE_I1) ? from : VALUE_NULL;
}

static void classify_source(struct narrower *n, struct web *w, struct nvm_value v) {
  nvm_u128 number;
  bool by_sign = false;
  if (const_is_undef_or_poison(n->m, v)) return;
  if (const_is_int(n->m, v, &number)) {
    w->has_other_bits |= number > 1;
    return;
  }
  if (value_is_none(extended_bool(n, v, &by_sign))) w->wide = true;
  w->has_other_bits |= by_sign;
  w->profitable = true;
}

/* A comparison with a constant as a function of the bool: 1: the bool, 0: its negation, -1: other.
 */
static int compared_bool(const struct narrower *n, const struct nvm_inst *i) {
  nvm_u128 number;
  if (i->op != OP_ICMP || (i->aux != ICMP_EQ && i->aux != ICMP_NE)) return -1;
  if (!const_is_int(n->m, inst_operand(n->f, i, 1), &number) || number > 1) return -1;
  return (i->aux == ICMP_EQ) == (number == 1);
}

static void classify_use(struct narrower *n, struct web *w, const struct nvm_inst *i) {
  bool bit = i->op == OP_TRUNC && type_equal(i->type, TYPE_I1), compared = compared_bool(n, i) >= 0;
  if (!bit) w->needs_all_bits = true;
  if (bit || compared) w->profitable = true;
  else if (i->op != OP_ZEXT) w->wide = true;
}

/* Joins phis that are operands of each other, and classifies their sources and uses. */
static void find_webs(struct narrower *n) {
  struct nvm_function *f = n->f;
  bool any = false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_PHI (f, b, i) {
      struct nvm_type type = function_inst(f, i)->type;
      uint32_t bits = type_is_int(&n->m->types, type) ? type_scalar_bits(&n->m->types, type) : 0;
      if (bits < 2 || bits > 64) continue;
      n->webs[i.index].next = i.index;
      any = true;
    }
  if (!any) return;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      const struct nvm_inst *inst = function_inst(f, i);
      bool phi = n->webs[i.index].next != 0;
      for (uint32_t k = 0; k < inst->operand_count; k++) {
        struct nvm_value v = inst_operand(f, inst, k);
        bool inner = is_candidate(n, v);
        if (phi && inner) {
          struct web *a = web_of(n, i.index), *c = web_of(n, value_index(v));
          if (a == c) continue;
          a->next = (uint32_t)(c - n->webs);
          c->wide |= a->wide, c->has_other_bits |= a->has_other_bits,
              c->needs_all_bits |= a->needs_all_bits, c->profitable |= a->profitable;
        } else if (phi && k % 2 == 0) {
          classify_source(n, web_of(n, i.index), v);
        } else if (inner) {
          classify_use(n, web_of(n, value_index(v)), inst);
        }
      }
    }
}

static bool becomes_bool(struct narrower *n, uint32_t phi) {
  if (!n->webs[phi].next) return false;
  const struct web *w = web_of(n, phi);
  return w->profitable && !w->wide && !(w->has_other_bits && w->needs_all_bits);
}

static struct nvm_value narrow_source(struct narrower *n, struct nvm_value v) {
  nvm_u128 number;
  bool by_sign;
  if (is_candidate(n, v)) return n->made[value_index(v)];
  if (const_is_int(n->m, v, &number)) return const_int(n->m, TYPE_I1, number & 1);
  if (value_kind(v) == VALUE_INST) return extended_bool(n, v, &by_sign);
  bool poison = constant_info(&n->m->constants, v)->kind == CONST_POISON;
  return poison ? const_poison(n->m, TYPE_I1) : const_undef(n->m, TYPE_I1);
}

static bool make_phi(struct narrower *n, struct nvm_inst_id old) {
  struct builder at = builder_replacing(n->f, old);
  struct nvm_value phi = builder_phi(&at, TYPE_I1, NULL, 0);
  if (value_is_none(phi)) return false;
  n->f->names.data[value_index(phi)] = n->f->names.data[old.index];
  n->made[old.index] = phi;
  return true;
}

static bool fill_phi(struct narrower *n, struct nvm_inst_id old) {
  struct nvm_inst_id phi = {value_index(n->made[old.index])};
  for (uint32_t k = 0; k < function_inst(n->f, old)->operand_count; k += 2) {
    struct nvm_value v = inst_operand_at(n->f, old, k);
    struct nvm_block from = {value_index(inst_operand_at(n->f, old, k + 1))};
    if (!phi_add(n->f, phi, narrow_source(n, v), from)) return false;
  }
  return true;
}

/* Rewrites instruction i, a user of a phi that became `bit`. */
static bool narrow_use(struct narrower *n, struct nvm_inst_id i, struct nvm_value bit) {
  const struct nvm_inst *inst = function_inst(n->f, i);
  int compared = compared_bool(n, inst);
  if (inst->op == OP_ZEXT) {
    inst_set_operand(n->f, i, 0, bit);
    function_inst(n->f, i)->flags = 0; /* nneg would be wrong: i1 1 is negative */
    return true;
  }
  struct builder at = builder_replacing(n->f, i);
  if (compared == 0) bit = builder_binary(&at, OP_XOR, bit, const_int(n->m, TYPE_I1, 1));
  rewrite_set(&n->rewrite, i, bit);
  return !value_is_none(bit);
}

static bool narrow_all(struct narrower *n, const struct uses *uses, bool *changed) {
  struct nvm_function *f = n->f;
  for (uint32_t k = 1; k < n->count; k++)
    if (becomes_bool(n, k) && !make_phi(n, (struct nvm_inst_id){k})) return false;
  for (uint32_t k = 1; k < n->count; k++) {
    if (value_is_none(n->made[k])) continue;
    if (!fill_phi(n, (struct nvm_inst_id){k})) return false;
    for (uint32_t u = uses->first[k]; u < uses->first[k + 1]; u++)
      if (!is_candidate(n, value_of_inst(uses->users[u])) &&
          !narrow_use(n, uses->users[u], n->made[k]))
        return false;
    rewrite_set(&n->rewrite, (struct nvm_inst_id){k}, const_poison(n->m, f->insts.data[k].type));
    ++*n->env->statistic;
    *changed = true;
  }
  rewrite_apply(&n->rewrite);
  return true;
}

enum nvm_status bool_phis_run(struct nvm_function *f, struct pass_env *env, bool *changed) {
  struct narrower n = {.f = f, .m = env->module, .env = env, .count = f->insts.count};
  struct uses uses;
  bool any = false;
  n.webs = arena_alloc(env->arena, n.count * sizeof *n.webs);
  if (!n.webs) return NVM_OUT_OF_MEMORY;
  find_webs(&n);
  for (uint32_t k = 1; k < n.count && !any; k++) any = becomes_bool(&n, k);
  if (!any) return NVM_OK;
  n.made = arena_alloc(env->arena, n.count * sizeof *n.made);
  bool ok = n.made && uses_build(&uses, f, env->arena) && rewrite_init(&n.rewrite, f, env->arena);
  return ok && narrow_all(&n, &uses, changed) ? NVM_OK : NVM_OUT_OF_MEMORY;
}
