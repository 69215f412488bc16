/* Executing recipes of loads and stores: lane by lane, or a group with as few and as wide accesses
 * as alignment allows. */
#include "opt/vectorize/execute.h"

#include "analysis/effects.h"

/* Copies metadata that holds for the wide access if it does for the elements. Scopes declared in
 * the loop hold within one iteration. */
static void copy_metadata(struct executor *x, struct nvm_inst_id from, struct nvm_value to) {
  effects_copy_access_metadata(x->v->f, (struct nvm_inst_id){value_index(to)}, from,
                               !x->v->declares_scopes);
}

/* The alignment of a piece as an access records it. */
static uint32_t piece_access(const struct access_group *g, struct access_piece piece) {
  uint32_t bytes = piece.elements > 1 || g->aligned_elements ? piece.elements * g->bytes : 1;
  uint32_t log2 = 0;
  while (UINT32_C(1) << log2 < bytes) log2++;
  return memory_access_pack((struct memory_access){.align_log2 = (log2 + 1) & 63});
}

/* The address of a single access: an offset from the pointer, or computed. */
static struct nvm_value access_address(struct executor *x, const struct vp_recipe *r, uint32_t part,
                                       uint32_t lane) {
  const struct vector_access *a = &x->v->accesses.data[r->access];
  uint32_t pointer = vplan_operand(x->p, r, r->operand_count - 1);
  if (vplan_recipe(x->p, pointer)->kind != VP_POINTER) {
    bool own = r->step == 0 || part + lane == 0; /* others are relative to lane 0 */
    struct nvm_value first = x_lane(x, pointer, own ? part : 0, own ? lane : 0);
    return own ? first : x_advance(x, first, x_number(x, TYPE_I64, vplan_steps(r->step, lane)));
  }
  int64_t offset = r->offset + (int64_t)(part * x->factor + lane) * a->step;
  return x_advance(x, *x_lane_slot(x, pointer, 0, 0), x_number(x, TYPE_I64, offset));
}

void execute_lane_access(struct executor *x, uint32_t n, uint32_t part, uint32_t lane) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  struct nvm_inst old = *vl_inst(x->v, r->inst);
  struct nvm_value operands[2], *slot = x_lane_slot(x, n, part, lane);
  uint32_t count = 0;
  if (r->kind == VP_STORE) operands[count++] = x_lane(x, vplan_operand(x->p, r, 0), part, lane);
  operands[count++] = access_address(x, r, part, lane);
  if (r->align && part + lane == 0) {
    struct memory_access how = memory_access_unpack(old.aux);
    how.align_log2 = (uint32_t)__builtin_ctz(r->align) + 1;
    old.aux = memory_access_pack(how);
  }
  struct nvm_value made = x_emit(x, (enum op)old.op, old.flags, old.type, operands, count, old.aux);
  if (x->p->nested) x_copy_attachments(x, r->inst, made);
  else if (!x->failed) copy_metadata(x, r->inst, made);
  if (r->kind == VP_LOAD) *slot = made;
}

/* Emits the access in a block of its own, executed if the mask is true. */
static void access_masked(struct executor *x, uint32_t n, uint32_t part, uint32_t lane) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  bool store = r->kind == VP_STORE;
  struct nvm_value mask = x_lane(x, r->mask, part, lane);
  if (store) x_lane(x, vplan_operand(x->p, r, 0), part, lane);
  struct nvm_block from = x->block;
  struct nvm_block then = x_block(x, store ? "pred.store.if" : "pred.load.if");
  struct nvm_block after = x_block(x, store ? "pred.store.continue" : "pred.load.continue");
  if (x->failed) return;
  x_branch(x, mask, then, after);
  x->block = then;
  execute_lane_access(x, n, part, lane);
  x_jump(x, after);
  x->block = after;
  if (store || x->failed) return;
  struct nvm_value *slot = x_lane_slot(x, n, part, lane);
  struct nvm_value operands[4] = {*slot, value_of_block(then),
                                  const_poison(x->v->f->module, r->type), value_of_block(from)};
  *slot = x_emit(x, OP_PHI, 0, r->type, operands, 4, 0);
}

static void do_lane_accesses(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  uint32_t parts = r->uniform ? 1 : x->count, lanes = r->uniform ? 1 : x->factor;
  for (uint32_t part = 0; part < parts; part++)
    for (uint32_t lane = 0; lane < lanes; lane++)
      if (r->mask) access_masked(x, n, part, lane);
      else execute_lane_access(x, n, part, lane);
}

/* Finds a recipe from `from` on that accesses the element at `offset`, and the lane over all
 * parts. */
static bool find_member(const struct executor *x, uint32_t group, int64_t offset, uint32_t *recipe,
                        uint32_t *lane, uint32_t from) {
  const struct access_group *g = &x->v->groups.data[group];
  for (uint32_t n = from; n < x->p->recipes.count; n++) {
    const struct vp_recipe *r = vplan_recipe(x->p, n);
    if (!vplan_is_access(r) || r->group != group) continue;
    int64_t distance = offset - x->v->accesses.data[r->access].offset;
    if (distance % g->step || distance / g->step < 0 ||
        distance / g->step >= (int64_t)(x->factor * x->count))
      continue;
    *recipe = n, *lane = (uint32_t)(distance / g->step);
    return true;
  }
  return false;
}

static struct nvm_type piece_type(const struct executor *x, const struct access_group *g,
                                  uint32_t elements) {
  return elements == 1 ? g->type : type_vector(&x->v->f->module->types, g->type, elements);
}

/* Whether the piece is exactly one part of one member. */
static bool is_whole_part(const struct executor *x, uint32_t group, struct access_piece piece,
                          uint32_t *recipe, uint32_t *part) {
  const struct access_group *g = &x->v->groups.data[group];
  uint32_t lane;
  if (piece.elements != x->factor || g->step != (int64_t)g->bytes) return false;
  for (uint32_t from = 1; find_member(x, group, piece.offset, recipe, &lane, from);
       from = *recipe + 1) {
    *part = lane / x->factor;
    if (lane % x->factor == 0) return true;
  }
  return false;
}

static void load_piece(struct executor *x, uint32_t group, struct access_piece piece,
                       struct nvm_value address) {
  const struct access_group *g = &x->v->groups.data[group];
  struct nvm_value whole =
      x_emit(x, OP_LOAD, 0, piece_type(x, g, piece.elements), &address, 1, piece_access(g, piece));
  if (x->failed) return;
  if (g->count == 1) copy_metadata(x, x->v->accesses.data[g->first].inst, whole);
  uint32_t recipe, lane, part;
  if (x->factor > 1 && is_whole_part(x, group, piece, &recipe, &part))
    *x_vector_slot(x, recipe, part) = whole;
  for (uint32_t k = 0; k < piece.elements; k++)
    for (uint32_t from = 1;
         find_member(x, group, piece.offset + (int64_t)k * g->bytes, &recipe, &lane, from);
         from = recipe + 1) {
      bool has_vector =
          x->factor > 1 && !value_is_none(*x_vector_slot(x, recipe, lane / x->factor));
      struct nvm_value *slot = x_lane_slot(x, recipe, lane / x->factor, lane % x->factor);
      if (!has_vector) *slot = piece.elements == 1 ? whole : x_extract(x, whole, k);
    }
}

static void store_piece(struct executor *x, uint32_t group, struct access_piece piece,
                        struct nvm_value address) {
  const struct access_group *g = &x->v->groups.data[group];
  struct nvm_type type = piece_type(x, g, piece.elements);
  struct nvm_value whole = const_poison(x->v->f->module, type);
  uint32_t from[VECTORIZE_MAX_LANES], lane_of[VECTORIZE_MAX_LANES], recipe, lane;
  bool whole_part = x->factor > 1 && piece.elements == x->factor;
  for (uint32_t k = 0; k < piece.elements && !x->failed; k++) {
    from[k] = lane_of[k] = 0;
    /* Of two stores to one element the later counts. */
    for (uint32_t n = 1;
         find_member(x, group, piece.offset + (int64_t)k * g->bytes, &recipe, &lane, n);
         n = recipe + 1)
      if (!from[k] || lane >= lane_of[k]) from[k] = recipe, lane_of[k] = lane;
    x->failed |= !from[k];
    whole_part &= from[k] == from[0] && lane_of[k] == lane_of[0] + k && lane_of[0] % x->factor == 0;
  }
  if (x->failed) return;
  if (whole_part) {
    whole =
        x_vector(x, vplan_operand(x->p, vplan_recipe(x->p, from[0]), 0), lane_of[0] / x->factor);
  } else {
    for (uint32_t k = 0; k < piece.elements; k++) {
      struct nvm_value element = x_lane(x, vplan_operand(x->p, vplan_recipe(x->p, from[k]), 0),
                                        lane_of[k] / x->factor, lane_of[k] % x->factor);
      whole = piece.elements == 1 ? element : x_insert(x, whole, element, k);
    }
  }
  struct nvm_value operands[2] = {whole, address};
  struct nvm_value made = x_emit(x, OP_STORE, 0, TYPE_VOID, operands, 2, piece_access(g, piece));
  if (!x->failed && g->count == 1) copy_metadata(x, x->v->accesses.data[g->first].inst, made);
}

/* Emits the accesses of a group at its first load or last store. */
static void do_group(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  const struct access_group *g = &x->v->groups.data[r->group];
  for (uint32_t k = 1; k < x->p->recipes.count; k++) {
    const struct vp_recipe *other = vplan_recipe(x->p, k);
    bool member = vplan_is_access(other) && other->group == r->group;
    if (member && (g->is_store ? k > n : k < n)) return;
  }
  struct access_piece pieces[MAX_PIECES];
  uint32_t width = accesses_width(x->v, g, x->factor * x->count);
  if (width > x->width) width = x->width > g->bytes ? x->width : g->bytes;
  uint32_t count = accesses_pieces(x->v, r->group, x->factor * x->count, width, pieces);
  int64_t from_pointer =
      r->offset - x->v->accesses.data[r->access].offset; /* of the group's offset 0 */
  struct nvm_value pointer = *x_lane_slot(x, vplan_operand(x->p, r, r->operand_count - 1), 0, 0);
  for (uint32_t k = 0; k < count && !x->failed; k++) {
    struct nvm_value bytes = x_number(x, TYPE_I64, pieces[k].offset + from_pointer);
    struct nvm_value address = x_advance(x, pointer, bytes);
    if (g->is_store) store_piece(x, r->group, pieces[k], address);
    else load_piece(x, r->group, pieces[k], address);
  }
}

void execute_access(struct executor *x, uint32_t n) {
  const struct vp_recipe *r = vplan_recipe(x->p, n);
  if (r->group == VP_NO_GROUP || r->mask) do_lane_accesses(x, n);
  else do_group(x, n);
}
