#!/bin/sh
# Builds every fuzz target into $OUT with its dictionary, options and seeds, as OSS-Fuzz expects
# them. OSS-Fuzz sets SRC, WORK, OUT, CC, CFLAGS and LIB_FUZZING_ENGINE; where CFLAGS is not set, the
# flags and the compiler of `make VARIANT=fuzz` are used. Run in the checkout, or with it in $SRC/nvmini.
set -eu
[ -f Makefile ] || cd "$SRC/nvmini"
: "${OUT:?the folder for targets}" "${WORK:?a folder for objects}"
build=${NVMINI_FUZZ_BUILD:-$WORK/nvmini}

if [ -n "${CFLAGS:-}" ]; then
  # The command itself, which writes dictionaries and PTX, is built without instrumentation.
  [ -x build/nvmini ] || env -u CFLAGS make WERROR=0 all
  make VARIANT=fuzz WERROR=0 B="$build" FUZZ_CLANG="$CC" FUZZ_ENGINE="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}" \
    FLAGS_fuzz="$CFLAGS -DNVM_CHECKING" CFLAGS= fuzz-programs
else
  [ -x build/nvmini ] || make all
  make VARIANT=fuzz B="$build" fuzz-programs
fi

seeds=${NVMINI_FUZZ_SEEDS:-$WORK/seeds}
[ -d "$seeds/seeds" ] || runtime-tests/fuzz/seeds.sh "$seeds"

mkdir -p "$OUT"
for source in runtime-tests/fuzz/fuzz_*.c; do
  target=$(basename "$source" .c)
  cp "$build/$target" "$OUT/$target"
  dict=$seeds/dict_$target
  [ -f "$dict" ] || dict=$seeds/dict
  cp "$dict" "$OUT/$target.dict"
  printf '[libfuzzer]\nmax_len = 4096\nentropic = 0\n' > "$OUT/$target.options"
  from=$seeds/seeds_$target
  [ -d "$from" ] || from=$seeds/seeds
  rm -f "$OUT/${target}_seed_corpus.zip"
  ls "$from" | grep -q . || continue # bitcode without llvm-as
  (cd "$from" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
done
