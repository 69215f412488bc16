/* Times kernels on a GPU through the driver library, each in the code of several compilers, and
 * compares what they leave in their buffers. gpu.py writes the plan and reads the results.
 *
 *   gpu_bench PLAN RESULTS [--runs N] [--seconds S] [--seed N]
 *
 * PLAN: one fact a line, files relative to its folder:
 *   case NAME KERNEL GX GY GZ BX BY BZ SHARED BYTES    BYTES: that the kernel moves at least; 0:
 * not said buffer TYPE COUNT zero|random                      u8 i8 i16 half bfloat i32 float i64
 * double scalar TYPE VALUE variant COMPILER FILE                              PTX or a cubin
 * RESULTS: one line of JSON a case is added; a case that is there already is left out, so that a
 * run goes on where the one before ended. After S seconds no further case begins.
 *
 * The first variant that runs is the reference for the results. Then each variant is launched N
 * times, in an order shuffled anew in each round; the figure is the median of the times between two
 * events. Clocks and temperature come from the management library, where it is installed. */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Beside driver/gpu_functions.def: what times kernels and names the GPU. */
#define BENCH_FUNCTIONS(F)                   \
  F(cuDeviceGetName, (char *, int, int))     \
  F(cuDeviceGetAttribute, (int *, int, int)) \
  F(cuModuleUnload, (void *))                \
  F(cuEventCreate, (void **, unsigned))      \
  F(cuEventRecord, (void *, void *))         \
  F(cuEventSynchronize, (void *))            \
  F(cuEventElapsedTime, (float *, void *, void *))

static struct {
#define GPU_FUNCTION(NAME, PARAMETERS) int(*NAME) PARAMETERS;
#include "driver/gpu_functions.def"
  BENCH_FUNCTIONS(GPU_FUNCTION)
#undef GPU_FUNCTION
} driver;

static struct {
  int (*clock)(void *, int, unsigned *);
  int (*temperature)(void *, int, unsigned *);
  void *device;
} management;

enum { /* attributes of devices and functions, and kinds of clocks, that the libraries number so */
       MEMORY_CLOCK_KHZ = 36,
       MEMORY_BUS_BITS = 37,
       DYNAMIC_SHARED_BYTES = 8,
       CLOCK_OF_MULTIPROCESSORS = 1
};
enum { MAX_BUFFERS = 16, MAX_ARGUMENTS = 32, MAX_VARIANTS = 8, MAX_RUNS = 1000, MAX_WORD = 256 };

struct element {
  const char *name;
  unsigned bytes;
  double tolerance; /* of the greater of 1 and the values; 0: all bits */
};
static const struct element elements[] = {
    {"u8", 1, 0},  {"i8", 1, 0},       {"i16", 2, 0}, {"half", 2, 2e-2},   {"bfloat", 2, 1e-1},
    {"i32", 4, 0}, {"float", 4, 1e-4}, {"i64", 8, 0}, {"double", 8, 1e-9},
};
enum { ELEMENTS = sizeof elements / sizeof elements[0] };

struct buffer {
  const struct element *type;
  size_t count;
  bool is_random;
  uint8_t *start, *reference, *result;
  uint64_t address;
};

struct variant {
  char compiler[MAX_WORD], file[MAX_WORD], problem[MAX_WORD];
  void *module, *function;
  float microseconds[MAX_RUNS];
};

struct experiment {
  char name[MAX_WORD], kernel[1024];
  unsigned grid[3], block[3], shared;
  double bytes;
  struct buffer buffers[MAX_BUFFERS];
  uint64_t scalars[MAX_ARGUMENTS];
  int buffer_count, argument_count, variant_count;
  int buffer_of[MAX_ARGUMENTS]; /* of each argument; -1: a scalar */
  struct variant variants[MAX_VARIANTS];
};

struct settings {
  char folder[1024];
  const char *results;
  int runs;
  double seconds;
  uint64_t random;
};

static void end(const char *what) {
  fprintf(stderr, "gpu_bench: %s\n", what);
  exit(1);
}

static void *memory(size_t bytes) {
  void *p = malloc(bytes ? bytes : 1);
  if (!p) end("out of memory");
  return p;
}

static uint64_t random_word(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* --- the libraries ---------------------------------------------------------------------------- */

static void *symbol(void *library, const char *name) {
  void *function = dlsym(library, name);
  if (!function) fprintf(stderr, "gpu_bench: the driver library lacks %s\n", name), exit(1);
  return function;
}

static void open_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) end("no GPU driver: libcuda.so.1 not found");
#define GPU_FUNCTION(NAME, PARAMETERS) \
  memcpy(&driver.NAME, (void *[]){symbol(library, #NAME)}, sizeof(void *));
#include "driver/gpu_functions.def"
  BENCH_FUNCTIONS(GPU_FUNCTION)
#undef GPU_FUNCTION
  int device;
  void *context;
  if (driver.cuInit(0) || driver.cuDeviceGet(&device, 0)) end("no GPU found");
  if (driver.cuDevicePrimaryCtxRetain(&context, device) || driver.cuCtxSetCurrent(context))
    end("the GPU cannot be opened");
}

static void open_management(void) {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return;
  int (*begin)(void), (*device)(unsigned, void **);
  memcpy(&begin, (void *[]){dlsym(library, "nvmlInit_v2")}, sizeof begin);
  memcpy(&device, (void *[]){dlsym(library, "nvmlDeviceGetHandleByIndex_v2")}, sizeof device);
  memcpy(&management.clock, (void *[]){dlsym(library, "nvmlDeviceGetClockInfo")}, sizeof(void *));
  memcpy(&management.temperature, (void *[]){dlsym(library, "nvmlDeviceGetTemperature")},
         sizeof(void *));
  if (!begin || !device || begin() || device(0, &management.device)) management.device = NULL;
}

/* Adds `, "sm_mhz": …, "celsius": …` where they are known. */
static void write_conditions(FILE *out) {
  unsigned value;
  if (!management.device) return;
  if (management.clock && !management.clock(management.device, CLOCK_OF_MULTIPROCESSORS, &value))
    fprintf(out, ", \"sm_mhz\": %u", value);
  if (management.temperature && !management.temperature(management.device, 0, &value))
    fprintf(out, ", \"celsius\": %u", value);
}

/* The limit of the memory in bytes a second: two transfers a clock; 0 where the driver does not
 * say. */
static double memory_limit(void) {
  int khz = 0, bits = 0, device;
  driver.cuDeviceGet(&device, 0);
  if (driver.cuDeviceGetAttribute(&khz, MEMORY_CLOCK_KHZ, device) ||
      driver.cuDeviceGetAttribute(&bits, MEMORY_BUS_BITS, device))
    return 0;
  return 2e3 * khz * bits / 8;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_type(const struct buffer *b, const char *name) {
  return strcmp(b->type->name, name) == 0;
}

/* Floats between -2 and 2 whose exponents differ little; integers of all values. */
static void random_element(const struct buffer *b, uint8_t *at, uint64_t *state) {
  uint64_t bits = random_word(state);
  double number = (double)(int64_t)bits / 9.3e18 * 2;
  float single = (float)number;
  uint32_t pattern;
  memcpy(&pattern, &single, sizeof pattern);
  uint16_t upper = (uint16_t)(pattern >> 16);
  if (is_type(b, "float")) memcpy(at, &single, 4);
  else if (is_type(b, "double")) memcpy(at, &number, 8);
  else if (is_type(b, "bfloat")) memcpy(at, &upper, 2);
  else if (is_type(b, "half"))
    memcpy(at, (uint16_t[]){(uint16_t)((bits & 0x83ff) | (12 + (bits >> 20 & 3)) << 10)}, 2);
  else memcpy(at, &bits, b->type->bytes);
}

static double half_value(uint16_t h) {
  int exponent = h >> 10 & 31;
  double m = exponent ? 1024 + (h & 1023) : h & 1023;
  double value =
      exponent == 31 ? (h & 1023 ? NAN : INFINITY) : ldexp(m, (exponent ? exponent : 1) - 25);
  return h >> 15 ? -value : value;
}

static double value_at(const struct buffer *b, const uint8_t *at) {
  float single;
  double number;
  uint16_t half;
  memcpy(&half, at, 2);
  if (is_type(b, "half")) return half_value(half);
  if (is_type(b, "bfloat")) {
    memcpy(&single, (uint32_t[]){(uint32_t)half << 16}, 4);
    return single;
  }
  if (is_type(b, "float")) return memcpy(&single, at, 4), single;
  return memcpy(&number, at, 8), number;
}

static bool is_near(const struct buffer *b, const uint8_t *x, const uint8_t *y) {
  if (memcmp(x, y, b->type->bytes) == 0) return true;
  if (b->type->tolerance == 0) return false;
  double u = value_at(b, x), v = value_at(b, y);
  if (isnan(u) || isnan(v) || isinf(u) || isinf(v))
    return isnan(u) == isnan(v) && isinf(u) == isinf(v);
  return fabs(u - v) <= b->type->tolerance * fmax(1, fmax(fabs(u), fabs(v)));
}

/* --- the plan --------------------------------------------------------------------------------- */

static const struct element *element_named(const char *name) {
  for (size_t k = 0; k < ELEMENTS; k++)
    if (strcmp(elements[k].name, name) == 0) return &elements[k];
  end("an unknown type in the plan");
  return NULL;
}

static void read_buffer(struct experiment *x, const char *line) {
  char type[MAX_WORD], filling[MAX_WORD];
  size_t count;
  if (sscanf(line, "buffer %255s %zu %255s", type, &count, filling) != 3 ||
      x->buffer_count == MAX_BUFFERS || x->argument_count == MAX_ARGUMENTS)
    end("a wrong line of a buffer in the plan");
  struct buffer *b = &x->buffers[x->buffer_count];
  *b = (struct buffer){
      element_named(type), count, strcmp(filling, "random") == 0, NULL, NULL, NULL, 0};
  x->buffer_of[x->argument_count++] = x->buffer_count++;
}

static void read_scalar(struct experiment *x, const char *line) {
  char type[MAX_WORD];
  double value;
  if (sscanf(line, "scalar %255s %lf", type, &value) != 2 || x->argument_count == MAX_ARGUMENTS)
    end("a wrong line of a scalar in the plan");
  uint64_t bits = (uint64_t)(int64_t)value;
  float single = (float)value;
  if (strcmp(type, "float") == 0) memcpy(&bits, &single, 4);
  if (strcmp(type, "double") == 0) memcpy(&bits, &value, 8);
  x->scalars[x->argument_count] = bits;
  x->buffer_of[x->argument_count++] = -1;
}

static void read_variant(struct experiment *x, const char *line) {
  if (x->variant_count == MAX_VARIANTS) end("too many variants in the plan");
  struct variant *v = &x->variants[x->variant_count++];
  memset(v, 0, sizeof *v);
  if (sscanf(line, "variant %255s %255s", v->compiler, v->file) != 2)
    end("a wrong line of a variant in the plan");
}

/* The next case, whose first line was read before and is in `line`. */
static bool read_case(FILE *plan, char *line, size_t room, struct experiment *x) {
  memset(x, 0, offsetof(struct experiment, variants));
  if (sscanf(line, "case %255s %1023s %u %u %u %u %u %u %u %lf", x->name, x->kernel, &x->grid[0],
             &x->grid[1], &x->grid[2], &x->block[0], &x->block[1], &x->block[2], &x->shared,
             &x->bytes) != 10)
    return false;
  while (fgets(line, (int)room, plan) && strncmp(line, "case ", 5) != 0) {
    if (strncmp(line, "buffer ", 7) == 0) read_buffer(x, line);
    else if (strncmp(line, "scalar ", 7) == 0) read_scalar(x, line);
    else if (strncmp(line, "variant ", 8) == 0) read_variant(x, line);
    else if (line[0] != '\n' && line[0] != '#') end("an unknown line in the plan");
  }
  return true;
}

static bool is_done(const char *results, const char *name) {
  char line[4096], start[MAX_WORD + 16];
  FILE *f = fopen(results, "r");
  snprintf(start, sizeof start, "{\"case\": \"%s\",", name);
  bool found = false;
  while (f && !found && fgets(line, sizeof line, f))
    found = strncmp(line, start, strlen(start)) == 0;
  if (f) fclose(f);
  return found;
}

/* --- one case --------------------------------------------------------------------------------- */

static bool failed(struct variant *v, const char *what, int error) {
  const char *text = NULL;
  if (error == 0) return false;
  driver.cuGetErrorString(error, &text);
  snprintf(v->problem, sizeof v->problem, "%s: %s", what, text ? text : "unknown error");
  return true;
}

static void make_buffers(struct experiment *x) {
  for (int k = 0; k < x->buffer_count; k++) {
    struct buffer *b = &x->buffers[k];
    size_t bytes = b->count * b->type->bytes;
    uint64_t state = (uint64_t)k + 1;
    b->start = memory(bytes), b->reference = memory(bytes), b->result = memory(bytes);
    memset(b->start, 0, bytes);
    for (size_t i = 0; b->is_random && i < b->count; i++)
      random_element(b, b->start + i * b->type->bytes, &state);
    if (driver.cuMemAlloc_v2(&b->address, bytes ? bytes : 1)) end("the GPU has too little memory");
  }
}

static void free_buffers(struct experiment *x) {
  for (int k = 0; k < x->buffer_count; k++) {
    struct buffer *b = &x->buffers[k];
    driver.cuMemFree_v2(b->address);
    free(b->start), free(b->reference), free(b->result);
  }
}

static void load_variant(const struct settings *s, const struct experiment *x, struct variant *v) {
  char path[2048];
  snprintf(path, sizeof path, "%s/%s", s->folder, v->file);
  FILE *f = fopen(path, "rb");
  if (!f) {
    snprintf(v->problem, sizeof v->problem, "no file");
    return;
  }
  fseek(f, 0, SEEK_END);
  size_t size = (size_t)ftell(f);
  rewind(f);
  char *code = memory(size + 1);
  code[fread(code, 1, size, f)] = 0;
  fclose(f);
  if (!failed(v, "loading", driver.cuModuleLoadData(&v->module, code)) &&
      !failed(v, "finding the kernel",
              driver.cuModuleGetFunction(&v->function, v->module, x->kernel)) &&
      x->shared)
    failed(v, "asking for shared memory",
           driver.cuFuncSetAttribute(v->function, DYNAMIC_SHARED_BYTES, (int)x->shared));
  free(code);
}

static int launch(struct experiment *x, const struct variant *v) {
  void *values[MAX_ARGUMENTS];
  for (int k = 0; k < x->argument_count; k++)
    values[k] =
        x->buffer_of[k] < 0 ? (void *)&x->scalars[k] : (void *)&x->buffers[x->buffer_of[k]].address;
  return driver.cuLaunchKernel(v->function, x->grid[0], x->grid[1], x->grid[2], x->block[0],
                               x->block[1], x->block[2], x->shared, NULL, values, NULL);
}

/* Launches once from the start and fetches what it leaves; false: it has a problem. */
static bool run_once(struct experiment *x, struct variant *v, bool is_reference) {
  for (int k = 0; k < x->buffer_count; k++) {
    struct buffer *b = &x->buffers[k];
    if (failed(v, "copying",
               driver.cuMemcpyHtoD_v2(b->address, b->start, b->count * b->type->bytes)))
      return false;
  }
  if (failed(v, "launching", launch(x, v)) || failed(v, "running", driver.cuCtxSynchronize()))
    return false;
  for (int k = 0; k < x->buffer_count; k++) {
    struct buffer *b = &x->buffers[k];
    if (failed(v, "copying",
               driver.cuMemcpyDtoH_v2(is_reference ? b->reference : b->result, b->address,
                                      b->count * b->type->bytes)))
      return false;
  }
  return true;
}

static void compare(const struct experiment *x, struct variant *v) {
  size_t differ = 0, first = 0;
  int in = 0;
  for (int k = 0; k < x->buffer_count; k++) {
    const struct buffer *b = &x->buffers[k];
    for (size_t i = 0; i < b->count; i++) {
      size_t at = i * b->type->bytes;
      if (is_near(b, b->reference + at, b->result + at)) continue;
      if (differ++ == 0) first = i, in = k;
    }
  }
  if (differ)
    snprintf(v->problem, sizeof v->problem, "%zu elements differ, the first is %zu of buffer %d",
             differ, first, in);
}

static void check_results(const struct settings *s, struct experiment *x) {
  const struct variant *reference = NULL;
  for (int k = 0; k < x->variant_count; k++) {
    struct variant *v = &x->variants[k];
    load_variant(s, x, v);
    if (v->problem[0] || !run_once(x, v, reference == NULL)) continue;
    if (reference) compare(x, v);
    else reference = v;
  }
}

static void time_launch(struct experiment *x, struct variant *v, void *const events[2], int run) {
  float milliseconds = 0;
  int error = driver.cuEventRecord(events[0], NULL);
  if (!error) error = launch(x, v);
  if (!error) error = driver.cuEventRecord(events[1], NULL);
  if (!error) error = driver.cuEventSynchronize(events[1]);
  if (!error) error = driver.cuEventElapsedTime(&milliseconds, events[0], events[1]);
  failed(v, "timing", error);
  v->microseconds[run] = milliseconds * 1000;
}

static void time_variants(struct settings *s, struct experiment *x) {
  void *events[2];
  if (driver.cuEventCreate(&events[0], 0) || driver.cuEventCreate(&events[1], 0))
    end("the GPU makes no events");
  for (int run = 0; run < s->runs; run++) {
    int order[MAX_VARIANTS];
    for (int k = 0; k < x->variant_count; k++) {
      int other = (int)(random_word(&s->random) % (uint64_t)(k + 1));
      order[k] = order[other];
      order[other] = k;
    }
    for (int k = 0; k < x->variant_count; k++)
      if (!x->variants[order[k]].problem[0]) time_launch(x, &x->variants[order[k]], events, run);
  }
}

static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void write_variant(FILE *out, struct variant *v, int runs) {
  fprintf(out, "\"%s\": ", v->compiler);
  if (v->problem[0]) {
    fprintf(out, "{\"problem\": \"%s\"}", v->problem);
    return;
  }
  qsort(v->microseconds, (size_t)runs, sizeof v->microseconds[0], by_value);
  fprintf(out, "{\"median\": %.3f, \"least\": %.3f, \"most\": %.3f}", v->microseconds[runs / 2],
          v->microseconds[0], v->microseconds[runs - 1]);
}

static void write_results(const struct settings *s, struct experiment *x) {
  FILE *out = fopen(s->results, "a");
  if (!out) end("the results cannot be written");
  fprintf(out, "{\"case\": \"%s\", \"bytes\": %.0f, \"limit\": %.0f, \"runs\": %d", x->name,
          x->bytes, memory_limit(), s->runs);
  write_conditions(out);
  fprintf(out, ", \"microseconds\": {");
  for (int k = 0; k < x->variant_count; k++) {
    if (k) fprintf(out, ", ");
    write_variant(out, &x->variants[k], s->runs);
  }
  fprintf(out, "}}\n");
  if (fclose(out)) end("the results cannot be written");
}

static void do_case(struct settings *s, struct experiment *x) {
  make_buffers(x);
  check_results(s, x);
  time_variants(s, x);
  write_results(s, x);
  for (int k = 0; k < x->variant_count; k++)
    if (x->variants[k].module) driver.cuModuleUnload(x->variants[k].module);
  free_buffers(x);
}

/* --- the command ------------------------------------------------------------------------------ */

static void read_words(struct settings *s, int argc, char **argv) {
  if (argc < 3 || argc % 2 == 0) end("gpu_bench PLAN RESULTS [--runs N] [--seconds S] [--seed N]");
  for (int k = 3; k < argc; k += 2) {
    if (strcmp(argv[k], "--runs") == 0) s->runs = atoi(argv[k + 1]);
    else if (strcmp(argv[k], "--seconds") == 0) s->seconds = atof(argv[k + 1]);
    else if (strcmp(argv[k], "--seed") == 0) s->random = strtoull(argv[k + 1], NULL, 10);
    else end("an unknown option");
  }
  if (s->runs < 1 || s->runs > MAX_RUNS) end("--runs is from 1 to 1000");
  snprintf(s->folder, sizeof s->folder, "%s", argv[1]);
  char *slash = strrchr(s->folder, '/');
  if (slash) *slash = 0;
  else strcpy(s->folder, ".");
  s->results = argv[2];
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static struct experiment x;
  static char line[4096];
  struct settings s = {.runs = 30, .seconds = 1e9, .random = 1};
  read_words(&s, argc, argv);
  FILE *plan = fopen(argv[1], "r");
  if (!plan) end("the plan cannot be read");
  open_driver();
  open_management();
  char device[MAX_WORD] = "";
  driver.cuDeviceGetName(device, sizeof device, 0);
  printf("%s\n", device);
  double start = now();
  int done = 0, left = 0;
  bool more = fgets(line, sizeof line, plan) != NULL;
  while (more && read_case(plan, line, sizeof line, &x)) {
    more = !feof(plan);
    if (is_done(s.results, x.name)) continue;
    if (now() - start >= s.seconds) {
      left++;
      continue;
    }
    do_case(&s, &x);
    printf("%s\n", x.name);
    fflush(stdout);
    done++;
  }
  fclose(plan);
  printf("%d cases done, %d left\n", done, left);
  return 0;
}
