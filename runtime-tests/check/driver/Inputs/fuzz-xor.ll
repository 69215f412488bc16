; nvmini-run: --kernel k --arg i32:7 --arg buf:i32:1:zero --print 1
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(i32 %x, ptr %out) {
  %y = add i32 %x, 1
  %z = xor i32 %x, 5
  store i32 %z, ptr %out
  ret void
}
