/* expand-masked: masked vector accesses become accesses of single lanes under conditions.
 *
 * Purpose:   loop vectorizers of other compilers write llvm.masked.load, .store, .gather and
 * .scatter, and llvm.get.active.lane.mask for their masks; PTX has no masked access of several
 * lanes. Algorithm: lane by lane: a constant mask decides at once; any other branches around the
 * lane's access, and a phi holds the vector so far. Lane k of the mask of (base, n) is k < n -
 * base, saturated, for base + k does not wrap. Requires:  nothing; runs before all passes, in
 * modules that name such an intrinsic. Preserves: nothing. Cost:      linear in lanes. Omits: lanes
 * that are not whole bytes, expandload and compressstore: codegen refuses them by name. Tests:
 * check/opt/expand-masked.nvir, exec/masked.nvir. */
#include "opt/memory/expand_masked.h"

#include "ir/intrinsic.h"
#include "opt/cfg/cfg.h"
#include "opt/rewrite.h"

struct access {
  struct nvm_function *f;
  struct nvm_inst_id call;               /* what is expanded; the lanes' code comes before it */
  struct nvm_value mask, pointer, value; /* value: what is stored, or the vector loaded so far */
  struct nvm_type lane;
  uint64_t count, bytes; /* of lanes, of a lane */
  uint32_t align_log2;   /* of memory_access */
  bool stores;
};

static bool is_expanded(uint32_t intrinsic) {
  return intrinsic == INTRINSIC_masked_load || intrinsic == INTRINSIC_masked_store ||
         intrinsic == INTRINSIC_masked_gather || intrinsic == INTRINSIC_masked_scatter ||
         intrinsic == INTRINSIC_get_active_lane_mask;
}

static struct nvm_value located(const struct access *a, struct nvm_inst_id i,
                                struct nvm_block end) {
  if (inst_is_none(i)) return VALUE_NULL;
  a->f->locations.data[i.index] = a->f->locations.data[a->call.index];
  a->f->positions.data[i.index] = a->f->positions.data[a->call.index];
  if (block_is_none(end)) inst_insert_before(a->f, i, a->call);
  else inst_append(a->f, i, end);
  return value_of_inst(i);
}

/* A new instruction at the end of block `end`; {0}: before the call. */
static struct nvm_value emit(const struct access *a, struct nvm_block end, enum op op,
                             struct nvm_type type, const struct nvm_value *operands, uint32_t count,
                             uint32_t aux) {
  return located(a, function_add_inst(a->f, op, 0, type, operands, count, aux), end);
}

static struct nvm_value index_of(const struct access *a, uint64_t k) {
  return const_int(a->f->module, TYPE_I64, k);
}

static struct nvm_value lane_of(const struct access *a, struct nvm_block end,
                                struct nvm_value vector, struct nvm_type type, uint64_t k) {
  if (value_kind(vector) == VALUE_CONST) {
    struct nvm_value element = const_element(a->f->module, vector, k);
    if (!value_is_none(element)) return element;
  }
  return emit(a, end, OP_EXTRACTELEMENT, type, (struct nvm_value[]){vector, index_of(a, k)}, 2, 0);
}

static struct nvm_value lane_address(const struct access *a, struct nvm_block end, uint64_t k) {
  struct nvm_type type = value_type(a->f, a->pointer);
  const struct type_table *t = &a->f->module->types;
  if (type_is_vector(t, type)) return lane_of(a, end, a->pointer, type_scalar(t, type), k);
  if (k == 0) return a->pointer;
  return emit(a, end, OP_GEP, type, (struct nvm_value[]){a->pointer, index_of(a, k * a->bytes)}, 2,
              TYPE_I8.index);
}

/* The access of lane k; returns the vector with it. */
static struct nvm_value access_lane(const struct access *a, struct nvm_block end, uint64_t k) {
  uint32_t align = a->align_log2, offset = k ? (uint32_t)__builtin_ctzll(k * a->bytes) + 1 : align;
  bool contiguous = !type_is_vector(&a->f->module->types, value_type(a->f, a->pointer));
  struct memory_access how = {.align_log2 = (contiguous && offset < align ? offset : align) & 63};
  struct nvm_value at = lane_address(a, end, k);
  if (a->stores) {
    struct nvm_value v = lane_of(a, end, a->value, a->lane, k);
    emit(a, end, OP_STORE, TYPE_VOID, (struct nvm_value[]){v, at}, 2, memory_access_pack(how));
    return a->value;
  }
  struct nvm_value v = emit(a, end, OP_LOAD, a->lane, &at, 1, memory_access_pack(how));
  return emit(a, end, OP_INSERTELEMENT, value_type(a->f, a->value),
              (struct nvm_value[]){a->value, v, index_of(a, k)}, 3, 0);
}

static bool jump(const struct access *a, struct nvm_block from, struct nvm_block to) {
  struct nvm_value target = value_of_block(to);
  return !value_is_none(emit(a, from, OP_BR, TYPE_VOID, &target, 1, 0));
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
  struct nvm_value branch[3] = {condition, value_of_block(taken), value_of_block(rest)};
  emit(a, before, OP_CONDBR, TYPE_VOID, branch, 3, 0);
  struct nvm_value with = access_lane(a, taken, k);
  if (!jump(a, taken, rest) || a->stores) return a->stores;
  struct nvm_value entries[4] = {with, value_of_block(taken), a->value, value_of_block(before)};
  a->value = emit(a, (struct nvm_block){0}, OP_PHI, value_type(a->f, a->value), entries, 4, 0);
  return !value_is_none(a->value);
}

static bool expand_access(struct access *a) {
  for (uint64_t k = 0; k < a->count; k++) {
    nvm_u128 bit;
    struct nvm_value condition = lane_of(a, (struct nvm_block){0}, a->mask, TYPE_I1, k);
    if (!const_is_int(a->f->module, condition, &bit)) {
      if (!guard_lane(a, condition, k)) return false;
    } else if (bit) {
      a->value = access_lane(a, (struct nvm_block){0}, k);
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
  struct nvm_block here = {0};
  uint32_t width = type_info(&m->types, index)->width;
  struct nvm_value any =
      emit(a, here, OP_ICMP, TYPE_I1, (struct nvm_value[]){base, n}, 2, ICMP_ULT);
  struct nvm_value left = emit(a, here, OP_SUB, index, (struct nvm_value[]){n, base}, 2, 0);
  left =
      emit(a, here, OP_SELECT, index, (struct nvm_value[]){any, left, const_zero(m, index)}, 3, 0);
  struct nvm_value mask = const_zero(m, type);
  for (uint64_t k = 0; k < a->count && (width >= 64 || k >> width == 0); k++) {
    struct nvm_value bit = emit(a, here, OP_ICMP, TYPE_I1,
                                (struct nvm_value[]){left, const_int(m, index, k)}, 2, ICMP_UGT);
    mask = emit(a, here, OP_INSERTELEMENT, type, (struct nvm_value[]){mask, bit, index_of(a, k)}, 3,
                0);
  }
  return mask;
}

/* One pointer, or one for each lane. */
static bool are_pointers(const struct access *a) {
  const struct type_table *t = &a->f->module->types;
  struct nvm_type type = value_type(a->f, a->pointer);
  if (type_kind(t, type_scalar(t, type)) != TY_PTR) return false;
  return !type_is_vector(t, type) || type_info(t, type)->count == a->count;
}

/* Fills in what the call's arguments say; false: this one is left to codegen, which refuses it. */
static bool describe(struct access *a, uint32_t intrinsic) {
  struct nvm_module *m = a->f->module;
  const struct nvm_inst *i = function_inst(a->f, a->call);
  nvm_u128 align;
  a->stores = intrinsic == INTRINSIC_masked_store || intrinsic == INTRINSIC_masked_scatter;
  if (call_arg_count(a->f, i) != 4) return false;
  struct nvm_value alignment = inst_operand(a->f, i, a->stores ? 2 : 1);
  a->value = inst_operand(a->f, i, a->stores ? 0 : 3);
  a->pointer = inst_operand(a->f, i, a->stores ? 1 : 0);
  a->mask = inst_operand(a->f, i, a->stores ? 3 : 2);
  struct nvm_type type = value_type(a->f, a->value);
  a->lane = type_scalar(&m->types, type);
  a->bytes = layout_store_size(&m->layout, &m->types, a->lane);
  a->count = type_is_vector(&m->types, type) ? type_info(&m->types, type)->count : 0;
  if (a->count == 0 ||
      !type_equal(value_type(a->f, a->mask), type_vector(&m->types, TYPE_I1, a->count)) ||
      !type_equal(function_inst(a->f, a->call)->type, a->stores ? TYPE_VOID : type) ||
      !are_pointers(a))
    return false;
  bool whole = layout_alloc_size(&m->layout, &m->types, a->lane) == a->bytes &&
               layout_scalar_bits(&m->layout, &m->types, a->lane) == a->bytes * 8;
  if (!whole || !const_is_int(m, alignment, &align)) return false;
  for (; align; align >>= 1) a->align_log2++;
  return true;
}

static bool expand_call(struct nvm_function *f, struct nvm_inst_id call, struct rewrite *r) {
  struct access a = {.f = f, .call = call};
  uint32_t intrinsic = call_intrinsic(f, function_inst(f, call));
  struct nvm_type type = function_inst(f, call)->type;
  if (intrinsic == INTRINSIC_get_active_lane_mask) {
    if (!type_is_vector(&f->module->types, type) ||
        !type_equal(type_scalar(&f->module->types, type), TYPE_I1))
      return true;
    a.count = type_info(&f->module->types, type)->count;
    a.value = active_lanes(&a, type);
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
