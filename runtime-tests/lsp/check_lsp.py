#!/usr/bin/env python3
"""Tests `nvmini lsp` over pipes: one small session per behavior.

    check_lsp.py [--nvmini PATH]

Prints a line per failure, then `lsp: N passed, N failed`.
"""
import argparse
import json
import os
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
URI = "file:///k.nvir"
TEXT = """%pair = type { i32, i32 }
@g = global i32 0
define ptx_kernel void @k(i32 %a, ptr %p) {
entry:
  %s = add nsw i32 %a, 1 ; \U0001d4b3 %a
  br label %done

done:
  store i32 %s, ptr %p
  %q = getelementptr %pair, ptr %p, i32 0, i32 1
  ret void
}
define float @f(float %a) {
  %r = call float @llvm.fabs.f32(float %a)
  ret float %r
}
declare float @llvm.fabs.f32(float)
!0 = !{i32 1}
"""


class Client:
    def __init__(self, nvmini, start=True):
        self.process = subprocess.Popen([nvmini, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number, self.others = 0, []
        if start:
            self.request("initialize", {"capabilities": {}})
            self.notify("initialized", {})

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n" % len(data) + data)

    def read(self):
        length = 0
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params=None):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while (answer := self.read()).get("id") != self.number:
            self.others.append(answer)
        return answer.get("result", answer.get("error"))

    def open(self, text=TEXT):
        self.notify("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "nvir", "version": 1, "text": text}})

    def diagnostics(self):
        while self.others:
            if (m := self.others.pop(0)).get("method") == "textDocument/publishDiagnostics":
                return m["params"]
        while (m := self.read()).get("method") != "textDocument/publishDiagnostics":
            pass
        return m["params"]

    def at(self, method, line, character, **more):
        return self.request("textDocument/" + method, {
            "textDocument": {"uri": URI}, "position": {"line": line, "character": character}, **more})

    def end(self, status=0):
        if status == 0:
            self.request("shutdown")
            self.notify("exit", None)
        self.process.stdin.close()
        assert self.process.wait(20) == status, self.process.returncode
        self.process.stdout.close()


def opened(nvmini, text=TEXT):
    c = Client(nvmini)
    c.open(text)
    return c


def edit(line, begin, end, text):
    return {"range": {"start": {"line": line, "character": begin}, "end": {"line": line, "character": end}}, "text": text}


def test_diagnostics(nvmini):
    c = opened(nvmini, "define void @f() {\n  %x = add i32 %y, 1\n  ret void\n}\n")
    d = c.diagnostics()["diagnostics"]
    assert d[0]["code"] == "undefined-local" and d[0]["severity"] == 1, d
    assert d[0]["range"] == {"start": {"line": 1, "character": 15}, "end": {"line": 1, "character": 17}}, d
    doc = {"textDocument": {"uri": URI, "version": 2}}
    c.notify("textDocument/didChange", {**doc, "contentChanges": [edit(1, 15, 17, "2")]})
    d = c.diagnostics()
    assert d["diagnostics"] == [] and d["version"] == 2, d
    c.notify("textDocument/didChange", {**doc, "contentChanges": [{"text": "define\n"}]})
    assert c.diagnostics()["diagnostics"]
    c.notify("textDocument/didClose", doc)
    assert c.diagnostics()["diagnostics"] == []
    c.end()


def test_hover(nvmini):
    c = opened(nvmini)
    assert "add nsw i32 %a, 1" in c.at("hover", 8, 13)["contents"]["value"]
    add = subprocess.run([nvmini, "ops", "add"], text=True, capture_output=True, check=True).stdout.split("\n\n", 1)[1]
    assert add in c.at("hover", 4, 8)["contents"]["value"]
    assert "llvm.fabs" in c.at("hover", 13, 22)["contents"]["value"]
    c.end()


def test_navigation(nvmini):
    c = opened(nvmini)
    assert c.at("definition", 8, 13)["range"]["start"] == {"line": 4, "character": 2}
    assert c.at("definition", 5, 13)["range"]["start"] == {"line": 7, "character": 0}
    assert c.at("definition", 9, 22)["range"]["start"] == {"line": 0, "character": 0}
    lines = [r["range"]["start"]["line"] for r in c.at("references", 2, 31, context={"includeDeclaration": True})]
    assert lines == [2, 4], lines  # neither the comment nor @f's %a
    assert len(c.at("references", 2, 31, context={"includeDeclaration": False})) == 1
    assert [h["kind"] for h in c.at("documentHighlight", 2, 31)] == [3, 2]
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [edit(4, 7, 10, "%$@ (")]})
    assert c.at("definition", 8, 13)["range"]["start"] == {"line": 4, "character": 2}  # with errors
    c.end()


def test_rename(nvmini):
    c = opened(nvmini)
    edits = c.at("rename", 4, 3, newName="%a b")["changes"][URI]
    assert [e["newText"] for e in edits] == ['"a b"'] * 2, edits
    assert len(c.at("rename", 7, 1, newName="end")["changes"][URI]) == 2
    assert len(c.at("rename", 17, 1, newName="7")["changes"][URI]) == 1
    assert len(c.at("rename", 1, 1, newName="h")["changes"][URI]) == 1
    for line, character, name in ((4, 3, "a"), (4, 3, ""), (4, 3, "12"), (4, 3, "a\nb"), (13, 22, "g"), (1, 1, "k"), (17, 1, "x")):
        assert c.at("rename", line, character, newName=name)["code"] == -32803, name
    assert c.at("prepareRename", 4, 3)["placeholder"] == "s"
    c.end()


def test_symbols(nvmini):
    c = opened(nvmini)
    s = c.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    assert [(x["name"], x.get("detail")) for x in s[:3]] == [("k", "kernel"), ("f", "function"), ("llvm.fabs.f32", "declare")], s
    assert [x["name"] for x in s[0]["children"]] == ["entry", "done"]
    assert sorted(x["name"] for x in s[3:]) == ["g", "pair"]
    c.end()


def test_protocol(nvmini):
    c = Client(nvmini, start=False)
    assert c.request("textDocument/hover", {})["code"] == -32002
    c.request("initialize", {})
    assert c.request("initialize", {})["code"] == -32600
    assert c.request("no/method")["code"] == -32601
    assert c.at("hover", 0, 0)["code"] == -32602
    for data, code in ((b"{", -32700), (b"[" * 100000, -32700), (b'{"a":"\xff\\ud800"}', -32600), (b"[]", -32600),
                       (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600)):
        c.send(data)
        assert c.read()["error"]["code"] == code, data
    c.raw(b"Content-Length: x\r\n\r\n")
    assert c.read()["error"]["code"] == -32700
    c.open()
    c.diagnostics()
    assert c.at("hover", 10 ** 6, 10 ** 6) is None
    assert c.at("hover", -1, 0)["code"] == -32602
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI}, "contentChanges": [edit(4, 9, 3, "x")]})
    c.notify("no/method", {})
    c.request("shutdown")
    assert c.at("hover", 0, 0)["code"] == -32600
    c.notify("exit", None)
    assert c.process.wait(20) == 0
    c = Client(nvmini)
    c.raw(b"Content-Length: 99999999999999999999999\r\n\r\n{}")
    assert c.read()["error"]["code"] == -32600
    c.end(1)


def test_speed(nvmini):
    function = TEXT[TEXT.index("define ptx_kernel"):TEXT.index("define float")]
    text, count = TEXT, 0
    while len(text) < 1 << 20:
        text += function.replace("@k", f"@k{count}")
        count += 1
    c = opened(nvmini, text)
    assert c.diagnostics()["diagnostics"] == []
    times = []
    for k in range(20):
        begin = time.monotonic()
        c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": k}, "contentChanges": [edit(4, 2, 2, " ")]})
        c.diagnostics()
        times.append(time.monotonic() - begin)
    print(f"a keystroke in {len(text)} bytes: median {sorted(times)[10] * 1000:.1f} ms, most {max(times) * 1000:.1f} ms")
    c.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    nvmini = os.path.abspath(parser.parse_args().nvmini)
    passed, failed = 0, 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        try:
            test(nvmini)
            passed += 1
        except Exception as error:  # a client that dies reads as a malformed message
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
    print(f"lsp: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
