#!/bin/sh
# The generator of the intrinsics refuses wrong rows: it names file and line, exits 1 and writes
# nothing. Right rows become what they should. Runs from anywhere; needs a C compiler. Ends with
# "N passed, N failed" and that status.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -o "$work/gen" \
  "$root/tools/gen/gen_intrinsics.c" "$root/target/requirement.c" "$root/tools/gen/gen_table.c" || exit 1
passed=0
failed=0

# Runs the generator on $work/t.def; sets $status.
generate() {
  rm -rf "$work/out"
  mkdir "$work/out"
  (cd "$work" && ./gen t.def "$root/target/nvptx.def" out) 2> "$work/stderr"
  status=$?
}

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s (status %s)\n' "$1" "$status"
  sed 's/^/  got: /' "$work/stderr"
}

# refuse LINE MESSAGE ROWS: ROWS have this first error at LINE, and nothing is written.
refuse() {
  printf '%s\n' "$3" > "$work/t.def"
  generate
  if [ "$status" = 1 ] && [ "$(head -n 1 "$work/stderr")" = "t.def:$1: error: $2" ] &&
     [ -z "$(ls "$work/out")" ]; then pass; else fail "expected $1: $2"; fi
}

# accept TEXT ROWS: ROWS are taken and TEXT is in a file they become.
accept() {
  printf '%s\n' "$2" > "$work/t.def"
  generate
  if [ "$status" = 0 ] && cat "$work/out"/* | grep -qF -- "$1"; then pass; else fail "expected $1"; fi
}

refuse 1 "unknown requirement '\$new'" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | $new'
refuse 1 'expected NAME | SIGNATURE | EFFECTS | PTX | NEEDS' 'llvm.x | i32 ()'
refuse 2 "unknown effect 'pur'" '# a comment
llvm.x | i32 () | pur | mov.u32 $d, 0'
refuse 1 "'nvvm.x' is not the name of an intrinsic" 'nvvm.x | void () | pure | exit'
refuse 1 "invalid signature 'i32 (i32' at ''" 'llvm.x | i32 (i32 | pure | abs.s32'
refuse 1 "invalid signature 'int (i32)' at 'nt (i32)'" 'llvm.x | int (i32) | pure | abs.s32'
refuse 1 'unknown argument 1' 'llvm.x | i32 (i32) | pure | add.s32 $d, $0, $1'
refuse 1 "'\$d' in a form without result" 'llvm.x | void (i32) | pure | mov.u32 $d, $0'
refuse 1 "'\$y' does not refer to an operand" 'llvm.x | i32 (i32) | pure | add.s32 $d, $0, $y'
refuse 1 "invalid operand '@'" 'llvm.x | i32 (i32) | pure | add.s32 $d, @'
refuse 1 "missing '}' in 'mov.b64 \$d, {\$0, \$1'" 'llvm.x | i64 (i32, i32) | pure | mov.b64 $d, {$0, $1'
refuse 1 "'sm_9x' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | sm_9x'
refuse 1 "'ptx' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | sm_90 ptx'
refuse 1 "'sm_100' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | sm_90 sm_100'
refuse 1 "'foo' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | sm_90a|foo'
refuse 1 "'ptx81' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | ptx80 ptx81'
refuse 1 "'ptx8' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | ptx8'
refuse 1 "'sm_090' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | sm_090'
refuse 1 "'|sm_80' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | sm_90||sm_80'
refuse 1 "'before_sm_80' is not a requirement" 'llvm.x | i32 () | pure | mov.u32 $d, 0 | before_sm_70 before_sm_80'
refuse 1 "unmatched '{', or more than 12 groups" 'llvm.{x | i32 () | pure | mov.u32 $d, 0'
refuse 1 "'<2…' does not refer to an alternative of the name" 'llvm.{x,y} | i32 () | pure | mov.<2> $d, 0'
refuse 1 "missing ')' in '@f(1'" 'llvm.x | i32 () | pure | @f(1'
refuse 2 "duplicate 'llvm.x', first in line 1" 'llvm.x | i32 () | pure | mov.u32 $d, 0
llvm.x | i64 () | pure | mov.u64 $d, 0'

accept 'INTRINSIC_nvvm_a_b,' 'llvm.nvvm.a.b | void () | const | exit'
accept 'PTX_SHFL, 3, PTX_MOD_SYNC, PTX_MOD_IDX, PTX_MOD_B32, 2, FORM_RESULT | FORM_ALL, FORM_ARG | 0 << 6 | FORM_ALL, PTX_NONE,' \
  'llvm.x | i32 (i32) | const | shfl.sync.idx.b32'
accept '{"llvm.f.b", "f64 (f64)"' 'llvm.f.{a=f32,b=f64} | <1> (<1>) | pure | abs.<1>'
accept 'FORM_VECTOR | 2, FORM_ARG | 1 << 6 | FORM_ALL, FORM_ARG | 2 << 6 | FORM_ALL,' \
  'llvm.x | void (p0, v=i32*2) | writes argmem | st.v2.u32 [$0], {$v}'
accept '1 | FORM_GUARDED, FORM_NOT, FORM_TEMP | 0 << 4 | 1,' \
  'llvm.x | i32 () | const | @!$p1 mov.u32 $d'
accept '.lower = intrinsic_lower_f, .argument = OP_ADD + 1, .arguments = 2' 'llvm.x | I (I, I) | pure | @f(OP_ADD + 1) | sm_90 ptx78'
accept '.lane = intrinsic_lane_f, .argument = 0, .arguments = 1' 'llvm.x | I (I, imm i1) | pure | @*f'
accept '0, "sm_120a|sm_120f ptx87"}' 'llvm.x | i32 () | pure | mov.u32 $d, 0 | $consumer ptx87'
accept '{.min_ptx = 88, .count = 3, .any_of = {10011, 10010, 12011}}' \
  'llvm.x | void () | pure | exit | sm_100a|sm_100f|sm_120a ptx88'
accept '{.min_ptx = 40, .before_sm = 70, .count = 1, .any_of = {3000}}' \
  'llvm.x | void () | pure | exit | sm_30 before_sm_70 ptx40'
accept '{.min_ptx = 86, .tmem = true}' 'llvm.x | void () | pure | exit | ptx86 tmem'
accept 'INTRIN_READS | INTRIN_CONVERGENT, 2, ' 'llvm.x | I (P, I) | reads convergent | @f'

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
