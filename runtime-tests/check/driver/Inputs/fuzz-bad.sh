#!/bin/sh
# fuzz-bad.sh HOW IN OUT: a compiler that fails in one of these ways.
case $1 in
  refuse) echo "note: reading $2" >&2; echo "x.ll:12:3: error: cannot select %v12 of 'i33'" >&2; exit 1 ;;
  crash) kill -SEGV $$ ;;
  hang) sleep 100 ;;
  print) i=0; while [ $i -lt 1000 ]; do echo "a line that is no PTX"; i=$((i + 1)); done ;;
  garbage) echo ".version 8.0 nonsense {" > "$3" ;;
esac
