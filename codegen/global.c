/* Variables: state space, linkage and initializer, in an order in which each is declared before it
 * is named.
 *
 * A scalar becomes a PTX scalar (`.global .align 4 .u32 x = 5;`), anything else an array of bytes.
 * PTX initializes only elements of .u64 with addresses; if the addresses of an initializer are not
 * all aligned whole words, its elements are .u8, with `0xFF00(symbol)` for one byte of an address.
 * Initializers that refer to each other in a cycle need a declaration, which PTX only has for
 * external symbols: an internal variable becomes external. */
#include "codegen/part.h"
#include "codegen/report.h"
#include "codegen/symbol.h"
#include "ptx/ops.h"
#include "ptx/print.h"

uint16_t global_space(const struct nvm_global *g) {
  switch (g->address_space) {
    case 0:
    case 1: return PTX_MOD_GLOBAL;
    case 3: return PTX_MOD_SHARED;
    case 4: return PTX_MOD_CONST;
    default: return 0;
  }
}

struct variables {
  struct lower *l;
  const bool *used;
  uint8_t *state;                   /* by global: enum */
  VEC(struct nvm_value) references; /* of the variables on the stack */
  bool refused;
};
enum { STATE_NEW, STATE_ON_STACK, STATE_DECLARED_ON_STACK, STATE_DONE };

static void refuse(struct variables *v, const struct nvm_global *g, const char *what,
                   const char *detail) {
  report_refuse_symbol(v->l, &g->symbol, what, detail);
  v->refused = true;
}

/* --- Which variables are written --- */

static bool is_declaration(const struct nvm_global *g) {
  return value_is_none(g->initializer) || g->symbol.linkage == LINK_AVAILABLE_EXTERNALLY;
}

bool global_is_for_compiler(const struct lower *l, const struct nvm_global *g) {
  return text_is(module_text(l->module, g->symbol.section), "llvm.metadata") ||
         text_begins(module_text(l->module, g->symbol.name), "llvm.");
}

/* A list of functions to run before or after main that is not empty. */
static bool is_constructor_list(const struct lower *l, const struct nvm_global *g) {
  struct nvm_text name = module_text(l->module, g->symbol.name);
  return (text_is(name, "llvm.global_ctors") || text_is(name, "llvm.global_dtors")) &&
         !value_is_none(g->initializer) && !const_is_zero(l->module, g->initializer);
}

static bool is_written(const struct variables *v, uint32_t index) {
  const struct nvm_global *g = &v->l->module->globals.data[index];
  if (g->is_alias || global_is_for_compiler(v->l, g)) return false;
  return !is_declaration(g) || v->used[index];
}

/* --- Linkage and type --- */

static uint16_t linkage_of(const struct nvm_global *g) {
  if (is_declaration(g)) return PTX_MOD_EXTERN;
  switch ((enum linkage)g->symbol.linkage) {
    case LINK_PRIVATE:
    case LINK_INTERNAL: return 0;
    case LINK_LINKONCE:
    case LINK_LINKONCE_ODR:
    case LINK_WEAK:
    case LINK_WEAK_ODR: return PTX_MOD_WEAK;
    case LINK_COMMON: return g->address_space <= 1 ? PTX_MOD_COMMON : PTX_MOD_WEAK;
    case LINK_EXTERNAL:
    case LINK_AVAILABLE_EXTERNALLY:
    case LINK_APPENDING:
    case LINK_EXTERN_WEAK:
    case LINK_COUNT: break;
  }
  return PTX_MOD_VISIBLE;
}

/* The PTX type of a scalar; 0 for other types. */
static uint16_t scalar_type(const struct lower *l, struct nvm_type type) {
  const struct type_info *info = type_info(&l->module->types, type);
  uint32_t bits = info->width;
  if (info->kind == TY_PTR) bits = layout_pointer_bits(&l->module->layout, info->width);
  if (info->kind == TY_INT || info->kind == TY_PTR) return bits <= 64 ? mod_unsigned(bits) : 0;
  if (info->kind == TY_HALF || info->kind == TY_BFLOAT) return PTX_MOD_B16;
  if (info->kind == TY_FLOAT) return PTX_MOD_F32;
  return info->kind == TY_DOUBLE ? PTX_MOD_F64 : 0;
}

static uint32_t type_bytes(uint16_t type) { return ptx_mod_row(type)->bits / 8; }

/* Whether all addresses are aligned words of `bytes` bytes. */
static bool addresses_are_words(const struct image *image, uint32_t bytes) {
  for (uint32_t i = 0; i < image->addresses.count; i++) {
    const struct image_address *a = &image->addresses.data[i];
    if (a->bytes != bytes || a->offset % bytes != 0) return false;
  }
  return true;
}

static void set_array(struct ptx_variable *out, uint16_t type, uint64_t bytes) {
  out->type = type;
  out->is_array = true;
  out->count = bytes / type_bytes(type);
}

/* Type and size, which depend on the addresses in the initializer. */
static void set_type(const struct lower *l, const struct nvm_global *g, const struct image *image,
                     struct ptx_variable *out) {
  uint64_t bytes = type_is_sized(&l->module->types, g->value_type)
                       ? layout_alloc_size(&l->module->layout, &l->module->types, g->value_type)
                       : 0;
  uint32_t word = l->target->pointer_bits / 8;
  uint16_t word_type = word == 8 ? PTX_MOD_U64 : PTX_MOD_U32;
  uint16_t scalar = scalar_type(l, g->value_type);
  bool words = image->addresses.count > 0 && bytes % word == 0 && addresses_are_words(image, word);
  if (scalar && (image->addresses.count == 0 || (words && scalar == word_type))) {
    out->type = scalar;
    return;
  }
  if (image->addresses.count == 0) set_array(out, PTX_MOD_B8, bytes);
  else set_array(out, words ? word_type : PTX_MOD_U8, bytes);
  if (bytes > 0) return;
  out->is_unsized = out->linkage == PTX_MOD_EXTERN;
  out->count = 1; /* PTX has no empty variables */
}

/* --- Initializers --- */

static uint64_t image_number(const struct image *image, uint64_t at, uint32_t bytes) {
  uint64_t value = 0;
  for (uint32_t k = 0; k < bytes && at + k < image->bytes.length; k++)
    value |= (uint64_t)(unsigned char)image->bytes.bytes[at + k] << (k * 8);
  return value;
}

/* The number of elements up to the last that is not zero; PTX sets the rest to zero. */
static uint64_t significant_elements(const struct image *image, uint32_t each) {
  uint64_t end = image->bytes.length;
  if (image->addresses.count > 0) {
    const struct image_address *last = &image->addresses.data[image->addresses.count - 1];
    if (last->offset + last->bytes > end) end = last->offset + last->bytes;
  }
  return (end + each - 1) / each;
}

/* Reuses the module's table, because a variable is printed before the next one is made. */
static bool set_inits(struct variables *v, const struct nvm_global *g, const struct image *image,
                      struct ptx_variable *out) {
  struct lower *l = v->l;
  uint32_t each = type_bytes(out->type), next = 0;
  uint64_t count = significant_elements(image, each);
  l->ptx.inits.count = 0;
  out->first_init = 0;
  if (count > UINT32_MAX) {
    refuse(v, g, "its initializer", "it has more than 2^32 elements");
    return true;
  }
  if (out->type == PTX_MOD_B8) {
    out->bytes = (const unsigned char *)image->bytes.bytes;
    out->init_count = (uint32_t)count;
  }
  if (count == 0 || out->bytes) return true;
  if (!VEC_RESERVE(&l->arena, &l->ptx.inits, count)) return false;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at = i * each;
    struct ptx_init *init = &l->ptx.inits.data[i];
    const struct image_address *a =
        next < image->addresses.count ? &image->addresses.data[next] : NULL;
    if (!a || at < a->offset) {
      *init = (struct ptx_init){.bits = image_number(image, at, each)};
      continue;
    }
    if (value_kind(a->value.symbol) == VALUE_FUNCTION && a->value.number != 0) {
      refuse(v, g, "its initializer", "PTX has no address inside a function");
      return true;
    }
    *init = (struct ptx_init){.bits = (uint64_t)a->value.number,
                              .symbol = names_of_symbol(l, a->value.symbol),
                              .generic = a->value.generic};
    if (each == 1) init->mask_byte = (uint8_t)(1 + at - a->offset);
    if (at + each == a->offset + a->bytes) next++;
  }
  out->init_count = l->ptx.inits.count = (uint32_t)count;
  return true;
}

/* --- Special variables --- */

static bool is_marked(const struct lower *l, uint32_t index, const char *key) {
  uint64_t value;
  return annotation_number(l->annotations, value_make(VALUE_GLOBAL, index), key, &value) &&
         value != 0;
}

/* The type of a texture, surface or sampler reference; 0 for other variables. */
static uint16_t reference_type(const struct lower *l, uint32_t index) {
  if (!annotation_first(l->annotations, value_make(VALUE_GLOBAL, index))) return 0;
  if (is_marked(l, index, "texture")) return PTX_MOD_TEXREF;
  if (is_marked(l, index, "surface")) return PTX_MOD_SURFREF;
  return is_marked(l, index, "sampler") ? PTX_MOD_SAMPLERREF : 0;
}

static bool check_space(struct variables *v, const struct nvm_global *g) {
  const struct nvm_module *m = v->l->module;
  struct nvm_value i = g->initializer;
  bool is_initialized =
      !value_is_none(i) && !const_is_undef_or_poison(m, i) && !const_is_zero(m, i);
  if (g->address_space == 5)
    refuse(v, g, "a variable in local memory", "local variables belong to a function: use alloca");
  else if (global_space(g) == 0)
    refuse(v, g, "a variable in this address space", "variables live in 0, 1, 3 and 4");
  else if (g->symbol.thread_local != TLS_NONE)
    refuse(v, g, "a thread_local variable", "use alloca");
  else if (g->address_space == 3 && is_initialized)
    refuse(v, g, "an initializer in shared memory", "write undef or zeroinitializer");
  else return true;
  return false;
}

static uint32_t alignment(const struct lower *l, const struct nvm_global *g) {
  if (!g->align_log2 && !type_is_sized(&l->module->types, g->value_type)) return 1;
  return layout_written_align(&l->module->layout, &l->module->types, g->value_type, g->align_log2);
}

/* --- Writing --- */

static bool add_property(struct lower *l, const char *name, const char *word, uint64_t number) {
  struct ptx_init pair[2] = {{.is_property = true}, {.bits = number}};
  pair[0].symbol = strtab_intern(&l->module->strings, name, strlen(name));
  if (word) pair[1].symbol = strtab_intern(&l->module->strings, word, strlen(word));
  return VEC_PUSH(&l->arena, &l->ptx.inits, pair[0]) && VEC_PUSH(&l->arena, &l->ptx.inits, pair[1]);
}

/* The properties of a sampler, whose initializer has OpenCL's encoding: addressing mode in bits 0
 * to 2, 8 for normalized coordinates, 16 for a linear filter. */
static bool set_properties(struct variables *v, const struct nvm_global *g,
                           struct ptx_variable *out) {
  static const char *const modes[8] = {"wrap", "clamp_to_border", "clamp_to_edge", "wrap",
                                       "mirror"};
  static const char *const axes[] = {"addr_mode_0", "addr_mode_1", "addr_mode_2"};
  struct lower *l = v->l;
  struct image image;
  if (is_declaration(g) || const_is_undef_or_poison(l->module, g->initializer)) return true;
  initializer_image(l, g->initializer, &image);
  uint64_t bits = image_number(&image, 0, 8);
  if (image.failure || image.addresses.count || bits > 31 || !modes[bits & 7]) {
    refuse(v, g, "its initializer",
           "a sampler's is 0 to 31: addressing (0 to 4), 8 normalized, 16 linear");
    return true;
  }
  l->ptx.inits.count = 0;
  for (int i = 0; i < 3; i++)
    if (!add_property(l, axes[i], modes[bits & 7], 0)) return false;
  if (!add_property(l, "filter_mode", bits & 16 ? "linear" : "nearest", 0)) return false;
  if (!(bits & 8) && !add_property(l, "force_unnormalized_coords", NULL, 1)) return false;
  out->init_count = l->ptx.inits.count;
  return true;
}

static bool write_reference(struct variables *v, uint32_t index, uint16_t type) {
  struct lower *l = v->l;
  const struct nvm_global *g = &l->module->globals.data[index];
  struct ptx_variable out = {.name = names_of_symbol(l, value_make(VALUE_GLOBAL, index)),
                             .space = PTX_MOD_GLOBAL,
                             .type = type,
                             .linkage = linkage_of(g)};
  if (type == PTX_MOD_SAMPLERREF) {
    l->ptx.texmode_independent = true;
    if (!set_properties(v, g, &out)) return false;
  }
  ptx_print_variable(&l->ptx, &out, l->out);
  return true;
}

/* Writes one variable, or with `predeclare` only `.extern` with the same type. */
static bool write_variable(struct variables *v, uint32_t index, bool predeclare) {
  struct lower *l = v->l;
  const struct nvm_global *g = &l->module->globals.data[index];
  uint16_t reference = reference_type(l, index);
  if (!check_space(v, g)) return true;
  if (reference) return write_reference(v, index, reference);
  struct image image;
  bool has_image = !is_declaration(g) && g->address_space != 3;
  initializer_image(l, has_image ? g->initializer : VALUE_NULL, &image);
  if (image.failure) {
    refuse(v, g, "its initializer", image.failure);
    return true;
  }
  struct ptx_variable out = {.name = names_of_symbol(l, value_make(VALUE_GLOBAL, index)),
                             .space = global_space(g),
                             .linkage = predeclare ? PTX_MOD_EXTERN : linkage_of(g),
                             .align = alignment(l, g)};
  set_type(l, g, &image, &out);
  if (out.linkage == PTX_MOD_COMMON) report_require(l, TGT_NEED_COMMON, "common linkage");
  if (out.type == PTX_MOD_U8 && out.is_array)
    report_require(l, TGT_NEED_ADDRESS_BYTES, "bytes of an address in an initializer");
  out.managed =
      is_marked(l, index, "managed") && report_require(l, TGT_NEED_MANAGED, "managed variables");
  if (predeclare) out.managed = false;
  else if (!set_inits(v, g, &image, &out)) return false;
  ptx_print_variable(&l->ptx, &out, l->out);
  arena_reset(&l->function_arena);
  return !l->arena.failed;
}

/* --- Order --- */

/* Collects the variables that a constant refers to. */
static bool collect(struct variables *v, struct nvm_value constant) {
  struct nvm_value base = module_resolve_alias(v->l->module, constant);
  if (value_kind(base) == VALUE_GLOBAL) return VEC_PUSH(&v->l->arena, &v->references, base);
  if (value_kind(base) != VALUE_CONST) return true;
  const struct constant_info *c = constant_info(&v->l->module->constants, base);
  if (c->kind != CONST_AGGREGATE && c->kind != CONST_EXPR) return true;
  for (uint32_t i = 0, count = c->count; i < count; i++)
    if (!collect(v, const_operand(v->l->module, base, i))) return false;
  return true;
}

/* A variable whose references are being written. */
struct visit {
  uint32_t index;       /* of the global */
  uint32_t first, next; /* into references */
};

/* A variable refers to this one, which is being visited: declares it. */
static bool break_cycle(struct variables *v, uint32_t index) {
  const struct nvm_global *g = &v->l->module->globals.data[index];
  if (v->state[index] == STATE_DECLARED_ON_STACK) return true;
  v->state[index] = STATE_DECLARED_ON_STACK;
  if (global_space(g) == PTX_MOD_SHARED) {
    refuse(v, g, "an initializer that refers to itself in a cycle", "shared memory has none");
    return true;
  }
  if (linkage_of(g) == 0) v->l->module->globals.data[index].symbol.linkage = LINK_EXTERNAL;
  return write_variable(v, index, true);
}

static bool begin_visit(struct variables *v, uint32_t index, struct visit *out) {
  const struct nvm_global *g = &v->l->module->globals.data[index];
  *out = (struct visit){index, v->references.count, v->references.count};
  v->state[index] = STATE_ON_STACK;
  return is_declaration(g) || collect(v, g->initializer);
}

/* Writes a variable after all that it refers to. The stack is explicit because chains may be long.
 */
static bool write_with_references(struct variables *v, uint32_t root) {
  VEC(struct visit) stack = {NULL, 0, 0};
  struct visit first;
  if (!begin_visit(v, root, &first) || !VEC_PUSH(&v->l->arena, &stack, first)) return false;
  while (stack.count > 0) {
    struct visit *top = &stack.data[stack.count - 1];
    if (top->next == v->references.count) {
      if (!write_variable(v, top->index, false)) return false;
      v->state[top->index] = STATE_DONE;
      v->references.count = top->first;
      stack.count--;
      continue;
    }
    uint32_t index = value_index(v->references.data[top->next++]);
    if (v->state[index] == STATE_DONE || !is_written(v, index)) continue;
    if (v->state[index] != STATE_NEW) {
      if (!break_cycle(v, index)) return false;
      continue;
    }
    struct visit next;
    if (!begin_visit(v, index, &next) || !VEC_PUSH(&v->l->arena, &stack, next)) return false;
  }
  return true;
}

enum nvm_status global_write_all(struct lower *l, const bool *used) {
  struct variables v = {.l = l, .used = used};
  uint32_t count = l->module->globals.count;
  v.state = arena_alloc(&l->arena, count * sizeof *v.state);
  if (!v.state) return NVM_OUT_OF_MEMORY;
  size_t before = l->out->length;
  for (uint32_t i = 0; i < l->module->symbol_order.count; i++) {
    struct nvm_value symbol = l->module->symbol_order.data[i];
    if (value_kind(symbol) != VALUE_GLOBAL) continue;
    uint32_t index = value_index(symbol);
    const struct nvm_global *g = &l->module->globals.data[index];
    if (is_constructor_list(l, g))
      refuse(
          &v, g, "constructors of global objects",
          "nothing on the device would run them (see `nvmini knobs nvptx-lower-global-ctor-dtor`)");
    if (g->is_ifunc) refuse(&v, g, "an ifunc", "PTX has no resolvers");
    if (v.state[index] != STATE_NEW || !is_written(&v, index)) continue;
    if (!write_with_references(&v, index)) return NVM_OUT_OF_MEMORY;
  }
  if (l->out->length != before) textbuf_char(l->out, '\n');
  return v.refused ? NVM_REFUSED : NVM_OK;
}
