/* The cost hooks: cost estimates for passes.
 *
 * Names and answers follow the hook table of seed 1 (LLVM's TargetTransformInfo as cicc fills it);
 * the numbers are rows of target/nvptx.def, each with its source. Three measures:
 *   COST_SIZE        machine instructions: i32 add 1, i64 add 2, i64 multiply 4
 *   COST_THROUGHPUT  issue slots of an SM sub-partition, the measure for loops: an instruction
 *                    whose class is as wide as the issue (128 lanes on Volta and later) costs 1,
 *                    one at half that rate 2, a special function 8
 *   COST_LATENCY     cycles until a dependent instruction can start
 * Costs saturate at COST_MAX; COST_MAX means "not possible" or "never worth it".
 *
 * Types are described by a small struct, so this file does not depend on the IR. */
#ifndef NVM_TARGET_COST_H
#define NVM_TARGET_COST_H

#include "target/occupancy.h"

typedef int64_t cost; /* never negative */
#define COST_MAX INT64_MAX

enum cost_measure { COST_SIZE, COST_THROUGHPUT, COST_LATENCY };

/* A scalar or a vector of `lanes` of them. Pointers are integers of their width. */
struct cost_type {
  enum tgt_scalar scalar;
  uint16_t bits;  /* of one lane: 1 .. 128; 16, 32 or 64 for floats */
  uint32_t lanes; /* 1 for a scalar */
};

/* Sums and products that saturate at COST_MAX. */
cost cost_add(cost a, cost b);
cost cost_times(cost a, uint64_t n);

/* ---- What the machine is like ---- */

/* getRegisterBitWidth: 32 for scalars and vectors, the size of PTX registers; the usual formula,
 * width / element bits, gives 1 for float, 2 for half, 4 for i8 (seed 1). */
unsigned cost_register_bit_width(bool vector);

/* supportsScalableVectors: false. */
bool cost_supports_scalable_vectors(void);

/* Whether one instruction operates on a pair of these: f16 from sm_53, bf16 from sm_90, f32 on
 * sm_100 and sm_103 with PTX 8.6 only (sm_120 accepts it without gain, users.md 4.3). */
bool cost_has_packed_pair(const struct nvm_target *target, enum tgt_scalar scalar);

/* Bits of the widest single access to this address space (LLVM's numbering: 0 generic, 1 global,
 * 3 shared, 4 constant, 5 local, 101 param): 256 for global on sm_100 and later with PTX 8.8, else
 * 128. */
unsigned cost_widest_access_bits(const struct nvm_target *target, unsigned address_space);

/* Warp instructions that an SM can issue in a cycle. */
unsigned cost_issue_width(const struct nvm_target *target);

/* getMaxInterleaveFactor, bounded by registers: the largest power of two such that this many copies
 * of a loop body, each with `live_registers` more, keep the number of resident blocks of `use`. At
 * most 8 for scalar loops and 4 for vectorized ones; 1 if a block cannot run at all. */
unsigned cost_max_interleave_factor(const struct nvm_target *target,
                                    const struct occupancy_use *use, uint32_t live_registers,
                                    bool vectorized);

/* ---- Costs ---- */

/* A chain of `count` equal machine instructions of a class, each of which keeps a dependent one
 * waiting as `wait` says. */
cost cost_instructions(const struct nvm_target *target, enum tgt_class class, enum tgt_wait wait,
                       cost count, enum cost_measure measure);

/* An operation on a type, element by element, or in pairs if the CPU has them. Division and square
 * root of float follow the target's prec_div and prec_sqrt. */
cost cost_arithmetic(const struct nvm_target *target, enum tgt_operation_index operation,
                     struct cost_type type, enum cost_measure measure);

/* Loading or storing a whole value at an alignment in bytes. It is split into the widest accesses
 * that alignment and address space allow; a wide access costs less than the narrow ones that it
 * replaces. */
cost cost_memory(const struct nvm_target *target, struct cost_type type, unsigned address_space,
                 unsigned align_bytes, enum cost_measure measure);

/* The number of these accesses. */
unsigned cost_memory_accesses(const struct nvm_target *target, struct cost_type type,
                              unsigned address_space, unsigned align_bytes);

/* A conversion. Integers: truncation is free, zero extension within a register too; sign extension
 * is one instruction. Bit casts of equal size are free. */
enum cost_cast { COST_TRUNCATE, COST_ZERO_EXTEND, COST_SIGN_EXTEND, COST_CONVERT, COST_BITCAST };
cost cost_of_cast(const struct nvm_target *target, enum cost_cast cast, struct cost_type from,
                  struct cost_type to, enum cost_measure measure);

/* Any rearrangement of lanes: one `prmt` for each result register if lanes are narrower than a
 * register, free for wider lanes. */
cost cost_shuffle(const struct nvm_target *target, struct cost_type type,
                  enum cost_measure measure);

/* A horizontal reduction of all lanes to one by the operation: a tree, or in order if float
 * rounding must be preserved. */
cost cost_reduction(const struct nvm_target *target, enum tgt_operation_index operation,
                    struct cost_type type, bool in_order, enum cost_measure measure);

/* A branch; `divergent`: threads of a warp may diverge, which costs setting a barrier and waiting
 * for it. */
cost cost_branch(const struct nvm_target *target, bool divergent, enum cost_measure measure);

/* A call that is not inlined; `registers`: 32-bit registers of its arguments and result. */
cost cost_call(const struct nvm_target *target, unsigned registers, enum cost_measure measure);

/* Latency of an average load: shared memory for space 3, constant cache for 4 and 101, otherwise an
 * L2 hit. */
cost cost_load_latency(const struct nvm_target *target, unsigned address_space);

#endif
