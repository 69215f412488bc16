/* The numbers are those of the DWARF 5 standard, section 7, and of LLVM's debug metadata. */
#include "frontend/bitcode/bcdwarf.h"

struct name {
  uint32_t number;
  const char *name;
};

static const struct name tags[] = {{0x1, "array_type"},
                                   {0x2, "class_type"},
                                   {0x3, "entry_point"},
                                   {0x4, "enumeration_type"},
                                   {0x5, "formal_parameter"},
                                   {0x8, "imported_declaration"},
                                   {0xa, "label"},
                                   {0xb, "lexical_block"},
                                   {0xd, "member"},
                                   {0xf, "pointer_type"},
                                   {0x10, "reference_type"},
                                   {0x11, "compile_unit"},
                                   {0x12, "string_type"},
                                   {0x13, "structure_type"},
                                   {0x15, "subroutine_type"},
                                   {0x16, "typedef"},
                                   {0x17, "union_type"},
                                   {0x18, "unspecified_parameters"},
                                   {0x19, "variant"},
                                   {0x1a, "common_block"},
                                   {0x1b, "common_inclusion"},
                                   {0x1c, "inheritance"},
                                   {0x1d, "inlined_subroutine"},
                                   {0x1e, "module"},
                                   {0x1f, "ptr_to_member_type"},
                                   {0x20, "set_type"},
                                   {0x21, "subrange_type"},
                                   {0x22, "with_stmt"},
                                   {0x23, "access_declaration"},
                                   {0x24, "base_type"},
                                   {0x25, "catch_block"},
                                   {0x26, "const_type"},
                                   {0x27, "constant"},
                                   {0x28, "enumerator"},
                                   {0x29, "file_type"},
                                   {0x2a, "friend"},
                                   {0x2b, "namelist"},
                                   {0x2c, "namelist_item"},
                                   {0x2d, "packed_type"},
                                   {0x2e, "subprogram"},
                                   {0x2f, "template_type_parameter"},
                                   {0x30, "template_value_parameter"},
                                   {0x31, "thrown_type"},
                                   {0x32, "try_block"},
                                   {0x33, "variant_part"},
                                   {0x34, "variable"},
                                   {0x35, "volatile_type"},
                                   {0x36, "dwarf_procedure"},
                                   {0x37, "restrict_type"},
                                   {0x38, "interface_type"},
                                   {0x39, "namespace"},
                                   {0x3a, "imported_module"},
                                   {0x3b, "unspecified_type"},
                                   {0x3c, "partial_unit"},
                                   {0x3d, "imported_unit"},
                                   {0x3f, "condition"},
                                   {0x40, "shared_type"},
                                   {0x41, "type_unit"},
                                   {0x42, "rvalue_reference_type"},
                                   {0x43, "template_alias"},
                                   {0x44, "coarray_type"},
                                   {0x45, "generic_subrange"},
                                   {0x46, "dynamic_type"},
                                   {0x47, "atomic_type"},
                                   {0x48, "call_site"},
                                   {0x49, "call_site_parameter"},
                                   {0x4a, "skeleton_unit"},
                                   {0x4b, "immutable_type"},
                                   {0x4106, "GNU_template_template_param"},
                                   {0x4107, "GNU_template_parameter_pack"},
                                   {0x4108, "GNU_formal_parameter_pack"},
                                   {0x4109, "GNU_call_site"},
                                   {0x6000, "LLVM_annotation"}};

static const struct name encodings[] = {
    {0x1, "address"},        {0x2, "boolean"},        {0x3, "complex_float"},
    {0x4, "float"},          {0x5, "signed"},         {0x6, "signed_char"},
    {0x7, "unsigned"},       {0x8, "unsigned_char"},  {0x9, "imaginary_float"},
    {0xa, "packed_decimal"}, {0xb, "numeric_string"}, {0xc, "edited"},
    {0xd, "signed_fixed"},   {0xe, "unsigned_fixed"}, {0xf, "decimal_float"},
    {0x10, "UTF"},           {0x11, "UCS"},           {0x12, "ASCII"}};

static const struct name languages[] = {{0x1, "C89"},
                                        {0x2, "C"},
                                        {0x3, "Ada83"},
                                        {0x4, "C_plus_plus"},
                                        {0x5, "Cobol74"},
                                        {0x6, "Cobol85"},
                                        {0x7, "Fortran77"},
                                        {0x8, "Fortran90"},
                                        {0x9, "Pascal83"},
                                        {0xa, "Modula2"},
                                        {0xb, "Java"},
                                        {0xc, "C99"},
                                        {0xd, "Ada95"},
                                        {0xe, "Fortran95"},
                                        {0xf, "PLI"},
                                        {0x10, "ObjC"},
                                        {0x11, "ObjC_plus_plus"},
                                        {0x12, "UPC"},
                                        {0x13, "D"},
                                        {0x14, "Python"},
                                        {0x15, "OpenCL"},
                                        {0x16, "Go"},
                                        {0x17, "Modula3"},
                                        {0x18, "Haskell"},
                                        {0x19, "C_plus_plus_03"},
                                        {0x1a, "C_plus_plus_11"},
                                        {0x1b, "OCaml"},
                                        {0x1c, "Rust"},
                                        {0x1d, "C11"},
                                        {0x1e, "Swift"},
                                        {0x1f, "Julia"},
                                        {0x20, "Dylan"},
                                        {0x21, "C_plus_plus_14"},
                                        {0x22, "Fortran03"},
                                        {0x23, "Fortran08"},
                                        {0x24, "RenderScript"},
                                        {0x25, "BLISS"},
                                        {0x26, "Kotlin"},
                                        {0x27, "Zig"},
                                        {0x28, "Crystal"},
                                        {0x2a, "C_plus_plus_17"},
                                        {0x2b, "C_plus_plus_20"},
                                        {0x2c, "C17"},
                                        {0x2d, "Fortran18"},
                                        {0x2e, "Ada2005"},
                                        {0x2f, "Ada2012"},
                                        {0x30, "HIP"},
                                        {0x31, "Assembly"},
                                        {0x32, "C_sharp"},
                                        {0x33, "Mojo"},
                                        {0x34, "GLSL"},
                                        {0x35, "GLSL_ES"},
                                        {0x36, "HLSL"},
                                        {0x37, "OpenCL_CPP"},
                                        {0x38, "CPP_for_OpenCL"},
                                        {0x39, "SYCL"},
                                        {0x40, "Ruby"}};

static const struct name conventions[] = {{0x1, "normal"},
                                          {0x2, "program"},
                                          {0x3, "nocall"},
                                          {0x4, "pass_by_reference"},
                                          {0x5, "pass_by_value"},
                                          {0x40, "GNU_renesas_sh"},
                                          {0x41, "GNU_borland_fastcall_i386"},
                                          {0xb0, "BORLAND_safecall"},
                                          {0xb1, "BORLAND_stdcall"},
                                          {0xb2, "BORLAND_pascal"},
                                          {0xb3, "BORLAND_msfastcall"},
                                          {0xb4, "BORLAND_msreturn"},
                                          {0xb5, "BORLAND_thiscall"},
                                          {0xb6, "BORLAND_fastcall"},
                                          {0xc0, "LLVM_vectorcall"},
                                          {0xc1, "LLVM_Win64"},
                                          {0xc2, "LLVM_X86_64SysV"},
                                          {0xc3, "LLVM_AAPCS"},
                                          {0xc4, "LLVM_AAPCS_VFP"},
                                          {0xc5, "LLVM_IntelOclBicc"},
                                          {0xc6, "LLVM_SpirFunction"},
                                          {0xc7, "LLVM_OpenCLKernel"},
                                          {0xc8, "LLVM_Swift"},
                                          {0xc9, "LLVM_PreserveMost"},
                                          {0xca, "LLVM_PreserveAll"},
                                          {0xcb, "LLVM_X86RegCall"},
                                          {0xcc, "LLVM_M68kRTD"},
                                          {0xcd, "LLVM_PreserveNone"},
                                          {0xce, "LLVM_RISCVVectorCall"},
                                          {0xcf, "LLVM_SwiftTail"},
                                          {0xff, "GDB_IBM_OpenCL"}};

static const struct name operations[] = {{0x3, "addr"},
                                         {0x6, "deref"},
                                         {0x8, "const1u"},
                                         {0x9, "const1s"},
                                         {0xa, "const2u"},
                                         {0xb, "const2s"},
                                         {0xc, "const4u"},
                                         {0xd, "const4s"},
                                         {0xe, "const8u"},
                                         {0xf, "const8s"},
                                         {0x10, "constu"},
                                         {0x11, "consts"},
                                         {0x12, "dup"},
                                         {0x13, "drop"},
                                         {0x14, "over"},
                                         {0x15, "pick"},
                                         {0x16, "swap"},
                                         {0x17, "rot"},
                                         {0x18, "xderef"},
                                         {0x19, "abs"},
                                         {0x1a, "and"},
                                         {0x1b, "div"},
                                         {0x1c, "minus"},
                                         {0x1d, "mod"},
                                         {0x1e, "mul"},
                                         {0x1f, "neg"},
                                         {0x20, "not"},
                                         {0x21, "or"},
                                         {0x22, "plus"},
                                         {0x23, "plus_uconst"},
                                         {0x24, "shl"},
                                         {0x25, "shr"},
                                         {0x26, "shra"},
                                         {0x27, "xor"},
                                         {0x28, "bra"},
                                         {0x29, "eq"},
                                         {0x2a, "ge"},
                                         {0x2b, "gt"},
                                         {0x2c, "le"},
                                         {0x2d, "lt"},
                                         {0x2e, "ne"},
                                         {0x2f, "skip"},
                                         {0x90, "regx"},
                                         {0x91, "fbreg"},
                                         {0x92, "bregx"},
                                         {0x93, "piece"},
                                         {0x94, "deref_size"},
                                         {0x95, "xderef_size"},
                                         {0x96, "nop"},
                                         {0x97, "push_object_address"},
                                         {0x98, "call2"},
                                         {0x99, "call4"},
                                         {0x9a, "call_ref"},
                                         {0x9b, "form_tls_address"},
                                         {0x9c, "call_frame_cfa"},
                                         {0x9d, "bit_piece"},
                                         {0x9e, "implicit_value"},
                                         {0x9f, "stack_value"},
                                         {0xa0, "implicit_pointer"},
                                         {0xa1, "addrx"},
                                         {0xa2, "constx"},
                                         {0xa3, "entry_value"},
                                         {0xa4, "const_type"},
                                         {0xa5, "regval_type"},
                                         {0xa6, "deref_type"},
                                         {0xa7, "xderef_type"},
                                         {0xa8, "convert"},
                                         {0xa9, "reinterpret"},
                                         {0x1000, "LLVM_fragment"},
                                         {0x1001, "LLVM_convert"},
                                         {0x1002, "LLVM_tag_offset"},
                                         {0x1003, "LLVM_entry_value"},
                                         {0x1004, "LLVM_implicit_pointer"},
                                         {0x1005, "LLVM_arg"},
                                         {0x1006, "LLVM_extract_bits_sext"},
                                         {0x1007, "LLVM_extract_bits_zext"}};
static const struct name macros[] = {
    {1, "define"}, {2, "undef"}, {3, "start_file"}, {4, "end_file"}, {255, "vendor_ext"}};

static const struct name emissions[] = {
    {0, "NoDebug"}, {1, "FullDebug"}, {2, "LineTablesOnly"}, {3, "DebugDirectivesOnly"}};

static const struct name name_tables[] = {{1, "GNU"}, {2, "None"}, {3, "Apple"}};

static const struct name checksums[] = {{1, "CSK_MD5"}, {2, "CSK_SHA1"}, {3, "CSK_SHA256"}};

/* Bits of a set; two bits of the access come first. */
static const struct name flags[] = {
    {0x24, "IndirectVirtualBase"}, /* both bits */
    {1 << 2, "FwdDecl"},
    {1 << 3, "AppleBlock"},
    {1 << 4, "ReservedBit4"},
    {1 << 5, "Virtual"},
    {1 << 6, "Artificial"},
    {1 << 7, "Explicit"},
    {1 << 8, "Prototyped"},
    {1 << 9, "ObjcClassComplete"},
    {1 << 10, "ObjectPointer"},
    {1 << 11, "Vector"},
    {1 << 12, "StaticMember"},
    {1 << 13, "LValueReference"},
    {1 << 14, "RValueReference"},
    {1 << 15, "ExportSymbols"},
    {1 << 18, "IntroducedVirtual"},
    {1 << 19, "BitField"},
    {1 << 20, "NoReturn"},
    {1 << 22, "TypePassByValue"},
    {1 << 23, "TypePassByReference"},
    {1 << 24, "EnumClass"},
    {1 << 25, "Thunk"},
    {1 << 26, "NonTrivial"},
    {1 << 27, "BigEndian"},
    {1 << 28, "LittleEndian"},
    {1 << 29, "AllCallsDescribed"},
};

static const struct name subprogram_flags[] = {
    {1 << 2, "LocalToUnit"},    {1 << 3, "Definition"}, {1 << 4, "Optimized"},
    {1 << 5, "Pure"},           {1 << 6, "Elemental"},  {1 << 7, "Recursive"},
    {1 << 8, "MainSubprogram"}, {1 << 9, "Deleted"},    {1 << 11, "ObjCDirect"},
};

#define ROWS(table) table, sizeof table / sizeof *table
static const struct {
  const char *prefix;
  const struct name *rows;
  size_t count;
} tables[DWARF_KIND_COUNT] = {
    [DWARF_TAG] = {"DW_TAG_", ROWS(tags)},
    [DWARF_ENCODING] = {"DW_ATE_", ROWS(encodings)},
    [DWARF_LANGUAGE] = {"DW_LANG_", ROWS(languages)},
    [DWARF_CONVENTION] = {"DW_CC_", ROWS(conventions)},
    [DWARF_OPERATION] = {"DW_OP_", ROWS(operations)},
    [DWARF_MACINFO] = {"DW_MACINFO_", ROWS(macros)},
    [DWARF_EMISSION] = {"", ROWS(emissions)},
    [DWARF_NAME_TABLE] = {"", ROWS(name_tables)},
    [DWARF_CHECKSUM] = {"", ROWS(checksums)},
    [DWARF_FLAGS] = {"DIFlag", ROWS(flags)},
    [DWARF_SPFLAGS] = {"DISPFlag", ROWS(subprogram_flags)},
};

/* ---- Sets ---- */

static void put_word(struct textbuf *b, enum dwarf_kind kind, const char *word) {
  textbuf_format(b, b->length ? " | %s%s" : "%s%s", tables[kind].prefix, word);
}

/* The fields of two bits, which have names for values; they are taken out of *bits. */
static void put_fields(struct textbuf *b, enum dwarf_kind kind, uint64_t *bits) {
  static const char *const access[] = {"", "Private", "Protected", "Public"};
  static const char *const inheritance[] = {"", "SingleInheritance", "MultipleInheritance",
                                            "VirtualInheritance"};
  static const char *const virtuality[] = {"", "Virtual", "PureVirtual", ""};
  const char *const *names = kind == DWARF_FLAGS ? access : virtuality;
  if (*names[*bits & 3]) put_word(b, kind, names[*bits & 3]);
  if (kind == DWARF_FLAGS && *bits >> 16 & 3) put_word(b, kind, inheritance[*bits >> 16 & 3]);
  *bits &= ~(kind == DWARF_FLAGS ? UINT64_C(0x30003) : UINT64_C(3));
}

static bool put_set(struct textbuf *b, enum dwarf_kind kind, uint64_t bits) {
  if (bits == 0) return false;
  put_fields(b, kind, &bits);
  for (size_t i = 0; i < tables[kind].count; i++) {
    const struct name *row = &tables[kind].rows[i];
    if ((bits & row->number) != row->number) continue;
    put_word(b, kind, row->name);
    bits &= ~(uint64_t)row->number;
  }
  if (bits) textbuf_format(b, b->length ? " | %U" : "%U", bits);
  return true;
}

/* ---- Numbers with one name ---- */

/* Operations whose names end in a number. */
static bool put_numbered(struct textbuf *b, uint64_t number) {
  if (number < 0x30 || number > DW_OP_BREG31) return false;
  uint32_t kind = (uint32_t)(number - 0x30) / 32;
  static const char *const names[] = {"lit", "reg", "breg"};
  textbuf_format(b, "DW_OP_%s%u", names[kind], (uint32_t)(number - 0x30) % 32);
  return true;
}

bool bcdwarf_name(struct textbuf *b, enum dwarf_kind kind, uint64_t number) {
  if (kind == DWARF_FLAGS || kind == DWARF_SPFLAGS) return put_set(b, kind, number);
  if (kind == DWARF_OPERATION && put_numbered(b, number)) return true;
  for (size_t i = 0; i < tables[kind].count; i++) {
    if (tables[kind].rows[i].number != number) continue;
    textbuf_format(b, "%s%s", tables[kind].prefix, tables[kind].rows[i].name);
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
