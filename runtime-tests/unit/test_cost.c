/* The cost hooks: seed 1's table, and the orders between costs that passes rely on. */
#include "target/cost.h"
#include "target/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct nvm_target target_of(const char *name, const char *features) {
  struct tgt_options options = tgt_default_options();
  struct nvm_target target;
  assert_int_equal(tgt_set_cpu(&options, name, strlen(name), NULL), TGT_OK);
  assert_int_equal(tgt_parse_features(&options, features, strlen(features), NULL), TGT_OK);
  assert_int_equal(tgt_init(&target, &options, NULL), TGT_OK);
  return target;
}

static const struct cost_type i8 = {TGT_INTEGER, 8, 1}, i32 = {TGT_INTEGER, 32, 1},
                              i64 = {TGT_INTEGER, 64, 1}, f16 = {TGT_HALF, 16, 1},
                              bf16 = {TGT_BFLOAT, 16, 1}, f32 = {TGT_FLOAT, 32, 1},
                              f64 = {TGT_DOUBLE, 64, 1};

static struct cost_type vector(struct cost_type element, uint32_t lanes) {
  element.lanes = lanes;
  return element;
}

static void seed_1_s_hook_table(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90a", "");
  assert_int_equal(cost_register_bit_width(true), 32);
  assert_int_equal(cost_register_bit_width(false), 32);
  assert_false(cost_supports_scalable_vectors());
  assert_int_equal(cost_issue_width(&t), 4);
  static const struct {
    enum tgt_operation_index operation;
    cost narrow, wide_least, wide_most; /* i32; i64 */
  } rows[] = {
      {TGT_OPERATION_ADD, 1, 2, 2},
      {TGT_OPERATION_MULTIPLY, 1, 4, 4},
      {TGT_OPERATION_SHIFT, 1, 2, 3},
      {TGT_OPERATION_DIVIDE, 18, 60, 1000},
      {TGT_OPERATION_REMAINDER, 17, 60, 1000},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cost wide = cost_arithmetic(&t, rows[i].operation, i64, COST_SIZE);
    assert_int_equal(cost_arithmetic(&t, rows[i].operation, i32, COST_SIZE), rows[i].narrow);
    assert_true(wide >= rows[i].wide_least && wide <= rows[i].wide_most);
  }
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_ADD, i8, COST_SIZE), 1);
}

/* Hand, sm_90: 4 * 32 = 128 lanes issued a cycle; f32 128 a cycle: 1 slot; i32 64: 2; f64 64: 2;
 * special 16: 8. */
static void throughput_is_in_issue_slots(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90", "");
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_ADD, f32, COST_THROUGHPUT), 1);
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_ADD, i32, COST_THROUGHPUT), 2);
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_ADD, i64, COST_THROUGHPUT), 4);
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_ADD, f64, COST_THROUGHPUT), 2);
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_SPECIAL, f32, COST_THROUGHPUT), 16);
  t = target_of("sm_89", ""); /* f64 2 a cycle */
  assert_int_equal(cost_arithmetic(&t, TGT_OPERATION_ADD, f64, COST_THROUGHPUT), 64);
}

static void pairs_cost_half(void **state) {
  (void)state;
  struct nvm_target hopper = target_of("sm_90", ""), ampere = target_of("sm_80", "");
  struct nvm_target datacenter = target_of("sm_100", ""), consumer = target_of("sm_120", "");
  struct nvm_target old_ptx = target_of("sm_103", "+ptx88"), fermi = target_of("sm_20", "");
  assert_int_equal(cost_arithmetic(&hopper, TGT_OPERATION_FMA, vector(f16, 8), COST_SIZE), 4);
  assert_int_equal(cost_arithmetic(&hopper, TGT_OPERATION_ADD, vector(bf16, 2), COST_SIZE), 1);
  assert_int_equal(cost_arithmetic(&ampere, TGT_OPERATION_ADD, vector(bf16, 2), COST_SIZE), 2);
  assert_int_equal(cost_arithmetic(&hopper, TGT_OPERATION_ADD, vector(f32, 2), COST_SIZE), 2);
  assert_int_equal(cost_arithmetic(&datacenter, TGT_OPERATION_ADD, vector(f32, 2), COST_SIZE), 1);
  assert_int_equal(cost_arithmetic(&old_ptx, TGT_OPERATION_ADD, vector(f32, 3), COST_SIZE), 2);
  assert_int_equal(cost_arithmetic(&consumer, TGT_OPERATION_ADD, vector(f32, 2), COST_SIZE), 2);
  assert_false(cost_has_packed_pair(&fermi, TGT_HALF));
  assert_int_equal(cost_arithmetic(&hopper, TGT_OPERATION_DIVIDE, vector(f16, 2), COST_SIZE), 20);
}

static void division_follows_the_precision(void **state) {
  (void)state;
  cost last = 0;
  for (int level = 0; level < 3; level++) {
    char feature[] = "+prec-divf32=0";
    feature[13] = (char)('0' + level);
    struct nvm_target t = target_of("sm_90", feature);
    cost now = cost_arithmetic(&t, TGT_OPERATION_DIVIDE, f32, COST_SIZE);
    assert_true(now > last);
    last = now;
  }
  struct nvm_target rough = target_of("sm_90", "+prec-sqrtf32=0"), exact = target_of("sm_90", "");
  assert_true(cost_arithmetic(&rough, TGT_OPERATION_SQRT, f32, COST_SIZE) <
              cost_arithmetic(&exact, TGT_OPERATION_SQRT, f32, COST_SIZE));
  assert_int_equal(cost_arithmetic(&rough, TGT_OPERATION_SQRT, f64, COST_SIZE),
                   cost_arithmetic(&exact, TGT_OPERATION_SQRT, f64, COST_SIZE));
}

static void wide_accesses_are_cheaper_than_narrow_ones(void **state) {
  (void)state;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    struct nvm_target t = target_of(tgt_cpus()[i].name, "");
    cost scalar = cost_memory(&t, f32, 1, 4, COST_THROUGHPUT);
    cost pair = cost_memory(&t, vector(f32, 2), 1, 8, COST_THROUGHPUT);
    cost four = cost_memory(&t, vector(f32, 4), 1, 16, COST_THROUGHPUT);
    cost split = cost_memory(&t, vector(f32, 4), 1, 4, COST_THROUGHPUT);
    assert_true(scalar < pair && pair < 2 * scalar);
    assert_true(pair < four && four < 2 * pair);
    assert_int_equal(split, 4 * scalar);
  }
}

static void accesses_are_as_wide_as_alignment_allows(void **state) {
  (void)state;
  struct nvm_target hopper = target_of("sm_90", ""), blackwell = target_of("sm_100", "");
  struct nvm_target old_ptx = target_of("sm_100", "+ptx86");
  assert_int_equal(cost_memory_accesses(&hopper, vector(f32, 4), 1, 16), 1);
  assert_int_equal(cost_memory_accesses(&hopper, vector(f32, 4), 1, 8), 2);
  assert_int_equal(cost_memory_accesses(&hopper, vector(f32, 4), 1, 1), 16);
  assert_int_equal(cost_memory_accesses(&hopper, vector(i8, 16), 1, 16), 1);
  assert_int_equal(cost_memory_accesses(&hopper, vector(f32, 8), 1, 32), 2);
  assert_int_equal(cost_memory_accesses(&blackwell, vector(f32, 8), 1, 32), 1);
  assert_int_equal(cost_memory_accesses(&blackwell, vector(f32, 8), 3, 32), 2);
  assert_int_equal(cost_memory_accesses(&old_ptx, vector(f32, 8), 1, 32), 2);
  assert_int_equal(cost_memory_accesses(&hopper, vector(i8, 3), 1, 4), 2);
  assert_int_equal(cost_memory_accesses(&hopper, (struct cost_type){TGT_INTEGER, 1, 1}, 1, 1), 1);
}

static void latencies_rise_with_distance(void **state) {
  (void)state;
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    struct nvm_target t = target_of(tgt_cpus()[i].name, "");
    const struct tgt_number *n = tgt_latency_of(t.cpu->generation)->number;
    assert_true(n[TGT_WAIT_INTEGER].value > 0);
    assert_true(n[TGT_WAIT_INTEGER].value <= n[TGT_WAIT_SHARED].value);
    assert_true(n[TGT_WAIT_SHARED].value <= n[TGT_WAIT_L1].value);
    assert_true(n[TGT_WAIT_L1].value < n[TGT_WAIT_L2].value);
    assert_true(n[TGT_WAIT_L2].value < n[TGT_WAIT_DRAM].value);
    assert_true(cost_load_latency(&t, 3) < cost_load_latency(&t, 1));
  }
}

/* Hand, sm_90, 256 threads: 40 registers allow 6 blocks; 6 blocks allow 40 registers; none spare.
 * 64 allow 4, and 4 allow 64. With 1024 threads and 40 registers: 1 block, up to 64: 24 spare. */
static void interleaving_keeps_occupancy(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90", "");
  struct occupancy_use full = {256, 40, 0, 0}, roomy = {1024, 40, 0, 0}, never = {2000, 40, 0, 0};
  assert_int_equal(cost_max_interleave_factor(&t, &full, 4, false), 1);
  assert_int_equal(cost_max_interleave_factor(&t, &roomy, 3, false), 8);
  assert_int_equal(cost_max_interleave_factor(&t, &roomy, 3, true), 4);
  assert_int_equal(cost_max_interleave_factor(&t, &roomy, 8, false), 4);
  assert_int_equal(cost_max_interleave_factor(&t, &roomy, 24, false), 2);
  assert_int_equal(cost_max_interleave_factor(&t, &roomy, 25, false), 1);
  assert_int_equal(cost_max_interleave_factor(&t, &never, 1, false), 1);
  assert_int_equal(cost_max_interleave_factor(&t, &roomy, UINT32_MAX, false), 1);
}

static void casts_lanes_and_shuffles(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90", "");
  assert_int_equal(cost_of_cast(&t, COST_TRUNCATE, i64, i32, COST_SIZE), 0);
  assert_int_equal(cost_of_cast(&t, COST_ZERO_EXTEND, i32, i64, COST_SIZE), 0);
  assert_int_equal(cost_of_cast(&t, COST_ZERO_EXTEND, i8, i32, COST_SIZE), 1);
  assert_int_equal(cost_of_cast(&t, COST_SIGN_EXTEND, i32, i64, COST_SIZE), 1);
  assert_int_equal(cost_of_cast(&t, COST_BITCAST, i32, f32, COST_THROUGHPUT), 0);
  assert_int_equal(cost_of_cast(&t, COST_CONVERT, i32, f32, COST_THROUGHPUT), 2);
  assert_int_equal(cost_of_cast(&t, COST_CONVERT, i32, f64, COST_THROUGHPUT), 8);
  assert_int_equal(cost_shuffle(&t, vector(f32, 4), COST_SIZE), 0);
  assert_int_equal(cost_shuffle(&t, vector(i8, 16), COST_SIZE), 4);
}

/* Tree over 8 floats: 4 + 2 + 1 adds; over 8 halves: pairs, 2 + 1 + 1 adds and 2 + 1 + 1 prmt. */
static void reductions(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90", "");
  enum tgt_operation_index add = TGT_OPERATION_ADD;
  assert_int_equal(cost_reduction(&t, add, vector(f32, 8), false, COST_SIZE), 7);
  assert_int_equal(cost_reduction(&t, add, vector(f32, 8), true, COST_SIZE), 7);
  assert_int_equal(cost_reduction(&t, add, vector(f32, 8), false, COST_LATENCY), 3 * 4);
  assert_int_equal(cost_reduction(&t, add, vector(f32, 8), true, COST_LATENCY), 7 * 4);
  assert_int_equal(cost_reduction(&t, add, vector(f16, 8), false, COST_SIZE), 8);
  assert_int_equal(cost_reduction(&t, add, vector(f32, 1), false, COST_SIZE), 0);
  assert_int_equal(cost_reduction(&t, add, vector(f32, 0), true, COST_SIZE), 0);
}

static void branches_and_calls(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90", "");
  assert_int_equal(cost_branch(&t, false, COST_SIZE), 1);
  assert_int_equal(cost_branch(&t, true, COST_SIZE), 3);
  assert_true(cost_call(&t, 6, COST_SIZE) > cost_call(&t, 0, COST_SIZE));
}

static void costs_saturate(void **state) {
  (void)state;
  struct nvm_target t = target_of("sm_90", "");
  assert_true(cost_add(COST_MAX, 1) == COST_MAX);
  assert_true(cost_add(COST_MAX - 1, 1) == COST_MAX);
  assert_true(cost_add(COST_MAX, COST_MAX) == COST_MAX);
  assert_int_equal(cost_times(COST_MAX, 0), 0);
  assert_true(cost_times(2, UINT64_MAX) == COST_MAX);
  assert_true(cost_times(COST_MAX, 2) == COST_MAX);
  struct cost_type huge = vector((struct cost_type){TGT_INTEGER, 128, 1}, UINT32_MAX);
  cost divided = cost_arithmetic(&t, TGT_OPERATION_DIVIDE, huge, COST_THROUGHPUT);
  assert_true(divided > 0);
  assert_true(cost_times(divided, UINT32_MAX) == COST_MAX);
  assert_true(cost_arithmetic(&t, TGT_OPERATION_LOGIC, f32, COST_SIZE) == COST_MAX);
  assert_int_equal(cost_memory_accesses(&t, huge, 1, 1), UINT32_MAX);
}

/* Every operation has a cost for the types it means something for, by every measure. */
static void every_number_is_there(void **state) {
  (void)state;
  static const enum tgt_operation_index all[] = {TGT_OPERATION_ADD,    TGT_OPERATION_MULTIPLY,
                                                 TGT_OPERATION_DIVIDE, TGT_OPERATION_COMPARE,
                                                 TGT_OPERATION_SELECT, TGT_OPERATION_MINIMUM};
  const struct cost_type types[] = {i8, i32, i64, {TGT_INTEGER, 128, 1}, f16, bf16, f32, f64};
  for (int i = 0; i < TGT_CPU_COUNT; i++) {
    struct nvm_target t = target_of(tgt_cpus()[i].name, "");
    for (size_t o = 0; o < sizeof all / sizeof all[0]; o++)
      for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        for (int m = 0; m < 3; m++) {
          cost c = cost_arithmetic(&t, all[o], types[k], (enum cost_measure)m);
          assert_true(c > 0 && c < 100000);
        }
    for (int c = 0; c < TGT_CLASS_COUNT; c++)
      assert_true(tgt_throughput_of(t.cpu->generation)->number[c].value > 0 || c == TGT_CLASS_HALF);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seed_1_s_hook_table),
      cmocka_unit_test(throughput_is_in_issue_slots),
      cmocka_unit_test(pairs_cost_half),
      cmocka_unit_test(division_follows_the_precision),
      cmocka_unit_test(wide_accesses_are_cheaper_than_narrow_ones),
      cmocka_unit_test(accesses_are_as_wide_as_alignment_allows),
      cmocka_unit_test(latencies_rise_with_distance),
      cmocka_unit_test(interleaving_keeps_occupancy),
      cmocka_unit_test(casts_lanes_and_shuffles),
      cmocka_unit_test(reductions),
      cmocka_unit_test(branches_and_calls),
      cmocka_unit_test(costs_saturate),
      cmocka_unit_test(every_number_is_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
