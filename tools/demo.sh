#!/bin/sh
# What `make demo` shows after the build: a kernel, the PTX that it becomes, and what it computes.
set -eu
kernel=samples/saxpy.nvir
cpu=sm_90a
echo
echo "== The kernel: $kernel"
cat "$kernel"
echo
echo "== build/nvmini compile $kernel --cpu $cpu"
build/nvmini compile "$kernel" --cpu "$cpu"

run="build/nvmini run $kernel --block 32 --arg i32:8 --arg f32:2 --arg buf:f32:8:iota --arg buf:f32:8:fill:1 --print 3[0:8]"
echo
echo "== On the CPU, with n = 8, a = 2, x = 0 1 2 ..., y = 1 1 1 ...: the new y"
echo "   $run"
$run
