; nvmini-run: --kernel k --arg buf:i32:1:zero --print 0
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr %out) {
  store i32 5, ptr %out
  ret void
}
