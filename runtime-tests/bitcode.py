#!/usr/bin/env python3
"""The same module as text and as bitcode is the same IR: `run.py bitcode`.

  bitcode.py [--nvmini FILE] [--every N] [--ptx N] [--level O1] [--older] [--quiet] [--speed N] [FILE or FOLDER…]

Each FILE, or module of a FOLDER (without: the samples and all text tests), is assembled by every
llvm-as that is installed; llvm-dis of the same version makes the text that belongs to the bitcode.
`nvmini print` of both must be the same bytes, apart from the line with the file's name. Of every
Nth module (--ptx) the PTX at --level must be the same too. Where pointers are typed, LLVM prints
named types in an order that depends on pointees, which nvmini does not keep: there these lines are
compared without their order. A module that LLVM does not assemble, or whose text from llvm-dis
nvmini refuses, neither passes nor fails: their numbers are printed.

With --older, modules of LLVM 19 are rewritten for LLVM 14 to 16: opaque pointers, and attributes by
their older names. With --quiet, only sums are printed. With --speed N, the newest llvm-as alone
writes the bitcode, and a table compares the processor time of `nvmini check` on both forms: the
least of N runs each, in turns.

Ends with "bitcode: N passed, N failed"; "skipped" where no llvm-as is installed.
"""
import argparse
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile

# Files of which LLVM itself loses something, and the last version that does: an alignment of 2^32 is read
# back as none; the text of a call has no type of byval if the parameter is an opaque pointer.
LOST_BY_LLVM = {"align-largest.nvir": 99, "knobs.nvir": 13, "ipsccp-flow.nvir": 13}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# Attributes of newer versions by their older names; without one they are left out.
OLDER_WORDS = {
    "memory(none)": "readnone", "memory(argmem: readwrite)": "argmemonly", "memory(argmem: read)": "argmemonly readonly",
    "memory(argmem: write)": "argmemonly writeonly", "memory(inaccessiblemem: readwrite)": "inaccessiblememonly",
    "memory(inaccessiblemem: write)": "inaccessiblememonly writeonly", " dead_on_unwind ": " ", " writable ": " "}
LAST_OLDER, FIRST_OPAQUE, LAST_TYPED = 16, 14, 14


def assemblers():
    """(version, llvm-as, llvm-dis) of every installed LLVM, the newest first."""
    found = {}
    for path in glob.glob("/usr/lib/llvm-*/bin/llvm-as") + glob.glob("/usr/bin/llvm-as-*") + [shutil.which("llvm-as")]:
        other = path and path.replace("llvm-as", "llvm-dis")
        if other and os.path.exists(other):
            words = subprocess.run([path, "--version"], text=True, stdout=subprocess.PIPE).stdout.split("version ")
            found.setdefault(words[1].split()[0] if len(words) > 1 else "?", (path, other))
    return [(version, *found[version]) for version in sorted(found, key=lambda v: -int(v.split(".")[0]))]


def output(command):
    """The output of a command; None if it fails."""
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return run.stdout if run.returncode == 0 else None


def modules(path):
    """The files of a folder, or the file."""
    if not os.path.isdir(path):
        return [path]
    return sorted(f for kind in ("ll", "nvir") for f in glob.glob(f"{path}/*.{kind}"))


def comparable(text, typed):
    """The lines to compare: without names of files; those of types in order, if pointers are typed."""
    lines = [l for l in text.split(b"\n") if not l.startswith((b"; ModuleID", b"source_filename"))]
    types = [l for l in lines if l.startswith(b"%") and b" = type " in l]
    return (sorted(types) if typed else types) + [l for l in lines if l not in set(types)]


def first_difference(a, b):
    for x, y in zip(a + [b"(end)"], b + [b"(end)"]):
        if x != y:
            return f"  text    {x.decode(errors='replace')[:160]}\n  bitcode {y.decode(errors='replace')[:160]}"
    return ""


class Comparison:
    def __init__(self, arguments, folder):
        self.arguments, self.folder, self.passed, self.failed = arguments, folder, 0, 0
        self.not_assembled, self.text_refused = 0, 0

    def fail(self, name, why):
        self.failed += 1
        if not self.arguments.quiet:
            print(f"{name}: {why}", flush=True)

    def compare(self, name, version, forms, command):
        """Whether the command's output is the same for both forms; None if the text is refused."""
        text, bitcode = (output([self.arguments.nvmini, *command, f]) for f in forms)
        if text is None:
            return None
        if bitcode is None:
            self.fail(name, f"LLVM {version}: `nvmini {command[0]}` refuses the bitcode")
            return False
        typed = int(version.split(".")[0]) <= LAST_TYPED
        a, b = comparable(text, typed), comparable(bitcode, typed)
        if a != b:
            self.fail(name, f"LLVM {version}: `nvmini {command[0]}` differs\n{first_difference(a, b)}")
        return a == b

    def assemble(self, name, assembler, bitcode, text):
        """Writes both forms; whether that version can."""
        version, llvm_as, llvm_dis = assembler
        source, options, major = name, [], int(version.split(".")[0])
        if self.arguments.older and major <= LAST_OLDER:
            source = os.path.join(self.folder, "older.ll")
            with open(name, encoding="utf-8", errors="surrogateescape") as file:
                words = file.read()
            for new, old in OLDER_WORDS.items():
                words = words.replace(new, old)
            with open(source, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(words)
            options = ["-opaque-pointers"] if FIRST_OPAQUE <= major < LAST_OLDER else []
        return (output([llvm_as, *options, source, "-o", bitcode]) is not None and
                output([llvm_dis, *options, bitcode, "-o", text]) is not None)

    def check(self, name, assembler, ptx):
        version = assembler[0]
        bitcode, text = os.path.join(self.folder, "m.bc"), os.path.join(self.folder, "m.ll")
        if not self.assemble(name, assembler, bitcode, text):
            self.not_assembled += 1
            return
        same = self.compare(name, version, (text, bitcode), ["print"])
        if same and ptx:
            command = ["compile", "--cpu", "sm_90a", "-" + self.arguments.level, "-o", "-"]
            same = self.compare(name, version, (text, bitcode), command) is not False
        self.passed += same is True
        self.text_refused += same is None


def seconds(command):
    """The processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_speed(arguments, files, assembler):
    """The table of reading times: sizes in kB, text's time as a multiple of bitcode's."""
    print("| module | text | bitcode | text's time |\n|---|---:|---:|---:|")
    product = 1.0
    with tempfile.TemporaryDirectory() as folder:
        c, forms = Comparison(arguments, folder), [os.path.join(folder, f"m.{kind}") for kind in ("ll", "bc")]
        for name in files:
            if not c.assemble(name, assembler, forms[1], forms[0]):
                sys.exit(f"{name}: {assembler[1]} does not assemble it")
            runs = [[seconds([arguments.nvmini, "check", f]) for f in forms] for _ in range(arguments.speed)]
            text, bitcode = (min(column) for column in zip(*runs))
            product *= text / bitcode
            sizes = [f"{os.path.getsize(f) / 1000:,.0f} kB" for f in forms]
            print(f"| {os.path.basename(name)} | {sizes[0]} | {sizes[1]} | {text / bitcode:.1f} |", flush=True)
    print(f"geometric mean {product ** (1 / len(files)):.2f}")


def tests():
    """The samples and all text tests."""
    return [f for folder in ("samples", "runtime-tests") for kind in ("nvir", "ll")
            for f in sorted(glob.glob(f"{ROOT}/{folder}/**/*.{kind}", recursive=True))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    parser.add_argument("--every", type=int, default=1, help="take every Nth file only")
    parser.add_argument("--ptx", type=int, default=10, help="compare the PTX of every Nth file; 0: of none")
    parser.add_argument("--level", default="O2", help="of the PTX")
    parser.add_argument("--older", action="store_true", help="rewrite modules of LLVM 19 for LLVM 14 to 16")
    parser.add_argument("--speed", type=int, default=0, help="compare reading times instead, of so many runs")
    parser.add_argument("--quiet", action="store_true", help="print sums only")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    found = assemblers()
    if not found:
        print("skipped: no llvm-as is installed")
        return 0
    files = ([f for path in arguments.files for f in modules(path)] or tests())[::arguments.every]
    if arguments.speed:
        compare_speed(arguments, files, found[0])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for assembler in found:
            c = Comparison(arguments, folder)
            for i, name in enumerate(files):
                if int(assembler[0].split(".")[0]) <= LOST_BY_LLVM.get(os.path.basename(name), 0):
                    continue
                c.check(name, assembler, arguments.ptx and i % arguments.ptx == 0)
            print(f"LLVM {assembler[0]}: {c.passed} modules are equal, {c.failed} differ; not counted: "
                  f"{c.not_assembled} that it does not assemble, {c.text_refused} that nvmini refuses as text", flush=True)
            arguments.total = [x + y for x, y in zip(getattr(arguments, "total", [0, 0]), (c.passed, c.failed))]
    print(f"bitcode: {arguments.total[0]} passed, {arguments.total[1]} failed")
    return 1 if arguments.total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
