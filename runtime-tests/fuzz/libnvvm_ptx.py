#!/usr/bin/env python3
"""PTX of an IR module from NVIDIA's libNVVM, as a compiler of `nvmini fuzz`:

    libnvvm_ptx.py IN OUT [OPTION...]     options of nvvmCompileProgram: -opt=0, -arch=compute_90, ...

Without -arch it is compute_100, which takes opaque pointers. -fma=0 is given, so that results are those of the IR.
A module without a data layout or a version of the dialect gets one. Exit status 1 with the log if libNVVM refuses."""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import libnvvm  # noqa: E402

LAYOUT = ('target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-'
          'v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"\n')


def main():
    source, to, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    path = libnvvm.find_library()
    if not path:
        sys.exit("libnvvm_ptx.py: error: libNVVM is not installed")
    with open(source, encoding="utf-8") as f:
        text = f.read()
    if "target datalayout" not in text:
        text = LAYOUT + text
    if "!nvvmir.version" not in text:
        text += libnvvm.VERSION
    if not any(o.startswith("-arch=") for o in options):
        options.append("-arch=compute_100")
    options.append("-fma=0")
    library, program, size = ctypes.CDLL(path), ctypes.c_void_p(), ctypes.c_size_t()
    library.nvvmCreateProgram(ctypes.byref(program))
    data = text.encode()
    library.nvvmAddModuleToProgram(program, data, ctypes.c_size_t(len(data)), b"module")
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    if library.nvvmCompileProgram(program, len(options), words):
        log = libnvvm.text_of(library, program, "nvvmGetProgramLogSize", "nvvmGetProgramLog").decode(errors="replace").strip("\0\n ")
        sys.exit(f"error: {log}")
    library.nvvmGetCompiledResultSize(program, ctypes.byref(size))
    with open(to, "wb") as f:
        f.write(libnvvm.text_of(library, program, "nvvmGetCompiledResultSize", "nvvmGetCompiledResult"))


if __name__ == "__main__":
    main()
