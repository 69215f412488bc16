#!/usr/bin/env python3
"""PTX from NVIDIA's libNVVM, which is the middle and the back of nvcc.

    libnvvm.py MODULE.ll --arch compute_100 -o OUT.ptx [--library PATH]

From compute_100 on it takes the text that clang 19 writes, with opaque pointers; older architectures want typed ones.
A module without a version of the dialect gets one. What it refuses is printed with its reason, exit 1."""
import argparse
import ctypes
import glob
import sys

VERSION = "\n!nvvmir.version = !{!900000}\n!900000 = !{i32 2, i32 0}\n"


def find_library():
    """The newest installed library, or an empty string."""
    found = sorted(glob.glob("/usr/local/cuda*/nvvm/lib64/libnvvm.so*") + glob.glob("/usr/local/cuda*/lib/libnvvm.so*"))
    return found[-1] if found else ""


def text_of(library, program, size_of, get):
    size = ctypes.c_size_t()
    getattr(library, size_of)(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, get)(program, text)
    return text.value


def compile_module(path, text, arch):
    """(PTX, "") or (None, the log) of an IR text, both bytes, at -opt=3; `arch` is compute_90 or the like."""
    library = ctypes.CDLL(path)
    program = ctypes.c_void_p()
    library.nvvmCreateProgram(ctypes.byref(program))
    library.nvvmAddModuleToProgram(program, text, ctypes.c_size_t(len(text)), b"module")
    refused = library.nvvmCompileProgram(program, 2, (ctypes.c_char_p * 2)(f"-arch={arch}".encode(), b"-opt=3"))
    result = ((None, text_of(library, program, "nvvmGetProgramLogSize", "nvvmGetProgramLog")) if refused
              else (text_of(library, program, "nvvmGetCompiledResultSize", "nvvmGetCompiledResult"), b""))
    library.nvvmDestroyProgram(ctypes.byref(program))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("module")
    parser.add_argument("--arch", default="compute_100")
    parser.add_argument("--library", default=find_library())
    parser.add_argument("-o", dest="output", required=True)
    options = parser.parse_args()
    if not options.library:
        sys.exit("libnvvm.py: libNVVM is not installed")
    with open(options.module, encoding="utf-8") as file:
        text = file.read()
    if "!nvvmir.version" not in text:
        text += VERSION
    ptx, log = compile_module(options.library, text.encode(), options.arch)
    if ptx is None:
        sys.exit(f"libnvvm.py: {options.module}: {log.decode(errors='replace').strip()}")
    with open(options.output, "wb") as file:
        file.write(ptx)


if __name__ == "__main__":
    main()
