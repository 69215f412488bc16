/* The cost hooks; see cost.h. Numbers that are not rows of nvptx.def name their source. */
#include "target/cost.h"

enum {
  REGISTER_BITS = 32,
  WARP = 32,
  MAX_SCALAR_INTERLEAVE = 8, /* seed 1's example for register pressure */
  MAX_VECTOR_INTERLEAVE = 4, /* seed 3: more copies reduce occupancy */
  DIVERGENT_BRANCH = 3,      /* branch, and setting and waiting for the convergence barrier */
  CALL = 4,                  /* call, return, saving and restoring the return address */
};

/* ---- saturating arithmetic ---- */

cost cost_add(cost a, cost b) { return a > COST_MAX - b ? COST_MAX : a + b; }

cost cost_times(cost a, uint64_t n) {
  if (a == 0 || n == 0) return 0;
  return n > (uint64_t)(COST_MAX / a) ? COST_MAX : a * (cost)n;
}

/* ---- what the machine is like ---- */

unsigned cost_register_bit_width(bool vector) {
  (void)vector; /* the same for both */
  return REGISTER_BITS;
}

bool cost_supports_scalable_vectors(void) { return false; }

bool cost_has_packed_pair(const struct nvm_target *target, enum tgt_scalar scalar) {
  if (scalar == TGT_INTEGER) return false; /* 16x2: no measured gain */
  unsigned bits = scalar == TGT_FLOAT ? 32 : scalar == TGT_DOUBLE ? 64 : 16;
  return tgt_type_action(target, scalar, bits, 2) == TGT_LEGAL;
}

unsigned cost_widest_access_bits(const struct nvm_target *target, unsigned address_space) {
  bool wide = address_space == 1 && !target->narrow_accesses;
  return wide && tgt_has(target, TGT_NEED_WIDE_ACCESS) ? 256 : 128;
}

unsigned cost_issue_width(const struct nvm_target *target) {
  return tgt_limit(target->cpu, TGT_LIMIT_ISSUE_PER_SM);
}

unsigned cost_max_interleave_factor(const struct nvm_target *target,
                                    const struct occupancy_use *use, uint32_t live_registers,
                                    bool vectorized) {
  unsigned factor = vectorized ? MAX_VECTOR_INTERLEAVE : MAX_SCALAR_INTERLEAVE;
  struct occupancy now;
  occupancy_compute(target->cpu, use, &now);
  uint32_t budget = occupancy_registers_for(target->cpu, use->threads_per_block, now.blocks);
  if (now.blocks == 0 || budget < use->registers_per_thread) return 1;
  uint64_t spare = budget - use->registers_per_thread;
  while (factor > 1 && (uint64_t)(factor - 1) * live_registers > spare) factor /= 2;
  return factor;
}

/* ---- instructions ---- */

/* Issue slots of `instructions` instructions of a class: the SM issues issue_per_sm warps a cycle,
 * and the class needs 32 / throughput cycles for one. A class that the CPU lacks is executed as
 * f32. */
static cost slots(const struct nvm_target *target, enum tgt_class class, cost instructions) {
  const struct tgt_number *number = tgt_throughput_of(target->cpu->generation)->number;
  uint32_t results = number[class].value ? number[class].value : number[TGT_CLASS_F32].value;
  uint32_t lanes = cost_issue_width(target) * WARP;
  uint32_t each = (lanes + results - 1) / results;
  return cost_times(instructions, each);
}

static cost cycles(const struct nvm_target *target, enum tgt_wait wait, cost instructions) {
  return cost_times(instructions, tgt_latency_of(target->cpu->generation)->number[wait].value);
}

cost cost_instructions(const struct nvm_target *target, enum tgt_class class, enum tgt_wait wait,
                       cost count, enum cost_measure measure) {
  switch (measure) {
    case COST_SIZE: return count;
    case COST_THROUGHPUT: return slots(target, class, count);
    case COST_LATENCY: return cycles(target, wait, count);
  }
  return COST_MAX;
}

static enum tgt_type table_type(struct cost_type type) {
  switch (type.scalar) {
    case TGT_INTEGER:
      return type.bits <= 32 ? TGT_TYPE_I32 : type.bits <= 64 ? TGT_TYPE_I64 : TGT_TYPE_I128;
    case TGT_HALF: return TGT_TYPE_F16;
    case TGT_BFLOAT: return TGT_TYPE_BF16;
    case TGT_FLOAT: return TGT_TYPE_F32;
    case TGT_DOUBLE: return TGT_TYPE_F64;
  }
  return TGT_TYPE_I32;
}

static enum tgt_class class_of(const struct tgt_operation *operation, enum tgt_scalar scalar) {
  if (scalar == TGT_INTEGER) return operation->integer_class;
  if (operation->special) return TGT_CLASS_SPECIAL;
  return scalar == TGT_DOUBLE  ? TGT_CLASS_F64
         : scalar == TGT_FLOAT ? TGT_CLASS_F32
                               : TGT_CLASS_HALF;
}

static enum tgt_wait wait_of(const struct tgt_operation *operation, enum tgt_scalar scalar) {
  if (scalar == TGT_INTEGER) return TGT_WAIT_INTEGER;
  if (operation->special) return TGT_WAIT_SPECIAL;
  return scalar == TGT_DOUBLE ? TGT_WAIT_DOUBLE : TGT_WAIT_FLOAT;
}

/* f32 division and square root in the target's precision. */
static enum tgt_operation_index precise(const struct nvm_target *target,
                                        enum tgt_operation_index operation, enum tgt_scalar s) {
  if (s != TGT_FLOAT) return operation;
  if (operation == TGT_OPERATION_DIVIDE && target->prec_div == 0)
    return TGT_OPERATION_DIVIDE_APPROX;
  if (operation == TGT_OPERATION_DIVIDE && target->prec_div == 1) return TGT_OPERATION_DIVIDE_FULL;
  if (operation == TGT_OPERATION_SQRT && target->prec_sqrt == 0) return TGT_OPERATION_SQRT_APPROX;
  return operation;
}

/* Whether the operation exists for pairs: only operations of one instruction do. */
static bool packs(const struct nvm_target *target, enum tgt_operation_index operation,
                  struct cost_type type) {
  enum tgt_scalar scalar = type.scalar;
  if (scalar == TGT_INTEGER && type.bits == 16) /* both halves at once on every CPU */
    return operation == TGT_OPERATION_LOGIC ||
           (operation == TGT_OPERATION_ADD && tgt_type_action(target, scalar, 16, 2) == TGT_LEGAL);
  bool arithmetic = operation == TGT_OPERATION_ADD || operation == TGT_OPERATION_MULTIPLY ||
                    operation == TGT_OPERATION_FMA;
  if (operation == TGT_OPERATION_MINIMUM && (scalar == TGT_HALF || scalar == TGT_BFLOAT))
    return tgt_has(target, TGT_NEED_PAIR_MINIMUM);
  return arithmetic && cost_has_packed_pair(target, scalar);
}

cost cost_arithmetic(const struct nvm_target *target, enum tgt_operation_index operation,
                     struct cost_type type, enum cost_measure measure) {
  enum tgt_operation_index exact = precise(target, operation, type.scalar);
  const struct tgt_operation *row = tgt_operation_of(exact);
  cost each = row->number[table_type(type)].value;
  uint64_t times = type.lanes;
  if (each == 0) return COST_MAX;
  if (packs(target, exact, type)) times = times / 2 + times % 2;
  if (measure == COST_LATENCY) times = times > 0; /* the lanes execute in parallel */
  cost one = cost_instructions(target, class_of(row, type.scalar), wait_of(row, type.scalar), each,
                               measure);
  return cost_times(one, times);
}

/* ---- memory ---- */

/* Bits of each access to a value: the widest that its size, alignment and address space allow. */
static uint32_t access_bits(const struct nvm_target *target, struct cost_type type,
                            unsigned address_space, unsigned align_bytes) {
  uint64_t value_bits = (uint64_t)type.bits * type.lanes;
  uint32_t bits = cost_widest_access_bits(target, address_space);
  while (bits > 8 && (bits / 8 > align_bytes || bits > value_bits)) bits /= 2;
  return bits;
}

unsigned cost_memory_accesses(const struct nvm_target *target, struct cost_type type,
                              unsigned address_space, unsigned align_bytes) {
  uint64_t value_bits = (uint64_t)type.bits * type.lanes;
  uint64_t each = access_bits(target, type, address_space, align_bytes);
  uint64_t accesses = (value_bits + each - 1) / each;
  return accesses < UINT32_MAX ? (unsigned)accesses : UINT32_MAX;
}

cost cost_load_latency(const struct nvm_target *target, unsigned address_space) {
  const struct tgt_number *wait = tgt_latency_of(target->cpu->generation)->number;
  if (address_space == 3) return wait[TGT_WAIT_SHARED].value;
  if (address_space == 4 || address_space == 101) return wait[TGT_WAIT_CONSTANT].value;
  return wait[TGT_WAIT_L2].value;
}

/* Half of the cost of a 4-byte access is the instruction, half the data, so one 128-bit access
 * costs 10/16 of four 32-bit ones. Measured on Turing at full load: 247 and 392 GB/s (users.md
 * 4.1). */
cost cost_memory(const struct nvm_target *target, struct cost_type type, unsigned address_space,
                 unsigned align_bytes, enum cost_measure measure) {
  cost accesses = cost_memory_accesses(target, type, address_space, align_bytes);
  uint32_t bits = access_bits(target, type, address_space, align_bytes);
  uint32_t words = bits > REGISTER_BITS ? bits / REGISTER_BITS : 1;
  cost narrow = slots(target, TGT_CLASS_MEMORY, 1);
  switch (measure) {
    case COST_SIZE: return accesses;
    case COST_THROUGHPUT:
      return cost_times((narrow * (1 + (cost)words) + 1) / 2, (uint64_t)accesses);
    case COST_LATENCY: return cost_add(cost_load_latency(target, address_space), accesses - 1);
  }
  return COST_MAX;
}

/* ---- everything else ---- */

/* Registers of a lane. */
static unsigned lane_registers(struct cost_type type) {
  return type.bits <= REGISTER_BITS ? 1 : (type.bits + REGISTER_BITS - 1u) / REGISTER_BITS;
}

/* Conversions from or to a floating-point type. */
static cost convert(const struct nvm_target *target, struct cost_type from, struct cost_type to,
                    enum cost_measure measure) {
  enum tgt_class class = from.bits > 32 || to.bits > 32 ? TGT_CLASS_CONVERT64 : TGT_CLASS_CONVERT;
  return cost_instructions(target, class, TGT_WAIT_CONVERT, 1, measure);
}

cost cost_of_cast(const struct nvm_target *target, enum cost_cast cast, struct cost_type from,
                  struct cost_type to, enum cost_measure measure) {
  uint64_t times = measure == COST_LATENCY ? to.lanes > 0 : to.lanes;
  bool widens = lane_registers(to) > lane_registers(from);
  cost one = cost_instructions(target, TGT_CLASS_LOGIC, TGT_WAIT_INTEGER, 1, measure);
  switch (cast) {
    case COST_TRUNCATE:
    case COST_BITCAST: return 0;
    case COST_ZERO_EXTEND: return widens ? 0 : cost_times(one, times); /* a zero register; a mask */
    case COST_SIGN_EXTEND: return cost_times(one, times);
    case COST_CONVERT: return cost_times(convert(target, from, to, measure), times);
  }
  return COST_MAX;
}

cost cost_shuffle(const struct nvm_target *target, struct cost_type type,
                  enum cost_measure measure) {
  if (type.bits >= REGISTER_BITS || type.lanes == 1) return 0;
  uint64_t bits = (uint64_t)type.bits * type.lanes;
  uint64_t registers = (bits + REGISTER_BITS - 1) / REGISTER_BITS;
  if (measure == COST_LATENCY) registers = 1;
  cost one = cost_instructions(target, TGT_CLASS_LOGIC, TGT_WAIT_INTEGER, 1, measure);
  return cost_times(one, registers);
}

cost cost_reduction(const struct nvm_target *target, enum tgt_operation_index operation,
                    struct cost_type type, bool in_order, enum cost_measure measure) {
  struct cost_type scalar = {type.scalar, type.bits, 1};
  cost total = 0;
  if (in_order && type.lanes > 0)
    return cost_times(cost_arithmetic(target, operation, scalar, measure), type.lanes - 1);
  for (uint32_t lanes = type.lanes; lanes > 1; lanes -= lanes / 2) {
    struct cost_type half = {type.scalar, type.bits, lanes / 2};
    struct cost_type whole = {type.scalar, type.bits, lanes};
    total = cost_add(total, cost_arithmetic(target, operation, half, measure));
    total = cost_add(total, cost_shuffle(target, half.lanes > 1 ? half : whole, measure));
  }
  return total;
}

cost cost_branch(const struct nvm_target *target, bool divergent, enum cost_measure measure) {
  cost count = divergent ? DIVERGENT_BRANCH : 1;
  return cost_instructions(target, TGT_CLASS_CONTROL, TGT_WAIT_BRANCH, count, measure);
}

cost cost_call(const struct nvm_target *target, unsigned registers, enum cost_measure measure) {
  cost moves = cost_instructions(target, TGT_CLASS_LOGIC, TGT_WAIT_INTEGER, registers, measure);
  return cost_add(moves,
                  cost_instructions(target, TGT_CLASS_CONTROL, TGT_WAIT_BRANCH, CALL, measure));
}
