#!/usr/bin/env python3
"""The same module as text and as bitcode is the same IR: `run.py bitcode`.

  bitcode.py [--nvmini FILE] [--every N] [--ptx N] [FILE…]

Each FILE (without: the samples and all text tests) is assembled by every llvm-as that is installed;
llvm-dis of the same version makes the text that belongs to the bitcode. `nvmini print` of both must
be the same bytes, apart from the line with the file's name. Of every Nth module (--ptx) the PTX at
-O2 must be the same too. Where pointers are typed, LLVM prints named types in an order that depends
on pointees, which nvmini does not keep: there these lines are compared without their order. A
module that LLVM does not assemble, or whose text from llvm-dis nvmini refuses, neither passes nor
fails: their numbers are printed.

Ends with "bitcode: N passed, N failed"; "skipped" where no llvm-as is installed.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

# Files of which LLVM itself loses something, and the last version that does: an alignment of 2^32 is read
# back as none; the text of a call has no type of byval if the parameter is an opaque pointer.
LOST_BY_LLVM = {"align-largest.nvir": 99, "knobs.nvir": 13, "ipsccp-flow.nvir": 13}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


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
    def __init__(self, nvmini, folder):
        self.nvmini, self.folder, self.passed, self.failed = nvmini, folder, 0, 0
        self.not_assembled, self.text_refused = 0, 0

    def fail(self, name, why):
        self.failed += 1
        print(f"{name}: {why}")

    def compare(self, name, version, forms, command):
        """Whether the command's output is the same for both forms; None if the text is refused."""
        text, bitcode = (output([self.nvmini, *command, f]) for f in forms)
        if text is None:
            return None
        if bitcode is None:
            self.fail(name, f"LLVM {version}: `nvmini {command[0]}` refuses the bitcode")
            return False
        typed = int(version.split(".")[0]) < 15
        a, b = comparable(text, typed), comparable(bitcode, typed)
        if a != b:
            self.fail(name, f"LLVM {version}: `nvmini {command[0]}` differs\n{first_difference(a, b)}")
        return a == b

    def check(self, name, assembler, ptx):
        version, llvm_as, llvm_dis = assembler
        bitcode, text = os.path.join(self.folder, "m.bc"), os.path.join(self.folder, "m.ll")
        if output([llvm_as, name, "-o", bitcode]) is None or output([llvm_dis, bitcode, "-o", text]) is None:
            self.not_assembled += 1
            return
        same = self.compare(name, version, (text, bitcode), ["print"])
        if same and ptx:
            same = self.compare(name, version, (text, bitcode), ["compile", "--cpu", "sm_90a", "-O2", "-o", "-"]) is not False
        self.passed += same is True
        self.text_refused += same is None


def tests():
    """The samples and all text tests."""
    return [f for folder in ("samples", "runtime-tests") for kind in ("nvir", "ll")
            for f in sorted(glob.glob(f"{ROOT}/{folder}/**/*.{kind}", recursive=True))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvmini", default=os.path.join(ROOT, "build", "nvmini"))
    parser.add_argument("--every", type=int, default=1, help="take every Nth file only")
    parser.add_argument("--ptx", type=int, default=10, help="compare the PTX of every Nth file; 0: of none")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    found = assemblers()
    if not found:
        print("skipped: no llvm-as is installed")
        return 0
    files = (arguments.files or tests())[::arguments.every]
    with tempfile.TemporaryDirectory() as folder:
        for assembler in found:
            c = Comparison(arguments.nvmini, folder)
            for i, name in enumerate(files):
                if int(assembler[0].split(".")[0]) <= LOST_BY_LLVM.get(os.path.basename(name), 0):
                    continue
                c.check(name, assembler, arguments.ptx and i % arguments.ptx == 0)
            print(f"LLVM {assembler[0]}: {c.passed} modules are equal, {c.failed} differ; not counted: "
                  f"{c.not_assembled} that it does not assemble, {c.text_refused} that nvmini refuses as text")
            arguments.total = [x + y for x, y in zip(getattr(arguments, "total", [0, 0]), (c.passed, c.failed))]
    print(f"bitcode: {arguments.total[0]} passed, {arguments.total[1]} failed")
    return 1 if arguments.total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
