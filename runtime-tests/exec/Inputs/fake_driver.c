/* A driver library whose GPU is the simulator: what `nvmini run --on gpu` and bench/gpu_bench.c ask
 * of libcuda.so.1, done by running the PTX with nvmini in the folder $FAKE_DRIVER. With
 * $FAKE_DRIVER_WRONG the first byte that the kernel leaves is another one, with
 * $FAKE_DRIVER_FAULT=NAME the function NAME fails.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static struct {
  uint8_t *bytes;
  size_t count;
} memory[MOST];
static char *text;
static char kernel[256];

static int fault(const char *name) {
  const char *wanted = getenv("FAKE_DRIVER_FAULT");
  return wanted && strcmp(wanted, name) == 0 ? 700 : 0;
}

int cuInit(unsigned flags) { return (void)flags, fault("cuInit"); }
int cuDeviceGet(int *device, int number) { return *device = number, fault("cuDeviceGet"); }
int cuDevicePrimaryCtxRetain(void **context, int device) {
  return (void)device, *context = memory, fault("cuDevicePrimaryCtxRetain");
}
int cuCtxSetCurrent(void *context) { return context != memory; }
int cuDeviceGetName(char *name, int room, int device) {
  return (void)device, snprintf(name, (size_t)room, "the simulator"), 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return (void)device, *value = attribute, 0;
}
int cuModuleUnload(void *module) { return module != text; }
int cuEventCreate(void **event, unsigned flags) { return (void)flags, *event = memory, 0; }
int cuEventRecord(void *event, void *stream) { return (void)stream, event != memory; }
int cuEventSynchronize(void *event) { return event != memory; }
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  return *milliseconds = 0.5f, from != memory || to != memory;
}
int cuModuleLoadData(void **module, const void *ptx) {
  text = malloc(strlen(ptx) + 1);
  strcpy(text, ptx);
  return *module = text, fault("cuModuleLoadData");
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  snprintf(kernel, sizeof kernel, "%s", name);
  return *function = kernel, module != text || fault("cuModuleGetFunction");
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
  return function != kernel || attribute != 8 || value <= 0;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  int k = 0;
  while (k < MOST && memory[k].bytes) k++;
  if (k == MOST) return 2;
  memory[k].bytes = calloc(bytes, 1);
  memory[k].count = bytes;
  return *address = (uint64_t)(uintptr_t)memory[k].bytes, fault("cuMemAlloc_v2");
}
int cuMemFree_v2(uint64_t address) {
  for (int k = 0; k < MOST; k++)
    if ((uintptr_t)memory[k].bytes == address) free(memory[k].bytes), memory[k].bytes = NULL;
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  return memcpy((void *)(uintptr_t)to, from, bytes), 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return fault("cuMemcpyDtoH_v2");
}
int cuCtxSynchronize(void) { return fault("cuCtxSynchronize"); }
int cuGetErrorString(int error, const char **words) {
  return *words = error == 700 ? "a fault on purpose" : "another fault", 0;
}

/* The bytes of the parameter declared at p: `.param .u64 …`, `.param .align 8 .b8 NAME[24]`. */
static unsigned parameter_bytes(const char *p, const char *end) {
  const char *array = memchr(p, '[', (size_t)(end - p));
  if (array) return (unsigned)atoi(array + 1);
  for (p++; p < end && (*p != '.' || !strchr("busf", p[1]) || p[2] < '0' || p[2] > '9'); p++) {
  }
  return p < end ? (unsigned)atoi(p + 2) / 8 : 8;
}

static void transfer(const char *path, uint8_t *bytes, size_t count, int writes) {
  FILE *f = fopen(path, writes ? "wb" : "rb");
  size_t done = f ? writes ? fwrite(bytes, 1, count, f) : fread(bytes, 1, count, f) : 0;
  if (done != count || fclose(f)) fprintf(stderr, "fake driver: %s\n", path), exit(70);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **values, void **extra) {
  static char command[1 << 20], path[512], entry[512];
  const char *folder = getenv("FAKE_DRIVER");
  (void)stream, (void)extra, (void)function;
  snprintf(path, sizeof path, "%s/kernel.ptx", folder);
  transfer(path, (uint8_t *)text, strlen(text), 1);
  int n = snprintf(
      command, sizeof command,
      "nvmini run %s --no-checks --kernel '%s' --grid %u,%u,%u --block %u,%u,%u --shared %u", path,
      kernel, gx, gy, gz, bx, by, bz, shared);
  snprintf(entry, sizeof entry, ".entry %s(", kernel);
  const char *p = strstr(text, entry), *end = p ? strchr(p, ')') : NULL, *next = p;
  int used[MOST], count = 0;
  while (p && (next = strstr(next + 1, ".param")) && next < end) {
    const char *stop = next + strcspn(next, ",)");
    unsigned bytes = parameter_bytes(next, stop);
    uint64_t address = 0;
    int k = MOST;
    if (bytes == 8) memcpy(&address, values[count], 8);
    for (k = 0; k < MOST && (!address || (uintptr_t)memory[k].bytes != address); k++) {
    }
    used[count] = k;
    if (k < MOST) {
      snprintf(path, sizeof path, "%s/%d.raw", folder, count);
      transfer(path, memory[k].bytes, memory[k].count, 1);
      n += snprintf(command + n, sizeof command - (size_t)n, " --arg buf:u8:@%s --save %d:%s", path,
                    count, path);
    } else {
      n += snprintf(command + n, sizeof command - (size_t)n, " --arg bytes:");
      for (unsigned b = 0; b < bytes; b++)
        n += snprintf(command + n, sizeof command - (size_t)n, "%02x",
                      ((uint8_t *)values[count])[b]);
    }
    count++;
  }
  snprintf(command + n, sizeof command - (size_t)n, " > /dev/null");
  if (system(command) != 0) return 719;
  for (int i = 0, wrong = getenv("FAKE_DRIVER_WRONG") != NULL; i < count; i++) {
    if (used[i] == MOST) continue;
    snprintf(path, sizeof path, "%s/%d.raw", folder, i);
    transfer(path, memory[used[i]].bytes, memory[used[i]].count, 0);
    if (wrong) memory[used[i]].bytes[0] ^= 1, wrong = 0;
  }
  return 0;
}
