#!/bin/sh
# CUDA without a toolkit: clang alone; __nv_sinf is built into nvmini.
. "$(dirname "$0")/common.sh"
find_clang
flags="-x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -nocudainc -nocudalib"

$clang $flags -O0 -S -emit-llvm "$here/cuda_bare.cu" -o "$work/o0.ll"
sines "$work/o0.ll"
$clang $flags -O3 -Xclang -disable-llvm-passes -c -emit-llvm "$here/cuda_bare.cu" -o "$work/raw.bc"
sines "$work/raw.bc"
$clang $flags -O3 -c -emit-llvm "$here/cuda_bare.cu" -o "$work/o3.bc"
sines "$work/o3.bc"
