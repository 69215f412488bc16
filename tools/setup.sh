#!/bin/sh
# Installs what is missing: `setup.sh build` for building, `setup.sh check` for the tests too.
# On Debian and Ubuntu with apt-get, saying so; elsewhere it says what is missing and stops.
# Does nothing, and says nothing, where all is there.
set -eu
here=$(dirname "$0")
packages=
missing=
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # dpkg wants them; a bare environment may lack them
export PATH

# want COMMANDS PACKAGE: one of the commands (separated by |) must exist.
want() {
  for command in $(echo "$1" | tr '|' ' '); do
    command -v "$command" > /dev/null 2>&1 && return 0
  done
  missing="$missing $1"
  packages="$packages $2"
}

# The package with FileCheck and lit, of the distribution's own LLVM version.
llvm_tools_package() {
  version=$(apt-cache depends llvm 2> /dev/null | sed -n 's/.*Depends: llvm-\([0-9]*\)$/\1/p' | head -n 1)
  echo "llvm-${version:-14}-tools"
}

find_missing() {
  packages=
  missing=
  want "${CC:-cc|gcc|clang}" gcc
  want ld binutils
  want re2c re2c
  want bison bison
  if [ ! -e /usr/include/stdio.h ]; then
    missing="$missing C-headers"
    packages="$packages libc6-dev"
  fi
  [ "$1" = check ] || return 0
  want python3 python3
  if ! "$here/find-test-tools.sh" > /dev/null 2>&1; then
    missing="$missing FileCheck,lit"
    packages="$packages $(llvm_tools_package)"
  fi
  if ! echo '#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>' | ${CC:-cc} -E - > /dev/null 2>&1; then
    missing="$missing cmocka"
    packages="$packages libcmocka-dev libmpfr-dev"
  fi
}

find_missing "${1:-build}"
[ -n "$missing" ] || exit 0
echo "Missing:$missing"
if ! command -v apt-get > /dev/null 2>&1; then
  echo "This system has no apt-get. Please install, with its own package manager:"
  echo "a C11 compiler, binutils, re2c, bison; for the tests also python3, cmocka, and LLVM's FileCheck and lit."
  exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo > /dev/null 2>&1; then
    echo "Please run, as root: apt-get install$packages"
    exit 1
  fi
  as_root=sudo
fi
echo "Installing with apt-get:$packages"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq || echo "apt-get update failed; trying with the lists that are there"
find_missing "${1:-build}" # the right name of a package may only be known now
# shellcheck disable=SC2086 # a list of words
$as_root apt-get install -y -qq --no-install-recommends $packages > /dev/null
find_missing "${1:-build}"
[ -z "$missing" ] || { echo "Still missing:$missing"; exit 1; }
