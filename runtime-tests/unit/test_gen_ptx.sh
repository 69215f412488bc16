#!/bin/sh
# The generator of the PTX table refuses wrong rows: it names file and line, exits 1 and writes
# nothing. Runs from anywhere; needs a C compiler. Ends with "N passed, N failed" and that status.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -o "$work/gen" \
  "$root"/tools/gen/gen_ptx*.c "$root/target/requirement.c" "$root/tools/gen/gen_table.c" || exit 1
passed=0
failed=0

# Runs the generator on $work/t.def; sets $status.
generate() {
  rm -rf "$work/out"
  mkdir "$work/out"
  (cd "$work" && ./gen t.def "$root/target/nvptx.def" out) 2> "$work/stderr"
  status=$?
}

# refuse LINE MESSAGE ROWS: a small table with ROWS from line 5 on has this first error at LINE.
refuse() {
  printf 'class alu "arithmetic"\ntype .u32 32 u\ntype .pred 1 p\nset any = .u32 .pred\n%s\n' "$3" \
    > "$work/t.def"
  generate
  if [ "$status" = 1 ] && [ "$(head -n 1 "$work/stderr")" = "t.def:$1: error: $2" ] &&
     [ -z "$(ls "$work/out")" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: expected %s: %s (status %s)\n' "$1" "$2" "$status"
    sed 's/^/  got: /' "$work/stderr"
  fi
}

refuse 5 "unknown row 'opp'" 'opp add : alu'
refuse 5 "unknown class 'mem'" 'op add : mem
  .u32 : t <- t'
refuse 5 "expected 'op NAME ... : CLASS'" 'op add'
refuse 5 "op 'add' has no form" 'op add : alu'
refuse 7 "duplicate op 'add', first in line 5" 'op add : alu
  .u32 : t <- t
op add : alu
  .u32 : t <- t'
refuse 5 "form outside an op" '  .u32 : t <- t'
refuse 6 "expected 'pattern : operands [: requirement]'" 'op add : alu
  .u32 t <- t'
refuse 6 "unknown set '\$some'" 'op add : alu
  $some : t <- t'
refuse 6 "missing ')'" 'op add : alu
  (.u32|.pred : t <- t'
refuse 6 "invalid pattern at ')|.pred'" 'op add : alu
  .u32)|.pred : t <- t'
refuse 6 "'quux' is not an operand" 'op add : alu
  .u32 : t <- quux'
refuse 6 "'t(5..1)' is not an operand" 'op add : alu
  .u32 : t <- t(5..1)'
refuse 6 "'t(1..8/0)' is not an operand" 'op add : alu
  .u32 : t <- t(1..8/0)'
refuse 6 "'v2' is not an operand" 'op add : alu
  .u32 : t <- v2:t(1)'
refuse 6 "required operand after an optional one" 'op add : alu
  .u32 : t <- t? t'
refuse 6 "'sm90' is not a requirement" 'op add : alu
  .u32 : t <- t : sm90'
refuse 6 "unknown requirement '\$new'" 'op add : alu
  .u32 : t <- t : $new'
refuse 7 'ambiguous with the form in line 6' 'op add : alu
  $any : t <- t
  .sat? .u32 : t <- t'
refuse 5 "duplicate set 'any'" 'set any = .u32'
refuse 5 "duplicate type '.u32'" 'type .u32 32 u'
refuse 5 "expected 'type .word BITS u|s|b|f|x|p'" 'type .u32 wide'
refuse 6 "duplicate special 'tid.x'" 'special tid.x u32
special tid.{w,x} u32'
refuse 5 "modifiers '.a_b' and '.a::b' have the same name in C" 'mod .a_b .a::b'
refuse 5 "'.u32' has a name already; move this row up" 'name .u32 OTHER'
refuse 4 'no op' '# nothing'

cp "$root/ptx/ops.def" "$work/t.def"
generate
if [ "$status" = 0 ] && [ "$(ls "$work/out" | tr '\n' ' ')" = "ptx_ops.h ptx_ops.inc " ]; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo "FAILED: the real table is refused"
fi
rm -rf "$work/missing"
if ! (cd "$work" && ./gen t.def "$root/target/nvptx.def" missing) 2> /dev/null && [ ! -e "$work/missing" ]; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo "FAILED: a folder that is not there is taken"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
