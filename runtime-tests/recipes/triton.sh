#!/bin/sh
# Triton. $PYTHON: a Python with `pip install triton` (default python3).
. "$(dirname "$0")/common.sh"
export TRITON_CACHE_DIR="$work/cache"
status=0
"${PYTHON:-python3}" "$here/triton_kernel.py" "$work/triton.ll" "$work/triton.ptx" || status=$?
[ $status != 77 ] || skip "no Triton"
[ $status = 0 ]
# Kernels have two parameters more, for scratch memory; null here. Four warps were asked for.
launch='--kernel sines --block 128 --arg buf:f32:8:iota --arg buf:f32:8:fill:0 --arg i32:8 --arg i64:0 --arg i64:0 --print 1'
sines "$work/triton.ll"
"$nvmini" run "$work/triton.ptx" $launch | check "Triton's own PTX"
