/* Compatibility of CPUs by seed 2's order, and the requirements of instructions; see target.h.
 *
 * The order is partial. `base` code runs on every later SM. `f` code runs inside the family of its
 * SM, from it upwards. `a` code runs on itself. The number does not determine the family: sm_101
 * lies between sm_100 and sm_103 but is a family of its own, so families are rows of the table.
 *
 *          sm_90   sm_90a  sm_100  sm_100f sm_100a sm_103f sm_120f       may run on ->
 * sm_90     x       x       x       x       x       x       x
 * sm_90a            x
 * sm_100                    x       x       x       x       x
 * sm_100f                   x       x       x       x
 * sm_100a                                   x
 *
 * sm_100f code runs on a device named sm_100, as `ptxas` 13.0 assembles it: a device named without
 * suffix is not less capable. It rejects `a` code there. */
#include "support/textbuf.h"
#include "target/target.h"

unsigned tgt_ptx_for(const struct tgt_cpu *cpu) { return cpu->min_ptx; }

unsigned tgt_cuda_arch(const struct tgt_cpu *cpu) { return cpu->sm * 10u; }

bool tgt_can_run(const struct tgt_cpu *ptx_target, const struct tgt_cpu *device) {
  if (ptx_target == device) return true;
  if (ptx_target->suffix == 'a' || device->sm < ptx_target->sm) return false;
  return ptx_target->suffix != 'f' || ptx_target->family == device->family;
}

/* ---- requirements ---- */

static const struct tgt_cpu *cpu_of_full_sm(unsigned full_sm) {
  const struct tgt_cpu *cpus = tgt_cpus();
  for (int i = 0; i < TGT_CPU_COUNT; i++)
    if (cpus[i].full_sm == full_sm) return &cpus[i];
  return NULL;
}

/* Lowest PTX version with which `cpu` has the alternative; 0: none. */
static unsigned alternative_ptx(const struct tgt_cpu *cpu, unsigned full_sm) {
  unsigned suffix = full_sm % 100;
  if (suffix == 0) return cpu->sm >= full_sm / 100 ? cpu->min_ptx : 0;
  if (cpu->full_sm == full_sm) return cpu->min_ptx;
  if (suffix != TGT_FULL_SM_FAMILY || !cpu->suffix || cpu->sm < full_sm / 100) return 0;
  const struct tgt_cpu *first = cpu_of_full_sm(full_sm);
  if (!first || first->family != cpu->family) return 0;
  return cpu->min_ptx > TGT_PTX_FAMILY ? cpu->min_ptx : TGT_PTX_FAMILY;
}

/* Lowest PTX version with which the CPU (and its tensor memory, if any) meets the requirement; 0:
 * none. */
static unsigned ptx_needed(const struct tgt_cpu *cpu, bool has_tmem,
                           const struct tgt_requirement *r) {
  unsigned lowest = 0;
  if (r->before_sm && cpu->sm >= r->before_sm) return 0;
  if ((r->count == 0 && !r->tmem) || (r->tmem && has_tmem)) lowest = cpu->min_ptx;
  for (int i = 0; i < r->count; i++) {
    unsigned ptx = alternative_ptx(cpu, r->any_of[i]);
    if (ptx != 0 && (lowest == 0 || ptx < lowest)) lowest = ptx;
  }
  if (lowest != 0 && lowest < r->min_ptx) lowest = r->min_ptx;
  return r->before_ptx && lowest >= r->before_ptx ? 0 : lowest;
}

unsigned tgt_ptx_needed(const struct nvm_target *target,
                        const struct tgt_requirement *requirement) {
  return ptx_needed(target->cpu, target->has_tmem, requirement);
}

bool tgt_satisfies(const struct nvm_target *target, unsigned ptx,
                   const struct tgt_requirement *requirement) {
  unsigned needed = tgt_ptx_needed(target, requirement);
  bool late = requirement->before_ptx && ptx >= requirement->before_ptx;
  return needed != 0 && needed <= ptx && !late;
}

bool tgt_allows(const struct nvm_target *target, const struct tgt_requirement *requirement) {
  if (target->ptx) return tgt_satisfies(target, target->ptx, requirement);
  return tgt_ptx_needed(target, requirement) != 0;
}

bool tgt_has(const struct nvm_target *target, enum tgt_need need) {
  return tgt_allows(target, tgt_need_of(need));
}

static bool cpu_has_tmem(const struct tgt_cpu *cpu) {
  return (cpu->implies[TGT_FEATURE_TMEM >> 6] >> (TGT_FEATURE_TMEM & 63) & 1) != 0;
}

/* The CPU with hardware that meets the requirement and is nearest in number to `cpu`, the newer of
 * equals; NULL: none. */
static const struct tgt_cpu *nearest_with(const struct tgt_cpu *cpu,
                                          const struct tgt_requirement *requirement) {
  const struct tgt_cpu *cpus = tgt_cpus(), *best = NULL;
  unsigned best_rank = 0;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    const struct tgt_cpu *other = &cpus[i];
    if (other->placeholder || !ptx_needed(other, cpu_has_tmem(other), requirement)) continue;
    bool older = other->sm < cpu->sm;
    unsigned apart = (unsigned)(older ? cpu->sm - other->sm : other->sm - cpu->sm);
    unsigned rank = apart * 2 + older;
    if (best && rank >= best_rank) continue;
    best = other;
    best_rank = rank;
  }
  return best;
}

/* ---- unmet requirements as text ---- */

/* "sm_100a or sm_120a", "tensor memory", "sm_30 or later, before sm_70". */
static void write_cpus(struct textbuf *b, const struct tgt_requirement *r) {
  for (int i = 0; i < r->count; i++) {
    unsigned sm = r->any_of[i] / 100u, suffix = r->any_of[i] % 100u;
    if (i > 0) textbuf_puts(b, i + 1 < r->count || r->tmem ? ", " : " or ");
    textbuf_format(b, "sm_%u%s", sm,
                   suffix == 0                    ? " or later"
                   : suffix == TGT_FULL_SM_FAMILY ? "f (or later in its family)"
                                                  : "a");
  }
  if (r->tmem) textbuf_puts(b, r->count > 0 ? " or tensor memory" : "tensor memory");
  if (r->before_sm)
    textbuf_format(b, r->count > 0 || r->tmem ? ", before sm_%u" : "a CPU before sm_%u",
                   (unsigned)r->before_sm);
}

/* "PTX 6.3", "PTX 6.3 to before 6.5". */
static void write_versions(struct textbuf *b, unsigned ptx, unsigned before) {
  textbuf_puts(b, "PTX ");
  if (ptx != 0) textbuf_format(b, "%u.%u", ptx / 10, ptx % 10);
  if (before != 0)
    textbuf_format(b, "%sbefore %u.%u", ptx != 0 ? " to " : "", before / 10, before % 10);
}

void tgt_describe_missing(const struct nvm_target *target, const struct tgt_requirement *r,
                          char *buffer, size_t size) {
  struct textbuf b;
  unsigned needed = tgt_ptx_needed(target, r), ptx = needed ? needed : r->min_ptx;
  bool names_cpus = !needed; /* otherwise only the PTX version is too low */
  textbuf_init_fixed(&b, buffer, size);
  textbuf_puts(&b, "needs ");
  if (names_cpus) write_cpus(&b, r);
  if (names_cpus && (ptx != 0 || r->before_ptx)) textbuf_puts(&b, " and ");
  if (ptx != 0 || r->before_ptx) write_versions(&b, ptx, r->before_ptx);
  textbuf_format(&b, "; the target is %s", target->cpu->name);
  if (target->ptx) textbuf_format(&b, " with PTX %u.%u", target->ptx / 10u, target->ptx % 10u);
  const struct tgt_cpu *near = needed ? NULL : nearest_with(target->cpu, r);
  if (near) textbuf_format(&b, "; nearest CPU that has it: %s", near->name);
}

/* ---- types ---- */

static const struct tgt_legality *legality_of(enum tgt_scalar scalar, unsigned bits,
                                              unsigned lanes) {
  const struct tgt_legality *rows = tgt_legalities();
  for (int i = 0; i < TGT_LEGALITY_COUNT; i++)
    if (rows[i].scalar == scalar && rows[i].bits == bits && rows[i].lanes == lanes) return &rows[i];
  return NULL;
}

bool tgt_pair_fills_register(enum tgt_scalar scalar, unsigned bits) {
  return bits == 16 && legality_of(scalar, bits, 2) != NULL;
}

enum tgt_action tgt_type_action(const struct nvm_target *target, enum tgt_scalar scalar,
                                unsigned bits, unsigned lanes) {
  const struct tgt_legality *row = legality_of(scalar, bits, lanes);
  if (row) {
    bool gains = row->gains == TGT_FAMILY_NONE || row->gains == target->cpu->family;
    return gains && tgt_allows(target, &row->need) ? row->with : row->without;
  }
  if (lanes == 1) return bits > 128 ? TGT_EXPAND : TGT_PROMOTE;
  if (lanes > 2 && lanes % 2 == 0) {
    bool pairs =
        legality_of(scalar, bits, 2) && tgt_type_action(target, scalar, bits, 2) == TGT_LEGAL;
    if (pairs || (uint64_t)bits * lanes > 128) return TGT_SPLIT;
  }
  return TGT_SCALARIZE;
}
