"""Compiles a file by name, and the same from standard input, whose text cannot be released.
Exit status 1 unless the former's peak memory is smaller by MEGABYTES.

    peak_memory.py FILE FOLDER MEGABYTES"""
import os
import subprocess
import sys


def peak(arguments, source):
    """Megabytes."""
    with open(source, "rb") as text:
        child = subprocess.Popen(["nvmini", "compile", "-O0", "--cpu", "sm_90", *arguments], stdin=text)
        _, status, used = os.wait4(child.pid, 0)
    assert status == 0, status
    return used.ru_maxrss / 1024


def main():
    source, folder, least = sys.argv[1], sys.argv[2], float(sys.argv[3])
    by_name = peak([source, "-o", os.path.join(folder, "named.ptx")], source)
    from_input = peak(["-", "-o", os.path.join(folder, "input.ptx")], source)
    print(f"{by_name:.1f} MB by name, {from_input:.1f} MB from standard input")
    return by_name + least > from_input


sys.exit(main())
