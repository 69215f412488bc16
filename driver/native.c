/* `--cpu native`: the CPU of the first GPU, as reported by its driver. The driver's library is
 * loaded at run time, so nvmini does not depend on it. */
#include "driver/commands.h"
#include "target/target.h"

#include <dlfcn.h>
#include <string.h>

enum { MAJOR = 75, MINOR = 76 /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR */ };

/* A function of the library; ISO C has no conversion from object to function pointers. */
static bool find(void *library, const char *name, void *function, size_t size) {
  void *address = dlsym(library, name);
  memcpy(function, &address, size);
  return address != NULL;
}

/* Stores 90 for compute capability 9.0. Returns NULL, or the reason for failure. */
static const char *ask_driver(unsigned *sm) {
  int (*init)(unsigned), (*get)(int *, int), (*attribute)(int *, int, int);
  int device, major, minor;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return "no GPU driver: libcuda.so.1 not found";
  if (!find(library, "cuInit", &init, sizeof init) ||
      !find(library, "cuDeviceGet", &get, sizeof get) ||
      !find(library, "cuDeviceGetAttribute", &attribute, sizeof attribute))
    return "libcuda.so.1 lacks required functions";
  if (init(0) != 0 || get(&device, 0) != 0) return "no GPU found";
  if (attribute(&major, MAJOR, device) != 0 || attribute(&minor, MINOR, device) != 0)
    return "the driver does not tell the GPU's compute capability";
  *sm = (unsigned)(major * 10 + minor);
  return NULL;
}

/* The name of the GPU's CPU; NULL after an error message. */
static const char *native_cpu(void) {
  unsigned sm = 0;
  char name[16];
  const char *why = ask_driver(&sm);
  if (why != NULL) {
    fprintf(stderr, "nvmini: error: CPU 'native': %s; name the CPU, e.g. sm_90a\n", why);
    return NULL;
  }
  int length = snprintf(name, sizeof name, "sm_%u", sm);
  const struct tgt_cpu *cpu = tgt_find_cpu(name, (size_t)length);
  if (cpu != NULL) return cpu->name;
  fprintf(stderr,
          "nvmini: error: CPU 'native': nvmini does not know %s; name an older CPU, whose PTX runs "
          "on it\n",
          name);
  return NULL;
}

int native_resolve(struct options *o) {
  bool takes_cpu = o->command == COMMAND_TARGETS || o->command == COMMAND_COSTS;
  const char *cpu = NULL;
  for (int i = 0; i < o->given_count; i++) {
    struct option_given *g = &o->given[i];
    if (g->id != OPTION_CPU || strcmp(g->value, "native") != 0) continue;
    if (cpu == NULL && (cpu = native_cpu()) == NULL) return EXIT_USAGE;
    g->value = o->values[OPTION_CPU] = cpu;
  }
  if (takes_cpu && o->operand_count > 0 && strcmp(o->operands[0], "native") == 0) {
    if ((cpu = native_cpu()) == NULL) return EXIT_USAGE;
    o->operands[0] = (char *)cpu;
  }
  return EXIT_DONE;
}
