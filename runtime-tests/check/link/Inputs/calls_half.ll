target triple = "nvptx64-nvidia-cuda"
declare float @half(float)
define ptx_kernel void @k(ptr %p) {
  %x = load float, ptr %p
  %y = call float @half(float %x)
  store float %y, ptr %p
  ret void
}
