#!/bin/sh
# CUDA with the toolkit's headers, by clang. $CUDA: the toolkit (default /usr/local/cuda).
. "$(dirname "$0")/common.sh"
find_clang
cuda=${CUDA:-/usr/local/cuda}
[ -e "$cuda/include/cuda.h" ] || skip "no CUDA toolkit in $cuda"

# Headers of toolkit 12 that clang 19 includes and toolkit 13 lacks; no code here uses them.
mkdir "$work/missing"
for header in texture_fetch_functions.h; do
  [ -e "$cuda/include/$header" ] || : > "$work/missing/$header"
done
flags="-x cuda --cuda-device-only --cuda-gpu-arch=sm_90 --cuda-path=$cuda -I $work/missing
  -isystem $cuda/include/cccl -Wno-unknown-cuda-version -std=c++17"

# With libdevice, which clang links itself, and without: nvmini has the functions.
for library in '' -nocudalib; do
  $clang $flags $library -O0 -S -emit-llvm "$here/cuda.cu" -o "$work/o0$library.ll"
  sines "$work/o0$library.ll"
  $clang $flags $library -O3 -Xclang -disable-llvm-passes -c -emit-llvm "$here/cuda.cu" -o "$work/raw$library.bc"
  sines "$work/raw$library.bc"
done
sines "$work/raw-nocudalib.bc" --link "$cuda/nvvm/libdevice/libdevice.10.bc"
