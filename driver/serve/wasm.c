/* The program of the page without a server: `choices`, or `COMMAND CPU LEVEL OPTIONS` with the
 * module as standard input. worker.js calls it, in a fresh memory for each request. */
#include "driver/serve/request.h"

#include <dlfcn.h>
#include <string.h>

/* There is no library to load; emscripten's own functions would abort. */
void *dlopen(const char *file, int mode) {
  (void)file, (void)mode;
  return NULL;
}

void *dlsym(void *restrict library, const char *restrict name) {
  (void)library, (void)name;
  return NULL;
}

static int print_choices(void) {
  struct arena arena;
  struct textbuf text;
  arena_init(&arena, nvm_default_allocator);
  textbuf_init(&text, &arena);
  choices_write(&text);
  bool failed = arena.failed || fwrite(text.bytes, 1, text.length, stdout) != text.length;
  arena_free(&arena);
  return failed ? EXIT_REFUSED : EXIT_DONE;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "choices") == 0) return print_choices();
  if (argc != 5) return EXIT_USAGE;
  const struct request r = {request_command(text_of(argv[1])), argv[2], argv[3], argv[4]};
  return r.command == COMMAND_COUNT ? EXIT_USAGE : request_execute(&r);
}
