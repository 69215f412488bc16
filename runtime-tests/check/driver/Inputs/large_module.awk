# Kernels of 250 instructions that count the bits of a word: 11 kB of text and 10 kB of PTX each. LAST is put before the
# return of the last one, HEAD before all of them, and TAIL after them.
BEGIN {
  print "target triple = \"nvptx64-nvidia-cuda\"" HEAD
  for (n = 1; n <= KERNELS; n++) {
    print "define ptx_kernel void @k" n "(ptr %p) {"
    for (k = 0; k < 250; k++) print "  store volatile i32 " n * 1000 + k ", ptr %p, align 4"
    print (n == KERNELS ? "  " LAST "\n" : "") "  ret void\n}"
  }
  print TAIL
}
