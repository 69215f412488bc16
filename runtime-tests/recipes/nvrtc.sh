#!/bin/sh
# NVRTC gives PTX too.
. "$(dirname "$0")/common.sh"
python3 "$here/nvrtc.py" "$here/cuda.cu" "$work/cuda.ptx" || skip "no libnvrtc.so"
"$nvmini" run "$work/cuda.ptx" $launch | check NVRTC
