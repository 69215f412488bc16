/* The occupancy formula; see occupancy.h. */
#include "target/occupancy.h"

enum { WARP = 32 }; /* threads of a warp */

static uint32_t round_up(uint32_t value, uint32_t unit) {
  return (value / unit + (value % unit != 0)) * unit;
}

static uint32_t warps_of(uint32_t threads) { return threads / WARP + (threads % WARP != 0); }

static uint32_t blocks_by_warps(const struct tgt_cpu *cpu, const struct occupancy_use *use) {
  if (use->threads_per_block > tgt_limit(cpu, TGT_LIMIT_THREADS_PER_BLOCK)) return 0;
  return tgt_limit(cpu, TGT_LIMIT_WARPS_PER_SM) / warps_of(use->threads_per_block);
}

/* A warp's registers are in one sub-partition. The launch check assumes that a block's warps are
 * distributed evenly over all of them. */
static uint32_t blocks_by_registers(const struct tgt_cpu *cpu, const struct occupancy_use *use) {
  uint32_t per_thread = use->registers_per_thread, warps = warps_of(use->threads_per_block);
  uint32_t partitions = tgt_limit(cpu, TGT_LIMIT_PARTITIONS_PER_SM);
  if (per_thread == 0) return UINT32_MAX;
  if (per_thread > tgt_limit(cpu, TGT_LIMIT_REGISTERS_PER_THREAD)) return 0;
  uint32_t per_warp = round_up(per_thread * WARP, tgt_limit(cpu, TGT_LIMIT_REGISTER_UNIT));
  uint64_t checked = round_up(warps, tgt_limit(cpu, TGT_LIMIT_PARTITIONS_CHECKED));
  if (checked * per_warp > tgt_limit(cpu, TGT_LIMIT_REGISTERS_PER_BLOCK)) return 0;
  uint32_t per_partition = tgt_limit(cpu, TGT_LIMIT_REGISTERS_PER_SM) / partitions;
  return per_partition / per_warp * partitions / warps;
}

static uint32_t blocks_by_shared(const struct tgt_cpu *cpu, const struct occupancy_use *use) {
  uint32_t bytes = use->shared_bytes, unit = tgt_limit(cpu, TGT_LIMIT_SHARED_UNIT);
  if (bytes > tgt_limit(cpu, TGT_LIMIT_SHARED_PER_BLOCK)) return 0;
  uint32_t taken = round_up(bytes + tgt_limit(cpu, TGT_LIMIT_SHARED_RESERVED_BLOCK), unit);
  return taken ? tgt_limit(cpu, TGT_LIMIT_SHARED_PER_SM) / taken : UINT32_MAX;
}

static uint32_t blocks_by_barriers(const struct tgt_cpu *cpu, const struct occupancy_use *use) {
  uint32_t barriers = tgt_limit(cpu, TGT_LIMIT_BARRIERS_PER_SM);
  return barriers && use->barriers ? barriers / use->barriers : UINT32_MAX;
}

void occupancy_compute(const struct tgt_cpu *cpu, const struct occupancy_use *use,
                       struct occupancy *occupancy) {
  *occupancy = (struct occupancy){.warps_limit = tgt_limit(cpu, TGT_LIMIT_WARPS_PER_SM)};
  if (use->threads_per_block == 0) return;
  uint32_t *by = occupancy->blocks_by;
  by[OCCUPANCY_WARPS] = blocks_by_warps(cpu, use);
  by[OCCUPANCY_REGISTERS] = blocks_by_registers(cpu, use);
  by[OCCUPANCY_SHARED] = blocks_by_shared(cpu, use);
  by[OCCUPANCY_BLOCKS] = tgt_limit(cpu, TGT_LIMIT_BLOCKS_PER_SM);
  by[OCCUPANCY_BARRIERS] = blocks_by_barriers(cpu, use);
  occupancy->blocks = by[0];
  for (int i = 1; i < OCCUPANCY_LIMIT_COUNT; i++)
    if (by[i] < occupancy->blocks) occupancy->blocks = by[i];
  occupancy->warps = occupancy->blocks * warps_of(use->threads_per_block);
}

bool occupancy_bounded_by(const struct occupancy *occupancy, enum occupancy_limit limit) {
  return occupancy->blocks_by[limit] == occupancy->blocks;
}

enum occupancy_limit occupancy_limiting_factor(const struct occupancy *occupancy) {
  int limit = 0;
  while (!occupancy_bounded_by(occupancy, (enum occupancy_limit)limit)) limit++;
  return (enum occupancy_limit)limit;
}

const char *occupancy_limit_name(enum occupancy_limit limit) {
  switch (limit) {
    case OCCUPANCY_WARPS: return "warps";
    case OCCUPANCY_REGISTERS: return "registers";
    case OCCUPANCY_SHARED: return "shared memory";
    case OCCUPANCY_BLOCKS: return "blocks";
    case OCCUPANCY_BARRIERS: return "barriers";
    case OCCUPANCY_LIMIT_COUNT: break;
  }
  return "";
}

uint32_t occupancy_registers_for(const struct tgt_cpu *cpu, uint32_t threads_per_block,
                                 uint32_t blocks) {
  struct occupancy_use use = {.threads_per_block = threads_per_block};
  uint32_t registers = tgt_limit(cpu, TGT_LIMIT_REGISTERS_PER_THREAD);
  if (threads_per_block == 0 || threads_per_block > tgt_limit(cpu, TGT_LIMIT_THREADS_PER_BLOCK))
    return 0;
  for (; registers > 0; registers--) {
    use.registers_per_thread = registers;
    if (blocks_by_registers(cpu, &use) >= blocks) break;
  }
  return registers;
}
