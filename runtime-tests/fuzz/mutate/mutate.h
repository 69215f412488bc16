/* Mutations that know the language: a module is parsed, changed in its IR and printed. The result
 * is valid by the verifier, except that one mutation breaks a rule on purpose.
 *
 * After LLVM's FuzzMutate (operations are inserted between available values, and their results are
 * used later) and spirv-fuzz (blocks are split, wrapped in branches and loops, and donated by other
 * modules). Departure: values are not preserved, since the targets compare a program with its own
 * compilation. */
#ifndef NVM_FUZZ_MUTATE_H
#define NVM_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

#include "../random.h"

/* Writes a mutated copy of the module in `text`, which may be bitcode, to `out` as text. `out` has
 * `room` bytes and is not `text`. `only`: index of the one mutation to make, or MUTATE_ANY: one to
 * four random ones. A first line `; fuzz: …` is kept, added, or replaced by other options. Returns
 * the length; 0 if the text is not a valid module, no mutation applies, or the result does not fit.
 */
enum { MUTATE_ANY = -1 };
size_t mutate_text(const char *text, size_t size, char *out, size_t room, uint64_t seed, int only);
/* The same for two modules: definitions of `other` are linked into the module in `text`, which gets
 * copies of some of their blocks. */
size_t mutate_cross(const char *text, size_t size, const char *other, size_t other_size, char *out,
                    size_t room, uint64_t seed);

/* The name of mutation k; NULL after the last. */
const char *mutate_name(int k);

#endif
