/* ir/pack.h: a packed body takes little memory and comes back as it was. */
#include "ir_fixture.h"

#include "ir/constant.h"
#include "ir/metadata.h"
#include "ir/pack.h"

enum { COUNT = 3000 };

/* Blocks out of order, instructions put before older ones, a phi whose operands moved to the end of
 * the pool, removed instructions and a removed block, and numbers of all sizes. */
static struct nvm_function *new_body(struct nvm_module *m) {
  struct nvm_function *f = new_function(m, "f", TYPE_I32, &TYPE_I32, 1, true);
  struct nvm_block last = function_add_block(f, module_str(m, "last")),
                   gone = function_add_block(f, (struct nvm_str){0}), first = f->entry;
  struct nvm_value one = const_int(m, TYPE_I32, 1), x[] = {value_of_arg(0), one};
  struct nvm_inst_id phi = emit(f, last, OP_PHI, TYPE_I32, 0, x, 0), i = phi;
  emit(f, gone, OP_ADD, TYPE_I32, 2, x, 0);
  for (uint32_t k = 0; k < COUNT; k++) {
    x[0] = k % 7 ? value_of_inst(i) : value_of_arg(0);
    i = emit(f, k % 2 ? first : last, k % 3 ? OP_ADD : OP_SUB, k % 5 ? TYPE_I32 : TYPE_I64, 2, x,
             k % 11 ? 0 : k * UINT32_C(0x01010101));
    function_inst(f, i)->flags = k % 13 ? 0 : INST_NSW;
    f->positions.data[i.index] = k % 17 ? k : UINT32_MAX - k;
    f->locations.data[i.index].index = k / 19;
    f->attachments.data[i.index] = k % 23 ? 0 : k;
    if (k % 29 == 0) f->names.data[i.index] = module_str(m, "name");
  }
  for (int k = 0; k < 3; k++) phi_add(f, phi, one, first);
  inst_unlink(f, i);
  inst_insert_before(f, i, function_block(f, first)->first);
  function_move_block(f, last, first);
  function_remove_block(f, gone);
  inst_unlink(f, (struct nvm_inst_id){3});
  inst_remove(f, (struct nvm_inst_id){10});
  return f;
}

static void *copy_of(const void *data, size_t bytes) {
  void *copy = malloc(bytes);
  assert_non_null(copy);
  return memcpy(copy, data, bytes);
}

#define TABLES(DO) \
  DO(insts) DO(operands) DO(uses) DO(names) DO(locations) DO(attachments) DO(positions)

static void expect_blocks(const struct nvm_function *f, const struct nvm_block_info *old) {
  for (uint32_t k = 1; k < f->blocks.count; k++) {
    const struct nvm_block_info *b = &f->blocks.data[k];
    assert_int_equal(b->first.index, old[k].first.index);
    assert_int_equal(b->last.index, old[k].last.index);
    assert_int_equal(b->previous.index, old[k].previous.index);
    assert_int_equal(b->next.index, old[k].next.index);
    assert_int_equal(b->name.index, old[k].name.index);
    assert_int_equal(b->removed, old[k].removed);
  }
}

static void comes_back_as_it_was(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m), old = *f;
  struct arena scratch;
  arena_init(&scratch, nvm_default_allocator);
#define SAVE(table) old.table.data = copy_of(f->table.data, f->table.count * sizeof *f->table.data);
  TABLES(SAVE)
  old.blocks.data = copy_of(f->blocks.data, f->blocks.count * sizeof *f->blocks.data);
  assert_true(pack_function(f, &scratch));
  assert_int_equal(f->insts.count, 1);
  assert_false(function_is_declaration(f));
  assert_true(f->packed.length < 20 * COUNT);
  assert_true(pack_restore(f));
  assert_int_equal(f->packed.length, 0);
#define COMPARE(table)                                                 \
  assert_int_equal(f->table.count, old.table.count);                   \
  assert_memory_equal(f->table.data + 1, old.table.data + 1,           \
                      (old.table.count - 1) * sizeof *old.table.data); \
  free(old.table.data);
  TABLES(COMPARE)
  assert_int_equal(f->blocks.count, old.blocks.count);
  expect_blocks(f, old.blocks.data);
  free(old.blocks.data);
  assert_int_equal(f->entry.index, old.entry.index);
  assert_int_equal(f->last_block.index, old.last_block.index);
  assert_int_equal(f->removed, old.removed);
  assert_int_equal(f->removed_blocks, old.removed_blocks);
  assert_true(pack_restore(f)); /* not packed: no change */
  assert_int_equal(f->insts.count, old.insts.count);
  arena_free(&scratch);
  module_destroy(m);
}

static void operands_can_be_read_alone(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct arena scratch;
  uint32_t count, bare;
  arena_init(&scratch, nvm_default_allocator);
  assert_ptr_equal(pack_operands(f, &scratch, &bare), f->operands.data);
  struct nvm_value *old = copy_of(f->operands.data, bare * sizeof *old);
  assert_true(pack_function(f, &scratch));
  const struct nvm_value *operands = pack_operands(f, &scratch, &count);
  assert_int_equal(count, bare);
  assert_memory_equal(operands, old, count * sizeof *old);
  assert_true(f->packed.length > 0);
  free(old);
  arena_free(&scratch);
  module_destroy(m);
}

static void a_packed_body_can_be_dropped(void **state) {
  (void)state;
  struct nvm_module *m = new_module();
  struct nvm_function *f = new_body(m);
  struct arena scratch;
  arena_init(&scratch, nvm_default_allocator);
  assert_true(pack_function(f, &scratch));
  function_drop_body(f);
  assert_int_equal(f->packed.length, 0);
  assert_true(function_is_declaration(f));
  assert_true(pack_restore(f));
  assert_int_equal(f->insts.count, 1);
  arena_free(&scratch);
  module_destroy(m);
}

/* Packs and restores; the n-th allocation of these fails, and all later ones. */
static bool survives_failure(uint32_t n) {
  struct failing_allocator memory = {0};
  struct nvm_module *m = module_create(failing_allocator(&memory), 0);
  struct nvm_function *f = new_body(m);
  struct arena scratch;
  uint32_t count = f->insts.count, operands;
  arena_init(&scratch, failing_allocator(&memory));
  memory.fail_at = memory.calls + n;
  bool packed = pack_function(f, &scratch), done = packed;
  assert_int_equal(f->insts.count, packed ? 1 : count);
  done = done && pack_operands(f, &scratch, &operands) != NULL;
  done = done && pack_restore(f);
  assert_int_equal(f->packed.length > 0, packed && !done);
  arena_free(&scratch);
  module_destroy(m);
  assert_int_equal(memory.live_blocks, 0);
  return done;
}

static void out_of_memory_at_every_call(void **state) {
  (void)state;
  uint32_t n = 1;
  while (!survives_failure(n)) n++;
  assert_true(n > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comes_back_as_it_was),
      cmocka_unit_test(operands_can_be_read_alone),
      cmocka_unit_test(a_packed_body_can_be_dropped),
      cmocka_unit_test(out_of_memory_at_every_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
