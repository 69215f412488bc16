#!/bin/sh
# Zig. $ZIG: the command (default zig, or the module `ziglang` of `pip install ziglang`).
. "$(dirname "$0")/common.sh"
python=${PYTHON:-python3}
zig=${ZIG:-$(command -v zig || "$python" -c 'import ziglang, os; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))' 2> /dev/null)} ||
  skip "no zig"
export ZIG_LOCAL_CACHE_DIR="$work/cache" ZIG_GLOBAL_CACHE_DIR="$work/cache"
for mode in Debug ReleaseFast; do
  "$zig" build-obj "$here/zig.zig" -target nvptx64-cuda -mcpu sm_90 -O $mode -fllvm -femit-llvm-bc="$work/$mode.bc" -fno-emit-bin
  sines "$work/$mode.bc"
done
