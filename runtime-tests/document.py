"""Whether the dumps in docs/vectorizer.md are what the commands print of its sample; --update makes them so.

    document.py [--update]

A fenced block that is a function is a sample; the command that stands behind it says with which options it is compiled. Each
other block is a part of one output of the sample in front of it, which its first line names: a plan, its vector loop, the costs,
the remarks, a block of the IR or of the PTX."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = f"{ROOT}/docs/vectorizer.md"


def outputs(sample, options):
    with tempfile.NamedTemporaryFile("w", suffix=".nvir", encoding="utf-8") as file:
        file.write('target triple = "nvptx64-nvidia-cuda"\n' + sample)
        file.flush()

        def run(*more):
            return subprocess.run([f"{ROOT}/build/nvmini", "compile", file.name, *options, *more], capture_output=True, text=True, check=True)
        remarks = re.findall(r"remark: (.*) \[-Rpass", run("--remarks", "-o", "/dev/null").stderr)
        return run("--emit", "vplan").stdout, "\n".join(remarks), run("--emit", "ir", "-o", "-").stdout, run("-o", "-").stdout


def now(block, plan, remarks, ir, ptx):
    first = block.split("\n", maxsplit=1)[0]
    if first.startswith(("VPlan", "<x1>")):
        return re.search("^" + re.escape(first.split("VF")[0]) + r".*\n(?:.*\n)*?}$", plan, re.M)[0]
    if first.startswith("Costs"):
        return re.search(r"^Costs.*\n(?:VF.*\n)*", plan, re.M)[0].rstrip("\n")
    if first.startswith("width 1"):
        return remarks
    if first.startswith("$L"):
        return re.search(re.escape(first) + r"\n(?:\t.*\n)*", ptx)[0].rstrip("\n")
    return re.search("^" + re.escape(first) + r"\n(?:  .*\n)*", ir, re.M)[0].rstrip("\n")


def main():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    parts = re.split(r"^(```\w*\n)(.*?)\n(```$)", text, flags=re.M | re.S)  # text, fence, block, fence, text …
    for k in range(2, len(parts), 4):
        if parts[k].startswith("define"):
            made = outputs(parts[k], re.search(r"`nvmini compile \S+ ([^`]*)`", parts[k + 2])[1].split())
        else:
            parts[k] = now(parts[k], *made)
    new = "".join(p + "\n" if k % 4 == 2 else p for k, p in enumerate(parts))
    if "--update" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != text:
        sys.exit("docs/vectorizer.md is not what the commands print; `make update-golden` makes it so")


main()
