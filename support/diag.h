/* Diagnostics as values. The library reports; only the driver renders text, carets and JSON.
 *
 * Every kind of diagnostic is a row of support/diags.def: id, severity, message with arguments %0
 * to %9, and explanation. A warning's id is its name after -W. A diagnostic has the byte range
 * [begin, end) of its source, and its arguments as text. */
#ifndef NVM_SUPPORT_DIAG_H
#define NVM_SUPPORT_DIAG_H

#include "support/nearest.h"

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_REMARK, DIAG_NOTE };

enum diag_id {
#define DIAG(id, severity, message, meaning) DIAG_##id,
#include "support/diags.def"
#undef DIAG
  DIAG_COUNT
};

enum { DIAG_MAX_ARGUMENTS = 6 };

/* A range of bytes in one source; begin and end 0: none. */
struct diag_range {
  uint32_t source; /* index of the input: 0 the main file, then the linked ones */
  uint64_t begin;
  uint64_t end;
};

struct diag {
  enum diag_id id;
  enum diag_severity severity;
  struct diag_range range;
  struct nvm_text message;  /* without location; owned by the sink's arena */
  struct nvm_text function; /* the function concerned, without @; empty: none */
  struct nvm_text hint;     /* a suggestion, or empty */
};

/* The policy for warnings: -Wno-NAME, -Werror, -Werror=NAME, -Wno-error=NAME. Zero: all are
 * reported, none is an error. */
struct diag_policy {
  bool errors;            /* warnings are errors unless `of` says otherwise */
  uint8_t of[DIAG_COUNT]; /* DIAG_POLICY_ bits */
};
enum { DIAG_POLICY_OFF = 1, DIAG_POLICY_ERROR = 2, DIAG_POLICY_NO_ERROR = 4 };

/* Applies the text after -W: NAME, no-NAME, error, no-error, error=NAME, no-error=NAME. False,
 * without effect, if no warning has the name, which is stored in *unknown. */
bool diag_policy_set(struct diag_policy *p, const char *text, const char **unknown);

struct diag_sink {
  struct arena *arena;              /* borrowed; owns the texts */
  const struct diag_policy *policy; /* borrowed, or NULL */
  VEC(struct diag) list;
  uint32_t error_count;
  uint32_t error_limit; /* stop storing errors beyond this number; 0: no limit */
  bool repeated;        /* the last one was dropped, for it was there: so are its notes */
};

/* An empty sink, which stores diagnostics in `arena`. error_limit 0: no limit. */
void diag_sink_init(struct diag_sink *s, struct arena *arena, uint32_t error_limit);

/* Reports a diagnostic with the arguments for %0, %1 … of its row. Returns it (to add a hint or
 * function), or NULL if it was not stored: beyond the limit, turned off, or like one before
 * it at the same place: a warning like the last diagnostic, an error like one of the last. */
struct diag *diag_report(struct diag_sink *s, enum diag_id id, struct diag_range range,
                         const struct nvm_text *arguments, uint32_t count);

/* The same with up to three NUL-terminated arguments; NULL ends the list. */
struct diag *diag_report_s(struct diag_sink *s, enum diag_id id, struct diag_range range,
                           const char *a0, const char *a1, const char *a2);

/* Sets a spelling suggestion, if there is one, as the hint; d may be NULL. */
void diag_suggest(const struct diag_sink *s, struct diag *d, const struct nearest *n);

/* The columns of a row. */
const char *diag_name(enum diag_id id);    /* "undefined-local" */
const char *diag_message(enum diag_id id); /* with %0 … */
const char *diag_meaning(enum diag_id id); /* explanation for `nvmini diagnostics ID` */
enum diag_severity diag_severity(enum diag_id id);

/* True if the error limit is reached. */
static inline bool diag_full(const struct diag_sink *s) {
  return s->error_limit != 0 && s->error_count >= s->error_limit;
}

#endif
