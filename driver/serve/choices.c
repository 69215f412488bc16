/* What the page lets its user choose from. */
#include "driver/commands.h"
#include "driver/serve/request.h"
#include "support/json.h"

#include <stdlib.h>
#include <string.h>

#include "serve_samples.inc"

static void put_cpus(struct json_writer *w) {
  char *names = NULL;
  size_t length = 0;
  FILE *list = open_memstream(&names, &length);
  json_key(w, "cpus"), json_array(w);
  if (list) {
    targets_cpu_names(list);
    fclose(list);
    for (char *name = strtok(names, " \n"); name; name = strtok(NULL, " \n")) json_puts(w, name);
    free(names);
  }
  json_array_end(w);
}

/* The samples are `NAME\0TEXT\0` each. */
void choices_write(struct textbuf *out) {
  struct json_writer w;
  json_begin(&w, out, false);
  json_object(&w);
  put_cpus(&w);
  json_key(&w, "samples"), json_array(&w);
  for (const char *at = (const char *)serve_samples; *at != '\0';) {
    json_object(&w);
    json_key(&w, "name"), json_puts(&w, at);
    at += strlen(at) + 1;
    json_key(&w, "text"), json_puts(&w, at);
    at += strlen(at) + 1;
    json_object_end(&w);
  }
  json_array_end(&w);
  json_object_end(&w);
}
