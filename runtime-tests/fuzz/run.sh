#!/bin/sh
# Runs every fuzz target of build/fuzz: first all seeds (samples, text checks, fuzz/seeds), then new
# inputs for SECONDS each. Closes with "fuzz: N passed, N failed", two tests a target. An input that
# ends a target in disorder is kept in build/fuzz/found.
#   run.sh SECONDS
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$(pwd)
seconds=${1:-60}
# A small quarantine and short stacks: less memory to map for each input.
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=8:malloc_context_size=8
export UBSAN_OPTIONS=print_stacktrace=1
work=$root/build/fuzz/work
passed=0
failed=0
rm -rf "$work"
mkdir -p "$work/seeds" "$root/build/fuzz/found"

# Seeds under flat names, none larger than what a mutator makes good use of; three in four begin with options of fuzz_compile.
knobs="force-vector-width=4 force-vector-interleave=2 prefer-predicate-over-epilogue=1 enable-early-exit-vectorization=1"
count=0
find samples runtime-tests -name '*.nvir' -o -name '*.ll' | sort | while read -r file; do
  [ "$(wc -c < "$file")" -le 32000 ] || continue
  ! grep -q '^; RUN: exits 70' "$file" || continue # it breaks the compiler on purpose
  seed=$work/seeds/$(echo "$file" | tr '/' '_')
  count=$((count + 1))
  case $((count % 8)) in
    1) echo "; fuzz: -O0" ;;
    2) echo "; fuzz: -O1 --verify-each" ;;
    3) echo "; fuzz: -O2$(for knob in $knobs; do printf ' --knob=%s' "$knob"; done)" ;;
    4) echo "; fuzz: --passes=sroa,mem2reg,loop-simplify,lcssa,loop-unroll,gvn,combine" ;;
    5) echo "; fuzz: -Ofc=max" ;;
    6) echo "; fuzz: -O3 --verify-each --knob=vectorizer-min-trip-count=2 --knob=force-vector-width=2" ;;
  esac > "$seed"
  cat "$file" >> "$seed"
done
for word in -O0 -O1 -O2 -O3 -Ofc=max -Ofc=min --verify-each $([ -x build/nvmini ] && build/nvmini passes | awk '{print "--passes=" $1}'); do
  echo "\" $word\""
done > "$work/dict"
[ -x build/nvmini ] && build/nvmini knobs | awk '{print "\" --knob=" $1 "=1\""; print "\" --knob=" $1 "=4\""}' >> "$work/dict"
cat runtime-tests/fuzz/nvir.dict >> "$work/dict"
for command in ops intrinsics; do # their first words are keywords of the language
  [ -x build/nvmini ] && build/nvmini "$command" | sed -E 's/^([^ ]+).*/"\1"/' >> "$work/dict"
done

# The same modules as bitcode, for the target that reads it.
mkdir -p "$work/seeds_fuzz_bitcode"
assembler=$(for name in llvm-as-22 llvm-as-19 llvm-as-18 llvm-as llvm-as-14; do command -v "$name" && break; done)
if [ -n "$assembler" ]; then
  find samples runtime-tests -name '*.nvir' -o -name '*.ll' | sort | while read -r file; do
    [ "$(wc -c < "$file")" -le 20000 ] || continue
    "$assembler" "$file" -o "$work/seeds_fuzz_bitcode/$(echo "$file" | tr '/' '_').bc" 2> /dev/null
  done
else
  echo "fuzz_bitcode: skipped: its seeds need llvm-as"
fi

result() {
  if [ "$1" -eq 0 ]; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  tail -n 60 "$work/log"
  echo "FAILED: $2 (status $1); last input: $(grep -E '^Running: |Test unit written to ' "$work/log" | tail -n 1)"
}

cd "$work" || exit 1
for target in "$root"/build/fuzz/fuzz_*; do
  case $target in *.d | *.dSYM) continue ;; esac
  name=$(basename "$target")
  seeds=seeds
  [ ! -d "seeds_$name" ] || seeds=seeds_$name
  ls "$seeds" | grep -q . || continue
  if "$target" -help=1 < /dev/null 2>&1 | grep -q max_total_time; then
    "$target" -timeout=20 "$seeds"/* > log 2>&1
    result $? "$name on its seeds"
    # Mutated are only small seeds. With -entropic=1 libFuzzer needs three times the time of the targets.
    mkdir -p "corpus_$name" "small_$seeds"
    find "$seeds" -type f -size -9 -exec ln -f {} "small_$seeds" \;
    "$target" -seed="${FUZZ_SEED:-1}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=4096 -entropic=0 \
      -dict=dict -artifact_prefix="$root/build/fuzz/found/$name-" "corpus_$name" "small_$seeds" > log 2>&1
    result $? "$name for $seconds s"
  else
    "$target" "$seeds"/* > log 2>&1
    result $? "$name on its seeds"
    "$target" --seconds "$seconds" --dict dict "$seeds"/* > log 2>&1
    status=$?
    result $status "$name for $seconds s (without coverage: no libFuzzer here)"
    [ ! -f fuzz-crash-input ] || mv fuzz-crash-input "$root/build/fuzz/found/$name-input"
  fi
  echo "$name: $(grep -E '^(stat::number_of_executed_units|Done |[0-9]+ inputs)' log | tail -n 1)"
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
