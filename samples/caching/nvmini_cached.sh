#!/bin/sh
# `nvmini_cached.sh OUTPUT OPTION... FILE` is `nvmini compile OPTION... FILE -o OUTPUT` with a cache:
# an output is kept under its key in $NVMINI_CACHE, and copied if it is there. Any number of
# processes and machines may share the folder: a file appears complete or not at all.
#
#   nvmini_cached.sh scale.ptx --cpu sm_90 --link twice.nvir scale.nvir
set -eu
nvmini=${NVMINI:-nvmini}
cache=${NVMINI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nvmini}
output=$1
shift

key=$("$nvmini" compile "$@" --print-cache-key)
kept=$cache/$key
if [ ! -e "$kept" ]; then
  mkdir -p "$cache"
  new=$(mktemp -d "$cache/new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  "$nvmini" compile "$@" -o "$new/output"
  mv "$new/output" "$kept"
fi
cp "$kept" "$output"
