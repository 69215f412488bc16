"""chains.py FILE...: the carried chain of each loop of one block, found in another way: 240 iterations with no limit
but dependences; the time by which each of the last 120 is later than the one before is the chain's."""
import json
import re
import subprocess
import sys

REGISTER = re.compile(r"%(?:p|rs|rd|rq|rb|r|fd|f)\d+")
WITHOUT_RESULT = {"st", "red", "bra", "bar", "brx"}


def cost(*arguments):
    command = ["nvmini", "cost", *arguments, "--cpu", "sm_90a", "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def parse(row):
    """The registers that an instruction writes and reads, and its latency."""
    guard, text = re.fullmatch(r"(?:@!?(%p\d+) )?(.*)", row["instruction"]).groups()
    op, _, operands = text.partition(" ")
    first, _, rest = operands.partition("}" if operands.startswith("{") else ",")
    if op.split(".")[0] in WITHOUT_RESULT:
        first, rest = "", operands
    writes, reads = REGISTER.findall(first), REGISTER.findall(rest)
    return writes, reads + ([guard] + writes if guard else []), row["latency"]


def slope(instructions):
    ready, ends = {}, []
    for _ in range(240):
        for writes, reads, latency in instructions:
            start = max((ready.get(name, 0) for name in reads), default=0)
            ready.update((name, start + latency) for name in writes)
        ends.append(max(ready.values()))
    return (ends[239] - ends[119]) / 120


checked = 0
for path in sys.argv[1:]:
    for bound in cost(path)["bounds"] if cost(path)["loops"] else []:
        loop = f"{bound['function']} {bound['loop']}"
        rows = cost(path, "--kernel", bound["function"], "--loop", str(bound["loop"]))["instructions"]
        branches = [row for row in rows if re.search(r"\bbra\b|\bbrx\b", row["instruction"])]
        if "carried_chain" not in bound or len(branches) != 1 or branches[0] is not rows[-1]:
            continue
        found, expected = bound["carried_chain"] / bound["of_iterations"], slope([parse(row) for row in rows])
        checked += 1
        if abs(found - expected) > 0.1:
            print(f"{loop}: a chain of {found} cycles, but an iteration takes {expected}")
print(f"{checked} loops checked")
