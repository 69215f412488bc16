#!/bin/sh
# nvcc gives PTX, which `nvmini run` executes; of its NVVM IR it gives nothing that can be read.
. "$(dirname "$0")/common.sh"
nvcc=$(command -v nvcc || echo "${CUDA:-/usr/local/cuda}/bin/nvcc")
[ -x "$nvcc" ] || skip "no nvcc"
"$nvcc" -ptx -arch=sm_90 "$here/cuda.cu" -o "$work/cuda.ptx"
"$nvmini" run "$work/cuda.ptx" $launch | check nvcc
