/* Replacing and renumbering values; see rewrite.h. Linear in the operands of the function. */
#include "opt/rewrite.h"

bool rewrite_init(struct rewrite *r, struct nvm_function *f, struct arena *arena) {
  *r = (struct rewrite){.f = f};
  return rewrite_grow(r, arena);
}

bool rewrite_grow(struct rewrite *r, struct arena *arena) {
  uint32_t old = r->size, size = r->f->insts.count;
  if (size <= old) return true;
  if (old) size *= 2;
  struct nvm_value *to = arena_alloc(arena, size * sizeof *to);
  struct nvm_inst_id *set = arena_grow_raw(arena, r->set, old * sizeof *set, size * sizeof *set);
  if (!to || !set) return false;
  if (old) memcpy(to, r->to, old * sizeof *to);
  r->to = to;
  r->set = set;
  r->size = size;
  return true;
}

void rewrite_set(struct rewrite *r, struct nvm_inst_id i, struct nvm_value to) {
  if (value_is_none(to)) return;
  if (value_is_none(r->to[i.index])) r->set[r->set_count++] = i;
  r->to[i.index] = to;
  r->count++;
}

struct nvm_value rewrite_follow(struct rewrite *r, struct nvm_value v) {
  struct nvm_value root = v;
  while (value_kind(root) == VALUE_INST && value_index(root) < r->size &&
         !value_is_none(r->to[value_index(root)]))
    root = r->to[value_index(root)];
  while (!value_equal(v, root)) { /* path compression */
    struct nvm_value next = r->to[value_index(v)];
    r->to[value_index(v)] = root;
    v = next;
  }
  return root;
}

/* The item that metadata operand v refers to, NULL if v is not metadata. */
static const struct meta_item *referenced_item(const struct nvm_module *m, struct nvm_value v) {
  if (value_kind(v) != VALUE_CONST) return NULL;
  const struct constant_info *c = constant_info(&m->constants, v);
  return c->kind == CONST_METADATA ? meta_item(&m->metadata, (struct nvm_meta){c->meta}) : NULL;
}

static bool is_local(const struct meta_item *item) {
  return item && item->kind == META_VALUE && value_kind(item->value) == VALUE_INST;
}

/* A metadata operand that refers to a local value. */
static struct nvm_value refer_to(struct nvm_module *m, struct nvm_value now, struct nvm_type type) {
  return const_metadata(m, meta_value(&m->metadata, now, type).index);
}

/* Whether its operands may be metadata that refers to values. */
static bool takes_metadata(const struct nvm_inst *i) {
  return i->op == OP_CALL || i->op == OP_DBG_RECORD;
}

static void rewrite_local_metadata(struct nvm_function *f, struct nvm_inst_id i, rewrite_value *to,
                                   void *state) {
  struct nvm_module *m = f->module;
  for (uint32_t k = 0;
       takes_metadata(function_inst(f, i)) && k < function_inst(f, i)->operand_count; k++) {
    const struct meta_item *item = referenced_item(m, inst_operand_at(f, i, k));
    if (!is_local(item)) continue;
    struct nvm_type type = item->type;
    struct nvm_value old = item->value, now = to(state, old);
    if (value_equal(now, old)) continue;
    inst_set_operand(f, i, k, refer_to(m, value_is_none(now) ? const_poison(m, type) : now, type));
  }
}

void rewrite_all_metadata(struct nvm_function *f, rewrite_value *to, void *state) {
  if (!f->module->metadata.has_locals) return;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) rewrite_local_metadata(f, i, to, state);
}

static struct nvm_value replacement(void *state, struct nvm_value v) {
  return rewrite_get(state, v);
}

/* Removes the replaced instructions. Returns the number of their remaining uses. */
static uint64_t remove_replaced(struct rewrite *r) {
  uint64_t named = 0;
  for (uint32_t k = 0; k < r->set_count; k++)
    if (function_inst(r->f, r->set[k])->block.index) inst_remove(r->f, r->set[k]);
  for (uint32_t k = 0; k < r->set_count; k++) named += r->f->uses.data[r->set[k].index];
  return named;
}

void rewrite_apply(struct rewrite *r) {
  if (r->set_count == 0) return;
  const struct nvm_function *f = r->f;
  bool metadata = f->module->metadata.has_locals;
  struct nvm_block start = function_inst(f, r->set[0])->block,
                   b = start; /* most users come after the value */
  if (block_is_none(b)) b = start = f->entry;
  uint64_t named = remove_replaced(r);
  while (named || metadata) {
    FOR_EACH_INST (f, b, i) {
      named -= rewrite_operands(r, i);
      if (metadata) rewrite_local_metadata(r->f, i, replacement, r);
    }
    b = b.index == f->last_block.index ? f->entry : function_block(f, b)->next;
    if (b.index == start.index) return;
  }
}

static struct nvm_value live_or_none(void *live, struct nvm_value v) {
  return ((const bool *)live)[value_index(v)] ? v : VALUE_NULL;
}

void rewrite_drop_dead_metadata(struct nvm_function *f, bool *live) {
  rewrite_all_metadata(f, live_or_none, live);
}

/* --- Renumbering --- */

/* Whether i uses a list of values in debug information, which cannot be renumbered. */
static bool takes_lists(const struct nvm_function *f, const struct nvm_inst *i) {
  for (uint32_t k = 0; takes_metadata(i) && k < i->operand_count; k++) {
    const struct meta_item *item = referenced_item(f->module, inst_operand(f, i, k));
    if (item && item->kind == META_INLINE) return true;
  }
  return false;
}

/* Assigns new numbers to live instructions, in order; 0 to dead ones. *operands: the number of
 * their operands. False if one cannot be renumbered. */
static bool number_alive(const struct nvm_function *f, uint32_t *now, uint32_t *operands) {
  bool metadata = f->module->metadata.has_locals;
  uint32_t count = 0, total = 0;
  for (uint32_t k = 1, end = f->insts.count; k < end; k++) {
    const struct nvm_inst *inst = &f->insts.data[k];
    if (block_is_none(inst->block)) continue;
    now[k] = ++count;
    total += inst->operand_count;
    if (metadata && takes_lists(f, inst)) return false;
  }
  *operands = total;
  return true;
}

/* The metadata operand with new numbers. */
static struct nvm_value renumbered(struct nvm_module *m, const uint32_t *now, struct nvm_value v) {
  const struct meta_item *item = referenced_item(m, v);
  if (!is_local(item)) return v;
  return refer_to(m, value_make(VALUE_INST, now[value_index(item->value)]), item->type);
}

/* Moves instruction `from` to its new number, and its operands to `operands` from `first` on.
 * Returns their number. */
static uint32_t move_inst(struct nvm_function *f, const uint32_t *now, uint32_t from,
                          struct nvm_value *operands, uint32_t first) {
  uint32_t to = now[from];
  struct nvm_inst *i = &f->insts.data[to];
  *i = f->insts.data[from];
  i->previous.index = now[i->previous.index];
  i->next.index = now[i->next.index];
  const struct nvm_value *old = f->operands.data + i->first_operand;
  uint32_t count = i->operand_count;
  operands += i->first_operand = first;
  for (uint32_t k = 0; k < count; k++)
    operands[k] = value_kind(old[k]) == VALUE_INST
                      ? value_make(VALUE_INST, now[value_index(old[k])])
                      : old[k];
  for (uint32_t k = 0; f->module->metadata.has_locals && takes_metadata(i) && k < count; k++)
    operands[k] = renumbered(f->module, now, operands[k]);
  f->uses.data[to] = f->uses.data[from];
  f->names.data[to] = f->names.data[from];
  f->locations.data[to] = f->locations.data[from];
  f->attachments.data[to] = f->attachments.data[from];
  f->positions.data[to] = f->positions.data[from];
  return count;
}

enum { FEW = 32 };

static bool compact_blocks(struct nvm_function *f, struct arena *scratch) {
  if (f->blocks.count < FEW || f->removed_blocks < f->blocks.count / 4) return true;
  uint32_t *now = arena_alloc(scratch, f->blocks.count * sizeof *now), count = 1;
  if (!now) return false;
  for (uint32_t k = 1; k < f->blocks.count; k++)
    if (!f->blocks.data[k].removed) now[k] = count++;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      struct nvm_inst *inst = function_inst(f, i);
      inst->block.index = now[b.index];
      if (inst->op != OP_PHI && !op_is_terminator((enum op)inst->op)) continue;
      for (struct nvm_value *v = f->operands.data + inst->first_operand,
                            *end = v + inst->operand_count;
           v < end; v++)
        if (value_kind(*v) == VALUE_BLOCK) *v = value_make(VALUE_BLOCK, now[value_index(*v)]);
    }
  for (uint32_t k = 1; k < f->blocks.count; k++) {
    if (!now[k]) continue;
    struct nvm_block_info info = f->blocks.data[k];
    info.previous.index = now[info.previous.index];
    info.next.index = now[info.next.index];
    f->blocks.data[now[k]] = info;
  }
  f->entry.index = now[f->entry.index];
  f->last_block.index = now[f->last_block.index];
  f->blocks.count = count;
  f->removed_blocks = 0;
  return true;
}

bool rewrite_compact(struct nvm_function *f, struct arena *scratch, uint32_t most) {
  if (!compact_blocks(f, scratch)) return false;
  if (f->insts.count < FEW || f->removed < f->insts.count / most) return true;
  uint32_t *now = arena_alloc(scratch, f->insts.count * sizeof *now), count = 0, alive = 1;
  f->removed = 0;
  if (!now) return false;
  if (!number_alive(f, now, &count)) return true;
  struct nvm_value *operands = arena_grow_raw(scratch, NULL, 0, (count + 1) * sizeof *operands);
  if (!operands) return false;
  count = 0;
  for (uint32_t k = 1, end = f->insts.count; k < end; k++) {
    if (!now[k]) continue;
    count += move_inst(f, now, k, operands, count);
    alive++;
  }
  memcpy(f->operands.data, operands, count * sizeof *operands);
  f->operands.count = count;
  function_truncate(f, alive);
  FOR_EACH_BLOCK (f, b) {
    struct nvm_block_info *info = function_block(f, b);
    info->first.index = now[info->first.index];
    info->last.index = now[info->last.index];
  }
  return true;
}
