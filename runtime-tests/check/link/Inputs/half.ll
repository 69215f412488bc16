target triple = "nvptx64-nvidia-cuda"
define float @half(float %x) {
  %y = fmul float %x, 0.5
  ret float %y
}
define float @other(float %x) {
  ret float %x
}
