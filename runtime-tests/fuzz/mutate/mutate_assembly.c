/* Mutations that add inline assembly: rows of assembly.def, alone or between two operations that
 * other passes pair. */
#include <string.h>

#include "mutator.h"

enum { MAX_OPERANDS = 8 };

static const struct assembly_row {
  const char *text, *constraints, *types;
} rows[] = {
#define ASSEMBLY(text, constraints, types, determined) {text, constraints, types},
#include "assembly.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct nvm_type type_of(const struct mutator *m, char letter) {
  switch (letter) {
    case 's': return TYPE_I16;
    case 'l': return TYPE_I64;
    case 'h': return TYPE_HALF;
    case 'b': return TYPE_BFLOAT;
    case 'f': return TYPE_FLOAT;
    case 'd': return TYPE_DOUBLE;
    case 'p': return type_ptr(&m->m->types, 0);
    default: return TYPE_I32;
  }
}

/* Types of letters up to the colon or the end; returns how many. */
static uint32_t types_of(const struct mutator *m, const char *letters, struct nvm_type *types) {
  uint32_t n = 0;
  while (letters[n] && letters[n] != ':') types[n] = type_of(m, letters[n]), n++;
  return n;
}

struct nvm_value build_assembly(struct mutator *m, struct builder b, const char *text,
                                const char *constraints, bool has_effect, struct nvm_type result,
                                const struct nvm_value *arguments, uint32_t count) {
  struct nvm_type types[MAX_OPERANDS];
  struct nvm_value operands[MAX_OPERANDS + 1];
  for (uint32_t k = 0; k < count; k++) {
    if (value_is_none(arguments[k])) return VALUE_NULL;
    operands[k] = arguments[k];
    types[k] = value_type(m->f, arguments[k]);
  }
  operands[count] = const_asm(m->m, module_str(m->m, text), module_str(m->m, constraints),
                              has_effect ? CONST_ASM_SIDEEFFECT : 0);
  uint32_t site =
      module_call_site(m->m, (struct call_site){.function_type = type_function(
                                                    &m->m->types, result, types, count, false)});
  if (!site || value_is_none(operands[count])) return VALUE_NULL;
  return value_of_inst(builder_insert(&b, OP_CALL, 0, result, operands, count + 1, site));
}

/* A call of a row, with operands that are available; its results get uses. */
static bool insert_row(struct mutator *m, const struct assembly_row *row, struct nvm_inst_id at) {
  struct nvm_type results[MAX_OPERANDS], types[MAX_OPERANDS], result = TYPE_VOID;
  struct nvm_value arguments[MAX_OPERANDS];
  uint32_t result_count = types_of(m, row->types, results);
  uint32_t count = types_of(m, strchr(row->types, ':') + 1, types);
  if (result_count == 1) result = results[0];
  if (result_count > 1) result = type_struct(&m->m->types, results, result_count, false);
  for (uint32_t k = 0; k < count; k++) arguments[k] = pick_value(m, types[k], at);
  bool has_effect = strstr(row->constraints, "memory") ? !once_in(m, 4) : once_in(m, 3);
  struct builder b = builder_replacing(m->f, at);
  struct nvm_value v =
      build_assembly(m, b, row->text, row->constraints, has_effect, result, arguments, count);
  if (value_is_none(v)) return false;
  if (result_count == 1) use_value(m, v, at);
  for (uint32_t k = 0; result_count > 1 && k < result_count; k++) {
    struct nvm_value parts[] = {v, const_int(m->m, TYPE_I32, k)};
    use_value(m, builder_add(&b, OP_EXTRACTVALUE, 0, results[k], parts, 2, 0), at);
  }
  return true;
}

/* Two floats that are rounded to the halves of a register; the second one is what assembly makes of
 * the first. */
static bool insert_rounded_pair(struct mutator *m, struct nvm_inst_id at) {
  static const char *const texts[] = {"add.rn.f32 $0, $0, 0f3F800000;", "foo.f32 $0, $0;"};
  struct nvm_type half = once_in(m, 2) ? TYPE_HALF : TYPE_BFLOAT;
  struct nvm_type pair = type_vector(&m->m->types, half, 2);
  struct builder b = builder_replacing(m->f, at);
  struct nvm_value f = pick_value(m, TYPE_FLOAT, at);
  struct nvm_value g =
      build_assembly(m, b, texts[once_in(m, 4)], "=f,0", once_in(m, 2), TYPE_FLOAT, &f, 1);
  if (value_is_none(g)) return false;
  struct nvm_value low =
      builder_unary(&(struct builder){.f = m->f, .before = value_inst_id(g)}, OP_FPTRUNC, half, f);
  struct nvm_value v = const_poison(m->m, pair);
  v = builder_insert_lane(&b, v, low, 0);
  v = builder_insert_lane(&b, v, builder_unary(&b, OP_FPTRUNC, half, g), 1);
  if (value_is_none(v)) return false;
  use_value(m, v, at);
  return true;
}

/* A load, a conversion to a narrower float, or the second of two. */
static bool is_paired(const struct nvm_function *f, const struct nvm_inst *i) {
  return (i->op == OP_LOAD || i->op == OP_FPTRUNC || i->op == OP_STORE) && inst_is_place(f, i);
}

bool mutate_assembly(struct mutator *m) {
  struct nvm_inst_id at = {0};
  if (once_in(m, 3)) at = pick_inst(m, is_paired);
  if (!at.index) at = pick_inst(m, inst_is_place);
  if (!at.index) return false;
  if (once_in(m, 8)) return insert_rounded_pair(m, at);
  return insert_row(m, &rows[below(m, ROWS)], at);
}
