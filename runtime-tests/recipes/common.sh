# For the recipes; each is `NAME.sh`, run in any folder. $NVMINI: the command (default build/nvmini).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvmini=${NVMINI:-$here/../../build/nvmini}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() { # WHAT: ends the recipe; 77 is automake's status for a skipped test
  echo "skipped: $*"
  exit 77
}

find_clang() { # the newest clang with the target, into $clang
  clang=$("$here/../../tools/find-llvm.sh" clang) && "$clang" --print-targets | grep -q nvptx64 && return 0
  skip "no clang 17 or later with the NVPTX target"
}

# sines FILE [OPTION...]: compiles the module at -O0 and -O3 and executes the kernel `sines` of 8
# threads on 0, 1 ... 7, as PTX and as IR.
sines() {
  file=$1
  shift
  for level in -O0 -O3; do
    "$nvmini" compile "$file" --cpu sm_90 $level "$@" -o "$work/out.ptx"
    "$nvmini" run "$work/out.ptx" $launch | check "$file $level"
  done
}
launch='--kernel sines --block 32 --arg buf:f32:8:iota --arg buf:f32:8:fill:0 --arg i32:8 --print 1'

check() { # WHAT < output: sin 2, to seven digits, is in it
  tee "$work/output" | grep -q '0\.90929[67]' || {
    echo "$1: wrong result"
    cat "$work/output"
    exit 1
  }
  echo "$1: right"
}
