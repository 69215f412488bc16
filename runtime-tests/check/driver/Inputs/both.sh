#!/bin/sh
# Succeeds where the first file multiplies and the second adds.
grep -q "= mul" "$1" && grep -q add.s32 "$2"
