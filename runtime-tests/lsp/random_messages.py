#!/usr/bin/env python3
"""Sends random messages to `nvmini lsp`: valid, malformed, out of order, and broken frames.

    random_messages.py [--nvmini PATH] [--count N] [--seed N]

The server must answer each request once, in time, and end in order, whatever came before. A frame
whose length is wrong makes the rest unreadable; the session then only has to end. Run it on a build
with ASan: `make VARIANT=asan build/asan/nvmini`. Closes with `messages: N passed, N failed`, where a
test is a session of 100 messages.
"""
import argparse
import json
import os
import random
import subprocess
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = [f"{ROOT}/samples/{name}.nvir" for name in ("sum", "saxpy", "reduction", "histogram", "scan", "half2")]
POSITIONED = ["hover", "definition", "references", "documentHighlight", "prepareRename", "rename", "completion"]
WHOLE = ["documentSymbol", "formatting", "codeLens"]
NUMBERS = [0, 1, 2, 5, 17, 39, 1 << 20, 1 << 31, 1 << 40, -1, -(1 << 31), 1.5, "7", None, [], True]
TEXTS = ["", "x", "%", "@llvm.", "\n", "\r\n", "}\n", "define void @f() {\n", "\U0001d4b3\u00e9", "\0", "\"", "\\", "a" * 5000,
         "  %x = add i32 1, 2\n", "; nvmini-run: --block 9 --kernel\n", "]" * 50, "(" * 300]


class Session:
    def __init__(self, nvmini, random_):
        self.random, self.number, self.waiting, self.broken = random_, 0, set(), False
        self.process = subprocess.Popen([nvmini, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.texts = {}

    def write(self, data):
        try:
            self.process.stdin.write(data)
        except BrokenPipeError:
            self.broken = True

    def frame(self, data):
        self.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def send(self, method, params, is_request):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if is_request:
            self.number += 1
            message["id"] = self.number
            self.waiting.add(self.number)
        self.frame(json.dumps(message).encode())

    def uri(self):
        return self.random.choice(["file:///a.nvir", "file:///b.nvir", "file:///b.nvir", "file:///c%20d.ll", "", None, 3])

    def position(self):
        r = self.random
        if r.random() < 0.2:
            return {"line": r.choice(NUMBERS), "character": r.choice(NUMBERS)}
        return {"line": r.randrange(60), "character": r.randrange(60)}

    def change(self):
        r = self.random
        if r.random() < 0.1:
            return {"text": open(r.choice(SAMPLES), encoding="utf-8").read()}
        begin, end = self.position(), self.position()
        if r.random() < 0.7 and isinstance(begin["line"], int):
            end = {"line": begin["line"], "character": end["character"]}
        return {"range": {"start": begin, "end": end}, "text": r.choice(TEXTS + [5, None])}

    def document(self, **more):
        return {"textDocument": {"uri": self.uri(), "version": self.random.choice(NUMBERS)}, **more}

    def step(self):
        r, kind = self.random, self.random.randrange(20)
        if kind < 3:
            item = {"uri": self.uri(), "languageId": "nvir", "version": 1, "text": open(r.choice(SAMPLES), encoding="utf-8").read()}
            self.send("textDocument/didOpen", {"textDocument": item}, False)
        elif kind < 9:
            self.send("textDocument/didChange", self.document(contentChanges=[self.change() for _ in range(r.randrange(4))]), False)
        elif kind < 14:
            self.send("textDocument/" + r.choice(POSITIONED), self.document(position=self.position(), newName=r.choice(TEXTS)), True)
        elif kind < 16:
            self.send("textDocument/" + r.choice(WHOLE), self.document(), True)
        elif kind == 16:
            self.send("textDocument/didClose", self.document(), False)
        elif kind == 17:
            name = r.choice(["nvmini.run", "nvmini.explain", "rm", ""])
            self.send("workspace/executeCommand", {"command": name, "arguments": [self.uri(), r.choice(["sum", "saxpy", "x y", 5])][:r.randrange(3)]}, True)
        elif kind == 18:
            self.send(r.choice(["$/cancelRequest", "initialized", "no/such", "initialize", "textDocument/hover"]),
                      r.choice([None, [], 3, "x", {"id": 1}, {"capabilities": 5}]), r.random() < 0.5)
        else:
            self.garbage()

    def garbage(self):
        r = self.random
        valid = json.dumps({"jsonrpc": "2.0", "id": "g", "method": "textDocument/hover", "params": self.document()}).encode()
        cut = bytearray(valid)
        for _ in range(r.randrange(1, 6)):
            cut[r.randrange(len(cut))] = r.randrange(256)
        self.frame(r.choice([bytes(cut), valid[:r.randrange(len(valid))], b"", b"[" * 500, b"{}", b"[]", b"\xff\xfe", b'"\\ud800"']))


def run(nvmini, seed):
    """What is wrong with one session; "" if nothing."""
    s = Session(nvmini, random.Random(seed))
    answers, errors = [], []
    reader = threading.Thread(target=lambda: answers.append(s.process.stdout.read()))
    complainer = threading.Thread(target=lambda: errors.append(s.process.stderr.read()))
    reader.start(), complainer.start()
    timer = threading.Timer(100, s.process.kill)
    timer.start()
    if s.random.random() < 0.95:
        s.send("initialize", {"capabilities": s.random.choice([{}, {"window": {"showDocument": {"support": False}}}])}, True)
    for _ in range(100):
        s.step()
    wrong_frame = s.random.random() < 0.2
    if wrong_frame:
        s.write(s.random.choice([b"Content-Length: 99999999999999\r\n\r\n{}", b"Content-Length: 7\r\n\r\n{}", b"\r\n\r\n\r\n", b"x" * 9000]))
    s.send("shutdown", None, True)
    s.send("exit", None, False)
    try:
        s.process.stdin.close()
    except BrokenPipeError:
        pass
    status = s.process.wait()
    timer.cancel(), reader.join(), complainer.join()
    if status not in (0, 1):
        return f"exit status {status}: {errors[0][-3000:].decode(errors='replace')}"
    if wrong_frame:
        return ""
    missing = s.waiting - ids(answers[0])
    return f"requests without an answer: {sorted(missing)[:5]}" if missing else ""


def ids(data):
    """The ids of the answers in what the server wrote, each of which must be whole."""
    found, at = [], 0
    while at < len(data):
        head, _, rest = data[at:].partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        message = json.loads(rest[:length])
        if "method" not in message:
            found.append(message.get("id"))
        at += len(head) + 4 + length
    numbered = [n for n in found if isinstance(n, int)]
    assert len(numbered) == len(set(numbered)), "a request was answered twice"
    return set(numbered)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    nvmini, passed, failed = os.path.abspath(options.nvmini), 0, 0
    for k in range((options.count + 99) // 100):
        wrong = run(nvmini, options.seed * 1000003 + k)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"session {k} of seed {options.seed}: {wrong}")
    print(f"messages: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
