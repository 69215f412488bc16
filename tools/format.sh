#!/bin/sh
# Formats the C files that differ from the last commit; all of them with `tools/format.sh all`.
set -eu
if ! command -v clang-format > /dev/null 2>&1; then
  echo "clang-format is not installed (Debian package clang-format)"
  exit 1
fi
if [ "${1:-}" = all ]; then files=$(git ls-files '*.c' '*.h')
else files=$( (git diff --name-only --diff-filter=AM HEAD -- '*.c' '*.h'; git ls-files --others --exclude-standard -- '*.c' '*.h') | sort -u)
fi
# shellcheck disable=SC2086 # a list of names without blanks
[ -z "$files" ] || clang-format -i $files
