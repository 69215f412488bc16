#!/bin/sh
# Prints two lines: the path of LLVM's FileCheck and the path of its lit; fails if one is missing.
# Debian puts the versioned ones into /usr/lib/llvm-N; of several the newest wins.
filecheck=$(command -v FileCheck || ls -v /usr/lib/llvm-*/bin/FileCheck 2> /dev/null | tail -n 1)
lit=$(command -v lit || command -v llvm-lit || ls -v /usr/lib/llvm-*/build/utils/lit/lit.py 2> /dev/null | tail -n 1)
[ -n "$filecheck" ] && [ -n "$lit" ] || exit 1
echo "$filecheck"
echo "$lit"
