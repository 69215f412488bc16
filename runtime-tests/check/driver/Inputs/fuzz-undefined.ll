; nvmini-run: --kernel k --arg buf:i32:1:zero --print 0
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr %out) {
  %q = udiv i32 1, 0
  store i32 %q, ptr %out
  ret void
}
