#!/usr/bin/env python3
"""Tests the reference: `nvmini help --reference` and the examples of driver/reference/.

    check_reference.py [--nvmini PATH] [--update] [NAME...]

Every row of a table has an example (of PTX instructions: an explanation), or the text `none:` with the reason, and every section has its row.
Each command of an example (or of the sections named) is executed with its files, in a folder of its
own, and prints what the section says; --update writes what it prints into the section. The wrong
example of a diagnostic prints that diagnostic and the right one does not. All links of the pages resolve.
Prints a line per failure, then `N passed, N failed`.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Section:
    """A section of a file: for each command its files, side (wrong, right or none), and output."""

    def __init__(self, path, name):
        self.path, self.name, self.commands, self.reason = path, name, [], None
        self.files, self.side, self.open = {}, None, None

    def take(self, number, line):
        if line.startswith("file "):
            if self.commands and self.commands[-1]["files"] is self.files:
                self.files = {}
            self.open = line[5:]
            self.files[self.open] = b""
        elif self.open and line.startswith("    "):
            # A file may hold bytes that are not text: \xNN, in files whose name ends in .raw
            raw = line[4:].encode()
            if self.open.endswith(".raw"):
                raw = re.sub(rb"\\x(..)", lambda m: bytes([int(m[1], 16)]), raw)
            self.files[self.open] += raw + b"\n"
        elif self.open and not line:
            self.files[self.open] += b"\n"
        elif line.startswith("$ "):
            self.open = None
            self.commands.append({"text": line[2:], "files": self.files, "side": self.side, "line": number, "output": []})
        elif line.startswith("|") and self.commands and not self.open:
            self.commands[-1]["output"].append(line[2:])
        elif line in ("wrong", "right"):
            self.side, self.open, self.files = line, None, {}
        elif line.startswith("none: "):
            self.reason = line[6:]
        else:
            self.open = None


def sections(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    kind, found = lines[0].removeprefix("=== "), []
    for number, line in enumerate(lines[1:], 2):
        if line.startswith("== "):
            found.append(Section(path, line[3:]))
        elif found and not line.startswith("#"):
            found[-1].take(number, line)
    return kind, found


def rows(nvmini, kind):
    """The names of a table's rows."""
    if kind == "analyses":  # no command lists them
        with open(f"{ROOT}/driver/explain/analyses.c", encoding="utf-8") as file:
            return set(re.findall(r'^    \{\{"(\w+)", ', file.read(), re.M))
    text = subprocess.run([nvmini, kind], text=True, stdout=subprocess.PIPE, check=True).stdout
    return {line.split()[0] for line in text.splitlines() if not line.startswith(" ")}


def ptx_instructions():
    with open(f"{ROOT}/ptx/ops.def", encoding="utf-8") as file:
        return set(re.findall(r"(?<=[ ])[a-z0-9]+", " ".join(re.findall(r"^op( [a-z0-9 ]+) :", file.read(), re.M))))


def execute(nvmini, command, json_too):
    """The output of a command, and the ids of its diagnostics in JSON (None: it prints none)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in command["files"].items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        env = {**os.environ, "PATH": f"{os.path.dirname(nvmini)}:{os.environ['PATH']}", "LC_ALL": "C"}

        def run(text):
            done = subprocess.run(["bash", "-c", text], cwd=folder, env=env, stdin=subprocess.DEVNULL, timeout=120,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            return done.stdout.decode(errors="replace")
        lines = [line.rstrip() for line in run(command["text"]).splitlines()]
        ids = None
        if json_too and re.match(r"nvmini (compile|check|print|link) [^|]*$", command["text"]):
            objects = re.findall(r"^\{.*\}$", run(command["text"] + " --diagnostics json"), re.M)
            ids = {json.loads(line)["id"] for line in objects}
        return lines, ids


class Checker:
    def __init__(self, arguments):
        self.nvmini, self.update, self.only = os.path.abspath(arguments.nvmini), arguments.update, arguments.names
        self.passed = self.failed = 0
        text = subprocess.run([self.nvmini, "diagnostics"], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.messages = {line.split()[0]: line[38:] for line in text.splitlines()}

    def result(self, good, message):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(message)

    def is_printed(self, name, lines, ids):
        """Whether the diagnostic is among the output."""
        if ids is not None:
            return name in ids
        pattern = re.sub(r"%\d", ".*", re.escape(self.messages[name]).replace("\\%", "%"))
        return any(re.search(rf"(error|warning|note|remark): {pattern}", line) for line in lines)

    def check_command(self, kind, section, command):
        where = f"{os.path.relpath(section.path, ROOT)}:{command['line']}: {section.name}"
        lines, ids = execute(self.nvmini, command, kind == "diagnostics")
        if kind == "diagnostics":
            printed = self.is_printed(section.name, lines, ids)
            self.result(printed == (command["side"] == "wrong"),
                        f"{where}: the {command['side']} example prints {sorted(ids) if ids is not None else lines}")
        else:
            faults = [line for line in lines if re.search("(error|finding):|not found", line)]
            self.result(lines and not faults, f"{where}: the example is wrong: {faults}")
        if kind == "ops":
            self.result(any(section.name.encode() in text for text in command["files"].values()), f"{where}: not in its example")
        if kind == "passes":
            before, _ = execute(self.nvmini, {**command, "text": re.sub("compile (\\S+).*?\\|", r"print \1 |", command["text"])}, False)
            self.result(before and before != lines, f"{where}: the pass changes nothing in its example")
        if self.update:
            command["output"] = lines
        self.result(lines == command["output"], f"{where}: expected {command['output']}\n  printed {lines}")

    def check_section(self, kind, section):
        sides = {command["side"] for command in section.commands}
        wanted = {"wrong", "right"} if kind == "diagnostics" else {None}
        self.result(sides == wanted if section.commands else section.reason,
                    f"{os.path.relpath(section.path, ROOT)}: {section.name} lacks an example or its reason")
        for command in section.commands:
            self.check_command(kind, section, command)
        if kind == "knobs" and section.commands:
            without, given = section.commands
            self.result(f" --knob {section.name}=" in given["text"] and without["output"] != given["output"],
                        f"{os.path.relpath(section.path, ROOT)}: {section.name} changes nothing in its example")

    def check_file(self, path):
        kind, found = sections(path)
        names = [section.name for section in found]
        known = ptx_instructions() if kind == "ptx" else rows(self.nvmini, kind) - {"test-hide", "test-flow"}
        for name in sorted(set(names) - known):
            self.result(False, f"{path}: '{name}' is no row of `nvmini {kind}`")
        for name in sorted(known - set(names)):
            self.result(False, f"{path}: '{name}' of `nvmini {kind}` has no section")
        self.result(len(names) == len(set(names)), f"{path}: two sections have one name")
        for section in found if kind != "ptx" else ():
            if not self.only or section.name in self.only:
                self.check_section(kind, section)
        if self.update:
            write_outputs(path, found)

    def check_links(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "reference")
            subprocess.run([self.nvmini, "help", "--reference", folder], check=True)
            pages, anchors = {}, set()
            for path in glob.glob(f"{folder}/*.md"):
                with open(path, encoding="utf-8") as file:
                    name, text = os.path.basename(path), file.read()
                pages[name] = text
                anchors |= {name} | {f"{name}#{anchor}" for anchor in re.findall(r'<a id="([^"]*)">', text)}
            for name, text in sorted(pages.items()):
                links = set(re.findall(r"\]\(([^)\s]*)\)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)))
                lost = sorted(links - anchors)
                self.result(links and not lost, f"{name}: links without a target: {lost}")
            self.result(len(pages) == 8, f"pages: {sorted(pages)}")
            forms = pages["ptx.md"].split('<a id="add"></a>')[1].split("<a id=")[0]
            self.result("| `.rn? $bhalf` | `t <- t t @half` | sm_90 or later, PTX 7.8 |" in forms, f"forms of add: {forms}")
            self.result("`float (float, float)` | none | [`add`](ptx.md#add)" in pages["intrinsics.md"], "the row of an intrinsic")

    def check_failures(self):
        """A folder that cannot be created, or is a file, is an error that names it."""
        for folder in ("/dev/null/reference", "/dev/null"):
            done = subprocess.run([self.nvmini, "help", "--reference", folder], text=True, capture_output=True, check=False)
            self.result(done.returncode == 1 and "error:" in done.stderr and folder in done.stderr, f"no folder: {done}")


def write_outputs(path, found):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    outputs = {command["line"]: command["output"] for section in found for command in section.commands}
    kept = []
    for number, line in enumerate(lines, 1):
        if not line.startswith("|"):
            kept.append(line)
        kept += [f"| {text}".rstrip() for text in outputs.get(number, ())]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(kept))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    checker = Checker(parser.parse_args())
    for path in sorted(glob.glob(f"{ROOT}/driver/reference/*.txt")):
        checker.check_file(path)
    checker.check_links()
    checker.check_failures()
    print(f"reference: {checker.passed} passed, {checker.failed} failed")
    return 0 if checker.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
