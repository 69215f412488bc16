/* The grammar of NVVM IR's text.
 *
 * A value is a `literal` until its type is known (values.c). Names may be used before they are
 * defined (names.c). Lists are left-recursive and kept on the parser's own stacks, so that a
 * million elements need no bison stack. After an error the scanner skips to the next statement or
 * definition and returns T_RESYNC, or T_RESYNC_TOP for a definition inside a body. */
%require "3.8"
%define api.pure full
%define api.prefix {nvir_}
%define api.token.prefix {T_}
%define api.token.raw
%define api.value.type {union nvir_value}
%define parse.error custom
%param {struct parser *p}

%code {
#include "frontend/attrs.h"
#include "frontend/insts.h"
#include "frontend/lexer.h"
#include "frontend/names.h"
#include "frontend/nodes.h"
#include "frontend/report.h"
#include "frontend/symbols.h"
#include "frontend/syntax_error.h"
#include "frontend/types.h"
#include "frontend/values.h"

#include "parser.h"

/* bison's stack is in the parser's arena. */
static void *stack_alloc(struct parser *p, size_t bytes) { return arena_alloc(&p->scratch, bytes); }
#define YYMALLOC(bytes) stack_alloc(p, bytes)
#define YYFREE(memory) ((void)(memory))
#define YYMAXDEPTH PARSE_MAX_STACK
#define YYINITDEPTH 256

static void nvir_error(struct parser *p, const char *message);

static int nvir_lex(union nvir_value *value, struct parser *p) {
  if (p->stop) return T_YYEOF;
  return p->resync ? lexer_resync(p) : lexer_token(value, p);
}
}

%code requires {
struct parser;
union nvir_value;
}

/* Lexical classes. */
%token <token> LOCAL "local name" GLOBAL "global name" LOCAL_ASSIGN "local name and '='"
%token <token> GLOBAL_ASSIGN "global name and '='" COMDAT_NAME "comdat name" LABEL "label"
%token <token> META_ID "metadata number" META_ID_ASSIGN "metadata number and '='"
%token <token> META_NAME "metadata name" META_NAME_ASSIGN "metadata name and '='"
%token <token> META_STRING "metadata string" META_OPEN "'!{'" GROUP "attribute group"
%token <token> INT "integer" FLOAT "floating-point number" STRING "string" CSTRING "byte string"
%token <token> WORD "word" LBRACE "{" LBRACKET "[" LESS "<"
%token COMMA "," LPAREN "(" RPAREN ")" RBRACE "}" RBRACKET "]" GREATER ">"
%token EQUALS "=" STAR "*" BAR "|" COLON ":"
%token <type> TYPE "type"
%token <token> ATTACH "metadata attachment"
%token <token> COMMA_ALIGN "', align N'" COMMA_ADDRSPACE "', addrspace'"
%token DOTS "'...'"
%token RESYNC RESYNC_TOP
%token <token> BAD_INT_TYPE BAD_NUMBER BAD_BYTE OUTSIDE

/* Words. */
%token <token> DEFINE "'define'" DECLARE "'declare'" TARGET "'target'"
%token <token> SOURCE_FILENAME "'source_filename'" MODULE "'module'" ASM "'asm'" TYPE_WORD "'type'"
%token <token> OPAQUE "'opaque'" ATTRIBUTES "'attributes'" COMDAT "'comdat'" ALIAS VARIABLE
%token <token> EXTERNALLY_INITIALIZED "'externally_initialized'" THREAD_LOCAL "'thread_local'"
%token <token> TLS_MODEL SECTION "'section'" PARTITION "'partition'" CODE_MODEL "'code_model'"
%token <token> NO_SANITIZE GC "'gc'" PREFIX "'prefix'" PROLOGUE "'prologue'"
%token <token> PERSONALITY "'personality'" ADDRSPACE "'addrspace'" CC_WORD "'cc'" CONVENTION
%token <token> DISTINCT "'distinct'" USELISTORDER "'uselistorder'"
%token <token> USELISTORDER_BB "'uselistorder_bb'" TRUE "'true'" FALSE "'false'" NULL "'null'"
%token <token> UNDEF "'undef'" POISON "'poison'" ZERO "'zeroinitializer'" NONE "'none'"
%token <token> SPLAT "'splat'" INRANGE "'inrange'" X "'x'" TO "'to'" METADATA "'metadata'"
%token <token> LABEL_TYPE "'label'" ACCESS SYNCSCOPE "'syncscope'"
%token <token> TAIL ASM_FLAG FLAG LINKAGE VISIBILITY PREEMPTION DLL_STORAGE UNNAMED_ADDR ORDERING
%token <token> RMW PREDICATE ALIGN "'align'" ATTR_FLAG ATTR_INT ATTR_TYPE ATTR_TEXT

/* Ops, by form. */
%token <token> RET RET_VOID BR SWITCH UNREACHABLE UNARY BINARY
%token <token> ALLOCA LOAD STORE FENCE CMPXCHG ATOMICRMW GEP
%token <token> CAST ICMP FCMP PHI CALL MULTI EXTRACTVALUE INSERTVALUE VA_ARG DBG

%type <number> asm_flags alloca_flags
%type <type> type type_or_metadata
%type <literal> value expr
%type <operand> typed label

/* A type before a local name or an integer is a typed value. */
%precedence TYPE
%precedence LOCAL INT
%type <list> types type_list typed_list gep_list indices switch_open cases phi_list
%type <list> index_list dbg_list
%type <meta> node inline_node element field_value metadata_operand
%type <number> node_open fields_open
%type <token> words predicate call_word rmw_op call_open

%%

module: %empty | module definition ;

definition:
    DEFINE header function_attachments "{" begin_body statements body_end
  | DECLARE declare_attachments header { symbols_declare(p); }
  | variable
  | alias
  | LOCAL_ASSIGN TYPE_WORD type { types_define(p, &$1, &$3); }
  | LOCAL_ASSIGN TYPE_WORD OPAQUE { types_define(p, &$1, NULL); }
  | COMDAT_NAME "=" COMDAT WORD { symbols_define_comdat(p, &$1, &$4); }
  | TARGET WORD "=" STRING { symbols_target(p, &$2, &$4); }
  | SOURCE_FILENAME "=" STRING { symbols_target(p, &$1, &$3); }
  | MODULE ASM STRING { symbols_target(p, &$2, &$3); }
  | ATTRIBUTES GROUP "=" "{" attributes_opt "}" { attrs_define_group(p, &$2); }
  | META_ID_ASSIGN node_open elements "}" { nodes_define(p, &$1, NULL, false, $2); }
  | META_ID_ASSIGN DISTINCT node_open elements "}" { nodes_define(p, &$1, NULL, true, $3); }
  | META_ID_ASSIGN META_NAME fields_open fields ")" {
      nodes_define(p, &$1, &$2, false, $3);
    }
  | META_ID_ASSIGN DISTINCT META_NAME fields_open fields ")" {
      nodes_define(p, &$1, &$3, true, $4);
    }
  | META_NAME_ASSIGN node_open elements "}" { nodes_define_named(p, &$1, $2); }
  | use_order
  | error RESYNC { yyerrok; symbols_abandon_function(p); }
  ;

use_order:
    USELISTORDER typed "," "{" numbers "}"
  | USELISTORDER LABEL_TYPE LOCAL "," "{" numbers "}"
  | USELISTORDER_BB GLOBAL "," LOCAL "," "{" numbers "}"
  ;
numbers: INT | numbers "," INT ;

/* ---- Functions ---- */

header: header_open parameters ")" suffixes ;

header_open: prefixes type GLOBAL "(" { symbols_open_header(p, &$2, &$3); } ;

prefixes:
    %empty { symbols_reset_prefixes(p); }
  | prefixes prefix
  ;

prefix:
    LINKAGE {
      p->prefixes.linkage = (uint8_t)$1.number;
      p->prefixes.linkage_written = true;
      p->prefixes.seen |= PREFIX_LINKAGE;
    }
  | PREEMPTION {
      p->prefixes.preemption = (uint8_t)$1.number;
      p->prefixes.seen |= PREFIX_SYMBOL;
    }
  | VISIBILITY {
      p->prefixes.visibility = (uint8_t)$1.number;
      p->prefixes.seen |= PREFIX_SYMBOL;
    }
  | DLL_STORAGE {
      p->prefixes.dll_storage = (uint8_t)$1.number;
      p->prefixes.seen |= PREFIX_SYMBOL;
    }
  | CONVENTION {
      p->prefixes.convention = (uint32_t)$1.number;
      p->prefixes.seen |= PREFIX_CONVENTION;
    }
  | CC_WORD INT {
      uint64_t number = 0;
      values_number(p, &$2, 1023, &number);
      p->prefixes.convention = (uint32_t)number;
      p->prefixes.seen |= PREFIX_CONVENTION;
    }
  | attribute { p->prefixes.seen |= PREFIX_ATTRIBUTE; }
  | FLAG {
      p->prefixes.flags |= (uint16_t)$1.number;
      p->prefixes.seen |= PREFIX_FLAG;
    }
  | ADDRSPACE "(" INT ")" {
      uint64_t number = 0;
      values_number(p, &$3, PARSE_MAX_NUMBER, &number);
      p->prefixes.address_space = (uint32_t)number;
      p->prefixes.seen |= PREFIX_SPACE;
    }
  | UNNAMED_ADDR {
      p->prefixes.unnamed_addr = (uint8_t)$1.number;
      p->prefixes.seen |= PREFIX_UNNAMED;
    }
  | THREAD_LOCAL {
      p->prefixes.thread_local = (uint8_t)$1.number;
      p->prefixes.seen |= PREFIX_VARIABLE;
    }
  | THREAD_LOCAL "(" TLS_MODEL ")" {
      p->prefixes.thread_local = (uint8_t)$3.number;
      p->prefixes.seen |= PREFIX_VARIABLE;
    }
  | EXTERNALLY_INITIALIZED {
      p->prefixes.externally_initialized = true;
      p->prefixes.seen |= PREFIX_VARIABLE;
    }
  ;

parameters:
    %empty
  | DOTS { p->variadic = true; }
  | parameter_list
  | parameter_list "," DOTS { p->variadic = true; }
  ;
parameter_list: parameter | parameter_list "," parameter ;
parameter:
    type_or_metadata { symbols_parameter(p, &$1, NULL); }
  | type_or_metadata LOCAL { symbols_parameter(p, &$1, &$2); }
  | type_or_metadata attributes { symbols_parameter(p, &$1, NULL); }
  | type_or_metadata attributes LOCAL { symbols_parameter(p, &$1, &$3); }
  ;

suffixes: %empty | suffixes suffix ;
suffix:
    attribute
  | GROUP { attrs_group(p, &$1); }
  | UNNAMED_ADDR { p->unnamed_addr = (uint8_t)$1.number; }
  | ADDRSPACE "(" INT ")" {
      uint64_t number = 0;
      values_number(p, &$3, PARSE_MAX_NUMBER, &number);
      p->suffix_space = (uint32_t)number;
    }
  | SECTION STRING { p->section = names_string(p, &$2); }
  | PARTITION STRING { p->partition = names_string(p, &$2); }
  | comdat
  | GC STRING { p->gc = names_string(p, &$2); }
  | PREFIX typed { p->prefix = $2.value; }
  | PROLOGUE typed { p->prologue = $2.value; }
  | PERSONALITY typed { p->personality = $2.value; }
  ;
comdat:
    COMDAT { symbols_comdat(p, NULL); }
  | COMDAT "(" COMDAT_NAME ")" { symbols_comdat(p, &$3); }
  ;
function_attachments:
    %empty { p->attachments.count = 0; }
  | function_attachments META_NAME node { symbols_attach(p, &$2, $3); }
  ;
declare_attachments:
    %empty { p->attachments.count = 0; }
  | declare_attachments META_NAME node { symbols_attach(p, &$2, $3); }
  ;

begin_body: %empty { symbols_begin_function(p); } ;
body_end:
    "}" { symbols_end_function(p); }
  | error RESYNC_TOP { yyerrok; symbols_abandon_function(p); }
  ;

/* ---- Attributes ---- */

attributes_opt: %empty | attributes_opt attribute ;
attributes: attribute | attributes attribute ;
attribute:
    ATTR_FLAG { attrs_flag(p, &$1); }
  | ALIGN INT { attrs_int(p, &$1, &$2); }
  | ALIGN "(" INT ")" { attrs_int(p, &$1, &$3); }
  | ALIGN "=" INT { attrs_int(p, &$1, &$3); }
  | ATTR_INT "(" INT ")" { attrs_int(p, &$1, &$3); }
  | ATTR_INT "=" INT { attrs_int(p, &$1, &$3); }
  | ATTR_TYPE { attrs_type(p, &$1, NULL); }
  | ATTR_TYPE "(" type ")" { attrs_type(p, &$1, &$3); }
  | ATTR_TEXT { attrs_text(p, &$1); }
  | STRING { attrs_string(p, &$1, NULL); }
  | STRING "=" STRING { attrs_string(p, &$1, &$3); }
  ;

/* ---- Variables and aliases ---- */

variable:
    GLOBAL_ASSIGN prefixes VARIABLE type begin_variable variable_suffixes {
      symbols_variable(p, &$1, $3.number, &$4, NULL);
    }
  | GLOBAL_ASSIGN prefixes VARIABLE typed begin_variable variable_suffixes {
      struct written_type type = {.type = $4.type, .begin = $4.begin, .end = $4.begin};
      symbols_variable(p, &$1, $3.number, &type, &$4);
    }
  ;
begin_variable: %empty { symbols_reset_variable(p); } ;
variable_suffixes: %empty | variable_suffixes variable_suffix ;
variable_suffix:
    "," SECTION STRING { p->section = names_string(p, &$3); }
  | "," PARTITION STRING { p->partition = names_string(p, &$3); }
  | "," comdat
  | "," CODE_MODEL STRING
  | "," NO_SANITIZE
  | "," ATTR_FLAG { attrs_flag(p, &$2); }
  | COMMA_ALIGN { attrs_alignment(p, &$1, &p->align_log2); }
  | ATTACH node { symbols_attach(p, &$1, $2); }
  | GROUP { attrs_group(p, &$1); }
  | attribute
  ;

alias:
    GLOBAL_ASSIGN prefixes ALIAS type "," expr begin_variable alias_suffixes {
      symbols_alias(p, &$1, $3.number, &$4, &$6, NULL);
    }
  | GLOBAL_ASSIGN prefixes ALIAS type "," typed begin_variable alias_suffixes {
      symbols_alias(p, &$1, $3.number, &$4, NULL, &$6);
    }
  ;
alias_suffixes:
    %empty
  | alias_suffixes "," PARTITION STRING { p->partition = names_string(p, &$4); }
  ;

/* ---- Types ---- */

type:
    TYPE
  | LOCAL { $$ = types_named(p, &$1); }
  | type "*" { $$ = types_pointer(p, &$1, 0, p->token_end); }
  | type ADDRSPACE "(" INT ")" "*" { $$ = types_pointer(p, &$1, $4.number, p->token_end); }
  | "[" INT X type "]" { $$ = types_sequence(p, &$2, &$4, false, $1.begin, p->token_end); }
  | "<" INT X type ">" { $$ = types_sequence(p, &$2, &$4, true, $1.begin, p->token_end); }
  | "{" "}" { $$ = types_empty_struct(p, false, $1.begin, p->token_end); }
  | "<" "{" "}" ">" { $$ = types_empty_struct(p, true, $1.begin, p->token_end); }
  | "{" type_list "}" { $$ = types_struct(p, $2, false, $1.begin, p->token_end); }
  | "<" "{" type_list "}" ">" { $$ = types_struct(p, $3, true, $1.begin, p->token_end); }
  | type "(" types ")" { $$ = types_function(p, &$1, $3, false, p->token_end); }
  | type "(" DOTS ")" {
      struct list none = {p->types.count, 0};
      $$ = types_function(p, &$1, none, true, p->token_end);
    }
  | type "(" type_list "," DOTS ")" { $$ = types_function(p, &$1, $3, true, p->token_end); }
  ;
types: %empty { $$ = (struct list){p->types.count, 0}; } | type_list ;
type_list:
    type_or_metadata {
      $$ = (struct list){p->types.count, 0};
      types_push(p, &$$, &$1);
    }
  | type_list "," type_or_metadata { $$ = $1; types_push(p, &$$, &$3); }
  ;
type_or_metadata:
    type
  | METADATA {
      $$ = (struct written_type){.type = TYPE_METADATA, .begin = $1.begin,
                                 .end = $1.begin + $1.length};
    }
  | LABEL_TYPE {
      $$ = (struct written_type){.type = TYPE_LABEL, .begin = $1.begin,
                                 .end = $1.begin + $1.length};
    }
  ;

/* ---- Values ---- */

typed:
    type value { $$ = values_typed(p, &$1, &$2); }
  | TYPE LOCAL {
      struct literal l = state_name(LIT_LOCAL, &$2);
      $$ = values_typed(p, &$1, &l);
    }
  | TYPE INT {
      struct literal l = state_int(&$2);
      $$ = values_typed(p, &$1, &l);
    }
  ;

value:
    LOCAL { $$ = state_name(LIT_LOCAL, &$1); }
  | expr
  | GLOBAL { $$ = state_name(LIT_GLOBAL, &$1); }
  | INT { $$ = state_int(&$1); }
  | FLOAT { $$ = state_name(LIT_FLOAT, &$1); }
  | CSTRING {
      $$ = (struct literal){.begin = $1.begin - 2, .kind = LIT_CSTRING};
      $$.length = $1.length;
    }
  | TRUE { $$ = (struct literal){.begin = $1.begin, .kind = LIT_TRUE}; }
  | FALSE { $$ = (struct literal){.begin = $1.begin, .kind = LIT_FALSE}; }
  | NULL { $$ = (struct literal){.begin = $1.begin, .kind = LIT_NULL}; }
  | UNDEF { $$ = (struct literal){.begin = $1.begin, .kind = LIT_UNDEF}; }
  | POISON { $$ = (struct literal){.begin = $1.begin, .kind = LIT_POISON}; }
  | ZERO { $$ = (struct literal){.begin = $1.begin, .kind = LIT_ZERO}; }
  | NONE { $$ = (struct literal){.begin = $1.begin, .kind = LIT_NONE}; }
  | "[" "]" { $$ = (struct literal){.begin = $1.begin, .kind = LIT_ARRAY}; }
  | "{" "}" { $$ = (struct literal){.begin = $1.begin, .kind = LIT_STRUCT}; }
  | "<" "{" "}" ">" { $$ = (struct literal){.begin = $1.begin, .kind = LIT_PACKED}; }
  | "[" typed_list "]" { $$ = values_list($1.begin, LIT_ARRAY, $2); }
  | "{" typed_list "}" { $$ = values_list($1.begin, LIT_STRUCT, $2); }
  | "<" typed_list ">" { $$ = values_list($1.begin, LIT_VECTOR, $2); }
  | "<" "{" typed_list "}" ">" { $$ = values_list($1.begin, LIT_PACKED, $3); }
  | ASM asm_flags STRING "," STRING { $$ = values_asm(p, $1.begin, $2, &$3, &$5); }
  | SPLAT "(" typed ")" { $$ = values_splat(p, $1.begin, &$3); }
  ;
asm_flags:
    %empty { $$ = 0; }
  | asm_flags ASM_FLAG { $$ = $1 | (uint32_t)$2.number; }
  | asm_flags ATTR_INT { $$ = $1 | CONST_ASM_ALIGNSTACK; }
  ;
typed_list:
    typed { $$ = (struct list){p->stack.count, 0}; values_push(p, &$$, &$1); }
  | typed_list "," typed { $$ = $1; values_push(p, &$$, &$3); }
  ;

expr:
    CAST "(" typed TO type ")" { $$ = values_cast(p, &$1, &$3, &$5); }
  | GEP inrange "(" type "," gep_list ")" { $$ = values_gep(p, &$1, &$4, $6); }
  | BINARY "(" typed_list ")" { $$ = values_expr(p, &$1, $3); }
  | UNARY "(" typed_list ")" { $$ = values_expr(p, &$1, $3); }
  | MULTI "(" typed_list ")" { $$ = values_expr(p, &$1, $3); }
  | ICMP predicate "(" typed "," typed ")" { $$ = values_compare(p, &$1, &$2, &$4, &$6); }
  | FCMP predicate "(" typed "," typed ")" { $$ = values_compare(p, &$1, &$2, &$4, &$6); }
  | EXTRACTVALUE "(" index_list ")" { $$ = values_member(p, &$1, $3); }
  | INSERTVALUE "(" index_list ")" { $$ = values_member(p, &$1, $3); }
  ;
inrange: %empty | INRANGE ;
gep_list:
    typed { $$ = (struct list){p->stack.count, 0}; values_push(p, &$$, &$1); }
  | gep_list "," typed { $$ = $1; values_push(p, &$$, &$3); }
  | gep_list "," INRANGE typed { $$ = $1; values_push(p, &$$, &$4); }
  ;
/* typed, typed, …, number, number … */
index_list: typed_list "," INT { $$ = $1; values_push_index(p, &$$, &$3); }
  | index_list "," INT { $$ = $1; values_push_index(p, &$$, &$3); }
  ;
indices: index_list ;

predicate: PREDICATE | TRUE { $$ = $1; $$.number = (FCMP_TRUE + 1) << 8; }
  | FALSE { $$ = $1; $$.number = (FCMP_FALSE + 1) << 8; }
  ;

/* ---- Metadata ---- */

node: META_ID { $$ = nodes_reference(p, &$1); } | inline_node ;
inline_node:
    node_open elements "}" { $$ = nodes_inline(p, NULL, $1); }
  | META_NAME fields_open fields ")" { $$ = nodes_inline(p, &$1, $2); }
  ;
node_open: META_OPEN { $$ = p->entries.count; } ;
fields_open: "(" { $$ = p->entries.count; } ;
elements: %empty | element_list ;
element_list:
    element { nodes_push(p, NULL, $1); }
  | element_list "," element { nodes_push(p, NULL, $3); }
  ;
element:
    node
  | META_STRING { $$ = nodes_string(p, &$1); }
  | NULL { $$ = (struct nvm_meta){0}; }
  | typed { $$ = nodes_value(p, &$1); }
  ;
fields: %empty | field_list ;
field_list: field | field_list "," field ;
field:
    LABEL field_value { nodes_push(p, &$1, $2); }
  | field_value { nodes_push(p, NULL, $1); }
  ;
field_value:
    element
  | INT { $$ = nodes_int(p, &$1); }
  | STRING { $$ = nodes_string(p, &$1); }
  | TRUE { $$ = nodes_word(p, $1.begin, $1.begin + $1.length); }
  | FALSE { $$ = nodes_word(p, $1.begin, $1.begin + $1.length); }
  | words { $$ = nodes_word(p, $1.begin, $1.begin + $1.length); }
  ;
words:
    WORD
  | words "|" WORD { $$ = $1; $$.length = $3.begin + $3.length - $1.begin; }
  ;

metadata_operand:
    node
  | META_STRING { $$ = nodes_string(p, &$1); }
  | typed { $$ = nodes_value(p, &$1); }
  ;

/* ---- Statements ---- */

statements:
    %empty
  | statements LABEL { names_define_block(p, &$2); }
  | statements instruction { insts_finish(p, NULL); }
  | statements assign instruction { insts_finish(p, &p->assigned); }
  | statements DBG "(" dbg_list ")" { insts_dbg(p, &$2, $4); }
  | statements use_order
  | statements error RESYNC { yyerrok; insts_broken(p); }
  ;
assign: LOCAL_ASSIGN { p->assigned = $1; p->has_assigned = true; } ;

dbg_list:
    metadata_operand {
      struct operand o = nodes_operand(p, $1, p->token_begin);
      $$ = (struct list){p->stack.count, 0};
      values_push(p, &$$, &o);
    }
  | dbg_list "," metadata_operand {
      struct operand o = nodes_operand(p, $3, p->token_begin);
      $$ = $1;
      values_push(p, &$$, &o);
    }
  ;

label: LABEL_TYPE LOCAL { $$ = insts_label(p, &$2); } ;

instruction:
    RET_VOID { insts_plain(p, &$1, TYPE_VOID, NULL, 0); }
  | RET typed { insts_plain(p, &$1, TYPE_VOID, &$2, 1); }
  | BR label { insts_plain(p, &$1, TYPE_VOID, &$2, 1); }
  | BR typed "," label "," label {
      struct operand operands[3] = {$2, $4, $6};
      struct token op = $1;
      op.number = OP_CONDBR;
      insts_plain(p, &op, TYPE_VOID, operands, 3);
    }
  | SWITCH switch_open "[" cases "]" { insts_list(p, &$1, $4); }
  | UNREACHABLE { insts_plain(p, &$1, TYPE_VOID, NULL, 0); }
  | BINARY typed "," value { insts_binary(p, &$1, &$2, &$4); }
  | UNARY typed { insts_plain(p, &$1, $2.type, &$2, 1); }
  | ICMP predicate typed "," value { insts_compare(p, &$1, &$2, &$3, &$5); }
  | FCMP predicate typed "," value { insts_compare(p, &$1, &$2, &$3, &$5); }
  | CAST typed TO type { insts_cast(p, &$1, &$2, &$4); }
  | MULTI typed_list { insts_list(p, &$1, $2); }
  | PHI phi_type phi_list { insts_phi(p, &$1, $3); }
  | allocation
  | LOAD type "," typed access { insts_load(p, &$1, &$2, &$4); }
  | STORE typed "," typed access { insts_store(p, &$1, &$2, &$4); }
  | FENCE { insts_fence(p, &$1); }
  | FENCE ordering { insts_fence(p, &$1); }
  | CMPXCHG typed "," typed "," typed scope ORDERING ORDERING alignment {
      struct operand operands[3] = {$2, $4, $6};
      p->access.ordering = $8.number & 7;
      p->access.failure_ordering = $9.number & 7;
      insts_cmpxchg(p, &$1, operands);
    }
  | ATOMICRMW rmw_op typed "," typed access {
      struct operand operands[2] = {$3, $5};
      insts_atomicrmw(p, &$1, &$2, operands);
    }
  | GEP type "," gep_list { insts_gep(p, &$1, &$2, $4); }
  | EXTRACTVALUE indices { insts_member(p, &$1, $2); }
  | INSERTVALUE indices { insts_member(p, &$1, $2); }
  | VA_ARG typed "," type { insts_plain(p, &$1, $4.type, &$2, 1); }
  | call_open "(" ")" call_suffixes { insts_call(p, &$1); }
  | call_open "(" argument_list ")" call_suffixes { insts_call(p, &$1); }
  | instruction ATTACH META_ID { insts_attach(p, &$2, nodes_reference(p, &$3)); }
  | instruction ATTACH inline_node { insts_attach(p, &$2, $3); }
  ;

switch_open: typed "," label {
    $$ = (struct list){p->stack.count, 0};
    values_push(p, &$$, &$1);
    values_push(p, &$$, &$3);
  } ;
cases:
    %empty { $$ = (struct list){p->stack.count - 2, 2}; }
  | cases typed "," label { $$ = $1; values_push(p, &$$, &$2); values_push(p, &$$, &$4); }
  ;

phi_type: type { p->phi_type = $1.type; } ;
phi_list:
    "[" value "," LOCAL "]" {
      $$ = (struct list){p->stack.count, 0};
      insts_incoming(p, &$$, &$2, &$4);
    }
  | phi_list "," "[" value "," LOCAL "]" { $$ = $1; insts_incoming(p, &$$, &$4, &$6); }
  ;

allocation:
    ALLOCA alloca_flags type { insts_alloca(p, &$1, $2, &$3, NULL); }
  | ALLOCA alloca_flags type "," typed { insts_alloca(p, &$1, $2, &$3, &$5); }
  | allocation COMMA_ALIGN { insts_align(p, &$2); }
  | allocation COMMA_ADDRSPACE "(" INT ")" { insts_alloca_space(p, &$4); }
  ;
alloca_flags:
    %empty { $$ = 0; }
  | alloca_flags ATTR_TYPE { $$ = $1 | ALLOCA_INALLOCA; }
  | alloca_flags ATTR_FLAG { $$ = $1 | ALLOCA_SWIFTERROR; }
  ;

/* The tail of a memory access. */
access:
    %empty
  | COMMA_ALIGN { insts_access_align(p, &$1); }
  | ordering
  | ordering COMMA_ALIGN { insts_access_align(p, &$2); }
  ;
ordering:
    ORDERING { p->access.ordering = $1.number & 7; }
  | SYNCSCOPE "(" STRING ")" ORDERING {
      insts_scope(p, &$3);
      p->access.ordering = $5.number & 7;
    }
  ;
scope: %empty | SYNCSCOPE "(" STRING ")" { insts_scope(p, &$3); } ;
alignment: %empty | COMMA_ALIGN { insts_access_align(p, &$1); } ;
rmw_op: RMW | BINARY ;

call_open: call_word prefixes type value { $$ = $1; insts_open_call(p, &$3, &$4); } ;
call_word: CALL { $$ = $1; $$.number = CALL_TAIL_NONE; } | TAIL CALL { $$ = $1; } ;
argument_list: argument | argument_list "," argument ;
argument:
    typed { insts_argument(p, &$1); }
  | type attributes value {
      struct operand o = values_typed(p, &$1, &$3);
      insts_argument(p, &o);
    }
  | METADATA metadata_operand {
      struct operand o = nodes_operand(p, $2, $1.begin);
      insts_argument(p, &o);
    }
  | DOTS
  ;
call_suffixes:
    %empty
  | call_suffixes attribute
  | call_suffixes GROUP { attrs_group(p, &$2); }
  | call_suffixes "[" bundles "]"
  ;
bundles: bundle | bundles "," bundle ;
bundle: STRING "(" bundle_open bundle_arguments ")" { insts_close_bundle(p, &$1); } ;
bundle_open: %empty { insts_open_bundle(p); } ;
bundle_arguments: %empty | bundle_argument_list ;
bundle_argument_list: bundle_argument | bundle_argument_list "," bundle_argument ;
bundle_argument:
    typed { insts_argument(p, &$1); }
  | METADATA metadata_operand {
      struct operand o = nodes_operand(p, $2, $1.begin);
      insts_argument(p, &o);
    }
  ;

%%

/* ---- Errors ---- */

static const char *token_name(int token) { return yysymbol_name((yysymbol_kind_t)token); }

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *p) {
  yysymbol_kind_t kinds[YYNTOKENS];
  bool accepted[YYNTOKENS] = {false};
  int count = yypcontext_expected_tokens(context, kinds, YYNTOKENS);
  for (int i = 0; i < count; i++) accepted[kinds[i]] = true;
  syntax_error_report(p, &(struct syntax_error){(int)yypcontext_token(context), YYNTOKENS, accepted,
                                                count, token_name});
  return 0;
}

/* Called by bison if its stack reaches YYMAXDEPTH or the arena is out of memory. */
static void nvir_error(struct parser *p, const char *message) {
  (void)message;
  if (!state_out_of_memory(p))
    report(p, DIAG_NESTING_TOO_DEEP, p->token_begin, p->token_end, NULL, NULL, NULL);
}
