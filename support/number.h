/* Decimal numbers in the text of options. */
#ifndef NVM_SUPPORT_NUMBER_H
#define NVM_SUPPORT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the decimal digits at *text and moves it past them. False if there are none, or if the
 * number exceeds `max`. */
bool number_read(const char **text, uint64_t max, uint64_t *number);

/* The same if `text` holds nothing else. */
bool number_read_all(const char *text, uint64_t max, uint64_t *number);

#endif
