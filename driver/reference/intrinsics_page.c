/* The reference page of intrinsics, one table. Signatures are written with LLVM's names of types.
 */
#include "driver/reference/page.h"

#include "driver/commands.h"
#include "ir/intrinsic.h"
#include "ptx/ops.h"

#include <ctype.h>
#include <string.h>

/* The words of a signature that are not LLVM's. */
static const struct {
  const char *word, *text;
} types[] = {
    {"f16", "half"},
    {"f32", "float"},
    {"f64", "double"},
    {"bf16", "bfloat"},
    {"imm", "constant"},
    {"h16", "bfloat-or-i16"},
    {"h32", "<2 x bfloat>-or-i32"},
};

static void put_type(struct textbuf *out, const char *word, size_t length) {
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    if (strlen(types[k].word) == length && memcmp(types[k].word, word, length) == 0) {
      textbuf_puts(out, types[k].text);
      return;
    }
  struct nvm_text rest = {word + 1, length - 1};
  size_t digits = 0;
  while (digits < rest.length && isdigit((unsigned char)rest.bytes[digits])) digits++;
  if (word[0] == 'p' && digits > 0 && digits == rest.length) {
    if (rest.bytes[0] == '0') textbuf_puts(out, "ptr");
    else textbuf_format(out, "ptr addrspace(%t)", rest);
  } else if (word[0] == 'v' && digits > 0 && digits < rest.length) {
    textbuf_format(out, "<%t x ", (struct nvm_text){rest.bytes, digits});
    put_type(out, rest.bytes + digits, rest.length - digits);
    textbuf_char(out, '>');
  } else {
    textbuf_write(out, word, length);
  }
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

void reference_signature(struct textbuf *out, const struct intrinsic_info *intrinsic) {
  const char *text = intrinsic->signature;
  while (*text != '\0') {
    size_t length = 0;
    while (is_word(text[length])) length++;
    if (length == 0) {
      textbuf_char(out, *text++);
    } else {
      /* NAME=TYPE: the name is for the PTX column; TYPE*4 remains */
      if (text[length] != '=') put_type(out, text, length);
      text += length + (text[length] == '=');
    }
  }
}

/* The PTX column: the first instruction as a link to its section. */
static void put_ptx(struct textbuf *out, const char *ptx) {
  size_t length = 0;
  while (is_word(ptx[length])) length++;
  enum ptx_op op = ptx_find_op(ptx, length);
  if (op != 0) page_word(out, "ptx", ptx_op_row((uint16_t)op)->text), textbuf_char(out, ' ');
  if (ptx[0] == '!') page_plain(out, ptx + 1);
  else page_code(out, text_of(ptx));
}

static void put_row(struct textbuf *out, const struct intrinsic_info *row) {
  const char *effects[TABLES_MAX_FLAGS];
  uint32_t count = tables_effects(row->flags, effects);
  textbuf_format(out, "| <a id=\"%s\"></a>`%s` | `", row->name, row->name);
  reference_signature(out, row);
  textbuf_puts(out, "` | ");
  for (uint32_t k = 0; k < count; k++) textbuf_format(out, "%s%s", k ? ", " : "", effects[k]);
  textbuf_puts(out, count ? " | " : "none | ");
  put_ptx(out, row->ptx);
  textbuf_puts(out, " | ");
  page_requirement_text(out, text_of(row->requires));
  textbuf_puts(out, " |\n");
}

void intrinsics_page_put(struct textbuf *out) {
  textbuf_puts(
      out,
      "In signatures, `I` is any integer type, `F` any floating-point type, `P` any pointer (or "
      "vectors of these), `T` any type, `S` any scalar integer. Equal letters are one type, `I1` "
      "another one; each is a suffix of the name (`llvm.fabs.f32`). `@I` is the element type of "
      "`I`, `T*4` four arguments or members of type T, "
      "`[T*N]` a structure, but for N = 1 its member, `constant` a constant argument, `...` any "
      "further arguments; after `;` follows another accepted signature, and `*` alone is not "
      "checked.\n\n"
      "Effects: reads or writes memory (of its arguments only), convergent (not to be moved into "
      "or out of branches).\n\n"
      "PTX: `$d` is the result, `$0` an argument, `$r1` a temporary, `.ftz?` a word that depends "
      "on the call; `@name` is a function of `codegen/` that makes the instructions; other text "
      "says why there are none.\n\n"
      "| name | signature | effects | PTX | needs |\n|---|---|---|---|---|\n");
  for (int i = INTRINSIC_NONE + 1; i < INTRINSIC_COUNT; i++) put_row(out, &intrinsic_table[i]);
}
