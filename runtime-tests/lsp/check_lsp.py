#!/usr/bin/env python3
"""Tests `nvmini lsp` over pipes: one small session per behavior.

    check_lsp.py [--nvmini PATH]

Prints a line per failure, then `lsp: N passed, N failed`.
"""
import argparse
import json
import os
import random
import re
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


RACE = """; nvmini-run: --block 4 --arg buf:i32:4
define ptx_kernel void @all(ptr addrspace(1) %p) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %even = and i32 %t, 6
  store i32 %even, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


def test_hover_facts(nvmini):
    c = opened(nvmini, RACE)
    text = c.at("hover", 4, 3)["contents"]["value"]
    assert "type: i32\n" in text and "range: 0 to 6\n" in text and "xx0\n" in text and "may differ" in text, text
    text = c.at("hover", 5, 40)["contents"]["value"]
    assert "type: ptr addrspace(1)\n" in text and "equal (uniform)" in text, text
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [edit(4, 10, 13, "adn")]})
    text = c.at("hover", 4, 3)["contents"]["value"]
    assert "type:" not in text and "adn i32 %t, 6" in text, text  # with errors
    c.end()


UNTIDY = """   @s = constant [4 x i8] c"a
  "   \n; kept   \ndefine void @f(i32 %a,\nptr %p) {\r
     entry:   ; a comment   \r
\t%x = add i32 %a, 1\t
 switch i32 %x, label %d [
i32 1, label %d
   ]
\td:
    ; alone
ret void  ; last
  }
"""


def apply(text, edits):
    lines = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text)
    for e in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True):
        a, b = e["range"]["start"], e["range"]["end"]
        assert a["line"] == b["line"] and set(lines[a["line"]][a["character"]:b["character"]]) <= set(" \t"), e
        lines[a["line"]] = lines[a["line"]][:a["character"]] + e["newText"] + lines[a["line"]][b["character"]:]
    return "".join(lines)


def test_formatting(nvmini):
    c = opened(nvmini, UNTIDY)
    edits = c.request("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {"tabSize": 8, "insertSpaces": True}})
    tidy = apply(UNTIDY, edits)
    assert tidy == ("@s = constant [4 x i8] c\"a\n  \"\n; kept\ndefine void @f(i32 %a,\n  ptr %p) {\r\nentry:   ; a comment\r\n"
                    "  %x = add i32 %a, 1\n  switch i32 %x, label %d [\n    i32 1, label %d\n  ]\nd:\n    ; alone\n"
                    "  ret void  ; last\n}\n"), tidy
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": tidy}]})
    assert c.request("textDocument/formatting", {"textDocument": {"uri": URI}}) == []
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 3}, "contentChanges": [{"text": UNTIDY + "x"}]})
    assert c.request("textDocument/formatting", {"textDocument": {"uri": URI}}) is None  # with errors
    c.end()


def test_completion(nvmini):
    c = opened(nvmini, TEXT.replace("  ret void\n", "  %n = a\n  store i32 %, ptr %p\n  call void @llvm.nvvm.barr\n  %m = load i\n"))
    def labels(line, character):
        items = c.at("completion", line, character)["items"]
        assert all(i["textEdit"]["newText"] == i["label"] for i in items)
        return [i["label"] for i in items]
    assert {"add", "and", "ashr", "alloca"} <= set(labels(10, 8)) and "store" not in labels(10, 8)
    assert set(labels(11, 13)) == {"%a", "%p", "%s", "%q", "%n", "%m", "%entry", "%done", "%pair"}, labels(11, 13)
    assert "@llvm.nvvm.barrier0" in labels(12, 27) and "@k" not in labels(12, 27)
    assert "i32" in labels(13, 13) and "icmp" not in labels(13, 13)
    everything = c.at("completion", 12, 18)
    assert everything["isIncomplete"] and len(everything["items"]) == 300
    c.end()


def execute(c, command, kernel="all"):
    assert c.request("workspace/executeCommand", {"command": command, "arguments": [URI, kernel]}) is None
    while True:
        m = c.others.pop(0) if c.others else c.read()
        if m.get("method") in ("window/showMessage", "window/showDocument"):
            return m["params"]


def test_commands(nvmini):
    c = opened(nvmini, RACE)
    lenses = c.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
    assert [x["command"]["title"] for x in lenses] == ["run", "explain"] and lenses[0]["range"]["start"]["line"] == 1
    assert lenses[0]["command"]["arguments"] == [URI, "all"]
    assert c.diagnostics()["diagnostics"] == []
    shown = execute(c, "nvmini.run")
    assert shown["type"] == 1 and "race" in shown["message"], shown
    d = c.diagnostics()["diagnostics"]
    assert len(d) == 1 and d[0]["source"] == "nvmini run" and d[0]["range"]["start"]["line"] == 5, d
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [edit(0, 22, 23, "1")]})
    assert c.diagnostics()["diagnostics"] == []
    assert execute(c, "nvmini.run")["type"] == 3
    page = execute(c, "nvmini.explain")["message"]
    assert page.startswith("file:///") and "<html" in open(page[7:], encoding="utf-8").read(), page
    os.remove(page[7:])
    os.rmdir(os.path.dirname(page[7:]))
    more = "define ptx_kernel void @other() {\n  ret void\n}\n"
    def run_lenses(text):
        c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 9}, "contentChanges": [{"text": text}]})
        return [x["command"]["arguments"][1] for x in c.request("textDocument/codeLens", {"textDocument": {"uri": URI}}) if x["command"]["title"] == "run"]
    assert run_lenses(RACE + more) == ["all"]
    assert run_lenses(RACE.replace("--block", "--kernel other --block") + more) == ["other"]
    assert run_lenses(RACE + more + "; nvmini-run: --kernel other\n; nvmini-run: --kernel\n; nvmini-run: --kernel all") == ["all"]  # the last one, as `run` takes it
    assert run_lenses(RACE.split("\n", 1)[1] + more) == ["all", "other"]
    assert execute(c, "nvmini.run", "other") == {"type": 3, "message": "other: done"}
    for arguments in ([URI, "a b"], [URI], ["file:///no", "all"], []):
        assert c.request("workspace/executeCommand", {"command": "nvmini.run", "arguments": arguments})["code"] == -32602
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 3}, "contentChanges": [
        {"text": "define ptx_kernel void @all() {\na:\n  br label %b\nb:\n  store volatile i32 1, ptr null\n  br label %a\n}\n"}]})
    c.request("workspace/executeCommand", {"command": "nvmini.run", "arguments": [URI, "all"]})
    c.end()  # a command that is still executed ends with the server


def test_launch_without_kernel(nvmini):
    c = opened(nvmini, "define ptx_kernel void @other() {\n  ret void\n}\n" + RACE + "; nvmini-run: --kernel")
    lenses = c.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
    assert [x["command"]["arguments"][1] for x in lenses if x["command"]["title"] == "run"] == ["other"], lenses
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
                       (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600), (b'{"jsonrpc":"2.0","id":"\xfb","method":"x"}', -32600)):
        c.send(data)
        assert c.read()["error"]["code"] == code, data
    c.send('{"jsonrpc":"2.0","id":"\u00e9\u2028\U0001d4b3","method":"x"}'.encode())
    assert (m := c.read())["error"]["code"] == -32601 and m["id"] == "\u00e9\u2028\U0001d4b3", m
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


def test_long_line(nvmini):
    line = "!0 = !{!\"\u00e9\U0001d4b3\", !1, !2, !\"\U0001d4b3\", !1" + ", !1" * 20000 + "}"
    c = opened(nvmini, line + "\n!1 = !{}\n!2 = !{}\n")
    ranges = [r["range"] for r in c.at("references", 1, 0, context={"includeDeclaration": False})]
    units = lambda text: len(text.encode("utf-16-le")) // 2
    expected = [units(line[:m.start()]) for m in re.finditer("!1", line)]
    assert [(r["start"]["line"], r["start"]["character"], r["end"]["character"]) for r in ranges] == [(0, x, x + 2) for x in expected]
    assert c.at("references", 2, 0, context={"includeDeclaration": False})[0]["range"]["start"]["character"] == units(line[:line.index("!2")])
    c.end()


def test_many_changes(nvmini):
    """Random changes in one message and in many leave the text that a client has."""
    random_, version = random.Random(5), 1
    c = opened(nvmini, "")
    text = "\n".join(f"!{k} = !{{i32 {k}}} ; \u00e9\U0001d4b3" for k in range(600)) + "\n"
    c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": 1}, "contentChanges": [{"text": text}]})
    for mode in ("down", "up", "random", "random"):
        lines = {"down": range(599, -1, -2), "up": range(0, 600, 2), "random": [random_.randrange(600) for _ in range(300)]}[mode]
        changes = []
        for line in lines:
            insert = random_.choice([" ", ";x", ";\r\n ", ";\r", "\n", ";\U0001d4b3\n"]) if mode != "down" else " "
            rows = re.split("(\r\n|\r|\n)", text)
            line = min(line, len(rows) // 2)
            at = random_.choice([0, len(rows[2 * line])]) if insert in (" ", "\n") else len(rows[2 * line])
            unit = len(rows[2 * line][:at].encode("utf-16-le")) // 2
            rows[2 * line] = rows[2 * line][:at] + insert + rows[2 * line][at:]
            text = "".join(rows)
            changes.append(edit(line, unit, unit, insert))
        version += 1
        c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": version}, "contentChanges": changes})
        found = c.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
        rows = re.split("\r\n|\r|\n", text)
        for number in (0, 1, 300, 598, 599):
            line = next(k for k, row in enumerate(rows) if row.strip().startswith(f"!{number} ="))
            here = c.at("definition", line, rows[line].index("!") + 1)["range"]["start"]
            assert here == {"line": line, "character": rows[line].index("!")}, (mode, number, here, line)
        assert found == []
    c.end()


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
