/* expand-masked: masked vector accesses become accesses of single lanes under conditions; other
 * intrinsics of vectors become extracts and inserts of lanes.
 *
 * Purpose:   loop vectorizers of other compilers write llvm.masked.load, .store, .gather and
 *            .scatter, and llvm.get.active.lane.mask for their masks; PTX has no masked access of
 *            several lanes. Libraries of vectors write llvm.vector.extract and the like
 *            (expand_vectors.c).
 * Algorithm: lane by lane: a lane of the mask that is constant decides at compile time; any other
 *            one guards the access by a branch, and a phi merges the vector. Lane k of the mask of
 *            (base, n) is k < n - base, saturated, because base + k does not wrap.
 * Requires:  nothing; runs before all passes, in modules that name such an intrinsic.
 * Preserves: nothing.
 * Cost:      linear in lanes.
 * Omits:     lanes that are not whole bytes, expandload, compressstore: codegen refuses them.
 * Tests:     check/opt/expand-masked.nvir, exec/masked.nvir. */
#include "opt/memory/expand_masked.h"

#include "ir/build.h"
#include "opt/cfg/cfg.h"
#include "opt/rewrite.h"

struct access {
  struct nvm_function *f;
  struct nvm_inst_id call;               /* is expanded; the code of its lanes precedes it */
  struct nvm_value mask, pointer, value; /* value: the vector to store, or the one loaded so far */
  struct nvm_type lane;
  uint64_t count, bytes; /* of lanes, of a lane */
  uint32_t align_log2;   /* of memory_access */
  bool stores;
};

static bool is_expanded(uint32_t intrinsic) {
  return intrinsic == INTRINSIC_masked_load || intrinsic == INTRINSIC_masked_store ||
         intrinsic == INTRINSIC_masked_gather || intrinsic == INTRINSIC_masked_scatter ||
         intrinsic == INTRINSIC_get_active_lane_mask || expand_vector_is_known(intrinsic);
}

static struct nvm_value index_of(const struct access *a, uint64_t k) {
  return const_int(a->f->module, TYPE_I64, k);
}

static struct nvm_value lane_of(const struct access *a, const struct builder *b,
                                struct nvm_value vector, struct nvm_type type, uint64_t k) {
  struct nvm_value operands[2] = {vector, index_of(a, k)};
  return builder_add(b, OP_EXTRACTELEMENT, 0, type, operands, 2, 0);
}

static struct nvm_value with_lane(const struct access *a, const struct builder *b,
                                  struct nvm_value vector, struct nvm_value v, uint64_t k) {
  struct nvm_value operands[3] = {vector, v, index_of(a, k)};
  return builder_add(b, OP_INSERTELEMENT, 0, value_type(a->f, vector), operands, 3, 0);
}

/* The access of lane k; returns the vector with it. */
static struct nvm_value access_lane(const struct access *a, const struct builder *b, uint64_t k) {
  const struct type_table *t = &a->f->module->types;
  struct nvm_type type = value_type(a->f, a->pointer);
  bool gathers = type_is_vector(t, type);
  uint32_t align = a->align_log2, offset = k ? (uint32_t)__builtin_ctzll(k * a->bytes) + 1 : align;
  struct memory_access how = {.align_log2 = (!gathers && offset < align ? offset : align) & 63};
  struct nvm_value at = gathers ? lane_of(a, b, a->pointer, type_scalar(t, type), k)
                                : builder_offset(b, a->pointer, (int64_t)(k * a->bytes));
  if (a->stores) {
    builder_store(b, lane_of(a, b, a->value, a->lane, k), at, memory_access_pack(how));
    return a->value;
  }
  return with_lane(a, b, a->value, builder_load(b, a->lane, at, memory_access_pack(how)), k);
}

/* `if (condition) access`, and a phi of the vector. */
static bool guard_lane(struct access *a, struct nvm_value condition, uint64_t k) {
  struct nvm_block before = function_inst(a->f, a->call)->block;
  struct nvm_block taken = function_add_block(a->f, (struct nvm_str){0}),
                   rest = function_add_block(a->f, (struct nvm_str){0});
  if (block_is_none(taken) || block_is_none(rest)) return false;
  function_move_block(a->f, taken, function_block(a->f, before)->next);
  function_move_block(a->f, rest, function_block(a->f, taken)->next);
  cfg_move_rest(a->f, a->call, rest);
  struct builder at_branch = builder_located(builder_at_end(a->f, before), a->call);
  struct builder in_taken = builder_located(builder_at_end(a->f, taken), a->call);
  struct builder at_call = builder_replacing(a->f, a->call);
  builder_condbranch(&at_branch, condition, taken, rest);
  struct nvm_value with = access_lane(a, &in_taken, k);
  builder_branch(&in_taken, rest);
  if (a->stores) return !module_out_of_memory(a->f->module);
  struct nvm_value entries[4] = {with, value_of_block(taken), a->value, value_of_block(before)};
  a->value = builder_phi(&at_call, value_type(a->f, a->value), entries, 4);
  return !value_is_none(a->value);
}

static bool expand_access(struct access *a) {
  for (uint64_t k = 0; k < a->count; k++) {
    nvm_u128 bit;
    struct builder b = builder_replacing(a->f, a->call);
    struct nvm_value condition = lane_of(a, &b, a->mask, TYPE_I1, k);
    if (!const_is_int(a->f->module, condition, &bit)) {
      if (!guard_lane(a, condition, k)) return false;
    } else if (bit) {
      a->value = access_lane(a, &b, k);
    }
  }
  return true;
}

/* The mask of get.active.lane.mask(base, n). */
static struct nvm_value active_lanes(const struct access *a, struct nvm_type type) {
  struct nvm_module *m = a->f->module;
  const struct nvm_inst *i = function_inst(a->f, a->call);
  struct nvm_value base = inst_operand(a->f, i, 0), n = inst_operand(a->f, i, 1);
  struct nvm_type index = value_type(a->f, base);
  struct builder b = builder_replacing(a->f, a->call);
  uint32_t width = type_info(&m->types, index)->width;
  struct nvm_value any = builder_icmp(&b, ICMP_ULT, base, n);
  struct nvm_value left =
      builder_select(&b, any, builder_binary(&b, OP_SUB, n, base), const_zero(m, index));
  struct nvm_value mask = const_zero(m, type);
  for (uint64_t k = 0; k < a->count && (width >= 64 || k >> width == 0); k++)
    mask = with_lane(a, &b, mask, builder_icmp(&b, ICMP_UGT, left, const_int(m, index, k)), k);
  return mask;
}

/* Whether the address is one pointer, or one for each lane. */
static bool are_pointers(const struct access *a) {
  const struct type_table *t = &a->f->module->types;
  struct nvm_type type = value_type(a->f, a->pointer);
  if (type_kind(t, type_scalar(t, type)) != TY_PTR) return false;
  return !type_is_vector(t, type) || type_info(t, type)->count == a->count;
}

/* Reads the call's arguments; false if codegen is to refuse the call. */
static bool describe(struct access *a, uint32_t intrinsic) {
  struct nvm_module *m = a->f->module;
  const struct nvm_inst *i = function_inst(a->f, a->call);
  nvm_u128 align;
  a->stores = intrinsic == INTRINSIC_masked_store || intrinsic == INTRINSIC_masked_scatter;
  uint32_t arguments = call_arg_count(a->f, i), at = a->stores ? 1 : 0;
  bool has_align = arguments == 4; /* LLVM 21 and earlier; later it is an attribute */
  if (!has_align && arguments != 3) return false;
  a->value = inst_operand(a->f, i, a->stores ? 0 : arguments - 1);
  a->pointer = inst_operand(a->f, i, at);
  a->mask = inst_operand(a->f, i, at + 1 + has_align);
  struct nvm_type type = value_type(a->f, a->value);
  a->lane = type_scalar(&m->types, type);
  a->bytes = layout_store_size(&m->layout, &m->types, a->lane);
  a->count = type_is_vector(&m->types, type) ? type_info(&m->types, type)->count : 0;
  if (a->count == 0 || a->count > EXPAND_MAX_LANES ||
      !type_equal(value_type(a->f, a->mask), type_vector(&m->types, TYPE_I1, a->count)) ||
      !type_equal(function_inst(a->f, a->call)->type, a->stores ? TYPE_VOID : type) ||
      !are_pointers(a))
    return false;
  bool whole = layout_alloc_size(&m->layout, &m->types, a->lane) == a->bytes &&
               layout_scalar_bits(&m->layout, &m->types, a->lane) == a->bytes * 8;
  if (!has_align) align = call_argument_align(a->f, i, at);
  else if (!const_is_int(m, inst_operand(a->f, i, at + 1), &align)) return false;
  if (!whole) return false;
  for (; align; align >>= 1) a->align_log2++;
  return true;
}

static bool expand_call(struct nvm_function *f, struct nvm_inst_id call, struct rewrite *r) {
  struct access a = {.f = f, .call = call};
  uint32_t intrinsic = call_intrinsic(f, function_inst(f, call));
  struct nvm_type type = function_inst(f, call)->type;
  if (intrinsic == INTRINSIC_get_active_lane_mask) {
    if (!type_is_vector(&f->module->types, type) ||
        !type_equal(type_scalar(&f->module->types, type), TYPE_I1) ||
        type_info(&f->module->types, type)->count > EXPAND_MAX_LANES)
      return true;
    a.count = type_info(&f->module->types, type)->count;
    a.value = active_lanes(&a, type);
  } else if (expand_vector_is_known(intrinsic)) {
    a.value = expand_vector(f, call, intrinsic);
    if (value_is_none(a.value)) return !module_out_of_memory(f->module);
  } else if (!describe(&a, intrinsic)) {
    return true;
  } else if (!expand_access(&a)) {
    return false;
  }
  if (a.stores) inst_remove(f, call);
  else rewrite_set(r, call, a.value);
  return !value_is_none(a.value);
}

static bool expand_function(struct nvm_function *f, struct arena *arena) {
  struct rewrite r;
  uint32_t count = f->insts.count;
  if (!rewrite_init(&r, f, arena)) return false;
  for (uint32_t k = 1; k < count; k++) {
    const struct nvm_inst *i = &f->insts.data[k];
    if (i->op == OP_CALL && !block_is_none(i->block) && is_expanded(call_intrinsic(f, i)) &&
        !expand_call(f, (struct nvm_inst_id){k}, &r))
      return false;
  }
  rewrite_apply(&r);
  return !f->module->arena.failed;
}

bool expand_masked(struct nvm_module *m) {
  struct arena arena;
  bool any = false, ok = true;
  for (uint32_t n = 1; n < m->functions.count && !any; n++)
    any = is_expanded(m->functions.data[n]->intrinsic);
  arena_init(&arena, m->arena.allocator);
  for (uint32_t n = 1; n < m->functions.count && any && ok; n++)
    if (!function_is_declaration(m->functions.data[n]))
      ok = expand_function(m->functions.data[n], &arena);
  arena_free(&arena);
  return ok;
}
