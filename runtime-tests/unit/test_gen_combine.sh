#!/bin/sh
# The generator of the peephole rules refuses wrong rules: it names file and line, exits 1 and writes
# nothing. Runs from anywhere; needs a C compiler. Ends with "N passed, N failed" and that status.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -o "$work/gen" "$root"/tools/gen/gen_combine*.c \
  "$root/target/requirement.c" "$root/tools/gen/gen_table.c" || exit 1
passed=0
failed=0

# refuse LINE MESSAGE RULES: the table with RULES from line 2 on has this error at LINE.
refuse() {
  rm -rf "$work/out"
  mkdir "$work/out"
  printf '# a comment\n%s\n' "$3" > "$work/t.rules"
  (cd "$work" && ./gen t.rules out) 2> "$work/stderr"
  status=$?
  if [ "$status" = 1 ] && [ "$(head -n 1 "$work/stderr")" = "t.rules:$1: error: $2" ] &&
     [ ! -e "$work/out/combine.inc" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: expected %s: %s (status %s)\n' "$1" "$2" "$status"
    sed 's/^/  got: /' "$work/stderr"
  fi
}

refuse 2 "expected 'name: pattern -> result'" 'add x 0'
refuse 2 "unknown op 'addd'" 'a: (addd x 0) -> x'
refuse 2 "unknown flag 'nsv'" 'a: (add.nsv x 0) -> x'
refuse 3 "'y' does not occur in the pattern" 'a: (add x 0) -> x
b: (sub x 0) -> y'
refuse 2 "expected '->' at 'x'" 'a: (add x 0) x'
refuse 2 "expected ')' after the operands of 'add' at 'z) -> x'" 'a: (add x y z) -> x'
refuse 2 "unexpected 'z' after the rule" 'a: (add x y) -> x z'
refuse 2 'the pattern must be an instruction' 'a: x -> x'
refuse 4 "duplicate rule 'a'" 'a: (add x 0) -> x

a: (sub x 0) -> x'
refuse 2 "flag 'nuw?' does not occur in the pattern" 'a: (mul x 2) -> (shl.nuw? x 1)'
refuse 2 "predicate 'Q' does not occur in the pattern" 'a: (icmp P x 0) -> (icmp Q x 1)'
refuse 2 'the type of a part of the result is undetermined' 'a: (add x y) -> (trunc (zext x))'
refuse 2 "'load' is not allowed in a rule" 'a: (load x) -> x'

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
