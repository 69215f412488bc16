/* SHA-256 (FIPS 180-4) over bytes that arrive in pieces. */
#ifndef NVM_DRIVER_SHA256_H
#define NVM_DRIVER_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_BYTES = 32, SHA256_DIGITS = 2 * SHA256_BYTES };

struct sha256 {
  uint32_t state[8];
  uint64_t length; /* bytes added so far */
  uint8_t block[SHA256_BLOCK];
};

/* The state before the first byte; needs no release. */
struct sha256 sha256_start(void);

/* Adds the next bytes of the message. */
void sha256_add(struct sha256 *s, const void *bytes, size_t length);

/* Adds a length and then the bytes, so that the bounds of consecutive pieces count. */
void sha256_add_piece(struct sha256 *s, const void *bytes, size_t length);

/* Writes the sum as lower-case hexadecimal digits and a NUL. `s` cannot be used afterwards. */
void sha256_finish(struct sha256 *s, char digits[SHA256_DIGITS + 1]);

#endif
