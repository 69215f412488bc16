#!/bin/sh
# find-llvm.sh NAME [PREFERRED]: prints the path of one of LLVM's tools, of version 17 or later: the
# first that reads opaque pointers without an option, and knows sm_90. PREFERRED is the version to
# take if it is there; else, and without it, the newest is taken. Fails, printing nothing, if there is none.
set -u
name=$1
oldest=17

# version_of TOOL: its major version; nothing if it says none.
version_of() {
  "$1" --version 2> /dev/null | sed -n 's/.*version \([0-9][0-9]*\)\..*/\1/p' | head -n 1
}

for tool in ${2:+"$name-$2"} $(seq 40 -1 $oldest | sed "s/^/$name-/") "$name"; do
  path=$(command -v "$tool") || continue
  version=$(version_of "$path")
  if [ "${version:-0}" -ge $oldest ]; then
    echo "$path"
    exit 0
  fi
done
exit 1
