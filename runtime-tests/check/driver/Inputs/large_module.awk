# Kernels of 250 stores: 11 kB of text each. LAST is put before the return of the last one, TAIL after all of them.
BEGIN {
  print "target triple = \"nvptx64-nvidia-cuda\""
  for (n = 1; n <= KERNELS; n++) {
    print "define ptx_kernel void @k" n "(ptr %p) {"
    for (k = 0; k < 250; k++) print "  store volatile i32 " n * 1000 + k ", ptr %p, align 4"
    print (n == KERNELS ? "  " LAST "\n" : "") "  ret void\n}"
  }
  print TAIL
}
