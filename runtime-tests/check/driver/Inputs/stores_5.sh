#!/bin/sh
# Succeeds where the kernel stores 5.
[ "$(nvmini run "$1" --kernel k --arg buf:i32:1:zero --print 0 2> /dev/null)" = 5 ]
