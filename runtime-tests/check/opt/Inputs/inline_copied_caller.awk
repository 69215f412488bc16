# A kernel with CALLS calls of an alwaysinline function, which calls one of 600 instructions. LINKAGE: of the
# alwaysinline function; FIRST: its first instruction.
BEGIN {
  print "target triple = \"nvptx64-nvidia-cuda\""
  print "define internal i32 @large(i32 %x) {"
  v = "%x"
  for (k = 0; k < 600; k++) {
    print "%v" k " = " (k % 2 ? "xor" : "mul") " i32 " v ", %x"
    v = "%v" k
  }
  print "ret i32 " v "\n}"
  print "define " LINKAGE " i32 @wrapper(i32 %x) alwaysinline {\n" FIRST
  print "%c = call i32 @large(i32 %x)\nret i32 %c\n}"
  print "define ptx_kernel void @k(ptr %p) {\n%v0 = load i32, ptr %p"
  for (k = 0; k < CALLS; k++) print "%v" k + 1 " = call i32 @wrapper(i32 %v" k ")"
  print "store i32 %v" CALLS ", ptr %p\nret void\n}"
}
