/* Bodies: a FUNCTION block declares its basic blocks and then has their instructions in order; the
 * constants, metadata, names and attachments of the function are in inner blocks. */
#include "frontend/bitcode/bcfunction.h"

#include "frontend/bitcode/bcconstants.h"
#include "frontend/bitcode/bcinsts.h"
#include "frontend/bitcode/bcmeta.h"
#include "frontend/bitcode/bctypes.h"
#include "frontend/bitcode/bcvalues.h"
#include "frontend/insts.h"
#include "frontend/names.h"
#include "ir/function.h"

/* Codes of FUNC_CODE_, VST_CODE_ and METADATA_ of LLVM's LLVMBitCodes.h. */
enum {
  CODE_DECLARE_BLOCKS = 1,
  CODE_LOCATION_AGAIN = 33,
  CODE_LOCATION = 35,
  CODE_BLOCK_ADDRESS_USERS = 60,
};
enum { CODE_NAME = 1, CODE_BLOCK_NAME = 2, CODE_ATTACHMENT = 11 };

bool bcfunction_init(struct reader *r) {
  return (r->function = arena_alloc(&r->p.scratch, sizeof *r->function)) != NULL;
}

/* ---- Adding ---- */

/* Blocks are made when they are first mentioned, as by the text parser: passes that visit blocks by
 * their handles do the same for both forms of a module. */
struct nvm_value bcfunction_block(struct reader *r, uint64_t number) {
  struct bcfunction *t = r->function;
  if (number >= t->block_count) {
    reader_fail(r, "use of an undefined block");
    return VALUE_NULL;
  }
  struct nvm_block *b = &t->blocks.data[number];
  if (b->index == 0) *b = function_add_block(r->p.f, (struct nvm_str){0});
  return b->index ? value_of_block(*b) : VALUE_NULL;
}

/* Goes on with the next declared block, the last one in the layout so far. */
static bool open_block(struct reader *r) {
  struct bcfunction *t = r->function;
  r->p.block = (struct nvm_block){0};
  if (t->block == t->block_count) return true;
  struct nvm_value v = bcfunction_block(r, t->block++);
  r->p.block = (struct nvm_block){value_index(v)};
  if (r->p.f->last_block.index != r->p.block.index)
    function_move_block(r->p.f, r->p.block, (struct nvm_block){0});
  return !value_is_none(v);
}

/* Puts i before the last instruction (a debug record) or at the end of the open block. */
static bool place(struct reader *r, struct nvm_inst_id i, enum op op) {
  struct bcfunction *t = r->function;
  if (op == OP_DBG_RECORD) {
    if (t->insts.count == 0) return reader_fail(r, "a debug record without an instruction");
    inst_insert_before(r->p.f, i, t->insts.data[t->insts.count - 1]);
    return true;
  }
  if (r->p.block.index == 0) return reader_fail(r, "an instruction after the last block");
  inst_append(r->p.f, i, r->p.block);
  if (!VEC_PUSH(&r->p.scratch, &t->insts, i)) return false;
  return !op_is_terminator(op) || open_block(r);
}

bool bcfunction_add(struct reader *r, enum op op, uint32_t flags, struct nvm_type type,
                    const struct nvm_value *operands, uint32_t count, uint32_t aux) {
  struct nvm_function *f = r->p.f;
  if (r->p.refused || type.index == 0) return false;
  for (uint32_t i = 0; i < count; i++)
    if (value_is_none(operands[i]) || !bcconstants_use(r, operands[i])) return false;
  if (!reader_spend(r, bctypes_length(r, type))) return false;
  struct nvm_inst_id i = function_add_inst(f, op, (uint16_t)flags, type, operands, count, aux);
  if (i.index == 0 || !place(r, i, op)) return false;
  f->positions.data[i.index] = reader_place(r);
  if (r->p.saw_forward) insts_note_forwards(&r->p, i);
  if (type_equal(type, TYPE_VOID)) return true;
  return bcvalues_define(r, value_of_inst(i));
}

/* ---- Locations ---- */

static bool set_location(struct reader *r) {
  struct bcfunction *t = r->function;
  if (t->insts.count == 0) return reader_fail(r, "a location without an instruction");
  r->p.f->locations.data[t->insts.data[t->insts.count - 1].index] = t->location;
  return true;
}

static bool read_location(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 4)) return false;
  if (s->numbers[2] == 0 || s->numbers[2] > UINT32_MAX || s->numbers[3] > UINT32_MAX)
    return reader_fail(r, "a location without a scope");
  struct meta_location l = {.line = (uint32_t)s->numbers[0],
                            .column = (uint32_t)s->numbers[1],
                            .scope = (uint32_t)s->numbers[2] - 1,
                            .inlined_at = (uint32_t)s->numbers[3],
                            .implicit = s->count > 4 && s->numbers[4]};
  if (s->count > 6) l.group = (s->numbers[5] & (UINT64_MAX >> 8)) | s->numbers[6] << 56;
  r->function->location = bcmeta_location(r, &l);
  return r->function->location.index != 0 && set_location(r);
}

/* ---- Names and attachments ---- */

static bool name_value(struct reader *r, struct nvm_value v, struct nvm_str name) {
  struct nvm_function *f = r->p.f;
  if (value_kind(v) == VALUE_INST) {
    f->names.data[value_index(v)] = name;
  } else if (value_kind(v) == VALUE_ARG) {
    size_t bytes = function_arg_count(f) * sizeof *f->arg_names;
    if (!f->arg_names) f->arg_names = arena_alloc(&r->p.m->arena, bytes);
    if (!f->arg_names) return false;
    f->arg_names[value_index(v)] = name;
  }
  return true;
}

static bool read_name(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1)) return false;
  uint64_t number = s->numbers[0];
  struct nvm_str name = reader_string(r, s, 1);
  if (s->code == CODE_BLOCK_NAME) {
    struct nvm_value b = bcfunction_block(r, number);
    if (value_is_none(b)) return false;
    r->p.f->blocks.data[value_index(b)].name = name;
    return true;
  }
  if (s->code != CODE_NAME) return true;
  if (number >= r->value_count) return reader_fail(r, "a name for an undefined value");
  return name_value(r, r->values.data[number], name);
}

/* An even count: attachments of the function; else those of the instruction with that number. */
static bool read_attachment(struct reader *r, const struct bits_record *s) {
  struct nvm_function *f = r->p.f;
  if (s->code != CODE_ATTACHMENT) return true;
  uint32_t k = s->count % 2, inst = 0;
  if (k && s->numbers[0] >= r->function->insts.count)
    return reader_fail(r, "an attachment to an undefined instruction");
  if (k) inst = r->function->insts.data[s->numbers[0]].index;
  for (; k < s->count; k += 2) {
    struct nvm_str kind = bcmeta_kind(r, s->numbers[k]);
    struct nvm_meta node = bcmeta_node(r, s->numbers[k + 1]);
    if (kind.index == 0 || node.index == 0) return false;
    if (inst && text_is(module_text(r->p.m, kind), "dbg")) f->locations.data[inst] = node;
    else if (!module_attach(r->p.m, inst ? &f->attachments.data[inst] : &f->symbol.attachments,
                            kind, node))
      return false;
  }
  return true;
}

/* ---- The block ---- */

static bool declare_blocks(struct reader *r, const struct bits_record *s) {
  if (!reader_needs(r, s, 1)) return false;
  uint64_t left = r->bits.end - r->bits.at;
  if (r->function->block_count || s->numbers[0] == 0 || s->numbers[0] > left)
    return reader_fail(r, "the number of blocks is out of range");
  r->function->blocks.count = 0;
  if (!VEC_ROOM(&r->p.scratch, &r->function->blocks, s->numbers[0])) return false;
  memset(r->function->blocks.data, 0, s->numbers[0] * sizeof *r->function->blocks.data);
  r->function->block_count = (uint32_t)s->numbers[0];
  return open_block(r);
}

static bool read_record(struct reader *r, const struct bits_record *s) {
  r->p.saw_forward = false;
  switch (s->code) {
    case CODE_DECLARE_BLOCKS: return declare_blocks(r, s);
    case CODE_LOCATION: return read_location(r, s);
    case CODE_LOCATION_AGAIN: return set_location(r);
    case CODE_BLOCK_ADDRESS_USERS: return true;
    default: return bcinsts_read(r, s);
  }
}

static bool read_inner(struct reader *r, uint32_t id) {
  switch (id) {
    case BLOCK_CONSTANTS: return bcconstants_read(r);
    case BLOCK_METADATA: return bcmeta_read(r);
    case BLOCK_NAMES: return reader_block(r, read_name);
    case BLOCK_ATTACHMENTS: return reader_block(r, read_attachment);
    default: return reader_skip(r);
  }
}

static bool read_body(struct reader *r) {
  struct bits_record s;
  enum bits_event event;
  while ((event = reader_next(r, &s)) != BITS_END) {
    if (event == BITS_ERROR) return false;
    if (event == BITS_BLOCK ? !read_inner(r, s.code) : !read_record(r, &s)) return false;
  }
  if (r->function->block_count == 0 || r->p.block.index)
    return reader_fail(r, "the last block of a function has no terminator");
  return true;
}

/* The next function that has a body: bodies are in the order of the definitions. */
static const struct stream_symbol *next_definition(struct reader *r) {
  while (r->next_body < r->symbols.count) {
    const struct stream_symbol *y = &r->symbols.data[r->next_body++];
    if (y->has_body) return y;
  }
  reader_fail(r, "the body of an undeclared function");
  return NULL;
}

/* Reserves room as for a body of instructions of some 40 bits. */
static bool reserve(struct reader *r) {
  uint64_t bits = r->bits.end - r->bits.at;
  return function_reserve(r->p.f, bits / 64 + 2, bits / 32 + 2);
}

static bool read_function(struct reader *r) {
  struct bcfunction *t = r->function;
  t->block_count = t->block = t->insts.count = 0;
  t->bundles.count = t->bundle_values.count = 0;
  t->location = (struct nvm_meta){0};
  r->p.block = (struct nvm_block){0};
  names_begin_function(&r->p);
  for (uint32_t i = 0; i < function_arg_count(r->p.f); i++)
    if (!bcvalues_define(r, value_of_arg(i))) return false;
  if (!reader_enter(r) || !reserve(r)) return false;
  t->end = r->bits.end;
  return read_body(r);
}

bool bcfunction_read(struct reader *r) {
  const struct stream_symbol *y = next_definition(r);
  uint32_t count = r->value_count;
  if (!y) return false;
  r->p.f = module_function(r->p.m, y->value);
  bool read = read_function(r) && bcvalues_truncate(r, count);
  if (read) names_end_function(&r->p);
  bcmeta_end_function(r);
  r->p.f = NULL;
  return read && !r->p.refused;
}
