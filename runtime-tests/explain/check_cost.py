#!/usr/bin/env python3
"""Compares the iterations that `nvmini cost` estimates with those that `nvmini run --stats` executes.

For each sample with loops: two launches that differ only in the trip count of one loop, by a number
of iterations that is known from the source. The instructions of PTX of an iteration, times these
iterations, must be the difference of the executed instructions, class by class and in sum, and so
must the bytes of loads and stores. A sample whose loops no row measures is a failure.

  check_cost.py [--nvmini build/nvmini] [--markdown]
"""
import argparse
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Sample, loop, options of the shorter and of the longer launch, further iterations of each thread,
# threads. An iteration of loop 1 of `sum` adds eight elements.
ROWS = [
    ("collatz", 1, "--block 32 --arg i32:1000 --arg buf:i64:32:fill:1024 --arg buf:i32:32:zero",
     "--block 32 --arg i32:1000 --arg buf:i64:32:fill:27 --arg buf:i32:32:zero", 111 - 10, 32),
    ("histogram", 1, "--grid 2 --block 256 --arg i32:1024 --arg buf:u8:4096:iota --arg buf:i32:256:zero",
     "--grid 2 --block 256 --arg i32:4096 --arg buf:u8:4096:iota --arg buf:i32:256:zero", 6, 512),
    ("matmul", 1, "--grid 2,2 --block 16,16 --arg i32:32 --arg buf:f32:4096:iota --arg buf:f32:4096:fill:1 --arg buf:f32:4096:zero",
     "--grid 2,2 --block 16,16 --arg i32:64 --arg buf:f32:4096:iota --arg buf:f32:4096:fill:1 --arg buf:f32:4096:zero", 2, 1024),
    ("reduction", 1, "--grid 2 --block 256 --arg i32:1024 --arg buf:f32:8192:iota --arg buf:f32:1:zero",
     "--grid 2 --block 256 --arg i32:8192 --arg buf:f32:8192:iota --arg buf:f32:1:zero", 14, 512),
    ("sum", 1, "--arg i32:800 --arg buf:i32:8000:iota --arg buf:i32:1:zero",
     "--arg i32:8000 --arg buf:i32:8000:iota --arg buf:i32:1:zero", 900, 1),
]
SPACES = ("global", "shared")
WAYS = {"load": ("load",), "store": ("store",), "atomic": ("load", "store")}  # an atomic's bytes count twice


class Comparison:
    def __init__(self, nvmini):
        self.nvmini = nvmini
        self.passed = self.failed = 0
        self.table = []

    def run(self, *arguments):
        return subprocess.run([self.nvmini, *arguments], check=True, capture_output=True, text=True).stdout

    def cost(self, source, *options):
        return json.loads(self.run("cost", source, "--cpu", "sm_90a", *options, "--format", "json"))

    def executed(self, source, launch):
        text = self.run("run", source, "--cpu", "sm_90a", "-O3", *launch.split(), "--stats")
        return {words[0]: int(words[1]) for words in map(str.split, text.splitlines()) if len(words) == 2 and words[1].isdigit()}

    def expect(self, sample, what, estimated, executed):
        if estimated == executed:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{sample}: {what}: {estimated} estimated, {executed} executed")

    def compare(self, sample, loop, short, long, iterations, threads):
        source = f"{ROOT}/samples/{sample}.nvir"
        rows = [row for row in self.cost(source, "--loop", str(loop))["classes"] if row["loop"] == loop]
        few, many = self.executed(source, short), self.executed(source, long)
        difference = {name: many[name] - few[name] for name in many}
        classes, moved = {}, {f"{space}.{way}_bytes": 0 for space in SPACES for way in ("load", "store")}
        for row in rows:
            classes[row["class"]] = classes.get(row["class"], 0) + row["PTX"]
            if "access" in row:
                space, way = row["access"].split()
                for counter in (f"{space}.{counted}_bytes" for counted in WAYS[way]):
                    moved[counter] = moved.get(counter, 0) + row["bytes_of_a_thread"]
        times = iterations * threads
        for name in (name[6:] for name in many if name.startswith("class.")):
            self.expect(sample, "class " + name, classes.get(name, 0) * times, difference["class." + name])
        for counter, count in moved.items():
            self.expect(sample, counter, count * times, difference[counter])
        warps = times // min(threads, 32)
        total = sum(classes.values())
        self.expect(sample, "instructions of warps", total * warps, difference["warp_instructions"])
        slots = sum(row["machine"] for row in rows)
        self.table.append((sample, total, slots, f"{warps:,}", f"{total * warps:,}", f"{difference['warp_instructions']:,}"))

    def check_all_samples(self):
        """Every sample with loops has a row."""
        for path in sorted(glob.glob(f"{ROOT}/samples/*.nvir")):
            name = os.path.basename(path)[:-5]
            if self.cost(path)["loops"]:
                self.expect(name, "rows", True, any(row[0] == name for row in ROWS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/cost.md")
    options = parser.parse_args()
    comparison = Comparison(options.nvmini)
    for row in ROWS:
        comparison.compare(*row)
    comparison.check_all_samples()
    if options.markdown:
        for cells in comparison.table:
            print("| " + " | ".join(map(str, cells)) + " |")
    print(f"{comparison.passed} passed, {comparison.failed} failed")
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
