/* The entry point of the front end: text in, module out. */
#ifndef NVM_FRONTEND_PARSE_H
#define NVM_FRONTEND_PARSE_H

#include "ir/module.h"

/* Limits of the language, each with its own diagnostic. */
enum {
  PARSE_MAX_STACK = 10000,      /* parser states: some 2,000 levels of nesting */
  PARSE_MAX_TYPE_NESTING = 512, /* structs in arrays in structs …, also by name */
  PARSE_MAX_VECTOR_LANES = 65536,
  PARSE_MAX_EXPANDED = 1 << 22,  /* attributes by references to groups, of a module */
  PARSE_MAX_NUMBER = 0x7fffffff, /* of %N, @N, !N, #N */
};
#define PARSE_MAX_BYTES UINT64_C(0xfffffff0) /* of one source */

/* Reads `length` bytes of NVVM IR into the empty module `m`.
 *
 * text[length] must be readable and be '\0' (the scanner's sentinel). The text is borrowed during
 * the call only. `source` goes into the ranges of diagnostics and symbols; `name` is the source
 * file name of a module that does not state one.
 *
 * NVM_OK; NVM_REFUSED after at least one error in `sink` (the module is then only good for
 * module_destroy); NVM_OUT_OF_MEMORY. */
enum nvm_status parse_module(struct nvm_module *m, const char *text, size_t length,
                             const char *name, uint32_t source, struct diag_sink *sink);

/* For a text that the caller can read again. */
struct parse_release {
  void (*release)(void *state, size_t end); /* the bytes before `end` are not read any more */
  void *state;
  bool again; /* result */
};

/* The same for a text whose beginning is released while the rest is read. Messages need it: if
 * something was reported, `again` is set, the status is NVM_REFUSED, and the text must be read and
 * parsed as a whole, with another sink. */
enum nvm_status parse_module_releasing(struct nvm_module *m, const char *text, size_t length,
                                       const char *name, uint32_t source, struct diag_sink *sink,
                                       struct parse_release *release);

/* What needs the whole module, for readers of it: intrinsics, !nvvm.annotations, !nvvmir.version.
 */
struct parser;
void parse_finish(struct parser *p);

#endif
