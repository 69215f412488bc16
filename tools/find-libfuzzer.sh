#!/bin/sh
# Prints the first clang that can link a libFuzzer program; nothing if there is none.
dir=$(mktemp -d) || exit 0
trap 'rm -rf "$dir"' EXIT
printf '#include <stdint.h>\n#include <stddef.h>\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n);\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return d == 0 && n > 9; }\n' > "$dir/t.c"
for clang in clang clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
  command -v "$clang" > /dev/null 2>&1 || continue
  if "$clang" -fsanitize=fuzzer,address,undefined -o "$dir/t" "$dir/t.c" > /dev/null 2>&1; then
    echo "$clang"
    exit 0
  fi
done
