/* Names of DWARF's numbers, as debug information in text has them. */
#ifndef NVM_FRONTEND_BITCODE_BCDWARF_H
#define NVM_FRONTEND_BITCODE_BCDWARF_H

#include "support/textbuf.h"

enum dwarf_kind {
  DWARF_TAG,
  DWARF_ENCODING,
  DWARF_LANGUAGE,
  DWARF_CONVENTION,
  DWARF_OPERATION,
  DWARF_MACINFO,
  DWARF_EMISSION, /* LLVM's own from here on */
  DWARF_NAME_TABLE,
  DWARF_CHECKSUM,
  DWARF_FLAGS, /* sets of bits */
  DWARF_SPFLAGS,
  DWARF_KIND_COUNT,
};

/* Writes the name of a number: DW_TAG_member, FullDebug, DIFlagA | DIFlagB. False if it has none;
 * what was written is then of no use. */
bool bcdwarf_name(struct textbuf *b, enum dwarf_kind kind, uint64_t number);
/* The numbers that an operation of an expression takes, with its own. */
uint32_t bcdwarf_operation_size(uint64_t operation);

enum {
  DW_TAG_BASE_TYPE = 0x24,
  DW_TAG_TEMPLATE_VALUE = 0x30,
  DW_OP_BREG0 = 0x70,
  DW_OP_BREG31 = 0x8f,
  DW_OP_LLVM_CONVERT = 0x1001,
};

#endif
