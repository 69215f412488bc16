#!/bin/sh
# Writes what fuzzing begins with into build/fuzz/work: seeds/ (text), seeds_fuzz_bitcode/ (the same
# modules as bitcode, where llvm-as 17 or later is installed) and dict, the words of the language.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=build/fuzz/work
rm -rf "$work"
mkdir -p "$work/seeds"

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
if assembler=$(tools/find-llvm.sh llvm-as); then
  find samples runtime-tests -name '*.nvir' -o -name '*.ll' | sort | while read -r file; do
    [ "$(wc -c < "$file")" -le 20000 ] || continue
    "$assembler" "$file" -o "$work/seeds_fuzz_bitcode/$(echo "$file" | tr '/' '_').bc" 2> /dev/null || : # some tests are no valid modules
  done
else
  echo "fuzz_bitcode: skipped: its seeds need llvm-as 17 or later"
fi
