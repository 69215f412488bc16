/* Diagnostics of code generation, at the instruction that is being lowered, and the check of what
 * was emitted against the target. */
#include "codegen/report.h"
#include "codegen/value.h"
#include "ptx/check.h"

struct diag_range report_place(const struct lower *l) {
  struct diag_range range = {l->options->source, 0, 0};
  if (!l->f) return range;
  if (l->inst.index == 0 || l->inst.index >= l->f->positions.count) return l->f->symbol.where;
  /* An instruction made by a pass has the position of the nearest earlier one. */
  for (struct nvm_inst_id i = l->inst; range.begin == 0 && !inst_is_none(i);
       i = function_inst(l->f, i)->previous)
    range.begin = l->f->positions.data[i.index];
  range.end = range.begin + 1;
  return range.begin ? range : l->f->symbol.where;
}

static void refuse_inst(struct lower *l) {
  l->refused = true;
  l->refused_inst = l->inst;
}

struct diag *report_warn(struct lower *l, enum diag_id id, struct nvm_text text) {
  struct diag *d = diag_report(l->sink, id, report_place(l), &text, 1);
  if (d && l->f) d->function = module_text(l->module, l->f->symbol.name);
  if (d && d->severity == DIAG_ERROR) refuse_inst(l);
  return d;
}

void report_error(struct lower *l, enum diag_id id, struct nvm_text text) {
  report_warn(l, id, text);
  refuse_inst(l);
}

struct diag *report_refuse(struct lower *l, const char *what, const char *detail) {
  struct diag *d = diag_report_s(l->sink, DIAG_CANNOT_LOWER, report_place(l), what, detail, NULL);
  if (d && l->f) d->function = module_text(l->module, l->f->symbol.name);
  refuse_inst(l);
  return d;
}

void report_refuse_symbol(struct lower *l, const struct symbol *s, const char *what,
                          const char *detail) {
  struct nvm_text arguments[3] = {module_text(l->module, s->name), text_of(what), text_of(detail)};
  diag_report(l->sink, DIAG_CANNOT_LOWER_SYMBOL, s->where, arguments, 3);
  l->refused = true;
}

bool report_require(struct lower *l, enum tgt_need need, const char *what) {
  const struct tgt_requirement *r = tgt_need_of(need);
  if (tgt_allows(l->target, r)) {
    unsigned ptx = tgt_ptx_needed(l->target, r);
    if (ptx > l->ptx_needed) l->ptx_needed = ptx;
    return true;
  }
  char missing[256];
  struct textbuf b;
  tgt_describe_missing(l->target, r, missing, sizeof missing);
  textbuf_init(&b, &l->arena);
  textbuf_format(&b, "%s: %s", what, missing);
  report_error(l, DIAG_TARGET_LACKS, (struct nvm_text){b.bytes, b.length});
  return false;
}

/* --- what was emitted --- */

enum { ALLOWED_PLACES = 512 }; /* a module has some two hundred kinds of instructions */

static struct ptx_key *allowed_place(struct lower *l, const struct ptx_key *key) {
  uint32_t hash = hash_mix(hash_mix((uint32_t)key->op, key->mods), key->operands[0]);
  if (!l->allowed) l->allowed = arena_alloc(&l->arena, ALLOWED_PLACES * sizeof *l->allowed);
  return l->allowed ? &l->allowed[hash % ALLOWED_PLACES] : NULL;
}

/* What is not PTX comes from inline assembly, from an intrinsic with arguments that PTX has no form
 * for (a pointer into the wrong space), or is a bug. */
static void report_need(struct lower *l, const struct ptx_entry *e, const struct ptx_need *need) {
  struct textbuf b;
  textbuf_init(&b, &l->function_arena);
  ptx_describe_need(l->pf, e, l->target, need, &b);
  textbuf_char(&b, '\0');
  if (l->arena.failed || l->function_arena.failed) return; /* registers may be missing */
  const struct nvm_inst *i = inst_is_none(l->inst) ? NULL : function_inst(l->f, l->inst);
  const struct nvm_function *callee = i ? call_function(l->f, i) : NULL;
  if (need->fault == PTX_FAULT_TARGET) report_error(l, DIAG_TARGET_LACKS, text_of(b.bytes));
  else if (callee && callee->intrinsic)
    report_refuse(l, module_text(l->module, callee->symbol.name).bytes, b.bytes);
  else {
    report_error(l, DIAG_NOT_PTX, text_of(b.bytes));
    l->is_bug |= !(i && i->op == OP_CALL && value_kind(call_callee(l->f, i)) == VALUE_CONST);
  }
}

void report_unsupported(struct lower *l, uint32_t from) {
  if (l->refused && l->refused_inst.index == l->inst.index) return; /* its code is not whole */
  for (uint32_t k = from; k < l->pf->entries.count; k++) {
    const struct ptx_entry *e = &l->pf->entries.data[k];
    struct ptx_need need;
    struct ptx_key key;
    if (e->kind != PTX_INST) continue;
    struct ptx_key *known = ptx_check_key(l->pf, e, &key) ? allowed_place(l, &key) : NULL;
    if (known && ptx_key_equal(known, &key)) continue;
    if (ptx_check_entry(l->pf, e, l->target, &need) == NVM_OK) {
      if (known) *known = key;
      if (need.ptx > l->ptx_needed) l->ptx_needed = need.ptx;
      unsigned before = need.before_ptx;
      if (before && (!l->ptx_before || before < l->ptx_before)) l->ptx_before = before;
      continue;
    }
    report_need(l, e, &need);
    return; /* one report per IR instruction */
  }
}
