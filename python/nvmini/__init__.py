"""nvmini: a compiler from NVVM IR to PTX, and a simulator that executes kernels on the CPU.

    import nvmini
    ptx = nvmini.compile(text, cpu="sm_90a")              # PTX, a str that notebooks show highlighted
    ir = nvmini.optimize(text, cpu="sm_90a", opt=2)       # IR after the passes
    result = nvmini.run(text, n, 2.5, x, y, grid=4, block=256)   # x and y: NumPy arrays, changed in place
    result.counts["global.sectors"]

`text` is NVVM IR (str) or LLVM bitcode (bytes). What is wrong with it raises InputError, with line and column; what a kernel
does wrong raises Finding, with its kind, block, thread and line.
"""
from ._compile import IR, PTX, Cost, Plan, Remark, Text, canonical, check, compile, graphs, optimize
from ._errors import Diagnostic, Error, Finding, InputError, InternalError, OptionError, OutOfMemoryError
from ._library import VERSION as __version__
from ._run import Kernel, Parameter, Program, Result, load, run

__all__ = ["IR", "PTX", "Cost", "Diagnostic", "Error", "Finding", "InputError", "InternalError", "Kernel", "OptionError",
           "OutOfMemoryError", "Parameter", "Plan", "Program", "Remark", "Result", "Text", "canonical", "check", "compile", "graphs",
           "load", "optimize", "run", "__version__"]
