#!/usr/bin/env python3
"""What libNVVM does, row by row, asked of our libnvvm.so.4 and of every original that is installed.

    libnvvm.py [--build build] [--original PATH]... [--table | --differences]

A row is a sequence of calls and the outcome expected of ours. The original must have the same outcome, or the one that
the row lists for it with a reason; what it crashes at is not asked. --table prints the rows, --differences those
that differ, which docs/libnvvm.md must contain as printed. Closes with a line `libnvvm: N passed, N failed`."""
import argparse
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

LAYOUT = ('target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-'
          'v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"\n')
SHORT_LAYOUT = 'target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\n'
TRIPLE = 'target triple = "nvptx64-nvidia-cuda"\n'
VERSION = "!nvvmir.version = !{!9}\n!9 = !{i32 2, i32 0}\n"
KERNEL = ('define void @k(i32* %p) {\n  store i32 1, i32* %p\n  ret void\n}\n'
          '!nvvm.annotations = !{!0}\n!0 = !{void (i32*)* @k, !"kernel", i32 1}\n')
MODULE = LAYOUT + TRIPLE + KERNEL + VERSION
OPAQUE = MODULE.replace("void (i32*)*", "ptr").replace("i32*", "ptr")
CALLS_LIBRARY = LAYOUT + TRIPLE + ('declare float @foo(float)\ndefine void @k(float* %p) {\n  %v = load float, float* %p\n'
                                   '  %r = call float @foo(float %v)\n  store float %r, float* %p\n  ret void\n}\n'
                                   '!nvvm.annotations = !{!0}\n!0 = !{void (float*)* @k, !"kernel", i32 1}\n') + VERSION
FOO = "define float @foo(float %x) {\n  %r = call float @bar(float %x)\n  ret float %r\n}\n"
BAR = "define float @bar(float %x) {\n  %r = fadd float %x, 1.0\n  ret float %r\n}\n"
LIBRARY = LAYOUT + TRIPLE + FOO + BAR + "define float @unused(float %x) {\n  ret float %x\n}\n"
LINES = LAYOUT + TRIPLE + '''define void @k(i32* %p) !dbg !5 {
  store i32 1, i32* %p, !dbg !8
  ret void, !dbg !8
}
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @k, !"kernel", i32 1}
!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!10}
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, producer: "x", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)
!3 = !DIFile(filename: "a.cu", directory: "/tmp")
!5 = distinct !DISubprogram(name: "k", scope: !3, file: !3, line: 1, type: !6, isLocal: false, isDefinition: true, scopeLine: 1, isOptimized: true, unit: !2)
!6 = !DISubroutineType(types: !7)
!7 = !{}
!8 = !DILocation(line: 2, column: 3, scope: !5)
!10 = !{i32 2, !"Debug Info Version", i32 3}
''' + VERSION.replace("i32 0}", "i32 0, i32 3, i32 2}")


def bitcode(text):
    """The module assembled by LLVM 14, whose typed pointers libNVVM reads; None: it is not installed."""
    assembler = shutil.which("llvm-as-14")
    if not assembler:
        return None
    return subprocess.run([assembler, "-o", "-", "-"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


# ---- Calls --------------------------------------------------------------------------------------

class Program:
    """A program, and what its calls returned so far."""

    def __init__(self, library):
        self.library, self.handle, self.seen = library, ctypes.c_void_p(), []
        library.nvvmCreateProgram(ctypes.byref(self.handle))

    def note(self, what):
        self.seen.append(str(what))
        return self

    def _add(self, function, module, name, size):
        data = module.encode() if isinstance(module, str) else module
        length = len(data or b"") if size is None else size
        return self.note(f"add {function(self.handle, data, ctypes.c_size_t(length), name)}")

    def add(self, module, name=b"m.ll", size=None):
        return self._add(self.library.nvvmAddModuleToProgram, module, name, size)

    def lazy(self, module, name=b"lib.bc", size=None):
        return self._add(self.library.nvvmLazyAddModuleToProgram, module, name, size)

    def _run(self, function, options):
        return function(self.handle, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options]) if options else None)

    def verify(self, *options):
        return self.note(f"verify {self._run(self.library.nvvmVerifyProgram, options)}")

    def compile(self, *options):
        return self.note(f"compile {self._run(self.library.nvvmCompileProgram, options)}")

    def text(self, of):
        size = ctypes.c_size_t()
        getattr(self.library, f"nvvmGet{of}Size")(self.handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(b"\xff" * (size.value + 1), size.value + 1)
        getattr(self.library, f"nvvmGet{of}")(self.handle, buffer)
        assert buffer.raw[size.value - 1:] == b"\0\xff", "a text ends with one NUL, and its size includes it"
        return buffer.raw[:size.value - 1].decode()

    def log(self, pattern=None):
        """The whole log, or what the pattern finds in it."""
        text = self.text("ProgramLog")
        found = re.search(pattern, text, re.M) if pattern else None
        return self.note("log " + (found[0] if found else text).replace("\n", " / "))

    def ptx(self, pattern):
        return self.note(" ".join(sorted(set(re.findall(pattern, self.text("CompiledResult"), re.M)))) or "no match")

    def size(self, of):
        size = ctypes.c_size_t(77)
        status = getattr(self.library, f"nvvmGet{of}Size")(self.handle, ctypes.byref(size))
        return self.note(f"size {size.value}" if status == 0 else f"size: {status}")

    def destroy(self):
        status = self.library.nvvmDestroyProgram(ctypes.byref(self.handle))
        return self.note(f"destroy {status}{'' if self.handle.value else ', handle NULL'}")


def checked(program, *options):
    return program.verify(*options).compile(*options)


# ---- Rows ---------------------------------------------------------------------------------------

ROWS = []
CRASH = "crash"


def row(name, actions, expected, theirs=(), why=""):
    """`theirs`: outcomes of original releases that differ, one for each kind."""
    ROWS.append((name, actions, expected, (theirs,) if isinstance(theirs, str) else theirs, why))


def numbers(function, count, *arguments):
    found = [ctypes.c_int(-1) for _ in range(count)]
    status = function(*arguments, *map(ctypes.byref, found))
    return f"{status}: " + " ".join(str(n.value) for n in found)


def error_string(library, code):
    library.nvvmGetErrorString.restype = ctypes.c_char_p
    return library.nvvmGetErrorString(code).decode()


def llvm_versions(library):
    if not hasattr(library, "nvvmLLVMVersion"):
        return "no such function"
    return ", ".join(numbers(library.nvvmLLVMVersion, 1, arch)
                     for arch in (b"compute_75", b"compute_90a", b"compute_100", b"compute_121f", b"sm_90", None))


NEWER = "CUDA 13.5 does as nvmini; 13.0 as shown"
ON_NULL = "CUDA 13.0 dereferences it"

row("`nvvmVersion`", lambda l: numbers(l.nvvmVersion, 2), "0: 2 0")
row("`nvvmIRVersion`", lambda l: numbers(l.nvvmIRVersion, 4), "0: 2 0 3 2")
row("`nvvmLLVMVersion` of compute_75, 90a, 100, 121f, of sm_90, of NULL", llvm_versions,
    "0: 7, 0: 7, 0: 22, 0: 22, 4: -1, 4: -1", "no such function", "not in CUDA 13.0")
for number, word in enumerate(("SUCCESS", "ERROR_OUT_OF_MEMORY", "ERROR_PROGRAM_CREATION_FAILURE", "ERROR_IR_VERSION_MISMATCH",
                               "ERROR_INVALID_INPUT", "ERROR_INVALID_PROGRAM", "ERROR_INVALID_IR", "ERROR_INVALID_OPTION",
                               "ERROR_NO_MODULE_IN_PROGRAM", "ERROR_COMPILATION")):
    row(f"`nvvmGetErrorString({number})`", lambda l, n=number: error_string(l, n), f"NVVM_{word}")
row("`nvvmGetErrorString(10)`", lambda l: error_string(l, 10), "NVVM_ERROR_CANCELLED", "NVVM_ERROR not found",
    "in nvvm.h, but without a text")
row("`nvvmGetErrorString(11)`", lambda l: error_string(l, 11), "NVVM_ERROR not found")

# Programs.
row("`nvvmCreateProgram(NULL)`", lambda l: l.nvvmCreateProgram(None), "5")
row("destroy NULL", lambda l: l.nvvmDestroyProgram(None), "5")
row("destroy, and again", lambda l: Program(l).destroy().destroy(), "destroy 0, handle NULL; destroy 5, handle NULL")
row("any call after destroy", lambda l: checked(Program(l).destroy().add(MODULE).lazy(MODULE)).size("ProgramLog").size("CompiledResult"),
    "destroy 0, handle NULL; add 5; add 5; verify 5; compile 5; size: 5; size: 5")
row("a new program", lambda l: Program(l).size("ProgramLog").size("CompiledResult"), "size 1; size 1")
row("size to NULL", lambda l: l.nvvmGetProgramLogSize(Program(l).handle, None), "4", CRASH, ON_NULL)
row("text to NULL", lambda l: l.nvvmGetProgramLog(Program(l).handle, None), "4", CRASH, ON_NULL)

# Adding modules.
row("add a module that is not IR", lambda l: Program(l).add("garbage").log(), "add 0; log ")
row("add NULL", lambda l: Program(l).add(None, size=5), "add 4")
row("add 0 bytes", lambda l: Program(l).add(MODULE, size=0), "add 4", "add 0", NEWER)
row("a size that counts the NUL", lambda l: checked(Program(l).add(MODULE + "\0")), "add 0; verify 0; compile 0")
row("no module", lambda l: checked(Program(l)).log(), "verify 8; compile 8; log ")
row("only lazy modules", lambda l: checked(Program(l).lazy(MODULE)).log(), "add 0; verify 8; compile 8; log ")
row("bitcode", lambda l: checked(Program(l).add(bitcode(MODULE))).ptx(r"\.target \w+"), "add 0; verify 0; compile 0; .target sm_75")

# IR that is refused.
row("not IR", lambda l: checked(Program(l).add("garbage")).log(r"^.*: parse").size("CompiledResult"),
    "add 0; verify 6; compile 9; log m.ll (1, 0): parse; size 1")
row("not IR, name NULL", lambda l: Program(l).add("garbage", None).compile().log(r"^.*: parse"), "add 0; compile 9; log <unnamed> (1, 0): parse")
row("not IR, name \"\"", lambda l: Program(l).add("garbage", b"").compile().log(r"^.*: parse"), "add 0; compile 9; log <unnamed> (1, 0): parse",
    "add 0; compile 9; log  (1, 0): parse", NEWER)
row("an undefined value", lambda l: checked(Program(l).add(MODULE.replace("i32 1, i32*", "i32 %q, i32*"))).log(r"^.*'%q'"),
    "add 0; verify 6; compile 9; log m.ll (4, 12): parse use of undefined value '%q'")
row("two modules that are not IR", lambda l: Program(l).add("garbage", b"a.ll").add("garbage", b"b.ll").verify().log(r"^.*: parse"),
    "add 0; add 0; verify 6; log a.ll (1, 0): parse")
row("use before definition", lambda l: checked(Program(l).add(MODULE.replace("store i32 1", "store i32 %z").replace(
    "  ret", "  %z = add i32 1, 2\n  ret"))), "add 0; verify 6; compile 9", "add 0; verify 6; compile 0", "the original compiles it all the same")
row("a kernel that returns a value", lambda l: checked(Program(l).add(MODULE.replace("void", "i32").replace("ret i32", "ret i32 0"))),
    "add 0; verify 6; compile 9", "add 0; verify 6; compile 0", "likewise")
row("truncated bitcode", lambda l: checked(Program(l).add(CALLS_LIBRARY).lazy((bitcode(LIBRARY) or b"")[:300])).log("^[^:]*: parse"),
    "add 0; add 0; verify 6; compile 9; log lib.bc: parse", CRASH, "the original ends the process")

# Versions, triples, layouts.
MISMATCH = r"IR version.*2\.0"
row("no `!nvvmir.version`", lambda l: checked(Program(l).add(LAYOUT + TRIPLE + KERNEL)).log(MISMATCH),
    "add 0; verify 3; compile 3; log IR version 1.0 incompatible with current version 2.0")
for given in ("1, i32 6", "2, i32 1", "3, i32 0"):
    row(f"version {given.replace(', i32 ', '.')}", lambda l, g=given: Program(l).add(MODULE.replace("2, i32 0}", g + "}")).compile().log(MISMATCH),
        f"add 0; compile 3; log IR version {given.replace(', i32 ', '.')} incompatible with current version 2.0")
for given, code in (("3, i32 1", 0), ("3, i32 2", 0), ("3, i32 3", 3), ("2, i32 0", 3)):
    row(f"debug version {given.replace(', i32 ', '.')}", lambda l, g=given: checked(Program(l).add(MODULE.replace("2, i32 0}", f"2, i32 0, i32 {g}}}"))),
        f"add 0; verify {code}; compile {code}")
row("a version of one number", lambda l: checked(Program(l).add(MODULE.replace("i32 2, i32 0}", "i32 2}"))), "add 0; verify 3; compile 3")
row("no triple", lambda l: checked(Program(l).add(LAYOUT + KERNEL + VERSION)).log(),
    "add 0; verify 6; compile 9; log m.ll: error: Module does not contain a triple, should be 'nvptx64-'")
row("an empty triple", lambda l: checked(Program(l).add(MODULE.replace("nvptx64-nvidia-cuda", ""))), "add 0; verify 6; compile 9")
row("triple `nvptx64-unknown-cuda`", lambda l: checked(Program(l).add(MODULE.replace("nvidia", "unknown"))), "add 0; verify 0; compile 0")
row("triple `nvptx64`", lambda l: checked(Program(l).add(MODULE.replace("nvptx64-nvidia-cuda", "nvptx64"))), "add 0; verify 6; compile 0")
row("triple `x86_64-pc-linux-gnu`", lambda l: checked(Program(l).add(MODULE.replace("nvptx64-nvidia-cuda", "x86_64-pc-linux-gnu"))),
    "add 0; verify 6; compile 9", "add 0; verify 6; compile 0", NEWER)
row("no data layout", lambda l: checked(Program(l).add(TRIPLE + KERNEL + VERSION)).log("Data Layout string is empty"),
    "add 0; verify 6; compile 9; log Data Layout string is empty")
row("a data layout with 32-bit pointers, triple `nvptx64-nvidia-cuda`",
    lambda l: checked(Program(l).add(MODULE.replace("e-p:64:64:64", "e-p:32:32:32"))), "add 0; verify 6; compile 9", "add 0; verify 0; compile 0",
    "the original does not compare them")
row("a data layout with `i64:32:32`", lambda l: checked(Program(l).add(MODULE.replace("i64:64:64", "i64:32:32"))), "add 0; verify 0; compile 0",
    "add 0; verify 6; compile 9", "the original takes no other alignment than the usual one")
row("LLVM's short data layout", lambda l: checked(Program(l).add(SHORT_LAYOUT + TRIPLE + KERNEL + VERSION)), "add 0; verify 0; compile 0")
row("pointers of 32 bits", lambda l: checked(Program(l).add(MODULE.replace("p:64:64:64", "p:32:32:32").replace("nvptx64", "nvptx"))),
    "add 0; verify 0; compile 0")

# Dialects.
for arch in (90, 100):
    row(f"typed pointers, compute_{arch}", lambda l, a=arch: checked(Program(l).add(MODULE), f"-arch=compute_{a}"), "add 0; verify 0; compile 0")
row("opaque pointers, compute_100", lambda l: checked(Program(l).add(OPAQUE), "-arch=compute_100"), "add 0; verify 0; compile 0")
row("opaque pointers, compute_90", lambda l: checked(Program(l).add(OPAQUE), "-arch=compute_90"), "add 0; verify 0; compile 0",
    "add 0; verify 6; compile 9", "nvmini takes both for all")
for word, body in (("`bfloat`", "define bfloat @f(bfloat %x) {\n  ret bfloat %x\n}\n"),
                   ("`atomicrmw fadd`", "define float @f(float* %p) {\n  %r = atomicrmw fadd float* %p, float 1.0 seq_cst\n  ret float %r\n}\n")):
    for arch, theirs in ((100, "add 0; verify 0; compile 0"), (90, "add 0; verify 6; compile 9")):
        row(f"{word}, compute_{arch}", lambda l, a=arch, b=body: checked(Program(l).add(LAYOUT + TRIPLE + b + VERSION), f"-arch=compute_{a}"),
            "add 0; verify 0; compile 0", () if arch == 100 else theirs, "" if arch == 100 else "nvmini takes both for all")
row("both in one program, compute_100", lambda l: checked(Program(l).add(MODULE).add(OPAQUE.replace("@k", "@j")), "-arch=compute_100"),
    "add 0; add 0; verify 0; compile 0")

# Linking.
row("two modules", lambda l: checked(Program(l).add(CALLS_LIBRARY).add(LIBRARY + VERSION)).ptx(r"^\.visible (?:\.entry|\.func.*\)) (\w+)"),
    "add 0; add 0; verify 0; compile 0; bar foo k unused")
row("one name defined twice", lambda l: checked(Program(l).add(MODULE).add(MODULE, b"n.ll")).log("^n.ll.*link error"),
    "add 0; add 0; verify 6; compile 9; log n.ll (3, 12): link error", "add 0; add 0; verify 6; compile 9; log n.ll: link error", "with the place")
row("a function that is declared only", lambda l: checked(Program(l).add(CALLS_LIBRARY)).log().ptx(r"\.extern \.func"),
    "add 0; verify 0; compile 0; log ; .extern .func")
row("a second module without a version", lambda l: Program(l).add(CALLS_LIBRARY).add(LIBRARY, b"b.ll").compile().log(r"b\.ll"), "add 0; add 0; compile 3; log b.ll")
row("a lazy module", lambda l: checked(Program(l).add(CALLS_LIBRARY).lazy(bitcode(LIBRARY))).ptx(r"unused|\.extern"),
    "add 0; add 0; verify 0; compile 0; no match")
row("the same at -opt=0: internal functions", lambda l: Program(l).add(CALLS_LIBRARY).lazy(bitcode(LIBRARY)).compile("-opt=0").ptx(r"^(?:\.visible )?\.func|unused"),
    "add 0; add 0; compile 0; .func")
row("a lazy module before the others", lambda l: checked(Program(l).lazy(bitcode(LIBRARY)).add(CALLS_LIBRARY)).ptx(r"\.extern"),
    "add 0; add 0; verify 0; compile 0; no match")
row("a lazy module of version 1.0", lambda l: Program(l).add(CALLS_LIBRARY).lazy(bitcode(LIBRARY + VERSION.replace("i32 2", "i32 1"))).compile(),
    "add 0; add 0; compile 0")
row("a lazy module without triple and layout", lambda l: Program(l).add(CALLS_LIBRARY).lazy(bitcode(FOO + BAR)).compile(), "add 0; add 0; compile 0")
row("a lazy module that defines what the program defines", lambda l: checked(Program(l).add(MODULE).lazy(bitcode(MODULE))), "add 0; add 0; verify 0; compile 0")
row("a lazy module that is not IR", lambda l: checked(Program(l).add(MODULE).lazy("garbage")), "add 0; add 0; verify 6; compile 9")
row("a lazy module as text", lambda l: checked(Program(l).add(CALLS_LIBRARY).lazy(LIBRARY)), "add 0; add 0; verify 0; compile 0",
    "add 0; add 0; verify 6; compile 9", "nvmini takes text too")
row("two lazy modules, the first needed by the second", lambda l: Program(l).add(CALLS_LIBRARY).lazy(bitcode(LAYOUT + TRIPLE + BAR)).lazy(
    bitcode(LAYOUT + TRIPLE + "declare float @bar(float)\n" + FOO)).compile().ptx(r"\.extern .func"),
    "add 0; add 0; add 0; compile 0; no match", "add 0; add 0; add 0; compile 0; .extern .func", "the original takes each once, in order")
row("verify, add the library, compile", lambda l: Program(l).add(CALLS_LIBRARY).verify().lazy(bitcode(LIBRARY)).compile().ptx(r"\.extern"),
    "add 0; verify 0; add 0; compile 0; no match")

# Order of calls.
row("compile twice", lambda l: Program(l).add(MODULE).compile().compile("-arch=compute_90").ptx(r"\.target \w+"), "add 0; compile 0; compile 0; .target sm_90")
row("a compilation that fails after one that did not", lambda l: Program(l).add(MODULE).compile().compile("-x").size("CompiledResult"), "add 0; compile 0; compile 7; size 1")
row("verification keeps the result", lambda l: Program(l).add(MODULE).compile().verify("-x").ptx(r"\.target \w+"), "add 0; compile 0; verify 7; .target sm_75")
row("a success empties the log", lambda l: Program(l).add(MODULE).compile("-x").compile().size("ProgramLog"), "add 0; compile 7; compile 0; size 1")
row("no module and a wrong option", lambda l: checked(Program(l), "-x"), "verify 8; compile 8")
row("a wrong option and no IR", lambda l: checked(Program(l).add("garbage"), "-x"), "add 0; verify 7; compile 7")

# Options.
SUPPORTED_ARCHS = "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f".split()
for arch in SUPPORTED_ARCHS:
    row(f"`-arch=compute_{arch}`", lambda l, a=arch: Program(l).add(MODULE).compile(f"-arch=compute_{a}").ptx(r"\.target \w+"), f"add 0; compile 0; .target sm_{arch}")
for good in ("-g", "-opt=0", "-opt=1", "-opt=2", "-opt=3", "-ftz=0", "-ftz=1", "-prec-sqrt=0", "-prec-sqrt=1", "-prec-div=0", "-prec-div=1", "-fma=0", "-fma=1",
             "-jump-table-density=0", "-jump-table-density=101", "-jump-table-density=102", "-split-compile=4", "-generate-line-info", " -g ", "-g -opt=3", "-g -opt=0"):
    options = good.split() if len(good.split()) > 1 else [good]
    row(f"`{good}`" if len(options) == 1 else " and ".join(f"`{o}`" for o in options),
        lambda l, o=tuple(options): checked(Program(l).add(MODULE), *o).log(), "add 0; verify 0; compile 0; log ")
row("`-arch=compute_107`", lambda l: Program(l).add(MODULE).compile("-arch=compute_107"), "add 0; compile 7", "add 0; compile 0",
    "new in CUDA 13.5; 13.0 refuses it too")
UNSUPPORTED = ["--arch=compute_75", "-arch=sm_90", "-arch=compute_70", "-arch=compute_82", "-arch=compute_90f", "-arch=compute_101", "-arch=compute_130", "-arch=", "-arch",
               "-ftz=2", "-ftz", "-ftz=", "-ftz=true", "-prec-sqrt=2", "-prec-div=2", "-fma=2", "-opt=4", "-opt=", "-opt=03", "-O3", "-g=1", "-jump-table-density",
               "-split-compile", "-lineinfo", "-G", "foo", "", "-g -opt=0"]
for bad in UNSUPPORTED:
    row(f"`{bad}`" if " " not in bad else f"`{bad}` as one", lambda l, b=bad: checked(Program(l).add(MODULE), b).log(),
        f"add 0; verify 7; compile 7; log libnvvm : error: {bad} is an unsupported option")
for once, name in (("-g", "-g"), ("-ftz=0", "-ftz"), ("-fma=1", "-fma"), ("-prec-div=1", "-prec-div"), ("-prec-sqrt=1", "-prec-sqrt"),
                   ("-arch=compute_75", "-arch"), ("-split-compile=1", "split compilation")):
    row(f"`{once}` twice", lambda l, o=once: checked(Program(l).add(MODULE), o, o).log(),
        f"add 0; verify 7; compile 7; log libnvvm : error: {name} defined more than once")
row("`-opt=3` twice", lambda l: Program(l).add(MODULE).compile("-opt=3", "-opt=0").log(".*more than once"),
    "add 0; compile 7; log libnvvm : error: -opt defined more than once",
    "add 0; compile 7; log libnvvm : error: -nUmC008pa defined more than once", "CUDA 13.5 prints a name of its own")
row("two errors: the first is reported", lambda l: Program(l).add(MODULE).compile("-ftz=2", "-x").log(), "add 0; compile 7; log libnvvm : error: -ftz=2 is an unsupported option")
row("`-gen-lto`", lambda l: Program(l).add(MODULE).compile("-gen-lto").log(),
    "add 0; compile 7; log libnvvm : error: -gen-lto is an unsupported option: nvmini generates PTX, not LTO-IR", "add 0; compile 0; log ", "nvmini has no LTO-IR")
row("`-numba-debug`", lambda l: Program(l).add(MODULE).compile("-numba-debug"), "add 0; compile 7", "add 0; compile 0", "new in CUDA 13.5; Numba asks first")
row("`-opt`", lambda l: Program(l).add(MODULE).compile("-opt").log(), "add 0; compile 7; log libnvvm : error: -opt is an unsupported option",
    "add 0; compile 0; log ", "the original succeeds with an empty result")
row("-1 options", lambda l: l.nvvmCompileProgram(Program(l).add(MODULE).handle, -1, None), "7")
row("1 option, NULL array", lambda l: l.nvvmCompileProgram(Program(l).add(MODULE).handle, 1, None), "7")
row("the option NULL", lambda l: l.nvvmCompileProgram(Program(l).add(MODULE).handle, 1, (ctypes.c_char_p * 1)(None)), "7")

# What the options do.
ARITHMETIC = CALLS_LIBRARY.replace("call float @foo(float %v)", "OP").replace("declare float @foo(float)\n", "declare float @llvm.nvvm.sqrt.f(float)\n")
FUSED = ARITHMETIC.replace("  %r = OP", "  %m = fmul float %v, %v\n  %r = fadd float %m, 1.0")
DEFAULTS = ("-opt=3", "-arch=compute_75", "-ftz=0", "-prec-sqrt=1", "-prec-div=1", "-fma=1", "-jump-table-density=101")
row("no options: " + ", ".join(f"`{o}`" for o in DEFAULTS),
    lambda l: Program(l).add(FUSED).compile().note(Program(l).add(FUSED).compile().text("CompiledResult") == Program(l).add(FUSED).compile(*DEFAULTS).text("CompiledResult")),
    "add 0; compile 0; True")
for option, module, wanted in (
        ("-ftz=0", ARITHMETIC.replace("OP", "fadd float %v, 1.0"), "add.rn.f32|add.f32"), ("-ftz=1", ARITHMETIC.replace("OP", "fadd float %v, 1.0"), "add.*ftz.f32"),
        ("-fma=1", FUSED, "fma.rn.f32"), ("-fma=0", FUSED, "mul.rn.f32"),
        ("-prec-div=1", ARITHMETIC.replace("OP", "fdiv float 3.0, %v"), "div.rn.f32"), ("-prec-div=0", ARITHMETIC.replace("OP", "fdiv float 3.0, %v"), "div.full.f32"),
        ("-prec-sqrt=1", ARITHMETIC.replace("OP", "call float @llvm.nvvm.sqrt.f(float %v)"), "sqrt.rn.f32"),
        ("-prec-sqrt=0", ARITHMETIC.replace("OP", "call float @llvm.nvvm.sqrt.f(float %v)"), "sqrt.approx.f32")):
    row(f"`{option}` gives `{wanted.split('|')[0]}`", lambda l, o=option, m=module, w=wanted: Program(l).add(m).compile(o).note(
        "yes" if Program(l).add(m).compile(o).ptx(w).seen[-1] != "no match" else "no"), "add 0; compile 0; yes")
row("line numbers, with `-g` or without", lambda l: Program(l).add(LINES).compile().ptx(r"\.loc\s1 2 3|, debug").compile("-g").ptx(r"\.loc\s1 2 3|, debug"),
    "add 0; compile 0; .loc\t1 2 3; compile 0; .loc\t1 2 3")
row("`.address_size`", lambda l: Program(l).add(MODULE).compile().ptx(r"\.address_size \d+"), "add 0; compile 0; .address_size 64")


# ---- Running ------------------------------------------------------------------------------------

def observe(library, actions):
    """The outcome of one row, in a process of its own; CRASH if that ends otherwise."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        result = actions(library)
        os.write(writer, ("; ".join(result.seen) if isinstance(result, Program) else str(result)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    return text if os.waitpid(child, 0)[1] == 0 else CRASH


def check_library(path, ours):
    """Faults of one library, as lines."""
    library = ctypes.CDLL(os.path.abspath(path))
    for name, actions, expected, theirs, _ in ROWS:
        found = observe(library, actions)
        if found != expected and (ours or found not in theirs):
            yield f"{path}: {name}: found '{found}', expected '{expected}'"


def check_abi(headers):
    """Whether programs compiled with each header rely on the same."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return []
    outputs = {}
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            program = os.path.join(folder, "abi")
            subprocess.run([compiler, "-std=c11", f'-DHEADER="{os.path.abspath(header)}"', "runtime-tests/compat/abi.c", "-o", program], check=True)
            outputs[header] = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout
    return [f"{header}: differs from {headers[0]}" for header in headers if outputs[header] != outputs[headers[0]]]


def table(rows):
    lines = ["| calls | nvmini | libNVVM |", "|---|---|---|"]
    for name, _, expected, theirs, why in rows:
        other = f"`{'`, `'.join(theirs)}`: {why}" if theirs else "the same"
        lines.append(f"| {name} | `{expected}` | {other} |".replace("\t", " "))
    return "\n".join(lines) + "\n"


def check_page():
    """docs/libnvvm.md shows the rows in which the libraries differ."""
    with open("docs/libnvvm.md", encoding="utf-8") as file:
        good = table([r for r in ROWS if r[3]]) in file.read()
    return [] if good else ["docs/libnvvm.md does not have the table that --differences prints"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--original", action="append", default=[])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    if options.table or options.differences:
        print(table([r for r in ROWS if r[3] or options.table]), end="")
        return 0
    page = check_page()
    if not bitcode(MODULE):
        print("llvm-as-14 is not installed: rows with bitcode are skipped")
        ROWS[:] = [r for r in ROWS if "bitcode" not in r[1].__code__.co_names]
    found = options.original or sorted({os.path.realpath(p) for p in glob.glob("/usr/local/cuda*/**/libnvvm.so.4*", recursive=True)})
    passed = failed = 0
    for path in [f"{options.build}/compat/libnvvm.so.4", *found]:
        faults = list(check_library(path, path not in found))
        print(*faults, sep="\n", end="\n" if faults else "")
        print(f"{path}: {len(ROWS) - len(faults)} of {len(ROWS)} rows")
        passed, failed = passed + len(ROWS) - len(faults), failed + len(faults)
    if not found:
        print("NVIDIA's libNVVM is not installed: not compared")
    headers = sorted(glob.glob("/usr/local/cuda*/**/nvvm.h", recursive=True))
    faults = check_abi(["compat/nvvm.h", *headers[:1]]) + page
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"libnvvm: {passed + (not faults)} passed, {failed + bool(faults)} failed")
    return 1 if failed or faults else 0


if __name__ == "__main__":
    sys.exit(main())
