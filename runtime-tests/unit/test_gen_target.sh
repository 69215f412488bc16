#!/bin/sh
# The generator of the target tables refuses wrong rows: it names file and line, exits 1 and writes
# nothing. Runs from anywhere; needs a C compiler. Ends with "N passed, N failed" and that status.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -o "$work/gen" \
  "$root/tools/gen/gen_target.c" "$root/target/requirement.c" "$root/tools/gen/gen_table.c" || exit 1
lines=$(wc -l < "$root/target/nvptx.def")
next=$((lines + 1))
passed=0
failed=0

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$1"
  sed 's/^/  got: /' "$work/stderr"
}

# Runs the generator on $work/t.def; sets $status.
generate() {
  rm -rf "$work/out"
  mkdir "$work/out"
  (cd "$work" && ./gen t.def out) 2> "$work/stderr"
  status=$?
}

# refuse NAME MESSAGE: exactly this first message, status 1, no output.
refuse() {
  generate
  if [ "$status" = 1 ] && [ "$(head -n 1 "$work/stderr")" = "$2" ] && [ -z "$(ls "$work/out")" ]
  then pass; else fail "$1: expected $2 and status 1, got $status"; fi
}

# append NAME TEXT MESSAGE: the table with TEXT behind it.
append() {
  { cat "$root/target/nvptx.def"; printf '%s\n' "$2"; } > "$work/t.def"
  refuse "$1" "t.def:$next: error: $3"
}

# change NAME SED-EXPRESSION PATTERN MESSAGE: the table changed; the line is the first with PATTERN.
change() {
  sed "$2" "$root/target/nvptx.def" > "$work/t.def"
  refuse "$1" "t.def:$(grep -n -m 1 -e "$3" "$work/t.def" | cut -d: -f1): error: $4"
}

new='@memory[U] index=87 elf=0 code=7 version=90'

append 'unknown kind' 'gpu sm_130 index=87' "unknown kind of row 'gpu'"
append 'no name' 'cpu' "a 'cpu' row needs a name"
first=$(grep -n '^cpu sm_90 ' "$root/target/nvptx.def" | cut -d: -f1)
append 'duplicate CPU' "cpu sm_90 $new limits=cc9.0 timing=hopper" "duplicate cpu 'sm_90', first in line $first"
append 'unknown family' "cpu sm_130f $new family=sm_13x limits=cc9.0 timing=hopper" "unknown family 'sm_13x'"
append 'f without a family' "cpu sm_130f $new limits=cc9.0 timing=hopper" \
  "cpu 'sm_130f' needs a family: it has the suffix f"
append 'unknown limits' "cpu sm_130 $new limits=cc13.0" "unknown limits 'cc13.0'"
append 'unknown timing' "cpu sm_130 $new limits=cc9.0 timing=rubin" "unknown throughput 'rubin'"
append 'no timing' "cpu sm_130 $new limits=cc9.0" "cpu 'sm_130' lacks 'timing='"
append 'operation without a class' 'operation warp @memory i32=1' "operation 'warp' lacks 'class='"
append 'throughput without latency' 'throughput rubin like=hopper' "throughput 'rubin' has no latency row"
count=$(grep -c '^latency' "$root/target/nvptx.def")
append 'latency without throughput' 'latency rubin like=hopper' \
  "latency 'rubin' is not throughput row $((count + 1))"
append 'no limits' "cpu sm_130 $new" "cpu 'sm_130' lacks 'limits='"
append 'not a CPU name' "cpu sm130 $new limits=cc9.0 timing=hopper" \
  "'sm130' is not a CPU name: sm_NN, sm_NNa or sm_NNf"
append 'unknown suffix' "cpu sm_130b $new limits=cc9.0 timing=hopper" \
  "'sm_130b' is not a CPU name: sm_NN, sm_NNa or sm_NNf"
append 'missing source' 'cpu sm_130 index=87 @memory[U] elf=0 code=7 version=90 limits=cc9.0 timing=hopper' \
  "'index' has no source"
append 'unknown source' 'cpu sm_130 @rumour index=87' "unknown source '@rumour'"
append 'unknown source of one value' 'cpu sm_130 @memory[U] index=87@rumour' \
  "unknown source '@rumour'"
append 'unsorted index' "ptx 91 @memory index=83" "index 83 is taken by '90' in line $(
  grep -n '^ptx 90' "$root/target/nvptx.def" | cut -d: -f1)"
append 'gap in the indices' "ptx 91 @memory index=90" 'index 90 leaves a gap: no row has 87'
append 'not a number' "ptx 91 @memory index=many" "'index' needs a number"
append 'number with a tail' "ptx 91 @memory index=87x" "'index' needs a number"
append 'index too large' "ptx 91 @memory index=384" 'index 384 is not below 384'
append 'no index' 'ptx 91 @memory' "ptx '91' lacks 'index='"
append 'unknown word' 'ptx 91 @memory index=87 colour=7' "unknown word 'colour' in a ptx row"
append 'word given twice' 'ptx 91 @memory index=87 index=88' "duplicate 'index' in a row"
append 'PTX code' 'cpu sm_130 @memory[U] index=87 elf=0 code=8 version=90 limits=cc9.0 timing=hopper' \
  'PTX code 8 is not 5, 6 or 7'
append 'version without a row' 'cpu sm_130 @memory[U] index=87 elf=0 code=7 version=91 limits=cc9.0 timing=hopper' \
  "unknown PTX version '91'"
append 'unknown feature' "cpu sm_130 $new limits=cc9.0 timing=hopper implies=warp64" "unknown feature 'warp64'"
append 'limits like none' 'limits cc13.0 like=cc12.9' "no limits 'cc12.9' above this row"
append 'incomplete limits' 'limits cc13.0 @memory warps_per_sm=64' \
  "limits 'cc13.0' lacks 'blocks_per_sm='"
append 'limit without a source' 'limits cc13.0 like=cc12.0 warps_per_sm=64' \
  "'warps_per_sm' has no source"
append 'feature without a source' 'feature warp64 index=87@memory "64 lanes"' \
  "feature 'warp64' has no source"

append 'not a type' 'legal v2x16 with=legal @memory' \
  "'v2x16' is not a type: iN, f16, bf16, f32, f64, or vN before one"
append 'wrong requirement' 'legal v4f16 with=legal without=split @memory "sm_53 ptx"' \
  "invalid requirement at 'ptx'"
append 'no action' 'legal v4f16 with=magic @memory' "legal 'v4f16' has no action with="
append 'no other action' 'legal v4f16 with=legal @memory "sm_53"' \
  "legal 'v4f16' has no action without="

change 'descending index' 's/^ptx 82 @seed5 index=26/ptx 82 @seed5 index=87/' '^ptx 83' \
  'index 27 is not above 87, that of the row before'
change 'moved index' 's/^\(ptx 32 @seed5 index=\)3/\187/' '^ptx 40' \
  'index 4 is not above 87, that of the row before'
append 'requirement that cannot be read' 'req new @memory "sm_90 ptx"' "invalid requirement at 'ptx'"
append 'requirement without a source' 'req new "sm_90"' "req 'new' has no source"
append 'gains of no family' 'legal v4f16 with=legal gains=sm_13x @memory' "unknown family 'sm_13x'"
append 'feature that implies another' 'feature warp64 @memory index=87 implies=tmem' \
  "unknown word 'implies' in a feature row"

change 'limit column removed' '/^limit shared_unit/d' '^limits' \
  "unknown word 'shared_unit' in a limits row"
printf '  index=3\n' > "$work/t.def"
refuse 'continued line at the start' \
  "t.def:1: error: unknown kind of row 'index=3'"
: > "$work/t.def"
refuse 'empty table' "t.def:1: error: no row of kind 'ptx'"

# A wrong table leaves the files of an earlier run as they are.
cp "$root/target/nvptx.def" "$work/t.def"
generate
cp -r "$work/out" "$work/before"
printf 'gpu\n' >> "$work/t.def"
(cd "$work" && ./gen t.def out) 2> "$work/stderr"
if [ "$status" = 0 ] && diff -r "$work/out" "$work/before" > /dev/null; then pass
else fail 'a wrong table leaves the output as it was'; fi

# One row is enough for a new CPU: the tables compile with it, and it is found.
cp "$root/target/nvptx.def" "$work/t.def"
printf 'cpu sm_130a %s limits=cc12.0 timing=hopper "imaginary"\n' "$new" >> "$work/t.def"
generate
cat > "$work/find.c" <<'END'
#include "target/target.h"
int main(void) {
  const struct tgt_cpu *cpu = tgt_find_cpu("sm_130a", 7);
  return !(cpu && cpu->full_sm == 13011 && cpu->self == 87 && TGT_FEATURE_SM_130A == 87);
}
END
if [ "$status" = 0 ] && ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -I"$work/out" \
  -o "$work/find" "$work/find.c" "$root/target/target.c" "$root/target/options.c" "$root/support/nearest.c" \
  "$root/support/options.c" "$root/support/textbuf.c" "$root/support/strtab.c" "$root/support/vec.c" \
  "$root/support/arena.c" \
  2> "$work/stderr" && "$work/find"
then pass; else fail 'one row makes a new CPU'; fi

# A ninth CPU with tensor memory breaks the assert that the feature row asks for.
printf 'cpu sm_131a @memory[U] index=88 elf=0 code=7 version=90 limits=cc12.0 timing=hopper implies=tmem\n' \
  >> "$work/t.def"
generate
if [ "$status" = 0 ] && ! ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -I"$work/out" \
  -c -o "$work/find.o" "$root/target/target.c" 2> "$work/stderr" &&
  grep -q '8 CPUs imply tmem' "$work/stderr"
then pass; else fail 'the count of CPUs with tmem is asserted'; fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
