/* A module: the contents of one .nvir file.
 *
 * The module owns its arena and everything in it: types, constants, strings, metadata, globals,
 * functions and their bodies. Handles are valid in their module only. */
#ifndef NVM_IR_MODULE_H
#define NVM_IR_MODULE_H

#include "ir/attribute.h"
#include "ir/constant.h"
#include "ir/layout.h"
#include "ir/metadata.h"
#include "support/diag.h"
#include "support/status.h"

enum linkage {
  LINK_EXTERNAL,
  LINK_PRIVATE,
  LINK_INTERNAL,
  LINK_AVAILABLE_EXTERNALLY,
  LINK_LINKONCE,
  LINK_LINKONCE_ODR,
  LINK_WEAK,
  LINK_WEAK_ODR,
  LINK_COMMON,
  LINK_APPENDING,
  LINK_EXTERN_WEAK,
  LINK_COUNT,
};
enum visibility { VIS_DEFAULT, VIS_HIDDEN, VIS_PROTECTED, VIS_COUNT };
enum preemption { PREEMPT_NONE, PREEMPT_LOCAL, PREEMPT_PREEMPTABLE, PREEMPT_COUNT };
enum dll_storage { DLL_NONE, DLL_IMPORT, DLL_EXPORT, DLL_COUNT };
enum unnamed_addr { UNNAMED_NONE, UNNAMED_LOCAL, UNNAMED_GLOBAL, UNNAMED_COUNT };
enum thread_local_model {
  TLS_NONE,
  TLS_GENERAL,
  TLS_LOCALDYNAMIC,
  TLS_INITIALEXEC,
  TLS_LOCALEXEC,
  TLS_COUNT
};

extern const char *const linkage_names[LINK_COUNT]; /* [LINK_EXTERNAL] is "" */
extern const char *const visibility_names[VIS_COUNT];
extern const char *const preemption_names[PREEMPT_COUNT];
extern const char *const dll_storage_names[DLL_COUNT];
extern const char *const unnamed_addr_names[UNNAMED_COUNT];
extern const char
    *const thread_local_names[TLS_COUNT]; /* "thread_local", "thread_local(localdynamic)" … */

/* Calling conventions by LLVM's numbers. */
enum calling_convention {
  CC_C = 0,
  CC_FAST = 8,
  CC_COLD = 9,
  CC_PTX_KERNEL = 71,
  CC_PTX_DEVICE = 72,
  CC_SPIR_FUNC = 75,
  CC_SPIR_KERNEL = 76,
};
/* "ptx_kernel" for 71, "ccc" for 0 (usually omitted); NULL for those printed as `cc N`. */
const char *calling_convention_name(uint32_t cc);

/* The common part of functions, variables and aliases. */
struct symbol {
  struct nvm_str name; /* without @; 0: numbered */
  uint8_t linkage;     /* enum linkage */
  uint8_t visibility;
  uint8_t preemption;
  uint8_t dll_storage;
  uint8_t unnamed_addr;
  uint8_t thread_local;
  bool declared_only; /* no initializer, no body */
  bool defined;       /* false: only referenced so far (an error at the end of the file) */
  uint32_t comdat;    /* index + 1 into comdats, 0: none */
  struct nvm_str section;
  struct nvm_str partition;
  struct diag_range where; /* of its name in the source */
  uint32_t attachments;    /* metadata attachments: first link of the chain, 0: none */
};

/* A variable (alias == VALUE_NULL), or an alias or ifunc (alias: its target). */
/* Visible in this module only: internal or private. */
static inline bool symbol_is_local(const struct symbol *s) {
  return s->linkage == LINK_INTERNAL || s->linkage == LINK_PRIVATE;
}

struct nvm_global {
  struct symbol symbol;
  struct nvm_type value_type;
  uint32_t address_space;
  struct nvm_value initializer; /* VALUE_NULL: declared only */
  struct nvm_value aliasee;
  bool is_alias, is_ifunc;
  bool is_constant;
  bool externally_initialized;
  uint8_t align_log2; /* log2 + 1; 0: none */
  struct nvm_attrset attributes;
};

struct comdat {
  struct nvm_str name;
  struct nvm_str kind; /* "any", "largest" … */
};

/* A metadata attachment `!kind !node`, in a chain. */
struct attachment {
  struct nvm_str kind;
  struct nvm_meta node;
  uint32_t next; /* index into attachments, 0: end */
  uint32_t last; /* in the first of a chain: its end; 0: the chain is shared and never changes */
};

/* The parts of a call other than its operands; interned, since most calls of a function are
 * alike. */
struct call_site {
  struct nvm_type function_type;
  struct nvm_attrlist attributes;
  uint32_t convention;
  uint32_t first_bundle, bundle_count; /* operand bundles; their values follow the arguments */
};
struct operand_bundle {
  struct nvm_str tag;
  uint32_t count; /* values */
};

struct nvm_function;

struct nvm_module {
  struct arena arena;
  struct strtab strings;
  struct type_table types;
  struct constant_table constants;
  struct meta_table metadata;
  struct attr_table_data attributes;
  struct nvm_layout layout;
  struct nvm_str layout_text, triple, source_filename, module_id;
  bool has_layout, has_triple; /* written in the source */
  uint8_t triple_rule; /* enum triple_rule of target/triple.h, by which the parser checks triples */
  VEC(struct nvm_str) module_asm; /* one entry a line */
  VEC(struct comdat) comdats;
  VEC(struct nvm_global) globals;       /* [0]: dummy */
  VEC(struct nvm_function *) functions; /* [0]: dummy */
  VEC(struct nvm_value) symbol_order;   /* globals and functions in source order */
  VEC(struct attachment) attachments;   /* [0]: dummy */
  VEC(struct call_site) call_sites;     /* [0]: dummy */
  VEC(struct operand_bundle) bundles;
  VEC(struct nvm_str) sync_scopes; /* [0]: system, "" */
  uint32_t *call_site_slots;
  uint32_t call_site_slot_count;
  uint32_t *symbol_slots; /* name → index into symbol_order + 1 */
  uint32_t symbol_slot_count;
};

/* A module in memory from `allocator`, limited to `limit_bytes` (0: no limit). NULL when out of
 * memory. The struct is in its own arena. */
struct nvm_module *module_create(struct nvm_allocator allocator, size_t limit_bytes);
void module_destroy(struct nvm_module *m);

static inline struct nvm_text module_text(const struct nvm_module *m, struct nvm_str s) {
  return strtab_text(&m->strings, s);
}
static inline struct nvm_str module_str(struct nvm_module *m, const char *s) {
  return strtab_intern(&m->strings, s, strlen(s));
}
static inline bool module_out_of_memory(const struct nvm_module *m) { return m->arena.failed; }

/* Adds an empty global or function of that name (0: numbered) at the end of symbol_order.
 * VALUE_NULL when out of memory. The name must be free. */
struct nvm_value module_add_global(struct nvm_module *m, struct nvm_str name);
struct nvm_value module_add_function(struct nvm_module *m, struct nvm_str name);
/* The global or function of that name, or VALUE_NULL. */
struct nvm_value module_find_symbol(const struct nvm_module *m, struct nvm_str name);
/* Gives a symbol a free name and moves it to the end of symbol_order. False when out of memory. */
bool module_rename_symbol(struct nvm_module *m, struct nvm_value symbol, struct nvm_str name);
/* Removes a symbol and its name, e.g. a dead declaration. Its record stays; its place in
 * symbol_order becomes VALUE_NULL, which readers skip. */
void module_remove_symbol(struct nvm_module *m, struct nvm_value symbol);

/* Whether a definition must be kept although the module has no use of it: other modules may. */
bool module_must_keep(const struct nvm_module *m, struct nvm_value symbol);

static inline struct nvm_global *module_global(const struct nvm_module *m, struct nvm_value v) {
  return &m->globals.data[value_index(v)];
}
static inline struct nvm_function *module_function(const struct nvm_module *m, struct nvm_value v) {
  return m->functions.data[value_index(v)];
}
/* The final target of an alias (a symbol or an expression); other values as they are. */
static inline struct nvm_value module_resolve_alias(const struct nvm_module *m,
                                                    struct nvm_value symbol) {
  while (value_kind(symbol) == VALUE_GLOBAL && module_global(m, symbol)->is_alias)
    symbol = module_global(m, symbol)->aliasee;
  return symbol;
}
/* The symbol part of a global or function. */
struct symbol *module_symbol(const struct nvm_module *m, struct nvm_value v);

/* Interned call site. Index 0 when out of memory. */
uint32_t module_call_site(struct nvm_module *m, struct call_site s);
/* Appends an attachment to the chain at *chain. */
bool module_attach(struct nvm_module *m, uint32_t *chain, struct nvm_str kind,
                   struct nvm_meta node);
/* Shares the chain; it is copied on write. */
uint32_t module_share_attachments(struct nvm_module *m, uint32_t chain);
/* The node attached under `kind`, or {0}. */
struct nvm_meta module_attachment(const struct nvm_module *m, uint32_t chain, struct nvm_str kind);
/* Whether metadata is an integer constant of at most 128 bits; *value its bits, zero-extended. */
bool meta_is_int(const struct nvm_module *m, struct nvm_meta meta, nvm_u128 *value);
/* The number of a sync scope name in memory_access.scope; new names are added. UINT32_MAX if all
 * numbers are in use. */
enum { MODULE_MAX_SYNC_SCOPE = 255 };
uint32_t module_sync_scope(struct nvm_module *m, struct nvm_str name);

/* The type of a constant, global or function as an operand (a pointer for the latter two). */
struct nvm_type module_value_type(const struct nvm_module *m, struct nvm_value v);
/* Makes the pointer types of all symbols, so that no later question about a type makes one: what
 * type_info() returned would move. */
void module_make_address_types(struct nvm_module *m);

#endif
