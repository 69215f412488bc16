/* Occupancy, against cases worked out by hand from the published formula (users.md 4.2):
 *   warps W = ceil(threads / 32)
 *   by warps      floor(warps per SM / W)
 *   by registers  R = regs * 32 rounded up to 256; floor(floor((64K / 4) / R) * 4 / W); 0 if
 *                 R * (W rounded up to 4) > 64K
 *   by shared     S = (bytes + what the system takes, 1 KB from 8.0 on) rounded up to 128 (256 on
 *                 7.x); floor(shared per SM / S)
 *   by blocks     the CPU's limit
 * and the smallest wins. The code also equals cuda_occupancy.h of toolkit 13.0 in ten million
 * cases; that comparison needs the header, so it is not here. */
#include "target/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
  W = OCCUPANCY_WARPS,
  R = OCCUPANCY_REGISTERS,
  S = OCCUPANCY_SHARED,
  B = OCCUPANCY_BLOCKS,
  N = OCCUPANCY_BARRIERS
};

static const struct {
  const char *cpu;
  struct occupancy_use use; /* threads, registers, shared bytes, barriers */
  uint32_t blocks, warps;
  int limit; /* the first that bounds */
} cases[] = {
    /* W=8. 64/8=8. R=1024, 16384/1024=16 a partition, 64/8=8. S=1024: 228K/1K=228. */
    {"sm_90", {256, 32, 0, 0}, 8, 64, W},
    /* R=33*32=1056 -> 1280; 16384/1280=12; 48/8=6. */
    {"sm_90", {256, 33, 0, 0}, 6, 48, R},
    /* R=64*32=2048; 8 a partition; 32/8=4. */
    {"sm_90", {256, 64, 0, 0}, 4, 32, R},
    /* R=255*32=8160 -> 8192; 2 a partition; 8/8=1. Check: 8192*8=64K fits. */
    {"sm_90", {256, 255, 0, 0}, 1, 8, R},
    /* W=9 -> 12 for the check: 8192*12 > 64K. */
    {"sm_90", {288, 255, 0, 0}, 0, 0, R},
    /* 256 registers are more than a thread may use. */
    {"sm_90", {32, 256, 0, 0}, 0, 0, R},
    /* W=32. 64/32=2. R=32*32=1024; 64/32=2. */
    {"sm_90", {1024, 32, 0, 0}, 2, 64, W},
    /* More threads than a block may have. */
    {"sm_90", {1025, 32, 0, 0}, 0, 0, W},
    {"sm_90", {0, 32, 0, 0}, 0, 0, W},
    /* W=1. 64/1=64, R=512: 32 a partition, 128; blocks 32. */
    {"sm_90", {32, 16, 0, 0}, 32, 32, B},
    {"sm_90", {1, 16, 0, 0}, 32, 32, B},
    /* S=48K+1K=49K; 228/49=4. */
    {"sm_90", {128, 32, 48 * 1024, 0}, 4, 16, S},
    /* S=(100+1024)=1124 -> 1152; 233472/1152=202. W=4: 16 by warps. */
    {"sm_90", {128, 32, 100, 0}, 16, 64, W},
    /* 227 KB + 1 KB is all of it; a byte more is refused. */
    {"sm_90", {128, 32, 227 * 1024, 0}, 1, 4, S},
    {"sm_90", {128, 32, 227 * 1024 + 1, 0}, 0, 0, S},
    /* 64 barriers on an SM, 4 a block: 16; W=1. */
    {"sm_90", {32, 16, 0, 4}, 16, 16, N},
    /* Ampere does not count barriers. */
    {"sm_80", {32, 16, 0, 4}, 32, 32, B},
    /* S=49K: 164/49=3. */
    {"sm_80", {128, 32, 48 * 1024, 0}, 3, 12, S},
    /* 8.6: 48 warps, W=8: 6. R=1280: 12*4/8=6, no less. */
    {"sm_86", {256, 40, 0, 0}, 6, 48, W},
    /* W=2, 48/2=24, R=1024: 64/2=32; 16 blocks. */
    {"sm_86", {64, 32, 0, 0}, 16, 32, B},
    /* 8.9: the same block, 24 blocks; by warps 24 too, which comes first. */
    {"sm_89", {64, 32, 0, 0}, 24, 48, W},
    /* 7.5: 32 warps, W=8: 4. S=16384 (none taken, unit 256): 64K/16K=4. */
    {"sm_75", {256, 32, 16 * 1024, 0}, 4, 32, W},
    /* S=16385 -> 16640; 65536/16640=3. */
    {"sm_75", {256, 32, 16 * 1024 + 1, 0}, 3, 24, S},
    /* 10.0 is as 9.0. R=128*32=4096: 4 a partition, 16/8=2. */
    {"sm_100a", {256, 128, 0, 0}, 2, 16, R},
    /* 12.0: 48 warps, 24 blocks, 100K. W=4: 12; R=1280: 12*4/4=12. S=9K: 100/9=11. */
    {"sm_120", {128, 40, 8 * 1024, 0}, 11, 44, S},
    {"sm_121f", {32, 24, 0, 0}, 24, 24, B},
    /* 11.0: 24 barriers, one a block: 24; blocks 24 comes first. */
    {"sm_110", {32, 24, 0, 1}, 24, 24, B},
    /* 6.0 has 2 partitions of 32K: R=2304 (72*32): 14 each, 28/8=3; with 4 of 16K 7 each: 28 too.
     */
    {"sm_60", {256, 72, 0, 0}, 3, 24, R},
    /* Here they differ: R=11*256=2816 (88*32): 32768/2816=11, 22 warps; 16384/2816=5, 20 warps.
     * W=11: 2 blocks on 6.0, 1 on 6.1. */
    {"sm_60", {352, 88, 0, 0}, 2, 22, R},
    {"sm_61", {352, 88, 0, 0}, 1, 11, R},
    /* 5.3: a block has 32K registers. R=65*32 -> 2304; W=16: 36864 > 32768. */
    {"sm_53", {512, 65, 0, 0}, 0, 0, R},
    /* 3.7: 128K registers. R=2048: 16 a partition, 64/8=8. */
    {"sm_37", {256, 64, 0, 0}, 8, 64, W},
    /* 2.0: 48 warps, 8 blocks. W=2: 24. */
    {"sm_20", {64, 20, 0, 0}, 8, 16, B},
};

static const struct tgt_cpu *cpu(const char *name) { return tgt_find_cpu(name, strlen(name)); }

static void cases_worked_out_by_hand(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct occupancy o;
    occupancy_compute(cpu(cases[i].cpu), &cases[i].use, &o);
    if (o.blocks != cases[i].blocks || o.warps != cases[i].warps ||
        (int)occupancy_limiting_factor(&o) != cases[i].limit)
      fail_msg("case %zu, %s: %u blocks, %u warps, by %s", i, cases[i].cpu, o.blocks, o.warps,
               occupancy_limit_name(occupancy_limiting_factor(&o)));
  }
}

static void several_limits_may_bound(void **state) {
  (void)state;
  struct occupancy o;
  struct occupancy_use use = {256, 32, 0, 0};
  occupancy_compute(cpu("sm_90"), &use, &o); /* 8 by warps, 8 by registers */
  assert_true(occupancy_bounded_by(&o, OCCUPANCY_WARPS));
  assert_true(occupancy_bounded_by(&o, OCCUPANCY_REGISTERS));
  assert_false(occupancy_bounded_by(&o, OCCUPANCY_SHARED));
  assert_int_equal(o.warps_limit, 64);
}

static void more_use_is_never_more_occupancy(void **state) {
  (void)state;
  for (int c = 0; c < TGT_CPU_COUNT; c++)
    for (uint32_t threads = 1; threads <= 1024; threads += 97) {
      uint32_t before = UINT32_MAX;
      for (uint32_t registers = 1; registers <= 256; registers++) {
        struct occupancy o;
        struct occupancy_use use = {threads, registers, 0, 0};
        occupancy_compute(&tgt_cpus()[c], &use, &o);
        assert_true(o.blocks <= before);
        assert_true(o.warps <= o.warps_limit);
        before = o.blocks;
      }
    }
}

/* Hand: 256 threads, 2 blocks: 16 warps, 4 a partition, 4096 registers each, 128 a thread. */
static void registers_for_launch_bounds(void **state) {
  (void)state;
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 256, 2), 128);
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 256, 8), 32);
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 1024, 1), 64);
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 128, 1), 255);
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 1024, 100), 0);
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 0, 1), 0);
  assert_int_equal(occupancy_registers_for(cpu("sm_90"), 2048, 1), 0);
}

static void huge_use_does_not_wrap(void **state) {
  (void)state;
  struct occupancy o;
  struct occupancy_use use = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  for (int c = 0; c < TGT_CPU_COUNT; c++) {
    occupancy_compute(&tgt_cpus()[c], &use, &o);
    assert_int_equal(o.blocks, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cases_worked_out_by_hand),
      cmocka_unit_test(several_limits_may_bound),
      cmocka_unit_test(more_use_is_never_more_occupancy),
      cmocka_unit_test(registers_for_launch_bounds),
      cmocka_unit_test(huge_use_does_not_wrap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
