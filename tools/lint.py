#!/usr/bin/env python3
"""Checks what the house rules say and a compiler does not: `make lint`.

  layers      a folder includes only from the folders that stand below it
  globals     the library has no writable object
  exports     both libraries export nvmini_* and nothing else
  calls       the library calls nothing outside itself but what ALLOWED_CALLS lists
  lengths     no function is longer than 120 lines, unless it is one large switch (needs ctags)
  prototypes  every function in a header is explained by a comment
  recipes     what builds the product asks for no Python: a C compiler, make, re2c and bison do
  root        the root holds what people look for there, and no scratch files
  spelling    text files end in a newline, hold no tabs (but Makefile) and no trailing blanks

Usage: lint.py BUILD_FOLDER [CHECK...]. Prints what is wrong, then one line per check, then the sum.
"""
import os
import re
import shutil
import subprocess
import sys

# folder -> the folders it may include from (itself is always allowed)
LAYERS = {
    "support": [],
    "ir": ["support"],
    "target": ["support", "ir"],
    "ptx": ["support", "target"],
    "frontend": ["support", "ir", "target"],
    "analysis": ["support", "ir", "target"],
    "opt": ["support", "ir", "target", "analysis"],
    "codegen": ["support", "ir", "target", "ptx", "analysis"],
    "sim": ["support", "ir", "target", "ptx", "analysis"],
    "include": [],
    "api": ["support", "ir", "target", "analysis", "ptx", "frontend", "opt", "codegen", "sim", "include"],
    "driver": ["support", "ir", "target", "analysis", "ptx", "frontend", "opt", "codegen", "sim", "include", "api"],
}
LIBRARY = [folder for folder in LAYERS if folder not in ("include", "driver")]
# Headers that are included by name alone: those made by generators, and the public one.
HOME_OF = {
    "nvmini.h": "include", "parser.h": "frontend",
    "nvptx_tables.h": "target", "nvptx_tables.inc": "target",
    "intrinsics.h": "ir", "intrinsics.inc": "support",  # has parts for ir, ptx and codegen
    "combine.inc": "opt",
    "ptx_ops.h": "ptx", "ptx_ops.inc": "ptx", "ptx_parser.h": "ptx",
}
# Memory, strings, arithmetic: nothing that prints, exits, opens, depends on the locale or keeps
# state. malloc and its kin are only in the default allocator of support/arena.c; qsort is stable on
# some systems and not on others, so that what it sorts must have no equal keys. clock_gettime is
# --time-passes: nothing else may depend on it.
ALLOWED_CALLS = set("""
    memcpy memmove memset memcmp memchr strlen strcmp strncmp strchr strrchr strstr strspn strcspn
    strnlen realloc free malloc _GLOBAL_OFFSET_TABLE_ __stack_chk_fail __popcountdi2 __udivti3
    __umodti3 __divti3 __modti3 __udivmodti4 __divmodti4 __memcpy_chk __memmove_chk __memset_chk
    ldexp frexp fma fmaf sqrt sqrtf
    qsort clock_gettime
""".split())
# What compilers call for 128-bit integers and narrow floats; in their own run-time library.
COMPILER_CALLS = re.compile(r"__(float|fix|extend|trunc)\w*")
LONGEST_FUNCTION = 120  # lines
LARGE_SWITCH = 20       # cases that excuse a longer one


def sources(folders, endings):
    for folder in folders:
        for base, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.join(base, name)


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().split("\n")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check_layers(_build):
    for path in sources(LAYERS, (".c", ".h", ".def", ".re", ".y")):
        folder = path.split("/")[0]
        for number, line in enumerate(lines_of(path), 1):
            include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not include:
                continue
            name = include.group(1)
            home = name.split("/")[0] if "/" in name else HOME_OF.get(name)
            if home is None:
                yield f'{path}:{number}: "{name}" is written without its folder'
            elif home != folder and home not in LAYERS[folder]:
                yield f"{path}:{number}: {folder}/ must not include from {home}/"


def symbols(library, *options):
    """(name, type letter, section) of each symbol; the section is '' where nm has none."""
    for line in run("nm", "-f", "sysv", *options, library).split("\n"):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 7:
            yield cells[0], cells[2], cells[6]


def check_globals(build):
    for name, letter, section in symbols(f"{build}/libnvmini.a"):
        writable = section.startswith((".data", ".bss", ".tbss", ".tdata", "*COM*"))
        if (writable or letter == "C") and not section.startswith(".data.rel.ro") and name != section:
            yield f"libnvmini.a: '{name}' is writable ({section or letter})"


def check_exports(build):
    for library, options in (("libnvmini.a", ["--extern-only"]), ("libnvmini.so", ["-D"])):
        names = [name for name, _, _ in symbols(f"{build}/{library}", "--defined-only", *options)]
        yield from (f"{library}: exports '{n}'" for n in names if not n.startswith("nvmini_"))
        if not names:
            yield f"{library}: exports nothing"


def check_calls(build):
    for name, letter, _ in symbols(f"{build}/libnvmini.a", "--undefined-only"):
        if letter == "U" and name not in ALLOWED_CALLS and not COMPILER_CALLS.fullmatch(name):
            yield f"libnvmini.a: calls '{name}'"


def check_lengths(_build):
    if shutil.which("ctags") is None:
        print("lint lengths: ctags is not installed; not checked")
        return
    files = list(sources(LAYERS, (".c",)))
    found = run("ctags", "-x", "--c-kinds=f", "--fields=+ne", "--_xformat=%F\t%n\t%N\t%{end}", *files)
    for row in found.splitlines():
        path, first, name, last = row.split("\t")
        if not last.isdigit() or int(last) - int(first) < LONGEST_FUNCTION:
            continue
        body = "\n".join(lines_of(path)[int(first) - 1:int(last)])
        if len(re.findall(r"\bcase\b", body)) < LARGE_SWITCH:
            yield f"{path}:{first}: {name} has {int(last) - int(first) + 1} lines"


PROTOTYPE = re.compile(r"^(?!typedef\b|static\b|extern\b|struct \w+ \{|enum \w+ \{)[a-z_A-Z][\w\s*]*?[\s*]\**(\w+)\([^{]*$")


def check_prototypes(_build):
    for path in sources(LIBRARY + ["include", "driver"], (".h",)):
        explained, in_comment = False, False
        for number, line in enumerate(lines_of(path), 1):
            if line.strip() == "":
                explained = False
            if "/*" in line:
                in_comment, explained = True, True
            if "*/" in line:
                in_comment = False
            if in_comment or explained or not PROTOTYPE.match(line) or line.startswith(("#", " ")):
                continue
            yield f"{path}:{number}: {PROTOTYPE.match(line).group(1)} has no comment"


def check_recipes(_build):
    for line in run("make", "--always-make", "--dry-run", "V=1", "all", "demo").splitlines():
        if "python" in line.lower() or re.search(r"[.]py\b", line):
            yield f"make: {line.strip()}"


def tracked():
    return run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()


def check_root(_build):
    for name in tracked():
        if "/" not in name and name not in ("LICENSE", "Makefile", "README.md") and not name.startswith("."):
            yield f"{name}: what is it here for?"


def check_spelling(_build):
    for path in tracked():
        if not path.endswith((".c", ".h", ".def", ".re", ".y", ".py", ".sh", ".md", ".rules")):
            continue
        if not os.path.isfile(path):
            continue
        lines = lines_of(path)
        if lines[-1] != "":
            yield f"{path}: no newline at the end"
        for number, line in enumerate(lines, 1):
            if "\t" in line and not path.endswith((".md", ".py", ".sh")):
                yield f"{path}:{number}: a tab"
            if line != line.rstrip():
                yield f"{path}:{number}: blanks at the end"


CHECKS = {
    "layers": check_layers, "globals": check_globals, "exports": check_exports,
    "calls": check_calls, "lengths": check_lengths, "prototypes": check_prototypes,
    "recipes": check_recipes, "root": check_root, "spelling": check_spelling,
}


def main():
    build, chosen = sys.argv[1], sys.argv[2:] or list(CHECKS)
    failed = 0
    for name in chosen:
        faults = list(CHECKS[name](build))
        for fault in faults:
            print(fault)
        failed += bool(faults)
        print(f"lint {name}: {len(faults)} faults" if faults else f"lint {name}: ok")
    print(f"lint: {len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
