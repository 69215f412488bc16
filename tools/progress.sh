#!/bin/sh
# Runs the build given as arguments and shows its progress: one line on a terminal, every tenth step
# elsewhere; everything if the build fails.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
total=$("$@" --dry-run 2> /dev/null | grep -c "^echo '  ")
terminal=0
[ -t 1 ] && terminal=1
{ "$@" 2>&1 || echo "progress: failed"; } | tee "$log" |
  awk -v total="$total" -v terminal="$terminal" '
    /^  [A-Z]/ {
      count++
      if (terminal) printf "\r\033[Kbuilding %d/%d %s", count, total, $2
      else if (count % 50 == 0) print "building " count "/" total
      fflush()
    }
    END { if (terminal) printf "\r\033[K" }'
if grep -q '^progress: failed' "$log"; then
  grep -v '^  [A-Z]' "$log" >&2
  exit 1
fi
