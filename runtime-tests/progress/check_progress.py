#!/usr/bin/env python3
"""Tests the line of progress on a pseudo-terminal: of commands, `make check` and `make demo`.

    check_progress.py [--nvmini PATH]

Each command waits or runs until the line appears: an endless kernel, a test command, an input file,
a test step and a build that take more than two seconds. In a pipe and with --quiet there is none.
Prints a line per failure, then `N passed, N failed`.
"""
import argparse
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENDLESS = """define ptx_kernel void @endless(ptr %p) {
entry:
  br label %loop

loop:
  store volatile i32 1, ptr %p
  br label %loop
}
"""
MANY = """define ptx_kernel void @many(ptr %p) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %i, ptr %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 100000
  br i1 %more, label %loop, label %done

done:
  ret void
}
"""
SMALL = "define ptx_kernel void @k(ptr %p) {\n  store i32 1, ptr %p\n  store i32 2, ptr %p\n  ret void\n}\n"
RUN = ["run", "endless.nvir", "--arg", "buf:i32:1:zero"]
RUN_MANY = ["run", "many.nvir", "--grid", "60000", "--no-checks", "--arg", "buf:i32:1:zero"]
REDUCE = ["reduce", "small.nvir", "--test", "./slow", "-o", "reduced.nvir"]
FUZZ = ["fuzz", "--compiler", "./slow-compiler {in} {out}", "--compiler", "nvmini", "--count", "3", "-o", "findings"]
COMPILE = ["compile", "pipe", "small.nvir", "bad.nvir", "--cpu", "sm_90", "-o", "out"]
ERASE = b"\r\033[K"
# Commands whose first input comes after three seconds, and what they show until then.
LATE = {
    "check": (["check", "pipe", "small.nvir"], b"file 1 of 2: pipe, 2 s"),
    "link": (["link", "pipe", "small.nvir", "-o", "linked.nvir"], b"file 1 of 2: pipe, 2 s"),
    "compile of one file": (["compile", "pipe", "--cpu", "sm_90"], b"pipe, 2 s"),
    "explain": (["explain", "pipe", "-o", "page.html"], b"pipe, 2 s"),
    "run's compilation": (["run", "slow.nvir", "--link", "pipe", "--arg", "buf:i32:1:zero"], b"slow.nvir, 2 s"),
}
BISECT = ["bisect", "many.nvir", "--grid", "60000", "--no-checks", "--arg", "buf:i32:1:zero"]
# One step of run.py that takes three seconds and prints a line.
STEPS = """import sys, time
sys.path.insert(0, "runtime-tests")
import run
run.STEPS = {"quick": lambda: run.Count(passed=5), "slow": lambda: (time.sleep(3.3), print("a line"), run.Count(passed=1))[2]}
run.STEPS = {name: step for name, step in run.STEPS.items()}
for step in run.STEPS.values():
    step.__doc__ = "a step"
sys.argv = ["run.py", *sys.argv[1:]]
run.main()
"""
# A build of two steps.
BUILD = """#!/bin/sh
echo "  CC a.c"; [ "$1" = --dry-run ] && { echo "echo '  CC a.c'"; echo "echo '  CC b.c'"; exit; }
sleep 0.2; echo "  CC b.c"; sleep 0.2
"""


def on_terminal(command, wanted, folder, stdout=subprocess.DEVNULL, **env):
    """What the command writes to a terminal until `wanted` is there, or to its end if None; `stdout` may be "terminal"."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=follower if stdout == "terminal" else stdout,
                               stderr=follower, env={**os.environ, **env}, start_new_session=True)
    os.close(follower)
    text = b""
    while wanted is None or wanted not in text:
        try:
            more = os.read(leader, 4096)
        except OSError:  # the end of a terminal
            more = b""
        if not more:
            break
        text += more
    if process.poll() is None and wanted is not None:
        os.killpg(process.pid, signal.SIGKILL)  # bisect is two processes
    process.wait()
    os.close(leader)
    return text


def prepare(folder, nvmini):
    files = {"endless.nvir": ENDLESS, "many.nvir": MANY, "small.nvir": SMALL, "bad.nvir": "define", "slow": "#!/bin/sh\n[ -e waited ] || sleep 4\n: > waited\n",
             "slow.nvir": SMALL.replace("@k", "@slow"), "build": BUILD,
             "slow-compiler": f"#!/bin/sh\n[ -e {folder}/compiled ] || sleep 4\n: > {folder}/compiled\n{nvmini} compile --cpu sm_90 --fma-level 0 $1 -o $2\n"}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in ("slow", "slow-compiler", "build"):
        os.chmod(os.path.join(folder, name), 0o755)
    os.mkdir(os.path.join(folder, "out"))
    os.mkfifo(os.path.join(folder, "pipe"))


def feed(folder):
    """Writes the first input of COMPILE after three seconds."""
    return subprocess.Popen(["sh", "-c", "sleep 3; cat small.nvir > pipe"], cwd=folder)


def results(nvmini):
    """(what is tested, whether it holds, the text)"""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder, nvmini)
        text = on_terminal([nvmini, *RUN], b"million a second", folder)
        yield "run shows instructions", text.startswith(ERASE + b"endless: ") and b" million instructions, " in text, text
        yield "a grid of one block shows no blocks", b"block" not in text, text
        text = on_terminal([nvmini, *RUN_MANY], b" s left", folder)
        yield "run shows blocks and the time left", re.search(rb" a second, block [1-9]\d* of 60000, [1-9]\d* s left$", text), text
        text = on_terminal([nvmini, *RUN, "--quiet", "--step-limit", "1000000"], None, folder)
        yield "the finding of a short run", ERASE not in text and b"step-limit" in text, text
        text = on_terminal([nvmini, *REDUCE], None, folder)
        yield "reduce shows its tries and sizes", re.match(re.escape(ERASE) + rb"2 s, [01] tries, (\d+) of \1 bytes" + re.escape(ERASE), text), text
        os.unlink(f"{folder}/waited")
        text = on_terminal([nvmini, *REDUCE, "--quiet"], None, folder)
        yield "reduce --quiet", ERASE not in text and b"tries" in text, text
        os.unlink(f"{folder}/waited")
        done = subprocess.run([nvmini, *REDUCE], cwd=folder, capture_output=True, check=False)
        yield "reduce in a pipe", ERASE not in done.stderr and done.returncode == 0, done
        fuzz = [f"{folder}/{w}" if w == "findings" else w.replace("./slow", f"{folder}/slow") for w in FUZZ]
        text = on_terminal([nvmini, *fuzz], None, folder)
        yield "fuzz shows kernels and their rate", re.search(rb"[2-5] s, [01] kernels, 0\.[0-3] a second, 0 findings, 0 classes", text), text
        os.unlink(f"{folder}/compiled")
        done = subprocess.run([nvmini, *fuzz], cwd=folder, capture_output=True, check=False)
        yield "fuzz in a pipe", done.stderr == b"" and done.returncode == 0 and done.stdout.startswith(b"3 kernels, 0 findings"), done
        feeder = feed(folder)
        text = on_terminal([nvmini, *COMPILE], None, folder)
        feeder.wait()
        yield "compile shows its files", text.startswith(ERASE + b"file 1 of 3: pipe, 2 s" + ERASE), text
        yield "a message replaces the line", re.search(rb"s\r\x1b\[K(bad.nvir:1:|.*\n.*bad.nvir:1:)", text.replace(b"\033[1m", b"")), text
        feeder = feed(folder)
        done = subprocess.run([nvmini, *COMPILE], cwd=folder, capture_output=True, check=False)
        feeder.wait()
        yield "compile in a pipe", ERASE not in done.stderr and b"bad.nvir:1:" in done.stderr, done
        yield from late_results(nvmini, folder)
        text = on_terminal([nvmini, *BISECT], b" s, the input", folder)
        yield "bisect shows what it executes", text == ERASE + b"2 s, the input", text
        yield from make_results(folder)


def late_results(nvmini, folder):
    """Commands that have their first input after three seconds."""
    for name, (command, shown) in LATE.items():
        for quiet in ([], ["--quiet"]):
            feeder = feed(folder)
            text = on_terminal([nvmini, *command, *quiet], None, folder, "terminal")
            feeder.wait()
            good = ERASE not in text if quiet else text.startswith(ERASE + shown + ERASE)
            yield f"{name} {' '.join(quiet)}", good, text
            if name == "compile of one file" and not quiet:
                yield "the output replaces the line", re.search(rb" s\r\x1b\[K// Generated", text), text


def make_results(folder):
    """What `make check` and `make demo` show."""
    check = [sys.executable, "-c", STEPS]
    text = on_terminal(check, None, ROOT, "terminal")
    shown = ERASE + b"step 2 of 2: slow, 2 s; so far 5 passed, 0 failed"
    yield "make check shows its step", shown in text and ERASE + b"a line\r\n" in text, text
    text = on_terminal([*check, "--quiet"], None, ROOT, "terminal")
    yield "make check --quiet", ERASE not in text and b"6 passed, 0 failed" in text, text
    done = subprocess.run(check, cwd=ROOT, capture_output=True, check=False)
    yield "make check in a pipe", ERASE not in done.stdout and b"6 passed, 0 failed" in done.stdout, done
    demo = [f"{ROOT}/tools/progress.sh", "./build"]
    text = on_terminal(demo, None, folder, "terminal", MAKEFLAGS="")
    yield "make demo shows its build", text == ERASE + b"building 1/2 a.c" + ERASE + b"building 2/2 b.c" + ERASE, text
    text = on_terminal(demo, None, folder, "terminal", MAKEFLAGS="s -j2")
    yield "make -s demo", text == b"", text
    done = subprocess.run(demo, cwd=folder, capture_output=True, check=False)
    yield "make demo in a pipe", done.stdout + done.stderr == b"", done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    counts = [0, 0]
    for what, good, text in results(os.path.abspath(parser.parse_args().nvmini)):
        counts[not good] += 1
        if not good:
            print(f"{what}: {text}")
    print(f"progress: {counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
