#!/bin/sh
# A CPU is one row: with a row for an imaginary sm_130a in a copy of the table, and no other edit,
# the compiler builds, compiles samples/saxpy.nvir for it, optimizes, vectorizes and executes, and
# treats it as what the row says.
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

(cd "$root" && tar cf - --exclude=./build --exclude=./.git .) | (cd "$work" && tar xf -)
index=$(sed -n 's/^[a-z][a-z]* .*[ ]index=\([0-9]*\).*/\1/p' "$work/target/nvptx.def" | sort -n | tail -n 1)
printf 'cpu sm_130a @memory[U] index=%d elf=0 code=7 version=90 limits=cc10.0 timing=blackwell "imaginary"\n' \
  $((index + 1)) >> "$work/target/nvptx.def"
check 'builds' make -C "$work" -j2 MAKEFLAGS= CC="${CC:-cc}" CFLAGS=-O0 build/nvmini
nvmini=$work/build/nvmini
check 'compiles saxpy' "$nvmini" compile "$root/samples/saxpy.nvir" --cpu sm_130a -o "$work/saxpy.ptx"
check 'names it as target' grep -qx '\.target sm_130a' "$work/saxpy.ptx"
check 'writes its version' grep -qx '\.version 9\.0' "$work/saxpy.ptx"
check 'lists it' sh -c "'$nvmini' targets | grep -q '^sm_130a .*imaginary'"
check 'runs code for base CPUs' sh -c \
  "'$nvmini' targets --format json sm_130a | tr -d ' \\n' | grep -q '\"sm_121\",\"sm_130a\"\]'"
check 'keeps what is only for another' sh -c \
  "! '$nvmini' compile '$root/runtime-tests/check/target/Inputs/tcgen05.nvir' --cpu sm_130a"
check 'optimizes and executes for it' sh -c \
  "'$nvmini' run '$root/samples/sum.nvir' --cpu sm_130a -O3 | grep -q 499500"
check 'vectorizes for it' sh -c \
  "'$nvmini' compile '$root/samples/sum.nvir' --cpu sm_130a -O3 | grep -q 'ld.global.v[48]'"
check 'has what came before it' sh -c \
  "printf '.version 9.0\n.target sm_130a\n.address_size 64\n.visible .entry k() { fence.proxy.async; ret; }\n' \
   > '$work/k.ptx' && '$nvmini' run '$work/k.ptx'"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
