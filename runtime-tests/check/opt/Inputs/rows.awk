# A function that sums products of the first two elements of ROWS rows of a matrix: a pair of loads each.
BEGIN {
  print "define void @rows(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %n) {"
  print "  %s0 = fadd float 0.0, 0.0"
  for (k = 1; k <= ROWS; k++) {
    print "  %r" k " = mul i64 %n, " 2 * k
    print "  %a" k " = getelementptr [2 x float], ptr addrspace(1) %p, i64 %r" k
    print "  %x" k " = load float, ptr addrspace(1) %a" k ", align 8"
    print "  %b" k " = getelementptr float, ptr addrspace(1) %a" k ", i64 1"
    print "  %y" k " = load float, ptr addrspace(1) %b" k ", align 4"
    print "  %m" k " = fmul float %x" k ", %y" k
    print "  %s" k " = fadd float %s" k - 1 ", %m" k
  }
  print "  store float %s" ROWS ", ptr addrspace(1) %q"
  print "  ret void"
  print "}"
}
