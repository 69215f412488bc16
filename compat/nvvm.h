/* The interface of libNVVM, as its documentation states it, for nvmini's libnvvm.so.4.
 *
 * A program compiled with CUDA's nvvm.h needs nothing from here: names, values and signatures are
 * the same (runtime-tests/compat/abi.py compares them). docs/libnvvm.md says what is equal and what
 * differs. No function keeps state outside a program; several threads may use it, each with
 * programs of its own. */
#ifndef NVVM_H
#define NVVM_H

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define NVVM_API __attribute__((visibility("default")))
#else
#define NVVM_API
#endif

typedef enum {
  NVVM_SUCCESS = 0,
  NVVM_ERROR_OUT_OF_MEMORY = 1,
  NVVM_ERROR_PROGRAM_CREATION_FAILURE = 2, /* not returned */
  NVVM_ERROR_IR_VERSION_MISMATCH = 3,      /* of !nvvmir.version; a module without one is 1.0 */
  NVVM_ERROR_INVALID_INPUT = 4,            /* an argument */
  NVVM_ERROR_INVALID_PROGRAM = 5,          /* NULL */
  NVVM_ERROR_INVALID_IR = 6,               /* from nvvmVerifyProgram */
  NVVM_ERROR_INVALID_OPTION = 7,
  NVVM_ERROR_NO_MODULE_IN_PROGRAM = 8,
  NVVM_ERROR_COMPILATION = 9, /* from nvvmCompileProgram, for invalid IR too */
  NVVM_ERROR_CANCELLED = 10   /* not returned */
} nvvmResult;

typedef struct _nvvmProgram *nvvmProgram;

/* The name of a code: "NVVM_ERROR_COMPILATION". */
NVVM_API const char *nvvmGetErrorString(nvvmResult result);

/* The version of the interface: 2.0. */
NVVM_API nvvmResult nvvmVersion(int *major, int *minor);

/* The newest versions of NVVM IR and its debug metadata that are accepted: 2.0 and 3.2. */
NVVM_API nvvmResult nvvmIRVersion(int *majorIR, int *minorIR, int *majorDbg, int *minorDbg);

/* The version of LLVM whose IR libNVVM takes for an architecture, "compute_90": 7 with typed
 * pointers, 22 from compute_100 on. nvmini takes both for all. Since CUDA 13.1. */
NVVM_API nvvmResult nvvmLLVMVersion(const char *arch, int *major);

/* An empty program; nvvmDestroyProgram frees it and sets *prog to NULL. */
NVVM_API nvvmResult nvvmCreateProgram(nvvmProgram *prog);
NVVM_API nvvmResult nvvmDestroyProgram(nvvmProgram *prog);

/* Adds a module, text or bitcode, which is copied and parsed later. `name` is for messages; NULL or
 * "": "<unnamed>". */
NVVM_API nvvmResult nvvmAddModuleToProgram(nvvmProgram prog, const char *buffer, size_t size,
                                           const char *name);

/* Adds a library: only definitions that other modules need are linked, as internal symbols. */
NVVM_API nvvmResult nvvmLazyAddModuleToProgram(nvvmProgram prog, const char *buffer, size_t size,
                                               const char *name);

/* Parses, verifies and links the modules; the log has the errors. The result stays as it is. */
NVVM_API nvvmResult nvvmVerifyProgram(nvvmProgram prog, int numOptions, const char **options);

/* Compiles the modules to PTX. After a failure the result is empty. */
NVVM_API nvvmResult nvvmCompileProgram(nvvmProgram prog, int numOptions, const char **options);

/* The PTX of the last nvvmCompileProgram, and its size in bytes with the NUL at its end. */
NVVM_API nvvmResult nvvmGetCompiledResultSize(nvvmProgram prog, size_t *bufferSizeRet);
NVVM_API nvvmResult nvvmGetCompiledResult(nvvmProgram prog, char *buffer);

/* The messages of the last verification or compilation, likewise. */
NVVM_API nvvmResult nvvmGetProgramLogSize(nvvmProgram prog, size_t *bufferSizeRet);
NVVM_API nvvmResult nvvmGetProgramLog(nvvmProgram prog, char *buffer);

#ifdef __cplusplus
}
#endif

#endif
