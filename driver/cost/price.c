/* The price of a PTX instruction, by the cost hooks of target/cost.h; this file only says which
 * question to ask about each op. Copies between registers are free: ptxas coalesces them or folds
 * them into operands. */
#include "driver/cost/cost.h"

#include "ptx/check.h"

static const char *const unit_names[COST_UNIT_COUNT] = {
#define UNIT(id, name) name,
#define RUNS_ON(class, unit)
#include "driver/cost/units.def"
#undef UNIT
#undef RUNS_ON
};

const char *cost_unit_name(enum cost_unit unit) { return unit_names[unit]; }

static const enum cost_unit unit_of_issue[PTX_ISSUE_COUNT] = {
#define UNIT(id, name)
#define RUNS_ON(class, unit) [PTX_ISSUE_##class] = COST_UNIT_##unit,
#include "driver/cost/units.def"
#undef UNIT
#undef RUNS_ON
};

/* Arithmetic: its operation. Ops that are missing are priced by their class, or unknown. */
static const uint8_t operation_of[PTX_OP_COUNT] = {
#define AS(op, operation) [PTX_##op] = TGT_OPERATION_##operation + 1
    AS(ADD, ADD),         AS(SUB, ADD),      AS(ADDC, ADD),      AS(SUBC, ADD),
    AS(SAD, ADD),         AS(MUL, MULTIPLY), AS(MAD, FMA),       AS(MADC, FMA),
    AS(MUL24, MULTIPLY),  AS(MAD24, FMA),    AS(DP4A, MULTIPLY), AS(DP2A, MULTIPLY),
    AS(FMA, FMA),         AS(DIV, DIVIDE),   AS(REM, REMAINDER), AS(ABS, NEGATE),
    AS(NEG, NEGATE),      AS(MIN, MINIMUM),  AS(MAX, MINIMUM),   AS(POPC, BITS),
    AS(CLZ, BITS),        AS(BFIND, BITS),   AS(BREV, BITS),     AS(BFE, SHIFT),
    AS(BFI, SHIFT),       AS(SZEXT, SHIFT),  AS(BMSK, SHIFT),    AS(TESTP, COMPARE),
    AS(COPYSIGN, NEGATE), AS(RCP, SPECIAL),  AS(SQRT, SQRT),     AS(RSQRT, SPECIAL),
    AS(SIN, SPECIAL),     AS(COS, SPECIAL),  AS(LG2, SPECIAL),   AS(EX2, SPECIAL),
    AS(TANH, SPECIAL),    AS(SET, COMPARE),  AS(SETP, COMPARE),  AS(SELP, SELECT),
    AS(SLCT, SELECT),     AS(AND, LOGIC),    AS(OR, LOGIC),      AS(XOR, LOGIC),
    AS(NOT, LOGIC),       AS(CNOT, LOGIC),   AS(LOP3, LOGIC),    AS(SHF, SHIFT),
    AS(SHL, SHIFT),       AS(SHR, SHIFT),    AS(PRMT, LOGIC),    AS(ISSPACEP, COMPARE),
#undef AS
};

static bool has_mod(const struct ptx_function *f, const struct ptx_entry *e, enum ptx_mod mod) {
  for (uint32_t i = 0; i < e->mod_count; i++)
    if (f->mods.data[e->first_mod + i] == mod) return true;
  return false;
}

static struct cost_type type_of_mod(uint16_t mod) {
  const struct ptx_mod_row *row = ptx_mod_row(mod);
  switch (mod) {
    case PTX_MOD_F16: return (struct cost_type){TGT_HALF, 16, 1};
    case PTX_MOD_BF16: return (struct cost_type){TGT_BFLOAT, 16, 1};
    case PTX_MOD_F16X2: return (struct cost_type){TGT_HALF, 16, 2};
    case PTX_MOD_BF16X2: return (struct cost_type){TGT_BFLOAT, 16, 2};
    case PTX_MOD_F32: return (struct cost_type){TGT_FLOAT, 32, 1};
    case PTX_MOD_F32X2: return (struct cost_type){TGT_FLOAT, 32, 2};
    case PTX_MOD_F64: return (struct cost_type){TGT_DOUBLE, 64, 1};
    case PTX_MOD_U16X2:
    case PTX_MOD_S16X2: return (struct cost_type){TGT_INTEGER, 16, 2};
    default: return (struct cost_type){TGT_INTEGER, row->bits ? row->bits : 32, 1};
  }
}

/* The types among the modifiers: the first one and the last one. i32 if there is none. */
static void types_of(const struct ptx_function *f, const struct ptx_entry *e,
                     struct cost_type *first, struct cost_type *last) {
  bool any = false;
  *first = *last = (struct cost_type){TGT_INTEGER, 32, 1};
  for (uint32_t i = 0; i < e->mod_count; i++) {
    uint16_t mod = f->mods.data[e->first_mod + i];
    if (!ptx_mod_row(mod)->bits) continue;
    *last = type_of_mod(mod);
    if (!any) *first = *last;
    any = true;
  }
}

static bool is_signed(const struct ptx_function *f, const struct ptx_entry *e) {
  for (uint32_t i = 0; i < e->mod_count; i++)
    if (ptx_mod_row(f->mods.data[e->first_mod + i])->kind == 's') return true;
  return false;
}

/* The operation in the variant that the modifiers choose. */
static enum tgt_operation_index variant(const struct ptx_function *f, const struct ptx_entry *e,
                                        enum tgt_operation_index operation) {
  bool approximate = has_mod(f, e, PTX_MOD_APPROX);
  switch (e->op) {
    case PTX_MUL: return has_mod(f, e, PTX_MOD_HI) ? TGT_OPERATION_MULTIPLY_HIGH : operation;
    case PTX_DIV:
      if (approximate) return TGT_OPERATION_DIVIDE_APPROX;
      if (has_mod(f, e, PTX_MOD_FULL)) return TGT_OPERATION_DIVIDE_FULL;
      return is_signed(f, e) ? TGT_OPERATION_DIVIDE_SIGNED : operation;
    case PTX_REM: return is_signed(f, e) ? TGT_OPERATION_REMAINDER_SIGNED : operation;
    case PTX_RCP: return approximate ? operation : TGT_OPERATION_DIVIDE;
    case PTX_SQRT: return approximate ? TGT_OPERATION_SQRT_APPROX : operation;
    default: return operation;
  }
}

static void price_arithmetic(const struct nvm_target *target, const struct ptx_function *f,
                             const struct ptx_entry *e, struct cost_price *p) {
  enum tgt_operation_index operation =
      variant(f, e, (enum tgt_operation_index)(operation_of[e->op] - 1));
  struct cost_type first, last;
  struct nvm_target exact = *target; /* the modifiers decide, not the options */
  types_of(f, e, &first, &last);
  exact.prec_div = 2;
  exact.prec_sqrt = 1;
  p->machine = cost_arithmetic(&exact, operation, last, COST_SIZE);
  p->slots = cost_arithmetic(&exact, operation, last, COST_THROUGHPUT);
  p->latency = cost_arithmetic(&exact, operation, last, COST_LATENCY);
  p->is_known = p->machine != COST_MAX;
  bool multiplies = operation == TGT_OPERATION_MULTIPLY || operation == TGT_OPERATION_FMA ||
                    operation == TGT_OPERATION_MULTIPLY_HIGH;
  if (multiplies && last.scalar == TGT_INTEGER) p->unit = COST_UNIT_FMA;
}

static void price_class(const struct nvm_target *target, enum tgt_class class, enum tgt_wait wait,
                        struct cost_price *p) {
  p->is_known = true;
  p->machine = cost_instructions(target, class, wait, 1, COST_SIZE);
  p->slots = cost_instructions(target, class, wait, 1, COST_THROUGHPUT);
  p->latency = cost_instructions(target, class, wait, 1, COST_LATENCY);
}

static void price_conversion(const struct nvm_target *target, const struct ptx_function *f,
                             const struct ptx_entry *e, struct cost_price *p) {
  struct cost_type to, from;
  types_of(f, e, &to, &from);
  bool integers = to.scalar == TGT_INTEGER && from.scalar == TGT_INTEGER;
  enum cost_cast cast = !integers              ? COST_CONVERT
                        : to.bits <= from.bits ? COST_TRUNCATE
                        : is_signed(f, e)      ? COST_SIGN_EXTEND
                                               : COST_ZERO_EXTEND;
  p->is_known = true;
  p->machine = cost_of_cast(target, cast, from, to, COST_SIZE);
  p->slots = cost_of_cast(target, cast, from, to, COST_THROUGHPUT);
  p->latency = cost_of_cast(target, cast, from, to, COST_LATENCY);
  if (integers) p->unit = COST_UNIT_ALU;
}

/* ---- Memory ---- */

static const struct space {
  uint16_t mod;
  unsigned number; /* LLVM's */
  const char *name;
} spaces[] = {{PTX_MOD_GLOBAL, 1, "global"},         {PTX_MOD_SHARED, 3, "shared"},
              {PTX_MOD_SHARED_CTA, 3, "shared"},     {PTX_MOD_SHARED_CLUSTER, 3, "shared"},
              {PTX_MOD_CONST, 4, "constant"},        {PTX_MOD_LOCAL, 5, "local"},
              {PTX_MOD_PARAM, 101, "parameter"},     {PTX_MOD_PARAM_ENTRY, 101, "parameter"},
              {PTX_MOD_PARAM_FUNC, 101, "parameter"}};

static struct space space_of(const struct ptx_function *f, const struct ptx_entry *e) {
  for (uint32_t i = 0; i < e->mod_count; i++)
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++)
      if (f->mods.data[e->first_mod + i] == spaces[k].mod) return spaces[k];
  return (struct space){PTX_MOD_NONE, 0, "generic"};
}

static void price_access(const struct nvm_target *target, const struct ptx_function *f,
                         const struct ptx_entry *e, struct cost_price *p) {
  struct space space = space_of(f, e);
  struct cost_type first, value;
  types_of(f, e, &first, &value);
  uint32_t elements = has_mod(f, e, PTX_MOD_V2)   ? 2
                      : has_mod(f, e, PTX_MOD_V4) ? 4
                      : has_mod(f, e, PTX_MOD_V8) ? 8
                                                  : 1;
  value.lanes *= elements;
  unsigned bytes = (unsigned)value.bits / 8 * value.lanes;
  p->is_known = true;
  p->space = space.name;
  p->bytes = bytes;
  p->machine = cost_memory(target, value, space.number, bytes, COST_SIZE);
  p->slots = cost_memory(target, value, space.number, bytes, COST_THROUGHPUT);
  p->latency = cost_memory(target, value, space.number, bytes, COST_LATENCY);
  bool is_atomic = e->op == PTX_ATOM || e->op == PTX_RED;
  p->access = is_atomic ? "atomic" : e->op == PTX_ST ? "store" : "load";
}

/* ---- All ---- */

static bool reads_special(const struct ptx_function *f, const struct ptx_entry *e) {
  for (uint32_t i = 0; i < e->operand_count; i++)
    if (f->operands.data[e->first_operand + i].kind == PTX_OPERAND_SPECIAL) return true;
  return false;
}

static void price_rest(const struct nvm_target *target, const struct ptx_function *f,
                       const struct ptx_entry *e, struct cost_price *p) {
  switch (e->op) {
    case PTX_LD:
    case PTX_LDU:
    case PTX_ST:
    case PTX_ATOM:
    case PTX_RED: price_access(target, f, e, p); return;
    case PTX_CVT: price_conversion(target, f, e, p); return;
    case PTX_CVTA: p->machine = 0, p->is_known = true; return;
    case PTX_MOV:
      p->machine = 0;
      p->is_known = true;
      if (reads_special(f, e)) price_class(target, TGT_CLASS_LOGIC, TGT_WAIT_INTEGER, p);
      return;
    case PTX_SHFL:
    case PTX_VOTE:
    case PTX_MATCH:
    case PTX_ACTIVEMASK: price_class(target, TGT_CLASS_EXCHANGE, TGT_WAIT_EXCHANGE, p); return;
    case PTX_BRA:
    case PTX_BRX:
    case PTX_RET:
    case PTX_EXIT: price_class(target, TGT_CLASS_CONTROL, TGT_WAIT_BRANCH, p); return;
    default: return;
  }
}

struct cost_price cost_price(const struct nvm_target *target, const struct ptx_function *f,
                             const struct ptx_entry *e) {
  struct ptx_need need;
  const struct ptx_form *form = ptx_find_form(f, e, &need);
  enum ptx_issue issue = form ? form->issue : ptx_op_row(e->op)->issue;
  struct cost_price p = {
      .issue = issue, .unit = unit_of_issue[issue], .space = "", .access = "", .machine = 1};
  if (operation_of[e->op]) price_arithmetic(target, f, e, &p);
  else price_rest(target, f, e, &p);
  if (!p.is_known) p.machine = 1, p.slots = p.latency = 0;
  return p;
}
