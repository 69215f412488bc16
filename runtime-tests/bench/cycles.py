#!/usr/bin/env python3
"""Estimates the cycles of executed PTX, with and without a knob.

    cycles.py [--nvmini build/nvmini] [--cpu sm_90] [--level=-O3] [--warps 1,4,8] [--knob NAME=VALUE]... [--gain PERCENT]
              -- FILE RUN-OPTION...

The simulator traces one thread (`nvmini run FILE RUN-OPTION... --trace`). Its instructions are timed as those of one warp:

  - An assembler orders the instructions of a basic block by the length of the path that depends on them. A load
    does not move before a store (nor a store before a load or store) that may access the same bytes as far as PTX
    tells: another state space, ld.global.nc, and other offsets from one base register do not.
  - Instructions issue in that order, one after the other, when their operands are ready. Each takes the issue slots and
    the latency that target/nvptx.def has for its class; a load of global memory hits L2.
  - W warps of a scheduler take as long as one, but not less than W times its issue slots.

Prints instructions and cycles for each number of warps: in the first line as the compiler decides, in the others with one of
the knobs each."""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = f"{ROOT}/target/nvptx.def"
GENERATIONS = {"70": "volta", "75": "turing", "80": "ampere", "86": "ampere_ga10x", "89": "ada", "90": "hopper", "100": "blackwell"}
SPACES = ("global", "shared", "local", "param", "const")


def table(kind, name):
    """The numbers of a generation's row, with those of the row that it is like."""
    text = re.sub(r"\n  +", " ", open(TABLE, encoding="utf-8").read())
    row = re.search(rf"^{kind} {name} (.*)$", text, re.M).group(1)
    like = re.search(r"like=(\w+)", row)
    numbers = table(kind, like.group(1)) if like else {}
    return {**numbers, **{k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", row)}}


class Machine:
    def __init__(self, cpu):
        generation = GENERATIONS[re.match(r"sm_(\d+)", cpu).group(1)]
        self.lanes, self.wait = table("throughput", generation), table("latency", generation)

    def price(self, op):
        """(issue slots, cycles until the result) of an opcode."""
        name, wide = op.split(".")[0], re.search(r"\.[usb]64", op)
        if name in ("ld", "st", "atom", "red", "ldu"):
            space = next((s for s in SPACES if f".{s}" in op), "global")
            vector = int(m.group(1)) if (m := re.search(r"\.v(\d)", op)) else 1
            slots = self.slots("memory") * (1 + vector) / 2
            wait = {"shared": "shared", "local": "l1", "param": "constant", "const": "constant"}.get(space, "l2")
            return (1 if space in ("param", "const") else slots), self.wait[wait]
        if name in ("mov", "cvta"):
            return 0, 0  # register names for ptxas
        if name in ("bra", "ret", "exit", "bar", "barrier"):
            return self.slots("control"), 0
        if name in ("sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh") or (name == "div" and ".f" in op):
            return self.slots("special") * (4 if name == "div" else 1), self.wait["special"]
        if name == "cvt":
            return self.slots("convert64" if "64" in op else "convert"), self.wait["convert"]
        if ".f64" in op:
            return self.slots("f64"), self.wait["double"]
        if ".f" in op or ".bf" in op:
            return self.slots("compare" if name in ("setp", "min", "max", "selp") else "f32"), self.wait["float"]
        if name in ("shfl", "vote", "match"):
            return self.slots("exchange"), self.wait["exchange"]
        kind = {"mul": "int_mul", "mad": "int_mul", "shl": "shift", "shr": "shift", "setp": "compare", "selp": "compare",
                "min": "compare", "max": "compare", "and": "logic", "or": "logic", "xor": "logic"}.get(name, "int_add")
        times = 2 if wide else 1
        return self.slots(kind) * times, self.wait["integer"] * times

    def slots(self, kind):
        return 128 / self.lanes[kind]


class Instruction:
    """An instruction of the trace: opcode, registers written and read, the place that it accesses."""

    def __init__(self, text):
        text = re.sub(r"^(@!?%\w+)\s+", r"\1 ", text.strip().rstrip(";"))
        guard = re.match(r"@!?(%\w+) ", text)
        body = text[guard.end():] if guard else text
        self.op, _, rest = body.partition(" ")
        rest = rest.strip()
        place = re.search(r"\[([^\]]*)\]", rest)
        self.memory = self.op.split(".")[0] if place and self.op.startswith(("ld", "st", "atom", "red")) else None
        self.space = next((s for s in SPACES if f".{s}" in self.op), None)
        base = re.match(r"(%?[\w$]+)\+?(-?\d+)?", place.group(1)) if place else None
        self.base, self.offset = (base.group(1), int(base.group(2) or 0)) if base else (None, 0)
        registers = re.findall(r"%\w+", rest)
        target = []
        if self.op.split(".")[0] not in ("st", "bra", "red", "bar", "ret", "exit", "call") and registers:
            first = re.match(r"\{([^}]*)\}", rest)
            target = re.findall(r"%\w+", first.group(1)) if first else re.findall(r"%\w+", rest.split(",")[0])
        self.writes = target
        self.reads = registers[len(target):] + ([guard.group(1)] if guard else [])
        self.barrier = self.op.split(".")[0] in ("bar", "barrier", "membar", "fence", "call", "atom")
        vector, bits = re.search(r"\.v(\d)", self.op), re.search(r"\.[a-z]+(\d+)$", self.op)
        self.bytes = (int(vector.group(1)) if vector else 1) * (int(bits.group(1)) // 8 if bits else 4)
        self.root = None


def may_overlap(a, b):
    if a.space and b.space and a.space != b.space:
        return False
    if ".nc" in a.op or ".nc" in b.op or "param" in (a.space, b.space) or "const" in (a.space, b.space):
        return False
    if a.root[0] != b.root[0]:
        return True
    return a.root[1] < b.root[1] + b.bytes and b.root[1] < a.root[1] + a.bytes


def dependences(block):
    """For each instruction the earlier ones of the block that must precede it: those it waits for, those it follows."""
    waits, follows = [set() for _ in block], [set() for _ in block]
    writer, root = {}, {}
    for n, i in enumerate(block):
        for r in i.reads:
            if r in writer:
                waits[n].add(writer[r])
        if i.memory:
            base, add = root.get(i.base, (i.base, 0)) if i.base.startswith("%") else (i.base, 0)
            i.root = ((base, 0) if isinstance(base, str) else base, add + i.offset)
        for k in range(n):
            other = block[k]
            ordered = i.barrier or other.barrier or (
                i.memory and other.memory and (i.memory != "ld" or other.memory != "ld") and may_overlap(i, other))
            if ordered:
                follows[n].add(k)
        for r in i.writes:
            add = re.match(r"add\.s64", i.op) and i.constant
            old = root.get(i.reads[0], (i.reads[0], 0)) if add else None
            root[r] = (old[0], old[1] + i.constant) if add else ((r, n), 0)
            writer[r] = n
        if i.op.startswith("bra"):
            follows[n] |= set(range(n))
    return waits, follows


def schedule(block, machine):
    """The order in which an assembler would issue the block: longest dependent path first."""
    waits, follows = dependences(block)
    height, users = [0] * len(block), [[] for _ in block]
    for n in range(len(block)):
        for k in waits[n] | follows[n]:
            users[k].append(n)
    for n in reversed(range(len(block))):
        slots, latency = machine.price(block[n].op)
        height[n] = max((height[u] + (latency if n in waits[u] else slots) for u in users[n]), default=0)
    order, done, ready_at, now = [], set(), {}, 0
    while len(order) < len(block):
        free = [n for n in range(len(block)) if n not in done and (waits[n] | follows[n]) <= done]
        starts = {n: max([now] + [ready_at[k] for k in waits[n]]) for n in free}
        n = min(free, key=lambda n: (max(starts[n] - now, 0) > 0 and starts[n], -height[n], n))
        slots, latency = machine.price(block[n].op)
        now = starts[n] + slots
        ready_at[n] = starts[n] + latency
        done.add(n)
        order.append(n)
    return order


def blocks_of(trace):
    """The executed basic blocks, as lists of (line, text)."""
    block = []
    for line in trace:
        m = re.match(r"(\S+):(\d+) +(.*?);", line)
        if not m:
            continue
        number, text = int(m.group(2)), m.group(3)
        if block and number != block[-1][0] + 1:  # a jump, or a label in between
            yield block
            block = []
        block.append((number, text))
        if "bra" in text.split() or text.split()[0] in ("ret", "exit"):
            yield block
            block = []
    if block:
        yield block


def estimate(trace, machine):
    """(instructions, cycles of a warp alone, issue slots)."""
    orders, ready, now, slots_all, count = {}, {}, 0, 0, 0
    for block in blocks_of(trace):
        key = tuple(n for n, _ in block)
        if key not in orders:
            made = []
            for _, text in block:
                i = Instruction(text)
                constant = re.search(r", (-?\d+)$", text.strip())
                i.constant = int(constant.group(1)) if constant else None
                made.append(i)
            orders[key] = [made[n] for n in schedule(made, machine)]
        for i in orders[key]:
            slots, latency = machine.price(i.op)
            start = max([now] + [ready.get(r, 0) for r in i.reads])
            now = start + slots
            for r in i.writes:
                ready[r] = start + latency
            slots_all += slots
            count += 1
    return count, now, slots_all


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--level", default="-O3")
    parser.add_argument("--warps", default="1,4,8")
    parser.add_argument("--knob", action="append", default=[])
    parser.add_argument("--thread", default="0,0", help="BLOCK,THREAD")
    parser.add_argument("--gain", type=int, help="fail unless the first line has PERCENT fewer cycles than each of the others")
    parser.add_argument("command", nargs="+")
    a = parser.parse_args()
    machine, warps, first = Machine(a.cpu), list(map(int, a.warps.split(","))), None
    for knob in [None] + a.knob:
        command = [a.nvmini, "run", *a.command, "--cpu", a.cpu, a.level, f"--trace={a.thread}"]
        p = subprocess.run(command + (["--knob", knob] if knob else []), capture_output=True, text=True, check=False)
        if p.returncode:
            sys.exit(p.stderr[-1000:])
        count, alone, slots = estimate(p.stderr.splitlines(), machine)
        times = [max(alone, w * slots) for w in warps]
        print(f"{knob or 'as compiled':45} {count} instructions  " +
              "  ".join(f"{w} warps {t:.0f}" for w, t in zip(warps, times)) + " cycles")
        first = first or times
        if knob and a.gain and any(100 * x > (100 - a.gain) * t for x, t in zip(first, times)):
            sys.exit(f"less than {a.gain} % fewer cycles")


if __name__ == "__main__":
    main()
