// The same without the toolkit: no header, no library. clang knows the attributes and the registers.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
extern "C" __device__ float __nv_sinf(float);

extern "C" __global__ void sines(const float *x, float *y, int n) {
  int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (i < n) y[i] = __nv_sinf(x[i]);
}
