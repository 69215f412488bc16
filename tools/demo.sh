#!/bin/sh
# What `make demo` shows after the build: a kernel and its PTX, what it computes, what the
# vectorizer saves, and a race that the simulator finds.
set -eu
run=build/nvmini
kernel=samples/saxpy.nvir
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }
number() { sed -n "s/^$1 *//p"; } # NAME: its value in the output of --stats

say "The kernel: $kernel"
grep -v '^target' "$kernel"

say "Its PTX: $run compile $kernel --cpu sm_90a"
$run compile "$kernel" --cpu sm_90a

arguments="--block 32 --arg i32:8 --arg f32:2 --arg buf:f32:8:iota --arg buf:f32:8:fill:1 --print 3[0:8]"
say "Executed on the CPU with n = 8, a = 2, x = 0 1 2 ..., y = 1 1 1 ...: the new y"
echo "   $run run $kernel $arguments"
$run run "$kernel" $arguments

say "The sum of 1000 numbers by one thread: $run run samples/sum.nvir --stats"
for level in -O0 -O1 -O2; do
  $run run samples/sum.nvir $level --stats > "$work/stats"
  printf '   %s %6s instructions, %4s loads from global memory\n' "$level" \
    "$(number instructions < "$work/stats")" "$(number global.loads < "$work/stats")"
done

say "samples/reduction.nvir without its barrier: $run run finds the race"
grep -v 'call void @llvm.nvvm.barrier0' samples/reduction.nvir > "$work/no-barrier.nvir"
if $run run "$work/no-barrier.nvir" > /dev/null 2> "$work/finding"; then
  echo "the race was not found" >&2
  exit 1
fi
sed "s|$work/||g" "$work/finding"

say "Next: docs/tour.md, ten minutes; $run help"
