/* nvmini fuzz: other PTX compilers, and nvmini, on generated kernels; differences are reported. */
#ifndef NVM_DRIVER_FUZZ_FUZZ_H
#define NVM_DRIVER_FUZZ_FUZZ_H

#include "driver/options.h"
#include "support/textbuf.h"

/* The command. Returns the exit status; the command line is already checked. */
int fuzz_command(const struct options *o);

enum { FUZZ_MAX_COMPILERS = 16, FUZZ_MAX_WORDS = 256 };

/* ---- process.c ---- */

enum fuzz_end { FUZZ_EXITED, FUZZ_SIGNALED, FUZZ_TIMED_OUT, FUZZ_NOT_STARTED };

struct fuzz_process {
  enum fuzz_end end;
  int code;                 /* exit status or signal */
  struct nvm_text out, err; /* what it printed, at most 4 MiB each, in the arena */
};

/* Runs a program (NULL-terminated words) for at most `seconds`, with standard input empty. Its
 * process group is killed after the time, or when the user interrupts. */
struct fuzz_process fuzz_run(const char *const *words, unsigned seconds, struct arena *arena);
/* Whether the user has interrupted the command (SIGINT, SIGTERM). */
bool fuzz_interrupted(void);
void fuzz_watch_interrupts(void);

/* ---- subjects.c ---- */

struct fuzz_compiler {
  const char *command; /* as given */
  const char *name;    /* its first word, numbered if another one has it */
  bool is_ours;        /* `nvmini ...`: this program */
};

enum fuzz_kind {
  FUZZ_RAN,     /* the PTX was executed without findings */
  FUZZ_FOUND,   /* executed; the simulator found something: out of bounds, a race, ... */
  FUZZ_GARBAGE, /* the compiler succeeded, but its output is no PTX or there is none */
  FUZZ_REFUSED, /* the compiler failed with an exit status */
  FUZZ_CRASHED, /* the compiler ended by a signal, or with nvmini's status of a bug */
  FUZZ_HUNG,    /* the compiler, or the program that it made, did not end in time */
};

struct fuzz_result {
  enum fuzz_kind kind;
  struct nvm_text output;  /* the buffers as `nvmini run` prints them, then findings */
  struct nvm_text message; /* first line of the failure */
};

struct fuzz_setup {
  const struct options *options;
  struct fuzz_compiler compilers[FUZZ_MAX_COMPILERS];
  uint32_t count;
  const char *self;    /* path of this program */
  const char *folder;  /* of temporary files */
  unsigned seconds;    /* limit of a compilation or an execution */
  struct arena *arena; /* of the command */
};

/* A kernel, and what became of it. [count] is the IR as written, executed as such. */
struct fuzz_case {
  const char *path;
  struct nvm_text text;
  bool is_ir, is_invalid;                 /* invalid: undefined when executed as written */
  const char *launch[FUZZ_MAX_WORDS + 1]; /* words of its `nvmini-run:` lines */
  struct fuzz_result results[FUZZ_MAX_COMPILERS + 1];
  struct arena *arena;
};

/* Takes the compilers of --compiler. Returns the exit status. */
int fuzz_take_compilers(struct fuzz_setup *s);
/* Reads the launch of the kernel in c->path. False if the file cannot be read. */
bool fuzz_read_case(struct fuzz_case *c);
/* Compiles by compiler k and executes; `limit` is the value of {bisect}, -1: all passes. */
struct fuzz_result fuzz_try(const struct fuzz_setup *s, const struct fuzz_case *c, uint32_t k,
                            int64_t limit, struct fuzz_process *compilation);
/* All compilers, and the IR as written. Fills c->results. */
void fuzz_try_all(const struct fuzz_setup *s, struct fuzz_case *c);

/* ---- vote.c ---- */

/* The results of a case compared. */
struct fuzz_verdict {
  bool is_finding;
  bool is_decided;                      /* a majority, or the IR as written, says what is right */
  uint32_t right;                       /* index of a result that is right, or of the first group */
  bool differs[FUZZ_MAX_COMPILERS + 1]; /* not as `right` */
  struct nvm_text kind; /* the class of the finding: `wrong clang-19: buffers 1`, ... */
};

/* Compares the results of all compilers, and of the IR as written. */
struct fuzz_verdict fuzz_vote(const struct fuzz_setup *s, const struct fuzz_case *c);
/* The first difference of two outputs: kernel, buffer, element, both values. */
void fuzz_print_difference(struct textbuf *out, const struct fuzz_case *c, struct nvm_text right,
                           struct nvm_text other);

/* ---- culprit.c ---- */

/* The pass after which compiler k differs: one line, or an empty text if it has no {bisect}. */
struct nvm_text fuzz_find_pass(const struct fuzz_setup *s, const struct fuzz_case *c, uint32_t k,
                               struct nvm_text right);

/* ---- corpus.c ---- */

struct fuzz_class {
  struct nvm_text text;
  uint64_t count;
};

/* The folder of findings, and the state of the search: kept in FOLDER/state. */
struct fuzz_corpus {
  const char *folder;
  uint64_t next_seed, kernels, invalid, compilations, executions, findings, kept;
  VEC(struct fuzz_class) classes;
  struct arena *arena;
};

/* Makes the folder, or reads the state in it. False if it cannot be made. */
bool fuzz_open_corpus(struct fuzz_corpus *p);
/* Writes the state. */
bool fuzz_save_corpus(const struct fuzz_corpus *p);
/* Counts a finding of the class; whether it is the first. */
bool fuzz_count_class(struct fuzz_corpus *p, struct nvm_text text);
/* How many of the class there were. */
uint64_t fuzz_seen_class(const struct fuzz_corpus *p, struct nvm_text text);
/* Makes FOLDER/NUMBER with the kernel, a test script, the reduced kernel (IR and PTX only), and the
 * report. */
void fuzz_keep(const struct fuzz_setup *s, struct fuzz_corpus *p, struct fuzz_case *c,
               const struct fuzz_verdict *v, struct nvm_text pass);

/* ---- generate.c ---- */

/* The text of a random kernel in IR, the same for the same seed. */
void fuzz_generate(struct textbuf *out, uint64_t seed);

#endif
