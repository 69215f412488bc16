#!/usr/bin/env python3
"""Sends hostile requests to `nvmini serve`: none may take more than its limits, none may see a file.

  hostile.py [--nvmini build/nvmini] [--count 1000] [--seed 1] [--only CLASS] [--list]

The requests are generated, always the same for a seed: options that name files in every spelling,
modules whose debug locations and PTX name files, kernels that do not end, input that is deep, long
or large, floods of output, bytes that are not HTTP. A canary file, a variable of the environment
and a file that is open in the server contain words that must not come back; the system reports it
if the canary is opened (inotify). A thread looks at the processes of the requests. Closes with
`hostile: N passed, N failed`.
"""
import argparse
import collections
import ctypes
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attacks  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS = 2  # --seconds of the server
MEMORY = 512 << 20
OUTPUT = 16 << 20
CLIENTS = 5
SLACK = 25  # seconds for waiting behind the requests of other clients, on a busy machine
IN_OPEN, IN_ACCESS, IN_MODIFY = 0x20, 0x1, 0x2


class Watch:
    """The system's reports that a file was opened, read or written."""

    def __init__(self, *paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK)
        self.works = self.fd >= 0 and all(self.libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN | IN_ACCESS | IN_MODIFY) >= 0 for path in paths)

    def reports(self):
        try:
            return len(os.read(self.fd, 65536))
        except BlockingIOError:
            return 0


class Monitor(threading.Thread):
    """Looks at the processes of the requests: their number, memory and open files."""

    def __init__(self, server, limits_memory):
        super().__init__(daemon=True)
        self.server, self.limits_memory = server, limits_memory
        self.problems, self.unfiltered = set(), {}
        self.most, self.seen, self.ended = 0, 0, False

    def children(self):
        with open(f"/proc/{self.server}/task/{self.server}/children", encoding="ascii") as f:
            return f.read().split()

    def look_at(self, pid):
        with open(f"/proc/{pid}/limits", encoding="ascii") as f:
            limits = f.read()
        if not re.search(r"Max open files +0 +0", limits):
            return  # between fork() and its limits
        self.seen += 1
        files = os.listdir(f"/proc/{pid}/fd")
        if not set(files) <= {"0", "1", "2", "3"}:  # fewer while it ends: the system closes them one by one
            self.problems.add(f"open files: {sorted(files)}")
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            status = f.read()
        if "Seccomp:" in status and not re.search(r"Seccomp:\s+2", status):
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
                used = int(f.read().split()[0])  # ns
            first = self.unfiltered.setdefault(pid, used)
            if used - first > 5_000_000:  # the filter follows the limits at once, but the process may have to wait
                self.problems.add("no filter of system calls")
        peak = re.search(r"VmPeak:\s+(\d+)", status)
        if self.limits_memory and peak and int(peak[1]) << 10 > MEMORY:
            self.problems.add(f"{peak[1]} KB of addresses")

    def run(self):
        while not self.ended:
            try:
                pids = self.children()
                self.most = max(self.most, len(pids))
                for pid in pids:
                    self.look_at(pid)
            except OSError:
                pass  # it has ended
            time.sleep(0.01)


def send(port, data):
    """The bytes of the answer, and the seconds until its end."""
    began, answer = time.monotonic(), b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=SLACK + 30) as s:
            s.sendall(data)
            while more := s.recv(1 << 20):
                answer += more
    except (ConnectionResetError, BrokenPipeError):
        pass
    return answer, time.monotonic() - began


def http(attack):
    query = urllib.parse.urlencode({"cpu": attack.cpu, "level": attack.level, "options": attack.options})
    head = f"POST /{attack.command}?{query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(attack.text)}\r\n\r\n"
    return head.encode() + attack.text


def judge(attack, answer, seconds, words):
    """What is wrong with the answer; None if nothing is."""
    for word in words:
        if word in answer:
            return f"the answer contains {word!r}"
    if seconds > SECONDS + SLACK:
        return f"took {seconds:.1f} s"
    if attack.raw is not None:
        return None if not answer or answer.startswith(b"HTTP/1.1 ") else f"not HTTP: {answer[:80]!r}"
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        return None if re.match(rb"HTTP/1.1 4\d\d ", head) else f"no answer: {head[:80]!r}"
    try:
        done = json.loads(body)
    except ValueError:
        return f"not JSON: {body[:80]!r}"
    if len(body) > 2 * OUTPUT + 1000:
        return f"{len(body)} bytes"
    if b"Sanitizer" in body or b"runtime error:" in body or done["status"] not in (0, 1, 2, -1):
        return f"exit status {done['status']}: {done['messages'][-600:]}"
    if done["status"] == -1 and not done["limit"]:
        return "it crashed"
    return None


class Run:
    def __init__(self, options, folder):
        self.folder = folder
        self.words = [b"CANARY-IN-A-FILE", b"CANARY-IN-THE-ENVIRONMENT", b"CANARY-IN-AN-OPEN-FILE", b"root:x:0:0"]
        for name in ("canary.nvir", "canary.txt", "open.txt"):
            with open(f"{folder}/{name}", "w", encoding="ascii") as f:
                f.write(attacks.CANARY_MODULE if name == "canary.nvir" else self.words[2 if name == "open.txt" else 0].decode() + "\n")
        self.before = sorted(os.listdir(folder))
        self.watch = Watch(f"{folder}/canary.nvir", f"{folder}/canary.txt")
        opened = os.open(f"{folder}/open.txt", os.O_RDONLY)
        os.dup2(opened, 700, inheritable=True)
        sanitizers = "exitcode=99:allocator_may_return_null=1:max_allocation_size_mb=512:detect_leaks=0"
        environment = dict(os.environ, CANARY=self.words[1].decode(), ASAN_OPTIONS=sanitizers, UBSAN_OPTIONS="exitcode=99")
        self.process = subprocess.Popen([options.nvmini, "serve", "--port", "0", "--seconds", str(SECONDS)], cwd=folder, pass_fds=[700],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.port = int(self.process.stdout.readline().rstrip().rstrip("/").split(":")[-1])
        self.monitor = Monitor(self.process.pid, "asan" not in options.nvmini)
        self.failures, self.counts, self.slowest = [], collections.Counter(), collections.Counter()
        self.lock = threading.Lock()

    def work(self, queue):
        while True:
            with self.lock:
                if not queue:
                    return
                attack = queue.pop()
            answer, seconds = send(self.port, http(attack) if attack.raw is None else attack.raw)
            wrong = judge(attack, answer, seconds, self.words)
            with self.lock:
                self.counts[attack.kind] += 1
                self.slowest[attack.kind] = max(self.slowest[attack.kind], seconds)
                if wrong:
                    self.failures.append((attack, wrong))

    def send_all(self, queue):
        self.monitor.start()
        clients = [threading.Thread(target=self.work, args=(queue,)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def end(self):
        """(what is expected, whether it holds, what was found)"""
        attack = attacks.Attack("last", "run", attacks.STORE, options="--arg buf:i32:1:zero --print 0")
        answer, _ = send(self.port, http(attack))
        yield "the server answers as before", b'"output":"42\\n"' in answer, answer[-300:]
        yield "no process is left", not self.monitor.children(), self.monitor.children()
        self.monitor.ended = True
        self.monitor.join()
        yield "processes were looked at", self.monitor.seen > 0, self.monitor.seen
        yield "at most 4 processes at once", self.monitor.most <= 4, self.monitor.most
        yield "limits of the processes", not self.monitor.problems, sorted(self.monitor.problems)
        yield "the canary was not opened", self.watch.works and not self.watch.reports(), self.watch.works
        yield "no file was made", sorted(os.listdir(self.folder)) == self.before, os.listdir(self.folder)
        self.process.terminate()
        err = self.process.communicate(timeout=60)[1]
        yield "the server ends as it should", (self.process.returncode, err) == (0, ""), (self.process.returncode, err[-600:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="requests of this class")
    parser.add_argument("--list", action="store_true", help="print the classes and their number of requests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        queue = attacks.choose(random.Random(options.seed), folder, options.count, options.only)
        distinct = len({attack.raw if attack.raw is not None else http(attack) for attack in queue})
        if options.list:
            print(collections.Counter(attack.kind for attack in queue), distinct)
            return 0
        options.nvmini = os.path.abspath(options.nvmini)
        run = Run(options, folder)
        run.send_all(queue)
        results = [("all requests are distinct", distinct == sum(run.counts.values()), distinct), *run.end()]
    for attack, wrong in run.failures:
        print(f"failed: {attack}: {wrong}")
    for name, good, shown in results:
        if not good:
            print(f"failed: {name}: {shown}")
    print(", ".join(f"{count} {kind} ({run.slowest[kind]:.1f} s)" for kind, count in sorted(run.counts.items())))
    failed = len(run.failures) + sum(not good for _, good, _ in results)
    print(f"hostile: {distinct + len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
