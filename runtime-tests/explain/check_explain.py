#!/usr/bin/env python3
"""Tests `nvmini explain`: the JSON against its schema and against what the other commands print.

    check_explain.py [--nvmini PATH] [MODULE...]     (default: all samples)

Per module and level: the JSON has the types of docs/explain.md; the PTX is that of `nvmini compile`,
line by line; each instruction is at its line of the last text; each operand names an argument, an
instruction or a block; each text is one that --print-after=* shows, apart from numbers; the page
holds the same JSON. Prints a line per failure, then `N passed, N failed`.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Types: a name, [type of elements], {member: type}; a member that ends in ? may be missing.
INDEX = int
BLOCK = {"name": str, "line": int, "insts": [int], "successors": [int], "dominator": INDEX, "loop": INDEX, "pressure": int}
LOOP = {"header": int, "parent": INDEX, "depth": int, "blocks": [int], "trip_count": str, "most?": int}
INST = {"line": int, "name": str, "type": str, "op": str, "operands": [str], "file?": int, "source?": int, "divergent": bool,
        "range?": str, "bits?": str, "scev?": str, "live": int, "registers?": [str]}
REMARK = {"kind": str, "pass": str, "name": str, "message": str, "file": str, "line": int, "column": int}
LINE = {"text": str, "ir?": int, "file?": INDEX, "line?": int}
COUNTS = {"line": int, "warps": int, "threads": int, "diverged": int, "bytes": int, "sectors": int, "conflicts": int}
RUN = {"kernel": str, "grid": [int], "block": [int], "finding": str, "counts": dict, "lines": [COUNTS],
       "trace": [{"line": int, "text": str}]}
COSTS = {"loops": [{"loop": int, "depth": int, "inside?": int, "PTX_lines": str, "label": str, "function": str}],
         "classes": [{"loop": int, "class": str, "access?": str, "PTX": int, "machine": int, "unit": str, "unit_cycles?": int,
                      "bytes_of_a_thread?": int, "function": str}],
         "units": [{"loop": int, "issue": int, "alu": int, "fma": int, "f64": int, "xu": int, "lsu": int, "branch": int, "function": str}],
         "bounds": [{"loop": int, "PTX": int, "machine": int, "throughput": int, "busiest": str, "carried_chain?": int,
                     "of_iterations?": int, "one_warp?": int, "warps_to_hide_it?": int, "limit?": str, "function": str}],
         "chains": [{"loop": int, "latency": int, "PTX_line": int, "instruction": str, "function": str}]}
FUNCTION = {"name": str, "kernel": bool, "begin": int, "end": int, "texts": [[int]], "lines": [str],
            "steps": [{"pass": str, "text": int}], "final": int, "input_lines": [[int]], "blocks": [BLOCK], "loops": [LOOP], "insts": [INST],
            "remarks": [REMARK], "plans": [str], "ptx": [LINE], "ptx_begin": int,
            "registers": [{"type": str, "count": int}], "costs?": COSTS,
            "occupancy?": [{"registers": int, "blocks": int, "warps": int, "limit": str}], "threads?": int, "shared?": int,
            "run?": RUN}
ENTRY = {"name": str, "meaning": str, "text": str, "example": str}
REPORT = {"format": int, "version": str, "file": str, "cpu": str, "level": str, "source": str,
          "files": [{"name": str, "text": str}], "functions": [FUNCTION],
          "reference": {"passes": [ENTRY], "ops": [ENTRY], "ptx": [ENTRY], "knobs": [{**ENTRY, "passes": [str]}], "intrinsics": [ENTRY],
                        "diagnostics": [ENTRY], "analyses": [ENTRY]},
          "diagnostics": [{"id": str, "severity": str, "message": str, "line": int}]}


def type_faults(value, wanted, path):
    """What in `value` is not of the type, as lines."""
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [f"{path}: not an array"]
        return [fault for k, v in enumerate(value) for fault in type_faults(v, wanted[0], f"{path}[{k}]")]
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return [f"{path}: not an object"]
        names = {name.rstrip("?"): t for name, t in wanted.items()}
        faults = [f"{path}.{name}: missing" for name in wanted if not name.endswith("?") and name not in value]
        faults += [f"{path}.{name}: not documented" for name in value if name not in names]
        return faults + [f for name in value if name in names for f in type_faults(value[name], names[name], f"{path}.{name}")]
    return [] if type(value) is wanted else [f"{path}: {value!r} is not of type {wanted.__name__}"]


def text_of(function, index):
    return [function["lines"][k] for k in function["texts"][index]]


def without_numbers(lines):
    """A text without the names of unnamed values, quotes of names, and the numbers of copied blocks."""
    text = re.sub(r'%"?[\w.$-]+"?', "%", "\n".join(lines))
    return re.sub(r'(?m)^"?[\w.$-]+"?:$', ":", text).strip()


class Module:
    def __init__(self, nvmini, path, level, folder):
        self.nvmini, self.path, self.level, self.folder, self.faults = nvmini, path, level, folder, []
        self.json, self.html = f"{folder}/report.json", f"{folder}/report.html"

    def run(self, *arguments):
        return subprocess.run([self.nvmini, *arguments], text=True, capture_output=True)

    def explain(self, *arguments):
        r = self.run("explain", self.path, self.level, *arguments)
        if r.returncode:
            self.faults.append(f"exit status {r.returncode}: {r.stderr.strip()}")
        return r.returncode == 0

    def check(self):
        if not self.explain("--format", "json", "-o", self.json) or not self.explain("-o", self.html):
            return
        with open(self.json, encoding="utf-8") as f:
            report = json.load(f)
        self.faults += type_faults(report, REPORT, "report")[:5]
        r = self.run("compile", self.path, self.level, "--cpu", report["cpu"], "--print-after=*", "-o", f"{self.folder}/out.ptx")
        with open(f"{self.folder}/out.ptx", encoding="utf-8") as f:
            ptx = f.read().split("\n")
        dumps = {without_numbers(dump.split("\n")) for dump in re.findall(r"(?ms)^define .*?^}$", r.stderr)}
        changes = self.run("explain", self.path, self.level, "--format", "diff", "-o", "-").stdout.split("\n")
        for function in report["functions"]:
            self.check_function(function, ptx, dumps)
            self.check_changes(function, changes)
        self.check_page(report)

    def fault(self, function, message):
        self.faults.append(f"@{function['name']}: {message}")

    def check_function(self, f, ptx, dumps):
        begin = f["ptx_begin"] - 1
        if [line["text"] for line in f["ptx"]] != ptx[begin:begin + len(f["ptx"])]:
            self.fault(f, "its PTX is not that of `nvmini compile`")
        final = text_of(f, f["final"])
        names = set(re.findall(r'%(?:"[^"]*"|[\w.$-]+)', final[0])) | {i["name"] for i in f["insts"]}
        names |= {"%" + b["name"] for b in f["blocks"]} | {f'%"{b["name"]}"' for b in f["blocks"]}
        for inst in f["insts"]:
            line = final[inst["line"] - 1].strip()
            if not line.startswith(f"{inst['name']} = " if inst["name"] else inst["op"]) and "call" not in line:
                self.fault(f, f"line {inst['line']} is not {inst['name'] or inst['op']}: {line}")
            for operand in inst["operands"]:
                if operand not in names:
                    self.fault(f, f"line {inst['line']}: operand {operand} is not defined")
        unmapped = [p["text"] for p in f["ptx"] if "ir" not in p and re.match(r"\t(?!ld\.param|\.|mov|bra)\w.*;$", p["text"])]
        if len(unmapped) > len(f["ptx"]) // 10 + 2:
            self.fault(f, f"{len(unmapped)} of {len(f['ptx'])} lines of PTX have no instruction of IR: {unmapped[:3]}")
        for k in sorted({step["text"] for step in f["steps"][1:] if step["pass"] != "before code generation"}):
            if k and without_numbers(text_of(f, k)) not in dumps:
                self.fault(f, f"text {k} is not a dump of `nvmini compile --print-after=*`")

    def check_changes(self, f, changes):
        """Each difference turns the lines of one text into those of the next, whatever their order."""
        text = begin = 0
        for k, step in enumerate(f["steps"]):
            if step["text"] == text:
                continue
            title = f"*** {step['pass']} on {f['name']} (pass "  # and its number, which is not in the JSON
            begin = next((n for n in range(begin, len(changes)) if changes[n].startswith(title)), len(changes) - 1) + 1
            end = next((n for n in range(begin, len(changes)) if changes[n].startswith(("***", "@")) or not changes[n]), begin)
            lines = collections.Counter(text_of(f, text))
            lines.subtract(line[1:] for line in changes[begin:end] if line.startswith("-"))
            lines.update(line[1:] for line in changes[begin:end] if line.startswith("+"))
            if +lines != collections.Counter(text_of(f, step["text"])) or -lines:
                self.fault(f, f"--format=diff does not show what pass {k}, {step['pass']}, changed")
            text = step["text"]

    def check_page(self, report):
        with open(self.html, encoding="utf-8") as f:
            page = f.read()
        held = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
        if not held or json.loads(held[1]) != report:
            self.faults.append("the page does not hold the JSON")
        for external in re.findall(r'(?:src|href)="(?!#)[^"]*"|@import|url\((?!#)', page[:held.start()] if held else ""):
            self.faults.append(f"the page refers to another file: {external}")


def expect(name, passed, faults):
    if not passed:
        faults.append(name)
    return 1


def check_command(nvmini, folder):
    """Wrong uses, and a folder of pages. Returns the number of checks and the faults."""
    def run(*arguments):
        return subprocess.run([nvmini, "explain", *arguments], text=True, capture_output=True)
    sample, faults, count = f"{ROOT}/samples/indirect_call.nvir", [], 0
    missing = run(f"{folder}/missing.nvir")
    count += expect("a missing file: exit status 1 and its name", missing.returncode == 1 and "missing.nvir" in missing.stderr, faults)
    entries = json.loads(run(f"{ROOT}/samples/sum.nvir", "-O1", "--format", "json").stdout)["reference"]
    names = {kind: [entry["name"] for entry in entries[kind]] for kind in entries}
    count += expect("the reference has the passes, instructions and PTX instructions that occur, and no others",
                    "mem2reg" in names["passes"] and "loop-vectorize" not in names["passes"] and
                    {"add", "getelementptr", "phi"} <= set(names["ops"]) and "call" not in names["ops"] and
                    {"setp", "ld", "bra"} <= set(names["ptx"]) and "bar" not in names["ptx"], faults)
    phi = next(entry for entry in entries["ops"] if entry["name"] == "phi")
    count += expect("an entry of the reference has a meaning, an explanation and an example",
                    phi["meaning"] and "nvmini run" not in phi["text"] and "$ nvmini run" in phi["example"], faults)
    wrong = run(sample, "--format", "pdf")
    count += expect("an unknown format: exit status 2", wrong.returncode == 2 and "pdf" in wrong.stderr, faults)
    nowhere = run(sample, "-o", f"{folder}/no/such/file.html")
    count += expect("an output that cannot be written: exit status 1", nowhere.returncode == 1, faults)
    pages = run(sample, "-o", f"{folder}/pages/")
    listed = os.path.exists(f"{folder}/pages/index.html") and re.findall(r'href="([^"]+)"', open(f"{folder}/pages/index.html").read())
    count += expect("-o FOLDER/: a page per function, listed in index.html", pages.returncode == 0 and listed and
                    sorted(listed + ["index.html"]) == sorted(os.listdir(f"{folder}/pages")), faults)
    for one in (("--format", "json"), ("--format", "diff"), ("--why", "%x")):
        text = run(sample, *one, "-o", f"{folder}/one/")
        count += expect(f"-o FOLDER/ with {one[0]} {one[1]}: exit status 2, nothing written", text.returncode == 2 and
                        "writes one file" in text.stderr and not os.path.exists(f"{folder}/one"), faults)
    nobody = run(sample, "--trace=0,4000", "-o", f"{folder}/traced.html")
    count += expect("a traced thread that is not launched: exit status 2", nobody.returncode == 2 and
                    "thread 4000 of block 0 is not launched" in nobody.stderr, faults)
    why = run(f"{ROOT}/samples/sum.nvir", "--why", "%new", "-o", "-")
    count += expect("--why shows the passes that changed a value", "changed by mem2reg (pass 8): %new = add i32 %0, %element" in why.stdout, faults)
    nobody = run(f"{ROOT}/samples/sum.nvir", "--why", "nope")
    count += expect("--why of an unknown value: exit status 1", nobody.returncode == 1 and "'%nope'" in nobody.stderr, faults)
    with open(f"{folder}/named.ll", "w", encoding="utf-8") as f:
        f.write('define i32 @f(i32 %x) {\n  %"a b" = xor i32 %x, 1\n  %"3" = xor i32 %"a b", 2\n  ret i32 %"3"\n}\n')
    for value in ("a b", '"a b"', '%"a b"', "3", '%"3"'):
        named = run(f"{folder}/named.ll", "-O0", "--why", value)
        count += expect(f"--why {value} finds a value with quotes", named.returncode == 0 and "in the input: " in named.stdout, faults)
    limited = run(sample, "--step-limit", "3", "--format", "json", "-o", f"{folder}/limited.json")
    with open(f"{folder}/limited.json", encoding="utf-8") as f:
        findings = [function["run"]["finding"] for function in json.load(f)["functions"] if "run" in function]
    count += expect("a finding ends the launch and is recorded", limited.returncode == 0 and
                    any(text.startswith("step-limit: ") for text in findings), faults)
    return count, faults


# Names that HTML, JSON, the PTX or the recording could misread.
ODD_NAMES = r'''target triple = "nvptx64-nvidia-cuda"
@part = addrspace(3) global [64 x i32] zeroinitializer
@part2 = addrspace(3) global [256 x i32] zeroinitializer
define ptx_kernel void @"</script><img src=x onerror=f()>"(ptr %"a\22b", i32 %"x\\y %d %s\0A") {
"</script>":
  %"\FF\FE</script>" = add i32 %"x\\y %d %s\0A", 1
  %"12" = mul i32 %"\FF\FE</script>", %"x\\y %d %s\0A"
  %c = icmp sgt i32 %"12", 0
  br i1 %c, label %"12b", label %"7"
"12b":
  store volatile i32 %"12", ptr %"a\22b"
  br label %"7"
"7":
  %1 = load volatile i32, ptr addrspace(3) @part2
  store i32 %1, ptr %"a\22b"
  ret void
}
define ptx_kernel void @"x Before isel on y"(ptr %p) {
  %1 = load i32, ptr %p
  %2 = add i32 %1, 0
  store i32 %2, ptr %p
  ret void
}
define ptx_kernel void @"a\00b"(ptr %p) {
  %v = call i32 asm sideeffect "{\0A\09// comment\0A\09mov.u32 $0, 7;\0A}", "=r"()
  store i32 %v, ptr %p
  ret void
}
define ptx_kernel void @LONG(ptr %p) {
  %1 = load i32, ptr %p
  %2 = add i32 %1, 0
  store i32 %2, ptr %p
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: NoDebug)
!1 = !DIFile(filename: "/dev/zero", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 2}
'''


def check_odd_names(nvmini, folder):
    """Returns the number of checks and the faults."""
    path, faults = f"{folder}/odd.ll", []
    with open(path, "w", encoding="utf-8") as f:
        f.write(ODD_NAMES.replace("@LONG", "@" + "long" * 500))
    for level in ("-O0", "-O3"):
        module = Module(nvmini, path, level, folder)
        module.check()
        faults += [f"odd names {level}: {fault}" for fault in module.faults[:5]]
        with open(module.json, encoding="utf-8") as f:
            functions = json.load(f)["functions"]
        expect(f"odd names {level}: each kernel is there", len(functions) == 4, faults)
        expect(f"odd names {level}: a shared variable whose name begins another's is not counted",
               [f["shared"] for f in functions if f["shared"]] == [1024], faults)
        counts = [len(f["steps"]) for f in functions]
        expect(f"odd names {level}: the passes of each kernel are there; found {counts}", min(counts) > 20 or level == "-O0", faults)
    return 2, faults


def check_large_source(nvmini, folder):
    """A page of one function has its lines of a large input, and no file without an end."""
    path, faults, pages = f"{folder}/large.ll", [], f"{folder}/large"
    with open(path, "w", encoding="utf-8") as f:
        for name in "fg":
            f.write(f"{';' * 200000}\ndefine void @{name}() !dbg !{2 + (name == 'g')} {{\n  ret void, !dbg !{4 + (name == 'g')}\n}}\n")
        f.write('!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!6}\n!6 = !{i32 2, !"Debug Info Version", i32 3}\n'
                "!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)\n"
                '!1 = !DIFile(filename: "/dev/zero", directory: "/")\n')
        for k, name in enumerate("fg"):
            f.write(f'!{2 + k} = distinct !DISubprogram(name: "{name}", scope: !1, file: !1, line: 1, type: !7, unit: !0, spFlags: DISPFlagDefinition)\n'
                    f"!{4 + k} = !DILocation(line: 2, scope: !{2 + k})\n")
        f.write("!7 = !DISubroutineType(types: !8)\n!8 = !{null}\n")
    try:
        r = subprocess.run([nvmini, "explain", path, "-o", pages + "/"], text=True, capture_output=True, timeout=60)
        sizes = [os.path.getsize(f"{pages}/{name}") for name in os.listdir(pages) if name != "index.html"]
        with open(f"{pages}/2-g.html", encoding="utf-8") as f:
            report = json.loads(re.search(r'id="data">(.*?)</script>', f.read(), re.S)[1])
        function, lines = report["functions"][0], report["source"].split("\n")
        expect(f"large source: pages have their own lines; {r.stderr}", len(sizes) == 2 and
               lines[function["begin"] - 1].startswith("define void @g") and lines[0] == "" and len(report["source"]) < 1000, faults)
        expect("large source: the device is named and not read", [f for f in report["files"] if f["text"]] == [] and report["files"], faults)
    except subprocess.TimeoutExpired:
        faults.append("large source: a device was read as a source file")
    return 1, faults


def check_limit(nvmini, folder):
    """The memory limit includes the recording."""
    path, faults = f"{folder}/limit.ll", []
    with open(path, "w", encoding="utf-8") as f:
        f.write("define void @f(ptr %p) {\n" + "  store volatile i32 1, ptr %p\n" * 4000 + "  ret void\n}\n")
    def run(*arguments):
        return subprocess.run([nvmini, *arguments, path, "-O3", "--cpu", "sm_90a", "-o", f"{folder}/limit.out"], text=True, capture_output=True)
    compiled, explained = run("compile", "--memory-limit", "3M"), run("explain", "--memory-limit", "3M")
    expect("a memory limit that suffices to compile does not suffice to record", compiled.returncode == 0 and
           explained.returncode == 1 and "out of memory" in explained.stderr, faults)
    return 1, faults


def check_scripts(nvmini, _):
    """The scripts are one program: a name has one definition, of which the last would win. The
    options that they name are options of the command."""
    names, faults = collections.Counter(), []
    help_text = subprocess.run([nvmini, "explain", "--help"], text=True, capture_output=True, check=True).stdout
    for path in sorted(glob.glob(f"{ROOT}/driver/explain/*.js")):
        with open(path, encoding="utf-8") as f:
            script = f.read()
        names.update(re.findall(r"^(?:function|const|let|class) (\w+)", script, re.M))
        for option in re.findall(r'(?<!setProperty\()"(--[a-z-]+)"', script):
            expect(f"{os.path.basename(path)}: {option} is an option of nvmini explain", re.search(rf"^ +{option}\b", help_text, re.M), faults)
    expect("each name of the scripts has one definition", names and max(names.values()) == 1, faults)
    return 1, faults


def check_reference(nvmini, folder):
    """Each entry of the reference in a page is a section of the reference pages."""
    faults = []
    subprocess.run([nvmini, "help", "--reference", f"{folder}/reference"], check=True)
    report = json.loads(subprocess.run([nvmini, "explain", f"{ROOT}/samples/reduction.nvir", "--format", "json"], text=True,
                                       capture_output=True, check=True).stdout)
    for kind, entries in report["reference"].items():
        with open(f"{folder}/reference/{kind}.md", encoding="utf-8") as f:
            anchors = set(re.findall(r'<a id="([^"]*)">', f.read()))
        expect(f"the reference has some {kind}", entries or kind == "diagnostics", faults)
        for entry in entries:
            expect(f"{kind}: {entry['name']} is on the page of the reference", entry["name"] in anchors, faults)
            expect(f"{kind}: {entry['name']} has a meaning", entry["meaning"] or entry["text"], faults)
    names = {kind: [entry["name"] for entry in entries] for kind, entries in report["reference"].items()}
    expect(f"intrinsics that the module calls; found {names['intrinsics']}", "llvm.nvvm.barrier0" in names["intrinsics"] or
           any("sreg" in name for name in names["intrinsics"]), faults)
    return 1, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nvmini", default=f"{ROOT}/build/nvmini")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    modules, passed, failed = options.modules or sorted(glob.glob(f"{ROOT}/samples/*.nvir")), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        count, faults = 0, []
        for check in (check_command, check_odd_names, check_large_source, check_limit, check_scripts, check_reference):
            done, found = check(options.nvmini, folder)
            count, faults = count + done, faults + found
        for path in modules:
            for level in ("-O3", "-O0"):
                module = Module(options.nvmini, path, level, folder)
                module.check()
                count += 1
                failed += bool(module.faults)
                for fault in module.faults[:5]:
                    print(f"{os.path.relpath(path, ROOT)} {level}: {fault}")
        failed += len(faults)
        for fault in faults:
            print(f"failed: {fault}")
    print(f"{count - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
