/* A libcuda.so.1 without a device, for numba_tests.py --driver: programs that need a driver before
 * they compile come to their launches, which do nothing. Device memory is the host's, so that
 * copies work; each module and library is a handle of its own. It reports an H100 (sm_90). A
 * function that is not here is not found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OUT_OF_MEMORY = 2,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  NOT_FOUND = 500,
  SYMBOL_NOT_FOUND = 1
};

static char here;     /* what handles of contexts, streams, events and kernels point to */
static void *current; /* context */
static char variable[1 << 20];

/* ---- Functions by name ---- */

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status) {
  static void *self;
  char newer[128];
  Dl_info info;
  (void)version, (void)flags;
  if (!self && dladdr(&here, &info)) self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  snprintf(newer, sizeof newer, "%s_v2", name);
  *function = dlsym(self, newer);
  if (!*function) *function = dlsym(self, name);
  if (status) *status = *function ? 0 : SYMBOL_NOT_FOUND;
  return *function ? 0 : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* NVRTC calls it unseen. */
int cuGetExportTable(void) { return NOT_FOUND; }

/* ---- Functions that do nothing, or only give a handle or number ---- */

#define NOTHING(name) \
  int name(void) { return 0; }
#define HANDLE(name) \
  int name(void **handle) { return *handle = &here, 0; }
#define NUMBER(name, T, value) \
  int name(T *number) { return *number = (value), 0; }

NOTHING(cuInit)
NOTHING(cuCtxSynchronize)
NOTHING(cuDevicePrimaryCtxRelease_v2)
NOTHING(cuDevicePrimaryCtxReset_v2)
NOTHING(cuMemHostRegister_v2)
NOTHING(cuMemHostUnregister)
NOTHING(cuStreamDestroy_v2)
NOTHING(cuStreamSynchronize)
NOTHING(cuStreamQuery)
NOTHING(cuStreamWaitEvent)
NOTHING(cuEventRecord)
NOTHING(cuEventQuery)
NOTHING(cuEventSynchronize)
NOTHING(cuEventDestroy_v2)
NOTHING(cuKernelSetAttribute)
NOTHING(cuKernelSetCacheConfig)
NOTHING(cuFuncSetAttribute)
NOTHING(cuLaunchKernel)
NOTHING(cuLaunchKernelEx)
NOTHING(cuLaunchCooperativeKernel)
NOTHING(cuProfilerStart)
NOTHING(cuProfilerStop)
HANDLE(cuDevicePrimaryCtxRetain)
HANDLE(cuStreamCreate)
HANDLE(cuStreamCreateWithPriority)
HANDLE(cuEventCreate)
HANDLE(cuLibraryGetKernel)
HANDLE(cuLibraryGetModule)
HANDLE(cuModuleGetFunction)
HANDLE(cuKernelGetFunction)
NUMBER(cuDriverGetVersion, int, 13000)
NUMBER(cuDeviceGetCount, int, 1)
NUMBER(cuDeviceTotalMem_v2, size_t, (size_t)1 << 33)
NUMBER(cuEventElapsedTime_v2, float, 0)
NUMBER(cuOccupancyMaxActiveBlocksPerMultiprocessor, int, 2)
NUMBER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int, 2)

/* ---- The device and its context ---- */

int cuDeviceGet(int *device, int number) {
  *device = 0;
  return number == 0 ? 0 : INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int room) { return snprintf(name, (size_t)room, "no device") < 0; }

int cuDeviceGetUuid_v2(void *uuid) { return memset(uuid, 1, 16) == NULL; }

int cuDeviceGetAttribute(int *value, int attribute) {
  static const struct {
    int attribute, value;
  } rows[] = {
      {1, 1024},  {2, 1024},    {3, 1024},   {4, 64},     {5, 0x7fffffff}, {6, 65535}, {7, 65535},
      {8, 49152}, {9, 65536},   {10, 32},    {12, 65536}, {16, 132},       {39, 2048}, {41, 1},
      {75, 9},    {81, 233472}, {82, 65536}, {83, 1},     {89, 1},         {95, 1},    {97, 232448},
  };
  *value = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].attribute == attribute) *value = rows[i].value;
  return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  (void)device;
  *flags = 0;
  return *active = current != NULL, 0;
}
int cuCtxGetCurrent(void **context) { return *context = current, 0; }
int cuCtxSetCurrent(void *context) { return current = context, 0; }
int cuCtxPushCurrent_v2(void *context) { return current = context, 0; }
int cuCtxPopCurrent_v2(void **context) {
  *context = current;
  return current = NULL, 0;
}
int cuCtxGetDevice(int *device) {
  *device = 0;
  return current ? 0 : INVALID_CONTEXT;
}
int cuStreamGetCtx(void *stream, void **context) { return (void)stream, *context = &here, 0; }
int cuCtxGetStreamPriorityRange(int *least, int *greatest) { return *least = *greatest = 0; }
int cuGetErrorName(int error, const char **name) { return (void)error, *name = "error", 0; }
int cuGetErrorString(int error, const char **text) { return (void)error, *text = "error", 0; }

/* ---- Memory ---- */

int cuMemAlloc_v2(void **address, size_t bytes) {
  size_t rounded = bytes / 512 * 512 + 512;
  *address = aligned_alloc(512, rounded);
  if (!*address) return OUT_OF_MEMORY;
  return memset(*address, 0, rounded) == NULL;
}
int cuMemAllocManaged(void **address, size_t bytes) { return cuMemAlloc_v2(address, bytes); }
int cuMemHostAlloc(void **address, size_t bytes) { return cuMemAlloc_v2(address, bytes); }
int cuMemHostGetDevicePointer_v2(void **address, void *host) { return *address = host, 0; }
int cuMemFree_v2(void *address) { return free(address), 0; }
int cuMemFreeHost(void *address) { return free(address), 0; }

int cuMemGetInfo_v2(size_t *available, size_t *total) {
  return *available = *total = (size_t)1 << 33, 0;
}

int cuMemGetAddressRange_v2(void **begin, size_t *bytes, void *address) {
  *begin = address;
  return *bytes = sizeof variable, 0;
}

int cuPointerGetAttribute(void *value, int attribute, void *address) {
  enum { MEMORY_TYPE = 2, DEVICE_POINTER = 3, HOST_POINTER = 4, RANGE_START = 11, DEVICE = 2 };
  if (attribute == DEVICE_POINTER || attribute == HOST_POINTER || attribute == RANGE_START)
    *(void **)value = address;
  else *(int *)value = attribute == MEMORY_TYPE ? DEVICE : 0;
  return 0;
}

#define COPY(name) \
  int name(void *to, const void *from, size_t bytes) { return memmove(to, from, bytes) != to; }
COPY(cuMemcpy)
COPY(cuMemcpyAsync)
COPY(cuMemcpyHtoD_v2)
COPY(cuMemcpyDtoH_v2)
COPY(cuMemcpyDtoD_v2)
COPY(cuMemcpyHtoDAsync_v2)
COPY(cuMemcpyDtoHAsync_v2)
COPY(cuMemcpyDtoDAsync_v2)

int cuMemsetD8_v2(void *to, uint8_t byte, size_t bytes) { return memset(to, byte, bytes) != to; }
int cuMemsetD8Async(void *to, uint8_t byte, size_t bytes) { return memset(to, byte, bytes) != to; }

/* ---- Modules and kernels ---- */

int cuLibraryLoadData(void **library) {
  *library = malloc(1);
  return *library ? 0 : OUT_OF_MEMORY;
}
int cuModuleLoadData(void **module) { return cuLibraryLoadData(module); }
int cuModuleLoadDataEx(void **module) { return cuLibraryLoadData(module); }
int cuLibraryUnload(void *library) { return free(library), 0; }
int cuModuleUnload(void *module) { return free(module), 0; }

int cuLibraryGetGlobal(void **address, size_t *bytes) {
  *address = variable;
  return *bytes = sizeof(uint64_t), 0;
}
int cuModuleGetGlobal_v2(void **address, size_t *bytes) {
  return cuLibraryGetGlobal(address, bytes);
}

int cuKernelGetAttribute(int *value, int attribute) {
  enum { MAX_THREADS_PER_BLOCK = 0 };
  return *value = attribute == MAX_THREADS_PER_BLOCK ? 1024 : 0, 0;
}
int cuFuncGetAttribute(int *value, int attribute) { return cuKernelGetAttribute(value, attribute); }

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block) {
  *grid = 132;
  return *block = 256, 0;
}
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block) {
  return cuOccupancyMaxPotentialBlockSize(grid, block);
}
