/* Uses a dozen functions of the CUDA driver API. The library is loaded at run time, so nvmini does
 * not depend on it. */
#include "driver/run_gpu.h"

#include <dlfcn.h>
#include <string.h>

struct gpu {
#define GPU_FUNCTION(NAME, PARAMETERS) int(*NAME) PARAMETERS;
#include "driver/gpu_functions.def"
#undef GPU_FUNCTION
};

enum { DYNAMIC_SHARED_SIZE = 8 /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */ };

static bool refuse(const char *what) {
  fprintf(stderr, "nvmini: error: %s\n", what);
  return false;
}

static bool failed(const struct gpu *g, const char *what, int error) {
  const char *text = NULL;
  g->cuGetErrorString(error, &text);
  fprintf(stderr, "nvmini: error: GPU: %s: %s\n", what, text ? text : "unknown error");
  return false;
}

static bool load(struct gpu *g) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return refuse("--on gpu: no GPU driver: libcuda.so.1 not found");
  bool all = true;
#define GPU_FUNCTION(NAME, PARAMETERS)            \
  {                                               \
    void *function = dlsym(library, #NAME);       \
    memcpy(&g->NAME, &function, sizeof function); \
    all = all && function;                        \
  }
#include "driver/gpu_functions.def"
#undef GPU_FUNCTION
  return all || refuse("--on gpu: libcuda.so.1 lacks required functions");
}

static bool open_device(struct gpu *g) {
  int device;
  void *context;
  if (!load(g)) return false;
  if (g->cuInit(0) != 0 || g->cuDeviceGet(&device, 0) != 0) return refuse("--on gpu: no GPU found");
  int error = g->cuDevicePrimaryCtxRetain(&context, device);
  if (error == 0) error = g->cuCtxSetCurrent(context);
  return error == 0 || failed(g, "opening the device", error);
}

bool gpu_open(void) {
  struct gpu g;
  return open_device(&g);
}

/* Device copies of the buffers, and pointers to the arguments' values. */
static bool copy_arguments(const struct gpu *g, const struct sim_launch *l,
                           const struct run_argument *a, uint64_t *addresses, void **values) {
  for (uint32_t i = 0; i < l->argument_count; i++) {
    values[i] = (void *)(uintptr_t)l->arguments[i];
    if (!a[i].is_buffer) continue;
    size_t bytes = a[i].count * a[i].type.bytes;
    int error = g->cuMemAlloc_v2(&addresses[i], bytes ? bytes : 1);
    if (error == 0 && bytes) error = g->cuMemcpyHtoD_v2(addresses[i], a[i].bytes, bytes);
    if (error != 0) return failed(g, "copying arguments", error);
    values[i] = &addresses[i];
  }
  return true;
}

static bool launch_kernel(const struct gpu *g, const char *ptx, const struct sim_launch *l,
                          void **values, struct arena *arena) {
  void *module, *function;
  const char *name = arena_copy(arena, l->kernel.bytes, l->kernel.length); /* with a NUL */
  if (!name) return refuse("out of memory");
  int error = g->cuModuleLoadData(&module, ptx);
  if (error != 0) return failed(g, "loading the PTX", error);
  error = g->cuModuleGetFunction(&function, module, name);
  if (error == 0 && l->shared_bytes)
    error = g->cuFuncSetAttribute(function, DYNAMIC_SHARED_SIZE, (int)l->shared_bytes);
  if (error == 0)
    error =
        g->cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                          l->block[2], (unsigned)l->shared_bytes, NULL, values, NULL);
  if (error == 0) error = g->cuCtxSynchronize();
  return error == 0 || failed(g, "running the kernel", error);
}

bool gpu_compare(const char *ptx, const struct sim_launch *l, const struct run_argument *a,
                 const uint8_t *const *results, double tolerance, struct arena *arena) {
  struct gpu g;
  uint64_t *addresses = arena_alloc(arena, (l->argument_count + 1) * sizeof *addresses);
  void **values = arena_alloc(arena, (l->argument_count + 1) * sizeof *values);
  if (!addresses || !values) return refuse("out of memory");
  bool same = true, ok = open_device(&g) && copy_arguments(&g, l, a, addresses, values) &&
                         launch_kernel(&g, ptx, l, values, arena);
  for (uint32_t i = 0; ok && i < l->argument_count; i++) {
    size_t bytes = a[i].count * a[i].type.bytes;
    if (!a[i].is_buffer || !bytes) continue;
    uint8_t *copy = arena_alloc(arena, bytes);
    if (!copy) return refuse("out of memory");
    int error = g.cuMemcpyDtoH_v2(copy, addresses[i], bytes);
    if (error != 0) return failed(&g, "copying results", error);
    same = run_compare_elements("the GPU", &a[i], results[i], copy, tolerance, arena) && same;
  }
  for (uint32_t i = 0; i < l->argument_count; i++)
    if (addresses[i]) g.cuMemFree_v2(addresses[i]);
  return ok && same;
}
