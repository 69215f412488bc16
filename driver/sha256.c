/* SHA-256 as FIPS 180-4, section 6.2, defines it, with its names for the functions. */
#include "driver/sha256.h"

#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

struct sha256 sha256_start(void) {
  return (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                   0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* The message schedule W of section 6.2.2, step 1. */
static void schedule(const uint8_t *block, uint32_t w[64]) {
  for (int t = 0; t < 16; t++, block += 4)
    w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
  for (int t = 16; t < 64; t++) {
    uint32_t sigma0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    uint32_t sigma1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
  }
}

/* Steps 2 to 4: v holds the working variables a to h. */
static void compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], v[8];
  schedule(block, w);
  memcpy(v, state, sizeof v);
  for (int t = 0; t < 64; t++) {
    uint32_t sum1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
    uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t sum0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
    uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t t1 = v[7] + sum1 + ch + K[t] + w[t];
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += t1;
    v[0] = t1 + sum0 + maj;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_add(struct sha256 *s, const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  size_t filled = s->length % SHA256_BLOCK;
  s->length += length;
  while (length > 0) {
    size_t n = SHA256_BLOCK - filled < length ? SHA256_BLOCK - filled : length;
    memcpy(s->block + filled, from, n);
    from += n, length -= n, filled += n;
    if (filled < SHA256_BLOCK) break;
    compress(s->state, s->block);
    filled = 0;
  }
}

/* The most significant byte first. */
static void put_u64(uint8_t out[8], uint64_t n) {
  for (int i = 7; i >= 0; i--, n >>= 8) out[i] = (uint8_t)n;
}

void sha256_add_piece(struct sha256 *s, const void *bytes, size_t length) {
  uint8_t prefix[8];
  put_u64(prefix, length);
  sha256_add(s, prefix, sizeof prefix);
  sha256_add(s, bytes, length);
}

void sha256_finish(struct sha256 *s, char digits[SHA256_DIGITS + 1]) {
  static const uint8_t padding[SHA256_BLOCK] = {0x80};
  uint8_t bits[8];
  put_u64(bits, s->length * 8);
  sha256_add(s, padding, 1 + (SHA256_BLOCK + 55 - s->length % SHA256_BLOCK) % SHA256_BLOCK);
  sha256_add(s, bits, sizeof bits);
  for (int i = 0; i < SHA256_DIGITS; i++)
    digits[i] = "0123456789abcdef"[s->state[i / 8] >> (28 - i % 8 * 4) & 15];
  digits[SHA256_DIGITS] = '\0';
}
