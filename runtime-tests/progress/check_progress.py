#!/usr/bin/env python3
"""Tests the line of progress of `run`, `reduce` and `compile` on a pseudo-terminal.

    check_progress.py [--nvmini PATH]

Each command waits or runs until the line appears: an endless kernel, a test command and an input
file that take more than two seconds. In a pipe and with --quiet there is none. Prints a line per failure,
then `N passed, N failed`.
"""
import argparse
import os
import pty
import re
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
COMPILE = ["compile", "pipe", "small.nvir", "bad.nvir", "--cpu", "sm_90", "-o", "out"]
ERASE = b"\r\033[K"


def on_terminal(command, wanted, folder):
    """What the command writes to a terminal until `wanted` is there, or to its end if None."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=follower)
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
        process.kill()
    process.wait()
    os.close(leader)
    return text


def prepare(folder):
    files = {"endless.nvir": ENDLESS, "many.nvir": MANY, "small.nvir": SMALL, "bad.nvir": "define", "slow": "#!/bin/sh\n[ -e waited ] || sleep 3\n: > waited\n"}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(os.path.join(folder, "slow"), 0o755)
    os.mkdir(os.path.join(folder, "out"))
    os.mkfifo(os.path.join(folder, "pipe"))


def feed(folder):
    """Writes the first input of COMPILE after three seconds."""
    return subprocess.Popen(["sh", "-c", "sleep 3; cat small.nvir > pipe"], cwd=folder)


def results(nvmini):
    """(what is tested, whether it holds, the text)"""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        text = on_terminal([nvmini, *RUN], b"million a second", folder)
        yield "run shows instructions", text.startswith(ERASE + b"endless: ") and b" million instructions, " in text, text
        yield "a grid of one block shows no blocks", b"block" not in text, text
        text = on_terminal([nvmini, *RUN_MANY], b" s left", folder)
        yield "run shows blocks and the time left", re.search(rb" a second, block [1-9]\d* of 60000, [1-9]\d* s left$", text), text
        text = on_terminal([nvmini, *RUN, "--quiet", "--step-limit", "1000000"], None, folder)
        yield "the finding of a short run", ERASE not in text and b"step-limit" in text, text
        text = on_terminal([nvmini, *REDUCE], None, folder)
        shown, _, rest = text.partition(b" bytes left" + ERASE)
        yield "reduce shows its tries", shown.startswith(ERASE + b"1 tries, ") and b"tries, " in rest, text
        os.unlink(f"{folder}/waited")
        text = on_terminal([nvmini, *REDUCE, "--quiet"], None, folder)
        yield "reduce --quiet", ERASE not in text and b"tries" in text, text
        os.unlink(f"{folder}/waited")
        done = subprocess.run([nvmini, *REDUCE], cwd=folder, capture_output=True, check=False)
        yield "reduce in a pipe", ERASE not in done.stderr and done.returncode == 0, done
        feeder = feed(folder)
        text = on_terminal([nvmini, *COMPILE], None, folder)
        feeder.wait()
        yield "compile shows its files", text.startswith(ERASE + b"file 2 of 3: small.nvir" + ERASE), text
        yield "a message replaces the line", ERASE + b"bad.nvir:1:" in text.replace(b"\033[1m", b""), text
        feeder = feed(folder)
        done = subprocess.run([nvmini, *COMPILE], cwd=folder, capture_output=True, check=False)
        feeder.wait()
        yield "compile in a pipe", ERASE not in done.stderr and b"bad.nvir:1:" in done.stderr, done


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
