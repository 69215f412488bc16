/* The search of `nvmini reduce`: tries of smaller candidates, several at a time. */
#ifndef NVM_DRIVER_REDUCE_SEARCH_H
#define NVM_DRIVER_REDUCE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "driver/files.h"

enum { SEARCH_MAX_JOBS = 64 };

/* An input, and the best of it so far. */
struct reduced_file {
  const char *path;       /* as given */
  char *name;             /* of candidates and of the output; malloc'ed */
  bool is_ptx;            /* otherwise IR */
  struct file_bytes file; /* as read */
  struct nvm_text head;   /* leading comments of IR, which are kept */
  char *text;             /* the best so far, without the head; malloc'ed, NUL at the end */
  size_t length;          /* bytes */
};

struct reduction_state {
  const char *command; /* of the test */
  const char *folder;  /* of candidates */
  struct reduced_file *files;
  uint32_t file_count;
  uint32_t current; /* the file that candidates replace */
  char *passes;     /* remaining passes, malloc'ed; NULL: none given */
  uint32_t jobs;    /* candidates that are tried at the same time */
  uint32_t tries;   /* those that one job would have made */
  uint64_t first_bytes; /* of all files before the search */
};

/* The bytes of the best versions of all files. */
uint64_t search_bytes_left(const struct reduction_state *r);

/* A smaller version of the current file. */
struct candidate {
  char *text; /* malloc'ed; NULL: nothing to try */
  size_t length;
  char *passes;    /* malloc'ed; NULL: as they are */
  uint32_t places; /* where the reduction applies, in the best version */
};

/* Makes the candidate that is reduced at `count` places from `first` on. `count` 0: only counts the
 * places. */
typedef void search_make(const struct reduction_state *r, const void *what, uint32_t first,
                         uint32_t count, struct candidate *c);

/* Delta debugging: tries the reduction at `largest` places at once (at most all), at half as many,
 * ... at single ones. Candidates that the test command accepts are kept. With several jobs the next
 * candidates are tried too, and the first accepted one is kept, so that the result is that of one
 * job. Returns whether anything was kept. */
bool search_places(struct reduction_state *r, search_make *make, const void *what,
                   uint32_t largest);

/* Whether the test command accepts the files as they are. */
bool search_accepts(struct reduction_state *r);

#endif
