/* The instruction table of ptx/ops.def: texts of ops, modifiers and special registers, and the
 * operands of an op with its modifiers. An op is the text before the first dot (`ld`, `cp`,
 * `mbarrier`); the rest are modifiers (`.async`, `.bulk`, `.init`). In enumerators `::` becomes one
 * underscore (PTX_MOD_SHARED_CTA). PTX_MOD_NAN is the comparison `.nan`, PTX_MOD_NAN_RESULT the
 * `.NaN` of min and max. */
#ifndef NVM_PTX_OPS_H
#define NVM_PTX_OPS_H

#include "ptx_ops.h"
#include "target/requirement.h"

struct ptx_op_row {
  const char *text; /* "cp" */
  uint8_t length;
  uint8_t issue;  /* enum ptx_issue unless a form has its own */
  bool ranged;    /* an operand has a range */
  uint16_t state; /* start state of the walk over the modifiers */
};

struct ptx_mod_row {
  const char *text; /* ".shared::cta" */
  uint8_t length;
  uint16_t bits; /* of a type; 0: not a type */
  char kind;     /* of a type: 'u' 's' 'b' integer, 'f' float, 'x' packed, 'p' predicate */
};

struct ptx_special_row {
  const char *text; /* "%tid.x" */
  uint8_t length;
  uint16_t type; /* enum ptx_mod */
  uint16_t need; /* index of ptx_need() */
};

/* The type of a shape if `type` is below 0: by position among the instruction's type modifiers. */
enum ptx_shape_type {
  PTX_TYPE_LAST = -1,
  PTX_TYPE_1 = -2,
  PTX_TYPE_2 = -3,
  PTX_TYPE_3 = -4,
  PTX_TYPE_4 = -5,
  PTX_TYPE_WIDE = -6, /* twice the width of the first */
};

/* What an operand may be. */
struct ptx_shape {
  uint8_t kind;  /* enum ptx_shape_kind */
  uint8_t count; /* VECTOR: elements; 0: as .v2 .v4 .v8 says; 255: any number */
  uint8_t range; /* of ptx_bounds(); 0: any literal of the type */
  bool dest;
  bool relaxed;  /* a register may be wider than the type */
  bool selected; /* the register has a selector, as %r1.h0 */
  int16_t type;  /* enum ptx_mod, or enum ptx_shape_type */
};

/* The integer literals that an operand may be: low, low + step, ... or low, low * 2, ... high. */
struct ptx_bounds {
  int32_t low, high, step;
  bool doubles;
};

/* One row of the table: an op with some modifiers and what goes with them. */
struct ptx_form {
  uint16_t first_shape;
  uint8_t shape_count; /* all operands, destinations first */
  uint8_t dest_count;
  uint8_t min_count; /* required operands */
  uint8_t issue;     /* enum ptx_issue */
  uint16_t need;     /* index of ptx_need() */
  uint16_t line;     /* in ops.def */
};

struct ptx_step {
  uint16_t mod, state, need;
};

/* A state of the automaton over modifiers: the words that may follow, and the forms that end here.
 * */
struct ptx_state {
  uint32_t first_step;
  uint16_t first_form; /* into the accept table */
  uint16_t step_count;
  uint16_t form_count;
};

/* Rows by enum ptx_op, enum ptx_mod, enum ptx_special; index 0 is an empty row. */
const struct ptx_op_row *ptx_op_row(uint16_t op);
const struct ptx_mod_row *ptx_mod_row(uint16_t mod);
const struct ptx_special_row *ptx_special_row(uint32_t special);
/* "alu", "mem": as in ops.def. */
const char *ptx_issue_name(enum ptx_issue issue);

/* By text: of ops "ld", of modifiers ".f32", of special registers "%tid.x". 0 if there is none. */
enum ptx_op ptx_find_op(const char *text, size_t length);
enum ptx_mod ptx_find_mod(const char *text, size_t length);
enum ptx_special ptx_find_special(const char *text, size_t length);

/* The state after `mod` in `state`, and the need of that word (0: none); NULL if it is not allowed
 * there. */
const struct ptx_step *ptx_step(uint16_t state, uint16_t mod);
/* A state by number: ptx_op_row()->state or ptx_step()->state. */
const struct ptx_state *ptx_state(uint16_t state);
/* The i-th of its steps, in the order of enum ptx_mod. */
const struct ptx_step *ptx_state_step(const struct ptx_state *state, uint32_t i);
/* The i-th form that ends in the state. */
const struct ptx_form *ptx_state_form(const struct ptx_state *state, uint32_t i);
/* The form's shape_count shapes, one per operand. */
const struct ptx_shape *ptx_form_shapes(const struct ptx_form *form);
/* A range by number, not 0. */
const struct ptx_bounds *ptx_bounds(uint8_t range);
/* A requirement by number; 0 needs nothing. */
const struct tgt_requirement *ptx_need(uint16_t need);

#endif
