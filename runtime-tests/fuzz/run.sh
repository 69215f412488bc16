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
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=8:malloc_context_size=8:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
work=$root/build/fuzz/work
passed=0
failed=0
mkdir -p "$root/build/fuzz/found"

runtime-tests/fuzz/seeds.sh || exit 1

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
  dict=dict
  [ ! -f "dict_$name" ] || dict=dict_$name
  if "$target" -help=1 < /dev/null 2>&1 | grep -q max_total_time; then
    "$target" -timeout=20 "$seeds"/* > log 2>&1
    result $? "$name on its seeds"
    # Mutated are only small seeds. With -entropic=1 libFuzzer needs three times the time of the targets.
    mkdir -p "corpus_$name" "small_$seeds"
    find "$seeds" -type f -size -9 -exec ln -f {} "small_$seeds" \;
    "$target" -seed="${FUZZ_SEED:-1}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -max_len=4096 -entropic=0 \
      -dict="$dict" -artifact_prefix="$root/build/fuzz/found/$name-" "corpus_$name" "small_$seeds" > log 2>&1
    result $? "$name for $seconds s"
  else
    "$target" "$seeds"/* > log 2>&1
    result $? "$name on its seeds"
    "$target" --seconds "$seconds" --dict "$dict" "$seeds"/* > log 2>&1
    status=$?
    result $status "$name for $seconds s (without coverage: no libFuzzer here)"
    [ ! -f fuzz-crash-input ] || mv fuzz-crash-input "$root/build/fuzz/found/$name-input"
  fi
  echo "$name: $(grep -E '^(stat::number_of_executed_units|Done |[0-9]+ inputs)' log | tail -n 1)"
done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
