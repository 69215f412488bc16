"""cache_key.py MODULE FOLDER: `nvmini compile --print-cache-key` with every option of `compile --help`.

An option that COUNTS and IGNORED do not mention is wrong, so that adding one needs a row here. The options of
COUNTS change the key, each to another; those of IGNORED do not.
"""
import os
import re
import subprocess
import sys

COUNTS = {
    "--emit": "ir", "--link": "FILE", "--triple": "nvptx64-nvidia-cuda", "--remarks": None, "--remarks-file": "r.yaml",
    "--diagnostics": "json", "--memory-limit": "64M", "--cpu": "sm_80", "--ptx": "8.0", "--features": "+ptx80",
    "-O0": None, "-O1": None, "-O2": None, "-O3": None, "-Os": None, "-Oz": None, "-Ofc": "max", "--passes": "dce",
    "--ftz": None, "--fma-level": "1", "--prec-div": "1", "--prec-sqrt": "0", "--mathlib": "off",
    "--knob": "force-vector-width=4", "-g": None, "--asm-verbose": None, "--verify-each": None, "--time-passes": None,
    "--stats": None, "--print-before": "dce", "--print-after": "dce", "--print-changed": None, "--only-function": "f",
    "--opt-bisect-limit": "3", "--stop-after": "dce", "-W": "no-unknown-asm", "--warnings-as-errors": None, "--whole-program": None,
    "--device-c": None, "--error-limit": "3",
}
IGNORED = {"-o": "other.ptx", "-S": None, "--quiet": None}
OTHER_ACTIONS = {"--help", "--print-cache-key"}


def key(*words):
    command = ["nvmini", "compile", *words, "--print-cache-key"]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def main():
    module, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with open(module, "rb") as f:
        data = f.read()
    wrong, seen = [], {}

    def differs(what, *words):
        seen.setdefault(key(*words), []).append(what)

    def same(what, one, other):
        if one != other:
            wrong.append(f"{what} changes the key")

    help_text = subprocess.run(["nvmini", "compile", "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
    options = set(re.findall(r"^  (-[-\w]+)", help_text, re.M)) - OTHER_ACTIONS
    wrong += [f"{o}: has no row here, or no longer exists" for o in options ^ (COUNTS.keys() | IGNORED.keys())]
    base = ["--cpu", "sm_90", module]
    differs("nothing", *base)
    for option, value in COUNTS.items():
        value = write(f"{folder}/a.nvir", data) if value == "FILE" else value
        differs(option, *base, option, *([] if value is None else [value]))
    for option, value in IGNORED.items():
        same(option, key(*base), key(*base, option, *([] if value is None else [value])))

    differs("a byte of the input", *base[:2], write(f"{folder}/b.nvir", data + b"\n"))
    differs("a byte of a linked file", *base, "--link", f"{folder}/b.nvir")
    differs("two linked files", *base, "--link", f"{folder}/a.nvir", "--link", f"{folder}/b.nvir")
    differs("their order", *base, "--link", f"{folder}/b.nvir", "--link", f"{folder}/a.nvir")
    differs("libNVVM's spelling", *base, "-fma=1")
    differs("the order of options that undo each other", *base, "--device-c", "--whole-program")
    differs("and the other order", *base, "--whole-program", "--device-c")
    differs("remarks", *base, "--emit", "remarks")
    differs("remarks, with the input's name in them", *base[:2], f"{folder}/a.nvir", "--emit", "remarks")
    same("the input's name", key(*base), key(*base[:2], f"{folder}/a.nvir"))
    same("the name of a linked file", key(*base, "--link", f"{folder}/a.nvir"), key(*base, "--link", module))
    wrong += [f"{' and '.join(names)} have the same key" for names in seen.values() if len(names) > 1]
    for line in wrong:
        print("wrong:", line)
    print(len(options), "options")


main()
