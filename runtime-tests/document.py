"""Whether the dumps in docs/vectorizer.md are what the commands print of its sample; --update makes them so.

    document.py [--update]

The first fenced block is the sample. Each other block is a part of one output, which its first line names: the plan,
the remarks, a block of the IR or of the PTX."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = f"{ROOT}/docs/vectorizer.md"
OPTIONS = ["--cpu", "sm_90", "--passes", "loop-vectorize,simplifycfg,combine,dce"]


def outputs(sample):
    with tempfile.NamedTemporaryFile("w", suffix=".nvir", encoding="utf-8") as file:
        file.write('target triple = "nvptx64-nvidia-cuda"\n' + sample)
        file.flush()

        def run(*more):
            return subprocess.run([f"{ROOT}/build/nvmini", "compile", file.name, *OPTIONS, *more], capture_output=True, text=True, check=True)
        remarks = re.findall(r"remark: (.*) \[-Rpass", run("--remarks", "-o", "/dev/null").stderr)
        return run("--emit", "vplan").stdout, "\n".join(remarks), run("--emit", "ir", "-o", "-").stdout, run("-o", "-").stdout


def now(block, plan, remarks, ir, ptx):
    first = block.split("\n", maxsplit=1)[0]
    if first.startswith("VPlan"):
        return plan.rstrip("\n")
    if first.startswith("width 1"):
        return remarks
    if first.startswith("$L"):
        return re.search(re.escape(first) + r"\n(?:\t.*\n)*", ptx)[0].rstrip("\n")
    return re.search("^" + re.escape(first) + r"\n(?:  .*\n)*", ir, re.M)[0].rstrip("\n")


def main():
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    parts = re.split(r"^(```\w*\n)(.*?)\n(```$)", text, flags=re.M | re.S)  # text, fence, block, fence, text …
    made = outputs(parts[2])
    for k in range(6, len(parts), 4):
        parts[k] = now(parts[k], *made)
    new = "".join(p + "\n" if k % 4 == 2 else p for k, p in enumerate(parts))
    if "--update" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != text:
        sys.exit("docs/vectorizer.md is not what the commands print; `make update-golden` makes it so")


main()
