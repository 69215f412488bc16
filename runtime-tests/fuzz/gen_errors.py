"""Generated kernels with an error or a warning each, one program for every diagnostic that has an example: for coverage.py.

The lines of the reference's wrong example (driver/reference/diagnostics.txt) follow a random kernel. Where a diagnostic is
about a whole file (bitcode, a byte order mark, a target line, ...) the example stands alone."""
import os
import re
import sys

import gen_kernels

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "runtime-tests", "reference"))
import check_reference  # noqa: E402

ALONE = ("target ", "\ufeff", "source_filename", "!nvvm", "!llvm", "module asm")


def kernel(seed):
    """A module without metadata of its own, and without a target."""
    while True:
        text = gen_kernels.generate(seed, 1, 8, swarm=True)
        if not re.search(r"^!\d+ =", text, re.M):
            return "".join(line + "\n" for line in text.splitlines() if not line.startswith(("target ", "; nvmini-run")))
        seed += 1000003


def programs(seed):
    """(id, a command as check_reference.execute() takes it, ""), or (id, None, why there is none)."""
    _, found = check_reference.sections(os.path.join(ROOT, "driver", "reference", "diagnostics.txt"))
    for section in found:
        wrong = [c for c in section.commands if c["side"] == "wrong"]
        if not wrong:
            yield section.name, None, section.reason or "no example"
            continue
        files = dict(wrong[0]["files"])
        for name, content in files.items():
            text = content.decode(errors="replace")
            if name.endswith(".nvir") and not any(line.startswith(ALONE) for line in text.splitlines()):
                files[name] = kernel(seed).encode() + content
        yield section.name, {**wrong[0], "files": files, "alone": wrong[0]["files"]}, ""
