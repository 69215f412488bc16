"""Reads IR: how many instructions are there, and how many say where they come from? Phis apart,
which need no location. usage: count_locations.py LEAST-PERCENT; exit status 1 if there are fewer."""
import re
import sys

text = re.sub(r"\[\n.*?\n  \]", "[]", sys.stdin.read(), flags=re.S)  # a switch is one line
lines = [line for line in text.splitlines()
         if re.match(r"  (?!#dbg)(?!(?:tail )?call void @llvm\.(?:dbg|lifetime))\S", line)
         and " = phi " not in line]
located = sum("!dbg" in line for line in lines)
print(f"{located} of {len(lines)} instructions are located: {100 * located // len(lines)} %")
sys.exit(100 * located < int(sys.argv[1]) * len(lines))
