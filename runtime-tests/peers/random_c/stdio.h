/* For the driver that YARPGen writes: the number that it prints is the checksum. */
#ifndef RANDOM_STDIO_H
#define RANDOM_STDIO_H
#include "entry.h"
#include <stddef.h>
#define printf(format, number) checksum_add(number)
#define main program
#endif
