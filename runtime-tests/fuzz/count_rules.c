/* Counts the peephole rules that were applied, for coverage.py: count_rules() is called by the
 * copy of opt/scalar/combine_rules.c that VARIANT=coverage compiles, with the index of the word
 * after the rule's program. The file that NVMINI_RULE_COUNTS names is an array of 32-bit counters,
 * shared by all processes; without it nothing is counted. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 1 << 16 };

void count_rules(unsigned long end);

static uint32_t *map_counters(void) {
  const char *path = getenv("NVMINI_RULE_COUNTS");
  int file = path ? open(path, O_RDWR | O_CREAT, 0666) : -1;
  if (file < 0) return NULL;
  void *memory = MAP_FAILED;
  if (ftruncate(file, WORDS * sizeof(uint32_t)) == 0)
    memory = mmap(NULL, WORDS * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

void count_rules(unsigned long end) {
  static uint32_t *counters;
  static int is_mapped;
  if (!is_mapped) counters = map_counters();
  is_mapped = 1;
  if (counters && end < WORDS) __atomic_fetch_add(&counters[end], 1, __ATOMIC_RELAXED);
}
