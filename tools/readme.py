#!/usr/bin/env python3
"""Checks that README.md and the documents are true, or with --update makes them so.

  examples   a fenced block whose first line is `$ COMMAND`: the rest is what that command prints
  contents   the list of headings between `<!-- contents -->` and `<!-- end -->`
  links      files and headings that links name exist
  names      files and functions that architecture.md, extending.md, tour.md and the course name exist
  folders    the table of README.md names every folder
  departures docs/departures.md is what departures.py makes of its table

Prints what is wrong; closes with `readme: N passed, N failed`.
"""
import difflib
import glob
import os
import re
import subprocess
import sys

import departures

EXAMPLE = re.compile(r"^```\n\$ ([^\n]*)\n(.*?)^```$", re.M | re.S)
CONTENTS = re.compile(r"<!-- contents -->\n.*?<!-- end -->", re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def pages():
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], text=True,
                             stdout=subprocess.PIPE, check=True).stdout.split()
    return [page for page in tracked if os.path.isfile(page)]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def printed(command):
    return subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False).stdout


def slug(heading):
    """The name that a heading has in links."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(text):
    return re.findall(r"^(##+) (.*)$", FENCED.sub("", text), re.M)


def contents(text):
    """The list of headings: parts, and below them their sections if the page has any."""
    lines = [f"{'  ' * (len(level) - 2)}- [{title}](#{slug(title)})" for level, title in headings(text) if len(level) < 4]
    return "<!-- contents -->\n" + "\n".join(lines) + "\n<!-- end -->"


def updated(text):
    text = EXAMPLE.sub(lambda m: f"```\n$ {m.group(1)}\n{printed(m.group(1))}```", text)
    return CONTENTS.sub(lambda _: contents(text), text)


def check_example(page, match):
    faults = list(difflib.unified_diff(match.group(2).splitlines(), printed(match.group(1)).splitlines(),
                                       page, match.group(1), lineterm=""))
    print("\n".join(faults), end="\n" if faults else "")
    return not faults


def check_contents(page, text):
    found = CONTENTS.search(text)
    if found and found.group(0) != contents(text):
        print(f"{page}: the list of contents is not that of its headings; `make update-golden` makes it so")
        return False
    return True


def check_links(page, text):
    good = True
    for target in re.findall(r"\]\(([^)#\s]*(?:#[^)\s]*)?)\)", FENCED.sub("", text)):
        path, _, anchor = target.partition("#")
        if re.match(r"\w+:", path):
            continue
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        known = os.path.exists(path) and (not anchor or anchor in {slug(title) for _, title in headings(read(path))})
        if not known:
            print(f"{page}: the link '{target}' leads nowhere")
            good = False
    return good


def check_names(page, text):
    """Files in backquotes are relative to the root; functions are those with `()`."""
    prose, good = FENCED.sub("", text), True
    for name in re.findall(r"`([\w./-]+\.(?:c|h|y|re|def|rules|py|sh|nvir|md))`", prose):
        if "/" in name and not os.path.exists(name):
            print(f"{page}: there is no file '{name}'")
            good = False
    functions = set(re.findall(r"`(\w+)\(\)`", prose))
    if functions:
        found = subprocess.run(["git", "grep", "-ohE", r"\b(" + "|".join(functions) + r")\(", "--", "*.c", "*.h", "*.y"],
                               text=True, stdout=subprocess.PIPE, check=False).stdout
        for name in sorted(functions - {line.rstrip("(") for line in found.split()}):
            print(f"{page}: there is no function '{name}'")
            good = False
    return good


def check_folders():
    named = set(re.findall(r"`([\w-]+)/`", "".join(re.findall(r"^\|[^|]*\|", read("README.md"), re.M))))
    tracked = subprocess.run(["git", "ls-files"], text=True, stdout=subprocess.PIPE, check=True).stdout
    real = {path.split("/")[0] for path in tracked.splitlines() if "/" in path and path[0] != "."}
    for folder in sorted(real - named):
        print(f"README.md: folder {folder}/ is not named")
    return real <= named


def check_departures(update):
    """With update, writes the page first."""
    try:
        page = departures.page()
    except ValueError as fault:
        print(fault)
        return False
    if update:
        with open(departures.PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    elif read(departures.PAGE) != page:
        print("docs/departures.md is not what its table says; `make update-golden` makes it so")
        return False
    return True


def main():
    results = [check_folders(), check_departures("--update" in sys.argv)]
    for page in pages():
        text = read(page)
        if "--update" in sys.argv and updated(text) != text:
            text = updated(text)
            with open(page, "w", encoding="utf-8") as file:
                file.write(text)
        results += [check_example(page, match) for match in EXAMPLE.finditer(text)]
        results += [check_contents(page, text), check_links(page, text)]
        if page in ("docs/architecture.md", "docs/extending.md", "docs/tour.md") or page.startswith("docs/course/"):
            results.append(check_names(page, text))
    print(f"readme: {results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
