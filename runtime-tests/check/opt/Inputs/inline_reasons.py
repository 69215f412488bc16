# A module of calls that are inlined at a cost above the threshold, each for another reason, and of calls that are not.
def function(head, body, count):
    print(f"define {head} {{")
    for _ in range(count):
        print(f"  {body}")
    print("  ret void\n}")


STORE = "store volatile i32 1, ptr addrspace(1) @g"
print("@g = addrspace(1) global i32 0")
function("void @marked() alwaysinline", STORE, 600)
function("internal void @once()", STORE, 600)
function("void @constant(i32 %x)", "store volatile i32 %x, ptr addrspace(1) @g", 600)
function("void @address(ptr %p)", "store volatile i32 1, ptr %p", 600)
function("void @hinted() inlinehint", STORE, 100)
function("void @large()", STORE, 600)
function("void @small()", STORE, 1)
function("internal void @few()", STORE, 100)
function("internal void @many()", STORE, 100)
print("""define void @caller(i32 %x) {
  %v = alloca i32
  call void @marked()
  call void @once()
  call void @constant(i32 7)
  call void @constant(i32 %x)
  call void @address(ptr %v)
  call void @large()
  ret void
}
define void @repeated() {""")
for callee, calls in (("few", 21), ("many", 22), ("hinted", 21)):
    for _ in range(calls):
        print(f"  call void @{callee}()")
print("""  ret void
}
define void @too_large() {""")
for _ in range(20001):
    print(" ", STORE)
print("  call void @small()\n  ret void\n}")
