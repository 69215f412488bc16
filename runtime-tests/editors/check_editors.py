#!/usr/bin/env python3
"""Tests the syntax descriptions of `nvmini help --vim-syntax`, `--textmate` and `--tree-sitter`.

    check_editors.py [--nvmini PATH]

Vim, where it is installed, shows which group it gives to words of a line; the TextMate grammar's
patterns are tried in its order. Every op of the language is a keyword in both. Prints a line per
failure, then `N passed, N failed[, N skipped]`.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Language, line, and for some of its words the Vim group and the TextMate scope.
LINES = [
    ("nvir", '  %sum.2 = add nuw i32 %x, -42 ; a note "here"',
     [("%sum.2", "Local", "variable.other.nvir"), ("add", "Word1", "keyword.operator.instruction.nvir"),
      ("i32", "Integer", "storage.type.nvir"), ("42", "Number", "constant.numeric.nvir"),
      ("note", "Comment", "comment.line.semicolon.nvir")]),
    ("nvir", "define ptx_kernel void @add(ptr nocapture %p) #0 {",
     [("define", "Word4", "keyword.other.nvir"), ("@add", "Global", "entity.name.function.nvir"),
      ("void", "Word2", "storage.type.nvir"), ("nocapture", "Word3", "storage.modifier.nvir"),
      ("#0", "Metadata", "constant.other.metadata.nvir")]),
    ("nvir", 'source_filename = "add ; no comment"', [("add", "String", "string.quoted.double.nvir")]),
    ("nvir", "for.add:", [("for.add", "Label", "entity.name.label.nvir")]),
    ("nvir", "  %add = select i1 true, float 0x3FF0000000000000, float undef",
     [("%add", "Local", "variable.other.nvir"), ("true", "Word0", "constant.language.nvir"),
      ("0x3FF", "Number", "constant.numeric.nvir"), ("undef", "Word0", "constant.language.nvir")]),
    ("ptx", "\t@!%p1 ld.global.f32 \t%f1, [%rd1+16]; // add",
     [("@!%p1", "Guard", "keyword.control.guard.ptx"), ("ld", "Word1", "keyword.operator.instruction.ptx"),
      (".global", "Modifier", "storage.modifier.ptx"), (".f32", "Type", "storage.type.ptx"),
      ("%f1", "Register", "variable.other.ptx"), ("16", "Number", "constant.numeric.ptx"),
      ("add", "Comment", "comment.line.double-slash.ptx")]),
    ("ptx", "$L__2:", [("$L__2", "Label", "entity.name.label.ptx")]),
]


class Tests:
    def __init__(self, nvmini):
        self.nvmini, self.passed, self.failed, self.skipped = nvmini, 0, 0, 0

    def run(self, *arguments):
        return subprocess.run([self.nvmini, *arguments], text=True, capture_output=True)

    def expect(self, what, found, wanted):
        if found == wanted:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{what}: {found!r} instead of {wanted!r}")


def scopes(grammar, line):
    """The scope of each character: the first pattern that matches at the earliest place takes its text."""
    found, at = [None] * len(line), 0
    while at < len(line):
        best = None
        for pattern in grammar["patterns"]:
            whole = pattern.get("match") or f"{pattern['begin']}.*?{pattern['end']}"
            match = re.compile(whole).search(line, at)
            if match and match.end() > match.start() and (best is None or match.start() < best[0].start()):
                best = (match, pattern["name"])
        if best is None:
            break
        for k in range(best[0].start(), best[0].end()):
            found[k] = best[1]
        at = best[0].end()
    return found


def vim_groups(nvmini, language, line, columns):
    with tempfile.TemporaryDirectory() as folder:
        syntax = subprocess.run([nvmini, "help", f"--vim-syntax={language}"], text=True, capture_output=True).stdout
        with open(f"{folder}/syntax.vim", "w", encoding="utf-8") as f:
            f.write(syntax)
        with open(f"{folder}/text", "w", encoding="utf-8") as f:
            f.write(line + "\n")
        ask = [f"call writefile([synIDattr(synID(1, {c + 1}, 1), 'name')], '{folder}/out', 'a')" for c in columns]
        commands = ["syntax on", f"edit {folder}/text", f"source {folder}/syntax.vim", *ask, "qa!"]
        with open(f"{folder}/commands.vim", "w", encoding="utf-8") as f:
            f.write("\n".join(commands) + "\n")
        subprocess.run(["vim", "-u", "NONE", "-N", "-n", "-es", "-S", f"{folder}/commands.vim"], timeout=60,
                       stdin=subprocess.DEVNULL, capture_output=True)
        if not os.path.exists(f"{folder}/out"):
            return ["vim wrote nothing"] * len(columns)
        with open(f"{folder}/out", encoding="utf-8") as f:
            return f.read().split("\n")[:-1]


TREE_WORDS = {  # of samples/reduction.nvir, and of its PTX
    "nvir": [("keyword", "define"), ("operation", "load"), ("integer_type", "i32"), ("local", "%tid"), ("builtin_type", "float"),
             ("label", "entry:"), ("operation", "br")],
    "ptx": [("operation", "mov"), ("modifier", ".visible"), ("type", ".u32"), ("number", "4"), ("operation", "bra")]}


def check_tree_sitter(tests):
    """The grammars as JavaScript, whose rules divide the samples and their PTX into tokens."""
    if not shutil.which("node"):
        print("skipped: Node.js, which executes the grammars of tree-sitter, is not installed")
        tests.skipped += 1
        return
    samples = sorted(glob.glob(f"{ROOT}/samples/*.nvir"))
    with tempfile.TemporaryDirectory() as folder:
        for language in ("nvir", "ptx"):
            with open(f"{folder}/grammar.js", "w", encoding="utf-8") as f:
                f.write(tests.run("help", f"--tree-sitter={language}").stdout)
            files = samples
            if language == "ptx":
                files = [f"{folder}/{os.path.basename(sample)}.ptx" for sample in samples]
                for sample, ptx in zip(samples, files):
                    tests.run("compile", sample, "--cpu", "sm_90a", "-o", ptx)
            done = subprocess.run(["node", f"{ROOT}/runtime-tests/editors/tree_sitter.js", f"{folder}/grammar.js", *files],
                                  text=True, capture_output=True, timeout=100)
            tests.expect(f"tree-sitter, {language}: all samples are tokens {done.stderr[-300:]}", done.returncode, 0)
            found = json.loads(done.stdout or "[]")
            here = [tuple(token) for token in found[[k for k, f in enumerate(files) if "reduction" in f][0]]] if found else []
            for word in TREE_WORDS[language]:
                tests.expect(f"tree-sitter, {language}: {word}", word in here, True)
            odd = {text for tokens in found for kind, text in tokens if kind == "punctuation" and text.isalnum()}
            tests.expect(f"tree-sitter, {language}: letters and digits are in words", odd, set())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    tests = Tests(parser.parse_args().nvmini)
    has_vim = shutil.which("vim") and "+syntax" in subprocess.run(["vim", "--version"], text=True, capture_output=True).stdout
    grammars = {name: json.loads(tests.run("help", f"--textmate={name}").stdout) for name in ("nvir", "ptx")}
    for language, line, words in LINES:
        columns = [line.rindex(word) if word == "add" else line.index(word) for word, _, _ in words]
        if line.lstrip().startswith("%sum.2"):
            columns[1] = line.index("add")
        found = scopes(grammars[language], line)
        for (word, _, scope), column in zip(words, columns):
            tests.expect(f"TextMate, {language}, {word} in {line!r}", found[column], scope)
        if not has_vim:
            tests.skipped += len(words)
            continue
        for (word, group, _), shown in zip(words, vim_groups(tests.nvmini, language, line, columns)):
            tests.expect(f"Vim, {language}, {word} in {line!r}", shown, language + group)
    vim = set(re.search(r"(?m)^syntax keyword nvirWord1(.*)$", tests.run("help", "--vim-syntax=nvir").stdout)[1].split())
    for op in {line.split()[0] for line in tests.run("ops").stdout.splitlines() if line and line[0].isalpha()}:
        tests.expect(f"TextMate, op {op}", scopes(grammars["nvir"], f"  {op} ")[2], "keyword.operator.instruction.nvir")
        tests.expect(f"Vim has op {op}", op in vim, True)
    tests.expect("an unknown language is refused", tests.run("help", "--vim-syntax=c").returncode, 2)
    check_tree_sitter(tests)
    print(f"{tests.passed} passed, {tests.failed} failed" + (f", {tests.skipped} skipped" if tests.skipped else ""))
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
