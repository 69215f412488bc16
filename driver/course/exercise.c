/* The texts of the exercises, which tools/gen/gen_course.c makes part of the command: each is a
 * string that begins with a line `=== N-K`; an empty one ends them. */
#include "driver/course/course.h"

#include <string.h>

#include "course.inc"

bool course_next_line(const char **at, const char *mark, struct nvm_text *rest) {
  size_t length = strlen(mark);
  for (const char *line = *at; *line != '\0';) {
    size_t end = strcspn(line, "\n");
    const char *next = line + end + (line[end] == '\n');
    if (strncmp(line, mark, length) == 0) {
      *rest = (struct nvm_text){line + length, end - length};
      *at = next;
      return true;
    }
    line = next;
  }
  return false;
}

struct nvm_text course_exercise(uint32_t chapter, uint32_t number) {
  char name[32];
  int length = snprintf(name, sizeof name, "=== %u-%u\n", (unsigned)chapter, (unsigned)number);
  for (const char *at = (const char *)course_texts; *at != '\0'; at += strlen(at) + 1)
    if (strncmp(at, name, (size_t)length) == 0)
      return (struct nvm_text){at + length, strlen(at + length)};
  return (struct nvm_text){"", 0};
}
