#!/bin/sh
# Succeeds where the path ends in .ll.
case $1 in *.ll) ;; *) exit 1 ;; esac
