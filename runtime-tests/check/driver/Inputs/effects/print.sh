# A compiler that prints its first operand, or that with .rolled at its end where it is told not to unroll loops.
case "$*" in
*-unroll-threshold=0*) [ -f "$1.rolled" ] && exec cat "$1.rolled" ;;
esac
cat "$1"
