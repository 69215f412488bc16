#!/bin/sh
# Fuzzes for a given time: every target of runtime-tests/fuzz, random kernels (fuzz-diff) and, with a clang for CUDA,
# random CUDA kernels (fuzz-cuda). The time is divided among them.
#
#   tools/fuzz-night.sh [--seconds N | --hours N] [--cores N] [--folder DIRECTORY] [--only "NAME..."]
#
# FOLDER keeps, for the next call too: corpus/TARGET, minimized at the end; found/, the inputs that ended a target in
# disorder and the logs of generators with a difference; state/JOB, what was done so far; summary.md. A call with the
# same FOLDER goes on: corpora grow, seeds are not repeated. Interrupted, it ends its own processes and writes the summary.
# Exit status 1: there are findings.
set -u
cd "$(dirname "$0")/.." || exit 2
root=$(pwd)
seconds=28800 cores=1 folder=build/fuzz-night only=
while [ $# -ge 2 ]; do
  case $1 in
    --seconds) seconds=$2 ;;
    --hours) seconds=$(($2 * 3600)) ;;
    --cores) cores=$2 ;;
    --folder) folder=$2 ;;
    --only) only=$2 ;;
    *) echo "fuzz-night: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
[ $# -eq 0 ] && [ "$cores" -ge 1 ] && [ "$seconds" -ge 1 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
[ -n "$(tools/find-libfuzzer.sh)" ] || { echo 'fuzz-night: needs a clang with libFuzzer' >&2; exit 2; }
mkdir -p "$folder/corpus" "$folder/found" "$folder/state" "$folder/log"
folder=$(cd "$folder" && pwd)
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:quarantine_size_mb=8:malloc_context_size=8

make --no-print-directory all > "$folder/log/build" 2>&1 && make --no-print-directory VARIANT=fuzz fuzz-programs >> "$folder/log/build" 2>&1 ||
  { tail -n 20 "$folder/log/build"; exit 2; }
[ -f "$folder/seeds/dict_fuzz_ptx" ] || runtime-tests/fuzz/seeds.sh "$folder/seeds" || exit 2

# ---- What a job has done so far: runs, seconds, findings, number of its last start ----

load() { runs=0 spent=0 findings=0 starts=0; [ ! -f "$folder/state/$1" ] || . "$folder/state/$1"; }
save() {
  echo "runs=$runs spent=$spent findings=$findings starts=$starts" > "$folder/state/$1.new"
  mv "$folder/state/$1.new" "$folder/state/$1"
}

# ---- Jobs; each ends soon after its time. The process in hand is `child`, which an interrupt ends ----

child=
ends() { [ -z "$child" ] || kill "$child" 2> /dev/null; wait; exit 0; }
run() { "$@" & child=$!; wait "$child"; status=$?; child=; }

target() {
  name=$1 until=$(($(date +%s) + $2)) log=$folder/log/$1
  corpus=$folder/corpus/$name seeds=$folder/seeds/seeds_$name dict=$folder/seeds/dict_$name
  [ -d "$seeds" ] || seeds=$folder/seeds/seeds
  [ -f "$dict" ] || dict=$folder/seeds/dict
  mkdir -p "$corpus"
  while [ "$(date +%s)" -lt "$until" ]; do
    load "$name"
    began=$(date +%s) starts=$((starts + 1))
    save "$name"
    slice=$((until - began))
    [ "$slice" -le 600 ] || slice=600 # what an interrupt loses of the counts
    run "$root/build/fuzz/$name" -seed=$starts -max_total_time="$slice" -timeout=30 -rss_limit_mb=3000 -max_len=4096 \
      -entropic=0 -print_final_stats=1 -dict="$dict" -artifact_prefix="$folder/found/$name-" "$corpus" "$seeds" > "$log" 2>&1
    done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    [ -n "$done" ] || done=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    runs=$((runs + ${done:-0})) spent=$((spent + $(date +%s) - began))
    if [ "$status" -ne 0 ]; then findings=$((findings + 1)); cp "$log" "$folder/found/$name-$starts.log"; sleep 1; fi
    save "$name"
  done
}

generator() {
  name=$1 until=$(($(date +%s) + $2)) log=$folder/log/$1
  script=runtime-tests/fuzz/diff.py
  [ "$name" = fuzz-diff ] || script=runtime-tests/fuzz/diff_cuda.py
  while [ "$(date +%s)" -lt "$until" ]; do
    load "$name"
    began=$(date +%s) starts=$((starts + 1))
    save "$name"
    run python3 "$script" --count 50 --seed $((starts * 1000)) --nvmini "$root/build/nvmini" > "$log" 2>&1
    done=$(grep -oE '[0-9]+ kernels, ' "$log" | tail -n 1 | tr -dc 0-9)
    runs=$((runs + ${done:-0})) spent=$((spent + $(date +%s) - began))
    if [ "$status" -ne 0 ]; then findings=$((findings + 1)); cp "$log" "$folder/found/$name-$starts.log"; fi
    save "$name"
    grep -q '^skipped' "$log" && return
  done
}

# A smaller corpus with the same coverage.
minimize() {
  name=$1 corpus=$folder/corpus/$1
  ls "$corpus" 2> /dev/null | grep -q . || return
  rm -rf "$corpus.new" && mkdir "$corpus.new"
  run "$root/build/fuzz/$name" -merge=1 -max_len=4096 -timeout=30 -rss_limit_mb=3000 -artifact_prefix="$folder/found/$name-" "$corpus.new" "$corpus" \
    > "$folder/log/$name-merge" 2>&1
  if [ "$status" -eq 0 ] && ls "$corpus.new" | grep -q .; then
    rm -rf "$corpus" && mv "$corpus.new" "$corpus"
  else
    rm -rf "$corpus.new"
  fi
}

# ---- Distribution over the cores ----

jobs=$only
[ -n "$jobs" ] || jobs="$(for f in runtime-tests/fuzz/fuzz_*.c; do basename "$f" .c; done) fuzz-diff fuzz-cuda"
count=$(echo $jobs | wc -w)
share=$((seconds * cores / count))
[ "$share" -le "$seconds" ] || share=$seconds
[ "$share" -ge 1 ] || share=1

# Jobs k, k + cores, ... one after the other.
worker() {
  trap ends INT TERM
  number=0
  for job in $jobs; do
    number=$((number + 1))
    [ $((number % cores)) -eq "$1" ] || continue
    case $job in
      fuzz_*) target "$job" "$share"; minimize "$job" ;;
      *) generator "$job" "$share" ;;
    esac
  done
}

summary() {
  total=0
  {
    echo '| job | inputs | seconds | inputs/s | corpus | findings |'
    echo '|---|---|---|---|---|---|'
    for job in $jobs; do
      load "$job"
      total=$((total + findings))
      echo "| $job | $runs | $spent | $((spent ? runs / spent : 0)) | $(ls "$folder/corpus/$job" 2> /dev/null | wc -l) | $findings |"
    done
  } > "$folder/summary.md.new"
  mv "$folder/summary.md.new" "$folder/summary.md"
  cat "$folder/summary.md"
}

workers=
k=0
while [ "$k" -lt "$cores" ]; do
  worker "$k" &
  workers="$workers $!"
  k=$((k + 1))
done
trap 'kill $workers 2> /dev/null; wait; summary; exit 1' INT TERM
wait
summary
[ "$total" -eq 0 ]
