/* Where `compile` writes: a file, or a folder with one file for each input. */
#ifndef NVM_DRIVER_OUTPUTS_H
#define NVM_DRIVER_OUTPUTS_H

#include "driver/options.h"

/* Whether the output is a folder: if there are several inputs, or if -o names a folder or ends in
 * a slash. */
bool outputs_is_folder(const struct options *o);

/* Checks -o and that no two inputs have the same output. Returns EXIT_DONE, or EXIT_USAGE after an
 * error message. */
int outputs_check(const struct options *o);

/* FOLDER/STEM.ptx for an input DIR/STEM.ll, with the extension of the kind of output. The caller
 * frees. NULL when out of memory. */
char *outputs_path(const struct options *o, const char *input);

/* Makes the folder if it is missing; otherwise errno says why not. */
bool outputs_make_folder(const struct options *o);

#endif
