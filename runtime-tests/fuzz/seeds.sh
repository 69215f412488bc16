#!/bin/sh
# Writes what fuzzing begins with into build/fuzz/work, or FOLDER: seeds/ (text), seeds_fuzz_bitcode/ (the same
# modules as bitcode, where llvm-as 17 or later is installed), seeds_fuzz_*/ of other targets, and dict, the words
# of the language; dict_fuzz_* of other languages.
#   seeds.sh [FOLDER]
set -u
cd "$(dirname "$0")/../.." || exit 1
work=${1:-build/fuzz/work}
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
    timeout 10 "$assembler" "$file" -o "$work/seeds_fuzz_bitcode/$(echo "$file" | tr '/' '_').bc" 2> /dev/null || : # some tests are no valid modules, for one llvm-as needs minutes
  done
else
  echo "fuzz_bitcode: skipped: its seeds need llvm-as 17 or later"
fi

# Some of the texts, for targets that do more with each; kernels that are executed for fuzz_run.
mkdir -p "$work/seeds_fuzz_passes" "$work/seeds_fuzz_run"
count=0
for seed in "$work"/seeds/*; do
  count=$((count + 1))
  case $seed in
    *_exec_* | */samples_*) ln -f "$seed" "$work/seeds_fuzz_run/" ;;
  esac
  [ $((count % 6)) -ne 0 ] || ln -f "$seed" "$work/seeds_fuzz_passes/"
  [ $((count % 12)) -ne 0 ] || ln -f "$seed" "$work/seeds_fuzz_run/"
done

# PTX: of other compilers, and ours of the samples.
ptx=$work/seeds_fuzz_ptx
mkdir -p "$ptx"
find runtime-tests -name '*.ptx' | while read -r file; do cp "$file" "$ptx/$(echo "$file" | tr '/' '_')"; done
for file in samples/*.nvir runtime-tests/exec/*.nvir; do
  [ -x build/nvmini ] && [ "$(wc -c < "$file")" -le 8000 ] || continue
  for level in -O0 -O2; do
    name=$ptx/$(basename "$file" .nvir)$level.ptx
    build/nvmini compile "$file" --cpu sm_100a $level -o "$name" 2> /dev/null || rm -f "$name"
  done
done
{
  sed -n -E 's/^([a-z][a-z0-9]*)([. ].*)?$/"\1"/p' ptx/ops.def | sort -u
  cat "$ptx"/*.ptx | grep -oE '[.][a-z][a-z0-9_:]*' | sort -u | sed 's/.*/"&"/'
  echo '"%tid.x"'; echo '".visible .entry "'; echo '"@%p1 "'; echo '"bra "'; echo '"{ %r1, %r2 }"'; echo '"0f3F800000"'; echo '"$L_1:"'
} > "$work/dict_fuzz_ptx"

# Calls of the interfaces, before the texts that they use.
api=$work/seeds_fuzz_api
mkdir -p "$api"
for file in samples/*.nvir; do
  [ "$(wc -c < "$file")" -le 3000 ] || continue
  count=0
  for calls in 's0cGp0v0o0P0G0C0r0' 's0s3cFp0m0a6a2R0R1g0u0P0r0' 's0p0p1l1v0C0' 's01030415060702242107050604' 'x0a4a8R0R2x1' \
    's0p0p1L4o0m0P0R0R9u0C0p2C2' 's1cOs6s9p0p5p2o0o1C2r0r1r2'; do
    count=$((count + 1))
    { echo "$calls"; cat "$file"; printf '\n;;;\n'; cat samples/saxpy.nvir; } > "$api/$(basename "$file" .nvir)-$count"
  done
done

# Sessions of an editor.
lsp=$work/seeds_fuzz_lsp
mkdir -p "$lsp"
call() { printf '{"jsonrpc":"2.0",%s"method":"%s","params":%s}\n' "$1" "$2" "$3"; }
for file in samples/*.nvir; do
  [ "$(wc -c < "$file")" -le 1500 ] || continue
  text=$(sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/\\t/g' -e 's/$/\\n/' "$file" | tr -d '\n')
  document='"textDocument":{"uri":"file:///a.nvir"}'
  begin() {
    call '"id":1,' initialize '{"capabilities":{"textDocument":{"hover":{"contentFormat":["markdown"]}}}}'
    call '' textDocument/didOpen "{\"textDocument\":{\"uri\":\"file:///a.nvir\",\"version\":1,\"text\":\"$text\"}}"
  }
  change() {
    call '' textDocument/didChange "{$document,\"contentChanges\":[{\"range\":{\"start\":{\"line\":2,\"character\":1},\"end\":{\"line\":2,\"character\":4}},\"text\":\"x\"}]}"
    call '"id":7,' shutdown null
  }
  for method in $(grep -ohE '"textDocument/[a-zA-Z]+"' driver/lsp/server.c | tr -d '"' | grep -v /did | sort -u); do
    {
      begin
      for line in 3 9; do
        call "\"id\":$line," "$method" "{$document,\"position\":{\"line\":$line,\"character\":6},\"newName\":\"%x\",\"options\":{\"tabSize\":2}}"
      done
      change
    } > "$lsp/$(basename "$file" .nvir)-$(basename "$method")"
  done
done
