# A compiler that prints its first operand, whatever it is given.
cat "$1"
