/* Removes instructions that compute what another register of the same stretch of code holds, copies
 * of registers, and results that nothing reads.
 *
 *     mov.b64   %rd3, table;               mov.b64   %rd3, table;
 *     mul.wide  %rd4, %r1, 4;              mul.wide  %rd4, %r1, 4;
 *     mov.b64   %rd5, table;         →
 *     mul.wide  %rd6, %r2, 4;              mul.wide  %rd6, %r2, 4;
 *     add.s64   %rd7, %rd5, %rd6;          add.s64   %rd7, %rd3, %rd6;
 *
 * The IR has no such duplicates after gvn, but lowering makes them: scaled indices, addresses of
 * variables, negated operands of fma, halves of packed registers. ptxas finds them too; this is for
 * readers and for whoever executes PTX.
 *
 * Local value numbering (Cocke, Schwartz 1970) from label to label. Only registers of single SSA
 * values are replaced: written once, not by a guarded instruction, and not those of phis, which
 * a copy on one edge alone may write. So the definition dominates all reads, and the register
 * of an earlier instruction of the stretch can serve all of them. Values that are read from
 * other registers count only until the next write of one of them.
 * Instructions of inline assembly with side effects stay.
 *
 * A copy to a register of several definitions goes if it alone reads what it copies and that can be
 * written there directly.
 *
 *     mov.b32   {%rs3, %rs4}, %r1;         mov.b32   {%rs1, %rs2}, %r1;
 *     mov.b16   %rs1, %rs3;          →
 *     mov.b16   %rs2, %rs4;
 *
 * A copy of a register of several definitions is removed if all its reads precede the next label
 * and the register's next definition, as those of bitcasts of phis do.
 *
 *     mov.b16   %rs7, %rs1;                add.f16   %rs8, %rs1, %rs5;
 *     add.f16   %rs8, %rs7, %rs5;    →
 *
 * Linear; the table forgets on collisions. */
#include "codegen/part.h"
#include "codegen/select.h"
#include "codegen/stage.h"
#include "codegen/value.h"
#include "ptx/ops.h"
#include "support/strtab.h"

enum { SLOTS = 2048, WAYS = 2, MANY = 2 };

struct register_facts {
  uint32_t reads;
  struct ptx_reg same; /* the register that replaces it; none: it stays */
  uint32_t written;    /* of several definitions: the entry after the last one that wrote it */
  uint8_t definitions; /* up to MANY, which registers of phis have */
};

struct reuser {
  struct ptx_function *pf;
  const struct strtab *strings; /* names of symbols */
  struct register_facts *facts;
  uint32_t base[PTX_CLASS_COUNT]; /* by class: the index of its register 0 */
  uint32_t slots[SLOTS];          /* by hash: 1 + the last entry with it */
  uint32_t begin;                 /* of the stretch */
  uint32_t depth;                 /* of scopes */
  bool scoped;                    /* inline assembly has declared variables in a scope */
};

static struct register_facts *facts_of(const struct reuser *u, struct ptx_reg r) {
  return &u->facts[u->base[ptx_reg_class(r)] + ptx_reg_number(r)];
}

static struct ptx_reg replacement(const struct reuser *u, struct ptx_reg r) {
  struct ptx_reg same = facts_of(u, r)->same;
  return ptx_reg_is_none(same) ? r : same;
}

static bool is_register(const struct ptx_operand *o) {
  return o->kind == PTX_OPERAND_REG || o->kind == PTX_OPERAND_ADDRESS_REG;
}

static bool is_group(const struct ptx_operand *o) { return o->kind >= PTX_OPERAND_VECTOR; }

/* The operands of a group, or the operand itself; *count: how many. */
static struct ptx_operand *members(const struct reuser *u, struct ptx_operand *o, uint32_t *count) {
  *count = is_group(o) ? o->count : 1;
  return is_group(o) ? &u->pf->operands.data[o->first] : o;
}

static struct ptx_operand *operand_at(const struct reuser *u, const struct ptx_entry *e,
                                      uint32_t k) {
  return &u->pf->operands.data[e->first_operand + k];
}

/* Whether e writes its first operand, which may be a group. Some instructions read it: their
 * registers then count as written once too often, which is on the safe side. */
static bool writes_first(const struct reuser *u, const struct ptx_entry *e) {
  if (e->operand_count == 0) return false;
  switch (operand_at(u, e, 0)->kind) {
    case PTX_OPERAND_REG:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_PAIR:
    case PTX_OPERAND_LIST: return true;
    default: return false;
  }
}

/* --- definitions ------------------------------------------------------------------------------ */

static void count_definitions(struct reuser *u, const struct ptx_entry *e) {
  uint32_t count;
  if (!writes_first(u, e)) return;
  const struct ptx_operand *to = members(u, operand_at(u, e, 0), &count);
  for (uint32_t k = 0; k < count; k++) {
    if (!is_register(&to[k])) continue;
    struct register_facts *facts = facts_of(u, to[k].reg);
    if (facts->definitions++ > 0 || !ptx_reg_is_none(e->guard)) facts->definitions = MANY;
  }
}

/* A copy on one edge alone may write the register of a phi. */
static void exempt_phis(struct reuser *u, struct lower *l) {
  FOR_EACH_BLOCK (l->f, b)
    FOR_EACH_INST (l->f, b, i) {
      const struct nvm_inst *phi = function_inst(l->f, i);
      if (phi->op != OP_PHI) break;
      if (!l->selection[i.index].wanted) continue;
      const struct ptx_reg *to = value_result(l, i);
      for (uint32_t k = 0, n = part_list(l, phi->type).count; k < n; k++)
        facts_of(u, to[k])->definitions = MANY;
    }
}

/* --- equal values ----------------------------------------------------------------------------- */

static bool has_no_effect(const struct ptx_function *pf, const struct ptx_entry *e) {
  switch (ptx_op_row(e->op)->issue) {
    case PTX_ISSUE_ALU:
    case PTX_ISSUE_FMA:
    case PTX_ISSUE_HALF:
    case PTX_ISSUE_F64:
    case PTX_ISSUE_SFU:
    case PTX_ISSUE_CONV:
    case PTX_ISSUE_MOVE: break;
    default: return false;
  }
  if (e->op == PTX_ADDC || e->op == PTX_SUBC || e->op == PTX_MADC) return false;
  for (uint32_t k = 0; k < e->mod_count; k++) /* the carry is a result too */
    if (pf->mods.data[e->first_mod + k] == PTX_MOD_CC) return false;
  return true;
}

/* Whether e computes values for registers of single definitions from other registers, numbers and
 * symbols. */
static bool is_value(const struct reuser *u, const struct ptx_entry *e) {
  if (e->kind != PTX_INST || e->must_stay || !ptx_reg_is_none(e->guard) || e->operand_count < 2 ||
      !has_no_effect(u->pf, e))
    return false;
  for (uint32_t k = 0; k < e->operand_count; k++) {
    uint32_t count;
    const struct ptx_operand *o = operand_at(u, e, k),
                             *at = members(u, operand_at(u, e, k), &count);
    if (o->kind == PTX_OPERAND_SPECIAL || (is_group(o) && o->kind != PTX_OPERAND_VECTOR))
      return false;
    for (uint32_t n = 0; n < count && k == 0; n++)
      if (at[n].kind != PTX_OPERAND_REG || facts_of(u, at[n].reg)->definitions != 1) return false;
  }
  return true;
}

/* What two operands have in common if they are the same value. */
static uint64_t identity(const struct reuser *u, const struct ptx_operand *o) {
  switch ((enum ptx_operand_kind)o->kind) {
    case PTX_OPERAND_REG: return replacement(u, o->reg).bits;
    case PTX_OPERAND_SYMBOL: return ((uint64_t)o->symbol.index << 32) + (uint64_t)o->imm;
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return (uint64_t)o->imm;
    default: return 0;
  }
}

static bool same_operand(const struct reuser *u, struct ptx_operand *a, struct ptx_operand *b) {
  uint32_t count;
  if (a->kind != b->kind || a->negated != b->negated || a->count != b->count) return false;
  if (!is_group(a)) return identity(u, a) == identity(u, b);
  struct ptx_operand *x = members(u, a, &count), *y = members(u, b, &count);
  for (uint32_t k = 0; k < count; k++)
    if (!same_operand(u, &x[k], &y[k])) return false;
  return true;
}

static bool same_value(const struct reuser *u, const struct ptx_entry *a,
                       const struct ptx_entry *b) {
  const uint16_t *mods = u->pf->mods.data;
  if (a->op != b->op || a->mod_count != b->mod_count || a->operand_count != b->operand_count ||
      memcmp(mods + a->first_mod, mods + b->first_mod, a->mod_count * sizeof *mods) != 0 ||
      operand_at(u, a, 0)->kind != operand_at(u, b, 0)->kind ||
      operand_at(u, a, 0)->count != operand_at(u, b, 0)->count)
    return false;
  for (uint32_t k = 1; k < a->operand_count; k++)
    if (!same_operand(u, operand_at(u, a, k), operand_at(u, b, k))) return false;
  return true;
}

/* The same for a hash, which decides what the table forgets: of a symbol its name, since the handle
 * depends on what else was read. */
static uint64_t hashed(const struct reuser *u, const struct ptx_operand *o) {
  if (o->kind != PTX_OPERAND_SYMBOL) return identity(u, o);
  return ((uint64_t)u->strings->entries.data[o->symbol.index].hash << 32) + (uint64_t)o->imm;
}

static uint32_t hash_of(const struct reuser *u, const struct ptx_entry *e) {
  uint32_t hash = hash_mix(e->op, e->operand_count), count;
  for (uint32_t k = 0; k < e->mod_count; k++)
    hash = hash_mix(hash, u->pf->mods.data[e->first_mod + k]);
  for (uint32_t k = 1; k < e->operand_count; k++) {
    const struct ptx_operand *at = members(u, operand_at(u, e, k), &count);
    for (uint32_t n = 0; n < count; n++) hash = hash_mix(hash, hashed(u, &at[n]));
  }
  return hash;
}

/* Whether a register that e reads may have been written after the entry before `since`. */
static bool reads_changed(const struct reuser *u, const struct ptx_entry *e, uint32_t since) {
  uint32_t count;
  for (uint32_t k = 1; k < e->operand_count; k++) {
    const struct ptx_operand *at = members(u, operand_at(u, e, k), &count);
    for (uint32_t n = 0; n < count; n++) {
      if (!is_register(&at[n])) continue;
      const struct register_facts *facts = facts_of(u, at[n].reg);
      if (facts->definitions == 0 || facts->written >= since) return true;
    }
  }
  return false;
}

static void replace(struct reuser *u, const struct ptx_entry *e, struct ptx_operand *by) {
  uint32_t count;
  const struct ptx_operand *to = members(u, operand_at(u, e, 0), &count),
                           *from = members(u, by, &count);
  for (uint32_t k = 0; k < count; k++)
    if (ptx_reg_class(to[k].reg) == ptx_reg_class(from[k].reg))
      facts_of(u, to[k].reg)->same = replacement(u, from[k].reg);
}

/* Whether e does nothing but copy a register to another one of its class. */
static bool copies_register(const struct reuser *u, const struct ptx_entry *e) {
  if (e->kind != PTX_INST || e->op != PTX_MOV || e->must_stay || !ptx_reg_is_none(e->guard) ||
      e->operand_count != 2)
    return false;
  const struct ptx_operand *to = operand_at(u, e, 0), *from = operand_at(u, e, 1);
  return to->kind == PTX_OPERAND_REG && from->kind == PTX_OPERAND_REG && !from->negated &&
         from->count == 0 && ptx_reg_class(from->reg) == ptx_reg_class(to->reg);
}

/* The same of a register with a single definition. */
static bool is_copy(const struct reuser *u, const struct ptx_entry *e) {
  return copies_register(u, e) && facts_of(u, operand_at(u, e, 1)->reg)->definitions == 1;
}

static void number_value(struct reuser *u, uint32_t n) {
  const struct ptx_entry *e = &u->pf->entries.data[n];
  if (is_copy(u, e)) {
    replace(u, e, operand_at(u, e, 1));
    return;
  }
  uint32_t hash = hash_of(u, e), *slot = NULL;
  for (uint32_t way = 0; way < WAYS; way++) {
    slot = &u->slots[(hash ^ way) % SLOTS];
    if (*slot <= u->begin) break;
    const struct ptx_entry *k = &u->pf->entries.data[*slot - 1];
    if (same_value(u, k, e) && !reads_changed(u, e, *slot)) {
      replace(u, e, operand_at(u, k, 0));
      return;
    }
  }
  *slot = n + 1;
}

/* Notes that entry n writes registers of several definitions. */
static void note_changes(struct reuser *u, uint32_t n) {
  const struct ptx_entry *e = &u->pf->entries.data[n];
  uint32_t count;
  if (!writes_first(u, e)) return;
  const struct ptx_operand *to = members(u, operand_at(u, e, 0), &count);
  for (uint32_t k = 0; k < count; k++)
    if (is_register(&to[k]) && facts_of(u, to[k].reg)->definitions != 1)
      facts_of(u, to[k].reg)->written = n + 1;
}

/* Whether e begins or ends a scope in which a symbol may name another variable. */
static bool changes_names(struct reuser *u, const struct ptx_entry *e) {
  switch ((enum ptx_entry_kind)e->kind) {
    case PTX_SCOPE_BEGIN: u->depth++; return false;
    case PTX_SCOPE_END: u->depth--; return u->scoped;
    case PTX_LOCAL_VAR:
      if (u->depth == 0 || u->pf->variables.data[e->first_mod].space == PTX_MOD_PARAM) return false;
      u->scoped = true;
      return true;
    default: return false;
  }
}

static void number_entry(struct reuser *u, uint32_t n) {
  const struct ptx_entry *e = &u->pf->entries.data[n];
  if (changes_names(u, e) || e->kind == PTX_LABEL) u->begin = n;
  if (e->kind != PTX_INST) return;
  if (is_value(u, e)) number_value(u, n);
  else note_changes(u, n);
}

/* --- reads ------------------------------------------------------------------------------------ */

static void read_operand(struct reuser *u, struct ptx_operand *o) {
  uint32_t count;
  struct ptx_operand *at = members(u, o, &count);
  for (uint32_t k = 0; k < count; k++)
    if (is_group(&at[k])) read_operand(u, &at[k]);
    else if (is_register(&at[k])) {
      at[k].reg = replacement(u, at[k].reg);
      facts_of(u, at[k].reg)->reads++;
    }
}

static void read_entry(struct reuser *u, struct ptx_entry *e) {
  for (uint32_t k = writes_first(u, e); k < e->operand_count; k++)
    read_operand(u, operand_at(u, e, k));
  if (ptx_reg_is_none(e->guard)) return;
  e->guard = replacement(u, e->guard);
  facts_of(u, e->guard)->reads++;
}

static bool is_unread(struct reuser *u, const struct ptx_entry *e) {
  uint32_t count;
  if (!is_value(u, e)) return false;
  const struct ptx_operand *to = members(u, operand_at(u, e, 0), &count);
  for (uint32_t k = 0; k < count; k++)
    if (facts_of(u, to[k].reg)->reads != 0) return false;
  for (uint32_t k = 1; k < e->operand_count; k++) {
    const struct ptx_operand *from = members(u, operand_at(u, e, k), &count);
    for (uint32_t n = 0; n < count; n++)
      if (is_register(&from[n])) facts_of(u, from[n].reg)->reads--;
  }
  return true;
}

static void remove_unread(struct reuser *u) {
  struct ptx_entry *entries = u->pf->entries.data;
  uint32_t count = u->pf->entries.count, kept = count;
  for (uint32_t n = count; n-- > 0;)
    if (!is_unread(u, &entries[n])) entries[--kept] = entries[n];
  memmove(entries, entries + kept, (count - kept) * sizeof *entries);
  u->pf->entries.count = count - kept;
}

/* --- copies to registers of several definitions ----------------------------------------------- */

static bool is_in(const struct reuser *u, struct ptx_operand *o, struct ptx_reg r) {
  uint32_t count;
  struct ptx_operand *at = members(u, o, &count);
  for (uint32_t k = 0; k < count; k++)
    if (is_group(&at[k]) ? is_in(u, &at[k], r) : is_register(&at[k]) && at[k].reg.bits == r.bits)
      return true;
  return false;
}

/* Whether a copy to r may be made before e instead of after it. */
static bool may_pass(const struct reuser *u, const struct ptx_entry *e, struct ptx_reg r) {
  if (e->kind != PTX_INST || e->guard.bits == r.bits) return false;
  if (!has_no_effect(u->pf, e) && e->op != PTX_LD && e->op != PTX_ST) return false;
  for (uint32_t k = 0; k < e->operand_count; k++)
    if (is_in(u, operand_at(u, e, k), r)) return false;
  return true;
}

/* The register of e's result `from`, if e is its definition. */
static struct ptx_reg *result_of(const struct reuser *u, const struct ptx_entry *e,
                                 struct ptx_reg from) {
  uint32_t count;
  if (e->kind != PTX_INST || e->must_stay || !ptx_reg_is_none(e->guard) || !writes_first(u, e))
    return NULL;
  struct ptx_operand *to = members(u, operand_at(u, e, 0), &count);
  for (uint32_t k = 0; k < count; k++)
    if (to[k].kind == PTX_OPERAND_REG && to[k].reg.bits == from.bits) return &to[k].reg;
  return NULL;
}

/* Whether the copy n is not needed any more, since the definition of what only it reads, at most
 * LOOK_BACK instructions before, now writes its register. */
static bool writes_directly(struct reuser *u, uint32_t n) {
  enum { LOOK_BACK = 12 };
  struct ptx_entry *entries = u->pf->entries.data, *e = &entries[n];
  if (!is_copy(u, e) || facts_of(u, operand_at(u, e, 1)->reg)->reads != 1) return false;
  struct ptx_reg to = operand_at(u, e, 0)->reg, from = operand_at(u, e, 1)->reg;
  for (uint32_t k = n, seen = 0; k-- > 0 && seen < LOOK_BACK;) {
    if (entries[k].kind == PTX_COMMENT || entries[k].kind == PTX_LOC) continue;
    seen++;
    struct ptx_reg *result = result_of(u, &entries[k], from);
    if (result && is_in(u, operand_at(u, &entries[k], 0), to)) return false;
    if (result) *result = to;
    if (result || !may_pass(u, &entries[k], to)) return result != NULL;
  }
  return false;
}

static void remove_copies(struct reuser *u) {
  struct ptx_entry *entries = u->pf->entries.data;
  uint32_t kept = 0;
  for (uint32_t n = 0; n < u->pf->entries.count; n++) {
    entries[kept] = entries[n];
    kept += !writes_directly(u, kept);
  }
  u->pf->entries.count = kept;
}

/* --- copies of registers of several definitions, before these change ------------------------- */

/* Counts the reads of `from` in o, and replaces them by `to` unless that is none. */
static uint32_t count_reads(struct reuser *u, struct ptx_operand *o, struct ptx_reg from,
                            struct ptx_reg to) {
  uint32_t count, found = 0;
  struct ptx_operand *at = members(u, o, &count);
  for (uint32_t k = 0; k < count; k++)
    if (is_group(&at[k])) {
      found += count_reads(u, &at[k], from, to);
    } else if (is_register(&at[k]) && at[k].reg.bits == from.bits) {
      if (!ptx_reg_is_none(to)) at[k].reg = to;
      found++;
    }
  return found;
}

/* Counts and replaces the reads in the code from entry n to the next label or the next definition
 * of `until`, of at most LOOK_AHEAD entries. */
static uint32_t count_reads_ahead(struct reuser *u, uint32_t n, struct ptx_reg from,
                                  struct ptx_reg until, struct ptx_reg to) {
  enum { LOOK_AHEAD = 64 };
  uint32_t found = 0;
  for (uint32_t end = n + LOOK_AHEAD; n < u->pf->entries.count && n < end; n++) {
    struct ptx_entry *e = &u->pf->entries.data[n];
    if (e->kind == PTX_COMMENT || e->kind == PTX_LOC) continue;
    if (e->kind != PTX_INST) break;
    for (uint32_t k = writes_first(u, e); k < e->operand_count; k++)
      found += count_reads(u, operand_at(u, e, k), from, to);
    if (e->guard.bits == from.bits) {
      if (!ptx_reg_is_none(to)) e->guard = to;
      found++;
    }
    if (writes_first(u, e) && is_in(u, operand_at(u, e, 0), until)) break;
  }
  return found;
}

/* Replaces all reads of the copy n by reads of its source, if possible; then the copy is dead. */
static bool try_read_source(struct reuser *u, uint32_t n) {
  const struct ptx_entry *e = &u->pf->entries.data[n];
  if (!copies_register(u, e)) return false;
  struct ptx_reg copy = operand_at(u, e, 0)->reg, copied = operand_at(u, e, 1)->reg, none = {0};
  if (facts_of(u, copy)->definitions != 1) return false;
  if (count_reads_ahead(u, n + 1, copy, copied, none) != facts_of(u, copy)->reads) return false;
  count_reads_ahead(u, n + 1, copy, copied, copied);
  return true;
}

static void read_sources(struct reuser *u) {
  struct ptx_entry *entries = u->pf->entries.data;
  uint32_t kept = 0, count = u->pf->entries.count;
  for (uint32_t n = 0; n < count; n++)
    if (!try_read_source(u, n)) entries[kept++] = entries[n];
  u->pf->entries.count = kept;
}

/* --- */

/* Whether text names registers, or inline assembly may jump back. */
static bool is_opaque(const struct ptx_function *pf) {
  for (uint32_t n = 0; n < pf->entries.count; n++) {
    const struct ptx_entry *e = &pf->entries.data[n];
    if (e->kind == PTX_RAW || (e->kind == PTX_LABEL && e->must_stay)) return true;
  }
  return false;
}

void reuse_values(struct lower *l, uint32_t first_wide) {
  struct reuser u = {.pf = l->pf, .strings = &l->module->strings};
  uint32_t registers = 0, count = l->pf->entries.count;
  if (l->target->optimization_level == 0 || is_opaque(l->pf)) return;
  for (uint32_t c = 0; c < PTX_CLASS_COUNT; c++) {
    u.base[c] = registers;
    registers += l->pf->reg_count[c] + 1;
  }
  u.facts = arena_alloc(&l->function_arena, registers * sizeof *u.facts);
  if (!u.facts) return;
  struct ptx_entry *entries = l->pf->entries.data;
  for (uint32_t n = 0; n < count; n++)
    if (entries[n].kind == PTX_INST) count_definitions(&u, &entries[n]);
  exempt_phis(&u, l);
  for (uint32_t r = first_wide + 1; r <= l->pf->reg_count[PTX_B64]; r++)
    facts_of(&u, ptx_reg_make(PTX_B64, r))->definitions = MANY;
  for (uint32_t n = 0; n < count; n++) number_entry(&u, n);
  for (uint32_t n = 0; n < count; n++)
    if (entries[n].kind == PTX_INST) read_entry(&u, &entries[n]);
  remove_unread(&u);
  remove_copies(&u);
  read_sources(&u);
}
