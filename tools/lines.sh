#!/bin/sh
# Prints the lines of each folder, and of the core: what the compiler itself consists of, tables
# included, generators and the bitcode reader excluded. The budget is 57,000.
set -eu
cd "$(dirname "$0")/.."
core="support ir analysis target frontend ptx opt codegen api include"
others="frontend/bitcode mathlib sim driver tools samples runtime-tests"

# count FOLDER: lines of its tracked text files.
count() {
  git ls-files -z -- "$1" | xargs -0 cat | wc -l
}

sum=0
for folder in $core; do
  lines=$(count "$folder")
  [ "$folder" != frontend ] || lines=$((lines - $(count frontend/bitcode)))
  sum=$((sum + lines))
  printf '%-16s %7d\n' "$folder" "$lines"
done
printf '%-16s %7d\n' core "$sum"
for folder in $others; do
  printf '%-16s %7d\n' "$folder" "$(count "$folder")"
done
