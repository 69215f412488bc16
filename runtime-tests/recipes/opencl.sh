#!/bin/sh
# OpenCL C by clang, with built-in functions from a file of ours.
. "$(dirname "$0")/common.sh"
find_clang
flags="-x cl -cl-std=CL3.0 --target=nvptx64-nvidia-cuda -Xclang -target-cpu -Xclang sm_90 -c -emit-llvm"
$clang $flags -O1 -Xclang -finclude-default-header "$here/opencl_builtins.cl" -o "$work/builtins.bc"
for level in -O0 -O2; do
  $clang $flags $level -Xclang -finclude-default-header "$here/opencl.cl" -o "$work/cl.bc"
  sines "$work/cl.bc" --link "$work/builtins.bc"
done
