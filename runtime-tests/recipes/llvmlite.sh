#!/bin/sh
# llvmlite, which builds modules from Python. $PYTHON: a Python with `pip install llvmlite` (default python3).
. "$(dirname "$0")/common.sh"
status=0
"${PYTHON:-python3}" "$here/llvmlite_module.py" "$work/module.ll" "$work/module.bc" || status=$?
[ $status != 77 ] || skip "no llvmlite"
[ $status = 0 ]
sines "$work/module.ll"
sines "$work/module.bc"
