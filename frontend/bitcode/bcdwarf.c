/* Names of numbers, from bcdwarf.def. */
#include "frontend/bitcode/bcdwarf.h"

struct name {
  uint16_t kind; /* enum dwarf_kind */
  uint32_t number;
  const char *name;
};

static const struct name names[] = {
#define NAME(kind, number, name) {DWARF_##kind, number, #name},
#include "frontend/bitcode/bcdwarf.def"
#undef NAME
};
enum { NAME_COUNT = sizeof names / sizeof *names };

static const char *const prefixes[DWARF_KIND_COUNT] = {
    [DWARF_TAG] = "DW_TAG_",       [DWARF_ENCODING] = "DW_ATE_", [DWARF_LANGUAGE] = "DW_LANG_",
    [DWARF_CONVENTION] = "DW_CC_", [DWARF_OPERATION] = "DW_OP_", [DWARF_MACINFO] = "DW_MACINFO_",
    [DWARF_EMISSION] = "",         [DWARF_NAME_TABLE] = "",      [DWARF_CHECKSUM] = "",
    [DWARF_FLAGS] = "DIFlag",      [DWARF_SPFLAGS] = "DISPFlag",
};

/* ---- Sets ---- */

static void put_word(struct textbuf *b, enum dwarf_kind kind, const char *word) {
  textbuf_format(b, b->length ? " | %s%s" : "%s%s", prefixes[kind], word);
}

/* The fields of two bits, which have names for values; they are taken out of *bits, except a
 * virtuality of 3, which has no name. */
static void put_fields(struct textbuf *b, enum dwarf_kind kind, uint64_t *bits) {
  static const char *const access[] = {"", "Private", "Protected", "Public"};
  static const char *const inheritance[] = {"", "SingleInheritance", "MultipleInheritance",
                                            "VirtualInheritance"};
  static const char *const virtuality[] = {"", "Virtual", "PureVirtual", ""};
  const char *word = (kind == DWARF_FLAGS ? access : virtuality)[*bits & 3];
  if (*word) put_word(b, kind, word);
  if (kind == DWARF_FLAGS && *bits >> 16 & 3) put_word(b, kind, inheritance[*bits >> 16 & 3]);
  *bits &= ~(kind == DWARF_FLAGS ? UINT64_C(0x30003) : UINT64_C(3) * (*word != '\0'));
}

/* A set with an unknown bit has no name as a whole. */
static bool put_set(struct textbuf *b, enum dwarf_kind kind, uint64_t bits) {
  if (bits == 0) return false;
  put_fields(b, kind, &bits);
  for (size_t i = 0; i < NAME_COUNT; i++) {
    const struct name *row = &names[i];
    if (row->kind != kind || (bits & row->number) != row->number) continue;
    put_word(b, kind, row->name);
    bits &= ~(uint64_t)row->number;
  }
  return bits == 0;
}

/* ---- Numbers with one name ---- */

/* Operations whose names end in a number. */
static bool put_numbered(struct textbuf *b, uint64_t number) {
  if (number < 0x30 || number > DW_OP_BREG31) return false;
  uint32_t kind = (uint32_t)(number - 0x30) / 32;
  static const char *const words[] = {"lit", "reg", "breg"};
  textbuf_format(b, "DW_OP_%s%u", words[kind], (uint32_t)(number - 0x30) % 32);
  return true;
}

bool bcdwarf_name(struct textbuf *b, enum dwarf_kind kind, uint64_t number) {
  if (kind == DWARF_FLAGS || kind == DWARF_SPFLAGS) return put_set(b, kind, number);
  if (kind == DWARF_OPERATION && put_numbered(b, number)) return true;
  for (size_t i = 0; i < NAME_COUNT; i++) {
    if (names[i].kind != kind || names[i].number != number) continue;
    textbuf_format(b, "%s%s", prefixes[kind], names[i].name);
    return true;
  }
  return false;
}

uint32_t bcdwarf_operation_size(uint64_t operation) {
  if (operation >= DW_OP_BREG0 && operation <= DW_OP_BREG31) return 2;
  switch (operation) {
    case 0x92:   /* bregx */
    case 0x1000: /* LLVM_fragment */
    case DW_OP_LLVM_CONVERT:
    case 0x1006: /* LLVM_extract_bits_sext, zext */
    case 0x1007: return 3;
    case 0x10: /* constu, consts */
    case 0x11:
    case 0x23:   /* plus_uconst */
    case 0x90:   /* regx */
    case 0x94:   /* deref_size */
    case 0x1002: /* LLVM_tag_offset, LLVM_entry_value, LLVM_arg */
    case 0x1003:
    case 0x1005: return 2;
    default: return 1;
  }
}
