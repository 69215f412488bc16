#!/bin/sh
# MLIR: dialect gpu to dialect nvvm to LLVM IR. Debian: mlir-19-tools.
. "$(dirname "$0")/common.sh"
for version in -23 -22 -21 -20 -19 ''; do
  if command -v mlir-opt$version > /dev/null && command -v mlir-translate$version > /dev/null; then found=1 && break; fi
done
[ -n "${found:-}" ] || skip "no mlir-opt and mlir-translate"
# mlir-translate leaves out modules in modules, so that the body of gpu.module becomes the outer one.
mlir-opt$version "$here/mlir.mlir" --pass-pipeline='builtin.module(gpu.module(convert-scf-to-cf,convert-gpu-to-nvvm,reconcile-unrealized-casts))' |
  sed -e '/^ *gpu.module @/d' -e '/^  }$/d' -e '0,/^module attributes.*/s//module {/' > "$work/body.mlir"
mlir-translate$version --mlir-to-llvmir "$work/body.mlir" > "$work/mlir.ll"
sines "$work/mlir.ll"
