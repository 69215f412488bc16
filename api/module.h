/* Access to internals for the command and tests, in addition to the public API. */
#ifndef NVM_API_MODULE_H
#define NVM_API_MODULE_H

#include "frontend/parse.h"
#include "nvmini.h"
#include "opt/pass.h"

/* The module as in ir/module.h; the handle owns it. */
struct nvm_module *module_of_handle(const struct nvmini_module *module);

/* The target of the context's options, for which nvmini_compile() would compile. An error is
 * reported. */
enum nvmini_status module_target(struct nvmini_context *context, struct nvm_target *target);

/* Sets the pass manager's on_change (opt/pass.h) for the context. The callback reports its own
 * errors. */
typedef enum nvm_status module_change(void *state, struct nvm_module *m, const char *pass,
                                      const struct nvm_function *f);
void module_on_change(struct nvmini_context *context, module_change *on_change, void *state);

/* nvmini_parse() with least memory, for a text that the caller can read again: its beginning is
 * released while the rest is read (frontend/parse.h). If `again` is set, nothing was reported: the
 * caller must read the text and pass it to nvmini_parse(). */
enum nvmini_status module_parse_releasing(struct nvmini_context *context, const char *text,
                                          size_t length, const char *name,
                                          struct parse_release *release,
                                          struct nvmini_module **module);

/* The text passed to nvmini_parse() is no longer borrowed: `reread` returns it whenever a message
 * needs it, valid until the next call with the module. */
typedef struct nvmini_text module_reread(void *state);
void module_drop_source(struct nvmini_module *module, module_reread *reread, void *state);

typedef bool module_spill(void *state, const struct nvm_text *pieces, uint32_t count);

/* nvmini_compile() with least memory: the text is in pieces, whose array is valid until the
 * module's release, and this is the last call with the module before it. `spill`, which may be
 * NULL, can take all but the first piece earlier: what it gets goes after the first (codegen.h). */
enum nvmini_status module_compile_pieces(struct nvmini_module *module, module_spill *spill,
                                         void *state, const struct nvm_text **pieces,
                                         uint32_t *count);

/* Whether the source is text, so that offsets have lines; otherwise it is bitcode. */
bool module_is_text(const struct nvmini_module *module);

#endif
