#!/usr/bin/env python3
"""Checks what the house rules say and a compiler does not: `make lint`.

  layers      a folder includes only from the folders that stand below it
  globals     the library has no writable object
  exports     both libraries export nvmini_* and nothing else, libnvvm.so.4 what compat/nvvm.h declares
  calls       the library calls nothing outside itself but what ALLOWED_CALLS lists
  lengths     no function is longer than 70 lines (needs ctags), and no file than 700
  columns     C and grammars have at most 100 columns, rows of tables at most 140
  names       an external function's name begins with its file's or its folder's (NAMED_AT_LEAST, %)
  statics     an external function is used by another file, or by a unit test as well as its own file
  circles     files of one folder do not call each other in circles (CIRCLE_AT_MOST files)
  includes    no large header is included for a single name, unless it is a struct
  prototypes  every function in a header is explained by a comment
  headings    the sections of a file's header comment (Purpose, Cost, ...) begin lines
  recipes     what builds the product asks for no Python: a C compiler, make, re2c and bison do
  root        the root holds what people look for there, and no scratch files
  spelling    text files end in a newline, hold no tabs (but Makefile) and no trailing blanks

Usage: lint.py BUILD_FOLDER [--verbose] [CHECK...]. Prints what is wrong, then one line per check, then the sum.
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
    "mathlib": ["support", "ir", "frontend"],
    "api": ["support", "ir", "target", "analysis", "ptx", "frontend", "mathlib", "opt", "codegen", "sim", "include"],
    "compat": ["support", "ir", "target", "frontend", "api", "include"],
    "driver": ["support", "ir", "target", "analysis", "ptx", "frontend", "mathlib", "opt", "codegen", "sim", "include", "api"],
}
LIBRARY = [folder for folder in LAYERS if folder not in ("include", "compat", "driver")]
# Headers that are included by name alone: those made by generators, and the public one.
FOLDER_OF = {
    "nvmini.h": "include", "parser.h": "frontend",
    "nvptx_tables.h": "target", "nvptx_tables.inc": "target",
    "intrinsics.h": "ir", "intrinsics.inc": "support",  # has parts for ir, ptx and codegen
    "combine.inc": "opt", "mathlib.inc": "mathlib",
    "identity.h": "driver", "explain_page.inc": "driver", "reference.inc": "driver", "course.inc": "driver", "serve_page.inc": "driver", "serve_samples.inc": "driver", "ptx_ops.h": "ptx", "ptx_ops.inc": "ptx", "ptx_parser.h": "ptx",
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
LONGEST_FUNCTION = 70  # lines
LONGEST_FILE = 700     # lines
LARGE_HEADER = 50      # names
VERBOSE = "--verbose" in sys.argv


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
            included = name.split("/")[0] if "/" in name else FOLDER_OF.get(name)
            if included is None:
                yield f'{path}:{number}: "{name}" is written without its folder'
            elif included != folder and included not in LAYERS[folder]:
                yield f"{path}:{number}: {folder}/ must not include from {included}/"


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
    for path in sources(["compat"], (".c",)):
        for name, letter, section in symbols(f"{build}/obj/{path[:-2]}.o", "--defined-only"):
            if letter in "bBdDC" and not section.startswith(".data.rel.ro"):
                yield f"{path}: '{name}' is writable ({section or letter})"


def check_exports(build):
    for library, options in (("libnvmini.a", ["--extern-only"]), ("libnvmini.so", ["-D"])):
        names = [name for name, _, _ in symbols(f"{build}/{library}", "--defined-only", *options)]
        yield from (f"{library}: exports '{n}'" for n in names if not n.startswith("nvmini_"))
        if not names:
            yield f"{library}: exports nothing"
    wanted = re.findall(r"^NVVM_API .*?(nvvm\w+)\(", "\n".join(lines_of("compat/nvvm.h")), re.M)
    found = [name for name, _, _ in symbols(f"{build}/compat/libnvvm.so.4", "--defined-only", "-D")]
    yield from (f"libnvvm.so.4: '{n}' is exported or declared only" for n in set(wanted) ^ set(found))


def check_calls(build):
    for name, letter, _ in symbols(f"{build}/libnvmini.a", "--undefined-only"):
        if letter == "U" and name not in ALLOWED_CALLS and not COMPILER_CALLS.fullmatch(name):
            yield f"libnvmini.a: calls '{name}'"


def check_lengths(_build):
    for path in sources(LAYERS, (".c", ".h", ".re", ".y")):
        if len(lines_of(path)) > LONGEST_FILE:
            yield f"{path}: {len(lines_of(path))} lines"
    if shutil.which("ctags") is None:
        print("lint lengths: ctags is not installed; not checked")
        return
    files = list(sources(LAYERS, (".c",)))
    found = run("ctags", "-x", "--c-kinds=f", "--fields=+ne", "--_xformat=%F\t%n\t%N\t%{end}", *files)
    for row in found.splitlines():
        path, first, name, last = row.split("\t")
        if last.isdigit() and int(last) - int(first) >= LONGEST_FUNCTION:
            yield f"{path}:{first}: {name} has {int(last) - int(first) + 1} lines"


COLUMNS = {".c": 100, ".h": 100, ".y": 100, ".re": 100, ".rules": 100, ".def": 140}  # words of 80 and more cannot be broken


def check_columns(_build):
    for path in tracked():
        limit = COLUMNS.get(os.path.splitext(path)[1])
        if limit is None or not os.path.isfile(path):
            continue
        for number, line in enumerate(lines_of(path), 1):
            if len(line) > limit and max(map(len, line.split())) < 80:
                yield f"{path}:{number}: {len(line)} columns, more than {limit}"


# Folder -> least share of external functions, in percent, whose name begins with the name of their
# file, of its first word, or of their folder. These only grow.
NAMED_AT_LEAST = {"support": 90, "ir": 60, "target": 45, "analysis": 95, "opt": 75, "codegen": 95, "sim": 95, "ptx": 98,
                  "frontend": 95}
# Folder -> most files in one circle of calls. These only shrink.
CIRCLE_AT_MOST = {"codegen": 2, "sim": 1}


def object_symbols(build, folder):
    """(source path, functions it defines for others, all it defines, what it needs) of each object of a folder."""
    objects = {f"{build}/obj/{path[:-2]}.o": path for path in sources([folder], (".c",))}
    objects = {made: path for made, path in objects.items() if os.path.exists(made)}
    found = {made: (set(), set(), set()) for made in objects}
    for line in run("nm", "-A", "-f", "posix", "--extern-only", *objects).splitlines() if objects else ():
        made, name, letter = line.split()[:3]
        functions, defined, needed = found[made.rstrip(":")]
        if letter == "U":
            needed.add(name)
        else:
            defined.add(name)
            if letter == "T":
                functions.add(name)
    for made, sets in found.items():
        yield objects[made], *sets


def is_named_after(function, path):
    """A name begins with its file's name, the file's first or last word, or the name of the folder, singular or plural."""
    stem, folder = os.path.basename(path)[:-2], os.path.basename(os.path.dirname(path))
    begins = {stem, stem.rstrip("s"), stem.split("_")[0], folder, folder.rstrip("s")}
    return any(function.startswith(b + "_") or function == b for b in begins)


def check_names(build):
    for folder, least in NAMED_AT_LEAST.items():
        named, strangers = 0, []
        for path, functions, _, _ in object_symbols(build, folder):
            for function in sorted(functions):
                if is_named_after(function, path):
                    named += 1
                else:
                    strangers.append(f"{path}: {function}")
        share = 100 * named // max(1, named + len(strangers))
        if VERBOSE:
            print(f"lint names: {folder}: {share} % of {named + len(strangers)}", *strangers, sep="\n  ")
        if share < least:
            yield f"{folder}/: {share} % of its external functions are named after their file, less than {least}"
            yield from strangers


# Interfaces for programs outside the command, which may leave some functions unused.
INTERFACES = ("api/", "target/", "sim/sim.c", "compat/nvvm.c")


def check_statics(build):
    objects = [row for folder in LIBRARY + ["compat", "driver"] for row in object_symbols(build, folder)]
    grammars = run("nm", "--undefined-only", *(f"{build}/obj/gen/{name}.o" for name in ("parser", "ptx_parser", "lexer", "ptx_lexer")))
    used = set(re.findall(r"\bU (\w+)", grammars)).union({"main"}, *(needed for _, _, _, needed in objects))
    tested = set(re.findall(r"\w+", "\n".join("\n".join(lines_of(p)) for p in sources(["runtime-tests"], (".c", ".h")))))
    for path, functions, _, _ in objects:
        for name in sorted(functions - used) if not path.startswith(INTERFACES) else ():
            if name not in tested:
                yield f"{path}: {name} is used by no other file: make it static"
            elif "\n".join(lines_of(path)).count(f"{name}(") < 2:
                yield f"{path}: {name} is used by tests only"


def circles(calls):
    """Strongly connected components of {file: set of files}, those of more than one file (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in sorted(calls[file]):
            if other not in number:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == number[file]:
            component = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(component) > 1:
                found.append(sorted(component))

    for file in sorted(calls):
        if file not in number:
            visit(file)
    return found


def check_circles(build):
    for folder, most in CIRCLE_AT_MOST.items():
        objects = list(object_symbols(build, folder))
        defined_in = {name: path for path, _, defined, _ in objects for name in defined}
        calls = {path: {defined_in[n] for n in needed if n in defined_in} - {path} for path, _, _, needed in objects}
        for circle in circles(calls):
            if VERBOSE:
                print(f"lint circles: {len(circle)} files: {' '.join(circle)}")
            if len(circle) > most:
                yield f"{folder}/: a circle of calls of {len(circle)} files, more than {most}: {' '.join(circle)}"


DECLARED = re.compile(r"^(?:#define (\w+)|(?:struct|enum|union) (\w+) \{|.*?(\w+)\(.*|.*\b(\w+);)$")


def declared_in(path):
    """Names that a header declares at its left margin, and its enumerators."""
    text = "\n".join(lines_of(path))
    names = {name for line in text.split("\n") if line and line[0] not in " /*#}" or line.startswith("#define")
             for name in (DECLARED.match(line).groups() if DECLARED.match(line) else ()) if name}
    return names | set(re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", text))


def check_includes(_build):
    declared = {}
    for path in sources(LAYERS, (".c", ".h")):
        text = "\n".join(lines_of(path))
        for name in re.findall(r'^#include "([^"]+/[^"]+[.]h)"', text, re.M):
            if not os.path.isfile(name) or name[:-2] == path[:-2]:
                continue
            if name not in declared:
                declared[name] = declared_in(name)
            if len(declared[name]) < LARGE_HEADER or re.search(r'^#include "\w+[.]inc"', "\n".join(lines_of(name)), re.M):
                continue
            used = declared[name] & set(re.findall(r"\w+", text))
            if len(used) == 1 and not re.search(rf"^struct ({'|'.join(used)}) {{", "\n".join(lines_of(name)), re.M):
                yield f"{path}: includes {name} ({len(declared[name])} names) for {''.join(used)}"


PROTOTYPE = re.compile(r"^(?!typedef\b|static\b|extern\b|struct \w+ \{|enum \w+ \{)[a-z_A-Z][\w\s*]*?[\s*]\**(\w+)\([^{]*$")


def check_prototypes(_build):
    for path in sources(LIBRARY + ["include", "compat", "driver"], (".h",)):
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


def check_headings(_build):
    for path in sources(LIBRARY, (".c",)):
        for number, line in enumerate(lines_of(path), 1):
            if re.search(r"\S.* (Purpose|Algorithm|Requires|Preserves|Cost|Omits|Tests): ", line.removeprefix(" *").removeprefix("/*")):
                yield f"{path}:{number}: a section inside a line of the header comment"
            if "*/" in line:
                break


def check_recipes(_build):
    for line in run("make", "--always-make", "--dry-run", "V=1", "all", "demo").splitlines():
        if "python" in line.lower() or re.search(r"[.]py\b", line):
            yield f"make: {line.strip()}"


def tracked():
    return run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()


def check_root(_build):
    for name in tracked():
        if "/" not in name and name not in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml") and not name.startswith("."):
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
    "calls": check_calls, "lengths": check_lengths, "columns": check_columns, "names": check_names, "statics": check_statics,
    "circles": check_circles, "includes": check_includes, "prototypes": check_prototypes, "headings": check_headings,
    "recipes": check_recipes, "root": check_root, "spelling": check_spelling,
}


def main():
    build, chosen = sys.argv[1], [a for a in sys.argv[2:] if a != "--verbose"] or list(CHECKS)
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
