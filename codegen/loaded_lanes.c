/* Loads vectors in the form that all readers of their lanes want.
 *
 *   bytes that are extended alike       the vector is extended, so that the load extends (select.c)
 *   bytes that become floats            the same where they are loaded in words: ptxas converts a
 *                                       byte that bfe takes from a word by one instruction
 *   lanes cast alike to a type of as    a vector of that type is loaded, in registers of its class
 *   many bits
 *   an integer that is only stored,     a vector of the bytes or words that the two accesses can
 *   where neither address is aligned    have, so that no integer is assembled and split again
 *
 * A reader of a lane is counted at its load if nothing else reads the lane; where all readers of a
 * load are alike, they become lanes of the changed vector. */
#include "codegen/memory.h"
#include "codegen/stage.h"
#include "analysis/effects.h"
#include "ir/build.h"
#include "ir/evalint.h"

/* By load: its first reader, how many are alike, and what they read instead if all are. By reader:
 * the load, found before anything changes, since a changed reader looks like a lane itself. */
struct readers {
  uint32_t load;
  struct nvm_inst_id first;
  uint32_t count;
  struct nvm_value changed;
};

static uint64_t lane_count_of(const struct nvm_function *f, const struct nvm_inst *load) {
  return type_info(&f->module->types, load->type)->count;
}

static uint32_t lane_bits(const struct nvm_function *f, struct nvm_type type) {
  const struct type_table *t = &f->module->types;
  return layout_scalar_bits(&f->module->layout, t, type_scalar(t, type));
}

/* Whether i is an extension that the load of a vector can do. */
static bool extends_bytes(const struct nvm_function *f, const struct nvm_inst *i,
                          const struct nvm_inst *load) {
  uint64_t max = type_equal(i->type, TYPE_I32)   ? MAX_EXTENDED_BYTES
                 : type_equal(i->type, TYPE_I64) ? MAX_EXTENDED_LANES
                                                 : 0;
  return (i->op == OP_ZEXT || i->op == OP_SEXT) && lane_bits(f, load->type) == 8 &&
         lane_count_of(f, load) <= max;
}

static bool is_int_to_float(const struct nvm_inst *i) {
  return i->op == OP_SITOFP || i->op == OP_UITOFP;
}

/* Whether i makes floats of bytes of a vector that is loaded in words, if it is aligned. */
static bool converts_bytes(const struct nvm_function *f, const struct nvm_inst *i,
                           const struct nvm_inst *load) {
  uint64_t count = lane_count_of(f, load);
  return is_int_to_float(i) && lane_bits(f, load->type) == 8 && count > MAX_EXTENDED_LANES &&
         count <= MAX_EXTENDED_BYTES;
}

/* Whether i reads bits of a lane as a scalar of another type. */
static bool reads_as_other(const struct nvm_function *f, const struct nvm_inst *i,
                           const struct nvm_inst *load) {
  const struct type_table *t = &f->module->types;
  enum type_kind kind = type_kind(t, i->type);
  bool is_scalar = kind == TY_FLOAT || kind == TY_DOUBLE || kind == TY_INT;
  return i->op == OP_BITCAST && is_scalar && lane_bits(f, load->type) == lane_bits(f, i->type) &&
         memory_access_unpack(load->aux).ordering == ORDER_NONE;
}

/* The load of the vector a lane of which `reader`, and nothing else, reads; 0: it is no such. */
static uint32_t load_read_by(const struct nvm_function *f, const struct nvm_inst *reader) {
  nvm_u128 index;
  if (reader->op < OP_FIRST_CAST || reader->op > OP_LAST_CAST) return 0;
  struct nvm_value lane = inst_operand(f, reader, 0);
  const struct nvm_inst *take = value_inst(f, lane);
  if (!take || take->op != OP_EXTRACTELEMENT || f->uses.data[value_index(lane)] != 1 ||
      !const_is_int(f->module, inst_operand(f, take, 1), &index))
    return 0;
  struct nvm_value vector = inst_operand(f, take, 0);
  const struct nvm_inst *load = value_inst(f, vector);
  bool changes = load && load->op == OP_LOAD &&
                 (extends_bytes(f, reader, load) || converts_bytes(f, reader, load) ||
                  reads_as_other(f, reader, load));
  return changes ? value_index(vector) : 0;
}

static void count_reader(struct readers *of, const struct nvm_function *f,
                         struct nvm_inst_id reader) {
  const struct nvm_inst *i = function_inst(f, reader);
  of[reader.index].load = load_read_by(f, i);
  struct readers *x = &of[of[reader.index].load];
  if (x == of) return;
  if (x->count == 0) x->first = reader;
  const struct nvm_inst *first = function_inst(f, x->first);
  if (i->op == first->op && type_equal(i->type, first->type)) x->count++;
}

/* Extends the loaded vector to lanes of type `lane`, as signed if the reader takes them so. */
static struct nvm_value extend_loaded(struct nvm_function *f, struct nvm_inst_id load,
                                      const struct nvm_inst *reader, struct nvm_type lane) {
  struct nvm_type type =
      type_vector(&f->module->types, lane, lane_count_of(f, function_inst(f, load)));
  struct builder after = builder_located(builder_before(f, function_inst(f, load)->next), load);
  bool is_signed = reader->op == OP_SEXT || reader->op == OP_SITOFP;
  return builder_unary(&after, is_signed ? OP_SEXT : OP_ZEXT, type, value_of_inst(load));
}

static void change_load(struct readers *x, struct nvm_function *f, struct nvm_inst_id load) {
  if (x->count == 0 || x->count != f->uses.data[load.index]) return;
  const struct nvm_inst *first = function_inst(f, x->first);
  if (first->op == OP_BITCAST) {
    function_inst(f, load)->type =
        type_vector(&f->module->types, first->type, lane_count_of(f, function_inst(f, load)));
    x->changed = value_of_inst(load);
  } else {
    x->changed = extend_loaded(f, load, first, is_int_to_float(first) ? TYPE_I32 : first->type);
  }
}

/* The reader becomes a lane of the changed vector, or, if it makes a float, reads one. */
static void read_changed(const struct readers *of, struct nvm_function *f,
                         struct nvm_inst_id reader) {
  const struct readers *x = &of[of[reader.index].load];
  if (value_is_none(x->changed)) return;
  struct nvm_value lane = inst_operand(f, function_inst(f, reader), 0);
  if (is_int_to_float(function_inst(f, reader))) {
    inst_set_operand(f, value_inst_id(lane), 0, x->changed);
    function_inst(f, value_inst_id(lane))->type = TYPE_I32;
    return;
  }
  struct nvm_value index = inst_operand(f, value_inst(f, lane), 1);
  inst_set_operand(f, reader, 0, x->changed);
  if (!inst_add_operand(f, reader, index)) return;
  function_inst(f, reader)->op = OP_EXTRACTELEMENT;
  function_inst(f, reader)->flags = 0;
  inst_remove(f, (struct nvm_inst_id){value_index(lane)});
}

/* Extends a loaded vector if i, its only reader, makes floats of all lanes. */
static void extend_converted(struct nvm_function *f, struct nvm_inst_id id) {
  const struct nvm_inst *i = function_inst(f, id);
  struct nvm_value v = is_int_to_float(i) ? inst_operand(f, i, 0) : VALUE_NULL;
  const struct nvm_inst *load = value_inst_of(f, v, OP_LOAD);
  if (!load || f->uses.data[value_index(v)] != 1 || !converts_bytes(f, i, load)) return;
  inst_set_operand(f, id, 0, extend_loaded(f, value_inst_id(v), i, TYPE_I32));
}

/* The alignment in bytes that a plain access of an integer states; 0 for other accesses. */
static uint32_t stated_align(const struct nvm_function *f, const struct nvm_inst *i,
                             struct nvm_type type) {
  const struct nvm_module *m = f->module;
  if (!type_is_int(&m->types, type) || !effects_is_plain_access(i)) return 0;
  return layout_written_align(&m->layout, &m->types, type, memory_access_unpack(i->aux).align_log2);
}

/* Writes the alignment, in bytes, which the access stated for another type. */
static void write_align(struct nvm_function *f, struct nvm_inst_id id, uint32_t bytes) {
  struct memory_access how = memory_access_unpack(function_inst(f, id)->aux);
  how.align_log2 = (evalint_log2(bytes) + 1) & 63;
  function_inst(f, id)->aux = memory_access_pack(how);
}

/* If i stores an integer that is loaded for it, and both accesses are narrower than it. */
static void copy_in_units(struct nvm_function *f, struct nvm_inst_id id) {
  struct type_table *t = &f->module->types;
  const struct nvm_inst *i = function_inst(f, id);
  struct nvm_value v = i->op == OP_STORE ? inst_operand(f, i, 0) : VALUE_NULL;
  const struct nvm_inst *load = value_inst_of(f, v, OP_LOAD);
  if (!load || f->uses.data[value_index(v)] != 1) return;
  uint32_t from = stated_align(f, load, load->type), to = stated_align(f, i, load->type),
           unit = from < to ? from : to, bits = type_scalar_bits(t, load->type);
  if ((unit != 1 && unit != 4) || bits <= unit * 8 || bits > 64 || (bits & (bits - 1))) return;
  struct nvm_type units = type_vector(t, type_int(t, unit * 8), bits / (unit * 8));
  function_inst(f, value_inst_id(v))->type = units;
  write_align(f, value_inst_id(v), from);
  write_align(f, id, to);
}

bool loaded_lanes_change(struct nvm_function *f, struct arena *arena) {
  uint32_t count = f->insts.count;
  struct readers *of = arena_alloc(arena, count * sizeof *of);
  if (!of) return false;
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) count_reader(of, f, i);
  for (uint32_t i = 1; i < count; i++) change_load(&of[i], f, (struct nvm_inst_id){i});
  FOR_EACH_BLOCK (f, b)
    FOR_EACH_INST (f, b, i) {
      if (i.index < count) read_changed(of, f, i);
      extend_converted(f, i);
      copy_in_units(f, i);
    }
  return !module_out_of_memory(f->module);
}
