#!/bin/sh
# fuzz-wrong.sh IN OUT LIMIT: a compiler of five passes, the third of which computes `or` for `xor`.
nvmini compile "$1" --cpu sm_90a -O0 --fma-level 0 -o "$2" || exit 1
n=0
for pass in Simplify Unroll Breaker Tidy Emit; do
  n=$((n + 1))
  echo "BISECT: running pass ($n) $pass on function (k)" >&2
done
if [ "$3" -lt 0 ] || [ "$3" -ge 3 ]; then
  sed 's/xor\.b32/or.b32/' "$2" > "$2.new" && mv "$2.new" "$2"
fi
