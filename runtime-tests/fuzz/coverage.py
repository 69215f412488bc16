#!/usr/bin/env python3
"""What of the compiler the generators reach: `make fuzz-coverage`.

    coverage.py [--scale N] [--seed S] [--corpus FOLDER] [--only PART]... [--build FOLDER]

Generated programs (kernels, loops, functions, CUDA through clang, every intrinsic, instances of
peephole rules and of lowering cases) are
executed in the simulator by a build that counts (VARIANT=coverage), in several ways; their results must be those of
the IR as written. The report says what has fired in programs that were compiled and executed:
  passes       each counter of --stats
  rules        of opt/scalar/combine.rules; each that has not is tried in 150 more instances (gen_rules.py), and
               the rules that acted in its place are named
  lowering     (op, type class) of the IR that code generation gets; `case` labels in codegen/ (llvm-cov)
  intrinsics   rows of ir/intrinsics.def, by ../exec/every_intrinsic.py
  recipes      `case VP_...` labels in opt/vectorize/ (llvm-cov), reasons why loops are not vectorized (remarks)
  diagnostics  ids; programs with errors (gen_errors.py) are compiled only
  lines        of frontend ir opt codegen ptx: of the programs, and of the fuzz targets on their seeds and a corpus
Ends with `N programs, N executions, N differ`; exit status 1 if some do. Details: build/coverage/report.txt."""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for part in ("prove", "peers", "reference"):
    sys.path.append(os.path.join(ROOT, "runtime-tests", part))
import check_exec  # noqa: E402
import check_reference  # noqa: E402
import diff  # noqa: E402
import gen_cuda  # noqa: E402
import gen_errors  # noqa: E402
import gen_functions  # noqa: E402
import gen_kernels  # noqa: E402
import gen_loops  # noqa: E402
import gen_lowering  # noqa: E402
import gen_rules  # noqa: E402
from lowering import cases_in, universe  # noqa: E402
from rules import decode, Tables  # noqa: E402

FOLDERS = ["frontend", "ir", "opt", "codegen", "ptx"]
PARTS = ["rules", "lowering", "kernels", "loops", "functions", "cuda", "intrinsics", "errors", "targets"]
TRIES = 150


class Found:
    def __init__(self):
        self.stats, self.cases, self.ids, self.remarks = (collections.Counter() for _ in range(4))
        self.programs = self.executions = 0
        self.differ, self.intrinsics, self.notes, self.rules_ran = [], "", [], False


class Session:
    def __init__(self, options, folder):
        self.options, self.folder, self.found = options, folder, Found()
        self.build = os.path.abspath(options.build)
        self.nvmini = os.path.join(self.build, "nvmini")
        self.counts = os.path.join(self.build, "rule-counts")
        self.raw = os.path.join(self.build, "raw")
        shutil.rmtree(self.raw, ignore_errors=True)
        if os.path.exists(self.counts):
            os.unlink(self.counts)
        self.env = {**os.environ, "NVMINI_RULE_COUNTS": self.counts, "LLVM_PROFILE_FILE": os.path.join(self.raw, "programs-%2m.profraw"),
                    "PATH": self.build + os.pathsep + os.environ["PATH"]}
        os.environ["LLVM_PROFILE_FILE"] = self.env["LLVM_PROFILE_FILE"]  # of processes that other modules start

    def call(self, *command, **more):
        env = {**self.env, **more.pop("env", {})}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=600, errors="replace", **more)

    # ---- one program

    def outputs(self, path, way, arguments):
        """[(kernel, its lines)] and findings, as one text."""
        p = self.call(self.nvmini, "run", path, "--fma-level", "0", "--step-limit", "50000000", *way, *arguments)
        errors = "".join(line + "\n" for line in p.stderr.splitlines() if "warning" not in line and "note" not in line and re.search("nvmini: |error: ", line))
        return p.stdout + errors + (f"exit status {p.returncode}\n" if p.returncode else "")

    def observe(self, path, way):
        """What the same compilation says: statistics, remarks, the IR before code generation."""
        options, skip = [], False
        for k, word in enumerate(way):
            if skip or word.startswith("--verify-each"):
                skip = False
            elif word in ("--from", "--schedule"):
                skip = True
            else:
                options.append(word)
        level = any(w.startswith("-O") or w == "--passes" for w in options)
        cpu = [] if "--cpu" in options else ["--cpu", "sm_90a"]
        remarks = f"{path}.remarks.json"
        p = self.call(self.nvmini, "compile", path, "--fma-level", "0", *options, *cpu, *([] if level else ["-O0"]), "--stats", "--diagnostics",
                      "json", "--knob", "print-isel-input=1", "--remarks-file", remarks, "-o", os.devnull)
        found = self.found
        for line in p.stderr.splitlines():
            m = re.match(r" *(\d+) ([\w-]+: .*)$", line)
            if m:
                found.stats[m[2]] += int(m[1])
            elif line.startswith('{"severity"'):
                found.ids[json.loads(line)["id"]] += 1
        found.cases.update(cases_in(p.stderr))
        if os.path.exists(remarks):
            with open(remarks, encoding="utf-8") as f:
                found.remarks.update((x["pass"], x["name"]) for x in map(json.loads, f))
            os.unlink(remarks)

    def program(self, name, text, ways, arguments=()):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        self.module(name, path, ways, arguments)
        os.unlink(path)

    def module(self, name, path, ways, arguments=()):
        right = self.outputs(path, ["--from", "ir"], arguments)
        self.found.programs += 1
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            results = list(pool.map(lambda way: self.outputs(path, way, arguments), ways))
        for way, result in zip(ways, results):
            self.found.executions += 1
            if result != right and "step-limit" not in result + right:
                self.found.differ.append(f"{name}: {' '.join(way)}")
                shutil.copy(path, os.path.join(self.build, os.path.basename(path)))
            self.observe(path, way)

    # ---- the generators

    def rules(self, seed):
        self.found.rules_ran = True
        self.program(f"rules-{seed}.nvir", gen_rules.generate(seed),
                     [["--from", "ir", "--passes", "combine"], ["-O0"], ["-O2"], ["-O3", "--cpu", "sm_75"], ["-O1", "--cpu", "sm_100a"]])

    def lowering(self, seed):
        cases, special, recent = gen_lowering.generate(seed)
        ways = [["-O0"], ["-O2"], ["-O2", "--cpu", "sm_100a", "--knob", "nvptx-early-byval-copy=1"]]
        older = [["-O3", "--cpu", "sm_75"], ["-O0", "--cpu", "sm_52"]]
        self.program(f"lowering-{seed}.nvir", cases, ways + older)
        self.program(f"special-{seed}.nvir", special, ways + older)
        self.program(f"recent-{seed}.nvir", recent, ways)

    def kernels(self, seed):
        text = gen_kernels.generate(seed, diff.PER_MODULE, 25, [], seed % 2 == 1)
        ways = diff.all_ways(seed, diff.LEVELS, True, cpu_names=diff.cpus(text))
        self.program(f"kernels-{seed}.nvir", text, ways[seed % 3::3] + [["-Oz", "--passes=" + shuffled_passes(self, seed)]])

    def loops(self, seed):
        self.program(f"loops-{seed}.nvir", gen_loops.generate(seed, diff.LOOPS_PER_MODULE, seed % 2 == 1), diff.loop_ways(seed))

    def functions(self, seed):
        m = gen_functions.Module(seed, 12, 30, gen_functions.KINDS, seed % 2 == 1)
        text = check_exec.LAYOUT + m.text() + check_exec.harness(m.count, True) + check_exec.ANNOTATION
        data = os.path.join(self.folder, "in.bin")
        with open(data, "wb") as f:
            f.write(check_exec.input_bytes(random.Random(seed)))
        size = m.count * check_exec.INPUTS * check_exec.OUT_BYTES
        self.program(f"functions-{seed}.nvir", text, [["-O0"], ["-O3"], ["-O1", "--cpu", "sm_75"]],
                     ["--kernel", "run_all", "--block", str(check_exec.INPUTS), "--arg", f"buf:u8:@{data}", "--arg", f"buf:u8:{size}:zero", "--print", "1"])

    def cuda(self, seed):
        if not shutil.which("clang-19"):
            self.found.notes.append("cuda: skipped: clang-19 is not installed")
            return
        import diff_cuda
        tools = diff_cuda.Tools(self.nvmini, "clang-19", None)
        text, arguments = gen_cuda.generate(seed, 8, seed % 2 == 1)
        source = os.path.join(self.folder, "s.cu")
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        for mode in diff_cuda.MODES:
            path = tools.compile(source, mode, os.path.join(self.folder, f"cuda-{seed}-{mode}.ll"))
            if path:
                self.module(f"cuda-{seed}-{mode}.ll", path, [["-O0"], ["-O1"], ["-O3"]], ["--kernel", "*", *arguments])

    def intrinsics(self, _):
        p = self.call(sys.executable, os.path.join(ROOT, "runtime-tests", "exec", "every_intrinsic.py"))
        self.found.intrinsics = (p.stdout.splitlines() or ["no result"])[-1]
        if p.returncode:
            self.found.differ.append(f"every_intrinsic.py: {self.found.intrinsics}")

    def errors(self, seed):
        messages = {line.split()[0]: line[38:] for line in self.call(self.nvmini, "diagnostics").stdout.splitlines()}
        checker = check_reference.Checker(argparse.Namespace(nvmini=self.nvmini, update=False, names=[]))
        checker.messages = messages
        self.reasons = {}
        for name, command, reason in gen_errors.programs(seed):
            if command is None:
                self.reasons[name] = reason
                continue
            for files in (command["files"], command["alone"]):
                lines, ids = check_reference.execute(self.nvmini, {**command, "files": files}, True)
                if checker.is_printed(name, lines, ids):
                    break
            self.found.programs += 1
            self.found.ids.update(ids or ([name] if checker.is_printed(name, lines, ids) else []))

    def targets(self, _):
        """Every target on its seeds and the corpus."""
        raw = os.path.join(self.raw, "targets-%2m.profraw")
        work = os.path.join(ROOT, "build", "fuzz", "work")
        for target in sorted(glob.glob(os.path.join(self.build, "fuzz_*"))):
            name = os.path.basename(target)
            if "." in name:
                continue
            seeds = os.path.join(work, f"seeds_{name}")
            folders = [seeds if os.path.isdir(seeds) else os.path.join(work, "seeds")]
            folders += [os.path.join(self.options.corpus, f"corpus_{name}")] if self.options.corpus else []
            files = [f for folder in folders for f in sorted(glob.glob(os.path.join(folder, "*")))]
            self.found.notes.append(f"{name}: {len(files)} inputs")
            for at in range(0, len(files), 100):
                self.call(target, *files[at:at + 100], cwd=self.folder, env={"LLVM_PROFILE_FILE": raw})


def shuffled_passes(session, seed):
    """Six passes of the table, in an order of the seed."""
    if not hasattr(session, "passes"):
        text = session.call(session.nvmini, "passes").stdout
        session.passes = [line.split()[0] for line in text.splitlines() if line[:1].isalpha()]
    return ",".join(["sroa", "mem2reg"] + random.Random(f"passes {seed}").sample(session.passes, 6))


# --- peephole rules -----------------------------------------------------------------------------------------

def counted_rules(path):
    """{rule: how often it was applied}"""
    tables, counts = Tables(), [0] * 65536
    if os.path.exists(path):
        with open(path, "rb") as f:
            counts = [c for (c,) in struct.iter_unpack("<I", f.read())]
    found = {}
    for begin, name in tables.names.items():
        at, kind = begin + 1, ""
        while kind != "DONE":
            kind, operands = tables.kinds[tables.words[at]]
            at += 1 + operands
        found[name] = counts[at - (0 if kind == "DONE" else 1)]
    return found


def steer(session, silent):
    """{rule: the rules that acted in its place} of those that 150 more instances each did not make act."""
    instead = {}
    for rule in [r for r in decode() if r.name in silent]:
        texts, declared = [], set()
        for k in range(TRIES):
            r = random.Random(f"steer {session.options.seed} {k} {rule.name}")
            case = gen_rules.float_instance(rule, r) if rule.is_float() else gen_rules.integer_instance(rule, r)
            if case:
                texts.append(case.function(f"r{k}"))
                declared |= case.declared
        path, counts = os.path.join(session.folder, "steer.nvir"), os.path.join(session.folder, "counts")
        with open(path, "w", encoding="utf-8") as f:
            f.write(gen_rules.fire.HEAD + "".join(texts) + "".join(sorted(declared)))
        if os.path.exists(counts):
            os.unlink(counts)
        for mathlib in ("on", "off"):
            session.call(session.nvmini, "compile", path, "--cpu", "sm_90", "--passes", "combine", "--emit", "ir", "-o", os.devnull,
                         "--mathlib", mathlib, env={"NVMINI_RULE_COUNTS": counts})
        fired = {name: n for name, n in counted_rules(counts).items() if n}
        if rule.name not in fired:
            instead[rule.name] = sorted(fired, key=lambda n: (-fired[n], n))[:3]
    return instead


# --- lines --------------------------------------------------------------------------------------------------

def lines_of(session, kind, binaries):
    """{file: {line: count}} by llvm-cov."""
    def tool(name):
        return session.call(os.path.join(ROOT, "tools", "find-llvm.sh"), name).stdout.strip()
    raw = glob.glob(os.path.join(session.raw, f"{kind}-*.profraw"))
    if not raw or not tool("llvm-cov"):
        return {}
    data = os.path.join(session.build, f"{kind}.profdata")
    session.call(tool("llvm-profdata"), "merge", "-o", data, *raw)
    objects = [word for b in binaries[1:] for word in ("-object", b)]
    text = session.call(tool("llvm-cov"), "export", "--format=lcov", "--skip-functions", f"--instr-profile={data}", binaries[0], *objects).stdout
    found, here = {}, None
    for line in text.splitlines():
        if line.startswith("SF:"):
            here = found.setdefault(os.path.relpath(line[3:], ROOT), {})
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            here[int(number)] = max(here.get(int(number), 0), int(count))
    return found


def labels(lines, folder, pattern):
    """{(file, line): (label, count)} of the case labels of a folder."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, folder, "*.c"))):
        name = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                m = re.match(r"\s*((?:case [^:]+:\s*)+)", line)
                if m and re.search(pattern, m[1]) and number in lines.get(name, {}):
                    found[name, number] = m[1].strip(), lines[name][number]
    return found


def percent(lines, folder):
    counts = [c for name, file in lines.items() if name.startswith(folder + "/") for c in file.values()]
    return f"{sum(c > 0 for c in counts)} of {len(counts)} lines, {100 * sum(c > 0 for c in counts) / max(1, len(counts)):.1f} %"


# --- the report ---------------------------------------------------------------------------------------------

class Report:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def part(self, title, fired, missing, shown=8):
        """`missing`: texts. All go into the file, the first few to the terminal."""
        head = f"{title}: {fired} of {fired + len(missing)}"
        self.say(head + (f"; not {', '.join(missing[:shown])}{', ...' if len(missing) > shown else ''}" if missing else ""))
        for m in missing:
            self.file.write(f"    {m}\n")

    def say(self, text):
        print(text, flush=True)
        self.file.write(text + "\n")


def stats_rows(session):
    """The counters that passes have, as the sources name them."""
    with open(os.path.join(ROOT, "opt", "passes.def"), encoding="utf-8") as f:
        return sorted(set(re.findall(r'"([a-z][\w-]*)"', f.read())) & {line.split()[0] for line in session.call(session.nvmini, "passes").stdout.splitlines()
                                                                      if line[:1].isalpha()})


def report(session):
    found, out = session.found, Report(os.path.join(session.build, "report.txt"))
    fired = {key.split(":")[0] for key in found.stats}
    passes = stats_rows(session)
    out.part("passes", sum(p in fired for p in passes), [p for p in passes if p not in fired])
    rules = counted_rules(session.counts)
    silent = [name for name, n in rules.items() if not n]
    instead = steer(session, set(silent)) if session.found.rules_ran else {name: [] for name in silent}
    out.part("peephole rules", len(rules) - len(instead),
             [f"{name} ({', '.join(others) or 'nothing'} instead)" for name, others in instead.items()], 4)
    steered = len(silent) - len(instead)
    out.say(f"  {len(rules) - len(silent)} in executed programs, {steered} by {TRIES} more instances that were compiled")
    cases = universe()
    out.part("ops by type class before code generation", sum(c in found.cases for c in cases), [" ".join(c) for c in cases if c not in found.cases])
    programs = lines_of(session, "programs", [session.nvmini])
    for title, folder, pattern in (("cases in codegen/", "codegen", r"case "), ("recipes in opt/vectorize/", "opt/vectorize", r"VP_(?!NONE|KIND)")):
        all_ = {place: x for place, x in labels(programs, folder, pattern).items() if os.path.basename(place[0]) not in ("print.c", "show.c")}
        out.part(title, sum(n > 0 for _, n in all_.values()), [f"{file}:{line} {label}" for (file, line), (label, n) in all_.items() if not n], 4)
    with open(os.path.join(ROOT, "opt", "vectorize", "diagnostics.def"), encoding="utf-8") as f:
        tags = list(dict.fromkeys(re.findall(r'REFUSAL\([A-Z_]{3,},\s+"(\w+)"', f.read())))
    seen = {name for _, name in found.remarks}
    out.part("reasons why a loop is not vectorized", sum(t in seen for t in tags), [t for t in tags if t not in seen])
    out.say(f"remarks of other kinds: {len({r for r in found.remarks} - {('loop-vectorize', t) for t in tags})}")
    out.say(f"intrinsics: {found.intrinsics or 'not run'}")
    ids = [line.split()[0] for line in session.call(session.nvmini, "diagnostics").stdout.splitlines()]
    reasons = getattr(session, "reasons", {})
    out.part("diagnostics", sum(i in found.ids for i in ids), [f"{i} ({reasons.get(i, 'no program')})" for i in ids if i not in found.ids], 3)
    targets = lines_of(session, "targets", [b for b in sorted(glob.glob(os.path.join(session.build, "fuzz_*"))) if "." not in os.path.basename(b)])
    for title, lines in (("programs", programs), ("fuzz targets", targets)):
        for folder in FOLDERS if lines else []:
            out.say(f"lines, {title}, {folder}: {percent(lines, folder)}")
        if lines:
            inside = {n: f for n, f in lines.items() if n.split("/")[0] in FOLDERS}
            out.say(f"lines, {title}, all five: {percent({'x/' + n: f for n, f in inside.items()}, 'x')}")
    for note in found.notes + found.differ:
        out.say(note)
    out.say(f"{found.programs} programs, {found.executions} executions, {len(found.differ)} differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=4, help="modules of each kind, about")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", help="folder with corpus_TARGET of the fuzz targets")
    parser.add_argument("--only", action="append", choices=PARTS, default=[])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "coverage"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    n, s = options.scale, options.seed
    counts = {"rules": 2 * n, "kernels": 4 * n, "loops": 3 * n, "lowering": n, "functions": 2 * n, "cuda": n}
    with tempfile.TemporaryDirectory() as folder:
        session = Session(options, folder)
        for part in options.only or PARTS:
            for seed in range(s, s + counts.get(part, 1)):
                if sys.stderr.isatty():
                    print(f"\r\033[K{part} {seed - s + 1}/{counts.get(part, 1)}", end="", file=sys.stderr)
                getattr(session, part)(seed)
        report(session)
    return 1 if session.found.differ else 0


if __name__ == "__main__":
    sys.exit(main())
