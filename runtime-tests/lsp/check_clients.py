#!/usr/bin/env python3
"""Sessions of real clients with `nvmini lsp`: Neovim's own client, and that of pytest-lsp (pygls).

    check_clients.py [--nvmini PATH]

A client that is not installed is skipped with a word. Prints a line per failure, then
`clients: N passed, N failed[, N skipped]`.
"""
import argparse
import asyncio
import os
import shutil
import subprocess
import tempfile

from check_lsp import RACE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = [  # of neovim.lua, in order; a text that the value contains
    ("initialized", "true"), ("hover", "range: 0 to 6"), ("definition", "4"), ("symbols", "all"), ("lenses", "run explain"),
    ("diagnostics", "1"), ("message", "undefined value '%tt'"), ("diagnostics", "0"), ("formatted", "  %even = and i32 %t, 6"),
    ("renamed", "store i32 %masked"), ("finding", "5"), ("stopped", "true")]


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def expect(self, name, good, shown):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"{name}: {shown}")


def check_neovim(count, nvmini):
    if not shutil.which("nvim"):
        print("skipped: Neovim is not installed")
        count.skipped += 1
        return
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/kernel.nvir", "w", encoding="utf-8") as f:
            f.write(RACE)
        done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-n", "kernel.nvir", "-c", f"luafile {HERE}/neovim.lua"], cwd=folder,
                              env={**os.environ, "NVMINI": nvmini, "HOME": folder}, text=True, capture_output=True, timeout=200)
    lines = [line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line]
    for k, (name, text) in enumerate(EXPECTED):
        found = lines[k] if k < len(lines) else ["", done.stderr[-500:]]
        count.expect(f"neovim, {name}", found[0] == name and text in found[1], found)


async def session(count, nvmini):
    from lsprotocol import types  # a dependency of pytest-lsp
    from pytest_lsp import make_test_lsp_client

    client, uri = make_test_lsp_client(), "file:///kernel.nvir"
    await client.start_io(nvmini, "lsp")
    await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "nvir", 1, RACE)))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    document = types.TextDocumentIdentifier(uri)
    count.expect("pygls, no diagnostics", not client.diagnostics[uri], client.diagnostics)
    hover = await client.text_document_hover_async(types.HoverParams(document, types.Position(4, 3)))
    count.expect("pygls, hover", "range: 0 to 6" in hover.contents.value, hover)
    items = await client.text_document_completion_async(types.CompletionParams(document, types.Position(5, 14)))
    count.expect("pygls, completion", "%even" in [i.label for i in items.items], items)
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
    count.expect("pygls, lenses", [x.command.title for x in lenses] == ["run", "explain"], lenses)
    command = lenses[0].command
    await client.workspace_execute_command_async(types.ExecuteCommandParams(command.command, command.arguments))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    found = client.diagnostics[uri]
    count.expect("pygls, a finding", len(found) == 1 and found[0].source == "nvmini run" and found[0].range.start.line == 5, found)
    await client.shutdown_session()
    await client.stop()


def check_pygls(count, nvmini):
    try:
        import pytest_lsp  # noqa: F401
    except ImportError:
        print("skipped: pytest-lsp is not installed")
        count.skipped += 1
        return
    asyncio.run(asyncio.wait_for(session(count, nvmini), 100))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    nvmini, count = os.path.abspath(parser.parse_args().nvmini), Count()
    for check in (check_neovim, check_pygls):
        try:
            check(count, nvmini)
        except Exception as error:  # of a client
            count.expect(check.__name__, False, f"{type(error).__name__}: {error}")
    print(f"clients: {count.passed} passed, {count.failed} failed" + (f", {count.skipped} skipped" if count.skipped else ""))
    return 1 if count.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
