/* The grammar of PTX text: modules and inline-assembly bodies. Actions are in ptx/parse.c and
 * ptx/parse_names.c; operands and parameters are collected on the parser's stacks, so that values
 * here stay small. */
%define api.pure full
%define api.prefix {ptxyy}
%define api.token.prefix {T_}
%define api.value.type {union ptx_value}
%param {struct ptx_parser *p}
%expect 0

%code requires {
#include "ptx/parse_state.h"
}

%code {
/* The stack does not grow, so nothing but arenas allocates; deeper nesting is an error. */
#define YYINITDEPTH 4000
#define YYMAXDEPTH 4000
#define CHECK(what) do { if (!(what)) YYABORT; } while (0)

static void ptxyyerror(struct ptx_parser *p, const char *message) {
  (void)message;
  parse_syntax_error(p); /* a stack overflow too: the token that is one too many */
}
}

%token MODULE INLINE BAD
%token NAME WORD SELECTOR SPECIAL ARGUMENT INTEGER FLOAT DECIMAL STRING
%token VERSION TARGET ADDRESS_SIZE FILE LOC ALIAS ENTRY FUNC REG ALIGN PTR ATTRIBUTE NORETURN PRAGMA
%token TRIPLE COUNT EXPLICITCLUSTER BLOCKSARECLUSTERS CALLPROTOTYPE BRANCHTARGETS LINKAGE SPACE

%%

start:
  MODULE module
| INLINE statements
;

module:
  %empty
| module top
;

top:
  VERSION DECIMAL { CHECK(parse_version(p, $2.text)); }
| TARGET targets
| ADDRESS_SIZE INTEGER { p->module->address_size = (uint32_t)$2.integer; }
| file
| PRAGMA STRING ';'
| linkage SPACE { parse_variable_begin(p, (uint16_t)$2.number); } variable_words declarators ';'
| function
| ALIAS NAME ',' NAME { CHECK(parse_alias(p, $2.number, $4.number)); } ';'
| ';'
;

targets:
  NAME { CHECK(parse_target(p, $1.number, true)); }
| targets ',' NAME { CHECK(parse_target(p, $3.number, false)); }
;

file:
  FILE INTEGER STRING { CHECK(parse_file(p, $2.integer, $3.text)); }
| FILE INTEGER STRING ',' INTEGER ',' INTEGER { CHECK(parse_file(p, $2.integer, $3.text)); }
;

linkage:
  %empty { p->linkage = 0; }
| linkage LINKAGE { p->linkage = (uint16_t)$2.number; }
;

/* --- variables -------------------------------------------------------------------------------- */

variable_words:
  %empty
| variable_words variable_word
;

variable_word:
  WORD { CHECK(parse_variable_word(p, (uint16_t)$1.number)); }
| SPACE { p->variable.ptr_space = (uint16_t)$1.number; }
| PTR { p->variable.is_ptr = true; }
| ALIGN INTEGER {
    if (p->variable.is_ptr) p->variable.ptr_align = (uint32_t)$2.integer;
    else p->variable.align = (uint32_t)$2.integer;
  }
| ATTRIBUTE '(' WORD ')' {
    CHECK($3.number == PTX_MOD_MANAGED);
    p->variable.managed = true;
  }
;

declarators:
  declarator
| declarators ',' declarator
;

declarator:
  declared { CHECK(parse_variable_end(p)); }
| declared '=' initializer { CHECK(parse_variable_end(p)); }
;

declared:
  NAME { parse_variable_name(p, $1.number); } dimensions
;

dimensions:
  %empty
| dimensions '[' ']' { parse_variable_dimension(p, false, 0); }
| dimensions '[' INTEGER ']' { parse_variable_dimension(p, true, $3.integer); }
;

initializer:
  init_value
| NAME '=' { CHECK(parse_init_property(p, $1.number)); } init_value
| '{' '}'
| '{' initializers '}'
;

initializers:
  initializer
| initializers ',' initializer
;

init_value:
  INTEGER { CHECK(parse_init_number(p, $1.integer)); }
| '-' INTEGER { CHECK(parse_init_number(p, 0 - $2.integer)); }
| float { CHECK(parse_init_float(p, $1.operand)); }
| init_symbol
| INTEGER '(' init_symbol ')' { CHECK(parse_init_mask(p, $1.integer)); }
;

init_symbol:
  NAME addend { CHECK(parse_init_symbol(p, $1.number, false, (int64_t)$2.integer)); }
| NAME '(' NAME ')' addend { CHECK(parse_init_symbol(p, $3.number, true, (int64_t)$5.integer)); }
;

addend:
  %empty { $$.integer = 0; }
| '+' integer { $$.integer = $2.integer; }
| '-' INTEGER { $$.integer = 0 - $2.integer; }
;

integer:
  INTEGER { $$.integer = $1.integer; }
| '-' INTEGER { $$.integer = 0 - $2.integer; }
;

float:
  FLOAT { $$.operand = $1.operand; }
| '-' FLOAT {
    $$.operand = $2.operand;
    $$.operand.imm ^= $$.operand.kind == PTX_OPERAND_F32 ? INT64_C(0x80000000) : INT64_MIN;
  }
| DECIMAL {
    CHECK(parse_decimal(p, $1.text, false, &$$.operand));
  }
| '-' DECIMAL {
    CHECK(parse_decimal(p, $2.text, true, &$$.operand));
  }
;

/* --- functions -------------------------------------------------------------------------------- */

function:
  linkage ENTRY NAME {
    p->parameters.count = p->result_count = 0;
    CHECK(parse_function_begin(p, true, $3.number));
  } parameters performance function_rest
| linkage FUNC noreturn results NAME {
    CHECK(parse_function_begin(p, false, $5.number));
  } parameters performance function_rest
;

noreturn:
  %empty { p->parameters.count = p->result_count = 0; }
| NORETURN { p->parameters.count = p->result_count = 0; p->noreturn = true; }
;

results:
  %empty
| '(' parameter_list ')' { p->result_count = p->parameters.count; }
| '(' ')'
;

parameters:
  %empty
| '(' ')'
| '(' parameter_list ')'
;

parameter_list:
  parameter
| parameter_list ',' parameter
;

parameter:
  SPACE { parse_variable_begin(p, (uint16_t)$1.number); } variable_words declared {
    CHECK(parse_parameter_end(p));
  }
| REG { parse_variable_begin(p, (uint16_t)$1.number); } variable_words declared {
    CHECK(parse_parameter_end(p));
  }
;

performance:
  %empty
| performance TRIPLE INTEGER {
    CHECK(parse_triple(p, $2.number, $3.integer, 1, 1));
  }
| performance TRIPLE INTEGER ',' INTEGER {
    CHECK(parse_triple(p, $2.number, $3.integer, $5.integer, 1));
  }
| performance TRIPLE INTEGER ',' INTEGER ',' INTEGER {
    CHECK(parse_triple(p, $2.number, $3.integer, $5.integer, $7.integer));
  }
| performance COUNT INTEGER {
    uint32_t n = (uint32_t)$3.integer;
    if ($2.number == 0) p->performance.minnctapersm = n;
    else if ($2.number == 1) p->performance.maxnreg = n;
    else if ($2.number == 2) p->performance.maxclusterrank = n;
  }
| performance EXPLICITCLUSTER { p->performance.explicit_cluster = true; }
| performance BLOCKSARECLUSTERS { p->performance.blocks_are_clusters = true; }
| performance NORETURN { p->noreturn = true; }
| performance PRAGMA STRING ';'
;

function_rest:
  ';' { CHECK(parse_function_end(p, false)); }
| '{' { CHECK(parse_body_begin(p)); } statements '}' { CHECK(parse_function_end(p, true)); }
;

/* --- bodies ----------------------------------------------------------------------------------- */

statements:
  %empty
| statements statement
;

statement:
  ';'
| REG WORD { p->variable.type = (uint16_t)$2.number; } registers ';'
| SPACE { p->linkage = 0; parse_variable_begin(p, (uint16_t)$1.number); }
    variable_words declarators ';'
| NAME ':' { CHECK(parse_label(p, $1.number)); }
| NAME ':' BRANCHTARGETS label_list ';' { CHECK(parse_branch_targets(p, $1.number, $4.number)); }
| NAME ':' CALLPROTOTYPE {
    p->parameters.count = p->result_count = 0;
    p->noreturn = false;
  } results NAME parameters prototype_end { CHECK(parse_prototype(p, $1.number)); }
| LOC INTEGER INTEGER INTEGER {
    CHECK(parse_loc(p, (uint64_t[]){$2.integer, $3.integer, $4.integer}, 0, NULL));
  }
| LOC INTEGER INTEGER INTEGER ',' NAME NAME addend ',' NAME INTEGER INTEGER INTEGER {
    CHECK(parse_loc(p, (uint64_t[]){$2.integer, $3.integer, $4.integer}, $7.number,
                   (uint64_t[]){$11.integer, $12.integer, $13.integer, $8.integer}));
  }
| PRAGMA STRING ';' { CHECK(parse_pragma(p, $2.text)); }
| file
| '{' { CHECK(parse_scope_begin(p)); } statements '}' { CHECK(parse_scope_end(p)); }
| instruction
| guard instruction
;

prototype_end:
  ';'
| NORETURN ';' { p->noreturn = true; }
;

registers:
  register
| registers ',' register
;

register:
  NAME { CHECK(parse_reg(p, p->variable.type, $1.number, false, 1)); }
| NAME '<' INTEGER '>' { CHECK(parse_reg(p, p->variable.type, $1.number, true, $3.integer)); }
;

label_list:
  NAME { $$.number = 1; CHECK(parse_push(p, ptx_label(parse_label_of(p, $1.number)))); }
| label_list ',' NAME {
    $$.number = $1.number + 1;
    CHECK(parse_push(p, ptx_label(parse_label_of(p, $3.number))));
  }
;

guard:
  '@' register_operand { CHECK(parse_guard(p, $2.operand, false)); }
| '@' '!' register_operand { CHECK(parse_guard(p, $3.operand, true)); }
;

register_operand:
  NAME { CHECK(parse_name_operand(p, $1.number, &$$.operand)); }
| ARGUMENT { $$.operand = $1.operand; }
;

/* `%r1.h0`; byte 1 and the mask .b32 are spelled like types. */
selected_register:
  register_operand SELECTOR {
    $$.operand = $1.operand;
    CHECK(parse_select(p, &$$.operand, $2.number));
  }
| register_operand WORD { $$.operand = $1.operand; CHECK(parse_select(p, &$$.operand, $2.number)); }
;

instruction:
  mnemonic modifiers ';' { CHECK(parse_instruction(p, 0)); }
| mnemonic modifiers operands ';' { CHECK(parse_instruction(p, $3.number)); }
;

mnemonic:
  NAME { CHECK(parse_mnemonic(p, $1.number)); }
;

modifiers:
  %empty
| modifiers modifier { CHECK(VEC_PUSH(&p->scratch, &p->mods, (uint16_t)$2.number)); }
;

modifier:
  WORD { $$.number = $1.number; }
| SPACE { $$.number = $1.number; }
| LINKAGE { $$.number = $1.number; }
;

operands:
  operand { $$.number = 1; CHECK(parse_push(p, $1.operand)); }
| operands ',' operand { $$.number = $1.number + 1; CHECK(parse_push(p, $3.operand)); }
;

operand:
  simple { $$.operand = $1.operand; }
| pair_part '|' pair_part {
    CHECK(parse_push(p, $1.operand) && parse_push(p, $3.operand));
    CHECK(parse_group(p, PTX_OPERAND_PAIR, 2, &$$.operand));
  }
| '[' operands ']' { CHECK(parse_address(p, $2.number, &$$.operand)); }
| '{' operands '}' { CHECK(parse_group(p, PTX_OPERAND_VECTOR, $2.number, &$$.operand)); }
| '(' operands ')' { CHECK(parse_group(p, PTX_OPERAND_LIST, $2.number, &$$.operand)); }
| '(' ')' { CHECK(parse_group(p, PTX_OPERAND_LIST, 0, &$$.operand)); }
;

pair_part:
  register_operand { $$.operand = $1.operand; }
;

simple:
  register_operand { $$.operand = $1.operand; }
| selected_register { $$.operand = $1.operand; }
| '-' selected_register { $$.operand = $2.operand; $$.operand.negated = true; }
| register_operand '+' integer {
    $$.operand = $1.operand;
    CHECK(parse_offset(p, &$$.operand, (int64_t)$3.integer));
  }
| register_operand '+' '+' INTEGER {
    $$.operand = $1.operand;
    CHECK(parse_offset(p, &$$.operand, (int64_t)$4.integer));
  }
| register_operand '-' INTEGER {
    $$.operand = $1.operand;
    CHECK(parse_offset(p, &$$.operand, (int64_t)(0 - $3.integer)));
  }
| register_operand '+' argument {
    $$.operand = $1.operand;
    CHECK($3.operand.kind == PTX_OPERAND_INT && parse_offset(p, &$$.operand, $3.operand.imm));
  }
| '!' register_operand { $$.operand = $2.operand; $$.operand.negated = !$$.operand.negated; }
| '-' register_operand {
    $$.operand = $2.operand;
    if ($$.operand.kind == PTX_OPERAND_INT)
      $$.operand.imm = (int64_t)(0 - (uint64_t)$$.operand.imm);
    else $$.operand.negated = !$$.operand.negated;
  }
| SPECIAL { $$.operand = ptx_special_reg($1.number); }
| integer { $$.operand = ptx_i((int64_t)$1.integer); }
| '~' INTEGER { $$.operand = ptx_i((int64_t)~$2.integer); }
| float { $$.operand = $1.operand; }
;

argument:
  ARGUMENT { $$.operand = $1.operand; }
;

%%
