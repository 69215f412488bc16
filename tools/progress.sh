#!/bin/sh
# Runs the build given as arguments and shows its progress in one line on a terminal, unless make was
# called with -s; nothing elsewhere, and everything if the build fails.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
total=$("$@" --dry-run 2> /dev/null | grep -c "^echo '  ")
terminal=0
[ -t 1 ] && terminal=1
flags=${MAKEFLAGS:-}
case ${flags%% *} in # letters come first
  -*) ;;
  *s*) terminal=0 ;;
esac
{ "$@" 2>&1 || echo "progress: failed"; } | tee "$log" |
  awk -v total="$total" -v terminal="$terminal" '
    /^  [A-Z]/ {
      count++
      if (terminal) printf "\r\033[Kbuilding %d/%d %s", count, total, $2
      fflush()
    }
    END { if (terminal) printf "\r\033[K" }'
if grep -q '^progress: failed' "$log"; then
  grep -v '^  [A-Z]' "$log" >&2
  exit 1
fi
