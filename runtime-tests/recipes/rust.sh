#!/bin/sh
# Rust. The release 1.95 and nightlies near it; RUSTC_BOOTSTRAP lets a release compile rust.rs.
. "$(dirname "$0")/common.sh"
PATH=$PATH:$HOME/.cargo/bin
command -v rustc > /dev/null || skip "no rustc"
rustc --print target-list | grep -qx nvptx64-nvidia-cuda || skip "rustc without the target"
export RUSTC_BOOTSTRAP=1
for level in 0 3; do
  rustc --target nvptx64-nvidia-cuda --crate-type lib -C panic=abort -C overflow-checks=no -C opt-level=$level \
    --emit=llvm-ir "$here/rust.rs" -o "$work/rust$level.ll"
  sines "$work/rust$level.ll"
done
rustc --target nvptx64-nvidia-cuda --crate-type lib -C panic=abort -C overflow-checks=no -O --emit=llvm-bc "$here/rust.rs" -o "$work/rust.bc"
sines "$work/rust.bc"
