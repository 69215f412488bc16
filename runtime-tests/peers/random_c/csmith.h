/* In place of Csmith's own csmith.h: the platform part without a C library, and a cheaper checksum.
 */
#ifndef RANDOM_RUNTIME_H
#define RANDOM_RUNTIME_H
#include "entry.h"
#include <float.h>

#define STATIC static
#define UNDEFINED(value) (value)
#define LOG_INDEX
#define LOG_EXEC
#define assert(condition)
#define printf(...) 0
#define fabs(x) __builtin_fabs(x)
#define fabsf(x) __builtin_fabsf(x)
#define FUNC_NAME(x) (safe_##x)
#include "safe_math.h"
#undef FUNC_NAME
#define INT_BIT 32
#define _CSMITH_BITFIELD(x) (((x) > INT_BIT) ? ((x) % INT_BIT) : (x))

static unsigned crc32_context;
static void crc32_gentab(void) {}
static void transparent_crc(uint64_t value, char *name, int flag) { checksum_add(value); }
static void transparent_crc_bytes(char *at, int count, char *name, int flag) {
  for (int i = 0; i < count; i++) checksum_add((uint8_t)at[i]);
}
static void platform_main_begin(void) {}
static void platform_main_end(unsigned crc, int flag) {}

static int program(void);
PROGRAM_ENTRY
#define main program
#endif
