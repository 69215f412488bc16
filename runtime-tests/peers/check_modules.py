#!/usr/bin/env python3
"""Run the compiler over real modules and ask the peers about the result.

A module is a .ll or .nvir file that another compiler wrote. Each one goes through five steps:

  check    nvmini check
  print    nvmini print, twice: the second text must be the first, byte for byte
  llvm-as  LLVM's assembler must accept the printed text
  compile  nvmini compile, for every level and CPU asked for
  ptxas    the vendor's assembler must accept the PTX: for the module's first CPU and one more (a different
           one for each module, so that a large corpus covers all) down to machine code, for the rest parsed only

A step whose input an earlier step failed to make is "not reached". A step whose peer is not installed is
skipped, and the report says so. When compile or ptxas refuses a module, LLVM's llc is asked for the same module
and CPU: if llc, or ptxas reading llc's PTX, refuses it too, the step counts as skipped and is listed apart
(a kernel with sm_80 assembly in its text can't become sm_75 code, whoever compiles it).

The report has a table of steps; then the failures grouped by message, most frequent first, where names, numbers
and paths are struck out so that one cause makes one group; crashes and timeouts apart, first. The last line is
`N passed, N failed, N skipped`, in steps. Exit status: 0 nothing failed, 1 something did, 2 wrong usage.
"""
import argparse
import collections
import filecmp
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Modules made for sm_75 are asked for every family since; those made for sm_90 from there on.
CPUS_FROM_SM_75 = "sm_75 sm_80 sm_86 sm_90 sm_90a sm_100 sm_100a sm_103f sm_110 sm_120 sm_121a".split()
CPUS_FROM_SM_90 = CPUS_FROM_SM_75[CPUS_FROM_SM_75.index("sm_90"):]

PASSED, FAILED, CRASH, TIMEOUT, REFUSED_BY_PEER, NO_PEER, NOT_REACHED = range(7)
COLUMNS = ("passed", "failed", "CRASH", "TIMEOUT", "refused", "no peer", "not reached")
FAILURES = (FAILED, CRASH, TIMEOUT)

INTERNAL_FAULT_STATUS = 70  # what the compiler promises to exit with when it is at fault itself


# ---- running a command ----------------------------------------------------------------------------------------

class Outcome:
    """What a command did: a kind (a column of the table) and, unless it passed, its message."""

    def __init__(self, kind, message=""):
        self.kind = kind
        self.message = message

    def passed(self):
        return self.kind == PASSED


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


def most_telling_line(text):
    """The first line that states an error; else the first line at all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for pattern in (r"ERROR: \w+Sanitizer|runtime error:|Assertion .* failed", r"\b(error|fatal)\b *:", r"\b(error|fatal)\b"):
        for line in lines:
            if re.search(pattern, line, re.IGNORECASE):
                return line
    return lines[0] if lines else "(no message)"


def sanitizer_frame(text):
    """The first function of a sanitizer's stack that is not the sanitizer's own."""
    for match in re.finditer(r"#\d+ 0x[0-9a-f]+ in (\w+)", text):
        if not match.group(1).startswith(("__asan", "__interceptor", "__sanitizer", "__ubsan")):
            return " in " + match.group(1)
    return ""


def run_command(command, limit_seconds, stdout=subprocess.DEVNULL):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                              timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        return Outcome(TIMEOUT, "more than %g s" % limit_seconds)
    except OSError as error:
        return Outcome(FAILED, "can't be run: %s" % error.strerror)
    if done.returncode == 0:
        return Outcome(PASSED)
    text = done.stderr.decode("utf-8", "replace")
    line = most_telling_line(text)
    if done.returncode < 0:
        return Outcome(CRASH, "%s: %s" % (signal_name(-done.returncode), line + sanitizer_frame(text)))
    if done.returncode == INTERNAL_FAULT_STATUS or "Sanitizer" in line or "runtime error:" in line:
        return Outcome(CRASH, "exit status %d: %s" % (done.returncode, line + sanitizer_frame(text)))
    return Outcome(FAILED, line)


# ---- grouping messages ----------------------------------------------------------------------------------------

def strike_out_quoted(match):
    """Keeps 'add' and 'llvm.nvvm.barrier0', which name a construct; strikes out what the module's author named."""
    word = match.group(2)
    if re.fullmatch(r"llvm\.[\w.]+|!?[a-z]+(?:[_.][a-z]+)*|[.;:,(){}\[\]<>=*!-]+|[ifbus]\d{1,3}", word):
        return match.group(0)
    return match.group(1) + "…" + match.group(1)


def group_key(message):
    """The message with places, names and numbers struck out, so that equal causes compare equal."""
    text = re.sub(r"^ptxas \S+, line \d+; *", "", message)
    text = re.sub(r"^ptxas (?=fatal|error)", "", text)
    text = re.sub(r"^\S*?(?:\.\w+|<stdin>|-):\d+:(?:\d+:)? *", "", text)
    text = re.sub(r"(?:/[\w.+-]+){2,}", "PATH", text)
    text = re.sub(r"==\d+==", "", text)
    # The compiler quotes with ' in its messages; what stands between is kept only where it names a construct.
    text = re.sub(r"(['`\"])((?:(?!\1).){1,200}?)['\1]", strike_out_quoted, text)
    text = re.sub(r"@(?!llvm\.)(\"[^\"]*\"|[\w.$-]+)", "@…", text)
    text = re.sub(r"%(\"[^\"]*\"|[\w.$-]+)", "%…", text)
    text = re.sub(r"\$[\w$.]+", "$…", text)
    text = re.sub(r"\b_Z\w+", "…", text)
    text = re.sub(r"\b0x[0-9A-Fa-f]+\b", "N", text)
    text = re.sub(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w)", "N", text)
    return re.sub(r" +", " ", text).strip()[:200]


# ---- the peers ------------------------------------------------------------------------------------------------

class Peers:
    def __init__(self, options):
        self.limit_seconds = options.timeout
        self.llvm_as = find_tool("llvm-as", options.llvm_version)
        self.llc = find_tool("llc", options.llvm_version) if options.ask_llc else None
        self.ptxas = shutil.which("ptxas")
        self.gpu_names = self._list_gpu_names()

    def _list_gpu_names(self):
        """The real and virtual names that `ptxas --help` lists, each mapped to itself."""
        if not self.ptxas:
            return frozenset()
        text = subprocess.run([self.ptxas, "--help"], capture_output=True, text=True).stdout
        return frozenset(re.findall(r"'((?:sm|compute)_\d+[af]?)'", text))

    def knows_cpu(self, cpu):
        return self.gpu_name(cpu) is not None

    def gpu_name(self, cpu):
        """The -arch for PTX of this CPU. Plain old targets are assembled for the oldest one that ptxas still has."""
        if cpu in self.gpu_names:
            return cpu
        reals = sorted(int(name[3:]) for name in self.gpu_names if re.fullmatch(r"sm_\d+", name))
        if re.fullmatch(r"sm_\d+", cpu) and reals and int(cpu[3:]) < reals[0]:
            return "sm_%d" % reals[0]
        return None

    def assemble(self, ptx, cpu, parse_only):
        name = self.gpu_name(cpu)
        if parse_only and "compute_" + name[3:] in self.gpu_names:
            return run_command([self.ptxas, "-arch=compute_" + name[3:], ptx, "-o", "/dev/null"], self.limit_seconds)
        command = [self.ptxas, "-arch=" + name, ptx, "-o", "/dev/null"]
        outcome = run_command(command, self.limit_seconds)
        if "Unresolved extern" in outcome.message:  # a module of several: complete only once linked
            outcome = run_command(command + ["-c"], self.limit_seconds)
        return outcome

    def also_refuse(self, module, cpu, folder):
        """Whether llc fails on the module, or ptxas on llc's PTX. False where that can't be found out."""
        if not self.llc:
            return False
        ptx = os.path.join(folder, "llc.ptx")
        base, suffix = re.fullmatch(r"(sm_\d+)([af]?)", cpu).groups()
        for llc_cpu in (cpu, base, "sm_90"):
            if int(llc_cpu.split("_")[1].rstrip("af")) > 90:
                continue  # LLVM 19 ends at sm_90a; its PTX for sm_90 must do on what came later
            command = [self.llc, "-O0", "-mcpu=" + llc_cpu, "-mattr=+ptx85", module, "-o", ptx]
            outcome = run_command(command, self.limit_seconds)
            if not outcome.passed():
                return True
            if not self.ptxas or not self.knows_cpu(cpu):
                return False
            return not self.assemble(ptx, cpu, parse_only=False).passed()
        return False


def find_tool(name, version):
    """NAME-VERSION, as distributions install it side by side, else the newest that reads opaque pointers; None without one."""
    found = subprocess.run([os.path.join(ROOT, "tools", "find-llvm.sh"), name, version], capture_output=True, text=True)
    return found.stdout.strip() or None


# ---- one module -----------------------------------------------------------------------------------------------

def cpus_of_module(path):
    """From the folder's name, else from the target-cpu attribute in the module's text."""
    parts = path.split(os.sep)
    if "sm_75" in parts:
        return CPUS_FROM_SM_75
    if "sm_90" in parts:
        return CPUS_FROM_SM_90
    with open(path, encoding="utf-8", errors="replace") as text:
        for line in text:
            if '"target-cpu"="sm_' in line:
                return CPUS_FROM_SM_90 if int(re.search(r'"sm_(\d+)', line).group(1)) > 75 else CPUS_FROM_SM_75
    return CPUS_FROM_SM_75


class ModuleRun:
    """Takes one module through the steps and hands each outcome to the tally."""

    def __init__(self, path, turn, options, peers, tally):
        self.path = path
        self.turn = turn  # which module of the corpus this is: chooses the CPU that gets the full ptxas
        self.options = options
        self.peers = peers
        self.tally = tally
        self.cpus = options.cpu or cpus_of_module(path)

    def run(self):
        with tempfile.TemporaryDirectory(prefix="check_modules.") as folder:
            steps = self.options.steps
            readable = True
            if "check" in steps:
                outcome = self.nvmini("check", self.path)
                self.note("check", outcome)
                readable = outcome.passed()
            if "print" in steps or "llvm-as" in steps:
                self.round_trip(folder, readable)
            if "compile" in steps or "ptxas" in steps:
                for level in self.options.level:
                    for cpu in self.cpus:
                        self.compile(folder, level, cpu, readable)

    def nvmini(self, *arguments):
        return run_command([self.options.nvmini, *arguments], self.options.timeout)

    def note(self, step, outcome, cpu=""):
        self.tally.note(step, self.path, outcome, cpu)

    def round_trip(self, folder, readable):
        first, second = os.path.join(folder, "a.ll"), os.path.join(folder, "b.ll")
        if not readable:
            self.note("print", Outcome(NOT_REACHED))
            self.note("llvm-as", Outcome(NOT_REACHED))
            return
        outcome = self.print_to(self.path, first)
        if not outcome.passed():
            self.note("print", outcome)
            self.note("llvm-as", Outcome(NOT_REACHED))
            return
        outcome = self.print_to(first, second)
        if outcome.kind == FAILED:
            outcome.message = "own output refused: " + outcome.message
        elif outcome.passed() and not filecmp.cmp(first, second, shallow=False):
            outcome = Outcome(FAILED, "printed again, the text differs: " + first_difference(first, second))
        self.note("print", outcome)
        if self.peers.llvm_as:
            command = [self.peers.llvm_as, first, "-o", "/dev/null"]
            self.note("llvm-as", run_command(command, self.options.timeout))
        else:
            self.note("llvm-as", Outcome(NO_PEER))

    def print_to(self, source, target):
        with open(target, "wb") as out:
            return run_command([self.options.nvmini, "print", source], self.options.timeout, stdout=out)

    def compile(self, folder, level, cpu, readable):
        compile_step, ptxas_step = "compile -%s %s" % (level, cpu), "ptxas   -%s %s" % (level, cpu)
        wants_ptxas = "ptxas" in self.options.steps and cpu in (self.options.ptxas_cpus or self.cpus)
        if not readable:
            self.note(compile_step, Outcome(NOT_REACHED))
            if wants_ptxas:
                self.note(ptxas_step, Outcome(NOT_REACHED))
            return
        ptx = os.path.join(folder, "x.ptx")
        outcome = self.nvmini("compile", self.path, "-" + level, "--cpu", cpu, "-o", ptx)
        self.note(compile_step, self.excuse(outcome, cpu, folder), cpu)
        if not wants_ptxas:
            return
        if not outcome.passed():
            self.note(ptxas_step, Outcome(NOT_REACHED))
        elif not self.peers.ptxas or not self.peers.knows_cpu(cpu):
            self.note(ptxas_step, Outcome(NO_PEER))
        else:
            outcome = self.peers.assemble(ptx, cpu, parse_only=not self.assembles_fully(cpu))
            if not outcome.passed():
                self.keep(ptx, cpu, level, outcome)
            self.note(ptxas_step, self.excuse(outcome, cpu, folder), cpu)

    def assembles_fully(self, cpu):
        if self.options.ptxas_full != "some":
            return self.options.ptxas_full == "all"
        cpus = [c for c in self.cpus if c in (self.options.ptxas_cpus or self.cpus)]
        others = cpus[1:]
        return cpu == cpus[0] or bool(others) and cpu == others[self.turn % len(others)]

    def excuse(self, outcome, cpu, folder):
        if outcome.kind == FAILED and self.peers.also_refuse(self.path, cpu, folder):
            return Outcome(REFUSED_BY_PEER, outcome.message)
        if outcome.kind == FAILED and not self.peers.llc and re.search(r"error: cannot lower \S+ needs sm_\d+", outcome.message):
            return Outcome(NO_PEER)  # without llc none can say whether the CPU really lacks it
        return outcome

    def keep(self, ptx, cpu, level, outcome):
        """Puts the refused PTX where --keep says, so that the line number in ptxas's message can be looked up."""
        if self.options.keep:
            os.makedirs(self.options.keep, exist_ok=True)
            name = re.sub(r"[^\w.-]+", "_", os.path.splitext(self.path)[0].lstrip("./"))
            kept = os.path.join(self.options.keep, "%s.%s.%s.ptx" % (name, level, cpu))
            shutil.copyfile(ptx, kept)
            outcome.message = outcome.message.replace(ptx, kept)
        else:
            outcome.message = outcome.message.replace(ptx, os.path.basename(ptx))


def first_difference(first, second):
    with open(first, errors="replace") as a, open(second, errors="replace") as b:
        for line_a, line_b in zip(a, b):
            if line_a != line_b:
                return "%s | %s" % (line_a.strip()[:60], line_b.strip()[:60])
    return "one is longer"


# ---- the tally and its report ---------------------------------------------------------------------------------

class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.steps = collections.OrderedDict()  # step -> count by kind
        self.rows = []                          # (kind, step, module, cpu, message), all but passes

    def note(self, step, module, outcome, cpu):
        with self.lock:
            counts = self.steps.setdefault(step, [0] * len(COLUMNS))
            counts[outcome.kind] += 1
            if outcome.kind in FAILURES or outcome.kind == REFUSED_BY_PEER:
                self.rows.append((outcome.kind, step, module, cpu, outcome.message))

    def total(self, kinds):
        return sum(counts[kind] for counts in self.steps.values() for kind in kinds)


def step_order(step):
    """check, print, llvm-as, then compile and ptxas by level and CPU."""
    first = step.split()[0]
    words = step.split()[1:]
    cpu = re.fullmatch(r"sm_(\d+)([af]?)", words[-1]) if words else None
    number = int(cpu.group(1)) if cpu else 0
    return ("check print llvm-as compile ptxas".split().index(first), words[:1], number, cpu.group(2) if cpu else "")


def print_table(tally):
    used = [kind for kind in range(len(COLUMNS)) if kind <= FAILED or tally.total([kind])]
    print("%-24s" % "step" + "".join("%13s" % COLUMNS[kind] for kind in used))
    for step in sorted(tally.steps, key=step_order):
        print("%-24s" % step + "".join("%13d" % tally.steps[step][kind] for kind in used))


def print_groups(title, rows, options):
    groups = collections.defaultdict(list)
    for _, step, module, cpu, message in rows:
        groups[(step.split()[0], group_key(message))].append((module, cpu, message))
    if not groups:
        return
    ordered = sorted(groups.items(), key=lambda item: (-len({m for m, _, _ in item[1]}), -len(item[1]), item[0]))
    print("\n%s: %d in %d groups (times, modules, step, message; below it an example)" % (title, len(rows), len(groups)))
    shown = ordered if options.all_groups else ordered[:options.groups]
    for (step, key), members in shown:
        print("%6d %5d  %-8s %s" % (len(members), len({m for m, _, _ in members}), step, key))
        module, cpu, message = min(members, key=lambda member: (os.path.getsize(member[0]), member))
        print("%23s %s" % ("", example_line(module, cpu, message)))
    if len(shown) < len(ordered):
        print("       … and %d groups more (--all-groups shows them)" % (len(ordered) - len(shown)))


def example_line(module, cpu, message):
    """Starts with a place that editors can jump to; the CPU is what a rerun needs."""
    text = message if message.startswith(module + ":") else "%s: %s" % (module, message)
    return text[:300] + (" (--cpu %s)" % cpu if cpu else "")


def print_report(tally, options, peers, module_count, seconds):
    print("%d modules, %.0f s\n" % (module_count, seconds))
    print_table(tally)
    for title, kinds in (("Crashes and timeouts", (CRASH, TIMEOUT)), ("Failures", (FAILED,)),
                         ("Refused, and by the peers too (not counted as failed)", (REFUSED_BY_PEER,))):
        print_groups(title, [row for row in tally.rows if row[0] in kinds], options)
    bad_modules = {row[2] for row in tally.rows if row[0] in FAILURES}
    print("\n%d of %d modules pass every step" % (module_count - len(bad_modules), module_count))
    for missing, present in (("llvm-as", peers.llvm_as), ("ptxas", peers.ptxas)):
        if not present and missing in options.steps:
            print("%s is not installed: its steps were skipped" % missing)
    unknown = sorted({step.split()[-1] for step, counts in tally.steps.items() if step.startswith("ptxas")
                      and counts[NO_PEER]}) if peers.ptxas else []
    if unknown:
        print("this ptxas does not know %s: skipped" % ", ".join(unknown))
    print("%d passed, %d failed, %d skipped" % (tally.total([PASSED]), tally.total(FAILURES),
                                                tally.total([REFUSED_BY_PEER, NO_PEER, NOT_REACHED])))


def write_rows(path, tally):
    with open(path, "w", encoding="utf-8") as out:
        for kind, step, module, cpu, message in sorted(tally.rows):
            out.write("\t".join((COLUMNS[kind], step, module, cpu, group_key(message), message)) + "\n")


# ---- the command ----------------------------------------------------------------------------------------------

def find_modules(inputs):
    """Every .ll and .nvir below the given folders, and the given files, in the order of their names."""
    found = []
    for name in inputs:
        if not os.path.isdir(name):
            found.append(name)
            continue
        for folder, _, files in os.walk(name):
            found += [os.path.join(folder, f) for f in files if f.endswith((".ll", ".nvir"))]
    return sorted(found)


def comma_list(text):
    return [word for word in re.split(r"[, ]+", text) if word]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="The report: see the head of check_modules.py.")
    add = parser.add_argument
    add("inputs", nargs="+", metavar="FOLDER|FILE", help="modules: .ll or .nvir files, or folders of them")
    add("--nvmini", default="build/nvmini", metavar="PATH", help="the compiler (default: %(default)s)")
    add("--cpu", type=comma_list, metavar="LIST", help="compile for these (default: from the module's folder, "
        "sm_75 or sm_90, or its target-cpu: that one and those after it)")
    add("--ptxas-cpus", type=comma_list, metavar="LIST", help="ask ptxas for these only (default: all compiled for)")
    add("--ptxas-full", choices=("some", "all", "none"), default="some",
        help="which runs of ptxas go down to machine code, the rest parse only (default: two a module)")
    add("--level", type=comma_list, default=["O0"], metavar="LIST", help="levels: O0,O2,Ofc=min … (default: O0)")
    add("--steps", type=comma_list, default="check,print,llvm-as,compile,ptxas", metavar="LIST", help="default: %(default)s")
    add("--jobs", "-j", type=int, default=os.cpu_count() or 1, metavar="N", help="modules at a time (default: %(default)s)")
    add("--sample", type=int, default=1, metavar="N", help="take every Nth module")
    add("--timeout", type=float, default=60, metavar="SECONDS", help="limit of each command (default: %(default)s)")
    add("--memory", type=int, default=4096, metavar="MIB", help="limit of each command's address space; 0: none "
        "(default: %(default)s; none for a compiler with a sanitizer)")
    add("--groups", type=int, default=30, metavar="N", help="show the N largest groups of messages (default: %(default)s)")
    add("--all-groups", action="store_true", help="show all groups")
    add("--rows", metavar="FILE", help="write every failure to FILE, tab-separated: kind, step, module, cpu, group, message")
    add("--keep", metavar="FOLDER", help="keep PTX that ptxas refused")
    add("--no-llc", dest="ask_llc", action="store_false", help="don't ask llc whether it refuses the module too")
    add("--llvm-version", default="19", metavar="N", help="suffix of LLVM's tools (default: %(default)s)")
    options = parser.parse_args()
    if isinstance(options.steps, str):
        options.steps = comma_list(options.steps)
    options.level = [level.lstrip("-") for level in options.level]
    if options.sample < 1 or options.jobs < 1:
        parser.error("--sample and --jobs take a number from 1 on")
    for name in options.steps:
        if name not in ("check", "print", "llvm-as", "compile", "ptxas"):
            parser.error("no such step: " + name)
    for cpu in (options.cpu or []) + (options.ptxas_cpus or []):
        if not re.fullmatch(r"sm_\d+[af]?", cpu):
            parser.error("not a CPU: " + cpu)
    if not os.access(options.nvmini, os.X_OK):
        parser.error("no compiler at %s (--nvmini PATH)" % options.nvmini)
    options.nvmini = os.path.abspath(options.nvmini)
    return parser, options


def limit_memory(options):
    """Inherited by every command: a runaway compile must not take the machine with it. No core files either."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(options.nvmini, "rb") as binary:
        contents = binary.read()
    has_sanitizer = b"__asan_init" in contents or b"__tsan_init" in contents
    if options.memory and not has_sanitizer:
        hard_limit = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (options.memory << 20, hard_limit))


def main():
    parser, options = parse_arguments()
    modules = find_modules(options.inputs)[::options.sample]
    if not modules:
        parser.error("no .ll or .nvir file there")
    for path in modules:
        if not os.path.exists(path):
            parser.error("no such file: " + path)
    limit_memory(options)
    peers, tally, started = Peers(options), Tally(), time.monotonic()
    done = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = [ModuleRun(path, turn, options, peers, tally) for turn, path in enumerate(modules)]
        for _ in pool.map(ModuleRun.run, runs):
            done += 1
            if sys.stderr.isatty():
                sys.stderr.write("\r%d of %d modules, %d steps failed " % (done, len(modules), tally.total(FAILURES)))
    if sys.stderr.isatty():
        sys.stderr.write("\r%60s\r" % "")
    print_report(tally, options, peers, len(modules), time.monotonic() - started)
    if options.rows:
        write_rows(options.rows, tally)
    return 1 if tally.total(FAILURES) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
