"""A module that calls each function of a list `TYPE @NAME(TYPES)` in a function of its own: call_all.py LIST"""
import re
import sys

print('target triple = "nvptx64-nvidia-cuda"')
for line in open(sys.argv[1]):
    found = re.match(r"(\w+) @(\w+)\((.*)\)", line)
    if not found:
        continue
    result, name, types = found.groups()
    types = types.split(", ")
    arguments = ", ".join(f"{t} %a{k}" for k, t in enumerate(types))
    call = f"call {result} @{name}({arguments})"
    print(f"declare {result} @{name}({', '.join(types)})")
    if result == "void":
        print(f"define void @call_{name}({arguments}) {{\n  {call}\n  ret void\n}}")
    else:
        print(f"define {result} @call_{name}({arguments}) {{\n  %r = {call}\n  ret {result} %r\n}}")
