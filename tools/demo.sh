#!/bin/sh
# What `make demo` shows after the build: a kernel, and the PTX that it becomes.
set -eu
kernel=samples/saxpy.nvir
cpu=sm_90a
echo
echo "== The kernel: $kernel"
cat "$kernel"
echo
echo "== build/nvmini compile $kernel --cpu $cpu"
build/nvmini compile "$kernel" --cpu "$cpu"
