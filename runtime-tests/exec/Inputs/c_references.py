"""Compiles and asks the references in C (reference.h) that executed kernels are held against."""
import hashlib
import os
import shlex
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "..", "build", "references")


def built(source):
    """The program of a reference, compiled when its text or the compiler is a new one."""
    command = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    hashed = hashlib.sha256(repr(command).encode())
    for path in (source, os.path.join(HERE, "reference.h")):
        with open(path, "rb") as f:
            hashed.update(f.read())
    program = os.path.join(FOLDER, os.path.basename(os.path.dirname(source)) + "-" + hashed.hexdigest()[:16])
    if not os.path.exists(program):
        os.makedirs(FOLDER, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as own:  # other tests may be compiling it too
            new = os.path.join(own, "reference")
            p = subprocess.run([*command, source, "-o", new, "-lm"], capture_output=True, text=True, check=False)
            if p.returncode != 0:
                raise RuntimeError(f"{source}: {p.stderr}")
            os.replace(new, program)
    return program


def results(source, kernel, lists):
    """The lines that the reference prints for the lines that the kernel printed; None: it doesn't know the kernel."""
    p = subprocess.run([built(source), kernel], input=lists, capture_output=True, text=True, check=False)
    if p.returncode not in (0, 2):
        raise RuntimeError(f"{source}: {kernel} ended with {p.returncode}")
    return p.stdout.splitlines() if p.returncode == 0 else None
