#!/bin/sh
# The generator of the mathematics library refuses wrong files: it names file and line, exits 1 and
# writes nothing. Runs from anywhere; needs a C compiler. Ends with "N passed, N failed" and that status.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root" -o "$work/gen" "$root/tools/gen/gen_mathlib.c" \
  "$root/target/requirement.c" "$root/tools/gen/gen_table.c" || exit 1
passed=0
failed=0
printf '# types\nfloat @__nv_f(float)\nvoid @__nv_g(float, ptr)\n' > "$work/types.txt"

# generate A B: runs on two files with these texts.
generate() {
  rm -rf "$work/out"
  mkdir "$work/out"
  printf '%s\n' "$1" > "$work/a.nvir"
  printf '%s\n' "$2" > "$work/b.nvir"
  (cd "$work" && ./gen types.txt a.nvir b.nvir out) 2> "$work/stderr"
}

check() {
  if [ "$1" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$2"
    sed 's/^/  got: /' "$work/stderr"
  fi
}

# refuse MESSAGE A B: the first error, with file and line.
refuse() {
  generate "$2" "$3"
  [ $? = 1 ] && [ "$(head -n 1 "$work/stderr")" = "$1" ] && [ ! -e "$work/out/mathlib.inc" ]
  check $? "$1"
}

# accept PATTERN A B: the table has a line with this.
accept() {
  generate "$2" "$3" && grep -qF "$1" "$work/out/mathlib.inc"
  check $? "$1"
}

f='define float @__nv_f(float %x) {
  ret float %x
}'
refuse 'b.nvir:1: error: @__nv_f is defined again; first in a.nvir' "$f" "$f"
refuse 'b.nvir:1: error: @__nv_h is in no row of functions.txt; make it internal' "$f" 'define void @__nv_h() {
  ret void
}'
refuse 'a.nvir:2: error: @__nv_g must have the type void (float, ptr)' '
define void @__nv_g(float %x, double %y) {
  ret void
}' ''
refuse 'a.nvir:1: error: @h refers to what no file has: @i' 'define internal void @h() {
  call void @i()
  ret void
}' ''
refuse 'a.nvir:1: error: @__nv_f is declared, but no file defines it' 'declare float @__nv_f(float)' ''
refuse 'b.nvir:1: error: @__nv_f is declared with another type than in a.nvir' "$f" 'declare float @__nv_f(double)'
refuse 'b.nvir:1: error: @t differs from the one in a.nvir' '@t = internal constant i32 1' '@t = internal constant i32 2'
refuse 'b.nvir:1: error: #0 differs from the one in a.nvir' 'attributes #0 = { nounwind }' 'attributes #0 = { noinline }'
refuse 'a.nvir:2: error: the last function does not end with '"'}'"' in the first column' 'define internal void @h() {
  ret void }' ''
refuse 'a.nvir:1: error: not an item of a module: ret void' 'ret void' ''
accept '"void (float, ptr)\0"' "$f" 'declare float @__nv_f(float)
define void @__nv_g(float noundef %x, ptr writeonly align(4) %p) {
  %y = call float @__nv_f(float %x)
  store float %y, ptr %p
  ret void
}'
accept '"float @__nv_f(float %x) #0 {\n"' 'target triple = "nvptx64-nvidia-cuda" ; skipped
define float @__nv_f(float %x) #0 { ; a comment with a "quote
  ret float %x
}
attributes #0 = { nounwind }' ''
accept '"@t = internal constant [2 x i32] [\n"' '@t = internal constant [2 x i32] [
  i32 1, i32 2
]' ''

printf '%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
