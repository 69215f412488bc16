// Built-in functions of OpenCL for opencl.cl; `--link` takes those that are declared.
float __nv_sinf(float);

#define ID(d) (ulong)__nvvm_read_ptx_sreg_ctaid_##d() * __nvvm_read_ptx_sreg_ntid_##d() + __nvvm_read_ptx_sreg_tid_##d()
__attribute__((overloadable)) size_t get_global_id(uint dimension) {
  if (dimension == 0) return ID(x);
  return dimension == 1 ? ID(y) : ID(z);
}
__attribute__((overloadable)) float sin(float x) { return __nv_sinf(x); }
