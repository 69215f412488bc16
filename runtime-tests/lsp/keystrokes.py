#!/usr/bin/env python3
"""How long `nvmini lsp` takes from a keystroke to its diagnostics, and from there to a hover.

    keystrokes.py FILE [--nvmini PATH] [--count N] [--line N]

Inserts blanks at the begin of a line in the middle of FILE, one after the other, and waits each time
for the diagnostics of that version, then for the hover of the first name after the line's begin.
Then measures each other request directly after a keystroke, when nothing is computed yet. Prints
medians and 95th percentiles in milliseconds, and of the requests the mean processor time, which
includes the keystroke and the diagnostics.
"""
import argparse
import os
import time

from check_lsp import ROOT, URI, Client, edit


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] * 1000


def processor_time(c):
    """Seconds that the server has used; 0 where the system does not tell."""
    try:
        with open(f"/proc/{c.process.pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0]) / 1e9
    except OSError:
        return 0


def measure_requests(c, line, count):
    """One line per request: each follows a keystroke in `line` and its undoing."""
    document = {"textDocument": {"uri": URI}}
    place = {**document, "position": {"line": line, "character": count + 4}, "context": {"includeDeclaration": True}}
    for method in ("hover", "definition", "references", "completion", "documentSymbol", "codeLens", "formatting"):
        times, used = [], processor_time(c)
        for _ in range(count):
            c.notify("textDocument/didChange", {**document, "contentChanges": [edit(line, 0, 0, " "), edit(line, 0, 1, "")]})
            begin = time.monotonic()
            answer = c.request(f"textDocument/{method}", place)
            times.append(time.monotonic() - begin)
            assert answer is not None and (isinstance(answer, list) or "code" not in answer), (method, answer)
            c.others.clear()
        used = processor_time(c) - used
        print(f"{method} after a keystroke: median {percentile(times, 0.5):.1f} ms, 95 % within {percentile(times, 0.95):.1f} ms, {used / count * 1000:.1f} ms of processor time each")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file")
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--line", type=int)
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as f:
        text = f.read()
    lines = text.split("\n")
    middle = options.line or next(k for k in range(len(lines) // 2, len(lines)) if lines[k].startswith("  %"))
    c = Client(os.path.abspath(options.nvmini))
    c.open(text)
    c.diagnostics()
    keys, hovers = [], []
    for k in range(options.count):
        begin = time.monotonic()
        c.notify("textDocument/didChange", {"textDocument": {"uri": URI, "version": k + 2}, "contentChanges": [edit(middle, 0, 0, " ")]})
        while c.diagnostics()["version"] != k + 2:
            pass
        keys.append(time.monotonic() - begin)
        begin = time.monotonic()
        assert "type: " in c.at("hover", middle, k + 4)["contents"]["value"]
        hovers.append(time.monotonic() - begin)
    print(f"{len(text)} bytes, {options.count} keystrokes: to the diagnostics median {percentile(keys, 0.5):.1f} ms, 95 % within {percentile(keys, 0.95):.1f} ms; "
          f"to the hover {percentile(hovers, 0.5):.1f} ms, {percentile(hovers, 0.95):.1f} ms")
    measure_requests(c, middle, options.count)
    c.end()


if __name__ == "__main__":
    main()
