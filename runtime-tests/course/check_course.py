#!/usr/bin/env python3
"""Tests `nvmini course` and its exercises; closes with one line, `course: N passed, N failed`.

Every exercise that the command lists must parse, must not be solved as it is given, must be solved
by runtime-tests/course/N-K.nvir, and must be named in its chapter. Then the command itself: what
it writes, what it prints for each kind of failed check, and its errors. Then the pages: commands in
the text work, functions are in the files that are named with them, exercises exist. (tools/readme.py
checks the dumps, links and names of files.)

  check_course.py [--nvmini build/nvmini]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOLUTIONS = f"{ROOT}/runtime-tests/course"


class Course:
    def __init__(self, nvmini, folder):
        self.nvmini, self.folder, self.passed, self.failed = nvmini, folder, 0, 0

    def run(self, *arguments):
        return subprocess.run([self.nvmini, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=200)

    def expect(self, name, good, shown=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"failed: {name}\n{shown}".rstrip())

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8") as f:
            return f.read()


def check_exercises(c):
    listed = c.run("course").stdout
    exercises = re.findall(r"(?m)^   (\d+)\.(\d): ", listed)
    pages = re.findall(r"(?m)^(\d+)\. .*\((docs/course/.*)\)$", listed)
    c.expect("ten chapters with three exercises each", [f"{n}" for n, _ in pages] == [f"{n}" for n in range(1, 11)] and
             exercises == [(f"{n}", f"{k}") for n in range(1, 11) for k in (1, 2, 3)], listed)
    c.expect("without arguments: how to go on", all(word in listed for word in (
        "docs/tour.md", "nvmini course start 3 [FOLDER]", "nvmini course check 3 [FOLDER]")), listed)
    texts = {}
    for number, page in pages:
        there = os.path.exists(f"{ROOT}/{page}")
        c.expect(f"{page} exists", there)
        texts[number] = open(f"{ROOT}/{page}", encoding="utf-8").read() if there else ""
    for n, k in exercises:
        name = f"{n}-{k}.nvir"
        c.expect(f"{name}: named in its chapter", f"{n}.{k} " in texts[n])
        written = c.run("course", "start", f"{n}.{k}")
        parsed = c.run("check", name)
        c.expect(f"{name}: written, and valid IR", written.returncode == 0 and parsed.returncode == 0, parsed.stderr)
        given = c.run("course", "check", f"{n}.{k}")
        c.expect(f"{name}: not solved as given, with a hint", given.returncode == 1 and "\n  hint: " in given.stdout, given.stdout)
        solved = c.run("course", "check", f"{n}.{k}", SOLUTIONS)
        c.expect(f"{name}: solved by its solution", solved.returncode == 0 and "\n  solved\n" in solved.stdout, solved.stdout)
        os.remove(f"{c.folder}/{name}")


def check_start(c):
    done = c.run("course", "start", "7", "seven")
    names = [f"7-{k}.nvir" for k in (1, 2, 3)]
    c.expect("start writes the exercises of a chapter into a new folder", done.returncode == 0 and
             sorted(os.listdir(f"{c.folder}/seven")) == names, done.stderr)
    c.write("seven/7-2.nvir", "mine")
    again = c.run("course", "start", "7", "seven/")
    c.expect("start keeps a file that exists, and says so", again.returncode == 0 and
             c.read("seven/7-2.nvir") == "mine" and "seven/7-2.nvir exists and was kept" in again.stdout, again.stdout)
    nowhere = c.run("course", "start", "7", "no/such/folder")
    c.expect("a folder that cannot be made: exit status 1", nowhere.returncode == 1 and
             "no/such/folder: cannot write" in nowhere.stderr, nowhere.stderr)
    shutil.rmtree(f"{c.folder}/seven")


def check_failures(c):
    """Each kind of failed check says what was expected and found."""
    solution = open(f"{SOLUTIONS}/6-2.nvir", encoding="utf-8").read()
    def failure(text):
        c.write("6-2.nvir", text)
        r = c.run("course", "check", "6.2")
        c.expect("an unsolved exercise: exit status 1", r.returncode == 1, r.stdout)
        return r.stdout
    wrong = failure(solution.replace("mul i32 %value, 3", "mul i32 %value, 4"))
    c.expect("another result: expected and found", "  expected: 21 3 21 9 21 15\n" in wrong and
             "  found:    28 4 28 12 28 20" in wrong and "  nvmini run 6-2.nvir --kernel pick" in wrong, wrong)
    broken = failure(solution.replace("%value, 3", "%valve, 3"))
    c.expect("an error in the file is shown with its place", re.search(r"6-2\.nvir:\d+:\d+: error: .*%valve", broken), broken)
    dodged = failure(solution.replace("%odd = icmp ne i32 %bit, 0", "%odd = icmp eq i32 %bit, 1"))
    c.expect("what the file must keep", "the file no longer contains: %odd = icmp ne i32 %bit, 0" in dodged, dodged)
    comment = failure(solution.replace("%odd = icmp ne i32 %bit, 0", "%odd = icmp eq i32 %bit, 1 ; %odd = icmp ne i32 %bit, 0"))
    c.expect("a comment does not keep anything", "the file no longer contains" in comment, comment)
    given = failure("; check lacks\n" + open(f"{ROOT}/driver/course/6-2.nvir", encoding="utf-8").read())
    c.expect("what the output must not contain, and where it does", re.search(r"  the output contains: bra\n  first in: @.*bra", given), given)
    late = failure(solution + "declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32)\ndefine ptx_kernel void @other() {\n"  # `run` has sm_90a
                   "  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 64)\n  ret void\n}\n")
    c.expect("a compilation that fails: what it was for, and the error", re.search(
        r"  nvmini compile 6-2\.nvir --cpu sm_90 -O2\n  the command fails; its output must not contain: bra\n  6-2\.nvir:\d+:\d+: error: .*setmaxnreg", late), late)
    endless = failure(solution.replace("  ret void", "  br label %again\nagain:\n  store volatile i32 1, ptr addrspace(1) %to\n  br label %again"))
    c.expect("an endless kernel ends, and the message says so", "no end after 5 seconds (an endless loop?); expected: 21 3 21 9 21 15\n" in endless, endless)
    os.remove(f"{c.folder}/6-2.nvir")
    missing = c.run("course", "check", "6.2")
    c.expect("a missing file: exit status 1, and the command that writes it", missing.returncode == 1 and
             "6-2.nvir cannot be read; `nvmini course start` writes it" in missing.stdout, missing.stdout)
    all_of_one = c.run("course", "check", "6", SOLUTIONS)
    c.expect("check of a chapter counts", "3 of 3 solved" in all_of_one.stdout and all_of_one.returncode == 0, all_of_one.stdout)


def check_usage(c):
    for arguments, shown in ((("begin", "3"), "'begin'"), (("check",), "needs a chapter"), (("check", "0"), "'0' is no chapter"),
                             (("check", "11"), "'11' is no chapter"), (("check", "3.4"), "'3.4' is no chapter"),
                             (("check", "3."), "'3.' is no chapter"), (("check", "3x"), "'3x' is no chapter"),
                             (("start", "-1"), "'-1'")):
        r = c.run("course", *arguments)
        c.expect(f"course {' '.join(arguments)}: exit status 2", r.returncode == 2 and shown in r.stderr, r.stderr)


def placed(page):
    """Pairs of a function and its file: `f()` in `file`, else the last file before it in the line."""
    for line in page.splitlines():
        path = None
        for m in re.finditer(r"`(\w+)\(\)`(?:(?:, | and )`\w+\(\)`)*(?: in `([\w./-]+)`)?"
                             r"|`([\w-]+/[\w./-]+\.[chy])`", line):
            path = m[3] or m[2] or path
            for name in re.findall(r"`(\w+)\(\)`", m[0]):
                if path:
                    yield name, path


def check_command(c, page, command):
    """A command in the text; capital words are places to fill in."""
    words = command.split()
    if len(words) == 1:
        words += ["--help"]
    words = [{"FILE": "docs/course/total.nvir", "FOLDER": "made", "N": "3"}.get(word, word) for word in words]
    if words[:2] == ["course", "check"]:
        c.run("course", "start", *words[2:])
    r = c.run(*words)
    given = words[:2] == ["course", "check"]  # not solved, which is status 1
    c.expect(f"{page}: `nvmini {command}` works", r.returncode == (1 if given else 0), r.stdout[-300:] + r.stderr)


def check_pages(c):
    for name in ("docs", "samples", "driver", "runtime-tests"):
        os.symlink(f"{ROOT}/{name}", f"{c.folder}/{name}")
    chapters = sorted(f"docs/course/{name}" for name in os.listdir(f"{ROOT}/docs/course") if name.endswith(".md"))
    pairs = commands = 0
    for page in [*chapters, "docs/tour.md"]:
        text = open(f"{ROOT}/{page}", encoding="utf-8").read()
        fences = re.findall(r"(?m)^```.*$", text)
        c.expect(f"{page}: every fence is closed", len(fences) % 2 == 0 and all(f == "```" for f in fences[1::2]))
        prose = re.sub(r"(?ms)^```.*?^```$", "", text)
        for name, path in placed(prose):
            pairs += 1
            there = os.path.isfile(f"{ROOT}/{path}") and re.search(rf"\b{name}\(", open(f"{ROOT}/{path}", encoding="utf-8").read())
            c.expect(f"{page}: {name}() is in {path}", there)
        for command in re.findall(r"`(?:build/)?nvmini ([^`]+)`", prose):
            commands += 1
            check_command(c, page, command)
        for n, k in re.findall(r"[Ee]xercise (\d+)\.(\d)", prose):
            c.expect(f"{page}: exercise {n}.{k} exists", os.path.exists(f"{ROOT}/driver/course/{n}-{k}.nvir"))
    c.expect(f"pages name functions with their files ({pairs}) and commands ({commands})", pairs > 30 and commands > 20)
    c.run("course", "start", "10.3")
    first = re.search(r"(?m)^;   nvmini (.*)$", c.read("10-3.nvir"))[1]
    r = c.run(*first.split())
    c.expect("10-3.nvir: its command names a pass", r.stdout.startswith("pass ") and r.returncode == 1, r.stdout + r.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    with tempfile.TemporaryDirectory() as folder:
        c = Course(os.path.abspath(parser.parse_args().nvmini), folder)
        for check in (check_exercises, check_start, check_failures, check_usage, check_pages):
            check(c)
    print(f"course: {c.passed} passed, {c.failed} failed")
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
