#!/bin/sh
# Julia. $JULIA: the command (default julia).
. "$(dirname "$0")/common.sh"
julia=${JULIA:-julia}
command -v "$julia" > /dev/null || skip "no julia"
"$julia" --startup-file=no "$here/julia.jl" "$work"
sines "$work/generic.ll"
sines "$work/global.ll"
sines "$work/plain.ll" --link "$here/julia_runtime.nvir"
