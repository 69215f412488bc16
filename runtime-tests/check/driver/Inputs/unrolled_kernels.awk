# Kernels whose loop, unrolled fully, is 200 times its text.
BEGIN {
  print "target triple = \"nvptx64-nvidia-cuda\""
  for (n = 1; n <= KERNELS; n++) {
    print "define ptx_kernel void @k" n "(ptr %p) {\nentry:\n  br label %loop\nloop:"
    print "  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n  %v = mul i32 %i, " n
    print "  store volatile i32 %v, ptr %p, align 4\n  %next = add i32 %i, 1"
    print "  %again = icmp ult i32 %next, 200\n  br i1 %again, label %loop, label %end, !llvm.loop !0"
    print "end:\n  ret void\n}"
  }
  print "!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.full\"}"
}
