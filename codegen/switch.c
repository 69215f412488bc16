/* switch: a binary tree of comparisons over the sorted cases, with jump tables (brx.idx) for dense
 * ranges and linear comparisons for few cases. */
#include "codegen/emit.h"
#include "codegen/inst.h"
#include "codegen/stage.h"
#include "codegen/value.h"

#include <stdlib.h>
#include <string.h>

enum {
  LINEAR_CASES = 3,    /* compared in sequence */
  TABLE_CASES = 8,     /* fewest cases worth a jump table */
  TABLE_DENSITY = 2,   /* at least one case in this many entries */
  TABLE_MAX = 1 << 12, /* entries of one table: ptxas is slow with larger ones */
};

struct switch_case {
  uint64_t value[2]; /* zero-extended: low, high */
  uint32_t label;
};

struct switch_lowering {
  struct lower *l;
  struct switch_case *cases;
  struct ptx_operand value[2]; /* zero-extended to its container, low and high part */
  struct part part;
  bool wide;
  uint32_t default_label;
};

static int compare_cases(const void *a, const void *b) {
  const struct switch_case *x = a, *y = b;
  for (int k = 1; k >= 0; k--)
    if (x->value[k] != y->value[k]) return x->value[k] < y->value[k] ? -1 : 1;
  return 0;
}

static struct ptx_operand case_operand(const struct switch_lowering *s, uint64_t value) {
  uint32_t c = s->part.container;
  return ptx_i(c == 64 ? (int64_t)value : (int64_t)(value & ((UINT64_C(1) << c) - 1)));
}

/* `value how case`, for EQ or LT (unsigned). */
static struct ptx_operand emit_test(struct switch_lowering *s, uint16_t how,
                                    const struct switch_case *c) {
  struct ptx_operand high = case_operand(s, c->value[1]);
  struct ptx_operand p = emit_compare(s->l, how, part_unsigned_mod(&s->part), s->value[0],
                                      case_operand(s, c->value[0]));
  if (s->wide)
    p = emit_value(s->l, PTX_MOD_PRED, PTX_SETP, PTX_MODS(PTX_MOD_EQ, PTX_MOD_AND, PTX_MOD_U64),
                   PTX_OPS(s->value[1], high, p));
  return !s->wide || how == PTX_MOD_EQ
             ? p
             : emit_value(s->l, PTX_MOD_PRED, PTX_SETP, PTX_MODS(how, PTX_MOD_OR, PTX_MOD_U64),
                          PTX_OPS(s->value[1], high, p));
}

/* Whether the function has "no-jump-tables"="true" (clang's -fno-jump-tables). */
static bool forbids_tables(const struct lower *l) {
  const struct nvm_attr *a = function_string_attribute(l->f, "no-jump-tables");
  return a && strcmp(module_text(l->module, a->str2).bytes, "true") == 0;
}

static bool is_dense(const struct switch_lowering *s, uint32_t first, uint32_t count) {
  if (count < TABLE_CASES || s->wide || !emit_has(s->l, PTX_BRX, PTX_MODS(PTX_MOD_IDX)) ||
      forbids_tables(s->l))
    return false;
  uint64_t span = s->cases[first + count - 1].value[0] - s->cases[first].value[0];
  return span < TABLE_MAX && span < (uint64_t)count * TABLE_DENSITY;
}

/* brx.idx over a table of labels; values without a case have the default's. */
static void emit_table(struct switch_lowering *s, uint32_t first, uint32_t count) {
  struct lower *l = s->l;
  uint64_t base = s->cases[first].value[0];
  uint64_t span = s->cases[first + count - 1].value[0] - base;
  uint32_t entries = (uint32_t)span + 1;
  struct ptx_operand *labels = arena_alloc(&l->function_arena, entries * sizeof *labels);
  if (!labels) return;
  for (uint32_t k = 0; k < entries; k++) labels[k] = ptx_label(s->default_label);
  for (uint32_t k = first; k < first + count; k++)
    labels[s->cases[k].value[0] - base] = ptx_label(s->cases[k].label);
  struct ptx_operand index =
      emit_binary(l, PTX_SUB, part_signed_mod(&s->part), s->value[0], case_operand(s, base));
  struct ptx_operand beyond =
      emit_compare(l, PTX_MOD_GT, part_unsigned_mod(&s->part), index, ptx_i((int64_t)span));
  emit_branch_if(l, beyond, false, s->default_label);
  if (s->part.container != 32)
    index = emit_convert(l, PTX_MOD_U32, part_unsigned_mod(&s->part), index);
  uint32_t table = emit_new_label(l);
  struct ptx_operand list = ptx_group(l->pf, PTX_OPERAND_LIST, labels, entries);
  ptx_add_entry(l->pf, (struct ptx_entry){.kind = PTX_BRANCHTARGETS,
                                          .first_mod = table,
                                          .first_operand = list.first,
                                          .line = list.count});
  emit2(l, PTX_BRX, PTX_MODS(PTX_MOD_IDX), index, ptx_label(table));
}

/* Emits the tree for cases first..first+count-1; control never reaches its end. */
static void emit_tree(struct switch_lowering *s, uint32_t first, uint32_t count) {
  if (is_dense(s, first, count)) {
    emit_table(s, first, count);
    return;
  }
  if (count <= LINEAR_CASES) {
    for (uint32_t k = first; k < first + count; k++)
      emit_branch_if(s->l, emit_test(s, PTX_MOD_EQ, &s->cases[k]), false, s->cases[k].label);
    emit_branch(s->l, s->default_label);
    return;
  }
  uint32_t half = count / 2;
  uint32_t below = emit_new_label(s->l);
  emit_branch_if(s->l, emit_test(s, PTX_MOD_LT, &s->cases[first + half]), false, below);
  emit_tree(s, first + half, count - half);
  ptx_add_label(s->l->pf, below);
  emit_tree(s, first, half);
}

/* A label for each distinct target: the block's own, or that of its edge copies. */
struct edge_blocks {
  uint32_t *label_of; /* l->switch_labels, by block; 0: not seen yet; cleared at the end */
  VEC(struct nvm_block) pending;
};

static uint32_t target_label(struct lower *l, struct edge_blocks *e, struct nvm_block from,
                             struct nvm_block to) {
  if (e->label_of[to.index]) return e->label_of[to.index];
  bool own = phi_edge_copies(l, from, to) != 0;
  uint32_t label = own ? emit_new_label(l) : l->block_labels[to.index];
  e->label_of[to.index] = label;
  if (own) (void)VEC_PUSH(&l->function_arena, &e->pending, to);
  return label;
}

static bool collect_cases(struct switch_lowering *s, const struct nvm_inst *i,
                          struct edge_blocks *e, uint32_t *count) {
  struct lower *l = s->l;
  *count = (i->operand_count - 2) / 2;
  s->cases = arena_alloc(&l->function_arena, (*count + 1) * sizeof *s->cases);
  if (!l->switch_labels)
    l->switch_labels = arena_alloc(&l->function_arena, l->f->blocks.count * sizeof(uint32_t));
  e->label_of = l->switch_labels;
  if (!s->cases || !e->label_of) return false;
  for (uint32_t k = 0; k < *count; k++) {
    nvm_u128 value = 0;
    const_is_int(l->module, inst_operand(l->f, i, 2 + 2 * k), &value);
    struct nvm_block to = {value_index(inst_operand(l->f, i, 3 + 2 * k))};
    s->cases[k] = (struct switch_case){{(uint64_t)value, (uint64_t)(value >> 64)},
                                       target_label(l, e, i->block, to)};
  }
  struct nvm_block otherwise = {value_index(inst_operand(l->f, i, 1))};
  s->default_label = target_label(l, e, i->block, otherwise);
  if (*count) qsort(s->cases, *count, sizeof *s->cases, compare_cases);
  return true;
}

/* The value, zero-extended; an i1 becomes a 16-bit 0 or 1. */
static void prepare_value(struct switch_lowering *s, struct nvm_value v) {
  struct lower *l = s->l;
  struct part_list parts = part_list(l, value_type(l->f, v));
  s->wide = parts.count == 2;
  s->part = *part_at(parts, 0);
  if (s->part.kind == PART_I1) {
    s->value[0] = emit_pred_to_int(l, ptx_r(value_reg(l, v, 0)), 16);
    s->part = (struct part){.kind = PART_INT, .bits = 16, .container = 16};
    return;
  }
  for (uint32_t k = 0; k < parts.count; k++) {
    const struct part *p = part_at(parts, k);
    s->value[k] = emit_zext(l, ptx_r(value_reg(l, v, k)), p, p->container);
  }
}

void switch_lower(struct lower *l, const struct nvm_inst *i) {
  struct switch_lowering s = {.l = l};
  struct edge_blocks e = {0};
  uint32_t count;
  if (!collect_cases(&s, i, &e, &count)) return;
  prepare_value(&s, inst_operand(l->f, i, 0));
  emit_tree(&s, 0, count);
  for (uint32_t k = 0; k < e.pending.count; k++) {
    struct nvm_block to = e.pending.data[k];
    ptx_add_label(l->pf, e.label_of[to.index]);
    phi_copy_edge(l, i->block, to);
    emit_branch(l, l->block_labels[to.index]);
  }
  for (uint32_t k = 1; k < i->operand_count; k += 2)
    e.label_of[value_index(inst_operand(l->f, i, k))] = 0;
}
