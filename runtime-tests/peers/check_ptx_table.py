#!/usr/bin/env python3
"""Ask ptxas about every row of ptx/ops.def.

For each row this makes instructions that together use every word of its pattern, and asks ptxas

  takes    for the lowest CPU and PTX version that the row (and its words) require: must be accepted
  below    for the next lower CPU, and for the next lower PTX version: must be refused
  bounds   the literals of an operand with a range: the lowest and highest must be accepted, the next
           ones beyond them refused

where ptxas knows such a CPU and version. Prints the disagreements by row, and at the end the line
`N passed, N failed`. Exit status 0: no disagreement, 1: some, 2: wrong usage; without ptxas it says
so and exits 0.
"""
import argparse
import collections
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

MAX_PER_ROW = 48
BATCH = 400

# ---- reading the table ---------------------------------------------------------------------------


class Table:
    def __init__(self, path):
        self.types = {}
        self.sets = {}
        with open(os.path.join(os.path.dirname(path), "..", "target", "nvptx.def")) as names:
            self.reqs = dict(re.findall(r'^req (\S+) [^"]*"([^"]*)"', names.read(), re.M))
        self.needs = {}
        self.rows = []


class Row:
    def __init__(self, line, op, pattern, operands, need, op_needs):
        self.line, self.op, self.pattern = line, op, pattern
        self.operands, self.need, self.op_needs = operands, need, op_needs
        self.special = None  # mov from this special register


def expand_range(word):
    m = re.match(r"(.*)\{(\d+)-(\d+)(?:/(\d+))?\}(.*)", word)
    if not m:
        return [word]
    return [m[1] + str(i) + m[5] for i in range(int(m[2]), int(m[3]) + 1, int(m[4] or 1))]


def expand_special(name):
    m = re.match(r"(.*)\{(.*)\}(.*)", name)
    if not m:
        return [name]
    numbers = re.fullmatch(r"(\d+)-(\d+)", m[2])
    middles = map(str, range(int(numbers[1]), int(numbers[2]) + 1)) if numbers else m[2].split(",")
    return [m[1] + middle + m[3] for middle in middles]


def read_words(table, text):
    words = []
    for word in text.split():
        words += table.sets[word[1:]] if word[0] == "$" else expand_range(word)
    return words


def expand_req(table, text):
    return re.sub(r"\$(\w+)", lambda m: table.reqs[m[1]], text.strip())


def logical_lines(path):
    pending, number = "", 0
    with open(path) as source:
        for number, line in enumerate(source, 1):
            line = line.rstrip("\n")
            if line.endswith("\\"):
                pending += line[:-1] + " "
                continue
            yield number, (pending + line).split("#")[0].rstrip()
            pending = ""


def read_table(path):
    table = Table(path)
    ops, op_needs = [], {}
    for number, line in logical_lines(path):
        if not line:
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "need":
            left, _, right = rest.partition(" : ")
            where = op_needs if line[0] == " " else table.needs
            for w in read_words(table, left):
                where[w] = expand_req(table, right)
        elif line[0] == " ":
            fields = [f.strip() for f in line.strip().split(" : ")]
            fields += [""] * (3 - len(fields))
            for op in ops:
                table.rows.append(Row(number, op, fields[0], fields[1],
                                      expand_req(table, fields[2]), op_needs))
        elif word == "special":
            name, kind, *need = rest.split()
            for special in expand_special(name):
                row = Row(number, "mov", "." + kind, "t <- t", expand_req(table, " ".join(need)), {})
                row.special = "%" + special
                table.rows.append(row)
        elif word == "type":
            name, bits, kind = rest.split()
            table.types[name[1:]] = (int(bits), kind)
        elif word == "set":
            name, _, words = rest.partition("=")
            table.sets[name.strip()] = read_words(table, words)
        elif word == "op":
            ops, op_needs = rest.partition(" : ")[0].split(), {}
    return table


# ---- patterns ------------------------------------------------------------------------------------


def parse_pattern(table, text):
    tokens = re.findall(r"\.[\w:]+|\$\w+|[()|?]", text)
    position = 0

    def alternatives():
        nonlocal position
        options = [sequence()]
        while position < len(tokens) and tokens[position] == "|":
            position += 1
            options.append(sequence())
        return options[0] if len(options) == 1 else ("alt", options)

    def sequence():
        nonlocal position
        items = []
        while position < len(tokens) and tokens[position] not in ")|":
            token = tokens[position]
            position += 1
            if token == "(":
                item = alternatives()
                position += 1
            elif token[0] == "$":
                item = ("alt", [("word", w) for w in table.sets[token[1:]]])
            else:
                item = ("word", token)
            if position < len(tokens) and tokens[position] == "?":
                position += 1
                item = ("alt", [("seq", []), item])
            items.append(item)
        return ("seq", items)

    return alternatives()


def count(node):
    if node[0] == "word":
        return 1
    if node[0] == "alt":
        return sum(count(n) for n in node[1])
    product = 1
    for n in node[1]:
        product *= count(n)
    return product


def everything(node):
    if node[0] == "word":
        return [[node[1]]]
    if node[0] == "alt":
        return [s for n in node[1] for s in everything(n)]
    result = [[]]
    for n in node[1]:
        result = [a + b for a in result for b in everything(n)]
    return result


def leaves(node):
    if node[0] == "word":
        return [node[1]]
    return [w for n in node[1] for w in leaves(n)]


def sequence_with(node, wanted, pick):
    """A sequence that goes through the leaf `wanted` (an index into leaves()), else by pick."""
    if node[0] == "word":
        return [node[1]]
    if node[0] == "seq":
        words, at = [], 0
        for n in node[1]:
            size = len(leaves(n))
            inside = wanted is not None and at <= wanted < at + size
            words += sequence_with(n, wanted - at if inside else None, pick)
            at += size
        return words
    at = 0
    for n in node[1]:
        size = len(leaves(n))
        if wanted is not None and at <= wanted < at + size:
            return sequence_with(n, wanted - at, pick)
        at += size
    return sequence_with(pick(node[1]), None, pick)


def sequences(node):
    if count(node) <= MAX_PER_ROW:
        return everything(node)
    rng = random.Random(1)
    found = [sequence_with(node, i, lambda options: options[0]) for i in range(len(leaves(node)))]
    found += [sequence_with(node, i, rng.choice) for i in range(len(leaves(node)))]
    unique = []
    for s in found:
        if s not in unique:
            unique.append(s)
    return unique


# ---- operands ------------------------------------------------------------------------------------

REGISTER = {1: "%p", 8: "%rb", 16: "%rs", 32: "%r", 64: "%rd", 128: "%rq"}
COUNTS = {".x": 1}


def register(bits, kind, index, relaxed):
    if relaxed and bits < 16:
        bits = 16
    if bits in (2, 4):
        bits = 8
    if kind == "f" and bits in (32, 64):
        return {32: "%f", 64: "%fd"}[bits] + str(index)
    return REGISTER[bits] + str(index)


def fragment_size(words):
    """Registers of a `v*` operand."""
    for word in words:
        m = re.match(r"\.m64n(\d+)k", word)
        if m:
            types = [w for w in words if w in (".f16", ".f32", ".s32")]
            return int(m[1]) // (4 if types[0] == ".f16" else 2)
    if ".tensor" in words:
        return 2 if ".im2col" not in words else int(next(w[1] for w in words if re.fullmatch(r"\.[1-5]d", w))) - 2
    if ".mma" in words:
        return 8 if ".cta_group::2" in words else 4
    num = next(int(w[2:]) for w in words if re.fullmatch(r"\.x\d+", w))
    return num * (4 if ".16x256b" in words else 2 if ".16x128b" in words else 1)


RANGE = re.compile(r"\((-?\d+)(?:(\.\.)(-?\d+)?)?(?:([/*])(\d+))?\)")
# ptxas 13.0 takes every selector here; the PTX ISA has 0 and 1 for all of m16n8k32 with f16 and bf16.
LAX = re.compile(r"mma\.sp\S*\.m16n8k32\.row\.col\.f32\.f16\.f16\.f32 ")


def limits(shape):
    """The lowest and highest literal of an operand (None: no upper bound), and some that it cannot be."""
    m = RANGE.search(shape)
    if not m:
        return None
    low = int(m[1])
    high = None if m[2] and not m[3] else int(m[3] or low)
    beyond = [low - 1] + ([] if high is None else [high + 1]) + ([low + 1] if m[4] and low > 1 else [])
    return low, high, beyond


def type_of(table, name, words):
    types = [w[1:] for w in words if w[1:] in table.types]
    if name == "t":
        return table.types[types[-1]]
    if name == "w":
        bits, kind = table.types[types[0]]
        return bits * 2, kind
    if re.fullmatch(r"t\d", name):
        return table.types[types[int(name[1]) - 1]]
    return table.types[name]


def address(words, op):
    if op in ("ld", "st", "prefetch"):
        if ".param" in words or ".param::entry" in words:
            return "[param0]" if op != "st" else "[callee0]"
        if ".param::func" in words:
            return "[callee0]" if op == "st" else "[funcparam]"
    if op in ("txq", "suq"):
        return "[surf0]" if op == "suq" else "[tex0]"
    return "[%rd1]" if op != "tcgen05" else "[%r1]"


def tensor(words, op):
    geometry = next((w[1:] for w in words if re.fullmatch(r"\.(a?[1-5]d(ms)?|a?cube)", w)), "2d")
    if op == "cp":
        if ".tile::gather4" in words or ".tile::scatter4" in words:
            return "[%rd1, {%r1, %r2, %r3, %r4, %r5}]"
        return "[%rd1, {" + ", ".join("%%r%d" % (i + 1) for i in range(int(geometry[0]))) + "}]"
    integer = op in ("suld", "sust", "sured") or (op == "tex" and ".s32" in words[-1:])
    name = "%r" if integer else "%f"
    base = "surf0" if op in ("suld", "sust", "sured") else "tex0"
    layers = {"1d": (0, 1), "2d": (0, 2), "3d": (0, 4), "a1d": (1, 1), "a2d": (1, 3), "cube": (0, 4),
              "acube": (1, 4), "2dms": (2, 2), "a2dms": (3, 2)}[geometry]
    parts = ["%%r%d" % (i + 1) for i in range({0: 0, 1: 1, 2: 1, 3: 2}[layers[0]])]
    wanted = {"1d": 1, "a1d": 1}.get(geometry, {"2d": 2, "a2d": 2, "2dms": 2, "a2dms": 2}.get(geometry, 3))
    parts += ["%s%d" % (name, i + 1) for i in range(wanted)]
    while len(parts) > 2 and len(parts) < 4:
        parts.append(parts[-1])
    text = parts[0] if len(parts) == 1 else ", ".join(parts)
    return "[%s, {%s}]" % (base, text)


def operand(table, row, words, shape, position, dest, index):
    relaxed = shape.endswith("~")
    bounds, shape = limits(shape), RANGE.sub("", shape).rstrip("~")
    if shape.endswith("^"):  # a mask of lanes, or the byte that a scalar instruction writes
        scalar = not row.op.endswith(("2", "4"))
        return operand(table, row, words, shape[:-1], position, dest, index) + (".b1" if scalar else ".h1" if row.op.endswith("2") else ".b32")
    if shape == "addr":
        if row.op == "cp" and position == 0 and ".prefetch" not in words:
            return "[%rd1]"
        return address(words, row.op)
    if shape == "tensor":
        return tensor(words, row.op)
    if shape == "imm":
        return str(1 if not bounds else bounds[0] if bounds[1] is None else bounds[1])
    if shape == "label":
        return "TARGETS" if row.op == "brx" else "LABEL"
    if row.op == "call" and shape == "any":
        return "PROTO"
    if row.op == "call" and "any" in row.operands and shape == "callee":
        return "%rd1"
    if shape == "callee":
        return "callee"
    if shape == "list":
        return "()"
    if shape == "sym":
        return "%rd1" if row.op in ("isspacep", "istypep") or ".u64" in words else "%r1"
    if shape == "any":
        if row.op == "tcgen05":
            return "%rd1"
        if row.op == "st":
            return "%rd2"
        return "%r1"
    if shape == "pack":
        shape = "t"
    if "|" in shape:
        base, _, second = shape.partition("|")
        return operand(table, row, words, base, position, dest, index) + "|%p7"
    m = re.match(r"v(\*|\d*):(.*)", shape)
    if m:
        bits, kind = type_of(table, m[2], words)
        n = {"": next((int(w[2]) for w in words if w in (".v2", ".v4", ".v8")), 0)}.get(
            m[1], 0 if m[1] == "*" else int(m[1] or 0))
        if m[1] == "*":
            n = fragment_size(words)
        if n == 0:
            return register(bits, kind, index, relaxed)
        return "{" + ", ".join(register(bits, kind, index + i, relaxed) for i in range(n)) + "}"
    if row.op == "mbarrier" and dest and ".shared::cluster" in words:
        return "_"
    bits, kind = type_of(table, shape, words)
    return register(bits, kind, index, relaxed)


def instructions(table, row):
    shapes = [s for s in row.operands.split() if s != "-" and s[0] != "@"]
    dests = shapes.index("<-") if "<-" in shapes else 0
    if "<-" in shapes:
        shapes.remove("<-")
    least = sum(1 for s in shapes if s[-1] != "?")
    for words in sequences(parse_pattern(table, row.pattern)):
        hint = ".L2::cache_hint" in words
        full = len(shapes) if hint else least
        if row.op == "call" and shapes[0] == "list" and "any" in shapes:
            continue  # an indirect call needs results that match its prototype
        if row.op in ("cvta", "mapa", "getctarank") and ".u32" in words:
            continue  # 32-bit code is no longer taken
        if "any?" in row.operands:
            full = least + (hint and row.op == "cp")
        counts = {full}
        if full == least and least < len(shapes) and shapes[-1] == "b32?":
            counts.add(len(shapes))
        for n in sorted(counts):
            # index 1 is for addresses
            operands, index = [], 2
            for position, shape in enumerate(shapes[:n]):
                text = operand(table, row, words, shape.rstrip("?"), position, position < dests, index)
                if hint and position == n - 1 and RANGE.sub("", shape) == "any?":
                    text = "%rd9"
                index += max(1, text.count(",") + 1)
                operands.append(text)
            if row.special:
                operands[1] = row.special
            name = row.op + "".join(words)
            yield words, "%s %s;" % (name, ", ".join(operands)), "plain"
            for position, bounds in enumerate(map(limits, shapes[:n])):
                low, high, beyond = bounds or (None, None, [])
                for kind, value in [("bound", low), ("bound", high)] + [("beyond", v) for v in beyond]:
                    changed = operands[:position] + [str(value)] + operands[position + 1:]
                    if value is not None and not (value == 2 and LAX.match(name + " ")):
                        yield words, "%s %s;" % (name, ", ".join(changed)), kind


# ---- requirements --------------------------------------------------------------------------------

ARCHS = []  # as ptxas lists them, with their lowest PTX version


def full_sm(name):
    number = int(re.search(r"\d+", name)[0])
    return number, name[-1] if name[-1] in "af" else ""


FAMILY = {100: 10, 103: 10, 110: 11, 101: 11, 120: 12, 121: 12}
TMEM = ["sm_100a", "sm_100f", "sm_110f"]


def arch_has(arch, alternative):
    number, suffix = full_sm(arch)
    if alternative == "tmem":
        return any(arch_has(arch, t) for t in TMEM)
    wanted, wanted_suffix = full_sm(alternative)
    if alternative.startswith("before_ptx"):  # of the archs that ptxas has, sm_75 takes PTX below 7.0
        return wanted > (63 if number == 75 else 70)
    if alternative.startswith("before_"):
        return number < wanted
    if wanted == 101:
        wanted = 110
    if not wanted_suffix:
        return number >= wanted
    if wanted_suffix == "a":
        return arch == alternative.replace("101", "110")
    return bool(suffix) and number >= wanted and FAMILY.get(number) == FAMILY.get(wanted)


def join(table, row, words):
    texts = [row.need] + [row.op_needs.get(w, table.needs.get(w, "")) for w in words]
    ptx, choices = 32, []
    for text in texts:
        for word in text.split():
            if word.startswith("ptx"):
                ptx = max(ptx, int(word[3:]))
            else:
                choices.append(word.split("|"))
    return ptx, choices


def satisfied(arch, choices):
    return all(any(arch_has(arch, a) for a in c) for c in choices)


def min_ptx_with(arch, choices, ptx):
    """The version at which `arch` has it: through an f alternative PTX 8.8."""
    number, suffix = full_sm(arch)
    for c in choices:
        direct = [a for a in c if a != "tmem" and full_sm(a)[1] != "f" and arch_has(arch, a)]
        if not direct and suffix == "a" and not ("tmem" in c):
            ptx = max(ptx, 88)
    return ptx


def plan(table, row, words):
    """(arch, ptx) that must take it and a list of those that must not."""
    ptx, choices = join(table, row, words)
    known = [a for a, low in ARCHS]
    able = [a for a in known if satisfied(a, choices)]
    if not able:
        return None, []
    arch = able[0]
    low = dict(ARCHS)[arch]
    needed = min_ptx_with(arch, choices, max(ptx, low))
    refused = []
    if needed > low and ptx > low:
        refused.append((arch, max(v for v in VERSIONS if v < needed)))
    unable = [a for a in known if not satisfied(a, choices) and not full_sm(a)[1]]
    below = [a for a in unable if full_sm(a)[0] <= full_sm(arch)[0]]
    for a in below[-1:]:
        refused.append((a, 90))
    return (arch, needed), refused


VERSIONS = [32, 40, 41, 42, 43, 50, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
            81, 82, 83, 84, 85, 86, 87, 88, 90]

# ---- ptxas ---------------------------------------------------------------------------------------

PROLOGUE = """.version %d.%d
.target %s
.address_size 64
.global .texref tex0;
.global .surfref surf0;
.func callee() { ret; }
"""
REGS = ".reg .pred %p<300>; .reg .b8 %rb<40>; .reg .b16 %rs<40>; .reg .b32 %r<300>; .reg .b64 %rd<300>; " \
       ".reg .f32 %f<300>; .reg .f64 %fd<40>; "


def module(arch, ptx, batch):
    lines = [(PROLOGUE % (ptx // 10, ptx % 10, arch)).rstrip("\n")]
    first = lines[0].count("\n") + 2
    for i, text in enumerate(batch):
        regs = REGS + (".reg .b128 %rq<20>; " if ptx >= 83 and "%rq" in text else "")
        tail = "LABEL: ret; }"
        extra = "TARGETS: .branchtargets LABEL; " if "TARGETS" in text else ""
        if "PROTO" in text:
            extra += "PROTO: .callprototype _ (); "
        if "[funcparam]" in text:
            head = ".func f%d(.param .align 16 .b8 funcparam[64])" % i
        else:
            head = ".entry k%d(.param .align 16 .b8 param0[64])" % i
        if "setmaxnreg" in text:
            head += " .maxntid 128, 1, 1"
        if "[callee0]" in text:
            text = "{ .param .align 16 .b8 callee0[64]; %s call takes, (callee0); }" % text
        lines.append("%s { %s%s%s %s" % (head, regs, extra, text, tail))
    text = "\n".join(lines) + "\n"
    if "call takes" in text:
        text = text.replace(".func callee()", ".func takes(.param .align 16 .b8 p[64]) { ret; } .func callee()")
    return text, first


def ptxas(arch, ptx, batch, folder, tag):
    """{index: message} of what ptxas refused."""
    refused, left = {}, list(range(len(batch)))
    path = os.path.join(folder, "t%s.ptx" % tag)
    while left:
        text, first = module(arch, ptx, [batch[i] for i in left])
        with open(path, "w") as out:
            out.write(text)
        run = subprocess.run(["ptxas", "-arch=" + arch, "-O0", "-c", "-w", path, "-o", os.devnull],
                             capture_output=True, text=True)
        if run.returncode == 0:
            break
        bad = {}
        for m in re.finditer(r"line (\d+); *(\w+) *: *(.*)", run.stdout + run.stderr):
            if m[2] != "warning":
                bad.setdefault(int(m[1]) - first, m[3])
        for m in re.finditer(r"function '?[kf](\d+)'?", run.stdout + run.stderr):
            bad.setdefault(int(m[1]), "in the back end: " + (run.stdout + run.stderr).strip()[:200])
        bad = {k: v for k, v in bad.items() if 0 <= k < len(left)}
        if not bad:  # no line named: halve
            if len(left) == 1:
                bad = {0: (run.stdout + run.stderr).strip()[:200]}
            else:
                middle = len(left) // 2
                for part in (left[:middle], left[middle:]):
                    found = ptxas(arch, ptx, [batch[i] for i in part], folder, tag)
                    refused.update({part[k]: v for k, v in found.items()})
                return refused
        for k, v in bad.items():
            refused[left[k]] = v
        left = [i for k, i in enumerate(left) if k not in bad]
    return refused


def find_archs():
    listed = re.findall(r"sm_\d+[af]?", subprocess.run(["ptxas", "--help"], capture_output=True, text=True).stdout)
    low = {75: 63, 80: 70, 86: 71, 87: 74, 88: 90, 89: 78, 90: 78, 100: 86, 103: 88, 110: 90, 120: 87, 121: 88}
    result = []
    for name in sorted(set(listed), key=lambda n: (full_sm(n)[0], "af".find(full_sm(n)[1]) if full_sm(n)[1] else -1)):
        number, suffix = full_sm(name)
        if number in low:
            result.append((name, max(low[number], {"a": 80, "f": 88, "": 0}[suffix])))
    return result


def main():
    parser = argparse.ArgumentParser(description="Ask ptxas about every row of ptx/ops.def.")
    parser.add_argument("table", nargs="?", default=os.path.join(os.path.dirname(__file__), "../../ptx/ops.def"))
    parser.add_argument("--op", help="only this op")
    parser.add_argument("--takes-only", action="store_true", help="don't ask for refusals below")
    parser.add_argument("--show", type=int, default=6, help="disagreements shown of a row")
    parser.add_argument("-j", type=int, default=2, help="ptxas runs at a time")
    options = parser.parse_args()
    if not shutil.which("ptxas"):
        print("skipped: no ptxas")
        return 0
    ARCHS.extend(find_archs())
    table = read_table(options.table)
    takes, refuses = collections.defaultdict(list), collections.defaultdict(list)
    for row in table.rows:
        if options.op and row.op != options.op:
            continue
        for words, text, kind in instructions(table, row):
            good, bad = plan(table, row, words)
            if good and kind != "beyond":
                takes[good].append((row, text))
            elif good and not options.takes_only:
                refuses[good].append((row, text))
            for b in bad if kind == "plain" and not options.takes_only else []:
                refuses[b].append((row, text))
    passed, faults = 0, collections.defaultdict(list)
    jobs = [(True, k, v[i:i + BATCH]) for k, v in takes.items() for i in range(0, len(v), BATCH)]
    jobs += [(False, k, v[i:i + BATCH]) for k, v in refuses.items() for i in range(0, len(v), BATCH)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.j) as pool:
        def work(item):
            number, (good, (arch, ptx), batch) = item
            return good, arch, ptx, batch, ptxas(arch, ptx, [t for _, t in batch], folder, number)
        for good, arch, ptx, batch, refused in pool.map(work, enumerate(jobs)):
            for i, (row, text) in enumerate(batch):
                if (i in refused) != good:
                    passed += 1
                else:
                    faults[row.line, row.op].append((arch, ptx, text, refused.get(i, "taken")))
    for (line, op), found in sorted(faults.items()):
        print("ops.def:%d: %s: %d" % (line, op, len(found)))
        for arch, ptx, text, why in found[:options.show]:
            print("    %-8s ptx%d  %s\n        %s" % (arch, ptx, text, why))
    failed = sum(len(f) for f in faults.values())
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
