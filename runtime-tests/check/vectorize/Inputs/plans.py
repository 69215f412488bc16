"""Whether plans show what was decided, for each loop of runtime-tests/bench/vectorize.py on each of its CPUs.

    plans.py                 checks the plans and remarks of table.nvir
    plans.py --update CLANG  writes table.nvir: what that clang makes of the loops, unoptimized

For each vector loop of a final plan, the costs of the recipes must add up to its cost; that of the chosen factor must be
the number in the remark, and be the cheapest, with a lower interleave count if that costs at most an eighth more. Each factor's slots per iteration must follow from its row of the table by the formula that
docs/vectorizer.md gives, and be the remark's. Blocks and edges of the plan must be those of the IR."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = f"{HERE}/table.nvir"
sys.path.insert(0, f"{HERE}/../../../bench")
import vectorize  # pylint: disable=wrong-import-position

CPUS = ("sm_80", "sm_90", "sm_100")


def names():
    return [re.sub(r"\W", "_", name) for name, _, _ in vectorize.loops()]


def update(clang):
    """One module with all loops as kernels, without what depends on the compiler's version."""
    head, kernel = vectorize.HEAD.split('extern "C"')
    with tempfile.NamedTemporaryFile("w", suffix=".cu", encoding="utf-8") as file:
        file.write(head)
        for name, (_, (parameters, body), _) in zip(names(), vectorize.loops()):
            file.write('extern "C"' + (kernel % (parameters, body)).replace("void k(", f"void {name}("))
        file.flush()
        ir = subprocess.run([clang, "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80", "-Xclang",
                             "-target-feature", "-Xclang", "+ptx83", "-O3", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names",
                             "-S", "-emit-llvm", file.name, "-o", "-"], capture_output=True, text=True, check=True).stdout
    ir = re.sub(r"^(attributes|source_filename|!llvm\.\w|; ).*\n|^\n", "", ir, flags=re.M)
    ir = re.sub(r" #\d+|\b(noundef|dso_local) | *; preds = .*| immarg| nocapture| *call void @llvm.lifetime.*\n|^declare .*lifetime.*\n", "", ir, flags=re.M)
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("; The loops of runtime-tests/bench/vectorize.py, written by `plans.py --update clang-19`.\n" + ir)


def run(cpu, *more):
    done = subprocess.run(["nvmini", "compile", TABLE, "--cpu", cpu, "-O3", *more, "-o", "-"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stderr if "--print-after" in more else done.stdout


def remarks(cpu):
    """By function: the arguments of its remarks about costs, and of the one about the chosen factor."""
    found = {}
    for record in run(cpu, "--emit", "remarks").split("\n...\n"):
        keys = dict(re.findall(r'^  - (\w+): *"(.*)"$', record, re.M))
        function = re.search(r'^Function: +"(.*)"', record, re.M)
        kind = re.search(r"^Name: +(\w+)", record, re.M)
        if kind and kind[1] in ("VectorizationCost", "Vectorized", "Interleaved"):
            found.setdefault(function[1], {}).setdefault(kind[1], []).append(keys)
    return found


def check_loop(text, complain):
    """A vector loop: its costs add up. Returns (VF, UF, cost, accesses)."""
    factor, count, cost, accesses = map(int, re.match(r"<x1> vector loop: \{ ; VF=(\d+),UF=(\d+): cost (\d+), accesses (\d+)\n", text).groups())
    parts = re.findall(r" ; cost (\d+)(?:, accesses (\d+))?$", text, re.M)
    recipes = len(re.findall(r"^    (?!EMIT (?:vp<%index> =|branch-on-cond))", text, re.M))
    if len(parts) != recipes:
        complain(f"{recipes} recipes, {len(parts)} costs")
    if sum(int(c) for c, _ in parts) != cost or sum(int(a or 0) for _, a in parts) != accesses:
        complain(f"recipes do not add up to {cost} and {accesses}")
    return factor, count, cost, accesses


def check_table(costs, said, complain):
    """The rows of the table are the remarks', and their last column follows from the others. Returns the chosen row."""
    trips = int(re.match(r"Costs for (\d+) iterations", costs)[1])
    rows = re.findall(r"^VF=(\d+),UF=(\d+): issue slots (\d+), latency (\d+), memory instructions (\d+), registers (\d+), "
                      r"resident warps (\d+), checks (\d+): (\d+)\.(\d{3}) issue slots per iteration( \(.*\))?$", costs, re.M)
    scalar, chosen, priced = None, [], {}
    if len(rows) != len(said):
        complain(f"{len(rows)} rows, {len(said)} remarks")
    for row, remark in zip(rows, said):
        factor, count, body, wait, memory, registers, warps, checks, whole, rest = map(int, row[:10])
        each = max(body, wait) * 1000 // (factor * count)
        scalar = scalar or each
        full = trips // (factor * count) * (factor * count)
        expected = (each * full + scalar * (trips - full) + checks * 1000) // trips
        if whole * 1000 + rest != expected:
            complain(f"VF={factor},UF={count}: {whole}.{rest:03} slots, expected {expected}")
        pairs = {"VectorizationFactor": factor, "InterleaveCount": count, "Body": body, "Wait": wait, "Accesses": memory, "Registers": registers, "Warps": warps}
        if round(float(remark["Cost"]) * 1000) != expected:
            complain(f"VF={factor},UF={count}: the remark's cost is {remark['Cost']}, expected {expected} thousandths")
        for key, value in pairs.items():
            if int(remark[key]) != value:
                complain(f"VF={factor},UF={count}: {key} is {value}, the remark's {remark[key]}")
        chosen += [(factor, count, body, memory)] if row[10] == " (chosen)" else []
        if (factor, count) in priced:
            complain(f"VF={factor},UF={count}: two rows")
        priced[factor, count] = expected, "saves too little" not in row[10], (factor, count, body, memory)
    best = expected_choice(priced, complain)
    if chosen != [best]:
        complain(f"chosen is {chosen}, expected {best}")
    return chosen


def expected_choice(priced, complain):
    """The cheapest candidate, its interleave count halved as long as that costs at most an eighth more than the cheapest and saves enough."""
    factor, count = min((c for c in priced if priced[c][1]), key=lambda c: (priced[c][0], -c[0]))
    cheapest = priced[factor, count][0]
    while factor > 1 and count > 1:
        if (factor, count // 2) not in priced:
            complain(f"VF={factor},UF={count // 2} is not priced")
            break
        cost, enough, _ = priced[factor, count // 2]
        if not enough or cost > cheapest + cheapest // 8:
            break
        count //= 2
    return priced[factor, count][2]


def edges_of_plan(plan):
    """Edges from the blocks around loops and single iterations; of blocks with the same name, the first's."""
    found, name = set(), None
    for line in plan.splitlines():
        if re.match(r"\S+:$", line):
            name = line[:-1]
        elif line.startswith("<x1>") or line.startswith("  EMIT iteration"):
            name = None
        elif line.startswith("Successor(s): ") and name:
            found |= {(name, to) for to in line[14:].split(", ")}
    return {(a, b) for a, b in found if not re.search(r"ir-bb|\.\d+$", a + " " + b) and not re.search(r"\.\d+$", a)}


def edges_of_ir(function):
    found, name = set(), None
    for line in function.splitlines():
        label = re.match(r"([\w.]+):", line)
        name = label[1] if label else name
        found |= {(name, to) for to in re.findall(r"label %([\w.]+)", line)}
    return found


def check_plan(name, plan, said, function, complain):
    """What `--emit vplan` prints of one kernel. Returns whether the loop is vectorized."""
    table = re.search(r"^Costs .*?\n(?:VF.*\n)+", plan, re.M)
    if not table:
        complain("no costs")
        return False
    chosen = check_table(table[0], said.get("VectorizationCost", []), complain)
    loops = [check_loop(text, complain) for text in re.findall(r"^<x1> vector loop: \{ ;.*?^\}", plan, re.M | re.S)]
    if ("Vectorized" in said or "Interleaved" in said) != bool(loops):
        complain("a final plan without the remark, or the reverse")
    if loops and [check_loop(main[0], complain) for main in re.finditer(r"^<x1> vector loop: \{ ;.*\n  vector.body:\n(?:  .*\n)*", plan, re.M)] != chosen:
        complain(f"the plan's loops are {loops}, chosen is {chosen}")
    for a, b in edges_of_plan(plan[plan.find("VPlan 'Final"):] if loops else "") - edges_of_ir(function):
        complain(f"the edge from {a} to {b} is not in the IR")
    return bool(loops)


def main():
    if sys.argv[1:2] == ["--update"]:
        return update(sys.argv[2])
    wrong, vectorized = [], 0
    for cpu in CPUS:
        said, plans = remarks(cpu), run(cpu, "--emit", "vplan")
        parts = re.split(r"^Loop .* in function '(\w+)'\n", plans, flags=re.M)
        by_name = dict(zip(parts[1::2], parts[2::2]))
        functions = dict(re.findall(r"^define [^@]*@(\w+)\((.*?)^}", run(cpu, "--print-after", "loop-vectorize"), re.M | re.S))
        for name in names():
            complain = lambda text, name=name: wrong.append(f"{cpu}, {name}: {text}")
            vectorized += check_plan(name, by_name.get(name, ""), said.get(name, {}), functions[name], complain)
    print("\n".join(wrong) or f"{len(CPUS) * len(names())} rows, {vectorized} vectorized")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
