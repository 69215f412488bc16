/* The mutator as a command, to show what it does and for its test:
 *
 *   mutate FILE [SEED [NAME]]        prints a mutated copy; NAME: that mutation only
 *   mutate --cross FILE OTHER [SEED] prints FILE with blocks of OTHER
 *   mutate --list                    prints the names of the mutations
 *   mutate --check N FILE...         makes every mutation and the cross-over N times for each file;
 *                                    prints for each its name, how many were made, and how many of
 *                                    them the verifier refuses
 *
 * Exit status 1: the file is not a valid module, or nothing could be changed; 2: a wrong argument.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "nvmini.h"

/* Bytes of a file and of a result. */
enum { MAX_INPUT = 4 << 20, ROOM = 2 * MAX_INPUT };

struct text {
  char *bytes;
  size_t length;
};

static struct text read_file(const char *path) {
  struct text t = {malloc(MAX_INPUT), 0};
  FILE *in = fopen(path, "rb");
  if (!in || !t.bytes) {
    perror(path);
    exit(2);
  }
  t.length = fread(t.bytes, 1, MAX_INPUT, in);
  if (ferror(in) || fgetc(in) != EOF) {
    fprintf(stderr, "mutate: cannot read '%s', or it is larger than %d bytes\n", path, MAX_INPUT);
    exit(2);
  }
  fclose(in);
  return t;
}

static int find_mutation(const char *name) {
  for (int k = 0; mutate_name(k); k++)
    if (strcmp(mutate_name(k), name) == 0) return k;
  fprintf(stderr, "mutate: no mutation is called '%s'\n", name);
  exit(2);
}

static int finish(const char *out, size_t length) {
  if (length == 0) {
    fprintf(stderr, "mutate: not a valid module, or nothing to change\n");
    return 1;
  }
  fwrite(out, 1, length, stdout);
  return 0;
}

/* ---- --check ---- */

static bool is_accepted(const char *text, size_t length) {
  struct nvmini_context *c = nvmini_create(NULL, 0);
  struct nvmini_module *m = NULL;
  char *copy = malloc(length + 1);
  if (!c || !copy) exit(2);
  memcpy(copy, text, length);
  copy[length] = '\0';
  bool accepted =
      nvmini_parse(c, copy, length, "mutated", &m) == NVMINI_OK && nvmini_check(m) == NVMINI_OK;
  nvmini_release(m);
  nvmini_destroy(c);
  free(copy);
  return accepted;
}

static int check(int times, char **paths, int count, char *out) {
  int names = 0;
  while (mutate_name(names)) names++;
  for (int k = 0; k <= names; k++) {
    int made = 0, refused = 0;
    for (int p = 0; p < count; p++) {
      struct text t = read_file(paths[p]), other = read_file(paths[(p + 1) % count]);
      for (int n = 0; n < times; n++) {
        uint64_t seed = (uint64_t)(p * times + n);
        size_t length =
            k < names ? mutate_text(t.bytes, t.length, out, ROOM, seed, k)
                      : mutate_cross(t.bytes, t.length, other.bytes, other.length, out, ROOM, seed);
        made += length != 0;
        refused += length != 0 && !is_accepted(out, length);
      }
      free(t.bytes);
      free(other.bytes);
    }
    printf("%-10s %6d made, %6d refused\n", k < names ? mutate_name(k) : "cross", made, refused);
  }
  return 0;
}

static int mutate_one(int argc, char **argv, char *out) {
  struct text t = read_file(argv[1]);
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  int only = argc > 3 ? find_mutation(argv[3]) : MUTATE_ANY;
  int status = finish(out, mutate_text(t.bytes, t.length, out, ROOM, seed, only));
  free(t.bytes);
  return status;
}

static int cross(int argc, char **argv, char *out) {
  struct text a = read_file(argv[2]), b = read_file(argv[3]);
  uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
  int status = finish(out, mutate_cross(a.bytes, a.length, b.bytes, b.length, out, ROOM, seed));
  free(a.bytes);
  free(b.bytes);
  return status;
}

static int run(int argc, char **argv, char *out) {
  const char *first = argc > 1 ? argv[1] : "-";
  if (strcmp(first, "--list") == 0) {
    for (int k = 0; mutate_name(k); k++) puts(mutate_name(k));
    return 0;
  }
  if (argc > 3 && strcmp(first, "--check") == 0)
    return check(atoi(argv[2]), argv + 3, argc - 3, out);
  if (argc > 3 && strcmp(first, "--cross") == 0) return cross(argc, argv, out);
  if (first[0] != '-') return mutate_one(argc, argv, out);
  fputs(
      "usage: mutate FILE [SEED [NAME]] | --cross FILE OTHER [SEED] | --list |\n"
      "              --check N FILE...\n",
      stderr);
  return 2;
}

int main(int argc, char **argv) {
  char *out = malloc(ROOM);
  if (!out) return 2;
  int status = run(argc, argv, out);
  free(out);
  return status;
}
