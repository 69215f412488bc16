#!/usr/bin/env python3
"""Checks that README.md tells the truth, or with --update makes it so.

An example is a fenced block whose first line is `$ COMMAND`: the rest must be what that command
prints. The table of folders must name every folder that git knows.
Prints what is wrong; closes with `readme: N passed, N failed`.
"""
import difflib
import re
import subprocess
import sys

EXAMPLE = re.compile(r"^```\n\$ ([^\n]*)\n(.*?)^```$", re.M | re.S)


def printed(command):
    return subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False).stdout


def check_example(match):
    faults = list(difflib.unified_diff(match.group(2).splitlines(), printed(match.group(1)).splitlines(),
                                       "README.md", match.group(1), lineterm=""))
    print("\n".join(faults), end="\n" if faults else "")
    return not faults


def check_folders(text):
    named = set(re.findall(r"`([\w-]+)/`", "".join(re.findall(r"^\|[^|]*\|", text, re.M))))
    tracked = subprocess.run(["git", "ls-files"], text=True, stdout=subprocess.PIPE, check=True).stdout
    real = {path.split("/")[0] for path in tracked.splitlines() if "/" in path and path[0] != "."}
    for folder in sorted(real - named):
        print(f"README.md: folder {folder}/ is not named")
    return real <= named


def main():
    with open("README.md", encoding="utf-8") as f:
        text = f.read()
    if "--update" in sys.argv:
        text = EXAMPLE.sub(lambda m: f"```\n$ {m.group(1)}\n{printed(m.group(1))}```", text)
        with open("README.md", "w", encoding="utf-8") as f:
            f.write(text)
    results = [check_example(match) for match in EXAMPLE.finditer(text)] + [check_folders(text)]
    print(f"readme: {results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
