/* The CUDA runtime's functions over the simulator, so that whole CUDA programs run, their own
 * checks against a host reference included, on a machine without a GPU.
 *
 * A program's host half is compiled by clang with `--cuda-host-only` and linked with this file and
 * libinternal.a instead of the vendor's runtime. The PTX comes from the file that NVMINI_PTX names,
 * so that one program runs with what several compilers made of its device half. Device addresses
 * are the simulator's; streams and events exist in name only, everything happens at once and in
 * order.
 *
 * NVMINI_COPIES names a file that receives, for comparison, what is copied from the device, what
 * kernels print, and managed memory when it is freed; where nothing is copied back, all buffers
 * when they are freed. Each is its length in 8 bytes, then its bytes. NVMINI_COUNTS names one that
 * receives a line `kernel instructions warp-instructions` per launch. NVMINI_RACES makes the
 * simulator look for races, NVMINI_ORDER=N runs threads in another order.
 *
 * Managed and pinned memory has one address for host and device: host memory is mapped where the
 * simulator's lies, copied to it before each launch and back after it.
 *
 * Not there: textures, graphs, groups of several devices. A cooperative launch is a launch. A
 * finding of the simulator ends the program with status 99. The signatures are those of the
 * vendor's cuda_runtime_api.h, which is not read here: handles are void pointers, enums ints. */
#include <stddef.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ptx/ops.h"
#include "ptx/parse.h"
#include "sim/sim.h"

enum {
  SUCCESS = 0,
  INVALID_CONFIGURATION = 9,
  MAX_SYMBOLS = 4096,
  MAX_ARGUMENTS = 256,
  MAX_SHARED_PIECES = 1024,
  FINDING = 99,
  PROCESSORS = 4
};
enum copy_kind { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

struct dim3 {
  unsigned x, y, z;
};
struct symbol {
  const void *host;
  const char *name;
};
/* Memory that host and device see at one address. */
struct piece {
  char *bytes;
  size_t size;
  bool is_managed;
};

static struct {
  struct arena arena;
  struct strtab strings;
  struct ptx_module module;
  struct sim *sim;
  struct symbol functions[MAX_SYMBOLS], variables[MAX_SYMBOLS];
  unsigned function_count, variable_count;
  struct piece pieces[MAX_SHARED_PIECES], buffers[MAX_SHARED_PIECES];
  unsigned piece_count, buffer_count;
  bool copied; /* something from the device */
  struct {
    struct dim3 grid, block;
    size_t shared;
    void *stream;
  } call;
} state;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fflush(stdout);
  fputs("cuda_runtime: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  _Exit(FINDING);
}

/* --- loading
 * --------------------------------------------------------------------------------------- */

static struct nvm_text read_file(const char *path) {
  FILE *file = path ? fopen(path, "rb") : NULL;
  if (!file) fail("NVMINI_PTX names no file that can be read");
  struct textbuf text;
  textbuf_init(&text, &state.arena);
  for (int c; (c = getc(file)) != EOF;) textbuf_char(&text, (char)c);
  fclose(file);
  textbuf_char(&text, 0);
  return (struct nvm_text){text.bytes, text.length - 1};
}

static void fail_as_found(void) {
  const struct sim_finding *f = sim_found(state.sim);
  fail("%s: block (%u,%u,%u), thread (%u,%u,%u), PTX line %u: %.*s", sim_finding_name(f->kind),
       f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1], f->thread[2], f->line,
       (int)f->message.length, f->message.bytes);
}

static struct sim *machine(void) {
  if (state.sim) return state.sim;
  arena_init(&state.arena, nvm_default_allocator);
  struct ptx_parse_error error;
  if (!strtab_init(&state.strings, &state.arena)) fail("out of memory");
  state.module.arena = &state.arena;
  state.module.strings = &state.strings;
  if (ptx_parse_module(read_file(getenv("NVMINI_PTX")), &state.module, &error) != NVM_OK)
    fail("PTX line %u: %.*s", error.line, (int)error.message.length, error.message.bytes);
  state.sim = sim_create(nvm_default_allocator, 0);
  if (!state.sim) fail("out of memory");
  if (sim_load(state.sim, &state.module) != NVM_OK) fail_as_found();
  return state.sim;
}

/* What the compiler's constructor calls before main. One module a program. */
void **__cudaRegisterFatBinary(void *wrapper);
void **__cudaRegisterFatBinary(void *wrapper) {
  static void *handle;
  if (handle) fail("a program of several modules");
  handle = wrapper;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }

static void add_symbol(struct symbol *table, unsigned *count, const void *host, const char *name) {
  if (*count == MAX_SYMBOLS) fail("more than %d symbols", MAX_SYMBOLS);
  table[(*count)++] = (struct symbol){host, name};
}

int __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, ...);
int __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, ...) {
  (void)handle, (void)device;
  add_symbol(state.functions, &state.function_count, host, name);
  return SUCCESS;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, ...);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, ...) {
  (void)handle, (void)device;
  add_symbol(state.variables, &state.variable_count, host, name);
}

static const char *symbol_name(const struct symbol *table, unsigned count, const void *host) {
  for (unsigned i = 0; i < count; i++)
    if (table[i].host == host) return table[i].name;
  fail("a symbol that was not registered");
}

/* --- memory
 * ----------------------------------------------------------------------------------------- */

static void *device_bytes(uint64_t address, size_t bytes) {
  void *at = bytes ? sim_memory(machine(), address, bytes) : NULL;
  if (bytes && !at)
    fail("a copy of %zu bytes at device address 0x%" PRIx64 ", which are not allocated", bytes,
         address);
  return at;
}

static void log_copy(const void *bytes, size_t count) {
  const char *path = getenv("NVMINI_COPIES");
  FILE *file = path ? fopen(path, "ab") : NULL;
  if (!file) return;
  uint64_t length = count;
  fwrite(&length, 1, sizeof length, file);
  fwrite(bytes, 1, count, file);
  fclose(file);
}

/* --- memory of host and device
 * -------------------------------------------------------------------------- */

static struct piece *piece_at(const void *address) {
  for (unsigned i = 0; i < state.piece_count; i++) {
    struct piece *p = &state.pieces[i];
    if ((const char *)address >= p->bytes && (const char *)address < p->bytes + p->size) return p;
  }
  return NULL;
}

static int share(void **out, size_t bytes, bool is_managed) {
  if (bytes == 0) bytes = 1;
  uint64_t address = sim_allocate(machine(), bytes, true);
  if (!address || state.piece_count == MAX_SHARED_PIECES) fail("out of memory");
  void *at = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != (void *)(uintptr_t)address) fail("memory for both host and device");
  state.pieces[state.piece_count++] = (struct piece){at, bytes, is_managed};
  *out = at;
  return SUCCESS;
}

static int unshare(void *address) {
  struct piece *p = piece_at(address);
  if (!p) return SUCCESS;
  if (p->is_managed || !state.copied) log_copy(p->bytes, p->size);
  munmap(p->bytes, p->size);
  *p = state.pieces[--state.piece_count];
  return SUCCESS;
}

/* Before a launch to the simulator, after it back. */
static void exchange(bool to_device) {
  for (unsigned i = 0; i < state.piece_count; i++) {
    struct piece *p = &state.pieces[i];
    void *there = device_bytes((uintptr_t)p->bytes, p->size);
    if (to_device) memcpy(there, p->bytes, p->size);
    else memcpy(p->bytes, there, p->size);
  }
}

__attribute__((destructor)) static void log_managed(void) {
  for (unsigned i = 0; i < state.piece_count; i++)
    if (state.pieces[i].is_managed || !state.copied)
      log_copy(state.pieces[i].bytes, state.pieces[i].size);
}

int cudaMalloc(void **out, size_t bytes);
int cudaMalloc(void **out, size_t bytes) {
  uint64_t address = sim_allocate(machine(), bytes ? bytes : 1, true);
  if (!address) fail("out of memory");
  *out = (void *)(uintptr_t)address;
  if (state.buffer_count < MAX_SHARED_PIECES)
    state.buffers[state.buffer_count++] = (struct piece){*out, bytes, false};
  return SUCCESS;
}

/* What a program leaves that copies nothing back. */
static void log_buffer(struct piece *p) {
  if (p->size && !state.copied) log_copy(device_bytes((uintptr_t)p->bytes, p->size), p->size);
  *p = state.buffers[--state.buffer_count];
}
__attribute__((destructor)) static void log_buffers(void) {
  while (state.buffer_count) log_buffer(&state.buffers[0]);
}

int cudaFree(void *address);
int cudaFree(void *address) {
  for (unsigned i = 0; i < state.buffer_count; i++)
    if (state.buffers[i].bytes == address) {
      log_buffer(&state.buffers[i]);
      break;
    }
  return unshare(address);
}
int cudaFreeAsync(void *address, void *stream);
int cudaFreeAsync(void *address, void *stream) {
  (void)stream;
  return cudaFree(address);
}
int cudaMallocAsync(void **out, size_t bytes, void *stream);
int cudaMallocAsync(void **out, size_t bytes, void *stream) {
  (void)stream;
  return cudaMalloc(out, bytes);
}
int cudaMallocManaged(void **out, size_t bytes, unsigned flags);
int cudaMallocManaged(void **out, size_t bytes, unsigned flags) {
  (void)flags;
  return share(out, bytes, true);
}
int cudaMallocHost(void **out, size_t bytes);
int cudaMallocHost(void **out, size_t bytes) { return share(out, bytes, false); }
int cudaHostAlloc(void **out, size_t bytes, unsigned flags);
int cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  (void)flags;
  return share(out, bytes, false);
}
int cudaFreeHost(void *address);
int cudaFreeHost(void *address) { return unshare(address); }
int cudaHostGetDevicePointer(void **out, void *host, unsigned flags);
int cudaHostGetDevicePointer(void **out, void *host, unsigned flags) {
  (void)flags;
  *out = host;
  return SUCCESS;
}
int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height);
int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(out, *pitch * height);
}

static bool is_device(const void *address) {
  return sim_memory(machine(), (uintptr_t)address, 0) != NULL;
}

/* Where the bytes are for this process; those of both sides are the host's between launches. */
static void *bytes_of(const void *address, size_t bytes, bool on_device) {
  return on_device && !piece_at(address) ? device_bytes((uintptr_t)address, bytes)
                                         : (void *)(uintptr_t)address;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  bool to_device =
      kind == BY_ADDRESS ? is_device(to) : kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE;
  bool from_device =
      kind == BY_ADDRESS ? is_device(from) : kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE;
  memmove(bytes_of(to, bytes, to_device), bytes_of(from, bytes, from_device), bytes);
  if (!from_device || to_device) return SUCCESS;
  log_copy(to, bytes);
  state.copied = true;
  return SUCCESS;
}
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  (void)stream;
  return cudaMemcpy(to, from, bytes, kind);
}
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind);
int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind) {
  for (size_t y = 0; y < height; y++)
    cudaMemcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch, width, kind);
  return SUCCESS;
}
int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream);
int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream) {
  (void)stream;
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
int cudaMemset(void *to, int value, size_t bytes);
int cudaMemset(void *to, int value, size_t bytes) {
  void *source = malloc(bytes ? bytes : 1);
  if (!source) fail("out of memory");
  memset(source, value, bytes);
  int status = cudaMemcpy(to, source, bytes, HOST_TO_DEVICE);
  free(source);
  return status;
}
int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream);
int cudaMemsetAsync(void *to, int value, size_t bytes, void *stream) {
  (void)stream;
  return cudaMemset(to, value, bytes);
}

int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height);
int cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  for (size_t y = 0; y < height; y++) cudaMemset((char *)to + y * pitch, value, width);
  return SUCCESS;
}

static void *variable_address(const void *host) {
  const char *name = symbol_name(state.variables, state.variable_count, host);
  uint64_t address = sim_symbol(machine(), (struct nvm_text){name, strlen(name)}, NULL);
  return (void *)(uintptr_t)address;
}
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                       int kind) {
  char *to = variable_address(symbol);
  return to ? cudaMemcpy(to + offset, from, bytes, kind)
            : SUCCESS; /* none: the kernels do not use it */
}
int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind);
int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  char *from = variable_address(symbol);
  if (!from) fail("a copy from a variable that the PTX lacks");
  return cudaMemcpy(to, from + offset, bytes, kind);
}
int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                            int kind, void *stream);
int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                            int kind, void *stream) {
  (void)stream;
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                              void *stream);
int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                              void *stream) {
  (void)stream;
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
int cudaGetSymbolAddress(void **out, const void *symbol);
int cudaGetSymbolAddress(void **out, const void *symbol) {
  *out = variable_address(symbol);
  return SUCCESS;
}

/* --- launching
 * --------------------------------------------------------------------------------------- */

unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                     void *stream);
unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
                                     void *stream) {
  state.call.grid = grid;
  state.call.block = block;
  state.call.shared = shared;
  state.call.stream = stream;
  return SUCCESS;
}
int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared,
                               void **stream);
int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared,
                               void **stream) {
  *grid = state.call.grid;
  *block = state.call.block;
  *shared = state.call.shared;
  *stream = state.call.stream;
  return SUCCESS;
}

static void log_counts(const char *name) {
  const struct sim_counts *counts = sim_counted(state.sim);
  const char *path = getenv("NVMINI_COUNTS");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %" PRIu64 " %" PRIu64 "\n", name, counts->instructions,
          counts->warp_instructions);
  fclose(file);
}

static uint64_t parameter_bytes(const struct ptx_variable *v) {
  uint64_t bytes = ptx_mod_row(v->type)->bits / 8;
  return v->is_array ? bytes * v->count : bytes;
}

int cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **arguments,
                     size_t shared, void *stream);
int cudaLaunchKernel(const void *host, struct dim3 grid, struct dim3 block, void **arguments,
                     size_t shared, void *stream) {
  (void)stream;
  const char *name = symbol_name(state.functions, state.function_count, host);
  const char *order = getenv("NVMINI_ORDER");
  struct nvm_text kernel = {name, strlen(name)};
  if (!(grid.x && grid.y && grid.z && block.x && block.y && block.z)) return INVALID_CONFIGURATION;
  const struct ptx_function *f = sim_kernel(machine(), kernel);
  if (!f) fail("the PTX has no kernel %s", name);
  uint64_t sizes[MAX_ARGUMENTS];
  if (f->params.count > MAX_ARGUMENTS) fail("kernel %s has %u parameters", name, f->params.count);
  for (uint32_t i = 0; i < f->params.count; i++) sizes[i] = parameter_bytes(&f->params.data[i]);
  const struct sim_launch launch = {.kernel = kernel,
                                    .grid = {grid.x, grid.y, grid.z},
                                    .block = {block.x, block.y, block.z},
                                    .shared_bytes = shared,
                                    .arguments = (const void *const *)arguments,
                                    .argument_bytes = sizes,
                                    .argument_count = f->params.count,
                                    .check_races = getenv("NVMINI_RACES") != NULL,
                                    .random_schedule = order != NULL,
                                    .seed = order ? strtoull(order, NULL, 10) : 0};
  exchange(true);
  enum nvm_status status = sim_launch(state.sim, &launch);
  exchange(false);
  struct nvm_text printed = sim_output(state.sim);
  fwrite(printed.bytes, 1, printed.length, stdout);
  if (printed.length) log_copy(printed.bytes, printed.length);
  sim_output_taken(state.sim);
  if (status == NVM_REFUSED) fail_as_found();
  if (status != NVM_OK) fail("out of memory");
  log_counts(name);
  return SUCCESS;
}

int cudaLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
                                void **arguments, size_t shared, void *stream);
int cudaLaunchCooperativeKernel(const void *host, struct dim3 grid, struct dim3 block,
                                void **arguments, size_t shared, void *stream) {
  return cudaLaunchKernel(host, grid, block, arguments, shared, stream);
}
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  (void)stream;
  function(data);
  return SUCCESS;
}
int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                          unsigned flags);
int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                          unsigned flags) {
  (void)flags;
  function(stream, SUCCESS, data);
  return SUCCESS;
}

/* --- what has no meaning here
 * -------------------------------------------------------------------------- */

#define NOTHING(name) \
  int name(void);     \
  int name(void) { return SUCCESS; }
NOTHING(cudaDeviceSynchronize)
NOTHING(cudaDeviceReset)
NOTHING(cudaGetLastError)
NOTHING(cudaPeekAtLastError)
NOTHING(cudaSetDevice)
NOTHING(cudaFuncSetCacheConfig)
NOTHING(cudaFuncSetAttribute)
NOTHING(cudaDeviceSetCacheConfig)
NOTHING(cudaDeviceSetLimit)
NOTHING(cudaStreamSynchronize)
NOTHING(cudaStreamDestroy)
NOTHING(cudaStreamWaitEvent)
NOTHING(cudaStreamQuery)
NOTHING(cudaEventRecord)
NOTHING(cudaEventSynchronize)
NOTHING(cudaEventDestroy)
NOTHING(cudaEventQuery)
NOTHING(cudaProfilerStart)
NOTHING(cudaProfilerStop)
NOTHING(cudaMemPrefetchAsync)
NOTHING(cudaMemAdvise)
NOTHING(cudaHostUnregister)
NOTHING(cudaDeviceSetSharedMemConfig)
NOTHING(cudaFuncSetSharedMemConfig)
NOTHING(cudaSetDeviceFlags)
NOTHING(cudaMemPoolSetAttribute)
NOTHING(cudaMemPoolTrimTo)
NOTHING(cudaStreamAttachMemAsync)
NOTHING(cudaStreamSetAttribute)
NOTHING(cudaCtxResetPersistingL2Cache)
NOTHING(cudaDeviceEnablePeerAccess)
NOTHING(cudaDeviceDisablePeerAccess)

#define HANDLE(name)     \
  int name(void **out);  \
  int name(void **out) { \
    *out = NULL;         \
    return SUCCESS;      \
  }
HANDLE(cudaStreamCreate)
HANDLE(cudaStreamCreateWithFlags)
HANDLE(cudaEventCreate)
HANDLE(cudaEventCreateWithFlags)
HANDLE(cudaStreamCreateWithPriority)
HANDLE(cudaDeviceGetDefaultMemPool)

#define NUMBER(name, value) \
  int name(int *out);       \
  int name(int *out) {      \
    *out = (value);         \
    return SUCCESS;         \
  }
NUMBER(cudaRuntimeGetVersion, 13000)
NUMBER(cudaDriverGetVersion, 13000)
NUMBER(cudaDeviceCanAccessPeer, 0)
NUMBER(cudaDeviceGetSharedMemConfig, 1)
NUMBER(cudaDeviceGetCacheConfig, 0)
NUMBER(cudaGetDeviceFlags, 0)
NUMBER(cudaOccupancyMaxActiveBlocksPerMultiprocessor, 2)
NUMBER(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 2)
int cudaHostRegister(void *address, size_t bytes, unsigned flags);
int cudaHostRegister(void *address, size_t bytes, unsigned flags) {
  (void)address, (void)bytes, (void)flags;
  return SUCCESS; /* the device still does not see it: the simulator finds each access */
}
int cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return SUCCESS;
}
int cudaDeviceGetLimit(size_t *out);
int cudaDeviceGetLimit(size_t *out) {
  *out = (size_t)8 << 20;
  return SUCCESS;
}

/* The first fields of the vendor's struct cudaFuncAttributes. */
struct function_attributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int block_threads, registers, ptx_version, binary_version, cache_mode, dynamic_shared_bytes;
};
int cudaFuncGetAttributes(struct function_attributes *out, const void *host);
int cudaFuncGetAttributes(struct function_attributes *out, const void *host) {
  (void)host;
  *out = (struct function_attributes){.block_threads = 1024,
                                      .registers = 32,
                                      .ptx_version = 90,
                                      .binary_version = 90,
                                      .dynamic_shared_bytes = 49152};
  return SUCCESS;
}

int cudaEventElapsedTime(float *milliseconds);
int cudaEventElapsedTime(float *milliseconds) {
  *milliseconds = 1;
  return SUCCESS;
}
int cudaEventElapsedTime_v2(float *milliseconds);
int cudaEventElapsedTime_v2(float *milliseconds) {
  *milliseconds = 1;
  return SUCCESS;
}
int cudaGetDeviceCount(int *out);
int cudaGetDeviceCount(int *out) {
  *out = 1;
  return SUCCESS;
}
int cudaGetDevice(int *out);
int cudaGetDevice(int *out) {
  *out = 0;
  return SUCCESS;
}
int cudaDeviceGetAttribute(int *out, int attribute, int device);
int cudaDeviceGetAttribute(int *out, int attribute, int device) {
  static const int values[] = {[1] = 1024,
                               1024,
                               1024,
                               64,
                               0x7fffffff,
                               65535,
                               65535,
                               49152,
                               65536,
                               32,
                               0x7fffffff,
                               65536,
                               1000000,
                               512,
                               1,
                               PROCESSORS,
                               [36] = 1000000,
                               [37] = 5120,
                               [38] = 50 << 20,
                               [39] = 2048,
                               [41] = 1,
                               [75] = 9,
                               [81] = 233472,
                               [82] = 65536,
                               [83] = 1,
                               [95] = 1,
                               [97] = 232448};
  (void)device;
  *out =
      attribute >= 0 && attribute < (int)(sizeof values / sizeof values[0]) ? values[attribute] : 0;
  return SUCCESS;
}
int cudaMemGetInfo(size_t *left, size_t *total);
int cudaMemGetInfo(size_t *left, size_t *total) {
  *left = *total = (size_t)1 << 32;
  return SUCCESS;
}
const char *cudaGetErrorString(int error);
const char *cudaGetErrorString(int error) { return error ? "an error" : "no error"; }
const char *cudaGetErrorName(int error);
const char *cudaGetErrorName(int error) { return cudaGetErrorString(error); }

/* The same seeds in every run. */
long time(long *out);
long time(long *out) {
  if (out) *out = 1;
  return 1;
}

/* The first fields of the vendor's struct cudaDeviceProp; the rest stays as the program left it. */
struct device_properties {
  char name[256], uuid[16], luid[8];
  unsigned node_mask;
  size_t global_bytes, shared_bytes;
  int registers, warp_size;
  size_t pitch;
  int block_threads, block[3], grid[3];
  int clock;
  size_t const_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch;
  int processors, integrated, maps_host_memory, texture_sizes[39];
  size_t surface_alignment;
  int concurrent_kernels, error_correction, pci[3], compute_only, copy_engines, unified_addressing;
  int bus_width, l2_bytes, persisting_l2_bytes, processor_threads, stream_priorities, l1_caches[2];
  size_t processor_shared_bytes;
  int processor_registers, managed_memory;
};
_Static_assert(offsetof(struct device_properties, managed_memory) == 636, "as in CUDA 13");
int cudaGetDeviceProperties(struct device_properties *p, int device);
int cudaGetDeviceProperties(struct device_properties *p, int device) {
  (void)device;
  *p = (struct device_properties){.name = "nvmini simulator",
                                  .global_bytes = (size_t)1 << 32,
                                  .shared_bytes = 49152,
                                  .registers = 65536,
                                  .warp_size = 32,
                                  .block_threads = 1024,
                                  .block = {1024, 1024, 64},
                                  .grid = {0x7fffffff, 65535, 65535},
                                  .const_bytes = 65536,
                                  .major = 9,
                                  .processors = PROCESSORS,
                                  .concurrent_kernels = 1,
                                  .unified_addressing = 1,
                                  .l2_bytes = 50 << 20,
                                  .processor_threads = 2048,
                                  .processor_shared_bytes = 233472,
                                  .processor_registers = 65536,
                                  .managed_memory = 1};
  return SUCCESS;
}
