/* libNVVM's functions: programs, their modules, results and logs. build.c compiles them. */
#include "compat/nvvm.h"

#include "compat/program.h"
#include "frontend/bitcode/bcmodule.h"

/* CUDA 13.1 to 13.5: LLVM 7 with typed pointers below compute_100. */
enum { LLVM_OLD = 7, LLVM_NEW = 22, FIRST_SM_OF_NEW = 100 };

const char *nvvmGetErrorString(nvvmResult result) {
  switch (result) {
    case NVVM_SUCCESS: return "NVVM_SUCCESS";
    case NVVM_ERROR_OUT_OF_MEMORY: return "NVVM_ERROR_OUT_OF_MEMORY";
    case NVVM_ERROR_PROGRAM_CREATION_FAILURE: return "NVVM_ERROR_PROGRAM_CREATION_FAILURE";
    case NVVM_ERROR_IR_VERSION_MISMATCH: return "NVVM_ERROR_IR_VERSION_MISMATCH";
    case NVVM_ERROR_INVALID_INPUT: return "NVVM_ERROR_INVALID_INPUT";
    case NVVM_ERROR_INVALID_PROGRAM: return "NVVM_ERROR_INVALID_PROGRAM";
    case NVVM_ERROR_INVALID_IR: return "NVVM_ERROR_INVALID_IR";
    case NVVM_ERROR_INVALID_OPTION: return "NVVM_ERROR_INVALID_OPTION";
    case NVVM_ERROR_NO_MODULE_IN_PROGRAM: return "NVVM_ERROR_NO_MODULE_IN_PROGRAM";
    case NVVM_ERROR_COMPILATION: return "NVVM_ERROR_COMPILATION";
    case NVVM_ERROR_CANCELLED: return "NVVM_ERROR_CANCELLED";
  }
  return "NVVM_ERROR not found";
}

static void set_number(int *to, int value) {
  if (to) *to = value;
}

nvvmResult nvvmVersion(int *major, int *minor) {
  set_number(major, 2);
  set_number(minor, 0);
  return NVVM_SUCCESS;
}

nvvmResult nvvmIRVersion(int *majorIR, int *minorIR, int *majorDbg, int *minorDbg) {
  set_number(majorIR, PROGRAM_IR_MAJOR);
  set_number(minorIR, PROGRAM_IR_MINOR);
  set_number(majorDbg, PROGRAM_DEBUG_MAJOR);
  set_number(minorDbg, PROGRAM_DEBUG_MINOR);
  return NVVM_SUCCESS;
}

nvvmResult nvvmLLVMVersion(const char *arch, int *major) {
  const struct tgt_cpu *cpu = arch ? options_find_arch(arch) : NULL;
  if (!cpu) return NVVM_ERROR_INVALID_INPUT;
  set_number(major, cpu->sm < FIRST_SM_OF_NEW ? LLVM_OLD : LLVM_NEW);
  return NVVM_SUCCESS;
}

nvvmResult nvvmCreateProgram(nvvmProgram *prog) {
  const struct nvm_allocator a = nvm_default_allocator;
  if (!prog) return NVVM_ERROR_INVALID_PROGRAM;
  struct _nvvmProgram *p = a.resize(a.state, NULL, 0, sizeof *p);
  if (!p) return NVVM_ERROR_OUT_OF_MEMORY;
  *p = (struct _nvvmProgram){0};
  arena_init(&p->inputs_arena, a);
  arena_init(&p->log_arena, a);
  arena_init(&p->result_arena, a);
  textbuf_init(&p->log, &p->log_arena);
  *prog = p;
  return NVVM_SUCCESS;
}

nvvmResult nvvmDestroyProgram(nvvmProgram *prog) {
  const struct nvm_allocator a = nvm_default_allocator;
  if (!prog || !*prog) return NVVM_ERROR_INVALID_PROGRAM;
  struct _nvvmProgram *p = *prog;
  arena_free(&p->inputs_arena);
  arena_free(&p->log_arena);
  arena_free(&p->result_arena);
  a.resize(a.state, p, sizeof *p, 0);
  *prog = NULL;
  return NVVM_SUCCESS;
}

static nvvmResult add_module(struct _nvvmProgram *p, const char *buffer, size_t size,
                             const char *name, bool is_library) {
  if (!p) return NVVM_ERROR_INVALID_PROGRAM;
  if (!buffer || size == 0) return NVVM_ERROR_INVALID_INPUT;
  /* Callers pass C strings with their NUL. */
  if (!bcmodule_is_bitcode(buffer, size))
    while (size > 0 && buffer[size - 1] == '\0') size--;
  if (!name || !*name) name = "<unnamed>";
  struct arena *arena = &p->inputs_arena;
  struct program_input input = {arena_copy(arena, buffer, size), size,
                                arena_copy(arena, name, strlen(name)), is_library};
  bool added = input.bytes && input.name && VEC_PUSH(arena, &p->inputs, input);
  return added ? NVVM_SUCCESS : NVVM_ERROR_OUT_OF_MEMORY;
}

nvvmResult nvvmAddModuleToProgram(nvvmProgram prog, const char *buffer, size_t size,
                                  const char *name) {
  return add_module(prog, buffer, size, name, false);
}

nvvmResult nvvmLazyAddModuleToProgram(nvvmProgram prog, const char *buffer, size_t size,
                                      const char *name) {
  return add_module(prog, buffer, size, name, true);
}

nvvmResult nvvmVerifyProgram(nvvmProgram prog, int numOptions, const char **options) {
  return prog ? build_program(prog, numOptions, options, false) : NVVM_ERROR_INVALID_PROGRAM;
}

nvvmResult nvvmCompileProgram(nvvmProgram prog, int numOptions, const char **options) {
  return prog ? build_program(prog, numOptions, options, true) : NVVM_ERROR_INVALID_PROGRAM;
}

/* ---- Texts ---- */

static nvvmResult get_size(size_t length, size_t *size) {
  if (!size) return NVVM_ERROR_INVALID_INPUT;
  *size = length + 1;
  return NVVM_SUCCESS;
}

static nvvmResult get_text(struct nvm_text text, char *buffer) {
  if (!buffer) return NVVM_ERROR_INVALID_INPUT;
  if (text.length > 0) memcpy(buffer, text.bytes, text.length);
  buffer[text.length] = '\0';
  return NVVM_SUCCESS;
}

nvvmResult nvvmGetCompiledResultSize(nvvmProgram prog, size_t *bufferSizeRet) {
  return prog ? get_size(prog->result.length, bufferSizeRet) : NVVM_ERROR_INVALID_PROGRAM;
}

nvvmResult nvvmGetCompiledResult(nvvmProgram prog, char *buffer) {
  return prog ? get_text(prog->result, buffer) : NVVM_ERROR_INVALID_PROGRAM;
}

nvvmResult nvvmGetProgramLogSize(nvvmProgram prog, size_t *bufferSizeRet) {
  return prog ? get_size(prog->log.length, bufferSizeRet) : NVVM_ERROR_INVALID_PROGRAM;
}

nvvmResult nvvmGetProgramLog(nvvmProgram prog, char *buffer) {
  return prog ? get_text((struct nvm_text){prog->log.bytes, prog->log.length}, buffer)
              : NVVM_ERROR_INVALID_PROGRAM;
}
