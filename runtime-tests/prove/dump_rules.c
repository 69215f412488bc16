/* dump_rules: the peephole rules as the compiler has them, for prove.py: the words of the generated
 * combine.inc, with the names of what the words mean, as one JSON object. */
#include "ir/intrinsic.h"
#include "opt/scalar/combine_program.h"

#include "combine.inc"

#include <stdio.h>

enum { NO_PATTERN = 255 }; /* arity of an op that no pattern can have */

static int arity_of(enum op_form form) {
  switch (form) {
    case FORM_UNARY:
    case FORM_CAST: return 1;
    case FORM_BINARY:
    case FORM_CMP: return 2;
    case FORM_SELECT: return 3;
    default: return NO_PATTERN;
  }
}

static void print_numbers(const char *name, const uint16_t *numbers, size_t count) {
  printf("\"%s\": [", name);
  for (size_t k = 0; k < count; k++) printf("%s%u", k ? "," : "", numbers[k]);
  printf("],\n");
}

static void print_ops(void) {
  static const struct {
    const char *name, *keyword;
    enum op_form form;
  } ops[] = {
#define OP(ENUM, keyword, form, flags, meaning) {#ENUM, keyword, form},
#include "ir/ops.def"
#undef OP
  };
  printf("\"ops\": [");
  for (int k = 0; k < OP_COUNT; k++)
    printf("%s[\"%s\", %d]", k ? "," : "", ops[k].keyword, arity_of(ops[k].form));
  printf("],\n");
}

static void print_words(void) {
  static const struct {
    const char *name;
    int operands;
  } kinds[] = {
#define W(name, operands) {#name, operands},
      RULE_WORDS(W)
#undef W
  };
  static const char *const functions[] = {
#define F(name) #name,
      RULE_FUNCTIONS(F)
#undef F
  };
  printf("\"kinds\": [");
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    printf("%s[\"%s\", %d]", k ? "," : "", kinds[k].name, kinds[k].operands);
  printf("],\n\"functions\": [");
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
    printf("%s\"%s\"", k ? "," : "", functions[k]);
  printf("],\n");
}

int main(void) {
  printf("{");
  print_numbers("words", rule_words, sizeof rule_words / sizeof *rule_words);
  print_numbers("roots", rule_roots, sizeof rule_roots / sizeof *rule_roots);
  print_ops();
  print_words();
  printf("\"floats\": [");
  for (size_t k = 0; k < sizeof rule_floats / sizeof *rule_floats; k++)
    printf("%s%llu", k ? "," : "", (unsigned long long)rule_floats[k][3]);
  printf("],\n\"CLASS_INT\": %d, \"CLASS_FLOAT\": %d, \"CLASS_OTHER\": %d, \"CLASS_CALL\": %d,\n",
         CLASS_INT, CLASS_FLOAT, CLASS_OTHER, CLASS_CALL);
  printf("\"BOOL_LIKE\": %d, \"TYPE_BOOL\": %d, \"COMPARE\": %d, \"FUNCTION_FIRST\": %d,\n",
         RULE_BOOL_LIKE, RULE_TYPE_BOOL, RULE_COMPARE, FUNCTION_FIRST);
  printf("\"flags\": {\"nuw\": %d, \"nsw\": %d, \"exact\": %d, \"disjoint\": %d, \"nneg\": %d, ",
         INST_NUW, INST_NSW, INST_EXACT, INST_DISJOINT, INST_NNEG);
  printf(
      "\"nnan\": %d, \"ninf\": %d, \"nsz\": %d, \"arcp\": %d, \"contract\": %d, \"afn\": %d, "
      "\"reassoc\": %d}}\n",
      INST_NNAN, INST_NINF, INST_NSZ, INST_ARCP, INST_CONTRACT, INST_AFN, INST_REASSOC);
  (void)rule_of_intrinsic, (void)rule_intrinsics; /* prove.py reads their names in the text */
  return 0;
}
