/* A program that executes a kernel from memory on the CPU, and prints the result, what is wrong
 * with the kernel, and what it executed.
 *
 *   cc embed_run.c -lnvmini && ./a.out */
#include <nvmini.h>
#include <stdio.h>
#include <string.h>

static void report(void *user, const struct nvmini_diagnostic *d) {
  fprintf(user, "%s:%u:%u: %.*s\n", d->name ? d->name : "nvmini", d->line, d->column,
          (int)d->message.length, d->message.bytes);
}

static void report_finding(void *user, const struct nvmini_finding *f) {
  fprintf(user, "%s: block %u, thread %u %.*s, line %u\n", f->kind, f->block[0], f->thread[0],
          (int)f->message.length, f->message.bytes, f->line);
}

static void report_count(void *user, const char *name, uint64_t value) {
  if (strcmp(name, "instructions") == 0) fprintf(user, "%u instructions\n", (unsigned)value);
}

/* Runs the kernel, data[i] += data[i] for each thread i, on a buffer of `count` numbers. */
static enum nvmini_status twice(struct nvmini_module *module, uint32_t threads, uint32_t count) {
  struct nvmini_machine *machine;
  enum nvmini_status status = nvmini_load(module, &machine);
  if (status != NVMINI_OK) return status;
  uint64_t address = nvmini_allocate(machine, count * 4, 1);
  int32_t *data = nvmini_memory(machine, address, count * 4);
  for (uint32_t i = 0; data && i < count; i++) data[i] = (int32_t)i + 1;
  const void *arguments[] = {&address};
  const uint64_t argument_bytes[] = {sizeof address};
  struct nvmini_launch launch = {.kernel = "twice",
                                 .block = {threads},
                                 .arguments = arguments,
                                 .argument_bytes = argument_bytes,
                                 .argument_count = 1,
                                 .user = stdout,
                                 .finding = report_finding,
                                 .count = report_count};
  status = data ? nvmini_launch(machine, &launch) : NVMINI_OUT_OF_MEMORY;
  for (uint32_t i = 0; status == NVMINI_OK && i < count; i++)
    printf("%d%c", data[i], i + 1 < count ? ' ' : '\n');
  nvmini_unload(machine);
  return status;
}

int main(void) {
  static const char kernel[] =
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "define ptx_kernel void @twice(ptr addrspace(1) %data) {\n"
      "  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "  %p = getelementptr i32, ptr addrspace(1) %data, i32 %i\n"
      "  %x = load i32, ptr addrspace(1) %p\n"
      "  %y = add i32 %x, %x\n"
      "  store i32 %y, ptr addrspace(1) %p\n"
      "  ret void\n"
      "}\n";
  struct nvmini_context *context = nvmini_create(NULL, 0);
  if (context == NULL) return 1;
  nvmini_on_diagnostic(context, report, stderr);
  struct nvmini_module *module = NULL;
  enum nvmini_status status = nvmini_set_option(context, "--cpu=sm_90a");
  if (status == NVMINI_OK)
    status = nvmini_parse(context, kernel, strlen(kernel), "kernel", &module);
  if (status == NVMINI_OK) status = twice(module, 8, 8);
  if (status == NVMINI_OK && twice(module, 8, 7) != NVMINI_REFUSED) status = NVMINI_BUG;
  nvmini_release(module);
  nvmini_destroy(context);
  return status == NVMINI_OK ? 0 : 1;
}
