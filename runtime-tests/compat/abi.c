/* What a program compiled with an nvvm.h relies on: values, sizes and types. Compiled against ours
 * and, where CUDA is installed, its own (-DHEADER), it must print the same. */
#include HEADER
#include <stdio.h>

#define TYPE(function, ...) \
  _Static_assert(_Generic(&function, __VA_ARGS__ : 1, default : 0), #function " has another type")

TYPE(nvvmGetErrorString, const char *(*)(nvvmResult));
TYPE(nvvmVersion, nvvmResult (*)(int *, int *));
TYPE(nvvmIRVersion, nvvmResult (*)(int *, int *, int *, int *));
TYPE(nvvmCreateProgram, nvvmResult (*)(nvvmProgram *));
TYPE(nvvmDestroyProgram, nvvmResult (*)(nvvmProgram *));
TYPE(nvvmAddModuleToProgram, nvvmResult (*)(nvvmProgram, const char *, size_t, const char *));
TYPE(nvvmLazyAddModuleToProgram, nvvmResult (*)(nvvmProgram, const char *, size_t, const char *));
TYPE(nvvmVerifyProgram, nvvmResult (*)(nvvmProgram, int, const char **));
TYPE(nvvmCompileProgram, nvvmResult (*)(nvvmProgram, int, const char **));
TYPE(nvvmGetCompiledResultSize, nvvmResult (*)(nvvmProgram, size_t *));
TYPE(nvvmGetCompiledResult, nvvmResult (*)(nvvmProgram, char *));
TYPE(nvvmGetProgramLogSize, nvvmResult (*)(nvvmProgram, size_t *));
TYPE(nvvmGetProgramLog, nvvmResult (*)(nvvmProgram, char *));

#define VALUE(name) printf("%s %d\n", #name, (int)name)

int main(void) {
  VALUE(NVVM_SUCCESS);
  VALUE(NVVM_ERROR_OUT_OF_MEMORY);
  VALUE(NVVM_ERROR_PROGRAM_CREATION_FAILURE);
  VALUE(NVVM_ERROR_IR_VERSION_MISMATCH);
  VALUE(NVVM_ERROR_INVALID_INPUT);
  VALUE(NVVM_ERROR_INVALID_PROGRAM);
  VALUE(NVVM_ERROR_INVALID_IR);
  VALUE(NVVM_ERROR_INVALID_OPTION);
  VALUE(NVVM_ERROR_NO_MODULE_IN_PROGRAM);
  VALUE(NVVM_ERROR_COMPILATION);
  VALUE(NVVM_ERROR_CANCELLED);
  printf("sizes %d %d\n", (int)sizeof(nvvmResult), (int)sizeof(nvvmProgram));
  return 0;
}
