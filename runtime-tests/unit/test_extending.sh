#!/bin/sh
# docs/extending.md is right: an intrinsic and a peephole rule, added to a copy of the tree by the
# rows that the page shows and no other edit, are parsed, lowered, executed and proven.
# Needs make, a C compiler, re2c and bison, as building does. Ends with "N passed, N failed".
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

check() { # NAME COMMAND...
  name=$1
  shift
  if "$@" > "$work/output" 2>&1; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$name"
  tail -n 20 "$work/output" | sed 's/^/  /'
}

# shown FIRST: the line of the page that begins with FIRST.
shown() { grep "^$1" "$root/docs/extending.md"; }

(cd "$root" && tar cf - --exclude=./build --exclude=./.git .) | (cd "$work" && tar xf -)
shown 'llvm.nvvm.abs.diff' >> "$work/ir/intrinsics.def"
shown 'add-umax-umin:' >> "$work/opt/scalar/combine.rules"
cat > "$work/new.nvir" << 'EOF'
; nvmini-run: --arg i32:3 --arg i32:10 --arg buf:i32:2:fill:5 --print 2
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.abs.diff(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
define ptx_kernel void @k(i32 %a, i32 %b, ptr addrspace(1) %p) {
  %d = call i32 @llvm.nvvm.abs.diff(i32 %a, i32 %b)
  store i32 %d, ptr addrspace(1) %p
  %x = call i32 @llvm.umax.i32(i32 %a, i32 %b)
  %y = call i32 @llvm.umin.i32(i32 %a, i32 %b)
  %z = add i32 %x, %y
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  store i32 %z, ptr addrspace(1) %q
  ret void
}
EOF
check 'builds' make -C "$work" -j2 MAKEFLAGS= CC="${CC:-cc}" CFLAGS=-O0 build/nvmini
nvmini=$work/build/nvmini
check 'the intrinsic is listed' sh -c "'$nvmini' intrinsics | grep -q 'llvm.nvvm.abs.diff'"
check 'it becomes its instruction' sh -c \
  "'$nvmini' compile '$work/new.nvir' --cpu sm_90 -O0 -o - | grep -q 'sad.u32'"
check 'the rule is applied' sh -c \
  "'$nvmini' compile '$work/new.nvir' --cpu sm_90 --passes combine --emit ir -o - | grep -q 'add i32 %a, %b'"
for level in -O0 -O3; do
  check "both are executed, $level" sh -c "'$nvmini' run '$work/new.nvir' $level | grep -qx '7 13'"
done
if command -v z3 > /dev/null && command -v python3 > /dev/null; then
  check 'the rule is proven' python3 "$work/runtime-tests/prove/prove.py" --only add-umax-umin
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
