/* A program that compiles a kernel from memory with the library, and prints the PTX.
 *
 *   cc embed.c -lnvmini && ./a.out */
#include <nvmini.h>
#include <stdio.h>
#include <string.h>

static void report(void *user, const struct nvmini_diagnostic *d) {
  fprintf(user, "%s:%u:%u: %.*s\n", d->name ? d->name : "nvmini", d->line, d->column,
          (int)d->message.length, d->message.bytes);
}

int main(void) {
  static const char kernel[] =
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "define ptx_kernel void @one(ptr addrspace(1) %p) {\n"
      "  store i32 1, ptr addrspace(1) %p, align 4\n"
      "  ret void\n"
      "}\n";
  struct nvmini_context *context = nvmini_create(NULL, 0);
  if (context == NULL) return 1;
  nvmini_on_diagnostic(context, report, stderr);
  struct nvmini_module *module = NULL;
  struct nvmini_text ptx;
  enum nvmini_status status = nvmini_set_option(context, "-arch=compute_90a");
  if (status == NVMINI_OK)
    status = nvmini_parse(context, kernel, strlen(kernel), "kernel", &module);
  if (status == NVMINI_OK) status = nvmini_compile(module, &ptx);
  if (status == NVMINI_OK) fwrite(ptx.bytes, 1, ptx.length, stdout);
  nvmini_release(module);
  nvmini_destroy(context);
  return status == NVMINI_OK ? 0 : 1;
}
