/* Diagnostics as people or programs read them, on standard error. */
#ifndef NVM_DRIVER_RENDER_H
#define NVM_DRIVER_RENDER_H

#include <stdbool.h>
#include <stdio.h>

#include "nvmini.h"

struct render {
  FILE *out;
  bool json;
  bool colour;
};

/* A renderer on standard error; colour on a terminal unless NO_COLOR is set. */
struct render render_start(bool json);

/* The nvmini_report callback; `user` is a struct render. */
void render_diagnostic(void *user, const struct nvmini_diagnostic *d);

#endif
