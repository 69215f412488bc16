#!/usr/bin/env python3
"""Speed and memory of the compiler, beside llvm-as and llc on the same input in the same run.

    bench.py [--modules FOLDER] [--quick] [--cpu sm_90] [--llvm 19]

Inputs
  small   every .ll module of FOLDER (or every sample), each in a process of its own
  medium  one module of 4 MB: the functions of a real module (the FOLDER's largest below 1 MB without
          debug information, or the samples' saxpy), repeated under new names
  large   the same to 400 MB (not with --quick)

Measured: processor time (user + system) of the process, the median of several runs, and its peak
memory. Only ratios mean something on another machine. A peer that is not installed is left out;
llc is not run on the large module (it wants more memory than most machines have).
"""
import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MEGABYTE = 1 << 20


def measure(command, runs, timeout=600):
    """(seconds of processor time, peak bytes), or None if the command failed or ran too long."""
    seconds, peak, known = [], 0, peak_memory(command)
    for _ in range(runs):
        with open(os.devnull, "w") as null:
            child = subprocess.Popen(command, stdout=null, stderr=null, stdin=subprocess.DEVNULL)
            end = time.time() + timeout
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG if runs == 1 else 0)
                if pid != 0:
                    break
                if time.time() > end:
                    child.kill()
                    os.wait4(child.pid, 0)
                    child.returncode = -9
                    return None
                time.sleep(0.01)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            return None
        seconds.append(usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss * 1024)
    return statistics.median(seconds), known or peak


# A process counts the pages of the one that started it as its own until it has run another program,
# and Python has more than a compilation of a small module: GNU time, which is small, starts it.
TIME = shutil.which("time")


def peak_memory(command):
    """Bytes; 0: there is no GNU time."""
    if not TIME:
        return 0
    done = subprocess.run([TIME, "-f", "%M", *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    last = done.stderr.split()[-1:]
    return int(last[0]) * 1024 if last and last[0].isdigit() else 0


class Functions:
    """A module taken apart: what is there once, and the definitions that can be repeated."""

    def __init__(self, text):
        self.bodies = re.findall(r"^define .*?^}\n", text, re.M | re.S)
        self.once = re.sub(r"^define .*?^}\n", "", text, flags=re.M | re.S)
        names = re.findall(r'^define [^@\n]*@("[^"]+"|[\w.$-]+)\(', "".join(self.bodies), re.M)
        self.names = re.compile("@(" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) +
                                r')(?![\w.$-])')
        # Comdats name the original; a copy has none.
        self.bodies = [re.sub(r" comdat(\(\$[^)]*\))?", "", body, count=1) for body in self.bodies]

    def write(self, path, at_least):
        """Writes at least so many bytes; returns how many. The first copy keeps its names."""
        once = re.sub(r"^(@llvm\.(compiler\.)?used|\$[^=\n]* = comdat|!nvvm\.annotations) .*\n?", "", self.once, flags=re.M)
        once = re.sub(r"^(@.*), comdat(\(\$[^)]*\))?", r"\1", once, flags=re.M)
        notes = re.findall(r'^!\d+ = (!\{ptr @.*)$', once, re.M)
        number = 1 + max((int(n) for n in re.findall(r"^!(\d+) =", once, re.M)), default=0)
        joined, first, copy = "\n".join(self.bodies), number, 0
        with open(path, "w", encoding="utf-8") as out:
            size = out.write(once)
            while size < at_least:
                size += out.write(self.renamed(joined, copy) + "\n")
                for note in notes:
                    size += out.write(f"!{number} = {self.renamed(note, copy)}\n")
                    number += 1
                copy += 1
            if notes:
                out.write("!nvvm.annotations = !{" + ", ".join(f"!{n}" for n in range(first, number)) + "}\n")
        return os.path.getsize(path)

    def renamed(self, text, copy):
        return text if copy == 0 else self.names.sub(lambda m: rename(m.group(1), copy), text)


def rename(name, copy):
    return f'@{name[:-1]}.{copy}"' if name.endswith('"') else f"@{name}.{copy}"


def row(what, size, ours, theirs, peer, one_module=True):
    if ours is None:
        print(f"{what:34} FAILED")
        return
    speed = f"{size / MEGABYTE / ours[0]:8.1f} MB/s" if ours[0] > 0 else "         -    "
    text = f"{what:34} {ours[0]:8.3f} s {speed}  {ours[1] / MEGABYTE:8.0f} MB"
    text += f" ({ours[1] / size:4.1f} x text)" if one_module else " " * 14
    if theirs is not None:
        text += f"  {peer} {theirs[0]:8.3f} s {theirs[1] / MEGABYTE:7.0f} MB"
        if ours[0] > 0:
            text += f"  faster by {theirs[0] / ours[0]:6.1f}, memory {theirs[1] / ours[1]:5.1f}"
    print(text, flush=True)


class Bench:
    def __init__(self, options, work):
        self.o = options
        self.work = work
        self.llvm_as = shutil.which(f"llvm-as-{options.llvm}")
        self.llc = shutil.which(f"llc-{options.llvm}")
        for name, tool in ((f"llvm-as-{options.llvm}", self.llvm_as), (f"llc-{options.llvm}", self.llc)):
            if tool is None:
                print(f"{name} is not installed: left out")

    def one(self, name, path, runs, with_llc):
        size = os.path.getsize(path)
        nvmini = self.o.nvmini
        theirs = measure([self.llvm_as, path, "-o", "/dev/null"], runs) if self.llvm_as else None
        ours = measure([nvmini, "check", path], runs)
        row(f"{name}: parse and verify", size, ours, theirs, "llvm-as")
        theirs = None
        if self.llc and with_llc:
            theirs = measure([self.llc, "-O0", "-mcpu=" + self.o.cpu, path, "-o", "/dev/null"], runs)
        ours = measure([nvmini, "compile", "-O0", "--cpu", self.o.cpu, path, "-o", "/dev/null"], runs)
        row(f"{name}: compile -O0", size, ours, theirs, "llc")
        return ours[0] / size if ours else None

    def many(self, name, paths, command, peer_command, peer):
        """The sum over many modules; those that either refuses are left out."""
        ours, theirs, size, peak, peer_peak, used = 0.0, 0.0, 0, 0, 0, 0
        for path in paths:
            mine = measure(command(path), 3)
            other = measure(peer_command(path), 3) if peer_command else (0.0, 0)
            if mine is None or other is None:
                continue
            used += 1
            size += os.path.getsize(path)
            ours, theirs = ours + mine[0], theirs + other[0]
            peak, peer_peak = max(peak, mine[1]), max(peer_peak, other[1])
        if used == 0:
            print(f"{name}: no module passed")
            return
        row(f"{name} ({used} of {len(paths)})", size, (ours, peak),
            (theirs, peer_peak) if peer_command else None, peer, one_module=False)

    def small(self, paths):
        nvmini, cpu = self.o.nvmini, self.o.cpu
        self.many("small: parse and verify", paths, lambda p: [nvmini, "check", p],
                  (lambda p: [self.llvm_as, p, "-o", "/dev/null"]) if self.llvm_as else None, "llvm-as")
        self.many("small: compile -O0", paths,
                  lambda p: [nvmini, "compile", "-O0", "--cpu", cpu, p, "-o", "/dev/null"],
                  (lambda p: [self.llc, "-O0", "-mcpu=" + cpu, p, "-o", "/dev/null"]) if self.llc else None,
                  "llc")

    def start(self):
        times = []
        for _ in range(200):
            begin = time.perf_counter()
            subprocess.run([self.o.nvmini, "version"], stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - begin)
        print(f"process start, run and end as seen from here: {min(times) * 1000:.2f} ms at best, "
              f"{statistics.median(times) * 1000:.2f} ms median")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--modules", help="folder of .ll modules made by other compilers")
    parser.add_argument("--quick", action="store_true", help="without the 400 MB module")
    parser.add_argument("--cpu", default="sm_90")
    parser.add_argument("--llvm", default="19", help="version of the peers")
    parser.add_argument("--nvmini", default="build/release/nvmini")
    options = parser.parse_args()
    paths = sorted(glob.glob(f"{options.modules}/**/*.ll", recursive=True)) if options.modules else \
        sorted(glob.glob("samples/*.nvir"))
    if not paths:
        sys.exit(f"no .ll module below {options.modules}")
    plain = [p for p in paths if "/g" not in os.path.dirname(p) and "libdevice" not in p] or paths
    fitting = [p for p in plain if os.path.getsize(p) < MEGABYTE] or plain
    template = max(fitting, key=os.path.getsize) if options.modules else "samples/saxpy.nvir"
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, work)
        bench.start()
        bench.small(paths)
        with open(template, encoding="utf-8") as f:
            functions = Functions(f.read())
        per_byte = []
        for name, size in (("4 MB", 4 * MEGABYTE), ("400 MB", 400 * MEGABYTE))[:1 if options.quick else 2]:
            path = f"{work}/module.ll"
            functions.write(path, size)
            per_byte.append(bench.one(name, path, 5 if size < 10 * MEGABYTE else 1, size < 10 * MEGABYTE))
        if len(per_byte) == 2 and None not in per_byte:
            print(f"growth: a byte of the large module takes {per_byte[1] / per_byte[0]:.2f} times as long "
                  "as one of the medium")


if __name__ == "__main__":
    main()
